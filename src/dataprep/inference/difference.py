"""The difference between two models' losses on the same conversations, and whether it is significant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
DRAWS, AT_ONCE = 2_000, 100  # of the bootstrap; as many in memory
FEW = 6  # conversations: of 5, all differ in one direction by chance in 1 of 16 cases


Difference = tuple[float, float | None, float | None]


def interval(base: F64, tuned: F64, sizes: F64) -> Difference:
    """Return the difference, tuned minus base, of the loss per token (or byte), as (difference, low, high).

    `low` and `high` bound a 95 % interval, computed by a bootstrap over the conversations and widened, like Student's
    t, for their number. Both are None for fewer than `FEW` conversations.

    Args:
        base: float64[n], the summed loss of the base model on each conversation.
        tuned: float64[n], the summed loss of the fine-tuned model on each conversation.
        sizes: float64[n], the tokens (or bytes) of each conversation; conversations of size 0 are left out.

    >>> interval(np.full(9, 3.0), np.full(9, 2.0), np.ones(9))
    (-1.0, -1.0, -1.0)
    """
    used = sizes > 0
    wrong, sizes = (tuned - base)[used], sizes[used]
    n = len(sizes)
    mean = float(wrong.sum() / max(1, sizes.sum()))
    if n < FEW:
        return mean, None, None
    rng, drawn = np.random.default_rng(0), np.empty(DRAWS)
    for i in range(0, DRAWS, AT_ONCE):
        weights = rng.multinomial(n, np.full(n, 1 / n), AT_ONCE)
        drawn[i : i + AT_ONCE] = (weights @ wrong) / (weights @ sizes)
    bounds = np.quantile(drawn, [0.025, 0.975])
    free = n - 1
    wider = (1 + 1.21 / free + 1.43 / free**2) * np.sqrt(n / free)  # Student's t over the normal, at 97.5 %
    low, high = (float(mean + wider * (bound - mean)) for bound in bounds)
    return mean, low, high


def verdict(name: str, found: Sequence[float | None], n: int) -> str:
    """Return a sentence about a result of `interval`; it calls a model better only if the interval is on one side of 0.

    The sentence is about these two models only. Models trained in the same way with other seeds may differ by more.

    - name: the name of the measure.
    - n: the number of conversations.

    >>> verdict("loss", (-0.2, -0.5, 0.1), 9)
    'loss: tuned - base = -0.200 (95 % interval -0.500 to +0.100): no difference is shown'
    """
    mean, low, high = found
    start = f"{name}: tuned - base = {mean or 0:+.3f}"
    if low is None or high is None:
        return f"{start}; {n} held-out conversations are too few to show a difference"
    better = "tuned model" if high < 0 else "base" if low > 0 else None
    said = f"of these two models, the {better} is better" if better else "no difference is shown"
    return f"{start} (95 % interval {low:+.3f} to {high:+.3f}): {said}"


def columns(sums: Sequence[Any]) -> tuple[F64, F64, F64, F64]:
    """Return the fields of LossSums as arrays: tokens, nats, nats of text, bytes."""
    table = np.array([(s.n_targets, s.nats, s.text_nats, s.n_bytes) for s in sums], np.float64).reshape(-1, 4)
    tokens, nats, text, n_bytes = table.T
    return tokens, nats, text, n_bytes
