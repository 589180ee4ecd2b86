"""Commands for tokenizers: train-tokenizer, extend-tokenizer, tokenizer."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from dataprep.errors import PlanError

from .options import Screen, Workers, numbers, runner_of

Docs = Annotated[list[str], typer.Argument(metavar="DOCS...", help="Sealed Datasets, or files to read.")]
Val = Annotated[float, typer.Option(help="Fraction of the documents held out for validation.")]
Weights = Annotated[str, typer.Option(metavar="chat=3,web=1", help="Proportions of the sources in the sample.")]


def train_tokenizer(
    docs: Docs,
    out: Annotated[str, typer.Option(help="Folder for tokenizer.json, or NAME.tiktoken.")],
    vocab_size: Annotated[int, typer.Option("--vocab-size", help="Vocabulary size (number of ids).")] = 32_000,
    sample: Annotated[float, typer.Option(help="Fraction of every source and language to learn from.")] = 0.05,
    weights: Weights = "",
    special: Annotated[
        list[str] | None, typer.Option(help="A set (course, chatml, code) or a special token; may be repeated.")
    ] = None,
    reserve: Annotated[int, typer.Option(help="Number of unused special tokens.")] = 0,
    pattern: Annotated[
        str, typer.Option(help="Rule for splitting words: words, gpt2, gpt4, llama3, o200k or a regex.")
    ] = "words",
    split_digits: Annotated[
        str | None, typer.Option(help="How digits are split: groups, single or runs; default: that of --pattern.")
    ] = None,
    characters: Annotated[bool, typer.Option("--characters", help="One token per character, for experiments.")] = False,
    val: Val = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    dtype: Annotated[str, typer.Option(help="uint32 allows more than 65,536 ids.")] = "uint16",
    workers: Workers = 1,
) -> None:
    """Train a tokenizer on a sample of documents: byte-level BPE, or characters."""
    from dataprep.read import read
    from dataprep.tokens.vocabulary.characters import train_characters
    from dataprep.tokens.vocabulary.place import check_out
    from dataprep.tokens.vocabulary.train import Tokenizer, train_bpe

    corpus, names = read(docs), special or []
    check_out(out, corpus)
    tok: Tokenizer
    if characters:
        tok = train_characters(corpus, special=names, runner=runner_of(workers))
    else:
        tok = train_bpe(
            corpus, vocab_size, sample, seed, runner_of(workers), weights=_weights(weights), val=val,
            special=names, reserve=reserve, pattern=pattern, split_digits=split_digits, dtype=dtype,
        )  # fmt: skip
    console = Screen(highlight=False)
    console.print(escape(f"{tok!r}"))
    console.print(escape(tok.save(out)))


def extend_tokenizer(
    path: Annotated[str, typer.Argument(metavar="TOKENIZER", help="A folder, tokenizer.json or .tiktoken file.")],
    out: Annotated[str, typer.Option(help="Folder for tokenizer.json, or NAME.tiktoken.")],
    special: Annotated[list[str], typer.Option(help="course, chatml, code or a special token; repeat for more.")],
) -> None:
    """Add special tokens to a tokenizer; all other ids are unchanged, so a model of it can be trained further."""
    from dataprep.tokens.vocabulary.tokenizer import Tokenizer

    tok = Tokenizer.load(path).extended(special)
    console = Screen(highlight=False)
    console.print(escape(f"{tok!r}"))
    console.print(escape(tok.save(out)))


def tokenizer_stats(
    path: Annotated[str, typer.Argument(metavar="TOKENIZER", help="A folder, tokenizer.json or .tiktoken file.")],
    docs: Docs,
    compare: Annotated[
        str | None, typer.Option(help="A tokenizer to compare with, or a folder with encoder.json and vocab.bpe.")
    ] = None,
    shares: Annotated[
        str, typer.Option(metavar="0.01,0.05,1", help="Also train on samples of these fractions, and compare.")
    ] = "",
    weights: Weights = "",
    rare: Annotated[int, typer.Option(min=1, help="List tokens that occur fewer times than this.")] = 10,
    val: Val = 0.05,
    json: Annotated[str | None, typer.Option("--json", help="Also write the results to this file.")] = None,
    workers: Workers = 1,
) -> None:
    """Report on a tokenizer: bytes per token by source and language, rare and long tokens."""
    from dataprep.read import read
    from dataprep.tokens.vocabulary.report import check_json
    from dataprep.tokens.vocabulary.tokenizer import Tokenizer

    fractions = numbers("--shares", shares, "a list of fractions, like --shares 0.01,0.05,1")
    corpus = read(docs)
    if json is not None:
        check_json(json, corpus)
    found = Tokenizer.load(path).report(
        corpus, compare=compare, shares=fractions, weights=_weights(weights), rare=rare, val=val,
        runner=runner_of(workers),
    )  # fmt: skip
    Screen(highlight=False).print(found)
    if json is not None:
        found.save(json)


def _weights(given: str) -> dict[str, float] | None:
    """Return `chat=3,web=1` as numbers by source."""
    pairs = [one.partition("=") for one in given.split(",") if one.strip()]
    try:
        return {name.strip(): float(weight) for name, _, weight in pairs} or None
    except ValueError as e:
        msg = f"--weights {given!r} must be a number per source, like --weights chat=3,web=1"
        raise PlanError(msg) from e
