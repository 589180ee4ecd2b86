"""Survey a folder for `dataprep init`: the files that `dp.read` would read, their groups, and the field with the text.

A group is the input that one call of `dp.read` can read: all chat exports, or documents whose text is in one field.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.core.model.dataset import open_dataset
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.core.model.tables import EMPTY, UNREADABLE
from dataprep.core.output.layout import MANIFEST
from dataprep.errors import NotInstalled, PlanError, ReadError
from dataprep.store import files

from . import beside_chats, formats, hf
from .archive import NOT_INSTALLED, TextArchive
from .code import is_code, language_of
from .cures import CURES
from .json.elements import Json
from .json.records import JsonRecords
from .listing import ATTACHMENT, LINK, UNKNOWN, list_files, unknown_file
from .sqlite_rows import ANY, Sqlite, tables_of

log = logging.getLogger("dataprep")
HEAD_BYTES = 1 << 18  # of a JSON Lines file, in which fields are searched
RECORDS = 100  # that are compared
LOOSE = 3  # files of one folder that are named one by one; more are named by their suffix
LABEL_CHARS, LABEL_REPEATS = 30, 10  # a field of values this short, each this often on average, is a label
FIELDS = ("text", "content", "raw_content", "body", "article", "document", "markdown", "maintext", "story")
CODE = ("code", "notebook")  # formats that are no running text
LIST = "\0[]"  # ends the name of a field whose texts are in a list, which no reader takes
IN_LIST = "text_in_list"
HINTS = {IN_LIST: "; `dataprep train` takes JSON Lines of chats as they are; join other lists into one text per record"}
OTHERS = "; pass a folder with documents or chats"
MARK = re.compile(r"(?i)(license|licence|copying|readme)\b")  # in the folder of a project
SETTINGS = (".json", ".csv", ".tsv")  # suffixes of files of a project that may be a corpus
BESIDE_CODE = ("CSS", "TOML", "YAML")  # languages of files that are no source code by themselves
SAVED = re.compile(r"[-_.][^-_./]*$")  # after the name of a page, the end of the name of the folder saved with it
Options: TypeAlias = tuple[tuple[str, str], ...]
Key: TypeAlias = tuple[bool, str, Options]  # of a group: whether it has chats, the field of the text, other options


@dataclass
class FileGroup:
    """Files that one call of `dp.read` reads.

    Attributes:
        chats: whether they are chat exports.
        text: the field that has the text.
        options: other arguments of `dp.read`, as (name, value).
        paths: files, folders and globs that name exactly these files.
        formats: the number of files per format.
        stored: the stored size of the files in bytes, per format.
    """

    chats: bool
    text: str
    options: Options = ()
    paths: list[str] = field(default_factory=list)
    formats: Counter[str] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)

    @property
    def n_bytes(self) -> int:
        """The size of all files as stored."""
        return self.stored.total()

    @property
    def code(self) -> str:
        """The format, "code" or "notebook", if the files are source code; else ""."""
        return next((name for name in CODE if ("format", name) in self.options), "")


@dataclass
class FolderContents:
    """Content of a folder: groups, chats first; and the files that are left out, each with a reason.

    Attributes:
        details: for some of these files, the sentence that says more, such as the package that is not installed.
    """

    groups: list[FileGroup]
    left_out: dict[str, str]
    details: dict[str, str] = field(default_factory=dict)


def survey(folder: str) -> FolderContents:
    """Return the content of a folder or file; files are opened to find formats and fields, but not read completely.

    Raises ReadError if it does not exist or is empty, PlanError if no file in it has a format that `dp.read` knows.
    """
    if files.is_dir(folder) and (files.exists(files.join(folder, MANIFEST)) or hf.is_saved(folder)):
        return FolderContents([_of_dataset(folder)], {})
    if not files.exists(folder):
        msg = f"{folder} must be an existing folder or file; pass the folder that has the files"
        raise PlanError(msg)
    quiet, log.disabled = log.disabled, True
    try:
        return _of_files(folder)
    finally:
        log.disabled = quiet


def _of_dataset(folder: str) -> FileGroup:
    """Return the group of a sealed Dataset, or of a folder of `save_to_disk`."""
    if hf.is_saved(folder):
        urls = files.expand(folder)
        rows = next((url for url in urls if url.endswith(".arrow") and files.size(url)), "")
        text = _chosen(_of_arrow(rows)) if rows else "text"
        if not text or text.endswith(LIST):
            msg = f"{folder} has no column of texts{HINTS[IN_LIST] if text else OTHERS}"
            raise PlanError(msg)
        stored = Counter({"hf": sum(map(files.size, urls))})
        return FileGroup(chats=False, text=text, paths=[folder], formats=Counter({"hf": 1}), stored=stored)
    docs = open_dataset(folder)
    n_files, stored = Counter({"Dataset": len(docs.parts)}), Counter({"Dataset": docs.n_bytes})
    return FileGroup(False, "text", (), [folder], n_files, stored)


def _source_code(
    kinds: Mapping[str, formats.Format | None], sizes: Mapping[str, int], hidden: Collection[str]
) -> set[str]:
    """Return the files to read as source code: those of projects, with licence, pages and settings, and single ones.

    Single stylesheets and settings are left out, and what a browser saves beside a page.

    - sizes: the stored sizes of the files in bytes.
    - hidden: files and folders that are hidden; `.git` marks a project.
    """
    pages = {posixpath.splitext(url)[0] for url, kind in kinds.items() if kind and kind.name == "html"}
    above = {url: _above(url) for url in kinds}
    above = {url: some for url, some in above.items() if pages.isdisjoint(SAVED.sub("", folder) for folder in some)}
    inside: defaultdict[str, list[str]] = defaultdict(list)
    for url, some in above.items():
        for folder in some:
            inside[folder].append(url)
    projects = {folder for folder, urls in inside.items() if _is_project(folder, urls, kinds, sizes, hidden)}
    code = {url for url in above if not projects.isdisjoint(above[url]) and _of_project(url, kinds[url])}
    single = {url for url in above if _is_code(url, kinds[url])}
    return code | single if any(language_of(url) not in BESIDE_CODE for url in code | single) else code


def _above(url: str) -> list[str]:
    """Return the folders that a file is in, the innermost first."""
    found = [posixpath.dirname(url)]
    while (above := posixpath.dirname(found[-1])) != found[-1]:
        found.append(above)
    return found


def _is_code(url: str, kind: formats.Format | None) -> bool:
    return is_code(url) and (kind is None or kind.name == formats.WHOLE_FILE)  # such as CMakeLists.txt


def _is_project(
    folder: str, urls: Sequence[str], kinds: Mapping[str, formats.Format | None], sizes: Mapping[str, int],
    hidden: Collection[str],
) -> bool:  # fmt: skip
    """Return whether a folder, with the files `urls` at any depth, is one of source code.

    Most of its files are code, its texts are shorter than its code, it has no chats, and code, a licence or a README is
    in the folder itself.
    """
    code = {url for url in urls if _is_code(url, kinds[url])}
    texts = [url for url in urls if (kind := kinds[url]) and kind.name == "text" and not MARK.match(files.name_of(url))]
    others = [url for url in urls if (f := kinds[url]) and (f.name in ("text", "html") or files.suffix(url) == ".json")]
    own = [url for url in urls if posixpath.dirname(url) == folder]
    marked = any(url in code or MARK.match(files.name_of(url)) for url in own)
    marked = marked or posixpath.join(folder, ".git") in hidden
    if not marked or len(code) * 2 <= len(code.union(others)) or any(f and f.is_chat for f in map(kinds.get, urls)):
        return False
    return sum(map(sizes.__getitem__, texts)) <= sum(map(sizes.__getitem__, code))


def _of_project(url: str, kind: formats.Format | None) -> bool:
    """Return whether a file of a project is read as source code: a text that is no corpus of its own."""
    if kind is None:
        return is_code(url) or files.suffix(url) not in CURES
    if files.suffix(url) in SETTINGS:
        is_table = kind.name in ("json", "jsonl", "csv")
        return is_table and _text_field(url, kind.name, damaged="").rpartition(".")[2] not in FIELDS
    return kind.name in ("text", "html")


def _of_files(folder: str) -> FolderContents:
    listed = files.listing(folder, skip=True)
    left_out: dict[str, str] = dict.fromkeys(listed.hidden, "hidden") | dict.fromkeys(listed.closed, UNREADABLE)
    details: dict[str, str] = {url: e.message for url, e in listed.closed.items()}
    measured = {url: _measured(url, stated) for url, stated in listed.found.items()}
    for url, found in measured.items():
        if isinstance(found, str):
            left_out[url], details[url] = UNREADABLE, found
    sizes = {url: found for url, found in measured.items() if isinstance(found, int)}
    kinds = {url: formats.format_of(url) for url in sizes}
    chats = [url for url, kind in kinds.items() if kind and kind.is_chat]
    homes = {posixpath.dirname(url) for url in chats}
    near = {url for url in kinds if not homes.isdisjoint(_above(url))}
    code = _source_code(kinds, sizes, listed.hidden)
    pages = beside_chats.pages_of_exports(chats, [*code, *(url for url, f in kinds.items() if f and f.name == "html")])
    kinds |= dict.fromkeys(code - pages, formats.FORMATS["code"])
    if not any(kinds.values()):
        list_files(folder, None)  # raises the error that states what is wrong
    beside = {url for url in near if (f := kinds[url]) and not f.is_chat and isinstance(f.reader, str)}
    sent = beside_chats.attachments(chats, beside)
    groups: dict[Key, FileGroup] = {}
    keys: dict[str, Key] = {}
    for url, kind in kinds.items():
        reason, text = ATTACHMENT if url in sent else "" if sizes[url] else EMPTY, "text"
        options: Options = ()
        if kind is None and not reason:
            row = unknown_file(url, with_chats=url in near, skip=True)
            is_link = files.is_local(url) and files.is_dir(url)
            reason, details[url] = (UNKNOWN, LINK) if is_link else (row.reason, row.detail or "")
        if kind and not reason and (lack := _lacking(kind)):
            reason, details[url] = NOT_INSTALLED, lack
        if kind and not reason and not kind.is_chat:
            text = _text_field(url, kind.name)
            if kind.name == "sqlite":
                text, options = _of_database(url, text)
            if text.endswith(LIST) and kind.name == "json":
                text, options = _of_inner(url, text)
            reason = "" if text else "no_text"
            reason, text = (IN_LIST, "") if text.endswith(LIST) else (reason, text)
            options = (("format", kind.name),) if kind.name in CODE else options
            if url in pages or (url in beside and _is_other(url, kind, text)):
                reason = "not_a_chat"
        if reason or kind is None:
            left_out[url] = reason
            continue
        key = (kind.is_chat, text, options)
        group = groups.setdefault(key, FileGroup(*key))
        keys[url] = key
        group.formats[kind.name] += 1
        group.stored[kind.name] += sizes[url]
    for key in [key for key in groups if not key[0]]:
        if damaged := _damaged([url for url, own in keys.items() if own == key], key):
            del groups[key]
            keys = {url: own for url, own in keys.items() if own != key}
            left_out |= dict.fromkeys(damaged, UNREADABLE)
            details |= damaged
    if not groups:
        url, reason = next(iter(left_out.items()))
        cure = f"; {details[url]}" if details.get(url) else HINTS.get(reason, OTHERS)
        msg = f"{folder} has no text: {url} is left out ({reason}){cure}"
        raise PlanError(msg)
    root = posixpath.normpath(folder) if files.is_local(folder) else folder.rstrip("/")
    below = all(url.startswith(_prefix(root)) for url in keys)
    for path, key in _compact(root, keys) if below else keys.items():  # "../here/x" is listed as "x"
        groups[key].paths.append(path)
    ordered = sorted(groups.values(), key=lambda g: (not g.chats, g.text != "text", g.text, g.options))
    return FolderContents(ordered, left_out, details)


def _measured(url: str, stated: Mapping[str, Any]) -> int | str:
    """Return the size of a file; or why it cannot be read, such as a link to no file, or a lack of permission.

    - stated: what the store states of the file, if it was listed there.
    """
    try:
        if files.is_local(url) and not files.is_dir(url):
            files.open_raw(url).close()
        return files.size_in(stated or files.stated(url), url)
    except ReadError as e:
        return e.message


def _damaged(urls: Iterable[str], key: Key) -> dict[str, str]:
    """Return why the files of a group cannot be read, by file; {} if one of them can be read."""
    from . import read

    found: dict[str, str] = {}
    for url in urls:
        try:
            next(iter(read(url, text=key[1], on_bad_file="skip", **dict[str, Any](key[2]))), None)
        except ReadError as e:  # noqa: PERF203 - usually of one file
            found[url] = e.message
        else:
            return {}
    return found


def _lacking(kind: formats.Format) -> str:
    """Return the sentence about a package that the reader of a built-in format needs and that is not installed."""
    try:
        kind.load()() if isinstance(kind.reader, str) else None
    except NotInstalled as e:
        return str(e)
    return ""


def _is_other(url: str, kind: formats.Format, text: str) -> bool:
    """Return whether a file next to chats contains settings, which are not documents.

    - text: the field that has the longest texts.
    """
    if files.suffix(url) not in beside_chats.MAY_BE_SETTINGS:
        return False
    if kind.name == "zip":
        return beside_chats.settings(url, "", TextArchive()) is not None
    return text.rpartition(".")[2] not in FIELDS


def _prefix(folder: str) -> str:
    return "" if folder == "." else f"{folder.rstrip('/')}/"


def _compact(folder: str, keys: Mapping[str, Key]) -> Iterable[tuple[str, Key]]:
    """Yield paths that name exactly these files, each with the key of its files; a whole folder is one path."""
    prefix = _prefix(folder)
    inside = {url: key for url, key in keys.items() if url.startswith(prefix)}
    if not inside:
        return
    first = next(iter(inside.values()))
    if set(inside.values()) == {first} and _read_by(folder, first) == set(inside):
        yield folder, first
        return
    below = sorted({prefix + url[len(prefix) :].partition("/")[0] for url in inside})
    loose: dict[tuple[Key, str], list[str]] = defaultdict(list)
    for path in below:
        if path in inside:
            loose[inside[path], _suffixes(path)].append(path)
        else:
            yield from _compact(path, inside)
    for (key, suffixes), urls in loose.items():
        pattern = f"{prefix}*{suffixes}"
        short = len(urls) > LOOSE and not files.is_glob(folder)
        short = short and sorted(files.listing(pattern, skip=True).found) == urls
        for path in [pattern] if short else urls:
            yield path, key


def _suffixes(url: str) -> str:
    """Return the suffix of a file, with that of its compression."""
    name = files.name_of(url).lower()
    known = files.suffix(url)
    return name[name.rindex(known) :] if known and known in name else name


def _read_by(folder: str, key: Key) -> set[str]:
    """Return the files that `dp.read(folder)` reads, with the options of a group; none if it fails."""
    from . import read

    options: dict[str, Any] = {"text": key[1], **dict(key[2])}
    try:
        docs = read(folder, on_bad_file="skip", **options)
    except (PlanError, ReadError):
        return set()
    return {piece.url for part in docs.parts for piece in part.slices if piece.unread is None and piece.n_bytes}


def _text_field(url: str, name: str, damaged: str = "text") -> str:
    """Return the field of a file that has the text, "text" if its format has no fields, or "" if there is none.

    The name of a field ends with LIST if most of the text is inside its lists.

    - damaged: the result for a file that cannot be read; its reader states why.
    """
    kind = formats.FORMATS[name].load() if name in formats.FORMATS else None
    rows = kind if isinstance(kind, type) and issubclass(kind, JsonRecords) else None
    if name not in ("jsonl", "parquet") and rows is None:
        return "text"
    try:
        if rows is not None:
            values = _values(map(orjson.loads, rows.first(url, RECORDS).splitlines()))
        else:
            values = _of_parquet(url) if name == "parquet" else _of_json(url)
    except (ReadError, OSError, pa.ArrowException, orjson.JSONDecodeError):
        return damaged
    return _chosen(values)


def _of_database(url: str, text: str) -> tuple[str, Options]:
    """Return the text field, and the option that names its table if there are several: the one with the most text.

    - text: the field of the only table, or for a database that cannot be read.
    """
    tables = tables_of(url) if files.is_local(url) else []
    fields: dict[str, dict[str, list[str]]] = {}
    for table in tables if len(tables) > 1 else ():
        with contextlib.suppress(ReadError):
            records = Sqlite(text=ANY, table=table).records(Slice(url, 0), Ledger("", quiet=True))
            rows = [orjson.loads(one.data) for one in itertools.islice(records, RECORDS) if one.data is not None]
            fields[table] = _values(rows)
    if not any(fields.values()):
        return text, ()
    chosen = {table: _chosen(values) for table, values in fields.items() if values}
    table = max(chosen, key=lambda name: sum(map(len, fields[name][chosen[name]])))
    return chosen[table], (("table", table),)


def _of_inner(url: str, text: str) -> tuple[str, Options]:
    """Return the text field, and the option that names the array, for records in an array inside an object.

    - text: the field of all lists, which is returned if they are not records.
    """
    name = text.removesuffix(LIST)
    try:
        records = Json(records_in=name).records(Slice(url, 0), Ledger("", quiet=True))
        rows = [orjson.loads(one.data) for one in itertools.islice(records, RECORDS) if one.data is not None]
    except (ReadError, orjson.JSONDecodeError):
        return text, ()
    found = _chosen(_values(row for row in rows if isinstance(row, dict)))
    return (found, (("records_in", name),)) if found and not found.endswith(LIST) else (text, ())


def _chosen(values: dict[str, list[str]]) -> str:
    """Return the text field, given each field's values: one with a usual name, else the longest values; or ""."""
    found = {name: some for name, some in values.items() if not _is_label(some)} or values
    nested = {name.rpartition(".")[2]: name for name in reversed(found)}
    named = (some[name] for some in ({name: name for name in found}, nested) for name in FIELDS if name in some)
    return next(named, "") or max(found, key=lambda name: sum(map(len, found[name])), default="")


def _is_label(values: Collection[str]) -> bool:
    """Return whether a field has few different short values, such as a language, and thus not the text."""
    few = len(set(values)) * LABEL_REPEATS <= len(values)
    return few and sum(map(len, values)) < LABEL_CHARS * len(values)


def _of_json(url: str) -> dict[str, list[str]]:
    """Return the values that each text field has in the first records of a JSON Lines file."""
    with files.open_read(url) as stream:
        head = stream.read(HEAD_BYTES)
    lines = head.split(b"\n")
    lines = lines[:-1] if len(head) == HEAD_BYTES and len(lines) > 1 else lines
    rows = [orjson.loads(line) for line in lines[:RECORDS] if line.strip()]
    return _values(row for row in rows if isinstance(row, dict))


def _of_parquet(url: str) -> dict[str, list[str]]:
    """Return the values that each text column has in the first rows of a Parquet file."""
    with files.open_arrow(url) as stream:
        parquet = pq.ParquetFile(stream)
        batch = next(parquet.iter_batches(RECORDS, columns=_with_text(parquet.schema_arrow)), None)
        return _values(batch.to_pylist() if batch else [])


def _of_arrow(url: str) -> dict[str, list[str]]:
    """Return the values that each text column has in the first rows of a file of `save_to_disk`."""
    with files.open_read(url) as stream, pa.ipc.open_stream(stream) as rows:
        wanted = _with_text(rows.schema)
        batch = next(iter(rows), None)
        return _values(batch.slice(0, RECORDS).select(wanted).to_pylist() if batch else [])


def _with_text(schema: pa.Schema) -> list[str]:
    """Return the names of the columns that may hold texts, also inside structs and lists."""
    return [field.name for field in schema if "string" in str(field.type)]


def _values(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the strings of records by field; a field of a nested object is named as in `text="message.body"`.

    Strings inside a list are of one field, whose name ends with LIST.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        waiting = list(row.items())[::-1]
        while waiting:
            name, value = waiting.pop()
            if isinstance(value, dict):
                listed = name.endswith(LIST)
                waiting += [(name if listed else f"{name}.{inner}", some) for inner, some in list(value.items())[::-1]]
            elif isinstance(value, list):
                waiting += [(name.removesuffix(LIST) + LIST, some) for some in value[::-1]]
            elif isinstance(value, str) and value:
                found[name].append(value)
    return dict(found)
