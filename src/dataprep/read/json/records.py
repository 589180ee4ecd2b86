"""Base class of readers whose records become JSON objects: rows of tables, elements of JSON arrays, and the like.

The kernels of JSON Lines process the objects, so text, columns, sources and `meta` behave as for JSON Lines.
"""

from __future__ import annotations

import functools
import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch, doc_id
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.text import PADDING, LineBlock
from dataprep.read.trust import Trust

from . import scan as J
from .columns import SAMPLE, infer
from .reader import Jsonl, describe

LINE_ENDS = bytes.maketrans(b"\r\n", b"\t\t")  # white space between values, and like line ends an error in a string


class RawRecord(NamedTuple):
    """A record of a file: its position, its JSON object, its size in bytes, and the reason to drop it.

    Attributes:
        data: the bytes of the object, or None if the record is to be dropped (`reason` is set). Line ends in it are
            allowed.
        shown: the record in an error.
    """

    position: int
    data: bytes | None
    n_bytes: int
    reason: str = ""
    shown: bytes = b""


@dataclass(frozen=True, kw_only=True)
class JsonRecords(Jsonl):
    """Base class of readers whose records become JSON objects; the options are those of JSON Lines."""

    splits: ClassVar[bool] = False
    picks: ClassVar[bool] = False
    thread_safe: ClassVar[bool] = False  # the work of most formats is that of Python code

    def records(self, piece: Slice, stats: Ledger) -> Iterator[RawRecord]:
        """Yield the records of a file, positions ascending. Raises ReadError if the file is damaged."""
        raise NotImplementedError

    def remedy(self) -> str:
        """Return the advice for a file in which too many records are bad."""
        return f"name the text field with text= (now {self.text!r}), or allow more with max_bad="

    @classmethod
    def types_of(cls, url: str, names: tuple[str, ...], path: tuple[str, ...] = ()) -> tuple[tuple[str, str], ...]:
        """Return (name, type) of each of the fields `names`, as `Jsonl.types_of` does."""
        return infer(io.BytesIO(cls.first(url, SAMPLE, names)), names, url, path)

    @classmethod
    def first(cls, url: str, n: int, names: tuple[str, ...] = ()) -> bytes:
        """Return the first `n` records of a file that are JSON, as lines.

        - names: fields whose types are wanted.
        """
        some = itertools.islice(cls.unchecked(names).records(Slice(url, 0), Ledger("", quiet=True)), n)
        return b"".join(one.data.translate(LINE_ENDS) + b"\n" for one in some if one.data is not None)

    @classmethod
    def unchecked(cls, names: tuple[str, ...]) -> JsonRecords:  # noqa: ARG003 - of the subclass
        """Return a reader that accepts files without the text field.

        Args:
            names: fields whose types are wanted.
        """
        return cls()

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the records of a file as batches of documents; bad records are dropped in `stats`."""
        trust = Trust(piece.url, self.max_bad, remedy=self.remedy())
        sources: tuple[set[str], Ledger] = (set(), stats)
        held: list[RawRecord] = []
        size = 0
        try:
            for record in self.records(piece, stats):
                line = None if record.data is None else record.data.translate(LINE_ENDS) + b"\n"
                held.append(record._replace(data=line))
                size += len(line or b"")
                if size >= B.MAX_BYTES or len(held) >= B.MAX_ROWS:
                    yield from self._documents(held, piece, sources, trust)
                    held, size = [], 0
        except ReadError:  # the records before the error are documents if bad files are skipped
            yield from self._documents(held, piece, sources, None)
            raise
        yield from self._documents(held, piece, sources, trust)
        trust.close()

    def _documents(
        self, records: Sequence[RawRecord], piece: Slice, sources: tuple[set[str], Ledger], trust: Trust | None
    ) -> Iterator[Batch]:
        """Yield the documents of records, whose data is JSON lines; bad records are dropped.

        All are counted in `trust` if it is not None.
        """
        lines = [(n, one.data) for n, one in enumerate(records) if one.data is not None]
        numbers = np.array([n for n, _ in lines], np.int64)
        begins = np.cumsum([0, *(len(line) for _, line in lines)])[:-1]
        whole = bytearray(b"".join(line for _, line in lines) + bytes(PADDING))
        block = LineBlock(np.frombuffer(whole, np.uint8), len(whole) - PADDING, 0)
        places = np.array([one.position for one in records], np.int64)
        bad: dict[int, tuple[str, Callable[[], str]]] = {
            n: (one.reason, functools.partial("{} {!r}".format, one.reason, one.shown[:60]))
            for n, one in enumerate(records) if one.reason
        }  # fmt: skip
        found = list(self._scan(block)) if lines else []
        for some in found:
            for k, n in enumerate(_numbers(some.bad[:, 0], begins, numbers).tolist()):
                said = functools.partial(describe, block, replace(some, bad=some.bad[k:]), self.text)
                bad[n] = (J.REASONS[int(some.bad[k, 2])], said)
        lost = sorted(bad)
        if trust is not None:
            good = np.delete(places, lost)
            trust.count(good, places[lost].tolist(), bad[lost[0]][1] if lost else str)
        ids = places[lost].astype(np.uint64) + np.uint64(doc_id(piece.file, 0))
        sources[1].drop(ids, [bad[n][0] for n in lost], n_bytes=[records[n].n_bytes for n in lost])
        for some in found:
            if len(some.starts):
                at = places[_numbers(some.starts, begins, numbers)]
                yield self._batch(replace(some, starts=at), block, piece, sources)


def _numbers(
    starts: npt.NDArray[np.int64], begins: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the number of the record of each line that begins at `starts`.

    - begins: the offset of each line.
    """
    return numbers[np.searchsorted(begins, starts)]
