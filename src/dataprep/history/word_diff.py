"""Word diff of two texts: the words that only one of them has; long equal passages are left out."""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from dataprep.errors import counted

SAME, CHANGED, LEFT_OUT = "same", "changed", "left out"

# A word with the space after it; scripts without spaces one character at a time; long words in parts.
WORD = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]\s*|\w{1,32}\s*|\W\s*")
MAX_CHARS = 40_000  # of each text that are compared
MAX_WORDS = 3_000  # of each text that are matched, after the common beginning and end are removed
AROUND = 12  # words shown before and after a change
MAX_RUN = 80  # words of one change that are shown


class DiffRun(NamedTuple):
    """Consecutive words of one text.

    Attributes:
        kind: SAME if the other text has these words too, CHANGED if it does not; LEFT_OUT if `text` is a remark in
            place of words that are not shown.
    """

    kind: str
    text: str


DiffSide = list[DiffRun]


def word_diff(a: str, b: str, max_chars: int = 1_500) -> tuple[DiffSide, DiffSide]:
    """Return each of two texts as a list of DiffRun (consecutive words): the changed words, and the words around them.

    The runs of a list have in total at most about `max_chars` characters.

    >>> word_diff("one two three", "one four three")[0]
    [DiffRun(kind='same', text='one '), DiffRun(kind='changed', text='two '), DiffRun(kind='same', text='three')]
    """
    words = (WORD.findall(a[:MAX_CHARS]), WORD.findall(b[:MAX_CHARS]))
    sides: tuple[DiffSide, DiffSide] = ([], [])
    runs = _runs(*words)
    for n, (same, i, j, k, m) in enumerate(runs):
        ends = {"first": n == 0, "last": n == len(runs) - 1}
        sides[0].extend(_same(words[0][i:j], **ends) if same else _changed(words[0][i:j]))
        sides[1].extend(_same(words[1][k:m], **ends) if same else _changed(words[1][k:m]))
    cut = (len(a) > MAX_CHARS, len(b) > MAX_CHARS)
    return _clipped(sides[0], max_chars, more=cut[0]), _clipped(sides[1], max_chars, more=cut[1])


def _runs(a: list[str], b: list[str]) -> list[tuple[bool, int, int, int, int]]:
    """Return (same, start and stop in a, start and stop in b) of equal and changed runs, in order."""
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


def _same(words: list[str], *, first: bool, last: bool) -> DiffSide:
    """Return an equal run: the whole run if it is short, else only the words next to a change."""
    if len(words) <= 2 * AROUND + 16 or (first and last):
        return [DiffRun(SAME, "".join(words))]
    before = [] if first else [DiffRun(SAME, "".join(words[:AROUND]))]
    after = [] if last else [DiffRun(SAME, "".join(words[-AROUND:]))]
    n = len(words) - AROUND * (len(before) + len(after))
    return [*before, DiffRun(LEFT_OUT, f"{counted(n, 'word')} the same"), *after]


def _changed(words: list[str]) -> DiffSide:
    if not words:
        return []
    shown = DiffRun(CHANGED, "".join(words[:MAX_RUN]))
    return [shown] if len(words) <= MAX_RUN else [shown, DiffRun(LEFT_OUT, f"{len(words) - MAX_RUN:,} more words")]


def _clipped(side: DiffSide, max_chars: int, *, more: bool) -> DiffSide:
    out: DiffSide = []
    for run in side:
        if len(run.text) > max_chars and run.kind != LEFT_OUT:
            return [*out, DiffRun(run.kind, run.text[:max_chars]), DiffRun(LEFT_OUT, "and more")]
        max_chars -= len(run.text)
        out.append(run)
    return [*out, DiffRun(LEFT_OUT, "and more")] if more else out
