"""`read`: make a Dataset from paths, globs, sealed Datasets or Hugging Face data sets."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from dataprep.core.model.dataset import Dataset, join_datasets, open_dataset
from dataprep.core.model.reader import Reader
from dataprep.core.model.tables import EMPTY, Unread
from dataprep.core.model.unread import check_unread
from dataprep.core.output.layout import MANIFEST
from dataprep.core.run.runner import parse_bytes
from dataprep.errors import NotInstalled, PlanError, ReadError, require
from dataprep.store import compress, files

from . import formats, hf
from .beside_chats import MAY_BE_SETTINGS, BesideChats, settings
from .formats import Format
from .listing import list_files, warn_of
from .memory import is_in_memory, rows_in_memory
from .parts import LEAST_BYTES, InputFile, number
from .row_source import RowSource, pinned, write_once
from .source_field import field_path

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import ReadOptions

TYPED_FIELDS = ("jsonl", "json", "csv", "sqlite")  # formats whose reader warns of fields that do not exist
HF_OPTIONS = ("split", "config", "revision", "key")


@overload
def read(
    path: Any,
    format: None = None,
    text: str = "text",
    columns: Sequence[str] | Mapping[str, str] | None = None,
    *,
    on_bad_file: str = "stop",
    max_bad_files: int | None = None,
    max_window: int | str | None = None,
    part_size: int | str | None = None,
    **options: Unpack[ReadOptions],
) -> Dataset: ...


@overload
def read(
    path: Any,
    format: str | Reader | type[Reader],
    text: str = "text",
    columns: Sequence[str] | Mapping[str, str] | None = None,
    *,
    on_bad_file: str = "stop",
    max_bad_files: int | None = None,
    max_window: int | str | None = None,
    part_size: int | str | None = None,
    **options: Any,
) -> Dataset: ...


def read(
    path: Any,
    format: str | Reader | type[Reader] | None = None,  # noqa: A002 - the word users know
    text: str = "text",
    columns: Sequence[str] | Mapping[str, str] | None = None,
    *,
    on_bad_file: str = "stop",
    max_bad_files: int | None = None,
    max_window: int | str | None = None,
    part_size: int | str | None = None,
    **options: Any,
) -> Dataset:
    """Return a Dataset of files, other Datasets or a Hugging Face dataset; documents are read when needed.

    Args:
        path: the input; see below.
        format: the name of a format, or a `Reader` or its class; None detects the format of each file by its suffix or
            its first bytes (the first bytes of a .json file only if it is on this machine). The suffix may be followed
            by .gz, .zst, .xz or .bz2. docs/reading.md lists the formats and their suffixes.
        text: the name of the field that holds the text; for JSON Lines and Parquet also "OUTER.INNER", a nested field.
        columns: the fields of the input that become columns instead of metadata: a list, such as ["url"], with types
            inferred from the first 1,000 records, or a dict with the types, such as {"url": "string", "score":
            "double"}.
        on_bad_file: "stop" raises ReadError if a file is damaged, or has too many bad records. "skip" keeps the
            documents before the error, lists the file in `Dataset.unread()`, and raises ReadError only if more than
            `max_bad_files` files are bad, or if no file has a document.
        max_bad_files: the maximum number of bad files with on_bad_file="skip"; None: no maximum.
        max_window: the maximum window size of a zstd or xz file, in bytes or as text such as "2GiB"; None: 128 MiB.
            Files written by `zstd --long=31` need "2GiB", the largest allowed value.
        part_size: the maximum stored size of one part (the unit of work of one worker), in bytes or as text; None: 32
            MiB for an input of up to 8 GiB, more for larger ones, and never over 256 MiB. For slow stages, such as
            models, a value of "2MB" distributes a small input over all workers; less work is then lost if a run is
            killed. Ids do not depend on `part_size`.
        options: further fields of the format's reader, such as max_doc_bytes=, max_bad=, meta=False or
            date_order="dmy". For JSON Lines, CSV and Parquet, source="field:NAME" or "field:OUTER.INNER" takes the
            source of each document from a field.

    `path` is one of the following:

    - A path, glob pattern, folder or URL, or a list of these. Files are read in this order, sorted within a glob or
      folder.
    - {source: path or list of paths}. Without a dict, the source of a file is its name without suffixes and shard
      numbers.
    - A sealed Dataset, its folder, or a list of these, which are concatenated.
    - A `datasets.Dataset`, an `IterableDataset`, a folder of `save_to_disk` or "hf://datasets/OWNER/NAME", with the
      options split=, config=, revision= and key= (`read/hf.py`).
    - A pandas or Polars data frame, a DuckDB relation, an Arrow table, a list of dicts, or an iterator of dicts or
      texts, whose content must be named by `key=` (`read/memory.py`).

    Rows of Hugging Face datasets and of tables in memory are first written to a file, in the folder `out=` or in a
    cache folder (`read/row_source.py`).

    The formats paragraphs, lines, code, chat (any `time - author: text`, see `line=`) and hf are never detected, so
    they must be named. `dataprep.extend.register` adds your own `Reader` to the known formats.

    In a folder with chats, all other files become documents whose message columns are null. Attachments of the chats,
    and tables and JSON without texts, are left out (`read/beside_chats.py`). Numbered files of one export are read from
    the oldest to the newest. `Dataset.unread()` has a row for each skipped file: hidden (its name starts with . or _,
    and `path` does not name it), of unknown type, an attachment, not a chat, or empty.

    Raises PlanError for an unknown format or option, and ReadError if no file matches or all files are empty.

    >>> docs = dp.read({"news": "a/*.jsonl.zst", "books": "b/"}, columns=["url"])            # doctest: +SKIP
    """
    require(on_bad_file in ("stop", "skip"), f'on_bad_file={on_bad_file!r} must be "stop" or "skip"')
    allowed = max_bad_files is None or on_bad_file == "skip"
    require(allowed, f'max_bad_files={max_bad_files!r} must be used with on_bad_file="skip", or be left out')
    require(type(text) is str, f"text={text!r} must be the name of a field or column, as a str")
    is_count = max_bad_files is None or (type(max_bad_files) is int and max_bad_files >= 0)
    require(is_count, f"max_bad_files={max_bad_files!r} must be a number of files from 0, or None for no limit")
    if isinstance(columns, str):
        msg = f"columns={columns!r} must be a list of fields; write columns=[{columns!r}]"
        raise PlanError(msg)
    window, part_bytes = _window(max_window), _part_bytes(part_size)
    if _is_hf(path, format):
        return _read_rows(hf.hub_rows, path, text, columns, options | {"part_size": part_size}, HF_OPTIONS)
    if is_in_memory(path, options.get("key")):
        return _read_rows(rows_in_memory, path, text, columns, options | {"part_size": part_size}, ("key",))
    sources = dict(path) if isinstance(path, Mapping) else {None: path}
    given = [(source, p) for source, value in sources.items() for p in _listed(value)]
    sealed = [_sealed(p) if format is None else None for _, p in given]
    if any(s is not None for s in sealed):
        docs = _joined([p for _, p in given], sealed)
        absent = [name for name in columns or () if name not in docs.columns]
        if absent:
            msg = f"the sealed Dataset has no column {absent[0]!r}; it has {', '.join(docs.columns)}"
            raise PlanError(msg)
        require(part_size is None, "part_size= needs files; the parts of a sealed Dataset are its shards")
        require("source" not in options, "source= needs files; the documents of a sealed Dataset have their sources")
        return docs
    wanted = None if format is None else formats.named(format)
    skip = on_bad_file == "skip"
    with compress.windows(window):
        docs = _files(given, path, wanted, {"text": text, "columns": columns or (), **options}, part_bytes, skip=skip)
    parts = tuple(dataclasses.replace(part, max_window=window) for part in docs.parts)
    return dataclasses.replace(docs, parts=parts, max_bad_files=max_bad_files if skip else 0)


def _files(
    given: Sequence[tuple[Any, Any]], path: Any, wanted: Format | None, options: Mapping[str, Any], part_bytes: int,
    *, skip: bool,
) -> Dataset:  # fmt: skip
    """Return the Dataset of the files that `given` names, as pairs of a source and a path."""
    listings = [(source, list_files(p, wanted, skip=skip)) for source, p in given]
    found = [dataclasses.replace(f, source=source or f.source) for source, listing in listings for f in listing.found]
    found = list({f.url: f for f in found}.values())  # a file that two globs match is read once
    if not found:
        msg = f"path={path!r} names no file; pass a path or a list of paths"
        raise PlanError(msg)
    readable = [f for f in found if f.unread is None]
    if not any(f.n_bytes for f in readable):  # text files may be empty
        check_unread([f.unread or Unread(f.url, EMPTY, 0, "the file is empty") for f in found], None, 0)
    left_out = {row.file: row for _, listing in listings for row in listing.left_out}
    for file in found:
        left_out.pop(file.url, None)  # another path names it
    readers = _readers(readable, options, skip=skip)
    found = _without_settings(found, readers, left_out)
    docs = number(found, readers, list(left_out.values()), skip=skip, part_bytes=part_bytes)
    unread = [piece.unread for part in docs.parts for piece in part.slices]
    if all(unread):
        check_unread([row for row in unread if row], None, 0)
    return docs


def _without_settings(
    found: list[InputFile], readers: Mapping[Format, Reader], left_out: dict[str, Unread]
) -> list[InputFile]:
    """Return the files without files next to chats that have no texts; add the latter to `left_out`.

    A file that the user named is not left out.
    """
    rows = dict[str, Unread]()
    for file in found:
        reader = readers.get(file.format)
        if isinstance(reader, BesideChats) and file.listed and files.suffix(file.url) in MAY_BE_SETTINGS:
            row = None if file.unread else settings(file.url, file.source, reader)
            rows |= {file.url: row} if row else {}
    if rows:
        warn_of(next(file.listed for file in found if file.url in rows), list(rows.values()))
    left_out |= rows
    return [file for file in found if file.url not in rows]


def _window(given: int | str | None) -> int:
    """Return the size of `max_window` in bytes, rounded up to a power of two; 0 if it is None."""
    if given is None:
        return 0
    n = parse_bytes(given)
    require(0 < n <= compress.MAX_WINDOW_BYTES, f"max_window={given!r} must be an amount of memory of up to 2GiB")
    return max(1 << (n - 1).bit_length(), compress.WINDOW_BYTES)


def _part_bytes(given: int | str | None) -> int:
    """Return the stored size of a part in bytes; 0 if `part_size` is None."""
    n = 0 if given is None else parse_bytes(given)
    require(given is None or n >= LEAST_BYTES, f"part_size={given!r} must be at least 64KiB, such as '2MB'")
    return n


def _is_hf(path: Any, name: Any) -> bool:
    if not isinstance(path, (str, os.PathLike)):
        return type(path).__module__.partition(".")[0] == "datasets"
    path = os.fspath(path)
    return name == "hf" or path.startswith(hf.PREFIX) or (name is None and hf.is_saved(path))


def _read_rows(
    rows_of: Callable[..., RowSource],
    path: Any,
    text: str,
    columns: Any,
    options: Mapping[str, Any],
    own: Sequence[str],
) -> Dataset:
    """Write rows that are not in a file to a file, unless it exists; return its Dataset.

    - own: the options of `rows_of`.
    """
    key = options.get("key")
    require(key is None or (key and isinstance(key, str)), f"key={key!r} must be a name for the content, as a str")
    others = {k: v for k, v in options.items() if k not in (*own, "out")}
    try:
        rows = rows_of(path, **{k: v for k, v in options.items() if k in own})
    except NotInstalled as e:
        msg = f"{path}: {e}" if isinstance(path, (str, os.PathLike)) else str(e)
        raise NotInstalled(msg) from e
    url = write_once(rows, text, options.get("out"))
    return pinned(read({rows.source: url}, "parquet", text, columns, **others), rows.key)


def _listed(path: Any) -> list[Any]:
    if isinstance(path, (str, os.PathLike, Dataset)):
        path = [path]
    if not isinstance(path, Iterable) or isinstance(path, bytes):
        msg = f"path={path!r} must be a path, a list of paths, a Dataset, or a table"
        raise PlanError(msg)
    listed = list(path)
    if any(isinstance(p, Mapping) for p in listed):
        msg = "path= yields rows, not paths; set key= to a name for the rows, or pass the rows as a list"
        raise PlanError(msg)
    for p in listed:
        one = isinstance(p, (str, os.PathLike, Dataset))
        require(one, f"{p!r} in path= is not a path or a Dataset; pass paths, or texts with their name as key=")
    return [p if isinstance(p, Dataset) else os.fspath(p) for p in listed]


def _sealed(path: Any) -> Dataset | None:
    if isinstance(path, Dataset):
        return path
    if files.is_glob(path) or not files.exists(files.join(path, MANIFEST)):
        return None
    return open_dataset(path)


def _joined(given: list[Any], sealed: list[Dataset | None]) -> Dataset:
    unsealed = [p for p, s in zip(given, sealed, strict=True) if s is None]
    if unsealed:
        msg = f"{unsealed[0]} is not a sealed Dataset, but others are; seal it first with Pipeline().run(docs, out=)"
        raise PlanError(msg)
    docs = [s for s in sealed if s is not None]
    return docs[0] if len(docs) == 1 else join_datasets(docs)


def _readers(found: list[InputFile], given: Mapping[str, Any], *, skip: bool) -> dict[Format, Reader]:
    """Return one reader per format. Raises PlanError for an option that no reader has, or if columns differ."""
    urls = {f: [file.url for file in found if file.format == f] for f in dict.fromkeys(file.format for file in found)}
    loaded = {f: f.load() for f in urls}
    names = {field.name for kind in loaded.values() if isinstance(kind, type) for field in dataclasses.fields(kind)}
    known = names - {"text", "columns"}
    if any(f.is_chat for f in loaded):
        known |= {"me"}  # most exports name their owner, and do not need it
    unknown = sorted({*given} - known - {"text", "columns"})
    if unknown:
        of = " and ".join(f.name for f in loaded)
        near = difflib.get_close_matches(unknown[0], ["format", "text", "columns", *known], 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        there = f"the options are {', '.join(sorted(known))}" if known else "leave it out, since there are none"
        msg = f"there is no option {unknown[0]!r} for {of}; {there}{meant}"
        raise PlanError(msg)
    readers = {f: _reader(f.name, kind, given, urls[f] if skip else urls[f][:1]) for f, kind in loaded.items()}
    if any(f.is_chat for f in loaded):
        built_in = {f for f in loaded if isinstance(f.reader, str) and not f.is_chat}
        readers = {f: BesideChats(inner=reader) if f in built_in else reader for f, reader in readers.items()}
    adds = {f.name: {k: str(v) for k, v in reader.adds.items()} for f, reader in readers.items()}
    one = next(iter(adds))
    odd = next((name for name in adds if adds[name] != adds[one]), None)
    if odd is not None:
        msg = f"{one} and {odd} files have different columns ({adds[one]} and {adds[odd]}); read them in two calls"
        raise PlanError(msg)
    return readers


def _reader(name: str, kind: Any, given: Mapping[str, Any], urls: Sequence[str]) -> Reader:
    """Return the reader of a format, with those given parameters that it has; return an instance unchanged.

    - urls: the files from which column types are inferred; the first readable one is used.
    """
    fields = {f.name for f in dataclasses.fields(kind)} if isinstance(kind, type) else set()
    mine = {k: v for k, v in given.items() if k in fields}
    columns = given["columns"]
    if columns and "columns" not in fields:
        msg = f"{urls[0]}: {name} has no fields for columns=; leave columns= out"
        raise PlanError(msg)
    path = field_path(mine.get("source", ""), given["text"]) if name in TYPED_FIELDS else ()
    if path or (columns and (not isinstance(columns, Mapping) or name in (*TYPED_FIELDS, "parquet"))):
        found = _types(kind, urls, tuple(columns), path)  # warns of fields that do not exist
    if columns:
        typed = columns.items() if isinstance(columns, Mapping) else [(c, found[c]) for c in columns]
        mine["columns"] = tuple((str(k), str(v)) for k, v in typed)
    else:
        mine.pop("columns", None)
    try:
        reader: Reader = kind(**mine) if isinstance(kind, type) else kind
    except NotInstalled as e:
        msg = f"{urls[0]}: {e}"
        raise NotInstalled(msg) from e
    return reader


def _types(kind: Any, urls: Sequence[str], names: tuple[str, ...], path: tuple[str, ...]) -> dict[str, str]:
    """Return the column types of the first readable file. Raises the ReadError of the last file if none is readable.

    - path: as in `Jsonl.types_of`; () for other readers.
    """
    more = (path,) if path else ()
    for url in urls[:-1]:
        with contextlib.suppress(ReadError):
            return dict(kind.types_of(url, names, *more))
    return dict(kind.types_of(urls[-1], names, *more))
