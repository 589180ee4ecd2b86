"""The command fit-language: thresholds and models of a language, and a table of the drops of each threshold."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.text import Text

from dataprep.shown.terminal import table_of

from .options import Screen

Format = Annotated[
    str | None, typer.Option("--format", help="Format of the files, as in dp.read: jsonl, lines, paragraphs ...")
]


def fit_language(
    code: Annotated[str, typer.Argument(metavar="CODE", help="The name of the language, such as ary_Arab.")],
    reference: Annotated[list[str], typer.Option("--reference", help="Clean texts; may be repeated.")],
    crawl: Annotated[list[str], typer.Option("--crawl", help="A sample of the texts to filter; may be repeated.")],
    out: Annotated[str, typer.Option(help="The preset folder to write.")],
    other: Annotated[list[str] | None, typer.Option("--other", help="Texts in other languages.")] = None,
    format: Format = None,  # noqa: A002 - the option's name
    word_split: Annotated[str, typer.Option(help=("How words are split: unicode, blanks or punctuation."))] = "unicode",
    quantile: Annotated[float, typer.Option(help="Fraction of the reference that one threshold may drop.")] = 0.01,
    vocab_size: Annotated[
        int, typer.Option("--vocab-size", help="Number of pieces of the SentencePiece model.")
    ] = 32_000,
    order: Annotated[int, typer.Option("--order", help="Number of pieces in the longest n-grams.")] = 5,
    mixed_scripts: Annotated[
        bool, typer.Option("--mixed-scripts", help="Accept a reference in more than one script.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a preset that was made from other samples.")
    ] = False,
) -> None:
    """Fit the filters to a language, for dp.Gopher(preset=DIR), FineWeb, Language and Perplexity."""
    from dataprep.fit import fit_language as fit
    from dataprep.read import read

    console = Screen(highlight=False)
    with console.status("fitting"):
        made = fit(
            code,
            read(reference, format=format),
            read(crawl, format=format),
            out=out,
            other=read(other, format=format) if other else None,
            word_split=word_split,
            quantile=quantile,
            vocab_size=vocab_size,
            order=order,
            mixed_scripts=mixed_scripts,
            replace=replace,
        )
    record = made.record
    console.print(
        f"{record['reference']['documents']:,} documents of the reference, {record['crawl']['documents']:,} of the "
        f"crawl; {record['models']['pieces']:,} pieces; the classifier labels {record['models']['accuracy']:.1%} of "
        "held-out texts correctly",
        soft_wrap=True,
    )
    console.print(f"stop words: {escape(' '.join(record['gopher']['stop_words']))}", soft_wrap=True)
    table = table_of("cut", "limit", "English", "reference loses", "crawl loses")
    for cut in made.cuts:
        limits = ("" if x is None else f"{x:,.6g}" for x in (cut.limit, cut.usual))
        table.add_row(Text(f"{cut.stage} {cut.reason}"), *limits, f"{cut.reference:.1%}", f"{cut.crawl:.1%}")
    console.print(table)
    console.print(f"Language, Gopher and FineWeb together drop {record['models']['lost_of_crawl']:.1%} of the crawl")
    console.print(escape(made.url))
