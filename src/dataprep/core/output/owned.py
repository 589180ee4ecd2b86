"""Ownership of files in output folders: dataprep deletes only the files that it created there.

A file belongs to dataprep if the journal of its output folder, a list of the files created there, contains it. Object
stores and folders that were copied without hidden files have no journal; there, the files that manifests and receipts
name belong to dataprep. Hidden files are neither deleted nor reported, except the unfinished files of killed writers.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from typing import Any

from dataprep.errors import DataprepError, PlanError, StaleOutput
from dataprep.store import files, lease, receipts
from dataprep.store.atomic import (
    JOURNAL,
    begin_journal,
    check_leases,
    full_disk_said,
    is_attempt,
    is_journal,
    journal_of,
    journaled,
    n_damaged,
    note,
    remove_empty,
    sync,
)  # fmt: skip
from dataprep.store.receipts import PACKED

from .layout import (
    CONFIGS,
    CUTS,
    DATA,
    DRAFT,
    DROPS,
    FOR_DATASETS,
    FORGET_LIST,
    INPUT,
    MANIFEST,
    PRUNED,
    RECEIPTS,
    RECIPE,
    REPLACED,
    REPORT,
    SPANS,
    STEPS,
    UNFINISHED,
    VERDICTS,
)  # fmt: skip
from .state import DATASET, INDEX, MANIFESTS, TOKENS

BEGIN = 256  # bytes of a file that identify it
CHECKSUM = re.compile(r'^\{"checksum":"[0-9a-f]{32}",')  # of JSON state, without white space
SIZES_OF_IDS = "token_bytes.npy"
_ASIDE = rf"(({UNFINISHED}|{REPLACED})/)?"  # the work on the next result, and the files of the one before
_ORIGIN = r"origin(\.g\d+)?\.json"
_FORGOTTEN = re.escape(FORGET_LIST)
_SHARD = r"(train|val|test)-\d{5}(\.g\d+)?\.(bin|idx|msk|docs\.(parquet|arrow))"
_PIECES = rf"{UNFINISHED}/pieces-[0-9a-f]{{8}}/((train|val|test)\.documents|[a-z]+/part-\d{{5}}/{_SHARD})"
_TOKENS = (  # of shards
    rf"/({_FORGOTTEN}|{_ASIDE}({_SHARD}|token_bytes(\.g\d+)?\.npy|{RECIPE}|{_ORIGIN})|{_PIECES}"
    rf"|tokenizer(_config)?\.g\d+\.json|({UNFINISHED}|{REPLACED})/tokenizer(_config)?(\.g\d+)?\.json)"
)
_SUFFIXES = r"shards(\.g\d+)?/part-\d{5,}(-\d{3,})?\.(text|docs|sa|json)"  # of a suffix index
_INDEX = rf"/({_FORGOTTEN}|{_ASIDE}({_ORIGIN}|{_SUFFIXES}))"
# Names inside the folder of a Dataset that only dataprep gives: parts, tables of Estimators and files of their work.
_PARTS = (
    rf"({_FORGOTTEN}|{_ASIDE}({MANIFEST}|{PRUNED}|{RECIPE}|{_ORIGIN}|unread(\.g\d+)?\.parquet"
    rf"|{RECEIPTS}/(part-\d{{5,}}\.json|{re.escape(PACKED)})|({DATA}|{DROPS}|{CUTS})/part-\d{{5,}}(-\d{{3}})?(\.g\d+)?\.parquet)"
    rf"|{UNFINISHED}/{DRAFT}|{REPLACED}/{REPORT})"
)
_WORK = (
    r"([^/]+/((part|partition|range|group|file)-\d{5,}|[0-9a-f]{32})|clusters?|sorted|words|index)(\.json)?"
    r"|vectors/index\.json"
)
_TABLE = rf"({VERDICTS}|{SPANS})(/(index|part-\d{{5,}})\.parquet)?"  # in one file or in several
_LAYOUT = rf"/({_PARTS}|{STEPS}/\d\d-[^/]+-[0-9a-f]{{8}}/({_TABLE}|{INPUT}/({_PARTS})|{_WORK}))"


def begin(out: str) -> None:
    """Create the journal (list of files that dataprep created) of an output folder, unless it has a complete one.

    Files of earlier runs are added too. Nothing is done on object stores, which have no journal. Raises PlanError if
    the folder cannot be written.
    """
    if files.is_local(out):
        home = files.path_of(out)
        try:
            with full_disk_said(out):
                os.makedirs(home, exist_ok=True)
                if not is_journal(os.path.join(home, JOURNAL)) or n_damaged(os.path.join(home, JOURNAL)):
                    begin_journal(home, (os.path.relpath(url, home) for url in _named_by_receipts(home)))
        except OSError as e:
            state = "it is a broken link" if os.path.islink(home) and not os.path.exists(home) else e.strerror or e
            msg = f"{out} cannot be written ({state}); choose another folder as out"
            raise PlanError(msg) from e


def add_lost(out: str) -> None:
    """Add the files of an unfinished run to the journal (list of created files) of a local folder, if it has one.

    Tasks do not sync the lines of their files, so that a crash of the machine may lose the lines and keep the files.
    """
    home = files.path_of(out) if files.is_local(out) else ""
    journal = os.path.join(home, JOURNAL)
    if home and os.path.isdir(os.path.join(home, UNFINISHED)) and is_journal(journal) and not n_damaged(journal):
        names = (os.path.relpath(url, home) for url in _named_by_receipts(home))
        begin_journal(home, (name for name in names if name.partition("/")[0] in (STEPS, UNFINISHED)))


def settle(out: str) -> None:
    """Rewrite an output folder's journal (list of created files): each file that exists is listed once, sorted."""
    if files.is_local(out) and is_journal(files.join(files.path_of(out), JOURNAL)):
        begin_journal(files.path_of(out))


def sync_written(out: str, names: Iterable[str]) -> None:
    """Sync to disk what dataprep wrote into an output folder, which tasks do not do; object stores need no sync.

    - names: the files and folders in `out` to sync.
    """
    if files.is_local(out):
        written = ours(out, names)
        sync([*written, *{os.path.dirname(path) for path in written}])


def foreign(out: str, names: Iterable[str]) -> list[str]:
    """Return the paths, relative to `out` and sorted, of files in it that dataprep did not create.

    - names: the files and folders in `out` to search.
    """
    return sorted(relative(url, out) for url in _divided(out, names)[1])


def refuse(out: str, others: Sequence[str]) -> None:
    """Raise StaleOutput, naming the first file, if foreign files in `out`, `others`, block the result."""
    if others:
        mine, not_mine = _divided(out, others[:1])
        what = "which belongs to another result" if mine and not not_mine else "which dataprep did not write"
        msg = f"{out} holds {others[0]}, {what}; choose another folder as out"
        raise StaleOutput(msg)


def check_file(url: str, what: str, *begins: str) -> None:
    """Raise StaleOutput if the file to write, `url`, exists and is not `what`, such as "an HTML page".

    Empty files may also be replaced. The same holds for JSON files that have a checksum and the fields named by one of
    `begins`, in any order, since a later version may write another field first.

    - begins: the first characters of files that may be replaced, lower-cased and without white space.
    """
    if files.is_dir(url):
        msg = f"{url} is a folder; pass a file"
        raise StaleOutput(msg)
    if files.exists(url):
        with files.open_raw(url) as f:
            head = f.read(BEGIN).decode("utf-8", "replace").lower()
        is_known = CHECKSUM.sub("{", "".join(head.split())).startswith(begins) or _is_listed(url)
        if head and not is_known and not _has_fields(url, begins):
            msg = f"{url} exists and is not {what}; choose another file"
            raise StaleOutput(msg)


def _has_fields(url: str, begins: Sequence[str]) -> bool:
    """Return whether a file is JSON with a valid checksum, and has the fields that one of the beginnings names."""
    fields = [set(re.findall(r'"(\w+)"', begin)) for begin in begins if begin.startswith("{")]
    with contextlib.suppress(DataprepError):
        found = files.read_state(url) if fields else {}
        return any(some <= found.keys() for some in fields)
    return False


def _is_listed(url: str) -> bool:
    """Return whether the journal that applies to a file, and may be damaged, lists it."""
    path = os.path.abspath(files.path_of(url)) if files.is_local(url) else ""
    journal = journal_of(path) if path else None
    return journal is not None and path in journaled(journal)


def strangers(out: str, known: Iterable[str], searched: Iterable[str]) -> list[str]:
    """Return the sorted relative paths of non-hidden files and folders in `out` that dataprep did not create.

    - known: the names that dataprep uses; if `out` has other names, these are the result. Otherwise `searched`, a list
      of files and folders of `out`, is searched, and the result is the files in it that dataprep did not create.
    """
    others = sorted(n for n in set(files.listdir(out)) - set(known) if not n.startswith("."))
    return others or foreign(out, searched)


def ours(out: str, names: Iterable[str]) -> list[str]:
    """Return the URLs of the files under `names`, files and folders in `out`, that dataprep created."""
    return _divided(out, names)[0]


def remove(out: str, names: Iterable[str], but: Container[str] = ()) -> int:
    """Delete files that dataprep created, and folders that become empty as a result; return the number of bytes freed.

    Other empty folders are kept, unless the journal lists a file in them. Raises InUse if another process has taken the
    lease of the folder.

    - names: the files and folders in `out` in which files are deleted.
    - but: the paths in `out` of files that are kept.
    """
    freed, names = 0, list(names)
    gone = [url for url in _divided(out, names)[0] if relative(url, out) not in but]
    if not files.is_local(out):
        if not gone:
            return 0
        check_leases(out)
        stated = files.sizes(out)
        files.remove_remote(gone)
        return sum(stated.get(url, 0) for url in gone)
    for url in gone:
        check_leases(url)
        freed += os.lstat(url).st_size
        os.unlink(url)
        remove_empty(os.path.dirname(url), above=files.path_of(out))
    home = os.path.abspath(files.path_of(out))
    inside = tuple(os.path.join(home, name, "") for name in names)
    listed = (path for path in _journaled(home) if path.startswith(inside))
    for folder in {os.path.dirname(path) for path in listed}:  # a writer was killed before its first file
        remove_empty(folder, above=home)
    return freed


def move(*moves: tuple[str, str]) -> None:
    """Rename files, given as (old URL, new URL); the new names first go into the journal (list of created files)."""
    local = [(os.path.abspath(files.path_of(old)), os.path.abspath(files.path_of(new)))
             for old, new in moves if files.is_local(new)]  # fmt: skip
    with full_disk_said(local[0][1] if local else ""):
        for folder in {os.path.dirname(new) for _, new in local}:
            os.makedirs(folder, exist_ok=True)
        note(*(new for _, new in local))
        for old, new in local:
            if os.path.isdir(new):
                state = "is a folder, but the result needs a file there"
                msg = f"{new} {state}; remove it, or choose another folder as out"
                raise StaleOutput(msg)
            try:
                os.replace(old, new)
            except PermissionError as e:
                msg = f"{new} cannot be written ({e.strerror}); change its permissions, or those of its folder"
                raise DataprepError(msg) from e
        sync({os.path.dirname(new) for _, new in local})
    for old, new in local:
        remove_empty(os.path.dirname(old), above=os.path.commonpath([old, new]))
    for old, new in moves:
        if not files.is_local(new):
            files.move(old, new)


def link(old: str, new: str) -> None:
    """Create a hard link to a local file. Raises OSError if the file system does not support hard links."""
    old, new = (os.path.abspath(files.path_of(url)) for url in (old, new))
    os.makedirs(os.path.dirname(new), exist_ok=True)
    note(new)
    if os.path.lexists(new):
        os.unlink(new)
    os.link(old, new)


def discard(url: str) -> None:
    """Delete a file, or all files at any depth of a folder, if dataprep created them; other files are kept.

    Object stores, and folders without a journal, have no list of created files; everything in them is deleted. Raises
    InUse if another process has taken the lease of the folder.
    """
    if files.is_local(url) and journal_of(files.path_of(url)):
        home, _, name = os.path.abspath(files.path_of(url)).rpartition("/")
        remove(home, [name])
    else:
        check_leases(url)
        files.remove(url)


def remove_all(url: str) -> tuple[int, list[str]]:
    """Delete everything that dataprep created in a folder; return (bytes freed, paths of the remaining files).

    Files that dataprep did not create are kept; the returned paths do not include hidden files. The journals (lists of
    created files) are deleted last. Raises InUse if another process is writing into the folder, or into a folder inside
    it.
    """
    emptied = homes(url) if files.is_local(url) else []
    with lease.all_held([url, *emptied]):
        freed = remove(url, files.listdir(url))
        left = [files.join(url, name) for name in foreign(url, files.listdir(url))]
        hidden = [] if files.is_local(url) else files.listing(url).hidden  # which no journal lists
        for at in (at for at in hidden if files.name_of(at) == FOR_DATASETS and files.read(at) == CONFIGS):
            files.remove(at)
        for home in emptied:
            with contextlib.suppress(FileNotFoundError):  # the journal of a parent folder listed it
                os.unlink(os.path.join(home, JOURNAL))
    for home in emptied:  # without the lease, which is a file
        remove_empty(home, above=os.path.dirname(os.path.abspath(files.path_of(url))))
    return freed, left


def homes(url: str) -> list[str]:
    """Return the folders inside `url`, at any depth, that have a journal (list of created files), the deepest first."""
    found = [folder for folder, _, _ in os.walk(files.path_of(url)) if is_journal(os.path.join(folder, JOURNAL))]
    return sorted(found, key=lambda folder: (-folder.count(os.sep), folder))


def _divided(out: str, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the files under `names` that dataprep wrote, including unfinished ones, and the foreign files.

    Journals come last, since after a killed call, the next call needs them to identify dataprep's files.
    """
    local = files.is_local(out)
    out = os.path.abspath(files.path_of(out)) if local else out
    found = [url for name in names for url in _files(files.join(out, name))]
    ours = _journaled(out) if local else set()
    mine = [url for url in found if url in ours or is_attempt(files.name_of(url))]
    others = [url for url in found if url not in ours and not files.name_of(url).startswith(".")]
    if others and (not local or not (journal := journal_of(out)) or n_damaged(journal) or _is_copied(out, ours)):
        named = _named_by_receipts(out, others)
        mine += [url for url in others if url in named]
        others = [url for url in others if url not in named]
    return sorted(mine, key=lambda url: files.name_of(url) == JOURNAL), others


def _is_copied(out: str, ours: set[str]) -> bool:
    """Return whether a folder was copied, without a journal of its own, into a folder with a journal.

    - ours: the files that the journals list, without the manifest, which describes the content of the folder.
    """
    place = files.join(out, MANIFEST)
    return place not in ours and not is_journal(os.path.join(out, JOURNAL)) and _record(place).get("kind") in MANIFESTS


def _files(url: str) -> Iterator[str]:
    """Yield the files of a folder at any depth, including hidden ones, or the file itself; links are not followed."""
    if not files.is_local(url):
        listed = files.listing(url)
        yield from listed.found
        for hidden in (found for found in listed.hidden if files.name_of(found) in (UNFINISHED, REPLACED)):
            yield from files.expand(hidden)
    elif os.path.isdir(url) and not os.path.islink(url):
        for folder, inside, names in os.walk(url):
            yield from (os.path.join(folder, name) for name in names)
            yield from (path for name in inside if os.path.islink(path := os.path.join(folder, name)))
    elif os.path.lexists(url):
        yield url


def _journaled(out: str) -> set[str]:
    """Return the absolute paths that the journals around and inside a local folder list."""
    journals = {os.path.join(home, JOURNAL) for home in homes(out)} | {journal_of(out)}
    return {path for journal in journals if journal for path in journaled(journal)}


def _named_by_receipts(out: str, searched: Collection[str] | None = None) -> set[str]:
    """Return the files in a folder without a journal that a manifest or receipt names, or with a name of dataprep.

    - searched: the files in question; receipts are not read if the manifests identify all of them. None: all files.
    """
    listed = list(_files(out))
    found: set[str] = set()
    homes: dict[str, set[str]] = {_LAYOUT: set(), _TOKENS: set(), _INDEX: set()}
    packed = f"/{RECEIPTS}/{PACKED}"
    homes[_LAYOUT] |= {_result(url.removesuffix(packed)) for url in listed if url.endswith(packed)}
    homes[_TOKENS] |= {_result(url.rpartition("/")[0]) for url in listed if files.name_of(url) == SIZES_OF_IDS}
    manifests = [url for url in listed if files.name_of(url) == MANIFEST]
    others = [url for url in listed if url.endswith(".json") and files.name_of(url) != MANIFEST]
    for urls in (manifests, others):
        for url, record in files.each(_record, urls):
            found |= _named_by(url, record, listed, homes)
        for inside, some in homes.items():
            layouts = [re.compile(re.escape(home) + inside) for home in some]
            found |= {url for url in listed if any(layout.fullmatch(url) for layout in layouts)}
        if searched is not None and found.issuperset(searched):
            break
    return found


def _named_by(url: str, record: dict[str, Any], listed: list[str], homes: dict[str, set[str]]) -> set[str]:
    """Return the files that a manifest or receipt names; add the folder of its result to `homes`, by kind of result."""
    home = url.rpartition("/")[0]
    written = _dicts(record.get("files"))
    names = [one.get("name") for one in (*written, *_dicts(record.get("shards")))]
    is_receipt = "key" in record and "files" in record and all({"name", "size", "hash"} <= set(f) for f in written)
    if not is_receipt and not (record.get("kind") in MANIFESTS and {"key", "shards"} & set(record)):
        return set()
    found = {receipts.resolved(url, name) for name in names if isinstance(name, str)} | {url}
    if record.get("kind") == TOKENS:
        homes[_TOKENS].add(_result(home))
        kept = [one.get(name) for one in _dicts([record.get("tokenizer")]) for name in ("file", "config")]
        found |= {url for url in (files.join(home, str(name)) for name in kept) if url in listed}
    if record.get("kind") == INDEX:
        homes[_INDEX].add(_result(home))
    if home.endswith(f"/{RECEIPTS}") or record.get("kind") == DATASET:
        homes[_LAYOUT].add(_result(home.removesuffix(f"/{RECEIPTS}")))
    return found


def _result(home: str) -> str:
    """Return the folder of the result to which the files in the folder `home` belong, or will belong."""
    return home.removesuffix(f"/{UNFINISHED}").removesuffix(f"/{REPLACED}")


def _record(url: str) -> dict[str, Any]:
    try:
        found = files.read_json(url) if not files.is_local(url) or os.path.isfile(url) else {}
    except (DataprepError, OSError):  # not a journal of ours, or truncated
        return {}
    return found if isinstance(found, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def relative(url: str, out: str) -> str:
    """Return the path of a file relative to the folder `out`."""
    if files.is_local(out):
        home = os.path.abspath(files.path_of(out))
    else:  # a remote URL can be spelled in several ways
        url, home = files.fs_of(url)[1], files.fs_of(out)[1]
    return url.removeprefix(home.rstrip("/")).lstrip("/")
