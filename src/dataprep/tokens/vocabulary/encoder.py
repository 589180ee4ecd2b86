"""Encode texts at memory speed: divide them into words, look the words up in a cache, and merge the others.

The cache is an open-addressing table of 32-byte entries. A word is found by its hash and compared by its bytes: up to
16 bytes are in the entry, whereas the bytes of longer words are in a side store. Words over LONGEST bytes are merged
each time. When the table or the side store is full, the cache is emptied; ids do not depend on it. The entries of a
thousand words are requested from memory before the first one is compared.

Slow reference for the tests: tests/twins/bpe.py
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.unicode.byte_masks import WIDTH as MASKED
from dataprep.unicode.byte_masks import bytes_equal, n_bits
from dataprep.unicode.hashes import eight_bytes
from dataprep.unicode.kernel import kernel
from dataprep.unicode.prefetch import prefetch
from dataprep.unicode.text import I64, U8, U32, U64, Int

from .apply_merges import MergeRules, merge_word
from .cutting import Machine, cut_words
from .lanes import LANES

Tokens = npt.NDArray[Any]

SLOTS = 1 << 20  # of 32 bytes, three quarters of them used: 32 MB for 786,000 words
SIDE_IDS, SIDE_BYTES = 3 << 20, 12 << 20  # ids (12 MB) of words with more than three, and bytes of words of over 16
LONGEST = 255  # bytes of a word that is kept
KEPT_ROOM = 1 << 24  # ids: the buffer of a batch is reused, that of a single huge document is freed
EIGHT = 8  # ids that are copied at once, which saves branches; arrays have as many spare items at their end
BLOCK = 1 << 10  # words cut before they are looked up, while their entries are loaded
SLOT = 3  # numbers of a Slot
# An entry: two numbers that are the word's first 16 bytes (the hash, for a longer one); then n_bytes | n_ids << 8 |
# aside << 31 | first id << 32; then second id | third id << 32, or where aside the ids are | where the bytes << 32.
WIDTH, ASIDE = 4, 1 << 31
MASKS = np.array([(1 << 8 * n) - 1 for n in range(8)] + [(1 << 64) - 1] * 17, np.uint64)  # by bytes up to eight


class WordCache(NamedTuple):
    """Cache of the words that were encoded before, with their ids.

    Attributes:
        table: hash table, four numbers per word.
        ids: the ids of long words.
        bytes: the bytes of long words.
        lanes: buffer for `merge_word`.
        used: counts of entries, of `ids`, of `bytes`, and of times the cache was emptied.
    """

    table: U64  # entries of four numbers, aligned so that each is in one cache line
    ids: U32
    bytes: U8
    lanes: U32  # for `merge_word`
    used: I64  # number of entries, of `ids`, of `bytes`, and of times the cache was emptied


class Slot(NamedTuple):
    """An entry of the word cache, found or free: its index in the table, and two numbers that identify its word.

    The numbers `a` and `b` are the word's bytes, or two hashes of them if it is long.
    """

    entry: U64  # index of its first number in `WordCache.table`
    a: U64
    b: U64


class EncoderWork(NamedTuple):
    """The tables and buffers that compiled code needs to encode words.

    Attributes:
        machine: divides text into words.
        rules: the merges.
        masks: masks[n] selects the first n of eight bytes.
        cache: words encoded before.
        out: uint32, the buffer for ids.
    """

    machine: Machine
    rules: MergeRules
    masks: U64
    cache: WordCache
    out: U32


def empty_cache(slots: int = SLOTS, ids: int = SIDE_IDS, n_bytes: int = SIDE_BYTES) -> WordCache:
    """Return an empty word cache with `slots` entries (a power of two), and room for ids and bytes of long words.

    Memory is used as words are added.
    """
    table, lanes, used = _zeros(slots * WIDTH, np.uint64), _zeros(2 * LANES, np.uint32), np.zeros(4, np.int64)
    return WordCache(table, np.empty(ids + EIGHT, np.uint32), np.empty(n_bytes, np.uint8), lanes, used)


def _zeros(n: int, dtype: type[Any]) -> npt.NDArray[Any]:
    """Return `n` zeros, of which the first is at the beginning of a cache line."""
    array = np.zeros(n + 64, dtype)
    start = -array.ctypes.data % 64 // array.itemsize
    return array[start : start + n]


class Encoder:
    """Encodes texts with a vocabulary: divides them into words, and looks each word up in a cache or merges it."""

    def __init__(self, machine: Machine, rules: MergeRules, eot: int, cache: WordCache | None = None) -> None:
        self.machine, self.rules, self.eot = machine, rules, eot
        self.cache = cache or empty_cache()
        self._out = np.empty(0, np.uint32)
        self._lock = threading.Lock()  # the kernel runs without the GIL, and there is one cache

    def encode(self, starts: I64, stops: I64, data: U8, dtype: npt.DTypeLike) -> tuple[Tokens, U64]:
        """Encode n texts; return (ids of all, each text followed by the separator; index after each text, uint64[n]).

        Text k is data[starts[k]:stops[k]], UTF-8.

        - dtype: type of the ids.
        """
        starts, stops = starts.view(), stops.view()
        starts.flags.writeable = stops.flags.writeable = False  # a kernel is compiled again for arrays it may write to
        ends = np.empty(len(starts), np.uint64)
        room = int((stops - starts).sum()) + len(ends) + EIGHT
        with self._lock:
            out = self._out if room <= len(self._out) else np.empty(room, np.uint32)
            if room <= KEPT_ROOM:
                self._out = out
            work = EncoderWork(self.machine, self.rules, MASKS, self.cache, out)
            n = _encode(starts, stops, data, work, ends, self.eot)
            return out[:n].astype(dtype), ends


@kernel
def key_of_few(data: U8, i: Int, stop: Int) -> Int:
    """Return up to eight bytes as one number, reading a byte at a time."""
    x = np.uint64(0)
    for j in range(min(8, stop - i)):
        x |= np.uint64(data[i + j]) << np.uint64(8 * j)
    return x


@kernel
def key_of_long(data: U8, i: Int, stop: Int) -> tuple[Int, Int]:
    """Return two hashes of a word of over 16 bytes; the last eight bytes may be read twice."""
    last = stop - np.uint64(8)
    a, b = stop - i, np.uint64(0)
    while i < stop:
        x = eight_bytes(data, min(i, last))
        a = (a ^ x) * np.uint64(0x9E3779B97F4A7C15)
        a ^= a >> np.uint64(29)
        b = (b + x) * np.uint64(0xC4CEB9FE1A85EC53)
        b ^= b >> np.uint64(31)
        i += np.uint64(8)
    return a, b


@kernel(inline="always")
def first_entry(a: Int, b: Int, n: Int, table: U64) -> Int:
    """Return the index of the first entry, of WIDTH numbers, to search for the key (a, b) of a word of `n` bytes."""
    h = a * np.uint64(0x9E3779B97F4A7C15) + b * np.uint64(0xC2B2AE3D27D4EB4F) + n
    h = (h ^ (h >> np.uint64(32))) * np.uint64(0xFF51AFD7ED558CCD)
    return ((h >> np.uint64(32)) & np.uint64(len(table) // WIDTH - 1)) * np.uint64(WIDTH)


@kernel
def same_bytes(data: U8, i: Int, n: Int, kept: U8, at: Int) -> bool:
    """Return whether a word of `n` > 16 bytes equals the word at kept[at:]."""
    j, last = np.uint64(0), n - np.uint64(8)
    while j < n:
        if eight_bytes(data, i + min(j, last)) != eight_bytes(kept, at + min(j, last)):
            return False
        j += np.uint64(8)
    return True


@kernel
def _add(data: U8, start: Int, stop: Int, work: EncoderWork, slot: Slot, o: Int) -> Int:
    """Merge a word that is not in the cache, write its ids to out[o:], and cache it; return the end of the ids."""
    cache, out = work.cache, work.out
    table, used = cache.table, cache.used
    n = stop - start
    end = merge_word(data, start, stop, work.rules, cache.lanes, out, o)
    count = end - o
    if n > LONGEST:
        return end
    n_aside, n_bytes = (count, n) if count > 3 or n > 16 else (0, 0)
    full = 4 * (used[0] + 1) * WIDTH > 3 * len(table)
    if full or used[1] + n_aside + EIGHT > len(cache.ids) or used[2] + n_bytes > len(cache.bytes):
        for j in range(len(table)):
            table[j] = 0
        used[0] = used[1] = used[2] = 0
        used[3] += 1
        return end  # this word is kept when it comes again
    head = np.uint64(n) | np.uint64(count) << np.uint64(8) | np.uint64(out[o]) << np.uint64(32)
    tail = np.uint64(out[o + 1]) | np.uint64(out[o + 2]) << np.uint64(32)
    if n_aside:
        head |= np.uint64(ASIDE)
        tail = np.uint64(used[1]) | np.uint64(used[2]) << np.uint64(32)
        for j in range(n_aside):
            cache.ids[used[1] + j] = out[o + j]
        for j in range(n_bytes):
            cache.bytes[used[2] + j] = data[start + j]
        used[1] += n_aside
        used[2] += n_bytes
    e = slot.entry
    table[e], table[e + np.uint64(1)], table[e + np.uint64(2)], table[e + np.uint64(3)] = slot.a, slot.b, head, tail
    used[0] += 1
    return end


@kernel(_nrt=False)
def _find_keys(data: U8, start: Int, word_ends: I64, n_words: Int, work: EncoderWork, slots: U64) -> None:
    """Write the key of each of consecutive words, and where its search begins, to `slots`; begin to load the entries.

    - slots: the fields of `Slot` for each word.
    """
    masks, table = work.masks, work.cache.table
    last = np.uint64(max(0, len(data) - 16))
    eight, i, at = np.uint64(8), np.uint64(start), np.uint64(0)
    for w in range(n_words):
        stop = np.uint64(word_ends[w])
        n = stop - i
        if n > np.uint64(16):
            a, b = key_of_long(data, i, stop)
        elif i < last:
            a = eight_bytes(data, i) & masks[n]
            b = eight_bytes(data, i + eight) & masks[max(n, eight) - eight]
        else:
            a, b = key_of_few(data, np.int64(i), np.int64(stop)), key_of_few(data, np.int64(i + eight), np.int64(stop))
        e = first_entry(a, b, n, table)
        prefetch(table, e)
        slots[at], slots[at + np.uint64(1)], slots[at + np.uint64(2)] = e, a, b
        i, at = stop, at + np.uint64(SLOT)


@kernel
def _look_up(data: U8, start: Int, word_ends: I64, n_words: Int, work: EncoderWork, slots: U64, o: Int) -> Int:
    """Write the ids of consecutive words to out[o:]; return the end of the ids.

    - slots: the result of `_find_keys`.
    """
    cache, out = work.cache, work.out
    table = cache.table
    beyond = np.uint64(len(table) - 1)
    one, two, eight, half = np.uint64(1), np.uint64(2), np.uint64(8), np.uint64(32)
    i, o, at = np.uint64(start), np.uint64(o), np.uint64(0)
    for w in range(n_words):
        stop = np.uint64(word_ends[w])
        n = stop - i
        e, a, b = slots[at], slots[at + one], slots[at + two]
        at += np.uint64(SLOT)
        head = table[e + two]
        while head and not (
            table[e] == a
            and table[e + one] == b
            and (head & np.uint64(0xFF)) == n
            and (n <= np.uint64(16) or same_bytes(data, i, n, cache.bytes, table[e + np.uint64(3)] >> half))
        ):
            e = (e + np.uint64(WIDTH)) & beyond
            head = table[e + two]
        if not head:
            o = np.uint64(_add(data, np.int64(i), np.int64(stop), work, Slot(e, a, b), np.int64(o)))
        elif head & np.uint64(ASIDE):
            place, count = table[e + np.uint64(3)] & np.uint64(0xFFFFFFFF), (head >> eight) & np.uint64(0xFFFF)
            for j in range(0, np.int64(count), EIGHT):
                for u in range(EIGHT):
                    out[o + np.uint64(j + u)] = cache.ids[place + np.uint64(j + u)]
            o += count
        else:
            tail = table[e + np.uint64(3)]
            out[o] = np.uint32(head >> half)
            out[o + one] = np.uint32(tail & np.uint64(0xFFFFFFFF))
            out[o + two] = np.uint32(tail >> half)
            o += (head >> eight) & np.uint64(0xFF)
        i = stop
    return np.int64(o)


@kernel
def _encode(starts: I64, stops: I64, data: U8, work: EncoderWork, doc_ends: U64, eot: Int) -> Int:
    """Write the ids of every text to `out`, the separator after each; return the number of ids."""
    machine, out = work.machine, work.out
    ends, slots = np.empty(BLOCK, np.int64), np.empty(BLOCK * SLOT, np.uint64)
    o = np.int64(0)
    for d in range(len(starts)):
        start, stop = starts[d], stops[d]
        while start < stop:
            i, n = cut_words(data, start, stop, machine, ends)
            _find_keys(data, start, ends, n, work, slots)
            o = _look_up(data, start, ends, n, work, slots, o)
            start = i
        out[o] = eot
        o += 1
        doc_ends[d] = o
    return o


@kernel
def size_in_bytes(tokens: Tokens, sizes: npt.NDArray[np.int32]) -> int:
    """Return how many bytes of text the ids `tokens` represent.

    - sizes: int32[vocab_size], bytes per id.
    """
    total = 0
    for t in tokens:
        total += sizes[t]
    return total


@kernel
def count_byte_pairs(data: U8, first: Int, second: Int) -> Int:
    """Return how often the byte `first` is followed by the byte `second` in `data`."""
    n, i, one = np.uint64(0), np.uint64(0), np.uint64(1)
    while i + np.uint64(MASKED) < np.uint64(len(data)):
        n += n_bits(bytes_equal(data, i, first) & bytes_equal(data, i + one, second))
        i += np.uint64(MASKED)
    for j in range(np.int64(i), len(data) - 1):
        n += np.uint64((data[j] == first) & (data[j + 1] == second))
    return np.int64(n)


@kernel
def find_byte_pairs(data: U8, first: Int, second: Int, n: Int) -> I64:
    """Return the offsets at which the byte `first` is followed by the byte `second`, int64[n].

    - n: their number, as `count_byte_pairs` counted.
    """
    places, k, i = np.empty(n, np.int64), 0, 0
    while k < n:
        places[k] = i
        k += (data[i] == first) & (data[i + 1] == second)
        i += 1
    return places
