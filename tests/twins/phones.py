"""Twin of `pii/numbers.py`: phone numbers as runs of digits, read group by group without patterns."""

from __future__ import annotations

import itertools

from dataprep.pii.glued import wide_gaps
from twins.bare import joined
from twins.bare_runs import is_after_word, may_be_bare
from twins.context import amount, counted, drawn, topic
from twins.glued import attached, parted, with_extension
from twins.phone_forms import before_phone, goes_on, is_inner, kind, may_begin, possible, to_end
from twins.phone_labels import is_labelled, is_phone, with_and
from twins.phone_others import in_date, in_isbn, in_row, is_decimal, may_end
from twins.phone_signs import BLANKS, INVISIBLE, SIGNS, groups_of, in_list, plain


def phones(line: str):
    """Spans of phone numbers; digits are read as Western ones, and characters hidden in a number are left out."""
    line = plain(line)
    words = attached(line)
    spaced = "".join(f" {c}" if i in words else c for i, c in enumerate(line))
    added = [word + k for k, word in enumerate(words)]
    for start, end in _phones(spaced):
        yield start - sum(i < start for i in added), end - sum(i < end for i in added)


def _phones(line: str):
    """Spans of phone numbers in a line in which words and numbers are apart."""
    inside, kept, i = {*"0123456789/()+", *BLANKS, *SIGNS}, [], 0
    while i < len(line):
        end = i
        while end < len(line) and line[end] in INVISIBLE:
            end += 1
        if i in (end, 0) or end == len(line) or line[i - 1] not in inside or line[end] not in inside:
            end = max(end, i + 1)
            kept += range(i, end)
        i = end
    blanks = {start for start, _ in wide_gaps(line)}  # held against examples in tests/pii/test_glued.py
    kept = [i for i in kept if i not in blanks]
    shown = "".join(line[i] for i in kept)
    for start, end in plain_phones(parted(shown)):
        yield kept[start], kept[with_extension(shown, end) - 1] + 1


def plain_phones(line: str):
    """Spans of phone numbers, each from its + or bracket to the end of its last group."""
    end, phone = -1, False
    for groups in runs(line):
        run, at, before_run = Run(groups), 0, end
        found: list[tuple[int, int]] = []
        if not run or run[-1][1] - run[0][0] < 8:
            continue
        first = run[0][0]
        phone = is_phone(line, first) or (phone and (in_list(line, end, first) or with_and(line, end, first)))
        run.called = 0 if phone else None
        while at < len(run):
            other = in_date(line, run[at][0]) or in_isbn(line, run[at][0])
            last = None if other else last_group(line, run, at, end)
            mine, rest = at == run.called, last
            if last is not None and phone:
                run.called = last + 1
            while last is not None and goes_on(line, run, at, rest, last, mine):
                if phone:
                    run.called = last + 1
                if last_group(line, run, last + 1, run[rest][1]) is not None:
                    break
                last += 1
            if last is not None and phone:
                run.called = last + 1
            if last is not None and (
                any(is_labelled(line, i) for i in (run[at][0], row_start(line, run, at)))
                or (not phone and is_other(line, run[at][0], run[last][1]))
            ):
                at = last + 1
                continue
            if last is not None:
                start, end = run[at][0], run[last][1]
                rest = line[run[at][1] : end]
                start -= line[:start].endswith("+")
                bracket = line[:start].endswith("(") and rest.count(")") > rest.count("(")
                found.append((start - bracket, end))
            at = at + 1 if last is None else last + 1
        if (is_after_word(line, first) or 0 <= before_run < first <= before_run + 4) and may_be_bare(line, run):
            found = joined(line, run, found, before_run if found else end)
        found = [(a, b) for a, b in found if not counted(line, a, b)]
        yield from found
        end = found[-1][1] if found else end


class Run(list):
    """Groups of digits; `called`: the index of one that a label calls a phone."""

    called: int | None = None


def is_other(line: str, start: int, end: int) -> bool:
    """Whether a number without a label is glued to three capitals, is 0123456789, or has no 0 and is counted."""
    letters = line[max(0, start - 3) : start]
    if len(letters) == 3 and letters.isalpha() and letters.isupper() and letters[-1].isupper():
        return True
    if line[start] == "0":
        return line[start:end] == "0123456789" or (end - start == 14 and drawn(line, start, end))
    if line[max(0, start - 1) : start] in ("+", "@", "=", "/", "B", "b"):
        return False
    return amount(line, end) or topic(line, start, end, 2) == "other"


def row_start(line: str, run, at: int) -> int:
    """Where the groups begin that are as long as a group and stand before it, with one space between."""
    least = max(0, at - 8)
    while at > least and len(run[at - 1][2]) == len(run[at][2]) and line[run[at - 1][1] : run[at][0]] == " ":
        at -= 1
    return run[at][0]


def runs(line: str):
    """Groups with at most four signs between them that may be in a number."""
    run = []
    for group in groups_of(line):
        between = line[run[-1][1] : group[0]] if run else ""
        if len(between) > 4 or not set(between) <= {*BLANKS, *SIGNS, *"/()+"}:
            yield run
            run = []
        run.append(group)
    yield run


def last_group(line: str, run, at: int, end: int) -> int | None:
    """The last group of the phone that begins with group `at`; the longest that leaves the next number whole."""
    start = run[at][0]
    follows = in_list(line, end, start)
    lengths = possible(line, run, at)
    if not lengths or not (follows or (may_begin(line, start) and not is_inner(line, run, at))):
        return None
    first = kind(line, run, at) in ("national", "called") and not follows
    for again, last in itertools.product((False, True), sorted(lengths, reverse=True)):
        takes_next = any(one > last for k in range(at + 1, last + 1) for one in possible(line, run, k))
        takes_next = takes_next and not (again and before_phone(line, run, last))
        row = first and (in_row(line, run, at, last) or is_decimal(line, run, at, last))
        whole = None if takes_next or row else to_end(line, run, at, last)
        if whole is not None and may_end(line, run, at, whole):
            return whole
    return None
