"""Filters by rule: MB of UTF-8 text per second of user CPU, and peak memory, beside what a user would pick instead.

    python benchmarks/bench_filters.py [--mb 30] [--only Gopher ...] [--peer-python ENV/bin/python ...]

The text is the documentation that comes with the installed packages and, where there is a folder `../shared/data` (or
DATAPREP_SHARED), newswire and handbooks in several languages. Every engine gets the same texts in a process of its
own, warmed up; only its filtering is timed, again and again until it took half a second. Peers (datatrove, dolma) are
looked for in the interpreters given, and in the environments that `bench_peers.py --install` makes.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import re
import resource
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from engines import child, interpreters

HERE = Path(__file__).resolve().parent
WARM = ["A line of five whole words. And a second sentence. And a third."] * 3
TOPICS = {  # what runs here, and what runs in an interpreter that has it
    "C4": (
        {"c4": "dataprep C4, books kept", "twin": "plain Python twin (tests/twins/c4.py)"},
        {"datatrove_c4": "datatrove C4QualityFilter (5 words, 3 sentences)", "dolma_c4": "dolma c4_v2 (tags only)"},
    ),
    "Gopher": (
        {"gopher": "dataprep Gopher, quality and repetition"},
        {"datatrove_gopher": "datatrove, both filters (spaCy's words)", "dolma_gopher": "dolma gopher (tags only)"},
    ),
    "FineWeb": ({"fineweb": "dataprep FineWeb"}, {"datatrove_fineweb": "datatrove FineWebQualityFilter"}),
    "RefinedWeb": ({"refinedweb": "dataprep RefinedWeb"}, {}),
    "BadWords": (
        {"badwords": "dataprep BadWords, 400 words", "badwords_re": "one regular expression (re), 400 words"}, {}
    ),
}  # fmt: skip


def ours(texts, stage):
    """A stage as a pipeline runs it: batches, counters, drop table."""
    import numpy as np

    from dataprep.core.model import batch as B
    from dataprep.core.model.ledger import Ledger, watch

    batches = list(B.recut([B.make(np.arange(len(texts)), texts, "bench")]))
    return lambda: sum(b.num_rows for b in watch(stage, iter(batches), Ledger(stage.name)))


def c4(texts):
    """The published code's rules."""
    from dataprep.filters.c4.stage import C4

    return ours(texts, C4())


def gopher(texts):
    """As published."""
    from dataprep.filters.gopher.stage import Gopher

    return ours(texts, Gopher())


def fineweb(texts):
    """As published."""
    from dataprep.filters.fineweb import FineWeb

    return ours(texts, FineWeb())


def refinedweb(texts):
    """As published."""
    from dataprep.filters.refinedweb.stage import RefinedWeb

    return ours(texts, RefinedWeb())


def rare_words(texts):
    """Words that look like words and hardly occur: those of the first texts, backwards."""
    words = dict.fromkeys(w for text in texts[:500] for w in text.lower().split() if w.isalpha() and len(w) > 5)
    return [w[::-1] for w in words][:400] or ["enil"]


def badwords(texts):
    """400 words, whole."""
    from dataprep.filters.badwords import BadWords

    return ours(texts, BadWords(rare_words(texts)))


def badwords_re(texts):
    """The same list as the published code looks for it."""
    found = re.compile(r"(?:\W|^)(?:" + "|".join(map(re.escape, rare_words(texts))) + r")(?:\W|$)")
    return lambda: sum(found.search(text.lower()) is None for text in texts)


def twin(texts):
    """The slow twin that the kernel must equal."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from dataprep.filters.c4.stage import C4
    from twins.c4 import c4

    return lambda: sum(c4(text, C4())[0] is None for text in texts)


def datatrove(texts, *rules):
    """What passes all of its filters, each asked only about what the ones before it let through."""
    from datatrove.data import Document

    docs = [Document(text=text, id=str(i)) for i, text in enumerate(texts)]
    return lambda: sum(all(rule.filter(doc) is True for rule in rules) for doc in docs)


def datatrove_c4(texts):
    """Its quality filter, set to the published numbers."""
    from datatrove.pipeline.filters import C4QualityFilter

    return datatrove(texts, C4QualityFilter(min_words_per_line=5, min_num_sentences=3))


def datatrove_gopher(texts):
    """Its two filters, in the order of its FineWeb recipe."""
    from datatrove.pipeline.filters import GopherQualityFilter, GopherRepetitionFilter

    return datatrove(texts, GopherRepetitionFilter(), GopherQualityFilter())


def datatrove_fineweb(texts):
    """Its filter as it comes."""
    from datatrove.pipeline.filters import FineWebQualityFilter

    return datatrove(texts, FineWebQualityFilter())


def dolma(texts, tagger):
    """One of its taggers; it marks lines and pages, and leaves removing them to another pass."""
    from dolma.core.data_types import Document

    docs = [Document(source="bench", id=str(i), text=text) for i, text in enumerate(texts)]
    return lambda: sum(tagger.predict(doc) is not None for doc in docs)


def dolma_c4(texts):
    """Its faster tagger for C4."""
    from dolma.taggers.c4 import FasterC4Tagger

    return dolma(texts, FasterC4Tagger())


def dolma_gopher(texts):
    """Its tagger for Gopher's quality and repetition."""
    from dolma.taggers.gopher import GopherTagger

    return dolma(texts, GopherTagger())


def measure(engine: str, file: str) -> dict:
    """Run one engine in this process."""
    texts = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    globals()[engine](WARM)()
    run = globals()[engine](texts)
    before = after = resource.getrusage(resource.RUSAGE_SELF)
    start, times = time.perf_counter(), 0
    while times == 0 or after.ru_utime - before.ru_utime < 0.5:
        kept = run()
        times += 1
        after = resource.getrusage(resource.RUSAGE_SELF)
    wall = (time.perf_counter() - start) / times
    user = (after.ru_utime - before.ru_utime) / times
    return {"user": user, "wall": wall, "kept": kept, "peak": after.ru_maxrss, "before": before.ru_maxrss}


def documentation():
    """The documentation files of the installed packages."""
    for path in sorted(Path(sysconfig.get_path("purelib")).rglob("*")):
        if path.suffix in {".md", ".rst", ".txt", ".html"} or path.name == "METADATA":
            yield path.read_text(encoding="utf-8", errors="replace")


def shared():
    """Newswire and handbooks, where they are."""
    root = Path(os.environ.get("DATAPREP_SHARED", HERE.parent.parent / "shared")) / "data" / "text"
    for name in ("reuters21578", "multilingual/debian_handbook_8lang"):
        path = root / f"{name}.jsonl.gz"
        if path.exists():
            with gzip.open(path) as f:
                rows = (json.loads(line) for line in f)
                yield from (row.get("body") or row.get("text") or "" for row in rows)


def write_texts(file: str, n_bytes: int) -> tuple[int, int]:
    """Write documents until there are `n_bytes`, again from the start if need be; documents and bytes written."""
    made = [*shared(), *documentation()]
    docs = size = 0
    with Path(file).open("w", encoding="utf-8") as f:
        for text in itertools.cycle(made):
            if size >= n_bytes:
                return docs, size
            f.write(json.dumps(text) + "\n")
            docs, size = docs + 1, size + len(text.encode("utf-8", "replace"))
    raise AssertionError


def table(topic: str, pythons: list[str], file: str, size: int) -> None:
    """One row an engine."""
    here, peers = TOPICS[topic]
    print(f"{topic:50} {'MB/s user':>9} {'MB/s wall':>9} {'kept':>7} {'peak MB':>8} {'of it filtering':>15}")
    for engine, title in (here | peers).items():
        got = child(__file__, pythons if engine in peers else [sys.executable], engine, "--file", file)
        if isinstance(got, str):
            print(f"{title:50} skipped: {got}", flush=True)
            continue
        rates = f"{size / got['user'] / 1e6:9.2f} {size / got['wall'] / 1e6:9.2f} {got['kept']:7,}"
        print(f"{title:50} {rates} {got['peak'] / 1e3:8.0f} {(got['peak'] - got['before']) / 1e3:15.0f}", flush=True)


def main() -> None:
    """Write the texts, run the engines, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=30)
    parser.add_argument("--peer-python", nargs="*", default=[])
    parser.add_argument("--only", nargs="*", choices=[*TOPICS], default=[*TOPICS])
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        print(json.dumps(measure(given.engine, given.file)))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "texts.jsonl")
        docs, size = write_texts(file, int(given.mb * 1e6))
        print(f"{docs:,} documents, {size / 1e6:.1f} MB")
        for topic in given.only:
            table(topic, interpreters(given.peer_python), file, size)


if __name__ == "__main__":
    main()
