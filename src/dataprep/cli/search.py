"""The command `search`, which counts and shows occurrences of a text in a corpus."""

from __future__ import annotations

import sys
from typing import Annotated

import pyarrow as pa
import typer
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from dataprep.core.model.batch import show_id
from dataprep.core.model.dataset import open_dataset
from dataprep.core.output.layout import INDEX as INDEX_FOLDER
from dataprep.core.output.layout import Folder
from dataprep.core.output.lineage import family
from dataprep.core.output.run_folder import refuse_newer
from dataprep.errors import PlanError, counted
from dataprep.history.removed_hits import EMPTY, RemovedHits, find_removed
from dataprep.search.index import DISK, Hit, SuffixIndex, is_index
from dataprep.shown.terminal import table_of
from dataprep.store import files
from dataprep.unicode.valid import printable

from .options import Screen, Workers, runner_of

MATCH_CHARS = 200  # shown of a match
CELL_CHARS = 60  # shown of a match in a table


def search(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="A Dataset, a run (its last Dataset is searched), or an index.")
    ],
    text: Annotated[str | None, typer.Argument(help="The text to find, byte for byte.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Number of occurrences to show.")] = 10,
    context: Annotated[int, typer.Option(min=0, help="Number of characters to show around each occurrence.")] = 60,
    longest: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|TEXT",
            help="For a text, or each line of a file: show the longest passage shared with the corpus.",
        ),
    ] = None,
    removed: Annotated[
        bool,
        typer.Option("--removed", help="Find the text in the input, too, and show which stages and rules removed it."),
    ] = False,
    index: Annotated[str | None, typer.Option(help="The folder of the index; DIR/index by default.")] = None,
    workers: Workers = 1,
) -> None:
    """Count and show the occurrences of a text in a corpus; with --longest, those of the longest shared passage."""
    if (text is None) == (longest is None):
        msg = "pass either a text to find, or --longest FILE|TEXT"
        raise PlanError(msg)
    if text == "":
        raise PlanError(EMPTY)
    if removed and (text is None or is_index(folder)):
        msg = "--removed needs a text to find, and the folder of a Dataset or of a run"
        raise PlanError(msg)
    console = Screen()
    found = _index(folder, index, workers)
    if text is not None:
        n = _print_hits(console, found, text, limit, context)
        if removed:
            _print_removed(console, find_removed(folder, text, runner_of(workers), limit, context), text)
        elif not n and not is_index(folder):
            console.print("[dim]--removed states whether the input has it, and what removed it[/]", highlight=False)
    elif longest is not None and files.exists(longest):
        _print_file(console, found, longest, limit, context)
    elif longest is not None:
        _print_longest(console, found, longest, limit, context)


def _index(folder: str, url: str | None, workers: int) -> SuffixIndex:
    """Return the index in a folder, or that of its last Dataset, which is built if it does not exist."""
    refuse_newer(folder)
    if is_index(folder):
        return SuffixIndex.open(folder)
    docs = open_dataset(family(folder, saved=False)[-1].url)
    url = url or Folder(str(docs.url)).path(INDEX_FOLDER)
    if not is_index(url):
        size = docs.sealed.bytes
        said = f"building an index of {decimal(size)} of text at {printable(url)}: up to {decimal(DISK * size)}"
        print(said, file=sys.stderr)
    return SuffixIndex.build(docs, url, runner_of(workers), replace=True)


def _print_hits(console: Console, index: SuffixIndex, text: str, limit: int, context: int) -> int:
    """Print the occurrences of a text, and return their number."""
    n = index.count(text)
    console.print(Text.assemble((_line(text), "bold"), f" occurs {_times(n)} in {_corpus(index)}"), soft_wrap=True)
    _print_occurrences(console, index.find(text, limit, context), n)
    return n


def _print_removed(console: Console, found: RemovedHits, text: str) -> None:
    """Print how often the input has a text, and each document that lost it: stages, rules, and the text around it."""
    total = f"the input has it {_times(found.times)} in {counted(found.documents, 'document')}"
    was = "was" if found.times_removed == 1 else "were"
    what = f"; {found.times_removed:,} of these {was} removed, from {counted(found.documents_removed, 'document')}"
    console.print(total + (what if found.times_removed else ""), highlight=False, soft_wrap=True)
    for hit in found.hits:
        head = Text.assemble((show_id(hit.id), "cyan"), "  ", (_line(hit.source), "dim"))
        for cause in hit.causes:
            name = (f"{cause.stage}: {cause.rule}", "bold")
            head += Text.assemble(f"  {cause.how} by ", name, (f" ({cause.folder})", "dim"))
        if not hit.causes:
            head.append("  removed by a stage that cannot be run again, or whose input `dataprep prune` removed")
        console.print(head, soft_wrap=True)
        if hit.around is None:
            console.print("  [dim](the text around it is private, or too long)[/]", highlight=False)
        else:
            match = (_line(text[:MATCH_CHARS]), "bold yellow")
            console.print(Text.assemble("  ", _line(hit.around[0]), match, _line(hit.around[1])))
    if (more := found.documents_removed - len(found.hits)) and found.hits:
        console.print(f"[dim]and {counted(more, 'more document')}; --limit shows them[/]", highlight=False)


def _print_occurrences(console: Console, hits: list[Hit], n: int) -> None:
    """Print each occurrence: document, source, and the text around it."""
    for hit in hits:
        console.print(Text.assemble((f"{show_id(hit.id)}+{hit.start}", "cyan"), "  ", (hit.source, "dim")))
        match = (_line(hit.match[:MATCH_CHARS]), "bold yellow")
        console.print(Text.assemble("  ", _line(hit.before), match, _line(hit.after)))
    if n > len(hits) > 0:
        console.print(f"[dim]and {n - len(hits):,} more; --limit shows them[/]", highlight=False)


def _print_longest(console: Console, index: SuffixIndex, text: str, limit: int, context: int) -> None:
    shared = index.longest(text)
    if not shared.n_bytes:
        console.print(f"no passage of the text occurs in {_corpus(index)}", highlight=False, soft_wrap=True)
        return
    share = shared.n_bytes / len(text.encode())
    passage = f"{counted(shared.n_bytes, 'byte')} from byte {shared.start:,} on ({share:.0%} of the text)"
    console.print(f"{passage} occur {_times(shared.count)} in {_corpus(index)}", highlight=False, soft_wrap=True)
    _print_occurrences(console, index.find(shared.text, limit, context), shared.count)


def _print_file(console: Console, index: SuffixIndex, path: str, limit: int, context: int) -> None:
    """Print the longest passage for a file of one document; for several documents, rows for those that share most."""
    from dataprep.read import read

    texts = read(path).table(["text"]).column("text").to_pylist()
    if len(texts) == 1:
        _print_longest(console, index, texts[0], limit, context)
        return
    found = index.contamination(texts).sort_by([("longest_bytes", "descending"), ("text", "ascending")])
    console.print(f"{counted(len(texts), 'text')} of {path} against {_corpus(index)}", highlight=False, soft_wrap=True)
    console.print(_contamination(found.slice(0, limit)))


def _contamination(rows: pa.Table) -> Table:
    table = table_of("text", "bytes shared", "of it", "times", left=0)
    table.add_column("first occurs in", overflow="fold")
    table.add_column("passage", overflow="fold")
    for row in rows.to_pylist():
        share = row["longest_bytes"] / max(1, row["n_bytes"])
        first = "" if row["id"] is None else f"{show_id(row['id'])}+{row['found_at']} {row['source']}"
        numbers = (f"{row['text'] + 1:,}", f"{row['longest_bytes']:,}", f"{share:.0%}", f"{row['count']:,}")
        table.add_row(*numbers, Text(first), Text(_line(row["longest"][:CELL_CHARS])))
    return table


def _corpus(index: SuffixIndex) -> str:
    return f"{counted(index.manifest.docs, 'document')} ({decimal(index.manifest.bytes)}) of {index.url}"


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"


def _line(text: str) -> str:
    """Return a text on one line."""
    return text.replace("\n", "⏎").replace("\t", " ").replace("\r", "")
