"""What SemDeDup keeps between its passes, against plain Python: vectors that are left, samples, words."""

from __future__ import annotations

import json
import random
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from dataprep.core.model import batch as B
from dataprep.dedup.embeddings import kmeans, learn_words, stored, vectors, word_vectors
from dataprep.store.ranks import mix
from dataprep.store.spill import Spill, spill_to, write_spill
from twins.words import words


def test_ids_of_a_group_are_those_of_its_parts(tmp_path):
    """Parts in a row share a file; those without vectors and the dropped are left out of a part's vectors."""
    dropped = kmeans.DroppedIds(str(tmp_path), 5, 2)
    for group, ids in enumerate(([1, 5], [31])):
        write_spill(kmeans.SortDropped.url(str(tmp_path), group), [np.array(ids, np.uint64)])
    assert [dropped.of(part).tolist() for part in range(5)] == [[1, 5]] * 3 + [[31]] * 2
    rows = np.array([[1, 0], [0, 0], [2, 3], [0, -1]], np.int16)
    for number, ids in ((0, [0, 1, 3, 5]), (3, [30, 31, 32, 33])):
        with spill_to(vectors.EmbedDocuments.url(str(tmp_path), number), 3) as spill:
            for half in (slice(2), slice(2, 4)):
                spill.write([np.array(ids[half], np.uint64), np.array([7, 8, 9, 6][half], np.uint64), rows[half]])
    kept = [
        [b.ids.tolist() for b in kmeans.vectors_kept_in(str(tmp_path), n, 2, d)]
        for n in (0, 3)
        for d in (None, dropped)
    ]
    assert kept == [[[0], [3, 5]], [[0], [3]], [[30], [32, 33]], [[30], [32, 33]]]
    blocks = list(kmeans.vectors_kept_in(str(tmp_path), 0, 2, dropped))
    assert [(b.ranks.tolist(), b.vectors.tolist()) for b in blocks] == [([7], [[1, 0]]), ([9], [[2, 3]])]


@pytest.mark.parametrize(("clusters", "n_docs"), [(1, 40), (2, 40), (9, 40), (9, 30), (2, 0)])
def test_the_sample_has_the_smallest_hashes(tmp_path, monkeypatch, clusters, n_docs):
    """Of the documents that are left, about so many for each cluster, in order of the hash of seed and id."""
    monkeypatch.setattr(kmeans, "SAMPLE_DOCS", 4)
    monkeypatch.setattr(kmeans, "SAMPLE_BYTES", 80)
    held = {}
    for number in range(2):
        ids = np.arange(20, dtype=np.uint64) + np.uint64(50 * number)
        with spill_to(vectors.EmbedDocuments.url(str(tmp_path), number), 3) as spill:
            spill.write([ids, ids, np.stack([ids + np.uint64(1), ids], 1).astype(np.int16)])
        held |= {i: [i + 1, i] for i in ids.tolist()}
    gone = kmeans.DroppedIds(str(tmp_path), 2, 1)
    write_spill(kmeans.SortDropped.url(str(tmp_path)), [np.array([3, 55], np.uint64)])
    found = kmeans.FindClusters(str(tmp_path), "key", 2, 2, n_docs, clusters, 6, gone)._sample()
    hashes = {i: int(mix(np.array([i], np.uint64), 6)[0]) for i in held if i not in (3, 55)}
    limit = min(1.0, min(20, 4 * clusters) / max(1, n_docs)) * 2**64
    assert found.tolist() == [held[i] for i in sorted(hashes, key=hashes.get) if hashes[i] <= limit]


def test_how_much_text_is_sampled():
    """16 MB of all, and of each part at least 1 MB."""
    parts = {0: 16, 1: 16, 2: 16, 3: 10, 4: 8, 8: 4, 32: 1, 33: 1, 999: 1}
    assert {n: learn_words.sample_bytes(n) >> 20 for n in parts} == parts


class Given:
    """A part with batches of ids and texts."""

    def __init__(self, batches, number=0):
        self.number, self.made = number, batches

    def batches(self, columns):
        """All batches."""
        assert columns == ["id", "text"]
        return iter(self.made)


@pytest.mark.parametrize("most", [1, 30, 60, 10_000])
def test_the_sampled_texts_are_those_of_the_smallest_hashes(tmp_path, monkeypatch, most):
    """As many as fit, at least one, in order of their hashes; of long ones the beginning; only their words."""
    monkeypatch.setattr(learn_words, "MAX_CHARS", 20)
    rng = random.Random(2)
    texts = ["".join(rng.choices(("é", "b ", "  ", "Word, "), k=rng.randrange(9))) for _ in range(30)]
    batches = [B.make(range(at, at + 10), texts[at : at + 10], "x") for at in (0, 10, 20)]
    learn_words.SampleTexts(str(tmp_path), "key", 4, most).write(str(tmp_path / "sample"), Given(batches))
    order = sorted(range(30), key=lambda i: int(mix(np.array([i], np.uint64), 4)[0]))
    chosen, size = [], 0
    for i in order:
        size += len(texts[i][:20])
        if size > most and chosen:
            break
        chosen.append(i)
    with Spill(str(tmp_path / "sample")) as spill:
        ranks, sizes = spill.read(0, 0, dtype=np.uint64), spill.read(0, 1, dtype=np.int64)
        data = spill.read(0, 2).tobytes()
    assert ranks.tolist() == [int(mix(np.array([i], np.uint64), 4)[0]) for i in chosen]
    plain = [" ".join(words(texts[i][:20])) for i in chosen]
    ends = np.cumsum(sizes)
    assert [data[b - n : b].decode() for b, n in zip(ends, sizes, strict=True)] == plain


def sampled(tmp_path, held):
    """Write the samples of parts: (hash, text)."""
    for number, rows in enumerate(held):
        texts = [text.encode() for _, text in rows]
        ranks, sizes = np.array([r for r, _ in rows], np.uint64), np.array(list(map(len, texts)), np.int64)
        data = np.frombuffer(b"".join(texts), np.uint8)
        (tmp_path / "sample").mkdir(exist_ok=True)
        write_spill(learn_words.SampleTexts.url(str(tmp_path), number), [ranks, sizes, data])


def test_the_words_of_all_samples(tmp_path, monkeypatch):
    """Texts of all parts by their hashes, up to a size; words that occur five times, the most frequent first."""
    held = [[(5, "a b a"), (9, "é é é é"), (40, "never read")], [], [(1, "a a b b b c"), (6, "b c c c")]]
    sampled(tmp_path, held)
    monkeypatch.setattr(learn_words, "SAMPLE_BYTES", 40)
    task = learn_words.LearnWords(str(tmp_path), "key", 4, 0, 3)
    assert task._texts() == ["a a b b b c", "a b a", "b c c c", "é é é é"]
    monkeypatch.setattr(learn_words, "SAMPLE_BYTES", 1)
    assert task._texts() == ["a a b b b c"]
    monkeypatch.setattr(learn_words, "SAMPLE_BYTES", 1000)
    monkeypatch.setattr(learn_words, "MIN_COUNT", 4)
    monkeypatch.setattr(learn_words, "MAX_WORDS", 3)
    asked, built = [], []

    def train(*given):
        asked.append(given)
        return np.array([[1.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 0, 0, 3.0]])

    monkeypatch.setattr(learn_words, "train", train)
    monkeypatch.setattr(learn_words, "spread", lambda learnt: learnt * 2)
    monkeypatch.setattr(learn_words, "build", lambda *given: built.append(given) or [np.zeros(1)])
    texts = ["a a b b b c", "a b a", "b c c c", "é é é é", "never read"]
    counts = Counter(" ".join(texts).split())
    assert task.write(str(tmp_path / "out"), 0) == {"sample_bytes": sum(map(len, texts)), "words": 3}
    assert asked == [(texts, ["b", "a", "c"], 4, 0)]
    ((vocabulary, weighted, same, seed),) = built
    assert (vocabulary, same, seed) == (["b", "a", "c"], texts, 0)
    share = [1e-3 / (1e-3 + counts[w] / counts.total()) for w in vocabulary]
    expected = np.array([[2.0, 0, 0, 0], [0, 4.0, 0, 0], [0, 0, 0, 6.0]]) * np.array(share)[:, None]
    np.testing.assert_allclose(weighted, expected)


def test_words_that_were_not_learnt_have_random_vectors(monkeypatch):
    """Of one length, chosen by the seed plus one; the table finds each learnt word, also where slots are taken."""
    vocabulary = [f"w{i}" for i in range(40)]
    weighted = np.arange(80.0).reshape(40, 2) / 80
    table = word_vectors.build(vocabulary, weighted, [], 3)
    rare = np.random.RandomState(4).standard_normal((word_vectors.RARE, 2))
    rare /= np.sqrt((rare**2).sum(1))[:, None]
    assert table.vectors.tolist() == np.rint(np.concatenate([weighted, rare]) * 4096).astype(int).tolist()
    assert len(table.keys) == len(table.rows) == 128
    assert sorted(table.rows[table.rows >= 0].tolist()) == list(range(40))
    assert [len(word_vectors.slots([f"v{i}" for i in range(n)])[0]) for n in (0, 1, 7, 8, 15, 16)] == [
        16, 16, 16, 32, 32, 64
    ]  # fmt: skip
    monkeypatch.setattr(word_vectors, "COMMON_DOCS", 2)
    assert word_vectors.build(vocabulary, weighted, ["w1"], 3).vectors.tolist() == table.vectors.tolist()
    assert word_vectors.build(vocabulary, weighted, ["w1", "w2"], 3).vectors.tolist() != table.vectors.tolist()
    start = np.array([[3.0, 1.0, 0.5], [1.0, 2.0, 0.25]])
    sample = np.array([[1, 0, 0], [0, 1, 0], [5, 5, 0]], np.int16)
    np.testing.assert_allclose(word_vectors.without_common(start, sample), [[0, 0, 0.5], [0, 0, 0.25]], atol=1e-9)


def test_a_centroid_without_vectors_stays(monkeypatch):
    """The others move to the sum of theirs."""
    sample = vectors.to_grid(np.array([[1.0, 0], [0, 1.0], [1.0, 0.5]]))
    monkeypatch.setattr(kmeans, "nearest", lambda some, _: (np.zeros(len(some), np.int32), None))
    expected = vectors.to_grid(np.array([sample.sum(0), sample[1]], np.float64))
    assert kmeans.k_means(sample, 2, 1).tolist() == expected.tolist()


def test_vectors_of_any_length_are_scaled():
    """Tiny and huge ones, whose squares no float holds, as well as zeros."""
    made = np.array([[3.0, 4.0], [0.0, 0.0], [-5.0, 0.0]])
    expected = vectors.to_grid(made)
    assert not expected[1].any()
    for factor in (1e-250, 1e-3, 1e250):
        assert np.array_equal(vectors.to_grid(made * factor), expected)


def test_vectors_of_older_documents_are_not_kept(tmp_path):
    """Those of new ones are, with what identifies them."""
    names = [f"part-0000{n}{suffix}" for n in range(3) for suffix in ("", ".json")]
    folder = tmp_path / "vectors"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("{}")
    docs = SimpleNamespace(tasks=[SimpleNamespace(number=n) for n in range(3)])
    stored.keep_vectors(str(tmp_path), "a", "b", SimpleNamespace(n_old=2, docs=docs, first_new=7))
    assert sorted(p.name for p in folder.iterdir()) == ["index.json", *names[4:]]
    found = json.loads((folder / "index.json").read_text())
    assert found.pop("checksum")
    assert found == {"key": "a", "embed": "b", "shift": "7", "parts": [2]}
