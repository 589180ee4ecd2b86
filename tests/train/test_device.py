import os
import subprocess
import sys
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import DataprepError, PlanError  # noqa: E402
from dataprep.tokens.shards.writer import save  # noqa: E402
from dataprep.train import GPT, ModelConfig, generate, generate_batch, load_model, train  # noqa: E402
from dataprep.train.device import model_memory_named, pick_device  # noqa: E402


@pytest.mark.parametrize("name", ["foo", "meta", "cuda:x", "", "cpu:-1", None, 0, "cuda:1:2"])
def test_unknown_devices_are_refused(shards, config, tmp_path, name):
    """A name that is no device is one sentence, before the output folder is made."""
    with pytest.raises(PlanError, match="device=.* must be auto, cpu, cuda"):
        train(shards, out=tmp_path / "run", config=replace(config, device=name), quiet=True)
    assert not (tmp_path / "run").exists()


def test_missing_cards_are_refused(shards, config, tmp_path, monkeypatch):
    """A card that is not here, or the second of one, is a sentence that says how many there are; sampling too."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(PlanError, match="device='cuda': .* no CUDA card here; use device='cpu'"):
        train(shards, out=tmp_path / "run", config=replace(config, device="cuda"), quiet=True)
    assert not (tmp_path / "run").exists()
    train(shards, out=tmp_path / "run", config=config, stop_at=1, quiet=True)
    with pytest.raises(PlanError, match="no CUDA card here"):
        load_model(tmp_path / "run", "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert pick_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(PlanError, match="device='cuda:2': .* sees 2 of kind cuda"):
        pick_device("cuda:2")


@pytest.mark.parametrize("error", [torch.cuda.OutOfMemoryError("CUDA out of memory. Tried"), MemoryError(),
                                   RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")])  # fmt: skip
def test_out_of_memory_says_what_to_lower(shards, config, tmp_path, monkeypatch, error):
    """Wherever memory ends, the settings that need it are named, with their values; another error stays itself."""

    def fail(*_args):
        raise error

    monkeypatch.setattr("dataprep.train.loop.step_once", fail)
    with pytest.raises(DataprepError, match=r"lower micro_batch \(now 4; .*model.context \(now 24\)") as e:
        train(shards, out=tmp_path / "a", config=config, quiet=True)
    assert "\n" not in str(e.value)
    with pytest.raises(DataprepError, match=r"'cpu': lower model.context \(now 24\)"):
        train(shards, out=tmp_path / "b", config=replace(config, micro_batch=1), quiet=True)
    assert str(e.value).endswith("or set recompute=True, which is slower and has the same result")
    with pytest.raises(DataprepError, match=r"model.n_layers \(now 2\)$"):
        train(shards, out=tmp_path / "b", config=replace(config, recompute=True), quiet=True)
    error = RuntimeError("shapes do not match")
    with pytest.raises(RuntimeError, match="shapes do not match"):
        train(shards, out=tmp_path / "c", config=config, quiet=True)


def test_a_model_that_fits_nowhere_says_so(shards, config, tmp_path):
    """The allocation of the weights themselves is covered, and leaves no folder behind."""
    with pytest.raises(DataprepError, match=r"out of memory .*model.d_model \(now 8000000000\)"):
        train(shards, out=tmp_path / "run", config=config.override("model.d_model=8000000000"), quiet=True)
    assert not (tmp_path / "run").exists()


def test_out_of_memory_while_a_model_writes(monkeypatch):
    """One prompt or several: a sentence that says what to lower; another error stays itself."""
    model = GPT(ModelConfig(n_layers=1, n_heads=2, d_model=8, context=8), 20)

    def fail(*_args):
        raise error

    error = torch.cuda.OutOfMemoryError("CUDA out of memory. Tried")
    monkeypatch.setattr("dataprep.train.generation.next_logits", fail)
    with pytest.raises(DataprepError, match="memory on device='cpu': shorten the prompt, or end other programs$"):
        list(generate(model, [1]))
    with pytest.raises(DataprepError, match=r"fewer prompts at once \(now 2\), shorten them, or end other"):
        generate_batch(model, [[1], [2]])
    error = RuntimeError("shapes do not match")
    with pytest.raises(RuntimeError, match="shapes do not match"):
        list(generate(model, [1]))
    with (
        pytest.raises(DataprepError, match=r"device='cuda': end it, or use device='cpu' \(--device cpu\)$"),
        model_memory_named("cuda", "end it"),
    ):
        raise MemoryError


@pytest.mark.parametrize("stop_at", [0, -1, 1.5, True, "10"])
def test_impossible_ends_are_refused(shards, config, tmp_path, stop_at):
    """A call that would do no step, or half of one, is refused before any work."""
    with pytest.raises(PlanError, match="stop_at=.* must be a whole number above 0"):
        train(shards, out=tmp_path / "run", config=config, stop_at=stop_at, quiet=True)
    assert not (tmp_path / "run").exists()


def test_what_is_no_folder_is_refused(shards, config, tmp_path):
    """Shards that are no path, and an output that is a file, are one sentence each."""
    with pytest.raises(PlanError, match="shards=None must be a folder"):
        train(None, out=tmp_path / "run", config=config)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataprepError, match=r"file cannot be written \(it is a file\); choose another folder as out"):
        train(shards, out=tmp_path / "file", config=config, quiet=True)
    with pytest.raises(PlanError, match="out='' must be the path of a folder"):
        train(shards, out="", config=config, quiet=True)
    (tmp_path / "link").symlink_to(shards.path)
    with pytest.raises(PlanError, match="link' must be another folder than that of the shards"):
        train(shards, out=tmp_path / "link", config=config, quiet=True)
    with pytest.raises(PlanError, match="preset 5 must be one of tiny"):
        train(shards, out=tmp_path / "run", config=5)


def test_large_vocabularies_are_trained_on(config, tmp_path):
    """Ids from 65,536 on come as uint32 and are learned; uint16 shards of such a vocabulary are refused."""
    docs = [[65_536 + i % 7 for i in range(40)]] * 9
    shards = save(tmp_path / "s", {"train": docs, "val": docs[:1]}, vocab_size=65_544, eot=65_543, dtype="uint32")
    small = replace(config, batch=2, micro_batch=2, steps=4, warmup=0, lr=0.05, eval_every=50, eval_rows=1)
    small = small.override("model.n_heads=2", "model.n_kv_heads=1", "model.d_model=8", "model.n_layers=1")
    result = train(shards, out=tmp_path / "run", config=small, quiet=True)
    assert result.val_loss < 11  # of ln(65,544) = 11.09
    with pytest.raises(PlanError, match='does not fit .*uint16|dtype="uint32"'):
        save(tmp_path / "t", {"train": docs}, vocab_size=65_544, eot=65_543)


def test_a_context_below_the_windows_warns(make_shards, config, tmp_path, capsys):
    """Documents with loss masks that a row cannot hold are counted, with the context that they need."""
    shards = make_shards(tmp_path / "s", masked=True)
    lengths = [len(shards.split("train").document(k)) + 1 for k in range(len(shards.split("train")))]
    long = sum(n > 24 for n in lengths)
    config = replace(config, layout="bestfit", steps=1, warmup=0)
    train(shards, out=tmp_path / "a", config=config)
    expected = f"warning: {long} of {len(lengths)} documents are longer than model.context=24 and are cut; "
    assert expected + f"set model.context={max(lengths)} to" in capsys.readouterr().out
    train(shards, out=tmp_path / "b", config=config.override(f"model.context={max(lengths)}"))
    assert "warning" not in capsys.readouterr().out


@pytest.mark.parametrize(("given", "left"), [(None, []), ("mine", ["mine"])], ids=["torch's", "the user's"])
def test_torch_leaves_no_folder(tmp_path, given, left):
    """It makes one in TMPDIR, for compiled code, and names it, as soon as an optimizer is made; the user's is kept."""
    env = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
    env |= {"TORCHINDUCTOR_CACHE_DIR": given} if given else {}
    code = "import os, dataprep.train; os.makedirs(os.environ.setdefault('TORCHINDUCTOR_CACHE_DIR', 'of_torch'))"
    subprocess.run([sys.executable, "-c", code], env=env, cwd=tmp_path, check=True, timeout=120)
    assert os.listdir(tmp_path) == left
