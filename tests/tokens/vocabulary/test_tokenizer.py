from __future__ import annotations

import base64
import contextlib
import json
import pickle
import shutil
import unicodedata
from collections import Counter

import numpy as np
import pytest
import tiktoken
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe
from tiktoken_ext import openai_public
from tokenizers import pre_tokenizers

import dataprep as dp
import laws
import twins.bpe
from dataprep.errors import CorruptShard, PlanError, ReadError, StaleOutput
from dataprep.tokens.vocabulary import engines
from dataprep.tokens.vocabulary.formats import CHAR_OF
from dataprep.tokens.vocabulary.library import LibraryTokenizer
from dataprep.tokens.vocabulary.merges import learn_merges
from dataprep.tokens.vocabulary.patterns import ALSO, PATTERNS, SPELLINGS, regex_of
from dataprep.tokens.vocabulary.special import special_names
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

BYTES = {bytes([b]): b for b in range(256)}
ABC = BYTES | {b"abcd": 256}
KNOWN = st.characters(exclude_categories=["Cs", "Cn"])  # the interpreter's Unicode may be older than the engines'
PIECES = st.sampled_from(["the", " rain", "  ", "\n", "\r\n", "\t", "12345", "...", "'s", "أمطار", "बारिश", "雨", "🌧️"])


def equal_ids(tok: Tokenizer, text: str) -> list[int]:
    """The ids, after both engines gave the same."""
    ids = tok.encode(text)
    assert ids == tok.engine.encode(text, add_special_tokens=False).ids
    return ids


def test_textbook_example():
    """The example every introduction uses: aaabdaaabac becomes XdXac."""
    merges = learn_merges([["aaabdaaabac"]], 3, PATTERNS["words"])
    assert [a + b for a, b in merges] == [b"aa", b"ab", b"aaab"]
    tok = Tokenizer.from_merges(merges)
    x, d, a, c = tok.vocab[b"aaab"], ord("d"), ord("a"), ord("c")
    assert equal_ids(tok, "aaabdaaabac") == [x, d, x, a, c]


@given(st.lists(st.text("ab é\n1.", max_size=40), min_size=1, max_size=8), st.integers(0, 30), st.integers(1, 3))
def test_learning_equals_the_slow_twin(texts, n_merges, min_count):
    """The merges are those of BPE as published, ties by the older token."""
    words = Counter(word for text in texts for word in twins.bpe.bpe_words(text))
    slow = twins.bpe.bpe_learn(words, n_merges, min_count, order=lambda b: ord(CHAR_OF[b]) - 1_000)
    assert learn_merges([texts], n_merges, PATTERNS["words"], min_count) == slow


@given(st.lists(KNOWN | PIECES, max_size=30).map("".join))
def test_ids_equal_the_slow_twin_and_both_engines(tok, text):
    """Any text: two engines and ten lines of Python give the same ids, and they decode to the text."""
    ids = equal_ids(tok, text)
    assert ids == [tok.vocab[token] for token in twins.bpe.bpe_encode(text, tok.merges)]
    assert tok.decode(ids) == text


@settings(max_examples=200)
@given(st.data())
def test_engines_agree_for_any_trained_vocabulary(data):
    """Whatever was learned from few letters, where many merges overlap, `tiktoken` merges as `tokenizers` does."""
    letters = data.draw(st.sampled_from(["ab", "abc", "aé", "ab "]))
    texts = data.draw(st.lists(st.text(letters, max_size=40), min_size=1, max_size=10))
    tok = Tokenizer.from_merges(learn_merges([texts], 60, PATTERNS["words"], min_count=1))
    for text in data.draw(st.lists(st.text(letters, max_size=60), min_size=1, max_size=10)):
        equal_ids(tok, text)


@pytest.mark.parametrize("kind", [r"\p{L}", r"\p{M}", r"\p{N}", r"\s"])
def test_regex_engines_know_the_same_classes(kind):
    """All 1,112,064 code points: both engines call the same ones letters, marks, numbers, spaces."""
    theirs = pre_tokenizers.Split(tokenizers.Regex(kind), "removed")
    ours = tiktoken.Encoding("class", pat_str=kind, mergeable_ranks=BYTES, special_tokens={})
    for start in range(0, 0x110000, 1 << 13):
        text = "".join(chr(c) for c in range(start, start + (1 << 13)) if not 0xD800 <= c <= 0xDFFF)
        found = bytes(ours.encode_ordinary(text)).decode()  # what no match covers is left out
        assert set(text) - set("".join(piece for piece, _ in theirs.pre_tokenize_str(text))) == set(found)


@pytest.mark.parametrize("digits", [None, "groups", "single", "runs"])
@pytest.mark.parametrize("name", PATTERNS | ALSO)
def test_engines_agree_on_every_letter(tok, name, digits):
    """Between letters, digits, signs and line ends, every code point of the living scripts gives equal ids."""
    if regex_of(name, digits) == regex_of(name) and digits:
        return  # the pattern's own
    other = Tokenizer(tok.vocab, tok.merges, tok.special, regex_of(name, digits))
    for start in range(0, 0x3100, 1 << 11):
        equal_ids(other, "".join(f"a{c}1{c}{c} {c}\n" for c in map(chr, range(start, start + (1 << 11)))))


@pytest.mark.parametrize(
    "text",
    ["a" * 20_000, " " * 100_000, "\n" * 50_000, " \n" * 30_000, "e" + "\u0301" * 20_000, "=" * 30_000, "9" * 30_000],
    ids=["letters", "spaces", "lines", "mixed", "marks", "signs", "digits"],
)
def test_long_runs_are_harmless(tok, text):
    """A run that sends a backtracking regex or a quadratic merge into the ground is encoded, equally by both."""
    assert tok.decode(equal_ids(tok, text)) == text


def test_patterns_are_those_that_were_published(monkeypatch):
    """`tiktoken` ships the patterns of GPT-2, GPT-4 and GPT-4o: ours are those, or known as other spellings."""
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})
    assert openai_public.o200k_base()["pat_str"] == ALSO["o200k"]
    assert SPELLINGS[openai_public.cl100k_base()["pat_str"]] == "gpt4 whole end"
    assert SPELLINGS[openai_public.r50k_pat_str] == "gpt2"
    assert SPELLINGS[ALSO["llama3"]] == "gpt4"


@pytest.mark.parametrize(
    ("digits", "cut"),
    [
        ("single", ["a", " ", *"12345", "b", *"6"]),
        ("groups", ["a", " ", "123", "45", "b", "6"]),
        ("runs", ["a", " 12345", "b", "6"]),
    ],
)
def test_digits_are_cut_as_asked_for(digits, cut):
    """Of GPT-2's pattern: one by one, in threes, or whole with the space before them."""
    singles = Tokenizer.from_merges([], pattern=regex_of("gpt2", digits))
    pieces = singles.engine.pre_tokenizer.pre_tokenize_str("a 12345b6")
    assert [piece.replace("Ġ", " ") for piece, _ in pieces] == cut


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (("gpt5", None), "pattern='gpt5' is not one of words, gpt2, gpt4, llama3, o200k"),
        (("gpt2", "pairs"), "digits='pairs' is not one of groups, single, runs"),
        ((r"\S+|\s+", "single"), "digits='single' is for the named patterns; write it into your regex"),
    ],
)
def test_unknown_patterns_are_refused(wanted, sentence):
    """A name that is none, and digits where the pattern is a regex of one's own."""
    with pytest.raises(PlanError, match=sentence):
        regex_of(*wanted)


def test_special_tokens_come_in_sets(tok):
    """Sets by name, single tokens and reserved ones, each once; a reserved one is given a name and keeps its id."""
    assert special_names("course") == ("<|endoftext|>", "<|startoftext|>", "<|separator|>", "<|unk|>", "<|padding|>")
    names = special_names(["chatml", "<|x|>", "<|im_end|>"], reserve=2)
    assert names == ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|x|>", "<|reserved_0|>", "<|reserved_1|>")
    made = Tokenizer.from_merges(tok.merges, names)
    named = made.renamed({"<|reserved_0|>": "<|tool|>"})
    assert named.special["<|tool|>"] == made.special["<|reserved_0|>"]
    assert "<|reserved_0|>" not in named.special
    assert named.encode("the rain") == made.encode("the rain")
    assert named.hash != made.hash
    for wanted in ({"<|no|>": "<|yes|>"}, {"<|x|>": "<|im_end|>"}, {"<|x|>": "<|a|>", "<|reserved_1|>": "<|a|>"}):
        with pytest.raises(PlanError, match=r"must map special tokens \(.* to new names"):
            made.renamed(wanted)
    with pytest.raises(PlanError, match="'chat' is neither a name"):
        special_names(["chat"])
    with pytest.raises(PlanError, match="reserve=-1"):
        special_names(reserve=-1)


def test_special_token_that_is_a_token_is_refused(tok):
    """Whether it is spelt as text or as tokenizer.json writes it."""
    merges = [*tok.merges, (b"<", b"|"), (b"|", b">"), (b"<|", b"|>")]
    with pytest.raises(PlanError, match="also an ordinary token"):
        Tokenizer.from_merges(merges, ["<||>"])
    with pytest.raises(PlanError, match="also an ordinary token"):
        Tokenizer(BYTES | {b" a": 256}, [(b" ", b"a")], {"<|endoftext|>": 257, " a": 258})


def test_a_pattern_must_match_every_character(tmp_path):
    """Else tiktoken loses what lies between words; a tokenizer of another program is opened by its library then."""
    for pattern in ("", "(", "(?<=a+)b|.", r"\p{L}+", r"\p{L}+|.", r"\w+|[^\w\s]+|\s+(?!\S)"):
        with pytest.raises(PlanError, match="pattern="):
            Tokenizer.from_merges([], pattern=pattern)
        with pytest.raises(PlanError, match="pattern="):
            dp.train_bpe(laws.dataset_of(tmp_path, ["some text"]), vocab_size=300, pattern=pattern)
    tok = Tokenizer.from_merges([], pattern=r"\p{L}+|\P{L}")
    assert tok.decode(tok.encode("ab, c\n!")) == "ab, c\n!"
    value = json.loads(tok.file)
    value["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = r"\p{L}+"
    (tmp_path / "tokenizer.json").write_text(json.dumps(value))
    other = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (type(other) is Tokenizer, other.decode(other.encode("ab, c"))) == (False, "ab, c")


def test_tiktoken_form(tok, tmp_path, monkeypatch):
    """NAME.tiktoken loads in `tiktoken` with pattern and special tokens beside it, and comes back as it was."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    place = tok.save(tmp_path / "v.tiktoken")
    beside = json.loads((tmp_path / "v.tiktoken.json").read_text())
    theirs = tiktoken.Encoding("v", mergeable_ranks=load_tiktoken_bpe(place), **beside)
    assert theirs.encode("the rain<|pad|>", allowed_special="all") == [*tok.encode("the rain"), tok.special["<|pad|>"]]
    again = Tokenizer.load(place)
    assert (again.hash, again.merges) == (tok.hash, tok.merges)
    (tmp_path / "v.tiktoken.json").unlink()
    with pytest.raises(PlanError, match=r"v.tiktoken contains only ranks, without a v.tiktoken.json"):
        Tokenizer.load(place)
    assert Tokenizer.from_tiktoken(place, tok.special, "words").hash == tok.hash
    with pytest.raises(PlanError, match="has no <|endoftext|>"):
        Tokenizer.from_tiktoken(place, {}, "words")
    with pytest.raises(PlanError, match="pattern='' is not one of"):
        Tokenizer.from_tiktoken(place, tok.special, "")
    (tmp_path / "v.tiktoken").write_text("QQ== 0\nnot base64\n")
    with pytest.raises(ReadError, match="line 2 is not `base64 rank`"):
        Tokenizer.from_tiktoken(place, tok.special, "words")
    (tmp_path / "v.tiktoken").write_bytes(b"".join(b"%b %d\n" % (base64.b64encode(t), i) for t, i in ABC.items()))
    with pytest.raises(PlanError, match="b'abcd' cannot be reached"):
        Tokenizer.from_tiktoken(place, tok.special, "words")


def test_folder_for_transformers(tok, tmp_path):
    """Beside tokenizer.json lies what transformers asks for: roles, decoding that leaves text alone, a template."""
    tok.save(tmp_path / "plain")
    config = json.loads((tmp_path / "plain" / "tokenizer_config.json").read_text())
    assert config == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|endoftext|>",
    }
    Tokenizer.from_merges(tok.merges, ["course", "chatml"]).save(tmp_path / "chat")
    config = json.loads((tmp_path / "chat" / "tokenizer_config.json").read_text())
    assert [config[f"{role}_token"] for role in ("bos", "unk", "pad")] == ["<|startoftext|>", "<|unk|>", "<|padding|>"]
    assert "<|im_start|>assistant" in config["chat_template"]


def test_special_tokens_in_a_text_are_text(tok):
    """A document cannot write the separator; in the shards, only dp.encode does."""
    ids = tok.encode("<|endoftext|> and <|pad|>")
    assert not {tok.eot, tok.special["<|pad|>"]} & set(ids)
    assert tok.decode(ids) == "<|endoftext|> and <|pad|>"


def test_ids_are_bytes_then_merges_then_special(tok):
    """Sizes and order: 256 bytes, the merges, the special tokens; vocab_size counts everything."""
    assert [tok.vocab[bytes([b])] for b in range(256)] == list(range(256))
    assert tok.eot == 256 + len(tok.merges)
    assert tok.special == {"<|endoftext|>": tok.eot, "<|pad|>": tok.eot + 1}
    assert tok.vocab_size == tok.eot + 2 == tok.tiktoken().n_vocab == tok.engine.get_vocab_size()


def test_token_bytes_count_the_text(tok):
    """Bytes per id, for bits per byte: they add up to the text's, and special tokens have none."""
    text = "The rain, الأمطار, 雨 <|pad|>"
    assert int(tok.token_bytes[tok.encode(text)].sum()) == len(text.encode())
    assert tok.token_bytes[tok.eot] == 0


def test_batch_is_each_text_alone(tok):
    """`encode_batch` gives a list of ids for each text, in order, none for an empty one."""
    texts = ["the rain", "", "雨 12"]
    assert tok.encode_batch(texts) == [tok.encode(t) for t in texts]


def test_saved_loads_equal_and_opens_in_tokenizers(tok, tmp_path):
    """tokenizer.json gives back the same hash and ids, here and in `tokenizers`; a folder will do as a place."""
    assert tok.save(tmp_path / "t.json") == str(tmp_path / "t.json")
    tok.save(tmp_path / "model")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    for place in (tmp_path / "t.json", tmp_path / "model", tmp_path / "model" / "tokenizer.json"):
        loaded = Tokenizer.load(place)
        assert (loaded.hash, loaded.special, loaded.pattern) == (tok.hash, tok.special, tok.pattern)
        text = "The rain in 2048, في الشمال"
        assert loaded.encode(text) == tok.encode(text) == theirs.encode(text).ids
    assert theirs.token_to_id("<|endoftext|>") == tok.eot
    assert theirs.decode(theirs.encode("<|pad|>the").ids) == "the"  # there, special tokens are known
    with pytest.raises(PlanError, match="out='' must be the path of a folder"):
        tok.save("")  # not the folder /


def test_pickled_is_the_same(tok):
    """A Tokenizer travels to workers."""
    again = pickle.loads(pickle.dumps(tok))
    assert (again.hash, again.encode("the rain")) == (tok.hash, tok.encode("the rain"))


def test_hash_changes_with_whatever_changes_ids(tok):
    """Vocabulary, merges, special tokens and pattern are all in the hash."""
    others = [
        Tokenizer.from_merges(tok.merges[:-1], ["<|pad|>"]),
        Tokenizer.from_merges(tok.merges, ["<|end|>"]),
        Tokenizer.from_merges(tok.merges, ["<|pad|>"], PATTERNS["gpt2"]),
    ]
    assert len({t.hash for t in [tok, *others]}) == 4
    assert Tokenizer.from_merges(tok.merges, ["<|pad|>"]).hash == tok.hash


@pytest.mark.parametrize(
    ("vocab", "merges", "special", "sentence"),
    [
        ({k: v for k, v in BYTES.items() if v != 7}, [], {"<|endoftext|>": 256}, "lacks 1 of the 256 bytes"),
        (BYTES, [], {"<|end|>": 256}, "has no <|endoftext|>"),
        (BYTES, [], {"<|endoftext|>": 256, "a": 257}, "'a' is also an ordinary token"),
        # (ab)c and a(bc) make the same bytes: tokenizers would wait for the second rule, tiktoken would not
        (
            BYTES | {b"ab": 256, b"bc": 257, b"abc": 258},
            [(b"ab", b"c"), (b"a", b"bc")],
            {"<|endoftext|>": 259},
            "each token once",
        ),
        # bc comes first, so abc is always a, bc: the rule ab + c is never met, but tiktoken would merge a + bc
        (
            BYTES | {b"bc": 256, b"ab": 257, b"abc": 258},
            [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")],
            {"<|endoftext|>": 259},
            "1 of the merges cannot be reached",
        ),
        (BYTES | {b"abc": 256}, [(b"ab", b"c")], {"<|endoftext|>": 257}, "1 of the merges cannot be reached"),
    ],
)
def test_vocabularies_on_which_the_engines_differ_are_refused(vocab, merges, special, sentence):
    """What `tiktoken` would encode otherwise than `tokenizers` is no Tokenizer."""
    with pytest.raises(PlanError, match=sentence.replace("|", r"\|")):
        Tokenizer(vocab, merges, special)


def test_what_cannot_be_reached_is_what_the_library_does_not_reach(monkeypatch):
    """Random merges, of which some are never met: the kernel and the library `tokenizers` name the same tokens."""
    rng, some = np.random.default_rng(3), 0
    for _ in range(40):
        pieces, merges = [b"a", b"b", b"c"], []
        for _ in range(12):
            left, right = (pieces[i] for i in rng.integers(0, len(pieces), 2))
            if left + right not in pieces and len(left + right) < 200:
                merges.append((left, right))
                pieces.append(left + right)
        vocab = BYTES | {left + right: 256 + i for i, (left, right) in enumerate(merges)}
        by_kernel = engines._unreachable(vocab, merges)
        with monkeypatch.context() as patch:
            patch.setattr(engines, "rules_of", lambda *_: None)
            assert by_kernel == engines._unreachable(vocab, merges)
        some += 0 < len(by_kernel) < len(merges)
    assert some > 20


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda j: j.update(normalizer={"type": "NFC"}), "a normalizer"),
        (lambda j: j.update(pre_tokenizer={"type": "Whitespace"}), "another pre-tokenizer"),
        (lambda j: j["model"].update(byte_fallback=True), "byte_fallback"),
        (lambda j: j["model"].update(type="Unigram"), "model Unigram"),
        (lambda j: j["added_tokens"][0].update(special=False), "added token <|endoftext|>"),
    ],
)
def test_other_kinds_are_encoded_by_their_library(tok, tmp_path, change, sentence, caplog):
    """A tokenizer.json that does more than byte-level BPE is not encoded by kernels; the reason is logged."""
    value = json.loads(tok.engine.to_str())
    change(value)
    place = tmp_path / "tokenizer.json"
    place.write_text(json.dumps(value))
    with caplog.at_level("INFO", "dataprep"), contextlib.suppress(ReadError):  # an incomplete Unigram
        assert isinstance(Tokenizer.load(place), LibraryTokenizer)
    assert sentence in caplog.text


@pytest.mark.parametrize("content", ["{}", "not json", '{"model": 1}', '{"model": {"type": "BPE"}}'])
def test_what_is_no_tokenizer_is_said_so(tmp_path, content):
    """Any other file is a ReadError with its path."""
    place = tmp_path / "tokenizer.json"
    place.write_text(content)
    with pytest.raises(ReadError, match=str(place)):
        Tokenizer.load(place)


def test_interpreter_knows_the_marks():
    """The premise of the twin's classes: a vowel sign is a mark, which the pattern keeps inside the word."""
    assert unicodedata.category("ि")[0] == "M"
    assert twins.bpe.bpe_words("बारिश है") == ["बारिश", " है"]


def test_gpt2_gives_nanogpts_counts(shared):
    """GPT-2's files on tinyshakespeare split 90/10: 301,966 and 36,059 tokens, nanoGPT's published numbers."""
    folder = shared / "tokens" / "gpt2-bpe"
    gpt2 = Tokenizer.from_files(str(folder / "encoder.json"), str(folder / "vocab.bpe"))
    assert (gpt2.vocab_size, gpt2.eot) == (50_257, 50_256)
    text = (shared / "text" / "tinyshakespeare" / "input.txt").read_text(encoding="utf-8")
    cut = int(len(text) * 0.9)
    assert (len(gpt2.encode(text[:cut])), len(gpt2.encode(text[cut:]))) == (301_966, 36_059)
    equal_ids(gpt2, text[:200_000])


def test_a_million_spaces(tok):
    """A text on which the reference's regex engine would overflow encodes, as a batch does, and comes back."""
    gpt2 = Tokenizer.from_merges(tok.merges, pattern=PATTERNS["gpt2"])
    text = "a" + " " * 1_000_000 + "b"
    assert gpt2.encode(text) == gpt2.encode_batch([text])[0]
    assert gpt2.decode(gpt2.encode(text)) == text
    assert gpt2.encode("\ud800" * 200_000)[:1] == gpt2.encode("\ufffd" * 200_000)[:1]


@pytest.mark.parametrize("name", ["tokenizer.json", "receipt.json"])
def test_a_changed_byte_of_a_folder_is_found(tmp_path, name):
    """By `verify`, and by every call that opens tokenizer.json; without a receipt it is read unchecked."""
    tok, home = Tokenizer.of_bytes("chatml"), str(tmp_path / "tok")
    tok.save(home)
    assert dp.tools.verify(home) == {home: []}
    at = tmp_path / "tok" / name
    at.write_bytes(at.read_bytes().replace(b"<|im_start|>", b"<|im_stast|>").replace(b'"size": ', b'"size": 9'))
    assert {problem.file for problem in dp.tools.verify(home)[home]} == {name}
    if name == "tokenizer.json":
        for path in (home, str(at)):
            with pytest.raises(CorruptShard, match=r"tokenizer.json was changed since it was written, as receipt.json"):
                Tokenizer.load(path)
        shutil.copy(at, tmp_path / "alone.json")
        (tmp_path / "tok" / "receipt.json").unlink()
        assert Tokenizer.load(home).vocab_size == Tokenizer.load(tmp_path / "alone.json").vocab_size
    tok.save(home)
    assert dp.tools.verify(home) == {home: []}
    assert Tokenizer.load(home).hash == tok.hash


def test_a_receipt_of_others_is_kept(tmp_path):
    """In a folder of somebody's, as a file of that name may be anything."""
    (tmp_path / "receipt.json").write_text('{"paid": 3}')
    with pytest.raises(StaleOutput, match=r"receipt.json exists and is not a receipt of dataprep; choose another file"):
        Tokenizer.of_bytes().save(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["receipt.json"]
