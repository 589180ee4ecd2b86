"""Plan of a removal: which documents to remove from which folders; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dataprep.core.model.batch import NO_IDS, POSITION_BITS, Ids, show_id, union
from dataprep.core.output import forget_list
from dataprep.core.output.layout import Folder
from dataprep.core.output.state import DATASET
from dataprep.errors import PlanError

from .copies import Copy, dropped_ids, duplicates_of, joined_documents, windows_of_same
from .datasets import ids_in_file, ids_in_shard
from .family import Family, Member, ids_everywhere


@dataclass(frozen=True)
class Removal:
    """The work that `forget` will do.

    Attributes:
        family: the folders.
        unknown: the given ids that occur in none of them.
        copies: documents that may have the same text.
        lists: the forget list that each folder will have.
        gone: the ids to remove from each Dataset, saved step and folder of token shards: the ids on its forget list,
            and those of documents that were made from these documents.
    """

    family: Family
    unknown: Ids
    copies: tuple[Copy, ...]
    lists: Mapping[Member, Ids]
    gone: Mapping[Folder, Ids]

    @classmethod
    def of(cls, family: Family, given: Ids, of: str | None, *, with_copies: bool, missing_ok: bool) -> Removal:
        """Return the plan to remove the documents `given` and those on the forget lists; see `forget`.

        Raises PlanError if an id occurs nowhere and `missing_ok` is False.
        """
        start = {family.owner(of): given} if len(given) else {}
        unknown = _unknown(start) if start else NO_IDS
        if len(unknown) and not missing_ok:
            shown = ", ".join(map(show_id, unknown[:10].tolist())) + (" ..." if len(unknown) > 10 else "")
            counts = f"{len(unknown):,} of {len(given):,} ids"
            msg = f"{counts} are not in {family.home.url}: {shown}; check them, or pass missing_ok=True (--missing-ok)"
            raise PlanError(msg)
        lists = ids_everywhere({member: member.listed for member in family.members}, start)
        copies, with_them = _copies(lists)
        lists = with_them if with_copies else lists
        return cls(family, unknown, copies, lists, _gone(family, lists))

    def forgotten(self, member: Member) -> str | None:
        """Return the hash of the ids that a folder will leave out, for its manifest; None if there are none."""
        if member not in self.family.members:  # a source in another run
            return member.folder.forgotten
        of_sources = {name: self.forgotten(source) for name, source in member.sources.items()}
        return forget_list.digest(self.lists.get(member, NO_IDS), of_sources)

    def gone_by_source(self, member: Member) -> dict[str | None, Ids]:
        """Return the ids to remove from token shards, by source of a mixture; of None: from all sources."""
        by_source: dict[str | None, Ids] = {None: self.gone[member.folder]}
        return by_source | {name: self.gone.get(one.folder, one.listed) for name, one in member.sources.items()}


def _unknown(start: Mapping[Member, Ids]) -> Ids:
    """Return the ids that no Dataset, drop table or forget list of the family has."""
    ((owner, given),) = start.items()
    known = ids_everywhere({member: _known(member, ids) for member, ids in ids_everywhere(start).items()})
    return np.setdiff1d(given, known.get(owner, NO_IDS))


def _known(member: Member, ids: Ids) -> Ids:
    """Return those of the ids that a folder has: as documents, as dropped, or as forgotten before."""
    found = [np.intersect1d(ids, member.listed), dropped_ids(member.datasets, ids)]
    if (tokens := member.folder.token_manifest) is not None:
        found += [ids_in_file(member.folder.path(f"{shard.name}.docs.parquet"), ids) for shard in tokens.shards]
    for folder in (one for one in member.datasets if one.manifest is not None):
        found += [ids_in_shard(folder, shard, ids) for shard in folder.sealed.shards]
    return union(found)


def _copies(lists: dict[Member, Ids]) -> tuple[tuple[Copy, ...], dict[Member, Ids]]:
    """Return all duplicates of forgotten documents, including duplicates of duplicates, and the lists with them."""
    found: dict[Copy, None] = {}
    while True:
        datasets = [(member, ids) for member, ids in lists.items() if member.kind == DATASET]
        new = {member: list(duplicates_of(member.datasets, ids)) for member, ids in datasets}
        if not any(new.values()):
            return tuple(found), lists
        found |= dict.fromkeys(copy for some in new.values() for copy in some)
        more = {member: np.array([copy.id for copy in some], np.uint64) for member, some in new.items()}
        lists = ids_everywhere(lists, more)


def _gone(family: Family, lists: Mapping[Member, Ids]) -> dict[Folder, Ids]:
    """Return the ids to remove from each folder and saved step: ids on its list, and documents made from them.

    A message is on the list; its conversation is removed from the folder in which it was joined, and from later ones.
    """
    gone: dict[Folder, Ids] = {}
    made_of_them: dict[Member, Ids] = {}
    for member in family.parents_first:
        more = union(made_of_them[parent] + np.uint64(offset << POSITION_BITS) for parent, offset in member.parents)
        on_list = lists.get(member, NO_IDS)
        for folder in member.datasets:
            more = np.union1d(more, joined_documents(folder, np.union1d(on_list, more)))
            if folder.manifest is not None:
                more = np.union1d(more, windows_of_same(folder, np.union1d(on_list, more)))
            gone[folder] = np.union1d(on_list, more)
        made_of_them[member] = more
        gone[member.folder] = np.union1d(on_list, more)
    return gone
