"""Alarm about near-duplicates that resemble the kept documents only in boilerplate, such as menus and footers.

Samples of each source's pairs and of its kept documents are read. A line is boilerplate if it occurs in many of the
kept documents. If the texts of most pairs have little in common without these lines, distinct texts were dropped.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.stats import LARGE
from dataprep.core.model.tables import Drop, row_object
from dataprep.core.output.lineage import family
from dataprep.store.ranks import mix

from .clusters import drop_batches
from .texts import DocumentsAsRead, pairs_of

SAMPLE = 40  # pairs of a source
MOST_SOURCES = 10  # those with the most near-duplicates
KEPT, SAMPLE_BYTES = 200, 64 << 20  # documents that the run kept: of a source, and of all together
FEWEST = 10  # of them, below which nothing is said
SHARE, LEAST = 0.1, 3  # of them: a line in fewer is not boilerplate
LINE_LEAST, LINE_CHARS = 20, 100  # characters of a line that is named, and that are shown of it
LEFT_FEWEST = 50  # kept documents, below which no line of a source is named
WORDS = 5  # outside of boilerplate, below which a text has no content of its own
ALIKE = 0.3  # Jaccard similarity of the contents; less is a different text


class AlikeInBoilerplate(NamedTuple):
    """A source of which most sampled near-duplicates resemble the kept documents only in boilerplate.

    Attributes:
        source: its name.
        bad: the number of such pairs in the sample.
        n: the number of pairs in the sample.
    """

    source: str
    bad: int
    n: int

    def __str__(self) -> str:
        """Return a sentence."""
        return (
            f"{self.bad:,} of {self.n:,} sampled near-duplicates of '{self.source}' resemble the kept documents only "
            'in lines that many documents have, such as menus; cut these lines before the deduplication, by '
            'dp.Exact(unit="line") for example'
        )


def alike_in_boilerplate(url: str) -> list[AlikeInBoilerplate]:
    """Return the sources of a run of which most near-duplicates are alike only in boilerplate.

    Sources of fewer than 100 near-duplicates are left out.

    - url: the run's folder.
    """
    sampled = _sampled(url)
    texts, kept = pairs_of(url, [drop for drops in sampled.values() for drop in drops]), _kept(url, set(sampled))
    counts = ((source, judged(_pairs(texts, drops), kept[source])) for source, drops in sampled.items())
    return [AlikeInBoilerplate(source, bad, n) for source, (bad, n) in counts if 2 * bad > n]


class BoilerplateLeft(NamedTuple):
    """A source of which many kept documents have a line in common.

    Attributes:
        source: its name.
        line: the line that most of them have.
        n: the number of sampled documents with this line.
        of: the number of sampled documents.
    """

    source: str
    line: str
    n: int
    of: int

    def __str__(self) -> str:
        """Return a sentence."""
        shown = self.line if len(self.line) <= LINE_CHARS else f"{self.line[: LINE_CHARS - 1]}…"
        documents = f"{self.n:,} of {self.of:,} sampled documents of '{self.source}' that were kept"
        return f'{documents} have the line "{shown}"'


def boilerplate_left(url: str, sources: Iterable[str]) -> list[BoilerplateLeft]:
    """Return the sources in whose kept documents a line of at least 20 characters is boilerplate.

    Sources with few sampled documents are left out.

    - url: the run's folder.
    """
    found = list[BoilerplateLeft]()
    for source, texts in _kept(url, set(sources)).items():
        counts = Counter(line for text in texts for line in set(lines_of(text)) if len(line) >= LINE_LEAST)
        line, n = max(counts.items(), key=lambda item: (item[1], item[0]), default=("", 0))
        if len(texts) >= LEFT_FEWEST and n >= max(LEAST, SHARE * len(texts)):
            found.append(BoilerplateLeft(source, line, n, len(texts)))
    return found


def _near(url: str, columns: Sequence[str] | None = None) -> Iterator[tuple[pa.RecordBatch, str]]:
    """Yield, as `drop_batches` does, near-duplicates of a named source whose kept document is in the run."""
    for batch, folder in drop_batches(url, columns):
        near = pc.and_(pc.less(batch.column("similarity"), 1), batch.column("duplicate_of").is_valid())
        rows = batch.filter(pc.fill_null(near, fill_value=False))
        is_here = rows.column("duplicate_of_dataset").is_null()
        yield rows.filter(pc.and_(is_here, rows.column("source").is_valid())), folder


def _sampled(url: str) -> dict[str, list[Drop]]:
    """Return a sample of the near-duplicates of each source that has many, chosen by hashes of their ids."""
    counts = Counter[str]()
    for rows, _ in _near(url, ["similarity", "duplicate_of", "duplicate_of_dataset", "source"]):
        counts.update({str(one["values"]): one["counts"] for one in rows.column("source").value_counts().to_pylist()})
    chosen = [source for source, n in counts.most_common(MOST_SOURCES) if n >= LARGE]
    best: dict[str, list[tuple[int, Drop]]] = {source: [] for source in chosen}
    for rows, folder in _near(url) if chosen else ():
        for source, before in best.items():
            mine = rows.filter(pc.equal(rows.column("source").cast(pa.string()), source))
            ranks = mix(mine.column("id").to_numpy(), 0)
            first = np.argsort(ranks, kind="stable")[:SAMPLE]
            some = mine.take(pa.array(first)).to_pylist()
            drops = zip(ranks[first].tolist(), (row_object(Drop, row, folder=folder) for row in some), strict=True)
            best[source] = sorted([*before, *drops], key=lambda one: one[0])[:SAMPLE]
    return {source: [drop for _, drop in some] for source, some in best.items()}


def _kept(url: str, sources: set[str]) -> dict[str, list[str]]:
    """Return texts of documents of each source that the run kept, from parts spread over the last Dataset."""
    found: dict[str, list[str]] = {source: [] for source in sources}
    parts, left = open_dataset(family(url, saved=False)[-1].url).parts, SAMPLE_BYTES
    order = np.argsort(mix(np.arange(len(parts), dtype=np.uint64), 0)).tolist() if sources else []
    for batch in (batch for number in order for batch in parts[number].batches(["text", "source"])):
        if left <= 0 or all(len(texts) >= KEPT for texts in found.values()):
            break
        left -= batch.column("text").nbytes
        for source, texts in found.items():
            mine = batch.filter(pc.equal(batch.column("source").cast(pa.string()), source))
            texts.extend(mine.column("text").slice(0, KEPT - len(texts)).to_pylist())
    return found


def _pairs(texts: DocumentsAsRead, drops: Sequence[Drop]) -> list[tuple[str, str]]:
    """Return (text of the dropped document, text of the kept one) of the drops whose texts can be read."""
    rows = [(texts.dropped(drop), texts.survivor(drop)) for drop in drops]
    return [(str(a["text"]), str(b["text"])) for a, b in rows if a is not None and b is not None]


def judged(pairs: Sequence[tuple[str, str]], kept: Sequence[str]) -> tuple[int, int]:
    """Return (number of pairs that are alike only in boilerplate, number of pairs); (0, 0) for too few texts.

    Args:
        pairs: (text of the dropped document, text of the kept one).
        kept: texts of other documents of the source.
    """
    if len(kept) < FEWEST:
        return 0, 0
    counts = Counter(line for text in kept for line in set(lines_of(text)))
    common = {line for line, n in counts.items() if n >= max(LEAST, SHARE * len(kept))}
    bad = 0
    for both in pairs:
        a, b = ([word for line in lines_of(text) if line not in common for word in line.split()] for text in both)
        has_some = any(line in common for line in lines_of(both[0]))
        if has_some and min(len(a), len(b)) >= WORDS:
            bad += _alike(a, b) < ALIKE
    return bad, len(pairs)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that are not blank, stripped."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def _alike(a: Sequence[str], b: Sequence[str]) -> float:
    """Return the Jaccard similarity of two texts' pairs of adjacent words."""
    one, other = (set(itertools.pairwise(words)) for words in (a, b))
    return len(one & other) / len(one | other)
