"""The sections of the report about the result: lengths and languages, token shards, training, and the recipe."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from dataprep import __version__
from dataprep.core.model.ledger import BYTES_DROPPED, BYTES_KEPT
from dataprep.core.output.changes import spelled
from dataprep.core.output.state import Manifest
from dataprep.errors import counted, first_few
from dataprep.history.run_summary import RunSummary
from dataprep.shown.notebook import text
from dataprep.store import files

from . import charts
from .blocks import card, format_bytes, format_number, plots, section, table

CURVE_POINTS = 250
MOST_SHARDS = 24
MOST_LANGUAGES = 20
MOST_STEPS = 12
SEED = re.compile(r"(\w*seed)=(\d+)")


def texts(summary: RunSummary) -> str:
    """Return the report's section with histograms of document lengths and a table of languages, as HTML.

    Returns "" if there is nothing to show.
    """
    shown = plots(_lengths(summary), _token_lengths(summary), _languages(summary))
    if not shown:
        return ""
    lead = "Each bar of a histogram counts documents up to twice as long as those of the bar before."
    return section("texts", "Lengths and languages", lead, shown)


def _lengths(summary: RunSummary) -> str:
    dropped: Counter[int] = Counter()
    for stage in summary.stages:
        dropped.update(stage.histograms.get(BYTES_DROPPED, {}))
    kept: Counter[int] = summary.stages[-1].histograms.get(BYTES_KEPT, Counter()) if summary.stages else Counter()
    if not kept and not dropped:
        return ""
    buckets = range(min([*kept, *dropped]), max([*kept, *dropped]) + 1)
    rows = [(_under(b), (kept.get(b, 0), dropped.get(b, 0))) for b in buckets]
    chart = charts.histogram(rows, ("kept", "dropped"), "Bytes, fewer than", "Documents by length in bytes")
    legend = '<ul class="legend"><li><i class="kept"></i>kept</li><li><i class="dropped"></i>dropped</li></ul>'
    return card(chart, legend, title="Documents by length")


def _under(bits: int) -> str:
    """Return the upper bound of a bucket, a power of two."""
    units = ("", "k", "M", "G", "T")
    return f"{1 << bits % 10}{units[min(bits // 10, 4)]}"


def _token_lengths(summary: RunSummary) -> str:
    found = summary.token_lengths
    if not found:
        return ""
    rows = [(_under(b), (found.get(b, 0),)) for b in range(min(found), max(found) + 1)]
    chart = charts.histogram(rows, ("kept",), "Tokens, fewer than", "Documents in the shards by length in tokens")
    return card(chart, title="Documents in the shards by length")


def _languages(summary: RunSummary) -> str:
    if not summary.languages:
        return ""
    total = sum(summary.languages.values())
    best = summary.languages.most_common(MOST_LANGUAGES)
    rows = [(text(name), format_number(n, total)) for name, n in best]
    rest = total - sum(n for _, n in best)
    rows += [(f"{len(summary.languages) - len(best):,} others", format_number(rest, total))] if rest else []
    return card(table(["language", "documents"], rows, "Documents by language"), title="Languages")


def tokens(summary: RunSummary) -> str:
    """Return the section with the totals of the token shards and a row per shard, as HTML; "" if there are none."""
    if summary.tokens is None:
        return ""
    t = summary.tokens
    lead = (
        f"{counted(t.n_tokens, 'token')} of {counted(len(t), 'document')}, "
        f"{t.n_bytes / max(1, t.n_tokens):.2f} bytes per token, a vocabulary of {t.vocab_size:,}."
    )
    rows = [(text(s.name), text(s.split), f"{s.documents:,}", f"{s.tokens:,}") for s in t.shards]
    more = f'<p class="note">and {len(rows) - MOST_SHARDS:,} more shards</p>' if len(rows) > MOST_SHARDS else ""
    heads = ["shard", "split", "documents", "tokens"]
    return section("tokens", "Tokens", lead, card(table(heads, rows[:MOST_SHARDS], "Token shards"), more))


def training(summary: RunSummary) -> str:
    """Return the section with loss curves and texts that the model wrote, as HTML; "" if there are too few metrics."""
    train = [(float(r["step"]), float(r["loss"])) for r in summary.metrics if r.get("loss") is not None]
    val = [(float(r["step"]), float(r["val_loss"])) for r in summary.metrics if r.get("val_loss") is not None]
    if len(train) + len(val) < 2:
        return ""
    steps = max(1, -(-len(train) // CURVE_POINTS))
    mean = "" if steps == 1 else f" Each point of the training line is the mean of {steps:,} steps."
    lead = f"Loss in nats per token by optimiser step. The validation documents were held out from training.{mean}"
    both = (("train", "training", train), ("val", "validation", val))
    last = [f'<li><i class="{style}"></i>{label} {points[-1][1]:.3f}</li>' for style, label, points in both if points]
    chart = charts.curves(_means(train, steps), _few(val), "Optimiser steps", "Training and validation loss")
    samples = summary.samples[:6]
    wrote = "".join(f'<div class="text sample" dir="auto">{text(sample, 2_000)}</div>' for sample in samples)
    written = card(wrote, title="Texts that the model wrote, none selected or corrected") if wrote else ""
    lead += _troubles(summary.metrics)
    return section("training", "Training", lead,
                   plots(card(chart, f'<ul class="legend">{"".join(last)}</ul>', title="Loss"), written))  # fmt: skip


def _troubles(metrics: list[dict[str, Any]]) -> str:
    """Return sentences about the steps with spikes of the loss, skipped steps, rollbacks, and a loss that rose."""
    said = ""
    for name, what in (("spike", "The loss had a spike at"), ("skipped", "The weights were not changed at")):
        steps = [f"{row['step']:,}" for row in metrics if row.get(name) is True]
        said += f" {what} step {first_few(steps, MOST_STEPS)}." if steps else ""
    for row in metrics:
        if row.get("rolled_back_from") is not None:
            said += f" At step {row['rolled_back_from']:,} the run returned to step {row['step']:,}."
        if row.get("risen_from") is not None:
            said += f" The loss has risen from {row['risen_from']:.2f} by step {row['step']:,}: training diverged."
    return said


def _means(points: list[tuple[float, float]], n: int) -> list[tuple[float, float]]:
    """Return one point for every n points: the last step, and the mean of the values."""
    groups = (points[i : i + n] for i in range(0, len(points), n))
    return [(group[-1][0], sum(y for _, y in group) / len(group)) for group in groups]


def _few(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return every n-th point, at most about CURVE_POINTS points, and the last one."""
    n = max(1, -(-len(points) // CURVE_POINTS))
    return [*points[:-1:n], *points[-1:]]


def recipe(summary: RunSummary) -> str:
    """Return the section with all stages and their parameters, and with hashes, versions and seeds, as HTML."""
    steps = []
    for url, manifest in summary.manifests.items():
        stages = "".join(f"<li><code>{text(spelled(stage), 1_500)}</code></li>" for stage in manifest.stages)
        steps.append(
            f'<div class="step"><h3 dir="auto">{text(files.name_of(url))}</h3>'
            f"{f'<ol>{stages}</ol>' if stages else '<p>a copy of its input</p>'}"
            f"<p class='note'>{counted(manifest.docs, 'document')}, {format_bytes(manifest.bytes)} "
            f"from {_inputs(manifest)}<br>"
            f"key <code>{text(manifest.key)}</code> content <code>{text(manifest.content)}</code></p></div>"
        )
    if summary.tokens is not None:
        shards = summary.tokens.manifest
        key, tokenizer = text(shards.recipe), text(summary.tokens.tokenizer_hash)
        note = f"split {text(shards.split)}<br>key <code>{key}</code> tokenizer <code>{tokenizer}</code>"
        steps.append(f'<div class="step"><h3>token shards</h3><p class="note">{note}</p></div>')
    rows = [("dataprep", __version__), *_made_with(summary), *_seeds(summary)]
    versions = table(["made with", ""], [(text(a), text(b, 200)) for a, b in rows], "Versions and seeds")
    lead = "The stages of each step with all parameters. The same recipe, input and packages give the same bytes."
    return section("recipe", "How it was made", lead, card("".join(steps[:60])), card(versions, style="narrow"))


def _inputs(manifest: Manifest) -> str:
    names = [row["name"] for row in manifest.inputs]
    return f"{text(names[0])}{f' and {len(names) - 1:,} more files' if len(names) > 1 else ''}" if names else "no files"


def _made_with(summary: RunSummary) -> list[tuple[str, str]]:
    found = {
        (name, ".".join(version) if isinstance(version, list) else str(version))
        for manifest in summary.manifests.values()
        for name, version in manifest.made_with.items()
    }
    return sorted(found)


def _seeds(summary: RunSummary) -> list[tuple[str, str]]:
    stages = [spelled(stage) for manifest in summary.manifests.values() for stage in manifest.stages]
    found = [(f"{name} of {stage.partition('(')[0]}", seed) for stage in stages for name, seed in SEED.findall(stage)]
    split = (summary.tokens.manifest.split or {}) if summary.tokens is not None else {}
    found += [("seed of the split", str(split["seed"]))] if "seed" in split else []
    return list(dict.fromkeys(found))[:20]
