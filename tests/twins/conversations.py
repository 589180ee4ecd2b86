"""Twin of `messages/conversations`."""

from __future__ import annotations

import re

from dataprep.messages.times import duration


def conversations(rows: list[dict], stage) -> list[tuple]:
    """Return (id, text, messages, latest time) of each conversation that messages make."""
    found: list[dict] = []
    of_chat: dict = {}
    gap, reply_gap = duration(stage.gap), duration(stage.reply_gap) if stage.replies else 0
    read = 0
    for row in rows:
        pieces = re.split(r"\{(author|text)\}", stage.line)
        line = "".join(row[piece] or "" if k % 2 else piece for k, piece in enumerate(pieces))
        line = line if row["author"] else row["text"]
        n = len((line + stage.separator).encode())
        one = of_chat.get(row["chat"])
        near = one and one["last"] and row["time"] and read + n - one["begin"] <= stage.max_bytes
        if near:
            apart = abs((row["time"] - one["last"]).total_seconds())
            answers = row["reply_to"] is not None and one["id"] <= row["reply_to"] < row["id"]
            near = apart < gap or (answers and apart < reply_gap)
        if not near or row["id"] in stage.cuts:
            one = of_chat[row["chat"]] = {"id": row["id"], "begin": read, "lines": [], "times": []}
            found.append(one)
        one["last"] = row["time"]
        one["lines"].append(line)
        one["times"].append(row["time"])
        read += n
    return [(t["id"], stage.separator.join(t["lines"]), len(t["lines"]), max(t["times"])) for t in found]
