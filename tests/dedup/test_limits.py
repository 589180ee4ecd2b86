"""Limits of deduplication: the last value that is accepted and the first that is not, and numbers that decide."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import laws
from dataprep.core.model import batch as B
from dataprep.core.run.runner import Serial
from dataprep.dedup import bloom, keep, minhash, semantic, suffix_array
from dataprep.dedup.bloom import Bloom
from dataprep.dedup.embeddings import decide, kmeans, learn_words, vectors, word_vectors
from dataprep.dedup.exact import Exact
from dataprep.dedup.membership import hyperloglog
from dataprep.dedup.minhash import MinHash
from dataprep.dedup.near import bands, kept_index, similarity
from dataprep.dedup.near.tokens import Tokens
from dataprep.dedup.older import MAX_FILES, Joined
from dataprep.dedup.semantic import SemDeDup
from dataprep.dedup.substrings import minimizers, pairs
from dataprep.dedup.substrings import suffix_array as sorting
from dataprep.dedup.suffix_array import SuffixArray
from dataprep.errors import PlanError

LIMITS = [
    (Bloom, {}, "ngram", 1, None), (Bloom, {}, "capacity", 1, None), (Bloom, {}, "min_remaining_chars", 0, None),
    (Exact, {"unit": "line"}, "min_remaining_chars", 0, None), (SuffixArray, {}, "min_remaining_chars", 0, None),
    (SuffixArray, {}, "min_words", 1, 1 << 20), (SuffixArray, {}, "min_bytes", 4, 1 << 20),
    (SemDeDup, {}, "dim", 16, 4096), (SemDeDup, {}, "seed", 0, (1 << 31) - 1), (SemDeDup, {}, "clusters", 1, None),
    (MinHash, {}, "ngram", 1, None), (MinHash, {}, "min_shingles", 1, None), (MinHash, {}, "seed", 0, (1 << 32) - 1),
    (MinHash, {"rows": 1}, "bands", 1, 1 << 16), (MinHash, {"bands": 1 << 10}, "rows", 1, None),
]  # fmt: skip
SHARES = [(Bloom, "threshold", 1), (MinHash, "threshold", 1), (SemDeDup, "diversify", 1), (Bloom, "error_rate", 0.5)]
# Other numbers find other copies than those that a folder holds: change VERSION of the Estimator with them.
DECIDING = {
    kmeans: {"SAMPLE_BYTES": 64 << 20, "SAMPLE_DOCS": 256, "ITERATIONS": 10, "WHOLE": 1 << 15, "MAX_CLUSTERS": 1 << 14},
    learn_words: {
        "SAMPLE_BYTES": 16 << 20, "LEAST_BYTES": 1 << 20, "MAX_CHARS": 100_000, "TRAINED_BYTES": 64 << 20,
        "MIN_EPOCHS": 5, "MAX_EPOCHS": 30, "MIN_COUNT": 5, "MAX_WORDS": 1 << 16, "SIF": 0.001, "COMMON_WORDS": 100,
    },
    word_vectors: {"RARE": 4096, "COMMON": 2, "COMMON_DOCS": 1000},
    vectors: {"LENGTH": 4096, "UNITS": 10_000, "TEXTS_AT_ONCE": 1024},
    hyperloglog: {"PRECISION": 16, "_REST": 48}, bloom: {"MIN_CAPACITY": 1000},
    kept_index: {"MOST": 1024, "LATER": 64, "FEWEST": 4}, similarity: {"BITS": 8}, pairs: {"REPRESENTATIVES": 16},
    bands: {"MAX_HASHES": 256, "RECALL": 0.99, "RATIO": 20, "CONTAINED_RECALL": 0.995, "LEAST": 0.5, "LOW": 0.5},
    minimizers: {"CHUNK": 4096, "MAX_WINDOWS": (1 << 14) - 1, "MAX_SLIDE": 1 << 10},
    suffix_array: {"DEFAULT_WORDS": 50}, decide: {"ROWS": 1024},
}  # fmt: skip
VERSIONS = {"Bloom": 4, "Exact": 5, "MinHash": 3, "SemDeDup": 2, "SuffixArray": 2}


@pytest.mark.parametrize(("kind", "given", "name", "least", "most"), LIMITS)
def test_the_last_values_that_are_accepted(kind, given, name, least, most):
    """And the next ones, which are named; numbers that are no integers are not taken for them."""
    assert getattr(kind(**given, **{name: least}), name) == least
    wrong = [least - 1, 2.5, "2"]
    if most is not None:
        assert getattr(kind(**given, **{name: most}), name) == most
        wrong.append(most + 1)
    for value in wrong:
        with pytest.raises(PlanError, match=name):
            kind(**given, **{name: value})


@pytest.mark.parametrize(("kind", "name", "most"), SHARES)
def test_the_largest_share(kind, name, most):
    """Is accepted; more is not, and nor is nothing."""
    assert getattr(kind(**{name: most}), name) == most
    for value in (0, -0.1, most + 1e-9, "half"):
        with pytest.raises(PlanError, match=name):
            kind(**{name: value})


def test_numbers_that_decide_are_as_they_were():
    """Whoever changes one of them increases the VERSION of the class too."""
    for module, numbers in DECIDING.items():
        assert {name: getattr(module, name) for name in numbers} == numbers, module.__name__
    versions = {kind.__name__: kind.VERSION for kind in (Bloom, Exact, MinHash, SemDeDup, SuffixArray)}
    assert versions == VERSIONS
    assert (semantic.MAX_GROUPS, minhash.FEW, keep.SHOWN, bloom.ALARM) == (256, 0.9, 60, 1.1)


def test_older_folders_have_so_many_files():
    """As ids have room for, half of them for the new documents."""

    class Folder:
        parts = ()

        def __init__(self, files):
            self.sealed = SimpleNamespace(last_file=files - 1)

        def of(self, parts):
            return parts

    class Old:
        given = "old"

        def __init__(self, files):
            self.docs = Folder(files)

    half = MAX_FILES // 2
    made = Joined.of([Old(5), Old(half - 6)], Folder(1))
    assert [int(first) >> B.POSITION_BITS for first in made.firsts] == [0, 5, half - 1]
    with pytest.raises(PlanError, match="input files"):
        Joined.of([Old(5), Old(half - 5)], Folder(1))


def test_a_suffix_array_takes_so_many_bytes(dataset, monkeypatch):
    """Up to the limit; ids, sizes and bytes of texts, of all parts in order."""
    texts = ["abc", "", "é", "xy"]
    parts = tuple(dataset(texts, parts=2, cut=1).parts)
    task = sorting.SortCorpus("", "", 5, "", parts, Serial())
    monkeypatch.setattr(sorting, "MAX_BYTES", 7)
    ids, offsets, data = task._read()
    assert (ids.tolist(), offsets.tolist(), data.tobytes().decode()) == ([0, 10, 20, 30], [0, 3, 3, 5, 7], "abcéxy")
    monkeypatch.setattr(sorting, "MAX_BYTES", 6)
    with pytest.raises(PlanError, match="engine='windows'"):
        task._read()


def test_values_that_could_not_be_read_are_counted():
    """Over all parts; the first one is shown, also if the first part has none."""
    none, two, one = ({"unreadable": n, "such_as": text} for n, text in ((0, ""), (2, "x"), (1, "y")))
    assert keep.unreadable_values([none, two, none, one]) == {"unreadable": 3, "such_as": "x"}
    assert keep.unreadable_values([none]) == keep.unreadable_values([]) == {"unreadable": 0, "such_as": ""}


def test_tokenizers_are_the_same_by_what_they_do():
    """Not by their names; their ids are one array, and where each text's end."""

    class Engine:
        def encode_ordinary_batch(self, texts, num_threads):
            assert num_threads == 1
            return [[len(word) for word in text.split()] for text in texts]

    one, same, other = Tokens("a", "1", Engine()), Tokens("b", "1", None), Tokens("a", "2", None)
    assert one == same != other
    offsets, ids = one.ids(B.make([0, 1, 2], ["a bc", "", "def"], "x").column("text"))
    assert (offsets.tolist(), ids.tolist(), ids.dtype) == ([0, 2, 2, 3], [1, 2, 3], np.uint64)
    assert str(one) == "a"
    assert Tokens.of(one) is one


@pytest.mark.parametrize("share", [0.98, 1.0])
def test_a_capacity_of_all_keys_is_enough(dataset, tmp_path, share):
    """What is counted may be off by its error, on either side."""
    texts = [f"text {n}" for n in range(600)]
    facts = Bloom(capacity=int(600 / share)).fit(dataset(texts), Serial(), str(tmp_path)).facts
    assert (facts["documents"], facts["keys"]) == (600, 600)


def test_the_least_shingles_are_in_the_key():
    """Documents with fewer are left out, so each number finds others; one is what a key without it means."""
    made = [laws.key(MinHash(min_shingles=n)) for n in (1, 2, 3)]
    assert len(set(made)) == 3
    assert made[0] == laws.key(MinHash())
