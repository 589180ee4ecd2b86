"""Small shards and a small config for the trainer's tests."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dataprep.tokens.shard import save  # noqa: E402
from dataprep.train import ModelConfig, TrainConfig  # noqa: E402

VOCAB, EOT = 97, 96
TOKEN_BYTES = np.array([1 + i % 5 for i in range(EOT)] + [0])


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Small models are faster on one thread, and tests run beside others."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


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
        return save(out, splits, vocab_size=VOCAB, eot=EOT, token_bytes=TOKEN_BYTES, shard_tokens=1300, **more)

    return make


@pytest.fixture(scope="session")
def shards(make_shards, tmp_path_factory):
    """Token shards of about 5,000 training tokens."""
    return make_shards(tmp_path_factory.mktemp("shards"))


@pytest.fixture(scope="session")
def config():
    """Twenty steps of a model that trains in a second."""
    model = ModelConfig(n_layers=2, n_heads=4, n_kv_heads=2, d_model=32, context=24)
    return TrainConfig(
        model=model, steps=20, batch=8, micro_batch=4, lr=1e-2, warmup=4, device="cpu", save_every=8, eval_every=10
    )
