"""Arrow without pandas, until somebody imports pandas: its import takes 0.4 s of CPU in every process.

pyarrow imports pandas for its first array, also for one of plain numbers or texts, to recognise what belongs to pandas.
Nothing can before pandas is imported, so pyarrow is told that there is none, and to look again when there is.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TypeAlias

import pyarrow as pa

Path: TypeAlias = Sequence[str] | None


class _Absent(MetaPathFinder):
    """Finds no pandas."""

    def find_spec(self, fullname: str, path: Path, target: ModuleType | None = None) -> None:  # noqa: ARG002
        """Raise ImportError for pandas."""
        if fullname == "pandas":
            raise ImportError(name=fullname)


class _Later(MetaPathFinder):
    """Finds pandas as the other finders do, and lets pyarrow look again after its import."""

    def find_spec(self, fullname: str, path: Path, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of pandas, with a loader that calls pyarrow afterwards."""
        if fullname != "pandas":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenArrow(spec.loader, self)
        return spec


class _ThenArrow(Loader):
    """Loads a module as another loader does; then pyarrow converts an empty table, for which it looks for pandas."""

    def __init__(self, loader: Loader, finder: _Later) -> None:
        self.loader, self.finder = loader, finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module as the other loader does."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code, and leave no trace of this loader and its finder."""
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self.finder)
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        pa.table({}).to_pandas()


def put_off() -> None:
    """Let pyarrow make arrays without pandas, unless it is imported already."""
    if "pandas" in sys.modules:
        return
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(absent)
    sys.meta_path.insert(0, _Later())
