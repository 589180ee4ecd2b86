"""Write a mixture: documents of several sources, some repeated, spread evenly over new shards.

The order of documents is computed first and stored. Then a task per shard copies its documents from the memory-mapped
shards of the sources; all sources are read from start to end.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.output.layout import ORIGIN, Folder
from dataprep.core.run.runner import runner_of
from dataprep.errors import CorruptShard, PlanError, counted, redacted
from dataprep.store import files, lease
from dataprep.store.key import key
from dataprep.tokens.shards.claim import (
    check_shard_tokens,
    claim,
    finished,
    local_folder,
    own_tokenizer,
    same_settings,
    shard_once,
    swept,
)
from dataprep.tokens.shards.provenance import read_docs
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.shards.writer import Writer, arrange, copy_ranges, write_manifest
from dataprep.tokens.split import SIDES
from dataprep.tokens.vocabulary.encoder import size_in_bytes
from dataprep.tokens.vocabulary.place import TOKENIZER, write_folder

from .sources import MixSource, Numbers, lengths_of

if TYPE_CHECKING:
    from dataprep.core.run.runner import Runner

log = logging.getLogger("dataprep")

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
    run: Runner | None,
    described: Callable[[Mapping[str, int]], dict[str, Any]],
    *,
    replace: bool,
) -> Shards:
    """Write the token shards of a mixture to the folder `out`, and return them; finished work is not repeated.

    streams: the sources. got: {source: number of tokens that the mixture is to have of it}, met only approximately,
    since documents are kept whole. seed: chooses the documents of partial epochs. shard_tokens: most tokens per shard.
    run: the Runner. described: function that takes {source: tokens written} and returns the entry `mixture` of the
    manifest. Raises StaleOutput if `out` has other shards and `replace` is False, InUse if another process writes into
    `out`.
    """
    check_shard_tokens(shard_tokens)
    folder = local_folder(out)
    if files.real(folder) in [files.real(s.path) for s in streams]:
        msg = f"{folder} is one of the sources; give another folder as out"
        raise PlanError(msg)
    inputs = [[s.name, s.only, [list(e.items()) for e in s.shards.shards]] for s in streams]
    recipe = key([VERSION, inputs, dict(got), seed, shard_tokens, described(got)])
    made = finished(folder, recipe)
    if made is not None:
        return made
    with lease.held(folder):
        settings = _settings(got, seed, shard_tokens)
        made = claim(
            folder, recipe, replace=replace, settings=settings,
            accepts=lambda found: _only_content_changed(folder, streams, found, settings, described(got).get("asked")),
        )  # fmt: skip
        return made or _write(streams, got, folder, seed, shard_tokens, runner_of(run), recipe, described)


def _settings(got: Mapping[str, int], seed: int, shard_tokens: int) -> dict[str, Any]:
    """Return the values that decide a mixture, for the manifest and for messages."""
    return {"made_by": "mix", PLANNED: dict(got), "seed": seed, "shard_tokens": shard_tokens}


def _origin(streams: list[MixSource]) -> dict[str, Any]:
    """Return the content of origin.json: the folder of each source on this machine, and the hash of its shards."""
    return {"sources": [{"name": s.name, "url": redacted(s.path), "root": s.shards.root} for s in streams]}


def _only_content_changed(
    folder: str, streams: list[MixSource], found: Mapping[str, Any], settings: Mapping[str, Any], asked: Any
) -> bool:
    """Return whether the mixture of the manifest `found` is of the same folders and shares, and the shards are others.

    If so, a warning names the sources. settings, asked: the settings and the wanted shares of the new mixture.
    """
    before, now = ({(s["name"], s["url"]): s["root"] for s in origin.get("sources", [])}
                   for origin in (Folder(folder).origin, _origin(streams)))  # fmt: skip
    changed = [name for name, url in now if before.get((name, url)) != now[name, url]]
    planned = (found.get("settings") or {}).get(PLANNED)
    same = [(found.get("mixture") or {}).get("asked"), found.get("tokenizer"), list(before)] == [
        asked, streams[0].shards.manifest.get("tokenizer"), list(now)
    ]  # fmt: skip
    if not (changed and same and same_settings(found, {**settings, PLANNED: planned})):
        return False
    what = f"{len(changed):,} of {counted(len(streams), 'source')} changed since the last run: {', '.join(changed)}"
    log.warning("%s; writing the mixture again", what)
    return True


def _write(
    streams: list[MixSource], got: Mapping[str, int], folder: str, seed: int, shard_tokens: int, run: Runner,
    recipe: str, described: Callable[[Mapping[str, int]], dict[str, Any]],
) -> Shards:  # fmt: skip
    """Write the shards into `folder`, which `claim` prepared for `recipe`."""
    first = streams[0].shards
    files.write_state(Folder(folder).path(ORIGIN), _origin(streams))
    if own_tokenizer(first) is not None:
        with files.open_raw(files.join(streams[0].path, TOKENIZER)) as f:
            data = f.read()
        write_folder(folder, {TOKENIZER: data})
    pieces = files.join(folder, f"pieces-{recipe[:8]}")
    written: dict[str, int] = {}
    shards: list[MixedShard] = []
    for side in SIDES:
        documents, lengths = _order(streams, got, seed) if side == "train" else _held_out(streams, side)
        if side == "train":
            written = {s.name: int(lengths[documents["stream"] == i].sum()) for i, s in enumerate(streams)}
        files.write_bytes(files.join(pieces, f"{side}.documents"), documents.tobytes())
        for number, ((_, start, stop),) in enumerate(arrange([np.cumsum(lengths)], shard_tokens)):
            shards.append(MixedShard(side, number, start, stop))
    light = tuple(dataclasses.replace(s) for s in streams)  # without their caches, for workers
    task = WriteMixedShard(out=folder, pieces=pieces, streams=light, dtype=first.manifest["dtype"], key=recipe)
    entries = list(run.map(task, shards, "mix"))
    kept = ("vocab_size", "eot", "dtype", "special", "tokenizer")
    write_manifest(
        folder,
        entries,
        **{name: first.manifest[name] for name in kept if name in first.manifest},
        token_bytes=first.token_bytes,
        split={s.name: s.shards.manifest.get("split") for s in streams},
        mixture=described(written),
        settings=_settings(got, seed, shard_tokens),
        recipe=recipe,
    )
    return swept(Shards.open(folder))


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

    out: the folder of the shards. pieces: the folder of the receipts. streams: the sources. dtype: type of the ids.
    key: hash of all that decides the mixture.
    """

    out: str
    pieces: str
    streams: tuple[MixSource, ...]
    dtype: str
    key: str

    def __call__(self, job: MixedShard) -> dict[str, Any]:
        """Write the shard `job`, unless a receipt shows that it exists; return its entry in the manifest."""
        writer = Writer(self.out, job.side, job.number, dtype=self.dtype)
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
        self.before = [np.cumsum([0, *(e["documents"] for e in side.shards)]) for side in self.sides]
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
            table = read_docs(str(side.path), side.shards[i]["name"], ["id", "source"])
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


def _held_out(streams: list[MixSource], side: str) -> tuple[npt.NDArray[Any], Numbers]:
    """Return the documents of a held-out split of every folder, once, and their numbers of tokens."""
    folders = {s.path: i for i, s in reversed(list(enumerate(streams)))}
    lengths = {i: lengths_of(streams[i].shards.split(side)) for i in sorted(folders.values())}
    documents = np.zeros(sum(map(len, lengths.values())), DOCUMENT)
    documents["stream"] = np.repeat(list(lengths), [len(n) for n in lengths.values()])
    documents["doc"] = np.concatenate([np.arange(len(n)) for n in lengths.values()])
    return documents, np.concatenate(list(lengths.values()))
