"""VerifyPartition: compare every candidate, best copy first, with the *kept* documents that share a key with it.

A candidate is dropped if its similarity to a kept document reaches the threshold (the first such document is named).
Otherwise it is kept, and later candidates are compared with it. Dropped documents are never compared with later
candidates. The work therefore grows linearly with the number of dropped documents, and a dropped document never causes
another one to be dropped. If a partition exceeds memory, there are several rounds: documents are compared with as many
kept documents as fit into memory, and documents still undecided are compared with further kept documents in the next
round. The result is the same, unless a document shares keys with more kept documents than the limits in `kept_index.py`
allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model.tables import NOBODY, VERDICTS, new_rows
from dataprep.core.run.merge import MergeSections, SplitSections, in_sections
from dataprep.core.run.passes import Pass, WriteTable
from dataprep.store.shuffle import ShuffleFiles
from dataprep.store.spill import SpilledRows, spill_to
from dataprep.unicode.text import I64

from .compare import DROPPED, OPEN, Outcome, Undecided, decide_block
from .gather import HEADER, PARTITION_BYTES
from .kept_index import KeptIndex
from .similarity import MatchRule

VERDICT = np.dtype(
    [("id", "<u8"), ("duplicate_of", "<u8"), ("similarity", "<f4"), ("section", "<u4"), ("origin", "<u2")]
)
BUDGET = 2 * PARTITION_BYTES  # of payloads in memory at once, and again of kept documents


@dataclass(frozen=True)
class VerifyPartition(Pass[int]):
    """Decide which documents of one partition (a group of candidates) to drop; write the decisions to a temporary file.

    Attributes:
        gathered: the files with the gathered candidates.
        bands: the number of keys per document.
        rule: the condition on which a document is dropped.
        ends: for each Dataset, the number of the part after its last one; only the last Dataset is deduplicated.
        n_groups: the number of groups of input parts.
        sections: the number of sections of the file; each has one group, or several adjacent ones.
        drops_all: whether new documents for which others are dropped are themselves dropped. The receipt (the task's
            record) states the numbers of dropped documents, compared pairs and skipped entries (kept documents that
            share a key with a document that shares keys with too many).
    """

    folder = "verify"
    noun = "partition"
    thread_safe = True

    gathered: ShuffleFiles
    bands: int
    rule: MatchRule
    ends: tuple[int, ...]  # per Dataset, the number of the part after its last one; the last Dataset is deduplicated
    n_groups: int
    sections: int
    drops_all: bool = False  # also the new documents for which others are dropped

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Decide on the documents of partition number `item`; write a VERDICT for each dropped one to the file `url`.

        A VERDICT has the id, the kept document's id, their similarity, the number of the group of input parts, and the
        number of the kept document's Dataset. Returns {"dropped": documents, "compared": pairs, "skipped":
        entries, as in the class}.
        """
        given = self.gathered, item, self.bands, self.rule, self.ends
        verdicts, parts, counts = decided(*given, drops_all=self.drops_all)
        group = parts.astype(np.int64) * self.n_groups // max(1, self.ends[-1])
        verdicts["section"] = group
        section = ((group + 1) * self.sections - 1) // self.n_groups
        with spill_to(url, self.sections) as spill:
            spill.write(in_sections(section, verdicts, None, self.sections))
        return counts


class MergeVerdicts(MergeSections):
    """Merge the verdicts of many partitions into a few files, from which they are read in order of ids."""

    folder = "verify-merged"


class SplitVerdicts(SplitSections):
    """Divide the sections of all verdicts into groups, if there are very many."""

    folder = MergeVerdicts.folder


@dataclass(frozen=True, kw_only=True)
class WriteVerdicts(WriteTable):
    """Write the verdicts of all partitions in order of ids, one group of input parts at a time.

    Attributes:
        found: the files with a section per group of parts.
        homes: the folders of older Datasets, and None for the new documents.
        reasons: the drop reason, and that of documents whose kept copy is in an older Dataset.
    """

    schema = VERDICTS
    thread_safe = True

    found: ShuffleFiles
    homes: tuple[str | None, ...]
    reasons: tuple[str, str]

    def rows(self, section: int) -> Iterator[pa.RecordBatch]:
        """Yield the verdicts of group number `section`."""
        rows = self.found.section(section, VERDICT)
        rows = rows.take(np.argsort(rows["id"]))
        homes = pa.array(self.homes, pa.string())
        home = pa.DictionaryArray.from_arrays(pa.array(rows["origin"]), homes).cast(pa.string())
        in_older = rows["origin"] < len(self.homes) - 1
        reason = pa.array(np.where(in_older, *reversed(self.reasons)))
        alone = rows["duplicate_of"] == NOBODY  # with keep="none", the first of the copies
        kept, similarity = pa.array(rows["duplicate_of"], mask=alone), pa.array(rows["similarity"], mask=alone)
        yield new_rows(
            VERDICTS, id=rows["id"], reason=reason, duplicate_of_dataset=home, duplicate_of=kept, similarity=similarity
        )


def decided(
    gathered: ShuffleFiles, partition: int, bands: int, rule: MatchRule, ends: Sequence[int], *, drops_all: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], dict[str, int]]:  # fmt: skip
    """Decide which candidates of one partition to drop; nothing is written.

    Parameters are those of `VerifyPartition`. Returns a VERDICT for each dropped document, the number of each
    document's input part, and the counts for the receipt. The verdicts are in order of the parts.
    """
    urls, index = gathered.of(partition)
    rows = SpilledRows.read(urls, index, HEADER, lambda headers: 8 * headers["words"])
    parts, last = rows.headers["part"], len(ends) - 1
    origin = np.searchsorted(ends, parts, "right").astype(np.uint16)
    outcome, compared, skipped = decide(rows, origin, bands, rule, BUDGET, last)
    dropped = np.flatnonzero(outcome.state == DROPPED)
    if drops_all:
        heads = np.unique(outcome.kept_by[dropped])
        dropped = np.sort(np.append(dropped, heads[origin[heads] == last]))
    verdicts = np.zeros(len(dropped), VERDICT)
    ids, kept = rows.headers["id"], outcome.kept_by[dropped]
    verdicts["id"], verdicts["duplicate_of"] = ids[dropped], np.where(kept < 0, NOBODY, ids[kept])
    verdicts["similarity"] = outcome.similarity[dropped]
    verdicts["origin"] = np.where(kept < 0, last, origin[kept])
    return verdicts, parts[dropped], {"dropped": len(dropped), "compared": compared, "skipped": skipped}


def decide(
    rows: SpilledRows, origin: npt.NDArray[np.uint16], bands: int, rule: MatchRule, budget: int, new: int
) -> tuple[Outcome, int, int]:
    """Return (decisions on all documents of a partition, number of pairs compared, number of entries skipped).

    An entry is a kept document that shares a key with the document to decide on; if there are too many entries, the
    remaining ones are skipped.

    - rule: the condition on which a document is dropped.
    - rows: the documents' headers and contents.
    - origin: uint16[n], the number of each document's Dataset; only documents of the Dataset `new` can be dropped.
    - bands: the number of keys per document.
    - budget: the maximum number of bytes of documents in memory at once.
    """
    n, words = len(rows.headers), rows.size // 8
    outcome = Outcome(np.zeros(n, np.uint8), np.full(n, -1, np.int64), np.zeros(n, np.float32), np.zeros(n, np.int32))
    old = (origin != new).astype(np.uint8)
    pending = np.lexsort((rows.headers["id"], rows.headers["rank"], origin))
    compared = skipped = 0
    while len(pending):
        index = _empty_index(words[pending], bands, budget)
        for chosen in _blocks(pending, words, budget):
            starts, payloads = rows.load(chosen)
            undecided = Undecided(chosen, starts // 8, words[chosen], payloads.view(np.uint64), old[chosen])
            more = decide_block(undecided, bands, rule, index, outcome)
            compared, skipped = compared + more[0], skipped + more[1]
        pending = pending[outcome.state[pending] == OPEN]
    return outcome, compared, skipped


def _blocks(pending: npt.NDArray[np.intp], words: I64, budget: int) -> list[npt.NDArray[np.intp]]:
    """Split the rows, in order, so that the payloads of each block fill the budget."""
    total = np.cumsum(words[pending]) * 8
    return np.split(pending, np.flatnonzero(np.diff(total // budget)) + 1)


def _empty_index(words: I64, bands: int, budget: int) -> KeptIndex:
    """Return an empty index for as many documents of these sizes as the budget allows, at least one of any size."""
    need, largest = int(words.sum()), int(words.max())
    capacity = max(1, min(len(words), budget // (32 * bands)))
    slots = 1 << int(2 * capacity * bands - 1).bit_length()
    members = min(need, max(budget // 8, largest))
    return KeptIndex(
        key=np.empty(slots, np.uint64),
        last=np.full(slots, -1, np.int32),
        entries=np.zeros(slots, np.int32),
        before=np.empty(capacity * bands, np.int32),
        ends=np.zeros(capacity + 1, np.int64),
        row=np.empty(capacity, np.int64),
        pool=np.empty(members, np.uint64),
        drawn=np.zeros(capacity + 1, np.int64),
        bits=np.empty(members // 4 + capacity, np.uint64),  # a power of two, of 8 to 16 bits per member
        fill=np.zeros(2, np.int64),
    )
