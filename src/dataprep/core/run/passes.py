"""Pass: a task for `runner.map` that writes a file and a receipt (record of the work) for every item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from dataprep.lazy import compute as pc
from dataprep.store import files, parquet, receipts
from dataprep.store.key import key as key_of

from ..model import tables
from ..model.part import Part
from ..output.owned import discard, sync_written
from .runner import Runner

T = TypeVar("T")


@dataclass(frozen=True)
class PartItem:
    """Base class of items with an input part and what else the task needs."""

    part: Part

    @property
    def number(self) -> int:
        """The part's number in the input."""
        return self.part.number

    @property
    def n_bytes(self) -> int:
        """The stored size of the part in bytes."""
        return self.part.n_bytes

    @property
    def thread_safe(self) -> bool:
        """Whether a thread may process the part while others process other parts."""
        return self.part.thread_safe


@dataclass(frozen=True)
class Pass(Generic[T]):
    """Base class of tasks that write one file per item; files with a receipt (work record) are not rewritten.

    A subclass must set `folder`, the name of its folder inside `out`, and define `write`. Items are numbers, or objects
    with a `number`, such as Parts.

    Attributes:
        noun: the prefix of file names: part-00003 for "part". If it is "", there is one item, and its file is
            OUT/FOLDER.
        thread_safe: whether threads of one process may write several items at once; see `Runner.map`.
        out: the folder of the Estimator's work.
        key: a hash of everything, apart from the item, that determines the result.

    >>> @dataclass(frozen=True)                                              # doctest: +SKIP
    ... class Hash(Pass[Part]):
    ...     folder = "hash"
    ...     def write(self, url, item):
    ...         ...                                         # write the file at `url`
    ...         return {"documents": n}                     # content of the receipt
    >>> receipts = list(run.map(Hash(out, key), docs.tasks))                 # doctest: +SKIP
    >>> Hash.url(out, 3)                                                     # doctest: +SKIP
    'OUT/hash/part-00003'
    """

    folder: ClassVar[str]
    noun: ClassVar[str] = "part"
    thread_safe: ClassVar[bool] = False

    out: str
    key: str

    @classmethod
    def url(cls, out: str, number: int = 0) -> str:
        """Return the URL of the file of item `number` in `out`: OUT/FOLDER/part-00003; OUT/FOLDER if `noun` is ""."""
        return files.join(out, cls.folder, f"{cls.noun}-{number:05d}") if cls.noun else files.join(out, cls.folder)

    def __call__(self, item: T) -> dict[str, Any]:
        """Write the file of an item by `write`, unless it has a valid receipt; return the receipt."""
        url = self.url_of(item)

        def made() -> dict[str, Any]:
            return {"files": [url], **self.write(url, item)}

        return receipts.once(url + ".json", self.item_key(item), made, synced=False)

    def url_of(self, item: T) -> str:
        """Return the URL of an item's file; if the item has several files, return the URL without their suffixes."""
        number: Any = item if isinstance(item, int) else getattr(item, "number", None)
        return self.url(self.out, number)

    def item_key(self, item: T) -> str:
        """Return a hash of everything that determines an item's file; if the hash changes, the file is rewritten."""
        part = item.part if isinstance(item, PartItem) else item
        return key_of((self.key, part.key)) if isinstance(part, Part) else self.key

    def write(self, url: str, item: T) -> dict[str, Any]:
        """Write the file of an item at `url`, and return counts and other values for its receipt (work record).

        If other files are written in addition to `url`, the field "files" must list their URLs.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class WriteTable(Pass[int]):
    """Write one file of an Estimator's table; a subclass defines `rows`.

    Attributes:
        table: the URL of the table.
        sections: the number of sections of rows. No id in a section is less than those in the section before it.
        n_files: the number of files of the table; each has the rows of adjacent sections. The receipts are in `folder`.
    """

    folder = "table"
    noun = "file"
    schema: ClassVar[pa.Schema]

    table: str
    sections: int
    n_files: int = 1

    def rows(self, section: int) -> Iterable[pa.RecordBatch | pa.Table]:
        """Yield the rows of a section, with the columns of `schema`; each table has the ids after the one before."""
        raise NotImplementedError

    def __call__(self, item: int) -> dict[str, Any]:
        """Write file number `item`, unless it has a valid receipt; return the receipt."""
        url = parquet.part_of(self.table, item)
        made = partial(self.write, url, item)
        return receipts.once(self.url_of(item) + ".json", self.key, made, synced=False)

    def write(self, url: str, item: int) -> dict[str, Any]:
        """Write file number `item` to `url`; return {"files": [url], "last": the last id in it, or 0}."""
        last = [0]

        def noted() -> Iterator[pa.RecordBatch | pa.Table]:
            for rows in self._of(item):
                last[0] = max(last[0], pc.max(rows.column("id")).as_py() or 0)
                yield rows

        tables.write_rows(url, self.schema, noted(), 1 << 32)
        return {"files": [url], "last": last[0]}

    def _of(self, item: int) -> Iterator[pa.RecordBatch | pa.Table]:
        low, high = (end * self.sections // self.n_files for end in (item, item + 1))
        return chain.from_iterable(map(self.rows, range(low, high)))

    def run(self, runner: Runner, n_rows: int, label: str) -> list[Any]:
        """Write the table: in this process if it fits into one file, else by a task per file; return its files.

        - n_rows: the number of rows of all sections.
        - label: the title of the progress bar.
        """
        n = min(self.sections, -(-n_rows // (tables.VERDICT_ROWS * parquet.FILE_GROUPS)))
        if n <= 1:
            tables.write_rows(self.table, self.schema, self._of(0))
            return [self.table]
        wanted = [parquet.part_of(self.table, number) for number in range(n)]
        names = set(map(files.name_of, wanted))
        for old in files.expand(self.table) if files.is_dir(self.table) else [self.table]:  # of an earlier table
            if files.name_of(old) not in names:
                discard(old)
        made = list(runner.map(replace(self, n_files=n), range(n), label))
        parquet.write_index(self.table, self.schema, accumulate((one["last"] for one in made), max))
        written = [{**one["files"][0], "name": url} for one, url in zip(made, wanted, strict=True)]
        return [*written, parquet.index_of(self.table)]


def table_once(
    url: str, key: str, make: Callable[[], dict[str, Any]], passes: Iterable[type[Pass[Any]]] = ()
) -> dict[str, Any]:
    """Write the Parquet table `url` by calling `make`, unless it is finished; return the counts that `make` returned.

    - make: a function that writes the table and returns counts. The counts are stored in a receipt, whose URL is `url`
      with the suffix .json instead of .parquet.
    - key: a hash of everything that determines the table; if the receipt states the same hash, `make` is not called.
    - passes: classes whose intermediate files in the same folder are deleted afterwards.
    """
    out, temporary = url.rpartition("/")[0], {one.folder + suffix for one in passes for suffix in ("", ".json")}

    def made_and_synced() -> dict[str, Any]:
        made = make()
        sync_written(out, set(files.listdir(out)) - temporary)  # nothing repeats these tasks after the receipt
        return {"files": [url], **made}

    made = receipts.once(url.removesuffix("parquet") + "json", key, made_and_synced)
    for name in temporary:
        discard(files.join(out, name))
    return {name: value for name, value in made.items() if name not in ("files", "key")}
