"""Reader: turns slices of input files into batches of documents."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar

import pyarrow as pa

from dataprep.errors import PlanError
from dataprep.store import files, hashes

from .batch import Batch, Ids
from .ledger import Ledger
from .tables import QUARANTINED, Unread


@dataclass(frozen=True)
class Slice:
    """A range of an input file from `start` to `stop` (None: the end), in positions that the file's reader defines.

    Args:
        file: the file's number in the Dataset; for a sealed shard, the number that is added to the file numbers in its
            ids.
        source: the name of the documents' source.
        fingerprint: the hash that identifies the content; if it is "", the hash is computed when a key requires it.
        n_bytes: the size as stored, in bytes.
        unread: the reason why the file cannot be read, or None.
        listed: the folder or glob pattern that matched the file; "" if the user named the file.
    """

    url: str
    file: int
    start: int = 0
    stop: int | None = None
    source: str = ""
    fingerprint: str = ""
    n_bytes: int = 0
    unread: Unread | None = None
    listed: str = field(default="", compare=False)

    def open(self) -> BinaryIO:
        """Return a stream of the decompressed bytes of the whole file."""
        return files.open_read(self.url)

    def recipe(self) -> Any:
        """Return the values that identify this slice in hashes: content, number, range, source, and `unread`."""
        left_out = self.unread is not None and self.unread.reason == QUARANTINED
        named = self.fingerprint or hashes.fingerprint(self.url)
        return (named, self.file, self.start, self.stop, self.source, left_out)


class Reader:
    """Base class of readers: yields the documents of a slice of a file as batches.

    Write a subclass as a frozen dataclass, whose fields are options of `dp.read`, and define `__call__`; all other
    members have defaults. `__call__` must do the following:

    - Yield batches made by `dataprep.extend.make`, of at most MAX_ROWS documents and about MAX_BYTES, with the columns
      that `adds` names in addition to the fixed ones.
    - Give each document the id `doc_id(piece.file, position)`. A position is an integer below 2**40 that depends on the
      file alone, such as a byte offset or the number of a record; positions ascend.
    - Yield exactly the documents with positions in [piece.start, piece.stop).
    - Drop records that cannot be converted to documents with `stats.drop(ids, reasons)`. Raise ReadError if the file
      cannot be read.

    Define `companions` if other files are read together with a file; if these change, the file is processed again.

    Attributes:
        VERSION: an integer; increase it when the same file yields different documents.
        splits: True if a slice of an uncompressed file may begin at any byte, as in files of lines; False if reading
            must begin at the start of the file.
        picks: True if `pick` reads some documents faster than `__call__` reads all of them.
        thread_safe: as in `Stage`; only readers of dataprep are run in several threads.
    """

    VERSION: ClassVar[int] = 1
    splits: ClassVar[bool] = False
    picks: ClassVar[bool] = False
    thread_safe: ClassVar[bool] = False

    @property
    def adds(self) -> Mapping[str, pa.DataType]:
        """The columns that the reader yields in addition to id, text, source and meta, as {name: type}."""
        return {}

    @property
    def plain(self) -> Reader:
        """The reader that has the options of the format: this reader, unless it only adds columns to another reader."""
        return self

    def named(self, piece: Slice) -> str:  # noqa: ARG002
        """Return the parts of the path that a slice's documents contain, such as the path in `meta`, for keys."""
        return ""

    def companions(self, url: str) -> tuple[str, ...]:  # noqa: ARG002
        """Return the other files that are read together with the file `url`, such as a file of people's names.

        If these files change, `url` is processed again.
        """
        return ()

    @classmethod
    def types_of(cls, url: str, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Return (name, type) of each field in `names` as found in the file `url`; these fields become columns.

        Only readers with a `columns` option define this method; for other readers, it raises PlanError.
        """
        msg = f"{url}: {cls.__name__} does not know the types of {', '.join(names)}; set columns={{name: type}}"
        raise PlanError(msg)

    def cuts(self, url: str, n_bytes: int, target: int) -> list[tuple[int, int | None, int]]:
        """Return the slices of a file, one per task, as (start, stop, bytes): equal slices of up to `target` bytes."""
        if not self.enters(url) or n_bytes <= target:
            return [(0, None, n_bytes)]
        n = -(-n_bytes // target)
        return [(a, b, b - a) for a, b in itertools.pairwise(n_bytes * i // n for i in range(n + 1))]

    def enters(self, url: str) -> bool:
        """Return whether reading a slice of the file can begin without the preceding bytes."""
        return self.splits and not files.is_compressed(url)

    def warm(self) -> None:
        """Compile the kernels (compiled functions) on a tiny input; called once, before workers start."""

    def __call__(self, piece: Slice, stats: Ledger) -> Iterator[Batch]:
        """Yield the documents of a slice in batches, ids ascending; drops are recorded in `stats`."""
        raise NotImplementedError

    def narrowed(self, columns: Sequence[str]) -> Reader:  # noqa: ARG002
        """Return a reader of the same documents that may put any values into the columns that are not in `columns`."""
        return self

    def pick(self, piece: Slice, positions: Ids) -> Iterator[Batch]:
        """Yield only the documents of a slice at the given positions; define this method only if `picks` is True.

        Args:
            piece: the slice.
            positions: uint64[n], ascending, the positions of documents that `__call__` yielded earlier.

        Raises ReadError if the file has changed since.
        """
        raise NotImplementedError


def recorded(reader: Reader) -> dict[str, Any] | None:
    """Return a reader of this package as a JSON object, for origin.json; None for other readers."""
    kind = type(reader)
    fields = {f.name: getattr(reader, f.name) for f in dataclasses.fields(reader)}  # type: ignore[arg-type]
    inner = {name: recorded(value) for name, value in fields.items() if isinstance(value, Reader)}
    if kind.__module__.partition(".")[0] != "dataprep" or (inner and reader.plain is reader) or None in inner.values():
        return None
    return {"module": kind.__module__, "name": kind.__qualname__, "fields": dataclasses.asdict(reader) | inner}  # type: ignore[call-overload]


def reader_of(record: dict[str, Any] | None) -> Reader | None:
    """Return the reader that `recorded` described, None if there is none; only classes of this package are imported."""
    if record is None or record["module"].partition(".")[0] != "dataprep":
        return None
    kind = getattr(importlib.import_module(record["module"]), record["name"], None)
    if not (isinstance(kind, type) and issubclass(kind, Reader)):
        return None
    if set(record["fields"]) - {f.name for f in dataclasses.fields(kind)}:  # type: ignore[arg-type] # of a later version
        return None
    fields = {name: reader_of(value) if _is_reader(value) else value for name, value in record["fields"].items()}
    return kind(**{name: _tuples(value) for name, value in fields.items()})


def _is_reader(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"module", "name", "fields"}


def _tuples(value: Any) -> Any:
    """Return JSON lists as tuples, which frozen dataclasses hold."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
