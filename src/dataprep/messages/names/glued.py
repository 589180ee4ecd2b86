"""Find names that are glued to digits, or to other words in hashtags, handles and addresses.

`kernel.py` finds names that are whole words. This module also finds the names in "ilse92", "2024ilse", "#TeamIlse",
"#ilsetomas", "@ilsevarga_x" and in the part of an e-mail address before the @. Elsewhere, names are not searched for
inside longer words.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dataprep.unicode.text import I64, MARK, NUMBER, U8, U32, classes

from . import kernel as K
from . import prefilter as P
from .matching import EMBLEMS, folded
from .prefilter import MIN_INSIDE
from .trie import EMPTY, Trie, sieve_of
from .unspaced import Anywhere

Hit = tuple[int, int, int, int, int]  # text, first byte, end, number of the term, whether an @ precedes it
SIGNS = (0x23, 0x40, 0x2F)  # # @ /
MAX_TOKEN = 128  # bytes of a hashtag, handle or address
MIN_LETTERS = 3  # of a name next to digits or other names
MIN_END = 3  # of a name at an end of a longer word; inside of one MIN_INSIDE
MIN_MIXED = 5  # letters and digits of a name of both, such as "3ziza", that is found inside of a longer word
_NO_PREFIXES = np.zeros(0, np.uint32)
_NEAR = 64  # bytes around a name in which its digits are
_DIGIT, _PIECES = re.compile(r"\d"), re.compile(r"[ \d]+")
ARABIZI = re.compile(r"[2356789]")  # single digits that may be letters: "sma3", "7lib"


class GluedNames:
    """Finds the glued names in texts.

    Attributes:
        terms: all terms.
        trie: the Trie of `terms`.
        words: the number of each term that is one word and sure to be a name, by its folded text.
        full: the numbers of the terms of several words.
    """

    def __init__(self, terms: Sequence[str], trie: Trie, words: Mapping[str, int], full: Sequence[int] = ()) -> None:
        plain = {word: n for word, n in words.items() if not _DIGIT.search(word)}
        self.trie, self.words, self.longest = trie, plain, max(map(len, plain), default=0)
        sure = np.zeros(len(trie.terms) + 1, np.bool_)  # there are fewer terms than nodes
        sure[list(plain.values())] = True
        self.ends = (trie.terms != EMPTY) & sure[trie.terms]  # of a term in tokens, by node
        sure[list(full)] = True
        self.sure = sure
        self.sieve = sieve_of(piece for term in terms for piece in _PIECES.split(term) if piece)
        mixed = {word: n for word, n in words.items() if word not in plain}
        self.mixed = Anywhere(lambda text: _mixed(text, mixed)) if mixed else None

    def find(self, offsets: I64, data: U8, prefixes: U32 = _NO_PREFIXES) -> I64:
        """Return the glued names in n texts, int64[m, 5], as `kernel.find_names` returns names.

        Args:
            offsets: text k is data[offsets[k]:offsets[k + 1]].
            data: the texts, UTF-8 bytes.
            prefixes: letters that may be joined to the beginning of a name.
        """
        signs = _tokens(offsets, data)
        some = P.with_terms(data, *signs[1:], folded(), self.trie.keys, self.trie.children, self.ends)
        found = {*self._in_tokens(offsets, data, signs[0][some], signs[1][some])}
        rows = np.flatnonzero(P.near_digits(offsets, data, _kinds(), folded(), self.sieve, prefixes))
        if len(rows):
            found.update(self._next_to_digits(offsets, data, rows, prefixes))
            found.update(map(tuple, self.mixed.find(offsets, data, rows).tolist()) if self.mixed else ())
        return np.array(sorted(found), np.int64).reshape(-1, 5)

    def _next_to_digits(self, offsets: I64, data: U8, rows: I64, prefixes: U32) -> Iterator[Hit]:
        """Yield names with digits before, after or between them, in some of the texts.

        Single words are found between digits and any signs; full names also with digits between their words.
        """
        some = np.append(0, np.cumsum(offsets[rows + 1] - offsets[rows]))
        text = np.concatenate([data[a:b] for a, b in zip(offsets[rows], offsets[rows + 1], strict=True)])
        some.flags.writeable = text.flags.writeable = False  # as those of batches, for which kernels are compiled
        for table in _digits_apart():
            hits = K.find_names(some, text, table, *self.trie, prefixes)
            hits = hits[self.sure[hits[:, 3]]]
            hits[:, 1:3] += (offsets[rows] - some[:-1])[hits[:, :1]]
            hits[:, 0] = rows[hits[:, 0]]
            for row, start, end, term, mentioned in hits.tolist():
                if is_no_arabizi(offsets, data, row, start, end):
                    yield row, start, end, term, mentioned

    def _in_tokens(self, offsets: I64, data: U8, rows: I64, signs: I64) -> Iterator[Hit]:
        """Yield names in hashtags, handles, parts of links and the part of addresses before the @, for some signs."""
        for row, sign in zip(rows.tolist(), signs.tolist(), strict=True):
            start, stop = int(offsets[row]), int(offsets[row + 1])
            kind = data[sign]
            before = data[max(start, sign - MAX_TOKEN) : sign].tobytes().decode("utf-8", "ignore")
            if kind == SIGNS[2] and not before[-1:].isalpha():
                continue  # a date, a fraction
            after = data[sign + 1 : min(stop, sign + 1 + MAX_TOKEN)].tobytes().decode("utf-8", "ignore")
            if m := _patterns()[0].match(after):
                for a, b, term in self.in_token(m[0]):
                    first = sign + 1 + len(m[0][:a].encode())
                    yield row, first, first + len(m[0][a:b].encode()), term, int(kind == SIGNS[1])
            if kind == SIGNS[1] and (m := _patterns()[1].search(before)):
                for a, b, term in self.in_token(m[0]):
                    first = sign - len(m[0][a:].encode())
                    yield row, first, first + len(m[0][a:b].encode()), term, 0

    def in_token(self, token: str) -> Iterator[tuple[int, int, int]]:
        """Yield (start, end, number of the term) of each name in a hashtag, handle or address, in characters."""
        for piece in _patterns()[2].finditer(token):
            kinds = folded()[[ord(c) for c in piece[0]]].tolist()
            chars = [(chr(k), i) for i, k in enumerate(kinds, piece.start()) if k not in (K.SKIPPED, K.GAP, K.BREAK)]
            text = "".join(c for c, _ in chars)
            for a, b, term in _row_of_names(text, self.words) or self._parts(text, [token[i] for _, i in chars]):
                yield chars[a][1], chars[b - 1][1] + 1, term

    def _parts(self, text: str, written: Sequence[str]) -> list[tuple[int, int, int]]:
        """Return the names at either end of a word or inside it, the longest first.

        - written: the letters of the word before folding.
        """
        edges = {i for i in range(1, len(text)) if _is_edge(written[i - 1], written[i])}
        found: list[tuple[int, int, int]] = []
        for n in range(min(len(text), self.longest), MIN_END - 1, -1):
            for a in range(len(text) - n + 1):
                term = self.words.get(text[a : a + n])
                is_long = n >= MIN_INSIDE or a in (0, len(text) - n) or {a, a + n} <= edges
                if term is not None and is_long and all(b <= a or a + n <= c for c, b, _ in found):
                    found.append((a, a + n, term))
        return found


def with_glued(hits: I64, glued: I64) -> I64:
    """Return all rows (see `find_names`) of `hits`, and the rows of `glued` that overlap none of them, in order."""
    if not len(glued):
        return hits
    glued = glued[np.argsort(glued[:, 1], kind="stable")]
    nearest = np.searchsorted(hits[:, 1], glued[:, 1], side="right")  # the hit after it
    starts, ends = np.append(hits[:, 1], np.iinfo(np.int64).max), np.append(0, hits[:, 2])
    kept: list[list[int]] = []
    for hit in glued[(ends[nearest] <= glued[:, 1]) & (glued[:, 2] <= starts[nearest])].tolist():
        if not kept or hit[1] >= kept[-1][2]:
            kept.append(hit)
    both = np.concatenate([hits, np.array(kept, np.int64).reshape(-1, 5)])
    return both[np.argsort(both[:, 1], kind="stable")]


@functools.cache
def _digits_apart() -> tuple[U32, U32]:
    """Return two tables like `folded`: all characters that are not letters end a word; digits are gaps of a name."""
    digit = _kinds() == P.DIGIT
    alone, gaps = folded().copy(), folded().copy()
    alone[digit | (alone == K.GAP)] = K.BREAK
    gaps[digit] = K.GAP
    alone.flags.writeable = gaps.flags.writeable = False
    return alone, gaps


@functools.cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Return patterns of a hashtag or handle, of the part of an address before the @, and of the words in these.

    The patterns include vowel signs of Arabic and Indic scripts, which `re` does not treat as letters.
    """
    marks = np.flatnonzero((classes() & MARK) != 0)
    runs = np.split(marks, np.flatnonzero(np.diff(marks) > 1) + 1)
    signs = "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)
    return tuple(map(re.compile, (
        rf"[\w.\u00b7{signs}-]+", rf"[\w.+{signs}-]+\Z", rf"(?:[^\W\d_]|[{signs}])+",
    )))  # fmt: skip


@functools.cache
def _kinds() -> U8:
    """Return the kind of each code point: P.LETTER, P.DIGIT (numbers and EMBLEMS), P.UNSEEN, or 0 for all others."""
    fold = folded()
    table = np.where((fold > K.GAP) & (fold != K.BREAK), P.LETTER, 0).astype(np.uint8)
    table[(classes() & NUMBER) != 0] = P.DIGIT
    table[list(EMBLEMS)] = P.DIGIT
    table[fold == K.SKIPPED] = P.UNSEEN
    table.flags.writeable = False
    return table


def _digits(data: U8, step: int) -> str:
    """Return the digits at the end (step -1) or the beginning (step 1) of some bytes, without invisible signs."""
    found = ""
    for c in data.tobytes().decode("utf-8", "ignore")[::step]:
        kind = _kinds()[ord(c)]
        if kind not in (P.DIGIT, P.UNSEEN):
            break
        found += c if kind == P.DIGIT else ""
    return found


def is_no_arabizi(offsets: I64, data: U8, row: int, start: int, end: int) -> bool:
    """Return whether a name next to digits is a name, and not a word of Arabizi, in which single digits are letters.

    Args:
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        row: the index of the text.
        start: the offset of the name's first byte.
        end: the offset after the name's last byte.
    """
    if end - start > MIN_LETTERS:  # bytes: other scripts than Latin are not Arabizi
        return True
    before = _digits(data[max(int(offsets[row]), start - _NEAR) : start], -1)
    after = _digits(data[end : min(int(offsets[row + 1]), end + _NEAR)], 1)
    return not any(len(digits) == 1 and ARABIZI.fullmatch(digits) for digits in (before, after))


def _tokens(offsets: I64, data: U8) -> tuple[I64, I64, I64, I64]:
    """Return, for each #, @ and / (after a letter): text, byte, and first byte and end of a possible name."""
    low = int(offsets[0])
    text = data[low : offsets[-1]]
    signs = np.flatnonzero((text == SIGNS[0]) | (text == SIGNS[1]) | (text == SIGNS[2])) + low
    rows = np.searchsorted(offsets, signs, side="right") - 1
    first = offsets[rows]
    is_part = (data[signs] != SIGNS[2]) | ((signs > first) & (data[np.maximum(signs - 1, 0)] > ord("@")))
    rows, signs, first = rows[is_part], signs[is_part], first[is_part]
    start = np.where(data[signs] == SIGNS[1], np.maximum(first, signs - MAX_TOKEN), signs + 1)
    return rows, signs, start, np.minimum(offsets[rows + 1], signs + 1 + MAX_TOKEN)


def _is_edge(left: str, right: str) -> bool:
    """Return whether a word begins between two letters: "teamIlse", or a letter of a script with and without case."""
    return (left.islower() and right.isupper()) or (left.lower() == left.upper()) != (right.lower() == right.upper())


def _mixed(text: str, words: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
    """Yield the names with letters and digits in a folded text, the longest of each place: (start, end, number).

    They may be next to digits, and long ones next to letters.
    """
    found: list[tuple[int, int]] = []
    for word in sorted(words, key=len, reverse=True):
        a = text.find(word)
        while a >= 0:
            b = a + len(word)
            if (len(word) >= MIN_MIXED or not _has_letters(text, a, b)) and all(b <= c or d <= a for c, d in found):
                found.append((a, b))
                yield a, b, words[word]
            a = text.find(word, b)


def _has_letters(text: str, a: int, b: int) -> bool:
    """Return whether a letter is next to text[a:b]."""
    return text[max(0, a - 1) : a].isalpha() or text[b : b + 1].isalpha()


def _row_of_names(text: str, words: Mapping[str, int]) -> list[tuple[int, int, int]]:
    """Return the names of which a word consists; [] if it does not consist of names."""
    best: list[list[tuple[int, int, int]] | None] = [[], *[None] * len(text)]
    for end in range(1, len(text) + 1):
        for start in range(end):
            before = best[start]
            if before is not None and text[start:end] in words and (best[end] is None or len(before) < len(best[end])):  # type: ignore[arg-type]
                best[end] = [*before, (start, end, words[text[start:end]])]
    return best[-1] or []
