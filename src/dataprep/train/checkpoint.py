"""Checkpoints: all that a training run needs to resume bit for bit, in one file that appears complete or not at all.

`OUT/step-00000250.pt` contains tensors and plain values only. `torch.load(weights_only=True)` can therefore read it,
and a checkpoint from an unknown source cannot run code.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import pickle
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO, TypeVar, cast

import torch

from dataprep.errors import CorruptShard, DataprepError, NewerFormat, PlanError, StaleOutput
from dataprep.store import beside, newer
from dataprep.store.atomic import full_disk_said, journal_of, journaled, regular, whole
from dataprep.tokens.shards.shard import Shards

from . import lora
from .config import TrainConfig
from .device import model_memory_named, pick_device
from .model.gpt import GPT
from .model.rules import Rule
from .schedule import FIELDS as SCHEDULE
from .schedule import flat_until, same_past
from .shape import ModelConfig, check_path, is_a
from .size import check_size

log = logging.getLogger(__name__)
_T = TypeVar("_T")
FORMAT = 1
NAMES = "step-????????.pt"
MOST = 10**8
"""Steps are below this number, since names have eight digits."""
_PLAIN: dict[str, tuple[type, ...]] = {
    "step": (int,), "loss": (float,), "val_loss": (float, NoneType), "bits_per_byte": (float, NoneType),
    "vocab_size": (int,), "eot": (int,), "stop": (list,), "chat": (dict, NoneType), "trained_on": (dict,),
    "data": (str,), "tokenizer": (str,), "start": (str,), "before": (str,), "root": (str,),
    "model": (dict,), "optimizer": (dict,), "guard": (dict,), "spikes": (dict,),
}  # fmt: skip
"""The fields of a checkpoint besides its format and config, with their types."""
_UNREADABLE = (RuntimeError, pickle.UnpicklingError, EOFError, OSError, ValueError, KeyError, zipfile.BadZipFile)


class Lowered(StaleOutput):
    """A checkpoint of the same run, written during the decay of the learning rate towards a different last step."""


def data_key(sets: Mapping[str, Shards]) -> str:
    """Return a hash of the training data: tokenizer, vocabulary, name, tokens, ends and mask of each shard, and labels.

    Args:
        sets: {name: token shards}.
    """
    tokens = [
        [name, [[s.first_name, s.tokens, s.hash, s.ends_hash, s.mask_hash] for s in shards.manifest.shards]]
        for name, shards in sets.items()
    ]
    labels = [hashlib.sha256(s.labels.tobytes()).hexdigest() for s in sets.values() if s.labels is not None]
    facts = [tokenizer_key(sets), [s.vocab_size for s in sets.values()], tokens, *labels]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def root_of(sets: Mapping[str, Shards], before: str) -> str:
    """Return one hash (SHA-256, in hex) of all training data of a model: `Shards.root` of all sets, and `before`.

    Args:
        sets: {name: token shards}.
        before: this hash of the model that training starts from; "" for random weights.

    A model with random weights and one set has the root of the set's shards.
    """
    roots = [*([before] if before else []), *(shards.root for shards in sets.values())]
    return roots[0] if len(roots) == 1 else hashlib.sha256("\n".join(roots).encode()).hexdigest()


def tokenizer_key(sets: Mapping[str, Shards]) -> str:
    """Return the tokenizer's hash, as the manifests of the shards state it; "" if they state no tokenizer."""
    return next(iter(sets.values())).tokenizer_hash or ""


def path_of(out: Path, step: int) -> Path:
    """Return the path of the checkpoint of step number `step` in the folder `out`."""
    return out / f"step-{step:08d}.pt"


def found(out: Path) -> list[Path]:
    """Return the paths of the checkpoints in the folder `out`, the earliest step first."""
    if (ready := beside.ready(out)) is None:
        return sorted(out.glob(NAMES))
    names = sorted(name for name in ready.files if Path(name).match(NAMES))
    return [Path(beside.at(str(out / name))) for name in names]


def _written(out: Path) -> list[Path]:
    """Return the checkpoints in `out` that dataprep wrote, by the journal of the folder; all if there is none."""
    journal, paths = journal_of(str(out)), found(out)
    ours = None if journal is None else journaled(journal)
    return [path for path in paths if ours is None or os.path.abspath(path) in ours]


class _Heard:
    """A file for torch that records errors of writing in a list, because torch hides them."""

    def __init__(self, file: BinaryIO, errors: list[OSError]) -> None:
        self.file, self.errors = file, errors

    def write(self, data: bytes) -> int:
        """Write all bytes."""
        try:
            return self.file.write(data)
        except OSError as e:
            self.errors.append(e)
            raise

    def flush(self) -> None:
        """Flush the file."""
        self.file.flush()


def save(path: Path, content: dict[str, Any], keep: int, besides: Path | None = None) -> None:
    """Write `content` as the checkpoint `path`; delete other checkpoints of the run in its folder.

    Args:
        path: the path of the new checkpoint.
        content: the content of the new checkpoint.
        keep: the number of the newest checkpoints to keep, including the new one.
        besides: one more checkpoint to keep.

    Checkpoints of later steps are deleted too, since they were written before the run was rolled back. Raises
    DataprepError if writing fails; no file has changed then.
    """
    said: list[OSError] = []
    try:
        with whole(path) as f, full_disk_said(path):
            heard: Any = _Heard(f, said)
            try:
                torch.save({"format": FORMAT, **content, "config_hash": _hash_of(content.get("config"))}, heard)
            except RuntimeError:  # torch's zip writer turns a full disk into one
                for error in said:
                    raise error from None
                raise
    except (OSError, RuntimeError) as e:
        reason = str(e).splitlines()[0]
        msg = f"{path}: could not write checkpoint ({reason}); check disk space and permissions, and run again"
        raise DataprepError(msg) from e
    for later in _written(path.parent):
        if later > path and later != besides:
            later.unlink()
    drop_older(path, keep, besides)


def drop_older(path: Path, keep: int, besides: Path | None = None) -> None:
    """Delete the checkpoints before `path` in its folder, except the newest `keep` (including `path`) and `besides`."""
    for old in [p for p in _written(path.parent) if p <= path][:-keep]:
        if old != besides:
            old.unlink()


def load(path: Path) -> dict[str, Any]:
    """Read a checkpoint, check its checksums, and return its content.

    Raises CorruptShard if it is damaged or is not a checkpoint, NewerFormat if a newer dataprep wrote it.
    """
    content: Any = None
    try:
        with zipfile.ZipFile(regular(path)) as f:  # torch.load does not compare checksums
            damaged = f.testzip()
        content = None if damaged else torch.load(path, map_location="cpu", weights_only=True)
    except _UNREADABLE as e:
        damaged = f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else 'unreadable'}"
    if damaged:
        raise rejected(path, f"damaged at {damaged}")
    return checked(path, content)


def checked(path: Path, content: Any) -> dict[str, Any]:
    """Return the content of a checkpoint.

    Raises CorruptShard if its fields are not those of a checkpoint, or a weight is not a finite number; NewerFormat if
    a newer dataprep wrote it.
    """
    newer.check_format(content, str(path))
    if unknown := _unknown_settings(content):
        msg = f"{path} has the setting {unknown[0]}, which this version of dataprep does not know; install a newer one"
        raise NewerFormat(msg)
    if not _is_checkpoint(content):
        raise rejected(path, "not a checkpoint of this version")
    if content.get("config_hash") != _hash_of(content["config"]):
        raise rejected(path, "its config is not the one that was written with its weights")
    not_finite = next((name for name, weight in content["model"].items() if not is_numbers(weight)), None)
    if not_finite:
        raise rejected(path, f"the weights {not_finite} are not all finite numbers")
    return cast("dict[str, Any]", content)


def _hash_of(config: Any) -> str:
    """Return a hash of a config: some settings, such as the number of heads, cannot be told from the weights."""
    return hashlib.sha256(json.dumps(config, default=str, skipkeys=True).encode()).hexdigest()


def rejected(path: Path, reason: str) -> CorruptShard:
    """Return the error for a checkpoint that cannot be used."""
    return CorruptShard(f"{path}: {reason}; without an older checkpoint, train again (--start-over, or resume=False)")


def is_numbers(value: Any) -> bool:
    """Return whether a value is a plain tensor of real numbers, all of which are finite."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.is_complex():
        return False
    if not value.numel() or not value.is_floating_point():
        return True
    return all(math.isfinite(extreme) for extreme in value.aminmax())


def take_state(path: Path, content: Mapping[str, Any], examples: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a checkpoint that `examples` names, after checking that they have the form of the examples.

    Args:
        path: the checkpoint's path, for the message.
        content: the checkpoint's content.
        examples: {field: plain values}. The checkpoint's field must have the same keys, lengths and types; whole
            numbers must be counts.

    Raises CorruptShard if a field has another form.
    """
    other = next((name for name, example in examples.items() if not _has_form(content.get(name), example)), None)
    if other is not None:
        raise rejected(path, f"its {other} is not that of a checkpoint of this version")
    return {name: content[name] for name in examples}


def _has_form(value: Any, example: Any) -> bool:
    if isinstance(example, dict):
        same = isinstance(value, dict) and value.keys() == example.keys()
        return same and all(_has_form(value[name], entry) for name, entry in example.items())
    if isinstance(example, list):
        same = isinstance(value, list) and len(value) == len(example)
        return same and all(map(_has_form, value, example))
    if type(example) is int:
        return is_a(value, int) and 0 <= value < 1 << 40
    return type(value) is type(example)


def _unknown_settings(content: Any) -> list[str]:
    """Return the names of settings in a checkpoint's config that `TrainConfig` does not have."""
    config = content.get("config") if isinstance(content, dict) else None
    model = config.get("model") if isinstance(config, dict) else None
    known = {"": TrainConfig, "model.": ModelConfig}
    return [
        f"{place}{name}"
        for (place, kind), found in zip(known.items(), (config, model), strict=True)
        for name in (found if isinstance(found, dict) else {})
        if name not in {field.name for field in fields(kind)}
    ]


def _is_checkpoint(content: Any) -> bool:
    """Return whether the content of a file has a config and a model of the size that it states."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return False
    try:
        shape, rows = TrainConfig.from_dict(content["config"]).model, content["vocab_size"]
        weights, plain = content["model"], all(is_a(content[name], *kinds) for name, kinds in _PLAIN.items())
        if not (plain and 0 <= content["step"] < MOST and all(isinstance(w, torch.Tensor) for w in weights.values())):
            return False
        blocks = {name.split(".")[1] for name in weights if name.startswith("blocks.")}
        size = (-(-rows // 64) * 64, shape.d_model)
        return len(blocks) == shape.n_layers and weights["embedding.weight"].shape == size
    except (KeyError, TypeError, AttributeError, PlanError):
        return False


def newest(paths: Sequence[Path], read: Callable[[Path], _T]) -> _T:
    """Return `read(path)` of the newest checkpoint that can be read.

    Args:
        paths: the checkpoints, the earliest step first.
        read: function that reads a checkpoint, and raises CorruptShard or StaleOutput to reject it; rejections are
            logged. If all checkpoints are rejected, the last of these errors is raised.
    """
    rejected: list[DataprepError] = []
    for path in reversed(paths):
        try:
            made = read(path)
        except (CorruptShard, StaleOutput) as e:
            rejected.append(e)
            continue
        for error in rejected:
            if isinstance(error, Lowered):
                log.info("%s", error)
            else:
                log.warning("%s; using %s instead", str(error).rpartition(";")[0], path)
        if any(isinstance(error, Lowered) for error in rejected):
            log.warning("the run continues from %s, the checkpoint before the learning rate was lowered", path)
        return made
    raise rejected[0]


def check_same(path: Path, content: dict[str, Any], config: TrainConfig, sets: Mapping[str, Shards]) -> None:
    """Raise StaleOutput, which states the differences, if a checkpoint's training data or config differs.

    Args:
        path: the checkpoint's path, for the message.
        content: the checkpoint's content.
        config: the config of this run. Its number of steps may differ if the learning rates up to the checkpoint's step
            are the same.
        sets: the token shards of this run.
    """
    earlier, step = TrainConfig.from_dict(content["config"]), content["step"]
    differences = config.differences(earlier)
    if step <= (config.steps or 0) and same_past(step, config, earlier):  # another end of the same schedule
        differences = [d for d in differences if d.split()[0] not in SCHEDULE]
    if content["tokenizer"] != tokenizer_key(sets):
        differences.append("the tokenizer differs")
    elif content["data"] != data_key(sets):
        where = ", ".join(str(s.path) for s in sets.values())
        labels = " or labels" if any(s.labels is not None for s in sets.values()) else ""
        differences.append(f"the tokens in {where}, or their masks{labels}, differ")
    if differences:
        msg = (
            f"{path} belongs to another run ({'; '.join(differences)}); "
            "choose another output folder, or start over (--start-over, or resume=False)"
        )
        lowered = config.schedule == earlier.schedule == "wsd" and step > flat_until(earlier)
        only_later = lowered and all(d.split()[0] in SCHEDULE for d in differences)
        raise (Lowered if only_later else StaleOutput)(msg)


def load_newest(path: str | Path) -> dict[str, Any]:
    """Return the content of a checkpoint; if `path` is a folder, of the newest checkpoint in it that is not damaged.

    Raises PlanError if there is no checkpoint, CorruptShard if none can be read, NewerFormat if a newer dataprep wrote
    it.
    """
    check_path("path", path)
    path = Path(path)
    if path.is_dir():
        return beside.steady(path, partial(_load_newest_in, path))
    if not path.exists():
        msg = f"{path} does not exist; pass a checkpoint or the folder of a run"
        raise PlanError(msg)
    _check_head(path)
    return load(path)


def _load_newest_in(folder: Path) -> dict[str, Any]:
    checkpoints = found(folder)
    if not checkpoints:
        msg = f"{folder} must contain a checkpoint (step-*.pt); train a model in it first"
        raise PlanError(msg)
    return newest(checkpoints, load)


def _check_head(path: Path) -> None:
    """Raise PlanError if a file neither has the name of a checkpoint nor begins like one."""
    with open(regular(path), "rb") as f:
        if not path.match(NAMES) and f.read(2) != b"PK":  # checkpoints are zip files
            msg = f"{path} is not a checkpoint; name the folder of a model, or a step-*.pt file in one"
            raise PlanError(msg)


def fill(model: GPT, weights: Mapping[str, torch.Tensor], path: str | Path) -> None:
    """Copy the weights of a checkpoint into a model of its config. Raises CorruptShard if they are of another model."""
    try:
        model.load_state_dict(weights)
    except RuntimeError as e:
        reason = f"its weights do not match its config ({str(e).splitlines()[-1].strip()})"
        raise rejected(Path(path), reason) from e


def load_model(path: str | Path, device: str = "cpu", *, merge: bool = True) -> tuple[GPT, dict[str, Any]]:
    """Return (model, other content) of a checkpoint; for a folder `path`, of its newest checkpoint that is not damaged.

    The model is on `device`, in evaluation mode; the other content is a dict with config, step, eot and so on. The
    updates of a LoRA run are added to the model's weights, unless `merge` is False. Raises PlanError if there is no
    checkpoint or it needs more memory than there is, CorruptShard if none can be read.
    """
    on = pick_device(device)
    content = load_newest(path)
    config = TrainConfig.from_dict(content["config"])
    check_size(config.model, content["vocab_size"], sum(t.numel() for t in content["model"].values()), path)
    model = GPT(config.model, content["vocab_size"], config.n_labels)
    model.rule = Rule.of(config, content["eot"])
    if config.lora:
        lora.add(model, config)
    fill(model, content.pop("model"), path)
    if config.lora and merge:
        lora.merge(model)
    with model_memory_named(on, "end other programs that use it"):
        return model.to(on).eval(), content
