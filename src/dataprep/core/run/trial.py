"""Trial: samples the inputs of pipelines, and records their sizes, for `dataprep plan` and `--dry-run`.

A Context (`context.py`) passes it to pipelines.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dataprep.errors import ReadError
from dataprep.lazy import parquet as pq
from dataprep.store import compress, files, hashes

from ..model import batch as B
from ..model.dataset import Dataset
from ..model.ledger import Ledger
from ..model.part import Part, Sealed
from ..model.reader import Slice
from ..model.stage import Head

PACKED = (".zip", ".parquet")  # files that are compressed inside
HEAD_BYTES = 4 << 20  # of a compressed file, whose ratio is measured
MOST_PACKED = 20  # bytes of text per byte of a compressed file; rarely more


@dataclass(frozen=True)
class Sampled:
    """The size of one input of a trial in bytes.

    Attributes:
        stored: the size of the files as stored.
        text: the estimated size of all text in the files; exact if all of it was read.
        sample: the size of the text that was sampled.
        parts, sample_parts: the number of parts, and of those that were sampled.
    """

    stored: int
    text: float
    sample: int
    parts: int = 1
    sample_parts: int = 1


@dataclass(frozen=True)
class Reserved:
    """The memory in bytes that one process needs for the whole input, in addition to the memory of a worker.

    Attributes:
        what: a description of the data that takes the memory.
        instead: the advice to the user if the memory is too small.
    """

    n_bytes: int
    what: str
    instead: str  # what to do if it does not fit


@dataclass(frozen=True)
class TriedPass:
    """One call of `Context.map` in a trial.

    Attributes:
        label: the title of its progress bar.
        task: the task.
        last: the last item; None if there is none.
        result: the last result.
        tasks: the number of items.
        reads: whether the items are parts of documents.
        seconds: the CPU time of this process.
        written: by how many bytes the files of the trial grew.
        counts: the sums of the integers that the results state, by name.
    """

    label: str
    task: Any
    last: Any
    result: Any
    tasks: int
    reads: bool
    seconds: float
    written: int
    counts: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def sums(results: Iterable[Any]) -> Counter[str]:
        """Return the sums of the integers that results state, by name."""
        found: Counter[str] = Counter()
        for one in results:
            found.update({name: n for name, n in one.items() if type(n) is int} if isinstance(one, dict) else {})
        return found


class Untrained(str):
    """The folder of a training in a trial: a call that would train into it raises `PlannedTraining` instead."""

    __slots__ = ()


class PlannedTraining(Exception):
    """A training that a step of a trial would start.

    Attributes:
        config: its settings, a TrainConfig.
        data: the token shards, as they were passed: a `Shards`, a folder, or several of these.
    """

    def __init__(self, config: Any, data: Any) -> None:
        super().__init__("a trial trains no model")
        self.config, self.data = config, data


@dataclass
class Trial:
    """A run in which pipelines read only a sample of about `sample_bytes` of text of each input.

    An input that is certainly smaller is read completely; for a larger one, the beginnings of up to 8 parts are read.

    Files inside the folder `out`, which earlier steps of the trial wrote, are read completely.

    Attributes:
        ledgers: a function that is called for each Part (one task's input) in place of `Part.ledgers`.
        most_parts: the largest number of parts of each input that are read; None: those of `Dataset.spread`.
        inputs: the inputs that were sampled so far.
        reserved: the memory that stages reserved so far.
        passes: the passes so far.
        most: the largest size in bytes of all files in `out`, which is measured after each pass.
        spent: the CPU time that the trial itself took, to measure its samples.
    """

    out: str
    sample_bytes: int
    ledgers: Callable[[Part], list[Ledger]] = Part.ledgers
    most_parts: int | None = None
    inputs: list[Sampled] = field(default_factory=list)
    reserved: list[Reserved] = field(default_factory=list)
    passes: list[TriedPass] = field(default_factory=list)
    most: int = 0
    spent: float = 0.0

    @property
    def share(self) -> float:
        """The fraction of the input's text that was sampled, 0 to 1."""
        return min(1.0, sum(i.sample for i in self.inputs) / max(1.0, sum(i.text for i in self.inputs)))

    def size(self) -> int:
        """Return the size in bytes of all files in `out`, and note it if it is the largest."""
        places = [self.out, *files.listing(self.out).hidden] if files.is_dir(self.out) else []
        found = sum(files.size(url) for place in places for url in files.expand(place))
        self.most = max(self.most, found)
        return found

    @contextlib.contextmanager
    def trying(self, task: Any, items: Sequence[Any], label: str) -> Iterator[list[Any]]:
        """Note the pass that runs in the `with` block: the call of `task` for each of `items`.

        The block adds the results to the list that it gets.
        """
        before, began, results = self.size(), time.process_time(), list[Any]()
        try:
            yield results
        finally:  # also if the caller takes only the first result
            seconds, reads = time.process_time() - began, any(getattr(item, "n_bytes", 0) for item in items)
            ends = (items[-1] if len(items) else None), (results[-1] if results else None)
            counts = TriedPass.sums(results)
            self.passes.append(TriedPass(label, task, *ends, len(items), reads, seconds, self.size() - before, counts))

    def sample(self, docs: Dataset) -> Dataset:
        """Return a sample of `docs`, or `docs` itself if an earlier step of the trial made it."""
        if all(piece.url.startswith(self.out) for part in docs.parts for piece in part.slices):
            return docs
        fits = sum(map(_most_text, docs.parts)) <= self.sample_bytes
        chosen = docs.parts if fits else docs.spread()[: self.most_parts]
        most = max(1, sum(map(_most_text, chosen)))
        equal = self.sample_bytes // len(chosen)  # so that small files, whose shares are small, are read whole
        limits = [max(self.sample_bytes * size // most, min(size, equal)) for size in map(_most_text, chosen)]
        sample = docs.of(part.then(Head(max_bytes=limit)) for part, limit in zip(chosen, limits, strict=True))
        began = time.process_time()
        found = [_measure(part, limit) for part, limit in zip(sample.parts, limits, strict=True)]
        self.spent += time.process_time() - began
        stored, text = sum(s for s, _ in found), sum(t for _, t in found)
        whole = text if stored == docs.n_bytes else docs.n_bytes * text / max(1.0, stored)
        self.inputs.append(Sampled(docs.n_bytes, whole, text, len(docs.parts), len(chosen)))
        parts = tuple(replace(part, slices=tuple(map(_by_ends, part.slices))) for part in sample.parts)
        return replace(sample, parts=parts)  # a sample does not read the whole input for its key


def _by_ends(piece: Slice) -> Slice:
    return replace(piece, fingerprint=piece.fingerprint or hashes.ends(piece.url))


def _most_text(part: Part) -> int:
    """Return the maximum size in bytes that the text of a part may have, given the size of its files."""
    packed = (piece for piece in part.slices if files.is_compressed(piece.url) or files.suffix(piece.url) in PACKED)
    return part.n_bytes + (MOST_PACKED - 1) * sum(piece.n_bytes for piece in packed)


def _measure(part: Part, limit: int) -> tuple[float, int]:
    """Return the number of stored bytes read for the sample of a part, and the number of bytes of text in it.

    The last document begins where the others end, so those before it tell how many bytes a byte of text takes.
    """
    text = rows = last = end = 0
    for batch in part.batches():
        text += B.text_bytes(batch)
        rows += batch.num_rows
        if batch.num_rows:
            last, end = int(B.ids(batch)[-1]), B.text_bytes(batch.slice(batch.num_rows - 1))
    if text < limit:
        return float(part.n_bytes), text
    file, position = B.split_id(last)
    before = 0.0
    for piece in part.slices:
        if piece.file == file or isinstance(part.reader, Sealed):
            stored = before + piece.n_bytes * _read_share(piece, position if rows > 1 else position + end, rows)
            by_rows = files.suffix(piece.url) == ".parquet" or rows == 1
            return min(float(part.n_bytes), stored if by_rows else stored * text / max(1, text - end)), text
        before += piece.n_bytes
    return float(part.n_bytes), text


def _read_share(piece: Slice, position: int, rows: int) -> float:
    """Return the fraction of a slice that precedes a position, from 0 to 1."""
    if files.suffix(piece.url) == ".parquet":
        with files.open_arrow(piece.url) as f:
            return min(1.0, rows / max(1, int(pq.ParquetFile(f).metadata.num_rows)))
    whole: float = files.size(piece.url) if piece.stop is None else piece.stop
    if piece.stop is None and files.is_compressed(piece.url):  # measure decompressed bytes per stored byte at the head
        with compress.windows(compress.MAX_WINDOW_BYTES), files.open_read(piece.url) as f:
            n = 0
            with contextlib.suppress(ReadError):  # a damaged file is measured up to the damage
                while n < HEAD_BYTES and (data := f.read(1 << 16)):
                    n += len(data)
            whole *= n / max(1, int(f.raw.raw.tell()))  # type: ignore[attr-defined]  # our decompressor, buffered
    return float(min(1.0, max(1.0, position - piece.start) / max(1.0, whole - piece.start)))
