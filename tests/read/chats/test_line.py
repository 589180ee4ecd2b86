"""LINE's text exports, of phones and of desktops, in several languages."""

from __future__ import annotations

import logging
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read.chats.line.forms import date_of, timed
from dataprep.read.chats.line.reader import LineChat
from dataprep.read.chats.line.words import title_of

PHONE = '''\
[LINE] Chat history with Tea club
Saved on: 2024/01/16 10:30

2024/01/15(Mon)
10:30\tIlse\ttea?
10:31\tBob Lee\t[Sticker]
10:32\tIlse\t"one
10:33 two

""three"""
10:34\tBee joined the group.
10:35\t\tBob Lee unsent a message.
10:36\tIlse\t☎ Call time 1:23
10:37\tIlse\t"said" and done

2024/01/16(Tue)
0:05\tBob Lee\tnight\ttabs stay
'''


def read_text(path, text: str | bytes, **fields):
    """Rows of a file, its drops, and its ledger."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    ledger = Ledger("read", source="s")
    rows = [r for b in LineChat(**fields)(Slice(str(path), 0), ledger) for r in b.to_pylist()]
    return rows, ledger.drop_table().to_pylist(), ledger


def shown(rows):
    """What the tests compare."""
    return [(r["author"], r["kind"], r["text"]) for r in rows]


EXPECTED = [
    ("Ilse", "text", "tea?"),
    ("Bob Lee", "sticker", "[Sticker]"),
    ("Ilse", "text", 'one\n10:33 two\n\n"three"'),
    (None, "system", "Bee joined the group."),
    (None, "deleted", "Bob Lee unsent a message."),
    ("Ilse", "call", "☎ Call time 1:23"),
    ("Ilse", "text", '"said" and done'),
    ("Bob Lee", "text", "night\ttabs stay"),
]


@pytest.mark.parametrize("form", ["plain", "bom", "crlf", "returns"])
def test_a_phones_export(tmp_path, form) -> None:
    """Time, name and text between tabs; quotes of several lines, notices, calls; every line is accounted for."""
    data = {"plain": PHONE, "bom": "\ufeff" + PHONE, "crlf": PHONE.replace("\n", "\r\n"),
            "returns": PHONE.replace("\n", "\r")}[form]  # fmt: skip
    rows, drops, ledger = read_text(tmp_path / "a.txt", data)
    assert shown(rows) == EXPECTED
    assert not drops
    assert {r["chat"] for r in rows} == {"Tea club"}
    assert rows[0]["time"] == datetime(2024, 1, 15, 10, 30)
    assert rows[-1]["time"] == datetime(2024, 1, 16, 0, 5)
    assert (ledger.record.counts["line.dates"], ledger.record.counts["line.title"]) == (2, 2)


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("2024/01/15(Mon)", "2024-01-15"),
        ("2024. 1. 15. 월요일", "2024-01-15"),
        ("2024년1월15일월요일", "2024-01-15"),
        ("2024年1月15日月曜日", "2024-01-15"),
        ("2024. 1. 15. (월)", "2024-01-15"),
        ("2024.1.15월요일", None),
        ("2024/1/5(金)", "2024-01-05"),
        ("2024/01/05\uff08週五\uff09", "2024-01-05"),
        ("2024.01.05 Friday", "2024-01-05"),
        ("2024.01.05 星期五", "2024-01-05"),
        ("2024년 1월 5일 금요일", "2024-01-05"),
        ("2024年1月5日(金)", "2024-01-05"),
        ("ศ. 05/01/2567", "2024-01-05"),
        ("Fri, 05/01/2024", "2024-01-05"),
        ("Fr., 05.01.2024", "2024-01-05"),
        ("2024/01/05", "2024-01-05"),
        ("2024/13/05(Mon)", None),
        ("5/6/24", None),
        ("we meet 2024/01/05", None),
        ("10:30\tIlse\t2024/01/05", None),
    ],
)
def test_dates(line, day) -> None:
    """Lines that are a date, in the forms of several languages; lines that only contain one are none."""
    written = date_of(line)
    found = written.day("dmy") if written else None
    assert (found and str(datetime.fromordinal(found).date())) == day


@pytest.mark.parametrize(
    ("line", "minutes"),
    [
        ("10:30\tA\tx", 630), ("10:30 AM\tA\tx", 630), ("12:05AM\tA\tx", 5), ("4:05PM\tA\tx", 965),
        ("午後4:05\tA\tx", 965), ("上午12:05\tA\tx", 5), ("오후 4:05\tA\tx", 965), ("12:01 p.m.\tA\tx", 721),
        ("10:61\tA\tx", None), ("10:30", None), ("at 10:30\tA\tx", None),
    ],
)  # fmt: skip
def test_times(line, minutes) -> None:
    """Times of 12 and of 24 hours, with the words of several languages."""
    found = timed(line)
    assert (found and found.seconds // 60) == minutes


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("[LINE] Chat history with Ilse", "Ilse"), ("[LINE] 花子とのトーク履歴", "花子"),
        ("[LINE] 茶会のトーク履歴", "茶会"), ("[LINE] 與王小明的聊天記錄", "王小明"),
        ("[LINE]ประวัติการแชทกับ Ilse", "Ilse"), ("[LINE] Ilse님과의 대화", "Ilse"), ("[LINE]Ilse", "Ilse"),
        ("LINE Ilse", None),
    ],
)  # fmt: skip
def test_titles(line, title) -> None:
    """The chat's name in the first line, in several languages."""
    assert title_of(line) == title


def test_a_japanese_export(tmp_path) -> None:
    """Placeholders, a call, and a message taken back, in Japanese."""
    text = (
        "[LINE] 花子とのトーク履歴\n保存日時：2025/08/21 11:59\n\n2025/04/18(金)\n"
        '12:08\t花子\t"お疲れ様です！\nよろしく"\n午後1:09\t花子\t[写真]\n14:13\t太郎\t☎ 不在着信\n'
        "22:10\t花子がメッセージの送信を取り消しました\n"
    )
    rows, drops, _ = read_text(tmp_path / "a.txt", text)
    assert shown(rows) == [
        ("花子", "text", "お疲れ様です！\nよろしく"),
        ("花子", "image", "[写真]"),
        ("太郎", "call", "☎ 不在着信"),
        (None, "deleted", "花子がメッセージの送信を取り消しました"),
    ]
    assert rows[1]["time"] == datetime(2025, 4, 18, 13, 9)
    assert not drops


DESKTOP = """\
2024.01.05 Friday
09:15 Ilse Orr tea?
09:16 Bob yes please
and milk
09:17 Ilse Orr Photos
09:18 Ilse Orr at five then
09:19 Bob fine
09:20 Bob unsent a message.
09:21 Bee joined the group.
09:22 Ilse Orr Bob, bring cups
2024.01.06 Saturday
10:00 Bob Stickers
"""


def test_a_desktops_export(tmp_path) -> None:
    """Spaces between time, name and text: a name of two words is found, and the chat is named by the file."""
    rows, drops, _ = read_text(tmp_path / "[LINE]Tea club.txt", DESKTOP)
    assert shown(rows) == [
        ("Ilse Orr", "text", "tea?"),
        ("Bob", "text", "yes please\nand milk"),
        ("Ilse Orr", "image", "Photos"),
        ("Ilse Orr", "text", "at five then"),
        ("Bob", "text", "fine"),
        (None, "deleted", "Bob unsent a message."),
        (None, "system", "Bee joined the group."),
        ("Ilse Orr", "text", "Bob, bring cups"),
        ("Bob", "sticker", "Stickers"),
    ]
    assert {r["chat"] for r in rows} == {"Tea club"}
    assert not drops


def test_order_of_day_and_month(tmp_path, caplog) -> None:
    """It follows from the dates, from their days of the week, or from `date_order`; a guess is a warning."""

    def days(*written, **fields):
        text = "[LINE] Chat history with A\n" + "".join(f"\n{one}\n9:00AM\tA\thi\n" for one in written)
        return [str(r["time"].date()) for r in read_text(tmp_path / "a.txt", text, **fields)[0]]

    assert days("Wed, 11/19/2025", "Thu, 12/04/2025") == ["2025-11-19", "2025-12-04"]
    assert days("Sun, 02/03/2025") == ["2025-03-02"]
    assert days("Mon, 02/03/2025") == ["2025-02-03"]
    assert days("02/03/2025", "03/01/2025", "04/01/2025") == ["2025-02-03", "2025-03-01", "2025-04-01"]
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        assert days("05/05/2025") == ["2025-05-05"]
    assert "date_order" in caplog.text
    assert days("02/03/2025", date_order="mdy") == ["2025-02-03"]
    with pytest.raises(PlanError, match="must be one of"):
        LineChat(date_order="month")


def test_placeholders_of_other_languages(tmp_path) -> None:
    """A text in brackets that several people sent is a file; that of one person is text."""
    lines = "".join(f"1{n}:00\t{who}\t{text}\n" for n, (who, text) in enumerate(
        [("A", "[Stikerr]"), ("B", "[Stikerr]"), ("A", "[Stikerr]"), ("A", "[sigh]"), ("A", "[sigh]"), ("A", "[sigh]")]
    ))  # fmt: skip
    rows, _, _ = read_text(tmp_path / "a.txt", f"[LINE] x\n\n2024/01/15(Mon)\n{lines}")
    assert [r["kind"] for r in rows] == ["file"] * 3 + ["text"] * 3


def test_hostile_files(tmp_path) -> None:
    """A cut file, an open quote, a NUL, Latin-1, an over-long message, lines before any date, and no message at all."""
    cut = PHONE.encode()[: PHONE.index("three")]
    assert shown(read_text(tmp_path / "a.txt", cut)[0])[-1] == ("Ilse", "text", 'one\n10:33 two\n\n"')
    begins = "[LINE] x\n\n2024/01/15(Mon)\n"
    text = f'{begins}10:00\tA\t"open\n10:01\tB\tb\0b\n\n2024/01/16(Tue)\n1:00\tA\tc\n'
    rows, drops, _ = read_text(tmp_path / "a.txt", text)
    assert shown(rows) == [("A", "text", '"open'), ("B", "text", "b\0b"), ("A", "text", "c")]
    assert rows[-1]["time"] == datetime(2024, 1, 16, 1)
    rows, drops, ledger = read_text(tmp_path / "a.txt", begins.encode() + b"10:00\tA\tcaf\xe9\n10:01\tA\tx\n")
    assert shown(rows) == [("A", "text", "café"), ("A", "text", "x")]
    assert ledger.record.counts["from_cp1252"] == 1
    rows, drops, _ = read_text(tmp_path / "a.txt", f"{begins}10:00\tA\tx\n{'x' * 49}\n10:01\tA\ty\n", max_doc_bytes=50)
    assert (len(rows), [d["reason"] for d in drops]) == (1, ["too_long"])
    rows, drops, _ = read_text(tmp_path / "a.txt", "[LINE] x\n9:00\tA\tlost\n\n2024/01/15(Mon)\n10:00\tA\tb\n")
    assert (len(rows), [d["reason"] for d in drops]) == (1, ["no_header"])
    for empty in ("", "[LINE] x\nSaved on: 2024\n", "\n\n"):
        with pytest.raises(ReadError):
            read_text(tmp_path / "a.txt", empty)
    with pytest.raises(ReadError, match="expected form"):
        read_text(tmp_path / "a.txt", "".join(f"{n}:00 a log line\n" for n in range(20)))


@pytest.mark.parametrize(
    ("name", "text", "known"),
    [("a.txt", PHONE, True), ("a.txt", PHONE.partition("\n\n")[2], True), ("[LINE]a.txt", DESKTOP, True),
     ("a.txt", DESKTOP, False), ("[LINE]a.txt", "2024/01/15\nwe met at ten\n", False),
     ("a.txt", "2024.01.05 Friday\nnotes\n", False)],
    ids=["phone", "phone without title", "desktop", "diary", "date", "notes"],
)  # fmt: skip
def test_recognised_by_its_first_lines(tmp_path, name, text, known) -> None:
    """`dp.read` and `dp.chats.read` find the platform; a note or diary that begins with a date is not one."""
    (tmp_path / name).write_text(text)
    docs = dp.read(str(tmp_path))
    assert ("author" in docs.columns) == known
    if known:
        assert dp.chats.read(str(tmp_path)).num_rows == docs.table().num_rows


@given(st.lists(st.sampled_from(["10:00\tA\t", "9:59 B ", '"', "[LINE] x", "2024/01/15(Mon)", "\t", "", "é", "☎ "])))
@settings(max_examples=60, deadline=None)
def test_every_line_is_accounted_for(tmp_path_factory, parts) -> None:
    """Any mixture of lines is read or refused; each line is in a message, a date, the title, blank, or a drop."""
    lines = ["2024/01/15(Mon)", "8:00\tA\tx", *parts]
    try:
        rows, drops, ledger = read_text(tmp_path_factory.mktemp("l") / "a.txt", "\n".join(lines))
    except ReadError:
        return
    held = sum(len(r["text"].split("\n")) for r in rows)
    counts = ledger.record.counts
    blank = sum(not line.strip() for line in lines)
    assert held + counts["line.dates"] + counts["line.title"] + len(drops) + blank >= len(lines)
