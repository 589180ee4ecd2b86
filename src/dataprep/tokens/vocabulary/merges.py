"""Learn the merges of a byte-level BPE (Sennrich et al. 2016): merge the most frequent pair, repeatedly.

The texts are read once and only their distinct words are kept, so memory grows with their number. Each pair has a list
of its places, in ascending order, and a merge visits only these. It then stores the places of the pairs that it made,
one pair after another. All merges together therefore take time in proportion to the bytes of the words, however long a
word is. The merges equal those that the library `tokenizers` learns: if pairs are equally frequent, the pair of the
older tokens (smaller ids) is merged first.

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
    LEVEL,
    N_MERGES,
    N_PAIRS,
    USED,
    Pairs,
    add_pair,
    fill_heap,
    find_pair,
    key_of,
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
FIRST = 257  # the number of the first token that is made; 1 to 256 are the bytes
MAX_SYMBOLS = (1 << 31) // 3  # indexes are 32-bit, and each byte of a word may need three places


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


class TokenCells(NamedTuple):
    """The distinct words, with a cell for each byte, and an empty cell before each word and after the last one.

    A token is stored in the cells of its first and its last byte, so that both of its neighbours are found without
    links. Tokens are numbered from 1; no token that can be merged begins in a cell with the number 0.

    Attributes:
        token: the number of the token that begins or ends in each cell, or 0.
        weight: the number of occurrences of the word of each cell.
        size: the number of bytes of each token.
    """

    token: I32
    weight: I64
    size: I32


class Near(NamedTuple):
    """The tokens before (index 0) and after (index 1) the places of the current merge.

    Attributes:
        counts: int64[2, tokens], how often each token is there.
        sizes: int64[2, tokens], at how many places.
        at: int64[2, tokens], the index at which the next place of the new pair with this token is stored.
        found: int32[2, tokens], the tokens that are there.
        n: int64[2], the number of `found` tokens.
        places: int32[3, n], the places of the merge, with the tokens before and after.
    """

    counts: I64
    sizes: I64
    at: I64
    found: I32
    n: I64
    places: I32


class MergeRule(NamedTuple):
    """A merge: the pair of tokens (left, right) becomes the token `new`."""

    left: Int
    right: Int
    new: Int


def merges_of_words(words: WordCounts, n_merges: int, min_count: int) -> list[tuple[bytes, bytes]]:
    """Return at most `n_merges` merges (left, right), as bytes, in the order in which they are learned from `words`.

    A pair is merged if it occurs at least `min_count` times, and at least once.
    """
    n, least = len(words.bytes), max(1, min_count)
    n_merges = min(n_merges, n)
    if n > MAX_SYMBOLS:
        msg = f"the sample's distinct words have {n:,} bytes, over {MAX_SYMBOLS:,}; set a smaller sample= or max_bytes="
        raise PlanError(msg)
    tokens = FIRST + n_merges
    n_cells = n + len(words.ends) + 1
    text = TokenCells(np.zeros(n_cells, np.int32), np.empty(n_cells, np.int64), np.ones(tokens, np.int32))
    number = np.argsort(ORDER).astype(np.int32) + 1
    n_cells = _lay_out(words, number, text)
    text = text._replace(token=text.token[:n_cells], weight=text.weight[:n_cells])
    pool, pairs, state = np.empty(3 * n, np.int32), no_pairs(PAIRS), np.array([1, 0, 0, 0, 0])
    most = _first_pairs(text, pairs, pool, state, least)
    counts, sizes, at = (np.zeros((2, tokens), np.int64) for _ in range(3))
    near = Near(
        counts, sizes, at, np.empty((2, tokens), np.int32), np.zeros(2, np.int64), np.empty((3, most), np.int32)
    )
    made = np.empty((n_merges, 2), np.int32)
    while _merge(text, pairs, near, pool, state, made, least):
        pairs = twice(pairs, state)
    pieces = [b"", *(bytes([b]) for b in ORDER)]
    merges = []
    for left, right in made[: state[N_MERGES]].tolist():
        merges.append((pieces[left], pieces[right]))
        pieces.append(pieces[left] + pieces[right])
    return merges


@kernel
def _lay_out(words: WordCounts, number: I32, text: TokenCells) -> Int:
    """Store the words, without those of one byte, as tokens of one byte each; return the number of cells.

    - number: the token of each byte.
    """
    start, cell = np.uint64(0), np.uint64(1)
    for w in range(len(words.ends)):
        stop = np.uint64(words.ends[w])
        if stop - start > np.uint64(1):
            for i in range(start, stop):
                text.token[cell], text.weight[cell] = number[words.bytes[i]], words.counts[w]
                cell += np.uint64(1)
            cell += np.uint64(1)
        start = stop
    return np.int64(cell)


@kernel
def _first_pairs(text: TokenCells, pairs: Pairs, pool: I32, state: I64, least: Int) -> Int:
    """Add the pairs of bytes, with their places in `pool`; return the largest number of places of a pair."""
    token, most, highest = text.token, np.int64(0), np.int64(0)
    counts, sizes, at = np.zeros((3, FIRST * FIRST), np.int64)
    for i in range(len(token) - 1):
        pair = token[i] * FIRST + token[i + 1]
        counts[pair] += text.weight[i]
        sizes[pair] += 1
    for left in range(FIRST):
        for right in range(FIRST):
            pair = left * FIRST + right
            at[pair] = -1
            if left and right and sizes[pair] and counts[pair] >= least:
                at[pair] = state[USED]
                most, highest = max(most, sizes[pair]), max(highest, counts[pair])
                state[LEVEL] = highest + 1  # the heap is filled later
                add_pair(pairs, key_of(left, right), counts[pair], sizes[pair], state)
    for i in range(len(token) - 1):
        pair = token[i] * FIRST + token[i + 1]
        if at[pair] >= 0:
            pool[at[pair]] = i
            at[pair] += 1
    return most


@kernel
def _merge(text: TokenCells, pairs: Pairs, near: Near, pool: I32, state: I64, made: I32, least: Int) -> bool:
    """Merge until `made` is full or no pair is frequent enough; return whether `pairs` must grow first."""
    while state[N_MERGES] < len(made) and fill_heap(pairs, least, state):
        key, seen = pairs.heap[0], pairs.seen[0]
        p = find_pair(pairs, key)
        new = FIRST + state[N_MERGES]
        if state[N_PAIRS] + 2 * min(np.int64(pairs.size[p]), new) > len(pairs.key):
            return True
        pop(pairs, state)
        count, pairs.counts[p] = pairs.counts[p], 0
        if count < seen:
            pairs.counts[p] = count
            if count >= state[LEVEL]:
                push(pairs, key, count, state)
            continue
        left, right = np.int64(key >> np.uint64(32)), np.int64(key & np.uint64(0xFFFFFFFF))
        rule = MergeRule(left, right, new)
        made[state[N_MERGES], 0], made[state[N_MERGES], 1] = left, right
        state[N_MERGES] += 1
        text.size[new] = text.size[left] + text.size[right]
        start = np.uint64(pairs.start[p])
        n = _replace(text, rule, pool, start, start + np.uint64(pairs.size[p]), near)
        if _add_pairs(rule, pairs, near, state, least):
            _store_places(text, near, n, pool)
    return False


@kernel(_nrt=False)
def _replace(text: TokenCells, rule: MergeRule, pool: I32, start: Int, stop: Int, near: Near) -> Int:
    """Merge a pair at those of pool[start:stop] where it still is; count the tokens before and after it.

    Returns the number of these places, which are stored in `near.places`.
    """
    token, (left, right, new) = text.token, rule
    n_left = np.uint64(text.size[left])
    n_both, k = n_left + np.uint64(text.size[right]), np.uint64(0)
    for e in range(start, stop):
        i = np.uint64(pool[e])
        middle, end = i + n_left, i + n_both
        if token[i] != left or token[middle] != right:
            continue
        before, after = np.uint64(token[i - np.uint64(1)]), np.uint64(token[end])
        if after == left and token[end + n_left] == right:
            after = np.uint64(0)  # the next place, where the token before it will be the new one
        token[i], token[middle], token[end - np.uint64(1)] = new, 0, new
        for side, t in enumerate((before, after)):
            if not near.sizes[side, t]:
                near.found[side, near.n[side]] = t
                near.n[side] += 1
            near.sizes[side, t] += 1
            near.counts[side, t] += text.weight[i]
        near.places[0, k], near.places[1, k], near.places[2, k] = i, before, after
        k += np.uint64(1)
    return k


@kernel(_nrt=False)
def _add_pairs(rule: MergeRule, pairs: Pairs, near: Near, state: I64, least: Int) -> Int:
    """Add the pairs with the new token that are frequent enough; subtract from the counts of the pairs that they end.

    Returns whether there are such pairs, whose places are then stored next. The places of the other pairs come after
    those in use, where the next pairs overwrite them.
    """
    left, right, new = rule
    before = state[USED]
    for side in range(2):
        for j in range(near.n[side]):
            t = np.int64(near.found[side, j])
            count = near.counts[side, t]
            if t:
                ended = key_of(right, left if t == new else t) if side or t == new else key_of(t, left)
                pairs.counts[find_pair(pairs, ended)] -= count  # number 0 is no pair
            if t and count >= least:
                near.at[side, t] = state[USED]
                add_pair(pairs, key_of(new, t) if side else key_of(t, new), count, near.sizes[side, t], state)
    end = state[USED]
    for side in range(2):
        for j in range(near.n[side]):
            t = np.int64(near.found[side, j])
            if t == 0 or near.counts[side, t] < least:
                near.at[side, t] = end
                end += near.sizes[side, t]
            near.counts[side, t] = near.sizes[side, t] = 0
        near.n[side] = 0
    return state[USED] > before


@kernel(_nrt=False)
def _store_places(text: TokenCells, near: Near, n: Int, pool: I32) -> None:
    """Store the `n` places of a merge as those of the pairs with the new token."""
    for j in range(n):
        place, before, after = near.places[0, j], np.uint64(near.places[1, j]), np.uint64(near.places[2, j])
        pool[np.uint64(near.at[0, before])] = place - text.size[before]
        near.at[0, before] += 1
        pool[np.uint64(near.at[1, after])] = place
        near.at[1, after] += 1
