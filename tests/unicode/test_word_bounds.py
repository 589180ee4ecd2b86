"""Words that are found 64 bytes at a time, at every place of a block, against the rules of UAX #29."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins.words
from dataprep.unicode.word_bounds import CHANGED, LEAST, empty_bounds, word_rule
from dataprep.unicode.word_bounds import find_words as kernel
from dataprep.unicode.word_hashes import WORDS, words
from dataprep.unicode.words import SPLITS
from unicode.test_text import TEXTS, column, cut

# Runs of one script, with what stands between words and inside of them.
RUNS = (
    "a Z b9 0_ . , : ; ' \" - \r\n don't 3.14 a.b 1,000 x:y",
    "été ŒUVRE l’été naïve “déjà” ß · l·l",
    "слово Слово ЁЖ её-то",
    "كَتَبَ الولد ١٢٣ «نص»",
    "हिन्दी में किताब ।",
    "ที่นี่ ไทย",
    "我们读书。中文abc，3.14",
    "カタカナ ひらがな 漢字ー",
    "한국어 문장",
    'צה"ל שָׁלוֹם ׳א',
    "\u0130 \u03a3\u03a3 x\u0301 a'\u0301b .\u0301 \u00ad a\u00adb \ufe0f \u202f1\u202f2 \U0001f1e6 \U0001d400",
)
ALPHABET = "".join(RUNS)
MIXED = st.lists(st.one_of(st.sampled_from([*RUNS, *" .'\"_a"]), st.text(ALPHABET, max_size=20), TEXTS), max_size=12)


def found(texts: list[str], split: str = "unicode", room: int = WORDS) -> list[list[tuple[int, int]]]:
    """The words of each text by the kernel, as characters of the text, of which a few fit at once."""
    offsets, data = column(texts)
    out, rule, spans = empty_bounds(LEAST + room), word_rule(split), []
    for text, begin, stop in zip(texts, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        own, i = [], begin
        while i < stop:
            i, n = kernel(data, np.uint64(begin), np.uint64(i), np.uint64(stop), rule, out)
            starts = out.starts[:n] & np.uint64(CHANGED - 1)
            own += zip(starts.tolist(), out.ends[:n].tolist(), strict=True)
        at = {begin + len(text[:k].encode()): k for k in range(len(text) + 1)}
        spans.append([(at[a], at[b]) for a, b in own])
    return spans


def test_words_at_every_offset_of_a_block() -> None:
    """Each text after 0 to 64 bytes, and the same words alone, before another text and at the end of the array."""
    for run in (*RUNS, "don't", "3.14", "a.b", "a:b", "1;2", "a..b", "'a'", "é'é", "a'é", "é'a"):
        texts = [" " * n + run for n in range(65)] + ["x" * n + " " + run for n in range(130)]
        texts += ["x" * n + run for n in range(65)] + ["8" * n + run for n in range(65)]
        for some in (texts, *([t] for t in texts[:8])):
            assert found(some) == [list(twins.words.spans(t)) for t in some]


@pytest.mark.parametrize("size", [*range(20), 62, 63, 64, 65, 127, 128, 129, 200])
def test_texts_of_every_size(size: int) -> None:
    """The array ends with the text; no word crosses from one text to the next."""
    dice = random.Random(size)
    texts = ["".join(dice.choice(ALPHABET) for _ in range(size)) for _ in range(20)]
    texts += ["".join(dice.choice("ab1.,':_ ") for _ in range(size)) for _ in range(20)]
    expected = [list(twins.words.spans(t)) for t in texts]
    assert found(texts) == expected
    assert [found([t])[0] for t in texts] == expected


@given(MIXED, st.sampled_from(SPLITS), st.sampled_from([1, 2, 33, WORDS]))
def test_mixtures_of_scripts(parts: list[str], split: str, room: int) -> None:
    """Words are those of the twin, also if few of them fit into the arrays at once; so are their hashes."""
    text = "".join(parts)
    texts = [text, text[1:] + "é", ""]
    if split == "unicode":
        assert found(texts, split, room) == [list(twins.words.spans(t)) for t in texts]
    hashes = cut(*words(*column(texts), split))
    expected = [[twins.words.word_hash(w) for w in twins.words.words(t, split)] for t in texts]
    assert [h.tolist() for h in hashes] == expected


def test_marks_after_the_last_word_that_fits() -> None:
    """Words of one character fill the arrays, wherever the marks of one of them are."""
    for word in ("か\u3099", "ที่", "မြန်မာ", "中"):
        for n in (*range(LEAST - 2, LEAST + 3), *range(2 * LEAST, 2 * LEAST + 5)):
            text = "中" * n + word * 3 + " a" + word * (n + 2)
            assert found([text], room=2) == [list(twins.words.spans(text))]


def test_dense_scripts() -> None:
    """Characters that are looked up at once: every letter beyond ASCII of a script beside every other."""
    dice = random.Random(0)
    for first, last in ((0xC0, 0x24F), (0x370, 0x52F), (0x5D0, 0x6FF), (0x900, 0x97F), (0xE00, 0xE5F), (0x3000, 0x30FF),
                        (0x3400, 0xA000), (0xA960, 0xD7FF), (0xF900, 0xFFEF), (0x10000, 0x10FFF)):  # fmt: skip
        letters = [[chr(dice.randint(first, last)) for _ in range(99)] for _ in range(30)]
        texts = ["".join(c + " " * (dice.random() < 0.1) for c in some) for some in letters]
        assert found(texts) == [list(twins.words.spans(t)) for t in texts]


def test_long_words_have_hashes_of_their_own() -> None:
    """As numbers of any length have that differ in one digit, and words that differ in their length alone."""
    texts = ["a" * n for n in (*range(1, 80), 4095, 4096, 4097, 100_000)]
    texts += ["".join(c) for c in itertools.product("é1x", repeat=7)] + ["1" + "0" * n + "35" for n in range(20)]
    hashes = words(*column(texts))[1].tolist()
    assert hashes == [twins.words.word_hash(t) for t in texts]
    assert len(set(hashes)) == len(texts)


def test_a_word_in_capitals_has_the_same_hash() -> None:
    """In every script with two cases, with ASCII letters between, and whatever the form of its apostrophe."""
    pairs = [("ÉTÉ", "été"), ("СЛОВО", "слово"), ("L’ÉTÉ", "l'été"), ("DON’T", "don't"), ("\u023a\u023e" * 9, "ⱥⱦ" * 9)]
    pairs += [("a\u00adb" * 9, "ab" * 9), ("\u212aelvin", "kelvin"), ("ΣΟΦΟΣ", "σοφος"), ("A_B", "a_b")]
    for upper, lower in pairs:
        assert words(*column([upper]))[1].tolist() == words(*column([lower]))[1].tolist()
