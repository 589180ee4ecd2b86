"""HTML that notebooks show: escaped text without control characters, and plain tables; the report uses both, too."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import pyarrow as pa

from dataprep.errors import counted
from dataprep.unicode.valid import printable

MOST_CHARS = 80  # of a name
ROWS, CELL_CHARS = 10, 200  # shown of an Arrow table


def text(value: object, most: int = MOST_CHARS) -> str:
    """Return a value as HTML text, shortened to `most` characters and escaped, with control characters made visible."""
    shown = str(value)
    shown = shown if len(shown) <= most else shown[: most - 1] + "…"
    return escape(printable(shown))


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table as HTML, with the first cell of each row as the row's heading.

    Args:
        heads: the column titles.
        rows: the HTML cells of each row.
        caption: HTML before the rows, such as `<caption>`.
    """
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    body = "".join(
        f'<tr><th scope="row" dir="auto">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return f"<table>{caption}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def block(value: object) -> str:
    """Return the text that `print` shows for a value as an HTML block with fixed line breaks."""
    return "<pre>" + "\n".join(text(line, 1_000) for line in str(value).split("\n")) + "</pre>"


def arrow_html(table: pa.Table) -> str:
    """Return the beginning of an Arrow table as HTML: its first rows, with texts shortened, and the number of rows."""
    columns = [column.to_pylist() for column in table.slice(0, ROWS).columns]  # rows as dicts merge equal names
    rows = ([_cell(value) for value in row] for row in zip(*columns, strict=True))
    count = counted(table.num_rows, "row") + (f", of which the first {ROWS} are shown" if table.num_rows > ROWS else "")
    if not table.num_columns:
        return f"<p>{count}</p>"
    return f"<p>{count}</p>{html_table([text(name) for name in table.column_names], rows)}"


def _cell(value: object) -> str:
    return "" if value is None else text(value, CELL_CHARS)


def shown_in_notebooks(table: pa.Table) -> pa.Table:
    """Register `arrow_html` in IPython, if it runs, for Arrow tables without a formatter; return `table`."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    formatters: Any = getattr(getattr(shell, "display_formatter", None), "formatters", {})
    html = formatters.get("text/html")
    if html is not None and pa.Table not in html:
        html.for_type(pa.Table, arrow_html)
    return table
