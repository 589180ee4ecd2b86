"""Folders of tokenizers: the files of other programs in them are not replaced."""

from __future__ import annotations

import json
from collections.abc import Mapping

from dataprep.core import owned
from dataprep.errors import StaleOutput
from dataprep.store import files

from . import formats

TOKENIZER, CONFIG = "tokenizer.json", "tokenizer_config.json"


def check_place(folder: str, written: Mapping[str, bytes] | None = None) -> None:
    """Raise StaleOutput if a folder has a tokenizer that dataprep did not write.

    written: {name: content} of the files that will be written; files that are the same already may be there.
    """
    found = [name for name in (TOKENIZER, CONFIG) if files.exists(files.join(folder, name))]
    if not found or (CONFIG in found and _is_own(_content(folder, CONFIG))):
        return
    for name in found:
        if owned.foreign(folder, [name]) and _content(folder, name) != (written or {}).get(name):
            msg = f"{files.join(folder, name)} was not written by dataprep; give another folder as out"
            raise StaleOutput(msg)


def write_folder(folder: str, special: Mapping[str, int], data: bytes) -> str:
    """Write tokenizer.json with the content `data`, and tokenizer_config.json; return the URL of the first.

    special: {special token: id}. Raises StaleOutput if the folder has a tokenizer that dataprep did not write.
    """
    written = {CONFIG: formats.transformers_config(special), TOKENIZER: data}
    check_place(folder, written)
    for name, content in written.items():
        files.write_bytes(files.join(folder, name), content)
    return files.join(folder, TOKENIZER)


def _content(folder: str, name: str) -> bytes:
    with files.open_raw(files.join(folder, name)) as f:
        return bytes(f.read())


def _is_own(content: bytes) -> bool:
    """Return whether a tokenizer_config.json has the form that `transformers_config` gives, of any version."""
    try:
        config = json.loads(content)
    except (ValueError, RecursionError):
        return False
    if not isinstance(config, dict):
        return False
    known = formats.CONFIG.keys() | formats.ROLES.keys() | {"chat_template"}
    return config.keys() <= known and formats.CONFIG.items() <= config.items()
