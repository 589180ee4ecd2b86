"""Names next to letters of another script: what is passed over has none, and a change of the script ends a word."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pyarrow as pa
import pytest

from dataprep.core.model import batch as B
from dataprep.messages.names import beside
from dataprep.messages.names import prefilter as P
from dataprep.messages.names.finder import Finder, folded_letters

TERMS = ["ilse varga", "ilse", "varga", "ilsevarga", "зарина", "김민수", "tom", "rose"]
WEAK = frozenset({"rose"})


def masked(text: str) -> str:
    """The text with each name that is found as its number in brackets."""
    offsets, data = B.buffers(pa.array([text], pa.large_string()))
    finder = Finder(TERMS, WEAK, {})
    raw, last, out = text.encode(), 0, ""
    for _, start, end, term, mentioned in finder.hits(offsets, data, folded_letters("ول")).tolist():
        if mentioned or not finder.weak[term]:
            out, last = out + raw[last:start].decode() + f"[{term}]", end
    return out + raw[last:].decode()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("今日はIlseさんと会った", "今日は[1]さんと会った"),
        ("我和Ilse去", "我和[1]去"),
        ("어제Ilse씨랑, Varga는", "어제[1]씨랑, [2]는"),
        ("เมื่อวานIlseมา", "เมื่อวาน[1]มา"),
        ("с Ilseом, قالIlse", "с [1]ом, قال[1]"),
        ("Ilse Vargaさん、IlseVargaさん", "[0]さん、[3]さん"),
        ("ILSEさん Ilséさん", "[1]さん [1]さん"),
        ("Ｉｌｓｅさん", "[1]さん"),
        ("私Ilse92です", "私[1]92です"),
        ("Заринаさん", "[4]さん"),
        ("Заринаgram", "[4]gram"),
        ("さんIlsebillさん Roseさん @Roseさん Заринам", "さんIlsebillさん Roseさん @[7]さん Заринам"),
        ("昨日Tom2さん", "昨日Tom2さん"),  # may be a word of Arabizi
        ("IlseIlse ilsexilse IlseIlseIlse Ilsex2 ilsex10", "[1] [1] [1] [1] [1]"),
        ("tomtom Ilsex Ilseilsebill Ilsex2b", "tomtom Ilsex Ilseilsebill Ilsex2b"),
        ("김민수김민수 김민수김민수는", "[5] [5]는"),
    ],
)  # fmt: skip
def test_names_in_a_word(text, found):
    """Names next to another script, and names that a word repeats; no parts of words of one script."""
    assert masked(text) == found


def test_texts_that_are_passed_over_have_no_names(monkeypatch):
    """The names are those of searching all texts, and few texts without a name are searched."""
    rng = random.Random(5)
    pieces = ["Ilse", "varga", " ", "さん", "家", "씨", "га", "и", "bill", "92", "\u200b", "é", "Зарина", "ال", "xy",
              "มา", "."]  # fmt: skip
    made = ["".join(rng.choices(pieces, k=5)) for _ in range(605)]
    offsets, data = B.buffers(B.make(list(range(605)), made, "x").slice(5))
    search = Finder(TERMS, WEAK, {}).beside
    found = search.find(offsets, data, folded_letters("ول"))
    rows = P.changes_script(offsets, data, beside.scripts(), beside.folded(), search.sieve, folded_letters("ول"))
    monkeypatch.setattr(P, "changes_script", lambda offsets, *_: np.ones(len(offsets) - 1, np.bool_))
    every = search.find(offsets, data, folded_letters("ول"))
    np.testing.assert_array_equal(found, every[rows[every[:, 0]]])
    missed = {tuple(hit) for hit in every.tolist()} - {tuple(hit) for hit in found.tolist()}
    assert len(found) > 200
    texts = [data[a:b].tobytes().decode() for a, b in itertools.pairwise(offsets)]
    for row, start, end, *_ in missed:
        before, after = (data[offsets[row] : start].tobytes().decode(), data[end : offsets[row + 1]].tobytes().decode())
        of = beside.scripts()[ord(data[start:end].tobytes().decode()[0])]
        for side in (before[::-1], after):
            seen = [int(beside.scripts()[ord(c)]) for c in side if beside.scripts()[ord(c)] != P.UNSEEN]
            assert not seen or seen[0] in (0, of), texts[row]
