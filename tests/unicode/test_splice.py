"""Replacement of ranges of bytes in many texts."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.twins.splice import spliced

from dataprep.core.model import batch as B
from dataprep.unicode.splice import splice

WORDS = ["", "a", "ك", "कि", "日本語", "<x>"]


@given(texts=st.lists(st.lists(st.tuples(st.sampled_from(WORDS), st.none() | st.sampled_from(WORDS)), max_size=6)))
def test_ranges_are_replaced_as_by_the_twin(texts) -> None:
    """In each text, some of its words become others, shorter, longer or empty; texts may be empty or a slice."""
    spans, whole = [], [b"before"]
    for number, words in enumerate(texts):
        made = b""
        for old, new in words:
            if new is not None and old:
                spans.append((number, len(made), len(made) + len(old.encode()), new.encode()))
            made += old.encode()
        whole.append(made)
    column = pa.array([text.decode() for text in whole], pa.large_string()).slice(1)
    offsets, data = B.buffers(column)
    bounds = np.array([(offsets[k] + a, offsets[k] + b) for k, a, b, _ in spans], np.int64).reshape(-1, 2)
    ends = np.cumsum([0, *(len(new) for *_, new in spans)], dtype=np.int64)
    news = np.frombuffer(b"".join(new for *_, new in spans), np.uint8)
    made = B.strings(*splice(offsets, data, bounds, ends[:-1].copy(), ends[1:].copy(), news))
    assert made.to_pylist() == [text.decode() for text in spliced(whole[1:], spans)]
