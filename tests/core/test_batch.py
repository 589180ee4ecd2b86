"""The batch contract: ids, buffers, canonical cuts."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.core import batch as B
from dataprep.errors import PlanError

texts = st.lists(st.text(max_size=30), max_size=40)


def batch_of(values, first=0, source="s"):
    return B.make(np.arange(first, first + len(values)), values, source)


@given(st.integers(0, 2**24 - 1), st.integers(0, 2**40 - 1))
def test_ids_round_trip(file, position):
    """An id is its file and position, as people type it too."""
    id_ = B.doc_id(file, position)
    assert B.split_id(id_) == (file, position)
    assert B.parse_id(B.show_id(id_)) == id_ == B.parse_id(str(id_))


def test_a_bad_id_is_one_sentence():
    """What is no id says how ids are written."""
    with pytest.raises(PlanError, match="file:position"):
        B.parse_id("third")


@given(texts, st.integers(0, 10), st.integers(0, 10))
def test_buffers_see_slices(values, skip, stop):
    """The zero-copy view of a sliced column holds the slice's text."""
    column = batch_of(values).slice(skip, stop).column("text")
    offsets, data = B.buffers(column)
    seen = [data[a:b].tobytes().decode() for a, b in itertools.pairwise(offsets)]
    assert seen == column.to_pylist() == B.strings(offsets, data).to_pylist()


@given(texts, st.lists(st.integers(1, 7), min_size=1, max_size=8))
def test_recut_does_not_depend_on_the_cuts_before(values, sizes):
    """However the rows arrive, they leave in the same cuts, all of them."""
    whole = batch_of(values)
    pieces, at = [], 0
    while at < len(values):
        n = sizes[len(pieces) % len(sizes)]
        pieces.append(whole.slice(at, n))
        at += n
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(B, "MAX_ROWS", 5)
        patch.setattr(B, "MAX_BYTES", 60)
        one, other = list(B.recut([whole])), list(B.recut(pieces))
    assert [b.to_pylist() for b in one] == [b.to_pylist() for b in other]
    assert [r for b in one for r in b.to_pylist()] == whole.to_pylist()
    assert all(b.num_rows <= 5 and B.text_bytes(b.slice(0, b.num_rows - 1)) < 60 for b in one)


def test_concat_orders_dictionaries_by_appearance():
    """Two batches with other dictionaries give the dictionary that one pass over the rows would."""
    joined = B.concat([batch_of(["x"], 0, "b"), batch_of(["y"], 1, "a"), batch_of(["z"], 2, "b")])
    assert joined.column("source").dictionary.to_pylist() == ["b", "a"]
    assert joined.column("source").to_pylist() == ["b", "a", "b"]


def test_a_batch_without_the_contract_names_who_made_it():
    """A stage that breaks the schema is told which column, and what it should be."""
    broken = batch_of(["x"]).set_column(0, "id", pa.array([1], pa.int32()))
    with pytest.raises(PlanError, match=r"Mine returned a batch whose column 'id' has type int32"):
        B.check(broken, "Mine")
