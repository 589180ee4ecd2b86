"""Bad files: one ends the run with a sentence that names the option that skips it; skipped, it is a row."""

from __future__ import annotations

import functools
import gzip
import lzma
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import dataprep as dp
import laws
from dataprep.core.model import unread
from dataprep.errors import PlanError, ReadError
from dataprep.read import parts

LINES = "".join(f'{{"text": "document {i} {i * 7919 % 10007} {i * i}"}}\n' for i in range(20_000)).encode()
SUFFIXES = ("jsonl.gz", "jsonl.zst", "jsonl.xz", "md.gz", "warc", "parquet")


@functools.cache
def whole(suffix) -> bytes:
    """An intact file of this kind."""
    if suffix == "parquet":
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"text": [f"row {i}" for i in range(100)]}), sink)
        return sink.getvalue().to_pybytes()
    if suffix == "warc":
        page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>A page that is whole and has some words.</p>"
        head = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/{}\r\nContent-Length: {}\r\n\r\n"
        return b"".join(head.format(i, len(page)).encode() + page + b"\r\n\r\n" for i in range(20))
    pack = {"gz": gzip.compress, "zst": zstandard.compress, "xz": lzma.compress}[suffix.rpartition(".")[2]]
    return pack(LINES)


def bad(suffix) -> bytes:
    """The same file, cut in the middle; an archive of junk."""
    return b"junk\n" * 500 if suffix == "warc" else whole(suffix)[: len(whole(suffix)) * 2 // 3]


@pytest.fixture
def folder(tmp_path):
    """Return a function that makes a folder of intact files before and after a bad one."""

    def make(suffix) -> Path:
        home = tmp_path / f"in-{suffix}"
        home.mkdir()
        for name, data in {"a": whole(suffix), "b": bad(suffix), "c": whole(suffix)}.items():
            (home / f"{name}.{suffix}").write_bytes(data)
        return home

    return make


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("run", [dp.tools.Serial(), laws.TWO], ids=["serial", "local"])
def test_stop_or_skip(folder, tmp_path, monkeypatch, caplog, suffix, run) -> None:
    """The same folder stops a run and names the option; with it, intact files and what came before the damage stay."""
    monkeypatch.setattr(parts, "PART_BYTES", 1)
    home = folder(suffix)
    with pytest.raises(ReadError, match=rf'b\.{suffix}.*; or .*on_bad_file="skip"'):
        dp.Pipeline().run(dp.read(str(home)), out=str(tmp_path / "stop"), runner=run)
    docs = dp.read(str(home), on_bad_file="skip")
    read = docs.table()["text"].to_pylist()
    done = dp.Pipeline().run(docs, out=str(tmp_path / "skip"), runner=run)
    assert done.table()["text"].to_pylist() == read
    intact = dp.read(str(home / f"a.{suffix}")).count
    before = done.count - 2 * intact
    if suffix.startswith("jsonl"):
        assert 4_000 < before < intact
        assert read == read[:intact] + read[:before] + read[:intact]
    else:
        assert before == 0
    (row,) = done.unread().to_pylist()
    assert (row["file"], row["reason"]) == (str(home / f"b.{suffix}"), "unreadable")
    assert row["detail"]
    if suffix.startswith("jsonl"):
        lines = LINES.splitlines(keepends=True)
        assert sum(map(len, lines[:before])) <= row["offset"] <= sum(map(len, lines[: before + 1]))
    assert "not to the end: 1 bad file;" in caplog.text


def tree(home) -> dict[str, bytes]:
    """The bytes of every file of a folder."""
    return {str(p.relative_to(home)): p.read_bytes() for p in sorted(home.rglob("*")) if p.is_file()}


def test_workers_write_the_same_bytes(folder, tmp_path, monkeypatch) -> None:
    """Serial and Local seal the same rows and shards."""
    monkeypatch.setattr(parts, "PART_BYTES", 1)
    home = folder("jsonl.gz")
    for name, run in (("one", dp.tools.Serial()), ("two", laws.TWO)):
        dp.Pipeline(dp.Exact()).run(dp.read(str(home), on_bad_file="skip"), out=str(tmp_path / name), runner=run)
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    assert "unread.parquet" in tree(tmp_path / "one")


def test_limit(tmp_path, monkeypatch) -> None:
    """More bad files than max_bad_files are an error with the number, in one part as in several; as many are not."""
    for n in range(3):
        (tmp_path / f"bad{n}.jsonl.gz").write_bytes(bad("jsonl.gz"))
    (tmp_path / "good.jsonl").write_text('{"text": "a"}\n')
    for n_bytes in (1 << 28, 1):
        monkeypatch.setattr(parts, "PART_BYTES", n_bytes)
        for limit, error in ((2, True), (3, False), (None, False)):
            docs = dp.read(str(tmp_path), on_bad_file="skip", max_bad_files=limit)
            out = str(tmp_path / f"_out-{n_bytes}-{limit}")
            for work in (docs.table, lambda docs=docs, out=out: dp.Pipeline().run(docs, out=out)):
                if error:
                    with pytest.raises(ReadError, match=r"bad2.*3 files are bad, more than max_bad_files=2"):
                        work()
                else:
                    work()


def test_reading_ends_at_the_first_file_too_many(tmp_path, monkeypatch) -> None:
    """Files after it are not read."""
    monkeypatch.setattr(parts, "PART_BYTES", 1)
    for name in "ab":
        (tmp_path / f"{name}.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a document"}\n' * 9)[:-9])
    docs = dp.read(str(tmp_path), on_bad_file="skip", max_bad_files=0)
    read = []
    monkeypatch.setattr(unread, "_detail", lambda row: read.append(row.file) or "so")
    for work in (docs.table, lambda: dp.Pipeline().run(docs, out=str(tmp_path / "_out"))):
        with pytest.raises(ReadError, match=r"a\.jsonl\.gz.*so"):
            work()
    assert {name.rpartition("/")[2] for name in read} == {"a.jsonl.gz"}


def test_all_bad_or_empty(tmp_path) -> None:
    """If no file has a document, the first bad one is an error even if bad files are skipped."""
    for name in "ab":
        (tmp_path / f"{name}.jsonl.gz").write_bytes(gzip.compress(b""))
        (tmp_path / f"{name}.parquet").write_bytes(bad("parquet"))
    for given in ("*.gz", "*.parquet"):
        for work in (
            lambda docs: docs.table(),
            lambda docs: dp.Pipeline().run(docs, out=str(tmp_path / "out"), replace=True),
        ):
            with pytest.raises(ReadError, match=r"a\.(jsonl\.gz|parquet)"):
                work(dp.read(str(tmp_path / given), on_bad_file="skip"))


@pytest.mark.parametrize("run", [dp.tools.Serial(), laws.TWO], ids=["serial", "local"])
def test_no_record_is_empty(tmp_path, monkeypatch, run) -> None:
    """A file without a record among others is a row, without any option."""
    monkeypatch.setattr(parts, "PART_BYTES", 1)
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b"\n\n"))
    (tmp_path / "c.jsonl").write_text("\n")
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "d.parquet")
    docs = dp.read(str(tmp_path))
    assert docs.count == 1
    done = dp.Pipeline().run(docs, out=str(tmp_path / "_out"), runner=run)
    found = [(r["file"].rpartition("/")[2], r["reason"]) for r in done.unread().to_pylist()]
    assert found == [("b.jsonl.gz", "empty"), ("c.jsonl", "empty"), ("d.parquet", "empty")]


def test_a_crawl_without_pages(tmp_path) -> None:
    """A WARC without a single page is a row next to one that has some, and an error alone."""
    info = b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
    (tmp_path / "a.warc").write_bytes(info)
    with pytest.raises(ReadError, match="no response records"):
        dp.read(str(tmp_path)).table()
    (tmp_path / "b.warc").write_bytes(whole("warc"))
    done = dp.Pipeline().run(dp.read(str(tmp_path)), out=str(tmp_path / "_out"))
    assert [(r["file"], r["reason"]) for r in done.unread().to_pylist()] == [(str(tmp_path / "a.warc"), "empty")]


@pytest.mark.parametrize("suffix", ["warc", "warc.gz"])
def test_a_cut_archive_is_fetched_again(tmp_path, suffix) -> None:
    """An archive of which a record is lost is a row; when it was fetched again, the same call reads it."""
    data = whole("warc") if suffix == "warc" else b"".join(
        gzip.compress(b"WARC/1.0" + record) for record in whole("warc").split(b"WARC/1.0")[1:]
    )  # fmt: skip
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(data[:-40])
    done = dp.Pipeline().run(dp.read(str(path)), out=str(tmp_path / "out"))
    (row,) = done.unread().to_pylist()
    assert (done.count, row["reason"], row["offset"]) == (19, "damaged", done.drops()["id"][0].as_py())
    assert row["detail"].startswith("1 of 20 records are damaged; the first: the file ends")
    path.write_bytes(data)
    done = dp.Pipeline().run(dp.read(str(path)), out=str(tmp_path / "out"))
    assert (done.count, len(done.unread())) == (20, 0)


def test_links_to_nothing_and_mostly_bad_records(tmp_path) -> None:
    """Links without a file or in a circle, and a file of another format, are bad; a link to a folder is not read."""
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "b.jsonl").write_text("not json\n" * 200)
    (tmp_path / "c.jsonl").symlink_to(tmp_path / "nothing")
    (tmp_path / "d.jsonl").symlink_to("d.jsonl")
    (tmp_path / "e.jsonl").symlink_to(tmp_path.parent)
    with pytest.raises(ReadError, match="no such file"):
        dp.read(str(tmp_path))
    docs = dp.read(str(tmp_path), on_bad_file="skip")
    done = dp.Pipeline().run(docs, out=str(tmp_path / "_out"))
    assert done.count == 1
    assert [r["reason"] for r in done.unread().to_pylist()] == [
        "unreadable",
        "unreadable",
        "unreadable",
        "unknown_type",
    ]
    with pytest.raises(ReadError, match="Too many levels of symbolic links"):
        dp.read(str(tmp_path / "[ad].jsonl"))
    (tmp_path / "_links").mkdir()
    (tmp_path / "_links" / "x").symlink_to(tmp_path)
    with pytest.raises(ReadError, match="a link to a folder, which is not followed"):
        dp.read(str(tmp_path / "_links"))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"on_bad_file": "ignore"}, r"^on_bad_file='ignore' must be \"stop\" or \"skip\"$"),
        ({"max_bad_files": 3}, r"^max_bad_files=3 must be used with on_bad_file=\"skip\", or be left out$"),
        ({"on_bad_file": None}, r"^on_bad_file=None must be"),
    ],
)
def test_wrong_options(tmp_path, wrong, says) -> None:
    """Another word, or a limit without "skip", is a PlanError."""
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(PlanError, match=says):
        dp.read(str(tmp_path), **wrong)
