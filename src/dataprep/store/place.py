"""The working folder: objects that keep a relative path note it, since the path depends on the working folder."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping
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
            if _is_relative(url):
                msg = (
                    f"{url} was given in the working folder {given_in}, and this is now {now or 'deleted'}; "
                    "give absolute paths, or change the folder (os.chdir) before you give them"
                )
                raise PlanError(msg)


def _is_relative(url: str) -> bool:
    return "://" not in url and not os.path.isabs(url)


def files_named(values: Iterable[Any], folder: str) -> Iterator[str]:
    """Yield the texts in `values`, also those in lists and mappings, that are relative paths of files in a folder."""
    for value in values:
        if isinstance(value, (list, tuple, set, frozenset)):
            yield from files_named(value, folder)
        elif isinstance(value, Mapping):
            yield from files_named(value.values(), folder)
        elif isinstance(value, (str, os.PathLike)) and os.fspath(value):
            given = os.fspath(value)
            if isinstance(given, str) and WORD.search(given) and "\0" not in given and _is_relative(given):
                pattern = ANY.sub("*", given)
                if os.path.lexists(os.path.join(folder, given)) or (
                    glob.has_magic(pattern) and any(glob.iglob(os.path.join(glob.escape(folder), pattern)))
                ):
                    yield given


class Stays(contextlib.AbstractContextManager["Stays"]):
    """Puts the working folder back that a user's function changed in the `with` block, and raises FunctionFailed.

    Attributes:
        name: the function's name, for the message.

    An error that the block raises is raised unchanged.
    """

    def __init__(self, name: str) -> None:
        self.name, self.folder = name, ""

    def __enter__(self) -> Stays:
        self.folder = here()
        return self

    def __exit__(self, kind: object, *error: object) -> None:
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
        """Return the folder that was changed to, after changing back; "" if it is the same one."""
        now = here()
        if not self.folder or now == self.folder:
            return ""
        os.chdir(self.folder)
        return now or "a deleted one"
