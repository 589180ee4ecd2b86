"""Staging: where the new files of a folder are written, and which finished parts of earlier results are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dataprep.store import files, receipts

from . import owned
from .layout import DATA, EARLIER, UNFINISHED, Folder, numbered, shard_name, table_name


@dataclass(frozen=True)
class Staging:
    """Where the files of one generation of a result are written; sent to workers.

    out: the output folder. generation: see `Recipe`.
    """

    out: str
    generation: int

    @property
    def home(self) -> str:
        """The folder for new files. An object store cannot rename, so there the files get their places at once."""
        return files.join(self.out, UNFINISHED) if files.is_local(self.out) else self.out

    def numbered(self, name: str) -> str:
        """Return the path in the folder of the file `name` of this generation."""
        return numbered(name, self.generation)

    def shard(self, part: int, number: int) -> str:
        """Return the path of a new shard in the folder; number: its number in the part, from 0."""
        return shard_name(part, number, self.generation)

    def table(self, kind: str, part: int) -> str:
        """Return the path of a new table of a part; kind: DROPS or CUTS."""
        return table_name(kind, part, self.generation)

    def url(self, name: str) -> str:
        """Return the URL at which the file `name` of the folder is written."""
        return files.join(self.home, name)

    def receipt(self, part: int) -> str:
        """Return the URL of the receipt of a part that is being made."""
        return Folder(files.join(self.out, UNFINISHED)).receipt(part)

    def enter(self, homes: Iterable[Folder]) -> None:
        """Write the list of the finished parts in folders, which `keep` reads."""
        held = {record["key"]: url for home in homes for url in home.receipts() if (record := receipts.found(url))}
        if held:
            files.write_state(files.join(self.out, UNFINISHED, EARLIER), held)

    def keep(self, key: str, number: int) -> None:
        """Write the receipt of part `number`, unless it has one, if an earlier result has a part of this key.

        Whether its files are whole is not checked.
        """
        new, listed = self.receipt(number), files.join(self.out, UNFINISHED, EARLIER)
        known = receipts.found(new)
        if (known is None or known["key"] != key) and files.exists(listed):
            url = files.read_json(listed).get(key)
            record = receipts.found(url) if url else None
            if record is not None and record["key"] == key:
                is_here = files.is_inside(url, self.out) and files.name_of(url) == files.name_of(new)
                kept = receipts.moved(record, url, new) if is_here else self._linked(record, url, number)
                if kept is not None:
                    files.write_state(new, kept)

    def _linked(self, record: Mapping[str, Any], url: str, number: int) -> dict[str, Any] | None:
        """Give the files of a part of another number or folder a second name, without a copy of them."""
        shards = {files.name_of(one["name"]): n for n, one in enumerate(record["shards"])}
        names = {}
        for one in record["files"]:
            kind, _, name = one["name"].removeprefix("../").rpartition("/")
            new = self.shard(number, shards[name]) if kind == DATA else self.table(kind, number)
            names[one["name"]] = new
        try:
            for old, new in names.items():
                owned.link(receipts.resolved(url, old), self.url(new))
        except OSError:  # a file system without links, or an object store
            return None
        stored = [{**one, "name": f"../{names[one['name']]}"} for one in record["files"]]
        moved = [{**one, "name": names[f"../{one['name']}"]} for one in record["shards"]]
        return {**record, "shards": moved, "files": stored}
