"""The kernels that compare two sets of shingles: how many members they share, and bitmaps that reject most pairs.

Every set of shingles has a bitmap, in which each shingle sets one bit. If a bit is set for one document and not for
another, the other document lacks the shingle that set the bit. Most pairs are therefore rejected without comparing the
sets. This test is conservative: no pair that reaches the threshold is rejected. A bitmap has at least eight bits per
shingle, so that few pairs pass the test although they are not similar enough.

Slow reference for the tests: tests/twins/minhash.py
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import U64, Int

I32: TypeAlias = npt.NDArray[np.int32]
BITS = 8  # of a bitmap per member, at least
REST = -1  # the mark of a part of a set in a SetTable


class MatchRule(NamedTuple):
    """The rule that decides from two documents' contents whether one is dropped.

    Attributes:
        threshold: a document is dropped if its similarity is at least this value; a threshold above 1 means that the
            contents must be equal.
        contained: if False, the similarity is the Jaccard similarity; if True, it is the share of the document's
            shingles that the kept document has.
    """

    threshold: float
    contained: bool


class SetTable(NamedTuple):
    """A hash table of the shingles of one document, used for one document after another.

    Attributes:
        values: the hash in each slot.
        stamps: for each slot, the number of the document that filled it; all slots with another number are free.
        bits: the bitmap of the document's shingles.
    """

    values: U64
    stamps: I32
    bits: U64  # the bitmap of the set


@kernel
def needed(rule: MatchRule, m: Int, n: Int) -> Int:
    """Return how many members a set of `m` members must share with a kept set of `n` members to be dropped by `rule`.

    Returns -1 if no number is enough. Members are shingles, or words of contents that must be equal.
    """
    if rule.threshold > 1.0:
        return m if m == n else -1
    once: Int = 0 if rule.contained else 1  # shared members count once in the union, and twice in both sizes
    sizes = m + n * once
    least = np.int64(np.ceil(rule.threshold * sizes / (1.0 + rule.threshold * once)))
    while least > 0 and (least - 1) / (sizes - (least - 1) * once) >= rule.threshold:  # rounding, either way
        least -= 1
    while least <= min(m, n) and least / (sizes - least * once) < rule.threshold:
        least += 1
    return least if least <= min(m, n) else -1


@kernel
def enter_set(own: U64, table: SetTable, stamp: Int) -> None:
    """Enter the set `own`, uint64 hashes, into the hash table `table`.

    Small sets use only as many slots as they need, so that they fit into the cache.

    - stamp: the document's number, which marks the slots in use.
    """
    mask = table_mask(len(own))
    for h in own:
        slot = h & mask
        while table.stamps[slot] == stamp:
            slot = (slot + np.uint64(1)) & mask
        table.values[slot], table.stamps[slot] = h, stamp


@kernel
def table_mask(n: Int) -> Int:
    """Return p - 1 for the smallest power of two p with p >= 2 n and p >= 4."""
    mask: Int = np.uint64(3)
    while np.int64(mask) + 1 < 2 * n:
        mask = mask * np.uint64(2) + np.uint64(1)
    return mask


@kernel
def shared(theirs: U64, n_own: Int, least: Int, table: SetTable, stamp: Int) -> Int:
    """Return how many hashes of `theirs` are in the set stored in `table`, or -1 if there are fewer than `least`.

    - n_own: the number of members of the set in `table`.
    - stamp: the mark with which `enter_set` entered the set.
    """
    mask = table_mask(n_own)
    common, misses, allowed = 0, 0, len(theirs) - least
    for h in theirs:
        slot = h & mask
        while table.stamps[slot] == stamp and table.values[slot] != h:
            slot = (slot + np.uint64(1)) & mask
        if table.stamps[slot] == stamp:
            common += 1
        else:
            misses += 1
            if misses > allowed:
                return -1
    return common


@kernel(_nrt=False)
def equal_ends(own: U64, theirs: U64) -> tuple[Int, Int]:
    """Return how many members two sets share at the beginning, and how many of the others at the end.

    Near duplicates share most of their members there. Since no set has a member twice, the members between these ends
    occur in the other set between its ends, if at all.
    """
    n, head, tail = min(len(own), len(theirs)), 0, 0
    while head < n and own[head] == theirs[head]:
        head += 1
    while tail < n - head and own[len(own) - 1 - tail] == theirs[len(theirs) - 1 - tail]:
        tail += 1
    return head, tail


@kernel
def n_shared(own: U64, theirs: U64, least: Int, table: SetTable, stamp: Int, entered: Int) -> tuple[Int, Int]:
    """Return how many members two sets share, or -1 if fewer than `least`, and whether `own` is in `table` now.

    - stamp: the mark of `own` in the table.
    - entered: whether it was entered before.
    """
    head, tail = equal_ends(own, theirs)
    rest, others = own[head : len(own) - tail], theirs[head : len(theirs) - tail]
    least -= head + tail
    if entered or 2 * len(rest) > len(own):
        if not entered:
            enter_set(own, table, stamp)
        more, entered = shared(others, len(own), least, table, stamp), True
    else:
        enter_set(rest, table, REST)
        more = shared(others, len(rest), least, table, REST)
        for slot in range(np.int64(table_mask(len(rest))) + 1):
            table.stamps[slot] = 0
    return head + tail + more if more >= max(0, least) else -1, entered


@kernel
def equal(own: U64, theirs: U64) -> Any:
    """Return 1.0 if two contents of the same length are equal word by word (64 bits each), else -1.0."""
    for j in range(len(own)):
        if own[j] != theirs[j]:
            return -1.0
    return 1.0


@kernel
def n_words(members: Int) -> Int:
    """Return the number of 64-bit words in the bitmap of a set of `members` members, a power of two."""
    words = np.int64(1)
    while 64 * words < BITS * members:
        words *= 2
    return words


@kernel
def draw(members: U64, bits: U64) -> None:
    """Write the bitmap of the set `members`, 64-bit hashes, into `bits`: one bit is set per member."""
    mask = np.uint64(len(bits) - 1)
    for w in range(len(bits)):
        bits[w] = np.uint64(0)
    for h in members:
        bits[(h >> np.uint64(6)) & mask] |= np.uint64(1) << (h & np.uint64(63))


@kernel
def lack(bits: U64, others: U64, most: Int) -> bool:
    """Return True if the set with bitmap `others` certainly lacks over `most` members of the set with bitmap `bits`.

    False means that the other set may contain them. If the bitmaps differ in length, the longer one is folded to the
    length of the shorter one.
    """
    words = min(len(bits), len(others))
    missing = np.int64(0)
    for w in range(words):
        mine, theirs = bits[w], others[w]
        for j in range(w + words, len(bits), words):
            mine |= bits[j]
        for j in range(w + words, len(others), words):
            theirs |= others[j]
        missing += np.int64(ones(mine & ~theirs))
        if missing > most:
            return True
    return False


@kernel(inline="always")
def ones(x: Int) -> Int:
    """Return the number of bits set in the 64-bit integer `x`; LLVM compiles this to one instruction."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
