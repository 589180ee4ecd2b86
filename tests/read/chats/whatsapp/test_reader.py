"""WhatsApp exports: every message once, whole, with who, when and what kind."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import zipfile
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

import dataprep as dp
from dataprep import extend
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read import formats
from dataprep.read.chats.whatsapp.archives import chat_of
from dataprep.read.chats.whatsapp.dates import Survey
from dataprep.read.chats.whatsapp.headers import find_in
from dataprep.read.chats.whatsapp.reader import WhatsApp
from dataprep.read.formats import sniffed


def is_whatsapp(path) -> bool:
    found = sniffed(str(path))
    return found is not None and found.name == "whatsapp"


def read_text(folder, text: str, name="WhatsApp Chat with Bee.txt", **fields):
    """Rows of an export with this text, and the drop table."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    ledger = Ledger("read", source="s")
    return [
        r for b in WhatsApp(**fields)(Slice(str(path), 0), ledger) for r in b.to_pylist()
    ], ledger.drop_table().to_pylist()


ANDROID = """\
03/05/2024, 09:12 - Messages and calls are end-to-end encrypted. Tap to learn more.
03/05/2024, 09:12 - Ilse created group "Books: old and new"
03/05/2024, 09:13 - Ilse: two lines,
and the second: with a colon

and a third after a blank one
13/05/2024, 09:14 - Tomas Orr: <Media omitted>
13/05/2024, 09:15 - Tomas Orr: IMG-20240513-WA0001.jpg (file attached)
with a caption
13/05/2024, 09:16 - +1 234: This message was deleted
13/05/2024, 09:17 - Ilse: fine <This message was edited>
13/05/2024, 09:18 - Ilse added Greta
13/05/2024, 09:19 - Ilse: 99/99/2024, 10:00 - this is no date
99/99/2024, 10:00 - nor: this
13/05/2024, 24:00 - nor this
"""


def test_android(tmp_path) -> None:
    """Messages, their continuation lines, system lines and placeholders."""
    rows, drops = read_text(tmp_path, ANDROID)
    got = [(r["author"], r["kind"], r["text"]) for r in rows]
    assert got == [
        (None, "system", "Messages and calls are end-to-end encrypted. Tap to learn more."),
        (None, "system", 'Ilse created group "Books: old and new"'),
        ("Ilse", "text", "two lines,\nand the second: with a colon\n\nand a third after a blank one"),
        ("Tomas Orr", "file", "<Media omitted>"),
        ("Tomas Orr", "image", "IMG-20240513-WA0001.jpg (file attached)\nwith a caption"),
        ("+1 234", "deleted", "This message was deleted"),
        ("Ilse", "text", "fine"),
        (None, "system", "Ilse added Greta"),
        ("Ilse", "text", "\n".join(["99/99/2024, 10:00 - this is no date", *ANDROID.split("\n")[-3:-1]])),
    ]
    assert [str(r["time"]) for r in rows[::3]] == ["2024-05-03 09:12:00", "2024-05-13 09:14:00", "2024-05-13 09:17:00"]
    assert {r["chat"] for r in rows} == {"Bee"}
    starts = [m.start() for m in re.finditer(r"^\d\d/05/2024, [01]\d", ANDROID, re.MULTILINE)]
    assert [r["id"] for r in rows] == starts
    assert drops == []


IOS = (
    "\ufeff[3/18/24, 2:56:01\u202fPM] Bee: \u200eMessages and calls are end-to-end encrypted.\r\n"
    "[3/18/24, 2:57:02\u202fPM] ~\u202fUma: hello\r\nthere\r\n"
    "\u200e[3/18/24, 2:58:03\u202fPM] Uma: \u200eimage omitted\r\n"
    "\u200e[3/18/24, 2:59:03\u202fPM] Uma: plan.pdf \u2022 \u200e2 pages \u200edocument omitted\r\n"
    "\u200e[3/18/24, 3:00:03\u202fPM] Uma: \u200e<attached: 00000051-GIF-2024-03-18.mp4>\r\n"
    "[3/18/24, 3:01:00\u202fPM] Uma: \u200eUma changed the subject to \u201cx\u201d\r\n"
    "[3/18/24, 12:01:00\u202fAM] Uma: I said: image omitted, did I?\r\n"
)


def test_ios(tmp_path) -> None:
    """Brackets, no-break spaces, direction marks, carriage returns, and the mark that tells what WhatsApp wrote."""
    rows, _ = read_text(tmp_path, IOS, "_chat.txt")
    assert [(r["author"], r["kind"], r["text"]) for r in rows] == [
        (None, "system", "Messages and calls are end-to-end encrypted."),
        ("Uma", "text", "hello\nthere"),
        ("Uma", "image", "image omitted"),
        ("Uma", "file", "plan.pdf \u2022 \u200e2 pages \u200edocument omitted"),
        ("Uma", "gif", "<attached: 00000051-GIF-2024-03-18.mp4>"),
        (None, "system", "Uma changed the subject to \u201cx\u201d"),
        ("Uma", "text", "I said: image omitted, did I?"),
    ]
    assert [str(r["time"])[5:] for r in rows[-2:]] == ["03-18 15:01:00", "03-18 00:01:00"]


@pytest.mark.parametrize(
    ("dates", "want"),
    [
        (["1/2/24", "1/13/24"], ["2024-01-02", "2024-01-13"]),
        (["1/2/24", "13/2/24"], ["2024-02-01", "2024-02-13"]),
        (["05/03/2024", "06/03/2024"], ["2024-03-05", "2024-03-06"]),  # two digits: day first
        (["5/3/24", "5/4/24"], ["2024-05-03", "2024-05-04"]),  # one digit: as in the United States
        (["10/11/24", "11/10/24"], ["2024-10-11", "2024-11-10"]),  # the other way round time would go back
        (["2024-03-05", "2024-03-06"], ["2024-03-05", "2024-03-06"]),
        (["05.03.24", "06.03.24"], ["2024-03-05", "2024-03-06"]),
    ],
)
def test_day_and_month(tmp_path, dates, want) -> None:
    """The whole file tells which number is the day."""
    rows, _ = read_text(tmp_path, "".join(f"{d}, 10:00 - A: x\n" for d in dates))
    assert [str(r["time"].date()) for r in rows] == want


def test_day_and_month_by_hand(tmp_path) -> None:
    """date_order= decides where the file does not; an unknown one is refused."""
    text = "05/03/2024, 10:00 - A: x\n"
    for order, month in (("dmy", 3), ("mdy", 5)):
        assert read_text(tmp_path, text, date_order=order)[0][0]["time"].month == month
    assert read_text(tmp_path, "05/03/04, 10:00 - A: x\n", date_order="ymd")[0][0]["time"] == datetime(2005, 3, 4, 10)
    with pytest.raises(PlanError, match="date_order='iso'"):
        WhatsApp(date_order="iso")


def test_what_is_told_by_the_first_lines(tmp_path) -> None:
    """A `.txt` that begins like an export is one; diaries and other text are not; format= overrules."""
    path = tmp_path / "a.txt"
    for text, chat in (
        (ANDROID, True),
        (IOS, True),
        ("\n" + ANDROID, True),
        ("Dear diary\n" + ANDROID, False),
        ("03/05/2024, 09:12 - went home early\n", False),
        ("", False),
    ):
        path.write_text(text)
        assert is_whatsapp(path) is chat
    path.write_text(ANDROID)
    assert "author" in dp.read(str(path)).columns
    assert dp.read(str(path), format="text").count == 1


def test_names_of_chats() -> None:
    """The chat is named by the file, or by the folder of a `_chat.txt`."""
    assert chat_of("x/WhatsApp Chat with Bee & Co.txt") == "Bee & Co"
    assert chat_of("x/WhatsApp Chat - Bee/_chat.txt.gz") == "Bee"
    assert chat_of("x/bee.TXT") == "bee"


@dataclass(frozen=True)
class Rows(extend.Reader):
    """A reader of somebody else, without the columns of messages."""


def test_bad_input(tmp_path, monkeypatch) -> None:
    """Lines before the first message and messages that are not UTF-8 are dropped; a file without any is refused."""
    head = b"exported by hand\n"
    good = b"01/02/24, 10:00 - A: x\n"
    rows, drops = read_text(tmp_path, head + good + b"01/02/24, 10:01 - A: \x81\n" + good)
    assert [r["text"] for r in rows] == ["x", "x"]
    assert [(d["id"], d["reason"]) for d in drops] == [(0, "no_header"), (len(head + good), "invalid_utf8")]
    with pytest.raises(
        ReadError, match=r"Bee\.txt, byte 0: no line begins.*first line is 'one'; known forms are '03/05/2024"
    ):
        read_text(tmp_path, "one\ntwo\n")
    (tmp_path / "b.jsonl").write_text('{"text": "x"}\n')
    (tmp_path / "WhatsApp Chat with Bee.txt").write_bytes(good)
    (tmp_path / "c.rows").write_text("x")
    assert dp.read(str(tmp_path)).count == 2
    monkeypatch.setattr(formats, "FORMATS", dict(formats.FORMATS))
    extend.register("rows", Rows, suffixes=(".rows",))
    with pytest.raises(PlanError, match="whatsapp and rows files have different columns"):
        dp.read(str(tmp_path))


def ledger_of(path):
    """Rows of an export, and the counts of the reader."""
    ledger = Ledger("read", source="s")
    return [r for b in WhatsApp()(Slice(str(path), 0), ledger) for r in b.to_pylist()], ledger.record.counts


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("packing", ["txt", "gz", "zip"])
def test_line_ends(tmp_path, newline, packing) -> None:
    """Files of any line ends, packed or not, have the same messages; an old computer's has carriage returns only."""
    data = ANDROID.replace("\n", newline).encode()
    path = tmp_path / f"WhatsApp Chat with Bee.{packing if packing != 'gz' else 'txt.gz'}"
    if packing == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("_chat.txt", data)
    else:
        path.write_bytes(gzip.compress(data) if packing == "gz" else data)
    assert is_whatsapp(path)
    rows, _ = ledger_of(path)
    (tmp_path / "plain").mkdir()
    wanted, _ = read_text(tmp_path / "plain", ANDROID)
    assert [(r["author"], r["time"], r["kind"], r["text"]) for r in rows] == [
        (r["author"], r["time"], r["kind"], r["text"]) for r in wanted
    ]
    if newline == "\r":
        assert [r["id"] for r in rows] == [r["id"] for r in wanted]


@pytest.mark.parametrize("lines", ["all", "some"])
def test_latin1_is_converted_and_counted(tmp_path, caplog, lines) -> None:
    """Names and texts of messages in Latin-1 are read as such, also next to messages in UTF-8; the file says so."""
    said = [("José", "où ça ?"), ("José", "où ça ?\nlà-bas"), ("Zoë", "“naïve” café"), ("Bee", "ok")]
    text = [f"03/05/2024, 09:1{i} - {author}: {said}\n" for i, (author, said) in enumerate(said)]
    encodings = ["cp1252"] * 4 if lines == "all" else ["utf-8", "cp1252", "cp1252", "utf-8"]
    path = tmp_path / "WhatsApp Chat with Bee.txt"
    path.write_bytes(b"".join(line.encode(e) for line, e in zip(text, encodings, strict=True)))
    rows, counts = ledger_of(path)
    assert [(r["author"], r["text"]) for r in rows] == said
    assert counts["from_cp1252"] == (4 if lines == "all" else 3)
    assert "lines are cp1252, not UTF-8, and were converted" in caplog.text


UNKNOWN = {
    "georgian": "<მედია გამოტოვებულია>", "amharic": "<ሚዲያ አልተካተተም>", "swahili": "<Midia haijajumuishwa>",
    "quotes": "‹Média negyndirylan›", "marked": "\u200eສື່ຖືກລະເວັ້ນ", "marked latin": "\u200ebild weggloh",
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_placeholders_of_unknown_languages(tmp_path, name) -> None:
    """What several people send in the form of a placeholder is a file in any language; what one person types is not."""
    people = [("Ilse", UNKNOWN[name]), ("Tom", "hello"), ("Tom", UNKNOWN[name]), ("Ilse", "<grin>"), ("Ilse", "no")] * 3
    people += [("Tom", "I wrote " + UNKNOWN[name]), ("Tom", UNKNOWN[name] + "\nand more"), ("Tom", "<3>")]
    people += [("Ilse", "<3>"), ("Tom", "<3>"), ("Ilse", "<br>"), ("Tom", "<br>"), ("Tom", "end")]
    text = "".join(f"03/05/2024, 09:{i:02} - {who}: {said}\n" for i, (who, said) in enumerate(people))
    path = tmp_path / "WhatsApp Chat with Bee.txt"
    path.write_bytes(text.encode())
    rows, counts = ledger_of(path)
    assert [r["kind"] == "file" for r in rows] == [said == UNKNOWN[name] for _, said in people]
    assert counts["unknown_placeholders"] == 6


EDITED = {
    "russian": " <Сообщение изменено>", "finnish": " <Viestiä muokattiin>", "quotes": " ‹Redigerat meddelande›",
    "marked": "\u200e<edytowano>", "lines": "\nline <Η επεξεργασία έγινε>",
}  # fmt: skip


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("name", EDITED)
def test_edit_marks_of_unknown_languages(tmp_path, name, newline) -> None:
    """What several people's messages end with in angle brackets is an edit mark; tags and what one types stay."""
    mark = EDITED[name]
    said = [("Ilse", f"tea{mark}"), ("Tom", f"no{mark}"), ("Ilse", f"10{mark}"), ("Tom", "an <i>italic</i>")] * 2
    said += [("Ilse", "a <b>b</b>"), ("Ilse", "so <she said>"), ("Ilse", "no <she said>"), ("Ilse", "ha <she said>")]
    said += [("Tom", "1 <a href=x>"), ("Ilse", "2 <a href=x>"), ("Tom", "3 <a href=x>"), ("Tom", "end")]
    text = "".join(f"03/05/2024, 09:{i:02} - {who}: {one}\n" for i, (who, one) in enumerate(said))
    path = tmp_path / "WhatsApp Chat with Bee.txt"
    path.write_bytes(text.replace("\n", newline).encode())
    rows, _ = ledger_of(path)
    kept = mark.rpartition(" ")[0].rpartition("<")[0].rstrip() if name == "lines" else ""
    without = [one.replace(mark, kept) for _, one in said]
    assert [r["text"] for r in rows] == without
    assert [json.loads(r["meta"]) == {"edited": True} for r in rows] == [mark in one for _, one in said]


def test_dates_that_begin_with_a_year_of_two_digits(tmp_path) -> None:
    """Korean phones: the year in two digits, then month and day in one or two."""
    times = ["24. 5. 3. 오전 9:12", "24. 5. 13. 오후 9:12", "24. 12. 1. 오전 12:05"]
    for form in ("{} - {}: {}\n", "[{}] {}: {}\n"):
        rows, drops = read_text(tmp_path, "".join(form.format(t, "민준", "네") for t in times * 2))
        assert [f"{r['time']:%y%m%d %H:%M}" for r in rows[:3]] == ["240503 09:12", "240513 21:12", "241201 00:05"]
        assert (len(rows), drops) == (6, [])


def test_a_message_too_long(tmp_path) -> None:
    """A message of many lines that grows over max_doc_bytes is dropped whole."""
    text = "01/02/24, 10:00 - A: x\n" + "y\n" * 99 + "01/02/24, 10:01 - A: z\n"
    rows, drops = read_text(tmp_path, text, max_doc_bytes=90)
    assert [r["text"] for r in rows] == ["z"]
    assert [d["reason"] for d in drops] == ["too_long"]
    with pytest.raises(ReadError, match="its only record is bad; this is the first: too long"):
        read_text(tmp_path, "01/02/24, 10:00 - A: x\n" + "y\n" * 99, max_doc_bytes=90)


ANY_DATE = re.compile(r"^[\ufeff\u200e]*\[?\d{1,4}[./-]\d{1,2}[./-]\d{2,4},? \d{1,2}:\d\d", re.MULTILINE)


def test_scrambled_exports(shared) -> None:
    """Real exports with their words scrambled: nothing is lost and nothing glued together."""
    for path in sorted((shared / "chats" / "whatsapp" / "scrambled").glob("*.txt")):
        text = path.read_bytes().decode()
        rows = dp.read(str(path)).table().to_pylist()
        edges = [len(text[: m.start()].encode()) for m in ANY_DATE.finditer(text)]
        assert [r["id"] for r in rows] == edges, path.name
        data = path.read_bytes()
        for row, start, stop in zip(rows, edges, [*edges[1:], len(data)], strict=True):
            raw = data[start:stop].decode().replace("\r\n", "\n").rstrip("\r\n")
            assert raw.rstrip("\u200e").endswith(row["text"]), path.name
            head = raw[: len(raw) - len(row["text"])]
            assert not row["author"] or row["author"] in head
            assert row["kind"] == "system" or len(head) < 40 + len(row["author"] or "")
        steps = [b["time"] - a["time"] for a, b in itertools.pairwise(rows)]
        assert sum(s.total_seconds() < 0 for s in steps) <= max(2, len(rows) / 50), path.name


@pytest.mark.parametrize("name", ["english_android", "english_android_media", "english_ios", "english_ios_media"])
def test_one_chat_as_every_phone_exports_it(shared, name) -> None:
    """No placeholder of an English export is taken for what somebody wrote."""
    rows = dp.read(str(shared / "chats" / "whatsapp" / "languages" / f"{name}.txt")).table().to_pylist()
    written = [r["text"] for r in rows if r["kind"] == "text"]
    assert not [t for t in written if "omitted" in t or "attached" in t or "deleted" in t or "encrypted" in t]
    assert "Hello World" in written
    kinds = Counter(r["kind"] for r in rows)
    assert kinds["deleted"] == (8 if "android" in name else 2)
    assert kinds["location"] == (3 if "android" in name else 2)


def test_dates_that_others_test(shared) -> None:
    """The dates of other libraries' tests, day and month inferred."""
    cases = json.loads((shared / "chats" / "whatsapp" / "format_cases.json").read_text())
    assert len(cases) >= 19
    for case in cases:
        times = times_of(case["lines"])
        want = [t if case["seconds_significant"] else t[:-2] + "00" for t in case["expected_times"]]
        assert times == want, case["lines"]


def times_of(lines: list[str]) -> list[str]:
    """What the reader makes of these lines' dates."""
    found = find_in("\n".join(lines).encode())
    survey = Survey()
    survey.add(found, 0)
    seconds, _ = survey.plan().times(found, 0)
    return [(datetime(1970, 1, 1) + timedelta(seconds=int(t))).isoformat() for t in seconds]
