"""SemDeDup: who goes is what a plain search says; D4's share; vectors that cannot be; the default vectors."""

from __future__ import annotations

import pickle
import random
import re
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dataprep as dp
import laws
import twins.semantic
from dataprep.core.model import batch as B
from dataprep.core.model.estimator import Estimator
from dataprep.dedup.embeddings import decide, kmeans, learn_words, vectors, word_vectors
from dataprep.dedup.semantic import SemDeDup
from dataprep.errors import FunctionFailed, PlanError
from dataprep.store import shuffle
from dataprep.store.key import key
from dataprep.store.shuffle import ShuffleFiles
from dataprep.unicode.word_hashes import words

DIM = 32


def bag(texts: list[str]) -> np.ndarray:
    """Words hashed into DIM signed buckets; a text without words is zeros."""
    out = np.zeros((len(texts), DIM))
    for row, text in zip(out, texts, strict=True):
        for word in text.lower().split():
            h = xxhash.xxh3_64_intdigest(word.encode())
            row[h % DIM] += 1 if h >> 63 else -1
    return out


def by_number(texts: list[str]) -> np.ndarray:
    """The texts are numbers: rows of a table of vectors in bundles, some nearly the same."""
    return bundles(600)[[int(t) for t in texts]]


def bundles(n: int, spread: float = 0.35) -> np.ndarray:
    """Vectors around twenty directions."""
    rng = np.random.RandomState(3)
    centres = rng.standard_normal((20, DIM))
    return centres[rng.randint(0, 20, n)] + spread * rng.standard_normal((n, DIM)) * rng.rand(n, 1)


def many(n: int, seed: int = 0) -> list[str]:
    """Texts, a third of them earlier ones in another order with a word more."""
    rng, made = random.Random(seed), []
    for i in range(n):
        if i % 3 == 2:
            tokens = rng.choice(made).split()
            rng.shuffle(tokens)
            made.append(" ".join([*tokens, "more"]))
        else:
            made.append(" ".join(f"w{rng.randrange(900)}" for _ in range(20)))
    return made


# --- vectors ----------------------------------------------------------------------------------------------------------

finite = st.floats(-1e9, 1e9, allow_subnormal=False)


@settings(max_examples=40)
@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 40)), elements=finite))
def test_the_grid_is_what_it_says(given_vectors) -> None:
    """Rounded unit vectors of length 4,096 at most; each row as if it were alone."""
    made = vectors.to_grid(given_vectors)
    assert np.abs(made - twins.semantic.on_grid(given_vectors)).max() <= 1  # a half may round either way
    assert (vectors.lengths(made) <= vectors.LENGTH).all()
    alone = np.concatenate([vectors.to_grid(np.ascontiguousarray(row[None])) for row in given_vectors])
    assert np.array_equal(made, alone)


def test_products_on_the_grid_are_exact() -> None:
    """float32 products of 768 numbers equal whole ones, also of a vector with itself, the largest there is."""
    made = vectors.to_grid(np.random.RandomState(0).standard_normal((200, 768)))
    exact = made.astype(np.int64) @ made.T.astype(np.int64)
    assert exact.max() > 0.98 * (1 << 24)
    assert np.array_equal(made.astype(np.float32) @ made.T.astype(np.float32), exact)


def test_the_grid_moves_a_cosine_by_little() -> None:
    """Of 20,000 pairs of 64 numbers the cosine is off by 1e-4 on average, and never by 6e-4."""
    a, b = np.random.RandomState(1).standard_normal((2, 20_000, 64))
    true = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    p, q = (vectors.to_grid(x).astype(np.float64) for x in (a, b))
    off = (p * q).sum(1) / np.linalg.norm(p, axis=1) / np.linalg.norm(q, axis=1) - true
    assert np.sqrt((off**2).mean()) < 1.1e-4
    assert np.abs(off).max() < 6e-4


# --- clusters ---------------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 99))
def test_k_means_is_lloyds(n, k, seed) -> None:
    """Centroids equal those of a plain loop; equal vectors make one centroid."""
    raw = np.random.RandomState(seed).randint(-3, 4, (n, 6))
    sample = vectors.to_grid(raw[raw.any(1)].astype(np.float64)) if raw.any() else vectors.to_grid(np.ones((1, 6)))
    found = kmeans.k_means(sample, k, 3)
    assert np.array_equal(found, twins.semantic.spherical_k_means(sample.astype(np.int64), k, 3))
    labels, cosines = kmeans.nearest(sample, found)
    for row, label, similar in zip(sample.astype(np.int64), labels, cosines, strict=True):
        all_cosines = [twins.semantic.cosine(row, c) for c in found.astype(np.int64)]
        assert similar / 10_000 == pytest.approx(max(all_cosines), abs=1e-9)
        assert all_cosines[label] == pytest.approx(max(all_cosines), abs=1e-9)


def test_how_many_clusters() -> None:
    """One for few documents, the root for many, and a bound."""
    assert [kmeans.n_clusters(n) for n in (0, 1, 32_768, 40_000, 10**8, 10**10)] == [1, 1, 1, 200, 10_000, 16_384]


# --- who goes ---------------------------------------------------------------------------------------------------------


def found_in(stage: SemDeDup, rows, drops, **cuts):
    return {d: (k, round(s, 4)) for d, (k, s) in drops(stage, rows, **cuts).items()}


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_who_goes_is_what_a_plain_search_says(drops, keep) -> None:
    """In one cluster, for any keep order and parts: the first kept document above 1 - epsilon, and the cosine."""
    texts = many(300)
    order = list(range(300)) if keep == "first" else sorted(range(300), key=lambda i: (-len(texts[i]), i))
    for epsilon in (0.02, 0.1, 0.4):
        wanted = twins.semantic.semantic_duplicates(bag(texts), order, epsilon)
        assert found_in(SemDeDup(epsilon=epsilon, embed=bag, keep=keep), texts, drops, parts=3, cut=37) == wanted
    assert len(wanted) > 100


def test_clusters_only_hide_pairs(drops) -> None:
    """In 8 clusters, who goes is what a plain search inside the clusters says, and nearly all of a search in one."""
    rows = [str(i) for i in range(600)]
    grid = vectors.to_grid(bundles(600))
    hashes = kmeans.mix(np.arange(0, 6000, 10, dtype=np.uint64), 0)  # the ids of the test's dataset
    labels, _ = kmeans.nearest(grid, kmeans.k_means(grid[np.argsort(hashes)], 8))
    assert len(set(labels.tolist())) == 8
    found = found_in(SemDeDup(epsilon=0.05, embed=by_number, clusters=8), rows, drops, parts=4)
    assert found == twins.semantic.semantic_duplicates(bundles(600), list(range(600)), 0.05, labels)
    everywhere = twins.semantic.semantic_duplicates(bundles(600), list(range(600)), 0.05)
    assert len(everywhere) > 150
    assert len(set(found) & set(everywhere)) > 0.97 * len(everywhere)


def test_recall_across_the_borders_of_clusters(drops) -> None:
    """Of 6,000 documents in 16 clusters, most that have a neighbour in the ball are found, and none without one."""
    rng = np.random.RandomState(5)
    made = rng.standard_normal((6000, DIM))
    made[4000:] = made[rng.randint(0, 4000, 2000)] + 0.12 * rng.standard_normal((2000, DIM))
    rows = [" ".join(f"{x:.6f}" for x in v) for v in made]
    found = found_in(SemDeDup(epsilon=0.02, embed=parse, clusters=16), rows, drops, parts=2)
    unit = made / np.linalg.norm(made, axis=1, keepdims=True)
    similar = np.tril(unit @ unit.T, -1) > 0.98
    assert all(unit[d] @ unit[k] > 0.98 - 6e-4 for d, (k, _) in found.items())
    share = len(found) / int(similar.any(1).sum())
    assert 0.85 < share < 1.0, share  # random directions are the worst case: no cluster is natural


def parse(texts: list[str]) -> np.ndarray:
    """The texts are vectors."""
    return np.array([text.split() for text in texts], np.float64)


def test_nothing_chains(drops) -> None:
    """Of A ~ B ~ C, each 0.3 from the next, B goes for A and C stays."""
    angles = np.array([0.0, 0.3, 0.6])
    rows = [f"{np.cos(a):.9f} {np.sin(a):.9f}" for a in angles]
    assert found_in(SemDeDup(epsilon=1 - np.cos(0.4), embed=parse), rows, drops) == {1: (0, round(np.cos(0.3), 4))}


def test_the_farthest_or_the_closest_stays(drops) -> None:
    """The paper's choice: of similar documents, the one farthest from the centroid stays; or the closest."""
    angles = [0.0, 0.1, 0.2]  # the centroid is at 0.1
    rows = [f"{np.cos(a):.9f} {np.sin(a):.9f}" for a in angles]
    stays = {keep: {0, 1, 2} - set(drops(SemDeDup(epsilon=0.1, embed=parse, keep=keep), rows)) for keep in
             ("farthest", "closest", "first")}  # fmt: skip
    assert stays == {"farthest": {0}, "closest": {1}, "first": {0}}


def test_a_large_cluster_in_little_memory(tmp_path) -> None:
    """Read in blocks, against 40 kept documents at a time, the outcome is the same."""
    made = vectors.to_grid(bundles(3000))
    outcome = [decide_in(tmp_path / str(held), made, held, room) for held, room in ((1 << 30, 1 << 20), (0, 40))]
    assert np.array_equal(*[o.kept_by for o in outcome])
    assert np.array_equal(*[o.similarity for o in outcome])
    wanted = twins.semantic.semantic_duplicates(bundles(3000)[:500], list(range(500)), 0.1)
    assert {i: int(k) for i, k in enumerate(outcome[1].kept_by[:500]) if k >= 0} == {
        i: k for i, (k, _) in wanted.items()
    }


def decide_in(folder, made, held: int, room: int):
    """Write the vectors as `Assign` would, in two parts, and decide them."""
    headers = np.zeros(len(made), decide.HEADER)
    headers["id"] = np.arange(len(made))
    headers["file"] = np.arange(len(made)) >= 1000
    for number, rows in enumerate((slice(0, 1000), slice(1000, None))):
        (folder / "assign").mkdir(parents=True, exist_ok=True)
        with decide.spill_to(str(folder / f"assign/part-{number:05d}"), 2) as spill:
            spill.write([headers[rows][:300], made[rows][:300]])
            spill.write([headers[rows][300:], made[rows][300:]])
    members = decide.Members.read(ShuffleFiles(str(folder / "assign/part-"), 2, 1, 2), 0, DIM, held)
    decided = decide.Decisions(np.full(len(made), -1, np.int64), np.zeros(len(made), np.float32))
    decide.decide_cluster(members, np.arange(len(made)), 9000, room, decided, 0)
    return decided


def test_equal_one_none_and_empty(drops, tmp_path) -> None:
    """All equal leaves the first; one stays; texts without words are nobody's duplicates; nothing in, nothing out."""
    for stage in (SemDeDup(embed=bag), SemDeDup(embed=bag, clusters=7)):
        assert drops(stage, ["the same"] * 40, parts=3) == dict.fromkeys(range(1, 40), (0, 1.0))
        assert drops(stage, ["alone"]) == {}
        assert drops(stage, ["", " ", "", "word", "word"]) == {4: (3, 1.0)}
        assert drops(stage, [""] * 9) == {}
        for number, docs in enumerate((laws.dataset_of(tmp_path, [], parts=1), laws.Dataset(()))):
            made = stage.fit(docs, dp.tools.Serial(), str(tmp_path / f"{number}-{stage.clusters}"))
            assert pq.read_table(made.verdicts).num_rows == 0
            assert made.facts["documents"] == 0


# --- D4 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1.0, 0.7, 0.33, 0.001])
def test_diversify_keeps_the_share(dataset, tmp_path, share) -> None:
    """Of what the balls left, the share stays: those farthest from the centroids of the rest's own clusters."""
    stage = SemDeDup(epsilon=0.05, embed=by_number, diversify=share)
    made = stage.fit(dataset([str(i) for i in range(600)], parts=4), dp.tools.Serial(), str(tmp_path / "out"))
    rows = pq.read_table(made.verdicts).to_pylist()
    gone = twins.semantic.semantic_duplicates(bundles(600), list(range(600)), 0.05)
    assert {r["id"] // 10 for r in rows if r["reason"] == "semantic_duplicate"} == set(gone)
    left = np.array([i for i in range(600) if i not in gone])
    grid = vectors.to_grid(bundles(600))[left]
    first = np.argsort(kmeans.mix((left * 10).astype(np.uint64), 0))
    centroid = kmeans.k_means(grid[first], 1).astype(np.int64)[0]
    cosines = [twins.semantic.cosine(v, centroid) for v in grid.astype(np.int64)]
    order = sorted(range(len(left)), key=lambda i: (-cosines[i], -left[i]))
    wanted = {int(left[i]): cosines[i] for i in order[: len(left) - int(np.ceil(share * len(left)))]}
    found = {r["id"] // 10: round(r["similarity"], 4) for r in rows if r["reason"] == "prototype"}
    assert found == wanted
    assert all(r["duplicate_of"] is None for r in rows if r["reason"] == "prototype")
    assert made.facts["prototypes"] == len(wanted)
    assert made.facts["dropped"] == len(gone)


def test_diversify_in_a_pipeline(tmp_path) -> None:
    """Books balance, and both reasons are in them; empty texts stay."""
    texts = [*many(120), "", ""]
    docs = laws.dataset_of(tmp_path, texts, parts=3)
    one = dp.Pipeline(SemDeDup(epsilon=0.1, embed=bag, diversify=0.5)).run(docs, str(tmp_path / "out"))
    book = one.stats["SemDeDup"]
    assert set(book.dropped) == {"semantic_duplicate", "prototype"}
    assert one.count + book.docs_dropped == len(texts)
    assert one.table().column("text").to_pylist().count("") == 2
    assert one.manifest.fits[0]["prototypes"] == book.total(book.dropped["prototype"]).docs


# --- bad input --------------------------------------------------------------------------------------------------------

WRONG = {
    "an array of shape (2,) for 2 texts": lambda texts: np.ones(len(texts)),
    "an array of shape (3, 4) for 2 texts": lambda texts: np.ones((len(texts) + 1, 4)),
    "an array of shape (2, 0) for 2 texts": lambda texts: np.ones((len(texts), 0)),
    "returned an array of shape (0,)": lambda texts: [[1.0], [1.0, 2.0]],
    "NaN or infinity for document 0:10": lambda texts: [[1.0, 0.0], [np.nan, 1.0]],
}


@pytest.mark.parametrize("sentence", WRONG)
def test_vectors_that_cannot_be(drops, sentence) -> None:
    """Wrong shapes and numbers that are none: one sentence that says which."""
    with pytest.raises(PlanError, match=re.escape(sentence)):
        drops(SemDeDup(embed=WRONG[sentence], version="1"), ["one", "two"])


def test_vectors_of_two_sizes(drops) -> None:
    """All vectors have as many numbers, in one part and across parts."""
    stage = SemDeDup(embed=lambda texts: np.ones((len(texts), len(texts[0]))), version="1")
    with pytest.raises(PlanError, match="vectors of 1 and 3 numbers"):
        drops(stage, ["a", "abc"], parts=2)


def test_the_functions_own_error_names_the_document(drops) -> None:
    """What the function raises is the cause of an error that names the first document for which it raises."""
    with pytest.raises(FunctionFailed, match=r"^embed=broken raised ValueError: .* document 0:0 ") as e:
        drops(SemDeDup(embed=broken), ["a"])
    assert isinstance(e.value.__cause__, ValueError)


def broken(texts):
    msg = "the model is broken"
    raise ValueError(msg)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"epsilon": 0}, "epsilon=0 "), ({"epsilon": 1.0}, "epsilon=1.0"), ({"epsilon": "a"}, "epsilon='a'"),
        ({"clusters": 0}, "clusters=0"), ({"diversify": 0}, "diversify=0"), ({"diversify": 1.5}, "diversify=1.5"),
        ({"dim": 15}, "dim=15"), ({"seed": -1}, "seed=-1"), ({"embed": 3}, "must be a function"),
        ({"keep": "nicest"}, "keep='nicest'"), ({"embed": print, "keep": "best:"}, "keep='best:'"),
    ],
)  # fmt: skip
def test_parameters_that_cannot_be(wrong, sentence) -> None:
    """One sentence each, before any work."""
    with pytest.raises(PlanError, match=sentence):
        SemDeDup(**wrong)


class Model:
    """A model that cannot be keyed."""

    def encode(self, texts):
        """Vectors."""
        return bag(texts)


def test_the_key_knows_the_function() -> None:
    """Another function or version is another key; what cannot be keyed wants a version; print hides no address."""
    assert key(SemDeDup(embed=bag)) != key(SemDeDup(embed=parse))
    assert key(SemDeDup(embed=bag)) != key(SemDeDup())
    with pytest.raises(PlanError, match="cannot be hashed"):
        SemDeDup(embed=Model().encode)
    one, two = (SemDeDup(embed=Model().encode, version=v) for v in ("1", "2"))
    assert key(one) != key(two)
    assert key(one) == key(SemDeDup(embed=Model().encode, version="1"))
    assert repr(SemDeDup(embed=bag, epsilon=0.1)) == "SemDeDup(epsilon=0.1, embed=bag)"


# --- the default vectors ----------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.lists(st.text(st.sampled_from("ab é中İΣ\n"), max_size=12), max_size=6))
def test_sums_of_word_vectors(texts) -> None:
    """The kernel's sums are those of a plain loop over words, known and rare."""
    known = ["a", "ab", "é", "中", "σ"]
    table = np.random.RandomState(0).randint(-4096, 4097, (len(known) + word_vectors.RARE, 5)).astype(np.int16)
    table.flags.writeable = False
    batch = B.make(range(len(texts)), texts, "made")
    found = word_vectors.sum_words(*words(*B.buffers(batch)), *word_vectors.slots(known), table)
    rows = {w: i for i, w in enumerate(known)}
    assert found.tolist() == [twins.semantic.word_sums(t, rows, table, word_vectors.RARE).tolist() for t in texts]


def test_sums_of_very_many_words() -> None:
    """A document of 300,000 words overflows nothing."""
    table = np.full((word_vectors.RARE, 2), [32_767, -32_768], np.int16)
    table.flags.writeable = False
    batch = B.make([0], ["a " * 300_000], "made")
    found = word_vectors.sum_words(*words(*B.buffers(batch)), *word_vectors.slots([]), table)
    assert found.tolist() == [[32_767.0 * 300_000, -32_768.0 * 300_000]]


TOPICS = ["oil crude barrel pipeline refinery", "wheat corn harvest farmer tonnes", "bank loan credit interest deposit"]
PLAIN = ["the", "of", "and", "to", "in", "that", "for", "with", "from", "was", "it", "on", "by", "as", "at"]


def stories(n: int) -> list[str]:
    """Stories of three subjects, every tenth a copy with two words changed."""
    rng, made = random.Random(4), []
    for i in range(n):
        if i % 10 == 9:
            tokens = made[-1].split()
            for at in rng.sample(range(len(tokens)), 2):
                tokens[at] = rng.choice(PLAIN)
        else:
            pool = TOPICS[i % 3].split() * 2 + PLAIN + [f"name{rng.randrange(400)}" for _ in range(4)]
            tokens = [rng.choice(pool) for _ in range(50)]
        made.append(" ".join(tokens))
    return made


def test_the_default_vectors(drops) -> None:
    """FastText trained on 1,500 stories: rewordings are found, others are not, twice the same, __label__ is a word."""
    pytest.importorskip("fasttext")
    rows = [*stories(1500), "__label__x " * 9]
    stage = SemDeDup(epsilon=0.05, dim=32)
    found = drops(stage, rows, parts=3)
    reworded = set(range(9, 1500, 10))
    assert len(reworded & set(found)) > 0.9 * len(reworded)
    assert len(set(found) - reworded) < 15
    assert drops(stage, rows, parts=3, cut=7) == found


def test_words_of_one_subject_are_near() -> None:
    """The training learns: a subject's words are nearer to each other than to those of another."""
    pytest.importorskip("fasttext")
    vocabulary = sorted({w for t in TOPICS for w in t.split()} | set(PLAIN))
    made = learn_words.spread(learn_words.train(stories(1500), vocabulary, 16, 0))
    at = [[vocabulary.index(w) for w in t.split()] for t in TOPICS]
    cosines = made @ made.T
    for subject in at:
        others = [i for o in at if o is not subject for i in o]
        assert (
            cosines[np.ix_(subject, subject)][~np.eye(5, dtype=bool)].mean()
            > cosines[np.ix_(subject, others)].mean() + 0.5
        )


def test_a_small_corpus_is_not_wiped_out(drops) -> None:
    """300 texts of random words, of which little can be learnt: nobody goes; copies do."""
    pytest.importorskip("fasttext")
    rng = random.Random(0)
    rows = [" ".join(f"w{rng.randrange(500)}" for _ in range(30)) for _ in range(300)]
    assert drops(SemDeDup(epsilon=0.2), [*rows, rows[7]]) == {300: (7, 1.0)}
    assert drops(SemDeDup(), ["only these words"] * 3 + [""] * 2) == {1: (0, 1.0), 2: (0, 1.0)}


def test_without_fasttext_it_says_so(dataset, tmp_path, monkeypatch) -> None:
    """A missing fastText is a sentence with the extra's name, before anything is read."""
    monkeypatch.setitem(sys.modules, "fasttext", None)
    with pytest.raises(PlanError, match=r"pip install 'dataprep-lm\[langid\]'"):
        SemDeDup().fit(dataset(["a"]), dp.tools.Serial(), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


# --- laws -------------------------------------------------------------------------------------------------------------


def test_runners_and_crashes(tmp_path, monkeypatch) -> None:
    """Two processes write the bytes of one; stopped after any pass, and gone on with, so does a run that merges."""
    texts = many(200)
    docs = laws.dataset_of(tmp_path, texts, parts=4)
    pipeline = dp.Pipeline(SemDeDup(epsilon=0.1, embed=bag, clusters=3, diversify=0.6))
    pipeline.run(docs, str(tmp_path / "one"))
    pipeline.run(docs, str(tmp_path / "two"), runner=laws.TWO)
    laws.same_bytes(tmp_path / "one", tmp_path / "two")
    monkeypatch.setattr(shuffle, "FAN_IN", 2)
    monkeypatch.setattr(decide, "PARTITION_BYTES", 6_000)
    passes = "vectors, clusters, assign, merge vectors, compare, merge decisions, sort dropped, diverse, prototypes"
    for at in passes.split(", "):
        with pytest.raises(KeyboardInterrupt):
            pipeline.run(docs, str(tmp_path / "torn"), runner=laws.Stops(at=f"SemDeDup: {at}"))
    pipeline.run(docs, str(tmp_path / "torn"))
    laws.same_bytes(tmp_path / "one", tmp_path / "torn")


def test_it_travels() -> None:
    """Key, pickle and printed form; needs the column it ranks by."""
    for stage in (SemDeDup(), SemDeDup(embed=bag, keep="best:score", diversify=0.5)):
        laws.key_and_pickle_are_stable(stage)
        assert isinstance(stage, Estimator)
    assert SemDeDup(embed=bag, keep="best:score").needs == ("score",)
    assert pickle.loads(pickle.dumps(SemDeDup(embed=bag))) == SemDeDup(embed=bag)


def test_word_vectors_are_centred_and_of_one_length() -> None:
    """Of few words, nothing else is taken from them; none stay none."""
    few = np.random.RandomState(1).rand(9, 4) + 5
    plain = few - few.mean(0)
    made = learn_words.spread(few)
    assert np.allclose(made, plain / np.sqrt((plain**2).sum(1))[:, None])
    assert learn_words.spread(few[:0]).shape == (0, 4)
    assert np.allclose(learn_words.spread(few[[0, 0]]), 0)
    many = np.random.RandomState(2).rand(learn_words.COMMON_WORDS, 4)
    plain = many - many.mean(0)
    assert not np.allclose(learn_words.spread(many), plain / np.sqrt((plain**2).sum(1))[:, None])
