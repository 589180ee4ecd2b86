"""Readers of whole files: two workers write the bytes that one writes, over several, equal and empty files."""

from __future__ import annotations

import json
import sqlite3

import pytest

import dataprep as dp

MAIL = "From: a@b.c\nSubject: {0}\nDate: Mon, 6 May 2024 10:00:00 +0000\n\nA letter, number {0}.\n"
WIKI = (
    "<mediawiki><siteinfo></siteinfo><page><title>T{0}</title><ns>0</ns><id>{0}</id><revision><id>1</id>"
    "<text>An article, number {0}.</text></revision></page></mediawiki>\n"
)


def table(path, n: int) -> None:
    """A database of n rows."""
    with sqlite3.connect(path) as base:
        base.execute("create table t (text)")
        base.executemany("insert into t values (?)", [(f"row {i} of {n}",) for i in range(n)])
    base.close()


WRITE = {
    "a.json": lambda path, n: path.write_text(json.dumps([{"text": f"record {i} of {n}"} for i in range(n)])),
    "a.eml": lambda path, n: path.write_text(MAIL.format(n)),
    "a.xml": lambda path, n: path.write_text(WIKI.format(n)),
    "a.sqlite": table,
}


@pytest.mark.parametrize("name", WRITE)
def test_two_workers_write_the_same_bytes(tmp_path, name) -> None:
    """Every file of the result but its receipts is equal, and has the documents of all files."""
    folder = tmp_path / "in"
    folder.mkdir()
    for i, n in enumerate([3, 5, 5, 9]):
        WRITE[name](folder / f"{i}{name}", n)
    if name in {"a.json", "a.eml"}:  # empty files of the others are refused before any work
        (folder / f"9{name}").write_bytes(b"")
    results = []
    for workers in (1, 2):
        out = tmp_path / str(workers)
        docs = dp.Pipeline().run(dp.read(str(folder / f"*{name}")), out=out, runner=dp.Local(workers))
        results.append({p.name: p.read_bytes() for p in sorted((out / "data").rglob("*.parquet"))})
        assert len(docs.to_arrow()) == (22 if name in {"a.json", "a.sqlite"} else 4)
    assert results[0] == results[1] != {}
