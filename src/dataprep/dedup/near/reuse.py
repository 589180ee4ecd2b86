"""Which keys were made before: signing is never repeated.

Two places are looked at. Steps of the same output, beside the one that works, signed the same part: a dump was added
to those that are read together, or withdrawn, or another threshold is asked for. And the Dataset that a sealed shard
belongs to may have deduplicated itself with the same sketch: its keys are found again by the documents' ids, unless a
later stage of its recipe changed texts.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dataprep.core.dataset import Dataset
from dataprep.core.folder import MANIFEST
from dataprep.core.part import Part, Sealed
from dataprep.store import files, receipts
from dataprep.store.key import key as key_of

from .sign import Made, Ref, Unsigned, beneath, parent, place

if TYPE_CHECKING:
    from .older import Old

log = logging.getLogger("dataprep")


@dataclass(frozen=True)
class Keys:
    """The keys that the MinHash steps of one sealed Dataset left."""

    url: str
    manifest: Mapping[str, Any]

    @cached_property
    def fits(self) -> list[dict[str, Any]]:
        """What each of those steps counted, with its `folder`; those whose index is still there."""
        told = {fit["index"]: fit for fit in self.manifest.get("fits", []) if "index" in fit}
        steps = files.join(self.url, "steps")
        found = []
        for folder in (files.join(steps, name) for name in files.listdir(steps)) if told else ():
            record = files.join(folder, "index.json")
            index = files.read_json(record) if files.exists(record) else {}
            if index.get("key") in told:
                found.append({**told[index["key"]], "folder": folder, "index": index})
        return found

    def made(self, signing: str) -> tuple[Made, ...]:
        """The keys of this signing, if they are of the texts that the Dataset has now."""
        for fit in self.fits:
            if fit["signing"] == signing and self._same_texts(fit["folder"]):
                numbers = range(fit["index"]["old_parts"], fit["index"]["parts"])
                rows = [files.join(fit["folder"], "rows", f"part-{number:05d}") for number in numbers]
                every = [_made(fit["folder"], url) for url in rows]
                if None not in every:
                    return tuple(one for one in every if one is not None and one.keys)
                log.warning("the keys in %s are damaged; its documents are signed again", fit["folder"])
        return ()

    def _same_texts(self, folder: str) -> bool:
        """Whether no stage after the step of this folder changed a text."""
        later = self.manifest["stages"][int(files.name_of(folder).partition("-")[0]) :]
        books = self.manifest["stats"][len(self.manifest["stats"]) - len(later) :]
        only_drop = all(stage["only_drops"] for stage in later)
        return only_drop and not any(book["cut_bytes"] or book["added_bytes"] for book in books)

    @cached_property
    def shards(self) -> dict[str, tuple[int, int]]:
        """The range of ids of every shard that has documents, by its name."""
        last = {
            files.name_of(s["name"]): int(s["last_id"]) for s in self.manifest["shards"] if s["last_id"] is not None
        }
        return dict(zip(last, zip((0, *(n + 1 for n in last.values())), last.values(), strict=False), strict=True))


def keys_of(url: str) -> Keys:
    """The keys in a sealed Dataset; none if there is no such Dataset."""
    place = files.join(url, MANIFEST)
    return Keys(url, files.read_json(place) if files.exists(place) else {})


def _made(folder: str, url: str) -> Made | None:
    """The keys that a step's receipt tells of; None if a file of them is missing or half written."""
    empty: dict[str, Any] = {"key": "", "keys": []}
    receipt = files.read_json(url + ".json") if files.exists(url + ".json") else empty
    keys = tuple(place(folder, ref) for ref in receipt["keys"])
    whole = receipts.valid(url + ".json", receipt["key"]) and all(_is_whole(key) for key in keys)
    if not whole:
        return None
    if "first" not in receipt:
        return Made(url, (), 0, 0)
    return Made(url, keys, int(receipt["first"]), int(receipt["last"]))


def _is_whole(url: str) -> bool:
    return receipts.valid(url + ".json", files.name_of(url)) is not None


def beside(out: str) -> list[str]:
    """The other step folders of the same output that hold an index, or the keys of one; none outside a Pipeline."""
    home = parent(out)
    names = [n for n in files.listdir(home) if n != files.name_of(out)] if files.name_of(home) == "steps" else []
    return [files.join(home, name) for name in names if files.is_dir(files.join(home, name, "sign"))]


def unsigned(docs: Dataset, old: Sequence[Old], out: str, signing: str) -> list[Unsigned]:
    """All parts, those of older Datasets first, and where the keys of each were found."""
    everything = Dataset(tuple(part for one in (*(o.docs for o in old), docs) for part in one.parts))
    plain = Dataset(tuple(map(_plain, everything.parts)))
    steps = ["", *map(files.name_of, beside(out))]
    homes: dict[str, tuple[Keys, tuple[Made, ...]]] = {}
    items: list[Unsigned] = []
    for number, (part, key, text) in enumerate(
        zip(everything.parts, everything.part_keys, plain.part_keys, strict=True)
    ):
        name = key_of((signing, text))
        refs: list[Ref] = [(step, name) for step in steps if _is_whole(place(out, (step, name)))]
        found, home = next(iter(refs), None), _home(part)
        if home is not None and home not in homes:
            homes[home] = (keys_of(home), keys_of(home).made(signing))
        made = _near(part, *homes[home]) if home and not found else ()
        items.append(
            Unsigned(
                part.slices, part.reader, part.stages, number=number, key=key_of((signing, key)), signing=name,
                forgotten=part.forgotten,
                found=found, made=made,
            )
        )  # fmt: skip
    first = 0
    for one in old:
        own = items[first : first + len(one.docs.parts)]
        if any(item.found is None and not item.made for item in own):
            log.warning("%s has no keys of its own that could be used; its documents are signed now", one.given)
        first += len(own)
    return items


def _near(part: Part, keys: Keys, made: tuple[Made, ...]) -> tuple[Made, ...]:
    """Those of the keys of a Dataset that one of its shards needs, by its ids."""
    low, high = keys.shards.get(files.name_of(part.slices[0].url), (1, 0))
    return tuple(one for one in made if one.first <= high and one.last >= low)


def _plain(part: Part) -> Part:
    """What is signed of a part: its text before verdicts, whatever its number among the files."""
    base, _ = beneath(part)
    return replace(base, slices=tuple(replace(piece, file=0, source="") for piece in base.slices))


def _home(part: Part) -> str | None:
    """The sealed Dataset that a part is a shard of, as it is there."""
    url = part.slices[0].url if isinstance(part.reader, Sealed) and len(part.slices) == 1 else ""
    home, mark, _ = url.rpartition("/data/")
    return home if mark and not beneath(part)[0].stages else None
