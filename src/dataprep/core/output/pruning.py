"""Remove the saved steps of a result, except for the tables of the documents and spans that they dropped and cut.

A saved input of an Estimator contains the drop and cut tables of the stages before the Estimator. No other file has
these rows. The tables, and the records that are needed to read and check them, are therefore kept. The manifest of the
saved input is renamed first, so that from then on the folder is not a complete Dataset: the next run that needs the
documents saves them again.
"""

from __future__ import annotations

from dataprep.store import files

from . import owned
from .layout import FORGET_LIST, INPUT, MANIFEST, PRUNED, RECEIPTS, RECIPE, REPLACED, STEPS, UNFINISHED, Folder

REMOVED = (STEPS, UNFINISHED, REPLACED)


def prune(home: Folder) -> int:
    """Delete the steps and the unfinished and replaced files of a result; return the bytes freed.

    The tables of the saved inputs that the manifest of the result lists are kept. A repeated call completes an
    interrupted one.

    Raises CorruptShard, before anything is deleted, if a manifest that lists the tables is damaged.
    """
    kept, listed = set[str](), set(() if home.manifest is None else home.manifest.saved)
    inputs = [step.input for step in home.steps if files.join(STEPS, step.name, INPUT) in listed]
    records = [(place, record) for place in inputs if (record := place.record) is not None]
    for place, record in records:
        names = {*record.names(), PRUNED, RECIPE, FORGET_LIST} - {shard.name for shard in record.shards}
        names |= {files.join(RECEIPTS, name) for name in files.listdir(place.path(RECEIPTS))}
        kept |= {files.join(STEPS, place.parent.name, INPUT, name) for name in names}
    for place, _ in records:
        if place.is_sealed:
            owned.move((place.path(MANIFEST), place.path(PRUNED)))
    return owned.remove(home.url, REMOVED, but=kept)
