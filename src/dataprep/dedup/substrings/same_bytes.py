"""Kernels that count the equal bytes before and after two offsets, and load bytes into the processor's cache.

Slow reference for the tests: tests/twins/suffix_array.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataprep.unicode.hashes import eight_bytes
from dataprep.unicode.kernel import intrinsic, kernel
from dataprep.unicode.text import U8, Int


@intrinsic
def prefetch(_: Any, data: Any, at: Any) -> Any:
    """Load the cache line of data[at] into the processor's cache ahead of its use."""
    from llvmlite import ir
    from numba.core import types

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, given[0])
        byte = builder.gep(array.data, [given[1]])
        words = [ir.Constant(ir.IntType(32), n) for n in (0, 3, 1)]  # to read, keep close, data
        kind = ir.FunctionType(ir.VoidType(), [byte.type, *(w.type for w in words)])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte.type], kind)
        builder.call(function, [byte, *words])
        return context.get_dummy_value()

    return types.none(data, at), code


@kernel
def same_after(one: U8, a: Int, other: U8, b: Int, most: Int) -> Int:
    """Return the length in bytes of the common prefix of one[a:] and other[b:], at most `most`."""
    p, q, n, stop, word = np.uint64(a), np.uint64(b), np.uint64(0), np.uint64(max(most, 0)), np.uint64(8)
    while n + word <= stop and eight_bytes(one, p + n) == eight_bytes(other, q + n):
        n += word
    while n < stop and one[p + n] == other[q + n]:
        n += np.uint64(1)
    return np.int64(n)


@kernel
def same_before(data: U8, a: Int, b: Int, most: Int) -> Int:
    """Return the length in bytes of the common suffix of data[:a] and data[:b], at most `most`."""
    p, q, n, stop, word = np.uint64(a), np.uint64(b), np.uint64(0), np.uint64(max(most, 0)), np.uint64(8)
    while n + word <= stop and eight_bytes(data, p - n - word) == eight_bytes(data, q - n - word):
        n += word
    while n < stop and data[p - n - np.uint64(1)] == data[q - n - np.uint64(1)]:
        n += np.uint64(1)
    return np.int64(n)
