"""A view (`layout="view"`): shards with ids, and columns that stages added; all else stays in the unchanged input.

The metadata of such a shard states the slices of the input from which it was made; `origin.json` of its folder has the
paths of their files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.errors import ReadError, counted
from dataprep.lazy import parquet as pq
from dataprep.store import compress, files, hashes

from ..output.layout import Folder, home_of
from . import batch as B
from .batch import Batch, Ids
from .columns import as_text, from_text, with_columns
from .ledger import Ledger
from .reader import Reader, Slice, reader_of

VIEW = "view"  # in place of the codec, in recipes
KEY = b"dataprep.view"  # of the metadata
AGAIN = "restore the input, or run the pipeline again"
CHANGED = f"this file {{}}, from which the view {{}} takes its documents; {AGAIN}"


def statement(slices: Sequence[Slice], given: Iterable[str]) -> str:
    """Return what the shards of a part state about its input, as JSON.

    Args:
        slices: the slices of the input, with fingerprints.
        given: the names of the columns that the input has, and that no stage changes.
    """
    ranges = [[one.file, one.start, one.stop, one.fingerprint] for one in slices if one.unread is None]
    return json.dumps({"given": sorted(given), "slices": ranges}, sort_keys=True)


def stored_schema(schema: pa.Schema, view: str) -> pa.Schema:
    """Return the schema of the shards of a view: the columns that they contain, with the statement as metadata."""
    stated = json.loads(view)
    own = [one for one in schema if one.name == "id" or one.name not in stated["given"]]
    text = json.dumps({**stated, "schema": as_text(schema)}, sort_keys=True)
    return pa.schema(own, metadata={KEY: text})


def stated_in(parquet: pq.ParquetFile) -> dict[str, Any]:
    """Return the statement of a shard of a view, with the schema of its documents; {} for other shards."""
    text = (parquet.metadata.metadata or {}).get(KEY)
    return json.loads(text) if text else {}


def shards_now(home: Folder | None) -> dict[str, str]:
    """Return {fingerprint: URL} of the shards of a Dataset, whose names change if documents are forgotten."""
    made = None if home is None else home.readable
    return {} if home is None or made is None else {one.sealed or one.hash: home.path(one.name) for one in made.shards}


def documents(
    stated: dict[str, Any], own: pa.Table, url: str, columns: Sequence[str] | None, sealed: type[Reader],
    only: Ids | None = None,
) -> Iterator[Batch]:  # fmt: skip
    """Yield the documents of a shard of a view in batches.

    Args:
        stated: the statement of the shard.
        own: the rows of the shard.
        url: its URL.
        columns: the names of the columns to read; None: all.
        sealed: the class of the reader of shards.
        only: the ids of the documents, ascending; None: all.

    Raises ReadError if an input file has changed, or if the input does not have one of the documents.
    """
    schema, ids = from_text(stated["schema"]), own["id"].to_numpy()
    if only is not None:
        ids = np.intersect1d(ids, only)
        own = own.take(pa.array(np.searchsorted(own["id"].to_numpy(), ids)))
    rows = own.combine_chunks().to_batches()
    wanted = list(schema.names if columns is None else columns)
    if not rows or not len(ids):
        yield B.empty(schema).select([name for name in wanted if name in schema.names])
        return
    added, left = rows[0], len(ids)
    for batch in _input(url, stated, ids, wanted, sealed):
        at, there = B.find_sorted(ids, B.ids(batch))
        if there.any():
            found, beside = batch.filter(pa.array(there)), added.take(pa.array(at[there]))
            for name in set(beside.schema.names) - {"id"}:
                found = B.with_column(found, name, beside.column(name))
            left -= found.num_rows
            yield with_columns(found, schema, wanted)
        if not left:
            return
    msg = f"the input no longer has {counted(left, 'document')} of this view; {AGAIN}"
    raise ReadError(msg, url)


def _input(
    url: str, stated: dict[str, Any], ids: Ids, columns: Sequence[str], sealed: type[Reader]
) -> Iterator[Batch]:
    """Yield the documents of the input from which a shard was made, or more, ids ascending."""
    failed: list[ReadError] = []
    home = home_of(url) or Folder("")
    for reader, piece in _slices(url, home, stated, ids):
        is_later = not isinstance(reader, sealed) and _is_later(piece.url, url)
        if is_later and hashes.fingerprint(piece.url) != piece.fingerprint:
            raise ReadError(CHANGED.format("has changed", home.url), piece.url)
        flow = reader.narrowed(["id", *columns])(piece, Ledger("view", quiet=True))
        try:
            yield from compress.in_windows(compress.MAX_WINDOW_BYTES, flow)
        except ReadError as e:  # the run may have skipped the rest of this file
            failed.append(e)
    if failed:
        raise failed[0]


def _is_later(url: str, shard: str) -> bool:
    """Return whether an input file was changed or touched after the shard was written; remote files may have been.

    Opening a view compares all dates: this is for changes since, without a hash of all the input for each shard.
    """
    if not (files.is_local(url) and files.is_local(shard)):
        return True
    try:
        return os.stat(files.path_of(url)).st_mtime_ns > os.stat(files.path_of(shard)).st_mtime_ns
    except OSError:  # the file is missing, which its reader states
        return False


def _slices(url: str, home: Folder, stated: dict[str, Any], ids: Ids) -> Iterator[tuple[Reader, Slice]]:
    origin = home.origin
    rows = {} if origin is None else {(row.file, row.fingerprint): row for row in origin.files}
    for file, start, stop, fingerprint in stated["slices"]:
        row = rows.get((file, fingerprint))
        reader = None if row is None or origin is None else reader_of(origin.readers[row.reader])
        if row is None or reader is None:
            msg = f"{home.url}/origin.json does not list the input of this view; {AGAIN}"
            raise ReadError(msg, url)
        now = {} if files.exists(row.url) else shards_now(home_of(row.url))
        piece = Slice(now.get(fingerprint, row.url), file, start, stop, row.source, fingerprint, row.size)
        if reader.enters(row.url):  # from the first to the last of the documents
            base = B.doc_id(file, 0)
            ends = [base + start, base + (1 << B.POSITION_BITS if stop is None else stop)]
            own = ids[slice(*np.searchsorted(ids, np.array(ends, np.uint64)))] - np.uint64(base)
            if not len(own):
                continue
            piece = Slice(piece.url, file, int(own[0]), int(own[-1]) + 1, row.source, fingerprint, row.size)
        yield reader, piece
