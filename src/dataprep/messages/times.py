"""Times of messages: durations as users write them, and the column `time` as seconds."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.errors import PlanError

I64 = npt.NDArray[np.int64]
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
MINUTE, HOUR, DAY = UNITS["m"], UNITS["h"], UNITS["d"]


def duration(written: str, parameter: str = "gap") -> int:
    """Return the number of seconds of a duration such as "90s", "30m", "1h" or "2d".

    Raises PlanError if the text is not a duration; the message names `parameter`.

    >>> duration("90s"), duration("1h")
    (90, 3600)
    """
    if not re.fullmatch(r"[1-9]\d*[smhd]", str(written)):
        msg = f"{parameter}={written!r} must be a duration; write 90s, 30m, 1h or 2d"
        raise PlanError(msg)
    return int(written[:-1]) * UNITS[written[-1]]


def seconds_of(times: Any) -> tuple[I64, npt.NDArray[np.bool_]]:
    """Return the times of a column in whole seconds since 1970, int64[n], and whether each time is known, bool[n].

    Args:
        times: timestamps, or ISO 8601 texts.

    Unknown times are 0. Times with a zone are converted to UTC.
    """
    seconds = times.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
    known = np.asarray(pc.is_valid(seconds).to_numpy(zero_copy_only=False), np.bool_)
    return np.asarray(seconds.fill_null(0).to_numpy(), np.int64), known
