"""Find phone numbers: groups of digits with separators between the groups; a number is always matched whole.

A match begins and ends with a whole group of digits, so that no digits of the number stay in the text. Two numbers next
to each other are both found. The text before and after the digits shows whether they are part of something else, such
as a date.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterator

from dataprep.unicode.digits import western

from .labels import is_labelled, is_phone_label
from .others import dates_and_books, is_day, is_isbn, is_post_code

_D = "0-9"  # of the text in which all scripts' digits are Western
_SPACE, _SIGN = " \u00a0\u202f", "-.\u2010\u2011"
_SIGNS = tuple(_SIGN)
_RUN = re.compile(rf"[{_D}](?:[{_D}]+|[{_SIGN}{_SPACE}/()+]{{1,4}}(?=[{_D}]))*")
_GROUP = re.compile(rf"[{_D}]+")
_GAP = re.compile(rf"[{_SIGN}{_SPACE}/()]{{1,3}}")  # inside an international number: +33 (0)6 12
_NATIONAL_GAP = re.compile(rf"[{_SIGN}{_SPACE}/]|\)[{_SIGN}{_SPACE}]?")
_BETWEEN = re.compile(r"[ ,;/-]{1,3}")  # two numbers in a list
_WIDE = ("（）＋－．／\u3000", "()+-./ ")  # full-width signs, and what they are read as
_INVISIBLE = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_INSIDE = rf"[{_D}{_SIGN}{_SPACE}/()+]"
_HIDDEN = re.compile(rf"[{_INVISIBLE}](?<={_INSIDE}[{_INVISIBLE}])[{_INVISIBLE}]*(?={_INSIDE})")
_IN_FRONT = "+@/=Bb"  # of the digits: the last characters of +, @ and _LINKS
_LINKS = ("wa.me/", "phone=", "phone=%2B", "phone=%2b")  # before an international number without a +

FEWEST = 8  # digits of a phone
ARGENTINE = 13  # digits of a number with the 15 of mobile phones
SHORT = 3  # digits of a group that begins a number without a sign or 0 in front of it
COMPACT = 9  # digits without a sign that are a whole number
ROW = 2  # further groups like those of a number: it is a table
GLUED_LETTERS = 3  # before a number without a space: tel0612345678, but not X0123456789
_LATIN_WORD = re.compile(r"[A-Za-z_\u00c0-\u024f]+\Z")
# Of a phone: a sign that every form has in front or between its digits; tried first, which makes the search fast.
_BEGINNING = re.compile(
    rf"[+@/=Bb08).{_SIGN[-2:]}-](?:(?<=[+@])[{_D}]|(?<=0)(?<![{_D}]0)(?:[{_D}]| ?\()|(?<=8)(?<![{_D}]8)[ (-]"
    rf"|(?:(?<=wa\.me/)|(?<=phone=)|(?<=phone=%2[Bb]))[{_D}]|(?<=[{_D}]{{2}}\))(?<![{_D}]{{3}}\))"
    rf"|(?<![{_D}]{{4}}[){_SIGN}])(?:(?<=[{_D}]{{3}}\)) ?|(?<=[{_D}]{{3}}[{_SIGN}]))[{_D}]{{3}}[{_SIGN}]"
    rf"|(?<=1[{_D}]{{2}}-)(?<![{_D}]{{4}}-)[{_D}]{{4}}-)"
)
_EXPONENT = re.compile(r"(?:[0-9.][eE]|\bU)\+\Z")  # 1.5E+12345678, U+30000020
_ARGENTINE = re.compile(r"0[0-9]{2,4}(?:\)[ -]?|[ -])15[ -]?[0-9]{2,4}[ -]?[0-9]{4}")  # 011 15 2345 6789
_PLANS = re.compile(  # numbers of one country without a leading 0 and digits, from their first digit
    r"8(?:[ -]\(?[3489][0-9]{2}\)?[ -]?|\([3489][0-9]{2}\)[ -]?)[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{2}(?![0-9])"  # Russia
    r"|0 ?\([0-9]{3}\)[ -]?[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{2}(?![0-9])"  # Turkey: 0 (532) 123 45 67
    r"|1[3-9][0-9]-[0-9]{4}-[0-9]{4}(?![0-9])"  # China
    r"|(?<=\()[0-9]{2}\) ?(?!(?:19|20)[0-9]{2}-(?:19|20))9?[0-9]{4}-[0-9]{4}(?![0-9])"  # Brazil: (11) 91234-5678
)

_SIGNED = re.compile(rf"[().{_SIGN[-2:]}-]|(?<![{_D}])8 ")  # in every American number and those of _PLANS
_LENGTHS = {"world": (8, 15), "national": (9, 11), "called": (8, 12)}  # digits by form


def phones(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each phone number in a line of text, as offsets in characters."""
    plain = text if text.isascii() else western(text, *_WIDE)
    hidden = [] if plain.isascii() else [m.span() for m in _HIDDEN.finditer(plain)]
    if not hidden:
        yield from _phones(plain)
        return
    skipped = [0, *itertools.accumulate(b - a for a, b in hidden)]
    cut = [a - n for (a, _), n in zip(hidden, skipped, strict=False)]
    for start, end in _phones(_HIDDEN.sub("", plain)):
        yield start + skipped[bisect_right(cut, start)], end + skipped[bisect_right(cut, end - 1)]


class _Run:
    """Groups of digits with signs between them that may be in a number.

    start, end: the span of the run in `text`. called: a label calls this group a phone; -1: none.
    """

    def __init__(self, text: str, start: int, end: int, called: int) -> None:
        """Find the groups."""
        self.text, self.span, self.called = text, (start, end), called
        spans = [m.span() for m in _GROUP.finditer(text, start, end)]
        self.starts, self.ends = [a for a, _ in spans], [b for _, b in spans]
        self.digits, self.sizes = [text[a:b] for a, b in spans], [b - a for a, b in spans]
        self.signed = _SIGNED.search(text, start, end) is not None
        self.others: list[tuple[int, int]] | None = None
        self.known: dict[int, list[int]] = {}  # results of `_ends`

    def call(self, at: int) -> None:
        """Set the group that a label calls a phone."""
        if at != self.called:
            self.known.pop(self.called, None)
            self.known.pop(at, None)
            self.called = at

    def is_other(self, start: int) -> bool:
        """Return whether a date or the number of a book begins at or before `start` and ends after it."""
        if self.others is None:
            self.others = dates_and_books(self.text, *self.span)
        before = bisect_right(self.others, (start, len(self.text))) - 1
        return before >= 0 and start < self.others[before][1]


def _phones(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each phone number in a line with Western digits only."""
    end, called = -1, False  # of the last phone: its end, and whether a label called it a phone
    for m in _RUN.finditer(text):
        first, stop = m.span()
        if stop - first < FEWEST:
            continue
        called = is_phone_label(text, first) or (called and _is_list(text, end, first))
        if not called and not _BEGINNING.search(text, max(0, first - 9), stop):
            continue
        run = _Run(text, first, stop, 0 if called else -1)
        at = 0
        while at < len(run.starts):
            start = run.starts[at]
            last = _last(run, at, end) if _ends(run, at) else None
            if last is None or run.is_other(start):
                at += 1
                continue
            yield _first(text, start, text[run.ends[at] : run.ends[last]]), run.ends[last]
            end, at = run.ends[last], last + 1
            run.call(at if called else -1)


def _is_list(text: str, end: int, start: int) -> bool:
    """Return whether a number that begins at `start` is the next one in a list after a phone that ends at `end`."""
    return 0 <= end <= start and _BETWEEN.fullmatch(text, end, start - (text[start - 1] in "+(")) is not None


def _first(text: str, start: int, rest: str) -> int:
    """Return the first character of a phone whose digits begin at `start`: its + or its bracket, if it has one."""
    if text[start - 1 : start] == "+":
        return start - 1
    return start - 1 if text[start - 1 : start] == "(" and rest.count(")") > rest.count("(") else start


def _last(run: _Run, at: int, end: int) -> int | None:
    """Return the last group of the phone that begins at group `at`; None if there is none.

    end: where the last phone before it ends.
    """
    text, start, ends = run.text, run.starts[at], _ends(run, at)
    in_list = _is_list(text, end, start)
    if not (in_list or _may_begin(text, start)) or is_labelled(text, start):
        return None
    may_be_row = not in_list and _form(run, at) in ("national", "called")
    for last in reversed(ends):
        if any(max(_ends(run, k), default=0) > last for k in range(at + 1, last + 1)):
            continue  # it would take the beginning of the next number
        if not (may_be_row and _is_row(run, at, last)) and _may_end(run, at, last):
            return last
    return None


def _form(run: _Run, at: int) -> str | None:
    """Return the form that a number beginning at a group has by its first digits; None if no phone begins so."""
    text, start, digits = run.text, run.starts[at], run.digits[at]
    before = text[start - 1 : start]
    if before == "+" and (digits[0] != "0" or len(digits) > 1):
        return None if _EXPONENT.search(text, max(0, start - 3), start) else "world"
    if digits[0] == "0":
        if digits[1:2] not in ("", "0"):
            return "national"
        if digits[1:2] and digits[2:3] not in ("", "0"):
            return "world"
    elif 10 <= len(digits) <= 15:
        further = text[start - 2 : start - 1]
        mention = before == "@" and not (further.isalnum() or further == "_")
        if mention or text[max(0, start - 9) : start].endswith(_LINKS):
            return "mention"
    if len(digits) <= 3 and (_american(run, at) is not None or _plan(run, at) is not None):
        return "whole"
    return "called" if at == run.called and not digits.startswith("00") else None


def _american(run: _Run, at: int) -> int | None:
    """Return the last group of (212) 555-0123, 212.555.0123 or 1-212-555-0123."""
    text, first = run.text, at + 1 if run.digits[at] == "1" else at
    if run.sizes[first : first + 3] != [3, 3, 4]:
        return None
    if run.digits[first][0] < "2" or run.digits[first + 1][0] < "2":
        return None
    gaps = [text[run.ends[k] : run.starts[k + 1]] for k in range(at, first + 2)]
    bracket = text[max(0, run.starts[first] - 1)] == "(" and gaps[first - at] in (")", ") ")
    signed = gaps[-1] in _SIGNS and (bracket or gaps[-2] in _SIGNS)
    if first > at:
        signed = signed and gaps[0] in (*_SIGNS, " ", " (", "-(")
    return first + 2 if signed else None


def _plan(run: _Run, at: int) -> int | None:
    """Return the last group of a number by the plan of one country, such as 8 (495) 555-01-23; None if it is none."""
    digits = run.digits[at]
    possible = digits in ("8", "0") or (len(digits) == SHORT and digits[0] == "1") or len(digits) == 2
    m = _PLANS.match(run.text, run.starts[at]) if possible else None
    return run.ends.index(m.end()) if m else None


def _ends(run: _Run, at: int) -> list[int]:
    """Return the groups that a number beginning at group `at` may end with, in order; none if no phone begins so."""
    found = run.known.get(at)
    if found is None:
        size, before = run.sizes[at], run.text[max(0, run.starts[at] - 1)]
        short = size <= SHORT and run.signed
        possible = short or run.digits[at][0] == "0" or at == run.called or before in _IN_FRONT
        form = _form(run, at) if possible else None
        found = run.known[at] = _ends_of(run, at, form) if form else []
    return found


def _ends_of(run: _Run, at: int, form: str) -> list[int]:
    """Return the groups that a number of this form beginning at group `at` may end with."""
    text = run.text
    if form == "mention":
        return [at]
    if form == "whole":
        return [last for last in (_american(run, at), _plan(run, at)) if last is not None][:1]
    if form == "national" and (m := _ARGENTINE.match(text, run.starts[at])) and m.end() in run.ends:
        last = run.ends.index(m.end())
        if sum(map(len, run.digits[at : last + 1])) == ARGENTINE:
            return [last]
    (fewest, most), gap = _LENGTHS[form], _GAP if form == "world" else _NATIONAL_GAP
    found, n = [], -2 if run.digits[at][:2] == "00" else 0
    for k in range(at, len(run.digits)):
        if k > at and (len(run.digits[k - 1]) >= COMPACT or not gap.fullmatch(text, run.ends[k - 1], run.starts[k])):
            break
        n += len(run.digits[k])
        if n > most:
            break
        if n >= fewest:
            found.append(k)
    return found


def _may_begin(text: str, start: int) -> bool:
    """Return whether what stands before the digits of a number lets it begin there."""
    if text[start - 1 : start] == "+" or text[max(0, start - 9) : start].endswith(_LINKS):
        return True
    before = start - 1 if text[start - 1 : start] == "(" else start
    if word := _LATIN_WORD.search(text, max(0, before - 16), before):
        further = text[word.start() - 1 : word.start()]
        return len(word[0].strip("_")) >= GLUED_LETTERS and not (further and further.isalnum())
    # Not a decimal, a time, or the end of a longer number.
    return not (text[before - 1 : before] in {*".,:", *_SIGN} and _GROUP.fullmatch(text[before - 2 : before - 1]))


def _is_row(run: _Run, at: int, last: int) -> bool:
    """Return whether it is part of a row of numbers: two more groups like its own precede or follow."""
    if at == last:
        return False
    text, starts, ends, digits = run.text, run.starts, run.ends, run.digits
    size, gap = len(digits[at]), text[ends[at] : starts[at + 1]]

    def joined(k: int) -> bool:
        return len(digits[k]) == len(digits[k + 1]) == size and text[ends[k] : starts[k + 1]] == gap

    if not all(joined(k) for k in range(at, last)):
        return False
    after = last + 1 < len(digits) and _form(run, last + 1) is None
    more = sum(joined(k) for k in range(last, min(last + 2, len(digits) - 1))) if after else 0
    return more + sum(joined(k) for k in range(max(0, at - 2), at)) >= ROW


def _may_end(run: _Run, at: int, last: int) -> bool:
    """Return whether what follows a number lets it end there, and whether its digits are something else."""
    text, start, end = run.text, run.starts[at], run.ends[last]
    after, further = text[end : end + 1], text[end + 1 : end + 2]
    if after and (after == "_" or (after.isascii() and after.isalpha())):
        return False
    begins = last + 1 < len(run.digits) and _ends(run, last + 1)
    if after and after in ".:" + _SIGN and _GROUP.fullmatch(further) and not begins:
        return False
    digits = run.digits[at : last + 1]
    return not (
        (len(digits) > 3 and digits[0][0] == "0" and _counts(digits))  # 01 02 03 04 05, 06 12 18 24
        or (len(digits) > 1 and all(len(d) == 8 and set(d) <= set("01") for d in digits))  # bits
        or (at == run.called and _form(run, at) == "called" and is_day(text, start, end))
        or is_post_code(text, start, end)
        or (text[start - 1 : start] == "/" and is_isbn("".join(digits)))
    )


def _counts(digits: list[str]) -> bool:
    """Return whether all steps from one number to the next are equal, and not 0."""
    steps = {int(b) - int(a) for a, b in itertools.pairwise(digits)}
    return len(steps) == 1 and steps != {0}
