"""Choose among charsets of Latin script: in the correct one, a page has the letters of a single language.

Beyond ASCII, a correctly decoded page has the letters of one language. In a wrong charset, the same bytes are letters
of several languages, signs, or capitals inside words: Czech decoded as ISO-8859-1 has `ì`, `ø` and `ý`, and no language
has all three.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

WESTERN = (
    "àâçéèêëîïôûùüÿœæ", "áéíóúñüºª¿¡", "áâãàçéêíóôõúüºª", "àèéìòùîºª", "äöüß", "áéèëïíóöüúĳ", "åäöéà", "æøåéòó",
    "áðéíóúýþæö", "àçèéíïòóúü·", "ëç", "äöõüšž",
    "áðíóúýæø", "âêéîôûùüñ", "áéíóúýãõñ", "àéëñó", "äëéèöüßêô",
)  # fmt: skip
CENTRAL = ("áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "ąćęłńóśźż", "áéíóöőúüű", "ăâîșțşţ", "čćđšž", "äöüß", "ëç")
BALTIC = ("ąčęėįšųūž", "āčēģīķļņšūž", "äöõüšž", "ąćęłńóśźż", "äöüß", "åäöé", "æøåé")
LANGUAGES = {
    "cp1252": WESTERN, "iso8859-1": WESTERN, "iso8859-15": WESTERN, "mac-roman": WESTERN, "cp850": WESTERN,
    "cp1250": CENTRAL, "cp852": CENTRAL, "mac-latin2": CENTRAL,
    "iso8859-2": CENTRAL, "iso8859-16": CENTRAL, "cp1257": BALTIC, "iso8859-13": BALTIC,
    "cp1254": ("çğıöşüâîûİ",), "iso8859-9": ("çğıöşüâîûİ",), "iso8859-3": ("ĉĝĥĵŝŭ", "àċġħìòùż", "çğıöşüâîûİ"),
    "iso8859-4": (*BALTIC, "áâåäčđŋšŧž"), "iso8859-10": (*BALTIC, "áâåäčđŋšŧž", "áðéíóúýþæö"),
    "iso8859-14": ("âêîôûŵŷáàéèëïíóòöúùẁẃẅ", "áéíóúḃċḋḟġṁṗṡṫ", "àéèìòù"),
}  # fmt: skip
TRIED = ("cp1252", "cp1250", "iso8859-2", "mac-roman", "cp1257", "cp850", "cp852", "mac-latin2")
SIGNS = "\xa0«»“”„‚‘’–—…°§©®™€•·"
USUAL = SIGNS + "¹²³±¼½¾µ×£¢¥ªº"  # signs of all languages; in other charsets they are letters
FEWEST, KINDS = 5, 2  # bytes over 127, and different ones, that decide
FITS, FAILS = 0.97, 0.85  # the share of letters that a charset must have, and that which the one in its place lacks
CAPITALS, MARKS = 0.25, 0.4  # the shares of capitals and of signs that count at most
MOST_SIGNS = 0.6  # a page with more signs has no letters to judge by: `it’s – m³` is `itís ñ` or `mł` elsewhere


def by_letters(high: bytes, charset: str, detected: str = "") -> str:
    """Return the charset whose letters fit a page better than those of `charset`, or "" if none is clearly better.

    - high: the bytes over 127 of the page's text.
    - detected: the charset that the detector returns, which is the first of several equally plausible ones.
    """
    counts = Counter(high)
    if charset not in LANGUAGES or len(high) < FEWEST or len(counts) < KINDS or share(counts, charset) >= FAILS:
        return ""
    if sum(c in USUAL for c in high.decode(charset, "replace")) > MOST_SIGNS * len(high):
        return ""
    tried = dict.fromkeys((detected, *TRIED)) if detected in LANGUAGES else TRIED
    shares = {name: share(counts, name) for name in tried}
    best = max(shares, key=lambda name: shares[name])
    return best if shares[best] >= FITS else ""


def fits(high: bytes, charset: str, other: str) -> bool:
    """Return whether the bytes over 127 are letters of one language in a charset, and not in another one."""
    counts = Counter(high)
    return share(counts, charset) >= FITS and share(counts, other) < FAILS


def confirmed(high: bytes, detected: str, likely: str) -> bool:
    """Return whether, in the detected charset but not in the likely one, the bytes over 127 are of one language.

    Also returns True if `detected` is ISO-8859-15 and the byte A4 occurs, which is the euro sign there and the currency
    sign in `likely`.
    """
    if detected == "iso8859-15" and b"\xa4" in high:
        return True
    signs = sum(c in USUAL for c in high.decode(likely, "replace"))
    if detected not in LANGUAGES or signs > MOST_SIGNS * len(high):
        return False
    return fits(high, detected, likely)


def has_letters(high: bytes, charset: str, least: float = FAILS) -> bool:
    """Return whether at least a share `least` of the bytes over 127 are letters of one language in a charset."""
    return charset in LANGUAGES and share(Counter(high), charset) >= least


def share(counts: Counter[int], charset: str) -> float:
    """Return the largest share of the bytes over 127 that are letters of a single language."""
    total = sum(counts.values())
    most = 0.0
    for kinds in _kinds(charset):
        found = [0, 0, 0, 0]
        for byte, n in counts.items():
            found[kinds[byte - 128]] += n
        most = max(most, found[1] + min(found[2], CAPITALS * total) + min(found[3], MARKS * total))
    return most / total if total else 0.0


@cache
def _kinds(charset: str) -> list[bytes]:
    """Return, per language of a charset, the kind of each byte from 128 on: a letter, capital, sign, or 0."""
    chars = [bytes([b]).decode(charset, "replace") for b in range(128, 256)]
    return [
        bytes(1 if c in letters else 2 if c.lower() in letters else 3 if c in SIGNS else 0 for c in chars)
        for letters in LANGUAGES[charset]
    ]
