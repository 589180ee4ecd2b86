"""Names that are defined elsewhere and load on first use, so that importing a module is fast.

`compute` and `parquet` are pyarrow's modules, of which the first builds the docstrings of 300 functions when it loads.
`typing` is not imported, so that a command handles Ctrl-C a hundredth of a second after Python has started.
"""

from __future__ import annotations

import importlib
from types import ModuleType

TYPE_CHECKING = False  # a type checker takes it for the name in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


class _Module(ModuleType):
    """A module that is imported when a name is first read from it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)

    def __reduce__(self) -> tuple[Any, ...]:  # cloudpickle may send it with a function that names it
        return importlib.import_module, (self.__name__,)


if TYPE_CHECKING:
    from pyarrow import compute, parquet
else:
    compute, parquet = _Module("pyarrow.compute"), _Module("pyarrow.parquet")

__all__ = ["by_name", "compute", "loader", "parquet"]


def by_name(table: Mapping[str, str]) -> dict[str, str]:
    """Invert a mapping from modules to space-separated names: return {name: module}."""
    return {name: home for home, names in table.items() for name in names.split()}


def loader(module: str, homes: Mapping[str, str], names: Sequence[str]) -> Callable[[str], Any]:
    """Return the function `__getattr__` of a module.

    - homes: {name: the module of dataprep that defines it}.
    - names: all public names of the module, for the error.
    """

    def load(name: str) -> Any:
        if name not in homes:
            msg = f"module {module!r} has no attribute {name!r}; it has {', '.join(sorted(names))}"
            raise AttributeError(msg)
        return getattr(importlib.import_module(f"dataprep.{homes[name]}"), name)

    return load
