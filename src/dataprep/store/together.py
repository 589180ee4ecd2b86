"""Write files that replace old files of a folder together (`beside`), or one after another on object stores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from . import beside, files
from .atomic import check_leases

T = TypeVar("T")


def replace(folder: str, known: Collection[str], write: Callable[[str], Sequence[str]]) -> None:
    """Replace files of a folder by the files that `write(url)` writes into the folder `url` and whose names it returns.

    - known: all names that `write` may return; the other files with these names are deleted.
    """
    if not files.is_local(folder):
        check_leases(folder)
        for name in set(known) - set(write(folder)):
            files.remove(files.join(folder, name))
        return
    recover(folder, known)
    home = files.path_of(folder)
    try:
        beside.commit(home, write(beside.home(home)), known)
    except BaseException:
        beside.discard(home, known)
        raise


def recover(folder: str, known: Collection[str]) -> None:
    """Complete a killed replacement of the files `known` of a folder, or delete its files if they are incomplete."""
    if files.is_local(folder):
        beside.recover(files.path_of(folder))
        beside.discard(files.path_of(folder), known)


def read(folder: str, read: Callable[[Callable[[str], str]], T]) -> T:
    """Return `read(at)`, which reads files of a folder that may be replaced in the meantime.

    at: a function that returns the current URL of such a file, given its usual URL.
    """
    if not files.is_local(folder):
        return read(str)
    return beside.steady(files.path_of(folder), lambda: read(lambda url: beside.at(files.path_of(url))))
