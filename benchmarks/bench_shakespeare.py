"""Train on tinyshakespeare, character by character, beside a plain PyTorch loop: validation loss and time per step.

    python benchmarks/bench_shakespeare.py                   # three runs of 2,000 steps, some minutes on two cores
    python benchmarks/bench_shakespeare.py --steps 200       # a look

The settings are those of nanoGPT for a CPU: 4 layers, 4 heads, 128 wide, context 64, 12 rows per step. `plain` is a
loop with that model as a tutorial writes it, `nanogpt` the preset of that name, and `default` the same size in
dataprep's own shape (RoPE, RMSNorm, SwiGLU). The three are trained in turns, 50 steps each, so that all meet the same
machine; ms are the median turn's, cpu those of all threads. The loss is that of all characters of the last tenth, in
rows of 64. Data: $DATAPREP_SHARED/data/text/tinyshakespeare, where $DATAPREP_SHARED is ../shared if not set.
"""

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as dataprep.train does, before torch is loaded

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from dataprep.tokens.shards.writer import save
from dataprep.train import preset
from dataprep.train.begin import begin
from dataprep.train.data.layouts import layout_of
from dataprep.train.evaluate import evaluate
from dataprep.train.optim import step_once
from dataprep.train.schedule import lr_at

TURN = 50  # steps
NANOGPT = preset("nanogpt")
DEFAULT = NANOGPT.override(
    "model.positions=rope", "model.norm=rms", "model.feed_forward=swiglu", "lr=4e-3", "betas=(0.9, 0.95)",
    "schedule=wsd", "decay=0.4",
)  # fmt: skip


class PlainBlock(nn.Module):
    """A block of GPT-2, as nanoGPT has it."""

    def __init__(self, width, heads, layers):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
        self.attn = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width, bias=False), nn.GELU(), nn.Linear(4 * width, width, bias=False)
        )  # fmt: skip
        for layer in (self.attn, self.mlp[0]):
            nn.init.normal_(layer.weight, std=0.02)
        for layer in (self.proj, self.mlp[2]):
            nn.init.normal_(layer.weight, std=0.02 / math.sqrt(2 * layers))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            part.view(b, t, self.heads, c // self.heads).transpose(1, 2) for part in self.attn(self.ln_1(x)).split(c, 2)
        )  # fmt: skip
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.mlp(self.ln_2(x))


class PlainGPT(nn.Module):
    """The model of nanoGPT with tied embeddings."""

    def __init__(self, vocab, config):
        super().__init__()
        width = config.d_model
        self.tokens, self.positions = nn.Embedding(vocab, width), nn.Embedding(config.context, width)
        self.blocks = nn.ModuleList(PlainBlock(width, config.n_heads, config.n_layers) for _ in range(config.n_layers))
        self.norm, self.head = nn.LayerNorm(width, bias=False), nn.Linear(width, vocab, bias=False)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.02)
        self.head.weight = self.tokens.weight

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


class Plain:
    """The loop of nanoGPT: random rows of the text, AdamW, cosine schedule, clipping."""

    def __init__(self, train, val, vocab, config):
        torch.manual_seed(config.seed)
        self.config, self.data, self.val_ids, self.step = config, train, val, 0
        self.model = PlainGPT(vocab, config.model)
        decayed = [p for p in self.model.parameters() if p.dim() > 1]
        others = [p for p in self.model.parameters() if p.dim() < 2]
        groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=config.lr, betas=config.betas)

    def steps(self, n):
        """Train n steps."""
        t = self.config.model.context
        for _ in range(n):
            for group in self.optimizer.param_groups:
                group["lr"] = lr_at(self.step, self.config)
            at = torch.randint(len(self.data) - t, (self.config.batch,)).tolist()
            x = torch.stack([torch.from_numpy(self.data[i : i + t].astype(np.int64)) for i in at])
            y = torch.stack([torch.from_numpy(self.data[i + 1 : i + 1 + t].astype(np.int64)) for i in at])
            loss = self.model(x, y)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.step += 1

    @torch.no_grad()
    def val(self):
        """The loss of the validation text."""
        t = self.config.model.context
        n = (len(self.val_ids) - 1) // t
        ids = torch.from_numpy(self.val_ids[: n * t + 1].astype(np.int64))
        x, y = ids[:-1].view(n, t), ids[1:].view(n, t)
        return float(sum(self.model(x[i : i + 64], y[i : i + 64]) * len(x[i : i + 64]) for i in range(0, n, 64)) / n)


class Ours:
    """dataprep's step over dataprep's rows."""

    def __init__(self, shards, out, config):
        self.run = begin(shards, out, config, resume=False)
        self.rows = self.run.loader.steps(0, config.steps)

    def steps(self, n):
        """Train n steps."""
        for _ in range(n):
            run = self.run
            step_once(run.model, run.optimizer, next(self.rows), lr_at(run.step, run.config), run.config)
            run.step += 1

    def val(self):
        """The loss of the validation text."""
        layout = layout_of(self.run.shards.split("val"), "contiguous", self.run.config.model.context)
        return evaluate(self.run.model, layout, limit=10**9, batch=64, token_bytes=None).loss


def text():
    """The file; ends the program where it is not there."""
    root = Path(os.environ.get("DATAPREP_SHARED", Path(__file__).parents[2] / "shared"))
    path = root / "data" / "text" / "tinyshakespeare" / "input.txt"
    if not path.exists():
        print(f"{path} does not exist, so there is nothing to measure")
        sys.exit(0)
    return path.read_text(encoding="utf-8")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--steps", type=int, default=NANOGPT.steps)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--only", nargs="*", choices=["plain", "nanogpt", "default"])
    p.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="of `default`")
    p.add_argument("--json")
    args = p.parse_args()
    torch.set_num_threads(args.threads)
    data = text()
    letters = sorted(set(data))
    ids = np.searchsorted(letters, list(data)).astype(np.uint16)
    train, val = ids[: int(0.9 * len(ids))], ids[int(0.9 * len(ids)) :]
    print(f"torch {torch.__version__}, {args.threads} CPU threads; {len(ids):,} characters, {len(letters)} different")
    with tempfile.TemporaryDirectory() as tmp:
        vocab = {"vocab_size": len(letters) + 1, "eot": len(letters)}
        shards = save(Path(tmp) / "shards", {"train": [train], "val": [val]}, **vocab)
        ours = {"nanogpt": NANOGPT, "default": DEFAULT.override(*args.set)}
        runs = {"plain": lambda: Plain(train, val, len(letters) + 1, NANOGPT.override(f"steps={args.steps}"))}
        for name, config in ours.items():
            made = config.override(f"steps={args.steps}", f"warmup={min(100, args.steps // 10)}")
            runs[name] = lambda made=made, name=name: Ours(shards, Path(tmp) / name, made)
        made = {name: run() for name, run in runs.items() if not args.only or name in args.only}
        seconds, cpu = {name: [] for name in made}, {name: [] for name in made}
        for turn in range(0, args.steps, TURN):
            for name in sorted(made, reverse=bool(turn // TURN % 2)):
                start, used = time.perf_counter(), time.process_time()
                n = min(TURN, args.steps - turn)
                made[name].steps(n)
                seconds[name].append((time.perf_counter() - start) / n)
                cpu[name].append((time.process_time() - used) / n)
        result = {
            name: {
                "val_loss": made[name].val(), "ms_per_step": 1000 * statistics.median(times[1:] or times),
                "cpu_ms_per_step": 1000 * statistics.median(cpu[name][1:] or cpu[name]),
            }
            for name, times in seconds.items()
        }  # fmt: skip
    for name, row in result.items():
        loss, ms, cpu_ms = row["val_loss"], row["ms_per_step"], row["cpu_ms_per_step"]
        print(f"{name:<8} validation loss {loss:.3f}   {ms:6.1f} ms per step   {cpu_ms:6.1f} ms of CPU")
    if args.json:
        Path(args.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
