"""Trainings of an experiment in several processes at once, each on one GPU or with one thread of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dataprep.core.run.runner import Local

Train = Callable[[str, str, int], None]  # of a device, a version and a seed


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


def train_at_once(train: Train, device: str, left: list[tuple[str, int]], processes: int) -> None:
    """Do the trainings `left` in several processes.

    All trainings take about the same time, so each process is given the same number. If one is killed, it is started
    again, so `train` skips what is finished.

    Args:
        train: a function that does the training of a version and a seed on a device.
        device: the device in the settings, such as "auto".
        left: (version, seed) of each training.
        processes: the number of processes.
    """
    lanes = [Lane(i, tuple(left[i::processes])) for i in range(min(processes, len(left)))]
    for _ in Local(len(lanes)).map(partial(_train, train, device), lanes, "train"):
        pass


def _train(train: Train, device: str, lane: Lane) -> None:
    """Do the trainings of one process."""
    import torch

    own = device_of(device, lane.number)
    if own == "cpu":
        torch.set_num_threads(1)
    for name, seed in lane.runs:
        train(own, name, seed)


def device_of(name: str, number: int) -> str:
    """Return the device of a process: one of all GPUs, in turn, unless the settings name one.

    - name: the device in the settings, such as "auto".
    - number: the number of the process, from 0.
    """
    import torch

    from dataprep.train.device import pick_device

    device = str(pick_device(name))
    return f"cuda:{number % torch.cuda.device_count()}" if device == "cuda" else device
