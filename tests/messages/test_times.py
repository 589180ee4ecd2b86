"""Times of messages: durations, and one reading of a time column for all stages."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dataprep.errors import PlanError
from dataprep.messages.times import duration, seconds_of


@pytest.mark.parametrize(
    "times",
    [
        pa.array([60, None, -1], pa.timestamp("s")),
        pa.array([60, None, -1], pa.timestamp("s", "Africa/Casablanca")),
        pa.array([60_000, None, -1_000], pa.timestamp("ms")),
        pa.array([60_000_999, None, -1_000_000], pa.timestamp("us", "UTC")),
        pa.array(["1970-01-01T00:01:00", None, "1969-12-31 23:59:59"]),
    ],
)
def test_seconds_of_any_time_column(times) -> None:
    """Units, zones and ISO texts give the same whole seconds; a missing time is 0 and unknown."""
    for column in (times, pa.chunked_array([times])):
        seconds, known = seconds_of(column)
        assert seconds.tolist() == [60, 0, -1]
        assert known.tolist() == [True, False, True]
    assert [len(array) for array in seconds_of(times[:0])] == [0, 0]


def test_a_duration_has_a_unit() -> None:
    """A number and one of s, m, h, d; else the error names the parameter."""
    assert [duration(written) for written in ("90s", "30m", "1h", "2d")] == [90, 1_800, 3_600, 172_800]
    for wrong in ("1 hour", "0s", "h", "", 60):
        with pytest.raises(PlanError, match="reply_gap=.* must be a duration"):
            duration(wrong, "reply_gap")  # type: ignore[arg-type]
