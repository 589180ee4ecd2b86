"""The command `init`: inspect a folder of texts or chats, and write a pipeline file for it."""

from __future__ import annotations

import logging
import re
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.filesize import decimal
from rich.markup import escape

from dataprep import pipeline_file
from dataprep.core.model.batch import Batch, lengths
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.ledger import Ledger
from dataprep.errors import PlanError, counted
from dataprep.shown.terminal import table_of
from dataprep.store import files

from .options import Screen, one_line
from .trial import dry_run

if TYPE_CHECKING:
    from dataprep.core.model.stage import Stage
    from dataprep.read.survey import FileGroup, FolderContents

log = logging.getLogger("dataprep")
SAMPLE_BYTES = 1 << 20  # of each group: enough for shares, read in a second
MOST_DROPPED = 0.5  # a rule that drops more of the sample is written as a comment
MOST_LANGUAGE = 0.6  # of the documents, for a rule that keeps their language only
VOCABULARY = ((1 << 20, 1_024, 0.1), (20 << 20, 4_096, 0.05), (200 << 20, 16_000, 0.01), (1 << 62, 32_000, 0.005))
SHOWN = 5

HEAD = '''\
"""Pipeline for {folder}:
{found}.

    dataprep run {file} --dry-run
        shows on a sample what each step would drop
    dataprep plan {file}
        estimates memory, disk space and time
    dataprep run {file} --workers 2
        runs all steps, into {out}; a repeated call does only what is missing
    dataprep inspect {out}
        shows what was dropped, and why

Written by `dataprep init`; change it as you like. A step is a function: its parameters are the steps that it needs.
Paths are relative to the folder in which dataprep is run. Damaged files are left out (on_bad_file="skip"); a warning
names them, and unread.parquet in the folder of the step lists them.
"""

import dataprep as dp
from dataprep.report import write as write_report

VOCABULARY = {vocabulary}  # ids of the tokenizer; the larger the corpus, the more: 1,024 for 1 MB, 32,000 for 1 GB
VAL = {val}  # share of the documents that are held out for validation
'''
CHATS = '''
CHATS = {paths}


def {name}(out, runner):
    """Read the chat exports, drop messages that two of them have, and hide names and numbers.

    This is one Pipeline, so that nothing is saved before names are hidden. Names of people who write are found by
    themselves; others that must be hidden, such as nicknames, are passed as names=("...", "..."). key="people.key"
    gives a person the same pseudonym in every run; without it, the pseudonyms of a run are random.
    """
    stages = dp.chats.Overlaps(), dp.chats.Pseudonyms(), dp.PII()
    docs = dp.read(CHATS{options})
    return dp.Pipeline(*stages).run(docs, out=out, runner=runner, replace=True)


def conversations({name}, out, runner):
    """Keep what people wrote, drop forwarded messages, and join messages; an hour of silence ends a conversation."""
    stages = dp.chats.CleanMessages(), dp.MinHash(preset="dialect", min_shingles=57), dp.chats.Conversations(gap="1h")
    return dp.Pipeline(*stages).run({name}, out=out, runner=runner, replace=True)
'''
READ = '''

{constant} = {paths}


def {name}(out, runner):
    """Write the documents as a Dataset: one for each {unit}."""
    docs = dp.read({constant}{options})
    return dp.Pipeline().run(docs, out=out, runner=runner, replace=True)
'''
JOIN = '''

def {name}({names}, out, runner):
    """{about}"""
    return dp.Pipeline().run(dp.read([{names}]), out=out, runner=runner, replace=True)
'''
CLEAN = '''

def filter(ingest, out, runner):
    """Drop documents by rules, each with its reason; rules that would drop most of them are comments.

{about}
    """
    stages = [
{stages}    ]
    return dp.Pipeline(*stages).run(ingest, out=out, runner=runner, replace=True)
'''
DEDUP = '''

def dedup_exact({before}, out, runner):
    """Drop exact copies."""
    return dp.Pipeline(dp.Exact()).run({before}, out=out, runner=runner, replace=True)


def dedup_minhash(dedup_exact, out, runner):
    """Drop near-duplicates: documents whose word 5-grams have a Jaccard similarity of 0.8 to those of a kept one."""
    return dp.Pipeline(dp.MinHash(threshold=0.8)).run(dedup_exact, out=out, runner=runner, replace=True)
'''
WITH_CODE = "Join the documents and the source code, which the rules for running text would drop."
TOKENS = '''

def tokenizer({last}, out, runner):
    """Train a byte-level BPE."""
    return dp.train_bpe({last}, vocab_size=VOCABULARY, val=VAL, runner=runner, out=out)


def encode({last}, tokenizer, out, runner):
    """Write uint16 token shards; `dataprep train` trains a model on them."""
    return dp.encode({last}, tokenizer, out=out, val=VAL, runner=runner, replace=True)


def report(encode, out):
    """Write one HTML page about all steps."""
    return write_report(out.rpartition("/")[0], f"{{out}}/report.html")
'''
UNITS = {  # others: page
    "text": "file", "code": "file", "jsonl": "record", "json": "record", "csv": "row", "parquet": "row",
    "Dataset": "document", "hf": "row", "html": "file", "notebook": "file",
    "docx": "file", "epub": "chapter", "mail": "message", "sqlite": "row", "stackexchange": "row",
}  # fmt: skip


def init(
    folder: Annotated[
        str, typer.Argument(metavar="PATH", help="A folder with documents, a crawl or chats, or a single file.")
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="The pipeline file to write.")
    ] = "pipeline.py",
) -> None:
    """Inspect a folder or file, and write a commented pipeline file for it; nothing else is written.

    The file is tried on a sample first. An existing file is not overwritten.
    """
    from dataprep.read.survey import survey

    if not out.endswith(".py"):
        msg = f"--out {out} must be a Python file, such as pipeline.py"
        raise PlanError(msg)
    if files.exists(out):
        msg = f"{out} exists and is not overwritten; name another file with --out, or remove it"
        raise PlanError(msg)
    console = Screen(highlight=False)
    found = survey(folder)
    _print_found(console, found)
    quiet, log.disabled = log.disabled, True  # the dry run logs the same warnings
    try:
        text = written(folder, found, out)
    finally:
        log.disabled = quiet
    with tempfile.TemporaryDirectory(prefix="dataprep-init-") as place:
        trial = files.join(place, files.name_of(out))
        files.write_bytes(trial, text.encode("utf-8", "backslashreplace"))
        dry_run(pipeline_file.load(trial), None, SAMPLE_BYTES, 0, end="its results are removed")
    files.write_bytes(out, text.encode("utf-8", "backslashreplace"))
    console.print(f"wrote {escape(out)}; check it, edit it, and then run: dataprep run {escape(out)}", soft_wrap=True)


def _print_found(console: Screen, found: FolderContents) -> None:
    """Print a row per format, and how many files are left out, and why."""
    from dataprep.read.survey import HINTS

    table = table_of("found", "text in", "files", "stored", left=2)
    for group in found.groups:
        for name, count in sorted(group.formats.items()):
            stored = decimal(group.stored[name])
            table.add_row(name, "messages" if group.chats else escape(group.text), f"{count:,}", stored)
    console.print(table)
    rows: dict[str, tuple[str, str]] = {}
    for url, why in found.left_out.items():
        cure = found.details.get(url, "")
        rows[url] = why, f"; {cure}" if cure else HINTS.get(why, "")
    for (reason, cure), n in sorted(Counter(rows.values()).items()):
        some = [url for url, row in rows.items() if row == (reason, cure)][:SHOWN]
        listed = escape(", ".join(some)) + (" ..." if n > SHOWN else "")
        console.print(f"[yellow]left out, {reason}:[/] {n:,} ({listed}){escape(cure)}", soft_wrap=True)


def written(folder: str, found: FolderContents, file: str) -> str:
    """Return the text of a pipeline file.

    - folder: the folder or file that `found`, its survey, describes.
    - file: the path to which the text will be written.
    """
    n_bytes = sum(group.n_bytes for group in found.groups)
    vocabulary, val = next((v, share) for most, v, share in VOCABULARY if n_bytes < most)
    total: Counter[str] = Counter()
    for group in found.groups:
        total.update(group.formats)
    kinds = ", ".join(f"{n:,} {name}" for name, n in sorted(total.items()))
    out = f"out/{files.name_of(file).removesuffix('.py')}"
    listed = textwrap.fill(f"{kinds}, {decimal(n_bytes)}", 110)
    text = HEAD.format(folder=_inside(folder), found=listed, file=_inside(file), out=_inside(out),
                       vocabulary=f"{vocabulary:_}", val=val)  # fmt: skip
    chats = [group for group in found.groups if group.chats]
    code = [group for group in found.groups if group.code]
    documents = [group for group in found.groups if not group.chats and not group.code]
    for group in chats:
        name = "chats" if documents or code else "ingest"
        text += CHATS.format(name=name, paths=_shown(group.paths), options=_options(group))
    names = ["ingest"] if len(documents) == 1 else [f"read_{n}" for n in range(1, len(documents) + 1)]
    text += "".join(map(_reading, names, documents))
    text += _joined("ingest", names, "Join the documents of all fields.")
    text += _cleaning(documents) if documents else ""
    names = ["filter"] * bool(documents) + [group.code for group in code]
    text += "".join(_reading(group.code, group) for group in code)
    text += _joined("documents", names, WITH_CODE if documents else "Join the source code and notebooks.")
    last = ["conversations"] if chats else []
    if names:
        text += DEDUP.format(before="documents" if len(names) > 1 else names[0])
        last.append("dedup_minhash")
    text += _joined("corpus", last, "Join conversations and documents.")
    return re.sub(r"\n{4,}", "\n\n\n", text + TOKENS.format(last="corpus" if len(last) > 1 else last[0]))


def _reading(name: str, group: FileGroup) -> str:
    """Return the step `name`, which reads a group."""
    constant = "INPUT" if name == "ingest" else name.upper().replace("READ_", "INPUT_")
    unit = " or ".join(dict.fromkeys(UNITS.get(f, "page") for f in sorted(group.formats)))
    return READ.format(constant=constant, name=name, paths=_shown(group.paths), unit=unit, options=_options(group))


def _joined(name: str, names: Sequence[str], about: str) -> str:
    """Return the step `name`, which joins several steps; "" for a single one."""
    return JOIN.format(name=name, names=", ".join(names), about=about) if len(names) > 1 else ""


def _inside(path: str) -> str:
    """Return a path in a form that is safe in a docstring."""
    return one_line(path).replace("\\", "\\\\").replace('"', "'")


def _shown(paths: Sequence[str]) -> str:
    """Return paths as Python code: a single path as a text, several as a list with one line each."""
    return repr(paths[0]) if len(paths) == 1 else "".join(["[\n", *(f"    {path!r},\n" for path in paths), "]"])


def _options(group: FileGroup) -> str:
    """Return the arguments of `dp.read` after the paths."""
    named = "" if group.text == "text" else f", text={group.text!r}"
    others = "".join(f", {name}={value!r}" for name, value in group.options)
    return f'{named}{others}, on_bad_file="skip"'


def _cleaning(documents: Sequence[FileGroup]) -> str:
    """Return the steps that filter and deduplicate; rules that would drop most of a sample are comments."""
    from dataprep.filters.c4.stage import C4
    from dataprep.filters.classifiers.language import Language
    from dataprep.filters.gopher.stage import Gopher
    from dataprep.read import read

    paths = [group.paths[0] if len(group.paths) == 1 else group.paths for group in documents]  # as in the file
    options: list[dict[str, Any]] = [
        dict(group.options) | ({"text": group.text} if group.text != "text" else {}) for group in documents
    ]
    found = [read(path, on_bad_file="skip", **given) for path, given in zip(paths, options, strict=True)]
    sample = [batch for docs in found for batch in _first(docs.sample(SAMPLE_BYTES))]  # they are read once
    n = left = sum(batch.num_rows for batch in sample)
    languages, lines = "The languages were not determined: that needs the package py3langid.", []
    rules: list[tuple[str, Stage, str]] = [("dp.Gopher()", Gopher(), "length, symbols and repetition of running text")]
    if find_spec("py3langid") is not None:
        sample = _after(Language(), sample)  # the rule below uses its columns
        shares = _languages(sample, n)
        languages = f"Languages: {', '.join(f'{name} {share:.0%}' for name, share in shares[:SHOWN]) or 'none'}."
        top, share = shares[0] if shares else ("und", 0.0)
        if top != "und" and share >= MOST_LANGUAGE:
            rules.insert(0, (f'dp.Language("{top}")', Language(top), "the language of most documents"))
            if top == "en":  # C4 knows the end marks of English alone
                rules.append(("dp.C4()", C4(), "lines that end like sentences, for English web pages"))
    for code, stage, about in rules:
        kept = _after(stage, sample)
        n_kept = sum(batch.num_rows for batch in kept)
        share = 1 - n_kept / max(1, left)
        is_on = share <= MOST_DROPPED
        lines.append(f"        {'' if is_on else '# '}{code},  # {about}; drops {share:.0%}\n")
        sample, left = (kept, n_kept) if is_on else (sample, left)
    lines.append("        # dp.PII(),  # replaces e-mail addresses, phone numbers and other personal data\n")
    about = f"Percentages refer to documents that reach the rule, in a sample of {counted(n, 'document')}. {languages}"
    about = textwrap.fill(about, 110, initial_indent=" " * 4, subsequent_indent=" " * 4)
    return CLEAN.format(about=about, stages="".join(lines))


def _first(docs: Dataset) -> Iterator[Batch]:
    """Yield the documents of a sample; of a batch, which may have 8 MiB of text, those up to SAMPLE_BYTES."""
    for batch in docs.batches():
        yield batch.slice(0, int(np.searchsorted(np.cumsum(lengths(batch)), SAMPLE_BYTES)) + 1)


def _after(stage: Stage, batches: Sequence[Batch]) -> list[Batch]:
    """Return the documents that a stage keeps."""
    return list(stage(iter(batches), Ledger("", quiet=True)))


def _languages(batches: Sequence[Batch], n: int) -> list[tuple[str, float]]:
    """Return the languages of n documents and their shares, the most frequent first."""
    found = Counter(name for batch in batches for name in batch.column("language").to_pylist())
    return [(name, count / max(1, n)) for name, count in found.most_common()]
