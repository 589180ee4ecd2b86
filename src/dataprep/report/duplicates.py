"""What deduplication did: similarities, cluster sizes, texts side by side, and what was cut out of texts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dataprep.core.batch import show_id
from dataprep.core.stats import StageStats
from dataprep.core.tables import Drop
from dataprep.history.clusters import Cluster

from . import charts
from .blocks import beside, card, percent, plots, section, side_html, size, table, text
from .page_data import Facts, Pair

MOST_DOTS = 300
MOST_CHARTS = 7  # stages that measured similarities
FIT_FACTS = {  # what Estimators count, in the order of a table
    "documents": "documents", "candidates": "candidates", "compared": "pairs compared",
    "largest_component": "largest component",
}  # fmt: skip


def duplicates(facts: Facts) -> str:
    """Near and far: charts, then the evidence."""
    if facts.sizes is None and not facts.likeness:
        return ""
    charts_ = plots(*(_similarity(facts, stage) for stage in list(facts.likeness)[:MOST_CHARTS]), _sizes(facts))
    lead = "Each of these went for another document. A cluster is one that stays, and all that went for it in the end."
    return section("duplicates", "Duplicates", lead, charts_, _fits(facts), _largest(facts), _least(facts))


def _similarity(facts: Facts, stage: str) -> str:
    found = facts.likeness[stage]
    if not found.hundredths.any():
        return ""
    fit = _fit(facts, stage)
    lsh = bool(fit.get("bands") and fit.get("rows")) and fit.get("measure") != "containment"  # the curve is Jaccard's
    bands = (int(fit["bands"]), int(fit["rows"])) if lsh else None
    threshold = fit.get("threshold")
    said = f"Similarity of what {stage} removed"
    chart = charts.similarity(found.hundredths.tolist(), threshold, bands, said)
    n = int(found.hundredths.sum())
    note = f"{n:,} documents under 1; another {found.same:,} had the same contents."
    if bands:
        note += f" The line is the chance that a pair is compared at all, with {bands[0]} bands of {bands[1]} rows."
    return card(chart, f'<p class="note">{note}</p>', title=text(said))


def _fit(facts: Facts, stage: str) -> Mapping[str, Any]:
    return next((fit for fit in facts.fits if fit["stage"] == stage), {})


def _sizes(facts: Facts) -> str:
    if facts.sizes is None:
        return ""
    sizes, counts = (values.tolist() for values in facts.sizes)
    points = _thinned(list(zip(sizes, counts, strict=True)))
    clusters, gone = sum(counts), sum(n * (size - 1) for size, n in zip(sizes, counts, strict=True))
    chart = charts.loglog(points, "Documents in a cluster, the one that stays included", "Clusters by size")
    said = f"{gone:,} documents went for {clusters:,} others; the largest cluster has {sizes[-1]:,}."
    return card(chart, f'<p class="note">{said}</p>', title="Clusters by size")


def _thinned(points: list[tuple[int, int]]) -> list[tuple[float, float]]:
    """At most a few hundred dots: the many sizes that one cluster has become one dot for a twentieth of a decade."""
    if len(points) <= MOST_DOTS:
        return [(float(a), float(b)) for a, b in points]
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for a, b in points:
        found.setdefault((round(20 * math.log10(a)), round(20 * math.log10(b))), (float(a), float(b)))
    return list(found.values())


def _fits(facts: Facts) -> str:
    columns = [name for name in FIT_FACTS if any(name in fit for fit in facts.fits)]
    if not set(columns) - {"documents"}:
        return ""
    rows = [
        (text(fit["stage"]), *(f"{fit[name]:,}" if isinstance(fit.get(name), int) else "" for name in columns))
        for fit in facts.fits
        if any(name in fit for name in columns)
    ]
    body = table(["looked at by", *(FIT_FACTS[name] for name in columns)], rows, "What each deduplication looked at")
    return card(body, style="narrow")


def _largest(facts: Facts) -> str:
    if not facts.largest:
        return ""
    shown = "".join(_cluster(cluster, pairs, first=i == 0) for i, (cluster, pairs) in enumerate(facts.largest))
    return f'<h3 class="over">The largest clusters</h3>{shown}'


def _cluster(cluster: Cluster, pairs: list[Pair], *, first: bool) -> str:
    why = ", ".join(f"{n:,} {text(reason)} by {text(stage)}" for (stage, reason), n in cluster.why.most_common(4))
    home = f" of {text(cluster.kept_in)}" if cluster.kept_in else ""
    others = ", ".join(_named(drop) for drop in cluster.examples[1:])
    more = f'<p class="note">Others: {others}{" …" if cluster.removed > len(cluster.examples) else ""}</p>'
    inside = "".join(map(_beside, pairs)) + (more if others else "")
    head = f"<b>{cluster.size:,} documents</b> of which {show_id(cluster.kept)}{home} stays <span>{why}</span>"
    return f'<details class="card"{" open" if first else ""}><summary>{head}</summary>{inside}</details>'


def _named(drop: Drop) -> str:
    return show_id(drop.id) + ("" if drop.similarity is None else f" ({drop.similarity:.2f})")


def _least(facts: Facts) -> str:
    shown = [pair for pair in facts.pairs if (pair.drop.similarity or 0) < 1]
    if not shown:
        return ""
    pairs = "".join(f'<article class="card">{_beside(pair)}</article>' for pair in shown)
    lead = "<p>If these are right, the threshold is not too low.</p>"
    return f'<h3 class="over">The least similar removals</h3>{lead}{pairs}'


def _beside(pair: Pair) -> str:
    drop = pair.drop
    like = "" if drop.similarity is None else f" <b>{drop.similarity:.3f}</b>"
    kept = "" if drop.kept is None else show_id(drop.kept) + (f" of {text(drop.kept_in)}" if drop.kept_in else "")
    left = f'<h4>{show_id(drop.id)} <span class="lost-text">removed</span></h4>{side_html(pair.gone, "del")}'
    right = f'<h4>{kept} <span class="kept-text">stands for it</span></h4>{side_html(pair.kept, "ins")}'
    return f'<p class="who">{text(drop.stage)}, {text(drop.reason)}{like}</p>{beside(left, right)}'


def cuts(facts: Facts) -> str:
    """Bytes taken from documents that stay, and the texts that were taken most often."""
    rows = [
        (text(book.name), size(book.cut), _count(book.counts["spans cut"]), _share(book))
        for book in facts.books
        if book.cut or book.counts["spans cut"]
    ]
    if not rows:
        return ""
    by_stage = card(table(["stage", "cut", "spans", "of its input"], rows, "Bytes cut by stage"), style="narrow")
    repeats = [
        (
            f"{r.times:,} ×",
            size(r.n_bytes) + (f" to {size(r.most_bytes)}" if r.most_bytes > r.n_bytes else ""),
            f"{show_id(r.kept)}{f' of {text(r.kept_in)}' if r.kept_in else ''}, byte {r.kept_start:,}",
            "<i>the text is gone</i>" if r.text is None else f'<div class="text" dir="auto">{text(r.text, 400)}</div>',
        )
        for r in facts.repeats
    ]
    often = card(table(["cut", "length", "first stands in", "text"], repeats, "Texts that were cut most often"),
                 title="Cut most often", style="repeats") if repeats else ""  # fmt: skip
    return section("cuts", "Cut out of texts", "Parts of documents that stay.", by_stage, often)


def _count(n: int) -> str:
    return f"{n:,}" if n else ""


def _share(book: StageStats) -> str:
    return percent(book.cut, book.total(book.into).bytes)


def examples(facts: Facts) -> str:
    """Documents that filters dropped, by reason; those that went for another are shown above."""
    shown = []
    for book in facts.books:
        for reason, found in sorted(book.examples.items(), key=lambda kv: -book.reasons.get(kv[0], 0)):
            own = [e for e in found if e.kept is None and e.text][:2]
            texts = "".join(
                f'<h4>{show_id(e.id)} <span dir="auto">{text(e.source)}</span></h4>'
                f'<div class="text" dir="auto">{text(e.text, 300)}</div>'
                for e in own
            )
            if texts:
                head = f"<b>{text(reason)}</b> <span>{text(book.name)}, {book.reasons[reason]:,} documents</span>"
                shown.append(f'<details class="card"><summary>{head}</summary>{texts}</details>')
    if not shown:
        return ""
    return section("examples", "What filters dropped", "A few of each reason, chosen by hash.", "".join(shown[:40]))
