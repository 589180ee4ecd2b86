import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError  # noqa: E402
from dataprep.train.data.layouts import layout_of  # noqa: E402
from dataprep.train.data.mixture import Mixture  # noqa: E402
from dataprep.train.data.rows import IGNORE, permute  # noqa: E402
from dataprep.train.data.sets import Loader, to_device, val_rows  # noqa: E402

CPU = torch.device("cpu")
ORDER = [73, 11, 178, 181, 142, 0, 17, 111]


@pytest.fixture
def loader(in_memory):
    """A loader of contiguous rows over a stream of tokens 0, 1, 2 ..."""

    def make(n_tokens, context, batch, seed=0):
        return Loader(Mixture({"": layout_of(in_memory([n_tokens]), "contiguous", context)}, seed=seed), batch)

    return make


def order(loader, step, *ranks):
    """The rows' numbers in one step."""
    return loader.rows_of.find(loader.samples(step, *ranks))[1]


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


def test_an_epoch_has_every_row_once_and_epochs_differ(loader):
    """A run of as many samples as rows is a permutation; the next epoch's is another."""
    rows = loader(2000, 10, 25, seed=3)
    first, second = np.split(np.concatenate([order(rows, step) for step in range(16)]), 2)
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(200))
    assert first.tolist() != second.tolist()


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_ranks_share_the_same_batch(loader, ranks):
    """Ranks 0..n-1 together train on what one rank alone would, step by step, in the same order."""
    rows = loader(500, 7, 12, seed=1)
    alone = list(rows.steps(0, 12))
    together = [list(rows.steps(0, 12, rank, ranks)) for rank in range(ranks)]
    for step in range(12):
        parts = [together[rank][step].tokens for rank in range(ranks)]
        assert np.array_equal(np.concatenate(parts), alone[step].tokens)


def test_order_is_a_function_of_the_seed(loader):
    """The same seed gives the same order in a new loader, another seed another one."""
    orders = [order(loader(2000, 10, 50, seed=seed), 7).tolist() for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_the_order_stays(loader):
    """These numbers are a promise: a run goes on with a later version, or on another machine, as it would have."""
    assert order(loader(2000, 10, 8, seed=5), 30).tolist() == ORDER


@pytest.mark.parametrize("ahead", [1, 100, 1 << 19])
def test_read_ahead_gives_the_steps_in_order(loader, monkeypatch, ahead):
    """Reading several steps at once in a thread changes nothing, from any first step, and can be left early."""
    monkeypatch.setattr("dataprep.train.data.sets._AHEAD", ahead)
    rows = loader(300, 7, 4)
    steps = rows.steps(5, 9)
    for step in range(5, 8):
        assert np.array_equal(next(steps).tokens, rows.rows(step).tokens)
    steps.close()
    assert len(list(rows.steps(3, 12))) == 9
    assert list(rows.steps(3, 3)) == []


def test_ranks_must_divide_the_batch(loader):
    """A batch that ranks cannot share evenly is refused."""
    with pytest.raises(PlanError, match="batch=4 must be a multiple of the number of ranks, 3"):
        loader(100, 7, 4).rows(0, 0, 3)


@pytest.mark.parametrize("limit", [5, 8, 100])
def test_validation_batches_have_one_shape_and_count_each_row_once(in_memory, limit):
    """The last batch is filled up with rows that count nothing."""
    layout = layout_of(in_memory([200]), "contiguous", 10)
    batches = [rows for _, rows in val_rows(layout, limit, 4)]
    assert {b.tokens.shape for b in batches} == {(4, 11)}
    y = torch.cat([to_device(b, CPU)[1] for b in batches])
    counted = y[y != IGNORE].tolist()
    assert len(set(counted)) == len(counted)
    if limit >= len(layout):
        assert sorted(counted) == list(range(1, 200))
    else:
        assert len(counted) in (10 * limit, 10 * limit - 1)  # the row at the end is one target shorter
