"""Representatives and outliers of semantic clusters: those of a plain search, in Python and as printed."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import dataprep as dp
import twins.semantic
from dataprep.dedup.embeddings import vectors
from dataprep.dedup.semantic import SemDeDup
from dataprep.errors import PlanError
from dataprep.history.centroids import semantic_clusters


def letters(texts: list[str]) -> np.ndarray:
    """Counts of six letters; a text without them has the zero vector."""
    return np.array([[text.count(c) for c in "abcdef"] for text in texts], float)


def dump(path: Path, seed: int, n: int) -> dp.Dataset:
    """Some texts of nine letters, and one without a vector."""
    rng = random.Random(seed)
    texts = ["zzz", *("".join(rng.choices("aabcdef", k=9)) for _ in range(n))]
    return dp.read(str(_lines(path, texts)))


def _lines(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


@pytest.fixture(scope="module", params=["alone", "against"])
def noted(request, tmp_path_factory) -> dp.Dataset:
    """An annotated Dataset with three clusters, alone or against an older one."""
    home = tmp_path_factory.mktemp("centroids")
    old = dp.Pipeline().run(dump(home / "old.jsonl", 2, 30), str(home / "old")).url
    against = old if request.param == "against" else None
    stage = SemDeDup(embed=letters, clusters=3, epsilon=0.01, annotate="sem_", against=against)
    return dp.Pipeline(stage).run(dump(home / "new.jsonl", 1, 60), str(home / request.param))


def test_columns_are_the_nearest_centroids(noted) -> None:
    """Documents of one centroid are nearer to it than to the mean of any other; no vector, no centroid."""
    rows = noted.take(99)
    assert [row["sem_centroid"] for row in rows if row["text"] == "zzz"] == [None]
    rows = [row for row in rows if row["text"] != "zzz"]
    assert sorted({row["sem_centroid"] for row in rows}) == [0, 1, 2]
    assert all(0 < row["sem_centroid_similarity"] <= 1 for row in rows)
    if noted.url.endswith("alone"):  # centroids are the directions of their documents' sums
        grid = vectors.to_grid(letters([row["text"] for row in rows]))
        for i, row in enumerate(rows):
            own = [k for k, other in enumerate(rows) if other["sem_centroid"] == row["sem_centroid"]]
            mean = twins.semantic.on_grid([grid[own].sum(0)])[0]
            found = twins.semantic.cosine(grid[i].astype(int), mean)
            assert found == pytest.approx(row["sem_centroid_similarity"], abs=2e-4)


def test_representatives_and_outliers_are_those_of_a_sort(noted) -> None:
    """The nearest and the farthest of every cluster, and its size; the largest cluster first."""
    rows = [row for row in noted.take(99) if row["sem_centroid"] is not None]
    found = semantic_clusters(noted.url, 4)
    assert [c.size for c in found] == sorted((c.size for c in found), reverse=True)
    assert sum(c.size for c in found) == 60
    for cluster in found:
        own = [(row["sem_centroid_similarity"], row["id"]) for row in rows if row["sem_centroid"] == cluster.number]
        assert cluster.representatives == sorted(own, key=lambda pair: (-pair[0], pair[1]))[:4]
        assert cluster.outliers == sorted(own)[:4]


def test_the_command_prints_them(noted, dataprep, tmp_path) -> None:
    """Texts with their cosines; a Dataset without the column is a sentence."""
    code, said, _ = dataprep("clusters", noted.url, "--centroids", 1)
    assert code == 0
    first = semantic_clusters(noted.url, 1)[0]
    assert f"{first.size} documents" in said
    assert noted.text_of(first.representatives[0][1]) in said
    assert f"({first.outliers[0][0]:.3f}) {noted.text_of(first.outliers[0][1])}" in said
    code, _, error = dataprep("clusters", noted.url, "--centroids", 1, "--source", "x")
    assert (code, "--centroids always counts" in error) == (1, True)
    blank = dp.read(str(_lines(tmp_path / "blank.jsonl", ["zzz"])))
    dp.Pipeline(SemDeDup(embed=letters, annotate=True)).run(blank, str(tmp_path / "blank"))
    assert "no document has a vector" in dataprep("clusters", tmp_path / "blank", "--centroids", 2)[1]
    bare = dp.Pipeline().run(dump(tmp_path / "x.jsonl", 1, 3), str(tmp_path / "bare"))
    with pytest.raises(PlanError, match="must have the column centroid_similarity; make it with SemDeDup"):
        semantic_clusters(bare.url, 1)
