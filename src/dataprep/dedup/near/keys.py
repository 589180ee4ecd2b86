"""HashDocuments: read the text once, and store the keys of every document, the hashes of its MinHash bands.

Keys are sorted by band and by their top byte. The name of a file of keys is a hash of the settings and of the text of
an input part. It does not depend on the part's number in the Dataset or on dropped documents. A file is therefore
looked up before it is created (`reuse.py`), and no text is hashed twice. For each part, a file of rows maps keys to
documents. It contains the ids of the part's documents and, for every file of keys, the row in the part of each document
of that file.

Slow reference for the tests: tests/twins/minhash.py
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.part import Part
from dataprep.core.model.stage import Stage
from dataprep.core.model.verdict import DropIds
from dataprep.core.run.passes import PartItem, Pass
from dataprep.errors import DataprepError
from dataprep.store import files, receipts
from dataprep.store.spill import Divided, Spill, all_sections, spill_to, write_spill
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U32, U64

from .sketch import Shingles, Sketch
from .stored_shingles import SHINGLES, ShingleWriter

KEYS = "keys"  # the folder of the files of keys
BUCKETS = 256  # a key's top byte
RECORD = np.dtype([("key", "<u8"), ("doc", "<u4")])
SEGMENT_BYTES = 16 << 20
ABSENT = np.uint32(2**32 - 1)  # the row of a document that is not in the part, or that a verdict dropped
KeyFile = tuple[str, str]  # a step's folder next to this one ("": this one) and a file of keys in it; or "/" and a URL


def without_drops(part: Part) -> tuple[Part, tuple[Stage, ...]]:
    """Return an input part without its last stages that only drop documents by id, and these stages as a tuple.

    Keys (hashes) of documents are computed from the part without these stages, since dropping a document does not
    change the keys of other documents.
    """
    n = len(part.stages)
    while n and isinstance(part.stages[n - 1], DropIds):
        n -= 1
    if n == 0:
        return replace(part, stages=(), forgotten=""), part.applied
    return replace(part, stages=part.stages[:n]), part.stages[n:]


def key_url(out: str, file: KeyFile) -> str:
    """Return the URL of a file of keys (hashes of documents) that this or another deduplication stored.

    Args:
        out: the folder of this deduplication.
        file: (name of the other deduplication's folder, which is next to `out`, or "" for `out`; name of the file), or
            ("/", URL).
    """
    step, name = file
    return name if step == "/" else files.join(files.join(parent(out), step) if step else out, KEYS, name)


def parent(out: str) -> str:
    """Return the folder that contains the folder `out`."""
    return out.rstrip("/").rpartition("/")[0] or "."


@dataclass(frozen=True)
class LentKeys:
    """The stored keys of one part of a sealed Dataset (a finished output), computed when that Dataset was deduplicated.

    Attributes:
        rows: the URL of the file of rows, which maps keys to documents.
        keys: the URLs of the files of keys.
        first: the smallest document id.
        last: the largest document id.
    """

    rows: str
    keys: tuple[str, ...]
    first: int  # the smallest and the largest id
    last: int


def is_complete(url: str) -> bool:
    """Return whether the file of keys (hashes of documents) at `url` has the bytes that were written."""
    return receipts.valid(url + ".json", files.name_of(url)) is not None


@dataclass(frozen=True)
class PartToHash(PartItem):
    """An input part whose documents' keys (hashes) are needed, and the files with keys that an earlier run stored.

    Attributes:
        name: the name of the part's file of keys.
        found: an existing file of that name.
        lent: if the part is a file of a finished Dataset, keys that were stored when that Dataset was made.
        stored: the maximum number of bytes of shingles to store.
    """

    name: str  # of its file of keys
    found: KeyFile | None = None  # a file of that name
    lent: tuple[LentKeys, ...] = ()  # stored keys of the documents from which this shard was made
    stored: int = 0  # bytes of shingles that may be stored, if the part is hashed


@dataclass(frozen=True)
class HashDocuments(Pass[PartToHash]):
    """Store the keys (hashes) of the documents of an input part; keys that an earlier run stored are reused.

    The task also writes the part's file of rows, which maps keys to documents. The receipt (the task's record) states
    the number of documents, the number of documents that earlier stages kept, and the files of keys.
    """

    folder = "rows"

    sketch: Sketch

    @property
    def thread_safe(self) -> bool:  # type: ignore[override]
        """True, unless the sketch calls a tokenizer or other code that threads cannot share."""
        return self.sketch.thread_safe

    def item_key(self, item: PartToHash) -> str:
        """Return the hash that a part's receipt (record of the finished task) must have to be valid.

        It covers the part's text and which of its documents were dropped.
        """
        return super().item_key(item.part)  # type: ignore[arg-type]

    def __call__(self, item: PartToHash) -> dict[str, Any]:
        """Return the receipt of a part; if one of its files of keys is incomplete, the part is first hashed again."""
        url = self.url_of(item)
        record = receipts.valid(url + ".json", self.item_key(item))
        if record is not None and all(is_complete(key_url(self.out, file)) for file in record["keys"]):
            return record
        made = {"files": [url], **self.write(url, item)}
        return receipts.write(url + ".json", self.item_key(item), made, synced=False)

    def write(self, url: str, item: PartToHash) -> dict[str, Any]:
        """Write the file of rows `url` of an input part: ids, rows of dropped documents, rows in each file of keys.

        Returns {"docs": number of documents, "kept": number of documents that earlier stages kept, "keys": files of
        keys, "how": text, "first", "last": first and last id as text}; "how" is "hashed" (keys were computed), "found"
        (an earlier run stored them) or "borrowed" (they are those of a finished Dataset).
        """
        part, verdicts = without_drops(item.part)
        how, keys, rows, ids = self._keys(item, part)
        dropped = np.flatnonzero(~_kept(ids, verdicts)).astype(np.uint32)
        write_spill(url, [ids, dropped, *rows])
        ends = {"first": str(ids[0]), "last": str(ids[-1])} if len(ids) else {}
        return {"docs": len(ids), "kept": len(ids) - len(dropped), "keys": keys, "how": how, **ends}

    def _keys(self, item: PartToHash, part: Part) -> tuple[str, list[KeyFile], list[U32], U64]:
        """Return the source of a part's keys, the files of keys, their documents' rows in the part, and its ids."""
        in_order = [np.zeros(0, np.uint32)]
        if item.found is not None:
            return "found" if item.found[0] else "hashed", [item.found], in_order, _ids(part.batches(["id"]))
        if item.lent:
            ids = _ids(part.batches(["id"]))
            in_file = ids - np.uint64(part.slices[0].file << B.POSITION_BITS)  # as in the sealed shard itself
            rows = borrow(in_file, item.lent)
            if rows is not None:
                return "borrowed", [("/", url) for one in item.lent for url in one.keys], rows, ids
        ids = self._hash(item, part)
        return "hashed", [("", item.name)], in_order, ids

    def _hash(self, item: PartToHash, part: Part) -> U64:
        """Write the file of keys and its receipt, replacing existing ones; return the ids of the documents.

        Also stores the hashes of shingles within the allowed size. Tasks of parts with equal text write equal files,
        and may do so at the same time.
        """
        ids: list[U64] = [np.zeros(0, np.uint64)]
        urls = [files.join(self.out, folder, item.name) for folder in (KEYS, SHINGLES)]

        def keys(keys_of: Callable[[Batch], tuple[I64, U64]]) -> Iterator[tuple[Any, Any, int]]:
            n_docs = 0
            for batch in part.batches(["id", *self.sketch.columns]):
                yield *keys_of(batch), n_docs
                ids.append(B.ids(batch).copy())
                n_docs += batch.num_rows
                if n_docs >= ABSENT:
                    msg = f"{part} has {n_docs:,} documents; it must have fewer than {ABSENT:,}: split its file"
                    raise DataprepError(msg)

        with contextlib.ExitStack() as opened:
            found = keys(self.sketch.keys)
            if item.stored and isinstance(self.sketch, Shingles):
                store = opened.enter_context(spill_to(urls[1], 3))
                found = keys(ShingleWriter(self.sketch, store, item.stored).keys)
            spill = opened.enter_context(spill_to(urls[0], self.sketch.bands * BUCKETS + 1))
            spill.write_together(found, lambda one: one[1].nbytes * 3 // 2, SEGMENT_BYTES, _sections)
        for url in reversed(urls) if item.stored else urls[:1]:
            receipts.write(url + ".json", item.name, {"files": [url]}, synced=False)
        return np.concatenate(ids)


def _sections(held: list[tuple[Any, Any, int]]) -> list[npt.NDArray[Any] | Divided]:
    """Return one section per band and top byte, then the sizes of contents (words, uint32) of all documents."""
    sizes = np.concatenate([s for s, _, _ in held])
    has = np.flatnonzero(sizes)
    records = np.empty((len(held[0][1]), len(has)), RECORD)
    ends = np.zeros((len(records), BUCKETS + 1), np.int64)
    keys = np.concatenate([k for _, k, _ in held], axis=1)
    by_top_byte(keys, has, held[0][2], records, ends)
    divided = (Divided(*band) for band in zip(records, ends, strict=True))
    return [*divided, np.minimum(sizes, 2**32 - 1).astype(np.uint32)]


@kernel
def by_top_byte(keys: U64, has: I64, first: int, records: npt.NDArray[Any], ends: I64) -> None:
    """Fill `records`, RECORD[bands, m], in order of the top byte of the keys, and `ends`, int64[bands, BUCKETS + 1].

    The records of a band with the top byte `b` are records[ends[b]:ends[b + 1]], in order of the documents.

    - keys: uint64[bands, n].
    - has: int64[m], the columns of `keys` to take; column `j` is of the document with the row first + j.
    - ends: zeros.
    """
    top, at = np.uint64(56), np.empty(BUCKETS, np.int64)
    for band in range(len(keys)):
        own = keys[band]
        for j in has:
            ends[band, np.int64(own[j] >> top) + 1] += 1
        for b in range(BUCKETS):
            at[b] = ends[band, b]
            ends[band, b + 1] += ends[band, b]
        for j in has:
            byte = np.int64(own[j] >> top)
            records[band, at[byte]].key, records[band, at[byte]].doc = own[j], first + j
            at[byte] += 1


def borrow(ids: U64, lent: tuple[LentKeys, ...]) -> list[U32] | None:
    """Return, for each file of keys in `lent`, the rows of the file's documents in an input part, uint32; or None.

    A document of a file that is not in the part has the row ABSENT. The result is None if a document of the part is in
    none of the files.

    - ids: uint64, the ids of the part's documents, ascending.
    """
    covered, out = np.zeros(len(ids), bool), []
    for one in lent:
        with Spill(one.rows) as spill:
            theirs = spill.read(0, 0, dtype=np.uint64)
            at, same = B.find_sorted(ids, theirs)
            here = np.where(same, at, ABSENT).astype(np.uint32)
            covered[at[same]] = True
            for number in range(len(one.keys)):
                rows = spill.read(0, 2 + number, dtype=np.uint32)
                out.append(np.append(here, ABSENT)[np.minimum(rows, len(here))] if len(rows) else here)
    return out if covered.all() else None


@dataclass(frozen=True)
class PartKeys:
    """The stored keys of one input part; a document is identified by its row in the part.

    Attributes:
        rows: the URL of the file of rows, which maps keys to documents.
        keys: the URLs of the files of keys.
        docs: the number of documents.
        base: the number of the part's first document among all documents.
    """

    rows: str
    keys: tuple[str, ...]
    docs: int
    base: int = 0

    @contextlib.contextmanager
    def opened(self) -> Iterator[Callable[[int, int, int], Iterator[tuple[int, npt.NDArray[Any]]]]]:
        """Yield a function `read(first, last, step)`, which yields RECORDs (key, row of its document in the part).

        The function reads the sections [first, last) of all files of keys. A key is the hash of a band; section `256 *
        band + top byte of the key` has keys of one band. Each array is yielded with its number: array k has the keys of
        the sections from first + k * step to first + (k + 1) * step. Documents that earlier stages dropped are left
        out.
        """
        with contextlib.ExitStack() as stack:
            every = [(stack.enter_context(Spill(url)), rows) for url, rows in self._files()]

            def read(first: int, last: int, step: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
                for spill, rows in every:
                    for segment in range(spill.segments):
                        for number, some in enumerate(spill.divided(segment, first, last, step, RECORD)):
                            found = some
                            if len(rows):
                                found = some.copy()
                                found["doc"] = rows[found["doc"]]
                                found = found[found["doc"] != ABSENT]
                            yield number, found

            yield read

    def sizes(self) -> U32:
        """Return the size of each document's contents (what is compared) in eight-byte words, uint32[docs]."""
        out = np.zeros(self.docs, np.uint32)
        for url, rows in self._files():
            with Spill(url) as spill:
                last = spill.n_sections - 1
            sizes = all_sections([url], last, np.uint32)
            there = rows != ABSENT
            out[rows[there] if len(rows) else slice(None)] = sizes[there] if len(rows) else sizes
        return out

    def _files(self) -> Iterator[tuple[str, U32]]:
        """Yield every file of keys, and the row of each of its documents; no rows if all are kept, in order."""
        with Spill(self.rows) as spill:
            dropped = spill.read(0, 1, dtype=np.uint32)
            every = [spill.read(0, 2 + number, dtype=np.uint32) for number in range(len(self.keys))]
        for url, stored in zip(self.keys, every, strict=True):
            rows = stored
            if len(dropped):
                rows = np.arange(self.docs, dtype=np.uint32) if not len(stored) else stored.copy()
                out = np.zeros(self.docs + 1, bool)
                out[dropped] = True
                rows[out[np.minimum(rows, self.docs)]] = ABSENT
            yield url, rows


def _ids(batches: Iterator[Batch]) -> U64:
    return np.concatenate([np.zeros(0, np.uint64), *(B.ids(batch).copy() for batch in batches)])


def _kept(ids: U64, verdicts: tuple[Stage, ...]) -> npt.NDArray[np.bool_]:
    """Return whether each document is kept by the verdicts, which read nothing but ids."""
    if not verdicts:
        return np.ones(len(ids), bool)
    cuts = range(0, len(ids), B.MAX_ROWS)
    flow: Iterator[Batch] = (pa.record_batch([pa.array(ids[at : at + B.MAX_ROWS])], names=["id"]) for at in cuts)
    for verdict in verdicts:
        flow = verdict(flow, Ledger(verdict.name, quiet=True))
    return np.isin(ids, _ids(flow), assume_unique=True)
