"""Commands on models of text: export-model, train-langid, train-quality, train-ngram, perplexity."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.text import Text

from dataprep.core.model.batch import show_id
from dataprep.core.model.documents import check_file_apart
from dataprep.errors import PlanError, counted, require
from dataprep.history.judged import reviewed
from dataprep.history.review import RIGHT, WRONG
from dataprep.shown.terminal import table_of
from dataprep.store import files
from dataprep.unicode.valid import printable

from .options import Screen, numbers, say

Out = Annotated[str, typer.Option(help="The model to write, NAME.bin; NAME.bin.json describes it.")]
Format = Annotated[
    str | None, typer.Option("--format", help="Format of the files, as in dp.read: jsonl, lines, paragraphs ...")
]
Epochs = Annotated[int | None, typer.Option(help="Number of passes over the texts.")]
Dim = Annotated[int | None, typer.Option(help="Dimension of the vectors.")]
HeldOut = Annotated[float, typer.Option("--held-out", help="Fraction of the texts held out to measure accuracy.")]
MaxTexts = Annotated[int | None, typer.Option("--max-texts", help="Maximum number of texts per label.")]
Seed = Annotated[int, typer.Option(help="Seed of the training.")]
SHOWN = 20  # labels of a confusion table
TEXT_CHARS = 90  # shown of a document


def train_langid(
    texts: Annotated[
        list[str],
        typer.Argument(metavar="CODE=PATH...", help="Files of each language; with --label, files of all languages."),
    ],
    out: Out,
    label: Annotated[str | None, typer.Option(help="The field with the language of each document.")] = None,
    test: Annotated[list[str] | None, typer.Option(help="Test texts, as CODE=PATH or PATH.")] = None,
    format: Format = None,  # noqa: A002 - the option's name
    epochs: Epochs = None,
    dim: Dim = None,
    held_out: HeldOut = 0.1,
    max_texts: MaxTexts = None,
    seed: Seed = 0,
) -> None:
    """Train a fastText model that identifies languages, for dp.Language(model=NAME.bin)."""
    from dataprep.filters.classifiers.train import LANGUAGE, train_classifier

    tested = _texts(test, label, format) if test else None
    settings = _settings(LANGUAGE, epochs, dim, held_out, max_texts, seed)
    _print(train_classifier(_texts(texts, label, format), out, settings, test=tested))


def train_quality(
    out: Out,
    positive: Annotated[
        list[str] | None, typer.Option("--positive", help="Examples of high quality; may be repeated.")
    ] = None,
    negative: Annotated[
        list[str] | None, typer.Option("--negative", help="Ordinary texts of your corpus; may be repeated.")
    ] = None,
    review: Annotated[
        list[str] | None,
        typer.Option(
            "--review",
            metavar="DIR",
            help="A run with judgements: documents that were wrongly dropped are positive, the others negative.",
        ),
    ] = None,
    format: Format = None,  # noqa: A002 - the option's name
    epochs: Epochs = None,
    dim: Dim = None,
    held_out: HeldOut = 0.1,
    max_texts: MaxTexts = None,
    seed: Seed = 0,
) -> None:
    """Train a fastText classifier of text quality, for dp.Quality(model=NAME.bin)."""
    from dataprep.filters.classifiers.train import QUALITY, train_classifier

    texts = {"high": _examples(positive, format, out), "low": _examples(negative, format, out)}
    for folder in review or ():
        found = reviewed(folder)
        for label, verdict in (("high", WRONG), ("low", RIGHT)):
            texts[label] = itertools.chain(texts[label], found.texts(verdict))
        left = f"{counted(found.stale, 'stale judgement')} and {found.unsure:,} unsure ones are left out"
        say(f"{folder}: {counted(len(found.rows), 'judgement')}; {left}")
    settings = _settings(QUALITY, epochs, dim, held_out, max_texts, seed)
    _print(train_classifier(texts, out, settings, positive="high"))


def _examples(given: list[str] | None, form: str | None, out: str) -> Iterable[str]:
    """Return the texts of files, which must not be the file `out`."""
    from dataprep.read import read

    if not given:
        return ()
    docs = read(given, format=form)
    check_file_apart(docs.parts, out)
    return (text for batch in docs.batches(["text"]) for text in batch.column("text").to_pylist())


def _settings(given: Any, epochs: int | None, dim: int | None, held_out: float, most: int | None, seed: int) -> Any:
    return replace(
        given, epochs=epochs or given.epochs, dim=dim or given.dim, held_out=held_out, max_texts=most, seed=seed
    )


def _texts(given: list[str], label: str | None, form: str | None) -> dict[str, Any]:
    """Return texts by label: that of the field `label`, or that of each file; texts without a label are left out."""
    from dataprep.read import read

    if label is not None:
        found: dict[str, list[str]] = {}
        for batch in read(given, format=form, columns={label: "string"}).batches(["text", label]):
            for text, code in zip(*(batch.column(name).to_pylist() for name in ("text", label)), strict=True):
                if code:
                    found.setdefault(code, []).append(text)
        return found
    paths: dict[str, list[str]] = {}
    for one in given:
        code, equals, path = one.partition("=")
        if not equals or not code or not path or files.exists(one):
            msg = f"{one!r} has no language; write CODE=PATH (fr={one}), or name the field with --label"
            raise PlanError(msg)
        paths.setdefault(code, []).append(path)
    return {code: read(found, format=form) for code, found in paths.items()}


def _print(made: Any) -> None:
    """Print the number of texts, the accuracy, and the confusion table."""
    console = Screen(highlight=False)
    tested = {label: sum(row.values()) for label, row in made.confusion.items()}
    console.print(f"trained on {counted(sum(made.n_train.values()), 'text')} with {len(made.labels)} labels")
    n = sum(tested.values())
    console.print(f"{made.accuracy:.2%} of {n:,} held-out texts are labelled correctly; one row per true label")
    shown = sorted(tested, key=lambda label: (-tested[label], label))[:SHOWN]
    answers = sorted({answer for label in shown for answer in made.confusion[label]})[:SHOWN]
    table = table_of("", *map(escape, answers), "correct")
    for label in shown:
        row = made.confusion[label]
        right = f"{row.get(label, 0) / max(1, tested[label]):.1%}"
        table.add_row(Text(label), *(f"{row[a]:,}" if a in row else "" for a in answers), right)
    console.print(table)
    if len(tested) > SHOWN:
        console.print(f"and {len(tested) - SHOWN} more labels, in {escape(made.path)}.json")
    console.print(escape(made.path))


def export_model(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A trained model: its folder, or a checkpoint.")],
    out: Annotated[str, typer.Option(help="The folder to write.")],
    adapter: Annotated[str | None, typer.Option(metavar="DIR", help="Add this LoRA adapter to the model.")] = None,
    adapter_only: Annotated[
        bool, typer.Option("--adapter-only", help="Write only the LoRA adapter, in PEFT's format.")
    ] = False,
    gguf: Annotated[bool, typer.Option("--gguf", help="Also write model.gguf, for llama.cpp.")] = False,
) -> None:
    """Write a model as a Hugging Face folder, which transformers opens."""
    if adapter_only:
        require(not gguf, "--gguf cannot be used with --adapter-only; use one of them")
        from dataprep.inference.adapter import export_adapter

        say(export_adapter(folder, out))
        return
    from dataprep.inference.export_model import export_model as export

    say(export(folder, out, adapter=adapter, gguf=gguf))


def train_ngram(
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Text files with one sentence per line.")],
    out: Annotated[str, typer.Option(help="The ARPA file to write.")],
    order: Annotated[int, typer.Option("--order", help="Number of words in the longest n-grams.")] = 5,
    prune: Annotated[
        str, typer.Option(metavar="0 0 1", help="For each order: drop n-grams that occur at most n times.")
    ] = "",
    discount_fallback: Annotated[
        bool, typer.Option("--discount-fallback", help="Use the discounts 0.5, 1 and 1.5 if there is too little text.")
    ] = False,
    skip_symbols: Annotated[bool, typer.Option("--skip-symbols", help="Skip <s>, </s> and <unk> in the text.")] = False,
    memory: Annotated[str, typer.Option(help="Memory for n-grams, such as 8GB.")] = "2GB",
    binary: Annotated[
        bool, typer.Option("--binary", help="Also write KenLM's binary format, with its program build_binary.")
    ] = False,
) -> None:
    """Train an n-gram model (interpolated modified Kneser-Ney, ARPA), equal to that of KenLM's lmplz."""
    from dataprep.ngram import train

    text, thresholds = _thresholds(text, prune)
    model = train(
        text, out=out, order=order, prune=thresholds, discount_fallback=discount_fallback, skip_symbols=skip_symbols,
        memory=memory, binary=binary,
    )  # fmt: skip
    console = Screen(highlight=False)
    console.print(f"{counted(model.n_sentences, 'sentence')}, {counted(model.n_words, 'word')}")
    for n, (count, discounts) in enumerate(zip(model.counts, model.discounts, strict=True), 1):
        console.print(f"{n}-grams: {count:,}; discounts {', '.join(f'{d:.4g}' for d in discounts)}")
    console.print(escape(model.binary or model.path))


def _thresholds(text: list[str], prune: str) -> tuple[list[str], list[int]]:
    """Return files and thresholds; in `--prune 0 0 1`, as lmplz accepts it, the last numbers are parsed as files."""
    if not prune:
        return text, [0]
    more = [t for t in text if t.isdecimal() and not files.exists(t)]
    try:
        thresholds = [int(x) for x in [*prune.replace(",", " ").split(), *more]]
    except ValueError as e:
        msg = f"--prune {prune!r} must be a number per order, like --prune 0 0 1"
        raise PlanError(msg) from e
    return [t for t in text if t not in more], thresholds


def perplexity(
    inputs: Annotated[list[str], typer.Argument(metavar="INPUT...", help="Sealed Datasets, or input files.")],
    model: Annotated[str, typer.Option(help="The n-gram model: an ARPA file or a KenLM binary.")],
    cut: Annotated[str, typer.Option(help="Texts to keep: head, middle, tail, or a range of percentiles.")] = "1,90",
    unit: Annotated[str, typer.Option(help="Unit that is scored: document or paragraph.")] = "document",
    tokenizer: Annotated[
        str | None, typer.Option(help="A SentencePiece model that splits the text into words.")
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Number of documents to show per language.")] = 20,
) -> None:
    """Show the documents that --cut would drop by perplexity, those nearest to the limits first; write nothing."""
    from dataprep.filters.percentiles import Percentiles
    from dataprep.filters.perplexity import Perplexity
    from dataprep.read import read

    measured = Perplexity(model=model, unit=unit, tokenizer=tokenizer)
    bounds_of: Any = numbers("--cut", cut, "head, middle, tail, or two percentiles like 1,90") if "," in cut else cut
    chosen = Percentiles(measured, cut=bounds_of)
    console = Screen(highlight=False)
    with console.status("measuring"):
        bounds, lost = chosen.look(read(inputs), n)
    for language, found in bounds.items():
        low, high = ("-" if found[name] is None else f"{found[name]:,.1f}" for name in ("low", "high"))
        console.print(
            f"[bold]{escape(language)}[/]: {counted(found['scores'], 'score')}, {low} <= perplexity < {high} is kept: "
            f"{found['lost']:,} are dropped, those nearest to the cut first",
            soft_wrap=True,
        )
        for row in lost.to_pylist():
            if (row["language"] or "all") == language:
                score = "-" if row["score"] is None else f"{row['score']:,.1f}"
                text = printable(" ".join(row["text"].split())[:TEXT_CHARS])
                line = f"  [cyan]{row['reason']}[/] {score:>12} {show_id(row['id'])} [dim]{escape(text)}[/]"
                console.print(line, soft_wrap=True)
