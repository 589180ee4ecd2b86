"""Overlaps: two exports of the same chat that overlap become one, without doubling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.dataset import Dataset
from dataprep.core.estimator import Estimator
from dataprep.core.part import Part
from dataprep.core.runner import Runner
from dataprep.core.tables import write_verdicts
from dataprep.core.verdict import DropIds
from dataprep.store import files, receipts
from dataprep.store.key import key
from dataprep.unicode.text import text_hashes

from .match_exports import Own, Span, by_export, called, spans_of
from .overlap_rows import MINUTE, find_doubles

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


@dataclass(frozen=True, kw_only=True)
class Overlaps(Estimator):
    """Drop messages that stand in an earlier export of the same chat, too ("in_two_exports"); an Estimator.

    Put it right behind `read`, before texts are cleaned or people renamed. What is a chat is told by the column `chat`,
    or by what is said (`chat/same_chat.py`), what is an export by the file; others are not even compared. Messages are
    compared as multisets by author, time, kind and text, see `chat/doubles.py`, which also says what is forgiven and
    which one stays. Verdicts name it.

    Memory: the messages in the times that two exports share, held by one process (texts and 100 bytes a message), and
    256 kB an export.

    >>> dp.Pipeline(Overlaps(), dp.Conversations()).run(dp.read("chats/"), out="talks")    # doctest: +SKIP
    """

    VERSION: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ("chat", "author", "time")

    @property
    def name(self) -> str:
        """What it is called in the books."""
        return "Overlaps"

    def warm(self) -> None:
        """Compile the kernel."""
        text_hashes(*B.buffers(pa.array(["a"], pa.large_string())))

    def fit(self, docs: Dataset, run: Runner, out: str) -> DropIds:
        """Find the times that exports share, and compare what lies in them; the stage returned drops the doubles."""
        made_by = key((self, docs.key))
        receipt, url = files.join(out, "verdicts.json"), files.join(out, "verdicts.parquet")
        made = receipts.valid(receipt, made_by) or receipts.once(
            receipt, made_by, lambda: _find(docs, run, out, made_by, url)
        )
        files.remove(files.join(out, "rows"))
        facts = {name: made[name] for name in ("documents", "shared", "dropped")}
        return DropIds(verdicts=url, made_by=made_by, called=self.name, facts=facts)


def _find(docs: Dataset, run: Runner, out: str, made_by: str, url: str) -> dict[str, Any]:
    columns = ["id", "chat", "author", "time", "text", *(["kind"] if "kind" in docs.columns else [])]
    spans: dict[Own, Span] = {}
    for found in run.map(Survey(tuple(columns)), docs.tasks, "Overlaps: times"):
        for own, span in found.items():
            spans[own] = spans[own].joined(span) if own in spans else span
    gather = Gather(out, made_by, tuple(columns), shared(spans))
    counts = list(run.map(gather, docs.tasks if gather.windows else [], "Overlaps: gather"))
    dropped = next(iter(run.map(Decide(out, url, len(counts)), [0], "Overlaps: compare")))
    n_docs = sum(span.n for span in spans.values())
    return {"files": [url], "documents": n_docs, "shared": sum(c["rows"] for c in counts), "dropped": dropped}


@dataclass(frozen=True)
class Survey:
    """The spans of a part."""

    columns: tuple[str, ...]

    def __call__(self, item: Part) -> dict[Own, Span]:
        """Of each chat in each file."""
        return spans_of(item.batches(self.columns))


class Window(NamedTuple):
    """The times, in seconds, that another export of the chat has too; the chat's name, and whether seconds are told."""

    chat: str
    first: int
    last: int
    fine: bool


def shared(spans: Mapping[Own, Span]) -> dict[Own, Window]:
    """The windows of exports that share times with another of the same chat."""
    chats: dict[str, list[Own]] = {}
    for own, chat in called(spans).items():
        chats.setdefault(chat, []).append(own)
    found: dict[Own, Window] = {}
    for chat, owns in chats.items():
        for own in owns:
            mine, others = spans[own], [spans[o] for o in owns if o[1] != own[1]]
            common = [(max(mine.first, o.first) // MINUTE, min(mine.last, o.last) // MINUTE) for o in others]
            common = [(first, last) for first, last in common if first <= last]
            if common:
                first, last = min(a for a, _ in common), max(b for _, b in common)
                found[own] = Window(chat, first * MINUTE, (last + 1) * MINUTE - 1, mine.fine)
    return found


@dataclass(frozen=True)
class Gather:
    """Write the rows of a part that lie in shared times."""

    out: str
    key: str
    columns: tuple[str, ...]
    windows: dict[Own, Window] = field(hash=False)

    def __call__(self, item: Part) -> dict[str, Any]:
        """The receipt."""
        url = files.join(self.out, "rows", f"part-{item.number:05d}.parquet")
        return receipts.once(url + ".json", key((self.key, item.key)), lambda: self._write(url, item))

    def _write(self, url: str, item: Part) -> dict[str, Any]:
        n_rows = 0
        with files.atomic(url) as f, pq.ParquetWriter(f, ROWS, compression="lz4") as writer:
            for batch in item.batches(self.columns):
                rows = self._chosen(batch)
                n_rows += len(rows)
                writer.write_table(rows)
        return {"files": [url], "rows": n_rows}

    def _chosen(self, batch: Batch) -> pa.Table:
        fine, chosen = np.zeros(batch.num_rows, bool), np.zeros(batch.num_rows, bool)
        names = np.full(batch.num_rows, "", object)
        for own, rows, times in by_export(batch):
            window = self.windows.get(own)
            if window:
                names[rows], fine[rows] = window.chat, window.fine
                chosen[rows] = (times >= window.first) & (times <= window.last)
        arrays = {name: batch.column(name) for name in batch.schema.names} | {"chat": pa.array(names, pa.string())}
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
