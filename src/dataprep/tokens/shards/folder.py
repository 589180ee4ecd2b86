"""The folder of token shards as an output: its wanted content, its tokenizer, and the manifest that completes it.

`begin` opens finished shards, or prepares new ones in OUT/_unfinished (`core/output/commit.py`); `commit` replaces the
earlier shards, which remain complete until then.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import orjson

from dataprep.core.model.batch import Ids
from dataprep.core.output import forget_list, kinds
from dataprep.core.output.commit import Output, Wanted, Work
from dataprep.core.output.layout import Folder, folder_url, numbered
from dataprep.core.output.state import TOKENS, Origin, Recipe, TokenizerFile, TokenShard
from dataprep.errors import CorruptShard, PlanError
from dataprep.store import files, receipts
from dataprep.store.as_json import json_bytes
from dataprep.store.key import key
from dataprep.tokens.shard_format import SHARD_TOKENS, content_hash
from dataprep.tokens.vocabulary.place import CONFIG, TOKENIZER, check_files, check_same
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

from .shard import Shards
from .writer import SIZES, Writer, manifest_of

SHARD_FILE = re.compile(r"(?P<name>(train|val|test)-\d{5}(\.g\d+)?)\.(bin|idx|msk|docs\.parquet)")
_MARK = re.compile(r"\.g\d+(?=\.[^.]+$)")  # of a generation, in a file name


def shard_folder(out: str | os.PathLike[str]) -> str:
    """Return the path or URL of the folder `out`; that of a local folder is without file://."""
    return files.path_of(folder_url(out))


def check_shard_tokens(shard_tokens: int) -> None:
    """Raise PlanError if `shard_tokens`, the maximum number of tokens per shard, is less than 1."""
    if shard_tokens < 1:
        msg = f"shard_tokens={shard_tokens} must be 1 or more; the default is {SHARD_TOKENS:,}"
        raise PlanError(msg)


def begin(
    out: str, recipe: str, settings: Mapping[str, Any], *, made_by: str, tokenizer: bytes | None, replace: bool,
    dropped: Ids | None = None, inputs: frozenset[tuple[str, int]] = frozenset(),
    of_sources: Mapping[str, str | None] | None = None, origin: Origin | None = None, private: bool = False,
    again: str | None = None,
) -> AbstractContextManager[Work[Shards]]:  # fmt: skip
    """Return the work on the token shards of a recipe in the folder `out`; see `Output.begin`, which raises its errors.

    - recipe: a hash of everything that determines the wanted shards.
    - settings: values that decide it, for a message that names what changed.
    - made_by: the name of the function.
    - tokenizer: the content of their tokenizer.json, None if they have none; StaleOutput is raised if a different one
      was saved in the folder.
    - dropped: the ids of documents that must not be in them; None: those on the folder's own forget list.
    - inputs: as in `Wanted`.
    - of_sources: the values of `forgotten` in the sources of a mixture.
    - origin: as in `Wanted`.
    - private: as in `Wanted`.
    - again: as in `Wanted`.
    """
    if tokenizer is not None:
        check_same(out, kinds.TOKENIZER, tokenizer)
    dropped = forget_list.listed(out) if dropped is None else dropped
    stage = orjson.loads(json_bytes({"label": made_by, "class": made_by, "fields": dict(settings)}))
    wanted = Wanted(
        recipe=Recipe(kind=TOKENS, key=recipe, forgotten=forget_list.digest(dropped, of_sources), stages=[stage]),
        origin=origin,
        forgotten=dropped,
        inputs=inputs,
        private=private,
        again=again,
    )
    return Output(out, Shards.open).begin(wanted, replace=replace)


def pieces_of(work: Work[Shards]) -> str:
    """Return the URL of the folder for intermediate files of this work, and for the receipts of its shards."""
    recipe = work.recipe
    return work.unfinished.path(f"pieces-{key([recipe.key, recipe.forgotten, recipe.generation])[:8]}")


def commit(work: Work[Shards], shards: Sequence[TokenShard], **facts: Any) -> Shards:
    """Make new shards the result of the folder, and return them.

    - facts: other fields of the manifest.
    """
    (stage,) = work.recipe.stages
    manifest = manifest_of(
        shards, recipe=work.recipe.key, settings={"made_by": stage["label"], **stage["fields"]},
        forgotten=work.recipe.forgotten, **facts,
    )  # fmt: skip
    return work.commit(manifest)


def write_vocabulary(work: Work[Shards], tok: Tokenizer) -> tuple[str, dict[str, Any]]:
    """Write the tokenizer of new shards; return the URL of its file, and the manifest fields that describe it.

    Raises StaleOutput if the folder has another tokenizer that dataprep did not write there.
    """
    check_files(work.out, {TOKENIZER: tok.file})
    check_files(work.out, tok.written)
    names = write_files(work, tok.written)
    entry = TokenizerFile(
        file=files.name_of(names[TOKENIZER]), hash=tok.hash, file_hash=content_hash(tok.file),
        config=files.name_of(names[CONFIG]) if CONFIG in names else None,
    )  # fmt: skip
    sizes = write_sizes(work, tok.token_bytes)
    fields = {"vocab_size": tok.vocab_size, "eot": tok.eot, "special": tok.special, "tokenizer": entry, **sizes}
    return names[TOKENIZER], fields


def write_sizes(work: Work[Shards], sizes: Any) -> dict[str, Any]:
    """Write the bytes of text of each id, unless they are not known; return the manifest fields that describe them."""
    if sizes is None:
        return {}
    known = np.asarray(sizes, np.int32)
    with io.BytesIO() as f:
        np.save(f, known)
        url = write_files(work, {SIZES: f.getvalue()})[SIZES]
    return {"bytes_per_token": files.name_of(url), "bytes_per_token_hash": content_hash(known)}


def write_files(work: Work[Shards], contents: Mapping[str, bytes]) -> dict[str, str]:
    """Write files of new shards; return {name: URL}; if a name is taken, the generation is added to it.

    A file that the folder has already, with the same bytes, is not written again.

    - contents: {name: bytes}.
    """
    named: Iterable[str] = ()
    with contextlib.suppress(CorruptShard):
        named = Folder(work.out).named
    before = {_MARK.sub("", name): name for name in named}
    found = {}
    for name, data in contents.items():
        old = files.join(work.out, before.get(name, name))
        if files.exists(old) and _content(old) == data:
            found[name] = old
            continue
        is_taken = files.exists(files.join(work.out, name))
        found[name] = work.files.url(numbered(name, work.recipe.generation) if is_taken else name)
        files.write_bytes(found[name], data)
    return found


def _content(url: str) -> bytes:
    with files.open_raw(url) as f:
        return bytes(f.read())


def own_tokenizer(shards: Shards) -> Tokenizer | None:
    """Return the tokenizer that is stored with token shards, or None if there is none.

    Raises CorruptShard if the shards were encoded with another tokenizer.
    """
    url, expected = str(shards.tokenizer_file), shards.tokenizer_hash
    if not files.exists(url):
        return None
    tok = Tokenizer.load(url)
    if expected not in (None, tok.hash):
        what = f"is not the tokenizer that encoded these shards: its hash is {tok.hash[:8]}, not {str(expected)[:8]}"
        msg = f"{url} {what}; restore the tokenizer.json of the run that wrote the shards"
        raise CorruptShard(msg)
    return tok


def shard_once(pieces: str, recipe: str, writer: Writer, fill: Callable[[Writer], None]) -> TokenShard:
    """Write a token shard by `fill(writer)`, unless a receipt shows that it exists; return its entry for the manifest.

    - pieces: the folder of receipts (records of finished work).
    - recipe: a hash of everything that determines the shard's content.
    """

    def make() -> dict[str, Any]:
        with writer as shard:
            fill(shard)
        return {"files": [files.join(shard.out, name) for name in shard.entry.names()], "entry": shard.entry.record()}

    receipt = files.join(pieces, f"{writer.name}.json")
    return TokenShard.of(receipts.once(receipt, recipe, make)["entry"], receipt)
