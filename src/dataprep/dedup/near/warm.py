"""Compiles the kernels of deduplication on a tiny input, before workers start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dataprep.core import batch as B

from .cluster import flatten, unite
from .match import star_edges
from .sketch import Sketch
from .verify import BUDGET, Rule, decide


@dataclass
class _TwoRows:
    """Two equal documents in memory, as `Rows` would load them."""

    ids: Any
    rank: Any
    words: Any
    payload: Any

    def load(self, rows: Any) -> tuple[Any, Any]:
        return (np.cumsum(self.words) - self.words)[rows], self.payload


def warm(sketch: Sketch) -> None:
    """Compile what `sketch` will need, for the array types that the passes use."""
    marks = ["!", "!"]
    batch = B.make([0, 1], marks, "warm", columns={name: marks for name in sketch.columns if name not in B.FIXED})
    _, keys = sketch.keys(batch)
    starts, contents, _ = sketch.contents(batch)
    edges = star_edges(np.zeros(2, np.uint64), np.arange(2, dtype=np.uint32), np.uint32(0))
    parent = np.arange(2, dtype=np.uint32)
    unite(parent, np.frombuffer(edges.tobytes(), np.uint32).reshape(-1, 2))
    flatten(parent)
    payload = np.concatenate([np.concatenate([k, contents[: starts[1]]]) for k in keys.T])
    words = np.full(2, len(keys) + starts[1])
    ids = np.arange(2, dtype=np.uint64)
    rule, origin = Rule(sketch.threshold, contained=False), np.zeros(2, np.uint16)
    decide(_TwoRows(ids, ids, words, payload), origin, sketch.bands, rule, BUDGET, 0)  # type: ignore[arg-type]
