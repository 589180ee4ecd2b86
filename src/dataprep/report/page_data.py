"""What the page tells: read from what a run left, before any drawing."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from dataprep.core.dataset import open_dataset
from dataprep.core.stats import HIDDEN, Amount, StageStats, Stats
from dataprep.core.tables import Drop
from dataprep.errors import DataprepError
from dataprep.history import clusters, why
from dataprep.history.clusters import Cluster, Likeness
from dataprep.history.cuts import Repeat, most_repeated
from dataprep.history.word_diff import Side, word_diff
from dataprep.store import files
from dataprep.tokens.shard_format import KIND
from dataprep.tokens.shards.shard import Shards

PAIRS = 8  # least similar removals, side by side
LARGEST = 6  # clusters that are shown with texts
REPEATS = 10  # cut texts
LANGUAGE = ("language", "lang")  # the column that tells it, by whatever stage


@dataclass(frozen=True)
class Pair:
    """A removed document beside the one that stays; a text that is gone is None."""

    drop: Drop
    gone: Side | None
    kept: Side | None


@dataclass(frozen=True)
class Tokens:
    """The encoded result."""

    manifest: dict[str, Any]
    tokens: int
    documents: int
    n_bytes: int
    vocab_size: int
    shards: list[dict[str, Any]]
    lengths: dict[int, int]  # documents by the bits of their token count


@dataclass(frozen=True)
class Facts:
    """Everything on the page."""

    name: str
    manifests: dict[str, dict[str, Any]]  # of the sealed Datasets, by folder
    books: list[StageStats]
    sources: dict[str, tuple[Amount, Amount]]  # what came in and what went out, most bytes first
    alarms: list[str]
    fits: list[dict[str, Any]] = field(default_factory=list)  # what Estimators counted: {"stage": name, ...}
    likeness: dict[str, Likeness] = field(default_factory=dict)
    sizes: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None  # of clusters, and how many have each
    largest: list[tuple[Cluster, list[Pair]]] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    repeats: list[Repeat] = field(default_factory=list)
    languages: Counter[str] = field(default_factory=Counter)
    tokens: Tokens | None = None
    metrics: list[dict[str, Any]] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)


def gather(folder: str) -> Facts:
    """Read a run's folder; what a run has not reached yet is simply not there."""
    finals = {place: open_dataset(place) for place in why.final_folders(folder)}
    books = [book for docs in finals.values() for book in docs.stats if book.docs_in]
    sources = sources_of(books)
    found = clusters.find(folder)
    return Facts(
        name=files.name_of(folder) or folder,
        manifests={place: docs.manifest for place, docs in finals.items()},
        books=books,
        sources=sources,
        alarms=alarms(books, sources),
        fits=[fit for docs in finals.values() for fit in docs.manifest.get("fits", [])],
        likeness=clusters.likeness(folder),
        sizes=found.sizes() if found.removed else None,
        largest=[(c, [pair(folder, d) for d in c.examples[:1]]) for c in found.largest(LARGEST)],
        pairs=[pair(folder, drop) for drop in clusters.least_similar(folder, PAIRS)],
        repeats=most_repeated(folder, REPEATS),
        languages=_languages(list(finals.values())[-1]),
        tokens=tokens_of(folder),
        metrics=metrics_of(folder),
        samples=_samples(folder),
    )


def sources_of(books: list[StageStats]) -> dict[str, tuple[Amount, Amount]]:
    """Each source where it first came in, and what of it went out of the last stage (the last that hides its name)."""
    found: dict[str, tuple[Amount, Amount]] = {}
    for book in books:
        for name, came in book.into.items():
            found.setdefault(name, (came, books[-1].out.get(name, Amount())))
    for book in books:
        if HIDDEN in book.out and HIDDEN in found:
            found[HIDDEN] = (found[HIDDEN][0], book.out[HIDDEN])
    return dict(sorted(found.items(), key=lambda item: (-item[1][0].bytes, item[0])))


def renamed(books: list[StageStats]) -> set[str]:
    """Sources that came in under hidden names, before a stage gave them others."""
    new: set[str] = set()
    seen: set[str] = set()
    for before, book in itertools.pairwise(books):
        seen |= set(before.into)
        if HIDDEN in before.out and HIDDEN not in book.into:
            new |= set(book.into) - seen
    return new


def alarms(books: list[StageStats], sources: dict[str, tuple[Amount, Amount]]) -> list[str]:
    """Sources of which one stage removed nearly everything, or all of them together."""
    said = Stats(books).alarms()
    for name, (came, left) in sources.items():
        joined = sum(book.docs_moved(name) for book in books)
        lost = came.docs - left.docs - joined
        if came.docs >= 100 and left.docs + joined < came.docs / 100 and not any(f"'{name}'" in a for a in said):
            said.append(f"all stages together removed {lost:,} of {came.docs:,} documents of '{name}'")
    return said


def pair(folder: str, drop: Drop) -> Pair:
    """Both texts, as far as they can still be read."""
    gone, kept = why.removed(folder, drop), why.survivor(folder, drop)
    texts = [None if row is None else str(row["text"]) for row in (gone, kept)]
    sides = word_diff(texts[0] or "", texts[1] or "")
    return Pair(drop, sides[0] if gone else None, sides[1] if kept else None)


def _languages(docs: Any) -> Counter[str]:
    """Documents by language, if a column tells it."""
    counts: Counter[str] = Counter()
    for name in [name for name in LANGUAGE if name in docs.columns][:1]:
        for batch in docs.batches(["id", name]):
            values = batch.column(name).cast(pa.string()).value_counts().to_pylist()
            counts.update({row["values"] or "unknown": row["counts"] for row in values})
    return counts


def _places(folder: str) -> list[str]:
    return [folder, *(files.join(folder, name) for name in files.listdir(folder))]


def tokens_of(folder: str) -> Tokens | None:
    """What a run encoded, if it has come so far."""
    for place in _places(folder):
        manifest = files.join(place, "manifest.json")
        if files.exists(manifest) and files.read_json(manifest).get("kind") == KIND:
            shards = Shards.open(files.path_of(place))
            told = files.read_json(manifest)
            sizes = (shards.n_tokens, len(shards), shards.n_bytes, shards.vocab_size)
            return Tokens(told, *sizes, shards.shards, _lengths(shards))
    return None


def _lengths(shards: Shards) -> dict[int, int]:
    counts: Counter[int] = Counter()
    for i in range(len(shards.shards)):
        lengths = np.diff(np.asarray(shards.ends(i), np.int64), prepend=0)
        bits, n = np.unique(np.frexp(lengths.astype(np.float64))[1], return_counts=True)
        counts.update(dict(zip(bits.tolist(), n.tolist(), strict=True)))
    return dict(sorted(counts.items()))


def metrics_of(folder: str) -> list[dict[str, Any]]:
    """The rows that training wrote, if the run has come so far."""
    for place in _places(folder):
        url = files.join(place, "metrics.jsonl")
        if files.exists(url):
            with files.open_raw(url) as f:
                return [orjson.loads(line) for line in f if line.endswith(b"\n")]
    return []


def _samples(folder: str) -> list[str]:
    for place in _places(folder):
        url = files.join(place, "sample.json")
        if files.exists(url):
            try:
                return [str(text) for text in files.read_json(url)]
            except DataprepError:
                return []
    return []
