"""Reading: MB of UTF-8 text per second of user CPU, and peak memory, beside what a user would pick instead.

    python benchmarks/bench_read.py [--mb 100]

Two files of the same documents in .jsonl.zst: `meta` has seven more fields a record, `text` only the text. Every reader
walks them in a process of its own, once to warm up and then three times; the best is shown. The text is that of
`corpus.py` (English, ASCII) and, where there is a folder `../shared/data` (or DATAPREP_SHARED), newswire and handbooks
in many languages, whose non-ASCII bytes and many line feeds are harder on every reader.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import zstandard

HERE = Path(__file__).resolve().parent
READERS = {
    "dataprep": "dataprep",
    "dataprep_text": "dataprep, meta=False",
    "loop": "orjson loop, objects thrown away",
    "table": "orjson into text and meta columns",
    "arrow": "pyarrow.json, text alone",
    "hf": "datasets, json loader, streaming",
}


def dataprep(path, **options):
    """Batches of text and meta."""
    import dataprep as dp
    from dataprep.core.model import batch as B

    return sum(B.text_bytes(batch) for batch in dp.read(path, **options).batches())


def dataprep_text(path):
    """Batches of text."""
    return dataprep(path, meta=False)


def _lines(path):
    raw = zstandard.ZstdDecompressor().stream_reader(open(path, "rb"))  # noqa: SIM115 - the process ends soon
    return io.BufferedReader(raw, 1 << 20)


def loop(path):
    """The plainest loop; characters are counted for bytes, which costs it nothing."""
    return sum(len(orjson.loads(line)["text"]) for line in _lines(path))


def table(path):
    """What the plainest loop costs once columns are wanted."""
    import itertools

    import pyarrow as pa

    n = 0
    lines = _lines(path)
    while block := list(itertools.islice(lines, 8_192)):
        records = [orjson.loads(line) for line in block]
        texts = pa.array([r.pop("text") for r in records], pa.large_string())
        metas = pa.array([orjson.dumps(r) for r in records], pa.large_binary())
        n += texts.nbytes + 0 * metas.nbytes
    return n


def arrow(path):
    """Arrow's reader with the schema given and other fields ignored, on one thread."""
    import pyarrow as pa
    import pyarrow.json as pj

    options = pj.ParseOptions(explicit_schema=pa.schema([("text", pa.string())]), unexpected_field_behavior="ignore")
    stream = pa.CompressedInputStream(pa.OSFile(path), "zstd")
    reader = pj.open_json(stream, pj.ReadOptions(use_threads=False, block_size=4 << 20), options)
    return sum(batch.nbytes for batch in reader)


def hf(path):
    """The loader most people use."""
    import datasets

    rows = datasets.load_dataset("json", data_files=path, split="train", streaming=True)
    return sum(t.nbytes for t in rows.with_format("arrow").iter(batch_size=1_000))


def measure(reader: str, path: str, text_bytes: int) -> None:
    """Print MB/s and peak MB of one reader on one file."""
    read = globals()[reader]
    best = float("inf")
    for turn in range(4):
        start = time.process_time()
        read(path)
        best = min(best, time.process_time() - start) if turn else best
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{text_bytes / best / 1e6:.0f} {peak:.0f}")


def texts(kind: str, n_bytes: int) -> Iterator[str]:
    """Documents of so many bytes together."""
    if kind == "english":
        import corpus

        yield from corpus.documents(n_bytes)
        return
    folder = Path(os.environ.get("DATAPREP_SHARED", HERE.parent.parent / "shared")) / "data" / "text"
    found = []
    for path in [folder / "reuters21578.jsonl.gz", *sorted((folder / "multilingual").glob("*.jsonl.gz"))]:
        if path.exists():
            with gzip.open(path) as f:
                found += [orjson.loads(line).get("text") or "" for line in f]
    rng = random.Random(0)
    while found and n_bytes > 0:
        text = rng.choice(found)
        n_bytes -= len(text.encode())
        yield text


def write(folder: Path, kind: str, n_bytes: int) -> int:
    """Write both files; the bytes of text in each."""
    made = 0
    packer = zstandard.ZstdCompressor(level=3)
    with open(folder / "meta.jsonl.zst", "wb") as a, open(folder / "text.jsonl.zst", "wb") as b:
        with packer.stream_writer(a) as meta, zstandard.ZstdCompressor(level=3).stream_writer(b) as bare:
            for i, text in enumerate(texts(kind, n_bytes)):
                fields = {"url": f"https://example.org/{i}", "id": str(i), "n": i, "tags": ["a", "b"], "score": i / 7}
                more = {"lang": "en", "date": "2024-05-01T00:00:00Z"}
                meta.write(orjson.dumps({"text": text, **fields, **more}) + b"\n")
                bare.write(orjson.dumps({"text": text}) + b"\n")
                made += len(text.encode())
    return made


def main() -> None:
    """Measure every reader on every file, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--measure", nargs=3, metavar=("READER", "PATH", "BYTES"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure[0], given.measure[1], int(given.measure[2]))
        return
    for kind in ("english", "many languages"):
        with tempfile.TemporaryDirectory() as folder:
            made = write(Path(folder), kind, given.mb * 1_000_000)
            if not made:
                print(f"\n{kind}: no real material beside the repository, left out")
                continue
            print(f"\n{kind}, {made / 1e6:.0f} MB of text      text + 7 fields        text alone")
            print(f"{'':36}{'MB/s':>8}{'peak MB':>9}{'MB/s':>10}{'peak MB':>9}")
            for name, title in READERS.items():
                row = [_one(name, f"{folder}/{which}.jsonl.zst", made) for which in ("meta", "text")]
                print(f"{title:36}{row[0][0]:>8}{row[0][1]:>9}{row[1][0]:>10}{row[1][1]:>9}", flush=True)


def _one(name: str, path: str, made: int) -> list[str]:
    command = [sys.executable, __file__, "--measure", name, path, str(made)]
    quiet = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=quiet)
    return done.stdout.split() if not done.returncode else ["failed", "-"]


if __name__ == "__main__":
    main()
