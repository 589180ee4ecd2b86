"""Trials on a sample: the command `plan`, which estimates memory, disk and time, and the output of `--dry-run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from dataprep import pipeline_file
from dataprep.core.model.batch import show_id
from dataprep.core.output.layout import Folder
from dataprep.core.run.runner import WORKER_BYTES, machine_memory, parse_bytes
from dataprep.errors import DataprepError, PlanError, counted
from dataprep.experiment.cost import duration
from dataprep.history.cluster import Cluster, Forecast, forecast
from dataprep.history.status import DONE, status
from dataprep.history.trials import StageChanges, Training, estimate, rehearse
from dataprep.messages.counts import ORDINARY, STAGE, WORD, costliest
from dataprep.shown.terminal import table_of
from dataprep.store import files
from dataprep.unicode.valid import printable

from .as_json import Json, of_estimate, of_trainings, only_json, print_json
from .look import print_messages
from .options import Memory, Screen, Workers, one_line

if TYPE_CHECKING:
    from dataprep.train.plan import TrainingCost

CONTEXT_CHARS = 30  # shown before the first difference
VALUES_SHOWN = 6  # of a column that a stage adds
LEGEND = "- documents dropped for this reason   ~ documents with a changed column   . a count   + an added column"
WORDS_SHOWN = 20  # of names


def plan(
    what: Annotated[list[str], typer.Argument(metavar="PIPELINE|INPUT...", help="A pipeline file, or input files.")],
    workers: Workers = 1,
    memory: Memory = None,
    sample_mb: Annotated[int, typer.Option(min=1, help="Megabytes of text in the sample.")] = 16,
    mfu: Annotated[
        float, typer.Option(min=0.01, max=1.0, help="Share of a GPU's peak operations per second that a training uses.")
    ] = 0.4,
    cores: Annotated[
        int | None, typer.Option(min=1, help="Forecast a run on this number of cores, of any number of machines.")
    ] = None,
    input_bytes: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Text in the forecast's input, such as 100TB.")
    ] = None,
    preempted: Annotated[float, typer.Option(min=0.0, max=60.0, help="How often a core is lost per hour.")] = 0.0,
    latency_ms: Annotated[float, typer.Option(min=0.0, help="Time per request; about 20 on an object store.")] = 0.0,
    core_hour: Annotated[float, typer.Option(min=0.0, help="Price of a core per hour.")] = 0.0,
    million_requests: Annotated[float, typer.Option(min=0.0, help="Price of a million requests.")] = 0.0,
    as_json: Json = False,
) -> None:
    """Estimate peak memory, disk, passes and time of a run, by running it on a sample."""
    if cores is None and (input_bytes or preempted or latency_ms or core_hour or million_requests):
        msg = "--input-bytes, --preempted, --latency-ms and prices are for a forecast; add --cores"
        raise PlanError(msg)
    if len(what) > 1 and any(name.endswith(".py") for name in what):
        msg = "plan needs either one pipeline file or input files; pass only one of them"
        raise PlanError(msg)
    allowed = machine_memory() if memory is None else parse_bytes(memory)
    wanted = None if input_bytes is None else parse_bytes(input_bytes)
    console = Screen()
    with only_json(as_json), console.status("running a sample"):
        is_file = len(what) == 1 and what[0].endswith(".py")
        steps = pipeline_file.load(what[0]) if is_file else [_reading(what)]
        found = estimate(steps, sample_mb << 20)
    trainings = [(one.step, _training_cost(one)) for one in found.trainings if find_spec("torch")]
    size = found.text_bytes if wanted is None else wanted
    cluster = None if cores is None else Cluster(cores, preempted=preempted, latency=latency_ms / 1000)
    ahead = None if cluster is None else forecast(found, size, cluster)
    price = ahead.price(cluster, core_hour, million_requests) if ahead and cluster else 0.0
    if as_json:
        shown = of_estimate(found, workers, allowed, WORKER_BYTES) | {"trainings": of_trainings(trainings, mfu)}
        more = {"cores": cores, "text_bytes": size, **asdict(ahead), "price": price} if ahead else {}
        print_json(shown | ({"forecast": more} if more else {}))
        return
    stored, text, sample = map(decimal, (found.stored_bytes, found.text_bytes, found.sample_bytes))
    console.print(f"{stored} stored, about {text} of text; the sample has {sample}", highlight=False)
    table = table_of("step", "passes", "disk MB", "at most MB", "time", "CPU time", "memory MB")
    for cost in found.costs:
        sizes = (f"{n / 1e6:,.1f}" for n in (cost.disk_bytes, cost.most_bytes))
        times = map(duration, (cost.seconds / workers, cost.cpu_seconds))
        table.add_row(cost.step, f"{cost.n_passes}", *sizes, *times, f"{cost.peak_bytes / 1e6:,.0f}")
    console.print(table)
    threads = ", and the second thread that one worker uses for most deduplication" if workers == 1 else ""
    console.print(f"the times leave out the start of the command, about half a second{threads}", highlight=False)
    _print_memory(console, "all workers together", found.needed_bytes(workers, allowed), allowed, "use fewer workers")
    for held in found.reserved:
        needed = held.n_bytes + WORKER_BYTES
        _print_memory(console, f"{held.what}, in addition to one worker", needed, allowed, held.instead)
    for step, training in trainings:
        _print_training(console, step, training, mfu)
    if ahead and cluster:
        _print_forecast(console, ahead, size, cluster, price)
    out = files.join("out", files.name_of(what[0]).removesuffix(".py"))
    if what[0].endswith(".py") and (finished := _finished(out)):
        names, stored = ", ".join(finished), decimal(sum(finished.values()))
        line = f"{out} has results of {names}: a run there recreates only what has changed since then"
        console.print(f"{line}; this is the estimate of a whole run", highlight=False, markup=False)
        line = f"the result that it replaces is kept until the new one is complete: up to {stored} of disk in addition"
        console.print(line, highlight=False, markup=False)


def _print_forecast(console: Console, ahead: Forecast, size: int, cluster: Cluster, price: float) -> None:
    """Print what a run on many cores takes."""
    table = table_of(f"{decimal(size)} on {counted(cluster.cores, 'core')}", "about")
    table.add_row("elapsed time", duration(ahead.seconds))
    table.add_row("  of which one process works alone", duration(ahead.alone_seconds))
    table.add_row("core-hours of work", f"{ahead.core_seconds / 3600:,.1f}")
    for name, n in (("tasks", ahead.tasks), ("files opened", ahead.opens), ("requests of a store", ahead.requests)):
        table.add_row(name, f"{n:,.3g}" if n >= 1e6 else f"{n:,.0f}")
    for name, n_bytes in (
        ("read and written", ahead.n_bytes), ("memory of a task", ahead.task_bytes),
        ("memory of the process that joins duplicates", ahead.alone_bytes),
    ):  # fmt: skip
        table.add_row(name, decimal(int(n_bytes)))
    if price:
        table.add_row("price", f"{price:,.2f}")
    console.print(table)
    console.print("the forecast is an extrapolation from the sample: docs/cluster.md states how far it was checked",
                  highlight=False)  # fmt: skip


def _training_cost(training: Training) -> TrainingCost:
    from dataprep.train.plan import training_cost  # with torch

    return training_cost(training.config, training.vocab_size, training.n_tokens)


def _print_training(console: Console, step: str, cost: TrainingCost, mfu: float) -> None:
    """Print the operations, memory and time of a training, with a row per GPU."""
    from dataprep.train.plan import MEMORY

    console.print(
        f"{step}: {cost.parameters:,} parameters, {cost.tokens:,} tokens in {counted(cost.steps, 'step')} "
        f"({cost.epochs:.2g} passes): {cost.flops:.2g} FLOPs", highlight=False,
    )  # fmt: skip
    table = table_of("on one", "needs GB", "of GB", "rows at once", f"time at {mfu:.0%} MFU")
    for name, memory in MEMORY.items():
        on = cost.on(name, mfu)
        rows = "does not fit" if on.rows is None else f"{on.rows:,}"
        table.add_row(name, f"{on.n_bytes / 1e9:,.1f}", f"{memory / 1e9:,.0f}", rows, duration(on.seconds))
    console.print(table)
    state, row = decimal(cost.state_bytes), decimal(int(cost.row_bytes))
    line = f"{step}: {state} for weights, gradients and optimiser, and {row} per row, in bfloat16 and not compiled; "
    console.print(f"{line}--mfu sets the share of the GPU's peak that is assumed", highlight=False)


def _finished(out: str) -> dict[str, int]:
    """Return the steps with a complete result in the folder of a run, and the bytes of its files; {} without one."""
    try:
        homes = [Folder(step.url) for step in status(out)[1] if step.state == DONE or step.documents is not None]
        urls = {home: [home.path(name) for name in home.named] for home in homes}
        return {home.name: sum(files.size(url) for url in some if files.exists(url)) for home, some in urls.items()}
    except DataprepError:
        return {}


def _print_memory(console: Console, holder: str, needed: int, allowed: int, instead: str) -> None:
    """Print the memory that is needed and that is allowed; `instead` is the advice if it does not fit."""
    fits = "fits" if needed <= allowed else "[bold red]does not fit[/]"
    line = f"{holder}: about {decimal(needed)} of memory, {fits} into {decimal(allowed)}"
    console.print(line if needed <= allowed else f"{line}; {instead}", highlight=False)


def _reading(inputs: list[str]) -> pipeline_file.Step:
    """Return a step that reads input files and seals them."""

    def read(out: str, runner: Any) -> Any:
        import dataprep as dp

        return dp.Pipeline().run(dp.read(inputs), out=out, runner=runner)

    return pipeline_file.Step("read", read, ("out", "runner"))


def dry_run(
    steps: list[pipeline_file.Step], to: str | None = None, sample_bytes: int = 16 << 20, examples: int = 3,
    *, end: str = "nothing is written, and the temporary folder is removed",
) -> None:  # fmt: skip
    """Run the steps of a pipeline file on a sample; print a table and examples of each stage's drops and changes.

    - to: the step to run, with the steps that it needs; None: all steps.
    - sample_bytes: the size of the sample's text.
    - examples: documents to show per reason and change.
    - end: the end of the last line.
    """
    console = Screen()
    with console.status("running a sample"):
        found, tried, whole = rehearse(steps, to, sample_bytes=sample_bytes, examples=examples)
    for one in found:
        if not one.stages:
            continue
        console.rule(f"[bold]{escape(one.step)}", align="left", style="dim")
        console.print(_table(one.stages))
        for changes in one.stages:
            if changes.stats.name.startswith(STAGE):
                print_messages(console, changes.stats)
            _print_examples(console, changes)
    of_all = f", of about {decimal(whole)}" if decimal(tried) != decimal(whole) else ""
    read = f"all {decimal(tried)}" if tried >= whole else f"a sample of {decimal(tried)}{of_all}"
    console.print(f"\n[dim]{LEGEND}[/]", highlight=False)
    console.print(f"[dim]dry run on {read} of text: {end}[/]", highlight=False)


def _table(stages: Sequence[StageChanges]) -> Table:
    """Return a table with a row per stage, then one per reason, changed column, count and added value."""
    table = table_of("stage", "documents", "of input")
    for one in stages:
        n = max(1, one.stats.docs_in)
        table.add_row(one.stats.name, f"{one.stats.docs_out:,}", f"{one.stats.docs_out / n:.1%}", style="bold")
        rows = [(f"- {reason}", k) for reason, k in one.stats.reasons.items()]
        rows += [(f"~ {column} changed", k) for column, k in sorted(one.changed.items())]
        counts = {} if one.stats.name.startswith(STAGE) else one.stats.counts
        rest = (pair for pair in sorted(counts.items()) if pair[0].partition(".")[0] not in (WORD, ORDINARY))
        rows += [(f". {name}", k) for name, k in rest]
        words = costliest(counts)
        shown = words[:WORDS_SHOWN]
        rows += [(f". {WORD}.{word}, {counted(n, 'time')} as an ordinary word", k) for word, k, n in shown]
        rows += [(". other words of names", sum(k for _, k, _ in words[WORDS_SHOWN:]))] if words[WORDS_SHOWN:] else []
        for what, k in rows:
            table.add_row(f"  {what}", f"{k:,}", "" if what[0] == "." else f"{k / n:.1%}", style="dim")
        for column, values in sorted(one.added.items()):
            table.add_row(f"  + {column}", "", "", style="dim")
            for value, k in values.most_common(VALUES_SHOWN):
                table.add_row(f"      {escape(printable(value))}", f"{k:,}", f"{k / n:.1%}", style="dim")
    return table


def _print_examples(console: Console, changes: StageChanges) -> None:
    def line(text: str) -> None:
        console.print(text, overflow="ellipsis", no_wrap=True, highlight=False)

    for reason, examples in sorted(changes.stats.examples.items()):
        if examples and changes.n_examples:
            console.print(f"[bold]{escape(changes.stats.name)}[/] drops by {escape(reason)}", highlight=False)
            for e in examples[: changes.n_examples]:
                line(f"  [cyan]{show_id(e.id)}[/] [red]{escape(one_line(e.text))}[/]")
    for column, of_column in sorted(changes.examples.items()):
        if of_column:
            console.print(f"[bold]{escape(changes.stats.name)}[/] changes {escape(column)}", highlight=False)
        for change in of_column:
            before, after = excerpts(change.before, change.after)
            line(f"  [cyan]{show_id(change.id)}[/] [red]{escape(one_line(before))}[/]")
            line(f"  {'':{len(show_id(change.id))}} [green]{escape(one_line(after))}[/]")


def excerpts(before: str, after: str) -> tuple[str, str]:
    """Return the parts of two texts from shortly before their first difference on.

    They begin CONTEXT_CHARS characters before the difference, with an ellipsis for text that is left out.
    """
    pairs = enumerate(zip(before, after, strict=False))
    start = max(0, next((i for i, (a, b) in pairs if a != b), min(len(before), len(after))) - CONTEXT_CHARS)
    mark = "\u2026" if start else ""
    return mark + before[start:], mark + after[start:]
