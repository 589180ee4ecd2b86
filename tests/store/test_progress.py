"""Progress bars: the results pass through untouched, the pace is that of the whole run."""

import contextlib
import sys
from types import SimpleNamespace

import pytest

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
    assert said.endswith("\x1b[2K")  # the line is empty again


def test_without_bars(monkeypatch, capsys):
    """--quiet shows no bar on a terminal either."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.without_bars():
        assert list(progress.track(iter("ab"), [1, 2], "read")) == ["a", "b"]
    assert capsys.readouterr().err == ""


class ZMQInteractiveShell:
    """The shell of a notebook's kernel, by name, in its third cell."""

    execution_count = 3


class TerminalInteractiveShell:
    """IPython on a terminal."""


@pytest.mark.parametrize("shell", [ZMQInteractiveShell, TerminalInteractiveShell], ids=["notebook", "terminal"])
def test_a_notebook_has_a_bar_in_its_cell(monkeypatch, capsys, shell):
    """The bar states label, amounts and pace, is escaped, and is removed at the end, also after an error."""
    drawn: list[str] = []
    shown: list[str] = []

    def update(data, raw):
        assert (raw, data["text/plain"]) == (True, "")
        drawn.append(data["text/html"])

    def display(data, raw, display_id):
        assert (raw, display_id, data) == (True, True, {"text/html": "", "text/plain": ""})
        shown.append(data)
        return SimpleNamespace(update=update)

    show = SimpleNamespace(display=display)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=shell, display=show))
    monkeypatch.setattr(progress, "SECONDS", 0)
    monkeypatch.setattr(progress, "_lines", {})
    assert list(progress.track(iter("ab"), [Sized(), Sized()], "<read>")) == ["a", "b"]
    if shell is TerminalInteractiveShell:
        assert shown == drawn == []
    else:
        assert drawn[0] == "&lt;read&gt;"
        assert '<progress value="10000000" max="10000000"></progress> 10.0 MB of 10.0 MB' in drawn[2]
        assert drawn[3] == ""
        results = progress.track(iter("ab"), [1, 2], "read")
        next(results)
        results.close()
        assert "1 of 2" in drawn[-2]
        assert drawn[-1] == ""
        assert len(shown) == 1, "one line for all bars of a cell"
        monkeypatch.setattr(shell, "execution_count", 4)
        assert list(progress.track(iter("a"), [1], "next")) == ["a"]
        assert len(shown) == 2
    assert capsys.readouterr().err == ""


def test_a_notebook_draws_twice_a_second(monkeypatch):
    """At most; the first result is drawn at once, and the last may not be."""
    shown, clock = [], iter([100.0, 100.0, 100.4, 100.5, 100.5, 100.9])
    monkeypatch.setattr(progress, "_line_of_cell", lambda: shown.append)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with progress._notebook_bar("read", 4, in_bytes=False) as draw:
        for done in range(1, 5):
            draw(done, "")
    assert [line.partition("</progress> ")[2] for line in shown] == ["", "1 of 4, ", "3 of 4, ", ""]


def test_the_pace_is_measured_from_the_beginning(monkeypatch, capsys):
    """By the clock, after each result; a bar on a terminal is removed at its end."""
    clock, drawn = iter([100.0, 102.0, 106.0]), []

    @contextlib.contextmanager
    def bar(label, total, in_bytes):
        drawn.append((label, total, in_bytes))
        yield lambda done, pace: drawn.append((done, pace))

    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(progress, "_terminal_bar", bar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    items = [SimpleNamespace(n_bytes=3_000_000), SimpleNamespace(n_bytes=6_000_000)]
    assert list(progress.track(iter("ab"), items, "read")) == ["a", "b"]
    paces = [(3_000_000, "1.5 MB/s, 0:00:04 left"), (9_000_000, "1.5 MB/s, 0:00:00 left")]
    assert drawn == [("read", 9_000_000, True), *paces]


def test_pace_is_that_of_the_whole_run():
    """Half of 100 MB in two seconds: 25 MB/s, two seconds left."""
    assert progress._pace(50_000_000, 100_000_000, 2.0, True) == "25.0 MB/s, 0:00:02 left"
    assert progress._pace(3, 12, 6.0, False) == "0.5/s, 0:00:18 left"
