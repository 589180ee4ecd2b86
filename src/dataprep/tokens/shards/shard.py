"""Token shards on disk: the only file that knows how ids are stored.

    DIR/manifest.json           what is here: tokenizer, special ids, shards with their counts and hashes
    DIR/train-00000.bin         raw little-endian uint16, no header: np.memmap(path, dtype=np.uint16) reads it
    DIR/train-00000.idx         uint64 document ends (exclusive, the separator counted), one a document
    DIR/train-00000.msk         uint8, one a token: 1 where the token is to be learned; only in sets that have masks
    DIR/train-00000.docs.parquet  id, source, start, stop: the tokens [start, stop) of each document, without separator
    DIR/token_bytes.npy         bytes of text each id stands for (0 for special tokens): bits per byte, not per token

Every document is followed by `<|endoftext|>` and lies in one shard. An empty document is its separator alone, so that
documents and rows of the Dataset agree one to one. Reading needs numpy only; `.docs.parquet` is written with pyarrow.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dataprep.errors import CorruptShard, PlanError
from dataprep.store.atomic import whole

if TYPE_CHECKING:
    from .provenance import Document

KIND, VERSION = "tokens", 1
SHARD_TOKENS = 100_000_000  # 200 MB of uint16: few enough files for a trillion tokens, small enough to copy one
DTYPES: dict[str, np.dtype[Any]] = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4")}
ENDS = np.dtype("<u8")
AGAIN = "remove manifest.json and make the folder again"  # a sealed folder of the same recipe is found, not made

Tokens = npt.NDArray[Any]  # uint16 or uint32, as the manifest says
Ends = npt.NDArray[np.uint64]


def token_dtype(vocab_size: int, dtype: str = "uint16") -> np.dtype[Any]:
    """The stored integer type, refused where the vocabulary does not fit into it."""
    if dtype not in DTYPES:
        msg = f"dtype={dtype!r} is not a token type; choose one of {', '.join(DTYPES)}"
        raise PlanError(msg)
    room = 1 << 8 * DTYPES[dtype].itemsize
    if vocab_size > room:
        msg = (
            f"a vocabulary of {vocab_size:,} does not fit into {dtype} shards, which hold {room:,} ids; "
            'train a smaller one or pass dtype="uint32" (twice the disk)'
        )
        raise PlanError(msg)
    return DTYPES[dtype]


class Writer:
    """Writes one shard; nothing of it can be seen before the `with` block ends without an error.

    >>> with Writer(out, "train", 0, eot=50256) as shard:
    ...     shard.add(tokens, ends, ids, sources)
    >>> shard.entry
    {'name': 'train-00000', 'split': 'train', 'tokens': 5, 'documents': 1, 'bytes': 19, 'hash': ...}
    """

    def __init__(
        self, out: str | os.PathLike[str], split: str, number: int, *, dtype: str = "uint16", hashed: bool = True
    ) -> None:
        """`hashed=False` spares the hash of tokens that are to be written again."""
        self.out, self.split, self.name, self.hashed = Path(out), split, f"{split}-{number:05d}", hashed
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
        self,
        tokens: Tokens,
        ends: npt.ArrayLike,
        ids: Any,
        sources: Any,
        n_bytes: int,
        mask: npt.ArrayLike | None = None,
    ) -> None:
        """Append whole documents.

        `tokens` [n_tokens] with each document's separator, `ends` [n] exclusive ends in `tokens`, `ids` uint64 [n],
        `sources` n names (list or Arrow array), `n_bytes` the UTF-8 bytes of their text, `mask` [n_tokens] 1 where a
        token is to be learned: with every call, or with none.
        """
        ends = np.asarray(ends, ENDS)
        data = np.ascontiguousarray(tokens, self.dtype)
        assert len(ends) == len(ids) == len(sources), (len(ends), len(ids), len(sources))
        assert (int(ends[-1]) if len(ends) else 0) == len(data), "the last document ends where the tokens end"
        view = data.view(np.uint8)
        if self.hashed:
            self._hash.update(view.data)
        self._bin.write(view.data)
        if mask is not None:
            self._learn(np.ascontiguousarray(mask, np.uint8), len(data))
        assert (mask is None) == (self._mask is None), "every document of a shard has a mask, or none has"
        self._ends.append(ends + np.uint64(self.tokens))
        self._ids.append(np.asarray(ids, np.uint64))
        self._sources.append(sources)
        self.tokens += len(data)
        self.documents += len(ends)
        self.bytes += n_bytes

    def _learn(self, mask: npt.NDArray[np.uint8], n_tokens: int) -> None:
        assert len(mask) == n_tokens, (len(mask), n_tokens)
        if self._mask is None:
            assert not self.tokens, "every document of a shard has a mask, or none has"
            self._mask = self._open.enter_context(whole(self.out / f"{self.name}.msk"))
        self._mask_hash.update(mask.data)
        self._mask.write(mask.data)

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            from .provenance import docs_table  # pyarrow: reading does without

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
                "hash": "sha256:" + self._hash.hexdigest() if self.hashed else None,
                "ends_hash": content_hash(ends),
                "docs_hash": content_hash(table),
            }
            if self._mask is not None:
                self.entry["mask_hash"] = "sha256:" + self._mask_hash.hexdigest()
        self._open.__exit__(*error)  # type: ignore[arg-type]


def content_hash(data: Any) -> str:
    """The hash of an array or of bytes, as the manifest has it."""
    return "sha256:" + hashlib.sha256(np.frombuffer(data, np.uint8).data).hexdigest()


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
    """Seal a folder of shards; `more` is kept as it is (tokenizer hash, split rule, recipe key ...)."""
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
        f.write(json.dumps(manifest, indent=1, ensure_ascii=False).encode() + b"\n")


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
    """Write documents that are already ids, `{"train": [ids, ...], "val": [ids, ...]}`, without separators.

    `masks` in the same form say which ids are to be learned; the last value of each is for the separator.
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
    """Which documents make each shard, as runs (piece, start, stop): in order, at most `shard_tokens` tokens a shard.

    `pieces` are the document ends of token files one after another. A document longer than a shard stands alone. How
    the tokens were cut into pieces does not matter.
    """
    shards: list[list[tuple[int, int, int]]] = []
    held = shard_tokens  # what the last shard holds: as if one before the first were full
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


class Shards:
    """Encoded documents at rest, memory-mapped: opening costs nothing, and workers share the pages.

    >>> shards = Shards.open("work/shards")
    >>> len(shards), shards.n_tokens
    (12345, 67890123)
    >>> shards.split("val").document(0)
    array([ 464, 2159,   13], dtype=uint16)
    """

    def __init__(self, path: Path, manifest: dict[str, Any], split: str | None = None) -> None:
        self.path, self.manifest, self.split_name = path, manifest, split
        #: the manifest's entries of this split, in order: name, split, tokens, documents, bytes, hash
        self.shards: list[dict[str, Any]] = [s for s in manifest["shards"] if split is None or s["split"] == split]
        self.dtype = DTYPES[manifest["dtype"]]
        self.eot: int = manifest["eot"]
        self.vocab_size: int = manifest["vocab_size"]
        self._rising: set[int] = set()  # shards whose document ends were looked at

    @classmethod
    def open(cls, path: str | os.PathLike[str], split: str | None = None, *, sizes: bool = True) -> Shards:
        """The shards in a folder, all (train, then val, then test) or one split's; `sizes`: compare the files'."""
        path = Path(path)
        try:
            manifest = json.loads((path / "manifest.json").read_bytes())
        except FileNotFoundError as e:
            msg = f"{path} holds no manifest.json, so it is no folder of token shards; make one with dp.encode"
            raise PlanError(msg) from e
        except ValueError as e:
            msg = f"{path / 'manifest.json'} is not JSON ({e}); remove it and encode again"
            raise CorruptShard(msg) from e
        if not isinstance(manifest, dict) or (manifest.get("kind"), manifest.get("version")) != (KIND, VERSION):
            msg = f"{path / 'manifest.json'} does not describe token shards; point to a folder that dp.encode wrote"
            raise PlanError(msg)
        shards = cls(path, manifest, split)
        if sizes:
            shards._check_sizes()
        return shards

    def split(self, name: str) -> Shards:
        """The documents of one side, "train", "val" or "test" (possibly none)."""
        return Shards(self.path, self.manifest, name)

    def __len__(self) -> int:
        return int(self._documents_before[-1])

    def __repr__(self) -> str:
        side = "" if self.split_name is None else f", split={self.split_name!r}"
        return f"<Shards {str(self.path)!r}{side}: {len(self):,} documents, {self.n_tokens:,} tokens>"

    def __reduce__(self) -> tuple[Any, ...]:  # a memmap would travel as a copy of its bytes
        return Shards, (self.path, self.manifest, self.split_name)

    @property
    def n_tokens(self) -> int:
        """Everything in the files, separators included."""
        return sum(s["tokens"] for s in self.shards)

    @property
    def n_bytes(self) -> int:
        """UTF-8 bytes of the text these tokens stand for."""
        return sum(s["bytes"] for s in self.shards)

    @cached_property
    def token_bytes(self) -> npt.NDArray[np.int32] | None:
        """Bytes of text per id, int32[vocab_size], 0 for special tokens; None where it was not recorded."""
        name = self.manifest["bytes_per_token"]
        if name is None:
            return None
        try:
            sizes = np.asarray(np.load(self.path / name), np.int32)
        except (OSError, ValueError, EOFError) as e:
            msg = f"{self.path / name}: it is not the array that was written ({str(e).splitlines()[0]}); {AGAIN}"
            raise CorruptShard(msg) from e
        if len(sizes) != self.vocab_size:
            msg = f"{self.path / name}: it has {len(sizes):,} numbers for {self.vocab_size:,} ids; {AGAIN}"
            raise CorruptShard(msg)
        return sizes

    def memmaps(self) -> list[np.memmap[Any, Any]]:
        """The tokens of each shard, in order: uint16[tokens], read from disk as they are touched."""
        return self._memmaps

    def masks(self) -> list[np.memmap[Any, Any] | None]:
        """For each shard which of its tokens are to be learned, uint8[tokens]; None where all are."""
        return self._masks

    def ends(self, i: int) -> Ends:
        """Where the documents of shard `i` end in its memmap, uint64[documents], separators included.

        CorruptShard where they do not rise to the end of the tokens, which is looked at once.
        """
        ends, s = self._ends[i], self.shards[i]
        if i not in self._rising:
            if len(ends) and (ends[0] == 0 or (ends[1:] <= ends[:-1]).any() or int(ends[-1]) != s["tokens"]):
                self._corrupt(s, "idx", "its document ends do not rise to the end of the tokens")
            self._rising.add(i)
        return ends

    def document(self, k: int) -> Tokens:
        """The ids of document `k` (0-based, train before val), without its separator."""
        k = range(len(self))[k]  # negative numbers and IndexError as for a list
        i = int(np.searchsorted(self._documents_before, k, side="right")) - 1
        ends, at = self.ends(i), k - int(self._documents_before[i])
        start = int(ends[at - 1]) if at else 0
        return np.array(self._memmaps[i][start : int(ends[at]) - 1])

    def provenance(self, k: int) -> Document:
        """Which document `k` is and where it lies: id, source, split, shard, start, stop; read with pyarrow."""
        from .provenance import locate

        return locate(self, k)

    def _check_sizes(self) -> None:
        for s in self.shards:
            sizes = {"bin": s["tokens"] * self.dtype.itemsize, "idx": s["documents"] * ENDS.itemsize}
            for kind, expected in (sizes | ({"msk": s["tokens"]} if "mask_hash" in s else {})).items():
                path = self.path / f"{s['name']}.{kind}"
                found = path.stat().st_size if path.exists() else None
                if found != expected:
                    what = "it is missing" if found is None else f"it has {found:,} bytes"
                    self._corrupt(s, kind, f"{what}, the manifest says {expected:,}")

    def _corrupt(self, s: dict[str, Any], kind: str, what: str) -> None:
        msg = f"{self.path / s['name']}.{kind}: {what}; {AGAIN}"
        raise CorruptShard(msg)

    @cached_property
    def _documents_before(self) -> npt.NDArray[np.int64]:
        return np.cumsum([0, *(s["documents"] for s in self.shards)])

    @cached_property
    def _memmaps(self) -> list[np.memmap[Any, Any]]:
        return [self._map(s, "bin", self.dtype, s["tokens"]) for s in self.shards]

    @cached_property
    def _masks(self) -> list[np.memmap[Any, Any] | None]:
        mask = np.dtype(np.uint8)
        return [self._map(s, "msk", mask, s["tokens"]) if "mask_hash" in s else None for s in self.shards]

    @cached_property
    def _ends(self) -> list[Ends]:
        return [self._map(s, "idx", ENDS, s["documents"]) for s in self.shards]

    def _map(self, s: dict[str, Any], kind: str, dtype: np.dtype[Any], n: int) -> Any:
        if n == 0:  # an empty file cannot be mapped
            return np.zeros(0, dtype)
        return np.memmap(self.path / f"{s['name']}.{kind}", dtype=dtype, mode="r", shape=(n,))
