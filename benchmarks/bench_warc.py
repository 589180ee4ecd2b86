"""Crawls: MB per second of user CPU, and peak memory, beside the bare libraries.

    python benchmarks/bench_warc.py [--mb 40]

Archives are made from the text of `corpus.py`, one gzip member a record as in Common Crawl. WET: pages of 6 kB of text,
as a crawl has them, and of 1.5 kB, where what a record costs weighs most. WARC: requests, pages and metadata; a page is
30 kB of HTML (menus, scripts, 6 kB of text), a tenth of them in Latin-1, a fifth of those undeclared. Bare is the
plainest loop: FastWARC, and for pages UTF-8 or else Latin-1, and Resiliparse's main content; it makes no batches, ids,
fields or counts, and checks nothing. The second loop also decodes the text of WET, and makes Arrow batches of each text
and its URL, date and id, which is the least that a reader must do. Readers take turns, each in a process of its own,
once to warm up and then three times; the best is shown. WET is rated by text given, WARC by HTML read.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

READERS = {
    "bare": "FastWARC, bare loop", "batches": "FastWARC, Arrow batches", "dataprep": "dataprep",
    "article": "dataprep, its own extractor",
}  # fmt: skip
ROUNDS = 2  # turns of every reader


def pages(path):
    """Yield each record of an archive and its text in UTF-8, by the libraries alone."""
    from fastwarc.warc import ArchiveIterator, response

    if ".wet" in path:
        for r in ArchiveIterator(path, parse_http=False):
            yield r, r.reader.read()
        return
    from resiliparse.extract.html2text import extract_plain_text

    for r in ArchiveIterator(path, record_types=response, parse_http=True, auto_decode="all"):
        if r.http_headers.status_code == 200:
            data = r.reader.read()
            try:
                html = data.decode()
            except UnicodeDecodeError:
                html = data.decode("latin-1")
            yield r, extract_plain_text(html, main_content=True, alt_texts=False).encode()


def bare(path):
    """What the libraries cost."""
    return sum(len(text) for _, text in pages(path))


def batches(path):
    """What batches of text and of JSON with three headers cost besides."""
    import pyarrow as pa

    n, texts, meta = 0, [], []

    def batch():
        text = pa.array(texts, pa.large_binary()).cast(pa.large_string())  # checks that it is UTF-8
        return pa.record_batch([text, pa.array(meta, pa.string())], names=["text", "meta"]).num_rows

    for r, text in pages(path):
        texts.append(text)
        url, date, name = map(r.headers.get, ("WARC-Target-URI", "WARC-Date", "WARC-Record-ID"))
        meta.append(f'{{"url":"{url}","date":"{date}","record_id":"{name}"}}')
        n += len(text)
        if n > 8 << 20:
            batch()
            n, texts, meta = 0, [], []
    return batch()


def dataprep(path, extract="resiliparse"):
    """Batches of text and meta."""
    import dataprep as dp
    from dataprep.core.model import batch as B

    options = {} if ".wet" in path else {"extract": extract}
    return sum(B.text_bytes(batch) for batch in dp.read(path, **options).batches())


def article(path):
    """The same, with the default extractor; for WET there is none."""
    return dataprep(path, "article")


def measure(reader: str, path: str, n_bytes: int) -> None:
    """Print MB/s and peak MB of one reader on one file."""
    best = float("inf")
    for turn in range(4):
        start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        globals()[reader](path)
        took = resource.getrusage(resource.RUSAGE_SELF).ru_utime - start
        best = min(best, took) if turn else best
    status = Path("/proc/self/status")  # the peak that Linux hands a child at first is its parent's
    lines = status.read_text().splitlines() if status.exists() else []
    peak = next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0)
    print(f"{n_bytes / best / 1e6:.1f} {peak:.0f}")


def texts(n_bytes: int, size: int) -> Iterator[str]:
    """Pages of about so many bytes."""
    import corpus

    held: list[str] = []
    for text in corpus.documents(n_bytes, fresh=True):
        held.append(text)
        if sum(map(len, held)) >= size:
            yield "\n".join(held)
            held = []


def record(kind: str, url: str, body: bytes, more: str = "") -> bytes:
    """One WARC record in a gzip member."""
    name = f"<urn:uuid:{abs(hash((kind, url))):032x}>"
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Date: 2024-05-18T01:58:10Z\r\nWARC-Record-ID: {name}\r\n"
        f"Content-Length: {len(body)}\r\nWARC-Warcinfo-ID: {name}\r\nWARC-Concurrent-To: {name}\r\n"
        f"WARC-Target-URI: {url}\r\nWARC-Block-Digest: sha1:{'A' * 32}\r\n{more}\r\n"
    )
    return gzip.compress(head.encode() + body + b"\r\n\r\n", 6)


def html(i: int, text: str) -> bytes:
    """A page of 24 kB around its text."""
    menu = "".join(
        f'<li class="menu-item item-{k}"><a href="/topic/{k}?from={i}">Topic {k}</a></li>\n' for k in range(90)
    )
    script = "".join(f"window.settings[{k}] = {{'name': 'value-{k}', 'on': {k} > {i}}};\n" for k in range(150))
    body = "".join(f'<p class="text">{line}</p>\n' for line in text.split("\n"))
    page = (
        f"<!DOCTYPE html><html><head><title>Page {i}</title><style>p.text {{ color: black }}</style>"
        f"<script>{script}</script></head><body><nav><ul>{menu}</ul></nav><main><article><h1>Page {i}</h1>{body}"
        f"</article></main><footer><p>All rights of page {i} reserved. Café.</p></footer></body></html>"
    )
    return page.encode("latin-1" if i % 10 == 1 else "utf-8", "replace")


def write_wet(path: Path, n_bytes: int, size: int) -> int:
    """A WET file; the bytes of its text."""
    n = 0
    with path.open("wb") as f:
        for i, text in enumerate(texts(n_bytes, size)):
            data = text.encode()
            n += len(data)
            f.write(record("conversion", f"http://example.org/{i}", data, "Content-Type: text/plain\r\n"))
    return n


def write_warc(path: Path, n_bytes: int) -> int:
    """A WARC file; the bytes of its pages."""
    n = 0
    with path.open("wb") as f:
        for i, text in enumerate(texts(n_bytes // 4, 6_000)):
            url, page = f"http://example.org/{i}", html(i, text)
            n += len(page)
            charset = "; charset=ISO-8859-1" if i % 50 > 1 and i % 10 == 1 else ""
            head = f"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html{charset}\r\nX-Cache: HIT\r\n\r\n"
            kind = "Content-Type: application/http; msgtype="
            f.write(record("request", url, b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", kind + "request\r\n"))
            f.write(record("response", url, head.encode() + page, kind + "response\r\n"))
            f.write(record("metadata", url, b"fetchTimeMs: 120\r\n"))
    return n


def main() -> None:
    """Measure every reader on every file, in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=40)
    parser.add_argument("--measure", nargs=3, metavar=("READER", "PATH", "BYTES"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure[0], given.measure[1], int(given.measure[2]))
        return
    total = given.mb * 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {
            "WET, pages of 6 kB": ("a.wet.gz", write_wet(folder / "a.wet.gz", total, 6_000)),
            "WET, pages of 1.5 kB": ("b.wet.gz", write_wet(folder / "b.wet.gz", total, 1)),
            "WARC, pages of 30 kB": ("a.warc.gz", write_warc(folder / "a.warc.gz", total)),
        }
        for title, (file, n_bytes) in files.items():
            print(f"\n{title:26}{n_bytes / 1e6:4.0f} MB{'MB/s':>10}{'peak MB':>9}{'times bare':>12}")
            rows = [(r, _one(r, str(folder / file), n_bytes)) for _ in range(ROUNDS) for r in READERS]
            rate = {r: max(rows, key=lambda row: (row[0] == r, row[1][0]))[1] for r in READERS}
            for reader, label in READERS.items():
                speed, peak = rate[reader]
                print(f"{label:33}{speed:>10.0f}{peak:>9.0f}{rate['bare'][0] / speed:>12.2f}", flush=True)


def _one(name: str, path: str, n_bytes: int) -> tuple[float, float]:
    command = [sys.executable, __file__, "--measure", name, path, str(n_bytes)]
    speed, peak = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return float(speed), float(peak)


if __name__ == "__main__":
    main()
