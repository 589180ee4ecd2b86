"""Text generation: one token after the other, with a cache of keys and values."""


# ruff: noqa: N803 - the shape letters are capitals
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from dataprep.errors import PlanError, need

from .checkpoint import load_model
from .model import GPT, Cache


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Rule to draw an id from scores: `temperature` 0 takes the best id; `top_k` keeps the k best ids.

    `top_p` keeps the fewest best ids whose probabilities reach p (nucleus sampling, Holtzman et al. 2019).
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.temperature < 0:
            msg = f"temperature={self.temperature} must be 0 or more"
        elif self.top_k is not None and self.top_k < 1:
            msg = f"top_k={self.top_k} must be 1 or more"
        elif not 0 < self.top_p <= 1:
            msg = f"top_p={self.top_p} must be above 0 and at most 1"
        else:
            return
        raise PlanError(msg)

    def pick(self, logits_V: Tensor, generator: torch.Generator) -> int:
        """Return one id drawn from the scores (V)."""
        if self.temperature == 0:
            return int(logits_V.argmax())
        scores, ids = (logits_V / self.temperature).sort(descending=True, stable=True)
        probability = scores[: self.top_k].softmax(-1)
        before = probability.cumsum(-1) - probability
        probability[before >= self.top_p] = 0
        probability[0] = probability[0].clamp(min=1e-9)  # the best id is kept in spite of rounding
        return int(ids[torch.multinomial(probability, 1, generator=generator)])


def generate(
    model: GPT,
    prompt: Sequence[int],
    how: Sampling | None = None,
    *,
    max_tokens: int = 200,
    stop: Iterable[int] = (),
) -> Iterator[int]:
    """Yield ids that follow the prompt; end before an id in `stop` or after `max_tokens`.

    When the model's context is full, the older half is dropped. The same seed returns the same ids.
    """
    ids, how, stop = list(prompt), how or Sampling(), frozenset(stop)
    if not ids or min(ids) < 0 or max(ids) >= model.vocab_size:
        msg = f"the prompt {ids[:8]} must have one id or more, all from 0 to {model.vocab_size - 1:,}"
        raise PlanError(msg)
    return _generate(model, ids, how, max_tokens, stop)


def _generate(model: GPT, ids: list[int], how: Sampling, max_tokens: int, stop: frozenset[int]) -> Iterator[int]:
    device, context = model.rope.device, model.config.context
    generator = torch.Generator(device).manual_seed(how.seed)
    cache = Cache(model.config, 1, device, model.compute_dtype)
    new = ids[-context:]
    for _ in range(max_tokens):
        if cache.length + len(new) > context:
            cache.length, new = 0, ids[-max(1, context // 2) :]
        token = how.pick(next_logits(model, torch.tensor([new], device=device), cache)[0], generator)
        if token in stop:
            return
        ids.append(token)
        new = [token]
        yield token


@torch.no_grad()
def next_logits(model: GPT, ids_BT: Tensor, cache: Cache) -> Tensor:
    """Return scores (B, V) of the id after `ids_BT`, which follow those in the cache."""
    return model.logits(model.hidden(ids_BT, cache)[:, -1])


def sample_text(
    path: str | Path,
    prompt: str = "",
    *,
    max_tokens: int = 200,
    temperature: float = 0.8,
    top_k: int | None = 50,
    top_p: float = 1.0,
    seed: int = 0,
    device: str = "cpu",
    tokenizer: tuple[Callable[[str], list[int]], Callable[[list[int]], str]] | None = None,
) -> str:
    """Return the text that a trained model writes after the prompt.

    `path` is a checkpoint or a run's folder with its tokenizer.json; or pass `tokenizer=(encode, decode)`. Without a
    prompt the text starts after a separator, like a document.
    """
    model, saved = load_model(path, device)
    encode, decode = tokenizer or _tokenizer(Path(path))
    ids = [saved["eot"], *encode(prompt)]
    how = Sampling(temperature=temperature, top_k=top_k, top_p=top_p, seed=seed)
    return decode(list(generate(model, ids, how, max_tokens=max_tokens, stop=[saved["eot"]])))


def _tokenizer(path: Path) -> tuple[Callable[[str], list[int]], Callable[[list[int]], str]]:
    file = (path if path.is_dir() else path.parent) / "tokenizer.json"
    if not file.exists():
        msg = f"{file} does not exist; copy the tokenizer there, or pass tokenizer=(encode, decode)"
        raise PlanError(msg)
    made = need("tokenizers", extra="train").Tokenizer.from_file(str(file))
    return lambda text: list(made.encode(text, add_special_tokens=False).ids), made.decode
