"""Pipeline: a list of stages, run in as few passes as possible; the result is a folder, opened as a Dataset.

Consecutive Stages are run in one pass. Before an Estimator, pending stages are run and the text is saved, but only if
one of them changes or reads text. Drops and cuts of earlier Estimators are applied while reading. Exact, MinHash and
SuffixArray in a row therefore read the same saved copy of the text. Every task writes a receipt of its work, so a
killed run resumes and writes the same bytes. `run` plans, executes and commits.
"""

from __future__ import annotations

from dataclasses import is_dataclass

from dataprep.errors import PlanError, require

from .model.dataset import Dataset, open_dataset
from .model.estimator import Estimator
from .model.stage import Stage
from .output.commit import Output
from .run.context import context_of
from .run.execute import execute
from .run.kept import keep_dropped as save_dropped
from .run.plan import Plan
from .run.runner import Runner
from .run.workers import guard

CODECS = ("zstd", "lz4", "none")
LAYOUTS = ("copy", "view")


class Pipeline:
    """A list of Stages and Estimators; `run` applies them to a Dataset and saves the result in a folder.

    Args:
        stages: the Stages and Estimators, in the order in which they are applied. A Pipeline without stages copies its
            input.
        codec: the compression of the result's Parquet files: "zstd"; "lz4", which is slightly faster but makes larger
            files; or "none". The documents are the same, but `run` treats a result with another codec as a different
            result.
        layout: "copy" saves the documents. "view" saves only their ids, and columns that stages added: their texts are
            read from the input, which must remain unchanged (`dp.tools.materialize` makes it a copy). PlanError is
            raised if a stage changes texts or hides the input.

    >>> clean = Pipeline(C4(), Exact(), MinHash()).run(docs, out="work/clean")    # doctest: +SKIP
    """

    def __init__(self, *stages: Stage | Estimator, codec: str = "zstd", layout: str = "copy") -> None:
        require(codec in CODECS, f"codec={codec!r} must be one of {', '.join(map(repr, CODECS))}")
        require(layout in LAYOUTS, f"layout={layout!r} must be one of {', '.join(map(repr, LAYOUTS))}")
        require(layout == LAYOUTS[0] or codec == CODECS[0], f"codec={codec!r} has no effect on a view; leave it out")
        for stage in stages:
            if not isinstance(stage, (Stage, Estimator)):
                msg = f"{stage!r} is not a stage; pass stages such as dp.C4(), or wrap a function: dp.Filter(fn)"
                raise PlanError(msg)
            if is_dataclass(stage) and not type(stage).__dataclass_params__.frozen:
                msg = f"{type(stage).__name__} must be frozen, since workers get copies; write @dataclass(frozen=True)"
                raise PlanError(msg)
        self.stages, self.codec, self.layout = stages, codec, layout

    def __repr__(self) -> str:
        codec = [] if self.codec == CODECS[0] else [f"codec={self.codec!r}"]
        layout = [] if self.layout == LAYOUTS[0] else [f"layout={self.layout!r}"]
        return f"Pipeline({', '.join([*map(repr, self.stages), *codec, *layout])})"

    def plan(self, docs: Dataset, out: str, runner: Runner | None = None) -> Plan:
        """Return what `run` would do with the same arguments; nothing is written. Raises PlanError as `run` does."""
        codec = self.layout if self.layout != LAYOUTS[0] else None if self.codec == CODECS[0] else self.codec
        return Plan.of(docs, self.stages, out, context_of(runner), codec)

    def run(
        self, docs: Dataset, out: str, runner: Runner | None = None, *, replace: bool = False,
        keep_dropped: bool = False,
    ) -> Dataset:  # fmt: skip
        """Apply the stages to `docs`, save the result in the folder `out`, and return it as a Dataset.

        A finished result of the same stages and input is opened without further work, and an unfinished one is resumed.

        Args:
            docs: the documents.
            out: the folder of the result.
            runner: the Runner, which decides how many tasks run in parallel; None: `Serial()`.
            replace: whether to replace a result in `out` that was made by other stages or from other input; steps that
                have not changed are reused. If False, such a result raises StaleOutput. The old result is kept until
                the new one is complete.
            keep_dropped: whether to also save the dropped documents, which requires reading the input once more;
                `dropped()`, `dataprep why` and the report can then show them even if the input has moved.

        Raises PlanError if `keep_dropped` is True and a stage hides the input.
        """
        guard()
        context = context_of(runner)
        plan = self.plan(docs, out, context)
        if keep_dropped:
            plan.check_hides_nothing()
        with Output(plan.out, open_dataset).begin(plan.wanted, replace=replace) as work:
            if work.result is None:
                execute(plan, work, context)
        if keep_dropped and context.trial is None:
            save_dropped(work.finished, self.stages, context)
        return work.finished
