"""Twin of `pii/context.py`: what the words near a number speak of, read word by word; it shares only the tables."""

from __future__ import annotations

from functools import cache

from dataprep.pii import context_words as T
from dataprep.pii.context import ARABIZI
from dataprep.pii.label_words import NOT_PERSONAL, PHONE
from dataprep.pii.labels import words
from twins.phone_signs import DIGITS, is_word, joins

KEYS = ["phone", "mobile", "tel", "gsm", "cell", "fax", "contact", "whatsapp", "msisdn", "call", "sms"]
ENDS_OF_KEYS = "to|from|caller|callee|sender|recipient|number|dest|dst|src|receiver|wa"
APART = set(" \t\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029_-./'’‘:：=\"“”«»(（){}[]【】「」,،、;؛。।#|<>*+~!?؟&@\\")
GLUE = ("وال", "بال", "لل", "ال", "و", "ب", "ل", "ف", "ה", "ב", "ל", "ו")
ENDS = ("كم", "هم", "ها", "نا", "ك", "ه", "و", "ي")
EXTENSIONS = "ext|extension|extensión|poste|x|durchwahl|dw|anexo|anx|ramal|int|interno|toestel|wew|доб|تحويلة|داخلي"


@cache
def kinds() -> dict[str, str]:
    """What each single word speaks of."""
    found = {w: "other" for w in words(NOT_PERSONAL + T.NEAR_OTHER) if len(w) > 1 and " " not in w}
    for w in words(PHONE + T.NEAR_PHONE):
        c = w[0]
        ranges = [("\u0590", "\u06ff"), ("\u0900", "\u0dff"), ("\u10a0", "\u10ff"), ("\u1200", "\u137f")]
        spaced = any(low <= c <= high for low, high in ranges)
        if " " not in w and (spaced or (is_word(c) and not joins(c))):
            found[w] = "phone"
    return found | dict.fromkeys(words(T.NUMBER), "number")


@cache
def tables() -> dict[str, list[str]]:
    """The words of scripts without spaces between words, the longest first."""
    some = {"other": T.NEAR_OTHER_UNSPACED + NOT_PERSONAL, "phone": T.NEAR_PHONE_UNSPACED + PHONE, "number": T.NUMBER}
    return {kind: [w for w in words(one) if unspaced(w[0])] for kind, one in some.items()}


@cache
def table(name: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(words(getattr(T, name)))


def unspaced(c: str) -> bool:
    """Whether a character is of a script without spaces between words."""
    ranges = [(0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7AF)]
    return any(a <= ord(c) <= b for a, b in ranges)


def split(text: str) -> list[tuple[str, int]]:
    """The words of a text, each with its end."""
    found, start = [], 0
    for i in range(len(text) + 1):
        if i == len(text) or text[i] in APART or text[i].isspace():
            found += [(text[start:i], i)] if i > start else []
            start = i + 1
    return found


def unspaced_words(text: str):
    """What the words of scripts without spaces speak of, in order."""
    i = 0
    while i < len(text):
        step = 1
        for kind, some in tables().items() if unspaced(text[i]) else ():
            word = next((w for w in some if text.startswith(w, i)), "")
            if word:
                yield kind
                step = len(word)
                break
        i += step


def meaning(word: str) -> str | None:
    """What a word speaks of, also with what Arabic and Hebrew join to it, and "call" in Latin letters."""
    if word in kinds():
        return kinds()[word]
    if not "\u0590" <= word[0] <= "\u06ff":
        return "phone" if word.isascii() and ARABIZI.fullmatch(word) else None
    for stem in (word, *(word.removeprefix(glue) for glue in GLUE if word.startswith(glue))):
        if stem in kinds():
            return kinds()[stem]
        for end in ENDS:
            if stem.endswith(end) and len(stem) > len(end) + 2:
                short = stem.removesuffix(end)
                for one in (short, short[:-1] + "ة") if short.endswith("ت") else (short,):
                    if one in kinds():
                        return kinds()[one]
    return None


def topic(line: str, a: int, b: int, most: int) -> str | None:
    """What the words near a number speak of: "phone", "other", "number" (of an unknown thing) or None."""
    window = line[max(0, a - 56) : a].lower()
    some = list(unspaced_words(window))
    told = next((k for k in reversed(some) if k != "number"), None) or ("number" if some else None)
    if told is None:
        between = 3 if " " in line[a:b] or b - a <= 10 else 0 if b - a < 12 else -1
        told = spaced(window, most, between)
    return told or after(line[b : b + 28].lower())


def spaced(window: str, most: int, between: int) -> str | None:
    """What the nearest of `most` words before a number speaks of."""
    short, n, number, at = ("no", "nr", "nº", "n°", "№", "n", "num"), 0, "", 0
    for word in [w for w, _ in split(window)][::-1]:
        if word.isdigit():
            if len(word) > 2 or most < 6:
                break
            continue
        kind = meaning(word)
        if kind in ("phone", "other"):
            return kind
        if number and n <= at + 2 and word in table("OWN"):
            return "phone"
        if number in short and n == at + 1:
            return "other"
        if word in table("FILLERS"):
            continue
        if number and word in table("COUNTED"):
            return "other"
        if not number and (kind == "number" or (n == 0 and word in short)):
            number, at = word, n
        n += 1
        if n == most:
            break
    return "phone" if number and number not in (*short, "numbers") and at <= between else None


def after(window: str) -> str | None:
    """Whether an extension, or a word for phones that is no label of a further number, follows a number."""
    on = [w for w in ("पर", "pe", "par", "پر", "পে") if window.startswith(" " + w)]
    if any(not window[len(w) + 1 : len(w) + 2].isalnum() for w in on):
        return "phone"
    for lead in range(3):
        rest = window[lead:].removeprefix("(")
        for w in EXTENSIONS.split("|") if set(window[:lead]) <= set(" ,") else ():
            number = rest.removeprefix(w)
            number = number[number[:1] in (".", ":") :]
            number = number[number[:1] == " " :]
            n = next((i for i, c in enumerate(number) if c not in DIGITS), len(number))
            if rest.startswith(w) and 1 <= n <= 5:
                return "phone"
    if next(unspaced_words(window), None) == "phone":
        return "phone"
    for word, end in split(window)[:4]:
        signs = next((i for i, c in enumerate(window[end:]) if is_word(c)), 5)
        label = signs <= 4 and window[end + signs] in DIGITS
        if word in words(PHONE) and len(word) > 2 and not label:
            return "phone"
    return None


def speaks_of_other(before: str, behind: str) -> bool:
    """Whether any word before or behind a number speaks of another thing than phones, or shows that it is counted."""
    before = before.lower()
    last = before[-20:].removesuffix(" ")
    for w in table("ABOUT"):
        if last.endswith(w) and not last.removesuffix(w)[-1:].isalnum():
            return True
    text = f"{before} {behind.lower()}"
    if any(w in table("COUNTED") or meaning(w) == "other" for w, _ in split(text)):
        return True
    return "other" in unspaced_words(text)


def amount(line: str, b: int) -> bool:
    """Whether a unit or a currency follows a number, behind at most two blanks."""
    for blanks in range(3):
        rest = line[b + blanks : b + blanks + 24].lower()
        for w in table("UNITS") if set(line[b : b + blanks]) <= set(" \u00a0\u202f") else ():
            sign = not w[-1].isalpha() or unspaced(w[0])
            if rest.startswith(w.lower()) and (sign or not rest[len(w) : len(w) + 1].isalnum()):
                return True
    return False


def key(before: str) -> bool:
    """Whether a name in code that ends with = is of a phone: phone=, to=, "msisdn"=."""
    before = before[-40:].removesuffix("=").removesuffix(" ")
    before = before[: len(before) - before.endswith(("'", '"'))]
    n = next((i for i, c in enumerate(reversed(before)) if not is_word(c)), len(before))
    name = before[len(before) - n :].lower()
    return any(k in name for k in KEYS) or name.startswith(tuple(ENDS_OF_KEYS.split("|")))


def drawn(line: str, a: int, b: int) -> bool:
    """Whether pairs of digits rise, not above 70, behind a word for a lottery."""
    pairs = line[a:b].split(" ")
    right = len(pairs) > 4 and pairs == sorted(set(pairs)) and pairs[-1] <= "70"
    return right and any(w in table("LOTTERY") for w, _ in split(line[max(0, a - 56) : a].lower()))


def decimal(text: str) -> bool:
    """Whether a text is up to three digits, a full stop, and four to nine digits."""
    whole, _, part = text.partition(".")
    return text.isascii() and 1 <= len(whole) <= 3 and 4 <= len(part) <= 9 and whole.isdigit() and part.isdigit()


def token(text: str) -> str:
    """The digits and full stops with which a text begins, after up to four signs."""
    signs = 0
    while signs < 4 and text[signs : signs + 1] in tuple(",; -"):
        signs += 1
    size = next((i for i, c in enumerate(text[signs:]) if c not in "0123456789."), len(text) - signs)
    return text[signs : signs + size]


def counted(line: str, a: int, b: int) -> bool:
    """Whether a number is three scores or more, a decimal beside another, or thousands (000 or before a unit)."""
    number = line[a:b]
    if not number.isascii():
        return False
    one, _, part = number.partition(".")
    octets = number.split(".")
    address = len(octets) == 4 and all(o in map(str, range(256)) for o in octets) and {*map(len, octets)} != {2}
    if address or (len(one) == 1 and len(part) > 6 and (one + part).isdigit()):
        return True
    if decimal(number):
        return decimal(token(line[b:]).rstrip(".")) or decimal(token(line[:a][::-1])[::-1])
    scores = [score.split("-") for score in number.split(" ")]
    ways = [str(n) for n in range(100)]
    if len(scores) > 2 and all(len(score) == 2 and set(score) <= set(ways) for score in scores):
        return True
    for sign in (" ", "."):
        first, *rest = number.split(sign)
        thousands = all(len(group) == 3 and group.isdigit() for group in rest)
        if len(rest) > 1 and thousands and first in map(str, range(1, 1000)):
            return set(rest) == {"000"} or amount(line, b) or (len(first) == 1 and len(rest) == 3 and rest[-1] == "000")
    return False
