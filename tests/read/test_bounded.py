"""A record of 32 MiB is dropped without being held, in the formats that have no such test of their own."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys

import pytest

from office import CONTAINER, OPF, packed

HUGE = b"x" * (32 << 20)
MOST = 16 << 20  # bytes of memory beyond those for a small file of the same format
# SQLite, expat and Resiliparse allocate where tracemalloc does not look, so this is a process of its own, of which the
# system knows the largest memory.
CHILD = """
import json, sys
import dataprep as dp
from dataprep.errors import ReadError

def memory(name):
    return next(int(row.split()[1]) << 10 for row in open("/proc/self/status") if row.startswith(name))

def read(url, options):
    docs = dp.read(url, max_doc_bytes=1 << 20, **options)
    done = dp.Pipeline().run(docs, out=url + ".out")
    return [row["text"] for row in done], dict(done.stats[0].reasons)

found = {}
for name, small, huge, options in json.load(sys.stdin):
    read(small, options)
    open("/proc/self/clear_refs", "w").write("5")
    before = memory("VmRSS")
    try:
        texts, reasons = read(huge, options)
    except ReadError as e:
        texts, reasons = str(e), {}
    found[name] = texts, reasons, memory("VmHWM") - before
print(json.dumps(found))
"""


def posts(text: bytes) -> bytes:
    """A dump of Stack Exchange, whose second post has `text`."""
    rows = b"".join(b'  <row Id="%d" Body="%s" />\n' % (n, body) for n, body in enumerate((b"first", text, b"last")))
    return b'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n' + rows + b"</posts>"


def page(text: bytes) -> bytes:
    """A page with `text` in a paragraph."""
    return b"<html><body><p>" + text + b"</p></body></html>"


def database(path, text: bytes) -> None:
    """A table with a long text, a long value beside the text, and long bytes."""
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE t (text TEXT, other TEXT, raw BLOB)")
        long = text.decode()
        rows = [("first", "", b""), (long, "", b""), ("second", long, b""), ("last", "", text)]
        made.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    made.close()


def book(path, text: bytes) -> None:
    """An EPUB of two chapters, the second with `text`."""
    parts = {"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": OPF, "OEBPS/two.xhtml": page(b"first").decode()}
    packed(path, files=parts | {"OEBPS/one a.xhtml": page(text).decode()})


CASES = {  # file: (what writes it, texts, reasons, times the record that may be held)
    "text.txt": (lambda path, text: path.write_bytes(text), [], {"too_long": 1}, 0),
    "lines.txt": (lambda path, text: path.write_bytes(b"first\n" + text + b"\nlast\n"), ["first", "last"],
                  {"too_long": 1}, 0),
    "paragraphs.txt": (lambda path, text: path.write_bytes(b"first\n\n" + text + b"\n\nlast\n"), ["first", "last"],
                       {"too_long": 1}, 0),
    "code.py": (lambda path, text: path.write_bytes(text), [], {"too_long": 1}, 0),
    "a.html": (lambda path, text: path.write_bytes(page(text)), [], {"too_long": 1}, 0),
    "a.ipynb": (lambda path, text: path.write_bytes(b'{"cells": [{"cell_type": "raw", "source": "%s"}]}' % text), [],
                {"too_long": 1}, 0),
    "a.epub": (book, ["first"], {"too_long": 1}, 0),
    "Posts.xml": (lambda path, text: path.write_bytes(posts(text)), "byte 79: a tag has over 1,048,576 bytes", {}, 0),
    "a.db": (database, ["first", "last"], {"too_long": 2}, 4),  # SQLite makes copies of a value, which has at most 1 GB
}  # fmt: skip


def test_memory_is_bounded(tmp_path) -> None:
    """The texts beside the long one are read, and the process grows by far less than the long one."""
    pytest.importorskip("resiliparse")
    if sys.platform != "linux":
        pytest.skip("the largest memory is read from /proc")
    calls = []
    for name, (write, *_) in CASES.items():
        urls = []
        for size in (b"some", HUGE):
            urls.append(tmp_path / str(len(size)) / name)
            urls[-1].parent.mkdir(exist_ok=True)
            write(urls[-1], size)
        kind = name.partition(".")[0]
        calls.append((name, *map(str, urls), {"format": kind} if kind in ("lines", "paragraphs", "code") else {}))
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps(calls), capture_output=True, text=True, check=True
    )
    for name, (texts, reasons, grown) in json.loads(done.stdout).items():
        _, expected, why, times = CASES[name]
        assert expected in texts if isinstance(expected, str) else texts == expected, name
        assert (name, reasons) == (name, why)
        assert grown < MOST + times * len(HUGE), f"{name} took {grown >> 20} MiB"
