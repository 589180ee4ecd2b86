"""Join equal keys: seconds of CPU and peak memory of MinHash's match pass beside DuckDB, Polars and Ray Data.

    python benchmarks/bench_join.py [--million 8] [--rounds 3] [--engine NAME ...]

Each engine reads the same Parquet files of (key, document), and returns pairs (document, first document with the same
key). A tenth of the keys are copies of another document's key. All engines are asked for one thread (Ray: two CPUs),
and each runs in a process of its own, after a warm-up on a file of few keys. `CPU` is user and system time of the
process and all that it started, without the warm-up. All must return the same pairs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from engines import child

ENGINES = {
    "sorted_ours": "dataprep: sort and `star_edges`",
    "duckdb": "DuckDB, window function",
    "polars": "Polars, `over`",
    "ray": "Ray Data, hash shuffle, then the kernel of dataprep for each block",
}
FILES, BLOCKS = 16, 16


def write_keys(folder: Path, n: int, n_files: int) -> None:
    """Write keys, a tenth of which are copies of another, into Parquet files; all documents have one key."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**63, n, np.uint64)
    keys[rng.choice(n, n // 10, replace=False)] = keys[rng.choice(n, n // 10)]
    for i, docs in enumerate(np.array_split(np.arange(n, dtype=np.uint32), n_files)):
        pq.write_table(pa.table({"key": keys[docs], "doc": docs}), folder / f"{i:03}.parquet", compression="none")


def edges(keys: np.ndarray, docs: np.ndarray) -> np.ndarray:
    """The pairs of some keys, as the task of a range makes them."""
    from dataprep.dedup.near.components import star_edges

    order = np.argsort(keys)
    return star_edges(keys[order], docs[order], np.uint32(0))


def sorted_ours(folder: str) -> np.ndarray:
    import pyarrow.parquet as pq

    table = pq.read_table(folder, use_threads=False)
    return edges(table["key"].to_numpy(), table["doc"].to_numpy())


def duckdb(folder: str) -> np.ndarray:
    import duckdb

    with duckdb.connect(config={"threads": 1}) as database:
        got = database.execute(
            "SELECT * FROM (SELECT doc, min(doc) OVER (PARTITION BY key) AS root FROM read_parquet(?))"
            " WHERE doc != root",
            [f"{folder}/*.parquet"],
        ).fetchnumpy()
    return np.stack([got["doc"], got["root"]], axis=1)


def polars(folder: str) -> np.ndarray:
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars as pl

    root = pl.col("doc").min().over("key").alias("root")
    got = pl.scan_parquet(f"{folder}/*.parquet").select("doc", root).filter(pl.col("doc") != pl.col("root"))
    return got.collect(engine="streaming").to_numpy()


def ray(folder: str) -> np.ndarray:
    import ray.data

    def pairs(batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        found = edges(np.array(batch["key"]), np.array(batch["doc"]))
        return {"doc": found[:, 0], "root": found[:, 1]}

    context = ray.data.DataContext.get_current()
    context.shuffle_strategy = ray.data.context.ShuffleStrategy.HASH_SHUFFLE
    context.enable_progress_bars = False
    rows = ray.data.read_parquet(folder).repartition(BLOCKS, keys=["key"]).map_batches(pairs, batch_size=None)
    return rows.to_pandas()[["doc", "root"]].to_numpy()


def cpu_and_peak() -> tuple[float, float]:
    """CPU seconds of this process and its descendants so far; the sum of their peaks of private memory in MB."""
    import psutil

    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    used, peak = 0.0, 0.0
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended just now: its parent has its times
            times = process.cpu_times()
            used += times.user + times.system + times.children_user + times.children_system
            peak += process.memory_full_info().uss / 1e6
    return used, peak


def measure(engine: Callable[[str], np.ndarray], name: str, folder: str) -> dict[str, Any]:
    """One join, after a warm-up."""
    if name == "ray":
        import ray as cluster

        cluster.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    engine(f"{folder}-few")
    before, began = cpu_and_peak()[0], time.perf_counter()
    found = engine(folder)
    wall = time.perf_counter() - began
    after, peak = cpu_and_peak()
    found = found[np.argsort(found[:, 0])].astype(np.uint64)
    return {"cpu": after - before, "wall": wall, "peak": peak, "edges": len(found), "sum": int(found.sum())}


def main() -> None:
    """Write the keys, run the engines, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--million", type=float, default=8, help="keys, in millions (default 8)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.folder:
        name = given.engine[0]
        print(json.dumps(measure(globals()[name], name, given.folder)))
        return
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "keys"
        write_keys(folder, int(given.million * 1e6), FILES)
        write_keys(Path(f"{folder}-few"), 10_000, 2)
        print("| | CPU, s | wall, s | memory at the end, MB | pairs |\n|---|---|---|---|---|")
        for name in given.engine:
            for line in rows(name, str(folder), given.rounds):
                print(line, flush=True)


def rows(name: str, folder: str, rounds: int) -> Iterator[str]:
    """The row of an engine: medians of several processes; or why there is none."""
    got = [child(__file__, [sys.executable], name, "--folder", folder) for _ in range(rounds)]
    said = [one for one in got if isinstance(one, dict)]
    if len(said) < len(got):
        yield f"| {ENGINES[name]} | {next(one for one in got if isinstance(one, str))} | | | |"
        return
    median = {key: statistics.median(one[key] for one in said) for key in ("cpu", "wall", "peak")}
    pairs = {(one["edges"], one["sum"]) for one in said}
    yield (
        f"| {ENGINES[name]} | {median['cpu']:.2f} | {median['wall']:.2f} | {median['peak']:.0f} |"
        f" {', '.join(f'{n:,} (sum {total})' for n, total in pairs)} |"
    )


if __name__ == "__main__":
    main()
