"""Regressions of the loss on the weights of a mixture, and their errors on mixtures that they have not seen.

The loss of each domain of held-out text is predicted from the weights of the sources, and the losses of all domains are
added. Three kinds are compared: log-linear, c + exp(t · weights) per domain, as in data mixing laws (Ye et al. 2024)
and in OLMo's mixtures; a power law, c + exp(a + t · log(weights + e)), since loss is a power law of the amount of text;
and gradient-boosted trees, as in RegMix (Liu et al. 2024), which need scikit-learn.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
Predict = Callable[[F64], F64]
FLOORS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)  # of the least loss that was measured: candidates for c
TREES = {"n_estimators": 100, "learning_rate": 0.1, "max_depth": 2, "min_samples_leaf": 2, "random_state": 0}
LEAST = (0.003, 0.01, 0.03, 0.1)  # candidates for e: what a source of weight 0 counts, since others are like it
LOG_LINEAR, POWER_LAW, BOOSTED = "log-linear", "power law", "boosted trees"


@dataclass(frozen=True)
class Regression:
    """A regression of the loss on weights.

    Attributes:
        name: "log-linear", "power law" or "boosted trees".
        predict: {float64[n, sources]: weights} -> float64[n], the loss in bits per byte.
        unseen: float64[mixtures], the prediction of each mixture by a regression on the others.
        r2: 1 - the sum of the squared errors of `unseen`, divided by that of the mean loss of the other mixtures.
        error: the root of the mean square of these errors, in bits per byte.
        tried: {name: r2} of all kinds of regressions that were compared.
    """

    name: str
    predict: Predict
    unseen: F64
    r2: float
    error: float
    tried: dict[str, float]


def regression(weights: F64, losses: F64, shares: F64) -> Regression:
    """Return the regression with the least error on mixtures that it has not seen (leave-one-out).

    Args:
        weights: float64[mixtures, sources]; each row adds up to 1.
        losses: float64[mixtures, domains], in bits per byte.
        shares: float64[domains], each domain's share of the bytes.
    """
    kinds: dict[str, Callable[[F64, F64], Predict]] = {LOG_LINEAR: log_linear, POWER_LAW: power_law}
    if importlib.util.find_spec("sklearn") is not None:
        kinds[BOOSTED] = boosted
    total, n = losses @ shares, len(losses)
    others = (total.sum() - total) / (n - 1)  # the mean of the other mixtures
    found, tried = [], {}
    for name, fit in kinds.items():
        unseen = np.empty(n)
        for i in range(n):
            rest = np.arange(n) != i
            unseen[i] = _sum(fit, weights[rest], losses[rest], shares)(weights[i : i + 1])[0]
        wrong = float(((unseen - total) ** 2).sum())
        tried[name] = 1 - wrong / max(float(((others - total) ** 2).sum()), 1e-300)
        found.append((wrong, name, fit, unseen))
    wrong, name, fit, unseen = min(found, key=lambda one: one[0])
    whole = _sum(fit, weights, losses, shares)
    return Regression(name, whole, unseen, tried[name], float(np.sqrt(wrong / n)), tried)


def _sum(fit: Callable[[F64, F64], Predict], weights: F64, losses: F64, shares: F64) -> Predict:
    """Fit the loss of each domain, and return the prediction of their sum."""
    each = [fit(weights, losses[:, i]) for i in range(losses.shape[1])]
    return lambda w: np.asarray(sum(share * one(w) for share, one in zip(shares, each, strict=True)))


def log_linear(weights: F64, loss: F64) -> Predict:
    """Fit c + exp(t · weights) to a loss by least squares of its logarithm, for the best c of `FLOORS`.

    Args:
        weights: float64[mixtures, sources]; each row adds up to 1, so that t has a constant part.
        loss: float64[mixtures], above 0.
    """
    return _best([lambda w: w], weights, loss)


def power_law(weights: F64, loss: F64) -> Predict:
    """Fit c + exp(a + t · log(weights + e)) in the same way, also for the best e of `LEAST`.

    Args:
        weights: float64[mixtures, sources].
        loss: float64[mixtures], above 0.
    """

    def of(least: float) -> Predict:
        return lambda w: np.column_stack([np.ones(len(w)), np.log(w + least)])

    return _best([of(least) for least in LEAST], weights, loss)


def _best(features: Sequence[Predict], weights: F64, loss: F64) -> Predict:
    """Return the best c + exp(t · features) of all features and all c of `FLOORS`."""
    best: tuple[float, Predict] | None = None
    for of in features:
        for floor in FLOORS:
            c = floor * float(loss.min())
            t = np.asarray(np.linalg.lstsq(of(weights), np.log(loss - c), rcond=None)[0], np.float64)

            def predict(w: F64, of: Predict = of, c: float = c, t: F64 = t) -> F64:
                return np.asarray(c + np.exp(of(w) @ t))

            wrong = float(((predict(weights) - loss) ** 2).sum())
            if best is None or wrong < best[0]:
                best = wrong, predict
    assert best is not None
    return best[1]


def boosted(weights: F64, loss: F64) -> Predict:
    """Fit gradient-boosted trees of depth 2 (scikit-learn) to a loss.

    Args:
        weights: float64[mixtures, sources].
        loss: float64[mixtures].
    """
    from sklearn.ensemble import GradientBoostingRegressor

    model = GradientBoostingRegressor(**TREES).fit(weights, loss)
    return lambda w: np.asarray(model.predict(w), np.float64)
