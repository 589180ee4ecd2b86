"""Pipeline: a list of stages, joined into as few passes as possible, and sealed as a Dataset.

Consecutive Stages are one pass. Before an Estimator, pending stages are applied and the text is saved, but only if one
of them changes or reads text. Drops and cuts of earlier Estimators are applied while reading, so Exact -> MinHash ->
SuffixArray reads one saved text. Every task writes a receipt of its work, so a killed run resumes and writes the same
bytes.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from dataprep.errors import CorruptShard, PlanError, ReadError, StaleOutput
from dataprep.store import files, hashes, lease
from dataprep.store.key import key

from . import forget_list, inputs, owned
from .audit import CELL, Search, Strings, audit, json_strings
from .batch import Ids
from .dataset import Dataset, open_dataset
from .estimator import Estimator
from .folder import (
    DATASET,
    DATASET_FILES,
    FORGET_LIST,
    MANIFEST,
    PART_FILES,
    RECEIPTS,
    RECIPE,
    REPORT,
    STEPS,
    UNREAD,
    Folder,
    home_of,
    part_name,
)  # fmt: skip
from .restored import only_unread_changed
from .runner import Runner, Serial, guard
from .seal import Seal, docs_read, listed_rows, manifest, unread_rows
from .stage import Filter, Stage, describe, labels_of, n_hidden, spelled, stated
from .stats import Stats
from .trial import current
from .unread import Unread, check_unread, rows_of, unread_of, without_names, write_unread
from .verdict import Verdict

log = logging.getLogger("dataprep")


@dataclass(frozen=True)
class Step:
    """One stage of a Pipeline, numbered from 1.

    key: a hash of the input and of all stages up to this one. label: the stage's name in statistics.
    """

    number: int
    stage: Stage | Estimator
    key: str
    label: str

    @property
    def name(self) -> str:
        """The name of the stage's folder inside OUT/steps: number, label and start of the key, joined by hyphens."""
        label = re.sub(r"\W+", "-", self.label).strip("-")
        return f"{self.number:02d}-{label}-{self.key[:8]}"


class Pipeline:
    """A list of Stages and Estimators; `run` applies them to a Dataset and saves the result in a folder.

    >>> clean = Pipeline(C4(), Exact(), MinHash()).run(docs, out="work/clean")    # doctest: +SKIP

    A Pipeline without stages copies its input.
    """

    def __init__(self, *stages: Stage | Estimator) -> None:
        for stage in stages:
            if not isinstance(stage, (Stage, Estimator)):
                msg = f"{stage!r} is not a stage; give stages such as dp.C4(), or wrap a function: dp.Filter(fn)"
                raise PlanError(msg)
        self.stages = stages

    def __repr__(self) -> str:
        return f"Pipeline({', '.join(map(repr, self.stages))})"

    def steps(self, docs: Dataset) -> list[Step]:
        """Return the stages with their numbers, keys and labels, for the input `docs`; nothing is run.

        Raises PlanError if a stage needs a column that does not exist.
        """
        self._check_columns(docs)
        steps: list[Step] = []
        so_far = docs.key
        for number, (stage, label) in enumerate(zip(self.stages, labels_of(self.stages), strict=True), 1):
            so_far = key((so_far, stage))
            steps.append(Step(number, stage, so_far, label))
        return steps

    def run(self, docs: Dataset, out: str, run: Runner | None = None, *, replace: bool = False) -> Dataset:
        """Apply the stages to `docs`, save the result in the folder `out`, and return it as a Dataset.

        A finished result of the same stages and input is only opened, and an unfinished one is continued. run: the
        Runner, which decides how many tasks run at once; None: `Serial()`. replace: make the result again, except for
        steps that did not change, if `out` was made by other stages or from other input. Without it, StaleOutput is
        raised.
        """
        guard()
        out = str(out).rstrip("/")
        runner: Runner = run if run is not None else Serial()
        trial = current()
        docs = trial.sample(docs) if trial else docs
        _check_apart(docs, out)
        hashes.load(out)
        steps = self.steps(docs)
        forgotten = forget_list.wanted(docs, out)
        recipe = {
            "kind": DATASET,
            "key": steps[-1].key if steps else docs.key,
            "stages": [describe(step.stage, step.label) for step in steps],
            **forget_list.noted(forgotten),
        }
        with contextlib.nullcontext() if _is_finished(out, recipe) else lease.held(out):
            return self._run(docs, steps, recipe, out, runner, forgotten, replace=replace)

    def _run(
        self, docs: Dataset, steps: list[Step], recipe: dict[str, Any], out: str, runner: Runner, forgotten: Ids,
        *, replace: bool,
    ) -> Dataset:  # fmt: skip
        if not replace and _is_restored(docs, out, recipe, self.stages):
            owned.remove(out, [MANIFEST, REPORT, UNREAD])
            files.write_json(Folder(out).path(RECIPE), recipe)
        sealed = _claim(out, recipe, replace=replace, journal=True)
        hashes.save(out, docs.fingerprints)
        if sealed is not None:
            _remove_hidden(out, docs, steps)
            return sealed
        docs = forget_list.without(docs, out, forgotten)
        if runner.workers > 1:
            for stage in (*dict.fromkeys(part.reader for part in docs.parts), *docs.stages, *self.stages):
                stage.warm()
        return self._seal(docs, steps, recipe, out, runner)

    def _seal(self, docs: Dataset, steps: list[Step], recipe: dict[str, Any], out: str, run: Runner) -> Dataset:
        earlier: list[Stats] = []
        unread: list[Unread] = []  # by the passes that saved the input of an Estimator
        saved: list[str] = []
        fits: list[dict[str, Any]] = []  # the facts of each Estimator
        inputs.write(docs, out, self.stages)
        current = docs
        audits = [search for stage in (*docs.stages, *self.stages) if (search := _secrets(stage)) is not None]
        for step in steps:
            stage = step.stage
            if isinstance(stage, Stage):
                current = current.then(stage, labels=[step.label])
                continue
            folder = Folder(files.join(out, STEPS, step.name))
            if not all(isinstance(s, Verdict) for s in current.stages):
                current = self._save(current, folder, run, recipe)
                earlier.append(current.stats)
                unread += rows_of(current.unread())
                saved.append(f"{STEPS}/{step.name}/{folder.input.name}")
            verdict = stage.fit(current, run, folder.url)
            if not isinstance(verdict, Stage):
                msg = f"{type(stage).__name__}.fit returned {verdict!r}; it must return the Stage to apply"
                raise PlanError(msg)
            if run.workers > 1:
                verdict.warm()
            if (search := verdict.secrets()) is not None:
                audits.append(search)
            if verdict.hides:
                earlier, saved = [stats.hidden() for stats in earlier], []
                unread = without_names(unread)
            fits.append({**stated(getattr(verdict, "facts", {})), "stage": step.label})
            current = current.then(verdict, labels=[step.label])
        recipe |= {"saved": saved, "fits": fits}
        final = seal(
            current, out, run, "zstd", recipe, earlier=earlier, unread=unread, label="write", audits=audits,
            hidden=[files.join(STEPS, name) for name in _hidden_steps(out, docs, steps)],
        )  # fmt: skip
        for alarm in final.stats.alarms():
            log.warning(alarm)
        _remove_hidden(out, docs, steps)
        return final

    def _save(self, current: Dataset, step: Folder, run: Runner, of: dict[str, Any]) -> Dataset:
        """Apply the pending stages and save the result, which an Estimator reads more than once."""
        out = step.input.url
        names = current.parts[0].stage_names if current.parts else ()
        stages = [describe(stage, name) for stage, name in zip(current.stages, names, strict=True)]
        recipe = {"kind": DATASET, "key": current.key, "stages": stages}
        recipe |= {"forgotten": of["forgotten"]} if "forgotten" in of else {}
        return _claim(out, recipe, replace=True) or seal(
            current, out, run, "lz4", recipe, earlier=[], label=" ".join(names)
        )

    def _check_columns(self, docs: Dataset) -> None:
        columns = list(docs.columns)
        decided = None
        for stage in self.stages:
            missing = [c for c in getattr(stage, "needs", ()) if c not in columns]
            if missing:
                msg = (
                    f"{stage.name} needs the column {', '.join(missing)}, which neither the input nor an earlier "
                    f"stage has (there are {', '.join(columns)}); to make it from a field of the input's metadata, use "
                    f"dp.read(..., columns={missing})"
                )
                raise PlanError(msg)
            if isinstance(stage, Stage):
                columns += stage.adds
                if decided and isinstance(stage, Filter):
                    danger = "filters after %s and may drop the only copy left of a document; put it before"
                    log.warning(f"%s {danger}", stage.name, decided)  # noqa: G004 - a constant
            else:
                decided = stage.name


def _remove_hidden(out: str, docs: Dataset, steps: Sequence[Step]) -> None:
    """Remove the saved steps that a stage hides, those of killed runs and earlier recipes included."""
    owned.remove(out, [files.join(STEPS, name) for name in _hidden_steps(out, docs, steps)])


def _hidden_steps(out: str, docs: Dataset, steps: Sequence[Step]) -> list[str]:
    n = n_hidden([step.stage for step in steps])
    if not n and not n_hidden(docs.stages):
        return []
    kept = {step.name for step in steps[n:]}
    return [name for name in files.listdir(files.join(out, STEPS)) if name not in kept]


def _secrets(stage: Stage | Estimator) -> Search | None:
    return stage.secrets() if isinstance(stage, Stage) else None


def seal(
    docs: Dataset, out: str, run: Runner, codec: str, recipe: dict[str, Any], *, earlier: Sequence[Stats], label: str,
    unread: Sequence[Unread] = (), audits: Sequence[Search] = (), hidden: Sequence[str] = (),
) -> Dataset:  # fmt: skip
    """Write the documents of `docs`, their tables and receipts and, last, the manifest into `out`; return the Dataset.

    run: the Runner. codec: Parquet compression, lz4 for saved steps, zstd for results. recipe: input and stages, for
    the manifest. label: title of the progress bar. earlier, unread: statistics and unread files of the passes before.
    audits: searches for private strings in the folder. hidden: paths that the audits skip, since they are deleted
    afterwards.

    Raises Leak, before the manifest is written, if an audit finds a private string that may not stay.
    """
    trial = current()
    task = Seal(out, codec, trial.ledgers) if trial else Seal(out, codec)
    receipts: list[dict[str, Any]] = []
    rows: list[Unread] = []
    listed = listed_rows(docs, unread)
    try:
        for receipt in run.map(task, docs.tasks, label):
            receipts.append(receipt)
            rows += unread_rows(receipt)
            check_unread(rows, docs.max_bad_files)
        check_unread(rows, docs.max_bad_files, sum(map(docs_read, receipts)) if rows else None)
    except ReadError as e:
        if e.path is not None and not n_hidden(docs.stages):
            write_unread(out, [*listed, *rows, unread_of(e, e.path)])
        raise
    if len(receipts) != len(docs.parts):
        msg = f"{run!r} returned {len(receipts)} results of {len(docs.parts)} tasks; map must yield one result per item"
        raise PlanError(msg)
    files.sweep(out)
    _remove_parts_of_others(out, receipts)
    stated = write_unread(out, [*listed, *rows])
    record = manifest(docs, recipe, receipts, earlier) | stated
    for search in () if trial else audits:
        written = Strings(MANIFEST, CELL, list(json_strings(orjson.dumps(record))))
        left = audit(out, search, run, also=[written], skip=hidden)
        if left:
            log.warning("%d names that are also common words are left in %s: see docs/chats-safety.md", len(left), out)
    files.write_json(Folder(out).path(MANIFEST), record)
    owned.settle(out)
    return open_dataset(out)


def _remove_parts_of_others(out: str, receipts: Sequence[dict[str, Any]]) -> None:
    """Remove shards and tables that no receipt names: of another recipe, in a folder whose own recipe was lost."""
    named = {file["name"].removeprefix("../") for receipt in receipts for file in receipt["files"]}
    named |= {files.join(RECEIPTS, f"{part_name(number)}.json") for number in range(len(receipts))}
    stored = {files.join(kind, name) for kind in PART_FILES for name in files.listdir(files.join(out, kind))}
    if stored - named:
        owned.remove(out, stored - named)


def _is_finished(out: str, recipe: dict[str, Any]) -> bool:
    """Return whether `out` has a manifest of this recipe, so that nothing is written, which may not be allowed."""
    found = Folder(out).recipe
    return all(found.get(name) == recipe.get(name) for name in ("key", "forgotten")) and Folder(out).is_sealed


def _is_restored(docs: Dataset, out: str, recipe: dict[str, Any], stages: Sequence[Any]) -> bool:
    """Return whether `out` may be continued under another key, since only files changed that it did not read."""
    found = Folder(out).recipe
    if found.get("key") in (None, recipe["key"]) or found.get("forgotten") != recipe.get("forgotten"):
        return False
    return only_unread_changed(out, docs, stages)


def _check_apart(docs: Dataset, out: str) -> None:
    """Raise PlanError if `out` holds input files, or if the next listing of the input would find what is written."""
    home = files.real(out)
    for piece in (piece for part in docs.parts for piece in part.slices):
        if files.is_inside(piece.url, out):
            msg = f"{out} holds the input {piece.url}; give another folder as out"
            raise PlanError(msg)
        at = home_of(piece.url)
        if at is not None and any(files.is_inside(out, at.path(name)) for name in DATASET_FILES):
            msg = f"{out} is inside the input {at.url}, among its own files; give another folder as out"
            raise PlanError(msg)
    for listed in dict.fromkeys(piece.listed for part in docs.parts for piece in part.slices if piece.listed):
        if any(files.would_list(listed, files.join(home, name)) for name in (MANIFEST, Folder(out).shard(0, 0))):
            msg = f"{out} is inside the input {listed}, and the next run would read it; give a folder outside as out"
            raise PlanError(msg)


def _sealed_recipe(folder: Folder) -> dict[str, Any]:
    """Return the recipe as the manifest states it; empty if there is none, or if it is empty or cut."""
    try:
        return folder.manifest
    except CorruptShard:
        return {}


def _claim(out: str, recipe: dict[str, Any], *, replace: bool, journal: bool = False) -> Dataset | None:
    """Return the Dataset if `out` has it; else remove what may be replaced, and write the recipe.

    journal: start the journal of the folder; saved steps are in that of the folder around them.
    """
    folder = Folder(out)
    found = folder.recipe or _sealed_recipe(folder)
    same = found.get("key") == recipe["key"]
    if same and found.get("forgotten") == recipe.get("forgotten"):
        try:
            if folder.is_sealed:
                return open_dataset(out)
        except (CorruptShard, ReadError) as e:
            log.warning("%s", f"{e}; making what is missing again")
            files.remove(folder.path(MANIFEST))  # first, so that a folder that is being mended does not look complete
        files.write_json(folder.path(RECIPE), recipe)
        if journal:
            owned.begin(out)
        return None
    names = set(files.listdir(out))
    others = found.get("forgotten") != recipe.get("forgotten")  # then saved steps have other documents
    replaced = sorted(DATASET_FILES - (set() if others else {STEPS}))
    strangers = sorted(n for n in names - DATASET_FILES - {FORGET_LIST} if not n.startswith("."))
    strangers = strangers or owned.foreign(out, names & set(replaced if found else DATASET_FILES))
    if strangers:
        msg = f"{out} holds {strangers[0]}, which dataprep did not write; give another folder as out"
        raise StaleOutput(msg)
    if found and not {n for n in names if not n.startswith(".")} <= {RECIPE}:  # a recipe alone has written nothing yet
        if not replace and same:
            raise forget_list.stale(out)
        if not replace:
            stages = " -> ".join(map(spelled, found["stages"])) or "a copy"
            msg = (
                f"{out} was made by another recipe or from other input ({stages}); "
                "give another folder as out, or replace=True"
            )
            raise StaleOutput(msg)
        owned.remove(out, replaced)
    if journal:
        owned.begin(out)
    files.write_json(folder.path(RECIPE), recipe)
    return None
