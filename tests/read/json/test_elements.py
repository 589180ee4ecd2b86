"""JSON arrays and pretty-printed objects: the same documents as the same records as JSON Lines."""

from __future__ import annotations

import gzip
import json
import random
import tracemalloc

import pytest

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read import text as plain_text
from dataprep.read.json import stream as json_stream
from dataprep.read.json.elements import Json
from dataprep.read.survey import survey

ROWS = [{"text": f'a "quoted" [{n}] {{x}}, \\ \u00e9', "n": n, "in": {"list": [1, {"b": "]"}]}} for n in range(50)]


def forms(rows):
    """The same records in every form that people write."""
    return {
        "array": json.dumps(rows), "indented": json.dumps(rows, indent=2), "tabs": json.dumps(rows, indent="\t"),
        "flat": json.dumps(rows, indent=0), "objects": "\n".join(json.dumps(row, indent=4) for row in rows),
        "commas": ",\n".join(json.dumps(row, indent=4) for row in rows), "mark": "\ufeff" + json.dumps(rows, indent=1),
        "arrays": "\n".join(json.dumps(rows[k : k + 10]) for k in range(0, 50, 10)),
        "windows": json.dumps(rows, indent=2).replace("\n", "\r\n"),
    }  # fmt: skip


@pytest.mark.parametrize("form", sorted(forms(ROWS)))
@pytest.mark.parametrize("block", [100, 1 << 20])
def test_every_form_has_the_documents_of_json_lines(tmp_path, monkeypatch, form, block) -> None:
    """Texts, meta, columns and sources are those of the records as JSON Lines; positions are byte offsets."""
    monkeypatch.setattr(plain_text, "BLOCK", block)
    monkeypatch.setattr(json_stream, "BLOCK", block)
    path = tmp_path / "a.json"
    path.write_bytes(forms(ROWS)[form].encode())
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    options = {"columns": ["n"], "source": "field:n"}
    found, twin = (dp.read(str(tmp_path / name), **options).to_arrow() for name in ("a.json", "a.jsonl"))
    assert found.drop(["id", "meta"]).equals(twin.drop(["id", "meta"]))
    assert [json.loads(m) for m in found["meta"].to_pylist()] == [json.loads(m) for m in twin["meta"].to_pylist()]
    data = path.read_bytes()
    assert {data[at : at + 1] for at in found["id"].to_pylist()} == {b"{"}
    assert survey(str(path)).groups[0].formats == {"json": 1}


def test_json_lines_stay_json_lines(tmp_path) -> None:
    """A .json file of one object per line, also of one only, is as before; so is one whose lines are arrays."""
    for text in ('{"text": "a"}\n{"text": "b"}\n', '{"text": "a"}'):
        (tmp_path / "a.json").write_text(text)
        assert survey(str(tmp_path / "a.json")).groups[0].formats == {"jsonl": 1}


def test_an_array_inside_an_object(tmp_path) -> None:
    """records_in= names it; its elements are the documents."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"version": 1, "data": ROWS}))
    docs = dp.read(str(path), format="json", records_in="data")
    assert docs.to_arrow()["text"].to_pylist() == [row["text"] for row in ROWS]
    with pytest.raises(ReadError, match="no array has the name given as records_in="):
        dp.read(str(path), format="json", records_in="rows").table()


@pytest.mark.parametrize("form", ["array", "indented", "objects"])
def test_a_truncated_file_is_one_sentence(tmp_path, form) -> None:
    """The records before the end are kept if bad files are skipped."""
    data = forms(ROWS)[form].encode()
    (tmp_path / "a.json").write_bytes(data[: 2 * len(data) // 3])
    with pytest.raises(ReadError, match=r"a\.json, byte [\d,]+: the file ends inside an (array|object)"):
        dp.read(str(tmp_path / "a.json")).table()
    docs = dp.Pipeline().run(dp.read(str(tmp_path / "a.json"), on_bad_file="skip"), out=str(tmp_path / "out"))
    assert docs.count > 20
    assert docs.unread()["reason"].to_pylist() == ["unreadable"]


def test_bad_records_are_dropped(tmp_path) -> None:
    """Elements that are no objects, have no text, are not UTF-8 or not JSON, such as a line end in a string."""
    bad = [b"7", b'{"n": 1}', b'{"text": "\xff"}', b'{"text": "a\nb"}', b'{"text": 1,}']
    (tmp_path / "a.json").write_bytes(b"[" + b",".join([*[b'{"text": "good"}'] * 9, *bad]) + b"]")
    done = dp.Pipeline().run(dp.read(str(tmp_path / "a.json"), max_bad=1), out=str(tmp_path / "out"))
    assert done.count == 9
    assert done.stats[0].reasons == {"not_an_object": 1, "no_text": 1, "invalid_utf8": 1, "not_json": 2}
    (tmp_path / "b.json").write_text('[{"body": "x"}]')
    with pytest.raises(ReadError, match=r"no text in an object with the fields body.*text="):
        dp.read(str(tmp_path / "b.json")).table()


def test_memory_is_bounded(tmp_path) -> None:
    """An element that is far too long is dropped without being held."""
    path = tmp_path / "a.json.gz"
    with gzip.open(path, "wb", compresslevel=1) as f:
        f.write(b'[{"text": "first"}, {"text": "')
        for _ in range(96):
            f.write(b"x" * (1 << 20))
        f.write(b'"}, {"text": "last"}]')
    reader, ledger = Json(max_doc_bytes=4 << 20), Ledger("read", source="s")
    reader.warm()
    tracemalloc.start()
    try:
        texts = [text for batch in reader(Slice(str(path), 0), ledger) for text in batch.column("text").to_pylist()]
        assert tracemalloc.get_traced_memory()[1] < 60 << 20
    finally:
        tracemalloc.stop()
    assert texts == ["first", "last"]
    assert ledger.drop_table()["reason"].to_pylist() == ["too_long"]


def test_a_random_array(tmp_path) -> None:
    """Texts of brackets, quotes and escapes, in random order."""
    draw = random.Random(3)
    rows = [{"text": "".join(draw.choices('[]{}",\\:\n aé', k=draw.randrange(30)))} for _ in range(300)]
    for name, text in (("a", json.dumps(rows)), ("b", "\n".join(json.dumps(row, indent=1) for row in rows))):
        (tmp_path / f"{name}.json").write_text(text)
        assert dp.read(str(tmp_path / f"{name}.json")).to_arrow()["text"].to_pylist() == [row["text"] for row in rows]
