"""The effect of another MinHash threshold: documents that it keeps, and documents that it drops instead."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.batch import NO_IDS
from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.tables import NOBODY, Drop, read_tables
from dataprep.core.output.layout import DROPS, Folder
from dataprep.core.output.lineage import MemberFolder, family
from dataprep.core.run.runner import Runner
from dataprep.dedup.near.again import verdicts_at
from dataprep.dedup.near.bands import least_jaccard, p_candidate
from dataprep.errors import PlanError
from dataprep.store import files

from .clusters import UNKNOWN, sources_of

U64 = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class OtherThreshold:
    """The result of a MinHash at another threshold, compared with its result in the run.

    Attributes:
        threshold: the other threshold.
        recall: the expected share (0 to 1) of the pairs at this threshold that the bands of the run propose.
        dropped: the number of documents that this threshold drops.
        back: the ids that the run dropped and this threshold keeps, uint64[n], ascending.
        new: the ids that the run kept and this threshold drops, uint64[n], ascending.
        by_source: {source: (number of `back`, number of `new`)}; documents without a named source are left out.
        examples: `back` or `new` documents with a similarity nearest to the threshold, each as its drop, in the run or
            at the other threshold.
    """

    threshold: float
    recall: float
    dropped: int
    back: U64
    new: U64
    by_source: dict[str, tuple[int, int]]
    examples: tuple[list[Drop], list[Drop]]


@dataclass(frozen=True)
class MinHashStep:
    """A MinHash of a run.

    Attributes:
        folder: the folder of its Dataset.
        fit: the entry of the manifest about it.
        label: its name in the manifest.
        name: the label; behind the name of the folder and a slash if several Datasets of the run have this label.
        keep: its parameter `keep`.
        n_older: the number of Datasets in its parameter `against`.
        fields: its parameters, as the manifest states them.
    """

    folder: MemberFolder
    fit: dict[str, Any]
    label: str
    name: str
    keep: str
    n_older: int
    fields: dict[str, Any]

    @property
    def threshold(self) -> float:
        """The threshold of the run."""
        return float(self.fit["threshold"])

    @property
    def datasets(self) -> list[Folder]:
        """The folders of its Dataset, and of the saved inputs of Estimators."""
        return [folder for folder in (self.folder, *self.folder.saved) if folder.is_dataset]


def minhash_of(url: str, stage: str | None = None) -> MinHashStep:
    """Return a MinHash of the run in the folder `url`.

    - stage: the name of the MinHash, as in `MinHashStep.name`; None for the only one.

    Raises PlanError if no MinHash has this name, or if there are several and `stage` is None.
    """
    found = minhash_steps(url)
    chosen = [step for step in found if stage in (None, step.name)]
    if len(chosen) != 1:
        names = ", ".join(repr(step.name) for step in found) or "none"
        given = "stage=" if stage is None else f"stage={stage!r}"
        msg = f"{given} must be the name of one MinHash of {url}, which has {names}"
        raise PlanError(msg)
    return chosen[0]


def minhash_steps(url: str) -> list[MinHashStep]:
    """Return every MinHash of the run in the folder `url`."""
    found = [step for folder in family(url, saved=False) for step in _steps(folder)]
    times = Counter(step.label for step in found)
    return [replace(step, name=_long_name(step)) if times[step.label] > 1 else step for step in found]


def _long_name(step: MinHashStep) -> str:
    return f"{files.name_of(step.folder.url)}/{step.label}"


def _steps(folder: MemberFolder) -> list[MinHashStep]:
    described = {one["label"]: one for one in folder.sealed.stages if one["class"] == "MinHash"}
    found = []
    for fit in folder.sealed.fits:
        if (one := described.get(fit["stage"])) is not None:
            against = one["fields"].get("against")
            n_older = 0 if against is None else 1 if isinstance(against, str) else len(against)
            keep = str(one["fields"].get("keep"))
            label = fit["stage"]
            found.append(MinHashStep(folder, fit, label, label, keep, n_older, one["fields"]))
    return found


@dataclass(frozen=True)
class _Sources:
    """The sources of documents: `ids`, ascending, and the index of each one's source in `names`."""

    ids: U64
    codes: npt.NDArray[np.int32]
    names: list[str]

    @classmethod
    def of(cls, step: MinHashStep, ids: U64) -> _Sources:
        """Look the sources up in the tables and the texts of a run."""
        dropped = (batch for folder in step.datasets for batch in read_tables(folder.url, DROPS, ["id", "source"]))
        kept = (batch for folder in step.datasets for batch in open_dataset(folder.url).batches(["id", "source"]))
        return cls(ids, *sources_of(ids, itertools.chain(dropped, kept) if len(ids) else ()))

    def counts(self, back: U64, new: U64) -> dict[str, tuple[int, int]]:
        """Return {source: (number of documents in `back`, in `new`)}, most first."""
        one, other = (Counter(self.codes[np.searchsorted(self.ids, ids)].tolist()) for ids in (back, new))
        found = {self.names[code]: (one[code], other[code]) for code in {*one, *other} if code != UNKNOWN}
        return dict(sorted(found.items(), key=lambda item: (-sum(item[1]), item[0])))


def at_thresholds(
    step: MinHashStep, thresholds: Sequence[float], runner: Runner, n_examples: int = 0
) -> list[OtherThreshold]:
    """Return the results of a MinHash at other thresholds, each as in a full run with the same bands.

    Later stages are not run again. Raises PlanError as `verdicts_at` does.
    """
    drops, steps = _dropped_by(step), [one.url for one in step.folder.steps]
    ids = drops.column("id").to_numpy()
    found = [verdicts_at(steps, step.fit, t, runner, keep=step.keep, n_older=step.n_older) for t in thresholds]
    changed = np.unique(np.concatenate([NO_IDS, *(np.setxor1d(ids, rows["id"]) for rows in found)]))
    sources = _Sources.of(step, changed)
    return [_other(step, t, rows, drops, sources, n_examples) for t, rows in zip(thresholds, found, strict=True)]


def _dropped_by(step: MinHashStep) -> pa.Table:
    """Return the drops of a MinHash in the run, in order of ids."""
    batches = [
        batch.filter(pc.equal(batch.column("stage").cast(pa.string()), step.label))
        for folder in step.datasets for batch in read_tables(folder.url, DROPS)
    ]  # fmt: skip
    if not batches:
        return pa.table({"id": pa.array([], pa.uint64()), "duplicate_of": pa.array([], pa.uint64())})
    return pa.Table.from_batches(batches).unify_dictionaries().sort_by("id")


def _other(
    step: MinHashStep, threshold: float, rows: npt.NDArray[Any], drops: pa.Table, sources: _Sources, n_examples: int
) -> OtherThreshold:
    ids = drops.column("id").to_numpy()
    back, new = np.setdiff1d(ids, rows["id"]), np.setdiff1d(rows["id"], ids)
    least = least_jaccard(threshold, step.fit["measure"])
    recall = p_candidate(least, step.fit["bands"], step.fit["rows"])
    chosen = drops.filter(pc.is_in(drops["id"], pa.array(back))).to_pylist() if n_examples else []
    dropped_again = [row for row in rows[np.isin(rows["id"], new)].tolist() if row[1] != NOBODY] if n_examples else []
    examples = (
        [_drop(step, row["id"], row["duplicate_of"], row["similarity"], row["duplicate_of_dataset"]) for row in chosen],
        [_drop(step, row[0], row[1], row[2], None) for row in dropped_again],
    )
    for some in examples:
        some.sort(key=lambda drop: (abs((drop.similarity or 0) - threshold), drop.id))
        del some[n_examples:]
    counts, shift = sources.counts(back, new), np.uint64(step.folder.shift)
    return OtherThreshold(threshold, recall, len(rows), back + shift, new + shift, counts, examples)


def _drop(
    step: MinHashStep, id_: int, duplicate_of: int | None, similarity: float | None, dataset: str | None
) -> Drop:
    shift = step.folder.shift
    kept = duplicate_of if duplicate_of is None or dataset is not None else duplicate_of + shift
    return Drop(
        id=id_ + shift, stage=step.label, reason="near_duplicate", duplicate_of_dataset=dataset, duplicate_of=kept,
        similarity=similarity, source=None, bytes=None, value=None, label=None, folder=step.folder.url,
    )  # fmt: skip
