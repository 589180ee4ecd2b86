"""Generate text token by token, with a cache of keys and values, for one prompt or several."""

# ruff: noqa: N806 - the shape letters are capitals
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index
from pathlib import Path

import torch
from torch import Tensor

from dataprep.errors import PlanError, need

from .checkpoint import load_model
from .device import model_memory_named
from .model.cache import Cache
from .model.gpt import GPT
from .sampling import Sampling
from .shape import is_a

CLASSIFIER = "this model is a classifier, so it cannot generate text; use dp.tools.classify, or `evaluate --text`"
AHEAD = 8
"""Ids per row that are drawn on a GPU before they are read: reading waits until the GPU has done all of its work."""


def generate(
    model: GPT,
    prompt: Sequence[int],
    how: Sampling | None = None,
    *,
    max_tokens: int = 200,
    stop: Iterable[int] = (),
) -> Iterator[int]:
    """Yield the token ids that a model generates after a prompt; end before an id in `stop` or after `max_tokens` ids.

    If the model was trained with prefixes, all tokens of the prompt attend to each other. When the model's context is
    full, the older half is dropped. The same seed returns the same ids. On a GPU, ids come in groups of up to `AHEAD`.

    - how: the rule to draw an id; None: `Sampling()`.

    Raises PlanError if max_tokens is below 1.
    """
    check_max_tokens(max_tokens)
    steps = _generate(model, [_checked(model, prompt)], how or Sampling(), max_tokens, frozenset(stop))
    return (token for _, token in steps)


def generate_batch(
    model: GPT,
    prompts: Iterable[Sequence[int]],
    how: Sampling | None = None,
    *,
    max_tokens: int = 200,
    stop: Iterable[int] = (),
) -> list[list[int]]:
    """Return the token ids that a model generates after each prompt, all prompts at once.

    The parameters are those of `generate`. Prompt i draws with the seed `how.seed` + i: its ids are those of
    `generate` with that seed, apart from rounding.
    """
    check_max_tokens(max_tokens)
    rows = [_checked(model, prompt) for prompt in prompts]
    found: list[list[int]] = [[] for _ in rows]
    for row, token in _generate(model, rows, how or Sampling(), max_tokens, frozenset(stop)):
        found[row].append(token)
    return found


def check_max_tokens(max_tokens: int) -> None:
    """Raise PlanError unless the number of tokens to generate is a whole number, 1 or more."""
    if not is_a(max_tokens, int) or max_tokens < 1:
        msg = f"max_tokens={max_tokens!r} must be a whole number, 1 or more"
        raise PlanError(msg)


def _checked(model: GPT, prompt: Sequence[int]) -> list[int]:
    if model.n_labels:
        raise PlanError(CLASSIFIER)
    if model.rule.fills:
        msg = "this model was trained with objective='mlm' to fill in masked tokens, so it cannot generate text"
        raise PlanError(msg)
    try:
        ids = [index(token) for token in prompt]
    except TypeError as e:
        msg = f"the prompt {prompt!r:.80} must be a list of token ids, which are whole numbers"
        raise PlanError(msg) from e
    if not ids or min(ids) < 0 or max(ids) >= model.vocab_size:
        msg = f"the prompt {ids[:8]} must have at least one id, and all ids must be from 0 to {model.vocab_size - 1:,}"
        raise PlanError(msg)
    return ids


def _generate(
    model: GPT, texts: list[list[int]], how: Sampling, max_tokens: int, stop: frozenset[int]
) -> Iterator[tuple[int, int]]:
    """Yield each (row, id) when it is drawn, and append the id to the row's list in `texts`."""
    context, rule = model.config.context, model.rule
    generators = [torch.Generator(model.device).manual_seed(how.seed + row) for row in range(len(texts))]
    with model_memory_named(model.device, _remedy(len(texts))):
        cache = model.cache(len(texts))
    new = {row: rule.visible(ids)[-context:] for row, ids in enumerate(texts)}
    left = max_tokens
    while left > 0:
        for row, ids in new.items():
            if cache.lengths[row] + len(ids) > context:
                cache.clear(row)
                new[row] = rule.visible(texts[row][-max(1, context // 2) :])
        with model_memory_named(model.device, _remedy(len(texts))):
            logits = next_logits(model, new, cache)
            if not (rows := list(new)):
                return
            drawn = how.draw([logits[r] for r in rows], [generators[r] for r in rows], [texts[r] for r in rows])
            ahead = min(left, n_ahead(model, how), context - max(cache.lengths[row] for row in rows) + 1)
            every = _drawn_ahead(model, rows, cache, how, [generators[r] for r in rows], drawn, ahead)
            read = how.read(every)
        left -= len(read)
        for ids in read:
            for row, token in zip(rows, ids, strict=True):
                if row not in new:
                    continue
                if token in stop:
                    del new[row]
                    continue
                texts[row].append(token)
                new[row] = [token]
                if token == rule.begins:
                    cache.clear(row)
                yield row, token


def n_ahead(model: GPT, how: Sampling) -> int:
    """Return the number of ids to draw per row before they are read from the device: `AHEAD`, or 1.

    On the CPU there is no device to wait for, so each id is returned at once. Ids are also returned one at a time if
    the next scores depend on them in other ways than as inputs: through the repetition penalty, or because a separator
    begins a new document.
    """
    may = model.device.type != "cpu" and how.repetition_penalty == 1 and model.rule.begins is None
    return AHEAD if may else 1


@torch.no_grad()
def _drawn_ahead(
    model: GPT, rows: list[int], cache: Cache, how: Sampling, generators: list[torch.Generator], drawn: Tensor, n: int
) -> Tensor:  # fmt: skip
    """Return the ids `drawn`, int64 (rows), and the ids of the following steps, n steps in all, int64 (n, rows).

    Nothing is read from the device: an id after the end of a text is discarded, and its slot in the cache is
    overwritten.
    """
    every = [drawn]
    while len(every) < n:
        slots = cache.take(rows, [1] * len(rows))
        logits_BV = model.logits(model.hidden(every[-1].clamp(min=0)[:, None], slots=slots)[:, 0])
        every.append(how.draw(list(logits_BV), generators, [[]] * len(rows)))
    return torch.stack(every)


def _remedy(n_prompts: int) -> str:
    fewer = f"pass fewer prompts at once (now {n_prompts}), shorten them" if n_prompts > 1 else "shorten the prompt"
    return f"{fewer}, or end other programs"


@torch.no_grad()
def next_logits(model: GPT, new: dict[int, list[int]], cache: Cache) -> dict[int, Tensor]:
    """Return the scores of the next token id as {row of the cache: float (vocabulary)}, for the rows in `new`.

    - new: {row: its ids that are not in the cache yet, one or more}; they are added to the cache.
    """
    found: dict[int, Tensor] = {}
    for rows in ([r for r in new if not cache.lengths[r]], [r for r in new if cache.lengths[r]]):
        if rows:
            counts = [len(new[row]) for row in rows]
            ids = [new[row] + [0] * (max(counts) - len(new[row])) for row in rows]
            slots = cache.take(rows, counts, prefix=model.rule.prefix and not cache.lengths[rows[0]])
            x_BTD = model.hidden(torch.tensor(ids, device=model.device), slots=slots)
            last = torch.tensor(counts, device=model.device) - 1
            logits_BV = model.logits(x_BTD[torch.arange(len(rows), device=model.device), last])
            found |= dict(zip(rows, logits_BV, strict=True))
    return found


def sample_text(
    path: str | Path,
    prompt: str = "",
    *,
    max_tokens: int = 200,
    temperature: float = 0.8,
    top_k: int | None = 50,
    top_p: float = 1.0,
    min_p: float = 0.0,
    repetition_penalty: float = 1.0,
    seed: int = 0,
    device: str = "cpu",
    tokenizer: tuple[Callable[[str], list[int]], Callable[[list[int]], str]] | None = None,
) -> str:
    """Return the text that a trained model generates after the prompt, up to the end of the document or of the turn.

    `path` is a checkpoint or a run's folder with its tokenizer.json; or pass `tokenizer=(encode, decode)`. temperature
    to repetition_penalty: as in `Sampling`. Without a prompt the text starts after a separator, like a document.
    """
    how = Sampling(
        temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, repetition_penalty=repetition_penalty, seed=seed
    )
    if not isinstance(prompt, str):
        msg = f"prompt={prompt!r:.80} must be a text"
        raise PlanError(msg)
    model, saved = load_model(path, device)
    encode, decode = tokenizer or _tokenizer(Path(path))
    ids = [saved["eot"], *encode(prompt)]
    return decode(list(generate(model, ids, how, max_tokens=max_tokens, stop=saved.get("stop", [saved["eot"]]))))


def _tokenizer(path: Path) -> tuple[Callable[[str], list[int]], Callable[[list[int]], str]]:
    file = (path if path.is_dir() else path.parent) / "tokenizer.json"
    if not file.exists():
        msg = f"{file} does not exist; copy the tokenizer there, or pass tokenizer=(encode, decode)"
        raise PlanError(msg)
    made = need("tokenizers", extra="train").Tokenizer.from_file(str(file))
    return lambda text: list(made.encode(text, add_special_tokens=False).ids), made.decode
