"""Student's t, differences over seeds and documents, corrections for many comparisons, and seeds that are needed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dataprep.experiment.difference import BETTER, NOT_SHOWN, WORSE, difference, holm, verdict
from dataprep.experiment.student import inside, quantile

TABLE = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 7: 2.3646, 10: 2.2281, 29: 2.0452, 60: 2.0003, 120: 1.9799}


@pytest.mark.parametrize("free", TABLE)
def test_quantiles_are_those_of_the_tables(free) -> None:
    """The 97.5 % quantiles that books print; the series for many degrees of freedom agrees with the exact one."""
    assert quantile(0.95, free) == pytest.approx(TABLE[free], abs=6e-5)
    for share in (0.6, 0.9, 0.99, 0.9999):
        assert inside(quantile(share, free), free) == pytest.approx(share, abs=1e-5)


@pytest.mark.parametrize("free", [1, 2, 5, 8])
def test_probabilities_are_the_integral_of_the_density(free) -> None:
    """The twin: the density of Student's t, added up in small steps."""
    x = np.linspace(-1.7, 1.7, 200_001)
    scale = math.gamma((free + 1) / 2) / (math.sqrt(free * math.pi) * math.gamma(free / 2))
    density = scale * (1 + x**2 / free) ** (-(free + 1) / 2)
    area = float(((density[1:] + density[:-1]) / 2).sum() * (x[1] - x[0]))
    assert inside(1.7, free) == pytest.approx(area, abs=1e-8)


def made(rng, seeds=3, items=40, more=0.0, seed_noise=0.0, item_noise=0.0):
    """Losses of two versions: one seed's difference is more + its own error + that of each document."""
    sizes = rng.integers(50, 150, items).astype(float)
    base = sizes * 3 + rng.normal(size=(seeds, items))
    extra = more + seed_noise * rng.normal(size=(seeds, 1)) + item_noise * rng.normal(size=(1, items))
    return base, base + extra * sizes, sizes, np.arange(items)


def test_the_mean_and_the_errors_are_those_of_the_plain_formulas() -> None:
    """By seed: the spread over the root of the number; by document: the jackknife of the ratio."""
    bits, other, sizes, units = made(np.random.default_rng(1), more=0.1, seed_noise=0.05, item_noise=0.3)
    found = difference(bits, other, sizes, units)
    each = [sum(o - b for o, b in zip(other[s], bits[s], strict=True)) / sum(sizes) for s in range(3)]
    assert found.by_seed == pytest.approx(each)
    assert found.mean == pytest.approx(sum(each) / 3)
    assert found.seed_error == pytest.approx(np.std(each, ddof=1) / math.sqrt(3))
    more, n = (other - bits).mean(0), len(sizes)
    without = np.array([(more.sum() - more[i]) / (sizes.sum() - sizes[i]) for i in range(n)])
    jackknife = math.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    assert found.unit_error == pytest.approx(jackknife, rel=0.05)
    low, high = found.interval()
    assert high - low == pytest.approx(2 * math.hypot(4.3027 * found.seed_error, 2.0227 * found.unit_error), rel=1e-4)


def test_documents_of_a_group_count_as_one() -> None:
    """Ten copies of each document tell as much as one if each is in its group; as documents of their own, more."""
    bits, other, sizes, units = made(np.random.default_rng(2), item_noise=0.3)
    one = difference(bits, other, sizes, units)
    tens = [np.tile(bits, 10), np.tile(other, 10), np.tile(sizes, 10)]
    grouped = difference(*tens, np.tile(units, 10))
    assert grouped.unit_error == pytest.approx(one.unit_error)
    assert difference(*tens, np.arange(400)).unit_error < one.unit_error / 2


@pytest.mark.parametrize(
    ("seed_noise", "item_noise"), [(0.05, 0.0), (0.0, 0.5), (0.05, 0.5)], ids=["seeds", "documents", "both"]
)
def test_a_false_difference_is_rarely_shown(seed_noise, item_noise) -> None:
    """Without a difference, at most 5 % of 600 experiments show one (and a little for chance); not none, either."""
    rng = np.random.default_rng(3)
    shown = 0
    for _ in range(600):
        found = difference(*made(rng, seed_noise=seed_noise, item_noise=item_noise))
        low, high = found.interval()
        shown += not low <= 0 <= high
    assert 5 <= shown <= 44


def test_a_bootstrap_over_three_seeds_would_show_too_much() -> None:
    """The reason for Student's t: the percentiles of resampled seeds are wrong in a fifth of experiments or more."""
    rng = np.random.default_rng(4)
    seeds = rng.normal(size=(2_000, 3))
    drawn = np.sort(seeds[:, rng.integers(0, 3, (400, 3))].mean(-1), axis=1)
    wrong = (drawn[:, 10] > 0) | (drawn[:, 389] < 0)
    assert wrong.mean() > 0.2


def test_p_is_one_minus_the_level_that_reaches_zero() -> None:
    """The interval at the level 1 - p ends at 0."""
    found = difference(*made(np.random.default_rng(5), more=0.05, seed_noise=0.03, item_noise=0.1))
    assert 0 < found.p < 1
    assert min(map(abs, found.interval(1 - found.p))) == pytest.approx(0, abs=1e-9)
    same = difference(np.ones((2, 9)), np.ones((2, 9)), np.ones(9), np.arange(9))
    assert same.p == 1
    assert difference(np.ones((2, 9)), np.ones((2, 9)) * 2, np.ones(9), np.arange(9)).p == 0


@pytest.mark.parametrize("seed", range(20))
def test_holm_is_the_step_down_procedure(seed) -> None:
    """The twin: reject the smallest p while it is at most 0.05 / (comparisons that are left)."""
    p = (np.random.default_rng(seed).random(8) ** 3).tolist()
    rejected: set[int] = set()
    for rank, i in enumerate(sorted(range(8), key=p.__getitem__)):
        if p[i] > 0.05 / (8 - rank):
            break
        rejected.add(i)
    assert {i for i, x in enumerate(holm(p)) if x <= 0.05} == rejected
    assert holm([]) == []


def test_the_seeds_that_are_needed_show_the_difference() -> None:
    """With that number of seeds, four of five experiments show a difference of the size seen; with half, fewer do."""
    found = difference(*made(np.random.default_rng(6), more=0.05, seed_noise=0.06))
    needed = found.seeds_needed()
    assert needed is not None
    spread, rng = found.seed_error * math.sqrt(3), np.random.default_rng(7)

    def share(seeds):
        drawn = found.mean + spread * rng.normal(size=(4_000, seeds))
        half = quantile(0.95, seeds - 1) * drawn.std(1, ddof=1) / math.sqrt(seeds)
        return (np.abs(drawn.mean(1)) > half).mean()

    assert 0.75 < share(needed) < 0.95
    assert share(max(2, needed // 2)) < 0.75
    assert found.seeds_needed(8) > needed
    few = difference(*made(np.random.default_rng(8), items=8, more=0.01, item_noise=0.5))
    assert few.seeds_needed() is None, "no number of seeds makes up for too few documents"


def test_verdicts() -> None:
    """A lower loss is better."""
    assert [verdict(-1, 0.01), verdict(1, 0.05), verdict(-1, 0.06)] == [BETTER, WORSE, NOT_SHOWN]
