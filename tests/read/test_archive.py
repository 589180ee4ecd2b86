"""Tar and zip files of texts: members are documents of the formats that their names state."""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import json
import tarfile
import tracemalloc
import zipfile

import pytest

import dataprep as dp
import laws
import office
from dataprep.core.model.batch import split_id
from dataprep.errors import DataprepError, ReadError
from dataprep.read import archive_members

MEMBERS = {
    "a/one.txt": b"first text", "../up.md": b"# second", "/rows.jsonl": b'{"text": "third", "n": 1}\n{"no": 1}\n' * 1,
    "b.jsonl.gz": gzip.compress(b'{"text": "fourth", "path": "own"}\n{"text": "fifth"}\n'), "photo.png": b"\x89PNG",
    "t.csv": b"id,text\n1,sixth\n2,seventh\n", "list.json": b'[{"text": "eighth"}]', "_hidden.txt": b"no", "e.txt": b"",
}  # fmt: skip
TEXTS = ["first text", "# second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]
PATHS = ["a/one.txt", "up.md", "/rows.jsonl", "own", "b.jsonl.gz", "t.csv", "t.csv", "list.json"]


def packed(path, members=None) -> str:
    """Write an archive in the form that the name states."""
    members = MEMBERS if members is None else members
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        return str(path)
    mode = {".gz": "w:gz", ".tgz": "w:gz", ".bz2": "w:bz2", ".xz": "w:xz"}.get(path.suffix, "w")
    with tarfile.open(path, mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return str(path)


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.tar.bz2", "a.tar.xz"])
def test_members_are_read_as_files_are(tmp_path, name) -> None:
    """Every format, nested compression, odd paths; the rest is listed; positions are equal in each kind."""
    done = dp.Pipeline().run(dp.read(packed(tmp_path / name)), out=str(tmp_path / "out"))
    assert [row["text"] for row in done] == TEXTS
    assert [json.loads(row["meta"])["path"] for row in done] == PATHS
    positions = [split_id(row["id"])[1] for row in done]
    sizes = {n: 1 + max(len(data), len(gzip.decompress(data)) if n[-3:] == ".gz" else 0) for n, data in MEMBERS.items()}
    begins = dict(zip(sizes, itertools.accumulate(sizes.values(), initial=0), strict=False))
    inside = [("a/one.txt", 0), ("../up.md", 0), ("/rows.jsonl", 0), ("b.jsonl.gz", 0), ("b.jsonl.gz", 34),
              ("t.csv", 8), ("t.csv", 16), ("list.json", 1)]  # fmt: skip
    assert positions == [begins[member] + at for member, at in inside]
    assert done.stats[0].reasons == {"no_text": 1}
    rows = done.unread().to_pylist()
    unread = {(row["file"].rpartition(f"{name}/")[2], row["reason"]) for row in rows}
    assert unread == {("photo.png", "unknown_type"), ("_hidden.txt", "hidden"), ("e.txt", "empty")}
    assert not list(tmp_path.parent.glob("up.md"))


def test_options_reach_the_members(tmp_path) -> None:
    """The field of the text, sources from a field, and no meta."""
    rows = b'{"body": "a", "lang": "en"}\n{"body": "b", "lang": "fr"}\n'
    url = packed(tmp_path / "a.zip", {"x.jsonl": rows, "y.csv": b"body,lang\nc,de\n"})
    table = dp.read(url, text="body", source="field:lang", meta=False).to_arrow()
    assert (table["source"].to_pylist(), table["meta"].to_pylist()) == (["en", "fr", "de"], ["{}"] * 3)


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_a_truncated_archive_is_one_sentence(tmp_path, name) -> None:
    """Cut in the middle."""
    path = tmp_path / name
    packed(path, {f"{n}.txt": bytes(str(n) * 5_000, "ascii") for n in range(40)})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ReadError, match="truncated or damaged|ends early or is damaged"):
        dp.read(str(path), format=path.suffixes[0][1:]).table()


def test_an_archive_without_texts(tmp_path) -> None:
    """A tar of pictures is one sentence; a zip of them is of unknown type, as before."""
    with pytest.raises(ReadError, match=r"the archive has no file in a supported format, only a\.png"):
        dp.read(packed(tmp_path / "a.tar", {"a.png": b"x"})).table()
    with pytest.raises(ReadError, match="has no chat and no file in a supported format, only"):
        dp.read(packed(tmp_path / "b.zip", {"a.png": b"x"}))


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
def test_documents_of_programs_and_books(tmp_path, suffix) -> None:
    """DOCX, EPUB and PDF are read in an archive as in a folder; only positions and paths differ."""
    pytest.importorskip("pypdfium2")
    pytest.importorskip("resiliparse")
    place = tmp_path / "in"
    place.mkdir()
    office.packed(place / "a.docx", files={"word/document.xml": office.BODY})
    page = "<html><body><p>Chapter {}.</p></body></html>"
    chapters = {"OEBPS/one a.xhtml": page.format(1), "OEBPS/two.xhtml": page.format(2)}
    book = {"META-INF/container.xml": office.CONTAINER, "OEBPS/book.opf": office.OPF, **chapters}
    office.packed(place / "b.epub", files=book)
    (place / "c.pdf").write_bytes(office.pdf("First page", "", "Third page"))
    url = packed(tmp_path / f"all{suffix}", {path.name: path.read_bytes() for path in sorted(place.iterdir())})
    found = dp.read(url).table()
    expected = dp.read(str(place)).table()
    assert found["text"].to_pylist() == expected["text"].to_pylist()
    assert found["meta"].to_pylist() == expected["meta"].to_pylist()
    assert len(set(found["id"].to_pylist())) == 5
    cut = packed(tmp_path / f"cut{suffix}", {"a.docx": (place / "a.docx").read_bytes()[:200]})
    with pytest.raises(ReadError, match=r"a\.docx: it is truncated or damaged"):
        dp.read(cut).table()


def test_a_bomb_is_found_in_bounded_memory(tmp_path, monkeypatch) -> None:
    """A member of zeros is dropped without being held; far more of them than are stored raise."""
    url = packed(tmp_path / "a.zip", {"a.txt": bytes(64 << 20), "b.txt": b"text"})
    tracemalloc.start()
    try:
        done = dp.Pipeline().run(dp.read(url, max_doc_bytes=1 << 20), out=str(tmp_path / "out"))
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()
    assert (done.count, done.stats[0].reasons) == (1, {"too_long": 1})
    monkeypatch.setattr(archive_members, "MOST_BYTES", 1 << 20)
    with pytest.raises(ReadError, match="expands to over 250 times its size"):
        dp.read(url).table()


def test_workers_make_the_same(tmp_path) -> None:
    """One worker and two write the same bytes."""
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(4):
        packed(folder / f"{n}.tar.gz", {f"{k}.txt": f"text {k} of {n}".encode() for k in range(50)})
    found = []
    for runner in (dp.tools.Serial(), laws.TWO):
        out = tmp_path / type(runner).__name__
        dp.Pipeline().run(dp.read(str(folder), part_size="64KiB"), out=str(out), runner=runner)
        found.append([path.read_bytes() for path in sorted((out / "data").iterdir())])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.zip"])
@pytest.mark.parametrize("skips", [False, True])
def test_no_damage_is_taken_for_the_end(tmp_path, name, skips) -> None:
    """A flipped byte, or an end at any place, is a ReadError that names the archive; nothing is missing in silence."""
    texts = {f"{k}.txt": f"text {k} " * 90 for k in range(5)}
    path, bad = tmp_path / "whole.tar", tmp_path / name
    if name == "a.zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
            for one, text in texts.items():
                made.writestr(one, text)
    else:
        with tarfile.open(path, "w") as made:
            for one, text in texts.items():
                info = tarfile.TarInfo(one)
                info.size = len(text)
                made.addfile(info, io.BytesIO(text.encode()))
    data = path.read_bytes()
    n_bytes = len(data) if name == "a.zip" else 5 * (512 + 1024)
    damaged = [data[:k] for k in range(0, n_bytes, 97)]
    damaged += [data[:k] + bytes([data[k] ^ 0x55]) + data[k + 1 :] for k in range(0, n_bytes, 61)]
    for some in damaged:
        bad.write_bytes(gzip.compress(some) if name == "a.tar.gz" else some)
        with contextlib.suppress(DataprepError):
            found = [row["text"] for row in dp.read(str(bad), **({"on_bad_file": "skip"} if skips else {}))]
            assert skips or len(found) == len(texts) or _is_other(bad, len(found))
            assert "tar" in name or set(found) <= set(texts.values())  # tar has no checksums of its members


def _is_other(path, n: int) -> bool:
    """Whether an archive is intact by its own checks, and has another name or size of a member."""
    return path.suffix == ".zip" and len(zipfile.ZipFile(path).namelist()) > n
