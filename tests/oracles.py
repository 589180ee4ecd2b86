"""Slow, plain twins of the fast code: each says in a few lines of Python what its kernel must answer."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter

# --- C4 (filters/c4.py) -----------------------------------------------------------------------------------------------

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
        lower = line.lower().replace("ς", "σ")
        if rule.end_marks and (not line.endswith(rule.end_marks) or line.endswith(rule.not_end_marks or ("\n",))):
            what = "no_end_mark"
        elif len(line.split()) < (rule.min_words or 0):
            what = "too_few_words"
        elif rule.lorem_ipsum and "lorem ipsum" in lower:
            return "lorem_ipsum", "", seen
        elif rule.javascript and "javascript" in lower:
            what = "javascript"
        elif rule.curly_bracket and "{" in line:
            return "curly_bracket", "", seen
        elif any(p.lower().replace("ς", "σ") in lower for p in rule.policy or ()):
            what = "policy"
        else:
            valid.append(line)
            sentences += c4_sentences(line.strip(), rule.sentence_marks)
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
        small = (after.islower() or after.istitle()) and not after.isupper()
        initial = m[1] == "." and re.search(r"(?<![\w'])[^\W\d_]\Z", before)
        count += not (set(m[1]) == {"."} and (small or initial))
    return count


# --- BPE (tokens/) ----------------------------------------------------------------------------------------------------


def bpe_words(text: str) -> list[str]:
    """The pattern "words", a character at a time: an optional sign and letters, digits by three, signs, white space."""

    def run(i: int, is_kind, most: int = len(text)) -> int:
        while i < len(text) and most and is_kind(text[i]):
            i, most = i + 1, most - 1
        return i

    def letter(c: str) -> bool:
        return unicodedata.category(c)[0] in "LM"

    def number(c: str) -> bool:
        return unicodedata.category(c)[0] == "N"

    def space(c: str) -> bool:
        return c.isspace() and c not in "\x1c\x1d\x1e\x1f"  # Python's own four, which are not White_Space

    def sign(c: str) -> bool:
        return not (letter(c) or number(c) or space(c))

    words, i = [], 0
    while i < len(text):
        led = i + (not letter(text[i]) and not number(text[i]) and text[i] not in "\r\n")
        spaced = i + (text[i] == " ")
        if (stop := run(led, letter)) > led:
            pass
        elif (stop := run(i, number, 3)) > i:
            pass
        elif (stop := run(spaced, sign)) > spaced:
            stop = run(stop, lambda c: c in "\r\n")
        else:
            stop = run(i, space)
        words.append(text[i:stop])
        i = stop
    return words


def bpe_learn(words: Counter, n_merges: int, min_count: int, order) -> list[tuple[bytes, bytes]]:
    """BPE as published: count all pairs, merge the most frequent everywhere, again; `order` ranks single bytes in ties."""
    split = {word: tuple(bytes([b]) for b in word.encode()) for word in words}
    rank = {bytes([b]): order(b) for b in range(256)}
    merges: list[tuple[bytes, bytes]] = []
    while len(merges) < n_merges:
        pairs = Counter()
        for word, pieces in split.items():
            for pair in itertools.pairwise(pieces):
                pairs[pair] += words[word]
        best = max(pairs, key=lambda p: (pairs[p], -rank[p[0]], -rank[p[1]]), default=None)
        if best is None or pairs[best] < max(1, min_count):
            break
        merges.append(best)
        rank[best[0] + best[1]] = 256 + len(merges)
        split = {word: bpe_merge(pieces, best) for word, pieces in split.items()}
    return merges


def bpe_merge(pieces: tuple[bytes, ...], pair: tuple[bytes, bytes]) -> tuple[bytes, ...]:
    """Every occurrence of the pair as one piece, from the left."""
    out, i = [], 0
    while i < len(pieces):
        met = pieces[i : i + 2] == pair
        out.append(pieces[i] + pieces[i + 1] if met else pieces[i])
        i += 1 + met
    return tuple(out)


def bpe_encode(text: str, merges) -> list[bytes]:
    """The tokens of a text: in each word, the rules one after the other, in the order they were learned."""
    tokens: list[bytes] = []
    for word in bpe_words(text):
        pieces = tuple(bytes([b]) for b in word.encode())
        for pair in merges:
            pieces = bpe_merge(pieces, pair)
        tokens += pieces
    return tokens
