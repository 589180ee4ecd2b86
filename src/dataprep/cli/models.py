"""The commands that train text classifiers: train-langid, train-quality."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dataprep.errors import PlanError
from dataprep.store import files

Out = Annotated[str, typer.Option(help="The model to write, NAME.bin; NAME.bin.json tells about it.")]
Format = Annotated[str | None, typer.Option("--format", help="As in dp.read: jsonl, lines, paragraphs ...")]
Epochs = Annotated[int | None, typer.Option(help="How often every text is seen.")]
Dim = Annotated[int | None, typer.Option(help="Length of the vectors.")]
HeldOut = Annotated[float, typer.Option("--held-out", help="Share of the texts that are only asked about.")]
MaxTexts = Annotated[int | None, typer.Option("--max-texts", help="Texts of a label, at most.")]
Seed = Annotated[int, typer.Option(help="Another seed, another model.")]
SHOWN = 20  # labels of a confusion table


def train_langid(
    texts: Annotated[
        list[str], typer.Argument(metavar="CODE=PATH...", help="Texts of each language; or PATH... with --label.")
    ],
    out: Out,
    label: Annotated[str | None, typer.Option(help="The field that names the language of each document.")] = None,
    test: Annotated[list[str] | None, typer.Option(help="Texts to ask about, as CODE=PATH or PATH.")] = None,
    format: Format = None,  # noqa: A002 - the option's name
    epochs: Epochs = None,
    dim: Dim = None,
    held_out: HeldOut = 0.1,
    max_texts: MaxTexts = None,
    seed: Seed = 0,
) -> None:
    """Train a fastText model that tells languages apart, for dp.Language(model=NAME.bin)."""
    from dataprep.filters.classifiers.train import LANGUAGE, train_classifier

    asked = _texts(test, label, format) if test else None
    settings = _settings(LANGUAGE, epochs, dim, held_out, max_texts, seed)
    _print(train_classifier(_texts(texts, label, format), out, settings, test=asked))


def train_quality(
    positive: Annotated[list[str], typer.Option("--positive", help="Texts such as you want; as often as needed.")],
    negative: Annotated[list[str], typer.Option("--negative", help="Ordinary texts of your corpus.")],
    out: Out,
    format: Format = None,  # noqa: A002 - the option's name
    epochs: Epochs = None,
    dim: Dim = None,
    held_out: HeldOut = 0.1,
    max_texts: MaxTexts = None,
    seed: Seed = 0,
) -> None:
    """Train a fastText model that tells wanted texts from ordinary ones, for dp.Quality(model=NAME.bin)."""
    from dataprep.filters.classifiers.train import QUALITY, train_classifier

    texts = {"high": _read(positive, format), "low": _read(negative, format)}
    settings = _settings(QUALITY, epochs, dim, held_out, max_texts, seed)
    _print(train_classifier(texts, out, settings, positive="high"))


def _settings(given: Any, epochs: int | None, dim: int | None, held_out: float, most: int | None, seed: int) -> Any:
    return replace(
        given, epochs=epochs or given.epochs, dim=dim or given.dim, held_out=held_out, max_texts=most, seed=seed
    )


def _texts(given: list[str], label: str | None, form: str | None) -> dict[str, Any]:
    """The texts of each label: of files that are of one, or of files with a field."""
    if label is not None:
        return _by_field(given, label, form)
    paths: dict[str, list[str]] = {}
    for one in given:
        code, equals, path = one.partition("=")
        if not equals or not code or not path or files.exists(one):
            msg = f"{one!r} does not say which language it is; write CODE=PATH (fr={one}), or name the field by --label"
            raise PlanError(msg)
        paths.setdefault(code, []).append(path)
    return {code: _read(found, form) for code, found in paths.items()}


def _read(paths: list[str], form: str | None) -> Iterator[str]:
    from dataprep.read import read

    docs = read(paths, format=form)
    return (text for batch in docs.batches(["text"]) for text in batch.column("text").to_pylist())


def _by_field(paths: list[str], label: str, form: str | None) -> dict[str, list[str]]:
    """The texts by what the field says; those of which it says nothing are left out."""
    from dataprep.read import read

    found: dict[str, list[str]] = {}
    docs = read(paths, format=form, columns={label: "string"})
    for batch in docs.batches(["text", label]):
        for text, code in zip(batch.column("text").to_pylist(), batch.column(label).to_pylist(), strict=True):
            if code:
                found.setdefault(code, []).append(text)
    return found


def _print(made: Any) -> None:
    """How many texts, how many right, and what was taken for what."""
    console = Console(highlight=False)
    asked = {label: sum(row.values()) for label, row in made.confusion.items()}
    console.print(f"{sum(made.n_train.values()):,} texts of {len(made.labels)} labels learnt")
    n = sum(asked.values())
    console.print(f"{made.accuracy:.2%} of {n:,} texts held out are told right; a row is what they are")
    shown = sorted(asked, key=lambda label: (-asked[label], label))[:SHOWN]
    answers = sorted({answer for label in shown for answer in made.confusion[label]})[:SHOWN]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("", *answers, "right"):
        table.add_column(Text(title), justify="right" if title else "left")
    for label in shown:
        row = made.confusion[label]
        right = f"{row.get(label, 0) / max(1, asked[label]):.1%}"
        table.add_row(Text(label), *(f"{row[a]:,}" if a in row else "" for a in answers), right)
    console.print(table)
    if len(asked) > SHOWN:
        console.print(f"and {len(asked) - SHOWN} more labels, in {escape(made.path)}.json")
    console.print(escape(made.path))


COMMANDS = (train_langid, train_quality)
