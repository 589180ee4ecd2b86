"""The topic of the words near a number: phones, or other things such as orders, prices and counts of people.

Slow reference for the tests: tests/twins/context.py
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import islice

from . import context_words as W
from .label_words import NOT_PERSONAL, PHONE
from .labels import UNBROKEN, trie, words

PHONES, OTHERS, UNKNOWN = 1, -1, 0  # the topics of the words near a number
BEFORE = 56  # characters before a number in which words are read
WORDS = 6  # words before a number that are read
AFTER = 28  # characters after a number in which words are read
WORDS_AFTER = 4
COMPACT = 10  # digits of a number that "the number of the shop is" names, at most
LONG = 12  # digits that "number" alone does not call a phone: 657999449649
MOST_BETWEEN = 3  # words between "number" and a number
_ON = re.compile(" (?:पर|pe|par|پر|পে)(?![^\\W_])")
_EXTENSION = re.compile(
    r"[ ,]{0,2}\(?(?:ext(?:ension|ensión)?|poste|x|durchwahl|dw|anexo|anx|ramal|int(?:erno)?|toestel|wew|доб|تحويلة"
    r"|داخلي)[.:]?[ ]?[0-9]{1,5}(?![0-9])"
)
_APART = re.compile(r"[\s_\-./'’‘:：=\"“”«»(（){}\[\]【】「」,،、;؛。।#|<>*+~!?؟&@\\]+")
_TOKEN = re.compile(r"[^\s_\-./'’‘:：=\"“”«»(（){}\[\]【】「」,،、;؛。।#|<>*+~!?؟&@\\]+")
_NEXT = re.compile(r"[^\w\n]{0,4}[0-9]")  # a number that has the word before it as its label
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_GLUE = ("وال", "بال", "لل", "ال", "و", "ب", "ل", "ف", "ה", "ב", "ל", "ו")  # before a word in Arabic and Hebrew
_ENDS = ("كم", "هم", "ها", "نا", "ك", "ه", "و", "ي")  # my, your, his ... after a word in Arabic
ARABIZI = re.compile(  # "call" in Latin letters, with whom before and after it: nkelmek, kalmouni, 3aytolo, 7kine
    "(?:ka?|ta?|e?n|i?t|y|i|e|a|b)?(?:k[aei]l+[ae]?m|3[ae]?[iy]+[ae]?t|(?:it+|et+|tt?)[ae]?s[aei]?l|[7h][ae]?k[iy]|[ds]+aw+e?l"
    "|sonn|sawn|r[eo]nn|d[eo][q2])(?:i|e|o|ou|u|a|w)?(?:l?i|l?iya?|l?o|l?ou|n[aei]|ny|l?ha|h|hom|[ei]?k|kom|wni|wna)?"
)
_THOUSANDS = re.compile("[1-9][0-9]{0,2}([ .])[0-9]{3}(?:\\1[0-9]{3})+")
_ROUND = re.compile(r"[1-9][0-9]{0,2}([ .])0{3}(?:\1[0]{3})+|[1-9]([ .])[0-9]{3}\2[0-9]{3}(?:\2)0{3}")
_DECIMAL = re.compile("[0-9][.][0-9]{7,}")
_QUAD = re.compile(r"(?![0-9]{2}(?:[.][0-9]{2}){3}\Z)(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:[.]|\Z)){4}")
_SCORES = re.compile("[1-9]?[0-9]-[1-9]?[0-9](?: [1-9]?[0-9]-[1-9]?[0-9]){2,}")
_PLACE = re.compile("[0-9]{1,3}[.][0-9]{4,9}")
_PLACE_BEFORE = re.compile(r"(?<![0-9.])[0-9]{1,3}[.][0-9]{4,9}[,; -]{0,4}\Z")
_PLACE_AFTER = re.compile("[,; -]{0,4}[0-9]{1,3}[.][0-9]{4,9}(?![0-9]|[.][0-9])")
BESIDE = 18  # characters of a coordinate, with the signs after it
_WEAK = 2
ABOUT_SIZE = 20  # characters of the longest word of ABOUT, and a space before it
_PAIRS, _HIGHEST = 5, "70"  # of a lottery
_SHORT = frozenset(("no", "nr", "nº", "n°", "№", "n", "num"))
_FIGURES = frozenset(("numbers",))  # a phone only with a word for its owner: "my numbers", not "numbers 10 20 30 40 50"
_FILLERS = frozenset(words(W.FILLERS))
_OWN = frozenset(words(W.OWN))


@cache
def _kinds() -> dict[str, int]:
    """Return the topic of each individual word."""
    plain = re.compile(rf"[^\W{UNBROKEN}]|[\u0590-\u06ff\u0900-\u0dff\u10a0-\u10ff\u1200-\u137f]")
    kinds = {w: OTHERS for w in (*words(NOT_PERSONAL), *words(W.NEAR_OTHER)) if len(w) > 1 and " " not in w}
    kinds |= {w: PHONES for w in (*words(PHONE), *words(W.NEAR_PHONE)) if plain.match(w) and " " not in w}
    return kinds | dict.fromkeys(words(W.NUMBER), _WEAK)


@cache
def _unspaced() -> re.Pattern[str]:
    """Return a pattern that finds the words of scripts without spaces between words."""
    some = [
        [w for w in words(one) if _UNSPACED.match(w)]
        for one in (W.NEAR_PHONE_UNSPACED + PHONE, W.NEAR_OTHER_UNSPACED + NOT_PERSONAL, W.NUMBER)
    ]
    return re.compile(f"(?P<other>{trie(some[1])})|(?P<phone>{trie(some[0])})|(?P<number>{trie(some[2])})")


@cache
def _units() -> re.Pattern[str]:
    signs = [w for w in words(W.UNITS) if not w[-1].isalpha() or _UNSPACED.match(w)]
    spelt = [w for w in words(W.UNITS) if w not in signs]
    return re.compile(rf"[ \u00a0\u202f]{{0,2}}(?:{trie(signs)}|{trie(spelt)}(?![^\W_]))", re.IGNORECASE)


def is_amount(text: str, end: int) -> bool:
    """Return whether a unit or a currency follows a number that ends at `end`."""
    return text[end : end + 1] not in ("", "\n", ".") and _units().match(text, end) is not None


def is_counted(text: str, start: int, end: int) -> bool:
    """Return whether text[start:end] is a score, round number, amount before a unit, decimal or IP address.

    Such a number is not a phone number, regardless of the words before it: 21-17 21-19 25-23, 1 000 000 000, 12 345 678
    people, 48.856614, 2.3522219 (two coordinates), 1.596829420, 192.168.1.20.
    """
    if _DECIMAL.fullmatch(text, start, end) or _QUAD.fullmatch(text, start, end):
        return True
    if _PLACE.fullmatch(text, start, end):
        before = text[max(0, start - BESIDE) : start]
        return _PLACE_AFTER.match(text, end) is not None or _PLACE_BEFORE.search(before) is not None
    if _SCORES.fullmatch(text, start, end) or _ROUND.fullmatch(text, start, end):
        return True
    return _THOUSANDS.fullmatch(text, start, end) is not None and is_amount(text, end)


def is_drawn(text: str, start: int, end: int) -> bool:
    """Return whether a number consists of ascending pairs of digits, and a word before it refers to a lottery."""
    pairs = text[start:end].split(" ")
    if len(pairs) < _PAIRS or sorted(set(pairs)) != pairs or pairs[-1] > _HIGHEST:
        return False
    before = text[max(0, start - BEFORE) : start].rpartition("\n")[2].lower()
    return not _lotteries().isdisjoint(_APART.split(before))


@cache
def _lotteries() -> frozenset[str]:
    return frozenset(words(W.LOTTERY))


def topic(text: str, start: int, end: int, most: int = WORDS) -> int:
    """Return the topic of the words near the number text[start:end]: PHONES, OTHERS or UNKNOWN.

    The nearest of `most` words before the number determines the topic; if there is none, one of four words after the
    number does.
    """
    window = text[max(0, start - BEFORE) : start].rpartition("\n")[2].lower()
    found = _unspaced_topic(window) if not window.isascii() and _UNSPACED.search(window) else UNKNOWN
    if found == UNKNOWN:
        size = end - start
        between = MOST_BETWEEN if " " in text[start:end] or size <= COMPACT else 0 if size < LONG else -1
        found = _spaced_topic(window, most, between)
    return found or _after(text[end : end + AFTER].partition("\n")[0].lower())


def speaks_of_other(before: str, after: str) -> bool:
    """Return whether a word before or after a number refers to something other than phones, or indicates a count."""
    before = before.lower()
    around = f"{before} {after.lower()}"
    some = set(_APART.split(around))
    if not _counted().isdisjoint(some) or _about().search(before[-ABOUT_SIZE:]):
        return True
    if around.isascii():
        return False
    if _UNSPACED.search(around) and any(m.lastgroup == "other" for m in _unspaced().finditer(around)):
        return True
    return any(_unglued(word) == OTHERS for word in some if word and not word.isascii())


@cache
def _counted() -> frozenset[str]:
    """Return the words for things other than phones, and for things that are counted."""
    return frozenset(words(W.COUNTED)) | {word for word, kind in _kinds().items() if kind == OTHERS}


@cache
def _about() -> re.Pattern[str]:
    """Return a pattern that finds "about" and similar words at the end of a text."""
    return re.compile(rf"(?<![^\W_]){trie(words(W.ABOUT))} ?\Z")


def _spaced_topic(window: str, most: int, between: int) -> int:
    """Return the topic of the nearest word; "number" directly before a number means a phone, unless a word follows.

    "No 12345678" and "Teile-Nr. 12345678" refer to other things, whereas "my no 12345678" is a phone number.
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
        if number and word in _counted():
            return OTHERS
        if not number and (kind == _WEAK or (n == 0 and word in _SHORT)):
            number, at = word, n
        n += 1
        if n == most:
            break
    is_phone = number and number not in _SHORT and number not in _FIGURES and at <= between
    return PHONES if is_phone else UNKNOWN


@lru_cache(maxsize=4096)
def _unglued(word: str) -> int:
    """Return the topic of a word without its Arabic or Hebrew clitics; PHONES for "call" in Arabizi.

    These clitics are "and", "the", "for" and "in" before the word, and in Arabic "my", "your", "his" ... after it.
    """
    if "\u0590" <= word[0] <= "\u06ff":
        kinds = _kinds()
        stems = [word, *(word[len(glue) :] for glue in _GLUE if word.startswith(glue))]
        for stem in stems:
            shorter = [stem[: -len(end)] for end in _ENDS if stem.endswith(end) and len(stem) > len(end) + 2]
            for one in (stem, *shorter):
                kind = kinds.get(one) or (kinds.get(f"{one[:-1]}ة") if one != stem and one.endswith("ت") else None)
                if kind:
                    return kind
        return UNKNOWN
    return PHONES if word.isascii() and ARABIZI.fullmatch(word) else UNKNOWN


def _unspaced_topic(window: str) -> int:
    """Return the topic of the last word of a script without spaces; words for numbers count only if alone."""
    found = UNKNOWN
    for m in _unspaced().finditer(window):
        kind = {"other": OTHERS, "phone": PHONES, "number": _WEAK}[m.lastgroup or ""]
        found = kind if kind != _WEAK or found == UNKNOWN else found
    return found


def _after(window: str) -> int:
    """Return PHONES if one of the first words after a number refers to phones, otherwise UNKNOWN.

    In Hindi and Urdu, "on" and "to" follow a number that is to be called.
    """
    if not window:
        return UNKNOWN
    if _ON.match(window) or _EXTENSION.match(window):
        return PHONES
    if not window.isascii() and _UNSPACED.search(window):
        m = _unspaced().search(window)
        if m and m.lastgroup == "phone":
            return PHONES
    if _called().isdisjoint([w for w in _APART.split(window) if w][:WORDS_AFTER]):
        return UNKNOWN
    some = islice(_TOKEN.finditer(window), WORDS_AFTER)
    return PHONES if any(m[0] in _called() and not _NEXT.match(window, m.end()) for m in some) else UNKNOWN


@cache
def _called() -> frozenset[str]:
    """Return the words that, after a number, indicate that it is a phone number."""
    return frozenset(w for w in words(PHONE) if len(w) > 2 and " " not in w)
