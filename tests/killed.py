"""Kill a call at each of its renames, deletions and links, and look at what is left."""

import os
import shutil

from dataprep.store import lease


class Stop(BaseException):
    """A kill."""


def kills(monkeypatch, before, out, call, *, step=1):
    """Yield after each kill of `call`, which writes into `out`, where a copy of `before` was; end when it lives.

    step: every how manieth rename, deletion or link is tried.
    """
    left = [0]

    def dying(act):
        def acting(*given, **named):
            counts = not str(given[0]).endswith(lease.NAME)
            left[0] -= counts
            if left[0] == 0 and counts:
                raise Stop
            return act(*given, **named)

        return acting

    with monkeypatch.context() as patch:
        for name in ("rename", "replace", "unlink", "link"):
            patch.setattr(os, name, dying(getattr(os, name)))
        for at in range(1, 1_000, step):
            left[0] = 0
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(before, out)
            left[0] = at
            try:
                call()
            except Stop:
                left[0] = 0
                yield at
            else:
                left[0] = 0
                return


def bytes_of(folder, *without):
    """Return {path: bytes} of the files of a folder, without hidden ones and those named `without`."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if path.name not in without}
