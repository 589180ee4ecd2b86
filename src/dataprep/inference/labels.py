"""The labels of the documents of token shards: values of a column of the Dataset that was encoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.batch import show_id
from dataprep.core.model.dataset import Dataset, open_dataset
from dataprep.core.output.forget_list import listed
from dataprep.errors import PlanError, counted, first_few
from dataprep.tokens.shards.shard import Shards

if TYPE_CHECKING:
    from dataprep.train import TrainConfig

MOST_NAMES = 10  # in a message
SOURCE, UNKNOWN = "source", "(none)"
"""The column that shards have themselves; the label of documents without a value."""


def labels_of(
    side: Shards, by: str, docs: Dataset | str | None, setting: str = "by"
) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return (the number of each document's label, int64[documents]; the labels) for one split of token shards.

    - by, docs: as in `evaluate`.
    - setting: the name of the parameter `by` in messages.

    Raises PlanError if a document is not in `docs`.
    """
    path = str(side.path)
    own = pa.concat_tables(side.docs(i, ["id", SOURCE]) for i in range(len(side.shards)))
    column = own[SOURCE] if by == SOURCE else _column(own, by, docs, path, setting)
    made = pc.dictionary_encode(pc.fill_null(column, UNKNOWN)).combine_chunks()
    made = made.chunk(0) if isinstance(made, pa.ChunkedArray) else made
    return made.indices.to_numpy(zero_copy_only=False).astype(np.int64), made.dictionary.to_pylist()


def _column(own: pa.Table, by: str, docs: Dataset | str | None, path: str, setting: str) -> Any:
    """Return the values of the column `by` of `docs` for the documents of `own` (id, source), in their order."""
    if docs is None:
        msg = f"{setting}={by!r} needs the Dataset that {path} was encoded from: name its folder with docs= (--docs)"
        raise PlanError(msg)
    docs = open_dataset(docs) if isinstance(docs, str) else docs
    table = docs.table(list(dict.fromkeys(["id", SOURCE, by])))
    try:
        values = pc.cast(table[by], pa.string())
    except pa.ArrowException as e:
        msg = f"{setting}={by!r} must be a column of one value per document, but it is of type {table[by].type}"
        raise PlanError(msg) from e
    known, wanted = table["id"].to_numpy(), own["id"].to_numpy()
    order = np.argsort(known, kind="stable")
    at = np.searchsorted(known, wanted, sorter=order).clip(max=max(0, len(known) - 1))
    row = order[at] if len(known) else at
    missing = np.ones(len(wanted), bool) if not len(known) else known[row] != wanted
    if not missing.any():
        sources = pc.take(pc.cast(table[SOURCE], pa.string()), pa.array(row))
        missing = pc.not_equal(sources, own[SOURCE]).to_numpy(zero_copy_only=False)
    if missing.any():
        n = int(missing.sum())
        is_forgotten = docs.url is not None and np.isin(wanted[missing], listed(str(docs.url))).all()
        then = (
            "which has forgotten what these shards still contain; forget it there, too"
            if is_forgotten
            else "name the one that these shards were encoded from"
        )
        msg = (
            f"{counted(n, 'document')} of {path}, such as {show_id(int(wanted[np.argmax(missing)]))}, "
            f"{'is' if n == 1 else 'are'} not in the Dataset {docs.url or ''}{',' if is_forgotten else ';'} {then}"
        )
        raise PlanError(msg)
    return pc.take(values, pa.array(row))


def classifier_of(
    config: TrainConfig, sets: Mapping[str, Shards], column: str, docs: Dataset | str | None
) -> tuple[TrainConfig, dict[str, Shards]]:
    """Return (the config of a classifier, the shards with their labels); labels are the values of a column, sorted.

    The layout "contiguous" becomes "bestfit", since a classifier reads whole documents.

    - column, docs: as in `labels_of`.

    Raises PlanError if a document has no label, or if all have the same.
    """
    every = {name for s in sets.values() for name in labels_of(s, column, docs, "labels")[1]}
    names = tuple(sorted(every - {UNKNOWN}))
    layout: dict[str, Any] = {"layout": "bestfit", "mask_documents": None} if config.layout == "contiguous" else {}
    config = replace(config, objective="classify", labels=names, **layout)
    return config, {n: labelled(s, column, docs, names, ("train", "val"), "labels") for n, s in sets.items()}


def labelled(
    shards: Shards, column: str, docs: Dataset | str | None, names: Sequence[str], splits: Iterable[str], setting: str
) -> Shards:
    """Return shards whose documents have labels, the numbers of the names in `names`.

    - column, docs, setting: as in `labels_of`.
    - splits: those in which all documents must have one of the names; others have -1. Raises PlanError otherwise.
    """
    own, texts = labels_of(shards, column, docs, setting)
    place = {name: i for i, name in enumerate(names)}
    made = shards.labelled(np.array([place.get(text, -1) for text in texts], np.int64)[own])
    for split in splits:
        numbers, its = made.split(split).labels, shards.labelled(own).split(split).labels
        assert numbers is not None
        assert its is not None
        if (numbers < 0).any():
            text = texts[its[np.argmax(numbers < 0)]]
            what = "no label" if text == UNKNOWN else f"labels that the model does not know, such as {text!r:.60}"
            msg = (
                f"{setting}={column!r}: {counted(int((numbers < 0).sum()), 'document')} of the {split} split of "
                f"{shards.path} have {what}; the labels are {first_few(list(map(repr, names)), MOST_NAMES)}: "
                "choose another column, or drop these documents before encoding"
            )
            raise PlanError(msg)
    return made
