"""Hashes that users' folders hold: other ones would find no copies of older documents, so they never change unseen.

If a change of them is wanted, `VERSION` of the Estimator must change with the value here.
"""

from __future__ import annotations

import hashlib
import random

import numpy as np
import pytest

from dataprep.core.model import batch as B
from dataprep.dedup.membership import bloom_filter, hyperloglog
from dataprep.dedup.membership import keys as membership
from dataprep.dedup.minhash import MinHash
from dataprep.dedup.near import chosen, sketch
from dataprep.dedup.spans import forms, hashes
from dataprep.dedup.spans import units as U
from dataprep.dedup.substrings import minimizers

PIECES = ["The", "quick", "BROWN", "fox", "É", "é", "Ωmega", "ΟΔΟΣ", "王小明。", "42", "٣٩", "e-mail", "\u200b", "...",
          "ﬁn", "\U0001f600", "\t", "\n", "\n\n", " ", "\r\n", "a\u0301", "İ", "!", "x" * 17, "3.14", "ß",
          "~"]  # fmt: skip


def batch():
    """Made texts of words of many scripts, some of them blank, in the middle of a longer column."""
    rng = random.Random(11)
    texts = [rng.choice(("", " ")).join(rng.choices(PIECES, k=rng.randrange(40))) for _ in range(80)]
    return B.make(list(range(82)), ["before", *texts, "behind"], "x").slice(1, 80)


def _words(found):
    return [column for block in found for column in (block.start, block.end, block.hashes, block.chars)]


def registers():
    """Those of HyperLogLog, of keys with few and many zeros."""
    made = hyperloglog.empty()
    hyperloglog.observe(made, np.array([1 << k for k in range(64)] + [3 << k for k in range(62)], np.uint64))
    return made


OFFSETS, DATA = B.buffers(batch())
MADE = {
    "minhash": lambda: [*MinHash().sketch.keys(batch()), *MinHash().sketch.contents(batch())],
    "minhash of characters": lambda: [*MinHash(shingle="char", ngram=4, bands=20, rows=2).sketch.contents(batch())],
    "minhash of few": lambda: [*MinHash(min_shingles=4, word_split="regex", seed=3).sketch.contents(batch())],
    "tokens": lambda: [chosen.hashed(np.arange(100, dtype=np.uint64))],
    "exact": lambda: [*sketch.WholeText(form=None).contents(batch()), *sketch.WholeText(form="words").keys(batch())],
    **{f"units {form}": lambda form=form: hashes.unit_hashes(DATA, OFFSETS[:-1], OFFSETS[1:], form)
       for form in (None, *forms.FORMS)},
    **{unit: lambda unit=unit: _words(U.blocks(OFFSETS, DATA, unit, "c4")) for unit in U.UNITS},
    "documents": lambda: [membership.document_keys(OFFSETS, DATA, form) for form in (None, "words")],
    **{f"bloom {unit}": lambda unit=unit: membership.KeyUnits(unit, 3, None).of(batch()).values()
       for unit in ("paragraph", "ngram")},
    "registers": lambda: [registers()],
    "bits": lambda: [bloom_filter.places(np.uint64(key), 20, 12_345_678_901) for key in (0, 1, 2**63, 2**64 - 1)],
    "windows of words": lambda: minimizers.records(OFFSETS, DATA, 5, minimizers.rule_of(4, word_split="unicode")),
    "windows of bytes": lambda: minimizers.records(OFFSETS, DATA, 5, minimizers.rule_of(12, word_split="")),
}  # fmt: skip
DIGESTS = {
    "minhash": "a5b88c3e57ba", "minhash of characters": "87cfe5ac66f8", "minhash of few": "2761e29788ef",
    "tokens": "f569223aa2e6", "exact": "db92ded07269", "units None": "15adea38150f", "units space": "be31ef5dc8b1",
    "units lower": "8d42ff69b07a", "units words": "9fd895cd70a5", "units c4": "bce9d98c8a40",
    "units ccnet": "d25725375c5c", "units ccnet_digits": "1fea85c72e8f", "line": "3b176c1ef4bd",
    "paragraph": "3b176c1ef4bd", "span3": "d28587730add", "documents": "56d4f1c9399e",
    "bloom paragraph": "0e6440f58d01", "bloom ngram": "2f0734a7d2b9", "registers": "d0d41a81ad05",
    "bits": "81ac7c1d2710", "windows of words": "f2d37e579d1c", "windows of bytes": "32e6262117d8",
}  # fmt: skip


@pytest.mark.parametrize("kind", MADE)
def test_hashes_are_as_they_were(kind) -> None:
    """Of texts with many scripts, white space and signs, in each form and unit."""
    held = b"".join(np.ascontiguousarray(array).tobytes() for array in MADE[kind]())
    assert hashlib.blake2b(held, digest_size=6).hexdigest() == DIGESTS[kind]
