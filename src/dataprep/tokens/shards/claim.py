"""Claim an output folder of token shards: resume the same recipe, reject another's, delete leftovers."""

from __future__ import annotations

import logging
import os
import re
from typing import Any

from dataprep.core import forget_list
from dataprep.core.batch import Ids
from dataprep.core.folder import MANIFEST
from dataprep.errors import CorruptShard, PlanError, StaleOutput
from dataprep.store import files
from dataprep.tokens.shard_format import KIND, SHARD_TOKENS, content_hash
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

from .shard import Shards

log = logging.getLogger("dataprep")

SHARD_FILE = re.compile(r"(?P<name>(train|val|test)-\d{5}(\.g\d+)?)\.(bin|idx|msk|docs\.parquet)")


def local_folder(out: str | os.PathLike[str]) -> str:
    """Return the path of a local folder. Raises PlanError for any other URL."""
    url = os.fspath(out)
    if not files.is_local(url):
        msg = f"{url} is not a local folder; token shards are memory-mapped, so write to a disk and copy them after"
        raise PlanError(msg)
    return files.path_of(url).rstrip("/") or "/"


def check_shard_tokens(shard_tokens: int) -> None:
    """Raise PlanError if `shard_tokens` is less than 1."""
    if shard_tokens < 1:
        msg = f"shard_tokens={shard_tokens} must be 1 or more; the default is {SHARD_TOKENS:,}"
        raise PlanError(msg)


def claim(out: str, recipe: str, *, replace: bool, dropped: Ids | None = None) -> Shards | None:
    """Return the shards in `out` if they are complete and of this recipe; else delete their manifest and return None.

    Raises StaleOutput if they are of another recipe, unless `replace`. dropped: ids of documents that must not be in
    them; the default is the folder's own list of forgotten documents.
    """
    url = files.join(out, MANIFEST)
    if not files.exists(url):
        return None
    found = files.read_json(url)
    same = found.get("recipe") == recipe
    if same and found.get("forgotten") == forget_list.digest(forget_list.listed(out) if dropped is None else dropped):
        try:
            return swept(Shards.open(out))
        except CorruptShard as e:
            log.warning("%s", f"{e}; making it again")
    elif found.get("kind") != KIND:
        msg = f"{out} holds a {found.get('kind', MANIFEST)}, not token shards; give another folder as out"
        raise StaleOutput(msg)
    elif not replace and same:
        raise forget_list.stale(out)
    elif not replace:
        msg = f"{out} was made by another recipe or from other input; give another folder as out, or replace=True"
        raise StaleOutput(msg)
    files.remove(url)  # first, so that a half-replaced folder does not look complete
    return None


def tokenizer_entry(out: str, tok: Tokenizer) -> dict[str, str]:
    """Return the manifest's entry on the tokenizer saved in `out`; `hash` covers all that decides ids."""
    with files.open_raw(files.join(out, "tokenizer.json")) as f:
        return {"file": "tokenizer.json", "hash": tok.hash, "file_hash": content_hash(f.read())}


def own_tokenizer(shards: Shards) -> Tokenizer | None:
    """Return the tokenizer in the folder of shards, or None. Raises CorruptShard if it did not encode them."""
    entry = shards.manifest.get("tokenizer") or {}
    url = files.join(str(shards.path), entry.get("file", "tokenizer.json"))
    if not files.exists(url):
        return None
    tok = Tokenizer.load(url)
    if entry.get("hash") not in (None, tok.hash):
        what = f"another tokenizer ({tok.hash[:8]}) than the one that encoded these shards ({entry['hash'][:8]})"
        msg = f"{url} is {what}; put the right one there"
        raise CorruptShard(msg)
    return tok


def receipt_of(out: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the receipt of a written shard: its files and its entry in the manifest."""
    kinds = ["bin", "idx", "docs.parquet", *(["msk"] if "mask_hash" in entry else [])]
    return {"files": [files.join(out, f"{entry['name']}.{kind}") for kind in kinds], "entry": entry}


def swept(shards: Shards) -> Shards:
    """Delete pieces and other recipes' shard files; return `shards`."""
    out, names = os.fspath(shards.path), {s["name"] for s in shards.shards}
    files.sweep(out)
    for name in files.listdir(out):
        found = SHARD_FILE.fullmatch(name)
        if name.startswith("pieces-") or (found and found["name"] not in names):
            files.remove(files.join(out, name))
    return shards
