"""The command line: what a person types first, what they see, and how it says no."""

from __future__ import annotations

import importlib.util
import re
import sys

import pytest

import dataprep as dp
from dataprep import __version__, cli
from dataprep.core.model.batch import parse_id, show_id
from dataprep.history import clusters, why
from dataprep.store import lease

PIPELINE = '''
"""A small pipeline for the tests."""
import dataprep as dp

SAMPLES = {samples!r}


def ingest(out, runner):
    parts = []
    for names in (["articles.jsonl", "letters.jsonl.gz"], ["news.jsonl.zst"]):
        docs = dp.read([SAMPLES + "/" + name for name in names])
        parts.append(dp.Pipeline().run(docs, out=f"{{out}}-{{len(parts)}}", runner=runner))
    return dp.Pipeline().run(dp.read(parts), out=out, runner=runner)


def too_short(text: str):
    return "too_short" if len(text) < 500 else None


def filter(ingest, out, runner):
    return dp.Pipeline(dp.Filter(too_short)).run(ingest, out=out, runner=runner)


def dedup_exact(filter, out, runner):
    return dp.Pipeline(dp.Exact()).run(filter, out=out, runner=runner)


def dedup_minhash(dedup_exact, out, runner):
    return dp.Pipeline(dp.MinHash(threshold=0.8)).run(dedup_exact, out=out, runner=runner)


def encode(dedup_minhash, out, runner):
    tokenizer = dp.train_bpe(dedup_minhash, vocab_size=500, val=0.1, runner=runner)
    return dp.encode(dedup_minhash, tokenizer, out=out, val=0.1, runner=runner)
'''

TRAIN = """

def train(encode, out):
    return dp.train(encode, out=out, settings=["steps=7"]).bits_per_byte
"""


@pytest.fixture(scope="module")
def pipeline(samples, tmp_path_factory):
    """A pipeline file over the samples."""
    place = tmp_path_factory.mktemp("pipeline") / "small.py"
    place.write_text(PIPELINE.format(samples=str(samples)))
    return place


@pytest.fixture(scope="module")
def finished(pipeline, tmp_path_factory):
    """A finished run of it."""
    from dataprep import pipeline_file
    from dataprep.core.run.runner import Serial

    out = tmp_path_factory.mktemp("finished")
    list(pipeline_file.execute(pipeline_file.load(str(pipeline)), str(out), Serial()))
    return out


def test_version(dataprep):
    """--version prints the version."""
    assert dataprep("--version") == (0, f"dataprep {__version__}\n", "")


def test_run_shows_the_books_of_every_step(dataprep, pipeline, tmp_path):
    """`run --to` runs the step (dashes or underscores), prints what was dropped, and says where to look."""
    code, said, _ = dataprep("run", pipeline, "--to", "dedup-exact", "--out", tmp_path / "out")
    assert code == 0
    assert re.search(r"too_short.*-6\b", said), said
    assert "dedup_exact" in said
    assert "dedup_minhash" not in said
    assert f"dataprep inspect {tmp_path / 'out'}" in said


def test_two_workers_write_the_same_bytes(dataprep, pipeline, finished, tmp_path):
    """Functions of a pipeline file travel to worker processes, and the shards are the same bytes."""
    out = tmp_path / "out"
    code, _, said = dataprep("run", pipeline, "--to", "filter", "--workers", "2", "--out", out)
    assert code == 0, said
    shards = sorted((out / "filter" / "data").iterdir())
    assert len(shards) == 2
    for shard in shards:
        assert shard.read_bytes() == (finished / "filter" / "data" / shard.name).read_bytes()


def test_second_run_does_nothing_again(dataprep, pipeline, finished):
    """With valid receipts no file is written again, and each step says so; a report is always written."""
    before = {p: p.stat().st_mtime_ns for p in finished.rglob("*.parquet")}
    code, said, _ = dataprep("run", pipeline, "--out", finished)
    assert code == 0
    times = re.findall(r"^[\d.]+ s(.*)$", said, re.MULTILINE)
    assert times == [", done before"] * len(times) != []
    assert {p: p.stat().st_mtime_ns for p in finished.rglob("*.parquet")} == before


def test_inspect_tells_by_source_and_shows_examples(dataprep, finished):
    """`inspect` has a line a source, the reasons under it, and an example that can be typed into `why`."""
    code, said, _ = dataprep("inspect", finished, "--examples", "3")
    assert code == 0
    for word in ("articles", "letters", "news", "too_short", "Exact", "MinHash", "a vocabulary of 500"):
        assert word in said, word
    assert re.search(r"\d+:\d+ for \d+:\d+ \(0\.\d\d\d\)", said), "a near-duplicate example names its survivor"


def test_why_follows_the_trail(dataprep, finished):
    """`why` names the stage, the reason, the survivor and where it is kept, and shows both texts."""
    pair = clusters.least_similar(str(finished), 1)[0]
    code, said, _ = dataprep("why", finished, pair.id)
    assert code == 0
    assert "was dropped by MinHash: near_duplicate" in said
    assert f"similarity {pair.similarity:.3f}" in said
    assert "is kept in" in said
    text = why.find_document(str(finished), pair.id)["text"].split()[0]
    assert said.count(text) >= 2


def test_why_of_a_document_that_stays(dataprep, finished):
    """A document that nobody dropped is said to be kept, whichever way its id is written."""
    code, said, _ = dataprep("why", finished, "0:0")
    assert code == 0 or parse_id("0:0") == 0
    kept = next(iter(_ids(finished)))
    code, said, _ = dataprep("why", finished, kept)
    assert code == 0
    assert "is kept in" in said
    assert "dropped" not in said


def _ids(finished):
    from dataprep import open_dataset

    return open_dataset(str(finished / "dedup_minhash")).table(["id"]).column("id").to_pylist()


def test_plan_estimates_a_pipeline_and_plain_input(dataprep, pipeline, finished, samples, tmp_path, monkeypatch):
    """`plan` tries a sample of a pipeline file or of input files; tells passes, disk, memory, earlier results."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "small").symlink_to(finished)
    (tmp_path / "small.py").write_text(pipeline.read_text() + TRAIN)
    code, said, _ = dataprep("plan", tmp_path / "small.py", "--sample-mb", "1", "--mfu", "0.25")
    assert code == 0
    if importlib.util.find_spec("torch"):
        assert re.search(r"^train: [\d,]+ parameters, 3,584 tokens in 7 steps \(", said, re.MULTILINE)
        assert re.search(r"^H100 +0\.\d +80 +4 +0 s$", said, re.MULTILINE)
        assert "time at 25% MFU" in said
    assert re.search(r"dedup_minhash +\d", said)
    assert "of memory, fits into" in said
    assert re.search(r"out/small has results of ingest, .*encode: a run there recreates only", " ".join(said.split()))
    assert re.search(r"until the new one is complete: up to [\d.]+ .?B of disk in addition", " ".join(said.split()))
    code, said, _ = dataprep("plan", samples / "articles.jsonl")
    assert code == 0
    assert "a run there" not in said
    assert re.search(r"^read +1 ", said, re.MULTILINE)


def test_plan_scales_by_size(tmp_path):
    """The text of a corpus is estimated from a sample of it within a tenth, compressed or not."""
    import gzip
    import json

    import numpy as np

    from dataprep import read
    from dataprep.core.run.trial import Trial

    rng = np.random.default_rng(3)
    words = np.array(["stone", "river", "lamp", "quiet", "a", "the", "of", "harbour"])
    lines = [json.dumps({"text": " ".join(rng.choice(words, 200))}) for _ in range(4_000)]
    text = sum(len(json.loads(line)["text"]) for line in lines)
    (tmp_path / "plain.jsonl").write_text("\n".join(lines) + "\n")
    with gzip.open(tmp_path / "packed.jsonl.gz", "wt") as f:
        f.write("\n".join(lines) + "\n")
    for name in ("plain.jsonl", "packed.jsonl.gz"):
        trial = Trial(str(tmp_path / "out"), 1 << 20)
        trial.sample(read(str(tmp_path / name)))
        assert trial.inputs[0].text == pytest.approx(text, rel=0.1), name


def test_clean_removes_steps_and_why_says_so(dataprep, samples, tmp_path):
    """After `clean` the result is still there; `why` tells the reason, and that there is no text."""
    import dataprep as dp

    def shorter(text: str) -> str:
        return text[:400]

    docs = dp.read(str(samples / "news.jsonl.zst"))
    out = str(tmp_path / "clean")
    clean = dp.Pipeline(dp.Map(shorter), dp.Exact()).run(docs, out=out)
    gone = clean.drops().column("id").to_pylist()
    assert len(gone) >= 1
    assert "texts" not in dataprep("why", out, gone[0])[2]
    code, said, _ = dataprep("prune", out)
    assert (code, "files of 1 folder" in said) == (0, True)
    code, said, _ = dataprep("why", out, gone[0])
    assert code == 0
    assert "was dropped by Exact" in said
    assert "(no text: " in said
    assert dp.open_dataset(out).count == clean.count


def test_search_makes_an_index_once(dataprep, finished):
    """`search` makes the index beside the Dataset and says what it takes; then it counts, and shows places."""
    pytest.importorskip("pydivsufsort")
    import dataprep as dp

    docs = dp.open_dataset(str(finished / "dedup_minhash"))
    row = docs.take(2)[1]
    piece = row["text"][40:70]
    code, said, made = dataprep("search", finished / "dedup_minhash", piece, "--context", "5")
    assert code == 0
    assert "building an index" in made
    assert f"{piece} occurs" in said
    assert f"{show_id(row['id'])}+{len(row['text'][:40].encode())}" in said
    assert row["text"][35:75].replace("\n", "⏎") in said
    everywhere = sum(text.count("the ") for text in docs.table(["text"]).column("text").to_pylist())
    code, said, made = dataprep("search", finished, "the ", "--limit", "1")  # of a run: the last step's
    assert f"occurs {everywhere:,} times" in said
    assert f"and {everywhere - 1:,} more" in said
    assert made == ""
    assert "occurs 0 times" in dataprep("search", finished / "dedup_minhash" / "index", "qqqzzz")[1]


def test_wrong_calls_do_nothing_first(dataprep, tmp_path):
    """An empty text builds no index; `plan` leaves out no argument."""
    import dataprep as dp

    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n')
    (tmp_path / "b.py").write_text("def a(out):\n    raise AssertionError\n")
    out = tmp_path / "out"
    dp.Pipeline().run(dp.read(str(tmp_path / "a.jsonl")), str(out))
    code, _, said = dataprep("search", out, "")
    assert (code, "is empty" in said, (out / "index").exists()) == (1, True, False)
    for given in (("b.py", "a.jsonl"), ("a.jsonl", "b.py"), ("b.py", "b.py")):
        code, _, said = dataprep("plan", *(tmp_path / name for name in given))
        assert (code, "either one pipeline file or input files" in said) == (1, True)


def test_search_names_what_removed_a_text(dataprep, tmp_path):
    """Without --removed, a text that the kept texts lack is followed by a hint; with it, by stage and rule."""
    pytest.importorskip("pydivsufsort")
    import json

    import dataprep as dp

    lines = ["Kontakt über uns", *(f"The mill of {n} ground corn for the valley." for n in range(3))]
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "\n".join(lines)}) + "\n")
    out = tmp_path / "out"
    dp.Pipeline(dp.C4()).run(dp.read(str(tmp_path / "a.jsonl")), str(out))
    code, said, _ = dataprep("search", out, lines[0])
    assert (code, "occurs 0 times" in said, "--removed" in said) == (0, True, True)
    code, said, _ = dataprep("search", out, lines[0], "--removed")
    assert code == 0
    assert "the input has it once in 1 document; 1 of these was removed, from 1 document" in said
    assert f"cut by C4: no_terminal_punctuation ({out})" in said
    assert dataprep("search", out / "index", lines[0], "--removed")[0] == 1


def test_search_longest_of_a_text_and_of_a_file(dataprep, finished, samples, tmp_path):
    """`--longest` takes a text, a file of one document, or a file of many with a line each."""
    pytest.importorskip("pydivsufsort")
    import dataprep as dp

    place = finished / "dedup_exact"
    text = dp.open_dataset(str(place)).take(1)[0]["text"]
    given = "zqx " + text[10:110] + " zqx"
    (tmp_path / "page.txt").write_text(given)
    for longest in (given, tmp_path / "page.txt"):
        code, said, _ = dataprep("search", place, "--longest", longest)
        assert code == 0
        size, begin = re.search(r"([\d,]+) bytes from byte (\d+) on", said).groups()
        assert int(size) >= len(text[10:110].encode())
        assert int(begin) in (3, 4)
    assert "no passage of the text" in dataprep("search", place, "--longest", "鬱")[1]
    code, said, _ = dataprep("search", place, "--longest", samples / "essay.txt")
    assert "bytes from byte" in said
    code, said, _ = dataprep("search", place, "--longest", samples / "letters.jsonl.gz", "--limit", "3")
    assert code == 0
    assert said.count("100%") == 3


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["run", "nowhere.py"], 1, "not a pipeline file"),
        (["inspect", "nowhere"], 1, "no sealed Dataset"),
        (["why", "nowhere", "0:1"], 1, "no sealed Dataset"),
        (["plan", "nowhere.jsonl"], 1, "nowhere.jsonl"),
        (["prune", "nowhere"], 1, "not a folder"),
        (["search", "nowhere", "text"], 1, "no sealed Dataset"),
        (["search", "nowhere"], 1, "pass either a text"),
        (["train", "nowhere", "--out", "x", "--preset", "huge"], 1, "huge"),
        (["bake"], 2, "bake"),
        (["run"], 2, "pipeline"),
        (["plan", "x.jsonl", "--workers", "0"], 2, "workers"),
    ],
)
def test_mistakes_are_one_sentence(dataprep, words, code, says):
    """A mistake is a sentence on stderr with exit code 1, or 2 for wrong usage, and never a traceback."""
    if words[0] == "train":
        pytest.importorskip("torch")
    found, _, said = dataprep(*words)
    assert found == code
    assert says in said
    assert "Traceback" not in said
    if code == 1:
        assert said.startswith("dataprep: ")
        assert said.count("\n") == 1


def test_bad_id_and_unknown_document(dataprep, finished):
    """An id that is none, and an id that no document has, are sentences."""
    for wrong in ("one:two", "0:-1", "9" * 30, "99999999999:1", ""):
        assert "not a document id" in dataprep("why", finished, wrong)[2]
    assert "no document 9:9" in dataprep("why", finished, "9:9")[2]


def test_unknown_step_lists_the_steps(dataprep, pipeline, tmp_path):
    """A step that is not there is answered with those that are."""
    code, _, said = dataprep("run", pipeline, "--to", "dedup", "--out", tmp_path)
    assert code == 1
    assert "ingest, filter, dedup_exact" in said


def test_step_that_wants_the_unknown(dataprep, tmp_path):
    """A parameter that nothing provides is found before any step runs."""
    place = tmp_path / "wrong.py"
    place.write_text("def ingest(out):\n    raise SystemExit(9)\n\n\ndef filter(injest, out):\n    pass\n")
    code, _, said = dataprep("run", place, "--out", tmp_path / "out")
    assert code == 1
    assert "wrong.py:5: step filter takes injest, which is not defined before it" in said


def test_debug_shows_the_traceback(monkeypatch):
    """--debug lets the error through."""
    monkeypatch.setattr(sys, "argv", ["dataprep", "--debug", "inspect", "nowhere"])
    from dataprep.errors import PlanError

    with pytest.raises(PlanError):
        cli.main()


def everything(folder):
    """The names of all files of a folder."""
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("journal", [True, False])
def test_clean_removes_what_dataprep_wrote(dataprep, pipeline, tmp_path, journal):
    """Steps of other folders stay, and files of others among ours; `--all` leaves exactly what was there before."""
    out = tmp_path / "out"
    mine = {"steps/a/thesis.txt", "other/steps/b.txt", "ingest.txt", "filter.d/data/part-00000-000.parquet"}
    for name in mine:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("mine")
    assert dataprep("run", pipeline, "--to", "dedup-minhash", "--out", out)[0] == 0
    before = everything(out)
    (note,) = {next((out / "dedup_minhash" / "steps").iterdir()) / "notes.md"}
    note.write_text("mine")
    if not journal:
        for path in list(out.rglob(".dataprep-journal")):
            path.unlink()
    code, said, _ = dataprep("prune", out)
    assert code == 0
    assert "kept " in said
    assert "notes.md, which dataprep did not write" in " ".join(said.split())
    assert note.exists()
    left = everything(out)
    assert not [n for n in left if "/steps/" in n and n not in mine and not n.endswith("notes.md")]
    assert not [n for n in before - left if "/steps/" not in n and "journal" not in n]
    if journal:
        code, said, _ = dataprep("prune", "--all", out)
        assert code == 0
        note = str(note.relative_to(out))
        assert everything(out) == {*mine, note}
        assert dataprep("prune", "--all", tmp_path / "nothing")[0] == 0


def test_clean_leaves_a_folder_in_use_alone(dataprep, tmp_path):
    """While a run writes into a folder, `clean` deletes nothing and says who writes."""
    dp.Pipeline().run(dp.read([{"text": "a text"}], out=str(tmp_path / "rows")), out=str(tmp_path / "run" / "step"))
    before = sorted(tmp_path.rglob("*"))
    with lease.held(str(tmp_path / "run" / "step")):
        for words in (["prune", tmp_path / "run", "--all"], ["prune", tmp_path / "run" / "step", "--all"]):
            code, _, said = dataprep(*words)
            assert code == 75
            assert "is in use by pid" in said
    assert sorted(tmp_path.rglob("*")) == before
    assert dataprep("prune", tmp_path / "run", "--all")[0] == 0
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"]])
def test_flags_have_no_type_in_help(dataprep, words):
    """Options that take a value name its type; flags take none."""
    code, said, _ = dataprep(*words)
    assert (code, "<bool>" in said, "--help" in said) == (0, False, True)
