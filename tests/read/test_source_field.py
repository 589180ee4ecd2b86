"""Sources that a field names: in JSON Lines and Parquet, at any depth, in every table that is by source."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
from dataprep.errors import PlanError, ReadError
from dataprep.read import source_field

SETS = ["CC", "PubMed", "CC", "Books"]
ROWS = [
    {"text": str(i), "source": name.lower(), "meta": {"set": name, "in": {"n": i % 2}}, "n": i, "js": f'{{"a":"{i}"}}'}
    for i, name in enumerate(SETS)
]
ODD = {"text": "none", "source": "", "meta": {"set": None, "in": {"n": None}}, "n": None, "js": "no json"}
WANTED = {
    "source": ["cc", "pubmed", "cc", "books"], "meta.set": SETS, "meta.in.n": ["0", "1", "0", "1"],
    "n": ["0", "1", "2", "3"], "js.a": ["0", "1", "2", "3"],
}  # fmt: skip


def written(folder, kind: str, rows) -> str:
    """The rows as a file."""
    path = folder / f"file.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps({k: v for k, v in r.items() if k != "js"}) + "\n" for r in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    return str(path)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("field", WANTED)
@pytest.mark.parametrize("meta", [True, False])
def test_every_field(tmp_path, kind, field, meta) -> None:
    """The source is the field's value, as text; of a document without one, that of the file; meta is as before."""
    if (kind, field) == ("jsonl", "js.a"):
        pytest.skip("in JSON Lines, a string with JSON is a string")
    path = written(tmp_path, kind, [*ROWS, ODD])
    docs = dp.read(path, source=f"field:{field}", meta=meta)
    assert docs.table()["source"].to_pylist() == [*WANTED[field], "file"]
    assert docs.table().drop(["source"]) == dp.read(path, meta=meta).table().drop(["source"])
    assert dp.read({"web": path}, source=f"field:{field}")[4]["source"] == "web"
    if field == "n":
        lifted = dp.read(path, source="field:n", columns=["n"]).table()
        assert lifted["source"].to_pylist()[:4] == [str(n) for n in lifted["n"].to_pylist()[:4]]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_statistics_and_rules(tmp_path, kind) -> None:
    """Statistics are by these sources, documents without one are counted, and keep= chooses among them."""
    rows = [{"text": "same", "meta": {"set": name}} for name in SETS] + [{"text": "same", "meta": {"set": None}}]
    docs = dp.read(written(tmp_path, kind, rows), source="field:meta.set")
    done = dp.Pipeline(dp.Exact(keep="source:Books,CC")).run(docs, out=str(tmp_path / "out"))
    assert [row["source"] for row in done] == ["Books"]
    found = {name: n.docs for name, n in done.stats.stages[0].out.items()}
    assert found == {"CC": 2, "PubMed": 1, "Books": 1, "file": 1}
    assert done.stats.stages[0].counts == {"without_source": 1}
    other = dp.Pipeline().run(dp.read(written(tmp_path, kind, rows)), out=str(tmp_path / "other"))
    assert other.manifest.key != done.manifest.key


def test_one_source_a_document_is_no_source(tmp_path, monkeypatch) -> None:
    """A field with nearly as many values as there are documents is an error that says so."""
    monkeypatch.setattr(source_field, "MAX_SOURCES", 3)
    path = written(tmp_path, "jsonl", ROWS)
    with pytest.raises(ReadError, match=r"has over 3 values \('0', '1', '2' ...\); name a field that has few values"):
        dp.read(path, source="field:n").table()
    assert dp.read(path, source="field:meta").table()["source"].to_pylist() == ["file"] * 4


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("web", r"='web' must be \"field:NAME\" or .*; to name the source of files, write dp.read\({NAME: PATH}\)"),
        ("field:", "must be"),
        ("field:a..b", "must be"),
        ("field:text", "must differ from the text field"),
    ],
)
def test_other_words(tmp_path, source, says) -> None:
    """What names no field is one sentence."""
    for kind in ("jsonl", "parquet"):
        with pytest.raises(PlanError, match=says):
            dp.read(written(tmp_path, kind, ROWS), source=source)


def test_fields_that_do_not_exist(tmp_path, caplog) -> None:
    """A missing column of Parquet is an error; a field that the first records lack is a warning with the nearest."""
    for field, says in (("sorce", "mean 'source'"), ("meta.sett", "mean 'meta.set'"), ("meta", "name a field inside")):
        with pytest.raises(ReadError, match=says):
            dp.read(written(tmp_path, "parquet", ROWS), source=f"field:{field}").table()
    path = written(tmp_path, "jsonl", ROWS)
    dp.read(path, source="field:sorce")
    assert "a field 'sorce'; they have text, source, meta, n; did you mean 'source'?" in caplog.text
    caplog.clear()
    dp.read(path, source="field:meta.sett")
    assert "a field 'meta.sett'; they have text, source, meta, n; did you mean 'meta.set'?" in caplog.text
    caplog.clear()
    dp.read(path, columns=["metta"])
    dp.read(path, columns={"nn": "int64"})
    assert "field 'metta'" in caplog.text
    assert "field 'nn'" in caplog.text
    caplog.clear()
    dp.read(path, columns=["n"], source="field:source")
    assert not caplog.text


def test_sealed_datasets_have_their_columns(tmp_path) -> None:
    """A column that a sealed Dataset lacks, or a source for it, is one sentence."""
    done = dp.Pipeline().run(dp.read(written(tmp_path, "jsonl", ROWS), columns=["n"]), out=str(tmp_path / "out"))
    assert dp.read(done, columns=["n"]).count == 4
    with pytest.raises(PlanError, match="has no column 'nn'; it has id, text, source, meta, n"):
        dp.read(str(tmp_path / "out"), columns=["nn"])
    with pytest.raises(PlanError, match="source= needs files"):
        dp.read(str(tmp_path / "out"), source="field:n")
