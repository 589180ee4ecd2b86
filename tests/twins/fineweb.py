"""Twin of `filters/fineweb/`."""

from __future__ import annotations

from twins.gopher import lines_of, repeated_units, share


def fineweb(text: str, rule) -> dict[str, float]:
    """The scores of FineWeb for one text."""
    lines, chars = lines_of(text), sum(map(len, text.split()))
    breaks = len((text + "x").splitlines()) - 1
    return {
        "fineweb_end_mark_lines": share(sum(line.endswith(rule.end_marks) for line in lines), len(lines)),
        "fineweb_short_lines": share(sum(len(line) <= rule.short_line_chars for line in lines), len(lines)),
        "fineweb_dup_line_chars": share(repeated_units(lines)[1], chars),
        "fineweb_breaks": share(breaks, len(text.split())),
    }
