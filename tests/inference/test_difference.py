"""Whether a difference of two losses is more than chance."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from dataprep.inference.difference import FEW, interval, verdict


def losses(n, shift, seed=0):
    """The losses of two models on n conversations, which differ by `shift` per token on average."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 80, n).astype(float)
    return np.zeros(n), sizes * (shift + rng.normal(0, 0.4, n)), sizes


@pytest.mark.parametrize("n", [FEW, 12])
def test_equal_models_are_rarely_called_different(n):
    """Of 60 pairs of equal models, about one in twenty is."""
    wrong = sum(low > 0 or high < 0 for _, low, high in (interval(*losses(n, 0, seed)) for seed in range(60)))
    assert wrong <= 9


def test_a_difference_is_shown():
    """It is the mean per token, whatever the sizes; conversations without tokens do not count."""
    base, tuned, sizes = losses(40, -0.5)
    mean, low, high = found = interval(base, tuned, sizes)
    assert mean == pytest.approx(tuned.sum() / sizes.sum())
    assert low < mean < high < 0
    empty = [np.append(x, 0.0) for x in (base, tuned, sizes)]
    assert interval(*empty) == found
    assert verdict("loss", found, 40).endswith("): of these two models, the tuned model is better")
    assert verdict("loss", interval(tuned, base, sizes), 40).endswith("): of these two models, the base is better")


def test_too_few_to_tell():
    """Five conversations show nothing, even if all agree; nor does an interval on both sides of 0."""
    found = interval(np.full(FEW - 1, 9.0), np.zeros(FEW - 1), np.ones(FEW - 1))
    assert found == (-9, None, None)
    assert verdict("loss", found, 5) == (
        "loss: tuned - base = -9.000; 5 held-out conversations are too few to show a difference"
    )
    assert "too few" in verdict("loss", interval(*[np.zeros(0)] * 3), 0)
    assert verdict("loss", interval(*losses(8, 0)), 8).endswith(": no difference is shown")
