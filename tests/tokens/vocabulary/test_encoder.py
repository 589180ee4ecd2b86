"""The kernels against `tiktoken`: the same ids, whatever the text, the pattern, and what the cache holds."""

from __future__ import annotations

import copy
import importlib.util
import itertools
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

import twins.bpe
from dataprep.core.model import batch as B
from dataprep.tokens.vocabulary import cutting
from dataprep.tokens.vocabulary.apply_merges import MAX_IDS, merge_word, rules_of
from dataprep.tokens.vocabulary.cutting import CLASSES, classes_of_engine, machine_of, matched
from dataprep.tokens.vocabulary.encoder import Encoder, empty_cache
from dataprep.tokens.vocabulary.lanes import LANES
from dataprep.tokens.vocabulary.patterns import ALSO, DIGITS, PATTERNS, SPELLINGS, machine_name, regex_of
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

NAMED = PATTERNS | {"o200k": ALSO["o200k"]}  # llama3 is another spelling of gpt4
SPELT = {f"{name}, spelt otherwise, {i}": regex for i, (regex, name) in enumerate(SPELLINGS.items())}
CUT = {f"{name}, {digits}": regex_of(name, digits) for name in PATTERNS | ALSO for digits in DIGITS}
REGEXES = NAMED | SPELT | {name: regex for name, regex in CUT.items() if regex not in (PATTERNS | ALSO).values()}
# One character of every class that some pattern tells apart, ASCII and not.
KINDS = [*"aslreASLRE", "\u017f", "\u01c5", "\u02b0", "ب", "\u0301", *"4٣ ", "\t", "\u3000", *"\n\r./'", "🌧"]
MADE: dict = {}
ALL = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF)


@pytest.fixture(scope="module")
def pairs() -> Tokenizer:
    """Any two bytes merge, in a random order, so that nearly every cut shows in the ids."""
    return any_pairs(0)


def any_pairs(seed: int, step: int = 1) -> Tokenizer:
    """The vocabulary of `pairs`, in an order or its reverse."""
    both = np.random.default_rng(seed).permutation(1 << 16)[::step]
    return Tokenizer.from_merges([(bytes([i >> 8]), bytes([i & 255])) for i in both.tolist()])


def like_tiktoken(tok: Tokenizer, texts: list[str]) -> None:
    """The kernels, and nothing else, gave `tiktoken`'s ids and ends."""
    assert tok._encoder is not None
    ids, ends = tok.encode_column(pa.array(texts, pa.large_string()))
    theirs = [tok.tiktoken().encode_ordinary(text) for text in texts]  # a batch would make a future for each
    assert ids.tolist() == [i for found in theirs for i in (*found, tok.eot)]
    assert ends.tolist() == np.cumsum([len(found) + 1 for found in theirs]).tolist()


def with_pattern(tok: Tokenizer, regex: str) -> Tokenizer:
    """The same vocabulary, text cut otherwise."""
    if (id(tok), regex) not in MADE:
        made = copy.copy(tok)  # without the check, which `tok` has passed
        made.pattern = regex
        MADE[id(tok), regex] = (tok, made)  # and tok, so that its id is not given to another
    return MADE[id(tok), regex][1]


def test_every_code_point_has_the_engines_class():
    """All 1,112,064 code points: letter, case, mark, number, space as `tiktoken`'s engine has them, or none."""
    engine = {kind: set(matched(rf"\p{{{kind}}}", ALL)) for kind in ("L", "Lu", "Lt", "Ll", "M", "N")}
    spaces, none = set(matched(r"\s", ALL)), set()
    for name, regex in REGEXES.items():
        letters = engine["L"] | (engine["M"] if name.startswith("words") else none)
        wanted = {"aslve": letters, "N": engine["N"], "_wn": spaces, "ASLVExM": none}
        if name.startswith("o200k"):
            capitals = engine["Lu"] | engine["Lt"]
            wanted |= {
                "aslve": engine["Ll"],
                "ASLVE": capitals,
                "x": letters - engine["Ll"] - capitals,
                "M": engine["M"],
            }
            del wanted["ASLVExM"]
        for kinds, chars in wanted.items():
            points = np.isin(machine_of(regex).classes, [CLASSES.index(c) for c in kinds])
            assert {chr(c) for c in np.flatnonzero(points)} == chars


def test_every_code_point_in_a_contraction():
    """The letters that are those of 's 'd 'm 't 'll 've 're where upper and lower case are one, and no others."""
    assert set(matched("(?i:[sdmtlvre])", ALL)) == {*"sdmtlvreSDMTLVRE\u017f"}


def test_named_patterns_have_machines():
    """Every named pattern with every digit policy; an expression of somebody else has none."""
    assert all(machine_name(regex) for regex in REGEXES.values())
    assert machine_name(CUT["gpt2, runs"]) == machine_name(PATTERNS["gpt2"])
    assert machine_name(r"\S+|\s+") is None


@cache
def short_texts(more: int) -> list[str]:
    """Every text of two characters of every class (`more` = 1: of three), and 3,000 longer ones."""
    rng = np.random.default_rng(1)
    texts = ["".join(chars) for n in range(3 + more) for chars in itertools.product(KINDS, repeat=n)]
    texts += ["".join(rng.choice(KINDS, rng.integers(4, 40))) for _ in range(3_000)]
    texts += ["".join(text) for text in itertools.product(["a'", "A'", "\n  ", "\n \t"], KINDS, KINDS)]
    return texts + ["".join(text) for text in itertools.product(" \n\ta.", repeat=4 + more)]


@pytest.mark.parametrize("name", REGEXES)
def test_all_short_texts(pairs, name):
    """Every text of two characters of every class (for a name's own pattern of three), and longer ones."""
    like_tiktoken(with_pattern(pairs, REGEXES[name]), short_texts(int(name in NAMED)))


def test_contractions_after_a_word(pairs):
    """An apostrophe after letters, and what may follow; four vocabularies, so that each cut shows in one of them."""
    texts = ["".join(text) for text in itertools.product(["a'", "é'"], KINDS, KINDS, ["", "'s", "d", "M"])]
    for tok in (pairs, any_pairs(0, -1), any_pairs(2), any_pairs(2, -1)):
        like_tiktoken(with_pattern(tok, NAMED["o200k"]), texts)


@pytest.mark.parametrize("name", NAMED)
def test_every_code_point_in_context(pairs, name):
    """Each code point between letters, digits, signs and spaces is cut as the engine cuts it."""
    tok = with_pattern(pairs, NAMED[name])
    rng = np.random.default_rng(5)
    around = rng.choice([*"aB4 \n.'/", "\u0301", "it's", "  "], (len(ALL) // 8, 2))
    for some in (ALL[1::8], "".join(map(chr, range(0x250)))):
        like_tiktoken(tok, ["".join(f"{a}{c}{b}" for c, (a, b) in zip(some, around, strict=False))])


@settings(max_examples=60)
@given(
    st.sampled_from(list(REGEXES.values())),
    st.lists(st.lists(st.sampled_from(KINDS) | st.characters(exclude_categories=["Cs"]) | st.text("ab ", max_size=90))),
)
def test_any_texts(pairs, tok, regex, texts):
    """Any texts in any pattern, with a vocabulary that was learned and with one that shows every cut."""
    joined = ["".join(pieces) for pieces in texts]
    like_tiktoken(with_pattern(tok, regex), joined)
    like_tiktoken(with_pattern(pairs, regex), joined)


@pytest.mark.parametrize("name", NAMED)
def test_texts_of_more_words_than_a_block(pairs, name):
    """Long texts are cut in blocks; where a block ends does not show, not even amid white space."""
    rng = np.random.default_rng(2)
    texts = ["".join(rng.choice(KINDS, 30_000)), "".join(rng.choice([" ", "\n", "\t"], 20_000)) + "x"]
    texts += ["." * shift + "1. " * 1_363 + " \n \n  x" * 2_000 for shift in range(6)]
    like_tiktoken(with_pattern(pairs, NAMED[name]), texts)


@pytest.mark.parametrize("name", NAMED)
def test_the_ends_of_64_bytes(pairs, name):
    """What decides about a word, in every place of the 64 bytes that are looked at together, and at a text's end."""
    rng = np.random.default_rng(6)
    pieces = [*KINDS, "'s", "'ll", "'Ve", "  ", "\n ", " \n", "123", "4567", "”", " 雨", "\u00a0"]
    texts = ["".join(rng.choice(pieces, 30)) for _ in range(100)]
    around = [f"{'x' * shift}{text}{'. yz' * 17}" for shift in range(20, 62, 3) for text in texts]
    like_tiktoken(with_pattern(pairs, NAMED[name]), texts + around)


@settings(max_examples=30)
@given(st.lists(st.text("abé ", max_size=40), min_size=1, max_size=8), st.text("abé", max_size=2 * LANES))
def test_merging_equals_the_slow_twin(texts, word):
    """A word of any length, merged in vectors or with a heap, as ten lines of Python merge it."""
    from dataprep.tokens.vocabulary.merges import learn_merges

    merges = learn_merges([texts], 40, PATTERNS["words"], min_count=1)
    tok = Tokenizer.from_merges(merges)
    rules = rules_of(tok.vocab, tok.merges)
    data = np.frombuffer(word.encode(), np.uint8)
    out = np.empty(len(data) + 1, np.uint32)
    n = merge_word(data, 0, len(data), rules, np.empty(2 * LANES, np.uint32), out, 0)
    assert out[:n].tolist() == [tok.vocab[t] for t in twins.bpe.bpe_merge_all(word.encode(), merges)]


def test_what_the_cache_holds_does_not_matter(tok):
    """A cache of eight words forgets all the time, and one that is full of others gives the same ids."""
    rng = np.random.default_rng(3)
    words = [" rain", "1234", " بارش" * 4, "x" * 17, "उत्तर" * 3, "=" * 60, "y" * 300, "\n\n", " the"]
    texts = [" ".join(rng.choice(words, 60)) for _ in range(50)]
    offsets, data = B.buffers(pa.array(texts, pa.large_string()))
    whole = tok.encode_column(pa.array(texts, pa.large_string()))
    for slots, side in ((16, 1 << 12), (1 << 10, 90), (4, 0)):
        kept = empty_cache(slots, side, side)
        small = Encoder(machine_of(tok.pattern), rules_of(tok.vocab, tok.merges), tok.eot, kept)
        for _ in range(2):
            ids, ends = small.encode(offsets[:-1], offsets[1:], data, np.uint32)
            assert (ids.tolist(), ends.tolist()) == (whole[0].tolist(), whole[1].tolist())
        assert kept.used[3] > 2, "it was full, and began again"


def test_a_hash_alone_does_not_decide(tok):
    """A long word whose hash is in the cache beside another word's bytes is merged, not taken for that word."""
    text = pa.array(["internationalisation"], pa.large_string())
    right = tok.encode_column(text)[0].tolist()
    cache = tok._encoder.cache
    at = bytes(cache.bytes[: cache.used[2]]).index(b"internationalisation")
    cache.bytes[at] ^= 1
    assert tok.encode_column(text)[0].tolist() == right


@pytest.mark.parametrize("name", NAMED)
def test_repetition_is_harmless(pairs, tok, name):
    """Thousands of times the same are `tiktoken`'s ids; half a million take no longer than their length says."""
    for piece in (
        "a",
        "A",
        " ",
        "\n",
        "🌧️",
        "\t",
        "9",
        "=/",
        "e\u0301",
        "\u0301",
        " \n",
        "'ll",
        "ab",
        "Ab",
        "\u0301A",
        "雨",
    ):
        for one in (pairs, tok):
            like_tiktoken(with_pattern(one, NAMED[name]), [piece * 3_000, "x" + piece * 501 + "y"])
        long = piece * (500_000 // len(piece.encode()))
        ids = with_pattern(tok, NAMED[name]).encode_batch([long])[0]
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


def test_the_stored_classes_are_what_the_engine_says(root, monkeypatch):
    """`engine.txt` is what its script writes now; another `tiktoken` than it names is asked."""
    spec = importlib.util.spec_from_file_location("make_engine", root / "scripts" / "make_engine.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    (versions, stored), asked = cutting.stored_classes(), cutting.asked_classes()
    assert tiktoken.__version__ in versions, "run scripts/make_engine.py"
    assert script.TARGET.read_text("utf-8") == script.text_of(versions, asked)
    assert stored.keys() == asked.keys()
    assert all(stored[kind].tolist() == asked[kind].tolist() for kind in asked)
    monkeypatch.setattr(cutting, "asked_classes", lambda: "asked")
    assert classes_of_engine.__wrapped__().keys() == stored.keys()
    monkeypatch.setattr(tiktoken, "__version__", "0.8.9")
    assert classes_of_engine.__wrapped__() == "asked"


BOOKS = ("botchan.txt", "wagahaiwa_nekodearu.txt")


def test_real_texts(shared):
    """GPT-2's vocabulary in every pattern on 40 languages, Darija and two books; nanoGPT's published counts."""
    import gzip
    import json

    folder, texts = shared / "tokens" / "gpt2-bpe", shared / "text"
    gpt2 = Tokenizer.from_files(str(folder / "encoder.json"), str(folder / "vocab.bpe"))
    play = (texts / "tinyshakespeare" / "input.txt").read_text(encoding="utf-8")
    cut = int(len(play) * 0.9)
    assert [len(ids) for ids in gpt2.encode_batch([play[:cut], play[cut:]])] == [301_966, 36_059]
    with gzip.open(texts / "multilingual" / "tldr_pages_40lang.jsonl.gz", "rt", encoding="utf-8") as f:
        found = [json.loads(line)["text"] for line in itertools.islice(f, 0, None, 40)]
    with gzip.open(texts / "darija" / "SmartlyAI" / "DRAGOO_dataset_1.csv.gz", "rt", encoding="utf-8") as f:
        found.append(f.read(200_000))
    found += [(texts / "books" / name).read_text(encoding="utf-8")[:100_000] for name in BOOKS]
    for regex in REGEXES.values():
        like_tiktoken(with_pattern(gpt2, regex), found)
