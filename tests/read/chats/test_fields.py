"""Fields of messages: those that writers write are known, and text in others is kept and counted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.read.chats.discord import FIELDS as DISCORD
from dataprep.read.chats.discord import Discord
from dataprep.read.chats.imessage.exporter import content
from dataprep.read.chats.messenger import FIELDS as MESSENGER
from dataprep.read.chats.messenger import Messenger
from dataprep.read.chats.signal import Signal
from dataprep.read.chats.slack.reader import KNOWN as SLACK
from dataprep.read.chats.slack.reader import Slack
from dataprep.read.chats.telegram.json import Telegram

BLOCKS = [
    {"type": "section", "text": {"type": "mrkdwn", "text": "शुभ प्रभात <@U1>"}, "block_id": "b1"},
    {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
        {"type": "text", "text": "今日は "}, {"type": "user", "user_id": "U1"}, {"type": "link", "url": "https://a.org"}]}]},
]  # fmt: skip
TABLE = [{"type": "table", "rows": [
    [{"type": "raw_text", "text": "цена"}, {"type": "raw_text", "text": "5"}],
    [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "値段"}]}]},
     {"type": "raw_text", "text": "7"}]]}]  # fmt: skip
FILE = [{"fileName": "a.png"}]
FORWARDED = {"content": "مرحبا", "attachments": [{"fileName": "a.png"}], "embeds": [], "stickers": []}


def discord(*messages):
    """An export of Discord."""
    some = [{"id": str(n), "type": "Default", "timestamp": "2024-05-03T09:00:00", **m} for n, m in enumerate(messages)]
    return {"guild": {"id": "0", "name": "Direct Messages"}, "channel": {"id": "1", "name": "tea"}, "messages": some}


@pytest.mark.parametrize(
    ("reader", "name", "document", "texts", "counts"),
    [
        (Discord, "a.json", discord({"content": "", "forwardedMessage": FORWARDED}), ["مرحبا"], {}),
        (Discord, "a.json", discord({"content": ""}, {"content": "x", "novelty": {"says": "สวัสดี"}}), ["", "x"],
         {"empty_text": 1, "unknown_field.novelty": 1}),
        (Discord, "a.json", discord({"content": "", "novelty": {"says": "你好", "n": "12"}}), ["你好"],
         {"unknown_field.novelty": 1}),
        (Discord, "a.json", discord({"content": "", "embeds": [{"title": "", "footer": {"text": "via app"}}]}),
         ["via app"], {}),
        (Discord, "a.json", discord({"content": "", "components": [{"type": "ActionRow", "components": [
            {"type": "Button", "style": "Primary", "label": "ja, хорошо", "customId": "c1"}]}]}), ["ja, хорошо"], {}),
        (Discord, "a.json", discord(
            {"content": "", "attachments": FILE, "embeds": [{"description": "اختبار"}]},
            {"content": "", "stickers": [{"name": "wow"}], "poll": {"question": {"text": "Чай?"}, "answers": []}},
            {"content": "", "attachments": FILE, "forwardedMessage": {"content": "ต่อ"}}), ["اختبار", "Чай?", "ต่อ"], {}),
        (Slack, "tea/2024-05-03.json", [
            {"type": "message", "user": "U1", "ts": "1714700000.000100", "text": "", "files": [{"name": "a.png"}],
             "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "図"}}]}], ["図"], {}),
        (Telegram, "result.json", {"name": "t", "type": "personal_chat", "id": 1, "messages": [
            {"id": 1, "from": "A", "text": "", "giveaway_information": {"quantity": 1, "additional_prize": "книга"}},
            {"id": 2, "from": "A", "text": "", "photo": "a.jpg", "rich_message": {"blocks": [{"text": "كلام"}]}},
            {"id": 3, "from": "A", "text": "", "todo_list": {"title": "", "entries": [{"text": "牛乳"}]}},
            {"id": 4, "date": "2024-05-03T09:00:00", "from": "A", "text": "",
             "text_entities": [{"type": "plain", "text": "नमस्ते"}]}]}, ["книга", "كلام", "牛乳", "नमस्ते"],
         {"unknown_field.todo_list.entries": 1}),
        (Telegram, "result.json", {"name": "t", "type": "personal_chat", "id": 1, "messages": [
            {"id": 1, "from": "A", "text": "", "poll": {"question": "чай?", "closed": False, "description": "о чае",
             "answers": [{"text": "да", "voters": 1, "chosen": False, "hint": "горячий"}]}},
            {"id": 2, "from": "A", "text": "ici",
             "location_information": {"latitude": 1, "longitude": 2, "title": "Café"}},
            {"id": 3, "from": "A", "text": "", "photo": "a.jpg", "novelty": {"caption": "夕日", "mime": "image/jpeg"}},
            {"id": 4, "type": "service", "actor": "A", "action": "novel_action", "text": "", "novelty": "слово"}]},
         ["чай?\nда\nо чае\nгорячий", "1, 2\nici\nCafé", "夕日", "A: novel_action"],
         {"unknown_field.poll.description": 1, "unknown_field.poll.hint": 1, "unknown_field.novelty": 2,
          "unknown_field.location_information.title": 1}),
        (Slack, "tea/2024-05-03.json", [
            {"type": "message", "user": "U1", "ts": "1714700000.000100", "text": "", "files": [
                {"name": "a.m4a", "preview": "строка", "initial_comment": {"comment": "नमस्ते <@U1>"},
                 "transcription": {"status": "complete", "locale": "fr-FR", "preview": {"content": "allô"}}}]},
            {"type": "message", "user": "U1", "ts": "1714700001.000100", "text": "x", "files": [
                {"name": "b.m4a", "transcription": {"status": "none"}, "initial_comment": {"comment": "别的"}}]}],
         ["नमस्ते @U1", "x"], {"unknown_field.files.preview": 1, "unknown_field.files.transcription": 1,
                              "unknown_field.files.initial_comment": 1}),
        (Slack, "tea/2024-05-03.json", [
            {"type": "message", "user": "U1", "ts": "1714700000.000100", "text": "", "blocks": [
                {"type": "novelty", "novelty_id": "N1", "says": {"type": "mrkdwn", "text": "नमस्ते <@U1>"}},
                {"type": "card", "title": {"type": "plain_text", "text": "Tè"}, "body": {"text": "va"}},
                {"type": "plan", "title": "План", "tasks": [{"type": "task_card", "title": "купить"}]}]},
            {"type": "message", "ts": "1714700001.000100", "text": "hé", "blocks": [{"type": "novelty"}]}],
         ["नमस्ते @U1\nTè\nva\nПлан\nкупить", "hé"], {"unknown_field.blocks.novelty": 2}),
        (Messenger, "message_1.json", {"participants": [], "title": "t", "messages": [
            {"sender_name": "A", "timestamp_ms": 2, "novelty": "नमस्ते"}, {"sender_name": "A", "timestamp_ms": 1}]},
         ["", "नमस्ते"], {"empty_text": 1, "unknown_field.novelty": 1}),
        (Slack, "tea/2024-05-03.json", [
            {"type": "message", "user": "U1", "ts": "1714700000.000100", "text": "", "blocks": BLOCKS},
            {"type": "message", "user": "U1", "ts": "1714700001.000100", "text": "", "attachments": [
                {"fields": [{"title": "État", "value": "prêt"}]}, {"blocks": BLOCKS[:1]}]},
            {"type": "message", "user": "U1", "ts": "1714700002.000100", "novelty": "hé"},
            {"type": "message", "user": "U1", "ts": "1714700003.000100", "text": "", "blocks": TABLE},
            {"type": "message", "user": "U1", "ts": "1714700004.000100", "text": "", "subtype": "file_comment",
             "comment": {"id": "Fc1", "user": "U1", "comment": "สวัสดี <@U1>"}},
            {"type": "message", "user": "U1", "ts": "1714700005.000100", "text": "", "attachments": [
                {"is_msg_unfurl": True, "message_blocks": [{"message": {"blocks": BLOCKS[:1]}}]}]}],
         ["शुभ प्रभात @U1\n今日は @U1https://a.org", "État\nprêt\nशुभ प्रभात @U1", "hé", "цена\t5\n値段\t7", "สวัสดี @U1",
          "शुभ प्रभात @U1"], {"unknown_field.novelty": 1}),
        (Discord, "a.json", discord({"content": "", "poll": {"question": {"text": "чай?"}, "answers": ["да"]}}),
         ["чай?\nда"], {}),
        (Messenger, "message_1.json", {"participants": [], "title": "t", "messages": [
            {"sender_name": "A", "timestamp_ms": 2, "novelty": "Ã©tÃ©"}]}, ["été"], {"unknown_field.novelty": 1}),
        (Signal, "data.json", {"date": "2024-05-03T09:12:05", "sender": "A", "body": "", "novelty": {"says": "नमस्ते"}},
         ["नमस्ते"], {"unknown_field.novelty": 1}),
        (Signal, "data.json", {"date": "2024-05-03T09:12:05", "sender": "A", "body": ""}, [""], {"empty_text": 1}),
    ],
)  # fmt: skip
def test_no_text_is_lost_in_silence(tmp_path, reader, name, document, texts, counts) -> None:
    """Forwarded texts, blocks and unknown fields are texts; unknown fields and messages without a text are counted."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document), "utf-8")
    ledger = Ledger("read", source="s")
    rows = [row for batch in reader()(Slice(str(path), 0), ledger) for row in batch.to_pylist()]
    assert [row["text"] for row in rows] == texts
    assert {k: n for k, n in ledger.record.counts.items() if k == "empty_text" or k.startswith("unknown")} == counts


@pytest.mark.parametrize(("missing", "kind"), [("image", "image"), ("video", "video"), ("media", "file")])
def test_files_that_signal_export_left_out(tmp_path, missing, kind) -> None:
    """Their place in the text is a kind, no text, in both of the program's files."""
    record = {"date": "2024-05-03T09:12:05", "sender": "Ilse", "body": "देखो", "quote": "", "sticker": None,
              "reactions": [], "attachments": [{"name": "", "path": "", "missing_kind": missing}], "deleted": False,
              "call": False, "missed": False}  # fmt: skip
    (tmp_path / "chat.md").write_text(f"[2024-05-03 09:12:05] Ilse: देखो  ({missing} not exported)  \n", "utf-8")
    (tmp_path / "data.json").write_text(json.dumps(record) + "\n", "utf-8")
    for name in ("chat.md", "data.json"):
        [batch] = Signal()(Slice(str(tmp_path / name), 0), Ledger("read", source="s"))
        assert [(row["text"], row["kind"], row["meta"]) for row in batch.to_pylist()] == [("देखो", kind, "{}")]


@pytest.mark.parametrize(
    ("text", "said", "kind"),
    [
        ("Handwritten messages are not yet supported!", "", "image"),
        ("Unable to format app message: no payload", "", "file"),
        ("SharePlay Message\nEnded", "SharePlay Message\nEnded", "call"),
        ("สวัสดี\nAttachment missing!", "สวัสดี", "file"),
        ("drawing.png", "", "image"),
        ("Started sharing location!", "Started sharing location!", "location"),
    ],
)
def test_remarks_of_imessage_exporter(text, said, kind) -> None:
    """What the program writes in place of things that it cannot write is a kind, no text."""
    assert content("Ilse", text)[1:3] == (said, kind)


@pytest.mark.parametrize("said", ["ok \ud83d", "\udc4d ok", "a\\ud83d\ud83d\udc4d\ud83d", "שלום \ud83d שלום"])
def test_half_an_emoji_does_not_drop_a_message(tmp_path, said) -> None:
    """Half of a pair of surrogates becomes U+FFFD, and is counted; pairs and other texts stay as they are."""
    wanted = said.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    record = {"date": "2024-05-03T09:12:05", "sender": "Ilse", "body": said}
    slack = {"type": "message", "user": "U1", "ts": "1714700000.000100", "text": said}
    meta = {"sender_name": "A", "timestamp_ms": 2, "content": said}
    for reader, name, document in (
        (Discord, "a.json", discord({"content": said}, {"content": "x"})), (Signal, "data.json", record),
        (Slack, "tea/2024-05-03.json", [slack]),
        (Messenger, "message_1.json", {"participants": [], "title": "t", "messages": [meta]}),
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document) + "\n", "ascii")
        ledger = Ledger("read", source="s")
        rows = [row for batch in reader()(Slice(str(path), 0), ledger) for row in batch.to_pylist()]
        assert rows[0]["text"] == wanted, reader
        assert ledger.record.counts["unreadable_characters"] == wanted.count("\ufffd")


def test_fields_that_writers_write_are_known() -> None:
    """The fields of messages in the documented table are those that the readers know."""
    page = (Path(__file__).parents[3] / "docs" / "conformance.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| (Discord|Messenger, Instagram|Slack) \|[^|]*\|[^|]*\|([^|]*)\|$", page, re.MULTILINE))
    stated = {name: set(re.findall(r"`(\w+)`", fields)) for name, fields in rows.items()}
    assert stated == {"Discord": DISCORD, "Messenger, Instagram": MESSENGER, "Slack": SLACK}
