"""Kernels of deduplication against plain Python: similar vectors, kept documents, and the bits of a Bloom filter."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict

import numpy as np
import pytest

from dataprep.dedup.embeddings import similar
from dataprep.dedup.membership import bloom_filter
from dataprep.dedup.near import compare, kept_index, verify
from dataprep.dedup.near.similarity import MatchRule

DIRECTIONS = [(5, 0), (3, 4), (4, 3), (0, 5), (-3, 4), (4, -3), (24, 7), (7, 24), (15, 20), (6, 8), (-5, 0)]


def ten_thousandths(a, b):
    """The cosine of two vectors, rounded."""
    return round(min(float(a @ b) / (math.hypot(*a) * math.hypot(*b)), 1.0) * 10_000.0)


def drawn_vectors(rng, n):
    """Vectors of few directions and whole lengths, their products, and both lengths."""
    vectors = np.array(rng.choices(DIRECTIONS, k=n), np.float32).reshape(n, 2)
    return vectors, np.array([math.hypot(*v) for v in vectors])


@pytest.mark.parametrize("limit", [0, 2800, 5999, 6000, 7999, 8000, 9599, 9600, 9999, 10_000])
def test_the_first_similar_vector_is_named(limit):
    """The first kept one whose rounded cosine is above the limit; among themselves, documents that were not kept."""
    rng = random.Random(limit)
    for n, m, capacity in itertools.product((0, 1, 7), (0, 1, 9), (0, 2, 20)):
        (ours, a), (theirs, b) = drawn_vectors(rng, n), drawn_vectors(rng, m)
        rows, names = np.array(rng.sample(range(20), n), np.int64), np.array(rng.sample(range(90), m), np.int64)
        hit, found = np.full(20, -1, np.int64), np.zeros(20, np.float32)
        similar.first_hits(ours @ theirs.T, a, b, limit, rows, names, hit, found)
        expected = {}
        for row, own in zip(rows.tolist(), ours, strict=True):
            cosines = [ten_thousandths(own, other) for other in theirs]
            j = next((j for j, c in enumerate(cosines) if c > limit), None)
            if j is not None:
                expected[row] = names[j], np.float32(cosines[j] / 10_000)
        assert {row: (hit[row], found[row]) for row in range(20) if hit[row] >= 0 or found[row]} == expected

        all_names, kept = np.array(rng.sample(range(90), 20), np.int64), []
        hit, found = np.full(20, -1, np.int64), np.zeros(20, np.float32)
        chosen = similar.among(ours @ ours.T, a, limit, rows, all_names, capacity, hit, found)
        expected = {}
        for i, own in enumerate(ours):
            cosines = [ten_thousandths(own, ours[k]) for k in kept]
            e = next((e for e, c in enumerate(cosines) if c > limit), None)
            if e is not None:
                expected[int(rows[i])] = all_names[rows[kept[e]]], np.float32(cosines[e] / 10_000)
            elif len(kept) < capacity:
                kept.append(i)
        assert chosen.tolist() == rows[kept].tolist()
        assert {row: (hit[row], found[row]) for row in range(20) if hit[row] >= 0 or found[row]} == expected


def likeness(rule, own, theirs):
    """What a rule compares with its threshold; -1 if the two differ in size where they must not."""
    if rule.threshold > 1.0:
        return 1.0 if own == theirs else -1.0
    both = len({*own} & {*theirs})
    return both / (len(own) if rule.contained else len(own) + len(theirs) - both)


def may_match(rule, m, n):
    """Whether sets of these sizes can be alike."""
    if rule.threshold > 1.0:
        return m == n
    most = min(m, n)
    return most / (m if rule.contained else m + n - most) >= rule.threshold


@pytest.mark.parametrize("room", [6, 40])
@pytest.mark.parametrize("rule", [(0.5, False), (0.75, False), (0.6, True), (1.0, True), (2.0, False)])
def test_documents_are_compared_with_kept_ones(rule, room):
    """In order, with those that share a key; the first alike is named; the rarest keys are read if there are many."""
    rule, rng, bands, n = MatchRule(*rule), random.Random(room), 3, 40
    keys = [[min(rng.randrange(9), rng.randrange(9)) for _ in range(bands)] for _ in range(n)]
    sets = [rng.sample(range(7), rng.randrange(1, 7)) for _ in range(n)]
    sets = [sets[rng.randrange(i)] if i and rng.random() < 0.2 else own for i, own in enumerate(sets)]
    old = [int(i < 3 or rng.random() < 0.1) for i in range(n)]
    rows = rng.sample(range(n), n)
    looked = [rng.choice((0, 900, 5000)) for _ in range(n)]
    words = [[*k, *own] for k, own in zip(keys, sets, strict=True)]
    sizes = np.array([len(w) for w in words], np.int64)
    block = compare.Undecided(
        np.array(rows, np.int64), np.cumsum(sizes) - sizes, sizes, np.concatenate(words).astype(np.uint64),
        np.array(old, np.uint8),
    )  # fmt: skip
    outcome = compare.Outcome(
        np.zeros(n, np.uint8), np.full(n, -1, np.int64), np.zeros(n, np.float32), np.array(looked, np.int32)
    )
    index = verify._empty_index(sizes, bands, 32 * bands * room)
    assert len(index.row) == room

    held, kept, state, compared, skipped, full = defaultdict(list), [], {}, 0, 0, False
    for i, row in enumerate(rows):
        found = []
        if not old[i]:
            most = kept_index.allowance(looked[row]) if rule.threshold <= 1.0 else 1 << 62
            total = sum(len(held[key]) for key in keys[i])
            order = sorted(keys[i], key=lambda key: len(held[key])) if total > most else keys[i]
            read = dict.fromkeys([k for key in order for k in reversed(held[key])][:most])
            found = [k for k in read if may_match(rule, len(sets[i]), len(sets[kept[k]]))]
            looked[row] += min(total, most, kept_index.MOST)
            skipped, compared = skipped + max(0, total - most), compared + len(found)
        values = {k: likeness(rule, sets[i], sets[kept[k]]) for k in sorted(found)}
        best = next((k for k, value in values.items() if value >= min(1.0, rule.threshold)), None)
        if best is not None:
            state[row] = 2, rows[kept[best]], np.float32(values[best])
        elif len(kept) < room and not full:
            state[row] = 1, -1, 0.0
            for key in keys[i]:
                held[key].append(len(kept))
            kept.append(i)
        else:
            full = True
    assert compare.decide_block(block, bands, rule, index, outcome) == (compared, skipped)
    columns = outcome.state.tolist(), outcome.kept_by.tolist(), outcome.similarity
    assert list(zip(*columns, strict=True)) == [state.get(row, (0, -1, 0.0)) for row in range(n)]
    assert outcome.looked.tolist() == looked
    assert {1, 2} <= {one[0] for one in state.values()}
    assert full == (room == 6)


def test_how_much_further_indexes_are_read():
    """What is left of the first 1024 entries; then half as many of each index as of the one before; at least four."""
    allowed, looked = [], 0
    for _ in range(12):
        allowed.append(int(kept_index.allowance(looked)))
        looked += allowed[-1]
    assert allowed == [1024, 64, 32, 16, 8, 4, 4, 4, 4, 4, 4, 4]
    assert [int(kept_index.allowance(n)) for n in (1, 895, 896, 897, 1000)] == [1023, 129, 128, 127, 76]


def bits_of(key, n_slices, slice_bits):
    """The bit of each slice that a key sets, counted from the start of the filter."""
    bits = []
    for s in range(n_slices):
        key = (key ^ key >> 32) * 0xD6E8FEB86659FD93 % 2**64
        bits.append(s * slice_bits + ((key >> 32) * slice_bits >> 32))
    return bits


def test_a_filter_is_the_set_of_its_bits():
    """Entered one after the other; asked without a change; counted by slice, which need not begin with a byte."""
    rng = random.Random(3)
    for n_slices, slice_bits in ((1, 8), (3, 13), (7, 61), (2, 64)):
        bits, held = np.zeros(-(-n_slices * slice_bits // 8), np.uint8), set()
        for _ in range(4):
            keys = [rng.getrandbits(64) for _ in range(6)] * 2
            array = np.array(keys, np.uint64)
            known = [held.issuperset(bits_of(key, n_slices, slice_bits)) for key in keys]
            assert bloom_filter.contains(bits, array, n_slices, slice_bits).tolist() == known
            seen = []
            for key in keys:
                own = bits_of(key, n_slices, slice_bits)
                seen.append(held.issuperset(own))
                held.update(own)
            assert bloom_filter.enter(bits, array, n_slices, slice_bits, 0).tolist() == seen
            assert np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist() == sorted(held)
            counted = [sum(one // slice_bits == s for one in held) for s in range(n_slices)]
            assert bloom_filter.ones(bits, n_slices, slice_bits, 0).tolist() == counted


@pytest.mark.parametrize("threshold", [0.3, 0.5, 1.0])
def test_paragraphs_of_known_keys_are_cut(threshold):
    """By the keys of earlier documents alone: a paragraph with enough of them, or the whole document."""
    rng, n_slices, slice_bits = random.Random(4), 9, 4001
    units = [rng.randrange(4) for _ in range(30)]
    sizes = [rng.choice((0, 1, 1, 2, 3, 5)) for _ in range(sum(units))]
    keys = [min(rng.randrange(60), rng.randrange(60)) * 0x9E3779B97F4A7C15 % 2**64 for _ in range(sum(sizes))]
    bits, held, cut, n_new = np.zeros(n_slices * slice_bits // 8 + 1, np.uint8), set(), [], 0
    paragraphs = iter(sizes)
    rest = iter(keys)
    for n in units:
        own = [list(itertools.islice(rest, next(paragraphs))) for _ in range(n)]
        hits = [sum(key in held for key in one) for one in own]
        n_keys = sum(map(len, own))
        whole = n_keys > 0 and sum(hits) >= threshold * n_keys
        goes = [whole or (bool(one) and h >= threshold * len(one)) for one, h in zip(own, hits, strict=True)]
        for key in itertools.chain(*itertools.compress(own, [not g for g in goes])):
            n_new += key not in held
            held.add(key)
        cut += goes
    arrays = np.array(keys, np.uint64), np.array(units), np.array(sizes)
    found, entered = bloom_filter.judge(bits, *arrays, n_slices, slice_bits, threshold)
    assert (found.tolist(), entered) == (cut, n_new)
    assert 0 < sum(cut) < len(cut)
