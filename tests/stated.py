"""State of output folders, as tests write it without a run: what every record needs has a value."""

from __future__ import annotations

from dataprep.core.output.layout import Folder
from dataprep.core.output.state import DATASET, TOKENS
from dataprep.forget.family import Member
from dataprep.store import files

SHARD = {
    "name": "data/part-00000-000.parquet", "size": 1, "hash": "", "docs": 1, "bytes": 1, "content": "",
    "drops": "drops/part-00000.parquet",
}  # fmt: skip
NEEDED = {
    DATASET: {"key": "", "docs": 0, "bytes": 0, "content": "", "columns": [], "last_file": 0, "shards": []},
    TOKENS: {
        "dtype": "uint16", "vocab_size": 9, "eot": 0, "special": {}, "tokens": 0, "documents": 0, "bytes": 0,
        "shards": [],
    },
}  # fmt: skip


def manifest(kind=DATASET, **more):
    """A manifest of a kind."""
    return {"kind": kind, **NEEDED[kind], **more}


def origin(rows, readers):
    """An origin; rows: what matters of the input files."""
    needed = {"source": "", "reader": 0, "size": 1, "fingerprint": ""}
    return {"files": [{**needed, **row} for row in rows], "readers": list(readers)}


def written(place, kind=DATASET, **more):
    """Write a manifest; return the folder."""
    files.write_json(f"{place}/manifest.json", manifest(kind, **more))
    return str(place)


def member(url, kind=DATASET, **more):
    """A folder of a run that states what is given, though there is no file."""
    found = Member(Folder(str(url)), kind)
    vars(found.folder)["_stated"] = manifest(kind, **more)
    return found
