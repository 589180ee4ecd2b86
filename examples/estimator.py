"""An Estimator of one's own: look at every document once, then drop what the look has decided.

Run it: python examples/estimator.py sample_data/news.jsonl.zst
"""

import sys
import tempfile
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

import dataprep as dp
from dataprep.extend import Estimator, Part, Runner, Stage


@dataclass(frozen=True, kw_only=True)
class LongestPerSource(Estimator):
    """Keeps the `n` longest documents of each source."""

    n: int
    only_drops = True

    def fit(self, docs: dp.Dataset, runner: Runner, out: str) -> Stage:
        """Measure the parts in parallel, rank all documents of a source, and write the others into a table."""
        table = pa.concat_tables(runner.map(lengths, docs.tasks, "LongestPerSource"))
        ranked = table.sort_by([("chars", "descending"), ("id", "ascending")])
        seen: dict[str, int] = {}
        dropped = []
        for row in ranked.select(["id", "source"]).to_pylist():
            seen[row["source"]] = seen.get(row["source"], 0) + 1
            if seen[row["source"]] > self.n:
                dropped.append(row["id"])
        rows = pa.table({"id": pa.array(sorted(dropped), pa.uint64()), "reason": ["short_of_source"] * len(dropped)})
        return self.drop(docs, out, rows, sources=len(seen))


def lengths(part: Part) -> pa.Table:
    """Return id, source and number of characters of every document of a part; runs in a worker."""
    batches = part.batches(["id", "source", "text"])
    rows = [{"id": b["id"], "source": b["source"].cast("string"), "chars": pc.utf8_length(b["text"])} for b in batches]
    schema = pa.schema({"id": pa.uint64(), "source": pa.string(), "chars": pa.int32()})
    return pa.concat_tables([schema.empty_table(), *(pa.table(row).cast(schema) for row in rows)])


def main(path: str = "sample_data/news.jsonl.zst") -> dp.Dataset:
    """Keep the five longest documents of a file, and print what was dropped."""
    with tempfile.TemporaryDirectory() as out:
        kept = dp.Pipeline(LongestPerSource(n=5)).run(dp.read(path), out=out, runner=dp.tools.Local(2))
        print(kept.stats)
    return kept


if __name__ == "__main__":
    main(*sys.argv[1:])
