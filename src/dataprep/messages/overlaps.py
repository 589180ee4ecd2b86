"""Overlaps: drop messages that an earlier export of the same chat has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.core import batch as B
from dataprep.core.batch import Batch
from dataprep.core.dataset import Dataset
from dataprep.core.estimator import Estimator
from dataprep.core.part import Part
from dataprep.core.passes import Pass
from dataprep.core.runner import Runner
from dataprep.core.tables import write_verdicts
from dataprep.core.verdict import DropIds
from dataprep.store import files, receipts
from dataprep.unicode.text import text_hashes

from .match_exports import Export, ExportSpan, by_export, chat_names, spans_of
from .overlap_rows import find_repeated
from .times import MINUTE

Spans: TypeAlias = dict[Export, ExportSpan]
ROWS = pa.schema(
    [
        ("id", pa.uint64()),
        ("chat", pa.string()),
        ("author", pa.string()),
        ("time", pa.timestamp("s")),
        ("kind", pa.string()),
        ("text", pa.large_string()),
        ("fine", pa.bool_()),  # whether the export has seconds
    ]
)


@dataclass(frozen=True, kw_only=True)
class Overlaps(Estimator):
    """Drop messages that an earlier export of the same chat has ("in_two_exports"); an Estimator.

    Put it right after `read`, before texts are cleaned or people renamed. Each file is an export. Exports are of one
    chat if the column `chat` is equal, or if they share messages (`match_exports.py`); others are not compared.
    Messages are compared as multisets by author, time, kind and text: `overlap_rows.py` defines which differences are
    ignored and which message is kept. Verdicts name the kept message.

    Memory: the messages of the times that two exports share, held by one process (texts and 100 bytes per message), and
    256 kB per export.

    >>> dp.Pipeline(Overlaps(), dp.Conversations()).run(dp.read("chats/"), out="conversations")    # doctest: +SKIP
    """

    only_drops: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("chat", "author", "time")

    def warm(self) -> None:
        """Compile the kernel."""
        text_hashes(*B.buffers(pa.array(["a"], pa.large_string())))

    def fit(self, docs: Dataset, run: Runner, out: str) -> DropIds:
        """Compare messages of the times that exports share; return the stage that drops the repeated ones."""
        work_key = self.key_for(docs)
        receipt, url = files.join(out, "verdicts.json"), files.join(out, "verdicts.parquet")
        made = receipts.once(receipt, work_key, lambda: _find(docs, run, out, work_key, url))
        files.remove(files.join(out, _GatherRows.folder))
        facts = {name: made[name] for name in ("documents", "shared", "dropped")}
        return DropIds(verdicts=url, key=work_key, estimator=self.name, facts=facts)


def _find(docs: Dataset, run: Runner, out: str, work_key: str, url: str) -> dict[str, Any]:
    columns = ["id", "chat", "author", "time", "text", *(["kind"] if "kind" in docs.columns else [])]
    spans: Spans = {}
    for found in run.map(_FindSpans(tuple(columns)), docs.tasks, "Overlaps: times"):
        for export, span in found.items():
            spans[export] = spans[export].joined(span) if export in spans else span
    gather = _GatherRows(out, work_key, tuple(columns), shared_times(spans))
    counts = list(run.map(gather, docs.tasks if gather.shared else [], "Overlaps: gather"))
    dropped = next(iter(run.map(_Compare(out, url, len(counts)), [0], "Overlaps: compare")))
    n_docs = sum(span.n for span in spans.values())
    return {"files": [url], "documents": n_docs, "shared": sum(c["rows"] for c in counts), "dropped": dropped}


@dataclass(frozen=True)
class _FindSpans:
    """Task: find the spans of the exports in a part."""

    columns: tuple[str, ...]

    def __call__(self, item: Part) -> Spans:
        """Return the span of each chat in each file."""
        return spans_of(item.batches(self.columns))


class SharedTimes(NamedTuple):
    """Times in seconds that another export of the chat covers too; the chat's name; whether the export has seconds."""

    chat: str
    first: int
    last: int
    fine: bool


def shared_times(spans: Mapping[Export, ExportSpan]) -> dict[Export, SharedTimes]:
    """Return the shared times of exports that overlap with another export of the same chat."""
    chats: dict[str, list[Export]] = {}
    for export, chat in chat_names(spans).items():
        chats.setdefault(chat, []).append(export)
    found: dict[Export, SharedTimes] = {}
    for chat, exports in chats.items():
        for export in exports:
            mine, others = spans[export], [spans[o] for o in exports if o[1] != export[1]]
            common = [(max(mine.first, o.first) // MINUTE, min(mine.last, o.last) // MINUTE) for o in others]
            common = [(first, last) for first, last in common if first <= last]
            if common:
                first, last = min(a for a, _ in common), max(b for _, b in common)
                found[export] = SharedTimes(chat, first * MINUTE, (last + 1) * MINUTE - 1, mine.fine)
    return found


@dataclass(frozen=True)
class _GatherRows(Pass[Part]):
    """Write the rows of a part that are in shared times."""

    folder: ClassVar[str] = "rows"

    columns: tuple[str, ...]
    shared: dict[Export, SharedTimes] = field(hash=False)

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write a Parquet file of ROWS; return the number of rows."""
        n_rows = 0
        with files.atomic(url) as f, pq.ParquetWriter(f, ROWS, compression="lz4") as writer:
            for batch in item.batches(self.columns):
                rows = self._chosen(batch)
                n_rows += len(rows)
                writer.write_table(rows)
        return {"rows": n_rows}

    def _chosen(self, batch: Batch) -> pa.Table:
        fine, chosen = np.zeros(batch.num_rows, bool), np.zeros(batch.num_rows, bool)
        names = np.full(batch.num_rows, "", object)
        for export, rows, times in by_export(batch):
            shared = self.shared.get(export)
            if shared:
                names[rows], fine[rows] = shared.chat, shared.fine
                chosen[rows] = (times >= shared.first) & (times <= shared.last)
        arrays = {name: batch.column(name) for name in batch.schema.names} | {"chat": pa.array(names, pa.string())}
        arrays.setdefault("kind", pa.repeat("text", batch.num_rows))
        table = pa.table({**arrays, "fine": pa.array(fine)}).select(ROWS.names)
        plain = [_plain(table[name], ROWS.field(name).type) for name in ROWS.names]
        return pa.table(plain, schema=ROWS).filter(pa.array(chosen))


def _plain(column: Any, kind: pa.DataType) -> Any:
    coded = pa.types.is_dictionary(column.type)
    return (column.cast(column.type.value_type) if coded else column).cast(kind, safe=kind != ROWS.field("time").type)


@dataclass(frozen=True)
class _Compare:
    """Task: compare all rows that were gathered, in one process."""

    out: str
    url: str
    n_parts: int

    def __call__(self, _: int) -> int:
        """Write the verdicts to `url`; return their number."""
        tables = [ROWS.empty_table()]
        for number in range(self.n_parts):
            with files.open_raw(_GatherRows.url(self.out, number)) as f:
                tables.append(pq.read_table(f).cast(ROWS))  # Parquet has no seconds
        rows = pa.concat_tables(tables)
        ids = rows["id"].to_numpy()
        numbers = (ids >> np.uint64(B.POSITION_BITS)).astype(np.int64)
        repeated, kept = find_repeated(numbers, rows, rows["fine"].to_numpy())
        n = len(repeated)
        table = {
            "id": ids[repeated],
            "reason": pa.repeat("in_two_exports", n),
            "kept_in": pa.nulls(n, pa.string()),
            "kept": ids[kept],
            "similarity": pa.nulls(n, pa.float32()),
        }
        return write_verdicts(self.url, pa.table(table))
