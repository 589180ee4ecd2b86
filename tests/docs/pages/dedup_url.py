"""What the code of docs/dedup-url.md needs."""

import gzip

import pytest

import dataprep as dp

RECORD = (
    "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: {}\r\nWARC-Date: {}\r\nWARC-Record-ID: <urn:uuid:{}>\r\n"
    "Content-Type: text/plain\r\nContent-Length: {}\r\n\r\n{}\r\n\r\n"
)
CAPTURES = [
    ("http://www.example.org/page/?utm_source=x", "2024-05-01T00:00:00Z", "old"),
    ("https://example.org/page", "2024-06-01T00:00:00Z", "new"),
    ("https://example.org/Page", "2024-05-01T00:00:00Z", "another page"),
]


def prepare(here):
    """Two captures of a page, and one of another page."""
    pytest.importorskip("w3lib")
    (here / "crawl").mkdir()
    records = [RECORD.format(url, date, n, len(text), text) for n, (url, date, text) in enumerate(CAPTURES)]
    (here / "crawl/a.warc.wet.gz").write_bytes(b"".join(gzip.compress(record.encode()) for record in records))


def check(here, names):
    """The newest capture is kept."""
    clean = dp.open_dataset("work/clean")
    assert [row["text"] for row in clean.take(9)] == ["new", "another page"]
    assert clean.drops().column("reason").to_pylist() == ["older_capture"]
