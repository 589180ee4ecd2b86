"""Part.pick: the documents with given ids, from any reader, with stages and in joined Datasets."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dataprep as dp
import laws
from dataprep.core.dataset import join_datasets
from dataprep.core.ledger import Ledger
from dataprep.core.reader import Slice, reader_of, recorded
from dataprep.errors import PlanError
from dataprep.read.json.reader import Jsonl


@pytest.fixture
def inputs(tmp_path):
    """JSON Lines, plain lines, and sealed Datasets of both, joined."""
    for k in range(4):  # files of one part
        lines = [json.dumps({"text": f"{k} {n}", "n": n}) + "\n" for n in range(7)]
        (tmp_path / f"a{k}.jsonl").write_text("".join(lines))
    (tmp_path / "b.txt").write_text("".join(f"b {n}\n" for n in range(5)))
    both = [dp.read(str(tmp_path / "a*.jsonl")), dp.read(str(tmp_path / "b.txt"), format="lines")]
    sealed = [dp.Pipeline().run(docs, out=str(tmp_path / f"sealed{k}")) for k, docs in enumerate(both)]
    return {"read": both[0], "lines": both[1], "joined": join_datasets(sealed)}


@pytest.mark.parametrize("kind", ["read", "lines", "joined", "with a stage"])
def test_pick_gives_the_documents_that_batches_gives(inputs, kind) -> None:
    """Every second document, the last, none and all: their columns are those that reading everything gives."""
    docs = inputs["read"].then(dp.Map(lambda text: text.upper())) if kind == "with a stage" else inputs[kind]
    assert kind != "read" or len(docs.tasks) == 1
    for part in docs.tasks:
        rows = [row for batch in part.batches() for row in batch.to_pylist()]
        for wanted in (rows[::2], rows[-1:], [], rows):
            ids = np.array([row["id"] for row in wanted], np.uint64)
            for columns in (["id", "text", "source", "meta"], ["text"]):
                found = [row for batch in part.pick(ids, columns) for row in batch.to_pylist()]
                assert found == [{name: row[name] for name in columns} for row in wanted]


def test_a_plain_reader_has_defaults():
    """It adds nothing, names nothing, reads one file from its start, and finds no single documents."""
    reader, piece = dp.Reader(), Slice("a.jsonl", 0)
    assert (dict(reader.adds), reader.named(piece), reader.companions("a")) == ({}, "", ())
    assert (reader.splits, reader.picks, reader.enters("a.jsonl"), reader.narrowed(["id"]) is reader) == (
        False, False, False, True,
    )  # fmt: skip
    assert reader.cuts("a.jsonl", 100, 10) == [(0, None, 100)]
    with pytest.raises(PlanError, match=r"a: Reader does not know the types of x, y; give columns="):
        reader.types_of("a", ("x", "y"))
    for call in (lambda: reader(piece, Ledger("read")), lambda: reader.pick(piece, np.array([1], np.uint64))):
        with pytest.raises(NotImplementedError):
            call()


def test_readers_come_back_from_json():
    """Those of this package; nothing else is imported, and what is no reader is none."""
    for reader in (Jsonl(text="a.b"), Jsonl(columns=(("a", "string"),))):
        record = json.loads(json.dumps(recorded(reader)))
        assert reader_of(record) == reader
    assert recorded(laws.Rows()) is None
    assert reader_of(None) is None
    for wrong in ({"module": "laws", "name": "Rows"}, {"module": "dataprep", "name": "Exact"},
                  {"module": "dataprep", "name": "no_such"}, {"module": "dataprep", "name": "read"}):  # fmt: skip
        assert reader_of({**wrong, "fields": {}}) is None
