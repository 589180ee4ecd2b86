"""Find phone numbers: groups of digits with separators between the groups; a number is always matched whole.

A match begins and ends with a whole group of digits, so that no digits of the number stay in the text. Two numbers next
to each other are both found. The text before and after the digits shows whether they are part of something else, such
as a date.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dataprep.unicode.digits import western

from .labels import is_labelled, is_phone_label

_D = "0-9"  # of the text in which all scripts' digits are Western
_SPACE, _SIGN = " \u00a0\u202f", "-.\u2010\u2011"
_SIGNS = tuple(_SIGN)
_RUN = re.compile(rf"[{_D}](?:[{_D}]+|[{_SIGN}{_SPACE}/()+]{{1,4}}(?=[{_D}]))*")
_GROUP = re.compile(rf"[{_D}]+")
_GAP = re.compile(rf"[{_SIGN}{_SPACE}/()]{{1,3}}")  # inside an international number: +33 (0)6 12
_NATIONAL_GAP = re.compile(rf"[{_SIGN}{_SPACE}/]|\)[{_SIGN}{_SPACE}]?")
_BETWEEN = re.compile(r"[ ,;/-]{1,3}")  # two numbers in a list
_WIDE = str.maketrans("（）＋－．／\u3000", "()+-./ ")  # full-width signs
_INVISIBLE = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_HIDDEN = re.compile(rf"(?<=[{_D}{_SIGN}{_SPACE}/()+])[{_INVISIBLE}]+(?=[{_D}{_SIGN}{_SPACE}/()+])")
_LINKS = ("wa.me/", "phone=", "phone=%2B", "phone=%2b")  # before an international number without a +

FEWEST = 8  # digits of a phone
ARGENTINE = 13  # digits of a number with the 15 of mobile phones
ISBN = 13  # digits
COMPACT = 9  # digits without a sign that are a whole number
ROW = 2  # further groups like those of a number: it is a table
GLUED_LETTERS = 3  # before a number without a space: tel0612345678, but not X0123456789
_LATIN_WORD = re.compile(r"[A-Za-z_\u00c0-\u024f]+\Z")
_BEGINNING = re.compile(  # of a phone: what every form has in front
    rf"\+[{_D}]|(?<![{_D}])0[{_D}]|@[{_D}]|(?:wa\.me/|phone=(?:%2[Bb])?)[{_D}]"
    rf"|(?<![{_D}])[{_D}]{{3}}(?:\) ?|[{_SIGN}])[{_D}]{{3}}[{_SIGN}]"
    rf"|(?<![{_D}])(?:8[ (-]|0 ?\(|[{_D}]{{2}}\)|1[{_D}]{{2}}-[{_D}]{{4}}-)"
)
_EXPONENT = re.compile(r"(?:[0-9.][eE]|\bU)\+\Z")  # 1.5E+12345678, U+30000020
_ARGENTINE = re.compile(r"0[0-9]{2,4}(?:\)[ -]?|[ -])15[ -]?[0-9]{2,4}[ -]?[0-9]{4}")  # 011 15 2345 6789
_PLANS = re.compile(  # numbers of one country without a leading 0 and digits, from their first digit
    r"8(?:[ -]\(?[3489][0-9]{2}\)?[ -]?|\([3489][0-9]{2}\)[ -]?)[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{2}(?![0-9])"  # Russia
    r"|0 ?\([0-9]{3}\)[ -]?[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{2}(?![0-9])"  # Turkey: 0 (532) 123 45 67
    r"|1[3-9][0-9]-[0-9]{4}-[0-9]{4}(?![0-9])"  # China
    r"|(?<=\()[0-9]{2}\) ?(?!(?:19|20)[0-9]{2}-(?:19|20))9?[0-9]{4}-[0-9]{4}(?![0-9])"  # Brazil: (11) 91234-5678
)
_YEAR = rf"(?:[{_D}]{{4}}|[{_D}]{{2}})"
_DATE = re.compile(  # 05.06.2024-06.07.2025, 05.06.2024, 5/6/24, 2024-06-05
    rf"(?<![{_D}])(?<![{_D}][./-])(?:[{_D}]{{1,2}}([./])[{_D}]{{1,2}}\1{_YEAR}-[{_D}]{{1,2}}\1[{_D}]{{1,2}}\1{_YEAR}"
    rf"|[{_D}]{{1,2}}([./-])[{_D}]{{1,2}}\2{_YEAR}"
    rf"|[{_D}]{{4}}([./-])[{_D}]{{1,2}}\3[{_D}]{{1,2}})(?![{_D}]|[./-][{_D}])"
)
_ISBN = re.compile(  # 978 2 07 036038 4, 978 2070360384
    r"(?<![0-9])97[89](?:[ -][0-9]{10}|([ -])[0-9]{1,5}\1[0-9]{1,7}\1[0-9]{1,7}\1[0-9])(?![0-9])"
)
_DAY = re.compile(  # eight digits that are a day: 12 05 2023, 20230512
    r"(?:0?[1-9]|[12][0-9]|3[01])\D?(?:0?[1-9]|1[0-2])\D?(?:19|20)[0-9]{2}"
    r"|(?:19|20)[0-9]{2}\D?(?:0?[1-9]|1[0-2])\D?(?:0?[1-9]|[12][0-9]|3[01])"
)
_POST_CODE = re.compile(r"[0-9]{5}-[0-9]{4}\Z")  # American: 02110-1301


_LENGTHS = {"world": (8, 15), "national": (9, 11), "called": (8, 12)}  # digits by form


class _Group(NamedTuple):
    """Digits without a sign: their span in the text, and the digits in Western form."""

    start: int
    end: int
    digits: str


def phones(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each phone number in a line of text, as offsets in characters."""
    plain = text if text.isascii() else western(text).translate(_WIDE)
    hidden = [] if plain.isascii() else [m.span() for m in _HIDDEN.finditer(plain)]
    if not hidden:
        yield from _phones(plain)
        return
    skipped = {i for a, b in hidden for i in range(a, b)}
    at = [i for i in range(len(plain)) if i not in skipped]
    for start, end in _phones("".join(plain[i] for i in at)):
        yield at[start], at[end - 1] + 1


class _Run(NamedTuple):
    """Groups of digits with signs between them that may be in a number; called: a label calls this group a phone."""

    text: str
    groups: Sequence[_Group]
    called: int


def _phones(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each phone number in a line with Western digits only."""
    end, called = -1, False  # of the last phone: its end, and whether a label called it a phone
    others: Sequence[tuple[int, int]] | None = None
    for m in _RUN.finditer(text):
        if m.end() - m.start() < FEWEST:
            continue
        called = is_phone_label(text, m.start()) or (called and _is_list(text, end, m.start()))
        if not called and not _BEGINNING.search(text, max(0, m.start() - 9), m.end()):
            continue
        if others is None:
            books = (m.span() for m in _ISBN.finditer(text) if sum(map(str.isdigit, m[0])) == ISBN)
            others = sorted([*(m.span() for m in _DATE.finditer(text)), *books])
        run = _Run(text, [_Group(*m.span(), m[0]) for m in _GROUP.finditer(text, *m.span())], 0 if called else -1)
        at = 0
        while at < len(run.groups):
            start = run.groups[at].start
            other = bisect_right(others, (start, len(text))) - 1
            last = None if other >= 0 and start < others[other][1] else _last(run, at, end)
            if last is None:
                at += 1
                continue
            yield _first(text, start, text[run.groups[at].end : run.groups[last].end]), run.groups[last].end
            end, at = run.groups[last].end, last + 1
            run = run._replace(called=at if called else -1)


def _is_list(text: str, end: int, start: int) -> bool:
    """Return whether a number that begins at `start` is the next one in a list after a phone that ends at `end`."""
    return 0 <= end <= start and _BETWEEN.fullmatch(text, end, start - (text[start - 1] in "+(")) is not None


def _is_compact(group: _Group) -> bool:
    return len(group.digits) >= COMPACT


def _first(text: str, start: int, rest: str) -> int:
    """Return the first character of a phone whose digits begin at `start`: its + or its bracket, if it has one."""
    if text[start - 1 : start] == "+":
        return start - 1
    return start - 1 if text[start - 1 : start] == "(" and rest.count(")") > rest.count("(") else start


def _last(run: _Run, at: int, end: int) -> int | None:
    """Return the last group of the phone that begins at group `at`; None if there is none.

    end: where the last phone before it ends.
    """
    text, start, ends = run.text, run.groups[at].start, _ends(run, at)
    in_list = _is_list(text, end, start)
    if not ends or is_labelled(text, start) or not (in_list or _may_begin(text, start)):
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
    text, (start, _, digits) = run.text, run.groups[at]
    before = text[start - 1 : start]
    if before == "+" and (digits[0] != "0" or len(digits) > 1):
        return None if _EXPONENT.search(text, max(0, start - 3), start) else "world"
    if begins := re.match("0(0?)[1-9]", digits):
        return "world" if begins[1] else "national"
    further = text[start - 2 : start - 1]
    mention = before == "@" and not (further.isalnum() or further == "_")
    mention = mention or text[max(0, start - 9) : start].endswith(_LINKS)
    if mention and 10 <= len(digits) <= 15 and digits[0] != "0":
        return "mention"
    if _american(run, at) is not None or _plan(run, at) is not None:
        return "whole"
    return "called" if at == run.called and not digits.startswith("00") else None


def _american(run: _Run, at: int) -> int | None:
    """Return the last group of (212) 555-0123, 212.555.0123 or 1-212-555-0123."""
    text, groups = run.text, run.groups
    first = at + 1 if groups[at].digits == "1" else at
    if len(groups) < first + 3 or [len(g.digits) for g in groups[first : first + 3]] != [3, 3, 4]:
        return None
    if groups[first].digits[0] < "2" or groups[first + 1].digits[0] < "2":
        return None
    gaps = [text[a.end : b.start] for a, b in zip(groups[at:], groups[at + 1 : first + 3], strict=False)]
    bracket = text[groups[first].start - 1] == "(" and gaps[first - at] in (")", ") ") if groups[first].start else False
    signed = gaps[-1] in _SIGNS and (bracket or gaps[-2] in _SIGNS)
    if first > at:
        signed = signed and gaps[0] in (*_SIGNS, " ", " (", "-(")
    return first + 2 if signed else None


def _plan(run: _Run, at: int) -> int | None:
    """Return the last group of a number by the plan of one country, such as 8 (495) 555-01-23; None if it is none."""
    m = _PLANS.match(run.text, run.groups[at].start)
    return next(k for k in range(at, len(run.groups)) if run.groups[k].end == m.end()) if m else None


def _ends(run: _Run, at: int) -> list[int]:
    """Return the groups that a number beginning at group `at` may end with, in order; none if no phone begins so."""
    text, groups, form = run.text, run.groups, _form(run, at)
    if form is None:
        return []
    if form == "mention":
        return [at]
    if form == "whole":
        return [last for last in (_american(run, at), _plan(run, at)) if last is not None][:1]
    if form == "national" and (m := _ARGENTINE.match(text, groups[at].start)):
        last = next((k for k in range(at, len(groups)) if groups[k].end == m.end()), None)
        if last is not None and sum(len(g.digits) for g in groups[at : last + 1]) == ARGENTINE:
            return [last]
    (fewest, most), gap = _LENGTHS[form], _GAP if form == "world" else _NATIONAL_GAP
    prefix = 2 if groups[at].digits[:2] == "00" else 0
    found, n = [], -prefix
    for k in range(at, len(groups)):
        between = text[groups[k - 1].end : groups[k].start]
        if k > at and (not gap.fullmatch(between) or _is_compact(groups[k - 1])):
            break
        n += len(groups[k].digits)
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
    text, groups = run.text, run.groups
    size, gap = len(groups[at].digits), text[groups[at].end : groups[at + 1].start]

    def joined(k: int) -> bool:
        a, b = groups[k], groups[k + 1]
        return len(a.digits) == len(b.digits) == size and text[a.end : b.start] == gap

    if not all(joined(k) for k in range(at, last)):
        return False
    after = last + 1 < len(groups) and _form(run, last + 1) is None
    more = sum(joined(k) for k in range(last, min(last + 2, len(groups) - 1))) if after else 0
    return more + sum(joined(k) for k in range(max(0, at - 2), at)) >= ROW


def _may_end(run: _Run, at: int, last: int) -> bool:
    """Return whether what follows a number lets it end there, and whether its digits are something else."""
    text, groups, start, end = run.text, run.groups, run.groups[at].start, run.groups[last].end
    after, further = text[end : end + 1], text[end + 1 : end + 2]
    if after and (after == "_" or (after.isascii() and after.isalpha())):
        return False
    begins = last + 1 < len(groups) and _ends(run, last + 1)
    if after and after in ".:" + _SIGN and _GROUP.fullmatch(further) and not begins:
        return False
    digits = [g.digits for g in groups[at : last + 1]]
    steps = {int(b) - int(a) for a, b in itertools.pairwise(digits)}
    return not (
        (len(digits) > 3 and digits[0][0] == "0" and len(steps) == 1 and steps != {0})  # 01 02 03 04 05, 06 12 18 24
        or (len(digits) > 1 and all(len(d) == 8 and set(d) <= set("01") for d in digits))  # bits
        or (at == run.called and _form(run, at) == "called" and _DAY.fullmatch(text, start, end))
        or _POST_CODE.fullmatch(text, start, end)
        or (text[start - 1 : start] == "/" and _is_isbn("".join(digits)))
    )


def _is_isbn(digits: str) -> bool:
    """Return whether ten digits are an ISBN-10: weighted 10 to 1, they sum to a multiple of 11."""
    return len(digits) == 10 and sum(w * int(d) for w, d in zip(range(10, 0, -1), digits, strict=True)) % 11 == 0
