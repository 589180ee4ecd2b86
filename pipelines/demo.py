"""The demo: from the text in every Python installation to a trained model.

    make demo                               or  dataprep run pipelines/demo.py --out out/demo
    make dedup-minhash OUT=out/demo         or  dataprep run pipelines/demo.py --to dedup-minhash --out out/demo

If `demo` runs again, only the steps whose settings or input have changed are repeated (replace=True).

Input: the topics of the language reference (`pydoc_data`), the docstrings of the standard library, descriptions and
licence files of the installed packages (real near-duplicates: forty MIT licences differ in one line), and sample_data.
"""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics

import orjson

import dataprep as dp
from dataprep.errors import StaleOutput
from dataprep.report import write as write_report
from dataprep.store import files, receipts
from dataprep.store.compress import compressor
from dataprep.store.key import key

SAMPLES = Path(__file__).parent.parent / "sample_data"
VOCABULARY = 4_096
VAL = 0.05  # of the documents; a small corpus needs a larger share than the usual 0.005
SETTINGS = ["steps=600"]  # half a minute on two cores
PROMPTS = ("Return the ", "The MIT License", "")
LICENCE = re.compile(r"(licen[cs]e|copying|notice)[^/]*$", re.IGNORECASE)


def ingest(out, runner):
    """Collect the text of the installation in JSONL.zst files, and write it and the sample files as a Dataset."""
    parts = f"{out}-parts"
    packages = sorted(f"{d.name} {d.version}" for d in importlib.metadata.distributions())
    raw = files.join(parts, "raw")
    made = receipts.once(files.join(raw, "receipt.json"), key((sys.version, packages, _gather)), lambda: _gather(raw))
    texts = [files.join(raw, file["name"]) for file in made["files"]]
    names = ("articles.jsonl", "crawl.warc.wet", "guide.parquet", "letters.jsonl.gz", "news.jsonl.zst")
    pages = dp.read([*texts, *(str(SAMPLES / name) for name in names)])
    phones = [str(SAMPLES / f"whatsapp_{phone}.txt") for phone in ("android", "ios")]
    chats = dp.read(phones, format="whatsapp")
    both = [
        dp.Pipeline().run(pages, out=files.join(parts, "pages"), runner=runner, replace=True),
        dp.Pipeline(dp.chats.Conversations(gap="1h")).run(
            chats, out=files.join(parts, "chats"), runner=runner, replace=True
        ),
    ]
    return dp.Pipeline().run(dp.read(both), out=out, runner=runner, replace=True)


def filter(ingest, out, runner):  # noqa: A001 - the step's name
    """Keep prose by C4's rules, after the line breaks inside paragraphs are removed.

    C4 removes lines that do not end with a full stop or the like; in text wrapped at 72 columns, that would be nearly
    every line. The rule that drops pages with a curly bracket is off, since it would drop half of the documentation of
    a programming language. Lines of 3 words and pages of 3 sentences are enough, so that short docstrings are kept.
    """
    c4 = dp.C4(preset="tfds", min_words=3, curly_bracket=False)
    return dp.Pipeline(dp.Map(unwrapped), c4).run(ingest, out=out, runner=runner, replace=True)


def dedup_exact(filter, out, runner):  # noqa: A002
    """Drop exact copies."""
    return dp.Pipeline(dp.Exact()).run(filter, out=out, runner=runner, replace=True)


def dedup_minhash(dedup_exact, out, runner):
    """Drop near-duplicates: documents whose word 5-grams have a Jaccard similarity of 0.8 to those of a kept one."""
    return dp.Pipeline(dp.MinHash(threshold=0.8)).run(dedup_exact, out=out, runner=runner, replace=True)


def dedup_suffix(dedup_minhash, out, runner):
    """Cut out passages of 50 words or more that also occur elsewhere, such as quoted licences."""
    return dp.Pipeline(dp.SuffixArray(min_words=50)).run(dedup_minhash, out=out, runner=runner, replace=True)


def tokenizer(dedup_suffix, out, runner):
    """Train a byte-level BPE; 4,096 ids are enough for a few megabytes."""
    return dp.train_bpe(dedup_suffix, vocab_size=VOCABULARY, val=VAL, runner=runner, out=out)


def encode(dedup_suffix, tokenizer, out, runner):
    """Write uint16 shards; 5 % of the documents are held out, enough for a meaningful validation loss."""
    return dp.encode(dedup_suffix, tokenizer, out=out, val=VAL, runner=runner, replace=True)


def train(encode, out):
    """Train a small GPT on the CPU, and write samples of its text."""
    try:
        result = dp.train(encode, out=out, settings=SETTINGS)
    except StaleOutput:  # trained on other tokens: a minute's work, so start over
        result = dp.train(encode, out=out, settings=SETTINGS, resume=False)
    place = files.join(out, "sample.json")

    def make():
        files.write_json(place, [p + dp.generate(out, p, max_tokens=120) for p in PROMPTS])
        return {"files": [place]}

    made_of = key((encode.root, SETTINGS, PROMPTS))
    receipts.once(files.join(out, "sample.receipt.json"), made_of, make)
    samples = "\n\n".join(f"    {text.strip()}" for text in files.read_json(place))
    return f"validation: {result.bits_per_byte:.3f} bits per byte after {result.steps} steps\n\n{samples}"


def report(train, out):  # noqa: ARG001 - made when everything else is there
    """Write one HTML page about all steps."""
    return write_report(out.rpartition("/")[0], files.join(out, "report.html"))


def unwrapped(text: str) -> str:
    """Paragraphs on one line each; a paragraph ends at an empty line."""
    return "\n".join(" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip())


def _gather(folder: str) -> dict[str, list[str]]:
    """Write one JSONL.zst file per source; the bytes are the same for the same Python and packages."""
    sources = {
        "docstrings": _docstrings(),
        "licences": _licences(),
        "packages": _packages(),
        "topics": sorted(topics.items()),
    }
    return {"files": [_write(files.join(folder, f"{name}.jsonl.zst"), rows) for name, rows in sources.items()]}


def _write(url, rows) -> str:
    with files.atomic(url) as f, compressor(f, url) as out:
        for name, text in rows:
            out.write(orjson.dumps({"id": name, "text": text}, option=orjson.OPT_APPEND_NEWLINE))
    return url


def _docstrings() -> Iterator[tuple[str, str]]:
    """One document for each class, function and module of the standard library that says something."""
    library = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(library.rglob("*.py")):
        name = path.relative_to(library)
        if {"site-packages", "test", "tests", "idle_test", "__pycache__"} & set(name.parts):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in the library's own strings
            try:
                tree = ast.parse(path.read_bytes())
            except SyntaxError:  # lib2to3 carries files that are broken on purpose
                continue
        for thing in (tree, *tree.body):
            text = "\n\n".join(_docs_of(thing, deep=thing is not tree))
            if text:
                yield f"{name.as_posix()}:{getattr(thing, 'name', '')}", text


def _docs_of(thing: ast.AST, *, deep: bool) -> Iterator[str]:
    """The docstring of a node, then those of what it holds."""
    if isinstance(thing, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        doc = ast.get_docstring(thing)
        if doc:
            yield doc
        for inner in thing.body if deep else ():
            yield from _docs_of(inner, deep=True)


def _installed() -> list[importlib.metadata.Distribution]:
    """Each package once, by name; dataprep itself would make the corpus depend on its README."""
    by_name = {d.name.lower(): d for d in importlib.metadata.distributions()}
    return [by_name[name] for name in sorted(by_name) if name != "dataprep-lm"]


def _packages() -> Iterator[tuple[str, str]]:
    for package in _installed():
        text = package.metadata.get_payload() or package.metadata.get("Description", "")
        if isinstance(text, str) and text.strip():
            yield package.name, text


def _licences() -> Iterator[tuple[str, str]]:
    for package in _installed():
        for path in sorted(package.files or [], key=str):
            if ".dist-info" in str(path) and LICENCE.search(str(path)):
                text = Path(package.locate_file(path)).read_bytes().decode("utf-8", "replace")
                yield f"{package.name}/{path.name}", text
