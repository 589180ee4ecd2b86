"""Write every file of this folder; all text is invented here.

Run `python sample_data/make.py`; the result is byte-identical every time, and is committed. EXPECTED.json has
the results of the plain definitions for the planted documents (exact word 5-gram Jaccard by Python sets), so the tests
compare dataprep with arithmetic, not with itself.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import random
import re
from pathlib import Path

import exports
import gallery
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from phrases import ANDROID, BAD_PAGE_REASONS, BAD_PAGES, DARIJA, ESSAYS, IOS, SENTENCES, SLOTS, TITLES

HERE = Path(__file__).parent
RNG = random.Random(20)
THRESHOLD = 0.8


def shingles(text: str) -> set[tuple[str, ...]]:
    """Return the word 5-grams of a text in lower case, on which near-duplicates are measured."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + 5]) for i in range(max(1, len(words) - 4))}


def jaccard(a: str, b: str) -> float:
    """Return shared shingles over all shingles."""
    x, y = shingles(a), shingles(b)
    return len(x & y) / len(x | y)


def sentence(template: str) -> str:
    """Return a template with every {slot} filled, in good English."""
    filled = re.sub(r"\{(\w+)\}", lambda m: RNG.choice(SLOTS[m[1]]), template)
    return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", filled[0].upper() + filled[1:])


def article(n_sentences: int) -> str:
    """Return paragraphs of up to four sentences, each from another template."""
    lines = [sentence(t) for t in RNG.sample(SENTENCES, n_sentences)]
    return "\n".join(" ".join(lines[i : i + 4]) for i in range(0, n_sentences, 4))


def edited(text: str, target: float) -> str:
    """Return the text with words replaced until its Jaccard with the original is at most `target`."""
    words = text.split(" ")
    result = text
    for i in RNG.sample(range(len(words)), len(words)):
        if jaccard(text, result) <= target:
            return result
        if "\n" not in words[i]:
            words[i] = RNG.choice(SLOTS["spare"])
        result = " ".join(words)
    return result


def wet_record(uri: str, text: str) -> bytes:
    """Return one `conversion` record as in a WET file."""
    body = text.encode()
    head = (
        "WARC/1.0\r\nWARC-Type: conversion\r\n"
        f"WARC-Target-URI: {uri}\r\nWARC-Date: 2024-05-01T00:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:{RNG.getrandbits(128):032x}>\r\n"
        f"Content-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body + b"\r\n\r\n"


def warc_records(pages: dict[str, str]) -> list[bytes]:
    """Return a small crawl: a record on the crawl, pages with menu and footer in three charsets, and other records."""
    codecs = itertools.cycle((("utf-8", "; charset=UTF-8"), ("utf-8", ""), ("iso-8859-1", "; charset=ISO-8859-1")))
    found = [warc_record("warcinfo", "crawl.warc.gz", b"description: a crawl of no site\r\n")]
    for (uri, text), (codec, charset) in zip(pages.items(), codecs, strict=False):
        menu = "".join(f'<li><a href="/page/{i}">Page {i}</a></li>' for i in range(9))
        main = "".join(f"<p>{line}</p>" for line in text.split("\n"))
        html = f"<html><body><nav><ul>{menu}</ul></nav><main>{main}</main><footer>© nobody</footer></body></html>"
        found.append(warc_record("request", uri, b"GET / HTTP/1.1\r\n\r\n"))
        found.append(warc_record("response", uri, http(f"text/html{charset}", html.encode(codec))))
    lost, picture = "https://example.org/lost", "https://example.org/picture.png"
    found.append(warc_record("response", lost, http("text/html", b"<p>Not found.</p>", "404 Not Found")))
    found.append(warc_record("response", picture, http("image/png", b"\x89PNG")))
    found.append(warc_record("revisit", next(iter(pages)), http("text/html", b"")))
    return found


def http(kind: str, payload: bytes, status: str = "200 OK") -> bytes:
    """Return an HTTP response."""
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n\r\n".encode() + payload


def warc_record(kind: str, uri: str, body: bytes) -> bytes:
    """Return one record as in a WARC file."""
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body + b"\r\n\r\n"


def jsonl(records: list[dict[str, str]]) -> bytes:
    """Return JSON Lines, UTF-8 unescaped."""
    return b"".join(json.dumps(r, ensure_ascii=False).encode() + b"\n" for r in records)


def gz(data: bytes) -> bytes:
    """Return one gzip member without a date."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, filename="") as f:
        f.write(data)
    return buffer.getvalue()


def records(prefix: str, n: int) -> list[dict[str, str]]:
    """Return records with an id, a title and a new article."""
    return [
        {"id": f"{prefix}-{i:02}", "title": sentence(RNG.choice(TITLES)), "text": article(RNG.randint(9, 22))}
        for i in range(n)
    ]


def main() -> None:
    """Write all files."""
    files = {name: records(name.split(".")[0], 40) for name in ("articles.jsonl", "letters.jsonl.gz", "news.jsonl.zst")}
    files["guide.parquet"] = records("guide", 40)
    for record, essay in zip(files["articles.jsonl"], ESSAYS[:-2], strict=False):
        record["text"] = essay
    by_id = {r["id"]: r for rs in files.values() for r in rs}
    near_misses = miss(by_id)
    exact, near = plant(by_id)
    check_rest(by_id, exact + near + near_misses)

    (HERE / "articles.jsonl").write_bytes(jsonl(files["articles.jsonl"]))
    (HERE / "letters.jsonl.gz").write_bytes(gz(jsonl(files["letters.jsonl.gz"])))
    packed = zstandard.ZstdCompressor(level=19).compress(jsonl(files["news.jsonl.zst"]))
    (HERE / "news.jsonl.zst").write_bytes(packed)
    columns = {k: [r[k] for r in files["guide.parquet"]] for k in ("id", "title", "text")}
    pq.write_table(pa.table(columns), HERE / "guide.parquet", compression="zstd")
    good = {f"https://example.org/page/{i}": article(RNG.randint(9, 16)) for i in range(8)}
    bad = {f"https://example.org/bad/{reason}": text for reason, text in BAD_PAGES.items()}
    (HERE / "crawl.warc.wet").write_bytes(b"".join(wet_record(u, t) for u, t in (good | bad).items()))
    pages = dict(itertools.islice(good.items(), 3))
    (HERE / "crawl.warc.gz").write_bytes(b"".join(gz(r) for r in warc_records(pages)))
    (HERE / "essay.txt").write_text("\n\n".join(ESSAYS[-2:]) + "\n", encoding="utf-8")
    (HERE / "whatsapp_android.txt").write_text(ANDROID, encoding="utf-8")
    (HERE / "whatsapp_ios.txt").write_text(IOS, encoding="utf-8")
    (HERE / "darija.jsonl").write_bytes(jsonl(DARIJA))
    expected = {"threshold": THRESHOLD, "exact": exact, "near": near, "near_misses": near_misses, "c4": BAD_PAGE_REASONS}
    expected |= exports.write(HERE)
    gallery.write(HERE / "gallery", jsonl, gz)
    record = json.dumps(expected, indent=1, ensure_ascii=False)
    (HERE / "EXPECTED.json").write_text(record + "\n", encoding="utf-8")


def plant(by_id: dict[str, dict[str, str]]) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Plant copies and near copies; return pairs of kept and dropped documents, and their similarity."""
    exact = [("articles-30", "letters-05"), ("articles-31", "guide-07"), ("letters-20", "news-11"), ("letters-20", "news-12")]
    for kept, gone in exact:
        by_id[gone]["text"] = by_id[kept]["text"]
    pairs = [("articles-32", "letters-08", 0.97), ("articles-33", "guide-09", 0.93), ("letters-21", "news-15", 0.9)]
    pairs += [("letters-22", "news-16", 0.87), ("guide-20", "guide-33", 0.95), ("guide-21", "news-17", 0.85)]
    for kept, gone, target in pairs:
        by_id[kept]["text"] = article(40)
        by_id[gone]["text"] = edited(by_id[kept]["text"], target)
    shouted = ("letters-23", "news-18")  # other bytes, the same words: exact deduplication must leave it to MinHash
    by_id["news-18"]["text"] = by_id["letters-23"]["text"].upper()
    return (
        [{"kept": kept, "gone": gone} for kept, gone in exact],
        [_pair(by_id, kept, gone) for kept, gone in [*((k, g) for k, g, _ in pairs), shouted, ("letters-30", "letters-31")]],
    )


def miss(by_id: dict[str, dict[str, str]]) -> list[dict[str, object]]:
    """Plant pairs to keep: below the threshold, and the ends of a chain whose middle is dropped; return them."""
    first, middle, last = "letters-30", "letters-31", "letters-32"
    by_id[first]["text"] = article(40)
    by_id[middle]["text"] = edited(by_id[first]["text"], 0.9)
    by_id[last]["text"] = edited(by_id[middle]["text"], 0.85)
    for kept, gone, target in (("guide-24", "news-24", 0.7), ("guide-25", "news-25", 0.6)):
        by_id[kept]["text"] = article(40)
        by_id[gone]["text"] = edited(by_id[kept]["text"], target)
    return [_pair(by_id, a, b) for a, b in ((first, last), ("guide-24", "news-24"), ("guide-25", "news-25"))]


def _pair(by_id: dict[str, dict[str, str]], kept: str, gone: str) -> dict[str, object]:
    return {"kept": kept, "gone": gone, "jaccard": round(jaccard(by_id[kept]["text"], by_id[gone]["text"]), 6)}


def check_rest(by_id: dict[str, dict[str, str]], planted: list[dict[str, object]]) -> None:
    """Raise SystemExit if other pairs are near the threshold, so that only the expected result is right."""
    known = {frozenset((p["kept"], p["gone"])) for p in planted}
    sets = {i: shingles(r["text"]) for i, r in by_id.items()}
    for a, b in itertools.combinations(sorted(sets), 2):
        similarity = len(sets[a] & sets[b]) / len(sets[a] | sets[b])
        also_planted = frozenset((a, b)) in known or {a, b} in ({"news-11", "news-12"}, {"letters-31", "letters-32"})
        if similarity > THRESHOLD / 2 and not also_planted:
            msg = f"{a} and {b} are {similarity:.2f} similar by accident; change a phrase"
            raise SystemExit(msg)


if __name__ == "__main__":
    main()
