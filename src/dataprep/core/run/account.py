"""Account: what the passes of a run did, for the manifest, and the searches that the result must pass."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import pyarrow as pa
import xxhash

from ..model import batch as B
from ..model.dataset import Dataset
from ..model.describe import stated
from ..model.stage import Stage
from ..model.stats import Stats
from ..model.unread import Unread, without_names
from ..output.audit import Search
from ..output.layout import CUTS, DROPS
from ..output.state import Manifest, Receipt, Recipe, Shard, UnreadTable


class Account:
    """What the passes before the last one did.

    searches: for private strings, which the result must pass. earlier: statistics of each pass. unread: files that were
    not read. saved: folders of saved inputs of Estimators, relative to the output folder. fits: the facts of each
    Estimator.
    """

    def __init__(self, docs: Dataset) -> None:
        self.searches: list[Search] = []
        self.earlier: list[Stats] = []
        self.unread: list[Unread] = list(docs.left_out)
        self.saved: list[str] = []
        self.fits: list[dict[str, Any]] = []
        for stage in docs.stages:
            self.then(stage)

    def save(self, folder: str, stats: Stats, unread: Sequence[Unread]) -> None:
        """Enter a pass that saved the input of an Estimator; of the first, `unread` has all files of the input."""
        self.unread = [*(self.unread if self.earlier else ()), *unread]
        self.earlier.append(stats)
        self.saved.append(folder)

    def fit(self, label: str, facts: Mapping[str, Any]) -> None:
        """Enter the facts that an Estimator states; label: its name in statistics."""
        self.fits.append({**facts, "stage": label})

    def then(self, stage: Stage) -> None:
        """Enter a stage; if everything before it is private, what names or quotes it is removed."""
        if (search := stage.secrets()) is not None:
            self.searches.append(search)
        if stage.hides:
            self.earlier, self.saved = [stats.hidden() for stats in self.earlier], []
            self.unread = without_names(self.unread)

    def manifest(
        self, docs: Dataset, made: Sequence[Receipt], recipe: Recipe, origin: str | None, unread: UnreadTable | None
    ) -> Manifest:
        """Return the manifest of a complete Dataset, which does not depend on the time, the machine or the workers.

        made: the receipt of each part. origin: the name of the file that lists the input files.
        """
        shards = [shard for receipt in made for shard in _shards(receipt)]
        stats = Stats([stage for stats in self.earlier for stage in stats])
        stats.stages += Stats.sum(Stats.from_json(receipt.stats) for receipt in made).stages
        last = max((shard.last_id for shard in shards if shard.last_id is not None), default=0)
        of_recipe = {f.name: getattr(recipe, f.name) for f in fields(recipe) if f.name != "keeps"}
        return Manifest(
            **of_recipe,
            docs=sum(shard.docs for shard in shards),
            bytes=sum(shard.bytes for shard in shards),
            content=xxhash.xxh3_128_hexdigest("".join(shard.content for shard in shards).encode()),
            columns=made[0].shards[0].columns if made else [[f.name, str(f.type)] for f in B.SCHEMA],
            last_file=max(B.split_id(last)[0], docs.last_file),
            inputs=docs.inputs,
            shards=tuple(shards),
            stats=stats.to_json(),
            saved=self.saved,
            fits=[stated(facts) for facts in self.fits],
            unread=unread,
            origin=origin,
            made_with={"python": platform.python_version_tuple()[:2], "pyarrow": pa.__version__},
        )


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
