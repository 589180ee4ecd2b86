"""Read and write LoRA adapters in PEFT's files: adapter_config.json and adapter_model.safetensors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dataprep.core.output import kinds
from dataprep.core.output.layout import folder_url
from dataprep.errors import PlanError, ReadError
from dataprep.store import beside, lease
from dataprep.train import GPT, TrainConfig, load_model
from dataprep.train.config import EMBEDDING
from dataprep.train.lora import changes, projections
from dataprep.train.model.nf4 import NF4
from dataprep.train.start import hash_of

from . import llama
from .architectures import architecture_of
from .llama import name_of
from .model_files import new_folder, read_json, read_tensors, write_json, write_tensors

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
BASE = "dataprep.base"
"""Key in the metadata of the safetensors: the hash of the weights of the base (`dataprep.train.start.hash_of`)."""
ROUNDED = "dataprep.lora_base"
"""Key in the metadata of an adapter of a QLoRA run, whose base was rounded: `lora_base`, which is "nf4"."""
# Settings of PEFT that would make another computation, and their values here.
PLAIN: dict[str, Any] = {
    "peft_type": "LORA", "bias": "none", "use_dora": False, "use_rslora": False, "fan_in_fan_out": False,
    "modules_to_save": None, "rank_pattern": {}, "alpha_pattern": {},
}  # fmt: skip


@lease.writes
def export_adapter(
    model: str | os.PathLike[str], out: str | os.PathLike[str], *, base: str | os.PathLike[str] = ""
) -> str:
    """Write the low-rank updates of a LoRA run, without the base, to the folder `out` in PEFT's files; return `out`.

    - model: the folder of the run, or a checkpoint.
    - base: name or path of the base model in Hugging Face's format, which PEFT loads; "": no name is written.

    Raises PlanError if the run did not use LoRA, or also trained its embedding.

    >>> export_adapter("out/tuned", "out/adapter", base="out/base-hf")
    """
    loaded, saved = load_model(Path(model), merge=False)
    config = TrainConfig.from_dict(saved["config"])
    if config.lora is None:
        msg = f"{model} is not a run with lora=RANK, so it has no adapter; export the complete model"
        raise PlanError(msg)
    if config.labels:
        msg = f"{model} is a classifier, whose head an adapter does not contain; it cannot be exported"
        raise PlanError(msg)
    if EMBEDDING in config.lora_targets:
        msg = f"{model} also trained its embedding, which an adapter does not contain; export the complete model"
        raise PlanError(msg)
    if architecture_of(config.model, model).weights is not llama.weights:
        msg = f"{model} has GPT-2's parameter names, for which no adapter can be written; export the model itself"
        raise PlanError(msg)
    tensors = {}
    for n, layer, projection, change in changes(loaded):
        for letter, weight in (("A", change.a), ("B", change.b)):
            tensors[_name(n, layer, projection, letter)] = weight
    described = {
        "task_type": "CAUSAL_LM", "base_model_name_or_path": os.fspath(base), "inference_mode": True, "r": config.lora,
        "lora_alpha": config.lora_scale * config.lora, "lora_dropout": config.lora_dropout,
        "target_modules": sorted(config.lora_targets),
    }  # fmt: skip
    with new_folder(out, kinds.ADAPTER, CONFIG) as folder:
        rounded = {ROUNDED: config.lora_base} if config.lora_base == "nf4" else {}
        write_tensors(folder / WEIGHTS, tensors, {BASE: saved["start"], **rounded})
        write_json(folder / CONFIG, PLAIN | described)
    return folder_url(out)


def _name(block: int, layer: str, projection: str, letter: str) -> str:
    return f"base_model.model.{name_of(block, layer, projection)}.lora_{letter}.weight"


@torch.no_grad()
def add_adapter(model: GPT, folder: str | os.PathLike[str]) -> None:
    """Add a LoRA adapter in PEFT's files to the weights of `model`, its base.

    If it is the adapter of a QLoRA run, all matrices of the blocks are rounded to NF4 first, as in that run.

    Raises PlanError if the adapter was trained on another base, or has settings that are not supported; ReadError if a
    file is missing or damaged.
    """
    config, (tensors, facts) = beside.steady(folder, partial(_files, Path(folder)))
    unlike = [f"{name}={config[name]!r}" for name, ours in PLAIN.items() if config.get(name, ours) not in (ours, None)]
    if unlike:
        msg = f"{folder} has {', '.join(unlike)}; it must be a plain LoRA adapter (peft_type LORA)"
        raise PlanError(msg)
    if facts.get(BASE) not in (None, hash_of(model)):
        msg = (
            f"{folder} is an adapter for a different base model; pass the model that its run started from (--init-from)"
        )
        raise PlanError(msg)
    try:
        scale = float(config["lora_alpha"]) / int(config["r"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as e:
        msg = f"lacks lora_alpha or r, or has a wrong one ({e!r}); copy the adapter again"
        raise ReadError(msg, str(Path(folder) / CONFIG)) from e
    parts = _parts(model, tensors, os.fspath(folder))
    if facts.get(ROUNDED) == "nf4":
        for n, block in enumerate(model.blocks):
            for layer in projections(model.config.layer(n)):
                weight = block.get_parameter(f"{layer}.weight")
                weight.copy_(NF4(weight).decoded())
    for part, a, b in parts:
        part.add_(b @ a, alpha=scale)


def _files(folder: Path) -> tuple[dict[str, Any], tuple[dict[str, Tensor], dict[str, str]]]:
    return read_json(folder / CONFIG), read_tensors(folder / WEIGHTS)


def _parts(model: GPT, tensors: Mapping[str, Tensor], where: str) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Return (rows of a weight, a, b) for each change of an adapter."""
    found, left = [], set(tensors)
    for n, block in enumerate(model.blocks):
        for layer, rows in projections(model.config.layer(n)).items():
            weight = block.get_parameter(f"{layer}.weight")
            for projection, these in rows.items():
                names = [_name(n, layer, projection, letter) for letter in "AB"]
                if left.isdisjoint(names):
                    continue
                left -= set(names)
                a, b = (tensors.get(name, torch.empty(0, 0)).to(weight) for name in names)
                part = weight[these]
                if (len(b), len(a), a.shape[1]) != (part.shape[0], b.shape[1], part.shape[1]):
                    msg = f"{where} has updates whose shapes do not fit {projection}; pass the adapter's base model"
                    raise PlanError(msg)
                found.append((part, a, b))
    if left:
        msg = f"{where} changes {min(left)}, which this model does not have; pass the adapter's base model"
        raise PlanError(msg)
    return found
