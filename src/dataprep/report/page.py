"""The page: facts and pictures in the order a reader asks for them."""

from __future__ import annotations

import difflib
from html import escape
from importlib import resources

import numpy as np

from dataprep import __version__
from dataprep.stats import Stats

from . import charts
from .facts import Facts, Pair, Tokens

MOST_REASONS = 16
CURVE_POINTS = 250


def render(facts: Facts) -> str:
    """The whole page as one HTML text."""
    style = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    sections = [_tiles(facts), _flow(facts), _reasons(facts), _sources(facts), _similar(facts)]
    sections += [_tokens(facts.tokens), _loss(facts), _samples(facts)]
    name = escape(facts.name)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}: what became of the text</title><style>{style}</style></head><body><main>"
        f"<h1>{name}</h1><p>What went in, what was dropped and why, and what was made of the rest.</p>"
        f"{''.join(sections)}<footer>dataprep {__version__}</footer></main></body></html>\n"
    )


def _tiles(facts: Facts) -> str:
    first, last = facts.books[0], facts.books[-1]
    mb = [book.total(side).bytes / 1e6 for book, side in ((first, first.into), (last, last.out))]
    came = sum(row[0] for row in facts.sources.values())
    tiles = [
        (f"{came:,}", "documents read"),
        (f"{last.docs_out:,}", f"documents kept ({last.docs_out / max(1, came):.0%})"),
        (f"{mb[1]:,.1f} MB", f"of text, from {mb[0]:,.1f} MB"),
    ]
    if facts.tokens:
        tiles.append((f"{facts.tokens.tokens:,}", "tokens"))
    bits = [row["bits_per_byte"] for row in facts.metrics if row.get("bits_per_byte") is not None]
    if bits:
        tiles.append((f"{bits[-1]:.3f}", f"bits per byte, from {bits[0]:.3f}"))
    inside = "".join(f'<div class="tile"><b>{b}</b><span>{s}</span></div>' for b, s in tiles)
    return f'<div class="tiles">{inside}</div>'


def _section(title: str, lead: str, body: str) -> str:
    return f'<section><h2>{title}</h2><p>{lead}</p><div class="card">{body}</div></section>'


def _flow(facts: Facts) -> str:
    alarms = "".join(f'<p class="alarm">{escape(a)}</p>' for a in Stats(facts.books).alarms())
    lead = "The height is the number of documents; what turns away was dropped by the stage above it."
    return alarms + _section("Stage by stage", lead, charts.flow(facts.books))


def _reasons(facts: Facts) -> str:
    rows = [(f"{book.name}: {reason}", n) for book in facts.books for reason, n in book.reasons.items()]
    counts = [(f"{book.name}: {name}", n) for book in facts.books for name, n in sorted(book.counts.items())]
    if not rows:
        return ""
    shown = sorted(rows, key=lambda row: -row[1])[:MOST_REASONS]
    body = charts.bars(shown, "documents")
    if counts:
        body += "<table><tr><th>counted</th><th></th></tr>"
        body += "".join(f"<tr><td>{escape(name)}</td><td>{n:,}</td></tr>" for name, n in counts) + "</table>"
    return _section("Why documents were dropped", "Every dropped document has one reason.", body)


def _sources(facts: Facts) -> str:
    head = "<tr><th>source</th><th>read</th><th>kept</th><th></th><th>MB read</th><th>MB kept</th></tr>"
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{a:,}</td><td>{b:,}</td><td>{b / max(1, a):.0%}</td>"
        f"<td>{c / 1e6:,.2f}</td><td>{d / 1e6:,.2f}</td></tr>"
        for name, (a, b, c, d) in facts.sources.items()
    )
    return _section("By source", "Documents and text of each source, before the first stage and after the last.",
                    f"<table>{head}{rows}</table>")  # fmt: skip


def _similar(facts: Facts) -> str:
    counts = facts.similarities
    if not counts.any():
        return ""
    first = min(80, int(np.flatnonzero(counts)[0]))
    width = 1 if first >= 70 else 5  # hundredths a column: twenty columns or so
    first -= first % width
    rows = [(f"{i / 100:.2f}", int(counts[i : i + width].sum())) for i in range(first, 100, width)]
    body = charts.columns(rows, "Similarity of removed documents with their survivors")
    pairs = "".join(_pair(pair) for pair in facts.pairs)
    lead = (
        "Jaccard similarity of each removed document with the one that stands for it, measured, not estimated. "
        f"Another {facts.same:,} were the same as theirs."
    )
    examples = f'<div class="card" style="margin-top:12px">{pairs}</div>' if pairs else ""
    return _section("Near-duplicates", lead, body).replace("</section>", f"{examples}</section>")


def _pair(pair: Pair) -> str:
    gone, kept = _marked(pair.gone_text, pair.kept_text)
    like = "" if pair.similarity is None else f", similarity {pair.similarity:.3f}"
    return (
        f'<div class="pair"><h3>{escape(pair.stage)}{like}</h3>'
        f"<div><small>{pair.gone} removed</small>{gone}</div><div><small>{pair.kept} kept</small>{kept}</div></div>"
    )


def _marked(a: str, b: str) -> tuple[str, str]:
    """Both texts, with the words marked that the other lacks."""
    sides = (a.split(" "), b.split(" "))
    out: tuple[list[str], list[str]] = ([], [])
    for kind, i, j, k, m in difflib.SequenceMatcher(None, *sides, autojunk=False).get_opcodes():
        for side, words in zip(out, (sides[0][i:j], sides[1][k:m]), strict=True):
            text = escape(" ".join(words))
            if text:
                side.append(text if kind == "equal" else f"<mark>{text}</mark>")
    return " ".join(out[0]), " ".join(out[1])


def _tokens(tokens: Tokens | None) -> str:
    if tokens is None:
        return ""
    per_token = tokens.n_bytes / max(1, tokens.tokens)
    lead = (
        f"{tokens.tokens:,} tokens of {tokens.documents:,} documents, {per_token:.2f} bytes a token, "
        f"a vocabulary of {tokens.vocab_size:,}. The columns are documents by length in tokens."
    )
    rows = [(f"under {1 << bits:,}", n) for bits, n in tokens.lengths.items()]
    head = "<tr><th>shard</th><th>split</th><th>documents</th><th>tokens</th></tr>"
    table = "".join(
        f"<tr><td>{escape(s['name'])}</td><td>{escape(s['split'])}</td><td>{s['documents']:,}</td><td>{s['tokens']:,}</td></tr>"
        for s in tokens.shards
    )
    return _section("Tokens", lead, charts.columns(rows, "Documents by length") + f"<table>{head}{table}</table>")


def _loss(facts: Facts) -> str:
    train = [(float(r["step"]), float(r["loss"])) for r in facts.metrics if r.get("loss") is not None]
    val = [(float(r["step"]), float(r["val_loss"])) for r in facts.metrics if r.get("val_loss") is not None]
    if len(train) + len(val) < 2:
        return ""
    steps = -(-len(train) // CURVE_POINTS)
    mean = "" if steps <= 1 else f" Each point of the training line is the mean of {steps:,} steps."
    lead = f"Nats a token over optimiser steps; the validation documents were never trained on.{mean}"
    return _section("Loss", lead, charts.curves(_means(train, max(1, steps)), val, "Training and validation loss"))


def _means(points: list[tuple[float, float]], n: int) -> list[tuple[float, float]]:
    """One point for every `n`: their last step, and their mean."""
    groups = (points[i : i + n] for i in range(0, len(points), n))
    return [(group[-1][0], sum(y for _, y in group) / len(group)) for group in groups]


def _samples(facts: Facts) -> str:
    if not facts.samples:
        return ""
    body = "".join(f"<pre>{escape(text)}</pre>" for text in facts.samples)
    return _section("What the model writes", "Sampled from the trained model, nothing chosen or corrected.", body)
