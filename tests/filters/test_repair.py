"""RepairText: what is repaired and what stays, ftfy over whole texts as the twin, keys."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
from dataprep.errors import PlanError
from dataprep.filters.repair import RepairText
from dataprep.store.key import key

ftfy = pytest.importorskip("ftfy")


def cleaned(stage, *some):
    rows, _, book = laws.apply(stage, [laws.batch_of(list(some))])
    return [r["text"] for r in rows], book.counts["repaired"]


def mojibake(text, charset):
    """UTF-8 that was read as another charset."""
    return text.encode().decode(charset)


def test_wrong_decoding_is_undone():
    """UTF-8 read as Windows-1252 or Latin-1 comes back, in several scripts, also when it happened twice."""
    good = ["Déjà vu à l’été", "schöne Grüße", "مرحبا بالعالم", "Привет, как дела"]
    bad = [*(mojibake(t, "latin-1") for t in good), mojibake(mojibake("été à", "latin-1"), "latin-1"), "naÃ¯ve cafÃ©"]
    assert cleaned(RepairText(), *bad) == ([*good, "été à", "naïve café"], len(bad))
    assert cleaned(RepairText(encoding=False, normalization=None, controls=False), *bad) == (bad, 0)


def test_controls_and_composition():
    """Controls, escapes and marks go, line breaks become one kind, characters are composed."""
    odd = "a\x00b\x07 \x1b[36mred\x1b[0m \ufeffx\r\ny\rz\u2028t e\u0301\tend"
    assert cleaned(RepairText(), odd) == (["ab red x\ny\nz\nt é\tend"], 1)
    assert cleaned(RepairText(controls=False), odd)[0] == [odd.replace("e\u0301", "é")]
    assert cleaned(RepairText(normalization=None), "e\u0301 ﬁ") == (["e\u0301 ﬁ"], 0)
    assert cleaned(RepairText(normalization="NFKC"), "ﬁ Ａ") == (["fi A"], 1)


def test_good_text_stays():
    """Curly quotes, full-width signs, ligatures, entities, joiners and right-to-left marks are no faults."""
    good = [
        "“Ça va ?” — l’été",
        "你好！ＡＢＣ",
        "ﬁn",
        "&lt;b&gt; <i>",
        "سلام\u200f می\u200cخواهم",
        "👩\u200d👩",
        "",
        "a\tb\n",
    ]
    assert cleaned(RepairText(), *good) == (good, 0)


ATOMS = [
    "a",
    "é",
    "Ã©",
    "â€™",
    "\x85",
    "\r",
    "\n",
    "\r\n",
    "\u2028",
    "\x1b[1m",
    "e\u0301",
    "\x00",
    "í\xa0\x80",
    "Ã",
    "\xa0",
    "سل",
]
texts = st.lists(st.one_of(st.sampled_from(ATOMS), st.text(max_size=4)), max_size=20).map("".join)


@settings(max_examples=200, deadline=None)
@given(st.lists(texts, min_size=1, max_size=5), st.booleans(), st.booleans(), st.sampled_from(["NFC", "NFKC", None]))
def test_odd_lines_alone_equal_whole_texts(some, encoding, controls, form):
    """What is skipped needs no repair: the result is that of ftfy over each whole text; the laws hold."""
    stage = RepairText(encoding=encoding, controls=controls, normalization=form)
    assert cleaned(stage, *some)[0] == [stage.repairer()(t) for t in some]
    laws.cuts_do_not_matter(stage, laws.batch_of(some), [1, 3])
    laws.books_balance(stage, laws.batch_of(some))
    laws.key_and_pickle_are_stable(stage)


def test_the_key_knows_ftfy(monkeypatch):
    """Another version of ftfy, or another parameter, is another key."""
    before = key(RepairText())
    assert before != key(RepairText(controls=False))
    monkeypatch.setattr(ftfy, "__version__", "99.0")
    assert key(RepairText()) != before


def test_what_cannot_be(monkeypatch):
    """An unknown form, and a missing ftfy, are one sentence before any work."""
    with pytest.raises(PlanError, match=re.escape("must be 'NFC' or 'NFKC', or None")):
        RepairText(normalization="NFD")
    monkeypatch.setitem(sys.modules, "ftfy", None)
    with pytest.raises(PlanError, match=re.escape("dataprep-lm[repair]")):
        RepairText()
