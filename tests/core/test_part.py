"""Part.pick: the documents with given ids, from any reader, with stages and in joined Datasets."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import dataprep as dp
import laws
from dataprep import extend
from dataprep.core.model.dataset import Dataset, join_datasets
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.part import Part
from dataprep.core.model.reader import Slice, reader_of, recorded
from dataprep.core.model.tables import Unread
from dataprep.errors import PlanError, ReadError
from dataprep.read.json.reader import Jsonl
from dataprep.store import hashes
from dataprep.store.key import key


@pytest.fixture
def inputs(tmp_path):
    """JSON Lines, the same in two slices a file, plain lines, and sealed Datasets of both, joined."""
    for k in range(4):  # files of one part
        lines = [json.dumps({"text": f"{k} {n}", "n": n}) + "\n" for n in range(7)]
        (tmp_path / f"a{k}.jsonl").write_text("".join(lines))
    (tmp_path / "b.txt").write_text("".join(f"b {n}\n" for n in range(5)))
    both = [dp.read(str(tmp_path / "a*.jsonl")), dp.read(str(tmp_path / "b.txt"), format="lines")]
    sealed = [dp.Pipeline().run(docs, out=str(tmp_path / f"sealed{k}")) for k, docs in enumerate(both)]
    whole = both[0].tasks[0]  # the second slice starts in the middle of a line
    cut = [replace(s, **{side: 40}) for s in whole.slices for side in ("stop", "start")]
    of_slices = Dataset((replace(whole, slices=tuple(cut)),))
    return {"read": both[0], "cut": of_slices, "lines": both[1], "joined": join_datasets(sealed)}


@pytest.mark.parametrize("kind", ["read", "cut", "lines", "joined", "with a stage"])
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
    reader, piece = extend.Reader(), Slice("a.jsonl", 0)
    assert (dict(reader.adds), reader.named(piece), reader.companions("a")) == ({}, "", ())
    assert (reader.splits, reader.picks, reader.enters("a.jsonl"), reader.narrowed(["id"]) is reader) == (
        False, False, False, True,
    )  # fmt: skip
    assert reader.cuts("a.jsonl", 100, 10) == [(0, None, 100)]
    assert Jsonl().cuts("a.jsonl", 10, 10) == [(0, None, 10)]
    assert Jsonl().cuts("a.jsonl", 11, 10) == [(0, 5, 5), (5, 11, 6)]
    assert Part((), reader).number == 0
    assert Slice("a.jsonl", 0, listed="*.jsonl") == piece  # the same file, whatever named it
    with pytest.raises(PlanError, match=r"a: Reader does not know the types of x, y; set columns="):
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


def test_a_part_of_several_datasets_shifts_its_ids(inputs) -> None:
    """After the stages, in all documents and in those that are picked; the key does not know it."""
    part = inputs["read"].tasks[0]
    moved = replace(part, files_before=5)
    rows, others = ([r for b in one.batches() for r in b.to_pylist()] for one in (part, moved))
    assert [r | {"id": r["id"] + (5 << 40)} for r in rows] == others
    ids = np.array([r["id"] for r in others[1::3]], np.uint64)
    for one in (moved, moved.then(dp.Map(lambda text: text))):
        assert [r["text"] for b in one.pick(ids, ["text"]) for r in b.to_pylist()] == [r["text"] for r in others[1::3]]
    prints = {piece.url: piece.url for piece in part.slices}
    assert moved.work_key(prints) == part.work_key(prints)
    assert part.shifted(2).work_key(prints) != part.work_key(prints)


def test_all_that_decides_the_documents_is_in_the_key(inputs) -> None:
    """Content, reader, stages, windows and slices; not labels, limits of bad files, number or forget list."""
    part = inputs["read"].tasks[0]
    prints = {piece.url: piece.url for piece in part.slices}
    first, *rest = part.slices
    others = [
        part, replace(part, reader=Jsonl(text="n")), part.then(dp.Filter(len, version="1")),
        replace(part, max_window=1),
        replace(part, slices=part.slices[:-1]), replace(part, slices=(*rest, first)),
        *(replace(part, slices=(replace(first, **{name: value}), *rest)) for name, value in
          (("file", 9), ("start", 3), ("stop", 9), ("source", "s"),
           ("unread", Unread(first.url, "quarantined")))),
    ]  # fmt: skip
    keys = [one.work_key(prints) for one in others]
    assert len(set(keys)) == len(keys)
    assert part.work_key(prints | {first.url: "x"}) not in keys
    same = {"labels": ("a",), "forgotten": "f", "skips_bad": True, "number": 7, "key": "k"}
    assert {replace(part, **{name: value}).work_key(prints) for name, value in same.items()} == {keys[0]}
    listed = replace(part, slices=(replace(first, listed="x", n_bytes=first.n_bytes), *rest))
    assert listed.work_key(prints) == keys[0]


def test_a_part_names_itself_and_its_stages(inputs) -> None:
    """By its first slice; labels come before names, which are told apart."""
    part = inputs["read"].tasks[0]
    first = part.slices[0]
    assert str(part) == f"{first.url}[0:] and 3 more"
    assert str(replace(part, slices=(replace(first, start=3, stop=9),))) == f"{first.url}[3:9]"
    assert part.n_bytes == sum(piece.n_bytes for piece in part.slices) > 0
    same = dp.Map(lambda text: text)
    assert part.then(same, same, labels=["a"]).stage_names == ("a", "lambda")
    assert part.then(same).then(same).stage_names == ("lambda", "lambda #2")
    assert part.then(same, labels=["read"]).stage_names == ("read #2",)
    assert replace(part, stages=(same, same), labels=("x",)).stage_names == ("x", "lambda")
    assert [one.stage for one in replace(part.then(same), forgotten="f").ledgers()] == ["read", "forget", "lambda"]
    sealed = inputs["joined"].tasks[0]
    assert [one.stage for one in sealed.then(same).ledgers()] == ["lambda"]


class Drops(extend.Stage):
    """A stage of a user that promises to keep texts."""

    only_drops = True

    def __call__(self, batches, stats):
        """Drop nothing."""
        yield from batches


def test_a_promise_is_checked_of_users_only(inputs) -> None:
    """Stages of dataprep keep theirs."""
    part = inputs["read"].tasks[0].then(Drops(), dp.C4(), dp.Map(lambda text: text))
    ledgers = part.ledgers()
    assert list(part.batches(ledgers=ledgers))
    assert [one.same_text for one in ledgers] == [False, True, False, False]


@pytest.mark.parametrize("skips", [False, True])
def test_a_bad_file_ends_reading_or_is_listed(inputs, skips) -> None:
    """Those behind it are read; one that is listed as unread is not opened; an empty one is never an error."""
    part = inputs["read"].tasks[0]
    one, two, three, four = part.slices
    slices = (replace(one, url=f"{one.url}.gone"), replace(two, unread=Unread(two.url, "empty")), three, four)
    part = replace(part, slices=slices, skips_bad=skips)
    ledgers = part.ledgers()
    if skips:
        rows = [row for batch in part.batches(ledgers=ledgers) for row in batch.to_pylist()]
        assert {row["id"] >> 40 for row in rows} == {2, 3}
        assert [(row.file, row.reason) for row in ledgers[0].unread] == [
            (slices[0].url, "unreadable"),
            (two.url, "empty"),
        ]
    else:
        with pytest.raises(ReadError, match="or read the other files with dp.read"):
            list(part.batches(ledgers=ledgers))


def test_stages_see_all_columns_whichever_are_asked_for(inputs) -> None:
    """The reader leaves out what nobody asked for only if no stage waits."""
    odd = dp.Filter(lambda text, meta: int(text[-1]) % 2 == json.loads(meta)["n"] % 2 == 1, version="1")
    for part in inputs["read"].then(odd).tasks:
        for columns in (["id"], ["source"], ["text"], None):
            assert sum(batch.num_rows for batch in part.batches(columns)) == 4 * 3


def test_a_slice_is_known_by_its_content(inputs) -> None:
    """As it is stated, or else as it is in the file; a file that was left out by a decision is another."""
    piece = inputs["read"].tasks[0].slices[0]
    plain = replace(piece, fingerprint="")
    known = replace(piece, fingerprint=hashes.fingerprint(piece.url))
    assert key(plain) == key(known) != key(replace(piece, fingerprint="x"))
    for reason, same in (("empty", True), ("quarantined", False)):
        assert (key(replace(plain, unread=Unread(piece.url, reason))) == key(plain)) is same
