"""The view in which a person judges a random sample of the drops of each reason; each answer is saved at once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from dataprep.core.model.batch import parse_id, show_id
from dataprep.core.output.forget_list import REASON
from dataprep.errors import PlanError, require
from dataprep.history import review
from dataprep.history.review import RIGHT, VERDICTS, WRONG, Judgement, Precision
from dataprep.history.suspicions import Suspicion, judged_wrong

from .documents import CONTENTS
from .index import RunIndex
from .view_query import ViewQuery

SAMPLE = 60  # drops of each reason
KNOWN = f"reason <> '{REASON}' AND id NOT IN (SELECT id FROM forgotten)"  # noqa: S608 - a constant
DEALT = f"""
WITH dealt AS (SELECT *, row_number() OVER (PARTITION BY stage, reason, source ORDER BY chance, id) AS nth
               FROM drops WHERE {KNOWN}),
placed AS (SELECT *, row_number() OVER (PARTITION BY stage, reason ORDER BY nth, chance, id) AS place FROM dealt)
SELECT * FROM placed WHERE place <= {SAMPLE} ORDER BY stage, reason, place
"""  # noqa: S608 - constants
BYTES = f"SELECT stage, reason, coalesce(sum(bytes), 0)::BIGINT AS bytes FROM drops WHERE {KNOWN} GROUP BY ALL"  # noqa: S608
POPULATION = f"SELECT stage, reason, source, count(*) AS n FROM drops WHERE {KNOWN} GROUP BY ALL"  # noqa: S608


@dataclass(frozen=True)
class ReviewAnswer:
    """A reviewer's answer.

    Attributes:
        id: the document.
        stage: the stage that dropped it.
        verdict: one of VERDICTS; "" withdraws the last answer.
        content: the hash of the texts that were shown, as `documents.document` returns it; "" to withdraw.
    """

    id: int
    stage: str
    verdict: str
    content: str

    @classmethod
    def of(cls, given: Any) -> ReviewAnswer:
        """Return the answer in a request. Raises PlanError if the request has no valid answer."""
        names = ("id", "stage", "verdict", "content")
        good = isinstance(given, dict) and all(isinstance(given.get(name), str) for name in names)
        good = good and given["verdict"] in ("", *VERDICTS)
        good = good and (given["verdict"] == "" or re.fullmatch("[0-9a-f]{32}", given["content"]) is not None)
        require(good, 'an answer must be {"id", "stage", "verdict", "content"}, with a verdict of '
                f"{', '.join(VERDICTS)}, and the content of the shown document")  # fmt: skip
        return cls(parse_id(given["id"]), given["stage"], given["verdict"], given["content"])


def reviewed(index: RunIndex, _asked: ViewQuery) -> dict[str, Any]:
    """Return, for each stage and reason, the sample with the judgements, and the precision that they show."""
    judged = review.latest(review.load(index.url))
    stale = _stale(index, list(judged.values()))
    population = Counter[tuple[str, str, str | None]]()
    for row in index.once(POPULATION):
        population[row["stage"], row["reason"], row["source"]] = row["n"]
    by_reason: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in index.once(DEALT):
        by_reason.setdefault((row["stage"], row["reason"]), []).append(row)
    found = []
    for (stage, reason), rows in by_reason.items():
        own = [(one, row["source"]) for row in rows if (one := judged.get((row["id"], stage))) is not None]
        valid = [(one, source) for one, source in own if (one.id, stage) not in stale]
        sizes = {source: n for (a, b, source), n in population.items() if (a, b) == (stage, reason)}
        counts = Counter((source, one.verdict) for one, source in valid)
        pairs = {source: (counts[source, RIGHT], counts[source, WRONG]) for source in sizes}
        figures = review.precision(pairs, sizes)
        verdicts = {show_id(one.id): one.verdict for one, _ in valid}
        found.append({
            "stage": stage, "reason": reason, "drops": sum(sizes.values()), "stale": len(own) - len(valid),
            "sample": [show_id(row["id"]) for row in rows], "verdicts": verdicts,
            "precision": None if figures is None else figures._asdict(),
            **{name: sum(one.verdict == name for one, _ in valid) for name in VERDICTS},
        })  # fmt: skip
    return {"reasons": found, "file": review.place_of(index.url)}


def suspected(index: RunIndex) -> list[Suspicion]:
    """Return the suspicions about reasons that were judged wrong; nothing is read if there is no review."""
    if not review.load(index.url):
        return []
    sizes = {(row["stage"], row["reason"]): row["bytes"] for row in index.rows(BYTES)}
    return [
        one for row in reviewed(index, ViewQuery({}))["reasons"] if row["precision"] is not None
        for one in judged_wrong(row["stage"], row["reason"], Precision(**row["precision"]), row["drops"],
                                sizes[row["stage"], row["reason"]])
    ]  # fmt: skip


def _stale(index: RunIndex, judged: Sequence[Judgement]) -> set[tuple[int, str]]:
    """Return the ids and stages of judgements on texts that have changed since; texts are read once per index."""
    contents: dict[tuple[int, str], str] = index.kept.setdefault(CONTENTS, {})
    new = {(one.id, one.stage) for one in judged} - contents.keys()
    now = {key: content for key, (content, *_) in review.contents(index.url, new).items()}
    contents |= dict.fromkeys(new, "") | now
    return {(one.id, one.stage) for one in judged if contents[one.id, one.stage] != one.content}


def judge(index: RunIndex, answer: ReviewAnswer, reviewer: str) -> dict[str, Any]:
    """Save an answer next to the run, and return the name of the file.

    If the texts changed after they were shown, the judgement is stale.

    Raises PlanError if the stage did not drop the document, or if it was forgotten.
    """
    if index.rows("SELECT 1 FROM forgotten WHERE id = ?", [answer.id]):
        msg = f"document {show_id(answer.id)} was forgotten, so there is nothing to judge"
        raise PlanError(msg)
    rows = index.rows("SELECT * FROM drops WHERE id = ? AND stage = ? LIMIT 1", [answer.id, answer.stage])
    if not rows:
        msg = f"{answer.stage} did not drop the document {show_id(answer.id)}"
        raise PlanError(msg)
    (row,), found = rows, review.load(index.url)
    if answer.verdict:
        now = datetime.now(timezone.utc)
        found.append(Judgement(answer.id, row["stage"], row["reason"], answer.verdict, reviewer, answer.content, now))
    else:
        found = [one for one in found if (one.id, one.stage, one.reviewer) != (answer.id, answer.stage, reviewer)]
    review.save(index.url, found)
    return {"file": review.place_of(index.url)}
