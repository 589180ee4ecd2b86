"""Write token shards: one at a time, and the manifest that completes the folder. `shard.py` describes the files."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from dataprep.core.output.state import TOKENS, TokenManifest, TokenShard
from dataprep.store import files
from dataprep.store.checksum import stamped
from dataprep.tokens.shard_format import DTYPES, ENDS, SHARD_TOKENS, content_hash, token_dtype

from .shard import MANIFEST, Ends, Shards, Tokens

SIZES = "token_bytes.npy"


class Writer:
    """Context manager that writes one token shard; its files appear when the `with` block ends without an error.

    >>> with Writer(out, "train", 0) as shard:
    ...     shard.add(tokens, ends, ids, sources, n_bytes)
    >>> shard.entry
    TokenShard(name='train-00000', split='train', tokens=5, documents=1, bytes=19, hash=...)
    """

    def __init__(
        self, out: str | os.PathLike[str], split: str, number: int, *, dtype: str = "uint16", generation: int = 1
    ) -> None:
        self.out, self.split = os.fspath(out), split
        self.name = f"{split}-{number:05d}" + (f".g{generation}" if generation > 1 else "")
        self.dtype = DTYPES[dtype]
        self.tokens = self.documents = self.bytes = 0
        self.entry: TokenShard  # when the `with` block has ended
        self._hash = hashlib.sha256()
        self._ends: list[Ends] = []
        self._ids: list[npt.NDArray[np.uint64]] = []
        self._sources: list[Any] = []
        self._mask: BinaryIO | None = None
        self._mask_hash = hashlib.sha256()

    def __enter__(self) -> Writer:
        self._open = ExitStack()
        self._bin = self._open.enter_context(self._file("bin"))
        return self

    def _file(self, kind: str) -> AbstractContextManager[BinaryIO]:
        return files.atomic(files.join(self.out, f"{self.name}.{kind}"))

    def add(self, tokens: Tokens, ends: npt.ArrayLike, ids: Any, sources: Any, n_bytes: int, mask: Any = None) -> None:
        """Append n whole documents to the shard.

        Args:
            tokens: their token ids, each document followed by its separator.
            ends: the index in `tokens` after each document, uint64[n].
            ids: document ids, uint64[n].
            sources: n names (list or Arrow array).
            n_bytes: the UTF-8 bytes of all texts.
            mask: uint8[len(tokens)], 1 if a token counts in the loss; in every call or in none.
        """
        ends = np.asarray(ends, ENDS)
        data = np.ascontiguousarray(tokens, self.dtype)
        assert len(ends) == len(ids) == len(sources), (len(ends), len(ids), len(sources))
        assert (int(ends[-1]) if len(ends) else 0) == len(data), "the last document ends where the tokens end"
        view = data.view(np.uint8)
        self._hash.update(view.data)
        self._bin.write(view.data)
        if mask is not None and self._mask is None and not self.tokens:
            self._mask = self._open.enter_context(self._file("msk"))
        assert (mask is None) == (self._mask is None), "every document of a shard has a mask, or none has"
        if self._mask is not None:
            learned = np.ascontiguousarray(mask, np.uint8)
            assert len(learned) == len(data), (len(learned), len(data))
            self._mask_hash.update(learned.data)
            self._mask.write(learned.data)
        self._ends.append(ends + np.uint64(self.tokens))
        self._ids.append(np.asarray(ids, np.uint64))
        self._sources.append(sources)
        self.tokens += len(data)
        self.documents += len(ends)
        self.bytes += n_bytes

    def __exit__(self, *error: object) -> None:
        try:
            if error[0] is None:
                self._write_tables()
        except BaseException:
            self._open.__exit__(*sys.exc_info())  # removes the half-written file of tokens
            raise
        self._open.__exit__(*error)  # type: ignore[arg-type]

    def _write_tables(self) -> None:
        """Write the ends and the table of the documents."""
        from .provenance import docs_table  # imports pyarrow, which readers do not need

        ends = np.concatenate(self._ends) if self._ends else np.zeros(0, ENDS)
        with self._file("idx") as f:
            f.write(ends.tobytes())
        table = docs_table(ends, self._ids, self._sources)
        with self._file("docs.parquet") as f:
            f.write(table)
        self.entry = TokenShard(
            name=self.name, split=self.split, tokens=self.tokens, documents=self.documents, bytes=self.bytes,
            hash="sha256:" + self._hash.hexdigest(), ends_hash=content_hash(ends), docs_hash=content_hash(table),
            mask_hash=None if self._mask is None else "sha256:" + self._mask_hash.hexdigest(),
        )  # fmt: skip


def manifest_of(
    shards: Sequence[TokenShard], *, dtype: str = "uint16", vocab_size: int, eot: int,
    special: Mapping[str, int] | None = None, **more: Any,
) -> TokenManifest:  # fmt: skip
    """Return the manifest of token shards.

    - eot: id of the separator.
    - more: further fields (tokenizer, split ...).
    - special: {special token: id}; None: the separator only.

    Raises PlanError if `vocab_size` ids do not fit `dtype`.
    """
    token_dtype(vocab_size, dtype)
    return TokenManifest(
        kind=TOKENS, dtype=dtype, vocab_size=vocab_size, eot=eot, special=dict(special or {"<|endoftext|>": eot}),
        shards=tuple(shards), tokens=sum(s.tokens for s in shards), documents=sum(s.documents for s in shards),
        bytes=sum(s.bytes for s in shards), **more,
    )  # fmt: skip


def write_token_bytes(home: str | os.PathLike[str], sizes: npt.ArrayLike | None, name: str = SIZES) -> dict[str, Any]:
    """Write the bytes of text of each id to the file `name` of a folder; return the manifest fields that describe it.

    - sizes: None: they are not known, and nothing is written.
    """
    if sizes is None:
        return {}
    known = np.asarray(sizes, np.int32)
    with io.BytesIO() as f:
        np.save(f, known)
        files.write_bytes(files.join(os.fspath(home), name), f.getvalue())
    return {"bytes_per_token": name, "bytes_per_token_hash": content_hash(known)}


def write_manifest(
    out: str | os.PathLike[str], shards: Sequence[TokenShard], *, token_bytes: npt.ArrayLike | None = None, **facts: Any
) -> None:
    """Write `token_bytes.npy` and manifest.json of a folder of token shards; the manifest completes the folder.

    - shards: the entries of the shards, from `Writer.entry`.
    - token_bytes: the bytes of text per id.
    - facts: the arguments of `manifest_of`.
    """
    manifest = manifest_of(shards, **facts)
    save_manifest(out, replace(manifest, **write_token_bytes(out, token_bytes)))


def save_manifest(out: str | os.PathLike[str], manifest: TokenManifest) -> None:
    """Write manifest.json of a folder of token shards, with its checksum."""
    data = json.dumps(manifest.record(), indent=1, ensure_ascii=False).encode() + b"\n"
    files.write_bytes(files.join(os.fspath(out), MANIFEST), stamped(data))


def save(
    out: str | os.PathLike[str],
    documents: Mapping[str, Sequence[npt.ArrayLike]],
    *,
    vocab_size: int,
    eot: int,
    dtype: str = "uint16",
    token_bytes: npt.ArrayLike | None = None,
    shard_tokens: int = SHARD_TOKENS,
    masks: Mapping[str, Sequence[npt.ArrayLike]] | None = None,
    **more: Any,
) -> Shards:
    """Write documents that are token ids already to token shards; return the shards.

    - documents: {"train": [ids, ...], "val": [ids, ...]}, without separators, which are added.
    - masks: {"train": [mask, ...], ...}, 1 for ids that count in the loss; each mask has one more value, for the
      separator.
    - more: further fields of the manifest.
    """
    kind = token_dtype(vocab_size, dtype)
    sizes = np.zeros(vocab_size, np.int64) if token_bytes is None else np.asarray(token_bytes, np.int64)
    entries: list[TokenShard] = []
    made = 0
    for split, docs in documents.items():
        arrays = [np.append(np.asarray(d, kind), kind.type(eot)) for d in docs]
        learned = [None] * len(arrays) if masks is None else masks[split]
        ends = np.cumsum([len(a) for a in arrays], dtype=ENDS)
        for number, runs in enumerate(arrange([ends], shard_tokens)):
            with Writer(out, split, number, dtype=dtype) as shard:
                for _, start, stop in runs:
                    for a, mask in zip(arrays[start:stop], learned[start:stop], strict=True):
                        shard.add(a, [len(a)], [made], ["memory"], int(sizes[a].sum()), mask)
                        made += 1
            entries.append(shard.entry)
    write_manifest(out, entries, vocab_size=vocab_size, eot=eot, dtype=dtype, token_bytes=token_bytes, **more)
    return Shards.open(out)


def arrange(pieces: Sequence[npt.NDArray[Any]], shard_tokens: int) -> list[list[tuple[int, int, int]]]:
    """Distribute documents to shards of at most `shard_tokens` tokens; return for each shard its runs of documents.

    A run is (piece, start, stop): documents start to stop - 1 of piece number `piece`, a file of encoded documents. A
    document with more tokens has a shard of its own. The result does not depend on where pieces begin.

    - pieces: for each piece, the index after each document's last token.
    """
    shards: list[list[tuple[int, int, int]]] = []
    held = shard_tokens  # tokens in the last shard: as if one before the first were full
    for number, ends in enumerate(pieces):
        start = before = 0
        while start < len(ends):
            stop = int(np.searchsorted(ends, before + max(0, shard_tokens - held), side="right"))
            if stop <= start:
                shards.append([])
                held = 0
                stop = max(start + 1, int(np.searchsorted(ends, before + shard_tokens, side="right")))
            shards[-1].append((number, start, stop))
            held += int(ends[stop - 1]) - before
            start, before = stop, int(ends[stop - 1])
    return shards


def runs_of(kept: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the runs of True in an array, as (start, stop)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def copy_ranges(ends: npt.NDArray[Any], start: int, stop: int, n_tokens: int) -> Iterator[tuple[int, int, int, int]]:
    """Divide the documents start to stop - 1 of a file into runs to copy at once, of at most `n_tokens` tokens each.

    A longer document is a run of its own.

    - ends: the index after each document's last token.

    Yields for each run (first document, last document + 1, first token, last token + 1).
    """
    before = ends[start - 1] if start else ends.dtype.type(0)
    for ((_, a, b),) in arrange([ends[start:stop] - before], n_tokens):
        yield start + a, start + b, int(ends[start + a - 1]) if start + a else 0, int(ends[start + b - 1])
