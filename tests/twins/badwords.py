"""Twin of `BadWords` (`filters/word_automaton.py`)."""

from __future__ import annotations

import re

from twins.canonical import canonical
from twins.folding import fold_chars
from twins.unicode import WORD, points
from twins.words import HIDDEN, kind

SIGN = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u0898-\u089f\u08ca-\u08e1\u08e3-\u08ff]"
)
CLITICS = "[وف]?(?:ال|بال|كال|لل)|و|"
MORE = "[وف]?[بكل]|ف|"


def bad_words(text: str, entries: tuple[str, ...], whole_words: bool, clitics: bool) -> int:
    """The places of a text where an entry ends, of those without vowel signs and of those with."""
    text, *entries = (shown(canonical(one, "forms")) for one in (text, *entries))
    entries = [entry for entry in entries if entry]
    plain = [e for e in entries if not SIGN.search(e)]
    signed = [e for e in entries if SIGN.search(e)]
    unsigned = re.sub(f"(?!\u064b){SIGN.pattern}", "", text)
    return ends(unsigned, plain, whole_words, clitics) + ends(text, signed, whole_words, clitics)


def shown(text: str) -> str:
    """A text without the invisible characters that belong to the words around them."""
    hidden = {c for c in points("FORMAT") | HIDDEN if kind(c, False) == "EXTEND"}
    return "".join(c for c in text if c not in hidden)


def ends(text: str, entries: list[str], whole_words: bool, clitics: bool) -> int:
    """The places of a text where an entry ends."""
    folded, part = fold_chars(text), [bool(re.match(WORD, c)) or c in points("MARK") for c in text]

    def ends_at(entry: str, i: int) -> bool:
        endings = ENDINGS if clitics and re.match("[\u0620-\u064a]", entry) else [""]
        return any(ends_so(entry, folded[:i].removesuffix(e), i) for e in endings if folded[:i].endswith(e))

    def ends_so(entry: str, head: str, i: int) -> bool:
        a = len(head) - len(entry)
        if not head.endswith(fold_chars(entry)):
            return False
        if whole_words and part[i : i + 1] == [True]:
            return False
        letters = sum(bool(re.match(WORD, c)) for c in SIGN.sub("", entry))
        before = ""
        if clitics and letters > 2 and re.match("[\u0620-\u064a]", entry):
            before = CLITICS + MORE * (letters > 3)
        starts = [a - len(c) for c in ALL if re.fullmatch(before, c) and folded[:a].endswith(c)]
        return not whole_words or any(part[s - 1 : s] != [True] for s in starts)

    return sum(any(ends_at(e, i) for e in entries) for i in range(1, len(text) + 1))


ENDINGS = ["", "\u064b", "\u064b\u0627", "\u0627\u064b"]
ALL = ["", "و", "ف", "ب", "ك", "ل", *("وب", "وك", "ول", "فب", "فك", "فل")]
ALL += [a + b for a in ("", "و", "ف") for b in ("ال", "بال", "كال", "لل")]
