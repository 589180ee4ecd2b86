"""The command `perplexity`, which shows the documents that a cut of perplexity would drop."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from dataprep.core.batch import show_id
from dataprep.errors import PlanError
from dataprep.unicode.printable import printable

TEXT_CHARS = 90


def perplexity(
    inputs: Annotated[list[str], typer.Argument(metavar="INPUT...", help="Sealed Datasets, or input files.")],
    model: Annotated[str, typer.Option(help="The n-gram model: an ARPA file or a KenLM binary.")],
    cut: Annotated[str, typer.Option(help="head, middle, tail, or two percentiles to keep, like 1,90.")] = "1,90",
    unit: Annotated[str, typer.Option(help="document or paragraph.")] = "document",
    tokenizer: Annotated[str | None, typer.Option(help="A SentencePiece model.")] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Documents to show per language.")] = 20,
) -> None:
    """Show the documents that a cut of perplexity would drop, those nearest to the cut first; write nothing."""
    from dataprep.filters.percentiles import Percentiles
    from dataprep.filters.perplexity import Perplexity
    from dataprep.read import read

    measured = Perplexity(model=model, unit=unit, tokenizer=tokenizer)
    chosen = Percentiles(measured, cut=_percentiles(cut))
    console = Console(highlight=False)
    with console.status("measuring"):
        bounds, lost = chosen.look(read(inputs), n)
    for language, found in bounds.items():
        low, high = ("-" if found[name] is None else f"{found[name]:,.1f}" for name in ("low", "high"))
        console.print(
            f"[bold]{escape(language)}[/]: {found['scores']:,} scores, {low} <= perplexity < {high} is kept: "
            f"{found['lost']:,} are dropped, those nearest to the cut first",
            soft_wrap=True,
        )
        for row in lost.to_pylist():
            if (row["language"] or "all") == language:
                score = "-" if row["score"] is None else f"{row['score']:,.1f}"
                text = printable(" ".join(row["text"].split())[:TEXT_CHARS])
                line = f"  [cyan]{row['reason']}[/] {score:>12} {show_id(row['id'])} [dim]{escape(text)}[/]"
                console.print(line, soft_wrap=True)


def _percentiles(cut: str) -> str | tuple[float, float]:
    """Return the value of --cut."""
    if "," not in cut:
        return cut
    try:
        low, high = map(float, cut.split(","))
    except ValueError as e:
        msg = f"--cut {cut!r} must be head, middle, tail, or two percentiles like 1,90"
        raise PlanError(msg) from e
    return low, high


COMMANDS = (perplexity,)
