"""List the files that a path, folder or glob names, each with its format, and the files that are left out."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dataprep.core.model.reader import Reader
from dataprep.core.model.tables import EMPTY, UNREADABLE, Unread
from dataprep.core.model.unread import set_aside, unread_of
from dataprep.errors import PlanError, ReadError
from dataprep.store import files

from . import formats
from .cures import cure_of
from .formats import Format
from .parts import InputFile, folder_of, oldest_first, source_of

log = logging.getLogger("dataprep")
SHOWN = 5  # names in a warning
ATTACHMENT, UNKNOWN = "attachment", "unknown_type"
LINK = "this is a link to a folder, which is not followed; name the folder itself"


@dataclass
class Listing:
    """Result of `list_files`: the files to read, in order, and the files that are left out, with reasons."""

    found: list[InputFile] = field(default_factory=list)
    left_out: list[Unread] = field(default_factory=list)


def list_files(path: str, wanted: Format | None, *, skip: bool = False) -> Listing:
    """Return the files that a path, folder or glob names; in a folder, files of unknown formats are left out.

    - wanted: the format of all files; None: detected per file.
    - skip: list a link to a missing file and a folder that cannot be listed as not read, instead of raising ReadError.

    Raises ReadError if there is no file, PlanError if a file has no known format (in a folder: if no file has one).
    """
    listed = files.listing(path, skip=skip)
    is_dir, is_file = listed.is_dir, listed.is_file
    stated = dict(zip([path], listed.found.values(), strict=True)) if is_file else listed.found
    urls = list(stated)
    if not urls and listed.closed:
        raise next(iter(listed.closed.values()))
    if not urls:
        missing = "no file matches" if files.is_glob(path) else "there is no such file"
        state = "the folder is empty" if is_dir else missing
        msg = f"{state}; check the path"
        raise ReadError(msg, path)
    folders = {url for url in urls if files.is_local(url) and files.is_dir(url)}  # links: `urls` names files
    if len(folders) == len(urls):
        raise ReadError(LINK, urls[0])
    kinds = {url: wanted or formats.format_of(url) for url in urls if url not in folders}
    unknown = [url for url, kind in kinds.items() if not kind]
    with_chats = any(kind and kind.is_chat for kind in kinds.values())
    if unknown and (not is_dir or len(unknown) == len(kinds)):
        raise _no_format(unknown[0], is_named=not is_dir)
    listing = Listing(left_out=[Unread(url, UNKNOWN, None, LINK) for url in sorted(folders)])
    listing.left_out += [unknown_file(url, with_chats=with_chats, skip=skip) for url in unknown]
    listing.left_out += [unread_of(e, url) for url, e in listed.closed.items()]
    for url, kind in kinds.items():
        if kind:
            source = source_of(url, () if isinstance(kind.reader, str) else kind.suffixes)
            is_small = kind.name in formats.OF_FOLDERS or files.suffix(url) == ".eml"
            if is_small and not is_file:  # as many sources as files would tell nothing
                source = folder_of(url) or source
            file = InputFile(url, kind, source, 0, listed="" if is_file else path)
            listing.found.append(_measured(file, stated[url], skip=skip))
    if is_dir and wanted is None and with_chats:
        read_beside = _companions(listing)
        listing.left_out = [row for row in listing.left_out if row.file not in read_beside]
        listing.found = [f for f in listing.found if f.format.is_chat or f.url not in read_beside]
        _leave_attachments(listing)
    elif is_dir and wanted is not None:
        _leave_companions(listing)
    warn_of(path, [*listing.left_out, *(file.unread for file in listing.found if file.unread)])
    if is_dir:
        listing.left_out += [Unread(url, "hidden") for url in listed.hidden]
    listing.found = oldest_first(listing.found)
    return listing


def _measured(file: InputFile, stated: Mapping[str, Any], *, skip: bool) -> InputFile:
    """Return the file with its size; mark an empty file as not read.

    - stated: what the store states of the file, if it was listed there.
    """
    try:
        n_bytes = files.size_in(stated or files.stated(file.url), file.url)
    except ReadError as e:
        if not skip:
            raise
        return replace(file, unread=unread_of(e, file.url))
    is_read = n_bytes or file.format.name == formats.WHOLE_FILE  # whose reader drops it
    return replace(file, n_bytes=n_bytes, unread=None if is_read else _empty(file.url))


def _empty(url: str) -> Unread:
    return Unread(url, EMPTY, 0, "the file is empty; remove it or fetch it again")


def _no_format(url: str, *, is_named: bool) -> PlanError | ReadError:
    """Return the error of a file without a format; of a zip, ReadError with the reason why it is not a chat export.

    If compressed data is damaged at its beginning, by which formats are detected, the error is that of the damage.

    - is_named: whether the user named the file, so that it may be a chat.
    """
    if is_named and files.is_compressed(url):
        try:
            with files.open_read(url) as stream:
                stream.read(formats.HEAD_BYTES)
        except ReadError as e:
            return e
    if files.suffix(url) == ".zip":
        from .chats.packs import names_in
        from .chats.whatsapp.archives import exports  # imports Numba

        try:
            with exports(url) as found:
                is_empty = not any(export.first_bytes() for export in found)
            if is_empty:
                msg = f"'{found[0].member}' in the zip is empty; export the chat again on the phone"
                return ReadError(msg, url, reason=EMPTY)
        except ReadError as e:
            if e.reason != "not_a_chat":
                return e
            names = names_in(url, b"PK")
            if not names:
                return ReadError("the zip has no files; fetch it again", url, reason=EMPTY)
            found_none = f"the zip has no chat and no file in a supported format, only {', '.join(names[:SHOWN])}"
            return ReadError(f"{found_none}; {cure_of(names[0])}", url, reason=e.reason)
    state = ", and it is not a chat export" if is_named and formats.may_be_chat(url) else ""
    return PlanError(f"{url}: no reader is known for this suffix{state}; {cure_of(url)}")


def unknown_file(url: str, *, with_chats: bool, skip: bool) -> Unread:
    """Return the row of a file in a folder for which there is no reader.

    - with_chats: whether the folder has chats.
    - skip: list a damaged zip as not read, instead of raising ReadError.
    """
    reason = "not_a_chat" if with_chats and formats.may_be_chat(url) else UNKNOWN
    if files.suffix(url) != ".zip":
        return Unread(url, reason, None, cure_of(url) if reason == UNKNOWN else "")
    error = _no_format(url, is_named=False)
    if not isinstance(error, ReadError) or (error.reason == "not_a_chat" and not with_chats):
        return Unread(url, reason)
    if error.reason == UNREADABLE:
        return set_aside(error, url, skip=skip)
    return Unread(url, error.reason, None, error.message)


def _leave_attachments(listing: Listing) -> None:
    """Leave out of a folder with chats the attachments of chats, and pages next to chats in HTML."""
    from .beside_chats import attachments, pages_of_exports

    others = {f.url: f for f in listing.found if not f.format.is_chat and isinstance(f.format.reader, str)}
    chats = (f for f in listing.found if f.format.is_chat and not f.unread)
    urls = [f.url for f in chats]
    sent = attachments(urls, others)
    pages = pages_of_exports(urls, [url for url, file in others.items() if file.format.name == "html"])
    listing.left_out += [Unread(url, ATTACHMENT if url in sent else "not_a_chat") for url in sorted(sent | pages)]
    left = {row.file for row in listing.left_out}
    listing.found = [f for f in listing.found if f.url not in left]


def _companions(listing: Listing) -> set[str]:
    """Return the files that are read with those of chats, such as names of people."""
    chats = {f.format for f in listing.found if f.format.is_chat and isinstance(f.format.reader, str)}
    readers = {form: form.load()() for form in chats}
    return {url for f in listing.found if f.format in chats for url in readers[f.format].companions(f.url)}


def _leave_companions(listing: Listing) -> None:
    """Leave out of a folder that is read in one format the files of names, and list others next to them as no chats."""
    form = next((f.format for f in listing.found), None)
    if form is None or not (form.is_chat or isinstance(form.reader, Reader)):
        return
    loaded = form.load()
    reader: Reader = loaded() if isinstance(loaded, type) else loaded
    read_with = {f.url: reader.companions(f.url) for f in listing.found}
    beside = {one for some in read_with.values() for one in some}
    with_names = {url.rpartition("/")[0] for url, some in read_with.items() if some and url not in beside}
    folders = {url.rpartition("/")[0] for url in beside} - with_names
    others = {url for url in read_with if url.rpartition("/")[0] in folders} - beside
    listing.left_out += [Unread(url, "not_a_chat") for url in sorted(others)]
    listing.found = [f for f in listing.found if f.url not in beside | others]


def warn_of(path: str, rows: list[Unread]) -> None:
    """Log a warning if files that were found through `path` are not read."""
    if rows:
        counts = ", ".join(f"{reason} {n:,}" for reason, n in sorted(Counter(row.reason for row in rows).items()))
        shown = ", ".join(row.file for row in rows[:SHOWN]) + (" ..." if len(rows) > SHOWN else "")
        log.warning("%s: files that are not read: %d (%s), see docs.unread(): %s", path, len(rows), counts, shown)
