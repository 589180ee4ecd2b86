"""The whole experiment on a tiny model: its design, what is not repeated, its table, and its errors."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import dataprep as dp
from dataprep.errors import ReadError, StaleOutput
from dataprep.experiment.questions import read_all
from dataprep.inference import train as training
from dataprep.tokens.vocabulary.tokenizer import Tokenizer


@pytest.fixture
def trained(monkeypatch):
    """Count the calls of the trainer by (version, seed)."""
    calls, train = Counter(), training.train

    def counting(shards, **options):
        calls[Path(shards.path).name, options["config"].seed] += 1
        return train(shards, **options)

    monkeypatch.setattr(training, "train", counting)
    return calls


def texts(docs):
    """The texts of a Dataset."""
    return docs.table(["text"]).column("text").to_pylist()


def test_no_version_has_anything_of_the_held_out_set(tried, corpus, tmp_path) -> None:
    """Held-out documents are taken first; what shares 13 words with one is dropped, and other duplicates are kept."""
    rows = corpus.table(["text", "source", "topic"]).to_pylist()
    copies = [{**row, "text": f"Before all: {row['text']}"} for row in rows] + rows[:30]
    docs = dp.Pipeline().run(
        dp.read(rows + copies, key="copied", columns=["topic"], source="field:source", out=str(tmp_path / "rows")),
        out=str(tmp_path / "docs"),
    )
    found = tried(docs=docs, versions={"all": [], "exact": [dp.Exact()], "backwards": [dp.Map(backwards)]})
    held, kept = (dp.open_dataset(str(tmp_path / "out" / name)) for name in ("held-out", "versions/all"))
    runs_of = {tuple(text.split()[i : i + 13]) for text in texts(held) for i in range(len(text.split()) - 12)}
    assert len(held) > 6
    for text in texts(kept):
        words = text.split()
        assert not runs_of & {tuple(words[i : i + 13]) for i in range(len(words) - 12)}
    assert found.about["contaminated"] > 0
    ids = [dp.open_dataset(str(tmp_path / "out" / "versions" / name)).table(["id"]) for name in ("all", "backwards")]
    assert ids[0] == ids[1], "words are compared before a stage can change them"
    assert len(set(texts(kept))) < len(texts(kept)), "the version without deduplication has its duplicates"
    assert len(set(texts(held))) == len(held), "and the held-out set has none"


def test_short_copies_of_held_out_documents_are_dropped(tried, corpus, tmp_path) -> None:
    """Also of documents with too few words for a run of words, in other case and punctuation; but no longer ones."""
    rows = corpus.table(["text", "source", "topic"]).to_pylist()
    said = ("صباح {}!", "Good {}", "good, {}", "港 {}")
    short = [{**rows[n], "text": text.format(n)} for n in range(30) for text in said]
    long = [{**rows[n], "text": f"It is good {n} times"} for n in range(30)]
    docs = dp.Pipeline().run(
        dp.read(
            rows + 2 * short + long, key="short", columns=["topic"], source="field:source", out=str(tmp_path / "rows")
        ),
        out=str(tmp_path / "docs"),
    )
    found = tried(docs=docs, versions={"all": [], "exact": [dp.Exact()]})
    held, kept = (dp.open_dataset(str(tmp_path / "out" / name)) for name in ("held-out", "versions/all"))
    plain = [{re.sub(r"\W", "", text).lower() for text in texts(docs)} for docs in (held, kept)]
    assert len([text for text in plain[0] if len(text) < 9]) > 5
    assert not plain[0] & plain[1]
    assert sum(text.startswith("It is") for text in texts(kept) + texts(held)) == 30
    assert found.about["contaminated"] > 5


def test_a_held_out_document_that_was_forgotten(tried, corpus, tmp_path) -> None:
    """Forgotten in the input, it must be forgotten in the experiment before it continues."""
    docs = dp.Pipeline().run(corpus, out=str(tmp_path / "docs"))
    tried(docs=docs)
    pool = dp.open_dataset(str(tmp_path / "out" / "pool" / "corpus")).table(["id", "text"]).to_pylist()
    dp.tools.forget(str(tmp_path / "docs"), [pool[0]["id"]])
    docs = dp.open_dataset(str(tmp_path / "docs"))
    with pytest.raises(StaleOutput, match="documents of the held-out set were forgotten in 'corpus'; run `dataprep f"):
        tried(docs=docs)
    dp.tools.forget(str(tmp_path / "out"), [])
    assert pool[0]["text"] not in texts(dp.open_dataset(str(tmp_path / "out" / "held-out")))
    tried(docs=docs)


def backwards(text):
    """Turn the words around, so that no 13 of them are those of another document."""
    return " ".join(text.split()[::-1])


def test_groups_are_held_out_together(tried, corpus, tmp_path) -> None:
    """No topic is on both sides, and the interval counts topics, not documents."""
    found = tried(group="topic")
    held, kept = (dp.open_dataset(str(tmp_path / "out" / name)) for name in ("held-out", "versions/all"))
    topics = [set(docs.table(["topic"]).column("topic").to_pylist()) for docs in (held, kept)]
    assert not topics[0] & topics[1]
    assert found.about["held_out_groups"] == len(topics[0]) < found.about["held_out_documents"]


def test_runs_are_paired_and_equal(tried, trained) -> None:
    """Versions with the same documents share their runs; the losses of another seed, or of others, are different."""
    found = tried(versions={"a": [], "b": [], "short": [dp.Filter(short)]})
    assert set(trained) == {("a", 0), ("short", 0), ("a", 1), ("short", 1)}
    assert set(trained.values()) == {1}
    first = found.measures[0]["versions"]
    assert first["a"]["by_seed"] == first["b"]["by_seed"]
    assert len(set(first["a"]["by_seed"])) == 2
    assert (first["b"]["difference"], first["b"]["p"], first["b"]["verdict"]) == (0, 1, "not shown")
    assert first["short"]["difference"] != 0
    assert found.verdicts().keys() == {"b", "short"}
    assert found.about["tokens"] == 4 * 4 * 32


def short(text):
    """Drop a third of the documents."""
    return "third" if int(text.split()[-1].rstrip(".")) % 3 == 0 else None


def test_losses_are_those_of_evaluate(tried, tmp_path) -> None:
    """All and by source and topic: what `dp.evaluate` measures on the held-out shards, mean over the seeds."""
    found = tried(by=["source"])
    place = tmp_path / "out"
    by_name = {one["name"]: one for one in found.measures}
    assert set(by_name) == {"all", "source=news", "source=darija"}
    for version in ("all", "short"):
        models = [place / name for name in found.versions[version]["runs"]]
        each = [dp.evaluate(m, place / "shards" / "_held-out", split="train", device="cpu") for m in models]
        assert by_name["all"]["versions"][version]["by_seed"] == pytest.approx([e.total.bits_per_byte for e in each])
        for source in ("news", "darija"):
            seen = by_name[f"source={source}"]["versions"][version]["by_seed"]
            assert seen == pytest.approx([e.groups[source].bits_per_byte for e in each])
    whole = by_name["all"]
    assert whole["signal"] == pytest.approx(abs(whole["versions"]["short"]["difference"]))
    spread = [np.var(whole["versions"][name]["by_seed"], ddof=1) for name in ("all", "short")]
    assert whole["noise"] == pytest.approx(np.sqrt(np.mean(spread)))


def test_finished_runs_are_never_repeated(tried, trained, tmp_path) -> None:
    """Not if the call is repeated, and not if a seed, a version or a file of questions is added."""
    first = tried()
    assert set(trained) == {(name, seed) for name in ("all", "short") for seed in (0, 1)}
    trained.clear()
    again = tried()
    assert not trained
    assert again == first
    more = tried(seeds=3)
    assert set(trained) == {("all", 2), ("short", 2)}
    assert more.measures[0]["versions"]["short"]["by_seed"][:2] == first.measures[0]["versions"]["short"]["by_seed"]
    trained.clear()
    wider = tried(versions={"all": [], "short": [dp.Filter(short)], "few": [dp.Filter(few)]})
    assert {name for name, _ in trained} == {"short"}, "which is another one now; few has the documents that it had"
    assert wider.versions["few"]["runs"] == first.versions["short"]["runs"]
    assert wider.about["tokenizer"] == first.about["tokenizer"]


def few(text):
    """Keep a half, the even ones."""
    return "odd" if int(text.split()[-1].rstrip(".")) % 2 else None


@pytest.mark.parametrize("after", [1, 3])
def test_a_killed_experiment_resumes_to_the_same_table(tried, trained, tmp_path, monkeypatch, after) -> None:
    """Stopped inside the first run, and between runs: the files are those of an experiment that was never stopped."""
    whole = tried(out=str(tmp_path / "whole"))
    train = training.train

    def stopped(shards, **options):
        nonlocal after
        after -= 1
        if after:
            return train(shards, **options)
        train(shards, **{**options, "stop_at": 2})
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "train", stopped)
        with pytest.raises(KeyboardInterrupt):
            tried()
    assert not (tmp_path / "out" / "experiment.json").exists()
    resumed = tried()
    assert without_seconds(resumed.to_dict()) == without_seconds(whole.to_dict())
    for name in ("experiment.md", "differences.svg", "sizes.svg"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def without_seconds(found):
    """The result without times."""
    versions = {n: {**of, "seconds": 0} for n, of in found["versions"].items()}
    return {**found, "versions": versions}


def test_questions(tried, tmp_path) -> None:
    """The loss of right answers is that of `answer_choices`; one example precedes the questions; last words too."""
    from dataprep.inference.choices import Question, answer_choices

    rows = [{"prompt": f"the {w} of", "choices": ["salt", "السوق"], "answer": n % 2} for n, w in enumerate("abcdefghi")]
    lines(tmp_path / "exam.jsonl", rows)
    lines(tmp_path / "said.jsonl", [{"text": f"the ships came in with {w}\n"} for w in ("salt", "fruit", "النعناع")])
    found = tried(choices={"exam": tmp_path / "exam.jsonl"}, last_words={"said": str(tmp_path / "said.jsonl")}, shots=1)
    by_name = {one["name"]: one for one in found.measures}
    exam, said = by_name["choices-exam"], by_name["last-word-said"]
    assert (exam["items"], said["items"]) == (8, 2)
    model = tmp_path / "out" / found.versions["short"]["runs"][1]
    asked = [Question(f"the a of salt\n\n{r['prompt']}", tuple(r["choices"]), r["answer"]) for r in rows[1:]]
    nats = answer_choices(model, asked, device="cpu").log_likelihoods
    bits = -sum(each[q.answer] for each, q in zip(nats, asked, strict=True)) / np.log(2)
    size = sum(len(q.choices[q.answer].encode()) for q in asked)
    assert exam["versions"]["short"]["by_seed"][1] == pytest.approx(bits / size)
    last = [Question("the ships came in with salt\n\nthe ships came in with", (w,), 0) for w in ("fruit", "النعناع")]
    nats = answer_choices(model, last, device="cpu").log_likelihoods
    assert said["versions"]["short"]["by_seed"][1] == pytest.approx(-sum(x for [x] in nats) / np.log(2) / 19)


def test_edited_choices_are_measured_again(tmp_path) -> None:
    """They decide the first token that is scored, also of the same right answer."""
    recipes = []
    for other in ("never", "salty"):
        rows = [{"prompt": f"the {w} of", "choices": ["salt and oranges", other], "answer": 0} for w in "abc"]
        lines(tmp_path / "exam.jsonl", rows)
        recipes += [one.recipe() for one in read_all({"exam": tmp_path / "exam.jsonl"}, None, 0)]
    assert recipes[0] != recipes[1]


def lines(path, rows):
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def test_checkpoints_that_are_asked_for_later(tried, tmp_path) -> None:
    """The table is that of an experiment that asked for them at once."""
    tried(settings=["steps=40"])
    found = [tried(checkpoints=3, settings=["steps=40"], out=str(tmp_path / name)) for name in ("out", "new")]
    assert found[0].measures == found[1].measures


def test_last_checkpoints_are_averaged(tried, tmp_path) -> None:
    """The loss is the mean of those of the last two checkpoints."""
    found = tried(checkpoints=2, settings=["steps=40"], seeds=2)
    folder = tmp_path / "out" / found.versions["all"]["runs"][0]
    last = sorted(folder.glob("step-*.pt"))[-2:]
    assert [path.name for path in last] == ["step-00000038.pt", "step-00000040.pt"]
    each = [dp.evaluate(path, tmp_path / "out" / "shards" / "_held-out", split="train", device="cpu") for path in last]
    mean = np.mean([one.total.bits_per_byte for one in each])
    assert found.measures[0]["versions"]["all"]["by_seed"][0] == pytest.approx(mean)


def test_finished_datasets_are_compared(tried, corpus, tmp_path) -> None:
    """Folders of Datasets that share ids: the same documents are held out of each; one tokenizer of all is trained."""
    odd = dp.Pipeline(dp.Filter(few)).run(corpus, out=str(tmp_path / "odd"))
    found = tried(docs=None, versions={"all": corpus, "odd": str(odd.url)}, tokenizer=None, vocab_size=300)
    assert found.about["contaminated"] is None
    held = set(texts(dp.open_dataset(str(tmp_path / "out" / "held-out"))))
    for name in ("all", "odd"):
        assert not held & set(texts(dp.open_dataset(str(tmp_path / "out" / "versions" / name))))
    assert "which had been made with them" in str(found)
    assert "trained on all, odd together" in str(found)
    shards = [dp.Shards.open(tmp_path / "out" / "shards" / name) for name in ("all", "odd", "_held-out")]
    assert len({one.tokenizer_hash for one in shards}) == 1


def test_the_table(tried, tmp_path, capsys) -> None:
    """The Markdown has a row per version and per measure, the SVG a mark per version; the cost is printed first."""
    found = tried(quiet=False, settings=["steps=30"])
    printed = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"4 trainings of 3,840 tokens: [\d.e+]+ FLOPs", printed[0])
    assert re.fullmatch(r"the first 10 steps: 4 .*, about [\d,]+ (s|min) at [\d,]+ tokens/s", printed[1])
    assert [line.split(":")[0] for line in printed[2:]] == [f"{v}, seed {s}" for s in (0, 1) for v in ("all", "short")]
    markdown = (tmp_path / "out" / "experiment.md").read_text()
    assert markdown == found.markdown()
    assert [line.split(" | ")[0] for line in markdown.splitlines()[2:4]] == ["| all", "| short"]
    saved = json.loads((tmp_path / "out" / "experiment.json").read_text())
    assert saved == found.to_dict()
    svg = (tmp_path / "out" / "differences.svg").read_text()
    assert svg.count("<title>short: ") == 2
    assert "baseline" in str(found)
    assert "not shown; " in str(found) or "better" in str(found) or "worse" in str(found)


BAD = {
    "one version": ({"versions": {"all": []}}, "versions has 1, and must have two or more"),
    "a name": ({"versions": {"a/b": [], "c": []}}, "the version's name 'a/b' must have letters, digits"),
    "a file of questions": ({"choices": {"../x": "x.jsonl"}}, "the name '../x' of a file of questions must have"),
    "one seed": ({"seeds": 1}, "seeds=1 must be a whole number from 2, since a single run cannot tell"),
    "no held-out set": ({"held_out": 0}, "held_out=0 leaves no documents"),
    "too few held out": ({"held_out": 0.01}, "held_out=0.01 has .*, too few to compare models on"),
    "too many tokens": ({"tokens": 10_000_000}, "the version 'all' has .* tokens, too few for the 10,000,000 that"),
    "no such column": ({"by": ["language"]}, "by='language' must be a column of the held-out documents: id, text"),
    "no such group": ({"group": "host"}, "group='host' must be a column of the documents"),
    "no such baseline": ({"baseline": "x"}, "baseline='x' must be one of the versions: all, short"),
    "stages without docs": ({"docs": None}, "the version 'all' must be a Dataset or its folder, or a list of stages"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_before_any_training(tried, trained, name) -> None:
    """Each is a PlanError, and nothing was trained."""
    given, message = BAD[name]
    with pytest.raises(dp.DataprepError, match=message) as error:
        tried(**given)
    assert "\n" not in str(error.value)
    assert not trained


def test_bad_data_is_one_sentence_before_any_training(tried, trained, corpus, tmp_path) -> None:
    """A held-out set inside a version, or empty; token shards as a version; a bad line; another held-out set later."""
    odd = dp.Pipeline(dp.Filter(few)).run(corpus, out=str(tmp_path / "odd"))
    none = dp.Pipeline(dp.Filter(lambda text: "all")).run(corpus, out=str(tmp_path / "none"))
    dp.encode(corpus, Tokenizer.of_bytes(), tmp_path / "shards", val=0)
    (tmp_path / "exam.jsonl").write_text('{"prompt": "a", "choices": ["b"], "answer": 0}\n')
    for given, message in (
        ({"held_out": odd}, "60 of the 60 texts of the held-out set are in 'docs'"),
        ({"held_out": none}, "the held-out set has 0 texts, too few to compare"),
        ({"docs": None, "versions": {"a": corpus, "b": str(tmp_path / "shards")}}, "'b', .*, has token shards; name"),
        ({"docs": corpus, "versions": {"a": corpus, "b": odd}}, "with docs=, each version must be a list of stages"),
    ):
        with pytest.raises(dp.DataprepError, match=message):
            tried(**given)
    with pytest.raises(ReadError, match="line 1: choices"):
        tried(choices={"exam": tmp_path / "exam.jsonl"})
    assert not trained
    tried()
    with pytest.raises(StaleOutput, match="has an experiment with held_out=0.2, now 0.3; choose another folder"):
        tried(held_out=0.3)


def test_a_foreign_file_is_not_replaced(tried, tmp_path) -> None:
    """A file of somebody else with the name of a result is left as it is."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "experiment.md").write_text("my notes")
    with pytest.raises(StaleOutput, match="experiment.md exists and is not the result of an experiment"):
        tried()
    assert (tmp_path / "out" / "experiment.md").read_text() == "my notes"


def test_the_command(corpus, tmp_path, dataprep) -> None:
    """`dataprep experiment DIR NAME=DIR` prints both tables, or JSON."""
    dp.Pipeline(dp.Filter(few)).run(corpus, out=str(tmp_path / "few"))
    given = ("experiment", f"whole={corpus.url}", str(tmp_path / "few"), "--out", str(tmp_path / "out"), "--seeds", "2",
             "--preset", "tiny", "--set", "steps=4", "--set", "model.n_layers=1", "--set", "model.d_model=16",
             "--set", "model.context=32", "--set", "warmup=1", "--set", "device=cpu", "--vocab-size", "300",
             "--held-out", "0.2")  # fmt: skip
    code, out, err = dataprep(*given)
    assert code == 0, err
    assert "4 trainings of 512 tokens" in out
    assert re.search(r"^few .* (not shown|better|worse)", out, re.MULTILINE)
    code, out, _ = dataprep(*given, "--json")
    assert json.loads(out)["baseline"] == "whole"
    _, _, err = dataprep("experiment", "a/x", "b/x", "--out", "c")
    assert err.endswith("DIR has the name 'x' twice; write NAME=b/x\n")
