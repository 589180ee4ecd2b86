"""Lines that may contain personal data: what they hold, and offsets in characters as offsets in bytes."""

from __future__ import annotations

import random

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dataprep.core.model import batch as B
from dataprep.pii import kernel as K
from dataprep.pii.broken import across
from dataprep.pii.kinds import KINDS
from dataprep.pii.lines import lines
from dataprep.pii.only import only_phones
from dataprep.pii.rules import find
from dataprep.pii.stage import PII

TEXTS = st.lists(st.text("a@é語\U0001f600 \n5", max_size=10), max_size=3)


@given(TEXTS)
def test_offsets_go_both_ways(texts):
    """Each range of characters of a line is a range of bytes that holds them, and the other way round."""
    offsets, data = B.buffers(pa.array(["before@", *texts], pa.large_string()).slice(1))
    found = list(lines(offsets, data, K.EMAIL))
    split = [(row, line) for row, text in enumerate(texts) for line in text.split("\n") if "@" in line]
    assert [(line.row, line.text) for line in found] == split
    for line in found:
        assert data[line.start : line.stop].tobytes().decode() == line.text
        for end in range(len(line.text) + 1):
            for first in range(end + 1):
                a, b = line.in_bytes(first, end)
                assert data[a:b].tobytes().decode() == line.text[first:end]
                assert line.in_characters(a, b) == (first, end)


def test_only_wanted_kinds_are_searched():
    """A line is of a kind if the kernel says that it may contain it, and a line of other kinds is left out."""
    offsets, data = B.buffers(pa.array(["a@b.org\n0612345678", "nothing"], pa.large_string()))
    assert [(line.text, line.can) for line in lines(offsets, data, K.EMAIL | K.NUMBER)] == [
        ("a@b.org", K.EMAIL), ("0612345678", K.NUMBER),
    ]  # fmt: skip
    assert [line.text for line in lines(offsets, data, K.NUMBER)] == ["0612345678"]


def test_all_lines_at_once_are_each_line_by_itself():
    """Matches in a batch are those of each line alone, apart from phones over two lines and those that are the text."""
    pieces = (
        "tel: ", "0612345678", "+212 612-345678", "\n", "\n", " ", "invoice ", "06 12 34 56 78", "a@b.org", "x@é.com",
        "8.8.8.8", "2606:4700::1111", "GB82WEST12345698765432", "4111 1111 1111 1111", "٠٦١٢٣٤٥٦٧٨", "\u200e", "\r",
        ", ", "/", "call", "語", "12.05.2023", "978 2 07 036038 4", "555-0123", "(212)", "@", "+", "00",
    )  # fmt: skip
    rng = random.Random(4)
    texts = ["".join(rng.choices(pieces, k=rng.randrange(12))) for _ in range(1_500)]
    batch = B.make(range(len(texts)), texts, "s")
    found = [(s.row, s.start, s.end, s.kind) for s in PII()._spans(batch)]
    offsets, data = B.buffers(batch)
    over = [(a, b) for a, b in across(K.suspects(offsets, data, K.byte_kinds(), K.BREAK), offsets, data)]
    over += only_phones(offsets, data)
    wanted = []
    for line in lines(offsets, data, K.EMAIL | K.IP | K.NUMBER | K.IBAN):
        for m in find(line.text, KINDS):
            a, b = line.in_bytes(m.start, m.end)
            if m.kind != "phone" or not any(a < stop and b > start for start, stop in over):
                wanted.append((line.row, a, b, m.kind))
    assert 0 < len(over) < len(wanted) / 10
    found = [one for one in found if one[1:3] not in over]
    assert found == wanted
    assert {kind for *_, kind in found} == set(KINDS)
