"""A run that was written when format 1 was decided is opened by this version: `tests/fixtures/format_1`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import dataprep as dp
from dataprep.core.output.layout import Folder
from dataprep.history.clusters import find_clusters
from dataprep.history.comparison import compare
from dataprep.history.status import status
from dataprep.store import newer

FROZEN = Path(__file__).parents[1] / "fixtures" / "format_1"
EXACT, MINHASH = {7654: 0, 8080: 425, 8513: 857}, {8937: 1280, 9391: 5138}  # the duplicates, and what each repeats


@pytest.fixture
def old(tmp_path) -> Path:
    """A copy of the frozen run."""
    return Path(shutil.copytree(FROZEN, tmp_path / "run"))


def test_the_format_is_the_first() -> None:
    """A change of `FORMAT` needs a frozen run of its own."""
    assert newer.FORMAT == 1


def test_documents_are_read(old) -> None:
    """The Dataset opens, has its documents, and its texts are those that the content hash was taken of."""
    clean = dp.open_dataset(str(old / "clean"))
    assert clean.count == 22
    assert clean.sealed.content == "d8d1e6e6412b97da39b8f4da6a194d3b"
    copy = dp.Pipeline().run(clean, str(old / "copy"))
    assert [shard.content for shard in copy.sealed.shards] == [shard.content for shard in clean.sealed.shards]
    assert [stage.name for stage in clean.stats] == ["read", "long_enough", "Exact", "MinHash", "SuffixArray"]


def test_tables_are_read(old) -> None:
    """Dropped documents and cut spans have the columns and values that were written."""
    clean = dp.open_dataset(str(old / "clean"))
    drops = {row["id"]: row for row in clean.drops().to_pylist()}
    assert {i: row["duplicate_of"] for i, row in drops.items() if row["duplicate_of"] is not None} == EXACT | MINHASH
    assert {row["reason"] for row in drops.values()} == {"too_short", "not_json", "duplicate", "near_duplicate"}
    assert {row["source"] for row in drops.values()} == {"web"}
    assert sum(row["bytes"] for row in drops.values()) == 2019
    assert drops[8937]["similarity"] == pytest.approx(0.91803, abs=1e-5)
    (cut,) = clean.cuts().to_pylist()
    assert (cut["id"], cut["start"], cut["end"], cut["duplicate_of"], cut["duplicate_of_end"]) == (
        10403, 142, 614, 9770, 472
    )  # fmt: skip


def test_history_is_read(old) -> None:
    """Clusters, a comparison, the status and the report are made from it."""
    assert find_clusters(str(old)).removed == len(EXACT) + len(MINHASH)
    copy = dp.Pipeline(dp.Filter(lambda text: "lantern" not in text)).run(
        dp.open_dataset(str(old / "clean")), str(old / "copy")
    )
    found = compare(str(old / "clean"), str(old / "copy"))
    assert sum(amount.docs for amount in found.lost.sources.values()) == 22 - copy.count > 0
    assert status(str(old / "clean"))


def test_tokens_and_index_are_read(old) -> None:
    """Token shards, their tokenizer and the search index open, and agree with the documents."""
    shards = dp.Shards.open(str(old / "shards"))
    assert (shards.manifest.tokens, shards.manifest.documents) == (1318, 22)
    tokenizer = dp.Tokenizer.load(str(old / "tokenizer"))
    texts = {row["id"]: row["text"] for row in dp.open_dataset(str(old / "clean"))}
    assert tokenizer.decode(tokenizer.encode(texts[0])) == texts[0]
    word = texts[0].split()[0]
    index = dp.tools.SuffixIndex.open(str(old / "index"))
    assert index.count(word) == sum(text.count(word) for text in texts.values())


def test_every_file_is_whole(old) -> None:
    """`verify` finds all sizes, hashes and checksums as they were written."""
    assert not any(dp.tools.verify(str(old)).values())


def test_records_are_kept_whole() -> None:
    """What this version reads of the manifest and the recipe, it would write again with the same fields."""
    for name in ("manifest.json", "recipe.json"):
        stored = json.loads((FROZEN / "clean" / name).read_text("utf-8"))
        stored.pop("checksum")
        folder = Folder(str(FROZEN / "clean"))
        record = folder.sealed if name == "manifest.json" else folder.recipe
        assert record is not None
        assert record.record().keys() >= stored.keys()
