"""What the page tells: read from what a run left, before any drawing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from dataprep import files, trail
from dataprep.batch import show_id
from dataprep.dataset import open_dataset
from dataprep.errors import DataprepError
from dataprep.stats import StageStats
from dataprep.tokens.shard import KIND, Shards

PAIRS = 6  # examples side by side: a screen's worth
PAIR_CHARS = 1_200


@dataclass(frozen=True)
class Pair:
    """A removed document beside its survivor."""

    gone: str
    kept: str
    stage: str
    similarity: float | None
    gone_text: str
    kept_text: str


@dataclass(frozen=True)
class Tokens:
    """The encoded result."""

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
    books: list[StageStats]
    sources: dict[str, tuple[int, int, int, int]]  # documents in and out, bytes in and out
    similarities: npt.NDArray[np.int64]  # of removed documents, by hundredths
    same: int  # removed documents that were the same as their survivor
    pairs: list[Pair] = field(default_factory=list)
    tokens: Tokens | None = None
    metrics: list[dict[str, Any]] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)


def gather(folder: str) -> Facts:
    """Read a run's folder; what a run has not reached yet is simply not there."""
    books = [book for f in trail.final_folders(folder) for book in open_dataset(f).stats if book.docs_in]
    counts, same = trail.similarities(folder)
    return Facts(
        name=files.name_of(folder) or folder,
        books=books,
        sources=_sources(books),
        similarities=counts,
        same=same,
        pairs=_pairs(folder),
        tokens=tokens_of(folder),
        metrics=metrics_of(folder),
        samples=_samples(folder),
    )


def _sources(books: list[StageStats]) -> dict[str, tuple[int, int, int, int]]:
    """Each source where it first came in, and what of it went out of the last stage."""
    found: dict[str, tuple[int, int, int, int]] = {}
    for book in books:
        for name, came in book.into.items():
            left = books[-1].out.get(name)
            ends = (left.docs, left.bytes) if left else (0, 0)
            found.setdefault(name, (came.docs, ends[0], came.bytes, ends[1]))
    return dict(sorted(found.items(), key=lambda item: -item[1][2]))


def _pairs(folder: str) -> list[Pair]:
    """Examples from the least to the most similar; identical texts teach nothing."""
    found = []
    for drop in trail.near_pairs(folder, PAIRS):
        assert drop.kept is not None, "pairs have survivors"
        gone, kept = trail.document(folder, drop.id), trail.document(folder, drop.kept)
        if gone and kept:
            texts = (gone["text"][:PAIR_CHARS], kept["text"][:PAIR_CHARS])
            found.append(Pair(show_id(drop.id), show_id(drop.kept), drop.stage, drop.similarity, *texts))
    return found


def _places(folder: str) -> list[str]:
    return [folder, *(files.join(folder, name) for name in files.listdir(folder))]


def tokens_of(folder: str) -> Tokens | None:
    """What a run encoded, if it has come so far."""
    for place in _places(folder):
        manifest = files.join(place, "manifest.json")
        if files.exists(manifest) and files.read_json(manifest).get("kind") == KIND:
            shards = Shards.open(files.path_of(place))
            return Tokens(
                shards.n_tokens, len(shards), shards.n_bytes, shards.vocab_size, shards.shards, _lengths(shards)
            )
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
