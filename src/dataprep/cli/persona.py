"""Command persona: make a fine-tuning set from chats."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from dataprep.core.pipeline_file import Step
from dataprep.core.runner import Runner

from .options import Workers, runner


def persona(
    chat: Annotated[list[str], typer.Option("--chat", metavar="PATH", help="An export or a folder; may be repeated.")],
    person: Annotated[str, typer.Option("--as", metavar="NAME", help="The author to imitate, as in the exports.")],
    out: Annotated[str, typer.Option(help="Output folder of all steps.")] = "out/persona",
    template: Annotated[str, typer.Option(help="course, chatml, or a file with a Jinja chat template.")] = "chatml",
    block: Annotated[int, typer.Option(help="Tokens of the longest window.")] = 1024,
    tokenizer: Annotated[str | None, typer.Option(help="Folder or tokenizer.json; without it one is trained.")] = None,
    vocab_size: Annotated[int, typer.Option(help="Number of ids of the trained tokenizer.")] = 8_000,
    gap: Annotated[str, typer.Option(help="Silence that ends a conversation.")] = "1h",
    context: Annotated[int, typer.Option(help="Turns of the window before that a window repeats.")] = 2,
    val: Annotated[float, typer.Option(help="Share of the conversations for validation.")] = 0.05,
    test: Annotated[float, typer.Option(help="Share of the conversations for testing.")] = 0.0,
    key: Annotated[str | None, typer.Option(help="File with the key of pseudonyms; else a random one.")] = None,
    refused: Annotated[str | None, typer.Option(help="File of people who did not agree, one per line.")] = None,
    names: Annotated[str | None, typer.Option(help="File of more names to hide, one per line.")] = None,
    keep_pii: Annotated[bool, typer.Option("--keep-pii", help="Keep phone numbers and other personal data.")] = False,
    platform: Annotated[str | None, typer.Option(help="whatsapp, telegram ...; detected by default.")] = None,
    date_order: Annotated[str | None, typer.Option(help="dmy, mdy or ymd, for ambiguous dates.")] = None,
    workers: Workers = 1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what 16 MB of text would lose or change; write nothing.")
    ] = False,
) -> None:
    """Make a fine-tuning set from chats that teaches to answer like one person: JSONL, and shards with a loss mask."""
    from dataprep.history.rehearse import rehearse
    from dataprep.persona import Persona
    from dataprep.persona import persona as make

    from .dry_run import print_rehearsal

    given = {"format": platform, "date_order": date_order}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}

    def work(out: str, run: Runner) -> Persona:
        return make(
            chat, person, out, template=template, block=block, tokenizer=tokenizer, vocab_size=vocab_size, gap=gap,
            context=context, val=val, test=test, key_file=key, refused=refused, names=names, pii=not keep_pii,
            run=run, **options,
        )  # fmt: skip

    console = Console(highlight=False)
    if dry_run:
        print_rehearsal(console, *rehearse([Step("persona", work, ("out", "run"))]))
        return
    made = work(out, runner(workers))
    console.print(made.windows.stats)
    console.print(escape(str(made)))
    for url in made.jsonl.values():
        console.print(escape(url))
    rows = f"--set layout=bestfit --set model.context={block}"  # complete windows, not cut at row ends
    console.print(
        f"[dim]to train:[/] dataprep train {escape(out)}/shards --out {escape(out)}/model {rows}", soft_wrap=True
    )


COMMANDS = (persona,)
