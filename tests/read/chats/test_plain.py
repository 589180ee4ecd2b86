"""Chats told by a format string: what was rendered comes back."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read.chats.plain import Chat, form_of
from dataprep.unicode.valid import is_utf8


def read_bytes(path, data: bytes, reader=None):
    """Rows of a file with these bytes, and its drops."""
    path.write_bytes(data)
    ledger = Ledger("read", source="s")
    rows = [r for b in (reader or Chat())(Slice(str(path), 0), ledger) for r in b.to_pylist()]
    return rows, ledger.drop_table().to_pylist()


LOG = """\
2024-05-03 09:12 - Ilse: hello
there: two lines

and a third
2024-05-03 09:13 - Tomas Orr: 9:13 - fine
2024-02-30 09:13 - Nobody: there is no such day
2024-05-03 9:14 - Ilse:
"""


def test_a_log(tmp_path) -> None:
    """Columns, ids, lines that continue, times that are none."""
    rows, drops = read_bytes(tmp_path / "tea.log", LOG.encode())
    assert [(r["author"], r["text"]) for r in rows] == [
        ("Ilse", "hello\nthere: two lines\n\nand a third"),
        ("Tomas Orr", "9:13 - fine\n2024-02-30 09:13 - Nobody: there is no such day"),
        ("Ilse", ""),
    ]
    assert [r["time"] for r in rows] == [datetime(2024, 5, 3, 9, m) for m in (12, 13, 14)]
    assert [r["id"] for r in rows] == [0, LOG.index("2024-05-03 09:13"), LOG.index("2024-05-03 9:14")]
    assert {(r["chat"], r["kind"], r["reply_to"], r["meta"]) for r in rows} == {("tea", "text", None, "{}")}
    assert drops == []


def test_in_dp_read(tmp_path) -> None:
    """format="chat" with line=."""
    (tmp_path / "a.txt").write_text("[3.5.24 9:12:30 PM] <Bee> hi {x}\n{y}\n")
    rows = dp.read(str(tmp_path), format="chat", line="[{time:%d.%m.%y %I:%M:%S %p}] <{author}> {text}").table()
    assert rows.select(["author", "text"]).to_pylist() == [{"author": "Bee", "text": "hi {x}\n{y}"}]
    assert rows["time"].to_pylist() == [datetime(2024, 5, 3, 21, 12, 30)]


@pytest.mark.parametrize(
    ("line", "first", "want"),
    [
        ("{time:%d %B %Y, %H.%M} {text}", "3 May 2024, 09.12 hi", (datetime(2024, 5, 3, 9, 12), None, "hi")),
        ("{time:%a %b %d %Y} | {author} | {text}", "Fri May 03 2024 | A | b", (datetime(2024, 5, 3), "A", "b")),
        (
            "{{{time:%Y%m%d %H%M.%f}}} {author}> {text}",
            "{20240503 0912.12} A> b",
            (datetime(2024, 5, 3, 9, 12), "A", "b"),
        ),
        ("{author} ({time:%d/%m/%Y}): {text}", "A (B) (03/05/2024): b", (datetime(2024, 5, 3), "A (B)", "b")),
        ("{time:%d/%m/%y %I:%M%p} {author}: {text}", "3/5/69 12:01\u202fa.m. A: b", None),
        ("{time:%d/%m/%y %I:%M %p} {text}", "3/5/69\u00a012:01\u202fa.m. b", (datetime(1969, 5, 3, 0, 1), None, "b")),
        ("{time:%Y-%m-%d 100%% %H:%M} {text}", "2024-05-03 100% 23:59 x", (datetime(2024, 5, 3, 23, 59), None, "x")),
        ("{time:%Y-%m-%d %H:%M} {text}", "2024-05-03 24:00 x", None),
    ],
)
def test_format_strings(tmp_path, line, first, want) -> None:
    """Directives, words for months, escaped braces, no-break spaces, an author in front of the time."""
    data = first.encode()
    if want is None:
        with pytest.raises(ReadError):
            read_bytes(tmp_path / "a.txt", data, Chat(line=line))
        return
    rows, _ = read_bytes(tmp_path / "a.txt", data, Chat(line=line))
    assert [(r["time"], r["author"], r["text"]) for r in rows] == [want]


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("{time:%Y-%m-%d} {name}: {text}", r"unknown field \{name\}"),
        ("{time:%Y-%m-%d} {text} {text}", r"\{text\} twice"),
        ("{author}: {text}", r"lacks \{time\}"),
        ("{time:%Y-%m-%d} {author}", r"lacks \{text\}"),
        ("no fields", r"lacks \{time\}"),
        ("{time:%Y-%m-%d} {text}.", r"does not end with \{text\}"),
        ("{time:%Y-%m-%d} {author}{text}", "nothing between"),
        ("{time:%H:%M} {text}", "has no date"),
        ("{time:%Y-%m-%d %Q} {text}", "unknown directive %Q"),
        ("{time:%Y %y-%m-%d} {text}", "one part of the time twice: %Y %y"),
        ("{time:%Y-%m-%d} {text", "is not a format string"),
    ],
)
def test_refused_format_strings(line, wrong) -> None:
    """One sentence says what is wrong."""
    with pytest.raises(PlanError, match=wrong):
        Chat(line=line)


def test_bad_input(tmp_path) -> None:
    """Not a chat; lines in front; bytes that are not UTF-8; too long; cut; CRLF and a byte order mark; nothing."""
    path = tmp_path / "a.txt"
    with pytest.raises(ReadError, match=r"no message begins with b'Dear diary'; the expected form is line='\{time:%Y"):
        read_bytes(path, b"Dear diary\ntoday\n")
    with pytest.raises(ReadError, match="contains no records"):
        read_bytes(path, b"\n\n")
    head = b"2024-05-03 09:12 - A: "
    rows, drops = read_bytes(
        path, b"log\n" + head + b"x\n" + head + b"\x81\n" + head + b"y\r\nz\r\n" + head + b"caf\xc3"
    )
    assert [r["text"] for r in rows] == ["x", "y\nz", "caf"]
    assert [(d["id"], d["reason"]) for d in drops] == [(0, "no_header"), (4 + len(head) + 2, "invalid_utf8")]
    long = b"\xef\xbb\xbf" + head + b"x\n" + b"y\n" * 99 + head + b"z"
    rows, drops = read_bytes(path, long, Chat(max_doc_bytes=90))
    assert [r["text"] for r in rows] == ["z"]
    assert [(d["id"], d["reason"]) for d in drops] == [(0, "too_long")]


def test_old_line_ends_and_old_encodings(tmp_path) -> None:
    """A file whose lines end in carriage returns only, and lines in Latin-1, are read; the latter are counted."""
    path = tmp_path / "a.txt"
    text = "2024-05-03 09:12 - José: où ça\nlà\n2024-05-03 09:13 - Bee: ok\n2024-05-03 09:14 - Bee: “ça”\n"
    wanted = [("José", "où ça\nlà"), ("Bee", "ok"), ("Bee", "“ça”")]
    for data in (text.encode(), text.encode("cp1252"), text.encode().replace("ça”".encode(), b"\xe7a\x94")):
        for one in (data, data.replace(b"\n", b"\r")):
            path.write_bytes(one)
            ledger = Ledger("read", source="s")
            rows = [r for b in Chat()(Slice(str(path), 0), ledger) for r in b.to_pylist()]
            if one.count(b"\xe7") == 1 and b"\xc3" in one:  # UTF-8 and Latin-1 in one line
                assert [r["text"] for r in rows] == ["où ça\nlà", "ok"]
                assert ledger.drop_table()["reason"].to_pylist() == ["invalid_utf8"]
            else:
                assert [(r["author"], r["text"]) for r in rows] == wanted
                n_old = sum(not is_utf8(line) for line in one.splitlines())
                assert ledger.record.counts["from_cp1252"] == n_old


LINES = (
    "{time:%Y-%m-%d %H:%M:%S} - {author}: {text}",
    "[{time:%d.%m.%Y, %H:%M:%S}] <{author}> {text}",
    "{time:%m/%d/%Y %I:%M:%S %p} | {author} | {text}",
    "{author} ({time:%d %b %Y %H:%M:%S}) {text}",
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r"), max_size=30)
MESSAGES = st.lists(
    st.tuples(
        st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)).map(lambda t: t.replace(microsecond=0)),
        st.text("abcdé 電-", min_size=1, max_size=12).map(str.strip).filter(bool),
        TEXTS.map(lambda t: t.strip("\n")),
    ),
    min_size=1,
    max_size=8,
)  # fmt: skip


@pytest.mark.parametrize("line", LINES)
@settings(max_examples=50)
@given(messages=MESSAGES)
def test_what_is_rendered_comes_back(tmp_path_factory, line, messages) -> None:
    """Any list of messages, in any form."""
    form = re.sub(r"\{time:([^}]*)\}", "{time}", line)
    directives = re.search(r"\{time:([^}]*)\}", line)[1]
    data = "\n".join(form.format(time=t.strftime(directives), author=a, text=s) for t, a, s in messages)
    if any(form_of(line).line.match(row) for _, _, s in messages for row in s.split("\n")[1:]):
        return
    rows, drops = read_bytes(tmp_path_factory.getbasetemp() / "any.txt", data.encode(), Chat(line=line))
    assert [(r["time"], r["author"], r["text"]) for r in rows] == messages
    assert not drops
