"""The fits of an isoFLOP sweep: the best size at each budget of operations, and how size and loss depend on the budget.

If models of several sizes are trained with equally many operations, their losses are close to a parabola in the
logarithm of the number of parameters, whose minimum is the best size at this budget (Hoffmann et al. 2022, approach 2).
Over budgets C, the best number of parameters is fitted as proportional to C^a, the number of tokens to C^b, and the
loss at the minimum as E + K / C^g.

Intervals are those of a parametric bootstrap: losses are drawn around the fitted parabolas, and everything is fitted
again. The standard deviation of the noise is estimated from the distances of all runs from their parabolas. With few
runs this estimate is itself uncertain, so it is drawn for each repetition from its scaled inverse chi distribution.
Without this step, intervals would be too narrow, as normal intervals are where Student's t is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
LEVEL = 0.95
DRAWS = 2_000  # repetitions of the bootstrap
DECAYS = np.linspace(0.01, 1.0, 100)  # exponents g that are tried
FEWEST_SIZES = 3  # of a budget: a parabola has three coefficients
FEWEST_BUDGETS = 3  # of an extrapolated loss: its curve has three parameters

Estimate = tuple[float, float, float]
"""A fitted number, and the bounds of its 95 % interval."""


@dataclass(frozen=True)
class Minimum:
    """The parabola of one budget.

    Attributes:
        budget: operations per run.
        coefficients: those of the parabola in ln(parameters), the highest power first.
        parameters: the best number of parameters; None if the runs do not determine it.
        tokens: the number of tokens that a model of this size reads with the budget, or None.
        loss: the loss at the minimum, or None.
        why_not: a sentence that states why there is no minimum; "" if there is one.
    """

    budget: float
    coefficients: tuple[float, float, float]
    parameters: Estimate | None = None
    tokens: Estimate | None = None
    loss: Estimate | None = None
    why_not: str = ""


@dataclass(frozen=True)
class Prediction:
    """The best model at a budget, by the fits over budgets.

    Attributes:
        budget: operations of the training.
        parameters: the best number of parameters.
        tokens: the number of tokens that it reads.
        loss: its loss; None if fewer than three budgets have a minimum.
    """

    budget: float
    parameters: Estimate
    tokens: Estimate
    loss: Estimate | None


@dataclass(frozen=True)
class Fit:
    """The fits of a sweep.

    Attributes:
        minima: one entry per budget, ascending.
        noise: the standard deviation of a run's loss from its parabola.
        free: the number of runs minus the number of coefficients of all parabolas.
        parameters_exponent: the a of "the best number of parameters is proportional to C^a"; None if fewer than two
            budgets have a minimum.
        tokens_exponent: the b, of the number of tokens.
        at: float64[budgets], ln(C) of the budgets that have a minimum.
        drawn: float64[3, budgets, 1 + draws], their ln(parameters), ln(tokens) and loss; index 0 is that of the runs,
            the others are those of the bootstrap, nan if a draw has no minimum.
    """

    minima: tuple[Minimum, ...]
    noise: float
    free: int
    parameters_exponent: Estimate | None
    tokens_exponent: Estimate | None
    at: F64
    drawn: F64

    def predict(self, budget: float) -> Prediction | None:
        """Return the best model at a budget of operations; None if fewer than two budgets have a minimum.

        The curve of the loss, E + K / C^g with E and K of at least 0, needs three.
        """
        if len(self.at) < 2:
            return None
        parameters, tokens = (_estimate(np.exp(_line(self.at, of)[0] + _line(self.at, of)[1] * np.log(budget)))
                              for of in self.drawn[:2])  # fmt: skip
        enough = len(self.at) >= FEWEST_BUDGETS
        loss = _estimate(_decaying(self.at, self.drawn[2], np.log(budget))) if enough else None
        return Prediction(budget, parameters, tokens, loss)


def fit(budgets: F64, parameters: F64, per_token: F64, losses: F64, *, seed: int = 0, draws: int = DRAWS) -> Fit:
    """Return the fits of the runs of a sweep.

    Each budget must have runs of three sizes, and there must be more than three runs per budget in total.

    Args:
        budgets: float64[runs], operations per run, equal for all runs of a budget.
        parameters: float64[runs], the size of each model.
        per_token: float64[runs], operations per token of training.
        losses: float64[runs].
        seed: the seed of the bootstrap.
        draws: the repetitions of the bootstrap.
    """
    draw, x = np.random.default_rng(seed), np.log(parameters)
    groups = {float(budget): np.flatnonzero(budgets == budget) for budget in np.unique(budgets)}
    inverse = {budget: np.linalg.pinv(np.vander(x[rows], 3)) for budget, rows in groups.items()}
    smooth = np.empty(len(x))
    for budget, rows in groups.items():
        smooth[rows] = np.vander(x[rows], 3) @ inverse[budget] @ losses[rows]
    free = len(losses) - 3 * len(groups)
    noise = float(np.sqrt(((losses - smooth) ** 2).sum() / free))
    deviations = noise * np.sqrt(free / draw.chisquare(free, draws))
    drawn = np.column_stack([losses, smooth[:, None] + deviations * draw.standard_normal((len(losses), draws))])
    of_size = np.polyfit(x, np.log(per_token), 2)  # operations per token by size
    minima, found, at = [], [], []
    for budget, rows in groups.items():
        high, middle, low = inverse[budget] @ drawn[rows]
        centre = -middle / np.where(high > 0, 2 * high, np.nan)
        coefficients = (float(high[0]), float(middle[0]), float(low[0]))
        if why_not := _why_not(x[rows], centre):
            minima.append(Minimum(budget, coefficients, why_not=why_not))
            continue
        tokens, loss = np.log(budget) - np.polyval(of_size, centre), low + middle * centre / 2
        each = (_estimate(np.exp(centre)), _estimate(np.exp(tokens)), _estimate(loss))
        minima.append(Minimum(budget, coefficients, *each))
        found.append(np.stack([centre, tokens, loss]))
        at.append(np.log(budget))
    of_minima = np.stack(found, axis=1) if found else np.empty((3, 0, 1 + draws))
    exponents = [_estimate(_line(np.array(at), of)[1]) if len(at) > 1 else None for of in of_minima[:2]]
    return Fit(tuple(minima), noise, free, exponents[0], exponents[1], np.array(at), of_minima)


def _why_not(x: F64, centre: F64) -> str:
    """Return a sentence that states why a parabola has no minimum, or "" if it has one.

    Args:
        x: ln(parameters) of the runs.
        centre: float64[1 + draws], the minima of the runs and of the bootstrap; nan if there is none.
    """
    sizes = f"the sizes, {np.exp(x.min()):,.0f} to {np.exp(x.max()):,.0f} parameters"
    if centre[0] <= x.min():
        return f"the minimum is below {sizes}; add smaller ones"
    if centre[0] >= x.max():
        return f"the minimum is above {sizes}; add larger ones"
    if np.isnan(centre).mean() > (1 - LEVEL) / 2 or np.isnan(centre[0]):
        return f"no minimum is shown among {sizes}; add seeds, or sizes that differ more"
    return ""


def _line(at: F64, values: F64) -> tuple[F64, F64]:
    """Return intercepts and slopes of lines, float64[1 + draws] each.

    Args:
        at: float64[budgets].
        values: float64[budgets, 1 + draws].
    """
    off = at - at.mean()
    slopes = off @ values / (off @ off)
    return values.mean(0) - slopes * at.mean(), slopes


def _decaying(at: F64, losses: F64, where: float) -> F64:
    """Return E + K / C^g at ln(C) = `where`, fitted to each column of losses, float64[columns].

    For a given g, the curve is linear in E and K; all of `DECAYS` are tried, with and without E.

    Args:
        at: float64[budgets], ln(C).
        losses: float64[budgets, 1 + draws].
        where: ln(C) of the result.
    """
    losses = losses[:, ~np.isnan(losses).any(0)]
    found: F64 = losses.mean(0)  # K = 0, the best curve for losses that rise with the budget
    least = ((losses - found) ** 2).sum(0)
    falling, there = np.exp(-DECAYS[:, None] * (at - at[0])), np.exp(-DECAYS * (where - at[0]))
    for design in (np.stack([np.ones_like(falling), falling], axis=2), falling[:, :, None]):
        solved = np.linalg.pinv(design) @ losses  # [decays, E and K or K, columns]
        off = ((design @ solved - losses) ** 2).sum(1)
        off[(solved < 0).any(1)] = np.inf
        best = off.argmin(0)
        columns = np.arange(losses.shape[1])
        value = solved[best, -1, columns] * there[best]
        value = value + solved[best, 0, columns] if design.shape[2] == 2 else value
        better = off[best, columns] < least
        found[better], least[better] = value[better], off[best, columns][better]
    return found


def _estimate(values: F64) -> Estimate:
    """Return the first value, that of the runs, with the interval of the others."""
    tail = (1 - LEVEL) / 2
    low, high = np.nanquantile(values[1:], [tail, 1 - tail])
    return float(values[0]), float(low), float(high)
