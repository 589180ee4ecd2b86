"""Tables and sizes on a terminal."""

from __future__ import annotations

import pytest
from rich.console import Console

from dataprep.shown.terminal import table_of, unit_of


@pytest.mark.parametrize(
    ("most", "n", "shown"), [(0, 0, "0.0 kB"), (999_999, 1_234, "1.2 kB"), (1e6, 5e12, "5,000,000.00 MB")]
)
def test_sizes_below_a_megabyte_are_kilobytes(most, n, shown):
    """The largest size of a column decides for all."""
    unit = unit_of(most)
    assert f"{unit.show(n)} {unit.name}" == shown


def test_what_does_not_fit_is_continued():
    """The first columns are at the left, the others at the right, and no letter is lost."""
    table = table_of("name", "n")
    table.add_row("abcdefghijklmnop", "1")
    console = Console(width=12)
    with console.capture() as shown:
        console.print(table)
    lines = shown.get().split("\n")
    assert "".join(line[:10].strip() for line in lines[1:]) == "abcdefghijklmnop"
    assert [column.justify for column in table.columns] == ["left", "right"]
    assert table.header_style == "bold"
