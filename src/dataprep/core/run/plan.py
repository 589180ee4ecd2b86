"""Plan: the work that a Pipeline will do on a Dataset; it is frozen, and creating it writes nothing."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dataprep.errors import PlanError, redacted, require
from dataprep.store import files
from dataprep.store.key import key

from ..inputs.origin import origin_of
from ..inputs.sources import sources_in, sources_of, warn_of_absent
from ..model import batch as B
from ..model.dataset import Dataset, check_dataset, open_dataset
from ..model.describe import describe, labels_of
from ..model.estimator import Estimator
from ..model.function import Filter
from ..model.part import Part, Sealed
from ..model.reader import recorded
from ..model.stage import Stage, n_hidden
from ..model.stats import Stats
from ..model.view import VIEW, statement
from ..output import forget_list
from ..output.commit import Output, Wanted
from ..output.layout import (
    DATASET_FILES,
    FORGET_LIST,
    MANIFEST,
    STEPS,
    Folder,
    folder_url,
    home_of,
    is_hidden,
    is_same_estimator,
    step_name,
)
from ..output.state import DATASET, Recipe
from .context import Context, place_of

log = logging.getLogger("dataprep")
PART = re.compile(r"/part-(\d+)-[^/]*$")  # at the end of the path of a shard


@dataclass(frozen=True)
class PlannedStage:
    """One stage of a Pipeline, numbered from 1.

    Attributes:
        key: a hash of the input and of all stages up to this one.
        label: the stage's name in statistics.
        folder: the folder of an Estimator's work.
        forgotten: see `Recipe`.
    """

    number: int
    stage: Stage | Estimator
    key: str
    label: str
    folder: Folder
    forgotten: str | None

    @property
    def name(self) -> str:
        """The name of the folder inside OUT/steps: number, label and beginning of the key, joined by hyphens."""
        return self.folder.name

    @property
    def saved(self) -> str:
        """The folder of the saved input of an Estimator, relative to the output folder."""
        return f"{STEPS}/{self.name}/{self.folder.input.name}"

    @property
    def output(self) -> Output[Dataset]:
        """The saved input of an Estimator; parts that the same Estimator saved in earlier runs are reused."""
        home = Folder(self.folder.url.rpartition(f"/{STEPS}/")[0])
        same = (step for step in home.steps if is_same_estimator(step.name, self.name) and step.name != self.name)
        return Output(self.folder.input.url, open_dataset, nested=True, also=[step.input for step in same])

    def wanted(self, docs: Dataset) -> Wanted:
        """Return the desired content of an Estimator's saved input: `docs`, with all stages applied."""
        described = [describe(stage, label) for stage, label in zip(docs.stages, docs.stage_names, strict=True)]
        parts, noted = len(docs.parts), self.forgotten
        return Wanted(Recipe(kind=DATASET, key=self.key, stages=described, forgotten=noted, parts=parts))


@dataclass(frozen=True)
class Plan:
    """The work that a Pipeline will do.

    Attributes:
        docs: the input; forgotten documents are dropped right after reading.
        steps: the stages, with their keys and labels.
        out: the output folder.
        wanted: the result that the folder is to contain.
        sources: the sources of the documents; None if they are not known yet.
    """

    docs: Dataset
    steps: tuple[PlannedStage, ...]
    out: str
    wanted: Wanted
    sources: set[str] | None

    @classmethod
    def of(
        cls, docs: Dataset, stages: Sequence[Stage | Estimator], out: str, context: Context, codec: str | None = None
    ) -> Plan:
        """Return the plan to apply `stages` to `docs`; in a trial, to a sample of them.

        - codec: the compression of the result, as in `Recipe`.

        Raises PlanError if `out` holds input, if a stage needs a column that does not exist, if a stage must see data
        that an earlier stage has lost, or if the result cannot be a view.
        """
        out = place_of(folder_url(out), context)
        check_dataset(docs)
        for given in (docs, *stages):
            given.check_here()
        if codec == VIEW:
            _check_view(docs, stages, hides=hides_input(docs))
        docs = docs if context.trial is None else context.trial.sample(docs)
        docs.hashes.load(out)
        check_apart(docs, out, [url for stage in stages for url in getattr(stage, "reads_folders", ())])
        _check_columns(docs, stages)
        lost = lost_by(docs, stages)
        if (sources := sources_of(docs)) is not None:
            warn_of_absent(stages, sources)
        inputs = frozenset(shards_of_datasets(docs))
        forgotten = forget_list.wanted(inputs, out)
        noted = forget_list.digest(forgotten)
        steps = _steps(docs.key, stages, out, noted)
        recipe = Recipe(
            kind=DATASET, key=steps[-1].key if steps else docs.key, forgotten=noted, lost=lost, parts=len(docs.parts),
            stages=[describe(step.stage, step.label) for step in steps], codec=codec,
        )  # fmt: skip
        hidden = n_hidden(stages)
        private = docs.hides or hidden > 0
        wanted = Wanted(
            recipe=recipe,
            origin=None if private else origin_of(docs, stages),
            forgotten=forgotten,
            inputs=inputs,
            private=private or hides_input(docs),
            steps=frozenset(step.name for step in steps[hidden:]),
        )
        if len(forgotten):
            listed = files.join(out, FORGET_LIST)
            docs = docs.of(replace(part, forgotten=listed) for part in docs.parts)
        return cls(docs, steps, out, wanted, sources)

    def check_hides_nothing(self) -> None:
        """Raise PlanError if a stage hides the input, since dropped documents must then not be saved."""
        hiding = [step.stage.name for step in self.steps if getattr(step.stage, "hides", False)]
        if self.wanted.private:
            msg = f"keep_dropped=True would keep what {(*hiding, 'a stage that made the input')[0]} hides; leave it out"
            raise PlanError(msg)

    def prepare(self, context: Context) -> None:
        """Save the hashes of the input files for later runs; prepare the Runner; compile kernels for many workers."""
        self.docs.hashes.save(self.out, self.docs.fingerprints)
        context.prepare(self.docs.part_urls, self.out)
        if context.workers == 1:
            return
        for reader in dict.fromkeys(part.reader for part in self.docs.parts):
            reader.warm()
        for stage in (*self.docs.stages, *(step.stage for step in self.steps)):
            stage.warm()

    def laid_out(self, docs: Dataset, *, saved: bool) -> Dataset:
        """Return the documents to seal, with what a view must state about its input, if the result is to be one.

        - saved: whether `docs` is the saved input of an Estimator.
        """
        stages = [step.stage for step in self.steps]
        return _as_view(docs, self.docs, stages, saved=saved) if self.wanted.recipe.codec == VIEW else docs

    def warn(self, stats: Stats) -> None:
        """Log warnings about the statistics of the result, and about sources that a stage names but no document has."""
        for alarm in stats.alarms():
            log.warning(alarm)
        if self.sources is None and (known := sources_in(Stats(stats.stages[:1]))) is not None:
            warn_of_absent([step.stage for step in self.steps], known)


def _steps(so_far: str, stages: Sequence[Stage | Estimator], out: str, noted: str | None) -> tuple[PlannedStage, ...]:
    steps = []
    for number, (stage, label) in enumerate(zip(stages, labels_of(stages), strict=True), 1):
        so_far = key((so_far, stage))
        name = step_name(number, re.sub(r"\W+", "-", label).strip("-"), key((so_far, noted)) if noted else so_far)
        steps.append(PlannedStage(number, stage, so_far, label, Folder(files.join(out, STEPS, name)), noted))
    return tuple(steps)


def shards_of_datasets(docs: Dataset) -> set[tuple[str, int]]:
    """Return the folders of the input Datasets, and the number that is added to the file numbers of each."""
    pieces = (piece for part in docs.parts if isinstance(part.reader, Sealed) for piece in part.slices)
    return {(home.url, piece.file) for piece in pieces if (home := home_of(piece.url)) is not None}


def hides_input(docs: Dataset) -> bool:
    """Return whether a stage hides the input: a stage of `docs`, or of a pipeline that made one of its Datasets."""
    return docs.hides or any(is_hidden(Folder(url)) for url, _ in shards_of_datasets(docs))


def check_apart(docs: Dataset, out: str, read: Iterable[str] = ()) -> None:
    """Raise PlanError if the folder `out` contains input files, or if the next run would read files in `out` as input.

    - read: the folders of Datasets that stages read.
    """
    home = files.real(out)
    for url in read:
        if any(files.is_inside(Folder(url).path(MANIFEST), files.join(home, name)) for name in DATASET_FILES):
            msg = f"{out} is or holds the Dataset {url}, which a stage reads; choose another folder as out"
            raise PlanError(msg)
    for piece in (piece for part in docs.parts for piece in part.slices):
        if files.is_inside(piece.url, out):
            msg = f"{out} holds the input {piece.url}; choose another folder as out"
            raise PlanError(msg)
        at = home_of(piece.url)
        if at is not None and any(files.is_inside(out, at.path(name)) for name in DATASET_FILES):
            msg = f"{out} is inside the input {at.url}, next to its files; choose another folder as out"
            raise PlanError(msg)
    for listed in dict.fromkeys(piece.listed for part in docs.parts for piece in part.slices if piece.listed):
        if any(files.would_list(listed, files.join(home, name)) for name in (MANIFEST, "data/part-00000-000.parquet")):
            msg = f"{out} is inside the input {listed}, and the next run would read it; choose a folder outside as out"
            raise PlanError(msg)


def _check_columns(docs: Dataset, stages: Sequence[Any]) -> None:
    columns = list(docs.columns)
    decided = None
    for stage in stages:
        missing = [c for c in getattr(stage, "needs", ()) if c not in columns]
        if missing:
            msg = (
                f"{stage.name} needs the column {', '.join(missing)}, which neither the input nor an earlier "
                f"stage has (available: {', '.join(columns)}); to make it from a field of the input's metadata, use "
                f"dp.read(..., columns={missing}); the parameters of a function are named after columns"
            )
            raise PlanError(msg)
        if not isinstance(stage, Stage) and (twice := [name for name in stage.adds if name in columns]):
            msg = f"{stage.name} adds {', '.join(twice)}, which already exists; set annotate='another_'"
            raise PlanError(msg)
        columns += stage.adds
        if isinstance(stage, Stage):
            if decided and isinstance(stage, Filter):
                danger = "filters after %s and may drop the only remaining copy of a document; put it before"
                log.warning(f"%s {danger}", stage.name, decided)  # noqa: G004 - a constant
        elif not stage.adds:
            decided = stage.name


def lost_by(docs: Dataset, stages: Sequence[Any]) -> dict[str, list[str]]:
    """Return the data that later stages see only in part: {data: [the first stage that loses it, the remedy]}.

    The pipelines that made the folder of `docs` count, too. Raises PlanError if one of `stages` must see this data.
    """
    lost: dict[str, list[str]] = {} if docs.manifest is None else dict(docs.manifest.lost)
    applied = {id(stage): stage for part in docs.parts for stage in part.stages}
    for number, stage in enumerate((*applied.values(), *stages)):
        missed = [what for what in stage.sees if what in lost]
        if missed and number >= len(applied):
            earlier, way_out = lost[missed[0]]
            way_out = way_out or f"put {stage.name} before {earlier}"
            msg = f"{stage.name} after {earlier} would not see all {missed[0]}; {way_out}"
            raise PlanError(msg)
        for what, way_out in stage.loses.items():
            lost.setdefault(what, [stage.name, way_out])
    return lost


def _check_view(docs: Dataset, stages: Sequence[Any], *, hides: bool) -> None:
    """Raise PlanError if the documents that `stages` leave of `docs` cannot be a view of its input.

    - hides: whether a stage of `docs`, or of a pipeline that made its Datasets, hides the input.
    """
    says = "layout='view' keeps the texts in the input only"
    every = (*docs.stages, *stages)
    hiding = [stage.name for stage in every if stage.hides]
    require(not hides and not hiding, f"{says}, and {(*hiding, 'a stage that made it')[0]} hides the input; leave "
            "layout= out")  # fmt: skip
    changing = [stage.name for stage in every if not stage.only_drops]
    require(not changing, f"{says}, and {', '.join(changing[:1])} changes texts; leave layout= out")
    for part in docs.parts:
        require(recorded(part.reader) is not None, f"{says}, and a reader of your own reads {part}; leave layout= out")
        for piece in part.slices:
            is_table = piece.fingerprint and not isinstance(part.reader, Sealed)
            require(not is_table, f"{says}, and a table in memory has no file; leave layout= out")
            shown = redacted(piece.url)
            what = f"{shown} is a URL with a password, which is not stored"
            require(shown == piece.url, f"{says}, and {what}; leave layout= out")


def _as_view(docs: Dataset, given: Dataset, stages: Sequence[Any], *, saved: bool) -> Dataset:
    """Return `docs` with parts whose shards become views of the input `given`.

    - docs: the documents to seal: the input, or the saved input of an Estimator.
    - stages: the stages of the Pipeline.
    - saved: whether it is a saved input, whose shards have the numbers of the parts of `given` in their names.
    """
    added = {name for stage in (*given.stages, *stages) for name in stage.adds} | {"id"}
    prints = given.fingerprints

    def viewed(part: Part) -> Part:
        number = PART.search(part.slices[0].url) if saved else None
        of = part if number is None else given.parts[int(number[1])]
        slices = [replace(piece, fingerprint=prints[piece.url]) for piece in of.slices]
        return replace(part, view=statement(slices, {*B.FIXED, *of.reader.adds} - added))

    return docs.of(map(viewed, docs.parts))
