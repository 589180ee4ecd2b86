"""Whether what dataprep wrote is still what it wrote: sealed Datasets, token shards, or all of both that a run left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.core.folder import MANIFEST
from dataprep.core.runner import Runner, Serial
from dataprep.errors import DataprepError, PlanError
from dataprep.store import files
from dataprep.tokens.shard_format import KIND
from dataprep.tokens.shards.verify import Problem, verify_shards

from . import why

AGAIN = "run the pipeline again with replace=True"


def verify(url: str, run: Runner | None = None) -> dict[str, list[Problem]]:
    """Read everything in a sealed folder, or in all that lie in a run's folder, and list by folder what is wrong.

    A folder with an empty list is as it was written. Of token shards see `tokens.verify`; of a Dataset the hash of
    every shard, its number of documents, the order of ids, and the hashes of drop and cut tables are compared.

    Errors: PlanError where there is nothing sealed.
    """
    url = url.rstrip("/")
    places = found_in(url)
    if not places:
        msg = f"{url} holds nothing sealed (no {MANIFEST}); give a folder that a run or dp.encode wrote"
        raise PlanError(msg)
    return {place: _verify(place, run or Serial()) for place in places}


def found_in(url: str) -> list[str]:
    """The sealed folders: this one and its saved steps, or those of a run, token shards last."""
    kinds = {place: kind_of(place) for place in (url, *(files.join(url, name) for name in files.listdir(url)))}
    datasets = why.sealed_folders(url) if "dataset" in kinds.values() else []
    return datasets + [place for place, kind in kinds.items() if kind == KIND]


def kind_of(url: str) -> str | None:
    """What is sealed in a folder: "dataset", "tokens", or None."""
    place = files.join(url, MANIFEST)
    try:
        found = files.read_json(place) if files.exists(place) else None
    except DataprepError:  # whoever opens it says so
        return KIND if files.exists(files.join(url, "token_bytes.npy")) else "dataset"
    kind = found.get("kind") if isinstance(found, dict) else None
    return kind if kind in ("dataset", KIND) else None


def _verify(place: str, run: Runner) -> list[Problem]:
    try:
        return verify_shards(place, run) if kind_of(place) == KIND else _dataset(place, run)
    except DataprepError as e:
        return [Problem(MANIFEST, " ".join(str(e).split()), AGAIN)]


@dataclass(frozen=True)
class CheckFile:
    """The item: one file of a Dataset, as a receipt or the manifest describes it."""

    folder: str
    name: str
    size: int
    hash: str
    docs: int | None = None  # of a shard

    @property
    def n_bytes(self) -> int:
        """Bytes as stored, for the progress bar."""
        return self.size

    def __str__(self) -> str:
        return files.join(self.folder, self.name)


def _dataset(folder: str, run: Runner) -> list[Problem]:
    manifest = files.read_json(files.join(folder, MANIFEST))
    shards = [CheckFile(folder, s["name"], s["size"], s["hash"], s["docs"]) for s in manifest["shards"]]
    problems = [problem for found in run.map(_check, [*shards, *_tables(folder)], "verify") for problem in found]
    said, is_ = manifest["docs"], sum(s.docs or 0 for s in shards)
    if said != is_:
        problems.append(Problem(MANIFEST, f"it says {said:,} documents, its shards have {is_:,}", AGAIN))
    return problems


def _tables(folder: str) -> Iterator[CheckFile]:
    """The drop and cut tables, which only receipts describe."""
    place = files.join(folder, "receipts")
    for name in files.listdir(place):
        for file in files.read_json(files.join(place, name))["files"]:
            inside = file["name"].removeprefix("../")
            if inside.startswith(("drops/", "cuts/")):
                yield CheckFile(folder, inside, file["size"], file["hash"])


def _check(item: CheckFile) -> list[Problem]:
    url = str(item)
    if not files.exists(url):
        return [Problem(item.name, "is missing", AGAIN)]
    if files.size(url) != item.size:
        return [Problem(item.name, f"has {files.size(url):,} bytes, {item.size:,} were written", AGAIN)]
    if files.content_hash(url) != item.hash:
        return [Problem(item.name, "its bytes are not those that were written", AGAIN)]
    return [] if item.docs is None else [Problem(item.name, what, AGAIN) for what in _rows(url, item.docs)]


def _rows(url: str, docs: int) -> Iterator[str]:
    """What is wrong with the ids of a shard."""
    with files.open_raw(url) as f:
        try:
            ids = pq.read_table(f, columns=["id"])["id"].to_numpy()
        except pa.ArrowException as e:
            yield f"cannot be read ({str(e).splitlines()[0][:120]})"
            return
    if len(ids) != docs:
        yield f"has {len(ids):,} documents, the manifest says {docs:,}"
    if len(ids) and bool((np.asarray(ids[1:]) <= ids[:-1]).any()):
        yield "its ids do not ascend"


def totals(place: str) -> dict[str, Any]:
    """What a sealed folder says it holds: kind, documents, bytes of text, and tokens if it has any."""
    found = files.read_json(files.join(place, MANIFEST))
    docs = found["docs"] if found["kind"] == "dataset" else found["documents"]
    return {"kind": found["kind"], "documents": docs, "bytes": found["bytes"], "tokens": found.get("tokens")}
