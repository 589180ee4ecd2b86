"""The rules of CleanMessages: patterns for links, mentions, laughter and so on, and the texts to search for each.

A rule works on many messages at once. A compiled search (`clean_spans.py`) finds the words or characters at which a
match is possible; the patterns, which take linear time, are tried only at these positions. Phones, emoji and edit marks
are searched in the chosen messages, joined by the character BETWEEN, which no match spans.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.pii.lines import find_joined
from dataprep.unicode.splice import splice
from dataprep.unicode.text import I64, U8, U16, classes

from . import clean_spans as C
from .clean_prefilter import FIVES, LAUGH, SYLLABLES, characters
from .emoji import emoji_spans

HIDDEN, BETWEEN = b"\x1d", b"\x1e"  # represents a link that is kept; between two messages that are searched together
RESERVED = HIDDEN + BETWEEN  # removed from all messages
Span: TypeAlias = tuple[int, int]
_CLOSES = np.full(256, 255, np.uint8)  # the bracket that closes a byte; 255 is in no text
_CLOSES[list(b"([{<")] = list(b")]}>")


class Texts(NamedTuple):
    """Texts as UTF-8: text k is data[offsets[k]:offsets[k + 1]]; both arrays are read-only."""

    offsets: I64
    data: U8

    def replaced(self, spans: I64, news: list[bytes]) -> Texts:
        """Return the texts with each span, bytes of `data`, replaced.

        - news: one text for all, or one per span.
        """
        news = news * len(spans) if len(news) == 1 else news
        ends = np.cumsum([0, *map(len, news)], dtype=np.int64)
        return self._spliced(spans, ends, np.frombuffer(b"".join(news), np.uint8))

    def without(self, spans: I64) -> Texts:
        """Return the texts without the spans, brackets around them, and white space that would be doubled."""
        spans, glue = C.widened(*self, self._with_brackets(spans), classes())
        return self._spliced(spans, glue, np.frombuffer(b" " * int(glue[-1]), np.uint8))

    def _spliced(self, spans: I64, ends: I64, news: U8) -> Texts:
        return Texts(*B.buffers(B.strings(*splice(*self, spans, ends[:-1].copy(), ends[1:].copy(), news))))

    def _with_brackets(self, spans: I64) -> I64:
        """Return the spans with the brackets directly around them, such as those of "site (https://example.org)"."""
        low, high = spans.T
        rows = np.searchsorted(self.offsets, low, side="right") - 1
        before, after = self.data[np.maximum(low - 1, 0)], self.data[np.minimum(high, len(self.data) - 1)]
        inside = (low > self.offsets[rows]) & (high < self.offsets[rows + 1]) & (_CLOSES[before] == after)
        return np.stack((low - inside, high + inside), 1)

    def with_rows(self, rows: I64, new: pa.LargeStringArray) -> pa.LargeStringArray:
        """Return the texts as a column, with those of `rows`, int64 and ascending, replaced by `new`."""
        spans = np.stack((self.offsets[rows], self.offsets[rows + 1]), 1)
        ends, news = B.buffers(new)
        return B.strings(*splice(*self, spans, ends[:-1].copy(), ends[1:].copy(), news))

    def bytes_in(self, some: bytes) -> I64:
        """Return the spans of the bytes that equal one of the given one or two bytes."""
        first, last = self.offsets[0], self.offsets[-1]
        data = self.data[first:last]
        at = first + np.flatnonzero((data == some[0]) | (data == some[-1]))
        return np.stack((at, at + 1), 1)

    def rows_of(self, spans: I64) -> I64:
        """Return the indexes of the texts that have some of the spans, int64, ascending."""
        found: I64 = np.unique(np.searchsorted(self.offsets, spans[:, 0], side="right") - 1)
        return found


Find: TypeAlias = Callable[[Texts, I64], I64]  # texts and the rows to search -> spans in bytes, int64[m, 2], in order


def _array(spans: Iterable[Span]) -> I64:
    return np.array(list(spans), np.int64).reshape(-1, 2)


def in_words(flag: int, find: Callable[[str], Iterable[Span]]) -> Find:
    """Return a search in single words, namely words with a sign of a link (flag: LINK) or an at sign (AT)."""

    def search(texts: Texts, rows: I64) -> I64:
        view, found = memoryview(texts.data), []  # type: ignore[arg-type]
        for start, stop in C.words_with(*texts, rows, characters(), flag).tolist():
            word, at, end = str(view[start:stop], "utf-8"), start, 0
            for a, b in find(word):
                first = at + len(word[end:a].encode())
                at, end = first + len(word[a:b].encode()), b
                found.append((first, at))
        return _array(found)

    return search


def in_messages(find: Callable[[str], Iterable[Span]]) -> Find:
    """Return a search of whole messages, joined by BETWEEN."""

    def search(texts: Texts, rows: I64) -> I64:
        return find_joined(texts.data, texts.offsets[rows], texts.offsets[rows + 1], find, BETWEEN)

    return search


_REST = r"[^\s<>\"\u00ab\u00bb\u201c\u201d\u200e\u200f\u2066-\u2069]"
_LABELS = r"(?:[a-z0-9][a-z0-9-]{0,62}\.){1,5}"
# Without "http" or "www.", only endings that are not words: "la" and "me" may follow a full stop without a space.
_ENDINGS = "com|net|org|info|edu|gov|io|app|dev|xyz|online|site|shop"
_BEFORE_A_SLASH = (
    rf"{_ENDINGS}|be|ly|gl|gg|gd|co|cc|me|tv|ai|fm|ws|link|page|news|blog|tech|club|live|store|world|wiki|"
    "ma|dz|tn|eg|sa|ae|fr|de|ch|at|uk|ie|es|pt|br|mx|it|nl|eu|us|ca|ru|ua|pl|se|no|dk|fi|gr|tr|in|id|jp|kr|cn"
)
_LINK = re.compile(
    rf"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{{1,15}}://{_REST}+"
    rf"|(?<![a-z0-9_@.-])(?:www\.(?=\w){_REST}+"
    rf"|{_LABELS}(?:(?:{_ENDINGS})(?:\.[a-z]{{2}})?(?![\w@-])(?::[0-9]{{2,5}}(?![0-9]))?|(?:{_BEFORE_A_SLASH})(?=/\w))"
    rf"(?:[/?#]{_REST}*)?)",
    re.IGNORECASE,
)
_NOT_LAST = ".,;:!?'*_~\u2019\u2026\u060c\u061b\u061f"  # at the end they belong to the sentence
_CLOSING = {")": "(", "]": "[", "}": "{"}
_NOT_AT_END = frozenset(_NOT_LAST).union(_CLOSING)


def links(word: str) -> Iterator[Span]:
    """Yield the (start, end) of each URL in a word: with a scheme, with www., or bare as in youtu.be/x, example.org."""
    for m in _LINK.finditer(word):
        start, end = m.span()
        if word[end - 1] in _NOT_AT_END:
            unopened = {c: m[0].count(c) - m[0].count(o) for c, o in _CLOSING.items()}
            while word[end - 1] in _NOT_LAST or unopened.get(word[end - 1], 0) > 0:
                end -= 1
                unopened[word[end]] = unopened.get(word[end], 0) - 1
        yield start, end


_MENTION = re.compile(
    "@\u2068[^\u2069\n\x1d]{1,100}\u2069"  # WhatsApp: a name between isolates
    r"|(?<![\w@./+-])@(?:\+?[0-9]{6,16}(?!\w)|[^\W\d_][\w\u064b-\u065f]{0,63}(?:[.-]\w{1,63}){0,3})"  # not "@7", "@20h"
    "|<(?:@[!&]?|#)[0-9]{5,20}>"  # Discord
)


def mentions(texts: Texts, rows: I64) -> I64:
    """Return the spans of each @name, of WhatsApp's mentions between isolate characters, and of Discord's ids."""
    view, found, end = memoryview(texts.data), [], 0  # type: ignore[arg-type]
    for before, start, stop in C.mention_signs(*texts, rows).tolist():
        if start >= end:
            m = _MENTION.match(str(view[before:stop], "utf-8"), int(start > before))
            if m:
                end = start + len(m[0].encode())
                found.append((start, end))
    return _array(found)


_EDITED = re.compile("[ \u00a0]?\u200e<[^<>\n\x1d\x1e]{4,80}>(?=\x1e|\\Z)")


def edit_marks(text: str) -> Iterator[Span]:
    """Yield the (start, end) of each edit mark that WhatsApp added to a message's end, in any language.

    An edit mark is a direction mark followed by words in <>.
    """
    return (m.span() for m in _EDITED.finditer(text))


_SINGLE = "hkه\u062e\u314b\u314e"  # hhhh, kkkk, ههههه, خخخخ, ㅋㅋㅋㅋ, ㅎㅎㅎㅎ
_WORDS = {
    "mdr": "mdr{2,}", "ptdr": "ptdr{2,}", "lol": "lo{2,}l+|lol{3,}|(?:lo+){2,}l*", "lmao": "lmao{2,}", "xd": "xd{2,}",
}  # fmt: skip


def _laughs() -> Iterator[str]:
    for c, v in map(tuple, SYLLABLES):
        yield rf"(?=.{{5}})(?:{v}*(?:{c}+{v}+){{2,}}{c}*|(?:{v}+{c}+){{2,}}{v}*)"
    for c in _SINGLE:
        yield "ه[ه\u0640]{3,}" if c == "ه" else rf"{c}{{4,}}"
    yield from _WORDS.values()


_FORMS = (*(2 * s for s in SYLLABLES), *(3 * c for c in _SINGLE), *_WORDS)
_LAUGH = re.compile("|".join(f"({p})" for p in _laughs()), re.IGNORECASE)
_THAI = re.compile(r"(?<=[\u0e00-\u0e7f])( ?5{3})5+(?!\d)")


def laughter(texts: Texts, flags: U16) -> tuple[I64, list[bytes]]:
    """Return (spans of laughter, their short forms): haha for hahahaha, hhh for hhhhhh, 555 for 555555 after Thai.

    - flags: the flags of each text.
    """
    view, found = memoryview(texts.data), []  # type: ignore[arg-type]
    words = C.laughing_words(*texts, np.flatnonzero(flags & LAUGH), characters()).tolist()
    for start, stop in words:
        word = view[start:stop].tobytes()
        short = _laugh(word) if len(word) <= CACHED else _laugh.__wrapped__(word)
        if short != word:
            found.append((start, stop, short))
    rows = np.flatnonzero(flags & FIVES)
    if len(rows):
        fives = in_messages(lambda text: (m.span() for m in _THAI.finditer(text)))(texts, rows)
        found += ((start, stop, view[start:stop].tobytes().rstrip(b"5") + b"555") for start, stop in fives.tolist())
        found.sort()
    return _array((a, b) for a, b, _ in found), [short for *_, short in found]


CACHED = 64  # bytes of a word whose short form is kept


@lru_cache(1 << 14)
def _laugh(data: bytes) -> bytes:
    """Return the short form of a word that is laughter, else the word."""
    word = str(data, "utf-8")
    found = _LAUGH.fullmatch(word)
    if not found:
        return data
    short = _FORMS[(found.lastindex or 1) - 1]
    return (short.upper() if word.isupper() else short.capitalize() if word[0].isupper() else short).encode()


def marks(texts: Texts, rows: I64) -> I64:
    """Return the spans of direction marks and control characters."""
    found: I64 = C.marks(*texts, rows, characters())
    return found


def repeats(most: int) -> Find:
    """Return the search for characters after `most` equal ones in a row, except digits, white space and emoji."""

    def search(texts: Texts, rows: I64) -> I64:
        found: I64 = C.long_runs(*texts, rows, characters(), most)
        return found

    return search


def repeated_emoji(text: str) -> Iterator[Span]:
    """Yield the (start, end) of each emoji that directly follows an equal one."""
    last = (-1, -1)
    for start, end in emoji_spans(text):
        if start == last[1] and text[start:end] == text[slice(*last)]:
            yield start, end
        last = start, end
