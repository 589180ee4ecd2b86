"""The kernels of verification: the comparison of documents, in order, with the kept documents that share a key.

The index of kept documents is in `kept_index.py`, the comparison of two sets of shingles in `similarity.py`.

Slow reference for the tests: tests/twins/minhash.py
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int

from .kept_index import MOST, KeptIndex, allowance, candidates, enter, slots_of
from .similarity import I32, MatchRule, SetTable, draw, equal, lack, n_shared, n_words, needed

F32: TypeAlias = npt.NDArray[np.float32]
OPEN, KEPT, DROPPED = 0, 1, 2  # states of a document


class Undecided(NamedTuple):
    """Documents that are not yet kept or dropped, in order of preference (best copy first).

    Attributes:
        rows: their rows in the partition.
        words: for each document its keys followed by its contents, as 64-bit words; those of document i are
            words[starts[i]:starts[i] + sizes[i]].
        old: 1 for a document of an older Dataset, which is kept in any case, else 0.
    """

    rows: I64
    starts: I64
    sizes: I64
    words: U64
    old: U8  # 1: of an older Dataset, which is kept in any case


class Outcome(NamedTuple):
    """The decisions on documents, one array entry per document.

    Attributes:
        state: 0 if the document is undecided, 1 if it is kept, 2 if it is dropped.
        kept_by: the row of the kept document that the document duplicates; -1 if there is none.
        similarity: the similarity of the two documents.
        looked: the number of entries in the index of kept documents that were read for the decision.
    """

    state: U8
    kept_by: I64
    similarity: F32
    looked: I32  # entries of indexes that were read for the document


@kernel
def decide_block(block: Undecided, bands: int, rule: MatchRule, index: KeptIndex, outcome: Outcome) -> tuple[int, int]:
    """Write to `outcome`, in order, which documents of `block` to drop; return (pairs compared, entries skipped).

    Each document is compared with the kept documents that share a key with it (entries). Beyond a limit per document,
    further entries are skipped.

    - bands: the number of keys per document.
    - rule: the condition on which a document is dropped. Each kept document is entered into `index`; a document for
      which the index has no space is left undecided.
    """
    compared, skipped = 0, 0
    slots = np.empty(bands, np.int64)
    stamps = np.zeros(len(index.row), np.int64)
    found = np.empty(len(index.row), np.int64)
    table = SetTable(np.empty(64, np.uint64), np.zeros(64, np.int32), np.empty(16, np.uint64))
    for i in range(len(block.rows)):
        row, stamp = block.rows[i], i + 1
        keys = block.words[block.starts[i] : block.starts[i] + bands]
        own = block.words[block.starts[i] + bands : block.starts[i] + block.sizes[i]]
        sets = rule.threshold <= 1.0
        if sets and len(table.values) < 4 * len(own):  # `enter_set` takes a power of two below that
            n = 4 * len(own)
            table = SetTable(np.empty(n, np.uint64), np.zeros(n, np.int32), np.empty(n // 8, np.uint64))
        bits = table.bits[: n_words(len(own)) if sets else 0]
        if sets:
            draw(own, bits)
        n_found = 0
        if not block.old[i]:
            most = allowance(np.int64(outcome.looked[row])) if sets else np.int64(1 << 62)
            total = slots_of(index, keys, most, slots)
            n_found = candidates(index, slots, len(own), rule, most, stamps, stamp, found)
            outcome.looked[row] += min(total, most, MOST)
            skipped += max(0, total - most)
        best, similarity = first_match(index, found[:n_found], own, bits, rule, table, stamp)
        compared += n_found
        if best >= 0:
            outcome.state[row], outcome.kept_by[row] = DROPPED, index.row[best]
            outcome.similarity[row] = similarity
        elif enter(index, keys, own, bits, row):
            outcome.state[row] = KEPT
    return compared, skipped


@kernel
def first_match(
    index: KeptIndex, found: I64, own: U64, bits: U64, rule: MatchRule, table: SetTable, stamp: Int
) -> tuple[Int, Any]:
    """Return the number of the first kept document that is similar enough to a document, or -1, and their similarity.

    - found: the numbers of kept documents to compare with, unsorted; if several documents match, the smallest number is
      returned.
    - own: the contents of the document.
    - bits: the bitmap of these contents.
    - rule: the rule that decides whether two documents are similar enough.
    - table, stamp: as in `n_shared`.
    """
    best, similarity, entered = np.int64(-1), -1.0, False
    for other in found:
        if best >= 0 and other > best:
            continue
        theirs = index.pool[index.ends[other] : index.ends[other + 1]]
        if rule.threshold > 1.0:
            value = equal(own, theirs)
        else:
            least = needed(rule, len(own), len(theirs))
            if lack(bits, index.bits[index.drawn[other] : index.drawn[other + 1]], len(own) - least):
                continue
            common, entered = n_shared(own, theirs, least, table, stamp, entered)
            value = common / (len(own) if rule.contained else len(own) + len(theirs) - common)
        if value >= 0:
            best, similarity = other, value
    return best, similarity
