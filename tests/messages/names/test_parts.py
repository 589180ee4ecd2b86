"""Single functions of names against plain twins and tables; and results of other parameters, which are made again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.core.model import batch as B
from dataprep.errors import PlanError
from dataprep.messages.names import numbers, phones, weighing
from dataprep.messages.names.consent import Consent
from dataprep.messages.names.finder import Finder, folded_letters
from dataprep.messages.names.handles import with_accounts
from dataprep.messages.names.matching import folded
from dataprep.messages.names.pseudonyms import People
from dataprep.messages.names.stage import Pseudonyms
from dataprep.messages.names.terms import AUTHOR, CHAT, HANDLE, MENTION, STATED, terms_in
from dataprep.messages.people.identities import Identities

KEY = b"a key of enough bytes"
ROWS = [("Ilse", "hello Marek"), ("Marek", "hello ilse, and Zed"), ("Sara", "a text of Sara")]


def docs_of(folder, rows=ROWS):
    """Messages of three people in one chat."""
    data = [{"text": text, "chat": "a", "author": who, "kind": "text"} for who, text in rows]
    return laws.dataset_of(folder, data, strings=("chat", "author", "kind"))


OTHERS = {
    "key": {"key": KEY + b"!"}, "consent": {"consent": Consent(refused=("Marek",))},
    "people": {"people": Identities((("Ilse", "Sara"),))}, "no prefixes": {"prefixes": ""},
}  # fmt: skip


@pytest.mark.parametrize("other", OTHERS)
def test_another_parameter_is_another_result_in_the_same_folder(tmp_path, other):
    """Shards of the parameters before are not served."""
    docs, first = docs_of(tmp_path / "in"), {"key": KEY, "consent": Consent(refused=("Ilse",))}
    before = dp.Pipeline(Pseudonyms(**first)).run(docs, out=str(tmp_path / "out")).table().to_pylist()
    changed = dp.Pipeline(Pseudonyms(**first | OTHERS[other]))
    after = changed.run(docs, out=str(tmp_path / "out"), replace=True).table().to_pylist()
    assert (after != before) == (other != "no prefixes")


def test_another_consent_of_the_same_size_is_made_again(tmp_path):
    """By itself; the person who was refused before is there, the other one is not."""
    docs = docs_of(tmp_path / "in", [(who, "a text") for who, _ in ROWS])
    for refused, left in (("Ilse", ["Marek", "Sara"]), ("Marek", ["Ilse", "Sara"])):
        made = dp.Pipeline(Consent(refused=(refused,))).run(docs, out=str(tmp_path / "out"), replace=True)
        assert made.table()["author"].to_pylist() == left
    made = dp.Pipeline(Consent(allowed=("Marek",))).run(docs, out=str(tmp_path / "out"), replace=True)
    assert made.table()["author"].to_pylist() == ["Marek"]


spans = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), max_size=8)


@settings(max_examples=40)
@given(found=spans, names=spans)
def test_spans_that_overlap_are_one(found, names):
    """The joined range covers all of them, and has the word of the longest; of equal ones, of the first."""
    found = [(start // 10, start, start + n, 50 + k) for k, (start, n) in enumerate(found)]
    named, last = [], 0
    for k, (start, n) in enumerate(sorted(names)):
        if start >= last:
            named.append((start // 10, start, last := start + n, k))
    expected = []
    for span in sorted([*named, *found], key=lambda s: (s[1], -s[2])):
        if expected and span[1] < max(s[2] for s in expected[-1]):
            expected[-1].append(span)
        else:
            expected.append([span])
    wanted = [(g[0][0], g[0][1], max(s[2] for s in g), max(g, key=lambda s: s[2] - s[1])[3]) for g in expected]
    made = numbers.united(np.array(named, np.int64).reshape(-1, 4), found)
    assert list(map(tuple, made.tolist())) == wanted


TERMS = [  # kind, name, the terms that count anywhere, those that count only after an @
    (AUTHOR, "Ilse Varga", {"ilse varga", "ilsevarga", "vargailse", "ilse", "varga"}, set()),
    (AUTHOR, "Jo Will", {"jo will", "jowill", "willjo"}, {"jo", "will"}),
    (AUTHOR, "Ed", set(), {"ed"}),
    (MENTION, "ماريك الفاسي", {"ماريك الفاسي", "ماريكالفاسي", "الفاسيماريك", "ماريك", "الفاسي", "لفاسي"}, set()),
    (AUTHOR, "الا", {"الا"}, set()),
    (AUTHOR, "الاب", {"الاب", "لاب"}, set()),
    (AUTHOR, "ال ب", {"ال ب"}, {"ال"}),
    (AUTHOR, "+212 6 11 22 33 44", {"212 6 11 22 33 44", "212611223344"}, set()),
    (AUTHOR, "123 456", set(), set()), (AUTHOR, "123 4567", {"123 4567", "1234567"}, set()),
    (HANDLE, "moon_varga", {"moon varga", "moonvarga", "vargamoon"}, set()), (HANDLE, "will_i", {"will i"}, set()),
    (HANDLE, "willi", set(), {"willi"}), (HANDLE, "willib", {"willib"}, set()),
    (HANDLE, "user1234567", {"user1234567", "1234567"}, set()),
    (STATED, "Orsolya", set(), {"orsolya"}),
    (STATED, "Orsolya Quist", {"orsolya quist", "orsolyaquist", "quistorsolya"}, set()),
    (CHAT, "Tea", set(), {"tea"}), (AUTHOR, "R Delta", {"r delta", "rdelta", "deltar", "delta"}, set()),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "anywhere", "mentioned"), TERMS)
def test_terms_of_each_kind(kind, name, anywhere, mentioned):
    """Words of authors, whole forms of accounts, a single word of others only after an @."""
    found = set(terms_in(kind, name, 3, frozenset({"will"})))
    assert found == {(term, False) for term in anywhere} | {(term, True) for term in mentioned}


def hits(text, terms, weak=(), prefixes=""):
    """The terms that a search finds in a text."""
    finder = Finder(sorted(terms), frozenset(weak), {})
    found = finder.hits(*B.buffers(pa.array([text], pa.large_string())), folded_letters(prefixes))
    return [finder.terms[row[3]] for row in found.tolist()]


@pytest.mark.parametrize(("text", "found"), [
    ("jo92 ilse92", ["ilse"]), ("#jo #ilse", ["jo", "ilse"]), ("#teamjo #teamilse", ["ilse"]), ("92jo", []),
    ("@jo_x @ilsex", ["jo", "ilse"]), ("jo ilse wilse", ["jo", "ilse"]), ("#teamnina", []), ("@nina", ["nina"]),
    ("", []), ("#teamTomParty #atomparty #atomParty", ["tom"]), ("#partyTom #Tomparty", ["tom", "tom"]),
])  # fmt: skip
def test_short_names_are_not_parts_of_tokens(text, found):
    """Two letters next to digits or in a hashtag are no name; nor is a word that counts only after an @."""
    assert hits(text, {"jo", "ilse", "nina", "tom"}, weak={"nina"}) == found


def test_names_of_one_account():
    """Names of two people of the file make neither one, nor do they get a third name; new names follow the author's."""
    known = Identities((("Ilse", "Elsie"), ("Marek",)), "people.toml", (3, 7))
    rows = [("stated", "discord 1", name) for name in ("Ilse", "Marek", "zed")]
    assert with_accounts(known, rows) == Identities(known.persons, "people.toml", (3, 7))
    new = [("handle", "discord 1", "amira"), ("stated", "discord 1", "Zoé"), ("author", "c", "Zoé")]
    found = with_accounts(known, new)
    assert found.persons == (*known.persons, ("Zoé", "amira"))
    assert found.lines == (3, 7, 0)
    twice = with_accounts(Identities(), [*new, ("handle", "telegram 5", "amira"), ("stated", "telegram 5", "A. Zed")])
    assert twice.persons == (("Zoé", "amira", "A. Zed"),)
    called = [("author", "c", "+33 612345678"), ("stated", "", "0033612345678"), ("author", "c", "0612345678")]
    assert with_accounts(Identities(), called).persons == (("+33 612345678", "0033612345678"),)


@pytest.mark.parametrize(("digits", "is_code"), [
    ("33", True), ("330", True), ("331", False), ("7", True), ("78", True), ("36", True), ("3606", True),
    ("360", True), ("361", False), ("", False), ("0", False), ("21", False), ("212", True), ("2120", True),
])  # fmt: skip
def test_country_codes(digits, is_code):
    """A code by itself, or with what is dialled inside its country."""
    assert phones._is_code(digits) == is_code


FOUND = [  # a known number, a text, what is found of it
    ("918 405 27 63", "so 89184052763!", "89184052763"), ("918 405 27 63", "so 19184052763!", "19184052763"),
    ("918 405 27 63", "so 29184052763!", None), ("91 840 52 76", "806 91840527", None),
    ("918 405 276", "80918405276", "80918405276"), ("918 405 276", "06918405276", "06918405276"),
    ("0671842095", "5 33671842095", "33671842095"), ("0671842095", "533671842095", None),
    ("0671842095", "+33 671842095", "+33 671842095"), ("0671842095", "+33 5 671842095", "671842095"),
    ("0671842095", "5 0671842095 6", "0671842095"), ("0671842095", "5 67-18-42-095, 6", "67-18-42-095"),
    ("0671842095", "(0671) 842095", "(0671) 842095"), ("0671842095", "(0671842095", "0671842095"),
    ("0671842095", "a 0671842095 0671842095", "0671842095"), ("1842095", "18,42,095", None),
    ("1842095", "18 42 095", "18 42 095"), ("18420951", "18,42,0951", "18,42,0951"), ("123456", "123456", None),
    ("+33671842095", "+34671842095", None), ("+33671842095", "0033 671842095", "0033 671842095"),
]  # fmt: skip


@pytest.mark.parametrize(("known", "text", "found"), FOUND)
def test_where_a_known_number_begins(known, text, found):
    """With what is dialled before it, and no digit of another number."""
    hits = list(phones.Phones([digits] if (digits := phones.phone(known)) else ["123456"]).find(text))
    assert [text[a:b] for a, b, _ in hits[:1]] == ([] if found is None else [found])
    assert len(hits) == (text.count(found) if found else 0)


USES = [  # a text with one word "rose", or "Rose": used as a name, unclear, else a word
    ("a rose", False, False), ("a Rose", True, False), ("Rose", False, True), ("rose", False, False),
    ("so. Rose", False, True), ("so.\nRose", False, True), ("a ROSE", False, True), ("@rose", True, False),
    ("ya rose", True, False), ("Ya ROSE", True, False), ("aya rose", True, False), ("y rose", False, False),
    (" Rose", False, True), ("x\u2026 Rose", False, True), ("so: Rose", False, True), ("a\u0627 Rose", True, False),
    ("يا rose", True, False), ("a, Rose", True, False), ("ya, rose", False, False),
]  # fmt: skip


@pytest.mark.parametrize("text", [text for text, _, _ in USES])
def test_uses_of_a_word(text):
    """In any place among other texts; what is before a text does not count."""
    trie = weighing.build(["rose"])
    for texts in ([text], ["ya", text, "."], ["@", text], [""] * 3 + [text, "E"]):
        offsets, data = B.buffers(pa.array(texts, pa.large_string()))
        found = weighing.K.find_names(offsets, data, weighing.folded(), *trie, folded_letters(""))
        assert len(found) == 1
        name, unclear = weighing.uses_as_name(offsets, data, found)
        assert (bool(name[0]), bool(unclear[0])) == next(row[1:] for row in USES if row[0] == text), texts


WRONG = [
    ({"min_suffix_letters": 33}, "min_suffix_letters=33"),
    ({"min_suffix_letters": 1}, "min_suffix_letters=1"),
    ({"min_chars": 0}, "min_chars=0"),
    ({"pseudonym_format": ""}, "pseudonym_format="),
    ({"pseudonym_format": "Person"}, "must contain"),
    ({"pseudonym_format": "P-{}-2"}, "without digits"),
    ({"key": ""}, r"key=str\)"),
    ({"key": b"fifteen bytes.."}, "has 15 bytes"),
    ({"mapping": ""}, "mapping=''"),
    ({"min_suffix_letters": True}, "min_suffix_letters=True"),
    ({"detect_common_words": 1}, "detect_common_words=1"),
    ({"redact_kinds": None}, "redact_kinds=None"),
    ({"keep_meta": (1,)}, "keep_meta="),
]


@pytest.mark.parametrize(("wrong", "says"), WRONG)
def test_values_beyond_the_limits(wrong, says):
    """Refused; the limits themselves are not."""
    with pytest.raises(PlanError, match=says):
        Pseudonyms(**{"key": KEY} | wrong)
    for digits in (2, 32):
        assert Pseudonyms(key=64 * b"k").secret == 64 * b"k" != Pseudonyms(key=65 * b"k").secret
        assert Pseudonyms(
            key=b"of sixteen bytes", min_suffix_letters=digits, min_chars=1, common_words=["will"]
        ).common_words == ("will",)


def test_numbers_with_a_zero_too_much():
    """After the country's code a 0 does not count, but in Italy it is a digit of the number."""
    assert phones.same_number("+33 06 71 84 20 95", "+33 6 71 84 20 95")
    assert phones.same_number("+33 06 71 84 20 95", "06 71 84 20 95")
    assert not phones.same_number("+39 06 4817 2950", "+39 6 4817 2950")


def test_who_gives_a_chat_its_name():
    """In a chat of one author it is the other person, of two it may be one, of more nobody; no author has no row."""
    seen = {(CHAT, chat, chat) for chat in ("Zed", "Two", "Many", "Ilse")}
    seen |= {(AUTHOR, "Zed", "Ilse"), (AUTHOR, "Ilse", "Ilse"), (AUTHOR, "", "Nobody's")}
    seen |= {(AUTHOR, chat, who) for chat, n in (("Two", 2), ("Many", 3)) for who in ("Ilse", "Marek", "Sol")[:n]}
    people = People(seen)
    assert people.found() - seen == {(MENTION, "Zed", "Zed"), ("whole", "Two", "Two")}
    rows = people.table(KEY, "Person-{}", 4, frozenset()).to_pylist()
    assert {r["name"] for r in rows if r["kind"] == CHAT} == {"Zed", "Two", "Many", "Ilse"}
    pseudonym = {(r["kind"], r["name"]): r["pseudonym"] for r in rows}
    assert pseudonym[CHAT, "Ilse"].startswith("Chat-")
    assert pseudonym[AUTHOR, "Ilse"].startswith("Person-")


def test_a_message_without_a_chat_means_nobody_of_a_chat(tmp_path):
    """A name of several people is no one's there, though one of them is alone in each chat."""
    rows = [("Ilse Varga", "a", "x"), ("Ilse Sol", "b", "x"), ("Ilse Lund", "c", "x"), ("Teo", None, "ask Ilse")]
    data = {"author": [r[0] for r in rows], "chat": [r[1] for r in rows], "text": [r[2] for r in rows]}
    pq.write_table(pa.table({**data, "kind": ["text"] * len(rows)}), tmp_path / "in.parquet")
    docs = dp.read(str(tmp_path / "in.parquet"), columns=["author", "chat", "kind"])
    safe = dp.Pipeline(Pseudonyms(key=KEY)).run(docs, out=str(tmp_path / "out")).table().to_pylist()
    assert safe[3]["text"].startswith("ask Person-")
    assert safe[3]["text"][4:] not in {row["author"] for row in safe}


def test_a_shared_name_means_who_has_it_in_the_chat(tmp_path):
    """In each of two chats another person; others have names before and after it in the alphabet."""
    said = [("Ilse Varga", "a"), ("Ilse Sol", "b"), ("Ada Berg", "a"), ("Zed Lund", "b")]
    data = [{"text": "ask Ilse", "chat": chat, "author": who, "kind": "text"} for who, chat in said]
    docs = laws.dataset_of(tmp_path, data, strings=("chat", "author", "kind"))
    safe = dp.Pipeline(Pseudonyms(key=KEY)).run(docs, out=str(tmp_path / "out")).table().to_pylist()
    varga, sol = safe[0]["author"], safe[1]["author"]
    assert [row["text"] for row in safe] == [f"ask {who}" for who in (varga, sol, varga, sol)]


SKIPPED = ("\xad \u061c \u0640 \ufeff \u180b-\u180e \u200b-\u200f \u202a-\u202e \u2060-\u206f \ufe00-\ufe0f "
           "\u0300-\u036f \u0591-\u05c7 \u0610-\u061a \u064b-\u065f \u0670 \u06d6-\u06dc \u06df-\u06e4 \u06e7 \u06e8 "
           "\u06ea-\u06ed \u093c \u09bc \u0a3c \u0abc \u0b3c \u0bbc \u0c3c \u0cbc "
           "\u1ab0-\u1aff \u1dc0-\u1dff \u20d0-\u20ff \ufe20-\ufe2f")  # fmt: skip


def test_signs_that_do_not_count():
    """The first and last of each range are left out of names, and so is all between; their neighbours are not."""
    table, ranges = folded(), [one.split("-") for one in SKIPPED.split()]
    skipped = {c for one in ranges for c in range(ord(one[0]), ord(one[-1]) + 1)}
    assert set(np.flatnonzero(table == 0).tolist()) == skipped


@pytest.mark.parametrize(("letters", "same"), [
    ("Ａｚ９", "az9"), ("𝐀𝟿𝒵", "a9z"), ("⓪①⑳ⓩ", "01\u2473z"), ("🅐🅩🄰🅉", "azaz"), ("ᴀʙ", "ab"), ("ßẞ", "ßß"),
    ("ﻻﷺ", "\ufefb\ufdfa"),
    ("ÀéÑ", "aen"), ("Łøđħŧıİ", "lodhtii"), ("²₃", "23"), ("ǅ", "d"), ("\u0958", "\u0915"),
])  # fmt: skip
def test_letters_that_are_the_same(letters, same):
    """Fullwidth, mathematical, circled and small letters, strokes, accents and hamza seats; not what is several."""
    assert [int(k) for k in folded()[[ord(c) for c in letters]]] == list(map(ord, same))


def test_parts_without_messages(tmp_path):
    """More parts than messages, and no message at all."""
    for number, rows in enumerate((ROWS[:1], [])):
        data = [{"text": text, "chat": "a", "author": who, "kind": "text"} for who, text in rows]
        docs = laws.dataset_of(tmp_path / str(number), data, parts=3, strings=("chat", "author", "kind"))
        made = dp.Pipeline(Pseudonyms(key=KEY)).run(docs, out=str(tmp_path / f"out{number}"))
        assert made.count == len(rows)


def test_a_group_that_has_the_name_of_a_person(tmp_path):
    """In another spelling; the name means the person, the chat keeps a pseudonym of its own."""
    data = [{"text": f"ilse varga {n}", "chat": "Ilse-Varga", "author": who, "kind": "text"}
            for n, who in enumerate(("Ilse Varga", "Marek", "Sara"))]  # fmt: skip
    docs = laws.dataset_of(tmp_path, data, strings=("chat", "author", "kind"))
    made = dp.Pipeline(Pseudonyms(key=KEY)).run(docs, out=str(tmp_path / "out")).table().to_pylist()
    assert [row["text"].split()[0] for row in made] == [made[0]["author"]] * 3
    assert made[0]["chat"].startswith("Chat-")
