"""Compile listed kernels before anyone calls them.

    python scripts/make_kernels.py            for this processor, into the user's cache (`make setup`)
    python scripts/make_kernels.py --all      those of both lists, for this processor (`.ci/run`: tests call nearly all)
    python scripts/make_kernels.py --wheel    for all processors of this kind, into the package (`make wheel`)

`kernels.txt` lists those of the README's example and of the demo; `more_kernels.txt` the others that Python calls. Each
line is a module, a kernel, and the kinds of its arguments as `unicode/kinds.py` writes them. `tests/test_counts.py` and
`tests/fixtures/kernels.py` name lines that are missing, `tests/unicode/test_listed.py` those that no longer fit. Code
that is stored already is not compiled again; other kernels are compiled at their first call.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

OF_SETUP, MORE = (Path(__file__).with_name(name) for name in ("kernels.txt", "more_kernels.txt"))
WORD = re.compile(r"[^\s()]*\(|\)|[^\s()]+")


def main() -> None:
    """Compile in as many processes as there are processors."""
    parser = argparse.ArgumentParser(description="Compile the kernels of the lists.")
    parser.add_argument("--all", action="store_true", help="those of both lists")
    parser.add_argument("--wheel", action="store_true", help="for all processors of this kind, into the package")
    given = parser.parse_args()
    from dataprep.unicode.machine_code import levels

    begun, failed, lines = time.monotonic(), set[str](), listed(is_all=given.all or given.wheel)
    modules: dict[str, dict[str, str]] = {}
    for line, place in lines.items():
        modules.setdefault(line.split()[0], {})[line] = place

    def longest(name: str) -> int:
        """Sort modules: those whose kernels have the most arguments take longest, and begin first."""
        return -sum(map(len, modules[name]))

    for level in levels() if given.wheel else [None]:
        if level is not None:
            os.environ.update(NUMBA_CPU_NAME=level, NUMBA_CPU_FEATURES="")
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(os.cpu_count(), spawn) as pool:
            jobs = [pool.submit(compile_module, modules[name], level) for name in sorted(modules, key=longest)]
            for job in jobs:
                failed.update(job.result())
    if failed:
        sys.exit(f"not compiled; correct these lines or remove them: {', '.join(sorted(failed))}")
    print(f"kernels compiled in {time.monotonic() - begun:.0f} s")


def compile_module(lines: dict[str, str], level: str | None) -> list[str]:
    """Compile the kernels of a module in one process, since they call the same others.

    lines: with their places. Returns the place and the error of each line that cannot be compiled.
    """
    failed = []
    for line, place in lines.items():
        module, name, text = line.split(" ", 2)
        try:
            compile_one(module, name, text, level)
        except Exception as e:  # noqa: BLE001 - Numba's errors are of many classes; the others are compiled
            failed.append(f"{place} {module} {name} ({type(e).__name__})")
    return failed


def listed(*, is_all: bool) -> dict[str, str]:
    """Return the lines of the list, or of both, with their places, `file:line`."""
    files = [OF_SETUP, MORE] if is_all else [OF_SETUP]
    return {
        line: f"{file.name}:{n}"
        for file in files
        for n, line in enumerate(file.read_text("utf-8").splitlines(), start=1)
    }


def compile_one(module: str, name: str, text: str, level: str | None) -> None:
    """Compile a kernel for the kinds of its arguments, and store it unless it is there."""
    from dataprep.unicode import machine_code
    from dataprep.unicode.compiled import machine_code as code_of
    from dataprep.unicode.compiled import result_for
    from dataprep.unicode.kernel import kernel_hash

    kernel = getattr(importlib.import_module(module), name)
    folder = kernel_hash(kernel)
    if level is None and machine_code.stored(folder, text) is not None:
        return
    code = code_of(result_for(kernel.compiled, types_of(text)), text)
    if level is None:
        machine_code.store(folder, code)
    else:
        machine_code.write(machine_code.shipped(level, folder, text), code)


def types_of(text: str) -> list[Any]:
    """Return the types of Numba for the kinds of arguments."""
    return list(_read(iter(WORD.findall(text))))


def _read(words: Iterator[str]) -> Iterator[Any]:
    from numba import types
    from numba.np.numpy_support import from_dtype

    for word in words:
        if word == ")":
            return
        if word.endswith("("):
            module, _, rest = word[:-1].partition(":")
            name = rest.partition(":")[0]
            record = getattr(importlib.import_module(module), name) if module else tuple
            yield types.BaseTuple.from_types(list(_read(words)), record)
        elif "/" in word:
            import numpy as np

            items, _, form = word.rpartition("/")
            fields = [tuple(field.split("=")) for field in items.split(",")] if "=" in items else items
            yield types.Array(from_dtype(np.dtype(fields)), int(form[:-2]), form[-2], readonly=form[-1] == "r")
        else:
            yield {"bool": types.boolean, "none": types.none}.get(word) or getattr(types, word)


if __name__ == "__main__":
    main()
