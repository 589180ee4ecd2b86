"""The suffix-array engine: all text is in memory, and its suffixes are sorted, so that equal windows are neighbours.

One pass over the sorted suffixes finds each group of equal windows and its first member. Kasai's table of common
prefixes (LCP array) is not used: it would need 4 more bytes per byte of text, and prefixes longer than a window are not
needed. Memory per byte of text: 1 for the text, 4 for the suffix array, 4 for the result per window, and 3 as a
reserve.

Slow reference for the tests: tests/twins/suffix_array.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.model import batch as B
from dataprep.core.model.part import Part
from dataprep.core.run.context import reserve
from dataprep.core.run.passes import Pass
from dataprep.core.run.runner import Runner
from dataprep.dedup.older import Joined
from dataprep.dedup.spans.passes import PartToCut
from dataprep.errors import need, require
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import write_spill
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, U64, Int

from .minimizers import CHUNK, WindowRule, rule_of
from .repeats import COLUMNS, Repeat, add_repeat
from .same_bytes import prefetch, same_after
from .word_spans import cut_words, empty_words

MAX_BYTES = (1 << 31) - 1
AHEAD = 12  # suffixes whose bytes are prefetched
COST = 12  # bytes of memory per byte of text
I32 = npt.NDArray[np.int32]
NO_WINDOW = -1  # in `first`; lower values are the first offset of a group, as -2 - offset


@dataclass(frozen=True)
class SortCorpus(Pass[int]):
    """Find all windows of the corpus that occurred earlier, with a suffix array in memory, in one task.

    Attributes:
        width: the length of a window, in bytes if `word_split` is "", else in words.
        items: the input parts. The receipt (the task's record) states the number of documents, bytes, windows and
            repeats ("marks").
    """

    folder = "sorted"

    width: int
    word_split: str
    items: tuple[Part, ...]
    runner: Runner

    def write(self, url: str, item: int) -> dict[str, Any]:  # noqa: ARG002 - there is one item
        """Write all repeats (text that occurred earlier) to the file `url`, uint64[m, 7]; return counts.

        - item: unused, since there is one task.

        Returns {"docs": number of documents, "bytes": number of bytes of text, "windows": number of windows, "marks":
        number of repeats}.

        Raises PlanError if the text is too large.
        """
        rule, (ids, offsets, data) = rule_of(self.width, word_split=self.word_split), self._read()
        text = data.view()
        text.flags.writeable = False  # as kernels expect texts; divsufsort needs a writable array
        first = np.full(len(data), NO_WINDOW, np.int32)
        windows = lengths(offsets, text, rule, first)
        if windows:
            group(need("pydivsufsort", extra="dedup").divsufsort(data), text, first)
        repeats = repeats_of(ids, offsets, text, rule, first, np.empty((1 << 12, COLUMNS), np.uint64))
        write_spill(url, [repeats])
        return {"docs": len(ids), "bytes": len(data), "windows": windows, "marks": len(repeats)}

    def _read(self) -> tuple[U64, I64, U8]:
        """Return ids, offsets int64[n + 1] and bytes of all texts. Raises PlanError as soon as they are too large."""
        ids, sizes, texts, total = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)], 0
        for item in self.items:
            for batch in item.batches(["id", "text"]):
                offsets, data = B.buffers(batch)
                ids.append(B.ids(batch).copy())
                sizes.append(np.diff(offsets))
                texts.append(data[offsets[0] : offsets[-1]].copy())
                total += len(texts[-1])
                instead = "set engine='windows', which cuts the same in bounded memory"
                what = f"a suffix array of the first {-(-total // 10**6):,} MB of text"
                reserve(self.runner, COST * total, what, instead)
                most = f"engine='suffix_array' takes at most {MAX_BYTES >> 20:,} MiB of text"
                require(total <= MAX_BYTES, f"{most}, and there is more; {instead}")
        return np.concatenate(ids), np.cumsum(np.concatenate([[0], *sizes])), np.concatenate(texts)


@kernel
def lengths(offsets: I64, data: U8, rule: WindowRule, first: I32) -> int:
    """Write the length in bytes of the window that starts at byte i to first[i]; return the number of windows.

    - offsets: int64[n + 1], of the texts in the UTF-8 bytes `data`.
    - rule: the definition of a window.
    - first: int32[len(data)].
    """
    n = 0
    words = empty_words(CHUNK + rule.width if rule.words else 1)
    for d in range(len(offsets) - 1):
        at, stop = offsets[d], offsets[d + 1]
        if not rule.words:
            for i in range(at, stop - rule.width + 1):
                first[i] = rule.width
                n += 1
            continue
        while True:
            items = cut_words(data, at, stop, rule.table, words)
            for x in range(min(CHUNK, items - rule.width + 1)):
                first[words.start[x]] = words.end[x + rule.width - 1] - words.start[x]
                n += 1
            if items < CHUNK + rule.width:
                break
            at = words.start[CHUNK]
    return n


@kernel
def group(order: I32, data: U8, first: I32) -> None:
    """Replace the length of each window in `first` by the offset of the first window with the same bytes.

    The offset p is stored as -2 - p. A stack holds the windows that are prefixes of the current suffix, by length,
    since one window of words may be a prefix of another ("the cat", "the cats").

    - order: the suffix array of `data`.
    """
    places, sizes, depth = np.empty(64, np.int64), np.empty(64, np.int64), 0
    before: Int = 0
    for i in range(len(order)):
        if i + AHEAD < len(order):  # offsets are random, so memory is prefetched
            prefetch(first, np.int64(order[i + AHEAD]))
            prefetch(data, np.int64(order[i + AHEAD]))
        p = np.int64(order[i])
        size = np.int64(first[p])
        if size == NO_WINDOW:
            continue
        if depth:
            same = same_after(data, before, data, p, min(sizes[depth - 1], len(data) - max(before, p)))
            while depth and sizes[depth - 1] > same:
                depth -= 1
        k = depth
        while k and sizes[k - 1] > size:  # they end after the end of this text
            k -= 1
        if k and sizes[k - 1] == size:
            met = places[k - 1]
            first[p] = met
            first[met] = max(first[met], -2 - p)
        else:
            if depth == len(places):
                places, sizes = np.concatenate((places, places)), np.concatenate((sizes, sizes))
            for j in range(depth, k, -1):
                places[j], sizes[j] = places[j - 1], sizes[j - 1]
            places[k], sizes[k] = p, size
            depth += 1
            first[p] = -2 - p
        before = p


@kernel
def repeats_of(ids: U64, offsets: I64, data: U8, rule: WindowRule, first: I32, out: U64) -> U64:
    """Return the repeats (text that occurred earlier) of all texts, uint64[m, 7], in order of (id, start).

    `repeats.py` describes the columns.

    Args:
        ids: the documents' ids, ascending.
        offsets: text k is data[offsets[k]:offsets[k + 1]].
        data: the texts, UTF-8 bytes.
        rule: the definition of a window.
        first: int32, the table that `group` wrote.
        out: a buffer, replaced by a longer one when it is full.
    """
    k = 0
    words = empty_words(CHUNK + rule.width if rule.words else 1)
    for d in range(len(ids)):
        at, stop = offsets[d], offsets[d + 1]
        start, end, kept, kept_stop, kept_doc = np.int64(-1), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        period, rounds, turn = np.int64(0), np.int64(0), np.int64(0)
        while True:
            items = cut_words(data, at, stop, rule.table, words) if rule.words else min(stop - at, CHUNK + rule.width)
            n: Int = min(CHUNK, items - rule.width + 1)
            for x in range(n):
                p = words.start[x] if rule.words else at + x
                if start < 0 and first[p] == -2 - p:  # not a repeat, like most windows
                    continue
                place = first_of(first, p)
                if start >= 0 and period == 0 and place == kept:
                    period, turn = p - start, end - start
                step = (p - start) % period if period else p - start
                if start >= 0 and not (place < p <= end and place - kept == step and place < kept_stop):
                    kept_at = kept - offsets[kept_doc]
                    repeat = Repeat(start, end, -offsets[d], ids[d], ids[kept_doc], kept_at, period, rounds, turn)
                    out = add_repeat(data, repeat, out, k)
                    k, start = k + 1, np.int64(-1)
                if place < p:
                    if start < 0:
                        kept_doc = np.searchsorted(offsets, place, "right") - 1
                        start, kept, kept_stop, period = p, place, offsets[kept_doc + 1], np.int64(0)
                    rounds = (p - start) // period if period else np.int64(0)
                    end = words.end[x + rule.width - 1] if rule.words else p + rule.width
            if items < n + rule.width or n <= 0:
                break
            at = words.start[n] if rule.words else at + n
        if start >= 0:
            kept_at = kept - offsets[kept_doc]
            repeat = Repeat(start, end, -offsets[d], ids[d], ids[kept_doc], kept_at, period, rounds, turn)
            out = add_repeat(data, repeat, out, k)
            k += 1
    return out[:k].copy()


@kernel(inline="always")
def first_of(first: I32, p: Int) -> Int:
    """Return the offset of the first occurrence of the window that starts at offset `p`.

    - first: the table that `group` wrote, int32; it maps the offset of a window to the offset of its first occurrence.
    """
    met = np.int64(first[p])
    return -2 - met if met < 0 else -2 - np.int64(first[met])


def find(
    joined: Joined, runner: Runner, out: str, *, width: int, word_split: str, name: str, key: str
) -> tuple[ShuffleFiles, list[PartToCut], dict[str, int]]:
    """Find all repeated windows; return (the file of repeats, the groups of each part, counts).

    There is one group, whose first id is 0.

    - joined: the documents, after older ones.
    - out: the folder of temporary files.
    - width: the length of a window, in bytes if `word_split` is "", else in words.
    - word_split: the rule for splitting words.
    - name: the stage's name, for progress bars.
    - key: the hash of the settings and input.

    Raises PlanError if the text does not fit into the runner's memory, or if pydivsufsort is not installed.
    """
    need("pydivsufsort", extra="dedup")
    task = SortCorpus(out, key, width, word_split, tuple(joined.docs.tasks), runner)
    receipt = next(iter(runner.map(task, [0], f"{name}: sort")))
    counted = {kind: receipt[kind] for kind in ("bytes", "docs", "windows", "marks")}
    return ShuffleFiles(SortCorpus.url(out)[:-5], 1, 1), [PartToCut(one, (0,), 0) for one in joined.docs.tasks], counted
