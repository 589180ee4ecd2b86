"""The first sections of the report: alarms, key figures, the funnel of stages, and files that were not read."""

from __future__ import annotations

from dataprep.core.model.describe import READ
from dataprep.core.model.stats import Amount, StageStats, by_bytes
from dataprep.core.model.unread import by_kind
from dataprep.errors import counted
from dataprep.history.run_summary import RunSummary, totals
from dataprep.shown.notebook import text
from dataprep.store.files import name_of

from . import charts
from .blocks import card, format_bytes, format_number, format_percent, section, table

MOST_ROWS = 40  # alarms, or kinds of unread files
MOST_LINES = 6  # reasons under a stage
MOST_CUT = 3  # rules that cut, under a stage


def alarms(summary: RunSummary) -> str:
    """Return the report's section with the alarms of a run as HTML, or "" if there are none."""
    if not summary.alarms:
        return ""
    lines = "".join(f"<li>{text(alarm, 300)}</li>" for alarm in summary.alarms[:MOST_ROWS])
    return f'<section class="alarm" aria-label="Alarms"><strong>Look at this first</strong><ul>{lines}</ul></section>'


def tiles(summary: RunSummary) -> str:
    """Return the key figures of the run as HTML tiles: documents and bytes read and kept, tokens, and loss."""
    read, kept = totals(summary)
    found = [
        (format_number(read.docs), "documents read"),
        (format_number(kept.docs), f"documents kept, {format_percent(kept.docs, read.docs)} of them"),
        (format_bytes(kept.bytes), f"of text kept, of {format_bytes(read.bytes)}"),
    ]
    if summary.tokens is not None:
        found.append((format_number(summary.tokens.n_tokens), "tokens in shards"))
    bits = [row["bits_per_byte"] for row in summary.metrics if row.get("bits_per_byte") is not None]
    if bits:
        found.append((f"{bits[-1]:.3f}", f"bits per byte, {bits[0]:.3f} at the start"))
    inside = "".join(f"<div><dd>{figure}</dd><dt>{label}</dt></div>" for figure, label in found)
    return f'<dl class="tiles">{inside}</dl>'


def funnel(summary: RunSummary) -> str:
    """Return the section with a row per stage as HTML: documents, text and tokens kept, documents dropped by reason.

    Returns "" if no stage ran.
    """
    if not summary.stages:
        return ""
    read, kept = totals(summary)
    rows = [] if summary.stages[0].name == READ else [_step("input", "as read", read, read, read, summary)]
    rows += [_stage(stage, read, summary) for stage in summary.stages]
    if summary.tokens is not None:
        t = summary.tokens
        rows.append(_step("token shards", f"a vocabulary of {t.vocab_size:,}", kept, kept, read, summary, exact=True))
    heads = ["stage", "share of documents", "documents", "share of text", "text"]
    heads += ["tokens"] if summary.tokens is not None else []
    shapes = ("share of documents", "share of text")
    top = "".join(f'<span role="columnheader"{" class=shape" * (head in shapes)}>{head}</span>' for head in heads)
    lead = "Each row is a stage. The blue shapes narrow by the documents that the stage dropped, and by the text that "
    lead += "it dropped or cut."
    if summary.tokens is not None:
        per_token = summary.tokens.n_bytes / max(1, summary.tokens.n_tokens)
        lead += f" The tokens of the last row are counted, the others estimated at {per_token:.2f} bytes per token."
    style = "funnel with-tokens" if summary.tokens is not None else "funnel"
    head = f'<div role="row" class="head">{top}</div>'
    body = f'<div class="{style}" role="table" aria-label="From input to shards">{head}{"".join(rows)}</div>'
    return section("funnel", "From input to shards", lead, card(body), _branches(summary))


def _branches(summary: RunSummary) -> str:
    """Return a list of the Datasets and their inputs, as HTML; "" if each was made from the one before it."""
    read = {url: [one for one, times in some.items() for _ in times] for url, some in summary.inputs.items()}
    if list(read.values()) == [[], *([url] for url in list(read)[:-1])]:
        return ""
    lines = []
    for url, inputs in read.items():
        names = " and ".join(text(name_of(one)) for one in inputs)
        made = f"joins {names}" if len(inputs) > 1 else f"reads {names or 'the input'}"
        n = summary.manifests[url].docs
        lines.append(f'<li><span dir="auto">{text(name_of(url))} {made}</span>: {counted(n, "document")}</li>')
    return f'<p class="note">These steps are no single chain; the rows are in this order.</p><ol>{"".join(lines)}</ol>'


def _stage(stage: StageStats, read: Amount, summary: RunSummary) -> str:
    reasons = list(stage.reasons.items())
    lines = [
        f'<span class="lost-text">−{n:,} {text(reason)}, {format_bytes(size)}</span>'
        for reason, n in reasons[:MOST_LINES] for size in [stage.total(stage.dropped[reason]).bytes]
    ]
    if len(reasons) > MOST_LINES:
        rest = sum(n for _, n in reasons[MOST_LINES:])
        lines.append(f'<span class="lost-text">−{rest:,} for {len(reasons) - MOST_LINES} other reasons</span>')
    if stage.cut:
        largest = by_bytes(stage.cuts)[:MOST_CUT]
        rules = ", ".join(f"{text(rule)} {format_bytes(found.bytes)}" for rule, found in largest)
        of = f" ({rules})" if len(stage.cuts) > 1 else ""
        lines.append(f'<span class="cut-text">−{format_bytes(stage.cut)} cut out of texts{of}</span>')
    return _step(stage.name, "".join(lines), stage.total(stage.into), stage.total(stage.out), read, summary)


def _step(
    name: str, why: str, into: Amount, out: Amount, read: Amount, summary: RunSummary, *, exact: bool = False
) -> str:
    docs, size = _widest(summary, read)
    text_kept = f"{format_bytes(out.bytes)} <small>{format_percent(out.bytes, max(1, read.bytes))}</small>"
    cells = [
        f'<span role="rowheader"><b dir="auto">{text(name)}</b><span class="why">{why}</span></span>',
        f'<span role="cell" class="shape">{charts.wedge(into.docs / docs, out.docs / docs)}</span>',
        f'<span role="cell" data-of="documents">{format_number(out.docs, max(1, read.docs))}</span>',
        f'<span role="cell" class="shape">{charts.wedge(into.bytes / size, out.bytes / size)}</span>',
        f'<span role="cell" data-of="text">{text_kept}</span>',
    ]
    if summary.tokens is not None:
        per_token = summary.tokens.n_bytes / max(1, summary.tokens.n_tokens)
        tokens = f"{summary.tokens.n_tokens:,}" if exact else f"≈ {_rounded(out.bytes / max(per_token, 1e-9)):,}"
        cells.append(f'<span role="cell" data-of="tokens">{tokens}</span>')
    return f'<div role="row">{"".join(cells)}</div>'


def _widest(summary: RunSummary, read: Amount) -> tuple[int, int]:
    """Return the maximum numbers of documents and bytes that a stage received or returned, which scale the shapes."""
    amounts = [read, *(stage.total(side) for stage in summary.stages for side in (stage.into, stage.out))]
    return max(1, *(one.docs for one in amounts)), max(1, *(one.bytes for one in amounts))


def _rounded(n: float) -> int:
    """Return an estimate rounded to three digits."""
    return int(round(n, 3 - len(str(int(n)))))


def unread(summary: RunSummary) -> str:
    """Return the report's section about files that were not read, as HTML; "" if all were read.

    The section has a row per reason and suffix of files, with the number of files and an example.
    """
    if not summary.unread:
        return ""
    rows = [
        (f"{text(reason)} {text(suffix)}", f"{len(some):,}", text(some[0].file, 300), text(some[0].detail or "", 300))
        for (reason, suffix), some in by_kind(summary.unread).items()
    ][:MOST_ROWS]
    lead = "Files that were not read, or not to their end, by reason. <code>unread.parquet</code> lists all of them."
    heads = ["reason", "files", "an example", "detail"]
    return section("unread", "Files that were not read", lead, card(table(heads, rows, "Files that were not read")))
