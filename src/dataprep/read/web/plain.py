"""Make the documents of a block of WET records at once (texts, and fields as JSON), without Python objects.

Slow reference for the tests: tests/twins/warc.py
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model import batch as B
from dataprep.read.text import RecordColumns
from dataprep.unicode.kernel import kernel
from dataprep.unicode.text import I64, U8, Int, copied

from .archive import HEADERS
from .blocks import ArchiveBlock
from .split import BODY, END, FIRST


def rows_of(block: ArchiveBlock, chosen: I64, fields: Mapping[str, str]) -> RecordColumns:
    """Return the records of a block with the numbers `chosen`, int64[n], as documents.

    - fields: {header: name in the metadata}.
    """
    rows, data = block.rows[chosen], block.data
    texts = _taken(data, rows[:, BODY], rows[:, END])
    columns = [FIRST + 2 * HEADERS.index(header) for header in fields]
    spans = np.ascontiguousarray(rows[:, np.array([[c, c + 1] for c in columns]).reshape(-1)])
    labels = [f'"{name}":"'.encode() for name in fields.values()]
    label = np.array([[len(one), *one.ljust(max(map(len, labels)))] for one in labels], np.uint8)
    size = int((spans[:, 1::2] - spans[:, ::2]).sum()) + len(rows) * int(label[:, 0].sum() + 2 * len(labels) + 2)
    out, ends, odd = np.empty(size, np.uint8), np.zeros(len(rows) + 1, np.int64), np.zeros(len(rows), np.uint8)
    n = _metas(data, spans, label, out, ends, odd)
    metas = B.strings(ends, out[:n])
    if odd.any():
        values = [_meta(data.data, row, [*fields.values()]) for row in spans[odd > 0].tolist()]
        metas = pc.replace_with_mask(metas, pa.array(odd > 0), pa.array(values, pa.large_string()))
    return RecordColumns(block.positions[chosen], rows[:, END] - rows[:, BODY], texts, metas)


def _taken(data: U8, starts: I64, ends: I64) -> pa.LargeBinaryArray:
    offsets = np.append(0, np.cumsum(ends - starts))
    out = np.empty(int(offsets[-1]), np.uint8)
    _copy(data, starts, ends, out)
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(out)]
    )


def _meta(data: memoryview, spans: list[int], names: list[str]) -> str:
    """Return the fields of one record as JSON; `spans` has the start and end of each, 0 and 0 if there is none."""
    pairs = zip(names, spans[::2], spans[1::2], strict=True)
    return orjson.dumps({n: str(data[i:j], "utf-8", "replace").strip() for n, i, j in pairs if j}).decode()


@kernel(_nrt=False)
def _copy(data: U8, starts: I64, ends: I64, out: U8) -> None:
    k = np.int64(0)
    for d in range(len(starts)):
        k = copied(data, starts[d], ends[d], out, k)


@kernel(_nrt=False)
def _metas(data: U8, spans: I64, labels: U8, out: U8, ends: I64, odd: U8) -> Int:
    """Write the fields of each record as JSON; those with bytes that JSON or UTF-8 may change are marked as odd."""
    k = np.int64(0)
    for d in range(len(spans)):
        out[k] = 123  # {
        k += 1
        for f in range(len(labels)):
            start, end = spans[d, 2 * f], spans[d, 2 * f + 1]
            if end == 0:
                continue
            k = copied(labels[f], 1, 1 + labels[f, 0], out, k)
            k = copied(data, start, end, out, k)
            for i in range(np.uint64(start), np.uint64(end)):
                c = data[i]
                odd[d] |= (c < 32) | (c > 126) | (c == 34) | (c == 92)
            out[k], out[k + 1] = 34, 44  # ",
            k += 2
        k -= out[k - 1] == 44
        out[k] = 125  # }
        k += 1
        ends[d + 1] = k
    return k
