"""Decide whether an output may be continued although its input changed: only files that it could not read have changed.

A bad or empty file is a row of the unread table. If such a file is fetched again, the next run makes its part again,
without `replace=True`; parts whose keys are the same keep their receipts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow.parquet as pq

from dataprep.errors import DataprepError, redacted
from dataprep.store import files
from dataprep.store.key import key

from .dataset import Dataset
from .folder import UNREAD, Folder
from .unread import BAD, EMPTY


def work_key(docs: Dataset, stages: Sequence[Any]) -> str:
    """Return a hash of the readers and stages that make a result; it does not depend on the input files."""
    readers = list(dict.fromkeys(part.reader for part in docs.parts))
    return key((readers, docs.stages, list(stages)))


def _unread_files(out: str) -> set[str]:
    """Return the files that earlier runs of a folder found to be bad or empty."""
    found: set[str] = set()
    for home in (Folder(out), *(step.input for step in Folder(out).steps)):
        url = home.path(UNREAD)
        if files.exists(url):
            with files.open_raw(url) as f:
                found |= {row["file"] for row in pq.read_table(f).to_pylist() if row["reason"] in (BAD, EMPTY)}
    return found


def only_unread_changed(out: str, docs: Dataset, stages: Sequence[Any]) -> bool:
    """Return whether the folder `out` was made by the same readers and stages, and from the same files, as now.

    Files that the earlier run could not read may differ.
    """
    try:
        origin, unread = Folder(out).origin, _unread_files(out)
        if not unread or origin.get("work") != work_key(docs, stages):
            return False
        old = {(row["url"], row["file"], row["source"]): row["fingerprint"] for row in origin["files"]}
    except (DataprepError, OSError, KeyError):
        return False
    pieces = [piece for part in docs.parts for piece in part.slices]
    new = {(redacted(p.url), p.file, p.source): docs.fingerprints[p.url] for p in pieces}
    return old.keys() == new.keys() and {name[0] for name in new if new[name] != old[name]} <= unread
