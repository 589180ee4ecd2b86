"""Twin of `filters/refinedweb`."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from twins.folding import fold_chars
from twins.unicode import NO_WORD, points
from twins.words import kinds_of_words


class Page(NamedTuple):
    """RefinedWeb on one text: reason or None, the text left, lines by what became of them, and what each rule cut.

    cuts: {rule: [times, bytes]}. lost: the share of words that were removed.
    """

    reason: str | None
    text: str
    lines: Counter
    cuts: dict
    lost: float


def refinedweb(text: str, rule) -> Page:
    """RefinedWeb on one text, by the rules of the paper or of DCLM."""
    if rule.preset == "dclm":
        return dclm(text, rule)
    seen, left, before, after, cuts = Counter(), [], 0, 0, {}
    inf = float("inf")
    most_numeric = inf if rule.max_numeric is None else rule.max_numeric
    for raw in text.splitlines(keepends=True):
        line = raw.splitlines()[0]
        ending = raw[len(line) :]
        words, chars = kinds_of_words(line, rule.word_split), "".join(line.split())
        before += len(words)
        if not line.strip():
            left.append(raw)
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
        kept = raw if what == "valid" else ""
        if what == "edited" and (remain := kinds_of_words(edited, rule.word_split)):
            kept = edited.strip() + ending
            after += len(remain)
        left.append(kept)
        after += len(words) if what == "valid" else 0
        cut(cuts, what, raw, kept)
    return page_of(text, "".join(left), seen, cuts, before, after, rule)


def cut(cuts: dict, rule: str, line: str, left: str) -> None:
    """Add to `cuts` what a rule removed from a line."""
    if rule != "valid":
        found = cuts.setdefault(rule, [0, 0])
        found[0], found[1] = found[0] + 1, found[1] + len(line.encode()) - len(left.encode())


def page_of(text: str, left: str, seen: Counter, cuts: dict, before: int, after: int, rule) -> Page:
    """The verdict on a page of which so many words are left."""
    lost = (before - after) / max(1, before)
    most = float("inf") if rule.max_removed_words is None else rule.max_removed_words
    if before - after > most * before:
        return Page("removed_words", "", seen, cuts, lost)
    return Page("empty" if before == 0 or after == 0 else None, left, seen, cuts, lost)


def dclm(text: str, rule) -> Page:
    """The same for DCLM's preset: each rule on the whole page, which is stripped after it."""
    inf, what, lines = float("inf"), {}, text.split("\n")
    page = list(enumerate(lines))
    shown = [i for i, line in page if line.strip()]
    for name, change in dclm_steps(rule, inf):
        left = []
        for i, line in page:
            new = change(line)
            if new != line and (new or "").strip():
                what[i] = name
            elif new != line:
                what[i], new = name, None
            if new is not None:
                left.append((i, new))
        page = left if name == "few_words" else stripped(left)
    seen = Counter(what.get(i, "valid") for i in shown)
    left, cuts = dict(page), {}
    for i, line in enumerate(lines):
        end = "\n" * (i < len(lines) - 1)
        if i in what and i in shown:
            cut(cuts, what[i], line + end, left[i] + end if i in left else "")
    text_left = "\n".join(left.values()).strip()
    return page_of(text, text_left, seen, cuts, counted(text), counted(text_left), rule)


def dclm_steps(rule, inf: float):
    """The rules in DCLM's order: a name, and a function from a line to what is left of it, None if it goes."""
    upper, digits = (inf if x is None else x for x in (rule.max_upper, rule.max_numeric))
    counters = "|".join(re.escape(fold_chars(c)) for c in sorted(rule.counters, key=len, reverse=True))
    counter = re.compile(rf"\W*\d[,.\d]*[kmb]?\s+(?:{counters})\W*")

    def phrases(pattern: str, some: tuple[str, ...]):
        longest_first = sorted(some, key=len, reverse=True)
        either = "|".join("".join("." if c == "." else re.escape(c) for c in p) for p in longest_first)
        search = re.compile(pattern.format(f"(?:{either})"), re.IGNORECASE | re.DOTALL)
        return lambda x: search.sub("", x) if some and len(kinds_of_words(x, rule.word_split)) <= rule_edit else x

    rule_edit = rule.max_edit_words or 0
    yield "upper_case", lambda x: None if x and sum(c in points("UPPER") for c in x) > upper * len(x) else x
    yield "numbers", lambda x: None if x and sum(map(str.isdigit, x)) > digits * len(x) else x
    yield "counter", lambda x: None if rule.counters and counter.fullmatch(sigma(x.lower())) else x
    least = rule.min_line_words or 0
    yield "few_words", lambda x: None if x and len(kinds_of_words(x, rule.word_split)) < least else x
    yield "edited", phrases(r"\s?{}", rule.anywhere)
    yield "edited", phrases(r"\s?{}\Z", rule.suffixes)
    yield "edited", phrases(r"\A{}\s?", rule.prefixes)


def sigma(line: str) -> str:
    """A line whose final sigmas are ordinary ones."""
    return line.replace("ς", "σ")


def stripped(page: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The numbered lines of a page without white space at both ends."""
    while page and not page[0][1].strip():
        page = page[1:]
    while page and not page[-1][1].strip():
        page = page[:-1]
    if page:
        page[0] = page[0][0], page[0][1].lstrip()
        page[-1] = page[-1][0], page[-1][1].rstrip()
    return page


def counted(text: str) -> int:
    """The words that count in the share of removed words: those of fastText that begin with a letter or digit."""
    return sum(w[0].isalnum() for w in re.split(r"[ \t-\r\0]+", text) if w)


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
