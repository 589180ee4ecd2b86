"""Folders of tokenizers: foreign files are not replaced, and a receipt states the hashes of dataprep's files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeVar

from dataprep.core.model.dataset import Dataset
from dataprep.core.model.documents import check_file_apart
from dataprep.core.output import kinds, owned
from dataprep.core.run.plan import check_apart
from dataprep.errors import CorruptShard, StaleOutput
from dataprep.store import files, lease, receipts, together

from . import formats

T = TypeVar("T")
TOKENIZER, CONFIG, RECEIPT = "tokenizer.json", "tokenizer_config.json", "receipt.json"


def check_place(folder: str, written: Mapping[str, bytes | None]) -> None:
    """Raise StaleOutput as `check_files` does, or if a folder holds a result that excludes a tokenizer.

    Next to token shards and exports, only the tokenizer that is already there may be saved.

    - written: see `check_files`.
    """
    kinds.refuse(folder, kinds.TOKENIZER)
    for kind in kinds.BESIDE[kinds.TOKENIZER]:
        check_same(folder, kind, written[TOKENIZER])
    check_files(folder, written)


def check_same(folder: str, kind: str, tokenizer: bytes | None) -> None:
    """Raise StaleOutput if a folder has a result of a kind, and a tokenizer.json other than `tokenizer`."""
    has_one = kind in kinds.held(folder) and files.exists(files.join(folder, TOKENIZER))
    if has_one and _content(folder, TOKENIZER) != tokenizer:
        raise kinds.other_kind(folder, kind)


def check_files(folder: str, written: Mapping[str, bytes | None]) -> None:
    """Raise StaleOutput if files of a tokenizer would replace another tokenizer that dataprep did not write there.

    - written: {name: content} of the files that will be written, or None if not known yet; files with the same content
      may be there. If tokenizer_config.json is among them, files next to one in dataprep's form are also allowed.
    """
    found = [name for name in written if files.exists(files.join(folder, name))]
    if CONFIG in found and _is_own(_content(folder, CONFIG)):
        return
    for name in owned.foreign(folder, found):
        if _content(folder, name) != written[name]:
            msg = f"{files.join(folder, name)} belongs to another tokenizer; choose another folder as out"
            raise StaleOutput(msg)


def check_out(out: str, docs: Dataset | None = None) -> None:
    """Raise an error if a vocabulary may not be saved to `out`, a path as in `save`.

    - docs: the text it is made from.

    PlanError: the next run would read the file as text. StaleOutput: the file or folder has other content.
    """
    if not out.endswith((".json", ".tiktoken")):
        if docs is not None:
            check_apart(docs, out)
        check_place(out, {CONFIG: None, TOKENIZER: None})
        return
    about = f"{out}.json"  # of NAME.tiktoken
    if docs is not None:
        check_file_apart(docs.parts, out)
    if out.endswith(".json"):
        owned.check_file(out, "a vocabulary", '{"version"')
    elif files.exists(about):
        owned.check_file(about, "the description of a vocabulary", '{"pat_str"')
    else:
        owned.check_file(out, "a vocabulary that dataprep wrote, as it has no .json")


def save_file(url: str, data: bytes) -> str:
    """Write a vocabulary to the file NAME.json; return its URL. Raises StaleOutput if there is another kind of file."""
    check_out(url)
    files.write_bytes(url, data)
    return url


def save_folder(folder: str, written: Mapping[str, bytes], known_as: str) -> str:
    """Do the same as `replace_folder`, holding the lease of the folder, which may be any folder."""
    with lease.held(folder, anywhere=True):
        return replace_folder(folder, written, known_as)


def replace_folder(folder: str, written: Mapping[str, bytes], known_as: str) -> str:
    """Write the files `written` of a tokenizer, {name: content}, together; return the URL of tokenizer.json.

    A receipt (record of the bytes) does not state tokenizer_config.json.

    - known_as: the key of the tokenizer, such as its hash.

    Raises StaleOutput if the folder has another tokenizer, or a receipt.json, that dataprep did not write there.
    """
    together.recover(folder, [*written, RECEIPT])
    at = files.join(folder, RECEIPT)
    owned.check_file(at, "a receipt of dataprep", '{"files"')
    check_place(folder, written)

    def write(new: str) -> list[str]:
        if new == folder:  # on an object store: what the receipt states of another tokenizer is written over
            files.remove(at)
        urls = {name: files.join(new, name) for name in written}
        for name, content in written.items():
            files.write_bytes(urls[name], content)
        stated = [url for name, url in urls.items() if name != CONFIG]
        receipts.write(files.join(new, RECEIPT), known_as, {"files": stated})
        return [*written, RECEIPT]

    together.replace(folder, [*written, RECEIPT], write)
    return files.join(folder, TOKENIZER)


def opened(url: str, read: Callable[[str], T]) -> T:
    """Return `read(url)` of a tokenizer's file, also while the file is being replaced.

    Raises CorruptShard if the file differs from its receipt.
    """

    def checked(at: Callable[[str], str]) -> T:
        check_whole(at(url))
        return read(at(url))

    return together.read(url.rpartition("/")[0] or ".", checked)


def check_whole(url: str) -> None:
    """Raise CorruptShard if the local file `url` of a tokenizer differs from the receipt next to it."""
    at = files.join(url.rpartition("/")[0] or ".", RECEIPT)
    if files.is_local(url) and receipts.found(at) and files.name_of(url) in receipts.changed(at):
        what = f"{url} was changed since it was written, as {RECEIPT} next to it states"
        msg = f"{what}; train or copy it again, or, if you made the change, remove {RECEIPT}"
        raise CorruptShard(msg)


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
