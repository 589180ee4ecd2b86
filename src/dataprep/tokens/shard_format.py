"""The format of token shards: integer types, hashes and constants, for readers and writers; needs only numpy."""

from __future__ import annotations

import hashlib
import io
import os
from tokenize import TokenError
from typing import Any

import numpy as np

from dataprep.core.output.state import TokenManifest, TokenShard
from dataprep.errors import PlanError
from dataprep.store import ranges
from dataprep.store.atomic import regular

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


def load_array(path: str | os.PathLike[str]) -> Any:
    """Return the array in a .npy file or URL; its memory is bounded by the size of the file, whatever shape it states.

    Raises OSError or ValueError if it cannot be read.
    """
    try:
        if ranges.is_url(path):
            return np.load(io.BytesIO(ranges.read(path)), allow_pickle=False)
        return np.array(np.lib.format.open_memmap(os.fspath(regular(path)), mode="r"))
    except (EOFError, OverflowError, SyntaxError, TokenError, TypeError, KeyError) as e:  # of a damaged header
        raise ValueError(str(e) or type(e).__name__) from e


def unlike_written(manifest: TokenManifest) -> str:
    """Return the name of a field of a manifest of token shards with a value that was not written; "" if there is none.

    The types of most fields are checked by `TokenManifest.of`; required fields may be null there.
    """
    sizes = manifest.bytes_per_token
    facts = {
        "dtype": manifest.dtype in DTYPES,
        "eot": manifest.eot is not None,
        "vocab_size": manifest.vocab_size is not None,
        "special": manifest.special is not None,
        "bytes_per_token": sizes is None or "/" not in sizes,
        "tokenizer": manifest.tokenizer is None or "/" not in f"{manifest.tokenizer.file}{manifest.tokenizer.config}",
        "shards": manifest.shards is not None and all(map(_is_whole, manifest.shards)),
    }
    return next((name for name, right in facts.items() if not right), "")


def _is_whole(shard: TokenShard) -> bool:
    """Return whether the entry of a shard in a manifest has a name, a split and numbers."""
    numbers = (shard.tokens, shard.documents, shard.bytes)
    return None not in (shard.name, shard.split, *numbers) and "/" not in shard.name + shard.split
