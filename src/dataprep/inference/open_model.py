"""Open a trained model: a run of dataprep, or a Hugging Face folder of a model with Llama's layers."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from dataprep.errors import DataprepError, PlanError, ReadError, StaleOutput
from dataprep.store import beside
from dataprep.tokens.vocabulary.library import MODEL
from dataprep.tokens.vocabulary.place import TOKENIZER
from dataprep.tokens.vocabulary.special import EOT
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.train import GPT, TrainConfig, load_model
from dataprep.train.device import pick_device
from dataprep.train.shape import check_path
from dataprep.train.size import check_size
from dataprep.train.start import Loaded

from . import llama
from .model_files import read_json, read_tensors

log = logging.getLogger("dataprep")
CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"


def begin_with(end: str) -> str:
    """Return the start of a chat template, which puts the separator `end` before a prompt, as in rows for training."""
    return "{{ " + json.dumps(end) + " }}"


def is_hugging_face(path: str | os.PathLike[str]) -> bool:
    """Return whether `path` is a folder with a config.json."""
    return os.path.exists(beside.at(str(Path(path) / CONFIG)))


def open_model(path: str | os.PathLike[str], device: str = "cpu") -> Loaded:
    """Return (model, other content) of a checkpoint, of a run's folder, or of a Hugging Face folder.

    The result is that of `load_model`; the other content also has the key `path`. A Hugging Face folder must contain
    safetensors weights with model type llama; the weights are converted to float32. The model's context is limited to
    2,048 tokens; a longer context may be set for training.

    Raises PlanError if the model has another architecture, ReadError if a file is missing or damaged.

    >>> train("work/shards", out="work/tuned", init_from=open_model("work/hf"))
    """
    check_path("model", path)
    if not is_hugging_face(path):
        model, saved = load_model(Path(path), device)
        return model, {**saved, "path": os.fspath(path)}
    return beside.steady(path, partial(_open_hugging_face, Path(path), device))


def _open_hugging_face(folder: Path, device: str) -> Loaded:
    config, other = read_json(folder / CONFIG), Path(beside.at(str(folder / "generation_config.json")))
    ends = [*_ids(config), *(_ids(read_json(other)) if other.exists() else [])]
    tok = _tokenizer(folder)
    shape, rows = llama.shape_of(config, str(folder))
    n_ids, eot = (rows, (ends or [0])[0]) if tok is None else (tok.vocab_size, tok.eot)
    if n_ids > rows:
        msg = (
            f"the tokenizer in {folder} has {n_ids:,} ids, but the model has {rows:,} rows; copy the model's own "
            "tokenizer there"
        )
        raise PlanError(msg)
    tensors = _tensors(folder)
    check_size(shape, n_ids, sum(t.numel() for t in tensors.values()), folder)
    model = GPT(shape, n_ids)
    llama.fill(model, tensors, str(folder))
    saved = {
        "path": str(folder), "step": 0, "config": TrainConfig(model=shape, lr=1e-4).to_dict(), "vocab_size": n_ids,
        "eot": eot, "stop": sorted({eot, *ends}), "tokenizer": "" if tok is None else tok.hash, "chat": _chat(folder),
    }  # fmt: skip
    return model.to(pick_device(device)).eval(), saved


def beginning(path: str | os.PathLike[str] | None) -> str | Loaded | None:
    """Return the value of `init_from` for `train`: the model in a Hugging Face folder; any other path unchanged."""
    if path is None:
        return None
    check_path("init_from", path)
    return open_model(path) if is_hugging_face(path) else os.fspath(path)


def tokenizer_of(path: str | os.PathLike[str], expected: str) -> Tokenizer:
    """Return the tokenizer of a model, read from the tokenizer.json in its folder.

    Args:
        path: the folder, or a checkpoint in it.
        expected: the tokenizer's hash; "" allows all.

    Raises PlanError if there is no tokenizer, StaleOutput if its hash differs.
    """
    file = tokenizer_file(path)
    if not file.exists():
        msg = f"{file} does not exist; copy the tokenizer.json of the model's shards there"
        raise PlanError(msg)
    tok = _load(file)
    if expected not in ("", tok.hash):
        msg = f"{file} is not the tokenizer of {path}; copy that of the model's shards there"
        raise StaleOutput(msg)
    return tok


def tokenizer_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of the tokenizer.json next to a model, or of the tokenizer.model if only that exists.

    Args:
        path: the folder of the model, or a checkpoint in it.
    """
    home = Path(path) if Path(path).is_dir() else Path(path).parent
    json_file, model = (Path(beside.at(str(home / name))) for name in (TOKENIZER, MODEL))
    return model if model.exists() and not json_file.exists() else json_file


def _load(file: Path) -> Tokenizer:
    """Return the tokenizer in a file; tokenizer_config.json adds tokens to a model of SentencePiece."""
    tok, config = Tokenizer.load(file), file.parent / "tokenizer_config.json"
    if file.name != MODEL or not config.exists():
        return tok
    added = read_json(config).get("added_tokens_decoder") or {}
    names = [added[i]["content"] for i in sorted(added, key=int) if int(i) >= tok.vocab_size]
    return tok.extended(names) if names else tok


def _ids(config: Mapping[str, Any]) -> list[int]:
    """Return the ids that end a text."""
    given = config.get("eos_token_id")
    return [one for one in (given if isinstance(given, list) else [given]) if isinstance(one, int)]


def _tokenizer(folder: Path) -> Tokenizer | None:
    """Return the tokenizer; None, with a warning, if the folder has none that can encode texts here."""
    try:
        return _load(tokenizer_file(folder))
    except (DataprepError, FileNotFoundError) as e:
        log.warning("the tokenizer of %s cannot be used here, so shards must be encoded elsewhere: %s", folder, e)
        return None


def _chat(folder: Path) -> dict[str, Any] | None:
    """Return the fields of a checkpoint about dialogues; None if there is no chat template."""
    config, file = Path(beside.at(str(folder / "tokenizer_config.json"))), folder / "chat_template.jinja"
    given: dict[str, Any] = read_json(config) if config.exists() else {}
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else given.get("chat_template")
    except UnicodeDecodeError as e:
        msg = f"is not UTF-8 text ({e}); restore the file of that model"
        raise ReadError(msg, str(file)) from e
    if not isinstance(text, str):
        return None
    bos, eos = (
        one.get("content") if isinstance(one, dict) else one for one in map(given.get, ("bos_token", "eos_token"))
    )
    text = text.removeprefix(begin_with(eos or EOT))
    return {"template": text, "template_ends": [bos or "", eos or EOT], "speakers": {}}


def _tensors(folder: Path) -> dict[str, Tensor]:
    """Return the tensors of all safetensors files of the folder."""
    names = {WEIGHTS}
    if (folder / INDEX).exists():
        weight_map = read_json(folder / INDEX).get("weight_map")
        if not isinstance(weight_map, dict) or not weight_map:
            msg = "has no weight_map; copy the folder again"
            raise ReadError(msg, str(folder / INDEX))
        names = {Path(str(name)).name for name in weight_map.values()}
    found: dict[str, Tensor] = {}
    for name in sorted(names):
        found |= read_tensors(folder / name)[0]
    return found
