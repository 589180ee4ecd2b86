"""Find the input files of a Dataset again, and read documents from them if the files have not changed since the run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.errors import DataprepError, ReadError
from dataprep.store import compress, files
from dataprep.store.hashes import Hashes

from ..model import batch as B
from ..model.describe import READ
from ..model.ledger import Ledger
from ..model.part import Part, Sealed
from ..model.reader import Reader, Slice, reader_of
from ..model.view import AGAIN, CHANGED, VIEW, shards_now
from ..output.layout import Folder, home_of
from ..output.state import OriginFile

MAX_SCAN_BYTES = 64 << 20  # stored; a larger file is not read from its beginning, which takes seconds


def is_there(url: str) -> bool:
    """Return whether an input file named in `origin.json` can be opened; "***" in a URL stands for a removed secret."""
    return (files.is_local(url) or "***" not in url) and files.exists(url)


def is_same(row: OriginFile, reader: Reader, known: Hashes) -> bool:
    """Return whether an input file exists and has the content that was read; for a shard, only sizes are compared."""
    if not is_there(row.url):
        return False
    if isinstance(reader, Sealed):
        return files.size(row.url) == row.size
    return known.fingerprint(row.url) == row.fingerprint


def check_input(home: Folder) -> None:
    """Raise ReadError if the folder is a view, and an input file is missing or has changed since.

    A local file is read only if its size or a timestamp differs from when it was read.
    """
    if home.sealed.codec != VIEW:
        return
    origin, known = home.origin, Hashes()
    known.load(home.url)
    if origin is None:
        msg = f"there is no origin.json, which lists the input that this view needs; {AGAIN}"
        raise ReadError(msg, home.url)
    stated: dict[str, dict[str, str]] = {}  # the shards of the input Datasets
    for row in origin.files:
        reader = reader_of(origin.readers[row.reader])
        above = home_of(row.url) if isinstance(reader, Sealed) else None
        if above is not None and above.url not in stated:
            stated[above.url] = shards_now(above)
            if above.readable is not None:
                check_input(above)
        if above is not None:
            is_whole = files.exists(stated[above.url].get(row.fingerprint, ""))
        else:
            is_whole = bool(row.left_out) or (reader is not None and is_same(row, reader, known))
        if not is_whole:
            raise _changed(home, row.url)
    for one in origin.beside:
        if not is_there(one.url) or known.fingerprint(one.url) != one.fingerprint:
            raise _changed(home, one.url)


def _changed(home: Folder, url: str) -> ReadError:
    state = "has changed" if is_there(url) else "is missing"
    return ReadError(CHANGED.format(state, home.url), url)


def document(out: str, id_: int) -> dict[str, Any] | None:
    """Read the document with the id `id_` again from the input files of the Dataset in `out`; return {column: value}.

    Returns None if the input file is missing, cannot be read, or has changed.
    """
    return documents(out, [id_]).get(id_)


def documents(out: str, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Read documents again from the input files of the Dataset in `out`, each file once; return {id: {column: value}}.

    A document is left out if its input file is missing, cannot be read, or has changed.
    """
    origin, found = Folder(out).origin, dict[int, dict[str, Any]]()
    if origin is None:
        return found
    known = Hashes()
    known.load(out)
    readers = [reader_of(reader) for reader in origin.readers]
    for row in origin.files:
        reader, left = readers[row.reader], [id_ for id_ in ids if id_ not in found]
        sealed = isinstance(reader, Sealed)  # the file numbers were shifted
        number = [id_ >> B.POSITION_BITS for id_ in left]
        mine = [id_ for id_, n in zip(left, number, strict=True) if n == row.file or (sealed and n > row.file)]
        if mine and reader is not None:
            with contextlib.suppress(DataprepError, OSError, ImportError):  # moved, changed or unreachable
                if is_same(row, reader, known):
                    found |= _stored(row, mine) if sealed else _scan(reader, row, mine)
    return found


def _stored(row: OriginFile, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the documents of a shard of a sealed Dataset."""
    shift = row.file << B.POSITION_BITS
    rows = Sealed().rows(row.url, [id_ - shift for id_ in ids])
    return {one["id"] + shift: {**one, "id": one["id"] + shift} for one in rows}


def _scan(reader: Reader, row: OriginFile, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return documents of a file, each read from its position or, if that is impossible, all from the beginning."""
    enters, found = reader.enters(row.url), dict[int, dict[str, Any]]()
    if not enters and files.size(row.url) > MAX_SCAN_BYTES:
        return found
    places = [B.split_id(id_)[1] for id_ in ids]
    spans = [(at, at + 1) for at in places] if enters else [(0, None)]
    wanted = np.array(sorted(ids), np.uint64)
    with compress.windows(compress.MAX_WINDOW_BYTES):  # the run had read the file
        for start, stop in spans:
            for batch in reader(Slice(row.url, row.file, start, stop, row.source), Ledger(READ)):
                hit = np.flatnonzero(B.find_sorted(wanted, B.ids(batch))[1])
                found |= {one["id"]: one for one in batch.take(pa.array(hit)).to_pylist()} if len(hit) else {}
                if len(found) == len(ids):
                    return found
    return found


def first_inputs(parts: Iterable[Part]) -> Iterator[tuple[Reader, str]]:
    """Yield the reader and the URL of each input file of parts; for a sealed Dataset, the files from which it was made.

    The files may no longer exist. Files that are not read, and files whose names a stage hides, are left out.
    """
    seen = set[str]()
    left = dict.fromkeys((part.reader, piece.url) for part in parts for piece in part.slices if not piece.unread)
    while left:
        reader, url = next(iter(left))
        del left[reader, url]
        if not isinstance(reader, Sealed):
            yield reader, url
            continue
        home = home_of(url)
        if home is None or home.url in seen:
            continue
        seen.add(home.url)
        if (origin := home.any_origin) is not None:
            made = ((reader_of(origin.readers[row.reader]), row.url) for row in origin.files)
            left |= dict.fromkeys((known, at) for known, at in made if known is not None)
