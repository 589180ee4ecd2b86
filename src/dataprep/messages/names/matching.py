"""Compare names of people with each other, and with the words of texts.

`identity` decides whether two names are of one person: "~ Ilse" and "ILSE" are the same person, whereas "Ilse" and
"Ilse 🌻" are not. `words` returns the words of a name that are searched for in texts. They are letters and digits
without case, accents, Arabic vowel signs, tatweel, hamza seats and invisible signs, so that "Zoë" finds "zoe" and
"أحمد" finds "احمد".
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from dataprep.unicode.assigned import normalized, over_assigned
from dataprep.unicode.text import MARK, U32, WORD, classes, lowered

from .kernel import BREAK, GAP, SKIPPED

_DOMAIN = re.compile(r"(?<=\w)@[\w-]+(?:\.[\w-]+)+")
_GAPS = " \u00a0\u202f-_.'\u02bb\u02bc\u2019\u2010\u2011"  # may occur between the words of one name
_INVISIBLE = (0xAD, 0x61C, 0x640, 0xFEFF, *range(0x180B, 0x180F), *range(0x200B, 0x2010), *range(0x202A, 0x202F),
              *range(0x2060, 0x2070), *range(0xFE00, 0xFE10))  # fmt: skip
_ACCENTS = (*range(0x300, 0x370), *range(0x591, 0x5C8), *range(0x610, 0x61B), *range(0x64B, 0x660), 0x670,
            *range(0x6D6, 0x6DD), *range(0x6DF, 0x6E5), 0x6E7, 0x6E8, *range(0x6EA, 0x6EE),
            *range(0x1AB0, 0x1B00), *range(0x1DC0, 0x1E00), *range(0x20D0, 0x2100), *range(0xFE20, 0xFE30),
            *range(0x93C, 0xD00, 0x80))  # the last: a point below Indic letters, which is often left out  # fmt: skip
# Letters that are equal in names as people type them: ta marbuta, alef maqsura and Persian forms; Turkish i; letters
# with strokes; the sigma at the end of a word; small capitals.
_PAIRS = "ةه ىي یي کك ıi ٱا łl øo đd ðd ħh ŧt ɨi ςσ "
_PAIRS += "ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz"
SAME = {ord(pair[0]): ord(pair[1]) for pair in _PAIRS.split()}
"""Letters (code points) that are compared as another one, in names and in texts."""
# Letters that are also written with two, and two that are also written with one.
_SPELLED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae", "œ": "oe", "ß": "ss",
                          "ẞ": "ss", "þ": "th"})  # fmt: skip
# Letters in other forms: letter-like, in circles and squares, Arabic in words, full-width, mathematical.
_FORMS = (*range(0x2070, 0x2150), *range(0x2460, 0x2500), *range(0xFB50, 0xFF00), *range(0xFF00, 0xFFF0),
          *range(0x1D400, 0x1D800), *range(0x1F130, 0x1F14A))  # fmt: skip
_CIRCLED = {first + i: chr(ord("a") + i) for first in (0x249C, 0x1F150, 0x1F170, 0xE0041, 0xE0061) for i in range(26)}
EMBLEMS = (*range(0x249C, 0x24EA), *range(0x1F110, 0x1F190))
"""Letters in circles, squares and brackets (code points): letters of a name, or signs next to one, such as an emoji."""
_LAST_COMPOSED = 0x2000  # Latin, Greek, Cyrillic, Hebrew and Arabic letters with accents are below

_COMMON = """
will may mark art bill rose grace hope joy faith chase dawn drew frank grant guy april june august summer autumn violet
lily daisy ruby amber olive ivy iris pearl sunny rich pat sue gene ray dean earl young king page brown black white green
gray grey long short small best good love baby angel star sky moon sun rain home work office school uni gym new old
mobile phone tel gsm whatsapp telegram signal business group family team class admin boss doctor dr prof mr mrs ms miss
sir the and from for via not you
mama maman mom mum mommy dad daddy papa baba pap yemma mwi lwalid lwalida khoya khouya khti khty sister brother frere
soeur tonton tata papi mami oncle tante cousin cousine docteur maitre mme mlle monsieur madame
ange petit petite grand grande blanc noir roux roi chef bon bonne belle jean prudence claire reine fleur marin
van von der den del della las los les des ben bin bent bint ibn abu abou oum omm ould ait bel
salam amal hayat iman islam nour nur noor farah sabah rabi hanan wafa rida sami said jamil hob donia dounia hna nta nti
علي نور أمل سلام هدى رضا سعيد جميل صباح ربيع سما فرح وفاء حياة دنيا إيمان إسلام كريم هند حسن أمين عادل ماما بابا مي منى
mutti vati oma opa schatz anne baba abla abi canim mae pai avo hijo hija abuela abuelo hermano hermana ibu bapak kakak
мама папа бабушка дедушка брат сестра тетя дядя муж жена любимый любимая работа дом вера надежда любовь роза слава мир
אמא אבא אח אחות סבתא סבא אור שיר טל μαμα μπαμπας मम्मी पापा माँ भाई दीदी แม่ พ่อ พี่ น้อง
妈妈 爸爸 老公 老婆 宝贝 姐姐 哥哥 弟弟 妹妹 奶奶 爷爷 老师 朋友 明天 ママ パパ お母さん お父さん 先生
엄마 아빠 오빠 언니 누나 동생 친구 선생님 여보 자기 사랑
ابن بن بنت أبو أم ولد عبد الله الحاج الحاجة سيدي لالة
"""
COMMON = frozenset(_COMMON.split())
"""Words that occur in names and, more often, elsewhere: alone they are not a name unless written after an @."""


@cache
def folded() -> U32:
    """Return the form of code points in comparisons, uint32[0x110000]: a letter or digit, SKIPPED, GAP or BREAK."""
    low, bits = lowered(), classes()
    inside = (bits & (WORD | MARK)) != 0  # signs of Indic scripts are letters' parts
    table = np.where(inside, low & np.uint32((1 << 21) - 1), np.uint32(BREAK)).astype(np.uint32)
    for c in np.flatnonzero(inside[:_LAST_COMPOSED]).tolist():
        first = normalized("NFKD", chr(int(table[c])))[:1]
        base = ord(first)
        if bits[base] & WORD:
            table[c] = low[base] & (1 << 21) - 1
    for c in (*_FORMS, *_CIRCLED):
        form = _CIRCLED.get(c) or normalized("NFKD", chr(c))
        if len(form) == 1 and bits[ord(form)] & WORD:  # of others the first letter alone would be another word
            table[c] = low[ord(form)] & (1 << 21) - 1
    for c, same in SAME.items():
        table[table == c] = same
    table[[ord(c) for c in _GAPS]] = GAP
    table[[*_INVISIBLE, *_ACCENTS]] = SKIPPED
    table.flags.writeable = False
    return table


def words(name: str) -> tuple[str, ...]:
    """Return the words of a name as a tuple, without case, accents and invisible signs.

    >>> words("~ Zoë O'Brien 🌻")
    ('zoe', 'o', 'brien')
    """
    name = _DOMAIN.sub("", name)  # of "ilse@example.org" only "ilse" is a name
    kinds = folded()[[ord(c) for c in name]].tolist() if name else []
    text = "".join(" " if k in (GAP, BREAK) else "" if k == SKIPPED else chr(k) for k in kinds)
    return tuple(text.split())


def spellings(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of a name in each spelling in which it is searched for, as `words` returns them.

    The spellings are the name itself, the name with letters such as ä, æ and ß written as two letters, with ß for ss,
    and, for Korean, with composed and decomposed syllables.

    >>> spellings("Weiß"), spellings("Jäger")
    ((('weiss',), ('weiß',)), (('jaeger',), ('jager',)))
    """
    composed = normalized("NFC", name)
    plain = over_assigned(str.casefold, composed.replace("ß", "\ue000").replace("ẞ", "\ue000")).replace("\ue000", "ß")
    forms = {composed, plain.translate(_SPELLED), plain.replace("ss", "ß"), normalized("NFD", name)}
    return tuple(sorted({words(one) for one in forms}))


def signs_in(name: str) -> frozenset[int]:
    """Return the code points of the signs between two words of a name that are not a gap by themselves, such as &."""
    inner = [ord(c) for c in name]
    kinds = folded()[inner].tolist() if inner else []
    letters = [i for i, kind in enumerate(kinds) if kind not in (SKIPPED, GAP, BREAK)]
    between = range(letters[0], letters[-1]) if letters else ()
    return frozenset(inner[i] for i in between if kinds[i] == BREAK)


def identity(name: str) -> str:
    """Return a text that is equal for two spellings of one person's name.

    The text is the name without case, invisible signs and a leading ~, and with single spaces.
    """
    plain = normalized("NFKC", name)
    plain = "".join(c for c in plain if ord(c) not in _UNSEEN)
    return " ".join(over_assigned(str.casefold, plain.lstrip("~ ")).split())


_UNSEEN = frozenset(c for c in _INVISIBLE if c != 0x640)  # tatweel is kept: the person chose to write it


@cache
def common_words(given: tuple[str, ...] | None) -> frozenset[str]:
    """Return the set of words too common to be taken for a name if they occur alone, in the form that `words` returns.

    Args:
        given: the words to use; None: the words of COMMON.
    """
    return frozenset(w for entry in (COMMON if given is None else given) for w in words(entry))
