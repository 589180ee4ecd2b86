"""The folder of the machine code that this user's processes compiled; no other user can write to it."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path


@cache
def cache_root() -> Path | None:
    """Create the folder of all compiled kernels; return its path, or None if no folder is writable by this user only.

    Compiled code is loaded without a check of its content, so a folder that another user can write to is never used.
    """
    for root in _roots():
        folder = root / "dataprep" / "kernels"
        try:
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.parent.mkdir(exist_ok=True, mode=0o700)
            folder.mkdir(exist_ok=True, mode=0o700)
            if not all(map(_is_private, (root, folder.parent, folder))):
                continue
            folder.chmod(0o700)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return None


def _is_private(folder: Path) -> bool:
    """Return whether a folder is a folder of this user, not a link, and no other user can write to it."""
    if not hasattr(os, "getuid"):
        return True
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _roots() -> list[Path]:
    """Return the folders to try: Numba's own setting, the user's cache folder, the machine's temporary folder.

    As XDG requires, an empty or relative setting is ignored. A user may have no home folder, and a machine may have no
    temporary folder.
    """
    home = Path(os.path.expanduser("~"))  # "~" if the user has none
    if sys.platform == "win32":
        user = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        user = home / "Library" / "Caches"
    else:
        given = Path(os.environ.get("XDG_CACHE_HOME", ""))
        user = given if given.is_absolute() else home / ".cache"
    numba = os.environ.get("NUMBA_CACHE_DIR")
    own = [*([Path(numba)] if numba else []), *([user] if user.is_absolute() else [])]
    found = [root.resolve() for root in own]  # a user's own folder may be a link; one that all can make may not
    with contextlib.suppress(FileNotFoundError):
        found.append(Path(tempfile.gettempdir()) / f"dataprep-{os.getuid() if hasattr(os, 'getuid') else 'user'}")
    return found
