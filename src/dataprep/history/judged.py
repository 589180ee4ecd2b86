"""Uses of the judgements of a review: labelled texts to train a classifier on, precisions, and alarms.

Judgements on texts that have changed since are stale, and do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from dataprep.core.model.stats import HIDDEN, StageStats
from dataprep.errors import CorruptShard

from . import review
from .review import RIGHT, WRONG, Judgement, Precision
from .suspicions import judged_wrong

ROWS = pa.schema(
    [
        ("id", pa.uint64()), ("text", pa.large_string()), ("source", pa.string()), ("stage", pa.string()),
        ("reason", pa.string()), ("verdict", pa.string()), ("reviewer", pa.string()),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Reviewed:
    """The judged documents of a run, with their texts as the reviewers saw them.

    Attributes:
        rows: a row per document and stage: id, text, source, stage, reason, verdict ("right" if it was right to drop
            the document, "wrong" if not) and reviewer.
        stale: the number of judgements that are left out, since the texts have changed or cannot be read.
        unsure: the number of judgements that are left out, since the reviewer was unsure.
    """

    rows: pa.Table
    stale: int
    unsure: int

    def texts(self, verdict: str) -> list[str]:
        """Return the distinct texts with a verdict, "right" or "wrong"."""
        rows = self.rows.to_pylist()
        return list(dict.fromkeys(row["text"] for row in rows if row["verdict"] == verdict))


class ReasonPrecision(NamedTuple):
    """The precision of the drops of a stage for a reason, and the amount of these drops."""

    stage: str
    reason: str
    found: Precision
    docs: int
    n_bytes: int


def reviewed(folder: str) -> Reviewed:
    """Return the documents of a run that were judged in `dataprep explore`, as labelled texts.

    >>> found = dp.tools.reviewed("work/run")                                            # doctest: +SKIP
    >>> docs = dp.read(found.rows)                                                       # doctest: +SKIP

    The last judgement on each document and stage counts. Private data is replaced as by the stages after the drop.
    Raises CorruptShard if the file of judgements is damaged.

    - folder: the folder of the run.
    """
    url = folder.rstrip("/") or "/"
    judged = review.latest(review.load(url))
    rows = []
    for one, text, source in _current(url, judged.values()):
        if text is not None and one.verdict in (RIGHT, WRONG):
            given = {**one._asdict(), "source": source}
            rows.append({**{name: given.get(name) for name in ROWS.names}, "text": text})
    unsure = sum(one.verdict not in (RIGHT, WRONG) for one in judged.values())
    return Reviewed(pa.Table.from_pylist(rows, ROWS), len(judged) - unsure - len(rows), unsure)


def _current(url: str, judged: Iterable[Judgement]) -> Iterator[tuple[Judgement, str | None, str | None]]:
    """Yield the judgements that are not stale, each with text and source, None if it is unreadable or hidden."""
    by_key = {(one.id, one.stage): one for one in judged}
    for key, (content, text, source) in review.contents(url, by_key).items():
        if content == by_key[key].content:
            yield by_key[key], text, source


def precisions(url: str, stages: Iterable[StageStats]) -> Iterator[ReasonPrecision]:
    """Yield the precision of each stage and reason that was judged in the run in the folder `url`.

    - stages: the statistics of the run's stages.
    """
    judged = review.latest(review.load(url)) if review.is_there(url) else {}
    counts: dict[tuple[str, str], Counter[tuple[str | None, str]]] = {}
    for one, _, source in _current(url, judged.values()):
        counts.setdefault((one.stage, one.reason), Counter())[source, one.verdict] += 1
    for stage in stages if counts else ():
        for reason, of in stage.dropped.items():
            sizes = {None if name == HIDDEN else name: amount.docs for name, amount in of.items()}
            found = counts.get((stage.name, reason), Counter())
            pairs = {source: (found[source, RIGHT], found[source, WRONG]) for source in sizes}
            if (shown := review.precision(pairs, sizes)) is not None:
                total = stage.total(of)
                yield ReasonPrecision(stage.name, reason, shown, total.docs, total.bytes)


def review_alarms(url: str, stages: Iterable[StageStats]) -> list[str]:
    """Return a sentence about each reason whose drops a review found wrong too often, or about a damaged review.

    - stages: the statistics of the run's stages.
    """
    try:
        return [one.sentence for each in precisions(url, stages) for one in judged_wrong(*each)]
    except CorruptShard as e:
        return [str(e)]
