"""Do opens, requests and bytes of a deduplication grow with the parts, or with parts times ranges?

    python benchmarks/bench_opens.py [--parts 10 100 1000] [--only MinHash Exact]

A run on a file system in memory that counts (tests/fixtures/counted.py): small parts of 20 documents, half of them
copies; ten parts fill a range of the keys and a partition of the candidates, so that there are more of these in a
larger input, as with real parts from some hundred on. A request is an open, a read or a question for a file.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def main() -> None:
    """Print one row a method and number of parts."""
    import dataprep as dp
    from fixtures.counted import Counted, many_parts

    stages = {
        "MinHash": dp.MinHash(bands=4, rows=2), "Exact": dp.Exact(), "Exact(line)": dp.Exact(unit="line"),
        "SuffixArray": dp.SuffixArray(min_words=6), "Bloom": dp.Bloom(),
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--only", nargs="*", choices=list(stages), default=list(stages))
    given = parser.parse_args()
    table = Table("stage", "parts", "opens", "per part", "requests", "per part", "MB read", "kB per part", "s of CPU")
    for name in given.only:
        for n in given.parts:
            with many_parts(n) as (url, out):
                docs, begun = dp.read(url), time.process_time()
                dp.Pipeline(stages[name]).run(docs, out)
                opens, requests, read = (sum(one.values()) for one in (Counted.opens, Counted.requests, Counted.read))
                row = (f"{opens:,}", f"{opens / n:.0f}", f"{requests:,}", f"{requests / n:.0f}")
                row += (f"{read / 1e6:.1f}", f"{read / n / 1e3:.0f}", f"{time.process_time() - begun:.1f}")
            table.add_row(name, f"{n:,}", *row)
        table.add_section()
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
