"""RepeatSearch: repeated units of text in three passes, one barrier per pass: hash, match, cut; then the spans.

*Hash* spills a record of every unit by its hash. *Match* reads the records of a partition in order of documents: the
first unit of a hash is kept, later ones repeat it. *Cut* collects the repeats of a part and reads its texts once more,
to join neighbours and close the gaps. Memory holds a segment of records, and the distinct units of one round of one
partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dataprep.core.dataset import Dataset
from dataprep.core.passes import table_once
from dataprep.core.runner import Runner
from dataprep.core.tables import SPAN, write_spans
from dataprep.store import files
from dataprep.store.spill import Spill

from .cut_repeats import CutRepeats
from .hash_units import HashUnits, Records
from .match_units import TOP, MatchUnits

PARTITION_BYTES = 16 << 20  # of input as stored
MAX_PARTITIONS = 1024


@dataclass(frozen=True, kw_only=True)
class RepeatSearch:
    """A search for the units that occurred earlier, which leaves its files in the folder `out`.

    name: of the stage, for progress bars. key: covers everything that decides the spans. Disk under `out` while it
    runs: 36 bytes per unit, and 40 per repeat.
    """

    docs: Dataset
    run: Runner
    out: str
    unit: str
    normalize: str | None
    name: str
    key: str

    def find(self) -> tuple[str, dict[str, Any]]:
        """Return the URL of the table of spans, and what was counted."""
        url = files.join(self.out, "spans.parquet")
        return url, table_once(url, self.key, lambda: self._find(url), (HashUnits, MatchUnits, CutRepeats))

    def _find(self, url: str) -> dict[str, Any]:
        """Run the passes and write the table; return what was counted."""
        out, key, items = self.out, self.key, self.docs.tasks
        partitions = min(MAX_PARTITIONS, max(1, -(-self.docs.n_bytes // PARTITION_BYTES)))
        task = HashUnits(out, key, self.unit, self.normalize, partitions)
        hashed = list(self.run.map(task, items, f"{self.name}: hash"))
        firsts = tuple(tuple(r["firsts"]) for r in hashed)
        matched = list(self.run.map(MatchUnits(out, key, firsts), range(partitions), f"{self.name}: match"))
        top = sorted((t for m in matched for t in m["top"]), key=lambda t: (-t[0], *t[1:]))[:TOP]
        cutter = CutRepeats(out, key, partitions, firsts, tuple(map(tuple, top)))
        cut = list(self.run.map(cutter, items, f"{self.name}: cut"))
        write_spans(url, self._spans(len(items)))
        texts = {(id_, start): text for c in cut for id_, start, text in c["top"]}
        return {
            "documents": sum(r["docs"] for r in hashed),
            "units": sum(r["units"] for r in hashed),
            "distinct": sum(m["distinct"] for m in matched),
            "duplicates": sum(m["duplicates"] for m in matched),
            "spans": sum(c["spans"] for c in cut),
            "bytes": sum(c["bytes"] for c in cut),
            "top": [{"count": n, "id": str(i), "start": at, "text": texts.get((i, at), "")} for n, i, at, _ in top],
        }

    def _spans(self, n_parts: int) -> Iterator[Records]:
        """Yield the spans of all parts in order."""
        for number in range(n_parts):
            with Spill(CutRepeats.url(self.out, number)) as spill:
                for segment in range(spill.segments):
                    yield spill.read(segment, 0, dtype=SPAN)
