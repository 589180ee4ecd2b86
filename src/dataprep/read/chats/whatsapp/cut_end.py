"""Clean the end of a truncated WhatsApp export: remove half a character or half a header."""

from __future__ import annotations

import re

from . import headers as H
from . import scan as S
from .dates import DateOrders

CUT = re.compile(rb"([\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\n?\Z")  # a character's beginning


def whole_end(data: bytes, n_header: int, plan: DateOrders) -> tuple[bytes, bool, int]:
    """Remove half a character and half a header from the end of a truncated file.

    Args:
        data: the last message from its header on, with a line feed at its end.
        n_header: the size of its header in bytes.
        plan: the forms of headers in this file.

    Returns (the rest of the message; whether half a character was removed; the size in bytes of the half header that
    was removed, 0 if there was none).
    """
    cut = CUT.search(data)
    if cut:
        data = data[: cut.start()] + b"\n"
    start = data.rfind(b"\n", 0, len(data) - 1) + 1
    n_bytes = len(data) - 1 - start
    if start and _begins_header(data[start:-1], data[:n_header], plan):
        return data[:start], cut is not None, n_bytes
    return data, cut is not None, 0


def _begins_header(line: bytes, example: bytes, plan: DateOrders) -> bool:
    """Return whether a line without an end is a header truncated after its date, by adding another header's end."""
    if len(re.findall(r"\d+", line.decode("utf-8", "replace"))) < 4:
        return False
    for i in range(len(example)):
        found = H.find_in(line + example[i:])
        if len(found) and found[0, S.BODY] > len(line) and plan.times(found, 0)[1][0] >= 0:
            return True
    return False
