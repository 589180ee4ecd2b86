"""The command that trains n-gram models: train-ngram."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from dataprep.errors import PlanError
from dataprep.store import files


def train_ngram(
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Text files, one sentence a line.")],
    out: Annotated[str, typer.Option(help="The ARPA file to write.")],
    order: Annotated[int, typer.Option("-o", "--order", help="Words of the longest n-grams.")] = 5,
    prune: Annotated[
        str, typer.Option(metavar="0 0 1", help="Leave out n-grams seen at most so often, for each order.")
    ] = "",
    discount_fallback: Annotated[
        bool, typer.Option("--discount-fallback", help="Discounts of 0.5, 1 and 1.5 where text is too little.")
    ] = False,
    skip_symbols: Annotated[
        bool, typer.Option("--skip-symbols", help="Leave out <s>, </s> and <unk> where the text has them.")
    ] = False,
    memory: Annotated[str, typer.Option(help="What n-grams may take at once, like 8GB.")] = "2GB",
    binary: Annotated[bool, typer.Option("--binary", help="Run KenLM's build_binary too.")] = False,
) -> None:
    """Train an interpolated modified Kneser-Ney model (ARPA), as KenLM's lmplz does."""
    from dataprep.ngram import train

    text, thresholds = _thresholds(text, prune)
    model = train(
        text, out=out, order=order, prune=thresholds, discount_fallback=discount_fallback, skip_symbols=skip_symbols,
        memory=memory, binary=binary,
    )  # fmt: skip
    console = Console(highlight=False)
    console.print(f"{model.n_sentences:,} sentences, {model.n_words:,} words")
    for n, (count, discounts) in enumerate(zip(model.counts, model.discounts, strict=True), 1):
        console.print(f"{n}-grams: {count:,}; discounts {', '.join(f'{d:.4g}' for d in discounts)}")
    console.print(escape(model.binary or model.path))


def _thresholds(text: list[str], prune: str) -> tuple[list[str], list[int]]:
    """The files and the thresholds: as lmplz takes `--prune 0 0 1`, all but the first number arrive among the files."""
    if not prune:
        return text, [0]
    more = [t for t in text if t.isdecimal() and not files.exists(t)]
    try:
        thresholds = [int(x) for x in [*prune.replace(",", " ").split(), *more]]
    except ValueError as e:
        msg = f"--prune {prune!r} is not a number for each order; write --prune 0 0 1"
        raise PlanError(msg) from e
    return [t for t in text if t not in more], thresholds


COMMANDS = (train_ngram,)
