"""SuffixArray: both engines against brute force, on texts of every kind, with memory for almost nothing."""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
import twins.suffix_array
from dataprep.core.run import merge
from dataprep.dedup.substrings import passes as windows
from dataprep.dedup.substrings import search as windows_search
from dataprep.dedup.suffix_array import SuffixArray
from dataprep.errors import PlanError
from dataprep.read import parts as plan
from dataprep.store import shuffle

UNIT = 10  # ids of the `dataset` fixture
COLUMNS = ("id", "start", "end", "duplicate_of", "duplicate_of_start", "duplicate_of_end")
PIECES = ["a", "b", "ab", "aba", "abc ", " ", "\n", "le chat ", "é", "سلام ", "يا", "😀", "👩‍👧", "e\u0301", "x_1", "٣"]
TEXTS = st.lists(
    st.one_of(
        st.text("ab", max_size=60),
        st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
        st.lists(st.sampled_from(PIECES), min_size=4, max_size=6).map(lambda p: "".join(p) * 7),
        st.sampled_from(["", "a" * 50, " " * 30, "the cat sat\n" * 5, "the cats sat\n" * 4, "😀" * 20]),
    ),
    max_size=9,
)


def spans(stage: SuffixArray, made) -> list[tuple[int, ...]]:
    """The spans, with documents numbered: all their bytes are those first read. Only the table is left behind."""
    with tempfile.TemporaryDirectory() as out:
        table = pq.read_table(stage.fit(made, dp.tools.Serial(), out).spans)
        assert {p.name for p in Path(out).iterdir()} == {"spans.json", "spans.parquet"}
    columns = zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True)
    rows = [(d // UNIT, start, end, kept // UNIT, at, to) for d, start, end, kept, at, to in columns]
    texts = [text.encode() for text in made.table(["text"]).column("text").to_pylist()]
    for d, start, end, kept, at, to in rows:
        assert texts[d][start:end] == texts[kept][at:to] != b""
        assert (kept, at) < (d, start)
    return rows


@settings(max_examples=60)
@given(TEXTS, st.booleans(), st.integers(1, 12), st.sampled_from(["char", "word", "line"]), st.integers(1, 4))
def test_both_engines_are_brute_force(dataset, texts, by_word, length, cut, parts) -> None:
    """The same spans and first occurrences, for windows of bytes and of words, however texts are cut into parts."""
    width = 1 + length // 3 if by_word else 3 + length
    expected = twins.suffix_array.repeated_spans(texts, width, by_word, cut)
    chosen = {"min_words" if by_word else "min_bytes": width, "cut": cut}
    made = dataset(texts, parts=parts, cut=length)
    assert spans(SuffixArray(engine="windows", **chosen), made) == expected
    assert spans(SuffixArray(engine="suffix_array", **chosen), made) == expected


def fibonacci(n: int) -> str:
    """A word without long runs, all of whose parts come back."""
    a, b = "a", "ab"
    while len(b) < n:
        a, b = b, b + a
    return b[:n]


def random_text(seed: int, n: int, letters: str = "abcdefgh ") -> str:
    """Letters drawn at random."""
    return "".join(random.Random(seed).choices(letters, k=n))


HARD = {
    "one byte": ["a" * 3000, "b", "a" * 2000],
    "one character": ["é" * 900, "é" * 500],
    "periods": ["ab" * 900, "abc" * 700, "abcdefg" * 300, "ba" * 500],
    "fibonacci": [fibonacci(2500), fibonacci(1800)[7:]],
    "thue-morse": ["".join("ab"[i.bit_count() & 1] for i in range(n)) for n in (2048, 999)],
    "copies": ["one short text, told again\n"] * 1000,
    "overlap": [random_text(1, 150) * 5, random_text(1, 150)[40:] * 3],
    "rows": ["head\n" + "| a | b |\n" * 60, "|  | b |\n" + "| a | b |\n" * 40 + "foot", "é-\n" * 90, "xé-\n" * 70],
    "nothing": [random_text(2, 3000)],
    "spaces": [" " * k + random_text(k, 60) + " " * (90 - k) for k in range(90)],
}  # fmt: skip


@pytest.mark.parametrize("kind", HARD)
def test_hard_texts_are_brute_force(dataset, kind) -> None:
    """Runs, periods, texts made of themselves, copies: the same spans as brute force finds."""
    for chosen in (
        {"min_bytes": 40},
        {"min_bytes": 7, "cut": "word"},
        {"min_bytes": 25, "cut": "line"},
        {"min_words": 5},
    ):
        width, by_word = chosen.get("min_words", 0) or chosen["min_bytes"], "min_words" in chosen
        expected = twins.suffix_array.repeated_spans(HARD[kind], width, by_word, chosen.get("cut", "char"))
        made = dataset(HARD[kind], parts=2, cut=40)
        for engine in ("windows", "suffix_array"):
            assert spans(SuffixArray(engine=engine, **chosen), made) == expected, (chosen, engine)


@pytest.mark.parametrize("chosen", [{"min_bytes": 20}, {"min_words": 4}, {"min_bytes": 30, "cut": "line"}])
def test_almost_no_memory_gives_the_same(dataset, monkeypatch, chosen) -> None:
    """Tiny segments, partitions, tables, groups: many passes, hashes with partitions of their own, the same spans."""
    rng = random.Random(5)
    texts = [random_text(7, 300), *HARD["spaces"][:40], *HARD["copies"][:60], "a" * 700, "a" * 300, "ab " * 200]
    texts += [" ".join(f"w{rng.randrange(99)} alpha beta" for _ in range(4)) for _ in range(80)]
    texts += [texts[rng.randrange(len(texts))][rng.randrange(30) :] for _ in range(60)]
    made = dataset(texts, parts=4, cut=9)
    expected = spans(SuffixArray(engine="suffix_array", **chosen), made)
    streamed = []
    for module, name, value in (
        (windows, "SEGMENT_BYTES", 400), (windows, "COUNT_RECORDS", 60), (windows, "PARTITION_BYTES", 3000),
        (windows, "GROUP_BYTES", 500), (windows_search, "TABLE_WINDOWS", 4), (windows_search, "POOL_BYTES", 500),
        (windows_search, "BLOCK_RECORDS", 7), (windows_search, "BLOCK_BYTES", 300), (shuffle, "FAN_IN", 2),
        (merge, "MAX_SECTIONS", 3),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    real, forget = windows_search.CompareRecords._streamed, windows_search._discard
    monkeypatch.setattr(windows_search, "_discard", lambda *a: streamed.append("again") or forget(*a))
    monkeypatch.setattr(windows_search.CompareRecords, "_streamed", lambda *a: streamed.append("heavy") or real(*a))
    assert spans(SuffixArray(**chosen), made) == expected
    assert {"heavy", "again"} <= set(streamed)
    assert len(expected) > 30


def test_the_first_occurrence_stays(dataset) -> None:
    """Later ones go, across parts; a first occurrence may itself lose bytes to an earlier one."""
    a, b = "first sentence of all. ", "second sentence here. "
    texts = [a, "x" + a + b, b + "y"]
    assert spans(SuffixArray(min_bytes=20), dataset(texts, parts=3)) == [(1, 1, 24, 0, 0, 23), (2, 0, 22, 1, 24, 46)]


def test_windows_of_words_begin_and_end_with_words(dataset) -> None:
    """The bytes "cat sat on" inside "concat sat only" are no window of three words; upper case is another text."""
    texts = ["concat sat only", "a cat sat on", "A cat sat on it", "Cat sat on"]
    assert spans(SuffixArray(min_words=3), dataset(texts)) == [(2, 2, 12, 1, 2, 12)]
    assert spans(SuffixArray(min_bytes=10), dataset(texts))[0] == (1, 2, 12, 0, 3, 13)


def test_cuts_keep_words_and_lines_whole(dataset) -> None:
    """The same repeat, cut at code points, words and lines; what shrinks to nothing stays."""
    texts = ["one line\nهذا سطر\nover here", "tone line\nهذا سطر\nover there"]
    cut = {how: spans(SuffixArray(min_bytes=12, cut=how), dataset(texts)) for how in ("char", "word", "line")}
    begun = len("tone line\nهذا سطر\n".encode())
    assert cut["char"] == [(1, 1, begun + len("over "), 0, 0, begun - 1 + len("over "))]
    assert cut["word"] == [(1, 4, begun + len("over "), 0, 3, begun - 1 + len("over "))]
    assert cut["line"] == [(1, len("tone line\n"), begun, 0, len("one line\n"), begun - 1)]
    assert (
        spans(SuffixArray(min_bytes=12, cut="line"), dataset(["no line feed at all", "no line feed at all, or"])) == []
    )


@pytest.mark.parametrize("chosen", [{"min_bytes": 100}, {"min_words": 20, "cut": "word"}])
def test_real_texts_and_long_ones(dataset, shared, chosen) -> None:
    """Both engines agree on a handbook in eight languages, and on one document of it all."""
    import gzip
    import json

    place = shared / "text" / "multilingual" / "debian_handbook_8lang.jsonl.gz"
    with gzip.open(place, "rt", encoding="utf-8") as f:
        texts = [json.loads(line)["text"] for line in itertools.islice(f, 400)]
    for rows in (texts, ["".join(texts)]):
        made = dataset(rows, parts=min(3, len(rows)), cut=50)
        found = spans(SuffixArray(**chosen), made)
        assert found == spans(SuffixArray(engine="suffix_array", **chosen), made)
        assert len(found) > 20


PIPELINE = dp.Pipeline(SuffixArray(min_bytes=30, cut="word", min_remaining_chars=5))


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """Two JSONL files in several parts, half of whose sentences come back."""
    import json

    monkeypatch.setattr(plan, "PART_BYTES", 6_000)
    pool = [random_text(k, 50) for k in range(200)]
    rng = random.Random(3)
    rows = [" ".join(rng.choices(pool, k=rng.randrange(5))) for _ in range(200)]
    for name, half in (("a", rows[:100]), ("b", rows[100:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in half))
    return dp.read([str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")])


def test_runners_agree_and_the_text_is_cut(corpus, tmp_path) -> None:
    """Serial and two processes seal the same bytes; what is left is the text without its spans; the facts add up."""
    assert len(corpus.parts) > 3
    one = PIPELINE.run(corpus, str(tmp_path / "one"))
    PIPELINE.run(corpus, str(tmp_path / "two"), laws.TWO)
    laws.same_bytes(tmp_path / "one", tmp_path / "two")
    rows = corpus.table(["id", "text"]).to_pylist()
    texts = [row["text"].encode() for row in rows]
    gone = twins.suffix_array.repeated_spans([t.decode() for t in texts], 30, False, "word")
    cut = [set() for _ in texts]
    for d, start, end, *_ in gone:
        cut[d].update(range(start, end))
    texts = [bytes(b for i, b in enumerate(t) if i not in cut[d]) for d, t in enumerate(texts)]
    left = {row["id"]: row["text"].encode() for row in one.table(["id", "text"]).to_pylist()}
    short = {d for d, *_ in gone if len(texts[d].split()) == 0 or sum(map(len, texts[d].split())) < 5}
    assert left == {row["id"]: t for d, (row, t) in enumerate(zip(rows, texts, strict=True)) if d not in short}
    facts = one.manifest.fits[0]
    assert facts["spans"] == sum(len(own - {i + 1 for i in own}) for own in cut)
    assert facts["bytes_cut"] == sum(map(len, cut))
    assert facts["documents_cut"] == len({d for d, *_ in gone})
    assert one.stats["SuffixArray"].docs_dropped == len(short) > 0


def test_an_interrupted_search_goes_on(corpus, tmp_path, monkeypatch) -> None:
    """Stopped in any pass, and gone on with, the result is that of an uninterrupted run that merges no files."""
    PIPELINE.run(corpus, str(tmp_path / "whole"))
    out = str(tmp_path / "torn")
    for module, name, value in (
        (shuffle, "FAN_IN", 2), (merge, "MAX_SECTIONS", 3), (windows, "COUNT_RECORDS", 400),
        (windows, "GROUP_BYTES", 2000), (windows, "PARTITION_BYTES", 6000),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    passes = "hash, merge hashes, count, merge counts, gather, merge texts, compare, merge repeats, divide repeats"
    for stopped in (*passes.split(", "), "sort", "shrink"):
        with pytest.raises(KeyboardInterrupt):
            PIPELINE.run(corpus, out, laws.Stops(at=f"SuffixArray: {stopped}"))
    PIPELINE.run(corpus, out)
    laws.same_bytes(tmp_path / "whole", tmp_path / "torn")


def test_nothing_in_is_nothing_out(dataset) -> None:
    """No parts, no documents, empty ones, one short one: no spans."""
    for made in (laws.Dataset(()), dataset([]), dataset(["", "", ""], parts=2), dataset(["a"]), dataset(["a b c"] * 3)):
        for engine in ("windows", "suffix_array"):
            assert spans(SuffixArray(engine=engine), made) == []


def test_the_engine_is_no_part_of_the_recipe() -> None:
    """Engines cut the same bytes, so a finished run is not repeated for another one; all else is in the key."""
    made = [{}, {"min_words": 51}, {"min_bytes": 50}, {"cut": "word"}, {"min_remaining_chars": 2}]
    assert laws.key(SuffixArray(engine="suffix_array")) == laws.key(SuffixArray())
    assert len({laws.key(SuffixArray(**chosen)) for chosen in made}) == len(made)
    for chosen in made:
        laws.key_and_pickle_are_stable(SuffixArray(**chosen))


def test_what_does_not_fit_is_refused(dataset, monkeypatch, tmp_path) -> None:
    """The suffix array says what it would take and names the other engine; a missing package names its extra."""
    made, stage = dataset(["some text"] * 9), SuffixArray(engine="suffix_array")
    with pytest.raises(PlanError, match="engine='windows'"):
        stage.fit(made, dp.tools.Serial(memory=600 << 20), str(tmp_path))
    monkeypatch.setitem(sys.modules, "pydivsufsort", None)
    with pytest.raises(PlanError, match=r"dataprep-lm\[dedup\]"):
        stage.fit(made, dp.tools.Serial(), str(tmp_path))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"min_words": 50, "min_bytes": 100}, "one of them"),
        ({"min_words": 0}, "1 to"),
        ({"min_bytes": 3}, "4 to"),
        ({"min_bytes": 2.5}, "4 to"),
        ({"cut": "sentence"}, "'line'"),
        ({"engine": "fm"}, "'windows'"),
        ({"min_remaining_chars": -1}, "min_remaining_chars=-1"),
    ],
)
def test_wrong_parameters_are_named(wrong, says) -> None:
    """One sentence that says what there is."""
    with pytest.raises(PlanError, match=says):
        SuffixArray(**wrong)
