"""`scaling` with tiny models: its runs, what is not repeated, its table, and its errors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import dataprep as dp
from dataprep.errors import CorruptShard, PlanError, StaleOutput
from dataprep.experiment.sweep import sized
from dataprep.inference import train as training
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.train.presets import preset
from dataprep.train.size import flops_of

WIDTHS = (8, 10, 12, 14)
BUDGET = 1.4e8  # 23 to 42 steps


@pytest.fixture(scope="module")
def shards(corpus, tmp_path_factory):
    """Token shards with a validation split."""
    return dp.encode(corpus, Tokenizer.of_bytes(), tmp_path_factory.mktemp("sweep") / "s", split=dp.Split(val=0.2))


@pytest.fixture(scope="module")
def swept(shards, config):
    """A function that runs a small sweep; its arguments replace the usual ones."""

    def run(out, **more):
        given = {"budgets": [BUDGET], "widths": WIDTHS, "train": config, "quiet": True, **more}
        return dp.tools.scaling(given.pop("shards", shards), out=str(out), **given)

    return run


@pytest.fixture(scope="module")
def whole(swept, tmp_path_factory):
    """An uninterrupted sweep."""
    return swept(tmp_path_factory.mktemp("whole") / "out")


def timeless(found):
    """The runs of a sweep without their seconds."""
    return [{**run, "seconds": 0} for run in found.runs]


def test_a_killed_sweep_resumes_to_the_same_table(swept, whole, tmp_path, monkeypatch) -> None:
    """Bit for bit; and a budget that is added repeats no run."""
    train, calls, out = training.train, [], tmp_path / "out"

    def killed(shards, **options):
        if options["stop_at"] is None:  # not the first steps, by which the time is estimated
            calls.append(Path(options["out"]).name)
        if options["stop_at"] is None and len(calls) == 3:
            train(shards, **{**options, "stop_at": 17})
            raise KeyboardInterrupt
        return train(shards, **options)

    monkeypatch.setattr(training, "train", killed)
    with pytest.raises(KeyboardInterrupt):
        swept(out)
    resumed = swept(out)
    assert [calls.index(name) for name in calls] == [0, 1, 2, 2, 4], "two are not repeated, and the third continues"
    assert resumed.table() == whole.table()
    assert timeless(resumed) == timeless(whole)
    more = swept(out, budgets={BUDGET: WIDTHS, 1.2 * BUDGET: (*WIDTHS[1:], 16)}, at=[1e9])
    assert len(calls) == 9
    assert timeless(more)[:4] == timeless(whole)
    assert more.to_dict() == json.loads((out / "scaling.json").read_text())
    assert (out / "scaling.md").read_text() == more.markdown()
    assert (out / "isoflop.svg").read_text().count('class="dot"') == 8


def test_a_model_without_its_receipt_is_measured_again(swept, whole, tmp_path, capsys) -> None:
    """As after a kill between the last step and the receipt; the last row of its metrics is an evaluation."""
    copy = shutil.copytree(whole.folder, tmp_path / "copy")
    receipts = [copy / f"{run['folder']}.json" for run in whole.runs]
    receipts[0].unlink()
    receipts[2].write_text("{")
    assert timeless(swept(copy, quiet=False)) == timeless(whole)
    assert capsys.readouterr().out.startswith("2 trainings of 4: 2.8e+08 FLOPs\nby the speed of the first 10 steps")
    receipts[1].unlink()
    with (copy / whole.runs[1]["folder"] / "metrics.jsonl").open("a") as f:
        f.write('{"step": 4')
    with pytest.raises(CorruptShard, match=r"metrics\.jsonl: line \d+ is damaged; remove the folder of the run, and"):
        swept(copy)


def test_a_foreign_file_is_refused_before_any_training(swept, tmp_path) -> None:
    """It is not replaced, and nothing is trained in vain."""
    place = tmp_path / "out" / "scaling.md"
    place.parent.mkdir()
    place.write_text("my own notes")
    with pytest.raises(StaleOutput, match=r"scaling\.md exists and is not the result of a sweep; choose another file"):
        swept(tmp_path / "out")
    assert [*place.parent.iterdir()] == [place]


def test_each_run_takes_its_budget(whole, shards) -> None:
    """Operations per token times tokens; and its loss is that of `evaluate`."""
    assert [run["width"] for run in whole.runs] == [*WIDTHS]
    for run in whole.runs:
        assert run["flops_per_token"] * run["tokens"] == pytest.approx(BUDGET, rel=0.025)
    run = whole.runs[-1]
    found = dp.evaluate(Path(whole.folder) / run["folder"], shards, device="cpu")
    assert found.total.bits_per_byte == run["bits_per_byte"]
    assert len({run["bits_per_byte"] for run in whole.runs}) == 4


def test_verify_reads_the_trainings(whole, tmp_path, dataprep) -> None:
    """They are good; a byte of a checkpoint that changed, and a receipt, are named with the remedy."""
    copy = shutil.copytree(whole.folder, tmp_path / "copy")
    code, out, err = dataprep("verify", copy)
    assert (code, out) == (0, f"good {copy}/runs: runs\n"), err
    model = next((copy / whole.runs[0]["folder"]).glob("*.pt"))
    content = bytearray(model.read_bytes())
    content[len(content) // 2] ^= 1
    model.write_bytes(content)
    (copy / f"{whole.runs[1]['folder']}.json").write_text("{")
    [found] = dp.tools.verify(str(copy)).values()
    assert len(found) == 2
    assert all("the same command" in problem.do for problem in found)


@pytest.mark.parametrize("name", ["probe", "tiny", "350m", "llama-350m", "gemma3-small"])
def test_sizes_keep_the_proportions(name) -> None:
    """Twice the width has twice the layers and heads, and 1 / sqrt(2) of the learning rate."""
    base = preset(name)
    twice = sized(base, 2 * base.model.d_model)
    assert twice.model.n_layers == 2 * base.model.n_layers
    assert twice.model.n_heads == 2 * base.model.n_heads
    assert twice.model.kv_heads * base.model.n_heads == 2 * base.model.kv_heads * base.model.n_heads or (
        twice.model.kv_heads == twice.model.n_heads // (base.model.n_heads // base.model.kv_heads)
    )
    assert twice.lr == pytest.approx(base.lr / 2**0.5)
    assert sized(base, base.model.d_model) == base
    for width in (20, 36, 100, 1000):
        assert flops_of(sized(base, width).model, 512) > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"widths": [8, 16, 32]}, "there are 1 budget, 3 widths and 1 seed; a fit needs a budget with four widths, or"),
        ({"budgets": {BUDGET: [8, 8, 8, 16]}}, "there are 1 budget, 2 widths"),
        ({"budgets": []}, "there are 0 budgets"),
        ({"budgets": 1e12}, r"budgets=1000000000000\.0 must be a list, such as \[1000000000000\.0\]"),
        ({"budgets": {BUDGET: 8}}, r"budgets\[.*\]=8 must be a list"),
        ({"budgets": [-1.0]}, "budgets=-1.0 must be numbers of operations above 0, such as 1e12"),
        ({"at": ["1e12"]}, "at='1e12' must be numbers of operations above 0"),
        ({"widths": [8, 16, 32, 0]}, "widths=0 must be a whole number from 1"),
        ({"widths": [8, 16, 32, 7]}, "d_model=7 with n_heads=1: each head must have an even width"),
        ({"seeds": True}, "seeds=True must be a whole number from 1"),
        ({"budgets": [BUDGET, 1.0001 * BUDGET]}, "the budgets 140000000 and 140014000 are both 42 steps"),
        ({"budgets": [3e6]}, r"budget=3e\+06 with width 8 is 1 step of 128 tokens, fewer than 20; raise the budget"),
        ({"budgets": [1e12]}, r"budget=1e\+12 with width 8 reads .* tokens, and there are .*; add text, lower the"),
    ],
)
def test_bad_input_is_one_sentence_before_any_training(swept, tmp_path, given, said) -> None:
    """And nothing is written."""
    with pytest.raises(PlanError, match=rf"^{said}"):
        swept(tmp_path / "out", **given)
    assert not (tmp_path / "out" / "runs").exists()


def test_shards_without_validation(swept, corpus, tmp_path) -> None:
    """The error says how to encode them."""
    made = dp.encode(corpus, Tokenizer.of_bytes(), tmp_path / "s", split=dp.Split(val=0))
    with pytest.raises(PlanError, match=r"has no documents in the split 'val'; encode with split=dp\.Split\(val="):
        swept(tmp_path / "out", shards=made)


def test_the_command(shards, tmp_path, dataprep) -> None:
    """It states the cost before the runs, and prints both tables and the notes; JSON has the finished runs."""
    small = [f"--set={one}" for one in ("device=cpu", "model.context=32", "model.n_heads=1", "eval_rows=4")]
    given = ["scaling", shards.path, "--out", tmp_path / "out", "--preset=tiny", "--at=1e8", *small]
    code, out, err = dataprep(*given, f"--budget={BUDGET}=8,10,12,14")
    assert code == 0, err
    assert out.startswith("4 trainings of 4: 5.6e+08 FLOPs\nby the speed of the first 10 steps of each width: about ")
    assert "exponents and predictions need two budgets with a minimum, and there is" in out
    code, out, _ = dataprep(*given, f"--budget={BUDGET}", *(f"--width={width}" for width in WIDTHS), "--json")
    found = json.loads(out)
    assert (found["schema"], [run["width"] for run in found["runs"]]) == (1, [*WIDTHS])
    _, _, err = dataprep(*given, f"--budget={BUDGET}=8,10,12,14", "--budget=140e6=16")
    assert "--budget 1.4e+08 is given twice; write all of its widths in one argument" in err
    _, _, err = dataprep(*given, "--budget=much")
    assert "--budget much must be FLOPS or FLOPS=WIDTHS, such as 1e12 or 1e12=32,48,64,96" in err
