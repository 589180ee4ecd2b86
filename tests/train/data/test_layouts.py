import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twins.packing import best_fit_rows

torch = pytest.importorskip("torch")

from dataprep.errors import CorruptShard, PlanError  # noqa: E402
from dataprep.train.data import packing  # noqa: E402
from dataprep.train.data.layouts import layout_of  # noqa: E402
from dataprep.train.data.rows import IGNORE  # noqa: E402
from dataprep.train.data.sets import to_device  # noqa: E402

CPU, EOT = torch.device("cpu"), 65535


@settings(deadline=None)
@given(
    n_tokens=st.integers(2, 400),
    context=st.integers(1, 40),
    cuts=st.lists(st.integers(0, 400), max_size=4),
    dtype=st.sampled_from([np.uint16, np.uint32]),
)
def test_contiguous_predicts_every_token_once(in_memory, n_tokens, context, cuts, dtype):
    """The targets of all rows are the tokens after the first, each once, whatever the files and the context."""
    if n_tokens < context + 1:
        return
    edges = [0, *sorted(min(c, n_tokens) for c in cuts), n_tokens]
    sizes = np.diff(edges)  # a document a file, or none where a file is empty
    shards = in_memory(sizes[sizes > 0], (sizes > 0).astype(int), dtype=dtype)
    layout = layout_of(shards, "contiguous", context)
    rows = layout.rows(np.arange(len(layout)))
    x, y, mask = to_device(rows, CPU)
    assert mask is None
    assert torch.equal(x[:, 1:][y[:, :-1] != IGNORE], y[:, :-1][y[:, :-1] != IGNORE])
    assert torch.equal(y[y != IGNORE], x[y != IGNORE] + 1)
    assert sorted(y[y != IGNORE].tolist()) == list(range(1, n_tokens))
    assert rows.n_targets == n_tokens - 1


documents = st.lists(st.integers(1, 60), min_size=1, max_size=40)


@settings(deadline=None)
@given(
    lengths=documents,
    context=st.integers(1, 40),
    cut=st.integers(0, 40),
    how=st.sampled_from(["bestfit", "padded"]),
    dtype=st.sampled_from([np.uint16, np.uint32]),
)
def test_whole_documents_predict_every_token_once(in_memory, lengths, context, cut, how, dtype):
    """Every token is a target exactly once, after the one before it or, where its document begins, a separator."""
    if sum(lengths) < context:
        return
    cut = min(cut, len(lengths))
    layout = layout_of(in_memory(lengths, [cut, len(lengths) - cut], dtype=dtype), how, context)
    rows = layout.rows(np.arange(len(layout)))
    x, y, _ = to_device(rows, CPU)
    x, y = x.numpy(), y.numpy()
    first = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    learned = y != IGNORE
    assert sorted(y[learned].tolist()) == list(range(sum(lengths)))
    assert rows.n_targets == sum(lengths)
    before = np.where(np.isin(x[learned], np.cumsum(lengths) - 1), EOT, x[learned])  # a document ends with a separator
    assert np.array_equal(before, np.where(np.isin(y[learned], first), EOT, y[learned] - 1))
    # A document or a rest begins exactly where its first input lies, and nowhere else.
    number = np.searchsorted(first, np.arange(sum(lengths)), side="right")
    part = number * 1000 + (np.arange(sum(lengths)) - first[number - 1]) // context
    seen = np.where(learned, part[np.where(learned, y, 0)], -1)
    inside = np.maximum.accumulate(np.where(rows.begins, np.arange(context), 0), axis=1)
    for row, (targets, starts) in enumerate(zip(seen, inside, strict=True)):
        assert rows.begins[row, 0]
        for start in np.unique(starts):
            assert len(set(targets[(starts == start) & (targets >= 0)].tolist())) == 1


@given(lengths=documents, context=st.integers(1, 40))
def test_cut_keeps_the_beginning_of_each_document(in_memory, lengths, context):
    """A row a document, with its first tokens up to the context."""
    layout = layout_of(in_memory(lengths), "cut", context)
    rows = layout.rows(np.arange(len(layout)))
    _, y, _ = to_device(rows, CPU)
    first = np.cumsum([0, *lengths])
    for row, begin, length in zip(y.tolist(), first, lengths, strict=False):
        assert [t for t in row if t != IGNORE] == list(range(begin, begin + min(length, context)))


@given(sizes=st.lists(st.integers(1, 30), max_size=200), room=st.integers(30, 50))
def test_best_fit_is_the_plain_one(sizes, room):
    """As many rows as best-fit decreasing one by one, equally full, and none too full."""
    row, n_rows = packing.best_fit(np.array(sizes, np.int64), room)
    filled = np.bincount(row, sizes, n_rows)
    assert sorted(filled.astype(int).tolist()) == sorted(sum(r) for r in best_fit_rows(sizes, room))


def test_padding_is_under_a_thousandth():
    """On documents of web-like lengths (lognormal, median 400 tokens), at the usual contexts; all tokens are there."""
    lengths = np.maximum(1, np.random.default_rng(0).lognormal(6, 1.1, 200_000)).astype(np.int64)
    for context in (256, 512, 1024, 2048):
        plan = packing.bestfit([np.cumsum(lengths)], context)
        assert plan.size.sum() == lengths.sum()
        assert plan.filled(context) > 0.999


def test_a_plan_does_not_depend_on_how_documents_lie_in_files(monkeypatch):
    """Windows of documents hold many files, or a part of one; every piece is in exactly one row of the plan."""
    lengths = np.random.default_rng(1).integers(1, 80, 1000)
    ends = np.cumsum(lengths)
    cut = [ends[:10], ends[10:10], ends[10:400] - ends[9], ends[400:] - ends[399]]
    one, several = packing.bestfit([ends], 64), packing.bestfit(cut, 64)
    assert all(np.array_equal(getattr(one, f), getattr(several, f)) for f in ("first", "start", "size", "begins"))
    monkeypatch.setattr(packing, "WINDOW", 100)
    small = packing.bestfit([ends], 64)
    assert len(small) >= len(one)
    assert sorted(zip(small.start.tolist(), small.size.tolist(), strict=True)) == sorted(
        zip(one.start.tolist(), one.size.tolist(), strict=True)
    )


def test_documents_are_mask_documents_in_contiguous_rows_on_request(in_memory):
    """An input that is a separator begins the next document."""
    shards = in_memory([3, 4, 5], separators=True)
    layout = layout_of(shards, "contiguous", 11, mask_documents=True)
    rows = layout.rows(np.arange(1))
    assert np.array_equal(rows.begins, rows.tokens[:, :-1] == EOT)
    assert np.flatnonzero(rows.begins[0]).tolist() == [2, 6]
    assert layout_of(shards, "contiguous", 11).rows(np.arange(1)).begins is None
    assert layout_of(shards, "bestfit", 11, mask_documents=False).rows(np.arange(1)).begins is None


@pytest.mark.parametrize("how", ["contiguous", "bestfit", "padded", "cut"])
def test_masks_decide_what_is_learned(in_memory, how):
    """The targets are the masked-in tokens among those that the layout predicts without masks."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 50, 60)
    masks = rng.random(lengths.sum()) < 0.3
    found = []
    for given_masks in (None, masks):
        layout = layout_of(in_memory(lengths, [20, 25, 15], masks=given_masks), how, 16)
        y = to_device(layout.rows(np.arange(len(layout))), CPU)[1]
        found.append(sorted(y[y != IGNORE].tolist()))
    assert found[1] == [p for p in found[0] if masks[p]]
    assert found[1]


def test_masks_without_a_target_are_refused(in_memory):
    """Nothing could be learned: one sentence, at once."""
    shards = in_memory([5, 6], masks=np.zeros(11))
    with pytest.raises(PlanError, match="the train split of 'chat' in memory has masks without a token to learn"):
        layout_of(shards, "padded", 8, name="chat")


@pytest.mark.parametrize("how", ["contiguous", "bestfit"])
def test_too_few_tokens_for_a_row(in_memory, how):
    """One sentence with both numbers, at once."""
    need = {"contiguous": 25, "bestfit": 24}[how]
    said = f"the train split holds {need - 1} tokens and one row needs {need}; add text, .* model.context .now 24.$"
    with pytest.raises(PlanError, match=said):
        layout_of(in_memory([need - 1]), how, 24)
    with pytest.raises(PlanError, match="the train split holds 0 tokens"):
        layout_of(in_memory([]), how, 24)


@pytest.mark.parametrize("how", ["contiguous", "bestfit", "padded"])
def test_an_id_outside_the_vocabulary_is_said(in_memory, how):
    """A flipped bit makes an id that the model has no row for: a sentence, not an assertion on the card."""
    shards = in_memory([40, 9])
    shards.vocab_size = 48
    with pytest.raises(CorruptShard, match="memory contains ids outside its vocabulary of 48; check it with"):
        layout = layout_of(shards, how, 8)
        layout.rows(np.arange(len(layout)))


def test_ids_up_to_65535_survive(in_memory):
    """The largest uint16 ids reach the model as they are."""
    shards = in_memory([4])
    shards.memmaps()[0][:] = [65535, 0, 32768, 32767]
    x, y, _ = to_device(layout_of(shards, "contiguous", 3).rows(np.arange(1)), CPU)
    assert x.tolist() == [[65535, 0, 32768]]
    assert y.tolist() == [[0, 32768, 32767]]


def test_without_masks_every_target_counts(in_memory):
    """With masks=False the masks of shards are not read: all tokens are learned, as by a base model."""
    masks = np.zeros(60, np.uint8)
    masks[5] = 1
    for how in ("contiguous", "bestfit", "padded"):
        some = layout_of(in_memory([20, 25, 15], masks=masks), how, 16)
        every = layout_of(in_memory([20, 25, 15], masks=masks), how, 16, masks=False)
        none = layout_of(in_memory([20, 25, 15]), how, 16)
        numbers = np.arange(len(every))
        assert some.rows(numbers).n_targets == 1
        assert every.rows(numbers).n_targets == none.rows(numbers).n_targets == 60 - (how == "contiguous")
