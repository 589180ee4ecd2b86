"""The merges of a byte-level BPE (Sennrich et al. 2016): count the distinct words, merge the most frequent pair, again.

The texts are read once and only their distinct words are kept, so memory grows with these. A pair knows where it
occurs: a merge visits these places alone, and all merges together take time in proportion to the bytes of the words,
however long a word is. The merges are those of `tokenizers`: of equally frequent pairs the one of the older tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core import batch as B
from dataprep.errors import PlanError
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int

from .alphabet import CHAR_OF
from .cutting import BEGIN, Machine, cut, taken_back

I32 = npt.NDArray[np.int32]
CHUNK = 1 << 20  # bytes of text whose words are counted at a time, when it is more than one document
BLOCK = 1 << 12  # words cut before they are counted
ORDER = sorted(range(256), key=CHAR_OF.__getitem__)  # the bytes, oldest token first
PAIRS = 1 << 17  # room for pairs to begin with: twice as many as two bytes can make
MAX_SYMBOLS = (1 << 31) // 3  # places are 32-bit, and a word's bytes may need three each


class Words:
    """Distinct words and how often each occurs."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.n, self.size = machine, 0, 0
        self.slots = np.zeros(1 << 16, np.int32)  # a word's number, from 1, at its hash's place or after it
        self.hashes, self.counts = np.empty(0, np.uint64), np.empty(0, np.int64)
        self.ends, self.bytes = np.empty(0, np.int64), np.empty(0, np.uint8)

    def add(self, texts: pa.LargeStringArray) -> None:
        """Count the words of some texts."""
        offsets, data = B.buffers(texts)
        first = 0
        while first < len(texts):
            last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + CHUNK, "right")) - 1)
            self._room(int(offsets[last] - offsets[first]))
            found = np.array([self.n, self.size])
            state = (self.slots, self.hashes, self.counts, self.ends, self.bytes)
            _count(offsets[first : last + 1], data, self.machine, *state, found)
            self.n, self.size = found.tolist()
            first = last

    def _room(self, n_bytes: int) -> None:
        """Room for as many words more as some bytes can have at most."""
        if self.n + n_bytes > len(self.counts):
            n = max(2 * self.n, self.n + 2 * n_bytes)
            self.hashes, self.counts, self.ends = (_grown(a, n) for a in (self.hashes, self.counts, self.ends))
        if self.size + n_bytes > len(self.bytes):
            self.bytes = _grown(self.bytes, max(2 * self.size, self.size + 2 * n_bytes))
        if 2 * (self.n + n_bytes) > len(self.slots):
            self.slots = np.zeros(1 << (2 * (self.n + n_bytes)).bit_length(), np.int32)
            _place(self.hashes[: self.n], self.slots)


def _grown(array: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    made = np.empty(n, array.dtype)
    made[: len(array)] = array
    return made


@kernel
def _place(hashes: U64, slots: I32) -> None:
    last = np.uint64(len(slots) - 1)
    for w in range(len(hashes)):
        s = hashes[w] & last
        while slots[s]:
            s = (s + np.uint64(1)) & last
        slots[s] = w + 1


@kernel
def _count(
    offsets: I64, data: U8, machine: Machine, slots: I32, hashes: U64, counts: I64, ends: I64, store: U8, found: I64
) -> None:
    """Count the words of some texts; `found` is the number of distinct words and of their bytes, before and after."""
    cuts = np.empty(BLOCK, np.int64)
    last = np.uint64(len(slots) - 1)
    for d in range(len(offsets) - 1):
        i, start, stop = offsets[d], offsets[d], offsets[d + 1]
        move, k = np.int64(BEGIN), np.int64(0)
        while i < stop:
            i, move, k = cut(data, i, stop, move, machine, cuts, k)
            done = k - 2
            if i == stop:
                k -= taken_back(move, machine)
                cuts[k] = stop
                done = k + 1
            for j in range(done):
                _count_word(data, start, cuts[j], slots, last, hashes, counts, ends, store, found)
                start = cuts[j]
            if i < stop:
                cuts[0], cuts[1], k = cuts[done], cuts[done + 1], np.int64(2)


@kernel
def _count_word(
    data: U8, start: Int, stop: Int, slots: I32, last: Int, hashes: U64, counts: I64, ends: I64, store: U8, found: I64
) -> None:
    h = np.uint64(0xCBF29CE484222325)
    for i in range(start, stop):
        h = (h ^ np.uint64(data[i])) * np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(32)
    s = h & last
    while slots[s]:
        w = slots[s] - 1
        if hashes[w] == h:
            begin = ends[w - 1] if w else 0
            same = ends[w] - begin == stop - start
            j = 0
            while same and j < stop - start:
                same = store[begin + j] == data[start + j]
                j += 1
            if same:
                counts[w] += 1
                return
        s = (s + np.uint64(1)) & last
    w, at = found[0], found[1]
    slots[s], hashes[w], counts[w] = w + 1, h, 1
    for i in range(stop - start):
        store[at + i] = data[start + i]
    ends[w] = found[1] = at + stop - start
    found[0] = w + 1


class Text(NamedTuple):
    """All distinct words one after the other. A token stays at the place of its first byte."""

    token: I32  # the token that begins here; -1 in its middle
    after: I32  # the place of the word's next token, or -1
    before: I32
    weight: I64  # how often each word occurs
    word: I32  # the number of the word at each place


class Pairs(NamedTuple):
    """The pairs of neighbours that are frequent enough, and their places as linked lists."""

    slots: I32  # a pair's number, from 1, at its hash's place or after it
    key: U64  # left << 32 | right
    counts: I64
    head: I32  # the entries of its first and last place
    tail: I32
    heap: I32  # pairs by count as it was when they were put there (`seen`), then by key
    seen: I64


class Fresh(NamedTuple):
    """The pairs that a merge makes, while it goes on: those of a token with the new one, and of the new one with it."""

    counts: I64  # by side (0: the new token comes last, 1: first) and token, int64[2, tokens]
    head: I32
    tail: I32
    touched: I32  # tokens by side, in the order they were met
    n: I64  # how many, by side


def merges_of_words(words: Words, n_merges: int, min_count: int) -> list[tuple[bytes, bytes]]:
    """The merges, in order: at most `n_merges`, each of a pair seen at least `min_count` times (and once)."""
    n, least = words.size, max(1, min_count)
    if n > MAX_SYMBOLS:
        msg = (
            f"the sample's distinct words have {n:,} bytes, over {MAX_SYMBOLS:,}; give a smaller sample= or max_bytes="
        )
        raise PlanError(msg)
    text = _text(words)
    entry, link = np.empty(3 * n + 1, np.int32), np.empty(3 * n + 1, np.int32)
    tokens = 256 + n_merges + 1
    head, tail, touched = (np.zeros((2, tokens), np.int32) for _ in range(3))
    fresh = Fresh(np.zeros((2, tokens), np.int64), head, tail, touched, np.zeros(2, np.int64))
    state = np.array([0, 0, 1, 0, 0])  # pairs; size of the heap; first unused entry; first freed one; merges
    pairs, made = _pairs(PAIRS), np.empty((n_merges, 2), np.int32)
    _first_pairs(text, pairs, entry, link, state, least)
    while _merge(text, pairs, fresh, entry, link, state, made, least):
        pairs = _more(pairs, int(state[0]))
    pieces = [bytes([b]) for b in ORDER]
    for left, right in made[: state[4]].tolist():
        pieces.append(pieces[left] + pieces[right])
    return [(pieces[left], pieces[right]) for left, right in made[: state[4]].tolist()]


def _text(words: Words) -> Text:
    """The distinct words as tokens of a byte each."""
    n, ends = words.size, words.ends[: words.n]
    token = np.argsort(ORDER).astype(np.int32)[words.bytes[:n]]
    after, before = np.arange(1, n + 1, dtype=np.int32), np.arange(-1, n - 1, dtype=np.int32)
    after[ends - 1] = -1
    before[np.append(0, ends[:-1])[: len(ends)]] = -1
    word = np.repeat(np.arange(words.n, dtype=np.int32), np.diff(ends, prepend=0))
    return Text(token, after, before, words.counts[: words.n], word)


def _pairs(n: int) -> Pairs:
    i32, i64 = np.empty(n, np.int32), np.empty(n, np.int64)
    return Pairs(np.zeros(2 * n, np.int32), np.empty(n, np.uint64), i64, i32, i32.copy(), i32.copy(), i64.copy())


def _more(pairs: Pairs, n: int) -> Pairs:
    """Twice the room."""
    slots = np.zeros(2 * len(pairs.slots), np.int32)
    grown = [_grown(a, 2 * len(pairs.key)) for a in pairs[1:]]
    made = Pairs(slots, *grown)
    _place_pairs(made, n)
    return made


@kernel(inline="always")
def _slot(key: Int, slots: I32) -> Int:
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return (h ^ (h >> np.uint64(32))) & np.uint64(len(slots) - 1)


@kernel
def _place_pairs(pairs: Pairs, n: int) -> None:
    for p in range(n):
        _place_pair(pairs, p)


@kernel
def _place_pair(pairs: Pairs, p: Int) -> None:
    s = _slot(pairs.key[p], pairs.slots)
    while pairs.slots[s]:
        s = (s + np.uint64(1)) & np.uint64(len(pairs.slots) - 1)
    pairs.slots[s] = p + 1


@kernel
def _find(pairs: Pairs, left: Int, right: Int) -> Int:
    """The number of a pair, or -1."""
    key = np.uint64(left) << np.uint64(32) | np.uint64(right)
    s = _slot(key, pairs.slots)
    while pairs.slots[s]:
        p = np.int64(pairs.slots[s]) - 1
        if pairs.key[p] == key:
            return p
        s = (s + np.uint64(1)) & np.uint64(len(pairs.slots) - 1)
    return np.int64(-1)


@kernel
def _new_entry(place: Int, entry: I32, link: I32, state: I64) -> Int:
    """An entry of a list for a place, made anew or used again; it is its list's last."""
    e = state[3]
    if e:
        state[3] = link[e]
    else:
        e = state[2]
        state[2] += 1
    entry[e], link[e] = place, 0
    return e


@kernel
def _add_pair(
    pairs: Pairs, left: Int, right: Int, count: Int, head: Int, tail: Int, link: I32, state: I64, least: Int
) -> None:
    """Keep a pair that is frequent enough; what is not can never be, so its list is given back."""
    if count < least:
        link[tail] = state[3]
        state[3] = head
        return
    p = state[0]
    state[0] += 1
    pairs.key[p] = np.uint64(left) << np.uint64(32) | np.uint64(right)
    pairs.counts[p], pairs.head[p], pairs.tail[p] = count, head, tail
    _place_pair(pairs, p)
    _push(pairs, state, p)


@kernel(inline="always")
def _ahead(pairs: Pairs, p: Int, q: Int) -> Int:
    """Whether pair p is merged before pair q."""
    return pairs.seen[p] > pairs.seen[q] or (pairs.seen[p] == pairs.seen[q] and pairs.key[p] < pairs.key[q])


@kernel
def _push(pairs: Pairs, state: I64, p: Int) -> None:
    pairs.seen[p] = pairs.counts[p]
    heap, i = pairs.heap, state[1]
    state[1] += 1
    while i > 0 and _ahead(pairs, p, heap[(i - 1) >> 1]):
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = p


@kernel
def _pop(pairs: Pairs, state: I64) -> Int:
    heap = pairs.heap
    top = np.int64(heap[0])
    state[1] -= 1
    size, p, i = state[1], np.int64(heap[state[1]]), np.int64(0)
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _ahead(pairs, heap[child + 1], heap[child]):
            child += 1
        if not _ahead(pairs, heap[child], p):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = p
    return top


@kernel
def _first_pairs(text: Text, pairs: Pairs, entry: I32, link: I32, state: I64, least: Int) -> None:
    """The pairs of bytes."""
    count = np.zeros(1 << 16, np.int64)
    head, tail = np.zeros(1 << 16, np.int32), np.zeros(1 << 16, np.int32)
    for i in range(len(text.token)):
        if text.after[i] >= 0:
            pair = np.int64(text.token[i]) << 8 | np.int64(text.token[text.after[i]])
            count[pair] += text.weight[text.word[i]]
            e = _new_entry(i, entry, link, state)
            if head[pair]:
                link[tail[pair]] = e
            else:
                head[pair] = e
            tail[pair] = e
    for b in range(1 << 16):
        if head[b]:
            _add_pair(pairs, b >> 8, b & 255, count[b], head[b], tail[b], link, state, least)


@kernel
def _note(fresh: Fresh, side: Int, token: Int, place: Int, weight: Int, entry: I32, link: I32, state: I64) -> None:
    """One more place of a pair that this merge makes."""
    e = _new_entry(place, entry, link, state)
    if fresh.head[side, token]:
        link[fresh.tail[side, token]] = e
    else:
        fresh.head[side, token] = e
        fresh.touched[side, fresh.n[side]] = token
        fresh.n[side] += 1
    fresh.tail[side, token] = e
    fresh.counts[side, token] += weight


@kernel
def _less(pairs: Pairs, left: Int, right: Int, weight: Int) -> None:
    """A pair has lost a place; the place stays in its list, and is seen to be void when it is visited."""
    p = _find(pairs, left, right)
    if p >= 0:
        pairs.counts[p] -= weight


@kernel
def _merge(text: Text, pairs: Pairs, fresh: Fresh, entry: I32, link: I32, state: I64, made: I32, least: Int) -> bool:
    """Merge until there are enough or no pair is frequent; returns whether it stopped for want of room."""
    while state[4] < len(made) and state[1]:
        new = 256 + state[4]
        if state[0] + 2 * new + 2 > len(pairs.key):
            return True
        p = _pop(pairs, state)
        if pairs.counts[p] != pairs.seen[p]:
            if pairs.counts[p] >= least:
                _push(pairs, state, p)
            continue
        left, right = np.int64(pairs.key[p] >> np.uint64(32)), np.int64(pairs.key[p] & np.uint64(0xFFFFFFFF))
        made[state[4], 0], made[state[4], 1] = left, right
        state[4] += 1
        e = np.int64(pairs.head[p])
        while e:
            _merge_at(entry[e], left, right, new, text, pairs, fresh, entry, link, state)
            following = link[e]
            link[e] = state[3]
            state[3] = e
            e = np.int64(following)
        for side in range(2):
            for i in range(fresh.n[side]):
                t = int(fresh.touched[side, i])
                a, b = (t, new) if side == 0 else (new, t)
                _add_pair(
                    pairs, a, b, fresh.counts[side, t], fresh.head[side, t], fresh.tail[side, t], link, state, least
                )
                fresh.counts[side, t], fresh.head[side, t] = 0, 0
            fresh.n[side] = 0
    return False


@kernel
def _merge_at(
    i: Int, left: Int, right: Int, new: Int, text: Text, pairs: Pairs, fresh: Fresh, entry: I32, link: I32, state: I64
) -> None:
    """Merge the pair at place i, unless it is no longer there; its neighbours' pairs become others."""
    if text.token[i] != left:
        return
    j = text.after[i]
    if j < 0 or text.token[j] != right:
        return
    weight = text.weight[text.word[i]]
    back, ahead = text.before[i], text.after[j]
    text.token[i], text.token[j], text.after[i] = new, -1, ahead
    if back >= 0:
        t = text.token[back]
        if t == new:
            fresh.counts[1, left] -= weight  # noted a moment ago, when the token before this one was merged
        else:
            _less(pairs, t, left, weight)
        _note(fresh, 0, t, back, weight, entry, link, state)
    if ahead >= 0:
        t = text.token[ahead]
        text.before[ahead] = i
        _less(pairs, right, t, weight)
        _note(fresh, 1, t, i, weight, entry, link, state)


def texts_of(batch: Sequence[str] | pa.LargeStringArray) -> pa.LargeStringArray:
    """A batch of texts as Arrow has them."""
    return batch if isinstance(batch, pa.Array) else pa.array(batch, pa.large_string())


def count_words(texts: Iterable[Sequence[str] | pa.LargeStringArray], machine: Machine) -> Words:
    """The distinct words of batches of texts."""
    words = Words(machine)
    for batch in texts:
        words.add(texts_of(batch))
    return words
