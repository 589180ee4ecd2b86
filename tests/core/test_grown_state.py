"""State may grow: a field more in every record of every JSON file, a column more in every table, and all go on.

The files are those that a pipeline with every kind of result wrote, found by walking its folder.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
import grown
import laws
from dataprep import pipeline_file
from dataprep.core.output.layout import Folder
from dataprep.core.run import quarantine
from dataprep.history.comparison import compare
from dataprep.history.status import status
from dataprep.store import files, hashes, receipts
from dataprep.tokens.shard_format import content_hash

# JSON objects that are maps, from names to values, and no records: a field more would be an entry more.
MAPS = {
    "asked", "counts", "cuts", "examples", "fields", "in", "lost", "out", "reasons", "settings", "speakers", "special",
    "special_in_text", "split", "weights",
}  # fmt: skip
OF_MAPS = {"dropped", "histograms"}  # maps whose values are maps
OTHERS = {"tokenizer.json", "tokenizer_config.json"}  # formats of other programs, whose bytes the manifest states
FIELD = "zz_later"

PIPELINE = """
import sys
sys.path.insert(0, {tests!r})
import dataprep as dp
import grown
from fixtures.jobs import vectors


def clean(out, runner):
    docs = dp.read({texts!r}, on_bad_file="skip")
    return dp.Pipeline(*grown.stages()).run(docs, out, runner, replace=True)


def alike(clean, out, runner):
    return dp.Pipeline(dp.SemDeDup(epsilon=0.0001, embed=vectors, version="1")).run(clean, out, runner, replace=True)


def vocabulary(clean, out, runner):
    return dp.train_bpe(clean, vocab_size=300, sample=1.0, val=0.1, out=out, runner=runner)


def shards(clean, vocabulary, out, runner):
    return dp.encode(clean, vocabulary, out, val=0.2, shard_tokens=2_000, runner=runner, replace=True)


def mixture(shards, out, runner):
    return dp.Mix({{"all": 1}}, max_epochs=3).write({{"all": shards}}, out, tokens=4_000, runner=runner, replace=True)


def index(clean, out, runner):
    return dp.tools.SuffixIndex.build(clean, out, runner, replace=True)
"""


def louder(text):
    """In capitals."""
    return text.upper()


def run(home, to=None):
    """Run the pipeline file, or go on with it; to: the last step."""
    steps = pipeline_file.load(str(home / "pipeline.py"))
    return {done.name: done.result for done in pipeline_file.execute(steps, str(home / "run"), dp.tools.Serial(), to)}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with every kind of result, from which a document was forgotten."""
    home = tmp_path_factory.mktemp("grown")
    grown.write_input(home)
    text = PIPELINE.format(tests=str(Path(grown.__file__).parent), texts=str(home / "in" / "*.jsonl"))
    (home / "pipeline.py").write_text(text)
    run(home, "clean")
    grown.forget_one(home, "run")
    run(home)
    files.write_state(str(home / "run" / "clean" / quarantine.NAME), {"0" * 32 + ":0": "it took too long"})
    files.write_state(str(home / "run" / "clean" / hashes.NAME), {"0" * 32: "1" * 32})
    shutil.copytree(home / "run", home / "duplicate_of")
    return home


@pytest.fixture
def home(made):
    """The same folder at the same place, anew."""
    shutil.rmtree(made / "run")
    shutil.copytree(made / "duplicate_of", made / "run")
    return made


def state_files(home):
    """All JSON files that dataprep gave a meaning."""
    hidden = {hashes.NAME, quarantine.NAME}
    found = [path for path in sorted((home / "run").rglob("*")) if path.suffix == ".json" or path.name in hidden]
    return [path for path in found if path.name not in OTHERS]


def grow(value, name=""):
    """Return a JSON value with a field more in each record of it; name: of the field that holds it."""
    if isinstance(value, list):
        return [grow(one, name) for one in value]
    if not isinstance(value, dict):
        return value
    entry = "counts" if name in OF_MAPS else "an entry" if name in MAPS else None
    inner = {key: grow(one, entry or key) for key, one in value.items()}
    return inner if entry else {**inner, FIELD: {"x": [1]}}


def grow_state(home):
    """Give every record a field more, and state the new bytes where they are stated."""
    changed = state_files(home)
    for path in changed:
        record = files.read_json(str(path))
        files.write_state(str(path), grow(record))
    for path in changed:
        record = files.read_json(str(path))
        if {"key", "files"} <= record.keys():
            for one in record["files"]:
                if one["name"].endswith(".json"):
                    receipts.restate(str(path), receipts.resolved(str(path), one["name"]))
    return changed


def seen(home):
    """What all readers say about all results."""
    place = home / "run"
    found = grown.everything(home, "run")
    found["verify"] = {url: list(map(str, some)) for url, some in dp.tools.verify(str(place)).items()}
    whole, inside = status(str(place))
    found["status"] = [(one.url, one.kind, one.state) for one in (whole, *inside)]
    found["diff"] = repr(compare(str(place / "clean"), str(place / "alike")))
    for name in ("shards", "mixture"):
        shards = dp.Shards.open(place / name)
        tables = [shards.docs(n).to_pylist() for n in range(len(shards.shards))]
        found[name] = [[one.tolist() for one in shards.memmaps()], tables, shards.vocab_size]
    index = dp.tools.SuffixIndex.open(str(place / "index"))
    found["index"] = [index.count("page"), index.find("page", 5), index.longest("again page 5 w5x5").text]
    alike = dp.open_dataset(str(place / "alike"))
    found["alike"] = [alike.key, list(alike), alike.drops().to_pylist(), alike.stats.to_json()]
    return found


def keys(home):
    """The keys of the results of a run that goes on."""
    done = run(home)
    return [done["clean"].key, done["alike"].key, done["shards"].manifest.recipe, done["index"].manifest.key]


def test_every_kind_of_file_is_here(home):
    """Or the laws of this file would say little."""
    kinds = Counter(path.name if path.name[0] != "p" else path.parent.name for path in state_files(home))
    assert kinds.keys() >= {
        "manifest.json", "recipe.json", "run.json", "receipts", "receipt.json", "mixture.lock.json", "index.json",
        hashes.NAME, quarantine.NAME,
    }  # fmt: skip
    assert any(path.name.startswith("origin") for path in state_files(home))
    manifests = [json.loads(path.read_text())["kind"] for path in (home / "run").rglob("manifest.json")]
    assert set(manifests) == {"dataset", "tokens", "suffix_index"}


def test_a_field_more_in_every_record(home):
    """All is read as before, no work is done again, and what is written again keeps the field."""
    before, known = seen(home), keys(home)
    changed = grow_state(home)
    stamps = {path: path.read_bytes() for path in changed}
    after = seen(home)
    for name, said in before.items():
        assert after[name] == said, name
    assert keys(home) == known
    assert [path for path in changed if path.read_bytes() != stamps[path]] == []  # run.json, which is written anew, too
    grown.forget_one(home, "run")
    for folder in ("clean", "shards"):
        found = Folder(str(home / "run" / folder))
        assert (found.manifest or found.token_manifest).more[FIELD] == {"x": [1]}
    assert all(not problems for problems in dp.tools.verify(str(home / "run")).values())
    run(home)


@pytest.mark.parametrize("seed", range(2))
def test_a_column_more_in_every_table(home, seed):
    """Also in those of token shards; all is read as before, and the next calls go on."""
    before, chance = seen(home), random.Random(seed)
    kind = [pa.string(), pa.list_(pa.float64())][seed]

    def with_more(_, rows):
        return rows.add_column(chance.randrange(rows.num_columns + 1), FIELD, pa.nulls(len(rows), kind))

    for name in ("clean", "alike"):
        grown.with_tables(home, "run", with_more, name)
    for name in ("shards", "mixture", "index"):
        if (forgotten := home / "run" / name / "forget.parquet").exists():
            pq.write_table(with_more("", pq.read_table(forgotten)), forgotten)
    for name in ("shards", "mixture"):
        manifest = home / "run" / name / "manifest.json"
        stated = files.read_json(str(manifest))
        for shard in stated["shards"]:
            url = home / "run" / name / f"{shard['name']}.docs.parquet"
            pq.write_table(with_more("", pq.read_table(url)), url)
            shard["docs_hash"] = content_hash(url.read_bytes())
        files.write_state(str(manifest), stated)
    changed = {path for path in (home / "run").rglob("*.parquet") if FIELD in pq.read_schema(path).names}
    assert {path.parent.name for path in (home / "run").rglob("*.parquet") if path not in changed} == {"data"}
    after = seen(home)
    for name, said in before.items():
        assert after[name] == said, name
    grown.forget_one(home, "run")
    assert all(not problems for problems in dp.tools.verify(str(home / "run")).values())
    run(home)


def test_a_stopped_run_goes_on(home):
    """A run that was stopped while it replaced a result, with a field more in the records of its work."""
    docs, out = dp.read(str(home / "in" / "*.jsonl"), on_bad_file="skip"), str(home / "run" / "later")
    dp.Pipeline(*grown.stages()).run(docs, out)
    stages = (dp.Map(louder), dp.Exact(), dp.MinHash(threshold=0.6))
    with pytest.raises(KeyboardInterrupt):
        dp.Pipeline(*stages).run(docs, out, laws.Stops(at="write"), replace=True)
    assert (home / "run" / "later" / "_unfinished" / "recipe.json") in grow_state(home)
    done = dp.Pipeline(*stages).run(docs, out, replace=True)
    fresh = dp.Pipeline(*stages).run(docs, str(home / "run" / "fresh"))
    assert (list(done), done.drops()) == (list(fresh), fresh.drops())
    assert all(not problems for problems in dp.tools.verify(out).values())
