"""CapRepeats: if an exchange occurs n times in the windows, learn it only sqrt(n) times, rounded up.

An exchange is a turn and the answer after it. The first occurrence is learned, then the second, the fifth, the tenth
and so on: one more after each square number. All other occurrences remain in their windows as context, with weight 0.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import xxhash

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.estimator import Estimator
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.part import Part
from dataprep.core.model.range_reader import RangeReader
from dataprep.core.model.stage import drop_rows
from dataprep.core.model.tables import new_rows
from dataprep.core.model.verdict import Verdict
from dataprep.core.run.runner import Runner
from dataprep.store import files, receipts

from .windows import MESSAGES

CAPPED = "capped"
ROWS = pa.schema([pa.field("id", pa.uint64(), nullable=False), pa.field("turn", pa.int32(), nullable=False)])
ADDED: Mapping[str, pa.DataType] = {CAPPED: pa.list_(pa.int32())}
EXCHANGE = np.dtype([("high", "<u8"), ("low", "<u8"), ("id", "<u8"), ("turn", "<i4")])


@dataclass(frozen=True, kw_only=True)
class CapRepeats(Estimator):
    """Learn an exchange with n occurrences only sqrt(n) times, rounded up (3 of 9); an Estimator, after `Turns`.

    An exchange is an answer and the turn before it in its window; two exchanges are equal if both texts are equal.
    Occurrences number 1, 2, 5, 10, 17 ... in the order of ids are learned. The others get weight 0, and the new column
    `capped` lists their turns (counted from 0); a window with nothing left to learn is dropped as "capped". Windows
    with a value other than 0 in the `side` column are held out: they are neither counted nor changed.

    Memory: 28 bytes per answer.
    """

    needs: ClassVar[tuple[str, ...]] = ("messages",)

    def fit(self, docs: Dataset, runner: Runner, out: str) -> Capped:
        """Count the exchanges in `docs`, write the answers not to learn into `out`; return the stage for them."""
        work_key, url = self.key_for(docs), files.join(out, "verdicts.parquet")

        def write() -> dict[str, Any]:
            names = ["id", "messages", *(["side"] if "side" in docs.columns else [])]
            found = runner.map(functools.partial(_exchanges, names), docs.tasks, "CapRepeats: exchanges")
            answers = np.concatenate([np.zeros(0, EXCHANGE), *found])
            rest = np.sort(answers[_rank_is_no_square(answers)], order=("id", "turn"))
            with files.atomic(url) as f:
                pq.write_table(pa.Table.from_batches([new_rows(ROWS, id=rest["id"], turn=rest["turn"])]), f)
            return {"files": [url], "answers": len(answers), "capped": len(rest)}

        made = receipts.once(files.join(out, "verdicts.json"), work_key, write)
        facts = {name: made[name] for name in ("answers", "capped")}
        return Capped(table=url, key=work_key, estimator=self.name, facts=facts)


@dataclass(frozen=True, kw_only=True, repr=False)
class Capped(Verdict):
    """Sets the weight of the answers in a table to 0; `CapRepeats.fit` returns this stage."""

    table: str = field(repr=False)

    needs: ClassVar[tuple[str, ...]] = ("messages",)
    adds = ADDED

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the windows with the new weights; drop those with nothing left to learn."""
        with RangeReader(self.table, ROWS) as table:
            for batch in batches:
                yield _capped(batch, table.of(batch), stats)


def _capped(batch: Batch, rows: pa.Table, stats: Ledger) -> Batch:
    """Return the windows, in which the turns in `rows` (id, turn) have weight 0."""
    stats.count("answers.capped", rows.num_rows)
    ids, messages = B.ids(batch), batch.column("messages")
    ends = np.append(0, np.cumsum(pc.list_value_length(messages).to_numpy()))
    order = np.argsort(ids)
    windows = order[np.searchsorted(ids, rows["id"].to_numpy(), sorter=order)]
    turns = rows["turn"].to_numpy()
    flat, window_of = messages.flatten(), pc.list_parent_indices(messages).to_numpy()
    weight = pc.struct_field(flat, "weight").to_numpy().copy()
    before = np.bincount(window_of, weight, len(ids))
    weight[ends[windows] + turns] = 0
    nothing_left = (before > 0) & (np.bincount(window_of, weight, len(ids)) == 0)
    fields = [pa.array(weight) if f.name == "weight" else pc.struct_field(flat, f.name) for f in MESSAGES.value_type]
    each = pa.StructArray.from_arrays(fields, fields=list(MESSAGES.value_type))
    out = B.with_column(batch, "messages", pa.ListArray.from_arrays(pa.array(ends, pa.int32()), each))
    offsets = np.append(0, np.cumsum(np.bincount(windows, minlength=len(ids))))
    listed = pa.array(turns[np.argsort(windows, kind="stable")], pa.int32())
    out = B.with_column(out, CAPPED, pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), listed))
    return drop_rows(out, pc.if_else(pa.array(nothing_left), CAPPED, pa.scalar(None, pa.string())), stats)


def _exchanges(names: list[str], part: Part) -> npt.NDArray[Any]:
    """Return a row of EXCHANGE for each answer to be learned in the training windows of a part.

    - names: columns.
    """
    found: list[tuple[int, int, int, int]] = []
    for batch in part.batches(names):
        sides = batch["side"].to_pylist() if "side" in names else [0] * batch.num_rows
        for number, side, messages in zip(B.ids(batch).tolist(), sides, batch["messages"].to_pylist(), strict=True):
            for turn, message in enumerate(messages if side == 0 else ()):
                if message["weight"]:
                    prompt = messages[turn - 1]["content"] if turn else ""
                    said = f"{len(prompt)} {prompt}{message['content']}"
                    high, low = divmod(xxhash.xxh3_128_intdigest(said.encode()), 1 << 64)
                    found.append((high, low, number, turn))
    return np.array(found, EXCHANGE)


def _rank_is_no_square(answers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return for each row of EXCHANGE whether the number of equal exchanges before it is not a square, bool[n]."""
    order = np.argsort(answers, order=EXCHANGE.names)
    first = np.ones(len(order), np.bool_)
    for name in ("high", "low"):
        values = answers[name][order]
        first[1:] &= values[1:] == values[:-1]
    first[1:] = ~first[1:]
    rank = np.arange(len(order)) - np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    root = np.sqrt(rank).round().astype(np.int64)
    out = np.empty(len(order), np.bool_)
    out[order] = root * root != rank
    return out
