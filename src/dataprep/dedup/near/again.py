"""Decide again, at another threshold, which documents to drop, from the candidates that a finished run stored.

The similarities in a drop table do not suffice for this: a document is compared with kept documents only, and with
another threshold, other documents are kept. Instead, the stored candidates are compared again, in the same order. The
result is therefore that of a full run with this threshold and the same bands. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.run.runner import Runner
from dataprep.errors import PlanError, require
from dataprep.store.shuffle import ShuffleFiles

from .search import gathered_in, index_in
from .similarity import MatchRule
from .verify import VERDICT, decided


@dataclass(frozen=True)
class DecideAgain:
    """Task that decides on the documents of one partition; fields as in `VerifyPartition`."""

    gathered: ShuffleFiles
    bands: int
    rule: MatchRule
    ends: tuple[int, ...]
    drops_all: bool

    def __call__(self, partition: int) -> npt.NDArray[Any]:
        """Return a VERDICT for each dropped document of a partition."""
        return decided(self.gathered, partition, self.bands, self.rule, self.ends, drops_all=self.drops_all)[0]


def verdicts_at(
    steps: Sequence[str], fit: Mapping[str, Any], threshold: float, runner: Runner, *, keep: str, n_older: int
) -> npt.NDArray[Any]:
    """Return the verdicts of a MinHash at another threshold: a VERDICT for each dropped document, in order of ids.

    - steps: the folders of the steps of the run, one of which contains the stored candidates.
    - fit: the manifest's entry for the MinHash (`fits`).
    - keep: the MinHash's parameter `keep`.
    - n_older: the number of Datasets in the MinHash's parameter `against`.

    Raises PlanError if the threshold is out of range, if the candidates are no longer stored, or if there are several
    older Datasets.
    """
    require(0 < threshold <= 1, f"threshold={threshold!r} must be a number above 0 and at most 1")
    require(n_older <= 1, f"{fit['stage']} has several Datasets in against=, which cannot be told apart in its stored "
            "candidates; run it again with the other threshold")  # fmt: skip
    found = ((step, record) for step in steps if (record := index_in(step, str(fit.get("index")))) is not None)
    home, record = next(found, ("", None))
    if record is None:
        msg = f"the candidates of {fit['stage']} are no longer stored (`dataprep prune` or `forget` removed them); "
        msg += "run its Pipeline again with replace=True"
        raise PlanError(msg)
    ends = (*[record["old_parts"]] * n_older, record["parts"])
    rule = MatchRule(float(threshold), fit.get("measure") == "containment")
    task = DecideAgain(gathered_in(home, record), fit["bands"], rule, ends, keep == "none")
    some = list(runner.map(task, range(record["partitions"]), f"threshold {threshold:g}"))
    rows = np.concatenate([np.empty(0, VERDICT), *some])
    return rows[np.argsort(rows["id"])]
