"""Whose folder of token shards it is: who may write there, what is taken up again, and what is swept out."""

from __future__ import annotations

import logging
import os
import re
from typing import Any

from dataprep.core import forget_list
from dataprep.core.batch import Ids
from dataprep.errors import CorruptShard, PlanError, StaleOutput
from dataprep.store import files
from dataprep.tokens.shard_format import KIND, SHARD_TOKENS, content_hash
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

from .shard import Shards

log = logging.getLogger("dataprep")

SHARD_FILE = re.compile(r"(?P<name>(train|val|test)-\d{5}(\.g\d+)?)\.(bin|idx|msk|docs\.parquet)")


def local_folder(out: str | os.PathLike[str]) -> str:
    """The path of a local folder; any other place is refused."""
    url = os.fspath(out)
    if not files.is_local(url):
        msg = f"{url} is not a local folder; token shards are memory-mapped, so write to a disk and copy them after"
        raise PlanError(msg)
    return files.path_of(url).rstrip("/") or "/"


def check_shard_tokens(shard_tokens: int) -> None:
    """A shard has room for a token."""
    if shard_tokens < 1:
        msg = f"shard_tokens={shard_tokens} leaves no room for a token; the default is {SHARD_TOKENS:,}"
        raise PlanError(msg)


def claim(out: str, recipe: str, *, replace: bool, gone: Ids | None = None) -> Shards | None:
    """What this very recipe has sealed in `out`; what another has left there is refused or removed.

    gone: the documents that must not be in it; by default those on its own list.
    """
    place = files.join(out, "manifest.json")
    if not files.exists(place):
        return None
    found = files.read_json(place)
    same = found.get("recipe") == recipe
    if same and found.get("forgotten") == forget_list.digest(forget_list.listed(out) if gone is None else gone):
        try:
            return swept(Shards.open(out))
        except CorruptShard as e:
            log.warning("%s", f"{e}; making it again")
    elif found.get("kind") != KIND:
        msg = f"{out} holds a {found.get('kind', 'manifest.json')}, not token shards; give another folder as out"
        raise StaleOutput(msg)
    elif not replace and same:
        raise forget_list.stale(out)
    elif not replace:
        msg = f"{out} was made by another recipe or from other input; give another folder as out, or replace=True"
        raise StaleOutput(msg)
    files.remove(place)  # first, so that nothing half-replaced looks sealed
    return None


def told_of(out: str, tok: Tokenizer) -> dict[str, str]:
    """What a manifest says of the tokenizer that was saved in the folder; `hash` is of what decides ids."""
    with files.open_raw(files.join(out, "tokenizer.json")) as f:
        return {"file": "tokenizer.json", "hash": tok.hash, "file_hash": content_hash(f.read())}


def own_tokenizer(shards: Shards) -> Tokenizer | None:
    """The tokenizer that lies beside the shards, or None; CorruptShard where it is not the one that encoded them."""
    told = shards.manifest.get("tokenizer") or {}
    url = files.join(str(shards.path), told.get("file", "tokenizer.json"))
    if not files.exists(url):
        return None
    tok = Tokenizer.load(url)
    if told.get("hash") not in (None, tok.hash):
        what = f"another tokenizer ({tok.hash[:8]}) than the one that encoded these shards ({told['hash'][:8]})"
        msg = f"{url} is {what}; put the right one there"
        raise CorruptShard(msg)
    return tok


def receipt_of(out: str, entry: dict[str, Any]) -> dict[str, Any]:
    """What a task that wrote a shard leaves behind: the shard's files, and its entry in the manifest."""
    kinds = ["bin", "idx", "docs.parquet", *(["msk"] if "mask_hash" in entry else [])]
    return {"files": [files.join(out, f"{entry['name']}.{kind}") for kind in kinds], "entry": entry}


def swept(shards: Shards) -> Shards:
    """The shards, once pieces and what other recipes left beside them are removed."""
    out, names = os.fspath(shards.path), {s["name"] for s in shards.shards}
    files.sweep(out)
    for name in files.listdir(out):
        found = SHARD_FILE.fullmatch(name)
        if name.startswith("pieces-") or (found and found["name"] not in names):
            files.remove(files.join(out, name))
    return shards
