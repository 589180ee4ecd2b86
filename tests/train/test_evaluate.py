"""Losses of a model: of all documents and of groups of them."""

import functools
import math
import operator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from dataprep.train import GPT  # noqa: E402
from dataprep.train.data.layouts import layout_of  # noqa: E402
from dataprep.train.data.rows import IGNORE  # noqa: E402
from dataprep.train.data.sets import to_device  # noqa: E402
from dataprep.train.evaluate import LossSum, evaluate, evaluate_groups  # noqa: E402
from dataprep.train.loss import token_nats  # noqa: E402

HOWS = ("contiguous", "bestfit", "padded", "cut")


def uniform(config, shards):
    """A model with equal scores for all ids."""
    model = GPT(config.model, shards.vocab_size)
    torch.nn.init.zeros_(model.embedding.weight)
    return model


def test_a_uniform_model_needs_log2_v_bits_a_token(shards, config):
    """Bits per byte are log2(V) times the tokens that have bytes, over these bytes; the perplexity is V."""
    val = shards.split("val").memmaps()[0]
    found = evaluate(
        uniform(config, shards), layout_of(shards.split("val"), "contiguous", 24), limit=10**6, batch=4,
        token_bytes=shards.token_bytes,
    )  # fmt: skip
    sizes = shards.token_bytes[np.asarray(val[1:])]
    assert found.loss == pytest.approx(math.log(shards.vocab_size), rel=1e-5)
    assert found.perplexity == pytest.approx(shards.vocab_size, rel=1e-4)
    assert found.bits_per_byte == pytest.approx(math.log2(shards.vocab_size) / sizes[sizes > 0].mean(), rel=1e-5)
    assert (found.n_targets, found.n_bytes) == (len(val) - 1, sizes.sum())


@pytest.mark.parametrize("how", HOWS)
def test_validation_does_not_depend_on_the_batch(shards, config, how):
    """The filled-up last batch counts nothing, so every batch size has the same loss and bits, in each group too."""
    torch.manual_seed(0)
    model, val = GPT(config.model, shards.vocab_size), shards.split("val")
    layout, groups = layout_of(val, how, 24), np.arange(len(val)) % 3
    seen = [evaluate(model, layout, limit=100, batch=b, token_bytes=shards.token_bytes) for b in (1, 7, 64)]
    assert all((s.n_targets, s.n_bytes) == (seen[0].n_targets, seen[0].n_bytes) for s in seen)
    assert all(s.loss == pytest.approx(seen[0].loss, rel=1e-6) for s in seen)
    each = [evaluate_groups(model, layout, groups, batch=b, token_bytes=shards.token_bytes) for b in (1, 7, 64)]
    for scores in zip(*each, strict=True):
        assert all(s.bits_per_byte == pytest.approx(scores[0].bits_per_byte, rel=1e-6) for s in scores)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("masked", [False, True])
def test_groups_add_up_to_the_whole(make_shards, config, tmp_path, how, masked):
    """The sums of the groups are the sums of all documents."""
    torch.manual_seed(0)
    val = make_shards(tmp_path, masked=masked).split("val")
    model, layout = GPT(config.model, val.vocab_size), layout_of(val, how, 24)
    groups = np.arange(len(val)) % 3
    found = evaluate_groups(model, layout, groups, batch=4, token_bytes=val.token_bytes)
    together = functools.reduce(operator.add, found)
    total = evaluate(model, layout, limit=10**6, batch=4, token_bytes=val.token_bytes)
    assert len(found) == 3
    assert (together.n_targets, together.n_bytes) == (total.n_targets, total.n_bytes)
    assert together.nats == pytest.approx(total.nats, rel=1e-9)
    assert together.text_nats == pytest.approx(total.text_nats, rel=1e-9)


@pytest.mark.parametrize("masked", [False, True])
def test_a_document_is_scored_as_alone(make_shards, config, tmp_path, masked):
    """Where documents do not see each other, the score of a group is that of its documents, one by one."""
    torch.manual_seed(0)
    val = make_shards(tmp_path, masked=masked).split("val")
    model = GPT(replace(config.model, context=64), val.vocab_size).eval()
    found = evaluate_groups(model, layout_of(val, "bestfit", 64), np.arange(len(val)), batch=4, token_bytes=None)
    tokens, learn = val.memmaps()[0], val.masks()[0]
    start = 0
    for k, stop in enumerate(val.ends(0).astype(int).tolist()):
        own = torch.tensor([[val.eot, *tokens[start:stop].tolist()]])
        with torch.no_grad():
            nats = token_nats(model, own[:, :-1], own[:, 1:])[0]
        counted = np.ones(stop - start, bool) if learn is None else learn[start:stop] != 0
        assert found[k].n_targets == counted.sum()
        assert found[k].nats == pytest.approx(float(nats[torch.from_numpy(counted)].sum()), rel=1e-4)
        start = stop


def test_validation_counts_what_is_masked_in(make_shards, config, tmp_path):
    """The loss is the mean over the masked-in targets, each once, as the model has it for them row by row."""
    val = make_shards(tmp_path, masked=True).split("val")
    torch.manual_seed(0)
    model, layout = GPT(config.model, val.vocab_size), layout_of(val, "bestfit", 24)
    nats, count = 0.0, 0
    for number in range(len(layout)):
        x, y, mask = to_device(layout.rows(np.array([number])), torch.device("cpu"))
        with torch.no_grad():
            nats += float(token_nats(model, x, y, mask).sum())
        count += int((y != IGNORE).sum())
    assert count == sum(int(m.sum()) for m in val.masks())
    assert evaluate(model, layout, limit=10**6, batch=4, token_bytes=None).loss == pytest.approx(nats / count, rel=1e-5)


@given(
    lengths=st.lists(st.integers(1, 60), min_size=1, max_size=40), context=st.integers(1, 40),
    cut=st.integers(0, 40), how=st.sampled_from(HOWS),
)  # fmt: skip
def test_every_target_has_its_document(in_memory, lengths, context, cut, how):
    """The document of a target that counts is the one that has the token, in every layout and across files."""
    if sum(lengths) <= context:
        return
    cut = min(cut, len(lengths))
    layout = layout_of(in_memory(lengths, [cut, len(lengths) - cut]), how, context)
    numbers = np.arange(len(layout))
    _, y, _ = to_device(layout.rows(numbers), torch.device("cpu"))
    token = y.numpy()[y.numpy() != IGNORE]  # the token at offset p is p
    owner = np.repeat(np.arange(len(lengths)), lengths)
    assert np.array_equal(layout.documents(numbers)[y.numpy() != IGNORE], owner[token])


def test_a_score_of_nothing():
    """No targets have no loss; unknown bytes no bits."""
    nothing = LossSum(0, 0.0, 0.0, 0)
    assert math.isnan(nothing.loss)
    assert math.isnan(nothing.perplexity)
    assert nothing.bits_per_byte is None
    assert LossSum(1, 800.0, 800.0, 1).perplexity == math.inf
