"""A shard of a suffix-array index: write it, and search it through memory maps.

Three files, all raw: NAME.text, the documents with the byte FF after each (UTF-8 never has it, so that no match
crosses two documents); NAME.docs, their offsets; NAME.sa, int32, the offsets of all characters in the order of
the text that follows them. Bytes inside a character have no entry: no text begins there, and Arabic takes half.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.part import Part
from dataprep.errors import CorruptShard, DataprepError, need
from dataprep.store import files, receipts
from dataprep.store.key import key as key_of

SHARD_BYTES = 64 << 20  # sorting takes 5 bytes of memory a byte: 320 MB
DOC = np.dtype([("id", "<u8"), ("start", "<i8"), ("source", "<i4")])
SEPARATOR = 0xFF
MAX_SHARD_BYTES = 2**31 - 1  # offsets are int32
BEGINS = np.array([byte & 0xC0 != 0x80 and byte != SEPARATOR for byte in range(256)])  # a character
BLOCK = 1 << 20  # entries written at once


@dataclass(frozen=True)
class WriteTexts:
    """Read a part and write its documents as the texts of one shard or more; a shard ends at a document's end."""

    out: str
    key: str
    shard_bytes: int = SHARD_BYTES

    def __call__(self, item: Part) -> dict[str, Any]:
        """Return the receipt: the shards' names, documents, bytes and sources."""
        url = files.join(self.out, f"part-{item.number:05d}")
        return receipts.once(url + ".json", key_of((self.key, item.key)), lambda: self._write(url, item))

    def _write(self, url: str, part: Part) -> dict[str, Any]:
        shards: list[dict[str, Any]] = []
        flow = self._cut(part.batches(["id", "text", "source"]))
        batch = next(flow, None)
        while batch is not None:
            name = f"{url}-{len(shards):03d}"
            docs, sources = [np.zeros(0, DOC)], dict[str, int]()
            size = 0
            with files.atomic(name + ".text") as f:
                while batch is not None:
                    docs.append(_docs_of(batch, size, sources))
                    size += f.write(_separated(batch).data)
                    batch = next(flow, None)
            _check_size(size, name)
            files.write_bytes(name + ".docs", np.concatenate(docs).tobytes())
            n_docs = sum(map(len, docs))
            shards.append({"name": files.name_of(name), "docs": n_docs, "bytes": size, "sources": list(sources)})
            batch = next(flow, None)
        written = [files.join(self.out, shard["name"]) for shard in shards]
        return {"files": [name + kind for name in written for kind in (".text", ".docs")], "shards": shards}

    def _cut(self, batches: Iterator[Batch]) -> Iterator[Batch | None]:
        """Yield the same rows; None after those that fill a shard. Each document counts with its entry in .docs."""
        room = self.shard_bytes
        for batch in batches:
            at, ends = 0, np.cumsum(B.lengths(batch) + 1 + DOC.itemsize)
            while at < batch.num_rows:
                before = int(ends[at - 1]) if at else 0
                stop = min(int(np.searchsorted(ends, before + room)) + 1, batch.num_rows)
                yield batch.slice(at, stop - at)
                room -= int(ends[stop - 1]) - before
                at = stop
                if room <= 0:
                    room = self.shard_bytes
                    yield None


def _docs_of(batch: Batch, start: int, sources: dict[str, int]) -> npt.NDArray[Any]:
    """Return ids, offsets in the shard's text, and numbers of the sources, in order of first occurrence."""
    column = batch.column("source")
    names = column.dictionary.to_pylist()
    codes = column.indices.to_numpy()
    for code in np.unique(codes).tolist():
        sources.setdefault(names[code], len(sources))
    docs = np.empty(batch.num_rows, DOC)
    docs["id"] = B.ids(batch)
    docs["start"] = start + np.cumsum(B.lengths(batch) + 1) - (B.lengths(batch) + 1)
    docs["source"] = np.array([sources.get(name, -1) for name in names], np.int32)[codes]
    return docs


def _separated(batch: Batch) -> npt.NDArray[np.uint8]:
    """Return the texts with a separator after each."""
    offsets, data = B.buffers(batch)
    return np.insert(data[offsets[0] : offsets[-1]], offsets[1:] - offsets[0], SEPARATOR)


def _check_size(size: int, name: str) -> None:
    if size > MAX_SHARD_BYTES:
        msg = f"{name} would hold a document of {size:,} bytes, and a suffix array 2 GiB at most; split the document"
        raise DataprepError(msg)


@dataclass(frozen=True)
class Unsorted:
    """A shard whose text is written, as `run.map` sends it to a worker."""

    name: str
    n_bytes: int


@dataclass(frozen=True)
class SortSuffixes:
    """Sort the suffixes of a shard (Mori's divsufsort). Memory: 5 bytes per byte of text."""

    out: str
    key: str

    def __call__(self, shard: Unsorted) -> dict[str, Any]:
        """Return the receipt: the number of characters."""
        url = files.join(self.out, shard.name)
        return receipts.once(url + ".json", key_of((self.key, shard.name)), lambda: self._write(url))

    def _write(self, url: str) -> dict[str, Any]:
        library = need("pydivsufsort", extra="dedup")
        # "c", copy on write: divsufsort reads only, but pydivsufsort rejects read-only arrays
        text = np.memmap(files.path_of(url + ".text"), np.uint8, "c")
        suffixes = library.divsufsort(text)
        n_chars = 0
        with files.atomic(url + ".sa") as f:
            for first in range(0, len(suffixes), BLOCK):
                places = suffixes[first : first + BLOCK]
                n_chars += f.write(places[BEGINS[text[places]]].astype("<i4", copy=False).data) // 4
        return {"files": [url + ".sa"], "characters": n_chars}


class Shard:
    """A shard to search; its files are mapped, so that a search reads only the pages it touches."""

    def __init__(self, folder: str, record: dict[str, Any]) -> None:
        self.url = files.join(folder, record["name"])
        self.sources: list[str] = record["sources"]
        self.text = self._map(".text", np.dtype(np.uint8), record["bytes"])
        self.docs = self._map(".docs", DOC, record["docs"])
        self.suffixes = self._map(".sa", np.dtype("<i4"), record["characters"])

    def _map(self, kind: str, dtype: np.dtype[Any], n: int) -> npt.NDArray[Any]:
        url = self.url + kind
        found = files.size(url) if files.exists(url) else None
        if found != n * dtype.itemsize:
            state = "is missing" if found is None else f"has {found:,} bytes, {n * dtype.itemsize:,} were written"
            msg = f"{url} {state}; build the index again, which makes what is missing"
            raise CorruptShard(msg)
        return np.memmap(files.path_of(url), dtype, "r") if n else np.zeros(0, dtype)

    def span(self, query: bytes) -> tuple[int, int]:
        """Return the rows first..last of the suffix array that begin with `query`."""
        text, suffixes, size = self.text.data, self.suffixes, len(query)

        def head(row: int) -> bytes:
            at = int(suffixes[row])
            return bytes(text[at : at + size])

        rows = range(len(suffixes))
        first = bisect_left(rows, query, key=head)
        return first, bisect_right(rows, query, lo=first, key=head)

    def places(self, first: int, last: int, limit: int) -> list[int]:
        """Return the `limit` smallest offsets in the text of rows first..last, in order."""
        rows = self.suffixes[first:last]
        if limit < len(rows):
            rows = np.partition(rows, limit - 1)[:limit]
        return [int(at) for at in np.sort(rows)]

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Offset of each document, int64[docs]."""
        return np.ascontiguousarray(self.docs["start"])

    def document(self, at: int) -> tuple[int, str, int, int]:
        """Return id and source of the document at an offset, and the start and end of its text."""
        row = int(np.searchsorted(self.starts, at, "right")) - 1
        stop = int(self.starts[row + 1]) if row + 1 < len(self.starts) else len(self.text)
        doc = self.docs[row]
        return int(doc["id"]), self.sources[int(doc["source"])], int(doc["start"]), stop - 1
