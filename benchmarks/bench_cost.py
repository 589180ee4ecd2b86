"""What each deduplication costs at two to four sizes, and what follows for 1 TB; --write puts it into docs/cost.md.

    python benchmarks/bench_cost.py [--mb 30 300 1000 3000] [--only minhash] [--write]

The runs are those of `bench_growth.py`, in one process; the files of results are zstd. A size above the last of
METHODS is left out, so that all take less than six minutes of CPU time; making the inputs, once, takes some more.
--write replaces the part of docs/cost.md between its two marks, and draws docs/pictures/cost.svg. Only figures of a
quiet machine belong there.
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
import sys
import tempfile
from pathlib import Path

from bench_growth import corpus, measure
from engines import machine

HERE = Path(__file__).resolve().parent
PAGE, PICTURE = HERE.parent / "docs" / "cost.md", HERE.parent / "docs" / "pictures" / "cost.svg"
MARKS = "<!-- measured by benchmarks/bench_cost.py -->", "<!-- end of the measured part -->"
METHODS: dict[str, tuple[str, float]] = {  # what the page calls it, and the largest size in MB
    "url": ("`URLDedup()`", 1000),
    "exact": ("`Exact()`", 3000),
    "exact-paragraph": ('`Exact(unit="paragraph")`', 3000),
    "exact-line": ('`Exact(unit="line")`', 1000),
    "exact-span3": ('`Exact(unit="span3")`', 1000),
    "bloom-document": ("`Bloom()`", 1000),
    "bloom-paragraph": ('`Bloom(unit="paragraph")`', 3000),
    "bloom-ngram": ('`Bloom(unit="ngram")`', 300),
    "minhash": ("`MinHash()`", 3000),
    "suffix-words": ("`SuffixArray(min_words=50)`", 3000),
    "suffix": ("`SuffixArray(min_bytes=100)`", 1000),
    "semdedup": ("`SemDeDup(embed=...)`", 300),
}
TB = 1e6  # MB
COLORS = ("#3b6ea5", "#b4532a", "#4c8c4a", "#7a4fa3", "#a08b1f", "#52606d")
Figures = dict[str, dict[float, dict[str, float]]]


def per_mb(found: dict[float, dict[str, float]], name: str) -> float:
    """Return the increase of a figure per MB between the two largest sizes."""
    low, high = sorted(found)[-2:]
    return (found[high][name] - found[low][name]) / (high - low)


def measured(figures: Figures) -> str:
    """Return the tables in Markdown: the figures, and what they mean for 1 TB."""
    lines = ["| stage | MB | user CPU, s | user and system CPU, s | peak memory, MB | work files and result, MB |"]
    lines.append("|---|---|---|---|---|---|")
    for method, found in figures.items():
        for mb, got in found.items():
            numbers = (f"{got['user']:.1f}", f"{got['cpu']:.1f}", f"{got['peak']:.0f}", f"{got['most']:.0f}")
            lines.append(f"| {METHODS[method][0]} | {mb:g} | {' | '.join(numbers)} |")
    lines += ["", "| stage | 1 TB: core-hours | hours on 64 cores | disk, TB |", "|---|---|---|---|"]
    for method, found in figures.items():
        hours, disk = per_mb(found, "cpu") * TB / 3600, per_mb(found, "most") * TB / 1e6
        lines.append(f"| {METHODS[method][0]} | {hours:.1f} | {hours / 64:.2f} | {disk:.2f} |")
    return "\n".join(lines)


def picture(figures: Figures) -> str:
    """Return a picture in SVG: seconds of CPU by size, both axes logarithmic, a line for each stage."""
    sizes = sorted({mb for found in figures.values() for mb in found})
    times = [got["cpu"] for found in figures.values() for got in found.values()]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))

    def x(mb: float) -> float:
        return 50 + 360 * math.log(mb / sizes[0]) / math.log(sizes[-1] / sizes[0])

    def y(seconds: float) -> float:
        return 250 - 230 * (math.log10(seconds) - low) / max(1, high - low)

    body = []
    for power in range(low, high + 1):
        at = y(10.0**power)
        body.append(f'<path d="M50,{at:.1f} H410" stroke="#d5dbe1"/>')
        body.append(f'<text x="4" y="{at + 4:.1f}">{10.0**power:g} s</text>')
    body += [f'<text x="{x(mb):.1f}" y="272" text-anchor="middle">{mb:g} MB</text>' for mb in sizes]
    order = sorted(figures, key=lambda method: -per_mb(figures[method], "cpu"))
    for k, method in enumerate(order):
        points = " L".join(f"{x(mb):.1f},{y(got['cpu']):.1f}" for mb, got in figures[method].items())
        again, color = divmod(k, len(COLORS))
        style = f'stroke="{COLORS[color]}" stroke-width="2"' + ' stroke-dasharray="5 3"' * again
        body.append(f'<path d="M{points}" fill="none" {style}/>')
        label = METHODS[method][0].strip("`").replace('"', "&quot;")
        body.append(f'<path d="M422,{30 + 22 * k} H444" {style}/>')
        body.append(f'<text x="450" y="{35 + 22 * k}">{label}</text>')
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 284" width="660" height="284" role="img">'
        "<title>CPU time of each deduplication by the size of the input</title>"
        "<style>text{font:13px sans-serif;fill:#1f2933}</style>" + "".join(body) + "</svg>\n"
    )


def write(figures: Figures) -> None:
    """Replace the measured part of docs/cost.md, and draw its picture."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    when = f"Measured on {machine()}, {dt.date.today().isoformat()}; results in Parquet with zstd."  # noqa: DTZ011
    shown = "![CPU time of each deduplication by the size of the input](pictures/cost.svg)"
    part = "\n\n".join([MARKS[0], when, shown, measured(figures), MARKS[1]])
    PICTURE.write_text(picture(figures), encoding="utf-8")
    PAGE.write_text(before + part + after, encoding="utf-8")


def main() -> None:
    """Measure, print the tables, and write them if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "dataprep-bench")
    parser.add_argument("--mb", type=float, nargs="+", default=[30, 300, 1000, 3000], help="two sizes or more")
    parser.add_argument("--only", nargs="*", choices=METHODS)
    parser.add_argument("--write", action="store_true", help="also write docs/cost.md and its picture")
    given = parser.parse_args()
    if len(given.mb) < 2:
        parser.error("--mb must have two sizes or more")
    given.folder.mkdir(parents=True, exist_ok=True)
    sources = {mb: corpus(given.folder / f"fresh-{mb:g}.jsonl", mb, fresh=True) for mb in (2.0, *sorted(given.mb))}
    figures: Figures = {}
    for method in given.only or METHODS:
        few = sorted(given.mb)[:2]
        for mb, source in sources.items():  # the smallest only compiles the kernels
            if mb > METHODS[method][1] and mb not in few:
                continue
            got = measure(method, source, given.folder / "out", "2GB")
            print(method, f"{mb:g} MB: {got['cpu']:.1f} s of CPU", file=sys.stderr, flush=True)
            if mb in given.mb:
                figures.setdefault(method, {})[mb] = got
    print(measured(figures))
    if given.write:
        write(figures)


if __name__ == "__main__":
    main()
