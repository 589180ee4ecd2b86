"""Forms of a name's word with the endings and particles that a language writes without a space.

"Дмитрия", "ნინოს", "Արամին", "முருகனுக்கு", "የአበበ" and "يازهرة" name the same person as the word without them. The
lists contain frequent endings and are not a grammar. Languages in Latin letters are left out, because the language of a
word is unknown and endings would produce other names.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from .matching import words
from .weighing import listed_words


class _Script(NamedTuple):
    """The endings of one script; all texts are folded (`matching.words`).

    Attributes:
        first: the code point with which the range begins.
        last: the last code point of the range.
        least: the minimum number of letters of a name that gets endings.
        finals: the letters at the end of a name that an ending replaces.
        endings: the endings and particles that follow a name.
        fronts: the particles that precede a name.
        kept: whether names that end with one of `finals` also get the endings after this letter.
    """

    first: int
    last: int
    least: int
    finals: str
    endings: str
    fronts: str = ""
    kept: bool = False


_SCRIPTS = (
    _Script(0x370, 0x3FF, 4, "σ", "σ ου ε ο"),
    _Script(0x400, 0x52F, 4, "аяьийеоіюёэ", """
        а я у ю ом ем е и ы ой ей ою ею о і ові еві ым ых ыми ого ому им их ими ая ую
    """),
    _Script(0x531, 0x587, 3, "", """
        ը ն ս դ ի ին ից ով ում ու ուն ուց ուի ուին ա ան այի այից այով յի յին յից յով իս իդ ով երը ենք ենց ենցից ներ
    """),
    _Script(0x600, 0x6FF, 3, "", "", "يا"),
    _Script(0x900, 0x97F, 3, "", """
        जी को ने से का की के में पर भाई बेटा ला ची चा चे शी त हून ना साठी कडे ले लाई मा बाट सँग दीदी बहन
    """),
    _Script(0x980, 0x9FF, 3, "", "কে র এর ের তে য় রা দের দা দি টা ই ও"),
    _Script(0xA00, 0xA7F, 3, "", "ਨੂੰ ਦਾ ਦੀ ਦੇ ਨੇ ਤੋਂ ਜੀ"),
    _Script(0xA80, 0xAFF, 3, "", "ને ના ની નું નો થી માં એ ભાઈ બેન"),
    _Script(0xB80, 0xBFF, 3, "்", """
        ை ுக்கு ின் ிடம் ுடன் ால் ோடு ும் ே ா வை யை வுக்கு க்கு
        வின் யின் விடம் யிடம் வுடன் யுடன் வால் யால் வோடு யோடு வும் யும்
    """),
    _Script(0xC00, 0xC7F, 3, "", "కి కు ను ని తో లో కోసం గారు గారి గారికి కే చే వి"),
    _Script(0xC80, 0xCFF, 3, "", "ಗೆ ನ ನನ್ನು ನಿಗೆ ಇಂದ ಯ ಯನ್ನು ಅವರ ನಿಂದ ವಿಗೆ ವನ್ನು"),
    _Script(0xD00, 0xD7F, 3, "്ൻൽർൾൺ", """
        െ ന്റെ ിന്റെ ിന് ിൽ ോട് ുടെ യുടെ യെ യോട് ക്ക് യ്ക്ക് ും യും ാൽ നെ നോട് ന് നും ലിന്റെ രെ രുടെ
    """),
    _Script(0x10A0, 0x10FF, 3, "იეა", """
        ს მ მა მაც საც ც აც თი ით ითი დ ად ო ის ისა სა სთან ისთან ასთან
        სთვის ისთვის ასთვის სგან ისგან სკენ ისკენ ზე ში მდე ები ების ებს
    """, kept=True),
    _Script(0x1200, 0x137F, 2, "", "ን ም ና ስ ዬ ው ንም ንና", "የ ለ በ ከ ስለ እነ ወደ የነ"),
)  # fmt: skip
_ADJECTIVES = ("скии", "ская", "цкии", "цкая")  # Достоевский: "Достоевского"
_VOWELS = "аяи"  # a Russian name with one at its end may be short: Оля, Аня
_SIGMA = "σ"


@functools.cache
def _folded(forms: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys("".join(words(one)) for one in forms.split()))


def with_endings(word: str) -> frozenset[str]:
    """Return the forms of a name's word with endings and particles, except the word itself, its stem and listed words.

    Args:
        word: as `matching.words` returns it.

    >>> "дмитрия" in with_endings("дмитрии"), "ნინოსთან" in with_endings("ნინო"), with_endings("ilse")
    (True, True, frozenset())
    """
    script = next((one for one in _SCRIPTS if one.first <= ord(word[0]) <= one.last), None)
    if script is None or len(word) < script.least - (word[-1] in _VOWELS):
        return frozenset()
    stems = set(_stems(word, script))
    fronts = ("", *_folded(script.fronts))
    forms = {front + stem + end for stem in stems for end in _folded(script.endings) for front in fronts}
    forms |= {front + word for front in fronts}
    forms |= {word[:-1]} if word[-1] == _SIGMA else set()
    return frozenset(forms - {word} - listed_words())


def _stems(word: str, script: _Script) -> Iterator[str]:
    """Yield the stems to which endings are added."""
    if word.endswith(_ADJECTIVES):
        yield word[:-2]
    elif word[-1] in script.finals:
        yield word[:-2] if word[-1] == _SIGMA else word[:-1]
    if script.kept or word[-1] not in script.finals:
        yield word
