"""`dataprep init`: what it writes for a folder fits the folder, and runs."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import itertools
import json
import os
import shutil
import sqlite3
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
from dataprep import pipeline_file
from dataprep.core.run.runner import Serial
from dataprep.core.run.trial import Trial
from dataprep.errors import PlanError, ReadError
from dataprep.history.clusters import find_clusters
from dataprep.history.run_summary import summarize, totals
from dataprep.read.survey import survey
from dataprep.store import files
from opened import open_all

WORDS = ("river", "stone", "harbour", "lantern", "winter", "orchard", "letter", "bridge", "candle", "window", "garden")


def text_of(n):
    """A few sentences, different for every n."""
    some = [WORDS[(n * k + k) % len(WORDS)] for k in range(1, 13)]
    pairs = itertools.pairwise(some)
    return "\n".join(f"The {a} of the year {n} was near the {b}, and we saw it." for a, b in pairs)


def write_lines(path, rows):
    """Write JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def fill(kind, place, samples):
    """Fill a folder with files of one kind; returns a text that the pipeline file must have."""
    place.mkdir(exist_ok=True)
    if kind == "chats":
        shutil.copy(samples / "whatsapp_ios.txt", place)
        shutil.copytree(samples / "chats" / "signal", place / "signal")
        return "dp.chats.Pseudonyms()"
    if kind == "jsonl":
        write_lines(place / "a.jsonl", [{"title": "x" * 9, "content": text_of(n)} for n in range(30)])
        return "text='content'"
    if kind == "warc":
        shutil.copy(samples / "crawl.warc.gz", place)
        return "one for each page"
    if kind == "parquet":
        pq.write_table(pa.table({"id": list(range(30)), "text": [text_of(n) for n in range(30)]}), place / "a.parquet")
        return "one for each row"
    for n in range(24):
        (place / f"{n}.txt").write_text(text_of(n))
    return "one for each file"


LANGS = ("hi", "ta", "ur")


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (lambda n: {"lang": "hi", "message": {"body": text_of(n)}}, "message.body"),
        (lambda n: {"lang": LANGS[n % 3], "data": {"of": {"raw": f"word {n}"}}}, "data.of.raw"),
        (lambda n: {"content": "article", "note": f"note {n}"}, "note"),
        (lambda n: {"link": "https://" + "x" * 99 + str(n), "data": {"text": f"word {n}"}}, "data.text"),
        (lambda n: {"meta": {"text": "long " * 99}, "body": f"word {n}"}, "body"),
        (lambda _n: {"lang": "hi", "kind": "chat"}, "kind"),
    ],
    ids=["nested", "deep", "label", "usual-nested", "top-level", "labels-only"],
)
def test_the_field_of_the_text_may_be_nested_and_is_no_label(record, field, tmp_path):
    """A field inside an object is named as `text=` takes it; one of few short values is taken if no other is left."""
    rows = [record(n) for n in range(40)]
    write_lines(tmp_path / "in" / "a.jsonl", rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in" / "b.parquet")
    (group,) = survey(str(tmp_path / "in")).groups
    assert (group.text, group.formats) == (field, {"jsonl": 1, "parquet": 1})


def test_a_text_in_a_list_is_no_field_and_said(tmp_path, dataprep, monkeypatch):
    """Chats as lists of messages are left out with what takes them, and an id beside them is not the text."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"a{n}", "messages": [{"role": "user", "content": text_of(n)}]} for n in range(20)]
    write_lines(tmp_path / "in" / "a.jsonl", rows)
    code, _, err = dataprep("init", "in")
    assert (code, "(text_in_list); `dataprep train` takes JSON Lines of chats" in err) == (1, True), err
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in" / "b.parquet")
    deep = json.loads("[" * 900 + '"one"' + "]" * 900)
    others = [{"text": text_of(n), "tags": ["long tag"] * 99, "deep": deep} for n in range(20)]
    write_lines(tmp_path / "in" / "c.jsonl", others)
    assert survey("in").left_out == {"in/a.jsonl": "text_in_list", "in/b.parquet": "text_in_list"}


@pytest.mark.parametrize(
    ("record", "written"),
    [
        (lambda n: {"id": f"a{n}", "message": {"body": text_of(n)}}, "text='message.body'"),
        (lambda n: {"id": f"a{n}", "messages": [text_of(n)]}, ""),
    ],
    ids=["struct", "list"],
)
def test_the_field_of_a_saved_data_set(record, written, tmp_path, monkeypatch):
    """A folder of `save_to_disk` is looked into, as files are."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.chdir(tmp_path)
    datasets.DatasetDict(train=datasets.Dataset.from_list([record(n) for n in range(20)])).save_to_disk("in")
    if not written:
        with pytest.raises(PlanError, match="in has no column of texts; `dataprep train` takes JSON Lines of chats"):
            survey("in")
        return
    init = importlib.import_module("dataprep.cli.init")  # the package has the function under this name
    monkeypatch.setattr(init, "find_spec", lambda _: None)  # languages take seconds
    text = init.written("in", survey("in"), "pipeline.py")
    assert written in text
    assert "in a sample of 20 documents" in text


@pytest.mark.parametrize("kind", ["chats", "jsonl", "warc", "parquet", "text"])
def test_the_file_for_a_folder_runs(kind, tmp_path, samples, dataprep, monkeypatch):
    """The file that init writes fits the folder; all its steps but the report run, and documents become tokens."""
    if kind == "warc":
        pytest.importorskip("fastwarc")
    monkeypatch.chdir(tmp_path)
    expected = fill(kind, tmp_path / "data", samples)
    code, out, err = dataprep("init", "data", "--out", "mine.py")
    assert code == 0, err
    assert "wrote mine.py" in out
    assert "nothing is written" not in out, "it writes the file"
    assert max(map(len, (tmp_path / "mine.py").read_text().split("\n"))) <= 120
    text = (tmp_path / "mine.py").read_text()
    assert expected in text
    assert [p.name for p in tmp_path.iterdir() if p.name != "data"] == ["mine.py"], "nothing else is written"
    if kind == "jsonl":  # the dry run ran the others, which are smaller than its sample
        done = {d.name: d.result for d in pipeline_file.execute(pipeline_file.load("mine.py"), "out", Serial())}
        assert done["encode"].n_tokens > 100
        assert (tmp_path / "out/report/report.html").exists()


def test_a_mixed_folder_has_a_step_for_each_kind(tmp_path, samples, dataprep, monkeypatch):
    """Chats, two fields of texts and text files are read in steps of their own, and joined before the tokenizer."""
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    for kind in ("chats", "jsonl", "text"):
        fill(kind, data, samples) if kind == "chats" else fill(kind, data / kind, samples)
    write_lines(data / "b.jsonl", [{"text": text_of(n)} for n in range(40, 60)])
    write_lines(data / "numbers.jsonl", [{"n": n} for n in range(3)])
    (data / "signal" / "photo.jpg").write_bytes(b"\xff\xd8")
    code, out, err = dataprep("init", "data")
    assert code == 0, err
    assert "left out, no_text: 1 (data/numbers.jsonl)" in out
    assert "left out, unknown_type: 1 (data/signal/photo.jpg)" in out
    found = survey("data")
    assert [(g.chats, g.text, g.paths) for g in found.groups] == [
        (True, "text", ["data/signal", "data/whatsapp_ios.txt"]),
        (False, "text", ["data/text", "data/b.jsonl"]),
        (False, "content", ["data/jsonl"]),
    ]
    assert [step.name for step in pipeline_file.load("pipeline.py")] == [
        "chats", "conversations", "read_1", "read_2", "ingest", "filter", "dedup_exact", "dedup_minhash", "corpus",
        "tokenizer", "encode", "report",
    ]  # fmt: skip


def test_the_sample_data_is_read_whole_and_opens_everywhere(tmp_path, samples, dataprep, monkeypatch):
    """Only one JSON file is left out, scripts are source code, others open all results, and the report counts them."""
    pytest.importorskip("fastwarc")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(samples, "sample_data", ignore=shutil.ignore_patterns("gallery*"))  # pages in HTML are no chats
    code, out, err = dataprep("init", "sample_data")
    assert code == 0, err
    text = Path("pipeline.py").read_text()
    assert "essay.txt" in text
    assert "chat_log.txt" in text
    assert "left out, not_a_chat: 1 (sample_data/EXPECTED.json)" in out
    done = {d.name: d.result for d in pipeline_file.execute(pipeline_file.load("pipeline.py"), "out", Serial())}
    assert len(done["corpus"]) > 200
    assert open_all(tmp_path / "out") > 5
    summary, corpus = summarize("out"), done["corpus"].sealed
    read, kept = totals(summary)
    assert (kept.docs, kept.bytes) == (corpus.docs, corpus.bytes)
    assert read.docs == sum(next(iter(done[step].stats)).docs_in for step in ("ingest", "chats", "code"))
    assert all(kept.docs for name, (_, kept) in summary.sources.items() if name.startswith("Chat-"))
    joined = sum(stage.reasons.get("joined", 0) for stage in done["conversations"].stats)
    dropped = sum(len(done[step].drops()) for step in done if step not in ("tokenizer", "encode", "report"))
    assert 0 < find_clusters("out").removed <= dropped - joined
    page = Path("out/report/report.html").read_text()
    assert "corpus joins conversations and dedup_minhash" in page


def test_rules_that_would_drop_most_documents_are_comments(tmp_path, dataprep, monkeypatch):
    """Short texts are not kept by Gopher's rules, so that the line is a comment with the share."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "data" / "a.jsonl", [{"text": f"A short text, number {n}."} for n in range(40)])
    assert dataprep("init", "data")[0] == 0
    (line,) = [line for line in (tmp_path / "pipeline.py").read_text().splitlines() if "dp.Gopher()" in line]
    assert line.strip().startswith("# dp.Gopher(),")
    assert line.endswith("drops 100%")


def test_a_truncated_file_does_not_stop_it(tmp_path, dataprep, monkeypatch):
    """The documents before the damage are in the sample, and the pipeline file reads them, too."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "data" / "a.jsonl", [{"text": text_of(n)} for n in range(20)])
    lines = "".join(json.dumps({"text": text_of(n), "hash": hash((n, n))}) + "\n" for n in range(400))
    packed = gzip.compress(lines.encode(), 1)
    (tmp_path / "data" / "b.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    code, _, err = dataprep("init", "data")
    assert code == 0, err
    done = next(iter(pipeline_file.execute(pipeline_file.load("pipeline.py"), "out", Serial()))).result
    assert [row["reason"] for row in done.unread().to_pylist()] == ["unreadable"]
    assert 20 < done.count < 420


@pytest.mark.parametrize(("share", "is_offered"), [(0.6, True), (0.4, False)])
def test_rules_for_english_are_for_english(share, is_offered, monkeypatch):
    """C4 drops each document in Hindi or Chinese, so it is not offered if English is only the largest of several."""
    init = importlib.import_module("dataprep.cli.init")  # the package has the function under this name
    monkeypatch.setattr(init, "_languages", lambda batches, n: [("en", share), ("hi", 0.3)])
    monkeypatch.setattr(init, "find_spec", lambda name: name)
    assert ("dp.C4()" in init._cleaning([])) == is_offered


def test_paths_name_exactly_the_files(tmp_path, monkeypatch):
    """Many loose files become a glob, if it matches these files only; "." and hidden files are understood."""
    for n in range(30):
        (tmp_path / f"{n:02}.txt").write_text("Some text.")
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as f:
        f.write('{"body": "Some text."}\n')
    (tmp_path / ".secret.md").write_text("no")
    monkeypatch.chdir(tmp_path)
    found = survey(".")
    assert [(g.text, g.paths) for g in found.groups] == [("text", ["*.txt"]), ("body", ["a.jsonl.gz"])]
    assert list(found.left_out.values()) == ["hidden"]
    (tmp_path / "30.TXT").write_text("Some text.")  # *.txt does not match it
    assert len(survey(".").groups[0].paths) == 31


SOURCES = (
    "code/pkg/a.py", "code/pkg/b.rs", "code/LICENSE", "code/package.json", "code/logo.png", "code/corpus/a.jsonl",
    "texts/a.txt", "texts/b.txt", "texts/c.txt", "texts/d.txt", "texts/clean.py",
    "saved/page.html", "saved/page_files/a.js", "saved/page_files/b.js",
)  # fmt: skip


def test_source_code_beside_texts_is_a_source_of_its_own(tmp_path, monkeypatch):
    """A project is read with licence and settings, a script without the texts beside it, and rules are for texts."""
    monkeypatch.chdir(tmp_path)
    for name in SOURCES:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text('{"text": "words"}' if name.endswith("l") else "some = words")
    cells = {"cells": [{"cell_type": "code", "source": ["x = 1"]}], "metadata": {}}
    (tmp_path / "code" / "try.ipynb").write_text(json.dumps(cells))
    found = survey(".")
    assert [(group.code, group.paths) for group in found.groups] == [
        ("", ["code/corpus", "saved", "texts/*.txt"]),
        ("code", ["code/pkg", "code/LICENSE", "code/package.json", "texts/clean.py"]),
        ("notebook", ["code/try.ipynb"]),
    ]
    assert set(found.left_out) == {"code/logo.png", "saved/page_files/a.js", "saved/page_files/b.js"}
    init = importlib.import_module("dataprep.cli.init")  # the package has the function under this name
    monkeypatch.setattr(init, "find_spec", lambda _: None)  # languages take seconds
    (tmp_path / "p.py").write_text(init.written(".", found, "p.py"))
    text = (tmp_path / "p.py").read_text()
    assert "def documents(filter, code, notebook, out, runner)" in text
    assert "docs = dp.read(CODE, format='code', on_bad_file=\"skip\")" in text
    assert "in a sample of 6 documents" in text
    assert [step.name for step in pipeline_file.load("p.py")][:6] == [
        "ingest", "filter", "code", "notebook", "documents", "dedup_exact"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "paths"),
    [
        (("pkg/a.py", "pkg/b.rs", "LICENSE"), ["."]),
        (("a.tex", "b.jpg"), ["a.tex"]),
        (("a.txt", "theme.css"), []),  # a stylesheet alone is no source code
        (("a.py", "b.py", "c.txt"), ["a.py", "b.py"]),  # whose text is longer
        (("a.py", "b.py", "WhatsApp.txt"), ["a.py", "b.py"]),
    ],
    ids=["project", "file", "stylesheet", "texts", "chat"],
)
def test_what_is_source_code(names, paths, tmp_path, monkeypatch):
    """A project is one path; texts longer than the code beside them, and chats, are no part of a project."""
    monkeypatch.chdir(tmp_path)
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("12/31/25, 10:00 - Ada: Good morning\n" * 9 if name[0] == "W" else name * 9)
    (tmp_path / "c.txt").write_text("words " * 99) if "c.txt" in names else None
    assert [path for group in survey(".").groups if group.code for path in group.paths] == paths


def test_a_format_whose_package_is_not_installed(tmp_path, monkeypatch, capsys):
    """Its files are listed with the command that installs it, the others are offered, and `read` names a file."""
    monkeypatch.chdir(tmp_path)
    for module in ("resiliparse.extract.html2text", "pypdfium2", "mwparserfromhell"):
        monkeypatch.setitem(sys.modules, module, None)  # an import of it fails
    for name in ("in/a.txt", "in/b.html", "in/c.epub", "in/d.pdf", "in/e.warc", "in/f.eml", "in/g.wet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("some words")
    (tmp_path / "in" / "h.xml").write_text("<mediawiki xmlns='x'><page></page></mediawiki>")
    with zipfile.ZipFile(tmp_path / "in" / "i.zip", "w") as archive:
        archive.writestr("a.html", "words")
        archive.writestr("a.txt", "words")
    found = survey("in")
    init = importlib.import_module("dataprep.cli.init")  # the package has the function under this name
    init._print_found(init.Screen(highlight=False), found)
    said = capsys.readouterr().out
    for named, package, extra in (
        ("3 (in/b.html, in/c.epub, in/e.warc)", "resiliparse", "warc"),
        ("1 (in/d.pdf)", "pypdfium2", "pdf"), ("1 (in/h.xml)", "mwparserfromhell", "wiki"),
    ):  # fmt: skip
        cure = f"this needs the package '{package}', which is not installed: pip install 'dataprep-lm[{extra}]'"
        assert f"left out, not_installed: {named}; {cure}\n" in said
    assert [(g.paths, set(g.formats)) for g in found.groups] == [
        (["in/a.txt", "in/f.eml", "in/g.wet", "in/i.zip"], {"text", "mail", "wet", "zip"})
    ]
    for path, file in (("in", "in/b.html"), ("in/d.pdf", "in/d.pdf"), (["in/a.txt", "in/e.warc"], "in/e.warc")):
        with pytest.raises(PlanError, match=f"^{file}: this needs the package '\\w+', .*pip install"):
            dp.read(path)
    docs = dp.Pipeline().run(dp.read("in/i.zip"), out="out")
    assert [(row["file"], row["reason"]) for row in docs.unread().to_pylist()] == [("in/i.zip/a.html", "not_installed")]
    with pytest.raises(PlanError, match="in/d.pdf has no text: .*pip install 'dataprep-lm"):
        survey("in/d.pdf")


def test_every_file_is_read_once_or_left_out_with_a_reason(tmp_path, samples, monkeypatch):
    """Damage, links, names in any script, tables far from chats: the table has what the pipeline file reads."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "in"
    shutil.copytree(samples / "chats" / "whatsapp", place / "chats")
    for name, data in (
        ("a.txt", b"words"), ("a.jsonl", b'{"text": "words"}'), ("table.csv", "id,body\n1,نص عن البحر\n".encode()),
        ("中文 文件.txt", b"words"), ("نص.md", b"words"), ("a'b\"c[1].txt", b"words"), ("b.txt", b"words"),
        ("empty.txt", b""), (".hidden", b"x"), ("bad.zip", b"PK\3\4 cut"), ("bad.pdf", b"%PDF cut"), ("p.png", b"x"),
        ("closed.txt", b"words"), ("bad.db", b"SQLite format 3\0 cut"), ("tool.py", b"x = 1"), ("bad.json", b"[{"),
    ):  # fmt: skip
        (place / "all").mkdir(exist_ok=True)
        (place / "all" / name).write_bytes(data)
    (place / "all" / "folder").symlink_to(place / "chats")
    (place / "all" / "gone.txt").symlink_to("nowhere.txt")
    (place / "all" / "same.txt").symlink_to("a.txt")
    opened = files.open_raw
    closed = ReadError("cannot be opened (Permission denied); check the path", "in/all/closed.txt")
    monkeypatch.setattr(files, "open_raw", lambda url: opened(url) if "closed" not in url else _raise(closed))
    found = survey("in")
    assert found.left_out == {
        "in/all/empty.txt": "empty", "in/all/.hidden": "hidden", "in/all/bad.zip": "unreadable",
        "in/all/p.png": "unknown_type", "in/all/closed.txt": "unreadable", "in/all/folder": "unknown_type",
        "in/all/gone.txt": "unreadable",
    }  # fmt: skip
    assert "link to a folder" in found.details["in/all/folder"]
    assert "Permission denied" in found.details["in/all/closed.txt"]
    read = []
    for group in found.groups:
        docs = dp.read(group.paths, text=group.text, on_bad_file="skip", **dict(group.options))
        read += [piece.url for part in docs.parts for piece in part.slices]
        assert len(read) - len(set(read)) == 0
        assert sum(piece.n_bytes for part in docs.parts for piece in part.slices) == group.n_bytes
    every = [str(path.relative_to(tmp_path)) for path in place.rglob("*") if path.is_symlink() or path.is_file()]
    assert sorted([*read, *found.left_out]) == sorted(every)


def _raise(error):
    raise error


def test_the_table_of_a_database_with_the_most_text(tmp_path, monkeypatch):
    """It is named in the pipeline file, if the database has several; each of its rows becomes a document."""
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(sqlite3.connect("a b's.db")) as database:
        database.execute("CREATE TABLE a_log (id INTEGER, what TEXT)")
        database.execute("CREATE TABLE posts (id INTEGER, body TEXT)")
        database.executemany("INSERT INTO a_log VALUES (?, 'x')", [(n,) for n in range(9)])
        database.executemany("INSERT INTO posts VALUES (?, ?)", [(n, text_of(n)) for n in range(5)])
        database.commit()
    (group,) = survey(".").groups
    assert (group.text, group.options) == ("body", (("table", "posts"),))
    assert dp.read(group.paths, text=group.text, **dict(group.options)).count == 5


def test_records_inside_an_object_are_named(tmp_path, monkeypatch, capsys):
    """An array of records in a field of an object is found; a list of strings is no such array."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": n, "body": text_of(n)} for n in range(20)]
    (tmp_path / "a.json").write_text(json.dumps({"version": 1, "data": rows}, indent=1))
    (group,) = survey("a.json").groups
    assert (group.text, group.options) == ("body", (("records_in", "data"),))
    init = importlib.import_module("dataprep.cli.init")  # the package has the function under this name
    monkeypatch.setattr(init, "find_spec", lambda _: None)  # languages take seconds
    assert "text='body', records_in='data'" in init.written("a.json", survey("a.json"), "p.py")
    (tmp_path / "b.json").write_text(json.dumps({"data": [text_of(n) for n in range(20)]}, indent=1))
    (tmp_path / "c.xlsx").write_text("x")
    found = survey(".")
    assert found.left_out == {"b.json": "text_in_list", "c.xlsx": "unknown_type"}
    init._print_found(init.Screen(highlight=False), found)
    said = capsys.readouterr().out
    assert "left out, unknown_type: 1 (c.xlsx); pass its table: dp.read(pandas.read_excel(FILE))" in said


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda data: data.mkdir(), "the folder is empty"),
        (lambda data: None, "data must be an existing folder or file"),
        (lambda data: (data.mkdir(), (data / "a.jpg").write_bytes(b"x")), "no reader is known"),
        (lambda data: (data.mkdir(), (data / "a.txt").write_bytes(b"")), "left out (empty)"),
    ],
    ids=["empty folder", "no folder", "no text", "empty file"],
)
def test_nothing_to_read_is_one_sentence(make, sentence, tmp_path, dataprep, monkeypatch):
    """A folder without texts is an error, and no file is written."""
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "data")
    code, _, err = dataprep("init", "data")
    assert (code, sentence in err) == (1, True), err
    assert not (tmp_path / "pipeline.py").exists()


def test_one_file_is_enough(tmp_path, dataprep, monkeypatch):
    """The pipeline file for a single file names it and runs; a file beside it is not read."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "a.jsonl", [{"text": text_of(n)} for n in range(12)])
    write_lines(tmp_path / "b.jsonl", [{"other": text_of(n)} for n in range(12)])
    code, _, err = dataprep("init", "a.jsonl")
    assert code == 0, err
    text = (tmp_path / "pipeline.py").read_text()
    assert "INPUT = 'a.jsonl'\n" in text
    assert "b.jsonl" not in text


def test_the_trial_sees_every_file_that_the_rules_were_tried_on(tmp_path, dataprep, monkeypatch):
    """A small file behind a large one of its format is read too, although packed files claim most of the sample."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "in"
    write_lines(folder / "a.jsonl", [{"text": text_of(n)} for n in range(300)])
    write_lines(folder / "b.jsonl", [{"text": f"شي حاجة اخرى {n}"} for n in range(14)])
    packed = [os.urandom(40_000).hex() for _ in range(2)]
    for n, filler in enumerate(packed):
        (folder / f"c{n}.jsonl.gz").write_bytes(gzip.compress(json.dumps({"text": filler}).encode()))
    trial = Trial("/nowhere", importlib.import_module("dataprep.cli.init").SAMPLE_BYTES)
    docs = dp.read("in")
    assert trial.sample(docs).count == docs.count == 316


def test_an_existing_file_is_not_overwritten(tmp_path, dataprep, monkeypatch):
    """The file keeps its bytes, and the sentence names the option."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipeline.py").write_text("mine")
    code, _, err = dataprep("init", str(tmp_path))
    assert (code, "--out" in err, (tmp_path / "pipeline.py").read_text()) == (1, True, "mine")
    assert dataprep("init", str(tmp_path), "--out", "pipeline.toml")[0] == 1


def test_a_kind_of_which_no_file_can_be_read_does_not_stop_it(tmp_path) -> None:
    """Its files are listed with the reason, and it has no step, which would raise."""
    (tmp_path / "a.txt").write_text("نص عن البحر")
    (tmp_path / "x.ipynb").write_text("{}")
    (tmp_path / "y.json").write_text('[{"body": "' + "слово " * 20)
    found = survey(str(tmp_path))
    assert next((group.text, dict(group.formats)) for group in found.groups) == ("text", {"text": 1, "json": 1})
    assert found.left_out == {str(tmp_path / "x.ipynb"): "unreadable"}
    assert "it is not a Jupyter notebook" in found.details[str(tmp_path / "x.ipynb")]
    (tmp_path / "a.txt").unlink()
    (tmp_path / "y.json").unlink()
    with pytest.raises(PlanError, match=r"has no text: .*x\.ipynb is left out \(unreadable\); it is not a Jupyter"):
        survey(str(tmp_path))
