"""The report's sections about removed text: similarities, clusters, pairs of texts, cut spans, examples of drops."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dataprep.core.model.batch import show_id
from dataprep.core.model.stats import RuleCuts, by_bytes
from dataprep.core.model.tables import Drop
from dataprep.errors import counted
from dataprep.history.clusters import Cluster
from dataprep.history.run_summary import RunSummary, TextPair
from dataprep.history.word_diff import LEFT_OUT, DiffSide
from dataprep.shown.notebook import text

from . import charts
from .blocks import card, columns, diff_html, format_bytes, format_percent, plots, section, table

MOST_DOTS = 300
TITLE_CHARS = 90  # of a text, to name its document
MOST_PAIRS = 20  # pairs of sources
MOST_RULES = 12  # of one stage
MOST_CHARTS = 7  # stages that measured similarities
FIT_COUNTS = {  # counts of Estimators, in the order of a table
    "documents": "documents", "candidates": "candidates", "compared": "pairs compared",
    "skipped": "candidates not compared", "largest_component": "largest component", "unreadable": "unreadable values",
}  # fmt: skip


def duplicates(summary: RunSummary) -> str:
    """Return the report's section about duplicates as HTML: charts, then examples; "" if there are no duplicates."""
    if summary.sizes is None and not summary.similarities:
        return ""
    measured = list(summary.similarities)[:MOST_CHARTS]
    charts_ = plots(*(_similarity(summary, stage) for stage in measured), _sizes(summary))
    lead = (
        "Documents that were dropped as duplicates of others. A cluster is a kept document and all documents that were "
        "dropped for it, or for one that was later dropped for it."
    )
    parts = (_fits(summary), _recalls(summary), _pairs(summary), _lost(summary), _largest(summary), _least(summary))
    return section("duplicates", "Duplicates", lead, charts_, *parts)


def _similarity(summary: RunSummary, stage: str) -> str:
    found = summary.similarities[stage]
    if not found.hundredths.any():
        return ""
    fit: Mapping[str, Any] = next((fit for fit in summary.fits if fit["stage"] == stage), {})
    lsh = bool(fit.get("bands") and fit.get("rows")) and fit.get("measure") != "containment"  # the curve is Jaccard's
    bands = (int(fit["bands"]), int(fit["rows"])) if lsh else None
    threshold = fit.get("threshold")
    title = f"Similarity of documents that {stage} dropped"
    chart = charts.similarity(found.hundredths.tolist(), threshold, bands, title)
    n = int(found.hundredths.sum())
    note = f"Similarity under 1: {counted(n, 'document')}; same content: {counted(found.same, 'document')}."
    if bands:
        note += f" The line is the probability that a pair is compared, with {bands[0]} bands of {bands[1]} rows."
    return card(chart, f'<p class="note">{note}</p>', title=text(title))


def _sizes(summary: RunSummary) -> str:
    if summary.sizes is None:
        return ""
    sizes, counts = (values.tolist() for values in summary.sizes)
    points = _thinned(list(zip(sizes, counts, strict=True)))
    clusters, removed = sum(counts), sum(n * (size - 1) for size, n in zip(sizes, counts, strict=True))
    chart = charts.loglog(points, "Documents in a cluster, including the kept one", "Clusters by size")
    note = f"{counted(removed, 'duplicate')} in {counted(clusters, 'cluster')}; the largest has {sizes[-1]:,}."
    return card(chart, f'<p class="note">{note}</p>', title="Clusters by size")


def _thinned(points: list[tuple[int, int]]) -> list[tuple[float, float]]:
    """Return at most a few hundred points: points within a twentieth of a decade of each other are merged."""
    if len(points) <= MOST_DOTS:
        return [(float(a), float(b)) for a, b in points]
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for a, b in points:
        found.setdefault((round(20 * math.log10(a)), round(20 * math.log10(b))), (float(a), float(b)))
    return list(found.values())


def _fits(summary: RunSummary) -> str:
    columns = [name for name in FIT_COUNTS if any(name in fit for fit in summary.fits)]
    if not set(columns) - {"documents"}:
        return ""
    rows = [
        (text(fit["stage"]), *(f"{fit[name]:,}" if isinstance(fit.get(name), int) else "" for name in columns))
        for fit in summary.fits
        if any(name in fit for name in columns)
    ]
    body = table(["stage", *(FIT_COUNTS[name] for name in columns)], rows, "Counts of each deduplication")
    return card(body, style="narrow")


def _recalls(summary: RunSummary) -> str:
    if not summary.recalls:
        return ""
    rows = [(text(row.stage), text(row.script), f"{row.pairs:,}", f"{row.recall:.3f}") for row in summary.recalls]
    body = table(["stage", "script", "pairs", "expected recall"], rows, "Expected recall by script")
    note = (
        "Expected recall: of all pairs at or above the threshold, the share that the bands propose, estimated from the "
        "similarities of the pairs that were found in a sample of the output. Few pairs give a rough figure."
    )
    return card(body, f'<p class="note">{note}</p>', title="Expected recall by script", style="narrow")


def _pairs(summary: RunSummary) -> str:
    """Return the pairs of sources with the most duplicates as a table; "" if no duplicates cross sources."""
    if all(a == b for a, b in summary.source_pairs):
        return ""
    rows = [(text(a), text(b), f"{n:,}") for (a, b), n in summary.source_pairs.most_common(MOST_PAIRS)]
    body = table(["dropped from", "kept in", "documents"], rows, "Duplicates by source")
    note = "" if len(rows) == len(summary.source_pairs) else f"The {MOST_PAIRS} of {len(summary.source_pairs):,} pairs"
    said = f'<p class="note">{note} with the most documents.</p>' if note else ""
    return card(body, said, title="Duplicates by source", style="narrow")


def _lost(summary: RunSummary) -> str:
    """Return the clusters of which no document is left, the largest ones in a table; "" if there are none."""
    if not summary.lost:
        return ""
    rows = [
        (f"{cluster.size:,}", f"{show_id(cluster.duplicate_of)}{_home(cluster)}{_title(pairs)}",
         f"{text(cluster.end.stage)}: {text(cluster.end.reason)}" if cluster.end else "")
        for cluster, pairs in summary.lost
    ]  # fmt: skip
    body = table(["documents", "kept at first", "dropped later by"], rows, "Clusters without a survivor")
    said = f"{text(str(summary.no_survivor), 400)}. <code>dataprep clusters --lost N</code> lists more."
    return card(body, f'<p class="note">{said}</p>', title="No survivor", style="narrow")


def _home(cluster: Cluster) -> str:
    return f" of {text(cluster.duplicate_of_dataset)}" if cluster.duplicate_of_dataset else ""


def _largest(summary: RunSummary) -> str:
    if not summary.largest:
        return ""
    shown = "".join(_cluster(cluster, pairs, first=i == 0) for i, (cluster, pairs) in enumerate(summary.largest))
    return f'<h3 class="over">The largest clusters</h3>{shown}'


def _cluster(cluster: Cluster, pairs: list[TextPair], *, first: bool) -> str:
    why = ", ".join(f"{n:,} {text(reason)} by {text(stage)}" for (stage, reason), n in cluster.reasons.most_common(4))
    others = ", ".join(_named(drop) for drop in cluster.examples[1:])
    more = f'<p class="note">Others: {others}{" …" if cluster.removed > len(cluster.examples) else ""}</p>'
    inside = "".join(map(_pair, pairs)) + (more if others else "")
    kept, end = f"{show_id(cluster.duplicate_of)}{_home(cluster)}", cluster.end
    which = f"of which {kept} is kept"
    if end is not None:
        by = f"{text(end.stage)}: {text(end.reason)}"
        which = f'of which <span class="lost-text">none is kept</span>: {kept} was dropped later by {by}'
    head = f"<b>{counted(cluster.size, 'document')}</b> {which} <span>{why}</span>{_title(pairs)}"
    return f'<details class="card"{" open" if first else ""}><summary>{head}</summary>{inside}</details>'


def _title(pairs: list[TextPair]) -> str:
    return _beginning(pairs[0].kept or pairs[0].dropped) if pairs else ""


def _beginning(side: DiffSide | None) -> str:
    """Return the first words of a text as HTML, the title of its document; "" if the text cannot be read."""
    words = "".join(run.text for run in side or [] if run.kind != LEFT_OUT)
    shown = text(" ".join(words.split()), TITLE_CHARS)
    return f'<br><span class="title" dir="auto">{shown}</span>' if shown else ""


def _named(drop: Drop) -> str:
    source = "" if drop.source is None else f' title="{text(drop.source)}"'
    return f"<span{source}>{show_id(drop.id)}</span>" + ("" if drop.similarity is None else f" ({drop.similarity:.2f})")


def _least(summary: RunSummary) -> str:
    shown = [pair for pair in summary.least_similar if (pair.drop.similarity or 0) < 1]
    if not shown:
        return ""
    pairs = "".join(_folded(pair, is_open=i == 0) for i, pair in enumerate(shown))
    lead = "<p>The dropped documents that resemble the kept ones least. If even these are duplicates, the threshold is "
    lead += "not too low.</p>"
    return f'<h3 class="over">The least similar removals</h3>{lead}{pairs}'


def _folded(pair: TextPair, *, is_open: bool) -> str:
    """Return a pair of texts as HTML that is folded under one line: the similarity, the stage and the first words."""
    drop = pair.drop
    head = f"<b>{drop.similarity:.3f}</b> {show_id(drop.id)} <span>{text(drop.stage)}, {text(drop.reason)}</span>"
    title = _beginning(pair.dropped)
    return f'<details class="card"{" open" if is_open else ""}><summary>{head}{title}</summary>{_pair(pair)}</details>'


def _pair(pair: TextPair) -> str:
    drop = pair.drop
    like = "" if drop.similarity is None else f" <b>{drop.similarity:.3f}</b>"
    kept = (
        ""
        if drop.duplicate_of is None
        else show_id(drop.duplicate_of)
        + (f" of {text(drop.duplicate_of_dataset)}" if drop.duplicate_of_dataset else "")
    )
    left = f'<h4>{show_id(drop.id)} <span class="lost-text">removed</span></h4>{diff_html(pair.dropped, "del")}'
    end = '<span class="kept-text">kept</span>'
    if pair.survivor != drop.duplicate_of:
        later = "" if pair.survivor is None else f" for {show_id(pair.survivor)}"
        end = f'<span class="lost-text">dropped later{later}</span>'
    right = f"<h4>{kept} {end}</h4>{diff_html(pair.kept, 'ins')}"
    return f'<p class="who">{text(drop.stage)}, {text(drop.reason)}{like}</p>{columns(left, right)}'


def cuts(summary: RunSummary) -> str:
    """Return the report's section about text that was cut out of kept documents, as HTML; "" if no text was cut.

    The section has the number of bytes cut per stage and rule, with examples, and the texts that were cut most often.
    """
    rows = [
        (f"{text(stage.name)}: {text(rule)}", format_bytes(found.bytes), f"{found.times:,}" if found.times else "",
         format_percent(found.bytes, stage.total(stage.into).bytes), _quotes(found))
        for stage in summary.stages for rule, found in by_bytes(stage.cuts)[:MOST_RULES]
    ]  # fmt: skip
    if not rows:
        return ""
    heads = ["stage and rule", "cut", "times", "of its input", "examples"]
    by_stage = card(table(heads, rows, "Bytes cut by stage and rule"), title="Cut by rule", style="repeats")
    repeats = [
        (
            f"{r.times:,} ×",
            format_bytes(r.n_bytes) + (f" to {format_bytes(r.most_bytes)}" if r.most_bytes > r.n_bytes else ""),
            (
                f"{show_id(r.duplicate_of)}{f' of {text(r.duplicate_of_dataset)}' if r.duplicate_of_dataset else ''}, "
                f"byte {r.duplicate_of_start:,}"
            ),
            "<i>no text</i>" if r.text is None else f'<div class="text" dir="auto">{text(r.text, 400)}</div>',
        )
        for r in summary.repeats
    ]
    often = card(table(["times", "length", "first occurs in", "text"], repeats, "Texts that were cut most often"),
                 title="Cut most often", style="repeats") if repeats else ""  # fmt: skip
    return section("cuts", "Cut out of texts", "Spans of text that were cut out of documents.", by_stage, often)


def _quotes(cuts: RuleCuts) -> str:
    """Return examples of a rule's cuts as HTML, each with the id of its document."""
    quotes = (
        f'<div class="text" dir="auto">{text(e.text, 200)}</div><p class="note">{show_id(e.id)}</p>'
        for e in cuts.examples if e.text
    )  # fmt: skip
    return "".join(quotes)


def examples(summary: RunSummary) -> str:
    """Return the report's section with examples of documents that filters dropped, by reason, as HTML.

    Duplicates are left out; the result is "" if no example is left.
    """
    shown = []
    for stage in summary.stages:
        for reason, found in sorted(stage.examples.items(), key=lambda kv: -stage.reasons.get(kv[0], 0)):
            own = [e for e in found if e.duplicate_of is None and e.text][:2]
            texts = "".join(
                f'<h4>{show_id(e.id)} <span dir="auto">{text(e.source)}</span></h4>'
                f'<div class="text" dir="auto">{text(e.text, 300)}</div>'
                for e in own
            )
            if texts:
                n = counted(stage.reasons[reason], "document")
                head = f"<b>{text(reason)}</b> <span>{text(stage.name)}, {n}</span>"
                shown.append(f'<details class="card"><summary>{head}</summary>{texts}</details>')
    if not shown:
        return ""
    lead = "A few documents per reason, chosen by a hash of their ids."
    return section("examples", "Dropped by filters", lead, "".join(shown[:40]))
