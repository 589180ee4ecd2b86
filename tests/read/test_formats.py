"""Formats of one's own: a reader given as it is, or registered by name, suffix and sniffer."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass

import pytest

import dataprep as dp
from dataprep import extend
from dataprep.core.model import batch as B
from dataprep.errors import PlanError
from dataprep.read import HF_OPTIONS, formats
from dataprep.read.listing import list_files
from dataprep.read.options import ReadOptions
from dataprep.store import files


@dataclass(frozen=True)
class Halves(extend.Reader):
    """Two documents per file: what is before the first `mark`, and what is after it."""

    mark: str = "|"

    def __call__(self, piece, stats):
        """Yield both halves."""
        with files.open_read(piece.url) as stream:
            texts = stream.read().decode().split(self.mark, 1)
        yield B.make([B.doc_id(piece.file, k) for k in range(len(texts))], texts, piece.source)


@pytest.fixture
def table(monkeypatch):
    """The table of formats, given back as it was."""
    monkeypatch.setattr(formats, "FORMATS", dict(formats.FORMATS))
    return formats.FORMATS


def texts(docs) -> list[str]:
    """The texts, in order."""
    return docs.table()["text"].to_pylist()


def test_a_reader_is_a_format(tmp_path) -> None:
    """A Reader class gets the options of read; an instance has them already, and takes no others."""
    (tmp_path / "a.txt").write_text("one|two;three")
    path = str(tmp_path / "a.txt")
    assert texts(dp.read(path, format=Halves)) == ["one", "two;three"]
    assert texts(dp.read(path, format=Halves, mark=";")) == ["one|two", "three"]
    assert texts(dp.read(path, format=Halves(mark=";"))) == ["one|two", "three"]
    assert texts(dp.read(path)) == ["one|two;three"]
    for reader, option, options in (
        (Halves(), "mark", "leave it out, since there are none"),
        (Halves, "marks", "the options are mark"),
    ):
        with pytest.raises(PlanError, match=f"there is no option '{option}' for Halves; {options}"):
            dp.read(path, format=reader, **{option: ";"})
    with pytest.raises(PlanError, match="Halves has no fields for columns="):
        dp.read(path, format=Halves, columns=["url"])
    for wrong in (int, Halves, 7):
        with pytest.raises(PlanError, match="must be a frozen dataclass derived from dataprep.extend.Reader"):
            dp.read(path, format=wrong if wrong is not Halves else type("Bare", (), {}))


def test_registered_by_suffix_and_sniffer(tmp_path, table) -> None:
    """A suffix is enough without a sniffer; with one, files that it rejects keep the format they had."""
    for name, text in (("a.half", "1|2"), ("b.txt", "#3|4"), ("c.txt", "5|6")):
        (tmp_path / name).write_text(text)
    extend.register("half", Halves, suffixes=(".half",))
    extend.register("sniffed", Halves(), suffixes=(".txt",), sniff=lambda head, url: head.startswith(b"#"))
    docs = dp.read(str(tmp_path))
    assert texts(docs) == ["1", "2", "#3", "4", "5|6"]
    assert docs.table()["source"].to_pylist() == ["a", "a", "b", "b", tmp_path.name]
    assert texts(dp.read(str(tmp_path / "c.txt"), format="half")) == ["5", "6"]
    extend.register("half", Halves(mark="1"), suffixes=(".half",))
    assert texts(dp.read(str(tmp_path / "a.half"))) == ["", "|2"]


def test_wrong_registrations(table) -> None:
    """Built-in names stay; suffixes are a tuple in lower case; a reader is a frozen dataclass."""
    for name in ("jsonl", "hf"):
        with pytest.raises(PlanError, match="is a built-in format"):
            extend.register(name, Halves)
    for suffixes in (".half", (".HALF",), ("",)):
        with pytest.raises(PlanError, match="suffixes=.* must be a tuple of suffixes"):
            extend.register("half", Halves, suffixes=suffixes)
    with pytest.raises(PlanError, match="Reader must be a frozen dataclass"):
        extend.register("half", extend.Reader)
    assert "half" not in table


def test_every_built_in_loads() -> None:
    """The lazy entries of the table name what exists: readers with a docstring, and sniffers that accept no nothing."""
    for name, entry in formats.FORMATS.items():
        assert issubclass(entry.load(), extend.Reader), name
        assert entry.load().__doc__, name
        assert entry.sniff is None or not entry.accepts(b"", "a.txt"), name


def test_a_registered_suffix_wins_beside_chats(tmp_path, table, samples) -> None:
    """In a folder with chats, files of a registered format are read with its reader, not taken for something else."""
    (tmp_path / "chat.txt").write_bytes((samples / "whatsapp_android.txt").read_bytes())
    (tmp_path / "notes.note").write_text("one|two")
    extend.register("notes", Halves, suffixes=(".note",))
    found = {file.url.rpartition("/")[2]: file.format.name for file in list_files(str(tmp_path), None).found}
    assert found == {"chat.txt": "whatsapp", "notes.note": "notes"}
    extend.register("all_text", Halves, suffixes=(".txt",))
    assert formats.format_of(str(tmp_path / "chat.txt")).name == "all_text"


@pytest.mark.parametrize(
    "wrong",
    [{"name": 5}, {"suffixes": (5,)}, {"suffixes": ("half",)}, {"sniff": "abc", "suffixes": (".half",)},
     {"sniff": lambda head, url: True}],
)  # fmt: skip
def test_wrong_registrations_leave_the_table_alone(table, wrong) -> None:
    """What is no name, suffix or sniffer is one sentence at once, not an error of a later read."""
    before = dict(table)
    with pytest.raises(PlanError, match="must be"):
        extend.register(**{"name": "half", "reader": Halves, **wrong})
    assert table == before


def test_a_sniffer_that_fails_is_named(tmp_path, table) -> None:
    """The sentence names file and format."""
    (tmp_path / "a.half").write_text("1|2")
    extend.register("half", Halves, suffixes=(".half",), sniff=lambda head: True)
    with pytest.raises(PlanError, match=r"a\.half: the sniffer of format 'half' failed"):
        dp.read(str(tmp_path / "a.half"))


def test_an_account_of_telegram_is_told_by_what_its_lists_begin_with() -> None:
    """Other JSON with a key `chats` is no export."""
    assert formats.is_telegram(b'{"about": "", "chats": {\n "about": "All chats", "list": []}}', "a.json")
    assert formats.is_telegram(b'{"personal_information": {"user_id": 7}}', "a.json")
    assert not formats.is_telegram(b'{"c4": {}, "chats": {"Cycling club": {"messages": 48}}}', "a.json")


def test_a_reader_knows_its_format(table):
    """By the name of `format=`, also a registered one; a Reader without a name has that of its class."""
    for name, form in table.items():
        kind = form.load()
        if isinstance(kind, type) and name not in {"arc", "zip"}:  # read as warc and tar
            assert formats.name_of(kind()) == name
    assert formats.name_of(Halves()) == "Halves"
    extend.register("halves", Halves(mark="-"), suffixes=(".half",))
    assert formats.name_of(Halves(mark="-")) == "halves"


def test_the_typed_options_are_those_of_the_readers():
    """`ReadOptions`, which type checkers see, has the fields of the readers and the options of data sets."""
    parameters = set(inspect.signature(dp.read).parameters)
    fields = {f.name for format_ in formats.FORMATS.values() for f in dataclasses.fields(format_.load()) if f.init}
    assert set(ReadOptions.__annotations__) == (fields | {*HF_OPTIONS, "out"}) - parameters
