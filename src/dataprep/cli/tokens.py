"""Commands for token shards: show, export, import; and verify, which also checks Datasets."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from dataprep import pipeline_file
from dataprep.core.model.batch import parse_id, show_id
from dataprep.core.output.layout import RUN, Folder
from dataprep.core.output.one_result import one_result
from dataprep.errors import PlanError, counted, require
from dataprep.shown.terminal import table_of
from dataprep.store import files
from dataprep.unicode.valid import printable

from .as_json import SCHEMA, Json, of_folder, only_json, print_json
from .options import Screen, Workers, runner_of, say

ShardFolder = Annotated[str, typer.Argument(help="A folder of token shards.")]
COLOURS = ("on blue", "on dark_green", "on dark_red", "on purple4", "on grey30")  # of tokens, in turn


def verify(
    folder: Annotated[str, typer.Argument(help="Token shards, a sealed Dataset, or the folder of a whole run.")],
    workers: Workers = 1,
    repair: Annotated[
        str | None, typer.Option(metavar="PIPELINE", help="The pipeline file of the run; recreates damaged parts.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check sizes, hashes, ids and document ends of all files; list every problem, with exit code 1."""
    from dataprep.history.repair import repair as mend
    from dataprep.history.verify import stated_totals
    from dataprep.history.verify import verify as check

    with only_json(as_json):
        if repair is not None:
            mend(folder, runner_of(workers), _rerun(folder, repair, workers))
        with one_result(folder):
            found = check(folder, runner_of(workers))
            totals = {url: None if bad else stated_totals(url) for url, bad in found.items()}
    if as_json:
        folders = [of_folder(url, bad, totals[url]) for url, bad in found.items()]
        print_json({"schema": SCHEMA, "good": not any(found.values()), "folders": folders})
    else:
        _print_problems(found, totals)
    if any(found.values()):
        raise typer.Exit(1)


def _rerun(folder: str, pipeline: str, workers: int) -> Callable[[], None]:
    """Return a function that reruns the steps of a pipeline file that a run already has.

    - folder: the folder of the run, or of one of its steps.

    Raises PlanError if the run has none of the steps.
    """
    steps, above = pipeline_file.load(pipeline), Folder(folder).parent.url
    out = above if files.exists(files.join(above, RUN)) and not files.exists(files.join(folder, RUN)) else folder
    made = [step.name for step in steps if files.exists(files.join(out, step.name))]
    require(bool(made), f"{pipeline} did not make {folder}: it makes folders such as {files.join(out, steps[0].name)}; "
            "nothing was changed")  # fmt: skip

    def again() -> None:
        for done in pipeline_file.execute(steps, out, runner_of(workers), to=made):
            say(f"{done.name}: {' '.join(str(done.result).split())}")

    return again


def _print_problems(found: dict[str, Any], of_good: dict[str, Any]) -> None:
    """Print the result of `verify`.

    - of_good: the totals of each folder without problems.
    """
    console = Screen(highlight=False)
    for url, problems in found.items():
        if problems:
            console.print(f"[bold red]bad[/] {escape(url)}", soft_wrap=True)
            table = table_of("file", "problem", "what to do", left=3)
            table.padding = (0, 1)
            for column in table.columns:
                column.overflow = "fold"
            for p in problems:
                table.add_row(escape(p.file), f"[red]{escape(p.found)}[/]", escape(p.do))
            console.print(table)
        else:
            totals = of_good[url]
            tokens = "" if totals["tokens"] is None else f", {counted(totals['tokens'], 'token')}"
            amounts = totals["kind"]  # a tokenizer or a preset
            if totals["documents"] is not None:
                size = f"{counted(totals['bytes'], 'byte')} of text"
                amounts = f"{counted(totals['documents'], 'document')}{tokens}, {size}"
            root = "" if totals["root"] is None else f", shards {totals['root']}"
            console.print(f"[green]good[/] {escape(url)}: {amounts}{root}", soft_wrap=True)
    n = sum(map(len, found.values()))
    if n:
        console.print(f"[bold red]{counted(n, 'problem')}[/]")


def show(
    folder: ShardFolder,
    doc: Annotated[int, typer.Option(help="Number of the document: 0 is the first, -1 the last.")] = 0,
    id_: Annotated[str | None, typer.Option("--id", help="Id of the document: file:position or an integer.")] = None,
    shard: Annotated[str | None, typer.Option(help="Number --doc within this shard, such as train-00003.")] = None,
    random_: Annotated[bool, typer.Option("--random", help="Show a random document.")] = False,
    tokens: Annotated[int, typer.Option(min=1, help="Maximum number of tokens to show.")] = 400,
) -> None:
    """Show one document as the trainer reads it: its tokens with their ids, its source and its shard."""
    from dataprep.tokens.shards.shard import Shards

    console = Screen(highlight=False)
    shards = Shards.open(folder)
    if not len(shards):
        msg = f"{folder} has no documents to show; encode a corpus that has some"
        raise PlanError(msg)
    numbers = [_number(shards, doc, shard)]
    if id_ is not None:
        numbers = shards.find(parse_id(id_))
        if not numbers:
            msg = f"{folder} has no document {show_id(parse_id(id_))}; `dataprep why` shows if it was dropped"
            raise PlanError(msg)
    if random_:
        numbers = [random.randrange(len(shards))]  # noqa: S311 - nothing is secret here
    for k in numbers:
        _print_document(console, shards, k, tokens)


def _number(shards: Any, doc: int, shard: str | None) -> int:
    """Return the number of the document that the options name."""
    first, n = 0, len(shards)
    if shard is not None:
        names = [s.name for s in shards.shards]
        if shard not in names:
            msg = f"--shard {shard} must be one of {', '.join(names[:10])}{' ...' if len(names) > 10 else ''}"
            raise PlanError(msg)
        first = sum(s.documents for s in shards.shards[: names.index(shard)])
        n = shards.shards[names.index(shard)].documents
    if not -n <= doc < n:
        msg = f"--doc {doc} must be from {-n:,} to {n - 1:,}; negative numbers count from the end"
        raise PlanError(msg)
    return first + doc % n


def _print_document(console: Console, shards: Any, k: int, most: int) -> None:
    at = shards.provenance(k)
    ids = shards.document(k)
    shown = ids[:most].tolist()
    i = next(i for i, s in enumerate(shards.shards) if s.name == at.shard)
    mask = shards.masks()[i]
    learned = [True] * len(shown) if mask is None else [bool(m) for m in mask[at.start : at.start + len(shown)]]
    head = f"document {k:,}  id {show_id(at.id)}  {at.source}  {at.split}  {at.shard}[{at.start:,}:{at.stop:,}]"
    console.print(Text(printable(f"{head}  {counted(len(ids), 'token')}"), "bold"), soft_wrap=True)
    pieces = _pieces(shards, shown)
    text, numbers = Text(), Text()
    for n, (id_, piece, is_learned) in enumerate(zip(shown, pieces, learned, strict=True)):
        style = f"{'white' if is_learned else 'dim'} {COLOURS[n % len(COLOURS)]}"
        text.append(printable(piece), style)
        numbers.append(f"{id_}", style).append(" ")
    console.print(text, soft_wrap=False)
    console.print(numbers)
    if len(ids) > most:
        console.print(f"[dim]and {len(ids) - most:,} more tokens (--tokens {len(ids)})[/]")
    if not all(learned):
        console.print(f"[dim]dimmed tokens are masked: {learned.count(False):,} of {len(learned):,} are not learned[/]")
    _print_hint(console, shards, at.id)


def _pieces(shards: Any, ids: list[int]) -> list[str]:
    """Return the text of each id; a part of a character is shown as its bytes."""
    from dataprep.tokens.shards.folder import own_tokenizer

    tok = own_tokenizer(shards)
    if tok is None:
        return [f"<{i}>" for i in ids]  # shards may be stored without their tokenizer
    names = {i: name for name, i in tok.special.items()}
    raw = tok.pieces
    return [names.get(i) or _piece(raw[i]) if i in raw or i in names else f"<{i}>" for i in ids]


def _piece(token: bytes | str) -> str:
    if isinstance(token, str):
        return token
    try:
        return token.decode()
    except UnicodeDecodeError:
        return "".join(chr(b) if 0x20 <= b < 0x7F else f"<{b:02x}>" for b in token)


def _print_hint(console: Console, shards: Any, id_: int) -> None:
    """Print the command that shows more, if the shards are in the folder of a run."""
    home = Folder(str(shards.path)).parent.url
    if any(Folder(files.join(home, name)).is_dataset for name in files.listdir(home)):
        console.print(f"[dim]details:[/] dataprep why {escape(home)} {show_id(id_)}", soft_wrap=True)


def export(
    folder: ShardFolder,
    to: Annotated[str, typer.Option(help="Format: llmc, megatron, datatrove or nanogpt.")],
    out: Annotated[str, typer.Option(help="Folder for the files.")],
    workers: Workers = 1,
) -> None:
    """Write token shards in the format of llm.c, Megatron-LM, datatrove (nanotron) or nanoGPT."""
    from dataprep.tokens.shards.export import export as write

    for path in write(folder, to, out, runner=runner_of(workers)):
        say(path)


def import_(
    path: Annotated[str, typer.Argument(help="A .bin file, or a folder with train.bin and val.bin.")],
    out: Annotated[str, typer.Option(help="Folder for the token shards.")],
    tokenizer: Annotated[
        str | None,
        typer.Option(help="The tokenizer.json that produced the ids, or its folder; default: next to the ids."),
    ] = None,
    eot: Annotated[int | None, typer.Option(help="Id that separates documents; <|endoftext|> by default.")] = None,
    dtype: Annotated[
        str, typer.Option(help="uint32 for files without a header that have four bytes per token.")
    ] = "uint16",
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite another recipe's output in --out.")] = False,
) -> None:
    """Write token shards from .bin files of nanoGPT or llm.c; documents end at the separator."""
    from dataprep.tokens.shards.import_tokens import import_tokens

    say(import_tokens(path, tokenizer, out, eot=eot, dtype=dtype, replace=replace))


import_.__name__ = "import"  # the name of the command; `import` is a keyword
