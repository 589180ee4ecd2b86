"""Readers of whole files: two workers write the bytes that one writes, over several, equal and empty files."""

from __future__ import annotations

import json
import sqlite3

import pytest

import dataprep as dp
import laws
from office import BODY, CONTAINER, OPF, packed, pdf

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


def stack_exchange(path, n: int) -> None:
    """A dump of n comments, the second of which has no text."""
    rows = "".join(f'<row Id="{i}" Text="{"" if i == 1 else f"comment {i} of {n}"}" />\n' for i in range(n))
    path.write_text(f"<comments>\n{rows}</comments>")


def epub(path, n: int) -> None:
    """A book of two chapters."""
    page = "<html><head><title>{0}</title></head><body><p>Chapter {0} of {1}.</p></body></html>"
    chapters = {"OEBPS/one a.xhtml": page.format("one", n), "OEBPS/two.xhtml": page.format("two", n)}
    packed(path, files={"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": OPF, **chapters})


def mbox(path, n: int) -> None:
    """A mailbox of n messages."""
    path.write_text("".join(f"From a@b.c\n{MAIL.format(f'{i} of {n}')}\n" for i in range(n)))


WRITE = {
    "a.mbox": mbox,
    "Comments.xml": stack_exchange,
    "a.epub": epub,
    "a.docx": lambda path, n: packed(path, files={"word/document.xml": BODY.replace("One ", f"One {n} ")}),
    "a.pdf": lambda path, n: path.write_bytes(pdf(*(f"Page {i} of {n}" if i != 1 else "" for i in range(n)))),
    "a.json": lambda path, n: path.write_text(json.dumps([{"text": f"record {i} of {n}"} for i in range(n)])),
    "a.eml": lambda path, n: path.write_text(MAIL.format(n)),
    "a.xml": lambda path, n: path.write_text(WIKI.format(n)),
    "a.sqlite": table,
}
COUNTS = {"a.json": 22, "a.sqlite": 22, "a.mbox": 22, "Comments.xml": 18, "a.pdf": 18, "a.epub": 8}  # or one a file
NEEDS = {"a.pdf": "pypdfium2", "a.epub": "resiliparse", "Comments.xml": "resiliparse"}


@pytest.mark.parametrize("name", WRITE)
def test_two_workers_write_the_same_bytes(tmp_path, name) -> None:
    """Every file of the result but its receipts is equal, and has the documents of all files."""
    pytest.importorskip(NEEDS.get(name, "pytest"))
    folder = tmp_path / "in"
    folder.mkdir()
    for i, n in enumerate([3, 5, 5, 9]):
        WRITE[name](folder / f"{i}{name}", n)
    if name in {"a.json", "a.eml"}:  # empty files of the others are refused before any work
        (folder / f"9{name}").write_bytes(b"")
    results = []
    for runner in (dp.tools.Serial(), laws.TWO):
        out = tmp_path / type(runner).__name__
        docs = dp.Pipeline().run(dp.read(str(folder / f"*{name}")), out=out, runner=runner)
        results.append({p.name: p.read_bytes() for p in sorted((out / "data").rglob("*.parquet"))})
        assert len(docs.to_arrow()) == COUNTS.get(name, 4)
    assert results[0] == results[1] != {}
