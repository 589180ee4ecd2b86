"""MinHash on 40,000 documents with planted pairs: recall and precision of every kind, by exact similarity."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
import planted
from dataprep.core.model.batch import POSITION_BITS


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The corpus, and its file."""
    made = planted.plant(40_000)
    place = tmp_path_factory.mktemp("planted") / "in.parquet"
    pq.write_table(pa.table({"text": made.texts}), place, row_group_size=10_000)
    return made, str(place)


@pytest.mark.parametrize(("threshold", "found"), [(0.8, 0.99), (0.5, 0.99)])
def test_planted_pairs_by_kind(corpus, tmp_path, threshold, found) -> None:
    """Of each kind's pairs at the threshold nearly all lose one; nobody goes for less, or for one that goes too."""
    made, place = corpus
    stage = dp.MinHash(threshold=threshold).fit(dp.read(place), dp.tools.Serial(), str(tmp_path / "fit"))
    table = pq.read_table(stage.verdicts)
    gone = table.column("id").to_numpy() & ((1 << POSITION_BITS) - 1)
    kept = table.column("duplicate_of").to_numpy() & ((1 << POSITION_BITS) - 1)
    assert not np.isin(kept, gone).any()
    exact = [made.jaccard(a, b) for a, b in zip(gone.tolist(), kept.tolist(), strict=True)]
    assert min(exact) >= threshold  # precision is 1
    assert np.allclose(exact, table.column("similarity").to_numpy())
    at_threshold = {}
    for kind, pairs in made.pairs.items():
        alike = np.array([made.jaccard(a, b) for a, b in pairs.tolist()]) >= threshold
        lost = np.isin(pairs, gone).any(axis=1)
        at_threshold[kind] = int(alike.sum())
        assert lost[alike].sum() >= found * alike.sum(), kind
        assert not lost[~alike].any(), kind
    assert at_threshold["exact"] == 1600
    assert at_threshold["light"] > 400
    assert at_threshold["heavy"] == at_threshold["shared paragraph"] == 0
    assert (at_threshold["same template"] > 1200) == (threshold == 0.5)
    assert len(gone) == sum(np.isin(p, gone).any(axis=1).sum() for p in made.pairs.values())
    assert stage.facts["largest_component"] < 50
