"""Find the document for which a user's function raised an error; state its id, its file and the start of its text.

Any exception that a function raises counts as an error, including SystemExit; only Ctrl-C and signals end the program
(`passes`).
"""

from __future__ import annotations

import contextlib
import functools
import os
import traceback
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa

from dataprep.errors import DataprepError, FunctionFailed, PlanError, message_of
from dataprep.store.place import Stays
from dataprep.store.remote import LOST
from dataprep.store.stopping import is_stop

from ..output.layout import STEPS, Folder, home_of
from . import batch as B
from .batch import Batch
from .ledger import Ledger, watch
from .reader import Slice

HEAD_CHARS = 60
PASSED: tuple[type[Exception], ...] = (DataprepError, *LOST)  # their messages are clear, or they are retried
T = TypeVar("T")
END = object()
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def is_ours(stage: object) -> bool:
    """Return whether the class of a Stage, Estimator or Reader belongs to dataprep."""
    return type(stage).__module__.partition(".")[0] == "dataprep"


def passes(error: BaseException) -> bool:
    """Return whether an error of a user's function is raised unchanged: dataprep's errors, and those that end a run."""
    return isinstance(error, PASSED) or is_stop(error)


def raised(name: str, error: BaseException) -> str:
    """Return a text that states a function, its error and the line: "f raised KeyError: 'x' (pipe.py, line 12)".

    - name: the function's name as written in the pipeline.
    """
    own = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    own = [at for at in own if not at[0].startswith(_PACKAGE)]
    lines = [line for file, line in own if file == own[0][0]]
    where = f" ({own[0][0]}, line {lines[-1]})" if own else ""
    text = " ".join(message_of(error).split())[:200]
    return f"{name} raised {type(error).__name__}{': ' if text else ''}{text}{where}"


def failed(name: str, error: BaseException, batch: Batch | None = None, row: int = 0) -> FunctionFailed:
    """Return the error to raise in place of `error`, which the function `name` raised for a row of a batch."""
    if batch is None or not batch.num_rows:
        return FunctionFailed(raised(name, error))
    return wrong_value(raised(name, error), batch, row)


def wrong_answer(stage: object, answer: object, wrong: str, batch: Batch, row: int) -> FunctionFailed:
    """Return the error for an invalid result that the function of a stage returned for a row of a batch.

    - wrong: the description of the problem, such as "is not of type int32".
    """
    return wrong_value(f"{stage!r} returned {ascii(answer)[:80]}, which {wrong}", batch, row)


def wrong_value(what: str, batch: Batch, row: int) -> FunctionFailed:
    """Return the error for an invalid value of a row of a batch.

    - what: the description of the problem.
    """
    names = batch.schema.names
    head = batch.column("text")[row].as_py()[: 4 * HEAD_CHARS] if "text" in names else ""
    id_ = B.show_id(int(B.ids(batch)[row])) if "id" in names else None
    return FunctionFailed(what, id_, " ".join(head.split())[:HEAD_CHARS])


def called(name: str, work: Callable[[Batch], T], batch: Batch) -> T:
    """Return `work(batch)`, which calls a user's function; errors state the function's name `name` and the document."""
    try:
        with Stays(name):
            return work(batch)
    except BaseException as e:
        if passes(e):
            raise
        with Stays(name):
            row = culprit(batch, work) or 0
        raise failed(name, e, batch, row) from e


def culprit(batch: Batch, work: Callable[[Batch], object]) -> int | None:
    """Return the row of a batch for which `work` raises an error, found by bisection; None if no single row fails."""
    first, n = 0, batch.num_rows
    while n > 1:
        halves = ((first, n // 2), (first + n // 2, n - n // 2))
        found = next((half for half in halves if _raises(work, batch.slice(*half))), None)
        if found is None:
            return None
        first, n = found
    return first if n else None


def _raises(work: Callable[[Batch], object], batch: Batch) -> bool:
    try:
        work(batch)
    except BaseException as e:
        if is_stop(e):
            raise
        return not passes(e)
    return False


def applied(
    stages: Sequence[Any], flow: Iterator[Batch], ledgers: Sequence[Ledger], slices: Sequence[Slice]
) -> Iterator[Batch]:
    """Yield the documents of `flow` with `stages` applied; errors of a user's function name the document and its file.

    - ledgers: one ledger per stage, to record its work; if empty, nothing is recorded.
    - slices: the slices that `flow` reads.
    """
    if ledgers:
        for stage, ledger in zip(stages, ledgers, strict=True):
            flow = watch(guarded(stage), flow, ledger)
    else:
        for stage in stages:
            flow = guarded(stage)(flow, Ledger(stage.name, quiet=True))
    with located(slices):
        yield from flow


def each(
    make: Callable[[], Iterable[T]], explain: Callable[[BaseException], None], stays: Stays | None = None
) -> Iterator[T]:
    """Yield the items that `make` returns; an error in `make` is passed to `explain`, which may raise another error.

    An exception that is raised at the `yield`, such as GeneratorExit when iteration stops early, is not passed to
    `explain`.

    - stays: a context manager that is active while each item is made; None if there is none.
    """
    flow: Iterator[T] | None = None
    while True:
        try:
            with stays or contextlib.nullcontext():
                flow = iter(make()) if flow is None else flow
                item = next(flow, END)
        except BaseException as e:
            explain(e)
            raise
        if item is END:
            return
        yield item  # type: ignore[misc]  # not END


def read_by(reader: Any, url: str, read: Callable[[], Iterator[Batch]]) -> Iterator[Batch]:
    """Return `read()`, the batches that a Reader yields for the file `url`; errors of a user's Reader name the file."""

    def explain(e: BaseException) -> None:
        if not passes(e):
            raise FunctionFailed(raised(type(reader).__name__, e), file=url) from e

    return read() if is_ours(reader) else each(read, explain, Stays(type(reader).__name__))


def guarded(stage: Any) -> Callable[[Iterator[Batch], Ledger], Iterator[Batch]]:
    """Return a user's Stage as a function whose errors name the document; return a Stage of dataprep unchanged."""
    return stage if is_ours(stage) else lambda batches, ledger: _guarded(stage, batches, ledger)


def _guarded(stage: Any, batches: Iterator[Batch], ledger: Ledger) -> Iterator[Batch]:
    ledger.same_text = bool(stage.only_drops)
    given: list[Batch] = []
    before: list[BaseException] = []  # an error of an earlier stage
    stays = Stays(stage.name)

    def fed() -> Iterator[Batch]:
        stays.check()
        for batch in each(lambda: batches, before.append):
            given[:] = [batch]
            yield batch
            stays.check()

    def alone(batch: Batch) -> None:
        for _ in stage(iter([batch]), Ledger(stage.name, quiet=True)):
            pass

    def explain(e: BaseException) -> None:
        if passes(e) or any(e is one for one in before):
            return
        batch = given[0] if given else None
        with stays:
            row = None if batch is None else culprit(batch, alone)
        name = stage.name if row is not None or batch is None else f"{stage.name}, at or after its last batch,"
        raise failed(name, e, batch, row or 0) from e

    for out in each(lambda: stage(fed(), ledger), explain, stays):
        if given:
            _check_columns(stage, given[0], out)
        yield out


def _check_columns(stage: Any, given: Batch, out: Any) -> None:
    """Raise PlanError if a batch that a user's Stage returned lacks a column, or has one that is not in `adds`."""
    if not isinstance(out, pa.RecordBatch):
        msg = f"{stage.name} yielded {type(out).__name__}; a Stage must yield batches (pyarrow.RecordBatch)"
        raise PlanError(msg)
    promised, has = dict.fromkeys([*given.schema.names, *stage.adds]), dict.fromkeys(out.schema.names)
    more, fewer = [n for n in has if n not in promised], [n for n in promised if n not in has]
    if more:
        msg = f"{stage.name} added the column {more[0]!r}, which it does not declare; list it in `adds` with its type"
        raise PlanError(msg)
    if fewer:
        msg = f"{stage.name} returned a batch without the column {fewer[0]!r}; return all columns, and those in `adds`"
        raise PlanError(msg)


@contextlib.contextmanager
def located(slices: Sequence[Slice]) -> Iterator[None]:
    """Add the file of the document to a FunctionFailed that is raised in the `with` block.

    Args:
        slices: the slices of files that the block reads.
    """
    try:
        yield
    except FunctionFailed as e:
        if e.file is not None or e.document is None:
            raise
        named = FunctionFailed(e.what, e.document, e.head, _file_of(slices, B.parse_id(e.document)))
        raise named from (e.__cause__ or e.cause)


def _file_of(slices: Sequence[Slice], id_: int) -> str | None:
    """Return the URL of a document's input file, or of its shard if the Dataset hides the names of input files.

    - slices: the slices that were read.
    """
    by_number = {piece.file: piece.url for piece in slices}
    homes = {home.url: piece.file for piece in slices if (home := home_of(piece.url))}
    if not homes:
        return by_number.get(id_ >> B.POSITION_BITS)
    found = (_listed(url, id_ - (shift << B.POSITION_BITS)) for url, shift in homes.items())
    return next((url for url in found if url), slices[0].url)


def _listed(url: str, id_: int) -> str | None:
    """Return the input file of a document of a sealed Dataset, followed through the Datasets from which it was made."""
    origin = Folder(url.partition(f"/{STEPS}/")[0]).any_origin
    for row in origin.files if origin is not None else ():
        home = home_of(row.url)
        if home is None and row.file == id_ >> B.POSITION_BITS:
            return row.url
        if home is not None and row.file <= id_ >> B.POSITION_BITS:
            found = _listed(home.url, id_ - (row.file << B.POSITION_BITS))
            if found:
                return found
    return None


class LastRead:
    """Remembers which batch of a Dataset was read last, for the message if an Estimator fails, without holding it.

    A copy for another process remembers no batch.
    """

    def __init__(self) -> None:
        self._batch: weakref.ref[Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return LastRead, ()

    @property
    def batch(self) -> Batch | None:
        """The batch that was read last, if it is still in use."""
        return None if self._batch is None else self._batch()

    def noted(self, batch: Batch) -> Batch:
        """Remember `batch`, and return it."""
        self._batch = weakref.ref(batch)
        return batch


def fitting(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fit`, a function of an Estimator, its input and other values, wrapped: errors name the last batch read.

    An error of a user's Estimator becomes FunctionFailed.
    """

    @functools.wraps(fit)
    def named(estimator: Any, docs: Any, *given: Any) -> Any:
        if is_ours(estimator):
            return fit(estimator, docs, *given)
        seen = LastRead()
        try:
            with Stays(f"{estimator.name}.fit"):
                return fit(estimator, replace(docs, last=seen), *given)
        except BaseException as e:
            if passes(e):
                raise
            raise _failed_fit(estimator, docs, seen.batch, e) from e

    return named


def _failed_fit(estimator: Any, docs: Any, batch: Batch | None, e: BaseException) -> FunctionFailed:
    """Return the error to raise in place of `e`.

    - batch: the batch that was read last.
    """
    error = failed(f"{estimator.name}.fit", e)
    if batch is None or not batch.num_rows or "id" not in batch.schema.names:
        return error
    first, last = (int(B.ids(batch)[row]) for row in (0, -1))
    shown = B.show_id(first) if first == last else f"{B.show_id(first)} to {B.show_id(last)}"
    file = _file_of([piece for part in docs.parts for piece in part.slices], first)
    return FunctionFailed(error.what, shown, failed("", e, batch).head, file)
