"""The kernels against `tiktoken`: the same ids, whatever the text, the pattern, and what the cache holds."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from dataprep import batch as B
from dataprep.tokens.encoder import Encoder, empty_cache
from dataprep.tokens.merge import MAX_IDS, SCANNED, merge_word, rules_of
from dataprep.tokens.patterns import PATTERNS, SPELLINGS
from dataprep.tokens.tokenizer import Tokenizer, _unpickle
from dataprep.tokens.words import CLASSES, classes_of_engine, machine_of, matched

REGEXES = [*PATTERNS.values(), *SPELLINGS]
NAMES = [*PATTERNS, *(f"{name} as spelt elsewhere, {i}" for i, name in enumerate(SPELLINGS.values()))]
# One character of every class that some pattern tells apart, ASCII and not.
KINDS = [
    "a",
    "s",
    "l",
    "r",
    "e",
    "T",
    "\u017f",
    "ب",
    "\u0301",
    "4",
    "٣",
    " ",
    "\t",
    "\u3000",
    "\n",
    "\r",
    ".",
    "'",
    "🌧",
]
MADE: dict = {}
ALL = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF)


@pytest.fixture(scope="module")
def pairs() -> Tokenizer:
    """Any two bytes merge, in a random order, so that nearly every cut shows in the ids."""
    both = np.random.default_rng(0).permutation(1 << 16)
    return Tokenizer.from_merges([(bytes([i >> 8]), bytes([i & 255])) for i in both.tolist()])


def like_tiktoken(tok: Tokenizer, texts: list[str]) -> None:
    """The kernels, and nothing else, gave `tiktoken`'s ids and ends."""
    assert tok._encoder is not None
    ids, ends = tok.encode_column(pa.array(texts, pa.large_string()))
    theirs = tok.tiktoken().encode_ordinary_batch(texts, num_threads=1)
    assert ids.tolist() == [i for found in theirs for i in (*found, tok.eot)]
    assert ends.tolist() == np.cumsum([len(found) + 1 for found in theirs]).tolist()


def with_pattern(tok: Tokenizer, regex: str) -> Tokenizer:
    """The same vocabulary, text cut otherwise."""
    if (id(tok), regex) not in MADE:
        made = _unpickle(tok.vocab, tok.merges, tok.special, regex, None)  # without the check, which `tok` has passed
        MADE[id(tok), regex] = (tok, made)  # and tok, so that its id is not given to another
    return MADE[id(tok), regex][1]


def test_every_code_point_has_the_engines_class():
    """All 1,112,064 code points: letter, mark, number, space as `tiktoken`'s engine has them, or nothing of these."""
    letters, marks, numbers, spaces = (set(matched(regex, ALL)) for regex in (r"\p{L}", r"\p{M}", r"\p{N}", r"\s"))
    for name, regex in PATTERNS.items():
        wanted = {"Lslve": letters | (marks if name == "words" else set()), "N": numbers, "_wn": spaces}
        for kinds, chars in wanted.items():
            points = np.isin(machine_of(regex).classes, [CLASSES.index(c) for c in kinds])
            assert {chr(c) for c in np.flatnonzero(points)} == chars


def test_every_code_point_in_a_contraction():
    """The letters that are those of 's 'd 'm 't 'll 've 're where upper and lower case are one, and no others."""
    assert set(matched("(?i:[sdmtlvre])", ALL)) == {*"sdmtlvreSDMTLVRE\u017f"}


@pytest.mark.parametrize("regex", REGEXES, ids=NAMES)
def test_all_short_texts(pairs, regex):
    """Every text of up to three characters of every class, and 4,000 longer ones."""
    tok = with_pattern(pairs, regex)
    rng = np.random.default_rng(1)
    like_tiktoken(tok, ["".join(chars) for n in range(4) for chars in itertools.product(KINDS, repeat=n)])
    like_tiktoken(tok, ["".join(rng.choice(KINDS, rng.integers(4, 40))) for _ in range(4_000)])
    spaces = [" ", "\n", "\t", "\r", "a", "."]
    like_tiktoken(tok, ["".join(chars) for chars in itertools.product(spaces, repeat=5)])


@settings(max_examples=60)
@given(
    st.sampled_from(list(PATTERNS.values())),
    st.lists(st.lists(st.sampled_from(KINDS) | st.characters(exclude_categories=["Cs"]) | st.text("ab ", max_size=90))),
)
def test_any_texts(pairs, tok, regex, texts):
    """Any texts in any pattern, with a vocabulary that was learned and with one that shows every cut."""
    joined = ["".join(pieces) for pieces in texts]
    like_tiktoken(with_pattern(tok, regex), joined)
    like_tiktoken(with_pattern(pairs, regex), joined)


@pytest.mark.parametrize("name", PATTERNS)
def test_texts_of_more_words_than_a_block(pairs, name):
    """Long texts are cut in blocks; where a block ends does not show, not even amid white space."""
    rng = np.random.default_rng(2)
    texts = ["".join(rng.choice(KINDS, 30_000)), "".join(rng.choice([" ", "\n", "\t"], 20_000)) + "x"]
    texts += ["." * shift + "1. " * 1_363 + " \n \n  x" * 2_000 for shift in range(6)]
    like_tiktoken(with_pattern(pairs, PATTERNS[name]), texts)


@settings(max_examples=30)
@given(st.lists(st.text("abé ", max_size=40), min_size=1, max_size=8), st.text("abé", max_size=4 * SCANNED))
def test_merging_equals_the_slow_twin(texts, word):
    """A word of any length, merged by scanning or with a heap, as ten lines of Python merge it."""
    from dataprep.tokens.train import learn

    merges = learn([texts], 40, PATTERNS["words"], min_count=1)
    tok = Tokenizer.from_merges(merges)
    rules = rules_of(tok.vocab, tok.merges)
    data = np.frombuffer(word.encode(), np.uint8)
    out = np.empty(len(data) + 1, np.uint32)
    n = merge_word(data, 0, len(data), rules, np.empty(5 * SCANNED, np.int64), out, 0)
    assert out[:n].tolist() == [tok.vocab[t] for t in oracles.bpe_merge_all(word.encode(), merges)]


def test_what_the_cache_holds_does_not_matter(tok):
    """A cache of eight words forgets all the time, and one that is full of others gives the same ids."""
    rng = np.random.default_rng(3)
    words = [" rain", "1234", " بارش" * 4, "x" * 17, "उत्तर" * 3, "=" * 60, "y" * 300, "\n\n", " the"]
    texts = [" ".join(rng.choice(words, 60)) for _ in range(50)]
    offsets, data = B.buffers(pa.array(texts, pa.large_string()))
    whole = tok.encode_column(pa.array(texts, pa.large_string()))
    for slots, side in ((16, 1 << 12), (1 << 10, 90), (4, 0)):
        small = Encoder(machine_of(tok.pattern), rules_of(tok.vocab, tok.merges), tok.eot, empty_cache(slots, side))
        for _ in range(2):
            ids, ends = small.encode(offsets[:-1], offsets[1:], data, np.uint32)
            assert (ids.tolist(), ends.tolist()) == (whole[0].tolist(), whole[1].tolist())
        assert small.cache.used[3] > 2, "it was full, and began again"


def test_a_hash_alone_does_not_decide(tok):
    """A long word whose hash is in the cache beside another word's bytes is merged, not taken for that word."""
    text = pa.array(["internationalisation"], pa.large_string())
    right = tok.encode_column(text)[0].tolist()
    cache = tok._encoder.cache
    at = bytes(cache.bytes[: cache.used[2]]).index(b"internationalisation")
    cache.bytes[at] ^= 1
    assert tok.encode_column(text)[0].tolist() == right


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize(
    "piece",
    ["a", " ", "\n", "🌧️", "\t", "9", "=", "e\u0301", " \n", "'ll", "ab", "雨"],
    ids=[*"as", *map(str, range(10))],
)
def test_repetition_is_harmless(pairs, tok, name, piece):
    """Thousands of times the same are `tiktoken`'s ids; half a million take no longer than their length says."""
    for one in (pairs, tok):
        like_tiktoken(with_pattern(one, PATTERNS[name]), [piece * 3_000, "x" + piece * 501 + "y"])
    long = piece * (500_000 // len(piece.encode()))
    ids = with_pattern(tok, PATTERNS[name]).encode_batch([long])[0]
    assert tok.decode(ids) == long


def test_two_threads_share_a_tokenizer(tok):
    """Kernels run without the GIL; the cache is used by one at a time."""
    rng = np.random.default_rng(4)
    texts = [["".join(rng.choice(KINDS, 200)) for _ in range(50)] for _ in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(tok.encode_batch, texts))
    assert found == [[tok.encode(text) for text in some] for some in texts]


def test_other_patterns_go_to_tiktoken(tok):
    """A pattern without a machine, ids too large for the tables, half a surrogate pair: the same ids, more slowly."""
    other = with_pattern(tok, r"\S+|\s+")
    assert other._encoder is None
    assert other.encode_batch(["rain  in", ""]) == [other.encode("rain  in"), []]
    assert rules_of({b"a": MAX_IDS}, []) is None
    assert tok.encode_batch(["a\ud800b", "c"]) == [tok.encode("a\ud800b"), tok.encode("c")]


def test_slices_of_a_column(tok):
    """A slice of an Arrow column, whose bytes begin elsewhere, and an empty one."""
    column = pa.array(["rain", "north", "", "south"], pa.large_string())
    ids, ends = tok.encode_column(column.slice(1, 3))
    assert ids.tolist() == [i for text in ("north", "", "south") for i in (*tok.encode(text), tok.eot)]
    assert len(ends) == 3
    assert [len(x) for x in tok.encode_column(column.slice(4))] == [0, 0]


def test_class_tables_are_those_of_tiktoken():
    """The premise of the tables: planes that are not asked about have no letter, mark, number or space."""
    found = classes_of_engine()
    assert sum(map(len, found.values())) == len(set(np.concatenate(list(found.values())).tolist()))
    empty = "".join(chr(c) for c in [*range(0x40000, 0xE0000), *range(0xF0000, 0x110000)])
    assert matched(r"[\p{L}\p{M}\p{N}\s]+", empty) == ""


def test_real_texts(shared):
    """GPT-2's vocabulary in three patterns on 40 languages, and nanoGPT's published counts."""
    import gzip
    import json

    folder = shared / "tokens" / "gpt2-bpe"
    gpt2 = Tokenizer.from_files(str(folder / "encoder.json"), str(folder / "vocab.bpe"))
    text = (shared / "text" / "tinyshakespeare" / "input.txt").read_text(encoding="utf-8")
    cut = int(len(text) * 0.9)
    assert [len(ids) for ids in gpt2.encode_batch([text[:cut], text[cut:]])] == [301_966, 36_059]
    with gzip.open(shared / "text" / "multilingual" / "tldr_pages_40lang.jsonl.gz", "rt", encoding="utf-8") as f:
        pages = [json.loads(line)["text"] for line in itertools.islice(f, 0, None, 20)]
    for regex in PATTERNS.values():
        like_tiktoken(with_pattern(gpt2, regex), pages)
