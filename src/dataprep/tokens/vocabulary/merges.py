"""Learn the merges of a byte-level BPE (Sennrich et al. 2016): merge the most frequent pair, repeatedly.

The texts are read once and only their distinct words are kept, so memory grows with their number. Each pair has a list
of its offsets, and a merge visits only these. All merges together therefore take time in proportion to the bytes of the
words, however long a word is. The merges equal those that the library `tokenizers` learns: if pairs are equally
frequent, the pair of the older tokens (smaller ids) is merged first.

Slow reference for the tests: tests/twins/bpe.py
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer as Engine
from tokenizers import models, pre_tokenizers, trainers

from dataprep.errors import PlanError
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, Int

from .cutting import machine_of
from .formats import CHAR_OF, parts_of_json, pre_tokenizer
from .pairs import (
    FREED,
    HEAP_SIZE,
    N_MERGES,
    N_PAIRS,
    Occurrences,
    Pairs,
    add_pair,
    find_pair,
    new_entry,
    no_pairs,
    pop,
    push,
    twice,
)
from .word_counts import I32, WordCounts, count_words, texts_of

if TYPE_CHECKING:
    from dataprep.tokens.sample import Drawn

log = logging.getLogger("dataprep")

ORDER = sorted(range(256), key=CHAR_OF.__getitem__)  # the bytes, oldest token first
PAIRS = 1 << 17  # capacity for pairs at first: twice the number that two bytes can make
MAX_SYMBOLS = (1 << 31) // 3  # offsets are 32-bit, and each byte of a word may need three entries


def learn_merges(
    texts: Iterable[Sequence[str] | pa.LargeStringArray], n_merges: int, pattern: str, min_count: int = 2
) -> list[tuple[bytes, bytes]]:
    """Learn a BPE from batches of texts; return at most `n_merges` merges (left, right), as bytes, in order.

    The library `tokenizers` learns the same merges.

    - pattern: divides texts into words: a name or a regular expression.
    - min_count: a pair that occurs fewer times is not merged.
    """
    machine = machine_of(pattern)
    if machine is None:
        return learn_by_tokenizers(texts, n_merges, pattern, min_count)
    return merges_of_words(count_words(texts, machine), n_merges, min_count)


def learn_from_sample(drawn: Drawn, n_merges: int, pattern: str, min_count: int) -> list[tuple[bytes, bytes]]:
    """Learn a BPE from a sample of a corpus; return at most `n_merges` merges (left, right), as bytes, in order.

    If the sample yields fewer merges, a warning is logged.

    - pattern, min_count: as in `learn_merges`.

    Raises PlanError if the training split has no text.
    """
    if not sum(drawn.there.values()):
        msg = "the training split has no text to learn a vocabulary from; check the input and val="
        raise PlanError(msg)
    merges = learn_merges((batch.column("text") for batch in drawn.batches()), n_merges, pattern, min_count)
    if len(merges) < n_merges:
        larger = " a larger sample=," if sum(drawn.taken.values()) < sum(drawn.there.values()) else ""
        log.warning(
            "the %s has %s merges, not %s, so the vocabulary is smaller; provide more text,%s or a smaller vocab_size=",
            "sample" if larger else "text", *(f"{n:,}" for n in (len(merges), n_merges)), larger,
        )  # fmt: skip
    return merges


def learn_by_tokenizers(
    texts: Iterable[Sequence[str] | pa.LargeStringArray], n_merges: int, pattern: str, min_count: int = 2
) -> list[tuple[bytes, bytes]]:
    """Return at most `n_merges` merges (left, right), as bytes, that the library `tokenizers` learns from texts.

    - pattern: any regular expression that divides texts into words.
    - min_count: a pair that occurs fewer times is not merged.
    """
    engine = Engine(models.BPE())
    engine.pre_tokenizer = pre_tokenizer(pattern)
    trainer = trainers.BpeTrainer(
        vocab_size=256 + n_merges,
        min_frequency=min_count,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=sys.stderr.isatty(),
    )
    engine.train_from_iterator((texts_of(batch).to_pylist() for batch in texts), trainer)
    return parts_of_json(json.loads(engine.to_str()), "the trained vocabulary")[1]


class LinkedTokens(NamedTuple):
    """The tokens of all distinct words as linked lists; a token is stored at the offset of its first byte.

    Attributes:
        token: the token that begins at an offset, or -1.
        after: the offset of the next token of the same word, or -1.
        before: the offset of the previous token of the same word, or -1.
        weight: the number of occurrences of each word.
        word: the number of the word at each offset.
    """

    token: I32  # the token that begins here; -1 in its middle
    after: I32  # the offset of the word's next token, or -1
    before: I32
    weight: I64  # number of times each word occurs
    word: I32  # the number of the word at each offset


class MergeRule(NamedTuple):
    """A merge: the pair of tokens (left, right) becomes the token `new`."""

    left: Int
    right: Int
    new: Int


class Fresh(NamedTuple):
    """The pairs of neighbouring tokens that the current merge creates: their counts, and the lists of their offsets.

    Index [0, t] is the pair (token t, new token), index [1, t] the pair (new token, token t).

    Attributes:
        counts: int64[2, tokens], the number of occurrences of each pair.
        head: the first entry of the list of each pair.
        tail: the last entry of the list of each pair.
        touched: for each of the two rows, the tokens t that have a pair, in order of first occurrence.
        n: int64[2], the number of these tokens per row.
    """

    counts: I64  # by side and token, int64[2, tokens]
    head: I32
    tail: I32
    touched: I32  # tokens by side, in the order of their first occurrence
    n: I64  # number of `touched` tokens by side


def merges_of_words(words: WordCounts, n_merges: int, min_count: int) -> list[tuple[bytes, bytes]]:
    """Return at most `n_merges` merges (left, right), as bytes, in the order in which they are learned from `words`.

    A pair is merged if it occurs at least `min_count` times, and at least once.
    """
    n, least = words.size, max(1, min_count)
    if n > MAX_SYMBOLS:
        msg = (
            f"the sample's distinct words have {n:,} bytes, over {MAX_SYMBOLS:,}; set a smaller sample= or max_bytes="
        )
        raise PlanError(msg)
    text = _text(words)
    tokens = 256 + n_merges + 1
    head, tail, touched = (np.zeros((2, tokens), np.int32) for _ in range(3))
    fresh = Fresh(np.zeros((2, tokens), np.int64), head, tail, touched, np.zeros(2, np.int64))
    entry, link, state = np.empty(3 * n + 1, np.int32), np.empty(3 * n + 1, np.int32), np.array([0, 0, 1, 0, 0])
    pairs, made = no_pairs(PAIRS), np.empty((n_merges, 2), np.int32)
    _first_pairs(text, pairs, entry, link, state, least)
    while _merge(text, pairs, fresh, entry, link, state, made, least):
        pairs = twice(pairs, int(state[N_PAIRS]))
    made = made[: state[N_MERGES]]
    pieces = [bytes([b]) for b in ORDER]
    for left, right in made.tolist():
        pieces.append(pieces[left] + pieces[right])
    return [(pieces[left], pieces[right]) for left, right in made.tolist()]


def _text(words: WordCounts) -> LinkedTokens:
    """Return the distinct words as tokens of one byte each."""
    n, ends = words.size, words.ends
    token = np.argsort(ORDER).astype(np.int32)[words.bytes]
    after, before = np.arange(1, n + 1, dtype=np.int32), np.arange(-1, n - 1, dtype=np.int32)
    after[ends - 1] = -1
    before[np.append(0, ends[:-1])[: len(ends)]] = -1
    word = np.repeat(np.arange(words.n, dtype=np.int32), np.diff(ends, prepend=0))
    return LinkedTokens(token, after, before, words.counts, word)


@kernel
def _first_pairs(text: LinkedTokens, pairs: Pairs, entry: I32, link: I32, state: I64, least: Int) -> None:
    """Add the pairs of bytes."""
    count = np.zeros(1 << 16, np.int64)
    head, tail = np.zeros(1 << 16, np.int32), np.zeros(1 << 16, np.int32)
    for i in range(len(text.token)):
        if text.after[i] >= 0:
            pair = np.int64(text.token[i]) << 8 | np.int64(text.token[text.after[i]])
            count[pair] += text.weight[text.word[i]]
            e = new_entry(i, entry, link, state)
            if head[pair]:
                link[tail[pair]] = e
            else:
                head[pair] = e
            tail[pair] = e
    for b in range(1 << 16):
        if head[b]:
            add_pair(pairs, b >> 8, b & 255, Occurrences(count[b], head[b], tail[b]), link, state, least)


@kernel(_nrt=False)
def _note(fresh: Fresh, side: Int, token: Int, offset: Int, weight: Int, entry: I32, link: I32, state: I64) -> None:
    """Add an offset to a pair that the current merge makes."""
    e = new_entry(offset, entry, link, state)
    if fresh.head[side, token]:
        link[fresh.tail[side, token]] = e
    else:
        fresh.head[side, token] = e
        fresh.touched[side, fresh.n[side]] = token
        fresh.n[side] += 1
    fresh.tail[side, token] = e
    fresh.counts[side, token] += weight


@kernel(_nrt=False)
def _less(pairs: Pairs, left: Int, right: Int, weight: Int) -> None:
    """Subtract `weight` from the count of a pair; its old offset remains in the list, where `_merge_at` skips it."""
    p = find_pair(pairs, left, right)
    if p >= 0:
        pairs.counts[p] -= weight


@kernel
def _merge(
    text: LinkedTokens, pairs: Pairs, fresh: Fresh, entry: I32, link: I32, state: I64, made: I32, least: Int
) -> bool:
    """Merge until `made` is full or no pair is frequent enough; return whether `pairs` must grow first."""
    while state[N_MERGES] < len(made) and state[HEAP_SIZE]:
        new = 256 + state[N_MERGES]
        if state[N_PAIRS] + 2 * new + 2 > len(pairs.key):
            return True
        p = pop(pairs, state)
        if pairs.counts[p] != pairs.seen[p]:
            if pairs.counts[p] >= least:
                push(pairs, state, p)
            continue
        left, right = np.int64(pairs.key[p] >> np.uint64(32)), np.int64(pairs.key[p] & np.uint64(0xFFFFFFFF))
        made[state[N_MERGES], 0], made[state[N_MERGES], 1] = left, right
        state[N_MERGES] += 1
        rule = MergeRule(left, right, new)
        e = np.int64(pairs.head[p])
        while e:
            _merge_at(entry[e], rule, text, pairs, fresh, entry, link, state)
            following = link[e]
            link[e] = state[FREED]
            state[FREED] = e
            e = np.int64(following)
        for side in range(2):
            for i in range(fresh.n[side]):
                t = int(fresh.touched[side, i])
                a, b = (t, new) if side == 0 else (new, t)
                found = Occurrences(fresh.counts[side, t], fresh.head[side, t], fresh.tail[side, t])
                add_pair(pairs, a, b, found, link, state, least)
                fresh.counts[side, t], fresh.head[side, t] = 0, 0
            fresh.n[side] = 0
    return False


@kernel(_nrt=False)
def _merge_at(
    i: Int, rule: MergeRule, text: LinkedTokens, pairs: Pairs, fresh: Fresh, entry: I32, link: I32, state: I64
) -> None:
    """Merge the pair at offset `i` if it is still there, and update the counts of the pairs next to it."""
    left, right, new = rule
    if text.token[i] != left:
        return
    j = text.after[i]
    if j < 0 or text.token[j] != right:
        return
    weight = text.weight[text.word[i]]
    back, ahead = text.before[i], text.after[j]
    text.token[i], text.token[j], text.after[i] = new, -1, ahead
    if back >= 0:
        t = text.token[back]
        if t == new:
            fresh.counts[1, left] -= weight  # noted a moment ago, when the token before this one was merged
        else:
            _less(pairs, t, left, weight)
        _note(fresh, 0, t, back, weight, entry, link, state)
    if ahead >= 0:
        t = text.token[ahead]
        text.before[ahead] = i
        _less(pairs, right, t, weight)
        _note(fresh, 1, t, i, weight, entry, link, state)
