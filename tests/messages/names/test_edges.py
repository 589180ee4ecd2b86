"""Values at limits: characters of each width, the fourth nearest name, words that no list has, what is shown."""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa
import pytest

import dataprep as dp
import laws
from dataprep.core.model import batch as B
from dataprep.core.model.ledger import Ledger
from dataprep.core.output.audit import BYTES, CELL, FRAGMENT, TEXT, Strings
from dataprep.errors import PlanError
from dataprep.messages.names import consent, finder, known, numbers, replace, stage, terms, unspaced, weighing
from dataprep.messages.names import kernel as K
from dataprep.messages.names.beside import without_parts
from dataprep.messages.names.consent import Consent
from dataprep.messages.names.finder import folded_letters
from dataprep.messages.names.glued import GluedNames
from dataprep.messages.names.known import KnownPeople
from dataprep.messages.names.matching import folded
from dataprep.messages.names.phones import Phones
from dataprep.messages.names.stage import Pseudonyms
from dataprep.messages.names.trie import build
from dataprep.messages.names.unspaced import UnspacedNames
from dataprep.pii.kinds import KINDS

KEY = b"a key of enough bytes"


BEFORE = ["", "\x7f", "\x80", "\u07ff", "\u0800", "\uffff", "\U00010000", "@", "\u200b@"]


@pytest.mark.parametrize("before", BEFORE, ids=ascii)
def test_places_of_names_count_bytes(before):
    """Behind characters of each width, in the second of three texts, with an @ and without."""
    texts = ["王小", f"{before}王\u200b小明 張偉", "x"]
    offsets, data = B.buffers(pa.array(["before", *texts], pa.large_string()).slice(1))
    found = UnspacedNames({"王小明": 4, "張偉": 2, "ilse": 0}).find(offsets, data)
    raw = bytes(data)
    assert [(row, raw[a:b].decode(), term) for row, a, b, term, _ in found.tolist()] == [
        (1, "王\u200b小明", 4), (1, "張偉", 2)
    ]  # fmt: skip
    assert found[:, 4].tolist() == [int(before.endswith("@")), 0]
    assert UnspacedNames({"ilse": 0}).find(offsets, data).shape == (0, 5)


@pytest.mark.parametrize("n", [1, 4, 5, 9])
@pytest.mark.parametrize("sign", ["", "\u200b"], ids=ascii)
def test_words_of_a_name_are_four_characters_apart(sign, n):
    """At most; signs that do not count are none."""
    offsets, data = B.buffers(pa.array([f"ask ilse{sign.join(' ' * n)}varga now"], pa.large_string()))
    found = K.find_names(offsets, data, folded(), *build(["ilse varga"]), folded_letters(""))
    assert len(found) == (n <= K.MAX_GAP)


def test_parts_of_longer_names_are_left_out():
    """Of rows that are inside of a longer one; not equal ones, nor those that only touch or overlap it."""
    longer = [(0, 10, 20), (0, 30, 34), (1, 50, 51)]
    hits = [(0, 9, 20), (0, 10, 19), (0, 10, 20), (0, 11, 20), (0, 15, 21), (0, 20, 22), (0, 31, 34), (1, 50, 51)]
    hits += [(1, 52, 53), (0, 2, 3)]
    made = [np.array([(*row, 0, 0) for row in rows], np.int64) for rows in (hits, longer[::-1])]
    kept = [tuple(row[:3]) for row in without_parts(*made).tolist()]
    assert kept == [hit for hit in hits if hit not in [(0, 10, 19), (0, 11, 20), (0, 31, 34)]]
    assert without_parts(made[0], made[1][:0]) is made[0]


def rows_of(folder, said, **columns):
    """A Dataset of (author, text) pairs in one chat."""
    rows = [{"text": text, "chat": "Tea party", "author": who, "kind": "text"} | columns for who, text in said]
    return laws.dataset_of(folder, rows, strings=("chat", "author", "kind"))


def test_the_three_nearest_names_are_shown(tmp_path):
    """Of four authors who share a word with a listed name, or whose numbers end alike."""
    people = ["Ilse Arn", "Ilse Bo", "Ilse Cee", "Ilse Dov"]
    people += ["+33 611112222", "+34 600012222", "+49 511112222", "+39 345672222"]
    assert consent._nearest("Ilse", people) == people[:3]
    assert consent._nearest("+1 2345552222", people) == people[4:7]
    assert consent._nearest("Bo Ilze", people) == ["Ilse Bo"]
    assert consent._nearest("Xaver", people) == []
    docs = rows_of(tmp_path, [(who, "hi") for who in people[:4]])
    says = "authors: 'Ilse'; the most similar authors are 'Ilse Arn', 'Ilse Bo', 'Ilse Cee';"
    with pytest.raises(PlanError, match=says):
        dp.Pipeline(Consent(refused=("Ilse",))).run(docs, out=str(tmp_path / "out"))


def test_at_most_ten_missing_names_are_shown(caplog):
    """And how many there are; without strict=, in a warning."""
    listed = tuple(f"Zed {k:02}" for k in range(12))
    with caplog.at_level(logging.WARNING):
        Consent(allowed=listed, strict=False).check(["Ilse"])
    assert "12 of 12 names given to Consent are not authors" in caplog.text
    assert "'Zed 09'" in caplog.text
    assert "'Zed 10'" not in caplog.text
    assert "write the names" not in caplog.text


@pytest.mark.parametrize(("name", "others", "found"), [
    ((), [("ilse",)], False), (("ilse",), [("ilse", "varga")], True), (("varga",), [("ilse", "varga")], True),
    (("ilse", "varga"), [("ilse",)], False), (("ilse", "varga"), [("jo", "ilse", "varga")], True),
    (("ilse", "varga"), [("varga", "ilse")], False), (("sol",), [], False),
])  # fmt: skip
def test_words_of_a_name_in_a_row(name, others, found):
    """At the beginning, inside, and at the end of another name."""
    assert consent._is_in(name, others) == found


def test_names_in_lists_are_stripped_and_sorted(tmp_path):
    """From a file with a byte order mark and blank lines as from a set."""
    (tmp_path / "names.txt").write_bytes("\ufeff Zed \r\n\r\nIlse\nZed\n".encode())
    for given in (str(tmp_path / "names.txt"), {"Zed ", "Ilse"}, ["Zed", "Ilse", ""]):
        assert consent.names_in("Consent", given) == ("Ilse", "Zed")
    with pytest.raises(PlanError, match="Consent has no names, since .*empty.txt is empty"):
        (tmp_path / "empty.txt").write_text(" \n")
        consent.names_in("Consent", str(tmp_path / "empty.txt"))


@pytest.mark.parametrize(("how", "found"), [
    (CELL, {"ab c", "jonathan", "jon", "a@b"}), (TEXT, {"ab c", "a@b"}), (FRAGMENT, {"ab c", "a@b"}),
    (BYTES, {"jonathan", "a@b"}),
])  # fmt: skip
def test_short_names_where_they_occur_by_chance(how, found):
    """Single names only in values; in bytes that are not text, no short name, but addresses."""
    people = KnownPeople(("Ab C", "Jonathan", "Jon", "a@b"))
    values = ["ab c \ufffd", "Jonathan", "x", "jon", "a@b"]
    hits = list(people(Strings("a column", how, values)))
    assert {hit.name for hit in hits} == found
    assert {(hit.row, hit.stays) for hit in hits if hit.name == "a@b"} == {(4, False)}


def test_known_numbers_between_letters_are_no_leak():
    """A letter right before or after the digits makes them part of something else."""
    people = KnownPeople(("+33 6 71 84 20 95",))
    inside, alone = ("a0671842095", "0671842095a", "é0671842095"), ("a 0671842095 b", "0671842095", "(0671842095)")
    found = list(people(Strings("a column", CELL, [*inside, *alone])))
    assert [hit.row for hit in found] == [3, 4, 5]


def test_personal_data_next_to_known_numbers():
    """A known number hides nothing of what follows it, with a name in the line and without."""
    phones = Phones(["33671842095"])
    for text in ("0671842095 a.b@example.org", "0671842095/+44 20 7946 0958", "Ilse 0671842095, 41.92.12.7"):
        offsets, data = B.buffers(pa.array([text], pa.large_string()))
        names = np.array([(0, 0, 4, 1)] if "Ilse" in text else np.zeros((0, 4)), np.int64).reshape(-1, 4)
        spans = numbers.with_numbers(offsets, data, names, (phones, {"33671842095": 0}), 2).tolist()
        assert [word for *_, word in spans][-2] == 0
        assert KINDS[spans[-1][3] - 2] in ("email", "phone", "ip")
        assert spans[-2][2] - spans[-2][1] == 10
        assert spans[-1][2] == len(text)


def test_stages_say_what_they_hide(tmp_path):
    """In words for people, with numbers and without names."""
    docs = rows_of(tmp_path, [("Ilse Varga", "hi Marek"), ("Marek Lund", "hi"), ("Teo", "Дмитрий")])
    made = Pseudonyms(key=KEY, mapping=str(tmp_path / "who"), consent=Consent(refused=("Teo",)))
    assert repr(made) == f"Pseudonyms(key {made.fingerprint}, mapping kept, Consent(refused=1 names))"
    assert repr(Pseudonyms()) == "Pseudonyms(key random)"
    fitted = made.fit(docs, dp.tools.Serial(), str(tmp_path / "out/steps/01"))
    assert repr(fitted) == "pseudonyms for 3 people"
    assert fitted.facts == {"people": 3, "chats": 1}
    assert (fitted.name, fitted.hides) == ("Pseudonyms", True)
    assert repr(Consent(allowed=("Ilse", "Teo"))) == "Consent(allowed=2 names)"
    assert fitted.secrets().names == ("Ilse Varga", "Marek Lund", "Tea party", "Teo")
    assert fitted.secrets().groups == {"Tea party"}


def test_columns_after_pseudonyms(tmp_path):
    """Chats are Chat-, authors Person-, also where a chat has the name of its only other person."""
    said = [("Ilse Varga", "Henrike Sol, hi"), ("Ilse Varga", "well")]
    rows = [{"text": text, "chat": "Henrike Sol", "author": who, "kind": "text"} for who, text in said]
    docs = laws.dataset_of(tmp_path, rows, strings=("chat", "author", "kind"))
    made = dp.Pipeline(Pseudonyms(key=KEY)).run(docs, out=str(tmp_path / "out")).table().to_pylist()
    for row in made:
        assert row["chat"] == row["source"]
        assert row["chat"].startswith("Chat-")
        assert row["author"].startswith("Person-")
    assert made[0]["text"].startswith("Person-")
    assert made[0]["author"] not in made[0]["text"]


@pytest.mark.parametrize(("meta", "keys", "left"), [
    ("{}", (), "{}"), ('{"edited":true,"a":1}', ("edited",), '{"edited":true}'), ('{"file":"x"}', (), '{"file":null}'),
    ('{"files":["x"],"a":2}', ("a",), '{"a":2,"file":null}'), ('{"file":"x"}', ("file",), '{"file":"x"}'),
])  # fmt: skip
def test_what_is_left_of_meta(meta, keys, left):
    """The keys that are asked for; that there was a file, but not its name."""
    assert replace._only(meta, keys) == left


def test_words_that_are_counted_for_a_dry_run():
    """Each word of a name; as an ordinary word only those of ASCII and of lists, if they are used so."""
    words = ["baker", "заринка", "rose", "мир", "ilse varga", "b2"]
    text = "a baker, заринка мир Rose ilse varga b2 baker"
    offsets, data = B.buffers(pa.array([text], pa.large_string()))
    raw, hits, at = text.encode(), [], 0
    for word in ("baker", "заринка", "мир", "Rose", "ilse varga", "b2", "baker"):
        at = raw.index(word.encode(), at)
        hits.append((0, at, at := at + len(word.encode()), words.index(word.casefold()), 0))
    book = Ledger("x")
    replace._count_words(offsets, data, np.array(hits, np.int64), words, book)
    counts = dict(book.record.counts)
    assert counts == {f"{replace.WORD}.{w}": n for w, n in (("baker", 2), ("заринка", 1), ("rose", 1), ("мир", 1))} | {
        f"{replace.ORDINARY}.{w}": n for w, n in (("baker", 2), ("мир", 1))
    }


def test_names_that_a_batch_has():
    """Authors with their chats, chats, mentions as WhatsApp writes them, and numbers after an @."""
    texts = ["@\u2068~ Zoé\u2069 @212612345678 x@212612345678 @21261234567", "@+447911123456.", None]
    rows = {"chat": ["a", None, "b"], "author": ["Ilse", None, "Teo"], "kind": ["text"] * 3}
    columns = {name: pa.array(values, pa.string()) for name, values in rows.items()}
    batch = B.make([0, 1, 2], [text or "" for text in texts], "s", columns=columns)
    assert stage.seen_in(batch) == {
        ("author", "a", "Ilse"), ("author", "b", "Teo"), ("chat", "a", "a"), ("chat", "b", "b"),
        ("mention", "a", "~ Zoé"), ("mention", "a", "+212612345678"), ("mention", "a", "+21261234567"),
        ("mention", "", "+447911123456"),
    }  # fmt: skip


def test_words_that_texts_keep():
    """Single words of chats and of people who did not write, unless they are of an author's name."""
    rows = [("chat", "", "Tea"), ("chat", "", "Circle Tea"), ("stated", "", "Zed"), ("whole", "", "Mia")]
    rows += [("more", "", "Ola")]
    assert terms.one_word(rows) == {"tea", "zed", "mia"}
    assert terms.one_word([*rows, ("author", "a", "Zed Lund"), ("handle", "", "mia_92")]) == {"tea"}


@pytest.mark.parametrize(("text", "name", "unclear"), [("a Mi", 1, 0), ("a MI", 0, 1), ("a mi", 0, 0), ("Mi", 0, 1)])
def test_uses_of_the_last_letters(text, name, unclear):
    """A word of two letters at the end of a text, which may be the last one."""
    for more in ([], [" x"], ["Xx"]):
        offsets, data = B.buffers(pa.array(["Mi ", text, *more], pa.large_string()))
        hits = np.array([(1, offsets[2] - 2, offsets[2], 0, 0)], np.int64)
        assert [int(one[0]) for one in weighing.uses_as_name(offsets, data, hits)] == [name, unclear]


@pytest.mark.parametrize("letter", stage.PREFIXES + "xyz")
def test_each_prefix_is_kept(letter):
    """A name behind it is found, whatever the bits of the letter; behind another letter it is not."""
    texts = [letter + "zoe", "\u05d2zoe", 2 * letter + "zoe", 3 * letter + "zoe"]
    offsets, data = B.buffers(pa.array(texts, pa.large_string()))
    found = weighing.K.find_names(offsets, data, weighing.folded(), *weighing.build(["zoe"]), folded_letters(letter))
    assert found[:, 0].tolist() == [0, 2]
    assert [bytes(data[a:b]) for _, a, b, _, _ in found.tolist()] == [b"zoe"] * 2


@pytest.mark.parametrize(("token", "n"), [
    ("#xtom_y", 1), ("#xtom\U0001f602", 1), ("#xtom", 1), ("#xtoma", 0), ("#xtom-y", 1), ("#xtom~", 1), ("#xTomA", 1),
    ("#xtom1", 1), ("#tomax", 1), ("#xilsey", 1), ("@xtom y", 1), ("xtom@y", 1), ("#x tom", 0), ("#ytom/xtom", 2),
])  # fmt: skip
def test_short_names_at_an_end_of_a_word_in_a_token(token, n):
    """Of three letters at an end of a word, and of four anywhere."""
    names = ["tom", "ilse"]
    search = GluedNames(names, weighing.build(names), {"tom": 0, "ilse": 1})
    assert len(search.find(*B.buffers(pa.array(["", token], pa.large_string())))) == n


@pytest.mark.parametrize(("name", "is_group", "is_korean", "folded"), [
    ("Tea", 0, 0, ("tea",)), ("Beans Club", 1, 0, ("beans", "club")), ("will May", 0, 0, ("will", "may")),
    ("2023 24", 0, 0, ("2023", "24")), ("2024 Club", 1, 0, ("2024", "club")), ("김민수", 0, 1, None),
    ("김", 0, 0, None), ("김a", 0, 0, None), ("Zoé O'Brien", 1, 0, ("zoe", "o", "brien")),
    ("ＺＯÉ 🌻", 0, 0, ("zoe",)), ("", 0, 0, ()),
])  # fmt: skip
def test_kinds_of_names(name, is_group, is_korean, folded):
    """Names of groups that are searched for, Korean names, and the words that the audit compares."""
    assert (terms.is_group_name(name), unspaced.is_hangul(name)) == (is_group, is_korean)
    assert folded is None or known.parts(name) == folded


@pytest.mark.parametrize(("term", "is_sure"), [("tom", 1), ("jo", 0), ("tom lund", 0), ("1234", 0), ("t0m", 1)])
def test_terms_that_are_sure_to_be_names(term, is_sure):
    """One word of three letters, not all digits."""
    assert finder._is_sure(term) == is_sure
