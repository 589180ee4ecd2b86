"""Open, list, hash and remove files by URL, and write files so that they appear complete or not at all.

URLs are str (fsspec); only this file handles local paths. A file appears complete or not at all: it is written under a
temporary name that no other writer uses, synced, and renamed. On an object store, a file appears when its upload is
complete.
"""

from __future__ import annotations

import contextlib
import functools
import os
import posixpath
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO, TypeVar, cast

import orjson
import pyarrow as pa
import xxhash

from dataprep.errors import CorruptShard, ReadError, redacted, require

from . import compress, remote
from .as_json import json_bytes
from .atomic import is_attempt, regular, whole
from .checksum import checked, stamped
from .newer import check_format
from .remote import RemoteStream, answered, ask

T = TypeVar("T")
HASH_BLOCK = 1 << 20
AT_ONCE = 16  # small remote files that are read at once
CHANGED = ("LastModified", "last_modified", "mtime", "updated", "created")  # names of a file's time, by store
SHOWN = {"_chat.txt", *(f"_chat.txt{suffix}" for suffix in compress.SUFFIXES)}  # the text of every iPhone export
ABSENT = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)  # or not allowed to be opened


def is_local(url: str) -> bool:
    """Return whether a URL is a path on this machine."""
    return "://" not in url or url.startswith("file://")


def path_of(url: str) -> str:
    """Return the path in the file system of a local URL, such as /a/b for file:///a/b."""
    return url.removeprefix("file://")


def fs_of(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of a URL, and the path in it. Raises PlanError if no package can open it."""
    import fsspec  # with asyncio, it takes a twentieth of a second to load

    if is_local(url):  # of which :: is no chain
        fs = fsspec.filesystem("file")
        return fs, fs._strip_protocol(url)  # noqa: SLF001 - the public way reads ::
    return remote.fs_of(url)


def join(url: str, *names: str) -> str:
    """Return `url/name/...`; works on every kind of URL, unlike `Path`.

    Raises PlanError if `url` is empty, and NotInstalled if its store needs a package that is not installed.
    """
    require(url, "the path of a folder is empty, which would mean the root folder; name one, such as out")
    if not is_local(url):
        remote.check_installed(url)
    return "/".join([url.rstrip("/") if url != "/" else "", *names])


def name_of(url: str) -> str:
    """Return the last part of a URL, its file name, without a query (as in signed URLs)."""
    if not is_local(url):
        url = re.sub(r"[?;#]\*{3}.*", "", redacted(url), flags=re.DOTALL)
    return posixpath.basename(url.rstrip("/"))


def suffix(url: str) -> str:
    """Return a file's lower-case format suffix, without its compression suffix: `.jsonl` for `a.jsonl.zst`."""
    name = name_of(url).lower()
    for compressed in compress.SUFFIXES:
        name = name.removesuffix(compressed)
    return posixpath.splitext(name)[1]


def is_compressed(url: str) -> bool:
    """Return whether a URL ends with `.gz`, `.zst`, `.xz` or `.bz2`; such a file must be read from the start."""
    return name_of(url).lower().endswith(compress.SUFFIXES)


def real(url: str) -> str:
    """Return the same name for all URLs of a file; for a local file, its absolute path with links resolved."""
    return os.path.realpath(path_of(url)) if is_local(url) else url.rstrip("/")


def is_inside(url: str, folder: str) -> bool:
    """Return whether `url` is `folder` or is inside it; symbolic links and relative local paths are resolved first."""
    return f"{real(url)}/".startswith(f"{real(folder).rstrip('/')}/") and is_local(url) == is_local(folder)


def is_glob(pattern: str) -> bool:
    """Return whether a path or URL is a pattern with *, ? or [, and not the name of an existing file or folder."""
    return any(c in path_of(pattern) for c in "*?[") and not (is_local(pattern) and os.path.lexists(path_of(pattern)))


def would_list(pattern: str, url: str) -> bool:
    """Return whether `expand(pattern)` would list the file `url` if it existed."""
    from fsspec.utils import glob_translate

    if not is_glob(pattern):
        return is_inside(url, pattern) and not _hidden(real(url)[len(real(pattern)) :])
    head, slash, _ = pattern[: min(pattern.index(c) for c in "*?[" if c in pattern)].rpartition("/")
    rest = pattern[len(head + slash) :]
    return re.match(glob_translate(f"{real(head + slash or '.').rstrip('/')}/{rest}"), real(url)) is not None


def exists(url: str) -> bool:
    """Return whether there is a file or folder at a URL."""
    return os.path.exists(path_of(url)) if is_local(url) else bool(ask(url, "exists"))


def is_dir(url: str) -> bool:
    """Return whether there is a folder at a URL."""
    return os.path.isdir(path_of(url)) if is_local(url) else bool(ask(url, "isdir"))


def size(url: str) -> int:
    """Return the stored size of a file in bytes. Raises ReadError if it does not exist, or if no size is known."""
    return size_in(stated(url), url)


def stated(url: str) -> Mapping[str, Any]:
    """Return what the store states of a file, such as its size. Raises ReadError if it does not exist."""
    try:
        return {"size": os.path.getsize(path_of(url))} if is_local(url) else cast("dict[str, Any]", ask(url, "info"))
    except FileNotFoundError as e:
        msg = "there is no such file; check the path"
        raise ReadError(msg, url) from e
    except OSError as e:  # such as links in a circle
        msg = f"cannot be opened ({e.strerror}); check the path"
        raise ReadError(msg, url) from e


def size_in(stated: Mapping[str, Any], url: str) -> int:
    """Return the size in bytes of the file `url` that a store stated. Raises ReadError if it states none."""
    if stated.get("size") is None:
        msg = "the server does not state its size; download the file, and read the copy"
        raise ReadError(msg, url)
    return int(stated["size"])


def version(url: str) -> object:
    """Return a value that changes if a file is replaced. Raises OSError if the file does not exist."""
    if not is_local(url):
        return ask(url, "ukey")
    found = os.stat(path_of(url))
    return found.st_ino, found.st_size, found.st_mtime_ns


@dataclass(frozen=True)
class FilesFound:
    """The files that a path or glob matches, or that a folder contains at any depth.

    In a folder, files and folders whose names start with . or _ are hidden, unless a path or glob names them.

    Attributes:
        found: {URL: what the store states of the file}, sorted; of a local file, nothing is stated.
        hidden: the sorted hidden files and folders of a folder. The contents of a hidden folder are not listed.
        is_dir, is_file: whether the path is that of a folder, or of a file.
        closed: the sorted local folders that cannot be listed, each with the error.
    """

    found: dict[str, Mapping[str, Any]]
    hidden: list[str]
    is_dir: bool
    is_file: bool
    closed: dict[str, ReadError] = field(default_factory=dict)


def expand(pattern: str) -> list[str]:
    """Return the sorted URLs of the files that `listing` finds; [] if there are none. Raises ReadError, too."""
    return list(listing(pattern).found)


def listing(pattern: str, *, skip: bool = False) -> FilesFound:
    """List the files of a path, folder or glob, on an object store with one request per 1,000 files.

    Raises ReadError if a local folder that may contain matching files cannot be listed, unless `skip` is True.
    """
    with answered(pattern):
        found = (_listed_here if is_local(pattern) else _listed_there)(pattern)
    if found.closed and not skip:
        raise next(iter(found.closed.values()))
    return found


def _listed_here(pattern: str) -> FilesFound:
    path = os.path.abspath(os.path.expanduser(path_of(pattern)))  # as fsspec, which takes long to load
    is_dir = False
    every: Iterable[str]
    failed: list[OSError] = []  # also of folders that were removed in the meantime, which have no files
    if is_glob(pattern):
        every = [p for p in _globbed(path, failed) if not os.path.isdir(p)]
    elif is_dir := os.path.isdir(path):
        every = _walked(path, failed)
    else:
        every = [path] if os.path.exists(path) else []
    relative = os.path.relpath if not os.path.isabs(path_of(pattern)) else str  # a relative path stays one
    every = list(every)
    closed = {e.filename.rstrip("/"): e for e in failed if not isinstance(e, (FileNotFoundError, NotADirectoryError))}
    hidden = [p for p in closed if is_dir and _hidden(p[len(path) :])]
    found = _listing({p: {} for p in every + hidden}, path, relative, is_dir=is_dir)
    errors = {relative(p): e for p, e in sorted(closed.items()) if p not in hidden}
    return replace(found, closed={url: _absent(url, e) for url, e in errors.items()})


def _listed_there(pattern: str) -> FilesFound:
    fs, path = fs_of(pattern)
    is_web = remote.protocol(pattern).startswith("http")  # where `find` fetches a file, and ? begins a query
    is_dir, infos = is_web and fs.isdir(path), dict[str, Any]()
    if is_web and not is_dir and fs.exists(path):
        infos = {path: fs.info(path)}
    elif is_glob(pattern) and not is_dir:
        infos = {p: info for p, info in fs.glob(path, detail=True).items() if info["type"] != "directory"}
        infos = infos or ({path: fs.info(path)} if fs.exists(path) else {})
    else:
        with contextlib.suppress(FileNotFoundError):  # there is no such bucket
            infos = fs.find(path, detail=True)
        is_dir = path not in infos if infos else fs.isdir(path)
    return _listing(infos, path, functools.partial(_url_there, pattern), is_dir=is_dir)


def _url_there(url: str, path: str) -> str:
    """Return the URL of a path in the store of the URL of another file."""
    start = url.partition("://")[0] + "://"
    slash = "" if url.startswith(f"{start}/") else "/"  # memory: begins all paths with one; a URL stays as given
    return start + path.removeprefix(slash)


def _listing(
    infos: Mapping[str, Mapping[str, Any]], path: str, url_of: Callable[[str], str], *, is_dir: bool
) -> FilesFound:
    """Return the FilesFound of the files of `path`, given as {path: what the store states}; of a folder if `is_dir`."""
    parts = {p: _hidden(p[len(path) :]) if is_dir else "" for p in infos}
    found = {url_of(p): infos[p] for p, part in parts.items() if not part}
    concealed = sorted({url_of(path + part) for part in parts.values() if part})
    return FilesFound({url: found[url] for url in sorted(found)}, concealed, is_dir, not is_dir and [*infos] == [path])


def _globbed(pattern: str, failed: list[OSError]) -> list[str]:
    """Return the local files and folders that match an absolute pattern.

    Errors of folders that may contain a match, which fsspec would silently skip, are appended to `failed`.
    """
    from fsspec.implementations.local import LocalFileSystem
    from fsspec.utils import glob_translate

    names = pattern.split("/")
    crossed = [re.compile(glob_translate("/".join(names[:n]))) for n in range(2, len(names) + ("**" in pattern))]

    class FilesFound(LocalFileSystem):
        def ls(self, path: str, detail: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002 - as fsspec's
            try:
                return super().ls(path, detail=detail, **options)
            except OSError as e:
                if any(one.match(path.rstrip("/")) for one in crossed):
                    failed.append(e)
                raise

    return list(FilesFound(skip_instance_cache=True).glob(pattern))


def _walked(folder: str, failed: list[OSError]) -> Iterator[str]:
    """Yield the files of a local folder at any depth, and links, without following them.

    Errors of folders that cannot be listed are appended to `failed`.
    """
    for home, inside, names in os.walk(folder, onerror=failed.append):
        yield from (os.path.join(home, name) for name in names)
        yield from (path for name in inside if os.path.islink(path := os.path.join(home, name)))


def _hidden(path: str) -> str:
    """Return a path up to its first hidden name; "" if it has none."""
    names = path.split("/")
    first = next((n for n, name in enumerate(names, 1) if name.startswith((".", "_")) and name not in SHOWN), 0)
    return "/".join(names[:first])


def listdir(url: str) -> list[str]:
    """Return the names in a folder, sorted; [] if it does not exist. Raises ReadError if it cannot be listed."""
    if is_local(url):
        try:
            return sorted(os.listdir(path_of(url)))
        except (FileNotFoundError, NotADirectoryError):  # it was removed in the meantime
            return []
        except OSError as e:
            raise _absent(url, e) from e
    fs, path = fs_of(url)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), answered(url):
        return sorted(name_of(p) for p in fs.ls(path, detail=False) if p.rstrip("/") != path)  # of a file, itself
    return []


def changed(folder: str) -> dict[str, float]:
    """Return when each file of a folder was last changed, in seconds since 1970, by name; {} if there is no folder.

    Files of a store that states no time are left out. A folder of a store is listed, which is one request per 1,000
    files.
    """
    found: dict[str, float] = {}
    if is_local(folder):
        for name in listdir(folder):
            with contextlib.suppress(OSError):  # removed since it was listed
                found[name] = os.stat(path_of(join(folder, name))).st_mtime
        return found
    fs, path = fs_of(folder)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), answered(folder):
        for one in fs.ls(path, detail=True):
            time = next((one[name] for name in CHANGED if one.get(name)), None)
            time = datetime.fromisoformat(time) if isinstance(time, str) else time
            if time is not None:
                found[name_of(one["name"])] = time.timestamp() if isinstance(time, datetime) else float(time)
    return found


def sizes(folder: str) -> dict[str, int]:
    """Return {URL: size in bytes} of all files in a remote folder, on S3 by one request per 1,000 files."""
    fs, path = fs_of(folder)
    with answered(folder):
        return {_url_there(folder, p): size_in(info, p) for p, info in fs.find(path, detail=True).items()}


def remove(url: str) -> None:
    """Delete a file, or a folder with everything in it; do nothing if it does not exist."""
    fs, path = fs_of(url)
    with contextlib.suppress(FileNotFoundError), answered(url):
        if is_local(url):
            fs.rm(path, recursive=True)
        else:
            _remove_there(fs, fs.find(path))


def remove_remote(urls: Sequence[str]) -> None:
    """Delete files of one object store, on S3 by one request per 1,000 files; those that do not exist are skipped."""
    for url in urls[:1]:
        with answered(url):
            _remove_there(fs_of(url)[0], [fs_of(one)[1] for one in urls])


def _remove_there(fs: Any, paths: Sequence[str]) -> None:
    patterns = {path for path in paths if any(c in path for c in "*?[")}  # for which `rm` would delete what they match
    plain = [path for path in paths if path not in patterns]
    with contextlib.suppress(FileNotFoundError):
        if plain:
            fs.rm(plain)
    for path in patterns:
        with contextlib.suppress(FileNotFoundError):
            fs.rm_file(path)


def move(old: str, new: str) -> None:
    """Rename a remote file; as object stores cannot rename, it is copied and then deleted."""
    fs, path = fs_of(old)
    with answered(old):
        fs.cp_file(path, fs_of(new)[1])  # `mv` would take * and [ for a pattern
        fs.rm_file(path)


def each(read: Callable[[str], T], urls: Sequence[str]) -> Iterator[tuple[str, T]]:
    """Yield (URL, `read(URL)`) of each URL in order; of remote files, AT_ONCE are being read or wait to be yielded."""
    if len(urls) < 2 or is_local(urls[0]):
        yield from ((url, read(url)) for url in urls)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="read") as threads:
        left = iter(urls)
        ahead = deque((url, threads.submit(read, url)) for url in islice(left, AT_ONCE))
        while ahead:
            url, found = ahead.popleft()
            result = found.result()
            ahead.extend((following, threads.submit(read, following)) for following in islice(left, 1))
            yield url, result


def read(url: str) -> bytes:
    """Return a file's bytes as they are stored, by one request. Raises ReadError if it cannot be opened."""
    if is_local(url):
        with open_raw(url) as f:
            return f.read()
    try:
        return remote.read(url)
    except ABSENT as e:
        raise _absent(url, e) from e


def open_raw(url: str) -> BinaryIO:
    """Return a seekable stream of a file's bytes as they are stored. Raises ReadError if it cannot be opened."""
    return cast("BinaryIO", _opened(url, lambda path: open(path, "rb")))


def _opened(url: str, opened: Callable[[str], Any]) -> Any:
    """Return `opened(path)` for a local file, or a stream for a remote one."""
    try:
        return opened(os.fspath(regular(path_of(url)))) if is_local(url) else RemoteStream(url)
    except ABSENT as e:
        raise _absent(url, e) from e


def _absent(url: str, error: OSError) -> ReadError:
    return ReadError(f"cannot be opened ({error.strerror or error}); check the path", url)


@contextlib.contextmanager
def open_arrow(url: str) -> Iterator[Any]:
    """Yield a file that pyarrow can read in its own threads; local files are opened without a Python object.

    If a pyarrow thread releases a Python object while the interpreter ends, the process aborts (SIGABRT, "terminate
    called without an active exception"), although all work is done. Raises ReadError if the file cannot be opened.
    """
    with _opened(url, lambda path: pa.OSFile(os.fsencode(path))) as f:
        yield f


def open_read(url: str) -> BinaryIO:
    """Return a stream of a file's decompressed bytes; the suffix names the compression (.gz, .zst, .xz, .bz2).

    A .gz may consist of several gzip streams. Raises ReadError if the file cannot be opened; reading from the stream
    raises ReadError, with the offset, if the data ends early or is damaged.
    """
    return compress.decompressed(open_raw(url), url)


@contextlib.contextmanager
def atomic(url: str, *, synced: bool = True) -> Iterator[BinaryIO]:
    """Yield a file to write; it appears under `url` only if the `with` block ends without an error.

    - synced: as in `atomic.whole`.
    """
    if not is_local(url):
        with remote.upload(url) as f:
            yield cast("BinaryIO", f)
        return
    with whole(path_of(url), synced=synced) as f:
        yield f


def sweep(url: str) -> None:
    """Delete temporary files that killed writers left in a local folder; call this while no process writes there."""
    if is_local(url):
        for folder, _, names in os.walk(path_of(url)):
            for name in filter(is_attempt, names):
                os.unlink(os.path.join(folder, name))


def write_bytes(url: str, data: bytes, *, synced: bool = True) -> None:
    """Write `data` to the file `url`; the file appears complete or not at all.

    - synced: as in `atomic.whole`.
    """
    with atomic(url, synced=synced) as f:
        f.write(data)


def create(url: str, data: bytes) -> bool:
    """Create the file `url` with the bytes `data`, unless it exists; return whether this call created it.

    Of several processes that call this, one gets True. The folder of a local file must exist, and another process may
    see the file before its bytes. On an object store, this is a conditional PUT, which is sent again if the answer is
    lost. A file with the same bytes therefore counts as created, so that `data` must be unique to the caller.
    """
    if is_local(url):
        try:
            descriptor = os.open(path_of(url), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            return False
        with os.fdopen(descriptor, "wb") as f:
            f.write(data)
        return True
    try:
        ask(url, "pipe_file", data, mode="create")
    except FileExistsError:
        return read(url) == data
    return True


def write_json(url: str, value: Any) -> None:
    """Write `value` as the JSON file `url`; equal values are written as equal bytes."""
    write_bytes(url, json_bytes(value))


def write_state(url: str, value: dict[str, Any], *, synced: bool = True) -> None:
    """Write `value`, which is not empty, as `write_json` does, with a checksum that `read_state` compares.

    - synced: as in `atomic.whole`.
    """
    write_bytes(url, stamped(json_bytes(value)), synced=synced)


def read_state(url: str) -> Any:
    """Return the content of a JSON file that `write_state` wrote, without its checksum.

    Raises CorruptShard if the file is not JSON, has no checksum, or has a checksum that does not match its bytes.
    """
    return read_json(url, checksum=True)


def read_json(url: str, *, checksum: bool = False) -> Any:
    """Return the content of a JSON file, without its checksum if it has one.

    - checksum: whether the file must have a checksum.

    Raises CorruptShard if the file is not JSON, or if its checksum does not match its bytes. Raises NewerFormat if the
    file has a checksum and a format that this version does not read.
    """
    return parsed(read(url), url, checksum=checksum)


def parsed(data: bytes, url: str, *, checksum: bool = False) -> Any:
    """Return the content of JSON that was read from `url`; the other arguments and the errors are of `read_json`."""
    try:
        value = orjson.loads(data)
        found = checked(data, value, required=checksum)
    except ValueError as e:
        msg = f"{url} must be JSON that dataprep wrote ({e}); remove it and run again"
        raise CorruptShard(msg) from e
    if found is not value:  # other JSON may have any field of this name
        check_format(found, url)
    return found


def stored(url: str) -> tuple[int, str]:
    """Return a file's size in bytes and `content_hash`; a remote file that this process wrote is not read for it."""
    known = None if is_local(url) else remote.written.pop(url, None)
    return known or (size(url), content_hash(url))


def content_hash(url: str) -> str:
    """Return the xxh3-128 hash of a file's bytes, in hex."""
    digest = xxhash.xxh3_128()
    with open_raw(url) as f:
        while block := f.read(HASH_BLOCK):
            digest.update(block)
    return digest.hexdigest()
