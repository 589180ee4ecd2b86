"""The common part of C4 and RefinedWeb, which rewrite texts line by line in a kernel and drop some documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger


def rewritten(
    batches: Iterator[Batch], stats: Ledger, kernel: Callable[..., int], rules: Any, names: Sequence[str], n_lines: int
) -> Iterator[Batch]:
    """Yield the batches with texts rewritten by a kernel, without the documents that the kernel drops.

    kernel: a function that returns the number of documents kept. It is called with offsets, data and `rules`, and with
    four arrays that it fills: the kept texts, the ends of these texts, the code of each document (0: kept), and the
    number of lines of each code. names: the name of each code; for a document it is the drop reason. n_lines: the first
    `n_lines` codes are for lines, which are counted in `stats` as `lines.NAME`.
    """
    counts = np.zeros(len(names), np.int64)
    for batch in batches:
        offsets, data = B.buffers(batch)
        out = np.empty(int(offsets[-1] - offsets[0]), np.uint8)
        ends, codes = np.zeros(len(offsets), np.int64), np.zeros(batch.num_rows, np.uint8)
        kept = kernel(offsets, data, rules, out, ends, codes, counts)
        keep, text = codes == 0, B.strings(ends[: kept + 1], out)
        if kept < batch.num_rows:
            stats.drop(B.ids(batch)[~keep], pa.array(names).take(pa.array(codes[~keep])))
        columns = [text if name == "text" else batch.column(name).filter(pa.array(keep)) for name in batch.schema.names]
        yield B.with_column(pa.RecordBatch.from_arrays(columns, schema=batch.schema), "text", text)
    for name, n in zip(names[:n_lines], counts.tolist(), strict=False):
        stats.count(f"lines.{name}", n)
