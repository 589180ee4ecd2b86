"""Older Datasets that new documents are compared with: what `against=` names.

Their documents come first and stay; only those that share a key with a new document are read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dataprep.core.dataset import Dataset, open_dataset
from dataprep.errors import CorruptShard, PlanError, ReadError

from .reuse import Keys, keys_of


@dataclass(frozen=True)
class Old:
    """A sealed Dataset that is older than what is deduplicated."""

    given: str  # as the user wrote it, which is how verdicts name it
    docs: Dataset
    content: str  # the hash of what is in it: ids, texts and columns, wherever it lies

    @classmethod
    def open(cls, given: str) -> Old:
        """A folder that `against=` names; a PlanError if there is no sealed Dataset, or not all of it."""
        try:
            docs = open_dataset(given)
        except (ReadError, CorruptShard) as e:
            msg = f"against={given!r} names no whole sealed Dataset: {e}"
            raise PlanError(msg) from e
        return cls(given, docs, str(docs.manifest["content"]))

    @cached_property
    def keys(self) -> Keys:
        """The keys that its own deduplication left."""
        return keys_of(self.given.rstrip("/"))

    def check(self, signing: str, wanted: str) -> None:
        """A PlanError if all the keys it has are of other parameters than those `wanted`."""
        others = [str(fit["settings"]) for fit in self.keys.fits if fit["signing"] != signing]
        if others and len(others) == len(self.keys.fits):
            msg = (
                f"{self.given} was signed with {'; '.join(others)}, and this MinHash has {wanted}, whose keys never "
                f"meet; give it the same settings, or remove {self.given}/steps to have its documents signed again"
            )
            raise PlanError(msg)


def named(against: str | Sequence[str] | None) -> tuple[str, ...]:
    """What `against=` names, as a tuple; anything but folders is a PlanError."""
    folders: tuple[Any, ...] = (against,) if isinstance(against, str) else tuple(against or ())
    if not all(isinstance(name, str) and name for name in folders):
        msg = f"against={against!r} is not a folder of a sealed Dataset, or a list of them"
        raise PlanError(msg)
    if len(set(folders)) < len(folders):
        msg = f"against={against!r} names a folder twice"
        raise PlanError(msg)
    return folders
