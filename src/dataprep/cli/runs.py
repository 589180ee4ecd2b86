"""Commands that do work: run, train, clean."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from dataprep.core import pipeline_file
from dataprep.core.runner import Local, Ray, Runner, Serial
from dataprep.errors import PlanError
from dataprep.store import files

Workers = Annotated[int, typer.Option(min=1, help="Processes of this machine.")]
Memory = Annotated[str | None, typer.Option(help="What all workers together may take, like 8GB.")]


def runner(workers: int, memory: str | None, *, ray: bool) -> Runner:
    """The Runner that the options name."""
    if ray:
        return Ray(memory=memory)
    return Local(workers, memory=memory) if workers > 1 else Serial(memory=memory)


def run(
    pipeline: Annotated[str, typer.Argument(help="A pipeline file, like pipelines/demo.py.")],
    to: Annotated[str | None, typer.Option(help="Stop after this step.")] = None,
    out: Annotated[str | None, typer.Option(help="Where results go; out/NAME of the pipeline file by default.")] = None,
    workers: Workers = 1,
    ray: Annotated[bool, typer.Option("--ray", help="Run on the Ray cluster at RAY_ADDRESS, or a local one.")] = False,
    memory: Memory = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what each stage would drop and change in a sample; write nothing.")
    ] = False,
    sample_mb: Annotated[int, typer.Option(min=1, help="Megabytes of text that a dry run tries.")] = 16,
    examples: Annotated[int, typer.Option(min=0, help="Documents that a dry run shows for each change.")] = 3,
) -> None:
    """Run a pipeline file, step by step; what is done already is found by its receipts."""
    console = Console()
    steps = pipeline_file.load(pipeline)
    if dry_run:
        _rehearse(console, steps, to, sample_mb << 20, examples)
        return
    out = out or files.join("out", files.name_of(pipeline).removesuffix(".py"))

    def starting(name: str) -> None:
        console.rule(f"[bold]{name}", align="left", style="dim")

    for done in pipeline_file.execute(steps, out, runner(workers, memory, ray=ray), to, starting):
        _show(console, done.result)
        console.print(f"[dim]{done.seconds:.1f} s[/]")
    console.print(f"\n[dim]look closer:[/] dataprep inspect {escape(out)}", highlight=False)


def _rehearse(
    console: Console, steps: list[pipeline_file.Step], to: str | None, sample_bytes: int, examples: int
) -> None:
    """Show what a run would change."""
    from . import dry_run

    with console.status("trying a sample"):
        found, tried = dry_run.rehearse(steps, to, sample_bytes=sample_bytes, examples=examples)
    dry_run.show(console, found, tried)


def _show(console: Console, result: Any) -> None:
    """What a step returned: the books of a Dataset, else what it says of itself."""
    stats = getattr(result, "stats", None)
    if stats is not None and len(stats):
        console.print(stats)
    elif result is not None:
        console.print(escape(str(result)), highlight=False, soft_wrap=True)


def train(
    shards: Annotated[list[str], typer.Argument(help="A folder of token shards, or several as NAME=FOLDER.")],
    out: Annotated[str, typer.Option(help="Folder for checkpoints and metrics; a stopped run goes on.")],
    preset: Annotated[str, typer.Option(help="tiny, 11m, 42m, gpt2-124m ...")] = "tiny",
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a field.")] = None,
    start_over: Annotated[bool, typer.Option("--start-over", help="Remove the run in --out first.")] = False,
) -> None:
    """Train a GPT on token shards; `python -m dataprep.train` is the same with torch and numpy alone."""
    from dataprep import train as trainer

    config = trainer.preset(preset).override(*(settings or []))
    print(trainer.train(trainer.named(shards), out=out, config=config, resume=not start_over))


def clean(folder: Annotated[str, typer.Argument(help="A folder that a run wrote.")]) -> None:
    """Remove the saved steps between input and result; `dataprep why` can then no longer show dropped texts."""
    found = [place for place in _steps_under(folder) if files.exists(place)]
    freed = sum(files.size(f) for place in found for f in files.expand(place))
    for place in found:
        files.remove(place)
    print(f"removed {len(found)} folders of steps, {freed / 1e6:.1f} MB")


def _steps_under(folder: str) -> list[str]:
    if not files.is_dir(folder):
        msg = f"{folder} is not a folder; give the folder that a run wrote"
        raise PlanError(msg)
    return [files.join(place, "steps") for place in (folder, *(files.join(folder, n) for n in files.listdir(folder)))]


COMMANDS = (run, train, clean)
