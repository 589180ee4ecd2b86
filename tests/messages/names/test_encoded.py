"""Names and numbers in code, letter by letter or behind a count: hidden, and found by the audit."""

from __future__ import annotations

import html
import json
import re
from urllib.parse import quote

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.core.output.audit import CELL, Strings
from dataprep.errors import Leak
from dataprep.messages.names.encoded import decoded, plain
from dataprep.messages.names.known import KnownPeople
from dataprep.messages.names.stage import Pseudonyms

PEOPLE = ("Ilsebill Varga", "Заринка Мельчукова", "高梨 美咲子", "+49 176 4441 0293")
MAIL = "ilsebill.v@post.example.org"
CODED = [
    "see https://x.org/" + quote(PEOPLE[1]), quote(PEOPLE[2], safe="") + "?x", "%49%6C%73%65bill", "&#x417;аринка",
    "&#1047;аринка Мельчукова &amp;", json.dumps(PEOPLE[2]), json.dumps("Заринка!"), "\U0001f600 %D0%97аринка",
    "%2B4917644410293", "+49&#32;176 4441 0293", "I l s e b i l l, hi", "I.l.s.e.b.i.l.l", "и i-l-s-e-b-i-l-l",
    "2xIlsebill", "I l s e b i l l V a r g a",
]  # fmt: skip
AUDITED = [
    *CODED[:2], "%49%6C%73%65bill Varga", "Ilsebill&nbsp;Varga", "Ilsebill%20Varga", *CODED[4:6], *CODED[8:10],
    "%2530 " + quote(quote(PEOPLE[1])),
]  # fmt: skip
NOT_CODED = [
    "100% sure & ok &amp; x", "a b c d e", "i l s e", "%C3%A9t%C3%A9 %zz %FF", "2x4 3xyz", "&nope; \\u12", "\\ud83d x",
]  # fmt: skip


def hidden(folder, texts, **given):
    """The texts after Pseudonyms."""
    rows = [{"text": x, "chat": "c", "author": PEOPLE[k % 4], "kind": "text"} for k, x in enumerate([*texts, *"abcd"])]
    docs = laws.dataset_of(folder, rows, strings=("chat", "author", "kind"))
    done = dp.Pipeline(Pseudonyms(key=b"0123456789abcdef", **given)).run(docs, out=str(folder / "out"))
    return done.table()["text"].to_pylist()[: len(texts)]


def test_coded_names_are_hidden(tmp_path) -> None:
    """Names and known numbers; what is around them, and what only looks like a code, stays."""
    texts = hidden(tmp_path, [*CODED, *NOT_CODED, "и https://x.org/?a=%D0%97аринка&b=%20"])
    for before, after in zip(CODED, texts, strict=False):
        assert "Person-" in after, before
        assert not re.search("ilse|varga|заринк|高梨|4441", plain(html.unescape(after)).casefold()), before
    assert texts[len(CODED) : -1] == NOT_CODED
    assert re.fullmatch(r"и https://x\.org/\?a=Person-[a-z]+&b=%20", texts[-1])


def test_coded_addresses_are_hidden(tmp_path) -> None:
    """With pii=True, addresses with a full-width or a coded at sign."""
    written = [f"to {MAIL.replace('@', sign)} now" for sign in ("@", "\uff20", "%40", "&#64;")]
    assert hidden(tmp_path, written, pii=True) == ["to <email> now"] * 4


@pytest.mark.parametrize("text", AUDITED)
def test_the_audit_reads_codes(text) -> None:
    """In any value, with its row."""
    found = list(KnownPeople(PEOPLE)(Strings("column text", CELL, ["x &amp;", "%41", f"{text}"])))
    assert found
    assert {one.row for one in found} == {2}


def test_the_audit_reads_over_lines() -> None:
    """A full name is found over a line break, unless all its words are common, or it is a group's."""
    names, groups = (*PEOPLE, "Will May", "Tea Circle"), frozenset(("Tea Circle",))
    people = KnownPeople(names, stay=frozenset(("will", "may")), groups=groups)
    texts = ["x Ilsebill\nVarga", "if I will\nmay be", "Ilsebill\r\nVarga", "Will May", "tea\ncircle", "Tea Circle"]
    found = people(Strings("column text", CELL, texts))
    assert sorted(one.row for one in found if " " in one.name) == [0, 2, 3, 5]


def test_a_coded_leak_stops_the_run(tmp_path) -> None:
    """A name that a later stage brings back in code."""
    rows = [{"text": "hi", "chat": "c", "author": "Ilsebill Varga", "kind": "text"}]
    docs = laws.dataset_of(tmp_path, rows, parts=1, strings=("chat", "author", "kind"))
    leak = dp.Map(_coded, adds={"more": pa.string()})
    with pytest.raises(Leak, match="ilsebill varga"):
        dp.Pipeline(Pseudonyms(), leak).run(docs, out=str(tmp_path / "out"))


def _coded(text: str) -> dict[str, str]:
    return {"more": f"{text} %49lsebill&nbsp;Varga"}


@given(st.text(alphabet="%0aDZ9&#;u\\xX \uff20é.b_\U0001f600", max_size=40))
def test_decoded_characters_stand_for_what_is_written(text) -> None:
    """Their spans are in order, without holes; what is not decoded is as written."""
    read = decoded(text)
    if read is None:
        return
    assert len(read.text) == len(read.starts) == len(read.ends) == len(read.coded)
    assert read.starts[0] == 0
    assert read.ends[-1] == len(text)
    assert read.starts[1:] == read.ends[:-1]
    for char, start, end, is_coded in zip(read.text, read.starts, read.ends, read.coded, strict=True):
        assert is_coded or text[start:end] == char
