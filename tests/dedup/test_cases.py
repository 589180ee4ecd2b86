"""Small tables of cases: what is read of older Datasets, keys of texts, nearest centroids, and limits of cosines."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from dataprep.core.model import batch as B
from dataprep.dedup.bloom import Bloom
from dataprep.dedup.embeddings import kmeans, learn_words, stored, vectors, word_vectors
from dataprep.dedup.exact import Exact
from dataprep.dedup.membership import keys
from dataprep.dedup.near import keys as near_keys
from dataprep.dedup.near.chosen import ChosenShingles
from dataprep.dedup.near.reuse import StoredKeys
from dataprep.dedup.near.search import DuplicateSearch
from dataprep.dedup.near.tokens import Tokens
from dataprep.dedup.older import Deduplication
from dataprep.dedup.substrings import repeats
from dataprep.store.spill import spill_to, write_spill
from dataprep.unicode.words import word_table


def test_the_key_has_what_older_datasets_hold(monkeypatch):
    """Not where they are."""
    monkeypatch.setattr(Deduplication, "older", (SimpleNamespace(content="one"), SimpleNamespace(content="two")))
    made = [Exact(against=path).recipe() for path in (["a", "b"], ["c", "d"])]
    assert made[0] == made[1]
    assert made[0]["against"] == ["one", "two"]


def test_filters_of_another_version_are_not_used(monkeypatch):
    """The key of a filter has the version, too."""
    before = Bloom()._filter_key
    monkeypatch.setattr(Bloom, "VERSION", Bloom.VERSION + 1)
    assert Bloom()._filter_key != before


def test_older_datasets_without_keys_are_named(caplog):
    """Those with a part whose keys were neither found nor lent, each once."""
    own, lent, none = (SimpleNamespace(found=f, lent=n) for f, n in (("file", ()), (None, ("keys",)), (None, ())))
    items = {"a": [own, lent], "b": [lent, none, none], "c": [own], "d": [], "e": [none], "f": [lent, own]}
    older = [SimpleNamespace(given=name, docs=SimpleNamespace(parts=parts)) for name, parts in items.items()]
    DuplicateSearch._warn_of_old(SimpleNamespace(older=older), [one for parts in items.values() for one in parts])
    assert [record.getMessage().split()[0] for record in caplog.records] == ["b", "e"]


def test_ids_of_shards_follow_each_other():
    """Shards without documents have none."""
    shards = [SimpleNamespace(name=f"text/{n}", last_id=last) for n, last in enumerate((9, None, 20, 21))]
    found = StoredKeys(SimpleNamespace(sealed=SimpleNamespace(shards=shards))).shards
    assert found == {"0": (0, 9), "2": (10, 20), "3": (21, 21)}


@pytest.mark.parametrize(("dropped", "expected"), [([], [[3, 0], [1, 2]]), ([0, 2], [[3], [1]])])
def test_each_file_of_keys_has_rows_of_its_own(tmp_path, dropped, expected):
    """The documents that a part has of it; those that were dropped, and of other parts, are left out."""
    far = int(near_keys.ABSENT)
    rows = [np.array(own, np.uint32) for own in ([3, far, 0], [far, 1, 2])]
    urls = tuple(str(tmp_path / name) for name in ("rows", "a", "b"))
    write_spill(urls[0], [np.arange(4, dtype=np.uint64), np.array(dropped, np.uint32), *rows])
    for url in urls[1:]:
        records = np.array([(7, 0), (8, 1), (9, 2)], near_keys.RECORD)
        write_spill(url, [records, np.array([5, 6, 7], np.uint32)])
    part = near_keys.PartKeys(urls[0], urls[1:], 4)
    with part.opened() as read:
        assert [(number, found["doc"].tolist()) for number, found in read(0, 1, 1)] == [(0, own) for own in expected]
    sizes = np.zeros(4, int)
    for own in rows:
        there = (own != far) & ~np.isin(own, dropped)
        sizes[own[there]] = np.array([5, 6, 7])[there]
    assert part.sizes().tolist() == sizes.tolist()


def test_texts_without_a_letter_have_keys():
    """Those of the texts themselves."""
    offsets, data = B.buffers(pa.array(["!!!", "A b", "???", "a B", "!!!"], pa.large_string()))
    found = keys.document_keys(offsets, data, "words").tolist()
    plain = keys.document_keys(offsets, data, None).tolist()
    assert found[1] == found[3] != plain[1]
    assert [found[i] == plain[i] for i in (0, 2, 4)] == [True] * 3
    assert len(set(found)) == 3


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("normalize", [None, "words"])
def test_paragraphs_of_several_blocks(monkeypatch, n, normalize):
    """Are those of one block."""
    offsets, data = B.buffers(pa.array(["a\n\nb\n!\n", "", "c d\ne", " \n"], pa.large_string()))
    expected = keys._paragraphs(offsets, data, normalize)
    monkeypatch.setattr(keys, "blocks", partial(keys.blocks, n=n))
    for found, column in zip(keys._paragraphs(offsets, data, normalize), expected, strict=True):
        assert found.dtype == column.dtype
        assert found.tolist() == column.tolist()
    assert len(expected[0]) == 5


def test_the_nearest_centroid_has_the_smallest_angle():
    """However long it is; a vector of zeros has none near it."""
    centroids = np.array([[4000, 0], [0, 40], [-300, -300]], np.int16)
    labels, similar = kmeans.nearest(np.array([[30, 35], [35, 30], [-5, 1], [-5, -4], [0, 0]], np.int16), centroids)
    assert labels.tolist()[:4] == [1, 0, 2, 2]
    angles = [35 / 2125**0.5, 35 / 2125**0.5, 4 / 52**0.5, 9 / 82**0.5, 0]
    assert similar.tolist() == [round(10_000 * cosine) for cosine in angles]


@pytest.mark.parametrize(("share", "cosine"), [(0.1, 0), (0.10000004, 0), (0.1000001, 1), (0.4, 3), (1.0, 9)])
def test_so_many_documents_are_left(monkeypatch, share, cosine):
    """The share of all, rounded up; what floats are off is not rounded up. Odd cosines are in the second part."""
    rows = np.zeros((2, 5), [("cosine", np.int16)])
    rows["cosine"] = [[0, 2, 4, 6, 8], [9, 1, 7, 3, 5]]
    monkeypatch.setattr(kmeans, "_rows", lambda _, number: rows[number])
    assert kmeans.cosine_limit("", 2, share) == kmeans.CosineLimit(cosine, (1, cosine % 2), 9 - cosine)


def test_how_words_are_learnt(monkeypatch):
    """Other settings find other copies: change VERSION of SemDeDup with them."""
    asked = []

    def learn(_, **given):
        asked.append(given)
        return SimpleNamespace(get_word_vector=lambda word: np.full(2, len(word)))

    monkeypatch.setattr(learn_words, "need", lambda *_, **__: SimpleNamespace(train_unsupervised=learn))
    assert learn_words.train(["a bb c"], ["a", "bb"], 2, 0).tolist() == [[1, 1], [2, 2]]
    asked[0].pop("pretrainedVectors")
    assert asked == [{
        "model": "cbow", "dim": 2, "epoch": 30, "lr": 0.1, "minCount": 1, "minn": 0, "maxn": 0, "bucket": 1,
        "thread": 1, "verbose": 0, "label": "\x01",
    }]  # fmt: skip


@pytest.mark.parametrize("first", [3, 7, 9])
def test_stored_vectors_are_found_by_id(tmp_path, monkeypatch, first):
    """Where the ids of an older Dataset begin elsewhere; of several files and segments, in batches of any size."""
    docs = SimpleNamespace(tasks=[SimpleNamespace(number=n) for n in range(2)])
    stored.keep_vectors(str(tmp_path), "a", "b", SimpleNamespace(n_old=0, docs=docs, first_new=7))
    monkeypatch.setattr(stored, "_is_whole", lambda _: True)
    step = SimpleNamespace(url=str(tmp_path), number=1, path=lambda *names: str(tmp_path.joinpath(*names)))
    sealed = SimpleNamespace(fits=[{"vectors_of": "a"}], stages=[{"only_drops": False}])
    home = SimpleNamespace(sealed=sealed, steps=[step])
    found = stored._vectors_of(home, "b", first)
    assert stored._vectors_of(home, "other", first) is None
    assert (found.shift - (7 - first)) % 2**64 == 0
    ids = np.arange(7, 19, dtype=np.uint64)
    for number, url in enumerate(found.urls):
        with spill_to(url, 3) as spill:
            for own in np.split(ids[6 * number : 6 * number + 6], 2):
                spill.write([own, own, np.stack([own, own * 2], 1).astype(np.int16)])
    wanted = [[0, 1], [3], [5, 6, 7], [10, 11]]
    batches = [B.make([n + first for n in own], ["x"] * len(own), "s").select(["id"]) for own in wanted]
    made = list(vectors.StoredVectors.of(found, SimpleNamespace(batches=lambda _: iter(batches))))
    assert [rows.tolist() for _, rows in made] == [[[n + 7, 2 * n + 14] for n in own] for own in wanted]


def test_tokens_of_texts_as_they_are():
    """No difference is left out where none is named."""

    class Engine:
        def encode_ordinary_batch(self, texts, num_threads):
            return [[*text.encode()] for text in texts]

    texts, given = pa.array(["A b", "a\nB"], pa.large_string()), {"unit": "word", "ngram": 1, "threshold": 0.5}
    given |= {"bands": 1, "rows": 1, "seed": 0, "tokens": Tokens("bytes", "1", Engine())}
    found = [ChosenShingles(**given, normalize=names).units(texts) for names in (None, (), ("case", "space"))]
    assert [hashes.tolist() for _, hashes in found[:1]] == [hashes.tolist() for _, hashes in found[1:2]]
    assert len(set(found[0][1].tolist())) == 6 > len(set(found[2][1].tolist()))


def test_a_text_is_the_sum_of_its_words():
    """Learnt ones, and random ones by the upper half of the word's hash; each text by itself."""
    table = word_vectors.build(["a", "b"], np.array([[0.5, 0.25], [-1.0, 1.0]]), [], 3)
    buffers = B.buffers(pa.array(["a b a", "", "zz a", "b yy xx"], pa.large_string()))
    ends, hashes = word_vectors.words(*buffers)
    known = dict(zip(hashes[:2].tolist(), (0, 1), strict=True))
    rows = [known.get(h, 2 + (h >> 32) % word_vectors.RARE) for h in hashes.tolist()]
    expected = [table.vectors[rows[low:high]].sum(0).tolist() for low, high in pairwise(ends)]
    assert ends.tolist() == [0, 3, 3, 5, 8]
    assert word_vectors._sums(buffers, table).tolist() == expected


@pytest.mark.parametrize(("at", "low", "expected"), [(4, 4, 4), (3, 4, 7), (0, 5, 7), (0, 9, 10), (7, 9, 10)])
def test_a_line_begins_where_its_text_does(at, low, expected):
    """And after each line feed; elsewhere the next one is looked for."""
    data = np.frombuffer(b"ab cde\nfghi", np.uint8)
    assert repeats.shrink_start(data, (at, 11), low, 10, word_table(), repeats.BY_LINE) == expected
