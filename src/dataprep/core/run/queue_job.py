"""Job: the files of one call of `map` in a queue's folder; the Runner writes them, and the workers read them."""

from __future__ import annotations

import contextlib
import struct
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import cloudpickle
import numpy as np

from dataprep.errors import DataprepError, ReadError, portable
from dataprep.store import files
from dataprep.store.claims import Watch, claim, listed
from dataprep.store.place import here
from dataprep.store.remote import NETWORK

from .elsewhere import enter, name_of, versions

OFFSET = struct.Struct("<q")
Answer = tuple[bytes | None, bytes | None]  # a pickled result, or a pickled error
PROGRAM = uuid.uuid4().hex  # of this process, in which each module was imported once


class Withdrawn(DataprepError):
    """The Runner no longer wants the result of a task."""


@dataclass(frozen=True)
class SentTask:
    """A task that runs in another process, with the working folder and module search path of the sending program."""

    path: tuple[str, ...]
    folder: str
    task: bytes
    ended: str  # the file that exists once the result is no longer wanted

    @classmethod
    def of(cls, task: Callable[[Any], Any], ended: str) -> SentTask:
        """Return `task` in the form in which this process sends it."""
        return cls(tuple(sys.path), here(), cloudpickle.dumps(task), ended)

    @property
    def __name__(self) -> str:
        """The name of the task, for errors."""
        return name_of(self.task)

    def __call__(self, item: SentItem) -> Answer:
        """Run the task; return its pickled result or error, so that the worker need not import what they contain.

        Raises Withdrawn if the Runner no longer wants the result, and network errors, after which it is repeated.
        """
        if files.exists(self.ended):
            msg = "the result is no longer wanted"
            raise Withdrawn(msg)
        enter(self.path, self.folder)
        try:
            return bytes(cloudpickle.dumps(cloudpickle.loads(self.task)(cloudpickle.loads(item.content)))), None
        except NETWORK:
            raise
        except Exception as e:  # noqa: BLE001 - raised again by the Runner
            return None, bytes(cloudpickle.dumps(portable(e)))


@dataclass(frozen=True)
class SentItem:
    """An item in the form in which it is sent, with all that a worker needs if its child ends during the task.

    Attributes:
        content: the pickled item.
        shown: its text in messages.
        slices: its slices of input files, if it is a Part.
        skips_bad: whether such a file may be left out.
    """

    content: bytes
    shown: str
    slices: tuple[Any, ...]
    skips_bad: bool

    @classmethod
    def of(cls, item: Any) -> SentItem:
        """Return `item` in the form in which this process sends it."""
        skips_bad, slices = getattr(item, "skips_bad", False), getattr(item, "slices", ())
        return cls(cloudpickle.dumps(item), str(item)[:200], slices if skips_bad else (), skips_bad)

    def __str__(self) -> str:
        return self.shown


class Terms(NamedTuple):
    """What a worker must know before it takes an item.

    Attributes:
        versions: the versions of the Runner's process.
        items: the number of items.
        timeout: the seconds that a task may take for a file.
        program: a name of the Runner's process.
        needs: the pickled `Needs` of the run; b"" if they are not known.
    """

    versions: dict[str, str]
    items: int
    timeout: float | None
    program: str
    needs: bytes


@dataclass(frozen=True)
class Job:
    """The files of one call of `map`.

    - `stated`, written last: the `Terms`;
    - `task`, `items`, `offsets`: the pickled task, all pickled items, and the byte at which each item begins;
    - `runner`: updated as long as the Runner lives;
    - `claims/INDEX.ATTEMPT`: updated as long as the worker that processes the item lives;
    - `results/INDEX`: the pickled result or error of an item;
    - `ended`: exists when results are no longer wanted.

    Attributes:
        url: the folder.
    """

    url: str

    @classmethod
    def offer(
        cls, queue: str, task: Callable[[Any], Any], items: Sequence[Any], timeout: float | None, needs: bytes = b""
    ) -> Job:
        """Write the files of a new job into the folder of a queue."""
        job = cls(files.join(queue, "jobs", f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}"))
        sent = [cloudpickle.dumps(SentItem.of(item)) for item in items]
        ends = np.cumsum([0, *map(len, sent)], dtype="<i8")
        for name, content in (
            ("task", cloudpickle.dumps(SentTask.of(task, job.at("ended")))), ("items", b"".join(sent)),
            ("offsets", ends.tobytes()), ("claims/.keep", b""), ("results/.keep", b""),
        ):  # fmt: skip
            files.write_bytes(job.at(name), content)
        claim(job.at("runner"))
        files.write_bytes(job.at("stated"), cloudpickle.dumps(Terms(versions(), len(items), timeout, PROGRAM, needs)))
        return job

    def at(self, *names: str) -> str:
        """Return the URL of a file of this job."""
        return files.join(self.url, *names)

    def claim_of(self, index: int, attempt: int) -> str:
        """Return the URL of the claim of an item."""
        return self.at("claims", f"{index}.{attempt}")

    def result_of(self, index: int) -> str:
        """Return the URL of the result of an item."""
        return self.at("results", str(index))

    @cached_property
    def stated(self) -> Terms:
        """The terms that a worker must know before it takes an item."""
        found: Terms = cloudpickle.loads(files.read(self.at("stated")))
        return found

    @cached_property
    def task(self) -> SentTask:
        """The task, in the form in which it was sent."""
        found: SentTask = cloudpickle.loads(files.read(self.at("task")))
        return replace(found, ended=self.at("ended"))  # the folder may have another name on this machine

    def item(self, index: int) -> SentItem:
        """Return an item."""
        with files.open_raw(self.at("offsets")) as f:
            f.seek(index * OFFSET.size)
            first, end = struct.unpack("<2q", f.read(2 * OFFSET.size))
        with files.open_raw(self.at("items")) as f:
            f.seek(first)
            found: SentItem = cloudpickle.loads(f.read(end - first))
        return found

    @property
    def is_ended(self) -> bool:
        """Whether results are no longer wanted."""
        return is_over(listed(self.url))

    def end(self) -> None:
        """Record that results are no longer wanted."""
        files.write_bytes(self.at("ended"), b"")

    def remove(self) -> None:
        """Delete the folder, unless another process keeps on writing into it; a worker then deletes it later."""
        for _ in range(5):
            with contextlib.suppress(OSError):
                return files.remove(self.url)
            time.sleep(0.01)
        return None

    def results(self) -> set[int]:
        """Return the items that have a result."""
        return {int(name) for name in listed(self.at("results")) if name.isdigit()}

    def answer(self, index: int) -> Answer | None:
        """Return the pickled result and the pickled error of an item, one of which is None; None if it has neither."""
        try:
            found: Answer = cloudpickle.loads(files.read(self.result_of(index)))
        except ReadError:  # it does not exist yet
            return None
        return found

    def busy(self, watch: Watch, patience: float) -> Iterator[int]:
        """Yield the items that live workers are processing."""
        done, found = self.results(), listed(self.at("claims"))
        for index, attempt in last_attempts(found).items():
            if index not in done and watch.silent(self.claim_of(index, attempt), found) < patience:
                yield index


def is_over(found: Iterable[str]) -> bool:
    """Return whether results are no longer wanted, by the names in the folder of a job."""
    return "ended" in found or "stated" not in found


def last_attempts(found: Iterable[str]) -> dict[int, int]:
    """Return the number of the last attempt at each claimed item, by the names of the claims."""
    last: dict[int, int] = {}
    for name in found:
        index, _, attempt = name.partition(".")
        if index.isdigit():
            last[int(index)] = max(last.get(int(index), 0), int(attempt))
    return last
