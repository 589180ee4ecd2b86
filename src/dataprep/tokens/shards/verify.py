"""`verify_shards`: read every file of a folder of token shards, and list the files that have changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.output.layout import Folder
from dataprep.core.output.state import TokenShard
from dataprep.core.run.runner import runner_of
from dataprep.errors import DataprepError, counted
from dataprep.store import files
from dataprep.tokens.shard_format import AGAIN, ENDS, content_hash, load_array
from dataprep.tokens.vocabulary.library import LibraryTokenizer

from .folder import SHARD_FILE, own_tokenizer
from .shard import Shards, sizes_of

if TYPE_CHECKING:
    from dataprep.core.run.runner import Runner

STOPPED = "a run was stopped while it replaced the result: run the same pipeline again to finish it"
BLOCK_BYTES = 8 << 20  # read at a time


class Problem(NamedTuple):
    """One problem that `verify_shards` found: the file, the problem (`found`), and the advice (`do`)."""

    file: str
    found: str
    do: str = AGAIN


def verify_shards(path: str | os.PathLike[str], runner: Runner | None = None) -> list[Problem]:
    """Read every file of a folder of token shards; return its problems, an empty list if there are none.

    The function checks that sizes and hashes are those of the manifest, that ids are in the vocabulary, that each
    document ends with its separator, that the stated bytes of text match the ids, that masks are 0 and 1, that
    `.docs.parquet` agrees with `.idx`, that `tokenizer.json` is the tokenizer that encoded the shards, and that there
    are no other shards. If the manifest has no hash of a file, the hash is not checked.

    Raises PlanError if there are no token shards, CorruptShard if their manifest is not JSON.
    """
    path = os.fspath(path)
    shards = Shards.open(path, sizes=False)
    problems = [*_totals(shards), *_tokenizer(shards), *_strays(shards)]
    sizes, found = _token_bytes(shards)
    sizes = None if found or _changes_texts(shards) else sizes
    items = [CheckShard(shards, number, sizes) for number in range(len(shards.shards))]
    for checked in runner_of(runner).map(CheckShard.problems, items, "verify"):
        problems += checked
    return problems + found


@dataclass(frozen=True)
class CheckShard:
    """The check of one token shard, number `number` of `shards`, which is read block by block.

    Attributes:
        sizes: the bytes of text per token id, int32; None if the file with them is damaged.
    """

    shards: Shards
    number: int
    sizes: npt.NDArray[np.int32] | None

    @property
    def entry(self) -> TokenShard:
        """The manifest entry of the shard."""
        return self.shards.shards[self.number]

    @property
    def name(self) -> str:
        """The name of the shard."""
        return self.entry.name

    @property
    def n_bytes(self) -> int:
        """The size of the shard's tokens in bytes, for the progress bar."""
        return self.entry.tokens * self.shards.dtype.itemsize

    def __str__(self) -> str:
        return files.join(str(self.shards.path), self.name)

    def _url(self, kind: str) -> str:
        return str(self.shards.file(f"{self.name}.{kind}"))

    def problems(self) -> list[Problem]:
        """Return the problems of the shard's files; a file of the wrong size is not read."""
        s = self.entry
        found: list[Problem] = []
        for kind, expected in sizes_of(s, self.shards.dtype).items():
            size = files.size(self._url(kind)) if files.exists(self._url(kind)) else None
            if size != expected:
                state = "is missing" if size is None else f"has {size:,} bytes"
                found.append(Problem(f"{self.name}.{kind}", f"{state}, but the manifest states {expected:,}"))
        wrong = {p.file.rpartition(".")[2] for p in found}
        ends = None if "idx" in wrong else self._ends(s, found)
        if "bin" not in wrong:
            found += self._tokens(s, ends)
        if s.has_mask and "msk" not in wrong:
            found += self._mask(s)
        return [*found, *self._docs(s, ends)]

    def _ends(self, s: TokenShard, found: list[Problem]) -> npt.NDArray[np.uint64] | None:
        """Return the document ends, or None if they are invalid."""
        name = f"{self.name}.idx"
        with files.open_raw(self._url("idx")) as f:
            ends = np.frombuffer(f.read(), ENDS)
        if s.ends_hash not in (None, content_hash(ends)):
            found.append(Problem(name, "its content has changed since it was written"))
        rises = not len(ends) or (ends[0] > 0 and (ends[1:] > ends[:-1]).all())
        if not rises or (int(ends[-1]) if len(ends) else 0) != s.tokens:
            found.append(Problem(name, f"the document ends do not increase to the {s.tokens:,} tokens"))
            return None
        return ends

    def _tokens(self, s: TokenShard, ends: npt.NDArray[np.uint64] | None) -> Iterator[Problem]:
        name, vocab, eot = f"{self.name}.bin", self.shards.vocab_size, self.shards.eot
        digest, at, n_bytes, outside, unclosed = hashlib.sha256(), 0, 0, 0, list[int]()
        for block in self._blocks("bin", self.shards.dtype):
            digest.update(block.view(np.uint8).data)
            wrong = int(np.count_nonzero(block >= vocab)) if len(block) and int(block.max()) >= vocab else 0
            outside += wrong
            if self.sizes is not None:
                ids = block[block < vocab] if wrong else block
                n_bytes += int(self.sizes[ids].sum(dtype=np.int64))
            if ends is not None:
                first, stop = np.searchsorted(ends, np.array([at + 1, at + len(block) + 1], ENDS))
                last = ends[first:stop] - np.uint64(at + 1)
                unclosed += (np.flatnonzero(block[last] != eot) + first).tolist()
            at += len(block)
        if s.hash not in (None, "sha256:" + digest.hexdigest()):
            yield Problem(name, "its content has changed since it was written")
        if outside:
            are = "is" if outside == 1 else "are"
            yield Problem(name, f"{counted(outside, 'id')} {are} outside the vocabulary of {vocab:,}")
        if unclosed:
            do = "does" if len(unclosed) == 1 else "do"
            of = counted(len(unclosed), "document")
            yield Problem(name, f"{of} {do} not end with the separator {eot}, e.g. {unclosed[0]}")
        if self.sizes is not None and not outside and n_bytes != s.bytes:
            yield Problem(name, f"its ids represent {n_bytes:,} bytes of text, but the manifest states {s.bytes:,}")

    def _mask(self, s: TokenShard) -> Iterator[Problem]:
        digest, others = hashlib.sha256(), 0
        for block in self._blocks("msk", np.dtype(np.uint8)):
            digest.update(block.data)
            others += int(np.count_nonzero(block > 1))
        if "sha256:" + digest.hexdigest() != s.mask_hash:
            yield Problem(f"{self.name}.msk", "its content has changed since it was written")
        if others:
            yield Problem(f"{self.name}.msk", f"{others:,} of its values are neither 0 nor 1")

    def _blocks(self, kind: str, dtype: np.dtype[Any]) -> Iterator[npt.NDArray[Any]]:
        with files.open_raw(self._url(kind)) as f:
            while block := f.read(BLOCK_BYTES):
                yield np.frombuffer(block, dtype)

    def _docs(self, s: TokenShard, ends: npt.NDArray[np.uint64] | None) -> Iterator[Problem]:
        name = f"{self.name}.docs.parquet"
        url = self._url("docs.parquet")
        if not files.exists(url):
            yield Problem(name, "is missing")
            return
        with files.open_raw(url) as f:
            same = s.docs_hash in (None, content_hash(f.read()))
        if not same:
            yield Problem(name, "its content has changed since it was written")
        try:
            table = self.shards.docs(self.number)
        except DataprepError:
            yield Problem(name, "it cannot be read as a table of id, source, start, stop")
            return
        ordered = self.shards.manifest.mixture is None  # which repeats documents, in an order of its own
        yield from (Problem(name, what) for what in _rows(table, s, ends, ordered=ordered))


def _rows(table: pa.Table, s: TokenShard, ends: npt.NDArray[np.uint64] | None, *, ordered: bool) -> Iterator[str]:
    """Yield the problems of the rows of a document table."""
    if len(table) != s.documents:
        yield f"it has {len(table):,} documents, but the manifest states {s.documents:,}"
        return
    ids, start, stop = (table[name].to_numpy() for name in ("id", "start", "stop"))
    if ordered and (ids[1:] < ids[:-1]).any():
        yield f"the ids are not in ascending order, first at row {int(np.argmax(ids[1:] < ids[:-1])) + 1:,}"
    if pc.any(pc.is_null(table["source"])).as_py():
        yield "some documents have no source"
    if ends is not None and not (
        np.array_equal(stop, ends - np.uint64(1)) and np.array_equal(start, np.append(np.zeros(1, ENDS), ends)[:-1])
    ):
        yield "its token ranges are not those of the .idx file"


def _totals(shards: Shards) -> Iterator[Problem]:
    for what in ("tokens", "documents", "bytes"):
        stated, found = getattr(shards.manifest, what), sum(getattr(s, what) for s in shards.shards)
        if stated != found:
            yield Problem("manifest.json", f"it states {stated:,} {what}, but its shards have {found:,}")


def _tokenizer(shards: Shards) -> Iterator[Problem]:
    entry = shards.manifest.tokenizer
    if entry is None or entry.file is None:
        return
    try:
        tok = own_tokenizer(shards)
    except DataprepError as e:
        what = " ".join(str(e).split()).removeprefix(files.join(str(shards.path), entry.file)).lstrip(": ")
        yield Problem(entry.file, what.rpartition(";")[0][:160] or what, "put the right one here, or " + AGAIN)
        return
    if tok is None:
        yield Problem(entry.file, "is missing", "copy it from the tokenizer's folder, or " + AGAIN)
    elif entry.file_hash not in (None, content_hash(shards.tokenizer_data)):
        yield Problem(entry.file, "its content has changed since it was written", AGAIN)
    elif tok.vocab_size > shards.vocab_size:
        what = f"has {tok.vocab_size:,} ids, but the manifest states {shards.vocab_size:,}"
        yield Problem("manifest.json", f"{entry.file} {what}")


def _changes_texts(shards: Shards) -> bool:
    """Return whether, because of a normalizer, ids may decode to a text that differs from the encoded one."""
    try:
        return isinstance(own_tokenizer(shards), LibraryTokenizer)
    except DataprepError:  # which `_tokenizer` reports
        return False


def _token_bytes(shards: Shards) -> tuple[npt.NDArray[np.int32] | None, list[Problem]]:
    """Return the bytes of text per id, and the problems of their file."""
    name = shards.manifest.bytes_per_token
    if name is None:
        return None, []
    try:
        sizes = shards.read(name, load_array)
    except FileNotFoundError:
        return None, [Problem(name, "is missing")]
    except (OSError, ValueError) as e:
        return None, [Problem(name, f"is not a NumPy array ({str(e).splitlines()[0][:100]})")]
    stated = shards.manifest.bytes_per_token_hash
    if sizes.dtype != np.int32 or sizes.shape != (shards.vocab_size,):
        return None, [Problem(name, f"is {sizes.dtype}{list(sizes.shape)}, not int32[{shards.vocab_size}]")]
    if stated is not None and content_hash(sizes) != stated:
        return None, [Problem(name, "its values have changed since they were written")]
    return sizes, []


def _strays(shards: Shards) -> Iterator[Problem]:
    """Yield shard files that the manifest does not name, of an older recipe or with forgotten documents."""
    known = {s.name for s in shards.shards}
    begun = files.exists(Folder(str(shards.path)).unfinished.url)
    for name in files.listdir(str(shards.path)):
        found = SHARD_FILE.fullmatch(name)
        if found and found["name"] not in known:
            yield Problem(name, "is not in the manifest", STOPPED if begun else "remove it")
