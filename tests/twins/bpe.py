"""Twin of byte pair encoding (`tokens/vocabulary`) and of its pattern "words"."""

from __future__ import annotations

import itertools
from collections import Counter

from twins.unicode import points


def bpe_kind(c: str) -> str:
    """How the pattern "words" sees a character: Letter (marks too), Number, Space, Sign."""
    if c in points("ALPHA") or c in points("MARK"):
        return "L"
    if c in points("NUMBER"):
        return "N"
    return "Space" if c in points("SPACE") and c not in "\x1c\x1d\x1e\x1f" else "Sign"  # Python's four own spaces


def bpe_words(text: str) -> list[str]:
    """The pattern "words", a character at a time: an optional sign and letters, digits by three, signs, white space."""

    def run(i: int, kind: str, most: int = len(text)) -> int:
        stop = i
        while stop < min(len(text), i + most) and bpe_kind(text[stop]) == kind:
            stop += 1
        return stop

    words, i = [], 0
    while i < len(text):
        led = i + (bpe_kind(text[i]) not in "LN" and text[i] not in "\r\n")
        spaced = i + (text[i] == " ")
        if (stop := run(led, "L")) == led and (stop := run(i, "N", 3)) == i:
            stop = run(spaced, "Sign")
            if stop > spaced:
                stop += len(text[stop:]) - len(text[stop:].lstrip("\r\n"))
            else:
                stop = run(i, "Space")
        words.append(text[i:stop])
        i = stop
    return words


def bpe_learn(words: Counter, n_merges: int, min_count: int, order) -> list[tuple[bytes, bytes]]:
    """BPE as published: count all pairs, merge the most frequent everywhere, again; `order` of bytes settles ties."""
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
        tokens += bpe_merge_all(word.encode(), merges)
    return tokens


def bpe_merge_all(word: bytes, merges) -> tuple[bytes, ...]:
    """The tokens of one word."""
    pieces = tuple(bytes([b]) for b in word)
    for pair in merges:
        pieces = bpe_merge(pieces, pair)
    return pieces
