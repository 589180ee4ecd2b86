"""Phone numbers without +, 0 or telling words: the only number of a sentence, grouped like a phone number.

Slow reference for the tests: tests/twins/lone.py
"""

from __future__ import annotations

import re

from .context import speaks_of_other

NEAR = 120  # characters before and after a number in which its sentence is read
MOST_SIGNS = 4  # between a word and a number
PAIR = 59  # lottery numbers do not exceed it


def _groups(*some: str) -> re.Pattern[str]:
    """Return a pattern of groups of digits, in which d represents a digit."""
    return re.compile("|".join(some).replace("d", "[0-9]"))


LONE = _groups(
    "[2-9]d{7}|[5-9]d{8}|[2-9]d{9}|[2-9]d[ -]?9d{8}",  # compact; the last in Brazil
    "[2-9]d[ -]ddd[ -]ddd|[5-9]dd[ -]ddd[ -]ddd|[24579]d[.]ddd[.]ddd|[67]dd[.]ddd[.]ddd",  # 71 886 626 in Tunisia
    "[2-9]ddd[ -]dddd|(?:[2-9]d|9)-?dddd-?dddd|[2-9]dd?[ -]d{6,7}|[26-9]ddd[ -]d{6}|[267]dd[ -]ddddd",
    "[6-9]ddd[ -]ddd[ -]ddd|(?:7d|81|3)/ddd ?ddd|9 d{4,5} ?d{3,4}|2 2ddd dddd|2dd dd dd dd",
    "[2-9]dd-[2-9]d{6}|[2-9]dd/[2-9]dd-dddd",  # 212/555-0123
)
PAIRS = _groups("[2-9]d([ .-])dd\\1dd\\1dd(?:\\1dd)?")
_AMOUNT = re.compile("[0-9]{2,3}[ .][0-9]{3}[ .][0-9]{3}|[0-9]{8,9}")
# The sentence has no other number of four digits, and is no code or table.
_CODE = re.compile(r"[{}<>=_/\\|#@$%&*~^`\"\[\]\t]|[0-9]{4}|[0-9][ .][0-9]{3}")
_SIGNS = " ,:;().!?-\u2013\u2014\u2022\u00ab\u060c\u061b\u3001\u3002\uff0c\uff1a"  # between a word and a number
_BEHIND = re.compile(r"[.,;:!?)\u2026\u061f\u060c\u00bb -]*(?:\Z|[^\W\d_])")
_NO_UNIT = re.compile(
    r"[.,;:!?)\u2026\u061f\u060c\u00bb]+(?:\Z|[ ])|[ ]*\Z| (?:il|elle|c'?est|es|is|he|she|it'?s|merci|svp|stp|please"
    r"|pls|plz|thanks|thx|gracias|grazie|danke|rah|raho|wla|ok|okay|demande|demander|ask|pregunta|dis|dites|tell|si|if"
    r"|quand|when|apr\u00e8s|after|avant|before|ou|or|et|and|y|o)\b"
)
_LETTERS = re.compile(r"[^\W\d_]{2}")
_NEXT = re.compile(r"[ ]?(?:[,;/-]|oder|wla|and|und|ou|or|et|y|o|w|e)[ ]?")  # before another number of a list
_MORE = re.compile(r"[(+]?[0-9](?:[ ./()-]{0,2}[0-9]){7,12}(?![0-9])")


def is_lone(text: str, start: int, end: int) -> bool:
    """Return whether text[start:end], grouped as a phone number, is the only one in a sentence about nothing else."""
    whole = text[start:end]
    if whole.endswith("00") or _rises(whole) or not (LONE.fullmatch(whole) or _is_pairs(whole)):
        return False
    before, after = text[max(0, start - NEAR) : start].rpartition("\n")[2], text[end : end + NEAR].partition("\n")[0]
    other = _NEXT.match(after)
    listed = _MORE.match(after, other.end()) if other else None
    after = after[listed.end() :] if listed else after
    counted = _AMOUNT.fullmatch(whole) and not (listed and other and other[0].strip() in ("/", ",", ";"))
    head, around = before.rstrip(_SIGNS), f"{before} {after}"
    if len(before) - len(head) > MOST_SIGNS or not (head == "" or head[-1].isalpha()):
        return False
    if not (_NO_UNIT if counted else _BEHIND).match(after) or _CODE.search(around) or not _LETTERS.search(around):
        return False
    return not speaks_of_other(before, after)


def _rises(whole: str) -> bool:
    """Return whether a number is a low and a high price separated by a blank: 2345 2365."""
    return len(whole) == 9 and whole[4] == " " and whole[0] == whole[5] and whole[1] <= whole[6]


def _is_pairs(whole: str) -> bool:
    """Return whether a number consists of pairs of digits and is not a row of figures: 22 71 08 64."""
    pairs = [int(pair) for pair in re.findall("[0-9]+", whole)]
    return PAIRS.fullmatch(whole) is not None and max(pairs) > PAIR and pairs != sorted(pairs)
