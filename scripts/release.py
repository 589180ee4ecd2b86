"""Make a release of the committed tree: check it, run all tests, build the sdist and the wheel, and tag the commit.

    make release                 # a few hours: every Python version that is found
    make release ARGS=--check    # only look whether the tree is ready

Nothing is uploaded: the last line names the two files to upload.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import subprocess
import sys
from pathlib import Path

STEPS = (["bash", ".ci/run"], ["make", "test-all"], ["make", "docs"])  # test-all leaves the builds in out/wheel


def git(root: Path, *words: str) -> str:
    """Return what a command of git prints."""
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603


def found(path: Path, pattern: str) -> str:
    """Return the first group of a pattern in a file; "" if it is not there."""
    match = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    return match.group(1) if match else ""


def problems(root: Path, today: str) -> list[str]:
    """Return what must be done before the tree in the folder `root` can be released; today: the date, YYYY-MM-DD."""
    version = found(root / "pyproject.toml", r'^version = "(.+)"$')
    newest = found(root / "CHANGELOG.md", r"^## \[(.+?)\] - ")
    dated = found(root / "CHANGELOG.md", r"^## \[.+?\] - (.+)$")
    stated = found(root / "src/dataprep/__init__.py", r'^__version__ = "(.+)"$')
    found_problems = []
    if stated != version:
        found_problems.append(f"src/dataprep/__init__.py states version {stated}, pyproject.toml {version}")
    if newest != version:
        found_problems.append(f"the newest entry of CHANGELOG.md is of version {newest}, not of {version}")
    if dated != today:
        found_problems.append(f"the newest entry of CHANGELOG.md is dated {dated!r}; write {today}")
    if git(root, "status", "--porcelain"):
        found_problems.append("files are changed or not committed; commit or remove them")
    if git(root, "tag", "--list", f"v{version}"):
        found_problems.append(f"the tag v{version} exists; increase the version")
    return found_problems


def main() -> None:
    """Release the tree, or print what is in the way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only look whether the tree is ready")
    args = parser.parse_args()
    root = Path(__file__).parent.parent
    if in_the_way := problems(root, dt.datetime.now(tz=dt.timezone.utc).date().isoformat()):
        sys.exit("\n".join(["not ready for a release:", *(f"- {line}" for line in in_the_way)]))
    if args.check:
        print("ready for a release")
        return
    for step in STEPS:
        print(f"== {' '.join(step)}", flush=True)
        if subprocess.run(step, cwd=root, check=False).returncode:  # noqa: S603
            sys.exit(f"not released: {' '.join(step)} failed")
    version = found(root / "pyproject.toml", r'^version = "(.+)"$')
    git(root, "tag", "--annotate", f"v{version}", "--message", f"dataprep {version}")
    built = sorted(str(path.relative_to(root)) for path in (root / "out/wheel").glob("dataprep_lm-*"))
    print(f"tagged v{version}; push the tag, and upload as dataprep-lm: {' '.join(built)}")


if __name__ == "__main__":
    main()
