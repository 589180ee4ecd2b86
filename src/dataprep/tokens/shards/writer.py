"""Write token shards: one at a time, and the manifest that completes the folder. `shard.py` describes the files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from dataprep.store.atomic import whole
from dataprep.store.checksum import stamped
from dataprep.tokens.shard_format import DTYPES, ENDS, KIND, SHARD_TOKENS, VERSION, content_hash, token_dtype

from .shard import Ends, Shards, Tokens


class Writer:
    """Context manager that writes one token shard; its files appear when the `with` block ends without an error.

    >>> with Writer(out, "train", 0) as shard:
    ...     shard.add(tokens, ends, ids, sources, n_bytes)
    >>> shard.entry
    {'name': 'train-00000', 'split': 'train', 'tokens': 5, 'documents': 1, 'bytes': 19, 'hash': ...}
    """

    def __init__(self, out: str | os.PathLike[str], split: str, number: int, *, dtype: str = "uint16") -> None:
        self.out, self.split, self.name = Path(out), split, f"{split}-{number:05d}"
        self.dtype = DTYPES[dtype]
        self.tokens = self.documents = self.bytes = 0
        self.entry: dict[str, Any] = {}
        self._hash = hashlib.sha256()
        self._ends: list[Ends] = []
        self._ids: list[npt.NDArray[np.uint64]] = []
        self._sources: list[Any] = []
        self._mask: IO[bytes] | None = None
        self._mask_hash = hashlib.sha256()

    def __enter__(self) -> Writer:
        self._open = ExitStack()
        self._bin = self._open.enter_context(whole(self.out / f"{self.name}.bin"))
        return self

    def add(
        self, tokens: Tokens, ends: npt.ArrayLike, ids: Any, sources: Any, n_bytes: int, mask: Any = None
    ) -> None:
        """Append n whole documents to the shard.

        tokens: their token ids, each document followed by its separator. ends: the index in `tokens` after each
        document, uint64[n]. ids: document ids, uint64[n]. sources: n names (list or Arrow array). n_bytes: the UTF-8
        bytes of all texts. mask: uint8[len(tokens)], 1 if a token counts in the loss; in every call or in none.
        """
        ends = np.asarray(ends, ENDS)
        data = np.ascontiguousarray(tokens, self.dtype)
        assert len(ends) == len(ids) == len(sources), (len(ends), len(ids), len(sources))
        assert (int(ends[-1]) if len(ends) else 0) == len(data), "the last document ends where the tokens end"
        view = data.view(np.uint8)
        self._hash.update(view.data)
        self._bin.write(view.data)
        if mask is not None and self._mask is None and not self.tokens:
            self._mask = self._open.enter_context(whole(self.out / f"{self.name}.msk"))
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
        if error[0] is None:
            from .provenance import docs_table  # imports pyarrow, which readers do not need

            ends = np.concatenate(self._ends) if self._ends else np.zeros(0, ENDS)
            with whole(self.out / f"{self.name}.idx") as f:
                f.write(ends.tobytes())
            table = docs_table(ends, self._ids, self._sources)
            with whole(self.out / f"{self.name}.docs.parquet") as f:
                f.write(table)
            self.entry = {
                "name": self.name,
                "split": self.split,
                "tokens": self.tokens,
                "documents": self.documents,
                "bytes": self.bytes,
                "hash": "sha256:" + self._hash.hexdigest(),
                "ends_hash": content_hash(ends),
                "docs_hash": content_hash(table),
            }
            if self._mask is not None:
                self.entry["mask_hash"] = "sha256:" + self._mask_hash.hexdigest()
        self._open.__exit__(*error)  # type: ignore[arg-type]


def write_manifest(
    out: str | os.PathLike[str],
    shards: Sequence[Mapping[str, Any]],
    *,
    vocab_size: int,
    eot: int,
    dtype: str = "uint16",
    token_bytes: npt.ArrayLike | None = None,
    special: Mapping[str, int] | None = None,
    **more: Any,
) -> None:
    """Write `token_bytes.npy` and manifest.json of a folder of token shards; the manifest completes the folder.

    shards: the entries of the shards, from `Writer.entry`. eot: id of the separator. token_bytes: bytes of text per id.
    special: {special token: id}. more: further fields (tokenizer, split, recipe ...).
    """
    token_dtype(vocab_size, dtype)
    out, sizes = Path(out), None if token_bytes is None else np.asarray(token_bytes, np.int32)
    if sizes is not None:
        with whole(out / "token_bytes.npy") as f:
            np.save(f, sizes)
    manifest = {
        "kind": KIND,
        "version": VERSION,
        "dtype": dtype,
        "vocab_size": vocab_size,
        "eot": eot,
        "special": dict(special or {"<|endoftext|>": eot}),
        "bytes_per_token": None if sizes is None else "token_bytes.npy",
        "bytes_per_token_hash": None if sizes is None else content_hash(sizes),
        **more,
        "tokens": sum(s["tokens"] for s in shards),
        "documents": sum(s["documents"] for s in shards),
        "bytes": sum(s["bytes"] for s in shards),
        "shards": [dict(s) for s in shards],
    }
    with whole(out / "manifest.json") as f:
        f.write(manifest_bytes(manifest))


def manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    """Return the bytes of manifest.json, with its checksum."""
    return stamped(json.dumps(manifest, indent=1, ensure_ascii=False).encode() + b"\n")


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

    documents: {"train": [ids, ...], "val": [ids, ...]}, without separators, which are added. masks: of the same form, 1
    for ids that count in the loss; each has one more value, for the separator. more: further fields of the manifest.
    """
    kind = token_dtype(vocab_size, dtype)
    sizes = np.zeros(vocab_size, np.int64) if token_bytes is None else np.asarray(token_bytes, np.int64)
    entries: list[dict[str, Any]] = []
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

    A run is (piece, start, stop): documents start to stop - 1 of piece number `piece`, a file of encoded documents.
    pieces: for each piece, the index after each document's last token. A document with more tokens has a shard of its
    own. The result does not depend on where pieces begin.
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


def copy_ranges(ends: npt.NDArray[Any], start: int, stop: int, n_tokens: int) -> Iterator[tuple[int, int, int, int]]:
    """Divide the documents start to stop - 1 of a file into runs to copy at once, of at most `n_tokens` tokens each.

    A longer document is a run of its own. ends: the index after each document's last token. Yields for each run (first
    document, last document + 1, first token, last token + 1).
    """
    before = ends[start - 1] if start else ends.dtype.type(0)
    for ((_, a, b),) in arrange([ends[start:stop] - before], n_tokens):
        yield start + a, start + b, int(ends[start + a - 1]) if start + a else 0, int(ends[start + b - 1])
