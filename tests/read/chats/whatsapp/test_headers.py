"""WhatsApp's headers: any form that a phone writes is read back, and what only looks like one stays text."""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twins.whatsapp_headers
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.read.chats.whatsapp import headers
from dataprep.read.chats.whatsapp import scan as S
from dataprep.read.chats.whatsapp.calendars import days_of
from dataprep.read.chats.whatsapp.headers import find_in, words
from dataprep.read.chats.whatsapp.reader import WhatsApp, _moved

DIGITS = {"ascii": "0123456789", "arabic": "٠١٢٣٤٥٦٧٨٩", "persian": "۰۱۲۳۴۵۶۷۸۹", "thai": "๐๑๒๓๔๕๖๗๘๙"}
HALVES = [("AM", "PM"), ("am", "pm"), ("a. m.", "p. m."), ("a.\u00a0m.", "p.\u00a0m."), ("ص", "م"), ("午前", "午後"),
          ("上午", "下午"), ("오전", "오후"), ("π.μ.", "μ.μ."), ("de.", "du."), ("ق.ظ.", "ب.ظ."),
          ("SA", "CH"), ('לפנה"צ', 'אחה"צ'), ("לפנה״צ", "אחה״צ"), ("לפנה”צ", "אחה”צ"), ("du matin", "du soir"),
          ("صباحا", "مساء"), ("in the morning", "in the afternoon"), ("утра", "дня")]  # fmt: skip
MARKS = ["", "\u200e", "\u200f", "\ufeff", "\u202a", "\u202b\u200e"]


@dataclasses.dataclass(frozen=True)
class Form:
    """How a phone writes headers."""

    order: str = "dmy"
    separator: str = "/"
    long_year: bool = True
    padded: bool = True
    digits: str = "ascii"
    calendar: str = "gregorian"
    joiner: str = ", "
    halves: tuple[str, str] | None = None
    half_first: bool = False
    seconds: bool = False
    layout: str = "dash"
    time_first: bool = False
    mark: str = ""
    space: str = " "

    def header(self, t: datetime) -> str:
        """The header of a message of this time."""
        date, time = self.date(t), self.time(t)
        when = time + ", " + date if self.time_first else date + self.joiner + time
        when = when.translate(str.maketrans(DIGITS["ascii"], DIGITS[self.digits]))
        pattern = {"dash": "{}{} - ", "bracket": "{}[{}] ", "colon": "{}{}: ", "semicolon": "{}{}; "}[self.layout]
        return pattern.format(self.mark, when)

    def date(self, t: datetime) -> str:
        """The date in this order and calendar."""
        d, m = (f"{n:02}" if self.padded else str(n) for n in (t.day, t.month))
        if self.calendar == "kanji":
            return f"令和{t.year - 2018 if t.year > 2019 else '元'}年{t.month}月{t.day}日"
        if self.calendar == "reiwa":
            return f"R{t.year - 2018}/{m}/{d}"
        if self.calendar in {"era after", "era between"}:
            year = f"{t.year - 2018} R" if self.calendar == "era after" else f"令和{t.year - 2018}"
            return f"{m if self.order == 'mdy' else d}/{d if self.order == 'mdy' else m}/{year}"
        if self.calendar == "signs":
            return f"{t.year}年{t.month}月{t.day}日"
        year = t.year + 543 * (self.calendar == "buddhist")
        y = str(year) if self.long_year or self.calendar == "buddhist" else f"{year % 100:02}"
        return self.separator.join({"d": d, "m": m, "y": y}[c] for c in self.order)

    def time(self, t: datetime) -> str:
        """The time with 12 or 24 hours."""
        hour = t.hour if self.halves is None else t.hour % 12 or 12
        clock = f"{hour:02}" if self.padded else str(hour)
        clock += f":{t.minute:02}" + (f":{t.second:02}" if self.seconds else "")
        if self.halves is None:
            return clock
        half = self.halves[t.hour >= 12]
        return f"{half}{clock}" if self.half_first else f"{clock}{self.space}{half}"

    @property
    def key(self) -> int:
        """What the reader takes for one form."""
        return int(find_in((self.header(datetime(2021, 5, 25, 10, 0, 0)) + "A: x").encode())[0, S.FORM])


FORMS = st.builds(
    Form, order=st.sampled_from(["dmy", "mdy", "ymd"]), separator=st.sampled_from(["/", ".", "-", ". ", "\u200f/"]),
    long_year=st.booleans(), padded=st.booleans(), digits=st.sampled_from(sorted(DIGITS)),
    calendar=st.sampled_from(["gregorian"] * 5 + ["buddhist", "reiwa", "kanji", "signs", "era after", "era between"]),
    joiner=st.sampled_from([", ", " ", "،\u200f ", ",\u00a0", " - "]), halves=st.sampled_from([None, None, *HALVES]),
    half_first=st.booleans(), seconds=st.booleans(), layout=st.sampled_from(["dash", "bracket", "colon", "semicolon"]),
    time_first=st.booleans(), mark=st.sampled_from(MARKS), space=st.sampled_from([" ", "\u202f", "\u00a0"]),
).filter(lambda f: f.order != "ymd" or f.long_year or f.calendar != "gregorian")  # fmt: skip
AUTHORS = st.sampled_from(
    ["Ilse", "Tomás Orr", "+1 234 567", "山田", "علي", "Bee-Bee 2", "🤓", "Dr. X (work)", "a]b", "10-4"]
)
PIECES = [
    "12/05/2024",
    "10:30",
    " - ",
    ": ",
    "[",
    "]",
    "13.01.24",
    "hello",
    "ok",
    ", ",
    "99",
    "نعم",
    "😂",
    "\u200e",
    "x",
]
LINES = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
HOSTILE = st.sampled_from(["", "http://x.y/?q=1:2", "99/99/2024, 10:00 - nor: this", "32/13/24, 25:61 - x: y", "10:30",
                           "[01/01/2009, 10:00:00] Eve: gotcha", "12/05: lunch",
                           "31.02.2021, 10:00 - no: date"])  # fmt: skip
TEXTS = st.tuples(
    st.sampled_from(["so", "Yes", "يا", "1", "😂 ok", "a: b"]), st.lists(LINES | HOSTILE, max_size=3)
).map(lambda t: "\n".join([t[0], *t[1], "."]))


def read(path, data: str, **options):
    """Author, time and text of the messages."""
    path.write_bytes(data.encode())
    batches = WhatsApp(**options)(Slice(str(path), 0), Ledger("read", source="s"))
    return [(r["author"], r["time"], r["text"]) for b in batches for r in b.to_pylist()]


@settings(max_examples=80)
@given(
    forms=st.lists(FORMS, min_size=1, max_size=3, unique_by=lambda f: f.key),
    said=st.lists(st.tuples(AUTHORS, TEXTS), min_size=12, max_size=12),
    seed=st.integers(0, 999),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_what_is_rendered_is_read(tmp_path_factory, forms, said, seed, newline) -> None:
    """Any messages in any forms, one export continued by others, are the same messages when read."""
    rng = random.Random(seed)
    t = datetime(2021, 5, 25, 10, 0, 0)
    want, lines = [], []
    for form in forms:
        t = t.replace(day=25)
        for author, text in said[: rng.randint(4, 12)]:
            t = (t + timedelta(seconds=rng.choice([0, 7, 600, 90_000]))).replace(second=0 if not form.seconds else 5)
            want.append((author, t, text))
            lines.append(form.header(t) + f"{author}: {text}".replace("\n", newline) + newline)
        t = (t + timedelta(days=31)).replace(second=0)
    got = read(tmp_path_factory.mktemp("chat") / "c.txt", "".join(lines))
    assert got == want


PARTS = [
    "[",
    "]",
    " ",
    " - ",
    ", ",
    "،",
    ":",
    ";",
    "3",
    "12",
    "2024",
    "67",
    "R",
    "令和",
    "元年",
    "年",
    "月",
    "日",
    "/",
    ".",
]
MORE = ["-", "h", "AM", "pm", "p. m.", "م", "下午", "晚上", "x", "\u200e", "\u202f", "٣", "۱۲", "at"]
MORE += ["2. 3. 2018. 9:05", "a: "]


@settings(max_examples=400)
@given(
    form=FORMS,
    parts=st.lists(st.sampled_from(PARTS + MORE), max_size=14).map("".join),
    at=st.integers(0, 30),
    cut=st.integers(0, 3),
    seed=st.integers(0, 10_000),
)
def test_kernel_and_twin_agree(form, parts, at, cut, seed) -> None:
    """The kernel finds in a damaged header what a regular expression finds."""
    rng = random.Random(seed)
    t = datetime(2019, 5, 1) + timedelta(seconds=rng.randrange(150_000_000))
    line = form.header(t) + "Ilse: hello"
    for text in (line, parts + "A: b", line[:at] + rng.choice([parts[:3], ""]) + line[at + cut :]):
        found = find_in(text.encode())
        got = None
        if len(found):
            row = found[0]
            a, b, c = row[[S.A, S.B, S.C]].tolist()
            got = (len(text.encode()[: row[S.BODY]].decode()), (a, b, c), int(row[S.SECONDS]))
        assert got == twins.whatsapp_headers.whatsapp_header(text), ascii(text)


@pytest.mark.parametrize(
    "form",
    [Form(), Form(layout="bracket", seconds=True, halves=("AM", "PM"), padded=False), Form(time_first=True),
     Form(time_first=True, seconds=True, layout="semicolon"), Form(calendar="era after"), Form(digits="arabic"),
     Form(halves=("下午", "晚上"), half_first=True)],
    ids=["dash", "bracket", "time first", "seconds first", "era", "arabic", "half first"],
)  # fmt: skip
@pytest.mark.parametrize("end", ["", " ", "  "], ids=len)
def test_the_header_before_changes_nothing(form, end) -> None:
    """A header, changed in any place, has the same numbers after another one of its form as it has alone."""
    lines = []
    for at in range(len(form.header(datetime(2019, 5, 1))) + 2):
        for new in [*"069:;x ", "\u200e", ""]:
            first, second = (form.header(datetime(2019, 5, 1, 14, 22, 8) + timedelta(days=n)) for n in (3, at * 17))
            lines += [f"{first.strip()}{end}A: b\n".encode(), f"{second[:at]}{new}{second[at + 1 :]}A: b\n".encode()]
    starts = np.cumsum([0, *map(len, lines)])
    want = [_moved(find_in(line), at) for line, at in zip(lines, starts, strict=False)]
    found, want = find_in(b"".join(lines)), np.concatenate(want)
    want[want[:, S.SAID] == -1, S.NAME_STOP] = -1  # no colon
    assert found.tolist() == want.tolist()


@settings(max_examples=60)
@given(texts=st.lists(st.text("a\r\n\u200e\u200fé\u2014", max_size=30), max_size=6))
def test_copies_and_marks(texts) -> None:
    """Texts are copied without carriage returns at ends of lines, and marks are found only in the given ones."""
    data = "\u200e".join(["", *texts, ""]).encode()
    sizes = np.array([len(t.encode()) for t in texts], np.int64)
    starts = np.cumsum(sizes + 3) - sizes
    padded = np.frombuffer(data + bytes(8), np.uint8)[: len(data)]
    offsets, out = S.gather(padded, starts, starts + sizes)
    got = [out[a:b].tobytes().decode() for a, b in itertools.pairwise(offsets.tolist())]
    assert got == [re.sub(r"\r(?=\n|\Z)", "", t) for t in texts]
    assert S.marked(padded, starts, starts + sizes) == any(mark in t for t in texts for mark in "\u200e\u200f")


def test_orders_of_one_form_after_another(tmp_path) -> None:
    """An export in one order continued in another, both in the same form."""
    a = [datetime(2021, 5, 20 + i, 9) for i in range(6)]
    b = [datetime(2021, 7, 20 + i, 9) for i in range(6)]
    text = "".join(f"{t:%d/%m/%Y, %H:%M} - A: x\n" for t in a) + "".join(f"{t:%m/%d/%Y, %H:%M} - A: y\n" for t in b)
    assert [t for _, t, _ in read(tmp_path / "c.txt", text)] == [*a, *b]


def test_quotations_stay_text(tmp_path) -> None:
    """Messages pasted from elsewhere, in a form of their own, are part of the message that holds them."""
    quote = "[02/05/2024, 09:00:00] Eve: look\n[02/05/2024, 09:01:00] Bob: no"
    text = "".join(f"{i + 10}/05/2024, 09:12 - Ilse: said {i}\n" for i in range(9)) + quote + "\n"
    text += "20/05/2024, 09:12 - Ilse: end\n"
    got = read(tmp_path / "c.txt", text)
    assert [t for _, _, t in got] == [*(f"said {i}" for i in range(8)), "said 8\n" + quote, "end"]


def test_lines_by_nobody_known_at_times_that_do_not_fit(tmp_path) -> None:
    """A line exactly like a header stays text if no known person says it at a time that cannot be; else it is one."""
    said = [f"{i + 10}/05/2024, 09:12 - {'Ilse' if i % 2 else 'Tom'}: {i}\n" for i in range(12)]
    said.insert(6, "01/01/2019, 10:00 - Eve: gotcha\n01/01/2019, 10:00 - the deadline\n03/03/2030, 10:00 - moved\n")
    got = read(tmp_path / "c.txt", "".join(said))
    assert len(got) == 12
    assert got[5][2] == "5\n" + said[6].strip()
    said[6] = "15/05/2024, 10:00 - Eve: hello\n01/01/2019, 10:00 - Tom: my clock was wrong\n"
    assert [t for _, _, t in read(tmp_path / "c.txt", "".join(said))][6:8] == ["hello", "my clock was wrong"]
    alike = "".join(f"{i * 7 % 28 + 1:02}/05/2024, 09:12 - {a}: x\n" for i, a in enumerate("ABCDEFGHIJKLMNOPQR"))
    assert len(read(tmp_path / "c.txt", alike)) == 18


def test_mixed_forms_are_all_headers(tmp_path) -> None:
    """Two phones' forms that alternate in the order of time are all messages."""
    text = "".join(
        f"26/02/2025, 09:{i:02} - A: x{i}\n" if i % 3 else f"[26/02/2025, 9:{i:02} AM] ~\u202fB: x{i}\n"
        for i in range(30)
    )
    assert [t for _, _, t in read(tmp_path / "c.txt", text)] == [f"x{i}" for i in range(30)]


@pytest.mark.parametrize(
    ("header", "want"),
    [
        ("3/6/18 晚上10:05 - ", "2018-06-03T22:05:00"),
        ("3/6/18 晚上12:05 - ", "2018-06-03T00:05:00"),
        ("2018/6/3 中午12:05 - ", "2018-06-03T12:05:00"),
        ("2018/6/3 中午1:05 - ", "2018-06-03T13:05:00"),
        ("2018/6/3 凌晨12:05 - ", "2018-06-03T00:05:00"),
        ("18/3/2565 BE, 14:56:00 - ", "2022-03-18T14:56:00"),
        ("民國111/3/18 14:56 - ", "2022-03-18T14:56:00"),
        ("H31/4/30 14:56 - ", "2019-04-30T14:56:00"),
        ("۱۴۰۳/۱۲/۳۰،\u200f ۱۴:۵۶ - ", "2025-03-20T14:56:00"),
        ("2022. 3. 18. 오후 2:56 - ", "2022-03-18T14:56:00"),
        ("2022-03-18 14 h 56 - ", "2022-03-18T14:56:00"),
        ("18.03.22 г., 14:56 - ", "2022-03-18T14:56:00"),
        ("[14:56, 18/03/2022] ", "2022-03-18T14:56:00"),
        ("[下午2:56, 2022/3/18] ", "2022-03-18T14:56:00"),
        ("18.3.2022 klo 14.56 – ", "2022-03-18T14:56:00"),
        ("18/3/22, 00:04 AM - ", "2022-03-18T00:04:00"),
        ("18/3/22, 22:35 PM - ", "2022-03-18T22:35:00"),
        ("[9:12 R4/3/18] ", "2022-03-18T09:12:00"),
        ("18/3/4 R, 9:12 - ", "2022-03-18T09:12:00"),
        ("18.3.令和4 9:12 - ", "2022-03-18T09:12:00"),
        ("3/18/22, 2:56 in the afternoon - ", "2022-03-18T14:56:00"),
        ("18.3.22, 2:56 nachmittags - ", "2022-03-18T14:56:00"),
        ("18/3/22, 12:05 at night - ", "2022-03-18T00:05:00"),
        ("18/3/22, 2:56 ’s nachts - ", "2022-03-18T02:56:00"),
        ("18/3/22, 2:56 's middags - ", "2022-03-18T14:56:00"),
        ("18.03.22, 11:56 вечера - ", "2022-03-18T23:56:00"),
        ("18/3/22, 2:56 בצהריים - ", "2022-03-18T14:56:00"),
        ("18/3/22, 5:56 فجرا - ", "2022-03-18T05:56:00"),
        ("18/3/22, 2:56 de la tarde - ", "2022-03-18T14:56:00"),
        ("2022/3/18 夕方5:56 - ", "2022-03-18T17:56:00"),
        ("18. 3. 2022. 21:25:15 ", "2022-03-18T21:25:15"),
        ("18.3.2022. 21:25 ", "2022-03-18T21:25:00"),
        ("18. 3. 2022., 21:25\u00a0", "2022-03-18T21:25:00"),
        ("2022. 3. 18. 오후 2:56 ", "2022-03-18T14:56:00"),
        ("18. 3. 2022. 2:56 p: ", "2022-03-18T14:56:00"),
    ],
)
def test_forms_of_the_world(tmp_path, header, want) -> None:
    """Calendars, parts of the day and orders of date and time in other countries."""
    assert read(tmp_path / "c.txt", header + "A: x\n") == [("A", datetime.fromisoformat(want), "x")]


def test_a_blank_ends_a_header_after_a_dotted_date(tmp_path) -> None:
    """`13. 6. 2018. 21:25 NAME: TEXT` is a message, whatever the name; without the last dot or a name it is text."""
    names = ["a", "Ana Marija", "+385 91 234", "Om", "Bee-Bee", "10-4", "山田", "de"]
    lines = [f"13. 6. 2018. 21:25:{i:02} {name}: so: {i}\n" for i, name in enumerate(names)]
    got = read(tmp_path / "c.txt", "".join(lines))
    assert [(a, x) for a, _, x in got] == [(name, f"so: {i}") for i, name in enumerate(names)]
    short = "".join(f"13. 6. 2018. 21:25:{i:02} {name}: m\n" for i, name in enumerate(names))
    assert [(a, x) for a, _, x in read(tmp_path / "c.txt", short)] == [(name, "m") for name in names]
    for other in (
        "13. 6. 2018 21:25:15 Ana: m",
        "13/6/2018 21:25:15 Ana: m",
        "13. 6. 2018. 21:25 no name",
        "13.6. 9:12 A: x",
    ):
        assert not len(find_in(other.encode())), other


def test_days_agree_with_the_standard_library() -> None:
    """Every day from 1970 to 2199 is possible, once, and no other date is."""
    dates = np.array([(y, m, d) for y in range(1970, 2200) for m in range(14) for d in range(33)])
    days, possible = days_of(dates, "ymd")
    first = datetime(1970, 1, 1)
    want = [(first + timedelta(days=n)).timetuple()[:3] for n in range((datetime(2200, 1, 1) - first).days)]
    assert [tuple(r) for r in dates[possible].tolist()] == want
    assert days[possible].tolist() == list(range(len(want)))


def test_words_mean_one_thing() -> None:
    """No word of a language is another's word for something else, and every word is found."""
    keys, codes = words()
    table = dict(zip(keys.tolist(), codes.tolist(), strict=True))
    meanings = headers._meanings()
    assert len(meanings) > 250
    for word, code in meanings.items():
        assert table[headers._hash(word)] == code, word
