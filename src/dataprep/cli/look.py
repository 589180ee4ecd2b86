"""Commands that look at what a run left: inspect, why, report."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dataprep import files, trail
from dataprep.batch import parse_id, show_id
from dataprep.dataset import open_dataset
from dataprep.stats import Amount, StageStats

Folder = Annotated[str, typer.Argument(help="A folder that a run wrote.")]
SHOWN_CHARS = 1_500  # of each text side by side: a screen


def inspect(
    folder: Folder,
    examples: Annotated[int, typer.Option(help="Dropped documents to show for each reason.")] = 1,
    source: Annotated[str | None, typer.Option(help="Only this source.")] = None,
) -> None:
    """What each stage kept, dropped and why, by source, with examples."""
    console = Console()
    for place in trail.final_folders(folder):
        docs = open_dataset(place)
        manifest = docs.manifest
        console.rule(f"[bold]{escape(place)}", align="left", style="dim")
        console.print(f"{manifest['docs']:,} documents, {manifest['bytes'] / 1e6:,.2f} MB of text", highlight=False)
        for book in docs.stats:
            console.print(_book_table(book, source))
            _print_examples(console, book, examples, source)
        for alarm in docs.stats.alarms():
            console.print(f"[bold red]alarm:[/] {escape(alarm)}")
    _print_model(console, folder)


def _print_model(console: Console, folder: str) -> None:
    """What was made of the text, if the run has come so far."""
    from dataprep.report.facts import metrics_of, tokens_of

    tokens = tokens_of(folder)
    if tokens:
        said = f"{tokens.tokens:,} tokens of {tokens.documents:,} documents, a vocabulary of {tokens.vocab_size:,}"
        console.rule("[bold]tokens", align="left", style="dim")
        console.print(said, highlight=False)
    val = [row for row in metrics_of(folder) if row.get("val_loss") is not None]
    if val:
        console.rule("[bold]training", align="left", style="dim")
        said = f"validation loss {val[0]['val_loss']:.3f} at step {val[0]['step']:,}"
        console.print(f"{said}, {val[-1]['val_loss']:.3f} at step {val[-1]['step']:,}", highlight=False)


def _book_table(book: StageStats, only: str | None) -> Table:
    """One stage: a row a source, then a row for each reason in it."""
    table = Table(box=None, header_style="bold", pad_edge=False, title=escape(book.name), title_justify="left")
    table.add_column("source", min_width=28)
    for title in ("in", "kept", "dropped", "MB in", "MB kept"):
        table.add_column(title, justify="right")
    none = Amount()
    for name in sorted(book.into):
        if only in (None, name):
            came, left = book.into[name], book.out.get(name, none)
            row = (f"{came.docs:,}", f"{left.docs:,}", f"{came.docs - left.docs:,}")
            table.add_row(escape(name), *row, f"{came.bytes / 1e6:.2f}", f"{left.bytes / 1e6:.2f}")
            for reason, sources in sorted(book.dropped.items()):
                if name in sources:
                    table.add_row(f"  {escape(reason)}", "", "", f"{sources[name].docs:,}", style="dim")
    if only is None:
        for name, n in sorted(book.counts.items()):
            table.add_row(f"  . {escape(name)}", "", "", f"{n:,}", style="dim")
    return table


def _print_examples(console: Console, book: StageStats, n: int, only: str | None) -> None:
    for reason, found in sorted(book.examples.items()):
        for example in [e for e in found if only in (None, e.source)][:n]:
            like = f" for {show_id(example.kept)}" if example.kept is not None else ""
            much = f" ({example.similarity:.3f})" if example.similarity is not None else ""
            text = " ".join(example.text.split())[:160]
            console.print(
                f"  [cyan]{escape(reason)}[/] {show_id(example.id)}{like}{much} [dim]{escape(text)}[/]",
                highlight=False, overflow="ellipsis", no_wrap=True,
            )  # fmt: skip


def why(
    folder: Folder,
    id_: Annotated[str, typer.Argument(metavar="ID", help="A document, as file:position or as an integer.")],
) -> None:
    """Why a document is not in the result: the trail of drops, and its text beside the survivor's."""
    console = Console()
    fate = trail.follow(folder, parse_id(id_))
    for drop in fate.drops:
        like = "" if drop.similarity is None else f", similarity {drop.similarity:.3f}"
        whom = "" if drop.kept is None else f" for {show_id(drop.kept)}"
        whom += f" of {drop.kept_in}" if drop.kept_in else ""
        said = f"[bold]{show_id(drop.id)}[/] was dropped by {drop.stage}: [cyan]{escape(drop.reason)}[/]{whom}{like}"
        console.print(f"{said} [dim]({escape(drop.folder)})[/]", highlight=False, soft_wrap=True)
    if fate.kept_in is not None:
        console.print(f"[bold]{show_id(fate.survivor)}[/] is kept in {escape(fate.kept_in)}", highlight=False)
    _print_texts(console, folder, fate)


def _print_texts(console: Console, folder: str, fate: trail.Fate) -> None:
    ids = list(dict.fromkeys([fate.id, fate.survivor]))
    rows = [trail.document(folder, i) for i in ids]
    texts = [None if row is None else str(row["text"]) for row in rows]
    if texts[0] is None:
        console.print("[dim]its text is gone: the step that read it was not saved, or `dataprep clean` removed it[/]")
    table = Table(show_lines=False, expand=True)
    for i, row in zip(ids, rows, strict=True):
        table.add_column(f"{show_id(i)}  {row['source'] if row else ''}", ratio=1)
    table.add_row(*_marked([text or "" for text in texts]))
    console.print(table)


def _marked(texts: list[str]) -> list[Text]:
    """The texts cut to a screen; words that the other one lacks are bold."""
    if len(texts) == 1:
        return [Text(texts[0][:SHOWN_CHARS])]
    words = [text[:SHOWN_CHARS].split(" ") for text in texts]
    shown = [Text(), Text()]
    for kind, a, b, c, d in difflib.SequenceMatcher(None, words[0], words[1], autojunk=False).get_opcodes():
        style = "" if kind == "equal" else "bold yellow"
        shown[0].append(" ".join(words[0][a:b]) + " " * (b > a), style)
        shown[1].append(" ".join(words[1][c:d]) + " " * (d > c), style)
    return shown


def report(folder: Folder, to: Annotated[str | None, typer.Option(help="The HTML file.")] = None) -> None:
    """One HTML page about a run: books, reasons, similarities, tokens, loss; nothing in it is loaded from elsewhere."""
    from dataprep.report import write

    place = to or files.join(folder, "report.html")
    write(folder, place)
    print(place)


COMMANDS = (inspect, why, report)
