"""Open Apple's message database (SQLite) without changing it, and read its messages ordered by chat and time.

Small tables of numbers (order of messages, answers, reactions, files) are made in SQLite's temporary storage on disk,
so memory does not grow with the number of messages. Columns that older versions of macOS and iOS lack are null.
"""

from __future__ import annotations

import contextlib
import sqlite3
import urllib.parse
from collections.abc import Iterator
from typing import Any

from dataprep.errors import ReadError
from dataprep.store import files

MAGIC = b"SQLite format 3\0"
NEEDED = {
    "message": {"guid", "text", "date", "is_from_me", "handle_id"},
    "handle": {"id"},
    "chat": {"chat_identifier"},
    "chat_message_join": {"chat_id", "message_id"},
}
COLUMNS = (  # of `message`, in the order of a row
    "text", "attributedBody", "date", "is_from_me", "item_type", "group_action_type", "group_title",
    "associated_message_type", "balloon_bundle_id", "is_audio_message", "date_edited", "date_retracted",
    "message_summary_info", "subject",
)  # fmt: skip
BYTES = {"text", "attributedBody", "message_summary_info"}  # that may be large
REACTIONS = {2000: "❤️", 2001: "👍", 2002: "👎", 2003: "😂", 2004: "‼️", 2005: "❓", 2007: "sticker"}
GROUP = 43  # the style of a chat of several people


class Decoder:
    """Decodes texts of a database; bytes that are not UTF-8 become U+FFFD, and n_invalid counts such texts."""

    def __init__(self) -> None:
        self.n_invalid = 0

    def __call__(self, data: bytes) -> str:
        """Return `data` as text."""
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.n_invalid += 1
            return data.decode("utf-8", "replace")


@contextlib.contextmanager
def opened(url: str) -> Iterator[sqlite3.Connection]:
    """Yield a read-only connection to a database of messages; errors of SQLite become ReadError.

    Raises ReadError if the file is not on this machine, is not such a database, or has changes that are only in its
    write-ahead log or rollback journal.
    """
    if not files.is_local(url) or files.is_compressed(url):
        msg = "a database must be a file on this machine that is not compressed; copy or unpack it first"
        raise ReadError(msg, url)
    for ending in ("-wal", "-journal"):
        if files.exists(url + ending) and files.size(url + ending):
            name = files.name_of(url)
            msg = f"{name}{ending} has changes that are not in {name}; copy both and run this in the folder of the "
            msg += f"copies: sqlite3 {name} 'PRAGMA wal_checkpoint(TRUNCATE)'"
            raise ReadError(msg, url)
    with _connected(url) as connection:
        _check(connection, url)
        yield connection


@contextlib.contextmanager
def _connected(url: str) -> Iterator[sqlite3.Connection]:
    connection = None
    try:
        connection = sqlite3.connect(f"file:{urllib.parse.quote(files.real(url))}?mode=ro&immutable=1", uri=True)
        connection.text_factory = Decoder()
        for setting in ("trusted_schema=OFF", "cell_size_check=ON", "temp_store=FILE"):
            connection.execute(f"PRAGMA {setting}")
        yield connection
    except (sqlite3.Error, UnicodeDecodeError) as e:  # the latter: an error message with bytes of the file
        msg = f"the database is damaged, or is not SQLite ({e}); copy the file again"
        raise ReadError(msg, url) from e
    finally:
        if connection is not None:
            connection.close()


def is_database(head: bytes, url: str) -> bool:
    """Return whether a file on this machine, with the first bytes `head`, is a database of Apple's messages."""
    if not head.startswith(MAGIC) or not files.is_local(url) or files.is_compressed(url):
        return False
    with contextlib.suppress(ReadError), _connected(url) as connection:
        return all(columns_of(connection, table) >= needed for table, needed in NEEDED.items())
    return False


def _check(connection: sqlite3.Connection, url: str) -> None:
    """Raise ReadError if a table or column is missing; views are not accepted as tables, since they can run forever."""
    for table, needed in NEEDED.items():
        missing = sorted(needed - columns_of(connection, table))
        if missing:
            msg = f"the database is not Apple's chat.db: its table {table} lacks {', '.join(missing)}; pass chat.db "
            msg += "of a Mac, sms.db of an iPhone's backup, or a text file of imessage-exporter"
            raise ReadError(msg, url, 0)


def columns_of(connection: sqlite3.Connection, table: str) -> set[str]:
    """Return the names of a table's columns; an empty set if there is no such table."""
    found = connection.execute("SELECT type FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    rows = connection.execute(f"PRAGMA table_info({table})") if found == ("table",) else ()
    return {row[1] for row in rows}


def chat_names(connection: sqlite3.Connection) -> dict[int, str]:
    """Return {number of a chat: its name}: its title, or else the other person or the members of the group, sorted."""
    members: dict[int, list[str]] = {}
    if columns_of(connection, "chat_handle_join") >= {"chat_id", "handle_id"}:
        query = "SELECT j.chat_id, h.id FROM chat_handle_join j JOIN handle h ON h.ROWID = j.handle_id"
        for chat, who in connection.execute(query):
            members.setdefault(chat, []).append(str(who))
    has = columns_of(connection, "chat")
    title, style = (name if name in has else "NULL" for name in ("display_name", "style"))
    names = {}
    query = f"SELECT ROWID, {title}, chat_identifier, {style} FROM chat"  # noqa: S608 - names of ours
    for chat, title_, identifier, kind in connection.execute(query):
        group = kind == GROUP or len(members.get(chat, ())) > 1
        people = ", ".join(sorted(set(members.get(chat, ())))) if group else ""
        names[chat] = str(title_ or people or identifier or f"chat {chat}")
    return names


def prepare(connection: sqlite3.Connection, names: dict[int, str]) -> None:
    """Make the temporary tables: `ordered` (messages by chat and time), `answered`, `reactions` and `files`.

    - names: the name of each chat by its number; chats of one name are one chat.
    """
    ranks = {name: rank for rank, name in enumerate(dict.fromkeys(names.values()))}
    run = connection.execute
    has = columns_of(connection, "message")
    run("CREATE TEMP TABLE named (chat INTEGER PRIMARY KEY, rank INTEGER)")
    connection.executemany("INSERT INTO named VALUES (?, ?)", [(chat, ranks[name]) for chat, name in names.items()])
    run(
        "CREATE TEMP TABLE ordered AS SELECT m.ROWID AS message, c.chat AS chat FROM main.message m LEFT JOIN "
        "(SELECT message_id, min(chat_id) AS chat FROM main.chat_message_join GROUP BY message_id) c "
        "ON c.message_id = m.ROWID LEFT JOIN temp.named n ON n.chat = c.chat ORDER BY n.rank, m.date, m.ROWID"
    )
    run("CREATE INDEX temp.by_message ON ordered (message)")
    run("CREATE TEMP TABLE answered (message INTEGER PRIMARY KEY, position INTEGER)")
    if "thread_originator_guid" in has:
        run(
            "INSERT INTO answered SELECT r.ROWID, min(o.ROWID) - 1 FROM main.message r JOIN main.message t "
            "ON t.guid = r.thread_originator_guid JOIN temp.ordered o ON o.message = t.ROWID GROUP BY r.ROWID"
        )
    run("CREATE TEMP TABLE reactions (message INTEGER, kind INTEGER, emoji TEXT)")
    if {"associated_message_guid", "associated_message_type"} <= has:
        emoji = "r.associated_message_emoji" if "associated_message_emoji" in has else "NULL"
        guid = "r.associated_message_guid"
        target = f"CASE WHEN {guid} LIKE 'bp:%' THEN substr({guid}, 4) ELSE substr({guid}, instr({guid}, '/') + 1) END"
        run(
            f"INSERT INTO reactions SELECT t.ROWID, r.associated_message_type, {emoji} FROM main.message r "  # noqa: S608
            f"JOIN main.message t ON t.guid = {target} WHERE r.associated_message_type BETWEEN 2000 AND 2999"
        )
    run("CREATE INDEX temp.by_target ON reactions (message)")
    run("CREATE TEMP TABLE files (message INTEGER, name TEXT, type TEXT, sticker INTEGER)")
    has = columns_of(connection, "attachment")
    if columns_of(connection, "message_attachment_join") >= {"message_id", "attachment_id"} and "filename" in has:
        sent, kind, sticker = (c if c in has else "NULL" for c in ("transfer_name", "mime_type", "is_sticker"))
        run(
            f"INSERT INTO files SELECT j.message_id, coalesce({sent}, filename), {kind}, {sticker} FROM "  # noqa: S608
            "main.message_attachment_join j JOIN main.attachment a ON a.ROWID = j.attachment_id ORDER BY 1, a.ROWID"
        )
    run("CREATE INDEX temp.by_owner ON files (message)")


def messages(connection: sqlite3.Connection, max_bytes: int) -> Iterator[tuple[int, int | None, bool, dict[str, Any]]]:
    """Yield all messages in order as (position, number of the chat or None, whether the message is too long, values).

    The values are a dict with the columns COLUMNS of the database, `who` (the other person's handle), `answers` (the
    position of the message that is answered, or None), `reactions` ([(kind, emoji)]) and `files` ([(name, media type,
    is sticker)]).
    """
    has = columns_of(connection, "message")
    long = " OR ".join(f"length(m.{name}) > {max_bytes}" for name in sorted(BYTES & has))
    chosen = [_column(name, long) if name in has else "NULL" for name in COLUMNS]
    query = (
        f"SELECT o.ROWID - 1, o.message, o.chat, {long}, h.id, a.position, {', '.join(chosen)}, "  # noqa: S608
        "EXISTS (SELECT 1 FROM temp.reactions WHERE message = o.message), "
        "EXISTS (SELECT 1 FROM temp.files WHERE message = o.message) "
        "FROM temp.ordered o CROSS JOIN main.message m ON m.ROWID = o.message "
        "LEFT JOIN main.handle h ON h.ROWID = m.handle_id LEFT JOIN temp.answered a ON a.message = o.message "
        "ORDER BY o.ROWID"
    )
    for position, message, chat, is_long, who, answers, *rest in connection.execute(query):
        *values, reacted, attached = rest
        row = dict(zip(COLUMNS, values, strict=True), who=who, answers=answers)
        query = "SELECT kind, emoji FROM temp.reactions WHERE message = ?"
        row["reactions"] = connection.execute(query, (message,)).fetchall() if reacted else []
        query = "SELECT name, type, sticker FROM temp.files WHERE message = ?"
        row["files"] = connection.execute(query, (message,)).fetchall() if attached else []
        yield position, chat, bool(is_long), row


def _column(name: str, long: str) -> str:
    return f"CASE WHEN {long} THEN NULL ELSE m.{name} END" if name in BYTES else f"m.{name}"
