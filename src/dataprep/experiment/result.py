"""The result of an experiment: its table, as text, Markdown and JSON, and its pictures."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from dataprep.core.output import owned
from dataprep.errors import counted
from dataprep.filters.decontaminate.stage import Decontaminate
from dataprep.history.experiments import JSON, curves_of
from dataprep.report.difference_charts import standalone
from dataprep.report.experiments import COLUMNS, pictures, rows_of
from dataprep.shown.notebook import block
from dataprep.store import files

from .measures import ALL, CANNOT_TELL
from .tables import aligned, finite, markdown

MARKDOWN = "experiment.md"


@dataclass(frozen=True)
class Experiment:
    """The result of `experiment`: which version of a corpus makes a better model.

    Attributes:
        folder: the folder with experiment.json, experiment.md, differences.svg, sizes.svg and curves.svg.
        baseline: the version with which the others are compared.
        versions: for each version: the number of its documents and tokens; `contaminated`, the number of documents that
            were removed since they share words with the held-out set; `epochs`, the passes over its text; `seconds`,
            the mean time of a training; `runs`, the folders of its models inside `folder`.
        measures: for each measure, "all" (the held-out documents) first: its bits per byte by version, the difference
            from the baseline with its interval and verdict, and `signal_to_noise`.
        about: facts about the experiment: the held-out set, the tokenizer, the tokens and operations per run, and the
            seeds.
    """

    folder: str
    baseline: str
    versions: dict[str, dict[str, Any]]
    measures: list[dict[str, Any]]
    about: dict[str, Any] = field(default_factory=dict)

    _repr_html_ = block

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for JSON."""
        return {"baseline": self.baseline, "versions": self.versions, "measures": self.measures, "about": self.about}

    def verdicts(self, measure: str = ALL) -> dict[str, str]:
        """Return "better", "worse" or "not shown" for each version but the baseline."""
        found = next(one for one in self.measures if one["name"] == measure)["versions"]
        return {name: of["verdict"] for name, of in found.items() if name != self.baseline}

    def table(self, measure: str = ALL) -> list[list[str]]:
        """Return the rows of the table, as texts; its columns are `COLUMNS`."""
        return rows_of(self.to_dict(), [one["name"] for one in self.measures].index(measure))

    def measure_rows(self) -> list[list[str]]:
        """Return the rows of the table of measures: name, groups, noise, signal to noise, and a verdict per version."""
        rows = []
        for one in self.measures:
            others = [of for name, of in one["versions"].items() if name != self.baseline]
            ratio = one["signal_to_noise"]
            said = f"{ratio:.1f}" + (" (cannot tell)" if ratio < CANNOT_TELL else "")
            each = [f"{of['difference']:+.4f} {of['verdict']}" for of in others]
            base = one["versions"][self.baseline]["bits_per_byte"]
            rows.append([one["name"], f"{one['groups']:,}", f"{base:.4f}", f"{one['noise']:.4f}", said, *each])
        return rows

    def notes(self) -> list[str]:
        """Return sentences about what was compared, and how."""
        a = self.about
        n, groups = len(self.versions) - 1, f" in {a['held_out_groups']:,} groups" if a["group"] else ""
        counts = self._removed() | ({} if a["contaminated"] is None else {"the corpus": a["contaminated"]})
        removed = ", ".join(f"{name} {count:,}" for name, count in reversed(counts.items()))
        same = f"{counted(a['seeds'], 'seed')}, each with the same initial weights for all versions"
        corrected = f"; verdicts are corrected for {n} comparisons (Holm), intervals are not" if n > 1 else ""
        lines = [
            f"held-out set: {a['held_out_documents']:,} documents{groups}, {a['held_from']}",
            f"documents removed since they share {_decontaminated(a['ngram'])}: {removed}",
            f"tokenizer: {a['tokenizer']}",
            f"each run reads {a['tokens']:,} tokens and takes {a['flops']:.2g} FLOPs; {same}",
            f"an interval is over seeds and held-out {'groups' if a['group'] else 'documents'}{corrected}",
        ]
        if a["start"]:
            warmup = a["config"]["warmup"]
            after = f"after {counted(warmup, 'step')} of warm-up" if warmup else "from its first step"
            lines.append(f"each run starts from {a['start']}, and lowers the learning rate {after}")
        return lines

    def _removed(self) -> dict[str, int]:
        """Return the number of documents that each version lost because they share words with the held-out set."""
        return {name: of["contaminated"] for name, of in self.versions.items()}

    def __str__(self) -> str:
        return "\n".join([*aligned(self.tables()[0]), *self.notes()])

    def tables(self) -> list[list[list[str]]]:
        """Return the tables, of versions and of measures, as rows of texts; the first row of each has the titles."""
        return [[list(COLUMNS), *self.table()], self.measure_table()]

    def measure_table(self) -> list[list[str]]:
        """Return the table of measures with its titles."""
        others = [name for name in self.versions if name != self.baseline]
        return [["measure", "groups", self.baseline, "noise", "signal/noise", *others], *self.measure_rows()]

    def markdown(self) -> str:
        """Return the tables and notes as Markdown."""
        return "\n".join([*map(markdown, self.tables()), "".join(f"- {line}\n" for line in self.notes())])

    def pictures(self) -> dict[str, str]:
        """Return the pictures, as {name of the file: SVG}."""
        drawn = pictures(self.to_dict(), curves_of(self.folder, self.to_dict()))
        return {name: standalone(chart) for name, chart in drawn.items()}

    def save(self) -> None:
        """Write the JSON, the Markdown and the pictures to the folder.

        Raises StaleOutput if one of these files is not one that dataprep wrote.
        """
        text = json.dumps(finite(self.to_dict()), ensure_ascii=False, indent=1)
        content = {JSON: f"{text}\n", MARKDOWN: self.markdown(), **self.pictures()}
        begins = {JSON: ('{"baseline"',), MARKDOWN: ("|version|documents|", "|mixture|")}
        for name in content:
            place, known = files.join(self.folder, name), begins.get(name, ("<svgxmlns",))
            owned.check_file(place, "the result of an experiment", *known)
        for name, value in content.items():
            files.write_bytes(files.join(self.folder, name), value.encode())


def _decontaminated(ngram: int) -> str:
    """Return which words a version may not share with the held-out set."""
    least = min(Decontaminate.min_words, ngram)
    short = f", all words of one that has {least} to {ngram - 1}" if least < ngram else ""
    return f"{ngram} words in succession with a held-out document{short}, or are a copy of one with fewer than {least}"
