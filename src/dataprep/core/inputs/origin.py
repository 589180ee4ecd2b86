"""Record the input files of a Dataset, so that a dropped document can be read again while its input exists.

The files are listed in `origin.json`, with paths of this machine; because of these paths, no hash depends on
origin.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from dataprep.errors import DataprepError, redacted
from dataprep.store import compress, files
from dataprep.store.hashes import Hashes
from dataprep.store.key import key

from ..model import batch as B
from ..model.dataset import Dataset
from ..model.describe import READ
from ..model.ledger import Ledger
from ..model.part import Sealed
from ..model.reader import Reader, Slice, reader_of, recorded
from ..model.tables import QUARANTINED
from ..model.unread import NOT_OPENED
from ..output.layout import Folder
from ..output.state import FileBeside, Origin, OriginFile

MAX_SCAN_BYTES = 64 << 20  # stored; a larger file is not read from its beginning, which takes seconds


def origin_of(docs: Dataset, stages: Sequence[Any] = ()) -> Origin:
    """Return the record of the input files of `docs`: their readers, and hashes that identify their content."""
    readers = _readers(docs)
    rows = {
        (piece.url, piece.file): OriginFile(
            url=redacted(piece.url), file=piece.file, source=piece.source, reader=readers.index(part.reader),
            size=piece.n_bytes, fingerprint=docs.fingerprints[piece.url], left_out=_is_left_out(docs, piece) or None,
        )
        for part in docs.parts for piece in part.slices
    }  # fmt: skip
    return Origin(
        readers=[recorded(reader) for reader in readers], files=tuple(rows.values()), work=work_key(docs, stages),
        beside=tuple(FileBeside(url=url, fingerprint=found) for url, found in beside(docs).items()),
    )  # fmt: skip


def _is_left_out(docs: Dataset, piece: Slice) -> bool:
    is_left_out = piece.unread is not None and piece.unread.reason != QUARANTINED
    return is_left_out or docs.fingerprints[piece.url] == NOT_OPENED


def beside(docs: Dataset) -> dict[str, str]:
    """Return the hash of each file that readers read with those of `docs`, such as one of names, as {URL: hash}."""
    pieces = {piece.url: part.reader for part in docs.parts for piece in part.slices if piece.unread is None}
    urls = dict.fromkeys(url for at, reader in pieces.items() for url in reader.companions(at))
    return {redacted(url): docs.hashes.fingerprint(url) for url in urls}


def work_key(docs: Dataset, stages: Sequence[Any]) -> str:
    """Return a hash of the readers and stages that make a result, which does not depend on the input files."""
    return key((_readers(docs), docs.stages, list(stages)))


def _readers(docs: Dataset) -> list[Reader]:
    """Return the different readers of the parts, which need not be hashable, in the order of their first parts."""
    found: list[Reader] = []
    for part in docs.parts:
        if part.reader not in found[-1:] and part.reader not in found:
            found.append(part.reader)
    return found


def document(out: str, id_: int) -> dict[str, Any] | None:
    """Read the document with the id `id_` again from the input files of the Dataset in `out`; return {column: value}.

    Returns None if the input file is missing, cannot be read, or has changed.
    """
    origin = Folder(out).origin
    known = Hashes()
    known.load(out)
    for row in origin.files if origin is not None else ():
        try:
            reader = reader_of(origin.readers[row.reader]) if origin is not None else None
            found = None if reader is None else _read(reader, row, id_, known)
        except (DataprepError, OSError, ImportError):  # moved, changed or out of reach
            continue
        if found is not None:
            return found
    return None


def _read(reader: Reader, row: OriginFile, id_: int, known: Hashes) -> dict[str, Any] | None:
    sealed = isinstance(reader, Sealed)
    if (id_ >> B.POSITION_BITS != row.file and not sealed) or id_ >> B.POSITION_BITS < row.file:
        return None
    if (not files.is_local(row.url) and "***" in row.url) or not files.exists(row.url):  # part was a secret
        return None
    if sealed:  # the numbers of its files were shifted
        if files.size(row.url) != row.size:
            return None
        with files.open_arrow(row.url) as f:
            rows = pq.read_table(f, filters=[("id", "=", id_ - (row.file << B.POSITION_BITS))]).to_pylist()
        return {**rows[0], "id": id_} if rows else None
    if known.fingerprint(row.url) != row.fingerprint:
        return None
    return _scan(reader, row, id_)


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
