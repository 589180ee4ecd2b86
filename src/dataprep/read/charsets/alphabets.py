"""Choose among charsets of Latin script by the letters that a page would have in each: those of one language.

A page that is decoded correctly has, beyond ASCII, the letters of one language. The same bytes in a wrong charset are
letters of several, signs, or capitals inside words: Czech in ISO-8859-1 has `ì`, `ø` and `ý`, which no language has
together.
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
    - detected: the charset of the detector, the first of those that suit it equally.
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


def confirmed(high: bytes, detected: str, likely: str) -> bool:
    """Return whether few bytes over 127 are letters of one language in the detected charset, and not in the likely one.

    Also returns True if `detected` is ISO-8859-15 and the byte A4 occurs, which is the euro sign there and the currency
    sign in `likely`.
    """
    if detected == "iso8859-15" and b"\xa4" in high:
        return True
    signs = sum(c in USUAL for c in high.decode(likely, "replace"))
    if detected not in LANGUAGES or signs > MOST_SIGNS * len(high):
        return False
    counts = Counter(high)
    return share(counts, detected) >= FITS and share(counts, likely) < FAILS


def share(counts: Counter[int], charset: str) -> float:
    """Return the share of the bytes over 127 that are letters of one language: the language with the largest share."""
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
    """Return for each language of a charset the kind of each byte from 128 on: a letter, capital, sign, or 0."""
    chars = [bytes([b]).decode(charset, "replace") for b in range(128, 256)]
    return [
        bytes(1 if c in letters else 2 if c.lower() in letters else 3 if c in SIGNS else 0 for c in chars)
        for letters in LANGUAGES[charset]
    ]
