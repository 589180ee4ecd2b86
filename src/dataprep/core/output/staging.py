"""Staging: the place to which a folder's new files are written; `keep` adds finished parts of earlier results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from dataprep.store import files, receipts

from . import owned
from .layout import DATA, UNFINISHED, Folder, numbered, shard_name, table_name

THREADS = 8


@dataclass(frozen=True)
class Staging:
    """The folder into which the files of one generation of a result are written; it is sent to workers.

    Attributes:
        out: the output folder.
        generation: see `Recipe`.
    """

    out: str
    generation: int

    @property
    def home(self) -> str:
        """The folder for new files. Object stores cannot rename files, so there new files get their final paths."""
        return files.join(self.out, UNFINISHED) if files.is_local(self.out) else self.out

    def numbered(self, name: str) -> str:
        """Return the path in the folder of the file `name` of this generation."""
        return numbered(name, self.generation)

    def shard(self, part: int, number: int) -> str:
        """Return the path of a new shard in the folder.

        - number: the shard's number in the part, from 0.
        """
        return shard_name(part, number, self.generation)

    def table(self, kind: str, part: int) -> str:
        """Return the path of a new table of a part.

        - kind: DROPS or CUTS.
        """
        return table_name(kind, part, self.generation)

    def url(self, name: str) -> str:
        """Return the URL at which the file `name` of the folder is written."""
        return files.join(self.home, name)

    def receipt(self, part: int) -> str:
        """Return the URL of the receipt of a part whose work is in progress."""
        return Folder(files.join(self.out, UNFINISHED)).receipt(part)


def keep(staging: Staging, homes: Iterable[Folder], keys: Mapping[int, str]) -> None:
    """Write the receipt of each part that has none if an earlier result contains a part with the same key.

    - homes: the folders of earlier results.
    - keys: {number of a part: its key}. The files of a part are not checked.
    """
    every = (one for home in homes for one in home.receipts().items())
    held = {record["key"]: (url, record) for url, record in every if record is not None}
    chosen = [(number, held[key]) for number, key in keys.items() if key in held]
    with ThreadPoolExecutor(THREADS, thread_name_prefix="keep") as threads:
        list(threads.map(lambda one: _keep(staging, *one), chosen))


def _keep(staging: Staging, number: int, one: tuple[str, dict[str, Any]]) -> None:
    new, (url, record) = staging.receipt(number), one
    known = receipts.found(new)
    if known is not None and known["key"] == record["key"]:
        return
    is_here = files.is_inside(url, staging.out) and files.name_of(url) == files.name_of(new)
    kept = receipts.moved(record, url, new) if is_here else _linked(staging, number, url, record)
    if kept is not None:
        files.write_state(new, kept)


def _linked(staging: Staging, number: int, url: str, record: dict[str, Any]) -> dict[str, Any] | None:
    """Create links to the files of a part with another number or in another folder, instead of copying them."""
    shards = {files.name_of(one["name"]): n for n, one in enumerate(record["shards"])}
    names = {}
    for one in record["files"]:
        kind, _, name = one["name"].removeprefix("../").rpartition("/")
        names[one["name"]] = staging.shard(number, shards[name]) if kind == DATA else staging.table(kind, number)
    try:
        for old, new in names.items():
            owned.link(receipts.resolved(url, old), staging.url(new))
    except OSError:  # a file system without links, or an object store
        return None
    stored = [{**one, "name": f"../{names[one['name']]}"} for one in record["files"]]
    moved = [{**one, "name": names[f"../{one['name']}"]} for one in record["shards"]]
    return {**record, "shards": moved, "files": stored}
