"""What one pass does: Stage, Estimator, and the stages every pipeline shares (Filter, Map, DropIds).

A Stage maps batches to batches. An Estimator looks at everything once (`fit`) and returns the Stage that applies what
it found; it never rewrites text: its verdicts are a table, inspected and combined like any other data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.errors import PlanError
from dataprep.store.key import key, parameter_names

from . import batch as B
from .batch import Batch
from .ledger import Ledger


class Stage:
    """One pass: an iterator of batches to an iterator of batches.

    Subclasses are frozen keyword-only dataclasses. `needs` names the columns read beyond the fixed ones, `adds` those
    it makes; `VERSION` goes up when the same parameters give another result. `hides`: what came before it is private:
    the books up to it name no source and show no text, and a Dataset sealed behind it keeps neither the places of its
    input nor the steps saved before.
    """

    VERSION: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()
    adds: Mapping[str, pa.DataType] = {}
    hides: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """What the stage is called in the books."""
        return type(self).__name__

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Every document given goes out or is dropped with a reason."""
        raise NotImplementedError

    def warm(self) -> None:
        """Compile kernels on a tiny input; called once, before workers start."""


@dataclass(frozen=True, repr=False)
class _Function(Stage):
    """A plain function as a stage; its parameter names are column names."""

    fn: Callable[..., Any]
    version: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not callable(self.fn):
            msg = f"{type(self).__name__} takes a function, not {self.fn!r}"
            raise PlanError(msg)
        if self.version is None:
            key(self.fn)  # a function that cannot be keyed fails here, not after an hour
        parameter_names(self.fn)

    @property
    def name(self) -> str:
        """The function's name."""
        name = getattr(self.fn, "__name__", type(self.fn).__name__)
        return "lambda" if name == "<lambda>" else name

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns its parameters name."""
        return tuple(n for n in parameter_names(self.fn) if n not in B.FIXED)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def recipe(self) -> Any:
        """The function, or the version given in its place."""
        return (self.name, self.version) if self.version is not None else self.fn


@dataclass(frozen=True, repr=False)
class Filter(_Function):
    """Keep or drop each document by a plain function whose parameter names are column names.

    The function returns a str to drop with that reason, None or True to keep, False to drop with the function's name.
    `version=` replaces the key of a function whose source Python cannot find.

    >>> def too_short(text): return "too_short" if len(text) < 200 else None
    >>> stage = Filter(too_short)
    """

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Ask the function about each row."""
        columns = parameter_names(self.fn)
        for batch in batches:
            reasons = [self._reason(self.fn(*row), row) for row in _rows(batch, columns)]
            yield drop_rows(batch, pa.array(reasons, pa.string()), stats)

    def _reason(self, answer: Any, row: Any) -> str | None:
        if answer is None or answer is True or (isinstance(answer, np.bool_) and answer):
            return None
        if isinstance(answer, str) and answer:
            return answer
        if answer is False or isinstance(answer, np.bool_):
            return self.name
        msg = (
            f"Filter({self.name}) got {answer!r} for {str(row)[:80]}; "
            "return a reason (str) to drop, None or True to keep, False to drop"
        )
        raise PlanError(msg)


@dataclass(frozen=True, repr=False)
class Map(_Function):
    """Rewrite each document's text by a plain function, or add columns.

    The function returns the new text (str), or a dict of columns: those in `adds`, and "text" if it changes.

    >>> stage = Map(str.strip)                                   # doctest: +SKIP
    >>> def words(text): return {"words": len(text.split())}
    >>> stage = Map(words, adds={"words": pa.int32()})
    """

    adds: Mapping[str, pa.DataType] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        fixed = sorted(set(self.adds) & set(B.FIXED))
        if fixed:
            msg = f"Map({self.name}) adds {', '.join(fixed)}, which every batch has already; return text in the dict"
            raise PlanError(msg)

    def recipe(self) -> Any:
        """The function (or its version) and the columns."""
        return (super().recipe(), {name: str(kind) for name, kind in self.adds.items()})

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:  # noqa: ARG002 - drops nothing
        """Call the function on each row."""
        columns = parameter_names(self.fn)
        for batch in batches:
            answers = [self._columns(self.fn(*row)) for row in _rows(batch, columns)]
            out = batch
            if any("text" in a for a in answers) or not self.adds:
                old = batch.column("text")
                texts = [a["text"] if "text" in a else old[i].as_py() for i, a in enumerate(answers)]
                out = B.with_column(out, "text", pa.array(texts, pa.large_string()))
            for name, kind in self.adds.items():
                out = B.with_column(out, name, pa.array([a.get(name) for a in answers], kind))
            yield out

    def _columns(self, answer: Any) -> dict[str, Any]:
        if isinstance(answer, str):
            return {"text": answer}
        if isinstance(answer, dict) and set(answer) <= {"text", *self.adds}:
            return answer
        msg = (
            f"Map({self.name}) got {str(answer)[:80]!r}; return the new text (str), "
            f"or a dict of {sorted({'text', *self.adds})}"
        )
        raise PlanError(msg)


@dataclass(frozen=True, kw_only=True)
class Head(Stage):
    """Stop reading a part after `max_bytes` of text; the batch that reaches the limit is passed whole."""

    max_bytes: int

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:  # noqa: ARG002 - drops nothing
        """Yield the first batches."""
        left = self.max_bytes
        for batch in batches:
            yield batch
            left -= B.text_bytes(batch)
            if left <= 0:
                return


def drop_rows(batch: Batch, reasons: pa.StringArray, stats: Ledger) -> Batch:
    """The rows without a reason (null); the others are dropped with theirs."""
    keep = pc.is_null(reasons)
    if batch.num_rows == 0 or pc.all(keep).as_py():
        return batch
    gone = pc.invert(keep)
    stats.drop(B.ids(batch.filter(gone)), reasons.filter(gone))
    return batch.filter(keep)


def _rows(batch: Batch, columns: Any) -> Iterator[tuple[Any, ...]]:
    if not columns:
        return iter([()] * batch.num_rows)
    return zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
