"""Find the kind of each WhatsApp message: a person's text, or a placeholder or line written by WhatsApp.

Only whole phrases decide, never a word inside a sentence. iOS puts a direction mark (U+200E, in Arabic U+200F) before
everything it writes itself; Android puts its placeholders in `<>`, and leaves a few bare ("This message was deleted").
Most messages are plain text: a kernel looks up a hash of the first line of each message. Only its hits are examined,
once per distinct text.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.read.chats.messages import KINDS
from dataprep.unicode.assigned import normalized

from . import events as E
from . import placeholders as P
from . import placeholders_ios
from .kinds_kernel import MARKED, MAYBE, TRIM, beginnings_of, look, table_of

MARKS_OF_TEXT = {"\u200e", "\u200f"}  # before everything that iOS writes itself
EDGES = "\ufeff\u200e\u200f\n\r"  # taken off a text at both ends
TEXT, SYSTEM = KINDS.index("text"), KINDS.index("system")
MARKS = "\ufeff\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069"  # direction marks and the byte order mark
SHORT = 64  # characters of a message worth remembering
END = 256  # characters at the end of a message, among which an edit mark is looked for
LONGEST_LINE = 300  # characters of a line that WhatsApp wrote although the export names an author
SPACES = " \u00a0\u202f\t\r"
# Hindi letters that phones write with one code, and NFC with two.
NUKTA = (("\u0921\u093c", "\u095c"), ("\u0922\u093c", "\u095d"), ("\u092b\u093c", "\u095e"))
SMALL = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}
NO_MARKS = str.maketrans("", "", MARKS)


def forms(table: str) -> set[str]:
    """Return all phrases of a table, in every form that phones write, in lower case.

    Args:
        table: text with one line per language, "LANGUAGE: PHRASE | PHRASE ...", as in `placeholders.py`.
    """
    lines = (line.partition(":")[2] for line in table.strip().split("\n"))
    plain = {normalized("NFC", p.strip()) for line in lines for p in line.split(" | ")}
    plain |= {functools.reduce(lambda p, pair: p.replace(*pair), NUKTA, p) for p in plain}
    return {f.translate(SMALL) for p in plain for f in (p, p.capitalize(), p.title(), p.upper())}


def _kinds(table: Mapping[str, str]) -> dict[str, str]:
    return {form: kind for kind, text in table.items() for form in forms(text)}


ANYWHERE = _kinds(
    {"file": P.MEDIA, "deleted": E.DELETED, "call": E.MISSED, "location": E.LIVE, "system": E.WAITING}
) | _kinds(P.VIEW_ONCE)
ON_IOS, BEGINS = _kinds(placeholders_ios.PHRASES), _kinds(E.BEGINS)
ATTACHED, EDITED = frozenset(forms(P.ATTACHED)), frozenset(forms(E.EDITED))
GONE = tuple(f"{form} " for form in forms(E.DELETED))
ADMIN = re.compile(E.ADMIN)
CALLS = frozenset(forms(E.MISSED) | forms(E.CALLS))
NAMES = (  # kinds by the names of attached files
    (re.compile(r"(^|-)(STK|STICKER)-|\.webp$", re.IGNORECASE), "sticker"),
    (re.compile(r"(^|-)GIF-|\.gif$", re.IGNORECASE), "gif"),
    (re.compile(r"(^|-)(IMG|PHOTO)-|\.(jpe?g|png|heic)$", re.IGNORECASE), "image"),
    (re.compile(r"(^|-)(VID|VIDEO)-|\.(mp4|mov|3gp|webm|mkv)$", re.IGNORECASE), "video"),
    (re.compile(r"(^|-)(AUD|AUDIO|PTT)-|\.(opus|ogg|m4a|mp3|aac|wav|amr)$", re.IGNORECASE), "audio"),
    (re.compile(r"\.vcf$", re.IGNORECASE), "contact"),
)
TAIL = re.compile(
    rf"[{SPACES}]?(?P<marks>[{MARKS}]*)[<\u2039](?P<said>[^<>\u2039\u203a\n]{{3,60}})[>\u203a][{MARKS}{SPACES}\n]*\Z"
)
PAREN = re.compile(rf".*\S(?=[{SPACES}]*[(\uff08]([^()\uff08\uff09]+)[)\uff09]\Z)")
ANGLE = re.compile(r"<(?P<word>[^<>:]{2,40}): ?(?P<name>[^<>/]+\.[^<>/. ]+)>\Z")
FILE_FIRST = re.compile(r"(?P<name>[^<>/\n]+\.\w{2,5}) ?<(?P<word>[^<>:]{2,40})>\Z")  # as old iOS writes it
# A place with a name, as iOS and as Android write it.
VENUE = re.compile(r"(?:[^\n]+: |(?:[^\n]+\n){1,3})https://foursquare\.com/v/[0-9a-f]{24}\Z")
VENUE_ID = len("/0123456789abcdef01234567")
OWN_NAME = re.compile(r"[A-Z]{3}-\d{8}-WA\d{4,}\.\w+\Z")  # names of files that Android saves
NUMBERED = re.compile(r"\d{4,8}-")  # how the names of iOS's attached files begin
OPTION = re.compile(  # of a poll, with its votes
    r"^[\u200e\u200f]?[^\s:\uff1a][^:\uff1a\n]{1,20}[:\uff1a] ?.*[(\uff08][^()\n]*\d[^()\n]*[)\uff09]$", re.MULTILINE
)


def _any_of(table: str) -> str:
    return "|".join(line.partition(": ")[2] for line in table.strip().split("\n"))


SPOKEN_BY_WHATSAPP = re.compile(
    rf"^(?:{_any_of(E.SAYS)})|\s(?:{_any_of(E.DOES)})|{_any_of(E.DOES_CLOSE)}", re.IGNORECASE
)
# The name of a group, cut off by the colon in it.
CUT = re.compile(r'(?:^|\s)(?:"[^"\s][^"]*|\u201c[^\u201d]+|\u00ab[^\u00bb]+|\u201e[^\u201c\u201d]+)\Z')


def recognise(
    said: pa.LargeStringArray, has_author: npt.NDArray[np.bool_], *, marked: bool | None = None,
    edit_marks: frozenset[str] = frozenset(),
) -> tuple[pa.StringArray, pa.LargeStringArray, list[str] | None]:  # fmt: skip
    """Find the kinds of n messages; return (kinds, texts, meta as JSON texts); meta is None if all are "{}".

    Args:
        said: the text of each message, with direction marks (such as U+200E). The texts returned have no edit marks and
            no outer direction marks.
        has_author: bool[n].
        marked: whether a direction mark precedes everything that WhatsApp itself writes; None: decide from these
            messages.
        edit_marks: further edit marks, as `bare` returns them.
    """
    offsets, data = B.buffers(said)
    flags = look(offsets, data, *_tables())
    marked = bool((flags & MARKED).any()) if marked is None else marked
    texts = said
    if (flags & TRIM).any():
        mask = pa.array((flags & TRIM) > 0)
        texts = pc.replace_with_mask(texts, mask, pc.utf8_trim(said.filter(mask), EDGES))
    kinds = np.where(has_author, TEXT, SYSTEM).astype(np.int32)
    venues = _venues(texts)
    kinds[venues[has_author[venues]]] = KINDS.index("location")
    rows = np.flatnonzero(flags & MAYBE)
    held = zip(said.take(rows).to_pylist(), has_author[rows].tolist(), strict=True)
    found = [(_known if len(s) < SHORT else _one)(s, speaks=speaks, marked=marked, edit_marks=edit_marks)
             for s, speaks in held]  # fmt: skip
    codes = np.array([KINDS.index(f.kind) for f in found], np.int32)
    kinds[rows] = np.where(codes == TEXT, kinds[rows], codes)
    edits = {row: f for row, f in zip(rows.tolist(), found, strict=True) if f.text is not None}
    if edits:
        mask = np.zeros(len(said), np.bool_)
        mask[list(edits)] = True
        texts = pc.replace_with_mask(texts, pa.array(mask), pa.array([f.text for f in edits.values()], texts.type))
    metas = None
    if any(f.meta != "{}" for f in found):
        metas = ["{}"] * len(said)
        for row, f in zip(rows.tolist(), found, strict=True):
            metas[row] = f.meta
    return pa.DictionaryArray.from_arrays(pa.array(kinds), pa.array(KINDS)).cast(pa.string()), texts, metas


def _venues(texts: pa.LargeStringArray) -> npt.NDArray[np.int64]:
    """Return the rows of messages that are a named place, its address and a link to it, in WhatsApp's form."""
    offsets, data = B.buffers(texts)
    stops = offsets[1:]
    long = np.flatnonzero(np.diff(offsets) > 2 * VENUE_ID)
    rows = long[data[stops[long] - VENUE_ID] == ord("/")]
    said = texts.take(rows).to_pylist()
    found: npt.NDArray[np.int64] = rows[np.array([bool(VENUE.match(s)) for s in said], np.bool_)]
    return found


def is_system(candidate_author: str) -> bool:
    """Return whether `candidate_author`, the text before a colon, is the start of a line that WhatsApp itself wrote.

    In any language, an unclosed quotation mark indicates such a line, because the colon is then part of a quoted group
    name.
    """
    line = candidate_author.translate(NO_MARKS).strip(SPACES)
    return bool(SPOKEN_BY_WHATSAPP.search(line) or CUT.search(line))


class Examined(NamedTuple):
    """The kind of one message, its text without an edit mark (None: no change), and its further fields as JSON."""

    kind: str
    text: str | None
    meta: str


def _one(said: str, *, speaks: bool, marked: bool, edit_marks: frozenset[str] = frozenset()) -> Examined:
    """Return the result for one message; `said` includes its direction marks.

    - marked: whether the export has direction marks.
    """
    meta: dict[str, Any] = {}
    text = None
    end = tail_of(said)
    if end and (bare(end["said"]) in EDITED or bare(end["said"]) in edit_marks or _is_marked(end)):
        said, meta = said[: end.start()], {"edited": True}
        text = said.strip(EDGES)
    kind, name = kind_of(said, speaks=speaks, marked=marked)
    if name:
        meta = {"file": name, **meta}
    return Examined(kind, text, json.dumps(meta, ensure_ascii=False) if meta else "{}")


def tail_of(said: str) -> re.Match[str] | None:
    """Return the match of TAIL, words in angle brackets at the end of a message, or None."""
    return TAIL.search(said, max(0, len(said) - END)) if said.rstrip(EDGES + SPACES).endswith((">", "\u203a")) else None


def _is_marked(end: re.Match[str]) -> bool:
    """Return whether words in angle brackets after a text are WhatsApp's by their mark, and are not a file's name."""
    said = end[0].translate(NO_MARKS).strip(SPACES + "\n")
    before = end.string[: end.start()].strip(EDGES + SPACES)
    line = end.string.strip(EDGES).translate(NO_MARKS).strip(SPACES)
    return bool(MARKS_OF_TEXT & set(end["marks"]) and before) and not (ANGLE.search(said) or FILE_FIRST.match(line))


_known = functools.lru_cache(maxsize=1 << 12)(_one)  # "<Media omitted>" comes thousands of times


def kind_of(said: str, *, speaks: bool, marked: bool) -> tuple[str, str]:
    """Return (kind, name of the attached file or "") of a message.

    Args:
        said: its text, with direction marks (such as U+200E).
        speaks: whether it has an author.
        marked: whether the export has a direction mark before everything that WhatsApp itself writes.
    """
    line = said.split("\n", 1)[0].strip(SPACES)
    parts = re.split("[\u200e\u200f]", line)
    ios = len(parts) > 1
    whole = bare(line)
    last = bare(parts[-1]) if ios else whole
    kind = ANYWHERE.get(whole) or ANYWHERE.get(last) or ""
    if kind == "file" and whole == "null" and line != "null":
        kind = ""
    if not kind and (ios or not marked):
        kind = ON_IOS.get(whole.strip("<>")) or ON_IOS.get(last.strip("<>")) or ""
    if not kind and (whole.startswith(E.DELETED_BY) or (whole.startswith(GONE) and ADMIN.search(whole))):
        kind = "deleted"
    kind = kind or _call(whole, ios=ios) or _block(said, whole)
    if kind:
        return kind, ""
    plain = line.translate(NO_MARKS).strip(SPACES)
    name = _attached(plain, ios=ios, first=ios or said.startswith(plain[:5]))
    if name:
        return next((k for pattern, k in NAMES if pattern.search(name)), "file"), name
    if ios and not parts[0]:  # WhatsApp begins its own lines with the mark
        if whole.startswith(E.VIEW_ONCE):
            return "file", ""
        if len(whole) < LONGEST_LINE and SPOKEN_BY_WHATSAPP.search(whole):
            return "system", ""
    return "text" if speaks else "system", ""


def _call(whole: str, *, ios: bool) -> str:
    """Return "call" or ""; a length ("voice call, 5 min") or time ("missed voice call at 10:30") may follow."""
    head = re.split(r"[.,] | at \d", whole, maxsplit=1)[0]
    return "call" if head in CALLS and (ios or head in ANYWHERE) else ""


def _block(said: str, whole: str) -> str:
    """Return the kind of a message with several parts, each introduced by a word and a colon: places, polls, events."""
    head, _, rest = whole.partition(":")
    kind = BEGINS.get(head.strip(SPACES), "")
    if kind == "location":
        return kind if rest.strip(SPACES).startswith("http") else ""
    several, open_ = "\n" in said, whole[-1:] in {":", "\uff1a"}
    if open_ and several and (kind or len(OPTION.findall(said)) > 1):
        return kind or "poll"
    begun = said.startswith(("\u200e", "\u200f"))  # by WhatsApp, in whatever language
    if (open_ and several and begun) or (kind == "event" and (begun or several) and said.strip(EDGES)[:5].isupper()):
        return kind or "event"
    return ""


def _attached(line: str, *, ios: bool, first: bool) -> str:
    """Return the name of the attached file that a line states, or "".

    - first: whether the line is the first one.
    """
    end = PAREN.match(line) if line.endswith((")", "\uff09")) else None
    if end:
        return end[0] if bare(end[1]) in ATTACHED or (first and OWN_NAME.match(end[0])) else ""
    end = ANGLE.search(line) if line.endswith(">") else None
    end = end or (FILE_FIRST.match(line) if line.endswith(">") else None)
    known = end and (ios or end["word"] == "attached" or NUMBERED.match(end["name"]))
    return end["name"] if end and known else ""


def bare(phrase: str) -> str:
    """Return a phrase without direction marks, outer white space and full stop; ASCII letters in lower case."""
    return phrase.translate(NO_MARKS).strip(SPACES).translate(SMALL).rstrip(".\u3002")


@functools.cache
def _tables() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """Return the hashes of all possible first lines, their beginnings up to a colon or comma, and ends in brackets.

    The second table is that of `beginnings_of`.
    """
    wanted = {p for table in (ANYWHERE, ON_IOS, BEGINS) for p in table} | ATTACHED | CALLS
    wanted |= {f"{c} at " for c in CALLS}
    return table_of(wanted), beginnings_of(wanted)
