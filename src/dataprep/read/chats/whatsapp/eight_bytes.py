"""Eight bytes of an export as one number, which is loaded, searched and stored at once.

A byte is found by the "has a byte like this" trick (Mycroft 1987; Hacker's Delight 6-1).

Slow reference for the tests: tests/twins/whatsapp_headers.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataprep.unicode.kernel import intrinsic, kernel

ONES, HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
ONE, TOP = np.uint64(1), np.uint64(56)


@intrinsic
def load64(_: Any, data: Any, i: Any) -> Any:  # noqa: ARG001 - Numba types calls with it
    """Return the eight bytes data[i:i + 8] of a uint8 array as one uint64; Numba itself passes the first argument."""
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, signature, args), align=1)

    return types.uint64(data, types.uint64), generate


@intrinsic
def store64(_: Any, data: Any, i: Any, word: Any) -> Any:  # noqa: ARG001 - Numba types calls with it
    """Write the uint64 `word` to data[i:i + 8] of a uint8 array; Numba itself passes the first argument."""
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _pointer(context, builder, signature, args), align=1)
        return context.get_dummy_value()

    return types.void(data, types.uint64, types.uint64), generate


def _pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    from llvmlite import ir

    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.bitcast(builder.gep(array.data, [args[1]]), ir.IntType(64).as_pointer())


@kernel
def first_byte(hit: np.uint64) -> Any:
    """Return the index, 0 to 7, of the byte of `hit` with the lowest set bit, which is its highest bit."""
    below = (hit & (~hit + ONE)) - ONE
    return np.int64(((below & ONES) * ONES) >> TOP) - 1
