"""Phone numbers with words attached (0612345678merci), with extensions (x4587), or with double blanks in them.

Slow reference for the tests: tests/twins/glued.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator

FEWEST, MOST = 8, 15  # digits of a number to which a word may be attached
FEWEST_CAPITALS = 4  # letters of a word in capitals before a number
FEWEST_WORLD = 7  # after a +
REACH = 28  # characters of such a number
CUT = "\x1f"  # the sign that replaces the first letter of an attached word
FEWEST_WIDE, MOST_WIDE = 8, 13  # digits of a number with two blanks
_SITE = re.compile("[0-9](?=[A-Za-z_])")
_EXTENSION = r"(?:x|ext(?:n|ension)?|poste|anexo|ramal|interno|доб|durchwahl)"
_GLUED = re.compile(  # a word of three letters, or an extension
    r"(?:[A-Za-z][a-z]{2,}|[A-Z]{3,})(?![A-Za-z0-9_])|_[A-Za-z]{3,}(?![\w.])"
    rf"|(?i:{_EXTENSION})\.?[ :]?[0-9]{{1,6}}(?![0-9A-Za-z_])"
)
_GLUED_WORLD = re.compile("_?[A-Za-z]+(?![0-9A-Za-z_])|" + _GLUED.pattern)
_NUMBER = re.compile(r"(?:\+|(?<![0-9.,:/-])\(?)[0-9](?:[ ().\-/]{0,2}[0-9])*\Z")
_ATTACHED = re.compile(
    r"(?<![\w@#=/\\.-])[^\W\d_]{3,}"
    r"(?=(?:\(?0[0-9]{0,4}\)?(?:[ .-][0-9]{1,5}){1,4}|\([0-9]{1,4}\)(?:[ .-]?[0-9]{2,5}){1,4}"
    r"|0[0-9]{2,4}[ .-][0-9]{6,8}|[0-9]{3,5}(?:[ .-][0-9]{2,5}){1,3}"
    r"|[0-9]{2}(?:(?:[ .-][0-9]{2}){3,4}|(?:[ .-][0-9]{3}){2}))"
    r"(?![0-9_]|[.,:/-][0-9]))"
)
_DIGITS_APART = re.compile("[0-9][ .)-][0-9]")
_ARABIZI = re.compile("(?<=[0-9]) (?=[1-9](?![A-Fa-f]+\\b)[A-Za-z]{2,}(?![0-9_]))")  # before 3afak, 9bel, 7it
_HEX = frozenset("abcdef")
_AFTER = re.compile(rf"[ ,;]{{0,2}}(?:{_EXTENSION}\.?[ :]{{0,2}}|\# ?)[0-9]{{1,6}}(?![0-9A-Za-z_])", re.IGNORECASE)
_WIDE = re.compile(  # 0612  345 678, (506)  234-5678, 0  801 23 45 67, 8  (495) 555-01-23, 1-800  123 4567
    r"(?<![0-9A-Za-z])(?<![0-9][ .,:/-])"
    r"(?:\(?0[0-9]{0,5}\)?(?:[ ./-][0-9]{1,4}){0,3}|\([1-9][0-9]{0,3}\)|[1-9][0-9]{0,4}(?:[./-][0-9]{1,4}){0,2})"
    r"(?P<gap>  )(?:[0-9]{1,9}\)?|\([0-9]{1,5}\) ?[0-9]{1,7})(?:[ ./-][0-9]{1,6}){0,4}"
    r"(?![0-9A-Za-z]| {1,2}[0-9]|[.,:/-][0-9])"
)


def parted(text: str) -> str:
    """Return a text of the same length in which a sign replaces the first letter of words attached to a number.

    Words of fewer than three letters, such as units, and words of hexadecimal digits are not separated from a number,
    unless the number begins with a +. The sign also replaces the space between a number and a word of Arabizi that
    begins with a digit (06 12 34 56 78 3afak).
    """
    text = _ARABIZI.sub(CUT, text)
    cuts = [m.end() for m in _SITE.finditer(text) if _is_glued(text, m.end())]
    if not cuts:
        return text
    pieces, at = list[str](), 0
    for cut in cuts:
        pieces += [text[at:cut], CUT]
        at = cut + 1
    return "".join([*pieces, text[at:]])


def _is_glued(text: str, end: int) -> bool:
    """Return whether a word is attached to a number that ends at `end`."""
    number = _NUMBER.search(text, max(0, end - REACH), end)
    if number is None:
        return False
    world = number[0].startswith("+")
    word = (_GLUED_WORLD if world else _GLUED).match(text, end)
    n = sum(map(str.isdigit, number[0]))
    if word is None or not (FEWEST_WORLD if world else FEWEST) <= n <= MOST:
        return False
    return not _HEX.issuperset(word[0].lower())


def attached(text: str) -> list[int]:
    """Return the offsets at which a number of several groups follows a word directly: merci0172 0038 9344.

    The word is not hexadecimal. It has at least three letters, of which only the first may be a capital; or four
    capitals, if the number begins with 0. A first group of one or two digits may belong to the word instead (Author12
    212-555-0123), unless its size suits the other groups.
    """
    words = _ATTACHED.finditer(text) if _DIGITS_APART.search(text) else ()
    return [m.end() for m in words if _is_word(m[0], text[m.end() : m.end() + 2]) and not _HEX.issuperset(m[0].lower())]


def _is_word(word: str, begins: str) -> bool:
    """Return whether a word that is attached to a number is no code, given how the number begins."""
    return word[1:].islower() or (len(word) >= FEWEST_CAPITALS and "0" in begins and word.isupper())


def with_extension(text: str, end: int) -> int:
    """Return the end of the extension of a phone number that ends at `end` (`x204`, `ext. 12`, `#3`); else `end`."""
    found = _AFTER.match(text, end)
    return found.end() if found else end


def wide_gaps(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the second of two blanks between the groups of a national number."""
    if "  " in text:
        for m in _WIDE.finditer(text):
            if FEWEST_WIDE <= sum(map(str.isdigit, m[0])) <= MOST_WIDE:
                yield m.end("gap") - 1, m.end("gap")
