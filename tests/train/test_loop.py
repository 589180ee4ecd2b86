import math
import os
import re
import signal
import time
from dataclasses import asdict, replace

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError, StaleOutput  # noqa: E402
from dataprep.tokens.shard_format import content_hash  # noqa: E402
from dataprep.tokens.shards.shard import Shards  # noqa: E402
from dataprep.tokens.shards.writer import save  # noqa: E402
from dataprep.train import checkpoint, train  # noqa: E402
from dataprep.train.begin import begin  # noqa: E402
from dataprep.train.data.layouts import layout_of  # noqa: E402
from dataprep.train.description import doubts  # noqa: E402
from dataprep.train.evaluate import LossSum  # noqa: E402
from dataprep.train.metrics import PEAK_FLOPS, peak_flops  # noqa: E402
from runs import assert_same_run, curve  # noqa: E402


@pytest.fixture(scope="module")
def whole(shards, config, tmp_path_factory):
    """A run of 20 steps that nothing interrupted."""
    out = tmp_path_factory.mktemp("whole")
    train(shards, out=out, config=config, quiet=True)
    return out


def test_ten_and_ten_steps_are_twenty(shards, config, whole, tmp_path):
    """Stopped after ten steps and resumed: the same weights, moments and losses, bit for bit."""
    first = train(shards.path, out=tmp_path, config=config, stop_at=10, quiet=True)
    assert first.steps == 10
    assert train(shards, out=tmp_path, config=config, quiet=True).steps == 20
    assert_same_run(whole, tmp_path)


def test_the_curve_has_every_step_once_and_falls(shards, config, whole):
    """A row a step, validation at 0, 10 and 20, and a model that has learnt."""
    rows = curve(whole)
    assert [r["step"] for r in rows if "loss" in r] == list(range(1, 21))
    assert [r["step"] for r in rows if "val_loss" in r] == [0, 10, 20]
    val = [r["val_loss"] for r in rows if "val_loss" in r]
    assert val[0] == pytest.approx(math.log(shards.vocab_size), abs=0.1)
    assert val[-1] < val[0] - 0.2
    assert rows[1]["lr"] == pytest.approx(config.lr / config.warmup)


def test_a_finished_run_is_not_done_again(shards, config, whole):
    """The second call returns the same result and touches no checkpoint."""
    before = {p: p.stat().st_mtime_ns for p in whole.iterdir()}
    again = train(shards, out=whole, config=config, quiet=True)
    assert again.steps == 20
    assert again.val_loss == curve(whole)[-1]["val_loss"]
    assert again.tokens == 20 * config.batch * config.model.context
    assert {p: p.stat().st_mtime_ns for p in whole.iterdir()} == before


SCRIPT = """
import time
from dataprep.train import TrainConfig, loop, train
rate = loop.lr_at
loop.lr_at = lambda *given: time.sleep(0.1) or rate(*given)  # so that the run is not over before it is killed
config = TrainConfig.from_dict({config!r})
train({shards!r}, out={out!r}, config=config)
"""


def start(copies, shards, config, out):
    """Start the same run in a process of its own; return its id once it has its first checkpoint."""
    pid = copies.start(SCRIPT.format(config=config.to_dict(), shards=str(shards.path), out=str(out)))
    while not checkpoint.found(out):
        assert copies.poll(pid) is None
        time.sleep(0.005)
    return pid


@pytest.fixture(scope="module")
def long_run(shards, config, tmp_path_factory):
    """The config of a run long enough to be killed, and what it gives when nobody does."""
    config = replace(config, steps=50, save_every=5, eval_every=20)
    out = tmp_path_factory.mktemp("long")
    train(shards, out=out, config=config, quiet=True)
    return config, out


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(copies, shards, long_run, tmp_path, number):
    """SIGKILL falls back to the last checkpoint, SIGTERM and Ctrl-C save one first; then all is bit for bit equal."""
    config, whole = long_run
    killed = tmp_path / "killed"
    pid = start(copies, shards, config, killed)
    os.kill(pid, number)
    assert copies.wait(pid) == {signal.SIGTERM: 128 + signal.SIGTERM}.get(number, -number)
    stopped = checkpoint.load(checkpoint.found(killed)[-1])["step"]
    assert stopped < 50
    train(shards, out=killed, config=config, quiet=True)
    assert_same_run(whole, killed)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"lr": 0.02}, "lr was 0.01, is 0.02"),
        ({"steps": 30}, "steps was 20, is 30"),
        ({"model.n_layers": 3}, "model.n_layers was 2, is 3"),
    ],
)
def test_another_recipe_is_refused(shards, config, whole, change, sentence):
    """What would change the training is named; the old run stays."""
    other = config.override(*(f"{k}={v}" for k, v in change.items()))
    with pytest.raises(StaleOutput, match=f"{sentence}.*--start-over, or resume=False"):
        train(shards, out=whole, config=other, quiet=True)
    assert len(checkpoint.found(whole)) == 2


def test_what_does_not_change_the_training_may_change(shards, config, whole):
    """Another micro-batch or another rhythm of checkpoints is the same run."""
    other = replace(config, micro_batch=2, save_every=3, keep_checkpoints=5)
    assert train(shards, out=whole, config=other, quiet=True).steps == 20


def test_other_tokens_are_refused(make_shards, config, whole, tmp_path):
    """Shards with other tokens, or with the same tokens of another tokenizer, are another run."""
    with pytest.raises(StaleOutput, match=r"the tokens in .*, or their masks, differ"):
        train(make_shards(tmp_path / "a", seed=7), out=whole, config=config, quiet=True)
    with pytest.raises(StaleOutput, match="the tokenizer differs"):
        train(make_shards(tmp_path / "b", tokenizer={"hash": "another"}), out=whole, config=config, quiet=True)


@pytest.mark.parametrize("kind", ["bytes", "deep", "folder", "pipe", "broken link"])
def test_a_damaged_metrics_file(shards, config, tmp_path, kind):
    """Rows that cannot be read are removed; what is not a file is one sentence, and a pipe does not block."""
    train(shards, out=tmp_path, config=config, stop_at=8, quiet=True)
    path = tmp_path / "metrics.jsonl"
    good = path.read_bytes()
    path.unlink()
    {
        "bytes": lambda: path.write_bytes(b"\xff\xfe\x00{\n" + good + b"\xff"),
        "deep": lambda: path.write_bytes(b"[" * 100_000 + b"\n" + good),
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "broken link": lambda: path.symlink_to("nowhere"),
    }[kind]()
    if kind in {"bytes", "deep"}:
        train(shards, out=tmp_path, config=config, stop_at=9, quiet=True)
        assert [row["step"] for row in curve(tmp_path) if "loss" in row] == list(range(1, 10))
    else:
        with pytest.raises(PlanError, match=r"metrics\.jsonl must be a file of metrics \(.+\); remove it"):
            train(shards, out=tmp_path, config=config, stop_at=9, quiet=True)


def test_another_tokenizer_beside_the_shards_is_refused(make_shards, config, tmp_path):
    """The model would be saved with a vocabulary that its ids do not have."""
    hashes = {"file": "tokenizer.json", "hash": "1", "file_hash": content_hash(b"{}")}
    shards = make_shards(tmp_path / "s", tokenizer=hashes)
    (tmp_path / "s" / "tokenizer.json").write_text("{}")
    train(shards, out=tmp_path / "good", config=config, stop_at=1, quiet=True)
    assert (tmp_path / "good" / "tokenizer.json").read_text() == "{}"
    (tmp_path / "s" / "tokenizer.json").write_text("{} ")
    with pytest.raises(PlanError, match=r"tokenizer.json is not the tokenizer that encoded these shards"):
        train(shards, out=tmp_path / "bad", config=config, quiet=True)


def test_start_over_removes_the_earlier_run(make_shards, config, tmp_path):
    """With resume=False the folder is the new run's, from step 0, and files of others in it stay."""
    shards = make_shards(tmp_path / "shards")
    (shards.path / "tokenizer.json").write_text("{}")
    out = tmp_path / "out"
    train(shards, out=out, config=config, quiet=True)
    (out / "notes.txt").write_text("mine")
    train(shards, out=out, config=replace(config, lr=0.02, steps=5), resume=False, quiet=True)
    assert [p.name for p in checkpoint.found(out)] == ["step-00000005.pt"]
    assert max(r["step"] for r in curve(out)) == 5
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "tokenizer.json").read_text() == "{}"


def test_without_a_validation_split_or_a_bytes_table(config, tmp_path):
    """Training goes on, and says None rather than a made-up number; a tiny split is measured in a shorter row."""
    docs = [list(range(40))] * 30
    none = save(tmp_path / "none", {"train": docs}, vocab_size=97, eot=96)
    assert asdict(train(none, out=tmp_path / "a", config=config, stop_at=2, quiet=True))["val_loss"] is None
    few = save(tmp_path / "few", {"train": docs, "val": [[1, 2, 3]]}, vocab_size=97, eot=96)
    result = train(few, out=tmp_path / "b", config=config, stop_at=10, quiet=True)
    assert result.val_loss > 0
    assert result.bits_per_byte is None


def test_steps_default_to_one_epoch(shards, config, tmp_path):
    """Without a number of steps, every row is trained on once."""
    result = train(shards, out=tmp_path, config=replace(config, steps=None), stop_at=1, quiet=True)
    rows = layout_of(Shards.open(shards.path, "train"), "contiguous", config.model.context)
    assert checkpoint.load(checkpoint.found(tmp_path)[0])["config"]["steps"] == math.ceil(len(rows) / config.batch)
    assert result.epochs == pytest.approx(config.batch / len(rows))


def test_plain_lines_for_logs(shards, config, tmp_path, capsys):
    """Where nobody watches a terminal: a head line, about ten lines of progress, and each validation."""
    train(shards, out=tmp_path, config=config)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("0.0M parameters on ")
    assert sum("validation loss" in line and "bits per byte" in line for line in lines) == 3
    assert any(line.startswith("step     20/20  loss ") and "tokens/s" in line for line in lines)


def test_no_cuda_card_is_said(shards, config, tmp_path):
    """Asking for a card that is not there is an error, not a slow run."""
    if torch.cuda.is_available():
        pytest.skip("there is a card")
    with pytest.raises(PlanError, match="sees no CUDA card"):
        train(shards, out=tmp_path, config=replace(config, device="cuda"))


def test_peak_figures_by_name(monkeypatch):
    """The more exact name counts, and what is unknown has no figure."""
    for name, peak in {
        "NVIDIA H200": 989e12,
        "NVIDIA H100 PCIe": 756e12,
        "NVIDIA H100 80GB HBM3": 989e12,
        "NVIDIA H100 NVL": 835e12,
        "NVIDIA H200 NVL": 835e12,
        "NVIDIA A100-SXM4-80GB": 312e12,
        "NVIDIA L40S": 362e12,
        "NVIDIA L40": 181e12,
        "NVIDIA L4": 121e12,
        "NVIDIA A10G": 70e12,
        "NVIDIA GeForce RTX 4090": 165e12,
        "NVIDIA A1000": None,
        "GT 710": None,
    }.items():
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda _d, name=name: name)
        assert peak_flops(torch.device("cuda")) == peak
    assert peak_flops(torch.device("cpu")) is None
    assert len(PEAK_FLOPS) > 5


def test_training_on_a_mixture_resumes_bit_for_bit(make_shards, config, tmp_path, capsys):
    """Two sets by weight, stopped and resumed: as if nothing had happened; each set's loss is recorded."""
    sets = {"web": make_shards(tmp_path / "web").path, "chat": make_shards(tmp_path / "chat", n=60, masked=True).path}
    config = config.override("weights={'web': 0.7, 'chat': 0.3}", "layout=bestfit", "eval_rows=8")
    train(sets, out=tmp_path / "whole", config=config)
    train(sets, out=tmp_path / "parts", config=config, stop_at=7, quiet=True)
    train(sets, out=tmp_path / "parts", config=config, quiet=True)
    assert_same_run(tmp_path / "whole", tmp_path / "parts")
    last = curve(tmp_path / "whole")[-1]
    mean = 0.7 * last["val_loss/web"] + 0.3 * last["val_loss/chat"]
    assert last["val_loss"] == pytest.approx(mean)
    assert "epochs of web" in capsys.readouterr().out


@pytest.mark.parametrize(
    "settings", [["layout=bestfit"], ["mask_documents=True"], ["objective=prefix", "layout=bestfit"]]
)
def test_every_layout_and_objective_learns(make_shards, config, tmp_path, settings):
    """Twenty steps on shards with masks lower the validation loss, measured on what is masked in."""
    masked = make_shards(tmp_path / "shards", masked=True)
    train(masked, out=tmp_path / "run", config=config.override(*settings), quiet=True)
    first, _, last = (r["val_loss"] for r in curve(tmp_path / "run") if "val_loss" in r)
    assert last < first - 0.1


def test_masks_are_part_of_the_data(make_shards, config, tmp_path):
    """The same tokens of which something else is learned are another run."""
    plain, masked = make_shards(tmp_path / "a"), make_shards(tmp_path / "b", masked=True)
    train(plain, out=tmp_path / "run", config=config, stop_at=1, quiet=True)
    with pytest.raises(StaleOutput, match="the tokens in .*b, or their masks, differ"):
        train(masked, out=tmp_path / "run", config=config, quiet=True)
    with pytest.raises(StaleOutput, match="layout was contiguous, is bestfit"):
        train(plain, out=tmp_path / "run", config=replace(config, layout="bestfit"), quiet=True)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA card")
def test_on_cuda_it_learns_in_bfloat16(shards, config, tmp_path):
    """Compiled, in bfloat16, resumed: the loss falls and stays near the CPU's."""
    on_gpu = replace(config, device="cuda", compile=None)
    train(shards, out=tmp_path / "gpu", config=on_gpu, stop_at=10, quiet=True)
    result = train(shards, out=tmp_path / "gpu", config=on_gpu, quiet=True)
    on_cpu = train(shards, out=tmp_path / "cpu", config=config, quiet=True)
    assert result.val_loss == pytest.approx(on_cpu.val_loss, abs=0.1)


def test_starting_over_removes_only_files_of_the_run(shards, config, tmp_path):
    """A checkpoint that somebody else put into the folder is named, and nothing is removed; the run's own are."""
    out = tmp_path / "run"
    train(shards, out=out, config=config, quiet=True)
    mine = out / "step-99999999.pt"
    mine.write_text("mine")
    before = sorted(os.listdir(out))
    with pytest.raises(PlanError, match=r"step-99999999.pt was not written by this run, so it is not removed; move it"):
        train(shards, out=out, config=config, resume=False, quiet=True)
    assert sorted(os.listdir(out)) == before
    mine.unlink()
    again = train(shards, out=out, config=config, resume=False, quiet=True)
    assert sorted(os.listdir(out)) == [name for name in before if name != mine.name]
    assert again.steps == config.steps


@pytest.mark.parametrize(
    ("settings", "warning"),
    [
        (["warmup=2"], None),
        (["warmup=12"], r"warmup=12 is not below steps=3, so the learning rate rises .*, to 0.0025 of lr=0.01"),
        (["batch=2000", "micro_batch=1000", "steps=1", "warmup=0"], r"batch=2,000 is above the [12]\d\d rows"),
        (["steps=200"], r"the run reads the same tokens [\d.]+ times; after 4 epochs, .* set steps=\d+ or less"),
    ],
)
def test_settings_that_hardly_train_are_named(shards, config, tmp_path, settings, warning):
    """One line each, before the first step."""
    run = begin(shards, tmp_path, config.override("steps=3", *settings))
    found = doubts(run)
    assert len(found) == (0 if warning is None else 2 if "2,000" in warning else 1)
    assert warning is None or re.search(warning, found[0])


def test_a_validation_loss_that_is_no_number_is_said(make_shards, config, tmp_path, caplog, monkeypatch):
    """Validation rows without a target have no loss, and a loss of NaN is logged, also if nothing is printed."""
    shards = make_shards(tmp_path / "shards", n=30)
    how = replace(config, steps=2, warmup=0)
    for sums, said, loss in (
        ((0, 0.0), "the validation rows have no token to learn, so there is no validation loss", None),
        ((3, math.nan), "step 2: the validation loss is not a finite number; lower lr", math.nan),
    ):
        caplog.clear()
        monkeypatch.setattr("dataprep.train.loop.evaluate", lambda *_, s=sums, **__: LossSum(*s, 0.0, 0))
        found = train(shards, out=tmp_path / str(sums[0]), config=how, quiet=True).val_loss
        assert said in caplog.messages
        assert str(found) == str(loss)
