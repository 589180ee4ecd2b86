"""BadWords against its plain twin, both rules of matching, and bad lists."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import laws
import twins.badwords
from dataprep.errors import PlanError
from dataprep.filters.badwords import BadWords
from dataprep.store.key import key

ATOMS = [
    "a", "b", "ab", "ba", "A", "aB", " ", "-", "--", "_", "7", "é", "É", "e\u0301", "\u0301", "Σ", "ς", "σ", "\u0130",
    "i", "\u212a", "k", "Ⱥ", "語", "日", "日本", "سلام", "🙂", "\n", "\0", "|",
    "ال", "لل", "و", "ب", "كلب", "كلاب", "ـ", "\u064b", "ا", "\u0651", "\u0654", "\u05b0", "א",
]  # fmt: skip
words = st.lists(st.sampled_from([a for a in ATOMS if a != "\n"]), min_size=1, max_size=4).map("".join)
entries = st.lists(words, min_size=1, max_size=6).filter(lambda ws: any(w.strip() for w in ws))
texts = st.lists(st.one_of(st.sampled_from(ATOMS), st.text(max_size=2)), max_size=30).map("".join)


def reasons(stage, *some):
    rows = stage.decide(stage.score(laws.batch_of(list(some)))).to_pylist()
    return [r is not None for r in rows]


@settings(max_examples=400)
@given(entries, st.booleans(), st.sampled_from([None, "fa"]), st.lists(texts, max_size=5))
def test_kernel_equals_the_twin(listed, whole, language, some):
    """As many matches as the plain twin finds, by both rules, whatever the entries hold."""
    stage = BadWords(listed, whole_words=whole, language=language)
    found = next(iter(stage.score(laws.batch_of(some)).values())).to_pylist()
    clitics = whole and language is None
    assert found == [twins.badwords.bad_words(t, stage.entries, whole, clitics) for t in some]


def test_word_boundaries_and_substrings():
    """With boundaries a word in another is none; in unspaced scripts it is; the language chooses."""
    english = BadWords(("ass", "free spins", "c++"), language="en")
    some = ["An Ass, brayed.", "my class", "free spins!", "free  spins", "ass_", "ass\u0301", "(ass)", "C++ is", "c+++"]
    assert reasons(english, *some) == [True, False, True, False, False, False, True, True, True]
    assert reasons(BadWords(("馬鹿",), language="ja"), "彼は馬鹿だ", "馬と鹿") == [True, False]
    assert reasons(BadWords(("馬鹿",), language="fr"), "彼は馬鹿だ") == [False]
    assert reasons(BadWords(("كلب",), language="ar"), "هذا كلب.", "كلبك هنا") == [True, False]
    assert reasons(BadWords(("คำ",), language="th-TH"), "มีคำนี้") == [True]


# Arabic texts with one of ARABIC in them, however it is written, and texts that only look like it.
ARABIC = ("كلب", "حمار", "لوط", "نيك", "خنزير", "ابن الكلب", "حمّام")
HELD = [
    "كلبٌ", "كلبًا", "كلباً", "بحماراً", "كلبٍ", "كَلْب", "كـلـب", "كـــلب", "هذا الكلب.",
    "والكلب", "فالكلب", "بالكلب", "كالكلب", "للكلب", "وللكلب", "وبالكلب", "وكلب", "وَكَلْبٌ", "الكَلْبُ",
    "بحمار", "لحمار", "كحمار", "فحمار", "وبحمار", "فلخنزير",
    "الخنازير خنزيرُ", "يا ابن الكلب!", "وابن الكلب", "دخل حمّام", "«الحمار»", "والـحـمـار",
]  # fmt: skip
CLEAN = [
    "كلبك", "كلاب", "أكلب", "تكلب", "مكلب", "كلبة", "كلبي", "بلوط", "شجر البلوط", "فنيك", "كلام", "قلب", "الكلبة",
    "حمارة", "محمار", "حمام", "الحمام", "حمَام", "سيلوط", "كل ب", "وكلبك", "بالكلبين", "خنازير", "فكلبهم",
    "ليلوط", "تكنيك", "تكنيكي", "كلٌبة", "لوطي", "الفنيك", "كلثوم", "وبلوط", "ال كلبي", "كلباه", "كلبات",
]  # fmt: skip


def test_arabic_as_it_is_written():
    """Vowel signs, the tatweel and clitics do not hide a word, and no longer word is taken for one."""
    stage = BadWords(ARABIC, language="ar")
    assert [text for text, hit in zip(HELD, reasons(stage, *HELD), strict=True) if not hit] == []
    assert [text for text, hit in zip(CLEAN, reasons(stage, *CLEAN), strict=True) if hit] == []
    assert reasons(BadWords(("כלב",), language="he"), "כֶּלֶב", "כלבה") == [True, False]
    assert reasons(BadWords(("نمک",), language="fa"), "ونمک", "نمک") == [False, True]  # clitics are Arabic
    assert reasons(BadWords(("اسد",), language="ar"), "أسد", "ا\u0654سد") == [False] * 2  # with hamza: another letter


def test_one_character_in_two_forms():
    """A letter and its mark may be one character or two, in a list as in a text."""
    forms = {"salopé": "salope\u0301", "أسد": "ا\u0654سد", "đồ": "đo\u0302\u0300", "개새": "\u1100\u1162\u1109\u1162"}
    for one, two in forms.items():
        for entry in (one, two):
            assert reasons(BadWords((entry,)), f"({one})", two.upper(), two[:-1]) == [True, True, False]


def test_a_share_is_kept():
    """Of documents with bad words, the given share is kept; equal texts have equal fates."""
    some = [f"bad {n}" for n in range(2000)]
    rows, drops, _ = laws.apply(BadWords(("bad",), keep_fraction=0.1), [laws.batch_of([*some, *some, "good"])])
    kept = [r["text"] for r in rows]
    assert 300 < len(kept) < 500
    assert kept[: len(kept) // 2] == kept[len(kept) // 2 : -1]
    assert {d["reason"] for d in drops} == {"bad_words"}
    assert key(BadWords(("bad",))) != key(BadWords(("bad",), keep_fraction=0.1))


def test_the_threshold_and_the_name():
    """More matches than max_matches drop; the column is named after the language."""
    stage = BadWords(("x",), max_matches=2, language="ary-Latn")
    assert list(stage.scores) == ["badwords_ary_latn"]
    assert reasons(stage, "x x", "x x x") == [False, True]
    assert reasons(BadWords(("x",), max_matches=None), "x x x") == [False]


def test_a_list_in_a_file(tmp_path):
    """One entry a line; the key is that of the entries, wherever they lie and in whatever order."""
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_bytes("\ufeffbad\r\n\r\n worse words \n".encode())
    two.write_bytes(b"worse words\nbad")
    stage = BadWords(str(one))
    assert stage.entries == ("bad", "worse words")
    assert key(stage) == key(BadWords(str(two))) == key(BadWords(["worse words", "bad"]))
    assert key(stage) != key(BadWords(("bad",)))
    one.write_bytes(b"other")
    assert key(BadWords(str(one))) != key(stage)


@settings(max_examples=20)
@given(st.lists(texts, min_size=1, max_size=6))
def test_laws(some):
    """Batch cuts do not matter, books balance, and the stage travels with its key."""
    stage = BadWords(("a", "語"))
    laws.cuts_do_not_matter(stage, laws.batch_of(some), [1, 3])
    laws.books_balance(stage, laws.batch_of(some))
    laws.key_and_pickle_are_stable(stage)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda f: BadWords(f"{f}/none.txt"), "cannot read the list"),
        (lambda f: BadWords(f"{f}/latin.txt"), "must be UTF-8 (byte 1 is not)"),
        (lambda f: BadWords(f"{f}/blank.txt"), "must have an entry"),
        (lambda _: BadWords(()), "must have an entry"),
        (lambda _: BadWords((1,)), "must have an entry"),
        (lambda _: BadWords(("a\nb",)), "has a line break"),
        (lambda _: BadWords(("a",), max_matches=-1), "a number of at least 0"),
        (lambda _: BadWords(("a",), keep_fraction=2), "keep_fraction=2 must be at most 1"),
        (lambda _: BadWords(("a",), language=3), "language=3 must be a registered language tag"),
    ],
)
def test_bad_lists_are_refused(make, says, tmp_path):
    """A list that cannot be used is one clear sentence before any work."""
    (tmp_path / "latin.txt").write_bytes(b"p\xe9ch\xe9")
    (tmp_path / "blank.txt").write_bytes(b"\n \n")
    with pytest.raises(PlanError, match=re.escape(says)):
        make(tmp_path)


@pytest.mark.parametrize(
    ("entry", "text", "found"),
    [
        ("badword", "a bad\u200dw\u200co\xadr\u2060d\ufe0f!", True),
        ("badword", "bad\u200bword", False),
        ("badword", "ａ ｂａｄｗｏｒｄ", True),
        ("badword", "𝐛𝐚𝐝𝘄𝘰𝙧𝚍", True),
        ("fiasco", "a ﬁasco", True),
        ("كلب", "ﻛﻠﺐ و", True),
        ("الله", "قال ﷲ", True),
        ("وسلم", "محمد ﷺ", True),
        ("ﻛﻠﺐ", "كلب", True),
        ("می\u200cخواهم", "میخواهم", True),
        ("\u200d", "a\u200db", False),
    ],
    ids=["invisible", "zero-width-space", "full-width", "mathematics", "ligature", "arabic", "word", "sentence",
         "entry", "persian", "nothing-seen"],
)  # fmt: skip
def test_letters_in_disguise(entry, text, found):
    """A word is found in other forms of its letters, and with invisible characters in it, as an entry is."""
    stage = BadWords((entry, "zzz"))
    batch = laws.batch_of([text])
    assert stage.score(batch)[next(iter(stage.scores))].to_pylist() == [int(found)]
    assert twins.badwords.bad_words(text, (entry, "zzz"), True, True) == found
