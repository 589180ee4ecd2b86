"""Sources that keep= names and no document has: a warning, before the work if the sources are known."""

from __future__ import annotations

import pytest

import dataprep as dp
from dataprep.core.inputs.sources import sources_in, sources_of, warn_of_absent
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.stats import HIDDEN, Amount, StageStats, Stats


@pytest.mark.parametrize("how", ["files", "sealed", "field"])
def test_sources_that_do_not_exist(tmp_path, caplog, how) -> None:
    """The warning names the source and those that exist; if all exist, there is none."""
    (tmp_path / "web.jsonl").write_text('{"text": "a", "set": "web"}\n{"text": "a", "set": "books"}\n')
    (tmp_path / "books.jsonl").write_text('{"text": "a", "set": "web"}\n')
    given = {"source": "field:set"} if how == "field" else {}
    docs = dp.read(str(tmp_path / "*.jsonl"), **given)
    if how == "sealed":
        docs = dp.Pipeline().run(docs, out=str(tmp_path / "in"))
    assert sources_of(docs) == (None if how == "field" else {"web", "books"})
    dp.Pipeline(dp.Exact(keep="source:web, books")).run(docs, out=str(tmp_path / "right"))
    assert "names" not in caplog.text
    dp.Pipeline(dp.Exact(keep="source:nope,web")).run(docs, out=str(tmp_path / "wrong"))
    assert caplog.text.count("names nope, which no document has as its source; the sources are books, web") == 1


def test_ten_sources_are_named(caplog) -> None:
    """Of more, the message says that there are more; a rule of another kind names no sources."""
    for n in (10, 11):
        caplog.clear()
        known = [f"s{k:02}" for k in range(n)]
        warn_of_absent([dp.Exact(keep="source:x, s00,,y"), dp.Exact(keep="longest"), dp.Exact()], known)
        (record,) = caplog.records
        assert "names x, y, which no document has" in record.message
        assert record.message.endswith(", ".join(known[:10]) + (" ..." if n > 10 else ""))
    assert sources_of(Dataset(())) is None


def test_sources_may_be_unknown(tmp_path) -> None:
    """Of statistics without documents, of hidden ones, and of Datasets without a file."""
    assert sources_in(Stats()) is sources_in(Stats([StageStats("a")])) is None
    assert sources_in(Stats([StageStats("a", out={HIDDEN: Amount(1, 1), "b": Amount(1, 1)})])) is None
    last = StageStats("b", out={"web": Amount(1, 1)})
    assert sources_in(Stats([StageStats("a", out={"x": Amount(1, 1)}), last])) == {"web"}
    assert sources_of(Dataset(())) is None
