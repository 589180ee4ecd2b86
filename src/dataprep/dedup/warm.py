"""Compile the numba kernels of an Estimator before workers start, by fitting it on two equal documents."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.part import Part
from dataprep.core.model.reader import Reader, Slice
from dataprep.core.run.runner import Runner, Serial

TEXT = (
    "One two three four five six. Seven eight nine ten? Eleven twelve thirteen.\n"
    "http://example.org/ \u0648\u0627\u062d\u062f\n"
)


@dataclass(frozen=True)
class _Two(Reader):
    """Yields two documents, with a URL in each of the columns."""

    columns: tuple[str, ...]

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:  # noqa: ARG002 - nothing is read
        """Yield one batch."""
        yield B.make([0, 1], [TEXT, TEXT], "warm", columns=dict.fromkeys(self.columns, ["http://example.org/"] * 2))


def warm(fit: Callable[[Dataset, Runner, str], Any], columns: Sequence[str] = ()) -> None:
    """Compile the kernels that `fit` needs: call `fit(docs, runner, out)` on two equal documents in a temporary folder.

    - columns: the names of columns to add to the two documents, filled with a URL.
    """
    reader = _Two(tuple(name for name in columns if name not in B.FIXED))
    docs = Dataset((Part((Slice("warm", 0, fingerprint="warm"),), reader),))
    with tempfile.TemporaryDirectory() as out:
        fit(docs, Serial(), out)
