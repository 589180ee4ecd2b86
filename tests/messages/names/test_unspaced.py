"""Names of scripts without spaces are found anywhere in a text, and the audit finds those that are left."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dataprep.core.model import batch as B
from dataprep.core.output.audit import CELL, Strings
from dataprep.messages.names.known import KnownPeople
from dataprep.messages.names.unspaced import UnspacedNames, is_unspaced

from .test_names import pseudonymised

SENTENCES = [  # name, sentence with {} for it, in which the name has letters of its script next to it
    ("王小明", "昨天{}来了,我们一起吃饭"),
    ("王 小明", "你问{}吧"),
    ("张伟", "{}说他不来"),
    ("山田太郎", "{}さんは元気ですか"),
    ("山田 太郎", "昨日、{}と会った"),
    ("スズキハナコ", "{}ちゃん、おめでとう"),
    ("김민수", "어제 {} 만났어"),
    ("สมชาย", "คุณ{}มาแล้วครับ"),
    ("สมชาย ใจดี", "ฉันเจอ{}เมื่อวาน"),
    ("សុខា", "បង{}មកហើយ"),
    ("ကျော်ကျော်", "ကို{}လာပြီ"),
]


@pytest.mark.parametrize(("name", "sentence"), SENTENCES)
def test_a_name_is_found_anywhere(tmp_path, name, sentence):
    """Author and text have one pseudonym, with the name's words written apart or together."""
    spelled = [name, *([name.replace(" ", "")] if " " in name else [])]
    rows = [("a chat", name, sentence.format(one)) for one in spelled]
    left, _ = pseudonymised([*rows, ("a chat", "Ilse Varga", "good morning")], tmp_path)
    for _, author, text in left[: len(rows)]:
        assert author in text
        assert not any(one in text for one in spelled)


@pytest.mark.parametrize(
    ("name", "enough"),
    [("佐々木", True), ("張", False), ("張偉", True), ("はな", False), ("ハナコ", True), ("กข", False), ("ใจดี", True),
     ("𠮷野", True), ("김민수", False), ("ilse", False), ("張a", False), ("", False), ("123", False), ("ﾊﾅｺ", True)],
)  # fmt: skip
def test_which_names_are_found_inside_words(name, enough):
    """Three letters of scripts without spaces, or two with a Chinese character; not Korean, which has spaces."""
    assert is_unspaced(name) == enough


@pytest.mark.parametrize(("name", "sentence"), [s for s in SENTENCES if is_unspaced(s[0].replace(" ", ""))])
def test_the_audit_finds_a_name_that_is_left(name, sentence):
    """A full name between letters of its own script is a leak."""
    found = KnownPeople((name,))(Strings("a column", CELL, ["nobody", sentence.format(name)]))
    assert [(hit.row, hit.stays) for hit in found] == [(1, False)]


def test_the_article_after_a_preposition(tmp_path):
    """ل joined to ال is written لل: للعلوي is the name العلوي."""
    texts = ["قلت للعلوي", "قلت لكريم العلوي", "والعلوي جا", "العلوي"]
    left, _ = pseudonymised([("a chat", "كريم العلوي", text) for text in texts], tmp_path)
    assert not any("علوي" in text for _, _, text in left)


@pytest.mark.parametrize("text", ["Zoe\u0308 Amrani", "zoë", "Zoe\u0308\u0301, hi", "مُحَمَّدٌ", "محمد\u0640\u064e"])
def test_accents_of_the_last_letter_go_with_the_name(tmp_path, text):
    """No accent or vowel sign is left on a pseudonym."""
    left, _ = pseudonymised([("a chat", "Zoë Amrani", text), ("a chat", "محمد", "salam")], tmp_path)
    assert not set(left[0][2]) - set(left[0][1] + left[1][1] + ", hi")


def test_names_equal_plain_search():
    """On random texts, the spans are those of trying all names at each character, the longest first."""
    rng = random.Random(5)
    names = ["王小明", "小明", "张伟", "伟大明", "สมชาย", "ชายใจ", "山田太"]
    letters = "王小明张伟大สมชายใจ山田太郎 a\u0301\u200bé"
    number = {name: i for i, name in enumerate(names)}
    search = UnspacedNames(number)
    texts = ["".join(rng.choices(letters, k=rng.randrange(30))) for _ in range(3_000)]
    offsets, data = B.buffers(B.make(list(range(len(texts))), texts, "x"))
    expected = []
    for row, text in enumerate(texts):
        at = 0
        while at < len(text):
            spans = [(end, name) for name in names if (end := _end(text, at, name))]
            if spans:
                end, name = max(spans)
                ends = [len(text[:i].encode()) + int(offsets[row]) for i in (at, end)]
                expected.append((row, *ends, number[name], 0))
            at = end if spans else at + 1
    assert expected
    np.testing.assert_array_equal(search.find(offsets, data), np.array(expected))


def _end(text, at, name):
    """The end of a name at a character of a text, without invisible signs and accents in it; 0 if there is none."""
    left = list(name)
    i = at
    while left and i < len(text):
        if text[i] == left[0]:
            left.pop(0)
        elif i == at or text[i] not in "\u0301\u200b":
            return 0
        i += 1
    return 0 if left else i
