"""The whole of JSONL.zst -> C4 -> Exact -> MinHash -> Parquet: MB/s per core, memory, and what a second worker brings.

    python benchmarks/bench_pipeline.py [--folder DIR] [--mb 50 1000]

Every job is a process of its own, measured from outside (user and system CPU of it and its workers, wall, the largest
process's peak memory), after one run that compiles the kernels. MB is UTF-8 text of the input.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass
class Measured:
    """What one process took."""

    wall: float
    cpu: float
    peak_mb: float


def job(source: str, out: str, workers: int) -> None:
    """The pipeline itself, in this process."""
    import dataprep as dp

    run = dp.tools.Serial(threads=1) if workers == 1 else dp.tools.Local(workers)
    dp.Pipeline(dp.C4(), dp.Exact(), dp.MinHash()).run(dp.read(source), out, run)


def measure(source: str, folder: Path, workers: int = 1, copies: int = 1) -> Measured:
    """Run the job (in several copies at once) and take its cost: the sum of CPU, the wall of all, the largest peak."""
    started = time.perf_counter()
    running = []
    for copy in range(copies):
        out = str(folder / f"out{copy}")
        shutil.rmtree(out, ignore_errors=True)
        command = [sys.executable, __file__, "--job", source, out, str(workers)]
        running.append(subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}))
    usage = []
    for process in running:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, process.args
        usage.append(used)
    wall = time.perf_counter() - started
    return Measured(wall, sum(u.ru_utime + u.ru_stime for u in usage), max(u.ru_maxrss for u in usage) / 1024)


def corpus(folder: Path, mb: float, suffix: str) -> str:
    """The benchmark corpus of a size, made once."""
    path = folder / f"{mb:g}{suffix}"
    if not path.exists():
        from corpus import write

        write(str(path), int(mb * 1e6))
    return str(path)


def plain(source: str) -> str:
    """The same corpus uncompressed, so that it can be cut into parts."""
    target = source.removesuffix(".zst")
    if not Path(target).exists():
        from dataprep.store import files

        with files.open_read(source) as f, files.atomic(target) as g:
            shutil.copyfileobj(f, g, 1 << 20)
    return target


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "dataprep-bench")
    parser.add_argument("--mb", type=float, nargs="+", default=[50, 1000], help="sizes; two workers get the last")
    parser.add_argument("--job", nargs=3, metavar=("SOURCE", "OUT", "WORKERS"))
    given = parser.parse_args()
    if given.job:
        return job(given.job[0], given.job[1], int(given.job[2]))
    given.folder.mkdir(parents=True, exist_ok=True)
    sizes = {mb: corpus(given.folder, mb, ".jsonl.zst") for mb in given.mb}
    measure(sizes[given.mb[0]], given.folder)  # compiles the kernels
    title = "JSONL.zst -> C4 -> Exact -> MinHash -> Parquet"
    memory = Table("input", "MB/s per core", "wall s", "peak MB", title=title)
    for mb, source in sizes.items():
        took = measure(source, given.folder)
        memory.add_row(f"{mb:g} MB", f"{mb / took.cpu:.0f}", f"{took.wall:.1f}", f"{took.peak_mb:.0f}")
    workers = Table("job", "MB/s (wall)", "CPU s per 100 MB", title=f"A second worker, {given.mb[-1]:g} MB plain JSONL")
    source = plain(sizes[given.mb[-1]])
    for name, workers_, copies in (("one worker", 1, 1), ("Local(2)", 2, 1), ("two copies at once", 1, 2)):
        took = measure(source, given.folder, workers_, copies)
        mb = given.mb[-1] * copies
        workers.add_row(name, f"{mb / took.wall:.0f}", f"{took.cpu / mb * 100:.2f}")
    for table in (memory, workers):
        Console(width=100).print(table)
    return None


if __name__ == "__main__":
    main()
