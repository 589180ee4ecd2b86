"""Find a text in the input of a run, and the stages and rules that removed it.

The input files must not have changed since the run. Hidden inputs, forgotten documents, and text that a later stage
masks are not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from dataprep.core.inputs.removed import input_parts
from dataprep.core.model import batch as B
from dataprep.core.model.batch import Ids
from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.part import Part, Sealed
from dataprep.core.model.stage import Stage
from dataprep.core.model.tables import Drop
from dataprep.core.output.forget_list import REASON
from dataprep.core.output.layout import Folder, home_of
from dataprep.core.output.lineage import family
from dataprep.core.run.runner import Runner
from dataprep.errors import PlanError, require
from dataprep.search.index import own_index

from .remade import masking
from .replay import stage_cuts
from .texts import DocumentsAsRead, Row
from .why import follow

CONTEXT_BYTES = 1 << 20  # a longer document is not quoted: masking it takes time
EMPTY = "the text to search for is empty; provide at least one character"
CUT, DROPPED = "cut", "dropped"


@dataclass(frozen=True)
class Cause:
    """A stage that removed a text from a document.

    Attributes:
        how: CUT or DROPPED.
        folder: the Dataset that the stage belongs to.
        stage: its label.
        rule: the rule that cut, or the reason for the drop.
    """

    how: str
    folder: str
    stage: str
    rule: str


@dataclass(frozen=True)
class RemovedHit:
    """A document of the input in which a text occurs more often than in the kept texts.

    Attributes:
        id: the document's id.
        source: the document's source.
        times: removed occurrences.
        causes: the stages and rules that removed them; () if the stages cannot be run again, or if `dataprep prune`
            removed their input.
        around: the characters before and after the first occurrence; None if they are private, or too long.
    """

    id: int
    source: str
    times: int
    causes: tuple[Cause, ...]
    around: tuple[str, str] | None


@dataclass(frozen=True)
class RemovedHits:
    """The occurrences of a text in the input of a run.

    Attributes:
        times: the number of occurrences in the input, without forgotten documents.
        documents: the number of documents with the text in the input, without forgotten documents.
        times_removed: the number of occurrences that the last Dataset lacks.
        documents_removed: the number of documents that the last Dataset lacks.
        hits: the first of these documents.
    """

    times: int
    documents: int
    times_removed: int
    documents_removed: int
    hits: tuple[RemovedHit, ...]


@dataclass(frozen=True)
class KeptHit:
    """A kept document in which a text occurs.

    Attributes:
        id: the document's id.
        source: the document's source.
        times: the occurrences in it.
        around: the characters before and after the first occurrence.
    """

    id: int
    source: str
    times: int
    around: tuple[str, str]


@dataclass(frozen=True)
class KeptHits:
    """The occurrences of a text in the last Dataset of a run.

    Attributes:
        ids: the documents that contain the text, uint64[n], ascending.
        times: the occurrences in each, int64[n].
        hits: the first of these documents.
        is_indexed: whether a suffix index was used; otherwise, the texts were read.
    """

    ids: Ids
    times: npt.NDArray[np.int64]
    hits: tuple[KeptHit, ...]
    is_indexed: bool


@dataclass(frozen=True)
class CountText:
    """Task that counts the occurrences of a text in the documents of a part, including overlapping ones."""

    text: str

    def __call__(self, part: Part) -> tuple[Ids, npt.NDArray[np.int64]]:
        """Return the ids of the documents that contain the text, uint64[n], and the occurrences in each, int64[n]."""
        ids, times = [np.zeros(0, np.uint64)], list[int]()
        for batch in part.batches(["id", "text"]):
            found = batch.filter(pc.match_substring(batch.column("text"), self.text))
            ids.append(B.ids(found))
            times += [len(list(places(one.encode(), self.text.encode()))) for one in found.column("text").to_pylist()]
        return np.concatenate(ids), np.array(times, np.int64)


def places(data: bytes, text: bytes) -> Iterator[int]:
    """Yield the offsets at which a text occurs, in bytes."""
    at = data.find(text)
    while at >= 0:
        yield at
        at = data.find(text, at + 1)


def find_kept(url: str, text: str, runner: Runner, limit: int | None = 10, context: int = 60) -> KeptHits:
    """Find a text in the last Dataset of the run in the folder `url`: by its suffix index, if it has a current one.

    - limit: the number of documents to return; None: all.
    - context: characters to return around an occurrence.

    Raises PlanError if the text is empty.
    """
    require(text != "", EMPTY)
    docs = open_dataset(family(url, saved=False)[-1].url)
    index = own_index(docs)
    if index is not None:
        ids, times = index.documents(text)
    else:
        ids, times = _counted(runner, text, docs.parts, "search: kept texts")
    first = ids[:limit]
    rows = {row["id"]: row for part in docs.parts for row in _picked(part, first)} if len(first) else {}
    hits = (
        KeptHit(id_, rows[id_]["source"], n, _beside(rows[id_]["text"], text, context))
        for id_, n in zip(first.tolist(), times.tolist(), strict=False)
    )
    return KeptHits(ids, times, tuple(hits), index is not None)


def _picked(part: Part, ids: Ids) -> Iterator[Row]:
    for batch in part.pick(ids, ["id", "source", "text"]):
        yield from batch.to_pylist()


def find_removed(
    url: str, text: str, runner: Runner, limit: int | None = 10, context: int = 60, *, kept: KeptHits | None = None,
    each: Callable[[RemovedHit], None] = lambda _: None,
) -> RemovedHits:  # fmt: skip
    """Find a text in the input of the run in the folder `url`, and the stages and rules that removed it.

    Args:
        url: the folder.
        text: the text.
        runner: the Runner that reads the texts.
        limit: the number of documents to explain; None: all.
        context: characters to return around an occurrence. The input and the last Dataset are read once.
        kept: the result of `find_kept`; None: it is computed.
        each: called with each document as soon as it is explained.

    Raises PlanError if the text is empty, and ReadError if an input file is missing or has changed, or if a stage hides
    the input.
    """
    require(text != "", EMPTY)
    finals = family(url, saved=False)
    parts = first_parts(finals[-1], {final.url for final in finals})
    ids, times = _counted(runner, text, parts, "search: input")
    known = ~np.isin(ids, np.concatenate([final.listed for final in finals]))
    ids, times = ids[known], times[known]
    kept = find_kept(url, text, runner, 0) if kept is None else kept
    at, is_kept = B.find_sorted(kept.ids, ids)
    left = times.copy()
    left[is_kept] -= kept.times[at[is_kept]]
    removed = np.flatnonzero(left > 0)
    hits = list[RemovedHit]()
    for hit in _explained(url, text, parts, ids[removed[:limit]], left[removed[:limit]], context):
        hits.append(hit)
        each(hit)
    return RemovedHits(int(times.sum()), len(ids), int(left[removed].sum()), len(removed), tuple(hits))


def first_parts(final: Folder, homes: set[str]) -> tuple[Part, ...]:
    """Return the input files of a Dataset as parts; if they are shards of another Dataset of the run, its input files.

    The shards themselves are read if a stage hides the input from which they were made. The ids are those in `final`.

    - homes: the Datasets of the run.

    Raises ReadError as `input_parts` does.
    """
    found: dict[tuple[str, int], tuple[Part, ...]] = {}
    for part in input_parts(final):
        (piece,) = part.slices
        above = home_of(piece.url) if isinstance(part.reader, Sealed) else None
        if above is None or above.url not in homes or above.origin is None:
            found[piece.url, piece.file] = (part,)
        elif (above.url, piece.file) not in found:
            found[above.url, piece.file] = tuple(one.shifted(piece.file) for one in first_parts(above, homes))
    return tuple(part for some in found.values() for part in some)


def _counted(
    runner: Runner, text: str, parts: Sequence[Part], label: str
) -> tuple[Ids, npt.NDArray[np.int64]]:  # fmt: skip
    """Return the ids of the documents with a text, ascending, and the occurrences in each."""
    counted = list(runner.map(CountText(text), parts, label))
    ids = np.concatenate([np.zeros(0, np.uint64), *(one for one, _ in counted)])
    times = np.concatenate([np.zeros(0, np.int64), *(one for _, one in counted)])
    order = np.argsort(ids, kind="stable")
    return ids[order], times[order]


def _explained(
    url: str, text: str, parts: Sequence[Part], ids: Ids, times: npt.NDArray[np.int64], context: int
) -> Iterator[RemovedHit]:
    rows = {row["id"]: row for row in _rows(parts, ids)}
    documents, hiding = DocumentsAsRead(url, ids.tolist(), rows), masking(url)
    for id_, n in zip(ids.tolist(), times.tolist(), strict=True):
        around = None if hiding is None else _around(str(rows[id_]["text"]), text, hiding, context)
        yield RemovedHit(id_, str(rows[id_]["source"]), n, tuple(_causes(documents, id_, text, n)), around)


def _rows(parts: Sequence[Part], ids: Ids) -> Iterator[Row]:
    """Yield documents of the input."""
    left = ids
    for part in parts:
        low = B.doc_id(part.slices[0].file, 0)
        own = left if isinstance(part.reader, Sealed) else left[(left >= low) & (left < low + (1 << B.POSITION_BITS))]
        if len(own):
            columns = [*B.FIXED, *(name for name in part.reader.adds if name not in B.FIXED)]
            for batch in part.pick(own, columns):
                yield from batch.to_pylist()


def _causes(documents: DocumentsAsRead, id_: int, text: str, times: int) -> Iterator[Cause]:
    """Yield the causes of a text's removal from a document: cuts, then the drop, if the document still had the text."""
    query, left, seen = text.encode(), times, set[Cause]()
    for cuts in stage_cuts(documents, id_):
        for at in places(cuts.before.encode(), query):
            hit = [rule for rule, a, b in cuts.ranges if a < at + len(query) and at < b]
            left -= bool(hit)
            if hit and (cause := Cause(CUT, cuts.folder, cuts.stage, hit[0])) not in seen:
                seen.add(cause)
                yield cause
    drop = _drop(documents.url, id_)
    if drop is not None and left > 0:
        yield Cause(DROPPED, drop.folder, drop.stage, drop.reason)


def _drop(url: str, id_: int) -> Drop | None:
    try:
        drops = follow(url, id_).drops
    except PlanError:  # no table has it
        return None
    return drops[0] if drops and drops[0].id == id_ and drops[0].reason != REASON else None


def _around(document: str, text: str, masking: Sequence[Stage], context: int) -> tuple[str, str] | None:
    """Return the characters around the first occurrence of a text that no stage masks; None if there is none."""
    if len(document) > CONTEXT_BYTES:
        return None
    for stage in masking:
        (document,) = stage.masked([document])
    return None if text not in document else _beside(document, text, context)


def _beside(document: str, text: str, context: int) -> tuple[str, str]:
    """Return the characters before and after the first occurrence of a text."""
    at = document.find(text)
    end = at + len(text)
    return document[max(0, at - context) : at], document[end : end + context]
