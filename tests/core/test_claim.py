"""Output folders before the work: which are opened, mended or refused."""

import os
import shutil

import pytest

import dataprep as dp
from dataprep.core.output.claim import claim, is_finished
from dataprep.core.output.layout import Folder
from dataprep.core.pipeline import Pipeline
from dataprep.errors import PlanError, StaleOutput
from laws import dataset_of


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run."""
    place = tmp_path_factory.mktemp("finished")
    return Pipeline(dp.Exact()).run(dataset_of(place, ["one text", "another text"]), str(place / "out")).url


@pytest.fixture
def out(finished, tmp_path):
    """A copy of it."""
    return shutil.copytree(finished, tmp_path / "out")


def other_byte(path):
    """Change the last byte."""
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


@pytest.mark.parametrize("damage", [other_byte, os.unlink])
def test_a_folder_that_is_being_mended_does_not_look_complete(out, damage):
    """The manifest goes first: if the work is then killed, the folder is not opened as if it were whole."""
    recipe = Folder(str(out)).recipe
    assert claim(str(out), recipe, replace=False, whole=True).count == 2
    damage(next((out / "data").iterdir()))
    assert claim(str(out), recipe, replace=False, whole=True) is None
    assert not (out / "manifest.json").exists()


@pytest.mark.parametrize("pattern", ["", "*/data/*.parquet", "*/*.json"])
def test_a_result_that_the_next_run_would_read_is_refused(tmp_path, pattern):
    """Be it as shards or by its manifest; beside what is listed it is not."""
    (tmp_path / "a" / "data").mkdir(parents=True)
    for name in ("a/one.json", "a/data/one.parquet"):
        dp.read([{"text": "one"}]).write(str(tmp_path / name), "parquet" if name.endswith("parquet") else "jsonl")
    docs = dp.read(str(tmp_path / pattern))
    with pytest.raises(PlanError, match="and the next run would read it; give a folder outside as out"):
        Pipeline().run(docs, str(tmp_path / "out"))
    assert pattern == "" or Pipeline().run(docs, str(tmp_path / "b" / "c" / "d")).count == 1


def test_what_was_forgotten_since_is_said(out):
    """Of the same recipe with another forget list; `dataprep forget` helps then, another folder does not."""
    recipe = Folder(str(out)).recipe | {"forgotten": "another list"}
    with pytest.raises(StaleOutput, match="were forgotten since it was made: run `dataprep forget"):
        claim(str(out), recipe, replace=False)
    assert (out / "manifest.json").exists()
    assert claim(str(out), recipe, replace=True) is None
    assert not (out / "manifest.json").exists()
    assert not (out / "steps").exists(), "a saved input may have the documents"


def test_a_result_is_finished_only_without_what_is_forgotten(out):
    """Else a run would return the documents that were forgotten since, without a word."""
    recipe = Folder(str(out)).recipe
    assert is_finished(str(out), recipe)
    assert not is_finished(str(out), recipe | {"forgotten": "0" * 32})
    assert not is_finished(str(out), recipe | {"key": "0" * 32})
    os.unlink(Folder(str(out)).path("manifest.json"))
    assert not is_finished(str(out), recipe)


def test_another_recipe_may_use_saved_steps(out):
    """They stay in the folder when its result is replaced, if nothing was forgotten since."""
    assert claim(str(out), Folder(str(out)).recipe | {"key": "another"}, replace=True) is None
    assert not (out / "data").exists()
    assert (out / "steps").exists()
