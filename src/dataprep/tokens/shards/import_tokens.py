"""`import_tokens`: convert nanoGPT's `train.bin` and llm.c's files to token shards."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.core.model.batch import POSITION_BITS, Ids
from dataprep.core.output import forget_list
from dataprep.core.output.staging import Staging
from dataprep.core.output.state import TokenShard
from dataprep.errors import PlanError, ReadError
from dataprep.store import files, hashes
from dataprep.store.key import key
from dataprep.tokens.shard_format import DTYPES, ENDS, SHARD_TOKENS, token_dtype
from dataprep.tokens.split import SIDES
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

from .export import COPY_BYTES, LLMC, LLMC_INTS
from .folder import begin, check_shard_tokens, commit, shard_folder, write_vocabulary
from .shard import Shards
from .writer import Writer, arrange, copy_ranges, runs_of

log = logging.getLogger("dataprep")

VERSION = 1
NAMES = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


def import_tokens(
    path: str | os.PathLike[str] | Mapping[str, str | Sequence[str]],
    tokenizer: Tokenizer | str | os.PathLike[str] | None,
    out: str | os.PathLike[str],
    *,
    eot: int | None = None,
    dtype: str = "uint16",
    shard_tokens: int = SHARD_TOKENS,
    replace: bool = False,
) -> Shards:
    """Write token shards from files made for nanoGPT or llm.c; the separator delimits documents.

    Args:
        path: a folder of `.bin` files with train, val, valid or test in their names, or {"train": path or list of
            paths}.
        tokenizer: the tokenizer that made the ids; None: the `tokenizer.json` next to the files, as `export` writes it.
        out: a folder or a URL.
        eot: the id of the separator; `<|endoftext|>` of the tokenizer by default. Another separator is
            replaced by `<|endoftext|>`.
        dtype: "uint32" if nanoGPT files have four bytes per token; for llm.c, the header states it.
        shard_tokens: the maximum number of tokens per shard; a longer document gets a shard of its own.
        replace: replace shards in `out` that were made from other files or with other settings.

    Documents on the forget list of `out` are left out.

    In nanoGPT's files a separator ends a document, whereas in llm.c's files it begins one; the result is the same. A
    document's id is `file:position`, the number of its file and of its first token; tokens after the last separator
    form a document too.

    Raises:
        PlanError: there are no files, the vocabulary does not fit `dtype`, there is no tokenizer, or a different one is
            next to the files.
        ReadError: a file is incomplete, or has ids that the tokenizer does not have.
    """
    given = _given(path)
    tok = _tokenizer(given, tokenizer)
    folder = shard_folder(out)
    token_dtype(tok.vocab_size, dtype)
    check_shard_tokens(shard_tokens)
    inside = next((url for _, url in given if files.is_inside(url, folder)), None)
    if inside is not None:
        msg = f"{folder} holds the input {inside}; choose another folder as out"
        raise PlanError(msg)
    separator = tok.eot if eot is None else eot
    found = [_Bin.open(url, side, number, dtype) for number, (side, url) in enumerate(given)]
    prints = [(b.side, hashes.fingerprint(b.url)) for b in found]
    recipe = key(["import", VERSION, prints, tok.hash, separator, dtype, shard_tokens])
    shown = {"eot": separator, "dtype": dtype, "shard_tokens": shard_tokens}
    settings = {"tokenizer": tok.hash[:8], **shown}
    with begin(folder, recipe, settings, made_by="import", tokenizer=tok.file, replace=replace) as work:
        if work.result is not None:
            return work.result
        _, vocabulary = write_vocabulary(work, tok)
        dropped = forget_list.listed(work.out)
        entries = [
            one
            for side in SIDES
            for one in _write(found, side, tok, separator, work.files, dtype, shard_tokens, dropped)
        ]
        imported = [{"split": b.side, "name": os.path.basename(b.url), "form": b.form} for b in found]
        return commit(work, entries, dtype=dtype, **vocabulary, imported=imported)


@dataclass(frozen=True)
class _Bin:
    """A file of ids: `first` bytes of header, then `n` of them."""

    url: str
    side: str
    number: int
    form: str
    dtype: np.dtype[Any]
    first: int
    n: int

    @classmethod
    def open(cls, url: str, side: str, number: int, dtype: str) -> _Bin:
        size = files.size(url)
        with files.open_raw(url) as f:
            head = np.frombuffer(f.read(LLMC_INTS * 4), np.uint8)
        ints = head[: len(head) // 4 * 4].view("<i4")
        known = {numbers: name for name, numbers in LLMC.items()}
        name = known.get((int(ints[0]), int(ints[1]))) if len(ints) == LLMC_INTS else None
        if name is None:
            kind = DTYPES[dtype]
            if size % kind.itemsize:
                msg = f"has {size:,} bytes, not a whole number of {dtype} ids; fetch it again, or set dtype="
                raise ReadError(msg, url)
            return cls(url, side, number, "nanogpt", kind, 0, size // kind.itemsize)
        kind, n = DTYPES[name], int(ints[2])
        if size != LLMC_INTS * 4 + n * kind.itemsize:
            msg = f"has {size:,} bytes, but its header states {n:,} tokens of {kind.itemsize} bytes; fetch it again"
            raise ReadError(msg, url)
        return cls(url, side, number, "llmc", kind, LLMC_INTS * 4, n)

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[npt.NDArray[Any]]:
        """Yield the ids [start, stop) in blocks."""
        left = ((self.n if stop is None else stop) - start) * self.dtype.itemsize
        with files.open_raw(self.url) as f:
            f.seek(self.first + start * self.dtype.itemsize)
            while left > 0 and (block := f.read(min(left, COPY_BYTES))):
                left -= len(block)
                yield np.frombuffer(block, self.dtype)

    def ends(self, tok: Tokenizer, separator: int) -> tuple[npt.NDArray[np.uint64], int]:
        """Return the exclusive ends of documents, separators included, and the number of ids before the first document.

        The number is 1 for llm.c's leading separator. The last document has no separator, but is counted with one.
        """
        found, at = [np.zeros(0, np.int64)], 0
        for block in self.blocks():
            if len(block) and int(block.max()) >= tok.vocab_size:
                i = int(np.argmax(block >= tok.vocab_size))
                msg = (
                    f"token {at + i:,} is {int(block[i]):,}, but the tokenizer has only {tok.vocab_size:,} ids; "
                    "pass the tokenizer that made the file"
                )
                raise ReadError(msg, self.url)
            found.append(np.flatnonzero(block == separator) + at + 1)
            at += len(block)
        ends = np.concatenate(found).astype(ENDS)
        begins = int(self.form == "llmc" and len(ends) > 0 and ends[0] == 1)
        ends = ends[begins:]
        last = int(ends[-1]) if len(ends) else begins
        if begins or last < self.n:
            ends = np.append(ends, np.array([self.n + 1], ENDS))  # with the separator it lacks
        return ends, begins

    def ids(self, ends: npt.NDArray[np.uint64], begins: int) -> Ids:
        """Return the id of each document.

        - ends: without the `begins` ids before the first document.
        """
        began = np.append(np.zeros(1, ENDS), ends)[:-1] + np.uint64(begins)
        return began + np.uint64(self.number << POSITION_BITS)


def _given(path: Any) -> list[tuple[str, str]]:
    """Return (split, path) of every file, train first."""
    if isinstance(path, Mapping):
        wrong = sorted(set(path) - set(SIDES))
        if wrong:
            msg = f"{wrong[0]!r} must be one of {', '.join(SIDES)}"
            raise PlanError(msg)
        named = [(s, p) for s in SIDES for p in ([path[s]] if isinstance(path.get(s), str) else path.get(s, ()))]
    else:
        folder = os.fspath(path)
        home = folder if files.is_dir(folder) else os.path.dirname(folder)
        names = files.listdir(folder) if files.is_dir(folder) else [os.path.basename(folder)]
        named = [(_side(n), os.path.join(home, n)) for n in names if n.endswith(".bin")]
    found = sorted(((s, os.fspath(p)) for s, p in named), key=lambda one: SIDES.index(one[0]))
    if not found:
        msg = f"{path} has no .bin file; pass the folder with train.bin and val.bin"
        raise PlanError(msg)
    return found


def _tokenizer(given: Sequence[tuple[str, str]], named: Tokenizer | str | os.PathLike[str] | None) -> Tokenizer:
    """Return the tokenizer that is named, or else the one next to the files. Raises PlanError if they differ."""
    folders = dict.fromkeys(os.path.dirname(url) for _, url in given)
    nearby = [url for folder in folders if files.exists(url := files.join(folder, "tokenizer.json"))]
    if named is None:
        if not nearby:
            msg = f"there is no tokenizer.json next to {given[0][1]}; pass the tokenizer that made its ids"
            raise PlanError(msg)
        named = nearby[0]
    tok = named if isinstance(named, Tokenizer) else Tokenizer.load(named)
    for url in nearby:
        if Tokenizer.load(url).hash != tok.hash:
            msg = (
                f"{url}, next to the ids, differs from the tokenizer given, which would decode the ids to other text; "
                "pass no tokenizer, or, if the one given is right, move the .bin files to a folder without that file"
            )
            raise PlanError(msg)
    return tok


def _side(name: str) -> str:
    """Return the split in a file's name; train if there is none."""
    words = name.replace("-", "_").replace(".", "_").lower().split("_")
    return next((NAMES[word] for word in words if word in NAMES), "train")


def _write(
    found: Sequence[_Bin], side: str, tok: Tokenizer, separator: int, places: Staging, dtype: str, shard_tokens: int,
    dropped: Ids,
) -> Iterator[TokenShard]:  # fmt: skip
    """Write the shards of one split without the documents `dropped`; yield their entries."""
    bins = [b for b in found if b.side == side]
    known = [b.ends(tok, separator) for b in bins]
    for b, (ends, _) in zip(bins, known, strict=True):
        if b.n and len(ends) == 1 and int(ends[0]) > b.n:
            log.warning("%s has no separator %d, so it is one document; set eot= to the separator", b.url, separator)
    cut = [ends - np.uint64(begins) for ends, begins in known]
    ids = [b.ids(ends, begins) for b, ends, (_, begins) in zip(bins, cut, known, strict=True)]
    for number, runs in enumerate(arrange(cut, shard_tokens)):
        kept = [(i, start + a, start + b) for i, start, stop in runs
                for a, b in runs_of(~np.isin(ids[i][start:stop], dropped))]  # fmt: skip
        if not kept:
            continue
        with Writer(places.home, side, number, dtype=dtype, generation=places.generation) as shard:
            for i, start, stop in kept:
                _copy(shard, bins[i], cut[i], ids[i], known[i][1], (start, stop), tok, separator)
        yield shard.entry


def _copy(
    shard: Writer, source: _Bin, ends: npt.NDArray[Any], ids: Ids, begins: int, docs: tuple[int, int], tok: Tokenizer,
    old: int,
) -> None:  # fmt: skip
    """Append the documents `docs` = (start, stop) of a file, in blocks."""
    sizes, dtype = tok.token_bytes, shard.dtype
    for first, last, start, stop in copy_ranges(ends, *docs, COPY_BYTES // dtype.itemsize):
        read = list(source.blocks(start + begins, min(stop + begins, source.n)))
        tokens = np.concatenate([np.zeros(0, dtype), *read]).astype(dtype, copy=False)
        if len(tokens) < stop - start:  # the file's last document has no separator
            tokens = np.append(tokens, dtype.type(tok.eot))
        bounds = ends[first:last] - np.uint64(start)
        if old != tok.eot:
            tokens = tokens.copy()
            tokens[(bounds - np.uint64(1)).astype(np.int64)] = tok.eot
        name = os.path.basename(source.url).removesuffix(".bin")
        shard.add(tokens, bounds, ids[first:last], [name] * len(bounds), int(sizes[tokens].sum(dtype=np.int64)))
