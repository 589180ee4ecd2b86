"""What a GPU is worth to the trainer: MFU, waiting for data, document masks, micro-batches, checkpoints, LoRA and NCCL.

    make bench-gpu ARGS="--out DIR"                          # 124M, 350M and 774M parameters on one GPU
    python benchmarks/bench_gpu.py --sizes tiny --steps 8 --out DIR    # the same code on the CPU, for a test

Each row is a training run of its own (`dataprep.train.train`) on random documents, so all that a run does is measured:
its compiled steps, its loader and its reports. The first half of the steps warms up; figures are medians of the others,
from metrics.jsonl. `masks` is the layout bestfit with attention inside documents, `no masks` the same rows without.
`saving` is `stream` with checkpoints in the middle and at the end. `lora` and `qlora` train updates of the model that
`stream` made, with its matrices in the type of the activations and in NF4. These three are measured for the last size
only. DIR/bench-gpu.md has the table, DIR/bench-gpu.json the figures; both are written after each row, so that a time
limit leaves the rows so far.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as dataprep.train does, before torch is loaded

import numpy as np
import torch

from dataprep.errors import DataprepError
from dataprep.store.atomic import whole
from dataprep.tokens.shards.writer import save
from dataprep.train import TrainConfig, checkpoint, preset, train, writer
from dataprep.train.metrics import read

SIZES = ("gpt2-124m", "350m", "774m")
CASES: dict[str, dict[str, Any]] = {
    "stream": {"layout": "contiguous"},
    "masks": {"layout": "bestfit", "mask_documents": True},
    "no masks": {"layout": "bestfit", "mask_documents": False},
    "saving": {"layout": "contiguous"},
    "lora": {"layout": "contiguous", "lora": 16},
    "qlora": {"layout": "contiguous", "lora": 16, "lora_base": "nf4"},
}
LAST_ONLY = ("saving", "lora", "qlora")
"""Cases that are measured for the last of several sizes only."""
VOCAB = 50_304
HEAD = ("model", "rows", "micro-batch", "tokens/s", "MFU", "waiting for data", "peak memory", "attention")
PAIR = """
import os, sys, torch, torch.distributed as dist
on_card = sys.argv[1] == "cuda"
if on_card:
    torch.cuda.set_device(0)
dist.init_process_group("nccl" if on_card else "gloo")
x = torch.ones(4, device="cuda:0" if on_card else "cpu")
dist.all_reduce(x)
assert x.tolist() == [2.0] * 4
dist.destroy_process_group()
"""


def make_shards(folder: Path, n_tokens: int, vocab: int) -> Path:
    """Write random documents, of 30 to 3,000 tokens, and return their folder."""
    rng, documents, left = np.random.default_rng(0), [], n_tokens
    while left > 0:
        documents.append(rng.integers(0, vocab - 1, int(30 * 100 ** rng.random())).astype(np.uint16))
        left -= len(documents[-1]) + 1
    save(folder, {"train": documents}, vocab_size=vocab, eot=vocab - 1, shard_tokens=max(1000, n_tokens // 3))
    return folder


def config_of(
    size: str, case: str, steps: int, batch: int, fits: list[int], *, on_card: bool
) -> TrainConfig:  # fmt: skip
    """Return the config of one row: the preset with the micro-batch that the card chose for the size's first case.

    fits: the micro-batches of the size's rows so far.
    """
    config = replace(preset(size), steps=steps, warmup=0, eval_every=10**6, save_every=10**6)
    config = replace(config, log_every=1, **CASES[case])  # a step that is looked at waits for the device
    config = replace(config, batch=batch, micro_batch=None, **({"save_every": steps // 2} if case == "saving" else {}))
    return replace(config, micro_batch=fits[0] if fits else "auto") if on_card else replace(config, device="cpu")


def measure(size: str, case: str, shards: Path, home: Path, config: TrainConfig) -> dict[str, Any]:
    """Train one run into a folder in `home`, and return the figures of its row."""
    out, base = home / f"{size} {case}", home / f"{size} stream"
    began, copying = time.perf_counter(), []

    def begin(copies: writer.Copies, content: dict[str, Any]) -> dict[str, Any]:
        start = time.perf_counter()
        made = begin_copy(copies, content)
        copying.append(time.perf_counter() - start)
        return made

    begin_copy, writer.Copies.begin = writer.Copies.begin, begin  # type: ignore[method-assign]
    try:
        train(shards, out=out, config=config, init_from=base if config.lora else None, quiet=True)
    finally:
        writer.Copies.begin = begin_copy  # type: ignore[method-assign]
    took = time.perf_counter() - began
    every = [row for row in read(out / "metrics.jsonl") if "tokens_per_s" in row]
    rows = every[len(every) // 2 :]
    saved = checkpoint.load(newest := checkpoint.found(out)[-1])["config"]
    mfus = [row["mfu"] for row in rows if row["mfu"] is not None]
    return {
        "model": size, "rows": case, "batch": saved["batch"], "micro_batch": saved["micro_batch"] or saved["batch"],
        "tokens_per_s": statistics.median(row["tokens_per_s"] for row in rows),
        "mfu": statistics.median(mfus) if mfus else None,
        "loader_wait": statistics.median(row["loader_wait"] for row in rows),
        "peak_memory": max(row["peak_memory"] for row in rows), "attention": rows[-1]["attention"],
        "checkpoint_bytes": newest.stat().st_size, "copy_seconds": copying, "seconds": took,
    }  # fmt: skip


def failed(size: str, case: str, error: Exception) -> dict[str, Any]:
    """Return the row of a run that ended with an error."""
    return {"model": size, "rows": case, "error": str(error).split("\n", 1)[0]}


def two_processes(*, on_card: bool) -> str:
    """Return what happens if two processes exchange tensors over one card (NCCL), or on the CPU (gloo)."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    given = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    command = [sys.executable, "-c", PAIR, "cuda" if on_card else "cpu"]
    both = [
        subprocess.Popen(command, env={**given, "RANK": rank, "LOCAL_RANK": "0"}, stderr=subprocess.PIPE, text=True)
        for rank in "01"
    ]
    name = "NCCL on one card" if on_card else "gloo on the CPU"
    try:
        said = [process.communicate(timeout=90)[1] for process in both]
    except subprocess.TimeoutExpired:
        return f"{name} does not answer within 90 seconds"
    finally:
        for process in both:
            process.kill()
    if all(process.returncode == 0 for process in both):
        return f"{name} works"
    lines = [line for text in said for line in text.splitlines()]
    why = next((line for line in lines if "Duplicate GPU" in line), next((t for t in reversed(lines) if t.strip()), ""))
    return f"{name} is refused: {why.strip()}"


def markdown(found: list[dict[str, Any]], where: str, pair: str = "") -> str:
    """Return the figures as a table, and below it what document masks, checkpoints and frozen weights cost."""
    lines = [where, "", f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for row in found:
        cells = [row["model"], row["rows"]]
        if "error" in row:
            cells += [row["error"].replace("|", "/"), *[""] * (len(HEAD) - 3)]
        else:
            mfu = "" if row["mfu"] is None else f"{row['mfu']:.1%}"
            cells += [f"{row['micro_batch']} of {row['batch']}", f"{row['tokens_per_s']:,.0f}", mfu]
            cells += [f"{row['loader_wait']:.2%}", f"{row['peak_memory'] / 1e9:.1f} GB", row["attention"] or ""]
        lines.append(f"| {' | '.join(cells)} |")
    by = {(row["model"], row["rows"]): row for row in found if "error" not in row}
    lines += ["", f"Time that document masks cost: {_slower(by, 'no masks', 'masks')}."]
    stalls = [
        f"{model} {row['copy_seconds'][0]:.3f} s the first time, then {row['copy_seconds'][-1]:.3f} s"
        for (model, case), row in by.items() if case == "saving"
    ]  # fmt: skip
    lines += [f"Time in which training stops for the copy of a checkpoint: {'; '.join(stalls) or 'not measured'}."]
    sizes = [
        f"{model} {row['checkpoint_bytes'] / 1e6:,.0f} MB, {plain['checkpoint_bytes'] / 1e6:,.0f} MB without NF4"
        for (model, case), row in by.items() if case == "qlora" and (plain := by.get((model, "lora")))
    ]  # fmt: skip
    lines += [f"Checkpoints of QLoRA: {'; '.join(sizes) or 'not measured'}."]
    return "\n".join([*lines, *([f"Two processes: {pair}."] if pair else [])])


def _slower(by: dict[tuple[str, str], dict[str, Any]], plain: str, other: str) -> str:
    costs = [
        f"{model} {1 - row['tokens_per_s'] / by[model, plain]['tokens_per_s']:+.1%}"
        for (model, case), row in by.items() if case == other and (model, plain) in by
    ]  # fmt: skip
    return ", ".join(costs) or "not measured"


def write(out: Path, found: list[dict[str, Any]], text: str, facts: dict[str, Any]) -> None:
    """Write the table and the figures into the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("bench-gpu.md", text), ("bench-gpu.json", json.dumps({**facts, "rows": found}, indent=1)),
    ):  # fmt: skip
        with whole(out / name) as f:
            f.write(f"{content}\n".encode())


def main() -> None:
    """Measure the sizes, one run after the other, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), help="presets")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="kinds of runs")
    parser.add_argument("--steps", type=int, default=8, help="steps of each run; the first half warms up")
    parser.add_argument("--batch", type=int, default=128, help="rows per step")
    parser.add_argument("--micro-batch", type=int, help="its rows; by default the first run of a size finds it")
    parser.add_argument("--tokens", type=int, default=10_000_000, help="tokens of the random documents")
    parser.add_argument("--limit", type=float, default=420, help="seconds after which no other run is begun")
    parser.add_argument("--out", help="folder for bench-gpu.md and bench-gpu.json")
    args = parser.parse_args()
    on_card = torch.cuda.is_available()
    if not on_card and set(args.sizes) & set(SIZES):
        sys.exit("torch sees no CUDA card; measure a small size on the CPU with --sizes tiny")
    where = torch.cuda.get_device_name() if on_card else f"{torch.get_num_threads()} CPU threads, not a card"
    where = f"{where}, torch {torch.__version__}, {args.steps} steps"
    began, found, facts = time.perf_counter(), [], {"where": where, "two_processes": two_processes(on_card=on_card)}
    with tempfile.TemporaryDirectory() as home:
        shards = make_shards(Path(home) / "shards", args.tokens, VOCAB)
        for case in sorted(args.cases, key=list(CASES).index):  # all sizes have the first cases if time runs out
            for size in args.sizes[-1:] if case in LAST_ONLY else args.sizes:
                if (spent := time.perf_counter() - began) > args.limit:
                    found.append(failed(size, case, TimeoutError(f"not begun after {spent:.0f} s (--limit)")))
                    continue
                fits = [args.micro_batch] if args.micro_batch else []
                fits += [row["micro_batch"] for row in found if row["model"] == size and "error" not in row]
                config = config_of(size, case, args.steps, args.batch, fits, on_card=on_card)
                print(f"{size}, {case} ... {spent:.0f} s", file=sys.stderr, flush=True)
                try:
                    found.append(measure(size, case, shards, Path(home), config))
                except DataprepError as e:
                    found.append(failed(size, case, e))
                if on_card:
                    torch.cuda.empty_cache()
                    torch.cuda.reset_peak_memory_stats()
                if args.out:
                    write(Path(args.out), found, markdown(found, where, facts["two_processes"]), facts)
    text = markdown(found, where, facts["two_processes"])
    print(text)
    if args.out:
        write(Path(args.out), found, text, facts)


if __name__ == "__main__":
    main()
