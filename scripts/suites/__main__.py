"""Run public suites that come as source distributions of packages, and print how much of each half is right.

`make test-suites`, or `python -m suites [NAME ...]` in `scripts/`. The suites are fetched into the folder that
`DATAPREP_SUITES` names, by default `out/suites`; `articles` and `hosts` must be copied there. Each suite is split by a
hash: errors in the tuned half may be studied and mended, and the result is that of the other half.
"""

from __future__ import annotations

import importlib
import sys

from .sdists import NotThereError

SUITES = ("articles", "charsets", "fresh", "hosts", "phones")


def main(names: list[str]) -> None:
    """Run the suites of these names, or all; print a table row for each measure.

    A suite that cannot be fetched is printed as "not run".
    """
    print("| suite | measure | tuned half | other half |\n|---|---|---|---|")
    for name in names or SUITES:
        try:
            for measure, tuned, other in importlib.import_module(f".{name}", __package__).measures():
                print(f"| {name} | {measure} | {tuned} | {other} |", flush=True)
        except NotThereError as e:  # noqa: PERF203 - the other suites are run
            print(f"| {name} | not run: {e} | | |")


main(sys.argv[1:])
