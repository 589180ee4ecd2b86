"""`Documents`: the documents of a Dataset as Python objects, tables, files, and objects of other libraries."""

from __future__ import annotations

import collections
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from dataprep.errors import need, require
from dataprep.shown.notebook import html_table, shown_in_notebooks, text
from dataprep.store import files

from ..inputs.restore import original
from ..output.state import Manifest
from . import batch as B
from . import export
from .batch import Batch
from .part import Part

REPOSITORY = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")  # a name on the hub
SHOWN = 200  # characters of a text in a notebook


class Documents:
    """Base class of Dataset: what can be done with documents once they are read.

    parts, url, manifest: those of the Dataset.
    """

    parts: tuple[Part, ...]
    url: str | None
    manifest: Manifest | None

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield all documents in batches; columns: names of the columns to read (None: all)."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """The number of documents."""
        raise NotImplementedError

    @property
    def _is_counted(self) -> bool:
        raise NotImplementedError

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all documents as a table in memory; columns: names of the columns to read (None: all)."""
        batches = list(self.batches(columns))
        if not batches:
            empty = B.empty() if columns is None else B.empty().select([c for c in columns if c in B.FIXED])
            return pa.Table.from_batches([empty])
        return shown_in_notebooks(pa.Table.from_batches(batches).unify_dictionaries())

    def take(self, n: int) -> list[dict[str, Any]]:
        """Return the first n documents as dicts."""
        rows: list[dict[str, Any]] = []
        for batch in self.batches():
            rows += batch.slice(0, n - len(rows)).to_pylist()
            if len(rows) >= n:
                break
        return rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield all documents as dicts."""
        for batch in self.batches():
            yield from batch.to_pylist()

    def __getitem__(self, position: int | slice) -> Any:
        """Return the document at a position, as a dict, or those of a slice, as a list of dicts; -1 is the last.

        Documents before it are read, but not those after it. Raises IndexError if there is no such document.
        """
        if isinstance(position, slice):
            if _counts_back(position) and not self._is_counted:
                return list(self)[position]
            start, stop, step = position.indices(self.count if _counts_back(position) else sys.maxsize)
            return list(itertools.islice(self, start, stop, step)) if step > 0 else list(self)[position]
        is_integer = hasattr(position, "__index__") and not isinstance(position, bool)
        require(is_integer, f"docs[{position!r}] must be docs[n] or docs[a:b]; columns are read by docs.to_arrow()")
        if position < 0 and not self._is_counted:
            last = collections.deque(self, maxlen=-position)
            found = [last[0]] if len(last) == -position else []
        else:
            found = self[position : position + 1 or None]
        if not found:
            msg = f"there is no document at position {position:,}; there are {self.count:,}"
            raise IndexError(msg)
        return found[0]

    def _repr_html_(self) -> str:
        """Return what notebooks show: this Dataset in words, and the beginnings of its first five documents."""
        rows = ([text(B.show_id(row["id"])), text(row["source"]), text(row["text"], SHOWN)] for row in self.take(5))
        return f"<p>{text(repr(self), 1_000)}</p>{html_table(('id', 'source', 'text'), rows)}"

    def write(self, path: str, format: str | None = None) -> None:  # noqa: A002 - the word users know
        """Write all documents to one file.

        format: `jsonl`, `jsonl.gz`, `jsonl.zst` or `parquet`. None: the format that the end of `path` names, or
        `jsonl.zst` if it names none. A file that this method wrote is replaced. Raises PlanError if `path` is one of
        the input files, or would be read as one the next time, StaleOutput if it is another file.
        """
        export.check_file_apart(self.parts, str(path))
        export.check_file_ours(str(path))
        export.write(self.batches, str(path), format)

    def to_arrow(self, *, restore: bool = False) -> pa.Table:
        """Return the documents as an Arrow table, with sources as strings.

        restore: give back the columns of the input, under their names and as far as possible with their types, instead
        of id, source and meta. They have the texts as they are now, and columns that stages added follow. Values of
        `meta` are as in JSON, so bytes are text, and NaN is null. Raises PlanError if the input files had their texts
        in fields of different names.
        """
        table = self.table()
        if restore:
            return original(table, self.parts)
        at = table.schema.get_field_index("source")
        return table.set_column(at, "source", table.column(at).cast(pa.string()))

    def to_pandas(self, *, restore: bool = False) -> Any:
        """Return the documents as a `pandas.DataFrame`; restore: as in `to_arrow`."""
        need("pandas", extra="frames")
        return self.to_arrow(restore=restore).to_pandas()

    def to_polars(self, *, restore: bool = False) -> Any:
        """Return the documents as a `polars.DataFrame`; restore: as in `to_arrow`."""
        return need("polars", extra="frames").from_arrow(self.to_arrow(restore=restore))

    def to_hf(self, *, restore: bool = False) -> Any:
        """Return the documents as a `datasets.Dataset` (Hugging Face), memory-mapped if this one is sealed (complete).

        restore: as in `to_arrow`; the result is then in memory. Needs the extra `hf`.
        """
        datasets = need("datasets", extra="hf")
        if self._is_counted and self.count and not restore and files.is_local(str(self.url)):
            return datasets.Dataset.from_parquet([piece.url for part in self.parts for piece in part.slices])
        return datasets.Dataset(self.to_arrow(restore=restore))

    def push(self, repository: str, *, restore: bool = False, **options: Any) -> Any:
        """Upload the documents to the Hugging Face hub, and return what `datasets` returns, which names the commit.

        repository: "OWNER/NAME". restore: as in `to_arrow`. options: those of `datasets.Dataset.push_to_hub`, such as
        private=True, split="train", config_name= or token=. Needs the extra `hf`.
        """
        must = 'must be "OWNER/NAME", a name on the hub; to_hf().save_to_disk() writes a local folder'
        is_name = isinstance(repository, str) and REPOSITORY.fullmatch(repository)
        require(is_name, f"repository={repository!r} {must}")
        return self.to_hf(restore=restore).push_to_hub(repository, **options)


def _counts_back(position: slice) -> bool:
    """Return whether a slice needs the number of documents: it counts from the end, or backwards."""
    return any(n is not None and n < 0 for n in (position.start, position.stop, position.step))
