"""Compile kernels: Numba's part of `@kernel`, imported only if a kernel without stored machine code is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
from numba.core.types import Function
from numba.core.typing.templates import make_intrinsic_template

from .machine_code import Environment, MachineCode


def dispatcher_of(fn: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the function of Numba that compiles `fn` for each combination of argument types."""
    return numba.njit(**options)(fn)


def type_of(intrinsic: Any) -> Any:
    """Return the type that Numba gives to an intrinsic in the kernels that call it."""
    template: Any = make_intrinsic_template  # untyped
    return Function(template(intrinsic, intrinsic.py_func, intrinsic.__name__))


def result_for(dispatcher: Any, types: Sequence[Any]) -> Any:
    """Return Numba's compilation result of a kernel for the argument types."""
    dispatcher.compile(tuple(types))
    return dispatcher.overloads[tuple(types)]


def machine_code(result: Any, kinds: str) -> MachineCode:
    """Return the machine code of a result, to be stored under the text of the kinds of arguments."""
    own: Any = result.environment
    used = {one.env_name: one for one in (own, *result._find_referenced_environments())}  # noqa: SLF001
    module = result.library._final_module  # noqa: SLF001
    outside = [s.name for s in (*module.functions, *module.global_variables) if s.is_declaration]
    _, _, (code, _) = result.library.serialize_using_object_code()
    return MachineCode(
        kinds=kinds,
        entry=result.fndesc.llvm_cpython_wrapper_name,
        environments=[Environment(name, list(one.consts)) for name, one in used.items()],
        needs=[name for name in outside if not name.startswith("llvm.")],
        code=code,
    )
