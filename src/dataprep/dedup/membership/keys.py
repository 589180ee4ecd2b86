"""SaveKeys: store the keys of a Bloom filter, 64-bit hashes of documents, paragraphs or n-grams, for each part.

64 bits are enough: of n keys, a new one equals an old one with probability n / 2^64, 5e-9 at 10^11 keys, which is far
below the filter's own rate of false positives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.part import Part
from dataprep.core.passes import Pass
from dataprep.dedup.pieces.hashes import unit_hashes
from dataprep.dedup.pieces.units import blocks
from dataprep.store.spill import Spill, SpillWriter, spill_to
from dataprep.unicode.text import I64, U8, U64, shingle_hashes, words

from . import hyperloglog

# A segment is a batch of whole documents, whose keys are entered together. The last segment holds the registers.
SECTIONS = {
    "ids": np.uint64,  # of documents
    "lengths": np.int64,  # of documents, in bytes
    "units": np.int64,  # paragraphs per document, without blank ones
    "start": np.int64,  # of paragraphs, in bytes of the text
    "end": np.int64,
    "sizes": np.int64,  # keys per paragraph
    "keys": np.uint64,
    "registers": np.uint8,
}


@dataclass(frozen=True)
class KeyUnits:
    """The units whose hashes are keys: `unit` "document", "paragraph" or "ngram"; runs of `ngram` words; a form."""

    unit: str
    ngram: int
    normalize: str | None

    def of(self, batch: Batch) -> dict[str, Any]:
        """Return the sections of a batch that this unit has."""
        offsets, data = B.buffers(batch)
        if self.unit == "document":
            return {"ids": B.ids(batch), "keys": document_keys(offsets, data, self.normalize)}
        text, start, end, keys, sizes = _paragraphs(offsets, data, self.normalize)
        if self.unit == "ngram":
            keys, sizes = ngram_keys(start, end, data, self.ngram)
        return {
            "ids": B.ids(batch),
            "lengths": np.diff(offsets),
            "units": np.bincount(text, minlength=batch.num_rows),
            "start": start - offsets[text],
            "end": end - offsets[text],
            "sizes": sizes,
            "keys": keys,
        }


def document_keys(offsets: I64, data: U8, normalize: str | None) -> U64:
    """Return the keys of texts, uint64[n]; a text whose normal form is empty is hashed unchanged."""
    hashes, chars = unit_hashes(data, offsets[:-1].copy(), offsets[1:].copy(), normalize)  # writable, as in `blocks`
    bare = np.flatnonzero(chars == 0)
    if normalize is not None and len(bare):
        hashes[bare] = unit_hashes(data, offsets[bare], offsets[bare + 1], None)[0]
    return np.asarray(hashes[:, 0] ^ hashes[:, 1], np.uint64)


def _paragraphs(offsets: I64, data: U8, normalize: str | None) -> tuple[I64, I64, I64, U64, I64]:
    """Return text, start, end in `data` of paragraphs that are not blank, their keys, and keys per paragraph (0, 1)."""
    none = np.zeros(0, np.int64)
    found = [(none, none, none, none.astype(np.uint64), none)]
    for block in blocks(offsets, data, "paragraph", normalize):
        has_key = block.chars > 0
        some = has_key.copy()
        if normalize is not None:  # the form of "!!!" may be empty, but it is not blank
            bare = np.flatnonzero(~has_key)
            some[bare] = unit_hashes(data, block.start[bare], block.end[bare], None)[1] > 0
        keys = block.hashes[has_key, 0] ^ block.hashes[has_key, 1]
        found.append((block.text[some], block.start[some], block.end[some], keys, has_key[some].astype(np.int64)))
    text, start, end, keys, sizes = (np.concatenate(column) for column in zip(*found, strict=True))
    return text, start, end, keys, sizes


def ngram_keys(start: I64, end: I64, data: U8, n: int) -> tuple[U64, I64]:
    """Return hashes of the runs of `n` words in ranges of `data`, and how many each range has: 0 if it is shorter."""
    if not len(start):
        return np.zeros(0, np.uint64), np.zeros(0, np.int64)
    bounds = np.append(start, end[-1])  # text between ranges is blank, and has no words
    bounds.flags.writeable = False  # as other offsets: a kernel is compiled once per type
    ends, items = words(bounds, data)
    starts, hashes = shingle_hashes(ends, items, n)
    sizes, enough = np.diff(starts), np.diff(ends) >= n
    return hashes[np.repeat(enough, sizes)], np.where(enough, sizes, 0)


@dataclass(frozen=True)
class SaveKeys(Pass[Part]):
    """Read a part, and store its keys and their HyperLogLog registers. Receipt: how many documents and keys."""

    folder = "keys"

    units: KeyUnits

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write one segment per batch, with the arrays of SECTIONS."""
        registers, n_docs, n_keys = hyperloglog.empty(), 0, 0
        with spill_to(url, len(SECTIONS)) as spill:
            for batch in item.batches(["id", "text"]):
                found = self.units.of(batch)
                hyperloglog.observe(registers, found["keys"])
                n_docs, n_keys = n_docs + batch.num_rows, n_keys + len(found["keys"])
                _write_segment(spill, found)
            _write_segment(spill, {"registers": registers})
        return {"documents": n_docs, "keys": n_keys}


def _write_segment(spill: SpillWriter, found: dict[str, Any]) -> None:
    spill.write([found.get(name, np.zeros(0, kind)) for name, kind in SECTIONS.items()])


def segments(out: str, number: int) -> Iterator[dict[str, Any]]:
    """Yield the stored sections of a part, one batch at a time."""
    with Spill(SaveKeys.url(out, number)) as spill:
        for segment in range(spill.segments - 1):
            yield {name: spill.read(segment, k, dtype=kind) for k, (name, kind) in enumerate(SECTIONS.items())}


def count(out: str, n_parts: int) -> float:
    """Return the estimated number of distinct keys in all parts."""
    registers = hyperloglog.empty()
    for number in range(n_parts):
        with Spill(SaveKeys.url(out, number)) as spill:
            np.maximum(registers, spill.read(spill.segments - 1, len(SECTIONS) - 1), out=registers)
    return hyperloglog.estimate(registers)
