"""Slow twin of the audit's search for people: every pattern of every name is tried on every text."""

from __future__ import annotations

import re

from dataprep.core.output.audit import BYTES, FRAGMENT, TEXT
from dataprep.messages.names import known as K
from dataprep.messages.names.matching import words
from dataprep.messages.names.phones import Phones, phone
from dataprep.messages.names.unspaced import is_unspaced

LETTER = r"[^\W_]"


def patterns(name):
    """Yield (spelling, pattern, fewest letters) of a name or an address."""
    found = K.parts(name)
    if "@" in name.strip()[1:]:
        address = K.folded_text(name.strip())
        yield address, rf"(?<!{LETTER}){re.escape(address)}(?!{LETTER})", 1
    elif found and not phone(name) and not "".join(found).isdecimal():
        yield " ".join(found), rf"(?<!{LETTER}){K._GAP.join(map(re.escape, found))}(?!{LETTER})", K._LETTERS
        if is_unspaced("".join(words(name))):
            yield "".join(found), f"(?:{K._GAP})?".join(map(re.escape, found)), 1


def found(people, strings):
    """(name, row, stays) of each name and number in the strings."""
    own = K._spelled(people.own)
    raw = K.BETWEEN.join(strings.values)
    text = K.folded_text(raw)
    hits = []
    for name in {*people.names, *people.own}:
        for spelled, pattern, least in patterns(name):
            single = re.fullmatch(f"{LETTER}+", spelled) is not None
            too_short = len(spelled.encode()) < K._SURE_BYTES
            if single and (strings.how in (FRAGMENT, TEXT) or (strings.how == BYTES and too_short)):
                continue
            binary = strings.how == BYTES and any(c in value for value in strings.values for c in "\0\ufffd")
            if binary and len(spelled.encode()) < K._SURE_NAMES and "@" not in spelled:
                continue
            stays = spelled in own or (single and (len(spelled) < least or spelled in people.stay))
            for m in re.finditer(pattern, text):
                row = text.count(K.BETWEEN, 0, m.start())
                if stays or not single or not people._is_own(strings.values[row], text, m.end()):
                    hits.append((spelled, row, stays))
    if strings.how != BYTES:
        for start, end, number in Phones({n for name in people.names if (n := phone(name))}).find(raw):
            if not (raw[start - 1 : start].isalpha() or raw[end : end + 1].isalpha()):
                hits.append((number, raw.count(K.BETWEEN, 0, start), number in own))
    return hits
