"""The function `forget`: remove documents from everything that a run made from them, and from every rerun."""

from __future__ import annotations

import csv
import io
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Ids, show_id
from dataprep.core.output.forget_list import digest, listed
from dataprep.core.output.state import DATASET, TOKENS
from dataprep.core.run.runner import Runner
from dataprep.errors import PlanError, counted
from dataprep.shown.notebook import block
from dataprep.store import files, lease

from .copies import Copy, dropped_ids, duplicates_of, joined_documents, windows_of_same
from .datasets import add_to_list, ids_in_file, remove_documents, remove_parts
from .family import Relative, find_family, ids_everywhere, owner_of_ids, parents_first
from .leftovers import refill_filters, remaining_files, remove_indexes, remove_work_files
from .tokens import remove_chunks, remove_token_documents

__all__ = ["Copy", "Forgotten", "forget", "read_ids"]

NONE = np.zeros(0, np.uint64)


@dataclass(frozen=True)
class Forgotten:
    """The result of `forget`.

    ids: the ids that were given. removed: number of documents removed, by folder. unknown: the given ids that occur in
    no folder. copies: documents that may have the same text. cleared: a sentence for each work file that was removed or
    made again. elsewhere: a sentence for each file that may still contain the text.
    """

    ids: Ids
    removed: dict[str, int] = field(default_factory=dict)
    unknown: Ids = field(default_factory=lambda: NONE)
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
    run: Runner | None = None,
) -> Forgotten:
    """Remove documents from everything in a folder, and from every rerun.

    Args:
        url: the folder of a run, of a Dataset, or of token shards.
        ids: document ids as integers or "file:position", or the path of a file of ids (`read_ids`). None only finishes
            an earlier call that was interrupted.
        of: the folder inside `url` to which the ids refer; needed if the folders in `url` number documents differently.
        with_copies: also forget the duplicates of the documents, both those that were dropped and those that were kept.
        missing_ok: list unknown ids in the result instead of raising PlanError.
        run: the Runner that fills Bloom filters again; `dp.Serial()` by default.

    The ids are added to the forget list of every folder; the documents on this list are dropped right after reading.
    Then the shards that contain the documents are written again without them; other shards are not changed. If the
    process is killed, the same call continues the work. The conversation to which a forgotten message was joined is
    removed too; a rerun makes it without the message.

    Raises:
        PlanError: if ids are unknown, or if `url` holds neither a Dataset nor token shards.
        InUse: if another process writes into one of the folders.
    """
    url = posixpath.normpath(files.path_of(url)) if files.is_local(url) else url.rstrip("/")
    lease.check_place(url)
    nodes = find_family(url)
    given = read_ids(ids) if isinstance(ids, str) else _parsed(ids or ())
    start = {owner_of_ids(url, nodes, of): given} if len(given) else {}
    with lease.all_held([url, *(node.url for node in nodes)]):
        return _forget(url, nodes, given, start, run, with_copies=with_copies, missing_ok=missing_ok)


def _forget(
    url: str, nodes: list[Relative], given: Ids, start: dict[Relative, Ids], run: Runner | None,
    *, with_copies: bool, missing_ok: bool,
) -> Forgotten:  # fmt: skip
    """Remove the documents `start` from the folders `nodes` in `url`; see `forget`. given: the ids of the caller."""
    unknown = _unknown(start) if start else NONE
    if len(unknown) and not missing_ok:
        shown = ", ".join(map(show_id, unknown[:10].tolist())) + (" ..." if len(unknown) > 10 else "")
        counts = f"{len(unknown):,} of {len(given):,} ids"
        msg = f"{counts} are not in {url}: {shown}; check them, or pass missing_ok=True (--missing-ok)"
        raise PlanError(msg)
    before = {node: _listed(node) for node in nodes}
    lists = ids_everywhere(before | {node: np.union1d(new, before[node]) for node, new in start.items()})
    found, with_them = _copies(lists)
    for node, wanted in (with_them if with_copies else lists).items():  # before all else, so that a rerun obeys it
        lists[node] = add_to_list(node.url, wanted, listed(node.url))
    removed, cleared = _remove(url, nodes, lists, run)
    files.sweep(url)  # half-written files of killed attempts may hold texts
    elsewhere = dict.fromkeys(remaining_files(nodes, lists, url))
    return Forgotten(given, removed, unknown, tuple(found), tuple(cleared), tuple(elsewhere))


def _listed(node: Relative) -> Ids:
    """Return the ids on the forget lists of a folder, and of the Datasets in other runs that it was made of."""
    shifted = (listed(home) + np.uint64(offset << B.POSITION_BITS) for home, offset in node.outside)
    return B.union([listed(node.url), *shifted])


def read_ids(path: str) -> Ids:
    """Return the document ids in a file: lines of integers or file:position, or the column `id` of Parquet or CSV.

    Raises PlanError if the file has no ids, or if an id is not valid.
    """
    if path.endswith(".parquet"):
        with files.open_arrow(path) as f:
            table = pq.read_table(f)
        if "id" not in table.column_names:
            msg = f"{path} has no column id; the columns are {', '.join(table.column_names)}; rename one to id"
            raise PlanError(msg)
        return _parsed(table["id"].to_pylist())
    with files.open_read(path) as f:
        text = f.read().decode("utf-8-sig", "replace")
    if files.suffix(path) == ".csv":
        table_of = csv.DictReader(io.StringIO(text))
        if "id" not in (table_of.fieldnames or ()):
            msg = f"{path} has no column id; the columns are {', '.join(table_of.fieldnames or ())}; rename one to id"
            raise PlanError(msg)
        rows = [str(row["id"]).strip() for row in table_of]
    else:
        rows = [line.strip() for line in text.split("\n") if line.strip() and not line.startswith("#")]
    if not rows:
        msg = f"{path} holds no ids; write one per line, as file:position (3:1745) or as an integer"
        raise PlanError(msg)
    return _parsed(rows)


def _parsed(ids: Iterable[Any]) -> Ids:
    return np.unique(np.array([B.parse_id(str(i)) for i in ids], np.uint64))


def _unknown(start: dict[Relative, Ids]) -> Ids:
    """Return the ids that no Dataset, drop table or forget list of the family has."""
    ((owner, given),) = start.items()
    known = ids_everywhere({node: _known(node, ids) for node, ids in ids_everywhere(start).items()})
    return np.setdiff1d(given, known.get(owner, NONE))


def _known(node: Relative, ids: Ids) -> Ids:
    """Return those of the ids that a folder has: as documents, as dropped, or as forgotten before."""
    found = [np.intersect1d(ids, listed(node.url))]
    if node.kind == TOKENS:
        names = [] if node.tokens is None else [f"{shard.name}.docs.parquet" for shard in node.tokens.shards]
        found += [ids_in_file(node.folder.path(name), ids) for name in names]
        return B.union(found)
    for one in node.datasets:
        shards = () if one.manifest is None else one.manifest.shards
        some = [shard.name for shard in shards if shard.last_id is not None and shard.last_id >= int(ids[0])]
        found += [ids_in_file(one.folder.path(name), ids) for name in some]
    return B.union([*found, dropped_ids(node, ids)])


def _copies(lists: dict[Relative, Ids]) -> tuple[list[Copy], dict[Relative, Ids]]:
    """Return all duplicates of forgotten documents, those of duplicates too, and the lists with them."""
    found: dict[Copy, None] = {}
    while True:
        datasets = [(node, ids) for node, ids in lists.items() if node.kind == DATASET]
        new = {node: list(duplicates_of(node, ids)) for node, ids in datasets}
        if not any(new.values()):
            return list(found), lists
        found |= dict.fromkeys(copy for some in new.values() for copy in some)
        more = {node: np.array([copy.id for copy in some], np.uint64) for node, some in new.items()}
        lists = ids_everywhere({node: np.union1d(ids, more.get(node, NONE)) for node, ids in lists.items()})


def _ids_to_remove(nodes: list[Relative], lists: dict[Relative, Ids]) -> dict[Relative, Ids]:
    """Return the ids to remove from each folder and saved step: those on its list, and documents made of them.

    A message is on the list; its conversation is removed from the folder in which it was joined, and from later ones.
    """
    to_remove: dict[Relative, Ids] = {}
    made_of_them: dict[Relative, Ids] = {}
    for node in parents_first(nodes):
        shifted = [made_of_them[parent] + np.uint64(offset << B.POSITION_BITS) for parent, offset in node.parents]
        more, on_list = B.union(shifted), lists.get(node, NONE)
        for one in node.datasets if node.kind == DATASET else ():
            if one.manifest is not None:
                more = np.union1d(more, joined_documents(one, np.union1d(on_list, more)))
                more = np.union1d(more, windows_of_same(one, np.union1d(on_list, more)))
            to_remove[one] = np.union1d(on_list, more)
        made_of_them[node] = more
        to_remove[node] = np.union1d(on_list, more)
    return to_remove


def _remove(
    url: str, nodes: list[Relative], lists: dict[Relative, Ids], run: Runner | None
) -> tuple[dict[str, int], list[str]]:
    """Rewrite all folders that hold the documents; return the removed documents by folder, and the cleared files."""
    to_remove = _ids_to_remove(nodes, lists)
    removed: dict[str, int] = {}
    cleared: list[str] = []
    ordered = parents_first(nodes)
    changed = [node for node in ordered if node.kind == DATASET and len(to_remove[node])]
    for node in reversed(ordered):  # a call after a killed one finds in the parents what was made of the documents
        on_list = lists.get(node, NONE)
        if node.kind == TOKENS:
            removed[node.url] = _remove_tokens(node, on_list, to_remove)
        elif node in changed:
            cleared += remove_work_files(node)
            for one in node.datasets:
                if one.manifest is not None:
                    removed[one.url] = remove_documents(one.url, to_remove[one], on_list, is_step=one is not node)
                else:
                    remove_parts(one.url, on_list)
    for node in changed:
        if node.manifest is not None:
            cleared += refill_filters(node, run)
    cleared += remove_indexes(url, [node.url for node in changed])
    return removed, cleared


def _remove_tokens(node: Relative, on_list: Ids, to_remove: dict[Relative, Ids]) -> int:
    """Remove documents from token shards, and return how many there were."""
    if node.tokens is None:
        remove_chunks(node.url)
        return 0
    by_source: dict[str | None, Ids] = {name: to_remove[source] for name, source in node.sources.items()}
    by_source = by_source or {None: to_remove[node]}
    return remove_token_documents(node.url, by_source, digest(on_list)) if any(map(len, by_source.values())) else 0
