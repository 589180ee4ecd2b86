"""Repair: damaged parts are made again from the recipe, the others are kept; without the input nothing is removed."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

import dataprep as dp
from dataprep import pipeline_file
from dataprep.core.run.runner import Serial
from dataprep.errors import PlanError
from dataprep.history.repair import remove_damaged
from fixtures.small_pipeline import TEXTS
from laws import same_bytes

PIPELINE = """
import dataprep as dp
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

def _strip(text):
    return text.strip()

def clean(out, runner):
    return dp.Pipeline(dp.Map(_strip), dp.Exact()).run(dp.read({texts!r}), out, runner)

def shards(clean, out, runner):
    return dp.encode(clean, Tokenizer.of_bytes(), out, val=0.3, runner=runner)
"""
DAMAGED = ("clean/data/part-*.parquet", "clean/drops/part-*.parquet", "clean/steps/*/input/data/part-*.parquet",
           "shards/train-*.bin", "shards/val-*.idx", "shards/*.docs.parquet", "shards/tokenizer.json",
           "shards/token_bytes.npy", "shards/manifest.json", "clean/manifest.json", "clean/recipe.json",
           "clean/receipts/*.json", "clean/steps/*/verdicts.json", "clean/steps/*/rows/*[0-9]",
           "clean/steps/*/verdicts.parquet", "clean/steps/*/input/recipe.json")  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run of two steps on two files, in `out`."""
    home = tmp_path_factory.mktemp("made")
    texts = home / "texts"
    texts.mkdir()
    for n in range(2):
        lines = (f'{{"text": " {t.split(chr(10))[0]} {n} "}}\n' for t in TEXTS)
        (texts / f"{n}.jsonl").write_text("".join(lines).replace("\\", ""))
    (home / "pipe.py").write_text(PIPELINE.format(texts=str(texts)))
    list(pipeline_file.execute(pipeline_file.load(str(home / "pipe.py")), str(home / "out"), Serial()))
    for name in ("out", "texts"):
        shutil.copytree(home / name, home / "whole" / name)
    return home


@pytest.fixture
def run(made):
    """The run, as it was made, in `out`, and in `same` to compare with."""
    for name, whole in (("out", "out"), ("same", "out"), ("texts", "texts")):
        shutil.rmtree(made / name, ignore_errors=True)
        shutil.copytree(made / "whole" / whole, made / name)
    return made


@pytest.mark.parametrize(
    "pattern", ["clean/steps/*/rows/*[0-9]", "clean/steps/*/verdicts.parquet", "clean/receipts/*.json"]
)
def test_a_missing_file_is_made_again(run, pattern, dataprep):
    """As one that is damaged: what a receipt states is there, and each part has a receipt, or it is a problem."""
    path = min((run / "out").glob(pattern))
    data = path.read_bytes()
    path.unlink()
    found = dp.tools.verify(str(run / "out"))[str(run / "out" / "clean")]
    assert [(problem.file, problem.found) for problem in found] == [
        (str(path.relative_to(run / "out" / "clean")), "is missing")
    ]
    assert dataprep("verify", str(run / "out"), "--repair", str(run / "pipe.py"))
    assert path.read_bytes() == data
    assert not any(dp.tools.verify(str(run / "out")).values())


@pytest.mark.parametrize("pattern", DAMAGED)
def test_a_damaged_file_is_made_again(run, pattern, dataprep):
    """A byte is turned over, in a file of each kind; the repaired run has the bytes of one that was not damaged."""
    path = min((run / "out").glob(pattern))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x55
    path.write_bytes(data)
    assert any(dp.tools.verify(str(run / "out")).values())
    code, said, errors = dataprep("verify", str(run / "out"), "--repair", str(run / "pipe.py"))
    assert code == 0, said + errors
    assert not any(dp.tools.verify(str(run / "out")).values())
    same_bytes(run / "out", run / "same")


@pytest.mark.parametrize("step", ["clean", "shards"])
def test_a_damaged_origin_is_named_and_made_again(run, step):
    """No input is known then, so repair removes nothing; what verify advises makes the same bytes."""
    home = run / "out" / step
    text = (home / "origin.json").read_bytes()
    (home / "origin.json").write_bytes(text.replace(b'"file": 0', b'"file": 4', 1))
    assert (home / "origin.json").read_bytes() != text
    ((problem,),) = (found for found in dp.tools.verify(str(home)).values() if found)
    assert (problem.file, "remove it and manifest.json" in problem.do) == ("origin.json", True)
    with pytest.raises(PlanError, match="does not state its input; nothing was removed"):
        remove_damaged(str(home))
    (home / "origin.json").unlink()
    (home / "manifest.json").unlink()
    list(pipeline_file.execute(pipeline_file.load(str(run / "pipe.py")), str(run / "out"), Serial()))
    same_bytes(run / "out", run / "same")


def test_only_the_damaged_part_is_removed(run):
    """A missing table costs its part and the manifest, nothing else."""
    os.unlink(run / "out" / "clean" / "drops" / "part-00000.parquet")
    before = {p for p in (run / "out").rglob("*") if p.is_file()}
    found = remove_damaged(str(run / "out"))
    assert [p.file for problems in found.values() for p in problems] == ["drops/part-00000.parquet"]
    gone = {str(p.relative_to(run / "out")) for p in before if not p.exists()}
    assert {"clean/manifest.json", "clean/receipts/part-00000.json"} <= gone
    assert all("part-00000" in name or name == "clean/manifest.json" for name in gone)


def test_damage_after_documents_were_forgotten_is_mended(run, dataprep):
    """`forget` gives shards of the input other names than those that were read."""
    out = run / "out"
    ids = dp.open_dataset(str(out / "clean")).table()["id"].to_pylist()
    dp.tools.forget(str(out), ids[:1], of="clean")
    path = min((out / "shards").glob("*.bin"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    code, said, errors = dataprep("verify", str(out), "--repair", str(run / "pipe.py"))
    assert code == 0, said + errors
    assert ids[0] not in dp.open_dataset(str(out / "clean")).table()["id"].to_pylist()


def test_without_the_input_nothing_is_removed(run):
    """A part that cannot be made again stays as it is, and the missing file is named."""
    path = min((run / "out" / "clean" / "data").iterdir())
    path.write_bytes(path.read_bytes()[:-1])
    os.unlink(run / "texts" / "1.jsonl")
    before = {p: p.read_bytes() for p in (run / "out").rglob("*") if p.is_file()}
    with pytest.raises(PlanError, match=r"clean is damaged, and its input .*1\.jsonl is missing; nothing was rem"):
        remove_damaged(str(run / "out"))
    assert {p: p.read_bytes() for p in (run / "out").rglob("*") if p.is_file()} == before


def test_a_folder_in_place_of_a_file_changes_nothing(run):
    """It may be of the user, so it is not removed."""
    path = min((run / "out" / "clean" / "data").iterdir())
    path.unlink()
    path.mkdir()
    before = {p: p.read_bytes() for p in (run / "out").rglob("*") if p.is_file()}
    with pytest.raises(PlanError, match=r"parquet is a folder, but the result needs a file there; nothing was rem"):
        remove_damaged(str(run / "out"))
    assert {p: p.read_bytes() for p in (run / "out").rglob("*") if p.is_file()} == before


SEVERAL = """
import dataprep as dp
from dataclasses import dataclass
from dataprep import extend
from dataprep.core.output import owned
from dataprep.store import files, receipts
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

@dataclass(frozen=True)
class Hide(extend.Stage):
    hides = True

    def __call__(self, batches, stats):
        yield from batches

def several(out, runner):
    first = dp.Pipeline(Hide(), dp.Exact()).run(dp.read({texts!r}), f"{{out}}/first", runner)
    owned.begin(out)
    def write():
        files.write_bytes(f"{{out}}/list.txt", b"some lines")
        return {{"files": [f"{{out}}/list.txt"]}}
    receipts.once(f"{{out}}/list.json", "1", write)
    Tokenizer.of_bytes().save(f"{{out}}/tokenizer")
    return dp.Pipeline(dp.Exact()).run(first, f"{{out}}/second", runner)

def never(several, out):
    raise RuntimeError
"""
OF_SEVERAL = ("first/data/part-*.parquet", "first/steps/*/verdicts.parquet", "first/manifest.json", "second/data/*",
              "list.txt", "list.json", "tokenizer/tokenizer.json")  # fmt: skip


@pytest.fixture
def several(tmp_path, monkeypatch):
    """A step with several results, as that of a persona, the first of which hides its input; and a step never run."""
    (tmp_path / "texts").mkdir()
    for n in range(2):
        (tmp_path / "texts" / f"{n}.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n{"text": "one"}\n')
    (tmp_path / "pipe.py").write_text(SEVERAL.format(texts=str(tmp_path / "texts")))
    monkeypatch.setitem(sys.modules, "pipe", sys)  # so that every load has one name, which keys of its classes have
    steps = pipeline_file.load(str(tmp_path / "pipe.py"))
    list(pipeline_file.execute(steps, str(tmp_path / "more"), Serial(), "several"))
    return tmp_path


@pytest.mark.parametrize("pattern", OF_SEVERAL)
def test_a_step_of_several_results_is_mended_in_one_call(several, pattern, dataprep):
    """Also where the input is hidden, by the run's folder and by the step's; no other step is run."""
    path = min((several / "more" / "several").glob(pattern))
    before = {p: p.read_bytes() for p in (several / "more").rglob("*") if p.is_file() and p.name != ".dataprep-journal"}
    for folder in ("more", "more/several"):
        data = bytearray(before[path])
        data[len(data) // 2] ^= 0x55
        path.write_bytes(data)
        assert any(dp.tools.verify(str(several / folder)).values())
        code, said, errors = dataprep("verify", str(several / folder), "--repair", str(several / "pipe.py"))
        assert code == 0, said + errors
        assert {p: p.read_bytes() for p in before} == before


def test_hidden_input_that_is_missing_costs_nothing(several, dataprep):
    """The manifest is put back if the step fails, and the damaged file is as it was."""
    path = min((several / "more" / "several" / "first" / "data").iterdir())
    path.write_bytes(path.read_bytes()[:-1])
    os.unlink(several / "texts" / "1.jsonl")
    first = (several / "more" / "several" / "first").rglob("*")
    before = {p: p.read_bytes() for p in first if p.is_file() and p.name != ".dataprep-journal"}
    code, _, errors = dataprep("verify", str(several / "more"), "--repair", str(several / "pipe.py"))
    assert code == 1, errors
    assert {p: p.read_bytes() for p in before} == before


def test_a_pipeline_file_of_another_run_changes_nothing(run, dataprep):
    """One sentence, before a file is removed."""
    data = min((run / "out" / "clean" / "data").iterdir())
    data.write_bytes(data.read_bytes()[:-9])
    other = run / "other.py"
    other.write_text("import dataprep as dp\n\n\ndef elsewhere(out, runner):\n    return None\n", encoding="utf-8")
    before = {path: path.read_bytes() for path in (run / "out").rglob("*") if path.is_file()}
    code, _, errors = dataprep("verify", str(run / "out"), "--repair", str(other))
    assert code == 1
    assert "other.py did not make" in errors.replace("\n", "")
    assert {path: path.read_bytes() for path in (run / "out").rglob("*") if path.is_file()} == before
