"""The sample files end to end, against what plain definitions say must happen to them (EXPECTED.json)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dataprep as dp
from dataprep import pipeline_file
from dataprep.core.run.runner import Serial
from fixtures.demo import short_demo
from opened import open_in_others

FILES = ("articles.jsonl", "guide.parquet", "letters.jsonl.gz", "news.jsonl.zst")


@pytest.fixture(scope="module")
def expected(samples):
    """Who must go for whom."""
    return json.loads((samples / "EXPECTED.json").read_text())


@pytest.fixture(scope="module")
def articles(samples, tmp_path_factory):
    """The four record files, exact and near duplicates removed."""
    docs = dp.read([str(samples / name) for name in FILES])
    out = tmp_path_factory.mktemp("articles")
    return dp.Pipeline(dp.Exact(), dp.MinHash(threshold=0.8)).run(docs, out=str(out / "clean")), docs


def own_ids(docs):
    """The input's own id of every document, by its id here."""
    table = docs.table(["id", "meta"])
    metas = (json.loads(m) for m in table.column("meta").to_pylist())
    return dict(zip(table.column("id").to_pylist(), (m["id"] for m in metas), strict=True))


def drops_of(clean):
    """Every row of the drop tables."""
    import duckdb

    columns = "id, stage, reason, duplicate_of, similarity"
    rows = duckdb.sql(f"SELECT {columns} FROM '{clean.url}/drops/*.parquet'").fetchall()
    return {id_: tuple(row) for id_, *row in rows}


def test_planted_duplicates_go_for_the_planted_reason(articles, expected):
    """Exactly the planted copies go, each for its survivor, at the similarity that Python sets say."""
    clean, docs = articles
    names = own_ids(docs)
    found = {names[i]: (stage, names[kept], like) for i, (stage, _, kept, like) in drops_of(clean).items()}
    exact = {pair["gone"]: pair["kept"] for pair in expected["exact"]}
    near = {pair["gone"]: (pair["kept"], pair["jaccard"]) for pair in expected["near"]}
    assert {gone: kept for gone, (stage, kept, _) in found.items() if stage == "Exact"} == exact
    assert {gone: kept for gone, (stage, kept, _) in found.items() if stage == "MinHash"} == {
        gone: kept for gone, (kept, _) in near.items()
    }
    for gone, (_, jaccard) in near.items():
        assert found[gone][2] == pytest.approx(jaccard, abs=1e-5)


def test_near_misses_stay(articles, expected):
    """Pairs under the threshold both stay, the end of a chain whose middle went included."""
    clean, _ = articles
    left = set(own_ids(clean).values())
    for pair in expected["near_misses"]:
        assert {pair["kept"], pair["gone"]} <= left, pair


def test_books_balance(articles):
    """What was read is what is kept and what was dropped, stage by stage."""
    clean, docs = articles
    open_in_others(clean.url)
    assert docs.count == 160
    assert clean.count + len(drops_of(clean)) == docs.count
    for book in clean.stats:
        assert book.docs_in == book.docs_out + book.docs_dropped


def test_bad_pages_go_for_the_written_reason(samples, expected, tmp_path):
    """C4's published rules drop the written bad pages for the written reasons, and keep every good one."""
    docs = dp.read(str(samples / "crawl.warc.wet"))
    urls = {row["id"]: json.dumps(row) for row in docs.take(100)}
    clean = dp.Pipeline(dp.C4()).run(docs, out=str(tmp_path / "clean"))
    drops = drops_of(clean)
    found = {next(u for u in expected["c4"] if u in urls[i]): reason for i, (_, reason, *_) in drops.items()}
    assert found == expected["c4"]
    assert clean.count == 8


def test_chats_become_conversations(samples, tmp_path):
    """Both phones' exports are read, and an hour of silence ends a conversation."""
    phones = [str(samples / f"whatsapp_{phone}.txt") for phone in ("android", "ios")]
    docs = dp.read(phones, format="whatsapp")
    texts = docs.table(["text"]).column("text").to_pylist()
    assert "Good morning, who has finished the third chapter?" in texts
    assert "Oversleeping is also gardening." in texts
    clean = dp.Pipeline(dp.chats.Conversations(gap="1h")).run(docs, out=str(tmp_path / "chats"))
    joined = clean.table(["text"]).column("text").to_pylist()
    assert len(joined) == 6  # android: morning, noon, next day; ios: evening, tap, next day
    assert any("walnut cake" in t and "half past six" in t and "ferry" not in t for t in joined)


def test_plain_text_is_one_document_a_file(samples):
    """A text file is one document with both essays in it."""
    docs = dp.read(str(samples / "essay.txt"))
    assert docs.count == 1
    assert docs.take(1)[0]["text"].startswith("A village choir")


def test_demo_gathers_the_same_text_every_time(root, tmp_path):
    """Two gatherings of the installation's text are the same bytes, and hold no path of this machine."""
    steps = short_demo(root / "pipelines" / "demo.py", 0)  # without docstrings; the other sources suffice here
    gather = sys.modules[steps[0].fn.__module__]._gather
    first, second = (gather(str(tmp_path / name)) for name in "ab")
    for a, b in zip(first["files"], second["files"], strict=True):
        assert Path(a).read_bytes() == Path(b).read_bytes()
    texts = dp.read([f for f in first["files"] if "packages" in f]).table(["text"]).column("text").to_pylist()
    assert len(texts) > 20
    assert not any(str(root) in text for text in texts)


def test_demo_from_raw_text_to_a_model_that_writes(demo):
    """Every step of the demo has run; running again, in a copy of its folder, does nothing."""
    file, out = "pipelines/demo.py", Path("out/demo")
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.suffix in {".parquet", ".bin", ".pt", ".zst"}}
    done = {d.name: d.result for d in pipeline_file.execute(short_demo(file), str(out), Serial())}
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert list(done) == [
        "ingest", "filter", "dedup_exact", "dedup_minhash", "dedup_suffix", "tokenizer", "encode", "train", "report",
    ]  # fmt: skip
    sources = set(done["ingest"].table(["source"])["source"].to_pylist())
    assert {"licences", "packages", "topics", "docstrings"} < sources
    books = [book for step in ("filter", "dedup_exact", "dedup_minhash", "dedup_suffix") for book in done[step].stats]
    assert {"too_few_sentences", "lorem_ipsum"} < {reason for book in books for reason in book.reasons}
    assert done["encode"].split("val").n_tokens > 1_000
    assert "bits per byte after 4 steps" in done["train"]
    page = Path(done["report"]).read_text(encoding="utf-8")
    for word in ("too_few_sentences", "licences", "Texts that the model wrote", "polyline"):
        assert word in page, word
    (out / "ingest-parts" / "raw" / "receipt.json").unlink()  # as after an upgrade: other text, other tokens
    again = {d.name: d.result for d in pipeline_file.execute(short_demo(file, 200), str(out), Serial())}
    assert again["encode"].n_tokens < done["encode"].n_tokens


def _files(place):
    return [p for p in place.rglob("*") if p.is_file() and p.parent.name != "__pycache__"]


def test_sample_files_are_what_their_script_writes(samples, tmp_path):
    """make.py writes the committed files again, byte for byte."""
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import make; "
        "make.HERE = pathlib.Path(sys.argv[2]); make.main()"
    )
    subprocess.run([sys.executable, "-c", code, str(samples), str(tmp_path)], check=True)
    made, there = ({p.relative_to(x).as_posix() for p in _files(x)} for x in (tmp_path, samples))
    assert made | {"make.py", "phrases.py", "conversations.py", "exports.py", "gallery.py", "gallery_texts.py"} == there
    for name in sorted(made):
        if name.endswith((".gz", ".zst", ".parquet")):  # compressors may differ between versions; the text may not
            continue
        assert (tmp_path / name).read_bytes() == (samples / name).read_bytes(), name


def test_sample_files_are_small(samples):
    """All sample files together stay under a megabyte."""
    assert sum(p.stat().st_size for p in _files(samples)) < 1_000_000


def test_tokens_are_plain_uint16(articles, tmp_path):
    """The shards of the cleaned samples are raw uint16 that numpy maps, one separator behind each document."""
    clean, _ = articles
    tok = dp.train_bpe(clean, vocab_size=600, val=0.1)
    shards = dp.encode(clean, tok, out=str(tmp_path / "shards"), val=0.1)
    tokens = np.concatenate([np.memmap(p, dtype=np.uint16) for p in sorted((tmp_path / "shards").glob("*.bin"))])
    assert len(tokens) == shards.n_tokens
    assert int((tokens == tok.eot).sum()) == len(shards) == clean.count
