"""A sweep over the weights of sources: small trainings on drawn mixtures, a regression, and proposed weights.

Weights are drawn around the natural ones, which are in proportion to the tokens of the sources. One model is trained on
each mixture, all with the same seed. A regression predicts the loss from the weights (`regression`). Of many further
mixtures from the same distribution, the mean of those with the lowest predicted loss is proposed, as in RegMix (Liu et
al. 2024). These mixtures lie between the tried ones, since a regression is wrong outside of its data. The proposed and
the natural mixture are then compared as two versions of a corpus are, with seeds and held-out documents that the sweep
did not use: weights chosen by some documents suit these better than others, the more so the more sources there are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.dataset import Dataset, open_dataset
from dataprep.errors import PlanError, counted
from dataprep.store.key import key
from dataprep.tokens.shards.shard import Shards

from .cost import EPOCHS
from .design import FEWEST, NAME, Given, Version, opened
from .measures import ALL, of_documents
from .regression import F64, Regression, regression
from .runs import Trainings
from .sides import OfSource

NATURAL, PROPOSED = "natural", "proposed"
UNIT = 1_000  # weights are whole numbers of thousandths
SPREAD = (2.0, 12.0)  # of the concentrations of the Dirichlet distributions; a small one spreads the weights widely
CANDIDATES, BEST = 20_000, 100  # mixtures whose loss is predicted, and how many of them are averaged
MOST_SOURCES = 12


@dataclass(frozen=True)
class Mixed:
    """A mixture of sources, in the place of a `Version`.

    Attributes:
        name: its name, such as "mix-03".
        sources: the sources, by name.
        shares: the weight of each source; they add up to 1. A source with the weight 0 is not read.
    """

    name: str
    sources: Mapping[str, Version]
    shares: Mapping[str, float]

    @property
    def _read(self) -> dict[str, Version]:
        return {name: one for name, one in self.sources.items() if self.shares[name]}

    @property
    def data(self) -> dict[str, Shards]:
        """What a run reads, for `train`."""
        return {name: one.shards for name, one in self._read.items()}

    @property
    def weights(self) -> dict[str, float]:
        """The weights of the sources that are read."""
        return {name: self.shares[name] for name in self._read}

    @property
    def root(self) -> str:
        """A hash of all that a run reads."""
        return key([[name, one.shards.root, self.shares[name]] for name, one in self._read.items()])

    @property
    def reads(self) -> dict[str, tuple[int, float]]:
        """{source: (tokens, share of a run's tokens)}."""
        return {name: (one.shards.n_tokens, self.shares[name]) for name, one in self._read.items()}

    def facts(self) -> dict[str, Any]:
        """Return the numbers of documents and tokens of its sources, and its weights, as plain values, for JSON."""
        each = [one.facts() for one in self._read.values()]
        return {name: sum(one[name] for one in each) for name in each[0]} | {"weights": dict(self.shares)}


def sources_of(versions: Mapping[str, Given], by: Sequence[str], mix: object) -> tuple[dict[str, Any], Dataset | None]:
    """Return the sources that are mixed, as `opened` returns versions, and the corpus from which they are taken.

    A single Dataset is divided by the first column of `by`.

    Raises PlanError if there are fewer than two sources or more than `MOST_SOURCES`, or too few mixtures to try.
    """
    found: dict[str, Any]
    corpus = None
    if isinstance(versions, Mapping) and len(versions) == 1:
        [(_, only)] = versions.items()
        corpus = only if isinstance(only, Dataset) else open_dataset(str(only))
        if not by or by[0] not in corpus.columns:
            msg = f"by={list(by)!r} must begin with the column that names the sources: {', '.join(corpus.columns)}"
            raise PlanError(msg)
        values: set[str] = set()
        for batch in corpus.batches(["id", by[0]]):
            values.update(pc.unique(pc.drop_null(pc.cast(batch.column(by[0]), pa.string()))).to_pylist())
            if len(values) > MOST_SOURCES:
                break
        names = {re.sub(r"[^A-Za-z0-9._+-]", "-", value): value for value in sorted(values)}
        bad = next((name for name in names if not NAME.fullmatch(name)), None)
        if len(names) < len(values) or bad is not None:
            msg = f"the values of {by[0]!r} must differ in letters and digits, since they name folders; rename them"
            raise PlanError(msg)
        found = {name: [OfSource(column=by[0], value=value)] for name, value in names.items()}
        n = len(values)
    else:
        found = opened(versions, None)
        n = len(found)
    if not 2 <= n <= MOST_SOURCES:
        more = "more than " if n > MOST_SOURCES else ""
        msg = f"there must be 2 to {MOST_SOURCES} sources to mix, not {more}{min(n, MOST_SOURCES)}; join small ones"
        raise PlanError(msg)
    least = 2 * n + 2
    if isinstance(mix, bool) or not isinstance(mix, int) or mix < least:
        msg = f"mix={mix!r} must be the number of mixtures to try, {least} or more for {n} sources"
        raise PlanError(msg)
    return found, corpus


def rounded(weights: F64) -> F64:
    """Return weights as whole thousandths that add up to 1, by largest remainders."""
    exact = weights / weights.sum() * UNIT
    whole = np.floor(exact)
    order = np.argsort(whole - exact, kind="stable")
    whole[order[: int(UNIT - whole.sum())]] += 1
    return np.asarray(whole / UNIT)


def natural(sources: Mapping[str, Version]) -> F64:
    """Return the weights in proportion to the tokens of the sources, each at least 0.001; float64[sources]."""
    tokens = np.array([one.shards.n_tokens for one in sources.values()], float)
    return rounded(np.maximum(tokens / tokens.sum(), 1.5 / UNIT))


def drawn(around: F64, rng: np.random.Generator, n: int) -> F64:
    """Return n random mixtures, float64[n, sources], from Dirichlet distributions with the mean `around`."""
    low, high = np.log(SPREAD)
    alpha = np.exp(rng.uniform(low, high, (n, 1))) * around
    some = np.maximum(rng.standard_gamma(alpha), 1e-300)
    return np.asarray(some / some.sum(1, keepdims=True))


def swept(sources: Mapping[str, Version], n: int, seed: int, most: F64) -> dict[str, Mixed]:
    """Return the natural mixture and n drawn ones, by name. A mixture depends on its number, and not on n.

    - most: float64[sources], the greatest weights, from `most_useful`.
    """
    around = natural(sources)
    found = {NATURAL: around}
    for i in range(1, n + 1):
        some = drawn(around, np.random.default_rng([seed, i]), CANDIDATES)
        fits = (some <= most).all(1)
        found[f"mix-{i:02d}"] = rounded(some[int(fits.argmax())] if fits.any() else around)
    return {name: mixed(name, sources, weights) for name, weights in found.items()}


def most_useful(sources: Mapping[str, Version], read: int) -> F64:
    """Return the weights with which sources are read 4 times, or the natural ones if these are larger.

    - read: the tokens that a run reads.
    """
    tokens = np.array([one.shards.n_tokens for one in sources.values()])
    return np.maximum(EPOCHS * tokens / read, natural(sources))


def mixed(name: str, sources: Mapping[str, Version], weights: F64) -> Mixed:
    """Return a mixture of the sources."""
    return Mixed(name, sources, dict(zip(sources, weights.tolist(), strict=True)))


def choosing(units: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which held-out documents choose the weights, bool[documents]; the others measure them.

    Half of the groups are drawn at random.

    - units: int64[documents], the number of the group of each document.

    Raises PlanError if a half has fewer than `FEWEST` groups.
    """
    n = int(units.max(initial=-1)) + 1
    if n < 2 * FEWEST:
        msg = (
            f"the held-out set has {counted(n, 'group')} of documents, and with mix= it must have {2 * FEWEST}, since "
            "one half chooses the weights and the other half measures them; raise held_out=, or give a larger Dataset"
        )
        raise PlanError(msg)
    return np.asarray((np.random.default_rng(0).permutation(n) < n // 2)[units])


@dataclass(frozen=True)
class Sweep:
    """The finished sweep.

    Attributes:
        points: the mixtures, the natural one first.
        domains: the domains of held-out text whose losses are predicted: the values of a column, or "all".
        losses: float64[mixtures, domains], in bits per byte.
        shares: float64[domains], each domain's share of the held-out bytes.
        found: the regression.
        weights: the proposed weights, float64[sources]; None if there are none.
        why: the reason why there are none; "" if there are.
    """

    points: dict[str, Mixed]
    domains: list[str]
    losses: F64
    shares: F64
    found: Regression
    weights: F64 | None
    why: str

    def predicted(self, weights: F64) -> float:
        """Return the predicted loss of a mixture in bits per byte."""
        return float(self.found.predict(weights[None])[0])

    @property
    def natural(self) -> F64:
        """The weights of the natural mixture, float64[sources]."""
        return np.array(list(self.points[NATURAL].shares.values()))


def sweep(runs: Trainings, by: Sequence[str], mix: int) -> Sweep:
    """Train a model on each mixture, fit the regression, and propose weights.

    - runs: the trainings of an experiment whose versions are the sources.
    - by: the columns of `experiment`; the values of the first are the domains.
    - mix: the number of mixtures that are drawn, besides the natural one.
    """
    made, config = runs.design, runs.config
    sources, chosen = made.versions, choosing(made.units)
    most = most_useful(sources, (config.steps or 0) * config.batch * config.model.context)
    points = swept(sources, mix, config.seed, most)
    first = replace(runs, design=replace(made, versions=points), seeds=1, questions=())  # type: ignore[arg-type]
    bits = first.losses()[""]
    sizes = np.where(chosen, next(iter(first.records().values()))[0]["bytes"], 0.0)
    whole, *some = of_documents(bits, sizes, made.units, made.held, by[:1])
    n_bytes = np.array([one.sizes.sum() for one in some])
    losses = np.array([[one.values(name)[0] for one in some] for name in points]).reshape(len(points), len(some))
    domains, rest = [one.name for one in some], whole.sizes.sum() - n_bytes.sum()
    if rest > 0:  # documents whose value is rare
        total = np.array([whole.values(name)[0] for name in points]) * whole.sizes.sum()
        losses = np.column_stack([losses, (total - losses @ n_bytes) / rest])
        n_bytes, domains = np.append(n_bytes, rest), [*domains, "others" if some else ALL]
    weights = np.array([list(one.shares.values()) for one in points.values()])
    found = regression(weights, losses, n_bytes / n_bytes.sum())
    done = Sweep(points, domains, losses, n_bytes / n_bytes.sum(), found, None, "")
    if found.r2 <= 0:
        why = (
            f"the regression cannot predict the loss of mixtures that it has not seen (R2 {found.r2:.2f}): the "
            f"weights matter less than chance; try more than {counted(mix, 'mixture')}, or more tokens per run"
        )
        return replace(done, why=why)
    best = proposal(done, most, config.seed)
    if done.predicted(best) >= done.predicted(done.natural) or (best == done.natural).all():
        return replace(done, why="the natural weights have the lowest predicted loss")
    return replace(done, weights=best)


def proposal(done: Sweep, most: F64, seed: int) -> F64:
    """Return the mean of the candidates with the lowest predicted losses, float64[sources].

    A candidate gives each source a weight between the least and the greatest that was tried.

    - most: float64[sources], the greatest weights, from `most_useful`.
    """
    tried = np.array([list(one.shares.values()) for one in done.points.values()])
    low, high = tried.min(0), np.minimum(tried.max(0), most)
    candidates = drawn(done.natural, np.random.default_rng([seed, 0]), CANDIDATES)
    fits = ((low <= candidates) & (candidates <= high)).all(1)
    candidates = candidates[fits] if fits.any() else done.natural[None]
    order = np.argsort(done.found.predict(candidates), kind="stable")
    return rounded(candidates[order[:BEST]].mean(0))
