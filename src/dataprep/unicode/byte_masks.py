"""Look at 64 bytes at once: a uint64 whose bit k states a property of the byte at i + k.

LLVM turns the comparison of a vector of 64 bytes into the vector instructions of the processor for which a kernel is
compiled: one or two with AVX-512, and a few with AVX2, SSE2 or NEON. One mask is computed at about 18 GB/s; a loop over
bytes reaches 1 GB/s.

`bytes_between` and `copy_bytes` read data[i:i + 64]. A kernel must make sure that these bytes exist: it ends 64 bytes
before the end of the array, and has `last_bytes` copy what follows to an array of its own; or the array has 64 bytes
more than the kernel needs.

Slow reference for the tests: tests/twins/byte_masks.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernel import intrinsic, kernel
from .text import U8, Int

WIDTH = 64


@intrinsic
def bytes_between(_: Any, data: Any, i: Any, first: Any, last: Any) -> Any:  # noqa: ARG001 - Numba types calls with it
    """Return the mask of bytes that are in first ... last, both included, uint64.

    - data: uint8[...], i: uint64, the index of the byte of bit 0.
    - first, last: uint8 numbers; `first` is not above `last`.
    """
    from llvmlite import ir
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = ir.IntType(8)
        vector = ir.VectorType(byte, WIDTH)
        array = context.make_array(signature.args[0])(context, builder, args[0])
        place = builder.bitcast(builder.gep(array.data, [args[1]]), vector.as_pointer())

        def everywhere(number: Any) -> Any:
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
            lanes = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
            return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), lanes)

        low, high = args[2], args[3]
        above = builder.sub(builder.load(place, align=1), everywhere(low))
        is_in = builder.icmp_unsigned("<=", above, everywhere(builder.sub(high, low)))
        return builder.bitcast(is_in, ir.IntType(WIDTH))

    return types.uint64(data, types.uint64, types.uint8, types.uint8), generate


@kernel(inline="always")
def bytes_within(data: U8, i: Int, first: int, last: int) -> Int:
    """Return the result of `bytes_between` for bounds that are any integers."""
    return bytes_between(data, i, np.uint8(first), np.uint8(last))


@kernel(inline="always")
def bytes_equal(data: U8, i: Int, byte: int) -> Int:
    """Return the mask of the bytes of data[i:i + 64] that equal `byte`, uint64."""
    return bytes_between(data, i, np.uint8(byte), np.uint8(byte))


@intrinsic
def copy_bytes(_: Any, data: Any, i: Any, out: Any, o: Any) -> Any:  # noqa: ARG001 - Numba types calls with it
    """Copy data[i:i + 64] to out[o:o + 64], two uint8 arrays; `i` and `o` are uint64."""
    from llvmlite import ir
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), WIDTH).as_pointer()
        arrays = [context.make_array(signature.args[k])(context, builder, args[k]) for k in (0, 2)]
        source, target = (builder.gep(one.data, [args[k]]) for one, k in zip(arrays, (1, 3), strict=True))
        builder.store(builder.load(builder.bitcast(source, vector), align=1), builder.bitcast(target, vector), align=1)
        return context.get_dummy_value()

    return types.void(data, types.uint64, out, types.uint64), generate


@intrinsic
def lowest_bit(_: Any, mask: Any) -> Any:  # noqa: ARG001 - Numba types calls with it
    """Return the index of the lowest set bit of a uint64, as uint64; 64 if no bit is set."""
    from llvmlite import ir
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def n_bits(_: Any, mask: Any) -> Any:  # noqa: ARG001 - Numba types calls with it
    """Return the number of set bits of a uint64, as uint64."""
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


@kernel(inline="always")
def lowest_bits(n: Int) -> Int:
    """Return the mask of the `n` lowest bits, at most 64."""
    return (np.uint64(1) << n) - np.uint64(1) if n < np.uint64(WIDTH) else ~np.uint64(0)


@kernel(inline="always")
def last_bytes(data: U8, i: Int, stop: Int, out: U8) -> None:
    """Copy data[i:stop], at most 64 bytes, to the start of `out`, uint8[64], and fill the rest with zeros."""
    for k in range(WIDTH):
        at = np.uint64(i) + np.uint64(k)
        out[k] = data[at] if at < np.uint64(stop) else np.uint8(0)
