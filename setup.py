"""Copy the pipelines and the sample data into the wheel, as dataprep/included; everything else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

INCLUDED = ("pipelines", "sample_data")


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


setup(cmdclass={"build_py": BuildPy})
