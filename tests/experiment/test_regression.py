"""Regressions of the loss on the weights of a mixture: laws that are recovered, and noise that is not predicted."""

from __future__ import annotations

import numpy as np
import pytest

from dataprep.experiment.regression import BOOSTED, LOG_LINEAR, POWER_LAW, boosted, log_linear, power_law, regression


def drawn(n, seed=0):
    """Random weights of three sources."""
    return np.random.default_rng(seed).dirichlet([1.8, 0.9, 0.6], n)


LAWS = {
    log_linear: lambda w: np.exp(0.8 - 1.2 * w[:, 0] - 0.3 * w[:, 2]),
    power_law: lambda w: np.exp(0.9) * (w[:, 0] + 0.01) ** -0.2 * (w[:, 1] + 0.01) ** -0.05,
}


@pytest.mark.parametrize("fit", LAWS)
def test_a_law_is_recovered(fit) -> None:
    """From 12 mixtures without noise, the loss of others is predicted exactly."""
    w, others = drawn(12), drawn(50, seed=1)
    assert fit(w, LAWS[fit](w))(others) == pytest.approx(LAWS[fit](others), rel=1e-9)


def test_unseen_mixtures_are_predicted_without_their_loss() -> None:
    """The twin: a fit per mixture on the others, by hand; R2 and error follow, and the least error is chosen."""
    w = drawn(9)
    losses = np.column_stack([1 + LAWS[log_linear](w), 2 + np.exp(w[:, 1] - 1)])
    losses += 0.003 * np.random.default_rng(2).normal(size=losses.shape)
    found = regression(w, losses, np.array([0.75, 0.25]))
    assert set(found.tried) == {LOG_LINEAR, POWER_LAW, BOOSTED}
    assert found.tried[found.name] == found.r2 == max(found.tried.values())
    fit = {LOG_LINEAR: log_linear, POWER_LAW: power_law, BOOSTED: boosted}[found.name]
    total, mean = losses @ [0.75, 0.25], []
    for i in range(9):
        rest = [k for k in range(9) if k != i]
        each = [fit(w[rest], losses[rest, d])(w[[i]])[0] for d in (0, 1)]
        assert found.unseen[i] == pytest.approx(0.75 * each[0] + 0.25 * each[1])
        mean.append(total[rest].mean())
    assert found.error == pytest.approx(np.sqrt(np.mean((found.unseen - total) ** 2)))
    assert found.r2 == pytest.approx(1 - ((found.unseen - total) ** 2).sum() / ((np.array(mean) - total) ** 2).sum())
    assert found.r2 > 0.5


def test_noise_is_not_predicted(monkeypatch) -> None:
    """Without a relation, no R2 is above 0 in most cases, also without the trees."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    shown = 0
    for seed in range(15):
        noise = 3 + 0.1 * np.random.default_rng(seed).normal(size=(14, 1))
        found = regression(drawn(14, seed), noise, np.ones(1))
        assert set(found.tried) == {LOG_LINEAR, POWER_LAW}
        shown += found.r2 > 0
    assert shown <= 4
