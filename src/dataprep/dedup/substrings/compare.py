"""Find the repeated windows of records with equal hashes: pairs of records first, then a table of windows.

A window is a fixed number of consecutive words or bytes. A record is a run of neighbouring windows with the same
smallest hash. Records with equal hashes form a group, in order of position. All occurrences of a window, including its
first one, are in records of the same group.

A record is tied if the smallest hash occurs twice in a window. `pairs.py` compares the records of a group that has no
tied record. If a record is tied, or a group has too many different records, the group uses a table of the distinct
windows so far (`window_table.py`). If the table becomes full, the group is read twice, each time for half of the
hashes.

Slow reference for the tests: tests/twins/suffix_array.py
"""

from __future__ import annotations

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U64, Int

from .block import RecordBlock, Scratch
from .minimizers import MAX_WINDOWS, WindowRule
from .pairs import by_pairs
from .window_table import FULL, WindowTable, by_table, clear


@kernel
def by_groups(
    block: RecordBlock, rule: WindowRule, order: I64, bounds: I64, table: WindowTable, scratch: Scratch, out: U64
) -> U64:
    """Find the repeated windows in all groups of records; return them, uint64[m, 7] (columns: see `repeats.py`).

    Args:
        block: the records.
        order: the numbers of the records, grouped by hash.
        bounds: group g, of records with equal hashes, is order[bounds[g]:bounds[g + 1]].
        rule: the definition of a window.
        table: a hash table of windows, used for one group after another.
        scratch: work arrays for the windows of one record.
        out: the array for the result; when it is full, a longer array replaces it.
    """
    out, k, left = by_pairs(block, rule, order, bounds, scratch, out)
    stack = np.empty((64, 2), np.int64)
    for g in left:
        rows, slots = order[bounds[g] : bounds[g + 1]], 16
        windows: Int = 0
        for r in rows:
            windows += np.int64(block.info[r]) & MAX_WINDOWS
        while slots < 2 * windows and slots < len(table.at):  # as many as the group needs: they fit into the cache
            slots *= 2
        own = WindowTable(
            table.tag[:slots], table.at[:slots], table.size[:slots], table.last[:slots],
            table.pool, table.run, table.run_id, table.run_offset, table.fill,
        )  # fmt: skip
        deep, stack[0, 0], stack[0, 1] = 1, 0, 1
        while deep:
            deep -= 1
            rest, modulus, before = stack[deep, 0], stack[deep, 1], k
            clear(own)
            out, k = by_table(block, rule, rows, own, (rest, modulus), scratch, out, k)
            if own.fill[FULL]:
                k = before
                stack[deep, 0], stack[deep, 1] = rest, 2 * modulus
                stack[deep + 1, 0], stack[deep + 1, 1] = rest + modulus, 2 * modulus
                deep += 2
    return out[:k].copy()
