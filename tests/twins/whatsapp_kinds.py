"""Twin of `read/chats/whatsapp/kinds.py` and its kernel: every message is examined, character by character.

Of the project it takes the phrases of thirty languages (`placeholders.py` and `events.py`), not the rules about them.
"""

from __future__ import annotations

import json
import re
from functools import cache
from unicodedata import normalize

from dataprep.read.chats.whatsapp import events as E
from dataprep.read.chats.whatsapp import placeholders as P
from dataprep.read.chats.whatsapp import placeholders_ios

SIDES = "\u200e\u200f"
MARKS = SIDES + "\ufeff\u202a\u202b\u202c\u2066\u2067\u2068\u2069"
SPACES = " \u00a0\u202f\t\r"
EDGES = SIDES + "\ufeff\n\r"
OF_FILES = {  # kinds by parts of names and by endings
    "sticker": "STK STICKER .webp", "gif": "GIF .gif", "image": "IMG PHOTO .jpg .jpeg .png .heic",
    "video": "VID VIDEO .mp4 .mov .3gp .webm .mkv", "audio": "AUD AUDIO PTT .opus .ogg .m4a .mp3 .aac .wav .amr",
    "contact": ".vcf",
}  # fmt: skip


def whatsapp(messages: list[tuple[str, bool]]) -> list[tuple[str, str, str]]:
    """Kind, text and meta of each (text as exported, whether somebody speaks)."""
    marked = any(c in said.split("\n")[0] for said, _ in messages for c in SIDES)
    out = []
    for said, speaks in messages:
        left, meta = without_edit_mark(said)
        kind, name = kind_of(left, marked)
        if not kind:
            kind = "system" if not speaks else "location" if is_place(said.strip(EDGES)) else "text"
        meta = {"file": name, **meta} if name else meta
        out.append((kind, left.strip(EDGES), json.dumps(meta, ensure_ascii=False) if meta else "{}"))
    return out


@cache
def written(table: str) -> frozenset[str]:
    """The phrases of a table, as phones write them: with Hindi's dotted letters in either code, in any capitals."""
    found = set()
    for line in table.strip().split("\n"):
        for phrase in line.partition(":")[2].split(" | "):
            plain = normalize("NFC", phrase.strip())
            one_code = plain.replace("ड़", "\u095c").replace("ढ़", "\u095d").replace("फ़", "\u095e")
            for p in (plain, one_code):
                found |= {small(p), small(p.capitalize()), small(p.title()), small(p.upper())}
    return frozenset(found)


def small(text: str) -> str:
    """The text with its Latin letters from A to Z in lower case."""
    return "".join(c.lower() if c.isascii() else c for c in text)


def bare(phrase: str) -> str:
    """A phrase without marks, white space and full stop around it."""
    return small("".join(c for c in phrase if c not in MARKS).strip(SPACES)).rstrip(".。")


def without_edit_mark(said: str) -> tuple[str, dict]:
    """The text before a mark like <This message was edited> at its end, and {"edited": True}."""
    end = said.rstrip(MARKS + SPACES + "\n")
    start = end.rfind("<")
    inside = end[start + 1 : -1]
    if start < 0 or not end.endswith(">") or not 3 <= len(inside) <= 60 or bare(inside) not in written(E.EDITED):
        return said, {}
    left = said[:start].rstrip(MARKS)
    return left[:-1] if left.endswith(tuple(SPACES)) else left, {"edited": True}


def kind_of(said: str, marked: bool) -> tuple[str, str]:
    """Kind and file name of what the phone wrote; "" twice for what people wrote."""
    line = said.partition("\n")[0].strip(SPACES)
    by_phone = any(c in line for c in SIDES)
    after = line.replace("\u200f", "\u200e").rpartition("\u200e")[2]
    whole, last = bare(line), bare(after)
    anywhere = {"file": P.MEDIA, "deleted": E.DELETED, "call": E.MISSED, "location": E.LIVE, "system": E.WAITING}
    tables = [*P.VIEW_ONCE.items(), *(anywhere.items() if not whole == "null" != line else ())]
    found = [kind for phrase in (whole, last) for kind, phrases in tables if phrase in written(phrases)]
    tables = placeholders_ios.PHRASES.items() if by_phone or not marked else ()
    found += [kind for p in (whole, last) for kind, phrases in tables if p.strip("<>") in written(phrases)]
    if found:
        return found[0], ""
    by_admin = any(whole.startswith(p + " ") for p in written(E.DELETED)) and re.search(E.ADMIN, whole)
    if whole.startswith(E.DELETED_BY) or by_admin:
        return "deleted", ""
    if kind := call(whole, by_phone) or block(said, whole):
        return kind, ""
    if name := file_name(line, by_phone, said):
        return next((k for k, forms in OF_FILES.items() if is_named(name.upper(), forms.upper().split())), "file"), name
    if line[:1] in tuple(SIDES) and whole.startswith(E.VIEW_ONCE):
        return "file", ""
    return ("system", "") if line[:1] in tuple(SIDES) and len(whole) < 300 and is_of_whatsapp(whole) else ("", "")


def call(whole: str, by_phone: bool) -> str:
    """Whether the line is a call, before a comma, a full stop or a time."""
    ends = [i for sign in (". ", ", ") if (i := whole.find(sign)) >= 0]
    ends += [i for i in range(len(whole)) if whole.startswith(" at ", i) and whole[i + 4 : i + 5].isdecimal()]
    head = whole[: min(ends, default=len(whole))]
    known = head in written(E.MISSED) or (by_phone and head in written(E.CALLS))
    return "call" if known else ""


def block(said: str, whole: str) -> str:
    """The kind of a place with its address, a poll with its options, or an event."""
    head, _, rest = whole.partition(":")
    kind = next((k for k, table in E.BEGINS.items() if head.strip(SPACES) in written(table)), "")
    if kind == "location":
        return kind if rest.strip(SPACES).startswith("http") else ""
    several, is_open, begun = "\n" in said, whole.endswith((":", "\uff1a")), said.startswith(tuple(SIDES))
    if is_open and several and (kind or sum(map(is_option, said.split("\n"))) > 1):
        return kind or "poll"
    if is_open and several and begun:
        return kind or "event"
    return kind if kind == "event" and (begun or several) and said.strip(EDGES)[:5].isupper() else ""


def is_option(line: str) -> bool:
    """Whether a line is a word, a colon, and something with a number in brackets behind it."""
    if not line.endswith((")", "\uff09")):
        return False
    for form in {line, line[1:] if line[0] in SIDES else line}:
        colon = min((i for i, c in enumerate(form) if c in ":\uff1a"), default=0)
        opened = [i for i in range(colon + 1, len(form) - 1) if form[i] in "(\uff08"]
        inside = [form[i + 1 : -1] for i in opened if not set(form[i + 1 : -1]) & set("()")]
        if 2 <= colon <= 21 and not form[0].isspace() and any(c.isdecimal() for part in inside for c in part):
            return True
    return False


def file_name(line: str, by_phone: bool, said: str) -> str:
    """The name in `NAME (file attached)` or `<attached: NAME>`, or in a form that only phones write."""
    line = "".join(c for c in line if c not in MARKS).strip(SPACES)
    if line.endswith((")", "\uff09")):
        start = max(line.rfind("("), line.rfind("\uff08"))
        name, inside = line[: max(start, 0)].rstrip(SPACES), line[start + 1 : -1]
        if start < 1 or not inside or set(inside) & set(")\uff09") or not name or name[-1].isspace():
            return ""
        own = is_own(name) and (by_phone or said.startswith(line[:5]))
        return name if own or bare(inside) in written(P.ATTACHED) else ""
    before, sign, inside = line[:-1].partition("<")
    name = before.removesuffix(" ")
    head, dot, ending = name.rpartition(".")
    short = 2 <= len(ending) <= 5 and all(c.isalnum() or c == "_" for c in ending)
    if line.endswith(">") and sign and head and dot and short and not set(before) & set("/>"):
        number = name.split("-")[0]
        numbered = "-" in name and 4 <= len(number) <= 8 and number.isdecimal()
        if 2 <= len(inside) <= 40 and not set(inside) & set("<>:"):
            return name if by_phone or inside == "attached" or numbered else ""
    word, colon, name = line[line.rfind("<") + 1 : -1].partition(":")
    if "<" not in line or not line.endswith(">") or not colon or ">" in word + name or not 2 <= len(word) <= 40:
        return ""
    for form in (name[1:] if name[:1] == " " else name, name):
        head, dot, ending = form.rpartition(".")
        if head and dot and ending and not set(form) & {"/"} and " " not in ending:
            number = form.split("-")[0]
            numbered = "-" in form and 4 <= len(number) <= 8 and number.isdecimal()
            return form if by_phone or word == "attached" or numbered else ""
    return ""


def is_own(name: str) -> bool:
    """Whether a name is like IMG-20240513-WA0001.jpg."""
    parts = name.split("-")
    number, dot, ending = parts[-1].removeprefix("WA").partition(".")
    letters = len(parts) == 3 and len(parts[0]) == 3 and parts[0].isascii() and parts[0].isalpha()
    day = letters and parts[0].isupper() and len(parts[1]) == 8 and parts[1].isdecimal()
    long = parts[-1].startswith("WA") and len(number) >= 4 and number.isdecimal()
    return bool(day and long and dot and ending) and all(c.isalnum() or c == "_" for c in ending)


def is_named(name: str, forms: list[str]) -> bool:
    """Whether a name has one of these parts before a hyphen, or ends so."""
    return name.endswith(tuple(f for f in forms if f[0] == ".")) or not set(forms).isdisjoint(name.split("-")[:-1])


def is_of_whatsapp(line: str) -> bool:
    """Whether a line begins as WhatsApp's do, or tells what somebody did."""
    said = ((table, before) for table, before in ((E.SAYS, "^"), (E.DOES, r"\s"), (E.DOES_CLOSE, "")))
    lines = ((before, row.partition(": ")[2]) for table, before in said for row in table.strip().split("\n"))
    return any(re.search(f"{before}(?:{rest})", line, re.IGNORECASE) for before, rest in lines)


def is_place(text: str) -> bool:
    """Whether a text is the name of a place, in one line or up to three, and WhatsApp's link to it."""
    before, sign, number = text.rpartition("https://foursquare.com/v/")
    lines = before.split("\n")
    named = len(before) > 2 and before.endswith(": ") and len(lines) == 1
    named |= 2 <= len(lines) <= 4 and not lines[-1] and all(lines[:-1])
    return named and bool(sign) and len(number) == 24 and not set(number) - set("0123456789abcdef")
