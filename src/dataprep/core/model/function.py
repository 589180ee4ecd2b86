"""Plain functions as stages: Filter and Map; their parameter names are column names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.errors import PlanError
from dataprep.store.key import key, parameter_names
from dataprep.store.place import Stays

from . import batch as B
from . import blame
from .batch import Batch
from .ledger import Ledger
from .stage import Stage, drop_rows


@dataclass(frozen=True, repr=False)
class _Function(Stage):
    """A plain function as a stage; its parameter names are column names."""

    fn: Callable[..., Any]
    version: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not callable(self.fn):
            msg = f"{type(self).__name__} must be given a function, not {self.fn!r}"
            raise PlanError(msg)
        if self.version is None:
            key(self.fn)  # a function that has no key fails here, not after an hour
        parameter_names(self.fn)

    @property
    def name(self) -> str:
        """The function's name."""
        name = getattr(self.fn, "__name__", type(self.fn).__name__)
        return "lambda" if name == "<lambda>" else name

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns that the function's parameters name, except the columns of every batch."""
        return tuple(n for n in parameter_names(self.fn) if n not in B.FIXED)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def answers(self, batch: Batch) -> list[Any]:
        """Return the function's result for each row. Raises FunctionFailed, with the document, if it fails."""
        answers: list[Any] = []
        try:
            with Stays(repr(self)):
                for row in _rows(batch, parameter_names(self.fn)):
                    answers.append(self.fn(*row))  # noqa: PERF401 - its length is the row that fails
        except BaseException as e:
            if blame.passes(e):
                raise
            raise blame.failed(repr(self), e, batch, len(answers)) from e
        return answers

    def array(self, values: Sequence[Any], kind: pa.DataType, batch: Batch) -> pa.Array:
        """Return one value per row of `batch` as an array of type `kind`; raises FunctionFailed for a wrong value."""
        try:
            return pa.array(values, kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as e:
            row = next(row for row, value in enumerate(values) if not _fits(value, kind))
            wrong = "has a lone surrogate" if isinstance(e, UnicodeEncodeError) else f"is not of type {kind}"
            raise blame.wrong_answer(self, values[row], wrong, batch, row) from e

    def recipe(self) -> Any:
        """Return the value that determines the key: the function, or `version` if it was given."""
        return (self.name, self.version) if self.version is not None else self.fn


@dataclass(frozen=True, repr=False)
class Filter(_Function):
    """Keep or drop each document according to the result of a plain function, whose parameters are named after columns.

    Args:
        fn: the function. It must return a str to drop the document with that reason, False to drop it with the
            function's name as the reason, or None or True to keep it.
        version: a string that identifies a function whose source code Python cannot find; change the string when the
            function changes.

    >>> def too_short(text): return "too_short" if len(text) < 200 else None
    >>> stage = Filter(too_short)
    """

    only_drops: ClassVar[bool] = True

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the rows that the function keeps; drop the others with their reasons."""
        for batch in batches:
            reasons = [self._reason(answer, batch, row) for row, answer in enumerate(self.answers(batch))]
            yield drop_rows(batch, self.array(reasons, pa.string(), batch), stats)

    def _reason(self, answer: Any, batch: Batch, row: int) -> str | None:
        if answer is None or answer is True or (isinstance(answer, np.bool_) and answer):
            return None
        if isinstance(answer, str) and answer:
            return answer
        if answer is False or isinstance(answer, np.bool_):
            return self.name
        wrong = "is neither a reason (str) or False, to drop it, nor None or True, to keep it,"
        raise blame.wrong_answer(self, answer, wrong, batch, row)


@dataclass(frozen=True, repr=False)
class Map(_Function):
    """Rewrite texts or add columns with a plain function, whose parameters are named after columns.

    Args:
        fn: the function. It must return the new text (str), or a dict with the values of the new columns, which also
            contains "text" if the text changes.
        adds: {name: Arrow type} of the new columns.
        version: a string that identifies a function whose source code Python cannot find; change the string when the
            function changes.

    >>> def stripped(text): return text.strip()
    >>> stage = Map(stripped)
    >>> def words(text): return {"words": len(text.split())}
    >>> stage = Map(words, adds={"words": pa.int32()})
    """

    adds: Mapping[str, pa.DataType] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        fixed = sorted(set(self.adds) & set(B.FIXED))
        if fixed:
            msg = f"Map({self.name}) adds {', '.join(fixed)}, which every batch has; adds= must name other columns"
            raise PlanError(msg)

    def recipe(self) -> Any:
        """Return the values that identify this stage: the function (or its version), and the columns that it adds."""
        return (super().recipe(), {name: str(kind) for name, kind in self.adds.items()})

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:  # noqa: ARG002 - drops nothing
        """Yield the same rows with the texts and columns that the function returns for each."""
        for batch in batches:
            answers = [self._columns(answer, batch, row) for row, answer in enumerate(self.answers(batch))]
            out = batch
            if any("text" in a for a in answers) or not self.adds:
                old = batch.column("text")
                texts = [a["text"] if "text" in a else old[i].as_py() for i, a in enumerate(answers)]
                out = B.with_column(out, "text", self.array(texts, pa.large_string(), batch))
            for name, kind in self.adds.items():
                out = B.with_column(out, name, self.array([a.get(name) for a in answers], kind, batch))
            yield out

    def _columns(self, answer: Any, batch: Batch, row: int) -> dict[str, Any]:
        if isinstance(answer, str):
            return {"text": answer}
        if isinstance(answer, dict) and set(answer) <= {"text", *self.adds}:
            return answer
        wrong = f"is neither the new text (str) nor a dict of {sorted({'text', *self.adds})},"
        raise blame.wrong_answer(self, answer, wrong, batch, row)


def _fits(value: Any, kind: pa.DataType) -> bool:
    try:
        pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def _rows(batch: Batch, columns: Any) -> Iterator[tuple[Any, ...]]:
    if not columns:
        return iter([()] * batch.num_rows)
    return zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
