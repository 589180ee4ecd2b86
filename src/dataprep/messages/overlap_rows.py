"""Which messages stand in two exports of the same chat: the rule, in memory, for whoever has the rows.

Messages are compared as multisets: what a person said n times in one export and m times in another was said max(n, m)
times, so two "ok" in one minute stay two. Equal are chat, author, time, kind and text, never hashes. Two differences
are forgiven, since exports of one chat have them:

- A file whose times never tell seconds is compared by the minute, one that does by the second.
- Media that is left out of an export has another first line ("<Media omitted>" for "IMG-1.jpg (file attached)") and
  perhaps another kind; what matches exactly is paired first, then the rest of the media by what follows the first line.

Of two, the one with seconds stays, else the one in the earlier file. Not seen are: a message that one export has as
deleted or before an edit, lines of the platform in another language, a clock in another zone, a chat of another name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

I64: TypeAlias = npt.NDArray[np.int64]

MEDIA = ("image", "video", "audio", "gif", "sticker", "file")
FIELDS = ("chat", "author", "kind", "text")
MINUTE = 60


def in_seconds(times: Any) -> tuple[I64, npt.NDArray[np.bool_]]:
    """A column of times (or ISO 8601 texts) as seconds int64[n], 0 where there is none, and where there is one."""
    stamps = times.cast(pa.timestamp("s")).cast(pa.int64())
    known = pc.is_valid(stamps).to_numpy(zero_copy_only=False) if len(stamps) else np.zeros(0, bool)
    return np.asarray(stamps.fill_null(0).to_numpy(), np.int64), known


def has_seconds(files: I64, chats: I64, times: I64) -> npt.NDArray[np.bool_]:
    """For each row whether the times of its chat in its file tell seconds, bool[n]."""
    groups = np.unique(np.stack([files, chats], 1), axis=0, return_inverse=True)[1].reshape(-1)
    return np.asarray((np.bincount(groups, times % MINUTE != 0) > 0)[groups], np.bool_)


def find_doubles(files: I64, rows: pa.Table, fine: npt.NDArray[np.bool_] | None = None) -> tuple[I64, I64]:
    """The rows that are doubled and the rows that stay for them, both int64[pairs].

    files: int64[n], which export each row is of. rows: columns chat, author, time, kind, text; rows of one export in
    its order. fine: bool[n], whether the row's export tells seconds (if the rows are not all it has). A row without
    a time or a chat is never doubled. Memory: some 100 bytes a row beside the texts.
    """
    times, known = in_seconds(rows["time"].combine_chunks())
    code = {name: _codes(rows[name]) for name in FIELDS}
    code["rest"] = _codes(_after_first_line(rows["text"]))
    media = pc.is_in(rows["kind"], pa.array(MEDIA)).to_numpy(zero_copy_only=False) if len(rows) else known
    fine = has_seconds(files, code["chat"], times) if fine is None else fine
    usable = np.flatnonzero(known & (code["chat"] >= 0))
    found: list[tuple[I64, I64]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for chat in _chunks(code["chat"], usable):
        kept = chat[:0]
        for export in _exports(files, fine, chat):
            near = kept[_within(times[kept], times[export])]
            clock = times if fine[export[0]] else times // MINUTE
            alike = [code["author"], clock]
            gone, stays = _pairs(near, export, [*alike, code["kind"], code["text"]])
            left, free = np.setdiff1d(export, gone), np.setdiff1d(near, stays)
            more, for_them = _pairs(free[media[free]], left[media[left]], [*alike, code["rest"]])
            found += [(gone, stays), (more, for_them)]
            kept = np.concatenate([kept, np.setdiff1d(left, more)])
    doubled, stays = (np.concatenate(side) for side in zip(*found, strict=True))
    return doubled, stays


def _codes(values: Any) -> I64:
    """Equal values as equal numbers, int64[n]; -1 for null."""
    flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    coded = flat if pa.types.is_dictionary(flat.type) else flat.dictionary_encode()
    return np.asarray(coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(), np.int64)


def _after_first_line(texts: Any) -> Any:
    return pc.replace_substring_regex(texts, r"\A[^\n]*\n?", "", max_replacements=1)


def _chunks(codes: I64, rows: I64) -> Sequence[I64]:
    """Rows with the same code, each in their order."""
    ordered = rows[np.argsort(codes[rows], kind="stable")]
    return np.split(ordered, np.flatnonzero(np.diff(codes[ordered])) + 1) if len(rows) else []


def _exports(files: I64, fine: npt.NDArray[np.bool_], rows: I64) -> Sequence[I64]:
    """The rows of each file, those with seconds first: what comes later is compared with what there is."""
    return sorted(_chunks(files, rows), key=lambda own: (not fine[own[0]], files[own[0]]))


def _within(times: I64, others: I64) -> npt.NDArray[np.bool_]:
    """Which times lie in the span of others, to the minute."""
    first, last = others.min() // MINUTE, others.max() // MINUTE
    return np.asarray((times // MINUTE >= first) & (times // MINUTE <= last))


def _pairs(kept: I64, new: I64, columns: Sequence[I64]) -> tuple[I64, I64]:
    """The k-th of each value among `new` with the k-th of it among `kept`: (new, kept), int64[pairs] each."""
    both = np.concatenate([kept, new])
    values = np.zeros(len(both), np.int64)
    for column in columns:
        own = np.unique(column[both], return_inverse=True)[1].reshape(-1)
        values = np.unique(values * (len(both) + 1) + own, return_inverse=True)[1].reshape(-1)
    old, others = _numbered(values[: len(kept)], len(both)), _numbered(values[len(kept) :], len(both))
    _, a, b = np.intersect1d(old, others, assume_unique=True, return_indices=True)
    return new[b], kept[a]


def _numbered(values: I64, n: int) -> I64:
    """Each value with how many of it came before."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    count = np.arange(len(values)) - np.repeat(first, np.diff(first, append=len(values)))
    made = np.empty(len(values), np.int64)
    made[order] = ordered * (n + 1) + count
    return made
