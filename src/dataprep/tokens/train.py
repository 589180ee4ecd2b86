"""Train a byte-level BPE on a sample of the training side, so that memory is bounded by the sample.

Which documents are sampled is a pure function of hash(seed, id): workers, batch cuts and order do not matter.
"""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from tokenizers import Regex, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Engine

from dataprep import batch as B
from dataprep import files
from dataprep.errors import PlanError
from dataprep.key import key
from dataprep.run import Serial

from . import split
from .alphabet import to_bytes
from .patterns import PATTERNS
from .shard import token_dtype
from .special import EOT
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    from dataprep.dataset import Dataset
    from dataprep.part import Part
    from dataprep.run import Runner

__all__ = ["Tokenizer", "train_bpe"]

log = logging.getLogger("dataprep")

VERSION = 1  # goes up when the same input gives another vocabulary
MIN_BYTES = 8 << 20  # a small corpus is sampled more densely, up to all of it: 32,000 merges need some text
MAX_BYTES = 512 << 20  # the trainer holds every distinct word; more text of the same kind changes few merges
DOC_BYTES = 1 << 20  # of one document: its head; one huge file must not be the sample


def train_bpe(
    docs: Dataset,
    vocab_size: int = 32_000,
    sample: float = 0.05,
    seed: int = split.SEED,
    run: Runner | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    val: float = split.HOLD_OUT,
    split_seed: int = split.SEED,
    special: Sequence[str] = (),
    pattern: str = "words",
    min_count: int = 2,
    min_bytes: int = MIN_BYTES,
    max_bytes: int = MAX_BYTES,
    dtype: str = "uint16",
) -> Tokenizer:
    """Learn a vocabulary from a share of the training documents.

    Args:
        docs: the corpus; documents that `dp.encode` would hold out are never looked at.
        vocab_size: ids in all: 256 bytes, `<|endoftext|>` and `special` tokens included.
        sample: share of the training documents, chosen by hash(seed, id); raised until `min_bytes` are found.
        seed: of the sample.
        run: who does the work; `dp.Serial()` by default.
        out: a folder for `tokenizer.json`; what the same call has left there is opened, not learned again.
        val: share of the documents never looked at; `encode` may hold out any smaller one.
        split_seed: which documents these are; as in `encode`.
        special: names of special tokens beside `<|endoftext|>`, with the last ids in this order.
        pattern: how text is cut into words: "words", "gpt2", "gpt4", or a regular expression.
        min_count: a pair of tokens seen fewer times is not merged.
        min_bytes: UTF-8 bytes below which the sample is enlarged.
        max_bytes: UTF-8 bytes the sample may hold.
        dtype: "uint32" allows a vocabulary over 65,536.

    Where the text gives fewer merges than asked for, the vocabulary is smaller, and a warning is logged.

    Raises:
        PlanError: a vocabulary that does not fit, or no text to learn from.

    >>> tok = dp.train_bpe(clean, vocab_size=32_000, sample=0.05)
    >>> tok.save("work/tokenizer.json")
    """
    room = vocab_size - 256 - len({EOT, *special})
    _check(vocab_size, room, sample, val, dtype)
    task = Sample(share=sample, seed=seed, val=val, split_seed=split_seed)
    regex = PATTERNS.get(pattern, pattern)

    def train() -> Tokenizer:
        found = _gather(_items(docs, max_bytes), task, min_bytes, run or Serial())
        return _train(found, room, regex, min_count, special)

    if out is None:
        tok = train()
    else:
        recipe = key([VERSION, docs.key, vocab_size, task, special, regex, min_count, min_bytes, max_bytes])
        folder = os.fspath(out)
        files.once(files.join(folder, "receipt.json"), recipe, lambda: {"files": [train().save(folder)]})
        tok = Tokenizer.load(folder)
    tok.trained_on = {"val": val, "seed": split_seed}
    return tok


def _train(found: Iterable[Picked], room: int, regex: str, min_count: int, special: Sequence[str]) -> Tokenizer:
    merges = learn(chain.from_iterable(piece.texts() for piece in found), room, regex, min_count)
    if len(merges) < room:
        log.warning(
            "the sample gave %s merges where there is room for %s, so the vocabulary is smaller; "
            "give more text, a larger sample=, or a smaller vocab_size=",
            *(f"{n:,}" for n in (len(merges), room)),
        )
    return Tokenizer.from_merges(merges, special, regex)


def learn(texts: Iterable[Sequence[str]], n_merges: int, pattern: str, min_count: int = 2) -> list[tuple[bytes, bytes]]:
    """The merges that `tokenizers` learns from batches of texts, in order; at most `n_merges`."""
    engine = Engine(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    engine.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), byte_level])
    trainer = trainers.BpeTrainer(
        vocab_size=256 + n_merges,
        min_frequency=min_count,
        initial_alphabet=byte_level.alphabet(),
        show_progress=sys.stderr.isatty(),
    )
    engine.train_from_iterator(texts, trainer)
    pairs = json.loads(engine.to_str())["model"]["merges"]
    return [(to_bytes(a), to_bytes(b)) for a, b in (p.split(" ") if isinstance(p, str) else p for p in pairs)]


@dataclass(frozen=True)
class Item:
    """One part to sample, and the UTF-8 bytes that it may give."""

    part: Part
    max_bytes: int

    @property
    def n_bytes(self) -> int:
        """Bytes as stored, for the progress bar."""
        return self.part.n_bytes

    def __str__(self) -> str:
        return str(self.part)


@dataclass(frozen=True)
class Picked:
    """What one part gives to the sample, small enough to travel: an Arrow stream of texts, compressed."""

    n_bytes: int
    stream: bytes

    def texts(self) -> Iterator[list[str]]:
        """The texts, in batches."""
        for batch in pa.ipc.open_stream(self.stream):
            yield batch.column(0).to_pylist()


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The task: the documents of one part that belong to the sample."""

    share: float
    seed: int
    val: float
    split_seed: int = split.SEED

    def __call__(self, item: Item) -> Picked:
        """The sampled texts of a part."""
        return self.pick(item.part.batches(["id", "text"]), item.max_bytes)

    def pick(self, batches: Iterable[B.Batch], max_bytes: int) -> Picked:
        """The sampled texts, in order; over `max_bytes` those of the smallest hashes."""
        ranks, texts = np.zeros(0, np.uint64), pa.array([], pa.large_string())
        ceiling = None  # the smallest hash that was left out: nothing above it can come back
        for batch in batches:
            new_ranks, new_texts = self._sampled(batch, ceiling)
            if len(new_ranks):
                ranks, texts = np.concatenate([ranks, new_ranks]), pa.concat_arrays([texts, new_texts])
                if _size(texts) > 2 * max_bytes:  # half of it goes, so that each text moves twice at most
                    ranks, texts, ceiling = _smallest(ranks, texts, max_bytes)
        ranks, texts, _ = _smallest(ranks, texts, max_bytes)
        return Picked(_size(texts), _stream(texts))

    def _sampled(self, batch: B.Batch, ceiling: np.uint64 | None) -> tuple[B.Ids, pa.LargeStringArray]:
        ids = B.ids(batch)
        ranks = split.sample_rank(ids, self.seed)
        take = split.sampled(ranks, self.share) & ~split.is_val(ids, self.val, self.split_seed)
        if ceiling is not None:
            take &= ranks < ceiling
        return ranks[take], _heads(batch.column("text").filter(pa.array(take)))


def _heads(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Long documents cut to their first megabyte, at a character."""
    offsets, data = B.buffers(texts)
    if not len(texts) or int(np.diff(offsets).max()) <= DOC_BYTES:
        return texts
    spans = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    heads = (bytes(data[a : min(b, a + DOC_BYTES)]) for a, b in spans)
    return pa.array([h.decode("utf-8", "ignore") for h in heads], pa.large_string())


def _smallest(
    ranks: B.Ids, texts: pa.LargeStringArray, max_bytes: int
) -> tuple[B.Ids, pa.LargeStringArray, np.uint64 | None]:
    """The documents of the smallest ranks that fit into `max_bytes` (at least one), in their old order.

    Also the smallest rank that does not fit, if any.
    """
    order = np.argsort(ranks)
    fits = np.cumsum(np.diff(B.buffers(texts)[0])[order]) <= max_bytes
    fits[:1] = True
    keep = np.sort(order[fits])
    left_out = order[~fits]
    return ranks[keep], texts.take(pa.array(keep)), ranks[left_out[0]] if len(left_out) else None


def _size(texts: pa.LargeStringArray) -> int:
    offsets, _ = B.buffers(texts)
    return int(offsets[-1] - offsets[0])


def _stream(texts: pa.LargeStringArray) -> bytes:
    sink = io.BytesIO()
    batch = pa.RecordBatch.from_arrays([texts], names=["text"])
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(pa.Table.from_batches([batch]), max_chunksize=4096)
    return sink.getvalue()


def _items(docs: Dataset, max_bytes: int) -> list[Item]:
    """The parts, each with a share of the budget in proportion to its size."""
    total = sum(part.n_bytes for part in docs.parts)
    shares = [part.n_bytes / total if total else 1 / len(docs.parts) for part in docs.parts]
    return [Item(part, max(1, int(max_bytes * share))) for part, share in zip(docs.parts, shares, strict=True)]


def _gather(items: Sequence[Item], task: Sample, min_bytes: int, run: Runner) -> Iterator[Picked]:
    """Every part's share of the sample, in order; looked for again, more densely, if there was too little."""
    held: list[Picked] = []
    n_bytes = 0
    found = run.map(task, items, "sample")
    for piece in found:
        held.append(piece)
        n_bytes += piece.n_bytes
        if n_bytes >= min_bytes:
            return chain(held, found)
    if task.share < 1:
        share = task.share * min_bytes / n_bytes if n_bytes else 1.0
        return _gather(items, replace(task, share=min(1.0, share)), 1, run)
    if not n_bytes:
        msg = "there is no text on the training side, so nothing to learn a vocabulary from; check the input and val="
        raise PlanError(msg)
    return iter(held)


def _check(vocab_size: int, room: int, sample: float, val: float, dtype: str) -> None:
    token_dtype(vocab_size, dtype)
    split.check_share("sample", sample)
    split.check_share("val", val)
    if room < 0:
        msg = f"vocab_size={vocab_size} has no room for 256 bytes and {vocab_size - 256 - room} special tokens"
        raise PlanError(msg)
