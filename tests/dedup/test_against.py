"""`against=` of every method: dumps that come one after another are one run over all of them, in their order."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import dataprep as dp
import twins.semantic
from dataprep.dedup.bloom import Bloom
from dataprep.dedup.embeddings.vectors import StoredVectors
from dataprep.dedup.exact import Exact
from dataprep.dedup.minhash import MinHash
from dataprep.dedup.semantic import SemDeDup
from dataprep.dedup.suffix_array import SuffixArray
from dataprep.dedup.url import URLDedup
from dataprep.errors import DataprepError, PlanError
from dataprep.store import files
from dataprep.store.spill import Spill, spill_to
from laws import dataset_of

SURE = 1e-9  # a Bloom filter that errs so seldom is a set
LINES = [
    "One two. Three four!", "ÉTÉ à la mer.", "été a la mer", "سطر أول هنا.", "हिन्दी की पंक्ति।", "猫が好きです。犬も。",
    "x y z", "", "One two.  Three",
]  # fmt: skip
CUTTERS = {
    "line": Exact(unit="line"),
    "paragraph": Exact(unit="paragraph"),
    "span3": Exact(unit="span3"),
    "words": SuffixArray(min_words=3),
    "suffix array": SuffixArray(min_bytes=9, cut="word", engine="suffix_array"),
    "bloom": Bloom(unit="paragraph", error_rate=SURE),
}
DROPPERS = {
    "exact": Exact(),
    "line": Exact(unit="line"),
    "minhash": MinHash(threshold=0.5, ngram=1, bands=40, rows=1),
    "url": URLDedup(keep="first"),
    "bloom": Bloom(error_rate=SURE),
    "ngram": Bloom(unit="ngram", ngram=2, threshold=0.5, error_rate=SURE),
}


def dumps_of(seed: int, n: int = 3) -> list[list[dict]]:
    """Dumps of short documents that share lines, texts and addresses; one of them may be empty."""
    rng = random.Random(seed)
    texts = ["\n".join(rng.choices(LINES, k=rng.randrange(1, 6))) for _ in range(9)]
    urls = [None, "http://e.org/a", "https://www.e.org/a/", "http://e.org/b", "no address"]

    def row() -> dict:
        return {"text": rng.choice(texts), "url": rng.choice(urls), "date": f"20{rng.randrange(10, 20)}-01-01"}

    return [[row() for _ in range(rng.randrange(1, 5))] for _ in range(n)]


def write(path: Path, rows: list[dict]) -> dp.Dataset:
    """A dump as a file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return dp.read(str(path), columns=["url", "date"])


def table_of(stage, docs: dp.Dataset, out: Path) -> list[dict]:
    """The rows that a fit writes."""
    verdict = stage.fit(docs, dp.tools.Serial(), str(out))
    return pq.read_table(getattr(verdict, "spans", None) or verdict.verdicts).to_pylist()


@pytest.mark.parametrize("name", CUTTERS)
def test_what_is_cut_is_what_one_run_cuts(tmp_path, name) -> None:
    """Each dump against the dumps before it, as they were read: every row of the table, places included."""
    stage, n_rows = CUTTERS[name], 0
    for seed in range(1):
        raw = [write(tmp_path / f"{seed}-{k}.jsonl", rows) for k, rows in enumerate(dumps_of(seed))]
        folders = [dp.Pipeline().run(docs, str(tmp_path / f"raw{seed}-{k}")).url for k, docs in enumerate(raw)]
        found = []
        for k, docs in enumerate(raw):
            for row in table_of(replace(stage, against=folders[:k]), docs, tmp_path / f"new{seed}-{k}"):
                home = k if row["duplicate_of_dataset"] is None else folders.index(row.pop("duplicate_of_dataset"))
                row |= {"duplicate_of_dataset": None, "id": row["id"] + (k << 40)}
                row["duplicate_of"] = None if row["duplicate_of"] is None else row["duplicate_of"] + (home << 40)
                found.append(row)
        everything = dp.read([str(tmp_path / f"{seed}-{k}.jsonl") for k in range(len(raw))], columns=["url", "date"])
        assert found == table_of(stage, everything, tmp_path / f"all{seed}")
        n_rows += len(found)
    assert n_rows > 2


@pytest.mark.parametrize("name", DROPPERS)
def test_dumps_that_come_are_one_run(tmp_path, name) -> None:
    """Each dump against the *outputs* of the dumps before it: what is left is what one run leaves."""
    stage, n_dropped = DROPPERS[name], 0
    for seed in range(1):
        raw = [write(tmp_path / f"{seed}-{k}.jsonl", rows) for k, rows in enumerate(dumps_of(seed))]
        folders: list[str] = []
        for k, docs in enumerate(raw):
            done = dp.Pipeline(replace(stage, against=folders)).run(docs, str(tmp_path / f"out{seed}-{k}"))
            folders.append(done.url)
            n_dropped += len(done.drops())
        everything = dp.read([str(tmp_path / f"{seed}-{k}.jsonl") for k in range(len(raw))], columns=["url", "date"])
        whole = dp.Pipeline(stage).run(everything, str(tmp_path / f"all{seed}"))
        left = [row["text"] for folder in folders for row in dp.open_dataset(folder).take(99)]
        assert left == [row["text"] for row in whole.take(99)]
    assert n_dropped


def test_keys_of_older_dumps_are_borrowed(tmp_path) -> None:
    """Exact and URL hash no document that was hashed when its dump was made; MinHash is not put off by their keys."""
    first, second = (write(tmp_path / f"{k}.jsonl", rows) for k, rows in enumerate(dumps_of(3, 2)))
    old = dp.Pipeline(Exact(), URLDedup(keep="first")).run(first, str(tmp_path / "old"))
    for stage in (Exact(against=old.url), URLDedup(keep="first", against=old.url)):
        out = dp.Pipeline(stage).run(second, str(tmp_path / stage.name))
        (index,) = Path(out.url).glob("steps/*/index.json")
        assert files.read_json(str(index))["keys"] == {"hashed": 1, "found": 0, "borrowed": 1}
    assert len(dp.Pipeline(MinHash(against=old.url)).run(second, str(tmp_path / "minhash"))) > 0


def test_what_is_older_stays_for_url(tmp_path) -> None:
    """A newer capture of an older dump's page goes, with a reason that does not say that it was older."""
    page = {"text": "a", "url": "http://e.org"}
    old = dp.Pipeline().run(write(tmp_path / "old.jsonl", [page | {"date": "2010"}]), str(tmp_path / "old"))
    rows = [page | {"date": "2020"}, *({"text": "b", "url": "http://e.org/b", "date": d} for d in ("2011", "2012"))]
    new = dp.Pipeline(URLDedup(against=old.url)).run(write(tmp_path / "new.jsonl", rows), str(tmp_path / "new"))
    found = {row["reason"]: row["duplicate_of_dataset"] for row in new.drops().to_pylist()}
    assert found == {"same_url": old.url, "older_capture": None}
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"text": "a"}')
    no_url = dp.Pipeline().run(dp.read(str(bare)), str(tmp_path / "bare"))
    with pytest.raises(PlanError, match="must have the column url"):
        dp.Pipeline(URLDedup(against=no_url.url)).run(write(tmp_path / "new.jsonl", rows), str(tmp_path / "no"))


@pytest.mark.parametrize("unit", ["document", "paragraph", "ngram"])
def test_a_saved_filter_goes_on(tmp_path, unit) -> None:
    """With a stated capacity the filter of an older dump is loaded: no older text is read, and the result is the same.

    Removal builds it again from the texts that are left.
    """
    first, second, third = (write(tmp_path / f"{k}.jsonl", rows) for k, rows in enumerate(dumps_of(1, 3)))
    stage = Bloom(unit=unit, ngram=2, threshold=0.5, capacity=2000, error_rate=SURE)
    one = dp.Pipeline(stage).run(first, str(tmp_path / "one"))
    two = dp.Pipeline(replace(stage, against=one.url)).run(second, str(tmp_path / "two"))
    both = dp.Pipeline(replace(stage, against=[one.url, two.url])).run(third, str(tmp_path / "both"))
    assert [d.manifest.fits[0].get("filters") for d in (one, two, both)] == [None, 1, 2]
    paths = [str(tmp_path / f"{k}.jsonl") for k in range(3)]
    whole = dp.Pipeline(stage).run(dp.read(paths, columns=["url", "date"]), str(tmp_path / "whole"))
    left = [row["text"] for d in (one, two, both) for row in d.take(99)]
    assert left == [row["text"] for row in whole.take(99)]
    (saved,) = Path(both.url).glob("steps/*/filter.bloom")
    (wanted,) = Path(whole.url).glob("steps/*/filter.bloom")
    assert saved.read_bytes()[40:] == wanted.read_bytes()[40:]  # the same bits are set
    saved.write_bytes(saved.read_bytes()[:-3])
    again = dp.Pipeline(replace(stage, against=[both.url])).run(third, str(tmp_path / "again"))
    assert again.manifest.fits[0].get("filters") is None  # a damaged file is not used
    other = dp.Pipeline(replace(stage, threshold=0.4, against=one.url)).run(second, str(tmp_path / "other"))
    assert other.manifest.fits[0].get("filters") is None  # nor one of other settings
    with pytest.raises(DataprepError, match="capacity"):
        dp.Pipeline(replace(stage, capacity=2, against=one.url)).run(second, str(tmp_path / "small"))


def test_repeats_within_older_dumps_are_not_gathered(tmp_path) -> None:
    """Windows of older texts are compared only if a new text has one of the same hash."""
    line = {"text": "one two three four five six seven"}
    old = dp.Pipeline().run(write(tmp_path / "old.jsonl", [line] * 3), str(tmp_path / "old"))
    met = {}
    for text in ("eight nine ten eleven", "two three four five", ""):
        new = write(tmp_path / "new.jsonl", [{"text": text}])
        stage = SuffixArray(min_words=3, against=old.url)
        verdict = stage.fit(new, dp.tools.Serial(), str(tmp_path / f"fit-{len(text)}"))
        met[text[:3]] = (verdict.facts["records_met"] > 0, verdict.facts["spans"])
    assert met == {"eig": (False, 0), "two": (True, 1), "": (False, 0)}


def test_an_older_dump_is_not_the_output(tmp_path) -> None:
    """A run with replace=True would delete the Dataset with which it compares."""
    docs = write(tmp_path / "a.jsonl", dumps_of(0)[0])
    old = dp.Pipeline(Exact()).run(docs, str(tmp_path / "old"))
    for out in (old.url, f"{tmp_path}/b/../old/"):
        with pytest.raises(PlanError, match="which a stage reads; choose another folder"):
            dp.Pipeline(MinHash(against=old.url)).run(docs, out, replace=True)
    assert len(dp.open_dataset(old.url)) == len(old)


def bag(texts: list[str]) -> np.ndarray:
    """Counts of letters."""
    return np.array([[text.count(c) + (c == "a") for c in "abcdefgh"] for text in texts], float)


def test_semantic_copies_of_older_dumps_go(tmp_path, monkeypatch) -> None:
    """By a plain search over all documents; new ones do not move the centroids, which are those of the first dump."""
    rng = random.Random(1)
    dumps = [[{"text": "".join(rng.choices("abcdef", k=9))} for _ in range(60)] for _ in range(3)]
    raw = [write(tmp_path / f"{k}.jsonl", rows) for k, rows in enumerate(dumps)]
    old = [dp.Pipeline().run(docs, str(tmp_path / f"old{k}")).url for k, docs in enumerate(raw[:2])]
    texts = [row["text"] for rows in dumps for row in rows]
    for keep in ("first", "farthest"):
        stage = SemDeDup(embed=bag, epsilon=0.03, keep=keep, against=old)
        rows = table_of(stage, raw[2], tmp_path / keep)
        gone = {
            row["id"]: (row["duplicate_of_dataset"], row["duplicate_of"], round(row["similarity"], 4)) for row in rows
        }
        if keep == "first":
            assert gone == semantic_by_force(texts, 120, old)
    assert {home for home, *_ in gone.values()} == {None, *old}
    seen = []
    real = dp.dedup.embeddings.kmeans.k_means
    monkeypatch.setattr("dataprep.dedup.embeddings.kmeans.k_means", lambda s, k: seen.append(len(s)) or real(s, k))
    table_of(SemDeDup(embed=bag, clusters=4, against=old), raw[2], tmp_path / "frozen")
    assert seen == [60]
    with pytest.raises(PlanError, match="diversify=0.5 must be None with against="):
        SemDeDup(embed=bag, diversify=0.5, against=old)


def test_a_model_reads_each_text_once(tmp_path) -> None:
    """Vectors of older dumps are those that were stored, and the decisions are the same as without them."""
    read: list[str] = []
    stage = SemDeDup(embed=lambda texts: read.extend(texts) or bag(texts), version="bag", epsilon=0.03)
    rng, folders, dumps = random.Random(2), list[str](), list[dp.Dataset]()
    for k in range(3):
        dumps.append(write(tmp_path / f"{k}.jsonl", [{"text": "".join(rng.choices("abcdef", k=9))} for _ in range(40)]))
        read.clear()
        stages = [replace(stage, against=folders or None, annotate=k == 1)]
        done = dp.Pipeline(dp.Filter(lambda text: "aa" not in text), *stages).run(dumps[k], str(tmp_path / f"out{k}"))
        assert sorted(read) == sorted(text for text in texts_of(dumps[k]) if "aa" not in text)
        folders.append(done.url)
    last = replace(stage, against=folders[:2])
    wanted = table_of(last, dumps[2], tmp_path / "again")
    assert len({row["duplicate_of_dataset"] for row in wanted}) == 3
    for spoil, n in (("version", 2), ("damaged", 1), ("gone", 2)):
        read.clear()
        if spoil == "damaged":
            (stored,) = Path(folders[0]).glob("steps/*/vectors/part-00000")
            stored.write_bytes(stored.read_bytes()[:-9])
        if spoil == "gone":
            shutil.rmtree(f"{folders[1]}/steps")
        other = replace(last, version="other") if spoil == "version" else last
        assert table_of(other, dumps[2], tmp_path / spoil) == wanted
        assert len(read) == len(dumps[2].take(99)) + sum(len(dp.open_dataset(f)) for f in folders[:n]), spoil
    upper = dp.Pipeline(stage, dp.Map(lambda text: text.upper())).run(dumps[0], str(tmp_path / "upper"))
    read.clear()
    table_of(replace(stage, against=upper.url), dumps[1], tmp_path / "changed")
    assert len(read) == 40 + len(upper)


def test_a_part_reads_only_its_own_stored_vectors(tmp_path, monkeypatch) -> None:
    """Of four files in segments of five vectors, a part reads those of its ids; without a file it is not covered."""
    vectors = np.arange(80, dtype=np.int16).reshape(40, 2)
    urls = tuple(str(tmp_path / f"vectors-{k}") for k in range(4))
    for k, url in enumerate(urls):
        with spill_to(url, 3) as spill:
            for low in (10 * k, 10 * k + 5):
                ids = np.arange(low, low + 5, dtype=np.uint64) + np.uint64(7)
                spill.write([ids, ids, vectors[low : low + 5]])
    read: list[tuple[str, int]] = []
    real = Spill.read

    def noted(self: Spill, segment: int, section: int, *more: Any, **named: Any) -> Any:
        if section == 2:
            read.append((self.f.name[-1], segment))
        return real(self, segment, section, *more, **named)

    monkeypatch.setattr(Spill, "read", noted)
    stored = StoredVectors(urls, 7)
    part = dataset_of(tmp_path, [{"text": str(i)} for i in range(40)], parts=1).parts[0]
    for start, stop, own in ((0, 3, [("0", 0)]), (17, 23, [("1", 1), ("2", 0)]), (38, 40, [("3", 1)])):
        some = replace(part, slices=(replace(part.slices[0], start=start, stop=stop),))
        read.clear()
        assert stored.covers(some)
        assert not read
        found = [row for _, rows in stored.of(some) for row in rows.tolist()]
        assert found == vectors[start:stop].tolist()
        assert read == own
        assert StoredVectors(urls[1:3], 7).covers(some) == (start == 17)


def texts_of(docs: dp.Dataset) -> list[str]:
    """The texts of a small Dataset."""
    return [row["text"] for row in docs.take(99)]


def semantic_by_force(texts: list[str], n_old: int, old: list[str]) -> dict[int, tuple]:
    """Who of the texts after the first `n_old`, which all stay, goes for whom."""
    grid, kept, gone = twins.semantic.on_grid(bag(texts)), list(range(n_old)), {}
    for d in range(n_old, len(texts)):
        hit = next((k for k in kept if twins.semantic.cosine(grid[d], grid[k]) > 0.97), None)
        if hit is None:
            kept.append(d)
        else:
            home = None if hit >= n_old else old[hit // 60]
            gone[d - n_old] = (home, hit % 60, twins.semantic.cosine(grid[d], grid[hit]))
    line = len('{"text": "abcdefghi"}\n')  # ids are offsets
    return {line * d: (home, line * k, s) for d, (home, k, s) in gone.items()}


def test_frequent_units_of_older_dumps_are_placed(tmp_path) -> None:
    """A unit that occurs most stands where it was first: in the older Dataset, with its id there."""
    old = dp.Pipeline().run(dataset_of(tmp_path, ["x", "same\nold"], parts=1), str(tmp_path / "old"))
    docs = dataset_of(tmp_path, ["new\nsame", "same", "new"], parts=1)
    facts = Exact(unit="line", against=[old.url]).fit(docs, dp.tools.Serial(), str(tmp_path / "fit")).facts
    top = {(row["count"], row["id"], row["start"], row.get("in")) for row in facts["top"][:2]}
    assert top == {(3, "1", 0, old.url), (2, "0", 0, None)}
