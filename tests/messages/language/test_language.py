"""The language of messages: words, scripts, context, and the share named right on real sentences."""

from __future__ import annotations

import csv
import gzip
import zlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.core.model import batch as B
from dataprep.core.model.score import ScoredFilter
from dataprep.errors import PlanError
from dataprep.messages.language import kernel as K
from dataprep.messages.language.stage import MessageLanguage
from dataprep.messages.language.words import LABELS, features
from dataprep.unicode.text import classes, lowered
from twins.message_language import language_points


def labels(rows, stage=None):
    """The languages and scores of (author, text) or (chat, author, text, kind)."""
    rows = [("c", *row, "text") if len(row) == 2 else row for row in rows]
    chats, authors, texts, kinds = zip(*rows, strict=True)
    columns = {"chat": chats, "author": authors, "kind": kinds}
    arrays = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    kept, _, _ = laws.apply(stage or MessageLanguage(), [B.make(range(len(rows)), list(texts), "s", columns=arrays)])
    return [r["language"] for r in kept], [r["language_score"] for r in kept]


@pytest.mark.parametrize(("text", "label"), [
    ("واش غادي تجي لدار هاد لعشية", "ary"), ("لقد أكد الرئيس أن هذه المباراة كانت صعبة", "ar"),
    ("wach ghadi tji l dar had l3chiya", "ary_Latn"), ("chno 9al lik l7aj lbare7", "ary_Latn"),
    ("mabghitch nmchi daba", "ary_Latn"), ("je suis à la maison, tu viens ce soir ?", "fr"),
    ("l'eau n'est pas chaude", "fr"),
    ("I don't know what you're thinking", "en"), ("where are you going tonight", "en"),
    ("@wachbghiti see you there", "en"), ("12:30 😂 👍", "und"), ("", "und"), ("приходи завтра", "other"),
])  # fmt: skip
def test_messages(text, label):
    """A sentence of each kind; what stands behind @ says nothing, and without letters there is no language."""
    found, scores = labels([("a", text)], MessageLanguage(context=False))
    assert found == [label]
    assert 0 <= scores[0] <= 1


def test_context_is_the_authors_then_the_chats():
    """What tells too little takes the label of its author's last clear message here in this script, else the chat's."""
    rows = [
        ("c", "a", "wach ghadi tji daba", "text"), ("c", "b", "je suis à la maison ce soir", "text"),
        ("c", "a", "ok", "text"), ("c", "b", "ok", "text"), ("c", "new", "ok", "text"), ("c", "a", "ززز", "text"),
        ("d", "a", "ok", "text"), ("c", "a", "Media omitted", "image"), ("c", "a", "where are you going", "text"),
        ("c", "a", "ok", "text"),
    ]  # fmt: skip
    found, scores = labels(rows)
    assert found == ["ary_Latn", "fr", "ary_Latn", "fr", "fr", "und", "und", "und", "en", "en"]
    assert [s == 0 for s in scores[2:8]] == [True] * 6
    assert labels(rows, MessageLanguage(context=False))[0][2:8] == ["und"] * 6


class Saying(ScoredFilter):
    """A judge that says a word's language is the word."""

    scores = {"language": pa.string(), "language_score": pa.float64()}  # noqa: RUF012

    def score(self, batch):
        """The first word, sure if it is long."""
        words = [t.split()[0] if t else "" for t in batch.column("text").to_pylist()]
        return {"language": pa.array(words), "language_score": pa.array([0.9 if len(w) > 2 else 0.2 for w in words])}


def test_another_judge():
    """A model's labels and scores are used, with context where it is not sure; what adds no language is refused."""
    found, scores = labels([("a", "deu ja"), ("a", "x"), ("b", "spa")], MessageLanguage(model=Saying()))
    assert (found, scores) == (["deu", "deu", "spa"], [0.9, 0.0, 0.9])
    with pytest.raises(PlanError, match="must add a language"):
        MessageLanguage(model=dp.C4())


PIECES = [
    "wach",
    "l'",
    "don't",
    "3",
    "7",
    "ch",
    "é",
    " ",
    "@",
    "#",
    "\n",
    "واش",
    "ال",
    "ـ",
    "٣",
    "ش",
    "x",
    "lb",
    "я",
    "ö",
]


@given(made=st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), max_size=4))
def test_the_kernel_counts_what_its_twin_counts(made):
    """Points of every label by plain search for pieces in words."""
    found, _ = K.score(*B.buffers(pa.array(made, pa.large_string())), lowered(), classes(), *K.build(), len(LABELS))
    table = {}
    for piece, label, points in features():
        table.setdefault(piece, {}).setdefault(label, []).append(points)
    assert found.tolist() == [language_points(text, table, LABELS) for text in made]


def test_share_named_right(shared):
    """On the half of the real sentences that nothing was tried on: docs/chats-safety.md has the shares."""
    rows = {name: set() for name in LABELS}
    with (shared / "text/darija/MAC/MAC corpus.csv").open(encoding="utf-8", errors="replace") as f:
        rows["ar"] |= {r["tweets"] for r in csv.DictReader(f) if r["class"] == "standard" and asked(r["tweets"])}
    with gzip.open(shared / "text/darija/SmartlyAI/DRAGOO_dataset_2.csv.gz", "rt", encoding="utf-8-sig") as f:
        for row in csv.DictReader(f):
            for label, column in (("ary", "Darija_Arabe"), ("ary_Latn", "Arabizi"), ("en", "Anglais")):
                rows[label] |= {row[column]} if asked(row["Darija_Arabe"]) else set()
    for label, least in (("ary", 0.75), ("ar", 0.8), ("ary_Latn", 0.97), ("en", 0.95)):
        found, _ = labels([("a", text) for text in sorted(rows[label])[:2000]], MessageLanguage(context=False))
        assert np.mean([x == label for x in found]) > least, label


def asked(group):
    """Whether a sentence is on the side that is only asked about."""
    return zlib.crc32(group.encode()) % 2 == 1
