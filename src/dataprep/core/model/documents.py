"""`Documents`: the documents of a Dataset as Python objects, tables, files, and objects of other libraries."""

from __future__ import annotations

import collections
import itertools
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa

from dataprep.errors import PlanError, ReadError, StaleOutput, need, require
from dataprep.lazy import parquet as pq
from dataprep.shown.notebook import html_table, shown_in_notebooks, text
from dataprep.store import compress, files

from ..inputs.restore import original
from ..output.layout import DATASET_FILES, home_of
from ..output.state import Manifest
from . import batch as B
from .batch import Batch
from .hub_card import section_of, with_section
from .part import Part, ShardWriter
from .stats import Stats
from .view import VIEW

REPOSITORY = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")  # a name on the hub
CARD = "README.md"
SHOWN = 200  # characters of a text in a notebook
FORMATS = ("jsonl", "jsonl.gz", "jsonl.zst", "parquet")
MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}  # the first bytes of compressed files
FIRST = 1 << 27  # bytes of the longest first line that is read


class Documents:
    """Base class of Dataset: methods to convert, write and upload documents.

    Attributes:
        parts: the parts of the Dataset.
        url: the folder of the Dataset, or None.
        manifest: the manifest of the Dataset, or None.
    """

    parts: tuple[Part, ...]
    url: str | None
    manifest: Manifest | None

    def check_here(self) -> None:
        """Raise PlanError if a relative path was given, and the working folder has changed since then."""
        raise NotImplementedError

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield all documents in batches.

        Args:
            columns: names of the columns to read (None: all).
        """
        raise NotImplementedError

    @property
    def count(self) -> int:
        """The number of documents."""
        raise NotImplementedError

    @property
    def _is_counted(self) -> bool:
        raise NotImplementedError

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all documents as a table in memory.

        Args:
            columns: names of the columns to read (None: all).
        """
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
        """Return the document at a position, as a dict, or the documents of a slice, as a list; -1 is the last one.

        All documents before the position are read. Raises IndexError if there is no such document.
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
        """Return HTML for notebooks: a description of this Dataset and the beginnings of its first five documents."""
        rows = ([text(B.show_id(row["id"])), text(row["source"]), text(row["text"], SHOWN)] for row in self.take(5))
        return f"<p>{text(repr(self), 1_000)}</p>{html_table(('id', 'source', 'text'), rows)}"

    def write(self, path: str, format: str | None = None) -> None:  # noqa: A002 - the word users know
        """Write all documents to one file.

        Args:
            path: the file to write. A file that an earlier call of this method wrote is replaced.
            format: `jsonl`, `jsonl.gz`, `jsonl.zst` or `parquet`. None selects the format that the suffix of `path`
                names, or `jsonl.zst` if the suffix names none.

        Raises PlanError if `path` is an input file, or if the next run would read it as an input file, and StaleOutput
        if `path` exists and was not written by this method.
        """
        self.check_here()
        check_file_apart(self.parts, str(path))
        _check_ours(str(path))
        _write(self.batches(), str(path), format)

    def to_arrow(self, *, restore: bool = False) -> pa.Table:
        """Return the documents as an Arrow table, with sources as strings.

        Args:
            restore: True returns the columns of the input instead of id, source and meta, under their original names
                and if possible with their original types. The texts are the current ones. Columns that stages added
                follow. Values of `meta` have JSON types, so bytes are text, and NaN is null.

        Raises PlanError if the text field has different names in different input files.
        """
        table = self.table()
        if restore:
            return original(table, self.parts)
        at = table.schema.get_field_index("source")
        return table.set_column(at, "source", table.column(at).cast(pa.string()))

    def to_pandas(self, *, restore: bool = False) -> Any:
        """Return the documents as a `pandas.DataFrame`.

        Args:
            restore: as in `to_arrow`.
        """
        need("pandas", extra="frames")
        return self.to_arrow(restore=restore).to_pandas()

    def to_polars(self, *, restore: bool = False) -> Any:
        """Return the documents as a `polars.DataFrame`.

        Args:
            restore: as in `to_arrow`.
        """
        return need("polars", extra="frames").from_arrow(self.to_arrow(restore=restore))

    def to_hf(self, *, restore: bool = False) -> Any:
        """Return the documents as a `datasets.Dataset` (Hugging Face), memory-mapped if this Dataset is sealed.

        Args:
            restore: as in `to_arrow`; the result is then in memory.

        Needs the extra `hf`.
        """
        datasets = need("datasets", extra="hf")
        self.check_here()
        is_view = self.manifest is not None and self.manifest.codec == VIEW
        if self._is_counted and self.count and not restore and not is_view and files.is_local(str(self.url)):
            return datasets.Dataset.from_parquet([piece.url for part in self.parts for piece in part.slices])
        table = self.to_arrow(restore=restore)
        return datasets.Dataset(table if len(table) else table.schema.empty_table())  # datasets needs arrays, not none

    def push(
        self, repository: str, *, restore: bool = False, license: str | None = None, **options: Any,  # noqa: A002
    ) -> Any:  # fmt: skip
        """Upload the documents to the Hugging Face Hub with a dataset card; return the commit that contains them.

        The card (README.md of the repository) gets the features, splits and sizes that the Hub's viewer needs. It also
        gets a section with the size and the number of documents that each stage dropped. The section replaces that of
        an earlier push; other text in the card is kept.

        Args:
            repository: "OWNER/NAME".
            restore: as in `to_arrow`.
            license: the license's identifier on the Hub, such as "cc-by-4.0"; None: the license that the repository
                states, if any.
            options: options of `datasets.Dataset.push_to_hub`, such as private=True, split="train", config_name= or
                token=.

        Needs the extra `hf`.
        """
        must = 'must be "OWNER/NAME", a name on the hub; to_hf().save_to_disk() writes a local folder'
        is_name = isinstance(repository, str) and REPOSITORY.fullmatch(repository)
        require(is_name, f"repository={repository!r} {must}")
        made = self.to_hf(restore=restore)
        commit = made.push_to_hub(repository, **options)
        self._push_card(commit, len(made), license, options)
        return commit

    def _push_card(self, commit: Any, n_documents: int, license_: str | None, options: Mapping[str, Any]) -> None:
        """Write the section about this Dataset, and the licence if it is given, into the card of the upload."""
        hub = need("huggingface_hub", extra="hf")
        repo, revision = commit.repo_url.repo_id, commit.pr_revision or options.get("revision")
        api = hub.HfApi(endpoint=commit.repo_url.endpoint, token=options.get("token"))
        with tempfile.TemporaryDirectory() as folder:
            path = api.hf_hub_download(repo, CARD, repo_type="dataset", revision=commit.oid, local_dir=folder)
            with files.open_raw(path) as f:
                card = hub.DatasetCard(f.read().decode())
        if license_ is not None:
            card.data.license = license_
        made = self.manifest
        if made is not None and self._is_counted:
            n_bytes = made.bytes
        else:
            n_bytes = sum(map(B.text_bytes, self.batches(["text"])))
        stats = () if made is None else Stats.from_json(made.stats)
        section = section_of(n_documents, n_bytes, stats, has_license=card.data.license is not None)
        card.text = "\n" + with_section(card.text, section, repo.rpartition("/")[2])
        api.upload_file(
            path_or_fileobj=str(card).encode(), path_in_repo=CARD, repo_id=repo, repo_type="dataset", revision=revision,
            commit_message="Describe the data",
        )  # fmt: skip


def _counts_back(position: slice) -> bool:
    """Return whether a slice requires the number of documents, because it counts from the end or runs backwards."""
    return any(n is not None and n < 0 for n in (position.start, position.stop, position.step))


def check_file_apart(parts: Iterable[Part], out: str) -> None:
    """Raise PlanError if the file `out` is an input file of `parts`, or if the next run would read it as one."""
    pieces = [piece for part in parts for piece in part.slices]
    urls = {piece.url for piece in pieces}
    read = any(files.real(url) == files.real(out) for url in urls)
    homes = {home for home in map(home_of, urls) if home is not None}
    read |= any(files.is_inside(out, home.path(name)) for home in homes for name in DATASET_FILES)
    if read or any(files.would_list(url, out) for url in {piece.listed for piece in pieces if piece.listed}):
        msg = f"{out} is one of the input files, or the next run would read it as one; choose another file as out"
        raise PlanError(msg)


def _check_ours(url: str) -> None:
    """Raise StaleOutput if the file `url` exists and does not contain documents as `write` writes them."""
    if files.exists(url) and not files.is_dir(url) and files.size(url):
        try:
            columns = _columns_of(url)
        except (ReadError, OSError, ValueError, pa.ArrowException):  # damaged, or not of these formats
            columns = []
        if columns[: len(B.FIXED)] != list(B.FIXED):
            msg = f"{url} exists and does not contain documents that dataprep wrote; choose another file as out"
            raise StaleOutput(msg)


def _columns_of(url: str) -> list[str]:
    """Return the columns of a file of documents; for JSON Lines, those of the first line, or all if it is empty."""
    with files.open_raw(url) as f:
        head = f.read(4)
        f.seek(0)
        if head == b"PAR1":
            return list(pq.read_schema(f).names)
        line = compress.decompressed(f, MAGIC.get(head[:2], MAGIC.get(head, ""))).readline(FIRST)
    found = orjson.loads(line) if line else dict(B.FIXED)
    return list(found) if isinstance(found, dict) else []


def _write(batches: Iterator[Batch], path: str, name: str | None) -> None:
    """Write documents to the file `path`.

    - name: one of FORMATS, or None for the format that the path names.

    Raises PlanError if the format is unknown.
    """
    name = name or next((f for f in FORMATS if path.endswith("." + f)), "jsonl.zst")
    if name not in FORMATS:
        msg = f"format={name!r} is unknown; it must be one of {', '.join(FORMATS)}"
        raise PlanError(msg)
    with files.atomic(path) as f:
        (_write_parquet if name == "parquet" else _write_jsonl)(batches, f, name)


def _write_jsonl(batches: Iterator[Batch], f: Any, name: str) -> None:
    with compress.compressor(f, name) as out:
        for batch in batches:
            rows = batch.to_pylist()
            for row in rows:
                row["id"] = str(row["id"])  # ids exceed 2^53
                row["meta"] = orjson.Fragment(row["meta"])
            out.write(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))


def _write_parquet(batches: Iterator[Batch], f: Any, _: str) -> None:
    writer = None
    for batch in B.recut(batches):
        writer = writer or ShardWriter(f, batch.schema, "zstd")
        writer.write(batch)
    writer = writer or ShardWriter(f, B.SCHEMA, "zstd")
    writer.close()
