"""Kernels of near-duplicates against plain Python: the index of kept documents, sets, bitmaps, and packed texts."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from dataprep.core.model import batch as B
from dataprep.dedup.near import kept_index as K
from dataprep.dedup.near import similarity as S
from dataprep.dedup.near import sketch, verify

HALF = S.MatchRule(0.5, contained=False)


def u64(values):
    """An array of hashes."""
    return np.array(values, np.uint64)


@pytest.mark.parametrize("seed", range(4))
def test_the_index_of_kept_documents_is_lists_by_key(seed):
    """Keys that share a slot are told apart; the rarest keys and the newest documents are read first."""
    rng, bands = random.Random(seed), 3
    index = verify._empty_index(np.full(40, 8), bands, 1 << 20)
    slots_in_all = len(index.key)
    some = [rng.randrange(slots_in_all - 3, slots_in_all) + slots_in_all * k for k in range(12)]
    held, contents = defaultdict(list), []
    for n in range(40):
        keys = [some[min(rng.randrange(12), rng.randrange(12))] for _ in range(bands)]
        contents.append(rng.sample(range(99), rng.randrange(1, 7)))
        assert K.enter(index, u64(keys), u64(contents[-1]), u64([n]), 100 + n)
        for key in keys:
            held[key].append(n)
    assert index.fill.tolist() == [40, 0]
    assert index.row.tolist() == list(range(100, 140))
    assert index.pool[: index.ends[40]].tolist() == [one for own in contents for one in own]
    assert index.bits[: index.drawn[40]].tolist() == list(range(40))
    slots, stamps, found = np.zeros(bands, np.int64), np.zeros(40, np.int64), np.zeros(40, np.int64)
    for stamp, most in enumerate((0, 1, 2, 5, 9, 17, 1 << 62) * 6, 1):
        asked = [*rng.sample(some, 2), rng.choice([*some, 5])]
        total = K.slots_of(index, u64(asked), most, slots)
        assert total == sum(len(held[key]) for key in asked)
        order = sorted(asked, key=lambda key: len(held[key])) if total > most else asked
        assert index.entries[slots].tolist() == [len(held[key]) for key in order]
        read = [n for key in order for n in reversed(held[key])][: max(most, 0)]
        expected = [n for n in dict.fromkeys(read) if 3 <= 2 * len(contents[n]) <= 12]
        n_found = K.candidates(index, slots, 3, HALF, most, stamps, stamp, found)
        assert found[:n_found].tolist() == expected
    assert not K.enter(index, u64(some[:3]), u64([1]), u64([1]), 7)
    assert index.fill.tolist() == [40, 1]


def test_an_index_is_full_once_a_document_did_not_fit():
    """Its pool may be filled to the last word; after one that does not fit, none is entered."""
    index = verify._empty_index(np.array([16, 16, 9]), 1, 8 * 32)
    assert len(index.pool) == 32
    sizes = [16, 17, 1]
    entered = [K.enter(index, u64([k]), u64(range(n)), u64([0]), k) for k, n in enumerate(sizes)]
    assert entered == [True, False, False]
    index = verify._empty_index(np.array([16, 16, 9]), 1, 8 * 32)
    assert [K.enter(index, u64([k]), u64(range(16)), u64([0]), k) for k in range(2)] == [True, True]


@pytest.mark.parametrize(("words", "bands", "budget", "capacity", "members"), [
    ([4], 1, 1, 1, 4), ([4, 9], 2, 64, 1, 9), ([4, 9], 2, 128, 2, 13), ([5] * 9, 1, 160, 5, 20),
    ([5] * 9, 1, 400, 9, 45),
])  # fmt: skip
def test_an_empty_index_holds_what_fits(words, bands, budget, capacity, members):
    """At least one document of any size; twice as many slots as entries."""
    index = verify._empty_index(np.array(words), bands, budget)
    assert (len(index.row), len(index.pool)) == (capacity, members)
    assert (len(index.before), len(index.ends), len(index.drawn)) == (capacity * bands, capacity + 1, capacity + 1)
    assert 2 * capacity * bands <= len(index.key) == len(index.last) == len(index.entries) < 4 * capacity * bands
    assert len(index.bits) >= sum(S.n_words(n) for n in sorted(words)[-capacity:] if sum(words) <= members)
    assert set(index.last.tolist()) == {-1}


def test_members_that_two_sets_share():
    """Hashes that fall into one slot, one table for many documents; -1 if there are fewer than asked."""
    rng = random.Random(1)
    table = S.SetTable(np.empty(64, np.uint64), np.zeros(64, np.int32), np.empty(16, np.uint64))
    for stamp in range(1, 60):
        known = [rng.randrange(28, 32) + 32 * k for k in range(20)]
        own, theirs = rng.sample(known, rng.randrange(1, 17)), rng.sample(known, rng.randrange(1, 20))
        S.enter_set(u64(own), table, stamp)
        both = len({*own} & {*theirs})
        for least in {0, 1, both, both + 1, len(theirs)}:
            if least <= len(theirs):
                expected = both if both >= least else -1
                assert S.shared(u64(theirs), len(own), least, table, stamp) == expected
    for n in range(1, 70):
        size = int(S.table_mask(n)) + 1
        assert size == max(4, 1 << (2 * n - 1).bit_length())


@pytest.mark.parametrize("seed", range(4))
def test_sets_that_are_equal_at_their_ends(seed):
    """Members that two sets share, of sets that differ at the front, in the middle, at the end, a little and much."""
    rng = random.Random(seed)
    table = S.SetTable(np.zeros(256, np.uint64), np.zeros(256, np.int32), np.empty(1, np.uint64))
    for stamp in range(1, 400):
        own = rng.sample(range(1000), rng.randrange(1, 60))
        theirs, entered = own, False
        for _ in range(3):
            for _ in range(rng.choice([0, 1, 1, 4])):
                at, new = rng.randrange(len(theirs) + 1), rng.sample(range(1000), rng.choice([0, 1, 9]))
                theirs = list(dict.fromkeys([*theirs[:at], *new, *theirs[at + rng.choice([0, 1, 9]) :]])) or own
            n = len({*own} & {*theirs})
            head, tail = S.equal_ends(u64(own), u64(theirs))
            assert own[:head] == theirs[:head]
            assert own[len(own) - tail :] == theirs[len(theirs) - tail :]
            assert head + tail == len(own) or own[head] != (*theirs, -1)[head] or head + tail == len(theirs)
            for least in (0, n, n + 1):
                found, entered = S.n_shared(u64(own), u64(theirs), least, table, stamp, entered)
                assert found == (n if least <= n else -1)


def test_bitmaps():
    """One bit per member; of two lengths the longer one is folded; more bits that are missing than allowed are told."""
    rng = random.Random(2)
    for n, words in ((1, 1), (8, 1), (9, 2), (16, 2), (17, 4), (33, 8), (64, 8), (65, 16), (1000, 128)):
        assert S.n_words(n) == words
    for _ in range(60):
        sizes = rng.choice((1, 2, 4)), rng.choice((1, 2, 4))
        members = [[rng.getrandbits(64) for _ in range(rng.randrange(1, 30))] for _ in sizes]
        maps = [np.full(size, 7, np.uint64) for size in sizes]
        for bits, own in zip(maps, members, strict=True):
            S.draw(u64(own), bits)
        seen = [{(h >> 6) % size * 64 + h % 64 for h in own} for size, own in zip(sizes, members, strict=True)]
        for bits, places in zip(maps, seen, strict=True):
            assert {w * 64 + b for w, word in enumerate(bits.tolist()) for b in range(64) if word >> b & 1} == places
        least = 64 * min(sizes)
        missing = len({one % least for one in seen[0]} - {one % least for one in seen[1]})
        for most in {0, missing - 1, missing, missing + 1}:
            assert S.lack(*maps, most) == (missing > most)


def test_words_that_must_be_equal():
    """With a threshold above 1, contents of one size; of words, all."""
    exact = S.MatchRule(2.0, contained=False)
    assert [S.needed(exact, m, n) for m, n in ((3, 3), (3, 4), (4, 3), (0, 0))] == [3, -1, -1, 0]
    for a, b in itertools.product(itertools.product((1, 2), repeat=3), repeat=2):
        assert S.equal(u64(a), u64(b)) == (1.0 if a == b else -1.0)


TEXTS = ["", "a", "sevenby", "eightbyt", "ninebytes", "é" * 9, "", "王小明" * 5, "x" * 64]


def test_texts_are_packed_into_words():
    """The length, then eight bytes at a time, from the lowest byte up; also of a slice."""
    starts, words = sketch.pack(*B.buffers(pa.array(["before", *TEXTS], pa.large_string()).slice(1)))
    for text, (a, b) in zip(TEXTS, itertools.pairwise(starts.tolist()), strict=True):
        raw = text.encode()
        eights = [int.from_bytes(raw[i : i + 8], "little") for i in range(0, len(raw), 8)]
        assert words[a:b].tolist() == [len(raw), *eights]


def test_empty_forms_are_replaced_by_the_text():
    """Each text whose normal form is empty, and no other one."""
    forms = ["", "A", "", "B" * 8, "", "é", "", "C", ""]
    made = sketch.or_raw(
        *B.buffers(pa.array(forms, pa.large_string())),
        *B.buffers(pa.array(["before", *TEXTS], pa.large_string()).slice(1)),
    )
    assert B.strings(*made).to_pylist() == [form or text for form, text in zip(forms, TEXTS, strict=True)]


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, 9])
def test_signatures_are_minima_of_permuted_hashes(n):
    """Four at a time or alone, in 32 bits; the keys of bands depend on their number."""
    rng = np.random.default_rng(n)
    hashes = rng.integers(0, 1 << 64, n, np.uint64)
    a, b = rng.integers(0, 1 << 32, 12, np.uint32) | np.uint32(1), rng.integers(0, 1 << 32, 12, np.uint32)
    row = np.zeros(12, np.uint32)
    sketch.minima(hashes, a, b, row)
    low = 1 << 32
    mixed = [_murmur(int(h) % low) for h in hashes]
    assert row.tolist() == [min([(int(x) * m + int(y)) % low for m in mixed], default=low - 1) for x, y in zip(a, b)]  # noqa: B905
    starts = np.array([0, n, n])
    keys = sketch.band_keys(starts, hashes, a, b, 3)
    assert keys.shape == (4, 2)
    assert keys[:, 1].tolist() == [0] * 4
    assert len(set(keys[:, 0].tolist())) == (4 if n else 1)
    same = sketch.band_keys(starts, hashes[::-1].copy(), a, b, 3)
    np.testing.assert_array_equal(same, keys)


def _murmur(h):
    h = (h ^ h >> 16) * 0x85EBCA6B % (1 << 32)
    h = (h ^ h >> 13) * 0xC2B2AE35 % (1 << 32)
    return h ^ h >> 16
