"""The working folder: objects that keep a relative path record it, since the path is relative to it."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dataprep.errors import FunctionFailed, PlanError

WORD = re.compile(r"\w")  # the sign "." is the name of a folder, too
ANY = re.compile(r"\{\w+\}")  # as in "models/{language}.arpa"


def here() -> str:
    """Return the working folder of this process; "" if it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def check_here(given_in: str, urls: Iterable[str]) -> None:
    """Raise PlanError if `urls` has a relative path, and the working folder is not `given_in` ("": not known)."""
    now = here()
    if given_in and now != given_in:
        for url in urls:
            if is_relative(url):
                msg = (
                    f"{url} is relative to the working folder {given_in}, which is now {now or 'deleted'}; "
                    "pass absolute paths, or change the folder (os.chdir) before you pass them"
                )
                raise PlanError(msg)


def is_relative(url: str) -> bool:
    """Return whether a URL is a relative path, which refers to a file in the working folder."""
    return "://" not in url and not os.path.isabs(url)


def given_in(urls: Iterable[str]) -> str | None:
    """Return the working folder, to be recorded with relative paths; None if no path in `urls` is relative."""
    return (here() or None) if any(map(is_relative, urls)) else None


def found_again(url: str, folder: str | None, *, is_same: Callable[[str], bool]) -> str:
    """Return the current path of a recorded URL.

    A relative path refers to a file in `folder`. If `folder` no longer exists, as after the whole project was moved,
    the path refers to a file in the current working folder, if `is_same` returns True for that file.

    - folder: the working folder in which the URL was given; None if it is not known.
    """
    if not folder or not is_relative(url) or folder == here():
        return url
    return url if not os.path.isdir(folder) and is_same(url) else os.path.join(folder, url)


def files_named(values: Iterable[Any], folder: str) -> Iterator[str]:
    """Yield the texts in `values`, also in lists and mappings, that are relative paths of files in a folder."""
    for value in values:
        if isinstance(value, (list, tuple, set, frozenset)):
            yield from files_named(value, folder)
        elif isinstance(value, Mapping):
            yield from files_named(value.values(), folder)
        elif isinstance(value, (str, os.PathLike)) and os.fspath(value):
            given = os.fspath(value)
            if isinstance(given, str) and WORD.search(given) and "\0" not in given and is_relative(given):
                pattern = ANY.sub("*", given)
                if os.path.lexists(os.path.join(folder, given)) or (
                    glob.has_magic(pattern) and any(glob.iglob(os.path.join(glob.escape(folder), pattern)))
                ):
                    yield given


class Stays(contextlib.AbstractContextManager["Stays"]):
    """Restores the working folder if a user's function changed it in the `with` block, and raises FunctionFailed.

    Attributes:
        name: the function's name, for the message.

    An error that the block raises is passed on unchanged. A process that the function forked ends with the block;
    otherwise it would also do the work of its parent, and write into the same files.
    """

    def __init__(self, name: str) -> None:
        self.name, self.folder, self.process = name, "", 0

    def __enter__(self) -> Stays:
        self.folder, self.process = here(), os.getpid()
        return self

    def __exit__(self, kind: object, error: BaseException | None, *trace: object) -> None:
        if os.getpid() != self.process:
            code = error.code if isinstance(error, SystemExit) else int(error is not None)
            os._exit(code if isinstance(code, int) else int(code is not None))
        if kind is None:
            self.check()
        else:
            self._back()

    def check(self) -> None:
        """Raise FunctionFailed if the working folder has changed since the block began, and restore it."""
        if now := self._back():
            msg = (
                f"{self.name} changed the working folder to {now}, where relative paths of the run mean other files; "
                "use absolute paths in it, or change the folder back"
            )
            raise FunctionFailed(msg)

    def _back(self) -> str:
        """Return the changed working folder, after changing back; "" if it has not changed."""
        now = here()
        if not self.folder or now == self.folder:
            return ""
        os.chdir(self.folder)
        return now or "a deleted one"
