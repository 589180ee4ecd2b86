"""The command that makes a fine-tuning set of chats: persona."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from dataprep.core.pipeline_file import Step
from dataprep.core.runner import Runner

from .options import Workers, runner


def persona(
    chat: Annotated[list[str], typer.Option("--chat", metavar="PATH", help="An export or a folder of them; repeat.")],
    person: Annotated[str, typer.Option("--as", metavar="NAME", help="The person to imitate, as the exports say.")],
    out: Annotated[str, typer.Option(help="Where everything goes.")] = "out/persona",
    template: Annotated[str, typer.Option(help="course, chatml, or a file with a Jinja chat template.")] = "chatml",
    block: Annotated[int, typer.Option(help="Tokens of the longest window.")] = 1024,
    tokenizer: Annotated[str | None, typer.Option(help="Its folder or tokenizer.json; else one is trained.")] = None,
    vocab_size: Annotated[int, typer.Option(help="Ids of the tokenizer that is trained.")] = 8_000,
    gap: Annotated[str, typer.Option(help="The silence that ends a conversation.")] = "1h",
    context: Annotated[int, typer.Option(help="Turns a window repeats of the one before.")] = 2,
    val: Annotated[float, typer.Option(help="Share of the conversations for validation.")] = 0.05,
    test: Annotated[float, typer.Option(help="Share of the conversations for a test.")] = 0.0,
    key: Annotated[str | None, typer.Option(help="A file with the key of the pseudonyms; else a random one.")] = None,
    refused: Annotated[str | None, typer.Option(help="A file of people who did not agree, one a line.")] = None,
    names: Annotated[str | None, typer.Option(help="A file of more names to hide, one a line.")] = None,
    keep_pii: Annotated[bool, typer.Option("--keep-pii", help="Leave phone numbers, cards and the like.")] = False,
    platform: Annotated[str | None, typer.Option(help="whatsapp, telegram ...; told by the files.")] = None,
    date_order: Annotated[str | None, typer.Option(help="dmy, mdy or ymd, where the files do not tell.")] = None,
    workers: Workers = 1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be dropped and changed in 16 MB of text; write nothing.")
    ] = False,
) -> None:
    """Turn chats into a fine-tuning set for one person's voice: JSONL of messages, and shards with a loss mask."""
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
    for place in made.jsonl.values():
        console.print(escape(place))
    rows = f"--set layout=bestfit --set model.context={block}"  # whole windows; else they are cut where a row ends
    console.print(
        f"[dim]train on them:[/] dataprep train {escape(out)}/shards --out {escape(out)}/model {rows}", soft_wrap=True
    )


COMMANDS = (persona,)
