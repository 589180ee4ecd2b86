"""What a newer dataprep wrote: whoever reads it says so in one sentence, and no byte of the folder changes."""

from __future__ import annotations

import json
import shutil

import pytest

import dataprep as dp
from dataprep.core.model.dataset import open_dataset
from dataprep.errors import NewerFormat
from dataprep.store import checksum, files, newer, receipts

TEXTS = [f"document {i % 7} of several words, with some more" for i in range(20)]
PIPELINE = """
import dataprep as dp

def clean(out, runner):
    return dp.Pipeline(dp.Map(str.lower, version="1"), dp.Exact()).run(dp.read({home!r}), out, runner, replace=True)

def tokenizer(clean, out, runner):
    return dp.train_bpe(clean, vocab_size=300, out=out, runner=runner)

def shards(clean, tokenizer, out, runner):
    return dp.encode(clean, tokenizer, out=out, runner=runner, replace=True)
"""
PIPELINE = PIPELINE.replace('dp.Map(str.lower, version="1")', "dp.Map(lambda text: text.lower())")
DROPPED = f"0:{sum(len(json.dumps({'text': text})) + 1 for text in TEXTS[:7])}"  # the first copy
STATE = [
    "run.json", "clean/manifest.json", "clean/recipe.json", "clean/origin.json", "clean/.dataprep-quarantine",
    "clean/steps/*/input/manifest.json", "clean/steps/*/input/recipe.json", "clean/index/manifest.json",
    "clean/index/recipe.json", "clean/receipts/part-00000.json", "clean/steps/*/input/receipts/part-00000.json",
    "clean/steps/*/verdicts.json", "shards/manifest.json", "shards/recipe.json", "shards/origin.json",
    "tokenizer/receipt.json",
]  # fmt: skip
SAYS = "has format 2, and this version of dataprep reads 1; install a newer dataprep"


def snapshot(folder):
    """The bytes of all files below a folder."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a run, with a search index, and its pipeline file."""
    home = tmp_path_factory.mktemp("newer")
    (home / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    (home / "pipe.py").write_text(PIPELINE.format(home=str(home / "in.jsonl")))
    from dataprep import pipeline_file
    from dataprep.core.run.runner import Serial

    list(pipeline_file.execute(pipeline_file.load(str(home / "pipe.py")), str(home / "out"), Serial()))
    from dataprep.core.output.state import Quarantine
    from dataprep.core.run import quarantine

    Quarantine().save(str(home / "out" / "clean" / quarantine.NAME))
    dp.tools.SuffixIndex.build(open_dataset(str(home / "out" / "clean")), str(home / "out" / "clean" / "index"))
    return home


COMMANDS = {
    "run": ["run", "PIPE", "--out", "OUT"],
    "verify": ["verify", "OUT"],
    "verify of one": ["verify", "OUT/FOLDER"],
    "repair": ["verify", "OUT", "--repair", "PIPE"],
    "why": ["why", "OUT", DROPPED],
    "stats": ["inspect", "OUT"],
    "report": ["report", "OUT"],
    "forget": ["forget", "OUT", "--ids", "IDS"],
    "prune": ["prune", "OUT/FOLDER"],
    "prune all": ["prune", "--all", "OUT"],
    "export": ["export", "OUT/shards", "--to", "nanogpt", "--out", "EXPORT"],
    "search": ["search", "OUT/clean", "several words"],
}
WRITERS = {"run", "verify", "repair", "forget", "prune", "prune all", "report"}  # which need all state


@pytest.mark.parametrize("name", STATE)
def test_every_command_stops_or_needs_it_not(dataprep, made, tmp_path, name):
    """With the sentence, and once; the folder is as it was, and the file even if the command needs it not."""
    out = tmp_path / "out"
    shutil.copytree(made / "out", out)
    (tmp_path / "pipe.py").write_bytes((made / "pipe.py").read_bytes())
    (tmp_path / "ids").write_text("0:0\n")
    (path,) = out.glob(name)
    files.write_state(str(path), {**files.read_json(str(path)), "format": 2})
    folder = name.partition("/")[0].removesuffix("run.json")
    words = {
        "OUT": str(out),
        "EXPORT": str(tmp_path / "export"),
        "PIPE": str(tmp_path / "pipe.py"),
        "IDS": str(tmp_path / "ids"),
    }
    words |= {"OUT/FOLDER": str(out / folder), "OUT/clean": str(out / "clean"), "OUT/shards": str(out / "shards")}
    stopped, before = set(), snapshot(out)
    for command, spelled in COMMANDS.items():
        code, _, said = dataprep(*(words.get(word, word) for word in spelled))
        if SAYS in said:
            stopped.add(command)
            assert (code, said.count("\n"), snapshot(out)) == (1, 1, before), (command, said)
        else:
            assert code == 0, (command, said)
            assert path.read_bytes() == before[str(path)], command
            shutil.rmtree(out)
            shutil.copytree(made / "out", out)
            path.write_bytes(before[str(path)])
    assert stopped >= WRITERS, stopped
    assert "search" in stopped or folder in ("shards", "tokenizer")  # it writes an index into the Dataset's folder
    assert "why" in stopped or name not in ("run.json", "clean/manifest.json")


def test_a_packed_receipt_of_a_newer_format(tmp_path):
    """As one with a file of its own: nothing is replaced, and it is not read."""
    made = {f"part-0000{n}.json": {"key": "k", "files": [], "format": n} for n in (1, 2)}
    receipts.pack(str(tmp_path / "receipts"), made)
    for reads in (lambda: newer.refuse(str(tmp_path)), lambda: receipts.all_in(str(tmp_path / "receipts"))):
        with pytest.raises(NewerFormat, match=SAYS):
            reads()


def test_why_does_not_take_the_input_for_unknown(dataprep, made, tmp_path):
    """The text of a dropped document is in the input alone if no step was saved; the list of input files is needed."""
    out = tmp_path / "out"
    dp.Pipeline(dp.Filter(lambda text: not text.startswith("document 0"))).run(
        dp.read(str(made / "in.jsonl")), str(out)
    )
    assert TEXTS[0][:20] in dataprep("why", out, "0:0")[1]
    files.write_state(str(out / "origin.json"), {**files.read_json(str(out / "origin.json")), "format": 2})
    code, _, said = dataprep("why", out, "0:0")
    assert (code, SAYS in said, said.count("\n")) == (1, True, 1)


@pytest.mark.parametrize("name", [name for name in STATE if name.startswith("clean/") and "index" not in name])
@pytest.mark.parametrize("replace", [False, True])
def test_a_pipeline_stops(made, tmp_path, name, replace):
    """Of the same recipe and of another one; a Dataset is opened only if its manifest is known."""
    out = tmp_path / "out"
    shutil.copytree(made / "out" / "clean", out)
    (path,) = out.glob(name.removeprefix("clean/"))
    files.write_state(str(path), {**files.read_json(str(path)), "format": 2})
    before, docs = snapshot(out), dp.read(str(made / "in.jsonl"))
    with pytest.raises(NewerFormat, match=SAYS):
        dp.Pipeline(dp.C4()).run(docs, str(out), replace=replace)
    if name == "clean/manifest.json":
        with pytest.raises(NewerFormat, match=SAYS):
            open_dataset(str(out))
    else:
        assert open_dataset(str(out)).count == 7
    assert snapshot(out) == before


def test_only_state_of_ours_is_refused(tmp_path):
    """Other JSON may have a field of this name, such as a vocabulary; damaged state is for who reads it."""
    (tmp_path / "vocab.json").write_text('{"format": 5012}')
    assert files.read_json(str(tmp_path / "vocab.json")) == {"format": 5012}
    (tmp_path / "manifest.json").write_text('{"format": 2')
    (tmp_path / "recipe.json").write_text('{"format": true, "a": {"format": 3}}')
    newer.refuse(str(tmp_path))
    newer.refuse(f"file://{tmp_path}/none")
    newer.refuse("memory://newer")
    (tmp_path / "origin.g2.json").write_bytes(checksum.stamped(b'{\n  "format": 2\n}\n'))
    for call in (newer.refuse, lambda url: files.read_json(f"{url}/origin.g2.json")):
        with pytest.raises(NewerFormat, match=rf"origin\.g2\.json {SAYS}"):
            call(str(tmp_path))
