"""Evaluate a trained model on token shards: loss, perplexity and bits per byte, in total and per source or language.

torch is imported in the calls.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dataprep.core.model.dataset import Dataset
from dataprep.errors import PlanError
from dataprep.tokens.shards.shard import Shards

from .labels import SOURCE, labelled, labels_of

if TYPE_CHECKING:
    from dataprep.train.evaluate import LossSum


@dataclass(frozen=True)
class Evaluation:
    """The losses of a model on the documents of one split.

    Attributes:
        split: the name of the split.
        by: the name of the column by which the documents are grouped.
        groups: the losses by value of this column.
        documents: the number of documents by value of this column.
        confusion: for a classifier, the number of documents by label and predicted label; else None.
    """

    split: str
    by: str
    groups: dict[str, LossSum]
    documents: dict[str, int]
    confusion: dict[str, dict[str, int]] | None = None

    @property
    def total(self) -> LossSum:
        """The losses of all documents."""
        from dataprep.train.evaluate import LossSum

        return sum(self.groups.values(), LossSum(0, 0.0, 0.0, 0))

    @property
    def accuracy(self) -> float | None:
        """The share of documents whose label a classifier predicts; None for other models."""
        if self.confusion is None:
            return None
        return sum(row[name] for name, row in self.confusion.items()) / sum(self.documents.values())

    @property
    def macro_f1(self) -> float | None:
        """The mean of the labels' F1 scores, over labels that a document has or is predicted to have; else None."""
        if self.confusion is None:
            return None
        known = [scores["f1"] for name in self.confusion if (scores := self.scores(name))["f1"] is not None]
        return sum(known) / len(known)

    def scores(self, label: str) -> dict[str, float | None]:
        """Return a classifier's precision, recall and F1 of a label; None where there are no such documents."""
        assert self.confusion is not None, "only a classifier has them"
        right, truly = self.confusion[label][label], sum(self.confusion[label].values())
        said = sum(row[label] for row in self.confusion.values())
        return {
            "precision": right / said if said else None, "recall": right / truly if truly else None,
            "f1": 2 * right / (said + truly) if said + truly else None,
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for JSON."""
        groups = {name: {"documents": self.documents[name], **_facts(found)} for name, found in self.groups.items()}
        total = {"documents": sum(self.documents.values()), **_facts(self.total)}
        made = {"split": self.split, "by": self.by, "total": total, "groups": groups}
        if self.confusion is None:
            return made
        total |= {"accuracy": self.accuracy, "macro_f1": self.macro_f1}
        for name in groups:
            groups[name] |= self.scores(name)
        return {**made, "confusion": self.confusion}


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

    A classifier is compared with the labels in the column `by`: the result has its accuracy, macro F1 and confusion
    matrix, and its losses are in nats per document.

    Args:
        model: the folder of a run, a checkpoint, or a Hugging Face folder.
        shards: token shards that were encoded with the model's tokenizer.
        split: "train", "val" or "test".
        by: the column by whose values documents are grouped: "source", or a column of `docs`, such as "language".
        docs: the Dataset that the shards were encoded from, or its folder; not needed for "source".
        device: "auto", "cpu", "cuda" ...

    Raises:
        PlanError: the split is empty, the tokenizers of shards and model differ, or `docs` is needed, lacks the column
            or lacks documents; a document has no label, or one that the classifier does not know.
        DataprepError: a loss is not a finite number.

    >>> dp.evaluate("work/model", "work/shards", by="language", docs="work/clean").groups["fr"].bits_per_byte
    """
    from dataprep.train import GPT, TrainConfig  # names the extra if torch is not installed
    from dataprep.train.classify import evaluate_labels
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
    if config.labels:
        found, names = labelled(found, by, docs, config.labels, [split], "by"), list(config.labels)
        labels = found.split(split).labels  # type: ignore[assignment]  # it has labels now
    layout, matrix = validation_rows({"": found}, config, split)[""], None
    _, objective = for_decoder(config, found.manifest.special, found.eot, found.vocab_size)
    with model_memory_named(gpt.device, "end other programs that use it"):
        if config.labels:
            sums, matrix = evaluate_labels(gpt, layout, batch=config.rows)
        else:
            sums = evaluate_groups(
                gpt, layout, labels, batch=config.rows, token_bytes=found.token_bytes, objective=objective
            )  # fmt: skip
    check_finite(group.nats for group in sums)
    count = np.bincount(labels, minlength=len(names)).tolist()
    order = sorted(range(len(names)), key=lambda i: (-sums[i].n_targets, names[i]))
    confusion = None if matrix is None else {names[i]: dict(zip(names, matrix[i].tolist(), strict=True)) for i in order}
    return Evaluation(split, by, {names[i]: sums[i] for i in order}, {names[i]: count[i] for i in order}, confusion)


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
