"""Classifiers: a head that scores labels, learned at the last input of each document."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import dataprep as dp  # noqa: E402
from dataprep.core.model.batch import show_id  # noqa: E402
from dataprep.errors import DataprepError, PlanError, StaleOutput  # noqa: E402
from dataprep.forget.forget import forget  # noqa: E402
from dataprep.inference.adapter import export_adapter  # noqa: E402
from dataprep.inference.chat_model import ChatModel  # noqa: E402
from dataprep.inference.evaluate import Evaluation  # noqa: E402
from dataprep.inference.export_model import export_model  # noqa: E402
from dataprep.inference.labels import labelled  # noqa: E402
from dataprep.tokens.shards.shard import Shards  # noqa: E402
from dataprep.tokens.vocabulary.tokenizer import Tokenizer  # noqa: E402
from dataprep.train import ModelConfig, TrainConfig, generate, load_model, train  # noqa: E402
from dataprep.train.classify import probabilities  # noqa: E402
from dataprep.train.data.rows import IGNORE  # noqa: E402
from dataprep.train.data.sets import training_rows  # noqa: E402
from runs import assert_same_run  # noqa: E402

CONFIG = TrainConfig(
    model=ModelConfig(n_layers=1, n_heads=2, d_model=16, context=16, tied=False), steps=2, batch=8, lr=1e-2,
    device="cpu", layout="bestfit", save_every=8, eval_every=20,
)  # fmt: skip
LABELS = ("ж", "ب")
"""Each text has one of these letters, which is its label, besides others."""


def columns(meta):
    """The columns of a document: the label, one that is missing at times, and one that is always the same."""
    found = json.loads(meta)
    return {"letter": found["letter"], "half": found["letter"] if found["i"] % 9 else None, "same": "x"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a Dataset, its shards, a model of two steps, and a classifier that started from it."""
    place, rng = tmp_path_factory.mktemp("classify"), np.random.default_rng(0)
    rows = []
    for i in range(160):
        letter, other = LABELS[i % 2], "".join(rng.choice(list("aou"), rng.integers(0, 24)))
        at = int(rng.integers(0, min(len(other), 8) + 1))
        rows.append({"text": other[:at] + letter + other[at:], "letter": letter, "i": i})
    (place / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lift = dp.Map(columns, adds=dict.fromkeys(("letter", "half", "same"), "string"))
    docs = dp.Pipeline(lift).run(dp.read(str(place / "rows.jsonl")), out=str(place / "docs"))
    dp.encode(docs, Tokenizer.of_bytes(), place / "shards", val=0.25, shard_tokens=700)
    train(place / "shards", out=place / "model", config=CONFIG, quiet=True)
    dp.train(str(place / "shards"), out=place / "letters", quiet=True, **how(place))
    return place


def how(place, steps=40):
    """Arguments of dp.train for the classifier."""
    return {
        "init_from": place / "model", "labels": "letter", "docs": str(place / "docs"), "settings": [f"steps={steps}"]
    }  # fmt: skip


def of_letters(place):
    """The shards with their labels."""
    return labelled(Shards.open(place / "shards"), "letter", str(place / "docs"), LABELS, ["train"], "by")


def test_a_classifier_learns_which_letter_a_text_has(made, dataprep):
    """Its scores are those of counting; it says the same for a text alone; the command prints both."""
    found = dp.evaluate(made / "letters", made / "shards", by="letter", docs=str(made / "docs"), device="cpu")
    assert found.accuracy > 0.95
    assert found.total.loss == pytest.approx(load_model(made / "letters")[1]["val_loss"], rel=1e-5)
    side, answers = of_letters(made).split("val"), []
    tok = Tokenizer.of_bytes()
    texts = [tok.decode(side.document(k).tolist()) for k in range(len(side))]
    every = dp.tools.classify(made / "letters", texts, device="cpu")
    assert dp.tools.classify(made / "letters", texts[:1], device="cpu")[0] == pytest.approx(every[0])
    assert dp.tools.classify(made / "letters", iter(texts), device="cpu") == every
    for shares, label in zip(every, side.labels, strict=True):
        assert sum(shares.values()) == pytest.approx(1)
        assert list(shares.values()) == sorted(shares.values(), reverse=True)
        answers.append((LABELS[label], next(iter(shares))))
    assert found.confusion == {a: {b: answers.count((a, b)) for b in LABELS} for a in found.groups}
    assert np.mean([a == b for a, b in answers]) == found.accuracy
    code, out, _ = dataprep(
        "evaluate", made / "letters", "--shards", made / "shards", "--by", "letter", "--docs", made / "docs",
        "--text", texts[0], "--device", "cpu",
    )  # fmt: skip
    assert code == 0
    assert f"accuracy {found.accuracy:.1%}, macro F1 {found.macro_f1:.1%}, of {len(texts)} documents" in out
    assert out.splitlines()[-1].startswith(f"{texts[0]}: {answers[0][1]} ")


def test_scores_are_those_of_lists():
    """Accuracy, precision, recall and macro F1 of three labels, of which one never occurs, counted one by one."""
    pairs = [("a", "a")] * 5 + [("a", "b")] * 2 + [("b", "b")] * 3 + [("b", "a")]
    names = ("a", "b", "c")
    table = {a: {b: pairs.count((a, b)) for b in names} for a in names}
    found = Evaluation("val", "letter", {}, {"a": 7, "b": 4, "c": 0}, table)
    each = []
    for name in ("a", "b"):
        precision = np.mean([a == name for a, b in pairs if b == name])
        recall = np.mean([b == name for a, b in pairs if a == name])
        each.append(2 * precision * recall / (precision + recall))
        assert found.scores(name) == pytest.approx({"precision": precision, "recall": recall, "f1": each[-1]})
    assert found.scores("c") == {"precision": None, "recall": None, "f1": None}
    assert found.accuracy == pytest.approx(8 / 11)
    assert found.macro_f1 == pytest.approx(np.mean(each))


@pytest.mark.parametrize("layout", ["bestfit", "padded", "cut"])
def test_packed_is_separate(made, layout):
    """In each layout a document has one target, its label, where its scores are those of the document by itself.

    No row is without a target: the rest of a document that is longer than the context would train nothing.
    """
    model, saved = load_model(made / "letters")
    shards = of_letters(made)
    config = replace(TrainConfig.from_dict(saved["config"]), layout=layout)
    loader = training_rows({"": shards}, config)
    rows_of, side = loader.rows_of.layouts[0], shards.split("train")
    rows = rows_of.rows(np.arange(len(rows_of)))
    assert rows.n_targets == len(side)
    assert rows_of.longer_than_context()[0] > 5
    from dataprep.train.data.sets import to_device

    x, y, mask = to_device(rows, torch.device("cpu"))
    assert (y != IGNORE).any(1).all()
    with torch.no_grad():
        packed = model(x, mask)[y != IGNORE].softmax(-1)
    alone = probabilities(model, [[shards.eot, *side.document(k).tolist()] for k in range(len(side))], batch=7)
    number = rows_of.documents(np.arange(len(rows_of)))[y.numpy() != IGNORE]
    assert np.array_equal(np.sort(number), np.arange(len(side)))
    assert np.array_equal(y[y != IGNORE].numpy(), side.labels[number])
    torch.testing.assert_close(packed, alone[number], atol=1e-5, rtol=1e-4)


def test_the_head_is_new_and_the_run_resumes(made, tmp_path):
    """The body is that of the earlier model, the head is not; a resumed run is equal bit for bit; labels are data."""
    shards, before = of_letters(made), load_model(made / "model")[0]
    config = replace(CONFIG, objective="classify", labels=LABELS, steps=12, model=replace(CONFIG.model, dropout=0.1))
    train(shards, out=tmp_path / "whole", config=config, init_from=made / "model", quiet=True)
    for stop in (8, None):
        train(shards, out=tmp_path / "parts", config=config, init_from=made / "model", quiet=True, stop_at=stop)
    assert_same_run(tmp_path / "whole", tmp_path / "parts")
    frozen = replace(config, lr=1e-12, steps=1, weight_decay=0.0)
    train(shards, out=tmp_path / "frozen", config=frozen, init_from=made / "model", quiet=True)
    after = load_model(tmp_path / "frozen")[0]
    assert after.head.weight.shape == (2, 16)
    torch.testing.assert_close(after.embedding.weight, before.embedding.weight, atol=1e-9, rtol=0)
    other = shards.labelled(1 - Shards.labels.fget(shards))
    with pytest.raises(StaleOutput, match="or their masks or labels, differ"):
        train(other, out=tmp_path / "whole", config=config, init_from=made / "model", quiet=True)


def test_lora_trains_the_head(made, tmp_path):
    """With LoRA the new head is trained as a whole, and the merged model has it; it has no adapter to export."""
    dp.train(str(made / "shards"), out=tmp_path / "lora", lora=2, quiet=True, **how(made, steps=2))
    start, end = (load_model(tmp_path / "lora", merge=merge)[0] for merge in (False, True))
    assert start.head.weight.requires_grad
    assert not start.embedding.weight.requires_grad
    assert end.head.weight.shape == (2, 16)
    with pytest.raises(PlanError, match="is a classifier, whose head an adapter does not contain"):
        export_adapter(tmp_path / "lora", tmp_path / "adapter")


def test_what_a_classifier_cannot_do(made, tmp_path):
    """It generates no text, is not exported, and starts no language model; one with other labels has a new head."""
    for call in (
        lambda: generate(load_model(made / "letters")[0], [1]),
        lambda: dp.generate(made / "letters", "a"),
        lambda: ChatModel.load(made / "letters"),
    ):
        with pytest.raises(PlanError, match=r"this model is a classifier, so it cannot generate text; use dp\.tools\."):
            call()
    with pytest.raises(PlanError, match="is a classifier, whose head Llama does not have"):
        export_model(made / "letters", tmp_path / "hf")
    with pytest.raises(PlanError, match="is a classifier, which cannot predict tokens"):
        train(made / "shards", out=tmp_path / "lm", config=CONFIG, init_from=made / "letters", quiet=True)
    with pytest.raises(PlanError, match="model is not a classifier; train one from it with a column"):
        dp.tools.classify(made / "model", ["a"])
    with pytest.raises(PlanError, match="texts='a' must be a list of texts"):
        dp.tools.classify(made / "letters", "a")
    assert dp.tools.classify(made / "letters", []) == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"labels": "colour"}, "there is no column colour; the columns are id"),
        ({"docs": None}, "labels='letter' needs the Dataset that .* was encoded from: name its folder with docs="),
        ({"labels": "half"}, "labels='half': .* of the train split of .* have no label; the labels are 'ж', 'ب'"),
        ({"labels": "same"}, r"labels=\('x',\) must be two or more, so that there is something to learn"),
        ({"labels": None}, "docs has no effect without labels"),
        ({"settings": ["mask_documents=False"]}, "objective='classify' needs whole documents: set layout=bestfit"),
        ({"dpo": 0.1}, "dpo compares answers, and labels=.* are those of a classifier"),
    ],
)
def test_bad_input_of_a_training(made, tmp_path, more, said):
    """One sentence each, before anything is written."""
    with pytest.raises(DataprepError, match=said):
        dp.train(str(made / "shards"), out=tmp_path / "out", quiet=True, **{**how(made), **more})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("texts", [None, 3, "a", ["a", None], iter([b"a"])])
def test_texts_that_are_none(made, texts):
    """Anything but several texts is an error."""
    with pytest.raises(PlanError, match=r"texts=.* must be a list of texts"):
        dp.tools.classify(made / "letters", texts, device="cpu")


def test_forgotten_documents(made, tmp_path):
    """The Dataset has forgotten a document that the shards still have; once they have, too, training goes on."""
    docs, shards = (str(shutil.copytree(made / name, tmp_path / name)) for name in ("docs", "shards"))
    gone = show_id(dp.open_dataset(docs).table(["id"])["id"][0].as_py())
    forget(docs, [gone])
    given = {**how(made, steps=2), "docs": docs, "out": tmp_path / "out", "quiet": True}
    with pytest.raises(PlanError, match="1 document of .* is not in the Dataset .*, which has forgotten"):
        dp.train(shards, **given)
    forget(shards, [gone])
    assert dp.train(shards, **given).steps == 2


def test_other_bad_input(made, tmp_path):
    """Labels that are unknown or missing at evaluation, labels of another number, and none at all."""
    for by, said in (("same", "labels that the model does not know, such as 'x'"), ("half", "have no label; the")):
        with pytest.raises(PlanError, match=f"by='{by}': .* of the (train|val) split of .*{said}"):
            dp.evaluate(made / "letters", made / "shards", by=by, docs=str(made / "docs"), split="train")
    with pytest.raises(PlanError, match=re.escape("labels of shape (3,) must be one number for each of the 160")):
        Shards.open(made / "shards").labelled([0, 1, 0])
    config = replace(CONFIG, objective="classify", labels=LABELS)
    with pytest.raises(PlanError, match="objective='classify' needs the labels of the documents in"):
        train(made / "shards", out=tmp_path / "out", config=config, quiet=True)
    for bad in ({"objective": "classify"}, {"labels": LABELS}):
        with pytest.raises(PlanError, match="do not fit: name a column with --labels"):
            replace(CONFIG, **bad)
    with pytest.raises(PlanError, match="labels='ab' must be the names of labels"):
        replace(CONFIG, objective="classify", labels="ab")
