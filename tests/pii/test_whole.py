"""Nothing is half hidden: of a run of groups of digits, either all are hidden or none is."""

from __future__ import annotations

import random
import re

import pytest

from dataprep.core.model import batch as B
from dataprep.pii.rules import find
from dataprep.pii.signs import DASHES, SPACES
from dataprep.pii.stage import PII

NUMBERS = (
    "06 12 34 56 78", "0612 34 56 78", "0707 12 34 56 78", "020 7946 0958", "0612345678", "212 555 0123",
    "8 916 123 45 67", "+212 6 12 34 56 78", "+1 212 555 0123", "01 234567", "04 12 23 34 41 49", "5 12 19 27 33",
    "0151 2345678", "99 88", "13912345678", "612 34 56 78", "0532 123 45 67", "00212 6 12 34 56 78", "06 06 06 06 06",
    "+33 (0)6 12 34 56 78", "(212) 555-0123", "078-05-1120", "(06) 12 34 56 78", "0612345678 / 06 12 34 56 79",
)  # fmt: skip
LABELS = ("", "", "", "tel ", "num ", "order ", "lotto ", "Amine ", "in ", "هاتف ", "заказ ", "手机", '"id": ', "call ")
BEFORE = ("", "", "", "7", "22", "2024", "150", "12 34", "0612345678", "06 12 34 56 79")
AFTER = (
    "", "", "2", "24", "150", "2024", "12 34", "100 200", "1 2 3", "12 05 2024", "07 12 34 56 79", "0712", "24h", "5th",
    "12.50", "20%", "09:30", "05/06/2024", "et 2 enfants",
)  # fmt: skip
GAPS = (" ", " ", " ", "-", ".", "/", ", ", " / ", " - ", "\u00a0", "\u2212", "\u2013", "\u2009")


def contexts(n: int):
    """Yield lines with a number between labels, figures and signs; its spaces may be any sign."""
    chance = random.Random(31)
    for _ in range(n):
        parts = [chance.choice(some) for some in (BEFORE, NUMBERS, AFTER)]
        sign = chance.choice(GAPS)
        gaps = [chance.choice((sign, chance.choice(GAPS))) if part else "" for part in parts]
        parts = [part.replace(" ", sign) if chance.random() < 0.5 else part for part in parts]
        yield chance.choice(LABELS) + parts[0] + (gaps[0] if parts[0] else "") + parts[1] + gaps[2] + parts[2]


def left_behind(line: str, spans: list[tuple[int, int]]) -> list[str]:
    """Return the groups of digits that stay although a hidden number is joined to them by the sign inside of it.

    What stands before a number and a space is another thing (a name, a year), and so are words, times and prices.
    """
    plain = "".join("-" if c in DASHES else " " if c in SPACES else c for c in line)
    left = []
    for start, end in spans:
        inner = re.search(r"[0-9]([ ./-])[0-9]+$", plain[start:end])
        if not inner:
            continue
        sign = re.escape(inner[1])
        more = re.match(rf"{sign}([0-9]+)(?![0-9A-Za-z%_])(?![./:,-][0-9])", plain[end:])
        more = more or re.match(rf"{sign}([0-9]+)(?={sign}[0-9])", plain[end:])
        if more and not any(a <= end + 1 < b for a, b in spans):
            left.append(more[1])
        before = plain[start] != "+" and re.search(r"[0-9]+[.-]$", plain[:start])
        if before and not any(a < start - 1 <= b for a, b in spans):
            left.append(before[0])
    return left


def test_a_run_of_groups_is_hidden_whole_or_not_at_all():
    """In 20,000 contexts no group stays that is joined to a hidden number by the number's own sign."""
    lines = list(contexts(20_000))
    found: list[list[tuple[int, int]]] = [[] for _ in lines]
    some = [line.encode() for line in lines]
    starts = [0]
    for line in some:
        starts.append(starts[-1] + len(line))
    for span in PII(kinds="phone")._spans(B.make(range(len(lines)), lines, "s")):
        a, b = span.start - starts[span.row], span.end - starts[span.row]
        found[span.row].append((len(some[span.row][:a].decode()), len(some[span.row][:b].decode())))
    wrong = [(line, left) for line, spans in zip(lines, found, strict=True) if (left := left_behind(line, spans))]
    assert wrong == []
    assert sum(map(bool, found)) > len(lines) // 3
    assert sum(map(len, found)) > sum(map(bool, found)) + 1_000  # two numbers in a line


@pytest.mark.parametrize(("text", "left"), [
    ("num 0707 12 34 56 78", "num <>"), ("0707 12 34 56 78", "<>"), ("lotto 04 12 23 34 41 49", None),
    ("04 12 23 34 41 49", None), ("lotto 49 04 12 23 34 41", None), ("tel 04 12 23 34 41 49", "tel <>"),
    ("06 12 34 56 78 150", "<>"), ("06 12 34 56 78 150 dh", "<> dh"), ("06 12 34 56 78 24h/24", "<> 24h/24"),
    ("06 12 34 56 78 05.06.2024", "<> 05.06.2024"), ("06 12 34 56 78 100 200 300", None),
    ("+212 6 12 34 56 78 100 200 300 400", "<>"), ("12/06/12/34/56/78", None), ("06/12/34/56/78", "<>"),
    ("tel 089 4928357-15", "tel <>"), ("089 4928357-15", None), ("tel 0522481234-35, 2", "tel <>, 2"),
    ("06 12 34 56 78 06 12 34 56 79 90 12", "<> <>"), ("06 12 34 56 78, 06 12 34 56 79", "<>, <>"),
    ("06 06 06 06 06", None), ("tel 06 06 06 06 06", "tel <>"), ("Mobil 0162 / 4839275", "Mobil <>"),
    ("0162 / 4839275", "<>"), ("tel 93 482 91 70 o al 93 482 91 71", "tel <> o al <>"), ("خط 01-234567", "خط <>"),
    ("06 12 34 56 78 12 rue", "<> rue"),
    ("tel 01 02 2003", None), ("ZIP+4 12345-6789", None), ("13912345678 张先生", "<> 张先生"), ("$13912345678", None),
    ("x13912345678", None), ("13912345000", None),
    ("045（482）9173", "<>"), ("0612(3)4567", None), ("12912345678", None),
    ("06\u221212\u221234\u221256\u221278", "<>"),
], ids=range(36))  # fmt: skip
def test_runs(text, left):
    """Runs with and without a label, followed by further groups, times, prices, dates and other numbers."""
    out = text
    for m in reversed(find(text, ("phone",))):
        out = f"{out[: m.start]}<>{out[m.end :]}"
    assert out == (text if left is None else left)


@pytest.mark.parametrize("sign", [*DASHES, *SPACES], ids=lambda c: f"{ord(c):x}")
def test_dashes_and_spaces_of_all_scripts(sign):
    """Each of them separates the digits of phones, cards and accounts, and the label from the number."""
    numbers = {"phone": "06 12 34 56 78", "card": "4111 1111 1111 1111", "iban": "DE89 3704 0044 0532 0130 00"}
    for kind, number in numbers.items():
        text = number.replace(" ", sign)
        assert [(m.start, m.end, m.kind) for m in find(text, (kind,))] == [(0, len(text), kind)]
