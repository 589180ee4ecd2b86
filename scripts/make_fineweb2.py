"""Write the thresholds of FineWeb-2 per language: fineweb2.txt in src/dataprep/filters.

Run `python scripts/make_fineweb2.py CLONE`, with the path of a clone of huggingface/fineweb-2 (Apache-2.0). The numbers
of its files are taken, and none of their words: a line has a language, then its numbers in the order of
`fineweb2.NUMBERS`. Shares are in thousandths.
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from dataprep.filters.fineweb2 import NUMBERS, THOUSANDTHS, numbers_of

TARGET = Path(__file__).parents[1] / "src" / "dataprep" / "filters" / "fineweb2.txt"


def main(clone: str) -> None:
    """Write the file."""
    lines = ["# Thresholds of FineWeb-2 (huggingface/fineweb-2, Apache-2.0), by scripts/make_fineweb2.py"]
    for path in sorted(Path(clone).glob("configs/*.yml")):
        found = numbers_of(yaml.load(path.read_text("utf-8"), yaml.CSafeLoader))
        values = [found[name] * (1000 if name in THOUSANDTHS else 1) for name in NUMBERS]
        lines.append(" ".join([path.stem, *(str(round(value)) for value in values)]))
    TARGET.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
