"""Names of files in folders of results, and which folders are such: from the files alone that stand there."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataprep.core.output.layout import CUTS, DROPS, Folder, folder_url, home_of, numbered, shard_name, table_name
from dataprep.core.output.run_folder import children, datasets, token_folders, walk
from dataprep.core.output.state import DATASET, TOKENS
from dataprep.errors import CorruptShard, PlanError
from dataprep.store import files
from stated import NEEDED, SHARD, manifest


def put(place, kind=DATASET, docs=1, n_bytes=1, **more):
    """Write a manifest; return the folder."""
    totals = {"docs": docs, "bytes": n_bytes} if kind == DATASET else {}
    stated = manifest(kind, **totals, **more) if kind in (DATASET, TOKENS) else {"kind": kind, **more}
    files.write_json(f"{place}/manifest.json", stated)
    return Folder(str(place))


def names(folders, home):
    """Their places below a folder."""
    return [folder.url.removeprefix(f"{home}").strip("/") for folder in folders]


@pytest.mark.parametrize(
    ("given", "url"),
    [("a", "a"), ("a/", "a"), ("/", "/"), ("//", "/"), ("file:///", "/"), (Path("a/b"), "a/b"), ("s3://b/a/", "s3://b/a")],
    ids=str,
)  # fmt: skip
def test_the_url_of_a_folder(given, url):
    """Without a slash at its end, but for the root of all files."""
    assert folder_url(given) == url


@pytest.mark.parametrize("wrong", ["", None, 3])
def test_what_is_no_folder(wrong):
    """Neither text nor path, or empty."""
    with pytest.raises(PlanError, match=f"^out={wrong!r} must be the path or URL of a folder"):
        folder_url(wrong)


def test_names_of_parts_and_steps(tmp_path):
    """Numbers have five digits; the step's number, and the folder around a folder."""
    home = Folder("/a/out")
    assert (shard_name(3, 2), table_name(CUTS, 4)) == ("data/part-00003-002.parquet", "cuts/part-00004.parquet")
    assert shard_name(3, 2, 7) == "data/part-00003-002.g7.parquet"
    assert table_name(DROPS, 4, 2) == "drops/part-00004.g2.parquet"
    assert numbered("data/part-00003-002.g7.parquet", 8) == "data/part-00003-002.g8.parquet"
    assert (home.receipt(12), home.name, home.input.url) == ("/a/out/receipts/part-00012.json", "out", "/a/out/input")
    assert Folder("/a/steps/03-MinHash-0123abcd").number == 3
    around = {url: Folder(url).parent.url for url in ("/a/out", "/a/out/", "a/b", "out", "/out", "s3://b/a")}
    assert around == {"/a/out": "/a", "/a/out/": "/a", "a/b": "a", "out": ".", "/out": "/", "s3://b/a": "s3://b"}
    assert home_of("/a/out/data/part-00003-002.parquet") == home
    assert home_of("/a/data/b/data/x") == Folder("/a/data/b")
    assert home_of("/a/out/part-00003-002.parquet") is None
    for name in (
        "steps/01-A-01234567/x",
        "steps/12-B-01234567/x",
        "steps/notes/x",
        "receipts/b.json",
        "receipts/a.json",
        "cuts/part-00001.parquet",
        "cuts/part-00000.parquet",
        "cuts/notes.txt",
        "drops/part-00000.parquet",
    ):
        files.write_bytes(f"{tmp_path}/{name}", b"")  # fmt: skip
    found = Folder(str(tmp_path))
    assert names(found.steps, tmp_path) == ["steps/01-A-01234567", "steps/12-B-01234567"]
    assert names(map(Folder, found.receipts()), tmp_path) == ["receipts/a.json", "receipts/b.json"]
    assert found.tables(CUTS) == found.tables(DROPS) == [], "only a manifest says which tables there are"
    shards = [
        SHARD | {"name": f"data/part-{part:05d}-{n:03d}.g2.parquet", "drops": f"drops/part-{part:05d}.parquet"}
        for part, n in ((7, 0), (7, 1), (9, 0))
    ]
    sealed = put(tmp_path, shards=shards, saved=["steps/01-A-01234567/input"])
    assert names(map(Folder, sealed.tables(DROPS)), tmp_path) == [
        "drops/part-00007.parquet",
        "drops/part-00009.parquet",
    ]
    assert names(sealed.saved, tmp_path) == ["steps/01-A-01234567/input"]


KINDS = {
    "nothing": ({}, None, False, False), "dataset": ({"manifest.json": {"kind": DATASET}}, DATASET, True, True),
    "tokens": ({"manifest.json": {"kind": TOKENS}}, TOKENS, False, True),
    "another": ({"manifest.json": {"kind": "suffix_index"}}, None, False, True),
    "a list": ({"manifest.json": []}, None, False, True),
    "begun": ({"_unfinished/recipe.json": {"kind": DATASET, "key": "k"}}, None, True, False),
    "cut": ({"manifest.json": None}, DATASET, True, True),
    "cut tokens": ({"manifest.json": None, "token_bytes.npy": None}, TOKENS, False, True),
    "cut recipe": ({"recipe.json": None}, None, False, False),
    "recipe of tokens": ({"recipe.json": {"kind": TOKENS, "key": "k"}}, None, False, False),
}  # fmt: skip


@pytest.mark.parametrize("what", KINDS)
def test_the_kind_of_a_folder(tmp_path, what):
    """By its manifest; by its other files, if the manifest cannot be read; a recipe says what was begun."""
    written, kind, of_a_run, sealed = KINDS[what]
    for name, value in written.items():
        if value is None:
            files.write_bytes(f"{tmp_path}/{name}", b"{")
        else:
            needed = NEEDED.get(value.get("kind"), {}) if isinstance(value, dict) else {}
            files.write_json(f"{tmp_path}/{name}", needed | value if needed else value)
    found = Folder(str(tmp_path))
    assert (found.kind, found.is_of_a_run, found.is_sealed, found.is_dataset) == (
        kind,
        of_a_run,
        sealed,
        kind == DATASET,
    )
    assert (found.recipe is not None) == (what in ("dataset", "tokens", "recipe of tokens"))
    assert (found.unfinished.recipe is not None) == (what == "begun")
    if what.startswith("cut") and sealed:
        with pytest.raises(CorruptShard, match="manifest.json must be JSON that dataprep wrote"):
            assert Folder(str(tmp_path)).manifest is None


@pytest.mark.parametrize("name", ["docs", "bytes", "columns", "shards", "last_file", "key", "content"])
def test_a_manifest_without_a_field_is_not_ours(tmp_path, name):
    """It is named; of another type it is shown."""
    whole = manifest(docs=1)
    files.write_json(f"{tmp_path}/manifest.json", {n: v for n, v in whole.items() if n != name})
    with pytest.raises(CorruptShard, match=f"manifest.json is not what dataprep wrote: it lacks {name}; run the"):
        assert Folder(str(tmp_path)).manifest is None
    files.write_json(f"{tmp_path}/manifest.json", whole | {name: {"a": 1}})
    with pytest.raises(CorruptShard, match=f"its {name} is "):
        assert Folder(str(tmp_path)).manifest is None


def test_folders_of_a_run_are_in_the_order_of_its_steps(tmp_path):
    """Without run.json the largest Dataset comes first and token shards last; saved inputs before what they made."""
    run = tmp_path / "run"
    for name, docs, n_bytes in (("a", 3, 5), ("b", 3, 9), ("c", 4, 1)):
        put(run / name, docs=docs, n_bytes=n_bytes, saved=["steps/01-A-01234567/input"] * (name == "b"))
    put(run / "0", TOKENS)
    put(run / "other", "suffix_index")
    put(run / "b" / "steps" / "01-A-01234567" / "input")
    (run / "file").write_text("")
    step = "b/steps/01-A-01234567/input"
    assert names(children(str(run)), run) == ["c", "b", "a", "0"]
    assert names(walk(f"{run}/"), run) == ["c", step, "b", "a", "0"]
    assert names(datasets(str(run)), run) == ["c", step, "b", "a"]
    assert names(datasets(str(run), saved=False), run) == ["c", "b", "a"]
    assert names(token_folders(str(run)), run) == ["0"]
    assert names(token_folders(str(run / "0")), run) == ["0"]
    files.write_json(f"{run}/run.json", {"steps": ["b", "never", "0", "a"]})
    assert names(children(str(run)), run) == ["b", "0", "a"]
    assert names(walk(str(run)), run) == [step, "b", "0", "a"]
    assert names(datasets(str(run / "a")), run) == ["a"]
    files.remove(str(run / step))
    assert names(walk(str(run)), run) == ["b", "0", "a"]


@pytest.mark.parametrize("what", ["tokens", "nothing", "file", "folder"])
def test_a_place_without_documents_is_described(tmp_path, what):
    """Token shards, a path that does not exist, a file; of another folder there is nothing to say."""
    place = tmp_path / "a"
    {"tokens": lambda: put(place / "x", TOKENS), "nothing": lambda: None, "file": place.touch, "folder": place.mkdir}[
        what
    ]()
    says = {
        "tokens": " (it holds token shards)",
        "nothing": " (it does not exist)",
        "file": " (it is a file)",
        "folder": "",
    }
    with pytest.raises(PlanError) as e:
        datasets(str(place))
    end = "; pass a folder of `dataprep run` or Pipeline.run"
    assert str(e.value) == f"{place} contains no sealed Dataset{says[what]}{end}"
