"""Gopher and FineWeb against their plain twins, each rule at its threshold, and against bad parameters."""

from __future__ import annotations

import csv
import gzip
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
import twins.fineweb
import twins.gopher
import twins.gopher_published
import twins.words
from dataprep.errors import PlanError
from dataprep.filters.fineweb import FineWeb
from dataprep.filters.gopher.segments import hash_segments, segment_table
from dataprep.filters.gopher.stage import PRESETS, RULES, Gopher
from dataprep.filters.word_lists import STOP_WORDS
from dataprep.store.key import key
from dataprep.unicode.text import SENTENCE, classes

SPACES = [chr(c) for c in np.flatnonzero(classes() & 1).tolist()]
PIECES = [
    *SPACES, "\r\n", "\n", "\n", "\n\n", " ", " ", " ", " ", "a ", "a ", "b ", "c ", "a b c ", "a b c d e f g ", "The ",
    "to", "be, ", "(that)", "dyal ", "في ", "إلى", "Σ", "ς", "σ ", "\u0130", "i", "#", "##", "...", ". ", ".", "…",
    "- ", "•", "* ", "!", "؟", "\u0301", "é", "語", "🙂", "7", "_", "x" * 9, "a b\nc d\n", "same line.\n", "\0",
]  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=80).map("".join)
RULED = [
    Gopher(languages=("en", "ary-Latn"), stop_words=("ΣΑΣ", "σς", "a", "\u0130", "don't")),
    Gopher(languages=("ar",), bullets=("a", "•", "語")),
    Gopher(languages=(), bullets=()),
]
LINED = [FineWeb(), FineWeb(word_split="unicode"), FineWeb(short_line_chars=3, terminal_punctuation=("a", "語"))]
PRESET = [Gopher(min_words=3), Gopher(preset="dclm"), Gopher(word_split="unicode"), FineWeb(preset="code")]
TWO_LISTS = {"languages": ("en", "ary"), "stop_words": ("a", "ΣΑΣ", "b")}


def scores(stage, texts):
    made = stage.score(laws.batch_of(texts))
    return [dict(zip(made, row, strict=True)) for row in zip(*(c.to_pylist() for c in made.values()), strict=True)]


def reasons(stage, *texts):
    return stage.decide(stage.score(laws.batch_of(list(texts)))).to_pylist()


@settings(max_examples=250)
@given(st.sampled_from(RULED), st.lists(texts, max_size=5))
def test_gopher_equals_its_twin(stage, some):
    """Every score is the plain twin's, exactly."""
    assert scores(stage, some) == [twins.gopher.gopher(t, stage, stage.measure[0]) for t in some]


@settings(max_examples=60)
@given(st.sampled_from(["unicode", "punctuation"]), st.lists(texts, max_size=4))
def test_words_of_all_kinds(words, some):
    """With other words, the scores of words and n-grams are those of a text with these words between blanks."""
    stage = Gopher(word_split=words, **TWO_LISTS)
    for text, found in zip(some, scores(stage, some), strict=True):
        split = twins.words.tokens(text) if words == "punctuation" else unicode_words(text)
        again = twins.gopher.gopher(" ".join(split), stage, stage.measure[0])
        plain = twins.gopher.gopher(text, stage, stage.measure[0])
        own = {"gopher_words", "gopher_mean_word_chars", "gopher_alphabetic", "gopher_stop_words"}
        own |= {name for name in found if "gram" in name}
        assert {name: found[name] for name in own} == {name: again[name] for name in own}
        if words == "unicode":
            rest = found.keys() - own - {"gopher_hashes", "gopher_ellipses"}
            assert {name: found[name] for name in rest} == {name: plain[name] for name in rest}


def unicode_words(text):
    """The words of a text as they are written."""
    return [w for a, b in twins.words.spans(text) for w in text[a:b].split()]


@settings(max_examples=80)
@given(st.sampled_from(["datatrove", "dolma", "dclm"]), st.lists(texts, max_size=4))
def test_presets_equal_their_twins(preset, some):
    """Every score of a published code is that of its plain twin, exactly."""
    stage = Gopher(preset=preset, **TWO_LISTS)
    twin = getattr(twins.gopher_published, preset)
    want = [{f"gopher_{k}": v for k, v in twin(t, stage, stage.measure[0]).items()} for t in some]
    assert scores(stage, some) == want


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__init__ a_b _c d_", ["a_b", "d_"]),
        ("カタカナ_ア と ｶﾅ", ["カタカナ_ア", "と", "ｶﾅ"]),
        ("Bonjour\u202f! שם' צה\"ל", ["Bonjour\u202f", "שם'", 'צה"ל']),
        ("a\u200d😀 b\u00adc 3.14 can't 3'b", ["a\u200d😀", "b\u00adc", "3.14", "can't", "3", "b"]),
        ("\u0301a\n\u0301b 語の", ["a", "b", "語", "の"]),
    ],
    ids=["underscores", "katakana", "narrow-space-and-hebrew", "joiners", "marks"],
)
def test_words_of_dclm(text, words):
    """The words of DCLM's n-grams: segments of UAX #29 that begin with a letter or digit, as uniseg 0.10.1 has them."""
    data, n = np.frombuffer(text.encode(), np.uint8), len(text)
    hashes, chars = np.zeros(n, np.uint64), np.zeros(n + 1, np.int64)
    found = hash_segments(data, 0, len(data), segment_table(), hashes, chars)
    assert np.diff(chars[: found + 1]).tolist() == [len(w) for w in words]
    assert [s for s in twins.words.segments(text, tailored=False) if s[0].isalnum()] == words


def test_presets_differ_where_the_codes_do():
    """Each difference of a published code from the paper, by one text: what is dropped by whom."""
    off = dict.fromkeys(name for name in vars(Gopher()) if name.startswith(("min_", "max_")))
    cases = [
        ("max_dup_lines", "x\na\nb\nc\nd\nx", {"dolma", "dclm"}),  # first occurrences count
        ("max_dup_lines", "a\n\nb\n\nc\n\nd", {"dolma"}),  # blank lines count
        ("min_stop_words", "the the x", {"paper", "datatrove"}),  # different ones, or occurrences
        ("min_stop_words", "The be, x", {"datatrove", "dolma", "dclm"}),  # letters alone, or the whole word
        ("max_top_2gram", "only two", {"datatrove", "dolma"}),  # n-grams that occur once
        ("min_alphabetic", "a, b, c, d, e", {"datatrove"}),  # commas are words
        ("max_hash_signs", "x # # y z w a b c d e…", {"paper", "datatrove", "dolma", "dclm"}),
        ("max_mean_word_chars", "a b " + "c" * 40, {"paper", "datatrove", "dclm"}),  # mean or median
    ]
    for rule, text, dropped in cases:
        for preset in PRESETS:
            given = {rule: getattr(Gopher(preset=preset), rule)}
            assert reasons(Gopher(**off | {"preset": preset} | given), text) == (
                [next(r.reason for r in RULES if r.parameter == rule)] if preset in dropped else [None]
            ), (rule, text, preset)


def test_word_lengths_by_script():
    """Words of scripts without spaces have no length; accents and Arabic vowel signs do not make a word longer."""
    stage = Gopher(**OFF | {"min_mean_word_chars": 3, "max_mean_word_chars": 10})
    long_thai, chinese = "สวัสดีครับวันนี้อากาศดีมาก " * 9, "我们今天去公园散步。天气很好。" * 9
    assert reasons(stage, long_thai, chinese, "日本語 a b") == [None, None, "short_words"]
    assert scores(stage, ["مُتَعَدِّدُونَ", "متعددون", "e\u0301te\u0301", ""])[0]["gopher_mean_word_chars"] == 7
    assert [row["gopher_mean_word_chars"] for row in scores(stage, ["متـعددون", "e\u0301te\u0301", "", "我們"])] == [
        7, 3, 0, None,
    ]  # fmt: skip
    words = Gopher(word_split="unicode", **OFF | {"min_words": 50})
    assert reasons(words, chinese, long_thai, "我们今天去公园") == [None, None, "too_few_words"]


@settings(max_examples=100)
@given(st.lists(texts, max_size=5))
def test_fineweb_code_equals_its_twin(some):
    """Every score of the published code is the plain twin's, exactly."""
    stage = FineWeb(preset="code", short_line_chars=3)
    assert scores(stage, some) == [twins.fineweb.code(t, stage) for t in some]


def test_fineweb_code_keeps_documents_at_its_limits():
    """The paper drops a document at a limit, the code keeps it; lines of the code are not stripped."""
    off = dict.fromkeys(["min_punctuated_lines", "max_short_lines", "max_dup_line_chars", "max_newline_ratio"])
    for text, rule, beyond in (
        ("x.\n" * 12 + "x\n" * 88, {"min_punctuated_lines": 0.12}, "x.\n" * 11 + "x\n" * 89),
        (SHORT * 67 + LONG * 33, {"max_short_lines": 0.67}, SHORT * 68 + LONG * 32),
        (lines(1, 1, 100), {"max_dup_line_chars": 0.01}, lines(1, 1, 99)),
    ):
        name = next(iter(rule))
        assert reasons(FineWeb(preset="code", **off | rule), text, beyond)[0] is None
        assert reasons(FineWeb(preset="code", **off | rule), text, beyond)[1] is not None
        assert reasons(FineWeb(**off | rule), text)[0] is not None, name
    assert scores(FineWeb(preset="code"), ["x. \ny."])[0]["fineweb_punctuated_lines"] == 0.5
    assert not {'"', "'", "”"} & set(FineWeb(preset="code").terminal_punctuation)


@settings(max_examples=150)
@given(st.sampled_from(LINED), st.lists(texts, max_size=5))
def test_fineweb_equals_its_twin(stage, some):
    """Every score is the plain twin's, exactly."""
    assert scores(stage, some) == [twins.fineweb.fineweb(t, stage) for t in some]


@settings(max_examples=30)
@given(st.sampled_from([*RULED, *PRESET, *LINED]), st.lists(texts, min_size=1, max_size=8))
def test_laws(stage, some):
    """Batch cuts do not matter, books balance, and the stages travel with their keys."""
    laws.cuts_do_not_matter(stage, laws.batch_of(some), [1, 3])
    laws.books_balance(stage, laws.batch_of(some))
    laws.key_and_pickle_are_stable(stage)


def words(n, first=0):
    """So many different words of five letters."""
    return [f"w{k:04}" for k in range(first, first + n)]


def text(*parts):
    return " ".join(p if isinstance(p, str) else " ".join(p) for p in parts)


def repeat(n, times, of):
    """`times` copies of a run of n words, set apart, in a text of `of` words."""
    run, rest = [f"r{k:04}" for k in range(n)], words(of - n * times)
    size = len(rest) // times
    return text(*(part for k in range(times) for part in (run, rest[k * size : (k + 1) * size])), rest[times * size :])


def lines(n, same, of):
    """`of` lines of n words, `same` of which repeat the first."""
    made = [text(words(n, n * k)) for k in range(of - same)]
    return "\n".join([*made, *[made[0]] * same])


# Per rule: what stands just inside its published threshold, and what breaks it.
EDGES = {
    "min_words": (text(words(50)), text(words(49))),
    "max_words": (text(["ab"] * 100_000), text(["ab"] * 100_001)),
    "min_mean_word_chars": ("abc " * 60, "abc " * 59 + "ab"),
    "max_mean_word_chars": ("é" * 10 + " x" + "é" * 9, "é" * 10 + " " + "é" * 11),
    "max_hash_signs": (text(words(9), "x#"), text(words(9), "x##")),
    "max_ellipses": (text(words(9), "x..."), text(words(9), "x...…")),
    "max_bullet_lines": ("• x\n" * 9 + "x", "• x\n" * 10 + "x"),
    "max_ellipsis_lines": ("x...\n" * 2 + "x…\n" + "x\n" * 7, "x...\n" * 3 + "x…\n" + "x\n" * 6),
    "min_alphabetic": (text(words(8), "7 ٣"), text(words(79), ["7"] * 21)),
    "min_stop_words": ("The, x y be", "the the THE Bee x"),
    "max_dup_lines": (lines(3, 3, 10), lines(3, 4, 10)),
    "max_dup_paragraphs": (lines(3, 3, 10).replace("\n", "\n \n"), lines(3, 4, 10).replace("\n", "\n\n\n")),
    "max_dup_line_chars": (lines(3, 2, 10), lines(3, 3, 10)),
    "max_dup_paragraph_chars": (lines(3, 2, 10).replace("\n", "\n\n"), lines(3, 3, 10).replace("\n", "\n\n")),
    "max_top_2gram": (repeat(2, 10, 100), repeat(2, 11, 100)),
    "max_top_3gram": (repeat(3, 6, 100), repeat(3, 7, 100)),
    "max_top_4gram": (repeat(4, 4, 100), repeat(4, 5, 100)),
    "max_dup_5gram": (repeat(5, 4, 100), repeat(5, 5, 100)),
    "max_dup_6gram": (repeat(7, 3, 100), repeat(6, 4, 100)),
    "max_dup_7gram": (repeat(13, 2, 100), repeat(7, 3, 100)),
    "max_dup_8gram": (repeat(12, 2, 100), repeat(13, 2, 100)),
    "max_dup_9gram": (repeat(11, 2, 100), repeat(12, 2, 100)),
    "max_dup_10gram": (repeat(10, 2, 100), repeat(11, 2, 100)),
}
OFF = dict.fromkeys(EDGES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.parameter)
def test_each_rule_at_its_threshold(rule):
    """A document on the published threshold stays, the smallest step beyond it goes with the rule's reason."""
    published = getattr(Gopher(), rule.parameter)
    stage = Gopher(**OFF | {rule.parameter: published})
    assert reasons(stage, *EDGES[rule.parameter]) == [None, rule.reason]
    inside, beyond = (row[rule.score] for row in scores(stage, EDGES[rule.parameter]))
    assert inside != beyond
    assert reasons(Gopher(**OFF), *EDGES[rule.parameter]) == [None, None]


SHORT, LONG = "\u00e9" * 30 + "\n", "\u00e9" * 31 + "\n"


@pytest.mark.parametrize(
    ("rules", "stays", "goes", "reason"),
    [
        ({}, "x.\n" * 13 + "x\n" * 87, "x.\n" * 12 + "x\n" * 88, "few_punctuated_lines"),
        ({}, SHORT * 66 + LONG * 34, SHORT * 67 + LONG * 33, "short_lines"),
        ({}, lines(1, 1, 11), lines(1, 1, 10), "duplicate_line_chars"),
        ({"max_dup_line_chars": 0.01}, lines(1, 1, 101), lines(1, 1, 100), "duplicate_line_chars"),
        ({"max_newline_ratio": 0.3}, "a b c d\n\n\ne f g h i j", "a b c d\n\n\ne f g h i", "line_breaks"),
    ],
)
def test_fineweb_at_its_thresholds(rules, stays, goes, reason):
    """The paper's rules drop on the threshold, the code's fourth, which the paper does not have, beyond it."""
    assert (FineWeb().max_newline_ratio, FineWeb(preset="code").max_newline_ratio) == (None, 0.3)
    names = (
        ("few_punctuated_lines", "min_punctuated_lines"),
        ("short_lines", "max_short_lines"),
        ("line_breaks", "max_newline_ratio"),
    )
    own = dict(names).get(reason, "max_dup_line_chars")
    off = dict.fromkeys(["min_punctuated_lines", "max_short_lines", "max_dup_line_chars", "max_newline_ratio"])
    stage = FineWeb(**off | {own: getattr(FineWeb(), own)} | rules)
    assert reasons(stage, stays, goes) == [None, reason]


def test_terminal_punctuation_of_every_script():
    """Each mark with which Unicode ends sentences ends a line, alone or before a closing quotation mark."""
    marks = [chr(c) for c in np.flatnonzero(classes() & SENTENCE)]
    assert len(marks) > 150
    assert set("។៕။॥؟۔።") < set(marks)
    for close in ("", "”", "」"):
        rows = scores(FineWeb(), [f"a line{mark}{close}\nand more of it" for mark in marks])
        assert {row["fineweb_punctuated_lines"] for row in rows} == {0.5}


def test_repeats_that_overlap_count_once():
    """A character under several repeated n-grams counts once; a longer repeat holds shorter ones."""
    row = scores(Gopher(), [repeat(12, 2, 100)])[0]
    assert {row[f"gopher_dup_{n}gram"] for n in range(5, 11)} == {0.12}
    assert row["gopher_top_2gram"] == 0.04


@pytest.mark.parametrize("name", sorted(STOP_WORDS))
def test_every_list_knows_its_words(name):
    """Every word of a list is found, however it is written, and lists of other languages do not add up."""
    listed = STOP_WORDS[name]
    assert len(set(listed)) == len(listed) > 7
    rows = scores(Gopher(languages=(name,)), [" ".join(listed), f"({listed[0].upper()}), {listed[0]}"])
    assert [row["gopher_stop_words"] for row in rows] == [len(listed), 1]


def test_the_language_that_fits_best_counts():
    """Two words of one list are asked for: one Arabic word and one French word are not two."""
    stage = Gopher(**OFF | {"min_stop_words": 2}, languages=("ar", "fr"), stop_words=("xyz", "zyx"))
    assert reasons(stage, "قال في بيت", "dans bab", "في dans", "xyz, Zyx", "على البيت من") == [
        "few_stop_words", "few_stop_words", "few_stop_words", None, None,
    ]  # fmt: skip


def test_darija_is_found(shared):
    """Two stop words stand in four of five Darija sentences of eight words or more, in either script."""
    with gzip.open(shared / "text" / "darija" / "SmartlyAI" / "sentences.csv.gz", "rt", encoding="utf-8-sig") as f:
        rows = list(csv.DictReader(f))
    for column, language in (("Darija_Arabe", "ary"), ("Arabizi", "ary-Latn")):
        some = [row[column] for row in rows if len(row[column].split()) >= 8]
        found = Gopher(languages=(language,)).score(laws.batch_of(some))["gopher_stop_words"].to_numpy() >= 2
        assert len(some) > 3000
        assert found.mean() > 0.8


def test_keys():
    """A threshold is not part of the measure; languages, words and marks are."""
    assert Gopher(min_words=3).measure_key() == Gopher().measure_key() != Gopher(languages=("fr",)).measure_key()
    assert (
        FineWeb(max_newline_ratio=None).measure_key()
        == FineWeb().measure_key()
        != FineWeb(terminal_punctuation=(".",)).measure_key()
    )
    assert key(Gopher(min_words=3)) != key(Gopher())


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Gopher(preset="falcon"), "preset='falcon' must be one of 'paper', 'datatrove', 'dolma', 'dclm'"),
        (
            lambda: Gopher(word_split="spacy"),
            ("word_split='spacy' must be 'blanks' or 'punctuation' or 'unicode' with preset="),
        ),
        (
            lambda: Gopher(preset="dclm", word_split="unicode"),
            "word_split='unicode' must be 'blanks' with preset='dclm'",
        ),
        (lambda: FineWeb(preset="v1"), "preset='v1' must be 'paper' or 'code'"),
        (lambda: FineWeb(word_split=2), "word_split=2 must be 'blanks'"),
        (lambda: Gopher(min_words=-1), "Gopher: min_words=-1 must be a number of at least 0, or None"),
        (lambda: Gopher(max_hash_signs=float("nan")), "a number of at least 0"),
        (lambda: Gopher(languages=("xx",)), "languages must be among ar, ary, ary-Latn"),
        (lambda: Gopher(languages="en"), "must be a tuple of strings"),
        (lambda: Gopher(stop_words=("...",)), "'...' must have a letter"),
        (lambda: FineWeb(max_newline_ratio=True), "a number of at least 0"),
        (lambda: FineWeb(terminal_punctuation=(". ",)), "without white space"),
    ],
)
def test_bad_rules_are_refused(make, says):
    """A rule that makes no sense is one clear sentence before any work."""
    with pytest.raises(PlanError, match=re.escape(says)):
        make()
