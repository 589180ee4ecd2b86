"""The function `forget`: remove documents from everything that a run made from them, and from every rerun."""

from __future__ import annotations

import csv
import io
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from dataprep.core.model import batch as B
from dataprep.core.model.batch import NO_IDS, Ids, union
from dataprep.core.output import forget_list, lineage, owned
from dataprep.core.output.layout import RECEIPTS, Folder
from dataprep.core.output.state import TOKENS
from dataprep.core.run.runner import Runner
from dataprep.errors import CorruptShard, PlanError, counted
from dataprep.history import review
from dataprep.shown.notebook import block
from dataprep.store import files, lease, receipts
from dataprep.store.atomic import remove_empty

from .copies import Copy
from .datasets import remove_documents, remove_examples
from .family import Family, Member
from .filters import refill_filters
from .leftovers import remaining_files, remove_work_files
from .plan import Removal
from .rewrite import remove_unfinished
from .tokens import remove_token_documents

__all__ = ["Copy", "Forgotten", "forget", "read_ids"]


@dataclass(frozen=True)
class Forgotten:
    """The result of `forget`.

    Attributes:
        ids: the ids that were given.
        removed: the number of documents removed, by folder.
        unknown: the given ids that occur in no folder.
        copies: documents that may have the same text.
        cleared: a sentence for each work file that was removed or rebuilt.
        elsewhere: a sentence for each file that may still contain the text.
    """

    ids: Ids
    removed: dict[str, int] = field(default_factory=dict)
    unknown: Ids = field(default_factory=lambda: NO_IDS)
    copies: tuple[Copy, ...] = ()
    cleared: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()

    _repr_html_ = block

    def __str__(self) -> str:
        rows = counted(sum(self.removed.values()), "row")
        folders = counted(sum(map(bool, self.removed.values())), "folder")
        return f"{counted(len(self.ids), 'id')} on the list, {rows} removed from {folders}"


def forget(
    url: str,
    ids: Iterable[int | str] | str | None = None,
    *,
    of: str | None = None,
    with_copies: bool = False,
    missing_ok: bool = False,
    runner: Runner | None = None,
) -> Forgotten:
    """Remove documents from all results in a folder, and from every rerun.

    Args:
        url: the folder of a run, of a Dataset, or of token shards.
        ids: document ids as integers or "file:position", or the path of a file of ids (`read_ids`). None only finishes
            an earlier call that was interrupted.
        of: the folder inside `url` to which the ids refer; needed if the folders in `url` number documents differently.
        with_copies: also forget the duplicates of the documents, both those that were dropped and those that were kept.
        missing_ok: list unknown ids in the result instead of raising PlanError.
        runner: the Runner that fills Bloom filters again; `dp.tools.Serial()` by default.

    The ids are added to the forget list of every folder; the documents on this list are dropped right after reading.
    Then the shards that contain the documents are rewritten without them; other shards are not changed. If the process
    is killed, the same call resumes the work. The conversation that contains a forgotten message is removed too; a
    rerun rebuilds it without the message.

    Raises:
        PlanError: if ids are unknown, or if `url` holds neither a Dataset nor token shards.
        InUse: if another process writes into one of the folders.
    """
    url = posixpath.normpath(files.path_of(url)) if files.is_local(url) else url.rstrip("/")
    lease.check_place(url)
    family = Family(url)
    given = read_ids(ids) if isinstance(ids, str) else _parsed(ids or ())
    written = [*(member.folder for member in family.members), *family.indexes]
    with lease.all_held([url, *(folder.url for folder in written)]):
        plan = Removal.of(family, given, of, with_copies=with_copies, missing_ok=missing_ok)
        removed, cleared = _apply(plan, runner)
        files.sweep(url)  # half-written files of killed attempts may hold texts
        for member in family.members:
            owned.settle(member.folder.url)
        cleared += _remove_judgements(url, plan)
        elsewhere = remaining_files(family, plan.lists)
    for index in family.indexes:  # without the lease, which is a file
        remove_empty(files.path_of(index.url), above=files.path_of(url))
    return Forgotten(given, removed, plan.unknown, plan.copies, tuple(cleared), tuple(elsewhere))


def _apply(plan: Removal, runner: Runner | None) -> tuple[dict[str, int], list[str]]:
    """Write the forget lists, and then rewrite each folder that has the documents.

    Returns the number of removed documents by folder, and a sentence for each work file that was removed or rebuilt.
    """
    ordered = plan.family.parents_first
    changed = [member for member in reversed(ordered) if member.kind != TOKENS and len(plan.gone[member.folder])]
    for folder in (folder for member in plan.lists for folder in member.datasets if len(plan.gone[folder])):
        found = folder.receipts()  # before anything is written: a damaged one may quote a document
        for url, record in found.items():
            receipts.stated(record, url)
        if folder.is_settled and (folder.missing_receipts(found) or folder.unstated(found)):
            msg = f"{folder.path(RECEIPTS)} does not state all documents of the result; {receipts.RESTORES}"
            raise CorruptShard(msg)
    for member, ids in plan.lists.items():  # before all else, so that a rerun obeys it
        forget_list.write_if_new(member.folder.url, ids)
    cleared = list(remove_work_files(plan.family, changed))
    removed: dict[str, int] = {}
    for member in reversed(ordered):  # a call after a killed one finds in the parents what was made of the documents
        removed |= _remove(plan, member)
    for member in reversed(changed):
        if member.folder.is_sealed:
            cleared += refill_filters(member, runner)
    return removed, cleared


def _remove_judgements(url: str, plan: Removal) -> list[str]:
    """Remove the judgements on the documents next to the folder, its run and its Datasets; return sentences."""
    homes = {url, Folder(url.rstrip("/")).parent.url, *(member.folder.url for member in plan.lists)}
    reviewed = [home for home in sorted(homes) if review.is_there(home)]
    counts = {review.place_of(home): review.remove(home, _ids_in(home, plan)) for home in reviewed}
    return [f"{counted(n, 'judgement')} removed from {at}" for at, n in counts.items() if n]


def _ids_in(home: str, plan: Removal) -> set[int]:
    """Return the ids of the forgotten documents in the result in a folder: those of its last Dataset."""
    lists = {files.real(member.folder.url): ids for member, ids in plan.lists.items()}
    try:
        found = [(lists.get(files.real(one.url), NO_IDS), shift)
                 for one in lineage.family(home, saved=False) for shift in one.shifts]  # fmt: skip
    except PlanError:  # several results, or none: whichever the judgements are on
        found = [(ids, 0) for ids in lists.values()]
    return set(union(ids + np.uint64(shift) for ids, shift in found).tolist())


def _remove(plan: Removal, member: Member) -> dict[str, int]:
    """Remove documents from a folder and its saved steps; return the number of documents by folder.

    Folders without forgotten documents are not opened. Unfinished work on token shards is always removed, because an
    unfinished mixture does not state its sources.
    """
    gone, forgotten, is_tokens = plan.gone_by_source(member), plan.forgotten(member), member.kind == TOKENS
    has_gone = any(map(len, gone.values()))
    removed = {member.folder.url: 0} if is_tokens else {}
    for folder in (*member.saved, member.folder):
        if folder.is_pruned:
            if has_gone:
                remove_examples(folder, plan.gone[folder], forgotten)
        elif not folder.is_sealed and (has_gone or is_tokens):
            remove_unfinished(folder, forgotten)
        elif has_gone and is_tokens:
            removed[folder.url] = remove_token_documents(folder, gone, forgotten)
        elif has_gone:
            is_step = folder is not member.folder
            removed[folder.url] = remove_documents(folder, plan.gone[folder], forgotten, is_step=is_step)
    return removed


def read_ids(path: str) -> Ids:
    """Return the document ids in a file: lines of integers or file:position, or the column `id` of Parquet or CSV.

    Raises PlanError if the file has no ids, or if an id is not valid.
    """
    if path.endswith(".parquet"):
        with files.open_arrow(path) as f:
            table = pq.read_table(f)
        _check_column(path, table.column_names)
        return _parsed(table["id"].to_pylist())
    with files.open_read(path) as f:
        text = f.read().decode("utf-8-sig", "replace")
    if files.suffix(path) == ".csv":
        rows = csv.DictReader(io.StringIO(text))
        _check_column(path, rows.fieldnames or ())
        found = [str(row["id"]).strip() for row in rows]
    else:
        found = [line.strip() for line in text.split("\n") if line.strip() and not line.startswith("#")]
    if not found:
        msg = f"{path} contains no ids; write one per line, as file:position (3:1745) or as an integer"
        raise PlanError(msg)
    return _parsed(found)


def _check_column(path: str, names: Sequence[str]) -> None:
    if "id" not in names:
        msg = f"{path} has no column id; the columns are {', '.join(names)}; rename one to id"
        raise PlanError(msg)


def _parsed(ids: Iterable[Any]) -> Ids:
    return np.unique(np.array([B.parse_id(str(i)) for i in ids], np.uint64))
