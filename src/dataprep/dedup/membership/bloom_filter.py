"""BloomFilter: its size, its bits, the choice of the bits that a key (a 64-bit hash) sets, and its file format.

Size, layout and header are those of `pybloom_live.BloomFilter`: `n_slices` slices of `slice_bits` bits, one after the
other. A key sets one bit in each slice; bit number j of the filter is bit j % 8 of byte j // 8. Only the choice of the
bits differs: pybloom_live uses a SHA-512 of the key, whereas here a 64-bit key is advanced from slice to slice by
multiplication. (Bloom 1970; slices: Almeida, Baquero, Preguiça, Hutchison 2007.)

Slow reference for the tests: tests/twins/bloom.py
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from dataprep.errors import DataprepError, require
from dataprep.store import files
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int

HEADER = "<dQQQQ"  # error rate, slices, bits per slice, capacity, keys: pybloom_live's FILE_FMT
WRITE_BYTES = 64 << 20


@dataclass(frozen=True)
class FilterSize:
    """The dimensions of a Bloom filter.

    Attributes:
        capacity: the number of distinct keys (hashes) that the filter is made for.
        error_rate: the rate of false positives (0 to 1) when the filter holds `capacity` keys.
    """

    capacity: int
    error_rate: float

    def __post_init__(self) -> None:
        in_range = isinstance(self.error_rate, (int, float)) and 1e-9 <= self.error_rate <= 0.5
        require(in_range, f"error_rate={self.error_rate!r} must be from 1e-9 to 0.5, such as 1e-4")
        counts = isinstance(self.capacity, int) and self.capacity >= 1
        wanted = "must be an integer of at least 1; leave it out to have the keys counted"
        require(counts, f"capacity={self.capacity!r} {wanted}")

    @property
    def n_slices(self) -> int:
        """The number of slices of the filter: log2(1 / error_rate), rounded up. A key sets one bit in each slice."""
        return math.ceil(math.log2(1 / self.error_rate))

    @property
    def slice_bits(self) -> int:
        """The number of bits in one slice; about half of the bits are set when `capacity` keys are entered."""
        return math.ceil(self.capacity * abs(math.log(self.error_rate)) / (self.n_slices * math.log(2) ** 2))

    @property
    def n_bytes(self) -> int:
        """The size of all slices together in bytes."""
        return -(-self.n_slices * self.slice_bits // 8)

    def estimated_keys(self, ones: I64) -> int:
        """Return the estimated number of keys in a filter.

        - ones: the number of bits set in each slice, int64[n_slices].
        """
        some = np.minimum(ones, self.slice_bits - 1)
        return round(float(np.mean(-self.slice_bits * np.log1p(-some / self.slice_bits))))

    def expected_errors(self, n_entered: int) -> float:
        """Return the expected number of false positives while `n_entered` new keys are entered."""
        wrong = 0.0
        for _ in range(20):  # those count too, since their bits are equally random; every round halves the error
            at = np.linspace(0, n_entered + wrong, 1001)
            rates = (1 - np.exp(-at / self.slice_bits)) ** self.n_slices
            wrong = float(np.mean((rates[1:] + rates[:-1]) / 2) * at[-1])
        return wrong


class BloomFilter:
    """A Bloom filter in memory: `bits` (uint8, all slices), and `n_keys`, the number of new keys entered.

    Args:
        size: the dimensions of the whole filter.
        first: the first byte in memory, if this is only a piece of the filter.
        n_bytes: the largest size of this piece.
    """

    def __init__(self, size: FilterSize, first: int = 0, n_bytes: int | None = None) -> None:
        self.size, self.n_keys, self.first = size, 0, first
        self.bits = np.zeros(min(size.n_bytes - first, size.n_bytes if n_bytes is None else n_bytes), np.uint8)
        self._threads: Executor | None = None
        self._cuts = [0, len(self.bits)]

    @classmethod
    def load(
        cls, size: FilterSize, urls: Sequence[str] = (), first: int = 0, n_bytes: int | None = None
    ) -> BloomFilter:
        """Return a filter of the size `size` that contains all keys of the saved filters `urls`, which have this size.

        The number of keys in several filters together is estimated, since they may have keys in common. Raises
        DataprepError if a file is not a filter of this size.

        - first, n_bytes: as in the class.
        """
        made = cls(size, first, n_bytes)
        for url in urls:
            with files.open_raw(url) as f:
                head = f.read(struct.calcsize(HEADER))
                f.seek(len(head) + first)
                bits = np.frombuffer(f.read(len(made.bits)), np.uint8)
                end = f.seek(0, 2)
            found = struct.unpack(HEADER, head) if len(head) == struct.calcsize(HEADER) else ()
            if found[:4] != made.head[:4] or end != len(head) + size.n_bytes:
                msg = f"{url} must be a filter of {size}; remove it, or set the capacity and error_rate that it has"
                raise DataprepError(msg)
            made.bits |= bits
            made.n_keys = found[4]
        if len(urls) > 1:
            made.n_keys = size.estimated_keys(made.ones())
        return made

    @property
    def head(self) -> tuple[float, int, int, int, int]:
        """The numbers at the beginning of the file: error rate, slices, bits per slice, capacity, keys."""
        size = self.size
        return (size.error_rate, size.n_slices, size.slice_bits, size.capacity, self.n_keys)

    def enter(self, keys: U64) -> U8:
        """Enter the keys in order; return 1 for each key that seems to have been entered before, else 0, uint8[n].

        Args:
            keys: uint64[n].

        Raises DataprepError if more new keys are entered than the filter's capacity.
        """
        seen = self.set_bits(keys)
        self._add(len(seen) - int(seen.sum(dtype=np.int64)))
        return seen

    def judge(self, keys: U64, units: I64, sizes: I64, threshold: float) -> U8:
        """Return uint8[paragraphs], 1 for each paragraph to cut, else 0; add the keys of the other paragraphs.

        Args:
            keys: uint64, of all paragraphs in order.
            units: the number of paragraphs of each document.
            sizes: the number of keys of each paragraph.
            threshold: a paragraph is cut if earlier documents added at least this share (0 to 1) of its keys; all
                paragraphs of a document are cut if earlier documents added at least this share of all its keys.

        Raises DataprepError if more new keys are added than the filter's capacity.
        """
        cut, new = judge(self.bits, keys, units, sizes, self.size.n_slices, self.size.slice_bits, float(threshold))
        self._add(new)
        return cut

    def divide(self, threads: Executor, n: int) -> None:
        """Let `n` threads set bits from now on, each of them those of some adjacent slices.

        No byte belongs to two threads. The thread of the byte in which a slice ends and the next one begins works on
        both slices.
        """
        ends = (s * self.size.n_slices // n * self.size.slice_bits // 8 - self.first for s in range(1, n))
        self._threads, self._cuts = threads, [0, *(min(max(0, end), len(self.bits)) for end in ends), len(self.bits)]

    def set_bits(self, keys: U64) -> U8:
        """Return 1 for each key whose bits, as far as they are in memory, were all set before, else 0; set them."""

        def own(low: int, high: int) -> U8:
            first = np.uint64(8 * (self.first + low))
            return enter(self.bits[low:high], keys, self.size.n_slices, self.size.slice_bits, first)

        call = map if self._threads is None else self._threads.map
        found: U8 = functools.reduce(np.bitwise_and, call(own, self._cuts[:-1], self._cuts[1:]))
        return found

    def ones(self) -> I64:
        """Return the number of bits set in each slice, int64[n_slices]."""
        return ones(self.bits, self.size.n_slices, self.size.slice_bits, 8 * self.first)

    def _add(self, n_new: int) -> None:
        self.n_keys += n_new
        if self.n_keys > self.size.capacity:
            raise full(self.size.capacity, "more than that many")

    def measured_rate(self) -> float:
        """Return the current rate of false positives (0 to 1): the product over slices of the share of bits set."""
        return float(np.prod(self.ones() / self.size.slice_bits))

    def save(self, url: str) -> None:
        """Write the filter to the file `url`, in the format that `pybloom_live.BloomFilter.fromfile` reads."""
        with files.atomic(url) as f:
            f.write(struct.pack(HEADER, *self.head))
            for some in self.stored():
                f.write(some.data)

    def stored(self) -> Iterator[U8]:
        """Yield the bits, some at a time."""
        for at in range(0, len(self.bits), WRITE_BYTES):
            yield self.bits[at : at + WRITE_BYTES]


def full(capacity: int, found: str) -> DataprepError:
    """Return the error to raise if there are more than `capacity` distinct keys.

    - found: the number of keys, as text.
    """
    return DataprepError(
        f"capacity={capacity:,} must be at least the number of distinct keys ({found}), else the filter has more "
        "errors than error_rate; set a larger capacity, or leave it out to have the keys counted"
    )


@kernel(inline="always")
def _step(x: Int) -> Int:
    """Return a key's number for the next slice."""
    return (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)


@kernel(inline="always")
def _scaled(x: Int, n: Int) -> Int:
    """Scale a number from [0, 2^64) to [0, n): x n / 2^64 without the lowest partial product, for any n."""
    shift, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    top, rest = x >> shift, x & low
    return top * (n >> shift) + (top * (n & low) >> shift) + (rest * (n >> shift) >> shift)


@kernel
def places(key: Int, n_slices: int, slice_bits: Int) -> U64:
    """Return, for one 64-bit key, the index of the bit that it sets in each slice, uint64[n_slices].

    An index counts from the start of its slice; each slice has `slice_bits` bits.
    """
    out = np.empty(n_slices, np.uint64)
    x, n = np.uint64(key), np.uint64(slice_bits)
    for s in range(n_slices):
        x = _step(x)
        out[s] = _scaled(x, n)
    return out


@kernel
def _aim(xs: U64, at: U64, base: Int, n: Int) -> None:
    """Advance the numbers `xs` of keys to the next slice, whose first bit is `base`; write the bit of each to `at`."""
    for i in range(len(xs)):
        xs[i] = _step(xs[i])
        at[i] = base + _scaled(xs[i], n)


# Slice after slice: a slice is a fraction of the filter that a cache may hold, and slices are independent.
# First all positions, then all bits: a loop that only reads waits for more memory accesses at once (2 to 3 times as
# fast as one loop at 12 MB and at 1 GB).


@kernel
def enter(bits: U8, keys: U64, n_slices: int, slice_bits: Int, first: Int) -> U8:
    """Set the bits of each key, in order; return 1 for each key whose bits were all set before, else 0, uint8[keys].

    Args:
        bits: uint8, all slices of the filter, one after the other, or a piece of them; changed in place. A key's bits
            outside the piece are ignored; slices outside it take little time.
        keys: uint64.
        n_slices: the number of slices of the filter.
        slice_bits: the number of bits per slice.
        first: the number of the first bit of `bits`, uint64.
    """
    n, one, three, seven = np.uint64(slice_bits), np.uint8(1), np.uint64(3), np.uint64(7)
    seen, xs, at = np.ones(len(keys), np.uint8), keys.copy(), np.empty(len(keys), np.uint64)
    size = np.uint64(len(bits))
    for s in range(n_slices):
        base = np.uint64(s) * n
        if base + n <= first or base >= first + (size << three):
            for i in range(len(xs)):
                xs[i] = _step(xs[i])
            continue
        _aim(xs, at, base - first, n)
        for i in range(len(at)):
            where = at[i] >> three
            if where < size:  # before the piece, the difference is a very large number
                byte, shift = bits[where], np.uint8(at[i] & seven)
                seen[i] &= byte >> shift
                bits[where] = byte | one << shift
    return seen


@kernel
def contains(bits: U8, keys: U64, n_slices: int, slice_bits: Int) -> U8:
    """Return 1 for each key whose bits are set in all slices, else 0, uint8[keys]; `bits` is not changed.

    Args:
        bits: uint8, all slices of the filter, one after the other.
        keys: uint64.
        n_slices: the number of slices of the filter.
        slice_bits: the number of bits per slice.
    """
    n, three, seven = np.uint64(slice_bits), np.uint64(3), np.uint64(7)
    found, xs, at = np.ones(len(keys), np.uint8), keys.copy(), np.empty(len(keys), np.uint64)
    for s in range(n_slices):
        _aim(xs, at, np.uint64(s) * n, n)
        for i in range(len(at)):
            found[i] &= bits[at[i] >> three] >> np.uint8(at[i] & seven)
    return found


@kernel
def judge(
    bits: U8, keys: U64, units: I64, sizes: I64, n_slices: int, slice_bits: Int, threshold: float
) -> tuple[U8, int]:
    """Return uint8[paragraphs], 1 for each paragraph to cut, else 0, and the number of new keys that were added.

    - keys: uint64, the keys of all paragraphs, in order.
    - units: the number of paragraphs of each document.
    - sizes: the number of keys of each paragraph. A paragraph is cut if earlier documents added at least the share
      `threshold` of the paragraph's keys. All paragraphs of a document are cut if earlier documents added at least this
      share of all the document's keys. Afterwards, the keys of the remaining paragraphs are added to `bits`, so that a
      document is never compared with itself.
    """
    cut = np.zeros(len(sizes), np.uint8)
    p = at = n_new = 0
    for d in range(len(units)):
        n_keys = 0
        for q in range(p, p + units[d]):
            n_keys += sizes[q]
        found = contains(bits, keys[at : at + n_keys], n_slices, slice_bits)
        n_found, j = 0, 0
        for q in range(p, p + units[d]):
            hits = 0
            for _ in range(sizes[q]):
                hits += found[j]
                j += 1
            n_found += hits
            if sizes[q] and hits >= threshold * sizes[q]:
                cut[q] = 1
        whole = n_keys > 0 and n_found >= threshold * n_keys
        for q in range(p, p + units[d]):
            if whole:
                cut[q] = 1
            elif not cut[q]:
                seen = enter(bits, keys[at : at + sizes[q]], n_slices, slice_bits, np.uint64(0))
                n_new += len(seen) - seen.sum()
            at += sizes[q]
        p += units[d]
    return cut, n_new


@kernel
def ones(bits: U8, n_slices: int, slice_bits: int, first: int) -> I64:
    """Return the number of bits set in each slice, int64[n_slices].

    Args:
        bits: uint8, all slices of the filter, one after the other, or a piece of them.
        n_slices: the number of slices of the filter.
        slice_bits: the number of bits per slice.
        first: the number of the first bit of `bits`.
    """
    counts = np.zeros(256, np.int64)
    for b in range(1, 256):
        counts[b] = counts[b >> 1] + (b & 1)
    total = np.zeros(n_slices, np.int64)
    for s in range(n_slices):
        at, stop = max(0, s * slice_bits - first), min(8 * len(bits), (s + 1) * slice_bits - first)
        while at < stop:
            if at & 7 == 0 and at + 8 <= stop:
                total[s] += counts[bits[at >> 3]]
                at += 8
            else:
                total[s] += bits[at >> 3] >> (at & 7) & 1
                at += 1
    return total
