"""Turns errors in a pipeline file into one sentence with file, line and the nearest right name."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import re
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

from dataprep.errors import DataprepError, PlanError

WRITTEN_WRONG = (TypeError, NameError, AttributeError, ImportError)  # a step that raises one in its own line
UNEXPECTED = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'")
PACKAGE_NAMES = re.compile(r"^module 'dataprep' has no attribute '(\w+)'")


@contextlib.contextmanager
def importing(path: str) -> Iterator[None]:
    """Raise PlanError with file and line for any exception while the pipeline file at `path` is imported."""
    try:
        yield
    except SyntaxError as e:
        msg = f"{e.filename or path}:{e.lineno}: {e.msg}"
        raise PlanError(msg) from e
    except Exception as e:
        raise PlanError(_sentence(path, e)) from e


@contextlib.contextmanager
def calling(path: str) -> Iterator[None]:
    """Raise PlanError with file and line if a line of the pipeline file at `path` is itself written wrong.

    These are a name that does not exist, arguments that a function does not take, and a PlanError of any call; all
    other exceptions pass.
    """
    try:
        yield
    except PlanError as e:
        raise PlanError(_sentence(path, e)) from e
    except WRITTEN_WRONG as e:
        frames = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(e.__traceback__)]
        if frames[-1] != path and not PACKAGE_NAMES.match(str(e)):
            raise
        raise PlanError(_sentence(path, e)) from e


def _sentence(path: str, error: Exception) -> str:
    """Return "FILE:LINE: what is wrong; did you mean NAME?"."""
    own = [(f, line) for f, line in traceback.walk_tb(error.__traceback__) if f.f_code.co_filename == path]
    position = f"{path}:{own[-1][1]}" if own else path
    if isinstance(error, DataprepError):
        return f"{position}: {error}"
    message = str(error).partition("; it has ")[0].partition(". Did you mean")[0] or "raised without a message"
    message = message if isinstance(error, WRITTEN_WRONG) else f"{type(error).__name__}: {message}"
    return f"{position}: {message}{_nearest(error, own[-1][0] if own else None)}"


def _nearest(error: Exception, frame: FrameType | None) -> str:
    """Return "; did you mean NAME?" for a name that is nearly right, else which there are, or nothing."""
    wrong: Any = getattr(error, "name", None)
    names: list[str] = []
    keyword, missing = UNEXPECTED.search(str(error)), PACKAGE_NAMES.match(str(error))
    if keyword:
        wrong, names = keyword[2], _parameters(keyword[1], frame)
    elif missing:
        import dataprep

        wrong, names = missing[1], dir(dataprep)
    elif isinstance(error, AttributeError):
        names = dir(getattr(error, "obj", None))
    elif isinstance(error, NameError) and frame is not None:
        names = [*frame.f_locals, *frame.f_globals, *dir(frame.f_builtins)]
    near = difflib.get_close_matches(wrong, names, 1, cutoff=0.5) if isinstance(wrong, str) else []
    if near:
        return f"; did you mean {near[0]}?"
    return f"; it takes {', '.join(names)}" if keyword and names else ""


def _parameters(called: str, frame: FrameType | None) -> list[str]:
    """Return the parameter names of a function that an error names, like C4.__init__ or Pipeline.run."""
    import dataprep

    first, *rest = called.removesuffix(".__init__").split(".")
    known = {**frame.f_globals, **frame.f_locals} if frame is not None else {}
    try:
        found = known[first] if first in known else getattr(dataprep, first)
        for name in rest:
            found = getattr(found, name)
        return [name for name in inspect.signature(found).parameters if name != "self"]
    except (AttributeError, TypeError, ValueError):
        return []
