"""Layouts: cut the tokens of a split into rows of `context` + 1 tokens, which are read when needed.

`contiguous`: the files as one stream, cut into rows that share one token with their neighbour: row k has the inputs
[kT, kT+T) and the targets [kT+1, kT+T+1), where T is `context`. Every token but the stream's first is predicted exactly
once per epoch. The last row begins earlier than kT, so that it is full; targets that the row before already has do not
count.

`bestfit`: whole documents packed into rows (`packing`). `padded`: one row per document, or several if the document is
    longer than a row. `cut`: one row per document; longer documents are truncated. In these three layouts, a separator
    is the first input of a document, so every token is predicted exactly once per epoch (in `cut`, every token that is
    kept). Padding is never a target.

With `labels`, rows of the last three have one target per document: the number of its label, at the last of its first
`context` inputs. A longer document is therefore classified by its beginning, in all three alike; the rest of it is in
no row.

If shards have masks (`.msk`), a target counts only if its mask is 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dataprep.errors import CorruptShard, PlanError
from dataprep.tokens.shards.shard import Shards
from dataprep.train.config import PACKED

from . import fetched, packing
from .rows import IGNORE, Rows

Ints = NDArray[np.int64]
_MASK = 1 << 20  # bytes of a mask that are searched at once
_SLICES = 500  # views held at once: from 700 on the garbage collector runs, which halves the speed


class Stream:
    """Several arrays, read as if they were concatenated. Indices -n_fill to -1 return the padding value `fill`.

    - files: arrays in memory or on disk, or the sources of files at URLs (`fetched`).
    """

    def __init__(self, files: Sequence[Any], dtype: np.dtype[Any], fill: int, n_fill: int) -> None:
        self.dtype, self.n_fill = dtype, n_fill
        parts = [np.full(n_fill, fill, dtype), *(f for f in files if len(f))]
        self._is_local = all(isinstance(part, np.ndarray) for part in parts)
        self._bytes = [
            memoryview(np.asarray(part).view(np.uint8).data) if isinstance(part, np.ndarray) else part for part in parts
        ]
        self._starts = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64) - n_fill

    def __len__(self) -> int:
        return int(self._starts[-1])

    def read(self, start: Ints, stop: Ints) -> NDArray[Any]:
        """Return the items start[k] to stop[k] - 1 of each range k, one range after another, in one array."""
        i = np.searchsorted(self._starts, start, side="right") - 1
        over = stop > self._starts[i + 1]
        if over.any():  # into the next array
            after = np.flatnonzero(over) + 1
            edge = self._starts[i + 1][over]
            return self.read(
                np.insert(start, after, edge), np.insert(np.where(over, self._starts[i + 1], stop), after, stop[over])
            )
        size, base = self.dtype.itemsize, self._starts[i]
        where = (i, (start - base) * size, (stop - base) * size)
        if not self._is_local:
            return np.frombuffer(bytearray().join(fetched.read(self._bytes, where)), self.dtype)
        ranges = [r.tolist() for r in where]
        out, at = np.empty(int((stop - start).sum()) * size, np.uint8).data, 0
        for k in range(0, len(i), _SLICES):
            some = zip(*(r[k : k + _SLICES] for r in ranges), strict=True)
            piece = b"".join([self._bytes[f][a:b] for f, a, b in some])
            out[at : at + len(piece)] = piece
            at += len(piece)
        return np.frombuffer(out, self.dtype)


class Layout:
    """Base class of layouts: one split of token shards as training rows, which are read by number, from 0 to len - 1.

    Attributes:
        mask_documents: whether the rows state which inputs begin a document.
        masks: whether only targets whose loss mask is 1 count.
        labels: whether the targets are the labels of documents.
        name: the set's name, for error messages.
    """

    def __init__(
        self, shards: Shards, context: int, *, mask_documents: bool = False, masks: bool = True, labels: bool = False,
        name: str = "",
    ) -> None:  # fmt: skip
        self.labels = shards.labels if labels else None
        self.shards, self.context, self.mask_documents = shards, context, mask_documents
        self.name = f" of {name!r}" if name else ""
        self.side = shards.split_name or "whole"
        self.tokens = Stream(fetched.opened(shards, shards.memmaps(), "bin"), shards.dtype, shards.eot, context + 1)
        self.masks = _masks(shards, context + 1) if masks and not labels else None
        if self.masks is not None and not any(m is None or _learns(m) for m in shards.masks()):
            msg = (
                f"the {self.side} split{self.name} in {shards.path} has masks without a token to learn; "
                "encode with masks that include some tokens, or without masks"
            )
            raise PlanError(msg)

    @property
    def n_tokens(self) -> int:
        """The number of tokens in the files of token shards, separators included."""
        return len(self.tokens)

    def __len__(self) -> int:
        raise NotImplementedError

    def rows(self, numbers: Ints) -> Rows:
        """Return the rows with these numbers, int64[B], copied out of the files."""
        raise NotImplementedError

    def documents(self, numbers: Ints) -> Ints:
        """Return, for each target of the rows `numbers`, the number of its document in the split, int64[B, T].

        A separator belongs to the document before it. For targets that do not count, the number has no meaning.
        """
        start, stop = self._ranges(numbers)
        size = stop - start
        token = np.repeat(start - np.cumsum(size) + size, size) + np.arange(int(size.sum()))
        return np.searchsorted(self._ends, token, side="right").reshape(-1, self.context + 1)[:, 1:]

    @cached_property
    def _ends(self) -> Ints:
        """The offset in the stream after each document of the split."""
        before = np.cumsum([0, *(s.tokens for s in self.shards.shards)])
        each = [np.asarray(self.shards.ends(i)).astype(np.int64) + n for i, n in enumerate(before[:-1].tolist())]
        return np.concatenate([np.zeros(0, np.int64), *each])

    def _ranges(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Return the ranges of the stream, first and last token + 1, that make up the rows `numbers` in order."""
        raise NotImplementedError

    def _need(self, n_tokens: int) -> None:
        if self.n_tokens < n_tokens:
            msg = (
                f"the {self.side} split{self.name} holds {self.n_tokens:,} tokens and one row needs {n_tokens:,}; "
                f"add text, or make rows shorter with model.context (now {self.context:,})"
            )
            raise PlanError(msg)

    def _read(self, start: Ints, stop: Ints) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return the tokens of rows made of these pieces, and whether each target counts by its loss mask."""
        tokens = self.tokens.read(start, stop).reshape(-1, self.context + 1)
        if tokens.size and int(tokens.max()) >= self.shards.vocab_size:  # CUDA would stop with an assertion
            vocabulary = f"its vocabulary of {self.shards.vocab_size:,}"
            msg = f"{self.shards.path} contains ids outside {vocabulary}; check it with `dataprep verify`"
            raise CorruptShard(msg)
        if self.masks is None:
            return tokens, None
        return tokens, self.masks.read(start, stop).reshape(tokens.shape)[:, 1:] != 0


class Contiguous(Layout):
    """The layout `contiguous`: the token files as one stream, cut into rows every `context` tokens."""

    def __init__(self, shards: Shards, context: int, **options: Any) -> None:
        super().__init__(shards, context, **options)
        self._need(context + 1)

    def __len__(self) -> int:
        return math.ceil((self.n_tokens - 1) / self.context)

    def rows(self, numbers: Ints) -> Rows:
        """Return the rows with these numbers, int64[B].

        With `mask_documents`, each separator begins a document.
        """
        start, stop = self._ranges(numbers)
        tokens, learn = self._read(start, stop)
        moved = numbers * self.context - start
        if moved.any():
            first = np.arange(self.context) >= moved[:, None]
            learn = first if learn is None else learn & first
        return Rows(tokens, learn, tokens[:, :-1] == self.shards.eot if self.mask_documents else None)

    def _ranges(self, numbers: Ints) -> tuple[Ints, Ints]:
        start = np.minimum(numbers * self.context, self.n_tokens - 1 - self.context)
        return start, start + self.context + 1


class PackedLayout(Layout):
    """The layouts whose rows have whole documents: "bestfit", "padded" and "cut"; `how` is the name of one.

    "bestfit": several documents per row. "padded": one document per row, or several rows for a long document. "cut":
    one document per row, truncated if it is long.
    """

    def __init__(self, shards: Shards, context: int, how: str, *, labels: bool = False, **options: Any) -> None:
        super().__init__(shards, context, labels=labels, **options)
        self._need(context if how == "bestfit" else 1)
        ends = [shards.ends(i) for i in range(len(shards.shards))]
        pack, is_cut = packing.bestfit if how == "bestfit" else packing.padded, how == "cut" or labels
        self.plan = pack(ends, context, cut=is_cut)

    def __len__(self) -> int:
        return len(self.plan)

    def longer_than_context(self) -> tuple[int, int]:
        """Return (number of documents longer than `context`, tokens of the longest document), separators included."""
        lengths = [np.diff(np.asarray(self.shards.ends(i)), prepend=0) for i in range(len(self.shards.shards))]
        longest = max((int(n.max()) for n in lengths if len(n)), default=0)
        return sum(int((n > self.context).sum()) for n in lengths), longest

    def rows(self, numbers: Ints) -> Rows:
        """Return the rows with the numbers `numbers`, int64[B].

        If a row begins inside a long document, its first input is the token before; otherwise it is a separator.
        Documents, or parts of long ones, follow, and then separators as padding.
        """
        start, stop, row, place, inner, used, fresh, last = self._pieces(numbers)
        tokens, learn = self._read(*self._padded(start, stop, row, used))
        tokens[fresh, 0] = self.shards.eot
        begins = self._begins(row, place)
        if self.labels is None:
            return Rows(tokens, self._counted(learn, row[inner], place[inner], used), begins)
        first, targets = last >= 0, np.full((len(numbers), self.context), IGNORE, np.int64)
        document = np.searchsorted(self._ends, stop[first] - 1, side="right")
        targets[row[first], last[first]] = self.labels[document]
        return Rows(tokens, None, begins, targets=targets)

    def _ranges(self, numbers: Ints) -> tuple[Ints, Ints]:
        start, stop, row, _, _, used, _, _ = self._pieces(numbers)
        return self._padded(start, stop, row, used)

    def _pieces(self, numbers: Ints) -> tuple[Any, ...]:
        """Return (start, stop, row, place, inner, used, fresh, last): `used` and `fresh` per row, the others per piece.

        - start, stop: the tokens to read, including those before a rest or a row.
        - row, place: the row and the place of the piece's first target.
        - inner: whether the token before a rest takes a slot of the row.
        - last: the place of the piece's last target; -1 unless the piece begins a document.
        - used: the number of slots of the row that are not padding.
        - fresh: whether the row begins with a document.
        """
        plan = self.plan
        lone = plan.first[numbers]
        count = plan.first[numbers + 1] - lone
        head = np.cumsum(count) - count  # of each row its first piece among these
        row = np.repeat(np.arange(len(numbers)), count)
        piece = np.arange(len(row)) + np.repeat(lone - head, count)
        start, size, rest = plan.start[piece], plan.size[piece].astype(np.int64), ~plan.begins[piece]
        inner = rest.copy()
        inner[head] = False  # the token before a rest takes a slot of the row, or is its first input
        slots = size + inner
        before = np.cumsum(slots) - slots
        place = before - before[head][row] + inner
        from_ = start - rest
        from_[head] = start[head] - 1
        last = np.where(rest, -1, place + size - 1)
        return from_, start + size, row, place, inner, np.add.reduceat(slots, head), ~rest[head], last

    def _padded(self, start: Ints, stop: Ints, row: Ints, used: Ints) -> tuple[Ints, Ints]:
        """Return the pieces; after the pieces of each row that is not full, the stream's fill is added."""
        short = np.flatnonzero(used < self.context)
        if not len(short):
            return start, stop
        after = np.searchsorted(row, short, side="right")
        fill = -np.full(len(short), self.tokens.n_fill)
        return np.insert(start, after, fill), np.insert(stop, after, fill + self.context - used[short])

    def _counted(self, learn: NDArray[np.bool_] | None, row: Ints, place: Ints, used: Ints) -> NDArray[np.bool_] | None:
        """Return which targets count: not padding, not the tokens before rests, which precede `place` in `row`."""
        short = np.flatnonzero(used < self.context)
        if learn is None and (len(short) or len(row)):
            learn = np.ones((len(used), self.context), np.bool_)
        if learn is not None:
            learn[short] &= np.arange(self.context) < used[short, None]
            learn[row, place - 1] = False
        return learn

    def _begins(self, row: Ints, place: Ints) -> NDArray[np.bool_] | None:
        """Return which inputs begin a document: those at the first target of a piece (the target's index)."""
        if not self.mask_documents:
            return None
        begins = np.zeros((int(row[-1]) + 1, self.context), np.bool_)
        begins[row, place] = True
        return begins


def layout_of(
    shards: Shards, how: str, context: int, *, mask_documents: bool | None = None, masks: bool = True,
    labels: bool = False, name: str = "",
) -> Layout:  # fmt: skip
    """Return the training rows of one split of token shards in the layout `how`, with `context` inputs each.

    - how: "contiguous", "bestfit", "padded" or "cut".
    - mask_documents: True to keep documents in a row from attending to each other; None means True for all layouts but
      "contiguous".
    - masks: count only targets whose loss mask is 1, if there are masks.
    - labels: the targets are the labels of documents, not tokens; not in "contiguous".
    - name: the set's name, for error messages.
    """
    if how == "contiguous":
        return Contiguous(shards, context, mask_documents=bool(mask_documents), masks=masks, name=name)
    assert how in PACKED, how
    documents = mask_documents is not False
    return PackedLayout(shards, context, how, mask_documents=documents, masks=masks, labels=labels, name=name)


def _masks(shards: Shards, n_fill: int) -> Stream | None:
    masks = shards.masks()
    if all(m is None for m in masks):
        return None
    sizes = [s.tokens for s in shards.shards]
    masks = fetched.opened(shards, masks, "msk")
    whole = [np.ones(n, np.uint8) if m is None else m for m, n in zip(masks, sizes, strict=True)]
    return Stream(whole, np.dtype(np.uint8), 0, n_fill)


def _learns(mask: Any) -> bool:
    """Return whether a loss mask has a 1; it is read up to the first one."""
    return any(np.asarray(mask[i : i + _MASK]).any() for i in range(0, len(mask), _MASK))
