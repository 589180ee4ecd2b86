"""Run every benchmark and write what they print to benchmarks/RESULTS.md.

    make bench                        or  python -m benchmarks [--only read,dedup]
    make bench ARGS=--quick           small inputs, for at most 15 minutes

Each benchmark is a process of its own. Figures of machines that do other work at the same time are low and unsteady:
compare the rows of one table, which were taken side by side. Every section states when it was made, and the seconds of
wall and CPU time that this took.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from .engines import machine

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "RESULTS.md"
ORDER = {
    "peers": "Beside other programs",
    "read": "Reading",
    "warc": "Crawls",
    "chats": "Chats",
    "messages": "Stages on messages",
    "filters": "Filters by rule",
    "dedup": "MinHash and exact documents",
    "minhash": "What MinHash finds",
    "units": "Paragraphs, lines, spans",
    "suffix": "Repeated text",
    "bloom": "Bloom filters",
    "semantic": "SemDeDup",
    "language": "Languages",
    "ngram": "N-gram models and perplexity",
    "search": "Search",
    "growth": "Every deduplication at three sizes",
    "pipeline": "The whole pipeline, memory, workers",
    "tokens": "Tokens",
    "loader": "Loading rows, packing plans",
    "train": "Training",
    "shakespeare": "tinyshakespeare beside a plain PyTorch loop",
    "persona": "Planted answers",
    "decisions": "Own parts and libraries",
}
QUICK = {  # the options with which each takes about a minute; the most used steps first
    "peers": "--mb 30 --peer-mb 3", "read": "--mb 20", "dedup": "--mb 30 --peer-mb 3 --growth 100",
    "filters": "--mb 5", "pipeline": "--mb 50", "tokens": "--mb 10", "minhash": "--documents 20000 --mb 5",
    "units": "--mb 20 --peer-mb 2", "bloom": "--mb 20 --peer-mb 5", "suffix": "--mb 5 --growth 30",
    "growth": "--mb 30 100", "messages": "--mb 5", "chats": "--mb 20 --peer-mb 1", "warc": "--mb 10",
    "ngram": "--mb 3 --peer-mb 0.3", "search": "--mb 20", "loader": "--tokens 20000000",
}  # fmt: skip
QUICK_SECONDS, MOST_SECONDS = 15 * 60, 150  # of all; of each
HEAD = """# Results

Made by `make bench` (`python -m benchmarks`) on {machine}. MB is 10^6 bytes of UTF-8 text. Rates are per user-CPU
second of one core unless a column says wall; peaks are of the largest process, imports included. Every table was taken
in one run, its rows beside each other; the command above each makes it again. Sections that state no date are of 20
November 2026.
"""


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else []


def run(name: str, options: list[str], limit: float | None = None) -> str | None:
    """What one benchmark prints, under the command that makes it; None if it is ended after `limit` seconds."""
    command = ["python", f"benchmarks/bench_{name}.py", *options]
    print(" ".join(command), flush=True)
    began, before = time.perf_counter(), os.times()
    process = subprocess.Popen(
        [sys.executable, *command[1:]], cwd=HERE.parent, stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "COLUMNS": "110", "NO_COLOR": "1"},
    )  # fmt: skip
    try:
        printed, _ = process.communicate(timeout=limit)
    except BaseException as e:
        os.killpg(process.pid, signal.SIGKILL)  # with the processes of its engines
        process.communicate()
        if not isinstance(e, subprocess.TimeoutExpired):
            raise
        print(f"{name}: ended after {limit:.0f} s; its section is unchanged", flush=True)
        return None
    print(printed, flush=True)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with exit code {process.returncode}; its figures were not written")
    wall, after = time.perf_counter() - began, os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    today = dt.date.today()  # noqa: DTZ011
    said = f"`{' '.join(command)}`, on {today.day} {today:%B %Y}, in {wall:.0f} s ({cpu:.0f} s of CPU time)"
    return f"## {ORDER[name]}\n\n{said}\n\n```\n{printed.strip()}\n```\n"


def main() -> None:
    """Run the benchmarks named (all) and write their sections; sections of the others stay."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="comma-separated: " + ", ".join(ORDER))
    parser.add_argument("--quick", action="store_true", help="small inputs; end after 15 minutes")
    parser.add_argument("--option", action="append", default=[], help="NAME:OPTION, passed to one benchmark")
    given = parser.parse_args()
    sections, began = _sections(), time.perf_counter()
    for name in given.only.split(",") if given.only else QUICK if given.quick else ORDER:
        limit = min(MOST_SECONDS, QUICK_SECONDS - (time.perf_counter() - began)) if given.quick else None
        if limit is not None and limit < 1:
            print(f"{name}: not run, since 15 minutes are over; its section is unchanged", flush=True)
            continue
        options = [o.partition(":")[2] for o in given.option if o.partition(":")[0] == name]
        options = [*([QUICK[name]] if given.quick and name in QUICK else []), *options]
        section = run(name, [word for o in options for word in o.split()], limit)
        if section is None:
            continue
        sections[ORDER[name]] = section
        body = [sections[title] for title in sorted(sections, key=_place)]
        head = HEAD.format(machine=machine())
        RESULTS.write_text("\n".join([head, *body]), encoding="utf-8")


def _place(title: str) -> int:
    """Return where a section stands; those that no benchmark here makes are at the end."""
    titles = list(ORDER.values())
    return titles.index(title) if title in titles else len(titles)


def _sections() -> dict[str, str]:
    text = "\n".join(_lines(str(RESULTS)))
    parts = text.split("\n## ")[1:]
    return {part.partition("\n")[0]: f"## {part.strip()}\n" for part in parts}


if __name__ == "__main__":
    main()
