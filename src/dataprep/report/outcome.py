"""The last screens: what is left (lengths, languages, tokens, training), and how it was made."""

from __future__ import annotations

import re
from collections import Counter

from dataprep import __version__
from dataprep.core.ledger import BYTES_DROPPED, BYTES_KEPT
from dataprep.core.stage import spelled
from dataprep.store import files

from . import charts
from .blocks import card, number, plots, section, size, table, text
from .page_data import Facts

CURVE_POINTS = 250
MOST_SHARDS = 24
MOST_LANGUAGES = 20
SEED = re.compile(r"(\w*seed)=(\d+)")


def texts(facts: Facts) -> str:
    """Documents by length and by language."""
    shown = plots(_lengths(facts), _token_lengths(facts), _languages(facts))
    if not shown:
        return ""
    return section("texts", "What the documents are like", "Each column is twice as long as the one before.", shown)


def _lengths(facts: Facts) -> str:
    dropped: Counter[int] = Counter()
    for book in facts.books:
        dropped.update(book.histograms.get(BYTES_DROPPED, {}))
    kept: Counter[int] = facts.books[-1].histograms.get(BYTES_KEPT, Counter()) if facts.books else Counter()
    if not kept and not dropped:
        return ""
    buckets = range(min([*kept, *dropped]), max([*kept, *dropped]) + 1)
    rows = [(_under(b), (kept.get(b, 0), dropped.get(b, 0))) for b in buckets]
    chart = charts.histogram(rows, ("kept", "dropped"), "Bytes, under", "Documents by length in bytes")
    legend = '<ul class="legend"><li><i class="kept"></i>kept</li><li><i class="dropped"></i>dropped</li></ul>'
    return card(chart, legend, title="Documents by length")


def _under(bits: int) -> str:
    """The end of a bucket: what stays under a power of two."""
    units = ("", "k", "M", "G", "T")
    return f"{1 << bits % 10}{units[min(bits // 10, 4)]}"


def _token_lengths(facts: Facts) -> str:
    if facts.tokens is None or not facts.tokens.lengths:
        return ""
    found = facts.tokens.lengths
    rows = [(_under(b), (found.get(b, 0),)) for b in range(min(found), max(found) + 1)]
    chart = charts.histogram(rows, ("kept",), "Tokens, under", "Documents in the shards by length in tokens")
    return card(chart, title="Documents in the shards by length")


def _languages(facts: Facts) -> str:
    if not facts.languages:
        return ""
    total = sum(facts.languages.values())
    best = facts.languages.most_common(MOST_LANGUAGES)
    rows = [(text(name), number(n, total)) for name, n in best]
    rest = total - sum(n for _, n in best)
    rows += [(f"{len(facts.languages) - len(best):,} others", number(rest, total))] if rest else []
    return card(table(["language", "documents"], rows, "Documents by language"), title="Languages")


def tokens(facts: Facts) -> str:
    """The shards."""
    if facts.tokens is None:
        return ""
    t = facts.tokens
    lead = (
        f"{t.tokens:,} tokens of {t.documents:,} documents, {t.n_bytes / max(1, t.tokens):.2f} bytes a token, "
        f"a vocabulary of {t.vocab_size:,}."
    )
    rows = [(text(s["name"]), text(s["split"]), f"{s['documents']:,}", f"{s['tokens']:,}") for s in t.shards]
    more = f'<p class="note">and {len(rows) - MOST_SHARDS:,} more shards</p>' if len(rows) > MOST_SHARDS else ""
    heads = ["shard", "split", "documents", "tokens"]
    return section("tokens", "Tokens", lead, card(table(heads, rows[:MOST_SHARDS], "Token shards"), more))


def training(facts: Facts) -> str:
    """Loss curves, and what the model writes."""
    train = [(float(r["step"]), float(r["loss"])) for r in facts.metrics if r.get("loss") is not None]
    val = [(float(r["step"]), float(r["val_loss"])) for r in facts.metrics if r.get("val_loss") is not None]
    if len(train) + len(val) < 2:
        return ""
    steps = max(1, -(-len(train) // CURVE_POINTS))
    mean = "" if steps == 1 else f" Each point of the training line is the mean of {steps:,} steps."
    lead = f"Nats a token over optimiser steps; the validation documents were never trained on.{mean}"
    both = (("train", "training", train), ("val", "validation", val))
    last = [f'<li><i class="{style}"></i>{said} {points[-1][1]:.3f}</li>' for style, said, points in both if points]
    chart = charts.curves(_means(train, steps), _few(val), "Optimiser steps", "Training and validation loss")
    wrote = "".join(f'<div class="text sample" dir="auto">{text(sample, 2_000)}</div>' for sample in facts.samples[:6])
    written = card(wrote, title="What the model writes, nothing chosen or corrected") if wrote else ""
    return section("training", "Training", lead,
                   plots(card(chart, f'<ul class="legend">{"".join(last)}</ul>', title="Loss"), written))  # fmt: skip


def _means(points: list[tuple[float, float]], n: int) -> list[tuple[float, float]]:
    """One point for every `n`: their last step, and their mean."""
    groups = (points[i : i + n] for i in range(0, len(points), n))
    return [(group[-1][0], sum(y for _, y in group) / len(group)) for group in groups]


def _few(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Every so manyth point, and the last."""
    n = max(1, -(-len(points) // CURVE_POINTS))
    return [*points[:-1:n], *points[-1:]]


def recipe(facts: Facts) -> str:
    """Stages with all their parameters, keys, versions and seeds: what it takes to make the same bytes again."""
    steps = []
    for place, manifest in facts.manifests.items():
        stages = "".join(f"<li><code>{text(spelled(stage), 1_500)}</code></li>" for stage in manifest["stages"])
        steps.append(
            f'<div class="step"><h3 dir="auto">{text(files.name_of(place))}</h3>'
            f"{f'<ol>{stages}</ol>' if stages else '<p>a copy of its input</p>'}"
            f"<p class='note'>{manifest['docs']:,} documents, {size(manifest['bytes'])} from {_inputs(manifest)}<br>"
            f"key <code>{text(manifest['key'])}</code> content <code>{text(manifest['content'])}</code></p></div>"
        )
    if facts.tokens:
        told = facts.tokens.manifest
        keys = f"<code>{text(told.get('recipe'))}</code> tokenizer <code>{text(told['tokenizer']['hash'])}</code>"
        said = f"split {text(told.get('split'))}<br>key {keys}"
        steps.append(f'<div class="step"><h3>token shards</h3><p class="note">{said}</p></div>')
    rows = [("dataprep", __version__), *_made_with(facts), *_seeds(facts)]
    versions = table(["made with", ""], [(text(a), text(b, 200)) for a, b in rows], "Versions and seeds")
    lead = "The same recipe, input and pinned packages give the same bytes."
    return section("recipe", "How it was made", lead, card("".join(steps[:60])), card(versions, style="narrow"))


def _inputs(manifest: dict[str, object]) -> str:
    found = manifest.get("inputs")
    names = [row["name"] for row in found] if isinstance(found, list) else []
    return f"{text(names[0])}{f' and {len(names) - 1:,} more files' if len(names) > 1 else ''}" if names else "no files"


def _made_with(facts: Facts) -> list[tuple[str, str]]:
    found = {
        (name, ".".join(version) if isinstance(version, list) else str(version))
        for manifest in facts.manifests.values()
        for name, version in manifest.get("made_with", {}).items()
    }
    return sorted(found)


def _seeds(facts: Facts) -> list[tuple[str, str]]:
    stages = [spelled(stage) for manifest in facts.manifests.values() for stage in manifest["stages"]]
    found = [(f"{name} of {stage.partition('(')[0]}", seed) for stage in stages for name, seed in SEED.findall(stage)]
    split = facts.tokens.manifest.get("split", {}) if facts.tokens else {}
    found += [("seed of the split", str(split["seed"]))] if "seed" in split else []
    return list(dict.fromkeys(found))[:20]
