"""NormalizeArabizi: every switch alone and together, against its slow twin; the variants that become equal."""

from __future__ import annotations

import gzip
import itertools
import json
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import laws
from dataprep.core.model import batch as B
from dataprep.errors import PlanError
from dataprep.messages.arabizi import ARABIZI, NormalizeArabizi
from twins.arabizi import arabizi


def changed(stage, texts, languages=None):
    """Return the texts after a stage, and its counts."""
    columns = {"language": pa.array(languages or ["ary_Latn"] * len(texts), pa.string())}
    kept, _, book = laws.apply(stage, [B.make(range(len(texts)), list(texts), "s", columns=columns)])
    return [r["text"] for r in kept], dict(book.counts)


@pytest.mark.parametrize(("switch", "before", "after"), [
    ("digits", "5ouya 9alb 6amata 4ir 3afak", "khouya qalb tamata ghir 3afak"), ("heh", "b7al 7it", "bhal hit"),
    ("sheen", "Chno wax wach", "Shno wash wash"), ("repeats", "bzaaaaf Allah", "bzaf Allah"),
    ("doubles", "Allah bezzaaf", "Alah bezaf"), ("vowels", "khouya wekho", "khuia ukhu"),
])  # fmt: skip
def test_each_arabizi_switch(switch, before, after):
    """Each switch changes its own; numbers, units, words with accents and messages in other languages are kept."""
    unchanged = "5dh 9h 2024 été5 b2b1200 https://x.org"
    texts, counts = changed(NormalizeArabizi(**{switch: True}), [before, before, unchanged], ["ary_Latn", "fr", "fr"])
    assert texts == [after, before, unchanged]
    assert list(counts) == [f"arabizi.{switch}"]
    unchanged = "5dh 9h 2024 \u00e9t\u00e95 55abc"
    assert changed(NormalizeArabizi(digits=True, language=None), [unchanged]) == ([unchanged], {})
    assert changed(NormalizeArabizi(), [before]) == ([before], {})


def test_an_empty_language_is_rejected():
    """The language must be a code, or None."""
    with pytest.raises(PlanError, match="None for every message"):
        NormalizeArabizi(language="")


PIECES = [
    "c",
    "h",
    "C",
    "x",
    "X",
    "5",
    "7",
    "9",
    "o",
    "u",
    "O",
    "e",
    "a",
    "aa",
    "ll",
    "w",
    "y",
    " ",
    "-",
    "_",
    "é",
    "ل",
    "٣",
    "Dh",
    "km",
]


@given(
    texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), max_size=4),
    switches=st.sets(st.sampled_from(sorted(ARABIZI))),
)
def test_arabizi_equals_its_twin(texts, switches):
    """Any switches together give what regular expressions one after the other give."""
    stage = NormalizeArabizi(language=None, **dict.fromkeys(switches, True))
    assert changed(stage, texts)[0] == [arabizi(text, switches) for text in texts]


def test_spelling_variants_become_equal(shared):
    """Of pairs of variants of one sentence 0.1 % are equal as words, over 85 % after four switches."""
    clusters = {}
    with gzip.open(shared / "neardup/darija_arabizi_spelling_variants.jsonl.gz", "rt", encoding="utf-8") as f:
        for row in map(json.loads, itertools.islice(f, 12_000)):
            clusters.setdefault(row["cluster"], []).append(row["text"])
    pairs = [pair for found in clusters.values() for pair in itertools.pairwise(found)]
    stage = NormalizeArabizi(digits=True, heh=True, sheen=True, doubles=True)
    sides = [changed(stage, [pair[side].lower() for pair in pairs])[0] for side in (0, 1)]
    same = [words(a) == words(b) for a, b in zip(*sides, strict=True)]
    assert sum(same) / len(same) > 0.85
    assert sum(words(a) == words(b) for a, b in pairs) / len(pairs) < 0.01


def words(text):
    """Return the words that are compared."""
    return re.findall(r"\w+", text.lower())


def test_the_column_may_have_either_spelling():
    """Messages labelled `ary-Latn` or `ary_Latn` are changed, whichever of the two is given."""
    for language in ("ary-Latn", "ary_Latn"):
        stage = NormalizeArabizi(digits=True, language=language)
        texts, _ = changed(stage, ["5ouya", "5ouya", "5ouya"], ["ary_Latn", "ary-Latn", "ary"])
        assert texts == ["khouya", "khouya", "5ouya"]
