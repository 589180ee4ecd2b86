"""Read and write files of models in Hugging Face folders: JSON and safetensors, written atomically."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from dataprep.core.output import kinds
from dataprep.core.output.layout import folder_url
from dataprep.errors import PlanError, ReadError, need
from dataprep.store import beside, lease
from dataprep.store.atomic import (
    JOURNAL,
    begin_journal,
    is_attempt,
    is_journal,
    journaled,
    read_bytes,
    regular,
    whole,
)  # fmt: skip

EXPORTED = {
    "adapter_config.json", "adapter_model.safetensors", "config.json", "generation_config.json", "model.gguf",
    "model.safetensors", "tokenizer.json", "tokenizer.model", "tokenizer_config.json",
}  # fmt: skip


@contextlib.contextmanager
def new_folder(out: str | os.PathLike[str], kind: str, ours: str) -> Iterator[Path]:
    """Yield the folder for the files of an export; they replace an earlier export in `out` when the block ends.

    - kind: MODEL or ADAPTER.
    - ours: the name of a file that every complete export has. An export, complete or stopped, may be replaced if the
      journal (list of created files) of the folder lists its files.

    Raises StaleOutput if the folder has a result of another kind; PlanError if it has other files, such as a model that
    was downloaded, or if safetensors is not installed.
    """
    need("safetensors", extra="hf")
    folder = Path(folder_url(out))
    kinds.refuse(str(folder), kind)
    beside.recover(folder)
    besides = {lease.NAME, JOURNAL, beside.UNFINISHED}
    names = {path.name for path in folder.iterdir()} - besides if folder.is_dir() else set()
    unfinished = all(name in EXPORTED or is_attempt(name) for name in names)
    journal = str(folder / JOURNAL)
    written = journaled(journal) if is_journal(journal) else set()
    foreign = [name for name in names & EXPORTED if os.path.abspath(folder / name) not in written]
    if folder.exists() and (foreign or not (folder.is_dir() and (ours in names or unfinished))):
        msg = f"out={str(out)!r} must be a new or empty folder, or that of an earlier export"
        raise PlanError(msg)
    folder.mkdir(parents=True, exist_ok=True)
    begin_journal(str(folder))
    beside.discard(folder)  # what a killed export left
    new = Path(beside.home(folder))
    new.mkdir(exist_ok=True)
    try:
        yield new
        beside.commit(folder, EXPORTED & {path.name for path in new.iterdir()}, EXPORTED & names)
    finally:
        beside.discard(folder)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write `value` to the JSON file `path`, completely or not at all."""
    with whole(path) as f:
        f.write(json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n")


def write_tensors(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, str] | None = None) -> None:
    """Write `tensors` to the safetensors file `path`, completely or not at all.

    - facts: metadata.
    """
    save = need("safetensors.torch", extra="hf").save
    made = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    data = memoryview(save(made, metadata={"format": "pt", **(facts or {})}))
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(bytes(data[8:start]))
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))  # which the library orders by chance
    with whole(path) as f:
        f.write(data[:8])
        f.write(json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode().ljust(start - 8))
        f.write(data[start:])


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file, an object. Raises ReadError if the file is missing or has no JSON object."""
    path = Path(beside.at(str(path)))
    try:
        value = json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError) as e:
        msg = f"is missing or is not JSON ({type(e).__name__}); copy the folder again"
        raise ReadError(msg, str(path)) from e
    if not isinstance(value, dict):
        msg = "is not a JSON object; copy the folder again"
        raise ReadError(msg, str(path))
    return value


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return (tensors by name, metadata) of a safetensors file. Raises ReadError if it is missing or damaged."""
    path, opened = Path(beside.at(str(path))), need("safetensors", extra="hf").safe_open
    if not path.exists():
        msg = "does not exist; the weights must be safetensors, as `save_pretrained` of transformers writes them"
        raise ReadError(msg, str(path))
    try:
        with opened(regular(path), "pt") as f:
            return {name: f.get_tensor(name) for name in f.keys()}, f.metadata() or {}  # noqa: SIM118 - no dict
    except Exception as e:  # the library raises an error of its own, which is not public
        msg = f"is not a complete safetensors file ({str(e).splitlines()[0]}); copy it again"
        raise ReadError(msg, str(path)) from e
