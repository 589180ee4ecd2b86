"""The batch contract: ids, buffers, canonical cuts."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.core.model import batch as B
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


@given(st.lists(st.integers(0, 20), max_size=6), st.lists(st.integers(0, 20), max_size=6))
def test_values_are_found_in_a_sorted_array(values, wanted):
    """Whether each is there, and where; nothing is in an empty array."""
    values = sorted(set(values))
    at, found = B.find_sorted(np.array(values, np.uint64), np.array(wanted, np.uint64))
    assert found.tolist() == [w in values for w in wanted]
    assert [values[k] for k, there in zip(at, found, strict=True) if there] == [w for w in wanted if w in values]


@pytest.mark.parametrize("values", [[], [3], [3, 3], [1, 1, 2, 1, 5, 5, 5]])
def test_runs_are_those_of_groupby(values):
    """Where runs of equal values begin, and how long they are, also of no values."""
    begins, n = B.runs(np.array(values, np.uint64))
    assert np.repeat(np.array(values, np.uint64)[begins], n).tolist() == values
    assert n.tolist() == [len(list(group)) for _, group in itertools.groupby(values)]


def test_ids_have_limits():
    """The largest file and position, plain integers, and what lies one beyond."""
    largest = 2**64 - 1
    for text, id_ in {"0": 0, "0:0": 0, "1:0": 1 << 40, "3:5": 3 << 40 | 5, "0:7": 7, str(largest): largest}.items():
        assert B.parse_id(text) == id_
    assert B.parse_id(f"{2**24 - 1}:{2**40 - 1}") == largest
    assert B.show_id(largest) == f"{2**24 - 1}:{2**40 - 1}"
    for text in ("", ":", "1:", ":1", "1:2:3", "-1", "1.0", " 1", str(largest + 1), f"{2**24}:0", "\u0661", "9" * 21):
        with pytest.raises(PlanError, match="is not a document id"):
            B.parse_id(text)


def test_batches_end_at_their_limits(monkeypatch):
    """At exactly so many rows or bytes; a longer text is a batch of its own; an empty one costs no bytes."""
    monkeypatch.setattr(B, "MAX_ROWS", 4)
    monkeypatch.setattr(B, "MAX_BYTES", 10)

    def sizes(*lengths):
        batch = batch_of(["x" * n for n in lengths])
        return [[len(text) for text in cut["text"].to_pylist()] for cut in B.recut([batch])]

    assert sizes(1, 1, 1, 1, 1) == [[1, 1, 1, 1], [1]]
    assert sizes(5, 5, 1) == [[5, 5], [1]]
    assert sizes(5, 4, 1, 1) == [[5, 4, 1], [1]]
    assert sizes(5, 6, 1) == [[5, 6], [1]]
    assert sizes(99, 1) == [[99], [1]]
    assert sizes(0, 0, 0, 0, 0) == [[0, 0, 0, 0], [0]]
    assert sizes() == []


def test_a_batch_states_its_texts():
    """Lengths in bytes, alone and in all, of a slice too; ids of several arrays are united."""
    batch = batch_of(["ab", "\u00e9", "", "xyz"])
    assert B.lengths(batch).tolist() == [2, 2, 0, 3]
    assert B.text_bytes(batch) == 7
    assert B.text_bytes(batch.slice(1, 2)) == 2
    assert B.text_bytes(batch.slice(4)) == B.text_bytes(B.empty()) == 0
    assert B.strings(*B.buffers(batch)).to_pylist() == ["ab", "\u00e9", "", "xyz"]
    assert B.union([np.array([3, 1], np.uint64), np.array([3], np.uint64)]).tolist() == [1, 3]
    assert B.union([]).dtype == np.uint64


def test_limits_decide_the_files():
    """Other ones would cut the same documents into other batches, and give them other ids."""
    assert (B.MAX_ROWS, B.MAX_BYTES, B.POSITION_BITS) == (16_384, 8 << 20, 40)
