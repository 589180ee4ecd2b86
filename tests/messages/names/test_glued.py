"""Names next to digits and inside of tokens: what is passed over has none, and no two rows overlap."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from dataprep.core import batch as B
from dataprep.messages.names import glued as G
from dataprep.messages.names import kernel as K
from dataprep.messages.names.trie import build
from twins.names import has_digit_at_letter

WORDS = {name: k for k, name in enumerate(["ilse", "ilsetom", "tom", "varga", "أحمد", "zoe", "annabel", "abel"])}
PIECES = [*WORDS, "Zoë", "ILSE", "Ilsé", "x", "team", "bel", "@", "#", "/", ".", "-", "_", " ", " ", "\n", "92", "3",
          "\u200b", "\u0301", "é", "王", "😂", "\u0663", "²",
          "https://x.org/", "a.b@example.org", 9 * "long"]  # fmt: skip


def texts(n, seed=3):
    """Texts of names, signs and others in a row, as (offsets, data) that do not begin at 0."""
    rng = random.Random(seed)
    made = ["".join(rng.choices(PIECES, k=rng.randrange(9))) for _ in range(n + 5)]
    return B.buffers(B.make(list(range(len(made))), made, "x").slice(5))


def test_tokens_that_are_passed_over_have_no_names(monkeypatch):
    """The names are those of looking at every token."""
    offsets, data = texts(900)
    trie = build(list(WORDS))
    found = G.glued_names(offsets, data, trie, WORDS)
    seen = []

    def all_of(data, signs, *_):
        seen.append(len(signs))
        return np.ones(len(signs), np.bool_)

    few = int(K.with_terms(data, *G._tokens(offsets, data)[1:], G.folded(), *trie[:2], trie.terms >= 0).sum())
    monkeypatch.setattr(K, "with_terms", all_of)
    np.testing.assert_array_equal(found, G.glued_names(offsets, data, trie, WORDS))
    assert len(found) > 100
    assert few < seen[0]


def test_only_texts_with_digits_next_to_letters_are_searched_for_them():
    """The names next to digits in all texts are those found in each text alone."""
    offsets, data = texts(800)
    trie, sure = build(list(WORDS)), np.ones(99, np.bool_)
    found = sorted(G._next_to_digits(offsets, data, trie, sure))
    alone = sorted(
        (row, *rest)
        for row in range(len(offsets) - 1)
        for _, *rest in G._next_to_digits(offsets[row : row + 2], data, trie, sure)
    )
    assert found == alone
    assert len(found) > 30
    made = [data[a:b].tobytes().decode() for a, b in itertools.pairwise(offsets)]
    assert K.with_digits(offsets, data, G._kinds()).tolist() == [has_digit_at_letter(text) for text in made]


@pytest.mark.parametrize("digit", ["1", "22", "\u0662", "\u06f2", "\uff11", "\u00b2", "\u2461", "\u2163", "\U0001d7d2"])
@pytest.mark.parametrize(
    "names", [("quentin", "zafirov"), ("محمد", "الامين"), ("иван", "петров")], ids=["latin", "arabic", "cyrillic"]
)
def test_every_number_of_unicode_ends_a_name(names, digit):
    """On both sides, between two names, and behind an Arabic prefix; other scripts' digits, too."""
    trie, words = build(names), {name: k for k, name in enumerate(names)}
    a, b = names
    for text, n in ((a + digit + b, 2), (digit + a + digit, 1), (f"{a} {b}{digit}", 2), (f"{a}{digit} {b}", 2)):
        found = G.glued_names(*B.buffers(B.make([0], [text], "x")), trie, words)
        assert len(found) == n, text
    prefixed = B.buffers(B.make([0], ["\u0648" + a + digit], "x"))
    assert len(G.glued_names(*prefixed, trie, words, (), G.folded()[[0x648]])) == 1
    assert not len(G.glued_names(*prefixed, trie, words))


@pytest.mark.parametrize(("text", "n"), [("sma3 7lib", 0), ("sma33", 1), ("abel3", 1), ("3abel 3tom 33tom", 2)])
def test_single_digits_may_be_letters_of_arabizi(text, n):
    """Next to a name of three letters, which is found with more digits than one."""
    trie = build(["abel", "lib", "sma", "tom"])
    found = G.glued_names(*B.buffers(B.make([0], [text], "x")), trie, {"abel": 0, "lib": 1, "sma": 2, "tom": 3})
    assert len(found) == n


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_overlap_others_are_left_out(seed):
    """`with_glued` keeps all hits, and of the others those that overlap nothing before them, in order."""
    rng = random.Random(seed)
    hits, at = [], 0
    while at < 300:
        at += rng.randrange(1, 20)
        hits.append((at // 60, at, at := at + rng.randrange(1, 8), rng.randrange(9), 0))
    starts = [rng.randrange(320) for _ in range(40)]
    glued = [(start // 60, start, start + rng.randrange(1, 8), 100 + k, 0) for k, start in enumerate(starts)]
    kept = list(hits)
    for row in sorted(glued, key=lambda g: g[1]):
        if all(row[2] <= other[1] or other[2] <= row[1] for other in kept):
            kept.append(row)
    found = G.with_glued(np.array(hits, np.int64), np.array(glued, np.int64))
    np.testing.assert_array_equal(found, sorted(kept, key=lambda g: g[1]))
    assert G.with_glued(found, np.zeros((0, 5), np.int64)) is found
