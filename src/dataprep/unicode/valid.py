"""Check that bytes are valid UTF-8, and replace characters that HTML or terminals cannot show safely."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.errors import UNPRINTABLE

LONG = 4096  # bytes from which Arrow, three times as fast on text beyond ASCII, makes up for its slower start


def is_utf8(data: bytes | npt.NDArray[np.uint8] | None) -> bool:
    """Return whether `data` is valid UTF-8; True for None."""
    try:
        if data is None or len(data) < LONG:
            bytes(b"" if data is None else data).decode()
        else:
            ends = pa.py_buffer(np.array([0, len(data)], np.int64))
            buffers = [None, ends, pa.py_buffer(data)]
            pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, buffers).cast(pa.large_string())
    except (UnicodeDecodeError, pa.ArrowInvalid):
        return False
    return True


def printable(text: str) -> str:
    r"""Return the text with surrogates and control characters (also bidirectional ones) replaced by U+FFFD.

    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
