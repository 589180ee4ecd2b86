"""The Datasets and input files that a sealed Dataset was made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dataprep.core.folder import Folder, home_of
from dataprep.store import files


def lineage(url: str) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Return the Datasets that a Dataset was made of, itself first, and the input files of each.

    Keys are (URL, offset of the file numbers in the ids). A Dataset whose run was moved is searched for next to the one
    that read it.
    """
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    todo = [(url, 0)]
    for folder, shift in todo:
        found[folder, shift] = []
        for row in Folder(folder).origin.get("files", []):
            home = home_of(row["url"])
            sibling = None if home is None else Folder(files.join(Folder(folder).parent.url, home.name))
            candidates = (f for f in (home, sibling) if f is not None and f.url != folder and f.is_dataset)
            sealed = next(candidates, None)
            if sealed is None:
                found[folder, shift].append(row | {"file": row["file"] + shift})
            elif (sealed.url, shift + row["file"]) not in todo:
                todo.append((sealed.url, shift + row["file"]))
    return found


def different_inputs(a: str, b: str) -> Iterator[str]:
    """Yield a sentence for each input file whose content differs between the lineages of two Datasets."""
    one, two = ({row["file"]: row for rows in lineage(url).values() for row in rows} for url in (a, b))
    for number in sorted(set(one) & set(two)):
        if one[number]["fingerprint"] != two[number]["fingerprint"]:
            yield (
                f"file {number} was {files.name_of(one[number]['url'])} and {files.name_of(two[number]['url'])}, which "
                "are not the same: ids of it may name different documents"
            )
