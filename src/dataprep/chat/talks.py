"""Where a talk ends: another chat, a message without a time, or a silence."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from .. import batch as B
from ..batch import Batch
from ..errors import PlanError

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
MOST_ROWS = 8 * B.MAX_ROWS  # of one talk held open; a longer one is cut, so that memory is bounded


def seconds_of(gap: str, name: str = "gap") -> int:
    """A length of time as people write it, in seconds; name: of the parameter, for the error.

    >>> seconds_of("90s"), seconds_of("1h")
    (90, 3600)
    """
    if not re.fullmatch(r"[1-9]\d*[smhd]", str(gap)):
        msg = f"{name}={gap!r} is no length of time; write 90s, 30m, 1h or 2d"
        raise PlanError(msg)
    return int(gap[:-1]) * UNITS[gap[-1]]


def whole_talks(batches: Iterator[Batch], gap_seconds: int) -> Iterator[tuple[Batch, npt.NDArray[np.int64]]]:
    """The same messages in batches that hold whole talks, each with the rows where its talks begin."""
    held: Batch | None = None
    for batch in batches:
        rows = batch if held is None else B.concat([held, batch])
        starts = np.flatnonzero(begins(rows, gap_seconds))
        last = int(starts[-1]) if len(starts) else 0
        if rows.num_rows - last > MOST_ROWS:
            last = rows.num_rows
        if last:
            yield rows.slice(0, last), starts[starts < last]
        held = rows.slice(last) if last < rows.num_rows else None
    if held is not None:
        yield held, np.flatnonzero(begins(held, gap_seconds))


def begins(batch: Batch, gap_seconds: int) -> npt.NDArray[np.bool_]:
    """Whether a talk begins with each row; clocks are set back, too, so a silence counts in both directions."""
    time = batch.column("time").cast("timestamp[s]").cast("int64")
    chat = batch.column("chat").fill_null("").dictionary_encode().indices.to_numpy()
    known = time.is_valid().to_numpy(zero_copy_only=False)
    seconds = pc.fill_null(time, 0).to_numpy()
    out = np.ones(batch.num_rows, bool)
    together = known[1:] & known[:-1] & (np.abs(np.diff(seconds)) < gap_seconds) & (chat[1:] == chat[:-1])
    out[1:] = ~together
    return out
