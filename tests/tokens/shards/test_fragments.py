from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.errors import CorruptShard
from dataprep.tokens.shards.fragments import PieceWriter, ends_of, read_rows
from dataprep.tokens.shards.special_in_text import n_places, places_of


def test_a_piece_holds_what_was_added(tmp_path):
    """Batches whose sources have other dictionaries become one table; ends go on from batch to batch."""
    with PieceWriter(str(tmp_path), "train", "uint16", 100) as piece:
        for sources, ids in ((["web", "chat"], [1, 5]), (["chat", "books"], [6, 9])):
            names = pa.array(sources).dictionary_encode()
            piece.add(np.arange(5), np.array([2, 5], np.uint64), np.array(ids, np.uint64), names, np.array([7, 8]))
    url = str(tmp_path / "train-00000")
    rows = read_rows(url)
    assert piece.entries == [{"name": "train-00000", "split": "train", "documents": 4}]
    assert rows.column("id").to_pylist() == [1, 5, 6, 9]
    assert rows.column("source").to_pylist() == ["web", "chat", "chat", "books"]
    assert ends_of(rows).tolist() == [2, 5, 7, 10]
    assert rows.column("size").to_pylist() == [7, 8, 7, 8]
    assert np.fromfile(f"{url}.bin", np.uint16).tolist() == [*range(5), *range(5)]


def test_a_piece_that_is_broken_is_said(tmp_path):
    """Rows that are not what was written: one sentence that names the file."""
    with PieceWriter(str(tmp_path), "val", "uint32", 100) as piece:
        piece.add(
            [1], np.array([1], np.uint64), np.array([1], np.uint64), pa.array(["a"]).dictionary_encode(), np.array([1])
        )
    place = tmp_path / "val-00000.docs.arrow"
    place.write_bytes(place.read_bytes()[:40])
    with pytest.raises(CorruptShard, match=r"val-00000.docs.arrow is not what this run wrote .*; remove it"):
        read_rows(str(tmp_path / "val-00000"))


def test_a_full_piece_is_followed_by_another(tmp_path):
    """At `most` tokens a piece is complete; documents after it are in the next one, whose ends begin again."""
    one, names = np.array([1], np.uint64), pa.array(["a"]).dictionary_encode()
    with PieceWriter(str(tmp_path), "train", "uint16", 2) as piece:
        for n in (1, 2, 1):
            piece.add(np.arange(n), one * np.uint64(n), one, names, np.array([n]))
    assert [e["name"] for e in piece.entries] == ["train-00000", "train-00001"]
    assert [ends_of(read_rows(str(tmp_path / e["name"]))).tolist() for e in piece.entries] == [[1, 3], [1]]


def test_a_piece_that_fails_leaves_nothing(tmp_path):
    """An error in the block: no file of the piece that was being written appears."""
    one, names = np.array([1], np.uint64), pa.array(["a"]).dictionary_encode()
    with pytest.raises(RuntimeError, match="power"), PieceWriter(str(tmp_path), "train", "uint16", 9) as piece:
        piece.add([1], one, one, names, np.array([1]))
        msg = "power"
        raise RuntimeError(msg)
    assert not list(tmp_path.iterdir())
    assert not piece.entries


@given(
    st.lists(st.sampled_from([b"<|pad|>", b"<|", b"<", b"|", b"pad|>", b"~", b"<|p"])),
    st.sampled_from([b"<|pad|>", b"~", b"<|"]),
)
def test_counting_spelled_tokens_is_counting(parts, token):
    """As often as `bytes.count` finds it, at the text's ends too."""
    text = np.frombuffer(b"".join(parts), np.uint8)
    found = n_places(text, places_of(text, token[:2]), np.frombuffer(token, np.uint8))
    assert found == b"".join(parts).count(token)
