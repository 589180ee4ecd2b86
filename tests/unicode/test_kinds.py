"""The kinds of arguments: at least as fine as Numba's types, and read back as those types."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

from dataprep.unicode.kinds import kind_of, text_of

ROOT = Path(__file__).parents[2]


class Pair(NamedTuple):
    """A record."""

    a: object
    b: object


def frozen(array):
    """The array, which cannot be written."""
    array.flags.writeable = False
    return array


GRID = np.zeros((4, 6), np.int32)
RECORDS = "f0=<i4,f1=<i8/1Cw"
ALIGNED = np.dtype([("a", "u1"), ("b", "<i8")], align=True)
# Values with their texts. Numba has the same type for values of the same text, and for no others.
TEXTS = [
    (3, "int64"), (-3, "int64"), (np.int64(3), "int64"), (2**63 - 1, "int64"), (2**63, "uint64"),
    (np.uint64(1), "uint64"),
    (np.uint8(1), "uint8"), (True, "bool"), (np.bool_(True), "bool"), (0.5, "float64"), (np.float64(0.5), "float64"),
    (np.float32(0.5), "float32"), (None, "none"),
    (GRID[0], "<i4/1Cw"), (frozen(np.zeros(3, np.int32)), "<i4/1Cr"), (GRID, "<i4/2Cw"), (GRID.T, "<i4/2Fw"),
    (GRID[:, ::2], "<i4/2Aw"), (GRID[:, 0], "<i4/1Aw"), (np.zeros(3, np.uint8), "|u1/1Cw"),
    (np.zeros(2, [("id", "<u8"), ("size", "<u4")]), "id=<u8,size=<u4/1Cw"), (np.zeros((2, 3), "i4,i8")[0], RECORDS),
    (np.frombuffer(b"text", np.uint8), "|u1/1Cr"), (np.zeros(3, bool), "|b1/1Cw"), (np.zeros(2, "U3"), "<U3/1Cw"),
    ((), "()"), ((1, 2), "(int64 int64)"), ((1, (2.0, None)), "(int64 (float64 none))"),
    (Pair(1, GRID), f"{__name__}:Pair:a,b(int64 <i4/2Cw)"), ((Pair(1, 2),), f"({__name__}:Pair:a,b(int64 int64))"),
]  # fmt: skip


@pytest.fixture(scope="module")
def make_kernels():
    """The script that compiles what is listed."""
    spec = importlib.util.spec_from_file_location("make_kernels", ROOT / "scripts" / "make_kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("value", "text"), TEXTS, ids=range(len(TEXTS)))
def test_the_text_of_a_value(value, text, make_kernels, monkeypatch):
    """As the table says; read back, it is the type that Numba finds."""
    assert text_of([kind_of(value)]) == text
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__, type(sys)(__name__)))
    monkeypatch.setattr(sys.modules[__name__], "Pair", Pair, raising=False)
    assert make_kernels.types_of(text) == [numba.typeof(value)]
    assert make_kernels.types_of(f"int64 {text} none") == [numba.int64, numba.typeof(value), numba.none]


def test_other_types_are_other_texts():
    """No two types of Numba share a text, so code is never called with arguments of another type."""
    of = {}
    for value, text in TEXTS:
        of.setdefault(text, set()).add(numba.typeof(value))
    assert all(len(types) == 1 for types in of.values())
    assert len({next(iter(types)) for types in of.values()}) == len(of)


def test_fields_in_another_order_are_another_kind(monkeypatch):
    """Numba tells records apart by class and types; fields in another order are other machine code."""
    before = text_of([kind_of(Pair(1, 2))])
    monkeypatch.setattr(Pair, "_fields", ("b", "a"))
    assert text_of([kind_of(Pair(1, 2))]) != before


@pytest.mark.parametrize(
    "value",
    ["text", [1], {1}, (1, "text"), np.zeros(9, np.uint8)[1:].view("<i8"), 1j, int, np.zeros(2, ALIGNED),
     np.zeros(2, [("a", "i4,i8")]), np.zeros(2, [("a", "i4", 3)]), np.zeros(2, [("a b", "i4")])],
)  # fmt: skip
def test_values_without_a_text(value):
    """Numba itself chooses the code for them, and none is stored."""
    assert text_of([1, kind_of(value)][1:]) is None
    assert text_of([int, kind_of(value)]) is None
