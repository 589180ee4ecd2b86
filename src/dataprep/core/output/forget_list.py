"""The forget list: documents to leave out, as a table in the folder of a Dataset or of token shards.

`OUT/forget.parquet` lists documents by their ids in the input of OUT. They are dropped right after reading, so that no
later run includes them again. The hashes that identify finished work do not depend on the list: `dataprep forget`
rewrites the existing files, and a later run must not regenerate them. The recipe and the manifest state a hash of the
applied list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xxhash

from dataprep.errors import StaleOutput
from dataprep.lazy import parquet as pq
from dataprep.store import files, receipts
from dataprep.store.key import key

from ..model.batch import NO_IDS, POSITION_BITS, Ids
from ..model.tables import VERDICTS, new_rows, write_rows
from .layout import FORGET_LIST, RECEIPTS, STEPS, Folder
from .state import INDEX, Receipt

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
    rows = new_rows(VERDICTS, id=np.unique(ids), reason=REASON)
    write_rows(files.join(folder, FORGET_LIST), VERDICTS, [rows], file_groups=1 << 32)


def digest(ids: Ids, of_sources: Mapping[str, str | None] | None = None) -> str | None:
    """Return a hash of ids, which the recipe and the manifest store as `forgotten`; None if there are no ids.

    - of_sources: the `forgotten` values of the sources of a mixture, on which the mixture's documents depend.
    """
    own = xxhash.xxh3_128_hexdigest(np.unique(ids).astype("<u8").tobytes()) if len(ids) else None
    stated = {name: one for name, one in (of_sources or {}).items() if one is not None}
    return key([own, stated]) if stated else own


def wanted(homes: Iterable[tuple[str, int]], out: str | None = None) -> Ids:
    """Return the ids to leave out of `out`: those on its own forget list, and those on the lists of its input Datasets.

    Args:
        homes: the folder of each input Dataset, and the number that is added to its file numbers.
        out: the output folder; None if there is none, so no list of its own.
    """
    shifted = (listed(home) + np.uint64(offset << POSITION_BITS) for home, offset in homes)
    return np.unique(np.concatenate([NO_IDS if out is None else listed(out), *shifted]))


def write_if_new(folder: str, ids: Ids) -> None:
    """Write the forget list of a folder, unless it already contains these ids."""
    if len(ids) and digest(listed(folder)) != digest(ids):
        write_list(folder, ids)


def stale(out: str, kind: str) -> StaleOutput:
    """Return the error for a finished folder that may contain documents which were forgotten after it was finished."""
    way = f"run `dataprep forget {out}`, which removes them from it, or run again with replace=True"
    way = "build it again with replace=True" if kind == INDEX else way
    return StaleOutput(f"documents that {out} may contain were forgotten since it was made: {way}")


def quoting(folder: Folder) -> list[str]:
    """Return the URLs of receipts that quote documents on the forget list of the run; that of PACKED for its lines.

    Receipts are not read while documents are being forgotten.
    """
    ids = listed(folder.url.partition(f"/{STEPS}/")[0])
    if not len(ids) or not folder.is_settled or folder.record is None or folder.record.forgotten != digest(ids):
        return []
    packed = folder.path(RECEIPTS, receipts.PACKED)
    stats = {url: [] if one is None else one.get("stats", []) for url, one in folder.receipts().items()}
    found = [url for url, of_part in stats.items() if of_part != without_examples(of_part, ids)]
    return [packed] if found and files.exists(packed) else found


def remove_quotations(folder: Folder, ids: Ids | None = None) -> None:
    """Remove quotations of documents from the receipts of a folder, whose lines must be whole.

    - ids: the documents' ids; None: those on the forget list of the run.
    """
    ids = listed(folder.url.partition(f"/{STEPS}/")[0]) if ids is None else ids
    old = {url: Receipt.of(receipts.stated(record, url), url) for url, record in folder.receipts().items()}
    new = {url: replace(one, stats=without_examples(one.stats, ids)) for url, one in old.items()}
    if files.exists(folder.path(RECEIPTS, receipts.PACKED)):
        receipts.pack(folder.path(RECEIPTS), {files.name_of(url): one.record() for url, one in new.items()})
    else:
        for url in (url for url in new if new[url] != old[url]):
            new[url].save(url)


def without_examples(stats: list[dict[str, Any]], ids: Ids) -> list[dict[str, Any]]:
    """Return statistics without examples of the documents, which quote their texts."""
    forgotten = set(ids.tolist())
    new = []
    for stage in stats:
        others = {why: [e for e in found if int(e["id"]) not in forgotten] for why, found in stage["examples"].items()}
        cuts = {
            rule: of | {"examples": [e for e in of["examples"] if int(e["id"]) not in forgotten]}
            for rule, of in stage.get("cuts", {}).items()
        }
        without = {"examples": {why: found for why, found in others.items() if found}}
        new.append(stage | without | ({"cuts": cuts} if "cuts" in stage else {}))
    return new
