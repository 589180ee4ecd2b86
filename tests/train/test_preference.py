"""Preference tuning: the loss of a plain twin, a planted preference, the reference, and runs that resume."""

# ruff: noqa: N803, N806 - the shape letters are capitals
import json
import math
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError, StaleOutput  # noqa: E402
from dataprep.tokens.shards.writer import save  # noqa: E402
from dataprep.train import GPT, TrainConfig, checkpoint, load_model, lora, optim, train  # noqa: E402
from dataprep.train.data.pairs import pairs_of  # noqa: E402
from dataprep.train.data.rows import IGNORE  # noqa: E402
from dataprep.train.data.sets import training_rows  # noqa: E402
from dataprep.train.distributed import ALONE  # noqa: E402
from dataprep.train.metrics import read  # noqa: E402
from dataprep.train.preference import Preference, settings_for  # noqa: E402
from processes import together  # noqa: E402
from runs import SPEEDS  # noqa: E402

VOCAB, EOT = 97, 96


def side(out, answer, n=40, *, offset=0, unmasked=False):
    """Shards of prompts of 3 to 7 ids, each with an answer of two to four ids; the answer alone is learned."""
    rng = np.random.default_rng(0)
    splits, masks = {}, {}
    for name, count in (("train", n), ("val", 10)):
        splits[name], masks[name] = [], []
        for i in range(count):
            prompt = (rng.integers(0, 50, rng.integers(3, 8)) + offset).tolist()
            reply = [answer, answer + 1, *[answer + 2] * (i % 3)]
            splits[name].append([*prompt, *reply])
            masks[name].append(np.array([0] * len(prompt) + [1] * len(reply) + [1]) > 0)
    more = {} if unmasked else {"masks": masks}
    return save(out, splits, vocab_size=VOCAB, eot=EOT, shard_tokens=100, **more)


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """AnswerPairs whose chosen answers begin with the id 60 and whose rejected ones with 80."""
    home = tmp_path_factory.mktemp("pairs")
    return {"rejected": side(home / "r", 80), "chosen": side(home / "c", 60)}


@pytest.fixture(scope="module")
def base(shards, config, tmp_path_factory):
    """A trained model."""
    out = tmp_path_factory.mktemp("base")
    train(shards, out=out, config=config, quiet=True)
    return out


@pytest.fixture(scope="module")
def tuning(config):
    """Twelve steps of preference tuning."""
    how = replace(config, steps=12, save_every=4, eval_every=4, lr=2e-3, log_every=1)
    return settings_for(how, 0.5)


def rows_of(sets, tuning):
    """The first batch: inputs, targets."""
    x_BT, y_BT, mask = optim.to_device(training_rows(sets, tuning).rows(0), torch.device("cpu"))
    assert mask is None
    return x_BT, y_BT


def plain(model, reference, x_BT, y_BT, beta):
    """The mean loss of the pairs, one answer and one token after the other."""

    def logp(of, row):
        scores = torch.log_softmax(of(x_BT[row : row + 1])[0], -1)
        return sum(scores[t, y_BT[row, t]] for t in range(y_BT.shape[1]) if y_BT[row, t] != IGNORE)

    losses = []
    for k in range(0, len(x_BT), 2):
        gains = [logp(model, row) - logp(reference, row).detach() for row in (k, k + 1)]
        losses.append(-torch.log(1 / (1 + torch.exp(-beta * (gains[0] - gains[1])))))
    return sum(losses) / len(losses)


def moved(model):
    """The model with weights, or LoRA's updates, that are moved a little."""
    torch.manual_seed(1)
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:
                p.add_(0.02 * torch.randn_like(p))
    return model


@pytest.mark.parametrize("rank", [None, 3])
@pytest.mark.parametrize("rows", [2, 8])
def test_loss_and_gradients_are_those_of_a_plain_twin(sets, base, tuning, rank, rows):
    """Of all weights, or of LoRA's updates with the base as the reference, in one micro-batch or in several."""
    tuning = replace(tuning, lora=rank, micro_batch=rows, clip=1e9)
    reference, model = load_model(base)[0], load_model(base)[0]
    if rank:
        lora.add(model, tuning)
    pairs = Preference.begin(model, tuning, None)
    assert (pairs.reference is None) == bool(rank)
    model, twin = moved(model), load_model(base)[0]
    if rank:
        lora.add(twin, tuning)
    twin.load_state_dict(model.state_dict())
    expected = plain(twin, reference, *rows_of(sets, tuning), 0.5)
    expected.backward()
    kept, zero = {}, torch.optim.SGD(model.parameters(), 0.0)
    zero.step = lambda: kept.update({n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None})
    found = optim.step_once(model, zero, training_rows(sets, tuning).rows(0), 0.0, tuning, pairs=pairs)
    assert float(found[0]) == pytest.approx(float(expected.detach()), rel=1e-4)
    assert abs(float(found[0]) - math.log(2)) > 1e-3
    wanted = {n: p.grad for n, p in twin.named_parameters() if p.grad is not None}
    assert wanted.keys() == kept.keys()
    for name, gradient in wanted.items():
        torch.testing.assert_close(kept[name], gradient, atol=2e-5, rtol=1e-3)


def test_a_batch_has_pairs(sets, tuning):
    """Rows 2k and 2k + 1 have one prompt, a chosen and a rejected answer; an epoch has each pair once, in any order."""
    loader = training_rows(sets, tuning)
    assert len(loader.rows_of) == 80
    seen = []
    for epoch in range(2):
        tokens = np.concatenate([loader.rows(10 * epoch + step).tokens for step in range(10)])
        for chosen, rejected in tokens.reshape(40, 2, -1):
            at = int(np.argmax(chosen != rejected))
            assert (chosen[at], rejected[at]) == (60, 80)
            assert chosen[0] == EOT
            seen.append(chosen.tobytes())
    assert sorted(seen[:40]) == sorted(seen[40:])
    assert len(set(seen)) == 40
    assert seen[:40] != seen[40:]


@pytest.mark.parametrize(
    "more",
    [{}, {"lora": 4, "lora_dropout": 0.1}, {"lora": 4, "lora_targets": ("q_proj", "embedding")}],
    ids=["full", "lora", "lora with the embedding"],
)
def test_a_planted_preference_is_learned_and_resumes_bit_for_bit(sets, base, tuning, tmp_path, more):
    """Held-out pairs are as preferred, which began undecided; a stopped run is the same; the base is as it was."""
    tuning = replace(tuning, **more)
    result = train(sets, out=tmp_path / "a", config=tuning, init_from=base, quiet=True)
    rows = [{k: v for k, v in r.items() if k not in SPEEDS} for r in read(tmp_path / "a" / "metrics.jsonl")]
    val = [(r["val_loss"], r["val_accuracy"]) for r in rows if "val_loss" in r]
    assert val[0] == (pytest.approx(math.log(2), rel=1e-5), 0.0)
    assert val[-1][1] == 1.0
    assert val[-1][0] < 0.5
    assert result.val_loss == val[-1][0]
    assert result.bits_per_byte is None
    for stop in (5, None):
        train(sets, out=tmp_path / "b", config=tuning, init_from=base, stop_at=stop, quiet=True)
    again = [{k: v for k, v in r.items() if k not in SPEEDS} for r in read(tmp_path / "b" / "metrics.jsonl")]
    assert rows == again
    a, b = (checkpoint.load(checkpoint.found(tmp_path / n)[-1])["model"] for n in "ab")
    assert all(torch.equal(value, b[name]) for name, value in a.items())
    loaded, prompts = load_model(tmp_path / "a")[0], pairs_of(sets, "val", 24)
    pairs, x, y = Preference(1.0, load_model(base)[0]), *rows_of(sets, tuning)
    assert (pairs.margins(loaded, x, y, None) > 0).float().mean() > 0.9
    assert prompts.n_pairs == 10


def test_the_reference_is_named_again_or_in_the_run(sets, base, tuning, tmp_path):
    """Without LoRA a resumed run needs the model before; with it the run has that model; another one is refused."""
    full, low = tuning, replace(tuning, lora=2)
    for name, how in (("full", full), ("low", low)):
        with pytest.raises(PlanError, match="dpo=0.5 needs a reference model: name the model with init_from="):
            train(sets, out=tmp_path / name, config=replace(how, lora=None), quiet=True)
        train(sets, out=tmp_path / name, config=how, init_from=base, stop_at=4, quiet=True)
    with pytest.raises(PlanError, match="name the model with init_from="):
        train(sets, out=tmp_path / "full", config=full, quiet=True)
    assert train(sets, out=tmp_path / "low", config=low, quiet=True).steps == 12
    with pytest.raises(StaleOutput, match="started from other weights"):
        train(sets, out=tmp_path / "full", config=full, init_from=tmp_path / "low", quiet=True)
    assert load_model(tmp_path / "low")[0](torch.tensor([[1]])).isfinite().all()


def test_a_sum_over_processes_is_the_measure(sets, base, tuning):
    """Validation in passes of any size, the last one filled up, has the same loss and accuracy."""
    model = load_model(base)[0]
    pairs = Preference.begin(model, tuning, pairs_of(sets, "val", 24))
    model = moved(model)
    found = [pairs.measure(model, 100, batch, ALONE) for batch in (1, 3, 10, 16)]
    assert all(one == pytest.approx(found[0], rel=1e-5) for one in found)
    assert 0 < found[0][1] < 1 or found[0][0] != pytest.approx(math.log(2), rel=1e-3)


def test_prompts_that_fill_the_context_are_counted_or_refused(sets, tuning, caplog):
    """Also for a run that prints nothing: a warning with their number; an error if no answer is left."""
    train_side = sets["chosen"].split("train")
    ends = [np.asarray(train_side.ends(i)).astype(int).tolist() for i in range(len(train_side.shards))]
    masks = [np.split(mask, end[:-1]) for mask, end in zip(train_side.masks(), ends, strict=True)]
    prompts = [int(np.argmax(mask)) for file in masks for mask in file]
    for context in (24, 7, 5):
        caplog.clear()
        training_rows(sets, tuning.override(f"model.context={context}"))
        n = sum(length >= context for length in prompts)
        assert (n > 0) == (context < 24)
        said = f"{n} of 40 train pairs teach nothing: their prompts fill model.context={context}; raise it"
        assert caplog.messages == ([said] if n else [])
    with pytest.raises(PlanError, match="no answer of the train pairs begins within model.context=3: their prompts"):
        training_rows(sets, tuning.override("model.context=3"))


def test_what_is_no_pair_is_refused(sets, base, tuning, tmp_path):
    """Other sets, other prompts, no masks, and settings that cannot be: one sentence each."""

    def refused(given, sentence, how=tuning):
        with pytest.raises(PlanError, match=sentence):
            train(given, out=tmp_path / "out", config=how, init_from=base, quiet=True)

    refused({"web": sets["chosen"]}, "dpo needs the sets 'chosen' and 'rejected'")
    for name, how in (("other", {"offset": 1}), ("fewer", {"n": 39}), ("bare", {"unmasked": True})):
        other = side(tmp_path / name, 80, **how)
        refused({**sets, "rejected": other}, "are not answers to the same prompts; write both with encode_preferences")
    for settings, sentence in (
        (["micro_batch=None", "batch=7"], "dpo reads pairs: batch=7 and micro_batch=None must be even"),
        (["micro_batch=1"], "micro_batch=1 must be even numbers"),
        (["micro_batch=auto"], "micro_batch=auto must be even numbers"),
        (["layout=bestfit"], "dpo needs a row per answer: set layout='cut'"),
        (["dpo=0"], "dpo=0 must be a number from 0.0001 to 100"),
    ):
        with pytest.raises(PlanError, match=sentence):
            tuning.override(*settings)
    assert TrainConfig().dpo is None
    assert GPT(tuning.model, VOCAB).vocab_size == VOCAB


RANK = """
import json, sys
from dataprep.errors import DataprepError
from dataprep.train import TrainConfig, train
chosen, rejected, base, home, *configs = sys.argv[1:]
for name, config in zip(("pair", "odd"), configs):
    try:
        result = train({"chosen": chosen, "rejected": rejected}, out=f"{home}/{name}", init_from=base, quiet=True,
                       config=TrainConfig.from_dict(json.loads(config)))
        print(json.dumps([result.loss, result.val_loss]))
    except DataprepError as e:
        print(e)
"""


def test_two_processes_learn_what_one_learns(sets, base, tuning, tmp_path):
    """Pairs are divided among them, and both have the validation loss; a batch that would part pairs is refused."""
    configs = [json.dumps(how.to_dict()) for how in (tuning, replace(tuning, batch=6, micro_batch=None))]
    alone = train(sets_in_order(sets), out=tmp_path / "alone", config=tuning, init_from=base, quiet=True)
    words = (sets["chosen"].path, sets["rejected"].path, base, tmp_path, *configs)
    for _, out, err in together(RANK, words, tmp_path / "said"):
        pair, odd = out.splitlines()[-2:]
        assert json.loads(pair) == pytest.approx([alone.loss, alone.val_loss], rel=1e-3), err
        assert "batch=6 must have an even number of rows for each of 2 processes; change it" in odd


def sets_in_order(sets):
    """The sets as another order of the same dict."""
    return {name: sets[name] for name in ("chosen", "rejected")}
