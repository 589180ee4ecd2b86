"""The cost of an experiment before it starts: steps, tokens, passes over each version, operations and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dataprep.errors import PlanError, counted
from dataprep.train.config import TrainConfig

EPOCHS = 4  # passes up to which each is worth about as much as new text (Muennighoff et al. 2023)
MOST_EPOCHS = 40  # passes after which reading the same text again teaches nothing


@dataclass(frozen=True)
class Cost:
    """The work of an experiment.

    Attributes:
        runs: the number of trainings that are left to do.
        tokens: the number of tokens that each training reads.
        epochs: passes over the text, by version.
        flops: floating-point operations of all these trainings.
    """

    runs: int
    tokens: int
    epochs: dict[str, float]
    flops: float

    def text(self, tokens_per_s: float | None = None) -> str:
        """Return a sentence about the cost.

        - tokens_per_s: the measured speed; None: the sentence states no time.
        """
        said = f"{self.runs} trainings of {self.tokens:,} tokens: {self.flops:.2g} FLOPs"
        if tokens_per_s:
            said += f", about {duration(self.runs * self.tokens / tokens_per_s)} at {tokens_per_s:,.0f} tokens/s"
        return said

    def doubts(self) -> list[str]:
        """Return a warning for each version that is read more than `EPOCHS` times."""
        return [
            f"the runs read the {name!r} {n:.3g} times; after {EPOCHS} passes, reading it again teaches little "
            f"(Muennighoff et al. 2023): set tokens={int(self.tokens * EPOCHS / n):,} or less, or add text"
            for name, n in self.epochs.items() if n > EPOCHS
        ]  # fmt: skip


def duration(seconds: float) -> str:
    """Return a time as text, in seconds, minutes or hours; one of more than 1,000 years only says so.

    >>> duration(600)
    '10 min'
    """
    if seconds > 1_000 * 365 * 86_400:  # such as that of a task which takes longer than a machine lasts
        return "over 1,000 years"
    if seconds >= 5_400:
        return f"{seconds / 3_600:,.1f} h"
    return f"{seconds / 60:,.0f} min" if seconds >= 90 else f"{seconds:,.0f} s"


def steps_of(config: TrainConfig, tokens: int | None, smallest: int) -> int:
    """Return the number of steps: for `tokens`, from the config, or for one pass over the smallest version.

    - smallest: the number of tokens of the smallest version.
    """
    per_step = config.batch * config.model.context
    if tokens is not None:
        return -(-tokens // per_step)
    return config.steps or -(-smallest // per_step)


def epochs_of(
    config: TrainConfig, steps: int, versions: Sequence[Mapping[str, tuple[int, float]]]
) -> dict[str, float]:  # fmt: skip
    """Return the passes over each set of text, the most of all versions that read it.

    - versions: for each version, {name of the set: (tokens, share of a run's tokens)}.

    Raises PlanError if a set has no row of text, or is read more than `MOST_EPOCHS` times.
    """
    read = steps * config.batch * config.model.context
    found: dict[str, float] = {}
    for reads in versions:
        for name, (n, share) in reads.items():
            what = "version" if share == 1 else "source"
            if n <= config.model.context:
                msg = (
                    f"the {what} {name!r} has {counted(n, 'token')}, too few for a row of "
                    f"{config.model.context + 1:,}; add text, or leave it out"
                )
                raise PlanError(msg)
            if read * share > MOST_EPOCHS * n:
                many = "each run reads" if share == 1 else f"a run reads, {share:.1%} of {read:,}"
                msg = (
                    f"the {what} {name!r} has {n:,} tokens, too few for the {int(read * share):,} that {many}; add "
                    f"text, or set tokens={int(MOST_EPOCHS * n / share):,} or less"
                )
                raise PlanError(msg)
            found[name] = max(found.get(name, 0.0), read * share / n)
    return found
