"""`Shards`: reads token shards, memory-mapped, in this format on disk.

    DIR/manifest.json           tokenizer, special ids, shards with their counts and hashes
    DIR/train-00000.bin         raw little-endian uint16, no header: np.memmap(path, dtype=np.uint16) reads it
    DIR/train-00000.idx         uint64 document ends (exclusive, the separator included), one per document
    DIR/train-00000.msk         uint8 per token: 1 if it counts in the loss; only in folders with masks
    DIR/train-00000.docs.parquet  id, source, start, stop: the tokens [start, stop) of each document, without separator
    DIR/token_bytes.npy         bytes of text per id (0 for special tokens), for a loss in bits per byte
    DIR/_replaced/              the files of replaced shards, for processes that opened them before

A replaced folder has names such as train-00000.g2.bin, which the manifest lists.
Every document is followed by `<|endoftext|>` and is in one shard. An empty document consists of its separator only, so
documents correspond one to one to rows of the Dataset. Reading needs numpy only; `.docs.parquet` is written with
pyarrow.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from dataprep.core.output.state import TOKENS, TokenManifest, TokenShard
from dataprep.errors import CorruptShard, PlanError, Replaced, counted
from dataprep.store import ranges
from dataprep.store.checksum import checked
from dataprep.store.place import here
from dataprep.tokens.shard_format import (
    AGAIN,
    DTYPES,
    ENDS,
    content_hash,
    load_array,
    unlike_written,
)  # fmt: skip

if TYPE_CHECKING:
    import pyarrow as pa

    from .provenance import Document

T = TypeVar("T")
Tokens = npt.NDArray[Any]  # uint16 or uint32, as in the manifest
Ends = npt.NDArray[np.uint64]
MANIFEST, TOKENIZER, REPLACED = "manifest.json", "tokenizer.json", "_replaced"
TRIES = 5  # to open a folder while it is replaced


class Shards:
    """Encoded documents in files, memory-mapped: opening reads no tokens, and processes share the pages.

    Of shards at a URL, the tokens that are used are requested (`ranges.RemoteArray`), and nothing is mapped.

    >>> shards = Shards.open("work/shards")
    >>> len(shards), shards.n_tokens
    (12345, 67890123)
    >>> shards.split("val").document(0)
    array([ 464, 2159,   13], dtype=uint16)
    """

    def __init__(
        self, path: Path | str, manifest: TokenManifest, split: str | None = None, given_in: str | None = None,
        labels: npt.NDArray[np.int64] | None = None,
    ) -> None:  # fmt: skip
        #: the folder: a Path, or, if the shards are not on this machine, its URL
        self.path: Path | str = path
        self.manifest, self.split_name = manifest, split
        #: the working folder in which `path` was given
        self.given_in = here() if given_in is None else given_in
        #: the manifest's entries of this split, in order: name, split, tokens, documents, bytes, hash
        self.shards = tuple(s for s in manifest.shards if split is None or s.split == split)
        self.dtype = DTYPES[manifest.dtype]
        self.eot = manifest.eot
        self.vocab_size = manifest.vocab_size
        self._labels = labels  # of the documents of all splits
        self._rising: set[int] = set()  # shards whose document ends were checked
        self._maps: dict[str, Any] = {}  # the files that are mapped, by name

    @classmethod
    def open(cls, path: str | os.PathLike[str], split: str | None = None, *, sizes: bool = True) -> Shards:
        """Open the shards of a folder, or of one of its splits.

        Args:
            path: the folder, or its URL, such as s3://bucket/shards.
            split: "train", "val" or "test"; None: all splits.
            sizes: whether to check file sizes against the manifest.

        Raises PlanError if the folder has no token shards, and CorruptShard if they are damaged.
        """
        path = os.fspath(path).rstrip("/") if ranges.is_url(path) else Path(os.fspath(path).removeprefix("file://"))
        for attempt in range(TRIES):
            shards = cls(path, _manifest(path), split)
            try:
                if sizes:
                    shards._check_sizes()
            except Replaced:  # since the manifest was read
                if attempt == TRIES - 1:
                    raise
            else:
                break
        return shards

    def split(self, name: str) -> Shards:
        """Return the shards of one split, "train", "val" or "test"; they may have no documents."""
        return Shards(self.path, self.manifest, name, self.given_in, self._labels)

    def labelled(self, labels: npt.ArrayLike) -> Shards:
        """Return these shards with the number of a label for each document, from which a classifier learns.

        - labels: whole numbers from 0, one per document of all splits, in the order of the manifest.

        Raises PlanError if their number is not that of the documents.
        """
        found, n = np.asarray(labels, np.int64), sum(s.documents for s in self.manifest.shards)
        if found.shape != (n,):
            msg = f"labels of shape {found.shape} must be one number for each of the {n:,} documents of {self.path}"
            raise PlanError(msg)
        return Shards(self.path, self.manifest, self.split_name, self.given_in, found)

    @property
    def labels(self) -> npt.NDArray[np.int64] | None:
        """The number of each document's label, int64[documents of this split]; None: documents have no labels."""
        if self._labels is None:
            return None
        every = [(s.split, s.documents) for s in self.manifest.shards]
        mine = np.repeat([self.split_name in (None, split) for split, _ in every], [n for _, n in every])
        found: npt.NDArray[np.int64] = self._labels[mine]
        return found

    def __len__(self) -> int:
        return int(self._documents_before[-1])

    def __repr__(self) -> str:
        side = "" if self.split_name is None else f", split={self.split_name!r}"
        return f"<Shards {str(self.path)!r}{side}: {counted(len(self), 'document')}, {counted(self.n_tokens, 'token')}>"

    def __reduce__(self) -> tuple[Any, ...]:  # a memmap would travel as a copy of its bytes
        return Shards, (self.path, self.manifest, self.split_name, self.given_in, self._labels)

    @property
    def root(self) -> str:
        """One hash (SHA-256, in hex) of the folder: its vocabulary, and the tokens, ends and masks of all splits.

        The hash is computed from the hashes in the manifest. `dataprep verify` checks those, and prints this hash.
        """
        shards = [[s.first_name, s.tokens, s.hash, s.ends_hash, s.mask_hash] for s in self.manifest.shards]
        tokenizer = self.tokenizer_hash or ""
        return hashlib.sha256(json.dumps([tokenizer, self.vocab_size, shards]).encode()).hexdigest()

    @property
    def tokenizer_hash(self) -> str | None:
        """The hash of the tokenizer that encoded the shards; None if the manifest does not state it."""
        return None if self.manifest.tokenizer is None else self.manifest.tokenizer.hash

    @property
    def tokenizer_file(self) -> Path | str:
        """The path or URL of the tokenizer that is stored with the shards; it need not exist."""
        return self.file(self._tokenizer)

    @property
    def tokenizer_data(self) -> bytes | None:
        """The content of the tokenizer that is stored with the shards; None if there is none."""
        with contextlib.suppress(FileNotFoundError):
            return self.read(self._tokenizer, ranges.read)
        return None

    @property
    def _tokenizer(self) -> str:
        return (self.manifest.tokenizer and self.manifest.tokenizer.file) or TOKENIZER

    @property
    def n_tokens(self) -> int:
        """The number of tokens in these shards, separators included."""
        return sum(s.tokens for s in self.shards)

    @property
    def n_bytes(self) -> int:
        """The number of UTF-8 bytes of the text of all documents."""
        return sum(s.bytes for s in self.shards)

    @cached_property
    def token_bytes(self) -> npt.NDArray[np.int32] | None:
        """The number of bytes of text of each token id, int32[vocab_size], 0 for special tokens.

        None if token_bytes.npy is missing.
        """
        name = self.manifest.bytes_per_token
        if name is None:
            return None
        try:
            sizes = np.asarray(self.read(name, load_array), np.int32)
        except (OSError, ValueError) as e:
            raise self._damaged(name, f"it is not the array that was written ({str(e).splitlines()[0]})") from e
        if self.manifest.bytes_per_token_hash not in (None, content_hash(sizes)):
            raise self._damaged(name, "its values have changed since they were written")
        if len(sizes) != self.vocab_size:
            raise self._damaged(name, f"it has {len(sizes):,} numbers for {self.vocab_size:,} ids")
        return sizes

    def memmaps(self) -> list[np.memmap[Any, Any]]:
        """Return the tokens of each shard, in order: arrays of ids, uint16 or uint32, read from disk on access.

        Of shards at a URL, the arrays are instances of `RemoteArray`.
        """
        return [self._map(s, "bin", self.dtype, s.tokens) for s in self.shards]

    def masks(self) -> list[np.memmap[Any, Any] | None]:
        """Return the loss mask of each shard, in order: uint8[tokens], or None for a shard whose tokens all count."""
        mask = np.dtype(np.uint8)
        return [self._map(s, "msk", mask, s.tokens) if s.has_mask else None for s in self.shards]

    def ends(self, i: int) -> Ends:
        """Return the index after the last token of each document of shard number `i`, uint64[documents].

        The separator after a document is counted as its last token.

        Raises CorruptShard if the ends do not ascend to the number of tokens; this is checked once.
        """
        s = self.shards[i]
        ends: Ends = self._map(s, "idx", ENDS, s.documents)
        if i not in self._rising:
            name = f"{s.name}.idx"
            if isinstance(self.path, str) and s.ends_hash not in (None, content_hash(ends)):
                raise self._damaged(name, "its content has changed since it was written")
            if len(ends) and (ends[0] == 0 or (ends[1:] <= ends[:-1]).any() or int(ends[-1]) != s.tokens):
                raise self._damaged(name, "its document ends do not increase to the end of the tokens")
            self._rising.add(i)
        return ends

    def file(self, name: str) -> Path | str:
        """Return the current path of a file that the manifest names, also if a later run has moved it to `_replaced`.

        Of shards at a URL, its URL is returned. Raises Replaced if a later run removed a local file.
        """
        if isinstance(self.path, str):
            return ranges.located(self.path, name)
        folder = self.path if here() == self.given_in else Path(self.given_in, self.path)
        if (folder / name).exists():
            return folder / name
        if (folder / REPLACED / name).exists():
            return folder / REPLACED / name
        if name in self.manifest.names() and name not in _manifest(folder).names():
            raise self._replaced()
        return folder / name

    def read(self, name: str, opened: Callable[[Path | str], T]) -> T:
        """Return `opened(path)` of a file that the manifest names, which a later run may move in the meantime."""
        if isinstance(self.path, str):
            try:
                return opened(self.file(name))
            except FileNotFoundError:
                if name in self.manifest.names() and name not in _manifest(self.path).names():
                    raise self._replaced() from None
                raise
        for _ in range(2):  # it is moved, and then removed
            with contextlib.suppress(FileNotFoundError):
                return opened(self.file(name))
        return opened(self.file(name))

    def document(self, k: int) -> Tokens:
        """Return the token ids of document number `k` (from 0, train before val), without the separator after it."""
        _, i, row = self._find(k)
        s, ends = self.shards[i], self.ends(i)
        start = int(ends[row - 1]) if row else 0
        return np.array(self._map(s, "bin", self.dtype, s.tokens)[start : int(ends[row]) - 1])

    def provenance(self, k: int) -> Document:
        """Return id, source, split, shard and token range of document number `k`; needs pyarrow.

        Documents are numbered from 0; those of train come before those of val.
        """
        from .provenance import Document

        k, i, row = self._find(k)
        entry, (found,) = self.shards[i], self.docs(i).slice(row, 1).to_pylist()
        return Document(k=k, split=entry.split, shard=entry.name, row=row, **found)

    def _find(self, k: int) -> tuple[int, int, int]:
        """Return the number of a document, 0 or more, the number of its shard, and its row there."""
        k = range(len(self))[k]  # negative numbers and IndexError as for a list
        i = int(np.searchsorted(self._documents_before, k, side="right")) - 1
        return k, i, k - int(self._documents_before[i])

    def find(self, id_: int) -> list[int]:
        """Return the numbers of the documents with the id `id_` (a mixture may have several); needs pyarrow."""
        numbers: list[int] = np.flatnonzero(self.column("id").to_numpy() == np.uint64(id_)).tolist()
        return numbers

    def docs(self, number: int, columns: Sequence[str] = ("id", "source", "start", "stop")) -> pa.Table:
        """Return the table of the documents of one shard, in order; needs pyarrow.

        Args:
            number: the index of the shard.
            columns: the names of the columns to read.

        Raises CorruptShard if the file is not such a table.
        """
        from .provenance import read_docs

        name = f"{self.shards[number].name}.docs.parquet"
        try:
            return self.read(name, partial(read_docs, columns=columns))
        except FileNotFoundError as e:
            msg = f"cannot read {ranges.located(self.path, name)} as the table that was written: it is missing; {AGAIN}"
            raise CorruptShard(msg) from e

    def column(self, name: str) -> pa.ChunkedArray:
        """Return the column "id" or "source" of all documents; needs pyarrow."""
        from .provenance import column_of

        return column_of((self.docs(i, [name]) for i in range(len(self.shards))), name)

    def _check_sizes(self) -> None:
        wanted = {f"{s.name}.{kind}": n for s in self.shards for kind, n in sizes_of(s, self.dtype).items()}
        stored = ranges.sizes(self.path, wanted) if isinstance(self.path, str) else None
        for name, expected in wanted.items():
            found = self._size(name) if stored is None else stored.get(name)
            if found != expected:
                what = "it is missing" if found is None else f"it has {found:,} bytes"
                if found is None and name not in _manifest(self.path).names():
                    raise self._replaced()
                raise self._damaged(name, f"{what}, but the manifest states {expected:,}")

    def _size(self, name: str) -> int | None:
        """Return the size of a local file in bytes; None if it is missing."""
        with contextlib.suppress(FileNotFoundError):
            return self.read(name, os.path.getsize)
        return None

    def _replaced(self) -> Replaced:
        return Replaced(f"the token shards in {self.path} were replaced since they were opened; open them again")

    def _damaged(self, name: str, what: str) -> CorruptShard:
        return CorruptShard(f"{ranges.located(self.path, name)}: {what}; {AGAIN}")

    @cached_property
    def _documents_before(self) -> npt.NDArray[np.int64]:
        return np.cumsum([0, *(s.documents for s in self.shards)])

    def _map(self, s: TokenShard, kind: str, dtype: np.dtype[Any], n: int) -> Any:
        """Return a file of a shard, mapped by the first call."""
        name = f"{s.name}.{kind}"
        if name not in self._maps:  # an empty file cannot be mapped
            self._maps[name] = self._opened(name, dtype, n) if n else np.zeros(0, dtype)
        return self._maps[name]

    def _opened(self, name: str, dtype: np.dtype[Any], n: int) -> Any:
        """Return a file of a shard as an array that is read on access; document ends at a URL are read at once."""
        if isinstance(self.path, Path):
            return self.read(name, partial(np.memmap, dtype=dtype, mode="r", shape=(n,)))
        if not name.endswith(".idx"):
            return ranges.RemoteArray(str(self.file(name)), dtype, n)
        return np.frombuffer(self.read(name, partial(ranges.read, stop=n * dtype.itemsize)), dtype)


def _manifest(path: Path | str) -> TokenManifest:
    """Return the manifest in a folder of token shards; the errors are those of `Shards.open`."""
    at = ranges.located(path, MANIFEST)
    try:
        data = ranges.read(at)
        found = checked(data, json.loads(data))
    except (FileNotFoundError, NotADirectoryError) as e:
        msg = f"{path} has no manifest.json, so it is not a folder of token shards; make one with dp.encode"
        raise PlanError(msg) from e
    except (ValueError, RecursionError) as e:
        msg = f"{at} is damaged ({e}); remove it and encode again"
        raise CorruptShard(msg) from e
    except OSError as e:
        msg = f"{at} cannot be read ({e.strerror or e}); remove it and encode again"
        raise CorruptShard(msg) from e
    if not isinstance(found, dict) or found.get("kind") != TOKENS:
        msg = f"{at} does not describe token shards; point to a folder that dp.encode wrote"
        raise PlanError(msg)
    manifest = TokenManifest.of(found, str(at))
    if wrong := unlike_written(manifest):
        msg = f"{at}: its {wrong} is not what was written; {AGAIN}"
        raise CorruptShard(msg)
    return manifest


def sizes_of(entry: TokenShard, dtype: np.dtype[Any]) -> dict[str, int]:
    """Return the size that each file of a token shard must have, as {suffix: bytes}.

    Args:
        entry: the shard's entry in the manifest.
        dtype: the type of the token ids.
    """
    sizes = {"bin": entry.tokens * dtype.itemsize, "idx": entry.documents * ENDS.itemsize}
    return sizes | ({"msk": entry.tokens} if entry.has_mask else {})
