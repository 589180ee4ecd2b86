"""The report of a vocabulary: its figures by source and language, as plain values and as tables."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from dataprep.core.model.documents import check_file_apart
from dataprep.core.output import owned
from dataprep.shown.notebook import block
from dataprep.shown.terminal import Unit, table_of, unit_of
from dataprep.store import files

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dataprep.core.model.dataset import Dataset

LISTED = 100  # tokens of each list
SHOWN = 20  # sources and languages in the tables; all are in the JSON
TOKENS = 12  # tokens of each list in the tables
SUMS = ("documents", "n_bytes", "characters", "tokens", "fallback", "unknown")


@dataclass(frozen=True, kw_only=True)
class Row:
    """The figures of one source and language: documents, bytes, characters and tokens.

    Attributes:
        fallback: tokens that are one byte of a longer character.
        unknown: the characters that the vocabulary lacks.
        compared: tokens of another vocabulary for the same text, or None.
    """

    source: str = ""
    language: str = ""
    documents: int = 0
    n_bytes: int = 0
    characters: int = 0
    tokens: int = 0
    fallback: int = 0  # tokens that are one byte of a longer character
    unknown: int = 0  # characters that a character tokenizer lacks
    compared: int | None = None  # tokens of the other vocabulary

    @property
    def bytes_per_token(self) -> float:
        """UTF-8 bytes of text per token."""
        return self.n_bytes / max(1, self.tokens)

    @property
    def compared_bytes_per_token(self) -> float | None:
        """UTF-8 bytes of text per token of the other vocabulary that is compared; None if there is none."""
        return None if self.compared is None else self.n_bytes / max(1, self.compared)

    def json(self) -> dict[str, Any]:
        """Return the figures of this source and language, including ratios, as a dict for JSON."""
        more = {"bytes_per_token": self.bytes_per_token, "characters_per_token": self.characters / max(1, self.tokens)}
        return asdict(self) | more | {"compared_bytes_per_token": self.compared_bytes_per_token}


@dataclass(frozen=True, kw_only=True)
class SampleCost:
    """The measurement of a vocabulary of the same size that was trained on a sample of a different size.

    Attributes:
        share: the fraction of the training text that was in the sample, 0 to 1.
        n_bytes: the size of the sample.
        bytes_per_token: UTF-8 bytes per token of the held-out text.
    """

    share: float
    n_bytes: int  # the sample's
    bytes_per_token: float


@dataclass(frozen=True, kw_only=True)
class TokenizerReport:
    """The figures of one vocabulary, measured on text; `print` shows tables, `json()` returns plain values.

    Attributes:
        special: the number of special tokens.
        pattern: regular expression that divides texts into words.
        measured_on: description of the text that was measured.
        rows: figures by source and language.
        rare: tokens with fewer occurrences than this are rare.
        counts: occurrences of each id.
        kinds: the number of tokens by kind, such as the name of a script.
        longest: the longest tokens.
        longest_space: the longest token of white space.
        samples: results of vocabularies trained on samples of different sizes.
        compared: the name of the vocabulary to compare with, or None.
    """

    vocab_size: int
    special: int
    pattern: str  # its name, or the regex
    hash: str
    measured_on: str
    rows: list[Row]
    rare: int
    counts: npt.NDArray[np.int64] = field(repr=False)  # number of times each id occurs, int64[vocab_size]
    kinds: dict[str, int]  # number of ordinary tokens by kind
    longest: list[str]
    longest_space: str
    samples: list[SampleCost] = field(default_factory=list)
    compared: str | None = None  # the name of the other vocabulary
    _names: Mapping[int, str] = field(repr=False, default_factory=dict)

    @property
    def total(self) -> Row:
        """One row with the sums over all sources and languages."""
        of = {name: sum(getattr(row, name) for row in self.rows) for name in SUMS}
        compared = None if self.compared is None else sum(row.compared or 0 for row in self.rows)
        return Row(source="all", compared=compared, **of)

    def rare_tokens(self, least: int | None = None) -> list[tuple[str, int]]:
        """Return (token, count) of the tokens that occur fewer than `least` times (default: `rare`), the rarest first.

        Special tokens and the single bytes of a BPE are left out.
        """
        least = self.rare if least is None else least
        found = [i for i in np.argsort(self.counts, kind="stable").tolist() if self.counts[i] < least]
        return [(self._names[i], int(self.counts[i])) for i in found if i in self._names]

    def json(self) -> dict[str, Any]:
        """Return the figures as a dict for JSON; `rare` lists the rarest hundred tokens."""
        rare = self.rare_tokens()
        names = (
            "vocab_size", "special", "pattern", "hash", "measured_on", "kinds", "longest", "longest_space", "compared",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names} | {
            "total": self.total.json(),
            "rows": [row.json() for row in self.rows],
            "rare": {"below": self.rare, "tokens": len(rare), "never": len(self.rare_tokens(1)), "list": rare[:LISTED]},
            "samples": [asdict(sample) for sample in self.samples],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figures, as `json()` returns them, to the JSON file `path`.

        Raises StaleOutput if it exists and is not such a file.
        """
        check_json(os.fspath(path))
        files.write_json(os.fspath(path), self.json())

    def __rich__(self) -> RenderableType:
        return _tables(self)

    _repr_html_ = block

    def __str__(self) -> str:
        out = io.StringIO()
        Console(file=out, width=120, highlight=False).print(_tables(self))
        return out.getvalue().rstrip()


def check_json(path: str, docs: Dataset | None = None) -> None:
    """Raise an error if figures may not be written to `path`: an input file of `docs`, or another file."""
    if docs is not None:
        check_file_apart(docs.parts, path)
    owned.check_file(path, "a report on a tokenizer", '{"compared"')


def _tables(report: TokenizerReport) -> Group:
    """Return a header, the figures by source and language, samples and tokens."""
    rare, never = report.rare_tokens(), len(report.rare_tokens(1))
    ordinary = report.vocab_size - report.special
    lines = [
        f"{report.vocab_size:,} ids, {report.special} special, pattern {report.pattern}, hash {report.hash[:8]}",
        f"measured on {report.measured_on}",
    ]
    parts: list[RenderableType] = [Text("\n".join(lines)), _texts(report)]
    if report.compared is None:
        parts.append(Text("to compare, pass compare=, such as the folder of GPT-2's encoder.json and vocab.bpe"))
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
    by_language = any(row.language for row in report.rows)
    names = ("source", "language") if by_language else ("source",)
    unit = unit_of(report.total.n_bytes)
    more = ["fallback"] + (["unknown"] if report.total.unknown else [])
    titles = ["documents", unit.name, "bytes/tok", "chars/tok", *more]
    titles += [f"{report.compared} bytes/tok", f"tokens / {report.compared}"] if report.compared else []
    table = table_of(*names, *titles, left=len(names))
    shown = report.rows[:SHOWN]
    for row in [*shown, report.total]:
        cells = [Text(row.source), *([Text(row.language)] if by_language else [])]
        table.add_row(*cells, *_figures(row, unit, unknown="unknown" in more))
    if len(report.rows) > SHOWN:
        table.caption = f"and {len(report.rows) - SHOWN} more, in the JSON"
    return table


def _figures(row: Row, unit: Unit, *, unknown: bool) -> list[str]:
    tokens = max(1, row.tokens)
    figures = [f"{row.documents:,}", unit.show(row.n_bytes), f"{row.bytes_per_token:.3f}"]
    figures += [f"{row.characters / tokens:.3f}", f"{row.fallback / tokens:.2%}"]
    figures += [f"{row.unknown / tokens:.2%}"] if unknown else []
    if row.compared is not None:
        figures += [f"{row.compared_bytes_per_token:.3f}", f"{row.tokens / max(1, row.compared):.1%}"]
    return figures


def _samples(report: TokenizerReport) -> Table:
    unit = unit_of(max(one.n_bytes for one in report.samples))
    titles = "sample", unit.name, "bytes/tok", "tokens more than the largest"
    table = table_of(*titles, left=0, title="what the sample costs", title_justify="left")
    best = report.samples[-1].bytes_per_token
    for one in report.samples:
        costs = f"{best / one.bytes_per_token - 1:+.2%}"
        table.add_row(f"{one.share:.2%}", unit.show(one.n_bytes), f"{one.bytes_per_token:.3f}", costs)
    return table
