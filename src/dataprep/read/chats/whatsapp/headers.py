"""Message headers (date and time) in WhatsApp's exports: the words in them (such as AM, PM), and how to find them.

To support a language, add its words for the halves of the day to `HALVES`; full stops, spaces, marks, the form of
quote signs and ASCII capitals do not matter. Words for shorter parts of the day are in `day_words.py`.

People also quote messages, and a quoted header looks exactly like one of the file (`DoubtfulLines`). A line that looks
like a header is doubtful if it has no author and was not written by WhatsApp, or if its author has no other line in the
file. A doubtful line is text if its time is a day or more outside the times of the lines around it. The time of a real
message fits between them, even at the start of an appended export. In a file of few lines, or if the times are not in
order, all doubtful lines are messages.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dataprep.errors import ReadError

from . import fields as F
from . import scan as S
from .calendars import Ints
from .dates import DAY, DateOrders
from .day_words import DAY_WORDS

# Languages by their words for before noon, then after it; those of the Unicode locale data that phones are set to.
HALVES = """
am | pm
a | p
पूर्वाह्न | अपराह्न
सुबह | शाम
म.पू. | म.उ.
ص | م
صباحًا | مساءً
صباحا | مساء
ق.ظ. | ب.ظ.
قبل‌ازظهر | بعدازظهر
قبل از ظهر | بعد از ظهر
چ.ب | د.ن
غ.م. | غ.و.
午前 | 午後
上午 | 下午
오전 | 오후
π.μ. | μ.μ.
πμ | μμ
пр.об. | сл.об.
претпл. | попл.
пре подне | по подне
прије подне | по подне
дп | пп
ү.ө. | ү.х.
таңкы | түштөн кийинки
тң | тк
лп | гп
לפנה״צ | אחה״צ
de. | du.
dop. | odp.
dop. | pop.
öö | ös
öö. | ös.
fm | em
f.m. | e.m.
f.h. | e.h.
ap. | ip.
sa | ch
pagi | malam
pg | ptg
pg | mlm
vm. | nm.
v.m. | n.m.
vorm. | nachm.
r.n. | i.n.
yb | yh
i.b. | p.b.
p.d. | m.d.
paradite | pasdite
priekšp. | pēcp.
priekšpusdienā | pēcpusdienā
prijepodne | popodne
prije podne | po podne
pr. p. | po p.
priešpiet | popiet
dopoldne | popoldne
to | tk
go.öň | go.soň
ก่อนเที่ยง | หลังเที่ยง
ກ່ອນທ່ຽງ | ຫຼັງທ່ຽງ
ព្រឹក | ល្ងាច
နံနက် | ညနေ
முற்பகல் | பிற்பகல்
ఉద | సా
పూర్వాహ్నం | అపరాహ్నం
ಪೂರ್ವಾಹ್ನ | ಅಪರಾಹ್ನ
ਪੂ.ਦੁ. | ਬਾ.ਦੁ.
පෙ.ව. | ප.ව.
পূর্বাহ্ণ | অপরাহ্ণ
এএম | পিএম
ପୂର୍ବାହ୍ନ | ଅପରାହ୍ନ
ጥዋት | ከሰዓት
ቅዳሜ | ከሰዓት
asubuhi | mchana
sn. | gn.
manhã | tarde
da manhã | da tarde
de la mañana | de la tarde
mañana | tarde
""".strip()
NEUTRAL = "г г. года ч ч. uhr at um klo kl kl. om u be ad ce พ.ศ. น. ค.ศ. à às o 'at' 'um'"
QUOTES = ('\u05f4\u201d\u2033"', "\u05f3\u2019\u02bc'")  # signs that phones write for each other
ARABIC_VOWELS = dict.fromkeys(range(0x64B, 0x653))  # phones write some words with and without them
# The year before an era's first.
ERAS = {2018: "R 令和 令", 1988: "H 平成 平", 1925: "S 昭和 昭", 1911: "民國 民国", 0: "西暦 公元"}
FIRST_YEARS = {2019: "令和元年", 1989: "平成元年"}
SKIPPED = dict.fromkeys(map(ord, " .\t\u00a0\u061c\ufeff" + "".join(map(chr, (*range(0x2009, 0x2010),
    *range(0x202A, 0x2030), *range(0x2066, 0x206A))))))  # fmt: skip
TRIED = (
    "'03/05/2024, 09:12 - NAME: TEXT', '[2024-05-03, 9:12:05 PM] NAME: TEXT' and their like: day, month and year in "
    "any order with / . - or 年 between, a time of 12 or 24 hours before or after, ending in ' - ', ']', ': ' or ';'"
)


def without_headers(url: str, first_line: bytes) -> ReadError:
    """Return the error of a file without headers.

    - first_line: the file's first line, which the error shows.
    """
    shown = first_line[:80].decode("utf-8", "replace").strip()
    found = f"no line begins like a WhatsApp message; the first line is {shown!r}"
    return ReadError(f"{found}; known forms are {TRIED}; name another reader with format=", url, 0)


def find(data: npt.NDArray[np.uint8], stop: int) -> npt.NDArray[np.int64]:
    """Return the lines of data[:stop] that look like message headers (date and time), int64[n, FIELDS].

    The columns are the constants START to LINE_STOP of `scan.py`.
    """
    keys, codes = words()
    data = data.view()
    data.flags.writeable = False  # so that the kernel is compiled once
    return S.scan(data, stop, keys, codes)


def find_in(data: bytes) -> npt.NDArray[np.int64]:
    """Return the lines of `data` that look like message headers (date and time), int64[n, FIELDS], as `find` does."""
    padded = np.frombuffer(data + b"\n" + bytes(64), np.uint8)
    return find(padded, len(data) + (not data.endswith(b"\n") and len(data) > 0))


@functools.cache
def words() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Return a hash table of the words in message headers: (hashes, uint64[SLOTS], 0: empty; codes, int64[SLOTS]).

    A code is the meaning of a word (half of the day, era ...; see `scan.py`). Collisions use the next free slot.
    """
    keys, codes = np.zeros(F.SLOTS, np.uint64), np.zeros(F.SLOTS, np.int64)
    for word, code in _meanings().items():
        key = _hash(word)
        slot = key % F.SLOTS
        while keys[slot] not in (0, key):
            slot = (slot + 1) % F.SLOTS
        keys[slot], codes[slot] = key, code
    return keys, codes


def _meanings() -> dict[str, int]:
    """Return codes by words, in every form that phones write."""
    found: dict[str, int] = {}
    halves = [(w, c) for line in HALVES.split("\n") for w, c in zip(line.split(" | "), (F.AM, F.PM), strict=True)]
    parts = [(w, code) for code, text in DAY_WORDS.items() for w in re.split(r"[|\n]+", text)]
    for word, code in [*halves, *parts]:
        for form in _forms(word.strip()):
            found.setdefault(form, code)
    found |= {w: F.NEUTRAL for word in NEUTRAL.split() for w in (word, word.upper())}
    found |= {word: F.ERA + year for year, text in ERAS.items() for word in text.split()}
    return found | {word: F.FIRST_YEAR + year for year, word in FIRST_YEARS.items()}


def _forms(word: str) -> Iterator[str]:
    """Yield a word in lower, upper and title case, with each form of quote sign, with and without Arabic vowels."""
    words = {word, word.translate(ARABIC_VOWELS)} - {""}
    for signs in QUOTES:
        words |= {w.replace(old, new) for w in words for old in signs if old in w for new in signs}
    for one in sorted(words):
        yield from (one, one.upper(), one.title())


def _hash(word: str) -> int:
    h = F.BASIS
    for c in word.translate(SKIPPED).encode():
        h = (h ^ (c | 32 if 65 <= c <= 90 else c)) * F.MULTIPLIER & (1 << 64) - 1
    return h


MAX_DOUBTFUL = 1 << 16  # lines that are remembered; further ones count as messages


@dataclass
class DoubtfulLines:
    """Collects the lines of a file that may be message headers or quotations of them, to decide which are text.

    Attributes:
        names: the number of occurrences of each author.
        doubtful: lines that may be quotations, each with the header before and the header after it.
        waiting: such lines whose next header is not known yet.
        last: the last header so far.
    """

    names: Counter[str] = field(default_factory=Counter)
    doubtful: list[tuple[Ints, str]] = field(default_factory=list)  # int64[3, FIELDS]: the line before, it, the next
    waiting: list[tuple[Ints, str]] = field(default_factory=list)  # their next line is not read yet
    last: Ints | None = None

    def add(self, found: Ints, base: int, codes: Ints, names: list[str | None], plain: npt.NDArray[np.bool_]) -> None:
        """Add n lines that look like message headers (`found`, as `scan` returns them), in the order of the file.

        - base: byte offset at which the scanned bytes begin. names[codes[i]]: the author of line i, or None.
        - plain: bool[n], whether a line has no author and is not WhatsApp's own.
        """
        rows = found.copy()
        rows[:, S.START] += base
        present, first, counts = np.unique(codes, return_index=True, return_counts=True)
        named = [(names[code], i, n) for code, i, n in zip(present, first.tolist(), counts.tolist(), strict=True)]
        doubtful = [(i, "") for i in np.flatnonzero(plain).tolist()]
        doubtful += [(i, name) for name, i, _ in named if name is not None and name not in self.names]
        self.names.update({name: n for name, _, n in named if name is not None})
        firm = ~plain
        firm[[i for i, _ in doubtful]] = False
        solid = np.flatnonzero(firm)
        for i, name in sorted(doubtful):
            at = int(np.searchsorted(solid, i))
            before = rows[solid[at - 1]] if at else self.last
            if before is None or len(self.doubtful) + len(self.waiting) >= MAX_DOUBTFUL:
                continue
            three = np.stack([before, rows[i], rows[solid[at]] if at < len(solid) else before])
            (self.doubtful if at < len(solid) else self.waiting).append((three, name))
        if len(solid):
            early = [(three, name) for three, name in self.waiting if three[1, S.START] < base]
            for three, _ in early:
                three[2] = rows[solid[0]]
            self.doubtful += early
            self.waiting = [(three, name) for three, name in self.waiting if three[1, S.START] >= base]
            self.last = rows[solid[-1]]

    def text(self, plan: DateOrders) -> Ints:
        """Return the byte offsets, ascending, of the doubtful lines that belong to the text of the message before.

        Args:
            plan: the orders of dates in the file, from which the time of each line follows.
        """
        some = [three for three, name in (*self.doubtful, *self.waiting) if self.names[name] < 2]
        if not some or not plan.orderly:
            return np.zeros(0, np.int64)
        lines = np.stack(some)
        times, which = (x.reshape(-1, 3) for x in plan.times(lines.reshape(-1, S.FIELDS), 0))
        early, late = times[:, [0, 2]].min(axis=1), times[:, [0, 2]].max(axis=1)
        ends = lines[:, 0, S.START] == lines[:, 2, S.START]  # no line follows it, so any later time fits
        outside = (times[:, 1] < early - DAY) | ((times[:, 1] > late + DAY) & ~ends)
        return np.unique(lines[outside & (which >= 0).all(axis=1), 1, S.START])
