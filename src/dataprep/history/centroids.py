"""Representatives and outliers: the documents of each semantic cluster nearest to its centroid and farthest from it.

Both are read, batch by batch, from the columns that `SemDeDup(annotate=True)` added. Memory: about 150 bytes per
document in the result.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from dataprep.core.model import batch as B
from dataprep.core.model.dataset import open_dataset
from dataprep.errors import require

CENTROID, SIMILARITY = "centroid", "centroid_similarity"  # columns, without the prefix


@dataclass
class SemanticCluster:
    """The documents with the same nearest centroid.

    Attributes:
        number: the number of the centroid.
        size: the number of documents.
        representatives: (cosine to the centroid, id) of the documents nearest to the centroid, the nearest first.
        outliers: (cosine to the centroid, id) of the documents farthest from it, the farthest first.
    """

    number: int
    size: int
    representatives: list[tuple[float, int]] = field(default_factory=list)
    outliers: list[tuple[float, int]] = field(default_factory=list)


def semantic_clusters(url: str, n: int) -> list[SemanticCluster]:
    """Return the clusters of a Dataset, each with `n` representatives and `n` outliers; the largest cluster first.

    Of equally similar documents, the one with the smaller id comes first.

    - url: the folder of a Dataset that `SemDeDup(annotate=True)` made.

    Raises PlanError if the Dataset has no column of similarities to centroids.
    """
    docs = open_dataset(url)
    named = [name for name in docs.columns if name.endswith(SIMILARITY)]
    require(named, f"{url} must have the column {SIMILARITY}; make it with SemDeDup(annotate=True)")
    prefix = named[0].removesuffix(SIMILARITY)
    sizes: Counter[int] = Counter()
    near: dict[int, list[Any]] = defaultdict(list)
    far: dict[int, list[Any]] = defaultdict(list)
    for batch in docs.batches(["id", prefix + CENTROID, prefix + SIMILARITY]):
        numbers, cosines = (batch.column(prefix + name).to_pylist() for name in (CENTROID, SIMILARITY))
        for id_, number, cosine in zip(B.ids(batch).tolist(), numbers, cosines, strict=True):
            if number is not None:
                sizes[number] += 1
                _hold(near[number], n, (cosine, -id_))
                _hold(far[number], n, (-cosine, -id_))
    return [
        SemanticCluster(
            number,
            size,
            [(cosine, -id_) for cosine, id_ in sorted(near[number], reverse=True)],
            [(-cosine, -id_) for cosine, id_ in sorted(far[number], reverse=True)],
        )
        for number, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    ]


def _hold(held: list[Any], n: int, row: tuple[float, int]) -> None:
    """Add `row` to the heap of the `n` largest rows."""
    if len(held) < n:
        heapq.heappush(held, row)
    elif row > held[0]:
        heapq.heapreplace(held, row)
