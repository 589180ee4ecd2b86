"""Other programs beside dataprep, one command: documents in JSON Lines, what they are done with, and what is written.

    make bench-peers                  or  python benchmarks/bench_peers.py [--mb 30] [--peer-mb 3] [--install]
                                              [--peer-python ENV/bin/python ...]

Every engine runs in a process of its own, from a file to what its row says that it writes; it is called once with a
few documents before. Rates are MB of UTF-8 text per second of user CPU and of user and system CPU together; the peak is
of the process, its libraries included. `start` is the wall time from the start of the process to the end of the call
with a few documents, `exit` that from the end of the work to the end of the process. Peers are slower and get less
text. The text is that of `corpus.py`. MinHash is asked for a Jaccard similarity of 0.8 with the bands and shingles of
`bench_dedup.py`. Of the pairs of documents that are equal, or have this similarity, `recall` is the share of which not
both are kept; `precision` is the share of dropped documents that are in such a pair. Both are of the text for peers.

A peer that is not installed, or that fails, is named with the reason. --install first installs each missing peer, of
this and the other benchmarks, into an environment of its own below out/peers, with the newest versions of its
dependencies, and downloads a few hundred MB. The next call of any benchmark finds them there.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import itertools
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import bench_dedup
from bench_dedup import texts_of
from engines import PEERS, child, having, peak_kb, write_texts

VOCAB = "tokenizer"  # the folder with the vocabulary of all encoders


class Row(NamedTuple):
    """An engine: what it does, the module that it needs, and what it writes in which codec."""

    name: str
    module: str
    writes: str


NOTHING, PARQUET = "nothing", "Parquet, zstd"
NEAR = "near-duplicates"
Dropped = Callable[[], list[int]]  # the dropped documents, by lines or by their offsets
TASKS: dict[str, dict[str, Row]] = {
    "exact duplicates of documents": {
        "exact_ours": Row("dataprep Exact", "dataprep", PARQUET),
        "exact_view_ours": Row("dataprep Exact, layout=view", "dataprep", "ids in Parquet, zstd"),
        "exact_loop": Row("orjson, xxh3 and a set", "orjson", "JSON Lines, no codec"),
    },
    NEAR: {
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
PACKAGES: dict[str, list[list[str]]] = {  # arguments of `pip install`, with what a peer imports and does not require
    "datasketch": [["datasketch"]], "rensa": [["rensa"]], "gaoya": [["gaoya"]],
    "text_dedup": [  # without pyspark and unisim, which are large, and which its MinHash does not import
        ["--no-deps", "text-dedup"],
        ["click-option-group", "datasets", "ftfy", "numpy", "regex", "rich", "scipy", "tqdm", "xxhash"],
    ],
    "datatrove": [["datatrove", "regex", "spacy", "orjson", "tokenizers", "xxhash<4"]], "dolma": [["dolma"]],
    "rbloom": [["rbloom", "orjson", "xxhash"]], "nltk": [["nltk"]], "semhash": [["semhash"]],
    "chatminer": [["chat-miner"]], "whatstk": [["whatstk"]],
}  # fmt: skip
MOST_SECONDS = 900  # to install one peer


def exact_ours(file: str, out: str) -> Dropped:
    return _run("Exact", file, out)


def exact_view_ours(file: str, out: str) -> Dropped:
    return _run("Exact", file, out, layout="view")


def minhash_ours(file: str, out: str) -> Dropped:
    return _run("MinHash", file, out, threshold=bench_dedup.THRESHOLD, bands=bench_dedup.BANDS, rows=bench_dedup.ROWS)


def c4_ours(file: str, out: str) -> None:
    _run("C4", file, out)


def _run(stage: str, file: str, out: str, layout: str = "copy", **given: object) -> Dropped:
    import dataprep as dp

    made = dp.Pipeline(getattr(dp, stage)(**given), layout=layout).run(dp.read(file), out=out)
    return lambda: [id_ % (1 << 40) for id_ in made.drops()["id"].to_pylist()]


def exact_loop(file: str, out: str) -> Dropped:
    import orjson
    import xxhash

    seen: set[bytes] = set()
    dropped: list[int] = []
    with Path(file).open("rb") as f, Path(out).open("wb") as to:
        for number, line in enumerate(f):
            digest = xxhash.xxh3_128_digest(orjson.loads(line)["text"].encode())
            if digest not in seen:
                seen.add(digest)
                to.write(line)
            else:
                dropped.append(number)
    return lambda: dropped


def minhash_datasketch(file: str, out: str) -> Dropped:  # noqa: ARG001 - it writes nothing
    pairs = bench_dedup.minhash_datasketch(file)()
    return lambda: [one for one, _ in pairs]


def minhash_rensa(file: str, out: str) -> Dropped:  # noqa: ARG001
    pairs = bench_dedup.minhash_rensa(file)()
    return lambda: [one for one, _ in pairs]


def minhash_gaoya(file: str, out: str) -> Dropped:  # noqa: ARG001
    pairs = bench_dedup.minhash_gaoya(file)()
    return lambda: [one for one, _ in pairs]


def minhash_text_dedup(file: str, out: str) -> None:  # noqa: ARG001
    import inspect
    import re

    import numpy as np
    from text_dedup.minhash import embed_func
    from text_dedup.utils.hashfunc import xxh3_32hash

    random, n = np.random.RandomState(1), bench_dedup.BANDS * bench_dedup.ROWS
    prime, most = (1 << 61) - 1, (1 << 32) - 1
    numbers = random.randint(1, prime, n, np.uint64), random.randint(0, prime, n, np.uint64)
    more = {"non_alpha": re.compile(r"\W")} if "non_alpha" in inspect.signature(embed_func).parameters else {}  # 0.3
    ranges = [(k * bench_dedup.ROWS, (k + 1) * bench_dedup.ROWS) for k in range(bench_dedup.BANDS)]
    for k, text in enumerate(texts_of(file)):
        embed_func(
            content=text, idx=k, num_perm=n, ngram_size=bench_dedup.NGRAM, min_length=1, hashranges=ranges,
            permutations=numbers, hash_func=xxh3_32hash, dtype=np.uint64, max_hash=most, modulo_prime=prime, **more,
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


def measure(engine: str, file: str, warm: str) -> dict[str, Any]:
    """Run an engine in this process: seconds of user and of all CPU, times, the peak in kB, and dropped lines."""
    with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(io.StringIO()):
        globals()[engine](warm, f"{out}/warm")
        began, before = time.time(), resource.getrusage(resource.RUSAGE_SELF)
        found = globals()[engine](file, f"{out}/result")
        after, peak = resource.getrusage(resource.RUSAGE_SELF), peak_kb()
        dropped = found() if found else None
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    times = {"user": user, "cpu": user + system, "began": began, "ended": time.time()}
    return {**times, "peak": peak, "dropped": dropped}


def truth(file: str, threshold: float) -> list[tuple[int, int]]:
    """The pairs of documents with at least this Jaccard similarity, 1 for equal texts, by comparing them exactly."""
    sets = [frozenset([text]) if threshold == 1 else bench_dedup.shingles(text) for text in texts_of(file)]
    often = Counter(one for some in sets for one in some)
    places: dict[Any, list[int]] = {}
    pairs = []
    for number, some in enumerate(sets):
        rare = sorted(some, key=lambda one: (often[one], one))[: len(some) - math.ceil(threshold * len(some)) + 1]
        near = {other for one in rare for other in places.get(one, ())}  # any such pair shares one of the rarest
        pairs += [(other, number) for other in near if len(some & sets[other]) >= threshold * len(some | sets[other])]
        for one in rare:
            places.setdefault(one, []).append(number)
    return pairs


def recall_and_precision(file: str, dropped: list[int], threshold: float, *, by_offset: bool) -> tuple[float, float]:
    """The figures of an engine that dropped these lines, stated by their numbers or by their offsets in bytes."""
    with Path(file).open("rb") as f:
        numbers = {at: n for n, at in enumerate(itertools.accumulate((len(line) for line in f), initial=0))}
    gone = {numbers[one] for one in dropped} if by_offset else set(dropped)
    pairs = truth(file, threshold)
    paired = {one for pair in pairs for one in pair}
    return sum(not gone.isdisjoint(pair) for pair in pairs) / len(pairs), len(gone & paired) / max(1, len(gone))


def install(given: list[str]) -> None:
    """Make an environment below out/peers with each peer that no interpreter has; name the others with the reason.

    - given: further interpreters.
    """
    for module, packages in PACKAGES.items():
        home = PEERS / module
        if having(module, given):
            continue
        said = _installed(str(home), packages)
        print(f"{module}: {said or f'installed into {home}'}", flush=True)


def _installed(home: str, packages: list[list[str]]) -> str:
    """Install packages into a new environment, by uv if this interpreter has it; return what failed, or ""."""
    python = f"{home}/bin/python"
    by_uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    by_pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    tool = by_uv if importlib.util.find_spec("uv") else by_pip
    for command in ([sys.executable, "-m", "venv", "--clear", home], *([*tool, *some] for some in packages)):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            return f"not installed: it took over {MOST_SECONDS} s"
        if done.returncode:
            lines = [line.strip() for line in done.stderr.splitlines()]
            why = " ".join(line for line in lines if not line.lower().startswith(("warning", "hint")))
            return f"not installed: {why[:300]}"
    return ""


def show(task: str, inputs: dict[str, tuple[str, int]], given: list[str]) -> None:
    """Measure the engines of a task, and print a row for each."""
    names = "  MB MB/s user user+system start s exit s peak MB recall precision  writes"
    print(f"\n{task:37} {names}", flush=True)
    for engine, row in TASKS[task].items():
        file, size = inputs["ours" if row.module == "dataprep" else "peer"]
        pythons = having(row.module, given)
        got = child(__file__, pythons[:1], engine, file, inputs["warm"][0]) if pythons else "not installed"
        if isinstance(got, str):
            print(f"{row.name:37} {got if not pythons else f'failed: {got}'}", flush=True)
            continue
        found = f"{'-':>6} {'-':>9}"
        if got["dropped"] is not None:
            peer, ours = inputs["peer"][0], row.module == "dataprep"
            again = child(__file__, pythons[:1], engine, peer, inputs["warm"][0]) if ours else got
            least = bench_dedup.THRESHOLD if task == NEAR else 1
            both = recall_and_precision(peer, again["dropped"], least, by_offset=ours)
            found = f"{both[0]:6.3f} {both[1]:9.3f}"
        rates = " ".join(f"{size / max(got[one], 1e-3) / 1e6:{n}.1f}" for one, n in (("user", 9), ("cpu", 11)))
        rest = f"{got['start']:7.2f} {got['exit']:6.2f} {got['peak'] / 1e3:7.0f} {found}  {row.writes}"
        print(f"{row.name:37} {size / 1e6:4.0f} {rates} {rest}", flush=True)


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
        install(given.peer_python)
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
