"""Half-written state heals itself: what is empty or cut is made again, and what is whole is used."""

import os
import shutil
from collections import Counter

import numpy as np
import pytest

from dataprep.core.model import batch as B
from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.function import Map
from dataprep.core.model.part import Sealed, ShardWriter
from dataprep.core.model.reader import Slice
from dataprep.core.output.layout import Folder
from dataprep.core.pipeline import Pipeline
from dataprep.core.run.seal import Seal
from dataprep.dedup.exact import Exact
from dataprep.errors import CorruptShard, PlanError, StaleOutput
from dataprep.forget.forget import forget
from dataprep.history.repair import repair
from dataprep.history.verify import verify
from dataprep.store import receipts
from dataprep.store.atomic import JOURNAL
from fixtures.small_pipeline import STAGES, TEXTS
from laws import dataset_of, same_bytes

CUTS = {"empty": lambda data: b"", "cut": lambda data: data[: len(data) // 2], "zeros": lambda data: bytes(len(data))}
STATE = ("manifest.json", "recipe.json", "origin.json", "receipts/*", "steps/*/receipt.json", "steps/*/input/*.json",
         "steps/*/input/receipts/*", "drops/*", "steps/*/verdicts.parquet")  # fmt: skip


@pytest.fixture(autouse=True)
def packed(monkeypatch):
    """The receipts of three parts are packed; `tests/history/test_repair.py` damages those with files of their own."""
    monkeypatch.setattr(receipts, "MOST_FILES", 2)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run of an Estimator and stages, and its input."""
    place = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(receipts, "MOST_FILES", 2)
        Pipeline(*STAGES).run(dataset_of(place, TEXTS, parts=3), str(place / "out"))
    assert [path.name for path in (place / "out" / "receipts").iterdir()] == ["packed.ndjson"]
    return place


def test_packed_receipts_that_are_missing_are_a_problem(tmp_path, made):
    """One, not one per part; only they state what is in the tables of dropped documents."""
    shutil.copytree(made / "out", tmp_path / "out")
    os.unlink(tmp_path / "out" / "receipts" / "packed.ndjson")
    found = [problem for some in verify(str(tmp_path / "out")).values() for problem in some]
    assert [(one.file, one.found) for one in found] == [("receipts/packed.ndjson", "is missing")]


@pytest.mark.parametrize("where", ["", "steps/*/input/"])
def test_packed_receipts_of_an_earlier_result_or_of_fewer_parts_are_a_problem(tmp_path, made, where):
    """Those from before documents were forgotten, and those that lack a line; the next removal rejects damaged ones."""
    shutil.copytree(made / "out", tmp_path / "out")
    place = next(tmp_path.glob(f"out/{where}receipts/packed.ndjson"))
    data = place.read_bytes()
    texts = open_dataset(str(place.parents[1]))
    forget(str(tmp_path / "out"), [next(iter(texts))["id"]])
    now = place.read_bytes()
    assert damage(tmp_path / "out") == []
    place.write_bytes(data)
    earlier = "is not of this result: it states other documents than the manifest"
    assert [(one.found, one.file) for one in damage(tmp_path / "out")] == [(earlier, "receipts/packed.ndjson")]
    shard = next(place.parents[1].glob("data/part-00002*"))
    whole = shard.read_bytes()
    shard.write_bytes(b"x")
    shutil.copytree(tmp_path / "out", tmp_path / "damaged")
    with pytest.raises(PlanError, match="receipts was made before `dataprep forget` .*; nothing was removed; restore"):
        repair(str(tmp_path / "out"), None, lambda: pytest.fail("other documents"))
    same_bytes(tmp_path / "damaged", tmp_path / "out")
    shard.write_bytes(whole)
    _, first, *others = now.split(b"\n")
    id_ = next(iter(open_dataset(str(tmp_path / "out"))))["id"]
    wrong = {b"\n".join([b"2", *others]): "has no receipt of 1 part", None: "is missing", data: earlier,
             b"\n".join([b"4", first, first, *others]): "lines of it have changed since they were written",
             b"\n".join([b"3", first[:-9], *others]): "lines of it have changed since they were written"}  # fmt: skip
    for one, said in wrong.items():
        place.unlink(missing_ok=True) if one is None else place.write_bytes(one)
        assert [problem.found for problem in damage(tmp_path / "out")] == [said]
        before = content(tmp_path / "out")
        with pytest.raises(CorruptShard, match=r"receipts.*; `dataprep verify DIR --repair PIPELINE` restores it"):
            forget(str(tmp_path / "out"), [id_])
        assert content(tmp_path / "out") == before


def test_receipts_that_quote_a_forgotten_document_are_a_problem(tmp_path, made):
    """They are a copy from before it was forgotten; repairing removes the quotation and nothing else."""
    out = tmp_path / "out"
    shutil.copytree(made / "out", out)
    place, kept = out / "receipts" / "packed.ndjson", {row["id"] for row in open_dataset(str(out))}
    stats = [stage for record in Folder(str(out)).receipts().values() for stage in record["stats"]]
    quoted = {int(e["id"]) for stage in stats for some in stage["examples"].values() for e in some} - kept
    before = place.read_bytes()
    forget(str(out), [min(quoted)])
    without = content(out)
    assert damage(out) == []
    place.write_bytes(before)
    said = "quotes a document that was forgotten, so it is a copy from before that"
    assert [(one.found, one.file) for one in damage(out)] == [(said, "receipts/packed.ndjson")]
    repair(str(out), None, lambda: None)
    assert damage(out) == []
    assert content(out).keys() == without.keys()
    assert [p for p, data in content(out).items() if data != without[p] and p != place] == []


def content(out):
    """Return {path: bytes} of a folder, without the record of a failure."""
    found = (path for path in out.rglob("*") if path.is_file() and path.name not in (".dataprep-failure", JOURNAL))
    return {path: path.read_bytes() for path in found}


def damage(out):
    """All problems of a result and of its steps."""
    return [problem for some in verify(str(out)).values() for problem in some]


@pytest.mark.parametrize("journal", [True, False])
@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("damage", CUTS)
@pytest.mark.parametrize("state", STATE)
def test_every_half_written_file_is_made_again(tmp_path, made, monkeypatch, state, damage, finished, journal):
    """Receipts, recipes, manifests and tables that are empty, cut or zeros: the run ends in the same bytes."""
    out = tmp_path / "out"
    shutil.copytree(made / "out", out)
    found = sorted(out.glob(state))
    assert found
    for path in found:
        path.write_bytes(CUTS[damage](path.read_bytes()))
    if not finished and state != "manifest.json":
        os.unlink(out / "manifest.json")
    if not journal:
        os.unlink(out / JOURNAL)
    written = []
    write = Seal._write
    monkeypatch.setattr(Seal, "_write", lambda self, part: written.append(part) or write(self, part))
    Pipeline(*STAGES).run(dataset_of(made, TEXTS, parts=3), str(out))
    if finished and state != "manifest.json":
        return  # a complete folder is opened as it is; `dataprep verify` reads all of it
    same_bytes(made / "out", out)
    if state in ("manifest.json", "recipe.json", "origin.json"):
        assert not written, "the parts are whole"


def test_a_changed_byte_of_any_large_file_is_made_again(tmp_path):
    """In shards and saved steps of over 1 MiB, when an interrupted run resumes."""
    letters = np.random.default_rng(1).integers(97, 123, 2_200_000, np.uint8).tobytes().decode()
    texts = [letters[i : i + 1_000] + "  " for i in range(0, len(letters), 1_000)]
    docs, out = dataset_of(tmp_path, texts, parts=1), tmp_path / "out"
    stages = Map(lambda text: {"text": text.strip()}), Exact()
    Pipeline(*stages).run(docs, str(out))
    shutil.copytree(out, tmp_path / "copy")
    os.unlink(out / "manifest.json")  # as if it had been killed at its end
    large = [path for path in out.rglob("*") if path.is_file() and path.stat().st_size > 1 << 20]
    assert {path.relative_to(out).parts[0] for path in large} == {"data", "steps"}
    for path in large:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    Pipeline(*stages).run(docs, str(out))
    same_bytes(tmp_path / "copy", out)


def test_a_lost_recipe_does_not_let_another_recipe_in(tmp_path):
    """The manifest states the recipe too; without both, what another recipe left is not in the result."""
    docs, out = dataset_of(tmp_path, TEXTS, parts=3), tmp_path / "out"
    Pipeline(*STAGES).run(docs, str(out))
    (out / "recipe.json").write_bytes(b"")
    with pytest.raises(StaleOutput, match="a different recipe"):
        Pipeline().run(docs, str(out))
    (out / "manifest.json").write_bytes(b"{")
    few = dataset_of(tmp_path, TEXTS[:3], parts=1)
    done = Pipeline().run(few, str(out))
    assert done.count == few.count
    Pipeline().run(few, str(tmp_path / "fresh"))
    shutil.rmtree(out / "steps")
    shutil.rmtree(out / "_replaced")
    same_bytes(out, tmp_path / "fresh")


def test_a_missing_shard_is_made_again(tmp_path):
    """A finished folder with a shard that is gone or cut is mended by running again."""
    docs, out = dataset_of(tmp_path, TEXTS, parts=3), tmp_path / "out"
    Pipeline(*STAGES).run(docs, str(out))
    shutil.copytree(out, tmp_path / "copy")
    one, two, _ = sorted((out / "data").iterdir())
    one.unlink()
    two.write_bytes(two.read_bytes()[:-9])
    Pipeline(*STAGES).run(docs, str(out))
    same_bytes(out, tmp_path / "copy")


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_changed_byte_of_a_shard_is_never_read_as_text(tmp_path, codec):
    """Compression does not notice a changed letter; the checksum of each page does, in results and in saved steps."""
    letters = np.random.default_rng(1).integers(97, 123, 30_000, np.uint8).tobytes().decode()
    rows = B.make([1, 2, 3], [letters[i : i + 10_000] for i in (0, 10_000, 20_000)], "web")
    shard = tmp_path / "a.parquet"
    with shard.open("wb") as f:
        writer = ShardWriter(f, rows.schema, codec)
        writer.write(rows)
        writer.close()
    whole = shard.read_bytes()
    found = Counter()
    for at in range(200, len(whole) - 2_000, len(whole) // 25):
        shard.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            texts = [text for batch in Sealed().read(Slice(str(shard), 0), None) for text in batch["text"].to_pylist()]
        except CorruptShard:
            found["noticed"] += 1
        else:
            assert "".join(texts) == letters
    assert found["noticed"] > 15
