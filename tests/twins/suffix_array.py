"""Twin of `SuffixArray` (`dedup/substrings`)."""

from __future__ import annotations

import re

from twins.unicode import WORD


def windows_of(text: str, width: int, by_word: bool) -> list[tuple[int, int]]:
    """Where windows start and end, in bytes."""
    if not by_word:
        return [(i, i + width) for i in range(len(text.encode()) - width + 1)]
    size = [len(text[: m.start()].encode()) for m in re.finditer(f"{WORD}+", text)]
    ends = [len(text[: m.end()].encode()) for m in re.finditer(f"{WORD}+", text)]
    return list(zip(size, ends[width - 1 :], strict=False))


def repeated_spans(texts: list[str], width: int, by_word: bool, cut: str) -> list[tuple[int, int, int, int, int]]:
    """What is cut: (document, start, end, document and place of the first occurrence), in UTF-8 bytes."""
    first, spans = {}, []
    for d, text in enumerate(texts):
        data, gone, met = text.encode(), bytearray(len(text.encode())), {}
        for start, end in windows_of(text, width, by_word):
            place = first.setdefault(data[start:end], (d, start))
            if place != (d, start):
                met[start] = place
                gone[start:end] = b"x" * (end - start)
        for piece in re.finditer(rb"x+", bytes(gone)):
            inside = [i for i in allowed_cuts(text, cut) if piece.start() <= i <= piece.end()]
            if inside and inside[0] < inside[-1]:
                window = max(s for s in met if s <= inside[0])
                other, at = met[window]
                spans.append((d, inside[0], inside[-1], other, at + inside[0] - window))
    return spans


def allowed_cuts(text: str, cut: str) -> list[int]:
    """The places in bytes where a text may be cut: between code points; not inside words; where lines begin."""
    inside = {"char": "(?!)", "word": f"(?<={WORD})(?={WORD})", "line": r"(?<=[^\n])(?!\Z)"}[cut]
    bad = {m.start() for m in re.finditer(inside, text)}
    return [len(text[:i].encode()) for i in range(len(text) + 1) if i not in bad]
