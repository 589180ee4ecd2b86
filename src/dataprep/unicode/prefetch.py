"""Have the processor load a number of an array before it is needed, while other work goes on."""

from __future__ import annotations

from typing import Any

from .kernel import intrinsic


@intrinsic
def prefetch(_: Any, array: Any, i: Any) -> Any:  # noqa: ARG001 - Numba types calls with it
    """Begin to load the cache line of array[i]; `i` is uint64, and an index beyond the array is harmless."""
    from llvmlite import ir
    from numba.core import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        made = context.make_array(signature.args[0])(context, builder, args[0])
        place = builder.bitcast(builder.gep(made.data, [args[1]]), pointer)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        for_reading, often_used, is_data = number(0), number(3), number(1)
        load = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        builder.call(load, [place, for_reading, often_used, is_data])
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate
