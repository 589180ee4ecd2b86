"""What the code of docs/hosts.md needs."""

import gzip

import pytest

import dataprep as dp
from docs.pages import reasons

PAGE = "<html><body><article><p>{}</p></article></body></html>"
SENTENCE = "The harbour was quiet in the morning, and the boats went out with the tide. "


def _record(url, content, kind="text/html"):
    body = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n{content}".encode()
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + body + b"\r\n\r\n")


def prepare(here):
    """Four pages: of a blocked host, with a blocked word, forbidden by robots.txt, and one that is kept."""
    for library in ("protego", "resiliparse"):
        pytest.importorskip(library)
    urls = ("http://adult.example/a", "http://b.example/Casino", "http://c.example/private", "http://c.example/open")
    for folder in ("crawl", "lists/adult", "robotstxt"):
        (here / folder).mkdir(parents=True)
    (here / "crawl" / "a.warc.gz").write_bytes(b"".join(_record(url, PAGE.format(SENTENCE * 6)) for url in urls))
    (here / "lists" / "adult" / "domains").write_text("adult.example\n")
    (here / "lists" / "adult" / "urls").write_text("b.example/ads\n")
    rules = "User-agent: CCBot\nDisallow: /private\n"
    (here / "robotstxt" / "a.warc.gz").write_bytes(_record("http://c.example/robots.txt", rules, "text/plain"))


def check(here, names):
    """One page is left, and each of the others has the reason of the page's tables."""
    (kept,) = dp.open_dataset("work/clean").table(["url"])["url"].to_pylist()
    assert kept == "http://c.example/open"
    assert reasons("work/clean") == {"blocked_host": 1, "blocked_url": 1, "robots": 1}
