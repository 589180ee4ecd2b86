"""Commands that make runs or remove parts of them: run, persona, clean, forget."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape

from dataprep import pipeline_file
from dataprep.core.model.batch import show_id
from dataprep.core.output import owned, pruning
from dataprep.core.output.layout import Folder
from dataprep.core.output.run_folder import refuse_newer
from dataprep.core.run.runner import Runner
from dataprep.errors import PlanError, counted
from dataprep.store import files, lease
from dataprep.store.stopping import clean_end

from .options import Memory, RunFolder, Screen, Timeout, Workers, runner_of, say
from .trial import dry_run as dry_run_of

SHOWN = 20  # copies, ids and files that `forget` prints


def run(
    pipeline: Annotated[str, typer.Argument(help="A pipeline file, such as pipelines/demo.py.")],
    to: Annotated[str | None, typer.Option(help="The step to run, with the steps that it needs; default: all.")] = None,
    out: Annotated[str | None, typer.Option(help="Folder for the results; by default out/NAME for NAME.py.")] = None,
    workers: Workers = 1,
    ray: Annotated[bool, typer.Option("--ray", help="Run on the Ray cluster at RAY_ADDRESS, or a local one.")] = False,
    queue: Annotated[
        str | None, typer.Option(metavar="DIR", help="Run in the processes of `dataprep work DIR`, on any machines.")
    ] = None,
    memory: Memory = None,
    timeout: Timeout = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the effects of each stage on a sample; write no results.")
    ] = False,
    sample_mb: Annotated[int, typer.Option(min=1, help="Megabytes of text that a dry run reads.")] = 16,
    examples: Annotated[
        int, typer.Option(min=0, help="Number of documents to show per reason and change in a dry run.")
    ] = 3,
) -> None:
    """Run the steps of a pipeline file; work that an earlier run finished is not repeated."""
    console = Screen()
    steps = pipeline_file.load(pipeline)
    if dry_run:
        dry_run_of(steps, to, sample_mb << 20, examples)
        return
    out = out or files.join("out", files.name_of(pipeline).removesuffix(".py"))

    def starting(name: str) -> None:
        console.rule(f"[bold]{name}", align="left", style="dim")

    with clean_end(out):
        for done in pipeline_file.execute(
            steps, out, runner_of(workers, memory, ray=ray, queue=queue, timeout=timeout), to, starting
        ):
            _print_result(console, done.result)
            console.print(f"[dim]{done.seconds:.1f} s{', done before' if done.before else ''}[/]")
    console.print(f"\n[dim]details:[/] dataprep inspect {escape(out)}", highlight=False)


def _print_result(console: Console, result: Any) -> None:
    """Print the result of a step: the statistics of a Dataset, else its text."""
    stats = getattr(result, "stats", None)
    if stats is not None and len(stats):
        console.print(stats)
    elif result is not None:
        console.print(escape(str(result)), highlight=False, soft_wrap=True)


def materialize(
    folder: Annotated[str, typer.Argument(help='A sealed Dataset that was made with layout="view".')],
    workers: Workers = 1,
) -> None:
    """Write the documents of a view (`layout="view"`) into its folder, so that it no longer needs its input.

    The files are those that the same Pipeline writes without layout="view".
    """
    from dataprep.core.run.materialize import materialize as copy

    say(str(copy(folder, runner_of(workers))))


def prune(
    folder: RunFolder,
    all_: Annotated[bool, typer.Option("--all", help="Remove everything that dataprep wrote into DIR.")] = False,
) -> None:
    """Delete the inputs and verdicts that deduplications saved; `dataprep why` then cannot show dropped texts.

    The tables of dropped documents and cut spans are kept. The files of an unfinished result, and of one that was
    replaced, are removed too.

    Files that dataprep did not write are kept, and a message names the first of them.
    """
    lease.check_place(folder)
    if not files.is_dir(folder):
        if all_ and not files.exists(folder):
            say(f"{folder} does not exist; there is nothing to remove")
            return
        msg = f"{folder} is not a folder; it must be the folder of a run"
        raise PlanError(msg)
    refuse_newer(folder)
    if all_:
        freed, kept = owned.remove_all(folder)
        say(f"removed what dataprep wrote into {folder}, {decimal(freed)}")
    else:
        inside = (folder, *(files.join(folder, name) for name in files.listdir(folder)))
        homes = [home for home in map(Folder, inside) if home.is_of_a_run or home.kind is not None]
        found = [home for home in homes if any(files.exists(home.path(name)) for name in pruning.REMOVED)]
        with lease.all_held(home.url for home in found):
            freed = sum(map(pruning.prune, found))
        kept = [home.path(name) for home in found for name in owned.foreign(home.url, pruning.REMOVED)]
        what = "saved texts and verdicts, unfinished and replaced files"
        say(f"removed the {what} of {counted(len(found), 'folder')}, {decimal(freed)}; drop and cut tables are kept")
    if kept:
        more = f" and {counted(len(kept) - 1, 'more file')}" if len(kept) > 1 else ""
        say(f"kept {kept[0]}{more}, which dataprep did not write")


def forget(
    folder: Annotated[str, typer.Argument(help="The folder of a run, of a Dataset, or of token shards.")],
    ids: Annotated[
        str | None, typer.Option(help="A file with an id per line (3:1745 or an integer), or Parquet or CSV with `id`.")
    ] = None,
    of: Annotated[
        str | None, typer.Option(help="The folder that the ids refer to, if folders number documents differently.")
    ] = None,
    with_copies: Annotated[
        bool, typer.Option("--with-copies", help="Also forget the duplicates of the documents.")
    ] = False,
    missing_ok: Annotated[bool, typer.Option("--missing-ok", help="Continue if some ids are unknown.")] = False,
) -> None:
    """Remove documents from all results of a run, and from every rerun; without --ids, finish an interrupted call."""
    refuse_newer(folder)
    from dataprep.forget.forget import forget as remove

    console = Screen(highlight=False, soft_wrap=True)
    done = remove(folder, ids, of=of, with_copies=with_copies, missing_ok=missing_ok)
    for url, n in done.removed.items():
        if n:
            console.print(f"removed {n:,} from {escape(url)}")
    console.print(f"[bold]{done}[/]")
    if n := len(done.unknown):
        shown = ", ".join(show_id(i) for i in done.unknown[:SHOWN].tolist())
        console.print(f"[yellow]{counted(n, 'id')} {'is' if n == 1 else 'are'} unknown:[/] {shown}")
    _print_copies(console, done.copies, with_copies=with_copies)
    _print_files(console, "cleared", done.cleared)
    _print_files(console, "[yellow]may still hold the text, or what was learned from it[/]", done.elsewhere)


def _print_copies(console: Console, copies: Any, *, with_copies: bool) -> None:
    if not copies:
        return
    tail = "forgotten too" if with_copies else "not forgotten; use --with-copies to forget them"
    console.print(f"[yellow]{counted(len(copies), 'document')} may contain the same text ({tail}):[/]")
    for copy in copies[:SHOWN]:
        similarity = "" if copy.similarity is None else f", similarity {copy.similarity:.3f}"
        relation = "was kept for" if copy.is_kept else "was dropped for"
        console.print(f"  {show_id(copy.id)} {relation} {show_id(copy.of)} ({escape(copy.stage)}{similarity})")
    if len(copies) > SHOWN:
        console.print(f"  and {len(copies) - SHOWN:,} more")


def _print_files(console: Console, title: str, urls: Any) -> None:
    if urls:
        console.print(f"{title}:")
        for url in urls[:SHOWN]:
            console.print(f"  {escape(url)}")
        if len(urls) > SHOWN:
            console.print(f"  and {len(urls) - SHOWN:,} more")


def persona(
    exports: Annotated[list[str], typer.Argument(metavar="EXPORTS...", help="Chat exports, or folders of them.")],
    person: Annotated[
        list[str] | None,
        typer.Option(
            "--person", metavar="NAME", help=("The author to imitate, as named in the exports; repeat for more names.")
        ),
    ] = None,
    me: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=("The owner's name, for exports that call the owner Me; default of --person.")
        ),
    ] = None,
    out: Annotated[str, typer.Option(help="Folder for the results of all steps.")] = "out/persona",
    template: Annotated[str, typer.Option(help="course, chatml, or a file with a Jinja chat template.")] = "chatml",
    max_length: Annotated[
        int | None,
        typer.Option(help=("Maximum tokens per window: 1024; with --train 256, or the context of --init-from.")),
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option(help="A tokenizer.json, or its folder; without it, a tokenizer is trained.")
    ] = None,
    vocab_size: Annotated[int, typer.Option(help="Number of ids of the trained tokenizer.")] = 8_000,
    gap: Annotated[str, typer.Option(help="A pause of this length ends a conversation.")] = "1h",
    context: Annotated[int, typer.Option(help="Number of turns that a window shares with the previous one.")] = 2,
    val: Annotated[float, typer.Option(help="Fraction of the person's text held out for validation.")] = 0.05,
    test: Annotated[float, typer.Option(help="Fraction of the person's text held out for testing.")] = 0.0,
    key: Annotated[
        str | None, typer.Option(help="File with the secret key of the pseudonyms; default: a random key.")
    ] = None,
    refused: Annotated[
        str | None, typer.Option(help="File with the names of people who refused consent, one per line.")
    ] = None,
    names: Annotated[str | None, typer.Option(help="File with additional names to replace, one per line.")] = None,
    common_words: Annotated[
        str | None, typer.Option(help="File with words not to treat as names, one per line.")
    ] = None,
    cap_repeats: Annotated[
        bool, typer.Option("--cap-repeats", help="Train only sqrt(n) times on an exchange that occurs n times.")
    ] = False,
    people: Annotated[
        str | None, typer.Option(help="File of people with several names, as `dataprep people` writes it.")
    ] = None,
    keep_pii: Annotated[bool, typer.Option("--keep-pii", help="Keep phone numbers and other personal data.")] = False,
    platform: Annotated[str | None, typer.Option(help="whatsapp, telegram ...; detected by default.")] = None,
    date_order: Annotated[str | None, typer.Option(help="dmy, mdy or ymd, for ambiguous dates.")] = None,
    train: Annotated[
        bool, typer.Option("--train", help="Train a model, first on all chats, then on the answers.")
    ] = False,
    init_from: Annotated[str | None, typer.Option(metavar="DIR", help="With --train: start from this model.")] = None,
    preset: Annotated[str | None, typer.Option(help="With --train: preset of both models; default: tiny.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="With --train: change a setting of both models."),
    ] = None,
    replay: Annotated[float, typer.Option(help="With --train: fraction of plain chats mixed with the answers.")] = 0.25,
    workers: Workers = 1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show drops and changes for up to 16 MB of the input; write no results.")
    ] = False,
) -> None:
    """Make a fine-tuning set of one person's answers from chats; with --train, also train a model on it."""
    from dataprep.persona import Persona
    from dataprep.persona import persona as make

    person = person or ([] if me is None else [me])
    given = {"format": platform, "date_order": date_order, "me": me}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}

    def work(out: str, runner: Runner) -> Persona:
        return make(
            exports,
            person,
            out,
            template=template,
            max_length=window,
            tokenizer=tokenizer,
            vocab_size=vocab_size,
            gap=gap,
            context=context,
            val=val,
            test=test,
            key_file=key,
            refused=refused,
            names=names,
            common_words=common_words,
            people=people,
            pii=not keep_pii,
            cap_repeats=cap_repeats,
            transcripts=train,
            runner=runner,
            **options,
        )

    how = _tuning(train=train, init_from=init_from, preset=preset, settings=tuple(settings or ()), replay=replay)
    if init_from is not None:
        from dataprep.inference.chat_model import ChatModel

        begun = ChatModel.load(init_from)
        tokenizer, max_length = tokenizer or init_from, max_length or begun.context
    window = max_length or (256 if train else 1024)
    console = Screen(highlight=False)
    if dry_run:
        dry_run_of([pipeline_file.Step("persona", work, ("out", "runner"))])
        return
    made = work(out, runner_of(workers))
    console.print(made.windows.stats)
    console.print(escape(str(made)))
    for url in made.jsonl.values():
        console.print(escape(url))
    if made.transcripts is not None:
        from dataprep.inference.tune import tune

        console.print(escape(str(tune(made.shards, made.transcripts, out, how, windows=made.windows))), soft_wrap=True)
        return
    rows = f"--set layout=bestfit --set model.context={window}"  # complete windows, not cut at row ends
    console.print(
        f"[dim]to train:[/] dataprep train {escape(out)}/shards --out {escape(out)}/model {rows}", soft_wrap=True
    )


def _tuning(*, train: bool, **given: Any) -> Any:
    """Return the `Tuning` of the options of --train. Raises PlanError if one is given without it."""
    if not train:
        named = next((name for name in ("init_from", "preset", "settings") if given[name]), None)
        if named is not None:
            msg = f"--{'set' if named == 'settings' else named.replace('_', '-')} applies only to training; add --train"
            raise PlanError(msg)
        return None
    from dataprep.inference.tune import Tuning

    how = Tuning(**given)
    how.check()
    return how
