"""Progress of an unfinished Dataset: the current pass, its finished parts, its rate, and the time left."""

from __future__ import annotations

from dataclasses import dataclass

from dataprep.core.output.layout import RECEIPTS, Folder
from dataprep.store import files

RECENT = 600.0  # seconds before the newest receipt, from which the rate is taken


@dataclass(frozen=True)
class PassProgress:
    """The current work of a run.

    Attributes:
        step: the name of the step to which the pass belongs; "" if the pass writes the result.
        work: the name of the pass.
        done: the number of its finished tasks.
        of: the number of all its tasks; None if it is not known.
        per_second: the finished tasks per second, in the last ten minutes of the pass; None if it is not known.
        at: the time of the last finished task, in seconds since 1970.
    """

    step: str
    work: str
    done: int
    of: int | None
    per_second: float | None
    at: float

    @property
    def seconds_left(self) -> float | None:
        """The time that the remaining tasks of this pass take at this rate, in seconds; None if it is not known."""
        return None if self.of is None or not self.per_second else (self.of - self.done) / self.per_second


def progress(folder: Folder, parts: int | None) -> PassProgress | None:
    """Return the current work of the run that makes a Dataset; None if no task is finished.

    Args:
        folder: the folder of the Dataset.
        parts: the number of its parts, None if it is not known.
    """
    found = [one for step in folder.steps for one in _of_step(step, parts)]
    found += [one for one in [_pass(folder.unfinished.path(RECEIPTS), "", "write", parts)] if one]
    return max(found, key=lambda one: one.at, default=None)


def _of_step(step: Folder, parts: int | None) -> list[PassProgress]:
    name = files.name_of(step.url)
    saved = [step.input.path(RECEIPTS), step.input.unfinished.path(RECEIPTS)]
    passes = {inside: step.path(inside) for inside in files.listdir(step.url) if files.is_dir(step.path(inside))}
    found = [_pass(url, name, "save input", parts) for url in saved]
    found += [_pass(url, name, inside, parts) for inside, url in passes.items()]
    return [one for one in found if one is not None]


def _pass(url: str, step: str, work: str, parts: int | None) -> PassProgress | None:
    """Return the progress of a pass by its receipts in the folder `url`; None if there are none."""
    found = {name: time for name, time in files.changed(url).items() if name.endswith(".json")}
    times = sorted(found.values())
    if not times:
        return None
    recent = [time for time in times if time > times[-1] - RECENT]
    spent = recent[-1] - recent[0]
    rate = (len(recent) - 1) / spent if spent else None
    by_part = work in ("save input", "write") or all(name.startswith("part-") or "-" not in name for name in found)
    return PassProgress(step, work, len(times), parts if by_part else None, rate, times[-1])
