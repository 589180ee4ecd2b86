"""Compare a name in Latin letters with one in Arabic, Cyrillic, Greek or Hebrew letters.

A name in one of these scripts becomes a regular expression of the Latin spellings that English, French, German and
academic romanizations of it have: كريم matches karim, kareem and karime, but not karima. An unwritten vowel in Arabic
and Hebrew matches any vowel, with one exception: after a long a, the vowel of the last syllable is e or i (كامل is
Kamel, كمال is Kamal). The tables were written for this project; `tests/messages/people/test_romanized.py` states pairs
of names that match and pairs that must not.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from dataprep.messages.names.matching import words
from dataprep.unicode import tables
from dataprep.unicode.assigned import normalized, over_assigned
from dataprep.unicode.text import MARK, NUMBER, WORD, classes

LATIN, ARABIC, CYRILLIC, GREEK, HEBREW = "latin", "arabic", "cyrillic", "greek", "hebrew"
_BLOCKS = {  # of Unicode, hexadecimal
    LATIN: "41-24f 250-2af 1d00-1d25 1d6b-1d77 1e00-1eff 2c60-2c7f a722-a7ff fb00-fb06 ff21-ff5a",
    ARABIC: "600-6ff 750-77f 8a0-8ff fb50-fdff fe70-fefc", CYRILLIC: "400-52f 1c80-1c8f a640-a69f",
    GREEK: "370-3ff 1f00-1fff", HEBREW: "590-5ff fb1d-fb4f",
}
V = "(?:ou|[aeiou])?"  # a short vowel, which Arabic and Hebrew do not write
_APOSTROPHES = re.compile("['`\u2019\u02bc\u02bf\u02be]")
_JOINED = re.compile("(?:ا?بن|[اأ]?بو)(?=...)")  # "son of" and "father of", written with the name

_CYRILLIC_TABLE = """
щ shch|sch|šč|sh ш sh|sch|ch|s ч ch|tch|tsch|c ж zh|j|sch|z х kh|h|ch|x ц ts|tz|c|z ю yu|iu|ju|u я ya|ia|ja|a
ё yo|io|jo|e|o э e й y|i|j| ы y|i и i|y|ee і i|y ї yi|i|ji є ye|e|ie|je ґ g ъ  ь |i а a б b в v|w г g|h д d е e|ye|ie|je
з z|s к k|c л l м m н n о o п p р r с s|ss т t у u|ou|oo ф f|ph ў u|w ј j|y љ lj|l њ nj|n ћ c|ć|ch ђ dj|d џ dz|dj|j
"""
_CYRILLIC_LONG = """
кс ks|x дж dzh|j|dj|g ия iya|ia|iia|ija ия ia ий iy|y|ii|i|ij ый yy|y|yi|i ья ya|ia|ja|a ье ye|ie|e ев ev|eff|ew
ов ov|off|ow др dr|der тр tr|ter ей ey|ei|ej|ay ай ay|ai|aj|ey ой oy|oi|oj
"""
_GREEK_TABLE = """
α a β v|b γ g|y|gh δ d|dh ε e ζ z η i|e|h θ th|t ι i|y κ k|c λ l μ m ν n ξ x|ks ο o π p ρ r|rh σ s|ss τ t υ y|i|u φ f|ph
χ ch|h|kh|x ψ ps ω o|w
"""
_GREEK_LONG = """
ου ou|u ει i|ei|e οι i|oi αι e|ai|ae αυ av|af|au ευ ev|ef|eu|eff μπ b|mp ντ d|nt|nd γκ g|gk|ng γγ ng|gg|g τζ tz|j|dj
τσ ts
"""
_HEBREW_TABLE = """
ב b|v|bb ג g ד d|dd ז z|s ח h|ch|kh ט t|tt כ k|ch|kh|c|kk ל l|ll מ m|mm נ n|nn ס s|ss|c פ p|f|ph צ tz|ts|z|c ק k|q|c ר r
ש sh|s|ch|sch ת t|th
"""
_HEBREW_FINALS = {"ך": "כ", "ם": "מ", "ן": "נ", "ף": "פ", "ץ": "צ"}
_ARABIC_TABLE = """
ب b|bb|p ت t|tt ث th|t|s ج dj|dg|j|jj|g|gg ح h|hh|7 خ kh|5|x|ch د d|dd ذ dh|d|z|th ر r|rr ز z|zz س s|ss|c ش sh|ch|sch
ص s|ss|c ض d|dh|dd ط t|tt ظ dh|z|d|th غ gh|g ف f|ff|ph ق k|kk|q|qq|c|g|9 ك k|kk|c|q ل l|ll م m|mm ن n|nn ه h|hh پ p
چ ch|tch گ g ڤ v ژ j|zh
"""


def _table(text: str) -> dict[str, str]:
    """Return {letters: regular expression} of a table in which letters and their alternatives alternate."""
    found: dict[str, str] = {}
    for letters, spelled in re.findall(r"(\S+) (\S*)", text.replace("\n", " ")):
        found[letters] = f"{found[letters]}|{spelled}" if letters in found else spelled
    return {letters: f"(?:{spelled})" for letters, spelled in found.items()}


_FULL = {  # scripts that write all vowels: pairs of letters, and letters
    CYRILLIC: (_table(_CYRILLIC_LONG), _table(_CYRILLIC_TABLE)), GREEK: (_table(_GREEK_LONG), _table(_GREEK_TABLE)),
}  # fmt: skip
_HEBREW, _ARABIC = _table(_HEBREW_TABLE), _table(_ARABIC_TABLE)


def script_of(name: str) -> str:
    """Return the script of a name's letters, such as "latin"; "" for several scripts, none, or an unknown one."""
    found = {_script(ord(c)) for c in name if _is_letter(c) and not "\u02b0" <= c <= "\u02ff"}  # apostrophes
    return found.pop() if len(found) == 1 else ""


def _is_letter(c: str) -> bool:
    kinds = int(classes()[ord(c)])
    return kinds & WORD != 0 and kinds & (MARK | NUMBER) == 0 and c != "_"


@functools.cache
def _script(point: int) -> str:
    """Return the script of a letter, such as "latin"; "" for all that are not in _BLOCKS."""
    for script, blocks in _BLOCKS.items():
        for block in blocks.split():
            first, last = (int(end, 16) for end in block.split("-"))
            if first <= point <= last:
                return script
    return ""


@functools.cache
def _unseen() -> frozenset[str]:
    """Return the accents, vowel signs and invisible signs."""
    classed = (tables.CLASSES[name] for name in ("NONSPACING", "FORMAT"))
    return frozenset(chr(point) for spans in classed for point in tables.points(spans))


def plain(latin: str) -> str:
    """Return a name in Latin letters in the form that `romanizations` matches: without case, accents and signs."""
    return " ".join(words(_APOSTROPHES.sub("", latin)))


@functools.lru_cache(maxsize=1 << 14)
def romanizations(name: str) -> re.Pattern[str] | None:
    """Return a regular expression of the Latin spellings of a name, with one space between words or none.

    Returns None for a name in Latin letters, or in a script that is not compared.
    """
    script = script_of(name)
    parts = _words(name)
    if not parts or script in ("", LATIN):
        return None
    if script in _FULL:
        return re.compile(" ?".join(_spelled_out(part, *_FULL[script]) for part in parts))
    return re.compile(" ?".join(map(_hebrew if script == HEBREW else _arabic, _after_servant(parts))))


def _words(name: str) -> list[str]:
    """Return the words of a name, without case, accents, vowel signs and emoji; forms of alef and yeh are kept."""
    plain = over_assigned(str.casefold, normalized("NFKC", name)).replace("\u0640", "")
    bare = "".join(c for c in plain if c not in _unseen())
    return re.findall(r"[^\W\d_]+", bare)


def _spelled_out(word: str, pairs: dict[str, str], letters: dict[str, str]) -> str:
    """Return the pattern of a word in a script that writes all vowels; doubled letters may be single."""
    if script_of(word) == GREEK:
        word = "".join(c for c in normalized("NFD", word) if c not in _unseen()).replace("ς", "σ")
    found, i = [], 0
    while i < len(word):
        pair = word[i : i + 2]
        if pair in pairs and (pair not in ("др", "тр", "ев", "ов") or i + 2 == len(word)):
            found.append(pairs[pair])
            i += 2
            continue
        again = word[i] == pair[1:] and pair not in pairs
        found.append(letters.get(word[i], "") + (letters.get(word[i], "") + "?" if again else ""))
        i += 2 if again else 1
    return "".join(found)


def _hebrew(word: str) -> str:
    found, last = [], len(word) - 1
    for i, c in enumerate(_HEBREW_FINALS.get(c, c) for c in word):
        if c in _HEBREW:
            plain_before = i > 0 and _HEBREW_FINALS.get(word[i - 1], word[i - 1]) in _HEBREW
            found.append((V if plain_before else "") + _HEBREW[c])
        elif c == "ו":
            found.append("(?:v|w)[aei]?" if i == 0 else "(?:[ae]?v[aei]?|ou|oo|o|u)")
        elif c == "י":
            at_end = "(?:ee|ei|ai|ay|y|i|ey)"
            found.append("(?:y|i|j)[aeiou]?" if i == 0 else at_end if i == last else "(?:ee|ei|i|y|e)[aeo]?")
        elif c == "ה":
            found.append("h" + V if i == 0 else "(?:ah|eh|a|e|o)" if i == last else "[aeiou]?h[aeiou]?")
        elif c in "אע":
            found.append("(?:[aeiou])" if i == 0 else "(?:a|e|o)?")
    return "".join(found)


def _after_servant(parts: Sequence[str]) -> list[str]:
    """Return words in which "servant of" and the name of God are one word, and words without an article."""
    found: list[str] = []
    for part in parts:
        if found and found[-1] == "عبد":
            found[-1] += part
        else:
            found.append(part)
    return found


def _arabic(word: str) -> str:
    if word.startswith("عبدال") and len(word) > len("عبدال"):
        return "(?:3|a)bd ?(?:ou|[aeiou])?l? ?" + _arabic_letters(word.removeprefix("عبدال"))
    if word.startswith("ال") and len(word) > 3:
        return "(?:(?:[aeo]l|[ae][tdrzsn]h?) ?)?" + _arabic_letters(word.removeprefix("ال"))
    joined = _JOINED.match(word)
    if joined:
        rest = _arabic(word[joined.end() :])
        return f"(?:{_arabic_letters(joined[0])} ?{rest}|{_arabic_letters(word)})"
    return _arabic_letters(word)


def _arabic_letters(word: str) -> str:
    word = word.replace("رحمن", "رحمان")  # written without its long a
    found = []
    for i, c in enumerate(word):
        before, after = word[i - 1 : i] if i else "", word[i + 1 : i + 2]
        if c in _ARABIC:
            found.append(_consonant(word, i, before, after))
        else:
            found.append(_weak(c, before, after))
    return "".join(found)


def _consonant(word: str, i: int, before: str, after: str) -> str:
    """Return the pattern of a consonant with the short vowel before it, and a mute e of French after it."""
    vowel = V if before in _ARABIC else ""
    if vowel and not after and "و" not in word:
        vowel = "(?:ee?|i)" if i > 2 and word[i - 2] == "ا" else "[aei]?"  # a u would be written
    if word[i] == "ه" and not after:
        return f"(?:{vowel}h|ah?)" if before in _ARABIC else "h?"
    mute = "e?" if not after and before in ("ا", "ي", "و") else ""
    return f"{vowel}{_ARABIC[word[i]]}{mute}"


def _weak(c: str, before: str, after: str) -> str:  # noqa: PLR0911 - one line per letter
    """Return the pattern of a letter that is a vowel or may be one."""
    if c == "ع":
        return _ain(before, after)
    if c in "اأإآ" and not before:
        if after in ("ي", "و"):
            return "(?:e|)" if c == "إ" else "(?:a|e)" if c == "أ" else ""
        return {"إ": "(?:i|e)", "آ": "(?:aa?|e)"}.get(c, "(?:ou|[aeiou])")
    if c in "اأآ":
        return "" if before in ("أ", "آ") else "aa?"
    if c == "إ":
        return "(?:i|e)"
    if c == "و":
        return _waw(before, after)
    if c == "ي":
        return _yeh(before, after)
    return {
        "ى": "(?:ah?|aa|i|y|ee)", "ة": "ah?", "ء": "a?", "ئ": "(?:i|y|ye|e|)", "ؤ": "(?:ou|o|u|)",
    }.get(c, "")  # fmt: skip


def _ain(before: str, after: str) -> str:
    if not before:
        return "3?" if after in ("ا", "و") else "3?(?:a|e)?" if after == "ي" else "(?:3|3?(?:aa?|e|i|ou?|u))"
    if not after:
        return "(?:e|i|3)?"
    if before not in _ARABIC:
        return "3?" if after in "ايو" else "3?[aei]?"
    if after in ("ا", "ي"):
        return "(?:ou|[aeou])3?"
    return "(?:ou|[aeou])?3?" if after == "و" else "(?:aa?|ee?|oo?|ou)3?"


def _waw(before: str, after: str) -> str:
    if not before:
        return "(?:w|ou|o|v)" + (V if after in _ARABIC else "")
    if after in ("ا", "ي", "ة", "ى"):
        return f"{V}(?:w|ou|v|o)" if before in _ARABIC else "(?:w|ou|v)"
    if before in ("ا", "ي"):
        return f"(?:w?(?:ou|oo|u|o)|(?:w|v){V})"
    return "(?:aou|aw|ao|au|ow|ou|oo|o|u)" if after else "(?:ou|oo|o|u|w)"


def _yeh(before: str, after: str) -> str:
    if not before or before in "أاإآ":
        start = "(?:yy?|i|j)" if before else "(?:y|i|j)"
        long = "(?:ee|iy|i|y)" if before == "إ" else f"{start}{V if after in _ARABIC else ''}"
        return long if after else "(?:y|i|ee)"
    if not after:
        return "(?:ee|iy|ii|ie|i|yy?)"
    if after in ("ا", "ة", "ى", "و"):
        return f"{'(?:[aei])?' if before in _ARABIC else ''}(?:yy?|i|iy)"
    return "(?:ee|ie|ia|ya|ye|ai|ay|ei|ey|i|y)" if before != "ع" else "(?:ee|ie|i|y|e)"
