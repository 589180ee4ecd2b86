"""What MinHash leaves behind is used: other thresholds, dumps added and withdrawn, older Datasets."""

from __future__ import annotations

import json
import logging
import random
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import dataprep as dp
import laws
import twins.minhash
import twins.text
from dataprep import extend
from dataprep.core.model.verdict import DropIds
from dataprep.core.output.layout import Folder
from dataprep.dedup.minhash import MinHash
from dataprep.dedup.near import sketch
from dataprep.dedup.near.keys import without_drops
from dataprep.dedup.near.reuse import parts_to_hash
from dataprep.dedup.near.stored_shingles import ShingleWriter
from dataprep.errors import PlanError
from dataprep.store import files

SURE = {"bands": 120, "rows": 1}  # misses nothing at these thresholds


def texts_of(seed: int, n: int = 120) -> list[str]:
    """Texts of 80 words, half of them edits of earlier ones; seeds share their first texts."""
    rng, first = random.Random(seed), random.Random(0)
    made = [" ".join(f"w{first.randrange(900)}" for _ in range(80)) for _ in range(20)]
    while len(made) < n:
        words = rng.choice(made).split() if rng.random() < 0.5 else [f"w{rng.randrange(900)}" for _ in range(80)]
        for _ in range(rng.choice([0, 1, 2, 5])):
            words[rng.randrange(80)] = f"new{rng.randrange(10**6)}"
        made.append(" ".join(words))
    rng.shuffle(made)
    return made


def write(folder: Path, name: str, texts: list[str]) -> str:
    """A JSONL file of texts."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    return str(folder / f"{name}.jsonl")


def seal(folder: Path, name: str, texts: list[str], *stages) -> dp.Dataset:
    """A sealed dump in its folder."""
    return dp.Pipeline(*stages).run(dp.read(write(folder, name, texts)), str(folder / name))


def verdicts(out: str | Path, stage: str = "MinHash") -> list[dict]:
    """The rows of the drop tables that a stage wrote."""
    return [row for row in pq.read_table(f"{out}/drops").to_pylist() if row["stage"] == stage]


def keys_made(out: str | Path) -> dict[str, int]:
    """How the parts of the newest step of `out` came by their keys."""
    newest = max(Path(out).glob("steps/*/index.json"), key=lambda p: p.stat().st_mtime_ns)
    return files.read_json(str(newest))["keys"]


@pytest.fixture
def count(monkeypatch):
    """Counts how many batches are signed."""
    signed = []
    for kind in (sketch.Shingles, ShingleWriter):
        counted = lambda self, batch, real=kind.keys: signed.append(batch.num_rows) or real(self, batch)
        monkeypatch.setattr(kind, "keys", counted)
    return signed


def same_result(one: Path, other: Path) -> None:
    """All that a user reads of two runs is the same to the byte, but for the generation in names."""
    for folder in ("data", "drops"):
        contents = [{plain(at.name): at.read_bytes() for at in (home / folder).iterdir()} for home in (one, other)]
        assert contents[0] == contents[1]
    made = [replace(Folder(str(home)).sealed, generation=1).record() for home in (one, other)]
    assert plain(json.dumps(made[0])) == plain(json.dumps(made[1]))


def plain(text: str) -> str:
    """A text without the generations in names of files."""
    return re.sub(r"\.g\d+\.", ".", text)


def test_another_threshold_only_verifies(tmp_path, count) -> None:
    """Thresholds of one index read no text, and give what a fresh run gives."""
    docs = dp.read(write(tmp_path, "in", texts_of(1)))
    first = MinHash(threshold=0.5, **SURE)
    dp.Pipeline(dp.Exact(), first).run(docs, str(tmp_path / "out"))
    assert sum(count) == 120
    (index,) = (tmp_path / "out").glob("steps/*MinHash*/index.json")
    assert files.read_json(str(index))["documents"] == 120 - len(verdicts(tmp_path / "out", "Exact")) < 120
    for threshold in (0.8, 0.6, 0.5):
        count.clear()
        dp.Pipeline(dp.Exact(), first.at(threshold)).run(docs, str(tmp_path / "out"), replace=True)
        assert count == []
        dp.Pipeline(dp.Exact(), first.at(threshold)).run(docs, str(tmp_path / f"fresh{threshold}"))
        same_result(tmp_path / "out", tmp_path / f"fresh{threshold}")
    assert len(verdicts(tmp_path / "fresh0.5")) > len(verdicts(tmp_path / "fresh0.8")) > 5


def test_a_damaged_index_is_made_again(tmp_path) -> None:
    """Files that are gone or cut short are noticed, and the result is that of a fresh run."""
    docs = dp.read(write(tmp_path, "in", texts_of(2)))
    fresh = tmp_path / "fresh"
    dp.Pipeline(MinHash(threshold=0.7).at(0.8)).run(docs, str(fresh))
    for damage in ("gather", "keys", "rows"):
        out = tmp_path / damage
        dp.Pipeline(MinHash(threshold=0.7)).run(docs, str(out))
        (place,) = (p for p in out.glob(f"steps/*/{damage}/*") if p.suffix != ".json")
        place.write_bytes(place.read_bytes()[:-9])
        dp.Pipeline(MinHash(threshold=0.7).at(0.8)).run(docs, str(out), replace=True)
        same_result(out, fresh)


def test_an_older_shard_without_documents_needs_no_keys(tmp_path, caplog, count) -> None:
    """A filter dropped all of its documents after they were hashed: no warning, and nothing is hashed but the new."""
    texts = [" ".join(f"{name}{i}x{k}" for k in range(9)) for name in "ab" for i in range(3)]
    docs = laws.dataset_of(tmp_path, texts, parts=2)
    stages = MinHash(), dp.Filter(lambda text: not text.startswith("b"))
    old = dp.Pipeline(*stages).run(docs, str(tmp_path / "old"))
    assert [shard.docs for shard in old.manifest.shards] == [3, 0]
    caplog.clear(), count.clear()
    new = dp.Pipeline(MinHash(against=old.url)).run(docs, str(tmp_path / "out"))
    assert "hashed now" not in caplog.text
    assert (keys_made(tmp_path / "out"), sum(count)) == ({"hashed": 2, "found": 0, "borrowed": 2}, 6)
    assert [row["text"][0] for row in new] == ["b"] * 3


def test_at_keeps_its_bands_or_says_that_it_cannot(caplog) -> None:
    """Raising pins the bands; lowering beyond what they find chooses others, and says so."""
    made = MinHash(threshold=0.8, preset=None)
    assert made.at(0.95).sketch == MinHash(threshold=0.95, bands=26, rows=8).sketch
    assert made.at(0.95).sketch_key == made.sketch_key
    assert made.at(0.799).sketch_key == made.sketch_key or "again" in caplog.text
    for preset in ("fineweb", "dialect"):
        fixed = MinHash(preset=preset)
        assert fixed.at(0.9).settings == replace(fixed.settings, threshold=0.9)
    assert MinHash(bands=8, rows=8, threshold=0.8).at(0.85).settings.bands == 8  # which find too few at both
    assert MinHash(bands=200, rows=4, threshold=0.8).at(0.7).settings.bands == 200
    caplog.clear()
    lower = made.at(0.6)
    assert "hashed again" in caplog.text
    assert lower.settings == MinHash(threshold=0.6).settings
    assert lower.sketch_key != made.sketch_key
    assert MinHash(bands=26, rows=8).at(0.5).settings == MinHash(threshold=0.5).settings
    for wrong in (1.2, "high"):
        with pytest.raises(PlanError, match="at most 1"):
            made.at(wrong)


def test_dumps_are_added_and_withdrawn_without_signing(tmp_path, count) -> None:
    """Of dumps that are read together, only a new one is signed; the result is that of a fresh run."""
    dumps = [seal(tmp_path, name, texts_of(seed)) for seed, name in enumerate("abc")]
    out, stages = str(tmp_path / "out"), (dp.Exact(), MinHash())

    def run(chosen: list[dp.Dataset], place: str) -> None:
        dp.Pipeline(*stages).run(dp.read([d.url for d in chosen]), place, replace=True)

    for number, (chosen, signed, how) in enumerate(
        [
            (dumps[:2], 240, {"hashed": 2, "found": 0, "borrowed": 0}),
            (dumps, 120, {"hashed": 1, "found": 2, "borrowed": 0}),
            (dumps[1:], 0, {"hashed": 0, "found": 2, "borrowed": 0}),  # what a's documents stood for is back
            ([dumps[2], dumps[0]], 0, {"hashed": 0, "found": 2, "borrowed": 0}),
        ]
    ):
        count.clear()
        run(chosen, out)
        assert sum(count) == signed
        assert keys_made(out) == how
        run(chosen, str(tmp_path / f"fresh{number}"))
        same_result(tmp_path / "out", tmp_path / f"fresh{number}")


def test_keys_of_a_sealed_dump_are_borrowed(tmp_path, count) -> None:
    """Dumps that deduplicated themselves are deduplicated together without being signed again."""
    stages = (dp.Exact(), MinHash(), dp.Filter(no_zero))
    dumps = [seal(tmp_path, name, texts_of(seed), *stages) for seed, name in enumerate("ab")]
    assert len(verdicts(dumps[0].url)) > 10
    count.clear()
    out = tmp_path / "out"
    dp.Pipeline(MinHash()).run(dp.read([d.url for d in dumps]), str(out))
    assert count == []
    assert keys_made(out) == {"hashed": 0, "found": 0, "borrowed": 2}
    for dump in dumps:
        shutil.rmtree(f"{dump.url}/steps")
    dp.Pipeline(MinHash()).run(dp.read([d.url for d in dumps]), str(tmp_path / "fresh"))
    assert sum(count) == sum(map(len, dumps))
    same_result(out, tmp_path / "fresh")
    assert len(verdicts(out)) > 10


def no_zero(text: str) -> bool:
    """A filter: drops a few."""
    return "w0 " not in text and "w1 " not in text


def shout(text: str) -> str:
    """A map: changes every text, and not its length."""
    return text.replace("w", "x")


def test_keys_of_changed_texts_are_not_borrowed(tmp_path, count) -> None:
    """Where a later stage changed texts, or the sketch differs, a dump is signed anew."""
    changed = seal(tmp_path, "a", texts_of(1), MinHash(), dp.Map(shout))
    other = seal(tmp_path, "b", texts_of(2), MinHash(preset="fineweb"))
    count.clear()
    dp.Pipeline(MinHash()).run(dp.read([changed.url, other.url]), str(tmp_path / "out"))
    assert sum(count) == len(changed) + len(other)
    assert keys_made(tmp_path / "out") == {"hashed": 2, "found": 0, "borrowed": 0}


@pytest.mark.parametrize("own", [True, False])
def test_what_older_dumps_hold_goes(tmp_path, own, count, caplog) -> None:
    """New documents go for old ones, which stay and come first; by brute force, with and without keys of their own."""
    threshold, stages = 0.5, [MinHash(threshold=0.5, **SURE)] if own else []
    dumps = [seal(tmp_path, name, texts_of(seed, 60), *stages) for seed, name in enumerate("ab")]
    new = texts_of(7, 60) + texts_of(1, 60)[:30]
    count.clear()
    made = MinHash(threshold=threshold, keep="longest", against=[d.url for d in dumps], **SURE)
    with caplog.at_level(logging.WARNING, "dataprep"):
        clean = seal(tmp_path, "new", new, made)
    assert sum(count) == 90 + (0 if own else sum(map(len, dumps)))
    assert ("hashed now" in caplog.text) == (not own)
    rows = [(d.url, row["id"], row["text"]) for d in dumps for row in d.take(1000)]
    docs = dp.read(str(tmp_path / "new.jsonl")).take(1000)
    by_length = sorted(range(90), key=lambda i: -len(new[i]))
    expected = against_by_force([t for *_, t in rows], new, by_length, threshold)
    found = {row["id"]: row for row in verdicts(clean.url)}
    assert set(found) == {docs[i]["id"] for i in expected}
    for i, (kept, similarity) in expected.items():
        home, id_ = rows[kept][:2] if kept < len(rows) else (None, docs[kept - len(rows)]["id"])
        row = found[docs[i]["id"]]
        assert (row["duplicate_of_dataset"], row["duplicate_of"]) == (home, id_)
        assert row["similarity"] == pytest.approx(similarity)
    assert {row["duplicate_of_dataset"] for row in found.values()} == {None, *(d.url for d in dumps)}
    assert clean.manifest.fits[0]["documents"] == 90


def against_by_force(old: list[str], new: list[str], order: list[int], threshold: float) -> dict[int, tuple]:
    """Which new text goes, for which of the old and new ones in keep order, and how similar."""
    sets = [twins.text.shingle_set(t, "word", 5) for t in (*old, *new)]
    kept, gone = list(range(len(old))), {}
    for i in order:
        scores = [twins.minhash.jaccard(sets[len(old) + i], sets[k]) for k in kept]
        best = next((n for n, s in enumerate(scores) if s >= threshold), None)
        if best is None:
            kept.append(len(old) + i)
        else:
            gone[i] = (kept[best], scores[best])
    return gone


def test_small_indexes_give_the_same_against(tmp_path, monkeypatch, count) -> None:
    """Old documents that do not fit into one index go through the next, also at another threshold, on two workers."""
    from dataprep.dedup.near import gather, verify

    old = seal(tmp_path, "old", texts_of(1, 200))
    made = MinHash(threshold=0.5, against=old.url, **SURE)
    whole = seal(tmp_path, "new", texts_of(2, 100), made)
    docs, both = dp.read(str(tmp_path / "new.jsonl")), laws.TWO
    assert verdicts(dp.Pipeline(made).run(docs, str(tmp_path / "two"), both).url) == verdicts(whole.url)
    count.clear()
    higher = dp.Pipeline(made.at(0.8)).run(docs, str(tmp_path / "two"), replace=True)
    assert count == []
    assert verdicts(higher.url) == verdicts(dp.Pipeline(made.at(0.8)).run(docs, str(tmp_path / "higher")).url)
    assert 0 < len(verdicts(higher.url)) < len(verdicts(whole.url))
    monkeypatch.setattr(gather, "PARTITION_BYTES", 50_000)
    monkeypatch.setattr(verify, "BUDGET", 60_000)
    small = dp.Pipeline(made).run(dp.read(str(tmp_path / "new.jsonl")), str(tmp_path / "small"))
    assert verdicts(small.url) == verdicts(whole.url)
    assert len(verdicts(whole.url)) > 20


def test_a_year_of_dumps(tmp_path, count) -> None:
    """Each month goes against the months before: every text is signed once, and moved folders change no key."""
    months: list[str] = []
    for month in range(4):
        count.clear()
        made = seal(tmp_path, f"month{month}", texts_of(month, 60), MinHash(against=months or None))
        assert sum(count) == 60
        months.append(made.url)
    everything = dp.Pipeline(dp.Exact(), MinHash()).run(dp.read(months), str(tmp_path / "all"))
    assert everything.stats["MinHash"].docs_dropped == 0
    assert sum(count) == 60
    one, other = MinHash(against=months[:1]), MinHash(against=str(tmp_path / "moved"))
    before = laws.key(one)
    shutil.move(months[0], tmp_path / "moved")
    assert laws.key(other) == before
    assert laws.key(MinHash(against=months[1])) != before


def test_wrong_older_dumps_are_named(tmp_path) -> None:
    """Nothing there, half of it there, or other parameters: one sentence before any work."""
    docs = dp.read(write(tmp_path, "new", texts_of(3)))

    def refused(says: str, **how) -> None:
        with pytest.raises(PlanError, match=says) as e:
            dp.Pipeline(MinHash(**how)).run(docs, str(tmp_path / "out"))
        assert "\n" not in str(e.value)
        assert not (tmp_path / "out").exists()

    refused("must be the folder of a complete sealed Dataset", against=str(tmp_path / "nowhere"))
    old = seal(tmp_path, "old", texts_of(1), MinHash(preset="fineweb"))
    refused("14 bands of 8 rows.*26 bands of 8 rows.*same settings", against=[old.url])
    (shard,) = Path(old.url, "data").iterdir()
    shard.write_bytes(shard.read_bytes()[:-5])
    refused("were sealed", against=old.url, preset="fineweb")
    for wrong in ([3], [""], ["a", "a"]):
        with pytest.raises(PlanError, match="against="):
            MinHash(against=wrong)


@pytest.mark.parametrize("damage", ["cut", "a changed byte"])
def test_damaged_keys_of_an_older_dump_are_made_again(tmp_path, count, caplog, damage) -> None:
    """A half-written or damaged file of keys is one warning, and its documents are signed again."""
    old = seal(tmp_path, "old", texts_of(1), MinHash())
    whole = seal(tmp_path, "new", texts_of(2), MinHash(against=old.url))
    (place,) = (p for p in Path(old.url).glob("steps/*/keys/*") if p.suffix != ".json")
    data = place.read_bytes()
    place.write_bytes(data[:-9] if damage == "cut" else data[:900] + bytes([data[900] ^ 1]) + data[901:])
    count.clear()
    again = dp.Pipeline(MinHash(against=old.url)).run(dp.read(str(tmp_path / "new.jsonl")), str(tmp_path / "again"))
    assert "damaged" in caplog.text
    assert sum(count) == 120 + len(old)
    assert verdicts(again.url) == verdicts(whole.url)
    assert len(verdicts(again.url)) > 10


def test_plan_samples_older_dumps(tmp_path, count) -> None:
    """`dataprep plan` tries a sample of the older dumps, as of everything else."""
    from dataprep.core.run.context import Context
    from dataprep.core.run.trial import Trial

    old = seal(tmp_path, "old", texts_of(1))
    docs = dp.read(write(tmp_path, "new", texts_of(2)))
    trial = Trial(str(tmp_path / "plan"), 1000)
    dp.Pipeline(MinHash(against=old.url)).run(docs, str(tmp_path / "plan" / "out"), Context(dp.tools.Serial(), trial))
    assert [one.stored for one in trial.inputs] == [docs.n_bytes, old.n_bytes]


def test_a_users_stage_called_url_is_not_taken_for_ours(tmp_path, count) -> None:
    """A stage of that name that rewrites texts: its Dataset's keys are of other texts, so it is hashed again."""
    own = dataclass(frozen=True)(type("URLDedup", (extend.Stage,), {"__call__": upper}))()
    texts = texts_of(1, 50)
    old = seal(tmp_path, "old", texts, MinHash(shingle="char", ngram=5), own)
    changed = [t.replace("w", "x") for t in texts]
    left = seal(tmp_path, "new", changed, MinHash(shingle="char", ngram=5, against=old.url))
    assert len(left) == 0


def upper(self, batches, stats):
    """Rewrite every text, as `shout` does."""
    return dp.Map(shout)(batches, stats)


def test_names_of_keys_know_the_text_alone(tmp_path) -> None:
    """Another place among the inputs, or another source, is the same text; other rows and settings are not."""
    docs = laws.dataset_of(tmp_path, ["a b c", "d e f"], parts=1)
    (part,) = docs.parts
    moved = docs.of([replace(part, slices=tuple(replace(piece, file=7, source="web") for piece in part.slices))])
    fewer = docs.of([replace(part, slices=tuple(replace(piece, stop=1) for piece in part.slices))])
    names = [[item.name for item in parts_to_hash([one], str(tmp_path), "k")] for one in (docs, moved, fewer)]
    assert names[0] == names[1] != names[2]
    assert [item.name for item in parts_to_hash([docs, fewer], str(tmp_path), "k")] == names[0] + names[2]
    assert [item.name for item in parts_to_hash([docs], str(tmp_path), "other")] != names[0]


def test_keys_are_those_before_the_last_verdicts(tmp_path) -> None:
    """Stages that only drop by id come after the keys, and so does the forget list if nothing else comes before."""
    (part,) = laws.dataset_of(tmp_path, ["a"], parts=1).parts
    drops, other = DropIds(key="a", estimator="b", verdicts="c"), dp.Map(shout)
    for stages in ([], [drops], [other], [other, drops, drops], [drops, other], [drops, other, drops]):
        for forgotten in ("", "list"):
            full = replace(part, stages=tuple(stages), forgotten=forgotten)
            base, left = without_drops(full)
            assert (*base.applied, *left) == full.applied
            assert not base.stages or base.stages[-1] is other
            assert base.forgotten == (forgotten if base.stages else "")


def test_settings_are_told_in_words() -> None:
    """Those by which keys differ, so that a message can say in what."""
    rule = "26 bands of 8 rows over shingles of 5 unicode words, seed 1"
    assert MinHash()._settings_text() == f"{rule}, normalize nfc, case, punctuation, space"
    told = MinHash(shingle="char", columns=["title", "text"], ignore_pattern="a+", min_shingles=3)._settings_text()
    assert "characters, seed 1, " in told
    assert told.endswith(", columns title, text, without 'a+', 3 or more per document")
