"""Twin of `messages/statistics.py`, message by message."""

from __future__ import annotations

from collections import Counter


def message_stats(rows, gap):
    """Counts and values of `MessageStats`, message by message; rows: (chat, author, time, kind, text, language)."""
    counts, values, talks = Counter(), {name: [] for name in ("talk", "seconds", "reply", "chars")}, {}

    def close(talk):
        values["talk"].append(talk["n"])
        values["seconds"].append(abs(int((talk["last"] - talk["first"]).total_seconds())))

    for chat, author, time, kind, text, language in rows:
        counts[f"kind.{kind}"] += 1
        if author is None or kind == "system":
            continue
        counts[f"author.{author}"] += 1
        counts[f"chat.{chat}"] += chat is not None
        if kind == "text":
            counts[f"language.{language}"] += language is not None
            values["chars"].append(len(text))
        if time is None:
            continue
        counts[f"clock.{time.isoweekday()}.{time:%H}"] += 1
        counts[f"month.{time:%Y-%m}"] += 1
        if chat is None:
            continue
        talk = talks.get(chat)
        waited = None if talk is None else abs(time - talk["last"])
        if talk is None or waited >= gap:
            if talk is not None:
                close(talk)
            talks[chat] = talk = {"first": time, "n": 0}
        elif author != talk["author"]:
            values["reply"].append(int(waited.total_seconds()))
        talk |= {"n": talk["n"] + 1, "last": time, "author": author}
    for talk in talks.values():
        close(talk)
    return +counts, values
