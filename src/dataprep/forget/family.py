"""The relations of a run's folders: the folders from which each was made, and a document's ids in each."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Ids
from dataprep.core.output.changes import SEALED
from dataprep.core.output.layout import MANIFEST, ORIGIN, RECIPE, STEPS, UNFINISHED, Folder, home_of
from dataprep.core.output.run_folder import run_steps
from dataprep.core.output.state import DATASET, TOKENS, Manifest, TokenManifest
from dataprep.errors import PlanError
from dataprep.store import files


@dataclass(eq=False)
class Relative:
    """One folder of a run (a Dataset, or token shards), the folders it was made from, and those made from it.

    url: the folder. kind: Dataset or token shards. steps: saved inputs of its deduplications and other Estimators, in
    which documents have the same ids. parents: the folders from which this folder was made. children: the folders
    that were made from it. Each parent and child has a number, which is added to the file numbers in the parent's ids
    to get those in the child's ids. outside: URLs of Datasets of other runs from which this folder was made, each
    with such a number. input_files: the number and the URL of each input file. sources: if the folder is a mixture,
    the folder of each source by name.
    """

    url: str
    kind: str
    steps: list[Relative] = field(default_factory=list)
    parents: list[tuple[Relative, int]] = field(default_factory=list)
    children: list[tuple[Relative, int]] = field(default_factory=list)
    outside: list[tuple[str, int]] = field(default_factory=list)
    input_files: list[tuple[int, str]] = field(default_factory=list)
    sources: dict[str, Relative] = field(default_factory=dict)

    @cached_property
    def folder(self) -> Folder:
        """The folder as a `Folder`, the object that knows the names of its files; its manifest is read once."""
        return Folder(self.url)

    @property
    def manifest(self) -> Manifest | None:
        """The manifest of a Dataset, as it was first read; None if it is unfinished."""
        return self.folder.manifest

    @property
    def tokens(self) -> TokenManifest | None:
        """The manifest of token shards, as it was first read; None if they are unfinished."""
        return self.folder.token_manifest

    @property
    def datasets(self) -> list[Relative]:
        """The saved steps of this folder, and the folder itself if it is a Dataset."""
        return [*self.steps, *([self] if self.kind == DATASET else [])]

    @property
    def last_file(self) -> int:
        """The largest file number in the ids of this folder's documents; an id has a file number and a position."""
        return (1 << 24) - 1 if self.manifest is None else self.manifest.last_file


def find_family(url: str) -> list[Relative]:
    """Return every finished or unfinished folder in `url`, at any depth, with its relations to the others.

    Raises PlanError if there is no such folder.
    """
    nodes = {node.url: node for node in _folders(url)}
    if not nodes:
        msg = f"{url} has no Dataset and no token shards; give the folder of a run, of a Dataset or of token shards"
        raise PlanError(msg)
    for node in nodes.values():
        _link(node, nodes)
    _link_by_order(url, nodes)
    for node in nodes.values():
        for parent, offset in node.parents:
            parent.children.append((node, offset))
    return list(nodes.values())


def _folders(url: str) -> Iterator[Relative]:
    steps: dict[str, list[Relative]] = {}
    for place in stating_folders(url):
        folder = Folder(place)
        home, is_step, _ = place.rpartition(f"/{STEPS}/")
        recipe = folder.recipe or folder.unfinished.recipe
        kind = recipe.kind if recipe is not None else None if folder.is_sealed else TOKENS
        if is_step:
            steps.setdefault(home, []).append(Relative(place, DATASET))
        elif kind in (DATASET, TOKENS):
            yield Relative(place, kind, steps.setdefault(place, []))


def stating_folders(url: str) -> list[str]:
    """Return the folders in `url`, at any depth and it too, that have a manifest, recipe, origin or unfinished work."""
    return sorted({found.rpartition("/")[0] for found in _stating(url)})


def _stating(url: str) -> list[str]:
    """Return the manifests, recipes and origins in a folder, at any depth; hidden files and links are left out."""
    names = (MANIFEST, RECIPE, ORIGIN)
    if not files.is_local(url) or files.is_glob(url):
        begun = [Folder(at).path(RECIPE) for at in files.hidden(url) if files.name_of(at) == UNFINISHED]
        return [found for found in files.expand(url) if files.name_of(found) in names] + [
            at.removesuffix(f"{UNFINISHED}/{RECIPE}") + RECIPE for at in begun if files.exists(at)
        ]
    found: list[str] = []
    for home, inside, some in os.walk(files.path_of(url)):  # `expand` takes a minute for a million files
        if files.exists(Folder(home).unfinished.path(RECIPE)):
            found.append(files.join(home, RECIPE))
        inside[:] = [name for name in inside if not name.startswith((".", "_"))]
        found += [files.join(home, name) for name in names if name in some]
    return found


def _link(node: Relative, nodes: Mapping[str, Relative]) -> None:
    """Add the parents, input files and sources that a folder's origin and mixture state."""
    origin = node.folder.any_origin
    homes: dict[tuple[str, int], None] = {}
    for row in () if origin is None else origin.files:
        home = home_of(row.url)
        if origin is not None and home is not None and (origin.readers[row.reader] or {}).get("name") == SEALED:
            homes[home.url, row.file] = None
        else:
            node.input_files.append((row.file, row.url))
    for url, offset in homes:
        found = _at(url, nodes)
        if found is None:
            node.outside.append((url, offset))
        elif found is not node:
            node.parents.append((found, offset))
    mixture = (None if node.tokens is None else node.tokens.mixture) or {}
    recipes = {n.tokens.recipe: n for n in nodes.values() if n.tokens is not None} if mixture else {}
    for share in mixture.get("sources", []):
        if share.get("recipe") in recipes:
            node.sources[share["source"]] = recipes[share["recipe"]]


def _at(url: str, nodes: Mapping[str, Relative]) -> Relative | None:
    """Return the folder at a URL; if it was moved with the run, the only one of its name."""
    real = {files.real(other): node for other, node in nodes.items()}
    if files.real(url) in real:
        return real[files.real(url)]
    same = [node for other, node in nodes.items() if posixpath.basename(other) == posixpath.basename(url)]
    return same[0] if len(same) == 1 and not files.exists(url) else None


def _link_by_order(url: str, nodes: Mapping[str, Relative]) -> None:
    """Make the step before it in the run the parent of a folder without an origin, if no ids were shifted."""
    before: Relative | None = None
    for name in run_steps(url) or ():
        node = nodes.get(files.join(url, name))
        if node is None:
            continue
        shifts = {row["offset"] for row in (() if node.manifest is None else node.manifest.inputs) if "offset" in row}
        unknown = not (node.parents or node.input_files or node.outside or node.sources)
        if before is not None and unknown and shifts <= {0}:
            node.parents.append((before, 0))
        if node.kind == DATASET:
            before = node


def parents_first(nodes: list[Relative]) -> list[Relative]:
    """Return the folders in an order in which each comes after the folders from which it was made."""
    placed: dict[Relative, None] = {}

    def place(node: Relative) -> None:
        if node not in placed:
            for parent, _ in node.parents:
                place(parent)
            for source in node.sources.values():
                place(source)
            placed[node] = None

    for node in nodes:
        place(node)
    return list(placed)


def owner_of_ids(url: str, nodes: list[Relative], of: str | None) -> Relative:
    """Return the folder to which the user's ids refer: the folder `of` or, if it is None, the only possible folder.

    nodes: the folders in `url`. Raises PlanError if there is no folder `of`, or if `of` is None and the folders number
    documents differently.
    """
    by_name = {files.name_of(node.url): node for node in nodes} | {node.url: node for node in nodes}
    if of is not None:
        if of not in by_name:
            names = ", ".join(sorted(files.name_of(node.url) for node in nodes))
            msg = f"there is no folder {of} in {url}; --of must be one of {names}"
            raise PlanError(msg)
        return by_name[of]
    here = next((node for node in nodes if files.real(node.url) == files.real(url)), None)
    if here is not None:
        return here
    steps = run_steps(url)
    own = [n for n in nodes if files.real(n.folder.parent.url) == files.real(url) and n.kind == DATASET]
    if steps is not None:
        known = {files.name_of(node.url): node for node in own}
        own = [known[name] for name in steps if name in known] or own
    own = own or nodes
    if len({id(_root(node)) for node in own}) > 1:
        names = ", ".join(files.name_of(node.url) for node in own)
        msg = f"the folders in {url} number documents differently ({names}); name the folder of the ids with --of NAME"
        raise PlanError(msg)
    return own[-1]


def _root(node: Relative) -> Relative:
    """Return the first folder with the same ids, over single parents without an offset."""
    while len(node.parents) == 1 and node.parents[0][1] == 0:
        node = node.parents[0][0]
    return node


def ids_everywhere(start: Mapping[Relative, Ids]) -> dict[Relative, Ids]:
    """Return the ids that the given documents have in each folder of a run, as folders may number them differently.

    start: the ids, by the folder to which they refer. Ids are computed from the relations of the folders; whether a
    document is still in a folder is not checked.
    """
    found: dict[Relative, Ids] = {}
    waiting = [(node, np.unique(ids)) for node, ids in start.items()]
    while waiting:
        node, ids = waiting.pop()
        new = np.setdiff1d(ids, found.get(node, np.zeros(0, np.uint64)))
        if not len(new):
            continue
        found[node] = np.union1d(found.get(node, np.zeros(0, np.uint64)), new)
        for parent, offset in node.parents:
            shift = np.uint64(offset << B.POSITION_BITS)
            up = new[new >= shift] - shift
            waiting.append((parent, up[up >> np.uint64(B.POSITION_BITS) <= parent.last_file]))
        for child, offset in node.children:
            waiting.append((child, new + np.uint64(offset << B.POSITION_BITS)))
    return found
