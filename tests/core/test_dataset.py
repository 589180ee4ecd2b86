"""Documents of a sealed Dataset by id, and the files that they are from."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
import laws
from dataprep import extend
from dataprep.core.inputs.restore import _column, _inside
from dataprep.core.model.blame import _listed
from dataprep.core.model.dataset import Dataset, join_datasets
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.core.model.stage import Head
from dataprep.core.model.tables import DROPS
from dataprep.core.output.run_folder import run_steps
from dataprep.core.run.trial import Sampled, Trial, _read_share
from dataprep.errors import CorruptShard, PlanError, ReadError
from dataprep.store import files


def upper(text: str) -> str:
    """In capitals."""
    return text.upper()


def third(text: str) -> str | None:
    """Drop every third text, and all of one part."""
    n = int(text.split()[1])
    return "third" if n % 3 == 2 or n in range(8, 12) else None


def test_each_document_is_found_by_its_id(tmp_path) -> None:
    """In whichever shard it lies, in a sealed Dataset, in one with pending stages, and before any work."""
    docs = laws.dataset_of(tmp_path, [f"text {n}" for n in range(24)], parts=6)
    sealed = dp.Pipeline(dp.Filter(third)).run(docs, str(tmp_path / "out"))
    rows = {row["id"]: row["text"] for row in sealed}
    assert len(rows) > 10
    assert len({sealed, dp.open_dataset(sealed.url)}) == 1
    for id_, text in rows.items():
        assert sealed.text_of(id_) == docs.text_of(f"{id_ >> 40}:{id_ & 0xFF}") == text
        assert sealed.then(dp.Map(upper)).text_of(id_) == text.upper()
    gone = {row["id"] for row in docs} - set(rows)
    for id_ in (*gone, 99 << 40, 2**64 - 1):
        with pytest.raises(PlanError, match="there is no document .*; `dataprep inspect` prints the ids"):
            sealed.text_of(id_)


LISTED = {"source": "s", "reader": 0, "size": 1, "fingerprint": "f"}


def test_the_file_of_a_document_is_followed_to_the_input(tmp_path) -> None:
    """Through Datasets that were made of several others, whose files have other numbers there."""
    first = [LISTED | {"url": "x.txt", "file": 0}, LISTED | {"url": "y.txt", "file": 1}]
    files.write_json(str(tmp_path / "a" / "origin.json"), {"files": first})
    files.write_json(str(tmp_path / "b" / "origin.json"), {"files": [LISTED | {"url": "z.txt", "file": 0}]})
    shards = {0: f"{tmp_path}/a/data/part-00000-000.parquet", 2: f"{tmp_path}/b/data/part-00000-000.parquet"}
    both = [LISTED | {"url": url, "file": n} for n, url in shards.items()]
    files.write_json(str(tmp_path / "c" / "origin.json"), {"files": [*both, LISTED | {"url": "w.txt", "file": 3}]})
    found = [_listed(f"{tmp_path}/c/steps/01-Exact-0123abcd/input", n << 40 | 7) for n in range(5)]
    assert found == ["x.txt", "y.txt", "z.txt", "w.txt", None]
    assert _listed(str(tmp_path / "none"), 0) is None


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0, 2.0])
def test_the_share_that_was_read_is_estimated(tmp_path, share) -> None:
    """Of a slice of a plain file, of a compressed file by its head, and of Parquet by rows; never more than all."""
    lines = "".join(json.dumps({"text": f"line {n} {'x' * 50}"}) + "\n" for n in range(1000)).encode()
    (tmp_path / "a.jsonl").write_bytes(lines)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines))
    pq.write_table(pa.table({"text": ["x"] * 1000}), tmp_path / "a.parquet")
    n = len(lines)
    plain, part = Slice(str(tmp_path / "a.jsonl"), 0), Slice(str(tmp_path / "a.jsonl"), 0, 1000, 5000)
    expected = pytest.approx(min(1.0, share), abs=0.01)
    assert _read_share(plain, int(share * n), 1) == expected
    assert _read_share(part, 1000 + int(share * 4000), 1) == expected
    assert _read_share(Slice(str(tmp_path / "a.jsonl.gz"), 0), int(share * n), 1) == expected
    assert _read_share(Slice(str(tmp_path / "a.parquet"), 0), 5, int(share * 1000)) == expected


def test_steps_of_a_run_are_a_list_of_names(tmp_path) -> None:
    """Anything else in run.json was written by somebody else, and is one sentence."""
    assert run_steps(str(tmp_path)) is None
    for steps in ([], ["a", "b"]):
        files.write_json(str(tmp_path / "run.json"), {"steps": steps})
        assert run_steps(str(tmp_path)) == steps
    for wrong in ({"steps": ["a", 1]}, {"steps": "ab"}, {"steps": None}, {}, ["a"], {"steps": {"a": 1}}):
        files.write_json(str(tmp_path / "run.json"), wrong)
        with pytest.raises(CorruptShard, match="does not list the steps of a run"):
            run_steps(str(tmp_path))


@pytest.mark.parametrize(
    ("value", "path", "expected"),
    [({"a": 1}, "b", {"a": 1, "b": "t"}), ({"a": {"b": 1, "c": 2}}, "a.b", {"a": {"b": "t", "c": 2}}),
     (None, "a", {"a": "t"}), (5, "a.b", {"a": {"b": "t"}}), ({"a": [1]}, "a.b.c", {"a": {"b": {"c": "t"}}})],
)  # fmt: skip
def test_a_text_goes_back_to_its_field(value, path, expected) -> None:
    """However deep it was; what is beside it stays, and what was given is not changed."""
    before = json.dumps(value)
    assert _inside(value, path.split("."), "t") == expected
    assert json.dumps(value) == before


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [([1, None], pa.int8(), pa.array([1, None], pa.int8())), (["2024-01-02"], pa.date32(), "2024-01-02"),
     ([1, 300], pa.int8(), pa.array([1, 300])), (["YQ=="], pa.binary(), pa.array(["YQ=="])),
     ([1, "a"], None, ["1", "a"]), ([{"a": 1}, [2], None], None, ['{"a":1}', "[2]", None]),
     ([], pa.int8(), pa.array([], pa.int8())), ([1.5, 2], None, pa.array([1.5, 2.0]))],
)  # fmt: skip
def test_values_of_json_get_their_type_back(values, kind, expected) -> None:
    """If they have it; bytes and values of no one type stay text."""
    found = _column(values, kind)
    if isinstance(expected, pa.Array):
        assert found.equals(expected)
    elif isinstance(expected, list):
        assert found.to_pylist() == expected
    else:
        assert (found.type, str(found[0])) == (kind, expected)


@pytest.mark.parametrize(("n_bytes", "n"), [(1, 1), (3, 1), (4, 2), (6, 2), (7, 3), (99, 3)])
def test_the_head_ends_with_the_batch_that_fills_it(n_bytes, n) -> None:
    """A batch is not cut, and none is read after the one that reaches the size."""
    batches = iter([laws.batch_of(["abc"])] * 3)
    assert len(list(Head(max_bytes=n_bytes)(batches, Ledger("head")))) == n
    assert len(list(batches)) == 3 - n


def test_the_share_of_a_trial_is_that_of_all_inputs() -> None:
    """By their texts together, and at most all."""
    trial = Trial("out", 1)
    trial.inputs += [Sampled(9, 300.0, 30), Sampled(9, 100.0, 70)]
    assert trial.share == pytest.approx(0.25)
    trial.inputs.append(Sampled(9, 1.0, 9_999))
    assert trial.share == 1.0


def test_a_plan_of_too_little_memory_is_refused() -> None:
    """Before any work, also where the limit is not enforced."""
    with pytest.raises(PlanError, match="memory='1MB' is less than the"):
        dp.tools.Serial(memory="1MB").map(len, [[1]])
    assert list(dp.tools.Serial(memory="8GB").map(len, [[1], []])) == [1, 0]


def test_a_filter_is_made_ready_by_its_score() -> None:
    """Its kernels are compiled before workers start."""
    warmed = []

    class Warm(extend.Stage):
        """Notes that it was warmed."""

        def warm(self):
            """Note it."""
            warmed.append(self)

    dp.Score(Warm()).warm()
    assert len(warmed) == 1


def test_a_dataset_without_parts_has_empty_tables(tmp_path) -> None:
    """Of drops and cuts, with their columns."""
    done = dp.Pipeline(dp.Filter(third)).run(Dataset(()), str(tmp_path / "out"))
    assert (done.drops().schema, done.drops().num_rows) == (DROPS, 0)
    assert (done.count, list(done)) == (0, [])


def test_what_is_handed_to_hugging_face(tmp_path, monkeypatch) -> None:
    """The files of a sealed Dataset; a table, if columns are restored, stages wait, or nothing is there."""

    class Taken:
        """Notes what it is made of."""

        def __init__(self, what):
            self.what = what

        from_parquet = classmethod(lambda cls, urls: cls(urls))

    monkeypatch.setattr("dataprep.core.model.documents.need", lambda *_, **__: SimpleNamespace(Dataset=Taken))
    docs = laws.dataset_of(tmp_path, ["a", "b"], parts=1)
    done = dp.Pipeline().run(docs, str(tmp_path / "out"))
    assert done.to_hf().what == [f"{done.url}/data/part-00000-000.parquet"]
    none = dp.Pipeline().run(Dataset(()), str(tmp_path / "none"))
    for other in (docs, done.then(dp.Map(upper)), none):
        assert other.to_hf().what.schema.names == ["id", "text", "source", "meta"]
    assert done.to_hf(restore=True).what.schema.names == ["text"]


def test_the_second_document_is_not_in_an_empty_shard(tmp_path) -> None:
    """The first part lost all of its documents."""
    docs = laws.dataset_of(tmp_path, ["a", "b"], parts=1, rows_per_batch=1)
    part = docs.parts[0]
    halves = [replace(part, slices=(replace(part.slices[0], start=n, stop=n + 1),)) for n in (0, 1)]
    done = dp.Pipeline(dp.Filter(lambda text: text == "b", version="1")).run(docs.of(halves), str(tmp_path / "out"))
    assert [shard.last_id for shard in done.manifest.shards] == [None, 1]
    assert done.text_of(1) == "b"


@pytest.mark.parametrize(("allowed", "stages"), [(0, ()), (1, ()), (None, ()), (0, (dp.Map(upper),))])
def test_bad_files_are_counted_while_documents_are_read(tmp_path, allowed, stages, caplog) -> None:
    """Too many end the iteration; those that are allowed are warned of at its end."""
    files.write_bytes(str(tmp_path / "in" / "a.jsonl"), b'{"text": "a"}\n')
    files.write_bytes(str(tmp_path / "in" / "b.jsonl.gz"), b"none")
    docs = replace(dp.read(str(tmp_path / "in"), on_bad_file="skip").then(*stages), max_bad_files=allowed)
    if allowed == 0:
        with pytest.raises(ReadError, match="b.jsonl.gz"):
            list(docs.batches())
    else:
        assert [row["text"] for row in docs] == ["a"]
        assert caplog.text.count("not read, or not to the end: 1 bad file") == 1
        done = dp.Pipeline().run(docs, str(tmp_path / "out"))
        caplog.clear()
        assert ([row["text"] for row in done], caplog.text) == (["a"], "")


def test_only_sealed_datasets_are_joined(tmp_path) -> None:
    """Token shards are no Dataset."""
    with pytest.raises(PlanError, match="only sealed Datasets can be read together; seal each with"):
        join_datasets([laws.dataset_of(tmp_path, ["a"])])
    files.write_json(str(tmp_path / "tokens" / "manifest.json"), {"kind": "tokens"})
    with pytest.raises(ReadError, match="tokens: manifest.json does not describe a Dataset; to open token shards"):
        dp.open_dataset(f"{tmp_path}/tokens/")
    with pytest.raises(ReadError, match=r"none: there is no sealed Dataset \(no manifest.json\); run the pipeline"):
        dp.open_dataset(str(tmp_path / "none"))
