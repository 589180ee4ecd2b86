"""Family: the folders of a run, the folders from which each was made, and the ids of a document in each of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from dataprep.core.model.batch import NO_IDS, POSITION_BITS, Ids
from dataprep.core.output import forget_list
from dataprep.core.output.changes import SEALED
from dataprep.core.output.layout import MANIFEST, ORIGIN, RECIPE, STEPS, UNFINISHED, Folder, home_of
from dataprep.core.output.run_folder import run_steps
from dataprep.core.output.state import DATASET, INDEX, TOKENS, Origin, OriginFile
from dataprep.errors import PlanError
from dataprep.store import files

STATE = {MANIFEST, RECIPE, ORIGIN}


@dataclass(eq=False)
class Member:
    """One folder of a run (a Dataset, or token shards), the folders it was made from, and those made from it.

    Attributes:
        kind: Dataset or token shards.
        saved: saved inputs of its deduplications and other Estimators, in which documents have the same ids.
        parents: the folders from which this folder was made.
        children: the folders that were made from it. Each parent and child has a number, which is added to the file
            numbers in the parent's ids to obtain the file numbers in the child's ids.
        outside: Datasets of other runs from which this folder was made, each with such a number.
        originals: Datasets of other runs of which parents are copies.
        inputs: the number and the URL of each input file.
        sources: if the folder is a mixture, the token shards of each source by name, which may be outside of the run.
        unknown: its input, if that was not found; "" if it was found.
    """

    folder: Folder
    kind: str
    saved: list[Folder] = field(default_factory=list)
    parents: list[tuple[Member, int]] = field(default_factory=list)
    children: list[tuple[Member, int]] = field(default_factory=list)
    outside: list[tuple[Folder, int]] = field(default_factory=list)
    originals: list[Folder] = field(default_factory=list)
    inputs: list[tuple[int, str]] = field(default_factory=list)
    sources: dict[str, Member] = field(default_factory=dict)
    unknown: str = ""

    @property
    def datasets(self) -> list[Folder]:
        """The saved steps of this folder, and the folder itself if it is a Dataset."""
        return [*self.saved, *([self.folder] if self.kind == DATASET else [])]

    @property
    def listed(self) -> Ids:
        """The ids on the forget lists of the folder, and of the Datasets in other runs from which it was made."""
        return forget_list.wanted([(home.url, offset) for home, offset in self.outside], self.folder.url)

    @property
    def last_file(self) -> int:
        """The largest file number in the ids of this folder's documents; an id has a file number and a position."""
        found = self.folder.manifest
        return (1 << 24) - 1 if found is None else found.last_file

    @property
    def content(self) -> set[str]:
        """The hashes of the shards of a finished Dataset, as they were before documents were forgotten."""
        found = self.folder.readable
        return set() if found is None else {shard.sealed or shard.hash for shard in found.shards}

    @property
    def is_alone(self) -> bool:
        """Whether the input of this folder is unknown."""
        return not (self.parents or self.inputs or self.outside or self.sources)

    @property
    def root(self) -> Member:
        """The earliest ancestor with the same ids, found by following single parents without an offset."""
        return self.parents[0][0].root if [offset for _, offset in self.parents] == [0] else self

    def made_of(self, parent: Member, offset: int) -> None:
        """Enter a folder from which this one was made."""
        self.parents.append((parent, offset))
        parent.children.append((self, offset))


class Family:
    """Every finished or unfinished folder in a folder, at any depth, with its relations to the others.

    Attributes:
        members: the Datasets and token shards, by their URLs.
        indexes: the search indexes.
        steps: the names of the run's steps; None if the folder is not a run.
        places: the members by the real paths of their folders.

    Raises PlanError if there is no member.
    """

    def __init__(self, url: str) -> None:
        self.home = Folder(url)
        self.members: list[Member] = []
        self.indexes: list[Folder] = []
        saved: dict[str, list[Folder]] = {}
        for folder in _folders(url):
            home, is_step, _ = folder.url.rpartition(f"/{STEPS}/")
            recipe = folder.recipe or folder.unfinished.recipe
            kind = recipe.kind if recipe is not None else None if folder.is_sealed else TOKENS
            if kind == INDEX:
                self.indexes.append(folder)
            elif is_step:
                saved.setdefault(home, []).append(folder)
            elif kind in (DATASET, TOKENS):
                self.members.append(Member(folder, kind, saved.setdefault(folder.url, [])))
        if not self.members:
            msg = f"{url} has no Dataset and no token shards; pass the folder of a run, of a Dataset or of token shards"
            raise PlanError(msg)
        self.places = {files.real(one.folder.url): one for one in self.members}
        self.steps = run_steps(url)
        for member in self.members:
            _link_origin(member, self)
            _link_sources(member, self)
        _link_by_order(self)

    def read_by(self, child: Folder) -> list[tuple[Folder, int, Member | None]]:
        """Return the Datasets that a folder was made from, each with its number; None if it is not a member."""
        content: dict[tuple[Folder, int], set[str]] = {}
        for home, row in _rows(child):
            if home is not None:
                content.setdefault((home, row.file), set()).add(row.fingerprint)
        return [(home, number, self._at(home, shards, child)) for (home, number), shards in content.items()]

    def _at(self, home: Folder, content: set[str], child: Folder) -> Member | None:
        """Return the member that `child` read in the folder `home`: the member there or, in a copied run, its copy.

        If the folder `home` does not exist, the run was moved, and the member is the only one with this name.

        - content: the hashes of the shards that were read.
        """
        if found := self.places.get(files.real(home.url)):
            return found
        same = self.namesakes(home, child)
        copies = [one for one in same if content <= one.content]
        near = [one for one in copies if one.folder.parent == child.parent] or copies
        if len(near) == 1:
            return near[0]
        return same[0] if len(same) == 1 and not files.exists(home.url) else None

    def namesakes(self, home: Folder, child: Folder) -> list[Member]:
        """Return the members, other than `child` itself, that have the name of the folder `home`."""
        return [one for one in self.members if one.folder.name == home.name and one.folder != child]

    def owner(self, of: str | None) -> Member:
        """Return the member to which the user's ids refer: the folder `of` or, if it is None, the only possible one.

        Raises PlanError if there is no folder `of`, or if `of` is None and the folders number documents differently.
        """
        if of is not None:
            by_name = {one.folder.name: one for one in self.members} | {one.folder.url: one for one in self.members}
            if of not in by_name:
                names = ", ".join(sorted(one.folder.name for one in self.members))
                msg = f"there is no folder {of} in {self.home.url}; --of must be one of {names}"
                raise PlanError(msg)
            return by_name[of]
        if here := self.places.get(files.real(self.home.url)):
            return here
        inside = [one for one in self.members if one.kind == DATASET and one.folder.parent == self.home]
        by_name = {one.folder.name: one for one in inside}
        own = [by_name[name] for name in self.steps or () if name in by_name] or inside or self.members
        if len({one.root for one in own}) > 1:
            names = ", ".join(one.folder.name for one in own)
            what = f"the folders in {self.home.url} number documents differently ({names})"
            msg = f"{what}; name the folder of the ids with --of NAME"
            raise PlanError(msg)
        return own[-1]

    @property
    def parents_first(self) -> list[Member]:
        """The members in an order in which each comes after the folders from which it was made."""
        placed: dict[Member, None] = {}

        def place(member: Member) -> None:
            if member not in placed:
                for before in (*(parent for parent, _ in member.parents), *member.sources.values()):
                    place(before)
                placed[member] = None

        for member in self.members:
            place(member)
        return [member for member in placed if member in self.members]


def ids_everywhere(*starts: Mapping[Member, Ids]) -> dict[Member, Ids]:
    """Return the ids of the given documents in each folder of a run, because folders may number them differently.

    Args:
        starts: the ids, by the folder to which they refer.

    Ids are computed from the relations of the folders; whether a document is still in a folder is not checked.
    """
    found: dict[Member, Ids] = {}
    waiting = [(member, np.unique(ids)) for start in starts for member, ids in start.items()]
    while waiting:
        member, ids = waiting.pop()
        new = np.setdiff1d(ids, found.get(member, NO_IDS))
        if not len(new):
            continue
        found[member] = np.union1d(found.get(member, NO_IDS), new)
        for parent, offset in member.parents:
            shift = np.uint64(offset << POSITION_BITS)
            up = new[new >= shift] - shift
            waiting.append((parent, up[up >> np.uint64(POSITION_BITS) <= parent.last_file]))
        for child, offset in member.children:
            waiting.append((child, new + np.uint64(offset << POSITION_BITS)))
    return found


def _folders(url: str) -> list[Folder]:
    """Return `url` and its subfolders, at any depth, that have a manifest, recipe, origin or unfinished work.

    Hidden files and links are left out.
    """
    stating: list[str] = []
    if not files.is_local(url) or files.is_glob(url):
        listed = files.listing(url)
        stating = [at for at in listed.found if files.name_of(at) in STATE]
        stating += [at for at in listed.hidden if files.name_of(at) == UNFINISHED and Folder(at).recipe is not None]
    else:
        for home, inside, names in os.walk(files.path_of(url)):  # `expand` takes a minute for a million files
            begun = [UNFINISHED] if os.path.exists(os.path.join(home, UNFINISHED, RECIPE)) else []
            stating += [f"{home}/{name}" for name in (*STATE.intersection(names), *begun)]
            inside[:] = [name for name in inside if not name.startswith((".", "_"))]
    return [Folder(home) for home in sorted({at.rpartition("/")[0] for at in stating})]


def _link_origin(member: Member, family: Family) -> None:
    """Enter the parents and the input files that the origin of a folder states."""
    member.inputs += [(row.file, row.url) for home, row in _rows(member.folder) if home is None]
    for home, offset, parent in family.read_by(member.folder):
        if parent is None:
            member.outside.append((home, offset))
            if family.namesakes(home, member.folder):
                member.unknown = f"made from {home.url}, and no folder of this name here is a copy of it"
        elif parent is not member:
            member.made_of(parent, offset)
            if files.real(home.url) != files.real(parent.folder.url) and files.exists(home.url):
                member.originals.append(home)


def _rows(folder: Folder) -> Iterator[tuple[Folder | None, OriginFile]]:
    """Yield the input files that the origin of a folder states, each with its Dataset (None if it has none)."""
    origin = folder.any_origin or Origin()
    for row in origin.files:
        is_sealed = (origin.readers[row.reader] or {}).get("name") == SEALED
        yield home_of(row.url) if is_sealed else None, row


def _link_sources(member: Member, family: Family) -> None:
    """Add the sources of a mixture, which are identified by their recipes, because names are ambiguous."""
    tokens = member.folder.token_manifest
    if tokens is None or not tokens.mixture:
        return
    known = {found.recipe: one for one in family.members if (found := one.folder.token_manifest) is not None}
    origin = member.folder.origin or Origin()
    for one in origin.sources:  # of other runs
        found = Folder(one.url).token_manifest
        if found is not None:
            known.setdefault(found.recipe, Member(Folder(one.url), TOKENS))
    for share in tokens.mixture.get("sources", []):
        if share.get("recipe") in known:
            member.sources[share["source"]] = known[share["recipe"]]
        else:
            member.unknown = f"a mixture whose source {share['source']} was not found"


def _link_by_order(family: Family) -> None:
    """For a folder without an origin, make the preceding step of the run its parent, if no ids were shifted."""
    before: Member | None = None
    for name in family.steps or ():
        member = family.places.get(files.real(family.home.path(name)))
        if member is None:
            continue
        found = member.folder.manifest
        shifts = {row["offset"] for row in (() if found is None else found.inputs) if "offset" in row}
        if before is not None and member.is_alone and shifts <= {0}:
            member.made_of(before, 0)
        if member.kind == DATASET:
            before = member
