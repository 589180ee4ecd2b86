"""Hugging Face data sets, without a network: in memory, streamed, and from local folders of AtlaSet's shape."""

from __future__ import annotations

import json

import pytest

import dataprep as dp
from dataprep.errors import PlanError, ReadError
from dataprep.read import row_source

datasets = pytest.importorskip("datasets")

ROWS = [
    {"text": f"row {i} \u0633\u0644\u0627\u0645", "source": "forum" if i % 2 else "wiki", "n": i} for i in range(2_500)
]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Everything is sealed under the test's own folder."""
    monkeypatch.setenv("DATAPREP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def check(docs) -> None:
    """The documents are the rows: ids are row numbers, the other fields are in meta."""
    table = docs.table()
    assert table["id"].to_pylist() == list(range(len(ROWS)))
    assert table["text"].to_pylist() == [r["text"] for r in ROWS]
    assert json.loads(table["meta"][1].as_py()) == {"source": "forum", "n": 1}


def test_in_memory() -> None:
    """A Dataset is keyed by its content: the same rows are sealed once, other rows apart."""
    one = dp.read(datasets.Dataset.from_list(ROWS))
    check(one)
    again = dp.read(datasets.Dataset.from_list(ROWS))
    assert again.parts == one.parts
    assert dp.read(datasets.Dataset.from_list(ROWS[:-1])).key != one.key


def test_streamed(tmp_path) -> None:
    """An IterableDataset needs a key, is walked once, and found again by its key."""
    walks = []

    def rows():
        walks.append(1)
        yield from ROWS

    stream = datasets.IterableDataset.from_generator(rows)
    with pytest.raises(PlanError, match="key="):
        dp.read(stream)
    docs = dp.read(stream, key="atlas 1", out=str(tmp_path / "here"), columns=["n"])
    assert docs.table()["n"].to_pylist() == [r["n"] for r in ROWS]
    n = len(walks)
    check(dp.read(stream, key="atlas 1", out=str(tmp_path / "here")))
    assert len(walks) == n
    dp.read(stream, key="atlas 2", out=str(tmp_path / "here"))
    assert len(walks) > n


def test_row_groups(monkeypatch) -> None:
    """Sealing holds a row group in memory, and cuts change no position."""
    monkeypatch.setattr(row_source, "GROUP_BYTES", 1)
    check(dp.read(datasets.Dataset.from_list(ROWS)))


@pytest.mark.parametrize("saved", [True, False], ids=["save_to_disk", "folder of parquet"])
def test_local_folder(tmp_path, saved) -> None:
    """A folder stands in for the hub; its splits are named where there are several."""
    rows = datasets.Dataset.from_list(ROWS)
    place = tmp_path / "AtlaSet"
    if saved:
        datasets.DatasetDict(train=rows, test=rows.select(range(3))).save_to_disk(str(place))
    else:
        (place / "data").mkdir(parents=True)
        rows.to_parquet(place / "data" / "train-00000-of-00001.parquet")
        rows.select(range(3)).to_parquet(place / "data" / "test-00000-of-00001.parquet")
    check(dp.read(str(place), format="hf", split="train"))
    assert dp.read(str(place), format="hf", split="test").count == 3
    with pytest.raises(PlanError, match=r"several splits; name one with split=: (train, test|test, train)"):
        dp.read(str(place), format="hf")
    with pytest.raises(PlanError, match="no split 'val'"):
        dp.read(str(place), format="hf", split="val")


def test_from_a_hub(monkeypatch) -> None:
    """A repository by name is streamed at the revision the hub tells, which is in the key."""
    asked = []

    def load(name, config=None, *, revision, streaming):
        asked.append((name, config, revision, streaming))
        return datasets.IterableDatasetDict(train=datasets.Dataset.from_list(ROWS).to_iterable_dataset())

    class Api:
        def dataset_info(self, _):
            return type("Info", (), {"sha": "abc123"})

    monkeypatch.setattr(datasets, "load_dataset", load)
    monkeypatch.setattr("huggingface_hub.HfApi", Api)
    docs = dp.read("hf://datasets/atlasia/AtlaSet")
    check(docs)
    assert docs.table(["source"])["source"].to_pylist()[0] == "atlasia/AtlaSet"
    assert asked == [("atlasia/AtlaSet", None, "abc123", True)]
    assert dp.read("atlasia/AtlaSet", format="hf", revision="other").key != docs.key


def test_a_hub_that_cannot_be_reached(monkeypatch) -> None:
    """No network and no such data set are each one sentence."""
    import huggingface_hub

    def offline(*_, **__):
        raise ConnectionError

    def absent(*_, **__):
        raise datasets.exceptions.DatasetNotFoundError

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", offline)
    with pytest.raises(dp.DataprepError, match=r"a/b: the hub cannot be reached.*local folder"):
        dp.read("a/b", format="hf")
    monkeypatch.setattr(datasets, "load_dataset", absent)
    with pytest.raises(ReadError, match=r"a/b: the dataset cannot be loaded .*local folder"):
        dp.read("a/b", format="hf", revision="main")


def test_bad_rows(tmp_path) -> None:
    """A wrong column, no rows, and rows that change their types leave nothing behind."""
    with pytest.raises(ReadError, match=r"no text column 'body'; the columns are text \(.*\), source"):
        dp.read(datasets.Dataset.from_list(ROWS), text="body")
    with pytest.raises(ReadError, match="no rows"):
        dp.read(datasets.IterableDataset.from_generator(lambda: iter(())), key="none")

    def mixed():
        yield from [{"text": "a", "n": 1}] * 1_000
        yield from [{"text": "a", "n": {"k": 1}}] * 1_000

    with pytest.raises(ReadError, match="row 1,000"):
        dp.read(datasets.IterableDataset.from_generator(mixed), key="mixed")
    assert not list(tmp_path.rglob("*.parquet"))


def test_there_and_back(tmp_path) -> None:
    """What a Pipeline sealed goes to `datasets` and comes back with the same texts."""
    docs = dp.Pipeline().run(dp.read(datasets.Dataset.from_list(ROWS)), out=str(tmp_path / "out"))
    back = docs.to_hf()
    assert back["text"][:] == [r["text"] for r in ROWS]
    assert dp.read(back).table(["text"]).equals(docs.table(["text"]))
