"""Write engine.txt: the classes of all characters, as the regex engine of the installed `tiktoken` sees them.

Run `python scripts/make_engine.py` with each version of `tiktoken` that the file is to name. If a version classifies
any character in another way, the file names this version alone.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import tiktoken

from dataprep.tokens.vocabulary.cutting import asked_classes, stored_classes

TARGET = Path(__file__).parents[1] / "src" / "dataprep" / "tokens" / "vocabulary" / "engine.txt"


def spans(points: np.ndarray) -> str:
    """Return ascending code points as ranges `first-last`, in hexadecimal, separated by spaces."""
    runs = np.split(points, np.flatnonzero(np.diff(points) > 1) + 1)
    return " ".join(f"{run[0]:x}-{run[-1]:x}" if len(run) > 1 else f"{run[0]:x}" for run in runs)


def text_of(versions: list[str], classes: dict[str, np.ndarray]) -> str:
    """Return the content of the file."""
    lines = [f"# Written by scripts/make_engine.py; do not edit. Of tiktoken: {' '.join(versions)}"]
    for kind, points in classes.items():
        lines += [f"[{kind}]", *textwrap.wrap(spans(points), 118, break_on_hyphens=False)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the file, or add the installed version to it."""
    classes, versions = asked_classes(), [tiktoken.__version__]
    if TARGET.exists():
        before, stored = stored_classes()
        if text_of([], stored) == text_of([], classes):
            versions = sorted({*before, *versions}, key=lambda v: [int(n) for n in v.split(".")])
    TARGET.write_text(text_of(versions, classes), encoding="utf-8")


if __name__ == "__main__":
    main()
