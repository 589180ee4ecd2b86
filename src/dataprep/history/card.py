"""The card of a run as Markdown: size, stages, sources, settings and judgements, in the form of the Hugging Face hub.

`Dataset.push` writes the same section (`core/model/hub_card.py`) into the card of a pushed Dataset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.hub_card import cell, section_of, with_section
from dataprep.core.model.stats import HIDDEN, StageStats
from dataprep.core.output.lineage import family, left_out
from dataprep.core.output.state import Manifest
from dataprep.errors import CorruptShard
from dataprep.store import files
from dataprep.unicode.valid import printable

from . import clusters
from .judged import precisions
from .run_summary import COUNTED_AGAIN, RunAmounts, amounts_of

MOST_SOURCES = 50
SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B", "10B<n<100B",
         "100B<n<1T", "n>1T")  # fmt: skip


def card(url: str) -> str:
    """Return the card of the run in the folder `url`, with the metadata that is known; the licence is left to you.

    Raises PlanError if the folder has no sealed (finished) Dataset.
    """
    finals = {found.url: open_dataset(found.url) for found in family(url, saved=False)}
    amounts, name = amounts_of(finals), printable(files.name_of(url.rstrip("/")) or url)
    last = list(finals.values())[-1]
    section = section_of(amounts.kept.docs, amounts.kept.bytes, amounts.stages, has_license=False)
    manifests = [docs.sealed for docs in finals.values()]
    notes = [printable(note)] if (note := left_out(url)) else []
    parts = [*notes, *_sources(amounts), *_settings(manifests), *_duplicates(url), *_judgements(url, amounts.stages)]
    body = with_section(f"# {name}", section, name).strip()
    return "\n\n".join([_metadata(name, last.sealed.docs), body, *parts]) + "\n"


def _metadata(name: str, n_documents: int) -> str:
    size = SIZES[min(max(0, len(str(max(0, n_documents - 1))) - 3), len(SIZES) - 1)]
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    lines = [f'pretty_name: "{quoted}"', "size_categories:", f"- {size}", "task_categories:", "- text-generation"]
    return "\n".join(["---", *lines, "---"])


def _sources(amounts: RunAmounts) -> Iterator[str]:
    if not amounts.sources:
        return
    rows = ["| source | documents read | documents kept | bytes read | bytes kept |", "|---|---:|---:|---:|---:|"]
    for name, (read, kept) in list(amounts.sources.items())[:MOST_SOURCES]:
        shown = cell(printable(name))
        rows.append(f"| `{shown}` | {read.docs:,} | {kept.docs:,} | {read.bytes:,} | {kept.bytes:,} |")
    yield "## Sources"
    yield "\n".join(rows)
    if len(amounts.sources) > MOST_SOURCES:
        yield f"The {MOST_SOURCES} largest of {len(amounts.sources):,} sources."
    if HIDDEN in amounts.sources:
        yield COUNTED_AGAIN


def _settings(manifests: Sequence[Manifest]) -> Iterator[str]:
    rows = []
    for one in (one for manifest in manifests for one in manifest.stages):
        fields = ", ".join(f"{name}={value!r}" for name, value in one["fields"].items() if value is not None)
        label, shown = cell(printable(one["label"])), cell(printable(fields))
        rows.append(f"- `{label}`: `{shown}`" if shown else f"- `{label}`")
    if rows:
        yield "## Settings of the stages"
        yield "\n".join(rows)


def _duplicates(url: str) -> Iterator[str]:
    lost = clusters.find_clusters(url).no_survivor()
    if lost.n:
        yield "## Known problems"
        yield f"{lost}."


def _judgements(url: str, stages: Sequence[StageStats]) -> Iterator[str]:
    """Yield the precision of each reason that people judged; judgements on texts that have changed do not count."""
    rows = ["| stage | reason | judged | rightly dropped | 95 % interval |", "|---|---|---:|---:|---|"]
    try:
        found = list(precisions(url, stages))
    except CorruptShard as e:
        yield "## Review"
        yield f"{e}."
        return
    for stage, reason, shown, _, _ in found:
        share = f"{shown.share:.0%} | {shown.low:.0%} to {shown.high:.0%}"
        rows.append(f"| `{cell(stage)}` | `{cell(reason)}` | {shown.n:,} | {share} |")
    if len(rows) > 2:
        yield "## Review"
        yield "A random sample of the dropped documents was judged by people; sources are weighted by their drops."
        yield "\n".join(rows)
