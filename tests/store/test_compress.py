"""Compressed streams: what is written is read, by the suffix alone; damage is found at its offset."""

from __future__ import annotations

import bz2
import io
import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.errors import ReadError
from dataprep.store import files
from dataprep.store.compress import STEP, SUFFIXES, WINDOW_BYTES, compressor, decompressed, in_windows, windows

NOISE = random.Random(1).randbytes(300_000)


def packed(data, name):
    """Bytes in the compression that a name states."""
    if name.endswith(".bz2"):
        return bz2.compress(data, 1)  # in blocks of 100 kB, which are decompressed as a whole
    out = io.BytesIO()
    with compressor(out, name) as f:
        f.write(data)
    return out.getvalue()


@settings(max_examples=12)
@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=3), st.sampled_from((*SUFFIXES, "")), st.booleans())
def test_what_is_written_is_read(sizes, ending, wide) -> None:
    """Also of several frames, one after the other, with large windows, and in any steps; the file is closed."""
    pieces = [(NOISE[:n] + b"same" * n) for n in sizes]
    raw = io.BytesIO(b"".join(packed(piece, f"a{ending}") for piece in pieces))
    with windows(4 * WINDOW_BYTES if wide else 0), decompressed(raw, f"A{ending.upper()}") as f:
        assert f.readable()
        assert b"".join(iter(lambda: f.read(7_001), b"")) == b"".join(pieces)
    assert raw.closed


@pytest.mark.parametrize(
    ("name", "ending"),
    [("s3://b/a.gz?v=x.zst", ".gz"), ("s3://b/a.txt?v=x.zst", ""), ("b/a.txt?v=x.zst", ".zst"), ("b/a.gz?v=1", ""),
     ("s3://b/a.xz", ".xz"), ("gz", "")],
)  # fmt: skip
def test_the_suffix_decides(name, ending) -> None:
    """That of a URL stands before its parameters; in a path, ? is a letter."""
    raw = io.BytesIO(packed(b"text", f"a{ending}"))
    assert decompressed(raw, name).read() == b"text"


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("ending", SUFFIXES)
@pytest.mark.parametrize("what", ["no head", "cut", "cut early"])
def test_damage_is_found_at_its_offset(ending, what, wide) -> None:
    """The offset is the number of bytes that were read before it."""
    data = packed(NOISE, f"a{ending}")
    data = {"no head": b"\0none" + data, "cut": data[:-3_000], "cut early": data[:9]}[what]
    got = b""
    with windows(4 * WINDOW_BYTES if wide else 0):
        f = decompressed(io.BytesIO(data), f"a{ending}")
    with pytest.raises(ReadError, match="ends early or is damaged") as e:
        while block := f.raw.read(50_000):
            got += block
    assert e.value.offset == len(got)
    assert NOISE.startswith(got)
    assert bool(got) is (what == "cut")


@pytest.mark.parametrize("ending", SUFFIXES)
def test_what_stands_before_damage_is_read(ending) -> None:
    """In steps that are small, since a step in which damage is found is lost."""
    f = decompressed(io.BytesIO(packed(NOISE, f"a{ending}")[:-3]), f"a{ending}")
    with pytest.raises(ReadError) as e:
        f.read(1 << 20)
    assert e.value.offset >= 2 * STEP


@pytest.mark.parametrize("error", [ConnectionResetError, TimeoutError])
def test_the_network_damages_nothing(error) -> None:
    """Its errors pass as they are, so that the Runner tries again."""

    class Lost(io.BytesIO):
        """A file that is lost."""

        def read(self, *_):
            """Fail."""
            raise error

    with pytest.raises(error):
        decompressed(Lost(), "a.gz").read(1)


def test_a_window_lasts_as_long_as_its_block() -> None:
    """The inner one counts, 0 is that around it; items are made inside, and their users run outside."""

    def limit():
        with decompressed(io.BytesIO(), "a.zst") as f:
            return f.raw.window

    def items():
        yield limit()
        yield limit()

    assert limit() == WINDOW_BYTES
    with windows(5), windows(0):
        assert limit() == 5
        with windows(6):
            assert limit() == 6
    for made in in_windows(7, items()):
        assert (made, limit()) == (7, WINDOW_BYTES)
    assert len(list(in_windows(7, items()))) == 2


def test_a_bomb_is_decompressed_in_steps() -> None:
    """A few bytes of bzip2 that hold hundreds of megabytes take the memory of one block."""
    zeros = bz2.compress(bytes(256 << 20))
    assert len(zeros) < 300
    tracemalloc.start()
    try:
        with decompressed(io.BytesIO(zeros), "a.bz2") as f:
            assert sum(map(len, iter(lambda: f.read(1 << 20), b""))) == 256 << 20
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("named", ["", *SUFFIXES])
@pytest.mark.parametrize("found", ["", *SUFFIXES])
def test_bytes_and_name_of_a_file_disagree(tmp_path, named, found) -> None:
    """The sentence says what the bytes are and what to do; a text file of compressed bytes is not read as nothing."""
    data = '{"text": "один, due, three"}\n'.encode() * 9
    url = str(tmp_path / f"a.jsonl{named}")
    files.write_bytes(url, packed(data, f"a{found}"))
    if found == named:
        assert dp.read(url).count == 9
        return
    kind = {"": "plain text", ".gz": "gzip", ".zst": "zstd", ".xz": "xz", ".bz2": "bzip2"}[found]
    fix = f"name ends with {found}" if found else f"rename it without {named}"
    for format_ in ("jsonl", "text", "lines"):
        with pytest.raises(ReadError, match=f"its content is {kind}, .*{fix}"):
            list(dp.read(url, format=format_))
