"""Folders of tokenizers: the files of other programs are not replaced, and a receipt states the bytes of ours."""

from __future__ import annotations

import json
from collections.abc import Mapping

from dataprep.core.model.dataset import Dataset
from dataprep.core.model.documents import check_file_apart
from dataprep.core.output import owned
from dataprep.core.run.plan import check_apart
from dataprep.errors import CorruptShard, StaleOutput
from dataprep.store import files, receipts

from . import formats

TOKENIZER, CONFIG, RECEIPT = "tokenizer.json", "tokenizer_config.json", "receipt.json"


def check_place(folder: str, written: Mapping[str, bytes | None]) -> None:
    """Raise StaleOutput if files of a tokenizer would replace those of another one, which dataprep did not write there.

    written: {name: content} of the files that will be written, None: not known yet; files with the same content may
    be there. If tokenizer_config.json is among them, files next to one of the form that dataprep gives it may be, too.
    """
    found = [name for name in written if files.exists(files.join(folder, name))]
    if CONFIG in found and _is_own(_content(folder, CONFIG)):
        return
    for name in owned.foreign(folder, found):
        if _content(folder, name) != written[name]:
            msg = f"{files.join(folder, name)} is of another tokenizer; give another folder as out"
            raise StaleOutput(msg)


def check_out(out: str, docs: Dataset | None = None) -> None:
    """Raise an error if a vocabulary may not be saved to `out`, as `save` takes it; docs: the text it is made from.

    PlanError: the next run would read it as text. StaleOutput: a file or folder has something else.
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


def write_folder(folder: str, written: Mapping[str, bytes]) -> str:
    """Write the files `written` of a tokenizer, {name: content}; return the URL of tokenizer.json, the last of them.

    Raises StaleOutput if the folder has another tokenizer that dataprep did not write there.
    """
    check_place(folder, written)
    for name, content in written.items():
        files.write_bytes(files.join(folder, name), content)
    return files.join(folder, TOKENIZER)


def save_file(url: str, data: bytes) -> str:
    """Write the content of a vocabulary to the file NAME.json, unless it has something else; return its URL."""
    check_out(url)
    files.write_bytes(url, data)
    return url


def save_folder(folder: str, written: Mapping[str, bytes], known_as: str) -> str:
    """Do as `write_folder`, and write a receipt (record of the bytes), which does not state tokenizer_config.json.

    known_as: the tokenizer's hash. Raises StaleOutput also if another program wrote the file receipt.json there.
    """
    at = files.join(folder, RECEIPT)
    owned.check_file(at, "a receipt of dataprep", '{"files"')
    check_place(folder, written)
    if files.exists(at) and receipts.valid(at, known_as) is None:
        files.remove(at)  # first: what it states of another tokenizer is written over
    url = write_folder(folder, written)
    stated = [files.join(folder, name) for name in written if name != CONFIG]
    receipts.once(at, known_as, lambda: {"files": stated})
    return url


def check_whole(url: str) -> None:
    """Raise CorruptShard if the local file `url` of a tokenizer is not as the receipt next to it states."""
    at = files.join(url.rpartition("/")[0] or ".", RECEIPT)
    if files.is_local(url) and receipts.found(at) and files.name_of(url) in receipts.changed(at):
        what = f"{url} was changed since it was written, as {RECEIPT} next to it states"
        msg = f"{what}; make it again or copy it again, or remove {RECEIPT} if the change is yours"
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
