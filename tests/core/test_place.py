"""Folders that are not for results: every function that writes a folder refuses them before any work."""

import contextlib
import gzip
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
from dataprep import pipeline_file
from dataprep.core.output import owned
from dataprep.errors import DataprepError, PlanError, StaleOutput
from dataprep.forget.family import Family
from dataprep.persona import persona
from dataprep.tokens.shards.writer import save
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

BYTES = Tokenizer.of_bytes()


def docs(home):
    """A file of three texts."""
    (home / "in").mkdir(exist_ok=True)
    (home / "in" / "a.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n{"text": "three"}\n')
    return dp.read(str(home / "in" / "a.jsonl"))


def shards(home):
    """Some token shards."""
    return save(home / "shards", {"train": [[1, 2, 3]] * 9, "val": [[1, 2]]}, vocab_size=257, eot=256).path


WRITERS = {
    "run": lambda home, out: dp.Pipeline().run(docs(home), out),
    "encode": lambda home, out: dp.encode(docs(home), BYTES, out),
    "train_bpe": lambda home, out: dp.train_bpe(docs(home), 260, out=out, val=0.0),
    "mix": lambda home, out: dp.Mix({"a": 1}).write({"a": shards(home)}, out),
    "export": lambda home, out: dp.tools.export(shards(home), "nanogpt", out),
    "import": lambda home, out: dp.tools.import_tokens(
        dp.tools.export(shards(home), "nanogpt", home / "n")[0], BYTES, out
    ),
    "persona": lambda home, out: persona(str(docs(home).parts[0].slices[0].url), "Ilse", out),
    "steps": lambda home, out: list(pipeline_file.execute([], out, None)),
    "forget": lambda home, out: dp.tools.forget(out),
}
PLACES = {"/": "the root of all", "file:///": "the root of all", "~": "the home folder", "code": "the root of a"}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("job", WRITERS)
def test_places_that_are_not_for_results(tmp_path, monkeypatch, job, place):
    """The root of all files, the home folder and the root of a project are named; nothing is written there."""
    (tmp_path / "home").mkdir()
    (tmp_path / "code" / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    out = {"~": f"{tmp_path}/home/", "code": f"{tmp_path}/code"}.get(place, place)
    roots = sorted(os.listdir("/"))
    with pytest.raises(PlanError, match=f"is {PLACES[place]}|holds the input"):
        WRITERS[job](tmp_path, out)
    assert os.listdir(tmp_path / "home") == []
    assert os.listdir(tmp_path / "code") == [".git"]
    assert sorted(os.listdir("/")) == roots


@pytest.mark.parametrize("job", ["run", "encode", "train_bpe", "persona"])
def test_a_folder_around_the_input_is_refused(tmp_path, monkeypatch, job):
    """A folder that holds the input is no folder for results, also through a link."""
    os.symlink(tmp_path, tmp_path / "link")
    for out in (str(tmp_path), str(tmp_path / "link")):
        with pytest.raises(PlanError, match="holds the input .*; choose another folder as out"):
            WRITERS[job](tmp_path, out)
    assert sorted(os.listdir(tmp_path)) == ["in", "link"]


def test_results_may_be_under_version_control(tmp_path):
    """A folder that has results already may have .git."""
    out = tmp_path / "out"
    dp.encode(docs(tmp_path), BYTES, out, val=0.0)
    (out / ".git").mkdir()
    assert dp.encode(docs(tmp_path), BYTES, out, val=0.4, replace=True).manifest.documents == 3


def test_a_failed_call_leaves_no_empty_folder(tmp_path):
    """Neither the output folder nor the folders around it that were created for it remain."""
    docs(tmp_path)
    with pytest.raises(PlanError, match="these files have no authors"):
        persona(str(tmp_path / "in"), "Nobody", tmp_path / "deep" / "er" / "persona", format="jsonl")
    assert os.listdir(tmp_path) == ["in"]


@pytest.mark.parametrize("name", ["train-00007.bin", "val-00000.msk", "test-00000.docs.parquet"])
@pytest.mark.parametrize("job", ["encode", "mix", "import"])
def test_shards_of_others_are_neither_deleted_nor_replaced(tmp_path, job, name):
    """A file with the name of a shard that dataprep did not write is named before the folder is used."""
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_bytes(b"mine")
    with pytest.raises(StaleOutput, match=rf"holds {name}, which dataprep did not write"):
        WRITERS[job](tmp_path, out)
    assert os.listdir(out) == [name]
    os.unlink(out / name)
    WRITERS[job](tmp_path, out)
    (out / name).write_bytes(b"mine")
    WRITERS[job](tmp_path, out)  # the finished result is opened
    assert (out / name).read_bytes() == b"mine"


@pytest.mark.parametrize("job", ["encode", "mix", "import"])
def test_a_tokenizer_of_others_is_not_replaced(tmp_path, job):
    """Shards are not written over another tokenizer, which may have taken hours; the same one may be there."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "tokenizer.json").write_bytes(b"mine")
    if job == "mix":
        dp.encode(docs(tmp_path), BYTES, tmp_path / "e", val=0.0)
    write = {**WRITERS, "mix": lambda home, out: dp.Mix({"a": 1}).write({"a": home / "e"}, out)}[job]
    with pytest.raises(StaleOutput, match=r"tokenizer.json belongs to another tokenizer; choose another folder as out"):
        write(tmp_path, out)
    assert (out / "tokenizer.json").read_bytes() == b"mine"
    (out / "tokenizer.json").write_bytes(BYTES.file)
    write(tmp_path, out)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
def test_a_folder_of_another_tokenizer_is_kept(tmp_path, name):
    """train_bpe and save name it; folders of dataprep's, with a journal or without, may be written again."""
    for k, write in enumerate((lambda out: dp.train_bpe(docs(tmp_path), 260, out=out, val=0.0), BYTES.save)):
        out = tmp_path / str(k)
        out.mkdir()
        (out / name).write_text('{"mine": 1}')
        with pytest.raises(StaleOutput, match=f"{name} belongs to another tokenizer; choose another folder"):
            write(out)
        assert (out / name).read_text() == '{"mine": 1}'
        (out / name).unlink()
        write(out)
        Tokenizer.of_bytes("chatml").save(out)
        dp.train_bpe(docs(tmp_path), 259, out=out, val=0.0)
        BYTES.save(out)


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("nanogpt", "train.bin"), ("nanogpt", "tokenizer.json"), ("megatron", "train_document.idx"),
        ("llmc", "train_000000.bin"),
    ],
)  # fmt: skip
def test_exports_do_not_replace_files_of_others(tmp_path, form, name):
    """A file that an export writes is named if somebody else put it there; the export itself is done again."""
    dp.encode(docs(tmp_path), BYTES, tmp_path / "e", val=0.4)
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_bytes(b"mine")
    with pytest.raises(StaleOutput, match=f"{name}(, which dataprep did not write| belongs to another tokenizer)"):
        dp.tools.export(tmp_path / "e", form, out)
    assert (out / name).read_bytes() == b"mine"
    (out / name).unlink()
    dp.tools.export(tmp_path / "e", form, out)
    os.unlink(out / ".dataprep-journal")  # as in a copy without hidden files
    shutil.rmtree(tmp_path / "e")
    dp.encode(docs(tmp_path), BYTES, tmp_path / "e", val=0.4, split_seed=3)
    assert dp.tools.export(tmp_path / "e", form, out)


def test_shards_without_a_journal_are_replaced(tmp_path):
    """The shards that a manifest names are dataprep's, also in a folder without a journal."""
    made = save(tmp_path / "out", {"train": [[1, 2, 3]] * 9}, vocab_size=257, eot=256, shard_tokens=8)
    assert len(made.shards) > 2
    dp.encode(docs(tmp_path), BYTES, tmp_path / "out", val=0.0, replace=True)
    assert [name for name in os.listdir(tmp_path / "out") if name.endswith(".bin")] == ["train-00000.g2.bin"]


def test_copied_shards_in_a_folder_of_results_are_replaced(tmp_path):
    """Copied without hidden files into a run's folder, shards are known by their manifest; the run still keeps them."""
    run = dp.Pipeline().run(docs(tmp_path), str(tmp_path / "run"))
    save(tmp_path / "made", {"train": [[1, 2, 3]] * 9}, vocab_size=257, eot=256, shard_tokens=8)
    shutil.copytree(tmp_path / "made", tmp_path / "run" / "copy", ignore=shutil.ignore_patterns(".*"))
    out = tmp_path / "run" / "copy"
    assert "copy/train-00000.bin" in owned.foreign(run.url, ["copy"])
    dp.encode(docs(tmp_path), BYTES, out, val=0.0, replace=True)
    assert [name for name in os.listdir(out) if name.endswith(".bin")] == ["train-00000.g2.bin"]


def test_the_family_of_a_folder_is_found_without_its_other_files(tmp_path):
    """Hidden folders and links are left out when results are searched."""
    made = dp.Pipeline().run(docs(tmp_path), str(tmp_path / "runs" / "a"))
    dp.Pipeline().run(docs(tmp_path), str(tmp_path / "runs" / ".hidden"))
    os.symlink("a", tmp_path / "runs" / "link")
    assert [one.folder.url for one in Family(str(tmp_path / "runs")).members] == [made.url]


STATE = (".dataprep-journal", ".dataprep-lease", "recipe.json", "manifest.json", "origin.json")


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
@pytest.mark.parametrize("name", STATE)
def test_strange_files_of_state(tmp_path, name, kind):
    """A link, a pipe or a folder in place of a file of state: one sentence or a result; the link's target stays."""
    out, target = tmp_path / "out", tmp_path / "mine.txt"
    out.mkdir()
    target.write_text('{"mine": 1}')
    make = {"link": lambda: os.symlink(target, out / name), "pipe": lambda: os.mkfifo(out / name)}
    make.get(kind, (out / name).mkdir)()
    given = docs(tmp_path)
    for job in (lambda: dp.Pipeline().run(given, str(out)), lambda: dp.encode(given, BYTES, out, val=0.0)):
        with contextlib.suppress(DataprepError):
            assert job()
    assert target.read_text() == '{"mine": 1}'


OTHERS = {
    "text": b"my thesis", "row": b'{"id": "a1", "text": "x"}\n', "list": b"[1]\n", "blank": b"\n{}", "cut": b'{"id": "',
    "gzip": gzip.compress(b'{"text": "x"}\n'), "damaged": gzip.compress(b"x" * 99)[:20], "zstd": b"\x28\xb5\x2f\xfdx",
    "parquet": b"PAR1 and no more", "bytes": b"\x00\xff\x1f",
}  # fmt: skip


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.parquet", "a"])
def test_documents_replace_documents_only(tmp_path, name):
    """What `write` wrote is replaced, also if it has no document; a file of somebody else is named, and stays."""
    place = tmp_path / name
    for _ in range(2):
        docs(tmp_path).write(str(place))
    whole = place.read_bytes()
    dp.Pipeline(dp.Filter(_none)).run(docs(tmp_path), str(tmp_path / "out")).write(str(place))
    assert place.read_bytes() != whole
    docs(tmp_path).write(str(place))
    assert place.read_bytes() == whole
    for theirs in OTHERS.values():
        place.write_bytes(theirs)
        with pytest.raises(StaleOutput, match=f"{name} exists and does not contain documents that dataprep wrote"):
            docs(tmp_path).write(str(place))
        assert place.read_bytes() == theirs
    pq.write_table(pa.table({"id": [1], "text": ["x"]}), place)
    with pytest.raises(StaleOutput, match="exists and does not contain"):
        docs(tmp_path).write(str(place))


def test_documents_are_not_written_into_their_dataset(tmp_path):
    """A new file beside its shards is refused, and so is one in any folder that is the Dataset's."""
    made = dp.Pipeline().run(docs(tmp_path), str(tmp_path / "out"))
    for name in ("data/new.parquet", "drops/new.jsonl"):
        with pytest.raises(PlanError, match=f"{name} is one of the input files"):
            made.write(str(tmp_path / "out" / name))


def _none(text):
    return False


def test_a_pipe_in_a_folder_of_input_is_left_out(tmp_path):
    """Nobody writes into it, so that reading would wait for ever."""
    home = os.path.dirname(docs(tmp_path).parts[0].slices[0].url)
    os.mkfifo(os.path.join(home, "b.jsonl"))
    done = dp.Pipeline().run(dp.read(home), str(tmp_path / "out"))
    assert (done.count, len(done.unread())) == (3, 1)


def test_forget_takes_a_file_url(tmp_path):
    """As every other function does."""
    made = dp.Pipeline().run(docs(tmp_path), str(tmp_path / "run"))
    assert dp.tools.forget(f"file://{made.url}", ["0:0"]).removed == {made.url: 1}


def test_clean_of_a_home_folder_is_refused(dataprep, tmp_path, monkeypatch):
    """Or everything that dataprep wrote anywhere would be deleted."""
    dp.Pipeline().run(docs(tmp_path), str(tmp_path / "home" / "run"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    code, _, err = dataprep("prune", "--all", tmp_path / "home")
    assert (code, len(err.splitlines())) == (1, 1)
    assert "is the home folder" in err
    assert (tmp_path / "home" / "run" / "manifest.json").exists()
