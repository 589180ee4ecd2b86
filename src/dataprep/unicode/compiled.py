"""Compile kernels: Numba's part of `@kernel`, imported only if a kernel without stored machine code is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import NativeLowering
from numba.core.types import Function
from numba.core.typing.templates import make_intrinsic_template

from .machine_code import Environment, MachineCode


def dispatcher_of(fn: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the function of Numba that compiles `fn` for each combination of argument types."""
    return numba.njit(**options | {"no_cfunc_wrapper": True, "pipeline_class": _CompileWhole})(fn)


def part_of(fn: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return the function of Numba that stands for `fn` in the kernels that call it.

    Only their machine code is made, which contains that of `fn`. Numba would also make that of `fn` alone.
    """
    own = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _CompilePart}
    return numba.njit(**options | own)(fn)


class _Optimized(JITCodeLibrary):
    """The optimized code of a function, which is linked into that of the kernels that call it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=True)
class _Offer(AnalysisPass):
    """Let other kernels call a function that has no machine code."""

    _name = "offer_to_callers"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        key: Any = list[Any]().append  # Numba demands a built-in function, and this one equals no other
        state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=key)
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _Connect(AnalysisPass):
    """Tell machine code where the environments of the functions that were linked into it are."""

    _name = "connect_environments"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        for variable in state.library._final_module.global_variables:  # noqa: SLF001
            if (found := lookup_environment(variable.name)) is not None:
                state.library.codegen.set_env(variable.name, found)
        return False


class _CompileWhole(CompilerBase):
    """Compile a kernel that Python calls."""

    def define_pipelines(self) -> list[Any]:
        return _passes(self.state, _Connect)


class _CompilePart(CompilerBase):
    """Compile a function for the kernels that call it."""

    def define_pipelines(self) -> list[Any]:
        self.state.flags.no_compile = True
        self.state.library = _Optimized(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return _passes(self.state, _Offer)


def _passes(state: Any, last: type[AnalysisPass]) -> list[Any]:
    """Return Numba's passes and, behind the one that makes the code, another."""
    passes: Any = DefaultPassBuilder.define_nopython_pipeline(state)
    passes.add_pass_after(last, NativeLowering)
    passes.finalize()
    return [passes]


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
