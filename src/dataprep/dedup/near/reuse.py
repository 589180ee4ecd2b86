"""Find the keys (hashes) that earlier runs computed, so that no text is hashed twice; open what `against=` names.

Keys are searched for in two kinds of folders. First, another step of the same output may have hashed the same part, for
example before a file was added or removed, or for another threshold. Second, the Pipeline that sealed (finished) a
shard may have run a deduplication with the same settings. Its keys are found by the documents' ids, unless a later
stage of that Pipeline changed texts. Documents of the Datasets that `against=` names come first and are kept; only
those that share a key with a new document are read again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dataprep.core.model.dataset import Dataset
from dataprep.core.model.part import Part, Sealed
from dataprep.core.output.layout import STEPS, Folder, home_of
from dataprep.dedup.older import Older
from dataprep.errors import require
from dataprep.store import files, receipts
from dataprep.store.key import key as key_of

from .keys import KEYS, HashDocuments, LentKeys, PartToHash, is_complete, key_url, parent, without_drops

log = logging.getLogger("dataprep")


@dataclass(frozen=True)
class StoredKeys:
    """The keys (hashes of documents) that deduplication stored when a sealed Dataset (a finished output) was made.

    Attributes:
        folder: the Dataset's folder.
    """

    folder: Folder

    @cached_property
    def fits(self) -> list[dict[str, Any]]:
        """The statistics of each run whose files exist; "step" is the run's folder, "index" its index.json."""
        known = {fit["index"]: fit for fit in self.folder.sealed.fits if "index" in fit}
        found = []
        for step in self.folder.steps if known else ():
            index = receipts.found(step.path("index.json")) or {}
            if index.get("key") in known:
                found.append({**known[index["key"]], "step": step, "index": index})
        return found

    def lent(self, sketch_key: str) -> tuple[LentKeys, ...]:
        """Return the stored keys that were made with the settings whose hash is `sketch_key`, one item per part; or ().

        The result is () if no stored keys can be used: none were stored with these settings, a later stage changed
        texts, or a file of keys is damaged. For a damaged file a warning is logged.
        """
        for fit in self.fits:
            later = self.folder.sealed.stages[fit["step"].number :]
            if fit["sketch_key"] == sketch_key and all(stage["only_drops"] for stage in later):
                numbers = range(fit["index"]["old_parts"], fit["index"]["parts"])
                every = [_lent(fit["step"].url, number) for number in numbers]
                if None not in every:
                    return tuple(one for one in every if one is not None and one.keys)
                log.warning("the keys in %s are damaged; its documents are hashed again", fit["step"].url)
        return ()

    @cached_property
    def shards(self) -> dict[str, tuple[int, int]]:
        """The range of document ids, (first, last), of every shard that has documents, by the shard's file name."""
        every = self.folder.sealed.shards
        ids = {files.name_of(s.name): int(s.last_id) for s in every if s.last_id is not None}
        return dict(zip(ids, zip((0, *(n + 1 for n in ids.values())), ids.values(), strict=False), strict=True))


def check(older: Older, sketch_key: str, wanted: str) -> None:
    """Raise PlanError if MinHash stored keys for a Dataset, but none of them with these settings.

    - sketch_key: the hash of the settings.
    - wanted: the settings as text, for the message.
    """
    fits = [fit for fit in keys_of(older).fits if "settings" in fit]
    others = [str(fit["settings"]) for fit in fits if fit["sketch_key"] != sketch_key]
    require(
        not others or len(others) < len(fits),
        f"{older.given} was hashed with {'; '.join(others)}, and this MinHash has {wanted}; "
        f"give it the same settings, or remove {older.given}/steps to have its documents hashed again",
    )


def keys_of(older: Older) -> StoredKeys:
    """Return the keys (hashes of documents) that deduplication stored when this Dataset was made."""
    return StoredKeys(Folder(older.given.rstrip("/")))


def _lent(folder: str, number: int) -> LentKeys | None:
    """Return the keys of a part of a step; None if one of their files is missing or incomplete."""
    rows = HashDocuments.url(folder, number)
    empty: dict[str, Any] = {"key": "", "keys": []}
    receipt = receipts.found(rows + ".json") or empty
    keys = tuple(key_url(folder, file) for file in receipt["keys"])
    if not (receipts.valid(rows + ".json", receipt["key"]) and all(map(is_complete, keys))):
        return None
    if "first" not in receipt:
        return LentKeys(rows, (), 0, 0)
    return LentKeys(rows, keys, int(receipt["first"]), int(receipt["last"]))


def sibling_steps(out: str) -> list[str]:
    """Return the folders of other steps of the same output that hold keys (hashes of documents), so they can be reused.

    Args:
        out: a step's folder, such as OUTPUT/steps/01-MinHash-...

    Returns [] for other folders.
    """
    home = parent(out)
    names = [n for n in files.listdir(home) if n != files.name_of(out)] if files.name_of(home) == STEPS else []
    return [files.join(home, name) for name in names if files.is_dir(files.join(home, name, KEYS))]


def parts_to_hash(datasets: Sequence[Dataset], out: str, sketch_key: str) -> list[PartToHash]:
    """Return all parts of the Datasets, numbered in order, each with the files of its keys if they are stored.

    - out: the folder that this deduplication writes to.
    - sketch_key: the hash of the settings that decide the keys (hashes of documents).
    """
    everything = datasets[0].of(part for docs in datasets for part in docs.parts)  # with its hashes of input files
    texts = everything.of(map(_texts_only, everything.parts))
    beside = map(files.name_of, sibling_steps(out))
    steps = {step: set(files.listdir(parent(key_url(out, (step, "name"))))) for step in ("", *beside)}
    stored: dict[str, tuple[StoredKeys, tuple[LentKeys, ...]]] = {}
    items: list[PartToHash] = []
    for part, text_key in zip(everything.tasks, texts.part_keys, strict=True):
        name = key_of((sketch_key, text_key))
        holders = (step for step, names in steps.items() if f"{name}.json" in names)
        found = next(((step, name) for step in holders if is_complete(key_url(out, (step, name)))), None)
        home = _home(part)
        if home is not None and home not in stored:
            keys = StoredKeys(Folder(home))
            stored[home] = (keys, keys.lent(sketch_key))
        lent: tuple[LentKeys, ...] = ()
        if home is not None and not found:  # the keys of the Dataset whose ids overlap those of the shard
            keys, every = stored[home]
            low, high = keys.shards.get(files.name_of(part.slices[0].url), (None, None))
            if low is None or high is None:  # a shard without documents needs no file of keys
                lent = tuple(replace(one, keys=()) for one in every[:1])
            else:
                lent = tuple(one for one in every if one.first <= high and one.last >= low)
        items.append(PartToHash(part, name, found, lent))
    return items


def _texts_only(part: Part) -> Part:
    """Return the input of a part's hashes: its text before verdicts, regardless of its file number."""
    base, _ = without_drops(part)
    return replace(base, slices=tuple(replace(piece, file=0, source="") for piece in base.slices))


def _home(part: Part) -> str | None:
    """Return the folder of the sealed Dataset of which a part is an unchanged shard, or None."""
    home = home_of(part.slices[0].url) if isinstance(part.reader, Sealed) and len(part.slices) == 1 else None
    return home.url if home is not None and not without_drops(part)[0].stages else None
