"""`dp.train`, `dp.generate` and `dp.evaluate` do what the commands do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import dataprep as dp
from dataprep.errors import PlanError
from dataprep.inference.chat_model import ChatModel
from dataprep.train import TrainConfig, checkpoint, sample_text
from dataprep.train import train as train_on_shards
from dataprep.unicode.valid import printable

SETTINGS = ["steps=2", "batch=2", "device=cpu", "model.context=32", "model.n_layers=1", "model.d_model=32"]


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Token shards of a few sentences."""
    place = tmp_path_factory.mktemp("python")
    docs = dp.read([{"text": f"The ferry to island {i} leaves at {i % 12} o'clock."} for i in range(80)])
    clean = dp.Pipeline().run(docs, out=str(place / "docs"))
    return dp.encode(clean, dp.train_bpe(clean, vocab_size=300, special=["course"]), place / "shards", val=0.2)


@pytest.fixture(scope="module")
def model(shards, tmp_path_factory):
    """A model of two steps, made by `dp.train`."""
    out = tmp_path_factory.mktemp("model") / "model"
    dp.train(shards, out=out, config="tiny", settings=SETTINGS, quiet=True)
    return out


def weights(folder):
    """The newest checkpoint's weights, as lists."""
    saved = checkpoint.load(checkpoint.found(Path(folder))[-1])["model"]
    return {name: tensor.tolist() for name, tensor in saved.items()}


def test_train_is_the_trainer_and_the_command(shards, model, tmp_path, dataprep):
    """The weights are those of the trainer with the same config; sets are named by a mapping or by texts."""
    config = TrainConfig.from_dict(checkpoint.load(checkpoint.found(model)[-1])["config"])
    train_on_shards(shards, out=tmp_path / "plain", config=config, quiet=True)
    sets = [option for setting in SETTINGS for option in ("--set", setting)]
    assert dataprep("train", shards.path, "--out", tmp_path / "command", *sets)[0] == 0
    dp.train({"all": shards.path}, out=tmp_path / "named", config=config, quiet=True)
    dp.train([f"all={shards.path}"], out=str(tmp_path / "texts"), settings=SETTINGS, quiet=True)
    for name, other in (("plain", model), ("command", model), ("named", tmp_path / "texts")):
        assert weights(tmp_path / name) == weights(other), name
    assert dp.train(str(shards.path), out=model, settings=SETTINGS, quiet=True).steps == 2, "it is finished"


def test_train_encodes_messages(shards, model, tmp_path):
    """A file of messages is encoded for the model of `init_from`; a config that is given is taken as it is."""
    turns = [{"role": "user", "content": "cold?"}, {"role": "assistant", "content": "Take the coat."}]
    chats = tmp_path / "chats.jsonl"
    chats.write_text((json.dumps({"messages": turns}) + "\n") * 20)
    few = ["steps=1", "batch=2", "device=cpu"]
    for given in (chats, {"said": chats}, {"said": chats, "web": shards}):
        out = tmp_path / str(len(str(given)))
        dp.train(given, out=out, settings=few, init_from=model, template="course", val=0.3, quiet=True)
        config = checkpoint.load(checkpoint.found(out)[-1])["config"]
        assert (config["layout"], config["steps"]) == ("bestfit", 1)
        [data] = out.glob("data*")
        assert dp.Shards.open(data / "shards").split("val").n_tokens > 0
    kept = TrainConfig.from_dict(config).override("layout=padded")
    dp.train(chats, out=tmp_path / "kept", config=kept, init_from=model, template="course", quiet=True)
    assert checkpoint.load(checkpoint.found(tmp_path / "kept")[-1])["config"]["layout"] == "padded"
    with pytest.raises(PlanError, match=r"has messages, which are for a trained model: name it with init_from="):
        dp.train(chats, out=tmp_path / "none", quiet=True)
    with pytest.raises(PlanError, match=r"val=0.5 applies only to files of messages; leave it out for shards"):
        dp.train(shards, out=tmp_path / "none", val=0.5, quiet=True)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("options", [{"temperature": 0}, {"seed": 7, "top_p": 0.9}, {"top_k": None, "min_p": 0.1}])
def test_generate_is_the_command(model, dataprep, options):
    """The text is that which `dataprep generate` prints after the prompt, and that of `sample_text`."""
    text = dp.generate(model, "The ferry", max_tokens=12, device="cpu", **options)
    words = [f"--{name.replace('_', '-')}={0 if value is None else value}" for name, value in options.items()]
    _, out, _ = dataprep("generate", model, "--prompt", "The ferry", "--max-tokens", 12, "--device", "cpu", *words)
    assert out == f"The ferry{printable(text)}\n"
    assert text
    loaded = ChatModel.load(model, device="cpu")
    assert dp.generate(loaded, "The ferry", max_tokens=12, **options) == text
    assert sample_text(model, "The ferry", max_tokens=12, **options) == text


def test_wrong_values_are_one_sentence(model):
    """Of `dp.generate`: before the model is read."""
    with pytest.raises(PlanError, match="top_p=2 must be"):
        dp.generate("nowhere", top_p=2)
    with pytest.raises(PlanError, match="nowhere"):
        dp.generate("nowhere")


CODE = """
import sys
sys.modules["torch"] = None
import dataprep as dp
for call in (lambda: dp.train("s", out="o"), lambda: dp.generate("m"), lambda: dp.evaluate("m", "s")):
    try:
        call()
    except dp.DataprepError as e:
        print(e)
"""


def test_without_torch_the_extra_is_named():
    """The names load without torch; the calls are errors that name what to install."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    said = "this needs the package 'torch', which is not installed: pip install 'dataprep-lm[train]'"
    assert done.stdout.splitlines() == [said] * 3
