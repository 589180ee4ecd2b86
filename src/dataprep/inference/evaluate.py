"""Evaluate a trained model on token shards: loss, perplexity and bits per byte, in total and per source or language.

torch is imported in the calls.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.batch import show_id
from dataprep.core.model.dataset import Dataset, open_dataset
from dataprep.errors import PlanError, counted
from dataprep.tokens.shards.shard import Shards

if TYPE_CHECKING:
    from dataprep.train.evaluate import LossSum

SOURCE, UNKNOWN = "source", "(none)"
"""The column that shards have themselves; the label of documents without a value."""


@dataclass(frozen=True)
class Evaluation:
    """The losses of a model on the documents of one split.

    Attributes:
        split: the name of the split.
        by: the name of the column by which the documents are grouped.
        groups: the losses by value of this column.
        documents: the number of documents by value of this column.
    """

    split: str
    by: str
    groups: dict[str, LossSum]
    documents: dict[str, int]

    @property
    def total(self) -> LossSum:
        """The losses of all documents."""
        from dataprep.train.evaluate import LossSum

        return sum(self.groups.values(), LossSum(0, 0.0, 0.0, 0))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for JSON."""
        groups = {name: {"documents": self.documents[name], **_facts(found)} for name, found in self.groups.items()}
        total = {"documents": sum(self.documents.values()), **_facts(self.total)}
        return {"split": self.split, "by": self.by, "total": total, "groups": groups}


def _facts(found: LossSum) -> dict[str, Any]:
    known = {"loss": found.loss, "perplexity": found.perplexity} if found.n_targets else dict.fromkeys(
        ("loss", "perplexity"))  # fmt: skip
    return {"tokens": found.n_targets, "bytes": found.n_bytes, **known, "bits_per_byte": found.bits_per_byte}


def evaluate(
    model: str | os.PathLike[str], shards: Shards | str | os.PathLike[str], *, split: str = "val", by: str = SOURCE,
    docs: Dataset | str | None = None, device: str = "auto",
) -> Evaluation:  # fmt: skip
    """Return the losses of a trained model on one split of token shards, in groups of documents.

    The model is measured on the same rows as in the validation during training. The loss of all documents equals the
    validation loss if this was measured on all rows (`eval_rows`). Only training targets are counted.

    Args:
        model: the folder of a run, a checkpoint, or a Hugging Face folder.
        shards: token shards that were encoded with the model's tokenizer.
        split: "train", "val" or "test".
        by: the column by whose values documents are grouped: "source", or a column of `docs`, such as "language".
        docs: the Dataset that the shards were encoded from, or its folder; not needed for "source".
        device: "auto", "cpu", "cuda" ...

    Raises:
        PlanError: the split is empty, the tokenizers of shards and model differ, or `docs` is needed, lacks the column
            or lacks documents.
        DataprepError: a loss is not a finite number.

    >>> dp.evaluate("work/model", "work/shards", by="language", docs="work/clean").groups["fr"].bits_per_byte
    """
    from dataprep.train import GPT, TrainConfig  # names the extra if torch is not installed
    from dataprep.train.data.objectives import for_decoder
    from dataprep.train.data.sets import validation_rows
    from dataprep.train.device import model_memory_named
    from dataprep.train.evaluate import evaluate_groups
    from dataprep.train.sampling import check_finite

    from .open_model import open_model

    found = shards if isinstance(shards, Shards) else Shards.open(shards)
    side = found.split(_checked(found, split))
    labels, names = labels_of(side, by, docs)
    gpt: GPT
    gpt, saved = open_model(model, device)
    _check_tokenizer(found, saved, model)
    config = TrainConfig.from_dict(saved["config"])
    if config.objective == "span":
        msg = f"{model} was trained with objective='span', which reorders the tokens of rows; evaluate another model"
        raise PlanError(msg)
    layout = validation_rows({"": found}, config, split)[""]
    _, objective = for_decoder(config, found.manifest.special, found.eot, found.vocab_size)
    with model_memory_named(gpt.device, "end other programs that use it"):
        sums = evaluate_groups(
            gpt, layout, labels, batch=config.rows, token_bytes=found.token_bytes, objective=objective
        )  # fmt: skip
    check_finite(group.nats for group in sums)
    count = np.bincount(labels, minlength=len(names)).tolist()
    order = sorted(range(len(names)), key=lambda i: (-sums[i].n_targets, names[i]))
    return Evaluation(split, by, {names[i]: sums[i] for i in order}, {names[i]: count[i] for i in order})


def _checked(shards: Shards, split: str) -> str:
    """Return `split`. Raises PlanError if the shards lack this split, or if it has only one token."""
    there = [name for name in ("train", "val", "test") if shards.split(name).n_tokens > 1]
    if split not in there:
        other = f"choose one of {', '.join(there)} (--split)" if there else "encode documents first"
        msg = f"split={split!r} of {shards.path} has no tokens to predict; {other}"
        raise PlanError(msg)
    return split


def _check_tokenizer(shards: Shards, saved: Mapping[str, Any], model: object) -> None:
    from dataprep.train.checkpoint import tokenizer_key

    mine, its = tokenizer_key({"": shards}), saved["tokenizer"]
    same = (shards.vocab_size, shards.eot) == (saved["vocab_size"], saved["eot"])
    if not same or (mine and its and mine != its):
        msg = (
            f"{shards.path} was not encoded for the model in {model}: its vocabulary has {shards.vocab_size:,} ids and "
            f"the hash {mine[:8] or '(none)'}, those of the model are {saved['vocab_size']:,} and "
            f"{its[:8] or '(none)'}; encode the texts with the tokenizer.json of the model"
        )
        raise PlanError(msg)


def labels_of(side: Shards, by: str, docs: Dataset | str | None) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return (the number of each document's label, int64[documents]; the labels) for one split of token shards.

    - by, docs: as in `evaluate`.

    Raises PlanError if a document is not in `docs`.
    """
    path = str(side.path)
    own = pa.concat_tables(side.docs(i, ["id", SOURCE]) for i in range(len(side.shards)))
    column = own[SOURCE] if by == SOURCE else _column(own, by, docs, path)
    made = pc.dictionary_encode(pc.fill_null(column, UNKNOWN)).combine_chunks()
    made = made.chunk(0) if isinstance(made, pa.ChunkedArray) else made
    return made.indices.to_numpy(zero_copy_only=False).astype(np.int64), made.dictionary.to_pylist()


def _column(own: pa.Table, by: str, docs: Dataset | str | None, path: str) -> Any:
    """Return the values of the column `by` of `docs` for the documents of `own` (id, source), in their order."""
    if docs is None:
        msg = f"by={by!r} needs the Dataset that {path} was encoded from: name its folder with docs= (--docs)"
        raise PlanError(msg)
    docs = open_dataset(docs) if isinstance(docs, str) else docs
    table = docs.table(list(dict.fromkeys(["id", SOURCE, by])))
    try:
        values = pc.cast(table[by], pa.string())
    except pa.ArrowException as e:
        msg = f"by={by!r} must be a column of one value per document, but it is of type {table[by].type}"
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
        msg = (
            f"{counted(n, 'document')} of {path}, such as {show_id(int(wanted[np.argmax(missing)]))}, "
            f"{'is' if n == 1 else 'are'} not in the Dataset {docs.url or ''}; name the one that these shards were "
            "encoded from"
        )
        raise PlanError(msg)
    return pc.take(values, pa.array(row))
