"""Use Arrow without pandas until pandas is imported: its import takes 0.4 s of CPU time in every process.

pyarrow imports pandas for its first array, even for an array of plain numbers or texts, to recognise pandas objects. No
such object can exist before pandas is imported. pyarrow is therefore told that pandas is not installed, and checks
again after pandas has been imported.
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
    """Finds pandas as the other finders do, and makes pyarrow check for it again after the import."""

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
    """Loads a module as another loader does; then makes pyarrow look for pandas by converting an empty table."""

    def __init__(self, loader: Loader, finder: _Later) -> None:
        self.loader, self.finder = loader, finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module as the other loader does."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code, and remove all traces of this loader and its finder."""
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self.finder)
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        pa.table({}).to_pandas()


def put_off() -> None:
    """Let pyarrow create arrays without pandas, unless pandas is already imported."""
    if "pandas" in sys.modules:
        return
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(absent)
    sys.meta_path.insert(0, _Later())
