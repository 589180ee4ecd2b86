"""Twin of `filters/refinedweb`."""

from __future__ import annotations

import re
from collections import Counter

from twins.folding import fold_chars
from twins.unicode import NO_WORD, points
from twins.words import kinds_of_words


def refinedweb(text: str, rule) -> tuple[str | None, str, Counter]:
    """RefinedWeb on one text: reason or None, the text left, lines by what became of them."""
    seen, left, before, after = Counter(), [], 0, 0
    inf = float("inf")
    most_numeric = inf if rule.max_numeric is None else rule.max_numeric
    dclm = rule.preset == "dclm"
    for raw in re.findall(r"[^\n]*\n|[^\n]+", text) if dclm else text.splitlines(keepends=True):
        line = raw.removesuffix("\n") if dclm else raw.splitlines()[0]
        ending = raw[len(line) :]
        words, chars = kinds_of_words(line, rule.words), line if dclm else "".join(line.split())
        before += counted(line, words, dclm)
        if not line.strip():
            left.append("" if dclm and line else raw)
            continue
        what, edited = "valid", None
        if sum(c in points("UPPER") for c in chars) > (inf if rule.max_upper is None else rule.max_upper) * len(chars):
            what = "upper_case"
        elif sum(c in points("NUMERIC") for c in chars) > most_numeric * len(chars):
            what = "numbers"
        elif is_counter(line, rule.counters):
            what = "counter"
        elif len(words) < (rule.min_line_words or 0):
            what = "few_words"
        elif len(words) <= (rule.max_edit_words or 0):
            edited = without_phrases(line.strip(), rule)
            what = "valid" if edited == line.strip() else "edited"
        seen[what] += 1
        if what == "valid":
            left.append(raw)
            after += counted(line, words, dclm)
        elif what == "edited" and (remain := kinds_of_words(edited, rule.words)):
            left.append(edited.strip() + ending)
            after += counted(edited.strip(), remain, dclm)
    if before - after > (inf if rule.max_removed_words is None else rule.max_removed_words) * before:
        return "removed_words", "", seen
    left = "".join(left).strip() if dclm else "".join(left)
    return ("empty", "", seen) if after == 0 else (None, left, seen)


def counted(line: str, words: list[str], dclm: bool) -> int:
    """The number of words in the share of removed words; DCLM's are between ASCII white space."""
    return sum(w[0].isalnum() for w in re.split(r"[ \t-\r]+", line) if w) if dclm else len(words)


def is_counter(line: str, counters: tuple[str, ...]) -> bool:
    """A number and a counter, perhaps behind signs."""
    line = re.sub(f"^{NO_WORD}+|{NO_WORD}+$", "", line)
    number, thing = [*re.split(r"\s", line, maxsplit=1), ""][:2]
    bare = re.sub(f"^{NO_WORD}+|{NO_WORD}+$", "", thing)
    return bool(re.fullmatch(r"\d+[kmbKMB]?", re.sub(NO_WORD, "", number))) and fold_chars(bare) in {
        fold_chars(c) for c in counters
    }


def without_phrases(line: str, rule) -> str:
    """The line without a phrase at its start, one at its end, and those in between."""
    prefixes, suffixes, anywhere = (
        sorted(map(fold_chars, phrases), key=len, reverse=True)
        for phrases in (rule.prefixes, rule.suffixes, rule.anywhere)
    )
    for phrase in [p for p in prefixes if fold_chars(line).startswith(p)][:1]:
        line = line[len(phrase) :]
    for phrase in [p for p in suffixes if fold_chars(line).endswith(p)][:1]:
        line = line[: -len(phrase)]
    out, i = "", 0
    while i < len(line):
        found = [p for p in anywhere if fold_chars(line).startswith(p, i)]
        out, i = (out, i + len(found[0])) if found else (out + line[i], i + 1)
    return out
