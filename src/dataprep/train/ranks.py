"""Number of this process among those that train together, from the environment variables of torchrun; without torch."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dataprep.errors import PlanError

_NAMES = ("RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class Launch:
    """The numbers that identify this process among those that train together.

    Attributes:
        rank: the number of this process, from 0.
        ranks: the number of all processes.
        local: the number of this process among the processes on this machine, from 0.
        here: the number of processes on this machine.
    """

    rank: int = 0
    ranks: int = 1
    local: int = 0
    here: int = 1


def launched() -> Launch:
    """Return the numbers that torchrun gave this process; without torchrun, those of a single process.

    Raises PlanError if WORLD_SIZE states several processes, and the variables that connect them are missing or wrong.
    """
    ranks = os.environ.get("WORLD_SIZE", "1")
    if ranks == "1":
        return Launch()
    missing = [name for name in _NAMES if not os.environ.get(name)]
    rank, local = (os.environ.get(name, "") for name in _NAMES[:2])
    if missing or not (ranks.isdecimal() and rank.isdecimal() and local.isdecimal() and int(rank) < int(ranks)):
        wrong = f"{', '.join(missing)} missing" if missing else f"RANK={rank} and LOCAL_RANK={local}"
        msg = f"WORLD_SIZE={ranks} with {wrong} must not be set by hand; start with torchrun, or unset WORLD_SIZE"
        raise PlanError(msg)
    here = os.environ.get("LOCAL_WORLD_SIZE", "")
    return Launch(int(rank), int(ranks), int(local), int(here) if here.isdecimal() else int(local) + 1)


def is_first() -> bool:
    """Return whether this is the process that reports the result of a run."""
    return os.environ.get("RANK", "0") == "0"


def is_first_here() -> bool:
    """Return whether this is the process of its machine that reports errors."""
    return os.environ.get("LOCAL_RANK", "0") == "0"
