"""Tokens a second out of shards in the page cache, in random order, and documents a second of packing plans.

    python benchmarks/bench_loader.py                 # about a minute; --tokens 20000000 for a quick look
    python benchmarks/bench_loader.py --peers         # nanoGPT's way, a plain torch DataLoader and datasets beside it

One shard of random ids with documents of web-like lengths (lognormal, median 400 tokens). Each row of the table reads
`--tokens` tokens as steps of B rows of T, prefetch thread included; user is CPU of all threads, wall is what a
trainer that does nothing would wait. Peers get the same tokens; they do without seeded order, resume and masks.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from dataprep.tokens.shards.writer import Writer, write_manifest
from dataprep.train import ModelConfig, TrainConfig
from dataprep.train.data.packing import bestfit
from dataprep.train.data.sets import open_sets, training_rows

EOT = 50_256


def make_shards(folder: Path, n_tokens: int, *, masked: bool = False):
    """One shard of random ids."""
    rng = np.random.default_rng(0)
    lengths = lognormal(rng, n_tokens // 600)
    ends = np.cumsum(lengths)
    ends = ends[ends <= n_tokens]
    tokens = rng.integers(0, EOT, int(ends[-1]), dtype=np.uint16)
    tokens[ends - 1] = EOT
    mask = rng.random(len(tokens), np.float32) < 0.5 if masked else None
    with Writer(folder, "train", 0) as shard:
        shard.add(tokens, ends, np.arange(len(ends)), ["web"] * len(ends), 0, mask)
    write_manifest(folder, [shard.entry], vocab_size=EOT + 1, eot=EOT)
    return folder


def lognormal(rng, n: int):
    return np.maximum(1, rng.lognormal(6, 1.1, n)).astype(np.int64) + 1


def user() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def timed(name: str, t: int, b: int, batches, note: str = "") -> None:
    """Read all batches and print tokens a second."""
    seen = 0
    began, cpu = time.perf_counter(), user()
    for x in batches:
        seen += x.shape[0] * t
    wall, cpu = time.perf_counter() - began, user() - cpu
    print(f"{name:<34} {t:>6,} {b:>5} {seen / cpu / 1e6:>11,.0f} {seen / wall / 1e6:>11,.0f}  {note}", flush=True)


def ours(folder: Path, n_tokens: int, t: int, b: int, **settings):
    """The trainer's own rows, before they go to the device."""
    config = TrainConfig(model=ModelConfig(context=t), batch=b, **settings)
    loader = training_rows(open_sets(folder), config)
    return (rows.tokens for rows in loader.steps(0, max(1, n_tokens // (b * t))))


def nanogpt(path: Path, n_tokens: int, t: int, b: int):
    """Random starts; a slice of a memory map widened and stacked row by row, as small trainers do."""
    for _ in range(max(1, n_tokens // (b * t))):
        data = np.memmap(path, np.uint16, "r")  # opened anew each time, against a leak in numpy
        starts = torch.randint(len(data) - t, (b,)).tolist()
        x = torch.stack([torch.from_numpy(data[i : i + t].astype(np.int64)) for i in starts])
        y = torch.stack([torch.from_numpy(data[i + 1 : i + 1 + t].astype(np.int64)) for i in starts])
        yield x if len(y) else y


class Plain(torch.utils.data.Dataset):
    """A row an item, for a DataLoader that shuffles and collates."""

    def __init__(self, path: Path, t: int) -> None:
        self.data, self.t = np.memmap(path, np.uint16, "r"), t

    def __len__(self) -> int:
        return (len(self.data) - 1) // self.t

    def __getitem__(self, k: int):
        row = torch.from_numpy(self.data[k * self.t : (k + 1) * self.t + 1].astype(np.int64))
        return row[:-1], row[1:]


def dataloader(path: Path, n_tokens: int, t: int, b: int):
    loader = torch.utils.data.DataLoader(Plain(path, t), batch_size=b, shuffle=True, drop_last=True)
    for (x, _), _ in zip(loader, range(max(1, n_tokens // (b * t))), strict=False):
        yield x


def arrow_file(folder: Path, t: int) -> str:
    """Rows of `t` tokens as datasets keeps them."""
    import datasets

    datasets.disable_progress_bars()
    data = np.memmap(folder / "train-00000.bin", np.uint16, "r")
    rows = data[: len(data) // t * t].reshape(-1, t)
    datasets.Dataset.from_dict({"input_ids": list(rows)}).save_to_disk(str(folder / f"arrow-{t}"))
    return str(folder / f"arrow-{t}")


def hugging_face(path: str, n_tokens: int, t: int, b: int):
    """Rows of a memory-mapped Arrow file, shuffled, as torch tensors."""
    import datasets

    table = datasets.load_from_disk(path).with_format("torch").shuffle(seed=0)
    for i in range(max(1, n_tokens // (b * t))):
        yield table[i * b : (i + 1) * b]["input_ids"]


def plans(n_documents: int) -> None:
    """Best-fit plans from document ends alone."""
    print(f"\n{'plan: bestfit':<34} {'T':>6} {'M documents':>12} {'M docs/s':>9} {'places without a target':>24}")
    rng = np.random.default_rng(1)
    for name, lengths in {
        "lognormal, median 400": lognormal(rng, n_documents),
        "uniform, 1 to 4,000": rng.integers(1, 4000, n_documents),
        "chats, 10 to 200": rng.integers(10, 200, n_documents),
    }.items():
        ends = np.cumsum(lengths).astype(np.uint64)
        for t in (1024, 2048, 8192):
            cpu = user()
            plan = bestfit([ends], t)
            cpu = user() - cpu
            empty = 1 - plan.filled(t)
            print(f"{name:<34} {t:>6,} {n_documents / 1e6:>12.1f} {n_documents / cpu / 1e6:>9.1f} {empty:>24.4%}")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tokens", type=int, default=100_000_000)
    p.add_argument("--peers", action="store_true")
    args = p.parse_args()
    torch.set_num_threads(1)
    n = args.tokens
    with tempfile.TemporaryDirectory() as tmp:
        folder, masked = make_shards(Path(tmp) / "plain", n), make_shards(Path(tmp) / "masked", n, masked=True)
        path = folder / "train-00000.bin"
        np.fromfile(path, np.uint8).sum()  # warms the page cache
        print(f"{'loader':<34} {'T':>6} {'B':>5} {'Mtok/user s':>11} {'Mtok/wall s':>11}")
        for t in (256, 1024, 2048):
            for b in (32, 512):
                timed("contiguous", t, b, ours(folder, n, t, b))
            timed("bestfit, documents told apart", t, 512, ours(folder, n, t, 512, layout="bestfit"))
            timed("bestfit, with loss masks", t, 512, ours(masked, n, t, 512, layout="bestfit"))
        few = n // 5
        timed("prefix LM", 1024, 512, ours(folder, few, 1024, 512, objective="prefix"))
        if args.peers:
            for t in (256, 1024):
                timed("nanoGPT's way", t, 32, nanogpt(path, few, t, 32), "drawn with replacement")
                timed("torch DataLoader over a memmap", t, 32, dataloader(path, few, t, 32))
                made = arrow_file(folder, t)
                timed("datasets, torch format", t, 32, hugging_face(made, few // 4, t, 32), "its file made before")
    plans(1_000_000)


if __name__ == "__main__":
    main()
