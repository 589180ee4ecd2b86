"""Units of text and their hashes against Python's own `str` and `unicodedata`."""

from __future__ import annotations

import itertools
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twins.units
from dataprep.core.model import batch as B
from dataprep.dedup.spans import forms, hashes
from dataprep.dedup.spans import units as U
from dataprep.unicode import tables
from dataprep.unicode.text import classes

SAME_UNICODE = unicodedata.unidata_version == tables.VERSION
# Final sigmas, U+0130, marks beside letters and composed, digits of three scripts, Hangul, a two-part vowel, an emoji.
AWKWARD = (
    "aAé\u0301Σσς\u0130i\u0307ﷲ\u0622\u0627\u0653\u0664٣9 0.,!-\t\u00a0\u3000\r\n\n\n"
    "한\u1112\u1161\u09cb中。😀\x00\x7f\ufeff"
)
TEXTS = st.lists(st.one_of(st.text(AWKWARD, max_size=30), st.text(max_size=12)), max_size=6)


def column(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Texts as a kernel reads them, in the middle of a longer column."""
    return B.buffers(pa.array(["before\n", *texts, "behind"], pa.large_string()).slice(1, len(texts)))


def cut(texts: list[str], unit: str) -> list[list[str]]:
    """The units of each text, as the kernels cut them."""
    offsets, data = column(texts)
    starts, first, last = U.units(offsets, data, unit)
    pieces = [bytes(data[a:b]).decode() for a, b in zip(first, last, strict=True)]
    return [pieces[a:b] for a, b in itertools.pairwise(starts)]


@given(TEXTS)
def test_lines_are_those_of_split(texts) -> None:
    """Lines and paragraphs are the pieces between line feeds, on whatever text."""
    assert cut(texts, "line") == cut(texts, "paragraph") == [twins.units.lines(t) for t in texts]


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1 << 17])
def test_line_feeds_at_each_place(n: int) -> None:
    """At each place of 64 bytes, alone and next to each other, some lines at a time, in texts that touch each other."""
    texts = [text for k in range(140) for text in ("x" * k + "\n", "x" * k, "", "x" * k + "\n" * (k % 9) + "é")]
    offsets, data = column(texts)
    found = [piece for block in U._cut(offsets, data, "line", n) for piece in zip(*block, strict=True)]
    lines = [(d, line) for d, text in enumerate(texts) for line in twins.units.lines(text)]
    assert [(d, bytes(data[a:b]).decode()) for d, a, b in found] == lines


MARKED = (
    'a b. C "d." E? (f!) g J. Doe U.S. 3.5 A... b... C\n\r\n x;  Y.\' Z.\n'
    "One. Two! Three? Four. 好。他。؟ ا. ب۔ ج. \x1c.\x85 É. é. वौम्. वौम. E\u0301. \u200bb. n\u00adk. ²."
)


@settings(max_examples=300)
@given(st.lists(st.one_of(st.text(MARKED, max_size=40), st.text(max_size=12), st.just(MARKED)), max_size=5))
def test_spans_are_three_sentences(texts) -> None:
    """Spans begin and end where three sentences of the twin do."""
    for text, spans in zip(texts, cut(texts, "span3"), strict=True):
        said = twins.units.sentences(text)
        assert len(spans) == max(0, len(said) - 2)
        for three, span in zip(zip(said, said[1:], said[2:], strict=False), spans, strict=True):
            assert "".join(span.split()) == "".join("".join(three).split())
            assert span.startswith(three[0])
            assert span.endswith(three[2])


@settings(max_examples=300)
@given(st.lists(st.one_of(st.text(AWKWARD, max_size=6), st.text(max_size=3)), min_size=2, max_size=8))
def test_hashes_are_equal_where_normal_forms_are(texts) -> None:
    """Units have one hash if their normal forms are equal, and only then; 0 characters if nothing is left."""
    offsets, data = column(texts)
    for form in (None, *forms.FORMS):
        found, chars = hashes.unit_hashes(data, offsets[:-1], offsets[1:], form)
        normal = [twins.units.unit_form(t, form) for t in texts]
        if not SAME_UNICODE:
            continue
        assert [c > 0 for c in chars.tolist()] == [bool(n.strip()) for n in normal]
        for half in found.T.tolist():
            alike = [(a == b, x == y) for (a, x), (b, y) in itertools.combinations(zip(half, normal, strict=True), 2)]
            assert all(same == equal for same, equal in alike)


def test_bases_are_those_of_unicodedata() -> None:
    """Every code point both know becomes what its canonical decomposition without non-spacing marks says."""
    table = forms.form("ccnet")
    wrong = []
    for c in range(0x110000):
        known = SAME_UNICODE or (classes()[c] and unicodedata.category(chr(c)) != "Cn")
        if 0xD800 <= c < 0xE000 or not known or c == 0x3A3:
            continue
        entry = int(table.entries[c])
        row = table.several[entry & forms.VALUE].tolist() if entry & forms.SEVERAL else [entry]
        made = "".join(" " if e & forms.GAP else chr(e & 0x1FFFFF) for e in row if e)
        points = [(x, unicodedata.category(x)) for x in unicodedata.normalize("NFD", chr(c).lower())]
        left = [x for x, kind in points if kind not in ("Mn", "Cc") and kind[0] != "P"]
        plain = "".join("0" if x.isdecimal() else x for x in left).strip()
        wrong += [hex(c)] * (made.strip() != plain or plain != twins.units.unit_form(chr(c), "ccnet"))
    assert len(wrong) <= (0 if SAME_UNICODE else 20), wrong[:20]


@pytest.mark.parametrize("n", [63, 64, 65, 128, 1000])
def test_long_units_differ_in_one_character(n: int) -> None:
    """Wherever one character of many changes, or is left out, both halves of the hash change."""
    texts = ["x" * n, *("x" * i + c + "x" * (n - i - 1) for i in range(n) for c in "y ")]
    offsets, data = column(texts)
    found, chars = hashes.unit_hashes(data, offsets[:-1], offsets[1:], "lower")
    normal = {" ".join(t.split()) for t in texts}
    assert len(np.unique(found[:, 0])) == len(np.unique(found[:, 1])) == len(normal)
    assert set(chars.tolist()) == set(map(len, normal))


@pytest.mark.parametrize("form", [None, "c4", "space", "ccnet"])
@pytest.mark.parametrize("words", ["ab, C. ", "é 7 – ا "])
def test_texts_longer_than_a_piece(form, words: str) -> None:
    """What the normal form ignores is ignored around each border of a piece, and nothing else."""
    text = words * (2 * hashes.PIECE // len(words))
    places = [at + near for at in (hashes.PIECE // len(words), len(text) // len(words) - 9) for near in range(3)]
    texts = [text, *(text[: at * len(words)] + c + text[at * len(words) :] for at in places for c in (" ", "x"))]
    offsets, data = column(texts)
    found, chars = hashes.unit_hashes(data, offsets[:-1], offsets[1:], form)
    normal = [twins.units.unit_form(t, form) for t in texts]
    assert chars.tolist() == [len(n) for n in normal]
    for half in found.T.tolist():
        assert [half.index(h) for h in half] == [normal.index(n) for n in normal]


@given(TEXTS, st.integers(3, 7))
def test_blocks_are_the_units_a_few_at_a_time(texts, n) -> None:
    """However few units a block holds, all blocks together are the units, with the same hashes."""
    offsets, data = column([t + MARKED[:i] for i, t in enumerate(texts)])
    for unit in U.UNITS:
        starts, first, last = U.units(offsets, data, unit)
        found = list(U.blocks(offsets, data, unit, "c4", n))
        assert all(len(block.start) <= n for block in found)
        assert [x for block in found for x in block.start.tolist()] == first.tolist()
        assert [x for block in found for x in block.end.tolist()] == last.tolist()
        whole = list(U.blocks(offsets, data, unit, "c4"))
        assert [x for b in found for x in b.hashes.tolist()] == [x for b in whole for x in b.hashes.tolist()]
        texts_of = np.repeat(np.arange(len(texts)), np.diff(starts)).tolist()
        assert [x for block in found for x in block.text.tolist()] == texts_of
