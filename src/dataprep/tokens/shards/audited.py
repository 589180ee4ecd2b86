"""Read token shards for the audit of a folder (`core/output/audit.py`): tokens as text, numbers as numbers."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping

import numpy as np

from dataprep.core.output.audit import BYTES, CELL, Scan, Strings
from dataprep.core.output.layout import REPLACED, UNFINISHED
from dataprep.store import files
from dataprep.tokens.shard_format import ENDS
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

from .shard import Shards

TOKENIZER_FILE = re.compile(r"tokenizer(\.g\d+)?\.json")
BLOCK = 1 << 20  # tokens
OVERLAP = 256  # tokens of the block before, for a name at the border of two blocks


def decoded(url: str) -> Iterator[Strings]:
    """Yield the text of a file of tokens, to be searched for names, a million tokens at a time."""
    home = url.rpartition("/")[0]
    is_other = files.name_of(home) in (UNFINISHED, REPLACED)  # with the tokenizer of the result, or one of its own
    own = [name for name in files.listdir(home) if is_other and TOKENIZER_FILE.fullmatch(name)]
    shards = Shards.open(home.rpartition("/")[0] if is_other else home, sizes=False)
    tok, dtype = Tokenizer.load(files.join(home, own[0]) if own else str(shards.tokenizer_file)), shards.dtype
    tokens = np.frombuffer(_data(url), dtype)
    for first in range(0, len(tokens), BLOCK):
        yield Strings(f"tokens from {first:,}", CELL, [tok.decode(tokens[max(0, first - OVERLAP) : first + BLOCK])])


def numbers(url: str) -> Iterator[Strings]:
    """Yield nothing for document ends, a mask or an array of numbers, whose bytes are not text; else the bytes."""
    data = _data(url)
    if not _is_numbers(url.rpartition(".")[2], data):
        yield Strings("the bytes", BYTES, [data.decode("utf-8", "replace")])


def _is_numbers(kind: str, data: bytes) -> bool:
    """Return whether `data` has the form of a shard's file of the kind "idx", "msk" or "npy"."""
    if kind == "msk":
        return not data or max(data) <= 1
    if kind == "idx":
        ends = np.frombuffer(data[: len(data) // ENDS.itemsize * ENDS.itemsize], ENDS)
        return len(data) == ends.nbytes and bool((ends < 1 << 48).all() and (ends[1:] > ends[:-1]).all())
    with io.BytesIO(data) as f:
        try:
            array = np.load(f, allow_pickle=False)
        except (ValueError, EOFError, OSError):
            return False
        return array.dtype.kind in "iub" and not f.read()


def _data(url: str) -> bytes:
    with files.open_raw(url) as f:
        return bytes(f.read())


SCANS: Mapping[str, Scan] = {".bin": decoded, ".idx": numbers, ".msk": numbers, ".npy": numbers}
"""What reads each file of token shards that is not Parquet or JSON, by the end of its name."""
