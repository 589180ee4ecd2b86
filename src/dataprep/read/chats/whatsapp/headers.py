"""Words in the headers of WhatsApp's exports (halves of the day, eras, calendars), and the search for headers.

To support a language, add its words for the halves of the day to `HALVES`; full stops, spaces, marks and ASCII
capitals do not matter.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from . import scan as S

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
לפנה"צ | אחה"צ
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
DAY_PARTS = {
    S.AM: "凌晨 清晨 早上 早晨 새벽 아침 भोर รุ่งเช้า ভোর সকাল",
    S.PM: "傍晚 저녁 দুপুর বিকাল সন্ধ্যা",
    S.NOON: "中午 正午 noon 낮 mediodía",
    S.NIGHT: "晚上 半夜 深夜 夜里 밤 midnight noite noche রাত",
}
NEUTRAL = "г г. года ч ч. uhr at um klo kl kl. om u be ad ce พ.ศ. น. ค.ศ. à às o 'at' 'um'"
# The year before an era's first.
ERAS = {2018: "R 令和 令", 1988: "H 平成 平", 1925: "S 昭和 昭", 1911: "民國 民国", 0: "西暦 公元"}
FIRST_YEARS = {2019: "令和元年", 1989: "平成元年"}
SKIPPED = dict.fromkeys(map(ord, " .\t\u00a0\u061c\ufeff" + "".join(map(chr, (*range(0x2009, 0x2010),
    *range(0x202A, 0x2030), *range(0x2066, 0x206A))))))  # fmt: skip
TRIED = (
    "'03/05/2024, 09:12 - NAME: TEXT', '[2024-05-03, 9:12:05 PM] NAME: TEXT' and their like: day, month and year in "
    "any order with / . - or 年 between, a time of 12 or 24 hours before or after, ending in ' - ', ']', ': ' or ';'"
)


def find(data: npt.NDArray[np.uint8], stop: int) -> npt.NDArray[np.int64]:
    """Return the lines of data[:stop] that look like headers, int64[n, FIELDS] (see `scan.py`)."""
    keys, codes = words()
    return S.scan(data, stop, keys, codes)


def find_in(data: bytes) -> npt.NDArray[np.int64]:
    """Return the same for bytes of any length; a missing last line feed is added."""
    padded = np.frombuffer(data + b"\n" + bytes(64), np.uint8)
    return find(padded, len(data) + (not data.endswith(b"\n") and len(data) > 0))


@functools.cache
def words() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Return the hashes of the words in a table with open addressing, uint64[SLOTS] (0 is empty), and their codes."""
    keys, codes = np.zeros(S.SLOTS, np.uint64), np.zeros(S.SLOTS, np.int64)
    for word, code in _meanings().items():
        key = _hash(word)
        slot = key % S.SLOTS
        while keys[slot] not in (0, key):
            slot = (slot + 1) % S.SLOTS
        keys[slot], codes[slot] = key, code
    return keys, codes


def _meanings() -> dict[str, int]:
    """Return codes by words, in small, capital and title letters."""
    found: dict[str, int] = {}
    for line in HALVES.split("\n"):
        for word, code in zip(line.split(" | "), (S.AM, S.PM), strict=True):
            for form in (word, word.upper(), word.title()):
                found.setdefault(form, code)
    listed = {**DAY_PARTS, S.NEUTRAL: NEUTRAL}
    found |= {w: code for code, text in listed.items() for word in text.split() for w in (word, word.upper())}
    found |= {word: S.ERA + year for year, text in ERAS.items() for word in text.split()}
    return found | {word: S.FIRST_YEAR + year for year, word in FIRST_YEARS.items()}


def _hash(word: str) -> int:
    h = S.BASIS
    for c in word.translate(SKIPPED).encode():
        h = (h ^ (c | 32 if 65 <= c <= 90 else c)) * S.MULTIPLIER & (1 << 64) - 1
    return h
