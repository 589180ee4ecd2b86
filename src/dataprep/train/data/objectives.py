"""Training objectives: functions that derive inputs and targets from blocks of tokens, sample numbers and a seed.

A block is a row of N token ids. Functions take B blocks, `tokens` (B, N), and `samples` (B), the numbers of these
blocks in the training run. A random number is a hash of the seed, the block's number and the offset in the block, so it
does not depend on the batch. Counts of changed tokens are exact for each block, not on average, so all results have one
shape. `span_corruption`, `drop_tokens` and `deshuffle` return inputs and targets for a model with an encoder;
`side_by_side` joins both in one row for a decoder, with the inputs as a prefix.

Sources: Raffel et al. 2020 (T5: prefix LM, span corruption, dropped tokens, deshuffling), Devlin et al. 2019 (masked
language model), and for T5's form of span corruption its public description.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dataprep.errors import PlanError
from dataprep.store.splitmix import GOLDEN, mix
from dataprep.train.config import PACKED, TrainConfig

from .rows import IGNORE, Objective, Rows

Tokens = NDArray[Any]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_GOLDEN = np.uint64(GOLDEN)
MASKS = ("<mask>", "[MASK]")
"""Names of the special token that hides others in a masked language model."""


class SequencePair(NamedTuple):
    """Inputs and targets, token ids, made from B rows of tokens; each is (B, length), and the lengths may differ."""

    inputs: Tokens
    targets: Tokens


def next_token(tokens: Tokens) -> SequencePair:
    """Return the inputs, all but the last token of each row of `tokens` (B, N), and the targets, all but the first.

    Both are (B, N-1); the target of an input is the next token.
    """
    return SequencePair(tokens[:, :-1], tokens[:, 1:])


def prefix_lm(rows: Rows, samples: Ints, seed: int = 0) -> Rows:
    """Mark a random beginning of each document as a prefix, whose tokens see each other and are not predicted.

    A row without `begins` is one document. The prefix of a document of n inputs has 1 to n-1 inputs, all lengths
    equally likely; a document of one input has no prefix.

    - samples: the numbers of the rows in the training run, int64[B], which with `seed` decide the random numbers.
    """
    n_rows, t = rows.tokens.shape[0], rows.tokens.shape[1] - 1
    begins = np.zeros((n_rows, t), np.bool_) if rows.begins is None else rows.begins.copy()
    begins[:, 0] = True
    flat = np.flatnonzero(begins)
    length = np.diff(np.append(flat, n_rows * t))
    drawn = uniform(seed, samples, t).reshape(-1)[flat]
    shared = np.where(length > 1, 1 + (drawn * (length - 1)).astype(np.int64), 0)
    place = np.arange(n_rows * t) - np.repeat(flat, length)
    prefix = (place < np.repeat(shared, length)).reshape(n_rows, t)
    # The last input of the prefix predicts the first token after it; the others predict tokens of the prefix.
    learn = (place >= np.repeat(shared, length) - 1).reshape(n_rows, t)
    return rows._replace(learn=learn if rows.learn is None else learn & rows.learn, prefix=prefix)


def span_counts(n: int, rate: float = 0.15, mean_span: float = 3.0) -> tuple[int, int]:
    """Return (number of tokens to hide, number of spans that they form) for a row of `n` tokens.

    - rate: the share of the tokens to hide.
    - mean_span: tokens per span. There is at least one span; spans are never adjacent.
    """
    hidden = min(max(round(n * rate), 1), n - 1)
    return hidden, min(max(round(hidden / mean_span), 1), hidden, n - hidden)


def span_corruption(
    tokens: Tokens, samples: Ints, sentinels: Ints, seed: int = 0, *, rate: float = 0.15, mean_span: float = 3.0
) -> SequencePair:
    """Replace random spans by special ids (sentinels) in the inputs; targets are each sentinel and its span (T5).

    `Thank you for inviting me to your party last week` with `for inviting` and `last` hidden:
    inputs `Thank you <X> me to your party <Y> week`, targets `<X> for inviting <Y> last <Z>`.

    From `tokens` (B, N), with h hidden tokens in k spans per row, inputs are (B, N - h + k) and targets (B, h + k + 1).

    - samples: the numbers of the rows in the training run, which with `seed` decide the random numbers.
    - sentinels: at least k + 1 ids.
    - rate, mean_span: decide h and k (`span_counts`). Each row begins with a token that is kept and ends with one that
      is hidden, as in T5.
    """
    n_rows, n = tokens.shape
    hidden, spans = span_counts(n, rate, mean_span)
    if len(sentinels) <= spans:
        msg = f"{spans} spans need {spans + 1} sentinels, but there are {len(sentinels)}; pass more, or shorter blocks"
        raise PlanError(msg)
    kept = _parts(n - hidden, spans, uniform(seed, samples, n - hidden - 1))
    gone = _parts(hidden, spans, uniform(seed, samples, hidden - 1, 1))
    edges = np.stack([kept, gone], 2).reshape(n_rows, -1).cumsum(1)  # kept, hidden, kept, hidden, ...
    starts = np.zeros((n_rows, n + 1), np.int64)
    np.put_along_axis(starts, edges, 1, 1)
    part = starts[:, :n].cumsum(1)
    noise, span = part % 2 == 1, part // 2
    opens = noise & (starts[:, :n] == 1)
    names = np.asarray(sentinels).astype(tokens.dtype)
    inputs = np.where(opens, names[span], tokens)[~noise | opens].reshape(n_rows, -1)
    pairs = np.stack([names[span], tokens], 2)
    targets = pairs[np.stack([opens, noise], 2)].reshape(n_rows, -1)
    return SequencePair(inputs, np.concatenate([targets, np.full((n_rows, 1), names[spans])], 1))


def masked_lm(
    tokens: Tokens, samples: Ints, mask_id: int, vocab_size: int, seed: int = 0, *,
    rate: float = 0.15, special: Ints | None = None, among: Bools | None = None,
) -> SequencePair:  # fmt: skip
    """Return BERT's training examples: a share `rate` of the tokens must be predicted; other targets are IGNORE (-100).

    Of the tokens to predict, 80 % are replaced by `mask_id` in the inputs, 10 % by random ids below `vocab_size`, and
    10 % are unchanged. Inputs and targets are (B, N), targets int64. `special` ids are never predicted, nor used as
    random ids; the share is that of the other ids of a row. A random id may equal the one that it replaces.

    - samples: the numbers of the rows in the training run, which with `seed` decide the random numbers.
    - among: bool (B, N), the tokens among which those to predict are chosen; None: all.
    """
    special = np.append(np.asarray([] if special is None else special, np.int64), mask_id)
    ordinary = np.setdiff1d(np.arange(vocab_size), special)
    left_out = np.isin(tokens, special) if among is None else np.isin(tokens, special) | ~among
    score = np.where(left_out, 2.0, uniform(seed, samples, tokens.shape[1]))
    count = np.rint((~left_out).sum(1, keepdims=True) * rate).clip(min=1)
    chosen = (score.argsort(1).argsort(1) < count) & ~left_out
    how = uniform(seed, samples, tokens.shape[1], 1)
    other = ordinary[(uniform(seed, samples, tokens.shape[1], 2) * len(ordinary)).astype(np.int64)]
    inputs = np.where(chosen & (how < 0.8), mask_id, np.where(chosen & (how >= 0.9), other, tokens))
    return SequencePair(inputs.astype(tokens.dtype), np.where(chosen, tokens.astype(np.int64), IGNORE))


def drop_tokens(tokens: Tokens, samples: Ints, seed: int = 0, *, rate: float = 0.15) -> SequencePair:
    """Return `tokens` (B, N) without a random share `rate` of each row as inputs, the removed tokens as targets (T5).

    Both are in the order of the row.

    - samples: the numbers of the rows in the training run, which with `seed` decide the random numbers.
    """
    gone = _lowest(uniform(seed, samples, tokens.shape[1]), max(1, round(tokens.shape[1] * rate)))
    return SequencePair(tokens[~gone].reshape(len(tokens), -1), tokens[gone].reshape(len(tokens), -1))


def deshuffle(tokens: Tokens, samples: Ints, seed: int = 0) -> SequencePair:
    """Return each row of `tokens` (B, N) in random order as the input, and in its own order as the target (T5).

    - samples: the numbers of the rows in the training run, int64[B], which with `seed` decide the random numbers.
    """
    order = np.argsort(uniform(seed, samples, tokens.shape[1]), axis=1, kind="stable")
    return SequencePair(np.take_along_axis(tokens, order, 1), tokens)


def side_by_side(example: SequencePair, context: int, fill: int) -> Rows:
    """Join each input and its target to one row of `context` + 1 tokens for a decoder; `fill` is the padding id.

    The input is a prefix with bidirectional attention; the loss is computed only on the targets.
    """
    n_rows, seen = example.inputs.shape
    used = seen + example.targets.shape[1]
    assert used <= context + 1, (used, context)
    tokens = np.full((n_rows, context + 1), fill, example.inputs.dtype)
    tokens[:, :seen], tokens[:, seen:used] = example.inputs, example.targets
    place = np.broadcast_to(np.arange(context), (n_rows, context))
    return Rows(tokens, (place >= seen - 1) & (place < used - 1), None, place < seen)


def for_decoder(
    config: TrainConfig, special: Mapping[str, int], eot: int, vocab_size: int
) -> tuple[int, Objective | None]:
    """Return (tokens per row to read, function that makes training rows of them) for a config's objective.

    The function is None if rows are used unchanged.

    - special: the ids of special tokens by name.
    - eot: the separator's id, used as padding.
    - vocab_size: the number of ids.

    Raises PlanError if the context is too small, or a sentinel (<extra_id_0> ...) or the mask is missing.
    """
    seed, context = config.seed, config.model.context
    if config.objective in ("next", "classify"):  # layouts state the targets
        return context, None
    if config.objective == "prefix":
        return context, lambda rows, samples: prefix_lm(rows, samples, seed)
    if config.objective == "mlm":
        mask, others = mask_id(special), np.array([eot, *special.values()], np.int64)
        how = {"seed": seed, "rate": config.corruption, "special": others}
        pads = eot if config.layout in PACKED else None
        return context, lambda rows, samples: masked_rows(rows, samples, mask, vocab_size, pads, **how)
    sizes = {"rate": config.corruption, "mean_span": config.mean_span}
    # A block of n tokens becomes n + 2k + 1 of inputs and targets, with k spans.
    n = next((n for n in range(context, 1, -1) if n + 2 * span_counts(n, **sizes)[1] <= context), 0)
    if not n:
        msg = f"context={context} is too small for objective='span': no block fits into it with its spans; raise it"
        raise PlanError(msg)
    sentinels = sentinel_ids(special, span_counts(n, **sizes)[1] + 1)

    def spans(rows: Rows, samples: Ints) -> Rows:
        # Neighbouring rows share one token: without it, blocks do not overlap.
        return side_by_side(span_corruption(rows.tokens[:, 1:], samples, sentinels, seed, **sizes), context, eot)

    return n, spans


def masked_rows(
    rows: Rows, samples: Ints, mask_id: int, vocab_size: int, pads: int | None, **how: Any
) -> Rows:  # fmt: skip
    """Return rows of a masked language model: each document sees itself in full, and `masked_lm` chooses the targets.

    A target is the token of the input in the same column. The first input of a row is never predicted: it is a
    separator, or belongs to the row before.

    - pads: the id that fills up rows; None: rows have no padding.
    - how: the arguments `seed`, `rate` and `special` of `masked_lm`.
    """
    inputs, among = rows.tokens[:, :-1], np.ones(rows.tokens[:, :-1].shape, np.bool_)
    among[:, 0] = False
    if rows.learn is not None:
        among[:, 1:] &= rows.learn[:, :-1]
    made = masked_lm(inputs, samples, mask_id, vocab_size, among=among, **how)
    seen = np.ones_like(among)
    if pads is not None:
        seen = ~np.logical_and.accumulate((inputs == pads)[:, ::-1], axis=1)[:, ::-1]
    tokens = np.concatenate([made.inputs, rows.tokens[:, -1:]], axis=1)
    return rows._replace(tokens=tokens, learn=None, prefix=seen, targets=made.targets)


def mask_id(special: Mapping[str, int]) -> int:
    """Return the id of the special token that hides others: that of <mask>, or else of [MASK]. `special` has the ids.

    Raises PlanError if both are missing.
    """
    found = next((special[name] for name in MASKS if name in special), None)
    if found is None:
        msg = "objective='mlm' needs the special token <mask>; train the tokenizer with special=['<mask>'], and encode "
        msg += "again"
        raise PlanError(msg)
    return found


def sentinel_ids(special: Mapping[str, int], count: int) -> Ints:
    """Return the ids of T5's first `count` sentinels, <extra_id_0> and so on, int64[count].

    - special: the ids of special tokens by name, from the shards' manifest.

    Raises PlanError if a sentinel is missing.
    """
    names = [f"<extra_id_{i}>" for i in range(count)]
    missing = [name for name in names if name not in special]
    if missing:
        msg = (
            f"objective='span' needs {count} special tokens, {names[0]} to {names[-1]}, but the tokenizer lacks "
            f"{missing[0]}; train it with special=[{names[0]!r}, ...] and encode again"
        )
        raise PlanError(msg)
    return np.array([special[name] for name in names], np.int64)


def uniform(seed: int, samples: Ints, n: int, draw: int = 0) -> NDArray[np.float64]:
    """Return `n` pseudorandom numbers in [0, 1) for each of B samples, float64 (B, n).

    Each number is a hash of seed, `draw`, sample and column.

    - draw: set another value to get independent numbers.
    """
    start = mix(np.array([(4 * seed + draw + 1) % 2**64], np.uint64) * _GOLDEN)
    key = mix(np.asarray(samples).astype(np.uint64) * _GOLDEN + start)
    bits = mix(key[:, None] + np.arange(1, n + 1, dtype=np.uint64) * _GOLDEN)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _lowest(score: NDArray[np.float64], count: int) -> Bools:
    """Return which `count` columns of each row have the lowest scores, bool."""
    chosen = np.zeros(score.shape, np.bool_)
    np.put_along_axis(chosen, np.argpartition(score, count - 1, axis=1)[:, :count], values=True, axis=1)
    return chosen


def _parts(total: int, count: int, score: NDArray[np.float64]) -> Ints:
    """Return `total` divided at random into `count` parts of at least one: (B, count); `score` is (B, total - 1)."""
    edge = np.zeros((len(score), count + 1), np.int64)
    edge[:, -1] = total
    if count > 1:
        edge[:, 1:-1] = 1 + np.nonzero(_lowest(score, count - 1))[1].reshape(len(score), -1)
    return np.diff(edge, axis=1)
