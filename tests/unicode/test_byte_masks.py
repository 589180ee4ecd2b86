"""Masks of 64 bytes against a loop over bytes."""

import numpy as np
import pytest

from dataprep.unicode.byte_masks import bytes_between, copy_bytes, last_bytes, lowest_bit, n_bits
from dataprep.unicode.kernel import kernel
from twins.byte_masks import bytes_between as plain


@kernel
def masks(data, first, last, out):
    for i in range(len(out)):
        out[i] = bytes_between(data, np.uint64(i), np.uint8(first), np.uint8(last))


@kernel
def digits(data, out):
    for i in range(len(out)):
        out[i] = bytes_between(data, np.uint64(i), np.uint8(48), np.uint8(57))


@kernel
def ends(masks, out):
    for i in range(len(out)):
        out[i] = lowest_bit(masks[i])


@kernel
def counts(masks, out):
    for i in range(len(out)):
        out[i] = n_bits(masks[i])


@kernel
def moved(data, i, out, o):
    copy_bytes(data, np.uint64(i), out, np.uint64(o))


@kernel
def tail(data, start, stop, out):
    last_bytes(data, start, stop, out)


@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 255), (48, 57), (97, 122), (128, 255), (255, 255), (10, 10)])
def test_a_bit_is_set_where_the_byte_is_in_the_range(first, last):
    """At every alignment, with limits that are passed when the kernel runs."""
    data = np.random.RandomState(first).randint(0, 256, 256).astype(np.uint8)
    data[::3] = first
    out = np.zeros(192, np.uint64)
    masks(data, first, last, out)
    assert out.tolist() == [plain(data, i, first, last) for i in range(192)]


def test_a_range_that_is_known_when_compiling():
    """Constants are in the machine code, as in the kernels of the package."""
    data = np.arange(256, dtype=np.uint8)
    out = np.zeros(192, np.uint64)
    digits(data, out)
    assert out.tolist() == [plain(data, i, 48, 57) for i in range(192)]


def test_the_lowest_bit():
    """64 if there is none."""
    given = [0, 1, 2, 3, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, *(1 << k | 1 << 63 for k in range(64))]
    out = np.zeros(len(given), np.uint64)
    ends(np.array(given, np.uint64), out)
    assert out.tolist() == [64 if not n else (n & -n).bit_length() - 1 for n in given]


def test_the_number_of_bits():
    """Of none, one and all bits."""
    given = [0, 1, 3, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, *((1 << k) - 1 for k in range(64))]
    out = np.zeros(len(given), np.uint64)
    counts(np.array(given, np.uint64), out)
    assert out.tolist() == [n.bit_count() for n in given]


def test_64_bytes_are_copied():
    """From and to any place, and none before or after them."""
    data = np.arange(200, dtype=np.uint8)
    for i, o in [(0, 0), (1, 0), (0, 1), (63, 17), (136, 136)]:
        out = np.full(200, 255, np.uint8)
        moved(data, i, out, o)
        assert out.tolist() == [255] * o + list(range(i, i + 64)) + [255] * (136 - o)


@pytest.mark.parametrize("size", [0, 1, 63, 64])
def test_last_bytes_are_followed_by_zeros(size):
    """So that a mask of the last bytes has no bits of other bytes."""
    data, out = np.arange(1, 200, dtype=np.uint8), np.full(64, 9, np.uint8)
    tail(data[: 100 + size], 100, 100 + size, out)
    assert out.tolist() == [*range(101, 101 + size), *[0] * (64 - size)]
