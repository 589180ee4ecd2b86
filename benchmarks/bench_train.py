"""Speed of the trainer: tokens/s, MFU, peak memory, and time spent waiting for data.

    python benchmarks/bench_train.py                          # small sizes on the CPU, about two minutes
    python benchmarks/bench_train.py --presets gpt2-124m 350m # what one GPU is measured with

Tokens are random: speed does not depend on what they say. Each size makes a few warm-up steps (compilation), then
`--steps` timed ones; the figure is the median step. JSON goes to --json, a table to the terminal.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as dataprep.train does, before torch is loaded

import numpy as np
import torch

from dataprep.tokens.shards.writer import save
from dataprep.train import PRESETS, ModelConfig, Sampling, TrainConfig, generate, preset
from dataprep.train.begin import begin
from dataprep.train.metrics import peak_flops
from dataprep.train.optim import step_once
from dataprep.train.schedule import lr_at

CPU_SIZES = {
    "tiny": preset("tiny"),
    "3m": TrainConfig(model=ModelConfig(n_layers=4, n_heads=4, d_model=192, context=256), batch=8),
}
GPU_SIZES = ("42m", "gpt2-124m", "350m", "774m")


def make_shards(folder: Path, n_tokens: int, vocab: int):
    """Random documents of 1,000 tokens."""
    rng = np.random.default_rng(0)
    docs = rng.integers(0, vocab - 1, (n_tokens // 1000, 999)).astype(np.uint16)
    return save(folder, {"train": list(docs)}, vocab_size=vocab, eot=vocab - 1, shard_tokens=n_tokens // 3)


def timed_steps(run, warm: int, steps: int):
    """Seconds of each timed step and the share of them spent waiting for rows."""
    device = run.model.device
    sync = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    seconds, waited, first = [], 0.0, 0.0
    rows = run.loader.steps(0, warm + steps)
    for step in range(warm + steps):
        sync()
        start = time.perf_counter()
        batch = next(rows)
        got = time.perf_counter()
        step_once(run.model, run.optimizer, batch, lr_at(step, run.config), run.config)
        sync()
        end = time.perf_counter()
        if step == 0:
            first = end - start
        if step >= warm:
            seconds.append(end - start)
            waited += got - start
    return seconds, waited / sum(seconds), first


def bench_size(name: str, config: TrainConfig, shards, folder: Path, steps: int):
    """One model size: training, then greedy decoding with the cache."""
    config = replace(config, steps=1000)
    run = begin(shards, folder / name, config, resume=False)
    device = run.model.device
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    cpu = time.process_time()
    seconds, waited, first = timed_steps(run, 3, steps)
    cpu = (time.process_time() - cpu) / (steps + 3)
    tokens = config.batch * config.model.context
    speed = tokens / statistics.median(seconds)
    peak = peak_flops(device)
    memory = (
        torch.cuda.max_memory_allocated() if device.type == "cuda"
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    )  # fmt: skip
    start = time.perf_counter()
    made = len(list(generate(run.model, [1], Sampling(temperature=0), max_tokens=100)))
    return {
        "name": name,
        "params": run.model.n_params,
        "tokens_per_step": tokens,
        "tokens_per_s": speed,
        "step_ms_median": 1000 * statistics.median(seconds),
        "step_ms_p95": 1000 * sorted(seconds)[int(0.95 * (len(seconds) - 1))],
        "first_step_s": first,
        "cpu_s_per_step": cpu,
        "tflops": speed * run.model.flops_per_token / 1e12,
        "mfu": None if peak is None else speed * run.model.flops_per_token / peak,
        "loader_wait": waited,
        "peak_bytes": memory,
        "decode_tokens_per_s": made / (time.perf_counter() - start),
        "dtype": str(run.model.compute_dtype).removeprefix("torch."),
    }


def show(row):
    mfu = "-" if row["mfu"] is None else f"{row['mfu']:.1%}"
    print(
        f"{row['name']:<10} {row['params'] / 1e6:>7.1f}M {row['tokens_per_s']:>11,.0f} tok/s  "
        f"{row['tflops']:>7.2f} TFLOP/s  MFU {mfu:>6}  step {row['step_ms_median']:>8.1f} ms  "
        f"p95 {row['step_ms_p95']:>8.1f}  wait {row['loader_wait']:>6.2%}  "
        f"peak {row['peak_bytes'] / 2**30:>6.2f} GiB  decode {row['decode_tokens_per_s']:>6.0f} tok/s"
    )


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--presets", nargs="*", choices=list(PRESETS))
    p.add_argument("--steps", type=int, default=10)
    p.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE")
    p.add_argument("--json")
    args = p.parse_args()
    cuda = torch.cuda.is_available()
    names = args.presets or (GPU_SIZES if cuda else list(CPU_SIZES))
    device = torch.cuda.get_device_name() if cuda else f"{torch.get_num_threads()} CPU threads"
    print(f"torch {torch.__version__}, {device}")
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        result = {"torch": torch.__version__, "device": device, "sizes": []}
        shards = make_shards(folder / "shards", 10_000_000, 50_257 if cuda else 4096)
        for name in names:
            config = (CPU_SIZES.get(name) or preset(name)).override(*args.set)
            result["sizes"].append(bench_size(name, config, shards, folder, args.steps))
            show(result["sizes"][-1])
            if cuda:
                torch.cuda.empty_cache()
    if args.json:
        Path(args.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
