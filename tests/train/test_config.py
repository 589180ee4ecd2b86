import contextlib
import dataclasses
import enum
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from dataprep.errors import PlanError
from dataprep.train import PRESETS, ModelConfig, TrainConfig, load_model, named, preset, train
from dataprep.train.__main__ import main

LEAN = """
import sys
readers = {"dataprep.tokens." + name for name in ("shards", "shards.shard", "shard_format")}
class Wall:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in {"pyarrow", "numba", "rich", "tokenizers", "tiktoken", "orjson", "fsspec", "xxhash", "zstandard"}:
            raise ImportError(f"{name} is not on the training machine")
        names = ("atomic", "beside", "checksum", "failure", "hashes", "lease", "newer", "place", "ranges", "starting",
                 "stopping", "splitmix")
        store = (f"dataprep.store.{name}" for name in names)
        output = [f"dataprep.core.output.{name}" for name in ("kinds", "records", "state")]
        state = ["dataprep.core", "dataprep.core.output", *output]
        ours = ("dataprep.train", "dataprep.errors", "dataprep.lazy", *store)
        if name.startswith("dataprep.") and not name.startswith(ours):
            if name not in {"dataprep.store", "dataprep.tokens", *state} | readers:
                raise ImportError(f"the trainer must not import {name}")
sys.meta_path.insert(0, Wall())
"""


def run(code, *args):
    """Python code in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_training_needs_torch_and_numpy_only(shards, tmp_path):
    """On a machine with nothing else the whole path works: python -m dataprep.train, resume, and sampling ids."""
    code = LEAN + (
        "from dataprep.train.__main__ import main\n"
        "from dataprep.train import load_model, generate\n"
        "out = sys.argv[3]\n"
        "assert main() == 0\n"
        "assert len(list(generate(load_model(out)[0], [1], max_tokens=3))) == 3\n"
    )
    small = ["steps=3", "batch=4", "model.context=16", "model.d_model=32", "model.n_layers=1", "device=cpu"]
    status, out, err = run(code, str(shards.path), "--out", str(tmp_path), "--set", *small)
    assert status == 0, err
    assert "bits_per_byte=" in out
    assert (tmp_path / "step-00000003.pt").exists()


def test_errors_are_one_line_and_a_status(tmp_path, monkeypatch, capsys):
    """The thin entry answers with a sentence, not a traceback."""
    monkeypatch.setattr(sys, "argv", ["train", str(tmp_path), "--out", str(tmp_path / "out")])
    assert main() == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "manifest.json" in err


def test_presets_are_read_without_torch():
    """A command line lists presets at once."""
    status, out, err = run("import sys; from dataprep.train import PRESETS; print('torch' in sys.modules)")
    assert (status, out.strip()) == (0, "False"), err


@pytest.mark.parametrize("name", PRESETS)
def test_config_survives_json(name):
    """A config is plain values and comes back equal."""
    assert TrainConfig.from_dict(json.loads(json.dumps(preset(name).to_dict()))) == preset(name)


def test_override_sets_fields_by_text():
    """Numbers, words and the model's fields."""
    config = preset("tiny").override("lr=3e-4", "schedule=wsd", "model.n_layers=2", "micro_batch=None")
    assert (config.lr, config.schedule, config.model.n_layers, config.micro_batch) == (3e-4, "wsd", 2, None)


@pytest.mark.parametrize(
    "settings",
    [
        ("model.pattern=window,all", "model.reach=4"), ("model.attention=latent", "model.latent=8"),
        ("model.rope_scaling=yarn", "model.rope_factor=4"), ("model.n_heads=7", "model.d_model=28"),
        ("batch=7", "micro_batch=7"),
    ],
)  # fmt: skip
def test_settings_that_need_each_other_are_set_together(settings):
    """In any order; one alone is refused."""
    assert preset("tiny").override(*settings) == preset("tiny").override(*reversed(settings)) != preset("tiny")
    with pytest.raises(PlanError):
        TrainConfig(micro_batch=4).override(settings[0])


def test_the_option_set_may_be_repeated(tmp_path, shards, monkeypatch):
    """Each with one setting or several."""
    words = "--set steps=1 batch=2 --set model.d_model=16 --set model.n_layers=1 model.context=8 --set device=cpu"
    monkeypatch.setattr(sys, "argv", ["train", str(shards.path), "--out", str(tmp_path), *words.split()])
    assert main() == 0
    config = TrainConfig.from_dict(load_model(tmp_path)[1]["config"])
    assert (config.steps, config.batch, config.device) == (1, 2, "cpu")
    assert (config.model.d_model, config.model.n_layers, config.model.context) == (16, 1, 8)


def test_folders_by_name_are_a_mixture():
    """One folder stands alone; several have names, and one without is refused."""
    assert named(["work/a"]) == "work/a"
    assert named(["web=work/a", "chat=work/b"]) == {"web": "work/a", "chat": "work/b"}
    with pytest.raises(PlanError, match=r"\(web=work/a work/b\) must have different names; write NAME=FOLDER"):
        named(["web=work/a", "work/b"])
    with pytest.raises(PlanError, match="^there are no shards; pass a folder"):
        named([])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: preset("huge"), "preset 'huge' must be one of tiny"),
        (lambda: preset("tiny").override("learning_rate=1"), "setting 'learning_rate=1' must be name=value"),
        (lambda: preset("tiny").override("lr"), "setting 'lr'"),
        (lambda: preset("tiny").override("lr=fast"), "lr='fast' must be a number"),
        (lambda: TrainConfig(batch=10, micro_batch=4), "batch=10 must be a multiple of micro_batch=4"),
        (lambda: TrainConfig(schedule="square"), "must be one of cosine, linear, wsd, constant"),
        (lambda: TrainConfig(steps=0), "steps=0 must be a whole number above 0"),
        (lambda: TrainConfig(warmup=-1), "warmup=-1"),
        (lambda: TrainConfig(dtype="float64"), "dtype='float64'"),
        (lambda: ModelConfig(n_heads="4"), "n_heads='4'"),
        (lambda: TrainConfig(layout="packed"), "layout='packed' must be one of contiguous, bestfit, padded, cut"),
        (lambda: TrainConfig(objective="glm"), "objective='glm' must be one of next, prefix, span, mlm"),
        (lambda: TrainConfig(objective="mlm", model=ModelConfig(positions="t5")), "objective='mlm' reads in both"),
        (lambda: TrainConfig(objective="span", layout="bestfit"), "objective='span' .* set layout='contiguous'"),
        (lambda: TrainConfig(mask_documents="yes"), "mask_documents='yes' must be one of None, True, False"),
        (lambda: TrainConfig(weights=[1, 2]), "weights=.* must map set names to weights"),
        (lambda: TrainConfig(corruption=1.5), "corruption=1.5 must be a number from 0.01 to 0.9"),
        (lambda: TrainConfig(betas=3), "betas=3 must be two numbers from 0 to below 1"),
        (lambda: TrainConfig(betas=(2, 2)), r"betas=\(2, 2\) must be two numbers"),
        (lambda: TrainConfig(betas=(0.9, 1)), r"betas=\(0.9, 1\) must be"),
        (lambda: TrainConfig(betas=[0.9]), r"betas=\(0.9,\) must be"),
        (lambda: TrainConfig(betas=("a", math.nan)), "betas=.* must be"),
        (lambda: TrainConfig(lr=True), "lr=True must be a number"),
        (lambda: TrainConfig(lr=math.nan), "lr=nan must be a number"),
        (lambda: TrainConfig(batch=True), "batch=True must be a whole number"),
        (lambda: TrainConfig(batch=1 << 40), "must be a whole number above 0 and below 2"),
        (lambda: TrainConfig(seed=1 << 64), "seed=.* must be a whole number from 0 to"),
        (lambda: TrainConfig(recompute="yes"), "recompute='yes' must be one of True, False"),
        (lambda: TrainConfig(compile="yes"), "compile='yes' must be one of None, True, False"),
        (lambda: ModelConfig(rope_base=0), "rope_base=0 must be a number from 1"),
        (lambda: ModelConfig(rope_base="x"), "rope_base='x' must be a number from 1"),
        (lambda: ModelConfig(rope_base=math.inf), "rope_base=inf must be a number from 1"),
        (lambda: preset("tiny").override("lr={[]:1}"), "lr=.* must be a number"),
        (lambda: preset(7), "preset 7 must be one of tiny"),
    ],
)
def test_wrong_configs_are_refused(make, sentence):
    """Each with a sentence that has the name, what was found and what is expected."""
    with pytest.raises(PlanError, match=sentence):
        make()


@pytest.mark.parametrize("kind", [TrainConfig, ModelConfig])
def test_every_field_takes_a_value_or_says_what_it_must_be(kind):
    """No value of any field raises another error; None is taken only by fields whose type has it."""
    for field in dataclasses.fields(kind):
        if field.name == "device":  # `pick_device` asks torch
            continue
        for value in (None, "", [], {}, True, 0, -1, 1.5, math.nan, math.inf, 10**30, ("a",), b"x"):
            with contextlib.suppress(PlanError):
                kind(**{field.name: value})
                assert value is not None or "None" in str(field.type), field.name


def test_numbers_of_numpy_become_plain_ones(shards, tmp_path):
    """Checkpoints hold no others, so a run with them could not be opened; 1 is not a choice of True or False."""
    kind = enum.Enum("Kind", {"COSINE": "cosine"}, type=str)
    given = TrainConfig(
        lr=np.logspace(-3, -2, 2)[0], betas=np.array([0.5, 0.25]), batch=np.int64(2), steps=1, device=np.str_("cpu"),
        schedule=kind.COSINE, masks=np.bool_(True), weights={np.str_("web"): np.float64(1)},
        model=ModelConfig(n_layers=1, d_model=16, context=8, dropout=np.float64(0.5), rope_base=np.array([1e4, 1e6])),
    )  # fmt: skip
    same = TrainConfig(
        lr=1e-3, betas=(0.5, 0.25), batch=2, steps=1, device="cpu", weights={"web": 1.0},
        model=ModelConfig(n_layers=1, d_model=16, context=8, dropout=0.5, rope_base=(1e4, 1e6)),
    )  # fmt: skip
    assert repr(given) == repr(same)
    train({"web": shards}, out=tmp_path, config=given, quiet=True)
    assert repr(TrainConfig.from_dict(load_model(tmp_path)[1]["config"])) == repr(same)
    with pytest.raises(PlanError, match=r"^compile=1 must be one of None, True, False$"):
        TrainConfig(compile=1)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("lr=0", "lr=0 must be a number from 1e-12 to 1"),
        ("lr=1e-400", "lr=0.0 must be a number from 1e-12 to 1"),
        ("clip=0", "clip=0 must be above 0.*clip=1e9 clips nothing"),
        ("clip=1e-30", "clip=1e-30 must be a number from 1e-09"),
        ("lora_alpha=0", "lora_alpha=0 must be a number from 1e-06"),
    ],
)
def test_settings_that_train_nothing_are_refused(setting, sentence):
    """A rate or norm of 0 would leave the weights as they are."""
    with pytest.raises(PlanError, match=sentence):
        TrainConfig().override(setting)
    assert TrainConfig().override("clip=1e9").clip == 1e9
