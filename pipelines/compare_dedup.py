"""Compare methods of deduplication on one corpus: what each removes, its time and memory, and the overlaps.

    dataprep run pipelines/compare_dedup.py
    COMPARE_INPUT='crawl/*.jsonl.zst' dataprep run pipelines/compare_dedup.py --out out/mine     your own corpus
    COMPARE_SEEDS=5 dataprep run pipelines/compare_dedup.py     also train models on what each method leaves

Without COMPARE_INPUT, the corpus is that of demo.py: docstrings, licences and package descriptions of this
installation, and sample_data. Every method reads the same corpus and writes the remaining documents, in a process of
its own with one worker: seconds and peak memory are of this process, and include reading and writing (the method "none"
only copies). Tokens are counted by a BPE trained on the whole corpus, with a separator after each document. A method
that was measured is not measured again unless its folder is deleted. With COMPARE_SEEDS, the step `quality` trains that
many small models per method, on equal numbers of tokens (COMPARE_TOKENS; by default those of the preset), and compares
them on documents that are held out before any method runs (docs/experiments.md). `dataprep inspect
OUT/compare/minhash` shows what the method minhash removed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import dataprep as dp
from dataprep import pipeline_file
from dataprep.core.model import batch as B
from dataprep.store import files, receipts
from dataprep.store.key import key

INPUT = os.environ.get("COMPARE_INPUT")
SEEDS = int(os.environ.get("COMPARE_SEEDS", "0"))
PRESET = os.environ.get("COMPARE_PRESET", "probe")
TOKENS = int(os.environ.get("COMPARE_TOKENS", "0")) or None
VOCABULARY = int(os.environ.get("COMPARE_VOCABULARY", "8192"))
STAGES: dict[str, Callable[[], Any]] = {
    "exact": dp.Exact,
    "minhash": lambda: dp.MinHash(preset="lee2022"),  # 450 bands of 20 rows
    "sa": lambda: dp.SuffixArray(min_words=50),
    "bloom": lambda: dp.Bloom(unit="ngram"),  # the fuzzy filter of DataComp-LM: 80 % of 13-grams
    "dclm": lambda: dp.MinHash(preset="dclm"),  # 93 bands of 15 rows
    "vectors": dp.SemDeDup,
}
LETTERS = dict(zip(STAGES, "EMSBDV", strict=True))  # in the table of overlaps
COMPARED = ("exact", "minhash", "sa", "bloom", "exact+minhash", "exact+sa", "minhash+sa", "exact+minhash+sa", "dclm")
HAS_VECTORS = importlib.util.find_spec("fasttext") is not None
METHODS = ("none", *COMPARED, *(("vectors",) if HAS_VECTORS else ()))
MATRIX = "of the bytes that a row removes (documents, and spans cut out of others), the share that a column removes too"
MEASURED = ("method", "documents", "bytes", "tokens", "seconds", "cpu_seconds", "peak_mb")


def ingest(out, runner):
    """Write the corpus as a Dataset."""
    if INPUT is None:
        demo = pipeline_file.load(str(Path(__file__).with_name("demo.py")))
        return demo[0].fn(out, runner)
    return dp.Pipeline().run(dp.read(INPUT), out=out, runner=runner, replace=True)


def tokenizer(ingest, out, runner):
    """Train the BPE by which tokens are counted."""
    return dp.train_bpe(ingest, vocab_size=VOCABULARY, runner=runner, out=out)


def compare(ingest, tokenizer, out, runner):
    """Run every method, measure the remaining documents, and print two tables."""
    for stage in map(stages, METHODS):
        for one in stage:
            one.warm()  # compiled here once, so that no method's time or memory has the compiler in it
    rows = [_row(name, ingest, tokenizer, out, runner) for name in METHODS]
    shared = overlap(ingest, [_opened(out, name) for name in METHODS[1:]])
    files.write_json(files.join(out, "compare.json"), {"methods": rows, "shared_bytes": shared.tolist()})
    tables = [results(rows), matrix(METHODS[1:], shared)]
    with files.atomic(files.join(out, "compare.md")) as f:
        f.write(f"{_markdown(tables[0])}\nBelow: {MATRIX}.\n\n{_markdown(tables[1])}".encode())
    for table in tables:
        Console().print(table)
    left_out = "" if HAS_VECTORS else "vectors (SemDeDup) is left out: it needs `pip install 'dataprep-lm[langid]'`\n"
    return f"{MATRIX}\n{left_out}{files.join(out, 'compare.md')}"


def quality(ingest, out, runner):
    """Train the same model on what each method leaves, and print the loss of each, if COMPARE_SEEDS is set."""
    if not SEEDS:
        return "COMPARE_SEEDS=5 also trains models on what each method leaves (docs/experiments.md)"
    return dp.experiment({name: stages(name) for name in METHODS}, docs=ingest, out=out, train=PRESET, seeds=SEEDS,
                         tokens=TOKENS, runner=runner)  # fmt: skip


def stages(method: str) -> list[Any]:
    """Return the stages of a method, in order."""
    return [] if method == "none" else [STAGES[name]() for name in method.split("+")]


# -- one method


def _row(name: str, docs: dp.Dataset, tok: dp.Tokenizer, out: str, runner: Any) -> dict[str, Any]:
    """Return the measurements of a method, as {field of MEASURED: value}; run the method unless it was measured."""
    place = files.join(out, name)

    def make() -> dict[str, Any]:
        files.remove(place)
        took = _measure(name, str(docs.url), place)
        left = dp.open_dataset(place)
        n_tokens = sum(runner.map(partial(_n_tokens, tok), left.tasks, f"{name}: tokens"))
        n_bytes = left.sealed.bytes
        return {"files": [files.join(place, "manifest.json")], "method": name, "documents": left.count,
                "bytes": n_bytes, "tokens": n_tokens, **took}  # fmt: skip

    made_by = key((docs.key, tok.hash, stages(name)))
    row = receipts.once(files.join(out, "rows", f"{name}.json"), made_by, make)
    return {field: row[field] for field in MEASURED}


def _opened(out: str, name: str) -> dp.Dataset:
    return dp.open_dataset(files.join(out, name))


def _n_tokens(tok: dp.Tokenizer, item: Any) -> int:
    texts = (batch.column("text") for batch in item.batches(["id", "text"]))
    return sum(len(tok.encode_column(column, np.uint32)[0]) for column in texts)


def _measure(name: str, docs: str, out: str) -> dict[str, float]:
    """Run a method in a process of its own; return its seconds, CPU seconds and peak memory."""
    command = [sys.executable, __file__, name, docs, out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - this very file
    if done.returncode:
        msg = f"{name} failed: {(done.stderr.strip().splitlines() or ['it ended without a word'])[-1]}"
        raise dp.DataprepError(msg)
    return json.loads(done.stdout.splitlines()[-1])


def _child(name: str, docs: str, out: str) -> None:
    """Run a method in this process, and print its seconds, CPU seconds and peak memory as JSON."""
    chosen = stages(name)
    for stage in chosen:
        stage.warm()  # loads what the parent compiled
    given = dp.open_dataset(docs)
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    dp.Pipeline(*chosen).run(given, out=out)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"seconds": wall, "cpu_seconds": cpu, "peak_mb": _peak_kb() / 1e3}))


def _peak_kb() -> int:
    """Return the peak memory of this process in kB."""
    status = Path("/proc/self/status")
    if status.exists():  # `ru_maxrss` of Linux counts what the parent held before
        return int(re.search(r"VmHWM:\s*(\d+)", status.read_text())[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024  # bytes, on macOS


# -- what they share


@dataclass(frozen=True)
class Removed:
    """What one method removed: ids of documents, sorted, and spans (id, start, end) of others, sorted by id."""

    ids: np.ndarray
    spans: np.ndarray

    @classmethod
    def of(cls, left: dp.Dataset) -> Removed:
        """Return what the stages of the Dataset `left` removed.

        Offsets refer to the input texts, provided that only one stage cuts.
        """
        cuts = left.cuts()
        spans = np.stack([cuts.column(name).to_numpy().astype(np.int64) for name in ("id", "start", "end")], axis=1)
        return cls(np.sort(left.drops().column("id").to_numpy()), spans[np.argsort(spans[:, 0], kind="stable")])

    def mask(self, batch: Any) -> np.ndarray:
        """Return for each byte of a batch's texts whether it was removed, bool[bytes]."""
        ids, sizes = B.ids(batch), B.lengths(batch)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        low, high = np.searchsorted(self.spans[:, 0], [int(ids[0]), int(ids[-1]) + 1])
        cut = self.spans[low:high]
        begins = offsets[np.searchsorted(ids.astype(np.int64), cut[:, 0])]
        steps = np.bincount(begins + cut[:, 1], minlength=offsets[-1] + 1)
        steps -= np.bincount(begins + cut[:, 2], minlength=offsets[-1] + 1)
        return np.repeat(np.isin(ids, self.ids), sizes) | (np.cumsum(steps[:-1]) > 0)


def overlap(docs: dp.Dataset, results: list[dp.Dataset]) -> np.ndarray:
    """Return the number of bytes that two methods both remove, int64[methods, methods].

    The diagonal has the bytes that each method removes.
    """
    removed = list(map(Removed.of, results))
    shared = np.zeros((len(removed), len(removed)), np.int64)
    for batch in docs.batches(["id", "text"]):
        if batch.num_rows:
            masks = [one.mask(batch) for one in removed]
            shared += [[np.count_nonzero(a & b) for b in masks] for a in masks]
    return shared


# -- tables


def results(rows: list[dict[str, Any]]) -> Table:
    """Return a table of what remains, one row per method; "less" compares with the method "none"."""
    table = _table("what is left", ("documents", "less", "MB", "less", "tokens", "less", "sec", "CPU", "peak MB"))
    whole = rows[0]
    for row in rows:
        less = {name: f"{1 - row[name] / max(1, whole[name]):.1%}" for name in ("documents", "bytes", "tokens")}
        table.add_row(
            row["method"], f"{row['documents']:,}", less["documents"], f"{row['bytes'] / 1e6:,.2f}", less["bytes"],
            f"{row['tokens']:,}", less["tokens"], f"{row['seconds']:.1f}", f"{row['cpu_seconds']:.1f}",
            f"{row['peak_mb']:,.0f}",
        )  # fmt: skip
    return table


def matrix(names: tuple[str, ...], shared: np.ndarray) -> Table:
    """Return a table with a row and a column per method, and the megabytes that the row's method removes."""
    short = ["".join(LETTERS[part] for part in name.split("+")) for name in names]
    table = _table("shared removals", ("", "MB", *short))
    for i, row in enumerate(shared.tolist()):
        shares = (f"{both / row[i]:.0%}" if row[i] else "" for both in row)
        table.add_row(names[i], short[i], f"{row[i] / 1e6:,.2f}", *shares)
    return table


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column("method", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _markdown(table: Table) -> str:
    """Return a table as Markdown."""
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    heads = [str(column.header) for column in table.columns]
    lines = [heads, ["---", *("--:" for _ in heads[1:])], *map(list, zip(*cells, strict=True))]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    _child(*sys.argv[1:])
