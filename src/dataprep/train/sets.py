"""Sets of shards of a run: opened, checked against each other, and read as training and validation rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dataprep.errors import PlanError
from dataprep.tokens.shards.shard import Shards

from .checkpoint import tokenizer_key
from .config import TrainConfig
from .data import Loader
from .layouts import Layout, layout_of
from .mixture import Mixture
from .objectives import for_decoder
from .rows import Objective

Sets = Mapping[str, Shards | str | Path]


def named(folders: Sequence[str]) -> str | dict[str, str]:
    """Return one folder, or folders by name, from arguments such as NAME=FOLDER.

    >>> named(["web=work/web", "chat=work/chat"])
    {'web': 'work/web', 'chat': 'work/chat'}
    """
    by_name = {name: folder for name, equals, folder in (f.partition("=") for f in folders) if equals}
    if len(folders) > 1 and len(by_name) < len(folders):
        msg = f"several sets of shards ({' '.join(folders)}) must have different names; write NAME=FOLDER"
        raise PlanError(msg)
    return by_name or folders[0]


def open_sets(shards: Shards | str | Path | Sets) -> dict[str, Shards]:
    """Return shards by name, "" for a single folder. Raises PlanError if they cannot be mixed."""
    given = shards if isinstance(shards, Mapping) else {"": shards}
    sets = {name: s if isinstance(s, Shards) else Shards.open(s) for name, s in given.items()}
    if not sets:
        msg = "there are no shards; give a folder that dp.encode wrote, or several by name"
        raise PlanError(msg)
    first_name, first = next(iter(sets.items()))
    for name, other in sets.items():
        for what, mine, its in (
            ("a vocabulary", first.vocab_size, other.vocab_size),
            ("a separator", first.eot, other.eot),
            ("a token type", str(first.dtype), str(other.dtype)),
            ("a tokenizer", tokenizer_key({"": first}), tokenizer_key({"": other})),
        ):
            if mine != its:
                msg = (
                    f"{first_name!r} and {name!r} cannot be mixed, since {first.path} has {what} of {mine} and "
                    f"{other.path} of {its}; encode both with one tokenizer"
                )
                raise PlanError(msg)
    return sets


def training_rows(sets: Mapping[str, Shards], config: TrainConfig) -> Loader:
    """Return the training rows of a config, in the order in which `train` takes them."""
    context, objective = _objective(sets, config)
    train = {name: _layout(s.split("train"), config, context, name) for name, s in sets.items()}
    if config.objective == "span" and any(layout.masks is not None for layout in train.values()):
        msg = "objective='span' must not be used with shards that have masks; use another objective"
        raise PlanError(msg)
    return Loader(Mixture(train, config.weights, seed=config.seed), config.batch, objective)


def validation_rows(sets: Mapping[str, Shards], config: TrainConfig) -> dict[str, Layout]:
    """Return the validation splits that have a target, in shorter rows if they are smaller than one row."""
    context, _ = _objective(sets, config)
    fixed = context if config.objective == "span" else 1  # its blocks have one size
    sides = {name: s.split("val") for name, s in sets.items()}
    return {
        name: _layout(val, config, min(context, val.n_tokens - 1), name)
        for name, val in sides.items()
        if val.n_tokens > fixed
    }


def _objective(sets: Mapping[str, Shards], config: TrainConfig) -> tuple[int, Objective | None]:
    first = next(iter(sets.values()))
    return for_decoder(config, first.manifest["special"], first.eot)


def _layout(shards: Shards, config: TrainConfig, context: int, name: str) -> Layout:
    return layout_of(shards, config.layout, context, told_apart=config.mask_documents, name=name)
