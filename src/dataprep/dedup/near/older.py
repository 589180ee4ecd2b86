"""Older: the Datasets that `against=` names, with which new documents are compared.

Their documents come first and are kept; only those that share a key with a new document are read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dataprep.core.dataset import Dataset, open_dataset
from dataprep.core.folder import Folder
from dataprep.errors import CorruptShard, PlanError, ReadError

from .reuse import StoredKeys


@dataclass(frozen=True)
class Older:
    """A sealed Dataset that is older than the one that is deduplicated."""

    given: str  # as the user wrote it, which is how verdicts name it
    docs: Dataset
    content: str  # the hash of its ids, texts and columns, wherever it is stored

    @classmethod
    def open(cls, given: str) -> Older:
        """Open a folder that `against=` names. Raises PlanError if it is not a complete sealed Dataset."""
        try:
            docs = open_dataset(given)
        except (ReadError, CorruptShard) as e:
            msg = f"against={given!r} must be the folder of a complete sealed Dataset: {e}"
            raise PlanError(msg) from e
        return cls(given, docs, str(docs.manifest["content"]))

    @cached_property
    def keys(self) -> StoredKeys:
        """Keys that its own deduplication stored."""
        return StoredKeys(Folder(self.given.rstrip("/")))

    def check(self, sketch_key: str, wanted: str) -> None:
        """Raise PlanError if it has keys, and all are of other settings than `wanted`."""
        others = [str(fit["settings"]) for fit in self.keys.fits if fit["sketch_key"] != sketch_key]
        if others and len(others) == len(self.keys.fits):
            msg = (
                f"{self.given} was hashed with {'; '.join(others)}, and this MinHash has {wanted}; "
                f"give it the same settings, or remove {self.given}/steps to have its documents hashed again"
            )
            raise PlanError(msg)


def folders_of(against: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the folders that `against=` names. Raises PlanError if it is not a list of different folders."""
    folders: tuple[Any, ...] = (against,) if isinstance(against, str) else tuple(against or ())
    if not all(isinstance(name, str) and name for name in folders):
        msg = f"against={against!r} must be the folder of a sealed Dataset, or a list of them"
        raise PlanError(msg)
    if len(set(folders)) < len(folders):
        msg = f"against={against!r} must name every folder once"
        raise PlanError(msg)
    return folders
