"""What a message of a WhatsApp export is: something somebody said, or what WhatsApp wrote in its place.

Told by whole phrases, never by a word inside a sentence. iOS puts a direction mark (U+200E, in Arabic U+200F) before
what it writes itself; Android puts its placeholders in `<>`, and leaves a few bare ("This message was deleted").
Most messages are plain text: a kernel hashes the first line of each and looks it up, and only what it finds is looked
at more closely, once for each distinct text.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ... import batch as B
from . import whatsapp_placeholders as P
from .messages import KINDS
from .whatsapp_words_kernel import MARKED, MAYBE, TRIM, look, table_of

EDGES = "\ufeff\u200e\u200f\n\r"  # taken off a text at both ends
TEXT, SYSTEM = KINDS.index("text"), KINDS.index("system")
MARKS = "\ufeff\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069"  # direction marks and the byte order mark
SPACES = " \u00a0\u202f\t\r"
NO_MARKS = str.maketrans("", "", MARKS)


def phrases(table: str) -> list[str]:
    """The phrases of one text of the tables, in small letters."""
    lines = (line.partition(":")[2] for line in table.strip().split("\n"))
    return [normalize("NFC", p.strip().lower()) for line in lines for p in line.split(" | ")]


def _kinds(table: dict[str, str]) -> dict[str, str]:
    return {phrase: kind for kind, text in table.items() for phrase in phrases(text)}


ANYWHERE, ON_IOS, SPOKEN, BEGINS = map(_kinds, (P.ANYWHERE, P.MARKED, P.SPOKEN, P.BEGINS))
ATTACHED, EDITED = frozenset(phrases(P.ATTACHED)), frozenset(phrases(P.EDITED))
CALLS = {p for table in (ANYWHERE, SPOKEN) for p, kind in table.items() if kind == "call"}
NAMES = (  # what the names of attached files tell
    (re.compile(r"(^|-)(STK|STICKER)-|\.webp$", re.IGNORECASE), "sticker"),
    (re.compile(r"(^|-)GIF-|\.gif$", re.IGNORECASE), "gif"),
    (re.compile(r"(^|-)(IMG|PHOTO)-|\.(jpe?g|png|heic)$", re.IGNORECASE), "image"),
    (re.compile(r"(^|-)(VID|VIDEO)-|\.(mp4|mov|3gp|webm|mkv)$", re.IGNORECASE), "video"),
    (re.compile(r"(^|-)(AUD|AUDIO|PTT)-|\.(opus|ogg|m4a|mp3|aac|wav|amr)$", re.IGNORECASE), "audio"),
    (re.compile(r"\.vcf$", re.IGNORECASE), "contact"),
)
TAIL = re.compile(rf"[{SPACES}]?[{MARKS}]*<(?P<said>[^<>\n]{{3,60}})>[{MARKS}{SPACES}]*$")
PAREN = re.compile(rf"(?P<name>.*\S)[{SPACES}]*[(\uff08][{MARKS}]*(?P<said>[^()\uff08\uff09]+)[)\uff09]$")
ANGLE = re.compile(r"<[^<>:]{2,40}:\s?(?P<name>[^<>/]+\.[^<>/. ]+)>$")
OPTION = re.compile(r"^[\u200e\u200f]?[^\s:][^:\n]{1,20}: .*\([\u200e\u200f]?\d+ [^()\n]+\)$", re.MULTILINE)

# A line without an author may hold a colon: what stands before it is no name if it holds one of these.
SPOKEN_BY_WHATSAPP = re.compile(
    r" (created (this )?group|changed (the|this|their|to)|added |removed |joined |left$|pinned )|"
    r"^(Messages (and calls|to this)|You('re| are| created| changed| added| joined| were)|Your security code)"
)


def recognise(
    said: pa.LargeStringArray, has_author: npt.NDArray[np.bool_]
) -> tuple[pa.StringArray, pa.LargeStringArray, list[str] | None]:
    """What messages are: kinds, texts without edit marks and outer direction marks, metas (None: all are "{}").

    said: what stands behind "author: ", direction marks included; where nobody speaks, behind the header.
    """
    offsets, data = B.buffers(said)
    flags = look(offsets, data, _table())
    marked = bool((flags & MARKED).any())
    texts = said
    if (flags & TRIM).any():
        mask = pa.array((flags & TRIM) > 0)
        texts = pc.replace_with_mask(texts, mask, pc.utf8_trim(said.filter(mask), EDGES))
    kinds = np.where(has_author, TEXT, SYSTEM).astype(np.int32)
    rows = np.flatnonzero(flags & MAYBE)
    held = zip(said.take(rows).to_pylist(), has_author[rows].tolist(), strict=True)
    found = [_one(s, speaks=speaks, marked=marked) for s, speaks in held]
    kinds[rows] = [KINDS.index(f.kind) for f in found]
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


def is_system(candidate_author: str) -> bool:
    """Whether what stands before a colon is no name but the beginning of a line WhatsApp wrote."""
    bare = candidate_author.translate(NO_MARKS).strip(SPACES)
    return bool(SPOKEN_BY_WHATSAPP.search(bare))


class Found(NamedTuple):
    """What a closer look told of a message; text is None where it stays as it is."""

    kind: str
    text: str | None
    meta: str


@functools.lru_cache(maxsize=1 << 14)
def _one(said: str, *, speaks: bool, marked: bool) -> Found:
    """One message; said with its direction marks, marked: whether the export has any."""
    meta: dict[str, Any] = {}
    text = None
    end = TAIL.search(said) if "<" in said else None
    if end and _bare(end["said"]) in EDITED:
        said, meta = said[: end.start()], {"edited": True}
        text = said.strip(EDGES)
    kind, name = kind_of(said, speaks=speaks, marked=marked)
    if name:
        meta = {"file": name, **meta}
    return Found(kind, text, json.dumps(meta, ensure_ascii=False) if meta else "{}")


def kind_of(said: str, *, speaks: bool, marked: bool) -> tuple[str, str]:
    """The kind of a message, and the name of the file it attaches if it tells one."""
    first = said.split("\n", 1)[0].strip(SPACES)
    whole, parts = _bare(first), re.split("[\u200e\u200f]", first)
    ios = len(parts) > 1
    last = _bare(parts[-1]) if ios else whole
    kind = ANYWHERE.get(whole) or ANYWHERE.get(last)
    if not kind and (ios or not marked):
        kind = ON_IOS.get(whole.strip("<>")) or ON_IOS.get(last.strip("<>"))
    kind = kind or _call(whole, ios=ios) or _block(said, whole)
    if kind:
        return kind, ""
    name = _attached(first.translate(NO_MARKS).strip(SPACES))
    if name:
        return next((k for pattern, k in NAMES if pattern.search(name)), "file"), name
    return "text" if speaks and not (ios and is_system(whole)) else "system", ""


def _call(whole: str, *, ios: bool) -> str:
    """A length may follow ("voice call, 5 min"), or a time ("missed voice call at 10:30")."""
    head = re.split(r"[.,\u060c] | at \d", whole, maxsplit=1)[0]
    return "call" if head in CALLS and (ios or head in ANYWHERE) else ""


def _block(said: str, whole: str) -> str:
    """Messages of several parts, each behind a word and a colon: places, polls, events."""
    head, _, rest = whole.partition(":")
    kind = BEGINS.get(head.strip(SPACES), "")
    if kind == "location":
        return kind if rest.strip(SPACES).startswith("http") else ""
    if whole.endswith(":") and (kind or len(OPTION.findall(said)) > 1):
        return kind or "poll"
    return ""


def _attached(line: str) -> str:
    """The name of the file a line says is attached, or nothing."""
    end = PAREN.match(line) if line.endswith((")", "\uff09")) else None
    if end:
        return end["name"] if _bare(end["said"]) in ATTACHED else ""
    end = ANGLE.search(line) if line.endswith(">") else None
    return end["name"] if end else ""


def _bare(phrase: str) -> str:
    return normalize("NFC", phrase.translate(NO_MARKS).strip(SPACES).lower().rstrip(".\u3002"))


@functools.cache
def _table() -> npt.NDArray[np.uint64]:
    """Everything that may be a whole first line, its beginning up to a colon or comma, or its end in brackets."""
    wanted = {p for table in (ANYWHERE, ON_IOS, BEGINS) for p in table} | ATTACHED | CALLS | {f"{c} at " for c in CALLS}
    return table_of({form for p in wanted for form in (p, p.capitalize(), p.title(), p.upper())})
