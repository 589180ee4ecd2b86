"""Twin of the spans cut out of texts (`unicode/cut.py`): a mark per byte."""

from __future__ import annotations

import re


def cut_plainly(text, spans):
    """What is left of a text, and how many stretches of it were cut."""
    gone = bytearray(b"." * len(text.encode()))
    for start, end in spans:
        gone[start:end] = b"x" * (end - start)
    left = bytes(byte for byte, mark in zip(text.encode(), gone, strict=True) if mark == ord("."))
    return left.decode(), len(re.findall(b"x+", gone))
