"""Progress bars: the results pass through untouched, the pace is that of the whole run."""

import sys

from dataprep.store import progress


class Sized:
    """An item that knows its stored bytes."""

    n_bytes = 5_000_000


def test_results_pass_through_a_bar(monkeypatch, capsys):
    """On a terminal there is a bar with amount, rate and time left; elsewhere nothing is printed."""
    assert list(progress.track(iter("ab"), [1, 2], "quiet")) == ["a", "b"]
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    assert list(progress.track(iter("ab"), [Sized(), Sized()], "read")) == ["a", "b"]
    said = capsys.readouterr().err
    assert "read" in said
    assert "10.0/10.0 MB" in said
    assert "left" in said


def test_pace_is_that_of_the_whole_run():
    """Half of 100 MB in two seconds: 25 MB/s, two seconds left."""
    assert progress._pace(50_000_000, 100_000_000, 2.0, True) == "25.0 MB/s, 0:00:02 left"
    assert progress._pace(3, 12, 6.0, False) == "0.5/s, 0:00:18 left"
