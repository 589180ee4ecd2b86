"""Whether bytes are UTF-8, against Python's own decoder."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.unicode import valid
from twins.valid import is_utf8 as plain

# The first and last characters of each length, and around the surrogates; bytes of each kind.
CHARACTERS = "\x00a\x7f\x80\u07ff\u0800\u0fff\u1000\ud7ff\ue000\uffff\U00010000\U0003ffff\U00040000\U0010ffff"
BYTES = bytes.fromhex("417f808f909fa0bfc0c1c2dfe0e1ecedeeeff0f1f3f4f5ff")


@pytest.fixture(autouse=True, scope="module")
def every_length():
    """The kernel looks at short texts too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(valid, "LONG", 1)
        yield


def same(data: bytes) -> bool:
    """Whether bytes are UTF-8, as the kernel says in the middle of an array that is not, and its twin."""
    array = np.frombuffer(b"\xe0" + data + b"\x80\xff", np.uint8)[1 : len(data) + 1]
    assert valid.is_utf8(array) == valid.is_utf8(data) == plain(data), data
    return plain(data)


def test_each_pair_of_bytes_at_each_place():
    """Whatever two bytes are at the borders of 64 bytes, and whatever characters are around them."""
    for one in BYTES:
        for two in BYTES:
            for at in (0, 60, 61, 62, 63, 64):
                for after in (b"", b"\x80", b"\x80\x80", b"a"):
                    same(b"a" * at + bytes([one, two]) + after)


@pytest.mark.parametrize("character", CHARACTERS)
def test_characters_that_are_damaged(character: str):
    """A character is valid at each place, and not if one of its bytes is missing or another one."""
    code = character.encode()
    for at in range(140):
        before = b"x" * at
        assert same(before + code + b"y" * 70)
        assert same(before + code)
        for k in range(len(code)):
            same(before + code[:k])
            same(before + code[:k] + code[k + 1 :] + b"y")
            for byte in b"\x41\x80\xbf\xc3\xff":
                same(before + code[:k] + bytes([byte]) + code[k + 1 :])


@given(st.text(CHARACTERS, max_size=100), st.lists(st.tuples(st.integers(0, 400), st.sampled_from(BYTES)), max_size=2))
def test_texts_with_other_bytes_in_them(text: str, others: list[tuple[int, int]]):
    """Texts of characters of any length, with none to two bytes put in place of theirs."""
    data = bytearray(text.encode())
    for at, byte in others:
        data[at : at + 1] = bytes([byte])
    same(bytes(data))


def test_long_and_short_and_nothing(monkeypatch):
    """Below LONG, Python's decoder is called; nothing is valid."""
    monkeypatch.setattr(valid, "LONG", 100)
    assert valid.is_utf8(None)
    for n in (0, 1, 99, 100, 5_000):
        for data in (b"a" * n, bytearray(b"a" * n), np.full(n, 97, np.uint8)):
            assert valid.is_utf8(data)
        assert not valid.is_utf8(b"a" * n + b"\xff")
