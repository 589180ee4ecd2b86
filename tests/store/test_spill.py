"""Shuffle files: what was written comes back, section by section and row by row, as from plain lists."""

from __future__ import annotations

import io
import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.store import files
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import (
    Divided,
    Spill,
    SpilledRows,
    SpillWriter,
    all_sections,
    each_section,
    spill_to,
    write_spill,
)

KIND = np.dtype([("id", "<u4"), ("size", "<i4")])
numbers = st.lists(st.integers(0, 2**16 - 1), max_size=5)


def files_of(segment):
    """Up to three files of up to three segments."""
    return st.lists(st.lists(segment, max_size=3), max_size=3)


def joined(lists):
    """The elements of lists as one list."""
    return list(itertools.chain.from_iterable(lists))


@pytest.mark.parametrize("sizes", [[0], [2, 0, 3], [0, 0], [1, 4, 0, 0]], ids=str)
def test_divided_rows_are_sections(tmp_path, sizes):
    """An array that is several sections makes the same file as its pieces, between other sections too."""
    rows, cuts = np.arange(2 * sum(sizes), dtype=np.uint64).reshape(-1, 2), np.append(0, np.cumsum(sizes))
    one = np.array([7], np.uint8)
    for name, middle in (("pieces", np.split(rows, cuts[1:-1])), ("divided", [Divided(rows, cuts)])):
        with spill_to(str(tmp_path / name), len(sizes) + 2) as spill:
            for _ in range(2):
                spill.write([one, *middle, one])
    assert (tmp_path / "divided").read_bytes() == (tmp_path / "pieces").read_bytes()


@settings(max_examples=25)
@given(st.integers(1, 4).flatmap(lambda n: files_of(st.lists(numbers, min_size=n, max_size=n))))
def test_sections_come_back(tmp_path_factory, written):
    """Each section of each segment of each file, ranges of sections, and one section of all files."""
    place = tmp_path_factory.mktemp("spill")
    n = max((len(segment) for file in written for segment in file), default=2)
    urls = [str(place / f"{k}.spill") for k in range(len(written))]
    for url, file in zip(urls, written, strict=True):
        with spill_to(url, n) as spill:
            for segment in file:
                spill.write(np.array(section, np.uint16) for section in segment)
    for url, file in zip(urls, written, strict=True):
        with Spill(url) as spill:
            assert (spill.segments, spill.n_sections) == (len(file), n)
            for number, segment in enumerate(file):
                for first in range(n):
                    assert spill.read(number, first, dtype=np.uint16).tolist() == segment[first]
                    for last in range(first + 1, n + 1):
                        found = spill.read(number, first, last, np.uint16)
                        assert found.tolist() == joined(segment[first:last])
    for k in range(n):
        expected = [segment[k] for file in written for segment in file]
        assert [array.tolist() for array in each_section(urls, k, np.uint16)] == expected
        found = all_sections(urls, k, np.uint16)
        assert (found.dtype, found.tolist()) == (np.uint16, joined(expected))


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 20))
def test_a_segment_is_written_when_enough_is_held(sizes, enough):
    """As soon as the held items are as large as that, and at the end if any is held; no item is written twice."""
    segments = []
    writer = SpillWriter(io.BytesIO(), 1)
    writer.write = segments.append
    writer.write_together(iter(sizes), lambda n: n, enough, list)
    expected, held = [], []
    for n in sizes:
        held.append(n)
        if sum(held) >= enough:
            expected.append(held)
            held = []
    assert segments == expected + ([held] if held else [])


@settings(max_examples=25)
@given(st.data())
def test_rows_are_loaded_in_the_order_asked_for(tmp_path_factory, data):
    """Payloads of any rows of a partition, near or far apart, twice or never; those of no rows are no bytes."""
    place = tmp_path_factory.mktemp("rows")
    payload = st.binary(max_size=4)
    files = data.draw(st.lists(st.lists(st.tuples(*[st.lists(payload, max_size=4)] * 2), max_size=2), max_size=3))
    urls = [str(place / f"{k}.spill") for k in range(len(files))]
    for url, segments in zip(urls, files, strict=True):
        with spill_to(url, 4) as spill:
            for partitions in segments:
                spill.write(array for rows in partitions for array in (
                    np.array([(n, len(row)) for n, row in enumerate(rows)], KIND),
                    np.frombuffer(b"".join(rows), np.uint8),
                ))  # fmt: skip
    for partition in range(2):
        expected = [row for segments in files for partitions in segments for row in partitions[partition]]
        rows = SpilledRows.read(urls, partition, KIND, lambda headers: headers["size"].astype(np.int64))
        assert rows.headers["size"].tolist() == rows.size.tolist() == [len(row) for row in expected]
        chosen = data.draw(st.lists(st.integers(0, len(expected) - 1), max_size=6)) if expected else []
        starts, out = rows.load(np.array(chosen, np.intp))
        assert [bytes(out[s : s + len(expected[k])]) for s, k in zip(starts, chosen, strict=True)] == [
            expected[k] for k in chosen
        ]
        assert len(out) == sum(len(expected[k]) for k in chosen)


def test_an_unfinished_file_does_not_appear(tmp_path) -> None:
    """Sections that do not lie in one piece are written as they are seen; an error leaves nothing."""
    turned = np.arange(6, dtype=np.uint8).reshape(2, 3).T
    write_spill(str(tmp_path / "a"), [np.arange(10)[::3], np.zeros((0, 3)), turned])
    with Spill(str(tmp_path / "a")) as spill:
        assert spill.read(0, 0, dtype=np.int64).tolist() == [0, 3, 6, 9]
        assert spill.where(0, 1) == (32, 32)
        assert spill.read(0, 2).tolist() == [0, 3, 1, 4, 2, 5]
        assert spill.bytes(32, 34).tolist() == [0, 3]
    with pytest.raises(ZeroDivisionError), spill_to(str(tmp_path / "b"), 1) as spill:
        spill.write([np.arange(3)])
        raise ZeroDivisionError
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_remote_files_are_read_several_at_once_and_in_order(tmp_path, monkeypatch):
    """Sections, sizes and rows of 40 files of memory:// are those of local files."""
    both, waits, real = threading.Barrier(2, timeout=60), iter(()), files.open_raw

    def counted(url, *given):
        if next(waits, False):
            both.wait()
        return real(url, *given)

    found = {}
    for place in (str(tmp_path), "memory://spill"):
        for k in range(40):
            with spill_to(f"{place}/f-{k:05d}", 6) as spill:
                for segment in range(k % 3):
                    ids = np.arange(k % 5, dtype=KIND["id"]) + segment
                    rows = np.array([(one, 1 + one % 3) for one in ids], KIND)
                    payload = np.repeat(ids % 251, rows["size"]).astype(np.uint8)
                    spill.write([rows[:0], payload[:0], rows, payload, rows[:1], payload[: rows["size"][:1].sum()]])
        waits = iter([True, True] if "://" in place else [])
        monkeypatch.setattr(files, "open_raw", counted)
        shuffled = ShuffleFiles(f"{place}/f-", 40, 3, width=2)
        urls = [shuffled.file(k) for k in range(40)]
        own = SpilledRows.read(urls, 1, KIND, lambda rows: rows["size"].astype(np.int64))
        chosen = np.random.default_rng(3).permutation(len(own.headers))
        found[place] = [
            own.headers.tolist(), own.file.tolist(), *(some.tolist() for some in own.load(chosen)),
            [some.tolist() for some in shuffled.read(0, 3, np.uint8)], shuffled.size(2),
        ]  # fmt: skip
        monkeypatch.undo()
    assert found[str(tmp_path)] == found["memory://spill"]
    assert len(own.headers) > 40
