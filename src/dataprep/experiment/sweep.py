"""`scaling`: train models of several sizes with equal numbers of operations, and fit the best size at each budget.

    OUT/runs/KEY-seed-0/       a run: checkpoints and metrics.jsonl
    OUT/runs/KEY-seed-0.json   its receipt: the loss on the split "val", and the seconds of training
    OUT/scaling.json, scaling.md, isoflop.svg

KEY is the beginning of a hash of the run's settings and tokens, so that other budgets, sizes and seeds can be added.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dataprep.core.output import owned
from dataprep.errors import PlanError, counted, need
from dataprep.store import files, lease, receipts
from dataprep.store.key import key
from dataprep.tokens.shards.shard import Shards
from dataprep.train.config import RUN_ONLY, TrainConfig
from dataprep.train.presets import preset

from .cost import EPOCHS, MOST_EPOCHS, duration
from .isoflop import FEWEST_SIZES, fit
from .scaling import Scaling, check

log = logging.getLogger("dataprep")
VERSION = 1  # increased if the same run has another loss
FEWEST_STEPS = 20  # of a run; its number of operations is then wrong by 2.5 % at most
TRIED = 10  # steps after which the speed is known


@lease.writes
def scaling(
    shards: Shards | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    budgets: Sequence[float] | Mapping[float, Sequence[int]],
    widths: Sequence[int] = (),
    at: Sequence[float] = (),
    train: str | TrainConfig = "probe",
    settings: Sequence[str] = (),
    seeds: int = 1,
    quiet: bool = False,
) -> Scaling:
    """Train models of several sizes with equal numbers of operations, and fit the best size at each budget.

    A model of each width is trained with each budget; a small model reads more tokens than a large one. Each run lowers
    its learning rate at its own end. Depth and number of heads grow with the width, as in the preset, and the maximum
    learning rate falls with its square root. A finished run is never repeated: a killed call continues, and budgets,
    widths and seeds can be added.

    Args:
        shards: token shards with the splits "train" and "val", or their folder.
        out: the folder of the runs and results.
        budgets: floating-point operations per run, such as [1e12, 3e12, 1e13]; or {budget: widths of its models}.
        widths: the widths (`model.d_model`) for all budgets, if `budgets` states none; four or more, or three if there
            are several seeds.
        at: larger budgets for which the best model and its loss are predicted.
        train: the preset or the TrainConfig from which the models are scaled.
        settings: changes of the config, as texts such as "batch=16".
        seeds: the number of runs per width and budget.
        quiet: whether to print nothing.

    Returns the `Scaling`; `out` has it as scaling.json, scaling.md and isoflop.svg.

    Raises PlanError before any training if a budget or width cannot be used, if there are too few runs to fit, or if
    the shards have too few tokens; StaleOutput if a file in `out` has the name of a result, but is not one; InUse if
    another process writes into `out`.

    >>> dp.tools.scaling("work/shards", out="work/scaling", budgets=[1e12, 4e12], widths=[16, 32, 48, 64])
    """
    folder = os.fspath(out).rstrip("/")
    config = (preset(train) if isinstance(train, str) else train).override(*settings)
    given = shards if isinstance(shards, Shards) else Shards.open(shards)
    _check_lists(budgets, widths, at)
    planned = budgets if isinstance(budgets, Mapping) else dict.fromkeys(budgets, widths)
    runs = _planned(given, config, planned, seeds)
    _check_budgets("at", at)
    check(folder)
    owned.begin(folder)
    sweep = _Sweep(given, folder, (lambda _: None) if quiet else print)
    records = sweep.train(runs)
    columns = zip(*((run.budget, run.parameters, run.per_token) for run in runs), strict=True)
    of_budget, parameters, per_token = (np.array(column, np.float64) for column in columns)
    found = fit(of_budget, parameters, per_token, np.array([record["bits_per_byte"] for record in records]))
    about = {"shards": str(given.path), "vocab_size": given.vocab_size, "seeds": seeds, "config": config.to_dict()}
    rows = [run.facts() | record for run, record in zip(runs, records, strict=True)]
    result = Scaling.of(folder, found, rows, at, about | {"train_tokens": _n_tokens(given)})
    result.save()
    return result


def _check_lists(budgets: Any, widths: Any, at: Any) -> None:
    """Raise PlanError if a number is given where numbers are wanted."""
    given = {"budgets": budgets, "widths": widths, "at": at}
    if isinstance(budgets, Mapping):
        given |= {f"budgets[{name!r}]": some for name, some in budgets.items()}
    for name, some in given.items():
        if isinstance(some, (int, float)):
            msg = f"{name}={some!r} must be a list, such as [{some!r}]"
            raise PlanError(msg)


@dataclass(frozen=True)
class SizedRun:
    """A training of the sweep.

    Attributes:
        budget: the operations that it may take.
        config: its settings.
        parameters: the weights of its model.
        per_token: operations per token.
    """

    budget: float
    config: TrainConfig
    parameters: int
    per_token: int

    @property
    def tokens(self) -> int:
        """The tokens that it reads."""
        return (self.config.steps or 0) * self.config.batch * self.config.model.context

    def facts(self) -> dict[str, Any]:
        """Return the run as plain values, for JSON."""
        model = self.config.model
        return {
            "budget": self.budget, "width": model.d_model, "layers": model.n_layers, "seed": self.config.seed,
            "parameters": self.parameters, "flops_per_token": self.per_token, "steps": self.config.steps,
            "tokens": self.tokens, "lr": self.config.lr,
        }  # fmt: skip


def sized(config: TrainConfig, width: int) -> TrainConfig:
    """Return the settings for a model of another width.

    The number of layers is proportional to the width, as is that of heads if the width allows this. The learning rate
    is proportional to 1 / sqrt(width).

    >>> sized(preset("probe"), 64).model.n_layers
    2
    """
    base = config.model
    ratio = width / base.d_model
    most = max(1, round(base.n_heads * ratio))
    heads = next((n for n in range(most, 0, -1) if base.head_width is not None or width % (2 * n) == 0), 1)
    shared = max(1, base.n_heads // base.kv_heads)  # heads per key head
    kv_heads = None if base.n_kv_heads is None else heads // math.gcd(heads, shared)
    d_ff = None if base.d_ff is None else max(1, round(base.d_ff * ratio))
    n_layers = max(1, round(base.n_layers * ratio))
    model = replace(base, d_model=width, n_layers=n_layers, n_heads=heads, n_kv_heads=kv_heads, d_ff=d_ff)
    return replace(config, model=model, lr=config.lr / math.sqrt(ratio))


def _planned(
    shards: Shards, config: TrainConfig, budgets: Mapping[float, Sequence[int]], seeds: int
) -> list[SizedRun]:  # fmt: skip
    """Return the runs of a sweep: those of the smallest budget first, and of the smallest width.

    Raises PlanError if they are too few to fit, too short, or too long for the text.
    """
    _check_budgets("budgets", list(budgets))
    for name, values in (("widths", [width for some in budgets.values() for width in some]), ("seeds", [seeds])):
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                msg = f"{name}={value!r} must be a whole number from 1"
                raise PlanError(msg)
    fewest = min((len(set(some)) for some in budgets.values()), default=0)
    if fewest < FEWEST_SIZES or fewest * seeds <= FEWEST_SIZES:
        msg = (
            f"there are {counted(len(budgets), 'budget')}, {counted(fewest, 'width')} and {counted(seeds, 'seed')}; a "
            "fit needs a budget with four widths, or with three widths and two seeds"
        )
        raise PlanError(msg)
    for split in ("train", "val"):
        if not len(shards.split(split)):
            msg = f"{shards.path} has no documents in the split {split!r}; encode with split=dp.Split(val=0.05)"
            raise PlanError(msg)
    runs = [
        run for budget in sorted(budgets) for width in sorted(set(budgets[budget]))
        for run in _seeds(shards, budget, sized(config, width), seeds)
    ]  # fmt: skip
    budget_of: dict[tuple[int, int | None], float] = {}  # of a width and its steps
    for run in runs:
        width = run.config.model.d_model
        other = budget_of.setdefault((width, run.config.steps), run.budget)
        if other != run.budget:
            steps = counted(run.config.steps or 0, "step")
            msg = f"the budgets {other:.12g} and {run.budget:.12g} are both {steps} with width {width}; choose budgets "
            msg += "that differ more"
            raise PlanError(msg)
    return runs


def _seeds(shards: Shards, budget: float, config: TrainConfig, seeds: int) -> list[SizedRun]:
    """Return the runs of one size with one budget."""
    need("torch", extra="train")
    from dataprep.train.size import flops_of, weights_of  # with torch

    model, there = config.model, _n_tokens(shards)
    per_token, per_step = flops_of(model, shards.vocab_size), config.batch * model.context
    steps = round(budget / (per_token * per_step))
    what, passes = f"budget={budget:g} with width {model.d_model}", steps * per_step / there
    if steps < FEWEST_STEPS:
        msg = f"{what} is {counted(steps, 'step')} of {per_step:,} tokens, fewer than {FEWEST_STEPS}; raise the "
        msg += "budget, lower batch, or leave this width out"
        raise PlanError(msg)
    if passes > MOST_EPOCHS:
        msg = f"{what} reads {steps * per_step:,} tokens, and there are {there:,}; add text, lower the budget, or "
        msg += "leave this width out"
        raise PlanError(msg)
    if passes > EPOCHS:
        log.warning("%s reads the text %.3g times; after %d passes, reading it again teaches little (Muennighoff et "
                    "al. 2023), so that larger models look better", what, passes, EPOCHS)  # fmt: skip
    chosen = replace(config, steps=steps, warmup=min(config.warmup, steps // 10), eval_every=steps)
    n = weights_of(model, shards.vocab_size)
    return [SizedRun(budget, replace(chosen, seed=config.seed + i), n, per_token) for i in range(seeds)]


def _check_budgets(name: str, given: Sequence[float]) -> None:
    for value in given:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
            msg = f"{name}={value!r} must be numbers of operations above 0, such as 1e12"
            raise PlanError(msg)


def _n_tokens(shards: Shards) -> int:
    return shards.split("train").n_tokens


@dataclass(frozen=True)
class _Sweep:
    """The trainings of a sweep in the folder `out`; `say` prints a line."""

    shards: Shards
    out: str
    say: Callable[[str], None]

    def train(self, runs: Sequence[SizedRun]) -> list[dict[str, Any]]:
        """Do the trainings that are left, and return the receipts of all runs, in their order."""
        left = [run for run in runs if self._record(run) is None]
        if left:
            total = f"{sum(run.per_token * run.tokens for run in left):.2g} FLOPs"
            self.say(f"{counted(len(left), 'training')} of {len(runs)}: {total}")
            if seconds := self._seconds(left):
                self.say(f"by the speed of the first {TRIED} steps of each width: about {duration(seconds)}")
        return [self._run(run) for run in runs]

    def _key(self, run: SizedRun) -> str:
        settings = {n: v for n, v in run.config.to_dict().items() if n not in RUN_ONLY and n != "seed"}
        return key([VERSION, self.shards.root, settings])

    def _place(self, run: SizedRun) -> str:
        return files.join(self.out, "runs", f"{self._key(run)[:8]}-seed-{run.config.seed}")

    def _record(self, run: SizedRun) -> dict[str, Any] | None:
        return receipts.valid(f"{self._place(run)}.json", self._key(run))

    def _seconds(self, left: Sequence[SizedRun]) -> float | None:
        """Return the time of the runs, by the first steps of a run of each width; None if it is short.

        These runs continue later.
        """
        seconds = 0.0
        for width in {run.config.model.d_model: None for run in left}:
            same = [run for run in left if run.config.model.d_model == width]
            if (same[0].config.steps or 0) <= 2 * TRIED:
                return None
            if not (speeds := _speeds(self._train(same[0], stop_at=TRIED))):
                return None
            seconds += sum(run.tokens for run in same) / speeds[-1]
        return seconds

    def _train(self, run: SizedRun, stop_at: int | None = None) -> Any:
        from dataprep.inference.train import train  # torch is imported here, if a run is left

        return train(self.shards, out=self._place(run), config=run.config, stop_at=stop_at, quiet=True)

    def _run(self, run: SizedRun) -> dict[str, Any]:
        """Return the receipt of a run: its loss in bits per byte, passes over the text, and seconds."""

        def make() -> dict[str, Any]:
            from dataprep.inference.evaluate import evaluate

            trained = self._train(run)
            loss = evaluate(trained.checkpoint, self.shards, device=run.config.device).total.bits_per_byte
            assert loss is not None, "shards of dataprep know the bytes of their tokens"
            per_step = run.config.batch * run.config.model.context
            self.say(f"{run.budget:.3g} FLOPs, width {run.config.model.d_model}, {run.parameters:,} parameters, "
                     f"{run.tokens:,} tokens, seed {run.config.seed}: {loss:.4f} bits per byte")  # fmt: skip
            return {"files": [], "bits_per_byte": loss, "epochs": trained.epochs,
                    "seconds": sum(per_step / speed for speed in _speeds(trained))}  # fmt: skip

        record = receipts.once(f"{self._place(run)}.json", self._key(run), make)
        facts = {name: record[name] for name in ("bits_per_byte", "epochs", "seconds")}
        return {**facts, "folder": files.join("runs", files.name_of(self._place(run)))}


def _speeds(trained: Any) -> list[float]:
    """Return the tokens per second of each step of a run; rows of metrics that an evaluation wrote have none."""
    from dataprep.train.metrics import read

    return [row["tokens_per_s"] for row in read(Path(trained.metrics)) if row.get("tokens_per_s")]
