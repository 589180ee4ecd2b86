"""Estimator: looks at every document once, then is a Stage. It never rewrites text: what it decides is a table."""

from __future__ import annotations

from typing import ClassVar

from dataprep.store.key import key

from .dataset import Dataset
from .runner import Runner
from .stage import Stage


class Estimator:
    """Looks at all documents (`fit`) and returns the Stage that applies what it found.

    Subclasses are frozen dataclasses and define `fit`; the rest has defaults. `needs` names the columns read beyond
    the fixed ones; `VERSION` is raised when the same parameters give another result. `only_drops` and `hides` promise
    the same as in `Stage`, of the Stage that `fit` returns.

    >>> @dataclass(frozen=True)                                              # doctest: +SKIP
    ... class Longest(Estimator):
    ...     def fit(self, docs, run, out):
    ...         ...                                 # write_verdicts(url, table)
    ...         return DropIds(verdicts=url, key=self.key_for(docs), estimator=self.name)
    """

    VERSION: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ()
    only_drops: ClassVar[bool] = False
    hides: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Its name in statistics and in the names of folders."""
        return type(self).__name__

    def fit(self, docs: Dataset, run: Runner, out: str) -> Stage:
        """Look at `docs`, write tables under the folder `out`, and return the stage that applies them."""
        raise NotImplementedError

    def key_for(self, docs: Dataset) -> str:
        """Return the key of this estimator's work on `docs`: its parameters and all of their content."""
        return key((self, docs.key))

    def warm(self) -> None:
        """Compile kernels on a tiny input; called once, before workers start."""
