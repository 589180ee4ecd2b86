"""Find, among rows in memory, the messages that an earlier export of the same chat contains.

Messages are compared as multisets, in the ways that `overlaps.py` describes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .times import I64, MINUTE, seconds_of

MEDIA = ("image", "video", "audio", "gif", "sticker", "file")
FIELDS = ("chat", "author", "kind", "text")


def has_seconds(files: I64, chats: I64, times: I64) -> npt.NDArray[np.bool_]:
    """Return, for each of n rows, whether the times of its export have seconds, bool[n].

    Args:
        files: int64[n], the number of each message's file. An export is identified by its file and chat.
        chats: int64[n], the number of each message's chat.
        times: int64[n], in seconds. An export has seconds if one of its times is not a whole minute.
    """
    groups = np.unique(np.stack([files, chats], 1), axis=0, return_inverse=True)[1].reshape(-1)
    return np.asarray((np.bincount(groups, times % MINUTE != 0) > 0)[groups], np.bool_)


def find_repeated(files: I64, rows: pa.Table, fine: npt.NDArray[np.bool_] | None = None) -> tuple[I64, I64]:
    """Return (rows to drop, the row kept instead of each), both int64[pairs], for messages that are in two exports.

    Args:
        files: int64[n], number of each row's export.
        rows: columns chat, author, time, kind, text; rows of one export in its order.
        fine: bool[n], whether the times of the row's export have seconds; needed if `rows` is a part of the exports. A
            row without a time or a chat is never dropped. Memory: about 100 bytes per row in addition to the texts.
    """
    times, known = seconds_of(rows["time"].combine_chunks())
    chats = _codes(rows["chat"])
    usable = np.flatnonzero(known & (chats >= 0) & _in_several(files, chats))
    if not len(usable):
        return usable, usable
    code = {"chat": chats, **{name: _codes(rows[name]) for name in FIELDS if name != "chat"}}
    code["rest"] = _codes(_after_first_line(rows["text"]))
    media = pc.is_in(rows["kind"], pa.array(MEDIA)).to_numpy(zero_copy_only=False) if len(rows) else known
    fine = has_seconds(files, code["chat"], times) if fine is None else fine
    found: list[tuple[I64, I64]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for chat in _chunks(code["chat"], usable):
        unique = chat[:0]
        for export in _exports(files, fine, chat):
            near = unique[_within(times[unique], times[export])]
            clock = times if fine[export[0]] else times // MINUTE
            alike = [code["author"], clock]
            repeated, kept = _pairs(near, export, [*alike, code["kind"], code["text"]])
            left, free = np.setdiff1d(export, repeated), np.setdiff1d(near, kept)
            more, kept_for_more = _pairs(free[media[free]], left[media[left]], [*alike, code["rest"]])
            found += [(repeated, kept), (more, kept_for_more)]
            unique = np.concatenate([unique, np.setdiff1d(left, more)])
    repeated, kept = (np.concatenate(column) for column in zip(*found, strict=True))
    return repeated, kept


def _in_several(files: I64, chats: I64) -> npt.NDArray[np.bool_]:
    """Return which rows are of a chat that occurs in several files, bool[n].

    - chats: numbers from -1.
    """
    first = np.full(chats.max(initial=-1) + 2, -1, np.int64)
    first[chats] = files
    several = np.zeros(len(first), np.bool_)
    several[chats[files != first[chats]]] = True
    return np.asarray(several[chats], np.bool_)


def _codes(values: Any) -> I64:
    """Return equal numbers for equal values, int64[n]; -1 for null."""
    flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    coded = flat if pa.types.is_dictionary(flat.type) else flat.dictionary_encode()
    return np.asarray(coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(), np.int64)


def _after_first_line(texts: Any) -> Any:
    return pc.replace_substring_regex(texts, r"\A[^\n]*\n?", "", max_replacements=1)


def _chunks(codes: I64, rows: I64) -> Sequence[I64]:
    """Return the rows of each code, in their order."""
    ordered = rows[np.argsort(codes[rows], kind="stable")]
    return np.split(ordered, np.flatnonzero(np.diff(codes[ordered])) + 1) if len(rows) else []


def _exports(files: I64, fine: npt.NDArray[np.bool_], rows: I64) -> Sequence[I64]:
    """Return the rows of each file, files with seconds first; later ones are compared with earlier ones."""
    return sorted(_chunks(files, rows), key=lambda own: (not fine[own[0]], files[own[0]]))


def _within(times: I64, others: I64) -> npt.NDArray[np.bool_]:
    """Return which of `times` are in the span of `others`, to the minute, bool[n]."""
    first, last = others.min() // MINUTE, others.max() // MINUTE
    return np.asarray((times // MINUTE >= first) & (times // MINUTE <= last))


def _pairs(kept: I64, new: I64, columns: Sequence[I64]) -> tuple[I64, I64]:
    """Pair the k-th of each value in `new` with the k-th in `kept`; return (new, kept), int64[pairs] each."""
    both = np.concatenate([kept, new])
    values = np.zeros(len(both), np.int64)
    for column in columns:
        own = np.unique(column[both], return_inverse=True)[1].reshape(-1)
        values = np.unique(values * (len(both) + 1) + own, return_inverse=True)[1].reshape(-1)
    old, others = _numbered(values[: len(kept)], len(both)), _numbered(values[len(kept) :], len(both))
    _, a, b = np.intersect1d(old, others, assume_unique=True, return_indices=True)
    return new[b], kept[a]


def _numbered(values: I64, n: int) -> I64:
    """Return numbers that are equal if the value, and the count of equal values before it, are equal, int64[n]."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    count = np.arange(len(values)) - np.repeat(first, np.diff(first, append=len(values)))
    made = np.empty(len(values), np.int64)
    made[order] = ordered * (n + 1) + count
    return made
