"""MatchUnits: find the units that repeat an earlier one, a partition of hashes at a time.

Twin: tests/twins/exact.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.passes import Pass
from dataprep.core.tables import SPAN
from dataprep.store.spill import Spill, spill_to
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, Int

from .hash_units import RECORD, HashUnits, Records

ROUND_RECORDS = 1 << 22  # units that are compared in one round: 170 MB if all are distinct
TOP = 20


@dataclass(frozen=True)
class MatchUnits(Pass[int]):
    """Read one partition of all parts in order, and spill the units that repeat an earlier one by their segment.

    Receipt: how many distinct units and duplicates there are, and the most frequent units as (count, id, start, size).
    """

    folder = "match"
    noun = "partition"

    firsts: tuple[tuple[int, ...], ...]  # per part, the id of the first document of every segment

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Write one section of SPANs per segment of all parts; a segment of the file per round."""
        n_units = sum(stop - start for start, stop in self._ranges(item)) // RECORD.itemsize
        rounds = -(-n_units // ROUND_RECORDS)
        facts: dict[str, Any] = {"distinct": 0, "duplicates": 0, "top": []}
        with spill_to(url, sum(map(len, self.firsts))) as spill:
            for number in range(rounds):
                seen = _DistinctUnits.of(n_units if rounds == 1 else 3 * ROUND_RECORDS // 2 + 1000)
                spill.write(self._round(item, number, rounds, seen, facts))
                facts["distinct"] += seen.n
                facts["top"] += seen.top()
        facts["top"] = sorted(facts["top"], key=lambda t: (-t[0], *t[1:]))[:TOP]
        return facts

    def _ranges(self, partition: int) -> Iterator[tuple[int, int]]:
        """Yield the byte ranges of a partition in the spill files."""
        for spill in self._spills():
            for segment in range(spill.segments):
                yield spill.where(segment, partition)

    def _spills(self) -> Iterator[Spill]:
        for number in range(len(self.firsts)):
            with Spill(HashUnits.url(self.out, number)) as spill:
                yield spill

    def _round(
        self, partition: int, number: int, rounds: int, seen: _DistinctUnits, facts: dict[str, Any]
    ) -> Iterator[Records]:
        """Yield the repeats of every segment, of the units whose hash belongs to this round."""
        for spill in self._spills():
            for segment in range(spill.segments):
                records = spill.read(segment, partition, dtype=RECORD)
                if rounds > 1:
                    records = records[(records["b"] >> np.uint64(40)) % np.uint64(rounds) == number]
                    records.flags.writeable = False  # or the kernel would be compiled again
                repeats = seen.enter(records)
                facts["duplicates"] += len(repeats)
                yield repeats


@dataclass
class _DistinctUnits:
    """The distinct units so far, in a hash table with open addressing."""

    slots: npt.NDArray[np.int32]
    units: Records
    counts: npt.NDArray[np.int64]
    n: int = 0

    @classmethod
    def of(cls, capacity: int) -> _DistinctUnits:
        """Return an empty table for so many distinct units."""
        slots = np.full(max(8, 1 << (2 * capacity).bit_length()), -1, np.int32)
        return cls(slots, np.empty(capacity, RECORD), np.empty(capacity, np.int64))

    def enter(self, records: Records) -> Records:
        """Enter units in order; return those that were entered before, as SPANs."""
        out = np.empty(len(records), SPAN)
        self.n, found = enter_units(records, self.slots, self.units, self.counts, self.n, out)
        return out[:found].copy()

    def top(self) -> list[tuple[int, ...]]:
        """Return the most frequent units that repeat: (count, id, start, size)."""
        counts = self.counts[: self.n]
        least = max(2, int(np.partition(counts, -TOP)[-TOP])) if self.n > TOP else 2
        often = np.flatnonzero(counts >= least)
        often = often[np.argsort(-counts[often], kind="stable")][:TOP]
        return [(int(counts[i]), *(int(self.units[name][i]) for name in ("id", "start", "size"))) for i in often]


@kernel
def enter_units(records: Records, slots: Any, units: Records, counts: I64, n: int, out: Records) -> tuple[int, int]:
    """Look up every record, and write those entered before to `out`; return how many units and repeats there are."""
    mask, one = np.uint64(len(slots) - 1), np.uint64(1)
    k: Int = 0
    for j in range(len(records)):
        a, b, chars = records[j]["a"], records[j]["b"], records[j]["chars"]
        slot = b & mask
        while slots[slot] >= 0:
            u = slots[slot]
            if units[u]["a"] == a and units[u]["b"] == b and units[u]["chars"] == chars:
                break
            slot = (slot + one) & mask
        u = slots[slot]
        if u < 0:
            slots[slot], units[n], counts[n] = n, records[j], 1
            n += 1
        else:
            counts[u] += 1
            out[k]["id"], out[k]["start"] = records[j]["id"], records[j]["start"]
            out[k]["end"] = np.int64(records[j]["start"]) + np.int64(records[j]["size"])
            out[k]["kept"], out[k]["kept_start"] = units[u]["id"], units[u]["start"]
            k += 1
    return n, k
