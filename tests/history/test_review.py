"""Judgements on drops: their file, and the precision that a weighted sample shows."""

from __future__ import annotations

import random
from datetime import datetime, timezone

import pytest

from dataprep.errors import CorruptShard
from dataprep.history import review
from dataprep.history.review import Judgement

NOW = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)


def test_the_file_is_beside_the_run(tmp_path) -> None:
    """What is saved is read again in its order; the judgements on a document can be removed; a damaged file is told."""
    url = f"{tmp_path}/a run/"
    some = [Judgement(2**63 + i, "MinHash", "near_duplicate", "right", "Ann", f"{i}", NOW)
            for i in range(3)]  # fmt: skip
    assert review.load(url) == []
    review.save(url, some)
    assert review.load(url) == some
    assert [path.name for path in tmp_path.iterdir()] == ["a run.review.parquet"]
    assert review.remove(url, [some[1].id, 7]) == 1
    assert review.load(url) == [some[0], some[2]]
    again = some[0]._replace(verdict="wrong")
    assert review.latest([*some, again]) == {(one.id, one.stage): one for one in (again, *some[1:])}
    (tmp_path / "a run.review.parquet").write_bytes(b"PAR1")
    with pytest.raises(CorruptShard, match="file of judgements"):
        review.load(url)


def test_hashes_of_texts_differ() -> None:
    """For each difference, also between a text that is missing and an empty one, and where one text ends."""
    texts = (None, "", "a", "ab", "1:a", "\u202eab")
    pairs = [(a, b) for a in texts for b in texts]
    assert len({review.content_of(*both) for both in pairs}) == len(pairs)


def test_wilson_is_that_of_the_tables() -> None:
    """Published values for 81 of 263 and 0 of 20 (Newcombe 1998), and the limits."""
    assert review.wilson(81 / 263, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert review.wilson(0, 20) == pytest.approx((0, 0.1611), abs=5e-5)
    assert review.wilson(1, 20) == pytest.approx((1 - 0.1611, 1), abs=5e-5)
    assert review.wilson(0.5, 0) == (0, 1)
    for n in range(1, 300):  # after rounding, too
        assert review.wilson(0, n)[0] == 0
        assert review.wilson(1, n)[1] == 1


def test_the_precision_is_weighted_and_its_interval_holds() -> None:
    """An equal number of each source estimates the whole population; the interval contains the truth in nearly 95 %."""
    sizes = {"large": 9_000, "small": 300, None: 700}
    right = {"large": 0.95, "small": 0.2, None: 0.6}
    truth = sum(sizes[one] * right[one] for one in sizes) / 10_000
    rng, hits, shares = random.Random(3), 0, []
    for _ in range(400):
        counts = {}
        for one, share in right.items():
            k = sum(rng.random() < share for _ in range(20))
            counts[one] = (k, 20 - k)
        found = review.precision(counts, sizes)
        shares.append(found.share)
        hits += found.low <= truth <= found.high
        assert found.n == 60
    assert sum(shares) / 400 == pytest.approx(truth, abs=0.01)
    assert hits / 400 > 0.9
    assert review.precision({"large": (0, 0)}, sizes) is None
    assert review.precision({"large": (3, 1)}, sizes)[:3] == (0.75, *review.wilson(0.75, 4))
