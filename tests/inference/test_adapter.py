"""LoRA adapters in PEFT's files: opened by `peft`, and added to their base."""

import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from dataprep.errors import PlanError, ReadError  # noqa: E402
from dataprep.inference.adapter import add_adapter, export_adapter  # noqa: E402
from dataprep.inference.export_model import export_model  # noqa: E402
from dataprep.inference.open_model import open_model  # noqa: E402
from dataprep.tokens.shards.writer import save  # noqa: E402
from dataprep.train import ModelConfig, TrainConfig, load_model, train  # noqa: E402

CONFIG = TrainConfig(
    model=ModelConfig(n_layers=2, n_heads=4, n_kv_heads=2, d_model=32, context=16), steps=6, batch=4, warmup=1, lr=0.02,
    device="cpu", layout="contiguous",
)  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with a base, and a LoRA run of it."""
    home = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    docs = [rng.integers(0, 96, 40) for _ in range(20)]
    shards = save(home / "shards", {"train": docs, "val": docs[:2]}, vocab_size=97, eot=96)
    train(shards, out=home / "base", config=CONFIG, quiet=True)
    lora = replace(CONFIG, lora=3, lora_alpha=12.0, lora_targets=("q_proj", "v_proj", "o_proj", "up_proj", "down_proj"))
    train(shards, out=home / "tuned", config=lora, init_from=home / "base", quiet=True)
    nf4 = replace(lora, lora_base="nf4", lora_targets=("q_proj",))
    train(shards, out=home / "qlora", config=nf4, init_from=home / "base", quiet=True)
    train(shards, out=home / "other", config=replace(CONFIG, seed=1), quiet=True)
    return home


def ids():
    """Random ids."""
    return torch.randint(97, (2, 16), generator=torch.Generator().manual_seed(1))


@torch.no_grad()
@pytest.mark.filterwarnings("ignore::FutureWarning")  # peft uses names that transformers will drop
def test_peft_opens_an_adapter(runs, tmp_path):
    """The base in `transformers` with the adapter in `peft` gives the scores of the run, not those of the base."""
    transformers, peft = pytest.importorskip("transformers"), pytest.importorskip("peft")
    export_model(runs / "base", tmp_path / "base")
    export_adapter(runs / "tuned", tmp_path / "adapter", base=tmp_path / "base")
    base = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    alone = base(ids()).logits
    model = peft.PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
    expected = load_model(runs / "tuned")[0](ids())
    torch.testing.assert_close(model(ids()).logits, expected, atol=1e-4, rtol=1e-4)
    assert (alone - expected).abs().max() > 0.01
    by_itself = peft.AutoPeftModelForCausalLM.from_pretrained(tmp_path / "adapter").eval()
    torch.testing.assert_close(by_itself(ids()).logits, expected, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_an_adapter_is_added_to_its_base(runs, tmp_path, dataprep):
    """To the run it began with, and to its export; the result is the run that was trained."""
    folder = export_adapter(runs / "tuned", tmp_path / "adapter")
    export_model(runs / "base", tmp_path / "hf")
    expected = load_model(runs / "tuned")[0](ids())
    for path in (runs / "base", tmp_path / "hf"):
        model, _ = open_model(path)
        add_adapter(model, folder)
        torch.testing.assert_close(model(ids()), expected, atol=1e-5, rtol=1e-5)
    code, _, said = dataprep("export-model", runs / "base", "--adapter", folder, "--out", tmp_path / "merged")
    assert code == 0, said
    torch.testing.assert_close(open_model(tmp_path / "merged")[0](ids()), expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_qlora_run_is_exported(runs, tmp_path, dataprep):
    """As a whole with the rounded base; its adapter on the base, which is rounded then, is the run that was trained."""
    code, _, said = dataprep("export-model", runs / "qlora", "--out", tmp_path / "hf")
    assert code == 0, said
    expected = load_model(runs / "qlora", merge=False)[0](ids())
    torch.testing.assert_close(open_model(tmp_path / "hf")[0](ids()), expected, atol=1e-5, rtol=1e-5)
    assert dataprep("export-model", runs / "qlora", "--adapter-only", "--out", tmp_path / "adapter")[0] == 0
    model, _ = open_model(runs / "base")
    add_adapter(model, tmp_path / "adapter")
    torch.testing.assert_close(model(ids()), expected, atol=1e-5, rtol=1e-5)
    plain = load_model(runs / "base")[0](ids())
    assert (plain - expected).abs().max() > 0.01


def test_the_command_writes_an_adapter(runs, tmp_path, dataprep):
    """`--adapter-only` writes the changes alone."""
    code, _, said = dataprep("export-model", runs / "tuned", "--adapter-only", "--out", tmp_path / "a")
    assert code == 0, said
    written = {p.name for p in (tmp_path / "a").iterdir()}
    assert written == {".dataprep-journal", "adapter_config.json", "adapter_model.safetensors"}
    code, _, said = dataprep("export-model", runs / "base", "--adapter-only", "--out", tmp_path / "b")
    assert code == 1
    assert "is not a run with lora=RANK" in said
    assert not (tmp_path / "b").exists()


@torch.no_grad()
def test_an_adapter_of_another_base_is_refused(runs, tmp_path):
    """By the hash of the base's weights, or by shapes if it was made elsewhere; the model stays as it is."""
    folder = export_adapter(runs / "tuned", tmp_path / "adapter")
    model, _ = open_model(runs / "other")
    before = model(ids())
    with pytest.raises(PlanError, match="is an adapter for a different base model"):
        add_adapter(model, folder)
    from dataprep.inference.model_files import read_tensors, write_tensors

    tensors, facts = read_tensors(tmp_path / "adapter" / "adapter_model.safetensors")
    assert set(facts) == {"format", "dataprep.base"}
    write_tensors(tmp_path / "adapter" / "adapter_model.safetensors", tensors | {"base_model.lm_head.x": ids()})
    with pytest.raises(PlanError, match=r"changes base_model.lm_head.x, which this model does not have"):
        add_adapter(model, folder)
    name = min(tensors)
    write_tensors(tmp_path / "adapter" / "adapter_model.safetensors", tensors | {name: tensors[name][:, :-1]})
    with pytest.raises(PlanError, match="has updates whose shapes do not fit"):
        add_adapter(model, folder)
    assert torch.equal(model(ids()), before)


def test_other_kinds_of_adapter_are_refused(runs, tmp_path):
    """Settings of PEFT that make another computation, and a config without a rank."""
    folder = export_adapter(runs / "tuned", tmp_path / "adapter")
    model, _ = open_model(runs / "base")
    file = tmp_path / "adapter" / "adapter_config.json"
    config = json.loads(file.read_text())
    for change, error, sentence in (
        ({"use_dora": True, "bias": "all"}, PlanError, "has bias='all', use_dora=True; it must be a plain LoRA"),
        ({"peft_type": "IA3"}, PlanError, "peft_type='IA3'"),
        ({"r": 0}, ReadError, "lacks lora_alpha or r"),
    ):
        file.write_text(json.dumps(config | change))
        with pytest.raises(error, match=sentence):
            add_adapter(model, folder)
