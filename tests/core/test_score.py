"""Scores and decisions apart."""

from dataclasses import dataclass, fields

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import dataprep as dp
import laws
from dataprep.core.model import batch as B
from dataprep.core.model.score import MEASURE_KEY, Score, ScoredFilter
from dataprep.errors import PlanError
from dataprep.store.key import key

measured = []


@dataclass(frozen=True, kw_only=True)
class Long(ScoredFilter):
    """Drops texts of few characters; `unit` is what the measure depends on."""

    min_chars: int = 3
    unit: str = "char"

    @property
    def scores(self):
        return {"long_chars": pa.int64()}

    @property
    def measure(self):
        return self.unit

    def score(self, batch):
        measured.append(batch.num_rows)
        return {"long_chars": pc.utf8_length(batch.column("text")).cast(pa.int64())}

    def decide(self, scores):
        return pc.if_else(pc.less(scores["long_chars"], self.min_chars), "short", None)


TEXTS = ["a", "abc", "abcdef", "\u00e9\u00e9\u00e9\u00e9"]


def scored(tmp_path, stage=None):
    docs = laws.dataset_of(tmp_path, TEXTS)
    return dp.Pipeline(Score(stage or Long())).run(docs, str(tmp_path / "scored"))


def kept(docs, *stages, out):
    return dp.Pipeline(*stages).run(docs, str(out), replace=True).table().column("text").to_pylist()


def test_a_threshold_changes_without_measuring_again(tmp_path):
    """Scores are sealed as a column, drop nothing, and decide later with any threshold."""
    docs = scored(tmp_path)
    assert docs.table().column("long_chars").to_pylist() == [1, 3, 6, 4]
    measured.clear()
    assert kept(docs, Long(min_chars=4), out=tmp_path / "four") == TEXTS[2:]
    assert kept(docs, Long(min_chars=2), out=tmp_path / "two") == TEXTS[1:]
    drops = dp.open_dataset(str(tmp_path / "four")).drops()
    assert sorted(zip(drops["value"].to_pylist(), drops["bytes"].to_pylist(), strict=True)) == [(1.0, 1), (3.0, 3)]
    assert measured == []
    assert kept(laws.dataset_of(tmp_path, TEXTS), Long(min_chars=4), out=tmp_path / "plain") == TEXTS[2:]
    assert measured


def test_scores_of_another_measure_or_text_are_not_taken(tmp_path):
    """Another model measures again, and so does a filter behind a stage that changed the text."""
    docs = scored(tmp_path)
    measured.clear()
    kept(docs, Long(unit="byte"), out=tmp_path / "byte")
    assert sum(measured) == 4
    assert kept(docs, dp.Map(str_twice), Long(min_chars=5), out=tmp_path / "map") == [t * 2 for t in TEXTS[1:]]


def str_twice(text):
    return text * 2


def test_any_filter_can_be_asked(tmp_path):
    """A stage that only drops says in a column why it would."""
    docs = scored(tmp_path, dp.Filter(no_b))
    assert docs.table().column("no_b_reason").to_pylist() == ["no_b", None, None, "no_b"]
    assert docs.count == 4


def no_b(text):
    return "b" in text


def test_scores_keep_the_laws():
    """Cuts do not matter, keys know the measure and not the threshold, and a stage is asked for."""
    batch = laws.batch_of(TEXTS)
    for stage in (Long(), Score(Long()), Score(dp.Filter(no_b))):
        laws.cuts_do_not_matter(stage, batch, [1, 2])
        laws.books_balance(stage, batch)
        laws.key_and_pickle_are_stable(stage)
    assert key(Score(Long())) == key(Score(Long(min_chars=9))) != key(Score(Long(unit="byte")))
    with pytest.raises(PlanError, match="must be given a filter"):
        Score(len)


def test_a_column_without_its_maker_is_not_a_score():
    """A user's column of the same name is measured over."""
    batch = B.with_column(laws.batch_of(TEXTS), "long_chars", pa.array([9, 9, 9, 9]))
    rows, _, _ = laws.apply(Long(), [batch])
    assert len(rows) == 3


def test_a_score_says_which_columns_it_adds():
    """Those of the filter, or one with its reason; another filter or version is another score."""
    assert (Score(Long()).adds, Score(Long()).name) == ({"long_chars": pa.int64()}, "Score Long")
    assert Score(dp.Filter(no_b)).adds == {"no_b_reason": pa.string()}
    assert key(Score(dp.Filter(no_b))) != key(Score(dp.Filter(str_twice)))
    assert Long().measure_key() != Long(unit="byte").measure_key()
    (column,) = [f for f in Long().with_scores(laws.batch_of(TEXTS)).schema if f.name == "long_chars"]
    assert column.metadata == {MEASURE_KEY: Long().measure_key()}
    assert Long().with_scores(laws.batch_of(TEXTS))["long_chars"].to_pylist() == [1, 3, 6, 4]


def test_a_score_has_the_hash_of_its_filter():
    """Equal ones the same: a Pipeline with workers makes each ready once."""
    assert len({Score(Long()), Score(Long()), Score(Long(min_chars=4))}) == 2
    assert repr(Score(Long())) == f"Score(filter={Long()!r})"
    assert [f.name for f in fields(Score) if f.compare] == ["filter"]  # which make its key


@dataclass(frozen=True, kw_only=True)
class Two(Long):
    """Has a second score, which comes first."""

    @property
    def scores(self):
        return {"long_more": pa.int64(), "long_chars": pa.int64()}

    def score(self, batch):
        return {"long_more": pa.array([7] * batch.num_rows), **super().score(batch)}


def test_one_of_two_scores_is_not_enough():
    """If a column is missing, all are measured, wherever the other stands."""
    whole = Two().with_scores(laws.batch_of(TEXTS))
    part = whole.drop_columns(["long_more"])
    before = len(measured)
    assert Two().scores_of(part)["long_more"].to_pylist() == [7] * 4
    assert len(measured) == before + 1
    assert list(Two().scores_of(whole)) == ["long_more", "long_chars"]
    assert len(measured) == before + 1
