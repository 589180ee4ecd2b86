"""Twin of the JSON Lines reader (`read/json`): Python's own parser, a line at a time."""

from __future__ import annotations

import json


def jsonl(data: bytes, field: str, max_line: int) -> tuple[list, list]:
    """(position, text, the other fields) of good lines and (position, reason) of bad ones, by Python's own parser.

    field: the field of the text, "a" or "a.b".
    """
    rows, bad, start = [], [], 0
    for number, line in enumerate(data.split(b"\n")):
        position, start = start, start + len(line) + 1
        line = b"   " + line[3:] if number == 0 and line.startswith(b"\xef\xbb\xbf") else line  # noqa: PLW2901
        reason, record = ("too_long", None) if len(line) > max_line else _parse(line)
        if reason is None and not isinstance(record, dict):
            reason = "not_an_object"
        home, name = _home(record, field) if reason is None else ({}, "")
        if reason is None and not isinstance(home.get(name), str):
            reason = "no_text"
        elif reason is None and any(0xD800 <= ord(c) <= 0xDFFF for c in home[name]):
            reason = "invalid_utf8"
        if reason is None:
            text = home.pop(name)
            rows.append((position, text, record))
        elif reason != "blank":
            bad.append((position, reason))
    return rows, bad


def _parse(line: bytes) -> tuple[str | None, object]:
    if not line.strip(b" \t\r"):
        return "blank", None
    try:
        return None, json.loads(line.decode(), parse_constant=lambda name: json.loads(name + "!"))
    except UnicodeDecodeError:
        return "invalid_utf8", None
    except ValueError:
        return "not_json", None


def _home(record: dict, field: str) -> tuple[dict, str]:
    """The object that has the text, and its name there."""
    *around, name = [field] if field in record else field.split(".")
    home = record
    for outer in around:
        home = home.get(outer) if isinstance(home, dict) else None
    return (home if isinstance(home, dict) else {}), name
