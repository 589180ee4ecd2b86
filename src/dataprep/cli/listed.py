"""The list of all commands: the entry of each in `dataprep --help`, and the module that defines it.

A module is imported when its command is called, or when the help or the options of this command are needed: the
libraries of one command are not loaded for another command.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from dataprep.errors import need
from dataprep.store.stopping import CODES, clean_end, importing

from .wording import check_paths


class Listed(NamedTuple):
    """A command, as the list shows it.

    Attributes:
        function: the name of its function in the module `module` of this folder.
        prints: True if the command only prints its result, so that it has no --quiet.
        help: the first paragraph of the function's docstring.
        reads: the parameters with folders of results that must not be replaced while the command reads them.
    """

    name: str
    module: str
    function: str
    help: str
    prints: bool = False
    reads: tuple[str, ...] = ()


PANELS: dict[str, tuple[Listed, ...]] = {
    "Run": (
        Listed("demo", "demo", "demo", help=
               "Train a model on texts of this machine (documentation, licences and samples); takes a few minutes."),
        Listed("init", "init", "init", help=
               "Inspect a folder or file, and write a commented pipeline file for it; nothing else is written."),
        Listed("run", "runs", "run", help=
               "Run the steps of a pipeline file; work that an earlier run finished is not repeated."),
        Listed("work", "work", "work", help=
               "Take tasks of `dataprep run --queue DIR` from a folder and do them, until stopped; start it on any "
               "machines."),
        Listed("plan", "trial", "plan", prints=True, help=
               "Estimate peak memory, disk, passes and time of a run, by running it on a sample."),
    ),
    "Inspect a run": (
        Listed("status", "status", "status", prints=True, reads=("folder",), help=
               "Show the finished and remaining work of a folder, the process that writes into it, and the last "
               "failure."),
        Listed("inspect", "look", "inspect", prints=True, reads=("folder",), help=
               "Show the documents that each stage kept and dropped, by source and reason, with examples."),
        Listed("report", "look", "report", help=
               "Write one HTML page about a run, from the input to token shards and training; it needs no other "
               "files."),
        Listed("card", "card", "card", prints=True, reads=("folder",), help=
               "Print a data card (Markdown) of a run: size, stages, sources, settings, and the judgements of a "
               "review."),
        Listed("explore", "explore", "explore", prints=True, help=
               "Serve a page to this machine on which the removals of runs are explored, and judged in a sample."),
        Listed("why", "why", "why", prints=True, reads=("folder",), help=
               "Show why a document was dropped or cut: stages, reasons, spans, texts, and the document kept for it."),
        Listed("clusters", "clusters", "clusters", prints=True, reads=("folder",), help=
               "Show clusters of duplicates: each kept document, those dropped as its duplicates, and the words "
               "that differ."),
        Listed("threshold", "threshold", "threshold", prints=True, reads=("folder",), help=
               "Show which documents a MinHash or a filter would keep and drop at other thresholds; nothing is "
               "written."),
        Listed("what-if", "what_if", "what_if", prints=True, reads=("folder",), help=
               "Show how many documents a run would keep without a stage, or with other parameters; nothing is "
               "written."),
        Listed("diff", "diff", "diff", prints=True, reads=("a", "b"), help=
               "Compare B with A: documents, bytes and tokens lost and gained by source, with drop reasons and "
               "examples."),
        Listed("search", "search", "search", prints=True, reads=("folder",), help=
               "Count and show the occurrences of a text in a corpus; with --longest, those of the longest shared "
               "passage."),
    ),
    "Tokens": (
        Listed("train-tokenizer", "tokenizer", "train_tokenizer", help=
               "Train a tokenizer on a sample of documents: byte-level BPE, or characters."),
        Listed("extend-tokenizer", "tokenizer", "extend_tokenizer", help=
               "Add special tokens to a tokenizer; all other ids are unchanged, so a model of it can be trained "
               "further."),
        Listed("tokenizer-stats", "tokenizer", "tokenizer_stats", prints=True, help=
               "Report on a tokenizer: bytes per token by source and language, rare and long tokens."),
        Listed("show", "tokens", "show", prints=True, reads=("folder",), help=
               "Show one document as the trainer reads it: its tokens with their ids, its source and its shard."),
        Listed("export", "tokens", "export", help=
               "Write token shards in the format of llm.c, Megatron-LM, datatrove (nanotron) or nanoGPT."),
        Listed("import", "tokens", "import_", help=
               "Write token shards from .bin files of nanoGPT or llm.c; documents end at the separator."),
    ),
    "Models": (
        Listed("train", "train", "train", help=
               "Train a GPT on token shards, or fine-tune one on messages."),
        Listed("evaluate", "evaluate", "evaluate", prints=True, help=
               "Measure a model: loss per source or language, multiple choice by likelihood, and classification."),
        Listed("experiment", "experiment", "experiment", help=
               "Train the same model on versions of a corpus, and compare their losses on held-out documents, with "
               "intervals."),
        Listed("scaling", "experiment", "scaling", help=
               "Train models of several sizes with equal numbers of operations; fit and predict the best size."),
        Listed("chat", "chat", "chat", prints=True, help=
               "Chat with a model in the terminal; /help lists the commands. Lines from a pipe are answered too."),
        Listed("generate", "chat", "generate", prints=True, help=
               "Print each prompt with a model's continuation, up to the end of the document or of the turn."),
        Listed("export-model", "models", "export_model", help=
               "Write a model as a Hugging Face folder, which transformers opens."),
        Listed("train-ngram", "models", "train_ngram", help=
               "Train an n-gram model (interpolated modified Kneser-Ney, ARPA), equal to that of KenLM's lmplz."),
        Listed("perplexity", "models", "perplexity", prints=True, help=
               "Show the documents that --cut would drop by perplexity, those nearest to the limits first; write "
               "nothing."),
        Listed("train-langid", "models", "train_langid", help=
               "Train a fastText model that identifies languages, for dp.Language(model=NAME.bin)."),
        Listed("train-quality", "models", "train_quality", help=
               "Train a fastText classifier of text quality, for dp.Quality(model=NAME.bin)."),
        Listed("fit-language", "fit", "fit_language", help=
               "Fit the filters to a language, for dp.Gopher(preset=DIR), FineWeb, Language and Perplexity."),
    ),
    "Chats": (
        Listed("people", "people", "people", help=
               "Write a file of people with several names in chats, for you to check; `persona --people` reads it."),
        Listed("persona", "runs", "persona", help=
               "Make a fine-tuning set of one person's answers from chats; with --train, also train a model on it."),
    ),
    "Maintenance": (
        Listed("verify", "tokens", "verify", help=
               "Check sizes, hashes, ids and document ends of all files; list every problem, with exit code 1."),
        Listed("materialize", "runs", "materialize", help=
               'Write the documents of a view (`layout="view"`) into its folder, so that it no longer needs its '
               "input."),
        Listed("prune", "runs", "prune", help=
               "Delete the inputs and verdicts that deduplications saved; `dataprep why` then cannot show dropped "
               "texts."),
        Listed("forget", "runs", "forget", help=
               "Remove documents from all results of a run, and from every rerun; without --ids, finish an "
               "interrupted call."),
    ),
}  # fmt: skip
COMMANDS = {one.name: one for panel in PANELS.values() for one in panel}
NEEDS = {  # packages, and the extra that installs them, without which a command can only say so
    ("torch", "train"): ("demo", "train", "evaluate", "experiment", "scaling", "chat", "generate", "export-model"),
    ("duckdb", "explore"): ("explore",),
    ("fasttext", "langid"): ("train-langid", "train-quality"),
}


class _PlainFlags:
    """Shows no type next to flags in the help of a command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with the help option."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = ""  # else typer prints <bool>
        return params

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        with _without_markdown():
            importlib.import_module("typer.rich_utils")
        super().format_help(ctx, formatter)  # type: ignore[misc]


class _Command(_PlainFlags, TyperCommand):
    """One of the commands."""


class _InList(TyperCommand):
    """A command in the list of all commands; its module is not imported yet."""

    def __init__(self, listed: Listed, panel: str) -> None:
        super().__init__(listed.name, help=listed.help, rich_help_panel=panel)
        self.listed = listed

    def load(self) -> Any:
        """Return the command itself: import its module."""
        listed = self.listed
        with importing():
            module = importlib.import_module(f".{listed.module}", __package__)
        run = _stoppable(getattr(module, listed.function), listed.reads)
        if not listed.prints:
            from .quiet import may_be_quiet

            run = may_be_quiet(run)
        one = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
        one.command(listed.name, cls=_Command, rich_help_panel=self.rich_help_panel)(run)
        return typer.main.get_command(one)


class CommandList(_PlainFlags, TyperGroup):
    """The command `dataprep` itself."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for panel, listed in PANELS.items():
            self.commands.update({one.name: _InList(one, panel) for one in listed})

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; a command that cannot run here is marked with the extra that it needs."""
        for (package, extra), names in NEEDS.items():
            if find_spec(package) is None:
                for name in names:
                    self.commands[name].help = f"{COMMANDS[name].help} (needs the extra {extra})"
        super().format_help(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return name, command and further arguments; the command is loaded."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, loaded(command), rest


def loaded(command: Any) -> Any:
    """Return the loaded command, with its options, for a command of the list."""
    return command.load() if isinstance(command, _InList) else command


def _stoppable(command: Callable[..., None], reads: tuple[str, ...] = ()) -> Callable[..., None]:
    """Return the command with its own exit code for Ctrl-C, since versions of typer use different codes.

    If a package of `NEEDS` is not installed, it raises NotInstalled.

    - reads: see `Listed`; the command raises Replaced if a result in one of these folders is replaced in the meantime.
    """

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            check_paths(options)
            with clean_end(), _one_result([options[name] for name in reads]):
                command(*args, **options)
        except KeyboardInterrupt:
            sys.exit(CODES[0])
        except ModuleNotFoundError as e:
            for package, extra in NEEDS:
                if e.name == package:
                    need(package, extra)
            raise

    return run


def _one_result(folders: list[str]) -> contextlib.AbstractContextManager[Any]:
    if not folders:
        return contextlib.nullcontext()
    from dataprep.core.output.one_result import one_result

    return one_result(*folders)


@contextlib.contextmanager
def _without_markdown() -> Iterator[None]:
    """Let modules imported in the body of the `with` statement get stand-ins of two classes of rich, if none is loaded.

    typer imports them to show help in Markdown and tracebacks, neither of which is used here; importing them takes half
    of the time of `dataprep --help`. When a stand-in is called, it imports the class and calls it.
    """
    standins = {}
    for name, kind in (("rich.markdown", "Markdown"), ("rich.traceback", "Traceback")):
        if name not in sys.modules:
            standins[name] = ModuleType(name)
            setattr(standins[name], kind, _StandIn(name, kind))
    sys.modules.update(standins)
    try:
        yield
    finally:
        for name in standins:
            del sys.modules[name]


class _StandIn:
    """Stands for a class until it is called, or an attribute of it is read."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Return an object of the class."""
        return getattr(importlib.import_module(self.module), self.name)(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(importlib.import_module(self.module), self.name), name)

    def __or__(self, other: Any) -> Any:
        return other  # in annotations

    __ror__ = __or__
