"""Reader of any chat of the form `time - author: text`; a format string describes the first line of a message.

    dp.read("log.txt", format="chat", line="[{time:%d.%m.%Y %H:%M}] <{author}> {text}")

`{time:...}` holds directives as in `strptime`: %Y %y %m %d %b %B %a %A %H %I %M %S %f %p %%. `{author}` is optional;
`{text}` comes last. A space in the format matches a space or a no-break space; `{{` is a brace. A line of another form
continues the message before it, and so does a line with an impossible time (the 31st of February). The kind of every
message is "text".
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from dataprep.errors import PlanError

from .headed import FirstLine, Headed, since_1970

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
SPACE = "[ \u00a0\u202f]"
WORD = r"[^\W\d_]{2,12}\.?"
DIRECTIVES = {  # English names of months; the day of the week is passed over
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d\d)",
    "m": r"(?P<m>\d{1,2})",
    "d": r"(?P<d>\d{1,2})",
    "b": rf"(?P<b>{WORD})",
    "B": rf"(?P<b>{WORD})",
    "a": WORD,
    "A": WORD,
    "H": r"(?P<H>\d{1,2})",
    "I": r"(?P<I>\d{1,2})",
    "M": r"(?P<M>\d\d)",
    "S": r"(?P<S>\d\d)",
    "f": r"\d{1,9}",
    "p": r"(?P<p>[aApP])\.?[mM]\.?",
    "%": "%",
}
EXAMPLE = "{time:%Y-%m-%d %H:%M} - {author}: {text}"


@dataclass(frozen=True, kw_only=True)
class Chat(Headed):
    """Reads a chat in a text file in which each message starts with a line of a given format.

    Attributes:
        line: format string of such a line, such as "[{time:%d.%m.%Y %H:%M}] <{author}> {text}".
    """

    line: str = EXAMPLE

    def __post_init__(self) -> None:
        super().__post_init__()
        form_of(self.line)

    def begin(self) -> Callable[[str], FirstLine | None]:
        """Return a function that parses a line of the form `self.line` to a FirstLine, and returns None for others."""
        return functools.partial(_begin, form_of(self.line))

    def expected(self) -> str:
        """Return the format string `line` of messages' first lines, for the error about a file without such lines."""
        return f"line={self.line!r}"


class LineForm(NamedTuple):
    """A format string of messages' first lines, as regular expressions.

    Attributes:
        line: matches a first line (groups when, author and text).
        time: matches the time in it.
        named: whether the format string has {author}.
    """

    line: re.Pattern[str]
    time: re.Pattern[str]
    named: bool  # whether it has an author


@functools.cache
def form_of(line: str) -> LineForm:
    """Return the regular expressions for `line`, the format string of a message's first line.

    Raises PlanError with the reason if the format string is not valid.
    """
    fields = _fields(line)
    time = next(_time(form, line) for _, name, form in fields if name == "time")
    groups = {"time": f"(?P<when>{re.sub('[?]P<.>', '?:', time)})", "author": r"(?P<author>\S(?:[^\n]{0,198}?\S)?)"}
    before = "".join(_literal(literal) + groups[name] for literal, name, _ in fields[:-1])
    bare = fields[-1][0].rstrip(" ")
    blank = fields[-1][0][len(bare) :]
    end = f"(?:{_literal(blank)}|\\Z)" if blank else ""  # if the text is empty, the space before it may be missing
    pattern = re.compile(rf"{before}{_literal(bare)}{end}(?P<text>.*)\Z", re.DOTALL)
    return LineForm(pattern, re.compile(time), "author" in pattern.groupindex)


def _fields(line: str) -> list[tuple[str, str, str]]:
    """Check the fields; return (text before, name, format) of each."""
    try:
        parts = [(before, name, form) for before, name, form, _ in string.Formatter().parse(line)]
    except ValueError as e:
        msg = f"line={line!r} is not a format string: {e}; an example is {EXAMPLE!r}"
        raise PlanError(msg) from e
    fields: list[tuple[str, str, str]] = []
    before = ""
    for literal, name, form in parts:  # an escaped brace comes as a part of its own
        before += literal
        if name is not None:
            fields.append((before, name, form or ""))
            before = ""
    names = [name for _, name, _ in fields]
    wrong = (
        next((f"has the unknown field {{{n}}}" for n in names if n not in {"time", "author", "text"}), "")
        or next((f"has {{{n}}} twice" for n in names if names.count(n) > 1), "")
        or next((f"lacks {{{n}}}" for n in ("time", "text") if n not in names), "")
        or ("does not end with {text}" if names[-1] != "text" or before else "")
        or ("has nothing between {author} and {text}" if names[-2:] == ["author", "text"] and not fields[-1][0] else "")
    )
    if wrong:
        msg = f"line={line!r} {wrong}; it must have {{time:...}}, optionally {{author}}, and {{text}} last: {EXAMPLE!r}"
        raise PlanError(msg)
    return fields


def _time(form: str, line: str) -> str:
    """Return the pattern of a time; any text may separate the directives."""
    seen = re.findall(r"%(.?)", form)
    unknown = [d for d in seen if d not in DIRECTIVES]
    if unknown:
        msg = f"line={line!r} has the unknown directive %{unknown[0]}; known are %{' %'.join(DIRECTIVES)}"
        raise PlanError(msg)
    for one in ("Yy", "mbB", "d", "HI"):
        if sum(d in one for d in seen) > 1:
            msg = f"line={line!r} has one part of the time twice: %{' %'.join(d for d in seen if d in one)}; keep one"
            raise PlanError(msg)
    if not all(set(seen) & set(one) for one in ("Yy", "mbB", "d")):
        msg = f"line={line!r} has no date: {{time:...}} needs %Y or %y, %m or %b, and %d"
        raise PlanError(msg)
    pieces = re.split(r"%(.)", form)
    return "".join(DIRECTIVES[p] if i % 2 else _literal(p) for i, p in enumerate(pieces))


def _literal(text: str) -> str:
    return SPACE.join(re.escape(part) for part in text.split(" "))


def _begin(form: LineForm, line: str) -> FirstLine | None:
    """Return the first line of a message, or None if the form does not match or the time is impossible."""
    found = form.line.match(line)
    if not found:
        return None
    time = _seconds(form.time, found["when"])
    return None if time is None else FirstLine(time, found["author"] if form.named else None, found["text"])


@functools.lru_cache(maxsize=1 << 12)
def _seconds(pattern: re.Pattern[str], when: str) -> int | None:
    """Return seconds since 1970 of a written time; None if there is no such time."""
    found = pattern.match(when)
    if not found:
        return None
    groups = found.groupdict()
    month = month_of(groups["b"]) if "b" in groups else int(groups["m"])
    hour, half = int(groups.get("H") or groups.get("I") or 0), groups.get("p")
    if half and 1 <= hour <= 12:
        hour = hour % 12 + 12 * (half in "pP")
    year = int(groups["Y" if "Y" in groups else "y"])
    if "y" in groups:
        year += 1900 if year > 68 else 2000  # as in strptime
    return since_1970(year, month, int(groups["d"]), hour, int(groups.get("M") or 0), int(groups.get("S") or 0))


def month_of(name: str) -> int:
    """Return the number of a month by its first three letters in English, or 0 if the word is not a month."""
    short = name[:3].lower()
    return MONTHS.index(short) + 1 if short in MONTHS else 0
