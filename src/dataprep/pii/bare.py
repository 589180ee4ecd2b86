"""Phone numbers that begin with neither + nor 0, identified by their grouping or by words near them.

Slow reference for the tests: tests/twins/bare.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .candidates import GLUED_LETTERS
from .context import OTHERS, PHONES, UNKNOWN, is_amount, topic
from .countries import is_mobile, mobiles
from .labels import is_joined, is_labelled, is_phone_key, is_phone_label
from .lone import is_lone
from .plans import shows_phone

FEWEST, MOST = 8, 13  # digits
NEAREST = 2  # number of words searched before a number whose groups show that it is a phone number
ADDRESS = 60  # characters between a number and an e-mail address in a list of contacts
NEAR = 40  # characters next to a number whose letters are checked
_CHAIN = re.compile(r"(?:0[0-9]{1,3} ?[/-] [0-9]|[0-9])[0-9]*(?:(?:[ ./-]|\)[ -]?| ?\((?=[0-9]+\)))[0-9]+)*")
_MIXED = re.compile("(?![(])(?:[^.]*[ -].*[.]|.*[.].*[ -])")  # 880.00 79.00
_FIGURES = re.compile(".*/[0-9]$|(?!0)(?:.*[^0-9][0-9](?![0-9])|.*[ .-]/)|.*/.*/")  # 7-11/16 7 3/4
_BEFORE = re.compile(
    r"(?<![0-9A-Za-z_\u00c0-\u024f$€£¥₹₽₺#+])(?<![0-9][ ./:-])(?<![$€£¥₹₽₺#№] )(?<![0-9][A-Z]/)"
    r"(?<![0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-)"
)
_END = re.compile(
    r"(?![0-9A-Za-z_\u00c0-\u024f%°$€£¥])"
    r"(?![.:/-][0-9]|,[0-9]{1,2}(?![0-9]))(?! [0-9]{1,3}(?![0-9:/.-]))"
)
_TIMES = re.compile("(?:(?:[01][0-9]|2[0-3])[0-5][0-9](?: |$)){3}")  # 0710 0810 0910
_THREES = re.compile("[679][0-9]{2} [0-9]{3} [0-9]{3}")  # 612 345 678 in Spain; an amount, if other numbers are near
_LIST = re.compile("[ ,;/-]{1,3}[(]?")  # between two phones of a list
_SMALL = re.compile(  # dates and prices in the row of a table, beside a phone
    r"(?<![0-9])(?:[0-9]{1,2}([./-])[0-9]{1,2}\1(?:[0-9]{2}){1,2}|[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,4}[.,][0-9]{2})(?![0-9])"
)
_DIGIT, _OTHER = re.compile("[0-9]"), re.compile("[^0-9]")
_BRAZIL = re.compile("9[0-9]{4}-[0-9]{4}")  # also a post code of the west of the United States
_STATE = re.compile(r"\b[A-Z]{2} \Z")  # before a post code
_LISTED = re.compile(r"/\(?(?:[0-9][ .()-]?){8}")  # before the next phone of a list
_CODE = re.compile("([1-9][0-9]{0,2})[ -]")
_ADDRESS = re.compile(r"\w@\w[\w-]*\.\w")
_YEAR = "(?:19|20)[0-9]{2}"
_DATE = re.compile("|".join((  # dates, years, post codes and private addresses
    rf"{_YEAR}[./ -]?(?:0[1-9]|1[0-2])[./ -]?(?:[0-2][0-9]|3[01])(?![0-9])",
    rf"{_YEAR}(?:[./]| ?[-/ ] ?{_YEAR}(?![0-9]))",
    "[0-9]{5}-[0-9]{3,4}(?![0-9])",
    "[0-9]{1,3}(?:[.][0-9]{1,3}){3}(?![0-9])",
    rf"(?:[0-2]?[0-9]|3[01])[./ -]?(?:0?[1-9]|1[0-2])[./ -]?{_YEAR}(?![0-9])",
    rf"{_YEAR}(?:0[1-9]|1[0-2])(?:[0-2][0-9]|3[01])[0-9]{{4}}",
)))  # fmt: skip


# Mobile phones without their 0 in a line that has letters of the script of their country.
_AT_HOME = (
    (re.compile("[\u0900-\u0dff]"), re.compile("[6-9][0-9]{9}")),  # India
    (re.compile("[\u0370-\u03ff]"), re.compile("69[0-9]{8}|2[1-8][0-9]{8}")),  # Greece
    (re.compile("[\u0400-\u04ff]"), re.compile("9[0-9]{9}")),  # Russia
    (re.compile("[\u10a0-\u10ff]"), re.compile("5[0-9]{8}")),  # Georgia
    (re.compile("[\uac00-\ud7af]"), re.compile("1[568][0-9]{6}")),  # Korea: 1588-1234
)


def is_home(text: str, start: int, end: int) -> bool:
    """Return whether the digits text[start:end] are a mobile number of the country whose script is used nearby."""
    near = text[max(0, start - NEAR) : start].rpartition("\n")[2] + text[end : end + NEAR].partition("\n")[0]
    if near.isascii():
        return False
    digits = _OTHER.sub("", text[start:end])
    return any(number.fullmatch(digits) and script.search(near) for script, number in _AT_HOME)


def is_alone(text: str, start: int, end: int) -> bool:
    """Return whether text[start:end] is three groups of three digits with no other large number nearby."""
    if not _THREES.fullmatch(text, start, end):
        return False
    near = text[max(0, start - NEAR) : start].rpartition("\n")[2] + " " + text[end : end + NEAR].partition("\n")[0]
    return not re.search("[0-9]{3}", _SMALL.sub("", near))


def joined(text: str, start: int, stop: int, found: list[tuple[int, int]], end: int) -> list[tuple[int, int]]:
    """Return the phone numbers of the run text[start:stop], including those that begin with neither + nor 0.

    - found: the phone numbers that begin with + or 0.
    - end: the offset at which the last phone number before the run ends; -1 if there is none.
    """
    out = list(found)
    for a, b, sure in numbers(text, start, stop):
        inside = [span for span in found if span[0] < b and a < span[1]] if found else []
        if inside and not (sure and a <= inside[0][0] and inside[-1][1] <= b):
            continue
        before = max([last for _, last in out if last <= a], default=end) if out else end
        listed = 0 <= before < a and (_LIST.fullmatch(text, before, a) is not None or is_joined(text, before, a))
        if is_phone(text, a, b, sure=sure, listed=listed or is_like(text, before, a, b)):
            out = [span for span in out if span not in inside] + [(a, b)]
    return sorted(out)


def numbers(text: str, start: int, stop: int) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, whether the grouping is conclusive) of possible phone numbers in the run text[start:stop]."""
    for a, b in [span for m in _CHAIN.finditer(text, start, stop) for span in _parts(m)]:
        opened = text[a - 1 : a] == "(" and text.count(")", a, b) > text.count("(", a, b)
        whole = text[a - opened : b].removeprefix("00 ")
        digits = _OTHER.sub("", whole)
        if not FEWEST <= len(digits) <= MOST:
            continue
        first = a - opened
        first -= 2 * (text[first - 2 : first] == "+ " and is_mobile(digits))
        behind = b < stop and text[b] == "/" and _LISTED.match(text, b)  # the next phone of a list
        listed = first > start and text[first - 1] == "/"
        if not (_BEFORE.match(text, first) or listed or is_glued_to_label(text, first)):
            continue
        if not (behind or _END.match(text, b)):
            continue
        mixed = _MIXED.match(whole)
        sure = not mixed and is_sure(whole, digits)
        if sure or not (mixed or _FIGURES.match(whole)) or is_home(text, first, b):
            yield first, b, sure


def is_glued_to_label(text: str, start: int) -> bool:
    """Return whether a phone label of at least three letters ends at `start`: tel12-34 567."""
    return start >= GLUED_LETTERS and text[start - GLUED_LETTERS : start].isalpha() and is_phone_label(text, start)


def _parts(chain: re.Match[str]) -> list[tuple[int, int]]:
    """Return (start, end) of the numbers in a chain: one, or those between its slashes if it is too long for one."""
    a, b = chain.span()
    if b - a <= MOST or "/" not in chain[0] or sum(map(str.isdigit, chain[0])) <= MOST:
        return [(a, b)]
    return [(a + part.start(), a + part.end()) for part in re.finditer("[^/]+", chain[0])]


def is_sure(whole: str, digits: str) -> bool:
    """Return whether the grouping of a number shows that it is a phone number."""
    if shows_phone(whole, digits):
        return not _rises(whole) and not _TIMES.fullmatch(whole)
    code = _CODE.match(whole)
    if code and code[1] in mobiles():
        return is_mobile(digits)
    return whole == digits and is_mobile(digits) and not (len(digits) == MOST and _is_ean(digits))


def is_phone(text: str, start: int, end: int, *, sure: bool, listed: bool) -> bool:
    """Return whether the number text[start:end] is a phone number, by its grouping or by the words near it.

    - sure: whether the grouping indicates a phone number, unless a word indicates something else.
    - listed: whether the number follows a phone number in a list.
    """
    sure = sure or is_home(text, start, end) or is_alone(text, start, end)
    if is_amount(text, end) or is_labelled(text, start):
        return False
    if text[start - 1 : start] == "=" and not is_phone_key(text, start):
        return False
    if sure:
        return topic(text, start, end, NEAREST) != OTHERS
    about = topic(text, start, end)
    in_contacts = about == UNKNOWN and _has_address(text, start, end)
    lone = about == UNKNOWN and is_lone(text, start, end)
    if about == PHONES and _BRAZIL.fullmatch(text, start, end) and not _STATE.search(text, 0, start):
        return True
    return (listed or in_contacts or about == PHONES or lone) and not is_dated(text, start)


def is_dated(text: str, start: int = 0) -> bool:
    """Return whether a date, two years, a post code or a private IP address begins at `start`."""
    return _DATE.match(text, start) is not None


def is_like(text: str, end: int, start: int, stop: int) -> bool:
    """Return whether text[start:stop] is grouped like the end of a nearby number: 00420 221 627 978 ... 221 214 960."""
    size = stop - start
    if not (size <= end < start <= end + ADDRESS) or "\n" in text[end:start] or " " not in text[start:stop]:
        return False
    one, other = (_DIGIT.sub("0", text[a : a + size]) for a in (start, end - size))
    return one == other and not text[end - size - 1 : end - size].isdigit()


def _has_address(text: str, start: int, end: int) -> bool:
    """Return whether an e-mail address is near a number, as in a list of contacts."""
    if text.find("@", max(0, start - ADDRESS), end + ADDRESS) < 0:
        return False
    before, after = text[max(0, start - ADDRESS) : start], text[end : end + ADDRESS]
    near = before.rpartition("\n")[2] + " " + after.partition("\n")[0]
    return _ADDRESS.search(near) is not None


def _rises(whole: str) -> bool:
    groups = re.findall("[0-9]+", whole)
    return len({len(g) for g in groups[1:]}) == 1 and groups == sorted(groups) and len(groups) > 3


def _is_ean(digits: str) -> bool:
    """Return whether 13 digits have the check digit of a barcode."""
    return (sum(map(int, digits[::2])) + 3 * sum(map(int, digits[1::2]))) % 10 == 0
