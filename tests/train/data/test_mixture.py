import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError  # noqa: E402
from dataprep.tokens.shards.writer import save  # noqa: E402
from dataprep.train.data.layouts import layout_of  # noqa: E402
from dataprep.train.data.mixture import Mixture, interleave, shares  # noqa: E402
from dataprep.train.data.sets import open_sets  # noqa: E402


@settings(deadline=None, max_examples=60)
@given(counts=st.lists(st.integers(1, 60), min_size=1, max_size=9))
def test_every_prefix_has_its_shares(counts):
    """After any number of samples each set has had its share of them, to less than one sample."""
    order = interleave(counts)
    had = np.cumsum(order[:, None] == np.arange(len(counts)), axis=0)
    due = np.arange(1, len(order) + 1)[:, None] * np.array(counts) / sum(counts)
    assert np.abs(had - due).max() < 1
    assert had[-1].tolist() == counts


@given(weights=st.lists(st.floats(0.01, 100), min_size=1, max_size=8))
def test_shares_are_the_weights(weights):
    """To one in 65,536, or exactly where that many samples can have them."""
    counts = shares({str(i): w for i, w in enumerate(weights)})
    assert sum(counts) <= 65_536
    assert all(abs(c / sum(counts) - w / sum(weights)) <= 1 / 65_536 for c, w in zip(counts, weights, strict=True))
    assert shares({"web": 0.6, "chat": 0.3, "code": 0.1}) == [6, 3, 1]
    assert shares({"a": 2, "b": 2}) == [1, 1]


@pytest.fixture
def mixture(in_memory):
    """Two sets of 50 and 20 rows of 10 tokens, 3 of the first to 1 of the second; each token knows its set."""

    def make(seed=0, weights=None):
        web, chat = in_memory([501]), in_memory([201])
        chat.memmaps()[0][:] += 1000
        sets = {"web": layout_of(web, "contiguous", 10), "chat": layout_of(chat, "contiguous", 10)}
        return Mixture(sets, weights or {"web": 0.75, "chat": 0.25}, seed=seed)

    return make


def test_each_set_has_its_own_epochs(mixture):
    """Each time a set has been gone through, it has given every row once, in another order than before."""
    which, number = mixture().find(np.arange(400))
    for i, size in enumerate((50, 20)):
        mine = number[which == i]
        epochs = mine[: len(mine) // size * size].reshape(-1, size)
        assert len(epochs) >= 5
        assert all(sorted(e.tolist()) == list(range(size)) for e in epochs)
        assert len({tuple(e.tolist()) for e in epochs}) == len(epochs)
    assert mixture().epochs(400) == {"web": 6.0, "chat": 5.0}


def test_a_sample_does_not_depend_on_the_others(mixture):
    """Which row a sample is, and its tokens, are the same alone, in a batch, and in any order."""
    mixed = mixture(seed=3)
    samples = np.random.default_rng(0).permutation(1000)
    which, number = mixed.find(samples)
    rows = mixed.rows(which, number)
    assert set(which.tolist()) == {0, 1}
    for at in (0, 17, 999):
        alone = mixed.rows(*mixed.find(samples[at : at + 1]))
        assert np.array_equal(alone.tokens[0], rows.tokens[at])
        assert (alone.tokens[0, 0] >= 1000) == which[at]
        assert np.array_equal(rows.tokens[at], alone.tokens[0])
    assert mixture(seed=4).find(samples)[1].tolist() != number.tolist()


def test_rows_with_and_without_masks_go_together(in_memory):
    """What one set says of its rows and the other does not becomes what its silence means."""
    masked = in_memory([301], masks=np.arange(301) % 3 == 0)
    plain = in_memory([301])
    sets = {"a": layout_of(masked, "contiguous", 10), "b": layout_of(plain, "contiguous", 10)}
    rows = Mixture(sets).rows(np.array([0, 1, 1, 0]), np.array([0, 1, 2, 3]))
    assert rows.learn[[1, 2]].all()
    assert rows.learn[[0, 3]].sum() == 6
    assert rows.begins is None


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ({"web": 0.5, "chats": 0.5}, "the name 'chats' in weights must be one of the sets: web, chat"),
        ({"web": 1.0}, "weights must name every set, but 'chat' is missing"),
        ({"web": 1.0, "chat": -1}, "the weight of 'chat' is -1; it must be above 0"),
        ({"web": 1.0, "chat": float("nan")}, "the weight of 'chat' is nan"),
        ({"web": 1.0, "chat": 1e-7}, "the weight of 'chat' must be at least 1/65,536 of the sum of all weights"),
    ],
)
def test_weights_that_cannot_be_met(mixture, weights, sentence):
    """Each with the name of the set and what was found."""
    with pytest.raises(PlanError, match=sentence):
        mixture(weights=weights)


def test_sets_that_do_not_go_together(make_shards, tmp_path):
    """Another vocabulary or another tokenizer is named, with both folders."""
    made = {
        "a": make_shards(tmp_path / "a", n=5, tokenizer={"hash": "one"}),
        "b": make_shards(tmp_path / "b", n=5, tokenizer={"hash": "other"}),
        "c": save(tmp_path / "c", {"train": [[1, 2]]}, vocab_size=50, eot=49),
    }
    with pytest.raises(PlanError, match=r"'a' and 'b' cannot be mixed: .*a has a tokenizer of one and .*other"):
        open_sets({"a": made["a"], "b": made["b"]})
    with pytest.raises(PlanError, match="a vocabulary of 97 and .* of 50; encode both with one tokenizer"):
        open_sets({"a": made["a"], "c": made["c"].path})
    with pytest.raises(PlanError, match="there are no shards; pass a folder"):
        open_sets({})
