"""Number words in order of appearance, as `lmplz` reads them: one sentence per line.

Slow reference for the tests: tests/twins/ngram.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.errors import ReadError
from dataprep.unicode.blanks import blank
from dataprep.unicode.hashes import mix64
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int

I32 = npt.NDArray[np.int32]

UNK, BOS, EOS = 0, 1, 2
SPECIAL = (b"<unk>", b"<s>", b"</s>")
OUT_TOKENS = 1 << 20
DONE, OUT_FULL, TABLE_FULL, NOT_ALLOWED = 0, 1, 2, 3


class Table(NamedTuple):
    """Distinct words by number, and an open-addressing hash table that maps their hashes to numbers.

    Attributes:
        slots: the word number in each slot; -1 if the slot is free.
        hashes: the hash of each word.
        ends: word i is pool[ends[i]:ends[i + 1]].
        pool: the bytes of all words, one after another.
        n_words: the number of words, in an array with one element.
    """

    slots: I32  # number of a word, -1 where free; a power of two, at least twice the words
    hashes: U64  # of each word
    ends: I64  # word i is pool[ends[i] : ends[i + 1]]
    pool: U8
    n_words: I64  # [1]


class Vocabulary:
    """The distinct words of the text, numbered in order of appearance and kept in memory: about 40 bytes per word.

    Attributes:
        capacity: the number of words for which space is allocated at first; the space grows as needed.
    """

    def __init__(self, capacity: int = 1 << 14) -> None:
        self.table = Table(
            np.full(2 * capacity, -1, np.int32), np.zeros(capacity, np.uint64), np.zeros(capacity + 1, np.int64),
            np.zeros(16 * capacity, np.uint8), np.zeros(1, np.int64),
        )  # fmt: skip
        for word in SPECIAL:
            numbers(np.frombuffer(word + b" ", np.uint8), 0, self.table, np.empty(8, np.int32), 0, 0, 1)

    def __len__(self) -> int:
        return int(self.table.n_words[0])

    def read(self, block: bytes, order: int, *, skip_symbols: bool, where: str) -> Iterator[I32]:
        """Yield the words of a text as numbers, int32 arrays, with one </s> and order - 1 times <s> after each line.

        - block: the text, which must end with white space; new words are assigned new numbers.
        - where: the source of the text, for messages.

        Raises ReadError at the word <s>, </s> or <unk>, unless `skip_symbols` leaves it out.
        """
        data, i = np.frombuffer(block, np.uint8), 0
        out = np.empty(OUT_TOKENS + order, np.int32)
        while True:
            i, n, why = numbers(data, i, self.table, out, order - 1, int(skip_symbols), 0)
            if why == NOT_ALLOWED:
                start = int(i)
                word = block[start : start + 5].decode("utf-8", "replace").split()[0]
                msg = (
                    f"the text must not contain the word {word}, which has a special meaning in a model; "
                    "remove it, or pass skip_symbols=True (--skip-symbols) to skip it"
                )
                raise ReadError(msg, where)
            yield out[:n].copy()
            if why == DONE:
                return
            if why == TABLE_FULL:
                self._grow()

    def _grow(self) -> None:
        old, n = self.table, 2 * len(self.table.hashes)
        slots = np.full(2 * n, -1, np.int32)
        replace_slots(old.hashes[: len(self)], slots)
        self.table = Table(
            slots, np.resize(old.hashes, n), np.resize(old.ends, n + 1), np.resize(old.pool, 2 * len(old.pool)),
            old.n_words,
        )  # fmt: skip


@kernel
def replace_slots(hashes: U64, slots: I32) -> None:
    """Enter all words into `slots`, an empty hash table (all -1): the slot of hash i is assigned the word number i."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(hashes)):
        slot = hashes[i] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = i


@kernel
def numbers(data: U8, i: int, table: Table, out: I32, n_bos: int, skip: int, setup: int) -> tuple[int, int, int]:
    """Write the numbers of the words of data[i:] to `out`, until the data ends, or `out` or the table is full.

    - n_bos: the number of <s> that are written after the </s> of each line.
    - skip: 1 to skip the special words <s>, </s> and <unk> in the text.
    - setup: 1 to enter the special words into `table`.

    Returns (index of the next byte, count of numbers in `out`, code of the reason to stop). New words are entered into
    `table`. White space is NUL, tab, line feed, carriage return and space, as in `lmplz`.
    """
    n, k, room = len(data), 0, len(out) - n_bos - 1
    mask = np.uint64(len(table.slots) - 1)
    while i < n:
        c = data[i]
        if c == 0x0A:
            if k >= room:
                return i, k, OUT_FULL
            out[k] = EOS
            k += 1
            for _ in range(n_bos):
                out[k] = BOS
                k += 1
            i += 1
            continue
        if blank(c):
            i += 1
            continue
        start, h = i, np.uint64(0)
        while c != 0x0A and not blank(c):
            h = (h ^ np.uint64(c)) * np.uint64(0x9E3779B97F4A7C15)
            i += 1
            if i == n:
                break
            c = data[i]
        h = mix64(h ^ np.uint64(i - start))
        slot = h & mask
        word = np.int64(table.slots[slot])
        while word >= 0:
            if table.hashes[word] == h and same(data, start, i, table, word):
                break
            slot = (slot + np.uint64(1)) & mask
            word = np.int64(table.slots[slot])
        if word < 0:
            word = table.n_words[0]
            a = table.ends[word]
            if word == len(table.hashes) or a + i - start > len(table.pool):
                return start, k, TABLE_FULL
            for j in range(i - start):
                table.pool[a + j] = data[start + j]
            table.ends[word + 1] = a + i - start
            table.hashes[word] = h
            table.slots[slot] = word
            table.n_words[0] = word + 1
        if word <= EOS and not setup:
            if skip:
                continue
            return start, k, NOT_ALLOWED
        if k >= room:
            return start, k, OUT_FULL
        out[k] = word
        k += 1
    return i, k, DONE


@kernel
def same(data: U8, start: int, stop: int, table: Table, word: Int) -> bool:
    """Return whether data[start:stop] is the word with number `word`."""
    a = table.ends[word]
    if table.ends[word + 1] - a != stop - start:
        return False
    equal = 0
    while equal < stop - start and table.pool[a + equal] == data[start + equal]:
        equal += 1
    return equal == stop - start
