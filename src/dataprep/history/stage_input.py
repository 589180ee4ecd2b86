"""Read the documents of a run again as one of its stages received them, all or a random sample.

A *pass* of a run reads a saved Dataset or the input, applies consecutive stages, and writes a Dataset: the saved input
of an Estimator, or the result. The stages of the pass before the wanted one are run again. Those that are Estimators
are not: the rows of their drop and cut tables are applied instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.inputs.removed import IdTable, forget_list_of, input_parts, tables_of
from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.describe import FORGET, READ, labels_of
from dataprep.core.model.function import Filter, Map
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.part import Part, Sealed
from dataprep.core.model.stage import Stage
from dataprep.core.model.stats import StageStats, Stats
from dataprep.core.model.tables import SCHEMAS, rows_between
from dataprep.core.output.layout import CUTS, DROPS, Folder
from dataprep.core.output.lineage import MemberFolder, family
from dataprep.errors import require
from dataprep.pipeline_file import functions
from dataprep.store import compress, files
from dataprep.store.ranks import mix

from .remade import stage_of
from .texts import bytes_outside

SEED = 0x53414D50  # of the sample
KINDS: dict[str, type[Map | Filter]] = {"Map": Map, "Filter": Filter}
PIECE_BYTES = 32 << 20  # of an input file that one task reads


@dataclass(frozen=True)
class RunStage:
    """A stage of a run, and its pass.

    Attributes:
        name: the label; behind the name of the Dataset's folder and a slash if several Datasets of the run have it.
        label: the name in statistics and tables.
        final: the folder of the Dataset whose manifest describes the stage.
        home: the folder of the Dataset that the pass wrote: `final`, or the saved input of an Estimator.
        described: the manifest's entries for all stages of `final`, by label.
        own: the statistics of the stages of the pass.
        later: the labels of the stages of later passes of `final`.
    """

    name: str
    label: str
    final: MemberFolder
    home: Folder
    described: Mapping[str, Mapping[str, Any]]
    own: Sequence[StageStats]
    later: tuple[str, ...]

    @property
    def stats(self) -> StageStats:
        """The statistics of the stage."""
        return next(one for one in self.own if one.name == self.label)

    @property
    def is_estimator(self) -> bool:
        """Whether the stage applies the decisions of an Estimator, which read all documents."""
        return self.label in self._fitted

    @property
    def _fitted(self) -> set[str]:
        return {fit["stage"] for fit in self.final.sealed.fits}

    def made(self, known: Mapping[str, Stage] | None = None) -> Stage:
        """Return the stage, made again. Raises PlanError if that is not possible.

        - known: stages by label, which are not reconstructed.
        """
        return self._made(self.label, known or {})

    def following(self, known: Mapping[str, Stage] | None = None) -> list[Stage]:
        """Return the later stages of the same pass. Raises PlanError if one of them cannot be reconstructed."""
        labels = [one.name for one in self.own]
        return [self._made(label, known or {}) for label in labels[labels.index(self.label) + 1 :]]

    def parts(self, known: Mapping[str, Stage] | None = None, share: float = 1.0) -> tuple[Part, ...]:
        """Return parts that read the documents which the stage received.

        Args:
            known: stages by label, which are not reconstructed.
            share: the share of the documents of the pass to read, 0 to 1; they are chosen by a hash of their ids.

        Raises PlanError if a stage before it cannot be reconstructed, or joins documents of a sample, and ReadError if
        the input is missing, has changed, or is hidden by a stage.
        """
        before = [one.name for one in self.own if one.name != READ]
        before = before[: before.index(self.label)]
        stages = [self._recorded(one) if one in self._fitted else self._made(one, known or {}) for one in before]
        if share < 1:
            check_single(stages)
            stages, before = [SampledIds(share=share), *stages], ["sample", *before]
        return tuple(part.then(*stages, labels=before) for part in self._read())

    def _read(self) -> Sequence[Part]:
        """Return the documents that the pass read."""
        saved = self.final.saved
        at = saved.index(self.home) if self.home in saved else len(saved)
        if at:
            return open_dataset(saved[at - 1].url).parts
        listed = forget_list_of(self.final)
        parts = [replace(one, forgotten=listed, skips_bad=True, max_window=compress.MAX_WINDOW_BYTES)
                 for one in input_parts(self.final)]  # fmt: skip
        return [piece for part in parts for piece in _pieces(part)]

    def _recorded(self, label: str) -> Stage:
        return Recorded(label=label, drops=tables_of([self.home], DROPS), cuts=tables_of([self.home], CUTS))

    def _made(self, label: str, known: Mapping[str, Stage]) -> Stage:
        one = self.described.get(label)
        stage = known.get(label) or (None if one is None else stage_of(one))
        require(stage is not None, f"{label} cannot be run again from its description in {self.final.url}: it is a "
                "function of yours, or depends on a file that has changed; pass the pipeline file (--pipeline), or run "
                "it in full and compare the two results with `dataprep diff`")  # fmt: skip
        assert stage is not None
        return stage


def check_single(stages: Sequence[Stage]) -> None:
    """Raise PlanError if one of the stages joins documents, so that it cannot be run on a sample or batch by batch."""
    for one in stages:
        require("messages" not in one.loses, f"{one.name} joins documents, so a sample cannot show what another "
                "setting would do; run the Pipeline with the change and compare the results with "
                "`dataprep diff`")  # fmt: skip


def run_stages(url: str) -> list[RunStage]:
    """Return the stages of the run in the folder `url`, in their order."""
    found = []
    for final in family(url, saved=False):
        described = {one["label"]: one for one in final.sealed.stages}
        some = list(passes(final))
        for n, (home, own) in enumerate(some):
            later = tuple(one.name for _, stages in some[n + 1 :] for one in stages)
            found += [RunStage(one.name, one.name, final, home, described, own, later)
                      for one in own if one.name in described]  # fmt: skip
    times = Counter(one.label for one in found)
    return [replace(one, name=f"{files.name_of(one.final.url)}/{one.label}") if times[one.label] > 1 else one
            for one in found]  # fmt: skip


def stage_named(url: str, name: str) -> RunStage:
    """Return the stage of a run with a name, as in `RunStage.name`. Raises PlanError if there is none."""
    found = run_stages(url)
    names = ", ".join(repr(one.name) for one in found) or "none"
    chosen = [one for one in found if one.name == name]
    require(len(chosen) == 1, f"stage={name!r} must be the name of one stage of {url}, which has {names}")
    return chosen[0]


def known_stages(url: str, pipeline: Any) -> dict[str, Stage]:
    """Return the stages of a run, by label, that its folder does not contain, since they call functions of the user.

    - pipeline: the Pipeline; the path of a pipeline file, of which the functions in `Map` and `Filter` are taken; or
      None, for no stages.

    Raises PlanError if the file cannot be imported.
    """
    if not isinstance(pipeline, str):
        return {} if pipeline is None else dict(zip(labels_of(pipeline.stages), pipeline.stages, strict=True))
    found, named = dict[str, Stage](), functions(pipeline)
    for at in run_stages(url):
        one = at.described[at.label]
        kind, _, name = str(one.get("shown", "")).rstrip(")").partition("(")
        if kind in KINDS and name in named:
            found[at.label] = KINDS[kind](named[name])
    return found


def passes(final: Folder) -> Iterator[tuple[Folder, list[StageStats]]]:
    """Yield the Datasets that the passes of a Pipeline wrote, in order, each with the statistics of the pass's stages.

    The statistics of the last Dataset include those of the saved ones. Those of `forget`, in any of them, are left out.
    """
    done = 0
    for home in final.saved:
        own = _stages(home)
        done += len(own)
        yield home, own
    yield final, _stages(final)[done:]


def _stages(home: Folder) -> list[StageStats]:
    return [one for one in Stats.from_json((home.record or home.sealed).stats).stages if one.name != FORGET]


def _pieces(part: Part) -> Iterator[Part]:
    """Yield an input file in pieces, each a part, if reading can begin inside it."""
    (piece,) = part.slices
    if isinstance(part.reader, Sealed):
        yield part
        return
    for start, stop, n_bytes in part.reader.cuts(piece.url, piece.n_bytes, PIECE_BYTES):
        yield replace(part, slices=(replace(piece, start=start, stop=stop, n_bytes=n_bytes),))


@dataclass(frozen=True, kw_only=True)
class SampledIds(Stage):
    """Keep a share of the documents, chosen by a hash of their ids: the same ones each time.

    Attributes:
        share: from 0 to 1.
    """

    only_drops: ClassVar[bool] = True

    share: float

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the batches with the chosen documents; the others are dropped."""
        for batch in batches:
            kept = mix(B.ids(batch), SEED) < np.uint64(min(int(self.share * 2**64), 2**64 - 1))
            stats.drop(B.ids(batch)[~kept], "not_in_the_sample")
            yield batch.filter(pa.array(kept))


@dataclass(frozen=True, kw_only=True)
class Recorded(Stage):
    """Drop and cut what an Estimator of a run dropped and cut, as the tables of its pass state it.

    Attributes:
        label: the label of the Estimator.
        drops: the drop tables of the pass.
        cuts: its cut tables.
    """

    label: str
    drops: tuple[IdTable, ...]
    cuts: tuple[IdTable, ...]

    @property
    def name(self) -> str:
        """The label of the Estimator."""
        return self.label

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the documents that the Estimator kept, without the spans that it cut."""
        for batch in batches:
            dropped = self._rows(batch, self.drops, DROPS)["id"].combine_chunks()
            stats.drop(dropped, "recorded")
            kept = batch.filter(pc.invert(pc.is_in(batch.column("id"), dropped)))
            yield self._cut(kept)

    def _rows(self, batch: Batch, tables: Sequence[IdTable], kind: str) -> pa.Table:
        """Return the rows of the Estimator about the documents of a batch."""
        ids = B.ids(batch)
        low, high = (int(ids.min()), int(ids.max())) if len(ids) else (1, 0)
        found = [rows_between(one.url, low, high, SCHEMAS[kind]) for one in tables
                 if one.first <= high and one.last >= low]  # fmt: skip
        rows = pa.concat_tables([SCHEMAS[kind].empty_table(), *(one.cast(SCHEMAS[kind]) for one in found)])
        mine = pc.and_(pc.equal(rows["stage"], self.label), pc.is_in(rows["id"], pa.array(ids)))
        return rows.filter(mine)

    def _cut(self, batch: Batch) -> Batch:
        rows = self._rows(batch, self.cuts, CUTS)
        if not len(rows):
            return batch
        spans: dict[int, list[tuple[int, int]]] = {}
        for id_, *span in zip(*(rows[name].to_pylist() for name in ("id", "start", "end")), strict=True):
            spans.setdefault(id_, []).append((span[0], span[1]))
        texts = batch.column("text").to_pylist()
        for row, id_ in enumerate(B.ids(batch).tolist()):
            if id_ in spans:
                texts[row] = bytes_outside(texts[row].encode(), spans[id_]).decode(errors="replace")
        return B.with_column(batch, "text", pa.array(texts, pa.large_string()))
