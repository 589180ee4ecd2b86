"""Overlaps: two exports of the same chat that overlap become one, without doubling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .. import batch as B
from .. import files
from ..batch import Batch
from ..dataset import Dataset
from ..key import key
from ..part import Item
from ..run import Runner
from ..verdict import DropIds, write_verdicts
from .doubles import MINUTE, find_doubles, seconds_of

ROWS = pa.schema(
    [
        ("id", pa.uint64()),
        ("chat", pa.string()),
        ("author", pa.string()),
        ("time", pa.timestamp("s")),
        ("kind", pa.string()),
        ("text", pa.large_string()),
        ("fine", pa.bool_()),  # whether the export tells seconds
    ]
)
Own = tuple[str, int]  # a chat in a file


@dataclass(frozen=True, kw_only=True)
class Overlaps:
    """Drop messages that stand in an earlier export of the same chat, too ("in_two_exports"); an Estimator.

    Put it right behind `read`, before texts are cleaned or people renamed. What is a chat is told by the column `chat`,
    what is an export by the file; files of other chats, or of another time, are not even compared. Messages are
    compared as multisets by author, time, kind and text, see `chat/doubles.py`, which also says what is forgiven and
    which one stays. Verdicts name it.

    Memory: the messages in the times that two exports share, held by one process (texts and 100 bytes a message).

    >>> dp.Pipeline(Overlaps(), dp.Conversations()).run(dp.read("chats/"), out="talks")    # doctest: +SKIP
    """

    VERSION: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ("chat", "author", "time")

    @property
    def name(self) -> str:
        """What it is called in the books."""
        return "Overlaps"

    def fit(self, docs: Dataset, run: Runner, out: str) -> DropIds:
        """Find the times that exports share, and compare what lies in them; the stage returned drops the doubles."""
        made_by = key((self, docs.key))
        receipt, url = files.join(out, "verdicts.json"), files.join(out, "verdicts.parquet")
        made = files.valid(receipt, made_by) or files.once(
            receipt, made_by, lambda: _find(docs, run, out, made_by, url)
        )
        files.remove(files.join(out, "rows"))
        facts = {name: made[name] for name in ("documents", "shared", "dropped")}
        return DropIds(verdicts=url, made_by=made_by, called=self.name, facts=facts)


def _find(docs: Dataset, run: Runner, out: str, made_by: str, url: str) -> dict[str, Any]:
    spans: dict[Own, Span] = {}
    for found in run.map(survey, docs.items, "Overlaps: times"):
        for own, span in found.items():
            spans[own] = spans[own].joined(span) if own in spans else span
    gather = Gather(out, made_by, shared(spans), "kind" in docs.columns)
    counts = list(run.map(gather, docs.items if gather.windows else [], "Overlaps: gather"))
    dropped = next(iter(run.map(Decide(out, url, len(counts)), [0], "Overlaps: compare")))
    n_docs = sum(span.n for span in spans.values())
    return {"files": [url], "documents": n_docs, "shared": sum(c["rows"] for c in counts), "dropped": dropped}


@dataclass(frozen=True)
class Span:
    """The times of a chat in a file: first and last in seconds, whether they tell seconds, and how many they are."""

    first: int
    last: int
    fine: bool
    n: int

    def joined(self, other: Span) -> Span:
        """Both."""
        first, last = min(self.first, other.first), max(self.last, other.last)
        return Span(first, last, self.fine or other.fine, self.n + other.n)


def survey(item: Item) -> dict[Own, Span]:
    """The spans of a part."""
    found: dict[Own, Span] = {}
    for batch in item.part.batches(["id", "chat", "time"]):
        for own, rows, times in _by_export(batch):
            span = Span(int(times.min()), int(times.max()), bool((times % MINUTE != 0).any()), len(rows))
            found[own] = found[own].joined(span) if own in found else span
    return found


def _by_export(batch: Batch) -> Iterator[tuple[Own, Any, Any]]:
    """The rows of each chat in each file, and their times; rows without chat or time are left out."""
    times, known = seconds_of(batch.column("time"))
    numbers = B.ids(batch) >> np.uint64(B.POSITION_BITS)
    chats = batch.column("chat")
    coded = (chats if pa.types.is_dictionary(chats.type) else chats.cast(pa.string())).dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy()
    names = coded.dictionary.to_pylist()
    for number in np.unique(numbers).tolist():
        for code in np.unique(codes[numbers == number]).tolist():
            rows = np.flatnonzero((numbers == number) & (codes == code) & known)
            if code >= 0 and len(rows):
                yield (names[code], number), rows, times[rows]


def shared(spans: Mapping[Own, Span]) -> dict[Own, tuple[int, int, bool]]:
    """Of each chat in a file that another has for the same time: from, to (seconds), and whether it tells seconds."""
    chats: dict[str, list[tuple[int, Span]]] = {}
    for (chat, number), span in spans.items():
        chats.setdefault(chat, []).append((number, span))
    found: dict[Own, tuple[int, int, bool]] = {}
    for chat, exports in chats.items():
        for number, own in exports:
            others = [(max(own.first, s.first), min(own.last, s.last)) for n, s in exports if n != number]
            common = [(a, b) for a, b in others if a // MINUTE <= b // MINUTE]
            if common:
                first, last = min(a for a, _ in common) // MINUTE, max(b for _, b in common) // MINUTE
                found[chat, number] = first * MINUTE, (last + 1) * MINUTE - 1, own.fine
    return found


@dataclass(frozen=True)
class Gather:
    """Write the rows of a part that lie in shared times."""

    out: str
    key: str
    windows: dict[Own, tuple[int, int, bool]] = field(hash=False)
    kinds: bool  # whether messages have a kind

    def __call__(self, item: Item) -> dict[str, Any]:
        """The receipt."""
        url = files.join(self.out, "rows", f"part-{item.number:05d}.parquet")
        return files.once(url + ".json", key((self.key, item.key)), lambda: self._write(url, item))

    def _write(self, url: str, item: Item) -> dict[str, Any]:
        n_rows = 0
        columns = ["id", "chat", "author", "time", "text", *(["kind"] if self.kinds else [])]
        with files.atomic(url) as f, pq.ParquetWriter(f, ROWS, compression="lz4") as writer:
            for batch in item.part.batches(columns):
                rows = self._chosen(batch)
                n_rows += len(rows)
                writer.write_table(rows)
        return {"files": [url], "rows": n_rows}

    def _chosen(self, batch: Batch) -> pa.Table:
        fine, chosen = np.zeros(batch.num_rows, bool), np.zeros(batch.num_rows, bool)
        for own, rows, times in _by_export(batch):
            if own in self.windows:
                first, last, fine[rows] = self.windows[own]
                chosen[rows] = (times >= first) & (times <= last)
        arrays = {name: batch.column(name) for name in batch.schema.names}
        arrays.setdefault("kind", pa.repeat("text", batch.num_rows))
        table = pa.table({**arrays, "fine": pa.array(fine)}).select(ROWS.names)
        plain = [_plain(table[name], ROWS.field(name).type) for name in ROWS.names]
        return pa.table(plain, schema=ROWS).filter(pa.array(chosen))


def _plain(column: Any, kind: pa.DataType) -> Any:
    coded = pa.types.is_dictionary(column.type)
    return (column.cast(column.type.value_type) if coded else column).cast(kind)


@dataclass(frozen=True)
class Decide:
    """Compare all rows that were gathered, and write the verdicts; how many they are."""

    out: str
    url: str
    n_parts: int

    def __call__(self, _: int) -> int:
        """One process: it holds the rows."""
        tables = [ROWS.empty_table()]
        for number in range(self.n_parts):
            with files.open_raw(files.join(self.out, "rows", f"part-{number:05d}.parquet")) as f:
                tables.append(pq.read_table(f).cast(ROWS))  # Parquet has no seconds
        rows = pa.concat_tables(tables)
        ids = rows["id"].to_numpy()
        numbers = (ids >> np.uint64(B.POSITION_BITS)).astype(np.int64)
        doubled, stays = find_doubles(numbers, rows, rows["fine"].to_numpy())
        n = len(doubled)
        table = {
            "id": ids[doubled],
            "reason": pa.repeat("in_two_exports", n),
            "kept_in": pa.nulls(n, pa.string()),
            "kept": ids[stays],
            "similarity": pa.nulls(n, pa.float32()),
        }
        return write_verdicts(self.url, pa.table(table))
