"""Names of thirty scripts and spellings in each form that people write are hidden, and nothing beside them."""

from __future__ import annotations

import itertools
import unicodedata

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
from dataprep.core.model import batch as B
from dataprep.messages.names.matching import spellings, words
from dataprep.messages.names.stage import Pseudonyms

NAMES = {
    "Latin": "Ilse Varga",
    "accents apart": unicodedata.normalize("NFD", "Zoë Müllner"),
    "three": "Nguyễn Thị Quỳnh",
    "Turkish": "İpek Şahin",
    "strokes": "Łukasz Wójcik",
    "Nordic": "Bjørn Ødegård",
    "sharp s": "Weiß Großmann",
    "Arabic": "زهرة العلوي",
    "vowel signs": "مُحَمَّدٌ الفاسِيّ",
    "Cyrillic": "Дмитрий Соколов",
    "yo": "Алёна Журавлёва",
    "Hindi": "प्रियंका शर्मा",
    "Bengali": "অনিন্দিতা চক্রবর্তী",
    "Tamil": "கார்த்திகா முருகன்",
    "Thai": "สมชาย ใจดี",
    "Japanese": "山田 太郎",
    "kana": "さくらこ",
    "half width": "ﾀﾛｳｽｹ",
    "Chinese": "王小明",
    "Korean": "김민수",
    "Korean apart": unicodedata.normalize("NFD", "박지현"),
    "Hebrew": "יעל כהנוביץ",
    "Greek": "Ελένη Παππά",
    "Armenian": "Արամ Պետրոսյան",
    "Georgian": "ნინო ბერიძე",
    "bold": "𝓚𝓪𝓻𝓲𝓶𝓪 𝓑𝓮𝓷𝓪𝓵𝓲𝔁",
    "wide": "Ｔｏｍｏｋｏ",
    "small capitals": "ᴀɴɪᴛᴀ ʙᴀʟᴋɪ",
    "Amharic": "አበበ ቢቂላ",
}
SHAPES = (
    "{first}", "{full}", "{FULL}", "{low}", "#{first}", "#{glued}", "{glued}", "@{glued}", "@{low}",
    "#Team{first}Rocks", "{dotted}@example.org",
    "{low}+work@example.org", "{first}'s", "({first})", "{last}, {first}", "{first}/{last}",
    "*{first}*", "_{first}_", "@@{first}", "{first}\n{last}", "{first}&{last}", "{first}99", "99{first}", "l'{first}",
    "https://example.org/in/{dotted}-8a1", "\u200f{first}\u200f", "@\u2068{full}\u2069", "{first}❤️", "{first}—{last}",
    "<b>{first}</b>", "{struck}", "{apart}", "{together}", "{first}_{last}", "name={first}", "{first}!!!",
)  # fmt: skip
CLITICS = {
    "Korean": "{0}는 {0}야 {0}이가 {0}씨 {0}님 {0}한테", "Korean apart": "{0}씨는", "Turkish": "{0}'in {0}’e",
    "Hebrew": "ל{0} ו{0} ש{0} של{0}", "Arabic": "و{0} ل{0} وب{0}", "Japanese": "{0}さん", "Chinese": "和{0}说",
    "Thai": "คุณ{0}ครับ", "strokes": "Lukasz Wojcik", "Nordic": "Bjorn Bjoern Odegard Oedegaard",
    "accents apart": "Muellner", "sharp s": "WEISS Weiss grossmann", "Latin": "ɪʟꜱᴇ ⒤⒧⒮⒠ ＩＬＳＥ 𝕴𝖑𝖘𝖊",
}  # fmt: skip


def forms(which: str, name: str) -> list[str]:
    """The name in every shape."""
    first, *_, last = name.split() if " " in name else (name, name)
    parts = {
        "first": first, "last": last, "full": name, "FULL": name.upper(), "low": name.lower().replace(" ", "_"),
        "glued": "".join(name.split()), "dotted": ".".join(name.lower().split()),
        "struck": "".join(f"{c}\u0336" for c in first), "apart": unicodedata.normalize("NFD", name),
        "together": unicodedata.normalize("NFC", name),
    }  # fmt: skip
    return [*(shape.format(**parts) for shape in SHAPES), *CLITICS.get(which, "").format(first).split()]


def plain(text: str) -> str:
    """A text without case, accents and forms of letters, by the interpreter's own tables."""
    spelled = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(c for c in spelled if unicodedata.category(c) not in ("Mn", "Cf"))


def test_each_form_in_each_script_is_hidden(tmp_path):
    """1,000 messages: no word of a name is left, and the words before and after it are."""
    said = [(name, form) for which, name in NAMES.items() for form in forms(which, name)]
    texts = [f"qq {form} zz" for _, form in said]
    authors = list(itertools.islice(itertools.cycle(NAMES.values()), len(texts)))
    same = {"chat": pa.array(["Reading"] * len(texts)), "kind": pa.array(["text"] * len(texts))}
    columns = {"author": pa.array(authors), **same}
    batch = B.make(list(range(len(texts))), texts, "s", columns=columns)
    pq.write_table(pa.Table.from_batches([batch.select(["text", *columns])]), tmp_path / "in.parquet")
    docs = dp.read(str(tmp_path / "in.parquet"), columns=tuple(columns))
    out = (
        dp.Pipeline(Pseudonyms(pii=True, common_words=()))
        .run(docs, out=str(tmp_path / "out"))
        .table()["text"]
        .to_pylist()
    )
    assert len(texts) > 1000
    left = []
    for (name, form), text in zip(said, out, strict=True):
        found = {word for one in (name, *map(" ".join, spellings(name))) for word in plain(one).split()}
        is_hidden = "Person-" in text or "<email>" in text
        left += [(form, text)] * (not is_hidden or any(word in plain(text) for word in found))
    assert left == []
    assert all(text.startswith("qq ") and text.endswith(" zz") for text in out)


@pytest.mark.parametrize(
    ("author", "text"),
    [("김민수", "국김민수준 김민수정"), ("민수", "국민수준 민수정"), ("יעל", "מתיעל"), ("妈妈", "妈妈来了"),
     ("Łukasz", "lukaszek"), ("Weiß", "weisser"), ("엄마", "엄마가 와")],
)  # fmt: skip
def test_other_words_stay(tmp_path, author, text):
    """A Korean name inside a longer word, words that begin like a name, and words for relatives."""
    row = pa.table({"text": [text], "chat": ["a"], "author": [author], "kind": ["text"]})
    pq.write_table(row, tmp_path / "a.parquet")
    docs = dp.read(str(tmp_path / "a.parquet"), columns=("chat", "author", "kind"))
    assert dp.Pipeline(Pseudonyms()).run(docs, out=str(tmp_path / "out")).table()["text"].to_pylist() == [text]


def test_spellings():
    """Two letters for one, and the other way round; Korean composed and apart."""
    assert set(spellings("Weiß")) == {words("weiss"), ("weiß",)}
    assert set(spellings("Hess")) == {("hess",), ("heß",)}
    assert len(spellings("김민수")) == 2
    assert spellings("Ilse Varga") == (("ilse", "varga"),)
