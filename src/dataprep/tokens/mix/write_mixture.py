"""Write a mixture: documents of several sources, some repeated, spread evenly over new shards.

The order of documents is computed first and stored. Then a task per shard copies its documents from the memory-mapped
shards of the sources; all sources are read from start to end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.batch import Ids
from dataprep.core.output import forget_list
from dataprep.core.output.commit import Work
from dataprep.core.output.staging import Staging
from dataprep.core.output.state import MixedFolder, Origin, TokenizerFile, TokenShard
from dataprep.core.run.context import context_of, place_of
from dataprep.core.run.runner import runner_of
from dataprep.errors import CorruptShard, PlanError, redacted
from dataprep.store import files
from dataprep.store.key import key
from dataprep.store.place import given_in
from dataprep.tokens.shard_format import content_hash
from dataprep.tokens.shards.folder import (
    begin,
    check_shard_tokens,
    commit,
    own_tokenizer,
    pieces_of,
    shard_folder,
    shard_once,
    write_files,
    write_sizes,
)
from dataprep.tokens.shards.shard import MANIFEST, Shards
from dataprep.tokens.shards.writer import Writer, arrange, copy_ranges
from dataprep.tokens.split import SIDES
from dataprep.tokens.vocabulary.encoder import size_in_bytes
from dataprep.tokens.vocabulary.place import TOKENIZER, check_files

from .sources import MixSource, Numbers, lengths_of

if TYPE_CHECKING:
    from dataprep.core.run.runner import Runner

PLANNED = "tokens by source"
VERSION = 2  # increased if the same mixture has other bytes
BLOCK_TOKENS = 1 << 20  # copied at a time, with 40 bytes of offsets per token
DOCUMENT = np.dtype([("stream", "<u2"), ("doc", "<i8")])


def write_mixture(
    streams: list[MixSource],
    got: Mapping[str, int],
    out: str,
    seed: int,
    shard_tokens: int,
    runner: Runner | None,
    described: Callable[[Mapping[str, int]], dict[str, Any]],
    *,
    replace: bool,
) -> Shards:
    """Write the token shards of a mixture to the folder `out`, and return them; finished work is not repeated.

    - streams: the sources.
    - got: {source: wanted number of its tokens in the mixture}; approximate, because documents are kept whole.
    - seed: chooses the documents of partial epochs.
    - shard_tokens: the maximum number of tokens per shard.
    - runner: the Runner.
    - described: function that takes {source: tokens written} and returns the manifest entry `mixture`.

    Raises StaleOutput if `out` has other shards and `replace` is False, InUse if another process writes into `out`.
    """
    check_shard_tokens(shard_tokens)
    folder = place_of(shard_folder(out), runner)
    if files.real(folder) in [files.real(s.path) for s in streams]:
        msg = f"{folder} is one of the sources; choose another folder as out"
        raise PlanError(msg)
    first = streams[0].shards
    inputs = [[s.name, s.only, [_content(entry) for entry in s.shards.shards]] for s in streams]
    recipe = key([VERSION, inputs, dict(got), seed, shard_tokens, described(got)])
    settings = {PLANNED: dict(got), "seed": seed, "shard_tokens": shard_tokens}
    asked = [VERSION, [s.name for s in streams], described(got).get("asked"), seed, shard_tokens]
    origin = Origin(
        sources=tuple(MixedFolder(name=s.name, url=redacted(s.path), root=s.shards.root) for s in streams),
        work=key([*asked, first.tokenizer_hash, first.manifest.dtype]),
        given_in=given_in(s.path for s in streams),
    )
    again = "writing the mixture again"
    of_sources = {s.name: s.shards.manifest.forgotten for s in streams}
    with begin(
        folder, recipe, settings, made_by="mix", tokenizer=_tokenizer_file(first), replace=replace,
        of_sources=of_sources, origin=origin, again=again,
    ) as work:  # fmt: skip
        return work.result or _write(streams, got, work, seed, shard_tokens, runner_of(runner), described)


def _content(entry: TokenShard) -> list[Any]:
    """Return the values that determine the documents of a shard, regardless of its generation."""
    totals = [entry.tokens, entry.documents, entry.bytes]
    return [entry.first_name, entry.split, *totals, entry.hash, entry.ends_hash, entry.docs_hash, entry.mask_hash]


def _write(
    streams: list[MixSource], got: Mapping[str, int], work: Work[Shards], seed: int, shard_tokens: int, runner: Runner,
    described: Callable[[Mapping[str, int]], dict[str, Any]],
) -> Shards:  # fmt: skip
    """Write the shards, and make them the result of `work`."""
    context_of(runner).prepare([files.join(stream.path, MANIFEST) for stream in streams], work.out)
    first, pieces = streams[0].shards, pieces_of(work)
    tokenizer = _tokenizer(first, work)
    written: dict[str, int] = {}
    shards: list[MixedShard] = []
    dropped = forget_list.listed(work.out)
    for side in SIDES:
        documents, lengths = _order(streams, got, seed) if side == "train" else _held_out(streams, side)
        if len(dropped):
            kept = ~np.isin(_ids(streams, side, documents), dropped)
            documents, lengths = documents[kept], lengths[kept]
        if side == "train":
            written = {s.name: int(lengths[documents["stream"] == i].sum()) for i, s in enumerate(streams)}
        files.write_bytes(files.join(pieces, f"{side}.documents"), documents.tobytes())
        for number, ((_, start, stop),) in enumerate(arrange([np.cumsum(lengths)], shard_tokens)):
            shards.append(MixedShard(side, number, start, stop))
    light = tuple(dataclasses.replace(s) for s in streams)  # without their caches, for workers
    task = WriteMixedShard(
        places=work.files, pieces=pieces, streams=light, dtype=first.manifest.dtype, key=work.recipe.key
    )
    entries = list(runner.map(task, shards, "mix"))
    return commit(
        work, entries, dtype=first.manifest.dtype, vocab_size=first.vocab_size, eot=first.eot,
        special=first.manifest.special, tokenizer=tokenizer, **write_sizes(work, first.token_bytes),
        split={s.name: s.shards.manifest.split for s in streams}, mixture=described(written),
    )  # fmt: skip


def _tokenizer(first: Shards, work: Work[Shards]) -> TokenizerFile | None:
    """Copy the tokenizer of the sources; return its entry in the manifest. Raises CorruptShard if it has changed."""
    data = _tokenizer_file(first)
    if data is None:
        return first.manifest.tokenizer and TokenizerFile(hash=first.tokenizer_hash)
    check_files(work.out, {TOKENIZER: data})
    name = files.name_of(write_files(work, {TOKENIZER: data})[TOKENIZER])
    return TokenizerFile(file=name, hash=first.tokenizer_hash, file_hash=content_hash(data))


def _tokenizer_file(shards: Shards) -> bytes | None:
    """Return the content of the tokenizer of token shards. Raises CorruptShard if it has changed."""
    return None if own_tokenizer(shards) is None else shards.tokenizer_data


@dataclass(frozen=True)
class MixedShard:
    """One token shard to write: number `number` of the split `side` ("train" ...), with documents start to stop - 1."""

    side: str
    number: int
    start: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class WriteMixedShard:
    """The task that writes one token shard of a mixture, unless its receipt (record of finished work) exists.

    Attributes:
        places: the folders to which the shards are written.
        pieces: the folder of the receipts.
        streams: the sources.
        dtype: the type of the ids.
        key: a hash of everything that determines the mixture.
    """

    places: Staging
    pieces: str
    streams: tuple[MixSource, ...]
    dtype: str
    key: str

    def __call__(self, job: MixedShard) -> TokenShard:
        """Write the shard `job`, unless a receipt shows that it exists; return its entry in the manifest."""
        at = self.places
        writer = Writer(at.home, job.side, job.number, dtype=self.dtype, generation=at.generation)
        return shard_once(self.pieces, key([self.key, job]), writer, lambda shard: self._fill(shard, job))

    def _fill(self, shard: Writer, job: MixedShard) -> None:
        with files.open_raw(files.join(self.pieces, f"{job.side}.documents")) as f:
            f.seek(job.start * DOCUMENT.itemsize)
            documents = np.frombuffer(f.read((job.stop - job.start) * DOCUMENT.itemsize), DOCUMENT)
        source = _Copier(self.streams, job.side)
        first = self.streams[0].shards
        sizes = first.token_bytes
        for tokens, ends, ids, names, mask in source.blocks(documents):
            if len(tokens) and int(tokens.max()) >= first.vocab_size:
                msg = (
                    f"a source has the id {int(tokens.max()):,}, outside the vocabulary of {first.vocab_size:,}; "
                    "find its damaged shard with `dataprep verify`, and encode that source again"
                )
                raise CorruptShard(msg)
            n_bytes = 0 if sizes is None else int(size_in_bytes(tokens, sizes))
            shard.add(tokens, ends, ids, names, n_bytes, mask)


class _Copier:
    """Copies documents from the shards of one split of all streams."""

    def __init__(self, streams: tuple[MixSource, ...], side: str) -> None:
        self.streams = streams
        self.sides = [s.shards.split(side) for s in streams]
        self.before = [np.cumsum([0, *(e.documents for e in side.shards)]) for side in self.sides]
        self.masked = any(m is not None for side in self.sides for m in side.masks())
        self.tables: dict[int, tuple[int, pa.Table]] = {}  # the last table read of each stream: they are read in order

    def blocks(self, documents: npt.NDArray[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield (tokens, ends, ids, sources, mask) of blocks of documents, in the order of `documents`."""
        starts, lengths = np.empty(len(documents), np.int64), np.empty(len(documents), np.int64)
        at = np.empty(len(documents), np.int64)  # the shard of each document
        for stream, side in enumerate(self.sides):
            mine = np.flatnonzero(documents["stream"] == stream)
            at[mine] = np.searchsorted(self.before[stream], documents["doc"][mine], side="right") - 1
            for i in np.unique(at[mine]).tolist():
                rows = mine[at[mine] == i]
                k = documents["doc"][rows] - self.before[stream][i]
                ends = np.concatenate([np.zeros(1, np.int64), np.asarray(side.ends(i)).astype(np.int64)])
                starts[rows], lengths[rows] = ends[k], ends[k + 1] - ends[k]
        for a, b, _, _ in copy_ranges(np.cumsum(lengths), 0, len(lengths), BLOCK_TOKENS):
            yield self._block(documents[a:b], at[a:b], starts[a:b], lengths[a:b])

    def _block(self, documents: Any, at: Numbers, starts: Numbers, lengths: Numbers) -> tuple[Any, ...]:
        ends = np.cumsum(lengths)
        tokens = np.empty(int(ends[-1]), self.sides[0].dtype)
        mask = np.ones(len(tokens), np.uint8) if self.masked else None
        order: list[Numbers] = []
        ids: list[npt.NDArray[np.uint64]] = []
        names: list[pa.Array] = []
        for stream, i in sorted(set(zip(documents["stream"].tolist(), at.tolist(), strict=True))):
            rows = np.flatnonzero((documents["stream"] == stream) & (at == i))
            here, there = _spans(ends[rows] - lengths[rows], starts[rows], lengths[rows])
            tokens[here] = self.sides[stream].memmaps()[i][there]
            learned = self.sides[stream].masks()[i]
            if mask is not None and learned is not None:
                mask[here] = learned[there]
            table = self._table(stream, i).take(documents["doc"][rows] - self.before[stream][i])
            order.append(rows)
            ids.append(table["id"].to_numpy())
            names.append(table["source"].combine_chunks())
        back = np.argsort(np.concatenate(order))
        return tokens, ends, np.concatenate(ids)[back], pa.concat_arrays(names).take(pa.array(back)), mask

    def _table(self, stream: int, i: int) -> pa.Table:
        """Return ids and sources of a shard's documents; a source of a named folder is `name/source`."""
        held = self.tables.get(stream)
        if held is None or held[0] != i:
            side, name = self.sides[stream], self.streams[stream]
            table = side.docs(i, ["id", "source"])
            if name.only is None:
                names = pc.binary_join_element_wise(pa.scalar(name.name), table["source"], "/")
                table = table.set_column(1, "source", names)
            held = self.tables[stream] = (i, table)
        return held[1]


def _spans(here: Numbers, there: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers]:
    """Return all indexes of spans that begin at `here`, and of those that begin at `there`."""
    steps = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(here, lengths) + steps, np.repeat(there, lengths) + steps


def _order(streams: list[MixSource], got: Mapping[str, int], seed: int) -> tuple[npt.NDArray[Any], Numbers]:
    """Return the training documents of the mixture in order, and their numbers of tokens."""
    placed = [s.placed(got[s.name], seed) for s in streams]
    documents = np.zeros(sum(len(docs) for docs, _ in placed), DOCUMENT)
    documents["stream"] = np.repeat(np.arange(len(streams)), [len(docs) for docs, _ in placed])
    documents["doc"] = np.concatenate([docs for docs, _ in placed])
    documents = documents[np.argsort(np.concatenate([positions for _, positions in placed]), kind="stable")]
    lengths = np.empty(len(documents), np.int64)
    for i, s in enumerate(streams):
        mine = documents["stream"] == i
        lengths[mine] = lengths_of(s.train)[documents["doc"][mine]]
    return documents, lengths


def _ids(streams: list[MixSource], side: str, documents: npt.NDArray[Any]) -> Ids:
    """Return the ids of documents of a split."""
    ids = np.zeros(len(documents), np.uint64)
    for i, s in enumerate(streams):
        mine = documents["stream"] == i
        if mine.any():
            ids[mine] = s.shards.split(side).column("id").to_numpy()[documents["doc"][mine]]
    return ids


def _held_out(streams: list[MixSource], side: str) -> tuple[npt.NDArray[Any], Numbers]:
    """Return the documents of a held-out split of every folder, once, and their numbers of tokens."""
    folders = {s.path: i for i, s in reversed(list(enumerate(streams)))}
    lengths = {i: lengths_of(streams[i].shards.split(side)) for i in sorted(folders.values())}
    documents = np.zeros(sum(map(len, lengths.values())), DOCUMENT)
    documents["stream"] = np.repeat(list(lengths), [len(n) for n in lengths.values()])
    documents["doc"] = np.concatenate([np.arange(len(n)) for n in lengths.values()])
    return documents, np.concatenate(list(lengths.values()))
