"""Two texts side by side: which words the other one lacks, with long stretches that are the same left out."""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

SAME, CHANGED, LEFT_OUT = "same", "changed", "left out"

# A word with the space after it; scripts without spaces one character at a time; long runs in pieces.
WORD = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]\s*|\w{1,32}\s*|\W\s*")
MAX_CHARS = 40_000  # of each text that is looked at
MAX_WORDS = 3_000  # of each text that are matched, once what they begin and end with alike is off
AROUND = 12  # words shown before and after a change
MAX_RUN = 80  # words of one change that are shown


class Piece(NamedTuple):
    """Some words of one side: the same on both, changed, or a remark that stands for words left out."""

    kind: str
    text: str


Side = list[Piece]


def word_diff(a: str, b: str, max_chars: int = 1_500) -> tuple[Side, Side]:
    """Both texts as pieces, at most about `max_chars` a side: changes, and what stands around them.

    >>> word_diff("one two three", "one four three")[0]
    [Piece(kind='same', text='one '), Piece(kind='changed', text='two '), Piece(kind='same', text='three')]
    """
    words = (WORD.findall(a[:MAX_CHARS]), WORD.findall(b[:MAX_CHARS]))
    sides: tuple[Side, Side] = ([], [])
    runs = _runs(*words)
    for n, (same, i, j, k, m) in enumerate(runs):
        ends = {"first": n == 0, "last": n == len(runs) - 1}
        sides[0].extend(_same(words[0][i:j], **ends) if same else _changed(words[0][i:j]))
        sides[1].extend(_same(words[1][k:m], **ends) if same else _changed(words[1][k:m]))
    cut = (len(a) > MAX_CHARS, len(b) > MAX_CHARS)
    return _clipped(sides[0], max_chars, more=cut[0]), _clipped(sides[1], max_chars, more=cut[1])


def _runs(a: list[str], b: list[str]) -> list[tuple[bool, int, int, int, int]]:
    """(same, from, to in a, from, to in b), in order."""
    keys = ([w.strip() or " " for w in a], [w.strip() or " " for w in b])
    n = min(len(a), len(b))
    head = next((i for i in range(n) if keys[0][i] != keys[1][i]), n)
    tail = next((i for i in range(n - head) if keys[0][-1 - i] != keys[1][-1 - i]), n - head)
    inside = [keys[side][head : len(keys[side]) - tail][:MAX_WORDS] for side in (0, 1)]
    # Without the heuristic, words such as "the" make matching quadratic.
    matcher = difflib.SequenceMatcher(None, inside[0], inside[1], autojunk=len(inside[1]) > 400)
    runs = [(True, 0, head, 0, head)] if head else []
    for tag, i, j, k, m in matcher.get_opcodes():
        runs.append((tag == "equal", head + i, head + j, head + k, head + m))
    at = (head + len(inside[0]), head + len(inside[1]))
    ends = (len(a) - tail, len(b) - tail)
    if at != ends:
        runs.append((False, at[0], ends[0], at[1], ends[1]))
    return [*runs, (True, ends[0], len(a), ends[1], len(b))] if tail else runs


def _same(words: list[str], *, first: bool, last: bool) -> Side:
    """What is the same: whole if short, else only what touches a change."""
    if len(words) <= 2 * AROUND + 16 or (first and last):
        return [Piece(SAME, "".join(words))]
    before = [] if first else [Piece(SAME, "".join(words[:AROUND]))]
    after = [] if last else [Piece(SAME, "".join(words[-AROUND:]))]
    n = len(words) - AROUND * (len(before) + len(after))
    return [*before, Piece(LEFT_OUT, f"{n:,} words the same"), *after]


def _changed(words: list[str]) -> Side:
    if not words:
        return []
    shown = Piece(CHANGED, "".join(words[:MAX_RUN]))
    return [shown] if len(words) <= MAX_RUN else [shown, Piece(LEFT_OUT, f"{len(words) - MAX_RUN:,} more words")]


def _clipped(side: Side, max_chars: int, *, more: bool) -> Side:
    out: Side = []
    for piece in side:
        if len(piece.text) > max_chars and piece.kind != LEFT_OUT:
            return [*out, Piece(piece.kind, piece.text[:max_chars]), Piece(LEFT_OUT, "and more")]
        max_chars -= len(piece.text)
        out.append(piece)
    return [*out, Piece(LEFT_OUT, "and more")] if more else out
