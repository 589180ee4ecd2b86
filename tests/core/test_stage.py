"""Filter, Map and DropIds."""

import functools
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from dataprep.core.inputs.removed import Removed
from dataprep.core.model.describe import describe, stated
from dataprep.core.model.documents import Documents
from dataprep.core.model.estimator import Estimator
from dataprep.core.model.function import Filter, Map
from dataprep.core.model.score import ScoredFilter
from dataprep.core.model.stage import Stage, n_hidden
from dataprep.core.model.tables import write_verdicts
from dataprep.core.model.verdict import DropIds
from dataprep.core.output.changes import spelled
from dataprep.core.run.passes import Pass
from dataprep.dedup.exact import Exact
from dataprep.errors import FunctionFailed, PlanError
from laws import apply, batch_of, books_balance, cuts, cuts_do_not_matter

ROWS = batch_of([{"text": f"text {i} " * (i % 4), "lang": "ar" if i % 2 else "fr"} for i in range(20)])


def empty(text):
    return "empty" if not text else None


def is_arabic(lang):
    return lang == "ar"


def test_filter_drops_with_the_reason_returned():
    """A str is a reason, False the function's name; parameters are columns by name."""
    rows, drops, _ = apply(Filter(empty), [ROWS])
    assert {d["id"] for d in drops} == {0, 4, 8, 12, 16}
    assert {d["reason"] for d in drops} == {"empty"}
    rows, drops, _ = apply(Filter(is_arabic), [ROWS])
    assert {r["lang"] for r in rows} == {"ar"}
    assert {d["reason"] for d in drops} == {"is_arabic"}
    assert Filter(is_arabic).needs == ("lang",)


def test_filter_refuses_other_answers():
    """A number is neither a reason nor a decision."""
    with pytest.raises(FunctionFailed, match="neither a reason"):
        apply(Filter(lambda text: 0.5, version="1"), [ROWS])


def test_map_rewrites_and_adds():
    """A str is the new text; a dict sets columns."""

    def shout(text):
        return text.upper()

    def words(text):
        return {"words": len(text.split())}

    rows, _, _ = apply(Map(shout), [ROWS])
    assert rows[3]["text"] == "TEXT 3 TEXT 3 TEXT 3 "
    rows, _, _ = apply(Map(words, adds={"words": pa.int32()}), [ROWS])
    assert [r["words"] for r in rows[:4]] == [0, 2, 4, 6]
    assert rows[3]["text"] == "text 3 text 3 text 3 "
    with pytest.raises(FunctionFailed, match="returned"):
        apply(Map(words), [ROWS])
    with pytest.raises(PlanError, match="which every batch has; adds= must name other columns"):
        Map(words, adds={"source": pa.string()})


def test_drop_ids_applies_verdicts(tmp_path, monkeypatch):
    """The verdict table names who goes and for whom; only the row groups of the id range are read."""
    monkeypatch.setattr("dataprep.core.model.tables.VERDICT_ROWS", 3)
    gone = np.array([1, 2, 5, 11, 13, 19, 400], np.uint64)
    table = {
        "id": gone[::-1],
        "reason": ["twin"] * 7,
        "duplicate_of_dataset": [None] * 7,
        "duplicate_of": [0] * 7,
        "similarity": [0.9] * 7,
    }
    url = str(tmp_path / "verdicts.parquet")
    write_verdicts(url, pa.table(table))
    stage = DropIds(verdicts=url, key="k", estimator="Twins")
    rows, drops, book = apply(stage, cuts(ROWS, [3]))
    assert [d["id"] for d in drops] == gone[:-1].tolist()
    assert {(d["stage"], d["duplicate_of"], round(d["similarity"], 2)) for d in drops} == {("Twins", 0, 0.9)}
    assert len(rows) == 20 - 6 == book.docs_out
    books_balance(stage, ROWS)
    cuts_do_not_matter(stage, ROWS, [2, 5])


@pytest.mark.parametrize(
    ("value", "text"),
    [(Path("a/b"), "a/b"), (len, "len"), (Decimal("1.5"), "1.5"), (empty, "empty"), (2**63, str(2**63)),
     (2**63 - 1, 2**63 - 1), (-(2**63), -(2**63)), (-(2**63) - 1, str(-(2**63) - 1)), (float("inf"), "inf"),
     (float("nan"), "nan"), (1.5, 1.5), (True, True), (None, None), (np.int8(3), 3), (np.float32(0.5), 0.5),
     ({"b", "a"}, ["a", "b"]), (("b", "a"), ["b", "a"]), ({1: {2}}, {"1": [2]}), (np.arange(2), [0, 1]),
     ("\udc80", "\\udc80"), ("s3://me:secret@host/a", "s3://***@host/a")],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_values_are_stated_in_json(value, text):
    """As they are if JSON has them, else as text; equal values have equal types."""
    assert (stated(value), type(stated(value))) == (text, type(text))


def test_a_stage_without_printed_fields_states_its_repr():
    """Its fields may be private."""

    class Quiet(Filter):
        """Has a repr of its own."""

        def __repr__(self):
            return "Quiet(...)"

    found = describe(Quiet(empty))
    assert (found["fields"], found["shown"], found["label"]) == ({}, "Quiet(...)", Quiet(empty).name)
    assert describe(Filter(empty), "mine") == describe(Filter(empty)) | {"label": "mine"}
    assert spelled(describe(Quiet(empty))) == "Quiet(...)"
    exact = describe(Exact(unit="line"))
    assert "shown" not in exact
    assert spelled(exact).startswith("Exact(unit='line', normalize='c4', ")


class Compiled(Stage):
    """Notes the batches that it gets."""

    compiled = True
    needs = ("lang", "site")

    def __call__(self, batches, stats):
        """Keep all."""
        for batch in batches:
            seen.append(batch)
            stats.drop([99], "not received")  # of a quiet ledger
            yield batch


seen: list = []


def test_a_compiled_stage_is_made_ready():
    """By two short documents in two scripts, with the columns that it needs; another stage by nothing."""
    seen.clear()
    Compiled().warm()
    (batch,) = seen
    assert (batch.num_rows, batch.schema.names) == (2, ["id", "text", "source", "meta", "lang", "site"])
    assert [text.isascii() for text in batch.column("text").to_pylist()] == [True, False]
    assert batch.column("site").to_pylist() == ["", ""]
    assert Stage().warm() is None
    with pytest.raises(NotImplementedError):
        Stage()(iter([]), None)


def test_plain_members_of_a_stage():
    """A stage needs, adds, hides and searches nothing unless it says so; the last that hides counts."""
    stage, hiding = Stage(), type("Hiding", (Stage,), {"hides": True})()
    assert (stage.name, stage.needs, dict(stage.adds), stage.sees, dict(stage.loses)) == ("Stage", (), {}, (), {})
    assert (stage.only_drops, stage.hides, stage.compiled, stage.VERSION, stage.secrets()) == (False,) * 3 + (1, None)
    rows = ([], [stage], [hiding], [hiding, stage], [hiding, stage, hiding, stage])
    assert [n_hidden(one) for one in rows] == [0, 0, 1, 1, 3]


def never():
    """Drop every document."""
    return False


def test_a_function_without_parameters():
    """It is called for each row; an empty batch is no call."""
    rows, drops, _ = apply(Filter(never), [ROWS, ROWS.slice(0, 0)])
    assert (rows, {d["reason"] for d in drops}, len(drops)) == ([], {"never"}, 20)
    assert apply(Filter(never), [batch_of([])])[1] == []


ANSWERS = [(None, None), (True, None), (np.True_, None), ("why", "why"), (False, "rule"), (np.False_, "rule")]


@pytest.mark.parametrize(("answer", "reason"), ANSWERS, ids=repr)
def test_answers_of_a_filter(answer, reason):
    """None and True keep, False drops by the function's name, a word by itself."""

    def rule(text):
        return answer

    _, drops, _ = apply(Filter(rule, version="1"), [batch_of(["a"])])
    assert [d["reason"] for d in drops] == ([] if reason is None else [reason])


@pytest.mark.parametrize("answer", ["", 0, 1, [], 0.5], ids=repr)
def test_other_answers_of_a_filter_are_named(answer):
    """With the document and the beginning of its text."""
    with pytest.raises(FunctionFailed) as e:
        apply(Filter(lambda text: answer, version="1"), [batch_of(["ab" * 99], 7)])
    assert str(e.value) == (
        f"Filter(lambda) returned {answer!r}, which is neither a reason (str) or False, to drop it, nor None or True, "
        f"to keep it, for document 0:7 ({('ab' * 30)!r}); correct it and run again; finished work is kept"
    )


def given(answer, text):
    """Return what is given."""
    return answer


def test_answers_of_a_map():
    """Text, columns or both; without the text, it stays; a column that is not given is null."""

    def some(text):
        return {"a": {"n": 1}, "b": {"text": "B"}, "c": {"text": "C", "n": 3}, "d": {}}[text]

    rows, _, _ = apply(Map(some, adds={"n": pa.int8()}, version="1"), [batch_of(list("abcd"))])
    assert [(row["text"], row["n"]) for row in rows] == [("a", 1), ("B", None), ("C", 3), ("d", None)]
    for wrong in ({"m": 1}, None, 5, ["a"]):
        stage = Map(functools.partial(given, wrong), adds={"n": pa.int8()}, version="1")
        with pytest.raises(FunctionFailed) as e:
            apply(stage, [batch_of(["a"])])
        says = f"returned {wrong!r}, which is neither the new text (str) nor a dict of ['n', 'text'], for document 0:0"
        assert says in str(e.value)
    with pytest.raises(PlanError, match="adds id, text, which every batch has; adds= must name other columns"):
        Map(some, adds={"text": pa.string(), "id": pa.int8(), "n": pa.int8()})
    with pytest.raises(FunctionFailed, match=r"Map\(lambda\) returned '9{79}, which is not of type int8"):
        apply(Map(lambda text: {"n": "9" * 99}, adds={"n": pa.int8()}, version="1"), [batch_of(["a"])])
    with pytest.raises(FunctionFailed, match=r"Filter\(lambda\) returned .*, which has a lone surrogate"):
        apply(Filter(lambda text: "\ud800", version="1"), [batch_of(["a"])])


@pytest.mark.parametrize("kind", [Filter, Map])
def test_what_is_no_function_is_refused_at_once(kind):
    """Before any work."""
    for wrong in ("text", None):
        with pytest.raises(PlanError, match=f"{kind.__name__} must be given a function, not {wrong!r}"):
            kind(wrong)


BASES = {
    "count": lambda: Documents().count, "batches": lambda: Documents().batches(),
    "counted": lambda: Documents()._is_counted, "fit": lambda: Estimator().fit(None, None, ""),
    "write": lambda: Pass("", "").write("", 1), "scores": lambda: ScoredFilter().scores,
    "score": lambda: ScoredFilter().score(ROWS), "decide": lambda: ScoredFilter().decide({}),
    "chosen": lambda: Removed(None, "", ())._chosen(ROWS, None),
}  # fmt: skip


@pytest.mark.parametrize("what", BASES)
def test_what_a_subclass_must_define(what):
    """Is not there without it; what has a default is."""
    with pytest.raises(NotImplementedError):
        BASES[what]()
    assert ScoredFilter().measure is Estimator().warm() is None
    assert ScoredFilter.only_drops
    assert (Estimator().name, Estimator().needs, dict(Estimator().adds)) == ("Estimator", (), {})
    assert not Estimator().only_drops
    assert Estimator().reads_folders == ()
    assert (Estimator.VERSION, Estimator.only_drops, Estimator.hides, Estimator().sees) == (1, False, False, ())
    assert Removed(None, "", ()).recipe() == (None, "")
