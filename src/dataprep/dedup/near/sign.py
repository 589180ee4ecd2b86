"""Sign: read the text once, and spill every document's keys by band and by the key's top byte.

A file of keys is named by what was signed: the text of a part, whatever its place in the Dataset and whoever a verdict
dropped of it, and the sketch. So keys are looked up before they are made (`reuse.py`), and none is made twice. Beside
it, `rows` says whose keys they are: the ids of the part's documents, and for every file of keys the row each of its
documents has here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.ledger import Ledger
from dataprep.core.part import Part
from dataprep.core.stage import Stage
from dataprep.core.verdict import DropIds
from dataprep.store import files, receipts
from dataprep.store.spill import Spill, spill_to
from dataprep.unicode.text import U32, U64

from .sketch import Sketch

BUCKETS = 256  # a key's top byte
RECORD = np.dtype([("key", "<u8"), ("doc", "<u4")])
SEGMENT_BYTES = 16 << 20
NOBODY = np.uint32(2**32 - 1)  # the row of a document that is not here, or that a verdict dropped
Ref = tuple[str, str]  # a step's folder beside this one ("": this one) and a file of keys in it; or "/" and its URL


def beneath(part: Part) -> tuple[Part, tuple[Stage, ...]]:
    """A part without the last stages that only drop, and those stages: what is signed does not depend on them."""
    n = len(part.stages)
    while n and isinstance(part.stages[n - 1], DropIds):
        n -= 1
    if n == 0:
        return replace(part, stages=(), forgotten=""), part.applied
    return replace(part, stages=part.stages[:n]), part.stages[n:]


def place(out: str, ref: Ref) -> str:
    """The URL of a file of keys."""
    step, name = ref
    return name if step == "/" else files.join(files.join(parent(out), step) if step else out, "sign", name)


def parent(out: str) -> str:
    """The folder that a step's folder is in."""
    return out.rstrip("/").rpartition("/")[0] or "."


@dataclass(frozen=True)
class Made:
    """Keys that another Dataset's own deduplication left: the rows of one of its parts, and where its keys lie."""

    rows: str
    keys: tuple[str, ...]
    first: int  # the smallest and the largest id
    last: int


@dataclass(frozen=True)
class Unsigned(Part):
    """A part whose keys are wanted: `key` is of all there is in it, `signing` of what is signed."""

    signing: str = ""
    found: Ref | None = None  # the same text, signed before
    made: tuple[Made, ...] = field(default=())  # keys of the documents that this shard was made of


@dataclass(frozen=True)
class Sign:
    """Sign a part, or find its keys; and write who its rows are."""

    out: str
    sketch: Sketch

    def __call__(self, item: Unsigned) -> dict[str, Any]:
        """The receipt: how many documents, how many of them a verdict has left, where the keys are."""
        url = files.join(self.out, "rows", f"part-{item.number:05d}")
        record = receipts.valid(url + ".json", item.key)
        if record is not None and not all(files.exists(place(self.out, ref)) for ref in record["keys"]):
            files.remove(url + ".json")
        return receipts.once(url + ".json", item.key, lambda: self._write(url, item))

    def _write(self, url: str, item: Unsigned) -> dict[str, Any]:
        part, verdicts = beneath(item)
        how, keys, rows, ids = self._keys(item, part)
        dead = np.flatnonzero(~_alive(ids, verdicts)).astype(np.uint32)
        with spill_to(url, 2 + len(keys)) as spill:
            spill.write([ids, dead, *rows])
        ends = {"first": str(ids[0]), "last": str(ids[-1])} if len(ids) else {}
        return {"files": [url], "docs": len(ids), "live": len(ids) - len(dead), "keys": keys, "how": how, **ends}

    def _keys(self, item: Unsigned, part: Part) -> tuple[str, list[Ref], list[U32], U64]:
        """How a part came by its keys, the files of them, their documents' rows here, and its ids."""
        as_they_are = [np.zeros(0, np.uint32)]
        if item.found is not None:
            return "found" if item.found[0] else "signed", [item.found], as_they_are, _ids(part)
        if item.made:
            ids = _ids(part)
            rows = borrow(ids - _shift(part), item.made)
            if rows is not None:
                return "borrowed", [("/", url) for made in item.made for url in made.keys], rows, ids
        ids = self._sign(files.join(self.out, "sign", item.signing), part)
        return "signed", [("", item.signing)], as_they_are, ids

    def _sign(self, url: str, part: Part) -> U64:
        """Write the file of keys, and its receipt; the ids of the documents."""
        ids: list[U64] = [np.zeros(0, np.uint64)]

        def make() -> dict[str, Any]:
            self._spill(url, part, ids)
            return {"files": [url]}

        files.remove(url + ".json")
        receipts.once(url + ".json", files.name_of(url), make)
        return np.concatenate(ids)

    def _spill(self, url: str, part: Part, ids: list[U64]) -> None:
        n_docs = 0
        with spill_to(url, self.sketch.bands * BUCKETS + 1) as spill:
            held: list[tuple[Any, Any, int]] = []
            for batch in part.batches(["id", *self.sketch.columns]):
                sizes, keys = self.sketch.keys(batch)
                held.append((sizes, keys, n_docs))
                ids.append(B.ids(batch).copy())
                n_docs += batch.num_rows
                if sum(keys.nbytes for _, keys, _ in held) * 3 // 2 >= SEGMENT_BYTES:
                    spill.write(_sections(held))
                    held = []
            if held:
                spill.write(_sections(held))


def _sections(held: list[tuple[Any, Any, int]]) -> list[npt.NDArray[Any]]:
    """One section a band and top byte, then the sizes of contents (words, uint32) of all documents."""
    sizes = np.concatenate([s for s, _, _ in held])
    keys = np.concatenate([k for _, k, _ in held], axis=1)
    has = np.flatnonzero(sizes)
    docs = (has + held[0][2]).astype(np.uint32)
    sections: list[npt.NDArray[Any]] = []
    for band in keys:
        own = band[has]
        top = (own >> np.uint64(56)).astype(np.uint8)
        order = np.argsort(top, kind="stable")  # a radix sort, for one byte
        records = np.empty(len(own), RECORD)
        records["key"], records["doc"] = own[order], docs[order]
        sections += np.split(records, np.searchsorted(top[order], np.arange(1, BUCKETS)))
    return [*sections, np.minimum(sizes, 2**32 - 1).astype(np.uint32)]


def borrow(ids: U64, made: tuple[Made, ...]) -> list[U32] | None:
    """For every file of keys in `made`, the row here of each document in it; None if a document here has no keys."""
    covered, out = np.zeros(len(ids), bool), []
    for one in made:
        with Spill(one.rows) as spill:
            theirs = spill.read(0, 0, dtype=np.uint64)
            at = np.minimum(np.searchsorted(ids, theirs), max(0, len(ids) - 1))
            same = ids[at] == theirs if len(ids) else np.zeros(len(theirs), bool)
            here = np.where(same, at, NOBODY).astype(np.uint32)
            covered[at[same]] = True
            for number in range(len(one.keys)):
                rows = spill.read(0, 2 + number, dtype=np.uint32)
                out.append(np.append(here, NOBODY)[np.minimum(rows, len(here))] if len(rows) else here)
    return out if covered.all() else None


@dataclass(frozen=True)
class Signed:
    """The keys of one part, wherever they lie; documents are numbered by their row in it."""

    rows: str
    keys: tuple[str, ...]
    docs: int

    def records(self, first: int, last: int) -> Iterator[npt.NDArray[Any]]:
        """The records of the sections first..last (without last) of the documents that are alive."""
        for url, rows in self._files():
            with Spill(url) as spill:
                for segment in range(spill.segments):
                    found = spill.read(segment, first, last, RECORD)
                    if len(rows):
                        found = found.copy()
                        found["doc"] = rows[found["doc"]]
                        found = found[found["doc"] != NOBODY]
                    yield found

    def sizes(self) -> U32:
        """Words of contents of every document, uint32[docs]."""
        out = np.zeros(self.docs, np.uint32)
        for url, rows in self._files():
            with Spill(url) as spill:
                last = spill.n_sections - 1
                found = [spill.read(segment, last, dtype=np.uint32) for segment in range(spill.segments)]
            sizes = np.concatenate([np.zeros(0, np.uint32), *found])
            there = rows != NOBODY
            out[rows[there] if len(rows) else slice(None)] = sizes[there] if len(rows) else sizes
        return out

    def _files(self) -> Iterator[tuple[str, U32]]:
        """Every file of keys, and the row of each of its documents; empty if they are all alive, in order."""
        with Spill(self.rows) as spill:
            dead = spill.read(0, 1, dtype=np.uint32)
            every = [spill.read(0, 2 + number, dtype=np.uint32) for number in range(len(self.keys))]
        for url, stored in zip(self.keys, every, strict=True):
            rows = stored
            if len(dead):
                rows = np.arange(self.docs, dtype=np.uint32) if not len(stored) else stored.copy()
                gone = np.zeros(self.docs + 1, bool)
                gone[dead] = True
                rows[gone[np.minimum(rows, self.docs)]] = NOBODY
            yield url, rows


def _ids(part: Part) -> U64:
    return _together(part.batches(["id"]))


def _together(batches: Iterator[Batch]) -> U64:
    return np.concatenate([np.zeros(0, np.uint64), *(B.ids(batch).copy() for batch in batches)])


def _shift(part: Part) -> np.uint64:
    """What reading added to the ids of a sealed shard."""
    return np.uint64(part.slices[0].file << B.POSITION_BITS)


def _alive(ids: U64, verdicts: tuple[Stage, ...]) -> npt.NDArray[np.bool_]:
    """Which of the documents the verdicts leave; they read nothing but ids."""
    if not verdicts:
        return np.ones(len(ids), bool)
    cuts = range(0, len(ids), B.MAX_ROWS)
    flow: Iterator[Batch] = (pa.record_batch([pa.array(ids[at : at + B.MAX_ROWS])], names=["id"]) for at in cuts)
    for verdict in verdicts:
        flow = verdict(flow, Ledger(verdict.name, quiet=True))
    return np.isin(ids, _together(flow), assume_unique=True)
