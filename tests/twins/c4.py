"""Twin of `filters/c4`."""

from __future__ import annotations

import re
from collections import Counter

from twins.unicode import ALPHA, EXTENDING, WORD, lower, points
from twins.words import kinds_of_words

CITATION = re.compile(r"\[(?:\d*|edit|citation needed)\]")


def c4(text: str, rule) -> tuple[str | None, str, Counter]:
    """C4 on one page with the rules of `rule` (a `C4`): reason or None, the text left, lines by what became of them."""
    seen, valid, sentences = Counter(), [], 0
    for raw in text.splitlines():
        line = raw.strip()
        what = None
        if rule.max_word_chars is not None and any(len(w) > rule.max_word_chars for w in line.split()):
            seen["word_too_long"] += 1
            continue
        line = CITATION.sub("", line) if rule.citations else line
        folded = lower(line).replace("ς", "σ")
        if rule.terminal_punctuation and (
            not line.endswith(rule.terminal_punctuation) or line.endswith(rule.not_terminal_punctuation or ("\n",))
        ):
            what = "no_terminal_punctuation"
        elif len(kinds_of_words(line, rule.word_split)) < (rule.min_words or 0):
            what = "too_few_words"
        elif rule.lorem_ipsum and "lorem ipsum" in folded:
            return "lorem_ipsum", "", seen
        elif rule.javascript and "javascript" in folded:
            what = "javascript"
        elif rule.curly_bracket and "{" in line:
            return "curly_bracket", "", seen
        elif any(lower(p).replace("ς", "σ") in folded for p in rule.policy or ()):
            what = "policy"
        else:
            valid.append(line)
            sentences += c4_sentences(line.strip(), rule.sentence_terminals)
        seen[what or "valid"] += 1
    left = "\n".join(valid).strip()
    if sentences < (rule.min_sentences or 0):
        return "too_few_sentences", "", seen
    return (None if left else "empty"), left, seen


def c4_sentences(line: str, marks: tuple[str, ...]) -> int:
    """One sentence, and one more behind each run of marks that ends one with text to come."""
    count = 1 if line else 0
    run = f"[{re.escape(''.join(marks))}]+" if marks else "(?!)"
    for m in re.finditer(rf"({run})([\"')\]}}»’”]*)(\s*)", line):
        before, after = line[: m.start()], line[m.end() : m.end() + 1]
        if not after or not (m[3] or ord(m[1][-1]) > 0x7F):
            continue
        small = after in points("CASED") and after not in points("UPPER")
        initial = m[1] == "." and re.search(rf"(?<!{WORD})(?<!'){ALPHA}\Z", EXTENDING.sub("", before))
        count += not (set(m[1]) == {"."} and (small or initial))
    return count
