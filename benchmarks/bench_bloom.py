"""Bloom filters: MB of UTF-8 text per second of user CPU, and peak memory, beside what a user would pick instead.

    python benchmarks/bench_bloom.py [--mb 100] [--peer-mb 30] [--input TEXTS.jsonl] [--peer-python ENV/bin/python ...]

JSONL in, spans of repeated paragraphs out (dolma: its attribute file; loops: a list of spans, nothing written), at a
rate of false positives of 1e-4. Dataprep counts the paragraphs itself; peers are told how many there are. Each engine
gets the same file in a process of its own, warmed up on a few documents first. `wrong` are paragraphs that a Python set
has not seen and the filter has. Text: `corpus.py`, or any JSONL with a `text`. The rates of loops and of dolma fall
with the length of paragraphs: --short cuts the corpus' lines at every comma.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from engines import child, interpreters, peak_kb

ENGINES = {
    "paragraph_ours": "dataprep Bloom(unit='paragraph')",
    "paragraph_rbloom": "orjson and rbloom (Rust) in a Python loop",
    "paragraph_pybloom": "orjson and pybloom_live in a Python loop",
    "paragraph_dolma": "dolma deduper (Rust), one process",
    "document_ours": "dataprep Bloom(unit='document')",
    "ngram_ours": "dataprep Bloom(unit='ngram')",
}
RATE = 1e-4


def fit(unit: str, file: str, folder: str) -> dict:
    """One fit from the file to the verdicts on disk."""
    import dataprep as dp

    facts = dp.Bloom(unit=unit, error_rate=RATE).fit(dp.read(file), dp.tools.Serial(), folder).facts
    return {"seen": facts["keys"] - facts["entered"]} if unit != "ngram" else {"seen": facts["spans"]}


def paragraph_ours(file: str, folder: str, _: int) -> dict:
    return fit("paragraph", file, folder)


def document_ours(file: str, folder: str, _: int) -> dict:
    return fit("document", file, folder)


def ngram_ours(file: str, folder: str, _: int) -> dict:
    return fit("ngram", file, folder)


def loop(file: str, seen, add: Callable[[str], object]) -> dict:
    """What one writes by hand: spans of the paragraphs that are in `seen` already."""
    import orjson

    spans = []
    with Path(file).open("rb") as f:
        for number, line in enumerate(f):
            at = 0
            for paragraph in orjson.loads(line)["text"].split("\n"):
                stop = at + len(paragraph) + 1
                if paragraph and not paragraph.isspace():
                    if paragraph in seen:
                        spans.append((number, at, stop))
                    else:
                        add(paragraph)
                at = stop
    return {"seen": len(spans)}


def paragraph_rbloom(file: str, _: str, n: int) -> dict:
    import rbloom

    bloom = rbloom.Bloom(n, RATE)
    return loop(file, bloom, bloom.add)


def paragraph_pybloom(file: str, _: str, n: int) -> dict:
    import pybloom_live

    bloom = pybloom_live.BloomFilter(n, RATE)
    return loop(file, bloom, lambda key: bloom.add(key, skip_check=True))


def paragraph_dolma(file: str, folder: str, n: int) -> dict:
    import dolma

    place = Path(folder)
    for name in ("documents", "in", "out"):
        (place / name).mkdir()
    (place / "documents" / "one.jsonl").symlink_to(file)
    dolma.deduper({
        "documents": [f"{place}/documents/*.jsonl"],
        "work_dir": {"input": f"{place}/in", "output": f"{place}/out"},
        "dedupe": {
            "name": "paragraphs", "paragraphs": {"attribute_name": "seen", "paragraph_separator": "\n"},
            "skip_empty": True, "min_length": 0, "min_words": 0, "num_partitions": 1, "partition_index": 0,
            "file_partition": False, "document_dir": "documents",
        },
        "bloom_filter": {
            "file": f"{place}/filter", "size_in_bytes": 0, "read_only": False, "estimated_doc_count": n,
            "desired_false_positive_rate": RATE,
        },
        "processes": 1, "compression": {"input": "", "output": ""}, "is_s3_volume": False,
    })  # fmt: skip
    with (place / "attributes" / "paragraphs" / "one.jsonl").open() as f:
        return {"seen": sum(len(json.loads(line)["attributes"].get("seen", ())) for line in f)}


def measure(engine: str, file: str, n: int, warm: str) -> dict:
    """Run one engine in this process: seconds of user CPU, wall time, peak kB, and what it found."""
    with tempfile.TemporaryDirectory() as folder:
        globals()[engine](warm, folder, 1000)
    with tempfile.TemporaryDirectory() as folder:
        before, start = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.perf_counter()
        found = globals()[engine](file, folder, n)
        wall = time.perf_counter() - start
        user = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    return found | {"user": user, "wall": wall, "peak": peak_kb()}


def write(url: str, n_bytes: int, source: str | None, *, short: bool) -> tuple[str, int, int, int]:
    """Write JSONL; where, bytes of text, and how many paragraphs there are and are distinct."""
    import corpus

    texts = corpus.documents(n_bytes) if source is None else _texts(source)
    size, seen, total = 0, set(), 0
    with Path(url).open("w", encoding="utf-8") as f:
        for number, given in enumerate(texts):
            text = given.replace(", ", ",\n") if short else given
            f.write(json.dumps({"id": str(number), "text": text}, ensure_ascii=False) + "\n")
            paragraphs = [hash(p) for p in text.split("\n") if p.strip()]
            size, total = size + len(text.encode()), total + len(paragraphs)
            seen.update(paragraphs)
            if size >= n_bytes:
                break
    return url, size, total, len(seen)


def _texts(file: str):
    with Path(file).open("rb") as f:
        for line in f:
            yield json.loads(line)["text"]


def main() -> None:
    """Write the texts, run the engines, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=100, help="of text for dataprep")
    parser.add_argument("--peer-mb", type=float, default=30, help="of text for the others")
    parser.add_argument("--short", action="store_true", help="break lines at commas")
    parser.add_argument("--input", help="JSONL with a field `text` to take the documents from")
    parser.add_argument("--peer-python", nargs="*", default=[])
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--file", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        file, n, warm = given.file
        print(json.dumps(measure(given.engine, file, int(n), warm)))
        return
    pythons = interpreters(given.peer_python)
    with tempfile.TemporaryDirectory() as folder:
        sizes = {"warm": 0.05, "peer": given.peer_mb, "ours": given.mb}
        inputs = {
            n: write(f"{folder}/{n}.jsonl", int(mb * 1e6), given.input, short=given.short) for n, mb in sizes.items()
        }
        print(f"{'from JSONL to spans':42} {'MB':>5} {'MB/s user':>9} {'MB/s wall':>9} {'peak MB':>8} "
              f"{'seen':>10} {'wrong':>6}")  # fmt: skip
        for engine, name in ENGINES.items():
            file, size, total, distinct = inputs["ours" if engine.endswith("ours") else "peer"]
            got = child(__file__, pythons, engine, "--file", file, str(distinct), inputs["warm"][0])
            if isinstance(got, str):
                print(f"{name:42} skipped: {got}")
                continue
            wrong = f"{got['seen'] - (total - distinct):6,}" if engine.startswith("paragraph") else ""
            print(f"{name:42} {size / 1e6:5.0f} {size / got['user'] / 1e6:9.1f} {size / got['wall'] / 1e6:9.1f} "
                  f"{got['peak'] / 1e3:8.0f} {got['seen']:10,} {wrong}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
