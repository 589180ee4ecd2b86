"""Reader of Signal chats in the formats of widely used tools; Signal has no readable export of its own.

- signal-export (sigexport), `chat.md`: `[2024-05-03 09:12:05] Ilse: hello`, older with a comma or without seconds; a
  quote as `> ` lines before the text, reactions as `(- Ilse: X -)`, stickers as `(( X ))`, files as links to `media/`;
- signal-export, `data.json`: one JSON object per line;
- sigtop's short text: `2024-05-03 09:12 Ilse: [reply to Bee on 2024-05-03 09:10, edited, 1 attachment] hello`; and its
  long text (`sigtop.py`);
- signalbackup-tools `--exporttxt`: `[May 03, 2024 09:12:05] <Ilse> hello`, files and events after `***`.

HTML, CSV and XML of these tools are not read. Quotes, reactions and edit marks are moved from the text to meta:
{"quote": TEXT, "reactions": {X: COUNT}, "edited": true, "file": NAME}; the author of a quote is unknown, so reply_to is
null.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError
from dataprep.read.text import BOM
from dataprep.read.trust import Trust

from . import sigtop
from .headed import FirstLine, Headed, Held, MessageContent, refuse, since_1970
from .json_export import text_in
from .messages import files_of, kind_of_file
from .plain import month_of

MARKDOWN = re.compile(
    r"\[(\d{4})-(\d\d)-(\d\d),? (\d\d):(\d\d)(?::(\d\d))?\] ([^\n]{0,200}?):(?: |\Z)(.*)\Z", re.DOTALL
)
SHORT = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d)() ([^\n]{1,200}?):(?: |\Z)(.*)\Z", re.DOTALL)
TOOLS = re.compile(
    r"\[([A-Z][a-z]{2}) (\d\d), (\d{4}) (\d\d):(\d\d):(\d\d)\] (?:<([^\n]{1,200}?)>(?: |\Z)|\*\*\* )(.*)\Z", re.DOTALL
)
SENT = re.compile(r'<(?P<who>.{1,200}?)> sent file(?: "(?P<name>.*)"| of type (?P<type>\S+))?(?= |\Z)')
QUOTE = re.compile(r"\n\n((?:> ?[^\n]*\n)+)\n*")
REACTIONS = re.compile(r"(?: {2})?\n\(- (.+) -\)(?=\s|\[|!|\Z)")
STICKER = re.compile(r"(?: {2})?\n\(\( (.*) \)\) *\Z|\[[^\]\n]*\]\(\.\./exported_stickers/[^)\n]*\) *\Z")
LINK = re.compile(r"!?\[([^\]\n]*)\]\((?:\./)?media/([^)\n]*)\)")
MISSING = re.compile(r"\(([a-z ]{1,20}) not exported\) {2}")  # in place of a file
CALL = re.compile(r"(Incoming|Outgoing|Missed) (voice |video |group )*call( \([^()\n]*\))?\Z")
DETAILS = re.compile(
    r"\[((?:reply to [^\n]{1,250}? on (?:[\d-]{10} [\d:]{5}|unknown)|edited|\d+ attachments?|, )+)\](?: |\Z)"
)
OWN = re.compile(r"\[([\w-]+) message\]\Z")
OWNER = ("Me", "You")  # of signal-export and sigtop
TITLE_BYTES = 1024
# Of a message in `data.json`, as signal-export writes it.
FIELDS = {
    "date", "sender", "body", "quote", "sticker", "reactions", "attachments", "deleted", "call", "missed",
}  # fmt: skip
POLL = re.compile(r"Poll: .*(\n\s+\[\d+\] .*)+\Z")


@dataclass(frozen=True, kw_only=True)
class Signal(Headed):
    """Reads chats from signal-export, sigtop and signalbackup-tools.

    Args:
        me: the owner's name, which replaces Me and You.
    """

    me: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.me is not None and not self.me.strip():
            msg = f"me={self.me!r} must be the name of the owner, or None for Me and You, as the tools write"
            raise PlanError(msg)

    def chat(self, piece: Slice) -> str:
        """Return the name of the chat that the long text of sigtop states, or else that of the file."""
        return self._title(piece) or super().chat(piece)

    def _title(self, piece: Slice) -> str | None:
        with self.opened(piece) as stream:
            return sigtop.title_of(stream.read(TITLE_BYTES).removeprefix(BOM).partition(b"\n")[0])

    def _messages(self, piece: Slice, stats: Ledger, trust: Trust) -> Iterator[Held]:
        if self._title(piece) is None:
            yield from super()._messages(piece, stats, trust)
            return
        for message in sigtop.messages(self._lines(piece), self.max_doc_bytes):
            if isinstance(message, Held):
                yield message
            else:
                refuse(message, piece, stats, trust)

    def numbers(self, url: str) -> set[tuple[str, str]]:
        """Return (name, phone number as written) of the people whose numbers the file at `url` states."""
        piece = Slice(url, 0)
        return set() if self._title(piece) is None else sigtop.numbers_in(self._lines(piece))

    def begin(self) -> Callable[[str], FirstLine | None]:
        """Return a function that parses a line as the first line of a message: a FirstLine, or None if it is not one.

        After the first match, the function tries only the form that matched.
        """
        chosen: list[Callable[[str], FirstLine | None]] = []

        def first(line: str) -> FirstLine | None:
            for form in chosen or (_json, _markdown, _short, _tools):
                head = form(line)
                if head:
                    chosen[:] = [form]
                    return head
            return None

        return first

    def expected(self) -> str:
        """Return the forms of a message's first line in words, for the error about a file without such lines."""
        return (
            "a chat.md or data.json of signal-export ([2024-05-03 09:12] Ilse: hello), sigtop's short or long text "
            "(2024-05-03 09:12 Ilse: hello; Conversation: Ilse), or text of signalbackup-tools "
            "([May 03, 2024 09:12:05] <Ilse> hello)"
        )

    def row(self, head: FirstLine, text: str) -> MessageContent:
        """Return author, text, kind and meta of a message; quotes, reactions and edit marks move from text to meta.

        Args:
            head: the parsed first line.
            text: the whole text.
        """
        author = self.me if self.me and head.author in OWNER else head.author
        if not head.kind:
            return _row(author, text, head.meta or {})
        poll = head.kind == "text" and text.startswith("Poll: ") and POLL.match(text)
        return MessageContent(author, text, "poll" if poll else head.kind, head.meta or {})


def _row(author: str | None, text: str, meta: dict[str, Any]) -> MessageContent:
    if text == "(This message was deleted)":
        return MessageContent(author, text, "deleted", meta)
    quote = QUOTE.match(text)
    if quote:
        meta["quote"] = re.sub(r"^> ?", "", quote[1].rstrip("\n"), flags=re.MULTILINE)
        text = text[quote.end() :]
    reactions = REACTIONS.search(text)
    if reactions:
        meta["reactions"] = dict(Counter(pair.rpartition(": ")[2] for pair in reactions[1].split(", ")))
        text = text[: reactions.start()] + text[reactions.end() :]
    sticker = STICKER.search(text)
    names = [name for name, _ in LINK.findall(text)]
    missing = MISSING.findall(text)
    text = MISSING.sub("", text) if not names else text
    text = text.removesuffix("  ")
    if names:
        meta |= files_of(names)
        return MessageContent(author, text.strip(), kind_of_file(names[0]), meta)
    if sticker or missing:
        return MessageContent(author, text.strip(), "sticker" if sticker else _kind_of(missing[0]), meta)
    if author is None:
        return MessageContent(None, text, "call" if CALL.match(text) else "system", meta)
    return MessageContent(author, text, "call" if CALL.match(text) else "text", meta)


def _kind_of(missing: str) -> str:
    """Return the kind of a file that signal-export left out and names by its kind: "image", "media" ..."""
    return missing if missing in {"image", "video", "audio"} else "file"


def _markdown(line: str) -> FirstLine | None:
    m = MARKDOWN.match(line)
    time = since_1970(*(int(group or 0) for group in m.groups()[:6])) if m else None
    return FirstLine(time, None if m[7] == "No-Sender" else m[7] or None, m[8]) if m and time is not None else None


def _short(line: str) -> FirstLine | None:
    """Parse a line of sigtop; square brackets before a text are written by the tool."""
    m = SHORT.match(line)
    time = since_1970(*(int(group or 0) for group in m.groups()[:6])) if m else None
    if not m or time is None:
        return None
    own = OWN.match(m[8])
    if own:
        return FirstLine(time, None, m[8], "call" if own[1] == "call-history" else "system")
    details = DETAILS.match(m[8])
    if not details:
        return FirstLine(time, m[7], m[8], "text")
    files = re.search(r"\d+ attachments?\Z", details[1])
    text = (f"[{files[0]}] " if files else "") + m[8][details.end() :]
    edited = re.search(r"(?:\A|, )edited(?:,|\Z)", details[1])
    return FirstLine(time, m[7], text, "file" if files else "text", {"edited": True} if edited else None)


def _tools(line: str) -> FirstLine | None:
    """Parse a line of signalbackup-tools; `***` has no author."""
    m = TOOLS.match(line)
    time = since_1970(int(m[3]), month_of(m[1]), *map(int, m.group(2, 4, 5, 6))) if m else None
    if not m or time is None:
        return None
    if m[7]:
        return FirstLine(time, m[7], m[8], "text")
    sent = SENT.match(m[8])
    if sent:
        meta = {"file": sent["name"]} if sent["name"] else None
        return FirstLine(time, sent["who"], m[8], kind_of_file(sent["name"], sent["type"]), meta)
    return FirstLine(time, None, m[8], "call" if re.search(r"\bcall(ed)?\b", m[8], re.IGNORECASE) else "system")


def _json(line: str) -> FirstLine | None:
    if not line.startswith("{"):
        return None
    try:
        return _record(json.loads(line))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):  # another program's
        return None


def _record(record: Any) -> FirstLine:
    """Return a record of `data.json`. Raises an error of Python if it has another form."""
    when = datetime.fromisoformat(record["date"])
    body, sender = _readable(str(record["body"])), _readable(str(record["sender"]))
    time = since_1970(when.year, when.month, when.day, when.hour, when.minute, when.second)
    meta: dict[str, Any] = {}
    quote = str(record.get("quote") or "").strip("\n")
    if quote:
        meta["quote"] = re.sub(r"^> ?", "", quote, flags=re.MULTILINE)
    if record.get("reactions"):
        given = (r["emoji"] if isinstance(r, dict) else str(r[-1]) for r in record["reactions"])
        meta["reactions"] = dict(Counter(given))
    attached = [one for one in record.get("attachments") or () if isinstance(one, dict)]
    missing = [str(one["missing_kind"]) for one in attached if one.get("missing_kind")]
    names = [str(one["name"]) for one in attached if one.get("name")]
    meta |= files_of(names)
    author = None if sender == "No-Sender" else sender
    kind = (
        ("deleted" if record.get("deleted") else "")
        or (kind_of_file(names[0]) if names else "")
        or (_kind_of(missing[0]) if missing else "")
        or ("sticker" if record.get("sticker") else "")
        or ("call" if record.get("call") or CALL.match(body.rstrip(" ")) else "")
        or ("text" if author else "system")
    )
    meta = json.loads(json.dumps(meta, ensure_ascii=False).encode("utf-8", "replace"))
    more = {name: said for name, value in record.items() if name not in FIELDS and (said := text_in(value, _readable))}
    text = body.removesuffix("  ") or ("\n".join(more.values()) if kind == "text" else "")
    counted = [f"unknown_field.{name[:40]}" for name in more]
    counted += ["empty_text"] if kind == "text" and not text else []
    counted += ["unreadable_characters"] * text.count("\ufffd")
    return FirstLine(time, author, text, kind, meta, tuple(counted))


def _readable(text: str) -> str:
    """Return a text with U+FFFD in place of each lone surrogate."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
