"""What notebooks show: tables of escaped text without control characters."""

from __future__ import annotations

import sys
from collections import Counter
from types import SimpleNamespace

import pyarrow as pa
import pytest

import dataprep as dp
from dataprep.core.model.stats import Amount, StageStats, Stats
from dataprep.shown import notebook
from dataprep.tokens.mix.mix import MixPlan, Share

EVIL = "<b>\x1b[2J\x07\ud800</b>"


def checked(page):
    """The page, which has no tag and no control character of EVIL."""
    assert "<b>\x1b" not in page
    assert "&lt;b&gt;\ufffd[2J" in page
    assert not [c for c in page if ord(c) < 32 and c != "\n"]
    page.encode()
    return page


def test_a_dataset_shows_its_first_documents():
    """The table has five documents at most, with shortened texts."""
    page = checked(dp.read([{"text": EVIL.replace("\ud800", "") + "x" * 500}] * 7)._repr_html_())
    assert page.count("<tr>") == 1 + 5
    assert "x" * 100 in page
    assert "x" * 200 not in page


def test_stats_are_a_table():
    """A row per stage, reason and count; alarms follow; the text has the same rows."""
    stage = StageStats(f"Exact{EVIL}", into={"web": Amount(200, 2_000_000)}, out={"web": Amount(1, 10_000)})
    stage.dropped, stage.counts = {f"copy{EVIL}": {"web": Amount(199, 1_990_000)}}, Counter({"[red]seen": 3})
    stats = Stats([stage])
    page = checked(stats._repr_html_())
    for cell in ("<td>1</td>", "-199", "99.5%", "-1.99", "[red]seen"):
        assert cell in page, cell
    assert page.count("<tr>") == 1 + 3
    assert "<b>alarm:</b> Exact" in page
    assert "[red]seen" in str(stats), "brackets are not markup"
    assert Stats()._repr_html_().count("<tr>") == 1


def test_reports_keep_their_lines():
    """What print shows as columns is a block with fixed line breaks."""
    page = checked(MixPlan((Share(EVIL, 10, 1.0, 10, 1.0, 1.0),))._repr_html_().replace("\ud800", ""))
    assert page.startswith("<pre>source")
    assert page.count("\n") == 1


class Formatters(dict):
    """Those of IPython for HTML, as far as used."""

    def for_type(self, kind, function):
        """Register a function."""
        self[kind] = function


@pytest.mark.parametrize("own", [False, True], ids=["none", "the user's"])
def test_arrow_tables_are_shown_in_notebooks(monkeypatch, own):
    """Tables that dataprep returns let IPython show Arrow tables; a formatter of the user is kept."""
    html = Formatters({pa.Table: str} if own else {})
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": html}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    table = dp.read([{"text": "a"}]).to_arrow()
    assert html == {pa.Table: str if own else notebook.arrow_html}
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert notebook.shown_in_notebooks(table) is table


def test_an_arrow_table_shows_its_first_rows():
    """Names and values are escaped and shortened; nulls are empty; the number of rows is stated."""
    page = checked(notebook.arrow_html(pa.table({f"<{i}>": [EVIL[:-5], None] * 6 for i in range(2)})))
    assert page.startswith("<p>12 rows, of which the first 10 are shown</p>")
    assert page.count("<tr>") == 1 + 10
    assert "<td></td>" in page
    assert "&lt;1&gt;" in page
    assert notebook.arrow_html(pa.table({})) == "<p>0 rows</p>"
    twice = pa.table([[1], [b"\xff"]], names=["a", "a"])
    assert notebook.arrow_html(twice).count("<td>") + notebook.arrow_html(twice).count('scope="row"') == 2


@pytest.mark.parametrize("most", [1, 2, 4, 5, 9])
def test_texts_are_shortened(most):
    """To a number of characters, the mark at the end included."""
    expected = "abcde" if most >= 5 else "abcd"[: most - 1] + "\u2026"
    assert notebook.text("abcde", most) == expected
    assert len(expected) <= max(most, 5)


def test_statistics_show_the_largest_counts(monkeypatch):
    """In the order of their names; what is left out is counted; shares are of what a stage received."""
    monkeypatch.setattr("dataprep.shown.stats_table.COUNTS_SHOWN", 3)
    stage = StageStats("A", into={"x": Amount(8, 4_000), "y": Amount(2, 0)}, out={"x": Amount(5, 1_250)}, cut=1_234)
    stage.dropped = {"rare": {"x": Amount(1, 50)}, "often": {"x": Amount(2, 100), "y": Amount(2, 0)}}
    stage.counts = Counter({"c": 4, "a": 3, "b": 2, "d": 1, "e": 1})
    lines = [" ".join(line.split()) for line in str(Stats([stage, StageStats("B")])).split("\n")]
    assert lines == [
        "stage documents of input kB bytes cut", "A 5 50.0% 1.2 1,234", "- often -4 40.0% -0.1", "- rare -1 10.0% -0.1",
        ". a 3", ". b 2", ". c 4", ". and 2 smaller counts", "B 0 0.0 0",
    ]  # fmt: skip
    stage.counts = Counter({"c": 4, "a": 3, "b": 2})
    assert "smaller" not in str(Stats([stage]))
    big = Stats([stage, StageStats("B", into={"x": Amount(1, 2_000_000)})])
    assert [" ".join(line.split()) for line in str(big).split("\n")][:2] == [
        "stage documents of input MB bytes cut", "A 5 50.0% 0.00 1,234",
    ]  # fmt: skip
    stage.counts = Counter("aabcde")
    page = Stats([stage])._repr_html_()
    assert "&emsp;- often" in page
    assert "and 2 smaller counts" in page
    assert {row.count("</td>") + row.count("</th>") for row in page.split("</tr>")[:-1]} == {5}


def test_a_block_has_lines_of_a_thousand_characters():
    """At most, each."""
    assert notebook.block("x" * 1_000 + "\n" + "y" * 1_001) == f"<pre>{'x' * 1_000}\n{'y' * 999}\u2026</pre>"


def test_the_terminal_dims_what_belongs_to_a_stage():
    """Reasons and counts; two spaces are an indent only in front; what a stage returned may be the largest."""
    stage = StageStats("A", into={"x": Amount(2, 9)}, out={"x": Amount(1, 2_000_000)})
    stage.dropped, stage.counts = {"a  reason": {"x": Amount(1, 4)}}, Counter({"seen": 2})
    table = Stats([stage]).__rich__().renderables[0]
    assert [row.style for row in table.rows] == [None, "dim", "dim"]
    assert [column.header for column in table.columns] == ["stage", "documents", "of input", "MB", "bytes cut"]
    assert "&emsp;- a  reason" in Stats([stage])._repr_html_()
    assert str(Stats()).split() == ["stage", "documents", "of", "input", "kB", "bytes", "cut"]
