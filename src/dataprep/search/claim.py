"""Prepare the folder of a search index: keep the index of the same documents, or remove that of others."""

from __future__ import annotations

from dataprep.core.inputs import origin as inputs
from dataprep.core.model.dataset import Dataset
from dataprep.core.output import owned
from dataprep.core.output.layout import ORIGIN, RECIPE
from dataprep.errors import StaleOutput
from dataprep.store import files

from .shard import SHARDS

INDEX, KIND = "index.json", "suffix_index"
OURS = (INDEX, SHARDS, RECIPE, ORIGIN)  # in the order in which they are deleted: a killed call is repeated


def claim(url: str, key: str, docs: Dataset, *, replace: bool) -> None:
    """Make sure that the index of `key` may be written here, and that its input files are listed in origin.json."""
    if strangers := owned.strangers(url, OURS, OURS):
        msg = f"{url} holds {strangers[0]}, which is not part of an index; give another folder"
        raise StaleOutput(msg)
    if _key_of(url) == key:
        if not files.exists(files.join(url, ORIGIN)):
            inputs.write(docs, url)
        if not files.exists(files.join(url, RECIPE)):
            files.write_state(files.join(url, RECIPE), {"kind": KIND, "key": key})
        return
    if any(files.exists(files.join(url, name)) for name in OURS[:-1]):
        if not replace:
            msg = f"{url} is an index of other documents; give another folder, or replace=True"
            raise StaleOutput(msg)
        remove(url)
    owned.begin(url)
    inputs.write(docs, url)
    files.write_state(files.join(url, RECIPE), {"kind": KIND, "key": key})


def remove(url: str) -> int:
    """Remove the files of an index, finished or not; return the bytes freed."""
    return owned.remove(url, OURS)


def _key_of(url: str) -> str | None:
    """Return the key of the index in a folder, finished or not; None if it states none."""
    for place in (files.join(url, RECIPE), files.join(url, INDEX)):
        if files.exists(place):
            return str(files.read_state(place).get("key"))
    return None
