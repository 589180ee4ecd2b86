"""`read`: from paths, globs, sealed Datasets or Hugging Face datasets to a Dataset. One file a format."""

from __future__ import annotations

import dataclasses
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

from .chats import sniff
from .parts import InputFile, number, source_of

log = logging.getLogger("dataprep")

FORMATS = {
    "jsonl": ("json.reader", "Jsonl"),
    "parquet": ("parquet", "Parquet"),
    "text": ("text", "Text"),
    "paragraphs": ("text", "Paragraphs"),
    "lines": ("text", "Lines"),
    "wet": ("web.wet", "Wet"),
    "warc": ("web.warc", "Warc"),
    "arc": ("web.warc", "Warc"),
    "wat": ("web.wat", "Wat"),
    "whatsapp": ("chats.whatsapp.reader", "WhatsApp"),
    "telegram": ("chats.telegram.json", "Telegram"),
    "discord": ("chats.discord.json", "Discord"),
    "messenger": ("chats.messenger", "Messenger"),
    "instagram": ("chats.messenger", "Instagram"),
    "signal": ("chats.signal", "Signal"),
    "chat": ("chats.plain", "Chat"),
}
HF_OPTIONS = ("split", "config", "revision", "key", "out")
SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".txt": "text",
    ".md": "text",
    ".rst": "text",
    ".wet": "wet",
    ".warc": "warc",
    ".arc": "arc",
    ".wat": "wat",
}


def read(
    path: Any,
    format: str | None = None,  # noqa: A002 - the word users know
    text: str = "text",
    columns: Sequence[str] | Mapping[str, str] | None = None,
    **options: Any,
) -> Dataset:
    """The documents of files, sealed Datasets, or a Hugging Face dataset; nothing is read yet.

    path: a path, glob, folder or URL, or a list of them; {source: path or list} names the sources, which otherwise are
    the files' names without shard numbers. File numbers follow the order given, sorted inside a glob or folder. A
    sealed Dataset, a folder of one, or a list of these is opened (together). A `datasets.Dataset`, `IterableDataset` or
    "hf://datasets/OWNER/NAME" (format="hf" where only OWNER/NAME or a local folder is given) is sealed first, under a
    key, at `out=` or in a cache folder; its options are split=, config=, revision=, key=, out= (read/hf.py).
    format: by suffix (.jsonl .ndjson .json .parquet .txt .md .rst .wet .warc .arc .wat, then .gz .zst .xz), or one of
    jsonl, parquet, text (one document a file), paragraphs (split on blank lines), lines, wet, warc, arc, wat, hf; of
    chats whatsapp, telegram, discord, messenger, instagram, signal, chat (any `time - author: text`, see `line=`).
    An export of a chat (.txt .json .html .csv .zip) is told by its first bytes, also among other files of a folder,
    whose .txt, .json ... that are no chat are then left out with a warning; format="text" or "jsonl" prevents that.
    .json is looked into only where it lies on this machine. The numbered files of one export are read oldest first.
    text: the field that holds the text. columns: fields to lift out of meta as columns, ["url"], or with their types,
    {"url": "string", "score": "double"}; else their types are those of the first 1,000 records.
    options: the further fields of the format's reader, such as max_doc_bytes=, max_bad=, meta=False, date_order="dmy".

    Errors: PlanError or ReadError that name the path, for no match, an empty file, an unknown format or option.
    """
    if _is_hf(path, format):
        return _read_hf(path, text, columns, options)
    named = dict(path) if isinstance(path, Mapping) else None
    given = [p for value in named.values() for p in _listed(value)] if named is not None else _listed(path)
    sealed = [_sealed(p) if format is None else None for p in given]
    if any(s is not None for s in sealed):
        return _open_sealed(given, sealed)
    found = [f for p in given for f in _expand(p, format)] if named is None else _named(named, format)
    found = list({f.url: f for f in found}.values())  # a file that two globs match is read once
    if not found:
        msg = "read was given no path"
        raise PlanError(msg)
    readers = _readers(found, text, columns, options)
    return number(found, readers)


def _is_hf(path: Any, name: str | None) -> bool:
    module = type(path).__module__.partition(".")[0]
    return module == "datasets" or name == "hf" or (isinstance(path, str) and path.startswith("hf://datasets/"))


def _read_hf(path: Any, text: str, columns: Any, options: Mapping[str, Any]) -> Dataset:
    """Seal the rows of a Hugging Face data set, and read the sealed file."""
    hf = importlib.import_module(".hf", __name__)
    mine = {k: v for k, v in options.items() if k in HF_OPTIONS}
    others = {k: v for k, v in options.items() if k not in HF_OPTIONS}
    url, source, key = hf.rows_of(path if not isinstance(path, os.PathLike) else os.fspath(path), text=text, **mine)
    docs: Dataset = hf.pinned(read({source: url}, "parquet", text, columns, **others), key)
    return docs


def _listed(path: Any) -> list[Any]:
    """What `path` names, each a str or a Dataset."""
    if isinstance(path, (str, os.PathLike, Dataset)):
        path = [path]
    if not isinstance(path, Iterable) or isinstance(path, bytes):
        msg = f"read takes a path, a list of paths or a Dataset, not {path!r}"
        raise PlanError(msg)
    return [p if isinstance(p, Dataset) else os.fspath(p) for p in path]


def _sealed(path: Any) -> Dataset | None:
    if isinstance(path, Dataset):
        return path
    if any(c in path for c in "*?[") or not files.exists(files.join(path, MANIFEST)):
        return None
    return open_dataset(path)


def _open_sealed(given: list[Any], sealed: list[Dataset | None]) -> Dataset:
    strangers = [p for p, s in zip(given, sealed, strict=True) if s is None]
    if strangers:
        msg = f"{strangers[0]} is not a sealed Dataset as the others are; seal it first with Pipeline().run(docs, out=)"
        raise PlanError(msg)
    docs = [s for s in sealed if s is not None]
    return docs[0] if len(docs) == 1 else join_datasets(docs)


def _named(named: Mapping[str, Any], name: str | None) -> list[InputFile]:
    pairs = [(source, p) for source, value in named.items() for p in _listed(value)]
    return [dataclasses.replace(f, source=source) for source, p in pairs for f in _expand(p, name)]


def _expand(path: str, name: str | None) -> list[InputFile]:
    """The files a path names, each with its format."""
    if name is not None and name not in FORMATS:
        msg = f"there is no format {name!r}; there are {', '.join(FORMATS)}, hf"
        raise PlanError(msg)
    is_dir = files.is_dir(path)
    is_file = files.exists(path) and not is_dir  # a name with brackets may be a file's own
    is_glob = any(c in path for c in "*?[") and not is_file
    urls = [path] if is_file else files.expand(path)
    if not urls:
        state = "no file matches" if is_glob else "the folder is empty" if is_dir else "there is no such file"
        msg = f"{state}; check the path"
        raise ReadError(msg, path)
    formats = [name or _format_of(url) for url in urls]
    found = [InputFile(u, f, source_of(u), files.size(u)) for u, f in zip(urls, formats, strict=True) if f]
    if len(found) < len(urls) and (not is_dir or not found):
        unknown = next(u for u, f in zip(urls, formats, strict=True) if not f)
        if files.suffix(unknown) == ".zip":
            sniff.refuse_zip(unknown)
        known = ", ".join(SUFFIXES)
        state = ", nor is it a chat export" if files.suffix(unknown) in sniff.SUFFIXES else ""
        msg = f"{unknown}: no reader is known by this suffix ({known}){state}; name one with format={'|'.join(FORMATS)}"
        raise PlanError(msg)
    zips = [u for u, f in zip(urls, formats, strict=True) if not f and files.suffix(u) == ".zip"]
    if zips:
        log.warning("%d zips in %s are damaged or no chats, and are left out: %s", len(zips), path, ", ".join(zips[:5]))
    empty = next((f for f in found if not f.n_bytes), None)
    if empty is not None:
        msg = "the file is empty; remove it or fetch it again"
        raise ReadError(msg, empty.url, 0)
    if is_dir and name is None:
        found = _chats_only(found, path)
    return sniff.oldest_first(found)


def _format_of(url: str) -> str:
    """The format of a file by its suffix, or by its content where that may be a chat; empty if none is known."""
    suffix = files.suffix(url)
    near = suffix != ".json" or files.is_local(url)
    return (sniff.platform_of(url) if near else None) or SUFFIXES.get(suffix, "")


def _chats_only(found: list[InputFile], path: str) -> list[InputFile]:
    """Of a folder with chats, what is no chat but has the suffix of one is left out: settings, attached texts."""
    if not any(f.format in sniff.PLATFORMS for f in found):
        return found
    strangers = [f for f in found if f.format not in sniff.PLATFORMS]
    others = [f.url for f in strangers if f.format == "text" or files.suffix(f.url) in sniff.SUFFIXES]
    if others:
        log.warning("%s holds chats; %d files that are none are left out: %s", path, len(others), ", ".join(others[:5]))
    return [f for f in found if f.url not in set(others)]


def _readers(found: list[InputFile], text: str, columns: Any, options: Mapping[str, Any]) -> dict[str, Reader]:
    """One reader a format; all must give the same columns."""
    first = {file.format: file.url for file in reversed(found)}
    classes = {name: _class(name) for name in dict.fromkeys(file.format for file in found)}
    known = {f.name for cls in classes.values() for f in dataclasses.fields(cls) if f.name not in {"text", "columns"}}
    unknown = sorted(set(options) - known)
    if unknown:
        msg = f"there is no option {unknown[0]!r} for {' and '.join(classes)}; there are {', '.join(sorted(known))}"
        raise PlanError(msg)
    given = {"text": text, "columns": columns or (), **options}
    readers = {name: _reader(name, cls, given, first[name]) for name, cls in classes.items()}
    adds = {name: {k: str(v) for k, v in reader.adds.items()} for name, reader in readers.items()}
    odd = next((name for name in adds if adds[name] != adds[next(iter(adds))]), None)
    if odd is not None:
        one = next(iter(adds))
        msg = f"{one} and {odd} files give different columns ({adds[one]} and {adds[odd]}); read them apart"
        raise PlanError(msg)
    return readers


def _class(name: str) -> Any:
    module, cls = FORMATS[name]
    return getattr(importlib.import_module(f".{module}", __name__), cls)


def _reader(name: str, cls: Any, given: Mapping[str, Any], url: str) -> Reader:
    """The reader of a format, with those of the given parameters it has."""
    fields = {f.name for f in dataclasses.fields(cls)}
    mine = {k: v for k, v in given.items() if k in fields}
    columns = given["columns"]
    if columns and "columns" not in fields:
        msg = f"{url}: {name} has no fields that columns= could lift"
        raise PlanError(msg)
    if columns:
        typed = columns.items() if isinstance(columns, Mapping) else cls.types_of(url, tuple(columns))
        mine["columns"] = tuple((str(k), str(v)) for k, v in typed)
    else:
        mine.pop("columns", None)
    reader: Reader = cls(**mine)
    return reader
