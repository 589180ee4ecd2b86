"""`fit_language` on made-up languages in two scripts: what it writes, who reads it, and what it rejects."""

from __future__ import annotations

import json
import random
import shutil

import pytest

import dataprep as dp
from dataprep.errors import DataprepError, InUse, PlanError, StaleOutput
from dataprep.filters.preset_folder import CLASSIFIER, NGRAM, PIECES, RECORD, seal_of
from dataprep.fit.language import fit_language
from dataprep.store import lease
from dataprep.store.key import key
from killed import bytes_of, kills

pytest.importorskip("fasttext")
pytest.importorskip("kenlm")
pytest.importorskip("sentencepiece")

LETTERS = {"Latn": ("aeiou", "bdklmnrstz"), "Arab": ("اويةء", "بتدرسعقلمن")}


def made_up(script, seed, n, words=14):
    """Sentences of a made-up language: `seed` decides its words, of which a few are frequent."""
    rng = random.Random(seed)
    vowels, consonants = LETTERS[script]
    known = ["".join(rng.choice(consonants) + rng.choice(vowels) for _ in range(rng.randint(1, 4))) for _ in range(90)]
    weights = [1 / (k + 1) for k in range(len(known))]
    more = random.Random(n)
    return [" ".join(more.choices(known, weights, k=words + more.randint(0, 6))) + "." for _ in range(n)]


def write(path, texts):
    """A file of documents."""
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return dp.read(str(path))


@pytest.fixture(scope="session", params=["Latn", "Arab"])
def fitted(request, tmp_path_factory):
    """A preset, the samples it was made from, and its folder."""
    folder, script = tmp_path_factory.mktemp("fit"), request.param
    reference = write(folder / "reference.jsonl", made_up(script, 1, 90))
    junk = [f"# {k} | " * 12 for k in range(20)]
    wild = write(folder / "crawl.jsonl", made_up(script, 1, 60) + made_up(script, 2, 50) + junk)
    small = {"vocab_size": 200, "order": 3}
    return fit_language("mine", reference, wild, out=str(folder / "preset"), **small), reference, wild, small


def test_the_folder_is_taken_by_the_filters(fitted, tmp_path):
    """Each filter reads its part, drops of the samples what the preview states, and the language is separated."""
    made, reference, wild, _ = fitted
    gopher, fineweb = dp.Gopher(preset=made.url), dp.FineWeb(preset=made.url)
    language = dp.Language(preset=made.url)
    assert (gopher.min_words, gopher.languages) == (made.record["gopher"]["min_words"], ())
    assert (fineweb.max_short_lines, language.languages) == (None, ("mine",))
    shares = {(cut.stage, cut.reason): cut for cut in made.cuts}
    for stage in (gopher, fineweb, language):
        kept = dp.Pipeline(stage).run(wild, out=str(tmp_path / stage.name)).count
        assert abs(1 - kept / wild.count - shares[stage.name, "all"].crawl) < 1e-4, stage.name
    lost = 1 - dp.Pipeline(gopher).run(reference, out=str(tmp_path / "r")).count / reference.count
    assert lost == pytest.approx(shares["Gopher", "all"].reference, abs=1e-4)
    assert all(cut.reference <= 0.01 for cut in made.cuts if cut.stage == "Gopher" and cut.reason != "all")
    mine = [not row["text"].startswith("#") for row in dp.Pipeline(gopher).run(wild, out=str(tmp_path / "w"))]
    assert all(mine), "junk is dropped"


def test_ccnet_parts_make_up_the_corpus(fitted, tmp_path):
    """Head, middle and tail of Perplexity do not overlap; a model or a range beside a folder is an error."""
    made, _, wild, _ = fitted
    parts = [
        dp.Pipeline(dp.Perplexity(preset=made.url, score_range=part)).run(wild, out=str(tmp_path / part)).count
        for part in ("head", "middle", "tail")
    ]
    assert sum(parts) == wild.count
    dp.Percentiles(dp.Perplexity(preset=made.url), cut="head")
    with pytest.raises(PlanError, match="leave model='x' out"):
        dp.Perplexity(preset=made.url, model="x")
    with pytest.raises(PlanError, match="must be 'head', 'middle', 'tail'"):
        dp.Perplexity(preset=made.url, score_range="feet")


def test_keys_follow_the_content(fitted, tmp_path):
    """A moved folder gives the same keys; other settings give others, and a parameter wins over the folder."""
    made = fitted[0]
    moved = shutil.copytree(made.url, tmp_path / "moved")
    for stage in (dp.Gopher, dp.FineWeb, dp.Language, dp.Perplexity):
        assert key(stage(preset=made.url)) == key(stage(preset=moved)), stage
    assert key(dp.Gopher(preset=made.url)) != key(dp.Gopher(preset=made.url, min_words=3)) != key(dp.Gopher())
    assert dp.Gopher(preset=made.url, min_words=3).min_words == 3
    other = moved / RECORD
    record = json.loads(other.read_bytes())
    record["gopher"]["max_words"] = 999
    other.write_text(json.dumps(record))
    with pytest.raises(PlanError, match=r"preset.json was sealed by `dataprep fit-language`"):
        dp.Gopher(preset=moved)
    shutil.copy(f"{made.url}/{RECORD}", other)
    (moved / NGRAM).write_text("\\data\\")
    dp.Gopher(preset=moved)
    with pytest.raises(PlanError, match=r"ngram.arpa was sealed"):
        dp.Perplexity(preset=moved)


def test_models_that_are_named_one_by_one_are_those_that_were_sealed(fitted, tmp_path):
    """A changed model of a preset folder is found; one that is copied elsewhere is the user's own."""
    copy = tmp_path / "copy"
    shutil.copytree(fitted[0].url, copy)
    paths = {"model": str(copy / NGRAM), "tokenizer": str(copy / PIECES)}
    dp.Perplexity(**paths)
    data = bytearray((copy / PIECES).read_bytes())
    data[len(data) // 2] ^= 1
    (copy / PIECES).write_bytes(data)
    with pytest.raises(PlanError, match=r"^Perplexity: .*pieces.model was sealed by `dataprep fit-language`"):
        dp.Perplexity(**paths)
    (copy / RECORD).write_text('{"name": "of another program"}')
    dp.Perplexity(**paths)


@pytest.mark.parametrize("name", ["language.bin.json", "language.bin", PIECES, NGRAM, RECORD])
def test_a_changed_byte_is_found(fitted, tmp_path, name):
    """By `verify` in each file; a filter refuses what it reads, also where the receipts were left behind."""
    copy = tmp_path / "copy"
    shutil.copytree(fitted[0].url, copy)
    assert dp.tools.verify(str(copy)) == {str(copy): []}
    data = bytearray((copy / name).read_bytes())
    data[len(data) // 2] ^= 1
    (copy / name).write_bytes(data)
    assert {problem.file for problem in dp.tools.verify(str(copy))[str(copy)]} >= {name}
    shutil.rmtree(copy / "receipts")
    if name.startswith("language"):
        with pytest.raises(PlanError, match=rf"^Language: .*{name} was sealed by `dataprep fit-language`"):
            dp.Language(preset=copy)


def test_a_second_call_does_nothing_and_a_killed_one_continues(fitted, tmp_path, monkeypatch):
    """A finished folder is returned; without its record, models are not trained again, and the seal is the same."""
    made, reference, wild, small = fitted
    copy = str(shutil.copytree(made.url, tmp_path / "copy"))
    monkeypatch.setattr("dataprep.fit.language.train_pieces", None)
    monkeypatch.setattr("dataprep.fit.language.train_ngrams", None)
    monkeypatch.setattr("dataprep.fit.language.train_language", None)
    assert fit_language("mine", reference, wild, out=copy, **small).cuts == made.cuts
    (tmp_path / "copy" / RECORD).unlink()
    again = fit_language("mine", reference, wild, out=copy, **small)
    assert again.record == made.record
    monkeypatch.undo()
    (tmp_path / "copy" / PIECES).write_bytes(b"changed")
    monkeypatch.setattr("dataprep.fit.language.train_ngrams", None)
    monkeypatch.setattr("dataprep.fit.language.train_language", None)
    assert fit_language("mine", reference, wild, out=copy, **small).record == made.record
    with pytest.raises(DataprepError, match="made from other samples or settings"):
        fit_language("mine", reference, wild, out=copy, quantile=0.2, **small)


def test_copies_of_the_reference_do_not_move_the_cuts(fitted, tmp_path):
    """A crawl that has the reference, too, has the same cuts of perplexity: the model knows these texts."""
    made, reference, _, small = fitted
    home = made.url.rsplit("/", 1)[0]
    both = dp.read([f"{home}/crawl.jsonl", f"{home}/reference.jsonl"])
    again = fit_language("mine", reference, both, out=str(tmp_path / "p"), **small)
    assert again.record["perplexity"] == pytest.approx(made.record["perplexity"], rel=0.25)
    assert again.record["models"]["cuts_of"] == "crawl"


def _pair(folder, reference, wild):
    return write(folder / "r.jsonl", reference), write(folder / "c.jsonl", wild)


@pytest.mark.parametrize(
    ("reference", "wild", "named", "says"),
    [
        ([], made_up("Latn", 1, 60), {}, "r.jsonl, byte 0: the file is empty"),
        (["one document"], made_up("Latn", 1, 60), {}, "must have at least 50 different documents, but has 1;"),
        (["the same"] * 80, made_up("Latn", 1, 60), {}, "different documents, but has 1;"),
        (made_up("Latn", 1, 60), ["x"], {}, "the crawl sample must have at least 50"),
        (made_up("Latn", 1, 30) + made_up("Arab", 1, 30), made_up("Latn", 1, 60), {}, "50% Latin, 50% Arabic; fit one"),
        (made_up("Latn", 1, 60), made_up("Latn", 1, 60), {}, "at least 10 documents in other languages .* has 1; pass"),
        (made_up("Latn", 1, 60), made_up("Latn", 1, 60), {"vocab_size": 12}, "Vocabulary size is smaller"),
        (made_up("Latn", 1, 60), made_up("Latn", 1, 60), {"order": 9}, "order=9 must be from 2 to 6"),
        (made_up("Latn", 1, 60), made_up("Latn", 1, 60), {"quantile": 2}, "quantile=2 must be a share"),
        (made_up("Latn", 1, 60), made_up("Latn", 1, 60), {"word_split": "x"}, "word_split='x' must be"),
    ],
    ids=["empty", "one", "copies", "crawl", "scripts", "equal", "pieces", "order", "tail", "words"],
)
def test_samples_that_cannot_be_fitted(tmp_path, reference, wild, named, says):
    """A sample or setting that allows no fit is one sentence, and no preset is left."""
    with pytest.raises(DataprepError, match=says) as e:
        docs = _pair(tmp_path, reference, wild)
        fit_language("mine", *docs, out=str(tmp_path / "p"), **{"vocab_size": 200, "order": 2} | named)
    assert "\n" not in str(e.value)
    assert not (tmp_path / "p" / RECORD).exists()


@pytest.mark.parametrize("stage", [dp.Gopher, dp.FineWeb, dp.Language, dp.Perplexity], ids=lambda s: s.__name__)
def test_a_wrong_folder_as_preset(tmp_path, stage):
    """A folder without a record, or with another JSON file of this name, is one sentence that names the command."""
    with pytest.raises(PlanError, match=r"must be a folder that contains preset.json; make it with `dataprep fit"):
        stage(preset=str(tmp_path))
    for content in ("{}", "[1]", "", "{"):
        (tmp_path / RECORD).write_text(content)
        with pytest.raises(PlanError, match="must describe a preset folder of format 1; make it with"):
            stage(preset=tmp_path)


def test_the_command_prints_the_cuts(fitted, dataprep, tmp_path):
    """The table has a line per cut, with the shares of both samples; a mistake is one sentence."""
    made, _, _, _ = fitted
    home = made.url.rsplit("/", 1)[0]
    samples = ("--reference", f"{home}/reference.jsonl", "--crawl", f"{home}/crawl.jsonl")
    code, out, _ = dataprep("fit-language", "mine", *samples, "--out", made.url, "--vocab-size", "200", "--order", "3")
    assert code == 0
    assert "Gopher too_few_words" in out
    assert "crawl loses" in out
    code, _, err = dataprep("fit-language", "other", *samples, "--out", str(tmp_path / "x"))
    assert (code, err.count("\n")) == (1, 1)
    assert "other than 'other'" in err


@pytest.mark.parametrize("name", [PIECES, NGRAM, CLASSIFIER, RECORD])
def test_files_of_others_are_not_replaced(tmp_path, name):
    """A model or preset that somebody else put there is named before any work."""
    docs = write(tmp_path / "a.jsonl", ["one"])
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    with pytest.raises(StaleOutput, match=f"holds {name}, which dataprep did not write; choose another folder"):
        fit_language("mine", docs, docs, out=str(out), replace=True)
    assert [(p.name, p.read_text()) for p in out.iterdir()] == [(name, "mine")]


def test_a_preset_is_replaced_by_other_settings(fitted, tmp_path):
    """This is one that was copied without hidden files, so that it has no journal."""
    made, reference, wild, small = fitted
    shutil.copytree(made.url, tmp_path / "preset")
    (tmp_path / "preset" / ".dataprep-journal").unlink()
    again = fit_language("mine", reference, wild, out=str(tmp_path / "preset"), quantile=0.02, replace=True, **small)
    assert again.record["quantile"] == 0.02


STAGES = (dp.Gopher, dp.FineWeb, dp.Language, dp.Perplexity)


def opened(out):
    """Return the keys of the filters that take a preset: they read all of its files."""
    return [key(stage(preset=str(out))) for stage in STAGES]


def test_a_killed_replacement_leaves_the_old_preset_or_the_new_one(fitted, tmp_path, monkeypatch):
    """Killed at each rename and deletion: all filters open one of the two, and the rerun ends as in a new folder."""
    made, reference, wild, small = fitted
    other = {**small, "vocab_size": 150, "quantile": 0.02}
    fresh = fit_language("mine", reference, wild, out=str(tmp_path / "fresh"), **other)
    known, out, seen = [opened(made.url), opened(fresh.url)], tmp_path / "out", set()

    def again():
        return fit_language("mine", reference, wild, out=str(out), replace=True, **other)

    for _ in kills(monkeypatch, made.url, out, again, step=5):
        seen.add(known.index(opened(out)))
        assert dp.tools.verify(str(out)) == {str(out): []}
        record = again().record
        wanted = {**fresh.record, "files": record["files"]}
        assert record == {**wanted, "seal": seal_of(wanted)}
        assert opened(out) == known[1]
    assert seen == {0, 1}
    again()
    assert sorted(bytes_of(out)) == sorted(
        ["language.g2.bin", "language.g2.bin.json", "ngram.g2.arpa", "pieces.g2.model", "preset.json"]
        + [f"receipts/{name}.g2.json" for name in ("language", "ngram", "pieces")]
    )


def test_a_replacement_that_fails_leaves_the_old_preset(fitted, tmp_path, monkeypatch):
    """The last of the models cannot be trained: all files of the old preset are as they were."""
    made, reference, wild, small = fitted
    out = tmp_path / "out"
    shutil.copytree(made.url, out)
    before, keys = bytes_of(out), opened(out)
    monkeypatch.setattr("dataprep.fit.language.train_language", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fit_language("mine", reference, wild, out=str(out), replace=True, **{**small, "vocab_size": 150})
    assert bytes_of(out).items() >= before.items()
    assert opened(out) == keys
    assert fit_language("mine", reference, wild, out=str(out), **small).record == made.record
    assert bytes_of(out) == before


def test_a_preset_is_made_by_one_process(fitted, tmp_path):
    """The second is refused, and names the first."""
    _, reference, wild, small = fitted
    with lease.held(str(tmp_path / "p")), pytest.raises(InUse, match="is in use by pid"):
        fit_language("mine", reference, wild, out=str(tmp_path / "p"), **small)
