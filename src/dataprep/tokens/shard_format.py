"""The format of token shards: integer types, hashes and constants, for readers and writers; needs numpy only."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from dataprep.errors import PlanError

KIND, VERSION = "tokens", 1
SHARD_TOKENS = 100_000_000  # 200 MB of uint16: few enough files for a trillion tokens, small enough to copy one
DTYPES: dict[str, np.dtype[Any]] = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4")}
ENDS = np.dtype("<u8")
AGAIN = "remove manifest.json and make the folder again"  # with its manifest a folder counts as complete


def token_dtype(vocab_size: int, dtype: str = "uint16") -> np.dtype[Any]:
    """Return the NumPy type of stored ids, little-endian uint16 or uint32, as `dtype` names it.

    Raises PlanError if there is no such type, or if `vocab_size` ids do not fit into it.
    """
    if dtype not in DTYPES:
        msg = f"dtype={dtype!r} must be one of {', '.join(DTYPES)}"
        raise PlanError(msg)
    n_ids = 1 << 8 * DTYPES[dtype].itemsize
    if vocab_size > n_ids:
        msg = (
            f"a vocabulary of {vocab_size:,} does not fit into {dtype} shards, which hold {n_ids:,} ids; "
            'train a smaller one or pass dtype="uint32" (twice the disk)'
        )
        raise PlanError(msg)
    return DTYPES[dtype]


def content_hash(data: Any) -> str:
    """Return the SHA-256 of an array or of bytes as "sha256:" and hex digits."""
    return "sha256:" + hashlib.sha256(np.frombuffer(data, np.uint8).data).hexdigest()
