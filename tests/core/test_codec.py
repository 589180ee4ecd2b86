"""`codec=`: the same documents in other files, which are checked, restored, replaced and rewritten as others are."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import dataprep as dp
import laws
from dataprep.errors import PlanError, StaleOutput
from dataprep.forget.forget import forget
from dataprep.history.verify import verify

TEXTS = [*(f"{word} text of some words, {word}" for word in ("first", "нови", "第三", "fourth")), "text", "text"]
IN_PARQUET = {"zstd": "ZSTD", "lz4": "LZ4", "none": "UNCOMPRESSED"}


def run(tmp_path, codec, name="out", **given):
    """A run of two parts, and its shards."""
    docs = laws.dataset_of(tmp_path, TEXTS, parts=2)
    pipeline = dp.Pipeline(dp.Exact(), codec=codec)
    done = pipeline.run(docs, str(tmp_path / name), **given)
    return done, sorted((tmp_path / name / "data").glob("*.parquet"))


def codecs(shards):
    """How the columns of the shards are compressed."""
    groups = [pq.ParquetFile(shard).metadata.row_group(0) for shard in shards]
    return {group.column(i).compression for group in groups for i in range(group.num_columns)}


def in_use(out):
    """The shards of the result in a folder, without those of earlier ones."""
    return [Path(out, shard.name) for shard in dp.open_dataset(out).manifest.shards]


@pytest.mark.parametrize("codec", IN_PARQUET)
def test_the_documents_are_the_same(tmp_path, codec) -> None:
    """And their hash; a lost shard comes back with the same bytes, and forgetting keeps the codec."""
    usual, _ = run(tmp_path, "zstd")
    done, shards = run(tmp_path, codec, codec)
    out = str(done.url)
    assert codecs(shards) == {IN_PARQUET[codec]}
    assert (done.manifest.content, done.table()) == (usual.manifest.content, usual.table())
    assert (done.manifest.codec, done.manifest.key) == (None if codec == "zstd" else codec, usual.manifest.key)
    before = {shard: shard.read_bytes() for shard in shards}
    shards[0].unlink()
    shards[1].write_bytes(b"damaged")
    assert {problem.file for found in verify(out).values() for problem in found} == {f"data/{s.name}" for s in shards}
    run(tmp_path, codec, codec)
    assert {shard: shard.read_bytes() for shard in shards} == before
    forget(out, [done.table()["id"][0].as_py()])
    assert codecs(in_use(out)) == {IN_PARQUET[codec]}
    assert not any(verify(out).values())
    assert dp.open_dataset(out).table()["text"].to_pylist() == usual.table()["text"].to_pylist()[1:]
    assert run(tmp_path, codec, codec)[0].count == usual.count - 1


def test_another_codec_is_another_result(tmp_path) -> None:
    """It is named; `replace` writes the documents again, and decides nothing again."""
    _, shards = run(tmp_path, "zstd")
    with pytest.raises(StaleOutput, match=r"its codec was 'zstd' and is now 'lz4'"):
        run(tmp_path, "lz4")
    assert codecs(shards) == {"ZSTD"}
    steps = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "steps").rglob("verdicts*")}
    done, _ = run(tmp_path, "lz4", replace=True)
    assert codecs(in_use(done.url)) == {"LZ4"}
    assert steps == {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "steps").rglob("verdicts*")} != {}
    assert done.table() == run(tmp_path, "zstd", "usual")[0].table()


def test_a_wrong_codec_is_named() -> None:
    """Before any work; the text of a Pipeline has it."""
    with pytest.raises(PlanError, match=r"codec='gzip' must be one of 'zstd', 'lz4', 'none'"):
        dp.Pipeline(codec="gzip")
    assert repr(dp.Pipeline(codec="lz4")) == "Pipeline(codec='lz4')"
    assert repr(dp.Pipeline(dp.Exact())) == f"Pipeline({dp.Exact()!r})"
