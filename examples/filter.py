"""A filter of one's own, twice: as a plain function, and as a Stage over whole batches.

Run it: python examples/filter.py sample_data/news.jsonl.zst
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow.compute as pc

import dataprep as dp
from dataprep.extend import Batch, Ledger, Stage


def shouting(text: str) -> str | None:
    """Return the reason to drop a text, or None to keep it; the parameter's name is that of a column."""
    letters = [c for c in text if c.isalpha()]
    return "upper_case" if letters and sum(map(str.isupper, letters)) > len(letters) / 2 else None


@dataclass(frozen=True, kw_only=True)
class MaxChars(Stage):
    """Drops documents of more than `max_chars` characters."""

    max_chars: int

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        for batch in batches:
            too_long = pc.greater(pc.utf8_length(batch["text"]), self.max_chars)
            stats.drop(batch["id"].filter(too_long), "too_long")
            yield batch.filter(pc.invert(too_long))


def main(path: str = "sample_data/news.jsonl.zst") -> dp.Dataset:
    """Run both filters on a file, and print what they dropped."""
    with tempfile.TemporaryDirectory() as out:
        pipeline = dp.Pipeline(dp.Filter(shouting), MaxChars(max_chars=2_000))
        kept = pipeline.run(dp.read(path), out=out, runner=dp.tools.Local(2))
        print(kept.stats)
    return kept


if __name__ == "__main__":
    main(*sys.argv[1:])
