"""Twin of `messages/arabizi.py`: Arabizi in one spelling."""

from __future__ import annotations

import re

from dataprep.messages.arabizi import UNITS


def arabizi(text: str, switches: set[str]) -> str:
    """The rules of `NormalizeArabizi` as regular expressions, one after the other."""
    rules = {
        "digits": [("5", "kh"), ("9", "q"), ("6", "t"), ("4", "gh")], "heh": [("7", "h")],
        "sheen": [("c(?=[hH])", "s"), ("C(?=[hH])", "S"), ("x", "sh"), ("X", "Sh")],
        "repeats": [(r"(?i)([a-z])\1{2,}", r"\1")], "doubles": [(r"(?i)([a-z])\1+", r"\1")],
        "vowels": [("(?<=[oO])[uU]", ""), ("[ow]", "u"), ("[OW]", "U"), ("y", "i"), ("Y", "I"), ("[eE]", "")],
    }  # fmt: skip

    def spelled(m: re.Match) -> str:
        word = m[0]
        is_number = word.isdigit() or (word[0].isdigit() and word[1:].lower() in UNITS)
        if not word.isascii() or re.search(r"\d\d", word) or is_number:
            return word
        for name, rule in rules.items():
            for pattern, new in rule if name in switches else ():
                word = re.sub(pattern, new, word)
        return word

    return re.sub(r"[^\W_]+", spelled, text)
