"""Processes that train one model together, started by torchrun: their devices and their communication.

Each process (rank) has a copy of the model, and reads its share of the rows of each batch. Gradients and numbers of
targets are summed over all processes, so that all make the same update. Tensors on the CPU, and decisions, are
exchanged by gloo; those on CUDA by NCCL.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import PrefixStore  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous

from dataprep.errors import DataprepError, PlanError

from .device import pick_device
from .ranks import Launch, launched

_T = TypeVar("_T")
_FAILURE = "failure"  # key of the first error, for the processes that did not see it
_runs = itertools.count()


@dataclass(frozen=True)
class World:
    """The processes that train one model together; if there is only one process, methods exchange nothing.

    Attributes:
        device: the device on which this process computes.
        rank: its number, from 0; process 0 alone writes files and prints.
        ranks: the number of processes.
        store: a key-value store that all processes share; None if there is one process.
    """

    device: torch.device
    rank: int = 0
    ranks: int = 1
    store: Any = None

    @property
    def is_first(self) -> bool:
        """True in the process that writes files and prints, which has rank 0."""
        return self.rank == 0

    def most(self, number: int) -> int:
        """Return the maximum over the processes of `number`."""
        if self.ranks == 1:
            return number
        shared = torch.tensor(number)
        with self._connected():
            dist.all_reduce(shared, dist.ReduceOp.MAX)
        return int(shared)

    def exchanged(self, *numbers: int) -> list[int]:
        """Return the sums of several numbers over all processes, in one exchange."""
        if self.ranks == 1:
            return list(numbers)
        shared = torch.tensor(numbers)
        with self._connected():
            dist.all_reduce(shared)
        return shared.tolist()

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each of the tensors, which have one device and type, by its sum over all processes."""
        if self.ranks > 1:
            self.wait([self.begin_sum(tensor) for tensor in tensors])

    def begin_sum(self, tensor: Tensor) -> Any:
        """Begin to replace a tensor by its sum over all processes; return the work to pass to `wait`."""
        with self._connected():
            return dist.all_reduce(tensor, async_op=True)

    def begin_gather(self, whole: Tensor, own: Tensor) -> Any:
        """Begin to fill `whole` with the tensors `own` of all processes, in their order; return the work for `wait`.

        - own: 1-D, of the same size in all processes, such as this process's part of `whole`.
        """
        gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor  # its name since torch 2.13
        with self._connected():
            return gather(whole, own, async_op=True)

    def wait(self, works: Sequence[Any]) -> None:
        """Wait until exchanges have ended; on CUDA, only the current stream waits, not this process."""
        with self._connected():
            for work in works:
                work.wait()

    def copy_first(self, tensors: Sequence[Tensor]) -> None:
        """Replace each of the tensors by that of the first process."""
        if self.ranks > 1:
            with self._connected():
                for tensor in tensors:
                    dist.broadcast(tensor.detach(), 0)

    def from_first(self, make: Callable[[], _T]) -> _T:
        """Call `make` in the first process only, and return its result in all processes; the result must be small."""
        if self.ranks == 1:
            return make()
        made: list[Any] = [make() if self.is_first else None]
        with self._connected():
            dist.broadcast_object_list(made, 0, device=torch.device("cpu"))
        return made[0]  # type: ignore[no-any-return]

    def check_same(self, facts: Mapping[str, Any]) -> None:
        """Raise PlanError, which names the first difference, unless all processes pass the same facts as the first one.

        Otherwise the processes would wait for each other for ever, or train different models.

        - facts: {name: small plain value}, with the same names in all processes.
        """
        first = self.from_first(lambda: dict(facts))
        other = next((name for name in first if facts[name] != first[name]), None)
        if other is not None:
            here, there = (str(found[other])[:80] for found in (facts, first))
            msg = f"{other} is {here}, and {there} in the first process; start all processes with the same command"
            raise PlanError(msg)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """Raise a DataprepError with the first error of the other processes if the connection to them breaks."""
        try:
            yield
        except RuntimeError as e:  # that of gloo, and the base of torch's own errors
            msg = "another process of this run has ended without a message; run the same command again to resume"
            with contextlib.suppress(RuntimeError):
                if self.store.check([_FAILURE]):
                    msg = self.store.get(_FAILURE).decode()
            raise DataprepError(msg) from e

    def tell(self, error: Exception) -> None:
        """Store the error for the other processes, unless another process did so before."""
        text = str(error) if isinstance(error, DataprepError) else f"{type(error).__name__}: {error}".split("\n", 1)[0]
        with contextlib.suppress(RuntimeError):
            if not self.store.check([_FAILURE]):
                self.store.set(_FAILURE, f"rank {self.rank}: {text}")


ALONE = World(torch.device("cpu"))
"""A single process, if only their number matters."""


@contextlib.contextmanager
def joined(device: str) -> Iterator[World]:
    """Yield the World of this process, which is connected to torchrun's other processes inside the `with` block.

    Args:
        device: a device name, as in TrainConfig. If there are several processes, each must have its own GPU.

    An error that ends the block in one process ends it in all processes.

    Raises PlanError if the machine does not have the device, DataprepError if the processes cannot connect.
    """
    launch = launched()
    own = _own_device(device, launch)
    if launch.ranks == 1:
        yield World(own)
        return
    world = _connected_world(own, launch)
    try:
        yield world
    except Exception as e:
        world.tell(e)
        raise
    finally:
        dist.destroy_process_group()


def _own_device(name: str, launch: Launch) -> torch.device:
    """Return the device with this name, or this process's own GPU if there are several."""
    device = pick_device(name)
    if launch.ranks == 1 or device.type == "cpu":
        return device
    if device.type != "cuda" or device.index is not None:
        msg = f"device={name!r} must be auto, cuda or cpu for {launch.ranks} processes, since each has its own GPU"
        raise PlanError(msg)
    count = torch.cuda.device_count()
    if launch.here > count:
        msg = f"{launch.here} processes on this machine must have a GPU each, but torch sees {count}; start {count}"
        raise PlanError(msg)
    device = torch.device("cuda", launch.local)
    torch.cuda.set_device(device)
    return device


def _connected_world(device: torch.device, launch: Launch) -> World:
    if dist.is_initialized():
        msg = "torch.distributed is initialised already; do not initialise it, since train() connects the processes"
        raise PlanError(msg)
    backend = "gloo" if device.type == "cpu" else "cpu:gloo,cuda:nccl"
    # torch imports this module with its optimisers. Its functions keep the group of processes that exists then as a
    # default value, so `joined` could not end the threads of gloo, which may abort the program at its exit.
    importlib.import_module("torch.distributed.nn.functional")
    try:
        store = PrefixStore(f"dataprep {next(_runs)}", _shared_store())  # no keys of an earlier run
        dist.init_process_group(backend, store=store, rank=launch.rank, world_size=launch.ranks)
    except (RuntimeError, ValueError) as e:
        where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        reason = str(e).split("\n", 1)[0]
        msg = f"rank {launch.rank} cannot connect to the other processes at {where} ({reason}); start with torchrun"
        raise DataprepError(msg) from e
    return World(device, launch.rank, launch.ranks, store)


@functools.cache
def _shared_store() -> Any:
    """Return the store at MASTER_ADDR and MASTER_PORT; it is kept, since a second one could not use the same port."""
    return next(rendezvous("env://"))[0]
