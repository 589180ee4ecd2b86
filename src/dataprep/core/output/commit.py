"""Output: a folder in which a new result replaces the old one atomically, so that a reader sees one of the two.

`Output.begin` takes the lease, decides whether the folder may be written, and yields a `Work`. New files are written
into OUT/_unfinished; finished parts of an earlier result are kept if their keys are wanted. `Work.commit` moves the new
files to their final paths, which no file of the old result uses. It then replaces manifest.json; at this moment the
result changes. Finally, the files of the old result are moved to OUT/_replaced, where readers that opened the old
result find them until the next run. Each step can be repeated, so the next run continues a killed one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from rich.filesize import decimal

from dataprep.errors import CorruptShard, PlanError, ReadError, StaleOutput
from dataprep.store import failure, files, lease, receipts
from dataprep.store.atomic import check_leases, is_attempt

from ..model.batch import NO_IDS, Ids, file_numbers
from . import forget_list, kinds, owned
from .changes import compared, first_difference
from .layout import (
    CUTS,
    DATA,
    DATASET_FILES,
    DRAFT,
    DROPS,
    FORGET_LIST,
    INDEX,
    INDEX_FILE,
    LOCK,
    MANIFEST,
    ORIGIN,
    PRUNED,
    RECEIPTS,
    RECIPE,
    REPLACED,
    REPORT,
    RESULT_FILE,
    STEPS,
    UNFINISHED,
    Folder,
)  # fmt: skip
from .staging import Staging, keep
from .state import DATASET, TOKENS, AnyManifest, Origin, Recipe, TokenManifest
from .state import INDEX as INDEX_KIND

log = logging.getLogger("dataprep")

T = TypeVar("T")
Check = Callable[[str, Sequence[str]], None]
FOR_DATASETS = ".huggingface.yaml"  # where `datasets.load_dataset(OUT)` finds the documents beside other files
LAYOUT = b"configs:\n- config_name: default\n  data_files: data/*.parquet\n"
TABLES = (DATA, DROPS, CUTS)
IN_WORK = re.compile(rf"/({RECEIPTS}|pieces-[0-9a-f]{{8}})/")  # in OUT/_unfinished: what is no part of the result


@dataclass(frozen=True)
class Wanted:
    """The result that a run will make in a folder; it does not depend on the content of the folder.

    Attributes:
        recipe: the input and the stages.
        origin: the input files; None if a stage hides them.
        forgotten: the ids of the documents to leave out, uint64[n].
        inputs: the folder of each input Dataset, and the number that is added to its file numbers. At the commit, their
            forget lists must contain no documents that are not in `forgotten`.
        private: whether the previous result must not be kept, since it may contain data that a stage hides.
        steps: the names of the step folders that the result may refer to.
        again: the end of a warning that states which work must be repeated if only the input changed; None: unchanged
            parts are kept.
    """

    recipe: Recipe
    origin: Origin | None = None
    forgotten: Ids = field(default_factory=lambda: NO_IDS)
    inputs: frozenset[tuple[str, int]] = frozenset()
    private: bool = False
    steps: frozenset[str] = frozenset()
    again: str | None = None


@dataclass
class Work(Generic[T]):
    """The work on the next result of an output folder.

    Attributes:
        recipe: the recipe of the result.
        wanted: the result for which the work was begun.
        files: the folder to which new files are written.
        opened: a function that opens the finished result in a folder.
        earlier: the folders of earlier results whose finished parts may be kept.
        result: the finished result; None if work remains.
    """

    out: str
    recipe: Recipe
    wanted: Wanted
    files: Staging
    opened: Callable[[str], T]
    earlier: Sequence[Folder] = ()
    result: T | None = None

    @property
    def finished(self) -> T:
        """The finished result."""
        assert self.result is not None, "the work was committed"
        return self.result

    @property
    def unfinished(self) -> Folder:
        """The subfolder in which the work is done."""
        return Folder(self.out).unfinished

    @property
    def origin(self) -> str | None:
        """The name of the future list of input files; None if there will be none."""
        return self.files.numbered(ORIGIN) if files.exists(self.unfinished.path(ORIGIN)) else None

    def keep(self, keys: Mapping[int, str]) -> None:
        """Add the finished parts of earlier results to this work.

        Args:
            keys: {number of a wanted part: its key}.
        """
        keep(self.files, self.earlier, keys)

    def commit(self, manifest: AnyManifest, check: Check | None = None) -> T:
        """Make the files of the work the result of the folder, and return it.

        Args:
            manifest: the manifest, which lists all files of the result; its generation and its list of input files are
                filled in here.
            check: a function that is called after all files are written and before the result changes. It receives the
                folder, and the paths in it that will be replaced or removed; an exception from it aborts the commit.

        Raises StaleOutput if documents of an input Dataset were forgotten after the work began, and InUse if another
        process has taken over the folder.
        """
        check_leases(self.out)
        if len(np.setdiff1d(forget_list.wanted(self.wanted.inputs), self.wanted.forgotten)):
            msg = f"documents of the input were forgotten while {self.out} was being written; run again without them"
            raise StaleOutput(msg)
        origin, generation = self.origin or manifest.origin, self.recipe.generation
        manifest = dataclasses.replace(manifest, origin=origin, generation=generation)
        draft, ready = (self.unfinished.path(name) for name in (DRAFT, MANIFEST))
        files.sweep(self.out)
        manifest.save(draft)
        if check is not None:
            folder = Folder(self.out)
            gone = [*_stale(folder, manifest), MANIFEST, RECIPE, RECEIPTS]
            check(self.out, gone + _steps_but(folder, self.recipe.keeps))
        owned.sync_written(self.out, [UNFINISHED, STEPS])
        check_leases(self.out)  # again, since this may have taken long
        owned.move((draft, ready))  # from here, a run that is killed is finished by the next one
        _swap_in(self.out)
        _settle(self.out)
        self.result = self.opened(self.out)
        return self.result


class Output(Generic[T]):
    """An output folder.

    A nested folder is protected by the lease and the journal of the folder that contains it.

    Attributes:
        url: its URL.
        opened: a function that opens the finished result in a folder.
        nested: whether the folder is part of another output.
        also: the folders of other results whose finished parts are kept, too.
        inside: the folders of results that contain this one; their leases are also held while it is written.
    """

    def __init__(
        self, url: str, opened: Callable[[str], T], *, nested: bool = False, also: Sequence[Folder] = (),
        inside: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.url, self.opened, self.nested, self.also, self.inside = url, opened, nested, also, inside

    @contextlib.contextmanager
    def begin(self, wanted: Wanted, *, replace: bool = False, whole: bool = False) -> Iterator[Work[T]]:
        """Yield the Work that makes the wanted result; its `result` is set if the folder already contains this result.

        - replace: whether a result with a different recipe may be replaced.
        - whole: whether to compare all bytes of a finished result with its receipts.

        Raises StaleOutput if the folder contains files that dataprep did not write, or if it contains another result
        and `replace` is False; InUse if another process is writing into it.
        """
        if not _is_left(self.url) and (found := self._found(wanted.recipe, whole=whole)) is not None:
            if files.is_local(self.url):  # a failure, or the end of the process after the last file
                failure.forget(files.path_of(self.url))
                lease.sweep(files.path_of(self.url))
            yield self._work(wanted, found)
            return
        with contextlib.nullcontext() if self.nested else lease.all_held([self.url, *self.inside]):
            self._recover(wanted)
            found = self._found(wanted.recipe, whole=whole)
            if found is not None:
                self._remove_begun(wanted)
            earlier = self._prepare(wanted, replace=replace) if found is None else ()
            with self._old_result_said(wanted):
                yield self._work(wanted, found, earlier)

    @contextlib.contextmanager
    def _old_result_said(self, wanted: Wanted) -> Iterator[None]:
        """Log a warning if an error leaves a result in the folder that the wanted result was to remove.

        If the run is rejected before any work, no unfinished work is left.
        """
        try:
            yield
        except BaseException as e:
            if isinstance(e, (PlanError, StaleOutput)) and not kinds.has_work(self.url):
                owned.remove(self.url, [UNFINISHED])
            found = Folder(self.url).stated
            if found is not None and not wanted.recipe.is_same(found) and self._private(wanted, found):
                log.warning(
                    "%s still contains the previous result, with data that the new one hides or leaves out", self.url
                )
            raise

    def _private(self, wanted: Wanted, found: Recipe | None) -> bool:
        """Return whether the previous result must not be kept once the wanted result is complete."""
        return wanted.private or (found is not None and found.forgotten != wanted.recipe.forgotten)

    def _work(self, wanted: Wanted, found: T | None, earlier: Sequence[Folder] = ()) -> Work[T]:
        recipe = self._recipe(wanted)
        return Work(self.url, recipe, wanted, Staging(self.url, recipe.generation), self.opened, earlier, found)

    def _recipe(self, wanted: Wanted) -> Recipe:
        """Return the wanted recipe with its generation: that of an equal result, or one more than that of another.

        On an object store, unfinished work counts too: its process may only be suspended, and could otherwise write
        over files of the new result, which get their final paths there.
        """
        folder = Folder(self.url)
        found, begun = folder.recipe, None if files.is_local(self.url) else folder.unfinished.recipe
        is_same = found is not None and found.is_same(wanted.recipe)
        generation = 1 if found is None else found.generation + (not is_same)
        if begun is not None and not is_same:
            generation = max(generation, begun.generation + (not begun.is_same(wanted.recipe)))
        keeps = sorted(wanted.steps) if self._private(wanted, found) else None
        return dataclasses.replace(wanted.recipe, generation=generation, keeps=keeps)

    def _found(self, recipe: Recipe, *, whole: bool) -> T | None:
        """Open the result of `recipe` if the folder contains it; None if it does not, or if some files are damaged."""
        folder = Folder(self.url)
        if not folder.is_sealed or not recipe.is_same(folder.recipe):
            return None
        try:
            found = self.opened(self.url)
        except (CorruptShard, ReadError) as e:
            log.warning("%s", f"{e}; recreating what is missing")
            return None
        if whole and not receipts.all_whole(folder.receipts()):
            log.warning("%s contains files whose content has changed; recreating them", self.url)
            return None
        return found

    def _recover(self, wanted: Wanted) -> None:
        """Complete a killed commit, and remove the files that the last commit replaced."""
        folder, begun = Folder(self.url), Folder(self.url).unfinished
        recipe = begun.recipe
        is_ready = files.exists(begun.path(MANIFEST))
        if is_ready and wanted.recipe.is_same(recipe):
            _swap_in(self.url)
        made = Folder(self.url).stated
        is_swapped = recipe is not None and recipe.is_same(made) and not files.exists(begun.path(MANIFEST))
        if is_swapped and made is not None and recipe is not None and made.generation == recipe.generation:
            _settle(self.url)
        left = [REPLACED] if begun.recipe is not None else [REPLACED, UNFINISHED]
        files.sweep(self.url)
        owned.remove(self.url, [name for name in left if files.exists(folder.path(name))])

    def _remove_begun(self, wanted: Wanted) -> None:
        """Remove the work on another result, as the wanted one is finished; also its steps if they must not be kept."""
        if not files.is_local(self.url):  # where its files have their final paths
            owned.remove(self.url, _stale(Folder(self.url), Folder(self.url).complete))
        owned.remove(self.url, [UNFINISHED])
        if wanted.private:
            owned.remove(self.url, _steps_but(Folder(self.url), sorted(wanted.steps)))

    def _prepare(self, wanted: Wanted, *, replace: bool) -> list[Folder]:
        """Check that the folder may be written, and remove unfinished work that cannot be used.

        Returns the folders of earlier results whose finished parts may be kept.
        """
        if not self.nested:
            owned.add_lost(self.url)
        folder, names = Folder(self.url), set(files.listdir(self.url))
        found, begun, recipe = folder.recipe, folder.unfinished.recipe, self._recipe(wanted)
        if not self.nested:
            kinds.refuse(self.url, wanted.recipe.kind)
            owned.refuse(self.url, self._strangers(wanted.recipe.kind, names, has_steps=bool(found or begun)))
        other = found if found is not None else begun if kinds.is_begun(self.url) else None
        is_begun_again = found is None and other is not None and other.key == wanted.recipe.key
        if other is not None and not wanted.recipe.is_same(other) and not self.nested and not is_begun_again:
            self._check_other(folder if found is not None else folder.unfinished, other, wanted, replace=replace)
        if not self.nested:
            owned.begin(self.url)
        is_of_use = begun is None or begun.is_same(wanted.recipe) or wanted.recipe.kind == DATASET
        if begun is not None and (not is_of_use or begun.forgotten != wanted.recipe.forgotten):
            steps = [] if found is not None else _steps_but(folder, sorted(wanted.steps))
            owned.remove(self.url, [UNFINISHED, *steps])
        elif files.exists(folder.unfinished.path(MANIFEST)):
            files.remove(folder.unfinished.path(MANIFEST))
        recipe.save(folder.unfinished.path(RECIPE))
        if wanted.origin is None:
            files.remove(folder.unfinished.path(ORIGIN))
        else:
            wanted.origin.save(folder.unfinished.path(ORIGIN))
        forget_list.write_if_new(self.url, wanted.forgotten)
        return [home for home in (folder, *self.also) if home.forgotten == wanted.recipe.forgotten]

    def _strangers(self, kind: str, names: set[str], *, has_steps: bool) -> list[str]:
        """Return the foreign files that block a result of a kind.

        - names: the names of the files in the folder.
        """
        if kind == TOKENS:  # other files may be next to it
            state = {MANIFEST, RECIPE, UNFINISHED, REPLACED}
            own = [n for n in names if n in state or (RESULT_FILE.fullmatch(n) and not n.startswith("tokenizer"))]
            return owned.foreign(self.url, own)
        result = INDEX_FILE if kind == INDEX_KIND else RESULT_FILE
        known = DATASET_FILES | {FORGET_LIST} | {name for name in names if result.fullmatch(name)}
        searched = names & known - ({STEPS} if has_steps else set()) - {FORGET_LIST}
        return owned.strangers(self.url, known, searched)

    def _check_other(self, home: Folder, other: Recipe, wanted: Wanted, *, replace: bool) -> None:
        """Raise StaleOutput if the folder has another result that may not be replaced, and log what changed."""
        recipe = wanted.recipe
        if not replace and (other.key, other.codec) == (recipe.key, recipe.codec):
            raise forget_list.stale(self.url, recipe.kind)
        is_alike = (other.forgotten, other.codec) == (recipe.forgotten, recipe.codec)
        changes = compared(home.origin_as_given, wanted.origin) if is_alike else None
        if not replace and (changes is None or not changes.same):
            what = first_difference(home, other, recipe, wanted.origin)
            msg = f"{self.url} was made by a different recipe or from different input ({what})"
            msg += "; choose another folder as out, or replace=True"
            raise StaleOutput(msg)
        if not replace and changes is not None and changes.numbers & file_numbers(wanted.forgotten):
            what = f"{changes.changed[0]} changed, but some of its documents were forgotten by position"
            msg = f"{self.url}: {what}; restore the file, or run with replace=True and then forget documents again"
            raise StaleOutput(msg)
        works = [None if origin is None else origin.work for origin in (home.origin_as_given, wanted.origin)]
        if changes is not None and works[0] == works[1] and (changes.changed or not changes.same):
            then = "recreating their parts" if changes.same else "keeping the unchanged parts"
            log.warning("%s", changes.sentence(wanted.again or then))
        elif works[0] != works[1]:
            self._check_room()

    def _check_room(self) -> None:
        """Raise PlanError if the disk lacks space for a second result of the size of the existing one."""
        old = Folder(self.url).readable
        if old is None or not files.is_local(self.url):
            return
        needed, free = sum(shard.size for shard in old.shards), shutil.disk_usage(files.path_of(self.url)).free
        if needed > free:
            msg = (
                f"the result in {self.url} is kept until the new one is complete, which needs about {decimal(needed)}, "
                f"but only {decimal(free)} of disk space is free; free some space, or remove the result first "
                f"(`dataprep prune --all {self.url}`)"
            )
            raise PlanError(msg)


def _is_left(out: str) -> bool:
    """Return whether a folder has unfinished work, the files of a replaced result, or half-written state."""
    names = files.listdir(out) if files.is_local(out) else []
    return any(map(is_attempt, names)) or any(files.exists(files.join(out, name)) for name in (UNFINISHED, REPLACED))


def _swap_in(out: str) -> None:
    """Move the files of the finished work to their final paths, and the manifest last, which changes the result."""
    begun = Folder(out).unfinished
    manifest = begun.complete
    moves = [(url, files.join(out, owned.relative(url, begun.url))) for url in owned.ours(out, [UNFINISHED])]
    kept = {files.join(out, name) for name in (RECIPE, MANIFEST, ORIGIN, DRAFT)}
    owned.move(*((old, new) for old, new in moves if new not in kept and not IN_WORK.match(new.removeprefix(out))))
    if manifest is not None and manifest.origin and files.exists(begun.path(ORIGIN)):
        owned.move((begun.path(ORIGIN), files.join(out, manifest.origin)))
    at = files.join(out, FOR_DATASETS)
    if manifest is not None and manifest.kind == DATASET and f"/{STEPS}/" not in out and not files.exists(at):
        files.write_bytes(at, LAYOUT)
    owned.move((begun.path(MANIFEST), files.join(out, MANIFEST)))


def _settle(out: str) -> None:
    """Set aside the files that the new result does not name, and remove those that its recipe does not allow."""
    folder, begun = Folder(out), Folder(out).unfinished
    stale = _stale(folder, folder.complete)
    keeps = None if begun.recipe is None else begun.recipe.keeps
    if files.is_local(out) and keeps is None:
        mine = owned.ours(out, stale)
        owned.move(*((url, files.join(out, REPLACED, owned.relative(url, out))) for url in mine))
    else:
        owned.remove(out, stale)
    _settle_receipts(folder, begun)
    owned.remove(out, _steps_but(folder, keeps))
    owned.remove(out, [files.join(UNFINISHED, name) for name in files.listdir(begun.url) if name != RECIPE])
    if files.exists(begun.path(RECIPE)):  # last, since a repeated call needs it to know what to do
        owned.move((begun.path(RECIPE), folder.path(RECIPE)))
    owned.remove(out, [UNFINISHED, PRUNED])
    owned.settle(out)


def _stale(folder: Folder, manifest: AnyManifest | None) -> list[str]:
    """Return the paths of files derived from results that `manifest` does not name, and then those of the results.

    With this order, the files that a killed call leaves still identify the files to remove.
    """
    if manifest is None:
        return []
    there = [f"{kind}/{name}" for kind in TABLES for name in files.listdir(folder.path(kind))]
    own, named = INDEX_FILE if manifest.kind == INDEX_KIND else RESULT_FILE, set(manifest.names())
    there += [name for name in files.listdir(folder.url) if own.fullmatch(name)]
    stale = sorted(set(there) - named - {name.partition("/")[0] for name in named})
    made = [LOCK] if isinstance(manifest, TokenManifest) and manifest.mixture is None else []
    made += [REPORT, INDEX] if stale else []
    return [name for name in made if files.exists(folder.path(name))] + stale


def _steps_but(folder: Folder, keeps: list[str] | None) -> list[str]:
    """Return the paths of the steps in a folder that are not kept.

    - keeps: see `Recipe`.
    """
    return [] if keeps is None else [files.join(STEPS, step.name) for step in folder.steps if step.name not in keeps]


def _settle_receipts(folder: Folder, begun: Folder) -> None:
    """Move the receipts of the work to their final paths, or into one file, and remove those that are not wanted."""
    n = folder.manifest.parts if folder.manifest is not None else None
    wanted = None if n is None else {files.name_of(folder.receipt(number)) for number in range(n)}
    is_packed = n is not None and n > receipts.MOST_FILES
    new = begun.receipts()
    every = {**folder.receipts(), **new} if is_packed else new
    settled = {files.name_of(url): _settled(record) for url, record in every.items() if record is not None}
    if is_packed and new:
        receipts.pack(folder.path(RECEIPTS), {name: one for name, one in settled.items() if name in (wanted or ())})
    moves = []
    for url in () if is_packed else new:
        name = files.name_of(url)
        if name in settled and settled[name] != every[url]:
            files.write_state(folder.path(RECEIPTS, name), settled[name])
        elif name in settled:
            moves.append((url, folder.path(RECEIPTS, name)))
    owned.move(*moves)
    if wanted is not None:
        names = set(files.listdir(folder.path(RECEIPTS))) - ({receipts.PACKED} if is_packed else wanted)
        owned.remove(folder.url, [files.join(RECEIPTS, name) for name in names])


def _settled(record: dict[str, Any]) -> dict[str, Any]:
    """Return a receipt of the work with the paths of kept files, relative to the receipts of the result."""
    stored = [{**one, "name": re.sub(r"^\.\./\.\./", "../", one["name"])} for one in record["files"]]
    return {**record, "files": stored}
