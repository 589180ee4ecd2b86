"""Twin of `train/data/packing.py`: best-fit decreasing, one by one."""

from __future__ import annotations


def best_fit_rows(sizes: list[int], room: int) -> list[list[int]]:
    """Best-fit decreasing, one by one: each item, largest first, into the fullest row that still holds it."""
    rows: list[list[int]] = []
    for size in sorted(sizes, reverse=True):
        fitting = [row for row in rows if sum(row) + size <= room]
        if not fitting:
            fitting = [[]]
            rows.append(fitting[0])
        max(fitting, key=sum).append(size)
    return rows
