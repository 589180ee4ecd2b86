"""Spans: what CutSpans removes, books and drops, and what a broken table says."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.core.model import batch as B
from dataprep.core.model.estimator import Estimator
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.tables import NOBODY, SPAN, SPANS, VERDICTS, write_spans, write_verdicts
from dataprep.core.model.verdict import CutSpans, DropIds
from dataprep.core.pipeline import Pipeline
from dataprep.errors import CorruptShard, PlanError
from dataprep.store import files
from dataprep.store.key import key
from twins.cut import cut_plainly

LETTERS = st.text(alphabet="ab \n\u00e9\u0627\U0001f600", max_size=12)


def spans_of(rows):
    return np.array(rows, SPAN)


def stage_of(folder, rows, **options):
    url = str(folder / "spans.parquet")
    write_spans(url, [spans_of(rows)] if rows else [])
    return CutSpans(spans=url, key="k", estimator="Cutter", **options)


@st.composite
def texts_and_spans(draw):
    """Texts, and for some of them spans on code points, which may overlap or touch."""
    made = draw(st.lists(LETTERS, min_size=1, max_size=8))
    spans = []
    for row, text in enumerate(made):
        places = [len(text[:i].encode()) for i in range(len(text) + 1)]
        pairs = draw(st.lists(st.tuples(st.sampled_from(places), st.sampled_from(places)), max_size=3))
        spans += [(row, a, b, row, 0, b - a) for a, b in sorted(pairs) if a < b]
    return made, spans


@settings(max_examples=60)
@given(
    given_=texts_and_spans(),
    min_remaining_chars=st.integers(0, 3),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
)
def test_spans_are_cut_as_python_would(tmp_path_factory, given_, min_remaining_chars, sizes):
    """The texts lose just their spans; what is left of too little goes; batch cuts do not matter; books balance."""
    made, spans = given_
    stage = stage_of(tmp_path_factory.mktemp("spans"), spans, min_remaining_chars=min_remaining_chars)
    batch = laws.batch_of(made)
    rows, drops, book = laws.apply(stage, [batch])
    expected, stretches = {}, 0
    for row, text in enumerate(made):
        own = [(a, b) for i, a, b, *_ in spans if i == row]
        left, n = cut_plainly(text, own)
        stretches += n
        if not own or len("".join(left.split())) >= min_remaining_chars:
            expected[row] = left
    assert {r["id"]: r["text"] for r in rows} == expected
    assert {d["id"] for d in drops} == set(range(len(made))) - set(expected)
    assert {d["reason"] for d in drops} <= {"too_short_after_cuts"}
    assert book.counts["spans_cut"] == stretches
    laws.cuts_do_not_matter(stage, batch, sizes)
    laws.books_balance(stage, batch)


@dataclass(frozen=True)
class Halves(Estimator):
    """An Estimator that cuts the first half of every text, as copies of document 0."""

    def fit(self, docs, runner, out):
        """Spans of half the length."""
        rows = [(i, 0, len(t.encode()) // 2, 0, 0, 1) for b in docs.batches() for i, t in zip(*columns(b), strict=True)]
        url = files.join(out, "spans.parquet")
        write_spans(url, [spans_of(sorted(r for r in rows if r[2]))])
        return CutSpans(spans=url, key=key((docs.key, "halves")), estimator="Halves", facts={"spans": len(rows)})

    def warm(self):
        """Nothing to compile."""


def columns(batch):
    return batch.column("id").to_pylist(), batch.column("text").to_pylist()


def test_cuts_are_read_through_and_kept_with_the_result(tmp_path):
    """A second Estimator sees the cut texts; nothing is saved in between; cuts and facts lie in the sealed folder."""
    docs = laws.dataset_of(tmp_path, ["abcdefgh", "", "ijklmnop", "q"], parts=2)
    out = Pipeline(Halves(), dp.Exact(), Halves()).run(docs, str(tmp_path / "out"), dp.tools.Serial())
    assert out.table().column("text").to_pylist() == ["gh", "", "op", "q"]
    assert [f["stage"] for f in out.manifest.fits] == ["Halves", "Exact", "Halves #2"]
    assert out.manifest.fits[0]["spans"] == 4
    assert out.manifest.saved == []
    cuts = out.cuts().to_pylist()
    assert [(c["id"] & 0xFF, c["start"], c["end"], c["duplicate_of"]) for c in cuts][:4] == [
        (0, 0, 4, 0), (0, 0, 2, 0), (2, 0, 4, 0), (2, 0, 2, 0)]  # fmt: skip
    assert out.stats[-1].cut == 4
    assert pq.read_table(f"{tmp_path}/out/cuts").num_rows == 4


def test_a_first_occurrence_may_be_unknown(tmp_path):
    """A filter that does not know who was first leaves `kept` empty."""
    url = str(tmp_path / "spans.parquet")
    assert write_spans(url, iter([spans_of([(1, 0, 2, NOBODY, 0, 0)]), spans_of([(3, 1, 2, 1, 7, 8)])])) == 2
    table = pq.read_table(url)
    assert table.schema.names == SPANS.names
    assert table.column("duplicate_of").to_pylist() == [None, 1]
    assert table.column("duplicate_of_start").to_pylist() == [None, 7]
    assert table.column("duplicate_of_end").to_pylist() == [None, 8]


def test_verdicts_may_be_streamed(tmp_path):
    """Tables in order of ids make one table; out of order is our own mistake."""
    row = {"reason": "x", "duplicate_of_dataset": None, "duplicate_of": None, "similarity": None}
    tables = [pa.Table.from_pylist([row | {"id": i}], schema=VERDICTS) for i in (3, 9)]
    assert write_verdicts(str(tmp_path / "v.parquet"), iter(tables)) == 2
    with pytest.raises(AssertionError, match="in order of ids"):
        write_verdicts(str(tmp_path / "w.parquet"), reversed(tables))


@pytest.mark.parametrize("broken", ["missing", "half", "other"])
def test_a_broken_table_says_so(tmp_path, broken):
    """A verdict table that is missing, half-written or another table is one sentence."""
    url = tmp_path / "v.parquet"
    write_verdicts(str(url), VERDICTS.empty_table())
    if broken == "missing":
        url.unlink()
    elif broken == "half":
        url.write_bytes(url.read_bytes()[:40])
    else:
        pq.write_table(pa.table({"id": pa.array([1], pa.uint64())}), url)
    stage = DropIds(verdicts=str(url), key="k", estimator="Twins")
    with pytest.raises(CorruptShard, match="as the verdict table that was written: "):
        list(stage(iter([laws.batch_of(["a"])]), None))


def test_keys_of_verdicts_know_the_table_and_not_its_place():
    """And what must be left; facts do not count."""
    some = [
        CutSpans(spans="a", key="k", estimator="E"),
        CutSpans(spans="a", key="l", estimator="E"),
        CutSpans(spans="a", key="k", estimator="F"),
        CutSpans(spans="a", key="k", estimator="E", min_remaining_chars=2),
        DropIds(verdicts="a", key="k", estimator="E"),
    ]
    assert len({key(one) for one in some}) == len(some)
    assert key(some[0]) == key(CutSpans(spans="b", key="k", estimator="E", facts={"n": 1}))
    assert (some[0].name, repr(some[0])) == ("E", "verdicts of E")


def test_spans_find_their_documents_in_any_order(tmp_path):
    """Ids of a batch need not ascend."""
    stage = stage_of(tmp_path, [(k, 0, k + 1, 9, 0, 1) for k in range(3)])
    batch = laws.batch_of(["abcd"] * 4).take(pa.array([2, 0, 3, 1]))
    assert [text for out in stage(iter([batch]), Ledger("E", quiet=True)) for text in out["text"].to_pylist()] == [
        "d", "bcd", "abcd", "cd",
    ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Names(Estimator):
    """Adds a column, and has a parameter."""

    n: int = 1
    adds: ClassVar[dict[str, pa.DataType]] = {"named": pa.string()}

    def fit(self, docs, runner, out):
        """Drop nothing."""
        return self.drop(docs, out, pa.table({"id": pa.array([], pa.uint64()), "reason": pa.array([], pa.string())}))


def test_the_key_of_an_estimator_is_that_of_its_work(tmp_path):
    """Parameters and documents; the table that it writes has it."""
    (tmp_path / "b").mkdir()
    docs, others = laws.dataset_of(tmp_path, ["a"]), laws.dataset_of(tmp_path / "b", ["b"])
    keys = {Names().key_for(docs), Names(n=2).key_for(docs), Names().key_for(others)}
    assert len(keys) == 3
    assert None not in keys
    assert Names().fit(docs, None, str(tmp_path)).key == Names().key_for(docs)
    with pytest.raises(PlanError, match=r"^Names adds named, which already exists; set annotate='another_'$"):
        Pipeline(Names(), Names()).plan(docs, str(tmp_path / "out"))
    assert [step.label for step in Pipeline(Names()).plan(docs, str(tmp_path / "out")).steps] == ["Names"]


@given(st.lists(st.tuples(st.text(max_size=5), st.booleans()), max_size=30), st.integers(0, 3))
def test_chosen_documents_are_those_of_arrow(rows, first) -> None:
    """Whatever neighbours are kept, also of a batch that is part of a longer one, with nulls and names of sources."""
    texts, keep = [text for text, _ in rows], np.array([is_kept for _, is_kept in rows], bool)
    columns = {"n": pa.array([None if len(t) == 2 else len(t) for t in texts], pa.int64()),
               "s": pa.array([None if len(t) == 1 else t for t in texts], pa.large_string())}  # fmt: skip
    batch = B.make(range(len(texts)), texts, "x", [f'{{"a": {k}}}' for k in range(len(texts))], columns)
    batch, keep = batch.slice(first), keep[first:]
    assert B.chosen(batch, keep).equals(batch.filter(pa.array(keep)))
    assert B.chosen(batch, keep).schema == batch.schema
