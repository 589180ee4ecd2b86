"""Twin of `CleanMessages` (`messages/clean.py`): one message at a time, every rule on each, without its patterns.

Of the project it takes what an emoji is (`messages/emoji.py`), which has tests of its own.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter

from dataprep.messages.emoji import PARTS, emoji_spans
from twins.phones import phones
from twins.pii import emails, is_word

LATIN = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZİıſK")  # as [a-z] without case
BLANKS = " \t\u00a0\u202f"
ENDINGS = "com net org info edu gov io app dev xyz online site shop"
BEFORE_A_SLASH = ENDINGS + (
    " be ly gl gg gd co cc me tv ai fm ws link page news blog tech club live store world wiki ma dz tn eg sa ae fr de "
    "ch at uk ie es pt br mx it nl eu us ca ru ua pl se no dk fi gr tr in id jp kr cn"
)
SYLLABLES = "ha he hi ho hu ja je xa ха хе хи ها wk rs"
LETTERS = "hkهخㅋㅎ"


def clean_message(text: str, stage) -> tuple[str, Counter]:
    """A message of kind text after every rule, and how often each changed it."""
    text, counts, kept = text.replace("\x1d", "").replace("\x1e", ""), Counter(), []
    if stage.links is None:
        spans = links(text)
        kept = [text[a:b] for a, b in spans]
        text, _ = replaced(text, spans, "\x1d")
    finds = [
        ("edit_marks", edit_marks, "" if stage.edit_marks else None), ("links", links, stage.links),
        ("emails", by_line(emails), stage.emails), ("mentions", mentions, stage.mentions),
        ("phones", by_line(phones), stage.phones),
    ]  # fmt: skip
    for name, find, new in finds:
        if new is not None:
            text, counts[name] = replaced(text, find(text), new)
    if stage.invisible:
        text, counts["invisible"] = "".join(c for c in text if not is_invisible(c)), sum(map(is_invisible, text))
    if stage.emoji != "keep":
        spans = emoji_spans(text)
        again = {b for a, b in itertools.pairwise(spans) if a[1] == b[0] and text[slice(*a)] == text[slice(*b)]}
        text, counts["emoji"] = replaced(text, spans if stage.emoji == "drop" else sorted(again), "")
    if stage.laughter:
        text, counts["laughter"] = without_laughter(text)
    if stage.max_repeat:
        runs = ["".join(run) for _, run in itertools.groupby(text)]
        long = [len(r) > stage.max_repeat and not re.match(rf"[\d\s{PARTS}]", r) for r in runs]
        text = "".join(r[: stage.max_repeat] if b else r for r, b in zip(runs, long, strict=True))
        counts["repeats"] = sum(long)
    for link in kept:
        text = text.replace("\x1d", link, 1)
    return text, +counts


def by_line(find):
    """A search of lines, as one of texts."""

    def search(text: str):
        starts = [0, *(i + 1 for i, c in enumerate(text) if c == "\n")]
        return [(at + a, at + b) for at, line in zip(starts, text.split("\n"), strict=True) for a, b in find(line)]

    return search


def replaced(text: str, spans, new: str) -> tuple[str, int]:
    """The text with `new` for each span, and their number; with "" for it, the white space of what is gone goes too."""
    spans = list(spans)
    out, at = "", 0
    for start, end in spans if new else widened(text, [in_brackets(text, *span) for span in spans]):
        glued = not new and text[max(0, start - 1) : start].isalnum() and text[end : end + 1].isalnum()
        out, at = out + text[at:start] + (" " if glued else new), end
    return out + text[at:], len(spans)


def in_brackets(text: str, start: int, end: int) -> tuple[int, int]:
    """A span with the brackets directly around it."""
    around = text[max(0, start - 1) : start] + text[end : end + 1] in ("()", "[]", "{}", "<>")
    return start - around, end + around


def widened(text: str, spans):
    """Spans with the white space that would be double, or at a line's end, without them, and with an emptied line."""
    longer = []
    for start, end in united(spans):
        after = len(text) - len(text[end:].lstrip(BLANKS))
        longer.append((start, after if text[:start].endswith(("\n", *BLANKS)) or not start else end))
    for start, end in united(longer):
        ends_line = text[end : end + 1] in ("", "\n")
        first = len(text[:start].rstrip(BLANKS)) if ends_line or text[end] in ".,)" else start
        if ends_line and text[:first].endswith("\n"):
            yield first - 1, end
        else:
            yield first, end + (text[end : end + 1] == "\n" and not first)


def united(spans) -> list[tuple[int, int]]:
    """Spans of which none touches the next."""
    found = []
    for start, end in spans:
        found.append((found.pop()[0] if found and start <= found[-1][1] else start, end))
    return found


def edit_marks(text: str):
    """The span of a mark at the end: a direction mark and words in angle brackets."""
    start = text.rfind("\u200e<")
    inside = text[start + 2 : -1]
    if start >= 0 and text.endswith(">") and 4 <= len(inside) <= 80 and not set(inside) & set("<>\n\x1d"):
        yield start - (text[:start].endswith((" ", "\u00a0"))), len(text)


def links(text: str):
    """Spans of addresses, without signs of the sentence at their ends."""
    found, i = [], 0
    while i < len(text):
        end = with_scheme(text, i) or without_scheme(text, i)
        if end:
            stop = end
            while text[stop - 1] in ".,;:!?'*_~\u2019\u2026\u060c\u061b\u061f" or is_unopened(text[i:stop]):
                stop -= 1
            found.append((i, stop))
        i = end or i + 1
    return found


def is_unopened(link: str) -> bool:
    """Whether the bracket that a link ends with is closed more often than it is opened."""
    opening = {")": "(", "]": "[", "}": "{"}.get(link[-1])
    return opening is not None and link.count(link[-1]) > link.count(opening)


def rest(text: str, i: int) -> int:
    """Where the characters end that an address may have."""
    while i < len(text) and not (text[i].isspace() or text[i] in '<>"«»“”\u200e\u200f\u2066\u2067\u2068\u2069'):
        i += 1
    return i


def folded(text: str) -> str:
    """Lower case, of the letters of `LATIN` too."""
    return "".join({"İ": "i", "ı": "i", "ſ": "s"}.get(c, c.lower()) for c in text)


def is_name(c: str, more: str = "") -> bool:
    """Whether a character is a Latin letter, a Western digit or one of `more`."""
    return bool(c) and (c in LATIN or c in "0123456789" + more)


def with_scheme(text: str, i: int) -> int | None:
    """Where an address like https://x that begins here ends."""
    end = i
    while is_name(text[end : end + 1], "+.-"):
        end += 1
    right = text[i] in LATIN and 2 <= end - i <= 16 and not is_name(text[i - 1 : i], "+.-")
    last = rest(text, end + 3)
    return last if right and text[end : end + 3] == "://" and last > end + 3 else None


def without_scheme(text: str, i: int) -> int | None:
    """Where an address like www.x or youtu.be/x that begins here ends."""
    if is_name(text[i - 1 : i], "_@.-"):
        return None
    if folded(text[i : i + 4]) == "www." and is_word(text[i + 4 : i + 5]):
        return rest(text, i + 4)
    ends, end = [], i
    for _ in range(5):
        label = end
        while is_name(text[end : end + 1], "-"):
            end += 1
        if not 1 <= end - label <= 63 or text[label] == "-" or text[end : end + 1] != ".":
            break
        end += 1
        ends.append(end)
    found = (last for first in reversed(ends) if (last := after_ending(text, first)))
    last = next(found, None)
    return rest(text, last) if last and text[last : last + 1] in ("/", "?", "#") else last


def after_ending(text: str, i: int) -> int | None:
    """Where a known last part of a name ends, with its country and its port; some count only before a path."""
    for ending in ENDINGS.split():
        end = i + len(ending)
        if folded(text[i:end]) == ending:
            country = text[end : end + 1] == "." and all(c in LATIN for c in text[end + 1 : end + 3])
            for last in [end + 3] * (country and len(text) >= end + 3) + [end]:
                if not is_word(text[last : last + 1]) and text[last : last + 1] not in ("@", "-"):
                    port = last + 1
                    while text[port : port + 1] in tuple("0123456789"):
                        port += 1
                    return port if text[last : last + 1] == ":" and 2 <= port - last - 1 <= 5 else last
    for ending in BEFORE_A_SLASH.split():
        end = i + len(ending)
        if folded(text[i:end]) == ending and text[end : end + 1] == "/" and is_word(text[end + 1 : end + 2]):
            return end
    return None


def mentions(text: str):
    """Spans of @name and @number, of names between isolates, and of Discord's ids."""
    i = 0
    while i < len(text):
        end = isolated(text, i) or discord(text, i) or (named(text, i) if text[i] == "@" else None)
        if end:
            yield i, end
        i = end or i + 1


def isolated(text: str, i: int) -> int | None:
    """Where @ and a name between isolates end."""
    end = text.find("\u2069", i)
    inside = text[i + 2 : end]
    right = text[i : i + 2] == "@\u2068" and end > 0 and 1 <= len(inside) <= 100 and not set(inside) & set("\n\x1d")
    return end + 1 if right else None


def discord(text: str, i: int) -> int | None:
    """Where an id of a person, a role or a channel ends."""
    for sign in ("<@!", "<@&", "<@", "<#"):
        number = text[i + len(sign) :].partition(">")[0]
        closed = text[i + len(sign) + len(number) :].startswith(">")
        if text.startswith(sign, i) and closed and 5 <= len(number) <= 20 and not set(number) - set("0123456789"):
            return i + len(sign) + len(number) + 1
    return None


def named(text: str, i: int) -> int | None:
    """Where the name or number after an @ ends, which no letter and none of ./+- precedes."""
    if i and (is_word(text[i - 1]) or text[i - 1] in "@./+-"):
        return None
    first = i + 1 + (text[i + 1 : i + 2] == "+")
    end = first
    while text[end : end + 1] in tuple("0123456789"):
        end += 1
    if 6 <= end - first <= 16 and not is_word(text[end : end + 1]):
        return end
    letter = text[i + 1 : i + 2]
    if not letter.isalnum() or letter.isdecimal():
        return None
    end = i + 2
    while end < min(len(text), i + 65) and (is_word(text[end]) or "\u064b" <= text[end] <= "\u065f"):
        end += 1
    for _ in range(3):
        more = end + 1
        while more < min(len(text), end + 64) and is_word(text[more]):
            more += 1
        if text[end : end + 1] not in (".", "-") or more == end + 1:
            break
        end = more
    return end


def is_invisible(c: str) -> bool:
    """Whether a character is a control character that is no white space, a direction mark or a byte order mark."""
    marks = "\x7f\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
    return c in marks or (c < " " and c not in "\t\n\r\x1d\x1e")


def without_laughter(text: str) -> tuple[str, int]:
    """The text with laughter shortened, and how often."""
    out, count, words = "", 0, [("".join(run), inside) for inside, run in itertools.groupby(text, is_word)]
    for word, inside in words:
        short = short_laugh(word) if inside and len(word) > 2 else word
        out, count = out + short, count + (short != word)
    text, thai = without_fives(out)
    return text, count + thai


def without_fives(text: str) -> tuple[str, int]:
    """The text with laughter in Thai, four fives or more after a letter, shortened to three, and how often."""
    out, i, count = "", 0, 0
    while i < len(text):
        n = len(text[i:]) - len(text[i:].lstrip("5"))
        before = text[:i].removesuffix(" ")[-1:]
        laughs = n > 3 and "\u0e00" <= before <= "\u0e7f" and not text[i + n : i + n + 1].isdecimal()
        out, count = out + ("555" if laughs else text[i : i + max(n, 1)]), count + laughs
        i += max(n, 1)
    return out, count


def short_laugh(word: str) -> str:
    """The short form of a word that is laughter, in its case; else the word."""
    small = folded(word)
    runs = [len(list(run)) for _, run in itertools.groupby(small)]
    short = None
    if small.startswith("ه") and len(small) > 3 and not set(small) - set("هـ"):
        short = "ههه"
    elif len(runs) == 1 and small[0] in LETTERS and len(small) > 3:
        short = 3 * small[0]
    elif len(runs) > 3 and len(small) > 4:
        short = next((2 * s for s in SYLLABLES.split() if set(s) == set(small)), None)
    for head, end in (("md", "r"), ("ptd", "r"), ("lma", "o"), ("x", "d")):
        if small.startswith(head + 2 * end) and not small[len(head) :].strip(end):
            short = head + end
    if set(small) == set("lo") and small[0] == "l" and set(runs[:-1:2]) == {1}:
        short = "lol" if len(runs) > 3 or (len(runs) == 3 and (runs[1] > 1 or runs[2] > 2)) else short
    if short is None:
        return word
    return short.upper() if word.isupper() else short.capitalize() if word[0].isupper() else short
