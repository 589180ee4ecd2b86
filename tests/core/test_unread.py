"""The table of unread files: every file that a folder holds and that no document came from has one row."""

from __future__ import annotations

import os
import zipfile

import pytest

import dataprep as dp
import laws
from dataprep import extend
from dataprep.core.model.tables import UNREAD, Unread
from dataprep.core.model.unread import by_kind, check_unread, rows_of, unread_table, without_names
from dataprep.errors import CorruptShard, PlanError, ReadError
from dataprep.history.verify import verify
from dataprep.read import parts
from dataprep.read.survey import survey

LINE = '{"text": "a document"}\n'
CHAT = "[01.02.24, 10:00:00] Ada: hello\n[01.02.24, 10:01:00] Bo: hello, Ada\n[01.02.24, 10:02:00] Ada: bye\n"


def rows(docs, below="") -> list[tuple[str, str, int | None]]:
    """(file below a folder, reason, offset) of the unread table."""
    assert docs.unread().schema == UNREAD
    return [(r["file"].removeprefix(f"{below}/"), r["reason"], r["offset"]) for r in docs.unread().to_pylist()]


@pytest.fixture
def folder(tmp_path):
    """Two files with documents, and one of every kind that has none."""
    home = tmp_path / "in"
    for name, data in {
        "a.jsonl": LINE, "sub/b.jsonl": LINE, ".secret.jsonl": LINE, "_logs/x/1.jsonl": LINE, "_logs/2.jsonl": LINE,
        "sub/.git/config": "c", "notes.mp3": "ID3", "empty.jsonl": "", "zero.parquet": "",
        "archive.zip": "PK\x03\x04 cut", "aaa.ndjson": "",
    }.items():  # fmt: skip
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(data)
    return home


LISTED = [
    (".secret.jsonl", "hidden", None), ("_logs", "hidden", None), ("aaa.ndjson", "empty", 0),
    ("archive.zip", "unreadable", None), ("empty.jsonl", "empty", 0), ("notes.mp3", "unknown_type", None),
    ("sub/.git", "hidden", None), ("zero.parquet", "empty", 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("relative", "run"), [(True, dp.tools.Serial()), (False, dp.tools.Serial()), (False, laws.TWO)]
)
def test_each_file_has_a_row(folder, tmp_path, monkeypatch, caplog, relative, run) -> None:
    """What a folder holds is a document's file or a row, of the Dataset just read as of the sealed one."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReadError, match="archive.zip: the zip is truncated or damaged.*on_bad_file"):
        dp.read("in")
    monkeypatch.setattr(parts, "PART_BYTES", 1)
    given = "in" if relative else str(folder)
    docs = dp.read(given, on_bad_file="skip")
    assert rows(docs, given) == LISTED
    assert "files that are not read: 5 (empty 3, unknown_type 1, unreadable 1)" in caplog.text
    done = dp.Pipeline().run(docs, out=str(tmp_path / "out"), runner=run)
    assert done.count == 2
    assert rows(done, given) == LISTED
    assert rows(dp.open_dataset(str(tmp_path / "out")), given) == LISTED
    assert done.manifest.unread.reasons == {"unreadable": 1, "empty": 3, "hidden": 3, "unknown_type": 1}
    assert "zip" in next(r["detail"] for r in done.unread().to_pylist() if r["reason"] == "unreadable")


def test_a_table_only_where_there_are_rows(tmp_path) -> None:
    """A Dataset of intact files has no such table, and an empty one in Python."""
    (tmp_path / "a.jsonl").write_text(LINE)
    docs = dp.Pipeline().run(dp.read(str(tmp_path / "a.jsonl")), out=str(tmp_path / "out"))
    assert len(docs.unread()) == 0
    assert docs.unread().schema == UNREAD
    assert not (tmp_path / "out" / "unread.parquet").exists()
    assert docs.manifest.unread is None


def test_verify_checks_the_table(folder, tmp_path) -> None:
    """A table that was removed or changed is a problem that `verify` names, and an error of `unread`."""
    out = str(tmp_path / "out")
    docs = dp.Pipeline().run(dp.read(str(folder), on_bad_file="skip"), out=out)
    assert verify(out) == {out: []}
    (tmp_path / "out" / "unread.parquet").write_bytes(b"PAR1")
    assert [problem.file for problem in verify(out)[out]] == ["unread.parquet"]
    with pytest.raises(CorruptShard, match=r"unread\.parquet"):
        docs.unread()


def test_saved_steps_pass_their_rows_on(folder, tmp_path) -> None:
    """After estimators, which read saved text, the final table has each row once."""
    docs = dp.Pipeline(dp.Filter(keep_all), dp.Exact(), dp.Map(upper), dp.MinHash()).run(
        dp.read(str(folder), on_bad_file="skip"), out=str(tmp_path / "out")
    )  # fmt: skip
    assert rows(docs, str(folder)) == LISTED


def keep_all(text):
    """Keep every document."""
    return True


@pytest.mark.parametrize("where", ["after", "before and after an estimator", "estimator"])
def test_names_are_hidden(folder, tmp_path, where) -> None:
    """After a stage that hides, no name and no detail is in any file of the folder, but reasons and numbers are."""
    stages = {"after": [Hide()], "before and after an estimator": [Hide(), dp.Exact(), Hide()],
              "estimator": [dp.Filter(keep_all), dp.Exact(), Hide()]}[where]  # fmt: skip
    docs = dp.Pipeline(*stages).run(dp.read(str(folder), on_bad_file="skip"), out=str(tmp_path / "out"))
    assert [r["reason"] for r in docs.unread().to_pylist()].count("empty") == 3
    assert {(r["file"], r["detail"]) for r in docs.unread().to_pylist()} == {("hidden", None)}
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            assert b"zero" not in path.read_bytes(), path


def upper(text):
    """Return the text in capitals."""
    return text.upper()


class Hide(extend.Stage):
    """A stage that hides what came before it."""

    hides = True

    def __call__(self, batches, stats):
        """Yield all documents."""
        return batches

    def recipe(self):
        """Return nothing to distinguish."""
        return ()


def test_a_hidden_file_that_is_named_is_read(tmp_path) -> None:
    """A path or a glob that names a hidden file reads it, and `_chat.txt`, the name in iPhone exports, is shown."""
    for name in ("_x.jsonl", ".y.jsonl", "z.jsonl"):
        (tmp_path / name).write_text(LINE)
    assert rows(dp.read(str(tmp_path)), str(tmp_path)) == [(".y.jsonl", "hidden", None), ("_x.jsonl", "hidden", None)]
    for given in ("_x.jsonl", "_*.jsonl", ".y.jsonl", ".*.jsonl"):
        docs = dp.read(str(tmp_path / given))
        assert (docs.count, rows(docs)) == (1, [])
    docs = dp.read([str(tmp_path), str(tmp_path / "_x.jsonl")])
    assert (docs.count, rows(docs, str(tmp_path))) == (2, [(".y.jsonl", "hidden", None)])
    for name in ("Ada", "Bo", "__MACOSX/Ada"):
        (tmp_path / "chats" / name).mkdir(parents=True)
        (tmp_path / "chats" / name / "_chat.txt").write_text(CHAT)
    docs = dp.read(str(tmp_path / "chats"))
    assert docs.table()["chat"].to_pylist() == ["Ada"] * 3 + ["Bo"] * 3
    assert rows(docs, str(tmp_path / "chats")) == [("__MACOSX", "hidden", None)]


def test_not_a_chat_among_chats(tmp_path) -> None:
    """Next to chats, texts are read; settings, zips without a chat and damaged zips are rows."""
    (tmp_path / "Ada.txt").write_text(CHAT)
    (tmp_path / "settings.json").write_text('{"theme": "dark"}')
    (tmp_path / "shopping.txt").write_text("eggs\n")
    (tmp_path / "nothing.txt").touch()
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("a.jpg", b"")
    with zipfile.ZipFile(tmp_path / "good.zip", "w") as archive:
        archive.writestr("_chat.txt", CHAT)
    whole = (tmp_path / "good.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ReadError, match="cut.zip: the zip is truncated or damaged"):
        dp.read(str(tmp_path))
    docs = dp.read(str(tmp_path), on_bad_file="skip")
    assert docs.count == 7
    assert [row["author"] for row in docs if row["text"] == "eggs\n"] == [None]
    assert rows(docs, str(tmp_path)) == [
        ("cut.zip", "unreadable", None), ("photos.zip", "not_a_chat", None), ("settings.json", "not_a_chat", 0),
    ]  # fmt: skip


def test_a_folder_without_chats_never_hears_of_them(tmp_path) -> None:
    """A table, a page and a zip beside a text are of unknown type, for `read` and for `init`, and alone, too."""
    for name in ("a.xls", "b.xml"):
        (tmp_path / name).write_text("a,b\n1,2\n")
        with pytest.raises(PlanError, match="no reader is known for this suffix") as caught:
            dp.read(str(tmp_path))
        assert "not a chat" not in str(caught.value)
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("a.jpg", b"")
    (tmp_path / "note.txt").write_text("eggs\n")
    assert {row[1] for row in rows(dp.read(str(tmp_path)), str(tmp_path))} == {"unknown_type"}
    assert set(survey(str(tmp_path)).left_out.values()) == {"unknown_type"}


def test_only_empty_files_are_an_error(tmp_path) -> None:
    """If no file of several has anything, the first is an error."""
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).touch()
    with pytest.raises(ReadError, match=r"a\.jsonl, byte 0: the file is empty"):
        dp.read(str(tmp_path))


def test_inspect_counts_them(folder, tmp_path, dataprep) -> None:
    """`dataprep inspect` prints the number by reason and suffix, with an example."""
    dp.Pipeline().run(dp.read(str(folder), on_bad_file="skip"), out=str(tmp_path / "out"))
    code, shown, _ = dataprep("inspect", tmp_path / "out")
    assert code == 0
    assert "8 files were not read" in shown
    assert "empty .parquet 1" in shown
    assert f"{folder}/zero.parquet, byte 0: the file is empty" in shown
    assert dataprep("report", tmp_path / "out")[0] == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Files that were not read" in page
    assert f"{folder}/zero.parquet" in page


@pytest.mark.parametrize(
    ("reasons", "limit", "docs", "sentence"),
    [
        (["unreadable"], 0, None, "a; or read the other files with"),
        (["quarantined"], 0, 3, "a; or read the other files"),
        (["unreadable"], 1, 3, None),
        (["unreadable"], None, 3, None),
        (["unreadable", "unreadable"], 1, None, "2 files are bad, more than max"),
        (["unreadable", "unreadable"], 2, None, None),
        (["empty", "damaged", "bad_digest"], 0, 3, None),
        (["empty"], 0, 0, "a"),
        (["unreadable"], 1, 0, "a"),
        (["damaged"], 0, 0, None),
        ([], 0, 0, None),
        (["empty"], 0, None, None),
    ],
)
def test_how_many_files_may_be_bad(reasons, limit, docs, sentence) -> None:
    """Bad and quarantined ones count, empty and damaged ones do not; if nothing was read, the first is the error."""
    rows = [Unread(f"{k}.txt", reason, k, "ab"[k % 2]) for k, reason in enumerate(reasons)]
    if sentence is None:
        check_unread(rows, limit, docs)
    else:
        with pytest.raises(ReadError, match=sentence) as error:
            check_unread(iter(rows), limit, docs)
        assert error.value.offset == (0 if docs == 0 else len(rows) - 1)


def test_each_bad_file_counts_once(caplog) -> None:
    """Two rows of one file are one bad file; hidden ones cannot be told apart by their names; kinds are warned of."""
    twice = [Unread("a", "unreadable", 1), Unread("a", "unreadable", 2)]
    check_unread(twice, 1, 5)
    assert "not read, or not to the end: 1 bad file; of a, the file is unreadable" in caplog.text
    hidden = [Unread("hidden", "unreadable", 1), Unread("hidden", "unreadable", 2)]
    with pytest.raises(ReadError, match="2 files are bad"):
        check_unread(hidden, 1, 5)
    for reason in ("damaged", "bad_digest"):
        caplog.clear()
        check_unread([Unread("w", reason, 1, "so")], 0, 0)
        assert "damaged records in 1 archive; of w, so" in caplog.text
        caplog.clear()
        check_unread([Unread("w", reason, 1, "so")], 0)
        assert caplog.text == ""


def test_the_table_has_no_secrets_and_one_order() -> None:
    """Users and queries of URLs are left out of names and details; rows are sorted whatever their order."""
    private = "https://ada:key@host/a.jsonl?sig=12"
    rows = [
        Unread(private, "unreadable", 7, f"{private} is cut"),
        Unread("b", "unreadable", 9),
        Unread("b", "unreadable", None, "x"),
        Unread("b", "empty", 9),
        Unread("b", "unreadable", 9, "y"),
    ]
    table = unread_table(rows)
    assert table.equals(unread_table(reversed(rows)))
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        ("b", "unreadable", None, "x"),
        ("b", "empty", 9, None),
        ("b", "unreadable", 9, None),
        ("b", "unreadable", 9, "y"),
        ("https://***@host/a.jsonl?***", "unreadable", 7, "https://***@host/a.jsonl?*** is cut"),
    ]
    assert unread_table([]).num_rows == 0
    assert rows_of(table)[0] == rows[2]
    assert without_names(rows[:1]) == [Unread("hidden", "unreadable", 7)]
    assert list(by_kind(rows)) == [("empty", ""), ("unreadable", ""), ("unreadable", ".jsonl")]


def test_names_that_are_not_utf8_are_stored_as_escapes(tmp_path):
    """A bad file of such a name does not end the run."""
    for name, data in {b"good.jsonl": LINE, b"b\xff.jsonl": "no json\n", b"c\xfe.gz.jsonl.gz": "no gzip"}.items():
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / os.fsdecode(name)).write_text(data)
    docs = dp.read(str(tmp_path / "in"), on_bad_file="skip", max_bad_files=2)
    made = dp.Pipeline().run(docs, str(tmp_path / "out"))
    assert [row[0].rpartition("/")[2] for row in rows(made)] == ["b\\udcff.jsonl", "c\\udcfe.gz.jsonl.gz"]
