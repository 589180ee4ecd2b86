"""Names with signs between their words."""

from __future__ import annotations

import pytest

import dataprep as dp
from dataprep.messages.names.matching import signs_in
from dataprep.messages.names.signed import SignedNames

KEY = b"a key of enough bytes"
GROUPS = ("Vélo & Krel", "Crew & Zed \U0001f6b2", "Équipe Foot: 2024", "Krel | Zed (old)", "A\U0001f6b2Krel")


@pytest.mark.parametrize("group", GROUPS, ids=range(len(GROUPS)))
def test_the_name_of_a_group_with_signs(tmp_path, group):
    """It is hidden in texts, with its signs and without; a text with only one of the words is not changed."""
    said = [f"welcome to {group}!", f"{group.upper()} at nine", "the old crew", "foot, krel"]
    lines = [f"03/05/2024, 09:1{i} - {('Orsolya Quist', 'Tibor', 'Wendeline')[i % 3]}: {t}" for i, t in enumerate(said)]
    path = tmp_path / f"WhatsApp Chat with {group}.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    table = (
        dp.Pipeline(dp.chats.Pseudonyms(key=KEY, common_words=()))
        .run(dp.read(str(path)), out=str(tmp_path / "out"))
        .table()
    )
    chat, texts = table["chat"][0].as_py(), table["text"].to_pylist()
    assert texts[2:] == said[2:]
    for text in texts[:2]:
        assert chat in text
        assert not any(word in text.casefold() for word in ("krel", "crew", "quipe", "2024"))


def test_the_name_of_a_person_with_signs(tmp_path):
    """A full name in a list is one person; longer names that overlap a group's are still replaced."""
    lines = ["Quist, Orsolya: Quist, Orsolya and orsolya", "Zed Halvane: Crew & Zed Halvane or Crew & Zed", "Wen: ok"]
    path = tmp_path / "WhatsApp Chat with Crew & Zed.txt"
    path.write_text("".join(f"03/05/2024, 09:1{i} - {t}\n" for i, t in enumerate(lines)), encoding="utf-8")
    table = (
        dp.Pipeline(dp.chats.Pseudonyms(key=KEY)).run(dp.read(str(path)), out=str(tmp_path / "out")).table().to_pylist()
    )
    first, second = table[0]["author"], table[1]["author"]
    assert table[0]["text"] == f"{first} and {first}"
    assert table[1]["text"] == f"Crew & {second} or {table[1]['chat']}"


def test_a_name_that_ends_in_one_with_signs(tmp_path):
    """The person's longer name is replaced, and of the group's name what is left stays."""
    path = tmp_path / "WhatsApp Chat with Zed & Crew.txt"
    said = ("Halvane Zed: Halvane Zed & Crew or Zed & Crew", "Wen: ok", "Tibor: ok")
    path.write_text("".join(f"03/05/2024, 09:1{i} - {t}\n" for i, t in enumerate(said)), encoding="utf-8")
    first = dp.Pipeline(dp.chats.Pseudonyms(key=KEY)).run(dp.read(str(path)), out=str(tmp_path / "out")).take(1)[0]
    assert first["text"] == f"{first['author']} & Crew or {first['chat']}"


def test_signs():
    """Only signs between words, and only those that are no gap by themselves."""
    assert signs_in("(Vélo & Krel-Zed) \U0001f6b2") == {ord("&")}
    assert signs_in("Vélo Krel") == signs_in("") == signs_in("&") == frozenset()


def test_names_of_one_word_have_no_signs_between_words():
    """Those of several words are searched for, if they are terms."""
    signs = {name: frozenset(map(ord, "&")) for name in ("vélo krel", "zed", "crew zed")}
    made = SignedNames(signs, {"abel": 0, "zed": 1, "crew zed": 2})
    assert made.numbers.tolist() == [2]
