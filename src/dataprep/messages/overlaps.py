"""Overlaps: drop messages that an earlier export of the same chat contains (`repeated.py` finds them).

Messages are compared as multisets: a message that occurs n times in one export and m times in another was sent max(n,
m) times, so two "ok" in one minute remain two. Messages are equal if chat, author, time, kind and text are equal;
hashes do not decide. Two differences between exports of one chat are ignored:

- A file whose times have no seconds is compared by the minute, other files by the second.
- Media that is left out of an export has a different first line ("<Media omitted>" for "IMG-1.jpg (file attached)") and
  perhaps a different kind. Exact matches are paired first, then the remaining media by the text after the first line.

Of two equal messages, the one with seconds is kept, or else the one in the earlier file. A message in two exports is
not recognised if it was deleted or edited between them, if the platform wrote it in two languages, if the clocks were
in different time zones, or if the chats have different names. With a people file, the names of one person are equal.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.estimator import Estimator
from dataprep.core.model.part import Part
from dataprep.core.model.tables import VERDICTS, new_rows, write_verdicts
from dataprep.core.model.verdict import DropIds
from dataprep.core.output import owned
from dataprep.core.run.passes import Pass
from dataprep.core.run.runner import Runner
from dataprep.store import files, receipts
from dataprep.unicode.hashes import text_hashes

from .match_exports import Export, ExportSpan, by_export, chat_names, spans_of
from .people.identities import Identities
from .people.people_file import people_of
from .repeated import find_repeated
from .times import MINUTE

Spans: TypeAlias = dict[Export, ExportSpan]
ROWS = pa.schema([
    ("id", pa.uint64()), ("chat", pa.string()), ("author", pa.string()), ("time", pa.timestamp("s")),
    ("kind", pa.string()), ("text", pa.large_string()), ("fine", pa.bool_()),  # fine: whether the export has seconds
])  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Overlaps(Estimator):
    """Drop messages that an earlier export of the same chat contains ("in_two_exports"); an Estimator.

    Put it directly after `read`, before texts are cleaned or people are renamed. Each file is an export. Two exports
    are of one chat if their values in the `chat` column are equal, or if they share messages (`match_exports.py`);
    other exports are not compared. Messages are equal if author, time, kind and text are equal, apart from two ignored
    differences between exports. A message that one export has twice is kept twice (`messages/overlaps.py`). The table
    of dropped messages names the kept one.

    Args:
        people: a people file (`dataprep people`). All names of a person count as equal, as authors, in mentions and as
            names of chats. Without it, a message of a contact who was renamed between two exports is not recognised.

    One process holds the messages of the times that two exports share (texts and 100 bytes per message), and 400 kB per
    export, in memory.

    >>> dp.Pipeline(Overlaps(), dp.chats.Conversations()).run(dp.read("chats/"), out="talks")    # doctest: +SKIP
    """

    people: Any = field(default=None, repr=False)  # names are private

    VERSION: ClassVar[int] = 2
    only_drops: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("chat", "author", "time")

    def __post_init__(self) -> None:
        object.__setattr__(self, "people", people_of(self.people))  # the content of the file is a part of the key

    def warm(self) -> None:
        """Compile the kernel, before workers start."""
        text_hashes(*B.buffers(pa.array(["a"], pa.large_string())))

    def fit(self, docs: Dataset, runner: Runner, out: str) -> DropIds:
        """Compare the messages of the times that exports share; return the stage that drops the repeated ones.

        Writes a table (message to drop, message kept instead) into the folder `out`.
        """
        work_key = self.key_for(docs)
        receipt, url = files.join(out, "verdicts.json"), files.join(out, "verdicts.parquet")
        made = receipts.once(receipt, work_key, lambda: _find(docs, runner, out, work_key, url, self.people))
        owned.discard(files.join(out, _GatherRows.folder))
        facts = {name: made[name] for name in ("documents", "shared", "dropped")}
        return DropIds(verdicts=url, key=work_key, estimator=self.name, facts=facts)


def _find(docs: Dataset, runner: Runner, out: str, work_key: str, url: str, people: Identities) -> dict[str, Any]:
    columns = ["id", "chat", "author", "time", "text", *(["kind"] if "kind" in docs.columns else [])]
    spans: Spans = {}
    for found in runner.map(functools.partial(_spans_in, columns, people), docs.tasks, "Overlaps: times"):
        for export, span in found.items():
            spans[export] = spans[export].joined(span) if export in spans else span
    gather = _GatherRows(out, work_key, tuple(columns), shared_times(spans), people)
    counts = list(runner.map(gather, docs.tasks if gather.shared else [], "Overlaps: gather"))
    dropped = next(iter(runner.map(functools.partial(_compare, out, url, len(counts)), [0], "Overlaps: compare")))
    n_docs = sum(span.n for span in spans.values())
    return {"files": [url], "documents": n_docs, "shared": sum(c["rows"] for c in counts), "dropped": dropped}


def _spans_in(columns: Sequence[str], people: Identities, part: Part) -> Spans:
    return spans_of(map(people.compared, part.batches(columns)))


class SharedTimes(NamedTuple):
    """The period of an export that other exports of the same chat cover too.

    Attributes:
        chat: the chat's name.
        first: the beginning of the period, in seconds since 1970.
        last: the end of the period, in seconds since 1970.
        fine: True if the export's times have seconds.
    """

    chat: str
    first: int
    last: int
    fine: bool


def shared_times(spans: Mapping[Export, ExportSpan]) -> dict[Export, SharedTimes]:
    """Return the period of each export that other exports of its chat cover too; exports without one are left out.

    Args:
        spans: the summary of each export, a pair (chat, number of the file).
    """
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
    people: Identities = field(default_factory=Identities)

    def write(self, url: str, item: Part) -> dict[str, Any]:
        """Write a Parquet file of ROWS; return the number of rows."""
        n_rows = 0
        with files.atomic(url) as f, pq.ParquetWriter(f, ROWS, compression="lz4") as writer:
            for batch in map(self.people.compared, item.batches(self.columns)):
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


def _compare(out: str, url: str, n_parts: int, _: int) -> int:
    """Compare all rows that were gathered, in one process; write the verdicts to `url` and return their number."""
    tables = [ROWS.empty_table()]
    for number in range(n_parts):
        with files.open_arrow(_GatherRows.url(out, number)) as f:
            tables.append(pq.read_table(f).cast(ROWS))  # Parquet has no seconds
    rows = pa.concat_tables(tables)
    ids = rows["id"].to_numpy()
    numbers = (ids >> np.uint64(B.POSITION_BITS)).astype(np.int64)
    repeated, kept = find_repeated(numbers, rows, rows["fine"].to_numpy())
    return write_verdicts(url, [new_rows(VERDICTS, id=ids[repeated], reason="in_two_exports", duplicate_of=ids[kept])])
