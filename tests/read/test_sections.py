"""Files that are read whole: HTML, source code and notebooks."""

from __future__ import annotations

import bz2
import json

import pytest

import dataprep as dp
import laws
from dataprep.errors import PlanError, ReadError
from dataprep.read.html import Html

WORDS = "The harbour was quiet in the morning, and the boats came in one after the other with the tide. "
PAGE = "<html><head><title>A &amp; b</title></head><body><nav>Home</nav><article><p>{}</p></article></body></html>"


def read(folder, name, data, **options):
    """(id, text, meta) of the documents of one file in a folder, and the reasons of those that were dropped."""
    path = folder / "in" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    docs = dp.read(str(folder / "in"), **options)
    rows = [(row["id"], row["text"], json.loads(row["meta"])) for row in docs]
    out = dp.Pipeline().run(docs, out=str(folder / f"out-{name}")) if rows else None
    path.unlink()
    return rows, out.stats[0].reasons if out else {}


def test_pages_in_a_folder(tmp_path) -> None:
    """The main content of each page, with its title; a charset that is not UTF-8 is found and stated."""
    pytest.importorskip("resiliparse")
    rows, _ = read(tmp_path, "sub.html", PAGE.format(WORDS * 3))
    assert (rows[0][0], rows[0][2]) == (0, {"path": "sub.html", "title": "A & b"})
    assert rows[0][1].startswith("The harbour")
    assert "Home" not in rows[0][1]
    rows, _ = read(
        tmp_path, "b.htm.bz2", bz2.compress(PAGE.format(f"Où est l'été déjà passé ? {WORDS}").encode("cp1252"))
    )
    assert rows[0][1].startswith("Où est l'été déjà")
    assert rows[0][2]["encoding"] == "cp1252"
    rows, _ = read(tmp_path, "c.html", PAGE.format(WORDS), main_content=False)
    assert "Home" in rows[0][1]
    with pytest.raises(PlanError, match="extract='lynx' must be one of"):
        read(tmp_path, "c.html", PAGE.format(WORDS), extract="lynx")


def test_pages_that_are_none_are_dropped(tmp_path) -> None:
    """Without text, a picture, or too long: each with its reason, and none is an error; an empty one is listed."""
    pytest.importorskip("resiliparse")
    folder = tmp_path / "pages"
    folder.mkdir()
    pages = {
        "a": b"<html><body></body></html>", "b": b"\x89PNG\r\n\x1a\n\0\0\0" * 99, "c": b"<p>" + b"x" * 5_000, "d": b"",
        "e": PAGE.format(WORDS).encode(), "f": b"<div>" * 30_000 + b"deep",
    }  # fmt: skip
    for name, data in pages.items():
        (folder / f"{name}.html").write_bytes(data)
    done = dp.Pipeline().run(dp.read(str(folder), max_doc_bytes=4_000), out=str(tmp_path / "out"))
    assert done.count == 1
    assert done.stats[0].reasons == {"no_text": 1, "binary": 1, "too_long": 2}
    assert done.unread()["reason"].to_pylist() == ["empty"]


def test_source_code(tmp_path) -> None:
    """With format="code", files have their path and language; without it, the sentence says so."""
    rows, _ = read(tmp_path, "a.py", "print(1)\n", format="code")
    assert rows == [(0, "print(1)\n", {"path": "a.py", "language": "Python"})]
    rows, _ = read(tmp_path, "Makefile", "all:\n", format="code")
    assert rows[0][2]["language"] == "Makefile"
    with pytest.raises(PlanError, match='set format="code"'):
        read(tmp_path, "a.rs", "fn main() {}\n")


def test_the_source_of_small_files_is_their_folder(tmp_path) -> None:
    """A source for each file would tell nothing; a file that is named has its own name, and so has an mbox."""
    for name in ("pkg/one.py", "pkg/two.py", "LICENSE"):
        (tmp_path / "code" / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / "code" / name).write_text("text")
    docs = dp.read(str(tmp_path / "code"), format="code")
    assert [row["source"] for row in docs] == ["code", "pkg", "pkg"]
    assert dp.read(str(tmp_path / "code/pkg/one.py"), format="code")[0]["source"] == "one.py"
    (tmp_path / "mail").mkdir()
    for name, head in (("letter.eml", ""), ("note.eml", ""), ("list.mbox", "From a\n")):
        (tmp_path / "mail" / name).write_text(f"{head}From: a@b.example\n\nSome text.\n")
    assert [row["source"] for row in dp.read(str(tmp_path / "mail"))] == ["mail", "list", "mail"]


def test_notebooks(tmp_path) -> None:
    """Cells of text as they are, cells of code in backticks, and no outputs."""
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "Text."]},
        {"cell_type": "code", "source": "x = 1\n", "outputs": [{"text": "no"}]}, {"cell_type": "code", "source": []},
    ]  # fmt: skip
    book = {"cells": cells, "metadata": {"kernelspec": {"language": "julia"}}, "nbformat": 4}
    rows, _ = read(tmp_path, "a.ipynb", json.dumps(book))
    assert rows == [(0, "# Title\nText.\n\n```julia\nx = 1\n```",
                     {"path": "a.ipynb", "language": "julia", "cells": 3})]  # fmt: skip
    with pytest.raises(ReadError, match=r"a\.ipynb: the notebook is not valid JSON \(unexpected end of data: line 1"):
        read(tmp_path, "a.ipynb", json.dumps(book)[:-9])
    for bad in ("[]", '{"cells": [1]}', "{}", '{"cells": [{"source": 5}]}'):
        with pytest.raises(ReadError, match=r"a\.ipynb: it is not a Jupyter notebook: it has no list of cells"):
            read(tmp_path, "a.ipynb", bad)


def test_workers_make_the_same(tmp_path) -> None:
    """One worker and two write the same bytes of a folder of pages and notebooks."""
    pytest.importorskip("resiliparse")
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(6):
        (folder / f"{n}.html").write_text(PAGE.format(f"{n}. {WORDS}"))
        (folder / f"{n}.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": f"x = {n}"}]}))
    found = []
    for runner in (dp.tools.Serial(), laws.TWO):
        out = tmp_path / type(runner).__name__
        dp.Pipeline().run(dp.read(str(folder)), out=str(out), runner=runner)
        found.append([path.read_bytes() for path in sorted((out / "data").iterdir())])
    assert found[0] == found[1]


def test_an_option_of_another_extractor_is_refused() -> None:
    """As of crawls: the other extractors would ignore it."""
    with pytest.raises(PlanError, match='is an option of extract="article" and "resiliparse"'):
        Html(extract="plain", links=True)
