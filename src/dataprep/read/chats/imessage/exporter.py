"""The text files of imessage-exporter: a line with the time, a line with the author, the text, and a blank line.

    May 17, 2022  5:29:42 PM (Read by them after 1 hour)
    Ilse Varga
    tea?
    attachments/12/cup.jpg
    Tapbacks:
        Loved by Me

The file contains every reply twice: indented under the message that it answers, and again at its own time. The indented
copy is counted, but is not a message. A line with the time and further words is a notice of the Messages app.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from dataprep.read.chats.headed import FirstLine, MessageContent, since_1970
from dataprep.read.chats.messages import files_of, kind_of_file
from dataprep.read.chats.plain import month_of

TIME = r"([A-Z][a-z]{2}) (\d\d), (\d{4})  ?(\d{1,2}):(\d\d):(\d\d) ([AP])M"
DONE = "(?:named|renamed|changed|performed|added|removed|left|joined|kept|started|stopped|set|shared|updated|turned)"
NOTICE = rf"(?: (?P<rest>.{{1,200}} {DONE}\b.*))?"
BEGINS = re.compile(rf"(?P<indent> {{4,}})?{TIME}(?: \((?P<read>[^()]*)\))?{NOTICE}\Z", re.DOTALL)
WRITTEN = re.compile(rf"{TIME} ")
EDITED = re.compile(r"Edited [^:\n]{1,80} later: ")
UNSENT = re.compile(r"(You|They|.{1,80}) (unsent|deleted) a message[.!]\Z|.{1,80} unsent this message part.{0,80}\Z")
REACTED = re.compile(r"\s*(?:(Loved|Liked|Disliked|Laughed|Emphasized|Questioned)|(\S{1,12})) by .{1,200}\Z")
SYMBOLS = {"Loved": "❤️", "Liked": "👍", "Disliked": "👎", "Laughed": "😂", "Emphasized": "‼️", "Questioned": "❓"}
STICKER = re.compile(r"\s*(?:\w+ )?Sticker from .{1,200}(: (?P<path>.+)| not found!)\Z")
PATH = re.compile(
    r"(attachments/|/|~/|[A-Z]:\\)\S.*\.\w{2,5}\Z|\S+\.(heic|jpe?g|png|gif|mov|mp4|caf|m4a|pdf|vcf)\Z", re.IGNORECASE
)
EFFECT = re.compile(r"Sent with [A-Z][A-Za-z ]{1,20}\Z")
REPLY = "This message responded to an earlier message."
DELETED = "This message was deleted from the conversation!"
MISSING = "Attachment missing!"
HANDWRITTEN = "Handwritten messages are not yet supported!"
UNREADABLE = "Unable to format app message: "
LOCATION = re.compile(r"(?:Started|Stopped) sharing location!\Z")
SHARED_PLAY = "SharePlay Message\nEnded"
DRAWING = "drawing.png"  # names the kind of a handwritten message, which has no file
HEADINGS = {"Tapbacks:", "Reactions:"}


def first_line(line: str) -> tuple[FirstLine, bool] | None:
    """Return the parsed first line of a message, and whether it is indented; None for other lines.

    The kind of a notice is "system", and its text is the rest of the line after the time. For a message, the next line
    states the author.
    """
    m = BEGINS.match(line)
    if not m:
        return None
    month, day, year, hour, minute, second, half = m.groups()[1:8]
    time = since_1970(
        int(year), month_of(month), int(day), int(hour) % 12 + 12 * (half == "P"), int(minute), int(second)
    )
    return (FirstLine(time, None, m["rest"] or "", "system" if m["rest"] else ""), bool(m["indent"])) if time else None


def content(author: str | None, text: str) -> MessageContent:
    """Return the columns of a message; its files, reactions and remarks move from the text to meta.

    - text: the lines after that of the author.
    """
    meta: dict[str, Any] = {}
    kept: list[str] = []
    names: list[str] = []
    reactions: Counter[str] = Counter()
    listed = sticker = deleted = False
    for line in text.split("\n"):
        reacted = REACTED.match(line) if listed else None
        stuck = STICKER.match(line)
        if line in HEADINGS:
            listed = True
        elif reacted:
            reactions[SYMBOLS.get(reacted[1], reacted[2] or "")] += 1
        elif stuck and listed:
            reactions["sticker"] += 1
        elif stuck:
            sticker = True
            names += [stuck["path"].rpartition("/")[2]] if stuck["path"] else []
        elif line == REPLY:
            meta["reply"] = True
        elif EFFECT.match(line) and kept:
            meta["effect"] = line
        elif PATH.match(line):
            names.append(line.rpartition("/")[2])
        elif EDITED.match(line):
            meta["edited"] = True
            kept = [line[EDITED.match(line).end() :]]  # type: ignore[union-attr]
        elif line in {MISSING, HANDWRITTEN} or line.startswith(UNREADABLE):
            names.append(DRAWING if line == HANDWRITTEN else "")
        elif line == DELETED or UNSENT.match(line):
            deleted = True
        else:
            kept.append(line)
    if meta.get("edited") is None and kept and WRITTEN.match(kept[0]) and len(kept) == 1:
        kept[0] = kept[0][WRITTEN.match(kept[0]).end() :]  # type: ignore[union-attr] # an edit whose other texts are lost
    meta |= files_of([name for name in names if name and name != DRAWING])
    if reactions:
        meta["reactions"] = dict(reactions)
    said = "\n".join(kept).strip("\n")
    kind = "sticker" if sticker else kind_of_file(names[0]) if names else "call" if said == SHARED_PLAY else "text"
    kind = "location" if LOCATION.match(said) else kind
    return MessageContent(author, said, "deleted" if deleted else kind, meta)


def is_export(head: bytes) -> bool:
    """Return whether the first bytes of a text file are the beginning of a file of imessage-exporter."""
    lines = [line.rstrip("\r") for line in head[:4_096].decode("utf-8", "replace").lstrip().split("\n")]
    found = first_line(lines[0])
    if found is None or found[1]:
        return False
    return found[0].kind == "system" or (len(lines) > 1 and lines[1].strip() != "")
