"""Keep the vectors that `SemDeDup(embed=...)` computed, and find them again for the Datasets that `against=` names.

The vectors of new documents remain in the step's folder, with a list of their files. They are used if the same function
produced them and no later stage of that Pipeline changed texts. A model therefore reads each text once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataprep.core.output import owned
from dataprep.core.output.layout import Folder
from dataprep.dedup.older import Joined, Older
from dataprep.store import files, receipts

from .vectors import EmbedDocuments, StoredVectors

INDEX = "index.json"


def keep_vectors(out: str, key: str, embed: str, joined: Joined) -> None:
    """Delete older documents' vectors in the step's folder `out`, and list the files of new documents' vectors.

    - key: the hash that identifies the decisions of this step.
    - embed: the hash of the function that computed the vectors.
    """
    for number in range(joined.n_old):
        for suffix in ("", ".json"):
            owned.discard(EmbedDocuments.url(out, number) + suffix)
    parts = [item.number for item in joined.docs.tasks[joined.n_old :]]
    index = {"key": key, "embed": embed, "shift": str(joined.first_new), "parts": parts}
    files.write_state(files.join(out, EmbedDocuments.folder, INDEX), index)


def stored_vectors(older: Sequence[Older], embed: str, joined: Joined) -> tuple[StoredVectors | None, ...]:
    """Return the stored vectors of each part of the older Datasets, in their order; None for a part without them."""
    found: list[StoredVectors | None] = []
    for old, first in zip(older, joined.firsts, strict=False):
        one = _vectors_of(Folder(old.given.rstrip("/")), embed, first)
        found += [one] * len(old.docs.parts)
    return tuple(found)


def _vectors_of(home: Folder, embed: str, first: int) -> StoredVectors | None:
    """Return the vectors in the steps of a Dataset, or None.

    - embed: as in keep_vectors.
    - first: the index of the Dataset's first id among those of all documents.
    """
    fitted = {fit.get("vectors_of") for fit in home.sealed.fits} - {None}
    for step in home.steps if fitted else ():
        url = step.path(EmbedDocuments.folder, INDEX)
        index: dict[str, Any] = files.read_json(url) if files.exists(url) else {}
        later = home.sealed.stages[step.number :]
        if index.get("key") not in fitted or index["embed"] != embed or not all(one["only_drops"] for one in later):
            continue
        urls = tuple(EmbedDocuments.url(step.url, number) for number in index["parts"])
        if all(map(_is_whole, urls)):
            return StoredVectors(urls, (int(index["shift"]) - first) % (1 << 64))
    return None


def _is_whole(url: str) -> bool:
    record = receipts.found(url + ".json")
    return record is not None and receipts.valid(url + ".json", record["key"]) is not None
