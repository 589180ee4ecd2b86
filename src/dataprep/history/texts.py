"""Read many documents of a run as its stages read them, from its Datasets or the input; each file is read once."""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from dataprep.core.inputs import look_up
from dataprep.core.model.stage import Stage
from dataprep.core.model.tables import Drop
from dataprep.core.output.forget_list import REASON
from dataprep.core.output.layout import CUTS, DROPS, STEPS, Folder, is_hidden
from dataprep.core.output.lineage import MemberFolder, family

from .remade import masking

Row = dict[str, Any]


class DocumentsAsRead:
    """Some documents of a run, as the stages read them.

    Attributes:
        url: the run's folder.
        ids: the documents that may be requested.
        given: the rows of the input that are known. Files are read when first needed, for all of these documents at
            once. None is returned for a document on a forget list of the run.
    """

    def __init__(self, url: str, ids: Iterable[int], given: Mapping[int, Row] | None = None) -> None:
        self.url = url
        self.given = dict(given or {})
        self.members = {found.url: found for found in family(url)}
        self.folders = list(self.members)
        self.ids = sorted(set(ids).difference(*(found.listed.tolist() for found in self.members.values())))
        self._stored: dict[str, dict[int, Row]] = {}
        self._cut: dict[str, dict[int, list[Row]]] = {}
        self._hidden: dict[Folder, bool] = {}
        self._labels: dict[str, list[str]] = {}
        self._masking: dict[str, list[Stage] | None] = {}  # by the label of a stage, those after it

    def row(self, id_: int) -> Row | None:
        """Return a document's columns from the last Dataset that contains it or, if none does, from the input.

        Returns None if it is not in any Dataset and the input cannot be used: it is missing or has changed, or stages
        changed the document before a later step dropped it.
        """
        return self._last(self.folders, id_) or self._kept.get(id_)

    def text(self, id_: int, folder: str, stage: str) -> bytes | None:
        """Return the UTF-8 text of a document as one stage read it; offsets in cut tables refer to this text.

        This is the text in the Dataset before `folder`, or in the input, without the cuts by those stages of `folder`
        that come before `stage`.

        - folder: the Dataset that the stage belongs to.
        - stage: the stage's label, as in statistics and tables.

        Returns None if the text is not available.
        """
        if (row := self.before(folder, id_)) is None:
            return None
        data = str(row["text"]).encode()
        labels = self._stages(folder)
        for label in labels[: labels.index(stage)] if stage in labels else []:
            data = bytes_outside(data, self.spans(folder, id_, label))
        return data

    def before(self, folder: str, id_: int) -> Row | None:
        """Return a document's columns as the first stage of a Dataset read it; None if they are not available."""
        earlier = self.folders[: self.folders.index(folder)] if folder in self.folders else []
        return self._last([url for url in earlier if self.members[url].may_have(id_)], id_)

    def row_in(self, folder: str, id_: int) -> Row | None:
        """Return a document's columns in one Dataset; None if it is not in it."""
        return self._rows(folder).get(id_)

    def spans(self, folder: str, id_: int, stage: str) -> list[tuple[int, int]]:
        """Return the ranges that a stage cut out of a document, as the cut tables of the Dataset state them."""
        return [(cut["start"], cut["end"]) for cut in self._cuts(folder).get(id_, ()) if cut["stage"] == stage]

    def as_read(self, id_: int, drop: Drop) -> Row | None:
        """Return a document's columns, with the text as the stage of a drop read it; None if it is not available.

        Private data that later stages of the run replace, such as PII, is replaced in the text. The text is "" if such
        a stage cannot be reconstructed.
        """
        row, data = self.row(id_), self.text(id_, drop.folder, drop.stage)
        if row is None:
            return None
        return {**row, "text": self._masked(row["text"] if data is None else data.decode(), drop)}

    def dropped(self, drop: Drop) -> Row | None:
        """Return a dropped document; None if it is in no Dataset or input, or if it was forgotten."""
        return None if drop.reason == REASON else self.as_read(drop.id, drop)

    def survivor(self, drop: Drop) -> Row | None:
        """Return the document kept in place of a dropped one; None if there is none, or if it cannot be read.

        If the kept document is in another Dataset, it is read from that Dataset, and private data is replaced as in the
        dropped document, which may have the same. It is not returned if a stage hides the dropped document, or if this
        run hides its input and the other Dataset does not.
        """
        if drop.duplicate_of is None:
            return None
        if drop.duplicate_of_dataset is None:
            return self.as_read(drop.duplicate_of, drop)
        own = Folder(drop.folder.partition(f"/{STEPS}/")[0])
        if own.origin is None and self.row(drop.id) is None:
            return None
        beside = posixpath.normpath(Folder(drop.folder).path("..", drop.duplicate_of_dataset))
        home = next((url for url in (drop.duplicate_of_dataset, beside) if Folder(url).is_dataset), None)
        if home is None or (self._is_hidden(own) and not self._is_hidden(Folder(home))):
            return None
        row = DocumentsAsRead(home, [drop.duplicate_of]).row(drop.duplicate_of)
        return None if row is None else {**row, "text": self._masked(str(row["text"]), drop)}

    def _is_hidden(self, folder: Folder) -> bool:
        if folder not in self._hidden:
            self._hidden[folder] = is_hidden(folder)
        return self._hidden[folder]

    def _masked(self, text: str, drop: Drop) -> str:
        """Return a text with private data replaced as by the stages after that of a drop; "" if one cannot be made."""
        if drop.stage not in self._masking:
            self._masking[drop.stage] = masking(self.url, after=drop.stage)
        later = self._masking[drop.stage]
        for stage in later or ():
            text = stage.masked([text])[0]
        return "" if later is None else text

    def _last(self, folders: Sequence[str], id_: int) -> Row | None:
        found = (row for url in reversed(folders) if (row := self._rows(url).get(id_)) is not None)
        return next(found, None) or (self._dropped_first if folders else self._input).get(id_)

    def _rows(self, url: str) -> dict[int, Row]:
        """Return the rows of the documents in a Dataset; none if `dataprep prune` removed them."""
        if url not in self._stored:
            folder, rows = self.members.get(url) or MemberFolder(url), list[Row]()
            for shard in () if folder.is_pruned else folder.sealed.shards:
                if self.ids and shard.last_id is not None and shard.last_id + max(folder.shifts) >= self.ids[0]:
                    rows += folder.rows(folder.path(shard.name), self.ids)
            self._stored[url] = {row["id"]: row for row in rows}
        return self._stored[url]

    def _cuts(self, url: str) -> dict[int, list[Row]]:
        """Return the rows of the cut tables of a Dataset for the documents."""
        if url not in self._cut:
            folder = self.members[url]
            rows = (row for at in folder.tables(CUTS) for row in folder.rows(at, self.ids, CUTS))
            by_id = itertools.groupby(sorted(rows, key=_id), _id)
            self._cut[url] = {id_: list(some) for id_, some in by_id}
        return self._cut[url]

    def _stages(self, url: str) -> list[str]:
        """Return the labels of the stages of a Dataset, in their order."""
        if url not in self._labels:
            record = Folder(url).record or Folder(url).sealed
            self._labels[url] = [one["name"] for one in record.stats]
        return self._labels[url]

    @cached_property
    def _input(self) -> dict[int, Row]:
        """The documents as they are in the input, which is read again."""
        found = dict(self.given)
        for folder in family(self.url, saved=False):
            for shift, own in folder.own_ids([id_ for id_ in self.ids if id_ not in found]):
                for id_, row in look_up.documents(folder.url, own).items():
                    found[id_ + shift] = {**row, "id": id_ + shift}
        return found

    @cached_property
    def _kept(self) -> dict[int, Row]:
        """The documents that Pipelines dropped and kept with `keep_dropped=True`."""
        found: dict[int, Row] = {}
        for folder in family(self.url, saved=False):
            if (home := MemberFolder(folder.kept.url, folder.shifts)).is_dataset:
                self.members[home.url] = home
                found |= self._rows(home.url)
        return found

    @cached_property
    def _dropped_first(self) -> dict[int, Row]:
        """The input documents whose text no stage changed before a later step dropped them."""
        found, left = dict[int, Row](), self.ids
        for folder in family(self.url, saved=False):  # the first one that may have a document read it from the input
            first, ids = next(iter(folder.saved), folder), [id_ for id_ in left if folder.may_have(id_)]
            left = [id_ for id_ in left if not folder.may_have(id_)]
            if first != folder:
                dropped = {row["id"] for at in first.tables(DROPS) for row in first.rows(at, ids, DROPS)}
                ids = [id_ for id_ in ids if id_ in dropped]
            found |= {id_: self._input[id_] for id_ in ids if id_ in self._input}
        return found


def pairs_of(url: str, drops: Iterable[Drop]) -> DocumentsAsRead:
    """Return the documents of a run that some drops name: the dropped ones, and those kept in their place."""
    drops = list(drops)
    kept = (drop.duplicate_of for drop in drops if drop.duplicate_of is not None and drop.duplicate_of_dataset is None)
    return DocumentsAsRead(url, [*(drop.id for drop in drops), *kept])


def bytes_outside(data: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return the bytes of `data` that are in none of the ranges `spans`, pairs (start, end), which may overlap."""
    outside, at = [], 0
    for start, end in sorted(spans):
        outside.append(data[at:start])
        at = max(at, end)
    return b"".join([*outside, data[at:]])


def _id(row: Row) -> int:
    return int(row["id"])
