"""`dp.read`: which files, in which order, by which reader, under which source; and what it refuses."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

import dataprep as dp
from dataprep.core.model import batch as B
from dataprep.errors import PlanError, ReadError
from dataprep.read import parts as plan
from dataprep.read.parts import source_of


def put(folder, **texts) -> Path:
    """JSONL files of one record each, `__` in a name is a folder."""
    for name, text in texts.items():
        path = folder / (name.replace("__", "/") + ".jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"text": "{text}"}}\n')
    return folder


def texts(docs) -> list[str]:
    """The texts, in order."""
    return docs.table()["text"].to_pylist()


def test_order_and_numbers(tmp_path) -> None:
    """Files are numbered in the order given, sorted inside a glob or folder; one that two globs match is read once."""
    put(tmp_path, b="b", a="a", sub__c="c", z="z")
    docs = dp.read([str(tmp_path / "z.jsonl"), str(tmp_path / "*.jsonl"), str(tmp_path / "sub")])
    assert texts(docs) == ["z", "a", "b", "c"]
    assert [B.split_id(i) for i in docs.table()["id"].to_pylist()] == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert texts(dp.read(tmp_path)) == ["a", "b", "c", "z"]
    assert texts(dp.read(Path(tmp_path) / "a.jsonl")) == ["a"]


def test_a_name_with_brackets(tmp_path) -> None:
    """A file whose name could be a glob is itself."""
    put(tmp_path, **{"a[1]": "bracket", "a1": "one"})
    assert texts(dp.read(str(tmp_path / "a[1].jsonl"))) == ["bracket"]
    assert texts(dp.read(str(tmp_path / "a[0-9].jsonl"))) == ["one"]


def test_sources(tmp_path) -> None:
    """Documents are counted under their file's name without shard numbers, or under the name given."""
    for url, source in (
        ("c4/c4-train.00001-of-01024.json.gz", "c4-train"),
        ("web/000.jsonl", "web"),
        ("web/part-00000.parquet", "part"),
        ("CC-MAIN-20240517233122-20240518023122-00000.warc.wet.gz", "CC-MAIN"),
        ("reuters21578.jsonl", "reuters21578"),
        ("42.jsonl", "42"),
        ("WhatsApp Chat with Bee.txt", "WhatsApp Chat with Bee"),
    ):
        assert source_of(url) == source
    put(tmp_path, a="a", b="b", c="c")
    files = [str(tmp_path / f"{n}.jsonl") for n in "bc"]
    docs = dp.read({"one": str(tmp_path / "a.jsonl"), "two": files})
    assert [r["source"] for r in docs.table().to_pylist()] == ["one", "two", "two"]


def test_small_files_share_a_part(tmp_path, monkeypatch) -> None:
    """Small files are one task; a part ends where it is full or the format changes; compression counts as dense."""
    put(tmp_path, a="a" * 50, b="b" * 50, c="c" * 50)
    (tmp_path / "d.jsonl.gz").write_bytes(gzip.compress(b'{"text": "d"}\n'))
    (tmp_path / "e.md").write_text("e")
    assert [len(p.slices) for p in dp.read(str(tmp_path)).parts] == [4, 1]
    monkeypatch.setattr(plan, "PART_BYTES", 140)
    assert [len(p.slices) for p in dp.read(str(tmp_path)).parts] == [2, 1, 1, 1]


@pytest.mark.parametrize(
    ("mebibytes", "size"),
    [(32, 32), (33, 32), (100, 32), (8 << 10, 32), (9 << 10, 64), (17 << 10, 128), (33 << 10, 256), (99 << 10, 256)],
)
def test_a_file_is_cut_into_equal_parts(tmp_path, mebibytes, size) -> None:
    """Which are larger if the input is much larger; no byte is lost."""
    put(tmp_path, a="a")
    os.truncate(tmp_path / "a.jsonl", mebibytes << 20)  # a hole, which is not read here
    cuts = [(s.start, s.stop or mebibytes << 20) for part in dp.read(str(tmp_path)).parts for s in part.slices]
    assert len(cuts) == -(-mebibytes // size)
    assert [stop for _, stop in cuts] == [*(start for start, _ in cuts[1:]), mebibytes << 20]
    assert cuts[0][0] == 0
    sizes = {stop - start for start, stop in cuts}
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= size << 20


def test_part_size(tmp_path) -> None:
    """Smaller parts have the same documents with the same ids; nonsense and sealed Datasets are refused."""
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": f"{n} " * 40}) + "\n" for n in range(900)))
    whole, cut = (dp.read(str(tmp_path / "a.jsonl"), part_size=size) for size in (None, "64KiB"))
    assert (len(whole.parts), len(cut.parts)) == (1, 3)
    assert cut.table().equals(whole.table())
    rows = dp.read(whole.table().to_pylist() * 20, key="rows", out=str(tmp_path / "rows"), part_size=1 << 20)
    assert (rows.count, len(rows.parts)) == (18_000, 1)
    for size in (0, 65_535, "1kB", True, "many"):
        with pytest.raises(PlanError, match=f"{size!r} (must be at least 64KiB|is not an amount of memory)"):
            dp.read(str(tmp_path / "a.jsonl"), part_size=size)
    with pytest.raises(PlanError, match="part_size= needs files"):
        dp.read(dp.Pipeline().run(whole, out=str(tmp_path / "sealed")), part_size="2MB")


def test_several_formats(tmp_path) -> None:
    """Formats may be mixed; text= and columns= go to those that have them."""
    put(tmp_path, a="a")
    (tmp_path / "b.md").write_text("b")
    (tmp_path / "README").write_text("no format, and skipped in a folder")
    assert texts(dp.read(str(tmp_path))) == ["a", "b"]
    with pytest.raises(PlanError, match=r"b\.md: text has no fields for columns="):
        dp.read(str(tmp_path), columns=["url"])
    with pytest.raises(PlanError, match=r"README: no reader is known for this suffix.*format="):
        dp.read(str(tmp_path / "READM*"))
    (tmp_path / "dump.xml.gz").write_bytes(gzip.compress(b"<mediawiki>")[:-15])
    with pytest.raises(ReadError, match=r"dump\.xml\.gz, byte \d+: the compressed data ends early or is damaged"):
        dp.read(str(tmp_path / "dump.xml.gz"))  # nothing of it can be read, so its format is unknown
    assert texts(dp.read(str(tmp_path / "README"), format="lines")) == ["no format, and skipped in a folder"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("none.jsonl", r"none\.jsonl: there is no such file"),
        ("*.none", r"\*\.none: no file matches"),
        ("hollow", "hollow: the folder is empty"),
        ("empty.jsonl", r"empty\.jsonl, byte 0: the file is empty"),
        ("empty.txt", r"empty\.txt, byte 0: the file is empty"),
        ("empty.parquet", r"empty\.parquet, byte 0: the file is empty"),
        ("empty.wet", r"empty\.wet, byte 0: the file is empty"),
        ("nothing.jsonl.gz", r"nothing\.jsonl\.gz, byte 0: the file contains no records"),
    ],
)
def test_missing_and_empty(tmp_path, path, says) -> None:
    """A path that leads to nothing is one sentence with its name."""
    (tmp_path / "hollow").mkdir()
    for name in ("empty.jsonl", "empty.txt", "empty.parquet", "empty.wet"):
        (tmp_path / name).touch()
    (tmp_path / "nothing.jsonl.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(ReadError, match=says):
        dp.read(str(tmp_path / path)).table()


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"format": "xls"}, "no format 'xls'; the formats are jsonl, parquet"),
        ({"date_order": "dmy"}, "no option 'date_order' for jsonl; the options are max_bad, max_doc_bytes, meta"),
        ({"max_doc_bytes": 0}, "max_doc_bytes=0 must be at least 1"),
        ({"columns": {"n": "number"}}, "type 'number'"),
        ({"text": 0}, "text=0 must be the name of a field or column"),
        ({"text": None}, "text=None must be the name"),
    ],
)
def test_wrong_parameters(tmp_path, kwargs, says) -> None:
    """Parameters that no reader has are named, with those there are."""
    put(tmp_path, a="a")
    with pytest.raises(PlanError, match=says):
        dp.read(str(tmp_path / "a.jsonl"), **kwargs)


@pytest.mark.parametrize("path", [[], {}, 7, b"a.jsonl"])
def test_no_path(path) -> None:
    """An empty or wrong path is an error with its value."""
    with pytest.raises(PlanError, match=r"path=.* (must be a path|names no file)"):
        dp.read(path)


@pytest.mark.parametrize("path", [[1.5], ["a.jsonl", None], {"news": [b"a"]}])
def test_a_path_that_is_none(path) -> None:
    """Each item of a list must be a path or a Dataset."""
    with pytest.raises(PlanError, match=r"^(1\.5|None|b'a') in path= is not a path or a Dataset; pass paths"):
        dp.read(path)


def test_samples(samples) -> None:
    """Every sample file is read by its suffix alone."""
    for path in sorted(samples.iterdir()):
        if path.suffix not in {".py", ".pyc"} and path.name != "EXPECTED.json" and path.is_file():
            assert dp.read(str(path)).count > 0, path.name


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("a.xlsx", r"dp\.read\(pandas\.read_excel\(FILE\)\)"), ("a.rar", "unpack it"), ("a.doc", "save it as"),
        ("a.png", "ocrmypdf"), ("a.mp3", "transcribe"), ("a.qqq", 'format="text"'),
    ],
)  # fmt: skip
def test_a_file_that_no_reader_takes_has_a_cure(tmp_path, name, cure) -> None:
    """One sentence with the file and what to do, and no list of formats."""
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(PlanError, match=rf"no reader is known for this suffix; .*{cure}") as caught:
        dp.read(str(tmp_path / name))
    assert len(str(caught.value)) < 300
