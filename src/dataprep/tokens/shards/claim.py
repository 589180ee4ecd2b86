"""Prepare an output folder for token shards: open a finished result, resume one, or replace another one."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from dataprep.core.model.batch import Ids
from dataprep.core.output import forget_list, owned
from dataprep.core.output.layout import MANIFEST, Folder, folder_url
from dataprep.core.output.stale import changed_settings
from dataprep.errors import CorruptShard, DataprepError, PlanError, StaleOutput
from dataprep.store import files, receipts
from dataprep.store.as_json import json_bytes
from dataprep.store.atomic import is_attempt
from dataprep.tokens.shard_format import KIND, SHARD_TOKENS, content_hash
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

from .shard import Shards
from .writer import Writer

if TYPE_CHECKING:
    from dataprep.core.model.dataset import Dataset

log = logging.getLogger("dataprep")

PIECES = re.compile(r"pieces-[0-9a-f]{8}")  # the folder of a run that is under way
SHARD_FILE = re.compile(r"(?P<name>(train|val|test)-\d{5}(\.g\d+)?)\.(bin|idx|msk|docs\.parquet)")


def local_folder(out: str | os.PathLike[str]) -> str:
    """Return the path of the local folder `out`. Raises PlanError for a URL that is not local."""
    url = folder_url(out)
    if not files.is_local(url):
        msg = f"{url} is not a local folder; token shards are memory-mapped, so write to a disk and copy them after"
        raise PlanError(msg)
    return files.path_of(url)


def check_shard_tokens(shard_tokens: int) -> None:
    """Raise PlanError if `shard_tokens`, the most tokens per shard, is less than 1."""
    if shard_tokens < 1:
        msg = f"shard_tokens={shard_tokens} must be 1 or more; the default is {SHARD_TOKENS:,}"
        raise PlanError(msg)


def finished(out: str, recipe: str, dropped: Ids | None = None) -> Shards | None:
    """Return the token shards in the folder `out` if they are the wanted ones and nothing must be written, else None.

    If the result is None, take the folder's lease (the right of one process to write into it), and then call `claim`.
    recipe, dropped: as in `claim`.
    """
    try:
        found = Folder(out).manifest
        noted = forget_list.noted(forget_list.listed(out) if dropped is None else dropped)
        if found.get("recipe") != recipe or found.get("forgotten") != noted.get("forgotten"):
            return None
        shards = Shards.open(out)
    except DataprepError:  # `claim` says what is wrong, or makes it again
        return None
    names = files.listdir(out)
    return None if _leftovers(shards) or any(map(is_attempt, names)) else shards


def claim(
    out: str, recipe: str, *, replace: bool, settings: Mapping[str, Any], dropped: Ids | None = None,
    docs: Dataset | None = None, accepts: Callable[[Mapping[str, Any]], bool] = lambda _: False,
) -> Shards | None:  # fmt: skip
    """Return the token shards in the folder `out` if they are the wanted ones and complete; else prepare the folder.

    To prepare means to delete the manifest, so that the folder does not look complete; then None is returned. recipe:
    hash of all that decides the wanted shards. settings: values that decide it, and docs: the input, for a message that
    names what changed. dropped: ids of documents that must not be in them; None: those on the folder's own forget list.
    accepts: function that takes the folder's manifest and returns whether its shards may be replaced without `replace`,
    since they differ only by the content of their input. Raises StaleOutput if the folder has other shards.
    """
    url = files.join(out, MANIFEST)
    if not files.exists(url):
        _begin(out)
        return None
    found = files.read_json(url)
    same = found.get("recipe") == recipe
    noted = forget_list.noted(forget_list.listed(out) if dropped is None else dropped)
    if same and found.get("forgotten") == noted.get("forgotten"):
        try:
            return swept(Shards.open(out))
        except CorruptShard as e:
            log.warning("%s", f"{e}; making it again")
    elif found.get("kind") != KIND:
        msg = f"{out} holds a {found.get('kind', MANIFEST)}, not token shards; give another folder as out"
        raise StaleOutput(msg)
    elif not replace and same:
        raise forget_list.stale(out)
    elif not replace and not accepts(found):
        known = {"dtype": found.get("dtype"), **found.get("settings", {})}
        what = changed_settings(out, known, settings, docs)
        msg = f"{out} was made by another recipe or from other input ({what})"
        msg += "; give another folder as out, or replace=True"
        raise StaleOutput(msg)
    _begin(out)
    files.remove(url)  # first, so that a half-replaced folder does not look complete
    return None


def same_settings(found: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Return whether the shards of the manifest `found` were made with `settings`, and no documents were forgotten."""
    return found.get("settings") == orjson.loads(json_bytes(dict(settings))) and "forgotten" not in found


def _begin(out: str) -> None:
    """Begin the journal of the files that are created in `out`; raise StaleOutput if it has shards of others."""
    owned.refuse(out, owned.foreign(out, filter(SHARD_FILE.fullmatch, files.listdir(out))))
    owned.begin(out)


def vocabulary_fields(out: str, tok: Tokenizer) -> dict[str, Any]:
    """Return the arguments of `write_manifest` that describe the tokenizer `tok`, which was saved in `out`."""
    with files.open_raw(files.join(out, "tokenizer.json")) as f:
        entry = {"file": "tokenizer.json", "hash": tok.hash, "file_hash": content_hash(f.read())}
    fields = {"vocab_size": tok.vocab_size, "eot": tok.eot, "special": tok.special, "token_bytes": tok.token_bytes}
    return {**fields, "tokenizer": entry}


def own_tokenizer(shards: Shards) -> Tokenizer | None:
    """Return the tokenizer that is stored with token shards, or None if there is none.

    Raises CorruptShard if the shards were encoded with another tokenizer.
    """
    entry = shards.manifest.get("tokenizer") or {}
    url = files.join(str(shards.path), entry.get("file", "tokenizer.json"))
    if not files.exists(url):
        return None
    tok = Tokenizer.load(url)
    if entry.get("hash") not in (None, tok.hash):
        what = f"is not the tokenizer that encoded these shards: its hash is {tok.hash[:8]}, not {entry['hash'][:8]}"
        msg = f"{url} {what}; put back the tokenizer.json of the run that wrote the shards"
        raise CorruptShard(msg)
    return tok


def shard_once(pieces: str, recipe: str, writer: Writer, fill: Callable[[Writer], None]) -> dict[str, Any]:
    """Write a token shard by `fill(writer)`, unless a receipt shows that it exists; return its entry for the manifest.

    pieces: the folder of receipts (records of finished work). recipe: hash of all that decides the shard's content.
    """

    def make() -> dict[str, Any]:
        with writer as shard:
            fill(shard)
        kinds = ["bin", "idx", "docs.parquet", *(["msk"] if "mask_hash" in shard.entry else [])]
        return {"files": [str(shard.out / f"{shard.name}.{kind}") for kind in kinds], "entry": shard.entry}

    return dict(receipts.once(files.join(pieces, f"{writer.name}.json"), recipe, make)["entry"])


def swept(shards: Shards) -> Shards:
    """Delete files that are not part of the token shards from their folder; return `shards`.

    Deleted are the intermediate files of `encode`, temporary files, and shard files that the manifest does not list;
    files that dataprep did not create are kept.
    """
    out = os.fspath(shards.path)
    files.sweep(out)
    owned.remove(out, _leftovers(shards))
    owned.settle(out)
    return shards


def _leftovers(shards: Shards) -> list[str]:
    names = {s["name"] for s in shards.shards}
    found = ((name, SHARD_FILE.fullmatch(name)) for name in files.listdir(os.fspath(shards.path)))
    return [name for name, shard in found if PIECES.fullmatch(name) or (shard and shard["name"] not in names)]
