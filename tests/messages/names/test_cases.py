"""Small tables of cases: accounts of exports, pseudonyms of shared words, and what a found name means in its chat."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from dataprep.core.run.runner import Serial
from dataprep.messages.names import handles, known, numbers, stage
from dataprep.messages.names.handles import with_accounts
from dataprep.messages.names.pseudonyms import People
from dataprep.messages.names.tables import NameTables
from dataprep.messages.names.terms import AUTHOR, HANDLE, SHARED, STATED
from dataprep.messages.people.identities import Identities
from dataprep.messages.people.stated import Stated
from dataprep.read.chats.discord import Discord
from dataprep.read.chats.whatsapp.reader import WhatsApp


def test_the_author_is_the_first_name_of_an_account():
    """Others follow in order of the alphabet, handles or not."""
    rows = [(HANDLE, "discord 1", "ab"), (STATED, "discord 1", "Ilse"), (STATED, "discord 1", "Cora")]
    assert with_accounts(Identities(()), rows).persons == (("Cora", "Ilse", "ab"),)
    assert with_accounts(Identities(()), [*rows, (AUTHOR, "tea", "Ilse")]).persons == (("Ilse", "Cora", "ab"),)


def test_files_that_are_not_read_state_nothing(monkeypatch):
    """Each of the others is read once, if it is of a platform whose exports state accounts."""
    asked = []
    monkeypatch.setattr(handles, "stated_by", lambda what: asked.append(what[0]) or Stated(others={f"of {what[0]}"}))
    monkeypatch.setattr(handles, "is_there", lambda _: True)
    slices = [SimpleNamespace(url=url, unread=unread) for url, unread in (("a", 0), ("b", 1), ("a", 0), ("c", 0))]
    parts = [SimpleNamespace(slices=slices, reader=reader) for reader in (Discord(), WhatsApp())]
    found = handles.stated_in(SimpleNamespace(parts=parts), Serial(), "names")
    assert found == {(STATED, "", "of a"), (STATED, "", "of c")}
    assert asked == ["a", "c"]


def test_a_part_without_messages_names_nobody(tmp_path):
    """Its table has no rows."""
    part = SimpleNamespace(batches=lambda _: iter(()))
    stage._CollectNames(str(tmp_path), "key").write(str(tmp_path / "names"), part)
    assert pq.read_table(tmp_path / "names").to_pylist() == []


def test_words_of_one_letter_that_two_people_share():
    """Have a pseudonym of their own, as longer ones have."""
    seen = {(AUTHOR, "tea", name) for name in ("金 Ilse", "金 Marek", "Cora Ilse")}
    table = People(seen).table(b"a key of enough bytes", "Person-{}", 4, frozenset()).to_pylist()
    assert {row["name"] for row in table if row["kind"] == SHARED} == {"ilse"}
    seen = {(AUTHOR, "tea", name) for name in ("Bo Ilse", "Bo Marek")}
    table = People(seen).table(b"a key of enough bytes", "Person-{}", 4, frozenset()).to_pylist()
    assert {row["name"] for row in table if row["kind"] == SHARED} == {"bo"}


def test_signs_belong_to_the_usual_form():
    """A form of the same name that is written as one word has none."""
    finder = known._finder(known.KnownPeople(("Beans & Leaves",), prefixes=""))
    signed = [finder.terms[n] for n in finder.signed.numbers]
    assert "beans leaves" in finder.terms
    assert signed == ["beans leaves"]


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(10, 14, 1), (12, 19, 2)], (10, 19, 2)),
        ([(10, 19, 1), (12, 18, 2)], (10, 19, 1)),
        ([(10, 14, 1), (12, 16, 2)], (10, 16, 1)),
        ([(10, 14, 1), (13, 18, 2), (17, 21, 3)], (10, 21, 2)),
        ([(10, 14, 1), (13, 18, 2), (17, 23, 3)], (10, 23, 3)),
    ],
)
def test_of_spans_that_overlap_the_longest_gives_the_word(spans, expected):
    """The first of the longest ones."""
    names = np.array([(0, *span) for span in spans], np.int64)
    assert numbers.united(names, []).tolist() == [[0, *expected]]


def test_a_shared_name_means_the_only_person_in_the_chat():
    """In other chats, and for other terms, it is the term's own."""
    tables = {
        "target": np.array([7, 8, 9]), "local": np.array([2, 4, 6]), "local_target": np.array([20, 11, 30]),
    }  # fmt: skip
    given = SimpleNamespace(**tables)
    hits = np.array([[row, 0, 0, term, 0] for row in range(3) for term in range(3)])
    chats = np.array([2, 0, 1])
    assert NameTables.meant(given, hits, chats).tolist() == [30, 8, 9, 7, 8, 20, 7, 11, 9]
