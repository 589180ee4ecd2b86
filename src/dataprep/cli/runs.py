"""Commands that run pipelines and training, and remove saved steps: run, train, clean."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from dataprep.core import pipeline_file
from dataprep.core.folder import STEPS, Folder
from dataprep.errors import PlanError
from dataprep.store import files

from .options import Memory, RunFolder, Workers, runner


def run(
    pipeline: Annotated[str, typer.Argument(help="A pipeline file, like pipelines/demo.py.")],
    to: Annotated[str | None, typer.Option(help="The last step to run.")] = None,
    out: Annotated[str | None, typer.Option(help="Folder for the results; out/NAME by default, as in NAME.py.")] = None,
    workers: Workers = 1,
    ray: Annotated[bool, typer.Option("--ray", help="Run on the Ray cluster at RAY_ADDRESS, or a local one.")] = False,
    memory: Memory = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the drops and changes of each stage on a sample; write nothing.")
    ] = False,
    sample_mb: Annotated[int, typer.Option(min=1, help="Megabytes of text in the sample of a dry run.")] = 16,
    examples: Annotated[int, typer.Option(min=0, help="Documents to show per reason and change in a dry run.")] = 3,
) -> None:
    """Run the steps of a pipeline file; work that an earlier run finished is not repeated."""
    console = Console()
    steps = pipeline_file.load(pipeline)
    if dry_run:
        _rehearse(console, steps, to, sample_mb << 20, examples)
        return
    out = out or files.join("out", files.name_of(pipeline).removesuffix(".py"))

    def starting(name: str) -> None:
        console.rule(f"[bold]{name}", align="left", style="dim")

    for done in pipeline_file.execute(steps, out, runner(workers, memory, ray=ray), to, starting):
        _print_result(console, done.result)
        console.print(f"[dim]{done.seconds:.1f} s[/]")
    console.print(f"\n[dim]details:[/] dataprep inspect {escape(out)}", highlight=False)


def _rehearse(
    console: Console, steps: list[pipeline_file.Step], to: str | None, sample_bytes: int, examples: int
) -> None:
    """Run the steps on a sample, and print the drops and changes of each stage."""
    from dataprep.history.rehearse import rehearse

    from .dry_run import print_rehearsal

    with console.status("running a sample"):
        found, tried = rehearse(steps, to, sample_bytes=sample_bytes, examples=examples)
    print_rehearsal(console, found, tried)


def _print_result(console: Console, result: Any) -> None:
    """Print the result of a step: the statistics of a Dataset, else its text."""
    stats = getattr(result, "stats", None)
    if stats is not None and len(stats):
        console.print(stats)
    elif result is not None:
        console.print(escape(str(result)), highlight=False, soft_wrap=True)


def train(
    shards: Annotated[list[str], typer.Argument(help="A folder of token shards, or several as NAME=FOLDER.")],
    out: Annotated[str, typer.Option(help="Folder for checkpoints and metrics; a stopped run resumes.")],
    preset: Annotated[str, typer.Option(help="Model and training settings: tiny, 11m, 42m, gpt2-124m ...")] = "tiny",
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting.")] = None,
    start_over: Annotated[bool, typer.Option("--start-over", help="Remove the run in --out, and start again.")] = False,
) -> None:
    """Train a GPT on token shards; `python -m dataprep.train` does the same with only torch and numpy installed."""
    from dataprep import train as trainer

    config = trainer.preset(preset).override(*(settings or []))
    print(trainer.train(trainer.named(shards), out=out, config=config, resume=not start_over))


def clean(folder: RunFolder) -> None:
    """Remove the saved steps between input and result; `dataprep why` then cannot show dropped texts."""
    if not files.is_dir(folder):
        msg = f"{folder} is not a folder; it must be the folder of a run"
        raise PlanError(msg)
    inside = (folder, *(files.join(folder, name) for name in files.listdir(folder)))
    found = [url for url in (Folder(home).path(STEPS) for home in inside) if files.exists(url)]
    freed = sum(files.size(f) for url in found for f in files.expand(url))
    for url in found:
        files.remove(url)
    print(f"removed {len(found)} folders of steps, {freed / 1e6:.1f} MB")


COMMANDS = (run, train, clean)
