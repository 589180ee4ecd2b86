"""The first screens: alarms, the figures at a glance, the funnel, and what each source lost and why."""

from __future__ import annotations

from collections import Counter

from dataprep.core.part import READ
from dataprep.core.stats import HIDDEN, Amount, StageStats

from . import charts
from .blocks import card, number, percent, section, size, text
from .page_data import Facts, renamed

MOST_REASONS = 8  # with a colour and a column of their own
MOST_SOURCES = 40
MOST_LINES = 6  # reasons under a stage


def alarms(facts: Facts) -> str:
    """What should be looked at first."""
    if not facts.alarms:
        return ""
    lines = "".join(f"<li>{text(alarm, 300)}</li>" for alarm in facts.alarms[:MOST_SOURCES])
    return f'<section class="alarm" aria-label="Alarms"><strong>Look at this first</strong><ul>{lines}</ul></section>'


def tiles(facts: Facts) -> str:
    """The run in a handful of figures."""
    came, left = _ends(facts)
    found = [
        (number(came.docs), "documents came in"),
        (number(left.docs), f"stay, {percent(left.docs, came.docs)} of them"),
        (size(left.bytes), f"of text stay, of {size(came.bytes)}"),
    ]
    if facts.tokens:
        found.append((number(facts.tokens.tokens), "tokens in shards"))
    bits = [row["bits_per_byte"] for row in facts.metrics if row.get("bits_per_byte") is not None]
    if bits:
        found.append((f"{bits[-1]:.3f}", f"bits per byte, at first {bits[0]:.3f}"))
    inside = "".join(f"<div><dd>{figure}</dd><dt>{said}</dt></div>" for figure, said in found)
    return f'<dl class="tiles">{inside}</dl>'


def _ends(facts: Facts) -> tuple[Amount, Amount]:
    """What came in and what stays."""
    came, left = Amount(), Amount()
    again = renamed(facts.books)
    for name, (first, last) in facts.sources.items():
        came += Amount() if name in again else first
        left += Amount() if again and name == HIDDEN else last
    if not facts.books:  # nothing but copies: what is there is what came
        last_manifest = list(facts.manifests.values())[-1]
        came = left = Amount(last_manifest["docs"], last_manifest["bytes"])
    return came, left


def funnel(facts: Facts) -> str:
    """Every stage: what came, what stays, what was lost and why; documents, bytes and tokens."""
    if not facts.books:
        return ""
    came, left = _ends(facts)
    rows = [] if facts.books[0].name == READ else [_step("input", "as it was given", came, came, came, facts)]
    rows += [_stage(book, came, facts) for book in facts.books]
    if facts.tokens:
        t = facts.tokens
        rows.append(_step("token shards", f"a vocabulary of {t.vocab_size:,}", left, left, came, facts, exact=True))
    heads = ("stage", "share", "documents", "text", *(["tokens"] if facts.tokens else []))
    top = "".join(f'<span role="columnheader">{head}</span>' for head in heads)
    lead = "The blue shape is as wide as the documents that are left; what turns away at its right edge was dropped."
    if facts.tokens:
        per_token = facts.tokens.n_bytes / max(1, facts.tokens.tokens)
        lead += f" Tokens before the last row are estimated, from {per_token:.2f} bytes a token in the shards."
    style = "funnel with-tokens" if facts.tokens else "funnel"
    head = f'<div role="row" class="head">{top}</div>'
    body = f'<div class="{style}" role="table" aria-label="From input to shards">{head}{"".join(rows)}</div>'
    return section("funnel", "From input to shards", lead, card(body))


def _stage(book: StageStats, came: Amount, facts: Facts) -> str:
    reasons = list(book.reasons.items())
    lines = [f'<span class="lost-text">−{n:,} {text(reason)}</span>' for reason, n in reasons[:MOST_LINES]]
    if len(reasons) > MOST_LINES:
        rest = sum(n for _, n in reasons[MOST_LINES:])
        lines.append(f'<span class="lost-text">−{rest:,} for {len(reasons) - MOST_LINES} other reasons</span>')
    if book.cut:
        lines.append(f'<span class="cut-text">−{size(book.cut)} cut out of texts</span>')
    return _step(book.name, "".join(lines), book.total(book.into), book.total(book.out), came, facts)


def _step(name: str, why: str, into: Amount, out: Amount, came: Amount, facts: Facts, *, exact: bool = False) -> str:
    docs, n_bytes = max(1, came.docs), max(1, came.bytes)
    cells = [
        f'<span role="rowheader"><b dir="auto">{text(name)}</b><span class="why">{why}</span></span>',
        f'<span role="cell" class="shape">{charts.wedge(into.docs / docs, out.docs / docs)}</span>',
        f'<span role="cell" data-of="documents">{number(out.docs, docs)}</span>',
        f'<span role="cell" data-of="text">{size(out.bytes)} <small>{percent(out.bytes, n_bytes)}</small></span>',
    ]
    if facts.tokens:
        per_token = facts.tokens.n_bytes / max(1, facts.tokens.tokens)
        said = f"{facts.tokens.tokens:,}" if exact else f"≈ {_rounded(out.bytes / max(per_token, 1e-9)):,}"
        cells.append(f'<span role="cell" data-of="tokens">{said}</span>')
    return f'<div role="row">{"".join(cells)}</div>'


def _rounded(n: float) -> int:
    """Three digits; an estimate has no more."""
    return int(round(n, 3 - len(str(int(n)))))


def sources(facts: Facts) -> str:
    """A row a source: a bar of where its documents went, and the numbers."""
    if not facts.sources:
        return ""
    lost: Counter[tuple[str, str]] = Counter()
    for book in facts.books:
        for reason, amounts in book.dropped.items():
            for source, amount in amounts.items():
                lost[source, f"{book.name}: {reason}"] += amount.docs
    totals: Counter[str] = Counter()
    for (_, reason), n in lost.items():
        totals[reason] += n
    reasons = [reason for reason, _ in sorted(totals.items(), key=lambda kv: (-kv[1], kv[0]))]
    columns, others = reasons[:MOST_REASONS], reasons[MOST_REASONS:]
    names = list(facts.sources)
    rows = [_source(name, facts, lost, columns, others) for name in names[:MOST_SOURCES]]
    heads = ["source", "", "read", "kept", *map(_head, columns), *(["other reasons"] if others else []), "text kept"]
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    keys = [("kept", "kept"), *((f"r{i}", text(reason)) for i, reason in enumerate(columns))]
    keys += [("other", f"{len(others)} other reasons")] if others else []
    legend = "".join(f'<li><i class="{style}"></i>{said}</li>' for style, said in keys)
    more = f"<p>{len(names) - MOST_SOURCES:,} smaller sources are not shown.</p>" if len(names) > MOST_SOURCES else ""
    body = (
        f'<table class="matrix"><caption class="unseen">Documents of each source by what became of them</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
    said = "Every dropped document has one reason. The shading of a cell is its share of the source."
    if not reasons:
        said = "No document was dropped."
    legend = f'<ul class="legend">{legend}</ul>'
    return section("sources", "What each source lost, and why", said, legend, card(body), more)


def _head(reason: str) -> str:
    """`stage: reason` over two lines."""
    stage, _, why = reason.partition(": ")
    return f"{_breaking(stage, 30)}<br>{_breaking(why, 40)}"


def _breaking(name: str, most: int) -> str:
    """A name that may be broken after its underscores."""
    return text(name, most).replace("_", "_<wbr>")


def _source(name: str, facts: Facts, lost: Counter[tuple[str, str]], columns: list[str], others: list[str]) -> str:
    came, left = facts.sources[name]
    counts = [lost[name, reason] for reason in columns]
    rest = [sum(lost[name, reason] for reason in others)] if others else []
    whole = max(1, came.docs, left.docs + sum(counts) + sum(rest))
    bar = [("kept", left.docs), *((f"r{i}", n) for i, n in enumerate(counts)), *(("other", n) for n in rest)]
    pieces = "".join(f'<i class="{style}" style="width:{100 * n / whole:.2f}%"></i>' for style, n in bar if n)
    cells = "".join(f'<td style="--s:{n / whole:.3f}">{f"{n:,}" if n else ""}</td>' for n in [*counts, *rest])
    head = f'<th scope="row" dir="auto">{_breaking(name, 40)}</th>'
    return (
        f'<tr>{head}<td class="bar" aria-hidden="true"><span>{pieces}</span></td>'
        f"<td>{came.docs:,}</td><td>{number(left.docs, whole)}</td>{cells}"
        f"<td>{size(left.bytes)} <small>{percent(left.bytes, max(1, came.bytes))}</small></td></tr>"
    )
