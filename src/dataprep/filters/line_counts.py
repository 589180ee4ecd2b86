"""What Gopher and FineWeb count, over Arrow buffers: one pass over a document's bytes, the rest over its words' hashes.

Repetition is decided by 64-bit hashes: a word's is a chain over its code points, finalised; an n-gram's a polynomial in
the finalised word hashes, finalised again (unfinalised words made ("0", "10", "0") equal ("11", "0", "0")). Nothing is
compared, since an error moves a fraction by one n-gram: that two of 100,000 words' n-grams meet: one in 10^8.
An n-gram can only repeat where the (n - 1)-gram at its place repeats, so each length looks at what the one before left:
in most documents nearly nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import ALPHA, I64, IN_WORD, LINE, POINT, SPACE, U8, U16, U32, U64, Int, code_point, mix64

from .packed import Packed, ends_with_one, starts_with_one

COUNTS = (
    "words", "chars", "alphabetic", "hashes", "ellipses", "lines", "bullets", "trailing", "stop_words",
    "paragraphs", "dup_lines", "dup_line_chars", "dup_paragraphs", "dup_paragraph_chars",
    *(f"gram_{n}" for n in range(2, 11)), "ended", "short", "breaks",
)  # fmt: skip
WORDS, CHARS, ALPHABETIC, HASHES, ELLIPSES, LINES, BULLETS, TRAILING, STOP_WORDS = range(9)
PARAGRAPHS, DUP_LINES, DUP_LINE_CHARS, DUP_PARAGRAPHS, DUP_PARAGRAPH_CHARS, GRAM_2 = range(9, 15)
ENDED, SHORT, BREAKS, N_COUNTS = range(23, 27)
TOP, LONGEST = 4, 10  # up to 4 words: of the most frequent; from 5 to 10: of all that repeat
FACTOR = np.uint64(0x9E3779B97F4A7C15)
STEP = np.uint64(0xA0761D6478BD642F)


class Rules(NamedTuple):
    """What is counted, as the kernels read it."""

    repetition: bool  # else paragraphs that repeat, and n-grams, are not counted
    bullets: Packed
    end_marks: Packed
    short_chars: int  # a line is short up to these many characters
    keys: U64  # hashes of stop words, sorted
    lists: U64  # [keys]: bit k: the word is in list k
    n_lists: int
    max_letters: int  # of the longest stop word
    classes: U16
    lower: U32


class Room(NamedTuple):
    """Buffers for one document, made once a batch."""

    words: U64  # hash of each word
    chars: I64  # characters of the words before each word
    lines: I64  # first word of each line
    paragraphs: I64
    grams: U64  # hash of the n-gram at each word
    places: I64  # words whose (n - 1)-gram occurs twice
    slots: I64  # where the n-gram of each of those lies in the table
    seen: U64
    state: I64  # stamp << 32 | how often
    stamp: I64  # [1]
    stopped: I64  # [keys]: the last document that held the stop word


@kernel
def count(offsets: I64, data: U8, rules: Rules) -> I64:
    """The counts of every document, int64[n, len(COUNTS)]."""
    n = len(offsets) - 1
    out = np.zeros((n, N_COUNTS), np.int64)
    longest: int = 0
    for d in range(n):
        longest = max(longest, offsets[d + 1] - offsets[d])
    room = _room(longest // 2 + 2, len(rules.keys))
    for d in range(n):
        _count_words(data, offsets[d], offsets[d + 1], rules, room, out[d], d + 1)
        _count_units(room, room.lines, out[d], LINES, DUP_LINES)
        if rules.repetition:
            _count_units(room, room.paragraphs, out[d], PARAGRAPHS, DUP_PARAGRAPHS)
            _count_grams(room, out[d])
    return out


@kernel
def _room(words: int, keys: int) -> Room:
    slots = 8
    while slots < 2 * words:
        slots *= 2
    return Room(
        np.empty(words + 1, np.uint64),
        np.zeros(words + 1, np.int64),
        np.empty(words + 1, np.int64),
        np.empty(words + 1, np.int64),
        np.empty(words + 1, np.uint64),
        np.empty(words + 1, np.int64),
        np.empty(words + 1, np.int64),
        np.zeros(slots, np.uint64),
        np.zeros(slots, np.int64),
        np.zeros(1, np.int64),
        np.zeros(keys, np.int64),
    )


@kernel(_nrt=False)
def _count_words(data: U8, start: int, stop: int, rules: Rules, room: Room, out: I64, stamp: int) -> None:
    """One pass over the text: words, their hashes, lines, paragraphs, and what quality is judged by."""
    i, word, first, last = start, start, start, start
    n, chars, lines, paragraphs, line, paragraph, dots = 0, 0, 0, 0, 0, 0, 0
    alphabetic, hashes, ellipses, symbols, spaces, base, width = 0, 0, 0, 0, 0, 0, 0
    h, inside = np.uint64(0), False
    while i <= stop:
        c: Int = 0x0A
        size, bits = 1, SPACE | LINE  # the end of the text ends its word, line and paragraph
        if i < stop:
            c, size = code_point(data, i)
            bits = int(rules.classes[c])
        if not bits & SPACE:
            if not inside:
                inside, word, alphabetic, h = True, i, 0, np.uint64(0)
                if n == line:
                    first, base = i, chars + spaces
            h = (h ^ np.uint64(c)) * STEP
            alphabetic |= bits & ALPHA
            hashes += c == 0x23
            dots = dots + 1 if c == 0x2E else 0
            if dots == 3 or c == 0x2026:
                ellipses, dots = ellipses + 1, 0
            chars += 1
            i += size
            continue
        if inside:
            inside, dots, last, width = False, 0, i, chars + spaces - base
            room.words[n] = mix64(h)
            n += 1
            room.chars[n] = chars
            symbols += alphabetic == 0
            if rules.max_letters:
                _mark_stop_word(data, word, i, rules, room, stamp)
        spaces += 1
        if bits & LINE and not (c == 0x0D and i + 1 < stop and data[i + 1] == 0x0A):
            if n > line:
                room.lines[lines] = line
                lines, line = lines + 1, n
                out[BULLETS] += starts_with_one(data, first, last, rules.bullets) > 0
                out[TRAILING] += _ends_with_ellipsis(data, first, last)
                out[ENDED] += ends_with_one(data, first, last, rules.end_marks)
                out[SHORT] += width <= rules.short_chars
                blank = False
            else:
                blank = True
            out[BREAKS] += i < stop
            if (blank or i == stop) and n > paragraph:
                room.paragraphs[paragraphs] = paragraph
                paragraphs, paragraph = paragraphs + 1, n
        i += size
    room.lines[lines] = room.paragraphs[paragraphs] = n
    out[WORDS], out[CHARS], out[ALPHABETIC], out[HASHES], out[ELLIPSES] = n, chars, n - symbols, hashes, ellipses
    out[LINES], out[PARAGRAPHS], out[STOP_WORDS] = lines, paragraphs, _stop_words(rules, room, stamp)


@kernel(_nrt=False)
def _ends_with_ellipsis(data: U8, first: int, last: int) -> bool:
    if last - first < 3:
        return False
    a, b, c = data[last - 3], data[last - 2], data[last - 1]
    return bool((a == 0x2E and b == 0x2E and c == 0x2E) or (a == 0xE2 and b == 0x80 and c == 0xA6))


@kernel
def letters_hash(data: U8, a: int, b: int, max_letters: int, lower: U32) -> Int:
    r"""Hash of the letters and digits (`\w`) of a word in lower case; 0 if there are none, or too many."""
    h, letters, i = np.uint64(0), 0, a
    while i < b:
        c, size = code_point(data, i)
        i += size
        entry = lower[c]
        if entry & IN_WORD:
            letters += 1
            small = np.int64(entry & POINT)
            h = (h ^ np.uint64(0x3C3 if small == 0x3C2 else small)) * STEP  # both small sigmas are one
            if letters > max_letters:
                return np.uint64(0)
    return mix64(h)


@kernel(_nrt=False)
def _mark_stop_word(data: U8, a: int, b: int, rules: Rules, room: Room, stamp: int) -> None:
    h = letters_hash(data, a, b, rules.max_letters, rules.lower)
    low, high = 0, len(rules.keys)
    while low < high:
        middle = (low + high) // 2
        if rules.keys[middle] < h:
            low = middle + 1
        else:
            high = middle
    if low < len(rules.keys) and rules.keys[low] == h:
        room.stopped[low] = stamp


@kernel(_nrt=False)
def _stop_words(rules: Rules, room: Room, stamp: int) -> int:
    """How many stop words of one list the document has: of the list that has most."""
    most = 0
    for k in range(rules.n_lists):
        n = 0
        for i in range(len(rules.keys)):
            n += room.stopped[i] == stamp and (rules.lists[i] >> np.uint64(k)) & np.uint64(1) != 0
        most = max(most, n)
    return most


@kernel(_nrt=False)
def _put(room: Room, mask: Int, h: Int, stamp: int) -> int:
    """The slot of a hash, which has been met once more."""
    slot = h & mask
    while room.state[slot] >> 32 == stamp and room.seen[slot] != h:
        slot = (slot + np.uint64(1)) & mask
    if room.state[slot] >> 32 == stamp:
        room.state[slot] += 1
    else:
        room.seen[slot], room.state[slot] = h, stamp << 32 | 1
    return int(np.int64(slot))


@kernel(_nrt=False)
def _mask(items: int) -> Int:
    """As many slots as `items` need, less one: a short document's table stays in the cache."""
    slots = 8
    while slots < 2 * items:
        slots *= 2
    return np.uint64(slots - 1)


@kernel(_nrt=False)
def _count_units(room: Room, starts: I64, out: I64, total: int, dup: int) -> None:
    """Lines or paragraphs that repeat an earlier one word by word, and their characters."""
    n = out[total]
    room.stamp[0] += 1
    stamp, mask = room.stamp[0], _mask(n)
    for k in range(n if n > 1 else 0):
        h = np.uint64(starts[k + 1] - starts[k])
        for w in range(starts[k], starts[k + 1]):
            h = (h ^ room.words[w]) * STEP
            h ^= h >> np.uint64(32)
        slot = _put(room, mask, mix64(h), stamp)
        if room.state[slot] & 0xFFFFFFFF > 1:
            out[dup] += 1
            out[dup + 1] += room.chars[starts[k + 1]] - room.chars[starts[k]]


@kernel(_nrt=False)
def _count_grams(room: Room, out: I64) -> None:
    """Characters of the most frequent n-gram, n = 2 to 4; characters under n-grams met before, n = 5 to 10."""
    words, places = out[WORDS], room.places
    for j in range(words):
        room.grams[j], places[j] = room.words[j], j
    alive = words
    for n in range(2, LONGEST + 1):
        room.stamp[0] += 1
        stamp, mask = room.stamp[0], _mask(alive)
        while alive and places[alive - 1] + n > words:
            alive -= 1
        covered = 0
        for k in range(alive):
            j = places[k]
            room.grams[j] = room.grams[j] * FACTOR + room.words[j + n - 1]
            room.slots[k] = _put(room, mask, mix64(room.grams[j]), stamp)
            if n > TOP and room.state[room.slots[k]] & 0xFFFFFFFF > 1:
                out[GRAM_2 + n - 2] += room.chars[j + n] - room.chars[max(j, covered)]
                covered = j + n
        left, most = 0, 1
        for k in range(alive):
            j, times = places[k], room.state[room.slots[k]] & 0xFFFFFFFF
            if times > 1:
                places[left] = j
                left += 1
            if times > most and n <= TOP:
                most = times
                out[GRAM_2 + n - 2] = times * (room.chars[j + n] - room.chars[j])
        alive = left
