"""Small shards and a small config for the trainer's tests."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dataprep.tokens.shards.writer import save  # noqa: E402
from dataprep.train import ModelConfig, TrainConfig  # noqa: E402
from processes import Copies  # noqa: E402

VOCAB, EOT = 97, 96
TOKEN_BYTES = np.array([1 + i % 5 for i in range(EOT)] + [0])


def documents(n, seed=0):
    """Texts with something to learn: each id is mostly the one before plus a step that the document keeps."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        length, step = int(rng.integers(5, 60)), int(rng.integers(1, 4))
        noise = np.where(rng.random(length) < 0.1, rng.integers(0, EOT, length), 0)
        yield (rng.integers(0, EOT) + step * np.arange(length) + noise) % EOT


@pytest.fixture(scope="session")
def make_shards():
    """Writes token shards of `n` training documents (about 30 tokens each), and a validation split."""

    def make(out, n=150, seed=0, **more):
        splits = {"train": list(documents(n, seed)), "val": list(documents(20, seed=1))}
        if (every := more.pop("masked", 0)) > 0:  # 1: of each document every second token is learned, the separator too
            more["masks"] = {  # 3: all tokens of every third document, and of the others the separator
                side: [
                    (np.arange(len(d) + 1) % 2 == 0 if every == 1 else np.full(len(d) + 1, n % every == 0))
                    | (np.arange(len(d) + 1) == len(d))
                    for n, d in enumerate(docs)
                ]
                for side, docs in splits.items()
            }
        return save(out, splits, vocab_size=VOCAB, eot=EOT, token_bytes=TOKEN_BYTES, shard_tokens=1300, **more)

    return make


@pytest.fixture(scope="session")
def shards(make_shards, tmp_path_factory):
    """Token shards of about 5,000 training tokens."""
    return make_shards(tmp_path_factory.mktemp("shards"))


@pytest.fixture(scope="session")
def in_memory():
    """What a layout needs of Shards, without files on disk: documents of these lengths, so many of them in each file.

    The token at place p of the stream is p; a separator is `eot` only if `separators`.
    """

    def make(lengths, per_file=None, *, dtype=np.uint16, eot=65535, separators=False, masks=None, name="train"):
        lengths = np.asarray(lengths, np.int64)
        per_file = [len(lengths)] if per_file is None else per_file
        cuts = np.cumsum(per_file)[:-1]
        tokens = np.arange(lengths.sum())
        if separators:
            tokens[np.cumsum(lengths) - 1] = eot
        ends = [np.cumsum(part).astype(np.uint64) for part in np.split(lengths, cuts)]
        sizes = [int(e[-1]) if len(e) else 0 for e in ends]
        files = np.split(tokens.astype(dtype), np.cumsum(sizes)[:-1])
        learned = [None] * len(files) if masks is None else np.split(np.asarray(masks, np.uint8), np.cumsum(sizes)[:-1])
        return SimpleNamespace(
            memmaps=lambda: files,
            masks=lambda: learned,
            ends=lambda i: ends[i],
            shards=[SimpleNamespace(tokens=n) for n in sizes],
            split_name=name,
            path=Path("memory"),
            dtype=np.dtype(dtype),
            eot=eot,
            vocab_size=1 << 16,
            n_tokens=int(lengths.sum()),
        )

    return make


@pytest.fixture(scope="session")
def copies():
    """A process that starts others, which train and are killed."""
    made = Copies()
    yield made
    made.close()


@pytest.fixture(scope="session")
def config():
    """Twenty steps of a model that trains in a second."""
    model = ModelConfig(n_layers=2, n_heads=4, n_kv_heads=2, d_model=32, context=24)
    return TrainConfig(
        model=model, steps=20, batch=8, micro_batch=4, lr=1e-2, warmup=4, device="cpu", save_every=8, eval_every=10
    )
