from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError  # noqa: E402
from dataprep.train import ModelConfig, TrainConfig, generate, load_model, train  # noqa: E402
from dataprep.train.data import objectives  # noqa: E402
from dataprep.train.data.objectives import (  # noqa: E402
    deshuffle,
    drop_tokens,
    for_decoder,
    masked_lm,
    next_token,
    prefix_lm,
    side_by_side,
    span_corruption,
    span_counts,
    uniform,
)
from dataprep.train.data.rows import IGNORE, Rows  # noqa: E402
from dataprep.train.data.sets import training_rows, validation_rows  # noqa: E402
from dataprep.train.evaluate import evaluate, evaluate_groups  # noqa: E402
from runs import assert_same_run  # noqa: E402

SENTINELS = np.arange(900, 1000)


def blocks(n_rows, n, seed=0):
    """Random ids under 900, uint16."""
    return np.random.default_rng(seed).integers(0, 900, (n_rows, n)).astype(np.uint16)


def test_next_token_is_one_place_apart():
    """The example of every textbook."""
    example = next_token(np.array([[1, 2, 3, 4]]))
    assert example.inputs.tolist() == [[1, 2, 3]]
    assert example.targets.tolist() == [[2, 3, 4]]


def test_spans_by_hand(monkeypatch):
    """The T5 paper's sentence: `for inviting` and `last` give way to <X> and <Y>."""
    words = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last"]
    parts = iter([np.array([[2, 4]]), np.array([[2, 1]])])  # kept: 2 and 4, then hidden: 2 and 1
    monkeypatch.setattr(objectives, "_parts", lambda *_: next(parts))
    monkeypatch.setattr(objectives, "span_counts", lambda *_: (3, 2))
    example = span_corruption(np.arange(9)[None], np.array([0]), SENTINELS)
    names = {900: "<X>", 901: "<Y>", 902: "<Z>"} | dict(enumerate(words))
    assert " ".join(names[i] for i in example.inputs[0]) == "Thank you <X> me to your party <Y>"
    assert " ".join(names[i] for i in example.targets[0]) == "<X> for inviting <Y> last <Z>"


@settings(deadline=None)
@given(
    n=st.integers(2, 120), rate=st.floats(0.05, 0.6), mean=st.floats(1, 8), seed=st.integers(0, 9), first=st.integers(0)
)
def test_spans_lose_nothing(n, rate, mean, seed, first):
    """Putting each span back in the place of its sentinel gives the block."""
    tokens = blocks(3, n, seed)
    samples = first % 2**40 + np.arange(3)
    example = span_corruption(tokens, samples, SENTINELS, seed, rate=rate, mean_span=mean)
    hidden, spans = span_counts(n, rate, mean)
    assert example.inputs.shape == (3, n - hidden + spans)
    assert example.targets.shape == (3, hidden + spans + 1)
    assert example.inputs.dtype == example.targets.dtype == tokens.dtype
    for block, inputs, targets in zip(tokens, example.inputs, example.targets, strict=True):
        at = [*np.flatnonzero(targets >= 900)]
        assert targets[at].tolist() == list(range(900, 900 + spans + 1))
        span = {int(targets[a]): targets[a + 1 : b].tolist() for a, b in pairwise(at)}
        assert all(span.values())
        back = [t for i in inputs.tolist() for t in (span[i] if i >= 900 else [i])]
        assert back == block.tolist()


def test_spans_have_their_rate_and_mean_length():
    """Over 4,000 blocks: 15 % hidden in spans of 3, every place after the first equally often but near the ends."""
    tokens = np.broadcast_to(np.arange(512, dtype=np.uint16), (4000, 512))
    sentinels = np.arange(600, 700)
    example = span_corruption(tokens, np.arange(4000), sentinels)
    hidden, spans = span_counts(512)
    assert (hidden, spans) == (77, 26)
    assert hidden / 512 == pytest.approx(0.15, abs=0.001)
    counts = np.bincount(example.targets[example.targets < 512], minlength=512) / 4000
    assert np.abs(counts[60:450] - 0.15).max() < 5 * np.sqrt(0.15 * 0.85 / 4000)
    lengths = np.diff(np.nonzero(example.targets >= 600)[1].reshape(4000, -1), axis=1) - 1
    assert lengths.mean() == pytest.approx(77 / 26)
    assert (lengths == 1).mean() == pytest.approx(25 / 76, abs=0.01)  # of 76 places for a cut 25 are taken


def test_masked_lm_is_berts():
    """15 % of the other ids are chosen, of which 80 % are masked, 10 % changed and 10 % kept; special ids never."""
    tokens = blocks(4000, 100)
    tokens[:, :5] = 3
    special = np.array([3, 4])
    example = masked_lm(tokens, np.arange(4000), 999, 900, special=special)
    chosen = example.targets != IGNORE
    assert (chosen.sum(1) == 14).all()  # of 95 tokens
    assert not chosen[tokens == 3].any()
    assert np.array_equal(example.targets[chosen], tokens[chosen])
    assert np.array_equal(example.inputs[~chosen], tokens[~chosen])
    inputs, was = example.inputs[chosen], tokens[chosen]
    assert (inputs == 999).mean() == pytest.approx(0.8, abs=0.01)
    assert (inputs == was).mean() == pytest.approx(0.1, abs=0.01)
    changed = inputs[(inputs != 999) & (inputs != was)]
    assert len(changed) / chosen.sum() == pytest.approx(0.1, abs=0.01)
    assert changed.max() < 900
    assert not np.isin(changed, special).any()
    few = masked_lm(np.full((2, 20), 3), np.arange(2), 999, 900, special=special)
    assert (few.targets == IGNORE).all()


@given(n=st.integers(2, 60), seed=st.integers(0, 5))
def test_dropped_and_shuffled_tokens_are_all_there(n, seed):
    """Inputs and targets of `drop` are the block, each in order; those of `deshuffle` are the same tokens."""
    tokens = np.sort(blocks(4, n, seed), axis=1)
    dropped = drop_tokens(tokens, np.arange(4), seed)
    assert dropped.targets.shape == (4, max(1, round(0.15 * n)))
    both = np.concatenate([dropped.inputs, dropped.targets], 1)
    assert np.array_equal(np.sort(both, axis=1), tokens)
    assert (np.diff(dropped.inputs.astype(int), axis=1) >= 0).all()
    mixed = deshuffle(tokens, np.arange(4), seed)
    assert np.array_equal(np.sort(mixed.inputs, axis=1), tokens)
    assert np.array_equal(mixed.targets, tokens)


def test_every_order_of_a_shuffle_is_as_likely():
    """Over 6,000 blocks of three tokens, each of the six orders comes about a thousand times."""
    mixed = deshuffle(np.broadcast_to(np.arange(3), (6000, 3)), np.arange(6000)).inputs
    counts = np.unique(mixed @ [9, 3, 1], return_counts=True)[1]
    assert len(counts) == 6
    assert ((counts - 1000) ** 2 / 1000).sum() < 5 + 5 * np.sqrt(10)


def test_prefix_by_hand(monkeypatch):
    """A draw of a half: of 4 inputs 2 are the prefix, of 3 inputs 2, of a single one none."""
    monkeypatch.setattr(objectives, "uniform", lambda *_: np.full((1, 8), 0.5))
    begins = np.array([[1, 0, 0, 0, 1, 0, 0, 1]], np.bool_)
    rows = prefix_lm(Rows(np.arange(9)[None], None, begins), np.array([0]))
    assert rows.prefix.astype(int).tolist() == [[1, 1, 0, 0, 1, 1, 0, 0]]
    assert rows.learn.astype(int).tolist() == [[0, 1, 1, 1, 0, 1, 1, 1]]


def test_prefixes_have_every_length():
    """Over 4,000 rows of 16 inputs, lengths 1 to 15 come equally often, and what is learned follows."""
    rows = prefix_lm(Rows(blocks(4000, 17)), np.arange(4000))
    length = rows.prefix.sum(1)
    assert np.array_equal(rows.learn.sum(1), 16 - length + 1)
    counts = np.bincount(length, minlength=17)[1:16]
    assert counts.sum() == 4000
    assert ((counts - 4000 / 15) ** 2 / (4000 / 15)).sum() < 14 + 5 * np.sqrt(28)


@pytest.mark.parametrize("make", [
    lambda t, s: span_corruption(t, s, SENTINELS, 7).inputs,
    lambda t, s: masked_lm(t, s, 999, 900, 7).inputs,
    lambda t, s: drop_tokens(t, s, 7).inputs,
    lambda t, s: deshuffle(t, s, 7).inputs,
    lambda t, s: prefix_lm(Rows(t), s, 7).prefix,
])  # fmt: skip
def test_a_block_does_not_depend_on_its_batch(make):
    """The same sample gives the same result in any batch; another sample another one."""
    tokens = np.broadcast_to(blocks(1, 64), (20, 64))
    every = make(tokens, np.arange(20))
    assert np.array_equal(every[13:15], make(tokens[:2], np.array([13, 14])))
    assert len(np.unique(every, axis=0)) > 10


def test_draws_are_uniform():
    """Over a million draws: mean, variance, and no likeness between neighbouring samples, places, seeds or draws."""
    drawn = uniform(0, np.arange(1000), 1000)
    assert drawn.mean() == pytest.approx(0.5, abs=0.002)
    assert drawn.var() == pytest.approx(1 / 12, abs=0.001)
    others = (
        np.roll(drawn, 1, 0),
        np.roll(drawn, 1, 1),
        *(uniform(s, np.arange(1000), 1000, d) for s, d in ((1, 0), (0, 1))),
    )
    for other in others:
        assert abs(np.corrcoef(drawn.ravel(), other.ravel())[0, 1]) < 0.005


def test_spans_in_a_decoder():
    """Inputs, then targets, in one row; the inputs are its prefix and only the targets are learned, from the first."""
    config = TrainConfig(model=ModelConfig(context=64), objective="span")
    special = {f"<extra_id_{i}>": 900 + i for i in range(10)}
    n, objective = for_decoder(config, special, 999, 1000)
    hidden, spans = span_counts(n)
    rows = objective(Rows(blocks(5, n + 1)), np.arange(5))
    seen = n - hidden + spans
    assert rows.tokens.shape == (5, 65)
    assert 62 <= n + 2 * spans + 1 <= 65
    assert np.array_equal(rows.prefix.sum(1), np.full(5, seen))
    for row, learn in zip(rows.tokens, rows.learn, strict=True):
        target = row[1:][learn]
        assert target[0] == 900
        assert target[-1] == 900 + spans
        assert learn.sum() == hidden + spans + 1
    plain = side_by_side(next_token(np.array([[1, 2, 3]])), 5, 0)
    assert plain.tokens.tolist() == [[1, 2, 2, 3, 0, 0]]
    assert plain.learn.astype(int).tolist() == [[0, 1, 1, 0, 0]]


def test_a_decoder_learns_spans(make_shards, config, tmp_path):
    """With sentinels in the vocabulary the trainer takes the objective, and the loss on hidden spans falls."""
    shards = make_shards(
        tmp_path / "shards", special={"<|endoftext|>": 96} | {f"<extra_id_{i}>": 60 + i for i in range(8)}
    )
    config = config.override("objective=span", "model.context=48")
    result = train(shards, out=tmp_path / "run", config=config, quiet=True)
    assert result.val_loss < np.log(97) - 0.2


@pytest.fixture(scope="module")
def masked_shards(make_shards, tmp_path_factory):
    """Token shards whose id 95 is the mask, and the settings of a masked language model on them."""
    special = {"<|endoftext|>": 96, "<mask>": 95}
    return make_shards(tmp_path_factory.mktemp("mlm"), n=40, special=special)


@pytest.mark.parametrize("layout", ["contiguous", "bestfit", "padded"])
def test_rows_of_a_masked_language_model(masked_shards, config, layout):
    """Targets are tokens of documents, 15 % of them per row, in the columns where they were; padding is not seen."""
    how = config.override("objective=mlm", f"layout={layout}", "model.context=40")
    loader, plain = (training_rows({"": masked_shards}, one) for one in (how, replace(how, objective="next")))
    rows, before = loader.rows(1), plain.rows(1)
    chosen, inputs = rows.targets != IGNORE, before.tokens[:, :-1]
    assert np.array_equal(rows.targets[chosen], inputs[chosen])
    assert np.array_equal(rows.tokens[:, :-1][~chosen], inputs[~chosen])
    assert not np.isin(rows.targets, [95, 96]).any()
    assert rows.n_targets == chosen.sum() > 0
    assert not chosen[:, 0].any()
    learn = np.ones(inputs.shape, bool) if before.learn is None else before.learn
    for row, old, counts, seen in zip(chosen, inputs, learn, rows.prefix, strict=True):
        n = np.count_nonzero(counts[:-1] & (old[1:] < 95))
        assert row.sum() == max(1, np.rint(0.15 * n))
        length = len(old) if layout == "contiguous" else len(np.trim_zeros(old != 96, "b"))
        assert np.array_equal(seen, np.arange(len(old)) < length)
    assert np.array_equal(loader.read(loader.samples(1)[3:5]).tokens, rows.tokens[3:5])  # in any batch


def test_a_masked_language_model_learns_resumes_and_fills(masked_shards, config, tmp_path):
    """Bit for bit; its validation is the same each time and in any batch; it generates nothing, with a sentence."""
    how = config.override("objective=mlm", "layout=bestfit", "steps=12", "model.pattern=window", "model.reach=6")
    whole = train(masked_shards, out=tmp_path / "whole", config=how, quiet=True)
    for stop in (8, None):
        train(masked_shards, out=tmp_path / "parts", config=how, quiet=True, stop_at=stop)
    assert_same_run(tmp_path / "whole", tmp_path / "parts")
    model, _ = load_model(tmp_path / "whole")
    layout = validation_rows({"": masked_shards}, how)[""]
    objective = training_rows({"": masked_shards}, how).objective
    for batch in (3, 8):
        found = evaluate(model, layout, limit=256, batch=batch, token_bytes=None, objective=objective)
        assert found.loss == pytest.approx(whole.val_loss, rel=1e-6)
    groups = np.arange(len(masked_shards.split("val"))) % 2
    parts = evaluate_groups(model, layout, groups, batch=8, token_bytes=None, objective=objective)
    assert sum(part.n_targets for part in parts) == found.n_targets
    with pytest.raises(PlanError, match="was trained with objective='mlm' to fill in masked tokens, so it cannot"):
        generate(model, [1, 2])


def test_what_an_objective_lacks_is_said(shards, make_shards, config, tmp_path):
    """Sentinels that the vocabulary has not, masks that choose targets too, too small a context, too few sentinels."""
    span = config.override("objective=span")
    with pytest.raises(
        PlanError, match=r"objective='span' needs 2 special tokens, <extra_id_0> to .* lacks <extra_id_0>"
    ):
        train(shards, out=tmp_path / "run", config=span, quiet=True)
    with pytest.raises(PlanError, match="objective='mlm' needs the special token <mask>; train the tokenizer"):
        train(shards, out=tmp_path / "run", config=config.override("objective=mlm"), quiet=True)
    special = {f"<extra_id_{i}>": 60 + i for i in range(8)}
    masked = make_shards(tmp_path / "masked", masked=True, special=special)
    with pytest.raises(PlanError, match="objective='span' must not be used with shards that have masks"):
        train(masked, out=tmp_path / "run", config=span, quiet=True)
    with pytest.raises(PlanError, match="context=3 is too small for objective='span': no block fits"):
        for_decoder(span.override("model.context=3"), special, 96, 97)
    with pytest.raises(PlanError, match="2 spans need 3 sentinels, but there are 2; pass more"):
        span_corruption(blocks(1, 40), np.arange(1), SENTINELS[:2])
