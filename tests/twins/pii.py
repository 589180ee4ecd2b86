"""Twin of `pii`: each kind of personal data, looked for character by character, without its patterns or tables."""

from __future__ import annotations

import ipaddress
import itertools
from collections import Counter

from dataprep.pii.addresses import is_host, is_version
from twins.broken import accounts, across, listed
from twins.only import only
from twins.phone_labels import is_labelled
from twins.phone_signs import plain
from twins.phones import phones

# Characters of an account number by country (ISO 13616).
LENGTHS = {
    15: "NO", 16: "BE", 18: "DK FI FK FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK", 21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HN HU LB MA NI PL SV",
    29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
}  # fmt: skip
IRISH = [a + b for a in "OoDd" for b in "'’"]  # O'Brien
FILES = (
    "png jpg jpeg gif svg webp ico bmp tiff js jsx mjs cjs ts tsx css scss html htm xml json yaml yml toml ini cfg "
    "conf txt csv log lock pdf doc docx xls xlsx ppt pptx tar gz tgz exe dll jar whl patch diff java heic avif dmg "
    "ttf woff eot sql sqlite bak tmp vue scss sass less rb kt cpp hpp service socket timer mount slice "
)


def pii(text: str, stage) -> tuple[str, Counter]:
    """The text with everything personal replaced, and how often each kind was found."""
    found = []
    for kind, find in (("email", emails), ("ip", ips), ("iban", ibans), ("card", cards), ("phone", phones)):
        new, at = [], 0
        for line in text.split("\n"):
            read = plain(line) if kind in ("iban", "card") else line
            new += [(at + a, at + b, kind) for a, b in find(read)] if kind in stage.kinds else []
            at += len(line) + 1
        is_phone = kind == "phone" and kind in stage.kinds
        more = [(a, b, kind) for a, b in (*across(text), *listed(text))] if is_phone else []
        if kind in ("iban", "card") and kind in stage.kinds:
            new = sorted(new) + [(a, b, kind) for a, b in accounts(text, kind, find)]
        more = [(a, b, kind) for a, b in only(text)] + more if is_phone else more
        for one in (*more, *(new if kind in ("iban", "card") else sorted(new))):
            if all(one[1] <= a or one[0] >= b for a, b, _ in found):
                found.append(one)
    out, at = "", 0
    for start, end, kind in sorted(found):
        out, at = out + text[at:start] + stage.replace.replace("{kind}", kind), end
    return out + text[at:], Counter(kind for _, _, kind in found)


def is_word(c: str) -> bool:
    """Whether a character is a letter, a digit or an underscore; "" is none."""
    return c.isalnum() or c == "_"


def is_letter(c: str) -> bool:
    """Whether a character is a letter or a number other than a decimal digit."""
    return c.isalnum() and not c.isdecimal()


def ascii_word(c: str) -> bool:
    """Whether a character is an ASCII letter, digit or underscore."""
    return c.isascii() and is_word(c)


def unspaced(c: str) -> bool:
    """Whether a character is of a script without spaces between words."""
    ranges = [(0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF)]
    return any(a <= ord(c) <= b for a, b in ranges)


def digits(text: str) -> bool:
    """Whether a text is Western digits, one or more."""
    return text.isascii() and text.isdecimal()


def emails(line: str):
    """Spans of NAME@HOST: at most 64 characters before the sign, and one to eight labels before the last one."""
    last = 0
    for at in (i for i, c in enumerate(line) if c == "@"):
        start = at
        while start > max(last, at - 64) and (is_word(line[start - 1]) or line[start - 1] in ".+%-"):
            start -= 1
        begins = [
            i for i in range(start, at)
            if is_word(line[i]) and not (i and (is_word(line[i - 1]) or line[i - 1] in "+%@"))
        ]  # fmt: skip
        end = host_end(line, at + 1)
        if begins and line[at - 1] not in ".%" and end:
            first, lead = begins[0], max(last, begins[0] - 2)
            before = line[lead - 1 : lead] if lead else ""
            if line[lead:first] in IRISH and not (is_word(before) or before in tuple("+%@")):
                first = lead
            if line[lead : begins[0]] in IRISH and lead and line[lead - 1] in "._-":
                low = lead - 1
                while low > max(last, lead - 42) and (is_word(line[low - 1]) or line[low - 1] in ".+%-"):
                    low -= 1
                some = range(low, lead - 1)
                more = (i for i in some if is_word(line[i]) and not ends_name(line[max(0, i - 1) : i]))
                first = next(more, first)
            is_call = line[end : end + 1] == "(" or is_path(line, end)
            if not is_call and line[begins[0] : end].rpartition(".")[2].lower() not in FILES.split():
                starts = [i for i in range(first + 1, at) if line[i].isascii() and line[i].isalnum()]
                yield max((i for i in starts if unspaced(line[i - 1])), default=first), end
            last = end


def ends_name(before: str) -> bool:
    """Whether no name of an address begins behind a character."""
    return before != "" and (is_word(before) or before in "+%@")


def is_path(line: str, end: int) -> bool:
    """Whether :a/b or :a.git follows a host."""
    if line[end : end + 1] != ":":
        return False
    stop = end + 1
    while stop < len(line) and (is_word(line[stop]) or line[stop] in "~.-"):
        stop += 1
    after = line[stop + 1 : stop + 2]
    if line[stop : stop + 1] == "/" and after and (is_word(after) or after in ".-"):
        return True
    name = line[end + 1 : stop].partition("~")[0]
    cut = [i for i in range(1, len(name)) if name.startswith(".git", i)]
    return any(not is_word((name + line[stop : stop + 1])[i + 4 : i + 5]) for i in cut)


def quad_host(line: str, start: int) -> int | None:
    """Where four numbers with full stops between them end, perhaps in brackets."""
    opened = line[start : start + 1] == "["
    end = start + opened
    for n in range(4):
        if n and line[end : end + 1] != ".":
            return None
        end += n > 0
        size = 0
        while size < 3 and digits(line[end + size : end + size + 1]):
            size += 1
        end += size
        if not size:
            return None
    if opened:
        return end + 1 if line[end : end + 1] == "]" else None
    after = line[end : end + 2]
    return None if after and (is_word(after[0]) or (after[0] == "." and is_word(after[1:]))) else end


def host_end(line: str, start: int) -> int | None:
    """Where the longest host name that begins at `start` ends: labels, then two to 24 letters, or Punycode."""
    if (quad := quad_host(line, start)) and not line[start:].removeprefix("[").startswith("127."):
        return quad
    end, ends = start, []
    for _ in range(9):
        label = end
        while end < len(line) and (is_word(line[end]) or line[end] == "-"):
            end += 1
        latin = line[label : label + 1].isascii()
        letters = label
        while letters < end and line[letters].isascii() == latin and is_letter(line[letters]):
            letters += 1
        follows = line[letters : letters + 1]
        free = not (ascii_word(follows) if latin else is_word(follows)) or (latin and is_old(line, letters))
        if label > start and 2 <= letters - label <= 24 and free:
            ends.append(letters)
        inner = line[label:end]
        code = inner[4:]
        is_code = code.isascii() and 2 <= len(code) <= 59 and "_" not in code and code[-1] != "-"
        if label > start and inner.startswith("xn--") and is_code:
            ends.append(end)
        cut = inner.find("_")
        if label > start and inner.startswith("xn--") and cut > 5 and inner[:cut].isascii() and inner[cut - 1] != "-":
            ends += [label + cut] if cut <= 63 and is_old(line, label + cut) else []
        is_label = 0 < len(inner) <= 63 and inner[0].isalnum() and inner[-1].isalnum()
        if not is_label or line[end : end + 1] != ".":
            break
        end += 1
    return max(ends, default=None)


def is_old(line: str, at: int) -> bool:
    """Whether an underscore and a word of three letters or more follow there: _old."""
    end = at + 1
    while line[end : end + 1].isascii() and line[end : end + 1].isalpha():
        end += 1
    after = line[end : end + 1]
    return line[at : at + 1] == "_" and end - at > 3 and not (after == "." or (after and is_word(after)))


def ips(line: str):
    """Spans of public addresses: four numbers, or groups of hexadecimal digits, the last perhaps four numbers."""
    found, i = [], 0
    while i < len(line):
        if (ascii_word(line[i]) or line[i] == ":") and not (i and (ascii_word(line[i - 1]) or line[i - 1] in ":.")):
            end = i
            while end < len(line) and (ascii_word(line[end]) or line[end] == ":"):
                end += 1
            end = quad_end(line, line.rfind(":", i, end) + 1 or end) or end
            try:
                if ipaddress.IPv6Address(line[i:end]).packed[0] >> 5 == 1 and not is_example(line[i:end]):  # 2000::/3
                    found.append((i, end))
                    i = end
                    continue
            except ValueError:
                pass
        end = None if i and (ascii_word(line[i - 1]) or line[i - 1] == ".") else quad_end(line, i)
        if end and is_public(line, i, end) and not is_labelled(line, i):
            found.append((i, end))
        i = end or i + 1
    return found


def quad_end(line: str, start: int) -> int | None:
    """Where four numbers from 0 to 255 end that begin at `start`; None if there are none, or more than four."""
    end = start
    for n in range(4):
        number = ""
        while digits(line[end : end + 1]):
            number, end = number + line[end], end + 1
        if not number or int(number) > 255 or str(int(number)) != number:
            return None
        if n < 3:
            if line[end : end + 1] != ".":
                return None
            end += 1
    longer = line[end : end + 1] == "." and digits(line[end + 1 : end + 2])
    return None if longer or ascii_word(line[end : end + 1]) else end


def is_example(address: str) -> bool:
    """Whether an IPv6 address is one of those for examples."""
    return ipaddress.IPv6Address(address).exploded.startswith(("2001:0db8:", "3fff:0"))


def is_public(line: str, start: int, end: int) -> bool:
    """Whether an address is neither local nor for many, and not four small numbers, as of a section."""
    a, b, c, _ = numbers = [int(n) for n in line[start:end].split(".")]
    private = a in (0, 10, 127) or (a, b) in ((169, 254), (192, 168)) or (a == 172 and 16 <= b < 32)
    example = (a, b, c) in ((192, 0, 0), (192, 0, 2), (198, 51, 100), (203, 0, 113)) or (a, b) in ((198, 18), (198, 19))
    shared = a == 100 and 64 <= b < 128
    small = max(numbers) < 32
    doubtful = (small or a < 6) and not is_host(line, start, end, small=small)
    return not (private or example or shared or doubtful or is_version(line, start, end)) and a < 224


def ibans(line: str):
    """Spans of account numbers with their country's length and right check digits; groups are apart by one sign."""
    lengths = {country: n for n, countries in LENGTHS.items() for country in countries.split()}
    for start in range(len(line)):
        label = line[max(0, start - 4) : start].upper() == "IBAN" and line[start : start + 2].isupper()
        if start and ascii_word(line[start - 1]) and not label:
            continue
        number, end = line[start : start + 2], start + 2
        if number not in lengths or not digits(line[end : end + 1]) or not digits(line[end + 1 : end + 2]):
            continue
        number, end = number + line[end : end + 2], end + 2
        while len(number) < lengths[number[:2]]:
            end += line[end : end + 1] in (" ", "-")
            end += line[end : end + 1] in (" ", "-")
            c = line[end : end + 1]
            if not (c.isascii() and (c.isdecimal() or c.isupper())):
                break
            number, end = number + c, end + 1
        whole = len(number) == lengths[number[:2]] and is_end(line[end:])
        if whole and (int(number[2:4]) - int(iban_check(number))) % 97 == 0:
            yield start, end


def is_letters(text: str) -> bool:
    """Whether a text is three letters of ASCII."""
    return len(text) == 3 and text.isascii() and text.isalpha()


def is_end(after: str) -> bool:
    """Whether a number ends before a text: at no letter, digit or _, or at a word of three letters glued to it."""
    if not ascii_word(after[:1]):
        return True
    word = "".join(itertools.takewhile(lambda c: c.isascii() and is_word(c), after))
    form = word.isalpha() and len(word) >= 3 and (word[1:].islower() or word.isupper())
    return form and not set(word.lower()) <= set("abcdef")


SHAPES = [(s, sizes) for sizes in ((4, 4, 4, 4, 3), (4, 4, 4, 4), (4, 6, 5), (4, 6, 4)) for s in ("", " ", "-")]


def cards(line: str):
    """Spans of numbers of 14 to 19 digits in the groups of their issuer, which are not part of a table of groups."""
    start = 0
    while start < len(line):
        found = next((end for shape in SHAPES if (end := card_end(line, start, *shape))), None)
        if found:
            number = "".join(c for c in line[start:found] if c.isdecimal())
            groups = [int(group) for group in line[start:found].replace("-", " ").split()]
            steps = {b - a for a, b in itertools.pairwise(groups)} or {0}
            if issuer(number) and luhn(number) and (len(steps) > 1 or steps == {0}):
                yield start, found
        start = found or start + 1


def card_end(line: str, start: int, sign: str, sizes: tuple[int, ...]) -> int | None:
    """Where groups of these sizes end; None if there are others, or digits, letters or such groups beside them."""
    end = start
    for n, size in enumerate(sizes):
        if n and line[end : end + len(sign)] != sign:
            return None
        end += len(sign) * (n > 0) + size
        if len(line[end - size : end]) < size or not digits(line[end - size : end]):
            return None
    before, after = line[:start], line[end:]
    joined = not is_end(after) or (ascii_word(before[-1:]) and not is_letters(before[-3:]))
    joined |= any(two[:1] in (".", "-") and digits(two[1:]) for two in (before[-2:][::-1], after[:2]))
    rows = is_groups(before[-10:], before[-11:-10]) or is_groups(after[:10] + " ", after[10:11], lead=" ")
    right = line[start] in "23456" if len(sizes) > 3 else line[start] == "3"
    return end if right and not joined and not rows else None


def is_groups(text: str, beside: str, lead: str = "") -> bool:
    """Whether a text is two groups of four digits after `lead`, each with a blank behind it, and alone."""
    groups = text.removeprefix(lead).split(" ")
    return text.startswith(lead) and not is_word(beside) and [len(g) for g in groups[:2]] == [4, 4] and all(
        map(digits, groups[:2])
    )  # fmt: skip


def issuer(number: str) -> str | None:
    """Who issues numbers of this length that begin so."""
    issuers = {
        14: {"Diners": ("300", "301", "302", "303", "304", "305", "36", "38", "39")},
        15: {"American Express": ("34", "37")},
        16: {
            "Mastercard": ("51", "52", "53", "54", "55", *map(str, range(2221, 2721))),
            "JCB": tuple(map(str, range(3528, 3590))),
        },
    }  # fmt: skip
    found = issuers.get(len(number), {})
    if len(number) in (16, 19):
        found |= {"Visa": ("4",), "UnionPay": ("62",), "Discover": ("6011", *map(str, range(644, 650)), "65")}
    return next((name for name, begins in found.items() if number.startswith(begins)), None)


def luhn(digits: str) -> bool:
    """Every second digit from the right doubled, its digits summed; all together a multiple of ten."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        total += int(digit) if place % 2 == 0 else sum(int(d) for d in str(2 * int(digit)))
    return total % 10 == 0


def iban_check(iban: str) -> str:
    """The two check digits that an IBAN's country and account need: 98 less the remainder."""
    moved = iban[4:] + iban[:2] + "00"
    rest = 0
    for c in moved:
        for digit in str("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".index(c)):
            rest = (rest * 10 + int(digit)) % 97
    return f"{98 - rest:02}"
