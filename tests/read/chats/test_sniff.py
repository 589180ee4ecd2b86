"""Which platform an export is of: told by its first bytes, and never of a file that is none."""

from __future__ import annotations

import gzip
import json

import pytest

import dataprep as dp
from dataprep.read.formats import named, sniffed
from dataprep.read.parts import InputFile, oldest_first, source_of

CHAT = {"name": "Tea", "type": "private_supergroup", "id": 1, "messages": [{"id": 1, "text": "x"}]}
ACCOUNT = {"about": "x", "personal_information": {"user_id": 1}, "contacts": {"list": []}}
DISCORD = {"guild": {"id": "0"}, "channel": {"id": "1"}, "messages": []}
META = {"messages": [{"sender_name": "A", "timestamp_ms": 1_700_000_000_000}], "title": "A"}
NEWER = {"participants": ["A"], "messages": [{"senderName": "A", "timestamp": 1_700_000_000_000}]}
PHOTO = {"sender_name": "A", "timestamp_ms": 1_700_000_000_000, "photos": [{"uri": "instagram/a.jpg"}]}
PAGE = '<!DOCTYPE html><html><body><div class="page_body chat_page"><div class="history"></div></div></body></html>'


def platform_of(url: str) -> str | None:
    """The name of the chat format that a sniffer finds."""
    found = sniffed(url)
    return found.name if found and found.is_chat else None


@pytest.mark.parametrize(
    ("name", "content", "platform"),
    [
        ("result.json", CHAT, "telegram"),
        ("result.json", ACCOUNT, "telegram"),
        ("messages.html", PAGE, "telegram"),
        ("c.json", DISCORD, "discord"),
        ("c.csv", '\ufeff"AuthorID","Author","Date","Content","Attachments","Reactions"\n', "discord"),
        ("message_1.json", META, "messenger"),
        ("A_1.json", NEWER, "messenger"),
        ("A.json", {"participants": [], "title": "", "messages": [{"sender_name": "A"}]}, "messenger"),
        ("A.json", {"participants": [], "title": "", "messages": [{"sender": "A"}]}, None),
        ("instagram/inbox/message_1.json", META, "instagram"),
        ("message_1.json", {"messages": [PHOTO]}, "instagram"),
        ("c.txt", "03/05/2024, 09:12 - Ilse: hello\n", "whatsapp"),
        ("chat.md", "[2024-05-03 09:12] Ilse: hello\n", "signal"),
        ("data.json", '{"date": "2024-05-03", "sender": "A", "body": "x"}\n{"date"', "signal"),
        ("c.txt", "[May 03, 2024 09:12:05] <Ilse> hello\n", "signal"),
        ("c.txt", "Conversation: Ilse (+15550100)\n\nFrom: You\nType: outgoing\n", "signal"),
        ("c.txt", "Conversation: a talk\n\nOnce upon a time\n", None),
        ("a.jsonl", CHAT, None),
        ("a.md", "[2024-05-03 09:12] Ilse: hello\n", None),
        ("a.txt", "2024-05-03 09:12 ERROR: full\n", None),
        ("a.json", '{"guild": {}, "channel": {}}\n{"guild": {}, "channel": {}}\n', None),
        ("a.json", '{"text": "said \\"guild\\": { and \\"channel\\": {", "n": 1}', None),
        ("a.json", {"name": "x", "type": "object"}, None),
        ("a.json", [CHAT], None),
        ("a.html", '<html><p class="history">', None),
        ("a.csv", "Author,Date\n", None),
        ("a.zip", "PK", None),
        ("a.json", "", None),
    ],
)
def test_platforms(tmp_path, name, content, platform) -> None:
    """Each platform's first bytes, also compressed, in one line, or with the keys sorted; and what only looks alike."""
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    written = [content] if isinstance(content, str) else [
        json.dumps(content, indent=1), json.dumps(content), json.dumps(content, sort_keys=True)
    ]  # fmt: skip
    for text in written:
        path.write_text(text)
        assert platform_of(str(path)) == platform
        if path.suffix != ".zip":
            (path.parent / (path.name + ".gz")).write_bytes(gzip.compress(text.encode()))
            assert platform_of(str(path) + ".gz") == (None if name in {"chat.md", "data.json"} else platform)


def test_json_lines_stay_json_lines(tmp_path) -> None:
    """A .json of records is read as such, also next to chats."""
    (tmp_path / "a.json").write_text('{"text": "one"}\n{"text": "two"}\n')
    assert dp.read(str(tmp_path)).table()["text"].to_pylist() == ["one", "two"]
    (tmp_path / "b.json").write_text(json.dumps(CHAT))
    assert dp.read(str(tmp_path)).table()["text"].to_pylist() == ["one", "two", "x"]
    assert dp.read(str(tmp_path / "b.json"), format="jsonl", max_bad=1, text="name").table()["text"].to_pylist() == [
        "Tea"
    ]


def test_numbered_files() -> None:
    """Numbered files of one folder come oldest first; those of others, and what has no number, keep their places."""
    names = ["a/message_1.json", "a/message_10.json", "a/message_2.json", "b/x.json", "c/messages.html",
             "c/messages10.html", "c/messages2.html"]  # fmt: skip
    formats = ["messenger"] * 4 + ["telegram"] * 3
    found = oldest_first([InputFile(n, named(f), "", 1) for n, f in zip(names, formats, strict=True)])
    assert [f.url for f in found] == [
        "a/message_10.json", "a/message_2.json", "a/message_1.json", "b/x.json", "c/messages.html",
        "c/messages2.html", "c/messages10.html",
    ]  # fmt: skip


def test_sources_of_exports() -> None:
    """Files that are called the same in every chat's folder are counted under the folder."""
    for name in ("result.json", "message_12.json", "messages3.html", "_chat.txt", "chat.md"):
        assert source_of(f"x/tea/{name}") == "tea"
    assert source_of("result.json") == "result"
