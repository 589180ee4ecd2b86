"""Twin of `pii/lone.py`: the only number of a sentence; dates, e-mail addresses and other numbers near a number."""

from __future__ import annotations

import itertools

from dataprep.pii.lone import LONE, PAIRS
from twins.bare_runs import near
from twins.context import speaks_of_other
from twins.phone_signs import DIGITS, is_letter, is_word

POLITE = (
    "il elle c'est cest es is he she it's its merci svp stp please pls plz thanks thx gracias grazie danke rah "
    "raho wla ok okay demande demander ask pregunta dis dites tell si if quand when après after avant before "
    "ou or et and y o"
)
NEXT = ("ou", "or", "et", "and", "y", "o", "w", "wla", "oder", "und", "e", ",", ";", "/", "-")


def alone(line: str, a: int, b: int) -> bool:
    """Whether a number is 612 345 678 with no other number of three digits near, but for dates and prices."""
    groups = line[a:b].split(" ")
    if [len(g) for g in groups] != [3, 3, 3] or not line[a:b].replace(" ", "").isdecimal() or line[a] not in "679":
        return False
    before, after = near(line, a, b, 40)
    return not large(small_taken(f"{before} {after}"))


def large(text: str) -> bool:
    """Whether three digits stand in a row."""
    return any(all(c in DIGITS for c in text[i : i + 3]) for i in range(len(text) - 2))


def small_taken(text: str) -> str:
    """A text without dates and prices."""
    i, out = 0, ""
    while i < len(text):
        end = None
        if text[i] in DIGITS and (i == 0 or text[i - 1] not in DIGITS):
            end = small_end(text, i)
        out, i = (out + text[i], i + 1) if end is None else (out, end)
    return out


def small_end(text: str, i: int) -> int | None:
    """Where 05/06/24, 05.06.2024, 2024-06-05 or 12.50 ends."""
    pictures = [f"{a}{s}{b}{s}{c}" for s in "./-" for a in ("dd", "d") for b in ("dd", "d") for c in ("dddd", "dd")]
    pictures += ["dddd-dd-dd", *(a + s + "dd" for a in ("dddd", "ddd", "dd", "d") for s in ".,")]
    for picture in pictures:
        end = i + len(picture)
        fits = len(text[i:end]) == len(picture) and all(
            c in DIGITS if p == "d" else c == p for c, p in zip(text[i:end], picture, strict=True)
        )
        if fits and text[end : end + 1] not in DIGITS:
            return end
    return None


def like(line: str, end: int, a: int, b: int) -> bool:
    """Whether a number has the groups of the end of a phone at most 60 characters before it."""
    size = b - a
    if not size <= end < a <= end + 60 or " " not in line[a:b]:
        return False
    one, other = (["0" if c in DIGITS else c for c in line[i : i + size]] for i in (a, end - size))
    return one == other and not (end > size and line[end - size - 1].isdigit())


def has_address(line: str, a: int, b: int) -> bool:
    """Whether an e-mail address is near a number: a word's letter, @, a name, a full stop, a letter."""
    before, after = near(line, a, b, 60)
    text = f"{before} {after}"
    for at in (i for i, c in enumerate(text) if c == "@"):
        end = at + 1
        while end < len(text) and (is_word(text[end]) or (text[end] == "-" and end > at + 1)):
            end += 1
        dot = text[end : end + 1] == "." and end > at + 1 and is_word(text[end + 1 : end + 2])
        if dot and at > 0 and is_word(text[at - 1]):
            return True
    return False


def is_date(line: str, a: int) -> bool:
    """Whether a date, two years, a post code or four numbers of an address begin here."""
    def after(i: int, fields: str) -> set[int]:
        """Where the fields end: Y year, M and D of two digits, m and d of one or two, s a sign or none."""
        ends = {i}
        for field in fields:
            ends = {end for i in ends for end in field_ends(line, i, field)}
        return ends

    alone = [*after(a, "YsMsD"), *after(a, "dsmsY"), *after(a, "nnnnn-nnn"), *after(a, "nnnnn-nnnn")]
    alone += [end for sign in "-/ " for end in after(a, f"Yb{sign}bY")]
    alone += after(a, "N.N.N.N")
    return any(line[i : i + 1] not in DIGITS for i in alone) or bool(
        after(a, "YMDnnnn") | after(a, "Y.") | after(a, "Y/")
    )


def field_ends(line: str, i: int, field: str) -> list[int]:
    """Where a field of a date that begins at `i` may end."""
    one, two = line[i : i + 1], line[i : i + 2]
    pair = len(two) == 2 and two[0] in DIGITS and two[1] in DIGITS
    if field == "Y":
        year = line[i : i + 4]
        return [i + 4] if two in ("19", "20") and len(year) == 4 and set(year) <= set(DIGITS) else []
    if field in "Mm":
        ends = [i + 2] if pair and 1 <= int(two) <= 12 else []
        return ends + ([i + 1] if field == "m" and one in DIGITS and one != "0" else [])
    if field in "Dd":
        return ([i + 2] if pair and int(two) <= 31 else []) + ([i + 1] if field == "d" and one in DIGITS else [])
    if field in "sb":
        return [i] + ([i + 1] if one in (tuple("./ -") if field == "s" else (" ",)) else [])
    if field == "N":
        n = next((k for k in range(3) if line[i + k : i + k + 1] not in DIGITS), 3)
        return list(range(i + 1, i + n + 1))
    right = one in DIGITS if field == "n" else one == field
    return [i + 1] if right else []


def lone(line: str, a: int, b: int) -> bool:
    """Whether a number is the only one of a sentence about nothing else, in groups as of a phone."""
    whole = line[a:b]
    pairs = [int(pair) for pair in "".join(c if c in DIGITS else " " for c in whole).split()]
    two = PAIRS.fullmatch(whole) and max(pairs) > 59 and pairs != sorted(pairs)
    one, _, other = whole.partition(" ")
    rises = len(one) == len(other) == 4 and one[0] == other[0] and one[1] <= other[1]
    if whole.endswith("00") or rises or not (LONE.fullmatch(whole) or two):
        return False
    before, after = near(line, a, b, 120)
    rest, sign = without_next(after)
    parts = whole.replace(".", " ").split(" ")
    counted = [*map(len, parts)] in ([2, 3, 3], [3, 3, 3], [8], [9]) and all(p.isdecimal() for p in parts)
    counted = counted and sign not in ("/", ",", ";")
    head = before.rstrip(" ,:;().!?-–—•«،؛、。，：")
    if len(before) - len(head) > 4 or not (head == "" or head[-1].isalpha()):
        return False
    text = f"{before} {rest}"
    code = set(text) & set('{}<>=_/\\|#@$%&*~^`"[]\t')
    for i, c in enumerate(text):
        three = len(text[i + 1 : i + 4]) == 3 and set(text[i + 1 : i + 4]) <= set(DIGITS)
        more = text[i + 2 : i + 5]
        group = text[i + 1 : i + 2] in (" ", ".") and len(more) == 3 and set(more) <= set(DIGITS)
        code = code or (c in DIGITS and (three or group))
    letters = any(is_letter(c) and is_letter(d) for c, d in itertools.pairwise(text))
    return may_follow(rest, counted) and not code and letters and not speaks_of_other(before, rest)


def may_follow(after: str, counted: bool) -> bool:
    """Whether what follows a number is no unit: the end, signs, a word; not any word after what may be an amount."""
    if not counted:
        rest = after.lstrip(".,;:!?)…؟،» -")
        return rest == "" or is_letter(rest[0])
    rest = after.lstrip(".,;:!?)…؟،»")
    if after.strip(" ") == "" or (rest != after and rest[:1] in ("", " ")):
        return True
    some = [w for w in POLITE.split() if after.startswith(" " + w)]
    return any(not is_word(after[len(w) + 1 : len(w) + 2]) for w in some)


def without_next(after: str) -> tuple[str, str]:
    """What follows a number without the next one of a list, and the sign or word between them."""
    for word in NEXT:
        for lead in ("", " "):
            start = len(lead + word)
            start += after[start : start + 1] == " "
            end = number_end(after, start) if after.startswith(lead + word) else None
            if end is not None:
                return after[end:], word
    return after, ""


def number_end(text: str, i: int) -> int | None:
    """Where 8 to 13 digits end, with at most two signs between any two of them and a + or bracket before them."""
    i += text[i : i + 1] in ("(", "+")
    n, end = 0, None
    while n < 13:
        k = i
        while n and k < i + 2 and text[k : k + 1] in tuple(" ./()-"):
            k += 1
        if text[k : k + 1] not in DIGITS:
            break
        n, i = n + 1, k + 1
        end = i if n >= 8 and text[i : i + 1] not in DIGITS else end
    return end
