"""Adapters for other trainers: training rows as a map-style torch dataset, and shards as a Hugging Face dataset."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from dataprep.errors import PlanError, need
from dataprep.tokens.shards.shard import Shards

from .checkpoint import data_key
from .config import TrainConfig
from .data.sets import Loader, Sets, open_sets, to_device, training_rows
from .shape import ModelConfig


class TorchRows(Dataset[dict[str, Tensor]]):
    """The training samples of a run as a dataset for `torch.utils.data.DataLoader`; do not shuffle it again.

    Item s is a dict with sample s of `train`: `inputs` and `targets`, int64[context]. The target of an input is the
    next token id, or for "mlm" that of the input itself; -100 is not learned. If the documents in a row do not attend
    to each other, the dict also has `document` (index of the input's document in its row) and `position` (the input's
    offset in its document). If the objective has prefixes, the dict also has `prefix` (whether the input is part of a
    prefix). There are `epochs` times as many items as training rows.

    The order of items does not depend on the number of workers. Workers receive paths and read the shards themselves.
    Resume a run that stopped after s samples with `torch.utils.data.Subset(rows, range(s, len(rows)))`.

    >>> rows = TorchRows("work/shards", context=1024, layout="bestfit", seed=1, epochs=2)
    >>> for batch in torch.utils.data.DataLoader(rows, batch_size=32, num_workers=2): ...
    """

    def __init__(
        self, shards: Shards | str | Path | Sets, *, context: int, epochs: float = 1, seed: int = 0, **settings: Any
    ) -> None:
        """`settings` are fields of `TrainConfig`: layout, weights, objective, mask_documents ..."""
        self.sets = open_sets(shards)
        self.config = TrainConfig(model=ModelConfig(context=context), seed=seed, **settings)
        self.n_samples = round(epochs * len(self.loader.rows_of))

    @cached_property
    def loader(self) -> Loader:
        """The Loader that reads the rows; each process creates its own Loader on first use."""
        return training_rows(self.sets, self.config)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "loader"}

    def __len__(self) -> int:
        return self.n_samples

    def __getitem__(self, sample: int) -> dict[str, Tensor]:
        return self.__getitems__([sample])[0]

    def __getitems__(self, samples: list[int]) -> list[dict[str, Tensor]]:
        """Return several items; DataLoader calls this once per batch."""
        numbers = np.array([range(len(self))[s] for s in samples], np.int64)
        rows = self.loader.read(numbers)
        x, y, _ = to_device(rows._replace(begins=None, prefix=None), torch.device("cpu"))
        columns = {"inputs": x, "targets": y}
        if rows.begins is not None:
            columns["document"] = torch.from_numpy(rows.begins.cumsum(1))
            place = np.arange(rows.begins.shape[1])
            columns["position"] = torch.from_numpy(place - np.maximum.accumulate(place * rows.begins, axis=1))
        if rows.prefix is not None:
            columns["prefix"] = torch.from_numpy(rows.prefix)
        return [{name: column[i] for name, column in columns.items()} for i in range(len(samples))]


def to_hf(shards: Shards | str | Path, *, context: int | None = None, split: str = "train") -> Any:
    """Return one split of token shards as a `datasets.Dataset`, which reads the shards' files without copying them.

    Without `context`, a row is a document with its separator. With `context`, a row is that many consecutive tokens of
    a shard (the last row of a shard may have fewer). Columns: `input_ids`, and, if there are loss masks, `learn`
    (uint8, 1 if the token is learned). Needs the extra `hf`. Raises PlanError if `shards` has several sets, or if the
    split has no tokens.
    """
    datasets, pa = need("datasets", extra="hf"), need("pyarrow", extra="hf")
    if isinstance(shards, Mapping):
        msg = "shards must be one folder; call to_hf for each folder, then mix with datasets.interleave_datasets"
        raise PlanError(msg)
    every = open_sets(shards)
    side = every[""].split(split)
    if not side.n_tokens:
        msg = f"the {split} split in {side.path} contains no tokens; choose another split"
        raise PlanError(msg)
    tables = []
    for i, (tokens, mask) in enumerate(zip(side.memmaps(), side.masks(), strict=True)):
        stops = np.asarray(side.ends(i)) if context is None else np.arange(context, len(tokens) + context, context)
        offsets = np.concatenate([[0], np.minimum(stops, len(tokens))]).astype(np.int64)
        columns = {"input_ids": tokens} | ({} if mask is None else {"learn": mask})
        lists = {name: pa.LargeListArray.from_arrays(offsets, pa.array(np.asarray(c))) for name, c in columns.items()}
        tables.append(pa.table(lists))
    table = datasets.table.InMemoryTable(pa.concat_tables(tables))
    # Without a fingerprint of our own, datasets would pickle the whole table to make one.
    return datasets.Dataset(table, fingerprint=f"{data_key(every)[:48]}-{split}-{context}")
