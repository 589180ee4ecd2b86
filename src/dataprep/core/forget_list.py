"""The forget list: documents that were asked to be removed, as a table in the folder of what is made without them.

`OUT/forget.parquet` names documents by the ids they have in the input of OUT. Whoever makes OUT drops them right after
reading, so that no rerun brings them back. The list is no part of any key: `dataprep forget` rewrites what is there
already, and a rerun must then find it. What was applied is noted as a digest in recipe and manifest instead.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from dataprep.errors import StaleOutput
from dataprep.store import files

from . import batch as B
from .batch import Ids
from .dataset import Dataset
from .folder import FORGET_LIST, home_of
from .part import Sealed
from .tables import VERDICTS, write_verdicts

REASON = "forgotten"  # in drop tables


def listed(folder: str) -> Ids:
    """The ids on the list of a folder, ascending; none if there is no list."""
    place = files.join(folder, FORGET_LIST)
    if not files.exists(place):
        return np.zeros(0, np.uint64)
    with files.open_raw(place) as f:
        return np.asarray(pq.read_table(f, columns=["id"])["id"].to_numpy(), np.uint64)


def write_list(folder: str, ids: Ids) -> None:
    """Write the list of a folder, whole."""
    ids = np.unique(ids)
    columns = [pa.array(ids), pa.repeat(REASON, len(ids)), *(pa.nulls(len(ids), f.type) for f in list(VERDICTS)[2:])]
    write_verdicts(files.join(folder, FORGET_LIST), pa.Table.from_arrays(columns, schema=VERDICTS))


def digest(ids: Ids) -> str | None:
    """What tells a list, for recipe and manifest; None for an empty one."""
    return xxhash.xxh3_128_hexdigest(np.unique(ids).astype("<u8").tobytes()) if len(ids) else None


def noted(ids: Ids) -> dict[str, str]:
    """Return the digest as recipe and manifest state it; empty if nothing is forgotten."""
    found = digest(ids)
    return {} if found is None else {"forgotten": found}


def wanted(docs: Dataset, out: str) -> Ids:
    """What has to be missing in `out`: its own list, and those of the sealed Datasets that it is made of."""
    homes = {
        (home.url, piece.file)
        for part in docs.parts if isinstance(part.reader, Sealed)
        for piece in part.slices if (home := home_of(piece.url)) is not None
    }  # fmt: skip
    shifted = [listed(home) + np.uint64(offset << B.POSITION_BITS) for home, offset in sorted(homes)]
    return np.unique(np.concatenate([listed(out), *shifted]))


def without(docs: Dataset, out: str, ids: Ids) -> Dataset:
    """The same documents less those that are forgotten; the list is kept in `out`."""
    if not len(ids):
        return docs
    if digest(listed(out)) != digest(ids):
        write_list(out, ids)
    return Dataset(tuple(replace(part, forgotten=files.join(out, FORGET_LIST)) for part in docs.parts))


def stale(out: str) -> StaleOutput:
    """What to raise where the recipe is the same, and the list is not."""
    return StaleOutput(
        f"documents that {out} may hold were forgotten since it was made: run `dataprep forget {out}`, "
        "which removes them from it, or make it anew with replace=True"
    )
