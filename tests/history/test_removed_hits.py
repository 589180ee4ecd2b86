"""`search --removed` finds what the input has and the kept texts lack, and names the rule; it shows nothing private."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

import pytest

import dataprep as dp
from dataprep.core.run.runner import Serial
from dataprep.errors import ReadError
from dataprep.history.removed_hits import CUT, DROPPED, find_kept, find_removed

GOOD = "The mill was built in 1860. It ground corn for the valley. Its wheel still turns."
MENU = "القائمة الرئيسية"


def page(n):
    """A page with a menu in Arabic, which C4 cuts."""
    return f"{MENU} {n}\n{GOOD} Number {n} is here.\n{MENU}\n"


def read(folder, texts, n_files=2):
    """The texts as a Dataset of JSON Lines files."""
    for n in range(n_files):
        lines = (json.dumps({"text": text}) + "\n" for text in texts[n::n_files])
        (folder / f"{n}.jsonl").write_text("".join(lines), encoding="utf-8")
    return dp.read(str(folder / "*.jsonl"))


def overlapping(text, query):
    """The occurrences of a text, counted character by character."""
    return sum(text.startswith(query, at) for at in range(len(text)))


@pytest.mark.parametrize("query", [MENU, "Number 3", "too short", GOOD, "ا", "ll", "never there"])
def test_removed_occurrences_are_those_of_the_texts(tmp_path, query):
    """The counts are those of a comparison of all texts, and each document names a stage that removed the text."""
    texts = [page(n) for n in range(7)] + [page(3), "too short"]
    docs = read(tmp_path, texts)
    out = str(tmp_path / "out")
    done = dp.Pipeline(dp.C4(), dp.Exact()).run(docs, out)
    kept = {row["id"]: row["text"] for row in done.table(["id", "text"]).to_pylist()}
    given = {row["id"]: row["text"] for row in docs.table(["id", "text"]).to_pylist()}
    lost = {id_: overlapping(text, query) - overlapping(kept.get(id_, ""), query) for id_, text in given.items()}
    lost = {id_: n for id_, n in sorted(lost.items()) if n}

    found = find_removed(out, query, Serial(), limit=100)
    assert found.times == sum(overlapping(text, query) for text in given.values())
    assert found.documents == sum(query in text for text in given.values())
    assert {hit.id: hit.times for hit in found.hits} == lost
    assert (found.times_removed, found.documents_removed) == (sum(lost.values()), len(lost))
    dropped = {row["id"]: (row["stage"], row["reason"]) for row in done.drops().to_pylist()}
    for hit in found.hits:
        assert hit.causes
        for cause in hit.causes:
            cut = ("C4", "no_terminal_punctuation")
            assert (cause.stage, cause.rule) == (cut if cause.how == CUT else dropped[hit.id])
        assert hit.around is not None
        assert "".join((hit.around[0], query, hit.around[1])) in given[hit.id]
    assert len(find_removed(out, query, Serial(), limit=1).hits) == min(1, len(lost))


def test_input_of_a_run_with_several_steps(tmp_path):
    """The input is that of the first Dataset; the stage may belong to any of them, and a saved step may be between."""
    docs = read(tmp_path, [page(n) for n in range(5)] + [page(3)])
    out = tmp_path / "out"
    first = dp.Pipeline().run(docs, str(out / "a"))
    second = dp.Pipeline(dp.C4(), dp.Exact()).run(first, str(out / "b"))
    dp.Pipeline(dp.Filter(lambda text: "Number 1" not in text)).run(second, str(out / "c"))
    (out / "run.json").write_text(json.dumps({"format": 1, "steps": ["a", "b", "c"]}))
    found = find_removed(str(out), "Number", Serial())
    assert (found.times, found.times_removed) == (6, 2)
    assert {(cause.how, cause.folder.rpartition("/")[2]) for hit in found.hits for cause in hit.causes} == {
        (DROPPED, "b"), (DROPPED, "c"),
    }  # fmt: skip
    menus = find_removed(str(out), MENU, Serial())
    assert menus.times_removed == menus.times == 12
    assert {(cause.how, cause.stage, cause.rule) for hit in menus.hits for cause in hit.causes} == {
        (CUT, "C4", "no_terminal_punctuation")
    }


def test_nothing_private_is_shown(tmp_path):
    """What PII masks is not shown around a match, nor as a match; forgotten documents are not searched."""
    mail = "zz.private@example.org"
    docs = read(tmp_path, [f"{MENU} of {mail}\n{GOOD} Ask {mail} about it.", page(1), page(2)], 1)
    out = str(tmp_path / "out")
    dp.Pipeline(dp.C4(), dp.PII()).run(docs, out)
    (first, *_) = find_removed(out, MENU, Serial()).hits
    assert first.around == ("", f" of <email>\n{GOOD} Ask <email> about it."[:60])
    (hit,) = find_removed(out, mail, Serial()).hits
    assert hit.around is None
    assert {(cause.stage, cause.rule) for cause in hit.causes} == {
        ("C4", "no_terminal_punctuation"), ("PII", "email"),
    }  # fmt: skip

    before = find_removed(out, MENU, Serial())
    dp.tools.forget(out, ids=[first.id])
    after = find_removed(out, MENU, Serial())
    assert after.documents == before.documents - 1
    assert first.id not in {hit.id for hit in after.hits}


@dataclass(frozen=True)
class Hiding(dp.C4):
    """C4, with the input private."""

    hides: ClassVar[bool] = True


def test_a_hidden_input_is_not_searched(tmp_path):
    """If a stage hides the input, later steps search only what it returned; the input of its own Dataset is refused."""
    docs = read(tmp_path, [page(n) for n in range(3)], 1)
    out = tmp_path / "out"
    first = dp.Pipeline(Hiding()).run(docs, str(out / "a"))
    with pytest.raises(ReadError, match="a stage hides them"):
        find_removed(str(out / "a"), MENU, Serial())
    dp.Pipeline(dp.Filter(lambda text: "Number 1" not in text)).run(first, str(out / "b"))
    (out / "run.json").write_text(json.dumps({"format": 1, "steps": ["a", "b"]}))
    assert find_removed(str(out), MENU, Serial()).times == 0
    found = find_removed(str(out), GOOD, Serial())
    assert (found.times, found.times_removed) == (3, 1)


def test_moved_input_is_one_sentence(tmp_path):
    """Without the input files, or with changed ones, nothing is guessed."""
    docs = read(tmp_path, [page(n) for n in range(3)], 1)
    out = str(tmp_path / "out")
    dp.Pipeline(dp.C4()).run(docs, out)
    (tmp_path / "0.jsonl").rename(tmp_path / "moved")
    with pytest.raises(ReadError, match="is missing; restore the original file"):
        find_removed(out, MENU, Serial())


@pytest.mark.parametrize("query", [MENU, "Number 3", "ل", "天", "天地玄", "never there"])
def test_the_index_finds_what_reading_finds(tmp_path, query):
    """Documents, occurrences and the texts around them, in three scripts; overlapping ones, and after a rerun."""
    pytest.importorskip("pydivsufsort")
    texts = [f"{MENU} {n} {GOOD} Number {n} 天天天地玄黃 {n}" for n in range(9)]
    done = dp.Pipeline(dp.Exact()).run(read(tmp_path, texts), str(tmp_path / "out"))
    read_ = find_kept(str(done.url), query, Serial())
    dp.tools.SuffixIndex.build(done, f"{done.url}/index")
    found = find_kept(str(done.url), query, Serial())
    assert (read_.is_indexed, found.is_indexed) == (False, True)
    assert found.hits == read_.hits
    assert found.ids.tolist() == read_.ids.tolist()
    assert found.times.tolist() == read_.times.tolist() == [
        n for text in done.table(["text"]).column("text").to_pylist() if (n := overlapping(text, query))
    ]
    assert find_removed(str(done.url), query, Serial(), kept=found) == find_removed(str(done.url), query, Serial())
    dp.Pipeline(dp.Exact()).run(read(tmp_path, texts[1:]), str(tmp_path / "out"), replace=True)
    assert not find_kept(str(done.url), query, Serial()).is_indexed
