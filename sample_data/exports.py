"""Write the chats of `conversations.py` as the phones and programs of nine platforms export them.

Expected results are counted from the scripts themselves (`expected`), never by reading a file back.
"""

from __future__ import annotations

import csv
import html
import io
import itertools
import json
import random
import re
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import conversations
from phrases import SLOTS

WORDS = {"photo": "image", "voice": "audio", "unsent": "deleted"}  # kinds in `conversations.py`, as dataprep names them
GAP = timedelta(hours=1)
AL = "٠١٢٣٤٥٦٧٨٩"
MARK, RIGHT = "\u200e", "\u200f"
LINE = re.compile(r"(?P<edited>~ )?(?:\^(?P<reply>\d+) )?(?:!(?P<kind>\w+) )?(?P<who>[A-Z#])(?: (?P<text>.*))?")
NO_FILE = "(File not included. Change data exporting settings to download.)"

PHOTO = """<div class="media_wrap clearfix"><div class="media clearfix pull_left media_photo"><div class="body">
<div class="title bold">
Photo
</div><div class="status details">
Not included, change data exporting settings to download.
</div></div></div></div>"""


@dataclass(frozen=True)
class Message:
    """One message; who: None for lines of the platform. reply: the index of the message it answers."""

    time: datetime
    who: str | None
    text: str
    word: str = "text"  # its kind in `conversations.py`
    reply: int | None = None
    edited: bool = False

    @property
    def kind(self) -> str:
        """Kind, as dataprep names it."""
        return WORDS.get(self.word, self.word)


def messages_of(script: str, seed: int) -> list[Message]:
    """Return the messages of a script, 10 to 170 seconds apart."""
    rng = random.Random(seed)
    found: list[Message] = []
    for line in script.strip().split("\n"):
        if line.startswith("@"):
            time = datetime.strptime(line[1:], "%Y-%m-%d %H:%M").replace(tzinfo=timezone.utc)
            continue
        time += timedelta(seconds=rng.randint(10, 170))
        m = LINE.fullmatch(line)
        text = (m["text"] or "").replace(" / ", "\n")
        reply = len(found) - int(m["reply"]) if m["reply"] else None
        kind = "system" if m["who"] == "#" else m["kind"] or "text"
        found.append(Message(time, conversations.PEOPLE.get(m["who"]), text, kind, reply, edited=bool(m["edited"])))
    return found


def map_makers() -> list[Message]:
    """Return about two hundred messages of people who ask and answer, at any hour."""
    rng = random.Random(7)

    def filled(template: str) -> str:
        said = re.sub(r"\{(\w+)\}", lambda m: rng.choice(SLOTS[m[1]]), template)
        return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", said[0].upper() + said[1:])

    found: list[Message] = []
    time = datetime(2024, 8, 5, 9, 0, tzinfo=timezone.utc)
    for _ in range(70):
        hours = rng.choice((5, 21, 23, 26, 30, 50))
        time += timedelta(hours=hours, minutes=rng.randint(0, 59), seconds=rng.randint(0, 59))
        one, other, third = rng.sample("NTMI", 3)
        first = len(found)
        found.append(Message(time, conversations.PEOPLE[one], filled(rng.choice(conversations.QUESTIONS))))
        for who in (other, third)[: rng.randint(1, 2)]:
            time += timedelta(seconds=rng.randint(20, 900))
            reply = first if who == third else None
            found.append(Message(time, conversations.PEOPLE[who], filled(rng.choice(conversations.ANSWERS)), reply=reply))
    return found


def ios(messages: list[Message], files: dict[str, bytes] | None) -> str:
    """Return the export of WhatsApp on an iPhone in French; files: receives the media, None: they are left out."""
    absent = {"image": "image absente", "sticker": "sticker omis", "call": "Appel vocal manqué"}
    absent["deleted"] = "Ce message a été supprimé."
    lines = []
    for number, m in enumerate(messages):
        head = f"[{m.time:%d/%m/%Y %H:%M:%S}] {m.who or 'La famille'}: "
        if m.kind == "text":
            lines.append(head + m.text)
        elif m.kind == "system":
            lines.append(head + MARK + m.text)
        elif m.kind == "image" and files is not None:
            name = f"{number:08}-PHOTO-{m.time:%Y-%m-%d-%H-%M-%S}.png"
            files[name] = png(number)
            lines.append(f"{MARK}{head}{MARK}<pièce jointe : {name}>")
        else:
            lines.append(f"{MARK}{head}{MARK}{absent[m.kind]}")
    return "\r\n".join(lines) + "\r\n"


def png(number: int) -> bytes:
    """Return a picture of one grey pixel, the least that decoders need."""
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixel = zlib.compress(bytes((0, number % 256)), 9)
    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


def zipped(members: dict[str, bytes]) -> bytes:
    """Return an uncompressed zip without today's date: the same bytes with every zlib."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as z:
        for name, data in members.items():
            z.writestr(zipfile.ZipInfo(name, (2024, 5, 1, 0, 0, 0)), data)
    return buffer.getvalue()


def android_ar(messages: list[Message]) -> str:
    """Return the export of WhatsApp on an Android phone in Arabic: its digits, twelve hours, right-to-left marks."""
    lines = []
    for m in messages:
        date = f"{m.time.day}{RIGHT}/{m.time.month}{RIGHT}/{m.time.year}"
        clock = f"{m.time.hour % 12 or 12}:{m.time:%M}"
        when = f"{date}، {clock}".translate(str.maketrans("0123456789", AL)) + (" ص" if m.time.hour < 12 else " م")
        media = "<تم استبعاد الوسائط>" if m.kind in ("image", "video") else "تم حذف هذه الرسالة"
        text = m.text if m.kind in ("text", "system") else media
        lines.append(f"{when} - {m.who}: {text}" if m.who else f"{when} - {text}")
    return "\n".join(lines) + "\n"


def telegram(messages: list[Message]) -> str:
    """Return Telegram Desktop's result.json."""
    more = {
        "image": {"photo": NO_FILE, "width": 1280, "height": 960},
        "audio": {"file": NO_FILE, "media_type": "voice_message", "mime_type": "audio/ogg", "duration_seconds": 9},
        "sticker": {"file": NO_FILE, "media_type": "sticker", "sticker_emoji": "🚲", "width": 512, "height": 512},
        "location": {"location_information": {"latitude": 0.5, "longitude": -0.5}},
        "poll": {"poll": {"question": "Where to next?", "closed": False, "total_voters": 4, "answers": [
            {"text": name, "voters": n, "chosen": False} for name, n in (("The lighthouse", 1), ("The orchard road", 3))
        ]}},
    }  # fmt: skip
    rows = []
    for number, m in enumerate(messages, 1):
        row = {"id": number, "date": f"{m.time:%Y-%m-%dT%H:%M:%S}", "date_unixtime": str(int(m.time.timestamp()))}
        if m.kind in ("system", "call"):
            who = m.who or conversations.PEOPLE["T"]
            action = {"action": "phone_call", "duration_seconds": 83} if m.kind == "call" else {"action": m.text}
            record = {**action, "title": "Cycling club", "members": ["Noor Telle"]} if m.kind == "system" else action
            rows.append({**row, "type": "service", "actor": who, "actor_id": user(who), **record, "text": ""})
            continue
        row |= {"type": "message", "from": m.who, "from_id": user(m.who), **more.get(m.kind, {})}
        row |= {"reply_to_message_id": m.reply + 1} if m.reply is not None else {}
        row |= {"edited": row["date"]} if m.edited else {}
        rows.append({**row, "text": entities(m.text), "text_entities": []})
    chat = {"name": "Cycling club", "type": "private_group", "id": 4172, "messages": rows}
    return json.dumps(chat, indent=1, ensure_ascii=False) + "\n"


def user(who: str) -> str:
    """Return an account's id, the same for the same name."""
    return f"user{100 + list(conversations.PEOPLE.values()).index(who)}"


def entities(text: str) -> str | list[object]:
    """Mark mail addresses as Telegram does."""
    parts = re.split(r"(\w+@[\w.]+\w)", text)
    return [{"type": "email", "text": part} if "@" in part else part for part in parts] if len(parts) > 1 else text


def page(messages: list[Message]) -> str:
    """Return Telegram Desktop's messages.html."""
    body, before = [], None
    for number, m in enumerate(messages, 1):
        joined = before is not None and before.who == m.who and m.time - before.time < GAP
        if before is None or before.time.date() != m.time.date():
            day = f'<div class="body details">\n{m.time.day} {m.time:%B %Y}\n</div>'
            body.append(f'<div class="message service" id="message-{number}">{day}</div>')
        name = "" if joined else f'<div class="from_name">\n{m.who}\n</div>'
        reply = "" if m.reply is None else (
            f'<div class="reply_to details">\nIn reply to <a href="#go_to_message{m.reply + 1}" '
            f'onclick="return GoToMessage({m.reply + 1})">this message</a>\n</div>'
        )  # fmt: skip
        inside = PHOTO if m.kind == "image" else f'<div class="text">\n{html.escape(m.text)}\n</div>'
        when = f"{m.time:%d.%m.%Y %H:%M:%S} UTC+00:00"
        clock = f'<div class="pull_right date details" title="{when}">\n{m.time:%H:%M}\n</div>'
        head = f'<div class="message default clearfix{" joined" if joined else ""}" id="message{number}">'
        body.append(f'{head}<div class="body">{clock}{name}{reply}{inside}</div></div>')
        before = m
    inside = "\n".join(body)
    return (
        '<!DOCTYPE html>\n<html>\n <head><meta charset="utf-8"/><title>Exported Data</title></head>\n <body>\n'
        '<div class="page_wrap"><div class="page_header"><div class="content"><div class="text bold">\nTomas Orr\n'
        f'</div></div></div><div class="page_body chat_page"><div class="history">\n{inside}\n</div></div></div>\n'
        "</body>\n</html>\n"
    )


def discord(messages: list[Message]) -> str:
    """Return DiscordChatExporter's JSON."""
    rows = []
    for number, m in enumerate(messages):
        name = m.who.split()[0].lower()
        author = {"id": user(m.who)[4:], "name": name, "nickname": m.who, "isBot": False}
        row = {"id": str(9_000 + number), "type": "Default", "timestamp": f"{m.time:%Y-%m-%dT%H:%M:%S}.000+00:00"}
        row |= {"timestampEdited": None, "isPinned": False, "content": m.text, "author": author, "attachments": []}
        if m.reply is not None:
            row |= {"type": "Reply", "reference": {"messageId": str(9_000 + m.reply), "channelId": "5"}}
        rows.append({**row, "embeds": [], "stickers": [], "reactions": [], "mentions": []})
    head = {"guild": {"id": "3", "name": "Map makers"}, "channel": {"id": "5", "type": "GuildTextChat", "name": "general"}}
    return json.dumps({**head, "messages": rows, "messageCount": len(rows)}, indent=1, ensure_ascii=False) + "\n"


def discord_csv(messages: list[Message]) -> str:
    """Return DiscordChatExporter's CSV."""
    out = io.StringIO()
    write = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow
    for m in messages:
        text = "Started a call that lasted 3 minutes." if m.kind == "call" else m.text
        file = "https://cdn.example.org/beans.png" if m.kind == "image" else ""
        write([user(m.who)[4:], m.who, f"{m.time:%Y-%m-%dT%H:%M:%S}.0000000+00:00", text, file, ""])
    return "\ufeffAuthorID,Author,Date,Content,Attachments,Reactions\n" + out.getvalue()


def meta(messages: list[Message], title: str, numbered: Callable[[int], int]) -> dict[int, str]:
    """Return the files of Messenger or Instagram: newest first, UTF-8 bytes as characters; numbered: file by message."""
    files: dict[int, list[object]] = {}
    fields = {
        "image": {"photos": [{"uri": "photos/1.jpg"}]}, "audio": {"audio_files": [{"uri": "audio/1.mp4"}]},
        "sticker": {"sticker": {"uri": "stickers/1.png"}}, "deleted": {"is_unsent": True},
        "call": {"content": "You started a call.", "call_duration": 40},
    }  # fmt: skip
    for place, m in enumerate(messages):
        row = {"sender_name": broken(m.who), "timestamp_ms": int(m.time.timestamp() * 1000)}
        row |= {"content": broken(m.text)} if m.kind == "text" else fields[m.kind]
        files.setdefault(numbered(place), []).insert(0, {**row, "is_geoblocked_for_viewer": False})
    people = [{"name": broken(name)} for name in sorted({m.who for m in messages})]
    head = {"participants": people, "title": broken(title), "is_still_participant": True, "thread_path": "inbox/1"}
    return {n: json.dumps({**head, "messages": rows}, indent=1) + "\n" for n, rows in files.items()}


def broken(text: str) -> str:
    """Return a text as Meta writes it: each byte of UTF-8 as a character."""
    return text.encode().decode("latin-1")


def signal(messages: list[Message]) -> str:
    """Return signal-export's chat.md."""
    lines = []
    for m in messages:
        head = f"[{m.time:%Y-%m-%d %H:%M:%S}] {m.who}: "
        quote = f"\n\n> {messages[m.reply].text}\n\n" if m.reply is not None else ""
        said = {"image": "![fog.jpg](./media/fog.jpg)", "sticker": "  \n(( 🍵 ))", "deleted": "(This message was deleted)"}
        said["call"] = "Outgoing voice call (accepted, 1m 2s)"
        end = "" if m.kind == "deleted" else "  "
        lines.append(f"{head}{quote}{said.get(m.kind, m.text)}{end}\n\n")
    return "".join(lines)


def log(messages: list[Message]) -> str:
    """Return a plain log, to be read with format="chat" and its line."""
    return "".join(f"[{m.time:%d.%m.%Y %H:%M}] <{m.who}> {m.text}\n" for m in messages)


def write(place: Path) -> dict[str, object]:
    """Write all exports into the folder `chats` of `place`, and the log next to it; return the expected results."""
    scripts = ("FAMILY", "NEIGHBOURS", "CYCLING", "TRAIN", "KITCHEN", "PAIR", "SISTERS", "HARBOUR", "LOG")
    said = {name: messages_of(getattr(conversations, name), seed) for seed, name in enumerate(scripts)}
    said["MAPS"] = map_makers()
    family, files = said["FAMILY"], {}
    end = sum(m.time < datetime(2024, 4, 5, tzinfo=timezone.utc) for m in family)
    begin = sum(m.time < datetime(2024, 3, 28, tzinfo=timezone.utc) for m in family)
    later = {"_chat.txt": ios(family[begin:], files).encode()} | files
    exports = {
        "whatsapp/april/Discussion WhatsApp avec La famille.txt": ios(family[:end], None),
        "whatsapp/may/Discussion WhatsApp avec La famille.zip": zipped(later),
        "whatsapp/neighbours.txt": android_ar(said["NEIGHBOURS"]),
        "telegram/result.json": telegram(said["CYCLING"]),
        "telegram/pages/messages.html": page(said["TRAIN"]),
        "discord/maps.json": discord(said["MAPS"]),
        "discord/Map makers - Text - kitchen.csv": discord_csv(said["KITCHEN"]),
        "signal/Greta Moss/chat.md": signal(said["HARBOUR"]),
    }
    half = len(said["PAIR"]) // 2
    for number, text in meta(said["PAIR"], "Noor Telle", lambda i: 1 if i >= half else 2).items():
        exports[f"messenger/message_{number}.json"] = text
    exports["instagram/message_1.json"] = meta(said["SISTERS"], "Samira Belqour", lambda _: 1)[1]
    for name, data in exports.items():
        (place / "chats" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "chats" / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    (place / "chat_log.txt").write_text(log(said["LOG"]), encoding="utf-8")
    return expected(said, end - begin)


TITLES = {
    "FAMILY": "La famille", "NEIGHBOURS": "neighbours", "CYCLING": "Cycling club", "TRAIN": "Tomas Orr",
    "KITCHEN": "Map makers / kitchen", "MAPS": "Map makers / general", "PAIR": "Noor Telle", "SISTERS": "Samira Belqour",
    "HARBOUR": "Greta Moss", "LOG": "chat_log",
}  # fmt: skip


def expected(said: dict[str, list[Message]], in_two_exports: int) -> dict[str, object]:
    """Return the messages of each chat by kind and author, its conversations by the plain definition, and the forwards."""
    said = said | {"NEIGHBOURS": [replace(m, word=_android(m)) for m in said["NEIGHBOURS"]]}
    chats = {}
    for name, messages in said.items():
        times = [m.time for m in messages]
        chats[TITLES[name]] = {
            "messages": len(messages),
            "kinds": dict(sorted(Counter(m.kind for m in messages).items())),
            "authors": dict(sorted(Counter(m.who for m in messages if m.who).items())),
            "replies": sum(m.reply is not None for m in messages) if name in {"CYCLING", "TRAIN", "MAPS"} else 0,
            "conversations": 1 + sum(b - a >= GAP for a, b in itertools.pairwise(times)),
        }
    forwards = [conversations.MARKET, conversations.FERRY, conversations.ROADS]
    return {"chats": dict(sorted(chats.items())), "in_two_exports": in_two_exports, "forwards": forwards}


def _android(m: Message) -> str:
    """Return the kind of a message; Android does not show the kind of media that it leaves out."""
    return "file" if m.kind in ("image", "video") else m.word
