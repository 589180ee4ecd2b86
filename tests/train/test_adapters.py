import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, Subset  # noqa: E402

from dataprep.errors import PlanError  # noqa: E402
from dataprep.train import TorchRows, to_hf  # noqa: E402
from dataprep.train.data.sets import to_device  # noqa: E402


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dataloader_gives_what_train_would_take(shards, workers):
    """Batch by batch the inputs and targets of the loader's steps, over two epochs, whatever the workers."""
    rows = TorchRows(shards, context=24, layout="bestfit", seed=3, epochs=2, batch=16)
    batches = list(DataLoader(rows, batch_size=16, num_workers=workers))
    assert len(rows) == 2 * len(rows.loader.rows_of)
    for step, batch in enumerate(batches[:-1]):
        x, y, mask = to_device(rows.loader.rows(step), torch.device("cpu"))
        assert torch.equal(batch["inputs"], x)
        assert torch.equal(batch["targets"], y)
        assert torch.equal(batch["position"], mask.position)
    first = batches[0]["document"]
    assert first.min() == 1
    assert (first.diff(dim=1) >= 0).all()


def test_rows_travel_as_paths(shards):
    """A copy for another process contains no tokens, and gives the same rows; a run goes on in its middle."""
    rows = TorchRows(shards.path, context=24, layout="padded", objective="prefix")
    expected = rows[7]
    travelling = pickle.dumps(rows)
    assert len(travelling) < 8000
    again = pickle.loads(travelling)
    rest = Subset(again, range(7, len(again)))
    assert all(torch.equal(rest[0][name], expected[name]) for name in ("inputs", "targets", "document", "prefix"))
    with pytest.raises(IndexError):
        _ = rows[len(rows)]


def test_hugging_face_rows_are_the_shards(make_shards, tmp_path):
    """Documents, or pieces of them all, as a Dataset on the files themselves."""
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("datasets")
    shards = make_shards(tmp_path, masked=True)
    before = pa.total_allocated_bytes()
    documents = to_hf(shards)
    assert pa.total_allocated_bytes() == before
    side = shards.split("train")
    assert len(documents) == len(side)
    for k in (0, 7, len(side) - 1):
        assert documents[k]["input_ids"] == [*side.document(k).tolist(), shards.eot]
    assert sum(sum(row) for row in documents["learn"]) == sum(int(m.sum()) for m in side.masks())
    pieces = to_hf(shards.path, context=64).with_format("numpy")
    every = np.concatenate([pieces[i]["input_ids"] for i in range(len(pieces))])
    assert np.array_equal(every, np.concatenate(side.memmaps()))
    with pytest.raises(PlanError, match="the test split in .* contains no tokens"):
        to_hf(shards, split="test")
    with pytest.raises(PlanError, match="shards must be one folder"):
        to_hf({"a": shards, "b": shards})
