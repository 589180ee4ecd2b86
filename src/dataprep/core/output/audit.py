"""Search every string in the files of an output folder for private strings before the folder is marked as complete.

Parquet files are decompressed and searched column by column, JSON files string by string, and HTML files cell by cell.
All other files are searched as bytes.
"""

from __future__ import annotations

import functools
import html
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import orjson
import pyarrow as pa

from dataprep.errors import Leak
from dataprep.lazy import parquet as pq
from dataprep.store import files, lease

if TYPE_CHECKING:
    from ..run.runner import Runner

log = logging.getLogger("dataprep")

BATCH, BATCH_BYTES = 4096, 1 << 20  # the most rows, and about the most bytes, that are searched at once
CELL, TEXT, FRAGMENT, BYTES = "cell", "text", "fragment", "bytes"
"""How a string may be read: a value of the program or of a person, prose, a piece of a word, or anything at all."""


class Strings(NamedTuple):
    """Strings from one section of a file, such as a column, to be searched for private strings.

    Attributes:
        place: a description of the section, for messages.
        how: the kind of strings: CELL (values), TEXT (prose), FRAGMENT (fragments of words) or BYTES (a whole file).
        values: the strings.
        first: the index of values[0] in the section.
    """

    place: str
    how: str
    values: list[str]
    first: int = 0


class Finding(NamedTuple):
    """A private string that was found in a `Strings`.

    Attributes:
        name: the private string.
        row: index in `Strings.values` of the value that contains it.
        stays: True if a rule allows the string to remain in the file.
    """

    name: str
    row: int
    stays: bool


class Search(Protocol):
    """Callable that yields a `Finding` for each private string in a `Strings`.

    Write an implementation as a frozen dataclass, so that it can be sent to other processes.
    """

    def __call__(self, strings: Strings) -> Iterator[Finding]:
        """Yield a Finding for each private string that occurs in the values."""


_ADDRESS = re.compile(r"@|: '[+\d ]+'\Z")  # an e-mail address or a number
Scan = Callable[[str], Iterable[Strings]]


def audit(
    folder: str, search: Search, runner: Runner, *, skip: Iterable[str] = (), scans: Mapping[str, Scan] | None = None
) -> Counter[str]:
    """Search all files of a folder for private strings; return {string: count} for strings that a rule allows.

    - search: a function that finds the private strings.
    - runner: the Runner that searches the files.
    - skip: the paths in the folder that are not searched.
    - scans: a dict from a file-name suffix to a function that is called instead of `strings_of` for files with this
      suffix: it takes the URL of the file and yields the file's strings.

    Raises Leak, which names the file and the section of the file, if any other private string is found.
    """
    without = {files.join(folder, name) for name in skip}
    urls = list(_walk(folder, without))
    names = Strings("the names of files", CELL, [url.removeprefix(folder) for url in urls])
    left: Counter[str] = Counter()
    leak = _leak(search, names, left)
    leaks = [] if leak is None else [leak]
    task = functools.partial(_search, search, scans or {})
    for number, (leak_in_file, kept) in enumerate(runner.map(task, urls, "audit")):
        left.update(kept)
        if leak_in_file is not None:
            leaks.append(f"{urls[number].removeprefix(folder).lstrip('/')}, {leak_in_file}")
    if leaks:
        leaks.sort(key=lambda leak: not leak.startswith("data/"))  # before the statistics, which quote them
        more = f" (and in {len(leaks) - 1} more files)" if len(leaks) > 1 else ""
        msg = f"{folder} is incomplete and must not be shared: a private name or number is left in {leaks[0]}{more}; "
        msg += "hide or drop that column or text"
        is_address = _ADDRESS.search(leaks[0])
        msg += ", or replace all addresses and numbers with pii=True" if is_address else ""
        msg += ", or list the word in common= if it is not private"
        raise Leak(msg)
    return left


def search_all(searches: Sequence[Search], runner: Runner, folder: str, skip: Iterable[str]) -> None:
    """Search all files of a folder with each of `searches`, as `audit` does; log how many strings a rule allows."""
    for search in searches:
        if left := audit(folder, search, runner, skip=skip):
            said = "name that is also a common word is" if len(left) == 1 else "names that are also common words are"
            log.warning("%d %s left in %s: see docs/chats-safety.md", len(left), said, folder)


def _walk(folder: str, without: set[str]) -> Iterator[str]:
    for name in files.listdir(folder):
        url = files.join(folder, name)
        if url not in without and name != lease.NAME:  # a lease names the host, and is removed at the end
            yield from _walk(url, without) if files.is_dir(url) else [url]


def _search(search: Search, scans: Mapping[str, Scan], url: str) -> tuple[str | None, Counter[str]]:
    """Return the first leak in a file, as text, and the private strings in it that a rule allows."""
    scan = next((scan for end, scan in scans.items() if url.endswith(end)), strings_of)
    left: Counter[str] = Counter()
    for strings in scan(url):
        leak = _leak(search, strings, left)
        if leak is not None:
            return leak, left
    return None, left


def _leak(search: Search, strings: Strings, left: Counter[str]) -> str | None:
    for hit in search(strings):
        if not hit.stays:
            return f"{strings.place}, value {strings.first + hit.row + 1:,}: {hit.name!r}"
        left[hit.name] += 1
    return None


def strings_of(url: str) -> Iterator[Strings]:
    """Yield all strings of the file `url`: one `Strings` per Parquet column or JSONL line, and one for other files."""
    if url.endswith(".parquet"):
        yield from _parquet(url)
        return
    with files.open_read(url) as f:
        data = f.read()
    if url.endswith((".json", ".jsonl")):
        how = FRAGMENT if url.endswith("tokenizer.json") else CELL
        for number, line in enumerate(data.splitlines() if url.endswith(".jsonl") else [data], 1):
            place = f"line {number:,}" if url.endswith(".jsonl") else "the JSON"
            yield Strings(place, how, list(json_strings(line)))
    elif url.endswith(".html"):
        cells = re.split(r"<[^<>]*>", data.decode("utf-8", "replace"))
        yield Strings("the page", CELL, [html.unescape(cell).strip() for cell in cells])
        yield Strings("the page", TEXT, [html.unescape(data.decode("utf-8", "replace"))])
    else:
        yield Strings("the bytes", BYTES, [data.decode("utf-8", "replace")])


def json_strings(data: bytes) -> Iterator[str]:
    """Yield every string and integer in JSON, including keys, as str; if `data` is not JSON, yield the entire text."""
    try:
        waiting = [orjson.loads(data)]
    except orjson.JSONDecodeError:
        waiting = [data.decode("utf-8", "replace")]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, (str, int)):
            yield str(one)


def _parquet(url: str) -> Iterator[Strings]:
    with files.open_arrow(url) as f:
        file = pq.ParquetFile(f)
        yield Strings("the schema", CELL, [*file.schema_arrow.names, str(file.schema_arrow.metadata or "")])
        groups = range(file.metadata.num_row_groups)
        size = max(1, sum(file.metadata.row_group(group).total_byte_size for group in groups))
        first = 0
        for batch in file.iter_batches(max(1, min(BATCH, BATCH_BYTES * file.metadata.num_rows // size))):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                for field, values in _flat(name, column):
                    yield Strings(f"column {field}", CELL, values, first)
            first += batch.num_rows


def _flat(name: str, column: pa.Array) -> Iterator[tuple[str, list[str]]]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_struct(kind):
        for i, field in enumerate(kind):
            yield from _flat(f"{name}.{field.name}", column.field(i))
    elif any(is_kind(kind) for is_kind in _LISTS):
        yield from _flat(name, column.flatten())
    elif pa.types.is_map(kind):
        yield from _flat(name, column.keys)
        yield from _flat(name, column.items)
    elif any(is_kind(kind) for is_kind in _STRINGS):
        yield name, ["" if value is None else value for value in column.to_pylist()]
    elif any(is_kind(kind) for is_kind in _BYTES):
        yield name, ["" if value is None else value.decode("utf-8", "replace") for value in column.to_pylist()]


_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_STRINGS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
