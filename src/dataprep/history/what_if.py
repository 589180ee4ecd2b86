"""Run a stage of a finished run in another way, or not at all, on a random sample of the documents.

The documents that a rule dropped cannot be added to the result, nor those of another value be subtracted: later rules
may drop the same documents, and stages that change texts change what later rules see. So the sample passes through the
stage and the later stages of its pass twice, as in the run and with the change.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.core.model import blame
from dataprep.core.model.batch import Ids
from dataprep.core.model.part import Part
from dataprep.core.model.stage import Stage
from dataprep.core.model.tables import read_tables
from dataprep.core.output.layout import DROPS
from dataprep.core.run.runner import Runner, runner_of
from dataprep.errors import PlanError, counted, require

from .remade import with_parameters
from .review import wilson
from .stage_input import RunStage, check_single, known_stages, stage_named

SAMPLE = 10_000  # documents
RESAMPLES, GROUPS = 1_000, 20_000  # of the bootstrap; in a larger sample, documents are resampled in groups
LEAST_CHANGED = 10  # documents; with fewer, the bootstrap would be too narrow
EXAMPLES = 20
ROWS = pa.schema([
    ("id", pa.uint64()), ("source", pa.string()), ("run", pa.int64()), ("other", pa.int64()),
])  # fmt: skip


class Estimated(NamedTuple):
    """A number of the whole run, estimated from a sample, with a 95 % interval; exact if all documents were read.

    Attributes:
        value: the estimate.
        low: the lower end of the interval.
        high: the upper end.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class WhatIf:
    """The result of a changed stage on a sample of a run, compared with its result as in the run.

    The documents are those that the stage received. They are kept or dropped by the stage and the later stages of the
    same pass.

    Attributes:
        stage: the stage.
        change: the other parameters; None: the run without the stage.
        documents: the number of documents that the stage received.
        sample: the number of these documents in the sample; equal to `documents` if all were rerun.
        kept: the number of documents in the sample that are kept as in the run.
        back: the number of documents that only the changed run keeps.
        new: the number of documents that only the changed run drops.
        text: the bytes of the kept text, divided by those as in the run; its interval is a bootstrap over documents;
            None if fewer than 10 documents of the sample change, or if nothing is kept.
        by_source: {source: (documents in the sample, those that come back, those that are newly dropped)}, most first.
        examples: ids of documents in the sample that come back, and of those that are newly dropped, chosen by a hash.
        later: the later stages that were not run again, since they read all documents before they decide, or follow
            such a stage.
    """

    stage: str
    change: Mapping[str, Any] | None
    documents: int
    sample: int
    kept: int
    back: Estimated
    new: Estimated
    text: Estimated | None
    by_source: dict[str, tuple[int, int, int]]
    examples: tuple[list[int], list[int]]
    later: tuple[str, ...]


def what_if(
    folder: str, stage: str, change: Mapping[str, Any] | None = None, *, sample: int | None = SAMPLE,
    runner: Runner | None = None, pipeline: Any = None,
) -> WhatIf:  # fmt: skip
    """Return how many documents and bytes a run would keep without one of its stages, or with other parameters of it.

    >>> dp.tools.what_if("work/clean", "C4")                                          # doctest: +SKIP
    >>> dp.tools.what_if("work/clean", "Gopher", {"min_words": None})                 # doctest: +SKIP

    Nothing is written. A random sample of the documents passes through the stage and the later stages of its pass
    twice, as in the run and with the change. Intervals are 95 % intervals: Wilson's for numbers of documents, and a
    bootstrap over documents for text.

    Args:
        folder: the folder of a run.
        stage: the stage, as named in the statistics; if several Datasets of the run have it, behind the name of the
            Dataset's folder and a slash.
        change: the parameters to change, by name; None: the stage is left out.
        sample: the approximate number of documents to read, chosen by a hash of their ids; None: all, so that the
            numbers are exact.
        runner: the Runner of the work; None: `dp.tools.Serial()`.
        pipeline: if the run has functions of yours, which its folder does not contain: its Pipeline, or the path of its
            pipeline file.

    Raises PlanError if a sample cannot answer, since the stage reads all documents before it decides, or joins
    documents; if a stage of the pass cannot be run again; or if a parameter is invalid. Raises ReadError if the input
    is missing, has changed, or is hidden by a stage.
    """
    at = stage_named(folder.rstrip("/") or "/", stage)
    known = known_stages(at.final.url, pipeline)
    require(not at.is_estimator, f"{stage} reads all documents before it decides, so a sample cannot show what another "
            "setting would do: a sample has far fewer duplicates than the corpus; use `dataprep threshold` (MinHash), "
            "or run the Pipeline with the change and compare the two results with `dataprep diff`")  # fmt: skip
    require(sample is None or sample > 0, f"sample={sample!r} must be a number of documents above 0, or None")
    share = 1.0 if sample is None else min(1.0, sample / max(1, at.stats.docs_in))
    own, parts = at.made(known), at.parts(known, share)
    after = at.following(known)
    check_single((own, *after))
    task = RerunPart((own, *after), _changed(at, own, after, change))
    tables = list(runner_of(runner).map(task, parts, f"what if: {stage}"))
    rows = pa.concat_tables([ROWS.empty_table(), *tables]).sort_by("id")
    _check(at, rows)
    return _compared(at, change, rows, share)


def _changed(at: RunStage, own: Stage, after: Sequence[Stage], change: Mapping[str, Any] | None) -> tuple[Stage, ...]:
    """Return the stages with the change. Raises PlanError if one of them would lack a column."""
    if change is not None:
        require(change, f"change={dict(change)!r} must name a parameter of {at.name}; None leaves the stage out")
        try:
            return (with_parameters(own, change), *after)
        except (TypeError, ValueError) as e:
            msg = f"change={dict(change)!r}: {at.name} does not accept it ({e})"
            raise PlanError(msg) from e
    for one in after:
        lacking = [name for name in one.needs if name in own.adds]
        require(not lacking, f"{one.name} needs the column {', '.join(lacking)}, which {at.name} adds; change a "
                "parameter instead of leaving the stage out")  # fmt: skip
    return tuple(after)


@dataclass(frozen=True)
class RerunPart:
    """Task that passes the documents of a part through two lists of stages.

    Attributes:
        run: the stages as in the run.
        other: the stages with the change.
    """

    run: tuple[Stage, ...]
    other: tuple[Stage, ...]

    def __call__(self, part: Part) -> pa.Table:
        """Return a row of ROWS per document: the bytes of its text after each list of stages, null if dropped."""
        tables = [ROWS.empty_table()]
        for batch in part.batches():
            sizes = [self._sizes(stages, batch, part) for stages in (self.run, self.other)]
            columns = [batch.column("id"), batch.column("source").cast(pa.string()), *sizes]
            tables.append(pa.table(columns, schema=ROWS))
        return pa.concat_tables(tables)

    def _sizes(self, stages: Sequence[Stage], batch: B.Batch, part: Part) -> pa.Array:
        found = np.full(batch.num_rows, -1, np.int64)
        for out in blame.applied(stages, iter([batch]), (), part.slices):
            at, is_there = B.find_sorted(B.ids(batch), B.ids(out))
            found[at[is_there]] = B.lengths(out)[is_there]
        return pa.array(found, mask=found < 0)


def _check(at: RunStage, rows: pa.Table) -> None:
    """Raise PlanError if the documents that are dropped as in the run are not those that the run dropped."""
    labels = [one.name for one in at.own]
    after = pa.array(labels[labels.index(at.label) :])
    drops = [batch.filter(pc.is_in(batch.column("stage").cast(pa.string()), after)).column("id")
             for batch in read_tables(at.home.url, DROPS)]  # fmt: skip
    ids = B.union(one.to_numpy() for one in drops)
    wanted = np.intersect1d(ids, rows["id"].to_numpy())
    found = rows.filter(pc.is_null(rows["run"]))["id"].to_numpy()
    require(np.array_equal(found, wanted), f"{at.name} or a later stage now decides otherwise than in the run: "
            "dataprep, a model or an input file has changed; run the Pipeline again with replace=True")  # fmt: skip


def _compared(at: RunStage, change: Mapping[str, Any] | None, rows: pa.Table, share: float) -> WhatIf:
    ids, n = rows["id"].to_numpy() + np.uint64(at.final.shift), len(rows)
    kept, other = (pc.is_valid(rows[name]).to_numpy() for name in ("run", "other"))
    back, new = other & ~kept, kept & ~other
    sources = rows["source"]
    every, *some = (Counter(sources.filter(pa.array(one)).to_pylist()) for one in (np.ones(n, bool), back, new))
    counts = {name: (total, some[0][name], some[1][name]) for name, total in every.items() if name is not None}
    total = n if share == 1 else at.stats.docs_in
    return WhatIf(
        at.name, change, total, n, int(kept.sum()), _documents(int(back.sum()), n, total),
        _documents(int(new.sum()), n, total), _text(rows, exact=share == 1),
        dict(sorted(counts.items(), key=lambda item: (-sum(item[1][1:]), item[0]))),
        (_some(ids[back]), _some(ids[new])), at.later,
    )  # fmt: skip


def _documents(k: int, n: int, total: int) -> Estimated:
    """Return the number of documents of a run, `total`, of which `k` of `n` in a sample are an example."""
    if n == total:
        return Estimated(k, k, k)
    share = k / n if n else 0.0
    return Estimated(total * share, *(total * edge for edge in wilson(share, n)))


def _some(ids: Ids) -> list[int]:
    from dataprep.store.ranks import mix

    return [int(one) for one in ids[np.argsort(mix(ids, 0), kind="stable")[:EXAMPLES]]]


def _text(rows: pa.Table, *, exact: bool) -> Estimated | None:
    """Return the ratio of the bytes with the change to those as in the run."""
    run, other = (pc.fill_null(rows[name], 0).to_numpy().astype(np.float64) for name in ("run", "other"))
    if not run.sum():
        return None
    ratio = float(other.sum() / run.sum())
    if exact:
        return Estimated(ratio, ratio, ratio)
    if np.count_nonzero(run != other) < LEAST_CHANGED:
        return None
    return Estimated(ratio, *_bootstrap(other, run))


def _bootstrap(above: npt.NDArray[np.float64], below: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % percentile interval of sum(above) / sum(below), of documents drawn again with Poisson weights."""
    draw = np.random.default_rng(0)
    if len(above) > GROUPS:
        first = np.arange(0, len(above), -(-len(above) // GROUPS))
        order = draw.permutation(len(above))
        above, below = np.add.reduceat(above[order], first), np.add.reduceat(below[order], first)
    weights = (draw.poisson(1.0, len(above)).astype(np.float64) for _ in range(RESAMPLES))
    sums = np.array([(one @ above, one @ below) for one in weights])
    ratios = sums[sums[:, 1] > 0]
    low, high = np.quantile(ratios[:, 0] / ratios[:, 1], (0.025, 0.975))
    return float(low), float(high)


def parameter_of(text: str) -> tuple[str, Any]:
    """Return the name and the value that "NAME=VALUE" states; a value that is not a Python literal is a text.

    Raises PlanError for any other text.
    """
    name, equals, value = text.partition("=")
    require(equals and name.isidentifier(), f"{text!r} must be NAME=VALUE, such as min_words=80 or min_words=None")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, value


def shown_change(change: Mapping[str, Any] | None) -> str:
    """Return a change as text: "without it", or "with min_words=80"."""
    if change is None:
        return "without it"
    return f"with {', '.join(f'{name}={value!r}' for name, value in change.items())}"


def sentences(found: WhatIf) -> list[str]:
    """Return a result as sentences in plain English."""
    is_all = found.sample == found.documents
    read = counted(found.documents, "document")
    lines = [f"{found.stage} {shown_change(found.change)}: {'all' if is_all else f'{found.sample:,} of'} {read} read"]
    for one, singular, plural in (
        (found.back, "document comes back", "documents come back"),
        (found.new, "document is newly dropped", "documents are newly dropped"),
    ):
        lines.append(f"{_number(one)} {singular if _number(one) == '1' else plural}")
    if found.text is not None:
        lines.append(f"the kept text is {_percent(found.text)} of that of the run")
    elif not is_all:
        lines.append("too few documents of the sample change for an estimate of the text")
    if found.later:
        lines.append(f"not run again: {', '.join(found.later)}")
    return lines


def _number(one: Estimated) -> str:
    return f"{one.value:,.0f}" if one.low == one.high else f"{one.value:,.0f} ({one.low:,.0f} to {one.high:,.0f})"


def _percent(one: Estimated) -> str:
    return f"{one.value:.2%}" if one.low == one.high else f"{one.value:.2%} ({one.low:.2%} to {one.high:.2%})"
