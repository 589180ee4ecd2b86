"""A vocabulary's report as tables."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from .report import Row, TokenizerReport

ROWS = 20  # sources and languages that are shown; all are in the JSON
TOKENS = 12


def plain(report: TokenizerReport) -> str:
    """The tables without colours."""
    out = io.StringIO()
    Console(file=out, width=120, highlight=False).print(tables(report))
    return out.getvalue().rstrip()


def tables(report: TokenizerReport) -> Group:
    """Head, text by source and language, samples, tokens."""
    rare, never = report.rare_tokens(), len(report.rare_tokens(1))
    ordinary = report.vocab_size - report.special
    lines = [
        f"{report.vocab_size:,} ids, {report.special} special, pattern {report.pattern}, hash {report.hash[:8]}",
        f"measured on {report.measured_on}",
    ]
    parts: list[RenderableType] = [Text("\n".join(lines)), _texts(report)]
    if report.beside is None:
        parts.append(Text("GPT-2's column is left out: give beside= the folder of its encoder.json and vocab.bpe"))
    if report.samples:
        parts.append(_samples(report))
    kinds = ", ".join(f"{name} {n:,}" for name, n in list(report.kinds.items())[:TOKENS])
    parts.append(Text(f"\ntokens are {kinds}"))
    parts.append(Text(f"longest white space: {report.longest_space or 'none'}"))
    parts.append(Text(f"longest: {_list(report.longest)}"))
    share = len(rare) / max(1, ordinary)
    seen = f"of {report.total.tokens:,} tokens of text, {len(rare):,} ({share:.1%}) are seen under {report.rare} times"
    parts.append(Text(f"{seen}, {never:,} never"))
    parts.append(Text(f"rarest: {_list([name for name, _ in rare])}"))
    return Group(*parts)


def _list(tokens: list[str]) -> str:
    return " ".join(f"[{token}]" for token in tokens[:TOKENS])


def _texts(report: TokenizerReport) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    told = any(row.language for row in report.rows)
    for title in ("source", "language") if told else ("source",):
        table.add_column(title)
    more = ["fallback"] + (["unknown"] if report.total.unknown else [])
    titles = ["documents", "MB", "bytes/tok", "chars/tok", *more]
    titles += [f"{report.beside} bytes/tok", f"tokens / {report.beside}"] if report.beside else []
    for title in titles:
        table.add_column(title, justify="right")
    shown = report.rows[:ROWS]
    for row in [*shown, report.total]:
        names = [Text(row.source), *([Text(row.language)] if told else [])]
        table.add_row(*names, *_figures(row, unknown="unknown" in more))
    if len(report.rows) > ROWS:
        table.caption = f"and {len(report.rows) - ROWS} more, in the JSON"
    return table


def _figures(row: Row, *, unknown: bool) -> list[str]:
    tokens = max(1, row.tokens)
    figures = [f"{row.documents:,}", f"{row.n_bytes / 1e6:,.2f}", f"{row.bytes_per_token:.3f}"]
    figures += [f"{row.characters / tokens:.3f}", f"{row.fallback / tokens:.2%}"]
    figures += [f"{row.unknown / tokens:.2%}"] if unknown else []
    if row.beside is not None:
        figures += [f"{row.beside_bytes_per_token:.3f}", f"{row.tokens / max(1, row.beside):.1%}"]
    return figures


def _samples(report: TokenizerReport) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, title="what the sample costs", title_justify="left")
    for title in ("sample", "MB", "bytes/tok", "tokens more than the largest"):
        table.add_column(title, justify="right")
    best = report.samples[-1].bytes_per_token
    for one in report.samples:
        costs = f"{best / one.bytes_per_token - 1:+.2%}"
        table.add_row(f"{one.share:.2%}", f"{one.n_bytes / 1e6:,.2f}", f"{one.bytes_per_token:.3f}", costs)
    return table
