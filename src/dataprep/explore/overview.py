"""The first views of the page: the run itself, its suspicions, and its sources by stage and reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from dataprep.core.model.stats import Amount, StageStats
from dataprep.history import suspicions
from dataprep.history.clusters import overtaken
from dataprep.history.run_summary import token_shards
from dataprep.report.colours import style_of
from dataprep.store import files

from . import review
from .index import RunIndex
from .view_query import ViewQuery

CUT = "cut out of texts"  # the reason in the matrix of what a stage cut; no document was dropped for it
PAIRS = """
SELECT drops.source AS source, clusters.source AS kept, count(*) AS docs, sum(drops.bytes)::BIGINT AS bytes
FROM members JOIN drops USING (id) JOIN clusters USING (root, home)
WHERE duplicate_of IS NOT NULL AND drops.source IS NOT NULL AND clusters.source IS NOT NULL
GROUP BY ALL
"""
LOST = """
SELECT coalesce(sum(bytes), 0)::BIGINT AS bytes FROM clusters WHERE end_stage IS NOT NULL
"""
NEAR = """
SELECT source, count(*) AS docs, coalesce(sum(bytes), 0)::BIGINT AS bytes FROM drops
WHERE similarity < 1 AND duplicate_of IS NOT NULL AND duplicate_of_dataset IS NULL AND source IS NOT NULL
GROUP BY source
"""


def run(index: RunIndex, _asked: ViewQuery) -> dict[str, Any]:
    """Return the name of the run, its totals, and a row per stage: what it received, returned, dropped and cut."""
    shards = token_shards(index.url)
    return {
        "name": files.name_of(index.url) or index.url, "read": asdict(index.amounts.read),
        "kept": asdict(index.amounts.kept), "stages": [_stage(stage) for stage in index.amounts.stages],
        "duplicates": index.lost.of, "bytes_per_token": None if shards is None else shards.n_bytes / shards.n_tokens,
        "names": index.names, "left_out": index.left_out,
    }  # fmt: skip


def _stage(stage: StageStats) -> dict[str, Any]:
    dropped = [
        {"reason": reason, "style": style_of(stage.name, reason), **asdict(stage.total(stage.dropped[reason]))}
        for reason in stage.reasons
    ]
    into, out = (asdict(stage.total(side)) for side in (stage.into, stage.out))
    return {"stage": stage.name, "in": into, "out": out, "dropped": dropped, "cut": stage.cut, "added": stage.added}


def suspected(index: RunIndex, _asked: ViewQuery) -> dict[str, Any]:
    """Return the suspicions that need no text, ordered by the amount of text that they concern, largest first."""
    amounts = index.amounts
    pairs = {(row["source"], row["kept"]): row for row in index.once(PAIRS)}
    found = [
        *suspicions.source_suspicions(amounts.stages, amounts.sources),
        *suspicions.lost_clusters(index.lost, index.rows(LOST)[0]["bytes"]),
        *suspicions.overtaken_sources(
            overtaken({pair: row["docs"] for pair, row in pairs.items()}, amounts.stages),
            {pair: row["bytes"] or 0 for pair, row in pairs.items()},
        ),
    ]
    return {"suspicions": [asdict(one) for one in suspicions.ranked(found)]}


def suspected_by_text(index: RunIndex, _asked: ViewQuery) -> dict[str, Any]:
    """Return the suspicions for which texts are read: boilerplate, and a bad review."""
    if suspected_by_text not in index.kept:
        near = {row["source"]: (row["docs"], row["bytes"]) for row in index.rows(NEAR)}
        lines = suspicions.lines_left(index.url, index.amounts.sources)
        index.kept[suspected_by_text] = [*suspicions.boilerplate_suspicions(index.url, near), *lines]
    found = [*index.kept[suspected_by_text], *review.suspected(index)]
    return {"suspicions": [asdict(one) for one in suspicions.ranked(found)]}


def matrix(index: RunIndex, _asked: ViewQuery) -> dict[str, Any]:
    """Return, for each source, the amounts read and kept, and the amount removed for each stage and reason."""
    stages = index.amounts.stages
    columns = [(stage, reason, stage.total(stage.dropped[reason])) for stage in stages for reason in stage.reasons]
    columns += [(stage, CUT, Amount(0, stage.cut)) for stage in stages if stage.cut]
    heads: dict[tuple[str, str], Amount] = {}  # stages of the same name, of several Datasets, share a column
    by_source: dict[str, dict[tuple[str, str], Amount]] = {name: {} for name in index.amounts.sources}
    for stage, reason, total in columns:
        key = stage.name, reason
        heads.setdefault(key, Amount()).__iadd__(total)
        for source, amount in _amounts(stage, reason):
            if amount.docs or amount.bytes:
                by_source.setdefault(source, {}).setdefault(key, Amount()).__iadd__(amount)
    numbers = {key: number for number, key in enumerate(heads)}
    rows = [
        {"source": name, "read": asdict(read), "kept": asdict(kept),
         "removed": [[numbers[key], amount.docs, amount.bytes] for key, amount in by_source[name].items()]}
        for name, (read, kept) in index.amounts.sources.items()
    ]  # fmt: skip
    return {
        "columns": [{"stage": stage, "reason": reason, "style": style_of(stage, reason), **asdict(total)}
                    for (stage, reason), total in heads.items()],
        "sources": rows,
        "read": asdict(index.amounts.read), "kept": asdict(index.amounts.kept),
    }  # fmt: skip


def _amounts(stage: StageStats, reason: str) -> Iterator[tuple[str, Amount]]:
    """Yield the amounts that a stage removed per source and reason; for CUT, the bytes by which texts became shorter.

    Bytes that the stage added to texts of the source are subtracted.
    """
    if reason != CUT:
        yield from stage.dropped[reason].items()
        return
    for source, came in stage.into.items():
        left = stage.out.get(source, Amount()).bytes
        dropped = sum(of.get(source, Amount()).bytes for of in stage.dropped.values())
        yield source, Amount(0, max(0, came.bytes - left - dropped))
