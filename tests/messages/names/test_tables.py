"""Tables of letters, endings and digits: as Unicode has them; a change of them is a change of VERSION."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter

import numpy as np
import pytest

from dataprep.messages.names import beside, endings, glued, known, matching, phones, unspaced, weighing
from dataprep.messages.names import kernel as K
from dataprep.messages.names.stage import Pseudonyms
from dataprep.unicode.assigned import assigned

APART = ("HIRAGANA", "KATAKANA", "THAI", "CJK", "HANGUL")
OTHER = ("ARABIC", "HEBREW", "DEVANAGARI", "ARMENIAN", "GEORGIAN", "ETHIOPIC")
KINDS = {"LATIN": beside.LATIN, **dict.fromkeys(APART, beside.APART), **dict.fromkeys(OTHER, beside.OTHER)}
NAMES = """
ελενη γιωργοσ νικο νικ дмитрии оля ая иван вова достоевскии журавлева арам արամ արա արտ ար
زهرة زهر زه प्रियंका राम रम অনিন্দিতা গীতা ਗੁਰਪ੍ਰੀਤ હેતલ முருகன் கார்த்திகா రాము ಲಕ್ಷ್ಮೀ
രാജൻ ნინო ლევან ნი ნინ አበበ አበ አ ilse 王小明
"""


def tables():
    """Everything that decides which letters are equal, and where a name may begin and end."""
    yield matching.folded()
    yield beside.scripts()
    yield from beside._one_script()
    yield glued._kinds()
    yield from glued._digits_apart()
    yield phones.digit_values()
    yield known._same()
    yield known._marks()
    yield np.array(sorted(map(ord, "".join(sorted(matching.COMMON)))))
    yield np.frombuffer(" ".join(sorted(weighing.listed_words())).encode(), np.uint8)
    for text in (unspaced._ENDINGS, *(p.pattern for p in glued._patterns()), known._GAP, repr(phones._TRUNKS)):
        yield np.frombuffer(text.encode(), np.uint8)
    for name in NAMES.split():
        yield np.frombuffer(" ".join(sorted(endings.with_endings(name))).encode(), np.uint8)
    for name in ("Äöüøåæœßẞþ", "Grossmaß", "Straße", "김민수"):
        yield np.frombuffer(repr(matching.spellings(name)).encode(), np.uint8)


def test_a_change_of_the_tables_is_a_change_of_the_version() -> None:
    """Else texts that were written with the tables before would be served."""
    digest = hashlib.blake2b(digest_size=8)
    for table in tables():
        digest.update(np.ascontiguousarray(table).tobytes())
    assert (Pseudonyms.VERSION, digest.hexdigest()) == (17, "de4804eda265b62e")


def test_scripts_are_those_of_the_names_of_letters() -> None:
    """Each small letter of the scripts above, unless it is compared as another letter."""
    fold, scripts = matching.folded(), beside.scripts()
    wrong = Counter()
    points = np.flatnonzero(assigned() & (fold == np.arange(len(fold)))).tolist()
    for point in (c for c in points if c < 0x3400 or c % 97 == 0 or 0xA000 <= c < 0xB000):
        name, category = unicodedata.name(chr(point), "?"), unicodedata.category(chr(point))
        kind = KINDS.get(name.split()[0].partition("-")[0])
        if kind and category in ("Ll", "Lo") and "REVERSED C" not in name:
            wrong[name] += int(scripts[point] != kind)
    assert len(wrong) > 2000
    assert [name for name, n in wrong.items() if n] == []


def test_letters_are_compared_without_case_and_marks() -> None:
    """Letters of alphabets as their first letter without accents; marks, digits and signs as what they are."""
    fold = matching.folded()
    for point in np.flatnonzero(assigned()[:0x2000]).tolist():
        char, kind = chr(point), int(fold[point])
        category = unicodedata.category(char)
        if category[0] in "SPZ" and category != "Sk" and kind not in (K.GAP, K.BREAK, K.SKIPPED):
            assert category == "So", hex(point)  # letters in signs
        if char.isascii() and char.isalnum():
            assert chr(kind) == char.lower()
        elif category in ("Lu", "Ll") and point not in matching.SAME:
            base = unicodedata.normalize("NFKD", char.lower())[0]
            assert kind in (ord(base), fold[ord(base)]), hex(point)
        elif category == "Mn" and unicodedata.name(char).startswith(("COMBINING", "ARABIC FATHA", "HEBREW POINT")):
            assert kind == K.SKIPPED or point >= 0x483, hex(point)
    assert [int(fold[ord(c)]) for c in " -_.'\u00a0\u202f\u2019"] == [K.GAP] * 8
    unseen = (0xAD, 0x61C, 0x640, 0x200B, 0x200F, 0x202A, 0x202E, 0x2060, 0x206F, 0xFE0F, 0xFEFF)
    assert {int(fold[c]) for c in unseen} == {K.SKIPPED}
    assert {int(fold[ord(c)]) for c in ',;:!?/\\|&+=()[]{}<>"*#@%$\n\t\r\u2028'} == {K.BREAK}


@pytest.mark.parametrize(("text", "plain"), [
    ("Ⓘⓛⓢⓔ ⒤⒧⒮⒠ 🅘🅛🅢🅔 🅸🅻🆂🅴 🄸🄻🅂🄴 ＩＬＳＥ 𝕴𝖑𝖘𝖊 ɪʟꜱᴇ", "ilse"), ("Łøđħŧ łØĐĦŦ", "lodht"),
    ("مُحَمَّد محمد محـمد مُحَمَّدٌ", "محمد"), ("أحمد إحمد آحمد ٱحمد احمد", "احمد"), ("فاطمة فاطمه", "فاطمه"),
    ("كريم کريم کریم کرىم", "كريم"), ("ΓΙΩΡΓΟΣ γιωργος Γιώργος", "γιωργοσ"), ("I ı İ i", "i"), ("Ёж ёж еж", "еж"),
])  # fmt: skip
def test_forms_of_one_word(text, plain) -> None:
    """Letters in other forms, with and without strokes, hamza seats and final forms."""
    assert set(matching.words(text)) == {plain}


LEAST = {"κ": 4, "к": 4, "կ": 3, "ز": 3, "क": 3, "ক": 3, "ਕ": 3, "ક": 3, "க": 3, "క": 3, "ಕ": 3, "ക": 3, "კ": 3, "ከ": 2}


@pytest.mark.parametrize("letter", LEAST)
def test_short_names_have_no_endings(letter) -> None:
    """A word of one letter, so often as the script asks and once less; no other script has any."""
    n = LEAST[letter]
    assert letter * n not in (found := endings.with_endings(letter * n))
    assert found
    assert not endings.with_endings(letter * (n - 1))
    assert not endings.with_endings("א" * 9)
    if letter == "к":
        assert endings.with_endings("кка")
        assert not endings.with_endings("ка")


TRUNKS = {
    "1": "1", "7": "8 0", "36": "06 0", "52": "01 045 044", "370": "8 0", "375": "80 8", "976": "01 02 0", "992": "8 0",
    "993": "8 0", "33": "0", "49": "0",
}  # fmt: skip


@pytest.mark.parametrize("code", TRUNKS)
def test_what_is_dialled_before_a_number(code) -> None:
    """Inside each country, with and without the country's code; another digit is one of another number."""
    national = "2345678916"[: 10 if code in ("1", "7", "52") else 9]
    known = phones.Phones([code + national])
    for trunk in TRUNKS[code].split():
        for text in (f"x {trunk}{national} y", f"x {trunk} {national} y", f"x +{code} {trunk}{national} y"):
            assert [text[a:b] for a, b, _ in known.find(text)] == [text[2:-2]], text
    assert [one for one in known.find(f"x 5{national} y") if one[0] == 2] == []
    assert phones._trunks(code) == tuple(TRUNKS[code].split())


def test_of_two_numbers_that_end_alike_the_longer_one_counts() -> None:
    """Where both begin at one place, and in whatever order they are known."""
    for both in (("212345678", "33212345678"), ("33212345678", "212345678")):
        assert [one for _, _, one in phones.Phones(both).find("0212345678")] == ["33212345678"]
