"""Check that token shards have the bytes that were written, before they are trained on.

Every file is read once. If the files have 16 MB or more, their hashes are stored in the output folder, and a file is
read again only if its size, mtime, ctime or inode has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from dataprep.errors import CorruptShard, DataprepError
from dataprep.store.atomic import read_bytes, whole
from dataprep.tokens.shards.shard import Shards

NAME = ".dataprep-hashes"
KEPT_BYTES = 16 << 20  # fewer are hashed again, in milliseconds
YOUNG_NS = 2 * 10**9  # a file that changed less than two seconds ago may change again without a new mtime
SPLITS = ("train", "val")


def check_intact(sets: Mapping[str, Shards], out: Path) -> None:
    """Raise CorruptShard unless the files that training reads have the hashes that their manifests state.

    sets: the token shards by name. out: the folder in which the hashes of large files are stored. Files whose hash a
    manifest of another program does not state are not checked.
    """
    stated = dict(pair for shards in sets.values() for pair in _stated(shards))
    large = sum(path.stat().st_size for path in stated) >= KEPT_BYTES
    known = _known(out / NAME) if large else {}
    with ThreadPoolExecutor(min(len(stated), os.cpu_count() or 1, 8) or 1, thread_name_prefix="check") as threads:
        found = threads.map(partial(_hash, known=known), stated)
        made: dict[str, str] = {}
        for (path, expected), (state, digest) in zip(stated.items(), found, strict=True):
            if digest != expected:
                threads.shutdown(cancel_futures=True)
                msg = (
                    f"{path}: its bytes are not those that were written; `dataprep verify {path.parent}` lists all "
                    "damage and what to do"
                )
                raise CorruptShard(msg)
            made |= {state: digest} if state else {}
    if large and made != known:
        with contextlib.suppress(DataprepError, OSError), whole(out / NAME) as f:  # only a loss of time
            f.write(json.dumps(made).encode())


def _stated(shards: Shards) -> Iterator[tuple[Path, str]]:
    """Yield the path and the hash of each file of the splits that training reads."""
    for entry in shards.manifest.shards:
        for kind, digest in (("bin", entry.hash), ("idx", entry.ends_hash), ("msk", entry.mask_hash)):
            if entry.split in SPLITS and digest is not None:
                yield shards.file(f"{entry.name}.{kind}"), digest


def _known(path: Path) -> dict[str, str]:
    try:
        found = json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _hash(path: Path, known: Mapping[str, str]) -> tuple[str, str]:
    """Return a hash of a file's state, "" if it changed just now, and the hash of its bytes as a manifest states it."""
    state = _state(path)
    if state in known:
        return state, known[state]
    digest, block = hashlib.sha256(), bytearray(1 << 20)
    with path.open("rb", buffering=0) as f:
        while n := f.readinto(block):
            digest.update(memoryview(block)[:n])
    return state if _state(path) == state else "", f"sha256:{digest.hexdigest()}"


def _state(path: Path) -> str:
    found = path.stat()
    if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < YOUNG_NS:
        return ""
    facts = (os.path.realpath(path), found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
    return hashlib.sha256(repr(facts).encode("utf-8", "backslashreplace")).hexdigest()
