"""What the words near a number speak of: phones, or other things such as orders, prices and people that are counted."""

from __future__ import annotations

import re
from functools import cache

from .context_words import FILLERS, NEAR_OTHER, NEAR_OTHER_UNSPACED, NEAR_PHONE, NEAR_PHONE_UNSPACED, NUMBER, OWN, UNITS
from .label_words import NOT_PERSONAL, PHONE
from .labels import UNBROKEN, trie, words

PHONES, OTHERS, UNKNOWN = 1, -1, 0  # what the words near a number speak of
BEFORE = 56  # characters before a number in which words are read
WORDS = 6  # words before a number that are read
AFTER = 28  # characters after a number in which words are read
WORDS_AFTER = 4
COMPACT = 10  # digits of a number that "the number of the shop is" names, at most
MOST_BETWEEN = 3  # words between "number" and a number
_ON = re.compile(" (?:पर|pe|par|پر|পে)(?![^\\W_])")
_APART = re.compile(r"[\s_\-./'’‘:：=\"“”«»(（){}\[\]【】「」,،、;؛。।#|<>*+~!?؟&@\\]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_GLUE = ("وال", "بال", "لل", "ال", "و", "ب", "ل", "ف", "ה", "ב", "ל", "ו")  # before a word in Arabic and Hebrew
_WEAK = 2
_SHORT = frozenset(("no", "nr", "nº", "n°", "№", "n", "num"))
_FILLERS = frozenset(words(FILLERS))
_OWN = frozenset(words(OWN))


@cache
def _kinds() -> dict[str, int]:
    """Return what each single word speaks of."""
    plain = re.compile(rf"[^\W{UNBROKEN}]|[\u0590-\u06ff\u0900-\u0dff\u10a0-\u10ff\u1200-\u137f]")
    kinds = {w: OTHERS for w in (*words(NOT_PERSONAL), *words(NEAR_OTHER)) if len(w) > 1 and " " not in w}
    kinds |= {w: PHONES for w in (*words(PHONE), *words(NEAR_PHONE)) if plain.match(w) and " " not in w}
    return kinds | dict.fromkeys(words(NUMBER), _WEAK)


@cache
def _unspaced() -> re.Pattern[str]:
    """Return a pattern that finds the words of scripts without spaces between words."""
    some = [
        [w for w in words(one) if _UNSPACED.match(w)]
        for one in (NEAR_PHONE_UNSPACED + PHONE, NEAR_OTHER_UNSPACED + NOT_PERSONAL, NUMBER)
    ]
    return re.compile(f"(?P<other>{trie(some[1])})|(?P<phone>{trie(some[0])})|(?P<number>{trie(some[2])})")


@cache
def _units() -> re.Pattern[str]:
    signs = [w for w in words(UNITS) if not w[-1].isalpha() or _UNSPACED.match(w)]
    spelt = [w for w in words(UNITS) if w not in signs]
    return re.compile(rf"[ \u00a0\u202f]{{0,2}}(?:{trie(signs)}|{trie(spelt)}(?![^\W_]))", re.IGNORECASE)


def is_amount(text: str, end: int) -> bool:
    """Return whether a unit or a currency follows a number that ends at `end`."""
    return _units().match(text, end) is not None


def topic(text: str, start: int, end: int, most: int = WORDS) -> int:
    """Return what the words near the number text[start:end] speak of: PHONES, OTHERS or UNKNOWN.

    The nearest of `most` words before the number decides; if there is none, one of four words after it.
    """
    window = text[max(0, start - BEFORE) : start].rpartition("\n")[2].lower()
    found = _unspaced_topic(window) if _UNSPACED.search(window) else UNKNOWN
    if found == UNKNOWN:
        found = _spaced_topic(window, most, short=" " in text[start:end] or end - start <= COMPACT)
    return found or _after(text[end : end + AFTER].partition("\n")[0].lower())


def _spaced_topic(window: str, most: int, *, short: bool) -> int:
    """Return what the nearest word speaks of; "number" directly before a number is a phone's, unless a word follows it.

    "No 12345678" and "Teile-Nr. 12345678" are of another thing, "my no 12345678" is a phone.
    """
    kinds, n, number, at = _kinds(), 0, "", 0
    for word in reversed(_APART.split(window)):
        if not word:
            continue
        if word.isdigit():
            if len(word) > 2 or most < WORDS:
                break
            continue
        kind = kinds.get(word, UNKNOWN) or _unglued(word)
        if kind in (PHONES, OTHERS):
            return kind
        if number and n <= at + 2 and word in _OWN:
            return PHONES
        if number in _SHORT and n == at + 1:
            return OTHERS
        if word in _FILLERS:
            continue
        if not number and (kind == _WEAK or (n == 0 and word in _SHORT)):
            number, at = word, n
        n += 1
        if n == most:
            break
    return PHONES if number and number not in _SHORT and (at <= MOST_BETWEEN if short else at == 0) else UNKNOWN


def _unglued(word: str) -> int:
    """Return what a word of Arabic or Hebrew speaks of without "and", "the", "for" and "in" before it."""
    if "\u0590" <= word[0] <= "\u06ff":
        for glue in _GLUE:
            if word.startswith(glue) and (kind := _kinds().get(word[len(glue) :], UNKNOWN)):
                return kind
    return UNKNOWN


def _unspaced_topic(window: str) -> int:
    """Return what the last word of a script without spaces speaks of; a word for numbers only if no other is there."""
    found = UNKNOWN
    for m in _unspaced().finditer(window):
        kind = {"other": OTHERS, "phone": PHONES, "number": _WEAK}[m.lastgroup or ""]
        found = kind if kind != _WEAK or found == UNKNOWN else found
    return found


def _after(window: str) -> int:
    """Return PHONES if one of the first words after a number speaks of phones, otherwise UNKNOWN.

    In Hindi and Urdu "on" and "to" follow a number that is called.
    """
    if _ON.match(window):
        return PHONES
    if _UNSPACED.search(window) and (m := _unspaced().search(window)) and m.lastgroup == "phone":
        return PHONES
    some = [w for w in _APART.split(window) if w][:WORDS_AFTER]
    return PHONES if any(w in _called() for w in some) else UNKNOWN


@cache
def _called() -> frozenset[str]:
    """Return the words that show after a number that it is a phone."""
    return frozenset(w for w in words(PHONE) if len(w) > 2 and " " not in w)
