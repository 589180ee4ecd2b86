"""The cuts that `why` finds by running stages again are those that were counted, and show nothing private."""

from __future__ import annotations

import json

import dataprep as dp
from dataprep.extend import PIIKind
from dataprep.history.replay import rule_cuts
from dataprep.history.texts import bytes_outside
from dataprep.history.why import dropped_document, find_document, follow

GOOD = "The mill was built in 1860. It ground corn for the valley. Its wheel still turns."


def page(n):
    """A page with a menu."""
    return f"قائمة Start {n}\n{GOOD} Number {n} is here.\nKontakt über uns {n}\n"


def shout(text):
    """Write a word in capitals, and leave one out."""
    return text.replace("Number ", "").replace("mill", "MILL")


def read(folder, texts):
    """The texts as a Dataset of JSON Lines, in two files."""
    for n in range(2):
        (folder / f"{n}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts[n::2]))
    return dp.read(str(folder / "*.jsonl"))


def test_replayed_cuts_are_those_of_the_run(tmp_path):
    """Over all documents, the bytes are those of the statistics; the cuts of a function are found by its text."""
    texts = [page(n) for n in range(9)] + [page(3), "too short"]
    docs = read(tmp_path, texts)
    out = str(tmp_path / "out")
    done = dp.Pipeline(dp.C4(), dp.Exact(), dp.Map(shout)).run(docs, out)
    given = {row["id"]: row["text"] for row in docs.table(["id", "text"]).to_pylist()}
    total = 0
    for id_, text in given.items():
        cuts = [cut for cut in rule_cuts(out, id_) if cut.stage == "C4"]
        assert all(text.encode()[cut.start : cut.end].decode() == cut.text for cut in cuts)
        assert {cut.rule for cut in cuts} <= {"no_terminal_punctuation"}
        total += sum(cut.end - cut.start for cut in cuts)
        left = bytes_outside(text.encode(), [(cut.start, cut.end) for cut in cuts]).decode().strip()
        assert not cuts or left == text.split("\n")[1]
    assert total == done.stats["C4"].cuts["no_terminal_punctuation"].bytes > 0
    mapped = [cut for cut in rule_cuts(out, next(iter(given))) if cut.stage == "shout"]
    assert [cut.text for cut in mapped] == ["mill", "Number "]


def test_nothing_private_is_shown(tmp_path):
    """What PII replaces is in no cut, neither of PII nor of a stage before it; forgotten documents have no cuts."""
    mail = "zz.private@example.org"
    docs = read(tmp_path, [f"Write to {mail} or call\n{GOOD} Ask {mail} about it."])
    out = str(tmp_path / "out")
    dp.Pipeline(dp.C4(), dp.PII()).run(docs, out)
    (id_,) = docs.table(["id"])["id"].to_pylist()
    cuts = {cut.stage: cut for cut in rule_cuts(out, id_)}
    assert cuts["C4"].text.startswith("Write to <email> or call")
    assert (cuts["PII"].rule, cuts["PII"].text) == ("email", None)
    assert cuts["PII"].end - cuts["PII"].start == len(mail)


def test_cuts_after_an_estimator_that_cut_nothing_from_the_document(tmp_path):
    """Exact and SuffixArray may cut spans of other documents; C4's cuts are those of C4 alone."""
    docs = read(tmp_path, [page(n) for n in range(4)])
    before = {"alone": [], "line": [dp.Exact(unit="line")], "suffix": [dp.SuffixArray(min_words=50)]}
    for name, first in before.items():
        dp.Pipeline(*first, dp.C4()).run(docs, str(tmp_path / name))
    for id_ in docs.table(["id"])["id"].to_pylist():
        found = [[(c.rule, c.start, c.end) for c in rule_cuts(str(tmp_path / name), id_)] for name in before]
        assert found[0] == found[1] == found[2] != []


def test_a_number_that_is_private_only_in_its_document_is_not_quoted(tmp_path):
    """C4 cuts a number whose label is in the line above, and one half of another; neither is in any file."""
    texts = [f"My phone number:\n{number}\n{GOOD}" for number in ("964158642", "٩٦٤١٥٨٦٤٢")]
    texts.append(f"Call +212 612\n345 678 please\n{GOOD} It cost 9,500.")
    docs = read(tmp_path, texts)
    masked = [row["text"] for row in dp.Pipeline(dp.PII()).run(docs, str(tmp_path / "masked"))]
    done = dp.Pipeline(dp.C4(), dp.PII()).run(docs, str(tmp_path / "out"))
    quoted = [one.text for one in done.stats["C4"].cuts["no_terminal_punctuation"].examples]
    shown = [cut.text or "" for row in docs for cut in rule_cuts(str(tmp_path / "out"), row["id"])]
    assert any("(number)" in text for text in quoted)
    for number in ("964158642", "٩٦٤١٥٨٦٤٢", "345 678"):
        assert not any(number in text for text in [*masked, *quoted, *shown])


def test_no_text_of_a_forgotten_document_that_was_dropped_before(tmp_path):
    """Its input still has the text, which neither its row nor its cuts show."""
    docs = read(tmp_path, ["zebra", page(1), page(2)])
    out = str(tmp_path / "out")
    dp.Pipeline(dp.C4(), dp.Exact()).run(docs, out)
    (id_,) = (row["id"] for row in docs if row["text"] == "zebra")
    (drop,) = follow(out, id_).drops
    assert dropped_document(out, drop)["text"] == "zebra"
    dp.tools.forget(out, [id_])
    (drop,) = follow(out, id_).drops
    assert dropped_document(out, drop) is None
    assert find_document(out, id_) is None
    assert rule_cuts(out, id_) == []


def test_no_cut_is_quoted_if_what_masks_it_cannot_be_made_again(tmp_path):
    """A manifest does not hold an expression of a user's kind, so PII with it has no replay, and C4's cut no text."""
    docs = read(tmp_path, [f"Write to zz.private@example.org or call\n{GOOD} Ask about it."])
    out = str(tmp_path / "out")
    dp.Pipeline(dp.C4(), dp.PII(kinds=("email", PIIKind("ticket", r"T-\d{5}")))).run(docs, out)
    (id_,) = docs.table(["id"])["id"].to_pylist()
    cuts = [cut for cut in rule_cuts(out, id_) if cut.stage == "C4"]
    assert [(cut.start, cut.text) for cut in cuts] == [(0, None)]


def test_cuts_between_two_estimators_are_found(tmp_path):
    """A stage whose input is saved before an Estimator, and whose result is saved before the next one."""
    texts = [f"The mill ground corn, they said {n}.\nmenu {n}\n\nIts wheel turns, they said {n}.\n" for n in range(4)]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in [*texts, texts[0]])
    (tmp_path / "in.jsonl").write_text(lines)
    cutting = dp.C4(min_sentences=0, min_words=3)
    stages = (dp.RepairText(), dp.Exact(), cutting, dp.MinHash())
    out = dp.Pipeline(*stages).run(dp.read(str(tmp_path / "in.jsonl")), out=str(tmp_path / "out"))
    (cut, *_) = rule_cuts(str(out.url), 0)
    assert (cut.stage, cut.folder.split("/")[-3]) == ("C4", "steps")
    assert "menu 0" in cut.text
