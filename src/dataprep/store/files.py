"""Open, list, hash and remove files by URL, and write files so that they appear complete or not at all.

URLs are str (fsspec); only this file handles local paths. A file appears complete or not at all: it is written under a
temporary name that no other writer uses, synced, and renamed. On an object store, a file appears when its upload is
complete.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

import orjson
import pyarrow as pa
import xxhash

from dataprep.errors import CorruptShard, PlanError, ReadError, redacted, require

from . import compress
from .as_json import json_bytes
from .atomic import is_attempt, regular, whole
from .checksum import checked, stamped
from .newer import check_format
from .servers import RemoteStream, answered

HASH_BLOCK = 1 << 20
SHOWN = {"_chat.txt", *(f"_chat.txt{suffix}" for suffix in compress.SUFFIXES)}  # the text of every iPhone export


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
    try:
        return cast("tuple[Any, str]", fsspec.core.url_to_fs(url))
    except (ImportError, ValueError) as e:  # an unknown protocol, or one whose package is not installed
        http = "pip install 'dataprep-lm[http]'" if url.lower().startswith("http") else "use pip for that"
        msg = f"{url} cannot be reached: {e}; {http if isinstance(e, ImportError) else 'check the URL'}"
        raise PlanError(msg) from e


def join(url: str, *names: str) -> str:
    """Return `url/name/...`; works on every kind of URL, unlike `Path`. Raises PlanError if `url` is empty."""
    require(url, "the path of a folder is empty, which would mean the root folder; name one, such as out")
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


def _answer(url: str, question: str, *given: Any) -> Any:
    """Return the answer to `question`, a method of the file system of a remote URL."""
    fs, path = fs_of(url)
    with answered(url):
        return getattr(fs, question)(path, *given)


def exists(url: str) -> bool:
    """Return whether there is a file or folder at a URL."""
    return os.path.exists(path_of(url)) if is_local(url) else bool(_answer(url, "exists"))


def is_dir(url: str) -> bool:
    """Return whether there is a folder at a URL."""
    return os.path.isdir(path_of(url)) if is_local(url) else bool(_answer(url, "isdir"))


def size(url: str) -> int:
    """Return the stored size of a file in bytes. Raises ReadError if it does not exist, or if no size is known."""
    try:
        found = os.path.getsize(path_of(url)) if is_local(url) else _answer(url, "size")
    except FileNotFoundError as e:
        msg = "there is no such file; check the path"
        raise ReadError(msg, url) from e
    except OSError as e:  # such as links in a circle
        msg = f"cannot be opened ({e.strerror}); check the path"
        raise ReadError(msg, url) from e
    if found is None:
        msg = "the server does not state its size; download the file, and read the copy"
        raise ReadError(msg, url)
    return int(found)


def version(url: str) -> object:
    """Return a value that changes if a file is replaced. Raises OSError if the file does not exist."""
    if not is_local(url):
        return _answer(url, "ukey")
    found = os.stat(path_of(url))
    return found.st_ino, found.st_size, found.st_mtime_ns


def expand(pattern: str) -> list[str]:
    """Return the sorted URLs of the files that a path or glob matches, or that a folder contains at any depth.

    In a folder, files and folders whose names start with . or _ are skipped, unless a path or glob names them. Returns
    [] if there are no files. Raises ReadError if a local folder that may contain matching files cannot be listed.
    """
    with answered(pattern):
        return _found(pattern)[0]


def hidden(folder: str) -> list[str]:
    """Return the sorted files and folders in `folder` that `expand` skips, since their names start with . or _.

    The contents of a skipped folder are not listed.
    """
    return _found(folder)[1] if is_dir(folder) else []


def _found(pattern: str) -> tuple[list[str], list[str]]:
    """Return the files of a path, folder or glob, and the hidden files of a folder. Both lists are sorted."""
    concealed: set[str] = set()
    fs, path = fs_of(pattern)
    protocol = "" if is_local(pattern) else pattern.split("://", 1)[0] + "://"
    given = path_of(pattern) if not protocol else path  # a relative path stays one
    if is_glob(pattern):
        found = [p for p in (fs.glob(path) if protocol else _globbed(path)) if not fs.isdir(p)]
    elif fs.isdir(path):
        every = fs.find(path) if protocol else list(_walked(path))
        found = [p for p in every if not _hidden(p[len(path) :])]
        concealed = {path + _hidden(p[len(path) :]) for p in every} - {path}
    else:
        found = [path] if fs.exists(path) else []
    relative = not protocol and not os.path.isabs(given)
    both = (sorted(protocol + (os.path.relpath(p) if relative else p) for p in some) for some in (found, concealed))
    return next(both), next(both)


def _globbed(pattern: str) -> list[str]:
    """Return the local files and folders that match an absolute pattern.

    Raises ReadError if a folder that may contain a match cannot be listed, since fsspec would silently skip it.
    """
    from fsspec.implementations.local import LocalFileSystem
    from fsspec.utils import glob_translate

    names = pattern.split("/")
    crossed = [re.compile(glob_translate("/".join(names[:n]))) for n in range(2, len(names) + ("**" in pattern))]

    class Listed(LocalFileSystem):
        def ls(self, path: str, detail: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002 - as fsspec's
            try:
                return super().ls(path, detail=detail, **options)
            except OSError as e:
                if any(one.match(path.rstrip("/")) for one in crossed):
                    _not_listed(e)
                raise

    return list(Listed(skip_instance_cache=True).glob(pattern))


def _walked(folder: str) -> Iterator[str]:
    """Yield the files of a local folder at any depth, and links, without following them."""
    for home, inside, names in os.walk(folder, onerror=_not_listed):
        yield from (os.path.join(home, name) for name in names)
        yield from (path for name in inside if os.path.islink(path := os.path.join(home, name)))


def _not_listed(error: OSError) -> None:
    """Raise ReadError for a local folder that cannot be listed, unless it was removed in the meantime."""
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        msg = f"cannot be opened ({error.strerror}); check the path"
        raise ReadError(msg, error.filename) from error


def _hidden(path: str) -> str:
    """Return a path up to its first hidden name; "" if it has none."""
    names = path.split("/")
    first = next((n for n, name in enumerate(names, 1) if name.startswith((".", "_")) and name not in SHOWN), 0)
    return "/".join(names[:first])


def listdir(url: str) -> list[str]:
    """Return the names in a folder, sorted; [] if it does not exist. Raises ReadError if it cannot be listed."""
    if not is_dir(url):
        return []
    if is_local(url):
        try:
            return sorted(os.listdir(path_of(url)))
        except OSError as e:
            _not_listed(e)
            return []
    fs, path = fs_of(url)
    return sorted(name_of(p) for p in fs.ls(path, detail=False))


def remove(url: str) -> None:
    """Delete a file, or a folder with everything in it; do nothing if it does not exist."""
    fs, path = fs_of(url)
    with contextlib.suppress(FileNotFoundError):
        fs.rm(path, recursive=True)


def move(old: str, new: str) -> None:
    """Rename a file; on an object store, which cannot rename, it is copied and then deleted."""
    fs, path = fs_of(old)
    fs.mv(path, fs_of(new)[1])


def open_raw(url: str) -> BinaryIO:
    """Return a seekable stream of a file's bytes as they are stored. Raises ReadError if it cannot be opened."""
    return cast("BinaryIO", _opened(url, lambda path: open(path, "rb")))


def _opened(url: str, opened: Callable[[str], Any]) -> Any:
    """Return `opened(path)` for a local file, or a stream for a remote one."""
    try:
        if is_local(url):
            return opened(os.fspath(regular(path_of(url))))
        return RemoteStream(_answer(url, "open", "rb"), url)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as e:
        msg = f"cannot be opened ({e.strerror or e}); check the path"
        raise ReadError(msg, url) from e


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

    On storage that is not local, a file that is opened while another one is open appears together with that one.

    - synced: as in `atomic.whole`.
    """
    if not is_local(url):
        fs, path = fs_of(url)
        if fs._intrans:  # noqa: SLF001 - whether a transaction has begun
            yield from _joined(fs, path)
            return
        try:
            with fs.transaction, fs.open(path, "wb") as f:
                yield f
        finally:  # older versions of fsspec leave a transaction open if it fails at its end
            fs._intrans, fs._transaction = False, None  # noqa: SLF001
        return
    with whole(path_of(url), synced=synced) as f:
        yield f


def _joined(fs: Any, path: str) -> Iterator[BinaryIO]:
    """Yield a file of an open transaction, since fsspec cannot nest transactions; after an error it is discarded."""
    with fs.open(path, "wb") as f:
        try:
            yield f
        except BaseException:
            fs.transaction.files.remove(f)
            f.discard()
            raise


def sweep(url: str) -> None:
    """Delete temporary files that killed writers left in a local folder, at any depth.

    Call this only while no process writes into the folder.
    """
    if is_local(url):
        for folder, _, names in os.walk(path_of(url)):
            for name in filter(is_attempt, names):
                os.unlink(os.path.join(folder, name))


def write_bytes(url: str, data: bytes) -> None:
    """Write `data` to the file `url`; the file appears complete or not at all."""
    with atomic(url) as f:
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
    fs, path = fs_of(url)
    try:
        with answered(url):
            fs.pipe_file(path, data, mode="create")
    except FileExistsError:
        with open_raw(url) as f:
            return f.read() == data
    return True


def write_json(url: str, value: Any) -> None:
    """Write `value` as the JSON file `url`; equal values are written as equal bytes."""
    write_bytes(url, json_bytes(value))


def write_state(url: str, value: dict[str, Any]) -> None:
    """Write `value`, which is not empty, as `write_json` does, with a checksum that `read_state` compares."""
    write_bytes(url, stamped(json_bytes(value)))


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
    with open_raw(url) as f:
        return parsed(f.read(), url, checksum=checksum)


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


def content_hash(url: str) -> str:
    """Return the xxh3-128 hash of a file's bytes, in hex."""
    digest = xxhash.xxh3_128()
    with open_raw(url) as f:
        while block := f.read(HASH_BLOCK):
            digest.update(block)
    return digest.hexdigest()
