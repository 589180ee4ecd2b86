"""What a GPU is worth to the trainer: MFU, data stall, cost of document masks, and the micro-batch that "auto" finds.

    make bench-gpu                                       # 124M, 350M and 774M parameters on one GPU
    python benchmarks/bench_gpu.py --sizes tiny --steps 8    # the same code on the CPU, for a test

Each row is a training run of its own (`dataprep.train.train`) on random documents, so all that a run does is measured:
its compiled steps, its loader and its reports. The first half of the steps warms up; figures are medians of the others,
from metrics.jsonl. `masks` is the layout bestfit with attention inside documents, `no masks` the same rows without.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as dataprep.train does, before torch is loaded

import numpy as np
import torch

from dataprep.errors import DataprepError
from dataprep.tokens.shards.writer import save
from dataprep.train import TrainConfig, checkpoint, preset, train
from dataprep.train.metrics import read

SIZES = ("gpt2-124m", "350m", "774m")
CASES = {
    "stream": {"layout": "contiguous"},
    "masks": {"layout": "bestfit", "mask_documents": True},
    "no masks": {"layout": "bestfit", "mask_documents": False},
}
VOCAB = 50_304
HEAD = ("model", "rows", "micro-batch", "tokens/s", "MFU", "waiting for data", "peak memory", "attention")


def make_shards(folder: Path, n_tokens: int, vocab: int) -> Path:
    """Write random documents, of 30 to 3,000 tokens, and return their folder."""
    rng, documents, left = np.random.default_rng(0), [], n_tokens
    while left > 0:
        documents.append(rng.integers(0, vocab - 1, int(30 * 100 ** rng.random())).astype(np.uint16))
        left -= len(documents[-1]) + 1
    save(folder, {"train": documents}, vocab_size=vocab, eot=vocab - 1, shard_tokens=max(1000, n_tokens // 3))
    return folder


def config_of(size: str, case: str, steps: int, batch: int | None, *, on_card: bool) -> TrainConfig:
    """Return the config of one row: the preset with a micro-batch that the card chooses."""
    config = replace(preset(size), steps=steps, warmup=0, eval_every=10**6, save_every=10**6, **CASES[case])
    config = config if batch is None else replace(config, batch=batch, micro_batch=None)
    config = replace(config, log_every=1)  # a step that is looked at waits for the device: each has its own time
    return replace(config, micro_batch="auto") if on_card else replace(config, device="cpu")


def measure(size: str, case: str, shards: Path, out: Path, config: TrainConfig) -> dict[str, Any]:
    """Train one run, and return the figures of its row."""
    train(shards, out=out, config=config, quiet=True)
    every = [row for row in read(out / "metrics.jsonl") if "tokens_per_s" in row]
    rows = every[len(every) // 2 :]
    saved = checkpoint.load(checkpoint.found(out)[-1])["config"]
    mfus = [row["mfu"] for row in rows if row["mfu"] is not None]
    return {
        "model": size, "rows": case, "batch": saved["batch"], "micro_batch": saved["micro_batch"] or saved["batch"],
        "tokens_per_s": statistics.median(row["tokens_per_s"] for row in rows),
        "mfu": statistics.median(mfus) if mfus else None,
        "loader_wait": statistics.median(row["loader_wait"] for row in rows),
        "peak_memory": max(row["peak_memory"] for row in rows), "attention": rows[-1]["attention"],
    }  # fmt: skip


def failed(size: str, case: str, error: DataprepError) -> dict[str, Any]:
    """Return the row of a run that ended with an error."""
    return {"model": size, "rows": case, "error": str(error)}


def markdown(found: list[dict[str, Any]], where: str) -> str:
    """Return the figures as a table, and below it what document masks cost each model."""
    lines = [where, "", f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for row in found:
        cells = [row["model"], row["rows"]]
        if "error" in row:
            cells += [row["error"], *[""] * (len(HEAD) - 3)]
        else:
            mfu = "" if row["mfu"] is None else f"{row['mfu']:.1%}"
            cells += [f"{row['micro_batch']} of {row['batch']}", f"{row['tokens_per_s']:,.0f}", mfu]
            cells += [f"{row['loader_wait']:.2%}", f"{row['peak_memory'] / 1e9:.1f} GB", row["attention"] or ""]
        lines.append(f"| {' | '.join(cells)} |")
    speeds = {(row["model"], row["rows"]): row["tokens_per_s"] for row in found if "error" not in row}
    both = [m for m, case in speeds if case == "masks" and (m, "no masks") in speeds]
    costs = [f"{m} {1 - speeds[m, 'masks'] / speeds[m, 'no masks']:+.1%}" for m in both]
    return "\n".join([*lines, "", f"Time that document masks cost: {', '.join(costs) or 'not measured'}."])


def main() -> None:
    """Measure the sizes, one run after the other, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), help="presets")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="kinds of rows")
    parser.add_argument("--steps", type=int, default=20, help="steps of each run; the first half warms up")
    parser.add_argument("--batch", type=int, help="rows per step; that of the preset by default")
    parser.add_argument("--tokens", type=int, default=20_000_000, help="tokens of the random documents")
    parser.add_argument("--json", help="file for the figures")
    args = parser.parse_args()
    on_card = torch.cuda.is_available()
    if not on_card and set(args.sizes) & set(SIZES):
        sys.exit("torch sees no CUDA card; measure a small size on the CPU with --sizes tiny")
    where = torch.cuda.get_device_name() if on_card else f"{torch.get_num_threads()} CPU threads, not a card"
    found = []
    with tempfile.TemporaryDirectory() as home:
        shards = make_shards(Path(home) / "shards", args.tokens, VOCAB)
        for size in args.sizes:
            for case in args.cases:
                config = config_of(size, case, args.steps, args.batch, on_card=on_card)
                print(f"{size}, {case} ...", file=sys.stderr, flush=True)
                try:
                    found.append(measure(size, case, shards, Path(home) / f"{size} {case}", config))
                except DataprepError as e:
                    found.append(failed(size, case, e))
                if on_card:
                    torch.cuda.empty_cache()
                    torch.cuda.reset_peak_memory_stats()
    print(markdown(found, f"{where}, torch {torch.__version__}, {args.steps} steps"))
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
