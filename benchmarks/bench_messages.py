"""Stages on messages: MB of text per second of user CPU, and peak memory, beside the loops people write.

    python benchmarks/bench_messages.py [--mb 20]

The messages are those of bench_chats, some of them with a link, a mention, a phone number or laughter. Each stage has a
process of its own, is warmed on a few messages, and gets them in batches of 4,096 with its book kept. The loops are
Python's `re` over the same texts: four rules of cleaning, one expression of all names, the joining of talks by time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import bench_chats
import engines

STAGES = ["CleanMessages", "Conversations", "Pseudonyms", "MessageLanguage", "MessageStats", "Turns", "PII"]
LOOPS = ["loop: four rules", "loop: names in one expression", "loop: joined by time"]
EXTRAS = [
    " https://example.org/a?b=1",
    " @Marek",
    " +212 612 345 678",
    " hahahaha",
    " loooool",
    " mail me: a@example.org",
]
RULES = [(r"https?://\S+", ""), (r"@\w+", ""), (r"[\w.+-]+@[\w.-]+\.\w+", ""), (r"\+?\d[\d ]{8,}", "")]


def rows(n_bytes: int) -> list[tuple[Any, ...]]:
    """(time, author, text) of invented messages; a quarter has something to clean, a tenth a name."""
    rng = random.Random(9)
    made = []
    for time, author, text in bench_chats.messages(n_bytes):
        if author is None:
            continue
        extra = rng.choice(EXTRAS) if rng.random() < 0.25 else ""
        named = f" {author.split()[0]}" if rng.random() < 0.1 else ""
        made.append((time, author, text + named + extra))
    return made


def batches(made: list[tuple[Any, ...]]) -> Iterator[Any]:
    """As a chat reader gives them."""
    import numpy as np
    import pyarrow as pa

    from dataprep.core.model import batch as B

    for first in range(0, len(made), 4096):
        times, authors, texts = zip(*made[first : first + 4096], strict=True)
        n = len(texts)
        columns = {
            "chat": pa.repeat(pa.scalar("club"), n), "author": pa.array(authors),
            "time": pa.array(times, pa.timestamp("s")), "kind": pa.repeat(pa.scalar("text"), n),
            "reply_to": pa.nulls(n, pa.uint64()),
        }  # fmt: skip
        yield B.make(np.arange(first, first + n, dtype=np.uint64), list(texts), "club", columns=columns)


def stage(name: str, held: list[Any]) -> Any:
    """A stage ready to run; Pseudonyms has learned the names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import dataprep as dp

    if name == "Pseudonyms":
        folder = tempfile.mkdtemp()
        place = f"{folder}/rows.parquet"
        pq.write_table(pa.Table.from_batches(held[:4]), place)
        docs = dp.read(place, columns={"chat": "string", "author": "string", "kind": "string"})
        return dp.chats.Pseudonyms().fit(docs, dp.tools.Serial(), folder)
    if name == "Turns":
        return dp.chats.Turns(person=held[0]["author"][0].as_py())
    return dp.PII() if name == "PII" else getattr(dp.chats, name)()


def ours(name: str, made: list[tuple[Any, ...]]) -> Callable[[], int]:
    """The stage over all batches, counted."""
    from dataprep.core.model.ledger import Ledger, watch

    held = list(batches(made))
    ready = stage(name, held)

    def work(some: list[Any]) -> int:
        return sum(b.num_rows for b in watch(ready, iter(some), Ledger(ready.name)))

    work(held[:1])
    return lambda: work(held)


def loop(name: str, made: list[tuple[Any, ...]]) -> Callable[[], int]:
    """What a script does for the same."""
    if "names" in name:
        words = sorted({w for _, author, _ in made for w in author.split()}, key=len, reverse=True)
        names = re.compile(rf"\b({'|'.join(map(re.escape, words))})\b", re.IGNORECASE)
        return lambda: sum(len(names.sub("PERSON", text)) > 0 for _, _, text in made)
    if "rules" in name:
        rules = [(re.compile(rule), new) for rule, new in RULES]

        def clean() -> int:
            kept = 0
            for _, _, text in made:
                for rule, new in rules:
                    text = rule.sub(new, text)  # noqa: PLW2901
                kept += bool(text.strip())
            return kept

        return clean

    def talks() -> int:
        n, text = 0, []
        for (before, *_), (time, author, said) in itertools.pairwise(made):
            if (time - before).total_seconds() >= 3600:
                n, text = n + bool("\n".join(text)), []
            text.append(f"{author}: {said}")
        return n

    return talks


def measure(name: str, mb: str) -> None:
    """Print seconds and peak MB of one case as JSON."""
    made = rows(int(mb) * 1_000_000)
    size = sum(len(text.encode()) for _, _, text in made)
    work = loop(name, made) if name.startswith("loop") else ours(name, made)
    best = float("inf")
    for _ in range(3):
        start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        work()
        best = min(best, resource.getrusage(resource.RUSAGE_SELF).ru_utime - start)
    print(json.dumps({"rate": size / 1e6 / best, "peak": engines.peak_kb() / 1024}))


def main() -> None:
    """Measure every stage, and the loops beside them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=20)
    parser.add_argument("--engine", nargs=2, metavar=("NAME", "MB"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        measure(*given.engine)
        return
    print(f"{'stage':34}{'MB/s':>8}{'peak MB':>9}")
    for name in [*STAGES, *LOOPS]:
        said = engines.child(__file__, [sys.executable], name, str(given.mb))
        told = f"{said['rate']:>8.1f}{said['peak']:>9.0f}" if isinstance(said, dict) else f"  failed: {said[:70]}"
        print(f"{name:34}{told}", flush=True)


if __name__ == "__main__":
    main()
