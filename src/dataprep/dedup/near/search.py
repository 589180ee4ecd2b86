"""DuplicateSearch: the passes of document deduplication, one barrier per pass, and then the verdict table.

The first four passes (hash, match, cluster, gather) make an *index*: the contents of every candidate, stored with those
it may duplicate. The index does not depend on the threshold, so if it is kept, another threshold only verifies again.
It holds sets and not the similarities of pairs: the pairs that one threshold drops and another keeps are quadratic in
a bucket, the sets are linear, and verification reads 2.5 GB of them per second.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dataprep.core.dataset import Dataset
from dataprep.core.passes import table_once
from dataprep.core.runner import Runner
from dataprep.core.tables import VERDICTS, write_verdicts
from dataprep.dedup.keep import Keep
from dataprep.dedup.warm import warm
from dataprep.errors import DataprepError
from dataprep.store import files, receipts
from dataprep.store.spill import Spill

from .cluster import FindComponents
from .compare import MatchRule
from .gather import GatherCandidates, n_partitions
from .keys import KEYS, HashDocuments, PartKeys, PartToHash, key_url
from .match import MatchKeys, key_ranges
from .older import Older
from .reuse import parts_to_hash, sibling_steps
from .sketch import Sketch
from .verify import VERDICT, VerifyPartition

log = logging.getLogger("dataprep")

MAX_DOCS = 2**32 - 1
MAX_GROUPS = 256  # files are opened once per group when verdicts are ordered by part
TEMPORARY = (MatchKeys, FindComponents, VerifyPartition)
INDEX = ("index.json", KEYS, HashDocuments.folder, GatherCandidates.folder)
FACTS = ("documents", "edges", "candidates", "largest_component", "compared", "dropped")


@dataclass(frozen=True, kw_only=True)
class DuplicateSearch:
    """A search for the duplicates in `docs`, which leaves its files in the folder `out`.

    name, reason: of the stage, for progress bars, and of the verdicts. key: covers everything that decides them.
    index: the key without the threshold; empty: the index is deleted at the end. sketch_key: the key of what decides a
    document's keys. contained: as in `MatchRule`. older: Datasets whose documents come first and are kept.

    Memory: 5 bytes per document and 8 per candidate while clustering, else a bounded amount per worker. Disk under
    `out` while it runs, and after it if the index is kept: 12 bytes per key and document, and the candidates' contents.
    """

    docs: Dataset
    run: Runner
    out: str
    sketch: Sketch
    keep: Keep
    name: str
    reason: str
    key: str
    index: str = ""
    sketch_key: str = ""
    contained: bool = False
    older: tuple[Older, ...] = ()

    @classmethod
    def warm(cls, sketch: Sketch) -> None:
        """Compile the kernels that a search with this sketch runs."""
        chosen: dict[str, Any] = {"keep": Keep.parse("first"), "name": "", "reason": "", "key": ""}
        warm(lambda docs, run, out: cls(docs=docs, run=run, out=out, sketch=sketch, **chosen).find(), sketch.columns)

    def find(self) -> tuple[str, dict[str, Any]]:
        """Return the URL of the verdict table, and what was counted."""
        url = files.join(self.out, "verdicts.parquet")
        facts = table_once(url, self.key, lambda: self._find(url), TEMPORARY)
        for name in () if self.index else INDEX:
            files.remove(files.join(self.out, name))
        return url, {name: facts[name] for name in FACTS}

    def _find(self, url: str) -> dict[str, Any]:
        """Write the verdict table; return what was counted."""
        key = self.index or self.key
        steps = (self.out, *(sibling_steps(self.out) if self.index else ()))
        home = next((step for step in steps if _has_index(step, key)), None)
        if home is None:
            home = self.out
            files.remove(files.join(self.out, "index.json"))
        index = receipts.once(files.join(home, "index.json"), key, lambda: self._make_index(key))
        counts = [*(len(old.docs.parts) for old in self.older), len(self.docs.parts)]
        origins = tuple(np.repeat(np.arange(len(counts)), counts).tolist())
        groups = min(len(origins), MAX_GROUPS)
        rule = MatchRule(float(self.sketch.threshold), self.contained)
        verify = VerifyPartition(self.out, self.key, home, self.sketch.bands, rule, origins, groups)
        decided = list(self.run.map(verify, range(index["partitions"]), f"{self.name}: verify"))
        write_verdicts(url, self._in_order(index["partitions"], groups))
        return {**index, "files": [url], **{name: sum(d[name] for d in decided) for name in ("compared", "dropped")}}

    def _make_index(self, key: str) -> dict[str, Any]:
        """Hash, match, cluster and gather: everything that does not depend on the threshold."""
        datasets = [*(old.docs for old in self.older), self.docs]
        items = parts_to_hash(datasets, self.out, self.sketch_key or key)
        n_old = len(items) - len(self.docs.parts)
        self._warn_of_old(items[:n_old])
        task = HashDocuments(self.out, self.sketch_key or key, self.sketch)
        hashed = list(self.run.map(task, items, self._label("hash")))
        parts = tuple(self._part_keys(number, receipt) for number, receipt in enumerate(hashed))
        bases, n_docs = _first_numbers([part.docs for part in parts])
        ranges = key_ranges(n_docs, self.sketch.bands)
        first_new = bases[n_old] if self.docs.parts else n_docs
        matched = list(self.run.map(MatchKeys(self.out, key, parts, bases, first_new), ranges, self._label("match")))
        cluster = FindComponents(self.out, key, parts, bases, n_docs, len(ranges), 24 + 32 * self.sketch.bands)
        found = next(iter(self.run.map(cluster, [0], self._label("cluster"))))
        partitions = n_partitions(found["cost"])
        gather = GatherCandidates(self.out, key, self.sketch, self.keep, partitions, n_old)
        list(self.run.map(gather, [item.part for item in items], self._label("gather")))
        how = Counter(receipt["how"] for receipt in hashed)
        return {
            "documents": sum(receipt["kept"] for receipt in hashed[n_old:]),
            "edges": sum(m["edges"] for m in matched),
            **{k: found[k] for k in ("candidates", "largest_component")},
            "partitions": partitions,
            "parts": len(items),
            "old_parts": n_old,
            "keys": {k: how[k] for k in ("hashed", "found", "borrowed")},  # number of parts
        }

    def _label(self, name: str) -> str:
        return f"{self.name}: {name}"

    def _warn_of_old(self, items: Sequence[PartToHash]) -> None:
        """Warn of older Datasets without keys that could be used."""
        at = 0
        for old in self.older:
            own = items[at : at + len(old.docs.parts)]
            if any(item.found is None and not item.lent for item in own):
                log.warning("%s has no keys of its own that could be used; its documents are hashed now", old.given)
            at += len(own)

    def _part_keys(self, number: int, receipt: dict[str, Any]) -> PartKeys:
        keys = tuple(key_url(self.out, file) for file in receipt["keys"])
        return PartKeys(HashDocuments.url(self.out, number), keys, receipt["docs"])

    def _in_order(self, partitions: int, groups: int) -> Iterator[pa.Table]:
        """Yield the verdicts of all partitions together, in order of ids, one group of parts at a time."""
        homes = pa.array([*(old.given for old in self.older), None], pa.string())
        for group in range(groups):
            found = [np.zeros(0, VERDICT)]
            for partition in range(partitions):
                with Spill(VerifyPartition.url(self.out, partition)) as spill:
                    found.append(spill.read(0, group, dtype=VERDICT))
            rows = np.concatenate(found)
            rows = rows[np.argsort(rows["id"])]
            home = pa.DictionaryArray.from_arrays(pa.array(rows["origin"]), homes).cast(pa.string())
            reason = pa.repeat(self.reason, len(rows))
            columns = [pa.array(rows["id"]), reason, home, pa.array(rows["kept"]), pa.array(rows["similarity"])]
            yield pa.Table.from_arrays(columns, VERDICTS.names)


def _has_index(folder: str, key: str) -> bool:
    """Return whether a step's folder holds the complete index of this key."""
    record = receipts.valid(files.join(folder, "index.json"), key)
    gathered = (GatherCandidates.url(folder, n) + ".json" for n in range(record["parts"] if record else 0))
    return record is not None and all(receipts.valid(receipt, key) is not None for receipt in gathered)


def _first_numbers(counts: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Return the number of every part's first document, and how many documents there are."""
    n_docs = sum(counts)
    if n_docs > MAX_DOCS:
        msg = f"there are {n_docs:,} documents; deduplication takes at most {MAX_DOCS:,}: split the input"
        raise DataprepError(msg)
    return tuple(np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int).tolist()) if counts else (), n_docs
