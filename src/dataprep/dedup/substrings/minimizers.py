r"""Windows and their records: the kernels that hash the items of texts and compute sliding minima of the hashes.

An item is a byte, or a word of the raw text (see `words.py`) with the gap that follows it. A window is a run of a fixed
number of items; the gap after its last word is not included. A gram is a shorter run of items. Every window is
represented by the smallest hash of its grams (a minimiser: Roberts et al. 2004), so equal windows always have equal
hashes. Neighbouring windows with the same smallest hash form one record; on average there is one record per half
window.

A record consists of a hash and the integer `info`, which packs four numbers. These are the record's offset in the text
of its input part (39 bits); whether the record is tied, which means that two of its grams may have the smallest hash (1
bit); the number of items from the start of its last window to the gram with this hash (10 bits); and the number of its
windows (14 bits).

Slow reference for the tests: tests/twins/suffix_array.py
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U32, U64, Int
from dataprep.unicode.words import word_table

from .word_spans import FACTOR, WordSpans, cut_words, empty_words

CHUNK = 4096  # windows at a time, so that their hashes fit into the cache
MAX_WINDOWS = (1 << 14) - 1  # of a record
MAX_SLIDE = 1 << 10  # grams in a window
MAX_PART = 1 << 39  # bytes of text in one part
_BYTES = np.random.RandomState(1_914).randint(0, 1 << 63, 256, np.uint64) * np.uint64(2) + np.uint64(1)


class WindowRule(NamedTuple):
    """The definition of a window of text: `width` words if `words` is True, else `width` bytes.

    Attributes:
        gram: the number of words or bytes in a gram, which is a run shorter than a window.
        table: the classes of code points. The other arrays have an entry per byte value, for rolling hashes.
        values: the term of a byte in the hash.
        leaving: the term to subtract when the byte leaves a gram.
        leaving_window: the term to subtract when the byte leaves a window.
    """

    width: int
    gram: int
    words: bool
    table: U32  # by which words are split
    values: U64  # of bytes
    leaving: U64  # the term of each byte value that leaves a gram
    leaving_window: U64  # or a window


def rule_of(width: int, *, word_split: str) -> WindowRule:
    """Return the definition of windows of `width` words, or of `width` bytes if `word_split` is "".

    - word_split: the rule for splitting words.

    A gram is a run of words or bytes shorter than a window. Short grams produce fewer records, whereas long grams are
    rarely shared by texts that share no window.
    """
    gram = max(1, width // 6 if word_split else min(width // 4 + 4, 32), width - MAX_SLIDE + 1)
    gram, table = min(gram, width), word_table(word_split or "unicode")
    return WindowRule(width, gram, bool(word_split), table, _BYTES, _leaving(gram), _leaving(width))


def _leaving(size: int) -> U64:
    """Return the term of each byte value in a polynomial hash, `size` bytes after the byte, uint64[256]."""
    return _BYTES * np.uint64(pow(FACTOR, size, 1 << 64))


@kernel
def byte_grams(data: U8, i: Int, n: Int, k: int, values: U64, leaving: U64, out: U64) -> None:
    """Write the rolling hashes of the `n` runs of `k` bytes that start at bytes i, i + 1, ... of `data` to `out`.

    - values, leaving: arrays with an entry per byte value: the term of the byte in the hash, and the term to subtract
      when the byte leaves the run.
    """
    factor, h, j = np.uint64(FACTOR), np.uint64(0), 1
    for p in range(i, i + k):
        h = h * factor + values[data[p]]
    out[0] = h
    old, new = data[i : i + n], data[i + k : i + k + n]
    while j + 1 < n:  # two at a time, so that multiplications wait for each other half as often
        one, two = values[new[j - 1]] - leaving[old[j - 1]], values[new[j]] - leaving[old[j]]
        out[j] = h * factor + one
        h = h * (factor * factor) + (one * factor + two)
        out[j + 1] = h
        j += 2
    if j < n:
        out[j] = h * factor + (values[new[j - 1]] - leaving[old[j - 1]])


@kernel
def word_grams(words: WordSpans, n: Int, k: int, out: U64) -> None:
    """Write the hashes of the `n` runs of `k` words that start at words 0, 1, ... of `words` to `out`.

    The gaps between the words of a run are hashed too, but not the gap after its last word.
    """
    factor, h, last = np.uint64(FACTOR), np.uint64(0), np.uint64(1)
    for j in range(k - 1):
        h = h * factor + words.gap[j]
        last = last * factor
    for j in range(n):
        if j:
            h = h * factor + words.gap[j + k - 2] - words.gap[j - 1] * last if k > 1 else np.uint64(0)
        out[j] = h * factor + words.word[j + k - 1]


@kernel
def records(offsets: I64, data: U8, base: int, rule: WindowRule) -> tuple[U64, U64]:
    """Return the records of the windows of all texts: hashes, uint64[m], and `info`, uint64[m] (see the module).

    A record is a run of neighbouring windows whose smallest hash is the same.

    - offsets: int64[n + 1], of the texts in the UTF-8 bytes `data`.
    - base: the number of bytes of the input part before these texts.
    """
    slide = rule.width - rule.gram + 1
    grams = np.empty(CHUNK + slide, np.uint64)
    words = empty_words(CHUNK + rule.width if rule.words else 1)
    hashes, info = np.empty(1 << 16, np.uint64), np.empty(1 << 16, np.uint64)
    state, low = np.zeros(5, np.int64), np.zeros(1, np.uint64)
    n_out: Int = np.int64(0)
    for d in range(len(offsets) - 1):
        at, stop, first = offsets[d], offsets[d + 1], np.int64(0)
        shift = base - offsets[0]
        while True:
            items = cut_words(data, at, stop, rule.table, words) if rule.words else min(stop - at, CHUNK + rule.width)
            n = min(items - rule.width + 1, CHUNK)
            if n <= 0:
                break
            n_grams = n + slide - 1
            if rule.words:
                word_grams(words, n_grams, rule.gram, grams)
            else:
                byte_grams(data, at, n_grams, rule.gram, rule.values, rule.leaving, grams)
            if n_out + n + 1 > len(hashes):
                hashes, info = twice(hashes), twice(info)
            chunk = WindowChunk(n, first, at, shift)
            n_out = minima(grams, chunk, slide, rule.words, words.start, WindowRecords(state, low, hashes, info), n_out)
            first += n
            if items < n + rule.width:
                break
            at = words.start[n] if rule.words else at + n
        if first:
            close(state, low, first - 1, hashes, info, n_out)
            n_out += 1
    return hashes[:n_out].copy(), info[:n_out].copy()


@kernel
def twice(values: U64) -> U64:
    """Return an array of twice the length that begins with `values`; the rest is uninitialised."""
    out = np.empty(2 * len(values), np.uint64)
    for j in range(len(values)):
        out[j] = values[j]
    return out


FIRST, AT, MINIMUM, TIE = 0, 1, 2, 3  # of the open record: window number, byte, item of the minimum, whether tied


class WindowChunk(NamedTuple):
    """Neighbouring windows of one text that are processed together.

    Attributes:
        n: the number of windows.
        first: the number of the first window in its text.
        at: the offset of the first window in the data, in bytes.
        shift: the number to add to an offset in the data to get the offset in the text of the input part.
    """

    n: Int
    first: Int
    at: Int
    shift: Int


class WindowRecords(NamedTuple):
    """The records made so far: runs of neighbouring windows of text that have the same smallest hash.

    Attributes:
        hashes: the smallest hash of each finished record.
        info: the packed description of each finished record (see the module).
        low: the smallest hash of the unfinished record.
        state: four values of the unfinished record: the number of its first window, the offset of its first byte, the
            number of the word or byte at which the gram with the smallest hash starts, and 1 if this hash occurs twice,
            else 0.
    """

    state: I64  # of the open record
    low: U64  # its minimum
    hashes: U64
    info: U64


@kernel(inline="always")
def close(state: I64, low: U64, last: Int, hashes: U64, info: U64, k: Int) -> None:
    """Finish the last record (run of windows of text), and write it to hashes[k] and info[k].

    - last: the number of the record's last window.
    - state: as in WindowRecords.
    Find the smallest gram hash of each window; write a record to `out` for each run of windows with the same hash.
    """
    hashes[k] = mix64(low[0])
    after, count = state[MINIMUM] - last, last - state[FIRST] + 1
    info[k] = np.uint64(state[AT] << 25 | state[TIE] << 24 | after << 14 | count)


@kernel
def minima(grams: U64, chunk: WindowChunk, slide: int, by_word: Any, starts: I64, out: WindowRecords, k: Int) -> Int:
    """Find the smallest gram hash of each window; write a record to `out` for each run of windows with the same one.

    - grams: the hash of each gram.
    - chunk: the windows.
    - slide: the number of grams per window.
    - by_word: if True, a window starts at each of the word offsets `starts`; otherwise at each byte.
    - k: the number of finished records in `out` before the call.

    Returns the number of finished records after the call. The last record may remain unfinished, so that the next chunk
    can continue it.
    """
    n, first, at, shift = chunk
    state, low, hashes, info = out
    value, place, begun, last = low[0], state[MINIMUM] - first, state[FIRST] - first, slide - 1
    x, new = 0, first == 0
    while x < n:
        if not new:
            stop = min(n, place + 1, begun + MAX_WINDOWS)
            while x < stop and grams[x + last] > value:
                x += 1
            if x == n:
                break
            if grams[x + last] == value and x < begun + MAX_WINDOWS:
                place, state[TIE] = x + last, 1
                x += 1
                continue
            low[0], state[MINIMUM] = value, place + first
            close(state, low, x + first - 1, hashes, info, k)
            k += 1
        state[AT], state[FIRST], state[TIE] = (starts[x] if by_word else at + x) + shift, x + first, 0
        if not new and grams[x + last] < value and place >= x:
            value, place = grams[x + last], x + last
        else:
            window, place, value = grams[x : x + slide], last, grams[x]
            same: Int = 0
            for j in range(1, slide):
                value = min(value, window[j])
            for j in range(slide):
                same += window[j] == value
            while window[place] != value:
                place -= 1
            place, state[TIE] = place + x, np.int64(same > 1)
        begun, new = x, False
        x += 1
    low[0], state[MINIMUM] = value, place + first
    return k


def found(info: U64) -> tuple[Any, Any]:
    """Return (offsets, windows) of m records (runs of windows), int64[m] each, from their packed descriptions `info`.

    An offset is the byte at which a record begins in the text of its input part; `windows` has the number of windows of
    each record.

    Args:
        info: uint64[m].
    """
    return (info >> np.uint64(25)).astype(np.int64), (info & np.uint64(MAX_WINDOWS)).astype(np.int64)
