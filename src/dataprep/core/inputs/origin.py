"""Record the input files of a Dataset in `origin.json`, so that they can be found again (`look_up.py`).

The file contains paths of this machine, so no hash depends on origin.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataprep.errors import redacted
from dataprep.store.key import key
from dataprep.store.place import given_in

from ..model.dataset import Dataset
from ..model.reader import Reader, Slice, recorded
from ..model.tables import QUARANTINED
from ..model.unread import NOT_OPENED
from ..output.state import FileBeside, Origin, OriginFile


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
        given_in=given_in(row.url for row in rows.values()),
    )  # fmt: skip


def _is_left_out(docs: Dataset, piece: Slice) -> bool:
    is_left_out = piece.unread is not None and piece.unread.reason != QUARANTINED
    return is_left_out or docs.fingerprints[piece.url] == NOT_OPENED


def beside(docs: Dataset) -> dict[str, str]:
    """Return hashes of companion files that readers read with the files of `docs`, such as names, as {URL: hash}."""
    pieces = {piece.url: part.reader for part in docs.parts for piece in part.slices if piece.unread is None}
    urls = dict.fromkeys(url for at, reader in pieces.items() for url in reader.companions(at))
    return {redacted(url): docs.hashes.fingerprint(url) for url in urls}


def work_key(docs: Dataset, stages: Sequence[Any]) -> str:
    """Return a hash of the readers and stages that determine a result; it does not depend on the input files."""
    return key((_readers(docs), docs.stages, list(stages)))


def _readers(docs: Dataset) -> list[Reader]:
    """Return the distinct readers of the parts, in the order of their first parts; readers need not be hashable."""
    found: list[Reader] = []
    for part in docs.parts:
        if part.reader not in found[-1:] and part.reader not in found:
            found.append(part.reader)
    return found
