"""Find all words of a list in one pass, with an Aho-Corasick automaton over the case-folded bytes of a text.

Words are matched as whole words: "ass" in "an ass." but not in "class". For this purpose, a symbol EDGE is inserted at
both ends of each entry and of the text, and on both sides of each character that is not part of a word. The entry "ass"
thus becomes EDGE a s s EDGE, which occurs in "an ass." (... EDGE a s s EDGE . EDGE ...). A match of the symbols is a
match of whole words.

The tatweel, the vowel signs of Arabic, Hebrew and Syriac, and invisible characters inside words are skipped: the text
is read as if it did not contain them.

Slow reference for the tests: tests/twins/badwords.py.
"""

from __future__ import annotations

from collections import deque
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.errors import PlanError
from dataprep.unicode import tables
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import FORMAT, I64, MARK, POINT, U8, U16, U32, WORD, Int, classes, code_point, put
from dataprep.unicode.words import EXTEND, KIND, word_table

from .packed_strings import fold_char, fold_chars

EDGE = 256
MAX_CELLS = 1 << 28  # of the table: 1 GB
I32 = npt.NDArray[np.int32]

SKIP = 1 << 14  # of the classes that `matches` reads: a sign to skip
# Vowel signs that are rarely written, and the tatweel; not the hamza and the madda, which make other letters, nor the
# fathatan, which ends a word with or without an alef: see ENDINGS.
SIGNS = (
    "591-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 640 64c-652 656-65f 670 6d6-6dc 6df-6e4 6e7-6e8 6ea-6ed 711 730-74a "
    "898-89f 8ca-8e1 8e3-8ff"
)
ARABIC_LETTERS = range(0x620, 0x64B)
# What can be written before an Arabic word without a space: "and", "so", "with", "like", "for" and the article.
ARTICLES = tuple(a + b for a in ("", "و", "ف") for b in ("ال", "بال", "كال", "لل"))
ENDINGS = ("", "\u064b", "\u064b\u0627", "\u0627\u064b")
PARTICLES = ("ف", "ب", "ك", "ل", *(a + b for a in "وف" for b in "بكل"))


class Automaton(NamedTuple):
    """A table for `matches`, which finds all entries of a list in one pass (Aho-Corasick).

    Attributes:
        goto: int32[states * width]; the row of a state has the next state for each symbol. A state is stored as the
            offset of its row, plus 1 if an entry ends there.
        symbols: int64[257], the column of each byte and of EDGE (an edge of a word).
        width: the number of columns per row.
        edges: True if entries must be whole words.
    """

    goto: I32  # [states * width]: the next state; odd (state | 1) if an entry ends in it
    symbols: I64  # [257]: the column of each byte, and of the edge; 0 for those of no entry
    width: int
    edges: bool  # entries are whole words


@cache
def hidden() -> npt.NDArray[np.bool_]:
    """Return for each code point whether it is invisible in a word, such as joiners and soft hyphens, bool[0x110000].

    The zero-width space is not hidden, since it separates words.
    """
    table: npt.NDArray[np.bool_] = (classes() & FORMAT != 0) & (word_table() >> KIND & 15 == EXTEND)
    return table


@lru_cache(maxsize=4)
def parts(*, edges: bool, signs: bool) -> U16:
    """Return the classes that `matches` reads, uint16[0x110000]: WORD or MARK, SKIP, or 0.

    Args:
        edges: if False, every character is a part of a word.
        signs: True if the characters of SIGNS are skipped, like those of `hidden`.
    """
    table = classes() & np.uint16(WORD | MARK) if edges else np.full(0x110000, WORD, np.uint16)
    if signs:
        table[tables.points(SIGNS)] = SKIP
    table[hidden()] = SKIP
    table.flags.writeable = False
    return table


def has_signs(entry: str) -> bool:
    """Return whether an entry has vowel signs or a tatweel."""
    return any(parts(edges=True, signs=True)[ord(c)] == SKIP or c in ENDINGS for c in entry)


def with_clitics(entry: str) -> list[str]:
    """Return an entry and, if it is Arabic, the entry with each clitic that can be written before it, and with ENDINGS.

    The article, alone or after other clitics, and "and" are added before entries of three letters or more. The other
    clitics without the article are added before entries of four letters or more, since shorter words more often begin
    with these letters.
    """
    if ord(entry[0]) not in ARABIC_LETTERS:
        return [entry]
    letters = sum(bool(classes()[ord(c)] & WORD) and not has_signs(c) for c in entry)
    before = ("و", *ARTICLES) * (letters > 2) + PARTICLES * (letters > 3)
    return [clitic + entry + ending for clitic in ("", *before) for ending in ENDINGS]


def encode(entry: str, *, edges: bool) -> list[int]:
    """Return an entry as a list of symbols: its bytes after case folding, and EDGE at the edges of its words.

    - edges: whether EDGE is inserted.
    """
    if not edges:
        return list(fold_chars(entry).encode())
    out = [EDGE]
    for char in entry:
        code = list(fold_chars(char).encode())
        out += code if classes()[ord(char)] & (WORD | MARK) else [EDGE, *code, EDGE]
    return [*out, EDGE]


@lru_cache(maxsize=8)
def build(entries: tuple[str, ...], *, edges: bool, clitics: bool = False) -> Automaton:
    """Return the table that finds these entries in a text (the automaton of Aho and Corasick, 1975).

    - edges: True if entries must be whole words.
    - clitics: True if Arabic entries may also have clitics before them.

    Raises PlanError if there are too many entries.
    """
    codes = [encode(e, edges=edges) for entry in entries for e in (with_clitics(entry) if clitics else [entry])]
    used = sorted({s for code in codes for s in code})
    symbols = np.zeros(257, np.int64)
    symbols[used] = np.arange(1, len(used) + 1)
    width = 2  # a power of two, so that the last bit of a row's offset is free
    while width <= len(used):
        width *= 2
    children: list[dict[int, int]] = [{}]
    ends = [False]
    for code in codes:
        state = 0
        for symbol in symbols[code].tolist():
            if symbol not in children[state]:
                children[state][symbol] = len(children)
                children.append({})
                ends.append(False)
            state = children[state][symbol]
        ends[state] = True
    if len(children) * width > MAX_CELLS:
        msg = f"{len(entries):,} entries ({len(children):,} states) are too many for one list; use several stages"
        raise PlanError(msg)
    return Automaton(_resolved(children, ends, width), symbols, width, edges)


def _resolved(children: list[dict[int, int]], ends: list[bool], width: int) -> I32:
    goto, fail = np.zeros((len(children), width), np.int32), [0] * len(children)
    waiting = deque([0])
    while waiting:
        state = waiting.popleft()
        goto[state] = goto[fail[state]]
        for symbol, child in children[state].items():
            fail[child] = int(goto[fail[state], symbol]) if state else 0
            ends[child] = ends[child] or ends[fail[child]]
            waiting.append(child)
        for symbol, child in children[state].items():
            goto[state, symbol] = child
    marks = np.array(ends, np.int32)
    return (goto * width + marks[goto]).astype(np.int32).ravel()


@lru_cache(maxsize=8)
def searches(entries: tuple[str, ...], *, edges: bool, clitics: bool) -> list[tuple[Automaton, U16]]:
    """Return the pairs (automaton, classes) with which `matches` finds all entries; the parameters are as for `build`.

    Entries without vowel signs are found in texts with and without such signs; other entries are found only as they are
    written.
    """
    kinds = {signs: tuple(e for e in entries if has_signs(e) != signs) for signs in (True, False)}
    return [
        (build(some, edges=edges, clitics=clitics), parts(edges=edges, signs=signs))
        for signs, some in kinds.items()
        if some
    ]


@kernel
def matches(offsets: I64, data: U8, automaton: Automaton, classes: U16, lower: U32) -> I64:
    """Return the number of matches of the automaton's entries in each of n texts, int64[n].

    - offsets: text k is data[offsets[k]:offsets[k + 1]].
    - data: the texts, UTF-8 bytes.
    - classes: the result of `parts`.
    - lower: the lower case of each code point.
    """
    goto, symbols, edges = automaton.goto, automaton.symbols, automaton.edges
    out = np.zeros(len(offsets) - 1, np.int64)
    edge, room = symbols[EDGE], np.zeros(4, np.uint8)
    columns, inside = np.zeros(128, np.int64), np.zeros(128, np.bool_)
    for b in range(128):
        columns[b] = symbols[lower[b] & POINT]
        inside[b] = classes[b] & WORD != 0
    for d in range(len(out)):
        i, stop, found = offsets[d], offsets[d + 1], 0
        state: Int = goto[edge] if edges else np.int32(0)
        while i < stop:
            c: Int = np.int64(data[i])
            if c < 0x80:
                i += 1
                if inside[c]:
                    state = goto[(state & -2) + columns[c]]
                    found += state & 1
                    continue
                state = goto[(state & -2) + edge]
                found += state & 1
                state = goto[(state & -2) + columns[c]]
                state = goto[(state & -2) + edge]
                found += state & 1
                continue
            c, size = code_point(data, i)
            i += size
            within = classes[c] & (WORD | MARK) != 0
            if not within:
                if classes[c] & SKIP:
                    continue
                state = goto[(state & -2) + edge]
                found += state & 1
            n = put(room, 0, fold_char(c, lower))
            for k in range(n):
                state = goto[(state & -2) + symbols[room[k]]]
            found += (state & 1) if not edges else 0
            if not within:
                state = goto[(state & -2) + edge]
                found += state & 1
        if edges:
            state = goto[(state & -2) + edge]
            found += state & 1
        out[d] = found
    return out
