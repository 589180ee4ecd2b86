"""The section about the recipe: what it takes to make the same bytes again."""

from __future__ import annotations

import re

from dataprep import __version__
from dataprep.core.stage import spelled
from dataprep.history.run_summary import RunSummary
from dataprep.store import files

from .blocks import card, format_bytes, section, table, text

SEED = re.compile(r"(\w*seed)=(\d+)")


def recipe(summary: RunSummary) -> str:
    """Return the stages with all parameters, and the keys, versions and seeds."""
    steps = []
    for url, manifest in summary.manifests.items():
        stages = "".join(f"<li><code>{text(spelled(stage), 1_500)}</code></li>" for stage in manifest["stages"])
        steps.append(
            f'<div class="step"><h3 dir="auto">{text(files.name_of(url))}</h3>'
            f"{f'<ol>{stages}</ol>' if stages else '<p>a copy of its input</p>'}"
            f"<p class='note'>{manifest['docs']:,} documents, {format_bytes(manifest['bytes'])} "
            f"from {_inputs(manifest)}<br>"
            f"key <code>{text(manifest['key'])}</code> content <code>{text(manifest['content'])}</code></p></div>"
        )
    if summary.tokens:
        manifest = summary.tokens.manifest
        key, tokenizer = text(manifest.get("recipe")), text(manifest["tokenizer"]["hash"])
        note = f"split {text(manifest.get('split'))}<br>key <code>{key}</code> tokenizer <code>{tokenizer}</code>"
        steps.append(f'<div class="step"><h3>token shards</h3><p class="note">{note}</p></div>')
    rows = [("dataprep", __version__), *_made_with(summary), *_seeds(summary)]
    versions = table(["made with", ""], [(text(a), text(b, 200)) for a, b in rows], "Versions and seeds")
    lead = "The same recipe, input and pinned packages give the same bytes."
    return section("recipe", "How it was made", lead, card("".join(steps[:60])), card(versions, style="narrow"))


def _inputs(manifest: dict[str, object]) -> str:
    found = manifest.get("inputs")
    names = [row["name"] for row in found] if isinstance(found, list) else []
    return f"{text(names[0])}{f' and {len(names) - 1:,} more files' if len(names) > 1 else ''}" if names else "no files"


def _made_with(summary: RunSummary) -> list[tuple[str, str]]:
    found = {
        (name, ".".join(version) if isinstance(version, list) else str(version))
        for manifest in summary.manifests.values()
        for name, version in manifest.get("made_with", {}).items()
    }
    return sorted(found)


def _seeds(summary: RunSummary) -> list[tuple[str, str]]:
    stages = [spelled(stage) for manifest in summary.manifests.values() for stage in manifest["stages"]]
    found = [(f"{name} of {stage.partition('(')[0]}", seed) for stage in stages for name, seed in SEED.findall(stage)]
    split = summary.tokens.manifest.get("split", {}) if summary.tokens else {}
    found += [("seed of the split", str(split["seed"]))] if "seed" in split else []
    return list(dict.fromkeys(found))[:20]
