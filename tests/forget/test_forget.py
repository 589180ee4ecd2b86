from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep import extend
from dataprep.core.model.batch import show_id
from dataprep.core.model.stage import Stage
from dataprep.core.output.forget_list import listed
from dataprep.core.output.layout import Folder
from dataprep.core.output.pruning import prune
from dataprep.core.output.run_folder import datasets
from dataprep.errors import PlanError, StaleOutput
from dataprep.forget.family import Family
from dataprep.forget.forget import forget, read_ids
from dataprep.forget.tokens import remove_token_documents
from dataprep.history import why
from dataprep.history.verify import verify
from dataprep.store import files
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.shards.verify import verify_shards
from dataprep.tokens.shards.writer import Writer, arrange, write_manifest

RNG = np.random.default_rng(4)
WORDS = "the rain in north is colder than south and nobody there minds it at all because winter comes"
WEB = [f"page {n} " + " ".join(RNG.choice(WORDS.split(), 30)) for n in range(40)]
CHATS = [f"talk {n} " + " ".join(RNG.choice(WORDS.split(), 30)) for n in range(20)]
WEB[7] = WEB[3]  # an exact duplicate
WEB[9] = "today " + WEB[5]  # a near one
ASKED_FOR = "page 5 "  # how the text begins that is to be forgotten
JOINED = 2  # the file number that CHATS get when both are read: the web's are 0 and 1


def short(text: str) -> str | None:
    """Drops one page, so that there is an example in the books."""
    return "short" if text.startswith("page 30 ") else None


def late(text: str) -> str | None:
    """Another filter, for another recipe."""
    return "late" if text.startswith("page 31 ") else None


def build(home, tok, *more, replace=False):
    """Two sources, one Dataset of both, and its token shards."""
    (home / "in" / "w").mkdir(parents=True, exist_ok=True)
    (home / "in" / "c").mkdir(exist_ok=True)
    out, run = home / "run", {"replace": replace}
    files.write_json(str(out / "run.json"), {"steps": ["web", "chats", "clean", "shards"]})
    web = dp.Pipeline(dp.Filter(short)).run(laws.dataset_of(home / "in" / "w", WEB, parts=4), str(out / "web"), **run)
    chats = dp.Pipeline().run(laws.dataset_of(home / "in" / "c", CHATS, parts=2), str(out / "chats"), **run)
    stages = (dp.Filter(short), dp.Exact(), dp.MinHash(), *more)
    clean = dp.Pipeline(*stages).run(dp.read([web, chats]), str(out / "clean"), **run)
    shards = dp.encode(clean, tok, out=str(out / "shards"), val=0.2, shard_tokens=600, **run)
    return clean, shards


@pytest.fixture(scope="module")
def made(tok, tmp_path_factory):
    """The run, put aside: every test has its own copy, at the place where it was made."""
    home = tmp_path_factory.mktemp("forget")
    build(home, tok)
    (home / "run").rename(home / "made")
    return home


@pytest.fixture
def home(made):
    """The run as it was made."""
    shutil.copytree(made / "made", made / "run")
    yield made
    shutil.rmtree(made / "run")


def id_of(home, text, folder="clean"):
    """The id of the document that begins so."""
    rows = dp.open_dataset(str(home / "run" / folder)).table().to_pylist()
    return next(row["id"] for row in rows if row["text"].startswith(text))


def texts(folder):
    """All texts of a Dataset."""
    return dp.open_dataset(str(folder)).table(["text"])["text"].to_pylist()


def times(folder):
    """When each file under a folder was written."""
    return {p.relative_to(folder): p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


def test_gone_from_everything(home, tok):
    """Sources, saved steps, result, token shards and books; other shards keep their bytes and times; all verifies."""
    run = home / "run"
    wanted = [id_of(home, ASKED_FOR), id_of(home, "talk 3 ")]
    (example,) = dp.open_dataset(str(run / "web")).stats["short"].examples["short"]
    assert example.text.startswith("page 30 ")
    before = times(run)
    done = forget(str(run / "clean"), wanted)
    assert done.removed == {str(run / "clean" / "steps" / s / "input"): 2 for s in os.listdir(run / "clean" / "steps")
                            if (run / "clean" / "steps" / s / "input").exists()} | {str(run / "clean"): 2}  # fmt: skip
    done = forget(str(run), [*wanted, example.id], of="clean")
    assert {os.path.basename(p): n for p, n in done.removed.items() if n} == {"web": 1, "chats": 1, "shards": 2}
    for place in [folder.url for folder in datasets(str(run))]:
        assert not [t for t in texts(place) if t.startswith((ASKED_FOR, "talk 3 "))], place
    shards = Shards.open(run / "shards")
    assert [shards.find(id_) for id_ in wanted] == [[], []]
    decoded = [tok.decode(shards.document(k)) for k in range(len(shards))]
    assert sorted(decoded) == sorted(texts(run / "clean"))
    assert all("page 30 " not in p.read_text() for p in run.rglob("*.json"))
    assert set(map(len, verify(str(run)).values())) == {0}
    after = times(run)
    kept = {p for p in before if p.suffix in (".bin", ".idx") or p.parent.name == "data"} & set(after)
    assert len(kept) > 4
    assert {p for p in kept if before[p] != after[p]} == set()
    assert shards.manifest.generation == 2
    (drop,) = why.follow(str(run), wanted[0]).drops
    assert (drop.reason, why.dropped_document(str(run), drop)) == ("forgotten", None)
    stats = dp.open_dataset(str(run / "clean")).stats
    assert (stats["forget"].docs_in - stats["forget"].docs_dropped, stats["forget"].docs_dropped) == (
        stats["forget"].docs_out, 2,
    )  # fmt: skip
    assert stats["forget"].docs_out == dp.open_dataset(str(run / "clean")).count


@pytest.mark.parametrize("form", ["nanogpt", "llmc", "megatron", "datatrove"])
def test_exports_are_named(home, form):
    """Exports inside the folder still hold the tokens, whatever their form; the shards themselves do not."""
    run = str(home / "run")
    made = [p for p in dp.tools.export(f"{run}/shards", form, f"{run}/exported") if p.endswith((".bin", ".ds"))]
    told = forget(run, [id_of(home, ASKED_FOR)], of="clean").elsewhere
    assert sorted(t.partition(" ")[0] for t in told if "(exported tokens; " in t) == sorted(made)


def test_a_rerun_does_nothing_and_brings_nothing_back(home, tok):
    """The same recipe opens what is there; another one, made anew from the input, comes without them too."""
    run = home / "run"
    forget(str(run), [id_of(home, ASKED_FOR)], of="clean")
    before = times(run)
    build(home, tok)
    after = times(run)
    assert {p for p in after if after[p] != before.get(p)} == {type(next(iter(after)))("run.json")}
    clean, shards = build(home, tok, dp.Filter(late), replace=True)
    assert [t[:8] for t in texts(run / "web") if t.startswith(ASKED_FOR)] == []
    for place in ("web", "chats", "clean", "shards"):
        shutil.rmtree(run / place / "data", ignore_errors=True)
        (run / place / "manifest.json").unlink()
        (run / place / "recipe.json").unlink(missing_ok=True)
        shutil.rmtree(run / place / "receipts", ignore_errors=True)
    clean, shards = build(home, tok, replace=True)
    assert not [t for place in ("web", "clean") for t in texts(run / place) if t.startswith(ASKED_FOR)]
    assert len(shards) == clean.count
    assert clean.stats["forget"].docs_dropped == 0  # `web` dropped it: it was read there
    assert dp.open_dataset(str(run / "web")).stats["forget"].reasons == {"forgotten": 1}
    assert set(map(len, verify(str(run)).values())) == {0}


def test_killed_anywhere_then_repeated(home, monkeypatch):
    """Stopped before each file has its name in turn, then called again: the same bytes as without."""
    run, wanted = home / "run", [id_of(home, ASKED_FOR)]
    forget(str(run), wanted, of="clean")
    run.rename(home / "whole")
    real = os.replace
    for n in range(1, 200, 4):  # every fourth file
        shutil.copytree(home / "made", run)
        count = [0]

        def replace(*args, count=count, n=n):
            count[0] += 1
            if count[0] == n:
                raise KeyboardInterrupt
            return real(*args)

        monkeypatch.setattr(os, "replace", replace)
        try:
            forget(str(run), wanted, of="clean")
            break
        except KeyboardInterrupt:
            monkeypatch.setattr(os, "replace", real)
        forget(str(run), wanted, of="clean")
        laws.same_bytes(home / "whole", run)
        shutil.rmtree(run)
    assert n > 20
    monkeypatch.setattr(os, "replace", real)
    shutil.rmtree(home / "whole")


def test_an_interrupted_run_does_not_bring_it_back(home, tok, tmp_path):
    """What was half done when documents were forgotten is made again without them, shards too."""
    run = tmp_path / "run"
    (tmp_path / "in" / "w").mkdir(parents=True)
    docs = laws.dataset_of(tmp_path / "in" / "w", WEB, parts=4)
    with pytest.raises(KeyboardInterrupt):
        dp.Pipeline(dp.Filter(short)).run(docs, str(run / "web"), laws.Stops(at="write"))
    forget(str(run), [0], missing_ok=True)
    web = dp.Pipeline(dp.Filter(short)).run(docs, str(run / "web"))
    assert len(web) == len(WEB) - 2
    with pytest.raises(KeyboardInterrupt):
        dp.encode(web, tok, out=str(run / "shards"), runner=laws.Stops(at="join"))
    gone = int(web.table(["id"])["id"][0].as_py())
    assert list((run / "shards" / "_unfinished").glob("pieces-*"))
    forget(str(run), [gone])
    assert not list((run / "shards" / "_unfinished").glob("pieces-*"))
    web = dp.Pipeline(dp.Filter(short)).run(docs, str(run / "web"))
    shards = dp.encode(web, tok, out=str(run / "shards"))
    assert (len(shards), shards.find(gone)) == (len(WEB) - 3, [])


def test_duplicates_are_told_and_forgotten_on_request(home, dataprep):
    """The dropped twin, the survivor of a forgotten one, near-duplicates: listed, and with --with-copies gone."""
    run = home / "run"
    exact, near = id_of(home, "page 3 "), id_of(home, ASKED_FOR)
    done = forget(str(run), [exact, near], of="clean")
    assert {(c.stage, c.is_kept) for c in done.copies} == {("Exact", False), ("MinHash", False)}
    assert {c.of for c in done.copies} == {exact, near}
    assert [t for t in texts(run / "web") if t == WEB[7]] == [WEB[7]]  # the source still has the twin
    (home / "ids.txt").write_text(f"{show_id(exact)}\n{near}\n")
    code, out, _ = dataprep("forget", run, "--ids", home / "ids.txt", "--of", "clean", "--with-copies")
    assert code == 0
    assert "2 documents may contain the same text (forgotten too)" in out
    assert f"was dropped for {show_id(exact)} (Exact, similarity 1.000)" in out
    assert "rows.json (the input itself)" in out
    assert not [t for t in texts(run / "web") if t in (WEB[7], WEB[9])]


def test_survivor_of_what_is_forgotten_is_told(home):
    """The id of a document that was dropped as a duplicate: the one that stands for it has the text."""
    run = home / "run"
    dropped = next(row for row in dp.open_dataset(str(run / "clean")).drops().to_pylist() if row["stage"] == "Exact")
    done = forget(str(run), [dropped["id"]], of="clean")
    assert [(c.id, c.is_kept) for c in done.copies] == [(dropped["duplicate_of"], True)]
    assert {os.path.basename(p) for p, n in done.removed.items() if n} == {"web", "input"}


def test_a_dataset_made_elsewhere_is_stale(home, tmp_path, tok):
    """A Dataset and shards outside, made of one that forgot: refused until `forget` or replace=True."""

    def again(**options):
        clean = dp.open_dataset(str(home / "run" / "clean"))
        other = dp.Pipeline(dp.Filter(late)).run(clean, str(tmp_path / "other"), **options)
        return other, dp.encode(clean, tok, out=tmp_path / "shards", **options)

    again()
    gone = id_of(home, ASKED_FOR)
    done = forget(str(home / "run"), [gone], of="clean")
    with pytest.raises(StaleOutput, match="were forgotten since it was made: run `dataprep forget"):
        again()
    done = forget(str(tmp_path / "other"))
    assert sum(done.removed.values()) == 1
    forget(str(tmp_path / "shards"))
    other, shards = again()
    assert (shards.find(gone), len(shards)) == ([], len(other) + 1)
    forget(str(home / "run"), [id_of(home, "page 11 ")], of="clean")
    other, shards = again(replace=True)
    assert not [t for t in texts(tmp_path / "other") if t.startswith("page 11 ")]
    assert len(shards) == len(other) + 1


def test_checkpoints_of_the_old_shards_refuse(home):
    """A training run that was begun with the document does not go on without it."""
    checkpoint = pytest.importorskip("dataprep.train.checkpoint")
    from dataprep.train.presets import preset

    config, sets = preset("tiny"), {"shards": Shards.open(home / "run" / "shards")}
    facts = {"tokenizer": checkpoint.tokenizer_key(sets), "data": checkpoint.data_key(sets)}
    content, place = {"config": config.to_dict(), "step": 1, **facts}, home / "step-00000001.pt"
    checkpoint.check_same(place, content, config, sets)
    forget(str(home / "run"), [id_of(home, ASKED_FOR)], of="clean")
    with pytest.raises(StaleOutput, match="belongs to another run .the tokens in .* differ"):
        checkpoint.check_same(place, content, config, {"shards": Shards.open(home / "run" / "shards")})


def test_shards_of_raw_text(tmp_path, tok):
    """Shards that were encoded without a Dataset keep a list of their own, for `encode` too."""
    docs = laws.dataset_of(tmp_path, WEB, parts=2)
    dp.encode(docs, tok, out=tmp_path / "s", val=0)
    assert forget(str(tmp_path / "s")).removed == {str(tmp_path / "s"): 0}
    assert forget(str(tmp_path / "s"), ["0:5"]).removed == {str(tmp_path / "s"): 1}
    assert len(dp.encode(docs, tok, out=tmp_path / "s", val=0)) == len(WEB) - 1
    again = dp.encode(docs, tok, out=tmp_path / "s", val=0.1, replace=True)
    assert (len(again), again.find(5)) == (len(WEB) - 1, [])


def test_bloom_filter_is_filled_again(tmp_path):
    """After forgetting, the filter no longer knows the text, and still knows the others."""
    pybloom = pytest.importorskip("pybloom_live")
    docs = laws.dataset_of(tmp_path, WEB, parts=2)
    dp.Pipeline(dp.Filter(late), dp.Exact(), dp.Bloom(error_rate=1e-6)).run(docs, str(tmp_path / "out"))
    (place,) = (tmp_path / "out" / "steps").glob("*/filter.bloom")

    def knows(text):
        with place.open("rb") as f:
            found = pybloom.BloomFilter.fromfile(f)
        found.make_hashes = extend.bloom_hashes(found)
        return text in found

    assert knows(WEB[5])
    done = forget(str(tmp_path / "out"), [5])
    assert not knows(WEB[5])
    assert all(map(knows, WEB[:5]))
    assert any("was rebuilt" in told for told in done.cleared)


def test_bloom_after_a_hundred_filters_is_filled_again(tmp_path):
    """The filter of step 102 is made again from the fields of that stage, through the verdicts of step 101."""
    pybloom = pytest.importorskip("pybloom_live")
    docs = dp.Pipeline().run(laws.dataset_of(tmp_path, WEB, parts=2), str(tmp_path / "run" / "in"))
    filters = [dp.Filter(lambda text: len(text) > 5) for _ in range(100)]
    dp.Pipeline(*filters, dp.Exact(), dp.Bloom(error_rate=1e-6)).run(docs, str(tmp_path / "run" / "out"))
    done = forget(str(tmp_path / "run"), [5])
    assert [said.partition(" was ")[2] for said in done.cleared if "filter.bloom" in said] == [
        f"rebuilt from the {len(WEB) - 2} documents that are left"
    ]
    (place,) = (tmp_path / "run" / "out" / "steps").glob("102-Bloom-*/filter.bloom")
    with place.open("rb") as f:
        found = pybloom.BloomFilter.fromfile(f)
    found.make_hashes = extend.bloom_hashes(found)
    assert [text in found for text in WEB[:7]] == [True] * 5 + [False, True]
    assert set(map(len, verify(str(tmp_path / "run")).values())) == {0}


def test_bloom_on_raw_text_is_filled_from_what_was_kept(tmp_path):
    """Without a saved input the kept documents are entered; the filter knows them, and not the forgotten one."""
    pybloom = pytest.importorskip("pybloom_live")
    dp.Pipeline(dp.Bloom(error_rate=1e-6)).run(laws.dataset_of(tmp_path, WEB, parts=2), str(tmp_path / "out"))
    forget(str(tmp_path / "out"), [5])
    (place,) = (tmp_path / "out" / "steps").glob("*/filter.bloom")
    with place.open("rb") as f:
        found = pybloom.BloomFilter.fromfile(f)
    found.make_hashes = extend.bloom_hashes(found)
    assert [t in found for t in WEB[:7]] == [True] * 5 + [False, True]


@settings(max_examples=30)  # each writes files
@given(
    st.lists(st.tuples(st.integers(0, 5), st.lists(st.integers(0, 7), max_size=5)), max_size=12),
    st.sets(st.integers(0, 5)),
    st.integers(1, 15),
    st.booleans(),
)
def test_token_shards_equal_their_plain_twin(tmp_path_factory, docs, gone, limit, has_masks):
    """Whatever is forgotten: what stays has its ids, masks, sources and bytes; windows of one id go together."""
    home = tmp_path_factory.mktemp("t")
    docs = sorted(docs)
    arrays = [np.array([*ids, 9], np.uint16) for _, ids in docs]
    masks = [(a % 2).astype(np.uint8) for a in arrays]
    entries = []
    for number, runs in enumerate(arrange([np.cumsum([len(a) for a in arrays], dtype=np.uint64)], limit)):
        with Writer(home, "train", number) as shard:
            for i in (i for _, start, stop in runs for i in range(start, stop)):
                mask = masks[i] if has_masks else None
                shard.add(arrays[i], [len(arrays[i])], [docs[i][0]], ["x"], 2 * (len(arrays[i]) - 1), mask)
        entries.append(shard.entry)
    write_manifest(home, entries, vocab_size=10, eot=9, token_bytes=[2] * 9 + [0])
    n = remove_token_documents(Folder(str(home)), {None: np.array(sorted(gone), np.uint64)}, "digest")
    kept = [i for i, (id_, _) in enumerate(docs) if id_ not in gone]
    shards = Shards.open(home)
    assert n == len(docs) - len(kept)
    assert [shards.document(k).tolist() for k in range(len(shards))] == [docs[i][1] for i in kept]
    assert [shards.provenance(k).id for k in range(len(shards))] == [docs[i][0] for i in kept]
    if has_masks and kept:
        assert np.concatenate(shards.masks()).tolist() == np.concatenate([masks[i] for i in kept]).tolist()
    assert verify_shards(home) == []
    assert (shards.manifest.forgotten, shards.manifest.generation) == ("digest", 2)


def test_a_message_takes_its_conversation(tmp_path):
    """What was joined goes whole; made again, it comes without the message."""
    docs = laws.dataset_of(tmp_path, [f"m{n}" for n in range(9)], parts=1)
    sealed = dp.Pipeline().run(docs, str(tmp_path / "run" / "messages"))
    stage = Joins()
    talks = dp.Pipeline(stage).run(sealed, str(tmp_path / "run" / "talks"))
    assert texts(talks.url) == ["m0 m1 m2", "m3 m4 m5", "m6 m7 m8"]
    done = forget(str(tmp_path / "run"), [4])
    assert {os.path.basename(p): n for p, n in done.removed.items()} == {"messages": 1, "talks": 1}
    assert texts(talks.url) == ["m0 m1 m2", "m6 m7 m8"]
    assert texts(sealed.url) == [f"m{n}" for n in range(9) if n != 4]
    again = dp.Pipeline(stage).run(dp.open_dataset(str(sealed.url)), str(tmp_path / "again"))
    assert texts(again.url) == ["m0 m1 m2", "m3 m5", "m6 m7 m8"]


def test_a_message_takes_its_conversation_after_a_prune(tmp_path):
    """The table that names its messages is that of a saved step, of which only the tables are left."""
    docs = laws.dataset_of(tmp_path, [f"m{n}" for n in range(9)], parts=1)
    sealed = dp.Pipeline().run(docs, str(tmp_path / "run" / "messages"))
    talks = dp.Pipeline(Joins(), dp.Exact()).run(sealed, str(tmp_path / "run" / "talks"))
    prune(Folder(talks.url))
    forget(str(tmp_path / "run"), [4])
    assert texts(talks.url) == ["m0 m1 m2", "m6 m7 m8"]


def test_joined_datasets_number_their_documents_anew(tmp_path):
    """An id means the document of the Dataset that it is `of`; it goes from all, and no other one of the same id."""
    run, made = tmp_path / "run", []
    for name in "ab":
        (tmp_path / name).mkdir()
        docs = laws.dataset_of(tmp_path / name, [f"{name}{n}" for n in range(4)], parts=2)
        made.append(dp.Pipeline().run(docs, str(run / name)).url)
    made.append(dp.Pipeline().run(dp.read(made), str(run / "both")).url)

    def id_of(text, url):
        table = dp.open_dataset(url).table(["id", "text"])
        return table["id"][table["text"].to_pylist().index(text)].as_py()

    with pytest.raises(PlanError, match="number documents differently"):
        forget(str(run), [id_of("b1", made[2])])
    for text, of in (("b1", "both"), ("b2", "b"), ("a0", "a")):
        forget(str(run), [id_of(text, str(run / of))], of=of)
    left = [["a1", "a2", "a3"], ["b0", "b3"]]
    assert [texts(url) for url in made] == [*left, left[0] + left[1]]
    again = dp.Pipeline().run(dp.read(made[:2]), str(tmp_path / "again"))
    assert texts(again.url) == left[0] + left[1]


@dataclass(frozen=True, kw_only=True)
class Joins(Stage):
    """Joins three messages, as Conversations does by time."""

    def __call__(self, batches, stats):
        """One document of the ids 3k, 3k + 1, 3k + 2 that are there."""
        table = pa.Table.from_batches(list(batches)).combine_chunks()
        ids = table["id"].to_numpy()
        first = [int(np.argmax(ids // 3 == k)) for k in np.unique(ids // 3)]
        kept = ids[first][np.searchsorted(np.unique(ids // 3), ids // 3)]
        stats.drop(ids[ids != kept], "joined", duplicate_of=kept[ids != kept])
        pairs = list(zip(table["text"].to_pylist(), kept, strict=True))
        joined = [" ".join(t for t, k in pairs if k == i) for i in ids[first]]
        batch = table.take(first).to_batches()[0]
        yield batch.set_column(1, batch.schema.field("text"), pa.array(joined, pa.large_string()))


def test_a_mixture_forgets_what_its_sources_do(tmp_path, tok):
    """Every copy in every epoch goes; a document of the same id in the other source stays."""
    for name, rows in (("web", WEB), ("chats", CHATS)):
        (tmp_path / name).mkdir()
        docs = dp.Pipeline().run(laws.dataset_of(tmp_path / name, rows, parts=1), str(tmp_path / "run" / name))
        dp.encode(docs, tok, out=str(tmp_path / "run" / f"{name}-tokens"), val=0)
    from dataprep.tokens.mix.mix import Mix

    sources = {name: str(tmp_path / "run" / f"{name}-tokens") for name in ("web", "chats")}
    mixed = Mix({"web": 0.5, "chats": 0.5}, max_epochs=3).write(sources, str(tmp_path / "run" / "mixed"))
    before = [tok.decode(mixed.document(k)) for k in range(len(mixed))]
    assert before.count(CHATS[3]) >= 1
    done = forget(str(tmp_path / "run"), [3], of="chats")
    assert done.removed[str(tmp_path / "run" / "mixed")] == before.count(CHATS[3])
    mixed = Shards.open(tmp_path / "run" / "mixed")
    after = [tok.decode(mixed.document(k)) for k in range(len(mixed))]
    assert sorted(after) == sorted(t for t in before if t != CHATS[3])
    assert verify(str(tmp_path / "run" / "mixed")) == {str(tmp_path / "run" / "mixed"): []}


def test_ids_that_cannot_be(home, dataprep):
    """Unknown ones are listed and refused; folders that count differently must be named."""
    run = home / "run"
    known = id_of(home, "talk 4 ")
    with pytest.raises(PlanError, match=r"number documents differently \(web, chats, clean\); name the folder"):
        forget(str(run), [known])
    with pytest.raises(PlanError, match=r"2 of 3 ids are not in .*: 0:999, 77:3; check them"):
        forget(str(run), [known, "0:999", "77:3"], of="clean")
    assert len(listed(str(run / "clean"))) == 0
    (home / "ids.txt").write_text(f"77:3\n{known}\n")
    code, out, _ = dataprep("forget", run, "--ids", home / "ids.txt", "--of", "clean", "--missing-ok")
    assert (code, "1 id is unknown: 77:3" in out) == (0, True)
    with pytest.raises(PlanError, match="there is no folder x"):
        forget(str(run), [known], of="x")
    with pytest.raises(PlanError, match="has no Dataset and no token shards"):
        forget(str(home / "in"), [known])


def test_files_of_ids(tmp_path):
    """Lines, CSV and Parquet; what has no ids is one sentence."""
    (tmp_path / "a.txt").write_text("# asked for in May\n3:5\n\n7\n")
    (tmp_path / "a.csv").write_text('who,id\n"Some, body","3:5"\nelse,7\n')
    pq.write_table(pa.table({"id": pa.array([7, 3 << 40 | 5], pa.uint64())}), tmp_path / "a.parquet")
    for name in ("a.txt", "a.csv", "a.parquet"):
        assert read_ids(str(tmp_path / name)).tolist() == [7, 3 << 40 | 5]
    (tmp_path / "b.csv").write_text("who\nsomebody\n")
    (tmp_path / "none.txt").write_text("\n")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "b.parquet")
    (tmp_path / "odd.txt").write_text("five\n")
    (tmp_path / "less.txt").write_text("-5\n")
    for name, sentence in {
        "b.csv": "no column id", "b.parquet": "no column id", "none.txt": "contains no ids",
        "odd.txt": "'five' is not a document id", "less.txt": "'-5' is not a document id",
    }.items():  # fmt: skip
        with pytest.raises(PlanError, match=sentence):
            read_ids(str(tmp_path / name))


def test_kinship_is_found(home):
    """Who was made of whom, with what was added to the file numbers."""
    members = {member.folder.name: member for member in Family(str(home / "run")).members}
    assert [(p.folder.name, o) for p, o in members["clean"].parents] == [("web", 0), ("chats", JOINED)]
    assert [(p.folder.name, o) for p, o in members["shards"].parents] == [("clean", 0)]
    assert members["web"].inputs


def test_the_function_and_the_folder_have_one_name() -> None:
    """`dp.tools.forget` stays the function, whatever of the folder is imported."""
    from dataprep.forget import family

    assert dp.tools.forget is forget
    assert family.Family is Family


TOLD = "the secret of one person"
AFTER_FORGET = [
    (dp.Exact(),), (dp.Exact(unit="line"),), (dp.Exact(unit="paragraph"),), (dp.Exact(unit="span3"),),
    (dp.Map(lambda text: text.strip()), dp.Exact(unit="line"), dp.MinHash()),
    (dp.Bloom(unit="paragraph"),), (dp.C4(min_sentences=1),),
]  # fmt: skip


@pytest.mark.parametrize("stages", AFTER_FORGET, ids=lambda stages: "-".join(type(one).__name__ for one in stages))
def test_no_rerun_quotes_a_forgotten_text(tmp_path, stages):
    """After `forget`, after a run that replaces the result, and in a new folder with the list: no file has the text."""
    lines = [f"Document {k} has plain words here. More words follow in {k}. So it ends." for k in range(9)]
    quoted = f"{TOLD} is told here. It is told twice. Nobody else knows it."
    for k in (2, 3):
        lines[k] += f"\n{quoted}\n\n{quoted}"
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in lines))
    docs, out, new = dp.read(str(tmp_path / "a.jsonl")), tmp_path / "out", tmp_path / "new"
    ids = [row["id"] for row in docs]
    dp.Pipeline(*stages).run(docs, out=str(out))
    dp.tools.forget(str(out), ids[2:4])
    assert _with_text(out) == []
    dp.Pipeline(*stages, dp.Gopher(min_words=1)).run(docs, out=str(out), replace=True)
    assert _with_text(out) == []
    new.mkdir()
    shutil.copy(out / "forget.parquet", new)
    made = dp.Pipeline(*stages).run(docs, out=str(new))
    assert _with_text(new) == []
    assert made.stats.stages[1].reasons == {"forgotten": 2}


def _with_text(folder):
    """The files below a folder that have the secret, also in columns of Parquet."""
    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        columns = pa.parquet.read_table(path).to_pylist() if path.suffix == ".parquet" else ""
        if TOLD.encode() in path.read_bytes() or TOLD in str(columns):
            found.append(path.name)
    return found
