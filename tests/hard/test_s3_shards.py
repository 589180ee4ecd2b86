"""Token shards and a search index on an object store: the files of a folder, and few requests to read them.

Needs torch, s3fs, and the program `moto_server`, which is installed apart from dataprep, on the PATH.
"""

from __future__ import annotations

import numpy as np
import pytest

import dataprep as dp
import laws
from fixtures.s3 import SERVER, contents, served

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(SERVER is None, reason="there is no moto_server")
TEXTS = [f"{n} مطر {n % 7} 雨 x{n % 3}" for n in range(400)]


@pytest.fixture(scope="module")
def bucket():
    """The URL of an empty bucket, which all processes reach."""
    with served("shards") as url:
        yield url


def test_shards_on_s3(tmp_path, bucket, monkeypatch):
    """Two processes write to the bucket what one writes into a folder; training reads the same rows, a block once."""
    from dataprep.store import ranges
    from dataprep.train.data.layouts import layout_of

    docs, tok = laws.dataset_of(tmp_path, TEXTS, parts=3), dp.Tokenizer.of_bytes()
    wanted = {"val": 0.1, "shard_tokens": 2000}
    local = dp.encode(docs, tok, tmp_path / "s", **wanted)
    dp.encode(docs, tok, f"{bucket}/s", runner=dp.tools.Local(2), **wanted)
    assert contents(f"{bucket}/s") == contents(tmp_path / "s")
    asked: list[str] = []
    real = ranges.read
    monkeypatch.setattr(ranges, "read", lambda url, *given: asked.append(str(url)) or real(url, *given))
    monkeypatch.setenv("DATAPREP_CACHE", str(tmp_path / "cache"))
    train = dp.Shards.open(f"{bucket}/s").split("train")
    there, here = (layout_of(shards.split("train"), "contiguous", 24) for shards in (train, local))
    numbers = np.random.default_rng(1).permutation(len(here))
    for some in np.array_split(numbers, 5):
        assert there.rows(some).tokens.tolist() == here.rows(some).tokens.tolist()
    assert len(asked) == 1 + len(train.shards), "the manifest, and each shard once"
    index = dp.tools.SuffixIndex.build(docs, f"{bucket}/i")
    assert (index.count("مطر"), len(index.find("雨 x1", limit=None))) == (400, sum("雨 x1" in text for text in TEXTS))
