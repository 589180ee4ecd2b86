"""Lines that may contain personal data: what they hold, and offsets in characters as offsets in bytes."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dataprep.core import batch as B
from dataprep.pii import kernel as K
from dataprep.pii.lines import lines

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
