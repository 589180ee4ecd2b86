"""Rerun the stages of a run on one document, to find the cuts of each rule in its text.

Many stages that cut text state only the amount that each rule cut (`Ledger.trim`). They are reconstructed from their
description in the manifest, and read the same text as in the run. Nothing is shown of a run that hides its input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.estimator import Estimator
from dataprep.core.model.ledger import Ledger, watch
from dataprep.core.model.quotes import missing_pieces
from dataprep.core.model.stage import Stage
from dataprep.core.model.stats import HIDDEN, OTHER
from dataprep.core.output.layout import Folder
from dataprep.core.output.lineage import family

from .remade import classes_named, masking, stage_of
from .stage_input import passes
from .texts import DocumentsAsRead, bytes_outside


@dataclass(frozen=True)
class RuleCut:
    """A range that a rule of a stage cut out of one document.

    Attributes:
        folder: the Dataset that the stage belongs to.
        stage: its label.
        rule: the rule; "other" if the stage states none.
        start: the offset, in UTF-8 bytes, of the cut's first byte in the text that the stage read.
        end: the offset after the cut's last byte.
        text: the text that was cut, with private data replaced as later stages replace it; None if the stage itself
            removes private strings, or if a stage that masks them cannot be reconstructed.
    """

    folder: str
    stage: str
    rule: str
    start: int
    end: int
    text: str | None


@dataclass(frozen=True)
class StageCuts:
    """The cuts of one stage in one document.

    Attributes:
        folder: the Dataset that the stage belongs to.
        stage: its label.
        before: the text that it read.
        ranges: (rule, start, end) of each cut, in UTF-8 bytes of `before`.
        is_stored: whether cut tables state the ranges.
        is_private: whether the stage removes private strings.
    """

    folder: str
    stage: str
    before: str
    ranges: tuple[tuple[str, int, int], ...]
    is_stored: bool = False
    is_private: bool = False


def rule_cuts(url: str, id_: int, documents: DocumentsAsRead | None = None) -> list[RuleCut]:
    """Return the cuts of the stages that record no spans in a document, found by running them on it again.

    The stages that `stage_cuts` leaves out are left out here, too.

    - url: the run's folder.
    - documents: documents of the run, among them this one; None: it is read for this call.
    """
    hiding, found = masking(url), list[RuleCut]()
    for one in stage_cuts(DocumentsAsRead(url, [id_]) if documents is None else documents, id_):
        if not one.is_stored:
            is_quoted = hiding is not None and not one.is_private
            cuts = [RuleCut(one.folder, one.stage, rule, a, b, _piece(one.before, a, b) if is_quoted else None)
                    for rule, a, b in one.ranges]  # fmt: skip
            found += _masked(cuts, hiding or [])
    return found


def stage_cuts(documents: DocumentsAsRead, id_: int) -> list[StageCuts]:
    """Return the cuts of a run's stages in a document.

    Stages that cannot be reconstructed, such as functions, are left out, together with the stages after them, unless
    the text after such a stage is stored. Cuts that do not lead to the stored text are left out, too.

    - documents: documents of the run, among them this one.
    """
    found: list[StageCuts] = []
    for final in (one for one in family(documents.url, saved=False) if one.may_have(id_)):
        described = {one["label"]: one for one in final.sealed.stages}
        for place, stats in passes(final):
            if not place.is_dataset:
                break  # `dataprep prune` removed the text that the next stages read
            if any(HIDDEN in stage.into for stage in stats):
                break
            if place.url in documents.folders:
                own = [described[stage.name] for stage in stats if stage.name in described]
                found += _of_pass(documents, id_, place, own)
    return found


def _of_pass(
    documents: DocumentsAsRead, id_: int, place: Folder, described: Sequence[Mapping[str, Any]]
) -> list[StageCuts]:
    """Return the cuts of the stages of one pass.

    - described: these stages.
    """
    stages = [(one, stage_of(one)) for one in described]
    changing = [n for n, (one, _) in enumerate(stages) if not one["only_drops"]]
    row = documents.before(place.url, id_) if changing else None
    if row is None:
        return []
    after, cuts = documents.row_in(place.url, id_), list[StageCuts]()
    batch: Batch | None = _batch(row)
    for n in changing:
        one, stage = stages[n]
        if batch is None:
            break
        text = batch.column("text")[0].as_py()
        spans = documents.spans(place.url, id_, one["label"])
        ranges: list[tuple[str, int, int]]
        if spans:
            batch, ranges = _with_text(batch, _outside(text, spans)), [(OTHER, a, b) for a, b in spans]
        elif _is_estimator(one):
            continue  # the cut table has no span of this document
        elif stage is not None:
            batch, ranges = _replayed(stage, one["label"], batch)
        elif after is not None and n == changing[-1]:
            ranges = [(OTHER, *at) for at in _in_bytes(text, missing_pieces(text, after["text"]))]
            batch = _with_text(batch, after["text"])
        else:
            break
        if ranges:
            is_private = stage is not None and stage.masks
            cuts.append(StageCuts(place.url, one["label"], text, tuple(ranges), bool(spans), is_private))
    else:
        if after is not None and (batch is None or batch.column("text")[0].as_py() != after["text"]):
            return []  # such as a function that changed since
    return cuts


def _is_estimator(described: Mapping[str, Any]) -> bool:
    """Return whether a manifest describes an Estimator of dataprep, which states each span that it cuts."""
    return any(issubclass(kind, Estimator) for kind in classes_named(described["class"]))


def _batch(row: Mapping[str, Any]) -> Batch:
    further = {name: pa.array([value]) for name, value in row.items() if name not in B.FIXED}
    return B.make([row["id"]], [row["text"]], row["source"], [row["meta"]], further)


def _with_text(batch: Batch, text: str) -> Batch:
    return B.with_column(batch, "text", pa.array([text], pa.large_string()))


def _replayed(stage: Stage, label: str, batch: Batch) -> tuple[Batch | None, list[tuple[str, int, int]]]:
    """Return a document after a stage, None if the stage drops it, and (rule, start, end) of each cut."""
    ledger, text = Ledger(label, is_replay=True), batch.column("text")[0].as_py()
    out = [one for one in watch(stage, iter([batch]), ledger) if one.num_rows]
    if not out:
        return None, []
    rows = ledger.cut_table().select(["reason", "start", "end"]).to_pylist()
    if rows:
        return out[0], [(row["reason"] or OTHER, row["start"], row["end"]) for row in rows]
    pieces = missing_pieces(text, out[0].column("text")[0].as_py())
    return out[0], [(OTHER, a, b) for a, b in _in_bytes(text, pieces)]


def _in_bytes(text: str, pieces: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield ranges of characters, which ascend, as ranges of UTF-8 bytes."""
    at = n_bytes = 0
    for start, end in pieces:
        first = n_bytes + len(text[at:start].encode())
        at, n_bytes = end, first + len(text[start:end].encode())
        yield first, n_bytes


def _piece(text: str, start: int, end: int) -> str:
    return text.encode()[start:end].decode(errors="replace")


def _outside(text: str, spans: Sequence[tuple[int, int]]) -> str:
    return bytes_outside(text.encode(), spans).decode(errors="replace")


def _masked(cuts: list[RuleCut], masking: Sequence[Stage]) -> list[RuleCut]:
    """Return the cuts, in whose texts private data is replaced as by the stages."""
    texts = ["" if cut.text is None else cut.text for cut in cuts]
    for stage in masking:
        texts = stage.masked(texts)
    return [replace(cut, text=None if cut.text is None else text) for cut, text in zip(cuts, texts, strict=True)]
