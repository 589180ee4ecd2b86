import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError  # noqa: E402
from dataprep.train.data import IGNORE, Blocks, Loader, permute, to_device, val_rows  # noqa: E402

CPU = torch.device("cpu")


def split(n_tokens, cuts=(), dtype=np.uint16):
    """Files whose token at place p of the stream is p, cut at these places."""
    return np.split(np.arange(n_tokens).astype(dtype), sorted(min(c, n_tokens) for c in cuts))


@given(n=st.integers(1, 3000), key=st.text(max_size=5))
def test_permutation_is_a_bijection(n, key):
    """Every place goes to its own number, for any size and key."""
    assert np.array_equal(np.sort(permute(np.arange(n), n, key)), np.arange(n))


def test_permutation_mixes():
    """Over many keys each number is equally often first, and neighbours are not kept: rates, not examples."""
    n, keys = 16, 4000
    orders = np.array([permute(np.arange(n), n, str(k)) for k in range(keys)])
    counts = np.stack([np.bincount(orders[:, place], minlength=n) for place in range(n)])
    chi2 = ((counts - keys / n) ** 2 / (keys / n)).sum()
    assert chi2 < 225 + 5 * np.sqrt(2 * 225)  # (n - 1)^2 degrees of freedom, five standard deviations
    followed = (np.diff(orders, axis=1) == 1).mean()
    assert abs(followed - 1 / n) < 0.01


@settings(deadline=None)
@given(
    n_tokens=st.integers(2, 400),
    context=st.integers(1, 40),
    cuts=st.lists(st.integers(0, 400), max_size=4),
    dtype=st.sampled_from([np.uint16, np.uint32]),
)
def test_every_token_is_predicted_once(n_tokens, context, cuts, dtype):
    """The targets of all blocks are the tokens after the first, each once, whatever the files and the context."""
    if n_tokens < context + 1:
        return
    blocks = Blocks(split(n_tokens, cuts, dtype), context)
    rows = blocks.rows(np.arange(len(blocks)))
    x, y = to_device(rows, CPU)
    assert torch.equal(x[:, 1:][y[:, :-1] != IGNORE], y[:, :-1][y[:, :-1] != IGNORE])
    assert torch.equal(y[y != IGNORE], x[y != IGNORE] + 1)
    assert sorted(y[y != IGNORE].tolist()) == list(range(1, n_tokens))
    assert rows.n_targets == n_tokens - 1


def test_ids_up_to_65535_survive():
    """The largest uint16 ids reach the model as they are."""
    files = [np.array([65535, 0, 32768, 32767], np.uint16)]
    x, y = to_device(Blocks(files, 3).rows(np.arange(1)), CPU)
    assert x.tolist() == [[65535, 0, 32768]]
    assert y.tolist() == [[0, 32768, 32767]]


def test_an_epoch_has_every_block_once_and_epochs_differ():
    """A run of len(blocks) samples is a permutation; the next epoch's is another."""
    loader = Loader(blocks=Blocks(split(2000), 10), batch=25, seed=3)
    orders = np.concatenate([loader.order(step) for step in range(16)])
    first, second = np.split(orders, 2)
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(200))
    assert first.tolist() != second.tolist()


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_ranks_share_the_same_batch(ranks):
    """Ranks 0..n-1 together train on what one rank alone would, step by step, in the same order."""
    loader = Loader(blocks=Blocks(split(500), 7), batch=12, seed=1)
    for step in range(12):
        together = np.concatenate([loader.order(step, rank, ranks) for rank in range(ranks)])
        assert together.tolist() == loader.order(step).tolist()


def test_order_is_a_function_of_the_seed():
    """The same seed gives the same order in a new loader, another seed another one."""
    blocks = Blocks(split(2000), 10)
    orders = [Loader(blocks=blocks, batch=50, seed=seed).order(7).tolist() for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_read_ahead_gives_the_steps_in_order():
    """Reading ahead in a thread changes nothing, from any first step, and can be left early."""
    loader = Loader(blocks=Blocks(split(300), 7), batch=4)
    ahead = loader.steps(5, 9)
    for step in range(5, 8):
        assert np.array_equal(next(ahead).tokens, loader.rows(step).tokens)
    ahead.close()


def test_too_few_tokens_for_a_block():
    """One sentence with both numbers, at once."""
    with pytest.raises(PlanError, match="the train split holds 24 tokens and one block needs 25"):
        Blocks(split(24), 24)
    with pytest.raises(PlanError, match="the train split holds 0 tokens"):
        Blocks([], 24)


def test_ranks_must_divide_the_batch():
    """A batch that ranks cannot share evenly is refused."""
    with pytest.raises(PlanError, match="batch of 4 blocks cannot be shared by 3 ranks"):
        Loader(blocks=Blocks(split(100), 7), batch=4).order(0, 0, 3)


@pytest.mark.parametrize("limit", [5, 8, 100])
def test_validation_batches_have_one_shape_and_count_each_block_once(limit):
    """The last batch is filled up with rows that count nothing."""
    blocks = Blocks(split(200), 10)
    batches = list(val_rows(blocks, limit, 4))
    assert {b.tokens.shape for b in batches} == {(4, 11)}
    y = torch.cat([to_device(b, CPU)[1] for b in batches])
    counted = y[y != IGNORE].tolist()
    assert len(set(counted)) == len(counted)
    if limit >= len(blocks):
        assert sorted(counted) == list(range(1, 200))
    else:
        assert len(counted) in (10 * limit, 10 * limit - 1)  # the block at the end is one target shorter
