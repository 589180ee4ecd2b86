"""Removal on request: forget documents, in everything that a run made of them, and in every rerun.

`family` finds what was made of what, `copies` who carries the same text, `datasets` and `tokens.forget` rewrite the
shards, `leftovers` sees to the rest.
"""

from __future__ import annotations

import csv
import io
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from dataprep.core import batch as B
from dataprep.core.batch import Ids, show_id
from dataprep.core.dataset import open_dataset
from dataprep.core.forget_list import listed, noted
from dataprep.core.runner import Runner
from dataprep.errors import PlanError
from dataprep.store import files

from . import copies as alike
from .copies import Copy
from .datasets import erase, held, unfinished, write_lists
from .family import DATASET, TOKENS, Node, family, ids_of, parents_first, spread
from .leftovers import clear, elsewhere, rebuild_filters
from .tokens import erase_tokens, unfinished_tokens

__all__ = ["Copy", "Forgotten", "forget", "read_ids"]

NONE = np.zeros(0, np.uint64)


@dataclass(frozen=True)
class Forgotten:
    """What was done: how many documents left each folder, who carries the same text, and what lies elsewhere."""

    ids: Ids
    removed: dict[str, int] = field(default_factory=dict)
    unknown: Ids = field(default_factory=lambda: NONE)
    copies: tuple[Copy, ...] = ()
    cleared: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()

    def __str__(self) -> str:
        n = sum(self.removed.values())
        return f"{len(self.ids):,} on the list, {n:,} rows removed from {sum(map(bool, self.removed.values()))} folders"


def forget(
    url: str,
    ids: Iterable[int | str] | str | None = None,
    *,
    of: str | None = None,
    with_copies: bool = False,
    missing_ok: bool = False,
    run: Runner | None = None,
) -> Forgotten:
    """Remove documents from all that lies in a folder, for good.

    Args:
        url: the folder of a run, of a Dataset, or of token shards.
        ids: integers or "file:position", or a file of them (`read_ids`). None only finishes what was interrupted.
        of: the folder inside `url` whose ids these are, where several count documents differently.
        with_copies: forget the duplicates too, those that were dropped and those that stand for a forgotten one.
        missing_ok: ids that nothing knows are listed instead of refused.
        run: who fills Bloom filters again; `dp.Serial()` by default.

    The ids go onto the forget list of every folder, which is applied right after reading; then the shards that hold
    these documents are written again without them, and nothing else is. Killed at any moment, the same call goes on.
    A forgotten message takes the conversation that it was joined to out of what is there; made again, it comes without
    the message.

    Raises:
        PlanError: unknown ids, or nothing sealed in `url`.
    """
    url = posixpath.normpath(url) if files.is_local(url) else url.rstrip("/")
    nodes = family(url)
    asked = read_ids(ids) if isinstance(ids, str) else _parsed(ids or ())
    start = {ids_of(url, nodes, of): asked} if len(asked) else {}
    unknown = _unknown(start) if start else NONE
    if len(unknown) and not missing_ok:
        shown = ", ".join(map(show_id, unknown[:10].tolist())) + (" ..." if len(unknown) > 10 else "")
        msg = f"{len(unknown):,} of {len(asked):,} ids are not in {url}: {shown}; check them, or say --missing-ok"
        raise PlanError(msg)
    before = {node: _listed(node) for node in nodes}
    lists = spread(before | {node: np.union1d(new, before[node]) for node, new in start.items()})
    found, with_them = _copies(lists)
    for node, on_list in (with_them if with_copies else lists).items():  # first of all: a rerun in between keeps to it
        lists[node] = write_lists(node.url, on_list, listed(node.url))
    removed, cleared = _erase(nodes, lists, run)
    files.sweep(url)  # half-written files of attempts that were killed may hold texts
    places = dict.fromkeys(elsewhere(nodes, lists, url))
    return Forgotten(asked, removed, unknown, tuple(found), tuple(cleared), tuple(places))


def _listed(node: Node) -> Ids:
    """What a folder must do without: its list, and the lists of sealed Datasets elsewhere that it was made of."""
    shifted = [listed(home) + np.uint64(offset << B.POSITION_BITS) for home, offset in node.outside]
    return np.unique(np.concatenate([listed(node.url), *shifted]))


def read_ids(place: str) -> Ids:
    """Ids of a file: lines of integers or file:position, or the column `id` of a Parquet or CSV file."""
    if place.endswith(".parquet"):
        with files.open_raw(place) as f:
            table = pq.read_table(f)
        if "id" not in table.column_names:
            msg = f"{place} has no column id; it has {', '.join(table.column_names)}"
            raise PlanError(msg)
        return _parsed(table["id"].to_pylist())
    with files.open_read(place) as f:
        text = f.read().decode("utf-8-sig", "replace")
    if files.suffix(place) == ".csv":
        table_of = csv.DictReader(io.StringIO(text))
        if "id" not in (table_of.fieldnames or ()):
            msg = f"{place} has no column id; it has {', '.join(table_of.fieldnames or ())}"
            raise PlanError(msg)
        rows = [str(row["id"]).strip() for row in table_of]
    else:
        rows = [line.strip() for line in text.split("\n") if line.strip() and not line.startswith("#")]
    if not rows:
        msg = f"{place} holds no ids; write one a line, as file:position (3:1745) or as an integer"
        raise PlanError(msg)
    return _parsed(rows)


def _parsed(ids: Iterable[Any]) -> Ids:
    found = [B.parse_id(str(i)) for i in ids]
    wrong = next((i for i in found if not 0 <= i < 2**64), None)
    if wrong is not None:
        msg = f"{wrong} is no document id, which is an integer from 0 to 2^64 - 1; write it as file:position (3:1745)"
        raise PlanError(msg)
    return np.unique(np.array(found, np.uint64))


def _unknown(start: dict[Node, Ids]) -> Ids:
    """The ids that no Dataset, no drop table and no list of the family knows."""
    ((asked_of, asked),) = start.items()
    missing, offsets = asked, _offsets(asked_of)
    for node, ids in spread(start).items():
        missing = np.setdiff1d(missing, _held(node, ids) + offsets[node])
    return missing


def _offsets(root: Node) -> dict[Node, Any]:
    """For each folder of the family, what its ids lack of those of `root` (modulo 2^64)."""
    found, waiting = {root: np.uint64(0)}, [root]
    while waiting:
        node = waiting.pop()
        steps = [(parent, offset) for parent, offset in node.parents] + [(c, -o) for c, o in node.children]
        for other, offset in steps:
            if other not in found:
                shift = (int(found[node]) + (offset << B.POSITION_BITS)) % 2**64
                found[other] = np.uint64(shift)
                waiting.append(other)
    return found


def _held(node: Node, ids: Ids) -> Ids:
    """Those of the ids that a folder knows: as documents, as dropped, or as forgotten before."""
    found = [np.intersect1d(ids, listed(node.url))]
    if node.kind == TOKENS:
        names = (s["name"] for s in node.manifest.get("shards", []))
        found += [held(files.join(node.url, f"{name}.docs.parquet"), ids) for name in names]
        return np.unique(np.concatenate(found))
    for one in node.datasets:
        shards = [s for s in one.manifest.get("shards", []) if s["last_id"] is not None]
        found += [held(files.join(one.url, s["name"]), ids) for s in shards if int(s["last_id"]) >= int(ids[0])]
    return np.unique(np.concatenate([*found, alike.known(node, ids)]))


def _copies(lists: dict[Node, Ids]) -> tuple[list[Copy], dict[Node, Ids]]:
    """Every duplicate of what is forgotten, those of duplicates too; and the lists with them."""
    found: dict[Copy, None] = {}
    while True:
        datasets = [(node, ids) for node, ids in lists.items() if node.kind == DATASET]
        new = {node: list(alike.copies(node, ids)) for node, ids in datasets}
        if not any(new.values()):
            return list(found), lists
        found |= dict.fromkeys(copy for some in new.values() for copy in some)
        more = {node: np.array([copy.id for copy in some], np.uint64) for node, some in new.items()}
        lists = spread({node: np.union1d(ids, more.get(node, NONE)) for node, ids in lists.items()})


def _gone(nodes: list[Node], lists: dict[Node, Ids]) -> dict[Node, Ids]:
    """What is taken out of each folder and saved step: what is on its list, and what that was made part of.

    A message is on the list; the talk that it was joined to goes from there on, not before.
    """
    gone: dict[Node, Ids] = {}
    talks: dict[Node, Ids] = {}
    for node in parents_first(nodes):
        shifted = [talks[parent] + np.uint64(offset << B.POSITION_BITS) for parent, offset in node.parents]
        more, on_list = np.unique(np.concatenate([NONE, *shifted])), lists.get(node, NONE)
        for one in node.datasets if node.kind == DATASET else ():
            if one.manifest:
                more = np.union1d(more, alike.joined(one.url, np.union1d(on_list, more)))
                more = np.union1d(more, alike.together(one, np.union1d(on_list, more)))
            gone[one] = np.union1d(on_list, more)
        talks[node] = more
        gone[node] = np.union1d(on_list, more)
    return gone


def _erase(nodes: list[Node], lists: dict[Node, Ids], run: Runner | None) -> tuple[dict[str, int], list[str]]:
    """Rewrite what holds the documents; how many left each folder, and what else was cleared."""
    gone = _gone(nodes, lists)
    removed: dict[str, int] = {}
    cleared: list[str] = []
    for node in parents_first(nodes):
        on_list = lists.get(node, NONE)
        if node.kind == TOKENS:
            removed[node.url] = _erase_tokens(node, on_list, gone)
            continue
        if not len(gone[node]):
            continue
        for one in node.datasets:
            if one.manifest:
                removed[one.url] = erase(one.url, gone[one], on_list, is_step=one is not node)
            else:
                unfinished(one.url, on_list)
        cleared += clear(node)
        if node.manifest:
            cleared += rebuild_filters(node, run)
            open_dataset(node.url)
    return removed, cleared


def _erase_tokens(node: Node, on_list: Ids, gone: dict[Node, Ids]) -> int:
    if not node.manifest:
        unfinished_tokens(node.url)
        return 0
    by_source: dict[str | None, Ids] = {name: gone[of] for name, of in node.sources.items()}
    by_source = by_source or {None: gone[node]}
    return erase_tokens(node.url, by_source, noted(on_list)) if any(map(len, by_source.values())) else 0
