"""Checkpoints: everything a run needs to resume bit for bit, in one file that appears whole or not at all.

`OUT/step-00000250.pt` holds tensors and plain values only, so `torch.load(weights_only=True)` reads it and a
file from elsewhere cannot run code.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from dataprep.errors import CorruptShard, DataprepError, PlanError, StaleOutput
from dataprep.store.atomic import whole
from dataprep.tokens.shards.shard import Shards

from .config import TrainConfig
from .model import GPT

FORMAT = 1
_UNREADABLE = (
    RuntimeError,
    pickle.UnpicklingError,
    EOFError,
    OSError,
    ValueError,
    KeyError,
    zipfile.BadZipFile,
)


def data_key(sets: Mapping[str, Shards]) -> str:
    """Return a hash of the tokens: tokenizer, and each shard's name, length, ends, content and mask."""
    of_shard = ("name", "tokens", "hash", "ends_hash", "mask_hash")
    tokens = [[name, [[s.get(fact) for fact in of_shard] for s in sets[name].manifest["shards"]]] for name in sets]
    facts = [tokenizer_key(sets), [s.vocab_size for s in sets.values()], tokens]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def tokenizer_key(sets: Mapping[str, Shards]) -> str:
    """Return the tokenizer's hash from the manifests; empty if the shards were written without a tokenizer."""
    told = next(iter(sets.values())).manifest.get("tokenizer") or {}
    return str(told.get("hash", ""))


def path_of(out: Path, step: int) -> Path:
    """Return the path of the checkpoint of a step."""
    return out / f"step-{step:08d}.pt"


def found(out: Path) -> list[Path]:
    """Return the checkpoints in a folder, oldest first."""
    return sorted(out.glob("step-????????.pt"))


def save(path: Path, content: dict[str, Any], keep: int) -> None:
    """Write a checkpoint, then remove all but the newest `keep`; a failed write changes nothing."""
    try:
        with whole(path) as f:
            torch.save({"format": FORMAT, **content}, f)
    except (OSError, RuntimeError) as e:  # torch's zip writer turns a full disk into a RuntimeError
        reason = str(e).splitlines()[0]
        msg = f"{path}: could not write checkpoint ({reason}); check disk space and permissions, and run again"
        raise DataprepError(msg) from e
    for old in found(path.parent)[:-keep]:
        old.unlink()


def load(path: Path) -> dict[str, Any]:
    """Read a checkpoint and compare its checksums. Raises CorruptShard if it is damaged or is not a checkpoint."""
    try:
        with zipfile.ZipFile(path) as f:  # torch.load does not compare checksums
            damaged = f.testzip()
        content = None if damaged else torch.load(path, map_location="cpu", weights_only=True)
    except _UNREADABLE as e:
        damaged = f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else 'unreadable'}"
    if damaged or not isinstance(content, dict) or content.get("format") != FORMAT:
        reason = f"damaged at {damaged}" if damaged else "not a checkpoint of this version"
        msg = f"{path}: {reason}; remove this file to resume from the checkpoint before it"
        raise CorruptShard(msg)
    return content


def check_same(path: Path, content: dict[str, Any], config: TrainConfig, sets: Mapping[str, Shards]) -> None:
    """Raise StaleOutput, with the differences, if the checkpoint has other tokens or another recipe."""
    differences = config.differences(TrainConfig.from_dict(content["config"]))
    if content["tokenizer"] != tokenizer_key(sets):
        differences.append("the tokenizer differs")
    elif content["data"] != data_key(sets):
        where = ", ".join(str(s.path) for s in sets.values())
        differences.append(f"the tokens in {where}, or their masks, differ")
    if differences:
        msg = (
            f"{path} is of another run ({'; '.join(differences)}); "
            "choose another output folder, or start over with resume=False"
        )
        raise StaleOutput(msg)


def rng_state() -> dict[str, Any]:
    """Return the state of torch's generators. Today the model draws nothing after its initialisation."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def set_rng_state(state: dict[str, Any]) -> None:
    """Set the state that `rng_state` returned; that of cards which this machine lacks is skipped."""
    torch.set_rng_state(state["cpu"])
    if state["cuda"] and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])


def load_model(path: str | Path, device: str = "cpu") -> tuple[GPT, dict[str, Any]]:
    """Return the model of a checkpoint, or of the newest one in a folder, and the checkpoint's other content."""
    path = Path(path)
    if path.is_dir():
        checkpoints = found(path)
        if not checkpoints:
            msg = f"{path} must hold a checkpoint (step-*.pt); train a model into it first"
            raise PlanError(msg)
        path = checkpoints[-1]
    elif not path.exists():
        msg = f"{path} does not exist; give a checkpoint or the folder of a run"
        raise PlanError(msg)
    content = load(path)
    model = GPT(TrainConfig.from_dict(content["config"]).model, content["vocab_size"])
    model.load_state_dict(content.pop("model"))
    return model.to(device).eval(), content
