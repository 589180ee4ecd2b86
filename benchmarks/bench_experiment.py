"""How often `dp.experiment` is wrong, and how often it finds damage: real small trainings, resampled 1,000 times.

    python benchmarks/bench_experiment.py [--out out/calibration] [--seeds 10] [--input 'crawl/*.jsonl.zst']

Versions of one corpus are trained with 10 seeds each: the whole, random halves (another half for every two seeds), and
the whole with the words of 20 % and of 5 % of its documents in a random order. An experiment of n seeds is then
imitated by n of these seeds and all, or a random half, of the held-out documents, drawn without replacement. In the
rows "other seeds", both versions are the whole, or random halves, and each pair of runs has two seeds: there is no
difference to find, and every verdict is false. (A half is worse than the whole: its rows are of fewer documents.) The
standard error of a share is the jackknife over the seeds, since the 1,000 experiments are drawn from the same
trainings. Without --input, the corpus is that of pipelines/demo.py. docs/experiments.md has the result.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import time
import zlib
from pathlib import Path

import numpy as np

import dataprep as dp
from dataprep import pipeline_file
from dataprep.experiment.difference import difference
from dataprep.experiment.runs import Trainings

TRIALS = 1_000
PAIRS = {
    "the whole, other seeds": ("whole", None), "random halves, other seeds": ("halves", None),
    "the whole, random halves": ("whole", "halves"), "the whole, 20 % shuffled": ("whole", "shuffled-20"),
    "the whole, 5 % shuffled": ("whole", "shuffled-5"),
}  # fmt: skip


def half(number: int):
    """Return a function that keeps one of the random halves of the documents."""

    def keep(id):  # noqa: A002 - the column's name
        """Keep the document or not, by its id."""
        return "other_half" if random.Random(id + number * 2**64).random() < 0.5 else None

    return keep


def shuffled(text: str, share: float) -> str:
    """Return a text whose words are in a random order, if its hash is among this share; white space stays in place."""
    number = zlib.crc32(text.encode())
    if number / 2**32 >= share:
        return text
    parts = re.split(r"(\s+)", text)
    words = parts[::2]
    random.Random(number).shuffle(words)
    parts[::2] = words
    return "".join(parts)


def fifth(text):
    """Shuffle the words of 20 % of the documents."""
    return shuffled(text, 0.2)


def twentieth(text):
    """Shuffle the words of 5 % of the documents."""
    return shuffled(text, 0.05)


SHUFFLED = {"shuffled-20": [dp.Map(fifth)], "shuffled-5": [dp.Map(twentieth)]}


def main() -> None:
    """Train, resample, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="out/calibration")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--input")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--held-out", type=float, default=0.02)
    given = parser.parse_args()
    if given.input:
        docs = dp.Pipeline().run(dp.read(given.input), out=f"{given.out}/input", replace=True)
    else:
        demo = pipeline_file.load(str(Path(__file__).parent.parent / "pipelines" / "demo.py"))
        docs = demo[0].fn(f"{given.out}/input", dp.tools.Serial())
    began, cpu, found = time.perf_counter(), time.process_time(), {}

    def trained(versions, seeds, first=0):
        """Run an experiment; return its result. The losses and sizes are in `found`."""
        settings = ["device=cpu", f"steps={given.steps}", f"seed={first}"]
        return dp.experiment(
            {"whole": [], **versions}, docs=docs, out=f"{given.out}/experiment", seeds=seeds, by=(), settings=settings,
            held_out=given.held_out,
        )  # fmt: skip

    plain = Trainings.losses

    def kept(runs):
        """Return the losses of an experiment, and keep them in `found`."""
        losses = plain(runs)
        found.update(losses[""])
        found["sizes"], found["units"] = np.array(runs.records()["whole"][0]["bytes"]), runs.design.units
        return losses

    Trainings.losses = kept
    halves = []
    for number in range(given.seeds // 2):
        trained({"half": [dp.Filter(half(number))]}, 2, first=2 * number)
        halves.append(found["half"])
    print(trained(SHUFFLED, given.seeds).markdown())
    found["halves"] = np.concatenate(halves)
    print(f"{time.perf_counter() - began:,.0f} s, {time.process_time() - cpu:,.0f} s of CPU")
    print("\n| versions | documents | seeds | difference | deviation | better | worse | any verdict | standard error |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: | --: |")
    for name, (base, other) in PAIRS.items():
        for share, seeds in ((1, 3), (0.5, 3), (1, 4 if other is None else 6)):
            theirs = None if other is None else found[other]
            print(row(name, share, seeds, found[base], theirs, found["sizes"], found["units"]))


def row(name, share, seeds, bits, other, sizes, units) -> str:
    """Return a line of the table: the shares of verdicts over `TRIALS` imitated experiments.

    - share: the share of the held-out groups in each.
    - other: the losses of the other version; None: those of the same version with other seeds.
    """
    rng, n, groups = np.random.default_rng(0), len(bits), int(units.max()) + 1
    verdicts, used = np.zeros(TRIALS), np.zeros((TRIALS, n), bool)
    for trial in range(TRIALS):
        drawn = rng.permutation(n)
        chosen, against = drawn[:seeds], drawn[seeds : 2 * seeds] if other is None else drawn[:seeds]
        some = np.isin(units, rng.permutation(groups)[: round(share * groups)])
        numbers = np.unique(units[some], return_inverse=True)[1].reshape(-1)
        theirs = bits if other is None else other
        found = difference(bits[chosen][:, some], theirs[against][:, some], sizes[some], numbers)
        low, high = found.interval()
        verdicts[trial] = -1 if high < 0 else 1 if low > 0 else 0
        used[trial, chosen] = used[trial, against] = True
    shown = verdicts != 0
    without = np.array([shown[~used[:, i]].mean() for i in range(n)])
    error = math.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    facts = " | "
    if other is not None:
        each = difference(bits, other, sizes, units)
        facts = f"{each.mean:+.4f} ± {each.half_width():.4f} | {np.std(each.by_seed, ddof=1):.4f}"
    better, worse = (float((verdicts == sign).mean()) for sign in (-1, 1))
    shares = " | ".join(f"{value:.1%}" for value in (better, worse, shown.mean(), error))
    return f"| {name} | {share:.0%} | {seeds} | {facts} | {shares} |"


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
