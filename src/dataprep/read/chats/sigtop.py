"""The long text of sigtop (`-f text`), a Signal export: fields of a message on lines of their own, then its text.

    Conversation: Ilse Varga (+15550100)

    From: You
    Type: outgoing
    Sent: Fri, 3 May 2024 09:12:05 +0200
    Reaction: X from Ilse Varga (+15550100)

    > From: Ilse Varga (+15550100)
    > Sent: Fri, 3 May 2024 09:10:00 +0200
    >
    > five?

    yes, at five

A message begins after an empty line with `From:`, `Type:`, and `Sent:` or `Received:`. The versions of an edited
message follow `|`; the newest one is read. Details after a name (a number, an account, an id) are removed.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from dataprep.read.text import Record

from .headed import FirstLine, Held, since_1970
from .messages import files_of, kind_of_file
from .plain import month_of

TITLE = re.compile(rb"Conversation: ([^\n]{1,1000})\Z")
BEGINS = re.compile(rb"(?:From: [^\n]+\n)?Type: [\w-]+\n(?:Sent|Received): [^\n]|From: You\nType: outgoing\n")
UUID = r"[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}"
DETAIL = re.compile(rf"\s\((?:\+\d{{5,15}}|[\w-]+\.\d{{2,}}|{UUID}|[\w-]{{43}}|[\da-f]{{32,}})\)\Z")
NUMBERED = re.compile(rb"From: (.+) \((\+\d{5,15})\)\Z")
TIME = re.compile(r"[A-Z][a-z]{2}, (\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) [+-]\d{4}\Z")
FIELD = re.compile(r"(From|Type|Sent|Received|Attachment|Reaction|Edited|Version): (.*)\Z")
FILE = re.compile(r"(.*) \(([\w.+-]+/[\w.+-]+)?, \d+ bytes\)\Z")
REACTION = re.compile(r"(\S{1,40}) from ")
AHEAD = 3  # lines that show whether a message begins


class Parts(NamedTuple):
    """A message: its fields in order, the text of the quoted message (None if there is none), and its own text."""

    fields: list[tuple[str, str]]
    quote: str | None
    text: str

    def of(self, name: str) -> list[str]:
        """Return the values of a field."""
        return [value for field, value in self.fields if field == name]


def title_of(line: bytes) -> str | None:
    """Return the name of the chat that a file's first line states; None if it is not such a line."""
    found = TITLE.match(line.rstrip(b"\r\n"))
    return DETAIL.sub("", found[1].decode("utf-8", "replace")) if found else None


def messages(lines: Iterable[Record], max_bytes: int) -> Iterator[Held | Record]:
    """Yield each message, with its whole text in its first line; or a Record for a line before the first message.

    Args:
        lines: the lines of the file.
        max_bytes: the size of the longest message; a longer one has None in place of its further lines.
    """
    held: list[bytes] | None = None  # lines of a message; None before the first
    position = n_bytes = 0
    for line, begins in _beginnings(lines):
        if begins:
            if held is not None:
                yield _message(held, position, n_bytes, max_bytes)
            held, position, n_bytes = [], line.position, 0
        if held is None:
            if line.data is None or (line.data.strip() and title_of(line.data) is None):
                yield line
            continue
        n_bytes += line.n_bytes + 1
        if line.data is not None and n_bytes <= max_bytes + 1:
            held.append(line.data)
        elif line.data is None:
            n_bytes += max_bytes + 1
    if held is not None:
        yield _message(held, position, n_bytes, max_bytes)._replace(last=True)


def _beginnings(lines: Iterable[Record]) -> Iterator[tuple[Record, bool]]:
    """Yield each line, and whether a message begins with it."""
    ahead: deque[Record] = deque()
    source, blank = iter(lines), True
    while True:
        while len(ahead) < AHEAD and (more := next(source, None)):
            ahead.append(more)
        if not ahead:
            return
        line = ahead[0]
        begins = blank and bool(BEGINS.match(b"\n".join((one.data or b"")[:200] for one in ahead) + b"\n"))
        yield line, begins
        blank = line.data is not None and not line.data.strip()
        ahead.popleft()


def numbers_in(lines: Iterable[Record]) -> set[tuple[str, str]]:
    """Return (name, phone number as written) of the people whose numbers the first lines of messages state."""
    found = (NUMBERED.match(line.data) for line, begins in _beginnings(lines) if begins and line.data)
    return {(m[1].decode("utf-8", "replace"), m[2].decode()) for m in found if m}


def _message(lines: list[bytes], position: int, n_bytes: int, max_bytes: int) -> Held:
    """Return a message of sigtop, with its whole text in the first line."""
    parts = _parts([line.decode("utf-8", "surrogateescape") for line in lines])
    sort, sent = (next(iter(parts.of(name)), "") for name in ("Type", "Sent"))
    files = [(m[1], m[2]) for value in parts.of("Attachment") if (m := FILE.match(value))]
    author = None if sort not in ("incoming", "outgoing", "story") else next(iter(parts.of("From")), None)
    author = None if author is None else DETAIL.sub("", author)
    meta: dict[str, Any] = {}
    if parts.quote is not None:
        meta["quote"] = parts.quote
    if parts.of("Edited"):
        meta["edited"] = True
    if reactions := Counter(m[1] for value in parts.of("Reaction") if (m := REACTION.match(value))):
        meta["reactions"] = dict(reactions)
    meta |= files_of([name for name, _ in files if name != "no filename"])
    kind = kind_of_file(files[0][0], files[0][1]) if files else "text"
    text = parts.text or "\n".join(f"[{name}]" for name, _ in files)
    if author is None:
        kind, text = "call" if sort == "call-history" else "system", parts.text or f"[{sort} message]"
    head = FirstLine(_time(sent or next(iter(parts.of("Received")), "")), author, text, kind, meta)
    return Held(position, head, None if n_bytes > max_bytes + 1 else [], n_bytes)


def _parts(lines: list[str]) -> Parts:
    """Return the parts of a message, or of a version of an edited one.

    Args:
        lines: the lines from the first field of the message on.
    """
    end = next((k for k, line in enumerate(lines) if not FIELD.match(line)), len(lines))
    fields = [(m[1], m[2]) for line in lines[:end] if (m := FIELD.match(line))]
    rest = lines[end + 1 :]
    if any(name == "Edited" for name, _ in fields):
        newest = [line.removeprefix("|").removeprefix(" ") for line in rest if line.startswith("|")]
        older = (k for k in range(2, len(newest)) if re.match(r"Version: \d+\Z", newest[k]) and not newest[k - 1])
        inner = _parts(newest[: next(older, len(newest))])
        return Parts(fields + [one for one in inner.fields if one[0] == "Attachment"], inner.quote, inner.text)
    quote = None
    if len(rest) > 1 and rest[0].startswith("> From: ") and rest[1].startswith("> Sent: "):
        n = next((k for k, line in enumerate(rest) if not line.startswith(">")), len(rest))
        quote = _parts([line.removeprefix(">").removeprefix(" ") for line in rest[:n]]).text
        rest = rest[n + 1 :]
    return Parts(fields, quote, "\n".join(rest).rstrip("\n"))


def _time(written: str) -> int | None:
    found = TIME.match(written)
    return since_1970(int(found[3]), month_of(found[2]), *map(int, found.group(1, 4, 5, 6))) if found else None
