"""Losses of a model per source and per language, and the command."""

import json
import math
import re

import pytest

torch = pytest.importorskip("torch")

import dataprep as dp  # noqa: E402
from dataprep.cli.evaluate import _print_groups  # noqa: E402
from dataprep.errors import DataprepError  # noqa: E402
from dataprep.tokens.shards.shard import Shards  # noqa: E402
from dataprep.tokens.vocabulary.tokenizer import Tokenizer  # noqa: E402
from dataprep.train import ModelConfig, TrainConfig, load_model, train  # noqa: E402
from dataprep.train import evaluate as evaluation  # noqa: E402
from dataprep.train.loss import token_nats  # noqa: E402

CONFIG = TrainConfig(
    model=ModelConfig(n_layers=1, n_heads=2, d_model=16, context=64), layout="bestfit", steps=2, batch=8, lr=1e-2,
    device="cpu", eval_rows=10_000,
)  # fmt: skip


def language(meta):
    """The language that a record states, if any."""
    return {"language": json.loads(meta).get("lang")}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a Dataset of two sources and two languages, its shards, and a model of two steps."""
    place = tmp_path_factory.mktemp("evaluate")
    for source, n in (("news", 60), ("books", 90)):
        rows = [
            {"text": f"{source} {i}: {'le chat' if i % 3 else 'the cat'} {i * i}\n"} | ({"lang": "fr"} if i % 3 else {})
            for i in range(n)
        ]
        (place / f"{source}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    docs = dp.read({"news": str(place / "news.jsonl"), "books": str(place / "books.jsonl")})
    lift = dp.Map(language, adds={"language": "string"})
    docs = dp.Pipeline(lift).run(docs, out=str(place / "docs"))
    shards = dp.encode(docs, Tokenizer.of_bytes(), place / "shards", val=0.3, shard_tokens=700)
    train(shards, out=place / "model", config=CONFIG, quiet=True)
    return place


def test_the_whole_is_the_validation_loss(made):
    """The sum over the sources is the loss that training measured; so is the sum over the languages."""
    checked = json.loads((made / "model" / "metrics.jsonl").read_text().splitlines()[-1])
    by_source = dp.evaluate(made / "model", made / "shards", device="cpu")
    by_language = dp.evaluate(made / "model", made / "shards", by="language", docs=str(made / "docs"), device="cpu")
    assert set(by_source.groups) == {"news", "books"}
    assert set(by_language.groups) == {"fr", "(none)"}
    for found in (by_source, by_language):
        assert found.total.loss == pytest.approx(checked["val_loss"], rel=1e-9)
        assert found.total.bits_per_byte == pytest.approx(checked["bits_per_byte"], rel=1e-9)
        val = Shards.open(made / "shards", "val")
        assert found.total.n_targets == val.n_tokens
        assert found.total.n_bytes == val.n_bytes
        assert sum(found.documents.values()) == len(val)


@pytest.mark.parametrize(("by", "docs"), [("source", None), ("language", "docs")])
def test_groups_are_those_of_the_documents(made, by, docs):
    """Each group has the losses of its documents, scored one by one; the label is the Dataset's own."""
    found = dp.evaluate(
        made / "model", made / "shards", by=by, docs=docs and dp.open_dataset(str(made / docs)), device="cpu"
    )
    model, _ = load_model(made / "model")
    rows = {row["id"]: row for row in dp.open_dataset(str(made / "docs")).take(1000)}
    val = Shards.open(made / "shards", "val")
    sums = {}
    for k in range(len(val)):
        ids = torch.tensor([[val.eot, *val.document(k).tolist(), val.eot]])
        with torch.no_grad():
            nats = token_nats(model, ids[:, :-1], ids[:, 1:]).sum().item()
        label = rows[val.provenance(k).id][by] or "(none)"
        sums[label] = sums.get(label, 0.0) + nats
    assert {label: pytest.approx(nats, rel=1e-4) for label, nats in sums.items()} == {
        label: group.nats for label, group in found.groups.items()
    }


def test_the_command(made, dataprep):
    """A row per source, those with the most tokens first, and one for all; --json has the figures."""
    code, out, _ = dataprep("evaluate", made / "model", "--shards", made / "shards", "--device", "cpu")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["source", "books", "news", "all"]
    code, out, _ = dataprep("evaluate", made / "model", "--shards", made / "shards", "--device", "cpu", "--json")
    found = json.loads(out)["shards"]
    assert found["total"]["tokens"] == sum(group["tokens"] for group in found["groups"].values())
    assert math.exp(found["total"]["loss"]) == pytest.approx(found["total"]["perplexity"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "there is nothing to evaluate on: name token shards with --shards"),
        (["--shards", "shards", "--split", "test"], "--split 'test' of .*shards has no tokens to predict; choose"),
        (["--shards", "shards", "--by", "language"], r"--by 'language' needs the Dataset .* with --docs$"),
        (["--shards", "shards", "--by", "colour", "--docs", "docs"], "there is no column colour; the columns are id"),
        (["--shards", "shards", "--by", "language", "--docs", "other"], "documents of .*shards, such as 0:.*, are"),
        (["--shards", "foreign"], "foreign was not encoded for the model in .*: its vocabulary has 259 ids"),
        (["--shards", "docs"], "docs.* does not describe token shards"),
        (["--shards", "shards", "--chat"], "--chat has no effect without --choices"),
        (["--choices", "none", "--by", "language"], "--by has no effect without --shards"),
        (["--choices", "none", "--split", "test"], "--split has no effect without --shards"),
        (["--choices", "none", "--docs", "docs"], "--docs has no effect without --shards"),
    ],
)  # fmt: skip
def test_bad_input(made, dataprep, options, said):
    """One sentence each."""
    if not (made / "other").exists():
        rows = [{"text": f"another text {i}", "lang": "fr"} for i in range(3)]
        (made / "other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        few = dp.read(str(made / "other.jsonl"))
        dp.Pipeline(dp.Map(language, adds={"language": "string"})).run(few, out=str(made / "other"))
        dp.encode(few, Tokenizer.of_bytes(special="chatml"), made / "foreign", val=0.5)
    words = [made / w if w in {"shards", "docs", "other", "foreign"} else w for w in options]
    code, _, err = dataprep("evaluate", made / "model", *words)
    assert code == 1
    assert len(err.splitlines()) == 1
    assert re.search(said, err), err


def test_losses_that_are_no_numbers_are_an_error(made, monkeypatch):
    """They are not printed as a result, whatever computed them."""
    monkeypatch.setattr(evaluation, "token_nats", lambda _model, ids, *_: torch.full(ids.shape, math.nan))
    with pytest.raises(DataprepError, match="the model's scores are not finite"):
        dp.evaluate(made / "model", made / "shards")


def test_a_label_takes_one_line(capsys):
    """Values of a column with newlines are shown in one line, and long ones are cut."""
    sums = {"documents": 1, "tokens": 2, "bytes": 3, "loss": 1.0, "perplexity": 2.7, "bits_per_byte": 0.9}
    _print_groups({"by": "meta", "groups": {"a\nb\x1b[31m": sums, "long words " * 50: sums}, "total": sums})
    _, first, second, total = capsys.readouterr().out.splitlines()
    assert first.startswith("a \u23ce b\ufffd[31m ")
    assert re.match(r"long words .*\u2026 +1 ", second)
    assert total.startswith("all")
