"""What stages cut out of texts is counted by rule and quoted: the same in all runs, and nothing private."""

from __future__ import annotations

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.core.model.quotes import missing_pieces
from dataprep.core.model.stats import OTHER

MENU = "Start Über uns Kontakt قائمة"
GOOD = "The mill was built in 1860. It ground corn for the valley. Its wheel still turns."


def page(n):
    """A page of three sentences and a menu, of its own."""
    return f"{MENU} {n}\n{GOOD} Number {n} is here.\nاتصل بنا {n}\n"


def shout(text):
    """Remove a word, and write another in capitals."""
    return text.replace(" valley", "").replace("turns", "TURNS")


@given(st.text("ab \né", max_size=40), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=4))
def test_missing_pieces_are_what_was_cut(before, spans):
    """For a text of which ranges were cut, the pieces are in order; without the pieces, what is left is the text."""
    keep = [not any(a <= i < a + n for a, n in spans) for i in range(len(before))]
    after = "".join(c for c, k in zip(before, keep, strict=True) if k)
    pieces = list(missing_pieces(before, after))
    assert all(a < b for a, b in pieces)
    assert all(b <= c for (_, b), (c, _) in itertools.pairwise(pieces))
    if len(spans) == 1:
        left = before
        for a, b in reversed(pieces):
            left = left[:a] + left[b:]
        assert left == after


def test_missing_pieces_of_replaced_words():
    """A replaced word is a piece; an insertion is none; a whole line begins where the line does."""
    pieces = [("one two three", "one 2 three"), ("one three", "one two three"), ("a\nb b\nb\n", "a\nb\n")]
    found = [[before[a:b] for a, b in missing_pieces(before, after)] for before, after in pieces]
    assert found == [["two"], [], ["b b\n"]]


def test_cuts_are_quoted_by_rule(tmp_path):
    """Runs with 1, 2 and 4 workers state and quote the same cuts; the bytes of all rules are those that were cut."""
    for i in range(8):
        rows = [json.dumps({"text": page(i * 50 + n)}) + "\n" for n in range(50)]
        (tmp_path / f"{i}.jsonl").write_text("".join(rows))
    docs, stages = dp.read(str(tmp_path / "*.jsonl")), (dp.C4(), dp.Map(shout))
    runners = dp.tools.Serial(), laws.TWO, dp.tools.Local(4)
    every = [dp.Pipeline(*stages).run(docs, str(tmp_path / f"o{i}"), runner=r) for i, r in enumerate(runners)]
    c4, mapped = every[0].stats["C4"], every[0].stats["shout"]
    assert (c4.cuts["no_terminal_punctuation"].times, c4.docs_out) == (800, 400)
    assert sum(cuts.bytes for cuts in c4.cuts.values()) == c4.cut
    assert mapped.cuts[OTHER].times == 400
    assert mapped.cut == mapped.cuts[OTHER].bytes == 400 * len(" valley")
    quoted = {e.id: e.text for e in c4.cuts["no_terminal_punctuation"].examples}
    assert len(quoted) == 3
    texts = {row["id"]: row["text"] for row in docs.table(["id", "text"]).to_pylist()}
    assert all(text in texts[id_].split("\n") for id_, text in quoted.items())
    assert [e.text for e in mapped.cuts[OTHER].examples] == [" valley"] * 3
    assert every[0].stats.to_json() == every[1].stats.to_json() == every[2].stats.to_json()


def test_what_pii_replaces_is_quoted_nowhere(tmp_path):
    """Neither cuts nor dropped documents of stages before PII, nor its own, quote an address; an estimator between."""
    mail = "zz.private@example.org"
    texts = [f"Write to {mail} or call\n{GOOD} Number {n} is here." for n in range(9)] + [f"only {mail}"] * 2
    docs = laws.dataset_of(tmp_path, texts)
    stages = dp.C4(), dp.Exact(), dp.PII()
    done = dp.Pipeline(*stages).run(docs, str(tmp_path / "out"))
    c4 = done.stats["C4"]
    assert "Write to <email> or call" in {e.text for e in c4.cuts["no_terminal_punctuation"].examples}
    assert [e.text for e in c4.examples["too_few_sentences"]] == ["only <email>"] * 2
    assert mail not in json.dumps(done.stats.to_json())
    dropping = dp.Pipeline(dp.PII(action="drop")).run(docs, str(tmp_path / "dropping")).stats
    assert {e.text for e in dropping["PII"].examples["pii"]} == {""}
    replaced = dp.Pipeline(dp.PII()).run(docs, str(tmp_path / "replaced")).stats["PII"]
    assert (replaced.cuts["email"].times, replaced.cuts["email"].examples) == (11, [])
    assert replaced.cuts["email"].bytes == 11 * len(mail)


def test_forgotten_documents_are_not_quoted(tmp_path):
    """`forget` removes the texts that were cut out of its documents, from the manifest and from every receipt."""
    docs = laws.dataset_of(tmp_path, [page(n) for n in range(12)])
    done = dp.Pipeline(dp.C4()).run(docs, str(tmp_path / "out"))
    gone = [e.id for e in done.stats["C4"].cuts["no_terminal_punctuation"].examples]
    lines = [e.text for e in done.stats["C4"].cuts["no_terminal_punctuation"].examples]
    dp.tools.forget(str(tmp_path / "out"), ids=gone)
    now = dp.open_dataset(str(tmp_path / "out")).stats["C4"].cuts["no_terminal_punctuation"]
    assert (now.examples, now.times) == ([], 24)
    stored = [path.read_bytes() for path in (tmp_path / "out").rglob("*.json")]
    assert not any(line.encode() in data for line in lines for data in stored)
