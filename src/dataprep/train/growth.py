"""Growth of a vocabulary: check that a tokenizer only adds special tokens, and initialise their embeddings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from dataprep.errors import PlanError
from dataprep.store import ranges

from .model.gpt import GPT

RESERVED = "<|reserved_"  # special tokens of this name may be renamed


def difference(new: Path | str, old: Path, n_ids: int) -> str:
    """Return "" if the tokenizer.json `new` has the ids of `old` and only adds special tokens; else the difference.

    The text is a clause that states one difference that is not allowed. A special token of `old` whose name begins with
    "<|reserved_" may have another name in `new`.

    - n_ids: number of ids of the model trained with `old`; the ids of added tokens must follow these.
    """
    before, now = (_parts(path) for path in (old, new))
    for part in ("words", "merges", "rules"):
        if before[part] != now[part]:
            return f"its tokenizer has other {part}"
    names = {i: name for name, i in now["special"].items()}
    for name, i in before["special"].items():
        if names.get(i) != name and not (name.startswith(RESERVED) and i in names):
            return f"its tokenizer has {names.get(i, 'no special token')} at the id {i} of {name}"
    early = sorted(i for i in names.keys() - before["special"].values() if i < n_ids)
    return f"its tokenizer has the new {names[early[0]]} at the id {early[0]}, below {n_ids}" if early else ""


def _parts(path: Path | str) -> dict[str, Any]:
    """Return the parts of a tokenizer.json that determine ids: ordinary tokens, merges, other rules, special tokens."""
    try:
        value = json.loads(ranges.read(path))
        model = dict(value["model"])
        special = {token["content"]: token["id"] for token in value["added_tokens"]}
        words = {token: i for token, i in model.pop("vocab").items() if token not in special}
        merges = [m.split(" ") if isinstance(m, str) else m for m in model.pop("merges", [])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        msg = f"{path} must be the tokenizer.json of a vocabulary ({e!r}); copy it there again"
        raise PlanError(msg) from e
    rules = [value.get(part) for part in ("normalizer", "pre_tokenizer", "decoder")]
    return {"words": words, "merges": merges, "rules": [model, *rules], "special": special}


@torch.no_grad()
def copy_grown(earlier: GPT, model: GPT, *, head: bool = True) -> None:
    """Copy the weights of `earlier` to `model`, whose vocabulary may be larger; new ids get the mean embedding.

    Rows that only fill up the vocabulary keep the values that `model` has.

    - head: whether to copy the head, if there is one.
    """
    state, n = model.state_dict(), earlier.vocab_size
    for name, weight in earlier.state_dict().items():
        if name == "head.weight" and not head:
            continue
        if name in {"embedding.weight", "head.weight"} and n < model.vocab_size:
            state[name][:n] = weight[:n]
            state[name][n : model.vocab_size] = weight[:n].mean(0)
        else:
            state[name].copy_(weight)
