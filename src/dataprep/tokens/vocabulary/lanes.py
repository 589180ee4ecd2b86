"""Up to 64 numbers that the processor compares and moves at once: find the smallest, and close a gap.

The code uses as many vector registers as `n` numbers need, for 16, 32 or 64 of them.

Slow reference for the tests: tests/twins/lanes.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataprep.unicode.kernel import intrinsic

WIDTHS = (16, 32, 64)
LANES = WIDTHS[-1]


@intrinsic
def lowest_lane(_: Any, lanes: Any, i: Any, n: Any) -> Any:  # noqa: ARG001 - Numba types calls with it
    """Return the index, from `i` on, of the smallest of the numbers lanes[i:i + n], the first of equal ones, as uint64.

    - lanes: uint32[...]. Numbers behind the `n` up to the next width, which are compared as well, must not be smaller.
    - i, n: uint64; `n` is at most 64.
    """
    from llvmlite import ir
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, number = _place(context, builder, signature, args), ir.IntType(64)
        found = builder.alloca(number)

        def of(vector: Any) -> None:
            numbers = builder.load(builder.bitcast(place, vector.as_pointer()), align=4)
            name, kind = f"llvm.vector.reduce.umin.v{vector.count}i32", ir.FunctionType(ir.IntType(32), [vector])
            smallest = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
            least = builder.call(smallest, [numbers])
            equal = builder.icmp_unsigned("==", numbers, _everywhere(builder, least, vector))
            mask = builder.bitcast(equal, ir.IntType(vector.count))
            mask = mask if vector.count == number.width else builder.zext(mask, number)
            builder.store(builder.cttz(mask, ir.Constant(ir.IntType(1), 0)), found)

        _with_width(builder, args[2], of)
        return builder.load(found)

    return types.uint64(lanes, types.uint64, types.uint64), generate


@intrinsic
def close_gap(_: Any, lanes: Any, i: Any, n: Any, at: Any, here: Any, before: Any) -> Any:  # noqa: ARG001
    """Remove the number after lanes[i + at]: move those behind it, of lanes[i:i + n], one place forward.

    Then write `here` to lanes[i + at], and `before` to the place before it, unless `at` is 0. The last of 16, 32 or 64
    numbers keeps its value.

    - lanes: uint32[...].
    - i, n: uint64; `n` is at most 64.
    - at, here, before: uint32.
    """
    from llvmlite import ir
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature, args)

        def of(vector: Any) -> None:
            target = builder.bitcast(place, vector.as_pointer())
            numbers, width = builder.load(target, align=4), vector.count
            at, here, before = (_everywhere(builder, number, vector) for number in args[3:])
            lane, following = ir.Constant(vector, [*range(width)]), ir.Constant(vector, [*range(1, width), width - 1])
            moved = builder.shuffle_vector(numbers, numbers, following)
            result = builder.select(builder.icmp_unsigned("<", lane, at), numbers, moved)
            result = builder.select(builder.icmp_unsigned("==", lane, at), here, result)
            next_lane = ir.Constant(vector, [*range(1, width + 1)])
            result = builder.select(builder.icmp_unsigned("==", next_lane, at), before, result)
            builder.store(result, target, align=4)

        _with_width(builder, args[2], of)
        return context.get_dummy_value()

    return types.void(lanes, types.uint64, types.uint64, types.uint32, types.uint32, types.uint32), generate


def _place(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return the address of lanes[i]."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


def _everywhere(builder: Any, number: Any, vector: Any) -> Any:
    """Return a vector whose lanes all have a number."""
    from llvmlite import ir

    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), zeros)


def _with_width(builder: Any, n: Any, generate: Callable[[Any], None], widths: tuple[int, ...] = WIDTHS) -> None:
    """Generate code for vectors of each width, of which the narrowest one for `n` numbers runs."""
    from llvmlite import ir

    vector = ir.VectorType(ir.IntType(32), widths[0])
    if len(widths) == 1:
        generate(vector)
        return
    with builder.if_else(builder.icmp_unsigned("<=", n, ir.Constant(n.type, widths[0]))) as (narrow, wide):
        with narrow:
            generate(vector)
        with wide:
            _with_width(builder, n, generate, widths[1:])
