"""Continue a result of which input files have other content now: only the parts with these files are made again.

The readers and stages must be those of the earlier run, and the files the same, by name, number and source. A result
whose files are others is continued only if it may be replaced. Which parts are whole is decided by their keys.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dataprep.errors import StaleOutput, counted, redacted
from dataprep.store import files, receipts

from ..inputs import origin as inputs
from ..model import batch as B
from ..model.batch import Ids
from ..model.dataset import Dataset
from ..model.part import Sealed
from ..model.unread import NOT_OPENED, QUARANTINED
from . import owned
from .layout import (
    DATASET_FILES,
    FORGET_LIST,
    INDEX,
    MANIFEST,
    RECEIPTS,
    RECIPE,
    REPORT,
    STEPS,
    UNREAD,
    Folder,
    home_of,
    is_same_estimator,
    part_name,
)  # fmt: skip

log = logging.getLogger("dataprep")

RECEIPT = re.compile(r"part-(\d{5})\.json")
SHOWN = 5  # names of files in a sentence


@dataclass(frozen=True)
class Changes:
    """What differs between the input of an earlier run and that of this one, as URLs; a Dataset counts as one file.

    changed: files with other content. new, gone: files of one run only. unreadable: files that the earlier run could
    open, and that are empty or cannot be opened now. same: whether the files are the same otherwise, with the same
    numbers and sources. of: the number of files now. numbers: the numbers of the changed files that are not Datasets.
    """

    changed: tuple[str, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]
    unreadable: tuple[str, ...]
    same: bool
    of: int
    numbers: frozenset[int]

    def sentence(self, then: str) -> str:
        """Return the sentence that names the files, such as "1 of 3 input files changed since the last run: a.txt"."""
        what = [f"{len(self.changed):,} of {counted(self.of, 'input file')} changed"] if self.changed else []
        others = ((self.new, "new"), (self.gone, "gone"), (self.unreadable, "unreadable"))
        what += [f"{counted(len(urls), 'input file')} {'is' if len(urls) == 1 else 'are'} {word}"
                 for urls, word in others if urls]  # fmt: skip
        urls = [*self.changed, *(url for found, _ in others for url in found)]
        names = [files.name_of(url) for url in urls]
        shown = names if len(set(names)) == len(names) else urls
        more = f" and {len(urls) - SHOWN:,} more" if len(urls) > SHOWN else ""
        return f"{' and '.join(what)} since the last run: {', '.join(shown[:SHOWN])}{more}; {then}"


def compared(out: str, docs: Dataset) -> Changes | None:
    """Return how the input of the folder `out`, as its origin.json lists it, differs from `docs`; None if unknown."""
    origin = Folder(out).origin
    old: dict[tuple[Any, ...], dict[str, str]] = {}
    try:
        sealed = [(one or {}).get("name") == Sealed.__name__ for one in origin["readers"]]
        for row in origin["files"]:
            at = _place(row["url"], sealed=sealed[row["reader"]]), row["file"], row["source"]
            old.setdefault(at, {})[row["url"]] = row["fingerprint"]
        beside = {(row["url"], None, ""): {row["url"]: row["fingerprint"]} for row in origin.get("beside", [])}
    except (KeyError, TypeError, IndexError):
        return None
    new: dict[tuple[Any, ...], dict[str, str]] = {}
    unread = set()
    for part in docs.parts:
        for piece in part.slices:
            at = _place(redacted(piece.url), sealed=isinstance(part.reader, Sealed)), piece.file, piece.source
            new.setdefault(at, {})[redacted(piece.url)] = docs.fingerprints[piece.url]
            is_left_out = piece.unread is not None and piece.unread.reason != QUARANTINED
            if is_left_out or docs.fingerprints[piece.url] == NOT_OPENED:
                unread.add(at)
    of, is_file = len(new), {at for at in new if at[0] in new[at]}
    if "beside" in origin:
        old |= beside
        new |= {(url, None, ""): {url: found} for url, found in inputs.beside(docs).items()}
    differ = [at for at in new if at in old and old[at] != new[at]]
    changed = [at for at in differ if at not in unread]
    urls = [{at[0] for at in one} for one in (old, new)]
    return Changes(
        changed=_urls(changed),
        new=_urls(at for at in new if at[0] not in urls[0]),
        gone=_urls(at for at in old if at[0] not in urls[1]),
        unreadable=_urls(at for at in differ if at in unread),
        same=old.keys() == new.keys() and len(changed) == len(differ),
        of=of,
        numbers=frozenset(at[1] for at in changed if at in is_file),
    )


def _urls(found: Iterable[tuple[Any, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(at[0] for at in found))


def _place(url: str, *, sealed: bool) -> str:
    """Return the folder of the Dataset of which `url` is a shard, whose number of shards may change; else `url`."""
    home = home_of(url) if sealed else None
    return url if home is None else home.url


def only_content(out: str, docs: Dataset, then: str) -> bool:
    """Return whether `docs` is the input of the folder `out`, read in the same way, but for the content of files.

    If so, a warning names the files. then: the end of its sentence, what is made again.
    """
    changes = compared(out, docs)
    is_same = changes is not None and changes.same and Folder(out).origin.get("work") == inputs.work_key(docs, ())
    if changes is None or not is_same or not changes.changed:
        return False
    log.warning("%s", changes.sentence(then))
    return True


def take_over(
    docs: Dataset, out: str, recipe: dict[str, Any], stages: Sequence[Any], steps: dict[str, str], forgotten: Ids,
    *, replace: bool,
) -> None:  # fmt: skip
    """Mark the result in `out` as unfinished if only the content of its input files changed; else do nothing.

    Then `claim` continues the work: parts whose content is as it was are kept, also those of saved inputs of
    Estimators, and all others are made again, such as every table that an Estimator wrote. A warning names the files.
    stages: those of the Pipeline. steps: {folder name: key} of its Estimators. forgotten: ids of documents to leave
    out. replace: whether files may also be new or missing.

    Raises StaleOutput if documents of a changed file were forgotten, since they were named by their places in it, and
    if `out` has files of others.
    """
    home = Folder(out)
    found = home.recipe
    if found.get("key") in (None, recipe["key"]) or found.get("forgotten") != recipe.get("forgotten"):
        return
    changes = compared(out, docs)
    if changes is None or home.origin.get("work") != inputs.work_key(docs, stages) or not (changes.same or replace):
        return
    if not replace and changes.numbers & set((forgotten >> B.POSITION_BITS).tolist()):
        what = f"documents of {changes.changed[0]} were forgotten by their places in it, and its content is another now"
        msg = f"{out}: {what}; restore the file, or run again with replace=True and then forget documents again"
        raise StaleOutput(msg)
    owned.refuse(out, owned.strangers(out, DATASET_FILES | {FORGET_LIST}, DATASET_FILES & set(files.listdir(out))))
    if changes.changed or not changes.same:
        then = "making their parts again" if changes.same else "keeping the parts that are the same"
        log.warning("%s", changes.sentence(then))
    owned.begin(out)
    owned.remove(out, [MANIFEST, REPORT, UNREAD, INDEX])
    for step, key in steps.items():
        _take_over_input(home, step, key)
    if changes.same:
        owned.remove(out, [files.join(STEPS, step.name) for step in home.steps if step.name not in steps])
    inputs.write(docs, out, stages)
    files.write_state(home.path(RECIPE), recipe)  # last: a killed call is repeated


def _take_over_input(home: Folder, step: str, key: str) -> None:
    """Give the saved input of an Estimator, if it was made from the earlier content of the input, to the folder `step`.

    Nothing else of the old folder is kept. key: the step's.
    """
    new = Folder(home.path(STEPS, step)).input
    if not files.exists(new.url):
        before = [one.input.url for one in home.steps if is_same_estimator(one.name, step)]
        old = [url for url in before if files.exists(url)]
        if not old or not files.is_local(home.url):
            return
        owned.move(old[-1], new.url)
    if new.recipe.get("key") != key:
        files.remove(new.path(MANIFEST))
        files.write_state(new.path(RECIPE), {**new.recipe, "key": key})


def renumber(out: str, keys: Sequence[str]) -> None:
    """Give finished parts in a local folder the numbers under which they are wanted now.

    They change if a file before them is cut into another number of parts. keys: of the wanted parts, in order. A part
    that is lost when this is stopped is made again.
    """
    home = Folder(out)
    named = map(RECEIPT.fullmatch, files.listdir(home.path(RECEIPTS)) if files.is_local(out) else ())
    numbers = [int(found[1]) for found in named if found]
    held = {n: record for n in numbers if (record := receipts.found(home.receipt(n))) is not None}
    stay = {n for n, record in held.items() if n < len(keys) and keys[n] == record["key"]}
    free: dict[str, list[int]] = {}
    for n in sorted(held.keys() - stay, reverse=True):
        free.setdefault(held[n]["key"], []).append(n)
    moves = [(free[key].pop(), n) for n, key in enumerate(keys) if n not in stay and free.get(key)]
    done = set()
    for old, new in [*sorted((m for m in moves if m[1] > m[0]), reverse=True), *(m for m in moves if m[1] < m[0])]:
        if old not in done:
            _move_part(home, old, new, held[old])
            done.add(new)


def _move_part(home: Folder, old: int, new: int, record: dict[str, Any]) -> None:
    """Rename the files of a part, and write its receipt, which states the new names."""

    def renamed(name: str) -> str:
        return name.replace(f"/{part_name(old)}", f"/{part_name(new)}", 1)

    files.remove(home.receipt(new))
    for file in record["files"]:
        name = file["name"].removeprefix("../")
        if files.exists(home.path(name)):
            owned.move(home.path(name), home.path(renamed(name)))
    listed = {part: [{**one, "name": renamed(one["name"])} for one in record[part]] for part in ("shards", "files")}
    files.write_state(home.receipt(new), {**record, **listed})
    files.remove(home.receipt(old))
