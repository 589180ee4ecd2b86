"""Stage: one pass over documents, which maps batches to batches.

An Estimator (`estimator.py`) reads all documents once and returns a Stage. `function.py` makes stages of plain
functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from dataprep.lazy import compute as pc
from dataprep.store.place import check_here, files_named, here

from . import batch as B
from .batch import Batch
from .ledger import Ledger

if TYPE_CHECKING:
    from ..output.audit import Search


class Declared:
    """The declarations of a Stage or an Estimator that the planner reads; `Stage` describes each of them."""

    VERSION: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()
    adds: Mapping[str, pa.DataType] = {}
    only_drops: ClassVar[bool] = False
    loses: ClassVar[Mapping[str, str]] = {}
    sees: ClassVar[tuple[str, ...]] = ()
    hides: ClassVar[bool] = False
    masks: ClassVar[bool] = False
    given_in: str  # the working folder in which the object was created, to which its relative paths refer

    def __new__(cls, *_: Any, **__: Any) -> Any:
        """Return a new object that records the working folder; a copy in another process keeps the original's."""
        made = super().__new__(cls)
        object.__setattr__(made, "given_in", here())
        return made

    def check_here(self) -> None:
        """Raise PlanError if a parameter is a file's relative path and the working folder has changed since then."""
        if self.given_in != here():
            known = fields(self) if is_dataclass(self) else tuple[Any, ...]()
            values = [getattr(self, one.name) for one in known if one.init]
            check_here(self.given_in, getattr(self, "reads_folders", ()))
            check_here(self.given_in, files_named(values, self.given_in))
            for value in values:
                if callable(getattr(value, "check_here", None)):  # a stage in a stage, or a Dataset
                    value.check_here()

    @property
    def name(self) -> str:
        """The name in statistics; an Estimator's name is also part of folder names."""
        return type(self).__name__

    def warm(self) -> None:
        """Compile the kernels (compiled functions) on a tiny input; called once, before workers start."""


class Stage(Declared):
    """One pass over documents: maps an iterator of batches to an iterator of batches.

    Write a subclass as a frozen keyword-only dataclass that defines `__call__`; its fields are its parameters. All
    other members have defaults. A subclass overrides the following members if the defaults do not apply:

    - `needs`: columns that the stage reads in addition to id, text, source and meta; PlanError is raised if one is
      missing.
    - `adds`: columns that the stage adds, with their types.
    - `only_drops`: True if the stage only drops whole documents or adds columns, and never changes a text.
    - `loses`: data, such as "authors", that later stages can see only in part because of this stage, each with a fix
      ("" means: put the later stage first). `sees`: data that this stage requires in full. PlanError is raised if an
      earlier stage loses such data.
    - `hides`: True if everything before the stage is private. Then statistics of earlier stages name no source and
      quote no text, and a Dataset sealed after the stage keeps neither the names of its input files nor the steps saved
      before it.
    - `compiled`: True if the stage runs kernels, which `warm` compiles.
    - `thread_safe`: True if threads of one process may run the stage on several parts at once, and gain by it, because
      its work is mostly that of kernels. Only stages of dataprep are run in this way.
    - `VERSION`: an integer; increase it when the same parameters produce a different result.
    """

    compiled: ClassVar[bool] = False
    thread_safe: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Set `masks`: whether a subclass masks private data in quoted texts, so that `masked` must be called."""
        super().__init_subclass__()
        cls.masks = cls.masked is not Stage.masked

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the documents that are kept; pass every other document to `stats.drop` with a reason.

        Args:
            batches: documents with the fixed columns and those in `needs`.
            stats: records drops, cuts, counts and histograms of this stage.
        """
        raise NotImplementedError

    def secrets(self) -> Search | None:
        """Return a search for private strings that must not be in the output folder; None if there are none.

        Before the folder is complete, every string of every file in it is searched (`audit.py`).
        """
        return None

    def masked(self, texts: Sequence[str]) -> list[str]:
        """Return the texts in the form in which statistics may quote them, for this stage and all stages before it.

        Statistics quote up to 300 characters of a text. A stage that masks private data returns the texts with the data
        masked, and "" for a text that it would drop.
        """
        return list(texts)

    def warm(self) -> None:
        """Compile the kernels, by passing two short documents through a `compiled` stage.

        Called once, before workers start.
        """
        if self.compiled:
            batch = B.make([0, 1], ["One two three four.\nFive", "\u0648\u0627\u062d\u062f"], "warm")
            for name in self.needs:
                batch = B.with_column(batch, name, pa.array(["", ""]))
            for _ in self(iter([batch]), Ledger(self.name, quiet=True)):
                pass


def n_hidden(stages: Sequence[Any]) -> int:
    """Return the number of stages up to and including the last one with `hides` (private input); 0 if there is none."""
    return max((n for n, stage in enumerate(stages, 1) if stage.hides), default=0)


@dataclass(frozen=True, kw_only=True)
class Head(Stage):
    """Stage that stops reading a part of the input after `max_bytes` of text; the last batch is kept whole."""

    max_bytes: int

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:  # noqa: ARG002 - drops nothing
        """Yield the first batches, until they contain `max_bytes` of text in total."""
        left = self.max_bytes
        for batch in batches:
            yield batch
            left -= B.text_bytes(batch)
            if left <= 0:
                return


def drop_rows(batch: Batch, reasons: pa.StringArray, stats: Ledger, **further: pa.Array) -> Batch:
    """Record in `stats` that documents with a reason are dropped; return the documents whose reason is null.

    Args:
        batch: the documents.
        reasons: the reason for each document, or null.
        stats: the ledger of the stage.
        further: further columns of the drop table, one value per document, as in `Ledger.drop`.
    """
    keep = pc.is_null(reasons)
    if batch.num_rows == 0 or pc.all(keep).as_py():
        return batch
    dropped = pc.invert(keep)
    more = {name: values.filter(dropped) for name, values in further.items()}
    stats.drop(B.ids(batch.filter(dropped)), reasons.filter(dropped), **more)
    return B.chosen(batch, keep.to_numpy(zero_copy_only=False))
