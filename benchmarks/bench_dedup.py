"""Deduplication: MB of UTF-8 text per second of user CPU, and peak memory, beside what a user would pick instead.

    python benchmarks/bench_dedup.py [--mb 100] [--peer-mb 10] [--growth 50 1000] [--input TEXTS.jsonl]
                                     [--peer-python ENV/bin/python ...]

The text is that of `corpus.py` (sentences of the installed docstrings, 5 % exact and 10 % near copies), or any JSONL
with a `text`. Every engine gets the same file in a process of its own, warmed up on a few documents first. All MinHash
engines use 140 hashes in 20 bands of 7 and 5-word shingles of `re.findall(r"\\w+", text.lower())`, and look for
Jaccard 0.8; peers keep the first of what their index calls similar. What they drop is then compared exactly: `below
0.8` counts documents that went although no kept document is that similar to them. Peers (datasketch, rensa, gaoya)
are imported where they are found; --peer-python names other interpreters to look in.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from engines import child, interpreters, peak_kb, write_texts

SIGN = {"exact_ours": "dataprep Exact: hash in batches", "exact_xxhash": "xxhash.xxh3_128 in a Python loop"}
SKETCH = {
    "sketch_ours": "dataprep, in batches",
    "sketch_datasketch": "datasketch update_batch",
    "sketch_rensa": "rensa RMinHash",
}
WHOLE = {
    "minhash_ours": "dataprep MinHash, JSONL to verdicts",
    "exact_fit_ours": "dataprep Exact, JSONL to verdicts",
    "minhash_datasketch": "datasketch MinHashLSH (estimated)",
    "minhash_rensa": "rensa RMinHashDeduplicator (estimated)",
    "minhash_gaoya": "gaoya MinHashStringIndex (estimated)",
}
BANDS, ROWS, NGRAM, THRESHOLD = 20, 7, 5, 0.8
Work = Callable[[str], Callable[[], list]]


def shingles(text: str) -> set[str]:
    """What every Python engine hashes."""
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[i : i + NGRAM]) for i in range(max(1, len(words) - NGRAM + 1))} if words else set()


def texts_of(file: str) -> list[str]:
    """All texts in memory."""
    with Path(file).open("rb") as f:
        return [json.loads(line)["text"] for line in f]


def batches_of(file: str) -> list:
    """All texts as batches."""
    import dataprep as dp

    return list(dp.read(file).batches(["id", "text"]))


def exact_ours(file: str) -> Callable[[], list]:
    from dataprep.core.model import batch as B
    from dataprep.unicode.hashes import text_hashes

    batches = batches_of(file)
    return lambda: [text_hashes(*B.buffers(b)) for b in batches] and []


def exact_xxhash(file: str) -> Callable[[], list]:
    import xxhash

    texts = texts_of(file)
    return lambda: [xxhash.xxh3_128_intdigest(t.encode()) for t in texts] and []


def sketch_ours(file: str) -> Callable[[], list]:
    from dataprep.dedup.minhash import MinHash

    batches, sketch = batches_of(file), MinHash(bands=BANDS, rows=ROWS).sketch
    return lambda: [sketch.keys(b) for b in batches] and []


def sketch_datasketch(file: str) -> Callable[[], list]:
    texts = texts_of(file)
    return lambda: [_datasketch(t) for t in texts] and []


def _datasketch(text: str):
    import datasketch

    sketch = datasketch.MinHash(BANDS * ROWS)
    sketch.update_batch([s.encode() for s in shingles(text)])
    return sketch


def sketch_rensa(file: str) -> Callable[[], list]:
    texts = texts_of(file)
    return lambda: [_rensa(t) for t in texts] and []


def _rensa(text: str):
    import rensa

    sketch = rensa.RMinHash(BANDS * ROWS, 42)
    sketch.update(shingles(text))
    return sketch


def minhash_ours(file: str) -> Callable[[], list]:
    from dataprep.dedup.minhash import MinHash

    return lambda: _fit(MinHash(threshold=THRESHOLD, bands=BANDS, rows=ROWS), file)


def exact_fit_ours(file: str) -> Callable[[], list]:
    from dataprep.dedup.exact import Exact

    return lambda: _fit(Exact(), file)


def _fit(stage, file: str) -> list:
    """Pairs (dropped, kept) as line offsets; from the file to the verdict table, all passes on disk."""
    import pyarrow.parquet as pq

    import dataprep as dp

    with tempfile.TemporaryDirectory() as out:
        found = pq.read_table(stage.fit(dp.read(file), dp.tools.Serial(), out).verdicts)
    return list(zip(found["id"].to_pylist(), found["duplicate_of"].to_pylist(), strict=True))


def minhash_datasketch(file: str) -> Callable[[], list]:
    import datasketch

    def run() -> list:
        index = datasketch.MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
        kept, pairs = {}, []
        for number, text in enumerate(texts_of(file)):
            sketch = _datasketch(text)
            hit = next((k for k in sorted(index.query(sketch)) if kept[k].jaccard(sketch) >= THRESHOLD), None)
            if hit is None:
                index.insert(number, sketch)
                kept[number] = sketch
            else:
                pairs.append((number, hit))
        return pairs

    return run


def minhash_rensa(file: str) -> Callable[[], list]:
    import rensa

    def run() -> list:
        index = rensa.RMinHashDeduplicator(THRESHOLD, BANDS * ROWS, True, BANDS)
        pairs = []
        for number, text in enumerate(texts_of(file)):
            sketch = _rensa(text)
            hits = index.get_duplicates(sketch)
            if hits:
                pairs.append((number, min(map(int, hits))))
            else:
                index.add(str(number), sketch)
        return pairs

    return run


def minhash_gaoya(file: str) -> Callable[[], list]:
    from gaoya.minhash import MinHashStringIndex

    def run() -> list:
        index = MinHashStringIndex(32, THRESHOLD, BANDS, ROWS, None, "word", lowercase=True, ngram_range=(NGRAM, NGRAM))
        pairs = []
        for number, text in enumerate(texts_of(file)):
            hits = index.query(text)
            if hits:
                pairs.append((number, min(hits)))
            else:
                index.insert_document(number, text)
        return pairs

    return run


def measure(engine: str, file: str, warm: str) -> dict:
    """Run one engine in this process: seconds of user CPU, wall time, peak kB, and the pairs it found."""
    globals()[engine](warm)()
    run = globals()[engine](file)
    before, start, times, pairs = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter(), 0, []
    after = before
    while times == 0 or after.ru_utime - before.ru_utime < 0.3:
        pairs = run()
        times += 1
        after = resource.getrusage(resource.RUSAGE_SELF)
    wall, user = (time.perf_counter() - start) / times, (after.ru_utime - before.ru_utime) / times
    return {"user": user, "wall": wall, "peak": peak_kb(), "pairs": pairs}


def wrong(file: str, pairs: list, *, by_offset: bool) -> int:
    """How many documents went for one that is less similar than the threshold, by exact shingle sets."""
    sets, at = {}, 0
    wanted = {n for pair in pairs for n in pair}
    with Path(file).open("rb") as f:
        for number, line in enumerate(f):
            name = at if by_offset else number
            if name in wanted:
                sets[name] = shingles(json.loads(line)["text"])
            at += len(line)
    shared = ((len(sets[a] & sets[b]), len(sets[a] | sets[b])) for a, b in pairs)
    return sum(both / max(1, either) < THRESHOLD for both, either in shared)


def table(title: str, engines: dict[str, str], inputs: dict, pythons: list[str]) -> None:
    """One row an engine."""
    print(f"\n{title:45} {'MB':>5} {'MB/s user':>9} {'MB/s wall':>9} {'peak MB':>8} {'dropped':>8} {'below 0.8':>9}")
    for engine, name in engines.items():
        file, size = inputs["ours" if engine.endswith("ours") else "peer"]
        got = child(__file__, pythons, engine, "--file", file, "--warm", inputs["warm"][0])
        if isinstance(got, str):
            print(f"{name} skipped: {got}")
            continue
        found = ""
        if got["pairs"]:
            below = wrong(file, got["pairs"], by_offset=engine.endswith("ours")) if "minhash" in engine else 0
            found = f"{len(got['pairs']):8,} {below:9,}"
        rates = f"{size / got['user'] / 1e6:9.1f} {size / got['wall'] / 1e6:9.1f}"
        print(f"{name:45} {size / 1e6:5.0f} {rates} {got['peak'] / 1e3:8.0f} {found}", flush=True)


def write(url: str, n_bytes: int, source: str | None) -> tuple[str, int]:
    """Write JSONL of about `n_bytes` of text; where, and how many bytes of text."""
    import corpus

    return write_texts(url, corpus.documents(n_bytes) if source is None else texts_of(source), n_bytes)


def main() -> None:
    """Write the texts, run the engines, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=100, help="of text for dataprep")
    parser.add_argument("--peer-mb", type=float, default=10, help="of text for the others, which are slower")
    parser.add_argument("--growth", type=float, nargs="*", default=[50, 1000], help="MB to compare peak memory at")
    parser.add_argument("--input", help="JSONL with a field `text` to take the documents from")
    parser.add_argument("--peer-python", nargs="*", default=[])
    parser.add_argument("--engine", choices=[*SIGN, *SKETCH, *WHOLE], help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--warm", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        print(json.dumps(measure(given.engine, given.file, given.warm)))
        return
    pythons = interpreters(given.peer_python)
    with tempfile.TemporaryDirectory() as folder:
        sizes = {"warm": 0.05, "peer": given.peer_mb, "ours": given.mb}
        inputs = {n: write(f"{folder}/{n}.jsonl", int(mb * 1e6), given.input) for n, mb in sizes.items()}
        table("exact signing, text in memory", SIGN, inputs | {"peer": inputs["ours"]}, pythons)
        table("sketching with 140 hashes, text in memory", SKETCH, inputs, pythons)
        table("end to end", WHOLE, inputs, pythons)
        for mb in given.growth:
            inputs["ours"] = write(f"{folder}/ours.jsonl", int(mb * 1e6), given.input)
            engines = {n: WHOLE[n] for n in ("minhash_ours", "exact_fit_ours")}
            table(f"peak memory at {inputs['ours'][1] / 1e6:.0f} MB", engines, inputs, pythons)


if __name__ == "__main__":
    main()
