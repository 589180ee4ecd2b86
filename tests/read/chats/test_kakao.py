"""KakaoTalk's text exports."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.read.chats.kakao import KakaoTalk

TITLE = "찻집 2 님과 카카오톡 대화\n저장한 날짜 : 2024-01-31 10:00:00\n\n"
ENGLISH = "KakaoTalk Chats with 찻집\nDate Saved : Jan 31, 2024 10:00 AM\n\n"
LEFT = "Ilse님이 나갔습니다.\n"
FORMS = {
    "windows": f"""{TITLE}--------------- 2024년 1월 15일 월요일 ---------------
[Ilse] [오전 9:05] 차?
9:06, x : y

[보람] [오후 12:07] 사진
{LEFT}--------------- 2024년 1월 16일 화요일 ---------------
[Ilse] [오전 12:01] 네
""",
    "windows_en": f"""{ENGLISH}--------------- Monday, January 15, 2024 ---------------
[Ilse] [9:05 AM] 차?
9:06, x : y

[보람] [12:07 PM] Photo
Ilse left this chatroom.
--------------- Tuesday, January 16, 2024 ---------------
[Ilse] [12:01 AM] 네
""",
    "android": f"""{TITLE}2024년 1월 15일 오전 9:05
2024년 1월 15일 오전 9:05, Ilse : 차?
9:06, x : y

2024년 1월 15일 오후 12:07, 보람 : 사진
2024년 1월 15일 오후 12:07: {LEFT}
2024년 1월 16일 오전 12:01
2024년 1월 16일 오전 12:01, Ilse : 네
""",
    "android_en": f"""{ENGLISH}January 15, 2024 9:05 AM
January 15, 2024 9:05 AM, Ilse : 차?
9:06, x : y

January 15, 2024 12:07 PM, 보람 : Photo
January 15, 2024 12:07 PM: Ilse left this chatroom.
Jan 16, 2024 at 12:01 AM, Ilse : 네
""",
    "iphone": f"""{TITLE}2024년 1월 15일 월요일
2024. 1. 15. 오전 9:05, Ilse : 차?
9:06, x : y

2024. 1. 15. 오후 12:07, 보람 : 사진
2024. 1. 15. 오후 12:07: {LEFT}2024. 1. 16. 오전 12:01, Ilse : 네
""",
    "timed": f"""{TITLE}2024년 1월 15일 월요일
오전 9:05, Ilse : 차?
[9:06] x : y

오후 12:07, 보람 : 사진
오후 12:07: {LEFT}
2024년 1월 16일 화요일
오전 12:01, Ilse : 네
""",
    "mac": """Date,User,Message
2024-01-15 09:05:00,"Ilse","차?
9:06, x : y"
2024-01-15 12:07:00,"보람","사진"
2024-01-16 00:01:00,"Ilse","네"
""",
}


def read_text(path, text: str, **fields):
    """(time, author, kind, text) of each message of a file, and its drops."""
    path.write_text(text, encoding="utf-8")
    ledger = Ledger("read", source="s")
    rows = [r for b in KakaoTalk(**fields)(Slice(str(path), 0), ledger) for r in b.to_pylist()]
    return [(r["time"], r["author"], r["kind"], r["text"]) for r in rows], ledger.drop_table().to_pylist()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_each_form(tmp_path, form, ends) -> None:
    """Times in halves of the day, texts of several lines, placeholders and notices; found by the first bytes."""
    noon = datetime(2024, 1, 15, 12, 7)
    name = "찻집.csv" if form == "mac" else "talk.txt"
    rows, drops = read_text(tmp_path / name, FORMS[form].replace("\n", ends))
    second = "[9:06] x : y" if form == "timed" else "9:06, x : y"
    assert rows[0] == (datetime(2024, 1, 15, 9, 5), "Ilse", "text", f"차?\n{second}")
    assert rows[1] == (noon, "보람", "image", "Photo" if form.endswith("en") else "사진")
    said = "Ilse left this chatroom." if form.endswith("en") else "Ilse님이 나갔습니다."
    assert rows[2:-1] == ([] if form == "mac" else [(noon, None, "system", said)])
    assert rows[-1] == (datetime(2024, 1, 16, 0, 1), "Ilse", "text", "네")
    assert not drops
    table = dp.chats.read(str(tmp_path / name))
    assert table.num_rows == len(rows)
    assert table["chat"][0].as_py() == "찻집"


def test_csv_and_files(tmp_path) -> None:
    """Quotes in quotes, names with commas; names of files; a CSV of others is none of KakaoTalk."""
    text = FORMS["mac"] + '2024-01-16 00:02:00,"Ilse ""I"", Varga","a ""b"" c"\n2024-01-16 00:03:00,Ilse,파일: a.pdf\n'
    rows, _ = read_text(tmp_path / "a.csv", text)
    assert [row[1:] for row in rows[-2:]] == [('Ilse "I", Varga', "text", 'a "b" c'), ("Ilse", "file", "파일: a.pdf")]
    (tmp_path / "a.csv").write_text("Date,User,Message\n1,2,3\n")
    (tmp_path / "b.txt").write_text("저장한 날짜 : 2024\nan old note\n")
    assert dp.read(str(tmp_path / "b.txt")).count == 1
    assert dp.read(str(tmp_path / "a.csv"), text="Message").table()["text"].to_pylist() == ["3"]


def test_hostile_lines(tmp_path) -> None:
    """Impossible times are text, lines before the first message are dropped, a long message is `too_long`."""
    odd = FORMS["windows"].replace("9:06, x : y", "[Bob] [오전 9:75] no\n[Bob] [x] no") + "a" * 500
    rows, drops = read_text(tmp_path / "a.txt", "odd\n" + odd, max_doc_bytes=400, max_bad=0.9)
    assert rows[0][3] == "차?\n[Bob] [오전 9:75] no\n[Bob] [x] no"
    assert [one["reason"] for one in drops] == ["no_header", "too_long"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([line for form in FORMS.values() for line in form.splitlines()]), max_size=25))
def test_any_order_of_lines(tmp_path_factory, lines) -> None:
    """No order of lines is an error, and no line is in two messages."""
    first = FORMS["windows"].splitlines()[:5]
    rows, drops = read_text(tmp_path_factory.getbasetemp() / "any.txt", "\n".join([*first, *lines]), max_bad=0.99)
    assert sum(text.count("\n") + 1 for *_, text in rows) + len(drops) <= len(first) + len(lines)
