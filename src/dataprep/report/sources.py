"""The report's table of sources: documents read, kept, and dropped by reason; largest losses first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dataprep.core.model.stats import HIDDEN, Amount
from dataprep.history.run_summary import COUNTED_AGAIN, RunSummary, totals
from dataprep.shown.notebook import text

from .blocks import card, format_bytes, format_number, format_percent, section
from .colours import style_of

MOST_REASONS = 8  # with a column of their own
MOST_SOURCES = 100

Reason = tuple[str, str]  # stage and reason


def sources(summary: RunSummary) -> str:
    """Return the section with a row per source as HTML: kept documents, and dropped documents by reason.

    The first row has the totals; the sources with the largest losses come first. Returns "" if there are no sources.
    """
    if not summary.sources:
        return ""
    lost: dict[str, Counter[Reason]] = {name: Counter() for name in summary.sources}
    by_reason: Counter[Reason] = Counter()
    for stage in summary.stages:
        for reason, amounts in stage.dropped.items():
            for source, amount in amounts.items():
                lost.setdefault(source, Counter())[stage.name, reason] += amount.docs
                by_reason[stage.name, reason] += amount.docs
    reasons = [reason for reason, _ in sorted(by_reason.items(), key=lambda kv: (-kv[1], kv[0]))]
    columns, others = reasons[:MOST_REASONS], reasons[MOST_REASONS:]

    def row(name: str, read: Amount, kept: Amount, lost: Counter[Reason]) -> str:
        counts = [("kept", "", kept.docs), *((_title(one), style_of(*one), lost[one]) for one in columns)]
        counts += [("other reasons", "", sum(lost[one] for one in others))] if others else []
        return _row(name, read, kept, counts)

    size = {name: read.bytes - kept.bytes for name, (read, kept) in summary.sources.items()}
    worst = sorted(size, key=lambda name: (-lost[name].total(), -size[name], -summary.sources[name][0].bytes, name))
    rows = [row(name, *summary.sources[name], lost[name]) for name in worst[:MOST_SOURCES]]
    total = row("all sources", *totals(summary), by_reason)
    heads = [("source", "source"), ("", ""), ("read", "read"), ("kept", "kept")]
    heads += [(_title(one), "<br>".join(map(_breaking, one))) for one in columns]
    heads += [("other reasons", "other reasons")] if others else []
    heads += [("text kept", "text kept")]
    top = "".join(f'<th scope="col" data-name="{name}">{head}</th>' for name, head in heads)
    keys = [("kept", "", "kept"), *(("reason", style_of(*one), _title(one)) for one in columns)]
    keys += [("other", "", f"{len(others)} other reasons")] if others else []
    legend = "".join(f'<li><i class="{kind}" style="{style}"></i>{label}</li>' for kind, style, label in keys)
    body = (
        '<table class="matrix stacked sortable"><caption class="unseen">Documents of each source, kept or dropped by '
        f'reason</caption><thead><tr>{top}</tr></thead><tbody class="total">{total}</tbody>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
    lead = "Documents of each source, kept or dropped by reason; the sources that lost most documents come first, then "
    lead += "those that lost most text. A darker cell is a larger share of its source."
    again = f"<p>{COUNTED_AGAIN}</p>" if HIDDEN in summary.sources else ""
    left = len(worst) - MOST_SOURCES
    more = f"<p>{left:,} sources with smaller losses are not shown.</p>" if left > 0 else ""
    lead, legend = (lead, f'<ul class="legend">{legend}</ul>') if reasons else ("No document was dropped.", "")
    return section("sources", "Drop reasons by source", lead, legend, card(body), again, more)


def _title(reason: Reason) -> str:
    """Return `stage: reason` as HTML text."""
    return text(": ".join(reason))


def _breaking(name: str) -> str:
    """Return a name as HTML that allows line breaks after underscores."""
    return text(name, 100).replace("_", "_<wbr>")


def _row(name: str, read: Amount, kept: Amount, counts: Sequence[tuple[str, str, int]]) -> str:
    """Return the row of a source as HTML.

    - counts: (title, style, documents) of the kept documents, and of each reason.
    """
    whole = max(1, read.docs, sum(n for _, _, n in counts))

    def piece(title: str, style: str, n: int) -> str:
        kind = "reason" if style else "kept" if title == "kept" else "other"
        return f'<i class="{kind}" style="{style};width:{100 * n / whole:.2f}%" title="{title}: {n:,}"></i>'

    pieces = "".join(piece(*one) for one in counts if one[2])
    cells = "".join(
        f'<td style="--s:{n / whole:.3f}" data-of="{title}" data-n="{n}">{f"{n:,}" if n else ""}</td>'
        for title, _, n in counts[1:]
    )
    text_kept = f"{format_bytes(kept.bytes)} <small>{format_percent(kept.bytes, max(1, read.bytes))}</small>"
    return (
        f'<tr><th scope="row" dir="auto" title="{text(name, 300)}">{_breaking(name)}</th>'
        f'<td class="bar" aria-hidden="true"><span>{pieces}</span></td>'
        f'<td data-of="read" data-n="{read.docs}">{read.docs:,}</td>'
        f'<td data-of="kept" data-n="{kept.docs}">{format_number(kept.docs, whole)}</td>{cells}'
        f'<td data-of="text kept" data-n="{kept.bytes}">{text_kept}</td></tr>'
    )
