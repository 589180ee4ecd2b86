"""Generate text with a trained model, from Python; torch is imported in the call."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dataprep.errors import PlanError

if TYPE_CHECKING:
    from .chat_model import ChatModel


def generate(
    model: ChatModel | str | os.PathLike[str],
    prompt: str = "",
    *,
    max_tokens: int = 200,
    temperature: float = 0.8,
    top_k: int | None = 50,
    top_p: float = 1.0,
    min_p: float = 0.0,
    repetition_penalty: float = 1.0,
    seed: int = 0,
    device: str = "auto",
) -> str:
    """Return a trained model's continuation of a prompt, up to the end of the document or of the turn.

    Args:
        model: the folder of a run, a checkpoint, or a Hugging Face folder; or a loaded `ChatModel`.
        prompt: the beginning of a document, which the result does not repeat.
        max_tokens: the maximum number of tokens in the result.
        temperature: 0 always takes the most probable token; 1 samples from the model's own probabilities.
        top_k: sample only from the k most probable tokens; None: from all.
        top_p: sample only from the smallest set of tokens whose probabilities sum to at least p.
        min_p: sample only from tokens at least p times as probable as the most probable one.
        repetition_penalty: from 0.01 to 100; above 1, tokens that occurred before become less probable.
        seed: the same seed produces the same text.
        device: "auto", "cpu", "cuda" ...

    Raises:
        PlanError: torch is not installed, there is no model or tokenizer, or a parameter is out of range.
        StaleOutput: the tokenizer is not the model's.

    >>> dp.generate("work/model", "The harbour was", temperature=0.7)                             # doctest: +SKIP
    """
    from dataprep.train import Sampling  # names the extra if torch is not installed
    from dataprep.train import generate as generate_ids
    from dataprep.train.shape import check_path

    from .chat_model import ChatModel

    how = Sampling(
        temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, repetition_penalty=repetition_penalty, seed=seed
    )
    if not isinstance(prompt, str):
        msg = f"prompt={prompt!r:.80} must be a text"
        raise PlanError(msg)
    if not isinstance(model, ChatModel):
        check_path("model", model)
    loaded = model if isinstance(model, ChatModel) else ChatModel.load(model, device=device)
    ids = [loaded.tok.eot, *loaded.tok.encode(prompt)]
    return loaded.tok.decode(list(generate_ids(loaded.model, ids, how, max_tokens=max_tokens, stop=loaded.stop)))
