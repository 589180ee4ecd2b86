"""Kernels of repeated windows against plain Python: equal bytes, records on disk, grams, and the records of windows."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

from dataprep.core.model import batch as B
from dataprep.dedup.substrings import minimizers as M
from dataprep.dedup.substrings import records as R
from dataprep.dedup.substrings import repeats, word_spans
from dataprep.dedup.substrings.block import RecordBlock, scratch_for
from dataprep.dedup.substrings.compare import by_groups
from dataprep.dedup.substrings.passes import HEADER, WHOLE, Partitions, shared_bytes
from dataprep.dedup.substrings.same_bytes import same_after, same_before
from dataprep.dedup.substrings.window_table import table_for
from dataprep.store.ranks import mix
from dataprep.unicode.hashes import mix64
from dataprep.unicode.words import word_table
from twins.words import spans

TEXTS = ["", "a", "the cat  the cat\nthe hat", "Zoë! 王小明来了。 don't e-mail", " \n x", "a a a a a a a a", "ab" * 9]


def column(texts):
    """Texts as a kernel reads them, in the middle of a longer column."""
    return B.buffers(pa.array(["before", *texts, "behind"], pa.large_string()).slice(1, len(texts)))


@pytest.mark.parametrize("seed", range(3))
def test_equal_bytes_are_counted(seed):
    """Forwards and backwards, eight at a time or alone, and at most so many."""
    rng = random.Random(seed)
    data = np.frombuffer(bytes(rng.choices(b"ab", (30, 1), k=300)), np.uint8)
    for _ in range(150):
        a, b = rng.randrange(300), rng.randrange(300)
        most = rng.choice((-1, 0, 7, 8, 9, rng.randrange(300)))
        ahead, behind = min(most, 300 - max(a, b)), min(most, a, b)
        equal = [data[a + k] == data[b + k] for k in range(max(0, ahead))]
        assert same_after(data, a, data, b, ahead) == [*equal, False].index(False)
        equal = [data[a - k - 1] == data[b - k - 1] for k in range(max(0, behind))]
        assert same_before(data, a, b, behind) == [*equal, False].index(False)


def test_where_a_code_point_is_cut():
    """The bytes of it before the end; none of one that began before the range."""
    raw = "aé€😀z😀€é".encode()
    data = np.frombuffer(raw, np.uint8)
    for start, end in itertools.combinations_with_replacement(range(len(raw) + 1), 2):
        left = raw[start:end]
        whole = left.decode("utf-8", "ignore").encode() if left else b""
        lead = next((i for i in range(len(left)) if left[i] & 0xC0 != 0x80), len(left))
        cut = len(left) - lead - len(left[lead:].decode("utf-8", "ignore").encode())
        assert repeats.split_point(data, start, end) == cut, (start, end, whole)


@pytest.mark.parametrize("n", [0, 1, 2, 700])
def test_rows_are_sorted_by_their_keys(n):
    """Of any bits; equal keys stay in their order."""
    rng = np.random.default_rng(n)
    for shift in (0, 10, 11, 33, 53, 63):
        keys = rng.integers(0, 1 << 11, n, np.uint64) << np.uint64(shift)
        order = rng.permutation(n)
        found = repeats.sorted_by(keys, order.copy())
        assert found.tolist() == sorted(order.tolist(), key=lambda k: int(keys[k]))
    rows = rng.integers(0, 9, (n, 7), np.uint64)
    assert repeats.in_order(rows).tolist() == sorted(rows.tolist(), key=lambda row: row[:2])


def test_records_are_sorted_by_bucket():
    """The leading twelve bits; in a bucket, in their order after a row with the part; which is found when joined."""
    hashes = mix(np.arange(3000, dtype=np.uint64) % 900, 1) | np.uint64(1) << np.uint64(63)
    info = np.arange(1, 3001, dtype=np.uint64)
    found, cuts = R.by_bucket(hashes, info, 7)
    rows = sorted(zip(hashes.tolist(), info.tolist(), strict=True), key=lambda row: row[0] >> 52)
    held = {b: list(some) for b, some in itertools.groupby(rows, lambda row: row[0] >> 52)}
    for b, (low, high) in enumerate(itertools.pairwise(cuts.tolist())):
        assert list(map(tuple, found[low:high].tolist())) == ([(7, 0), *held[b]] if b in held else [])
    joined, parts = R.of_parts(np.concatenate([found, R.by_bucket(hashes[:5], info[:5], 2**31)[0], found[:0]]))
    assert list(map(tuple, joined[:-5].tolist())) == rows
    assert parts.tolist() == [7] * 3000 + [2**31] * 5
    assert len(R.of_parts(found[:0])[1]) == 0


@pytest.mark.parametrize(("n_old", "seed"), [(0, 1), (1, 2), (2, 1), (2, 2)])
def test_hashes_that_occur_once_are_dropped(n_old, seed):
    """Unless a record is tied; and those that only older runs have. Memory is counted per bin, or by frequent hash."""
    rng = random.Random(seed)
    first, last = 5, 9
    known = [rng.randrange(first << 52, last << 52) for _ in range(60)]
    known += [known[k] + 32 * k for k in range(20)]  # of the same slots
    runs = []
    for _ in range(4):
        some = [(h, rng.randrange(1, 30) | (rng.random() < 0.1) << 24) for h in rng.choices(known, k=60)]
        runs.append(sorted(some, key=lambda row: row[0] >> 52))
    rows = [row for run in runs for row in run]
    by_hash = defaultdict(list)
    for number, run in enumerate(runs):
        for h, info in run:
            by_hash[h].append((number, info))
    kept, weight = set(), {}
    for h, held in by_hash.items():
        if any(number >= n_old for number, _ in held) and (len(held) > 1 or held[0][1] >> 24):
            kept.add(h)
            weight[h] = sum(7 + 3 * (info & M.MAX_WINDOWS) for _, info in held)
    heavy = sorted(weight.values())[len(weight) // 2]
    cuts = np.cumsum([0, *map(len, runs)])
    is_old = np.arange(len(rows)) < cuts[n_old]
    if seed == 1:  # as from merged files: all in one run
        order = sorted(range(len(rows)), key=lambda k: rows[k][0] >> 52)
        rows, is_old, cuts = [rows[k] for k in order], is_old[order], cuts[[0, -1]]
    keep, bins, heavies = R.repeated(np.array(rows, np.uint64), cuts, is_old, first, last, 7, 3, heavy)
    assert keep.tolist() == [h in kept for h, _ in rows]
    expected = [0] * (last - first) * R.FINE
    for h in kept:
        if weight[h] <= heavy:
            expected[(h >> 48) - first * R.FINE] += weight[h]
    assert bins.tolist() == expected
    assert {tuple(row) for row in heavies.tolist()} == {(h, weight[h]) for h in kept if weight[h] > heavy}
    assert len(heavies) > 16


def test_ranges_of_bytes_are_packed():
    """In the order asked for, without the first bytes that the one before has."""
    data = np.frombuffer(bytes(range(50)), np.uint8)
    at, size = np.array([3, 20, 0, 49]), np.array([5, 9, 4, 1])
    order, shared = np.array([2, 0, 3, 1]), np.array([0, 1, 0, 9])
    assert R.pack(data, at, size, shared, order).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 49]
    headers = np.zeros(5, HEADER)
    headers["id"], headers["offset"], headers["size"] = [1, 1, 1, 2, 2], [0, 3, 8, 8, 10], [5, 5, 2, 9, 9]
    assert shared_bytes(headers).tolist() == [0, 2, 0, 0, 7]
    headers["info"][4] = WHOLE
    assert shared_bytes(headers).tolist() == [0, 2, 0, 0, 0]
    assert len(shared_bytes(headers[:0])) == 0


def test_partitions_of_hashes():
    """The leading bits choose the bin, and the bins a partition; hashes of much text have their own, the last ones."""
    n_bins, heavy = R.BUCKETS * R.FINE, 5
    partitions = Partitions((0, 1, n_bins // 2, n_bins - 1), (heavy,))
    wide = (1 << 64) // n_bins
    hashes = [0, heavy, wide - 1, wide, (1 << 63) - 1, 1 << 63, (1 << 64) - wide - 1, (1 << 64) - wide, (1 << 64) - 1]
    assert partitions.of(np.array(hashes, np.uint64)).tolist() == [0, 4, 0, 1, 1, 2, 2, 3, 3]


def spans_of_words(text):
    """(start, end) of the words of a text, in bytes."""
    return [(len(text[:a].encode()), len(text[:b].encode())) for a, b in spans(text)]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_words_of_windows(text):
    """Where words are; from each of them on, how many bytes so many words have."""
    offsets, data = column([text])
    places, low, table = spans_of_words(text), int(offsets[0]), word_table()
    for room in (1, 2, 50):
        out = word_spans.empty_words(room)
        n = word_spans.cut_words(data, low, int(offsets[1]), table, out)
        assert n == min(room, len(places))
        cut = list(zip((out.start[:n] - low).tolist(), (out.end[:n] - low).tolist(), strict=True))
        assert cut == places[:n]
    asked = [(k, n) for k in range(len(places)) for n in (1, 2, 3, len(places) - k) if k + n <= len(places)]
    at = np.array([low + places[k][0] for k, _ in asked], np.int64)
    stop, n_words = np.full(len(asked), offsets[1]), np.array([n for _, n in asked], np.int64)
    sizes = R.word_sizes(data, at, stop, n_words, table)
    assert sizes.tolist() == [places[k + n - 1][1] - places[k][0] for k, n in asked]


def test_words_of_overlapping_windows():
    """Of two long texts, of more words than are held at first: of neighbouring windows, of distant ones, and of all."""
    texts = ["王 don't 3.14 é. " * 1500, "a b c d " * 900]
    (offsets, data), table, split = column(texts), word_table(), [spans_of_words(text) for text in texts]
    for step, n in ((30, 50), (80, 50), (1, 5000), (2500, 3000)):
        at, stop, n_words, wanted = [], [], [], []
        for places, low, high in zip(split, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            for k in range(0, len(places), step):
                at.append(low + places[k][0])
                stop.append(high)
                n_words.append(n)
                wanted.append((places[k + n - 1][1] if k + n <= len(places) else high - low) - places[k][0])
        sizes = R.word_sizes(data, *(np.array(one, np.int64) for one in (at, stop, n_words)), table)
        assert [s for s, w in zip(sizes.tolist(), wanted, strict=True) if s != w] == []


def grams_of(rule, data, n, low, high):
    """The hash of each of n grams, by the kernels."""
    out = np.zeros(n, np.uint64)
    if rule.words:
        found = word_spans.empty_words(200)
        word_spans.cut_words(data, low, high, rule.table, found)
        M.word_grams(found, n, rule.gram, out)
    else:
        M.byte_grams(data, low, n, rule.gram, rule.values, rule.leaving, out)
    return out.tolist()


@pytest.mark.parametrize(("width", "how"), [(1, "unicode"), (4, "unicode"), (13, "unicode"), (4, ""), (20, "")])
def test_records_of_windows(width, how):
    """Windows in order, each in one record, whose hash is the smallest of each; equal grams have equal hashes."""
    rng, rule = random.Random(width), M.rule_of(width, word_split=how)
    texts = ["".join(rng.choices(("a", "b", "é", " ", "  "), (5, 2, 1, 3, 1), k=rng.randrange(120))) for _ in range(25)]
    offsets, data = column([*TEXTS, *texts])
    hashes, info = M.records(offsets, data, 77, rule)
    at, n_windows = M.found(info)
    number, seen = 0, {}
    for text, low, high in zip([*TEXTS, *texts], offsets.tolist(), offsets[1:].tolist(), strict=False):
        places = spans_of_words(text) if how else [(k, k + 1) for k in range(len(text.encode()))]
        slide = width - rule.gram + 1
        windows = max(0, len(places) - width + 1)
        grams = grams_of(rule, data, windows + slide - 1, low, high) if windows else []
        for k, gram in enumerate(grams):
            written = text.encode()[places[k][0] : places[k + rule.gram - 1][1]]
            assert seen.setdefault(gram, written) == written
        x = 0
        while x < windows:
            n = int(n_windows[number])
            assert at[number] - 77 + offsets[0] == low + places[x][0]
            least = [min(grams[w : w + slide]) for w in range(x, x + n)]
            assert set(least) == {least[0]}
            assert hashes[number] == mix64(np.uint64(least[0]))
            after = int(info[number] >> np.uint64(14)) & (M.MAX_SLIDE - 1)
            assert grams[x + n - 1 + after] == least[0]
            several = any(grams[w : w + slide].count(least[0]) > 1 for w in range(x, x + n))
            assert several <= bool(int(info[number]) >> 24 & 1)
            x, number = x + n, number + 1
            assert x <= windows
    assert number == len(hashes)
    assert len(set(seen.values())) == len(seen)


@pytest.mark.parametrize(("width", "how"), [(5, ""), (9, ""), (2, "unicode"), (3, "unicode")])
def test_each_repeated_window_is_found_once(width, how):
    """In its record's own group alone, also where groups have ties or more windows than the table; none is new."""
    rng, rule = random.Random(width), M.rule_of(width, word_split=how)
    pieces = ("a ", "b ", "ab ", "a  ", "é") if how else ("a", "b", "ab", " ", "é")
    texts = [*TEXTS, *("".join(rng.choices(pieces, k=rng.randrange(60))) for _ in range(40))]
    offsets, data = column(texts)
    hashes, info = M.records(offsets, data, 0, rule)
    at, n_windows = M.found(info)
    at += offsets[0]
    spans_ = [spans_of_words(t) if how else [(k, k + 1) for k in range(len(t.encode()))] for t in texts]
    windows = [
        (low + span[0], low + places[x + width - 1][1])
        for places, low in zip(spans_, offsets.tolist(), strict=False)
        for x, span in enumerate(places[: max(0, len(places) - width + 1)])
    ]
    ends = iter([end for _, end in windows])
    stop = np.array([[next(ends) for _ in range(n)][-1] for n in n_windows.tolist()])
    order = np.argsort(hashes, kind="stable")
    some = np.searchsorted(offsets, at[order], "right") - 1
    block = RecordBlock(data, at[order], stop[order], some.astype(np.uint64), at[order], info[order] & (1 << 25) - 1)
    bounds = np.flatnonzero(np.concatenate([[True], np.diff(hashes[order]) != 0, [True]]))
    seen, again = set(), Counter()
    for start, end in windows:
        raw = data[start:end].tobytes()
        again.update([(start, end)] if raw in seen else [])
        seen.add(raw)
    for size in (len(windows), 16):
        table = table_for(size, len(data))
        buffers = table, scratch_for(rule), np.empty((1, 7), np.uint64)
        rows = by_groups(block, rule, np.arange(len(order)), bounds, *buffers)
        found = Counter()
        for _, start, end, *_ in rows.tolist():
            found.update((a, b) for a, b in windows if start >> 2 <= a and b <= end >> 2)
        assert found == again
    assert len(again) > 40


def test_equal_grams_are_ties_in_every_record():
    """Also in those that begin because the one before has as many windows as fit."""
    rule = M.rule_of(12, word_split="")
    assert rule.gram < rule.width
    hashes, info = M.records(*column(["a" * (M.MAX_WINDOWS + 12)]), 0, rule)
    assert M.found(info)[1].tolist() == [M.MAX_WINDOWS, 1]
    assert (info >> np.uint64(24) & np.uint64(1)).tolist() == [1, 1]
    assert len(set(hashes.tolist())) == 1
