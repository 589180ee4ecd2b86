"""DuplicateSearch: find duplicate documents in five passes, hash, match, cluster, gather and verify.

Each pass is complete before the next begins. The result is a table of the documents to drop. The first four passes
produce an *index*: the contents of every candidate (hashes of its shingles, or its text), stored with the documents
that it may duplicate. The index does not depend on the threshold, so if it is kept, a run with another threshold needs
only the last pass. The index stores sets of shingles, not similarities of pairs. If many documents share one key, the
number of pairs grows with the square of their number, whereas the number of sets grows only linearly; and verification
reads 2.5 GB of sets per second.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dataprep.core.model.dataset import Dataset
from dataprep.core.model.verdict import DropIds
from dataprep.core.output import owned
from dataprep.core.run import merge
from dataprep.core.run.context import trial_of
from dataprep.core.run.merge import merged, split
from dataprep.core.run.passes import table_once
from dataprep.core.run.runner import Runner
from dataprep.dedup.keep import Keep, unreadable_values
from dataprep.dedup.older import Older
from dataprep.store import files, receipts
from dataprep.store.background import Background
from dataprep.store.key import key as key_of
from dataprep.store.shuffle import ShuffleFiles

from .components import FindComponents, MatchKeys
from .gather import HEADER, GatherCandidates, MergeGathered, SplitGathered, n_partitions
from .kept_index import MOST
from .key_sources import MergeKeys, key_ranges, keys_of_all
from .keys import KEYS, HashDocuments, PartKeys, PartToHash, key_url
from .reuse import parts_to_hash, sibling_steps
from .similarity import MatchRule
from .sketch import Sketch
from .stored_shingles import SHINGLES, with_shares
from .verify import VERDICT, MergeVerdicts, SplitVerdicts, VerifyPartition, WriteVerdicts

log = logging.getLogger("dataprep")

GROUP_BYTES = 32 << 20  # verdicts of a group of parts, if all candidates are dropped; they are ordered at once
MAX_GROUPS = 256  # sections of the many files of verdicts
TEMPORARY = (MergeKeys, MatchKeys, FindComponents, VerifyPartition, MergeVerdicts, WriteVerdicts)
GATHERED = (GatherCandidates, MergeGathered)
INDEX = ("index.json", KEYS, HashDocuments.folder)
FACTS = ("documents", "edges", "candidates", "largest_component", "compared", "skipped", "dropped")


@dataclass(frozen=True, kw_only=True)
class DuplicateSearch:
    """A search for the duplicates in `docs`, which writes its files into the folder `out`.

    Attributes:
        sketch: the rule that hashes and compares documents.
        keep: the rule that chooses the kept copy.
        name: the stage's name, for progress bars.
        reason: the drop reason of each dropped document.
        reason_in_older: the drop reason of documents whose kept copy is in an older Dataset; "" if it is the same as
            `reason`.
        key: the hash of everything that decides which documents are dropped.
        index: the hash of everything but the threshold, if keys are to be stored for later searches; "" if they are
            deleted at the end.
        sketch_key: the hash of the settings that decide a document's keys.
        keeps_candidates: whether the candidates are stored too, for a search with another threshold.
        contained: as in `MatchRule`.
        older: Datasets whose documents come first and are kept.

    Memory: a bounded amount per worker. Disk under `out`: 12 bytes per key and document, and the candidates' contents;
    each of these twice while the files of more than FAN_IN parts are merged, and the candidates' twice while they are
    divided into very many partitions. This space is needed during the search, and afterwards only if candidates are
    stored. Before the candidates are stored, up to STORED_BYTES more are needed.
    """

    docs: Dataset
    runner: Runner
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
    reason_in_older: str = ""
    keeps_candidates: bool = True

    def find(self, **facts: Any) -> DropIds:
        """Write the table of documents to drop, unless a valid one exists; return the stage that drops these documents.

        Args:
            facts: further entries for the stage's statistics.
        """
        url = files.join(self.out, "verdicts.parquet")
        passes = TEMPORARY if self.index and self.keeps_candidates else (*TEMPORARY, *GATHERED)
        found = table_once(url, self.key, lambda: self._find(url), passes)
        for name in () if self.index else INDEX:
            owned.discard(files.join(self.out, name))
        if found["skipped"]:
            log.warning(
                "%s: %s candidates were not compared (limit: %d per document, counted once per shared key)",
                *(self.name, f"{found['skipped']:,}", MOST),
            )
        facts = {**{name: found[name] for name in FACTS}, **self.keep.warn(self.name, found), **facts}
        return DropIds(verdicts=url, key=self.key, estimator=self.name, facts=facts)

    def find_again(self) -> DropIds:
        """Return the result of `find`, and store the keys of the documents, which later searches reuse.

        Keys that are already stored for a part or an older Dataset are not computed again.
        """
        index = key_of((self.sketch_key, self.docs.key, self.keep, [old.content for old in self.older]))
        return replace(self, index=index, keeps_candidates=False).find(sketch_key=self.sketch_key, index=index)

    def _find(self, url: str) -> dict[str, Any]:
        """Write the verdict table; return the counts."""
        key = self.index or self.key
        steps = (self.out, *(sibling_steps(self.out) if self.index else ()))
        indexes = ((step, index) for step in steps if (index := index_in(step, key)) is not None)
        home, index = next(indexes, (self.out, None))
        if index is None:
            with Background("sync") as background:
                made = self._make_index(key, background)
                background.wait()  # no later run looks for the keys of a finished index
            index = receipts.write(files.join(home, "index.json"), key, made)
        gathered = gathered_in(home, index)
        for merged_url in (files.join(home, GatherCandidates.folder), *map(gathered.file, range(-gathered.start, 0))):
            for one in (merged_url, merged_url + ".json") if index["groups"] else ():
                owned.discard(one)
        ends = tuple(np.cumsum([*(len(old.docs.parts) for old in self.older), len(self.docs.parts)]).tolist())
        n_groups = max(1, min(ends[-1], index["candidates"] * VERDICT.itemsize // GROUP_BYTES))
        rule = MatchRule(float(self.sketch.threshold), self.contained)
        drops_all = self.keep.kind == "none"
        n_sections = min(n_groups, MAX_GROUPS)
        given = gathered, self.sketch.bands, rule, ends, n_groups, n_sections
        verify = VerifyPartition(self.out, self.key, *given, drops_all)
        kept = [one.folder for one in GATHERED] if self.index and self.keeps_candidates else []
        with Background("sync") as background:  # so that `table_once` finds them on disk
            background.call(owned.sync_written, self.out, kept)
            decided = list(self.runner.map(verify, range(gathered.n), f"{self.name}: verify"))
            background.wait()
        found = ShuffleFiles(verify.url(self.out)[:-5], gathered.n, n_sections)
        found = merged(self.runner, found, MergeVerdicts, self.out, self.key, f"{self.name}: merge verdicts")
        label = f"{self.name}: divide verdicts"
        found = split(self.runner, found, n_groups, SplitVerdicts, VERDICT, self.out, self.key, label)
        totals = {n: sum(int(d[n]) for d in decided) for n in ("compared", "skipped", "dropped")}
        homes = (*(old.given for old in self.older), None)
        reasons = self.reason, self.reason_in_older or self.reason
        write = WriteVerdicts(self.out, self.key, url, found.n, found=found, homes=homes, reasons=reasons)
        written = write.run(self.runner, totals["dropped"], f"{self.name}: write verdicts")
        return {**index, "files": written, **totals}

    def _make_index(self, key: str, background: Background) -> dict[str, Any]:
        """Hash, match, cluster and gather: everything that does not depend on the threshold.

        - background: where the stored keys are synced to disk.
        """
        datasets = [*(old.docs for old in self.older), self.docs]
        items = parts_to_hash(datasets, self.out, self.sketch_key or key)
        n_old = len(items) - len(self.docs.parts)
        trial = trial_of(self.runner)
        items = with_shares(items, n_old, self.sketch, 1.0 if trial is None else trial.share)
        self._warn_of_old(items[:n_old])
        task = HashDocuments(self.out, self.sketch_key or key, self.sketch)
        hashed = list(self.runner.map(task, items, f"{self.name}: hash"))
        background.call(owned.sync_written, self.out, INDEX if self.index else ())
        bases = list(itertools.accumulate((receipt["docs"] for receipt in hashed), initial=0))
        parts = tuple(
            PartKeys(task.url_of(item), tuple(key_url(self.out, file) for file in made["keys"]), made["docs"], base)
            for item, made, base in zip(items, hashed, bases, strict=False)
        )
        n_docs, bands = bases[-1], self.sketch.bands
        source = keys_of_all(self.runner, parts, n_docs, bands, self.out, key, f"{self.name}: merge keys")
        ranges = key_ranges(n_docs, bands, source.buckets)
        match = MatchKeys(self.out, key, source, bases[n_old])
        matched = list(self.runner.map(match, ranges, f"{self.name}: match"))
        cluster = FindComponents(self.out, key, parts, n_docs, len(ranges), 24 + 32 * bands)
        found = next(iter(self.runner.map(cluster, [0], f"{self.name}: cluster")))
        partitions = n_partitions(found["cost"])
        n_sections = min(partitions, merge.MAX_SECTIONS)
        gather = GatherCandidates(self.out, key, self.sketch, self.keep, partitions, n_sections, n_old)
        gathered = list(self.runner.map(gather, [item.part for item in items], f"{self.name}: gather"))
        apart = ShuffleFiles(gather.url(self.out)[:-5], len(items), n_sections, 2)
        index = merged(self.runner, apart, MergeGathered, self.out, key, f"{self.name}: merge candidates")
        label = f"{self.name}: divide candidates"
        index = split(self.runner, index, partitions, SplitGathered, HEADER, self.out, key, label)
        owned.discard(files.join(self.out, SHINGLES))
        how = Counter(receipt["how"] for receipt in hashed)
        return {
            "documents": sum(receipt["kept"] for receipt in hashed[n_old:]),
            "edges": sum(m["edges"] for m in matched),
            **{k: found[k] for k in ("candidates", "largest_component")},
            **unreadable_values(gathered),
            "partitions": partitions,
            "groups": [index.groups, index.slices, index.start] if index is not apart else [],
            "parts": len(items),
            "old_parts": n_old,
            "keys": {k: how[k] for k in ("hashed", "found", "borrowed")},  # number of parts
        }

    def _warn_of_old(self, items: Sequence[PartToHash]) -> None:
        """Warn about each older Dataset that has no usable keys of its own."""
        at = 0
        for old in self.older:
            own = items[at : at + len(old.docs.parts)]
            if any(item.found is None and not item.lent for item in own):
                log.warning("%s has no stored keys that can be reused; its documents are hashed now", old.given)
            at += len(own)


def index_in(folder: str, key: str) -> dict[str, Any] | None:
    """Return the content of index.json in a step's folder if it contains the complete index for this key, else None."""
    record = receipts.valid(files.join(folder, "index.json"), key)
    if record is None:
        return None
    gathered = gathered_in(folder, record)
    stored = (gathered.file(number) + ".json" for number in range(gathered.groups * gathered.slices))
    return record if all(receipts.valid(receipt, key) is not None for receipt in stored) else None


def gathered_in(folder: str, record: Mapping[str, Any]) -> ShuffleFiles:
    """Return the files of the candidates in a step's folder.

    - record: the content of its index.json.
    """
    if not record["groups"]:
        return ShuffleFiles(GatherCandidates.url(folder)[:-5], record["parts"], record["partitions"], 2)
    groups, slices, start = record["groups"]
    return ShuffleFiles(MergeGathered.url(folder)[:-5], groups, record["partitions"], 2, slices, start)
