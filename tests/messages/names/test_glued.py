"""Names next to digits and inside of tokens: what is passed over has none, and no two rows overlap."""

from __future__ import annotations

import itertools
import random
import re

import numpy as np
import pytest

from dataprep.core.model import batch as B
from dataprep.messages.names import glued as G
from dataprep.messages.names import kernel as K
from dataprep.messages.names import prefilter as P
from dataprep.messages.names.phones import Phones, phone
from dataprep.messages.names.trie import build
from twins.names import has_digit_at_letter

WORDS = {name: k for k, name in enumerate(["ilse", "ilsetom", "tom", "varga", "أحمد", "zoe", "annabel", "abel"])}
PREFIXES = G.folded()[[0x648]]
PIECES = [*WORDS, "Zoë", "ILSE", "Ilsé", "x", "team", "bel", "@", "#", "/", ".", "-", "_", " ", " ", "\n", "92", "3",
          "\u200b", "\u0301", "é", "王", "😂", "\u0663", "²", "\\n", "Ilse", "TeamTom", "atoma", "\u0648",
          "https://x.org/", "a.b@example.org", 9 * "long"]  # fmt: skip


def texts(n, seed=3):
    """Texts of names, signs and others in a row, as (offsets, data) that do not begin at 0."""
    rng = random.Random(seed)
    made = ["".join(rng.choices(PIECES, k=rng.randrange(9))) for _ in range(n + 5)]
    return B.buffers(B.make(list(range(len(made))), made, "x").slice(5))


def glued(names):
    """The search for names of one word, all sure."""
    return G.GluedNames(names, build(names), {name: k for k, name in enumerate(names)})


def test_tokens_that_are_passed_over_have_no_names(monkeypatch):
    """The names are those of looking at every token."""
    offsets, data = texts(900)
    trie = build(list(WORDS))
    found = glued(list(WORDS)).find(offsets, data)
    seen = []

    def all_of(data, signs, *_):
        seen.append(len(signs))
        return np.ones(len(signs), np.bool_)

    few = int(P.with_terms(data, *G._tokens(offsets, data)[1:], G.folded(), *trie[:2], trie.terms >= 0).sum())
    monkeypatch.setattr(P, "with_terms", all_of)
    np.testing.assert_array_equal(found, glued(list(WORDS)).find(offsets, data))
    assert len(found) > 100
    assert few < seen[0]


@pytest.mark.parametrize(
    ("token", "found"),
    [("ilse.varga99", ["ilse", "varga"]), ("TeamTom", ["Tom"]), ("Zoë_annabel", ["Zoë", "annabel"]),
     ("x@ILSE", ["ILSE"]), ("VargaTom", ["Varga", "Tom"]), ("atoma", []),
     ("tomzoetom", ["tom", "zoe", "tom"])],
)  # fmt: skip
def test_names_in_tokens_are_where_they_say(token, found):
    """From their first letter to their last, and which they are."""
    rows = list(glued(list(WORDS)).in_token(token))
    assert [token[a:b] for a, b, _ in rows] == found
    assert [list(WORDS)[term] for _, _, term in rows] == [name.lower().replace("ë", "e") for name in found]


def test_texts_without_names_next_to_digits_are_passed_over(monkeypatch):
    """The names are those of searching all texts, and few texts without such a name are searched."""
    offsets, data = texts(800)
    names = glued(list(WORDS))
    whole = K.find_names(offsets, data, G.folded(), *names.trie, PREFIXES)
    found = G.with_glued(whole, names.find(offsets, data, PREFIXES))
    made = [data[a:b].tobytes().decode() for a, b in itertools.pairwise(offsets)]
    near = P.near_digits(offsets, data, G._kinds(), G.folded(), names.sieve, PREFIXES)
    assert {row for row in range(800) if has_digit_at_letter(made[row])} > set(np.flatnonzero(near).tolist())
    monkeypatch.setattr(P, "near_digits", lambda offsets, *_: np.ones(len(offsets) - 1, np.bool_))
    np.testing.assert_array_equal(found, G.with_glued(whole, names.find(offsets, data, PREFIXES)))
    assert len(found) > len(whole) + 30


@pytest.mark.parametrize("seed", range(3))
def test_texts_without_the_ends_of_known_numbers_are_passed_over(seed):
    """They have no known number; the others are those that have its last digits in a row."""
    rng = random.Random(seed)
    known = Phones(phone(one) for one in ("+33 6 71 84 20 95", "+65 8123 4567", "+1 312 605 4178"))
    pieces = ["671842095", "067184", "2095", "8123", "4567", "12605", "4178", " ", "\n", "a", "é", "٤", "①", "_", "x"]
    made = ["".join(rng.choices(pieces, k=rng.randrange(9))) for _ in range(3000)]
    rows = known.rows(*B.buffers(B.make(list(range(3005)), [*"12345", *made], "x").slice(5))).tolist()
    assert {row for row, text in enumerate(made) if list(known.find(text))} <= set(rows)
    digits = [re.sub("[٤①]", lambda m: "41"["٤①".index(m[0])], re.sub("[^0-9a-zé٤①]|é", "", text)) for text in made]
    assert rows == [row for row, text in enumerate(digits) if re.search("1842095|1234567|6054178", text)]


@pytest.mark.parametrize("digit", ["1", "22", "\u0662", "\u06f2", "\uff11", "\u00b2", "\u2461", "\u2163", "\U0001d7d2"])
@pytest.mark.parametrize(
    "names", [("quentin", "zafirov"), ("محمد", "الامين"), ("иван", "петров")], ids=["latin", "arabic", "cyrillic"]
)
def test_every_number_of_unicode_ends_a_name(names, digit):
    """On both sides, between two names, and behind an Arabic prefix; other scripts' digits, too."""
    a, b = names
    for text, n in ((a + digit + b, 2), (digit + a + digit, 1), (f"{a} {b}{digit}", 2), (f"{a}{digit} {b}", 2)):
        found = glued(names).find(*B.buffers(B.make([0], [text], "x")))
        assert len(found) == n, text
    prefixed = B.buffers(B.make([0], ["\u0648" + a + digit], "x"))
    assert len(glued(names).find(*prefixed, PREFIXES)) == 1
    assert not len(glued(names).find(*prefixed))


@pytest.mark.parametrize(("text", "n"), [("sma3 7lib", 0), ("sma33", 1), ("abel3", 1), ("3abel 3tom 33tom", 2)])
def test_single_digits_may_be_letters_of_arabizi(text, n):
    """Next to a name of three letters, which is found with more digits than one."""
    found = glued(["abel", "lib", "sma", "tom"]).find(*B.buffers(B.make([0], [text], "x")))
    assert len(found) == n


@pytest.mark.parametrize(("text", "n"), [
    ("3ziza99", 1), ("993ziza", 1), ("#Team3zizaRocks", 1), ("3ziza l7or 3ziza", 3), ("9l7or9", 1), ("xl7or9", 0),
    ("3ziza3ziza", 2), ("ziza99", 0), ("ilse\U0001f171\ufe0f", 1), ("1\ufe0f\u20e3ilse", 1), ("\u24dcilse", 1),
    ("\\n3ZIZA9", 1),
])  # fmt: skip
def test_names_with_digits_or_next_to_emoji(text, n):
    """Next to other digits; one of five characters or more also next to letters; next to letters in squares."""
    found = glued(["3ziza", "l7or", "l7orziza", "ilse"]).find(*B.buffers(B.make([0], [text], "x")))
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
