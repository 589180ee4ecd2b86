"""What lies in a folder, and what was made of what: so that a document is found in everything it went into."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dataprep.core import batch as B
from dataprep.core.batch import Ids
from dataprep.core.folder import MANIFEST, ORIGIN, RECIPE, RUN
from dataprep.errors import PlanError
from dataprep.store import files

DATASET, TOKENS = "dataset", "tokens"


@dataclass(eq=False)
class Node:
    """A sealed folder, or one that was being made: its manifest is empty then."""

    url: str
    kind: str
    manifest: dict[str, Any]
    steps: list[Node] = field(default_factory=list)  # the saved inputs of its Estimators, whose ids are its own
    parents: list[tuple[Node, int]] = field(default_factory=list)  # what is added to the file numbers there
    children: list[tuple[Node, int]] = field(default_factory=list)
    outside: list[tuple[str, int]] = field(default_factory=list)  # sealed Datasets elsewhere that it was made of
    raw: list[tuple[int, str]] = field(default_factory=list)  # input files by number
    sources: dict[str, Node] = field(default_factory=dict)  # of a mixture, by name

    @property
    def datasets(self) -> list[Node]:
        """Its saved steps and itself, as far as they hold documents."""
        return [*self.steps, *([self] if self.kind == DATASET else [])]

    @property
    def last_file(self) -> int:
        """The largest file number of its ids."""
        return int(self.manifest.get("last_file", (1 << 24) - 1))


def family(url: str) -> list[Node]:
    """Every sealed or unfinished folder in `url`, at any depth, with their kinship; a PlanError if there is none."""
    nodes = {node.url: node for node in _nodes(url)}
    if not nodes:
        msg = f"{url} holds nothing sealed; give the folder of a run, of a Dataset or of token shards"
        raise PlanError(msg)
    for node in nodes.values():
        _link(node, nodes)
    _guess(url, nodes)
    for node in nodes.values():
        for parent, offset in node.parents:
            parent.children.append((node, offset))
    return list(nodes.values())


def _nodes(url: str) -> Iterator[Node]:
    places = {f.rpartition("/")[0] for f in files.expand(url) if files.name_of(f) in (MANIFEST, RECIPE, ORIGIN)}
    inner: dict[str, list[Node]] = {}
    for place in sorted(places):
        home, is_step, _ = place.rpartition("/steps/")
        manifest = _json(files.join(place, MANIFEST))
        kind = manifest.get("kind") or _json(files.join(place, RECIPE)).get("kind") or TOKENS
        if is_step:
            inner.setdefault(home, []).append(Node(place, DATASET, manifest))
        elif kind in (DATASET, TOKENS):
            yield Node(place, kind, manifest, inner.setdefault(place, []))


def _json(place: str) -> dict[str, Any]:
    found = files.read_json(place) if files.exists(place) else {}
    return found if isinstance(found, dict) else {}


def _link(node: Node, nodes: Mapping[str, Node]) -> None:
    """Find what it was made of, in its `origin.json` or its mixture."""
    told = _json(files.join(node.url, ORIGIN))
    homes: dict[tuple[str, int], None] = {}
    for row in told.get("files", []):
        if (told["readers"][row["reader"]] or {}).get("name") == "Sealed":
            homes[row["url"].rpartition("/data/")[0], row["file"]] = None
        else:
            node.raw.append((row["file"], row["url"]))
    for home, offset in homes:
        found = _at(home, nodes)
        if found is None:
            node.outside.append((home, offset))
        elif found is not node:
            node.parents.append((found, offset))
    recipes = {n.manifest["recipe"]: n for n in nodes.values() if n.kind == TOKENS and "recipe" in n.manifest}
    for share in (node.manifest.get("mixture") or {}).get("sources", []):
        if share.get("recipe") in recipes:
            node.sources[share["source"]] = recipes[share["recipe"]]


def _at(home: str, nodes: Mapping[str, Node]) -> Node | None:
    """The folder that `home` names, also where the whole was moved since."""
    real = {files.real(url): node for url, node in nodes.items()}
    if files.real(home) in real:
        return real[files.real(home)]
    same = [node for url, node in nodes.items() if posixpath.basename(url) == posixpath.basename(home)]
    return same[0] if len(same) == 1 and not files.exists(home) else None


def _guess(url: str, nodes: Mapping[str, Node]) -> None:
    """Without an origin (hidden, or older): made of the step before it in the run, where no ids were shifted."""
    before: Node | None = None
    steps = _json(files.join(url, RUN)).get("steps", [])
    for name in steps:
        node = nodes.get(files.join(url, name))
        if node is None:
            continue
        shifts = {row.get("offset", row.get("file")) for row in node.manifest.get("inputs", []) if "offset" in row}
        unknown = not (node.parents or node.raw or node.outside or node.sources)
        if before is not None and unknown and shifts <= {0}:
            node.parents.append((before, 0))
        if node.kind == DATASET:
            before = node


def parents_first(nodes: list[Node]) -> list[Node]:
    """The same folders, each behind what it was made of."""
    placed: dict[Node, None] = {}

    def place(node: Node) -> None:
        if node not in placed:
            for parent, _ in node.parents:
                place(parent)
            for of in node.sources.values():
                place(of)
            placed[node] = None

    for node in nodes:
        place(node)
    return list(placed)


def ids_of(url: str, nodes: list[Node], of: str | None) -> Node:
    """The folder whose ids a user means: `of`, or the only one there can be; a PlanError where that is not clear."""
    by_name = {files.name_of(node.url): node for node in nodes} | {node.url: node for node in nodes}
    if of is not None:
        if of not in by_name:
            names = ", ".join(sorted(files.name_of(node.url) for node in nodes))
            msg = f"there is no folder {of} in {url}; there are {names}"
            raise PlanError(msg)
        return by_name[of]
    here = next((node for node in nodes if files.real(node.url) == files.real(url)), None)
    if here is not None:
        return here
    steps = _json(files.join(url, RUN)).get("steps")
    own = [n for n in nodes if files.real(n.url.rpartition("/")[0] or ".") == files.real(url) and n.kind == DATASET]
    if steps is not None:
        known = {files.name_of(node.url): node for node in own}
        own = [known[name] for name in steps if name in known] or own
    own = own or nodes
    spaces = {id(_root(node)) for node in own}
    if len(spaces) > 1:
        names = ", ".join(files.name_of(node.url) for node in own)
        msg = f"the folders in {url} count documents differently ({names}): say whose ids these are, with --of NAME"
        raise PlanError(msg)
    return own[-1]


def _root(node: Node) -> Node:
    """The first folder with the same ids: up the line while there is one parent, and no shift."""
    while len(node.parents) == 1 and node.parents[0][1] == 0:
        node = node.parents[0][0]
    return node


def spread(start: Mapping[Node, Ids]) -> dict[Node, Ids]:
    """The same documents by the ids they have in every folder of the family; a mixture has those of its sources."""
    found: dict[Node, Ids] = {}
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
