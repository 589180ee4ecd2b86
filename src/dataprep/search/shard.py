"""Write one shard of a suffix-array index (a share of the corpus), and search it.

A shard has three files without headers. NAME.text has the texts of the documents, each followed by the byte FF. This
byte never occurs in UTF-8, so no match crosses two documents. NAME.docs has the id, offset and source of each document.
NAME.sa has the offsets of all characters, int32, sorted by the text that follows each. Bytes inside a character have no
entry, because no text begins there. Arabic, with two bytes per letter, therefore needs half the space.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.part import Part
from dataprep.core.output.layout import part_name
from dataprep.core.output.state import IndexShard
from dataprep.core.run.passes import Pass
from dataprep.errors import CorruptShard, DataprepError, need
from dataprep.store import files, ranges
from dataprep.store.key import key as key_of

TEXT, DOCS, SUFFIXES = KINDS = (".text", ".docs", ".sa")  # of a shard's files
SHARDS = "shards"  # the folder of all shards' files
SHARD_BYTES = 64 << 20  # sorting takes 5 bytes of memory per byte: 320 MB
DOC = np.dtype([("id", "<u8"), ("start", "<i8"), ("source", "<i4")])
SEPARATOR = 0xFF
MAX_SHARD_BYTES = 2**31 - 1  # offsets are int32
BEGINS = np.array([byte & 0xC0 != 0x80 and byte != SEPARATOR for byte in range(256)])  # a character
BLOCK = 1 << 20  # entries written at once


@dataclass(frozen=True)
class WriteTexts(Pass[Part]):
    """Task that reads one part of the corpus and writes its documents as the text files of one or more shards.

    Attributes:
        out: the folder of all shards' files.
        shard_bytes: the maximum number of bytes of text per shard; a longer document is a shard of its own.

    The receipt (record of finished work) has each shard's name, sources, and numbers of documents and bytes.
    """

    folder = SHARDS

    shard_bytes: int = SHARD_BYTES

    def url_of(self, item: Part) -> str:
        """Return the URL prefix of the files of the part `item`."""
        return files.join(self.out, part_name(item.number))

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write the shards of the part `item`: their texts (.text) and lists of documents (.docs).

        - url: the beginning of the names of the files.

        Returns {"files": [paths], "shards": [one record per shard]}. Raises DataprepError if a document is over 2 GiB.
        """
        shards: list[dict[str, Any]] = []
        flow = self._cut(item.batches(["id", "text", "source"]))
        batch = next(flow, None)
        while batch is not None:
            name = f"{url}-{len(shards):03d}"
            docs, sources = [np.zeros(0, DOC)], dict[str, int]()
            size = 0
            with files.atomic(name + ".text") as f:
                while batch is not None:
                    docs.append(_docs_of(batch, size, sources))
                    offsets, data = B.buffers(batch)
                    text = data[offsets[0] : offsets[-1]]
                    size += f.write(np.insert(text, offsets[1:] - offsets[0], SEPARATOR).data)  # after each document
                    batch = next(flow, None)
            if size > MAX_SHARD_BYTES:
                msg = f"{name} would hold {size:,} bytes of text, but a shard may contain at most 2 GiB; "
                msg += "split the largest document"
                raise DataprepError(msg)
            files.write_bytes(name + ".docs", np.concatenate(docs).tobytes())
            n_docs = sum(map(len, docs))
            shards.append({"name": files.name_of(name), "docs": n_docs, "bytes": size, "sources": list(sources)})
            batch = next(flow, None)
        written = [f"{url}-{number:03d}" for number in range(len(shards))]
        return {"files": [name + kind for name in written for kind in (".text", ".docs")], "shards": shards}

    def _cut(self, batches: Iterator[Batch]) -> Iterator[Batch | None]:
        """Yield the same rows, and None after each full shard. A document's size includes its entry in .docs."""
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
    """Return ids, offsets in the shard's text, and source numbers, which are in order of first occurrence."""
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


@dataclass(frozen=True)
class Unsorted:
    """A shard of an index whose text is written, but whose suffixes are not sorted yet; an item of SortSuffixes."""

    name: str
    n_bytes: int


@dataclass(frozen=True)
class SortSuffixes(Pass[Unsorted]):
    """Task that sorts the suffixes of a shard (Mori's divsufsort) and writes their offsets.

    It needs 5 bytes of memory per byte of text. The receipt (record of finished work) has the number of characters.

    Attributes:
        out: the folder of all shards' files.
    """

    folder = SHARDS

    def url_of(self, item: Unsorted) -> str:
        """Return the URL of the files of the shard `item`, without the file name's suffix (such as ".sa")."""
        return files.join(self.out, item.name)

    def item_key(self, item: Unsorted) -> str:
        """Return a hash of the index's key and the shard's name, which identifies the work on the shard `item`."""
        return key_of((self.key, item.name))

    def write(self, url: str, item: Unsorted) -> dict[str, Any]:  # noqa: ARG002 - `url` names the shard
        """Write the file .sa of the shard `url`: the offsets of all characters, sorted by the text that follows each.

        Returns the file's path and the number of characters.
        """
        library = need("pydivsufsort", extra="dedup")
        # "c", copy on write: divsufsort reads only, but pydivsufsort rejects read-only arrays
        is_local, name = files.is_local(url), url + ".text"
        text = np.memmap(name, np.uint8, "c") if is_local else np.frombuffer(bytearray(ranges.read(name)), np.uint8)
        suffixes = library.divsufsort(text)
        n_chars = 0
        with files.atomic(url + ".sa") as f:
            for first in range(0, len(suffixes), BLOCK):
                places = suffixes[first : first + BLOCK]
                n_chars += f.write(places[BEGINS[text[places]]].astype("<i4", copy=False).data) // 4
        return {"files": [url + ".sa"], "characters": n_chars}


class SuffixShard:
    """A shard of an index, to be searched; its files are mapped into memory, so a search reads only what it needs.

    Of an index at a URL, a search requests only the bytes that it needs.

    - sizes: the sizes of the files in the folder, by their paths in it; None: it is local, and they are looked up.
    """

    def __init__(self, folder: str, stated: IndexShard, sizes: Mapping[str, int] | None = None) -> None:
        self.url, self.sources = files.join(folder, stated.name), stated.sources
        self._sizes = None if sizes is None else {kind: sizes.get(stated.name + kind) for kind in KINDS}
        self.text = self._map(TEXT, np.dtype(np.uint8), stated.bytes)
        self._docs = self._map(DOCS, DOC, stated.docs)
        self.suffixes = self._map(SUFFIXES, np.dtype("<i4"), stated.characters)

    @cached_property
    def docs(self) -> npt.NDArray[Any]:
        """The id, offset and source of each document; read as a whole from a URL."""
        found: npt.NDArray[Any] = self._docs[:]  # a view, or a copy in memory
        return found

    def _map(self, kind: str, dtype: np.dtype[Any], n: int) -> Any:
        url = self.url + kind
        found = _size(url) if self._sizes is None else self._sizes[kind]
        if found != n * dtype.itemsize:
            state = "is missing" if found is None else f"has {found:,} bytes, but {n * dtype.itemsize:,} were written"
            msg = f"{url} {state}; build the index again, which recreates only missing files"
            raise CorruptShard(msg)
        if not n:
            return np.zeros(0, dtype)
        return np.memmap(url, dtype, "r") if self._sizes is None else ranges.SearchedArray(url, dtype, n)

    def span(self, query: bytes) -> tuple[int, int]:
        """Return (first, last): rows first to last - 1 of the suffix array are the occurrences of `query`."""
        suffixes, size = self.suffixes, len(query)
        text = self.text.data if isinstance(self.text, np.ndarray) else self.text

        def head(row: int) -> bytes:
            at = int(suffixes[row])
            if not 0 <= at < len(text):
                raise self.damaged(SUFFIXES)
            return bytes(text[at : at + size])

        rows = range(len(suffixes))
        first = bisect_left(rows, query, key=head)
        return first, bisect_right(rows, query, lo=first, key=head)

    def damaged(self, kind: str) -> CorruptShard:
        """Return the error for a damaged file of the shard.

        Args:
            kind: the suffix of the file.
        """
        return CorruptShard(f"{self.url}{kind} is damaged; build the index again, which recreates only damaged files")

    def places(self, first: int, last: int, limit: int) -> list[int]:
        """Return the `limit` smallest text offsets in rows first to last - 1 of the suffix array, ascending."""
        rows = self.suffixes[first:last]
        if limit < len(rows):
            rows = np.partition(rows, limit - 1)[:limit]
        return [int(at) for at in np.sort(rows)]

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """The byte offset of each document in the shard's text, int64[docs]."""
        return np.ascontiguousarray(self.docs["start"])

    def document(self, at: int) -> tuple[int, str, int, int]:
        """Return (id, source, start, stop) of the document that contains byte `at` of the shard's text.

        The document is text[start:stop], without the byte FF after it.
        """
        row = int(np.searchsorted(self.starts, at, "right")) - 1
        stop = int(self.starts[row + 1]) if row + 1 < len(self.starts) else len(self.text)
        doc = self.docs[row]
        known = 0 <= int(doc["source"]) < len(self.sources)
        if row < 0 or not known or not doc["start"] <= at < stop <= len(self.text):
            raise self.damaged(DOCS)
        return int(doc["id"]), self.sources[int(doc["source"])], int(doc["start"]), stop - 1


def _size(url: str) -> int | None:
    return files.size(url) if files.exists(url) else None
