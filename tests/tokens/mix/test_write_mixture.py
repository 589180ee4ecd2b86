"""What a mixture writes, document by document, against its plain twin; and what makes it another mixture."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataprep.errors import PlanError, StaleOutput
from dataprep.tokens.mix.mix import Mix
from dataprep.tokens.mix.sources import MixSource, sources_of
from dataprep.tokens.mix.write_mixture import write_mixture
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.shards.writer import Writer, arrange, save, write_manifest
from twins.mixture import mixture, shards_of

SIZES = np.arange(100) % 7


def written(place, docs, most=10**6):
    """Write the documents {side: [...]} of one source with the ids, sources and masks that they have."""
    entries = []
    for side, rows in docs.items():
        for number, runs in enumerate(arrange([np.cumsum([len(doc["tokens"]) for doc in rows])], most) if rows else ()):
            with Writer(place, side, number) as shard:
                for doc in (doc for _, start, stop in runs for doc in rows[start:stop]):
                    size = int(SIZES[doc["tokens"]].sum())
                    shard.add(doc["tokens"], [len(doc["tokens"])], [doc["id"]], [doc["source"]], size, doc["mask"])
            entries.append(shard.entry)
    write_manifest(place, entries, vocab_size=100, eot=99, token_bytes=SIZES, recipe=place.name, split={"val": 0.1})
    return place


def read_back(shards, masked):
    """Each document of each shard; where it has no mask, all of it is learned."""
    found = []
    for number, entry in enumerate(shards.shards):
        table = pq.read_table(shards.path / f"{entry.name}.docs.parquet").to_pylist()
        mask = shards.masks()[number]
        assert (mask is not None) == masked
        tokens = shards.memmaps()[number]
        rows = [(row, slice(row["start"], row["stop"] + 1)) for row in table]
        found.append([
            {"id": row["id"], "source": row["source"], "tokens": tokens[at].tolist(),
             "mask": mask[at].tolist() if masked else None} for row, at in rows
        ])  # fmt: skip
        assert entry.bytes == int(SIZES[tokens].sum())
    return found


def drawn(rng, n, first, masked):
    """Documents of 1 to 12 tokens, with ids that do not rise, in two sources."""
    docs = []
    for k in range(n):
        tokens = [*rng.integers(0, 99, rng.integers(0, 12)).tolist(), 99]
        mask = rng.integers(0, 2, len(tokens)).tolist() if masked else None
        docs.append({"id": first + (k * 7919) % 1009, "source": "ab"[k % 2], "tokens": tokens, "mask": mask})
    return docs


@settings(max_examples=8)
@given(st.integers(0, 999), st.lists(st.booleans(), min_size=1, max_size=3), st.floats(0.1, 3.5), st.integers(15, 90))
def test_a_mixture_is_its_twin(tmp_path_factory, seed, masked, times, most):
    """Documents, ids, names, masks, bytes and shards; the held-out sides of each folder once, in the sources' order."""
    home = tmp_path_factory.mktemp("mixture")
    rng = np.random.default_rng(seed)
    sides = {
        f"s{k}": {"train": drawn(rng, 3 + 8 * k, 5000 * k, m), "val": drawn(rng, 2, 9000 + k, m), "test": []}
        for k, m in enumerate(masked)
    }
    named = {name: {side: [{**doc, "source": f"{name}/{doc['source']}"} for doc in docs] for side, docs in all_.items()}
             for name, all_ in sides.items()}  # fmt: skip
    sources = {name: written(home / name, docs, most=most) for name, docs in sides.items()}
    total = int(times * sum(len(doc["tokens"]) for docs in sides.values() for doc in docs["train"]))
    mix = Mix(dict.fromkeys(sources, 1), seed=seed, max_epochs=100)
    got = {share.source: share.got for share in mix.plan(sources, tokens=total).shares}
    shards = mix.write(sources, home / "out", tokens=total, shard_tokens=most)
    expected = mixture({name: docs["train"] for name, docs in named.items()}, got, seed)
    for side, rows in (("train", expected), ("val", [doc for docs in named.values() for doc in docs["val"]])):
        learned = [{**doc, "mask": doc["mask"] or [1] * len(doc["tokens"])} for doc in rows]
        assert read_back(shards.split(side), any(masked)) == shards_of(learned if any(masked) else rows, most)
    assert shards.manifest.split == {name: {"val": 0.1} for name in sources}
    assert (shards.vocab_size, shards.eot, shards.token_bytes.tolist()) == (100, 99, SIZES.tolist())
    stated = {share["source"]: share for share in shards.manifest.mixture["sources"]}
    for name in sources:
        n = sum(len(doc["tokens"]) for doc in expected if doc["source"].startswith(name))
        own = sum(len(doc["tokens"]) for doc in sides[name]["train"])
        assert (stated[name]["got"], stated[name]["tokens"], stated[name]["recipe"]) == (n, own, name)
        assert stated[name]["epochs"] == pytest.approx(n / own)
        assert stated[name]["share"] == pytest.approx(n / max(1, sum(len(doc["tokens"]) for doc in expected)))


def test_one_folder_is_its_own_names(tmp_path):
    """Each name is a source with its own documents, in the order of names; held-out sides come once."""
    rng = np.random.default_rng(1)
    docs = {"train": drawn(rng, 20, 0, masked=False), "val": drawn(rng, 3, 99, masked=False)}
    place = written(tmp_path / "s", docs)
    streams = sources_of(place)
    assert [(s.name, s.only, s.path) for s in streams] == [("a", "a", str(place)), ("b", "b", str(place))]
    assert [s.docs.tolist() for s in streams] == [list(range(0, 20, 2)), list(range(1, 20, 2))]
    got = {"a": 100, "b": 30}
    shards = write_mixture(streams, got, str(tmp_path / "out"), 3, 10**6, None, dict, replace=False)
    own = {name: [doc for doc in docs["train"] if doc["source"] == name] for name in "ab"}
    assert read_back(shards.split("train"), masked=False) == [mixture(own, got, 3)]
    assert read_back(shards.split("val"), masked=False) == [docs["val"]]


def test_all_that_decides_the_bytes_changes_the_recipe(tmp_path):
    """Seed, shard size, tokens, names, sources and what the plan states: each is another mixture, and is refused."""
    a = save(tmp_path / "a", {"train": [[1, 2, 3], [4], [5, 6]]}, vocab_size=9, eot=8)
    b = save(tmp_path / "b", {"train": [[1, 2, 3], [4], [5, 7]]}, vocab_size=9, eot=8)
    streams = sources_of({"x": a.path})

    def recipe(streams=streams, got=4, seed=0, shard_tokens=99, stated=0, out="out", replace=True):
        place, got = str(tmp_path / out), dict.fromkeys((s.name for s in streams), got)
        shards = write_mixture(streams, got, place, seed, shard_tokens, None, lambda _: {"n": stated}, replace=replace)
        return shards.manifest.recipe

    first = recipe()
    others = [
        recipe(seed=1), recipe(got=5), recipe(shard_tokens=98), recipe(stated=1), recipe(sources_of({"y": a.path})),
        recipe(sources_of({"x": b.path})), recipe([dataclasses.replace(streams[0], only="memory")]),
    ]  # fmt: skip
    assert len({first, *others}) == 1 + len(others)
    assert recipe() == first
    with pytest.raises(StaleOutput):
        recipe(seed=1, replace=False)
    assert recipe(replace=False) == first


@pytest.mark.parametrize(("most", "tokens"), [(0, 4), (-1, 4), (1, None)])
def test_values_at_the_limits(tmp_path, most, tokens):
    """Shards hold one token or more; no token at all is no mixture."""
    a = save(tmp_path / "a", {"train": [[1, 2, 3], [4]]}, vocab_size=9, eot=8)
    mix = Mix({"a": 1}, max_epochs=1)
    if most < 1:
        with pytest.raises(PlanError, match="shard_tokens"):
            mix.write({"a": a.path}, tmp_path / "out", tokens, shard_tokens=most)
    else:
        assert mix.write({"a": a.path}, tmp_path / "out", shard_tokens=most).n_tokens == 6
        assert [entry.bytes for entry in Shards.open(tmp_path / "out").shards] == [0, 0]  # no tokenizer knows them
    for wrong in (0, 7):
        with pytest.raises(PlanError, match=f"tokens={wrong} cannot be met: 1 epochs of every source are 6 tokens"):
            mix.plan({"a": a.path}, wrong)
    with pytest.raises(PlanError, match="there are no sources to mix"):
        mix.plan({})
    empty = save(tmp_path / "e", {"train": [], "val": [[1]]}, vocab_size=9, eot=8)
    with pytest.raises(PlanError, match="the source 'e' has no training tokens"):
        Mix({"a": 1, "e": 1}).plan({"a": a.path, "e": empty.path})


def test_a_source_reads_its_folder_once(tmp_path):
    """The numbers of a source are those of its training side alone."""
    a = save(tmp_path / "a", {"train": [[1, 2, 3], [4]], "val": [[5] * 9]}, vocab_size=9, eot=8)
    source = MixSource("a", str(a.path))
    assert (source.docs.tolist(), source.lengths.tolist(), source.tokens) == ([0, 1], [4, 2], 6)
    assert source.train is source.train


def test_blocks_do_not_change_the_bytes(tmp_path, monkeypatch):
    """However many tokens are copied at a time."""
    found, sources = [], {}
    for n, name in ((3, "a"), (7, "b")):
        docs = [[k] * (1 + (k * n) % 5) for k in range(40)]
        sources[name] = save(tmp_path / name, {"train": docs}, vocab_size=50, eot=49).path
    for n_tokens in (1 << 20, 7):
        monkeypatch.setattr("dataprep.tokens.mix.write_mixture.BLOCK_TOKENS", n_tokens)
        out = tmp_path / f"out{n_tokens}"
        Mix({"a": 1, "b": 2}).write(sources, out, 150, shard_tokens=60)
        found.append({path.name: path.read_bytes() for path in out.glob("train-*")})
    assert found[0] == found[1]
    assert len(found[0]) > 3
