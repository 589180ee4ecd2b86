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

Out = Annotated[str, typer.Option(help="The model to write, NAME.bin; NAME.bin.json describes it.")]
Format = Annotated[str | None, typer.Option("--format", help="As in dp.read: jsonl, lines, paragraphs ...")]
Epochs = Annotated[int | None, typer.Option(help="Passes over the texts.")]
Dim = Annotated[int | None, typer.Option(help="Dimension of the vectors.")]
HeldOut = Annotated[float, typer.Option("--held-out", help="Fraction of the texts held out for the test.")]
MaxTexts = Annotated[int | None, typer.Option("--max-texts", help="Texts per label at most.")]
Seed = Annotated[int, typer.Option(help="Seed of the training.")]
SHOWN = 20  # labels of a confusion table


def train_langid(
    texts: Annotated[
        list[str], typer.Argument(metavar="CODE=PATH...", help="Texts of each language; or PATH... with --label.")
    ],
    out: Out,
    label: Annotated[str | None, typer.Option(help="The field with the language of each document.")] = None,
    test: Annotated[list[str] | None, typer.Option(help="Texts to test on, as CODE=PATH or PATH.")] = None,
    format: Format = None,  # noqa: A002 - the option's name
    epochs: Epochs = None,
    dim: Dim = None,
    held_out: HeldOut = 0.1,
    max_texts: MaxTexts = None,
    seed: Seed = 0,
) -> None:
    """Train a fastText model that identifies languages, for dp.Language(model=NAME.bin)."""
    from dataprep.filters.classifiers.train import LANGUAGE, train_classifier

    tested = _texts(test, label, format) if test else None
    settings = _settings(LANGUAGE, epochs, dim, held_out, max_texts, seed)
    _print(train_classifier(_texts(texts, label, format), out, settings, test=tested))


def train_quality(
    positive: Annotated[list[str], typer.Option("--positive", help="Wanted texts; may be repeated.")],
    negative: Annotated[list[str], typer.Option("--negative", help="Ordinary texts of your corpus; may be repeated.")],
    out: Out,
    format: Format = None,  # noqa: A002 - the option's name
    epochs: Epochs = None,
    dim: Dim = None,
    held_out: HeldOut = 0.1,
    max_texts: MaxTexts = None,
    seed: Seed = 0,
) -> None:
    """Train a fastText model that separates wanted from ordinary texts, for dp.Quality(model=NAME.bin)."""
    from dataprep.filters.classifiers.train import QUALITY, train_classifier

    texts = {"high": _read(positive, format), "low": _read(negative, format)}
    settings = _settings(QUALITY, epochs, dim, held_out, max_texts, seed)
    _print(train_classifier(texts, out, settings, positive="high"))


def _settings(given: Any, epochs: int | None, dim: int | None, held_out: float, most: int | None, seed: int) -> Any:
    return replace(
        given, epochs=epochs or given.epochs, dim=dim or given.dim, held_out=held_out, max_texts=most, seed=seed
    )


def _texts(given: list[str], label: str | None, form: str | None) -> dict[str, Any]:
    """Return texts by label: from files of one label each, or by the field `label`."""
    if label is not None:
        return _by_field(given, label, form)
    paths: dict[str, list[str]] = {}
    for one in given:
        code, equals, path = one.partition("=")
        if not equals or not code or not path or files.exists(one):
            msg = f"{one!r} has no language; write CODE=PATH (fr={one}), or name the field with --label"
            raise PlanError(msg)
        paths.setdefault(code, []).append(path)
    return {code: _read(found, form) for code, found in paths.items()}


def _read(paths: list[str], form: str | None) -> Iterator[str]:
    from dataprep.read import read

    docs = read(paths, format=form)
    return (text for batch in docs.batches(["text"]) for text in batch.column("text").to_pylist())


def _by_field(paths: list[str], label: str, form: str | None) -> dict[str, list[str]]:
    """Return texts by the value of a field; texts without one are left out."""
    from dataprep.read import read

    found: dict[str, list[str]] = {}
    docs = read(paths, format=form, columns={label: "string"})
    for batch in docs.batches(["text", label]):
        for text, code in zip(batch.column("text").to_pylist(), batch.column(label).to_pylist(), strict=True):
            if code:
                found.setdefault(code, []).append(text)
    return found


def _print(made: Any) -> None:
    """Print the number of texts, the accuracy, and the confusion table."""
    console = Console(highlight=False)
    tested = {label: sum(row.values()) for label, row in made.confusion.items()}
    console.print(f"{sum(made.n_train.values()):,} texts of {len(made.labels)} labels were learned")
    n = sum(tested.values())
    console.print(f"{made.accuracy:.2%} of {n:,} held-out texts are identified correctly; a row per true label")
    shown = sorted(tested, key=lambda label: (-tested[label], label))[:SHOWN]
    answers = sorted({answer for label in shown for answer in made.confusion[label]})[:SHOWN]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("", *answers, "right"):
        table.add_column(Text(title), justify="right" if title else "left")
    for label in shown:
        row = made.confusion[label]
        right = f"{row.get(label, 0) / max(1, tested[label]):.1%}"
        table.add_row(Text(label), *(f"{row[a]:,}" if a in row else "" for a in answers), right)
    console.print(table)
    if len(tested) > SHOWN:
        console.print(f"and {len(tested) - SHOWN} more labels, in {escape(made.path)}.json")
    console.print(escape(made.path))


COMMANDS = (train_langid, train_quality)
