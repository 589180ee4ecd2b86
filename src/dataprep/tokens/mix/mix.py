"""`Mix`: plan and write a training set with given shares of tokens from several sources.

Shares are of tokens, by explicit weights or by temperature. No source is repeated more than `max_epochs` times: up to 4
epochs are nearly as good as new text, whereas further epochs gain less and less (Muennighoff et al. 2023, "Scaling
data-constrained language models"; T5's experiments with repeats, Raffel et al. 2020, agree). If a source has too few
tokens, the other sources provide the rest in proportion, as in UniMax (Chung et al. 2023). The plan can be printed, and
is saved with the mixture.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dataprep.core.output import owned
from dataprep.core.output.layout import LOCK
from dataprep.errors import CorruptShard, PlanError, shown
from dataprep.shown.notebook import block
from dataprep.store import files
from dataprep.store.atomic import sweep_attempts
from dataprep.tokens.shard_format import SHARD_TOKENS
from dataprep.tokens.shards.folder import shard_folder
from dataprep.tokens.shards.shard import Shards

from .sources import MixSource, sources_of
from .write_mixture import write_mixture

if TYPE_CHECKING:
    from dataprep.core.run.runner import Runner

log = logging.getLogger("dataprep")

MAX_EPOCHS = 4.0
UNMET = 0.01  # share of all tokens that a source may lack without a warning
Sources = Mapping[str, "Shards | str | os.PathLike[str]"]


@dataclass(frozen=True)
class Share:
    """One source in the plan of a mixture.

    Attributes:
        tokens: the number of tokens of the source.
        got: the number of its tokens in the mixture, with repeats.
        asked: its requested share of the mixture, 0 to 1.
        share: its actual share of the mixture, 0 to 1.
        epochs: the mean number of times that a document of the source occurs in the mixture.
    """

    source: str
    tokens: int
    """Training tokens in the source, including separators."""
    asked: float
    """The wanted share of the mixture."""
    got: int
    """Tokens of the source in the mixture, including repeats."""
    share: float
    """`got` as a share of the mixture."""
    epochs: float


@dataclass(frozen=True)
class MixPlan:
    """The plan of a mixture: one `Share` per source, with its tokens and epochs; `print` shows it as a table."""

    shares: tuple[Share, ...]

    @property
    def tokens(self) -> int:
        """The number of tokens in the mixture."""
        return sum(s.got for s in self.shares)

    @property
    def weights(self) -> dict[str, float]:
        """The actual share of each source in the mixture, {name: share}, for a trainer that mixes while reading."""
        return {s.source: s.share for s in self.shares}

    _repr_html_ = block

    def __str__(self) -> str:
        names = [shown(s.source) for s in self.shares]
        width = max(6, *map(len, names))
        head = f"{'source':<{width}} {'there are':>15} {'asked':>7} {'got':>15} {'share':>7} {'epochs':>7}"
        rows = [
            f"{name:<{width}} {s.tokens:>15,} {s.asked:>7.2%} {s.got:>15,} {s.share:>7.2%} {s.epochs:>7.2f}"
            for name, s in zip(names, self.shares, strict=True)
        ]
        return "\n".join([head, *rows])


@dataclass(frozen=True)
class Mix:
    """The shares of several sources in a training set.

    Args:
        weights: {source: weight}; shares are in proportion to the weights. A source of weight 0 is left out, with its
            validation and test splits.
        temperature: used instead of weights; shares are proportional to tokens ** (1 / temperature). 1 keeps the
            proportions of the sources; larger values make the shares more equal (mT5, Xue et al. 2021: 1 / 0.3).
        max_epochs: the maximum number of epochs of a source.
        seed: selects the documents of the last, partial epoch.

    >>> mix = dp.Mix({"web": 0.6, "chat": 0.1, "books": 0.3}, max_epochs=4)
    >>> print(mix.plan({"web": "work/web", "chat": "work/chat", "books": "work/books"}))
    >>> shards = mix.write({"web": "work/web", ...}, out="work/mixed", tokens=1_000_000_000)

    `plan` and `write` take the sources as {name: folder of token shards}, all encoded with one tokenizer, or as one
    folder of token shards, whose documents name their sources.
    """

    weights: Mapping[str, float] | None = None
    max_epochs: float = MAX_EPOCHS
    temperature: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.weights is None) == (self.temperature is None):
            msg = "Mix needs either weights, {source: share}, or temperature=; use one of them"
            raise PlanError(msg)
        for source, weight in (self.weights or {}).items():
            if not (isinstance(weight, (int, float)) and 0 <= weight < math.inf):
                msg = f"the weight of {source!r} is {weight!r}; it must be a positive number, or 0 to leave it out"
                raise PlanError(msg)
        if self.weights is not None and not any(self.weights.values()):
            msg = "no source has a positive weight; give at least one source a weight above 0 in weights="
            raise PlanError(msg)
        for name, value in (("temperature", self.temperature), ("max_epochs", self.max_epochs)):
            if value is not None and not 0 < value < math.inf:
                msg = f"{name}={value!r} must be a positive number"
                raise PlanError(msg)

    def plan(self, sources: Sources | Shards | str | os.PathLike[str], tokens: int | None = None) -> MixPlan:
        """Return the plan of a mixture of `tokens` tokens: tokens and epochs of each source; nothing is written.

        Args:
            sources: {name: folder of token shards}, or one such folder, whose documents name their sources.
            tokens: the number of tokens of the mixture; None: as many as the sources have.
        """
        return self._plan(self._chosen(sources), tokens)

    def write(
        self,
        sources: Sources | Shards | str | os.PathLike[str],
        out: str | os.PathLike[str],
        tokens: int | None = None,
        runner: Runner | None = None,
        *,
        shard_tokens: int = SHARD_TOKENS,
        replace: bool = False,
    ) -> Shards:
        """Write the mixture to the folder `out` as shards that any trainer reads, and its plan as `mixture.lock.json`.

        Args:
            sources: as in `plan`.
            out: a folder or a URL. Documents on its forget list are left out.
            tokens: the number of tokens of the mixture, as in `plan`.
            runner: a Runner; None: `dp.tools.Serial()`.
            shard_tokens: the maximum number of tokens per shard.
            replace: whether to replace another mixture in `out`.

        Every epoch of a source is spread evenly over the mixture, so any range of the shards has the shares of the
        plan. Documents are never divided; a partial last epoch has the documents with the smallest hash(seed, id). The
        validation splits of all sources are written once, one after another, and so are the test splits. Needs about 60
        bytes of memory per document.

        Raises:
            PlanError: `max_epochs` allows too few tokens, or weights or tokenizers do not match the sources.
            StaleOutput: `out` has another mixture, and `replace` is False; or its `mixture.lock.json` is not a plan.
        """
        owned.check_file(files.join(shard_folder(out), LOCK), "the plan of a mixture", '{"asked"')
        streams = self._chosen(sources)
        plan = self._plan(streams, tokens)
        for share in plan.shares:
            if share.share < share.asked - UNMET:
                log.warning(
                    "%s gets %.1f %% of the tokens, not the requested %.1f %%, since max_epochs=%g allows no more; "
                    "provide more of it, raise max_epochs=, or lower tokens=",
                    *(share.source, 100 * share.share, 100 * share.asked, self.max_epochs),
                )
            if share.epochs >= MAX_EPOCHS:
                log.warning(
                    "%s is repeated %.1f times; beyond 4 epochs repeated text helps little (Muennighoff 2023): "
                    "provide more of it, a smaller weight, or fewer tokens",
                    *(share.source, share.epochs),
                )
        got = {share.source: share.got for share in plan.shares}
        asked: dict[str, Any] = {"weights": dict(self.weights or {}) or None, "temperature": self.temperature}
        asked |= {"max_epochs": self.max_epochs, "tokens": tokens, "seed": self.seed}
        lock = {"kind": "mixture", "version": 1, "asked": asked}

        def described(written: Mapping[str, int]) -> dict[str, Any]:
            made = _shares(streams, {s.source: s.asked for s in plan.shares}, written)
            recipes = {s.name: s.shards.manifest.recipe for s in streams}
            sources = [{**asdict(share), "recipe": recipes[share.source]} for share in made]
            return {**lock, "tokens": sum(written.values()), "sources": sources}

        shards = write_mixture(
            streams, got, os.fspath(out), self.seed, shard_tokens, runner, described, replace=replace
        )
        url, made = files.join(os.fspath(shards.path), LOCK), dict(shards.manifest.mixture or {})
        sweep_attempts(url)  # of a call that was killed while it wrote the list
        with contextlib.suppress(CorruptShard):  # written again
            if files.exists(url) and files.read_json(url) == made:
                return shards
        files.write_state(url, made)
        return shards

    def _chosen(self, sources: Sources | Shards | str | os.PathLike[str]) -> list[MixSource]:
        """Return the sources except those of weight 0; raise PlanError if the weights name unknown sources."""
        streams = sources_of(sources)
        if self.weights is None:
            return streams
        _check_names([s.name for s in streams], self.weights)
        return [s for s in streams if self.weights[s.name]]

    def _plan(self, streams: list[MixSource], tokens: int | None) -> MixPlan:
        available = {s.name: s.tokens for s in streams}
        asked = self._asked(available)
        total = sum(available.values()) if tokens is None else tokens
        return MixPlan(tuple(_shares(streams, asked, _fill(available, asked, total, self.max_epochs))))

    def _asked(self, available: Mapping[str, int]) -> dict[str, float]:
        """Return the wanted share of each source; the sum is 1."""
        if self.weights is None:
            raw = {name: n ** (1 / float(self.temperature or 1)) for name, n in available.items()}
        else:
            raw = {name: float(self.weights[name]) for name in available}
        empty = [name for name, n in available.items() if not n]
        if empty:
            msg = f"the source {empty[0]!r} has no training tokens; give it the weight 0"
            raise PlanError(msg)
        return {name: weight / sum(raw.values()) for name, weight in raw.items()}


def _check_names(available: Collection[str], weights: Mapping[str, float]) -> None:
    missing = sorted(set(available) - set(weights))
    unknown = sorted(set(weights) - set(available))
    if missing or unknown:
        what = f"{missing[0]!r} has no weight; 0 leaves it out" if missing else f"there is no source {unknown[0]!r}"
        msg = f"{what}; the sources are {', '.join(sorted(available))}; weights= names {', '.join(sorted(weights))}"
        raise PlanError(msg)


def _fill(available: Mapping[str, int], asked: Mapping[str, float], total: int, max_epochs: float) -> dict[str, int]:
    """Return the tokens of each source: its share, up to `max_epochs` epochs; other sources provide the rest."""
    most = {name: int(n * max_epochs) for name, n in available.items()}
    if total < 1 or total > sum(most.values()):
        msg = (
            f"tokens={total:,} cannot be met: {max_epochs:g} epochs of every source are {sum(most.values()):,} tokens; "
            "lower tokens=, or raise max_epochs="
        )
        raise PlanError(msg)
    got: dict[str, int] = {}
    left, weight = float(total), 1.0
    for name in sorted(available, key=lambda n: most[n] / asked[n]):  # those that run out first
        got[name] = min(most[name], round(left * asked[name] / weight))
        left, weight = left - got[name], max(weight - asked[name], 1e-12)
    return got


def _shares(streams: list[MixSource], asked: Mapping[str, float], got: Mapping[str, int]) -> list[Share]:
    total = max(1, sum(got.values()))
    return [
        Share(s.name, s.tokens, asked[s.name], got[s.name], got[s.name] / total, got[s.name] / s.tokens)
        for s in streams
    ]
