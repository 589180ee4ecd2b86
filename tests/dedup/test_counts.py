"""Counts of deduplication, and what an interrupted search with other settings leaves in the same folder."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pyarrow.parquet as pq
import pytest

import laws
from dataprep.core.run.runner import Serial
from dataprep.dedup.bloom import Bloom
from dataprep.dedup.exact import Exact
from dataprep.dedup.minhash import MinHash
from dataprep.dedup.semantic import SemDeDup
from dataprep.dedup.spans import search
from dataprep.dedup.suffix_array import SuffixArray


def of_length(texts):
    """Vectors by the length of a text: all different."""
    return [[len(text), 40 - len(text)] for text in texts]


LINES = ["one two three four five six", "seven eight nine ten", "a b c d e", "z"]
TEXTS = ["\n".join(LINES[k % 4 :] + LINES[: k % 2]) for k in range(9)]
COUNTED = [  # the stage, and counts that are not 0
    (Exact(), "documents edges candidates dropped"), (Exact(unit="line"), "documents units distinct duplicates spans"),
    (MinHash(threshold=0.6, ngram=1), "documents edges candidates dropped compared"),
    (Bloom(unit="paragraph"), "documents keys distinct spans entered"), (Bloom(), "documents keys dropped entered"),
    (SuffixArray(min_words=4), "documents spans documents_cut bytes_cut marks"),
    (SemDeDup(embed=of_length, epsilon=0.001), "documents vectors dropped compared largest_cluster"),
]  # fmt: skip


@pytest.mark.parametrize(("stage", "names"), COUNTED, ids=lambda value: repr(value)[:24])
def test_counts_are_those_of_all_parts(dataset, tmp_path, stage, names):
    """Of one part as of four, in batches of one and of many; none of them is 0 by chance."""
    found = []
    for number, (parts, cut_) in enumerate(((1, 100), (4, 1))):
        facts = dict(stage.fit(dataset(TEXTS, parts=parts, cut=cut_), Serial(), str(tmp_path / str(number))).facts)
        found.append({name: facts[name] for name in names.split()})
    assert found[0] == found[1]
    assert min(found[0].values()) > 0
    assert found[0]["documents"] == len(TEXTS)


def test_counts_of_lines(dataset, tmp_path):
    """Units, distinct ones and repeats are those of a plain count."""
    lines = [line for text in TEXTS for line in text.split("\n")]
    facts = Exact(unit="line").fit(dataset(TEXTS, parts=3), Serial(), str(tmp_path)).facts
    assert (facts["units"], facts["distinct"]) == (len(lines), len(set(lines)))
    assert facts["duplicates"] == len(lines) - len(set(lines))
    found = {row["id"]: row["text"] for row in dataset(TEXTS, parts=3)}
    counts = [
        (row["count"], found[int(row["id"])].encode()[row["start"] :][: row["bytes"]].decode()) for row in facts["top"]
    ]
    assert sorted(counts) == sorted((lines.count(line), line) for line in set(lines))
    assert counts == sorted(counts, key=lambda row: -row[0])


SPACED = ["x\n  one two \ny", "one two\n\nz", "  one two   \nw  one two ", "v\nONE  two\n  one two "]


@pytest.mark.parametrize("form", [None, "space", "lower", "c4"])
def test_spans_are_counted_and_name_the_same_text(dataset, tmp_path, form):
    """The text that is cut is in the kept document at the stated bytes: the same bytes, or the same normal form."""
    fitted = Exact(unit="line", normalize=form).fit(dataset(SPACED, parts=2), Serial(), str(tmp_path))
    cut = {id_: set() for id_ in range(0, 40, 10)}
    for row in rows(fitted):
        cut[row["id"]] |= set(range(row["start"], row["end"]))
        if row["duplicate_of"] is not None:
            gone = SPACED[row["id"] // 10][row["start"] : row["end"]]
            kept = SPACED[row["duplicate_of"] // 10][row["duplicate_of_start"] : row["duplicate_of_end"]]
            assert gone == kept or (form is not None and gone.lower().split() == kept.lower().split())
    gaps = sum(len(some) - sum(at + 1 in some for at in some) for some in cut.values())
    assert (fitted.facts["spans"], fitted.facts["bytes"]) == (gaps, sum(map(len, cut.values())))
    assert gaps > 0


@dataclass(frozen=True)
class Counts(Serial):
    """Notes how many tasks each pass has."""

    tasks: dict = field(default_factory=dict)

    def map(self, task, items, label=""):
        """Results as usual."""
        items = list(items)
        self.tasks[label] = len(items)
        return super().map(task, items, label)


@pytest.mark.parametrize(("size", "tasks"), [(1, 9), (2, 5), (4, 3), (9, 1), (100, 1)])
def test_partitions_of_units(tmp_path, monkeypatch, size, tasks):
    """One for so many bytes of input, however they are in parts."""
    run = Counts()
    monkeypatch.setattr(search, "PARTITION_BYTES", size)
    docs = laws.dataset_of(tmp_path, TEXTS, parts=3)  # it states a byte for each row
    Exact(unit="line").fit(docs, run, str(tmp_path / "out"))
    assert run.tasks == {"Exact: hash": 3, "Exact: match": tasks, "Exact: cut": 3}


SETTINGS = [  # two stages of one kind that find something else in TEXTS, and the pass at which the first one is stopped
    (Exact(unit="line"), {"unit": "span3"}, "Exact: cut"),
    (MinHash(threshold=0.9, ngram=1, bands=9, rows=5), {"ngram": 2, "bands": 12, "rows": 3, "threshold": 0.6},
     "MinHash: verify"),
    (Bloom(unit="ngram", ngram=6), {"ngram": 2}, "Bloom: look up"),
    (SuffixArray(min_words=4), {"min_words": 2}, "SuffixArray: sort"),
    (SuffixArray(min_words=4, engine="suffix_array"), {"min_words": 2}, "SuffixArray: sort"),
    (SuffixArray(min_words=4, cut="line"), {"min_words": 2}, "SuffixArray: shrink"),
    (SemDeDup(embed=of_length, epsilon=1e-9), {"epsilon": 0.2}, "SemDeDup: compare"),
]  # fmt: skip


@pytest.mark.parametrize(("stage", "changed", "at"), SETTINGS, ids=lambda value: repr(value)[:24])
def test_work_of_other_settings_is_not_used(dataset, tmp_path, stage, changed, at):
    """A search that was stopped leaves receipts; one with other settings finds what it finds in a new folder."""
    docs, other = dataset(TEXTS, parts=2), replace(stage, **changed)
    run = Counts()
    before = rows(stage.fit(docs, run, str(tmp_path / "before")))
    assert at in run.tasks
    with pytest.raises(KeyboardInterrupt):
        stage.fit(docs, laws.Stops(at=at), str(tmp_path / "out"))
    after = rows(other.fit(docs, Serial(), str(tmp_path / "out")))
    assert after == rows(other.fit(docs, Serial(), str(tmp_path / "fresh"))) != before


def rows(stage):
    """The table of a fitted stage."""
    return pq.read_table(getattr(stage, "verdicts", None) or stage.spans).to_pylist()
