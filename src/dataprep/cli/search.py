"""The command that looks for text in a corpus: search."""

from __future__ import annotations

import sys
from typing import Annotated

import pyarrow as pa
import typer
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from dataprep.core.batch import show_id
from dataprep.core.dataset import open_dataset
from dataprep.core.folder import datasets
from dataprep.errors import PlanError
from dataprep.search.index import DISK, INDEX, Hit, SuffixIndex
from dataprep.store import files

from .options import Workers, runner

PIECE_CHARS = 200  # shown of a match
CELL_CHARS = 60  # and in a table


def search(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A sealed Dataset, a run (its last), or an index.")],
    text: Annotated[str | None, typer.Argument(help="What to look for, byte for byte.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Occurrences to show.")] = 10,
    context: Annotated[int, typer.Option(min=0, help="Characters around each.")] = 60,
    longest: Annotated[
        str | None, typer.Option(metavar="FILE|TEXT", help="Show the longest piece that a text shares with the corpus.")
    ] = None,
    index: Annotated[str | None, typer.Option(help="Where the index is; DIR/index by default.")] = None,
    workers: Workers = 1,
) -> None:
    """How often a text occurs in a corpus, and where; or what the longest piece is that another text shares with it."""
    if (text is None) == (longest is None):
        msg = "give either a text to look for, or --longest FILE|TEXT"
        raise PlanError(msg)
    console = Console()
    found = _index(folder, index, workers)
    if text is not None:
        _print_hits(console, found, text, limit, context)
    elif longest is not None and files.exists(longest):
        _print_file(console, found, longest, limit, context)
    elif longest is not None:
        _print_longest(console, found, longest, limit, context)


def _index(folder: str, place: str | None, workers: int) -> SuffixIndex:
    """The index in a folder, or of the (last) Dataset in it; made if there is none of it."""
    if files.exists(files.join(folder, INDEX)):
        return SuffixIndex.open(folder)
    docs = open_dataset(datasets(folder, saved=False)[-1].url)
    place = place or files.join(str(docs.url), "index")
    if not files.exists(files.join(place, INDEX)):
        size = int(docs.manifest["bytes"])
        print(f"making an index of {decimal(size)} of text at {place}: up to {decimal(DISK * size)}", file=sys.stderr)
    return SuffixIndex.build(docs, place, runner(workers), replace=True)


def _print_hits(console: Console, index: SuffixIndex, text: str, limit: int, context: int) -> None:
    n = index.count(text)
    console.print(Text.assemble((_line(text), "bold"), f" occurs {_times(n)} in {_corpus(index)}"), soft_wrap=True)
    _print_places(console, index.find(text, limit, context), n)


def _print_places(console: Console, hits: list[Hit], n: int) -> None:
    """Where each occurrence is, and the text around it."""
    for hit in hits:
        console.print(Text.assemble((f"{show_id(hit.id)}+{hit.start}", "cyan"), "  ", (hit.source, "dim")))
        match = (_line(hit.match[:PIECE_CHARS]), "bold yellow")
        console.print(Text.assemble("  ", _line(hit.before), match, _line(hit.after)))
    if n > len(hits) > 0:
        console.print(f"[dim]and {n - len(hits):,} more; --limit shows them[/]", highlight=False)


def _print_longest(console: Console, index: SuffixIndex, text: str, limit: int, context: int) -> None:
    shared = index.longest(text)
    if not shared.n_bytes:
        console.print(f"nothing of it occurs in {_corpus(index)}", highlight=False, soft_wrap=True)
        return
    share = shared.n_bytes / len(text.encode())
    said = f"{shared.n_bytes:,} bytes from byte {shared.start:,} on ({share:.0%} of the text)"
    console.print(f"{said} occur {_times(shared.count)} in {_corpus(index)}", highlight=False, soft_wrap=True)
    _print_places(console, index.find(shared.text, limit, context), shared.count)


def _print_file(console: Console, index: SuffixIndex, place: str, limit: int, context: int) -> None:
    """A file of one document as a text; of several, a line each for those that share the most."""
    from dataprep.read import read

    texts = read(place).table(["text"]).column("text").to_pylist()
    if len(texts) == 1:
        _print_longest(console, index, texts[0], limit, context)
        return
    found = index.contamination(texts).sort_by([("longest_bytes", "descending"), ("text", "ascending")])
    console.print(f"{len(texts):,} texts of {place} against {_corpus(index)}", highlight=False, soft_wrap=True)
    console.print(_contamination(found.slice(0, limit)))


def _contamination(rows: pa.Table) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("text", "shared", "of it", "times"):
        table.add_column(title, justify="right")
    table.add_column("first in")
    table.add_column("the piece", overflow="fold")
    for row in rows.to_pylist():
        share = row["longest_bytes"] / max(1, row["n_bytes"])
        where = "" if row["id"] is None else f"{show_id(row['id'])}+{row['found_at']} {row['source']}"
        numbers = (f"{row['text'] + 1:,}", f"{row['longest_bytes']:,}", f"{share:.0%}", f"{row['count']:,}")
        table.add_row(*numbers, Text(where), Text(_line(row["longest"][:CELL_CHARS])))
    return table


def _corpus(index: SuffixIndex) -> str:
    return f"{index.manifest['docs']:,} documents ({decimal(index.manifest['bytes'])}) of {index.url}"


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"


def _line(text: str) -> str:
    """A text on one line."""
    return text.replace("\n", "⏎").replace("\t", " ").replace("\r", "")


COMMANDS = (search,)
