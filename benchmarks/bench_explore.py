"""How long a click in `dataprep explore` takes until the page is painted, in Chromium, on a run of a million documents.

    python benchmarks/bench_explore.py FOLDER [DOCUMENTS]

writes generated texts and the run into FOLDER, unless they are there, and prints milliseconds per view: the median and
the worst of all rounds, and the processor time of the server, with that of texts that a list shows after it is
painted. A third of the documents are copies, two thirds of them with another last word.
"""

import resource
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import browser
import dataprep as dp
from dataprep.core.model.batch import show_id
from dataprep.explore.server import ExploreServer

PER_FILE, WORDS, ROUNDS = 50_000, 20_000, 5


def write(folder: Path, documents: int) -> None:
    rng = np.random.default_rng(1)
    names = np.array([f"w{i:x}" for i in range(WORDS)])
    for number in range(-(-documents // PER_FILE)):
        sizes = rng.integers(20, 50, PER_FILE)
        words = np.minimum(WORDS - 1, np.exp(rng.random(sizes.sum()) * np.log(WORDS)).astype(np.int64))
        ends = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
        own = pc.binary_join(pa.ListArray.from_arrays(ends, pa.array(names[words])), " ")
        place = np.arange(PER_FILE)
        copies = np.flatnonzero((place >= PER_FILE // 5) & (rng.random(PER_FILE) < 0.36))
        place[copies] = rng.integers(0, PER_FILE // 8, len(copies))
        texts = own.take(pa.array(place)).to_pylist()
        for i in copies[::3].tolist():
            texts[i] += f" w{i:x}"
        pq.write_table(pa.table({"text": texts}), folder / f"{number:02}.parquet")


def is_long(text: str) -> bool:
    """Keep texts of more than 100 characters."""
    return len(text) > 100


def views(index) -> list[str]:
    root = show_id(index.rows("SELECT root FROM clusters ORDER BY removed DESC LIMIT 1")[0]["root"])
    near = show_id(index.rows("SELECT id FROM drops WHERE stage = 'MinHash' ORDER BY chance LIMIT 1")[0]["id"])
    last = index.rows("SELECT count(*) AS n FROM clusters")[0]["n"] // 25 - 1
    return [
        "suspicions", "sources", "sources?unit=bytes&sort=kept", "clusters", "clusters?sort=least&page=3",
        "clusters?below=0.85", f"clusters?source={index.names['source'][-1]}&sort=bytes", f"clusters?page={last}",
        f"cluster?id={root}", f"cluster?id={near}", f"document?id={near}", "drops?sort=chance&page=1000",
        "drops?stage=MinHash&sort=similarity", "review", "threshold",
    ]  # fmt: skip


def main() -> None:
    place, documents = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    if not (place / "run" / "manifest.json").exists():
        (place / "in").mkdir(parents=True, exist_ok=True)
        write(place / "in", documents)
        stages = dp.Filter(is_long), dp.Exact(), dp.MinHash(threshold=0.8)
        dp.Pipeline(*stages).run(dp.read(f"{place}/in/*.parquet"), out=str(place / "run"))
    began, cpu = time.perf_counter(), time.process_time()
    with ExploreServer([str(place / "run")]) as server, tempfile.TemporaryDirectory() as profile:
        print(f"index: {time.perf_counter() - began:.2f} s, {time.process_time() - cpu:.2f} s of CPU")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        states, times = [f"#0/{view}" for view in views(server.runs[0].index())], {}
        used = {}
        with browser.Browser(profile) as chromium:
            began = time.perf_counter()
            chromium.open(server.url)
            chromium.until("document.querySelector('main')?.dataset.ready")
            print(f"first page: {time.perf_counter() - began:.2f} s")
            for _ in range(ROUNDS):
                for state in states:
                    cpu = time.process_time()
                    chromium.run(f"location.hash = '{state}'")
                    chromium.until(f"document.querySelector('main').dataset.ready == '{state}'", 60)
                    times.setdefault(state, []).append(int(chromium.run("document.querySelector('main').dataset.ms")))
                    chromium.until("!document.querySelector('[role=status]')?.textContent.includes('…')", 60)
                    chromium.until("!document.querySelector('.title')?.textContent.startsWith('…')", 60)
                    used.setdefault(state, []).append(1e3 * (time.process_time() - cpu))
            assert chromium.said == [], chromium.said
        for state, some in times.items():
            print(f"{statistics.median(some):6.0f} {max(some):6} {statistics.median(used[state]):6.0f} ms  {state}")
        every = [one for some in times.values() for one in some]
        print(f"{statistics.median(every):6.0f} {max(every):6} ms  all views")
        server.shutdown()
    print(f"peak memory of the server: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


if __name__ == "__main__":
    main()
