"""Twin of `messages/arabic.py`: one regular expression per switch."""

from __future__ import annotations

import re

RULES = {
    "tatweel": ("\u0640", ""),
    "diacritics": ("[\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]", ""),
    "alef": ("[\u0622\u0623\u0625\u0671]", "\u0627"),
    "yeh": ("[\u0649\u06cc]", "\u064a"),
    "ta_marbuta": ("\u0629", "\u0647"),
}


def arabic(text: str, switches: set[str]) -> str:
    """Return the text after the rules of `NormalizeArabic` that are on."""
    for name in switches:
        text = re.sub(*RULES[name], text)
    return text
