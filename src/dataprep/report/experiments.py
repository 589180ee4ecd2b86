"""Experiments as a table and charts, and the section of the report about those beside a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataprep.errors import counted
from dataprep.history.experiments import Curves, FoundExperiment
from dataprep.history.run_summary import RunSummary
from dataprep.shown.notebook import text

from .blocks import card, plots, section, table
from .difference_charts import Mark, against, intervals, seed_curves

COLUMNS = (
    "version", "documents", "less", "tokens", "less", "passes", "bits per byte", "difference", "95 % interval",
    "verdict",
)  # fmt: skip
STYLES = {"better": "kept", "worse": "dropped"}
PICTURES = ("differences.svg", "sizes.svg", "curves.svg")
MOST = 5  # experiments in a report


def rows_of(content: Mapping[str, Any], measure: int = 0) -> list[list[str]]:
    """Return the rows of the table of an experiment, as texts; its columns are `COLUMNS`.

    Args:
        content: what experiment.json has.
        measure: the index of the measure.
    """
    base, found = content["baseline"], content["measures"][measure]["versions"]
    whole, rows = content["versions"][base], []
    for name, of in content["versions"].items():
        one, row = found[name], [name]
        for size in ("documents", "tokens"):
            row += [f"{of[size]:,}", f"{1 - of[size] / max(1, whole[size]):.1%}"]
        row += [f"{of['epochs']:.2g}", f"{one['bits_per_byte']:.4f}"]
        if name == base:
            rows.append([*row, "", "", "baseline"])
        else:
            low, high = one["interval"]
            rows.append([*row, f"{one['difference']:+.4f}", f"{low:+.4f} to {high:+.4f}", _said(one)])
    return rows


def _said(one: Mapping[str, Any]) -> str:
    """Return the verdict on a version; if it is "not shown", also what would show a difference."""
    if one["verdict"] in STYLES:
        return str(one["verdict"])
    if not any(one["interval"]):
        return f"{one['verdict']}; the models are the same"  # that of versions with the same documents
    needed = one["seeds_needed"]
    return f"{one['verdict']}; {'more held-out text' if needed is None else counted(needed, 'seed')} would show it"


def pictures(content: Mapping[str, Any], curves: Curves) -> dict[str, str]:
    """Return the charts of an experiment as SVG, by the name of the file: differences, quality by size, and losses.

    Args:
        content: what experiment.json has.
        curves: the losses during training.
    """
    base, found = content["baseline"], content["measures"][0]["versions"]
    others = {name: of for name, of in found.items() if name != base}
    styles = {name: STYLES.get(of["verdict"], "none") for name, of in others.items()}
    rows = [
        Mark(name, of["difference"], of["interval"][0], of["interval"][1], of["by_seed_difference"], styles[name])
        for name, of in others.items()
    ]
    said = f"Difference in bits per byte from {base} (less is better), with 95 % intervals"
    same: dict[tuple[float, float], list[str]] = {}  # versions with the same documents share a dot
    for name, of in content["versions"].items():
        same.setdefault((float(of["tokens"]), found[name]["bits_per_byte"]), []).append(name)
    points = [(", ".join(names), *at) for at, names in same.items()]
    charts = (
        intervals(rows, f"bits per byte - those of {base}", said),
        against(points, "Tokens of the version", "Bits per byte against the tokens of each version"),
        seed_curves([(name, styles.get(name, "base"), of) for name, of in curves.items() if of], "Tokens read",
                    "Training loss of each version and seed, in nats per token"),
    )  # fmt: skip
    return {name: chart for name, chart in zip(PICTURES, charts, strict=True) if chart}


def experiments(summary: RunSummary) -> str:
    """Return the section with the experiments in the folder of the run, as HTML; "" if there are none."""
    if not summary.experiments:
        return ""
    lead = "The same small model was trained on several versions of a corpus, and evaluated on held-out documents. A "
    lead += "difference above 0 is a higher loss than that of the baseline."
    return section("experiments", "Experiments", lead, *map(_one, summary.experiments[:MOST]))


def _one(found: FoundExperiment) -> str:
    content, about = found.content, found.content["about"]
    drawn = pictures(content, found.curves)
    titles = ("Difference from the baseline", "Quality against tokens kept", "Training loss over seeds")
    charts = [card(drawn[name], title=title) for name, title in zip(PICTURES, titles, strict=True) if name in drawn]
    rows = [[text(cell) for cell in row] for row in rows_of(content)]
    note = (
        f"Baseline {text(content['baseline'])}; {counted(about['seeds'], 'seed')}; each run reads {about['tokens']:,} "
        f"tokens; {about['held_out_documents']:,} documents were held out. In the curves, a line is a seed: blue is "
        "better than the baseline, orange is worse, grey is not shown to differ, and the baseline is dark. "
        f"<code>{text(found.name)}/experiment.md</code> has the other measures."
    )
    body = card(table(COLUMNS, rows, f"Versions of {text(found.name)}"), f'<p class="note">{note}</p>',
                title=text(found.name))  # fmt: skip
    return body + plots(*charts)
