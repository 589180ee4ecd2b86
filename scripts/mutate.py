"""Change one file in small ways, run its tests on each change, and print the changes that no test notices.

    python scripts/mutate.py src/dataprep/store/receipts.py tests/store/test_receipts.py

It works in a copy of the repository, and needs cosmic-ray (the extra `mutate`); `make mutate FILE= TESTS=` installs it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CONFIG = """
[cosmic-ray]
module-path = "{file}"
timeout = {seconds}
excluded-modules = []
test-command = "env PYTHONPATH=src {python} -m pytest -x -q -n 0 -p no:cacheprovider {tests}"
[cosmic-ray.distributor]
name = "local"
[cosmic-ray.filters.operators-filter]
exclude-operators = ["core/ReplaceBinaryOperator_BitOr_.*"]
"""
SECONDS = 300  # in which the tests of one change must end


def main(file: str, *tests: str) -> None:
    """Mutate `file`, run `tests` for each mutant, and print a report; exit with 1 if `tests` fail without a change."""
    root = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".git", ".venv", "out", "__pycache__"))
        text = CONFIG.format(file=file, python=sys.executable, tests=" ".join(tests), seconds=SECONDS)
        (copy / "mutate.toml").write_text(text, encoding="utf-8")

        def call(tool: str, *words: str) -> int:
            command = [Path(sys.executable).with_name(tool), *words]
            return subprocess.run(command, cwd=copy, check=False).returncode  # noqa: S603 - our own words

        call("cosmic-ray", "init", "mutate.toml", "mutate.sqlite")
        call("cr-filter-operators", "mutate.sqlite", "mutate.toml")  # most | are in annotations, which are not run
        if call("cosmic-ray", "baseline", "mutate.toml"):
            sys.exit("the tests fail without any change")
        call("cosmic-ray", "exec", "mutate.toml", "mutate.sqlite")
        call("cr-report", "mutate.sqlite", "--surviving-only", "--show-diff")


if __name__ == "__main__":
    main(*sys.argv[1:])
