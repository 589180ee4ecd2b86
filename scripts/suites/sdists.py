"""Fetch source distributions from the package index and unpack them below `out/suites`."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
import tarfile

FOLDER = os.environ.get("DATAPREP_SUITES") or os.path.join("out", "suites")


class NotThereError(Exception):
    """Raised if a source distribution cannot be fetched; its suite is then not run."""


def unpacked(requirement: str) -> str:
    """Return the folder of a source distribution, such as `chardet==5.2.0`; fetch and unpack it if it is missing.

    Nothing of it is built or installed. Raises NotThereError if it cannot be fetched.
    """
    name, _, version = requirement.partition("==")
    stem = f"{name.replace('-', '_')}-{version}"
    if not _found(stem):
        os.makedirs(FOLDER, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                   "--no-binary", ":all:", "--dest", FOLDER, requirement]  # fmt: skip
        done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - pip alone
        archives = glob.glob(os.path.join(FOLDER, f"{stem}.tar.gz")) + glob.glob(
            os.path.join(FOLDER, f"{requirement.replace('==', '-')}.tar.gz")
        )
        if not archives:
            raise NotThereError((done.stderr.strip().splitlines() or ["no archive was fetched"])[-1])
        with tarfile.open(archives[0]) as archive:
            archive.extractall(FOLDER, filter="data")
    return _found(stem)


def _found(stem: str) -> str:
    """Return the unpacked folder of a distribution, or ""."""
    names = {stem.lower(), stem.lower().replace("_", "-")}
    folders = os.listdir(FOLDER) if os.path.isdir(FOLDER) else []
    return next((p for n in folders if n.lower() in names and os.path.isdir(p := os.path.join(FOLDER, n))), "")
