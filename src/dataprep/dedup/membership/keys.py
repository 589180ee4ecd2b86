"""Keys of a Bloom filter, 64-bit hashes of documents, paragraphs or n-grams: stored per part, then looked up in order.

64 bits are enough: if n keys are stored, a new key equals one of them with probability n / 2^64. At 10^11 keys this is
5e-9, far below the filter's own rate of false positives.

Slow reference for the tests: tests/twins/bloom.py
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.part import Part
from dataprep.core.model.tables import NOBODY, SPAN, SPANS, VERDICTS, new_rows, span_rows
from dataprep.core.run.passes import Pass, WriteTable
from dataprep.dedup.older import Joined
from dataprep.dedup.spans.hashes import unit_hashes
from dataprep.dedup.spans.units import UnitBlock, blocks
from dataprep.store import files
from dataprep.store.background import one_behind
from dataprep.store.spill import Spill, SpillWriter, spill_to
from dataprep.unicode.hashes import shingle_hashes
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int
from dataprep.unicode.word_hashes import words

from . import hyperloglog
from .bloom_filter import WRITE_BYTES, BloomFilter, FilterSize

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

SEEN_ROWS = 1 << 18  # in a section of the rows that were seen before


@dataclass(frozen=True)
class KeyUnits:
    """The settings of Bloom that decide what is hashed: `unit`, `ngram`, `normalize` and `word_split`."""

    unit: str
    ngram: int
    normalize: str | None
    word_split: str = "unicode"

    def of(self, batch: Batch) -> dict[str, Any]:
        """Return the keys (64-bit hashes) of the documents, paragraphs or n-grams of a batch, as arrays by name.

        "ids" and "keys" are always present. For paragraphs and n-grams there are also "lengths" (bytes per document),
        "units" (paragraphs per document), "start" and "end" (the byte range of each paragraph in its document's text)
        and "sizes" (keys per paragraph).
        """
        offsets, data = B.buffers(batch)
        if self.unit == "document":
            return {"ids": B.ids(batch), "keys": document_keys(offsets, data, self.normalize)}
        text, start, end, keys, sizes = _paragraphs(offsets, data, self.normalize)
        if self.unit == "ngram":
            keys, sizes = ngram_keys(start, end, data, self.ngram, self.word_split)
        units, start, end = in_texts(offsets, text, start, end)
        return {
            "ids": B.ids(batch),
            "lengths": np.diff(offsets),
            "units": units,
            "start": start,
            "end": end,
            "sizes": sizes,
            "keys": keys,
        }


def document_keys(offsets: I64, data: U8, normalize: str | None) -> U64:
    """Return a 64-bit hash of each text's normal form, uint64[n]; if the form is empty, the unchanged text is hashed.

    - offsets: int64[n + 1]; text i is data[offsets[i]:offsets[i + 1]], UTF-8 bytes.
    - normalize: the name of a normal form of `forms.py`, or None to hash texts unchanged.
    """
    hashes, chars = unit_hashes(data, offsets[:-1].copy(), offsets[1:].copy(), normalize)  # writable, as in `blocks`
    bare = np.flatnonzero(chars == 0)
    if normalize is not None and len(bare):
        hashes[bare] = unit_hashes(data, offsets[bare], offsets[bare + 1], None)[0]
    return np.asarray(hashes[:, 0] ^ hashes[:, 1], np.uint64)


def _paragraphs(offsets: I64, data: U8, normalize: str | None) -> tuple[I64, I64, I64, U64, I64]:
    """Return text, start, end in `data` of paragraphs that are not blank, their keys, and keys per paragraph (0, 1)."""
    none, found = np.zeros(0, np.int64), []
    for block in blocks(offsets, data, "paragraph", normalize):
        chars = block.chars
        if normalize is not None:  # the form of "!!!" may be empty, but it is not blank
            chars, bare = chars.copy(), np.flatnonzero(chars == 0)
            chars[bare] = unit_hashes(data, block.start[bare], block.end[bare], None)[1]
        found.append(not_blank(block, chars))
    if len(found) == 1:
        return found[0]
    found.append((none, none, none, none.astype(np.uint64), none))
    text, start, end, keys, sizes = (np.concatenate(column) for column in zip(*found, strict=True))
    return text, start, end, keys, sizes


@kernel
def not_blank(block: UnitBlock, chars: I64) -> tuple[I64, I64, I64, U64, I64]:
    """Return text, start, end, keys, and keys per unit (0, 1), of the units of a block with `chars` above 0."""
    n = len(chars)
    text, start, end = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    keys, sizes = np.empty(n, np.uint64), np.empty(n, np.int64)
    k: Int = 0
    n_keys: Int = 0
    for j in range(n):
        text[k], start[k], end[k] = block.text[j], block.start[j], block.end[j]
        keys[n_keys], sizes[k] = block.hashes[j, 0] ^ block.hashes[j, 1], min(block.chars[j], 1)
        n_keys += block.chars[j] > 0
        k += chars[j] > 0
    return text[:k], start[:k], end[:k], keys[:n_keys], sizes[:k]


@kernel
def in_texts(offsets: I64, text: I64, start: I64, end: I64) -> tuple[I64, I64, I64]:
    """Return the number of units of each text, int64[n], and the start and end of each unit in its text, int64[m].

    - offsets: int64[n + 1], text k is data[offsets[k]:offsets[k + 1]].
    - text, start, end: the number of the text that contains each unit, and the range of its bytes in `data`.
    """
    units = np.zeros(len(offsets) - 1, np.int64)
    first, last = np.empty(len(text), np.int64), np.empty(len(text), np.int64)
    for k in range(len(text)):
        units[text[k]] += 1
        first[k], last[k] = start[k] - offsets[text[k]], end[k] - offsets[text[k]]
    return units, first, last


def ngram_keys(start: I64, end: I64, data: U8, n: int, word_split: str = "unicode") -> tuple[U64, I64]:
    """Return the hashes of all runs of `n` words, uint64, and the number of such runs in each of m ranges, int64[m].

    - start, end: int64[m], ranges of bytes of `data`, in order, with only white space between them. A range of fewer
      than `n` words contains no run.
    - word_split: the rule for splitting words, "unicode" or "regex".
    """
    if not len(start):
        return np.zeros(0, np.uint64), np.zeros(0, np.int64)
    bounds = np.append(start, end[-1])  # text between ranges is blank, and has no words
    ends, items = words(bounds, data, word_split)
    starts, hashes = shingle_hashes(ends, items, n)
    sizes, enough = np.diff(starts), np.diff(ends) >= n
    return hashes[np.repeat(enough, sizes)], np.where(enough, sizes, 0)


@dataclass(frozen=True)
class SaveKeys(Pass[Part]):
    """Hash the units of an input part (documents, lines or n-grams), and store these keys in a temporary file.

    The file also contains HyperLogLog registers, from which the number of distinct keys is estimated. The receipt (the
    task's record) states the number of documents and of keys.
    """

    folder = "keys"
    thread_safe = True

    units: KeyUnits

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write the keys of the input part `item` to the file `url`; return {"documents": number, "keys": number}.

        The file has one segment per batch, with the arrays of SECTIONS, and a last segment with HyperLogLog registers.
        """
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
    """Yield the arrays that `SaveKeys` stored for input part `number`, one batch at a time, as {name: array}.

    The names are those of SECTIONS, such as "ids" and "keys".

    - out: the folder that contains the files written by SaveKeys.
    """
    with Spill(SaveKeys.url(out, number)) as spill:
        for segment in range(spill.segments - 1):
            yield {name: spill.read(segment, k, dtype=kind) for k, (name, kind) in enumerate(SECTIONS.items())}


def count(out: str, n_parts: int) -> float:
    """Return the estimated number of distinct keys (64-bit hashes of text units) in all `n_parts` input parts.

    - out: the folder that contains the files written by SaveKeys.
    """
    registers = hyperloglog.empty()
    for number in range(n_parts):
        with Spill(SaveKeys.url(out, number)) as spill:
            np.maximum(registers, spill.read(spill.segments - 1, len(SECTIONS) - 1), out=registers)
    return hyperloglog.estimate(registers)


@dataclass(frozen=True)
class SetBits(Pass[int]):
    """Set the bits of all keys in one piece of the filter; write for each key whether its bits there were set before.

    Attributes:
        size: the dimensions of the filter.
        piece: the number of bytes in a piece.
        n_parts: the number of input parts.
        filters: as in LookUp.
    """

    folder = "bits"
    noun = "range"
    thread_safe = True

    size: FilterSize
    piece: int
    n_parts: int
    filters: tuple[str, ...]

    @property
    def memory_bytes(self) -> int:
        """The memory of a piece; see `Runner.map`."""
        return self.piece

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Write one segment per batch, a bit per key, and then the bits of piece number `item`, to the file `url`.

        Returns {"before", "ones": the number of bits of each slice that were set before and afterwards}.
        """
        made = BloomFilter.load(self.size, self.filters, item * self.piece, self.piece)
        before, keys = made.ones().tolist(), list(SECTIONS).index("keys")
        with spill_to(url, 1) as spill:
            for number in range(self.n_parts):
                with Spill(SaveKeys.url(self.out, number)) as saved:
                    for segment in range(saved.segments - 1):
                        spill.write([np.packbits(made.set_bits(saved.read(segment, keys, dtype=np.uint64)))])
            spill.write([made.bits])
        return {"before": before, "ones": made.ones().tolist()}


class FilterInPieces(BloomFilter):
    """A filter that does not fit into memory: `enter` returns, for each batch in order, what SetBits found.

    A key is in the filter if its bits were set in all pieces.
    """

    def __init__(self, size: FilterSize, out: str, pieces: Sequence[dict[str, Any]], filters: tuple[str, ...]) -> None:
        super().__init__(size, n_bytes=0)
        before, self.n_ones = (_sums(pieces, name) for name in ("before", "ones"))
        several = len(filters) > 1
        self.n_keys = size.estimated_keys(before) if several else BloomFilter.load(size, filters, n_bytes=0).n_keys
        self.pieces, self.segment = [Spill(SetBits.url(out, number)) for number in range(len(pieces))], 0

    def set_bits(self, keys: U64) -> U8:
        """Return 1 for each key of the next batch whose bits were all set before, else 0."""
        found: U8 = functools.reduce(np.bitwise_and, (piece.read(self.segment, 0) for piece in self.pieces))
        self.segment += 1
        return np.unpackbits(found, count=len(keys))

    def ones(self) -> I64:
        """Return the number of bits set in each slice, int64[n_slices]."""
        return self.n_ones

    def stored(self) -> Iterator[U8]:
        """Yield the bits of all pieces, some at a time; the files are then closed."""
        for piece in self.pieces:
            with piece:
                start, stop = piece.where(piece.segments - 1, 0)
                for low in range(start, stop, WRITE_BYTES):
                    yield piece.bytes(low, min(low + WRITE_BYTES, stop))


@dataclass(frozen=True)
class LookUp(Pass[int]):
    """Look up the stored keys (hashes of text units) in order of document ids; write the units that were seen before.

    The task runs in one process, and also writes the Bloom filter. Each key is entered into the filter after it was
    looked up. If a run is killed, the next run starts with an empty filter and the stored keys, so that no key is
    missed or entered twice.

    Attributes:
        unit: as in `look_up`.
        threshold: as in `look_up`.
        size: the dimensions of the filter.
        joined: the documents; documents of older Datasets are entered, but not looked up.
        filters: the files of filters with the same dimensions, whose keys count as already entered.
        pieces: the receipts of SetBits, if the filter does not fit into memory; () if it does.
        threads: the number of threads that may set bits at once; those of n-grams are set by one.
    """

    folder = "seen"
    noun = ""

    unit: str
    threshold: float
    size: FilterSize
    joined: Joined
    filters: tuple[str, ...] = ()  # saved by earlier runs
    pieces: tuple[dict[str, Any], ...] = ()
    threads: int = 1

    @property
    def memory_bytes(self) -> int:
        """The memory of the filter; see `Runner.map`."""
        return 0 if self.pieces else self.size.n_bytes

    def write(self, url: str, item: int) -> dict[str, Any]:  # noqa: ARG002 - there is one item
        """Write the ids, or SPANs, that were seen before to the file `url`, and `filter.bloom` into `out`.

        Returns the paths of both as "files", the number of "sections" of `url`, and the counts and error rates.
        """
        if self.pieces:
            entered: BloomFilter = FilterInPieces(self.size, self.out, self.pieces, self.filters)
        else:
            entered = BloomFilter.load(self.size, self.filters)
        n = min(self.threads, self.size.n_slices)
        if n == 1:
            return self._written(url, entered, None)
        with ThreadPoolExecutor(n, "look up") as threads:
            entered.divide(threads, n)
            return self._written(url, entered, threads)

    def _written(self, url: str, entered: BloomFilter, threads: Executor | None) -> dict[str, Any]:
        """Write the files, and return what `write` does."""
        n_old = self.joined.n_old
        for found in (found for number in range(n_old) for found in segments(self.out, number)):
            entered.enter(found["keys"])
        numbers = range(n_old, len(self.joined.docs.parts))
        saved = (found for number in numbers for found in segments(self.out, number))
        looked = ((found, look_up(entered, found, self.unit, self.threshold)) for found in saved)
        seen = map(self._rows, looked) if threads is None else one_behind(threads, self._rows, looked)
        n_rows = 0

        def together(held: list[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
            nonlocal n_rows
            n_rows += sum(map(len, held))
            return [np.concatenate(held)]

        with spill_to(url, 1) as spill:
            spill.write_together(filter(len, seen), len, SEEN_ROWS, together)
        filter_url = files.join(self.out, "filter.bloom")
        entered.save(filter_url)
        return {
            "files": [url, filter_url],
            "sections": spill.segments,
            "entered": entered.n_keys,
            "dropped" if self.unit == "document" else "spans": n_rows,
            "capacity": self.size.capacity,
            "filter_bytes": self.size.n_bytes,
            "error_rate": self.size.error_rate,
            "measured_rate": entered.measured_rate(),
            "expected_errors": round(self.size.expected_errors(entered.n_keys), 1),
        }

    def _rows(self, looked: tuple[dict[str, Any], U8]) -> npt.NDArray[Any]:
        """Return the ids, or the SPANs, of what is to be removed from new documents, with the documents' own ids.

        - looked: the arrays that `segments` yields, and the result of `look_up`.
        """
        found, seen = looked
        if self.unit == "document":
            return np.asarray(found["ids"][seen == 1] - self.joined.first_new)
        rows = _spans(found, seen)
        rows["id"] -= self.joined.first_new
        return rows


class WriteSeen(WriteTable):
    """Write the table of documents that were seen before; a section is a segment of the file of LookUp."""

    schema = VERDICTS
    thread_safe = True

    def rows(self, section: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of section number `section`; a Bloom filter does not identify the first occurrence."""
        with Spill(LookUp.url(self.out)) as seen:
            yield self._rows(seen, section)

    def _rows(self, seen: Spill, section: int) -> pa.RecordBatch:
        return new_rows(VERDICTS, id=seen.read(section, 0, dtype=np.uint64), reason="seen_before")


class WriteSeenSpans(WriteSeen):
    """Write the table of spans that were seen before, as WriteSeen does."""

    schema = SPANS

    def _rows(self, seen: Spill, section: int) -> pa.RecordBatch:
        return span_rows(seen.read(section, 0, dtype=SPAN))


def look_up(entered: BloomFilter, found: dict[str, Any], unit: str, threshold: float) -> U8:
    """Look up the keys of one batch in the filter; enter those of text to keep; return 1 for each unit to remove, or 0.

    - entered: the filter that contains all earlier keys; it is changed in place.
    - found: the arrays that `segments` yields.
    - unit: "document" and "paragraph": a unit that was seen before is removed; "ngram": a line, if at least the share
      `threshold` of its keys was entered by earlier documents.
    """
    if unit == "ngram":
        return entered.judge(found["keys"], found["units"], found["sizes"], threshold)
    seen = entered.enter(found["keys"])
    if unit == "paragraph" and len(seen) < len(found["sizes"]):  # some units have no key
        every = found["sizes"].astype(np.uint8)
        every[every == 1] = seen
        return np.asarray(every, np.uint8)
    return seen


def _spans(found: dict[str, Any], seen: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """Return the SPANs of the paragraphs to cut: one per run of them, with the shorter of the gaps around it.

    This way, no blank line appears and no paragraph break is lost. At the start or end of a text, the gaps on both
    sides are cut.
    """
    start, end, of = found["start"], found["end"], np.repeat(np.arange(len(found["units"])), found["units"])
    begins = np.diff(of, prepend=-1) != 0
    ends = np.diff(of, append=len(found["units"])) != 0
    cut = seen != 0
    first = np.flatnonzero(cut & (begins | ~np.append(False, cut)[:-1]))
    last = np.flatnonzero(cut & (ends | ~np.append(cut, False)[1:]))
    at_start, at_end = begins[first], ends[last]
    before, after = end[first - 1], start[np.minimum(last + 1, len(start) - 1)] if len(start) else start
    keep_after = ~at_start & (at_end | (after - end[last] >= start[first] - before))
    spans = np.empty(len(first), SPAN)
    spans["id"], spans["duplicate_of"], spans["duplicate_of_start"], spans["duplicate_of_end"] = (
        found["ids"][of[first]],
        NOBODY,
        0,
        0,
    )
    spans["start"] = np.where(at_start, 0, np.where(keep_after, before, start[first]))
    spans["end"] = np.where(at_end, found["lengths"][of[first]], np.where(keep_after, end[last], after))
    return spans


def _sums(pieces: Sequence[dict[str, Any]], name: str) -> I64:
    """Return the sums of a list of numbers that each piece states."""
    found: I64 = np.sum([one[name] for one in pieces], axis=0)
    return found
