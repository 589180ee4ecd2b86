"""Resource: a model, or another object that is slow to load; every process loads it once for all its stages."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dataprep.errors import PlanError, require
from dataprep.store.key import key

from .core.model.process import kept


@dataclass(frozen=True, repr=False)
class Resource:
    """A model or another object that stages use; each process loads it once, when it first needs it.

    A Stage has the Resource as a field, or a plain function uses it as a global variable; `get` returns the object.
    Only the loader is sent to workers. In contrast, a cache that a script defines (`functools.cache`, a global
    variable) starts empty in every task.

    Args:
        loader: a function that returns the object. If it has a parameter `device`, the argument is "cuda:0", "cuda:1"
            ... if PyTorch finds GPUs (the workers use them in turn), else "mps" or "cpu".
        version: a string or number that identifies the loaded object; the key of a stage depends on it, on the loader's
            name, and on the arguments of a `functools.partial`. Change the version when the model changes.

    A loaded object is kept until its process ends. Raises PlanError if the loader is not a function, or if it has other
    parameters than `device`.

    >>> def load(device): return transformers.pipeline("text-classification", "OWNER/NAME", device=device)
    >>> model = extend.Resource(load, version="OWNER/NAME 2024-05-01")
    >>> model.get()(["a text", "another"], batch_size=64)
    """

    loader: Callable[..., Any]
    version: str | int = field(kw_only=True)
    _identity: str = field(init=False, compare=False)  # of the loader: a worker gets a copy of it with every task

    def __post_init__(self) -> None:
        require(callable(self.loader), f"Resource must be given a loader function, not {self.loader!r:.80}")
        good = isinstance(self.version, (str, int)) and not isinstance(self.version, bool) and self.version != ""
        require(good, f"version={self.version!r} must be a string or number that identifies what is loaded")
        needed = [p for p in _parameters(self.loader) if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        further = [p.name for p in needed if p.default is p.empty and p.name != "device"]
        require(not further, f"the loader of {self!r} needs the parameter {''.join(further[:1])}, which is missing; "
                "use functools.partial")  # fmt: skip
        try:
            source = key(self.loader)
        except PlanError:  # no source: its name
            source = ""
        object.__setattr__(self, "_identity", key((self.recipe(), source)))

    def __repr__(self) -> str:
        return f"Resource({self._name}, version={self.version!r})"

    @property
    def _name(self) -> str:
        function = self.loader.func if isinstance(self.loader, functools.partial) else self.loader
        return str(getattr(function, "__qualname__", type(function).__qualname__))

    def recipe(self) -> Any:
        """Return the values that keys depend on: the loader's name, a partial function's arguments, and the version."""
        given = (self.loader.args, self.loader.keywords) if isinstance(self.loader, functools.partial) else ()
        return (self._name, given, self.version)

    def get(self) -> Any:
        """Return the object, which is loaded at the first call in a process."""
        return kept(self._identity, self._load)

    def _load(self) -> Any:
        given = {"device": device()} if "device" in [p.name for p in _parameters(self.loader)] else {}
        return self.loader(**given)


def device() -> str:
    """Return the device for a model in this process: "cuda:N", "mps" or "cpu"; workers take the GPUs in turns."""
    if importlib.util.find_spec("torch") is None:
        return "cpu"
    torch: Any = importlib.import_module("torch")
    if torch.cuda.is_available():
        number = (*getattr(multiprocessing.current_process(), "_identity", ()), 1)[0]
        return f"cuda:{(number - 1) % torch.cuda.device_count()}"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function; none if they are unknown, as for some classes and compiled functions."""
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:
        return []
