"""Turn a view (`layout="view"`) into a copy, and compare its input with what was read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from dataprep.errors import CorruptShard, DataprepError
from dataprep.store import files, hashes, receipts

from ..model import batch as B
from ..model.dataset import Dataset, open_dataset
from ..model.part import Part, Sealed
from ..model.reader import reader_of
from ..model.view import AGAIN, VIEW
from ..output import forget_list
from ..output.commit import Output, Wanted
from ..output.layout import ORIGIN, RECEIPTS, Folder, numbered
from ..output.staging import Staging
from ..output.state import File, Origin, Receipt, Shard
from .context import context_of
from .runner import Runner
from .seal import Flow, content_of, write_shard

OTHER = f"the input has other documents than when this view of it was made; {AGAIN}"


def damaged_input(home: Folder, runner: Runner) -> Iterator[tuple[str, str]]:
    """Read the input of a view, and yield (name, sentence) for each file and each shard whose documents have changed.

    - runner: the Runner that reads it.
    """
    try:
        docs, origin = open_dataset(home.url), home.origin or Origin()
    except DataprepError as e:
        yield ORIGIN, " ".join(str(e).split())
        return
    for row in origin.files:
        is_shard = isinstance(reader_of(origin.readers[row.reader]), Sealed)  # whose documents are compared below
        if not row.left_out and not is_shard and hashes.fingerprint(row.url) != row.fingerprint:
            yield row.url, f"its content has changed since this view of it was made; {AGAIN}"
    for shard, content in zip(docs.sealed.shards, runner.map(_content, docs.parts, "verify"), strict=True):
        if content != shard.content:
            yield shard.name, content if " " in content else OTHER


def _content(part: Part) -> str:
    """Return the content hash of the documents of a part, or the sentence of the error that reading it raised."""
    try:
        return content_of(part.batches())
    except DataprepError as e:
        return " ".join(str(e).split())


def materialize(url: str, runner: Runner | None = None) -> Dataset:
    """Write the documents of a view into its folder, so that it no longer needs its input, and return the Dataset.

    The shards have the bytes, and the result has the recipe, of a run without `layout="view"`. Nothing is done if the
    Dataset is not a view.

    Args:
        url: the folder, as a path or a URL.
        runner: the Runner that writes the shards; None: `dp.tools.Serial()`.

    Raises ReadError if the input is missing or has changed, and CorruptShard if it has other documents.
    """
    docs = open_dataset(url)
    home, old = Folder(str(docs.url)), docs.sealed
    wanted = Wanted(
        recipe=replace(old.recipe, codec=None), origin=home.origin_as_given, forgotten=forget_list.listed(home.url)
    )
    if old.codec != VIEW:
        return docs
    with Output(home.url, open_dataset).begin(wanted, replace=True) as work:
        if work.result is None:
            made = context_of(runner).map(CopyShard(work.files), docs.parts, "materialize")
            shards = {one.name: _copied(one, new) for one, new in zip(old.shards, made, strict=True)}
            for at, record in home.receipts().items():
                new = _restated(Receipt.of(receipts.stated(record, at), at), shards)
                new.save(work.unfinished.path(RECEIPTS, files.name_of(at)))
            work.commit(replace(old, codec=None, shards=tuple(shards.values())))
    return work.finished


@dataclass(frozen=True)
class CopyShard:
    """Task that writes the documents of a shard of a view, and returns the entry of the new shard.

    Attributes:
        places: the folder into which it is written.
    """

    places: Staging

    def __call__(self, part: Part) -> dict[str, Any]:
        """Write the shard that a part reads."""
        (piece,) = part.slices
        name = numbered(piece.url.removeprefix(f"{self.places.out}/"), self.places.generation)
        at = self.places.url(name)
        schema = part.reader.schema(piece) if isinstance(part.reader, Sealed) else B.SCHEMA
        content = write_shard(Flow(part.batches()), at, "zstd", schema, math.inf)["content"]
        return {"name": name, "content": content, "size": files.size(at), "hash": files.content_hash(at)}


def _copied(shard: Shard, new: dict[str, Any]) -> Shard:
    if new["content"] != shard.content:
        msg = f"{shard.name}: {OTHER}"
        raise CorruptShard(msg)
    return replace(shard, name=new["name"], size=new["size"], hash=new["hash"], sealed=shard.sealed or shard.hash)


def _restated(receipt: Receipt, shards: dict[str, Shard]) -> Receipt:
    """Return the receipt of a part with its new shards."""
    new = {f"../{name}": File(name=f"../{one.name}", size=one.size, hash=one.hash) for name, one in shards.items()}
    own = [(one, shards[one.name]) for one in receipt.shards]
    return replace(
        receipt, key=f"{receipt.key.removesuffix(f'-{VIEW}')}-zstd",
        files=tuple(new.get(one.name, one) for one in receipt.files),
        shards=tuple(replace(one, name=now.name, sealed=now.sealed) for one, now in own),
    )  # fmt: skip
