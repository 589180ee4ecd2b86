"""Classify texts with a trained classifier; torch is imported in the call."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dataprep.errors import PlanError, need

if TYPE_CHECKING:
    from dataprep.train.start import Loaded


def classify(
    model: str | os.PathLike[str] | Loaded, texts: Iterable[str], *, device: str = "auto"
) -> list[dict[str, float]]:
    """Return {label: probability} for each text, the most probable label first.

    Args:
        model: the folder of a classifier's run, a checkpoint in it, or a result of `open_model`.
        texts: the texts; only the first tokens of a text are read, as many as the model's context.
        device: "auto", "cpu", "cuda" ...; for a model that is not loaded.

    Raises PlanError if the model is not a classifier, or `texts` is not a list of texts.

    >>> (found,) = classify("work/topics", ["The minister resigned."])                          # doctest: +SKIP
    >>> found["news"]                                                                           # doctest: +SKIP
    """
    need("torch", extra="train")
    from dataprep.train import TrainConfig
    from dataprep.train.classify import probabilities

    from .open_model import open_model, tokenizer_of

    is_list = isinstance(texts, Iterable) and not isinstance(texts, str)
    given = list(texts) if is_list else []
    if not is_list or not all(isinstance(text, str) for text in given):
        msg = f"texts={texts!r:.80} must be a list of texts"
        raise PlanError(msg)
    gpt, saved = model if isinstance(model, tuple) else open_model(model, device)
    labels = TrainConfig.from_dict(saved["config"]).labels
    if labels is None:
        msg = f"{saved['path']} is not a classifier; train one from it with a column of labels (--labels COLUMN)"
        raise PlanError(msg)
    tok = tokenizer_of(saved["path"], saved["tokenizer"])
    found = probabilities(gpt, [[tok.eot, *tok.encode(text)] for text in given]).tolist()
    return [dict(sorted(zip(labels, row, strict=True), key=lambda pair: -pair[1])) for row in found]
