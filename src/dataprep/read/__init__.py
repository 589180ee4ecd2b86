"""`read`: from paths, globs, sealed Datasets or Hugging Face data sets to a Dataset."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dataprep.core.dataset import Dataset, join_datasets, open_dataset
from dataprep.core.folder import MANIFEST
from dataprep.core.reader import Reader
from dataprep.errors import PlanError, ReadError
from dataprep.store import files

from . import formats
from .chats import sniff
from .formats import Format
from .parts import InputFile, number, source_of

log = logging.getLogger("dataprep")

HF_OPTIONS = ("split", "config", "revision", "key", "out")


def read(
    path: Any,
    format: str | Reader | type[Reader] | None = None,  # noqa: A002 - the word users know
    text: str = "text",
    columns: Sequence[str] | Mapping[str, str] | None = None,
    **options: Any,
) -> Dataset:
    """Return the Dataset of files, of other Datasets, or of a Hugging Face data set; documents are read when needed.

    path: one of
    - a path, glob, folder or URL, or a list of them. Files are numbered in this order, sorted inside a glob or folder.
    - {source: path or list of paths}. Without it a file's source is its name without suffixes and shard numbers.
    - a sealed Dataset, its folder, or a list of these, which are joined.
    - a `datasets.Dataset`, `IterableDataset` or "hf://datasets/OWNER/NAME"; its rows are written to a file first, at
      `out=` or in a cache folder. Its options are split=, config=, revision=, key= and out= (`read/hf.py`).

    format: None detects it per file. By suffix: jsonl (.jsonl .ndjson .json), parquet, text (.txt .md .rst, one
    document per file), wet, warc, arc, wat; .gz, .zst and .xz may follow. By their first bytes: exports of whatsapp,
    telegram, discord, messenger, instagram and signal (.txt .json .html .csv .zip; a .json only if it is local). By
    name only: paragraphs, lines, chat (any `time - author: text`, see `line=`), hf. A `Reader` or its class reads
    files of your own format; `dp.register` adds it under a name.

    text: the field that holds the text.
    columns: fields of meta that become columns: ["url"], with types found in the first 1,000 records, or with their
    types, {"url": "string", "score": "double"}.
    options: further fields of the format's reader, such as max_doc_bytes=, max_bad=, meta=False or date_order="dmy".

    Folders with chats: files that are not chats but have a suffix of chat exports are left out with a warning;
    format="text" or "jsonl" prevents that. Numbered files of one export are read oldest first.

    Raises PlanError for an unknown format or option, ReadError if nothing matches or a file is empty.

    >>> docs = dp.read({"news": "a/*.jsonl.zst", "books": "b/"}, columns=["url"])            # doctest: +SKIP
    """
    if _is_hf(path, format):
        return _read_hf(path, text, columns, options)
    sources = dict(path) if isinstance(path, Mapping) else None
    given = [p for value in sources.values() for p in _listed(value)] if sources is not None else _listed(path)
    sealed = [_sealed(p) if format is None else None for p in given]
    if any(s is not None for s in sealed):
        return _open_sealed(given, sealed)
    wanted = None if format is None else formats.named(format)
    found = [f for p in given for f in _expand(p, wanted)] if sources is None else _with_sources(sources, wanted)
    found = list({f.url: f for f in found}.values())  # a file that two globs match is read once
    if not found:
        msg = f"path={path!r} names no file; give a path or a list of paths"
        raise PlanError(msg)
    return number(found, _readers(found, text, columns, options))


def _is_hf(path: Any, name: Any) -> bool:
    module = type(path).__module__.partition(".")[0]
    return module == "datasets" or name == "hf" or (isinstance(path, str) and path.startswith("hf://datasets/"))


def _read_hf(path: Any, text: str, columns: Any, options: Mapping[str, Any]) -> Dataset:
    """Write the rows of a Hugging Face data set to a file, unless it is there; return its Dataset."""
    hf = importlib.import_module(".hf", __name__)
    mine = {k: v for k, v in options.items() if k in HF_OPTIONS}
    others = {k: v for k, v in options.items() if k not in HF_OPTIONS}
    url, source, key = hf.rows_of(path if not isinstance(path, os.PathLike) else os.fspath(path), text=text, **mine)
    docs: Dataset = hf.pinned(read({source: url}, "parquet", text, columns, **others), key)
    return docs


def _listed(path: Any) -> list[Any]:
    """Return the paths or Datasets in `path` as a list."""
    if isinstance(path, (str, os.PathLike, Dataset)):
        path = [path]
    if not isinstance(path, Iterable) or isinstance(path, bytes):
        msg = f"path={path!r} must be a path, a list of paths or a Dataset"
        raise PlanError(msg)
    return [p if isinstance(p, Dataset) else os.fspath(p) for p in path]


def _sealed(path: Any) -> Dataset | None:
    if isinstance(path, Dataset):
        return path
    if any(c in path for c in "*?[") or not files.exists(files.join(path, MANIFEST)):
        return None
    return open_dataset(path)


def _open_sealed(given: list[Any], sealed: list[Dataset | None]) -> Dataset:
    unsealed = [p for p, s in zip(given, sealed, strict=True) if s is None]
    if unsealed:
        msg = f"{unsealed[0]} is not a sealed Dataset, but others are; seal it first with Pipeline().run(docs, out=)"
        raise PlanError(msg)
    docs = [s for s in sealed if s is not None]
    return docs[0] if len(docs) == 1 else join_datasets(docs)


def _with_sources(sources: Mapping[str, Any], wanted: Format | None) -> list[InputFile]:
    pairs = [(source, p) for source, value in sources.items() for p in _listed(value)]
    return [dataclasses.replace(f, source=source) for source, p in pairs for f in _expand(p, wanted)]


def _expand(path: str, wanted: Format | None) -> list[InputFile]:
    """Return the files that a path names, each with its format; `wanted`: the format of all."""
    is_dir = files.is_dir(path)
    is_file = files.exists(path) and not is_dir  # a name with brackets may be a file's own
    is_glob = any(c in path for c in "*?[") and not is_file
    urls = [path] if is_file else files.expand(path)
    if not urls:
        state = "no file matches" if is_glob else "the folder is empty" if is_dir else "there is no such file"
        msg = f"{state}; check the path"
        raise ReadError(msg, path)
    kinds = [wanted or formats.format_of(url) for url in urls]
    found = [_input_file(u, f) for u, f in zip(urls, kinds, strict=True) if f]
    unknown = [u for u, f in zip(urls, kinds, strict=True) if not f]
    if unknown and (not is_dir or not found):
        _reject(unknown[0])
    zips = [u for u in unknown if files.suffix(u) == ".zip"]
    if zips:
        log.warning(
            "%d zips in %s are damaged or not chats, and are left out: %s", len(zips), path, ", ".join(zips[:5])
        )
    empty = next((f for f in found if not f.n_bytes), None)
    if empty is not None:
        msg = "the file is empty; remove it or fetch it again"
        raise ReadError(msg, empty.url, 0)
    if is_dir and wanted is None:
        found = _chats_only(found, path)
    return sniff.oldest_first(found)


def _input_file(url: str, kind: Format) -> InputFile:
    built_in = isinstance(kind.reader, str)
    return InputFile(url, kind, source_of(url, () if built_in else kind.suffixes), files.size(url))


def _reject(url: str) -> None:
    """Raise the error of a file without a format; of a zip, ReadError with the reason why it is not a chat export."""
    if files.suffix(url) == ".zip":
        from .chats.whatsapp.archives import exports  # imports Numba

        exports(url)
    known = ", ".join(s for f in formats.FORMATS.values() if f.sniff is None for s in f.suffixes)
    state = ", and it is not a chat export" if formats.may_be_chat(url) else ""
    msg = (
        f"{url}: no reader is known for this suffix ({known}){state}; name one with format={'|'.join(formats.FORMATS)}"
    )
    raise PlanError(msg)


def _chats_only(found: list[InputFile], path: str) -> list[InputFile]:
    """Return a folder's files; if there are chats, without those that only have a suffix of chats, such as settings."""
    if not any(f.format.is_chat for f in found):
        return found
    built_in = [f for f in found if not f.format.is_chat and isinstance(f.format.reader, str)]
    others = [f for f in built_in if f.format.name == "text" or formats.may_be_chat(f.url)]
    if others:
        shown = ", ".join(f.url for f in others[:5])
        log.warning("%s holds chats; %d files that are not chats are left out: %s", path, len(others), shown)
    left_out = set(others)
    return [f for f in found if f not in left_out]


def _readers(found: list[InputFile], text: str, columns: Any, options: Mapping[str, Any]) -> dict[Format, Reader]:
    """Return a reader per format. Raises PlanError for an option that none has, or if their columns differ."""
    first = {file.format: file.url for file in reversed(found)}
    loaded = {f: f.load() for f in dict.fromkeys(file.format for file in found)}
    names = {field.name for kind in loaded.values() if isinstance(kind, type) for field in dataclasses.fields(kind)}
    known = names - {"text", "columns"}
    unknown = sorted(set(options) - known)
    if unknown:
        of = " and ".join(f.name for f in loaded)
        near = difflib.get_close_matches(unknown[0], ["format", "text", "columns", *known], 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        msg = f"there is no option {unknown[0]!r} for {of}; there are {', '.join(sorted(known)) or 'none'}{meant}"
        raise PlanError(msg)
    given = {"text": text, "columns": columns or (), **options}
    readers = {f: _reader(f.name, kind, given, first[f]) for f, kind in loaded.items()}
    adds = {f.name: {k: str(v) for k, v in reader.adds.items()} for f, reader in readers.items()}
    one = next(iter(adds))
    odd = next((name for name in adds if adds[name] != adds[one]), None)
    if odd is not None:
        msg = f"{one} and {odd} files give different columns ({adds[one]} and {adds[odd]}); read them in two calls"
        raise PlanError(msg)
    return readers


def _reader(name: str, kind: Any, given: Mapping[str, Any], url: str) -> Reader:
    """Return the reader of a format, with those of the given parameters that it has; an instance as it is."""
    fields = {f.name for f in dataclasses.fields(kind)} if isinstance(kind, type) else set()
    mine = {k: v for k, v in given.items() if k in fields}
    columns = given["columns"]
    if columns and "columns" not in fields:
        msg = f"{url}: {name} has no fields for columns=; leave columns= out"
        raise PlanError(msg)
    if columns:
        typed = columns.items() if isinstance(columns, Mapping) else kind.types_of(url, tuple(columns))
        mine["columns"] = tuple((str(k), str(v)) for k, v in typed)
    else:
        mine.pop("columns", None)
    reader: Reader = kind(**mine) if isinstance(kind, type) else kind
    return reader
