"""The laws of DESIGN: what must hold for every stage, whoever wrote it. Tests call them with a stage and rows."""

from __future__ import annotations

import filecmp
import itertools
import json
import os
import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import cloudpickle
import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.estimator import Estimator
from dataprep.core.model.ledger import Ledger, watch
from dataprep.core.model.part import Part
from dataprep.core.model.reader import Reader, Slice
from dataprep.core.run.runner import Local, Serial
from dataprep.store import files
from dataprep.store.key import key
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.shards.verify import verify_shards

TWO = Local(2)  # whose processes all tests share


@dataclass(frozen=True)
class Stops(Serial):
    """A runner that is interrupted after the first task of one pass."""

    at: str = ""

    def map(self, task, items, label=""):
        """Results as usual, until the named pass."""
        for result in super().map(task, items, label):
            if label == self.at:
                raise KeyboardInterrupt
            yield result


@dataclass(frozen=True)
class Rows(Reader):
    """The plainest reader: a file with a JSON list of texts (or dicts of columns); position is the row."""

    rows_per_batch: int = 3
    strings: tuple[str, ...] = ()  # the further columns

    @property
    def adds(self):
        return dict.fromkeys(self.strings, pa.string())

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[B.Batch]:
        """The rows in [start, stop), a few a batch."""
        with files.open_raw(piece.url) as f:
            rows = json.load(f)
        for first in range(piece.start, min(piece.stop, len(rows)), self.rows_per_batch):
            chosen = rows[first : min(first + self.rows_per_batch, piece.stop)]
            yield batch_of(chosen, first, piece)


def batch_of(rows, first=0, piece=None) -> B.Batch:
    """A batch of texts, or of dicts whose further keys become columns."""
    rows = [{"text": r} if isinstance(r, str) else r for r in rows]
    piece = piece or Slice("", 0, source="rows")
    ids = np.arange(first, first + len(rows), dtype=np.uint64) + np.uint64(piece.file << B.POSITION_BITS)
    extra = {name: pa.array([r[name] for r in rows]) for name in (rows[0] if rows else {}) if name != "text"}
    return B.make(ids, [r["text"] for r in rows], piece.source, columns=extra)


def dataset_of(folder, rows, parts=2, rows_per_batch=3, sources=("one", "two"), strings=()) -> Dataset:
    """A Dataset of the rows, in several parts, the way a reader would make it."""
    url = str(folder / "rows.json")
    files.write_bytes(url, json.dumps(rows).encode())
    edges = np.linspace(0, len(rows), parts + 1).astype(int).tolist()
    pieces = [
        Slice(url, number % 2, start, stop, sources[number % 2], n_bytes=stop - start)
        for number, (start, stop) in enumerate(itertools.pairwise(edges))
    ]
    pieces.sort(key=lambda p: (p.file, p.start))
    return Dataset(tuple(Part((p,), Rows(rows_per_batch, strings)) for p in pieces))


def part_of(folder, number, rows, strings=()) -> Part:
    """A part that is a file of its own; files of equal rows are equal but for their folders."""
    url = str(folder / "rows.json")
    files.write_bytes(url, json.dumps(rows).encode())
    return Part((Slice(url, number, 0, len(rows), "one", n_bytes=len(rows)),), Rows(3, strings))


def apply(stage, batches):
    """A stage over batches, its book kept: (table of what is left, drop table, book)."""
    ledger = Ledger(stage.name)
    out = list(watch(stage, iter(batches), ledger))
    table = pa.Table.from_batches(out).combine_chunks() if out else None
    rows = [] if table is None else table.to_pylist()
    return rows, ledger.drop_table().to_pylist(), ledger.record


def cuts(batch, sizes):
    """The same rows in other batches, an empty one among them."""
    pieces, at = [batch.slice(0, 0)], 0
    while at < batch.num_rows:
        n = sizes[len(pieces) % len(sizes)]
        pieces.append(batch.slice(at, n))
        at += n
    return pieces


def cuts_do_not_matter(stage, batch, sizes) -> None:
    """However the rows are cut into batches, the result, the drops and the book are the same."""
    rows, drops, book = apply(stage, [batch])
    other_rows, other_drops, other_book = apply(stage, cuts(batch, sizes))
    assert rows == other_rows
    assert drops == other_drops
    assert book.to_json() == other_book.to_json()


def books_balance(stage, batch) -> None:
    """In = out + dropped in documents, and in + added = out + dropped + cut in bytes; every id once, in order."""
    rows, drops, book = apply(stage, [batch])
    kept = [r["id"] for r in rows]
    gone = [d["id"] for d in drops]
    assert sorted(kept + gone) == B.ids(batch).tolist()
    assert kept == sorted(kept)
    assert gone == sorted(gone)
    assert all(d["reason"] and d["stage"] == stage.name for d in drops)
    size = dict(zip(B.ids(batch).tolist(), B.lengths(batch).tolist(), strict=True))
    named = dict(zip(B.ids(batch).tolist(), batch.column("source").to_pylist(), strict=True))
    assert all((d["source"], d["bytes"]) == (named[d["id"]], size[d["id"]]) for d in drops)
    out_bytes = sum(len(r["text"].encode()) for r in rows)
    assert book.total(book.out).bytes == out_bytes
    assert sum(book.total(s).bytes for s in book.dropped.values()) == sum(size[i] for i in gone)
    assert sum(size.values()) + book.added == out_bytes + sum(size[i] for i in gone) + book.cut
    assert {
        d["duplicate_of"] for d in drops if d["duplicate_of"] is not None and d["duplicate_of_dataset"] is None
    } <= set(size)


def key_and_pickle_are_stable(stage) -> None:
    """A stage survives both ways of travelling, with its key and its printed form."""
    for copy in (pickle.loads(pickle.dumps(stage)), cloudpickle.loads(cloudpickle.dumps(stage))):
        assert key(copy) == key(stage)
        assert repr(copy) == repr(stage)
    assert " at 0x" not in repr(stage)
    assert isinstance(stage, Estimator) or callable(stage)


def same_bytes(one, other) -> None:
    """Two folders hold the same files with the same bytes."""
    left, right = (sorted(_files(str(d))) for d in (one, other))
    assert left == right
    different = [f for f in left if not filecmp.cmp(os.path.join(one, f), os.path.join(other, f), shallow=False)]
    assert different == []


def same_shards(one, other) -> None:
    """Two folders of token shards hold the same documents in files with the same bytes, whatever their generations."""
    found = [Shards.open(folder) for folder in (one, other)]
    entries = [[(s.first_name, replace(s, name="")) for s in shards.shards] for shards in found]
    assert entries[0] == entries[1]
    assert found[0].root == found[1].root
    assert [verify_shards(folder) for folder in (one, other)] == [[], []]


def same_result(one, other) -> None:
    """Two folders hold the same result, although one replaced another: all but generations and steps."""
    left, right = (_result(str(d)) for d in (one, other))
    assert sorted(left) == sorted(right)
    assert [name for name in left if left[name] != right[name]] == []


def _result(folder) -> dict[str, object]:
    """The content of each file of a result by its path, both without generations."""
    found = {}
    for name in _files(folder):
        if not re.match(r"_replaced/|steps/|origin|index/|report", name):
            with open(os.path.join(folder, name), "rb") as f:
                data = f.read()
            if name.endswith(".json"):
                record = json.loads(data)
                data = re.sub(r"\.g\d+\b", "", json.dumps({k: v for k, v in record.items() if k not in VARYING}))
            found[re.sub(r"\.g\d+\b", "", name)] = data
    return found


VARYING = ("checksum", "generation", "private", "origin")


def _files(folder) -> Iterator[str]:
    for root, _, names in os.walk(folder):
        for name in names:
            if name not in ("origin.json", ".dataprep-journal", ".dataprep-lease"):  # paths; the order of writing
                yield os.path.relpath(os.path.join(root, name), folder)
