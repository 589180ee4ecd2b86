"""Unicode tables and text kernels against Python's own `re` and `str`."""

from __future__ import annotations

import itertools
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins.text
import twins.words
from dataprep.core.model import batch as B
from dataprep.unicode import hashes as H
from dataprep.unicode import shingle_sets as SS
from dataprep.unicode import shingles as S
from dataprep.unicode import tables
from dataprep.unicode import text as T
from dataprep.unicode import word_hashes as WH
from dataprep.unicode import words as W
from dataprep.unicode.shingle_sets import shingle_sets

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
SAME_UNICODE = unicodedata.unidata_version == tables.VERSION
BOTH = [c for c in POINTS if T.classes()[c] and unicodedata.category(chr(c)) != "Cn"]
KNOWN = POINTS if SAME_UNICODE else BOTH  # what both versions know


def is_known(ch: str) -> bool:
    """Not a letter that a newer Unicode than that of the tables brought."""
    return SAME_UNICODE or bool(T.classes()[ord(ch)]) or not (ch.isalnum() or ch.lower() != ch)


# What lower-casing stumbles on: U+0130, final sigma with marks around it, Kelvin, a long s, an Arabic mark, an emoji.
AWKWARD = (
    "aA1_ .\u0130\u03a3\u03c3\u03c2\u0345\u00ad'\u212a\u017f\u01c5\u064b\u1e9e"
    "\u2160\u24b6\U0001f600\U00010400\u4e00\x1c\x85"
)
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cn"]).filter(is_known), max_size=60),
    st.text(AWKWARD, max_size=60),
    st.text("aΣb İK.\n\u0301", max_size=200),
)


def column(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Texts as a kernel reads them: a slice of a longer column, so that offsets do not start at 0."""
    return B.buffers(pa.array(["before", *texts], pa.large_string()).slice(1))


def cut(offsets: np.ndarray, values: np.ndarray) -> list[np.ndarray]:
    """A ragged array as a list."""
    return [values[a:b] for a, b in itertools.pairwise(offsets)]


@pytest.mark.parametrize(
    ("bit", "test"),
    [
        (T.SPACE, str.isspace),
        (T.ALPHA, str.isalpha),
        (T.DECIMAL, str.isdecimal),
        (T.NUMERIC, str.isnumeric),
        (T.UPPER, str.isupper),
        (T.WORD, lambda ch: ch.isalnum() or ch == "_"),
        (T.LINE, lambda ch: len((ch + "x").splitlines()) == 2),
        (T.PUNCT, lambda ch: unicodedata.category(ch)[0] == "P"),
        (T.MARK, lambda ch: unicodedata.category(ch)[0] == "M"),
    ],
    ids=["space", "alpha", "decimal", "numeric", "upper", "word", "line", "punct", "mark"],
)
def test_classes_are_those_of_python(bit: int, test) -> None:
    """Every code point that the tables know has the class that this Python gives it; with its Unicode, all have."""
    wrong = [c for c in KNOWN if bool(T.classes()[c] & bit) != test(chr(c))]
    assert len(wrong) <= (0 if SAME_UNICODE else 20), [hex(c) for c in wrong[:20]]


def test_lower_case_is_that_of_python() -> None:
    """The first code point of `str.lower` of every code point."""
    wrong = [c for c in KNOWN if int(T.lowered()[c]) & T.POINT != ord(chr(c).lower()[0])]
    assert len(wrong) <= (0 if SAME_UNICODE else 20), [hex(c) for c in wrong[:20]]


@given(st.lists(TEXTS, max_size=5), st.sampled_from(["word", "char"]), st.integers(1, 6), st.sampled_from(W.SPLITS))
def test_shingles_are_those_of_the_twin(texts: list[str], unit: str, n: int, split: str) -> None:
    """As many distinct hashes as distinct shingles, and as many in common between any two texts."""
    found = [set(h.tolist()) for h in cut(*S.shingles(*column(texts), unit, n, split))]
    expected = [twins.text.shingle_set(t, unit, n, split) for t in texts]
    assert [len(f) for f in found] == [len(e) for e in expected]
    for f, e in zip(found, expected, strict=True):
        assert [len(f & g) for g in found] == [len(e & x) for x in expected]


@given(st.lists(TEXTS, max_size=5), st.sampled_from(H.NORMAL_FORMS))
def test_normal_forms_are_those_of_the_twin(texts: list[str], form: str) -> None:
    """White space, case and punctuation are forgiven as Python's str would."""
    found = [bytes(x).decode() for x in cut(*H.normal_form(*column(texts), form))]
    assert found == [twins.text.normal(t, form) for t in texts]


@given(st.lists(st.one_of(TEXTS, st.text("ab", max_size=20)), max_size=8))
def test_equal_texts_have_equal_hashes(texts: list[str]) -> None:
    """128-bit hashes are equal exactly when texts are, whatever lies around them."""
    found = [tuple(row) for row in H.text_hashes(*column(texts)).tolist()]
    assert len(set(zip(texts, found, strict=True))) == len(set(texts)) == len(set(found))


def test_hashes_of_similar_texts_do_not_collide() -> None:
    """100,000 texts that differ in one digit have different 128-bit hashes, in each half."""
    hashes = H.text_hashes(*column([f"page {i} of a very long book" for i in range(100_000)]))
    assert len(np.unique(hashes[:, 0])) == len(np.unique(hashes[:, 1])) == 100_000


def test_word_hashes_differ_wherever_a_word_is_changed() -> None:
    """100,000 numbers, permuted letters and long words have as many hashes."""
    texts = [str(i) for i in range(100_000)] + ["x" * i for i in range(1, 300)]
    texts += [f"{a}{b}{c}" for a in "abcdefghij" for b in "klmnopqrst" for c in "abcdefghij"]
    _, hashes = WH.words(*column(texts))
    assert len(np.unique(hashes)) == len(texts)


def test_texts_of_very_short_words_have_room() -> None:
    """More words than there is room for at first, of one byte and of three; each has the hash that it has alone."""
    short = [chr(97 + i % 26) for i in range(20_000)]
    chinese = [chr(0x4E00 + i % 500) for i in range(20_000)]
    texts = [" ".join(short), "".join(chinese), "one more"]
    ends, hashes = WH.words(*column(texts))
    alone = [WH.words(*column([word]))[1][0] for word in (*short[:26], *chinese[:500])]
    wanted = [*(alone[i % 26] for i in range(20_000)), *(alone[26 + i % 500] for i in range(20_000))]
    assert ends.tolist() == [0, 20_000, 40_000, 40_002]
    assert hashes[:40_000].tolist() == wanted


def test_shingle_hash_is_that_of_the_kernel() -> None:
    """The public hash of a shingle's bytes is the low half of the kernel's."""
    words = twins.words.words("The quick, brown fox jumps over the lazy dog")
    _, hashes = S.shingles(*column([" ".join(words)]), "word", 5)
    shingles = [" ".join(words[i : i + 5]) for i in range(len(words) - 4)]
    assert [S.shingle_hash(s.encode()) for s in shingles] == [int(h) & 0xFFFFFFFF for h in hashes]
    assert S.shingle_hash("") == 0


def items_of(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of the words of documents, some long, some of few words: offsets, and hashes."""
    random = np.random.default_rng(seed)
    sizes = [0, 1, 3, 0, *random.integers(0, 60, 20), *random.integers(500, 5000, 3), 0]
    kinds = [int(k) for k in random.choice([1, 2, 5, 40, 300, 1 << 40], len(sizes))]
    items = [random.integers(0, k, size).astype(np.uint64) for k, size in zip(kinds, sizes, strict=True)]
    return np.append(0, np.cumsum(sizes)), np.concatenate(items)


@pytest.mark.parametrize("n", [1, 2, 5, 13])
@pytest.mark.parametrize("least", [1, 2, 30])
def test_sets_of_shingles_are_those_of_the_twin(n: int, least: int) -> None:
    """Distinct, in order of first occurrence, of documents with many repeats, with few and with none."""
    for seed in range(3):
        ends, items = items_of(1000 * n + seed)
        every = cut(*H.shingle_hashes(ends, items, n))
        wanted = [list(dict.fromkeys(own.tolist())) if len(own) >= least else [] for own in every]
        found = shingle_sets(ends, items, n, least)
        assert [own.tolist() for own in cut(*found)] == wanted
        assert len(found[1]) == sum(map(len, wanted))


def test_hashes_that_share_a_bit_are_told_apart() -> None:
    """All hashes set one bit of a bitmap, and take one slot of the table: the result is the same."""
    hashes = np.array([1, 2, 1, 3, 2, 1, 4], np.uint64) << np.uint64(58)
    once, twice, suspects = np.ones(1, np.uint64), np.ones(1, np.uint64), np.empty(8, np.int64)
    n = SS._suspects(hashes, once, twice, suspects)
    assert suspects[:n].tolist() == [0, 1, 2, 3, 4, 5, 6]
    n = SS._repeats(hashes, suspects[:n], np.empty(16, np.int64))
    assert suspects[:n].tolist() == [2, 4, 5]
    SS._remove(hashes, suspects[:n])
    assert (hashes[:4] >> np.uint64(58)).tolist() == [1, 2, 3, 4]
