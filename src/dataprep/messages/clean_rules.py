"""The rules of CleanMessages: patterns for links, mentions, laughter and others, and their replacement.

The patterns take linear time. A rule works on many messages at once, joined by the character BETWEEN; no match spans
it, and no rule removes it. Links and addresses are searched only in words with a dot, a :// or an @.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dataprep.pii import rules
from dataprep.unicode.text import DECIMAL, SPACE, classes

from .emoji import PARTS, emoji_spans

BETWEEN = "\x1e"  # between two messages
HIDDEN = "\x1d"  # represents a link that is kept, so that no other rule changes it
Span: TypeAlias = tuple[int, int]
Change: TypeAlias = Callable[[str], tuple[str, int]]  # returns the new text and the number of changes

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
_DOT = re.compile(r"\.(?=\w)|://")  # every link has one
_AT = re.compile("@")
_SPACE = re.compile(r"\s")
_NOT_LAST = ".,;:!?'*_~\u2019\u2026\u060c\u061b\u061f"  # at the end they belong to the sentence
_CLOSING = {")": "(", "]": "[", "}": "{"}


def links(text: str) -> Iterator[Span]:
    """Yield the (start, end) of each URL: with a scheme, with www., or bare as in youtu.be/x and example.org."""
    for m in (m for start, stop in _words_with(_DOT, text) for m in _LINK.finditer(text, start, stop)):
        start, end = m.span()
        unopened = {c: m[0].count(c) - m[0].count(o) for c, o in _CLOSING.items()}
        while text[end - 1] in _NOT_LAST or unopened.get(text[end - 1], 0) > 0:
            end -= 1
            unopened[text[end]] = unopened.get(text[end], 0) - 1
        yield start, end


def _words_with(sign: re.Pattern[str], text: str) -> Iterator[Span]:
    """Yield the (start, end) of each run of characters other than white space in which `sign` occurs."""
    stop = 0
    for m in sign.finditer(text):
        start = m.start()
        if start >= stop:
            while start > stop and not text[start - 1].isspace():
                start -= 1
            space = _SPACE.search(text, m.end())
            stop = space.start() if space else len(text)
            yield start, stop


_MENTION = re.compile(
    "@\u2068[^\u2069\n\x1e]{1,100}\u2069"  # WhatsApp: a name between isolates
    r"|(?<![\w@./+-])@(?:\+?[0-9]{6,16}(?!\w)|[^\W\d_][\w\u064b-\u065f]{0,63}(?:[.-]\w{1,63}){0,3})"  # not "@7", "@20h"
    "|<(?:@[!&]?|#)[0-9]{5,20}>"  # Discord
)


_MENTION_SIGN = re.compile("[@<]")  # with which a mention begins


def emails(text: str) -> Iterator[Span]:
    """Yield the (start, end) of each e-mail address, as the filter PII finds them."""
    for start, stop in _words_with(_AT, text):
        yield from ((start + f.start, start + f.end) for f in rules.find(text[start:stop], ("email",)))


def phones(text: str) -> Iterator[Span]:
    """Yield the (start, end) of each phone number, as the filter PII finds them; 3lach and 2026 are not numbers."""
    return ((f.start, f.end) for f in rules.find(text, ("phone",)))


def mentions(text: str) -> Iterator[Span]:
    """Yield the (start, end) of each @name, of WhatsApp's mentions between isolate characters, and of Discord's ids."""
    end = 0
    for sign in _MENTION_SIGN.finditer(text):
        if sign.start() >= end and (m := _MENTION.match(text, sign.start())):
            end = m.end()
            yield m.span()


_EDITED = re.compile("[ \u00a0]?\u200e<[^<>\n\x1e]{4,80}>(?=\x1e|\\Z)")


def edit_marks(text: str) -> Iterator[Span]:
    """Yield the (start, end) of each edit mark that WhatsApp put at a message's end, in any language.

    An edit mark is a direction mark followed by words in <>.
    """
    return (m.span() for m in _EDITED.finditer(text))


_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1c\x1f\x7f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def visible(text: str) -> tuple[str, int]:
    """Remove direction marks and control characters; return (new text, number of characters removed)."""
    return _INVISIBLE.subn("", text)


_SYLLABLES = ("ha", "he", "hi", "ho", "hu", "ja", "je", "xa", "ха", "хе", "хи", "ها", "wk", "rs")
_SINGLE = "hkه\u062e\u314b\u314e"  # hhhh, kkkk, ههههه, خخخخ, ㅋㅋㅋㅋ, ㅎㅎㅎㅎ
_WORDS = {
    "mdr": "mdr{2,}", "ptdr": "ptdr{2,}", "lol": "lo{2,}l+|lol{3,}|(?:lo+){2,}l*", "lmao": "lmao{2,}", "xd": "xd{2,}",
}  # fmt: skip


def _laughs() -> Iterator[str]:
    for c, v in map(tuple, _SYLLABLES):
        yield rf"(?=.{{5}})(?:{v}*(?:{c}+{v}+){{2,}}{c}*|(?:{v}+{c}+){{2,}}{v}*)"
    for c in _SINGLE:
        yield "ه[ه\u0640]{3,}" if c == "ه" else rf"{c}{{4,}}"
    yield from _WORDS.values()


_MOST_LETTERS = 4  # different ones in a word that is laughter: ptdr, lmao
_FORMS = (*(2 * s for s in _SYLLABLES), *(3 * c for c in _SINGLE), *_WORDS)
_LAUGH = re.compile("|".join(f"({p})" for p in _laughs()), re.IGNORECASE)
_WORD = re.compile(r"(\w{3,})")
_THAI = re.compile(r"(?<=[\u0e00-\u0e7f])( ?5{3})5+(?!\d)")


def laughter(text: str) -> tuple[str, int]:
    """Shorten laughter: hahahaha to haha, hhhhhh to hhh, 555555 after Thai to 555; return (text, number of changes)."""
    parts = _WORD.split(text)  # at odd places the words
    words = parts[1::2]
    few = (w for w in set(words) if len(set(w.casefold())) <= _MOST_LETTERS)
    laughs = {w: short for w in few if (short := _laugh(w)) != w}
    changed = sum(map(laughs.__contains__, words))
    if changed:
        parts[1::2] = [laughs.get(w, w) for w in words]
        text = "".join(parts)
    text, thai = _THAI.subn(r"\1", text)
    return text, changed + thai


@lru_cache(1 << 14)
def _laugh(word: str) -> str:
    """Return the short form of a word that is laughter, else the word."""
    found = _LAUGH.fullmatch(word)
    if not found:
        return word
    short = _FORMS[(found.lastindex or 1) - 1]
    return short.upper() if word.isupper() else short.capitalize() if word[0].isupper() else short


def repeats(most: int) -> Change:
    """Return the rule that shortens runs of a character to `most`, except digits, white space and emoji.

    The rule is a function: text -> (new text, number of changes).
    """

    def change(text: str) -> tuple[str, int]:
        points = np.frombuffer(text.encode("utf-32-le"), "<u4")
        same = points[1:] == points[:-1]
        gone = np.zeros(len(points), np.bool_)  # the `most` characters before are equal to it
        gone[most:] = ~_may_repeat()[points[most:]]
        for first in range(most):
            gone[most:] &= same[first : len(same) - most + 1 + first]
        n = int((gone[1:] & ~gone[:-1]).sum())
        return (points[~gone].tobytes().decode("utf-32-le"), n) if n else (text, 0)

    return change


@cache
def _may_repeat() -> npt.NDArray[np.bool_]:
    """Return for each code point whether it may be repeated: digits, white space and emoji, bool[0x110000]."""
    table: npt.NDArray[np.bool_] = classes() & (DECIMAL | SPACE) != 0
    table[[ord(c) for c in re.findall(f"[{PARTS}]", "".join(map(chr, range(0x2000, 0x20000))))]] = True
    return table


def repeated_emoji(text: str) -> Iterator[Span]:
    """Yield the (start, end) of each emoji that directly follows an equal one."""
    last = (-1, -1)
    for start, end in emoji_spans(text):
        if start == last[1] and text[start:end] == text[slice(*last)]:
            yield start, end
        last = start, end


_BLANK, _END = " \t\u00a0\u202f", "\n" + BETWEEN


def replace(find: Callable[[str], Iterable[Span]], new: str) -> Change:
    """Return the rule that replaces each (start, end) range that `find` yields by `new`.

    The rule is a function: text -> (new text, number of changes). If `new` is "", white space left next to a range is
    removed too.
    """

    def change(text: str) -> tuple[str, int]:
        spans = list(find(text))
        if not spans:
            return text, 0
        parts: list[str] = []
        at = 0
        for start, end in spans if new else _with_white_space(text, spans):
            glue = not new and text[max(0, start - 1) : start].isalnum() and text[end : end + 1].isalnum()
            parts += [text[at:start], " " if glue else new]
            at = end
        return "".join([*parts, text[at:]]), len(spans)

    return change


def _with_white_space(text: str, spans: Iterable[Span]) -> list[Span]:
    """Unite spans that touch, and extend them by white space that would be left double or at a line's end."""
    longer = _united((start, _end_of_blanks(text, start, end)) for start, end in _united(spans))
    return [_with_blanks_before(text, start, end) for start, end in longer]


def _united(spans: Iterable[Span]) -> list[Span]:
    united: list[Span] = []
    for start, end in spans:
        touches = united and start <= united[-1][1]
        united.append((united.pop()[0] if touches else start, end))
    return united


def _end_of_blanks(text: str, start: int, end: int) -> int:
    if not start or text[start - 1] in _BLANK or text[start - 1] in _END:
        while end < len(text) and text[end] in _BLANK:
            end += 1
    return end


def _with_blanks_before(text: str, start: int, end: int) -> Span:
    ends_line = end == len(text) or text[end] in _END
    if ends_line or text[end] in ".,)":
        while start and text[start - 1] in _BLANK:
            start -= 1
    if ends_line and start and text[start - 1] == "\n":  # all of a line, or of the rest of a text
        start -= 1
    elif text[end : end + 1] == "\n" and (not start or text[start - 1] == BETWEEN):
        end += 1
    return start, end
