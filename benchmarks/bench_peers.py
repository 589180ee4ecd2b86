"""Other programs beside dataprep, one command: documents in JSON Lines, what they are done with, and what is written.

    make bench-peers                  or  python benchmarks/bench_peers.py [--mb 30] [--peer-mb 3] [--install]
                                              [--peer-python ENV/bin/python ...]

Every engine runs in a process of its own, from a file to what its row says that it writes; it is called once with a
few documents before. Rates are MB of UTF-8 text per second of user CPU and of user and system CPU together; the peak is
of the process, its libraries included. Peers are slower and get less text. The text is that of `corpus.py`. MinHash is
asked for a Jaccard similarity of 0.8 with the bands and shingles of `bench_dedup.py`.

A peer that is not installed is said so. --install installs each peer into an environment of its own below out/peers,
which downloads a few hundred MB; the next call finds them there.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import bench_dedup
from bench_dedup import texts_of
from engines import child, peak_kb, write_texts

HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / "out" / "peers"  # environments made by --install
VOCAB = "tokenizer"  # the folder with the vocabulary of all encoders


class Row(NamedTuple):
    """An engine: what it does, the module that it needs, and what it writes in which codec."""

    name: str
    module: str
    writes: str


NOTHING, PARQUET = "nothing", "Parquet, zstd"
TASKS: dict[str, dict[str, Row]] = {
    "exact duplicates of documents": {
        "exact_ours": Row("dataprep Exact", "dataprep", PARQUET),
        "exact_loop": Row("orjson, xxh3 and a set", "orjson", "JSON Lines, no codec"),
    },
    "near-duplicates": {
        "minhash_ours": Row("dataprep MinHash, verified", "dataprep", PARQUET),
        "minhash_datasketch": Row("datasketch MinHashLSH, estimated", "datasketch", NOTHING),
        "minhash_rensa": Row("rensa RMinHashDeduplicator, estimated", "rensa", NOTHING),
        "minhash_gaoya": Row("gaoya MinHashStringIndex, estimated", "gaoya", NOTHING),
        "minhash_text_dedup": Row("text-dedup, its signatures only", "text_dedup", NOTHING),
    },
    "C4's rules": {
        "c4_ours": Row("dataprep C4", "dataprep", PARQUET),
        "c4_datatrove": Row("datatrove C4QualityFilter", "datatrove", NOTHING),
        "c4_dolma": Row("dolma FasterC4Tagger, tags only", "dolma", NOTHING),
    },
    "encode, one vocabulary": {
        "encode_ours": Row("dataprep encode", "dataprep", "uint16, no codec"),
        "encode_tiktoken": Row("tiktoken encode_ordinary_batch", "tiktoken", "uint16, no codec"),
        "encode_tokenizers": Row("tokenizers encode_batch_fast", "tokenizers", "uint16, no codec"),
    },
}
PACKAGES = {
    "rensa": ["rensa"], "gaoya": ["gaoya"], "text_dedup": ["text-dedup"], "datatrove": ["datatrove", "spacy"],
    "dolma": ["dolma"],
}  # fmt: skip


def exact_ours(file: str, out: str) -> None:
    _run("Exact", file, out)


def minhash_ours(file: str, out: str) -> None:
    _run("MinHash", file, out, threshold=bench_dedup.THRESHOLD, bands=bench_dedup.BANDS, rows=bench_dedup.ROWS)


def c4_ours(file: str, out: str) -> None:
    _run("C4", file, out)


def _run(stage: str, file: str, out: str, **given: object) -> None:
    import dataprep as dp

    dp.Pipeline(getattr(dp, stage)(**given)).run(dp.read(file), out=out)


def exact_loop(file: str, out: str) -> None:
    import orjson
    import xxhash

    seen: set[bytes] = set()
    with Path(file).open("rb") as f, Path(out).open("wb") as to:
        for line in f:
            digest = xxhash.xxh3_128_digest(orjson.loads(line)["text"].encode())
            if digest not in seen:
                seen.add(digest)
                to.write(line)


def minhash_datasketch(file: str, out: str) -> None:  # noqa: ARG001 - it writes nothing
    bench_dedup.minhash_datasketch(file)()


def minhash_rensa(file: str, out: str) -> None:  # noqa: ARG001
    bench_dedup.minhash_rensa(file)()


def minhash_gaoya(file: str, out: str) -> None:  # noqa: ARG001
    bench_dedup.minhash_gaoya(file)()


def minhash_text_dedup(file: str, out: str) -> None:  # noqa: ARG001
    import re

    import numpy as np
    from text_dedup.minhash import embed_func
    from text_dedup.utils.hashfunc import xxh3_32hash

    random, n = np.random.RandomState(1), bench_dedup.BANDS * bench_dedup.ROWS
    prime, most = (1 << 61) - 1, (1 << 32) - 1
    numbers = random.randint(1, prime, n, np.uint64), random.randint(0, prime, n, np.uint64)
    ranges = [(k * bench_dedup.ROWS, (k + 1) * bench_dedup.ROWS) for k in range(bench_dedup.BANDS)]
    for k, text in enumerate(texts_of(file)):
        embed_func(
            content=text, idx=k, num_perm=n, ngram_size=bench_dedup.NGRAM, min_length=1, hashranges=ranges,
            permutations=numbers, hash_func=xxh3_32hash, dtype=np.uint64, max_hash=most, modulo_prime=prime,
            non_alpha=re.compile(r"\W"),
        )  # fmt: skip


def c4_datatrove(file: str, out: str) -> None:  # noqa: ARG001
    from datatrove.data import Document
    from datatrove.pipeline.filters import C4QualityFilter

    rule = C4QualityFilter(min_words_per_line=5, min_num_sentences=3)
    for k, text in enumerate(texts_of(file)):
        rule.filter(Document(text=text, id=str(k)))


def c4_dolma(file: str, out: str) -> None:  # noqa: ARG001
    from dolma.core.data_types import Document
    from dolma.taggers.c4 import FasterC4Tagger

    tagger = FasterC4Tagger()
    for k, text in enumerate(texts_of(file)):
        tagger.predict(Document(source="bench", id=str(k), text=text))


def encode_ours(file: str, out: str) -> None:
    import dataprep as dp

    dp.encode(dp.read(file), _vocabulary(file), out=out, val=0)


def encode_tiktoken(file: str, out: str) -> None:
    engine = _vocabulary(file).tiktoken()
    _written(file, out, lambda texts: engine.encode_ordinary_batch(texts, num_threads=1))


def encode_tokenizers(file: str, out: str) -> None:
    engine = _vocabulary(file).engine
    _written(file, out, lambda texts: [e.ids for e in engine.encode_batch_fast(texts, add_special_tokens=False)])


def _vocabulary(file: str):
    from dataprep.tokens.vocabulary.tokenizer import Tokenizer

    return Tokenizer.load(Path(file).parent / VOCAB)


def _written(file: str, out: str, encode: Callable[[list[str]], list]) -> None:
    """Write the ids of all texts, a thousand texts at a time."""
    import numpy as np

    texts = texts_of(file)
    with Path(out).open("wb") as f:
        for start in range(0, len(texts), 1000):
            f.writelines(np.array(ids, np.uint16).tobytes() for ids in encode(texts[start : start + 1000]))


def measure(engine: str, file: str, warm: str) -> dict[str, float]:
    """Run an engine in this process: seconds of user and of all CPU, and the peak memory in kB."""
    with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(io.StringIO()):
        globals()[engine](warm, f"{out}/warm")
        before = resource.getrusage(resource.RUSAGE_SELF)
        globals()[engine](file, f"{out}/result")
        after = resource.getrusage(resource.RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return {"user": user, "cpu": user + system, "peak": peak_kb()}


def install() -> None:
    """Make an environment with each peer below out/peers; a peer that cannot be installed is named."""
    for module, packages in PACKAGES.items():
        home = PEERS / module
        steps = [[sys.executable, "-m", "venv", str(home)], [str(home / "bin/pip"), "install", "--quiet", *packages]]
        failed = next((s for s in steps if subprocess.run(s, check=False, capture_output=True).returncode), None)
        print(f"{packages[0]}: {'could not be installed' if failed else home}", flush=True)


def pythons_of(module: str, given: list[str]) -> list[str]:
    """Return the interpreters that may have a peer: this one, those given, and those that `install` made."""
    return [sys.executable, *given, *(str(p) for p in [PEERS / module / "bin/python"] if p.exists())]


def show(task: str, inputs: dict[str, tuple[str, int]], given: list[str]) -> None:
    """Measure the engines of a task, and print a row for each."""
    print(f"\n{task:38} {'MB':>4} {'MB/s user':>9} {'MB/s user+system':>16} {'peak MB':>8}  writes", flush=True)
    for engine, row in TASKS[task].items():
        here = row.module == "dataprep" or importlib.util.find_spec(row.module) is not None
        file, size = inputs["ours" if row.module == "dataprep" else "peer"]
        pythons = [sys.executable] if here else pythons_of(row.module, given)[1:]
        got = child(__file__, pythons, engine, file, inputs["warm"][0]) if pythons else "ModuleNotFoundError"
        if isinstance(got, str):
            print(f"{row.name:38} {'not installed' if 'ModuleNotFound' in got else 'failed: ' + got}", flush=True)
            continue
        rates = f"{size / got['user'] / 1e6:9.1f} {size / got['cpu'] / 1e6:16.1f}"
        print(f"{row.name:38} {size / 1e6:4.0f} {rates} {got['peak'] / 1e3:8.0f}  {row.writes}", flush=True)


def main() -> None:
    """Write the texts and a vocabulary, run the engines, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=30, help="of text for dataprep")
    parser.add_argument("--peer-mb", type=float, default=3, help="of text for the others")
    parser.add_argument("--install", action="store_true", help="first install the peers below out/peers")
    parser.add_argument("--peer-python", nargs="*", default=[])
    parser.add_argument("--engine", nargs=3, metavar=("ENGINE", "FILE", "WARM"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        print(json.dumps(measure(*given.engine)))
        return
    if given.install:
        install()
    import corpus

    import dataprep as dp

    with tempfile.TemporaryDirectory() as folder:
        sizes = {"warm": 0.05, "peer": given.peer_mb, "ours": given.mb}
        inputs = {
            name: write_texts(f"{folder}/{name}.jsonl", corpus.documents(int(mb * 1e6)), int(mb * 1e6))
            for name, mb in sizes.items()
        }
        dp.train_bpe(dp.read(inputs["peer"][0]), vocab_size=16_000, val=0).save(f"{folder}/{VOCAB}")
        for task in TASKS:
            show(task, inputs, given.peer_python)


if __name__ == "__main__":
    main()
