"""Copy the pipelines and the sample data into the wheel, as dataprep/included; everything else is in pyproject.toml.

A wheel with compiled kernels (`make wheel`) is for one system and one version of Python; without them, it is for all.
"""

import shutil
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

INCLUDED = ("pipelines", "sample_data")
COMPILED = Path(__file__).parent / "src" / "dataprep" / "unicode" / "compiled_kernels"


class BuildPy(build_py):
    """The usual build, and then the copies; an editable install uses the folders of the checkout."""

    def run(self) -> None:
        """Build the package."""
        super().run()
        if self.editable_mode:
            return
        for name in INCLUDED:
            to = Path(self.build_lib) / "dataprep" / "included" / name
            shutil.rmtree(to, ignore_errors=True)
            shutil.copytree(Path(__file__).parent / name, to, ignore=shutil.ignore_patterns("__pycache__"))


class Dataprep(Distribution):
    """The package, which has machine code if kernels were compiled before."""

    def has_ext_modules(self) -> bool:
        """Return whether the wheel is for one system and version of Python."""
        return COMPILED.is_dir()


setup(cmdclass={"build_py": BuildPy}, distclass=Dataprep)
