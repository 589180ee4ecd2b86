"""The trainings of an experiment, and the losses of their models; finished work is never repeated.

    OUT/runs/KEY-seed-0/       the run: checkpoints and metrics.jsonl
    OUT/runs/KEY-seed-0.json   a receipt: tokens, seconds, and the loss of each held-out document
    OUT/runs/KEY-seed-0.choices-exam.json ...  the same for each file of questions

KEY is the beginning of a hash of the run's settings and tokens. Versions with the same documents share a run, and runs
with other settings are kept.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.errors import PlanError, counted, need
from dataprep.store import files, receipts
from dataprep.store.key import key
from dataprep.train.config import RUN_ONLY, TrainConfig

from .cost import Cost, epochs_of
from .design import Design, Version
from .parallel import train_at_once
from .questions import Questions, bits_of

log = logging.getLogger("dataprep")
F64 = npt.NDArray[np.float64]
VERSION = 1  # increased if the same run has other losses
AVERAGED = 20  # checkpoints that a run writes at most so that their losses can be averaged
TRIED = 10  # steps after which the speed is known


@dataclass(frozen=True, kw_only=True)
class Trainings:
    """The trainings of an experiment.

    Attributes:
        design: the data.
        config: the settings of every run except the seed.
        seeds: the number of seeds, from `config.seed`.
        checkpoints: the number of checkpoints at the end of a run whose losses are averaged.
        start: the checkpoint from whose weights each run starts; None: random weights.
        questions: the files of questions.
        out: the folder of the experiment.
        parallel: the number of processes that train at once.
        say: a function that prints a line.
    """

    design: Design
    config: TrainConfig
    seeds: int
    checkpoints: int
    start: str | None
    questions: Sequence[Questions]
    out: str
    say: Callable[[str], None]
    parallel: int = 1

    def losses(self) -> dict[str, dict[str, F64]]:
        """Do the remaining trainings, and return the losses in bits, by name of the metric and version.

        Each value is float64[seeds, items]; the items of the metric "" are the held-out documents, those of others the
        questions.
        """
        cost = self.cost()
        if cost.runs:
            self.say(cost.text())
        for doubt in cost.doubts():
            log.warning("%s", doubt)
        left = self._left()
        if left and cost.runs > 1:
            speed = self._speed(*next(iter(left.values())))
            self.say(f"the first {TRIED} steps: {cost.text(speed)}")
        if self.parallel > 1 and len(left) > 1:
            each = [(version.name, seed) for version, seed in left.values()]
            train_at_once(replace(self, say=_nothing).train_on, self.config.device, each, self.parallel)
        found: dict[str, dict[str, list[list[float]]]] = {}
        for version, seed in self._all():
            for metric, bits in self.losses_of(version, seed).items():
                found.setdefault(metric, {}).setdefault(version.name, []).append(bits)
        return {metric: {n: np.array(rows) for n, rows in of.items()} for metric, of in found.items()}

    def train_on(self, device: str, name: str, seed: int) -> None:
        """Do the run of a version and a seed on a device, unless it is finished."""
        own = replace(self, config=replace(self.config, device=device))
        own.losses_of(self.design.versions[name], seed)

    def cost(self) -> Cost:
        """Return the cost of the trainings that are left. Raises PlanError if a version is too small for the tokens."""
        need("torch", extra="train")
        from dataprep.train.size import flops_of  # with torch

        versions, config = self.design.versions, self.config
        steps = config.steps or 0
        epochs = epochs_of(config, steps, [v.reads for v in versions.values()])
        tokens = steps * config.batch * config.model.context
        left = self._left()
        each = flops_of(config.model, self.design.tokenizer.vocab_size) * tokens
        return Cost(len(left), tokens, epochs, float(len(left) * each))

    def _all(self) -> Iterator[tuple[Version, int]]:
        """Yield the version and the seed of each run; all versions have a seed before the next."""
        for seed in range(self.config.seed, self.config.seed + self.seeds):
            yield from ((version, seed) for version in self.design.versions.values())

    def _left(self) -> dict[str, tuple[Version, int]]:
        """Return the runs that are not finished, by their folders; versions with the same documents share one."""
        found: dict[str, tuple[Version, int]] = {}
        for run in self._all():
            if not self._is_done(*run):
                found.setdefault(self._place(*run), run)
        return found

    def records(self) -> dict[str, list[dict[str, Any]]]:
        """Return the receipts of finished runs by version, in the order of the seeds."""
        seeds = range(self.config.seed, self.config.seed + self.seeds)
        of = {name: [self._record(v, seed) for seed in seeds] for name, v in self.design.versions.items()}
        return {name: [record for record in records if record is not None] for name, records in of.items()}

    def _key(self, version: Version) -> str:
        settings = {n: v for n, v in self.config.to_dict().items() if n not in RUN_ONLY and n != "seed"}
        start = None if self.start is None else files.content_hash(self.start)
        kept = [] if self.checkpoints == 1 else [self.checkpoints]  # a run with fewer cannot be averaged as asked
        return key([VERSION, version.root, settings, start, *kept])

    def _place(self, version: Version, seed: int) -> str:
        return files.join(self.out, self.name_of(version, seed))

    def name_of(self, version: Version, seed: int) -> str:
        """Return the folder of a run, relative to that of the experiment."""
        return files.join("runs", f"{self._key(version)[:8]}-seed-{seed}")

    def _held_key(self, version: Version) -> str:
        return key([self._key(version), self.design.held_shards.root, self.design.held.key, self.checkpoints])

    def _record(self, version: Version, seed: int) -> dict[str, Any] | None:
        return receipts.valid(f"{self._place(version, seed)}.json", self._held_key(version))

    def _is_done(self, version: Version, seed: int) -> bool:
        return self._record(version, seed) is not None

    def _train(self, version: Version, seed: int, stop_at: int | None = None) -> Any:
        from dataprep.inference.train import train  # torch is imported here, if a run is left

        steps = self.config.steps or 1
        more = {} if self.checkpoints == 1 else {
            "save_every": _every(steps), "keep_checkpoints": max(self.checkpoints, self.config.keep_checkpoints)
        }  # fmt: skip
        config = replace(self.config, seed=seed, **more)  # type: ignore[arg-type]
        config, out = replace(config, weights=version.weights), self._place(version, seed)
        return train(version.data, out=out, config=config, init_from=self.start, stop_at=stop_at, quiet=True)

    def _speed(self, version: Version, seed: int) -> float | None:
        """Return the tokens per second of the first steps of a run, which continues later; None if it is short."""
        if (self.config.steps or 0) <= 2 * TRIED:
            return None
        rows = _metrics(self._train(version, seed, stop_at=TRIED).metrics)
        return None if not rows else float(rows[-1]["tokens_per_s"])

    def losses_of(self, version: Version, seed: int) -> dict[str, list[float]]:
        """Do one run unless it is finished; return its losses in bits, by name of the metric, one number per item."""
        place, trained = self._place(version, seed), list[Any]()

        def checkpoints() -> list[str]:
            if not trained:
                trained.append(self._train(version, seed))
            found = sorted(Path(place).glob("step-*.pt"))  # the newest last; that before the decay may be there, too
            return [str(path) for path in found[-self.checkpoints :]]

        def held_out() -> dict[str, Any]:
            losses = [self._held_losses(path) for path in checkpoints()]
            bits, n_bytes = np.mean(losses, axis=0)
            result = trained[0]
            facts = {"tokens": result.tokens, "epochs": result.epochs, "loss": result.loss, "steps": result.steps}
            return {"files": [], "bits": bits.tolist(), "bytes": n_bytes.tolist(), "seconds": _seconds(result), **facts}

        record = receipts.once(f"{place}.json", self._held_key(version), held_out)
        found = {"": record["bits"]}
        for asked in self.questions:

            def answers(asked: Questions = asked) -> dict[str, Any]:
                bits = np.mean([bits_of(path, asked, self.config.device) for path in checkpoints()], axis=0)
                return {"files": [], "bits": bits.tolist()}

            receipt, work = f"{place}.{asked.name}.json", key([self._held_key(version), asked.recipe()])
            found[asked.name] = receipts.once(receipt, work, answers)["bits"]
        if trained:
            self.say(f"{version.name}, seed {seed}: {sum(record['bits']) / sum(record['bytes']):.4f} bits per byte")
        return found

    def _held_losses(self, path: str) -> F64:
        """Return the loss of a model on each held-out document, in bits, and the bytes of its text that are predicted.

        float64[2, documents]; special tokens are left out.
        """
        from dataprep.inference.evaluate import evaluate

        held = self.design.held
        found = evaluate(path, self.design.held_shards, split="train", by="id", docs=held, device=self.config.device)
        ids = held.table(["id"]).column("id").to_pylist()
        sums = [found.groups[str(i)] for i in ids]
        return np.array([[one.text_nats / math.log(2) for one in sums], [float(one.n_bytes) for one in sums]])


def _nothing(_: str) -> None:
    """Print nothing."""


def check_checkpoints(n: int, steps: int) -> None:
    """Raise PlanError if a run of `steps` steps writes fewer than `n` checkpoints."""
    most = min(AVERAGED, -(-steps // _every(steps)))
    if n > most:
        msg = f"checkpoints={n} must be at most {most}, the number that a run of {counted(steps, 'step')} writes"
        raise PlanError(msg)


def _every(steps: int) -> int:
    """Return the number of steps between checkpoints whose losses are averaged."""
    return max(1, steps // AVERAGED)


def _metrics(path: str) -> list[dict[str, Any]]:
    from dataprep.train.metrics import read

    return read(Path(path))


def _seconds(result: Any) -> float:
    """Return the seconds of training, by the speed that each step's row of metrics states."""
    per_step = result.tokens / max(1, result.steps)
    return float(sum(per_step / row["tokens_per_s"] for row in _metrics(result.metrics) if row.get("tokens_per_s")))
