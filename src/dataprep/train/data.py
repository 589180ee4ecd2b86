"""Which tokens come when: a pure function of seed, step, rank, ranks and shards, so its state is one integer.

The token files of a split are read as one stream and cut into blocks of T tokens that share one token with
their neighbour: block k feeds tokens [kT, kT+T) and predicts [kT+1, kT+T+1). So every token but the first is
predicted exactly once an epoch. The last block is moved back to be full, its repeated targets are masked.
Blocks come in the order of a keyed permutation that is computed, never stored.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dataprep.errors import PlanError

IGNORE = -100  # the target that costs nothing: cross_entropy's own default
_ROUNDS = 6  # four make a strong permutation (Luby and Rackoff 1988); two more for tiny domains


class Rows(NamedTuple):
    """Blocks as they lie on disk: `tokens` (B, T+1), and how many first targets of each row to ignore (B)."""

    tokens: NDArray[Any]
    skip: NDArray[np.int64]

    @property
    def n_targets(self) -> int:
        """Tokens that these rows predict."""
        return int(self.tokens.shape[0] * (self.tokens.shape[1] - 1) - self.skip.sum())


class Blocks:
    """A split's token files as overlapping rows of `context` + 1 tokens; nothing is read until asked for."""

    def __init__(self, files: Sequence[NDArray[Any]], context: int, name: str = "train") -> None:
        self.files, self.context = list(files), context
        self.starts = np.cumsum([0, *(len(f) for f in self.files)])
        self.n_tokens = int(self.starts[-1])
        if self.n_tokens < context + 1:
            msg = (
                f"the {name} split holds {self.n_tokens:,} tokens and one block needs {context + 1:,}: "
                f"add text or choose a shorter context"
            )
            raise PlanError(msg)

    def __len__(self) -> int:
        return math.ceil((self.n_tokens - 1) / self.context)

    def rows(self, numbers: NDArray[np.int64]) -> Rows:
        """The blocks with these numbers, copied out of the files."""
        wanted = numbers * self.context
        start = np.minimum(wanted, self.n_tokens - 1 - self.context)
        tokens = np.empty((len(numbers), self.context + 1), self.files[0].dtype)
        for row, first in zip(tokens, start.tolist(), strict=True):
            self._copy(first, row)
        return Rows(tokens, wanted - start)

    def _copy(self, first: int, row: NDArray[Any]) -> None:
        """Fill `row` with the tokens from `first` on; a row may run over the end of a file into the next."""
        done, i = 0, int(np.searchsorted(self.starts, first, side="right")) - 1
        while done < len(row):
            at = first + done - int(self.starts[i])
            piece = self.files[i][at : at + len(row) - done]
            row[done : done + len(piece)] = piece
            done, i = done + len(piece), i + 1


@dataclass(frozen=True, kw_only=True)
class Loader:
    """The training order: sample s is block permutation(s mod n) of epoch s // n."""

    blocks: Blocks
    batch: int
    seed: int = 0

    def order(self, step: int, rank: int = 0, ranks: int = 1) -> NDArray[np.int64]:
        """Numbers of one rank's blocks in one step; all ranks together have the same ones, however many."""
        if self.batch % ranks:
            msg = f"a batch of {self.batch} blocks cannot be shared by {ranks} ranks: make it a multiple"
            raise PlanError(msg)
        share = self.batch // ranks
        sample = step * self.batch + rank * share + np.arange(share, dtype=np.int64)
        epoch, place = np.divmod(sample, len(self.blocks))
        number = np.empty_like(place)
        for e in np.unique(epoch).tolist():
            here = epoch == e
            number[here] = permute(place[here], len(self.blocks), f"{self.seed} {e}")
        return number

    def rows(self, step: int, rank: int = 0, ranks: int = 1) -> Rows:
        """The tokens of one step."""
        return self.blocks.rows(self.order(step, rank, ranks))

    def steps(self, first: int, stop: int) -> Generator[Rows, None, None]:
        """The rows of steps [first, stop); the next step's are read while this one's are used."""
        with ThreadPoolExecutor(1, thread_name_prefix="loader") as pool:
            ahead = pool.submit(self.rows, first)
            for step in range(first, stop):
                rows = ahead.result()
                if step + 1 < stop:
                    ahead = pool.submit(self.rows, step + 1)
                yield rows


def permute(place: NDArray[np.int64], n: int, key: str) -> NDArray[np.int64]:
    """A keyed permutation of range(n), at these places only: a Feistel network on the next power of four.

    Results outside range(n) are sent through again until they fall inside (cycle walking, Black and Rogaway
    2002), which keeps it a bijection and takes under four rounds on average.

    >>> sorted(permute(np.arange(5), 5, "any key").tolist())
    [0, 1, 2, 3, 4]
    """
    half = max(1, -(-(n - 1).bit_length() // 2))
    keys = np.frombuffer(hashlib.blake2b(key.encode(), digest_size=8 * _ROUNDS).digest(), dtype="<u8")
    value = _feistel(place.astype(np.uint64), half, keys)
    while (outside := value >= n).any():
        value[outside] = _feistel(value[outside], half, keys)
    return value.astype(np.int64)


def _feistel(value: NDArray[np.uint64], half: int, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    shift, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = value >> shift, value & mask
    for key in keys:
        left, right = right, left ^ (_mix(right ^ key) & mask)
    return (left << shift) | right


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014): every input bit moves every output bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def to_device(rows: Rows, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets (B, T) int64 on the device; the copy is of the small integers, widened there."""
    tokens, wide = rows.tokens, rows.tokens.dtype != np.uint16
    ids = torch.from_numpy(tokens.astype(np.int64) if wide else tokens.view(np.int16))
    if device.type == "cuda":
        ids = ids.pin_memory().to(device, non_blocking=True)
    ids = ids.long() if wide else ids.long() & 0xFFFF  # torch.uint16 has few operations: int16, then unsigned
    x, y = ids[:, :-1].contiguous(), ids[:, 1:].clone()  # a clone: one row is contiguous as it is
    for row in np.flatnonzero(rows.skip).tolist():
        y[row, : int(rows.skip[row])] = IGNORE
    return x, y


def val_rows(blocks: Blocks, limit: int, batch: int) -> Iterator[Rows]:
    """At most `limit` validation blocks, the same ones every time, in batches of one shape.

    They are spread over the split; the last batch is filled up with rows whose targets are all ignored,
    since another shape would make torch.compile start again.
    """
    count = min(limit, len(blocks))
    numbers = permute(np.arange(count), len(blocks), "validation")
    for i in range(0, count, batch):
        rows = blocks.rows(np.resize(numbers[i : i + batch], batch))
        rows.skip[min(batch, count - i) :] = blocks.context
        yield rows
