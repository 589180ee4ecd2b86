"""Search a Dataset for repeated units (lines, paragraphs, spans), and write the table of their byte ranges."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataprep.core.run import merge
from dataprep.core.run.merge import merged, split
from dataprep.core.run.runner import Runner
from dataprep.dedup.older import Joined
from dataprep.store import files
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import write_spill

from .gaps import REPEAT
from .passes import (
    RECORD,
    TOP,
    UNIT,
    CutRepeats,
    HashUnits,
    MatchUnits,
    MergeHashed,
    MergeMatched,
    PartToCut,
    SplitHashed,
    SplitMatched,
    WriteSpans,
)

PARTITION_BYTES = 16 << 20  # of input as stored
PASSES = (HashUnits, MergeHashed, MatchUnits, MergeMatched, CutRepeats, WriteSpans)


def n_partitions(n_bytes: int) -> int:
    """Return into how many ranges of hashes the units of an input of `n_bytes`, as stored, are divided."""
    return max(1, -(-n_bytes // PARTITION_BYTES))


def find(
    joined: Joined, runner: Runner, out: str, *, unit: str, normalize: str | None, name: str, key: str, url: str
) -> dict[str, Any]:
    """Write the table of the byte ranges of repeated units to `url`; return its files, and counts for the statistics.

    - joined: the documents, after older ones from which nothing is cut.
    - out: the folder of temporary files.
    - unit: as in Exact.
    - normalize: as in Exact.
    - name: the stage's name, for progress bars.
    - key: the hash of the settings and input. Disk space under `out` during the search: 36 bytes per unit, and 32 bytes
      per repeat.
    """
    items, new = joined.docs.tasks, slice(joined.n_old, None)
    partitions = n_partitions(joined.docs.n_bytes)
    written = min(partitions, merge.MAX_SECTIONS)
    hashed = list(runner.map(HashUnits(out, key, unit, normalize, partitions, written), items, f"{name}: hash"))
    firsts = [[tuple(first) for first in r["firsts"]] for r in hashed]
    n_segments = np.append(0, np.cumsum([len(some) for some in firsts])).tolist()
    units = ShuffleFiles(HashUnits.url(out)[:-5], len(items), written)
    units = merged(runner, units, MergeHashed, out, key, f"{name}: merge hashes")
    units = split(runner, units, partitions, SplitHashed, RECORD, out, key, f"{name}: divide hashes")
    every = files.join(out, HashUnits.folder, "range-00000")
    first_units = np.array([first for some in firsts for first in some], UNIT)
    apart = ShuffleFiles(MatchUnits.url(out)[:-5], partitions, min(len(first_units), merge.MAX_SECTIONS))
    coarse = ShuffleFiles("", 1, len(first_units), slices=max(1, apart.n))
    write_spill(every, [first_units[[coarse.cuts(k)[0] for k in range(apart.n)]], first_units])
    matched = list(runner.map(MatchUnits(out, key, units, every), range(partitions), f"{name}: match"))
    top = sorted((t for m in matched for t in m["top"]), key=lambda t: (-t[0], *t[1:]))[:TOP]
    repeats = merged(runner, apart, MergeMatched, out, key, f"{name}: merge repeats")
    label = f"{name}: divide repeats"
    repeats = split(runner, repeats, len(first_units), SplitMatched, REPEAT, out, key, label, firsts=every)
    ids = (tuple(id_ for id_, _ in some) for some in firsts)
    to_cut = [PartToCut(*one) for one in zip(items, ids, n_segments[:-1], strict=True)][new]
    cut = list(runner.map(CutRepeats(out, key, repeats, normalize is not None), to_cut, f"{name}: cut"))
    write = WriteSpans(out, key, url, len(to_cut), joined=joined)
    of_table = write.run(runner, sum(c["rows"] for c in cut), f"{name}: write spans")
    homes, own = joined.place(np.array([id_ for _, id_, _, _ in top], np.uint64))
    return {
        "files": of_table,
        "documents": sum(r["docs"] for r in hashed[new]),
        "units": sum(r["units"] for r in hashed[new]),
        "distinct": sum(m["distinct"] for m in matched),
        "duplicates": sum(m["duplicates"] for m in matched),
        "spans": sum(c["spans"] for c in cut),
        "bytes": sum(c["bytes"] for c in cut),
        "top": [
            {"count": n, "id": str(id_), "start": at, "bytes": size} | ({"in": home} if home else {})
            for (n, _, at, size), home, id_ in zip(top, homes.to_pylist(), own.tolist(), strict=True)
        ],
    }
