"""An ordinary run after a killed `forget` leaves the forgotten texts out, or says in one sentence what to do."""

from __future__ import annotations

import re

import pytest

import dataprep as dp
from dataprep.core.output import forget_list
from dataprep.errors import StaleOutput
from fixtures.erased import stripped, traces
from killed import kills
from laws import dataset_of

WORD = "Заплата"
TEXTS = [f"document {n} of a corpus with words {n * 7}{f' {WORD}' * (n == 3)}" for n in range(12)]


def steps_of(home, tmp_path, *, replace=False):
    """Return the steps of a run, in their order; each is a function that makes a result, and returns it."""
    docs = dataset_of(tmp_path, TEXTS)
    clean, again = (str(home / name) for name in ("clean", "again"))
    tok = dp.Tokenizer.of_bytes()
    return [
        lambda: dp.Pipeline(dp.Map(stripped), dp.Exact()).run(docs, clean, replace=replace),
        lambda: dp.Pipeline(dp.Exact(unit="line")).run(dp.open_dataset(clean), again, replace=replace),
        lambda: dp.encode(dp.open_dataset(again), tok, str(home / "shards"), val=0.3, replace=replace),
        lambda: dp.tools.SuffixIndex.build(dp.open_dataset(again), str(home / "index"), replace=replace),
    ]


def done_as_told(step, replacing) -> bool:
    """Run a step; if it says what to do, do that; return whether it did not end at once."""
    try:
        step()
    except StaleOutput as e:
        told = re.search(r"`dataprep forget (\S+)`|replace=True", str(e))
        if told is None:
            raise
        if told[1] is None:
            replacing()
        else:
            dp.tools.forget(told[1])
            step()
        return True
    return False


@pytest.mark.parametrize("replace", [False, True])
def test_at_a_dozen_moments(tmp_path, monkeypatch, replace) -> None:
    """Once the first forget list is there, no file of the run has the text after its steps were run again."""
    made, home = tmp_path / "made", tmp_path / "run"
    for step in steps_of(home, tmp_path):
        step()
    home.rename(made)
    ids = [int(row["id"]) for row in dataset_of(tmp_path, TEXTS) if WORD in row["text"]]
    told = tried = 0
    for at in kills(monkeypatch, made, home, lambda: dp.tools.forget(str(home), ids, of="clean"), step=9):
        begun = (home / "clean" / "forget.parquet").exists()
        steps = [steps_of(home, tmp_path, replace=one) for one in (replace, True)]
        told += sum(done_as_told(*both) for both in zip(*steps, strict=True))
        assert bool(traces(home, [WORD])) != begun, at
        dp.tools.forget(str(home), ids, of="clean")
        assert traces(home, [WORD]) == [], at
        tried += 1
    assert tried >= 12
    assert bool(told) != replace


def test_an_index_of_forgotten_documents_is_stale(tmp_path) -> None:
    """One that `forget` did not find, and one of documents that are on the list and not yet removed."""
    clean = dp.Pipeline().run(dataset_of(tmp_path, TEXTS), str(tmp_path / "clean"))
    index = dp.tools.SuffixIndex.build(clean, str(tmp_path / "index"))
    assert index.count(WORD) == 1
    forget_list.write_list(str(tmp_path / "clean"), [hit.id for hit in index.find(WORD)])
    assert dp.tools.SuffixIndex.build(clean, str(tmp_path / "other")).count(WORD) == 0
    says = r"index may contain were forgotten since .*: build it again with replace=True$"
    with pytest.raises(StaleOutput, match=says):
        dp.tools.SuffixIndex.build(clean, str(tmp_path / "index"))
    assert dp.tools.SuffixIndex.build(clean, str(tmp_path / "index"), replace=True).count(WORD) == 0
    assert traces(tmp_path / "index", [WORD]) == []
    assert dp.tools.SuffixIndex.build(clean, str(tmp_path / "index")).manifest.docs == len(TEXTS) - 1
    assert dp.tools.verify(str(tmp_path / "index")) == {str(tmp_path / "index"): []}
