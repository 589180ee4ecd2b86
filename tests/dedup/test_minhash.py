"""MinHash against brute force: what is found, what is deleted, and at what rate bands meet."""

from __future__ import annotations

import collections
import functools
import gzip
import itertools
import json
import random

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twins.text
from dataprep.core.run.runner import Serial
from dataprep.dedup.keep import Keep
from dataprep.dedup.minhash import MinHash
from dataprep.dedup.near import bands, gather, key_sources, keys, search, similarity, sketch, verify
from dataprep.dedup.near.kept_index import FEWEST, LATER, MOST, allowance
from dataprep.errors import PlanError
from dataprep.store import shuffle
from fixtures.dedup import KEYS, STORED
from twins.minhash import contained, jaccard, near_duplicates

CERTAIN = {"bands": 120, "rows": 1}  # a pair at J = 0.4 is missed with probability 0.6^120
VOCABULARY = ["alef", "ba", "ta", "tha", "jeem", "hha", "kha", "dal", "thal", "ra"]
TEXTS = st.lists(st.lists(st.sampled_from(VOCABULARY), max_size=9).map(" ".join), max_size=25)


def edited(seed: int, families: int = 60, copies: int = 6, n_words: int = 120) -> list[str]:
    """Families of texts with more and more words replaced, shuffled: similarities from 1 to near 0."""
    rng = random.Random(seed)
    texts = []
    for family in range(families):
        words = [f"w{rng.randrange(5000)}f{family}" for _ in range(n_words)]
        for copy in range(copies):
            at = rng.sample(range(n_words), k=rng.randrange(1 + copy))
            texts.append(" ".join(f"new{rng.randrange(10**9)}" if i in at else w for i, w in enumerate(words)))
    rng.shuffle(texts)
    return texts


def check(
    texts: list[str], found: dict, threshold: float, unit: str = "word", n: int = 5, judged: int | None = None
) -> None:
    """Each dropped document is as similar as stated to a kept one, and similar enough; ``judged`` of them, or all."""
    sets = functools.cache(lambda d: twins.text.shingle_set(texts[d], unit, n))
    assert not {kept for kept, _ in found.values()} & set(found)
    some = list(found) if judged is None else random.Random(0).sample(list(found), judged)
    for gone in some:
        kept, similarity = found[gone]
        exact = jaccard(sets(gone), sets(kept))
        assert exact >= threshold
        assert similarity == np.float32(exact)


@settings(max_examples=60)
@given(
    texts=TEXTS,
    unit=st.sampled_from(["word", "char"]),
    n=st.integers(1, 5),
    threshold=st.sampled_from([0.4, 0.5, 2 / 3, 0.75, 1.0]),
    keep=st.sampled_from(["first", "longest"]),
    parts=st.integers(1, 3),
    cut=st.integers(1, 9),
)
def test_minhash_is_its_twin(drops, texts, unit, n, threshold, keep, parts, cut) -> None:
    """With bands that miss nothing, exactly the documents go that a comparison of all with all drops."""
    order = sorted(range(len(texts)), key=lambda d: (-len(texts[d].encode()) if keep == "longest" else 0, d))
    expected = near_duplicates(texts, order, threshold, unit, n)
    made = MinHash(threshold=threshold, shingle=unit, ngram=n, keep=keep, **CERTAIN)
    found = drops(made, texts, parts=parts, cut=cut)
    assert found == {d: (kept, np.float32(j)) for d, (kept, j) in expected.items()}


@settings(max_examples=30)
@given(texts=TEXTS, threshold=st.sampled_from([0.4, 0.5, 2 / 3, 1.0]), keep=st.sampled_from(["first", "longest"]))
def test_containment_is_its_twin(drops, texts, threshold, keep) -> None:
    """With measure="containment" a document goes for one that has enough of *its* shingles, and not the reverse."""
    order = sorted(range(len(texts)), key=lambda d: (-len(texts[d].encode()) if keep == "longest" else 0, d))
    expected = near_duplicates(texts, order, threshold, "word", 1, contained)
    found = drops(MinHash(threshold=threshold, ngram=1, keep=keep, measure="containment", **CERTAIN), texts)
    assert found == {d: (kept, np.float32(c)) for d, (kept, c) in expected.items()}


@pytest.mark.parametrize("threshold", [0.5, 0.8, 1.0])
def test_containment_is_found_in_texts_twenty_times_as_long(drops, threshold) -> None:
    """Of 1,000 pairs at the threshold, in texts from as long to twenty times as long, 99 % are found for each ratio."""
    rng, ratios, n = random.Random(11), (1, 2, 5, 10, 20), 200
    short, texts, pairs = 40, [], {}
    for ratio, _ in itertools.product(ratios, range(n)):
        kept = [f"w{rng.randrange(10**12)}" for _ in range(ratio * short)]
        common = rng.sample(kept, round(threshold * short))
        own = [f"w{rng.randrange(10**12)}" for _ in range(short - len(common))]
        pairs[len(texts) + 1] = ratio
        texts += [" ".join(kept), " ".join(common + own)]
    found = drops(MinHash(measure="containment", threshold=threshold, ngram=1), texts)
    assert all(found[d] == (d - 1, np.float32(threshold)) for d in found)
    for ratio in ratios:
        assert sum(pairs[d] == ratio for d in found) >= 0.99 * n


def test_containment_that_bands_cannot_find_is_refused() -> None:
    """Published bands, those of a Jaccard similarity, and a threshold too low for 256 hashes."""
    for chosen in ({"preset": "fineweb"}, {"bands": 26, "rows": 8}, {"bands": 35, "rows": 3}):
        with pytest.raises(PlanError, match="propose 0% of the pairs at the threshold 0.8 of containment"):
            MinHash(measure="containment", **chosen)
    with pytest.raises(PlanError, match="256 hashes are too few to find the pairs at the threshold 0.2 of containment"):
        MinHash(measure="containment", threshold=0.2)
    with pytest.raises(PlanError, match="256 hashes are too few to find the pairs at the threshold 0.01; set"):
        MinHash(threshold=0.01)
    assert MinHash(measure="containment", bands=256, rows=1).settings.rows == 1


def test_containment_keeps_what_is_more(drops) -> None:
    """A page goes for a longer one that has it whole; the longer one does not go for the page."""
    page = " ".join(f"w{i}" for i in range(100))
    more = page + " " + " ".join(f"v{i}" for i in range(60))
    how = {"threshold": 0.9, "bands": 120, "rows": 1}
    assert drops(MinHash(measure="containment", **how), [page, more]) == {}
    assert drops(MinHash(measure="containment", keep="longest", **how), [page, more]) == {0: (1, 1.0)}
    assert drops(MinHash(keep="longest", **how), [page, more]) == {}


def test_made_families_are_found(drops) -> None:
    """Of all pairs at J >= 0.8 in 360 edited texts, 99 % lose one; whoever goes is similar to who stays."""
    texts = edited(1)
    sets = [twins.text.shingle_set(t, "word", 5) for t in texts]
    having = collections.defaultdict(set)
    for d, shingles in enumerate(sets):
        for shingle in shingles:
            having[shingle].add(d)
    meet = {pair for some in having.values() for pair in itertools.combinations(sorted(some), 2)}
    pairs = [(a, b) for a, b in meet if jaccard(sets[a], sets[b]) >= 0.8]
    found = drops(MinHash(), texts, parts=3)
    check(texts, found, 0.8)
    assert len(pairs) > 100
    assert sum(a in found or b in found for a, b in pairs) >= 0.99 * len(pairs)


def test_texts_of_all_lengths(drops) -> None:
    """Sets of 1 to 600 words in any order are compared as by brute force (tables are reused from text to text)."""
    rng = random.Random(5)
    lengths = [rng.randrange(1, 600) for _ in range(60)]
    texts = [" ".join(f"w{i}" for i in range(n)) for n in [*lengths, *sorted(lengths), *lengths[::-1]]]
    for keep, order in (("first", range(len(texts))), ("longest", sorted(range(180), key=lambda d: -len(texts[d])))):
        expected = near_duplicates(texts, list(order), 0.75, "word", 1)
        found = drops(MinHash(threshold=0.75, ngram=1, keep=keep, **CERTAIN), texts)
        assert found == {d: (kept, np.float32(j)) for d, (kept, j) in expected.items()}


def test_similarity_does_not_chain(drops) -> None:
    """Each text shares nine tenths with the next, but only those go that a survivor resembles."""
    words = [f"w{i}" for i in range(400)]
    texts = [" ".join(words[10 * i : 10 * i + 104]) for i in range(25)]  # neighbours: J = 90 / 110
    found = drops(MinHash(threshold=0.8, **CERTAIN), texts)
    assert found == {d: (d - 1, np.float32(90 / 110)) for d in range(1, 25, 2)}


def test_short_and_empty_texts(drops) -> None:
    """Fewer words than a shingle are one shingle; texts without words are nobody's copies."""
    texts = ["", "ok", "OK!", "ok ok", "", "...", "!", "see you tomorrow", "See you, tomorrow"]
    assert drops(MinHash(), texts) == {2: (1, 1.0), 8: (7, 1.0)}
    assert drops(MinHash(shingle="char", ngram=3), ["", " ", "\n", "ok", "o k"]) == {}


def test_small_memory_gives_the_same_verdicts(drops, monkeypatch) -> None:
    """Many segments, ranges, partitions, groups, and indexes too small for their partition change nothing."""
    texts = edited(2, families=12) + edited(2, families=6)
    for keep in ("first", "longest"):
        made = MinHash(threshold=0.7, bands=20, rows=3, keep=keep)
        expected = drops(made, texts, parts=4, cut=7)
        with monkeypatch.context() as patch:
            patch.setattr(keys, "SEGMENT_BYTES", 2000)
            patch.setattr(gather, "SEGMENT_BYTES", 2000)
            patch.setattr(key_sources, "MATCH_RECORDS", 30)
            patch.setattr(gather, "PARTITION_BYTES", 40_000)
            patch.setattr(search, "GROUP_BYTES", 300)
            patch.setattr(verify, "BUDGET", 8_000)
            assert drops(made, texts, parts=4, cut=7) == expected
            if keep == "first":  # files are merged, and merged again; numbers of documents take 64 bits
                patch.setattr(shuffle, "FAN_IN", 2)
                patch.setattr(key_sources, "MAX_UINT32", 0)
                patch.setattr(key_sources, "n_buckets", lambda _: 1024)
                patch.setitem(STORED, "MinHash", KEYS | {"gather-merged"})
                assert drops(made, texts, parts=9, cut=7) == expected
        assert len(expected) > 40


def test_one_crowded_bucket_is_linear(drops) -> None:
    """2,000 copies of one text are compared with the one that stays, not with each other."""
    made = MinHash()
    assert drops(made, ["the same text again and again"] * 2000) == dict.fromkeys(range(1, 2000), (0, 1.0))


def test_template_letters_are_linear(tmp_path, dataset) -> None:
    """Comparisons per letter are limited, and what is left out is counted; copies are found all the same."""
    rng = random.Random(4)
    words, n = [f"t{i}" for i in range(100)], 2500
    letters = []
    for number in range(n):
        letter = words.copy()
        if number % 10 == 9:
            letter = letters[rng.randrange(number // 10 + 1) * 10].split()
            letter[rng.randrange(10, 30)] = f"c{number}"
        else:
            for slot in (40, 60, 80):
                letter[slot] = f"v{rng.randrange(10**9)}"
        letters.append(" ".join(letter))
    fitted = MinHash().fit(dataset(letters, parts=2), Serial(), str(tmp_path))
    rows = pq.read_table(fitted.verdicts).to_pylist()
    found = {row["id"] // 10: (row["duplicate_of"] // 10, row["similarity"]) for row in rows}
    check(letters, found, 0.8)
    assert fitted.facts["compared"] <= MOST * n
    assert fitted.facts["skipped"] > 0
    assert set(found) <= set(range(9, n, 10))
    assert len(found) >= 0.97 * n / 10


@pytest.mark.parametrize("first", [0, 1, 500, MOST])
def test_many_indexes_read_little_more(first) -> None:
    """Of all indexes, a document reads MOST entries, at most 2 * LATER more, and then FEWEST of each further one."""
    looked, read = first, []
    while looked < MOST or read[-1:] != [FEWEST]:
        read.append(int(allowance(looked)))
        looked += read[-1]
    assert all(int(allowance(n)) == FEWEST for n in range(looked, looked + 500))
    assert MOST + LATER < looked <= MOST + 2 * LATER
    assert read[:2] == [MOST - first, LATER] if first < MOST else read[0] == LATER


def test_copies_are_found_in_late_indexes(drops, monkeypatch) -> None:
    """With 130 indexes of letters from one template, which read few entries each, copies are found by rare keys."""
    rng, n, n_copies, texts = random.Random(8), 2000, 40, []
    for number in range(n):
        letter = [f"t{i}" for i in range(60)]
        for slot in (20, 40):
            letter[slot] = f"v{number}-{slot}"
        texts.append(" ".join(letter))
    origins = [rng.randrange(n // 2, n) for _ in range(n_copies)]
    texts += [f"c{number} {texts[origin]}" for number, origin in enumerate(origins)]
    monkeypatch.setattr(verify, "BUDGET", 15 * 32 * 26)
    found = drops(MinHash(), texts)
    assert {d: kept for d, (kept, _) in found.items()} == {n + i: origin for i, origin in enumerate(origins)}


def test_comparisons_are_counted(tmp_path, dataset) -> None:
    """The receipt tells documents, candidates, and a comparison a copy."""
    from dataprep.core.run.runner import Serial

    docs = dataset(["the same text again and again"] * 500 + ["another"])
    chosen = {"sketch": MinHash().sketch, "keep": Keep.parse("first"), "name": "x", "reason": "y", "key": "k"}
    facts = search.DuplicateSearch(docs=docs, runner=Serial(), out=str(tmp_path), **chosen).find().facts
    counted = {name: facts[name] for name in ("documents", "candidates", "compared", "dropped")}
    assert counted == {"documents": 501, "candidates": 500, "compared": 499, "dropped": 499}


@pytest.mark.parametrize(("n_bands", "rows"), [(26, 8), (14, 8), (37, 5)])
def test_bands_meet_at_the_predicted_rate(n_bands, rows) -> None:
    """Of 10,000 independent pairs, each bin of similarity meets as the curve says, within four standard errors."""
    rng = np.random.default_rng(7)
    n_pairs, size, seeds = 10_000, 60, 20
    common = rng.integers(size // 3, size, n_pairs)  # similarities from 0.2 to 0.97
    a = rng.integers(0, 2**64, (n_pairs, size), np.uint64)
    b = np.where(np.arange(size) < common[:, None], a, rng.integers(0, 2**64, (n_pairs, size), np.uint64))
    starts = np.arange(n_pairs + 1) * size
    met = np.zeros(n_pairs)
    for seed in range(seeds):
        made = MinHash(bands=n_bands, rows=rows, seed=seed).sketch
        keys = [sketch.band_keys(starts, x.ravel(), *made.permutations, rows) for x in (a, b)]
        met += (keys[0] == keys[1]).any(axis=0)
    exact = common / (2 * size - common)
    expected = np.array([bands.p_candidate(s, n_bands, rows) for s in exact])
    for low in np.arange(0.2, 1.0, 0.1):
        own = (exact >= low) & (exact < low + 0.1)
        n, p = seeds * own.sum(), expected[own].mean()
        error = (seeds * (expected * (1 - expected))[own].sum()) ** 0.5
        assert own.sum() > 300
        assert abs(met[own].sum() - n * p) <= 4 * error + 1, (low, met[own].mean() / seeds, p)


def test_signatures_are_diverse() -> None:
    """Different sets have different signatures, and permutations choose different members (a uint32 trap)."""
    hashes = np.random.default_rng(3).integers(0, 2**64, (500, 40), np.uint64)
    a, b = MinHash(bands=32, rows=8).sketch.permutations
    rows = np.empty((len(hashes), len(a)), np.uint32)
    for mine, row in zip(hashes, rows, strict=True):
        sketch.minima(mine, a, b, row)
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert min(len(np.unique(column)) for column in rows.T) >= 495
    expected = 2**32 / 41  # the mean of the least of 40 uniform numbers
    assert abs(rows.mean() / expected - 1) < 0.05
    low = sketch.band_keys(np.arange(501) * 40, hashes.ravel(), a, b, 8)
    assert len(np.unique(low)) == low.size


def test_signatures_are_those_of_datasketch() -> None:
    """Equal to datasketch's MinHash of the same seed with `shingle_hash` as its hash."""
    datasketch = pytest.importorskip("datasketch", minversion="2")
    from dataprep.unicode.shingles import shingle_hash

    text = "MinHash was invented by Andrei Broder at DEC in 1997 for AltaVista; İstanbul, ΟΔΟΣ and \u212aelvin too"
    made = MinHash(bands=13, rows=8, seed=5).sketch
    theirs = datasketch.MinHash(104, seed=5, hashfunc=shingle_hash)
    for shingle in twins.text.shingle_set(text, "word", 5):
        theirs.update(" ".join(shingle).encode())
    from dataprep.core.model import batch as B
    from dataprep.unicode.shingles import shingles

    starts, hashes = shingles(*B.buffers(B.make([0], [text], "s")), "word", 5)
    ours = np.empty(104, np.uint32)
    sketch.minima(hashes, *made.permutations, ours)
    assert starts.tolist() == [0, len(hashes)]
    assert ours.tolist() == theirs.hashvalues.tolist()


def test_a_document_becomes_datasketchs_own(tmp_path) -> None:
    """`Dataset.minhash` of sealed and unsealed documents: our signature, usable in datasketch's LSH, and updatable."""
    datasketch = pytest.importorskip("datasketch", minversion="2")
    import dataprep as dp
    from dataprep.core.model import batch as B
    from dataprep.unicode.shingles import shingle_hash, shingles

    texts = [*edited(3, families=2), "two words", ""]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    given_docs = dp.read(str(tmp_path / "in.jsonl"))
    sealed = dp.Pipeline().run(given_docs, str(tmp_path / "out"))
    ids = [row["id"] for row in sealed.take(99)]
    made = MinHash().sketch
    forest = datasketch.MinHashLSH(threshold=0.8, num_perm=208)
    for id_, text in zip(ids, texts, strict=True):
        theirs = datasketch.MinHash(208, scheme="affine32", hashfunc=shingle_hash)
        theirs.update_batch([" ".join(s).encode() for s in twins.text.shingle_set(text, "word", 5)])
        ours = MinHash().datasketch(sealed, id_)
        signature = np.empty(208, np.uint32)
        sketch.minima(shingles(*B.buffers(B.make([0], [text], "s")), "word", 5)[1], *made.permutations, signature)
        assert ours.hashvalues.tolist() == theirs.hashvalues.tolist() == signature.tolist()
        assert ours == MinHash().datasketch(given_docs, f"0:{id_}")
        forest.insert(id_, ours)
    assert ids[0] in forest.query(MinHash().datasketch(sealed, ids[0]))
    more = MinHash().datasketch(sealed, ids[-1])
    more.update(b"Two words!")
    assert more.jaccard(MinHash().datasketch(sealed, ids[-2])) == 1.0
    with pytest.raises(PlanError, match="no document 7:3"):
        MinHash().datasketch(sealed, "7:3")
    (tmp_path / "words.jsonl").write_text(json.dumps({"text": "it's a \u00c9b c"}))
    for stage in (
        MinHash(word_split="regex"),
        MinHash(word_split="regex", normalize="fineweb"),
    ):  # the stage's words and forms
        ours = stage.datasketch(dp.read(str(tmp_path / "words.jsonl")), "0:0")
        before = ours.hashvalues.tolist()
        ours.update("it's a \u00c9B c".encode())
        assert ours.hashvalues.tolist() == before


@given(st.integers(1, 60), st.integers(1, 60), st.floats(0.01, 1.0), st.booleans())
def test_the_least_intersection_is_exact(m, n, threshold, contained) -> None:
    """The smallest intersection that reaches the threshold, by trying all; -1 where none does."""
    reach = [i for i in range(min(m, n) + 1) if i / (m if contained else m + n - i) >= threshold]
    assert similarity.needed(similarity.MatchRule(threshold, contained), m, n) == (reach[0] if reach else -1)


@given(st.sets(st.integers(0, 400), min_size=1), st.sets(st.integers(0, 400), min_size=1), st.integers(0, 20))
def test_bitmaps_lose_no_pair(mine, theirs, most) -> None:
    """What is told apart by bitmaps does lack that many members, whatever the two sizes; far sets are told apart."""
    hashes = np.random.default_rng(1).integers(0, 2**64, 401, np.uint64)
    maps = []
    for members in (mine, theirs):
        maps.append(np.empty(similarity.n_words(len(members)), np.uint64))
        similarity.draw(hashes[sorted(members)], maps[-1])
    lacking = len(mine - theirs)
    assert not similarity.lack(*maps, lacking)
    assert similarity.lack(*maps, most) <= (lacking > most)
    assert similarity.lack(*maps, lacking // 4 - 1) or len(mine) > 4 * len(theirs) or lacking < 4


def test_bands_are_chosen_for_the_threshold() -> None:
    """At most 256 hashes, recall 0.99 at the threshold, and nothing better at low similarity."""
    assert bands.choose(0.8) == (26, 8)
    for threshold in (0.5, 0.6, 0.7, 0.85, 0.9, 0.95, 1.0):
        n_bands, rows = bands.choose(threshold)
        assert n_bands * rows <= 256
        assert bands.p_candidate(threshold, n_bands, rows) >= 0.99
    assert MinHash(preset="dialect").settings.shingle == "char"
    assert MinHash(preset="dialect", threshold=0.9).settings.threshold == 0.9
    for name, expected in {"lee2022": (450, 20), "dclm": (93, 15), "fineweb": (14, 8)}.items():
        made = MinHash(preset=name).sketch
        assert (made.bands, made.rows) == expected


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"preset": "gpt5"}, "lee2022"),
        ({"preset": ["dclm"]}, "lee2022"),
        ({"normalize": 3}, "normalize=3 must be 'fineweb' or names of"),
        ({"preset": "dclm", "bands": 3, "rows": 3}, "leave bands"),
        ({"bands": 3}, "both"),
        ({"bands": 0, "rows": 1}, "bands=0 must be an integer of at least 1"),
        ({"bands": 10**7, "rows": 10}, "at most 65,536 hashes"),
        ({"bands": 9, "rows": 13}, "40% of the pairs at the threshold 0.8"),  # datasketch's own choice for 0.8
        ({"preset": "fineweb", "threshold": 0.6}, "more bands"),
        ({"measure": "cosine"}, "'jaccard' or 'containment'"),
        ({"threshold": 0}, "above 0"),
        ({"threshold": 80}, "above 0"),
        ({"threshold": "high"}, "above 0"),
        ({"ngram": 0}, "ngram=0 must be an integer of at least 1"),
        ({"ngram": 2.5}, "ngram=2.5 must be an integer of at least 1"),
        ({"min_shingles": "9"}, "min_shingles='9' must be an integer of at least 1"),
        ({"seed": -1}, "seed=-1 must be an integer from 0 to 4,294,967,295"),
        ({"seed": "x"}, "seed='x' must be an integer"),
        ({"keep": "last"}, "longest"),
    ],
)
def test_wrong_parameters_are_named(wrong, says) -> None:
    """One sentence that says what there is."""
    with pytest.raises(PlanError, match=says):
        MinHash(**wrong)


def load(path, *, body: bool) -> dict[str, str]:
    """Texts by id."""
    with gzip.open(path, "rt", encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    wanted = ("en", "fr", "ar") if "tldr" in path.name else None
    rows = [r for r in rows if wanted is None or r["lang"] in wanted]
    return {r["id"]: r["text"] for r in rows if not body or r["has_body"]}


@pytest.mark.parametrize(
    ("texts", "pairs"),
    [
        ("reuters21578.jsonl.gz", "reuters_body.tsv.gz"),
        ("multilingual/debian_installguide_3arch_8lang.jsonl.gz", "installguide_all.tsv.gz"),
        ("multilingual/tldr_pages_40lang.jsonl.gz", "tldr_en_fr_ar.tsv.gz"),
    ],
)
def test_real_near_duplicates_are_found(drops, shared, texts, pairs) -> None:
    """Of all pairs of J >= 0.8 by words, all are found but those the bands miss; no other is dropped."""
    by_id = load(shared / "text" / texts, body="reuters" in texts)
    number = {name: i for i, name in enumerate(by_id)}
    with gzip.open(shared / "neardup" / pairs, "rt") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    truth = {frozenset((number[a], number[b])): float(j) for a, b, j in rows if float(j) >= 0.8}
    if "tldr" in texts:  # of which words by Unicode's rules find others
        check(list(by_id.values()), drops(MinHash(), list(by_id.values()), parts=2), 0.8, judged=60)
    found = drops(MinHash(word_split="regex"), list(by_id.values()), parts=2)
    assert len(truth) > 250
    assert all(frozenset((gone, kept)) in truth for gone, (kept, _) in found.items())
    share = sum(bands.p_candidate(j, 26, 8) for j in truth.values())
    assert sum(any(d in found for d in pair) for pair in truth) >= share - 1
