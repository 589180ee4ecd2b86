"""Check that token shards are unchanged since they were written, before a model is trained on them.

Every file is read once. If the files have 16 MB or more, their hashes are stored in the output folder, and a file is
read again only if its size, mtime, ctime or inode has changed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from dataprep.errors import CorruptShard
from dataprep.store.hashes import Hashes
from dataprep.tokens.shards.shard import Shards

KIND = "sha256"
SPLITS = ("train", "val")


def check_intact(sets: Mapping[str, Shards], out: Path) -> None:
    """Raise CorruptShard unless the files that training reads have the hashes that their manifests state.

    Args:
        sets: the token shards by name.
        out: the folder in which the hashes of large files are stored. Files whose hash is missing from another
            program's manifest are not checked. Neither are shards at URLs, which would have to be fetched whole.
    """
    stated = dict(pair for shards in sets.values() if isinstance(shards.path, Path) for pair in _stated(shards))
    known = Hashes()
    known.load(str(out))
    with ThreadPoolExecutor(min(len(stated), os.cpu_count() or 1, 8) or 1, thread_name_prefix="check") as threads:
        found = threads.map(partial(known.of, hash_of=_hash, kind=KIND), stated)
        for (path, expected), digest in zip(stated.items(), found, strict=True):
            if digest != expected:
                threads.shutdown(cancel_futures=True)
                msg = (
                    f"{path}: its content has changed since it was written; `dataprep verify {os.path.dirname(path)}` "
                    "lists all damage and what to do"
                )
                raise CorruptShard(msg)
    known.save(str(out), stated, KIND)


def _stated(shards: Shards) -> Iterator[tuple[str, str]]:
    """Yield the path and the hash of each file of the splits that training reads."""
    for entry in shards.manifest.shards:
        for kind, digest in (("bin", entry.hash), ("idx", entry.ends_hash), ("msk", entry.mask_hash)):
            if entry.split in SPLITS and digest is not None:
                yield str(shards.file(f"{entry.name}.{kind}")), digest


def _hash(path: str) -> str:
    """Return the hash of a file's bytes as a manifest states it."""
    digest, block = hashlib.sha256(), bytearray(1 << 20)
    with open(path, "rb", buffering=0) as f:
        while n := f.readinto(block):
            digest.update(memoryview(block)[:n])
    return f"sha256:{digest.hexdigest()}"
