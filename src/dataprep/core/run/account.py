"""Account: the documents of a run between its passes, and the records of these passes, for the manifest."""

from __future__ import annotations

import functools
import logging
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import pyarrow as pa
import xxhash

from dataprep.errors import Leak

from ..model import batch as B
from ..model.dataset import Dataset
from ..model.describe import READ, stated
from ..model.stage import Stage
from ..model.stats import Stats
from ..model.tables import Unread
from ..model.unread import UnreadFiles, without_names
from ..output.audit import Search, search_all
from ..output.commit import Check, Work
from ..output.layout import CUTS, DROPS
from ..output.state import Manifest, Receipt, Shard
from .context import Context

log = logging.getLogger("dataprep")


class Account:
    """The documents of a run after the passes completed so far, and the records of these passes.

    Attributes:
        docs: the documents, with the stages that have not been applied yet.
        earlier: the statistics of each pass.
        unread: the files that were not read.
        saved: the folders of the Estimators' saved inputs, relative to the output folder.
        fits: the facts of each Estimator.
        searches: the searches for private strings, none of which may be in the result.
    """

    def __init__(self, docs: Dataset) -> None:
        self.docs = docs
        self.earlier: list[Stats] = []
        self.unread: list[Unread] = list(docs.left_out)
        self.saved: list[str] = []
        self.fits: list[dict[str, Any]] = []
        self.searches: list[Search] = []
        for stage in docs.stages:
            self._enter(stage)

    def save(self, folder: str, docs: Dataset) -> None:
        """Continue with the documents that a pass saved in a step's folder, and with its full list of unread files."""
        self.unread = [*(self.unread if self.earlier else ()), *docs.unread_rows]
        self.earlier.append(docs.stats)
        self.saved.append(folder)
        self.docs = docs

    def fit(self, label: str, stage: Stage) -> None:
        """Record the facts that the stage of an Estimator states.

        - label: the stage's name in statistics.
        """
        self.fits.append({**getattr(stage, "facts", {}), "stage": label})

    def then(self, stage: Stage, label: str) -> None:
        """Add a stage to those that are still to be applied to the documents."""
        self.docs = self.docs.then(stage, labels=[label])
        self._enter(stage)

    def _enter(self, stage: Stage) -> None:
        """Add a stage; if everything before it is private, remove or mask its names and quotations."""
        if (search := stage.secrets()) is not None:
            self.searches.append(search)
        if stage.hides:
            self.earlier, self.saved = [stats.hidden() for stats in self.earlier], []
            self.unread = without_names(self.unread)
        elif stage.masks:
            self.earlier = [Stats([one.quoted(stage.masked) for one in stats]) for stats in self.earlier]

    def close(self, work: Work[Dataset], records: Iterable[Mapping[str, Any]]) -> Manifest:
        """Return the manifest of the Dataset that the last pass writes.

        The manifest does not depend on the time, the machine or the workers. Raises ReadError if too many files are
        bad.

        - records: the receipt of each part.
        """
        docs, made = self.docs, list[Receipt]()
        with UnreadFiles(docs.max_bad_files, work.files, self.unread, names=not docs.hides) as rows:
            for record in records:
                made.append(Receipt.of(record, work.out))
                rows.add(made[-1].unread)
            rows.close(sum(map(_docs_read, made)))
        shards = [shard for receipt in made for shard in _shards(receipt)]
        stats = Stats([stage for stats in self.earlier for stage in stats])
        stats.stages += Stats.sum(Stats.from_json(receipt.stats) for receipt in made).stages
        last = max((shard.last_id for shard in shards if shard.last_id is not None), default=0)
        of_recipe = {f.name: getattr(work.recipe, f.name) for f in fields(work.recipe) if f.name != "keeps"}
        return Manifest(
            **of_recipe | {"parts": len(made)},
            docs=sum(shard.docs for shard in shards),
            bytes=sum(shard.bytes for shard in shards),
            content=xxhash.xxh3_128_hexdigest("".join(shard.content for shard in shards).encode()),
            columns=made[0].shards[0].columns if made else [[f.name, str(f.type)] for f in B.SCHEMA],
            last_file=max(B.split_id(last)[0], docs.last_file),
            inputs=docs.inputs,
            shards=tuple(shards),
            stats=stats.to_json(),
            saved=self.saved,
            fits=stated(self.fits),
            unread=rows.table,
            made_with={"python": platform.python_version_tuple()[:2], "pyarrow": pa.__version__},
        )

    def check(self, context: Context) -> Check:
        """Return the function that searches a new result for private strings; in a trial, it logs a Leak."""
        search = functools.partial(search_all, tuple(self.searches), context)
        return search if context.trial is None else functools.partial(_try, search)


def _try(search: Check, folder: str, skip: Sequence[str]) -> None:
    try:
        search(folder, skip)
    except Leak as e:
        log.warning("a run would stop here: %s", e)


def _docs_read(receipt: Receipt) -> int:
    """Return the number of documents that the reader of a part returned."""
    return sum(stage.docs_out for stage in Stats.from_json(receipt.stats) if stage.name == READ)


def _shards(receipt: Receipt) -> list[Shard]:
    """Return the entries of a part's shards for the manifest."""
    stored = {one.name.rpartition("../")[2]: one for one in receipt.files}
    tables = {name.partition("/")[0]: name for name in stored}
    return [
        Shard(
            name=one.name, docs=one.docs, bytes=one.bytes, last_id=one.last_id, content=one.content,
            size=stored[one.name].size, hash=stored[one.name].hash, drops=tables[DROPS], cuts=tables.get(CUTS),
            sealed=one.sealed,
        )
        for one in receipt.shards
    ]  # fmt: skip
