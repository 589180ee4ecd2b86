"""Find the input files of a Dataset again, and read a document from them while they are as the run read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from dataprep.errors import DataprepError
from dataprep.store import compress, files
from dataprep.store.hashes import Hashes

from ..model import batch as B
from ..model.describe import READ
from ..model.ledger import Ledger
from ..model.part import Part, Sealed
from ..model.reader import Reader, Slice, reader_of
from ..output.layout import Folder, home_of
from ..output.state import OriginFile

MAX_SCAN_BYTES = 64 << 20  # stored; a larger file is not read from its beginning, which takes seconds


def is_there(url: str) -> bool:
    """Return whether an input file that `origin.json` names can be opened; "***" in a URL was a secret."""
    return (files.is_local(url) or "***" not in url) and files.exists(url)


def is_same(row: OriginFile, reader: Reader, known: Hashes) -> bool:
    """Return whether an input file exists and has the content that was read; of a shard, only sizes are compared."""
    if not is_there(row.url):
        return False
    if isinstance(reader, Sealed):
        return files.size(row.url) == row.size
    return known.fingerprint(row.url) == row.fingerprint


def document(out: str, id_: int) -> dict[str, Any] | None:
    """Read the document with the id `id_` again from the input files of the Dataset in `out`; return {column: value}.

    Returns None if the input file is missing, cannot be read, or has changed.
    """
    origin = Folder(out).origin
    if origin is None:
        return None
    known = Hashes()
    known.load(out)
    for row in origin.files:
        try:
            reader = reader_of(origin.readers[row.reader])
            found = None if reader is None else _read(reader, row, id_, known)
        except (DataprepError, OSError, ImportError):  # moved, changed or out of reach
            continue
        if found is not None:
            return found
    return None


def _read(reader: Reader, row: OriginFile, id_: int, known: Hashes) -> dict[str, Any] | None:
    sealed = isinstance(reader, Sealed)  # the numbers of its files were shifted
    number = id_ >> B.POSITION_BITS
    if number < row.file or (number > row.file and not sealed) or not is_same(row, reader, known):
        return None
    if not sealed:
        return _scan(reader, row, id_)
    with files.open_arrow(row.url) as f:
        rows = pq.read_table(f, filters=[("id", "=", id_ - (row.file << B.POSITION_BITS))]).to_pylist()
    return {**rows[0], "id": id_} if rows else None


def _scan(reader: Reader, row: OriginFile, id_: int) -> dict[str, Any] | None:
    """Return a document, reading from its position, or from the file's beginning if that is not possible."""
    enters = reader.enters(row.url)
    if not enters and files.size(row.url) > MAX_SCAN_BYTES:
        return None
    at = B.split_id(id_)[1]
    piece = Slice(row.url, row.file, at if enters else 0, at + 1 if enters else None, row.source)
    with compress.windows(compress.MAX_WINDOW_BYTES):  # the run had read the file
        for batch in reader(piece, Ledger(READ)):
            hit = np.flatnonzero(B.ids(batch) == np.uint64(id_))
            if len(hit):
                return dict(batch.slice(int(hit[0]), 1).to_pylist()[0])
    return None


def first_inputs(parts: Iterable[Part]) -> Iterator[tuple[Reader, str]]:
    """Yield the reader and the URL of each input file of parts; files that sealed Datasets were made from, for these.

    The files may be gone. Files that are not read, and those of which a stage hides the names, are left out.
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
