"""Summary of a run's folder: statistics, duplicates, repeats, tokens and training, for the report and `inspect`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model.dataset import Dataset, open_dataset
from dataprep.core.model.stats import HIDDEN, Amount, StageStats, Stats, removed
from dataprep.core.model.tables import Drop, Unread
from dataprep.core.model.unread import rows_of
from dataprep.core.output.layout import inside
from dataprep.core.output.lineage import family, inputs_of, left_out
from dataprep.core.output.run_folder import token_folders
from dataprep.core.output.state import Manifest
from dataprep.errors import DataprepError
from dataprep.store import files
from dataprep.tokens.shards.shard import Shards

from . import clusters
from .boilerplate import alike_in_boilerplate
from .clusters import Cluster, Clusters, NoSurvivor, Similarities
from .cuts import RepeatedCut, most_repeated_cuts
from .experiments import FoundExperiment, found_experiments
from .judged import review_alarms
from .recall import ScriptRecall, recall_by_script
from .status import metrics_rows
from .texts import DocumentsAsRead, pairs_of
from .word_diff import DiffSide, word_diff

LEAST_SIMILAR = 8  # pairs of texts that are shown
LARGEST = 6  # clusters that are shown with texts
LOST = 10  # clusters without a survivor that are listed
REPEATS = 10  # cut texts that are shown
LANGUAGE = ("language", "lang")  # columns with the language, whichever stage added them

COUNTED_AGAIN = (
    f"'{HIDDEN}' stands for the sources whose names a stage replaced. What this stage kept of them is counted again in "
    "the rows of the new names, so the rows add up to more than all documents."
)


@dataclass(frozen=True)
class TextPair:
    """A dropped document, and a word diff of its text and the text of the document kept in its place.

    Attributes:
        drop: the drop.
        dropped: the dropped text, as a list of passages of equal or changed words; None if the text cannot be read.
        kept: the kept text, likewise.
        survivor: the document that remains in the end: the kept document, or the one for which it was dropped later;
            None if none remains.
    """

    drop: Drop
    dropped: DiffSide | None
    kept: DiffSide | None
    survivor: int | None


@dataclass(frozen=True)
class RunSummary:
    """The content of a report on a run.

    Attributes:
        name: the name of the run's folder.
        manifests: the manifests of the finished Datasets, by folder.
        stages: the statistics of each stage.
        sources: (amount read, amount kept) by source, most bytes first.
        totals: (amount read, amount kept) of all.
        inputs: by folder, the folders of the run from which it was made.
        alarms: sentences about suspicious drops.
        left_out: sentences with what is not shown: other results in the folder, repetitions; "" if all is.
        unread: files that could not be read.
        fits: counts that deduplications and other Estimators made.
        similarities: similarities of dropped documents to the kept ones, by stage.
        recalls: expected recall of MinHash by script.
        sizes: the distinct sizes of clusters of duplicates, and the number of clusters of each.
        source_pairs: the number of duplicates by (source of the dropped document, source of the kept one).
        no_survivor: the clusters of which no document is left; lost: the largest of these clusters, with examples.
        largest: the largest clusters, with examples.
        least_similar: dropped documents least similar to the kept ones.
        repeats: the texts that were cut most often.
        languages: the number of documents by language.
        tokens: the token shards.
        token_lengths: the number of documents in the token shards, by the number of binary digits of a document's
            length in tokens.
        metrics: the rows that training wrote.
        samples: the texts that the model wrote.
        experiments: the experiments in the folder.
    """

    name: str
    manifests: dict[str, Manifest]
    stages: list[StageStats]
    sources: dict[str, tuple[Amount, Amount]]
    alarms: list[str]
    totals: tuple[Amount, Amount] = field(default_factory=lambda: (Amount(), Amount()))
    inputs: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    left_out: str = ""
    unread: list[Unread] = field(default_factory=list)
    fits: list[dict[str, Any]] = field(default_factory=list)
    similarities: dict[str, Similarities] = field(default_factory=dict)
    recalls: list[ScriptRecall] = field(default_factory=list)
    sizes: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None
    source_pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    no_survivor: NoSurvivor | None = None
    lost: list[tuple[Cluster, list[TextPair]]] = field(default_factory=list)
    largest: list[tuple[Cluster, list[TextPair]]] = field(default_factory=list)
    least_similar: list[TextPair] = field(default_factory=list)
    repeats: list[RepeatedCut] = field(default_factory=list)
    languages: Counter[str] = field(default_factory=Counter)
    tokens: Shards | None = None
    token_lengths: dict[int, int] = field(default_factory=dict)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)
    experiments: list[FoundExperiment] = field(default_factory=list)


def summarize(folder: str) -> RunSummary:
    """Read the folder of a run and return its summary; fields for steps that have not run yet are empty.

    Raises PlanError if the folder has no sealed (finished) Dataset.
    """
    finals = {found.url: open_dataset(found.url) for found in family(folder, saved=False)}
    stages, inputs, read, kept, sources = amounts_of(finals)
    found = clusters.find_clusters(folder)
    lost = found.no_survivor()
    pairs = found.source_pairs()
    shards = token_shards(folder)
    largest, least = found.largest(LARGEST), clusters.least_similar(folder, LEAST_SIMILAR)
    gone = found.largest(LOST, among=lost.roots) if lost.n else []
    texts = pairs_of(folder, [*least, *(drop for cluster in [*largest, *gone] for drop in cluster.examples[:1])])
    return RunSummary(
        name=files.name_of(folder) or folder,
        manifests={url: docs.sealed for url, docs in finals.items()},
        stages=stages,
        sources=sources,
        totals=(read, kept),
        inputs=inputs,
        alarms=[
            *find_alarms(stages, sources), *clusters.pair_alarms(pairs, stages),
            *map(str, alike_in_boilerplate(folder)), *([str(lost)] if lost.n else []), *review_alarms(folder, stages),
        ],
        left_out=left_out(folder),
        unread=[row for docs in finals.values() for row in rows_of(docs.unread())],
        fits=[fit for docs in finals.values() for fit in docs.sealed.fits],
        similarities=clusters.similarities(folder),
        recalls=[row for docs in finals.values() for row in recall_by_script(docs)],
        sizes=found.sizes() if found.removed else None,
        source_pairs=pairs,
        no_survivor=lost,
        lost=[(c, [_pair(found, lost, drop, texts) for drop in c.examples[:1]]) for c in gone],
        largest=[(c, [_pair(found, lost, drop, texts) for drop in c.examples[:1]]) for c in largest],
        least_similar=[_pair(found, lost, drop, texts) for drop in least],
        repeats=most_repeated_cuts(folder, REPEATS),
        languages=_languages(list(finals.values())[-1]),
        tokens=shards,
        token_lengths=_token_lengths(shards) if shards is not None else {},
        metrics=training_metrics(folder),
        samples=_samples(folder),
        experiments=found_experiments(folder),
    )


class RunAmounts(NamedTuple):
    """The amounts of documents and text in a run; see `RunSummary` for `stages`, `inputs` and `sources`.

    Attributes:
        read: the amounts that were read into the run.
        kept: the amount that its last Dataset contains.
    """

    stages: list[StageStats]
    inputs: dict[str, dict[str, list[int]]]
    read: Amount
    kept: Amount
    sources: dict[str, tuple[Amount, Amount]]


def amounts_of(finals: Mapping[str, Dataset]) -> RunAmounts:
    """Return the amounts in a run.

    - finals: Datasets of its `family`, the last one last, by folder.
    """
    stages = [stage for docs in finals.values() for stage in docs.stats if stage.docs_in]
    inputs = inputs_of(finals)
    sources = source_amounts(stages, _read_of(finals, inputs), _kept_of(finals, inputs))
    return RunAmounts(stages, inputs, *_ends(finals, inputs), sources)


def _kept_of(finals: Mapping[str, Dataset], inputs: Mapping[str, Mapping[str, Sequence[int]]]) -> dict[str, Amount]:
    """Return the amount of each source in the last Dataset."""
    waiting, found = list(finals)[-1:], dict[str, Amount]()
    while waiting:
        url = waiting.pop()
        ran = [stage for stage in finals[url].stats if stage.docs_in]
        for name, amount in ran[-1].out.items() if ran else ():
            found.setdefault(name, Amount()).__iadd__(amount)
        waiting += [] if ran else [one for one, ways in inputs[url].items() for _ in ways]  # their documents joined
    return found


def _read_of(finals: Mapping[str, Dataset], inputs: Mapping[str, Collection[str]]) -> dict[str, Amount]:
    """Return the amount of each source that was read into the Datasets that no other Dataset of the run precedes."""
    found = dict[str, Amount]()
    for url in finals:
        ran = [] if inputs[url] else [stage for stage in finals[url].stats if stage.docs_in]
        for name, amount in ran[0].into.items() if ran else ():
            found.setdefault(name, Amount()).__iadd__(amount)
    return found


def _ends(finals: Mapping[str, Dataset], inputs: Mapping[str, Collection[str]]) -> tuple[Amount, Amount]:
    """Return the amount that was read into a run, and the amount in its last Dataset."""
    read, last = Amount(), list(finals.values())[-1].sealed
    for url in finals:
        if not inputs[url]:
            ran = [stage for stage in finals[url].stats if stage.docs_in]
            whole = Amount(finals[url].sealed.docs, finals[url].sealed.bytes)
            read += ran[0].total(ran[0].into) if ran else whole
    return read, Amount(last.docs, last.bytes)


def source_amounts(
    stages: list[StageStats], read: Mapping[str, Amount], kept: Mapping[str, Amount]
) -> dict[str, tuple[Amount, Amount]]:
    """Return (amount read, amount kept at the end) of each source, most bytes first.

    If stages hide the names of sources, the amount read of a hidden source is the amount after the last of these
    stages.

    - read: the first amounts; for a source that is not in it, the amount that the first stage with it received.
    - kept: the second amounts.
    """
    found = {name: (amount, kept.get(name, Amount())) for name, amount in read.items()}
    for stage in stages:
        for name, amount in stage.into.items():
            found.setdefault(name, (amount, kept.get(name, Amount())))
    for stage in stages:
        if HIDDEN in stage.out and HIDDEN in found:
            found[HIDDEN] = (found[HIDDEN][0], stage.out[HIDDEN])
    return dict(sorted(found.items(), key=lambda item: (-item[1][0].bytes, item[0])))


def totals(summary: RunSummary) -> tuple[Amount, Amount]:
    """Return the amount that was read and the amount that is kept, over all sources; each document counts once."""
    return summary.totals


def find_alarms(stages: list[StageStats], sources: dict[str, tuple[Amount, Amount]]) -> list[str]:
    """Return a sentence for each source of which one stage, or all stages together, removed nearly everything.

    - sources: (amount read, amount kept) by source. `StageStats.alarms` defines "nearly everything".
    """
    found = Stats(stages).alarms()
    if Stats(stages).emptied:
        return found
    for name, (read, kept) in sources.items():
        moved = Amount()
        for stage in stages:
            moved += Amount(stage.moved_from(name).docs)  # their text is in `kept`
        what = removed(read, kept, moved, name)
        if what and not any(f"'{name}'" in alarm for alarm in found):
            found.append(f"all stages together {what}")
    return found


def _pair(found: Clusters, lost: NoSurvivor, drop: Drop, documents: DocumentsAsRead) -> TextPair:
    """Return a dropped document with the word diff of its text and the text of the document kept in its place.

    If a text cannot be read any more, it is None.
    """
    rows = documents.dropped(drop), documents.survivor(drop)
    texts = [None if row is None else str(row["text"]) for row in rows]
    sides = word_diff(texts[0] or "", texts[1] or "")
    end = found.survivor(drop.id, lost)
    return TextPair(drop, sides[0] if rows[0] else None, sides[1] if rows[1] else None, end)


def _languages(docs: Dataset) -> Counter[str]:
    """Return the number of documents by language, if there is a language column."""
    counts: Counter[str] = Counter()
    for name in [name for name in LANGUAGE if name in docs.columns][:1]:
        for batch in docs.batches(["id", name]):
            values = batch.column(name).cast(pa.string()).value_counts().to_pylist()
            counts.update({row["values"] or "unknown": row["counts"] for row in values})
    return counts


def _urls(folder: str, name: str) -> Iterator[str]:
    """Yield the URLs of the files of a name, in the folder and in those directly inside it."""
    for place in (folder, *inside(folder)):
        url = files.join(place, name)
        if files.exists(url):
            yield url


def token_shards(folder: str) -> Shards | None:
    """Return the token shards (encoded documents) in the folder of a run, or None if it has none."""
    found = token_folders(folder)
    return Shards.open(files.path_of(found[0].url)) if found else None


def _token_lengths(shards: Shards) -> dict[int, int]:
    counts: Counter[int] = Counter()
    for i in range(len(shards.shards)):
        lengths = np.diff(np.asarray(shards.ends(i), np.int64), prepend=0)
        bits, n = np.unique(np.frexp(lengths.astype(np.float64))[1], return_counts=True)
        counts.update(dict(zip(bits.tolist(), n.tolist(), strict=True)))
    return dict(sorted(counts.items()))


def training_metrics(folder: str) -> list[dict[str, Any]]:
    """Return the rows of metrics that training wrote into the folder of a run, or an empty list."""
    url = next(_urls(folder, "metrics.jsonl"), None)
    return [] if url is None else metrics_rows(url)


def _samples(folder: str) -> list[str]:
    """Return texts that the trained model wrote, or an empty list."""
    url = next(_urls(folder, "sample.json"), None)
    try:
        return [] if url is None else [str(text) for text in files.read_json(url)]
    except DataprepError:
        return []
