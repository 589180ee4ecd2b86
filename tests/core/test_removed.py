"""`dropped()` and `cut_texts()`: what a Pipeline removed, as Datasets."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
from dataprep.core.inputs.removed import split
from dataprep.core.output.forget_list import write_list
from dataprep.errors import PlanError, ReadError
from dataprep.history.why import text_as_read

TEXTS = [
    "one two three", "a line\nfour", "one two three", "four short", "a line\nfive\nsix é", "five\nseven\na line",
    "x", "x.",
]  # fmt: skip


def no_short(text: str) -> str | None:
    """Drop one document."""
    return "too_short" if text == "four short" else None


def louder(text: str) -> str:
    """Change every text."""
    return text + "!"


@pytest.fixture
def docs(tmp_path) -> dp.Dataset:
    """Two files, with a record that is none."""
    for name, texts in (("a", TEXTS[:3]), ("b", TEXTS[3:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": t, "n": 1}) + "\n" for t in texts))
    return dp.read([str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")], columns={"n": "int64"})


@pytest.mark.parametrize("sealed", [False, True])
def test_dropped_documents_are_a_dataset(docs, tmp_path, sealed) -> None:
    """Every row of the drop tables has its text, also where later stages changed texts; it is written and run again."""
    first = dp.Pipeline().run(docs, str(tmp_path / "first")) if sealed else docs
    done = dp.Pipeline(dp.Filter(no_short), dp.Map(louder), dp.Exact()).run(first, str(tmp_path / "out"))
    dropped = done.dropped()
    rows = dropped.take(9)
    assert [(row["text"], row["stage"], row["reason"], row["n"]) for row in rows] == [
        ("one two three", "Exact", "duplicate", 1), ("four short", "no_short", "too_short", 1)
    ]  # fmt: skip
    facts = [{k: v for k, v in row.items() if k in done.drops().column_names} for row in rows]
    assert facts == sorted(done.drops().drop_columns("bytes").to_pylist(), key=lambda row: row["id"])
    own = ["stage", "reason", "duplicate_of_dataset", "duplicate_of", "similarity", "value", "label"]
    assert dropped.columns == ["id", "text", "source", "meta", "n", *own]
    dropped.write(str(tmp_path / "dropped.jsonl"))
    assert len((tmp_path / "dropped.jsonl").read_text().splitlines()) == 2
    assert pickle.loads(pickle.dumps(dropped)).take(9) == rows
    again = dp.Pipeline(dp.Exact()).run(dropped, str(tmp_path / "again"))
    assert again.table().to_pylist() == rows
    with pytest.raises(ReadError, match="it was read by a custom reader"):
        again.dropped()


def test_cut_texts_are_a_dataset(docs, tmp_path) -> None:
    """The bytes that `cuts()` names, of the text that the stage read: after other cuts, and after a saved pass."""
    stages = (dp.Exact(unit="line"), dp.SuffixArray(min_bytes=4), dp.Map(louder), dp.Exact(unit="paragraph"))
    run = tmp_path / "run"
    first = dp.Pipeline().run(docs, str(run / "first"))
    done = dp.Pipeline(*stages).run(first, str(run / "out"))
    lines = done.cut_texts("Exact(line)")
    assert [(row["text"], row["stage"]) for row in lines] == [
        ("one two three", "Exact(line)"), ("a line\n", "Exact(line)"), ("five\n\n\na line", "Exact(line)")
    ]  # fmt: skip
    saved = str(next((run / "out").glob("steps/04-*/input")))
    folders = {"Exact(line)": saved, "SuffixArray": saved, "Exact(paragraph)": done.url}
    for stage, folder in folders.items():
        spans: dict[int, list] = {}
        for row in done.cuts().to_pylist():
            spans.setdefault(row["id"], []).extend([(row["start"], row["end"])] * (row["stage"] == stage))
        texts = {i: text_as_read(str(run), i, folder, stage) for i, of in spans.items() if of}
        wanted = {i: b"\n".join(split(text, spans[i])[1]).decode() for i, text in texts.items()}
        assert {row["id"]: row["text"] for row in done.cut_texts(stage)} == wanted != {}
    again = dp.Pipeline().run(lines, str(tmp_path / "lines"))
    assert again.table().to_pylist() == lines.table().to_pylist()
    one = dp.Pipeline(dp.Exact(unit="line")).run(docs, str(tmp_path / "one"))
    assert [row["text"] for row in one.cut_texts()] == [row["text"] for row in lines]
    assert one.cut_texts().columns == ["id", "text", "source", "meta", "n", "stage"]
    write_list(one.url, np.array([row["id"] for row in lines][:1], np.uint64))
    assert [row["text"] for row in one.cut_texts()] == [row["text"] for row in lines][1:]  # forgotten
    with pytest.raises(PlanError, match="stage='C4' must be one of the stages that cut texts: 'Exact'"):
        one.cut_texts("C4")


def test_pieces_are_those_of_a_mask() -> None:
    """Ranges that overlap, touch, or are inside of others."""
    data = b"0123456789"
    for spans in ([], [(0, 3), (2, 5)], [(4, 6), (1, 2), (2, 4)], [(0, 10), (3, 4)], [(7, 9), (1, 3), (1, 2)]):
        outside, inside = split(data, spans)
        gone = {i for a, b in spans for i in range(a, b)}
        assert b"".join(outside) == bytes(c for i, c in enumerate(data) if i not in gone)
        assert b"".join(inside) == bytes(c for i, c in enumerate(data) if i in gone)
        assert len(inside) == sum(i in gone and i - 1 not in gone for i in range(10))


def test_what_cannot_be_read_is_one_sentence(docs, tmp_path) -> None:
    """An input that moved or changed, a Dataset that was not sealed; forgotten documents stay away."""
    done = dp.Pipeline(dp.Exact()).run(docs, str(tmp_path / "out"))
    with pytest.raises(PlanError, match="only a sealed Dataset"):
        docs.dropped()
    with pytest.raises(PlanError, match="only a sealed Dataset"):
        done.then(dp.Filter(no_short)).cut_texts()
    with pytest.raises(PlanError, match="there is none"):
        done.cut_texts()
    path = Path(tmp_path / "b.jsonl")
    path.write_text(path.read_text().replace("short", "other"))
    with pytest.raises(ReadError, match="has changed; restore the original file"):
        done.dropped()
    path.unlink()
    with pytest.raises(ReadError, match="is missing; restore the original file"):
        done.dropped()
    (tmp_path / "out" / "origin.json").unlink()
    with pytest.raises(ReadError, match="the input files are not known"):
        dp.open_dataset(done.url).dropped()


def test_three_stars_in_a_local_name_are_no_secret(tmp_path) -> None:
    """As they are in a URL, where they stand for one: the file is read again, and its types are known."""
    place = tmp_path / "a***.parquet"
    pq.write_table(pa.table({"text": ["a", "a"], "n": pa.array([1, 2], pa.int8())}), place)
    done = dp.Pipeline(dp.Exact()).run(dp.read(str(place)), str(tmp_path / "out"))
    assert [row["text"] for row in done.dropped()] == ["a"]
    assert done.to_arrow(restore=True).schema.field("n").type == pa.int8()


def test_files_that_the_run_skipped_do_not_stop_it(tmp_path):
    """An empty file, and one that is cut off, also if no document was dropped; a file that is lost later does."""
    rows = "".join(f'{{"text": "words {i % 900}"}}\n' for i in range(1_000))
    packed = gzip.compress(rows.encode())
    (tmp_path / "a.jsonl").write_text(rows)
    (tmp_path / "b.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "c.jsonl").write_text("")
    docs = dp.read(str(tmp_path / "*.jsonl*"), on_bad_file="skip")
    run = dp.Pipeline(dp.Exact()).run(docs, str(tmp_path / "run"))
    assert run.dropped().count == len(run.drops()) >= 100
    lines = dp.Pipeline(dp.Exact(unit="line")).run(docs, str(tmp_path / "lines"))
    assert lines.cut_texts().count == len(lines.cuts())
    assert dp.Pipeline().run(docs, str(tmp_path / "all")).dropped().count == 0
    (tmp_path / "b.jsonl.gz").unlink()
    with pytest.raises(ReadError, match="missing"):
        run.dropped()
