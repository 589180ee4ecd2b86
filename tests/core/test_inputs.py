"""Dropped texts are read again from the input, as long as it is the same."""

from __future__ import annotations

import gzip
import json
import os

import pyarrow as pa
import pytest

import dataprep as dp
from dataprep.core.inputs import look_up
from dataprep.core.output.layout import ORIGIN
from dataprep.history import why
from dataprep.store import files

TEXTS = ["the first page of all", "a page", "a page", "سلام يا صاحبي", "سلام يا صاحبي", "the last page"]


def plain(place):
    """JSONL, which may be entered in the middle."""
    (place / "in.jsonl").write_text("\n".join(json.dumps({"text": text, "n": 1}) for text in TEXTS) + "\n")
    return str(place / "in.jsonl")


def starred(place):
    """A local name with three stars, which in a URL would stand for a secret."""
    return str((place / "in.jsonl").rename(place / "in***.jsonl")) if plain(place) else None


def remote(place):
    """JSONL in other storage."""
    plain(place)
    files.write_bytes("memory://inputs/in.jsonl", (place / "in.jsonl").read_bytes())
    return "memory://inputs/in.jsonl"


def packed(place):
    """JSONL that must be read from its beginning."""
    with gzip.open(place / "in.jsonl.gz", "wt") as f:
        f.write("\n".join(json.dumps({"text": text}) for text in TEXTS) + "\n")
    return str(place / "in.jsonl.gz")


def parquet(place):
    """Parquet, by rows."""
    pa.parquet.write_table(pa.table({"text": TEXTS}), place / "in.parquet", row_group_size=4)
    return str(place / "in.parquet")


@pytest.mark.parametrize("make", [plain, starred, remote, packed, parquet])
def test_a_text_that_no_step_saved_is_read_from_the_input(tmp_path, make):
    """Whatever the format, the dropped and the kept text are those of the file."""
    docs = dp.read({"pages": make(tmp_path)})
    out = str(tmp_path / "out")
    dp.Pipeline(dp.Exact()).run(docs, out=out)
    given = {row["id"]: row["text"] for row in docs.table(["id", "text"]).to_pylist()}
    drops = dp.open_dataset(out).drops().to_pylist()
    assert len(drops) == 2
    for row in drops:
        found = why.find_document(out, row["id"])
        assert (found["id"], found["text"], found["source"]) == (row["id"], given[row["id"]], "pages")
    assert {id_: look_up.document(out, id_)["text"] for id_ in given} == given
    assert look_up.document(out, 9 << 40) is None


def test_sealed_inputs_are_found_under_their_shifted_ids(tmp_path):
    """Of several sealed Datasets read together, the dropped text comes from the right one."""
    parts = []
    for name, texts in (("a", TEXTS[:3]), ("b", TEXTS[3:])):
        for n, some in enumerate((texts[:1], texts[1:])):
            (tmp_path / f"{name}{n}.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in some))
        parts.append(dp.Pipeline().run(dp.read(str(tmp_path / f"{name}*.jsonl")), out=str(tmp_path / name)))
    both = dp.read(parts)
    out = str(tmp_path / "out")
    dp.Pipeline(dp.Exact()).run(both, out=out)
    given = {row["id"]: row["text"] for row in both.table(["id", "text"]).to_pylist()}
    for row in dp.open_dataset(out).drops().to_pylist():
        assert why.find_document(out, row["id"])["text"] == given[row["id"]]


def test_a_changed_or_missing_input_is_not_used(tmp_path):
    """A file with other contents of the same size, or none, gives no text; nor does a reader from elsewhere."""
    url = plain(tmp_path)
    out = str(tmp_path / "out")
    dp.Pipeline(dp.Exact()).run(dp.read(url), out=out)
    gone = dp.open_dataset(out).drops().to_pylist()[0]["id"]
    assert why.find_document(out, gone) is not None
    text = (tmp_path / "in.jsonl").read_text()
    (tmp_path / "in.jsonl").write_text(text.replace("a page", "A page"))
    assert why.find_document(out, gone) is None
    (tmp_path / "in.jsonl").write_text(text)
    told = files.read_json(files.join(out, ORIGIN))
    told["readers"][0] = {"module": "subprocess", "name": "Popen", "fields": {"args": ["true"]}}
    files.write_json(files.join(out, ORIGIN), told)
    assert why.find_document(out, gone) is None
    os.unlink(files.join(out, ORIGIN))
    assert why.find_document(out, gone) is None


def test_a_large_file_is_not_read_from_its_beginning(tmp_path, monkeypatch):
    """A packed file over the limit gives no text, since each look would read all of it; a plain one does."""
    for make, there in ((packed, False), (plain, True)):
        out = str(tmp_path / make.__name__)
        dp.Pipeline(dp.Exact()).run(dp.read(make(tmp_path)), out=out)
        gone = dp.open_dataset(out).drops().to_pylist()[0]["id"]
        monkeypatch.setattr(look_up, "MAX_SCAN_BYTES", 10)
        assert (why.find_document(out, gone) is not None) == there


def shorter(text: str) -> str:
    """A map that changes what deduplication reads."""
    return text[2:]


def test_a_text_that_a_stage_had_changed_is_not_taken_from_the_input(tmp_path):
    """What was compared after a map is in the saved step; without it the text is gone, not another one shown."""
    out = str(tmp_path / "out")
    dp.Pipeline(dp.Map(shorter), dp.Exact()).run(dp.read(plain(tmp_path)), out=out)
    gone = dp.open_dataset(out).drops().to_pylist()[0]["id"]
    assert why.find_document(out, gone)["text"] == "page"
    files.remove(files.join(out, "steps"))
    assert why.find_document(out, gone) is None
