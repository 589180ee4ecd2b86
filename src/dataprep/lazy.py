"""Names of a module that are defined elsewhere and load on first use, so that importing the module is fast."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


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
