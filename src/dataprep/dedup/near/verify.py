"""VerifyPartition: compare every candidate, in keep order, with the *kept* documents that share a key with it.

A candidate is dropped for the first of them, in keep order, whose similarity reaches the threshold; else it is kept and
entered into the index. The work is not quadratic in copies, which never enter the index, and there are no chains: a
dropped document never drops another. A partition that exceeds memory is streamed through an index of as many kept
documents as fit; documents left over go through the next index, which gives the same result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.passes import Pass
from dataprep.store.spill import spill_to
from dataprep.unicode.text import I64

from .compare import DROPPED, OPEN, KeptIndex, MatchRule, Outcome, Undecided, decide_block
from .gather import PARTITION_BYTES
from .rows import CandidateRows

VERDICT = np.dtype([("id", "<u8"), ("kept", "<u8"), ("similarity", "<f4"), ("origin", "<u2")])
BUDGET = 2 * PARTITION_BYTES  # of payloads in memory at once, and again of kept documents


@dataclass(frozen=True)
class VerifyPartition(Pass[int]):
    """Decide one partition, and spill its verdicts by group of parts.

    Receipt: how many documents are dropped, and how many pairs were compared.
    """

    folder = "verify"
    noun = "partition"

    index: str  # the step's folder in which the candidates were gathered
    bands: int
    rule: MatchRule
    origins: tuple[int, ...]  # per part, the number of its Dataset; the last is the one that is deduplicated
    n_groups: int

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Write one section of VERDICTs per group of parts."""
        rows = CandidateRows.read(self.index, len(self.origins), item)
        origin = np.array(self.origins, np.uint16)[rows.file]
        outcome, compared = decide(rows, origin, self.bands, self.rule, BUDGET, max(self.origins, default=0))
        dropped = np.flatnonzero(outcome.state == DROPPED)
        verdicts = np.empty(len(dropped), VERDICT)
        verdicts["id"], verdicts["kept"] = rows.ids[dropped], rows.ids[outcome.kept_by[dropped]]
        verdicts["similarity"] = outcome.similarity[dropped]
        verdicts["origin"] = origin[outcome.kept_by[dropped]]
        group = rows.file[dropped].astype(np.int64) * self.n_groups // max(1, len(self.origins))
        with spill_to(url, self.n_groups) as spill:  # rows are in order of their files
            spill.write(np.split(verdicts, np.searchsorted(group, np.arange(1, self.n_groups))))
        return {"dropped": len(dropped), "compared": compared}


def decide(
    rows: CandidateRows, origin: npt.NDArray[np.uint16], bands: int, rule: MatchRule, budget: int, new: int
) -> tuple[Outcome, int]:
    """Return the decision on every row and the number of pairs compared; rows of another origin than `new` are kept."""
    n = len(rows.ids)
    outcome = Outcome(np.zeros(n, np.uint8), np.full(n, -1, np.int64), np.zeros(n, np.float32))
    old = (origin != new).astype(np.uint8)
    pending = np.lexsort((rows.ids, rows.rank, origin))
    compared = 0
    while len(pending):
        index = _empty_index(rows, pending, bands, budget)
        for chosen in _blocks(pending, rows.words, budget):
            starts, words = rows.load(chosen)
            undecided = Undecided(chosen, starts, rows.words[chosen], words, old[chosen])
            compared += decide_block(undecided, bands, rule, index, outcome)
        pending = pending[outcome.state[pending] == OPEN]
    return outcome, compared


def _blocks(pending: npt.NDArray[np.intp], words: I64, budget: int) -> list[npt.NDArray[np.intp]]:
    """Split the rows, in order, so that the payloads of each block fill the budget."""
    total = np.cumsum(words[pending]) * 8
    return [b for b in np.split(pending, np.flatnonzero(np.diff(total // budget)) + 1) if len(b)]


def _empty_index(rows: CandidateRows, pending: npt.NDArray[np.intp], bands: int, budget: int) -> KeptIndex:
    """Return an empty index for as many kept documents as the budget holds, at least one of any size."""
    need, largest = int(rows.words[pending].sum()), int(rows.words[pending].max())
    capacity = max(1, min(len(pending), budget // (32 * bands)))
    slots = 1 << int(2 * capacity * bands - 1).bit_length()
    members = min(need, max(budget // 8, largest))
    return KeptIndex(
        key=np.empty(slots, np.uint64),
        last=np.full(slots, -1, np.int32),
        before=np.empty(capacity * bands, np.int32),
        ends=np.zeros(capacity + 1, np.int64),
        row=np.empty(capacity, np.int64),
        pool=np.empty(members, np.uint64),
        drawn=np.zeros(capacity + 1, np.int64),
        bits=np.empty(members // 4 + capacity, np.uint64),  # a power of two, of 8 to 16 bits per member
        fill=np.zeros(2, np.int64),
    )
