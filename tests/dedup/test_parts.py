"""Single functions of deduplication against plain twins: seeds, prototypes, groups, older documents, sizes."""

from __future__ import annotations

import random
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
import twins.exact
from dataprep.core.model import batch as B
from dataprep.core.model import tables
from dataprep.core.model.tables import NOBODY, SPAN
from dataprep.core.output.layout import Folder
from dataprep.core.output.pruning import prune
from dataprep.core.pipeline import Pipeline
from dataprep.core.run.runner import Serial
from dataprep.dedup.bloom import Bloom
from dataprep.dedup.embeddings import decide, kmeans
from dataprep.dedup.exact import Exact
from dataprep.dedup.membership import keys as membership
from dataprep.dedup.membership.bloom_filter import BloomFilter, FilterSize
from dataprep.dedup.minhash import MinHash
from dataprep.dedup.near.bands import RATIO, choose, least_jaccard, p_candidate
from dataprep.dedup.older import Joined
from dataprep.dedup.semantic import SemDeDup
from dataprep.dedup.spans.gaps import REPEAT, close_up
from dataprep.dedup.spans.passes import by_place
from dataprep.dedup.substrings import cut, passes
from dataprep.dedup.suffix_array import SuffixArray
from dataprep.dedup.url import URLDedup
from dataprep.errors import PlanError
from dataprep.history.verify import verify
from dataprep.store import parquet, shuffle
from dataprep.store.key import key
from dataprep.store.ranks import mix
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import write_spill


def of_length(texts):
    """Vectors by the length of a text: all different."""
    return [[len(text), 40 - len(text)] for text in texts]


def test_the_seed_decides_the_sample(dataset, tmp_path, monkeypatch):
    """Of 40 documents those with the smallest hashes are clustered; other seeds choose others, for prototypes too."""
    samples = []
    monkeypatch.setattr(kmeans, "SAMPLE_DOCS", 5)
    monkeypatch.setattr(kmeans, "k_means", lambda sample, _: samples.append(sample.tolist()) or sample[:1].copy())
    rows = ["x" * n for n in range(1, 40)]
    for number, seed in enumerate((3, 3, 4)):
        stage = SemDeDup(embed=of_length, clusters=2, seed=seed, epsilon=1e-6, diversify=0.5)
        stage.fit(dataset(rows, parts=2), Serial(), str(tmp_path / str(number)))
    (first, again), (second, _), other = samples[:2], samples[2:4], samples[4]
    assert first == second != other
    everything = kmeans.to_grid(np.array(of_length(rows), float)).tolist()
    order = np.argsort(mix(np.arange(39, dtype=np.uint64) * np.uint64(10), 3))
    assert first == [everything[i] for i in order[: len(first)]]
    assert 2 <= len(first) < 20
    assert 2 <= len(again) < 20


def test_the_seed_decides_the_signature():
    """Permutations of another seed are others, and keys that were stored with it are not those of this one."""
    one, other = (MinHash(seed=seed) for seed in (1, 2))
    assert (one.sketch.permutations[0] != other.sketch.permutations[0]).any()
    assert one.sketch_key != other.sketch_key
    assert one.sketch_key == one.at(0.9).sketch_key
    for seed in (0, 2**32 - 1):
        assert MinHash(seed=seed).sketch.seed == seed
    for seed in (-1, 2**32):
        with pytest.raises(PlanError, match=f"seed={seed}"):
            MinHash(seed=seed)


@settings(max_examples=25)
@given(
    cosines=st.lists(st.lists(st.sampled_from([-10_000, -1, 0, 5, 9_999, 10_000]), max_size=6), min_size=1, max_size=4),
    share=st.sampled_from([4e-7, 3e-6, 0.01, 0.25, 0.5, 1 / 3, 0.99, 1.0]),
)
def test_prototypes_are_the_nearest(tmp_path_factory, cosines, share):
    """The share with the smallest (cosine, id) stays, over all parts together."""
    out = str(tmp_path_factory.mktemp("nearness"))
    every, n = [], 0
    for number, some in enumerate(cosines):
        rows = np.zeros(len(some), kmeans.ROW)
        rows["id"], rows["cosine"] = np.arange(n, n + len(some)), some
        write_spill(kmeans.MeasureNearness.url(out, number), [rows])
        every += zip(some, range(n, n + len(some)), strict=True)
        n += len(some)
    if not n:
        return
    limit = kmeans.cosine_limit(out, len(cosines), share)
    dropped = [int(i) for part in range(len(cosines)) for i in kmeans.prototypes(out, part, limit)["id"]]
    stay = int(np.ceil(round(share * n, 6)))
    assert limit.drops == n - stay
    assert dropped == sorted(i for _, i in sorted(every)[stay:])


@pytest.mark.parametrize(("n_parts", "n_groups"), [(1, 1), (5, 2), (5, 5), (7, 3)])
def test_dropped_ids_are_those_of_the_group(tmp_path, n_parts, n_groups):
    """Each part reads the file of its group."""
    rows = np.zeros((n_groups, 2), kmeans.VERDICT)
    rows["id"] = np.arange(n_groups)[:, None] + [10, 0]
    write_spill(str(tmp_path / "decide-00000"), list(rows))
    sort = kmeans.SortDropped(str(tmp_path), "key", ShuffleFiles(str(tmp_path / "decide-"), 1, n_groups))
    for group in range(n_groups):
        sort(group)
    dropped = kmeans.DroppedIds(str(tmp_path), n_parts, n_groups)
    groups = [dropped.of(part).tolist() for part in range(n_parts)]
    assert groups == [[g, g + 10] for g in (part * n_groups // n_parts for part in range(n_parts))]


def test_sizes_of_partitions():
    """One for nothing, more for more vectors or longer ones, and never more than files may be open."""
    one = decide.PARTITION_BYTES // (decide.HEADER.itemsize + 2 * 64)
    found = [decide.n_partitions(n, 64) for n in (0, 1, one, one + 1, 5 * one // 2, 10**12)]
    assert found == [1, 1, 1, 2, 3, decide.MAX_PARTITIONS]
    assert decide.n_partitions(one, 128) == 2


def joined(*offsets):
    """Older Datasets that begin at ids, and new documents after them."""
    return Joined(None, len(offsets) - 1, 1, tuple(offsets), tuple(f"folder {n}" for n in range(len(offsets) - 1)))


def test_older_documents_have_their_own_ids():
    """In each of several folders; nobody stays nobody, new documents have no folder, old spans are left out."""
    both = joined(0, 100, 250)
    homes, own = both.place(np.array([0, 99, 100, 249, 250, 300, NOBODY], np.uint64))
    assert homes.to_pylist() == ["folder 0"] * 2 + ["folder 1"] * 2 + [None] * 3
    assert own.tolist() == [0, 99, 0, 149, 0, 50, NOBODY]
    rows = np.zeros(3, SPAN)
    rows["id"], rows["duplicate_of"], rows["start"], rows["end"] = (249, 250, 251), (0, 101, 250), (1, 2, 3), (4, 5, 6)
    table = both.spans(rows).to_pylist()
    assert [(r["id"], r["duplicate_of"], r["duplicate_of_dataset"], r["start"], r["end"]) for r in table] == [
        (0, 1, "folder 1", 2, 5), (1, 0, None, 3, 6)
    ]  # fmt: skip
    assert rows["id"].tolist() == [249, 250, 251]
    alone = joined(0)
    assert alone.place(np.array([5], np.uint64))[0].to_pylist() == [None]
    assert len(alone.new(rows)) == 3


@pytest.mark.parametrize("groups", [[0], [10, 20, 30], list(range(0, 5000, 2))])
def test_groups_of_repeats(groups):
    """Groups begin at given ids, and share out all rows in order."""
    rows = np.random.default_rng(2).integers(groups[0], 6000, (400, 7)).astype(np.uint64)
    split = cut.by_group(rows, groups)
    assert len(split) == len(groups)
    assert sum(map(len, split)) == 400
    for found, low, high in zip(split, groups, [*groups[1:], 10**9], strict=True):
        assert ((found[:, 0] >= low) & (found[:, 0] < high)).all()


@pytest.mark.parametrize("sizes", [[], [0], [0, 9, 9, 0, 9], [30], [4, 4, 4, 25, 5, 10, 1, 0, 11, 4, 0]])
def test_small_parts_share_a_group(monkeypatch, sizes):
    """Each group has at most ten bytes; each part knows those that its documents are in, a document per byte."""
    monkeypatch.setattr(passes, "GROUP_BYTES", 10)
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    parts = [(list(range(end - n, end, 10)), n) for end, n in zip(ends, sizes, strict=True)]
    groups, found = cut.groups_of(parts)
    assert groups.tolist() == sorted({0, *groups.tolist()})
    assert len(groups) == len(found) == 0 or np.diff([*groups.tolist(), sum(sizes)]).max() <= 10
    assert all(first in {first for some, _ in parts for first in some} for first in groups.tolist()[1:])
    for end, n, (firsts, before) in zip(ends, sizes, found, strict=True):
        assert firsts == tuple(groups[before : before + len(firsts)].tolist())
        for id_ in range(end - n, end):
            group = int(np.searchsorted(groups, id_, "right")) - 1
            assert before <= group < before + len(firsts)
    if len(sizes) > 9:
        assert groups.tolist() == [0, 8, 12, 22, 32, 42, 52, 53, 63]


def test_choosing_bands():
    """No other choice of at most 256 hashes with the recall proposes fewer unlike pairs."""
    for threshold, recall in ((0.8, 0.99), (0.5, 0.9), (1.0, 0.99)):
        bands, rows = choose(threshold, recall)
        assert bands * rows <= 256
        assert p_candidate(threshold, bands, rows) >= recall
        low = 0.5 * threshold / 0.8
        for r in range(1, 257):
            for b in range(1, 256 // r + 1):
                if p_candidate(threshold, b, r) >= recall:
                    assert (p_candidate(low, b, r), b * r) >= (p_candidate(low, bands, rows), bands * rows)
    assert choose(0.001) is None
    assert (MinHash(threshold=1).settings.threshold, Bloom(threshold=1.0).threshold) == (1, 1)
    small, long = 100, 100 * RATIO  # 80 of a document's 100 shingles are in one that is RATIO times as long
    assert least_jaccard(0.8, "containment") == pytest.approx(80 / (small + long - 80))


def test_a_filter_that_goes_on(tmp_path):
    """It has the keys of all files and an estimate of their number; of one file, its number; of none, nothing."""
    size, rng = FilterSize(2000, 1e-3), np.random.default_rng(1)
    keys = rng.integers(0, 2**63, 1500).astype(np.uint64)
    urls = []
    for number, some in enumerate((keys[:600], keys[300:1200])):
        one = BloomFilter(size)
        one.enter(some)
        one.save(str(tmp_path / f"{number}.bloom"))
        urls.append(str(tmp_path / f"{number}.bloom"))
    assert BloomFilter.load(size).n_keys == 0
    assert BloomFilter.load(size, urls[:1]).n_keys == 600
    both = BloomFilter.load(size, urls)
    assert 1180 <= both.n_keys <= 1220
    assert both.enter(keys[:1200]).all()
    assert both.enter(keys[1200:]).sum() <= 3


KINDS = [  # the stage, whether it cuts, whether it only drops; with annotate, it only adds columns
    (Exact(), False), (Exact(unit="line"), True), (Bloom(), False), (Bloom(unit="paragraph"), True),
    (Bloom(unit="ngram"), True), (SuffixArray(), True), (MinHash(), False), (URLDedup(), False), (SemDeDup(), False),
]  # fmt: skip


def test_decisions_in_several_files_are_the_same(tmp_path, monkeypatch):
    """Tables of many files drop and cut what tables of one file do; `verify` finds a lost one, and `prune` all."""
    rows = [f"page {n % 9} of one\n\nline {n % 4} in \u0641\u0627\u0633\n\nword {n}" for n in range(40)]
    stages = Exact(unit="line"), SuffixArray(min_words=2), MinHash(bands=4, rows=2)
    docs, out = laws.dataset_of(tmp_path, rows, parts=8), tmp_path / "several"
    Pipeline(*stages).run(docs, str(tmp_path / "one"), Serial())
    monkeypatch.setattr(tables, "VERDICT_ROWS", 3)
    monkeypatch.setattr(parquet, "FILE_GROUPS", 2)
    Pipeline(*stages).run(docs, str(out), Serial())
    laws.same_result(tmp_path / "one", out)
    pieces = sorted(out.glob("steps/*/*.parquet/part-*"))
    assert len(pieces) > 6
    assert {path.parts[-3][3:8] for path in pieces} >= {"Exact", "Suffi"}
    assert verify(str(out))[str(out)] == []
    pieces[1].write_bytes(pieces[1].read_bytes()[:-1])
    assert [one.file for one in verify(str(out))[str(out)]] == [str(pieces[1].relative_to(out))]
    shutil.copy(pieces[0], pieces[1].with_name("part-00099.parquet"))
    _, extra = verify(str(out))[str(out)]
    assert "does not belong to the result" in extra.found
    assert extra.do.startswith("remove it")  # a new run keeps files that dataprep did not write
    pieces[1].with_name("part-00099.parquet").unlink()
    prune(Folder(str(out)))
    assert not [path for path in out.glob("steps/*/*") if path.name != "input"]


@pytest.mark.parametrize("stage", [Bloom(unit="paragraph"), SemDeDup(embed=of_length)], ids=lambda stage: stage.name)
def test_tables_of_several_tasks_are_the_same(tmp_path, monkeypatch, stage):
    """Stopped before they are written, and gone on with: each task has some rows, in order of ids."""
    docs = laws.dataset_of(tmp_path, [f"{'x' * (n % 9)}\n\n{n % 4} \u0641\u0627\u0633" for n in range(60)], parts=6)
    Pipeline(stage).run(docs, str(tmp_path / "one"), Serial())
    for module, name, value in (
        (tables, "VERDICT_ROWS", 3), (parquet, "FILE_GROUPS", 2), (membership, "SEEN_ROWS", 4), (shuffle, "FAN_IN", 2),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    out = tmp_path / "several"
    with pytest.raises(KeyboardInterrupt):
        Pipeline(stage).run(docs, str(out), laws.Stops(at=f"{stage.name}: write table"))
    Pipeline(stage).run(docs, str(out), Serial())
    laws.same_result(tmp_path / "one", out)
    assert len(list(out.glob("steps/*/*.parquet/part-*"))) > 3
    assert verify(str(out))[str(out)] == []


@pytest.mark.parametrize(("stage", "cuts"), KINDS, ids=lambda value: repr(value)[:24])
def test_what_cuts_and_what_only_drops(stage, cuts):
    """Later stages decide by this whether they may use stored keys of the texts."""
    assert (stage.cuts, stage.only_drops) == (cuts, not cuts)
    assert (stage.prefix, replace(stage, annotate=True).prefix) == (None, "")
    assert replace(stage, annotate="near_").only_drops is True
    assert replace(stage, annotate=True).cuts is cuts
    assert len({key(stage), key(replace(stage, annotate=True)), key(replace(stage, annotate="near_"))}) == 3


@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["b", "a"], ["a", "b", "c"]])
def test_all_chosen_columns_are_compared(drops, names):
    """One, two or three; the same letters, divided otherwise among columns, are not the same."""
    values = [("x", "y", "z"), ("x", "y", "w"), ("x", "z", "z"), ("xy", "", "z"), ("", "xy", "z"), ("x", "y", "z")]
    rows = [{"text": "t", **dict(zip("abc", row, strict=True))} for row in values]
    first, expected = {}, {}
    for number, row in enumerate(rows):
        chosen = tuple(row[name] for name in names)
        if any(chosen) and first.setdefault(chosen, number) != number:
            expected[number] = (first[chosen], 1.0)
    assert drops(Exact(columns=names), rows) == expected


def test_counts_of_a_search_that_finds_nothing(dataset, tmp_path):
    """No candidates, and no component of one."""
    found = MinHash().fit(dataset(["one two three", "four five six", ""]), Serial(), str(tmp_path)).facts
    assert {name: found[name] for name in ("documents", "candidates", "largest_component", "edges", "dropped")} == {
        "documents": 3, "candidates": 0, "largest_component": 0, "edges": 0, "dropped": 0
    }  # fmt: skip


@pytest.mark.parametrize("text", ["  x  \n y", " \n x \n\n", "a\n\n x \n\nb", "x", " x ", "a x"])
def test_a_repeat_with_white_space_on_both_sides(text):
    """The spans of one repeat are in order, touch each other, and cover it and at most one gap but at an end."""
    at = text.index("x")
    repeat = np.zeros(1, REPEAT)
    repeat["start"], repeat["end"] = at, at + 1
    spans, undecided = close_up(repeat, B.make([0], [text], "s"), strips=True, final=True)
    assert not len(undecided)
    assert spans["start"].tolist()[1:] == spans["end"].tolist()[:-1]
    low, high = int(spans["start"][0]), int(spans["end"][-1])
    assert low <= at < high
    assert set(text[low:at] + text[at + 1 : high]) <= {" ", "\n"}
    left = text[:low] + text[high:]
    assert left.strip() == text.replace("x", " ").strip() or "\n\n" in left


@pytest.mark.parametrize("seed", range(4))
def test_texts_close_up_where_repeats_are_cut(seed):
    """As a plain rule for strings has it, with white space of every kind around and between them."""
    rng = random.Random(seed)
    texts, repeats, cuts = [], [], []
    for number in range(60):
        pieces = [rng.choice(("x", "yé", " ", "\n", "\r\n", "\u00a0", "\t", "\n\n")) for _ in range(rng.randrange(9))]
        text = "".join(pieces)
        chosen = [m.span() for m in re.finditer(r"[^\n]*[^\s][^\n]*", text) if rng.random() < 0.6]
        for a, b in chosen:
            start, end = len(text[:a].encode()), len(text[:b].encode())
            repeats.append((number, start, end, 7, 0, end - start))
        texts.append(text)
        cuts.append(chosen)
    fields = ("id", "start", "end", "duplicate_of", "duplicate_of_start", "duplicate_of_end")
    given = np.zeros(len(repeats), REPEAT)
    for name, column in zip(fields, zip(*repeats, strict=True), strict=True):
        given[name] = column
    batch = B.make(list(range(60)), texts, "s")
    for strips in (True, False):
        spans, undecided = close_up(given, batch, strips=strips, final=True)
        assert not len(undecided)
        for number, text in enumerate(texts):
            own, raw, last, left = spans[spans["id"] == number], text.encode(), 0, b""
            for span in own:
                assert span["start"] < span["end"] <= len(raw)
                assert span["start"] >= last
                left, last = left + raw[last : span["start"]], span["end"]
                if span["duplicate_of"] == NOBODY:
                    assert not strips
                    assert not raw[span["start"] : span["end"]].decode().strip()
                    assert (span["duplicate_of_start"], span["duplicate_of_end"]) == (0, 0)
                elif not strips:
                    assert span["duplicate_of_end"] - span["duplicate_of_start"] == span["end"] - span["start"]
            assert (left + raw[last:]).decode() == twins.exact.without(text, cuts[number]), (text, cuts[number])
    _, undecided = close_up(given, batch, strips=True, final=False)
    assert undecided["id"].tolist() in ([], [max(given["id"])] * len(undecided))
    assert len(undecided)


@pytest.mark.parametrize("n", [0, 1, 300])
def test_rows_are_sorted_by_document_and_byte(n):
    """As NumPy's `lexsort` has it, for the largest ids and offsets too, and rows of equal places in their order."""
    rng = np.random.default_rng(n)
    ids = np.uint64(2**64 - 9) + rng.integers(0, 9, n).astype(np.uint64)
    start = rng.choice(np.array([0, 1, 7, 2**31, 2**32 - 1]), n)
    assert by_place(ids, start).tolist() == np.lexsort((start, ids)).tolist()
