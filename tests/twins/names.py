"""Twin of `messages/names`: every known name at every word."""

from __future__ import annotations

import re
import unicodedata

from dataprep.messages.names.kernel import MAX_GAP, MAX_PREFIXES, MIN_REPEATED, STRETCHED
from dataprep.messages.names.matching import BREAK, GAP, SKIPPED, folded

NO_LETTER = (SKIPPED, GAP, BREAK)


def names_in(text: str, terms: list[str], prefixes: str) -> list[tuple[int, int, int]]:
    """(first, end, term) in characters: at each word the longest term, else behind at most two prefixes.

    The letter of a typed line break, which is a backslash and an n, is a prefix, too.
    """
    kinds = [int(folded()[ord(c)]) for c in text]
    found, i = [], 0
    while i < len(text):
        if kinds[i] in NO_LETTER or next((k for k in reversed(kinds[:i]) if k), GAP) not in NO_LETTER:
            i += 1
            continue
        letters = [j for j in range(i, len(text)) if kinds[j] not in NO_LETTER][: MAX_PREFIXES + 1]
        hit = None
        for tried, at in enumerate(letters):
            escaped = i > 0 and text[i - 1] == "\\" and text[i] in "nrt"
            before = [kinds[j] for j in letters[escaped:tried]]
            if any(k not in map(ord, prefixes) for k in before) or any(kinds[j] in NO_LETTER[1:] for j in range(i, at)):
                break
            ends = [(e, n) for n, t in enumerate(terms) for e in [name_end(kinds, at, t)] if e]
            if ends:
                end, term = max(ends)
                while end < len(text) and kinds[end] == SKIPPED and not 0x2000 <= ord(text[end]) < 0x2070:
                    end += 1  # accents of the last letter
                hit = (at, end, term)
                break
        found += [hit] if hit else []
        i = hit[1] if hit else i + 1
    return found


def has_digit_at_letter(text: str) -> bool:
    """Whether a number of Unicode is next to a letter, apart from signs that cannot be seen."""
    seen = [c for c in text if folded()[ord(c)] != SKIPPED]
    number = [unicodedata.category(c)[0] == "N" for c in seen]
    letter = [not n and int(folded()[ord(c)]) not in NO_LETTER for c, n in zip(seen, number, strict=True)]
    return any((number[i] and letter[i + 1]) or (letter[i] and number[i + 1]) for i in range(len(seen) - 1))


def name_end(kinds: list[int], i: int, term: str) -> int | None:
    """Where a term that begins at `i` ends, as a whole word or stretched; None if it does not stand there."""
    for c in term:
        while i < len(kinds) and kinds[i] == SKIPPED:
            i += 1
        if c == " ":
            start = i
            while i < len(kinds) and kinds[i] in (SKIPPED, GAP):
                i += 1
            if not 1 <= kinds[start:i].count(GAP) <= MAX_GAP:
                return None
        elif i == len(kinds) or kinds[i] != ord(c):
            return None
        else:
            i += 1
    rest = i
    while rest < len(kinds) and kinds[rest] in (SKIPPED, ord(term[-1])):
        rest += 1
    more = kinds[i:rest].count(ord(term[-1]))
    while rest > i and kinds[rest - 1] == SKIPPED:
        rest -= 1
    follows = next((k for k in kinds[rest:] if k != SKIPPED), BREAK)
    if follows not in (GAP, BREAK) or 0 < more < STRETCHED:
        return repeated(kinds, i, term)
    return rest if more else i


def repeated(kinds: list[int], i: int, term: str) -> int | None:
    """Where the word ends that goes on at `i`, after the term, with the term again and again, or x and a number."""
    stop = next((j for j in range(i, len(kinds)) if kinds[j] in (GAP, BREAK)), len(kinds))
    rest = "".join(chr(k) for k in kinds[i:stop] if k != SKIPPED)
    again = re.fullmatch(f"(x?{re.escape(term)})*(x[0-9]+)?", rest)
    return stop if again and " " not in term and len(term) >= MIN_REPEATED else None
