"""Trainings of an experiment in several processes at once, each on one GPU or with one thread of the CPU."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from dataprep.core.run.runner import Local

if TYPE_CHECKING:
    from .runs import Trainings


@dataclass(frozen=True)
class Lane:
    """The trainings of one process, which does one after another.

    Attributes:
        number: the number of the process, from 0.
        runs: (version, seed) of each training.
    """

    number: int
    runs: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return f"trainings {', '.join(f'{name} {seed}' for name, seed in self.runs)}"


def train_at_once(runs: Trainings, left: list[tuple[str, int]], processes: int) -> None:
    """Do the trainings `left`, (version, seed) each, in several processes, and measure their losses.

    All trainings take about the same time, so each process is given the same number. If one is killed, it is started
    again, and skips what is finished.
    """
    lanes = [Lane(i, tuple(left[i::processes])) for i in range(min(processes, len(left)))]
    quiet = replace(runs, say=_nothing)
    for _ in Local(len(lanes)).map(partial(_train, quiet), lanes, "train"):
        pass


def _train(runs: Trainings, lane: Lane) -> None:
    """Do the trainings of one process."""
    import torch

    device = device_of(runs.config.device, lane.number)
    if device == "cpu":
        torch.set_num_threads(1)
    own = replace(runs, config=replace(runs.config, device=device))
    for name, seed in lane.runs:
        own.losses_of(own.design.versions[name], seed)


def device_of(name: str, number: int) -> str:
    """Return the device of a process: one of all GPUs, in turn, unless the settings name one.

    - name: the device in the settings, such as "auto".
    - number: the number of the process, from 0.
    """
    import torch

    from dataprep.train.device import pick_device

    device = str(pick_device(name))
    return f"cuda:{number % torch.cuda.device_count()}" if device == "cuda" else device


def _nothing(_: str) -> None:
    """Print nothing."""
