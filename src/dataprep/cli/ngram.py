"""The command `train-ngram`, which trains n-gram models."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from dataprep.errors import PlanError
from dataprep.store import files


def train_ngram(
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Text files with one sentence per line.")],
    out: Annotated[str, typer.Option(help="The ARPA file to write.")],
    order: Annotated[int, typer.Option("-o", "--order", help="Words in the longest n-grams.")] = 5,
    prune: Annotated[
        str, typer.Option(metavar="0 0 1", help="Per order, leave out n-grams that occur at most so often.")
    ] = "",
    discount_fallback: Annotated[
        bool, typer.Option("--discount-fallback", help="Use discounts of 0.5, 1 and 1.5 if there is too little text.")
    ] = False,
    skip_symbols: Annotated[
        bool, typer.Option("--skip-symbols", help="Leave out <s>, </s> and <unk> in the text.")
    ] = False,
    memory: Annotated[str, typer.Option(help="Memory for n-grams, like 8GB.")] = "2GB",
    binary: Annotated[bool, typer.Option("--binary", help="Also run KenLM's build_binary.")] = False,
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
    """Return files and thresholds; lmplz takes `--prune 0 0 1`, of which the last numbers arrive among the files."""
    if not prune:
        return text, [0]
    more = [t for t in text if t.isdecimal() and not files.exists(t)]
    try:
        thresholds = [int(x) for x in [*prune.replace(",", " ").split(), *more]]
    except ValueError as e:
        msg = f"--prune {prune!r} must be a number per order, like --prune 0 0 1"
        raise PlanError(msg) from e
    return [t for t in text if t not in more], thresholds


COMMANDS = (train_ngram,)
