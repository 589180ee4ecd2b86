"""The forget list: documents to leave out, as a table in the folder of a Dataset or of token shards.

`OUT/forget.parquet` names documents by their ids in the input of OUT. They are dropped right after reading, so that no
rerun brings them back. The hashes that identify finished work do not depend on the list: `dataprep forget` rewrites the
existing files, and a rerun must not make them again. The recipe and the manifest state a hash of the applied list.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import xxhash

from dataprep.errors import StaleOutput
from dataprep.store import files

from ..model import batch as B
from ..model.batch import Ids
from ..model.dataset import Dataset
from ..model.part import Sealed
from ..model.tables import VERDICTS, new_rows, write_verdicts
from .layout import FORGET_LIST, home_of

REASON = "forgotten"  # in drop tables


def listed(folder: str) -> Ids:
    """Return the ids on the forget list of a folder (documents to leave out), ascending; empty if there is no list."""
    list_url = files.join(folder, FORGET_LIST)
    if not files.exists(list_url):
        return np.zeros(0, np.uint64)
    with files.open_arrow(list_url) as f:
        return np.asarray(pq.read_table(f, columns=["id"])["id"].to_numpy(), np.uint64)


def write_list(folder: str, ids: Ids) -> None:
    """Write or replace the forget list of a folder: the ids of the documents to leave out."""
    write_verdicts(files.join(folder, FORGET_LIST), [new_rows(VERDICTS, id=np.unique(ids), reason=REASON)])


def noted(ids: Ids) -> dict[str, str]:
    """Return {"forgotten": hash of the ids}, a field for recipe.json and manifest.json; {} if there are no ids."""
    return {"forgotten": xxhash.xxh3_128_hexdigest(np.unique(ids).astype("<u8").tobytes())} if len(ids) else {}


def wanted(docs: Dataset, out: str) -> Ids:
    """Return the ids to leave out of `out`: those on its forget list, and those on the lists of its input Datasets."""
    homes = {
        (home.url, piece.file)
        for part in docs.parts if isinstance(part.reader, Sealed)
        for piece in part.slices if (home := home_of(piece.url)) is not None
    }  # fmt: skip
    shifted = (listed(home) + np.uint64(offset << B.POSITION_BITS) for home, offset in homes)
    return B.union([listed(out), *shifted])


def without(docs: Dataset, out: str, ids: Ids) -> Dataset:
    """Write `ids` as the forget list of `out`; return `docs` as a Dataset that drops these documents when read."""
    if not len(ids):
        return docs
    if noted(listed(out)) != noted(ids):
        write_list(out, ids)
    return docs.of(replace(part, forgotten=files.join(out, FORGET_LIST)) for part in docs.parts)


def stale(out: str) -> StaleOutput:
    """Return the error for a finished folder that may contain documents which were forgotten after it was made."""
    return StaleOutput(
        f"documents that {out} may hold were forgotten since it was made: run `dataprep forget {out}`, "
        "which removes them from it, or run again with replace=True"
    )
