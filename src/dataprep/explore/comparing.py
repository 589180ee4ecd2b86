"""The view that compares a run with another run on the same input."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dataprep.core.model.batch import show_id
from dataprep.history.comparison import Comparison, OneSided, TokenAmount, compare
from dataprep.history.word_diff import word_diff

from .index import RunIndex, records
from .view_query import ViewQuery

EXAMPLES, TEXT_CHARS = 5, 3_000


def compared(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Return the changes from another run, whose folder is in the parameter `other`, to this run.

    The last Datasets of both are read. Raises the errors of `compare`.
    """
    other = asked.text("other")
    key = (compared, other, tuple(sorted(records(other).items())))
    if key not in index.kept:
        index.kept[key] = _shown(compare(other, index.url, EXAMPLES))
    return dict(index.kept[key])


def _shown(found: Comparison) -> dict[str, Any]:
    columns = {"both": found.both, "lost": found.lost.sources, "gained": found.gained.sources, "changed": found.changed}
    names = sorted({name for column in columns.values() for name in column})
    rows = [
        {"source": name, **{of: asdict(column.get(name, TokenAmount())) for of, column in columns.items()}}
        for name in names
    ]
    texts = []
    for one in found.changed_texts:
        sides = word_diff(one.before, one.after, TEXT_CHARS)
        before, after = ([[run.kind, run.text] for run in side] for side in sides)
        texts.append({"id": show_id(one.id), "before": before, "after": after})
    return {
        "a": {"folder": found.a.url, "docs": found.a.count}, "b": {"folder": found.b.url, "docs": found.b.count},
        "warnings": found.warnings, "sources": rows, "texts": texts,
        "lost": _reasons(found.lost), "gained": _reasons(found.gained),
    }  # fmt: skip


def _reasons(side: OneSided) -> list[dict[str, Any]]:
    return [
        {
            "stage": stage, "reason": reason, "docs": n,
            "examples": [{"id": show_id(id_), "line": line} for _, id_, line in side.examples.get((stage, reason), [])],
        }
        for (stage, reason), n in sorted(side.reasons.items(), key=lambda item: (-item[1], item[0]))
    ]  # fmt: skip
