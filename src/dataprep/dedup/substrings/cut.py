"""Turn the repeats (text that occurred earlier) that an engine found into the table of spans to cut.

The groups of documents are processed one at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.tables import SPAN, SPANS, united
from dataprep.core.run.passes import Pass, WriteTable
from dataprep.core.run.runner import Runner
from dataprep.dedup.older import Joined
from dataprep.dedup.spans.passes import PartToCut
from dataprep.store import files
from dataprep.store.shuffle import ShuffleFiles
from dataprep.unicode.text import U64
from dataprep.unicode.words import word_table

from . import passes
from .repeats import CHAR, COLUMNS, CUTS, SPAN_COLUMNS, in_order, spans_of


def groups_of(parts: Sequence[tuple[list[int], int]]) -> tuple[U64, list[tuple[tuple[int, ...], int]]]:
    """Divide documents into groups of up to GROUP_BYTES of text; return their first ids, and the groups of each part.

    - parts: for each part, the first document id in every GROUP_BYTES of its text, and the size of this text.

    The groups of a part are given as (their first ids, the number of the first one). Small parts share a group.
    """
    groups, found, held = list[int](), list[tuple[tuple[int, ...], int]](), 0
    for firsts, n_bytes in parts:
        joins = bool(groups) and held + n_bytes <= passes.GROUP_BYTES
        own = firsts[joins:]
        found.append((tuple(groups[len(groups) - joins :] + own), len(groups) - joins))
        groups += own
        held = held + n_bytes if joins else n_bytes - passes.GROUP_BYTES * max(0, len(own) - 1)
    return np.array(groups or [0], np.uint64), found


def by_group(repeats: U64, firsts: Sequence[int]) -> list[U64]:
    """Split the repeats (text that occurred earlier), uint64[m, 7]; return one array of rows per group of documents.

    - firsts: the first document id of each group.
    """
    rows = in_order(repeats)
    return np.split(rows, np.searchsorted(rows[:, 0], np.array(firsts[1:], np.uint64)))


@dataclass(frozen=True)
class SortRepeats(Pass[int]):
    """Collect and sort the repeats (text that occurred earlier) of one group of documents.

    If `cut` is "char", the repeats are also turned into spans to cut.

    Attributes:
        found: the files of repeats, which have one section per group of documents.
        first_new: the smallest id of a document from which spans are cut.
    """

    folder = "sort"
    noun = "group"
    thread_safe = True

    cut: str
    found: ShuffleFiles
    first_new: int

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Write the repeats of document group number `item` to the file `url`, sorted; return {}.

        If `cut` is "char", the spans to cut are written instead of the repeats, and their counts are returned.
        """
        rows = in_order(self.found.section(item, np.uint64).reshape(-1, COLUMNS))
        if self.cut == "char":
            no_texts = np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros(0, np.uint8)
            no_texts[2].flags.writeable = False
            rows = spans_of(rows, *no_texts, word_table(), CHAR)
            rows = rows[rows[:, 0] >= np.uint64(self.first_new)]
        with files.atomic(url) as f:
            f.write(rows.tobytes())
        return _counts(rows) if self.cut == "char" else {}


def _counts(rows: U64) -> dict[str, int]:
    """Return the numbers of rows, of spans that they cover, of documents, and of bytes; rows are uint64[m, 6]."""
    spans = rows.view(SPAN).reshape(-1)
    ids, start, end = united(spans["id"], spans["start"], spans["end"])
    return {
        "rows": len(spans), "spans": len(ids), "documents_cut": len(np.unique(ids)),
        "bytes_cut": int((end - start).sum()),
    }  # fmt: skip


@dataclass(frozen=True)
class ShrinkRepeats(Pass[PartToCut]):
    """Shrink the repeats (text that occurred earlier) in an input part to whole words or lines; write the spans to cut.

    Attributes:
        cut: "word" or "line".
        word_split: the rule for splitting words.
    """

    folder = "shrink"
    thread_safe = True

    cut: str
    word_split: str

    def write(self, url: str, item: PartToCut) -> dict[str, Any]:
        """Write the spans (byte ranges) to cut from input part `item` to `url`, uint64[m, 6]; return their counts."""
        groups = _SortedRepeats(self.out, item)
        counted: Counter[str] = Counter()
        with files.atomic(url) as f:
            for batch in B.recut(item.part.batches(["id", "text"])):
                ids = B.ids(batch)
                repeats = groups.between(int(ids[0]), int(ids[-1]))
                offsets, data = B.buffers(batch)
                rows = spans_of(
                    repeats, ids.copy(), offsets.copy(), data, word_table(self.word_split), CUTS.index(self.cut)
                )
                f.write(rows.tobytes())
                counted.update(_counts(rows))
        return dict(counted)


@dataclass(frozen=True, kw_only=True)
class WriteCuts(WriteTable):
    """Write the table of spans to cut; a section is a file of `made`.

    Attributes:
        joined: the documents.
        made: the pass that wrote the spans.
        first: the number of its first file.
    """

    schema = SPANS
    thread_safe = True

    joined: Joined
    made: type[Pass[Any]]
    first: int

    def rows(self, section: int) -> Iterator[pa.RecordBatch]:
        """Yield the spans of file number `section`."""
        url = self.made.url(self.out, self.first + section)
        yield self.joined.spans(read_rows(url, SPAN_COLUMNS).view(SPAN).reshape(-1))


class _SortedRepeats:
    """Reads the repeats of a range of ids of an input part; holds one group of documents at a time."""

    def __init__(self, out: str, of: PartToCut) -> None:
        self.out, self.firsts, self.before = out, np.array(of.firsts, np.uint64), of.before
        self.number, self.rows = -1, np.zeros((0, COLUMNS), np.uint64)

    def between(self, low: int, high: int) -> U64:
        """Return the repeats of documents with low <= id <= high, in order."""
        first, last = (max(0, int(np.searchsorted(self.firsts, np.uint64(x), "right")) - 1) for x in (low, high))
        found = [self.rows[:0]]
        for number in range(first, last + 1):
            if number != self.number:
                self.number, self.rows = number, read_rows(SortRepeats.url(self.out, self.before + number))
            start = np.searchsorted(self.rows[:, 0], np.uint64(low))
            found.append(self.rows[start : np.searchsorted(self.rows[:, 0], np.uint64(high), "right")])
        return np.concatenate(found)


def read_rows(url: str, columns: int = COLUMNS) -> U64:
    """Return all rows of the file `url` of repeats (7 columns) or of spans to cut (6 columns), uint64[m, columns]."""
    with files.open_raw(url) as f:
        return np.frombuffer(f.read(), np.uint64).reshape(-1, columns)


def write_cuts(
    joined: Joined, runner: Runner, out: str, *, url: str, name: str, key: str, cut: str, word_split: str,
    found: ShuffleFiles, parts: Sequence[PartToCut],
) -> dict[str, Any]:  # fmt: skip
    """Write the table of spans to cut to `url`; return {"files", "spans", "documents_cut", "bytes_cut"}.

    - joined: the documents, after older ones from which nothing is cut.
    - cut: as in SuffixArray.
    - word_split: the rule for splitting words.
    - found: the files of repeats, which have one section per group of documents.
    - parts: the input parts, and the groups of each.
    - name: the stage's name, for progress bars.
    - key: the hash of the settings and input.
    """
    task = SortRepeats(out, key, cut, found, int(joined.first_new))
    made = list(runner.map(task, range(found.n), f"{name}: sort"))
    wrote: type[Pass[Any]] = SortRepeats
    if cut != "char":
        wrote = ShrinkRepeats
        made = list(runner.map(ShrinkRepeats(out, key, cut, word_split), parts[joined.n_old :], f"{name}: shrink"))
    first = 0 if cut == "char" else joined.n_old
    write = WriteCuts(out, key, url, len(made), joined=joined, made=wrote, first=first)
    totals = {n: sum(one.get(n, 0) for one in made) for n in ("rows", "spans", "documents_cut", "bytes_cut")}
    written = write.run(runner, totals.pop("rows"), f"{name}: write spans")
    return {"files": written, **totals}
