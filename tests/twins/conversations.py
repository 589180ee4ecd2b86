"""Twin of `messages/conversations`."""

from __future__ import annotations

import re


def conversations(rows: list[dict], stage) -> list[tuple]:
    """(id, text, messages, latest time) of the talks that a list of messages makes."""
    talks: list[dict] = []
    of_chat: dict = {}
    gap, reply_gap = stage.seconds
    read = 0
    for row in rows:
        pieces = re.split(r"\{(author|text)\}", stage.line)
        line = "".join(row[piece] or "" if k % 2 else piece for k, piece in enumerate(pieces))
        line = line if row["author"] else row["text"]
        n = len((line + stage.separator).encode())
        talk = of_chat.get(row["chat"])
        near = talk and talk["last"] and row["time"] and read + n - talk["begin"] <= stage.max_bytes
        if near:
            apart = abs((row["time"] - talk["last"]).total_seconds())
            answers = row["reply_to"] is not None and talk["id"] <= row["reply_to"] < row["id"]
            near = apart < gap or (answers and apart < reply_gap)
        if not near:
            talk = of_chat[row["chat"]] = {"id": row["id"], "begin": read, "lines": [], "times": []}
            talks.append(talk)
        talk["last"] = row["time"]
        talk["lines"].append(line)
        talk["times"].append(row["time"])
        read += n
    return [(t["id"], stage.separator.join(t["lines"]), len(t["lines"]), max(t["times"])) for t in talks]
