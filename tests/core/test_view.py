"""`layout="view"`: the same documents, taken from the unchanged input; a copy has the bytes of a plain run."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import dataprep as dp
import laws
from dataprep.core.model import batch as B
from dataprep.core.model import view as view_module
from dataprep.core.model.dataset import join_datasets
from dataprep.core.model.stage import Stage
from dataprep.core.output import pruning
from dataprep.core.output.layout import Folder
from dataprep.errors import CorruptShard, PlanError, ReadError, StaleOutput
from dataprep.history.why import dropped_document, follow, survivor
from dataprep.store import files, hashes, receipts

WORDS = ("first", "нови", "第三", "رابع", "पाँच", "six")
TEXTS = [f"{WORDS[i % 6]} text {i % 17} of some words, {WORDS[i % 6]}" for i in range(60)]


def short(text: str) -> str | None:
    return "short" if " 3 " in text else None


@dataclass(frozen=True, kw_only=True)
class Hiding(Stage):
    """Changes nothing, and hides the input."""

    only_drops = True
    hides = True

    def __call__(self, batches, stats):
        return batches


def rows_of(texts, **more):
    rows = ({"text": text, "n": i, **more} for i, text in enumerate(texts))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@pytest.fixture
def place(tmp_path):
    """JSON Lines, plain and compressed, and Parquet, which have copies of one another's texts."""
    home = tmp_path / "in"
    home.mkdir()
    (home / "a.jsonl").write_text(rows_of(TEXTS) + "no JSON\n", encoding="utf-8")
    (home / "b.jsonl.gz").write_bytes(gzip.compress(rows_of([*TEXTS[:5], *(f"x{text}" for text in TEXTS)]).encode()))
    dp.Pipeline().run(dp.read(str(home / "a.jsonl"), columns=["n"]), str(tmp_path / "sealed"))
    dp.read(str(home / "a.jsonl")).write(str(home / "c.parquet"))
    return tmp_path


def docs_of(place, what):
    """Input of a kind."""
    if what == "view":
        if not (place / "lower").exists():
            dp.Pipeline(dp.Filter(short), layout="view").run(docs_of(place, "sealed"), str(place / "lower"))
        return dp.open_dataset(str(place / "lower"))
    return {
        "json": lambda: dp.read(str(place / "in/*.jsonl*"), columns=["n"]),
        "parquet": lambda: dp.read(str(place / "in/c.parquet")),
        "sealed": lambda: dp.open_dataset(str(place / "sealed")),
        "joined": lambda: join_datasets([dp.open_dataset(str(place / "sealed")), docs_of(place, "view")]),
    }[what]()


def both(place, docs, *stages, runner=None):
    """The same stages as a copy and as a view."""
    plain = dp.Pipeline(*stages).run(docs, str(place / "plain"), runner)
    return plain, dp.Pipeline(*stages, layout="view").run(docs, str(place / "out"), runner)


def same(plain, view):
    """The two Datasets have the same documents, and state the same about them."""
    assert view.table() == plain.table()
    assert view.drops() == plain.drops()
    for field in ("content", "columns", "docs", "bytes", "stats", "key", "inputs", "last_file"):
        assert getattr(view.manifest, field) == getattr(plain.manifest, field), field


def bytes_of(docs):
    return [Path(str(docs.url), shard.name).read_bytes() for shard in docs.manifest.shards]


@pytest.mark.parametrize("what", ["json", "parquet", "joined"])
def test_a_view_has_the_documents_of_a_copy(place, what, monkeypatch):
    """With a filter, so that an input is saved; with a column that a stage adds; and in several shards of a part.

    The joined Datasets are a copy, and a view of it.
    """
    monkeypatch.setattr("dataprep.core.run.seal.SHARD_BYTES", 700)
    monkeypatch.setattr(B, "MAX_ROWS", 8)
    stages = (dp.Filter(short), dp.Exact(annotate="same_"))
    plain, view = both(place, docs_of(place, what), *stages, dp.Exact())
    assert len(view.manifest.shards) > (len(docs_of(place, what).parts) if what in ("json", "parquet") else 1)
    same(plain, view)
    assert view.table(["id", "same_duplicate"]) == plain.table(["id", "same_duplicate"])
    assert view.table(["text"]) == plain.table(["text"])
    pruning.prune(Folder(str(place / "out")))
    assert not any(dp.tools.verify(str(place / "out")).values())
    same(plain, dp.open_dataset(str(place / "out")))
    whole = dp.tools.materialize(str(place / "out"))
    same(plain, whole)
    assert bytes_of(whole) == bytes_of(plain)
    shutil.rmtree(place / "in")
    assert not any(dp.tools.verify(str(place / "out")).values())
    assert whole.manifest.recipe == dp.tools.materialize(str(place / "out")).manifest.recipe


def test_a_view_with_packed_receipts_becomes_a_copy(place, monkeypatch):
    """As the receipts of many parts are; those of the copy are packed too."""
    monkeypatch.setattr(receipts, "MOST_FILES", 0)
    plain, view = both(place, docs_of(place, "json"), dp.Filter(short))
    assert bytes_of(dp.tools.materialize(str(view.url))) == bytes_of(plain)
    packed = [(place / out / "receipts" / "packed.ndjson").read_bytes() for out in ("plain", "out")]
    assert len(packed[0].splitlines()) == len(packed[1].splitlines())
    assert not any(dp.tools.verify(str(view.url)).values())


def test_whatever_opens_a_dataset_opens_a_view(place):
    """As it opens a copy: other libraries, look-up, encoding, a next run, look-up through it, and `forget`."""
    plain, view = both(place, docs_of(place, "json"), dp.Exact())
    assert view.to_pandas().equals(plain.to_pandas())
    assert view.to_arrow(restore=True) == plain.to_arrow(restore=True)
    ids = plain.table(["id"])["id"].to_pylist()
    assert view.text_of(ids[-1]) == plain.text_of(ids[-1])
    assert view.dropped().table() == plain.dropped().table()
    gone = plain.drops()["id"][3].as_py()
    for look in (dropped_document, survivor):
        found = [look(url, follow(url, gone).drops[0]) for url in (str(plain.url), str(view.url))]
        assert found[0] == found[1] is not None
    tokens = [dp.encode(docs, dp.Tokenizer.of_bytes(), str(place / f"t{n}")) for n, docs in enumerate((plain, view))]
    assert tokens[0].n_tokens == tokens[1].n_tokens
    nexts = [dp.Pipeline(dp.Filter(short)).run(docs, str(place / f"next{n}")) for n, docs in enumerate((plain, view))]
    assert nexts[0].table() == nexts[1].table()
    assert nexts[0].dropped().table().to_pylist() == nexts[1].dropped().table().to_pylist()
    for docs in (plain, view):
        dp.tools.forget(str(docs.url), [ids[5]])
    left = [dp.open_dataset(str(docs.url)) for docs in (plain, view)]
    same(*left)
    assert left[1].count == len(ids) - 1
    assert not any(dp.tools.verify(str(view.url)).values())
    assert bytes_of(dp.tools.materialize(str(view.url))) == bytes_of(left[0])


def test_forgotten_documents_of_the_input_are_forgotten_in_a_view(place):
    """The input's shards get other names, under which a view finds them; it refuses those of another result."""
    run = place / "run"
    docs = dp.Pipeline().run(docs_of(place, "json"), str(run / "all"))
    view = dp.Pipeline(dp.Exact(), layout="view").run(docs, str(run / "out"))
    before = view.table()
    dp.tools.forget(str(run), [before["id"][2].as_py()], of="all")
    now = dp.open_dataset(str(run / "out"))
    assert now.table()["id"].to_pylist() == [id_ for i, id_ in enumerate(before["id"].to_pylist()) if i != 2]
    dp.Pipeline(dp.Filter(short)).run(docs_of(place, "json"), str(run / "all"), replace=True)
    with pytest.raises(ReadError, match="this file is missing, from which the view"):
        dp.open_dataset(str(run / "out"))


def test_two_workers_write_the_same_bytes(place):
    """As one does, and copy them."""
    docs = docs_of(place, "json")
    view = dp.Pipeline(dp.Exact(), layout="view").run(docs, str(place / "out"))
    two = dp.tools.Local(2)
    other = dp.Pipeline(dp.Exact(), layout="view").run(docs, str(place / "other"), two)
    assert bytes_of(other) == bytes_of(view)
    whole = dp.tools.materialize(str(place / "other"), two)
    assert bytes_of(whole) == bytes_of(dp.tools.materialize(str(place / "out")))


def test_an_object_store(place):
    """As input and output."""
    data = (place / "in/a.jsonl").read_bytes()
    files.write_bytes("memory://test_view/a.jsonl", data)
    docs = dp.read("memory://test_view/a.jsonl")
    plain = dp.Pipeline(dp.Exact()).run(docs, str(place / "plain"))
    for name in ("out", "kept"):
        same(plain, dp.Pipeline(dp.Exact(), layout="view").run(docs, f"memory://test_view/{name}"))
    assert dp.tools.materialize("memory://test_view/out").table() == plain.table()
    files.write_bytes("memory://test_view/a.jsonl", data[:-1] + b" ")
    with pytest.raises(ReadError, match="has changed"):
        dp.open_dataset("memory://test_view/kept")
    assert dp.open_dataset("memory://test_view/out").table() == plain.table()


def changed(path: Path) -> None:
    """Change the last byte of a file, and no date or size."""
    state, data = path.stat(), path.read_bytes()
    path.write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.mark.parametrize("how", ["missing", "shorter", "changed", "touched"])
def test_a_changed_input_is_noticed(place, how):
    """When the view is opened or read; a file that was only copied or touched is compared, and is the same."""
    _, view = both(place, dp.read(str(place / "in/a.jsonl")), dp.Exact())
    file = place / "in/a.jsonl"
    acts = {
        "missing": file.unlink, "shorter": lambda: file.write_bytes(file.read_bytes()[:-1]),
        "changed": lambda: changed(file), "touched": lambda: os.utime(file),
    }  # fmt: skip
    acts[how]()
    if how == "touched":
        assert dp.open_dataset(view.url).table() == view.table()
        return
    opened = [] if how == "changed" else [view.table, lambda: view[0]]  # of the others, the date tells it
    for read in (*opened, lambda: dp.open_dataset(view.url)):
        said = "" if how == "missing" else ": this file has changed, from which the view"
        with pytest.raises(ReadError, match=rf"a\.jsonl{said}"):
            read()
    assert any(dp.tools.verify(view.url).values())
    if how != "missing":
        assert dp.Pipeline(dp.Exact(), layout="view").run(dp.read(str(file)), view.url).count


def test_verify_reads_the_input(place, monkeypatch):
    """`verify` hashes it, and compares the documents, even if opening a view sees no change."""
    _, view = both(place, dp.read(str(place / "in/a.jsonl")), dp.Exact())
    known = Folder(view.url).origin.files[0].fingerprint
    monkeypatch.setattr(hashes.Hashes, "fingerprint", lambda *_: known)  # as of a file whose dates were forged
    monkeypatch.setattr(view_module, "_is_later", lambda *_: False)
    text = (place / "in/a.jsonl").read_text(encoding="utf-8")
    (place / "in/a.jsonl").write_text(text.replace("text 5", "text 8"), encoding="utf-8")
    names = {problem.file.rpartition("/")[2] for problem in dp.tools.verify(view.url)[view.url]}
    assert names == {"a.jsonl", "part-00000-000.parquet"}
    with pytest.raises(CorruptShard, match="has other documents"):
        dp.tools.materialize(view.url)
    (place / "in/a.jsonl").write_text(text[: len(text) // 4], encoding="utf-8")
    with pytest.raises(ReadError, match="no longer has"):
        view.table()


def test_what_cannot_be_a_view_is_one_sentence(place):
    """Stages that change or hide texts, in the Pipeline, before it, or in the input; a wrong layout; a codec."""
    docs = docs_of(place, "json")
    far = replace(docs.parts[0].slices[0], url="https://me:word@host/a.jsonl")
    cases = [
        (docs, [dp.C4()], "C4 changes texts"),
        (docs, [dp.Exact(unit="line")], "Exact changes texts"),
        (docs, [dp.PII()], "PII changes texts"),
        (docs, [dp.Map(lambda text: text)], "changes texts"),
        (docs.then(dp.C4()), [dp.Exact()], "C4 changes texts"),
        (dp.read([{"text": "one"}]), [dp.Exact()], "a table in memory has no file"),
        (laws.dataset_of(place, TEXTS), [dp.Exact()], "a reader of your own reads"),
        (docs, [Hiding(), dp.Exact()], "Hiding hides the input"),
        (dp.Pipeline(Hiding()).run(docs, str(place / "hidden")), [dp.Exact()], "a stage that made it hides the input"),
        (docs.of([replace(docs.parts[0], slices=(far,))]), [], "is a URL with a password"),
    ]
    for given, stages, what in cases:
        with pytest.raises(PlanError, match=f"layout='view' keeps the texts in the input only, and .*{what}"):
            dp.Pipeline(*stages, layout="view").run(given, str(place / "out"))
    assert not (place / "out").exists()
    with pytest.raises(PlanError, match=r"layout='vew' must be one of 'copy', 'view'"):
        dp.Pipeline(layout="vew")
    with pytest.raises(PlanError, match="codec='lz4' has no effect on a view"):
        dp.Pipeline(layout="view", codec="lz4")
    assert repr(dp.Pipeline(layout="view")) == "Pipeline(layout='view')"


def test_a_view_and_a_copy_are_two_results(place):
    """Neither replaces the other unasked; decisions are not made again."""
    docs = docs_of(place, "json")
    dp.Pipeline(dp.Exact()).run(docs, str(place / "out"))
    with pytest.raises(StaleOutput, match="'zstd' and is now 'view'"):
        dp.Pipeline(dp.Exact(), layout="view").run(docs, str(place / "out"))
    view = dp.Pipeline(dp.Exact(), layout="view").run(docs, str(place / "out"), replace=True)
    assert view.manifest.codec == "view"
    assert dp.Pipeline(dp.Exact(), layout="view").run(docs, str(place / "out")).table() == view.table()
    lost = place / "out" / view.manifest.shards[0].name
    before = lost.read_bytes()
    lost.unlink()
    dp.Pipeline(dp.Exact(), layout="view").run(docs, str(place / "out"))
    assert lost.read_bytes() == before
    dp.tools.materialize(str(place / "out"))
    same(dp.Pipeline(dp.Exact()).run(docs, str(place / "plain")), dp.Pipeline(dp.Exact()).run(docs, str(place / "out")))
