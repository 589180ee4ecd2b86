"""Tables and sizes as a terminal shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table


class Unit(NamedTuple):
    """A unit of sizes: its name ("kB" or "MB"), its number of bytes, and the number of decimals shown."""

    name: str
    n_bytes: float
    digits: int

    def show(self, n: float) -> str:
        """Return a number of bytes in this unit, without its name."""
        return f"{n / self.n_bytes:,.{self.digits}f}"


def table_of(*titles: str, left: int = 1, **options: Any) -> Table:
    """Return a table with these column titles and no rows; all but the first `left` columns are right-aligned.

    Text that does not fit continues in the next line of its cell; nothing is cut.

    - options: further options of rich's Table.
    """
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False, **options)
    for n, title in enumerate(titles):
        table.add_column(title, justify="left" if n < left else "right", overflow="fold")
    return table


def unit_of(most: float) -> Unit:
    """Return the unit for a column of sizes whose largest value is `most` bytes: kB below 1 MB, else MB."""
    return Unit("MB", 1e6, 2) if most >= 1e6 else Unit("kB", 1e3, 1)
