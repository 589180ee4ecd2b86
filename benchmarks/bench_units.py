"""Exact deduplication by document, paragraph, line and three-sentence span: MB of text per second of user CPU.

    python benchmarks/bench_units.py [--mb 100] [--peer-mb 20] [--growth 100 300 1000] [--input TEXTS.jsonl]
                                     [--only paragraph] [--peer-python ENV/bin/python ...]

From JSONL to the kept documents on disk (ours: "sealed" Parquet, zstd, or only the "verdicts"; the loops: JSONL;
dolma: attributes, which another pass would apply), and peak memory. The text is that of `corpus.py`, with lines of
boilerplate strewn in. Every engine gets a process of its own, warmed up on a few documents; user CPU is that of the
process and of those it started. Peers (orjson, xxhash, rbloom, dolma, datatrove) are imported where they are found;
--peer-python names other interpreters to look in.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

from bench_dedup import texts_of
from engines import child, interpreters, peak_kb, write_texts

GROUPS = {
    "document": {
        "document_ours": "dataprep Exact(), sealed",
        "document_fit_ours": "dataprep Exact(), verdicts",
        "document_loop": "orjson, xxh3_128 and a set, in a loop",
        "document_dolma": "dolma dedupe, Bloom (attributes)",
    },
    "paragraph": {
        "paragraph_ours": 'dataprep Exact(unit="paragraph"), sealed',
        "paragraph_fit_ours": 'dataprep Exact(unit="paragraph"), verdicts',
        "paragraph_loop": "orjson, xxh3_128 and a set, in a loop",
        "paragraph_rbloom": "orjson and rbloom in a loop",
        "paragraph_dolma": "dolma dedupe, Bloom (attributes)",
    },
    "line": {
        "line_ours": 'dataprep Exact(unit="line"), sealed',
        "line_fit_ours": 'dataprep Exact(unit="line"), verdicts',
        "line_loop": "orjson, strip, lower, xxh3_128, a set",
    },
    "span3": {
        "span3_ours": 'dataprep Exact(unit="span3"), sealed',
        "span3_fit_ours": 'dataprep Exact(unit="span3"), verdicts',
        "span3_datatrove": "datatrove sentence dedup, spaCy",
    },
}
BOILERPLATE = [f"Section {i}: share this page with your friends and subscribe to our letter." for i in range(300)]


def ours(unit: str, file: str, out: str) -> str:
    import dataprep as dp

    sealed = dp.Pipeline(dp.Exact(unit=unit)).run(dp.read(file), out)
    facts = sealed.sealed.fits[0]
    return f"{facts.get('duplicates', facts.get('dropped')):,} of {facts.get('units', facts['documents']):,}"


def found(unit: str, file: str, out: str) -> str:
    import dataprep as dp

    facts = dp.Exact(unit=unit).fit(dp.read(file), dp.tools.Serial(), out).facts
    return f"{facts.get('duplicates', facts.get('dropped')):,} of {facts.get('units', facts['documents']):,}"


def document_ours(file: str, out: str) -> str:
    return ours("document", file, out)


def paragraph_ours(file: str, out: str) -> str:
    return ours("paragraph", file, out)


def line_ours(file: str, out: str) -> str:
    return ours("line", file, out)


def span3_ours(file: str, out: str) -> str:
    return ours("span3", file, out)


def document_loop(file: str, out: str) -> str:
    import orjson
    import xxhash

    seen: set[bytes] = set()
    n = gone = 0
    with Path(file).open("rb") as f, Path(out).open("wb") as kept:
        for line in f:
            digest = xxhash.xxh3_128_digest(orjson.loads(line)["text"].encode())
            n += 1
            if digest in seen:
                gone += 1
            else:
                seen.add(digest)
                kept.write(line)
    return f"{gone:,} of {n:,}"


def by_paragraph(file: str, out: str, is_new: Callable[[str], bool]) -> str:
    """The loop a user writes: paragraphs that are new stay, blank ones too."""
    import orjson

    n = gone = 0
    with Path(file).open("rb") as f, Path(out).open("wb") as kept:
        for line in f:
            row = orjson.loads(line)
            paragraphs = row["text"].split("\n")
            left = [p for p in paragraphs if not p or is_new(p)]
            n, gone = n + len(paragraphs), gone + len(paragraphs) - len(left)
            if left:
                row["text"] = "\n".join(left)
                kept.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    return f"{gone:,} of {n:,}"


def paragraph_loop(file: str, out: str) -> str:
    import xxhash

    seen: set[bytes] = set()

    def is_new(paragraph: str) -> bool:
        before = len(seen)
        seen.add(xxhash.xxh3_128_digest(paragraph.encode()))
        return len(seen) > before

    return by_paragraph(file, out, is_new)


def paragraph_rbloom(file: str, out: str) -> str:
    import xxhash
    from rbloom import Bloom

    def number(paragraph: str) -> int:
        return xxhash.xxh3_128_intdigest(paragraph.encode()) - (1 << 127)

    bloom = Bloom(max(1000, Path(file).stat().st_size // 50), 1e-4, number)

    def is_new(paragraph: str) -> bool:
        if paragraph in bloom:
            return False
        bloom.add(paragraph)
        return True

    return by_paragraph(file, out, is_new)


def line_loop(file: str, out: str) -> str:
    import xxhash

    seen: set[bytes] = set()

    def is_new(line: str) -> bool:
        before = len(seen)
        seen.add(xxhash.xxh3_128_digest(line.strip().lower().encode()))
        return len(seen) > before

    return by_paragraph(file, out, is_new)


def document_dolma(file: str, out: str) -> str:
    return dolma(file, out, {"documents": {"attribute_name": "seen", "key": "$.text"}})


def paragraph_dolma(file: str, out: str) -> str:
    return dolma(file, out, {"paragraphs": {"attribute_name": "seen"}})


def dolma(file: str, out: str, unit: dict) -> str:
    """Dolma's `dedupe` with one process; it wants gzip and ids, which are made before the clock starts."""
    place = Path(file).with_suffix(".dolma") / "documents" / "a.jsonl.gz"
    bloom = {
        "file": out + ".bloom",
        "read_only": False,
        "size_in_bytes": 0,  # follows from the next two
        "estimated_doc_count": max(1000, Path(file).stat().st_size // 50),
        "desired_false_positive_rate": 1e-4,
    }
    config = {
        "documents": [str(place)],
        "work_dir": {"input": out + ".in", "output": out + ".out"},
        "dedupe": {"name": "seen", "skip_empty": True, **unit},
        "bloom_filter": bloom,
        "processes": 1,
        "is_s3_volume": False,
    }
    dolma_extension().deduper_entrypoint(json.dumps(config))
    found = place.parent.parent / "attributes" / "seen" / "a.jsonl.gz"
    with gzip.open(found, "rt") as f:
        spans = sum(line.count(",1]") for line in f)
    shutil.rmtree(found.parent)
    return f"{spans:,}"


@cache
def dolma_extension():
    """The Rust half alone: the package itself imports a hundred taggers."""
    package = importlib.util.find_spec("dolma")
    if package is None:
        msg = "No module named 'dolma'"
        raise ModuleNotFoundError(msg)
    spec = importlib.util.spec_from_file_location("dolma", next(Path(package.origin).parent.glob("dolma*.so")))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prepare_dolma(file: str) -> None:
    """The same rows, gzipped, with ids."""
    place = Path(file).with_suffix(".dolma") / "documents"
    if not place.exists():
        place.mkdir(parents=True)
        with gzip.open(place / "a.jsonl.gz", "wt", compresslevel=1) as f:
            for number, text in enumerate(texts_of(file)):
                f.write(json.dumps({"id": str(number), "source": "b", "text": text}) + "\n")


def span3_datatrove(file: str, out: str) -> str:
    """Its three blocks, each with one worker."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import SentenceDedupFilter, SentenceDedupSignature, SentenceFindDedups
    from datatrove.pipeline.dedup.sentence_dedup import SentDedupConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    config = SentDedupConfig(n_sentences=3, split_sentences=True, min_doc_words=0)
    reader = JsonlReader(str(Path(file).parent), glob_pattern=Path(file).name)
    blocks = [
        [reader, SentenceDedupSignature(output_folder=out + "/sigs", config=config, finder_workers=1)],
        [SentenceFindDedups(data_folder=out + "/sigs", output_folder=out + "/dups", config=config)],
        [reader, SentenceDedupFilter(out + "/dups", config=config), JsonlWriter(out + "/kept")],
    ]
    for number, pipeline in enumerate(blocks):
        stats = LocalPipelineExecutor(pipeline=pipeline, tasks=1, workers=1, logging_dir=f"{out}/log{number}").run()
    return f"{stats.stats[1]['removed_sentences'].total:,} sentences"


def measure(engine: str, file: str, warm: str) -> dict:
    """Run one engine in this process: seconds of user CPU, wall time, peak kB, and what it says it removed."""
    work = partial(found, engine.partition("_")[0]) if engine.endswith("fit_ours") else globals()[engine]
    if engine.endswith("dolma"):
        prepare_dolma(file)
        prepare_dolma(warm)
    with tempfile.TemporaryDirectory() as out:
        work(warm, out + "/warm")
        before, start = _user(), time.perf_counter()
        said = work(file, out + "/out")
        return {"user": _user() - before, "wall": time.perf_counter() - start, "peak": peak_kb(), "said": said}


def _user() -> float:
    return sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def table(title: str, engines: dict[str, str], inputs: dict, pythons: list[str]) -> None:
    """One row an engine."""
    print(f"\n{title:45} {'MB':>5} {'MB/s user':>9} {'MB/s wall':>9} {'peak MB':>8}  removed")
    for engine, name in engines.items():
        file, size = inputs["ours" if engine.endswith(("ours", "loop", "rbloom")) else "peer"]
        got = child(__file__, pythons, engine, "--file", file, "--warm", inputs["warm"][0])
        if isinstance(got, str):
            print(f"{name} skipped: {got}")
            continue
        rates = f"{size / got['user'] / 1e6:9.1f} {size / got['wall'] / 1e6:9.1f}"
        print(f"{name:45} {size / 1e6:5.0f} {rates} {got['peak'] / 1e3:8.0f}  {got['said']}", flush=True)


def strewn(n_bytes: int, source: str | None) -> Iterator[str]:
    """Documents with a line of boilerplate at either end of half of them."""
    import corpus

    rng = random.Random(1)
    for text in corpus.documents(n_bytes) if source is None else texts_of(source):
        ends = [rng.choice(BOILERPLATE) if rng.random() < 0.5 else "" for _ in range(2)]
        yield "\n".join(filter(None, [ends[0], text, ends[1]]))


def write(url: str, n_bytes: int, source: str | None) -> tuple[str, int]:
    """Write JSONL of about `n_bytes` of text; where, and how many bytes of text."""
    return write_texts(url, strewn(n_bytes, source), n_bytes)


def main() -> None:
    """Write the texts, run the engines, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=100, help="of text for dataprep and the loops")
    parser.add_argument("--peer-mb", type=float, default=20, help="of text for dolma and datatrove")
    parser.add_argument("--growth", type=float, nargs="*", default=[], help="MB to compare peak memory at")
    parser.add_argument("--only", choices=list(GROUPS), nargs="*", default=list(GROUPS))
    parser.add_argument("--input", help="JSONL with a field `text` to take the documents from")
    parser.add_argument("--peer-python", nargs="*", default=[])
    parser.add_argument("--engine", choices=[e for g in GROUPS.values() for e in g], help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--warm", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        print(json.dumps(measure(given.engine, given.file, given.warm)))
        return
    pythons = interpreters(given.peer_python)
    with tempfile.TemporaryDirectory() as folder:
        sizes = {"warm": 0.05, "peer": given.peer_mb, "ours": given.mb}
        inputs = {}
        for name, mb in sizes.items():
            (Path(folder) / name).mkdir()
            inputs[name] = write(f"{folder}/{name}/texts.jsonl", int(mb * 1e6), given.input)
        for group in given.only:
            table(f"unit={group}", GROUPS[group], inputs, pythons)
        for mb in given.growth:
            inputs["ours"] = write(f"{folder}/ours/texts.jsonl", int(mb * 1e6), given.input)
            engines = {f"{group}_ours": GROUPS[group][f"{group}_ours"] for group in given.only}
            table(f"growth: {inputs['ours'][1] / 1e6:.0f} MB", engines, inputs, pythons)


if __name__ == "__main__":
    main()
