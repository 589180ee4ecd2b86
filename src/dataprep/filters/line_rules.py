"""The common part of C4 and RefinedWeb, which rewrite texts line by line in a kernel and drop some documents.

Slow references for the tests: tests/twins/c4.py, tests/twins/refinedweb.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.score import number_or_null
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8

OTHER_CODE = 0  # the code of kept lines: cuts inside these


class CutLog(NamedTuple):
    """The record of a kernel's work on the lines of a batch; a rule has the same code as the lines that it cuts.

    Attributes:
        counts: int64[codes], the number of lines by code, including lines of dropped documents.
        times: int64[rows, rules], the number of cuts in each document.
        n_bytes: int64[rows, rules], the size of these cuts in bytes.
        spans: int64[n, 4], the row, start, end and rule of each cut, in the bytes of the batch; with n = 0, no spans
            are written.
        at: int64[2], the row of the document, and the number of spans that were written.
        compared: float64[rows], the number for which a rule dropped the document; NaN if the rule compares no number.
    """

    counts: I64
    times: I64
    n_bytes: I64
    spans: I64
    at: I64
    compared: npt.NDArray[np.float64]


@kernel(_nrt=False)
def log_cut(log: CutLog, rule: int, start: int, end: int) -> None:
    """Record that a rule cuts the bytes from `start` to `end` out of the document."""
    _log(log, rule, start, end, end - start)


@kernel(_nrt=False)
def log_edit(log: CutLog, rule: int, data: U8, a: int, b: int, out: U8, w: int, end: int) -> None:
    """Record that a rule reduces the line data[a:b] of the document to out[w:end].

    The span begins at the first byte that is cut, and ends after the last one.
    """
    n_bytes = (b - a) - (end - w)
    while w < end and data[a] == out[w]:
        a, w = a + 1, w + 1
    while w < end and data[b - 1] == out[end - 1]:
        b, end = b - 1, end - 1
    while a < b and data[a] & 0xC0 == 0x80:  # inside a character
        a -= 1
    _log(log, rule, a, b, n_bytes)


@kernel(_nrt=False)
def _log(log: CutLog, rule: int, start: int, end: int, n_bytes: int) -> None:
    log.times[log.at[0], rule] += 1
    log.n_bytes[log.at[0], rule] += n_bytes
    if len(log.spans):
        log_span(log, rule, start, end)


@kernel(_nrt=False)
def log_span(log: CutLog, rule: int, start: int, end: int) -> None:
    """Write the span of a cut without counting it."""
    span = log.spans[log.at[1]]
    span[0], span[1], span[2], span[3] = log.at[0], start, end, rule
    log.at[1] += 1


def rewritten(
    batches: Iterator[Batch], stats: Ledger, kernel: Callable[..., int], rules: Any, names: Sequence[str],
    n_lines: int, inside: str,
) -> Iterator[Batch]:  # fmt: skip
    """Yield the batches with texts rewritten by a kernel, without the documents that the kernel drops.

    - kernel: a function that returns the number of documents kept. It is called with offsets, data and `rules`, and
      with four arguments that it fills: the kept texts, the ends of these texts, the code of each document (0 if it is
      kept), and a CutLog.
    - names: the name of each code; for a document, the name is its drop reason.
    - n_lines: the first `n_lines` codes are for lines, which are counted in `stats` as `lines.NAME`; cut lines are
      recorded by rule.
    - inside: the name of the rule that cuts inside kept lines.
    """
    counts = np.zeros(len(names), np.int64)
    cut_names = pa.array([inside, *names[1:n_lines]])
    for batch in batches:
        offsets, data = B.buffers(batch)
        out = np.empty(int(offsets[-1] - offsets[0]), np.uint8)
        ends, codes = np.zeros(len(offsets), np.int64), np.zeros(batch.num_rows, np.uint8)
        sums = np.zeros((2, batch.num_rows, n_lines), np.int64)
        most = len(out) + batch.num_rows if stats.is_replay else 0
        spans, compared = np.zeros((most, 4), np.int64), np.full(batch.num_rows, np.nan)
        log = CutLog(counts, sums[0], sums[1], spans, np.zeros(2, np.int64), compared)
        kept = kernel(offsets, data, rules, out, ends, codes, log)
        keep, text = codes == 0, B.strings(ends[: kept + 1], out)
        if kept < batch.num_rows:
            reasons = pa.array(names).take(pa.array(codes[~keep]))
            stats.drop(B.ids(batch)[~keep], reasons, value=number_or_null(compared[~keep]))
        if stats.is_replay:
            spans = spans[: int(log.at[1])]
            row, start, end, rule = spans[keep[spans[:, 0]]].T
            reasons = cut_names.take(pa.array(rule))
            stats.cut(B.ids(batch)[row], start - offsets[row], end - offsets[row], reason=reasons)
        else:
            ids = B.ids(batch)[keep]
            for code, name in enumerate(cut_names.to_pylist()):
                stats.trim(name, ids, log.times[keep, code], log.n_bytes[keep, code])
        columns = [text if name == "text" else batch.column(name).filter(pa.array(keep)) for name in batch.schema.names]
        yield B.with_column(pa.RecordBatch.from_arrays(columns, schema=batch.schema), "text", text)
    for name, n in zip(names[:n_lines], counts.tolist(), strict=False):
        stats.count(f"lines.{name}", n)
