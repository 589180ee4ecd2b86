"""Find the keys that earlier runs computed, so that no text is hashed twice.

Keys are searched for in two folders. Other steps of the same output may have hashed the same part: a dump was added to
those that are read together, or withdrawn, or another threshold is wanted. And the Dataset that a sealed shard belongs
to may have deduplicated itself with the same sketch: its keys are found again by the documents' ids, unless a later
stage of its Pipeline changed texts.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dataprep.core.dataset import Dataset
from dataprep.core.folder import STEPS, Folder, home_of
from dataprep.core.part import Part, Sealed
from dataprep.store import files, receipts
from dataprep.store.key import key as key_of

from .keys import KEYS, HashDocuments, LentKeys, PartToHash, key_url, parent, without_drops

log = logging.getLogger("dataprep")


@dataclass(frozen=True)
class StoredKeys:
    """The keys that the MinHash steps of one sealed Dataset left."""

    folder: Folder

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """The manifest of the Dataset."""
        return self.folder.manifest

    @cached_property
    def fits(self) -> list[dict[str, Any]]:
        """Counts of each of those steps, with its `step` and `index`; without steps whose index was deleted."""
        known = {fit["index"]: fit for fit in self.manifest.get("fits", []) if "index" in fit}
        found = []
        for step in self.folder.steps if known else ():
            index = files.read_json(step.path("index.json")) if files.exists(step.path("index.json")) else {}
            if index.get("key") in known:
                found.append({**known[index["key"]], "step": step, "index": index})
        return found

    def lent(self, sketch_key: str) -> tuple[LentKeys, ...]:
        """Return the keys of this sketch, if they are of the texts that the Dataset has now."""
        for fit in self.fits:
            if fit["sketch_key"] == sketch_key and self._same_texts(fit["step"]):
                numbers = range(fit["index"]["old_parts"], fit["index"]["parts"])
                every = [_lent(fit["step"].url, number) for number in numbers]
                if None not in every:
                    return tuple(one for one in every if one is not None and one.keys)
                log.warning("the keys in %s are damaged; its documents are hashed again", fit["step"].url)
        return ()

    def _same_texts(self, step: Folder) -> bool:
        """Return whether every stage after a step only dropped documents."""
        return all(stage["only_drops"] for stage in self.manifest["stages"][step.number :])

    @cached_property
    def shards(self) -> dict[str, tuple[int, int]]:
        """The range of ids of every shard that has documents, by its name."""
        ids = {files.name_of(s["name"]): int(s["last_id"]) for s in self.manifest["shards"] if s["last_id"] is not None}
        return dict(zip(ids, zip((0, *(n + 1 for n in ids.values())), ids.values(), strict=False), strict=True))


def _lent(folder: str, number: int) -> LentKeys | None:
    """Return the keys of a part of a step; None if one of their files is missing or incomplete."""
    rows = HashDocuments.url(folder, number)
    empty: dict[str, Any] = {"key": "", "keys": []}
    receipt = files.read_json(rows + ".json") if files.exists(rows + ".json") else empty
    keys = tuple(key_url(folder, file) for file in receipt["keys"])
    if not (receipts.valid(rows + ".json", receipt["key"]) and all(map(_is_complete, keys))):
        return None
    if "first" not in receipt:
        return LentKeys(rows, (), 0, 0)
    return LentKeys(rows, keys, int(receipt["first"]), int(receipt["last"]))


def _is_complete(url: str) -> bool:
    return receipts.valid(url + ".json", files.name_of(url)) is not None


def sibling_steps(out: str) -> list[str]:
    """Return the other step folders of the same output that hold keys; none outside a Pipeline."""
    home = parent(out)
    names = [n for n in files.listdir(home) if n != files.name_of(out)] if files.name_of(home) == STEPS else []
    return [files.join(home, name) for name in names if files.is_dir(files.join(home, name, KEYS))]


def parts_to_hash(datasets: Sequence[Dataset], out: str, sketch_key: str) -> list[PartToHash]:
    """Return all parts of the Datasets, numbered in order, with the files of keys that were found."""
    everything = Dataset(tuple(part for docs in datasets for part in docs.parts))
    texts = Dataset(tuple(map(_texts_only, everything.parts)))
    steps = ["", *map(files.name_of, sibling_steps(out))]
    stored: dict[str, tuple[StoredKeys, tuple[LentKeys, ...]]] = {}
    items: list[PartToHash] = []
    for part, text_key in zip(everything.tasks, texts.part_keys, strict=True):
        name = key_of((sketch_key, text_key))
        found = next(((step, name) for step in steps if _is_complete(key_url(out, (step, name)))), None)
        home = _home(part)
        if home is not None and home not in stored:
            keys = StoredKeys(Folder(home))
            stored[home] = (keys, keys.lent(sketch_key))
        lent = _overlapping(part, *stored[home]) if home and not found else ()
        items.append(PartToHash(part, name, found, lent))
    return items


def _overlapping(part: Part, keys: StoredKeys, lent: tuple[LentKeys, ...]) -> tuple[LentKeys, ...]:
    """Return those of the keys of a Dataset that one of its shards needs, by the range of its ids."""
    low, high = keys.shards.get(files.name_of(part.slices[0].url), (1, 0))
    return tuple(one for one in lent if one.first <= high and one.last >= low)


def _texts_only(part: Part) -> Part:
    """Return what is hashed of a part: its text before verdicts, whatever its number among the files."""
    base, _ = without_drops(part)
    return replace(base, slices=tuple(replace(piece, file=0, source="") for piece in base.slices))


def _home(part: Part) -> str | None:
    """Return the folder of the sealed Dataset that a part is an unchanged shard of, or None."""
    home = home_of(part.slices[0].url) if isinstance(part.reader, Sealed) and len(part.slices) == 1 else None
    return home.url if home is not None and not without_drops(part)[0].stages else None
