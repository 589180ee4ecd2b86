"""What the audit of a folder reads from each kind of file, what it counts, and how it names what it found."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
import laws
from dataprep import extend
from dataprep.core.output.audit import (
    BATCH,
    BATCH_BYTES,
    BYTES,
    CELL,
    FRAGMENT,
    TEXT,
    Finding,
    Strings,
    audit,
    strings_of,
)
from dataprep.core.run.context import Context
from dataprep.core.run.trial import Trial
from dataprep.errors import Leak


@dataclass(frozen=True)
class Finds:
    """Finds words in strings; those in `stays` may stay."""

    words: tuple[str, ...] = ("secret",)
    stays: tuple[str, ...] = ()

    def __call__(self, strings):
        """Each value that contains a word."""
        for row, value in enumerate(strings.values):
            for word in (*self.words, *self.stays):
                if word in value:
                    yield Finding(word, row, word in self.stays)


def column(values, kind=None):
    """The strings of a file with one column."""
    return pa.table({"c": pa.array(values, kind)})


LETTERS = pa.dictionary(pa.int32(), pa.string())
COLUMNS = {
    "text": (column(["a", None, "b"]), [("column c", ["a", "", "b"])]),
    "large text": (column(["a", None], pa.large_string()), [("column c", ["a", ""])]),
    "bytes": (column([b"a", None, b"\xff"], pa.binary()), [("column c", ["a", "", "\ufffd"])]),
    "large bytes": (column([b"a"], pa.large_binary()), [("column c", ["a"])]),
    "bytes of one size": (column([b"ab", None], pa.binary(2)), [("column c", ["ab", ""])]),
    "views": (column(["a"], pa.string_view()), [("column c", ["a"])]),
    "pairs": (column([["a", "b"], ["c", "d"]], pa.list_(pa.string(), 2)), [("column c", ["a", "b", "c", "d"])]),
    "coded": (pa.table({"c": pa.array(["a", "b", "a"]).dictionary_encode()}), [("column c", ["a", "b", "a"])]),
    "list": (column([["a"], [], ["b", "c"]]), [("column c", ["a", "b", "c"])]),
    "large list": (column([["a"], ["b"]], pa.large_list(pa.string())), [("column c", ["a", "b"])]),
    "list of coded": (column([["a"], ["b"]], pa.list_(LETTERS)), [("column c", ["a", "b"])]),
    "struct": (column([{"x": "a", "y": 1}]), [("column c.x", ["a"])]),
    "deep": (column([[{"x": [{"y": "a"}]}]]), [("column c.x.y", ["a"])]),
    "map": (column([[("k", "a"), ("l", "b")]], pa.map_(pa.string(), pa.string())),
            [("column c", ["k", "l"]), ("column c", ["a", "b"])]),
    "numbers": (column([1, 2]), []),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_every_string_of_a_column_is_read(tmp_path, name) -> None:
    """Whatever it lies in, each string of each row is there, as a cell."""
    table, expected = COLUMNS[name]
    try:
        pq.write_table(table, tmp_path / "a.parquet")
    except pa.ArrowNotImplementedError:
        pytest.skip("this version of pyarrow writes no views")
    schema, *found = strings_of(str(tmp_path / "a.parquet"))
    assert (schema.place, schema.how, schema.values[0]) == ("the schema", CELL, "c")
    assert [(s.place, s.values) for s in found] == expected
    assert {(s.how, s.first) for s in found} <= {(CELL, 0)}


def test_long_texts_are_searched_a_few_at_a_time(tmp_path) -> None:
    """A search holds a text many times over, so it gets about BATCH_BYTES of them; the row that is named is right."""
    pq.write_table(pa.table({"c": ["x" * (BATCH_BYTES // 3)] * 7}), tmp_path / "a.parquet", use_dictionary=False)
    _, *found = strings_of(str(tmp_path / "a.parquet"))
    assert [(s.first, len(s.values)) for s in found] == [(0, 2), (2, 2), (4, 2), (6, 1)]


def test_rows_are_counted_over_batches(tmp_path) -> None:
    """The row that is named is that of the file; names of columns and what the schema carries are read, too."""
    n = 2 * BATCH + 3
    table = pa.table({"secret column": ["x"] * (n - 1) + ["a secret"]}).replace_schema_metadata({"who": "made by me"})
    pq.write_table(table, tmp_path / "a.parquet")
    schema, *found = strings_of(str(tmp_path / "a.parquet"))
    assert "made by me" in schema.values[1]
    assert [s.first for s in found] == [0, BATCH, 2 * BATCH]
    assert sum(len(s.values) for s in found) == n
    with pytest.raises(Leak, match=r"is left in a\.parquet, the schema, value 1: 'secret'; hide or"):
        audit(str(tmp_path), Finds(), dp.tools.Serial())
    pq.write_table(table.rename_columns(["c"]), tmp_path / "a.parquet")
    with pytest.raises(Leak, match=rf"is left in a\.parquet, column c, value {n:,}: 'secret'; hide or"):
        audit(str(tmp_path), Finds(), dp.tools.Serial())


FILES = {
    "a.json": (json.dumps({"k": ["v", {"x": None, "y": 1.5}], "n": [12, True]}),
               [("the JSON", CELL, {"k", "n", "v", "x", "y", "12", "True"})]),
    "a.jsonl": ('{"a": 1}\n["b"]\nno JSON\n',
                [("line 1", CELL, {"a", "1"}), ("line 2", CELL, {"b"}), ("line 3", CELL, {"no JSON"})]),
    "tokenizer.json": ('{"vocab": {"ab": 3}}', [("the JSON", FRAGMENT, {"vocab", "ab", "3"})]),
    "a.html": ("<p>one &amp; <b> two</b></p>",
               [("the page", CELL, {"", "one &", "two"}), ("the page", TEXT, {"<p>one & <b> two</b></p>"})]),
    "a.bin": ("any", [("the bytes", BYTES, {"any"})]),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_string_of_a_file_is_read(tmp_path, name) -> None:
    """Keys, values and integers of JSON, cells and the whole of a page, the bytes of any other file."""
    text, expected = FILES[name]
    (tmp_path / name).write_text(text)
    found = [(s.place, s.how, set(s.values)) for s in strings_of(str(tmp_path / name))]
    assert found == expected
    assert {s.first for s in strings_of(str(tmp_path / name))} == {0}


def test_what_may_stay_is_counted(tmp_path) -> None:
    """Over all files and their names; skipped files and the lease are not read."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mama.json").write_text('["mama", "mama", "Jo"]')
    (tmp_path / "b.txt").write_text("mama and Jo")
    (tmp_path / "skipped.txt").write_text("secret")
    (tmp_path / ".dataprep-lease").write_text("secret")
    folder, search = str(tmp_path), Finds(stays=("mama", "Jo"))
    assert audit(folder, search, dp.tools.Serial(), skip=["skipped.txt"]) == Counter({"mama": 4, "Jo": 2})
    with pytest.raises(Leak, match=r"is left in skipped\.txt, the bytes, value 1: 'secret'; hide or"):
        audit(folder, search, dp.tools.Serial())


def test_the_first_leak_is_named_and_the_others_are_counted(tmp_path) -> None:
    """Names of files come first, then files; each file counts once."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("secret secret")
    folder = str(tmp_path)
    with pytest.raises(Leak, match=r"left in a\.txt, the bytes, value 1: 'secret' \(and in 1 more files\); hide or"):
        audit(folder, Finds(), dp.tools.Serial())
    (tmp_path / "secret.txt").write_text("")
    with pytest.raises(Leak, match=r"left in the names of files, value \d: 'secret' \(and in 2 more files\); hide or"):
        audit(folder, Finds(), dp.tools.Serial())


def test_the_documents_are_named_before_what_quotes_them(tmp_path) -> None:
    """A leak of a text is also in the statistics; of an address, the sentence says how all are replaced."""
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table({"text": ["a secret"]}), tmp_path / "data" / "a.parquet")
    (tmp_path / "a.json").write_text('["a secret"]')
    with pytest.raises(Leak, match=r"is left in data/a\.parquet, column text, value 1: .* \(and in 1 more") as told:
        audit(str(tmp_path), Finds(), dp.tools.Serial())
    assert "pii=True" not in str(told.value)
    for one in ("rose@example.org", "36301234987"):
        with pytest.raises(Leak, match="replace all addresses and numbers with pii=True"):
            audit(str(tmp_path), lambda _, one=one: [Finding(one, 0, stays=False)], dp.tools.Serial())


def test_a_format_may_have_its_own_scan(tmp_path) -> None:
    """A scan is chosen by the end of the name, and replaces what would be read."""
    (tmp_path / "a.ids").write_text("secret")
    own = {".ids": lambda url: [Strings(f"tokens of {url.rpartition('/')[2]}", FRAGMENT, ["hidden"])]}
    assert audit(str(tmp_path), Finds(), dp.tools.Serial(), scans=own) == Counter()
    with pytest.raises(Leak, match=r"left in a\.ids, tokens of a\.ids, value 1: 'hidden'; hide or"):
        audit(str(tmp_path), Finds(("hidden",)), dp.tools.Serial(), scans=own)


@dataclass(frozen=True, kw_only=True)
class Hides(extend.Stage):
    """Hides what is before it, and knows a secret; the texts stay as they are."""

    hides: ClassVar[bool] = True

    def __call__(self, batches, stats):
        """Yield the same documents."""
        yield from batches

    def secrets(self):
        """Return the search for the secret."""
        return Finds()


@dataclass(frozen=True, kw_only=True)
class Learns(extend.Estimator):
    """Learns the secret from the texts."""

    hides: ClassVar[bool] = True

    def fit(self, docs, runner, out):
        """Return the stage that hides."""
        return Hides()


@pytest.mark.parametrize("stage", [Hides(), Learns()], ids=["stage", "fitted"])
@pytest.mark.parametrize("after", [(), (dp.Exact(),)], ids=["last", "before an estimator"])
def test_a_secret_ends_the_run(tmp_path, stage, after) -> None:
    """Whether the stage knows it from the beginning or after `fit`; the folder is not completed."""
    texts = ["one", "a secret", "two"]
    with pytest.raises(Leak, match="'secret'"):
        dp.Pipeline(stage, *after).run(laws.dataset_of(tmp_path, texts), str(tmp_path / "out"))
    assert not (tmp_path / "out" / "manifest.json").exists()
    (tmp_path / "clean").mkdir()
    done = dp.Pipeline(stage, *after).run(laws.dataset_of(tmp_path / "clean", ["one", "two"]), str(tmp_path / "done"))
    assert done.count == 2


def test_a_trial_searches_too_and_warns(tmp_path, caplog) -> None:
    """So that the time of the search is estimated, and a leak is known before the run."""
    trial = Trial(str(tmp_path), 1000)
    done = dp.Pipeline(Hides()).run(
        laws.dataset_of(tmp_path, ["a secret"]), str(tmp_path / "out"), Context(dp.tools.Serial(), trial)
    )
    assert done.count == 1
    assert "audit" in [one.label for one in trial.passes]
    assert [m for m in caplog.messages if m.startswith("a run would stop here: ") and "'secret'" in m]


def keep_all(text):
    """Drop nothing."""


def test_what_comes_after_a_hiding_stage_stays(tmp_path) -> None:
    """Its saved steps, also when the finished folder is opened again; statistics by source begin behind it."""
    docs, out = laws.dataset_of(tmp_path, ["one", "two", "two"]), str(tmp_path / "out")
    stages = (dp.Filter(keep_all), Hides(), dp.Exact(), dp.Filter(keep_all, version="2"))
    for _ in range(2):
        done = dp.Pipeline(*stages).run(docs, out)
        assert [p.name[:8] for p in (tmp_path / "out" / "steps").iterdir()] == ["03-Exact"]
        names = [(stage.name, sorted(stage.into)) for stage in done.stats]
        assert names[-2:] == [("Exact", ["one", "two"]), ("keep_all #2", ["one", "two"])]
        assert {tuple(sources) for name, sources in names[:-2]} == {("hidden",)}
        assert len(names) >= 4
