"""Start a run from a model that was trained before: with its weights, other data and another schedule."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from dataprep.errors import PlanError, StaleOutput
from dataprep.store import beside
from dataprep.tokens.shards.shard import Shards

from . import checkpoint
from .config import EMBEDDING, TrainConfig
from .device import pick_device
from .growth import copy_grown, difference
from .lora import check as check_lora
from .model.gpt import GPT
from .preference import settings_for
from .presets import preset
from .ranks import launched
from .shape import ModelConfig, check_path

Loaded = tuple[GPT, dict[str, Any]]
"""A model and the other content of its checkpoint, as `load_model` returns them."""


def starting_config(config: TrainConfig | str | None, init_from: str | Path | Loaded | None = None) -> TrainConfig:
    """Return the config to train with: the given TrainConfig, the named preset, or, for None, the preset "tiny".

    Args:
        config: a TrainConfig, the name of a preset, or None.
        init_from: a checkpoint, the folder of a run, or a loaded model (a result of `load_model`), which is trained
            further. A preset then gets the shape of that model, and None means that model's own config, set to one pass
            over the new data.
    """
    if isinstance(config, TrainConfig):
        return config
    if not isinstance(init_from, tuple):
        check_path("init_from", init_from, optional=True)
    if init_from is None:
        return preset("tiny" if config is None else config)
    saved = init_from[1] if isinstance(init_from, tuple) else checkpoint.load_newest(init_from)
    earlier = TrainConfig.from_dict(saved["config"])
    if config is None:
        return replace(earlier, steps=None, weights=None, masks=True, dpo=None, device="auto", micro_batch=None)
    return replace(preset(config), model=earlier.model)


def settled(config: TrainConfig, lora: int | None, dpo: float | None) -> TrainConfig:
    """Return the config with the arguments `lora` and `dpo` of `train`; None leaves the config unchanged.

    Raises PlanError, before any work, if the settings do not fit each other, the model or this machine.
    """
    config = config if lora is None else replace(config, lora=lora)
    config = config if dpo is None else settings_for(config, dpo)
    check_lora(config)
    pick_device(config.device)
    if config.batch % (ranks := launched().ranks):
        msg = f"batch={config.batch} must be a multiple of the number of ranks, {ranks}; change one of them"
        raise PlanError(msg)
    if config.dpo and config.batch // ranks % 2:
        msg = f"batch={config.batch} must have an even number of rows for each of {ranks} processes; change it"
        raise PlanError(msg)
    return config


def take_weights(
    model: GPT, init_from: str | Path | Loaded, sets: Mapping[str, Shards], config: TrainConfig
) -> tuple[str, str]:  # fmt: skip
    """Copy the weights of `init_from`, a checkpoint, a folder of checkpoints or a loaded model, into `model`.

    Args:
        model: the model to train.
        init_from: the earlier model.
        sets: the shards to train on. Their tokenizer may be that of the earlier model with more special tokens; the
            embedding of each new token begins with the mean of all embeddings.
        config: the config of the run. The head of a classifier is new, unless the earlier model has the same labels.

    Returns the hash of the weights, and the hash of the earlier model's data (`checkpoint.root_of`); if that is
    unknown, both are the hash of the weights. Raises PlanError if the earlier model has another shape than `model`, if
    the shards have another tokenizer, vocabulary or separator, or if there are new tokens and `config` asks for LoRA
    without training the embedding.
    """
    earlier, saved = init_from if isinstance(init_from, tuple) else checkpoint.load_model(init_from)
    where = saved.get("path", "init_from") if isinstance(init_from, tuple) else init_from
    _check_tokenizer(where, saved, sets)
    check_shape(where, earlier.config, model.config)
    labels = TrainConfig.from_dict(saved["config"]).labels
    if labels and not config.labels:
        msg = f"the model in {where} is a classifier, which cannot predict tokens; name the model that it was made from"
        raise PlanError(msg)
    grown = model.vocab_size - earlier.vocab_size
    if grown and config.lora and EMBEDDING not in config.lora_targets:
        targets = ",".join((*config.lora_targets, EMBEDDING))
        msg = f"the vocabulary grows by {grown}, and lora would not learn the new tokens; set lora_targets={targets}"
        raise PlanError(msg)
    copy_grown(earlier, model, head=labels == config.labels)
    weights = hash_of(model)
    return weights, saved.get("root", weights)


def _check_tokenizer(where: Any, saved: Mapping[str, Any], sets: Mapping[str, Shards]) -> None:
    """Raise PlanError unless the shards have the ids of the model in `where`; special tokens may be added."""
    shards, found = next(iter(sets.values())), []
    if saved["eot"] != shards.eot:
        found.append(f"its separator is {shards.eot} and must be {saved['eot']}")
    mine, its = checkpoint.tokenizer_key(sets), saved["tokenizer"]
    home, n_ids = Path(where) if Path(where).is_dir() else Path(where).parent, saved["vocab_size"]
    old, new = Path(beside.at(str(home / "tokenizer.json"))), shards.tokenizer_file
    may_grow = mine and its and old.exists() and shards.tokenizer_data is not None
    if shards.vocab_size < n_ids or (shards.vocab_size > n_ids and not may_grow):
        found.append(f"its vocabulary has {shards.vocab_size:,} ids and must have {n_ids:,}")
    if mine and its and mine != its:
        found.append(difference(new, old, n_ids) if may_grow else f"its tokenizer is {mine[:8]} and must be {its[:8]}")
    if any(found):
        msg = (
            f"{shards.path} was not encoded for the model in {where}: {'; '.join(filter(None, found))}; encode the "
            "texts with the tokenizer.json of that model, or with one that adds special tokens to it "
            "(`dataprep extend-tokenizer`)"
        )
        raise PlanError(msg)


def check_shape(where: object, earlier: ModelConfig, config: ModelConfig) -> None:
    """Raise PlanError if a config has another shape than the earlier model in `where`, whose weights it takes."""
    before, now = ({**asdict(c), "d_ff": _widths(c), "n_kv_heads": c.kv_heads} for c in (earlier, config))
    free = _weightless(config)
    differences = [f"model.{n} was {before[n]}, is {now[n]}" for n in now if n not in free and before[n] != now[n]]
    if differences:
        msg = (
            f"the model in {where} has another shape ({'; '.join(differences)}); leave these "
            "settings (--set) out, which keeps its shape, or in Python take it with starting_config(preset, init_from)"
        )
        raise PlanError(msg)


def _widths(config: ModelConfig) -> int | list[int]:
    """Return the width of the feed-forward layers, or that of each layer if they differ."""
    every = [config.layer(i).ff_width for i in range(config.n_layers)]
    return every if len(set(every)) > 1 else every[0]


def _weightless(config: ModelConfig) -> set[str]:
    """Return the settings that no weight depends on."""
    every = [layer.position for layer, _ in config.kinds()]
    free = {name for position in every for name in position.by} | {
        "reach",
        "dropout",
        "attention_dropout",
        "balance",
        "router_z",
    }
    return free if any(position.by_context for position in every) else free | {"context"}


def hash_of(model: GPT) -> str:
    """Return the hash (sha256, hex) of a model's weights; the rows that pad its vocabulary are left out."""
    digest, padded = hashlib.sha256(), {"embedding.weight", "head.weight"}
    for name, tensor in model.state_dict().items():
        used = tensor[: model.vocab_size] if name in padded else tensor
        digest.update(name.encode() + used.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def check_same_start(path: Path, content: Mapping[str, Any], start: str) -> None:
    """Raise StaleOutput if the run of a checkpoint began with other weights than this run.

    Args:
        path: the checkpoint's path, for the message.
        content: the checkpoint's content.
        start: the hash of the weights with which this run began (from `take_weights`); "" allows any weights.
    """
    if start and content.get("start", "") != start:
        msg = (
            f"{path} belongs to a run that started from other weights; choose another output folder, or start over "
            "(--start-over, or resume=False)"
        )
        raise StaleOutput(msg)
