"""Telegram's result.json, streamed, and its pages: every message once, whole, with who, when and what kind."""

from __future__ import annotations

import gzip
import json
import re
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.chats.json_export import Known
from dataprep.read.chats.telegram.json import Telegram, plain
from dataprep.read.json import stream as json_stream
from dataprep.read.json.stream import JsonStream
from twins.json_stream import walked


def export(*messages, **fields):
    """The JSON of one chat, in Telegram's own form."""
    chat = {"name": "Tea", "type": "private_group", "id": 7, **fields, "messages": list(messages)}
    return json.dumps(chat, indent=1, ensure_ascii=False)


def said(number, text="x", who="Ada", **fields):
    return {
        "id": number, "type": "message", "date": f"2024-05-01T10:00:{number % 60:02}", "date_unixtime": "1714550400",
        "from": who, "from_id": "user1", "text": text, "text_entities": [], **fields,
    }  # fmt: skip


def service(number, action, **fields):
    date = "2024-05-01T10:00:00"
    return {"id": number, "type": "service", "date": date, "actor": "Ada", "action": action, "text": "", **fields}


CASES = [
    (said(1, "hi"), ("text", "Ada", "hi", {})),
    (said(1, ["at ", {"type": "link", "text": "https://e.org"}, " now"]), ("text", "Ada", "at https://e.org now", {})),
    (said(1, {"type": "bold", "text": ["a", {"type": "code", "text": "b"}]}), ("text", "Ada", "ab", {})),
    (said(1, ["Link: ", {"type": "link", "text": {"a": 1}}]), ("text", "Ada", 'Link: {"a": 1}', {})),
    (said(1, ["n ", 7, None, True, [1, "x"], {"type": "x", "document": "é"}]),
     ("text", "Ada", 'n 7true1x{"type": "x", "document": "é"}', {})),
    (said(1, who=None, from_id="user42"), ("text", "user42", "x", {})),
    (said(1, edited="2024-05-02T10:00:00"), ("text", "Ada", "x", {"edited": True})),
    (said(1, forwarded_from="Bo"), ("text", "Ada", "x", {"forwarded": "Bo"})),
    (said(1, forwarded_from=None), ("text", "Ada", "x", {"forwarded": True})),
    (said(1, "cap", photo="photos/1.jpg", width=9), ("image", "Ada", "cap", {"file": "photos/1.jpg"})),
    (said(1, "", photo="(File not included. Change settings.)"), ("image", "Ada", "", {})),
    (said(1, "", file="v.mp4", media_type="video_message"), ("video", "Ada", "", {"file": "v.mp4"})),
    (said(1, "", file="v.ogg", media_type="voice_message"), ("audio", "Ada", "", {"file": "v.ogg"})),
    (said(1, "", file="a.mp4", media_type="animation"), ("gif", "Ada", "", {"file": "a.mp4"})),
    (said(1, "", file="s.webp", media_type="sticker", sticker_emoji="😂"),
     ("sticker", "Ada", "", {"file": "s.webp", "emoji": "😂"})),
    (said(1, "", file="(File not included.)", file_name="p.pdf", mime_type="application/pdf"),
     ("file", "Ada", "", {"file": "p.pdf"})),
    (said(1, "", file="p.bin", mime_type="image/png"), ("image", "Ada", "", {"file": "p.bin"})),
    (said(1, "", poll={"question": "Tea?", "answers": [{"text": "yes"}, {"text": ["n", "o"]}]}),
     ("poll", "Ada", "Tea?\nyes\nno", {})),
    (said(1, "", location_information={"latitude": 33.5, "longitude": -7.6}, place_name="Port"),
     ("location", "Ada", "Port\n33.5, -7.6", {})),
    (said(1, "", contact_information={"first_name": "Bo", "last_name": "", "phone_number": "+1"}),
     ("contact", "Ada", "Bo, +1", {})),
    (said(1, reactions=[{"type": "emoji", "count": 2, "emoji": "👍"}]), ("text", "Ada", "x", {"reactions": {"👍": 2}})),
    (service(1, "phone_call", duration_seconds=56), ("call", "Ada", "phone_call 56", {"action": "phone_call"})),
    (service(1, "invite_members", members=["Bo", None, "Cy"]),
     ("system", None, "Ada: invite_members Bo, Cy", {"action": "invite_members"})),
    (service(1, "pin_message", actor=None, actor_id="user9"),
     ("system", None, "user9: pin_message", {"action": "pin_message"})),
]  # fmt: skip


@pytest.mark.parametrize(("message", "want"), CASES)
def test_kinds(rows_of, message, want) -> None:
    """Each field that tells what a message is gives its kind, author, text and meta."""
    [row], drops = rows_of(Telegram(), export(message))
    assert (row["kind"], row["author"], row["text"], json.loads(row["meta"])) == want
    assert not drops


def test_positions_times_and_replies(rows_of) -> None:
    """A message's position is the byte of its object; times are as written; replies name a message before them."""
    answers = [said(9, reply_to_message_id=3), said(10, reply_to_message_id=99)]
    elsewhere = said(11, reply_to_message_id=5, reply_to_peer_id="channel2")
    messages = [said(5, "é"), said(6, reply_to_message_id=5), said(3), *answers, elsewhere]
    text = export(*messages, said(12) | {"date": None})
    rows, _ = rows_of(Telegram(), "\ufeff" + text)
    starts = [m.start() for m in re.finditer(rb"\{\s+\"id\": \d+,\s+\"type\": \"message\"", ("\ufeff" + text).encode())]
    assert [r["id"] for r in rows] == starts
    assert [r["reply_to"] for r in rows] == [None, starts[0], None, starts[2], None, None, None]
    assert rows[0]["time"] == datetime(2024, 5, 1, 10, 0, 5)
    assert rows[-1]["time"] == datetime(2024, 5, 1, 8, 0)  # only the unix time is there: UTC
    assert {r["chat"] for r in rows} == {"Tea"}


def test_a_whole_account(rows_of) -> None:
    """Chats of an account are read with their names, replies inside each; other lists are not messages."""
    chats = [
        {"name": "Tea", "type": "personal_chat", "id": 1, "messages": [said(1), said(2, reply_to_message_id=1)]},
        {"name": "Empty", "type": "personal_chat", "id": 2, "messages": []},
        {"type": "saved_messages", "id": 3, "messages": [said(1), said(4, reply_to_message_id=2)]},
        {"messages": [said(1)], "name": None, "type": "personal_chat", "id": 4},
        {"name": "{Bo}", "type": "personal_chat", "id": 5, "messages": [said(1)]},
        {"name": "{Bo}", "type": "personal_chat", "id": 6, "more": {"messages": []}, "messages": [said(1)]},
    ]
    account = {"about": "x", "contacts": {"list": [{"n": '"messages": ['}]}, "chats": {"about": "", "list": chats}}
    rows, _ = rows_of(Telegram(), json.dumps(account))
    assert [r["chat"] for r in rows] == [
        "Tea", "Tea", "Saved Messages", "Saved Messages", "4", "{Bo} (5)", "{Bo} (6)",
    ]  # fmt: skip
    assert [r["reply_to"] for r in rows] == [None, rows[0]["id"], None, None, None, None, None]


values = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(max_size=6) | st.sampled_from(['"', "\\", "]},", "messages", "[{"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "messages2", '"']), inner),
    max_leaves=6,
)


@given(
    st.lists(values, max_size=5),
    st.dictionaries(st.sampled_from(["a", "message", "x\\"]), values),
    st.integers(1, 40),
    st.booleans(),
)
def test_the_walk_finds_what_a_parser_finds(messages, around, block, pretty) -> None:
    """Whatever the JSON and wherever reads end: the elements of `messages` are those of json.loads, at their bytes."""
    import io

    text = json.dumps({**around, "messages": messages, "z": 1}, indent=2 if pretty else None).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "BLOCK", block)
        walk = JsonStream(io.BytesIO(text), "u", 1 << 20)
        found = [(g.base + int(g.starts[k]), g.raw(k)) for g in walk.groups() for k in range(len(g.starts))]
    expected, frame = walked(text)
    assert [json.loads(raw) for _, raw in found] == expected
    assert all(text[at : at + len(raw)] == raw for at, raw in found)
    assert walk.document() == frame


def test_bad_messages_are_dropped(rows_of, monkeypatch) -> None:
    """What is no object, not JSON, not UTF-8 or too long is dropped with its position; the rest stays."""
    good = [json.dumps(said(n)) for n in range(2_000)]
    bad = ["777", '{"id": 1 2}', '{"text": "\\ud800" 1}', json.dumps(said(1, "y" * 900)), '{"text": "\xff"}']
    text = '{"name": "Tea", "id": 1, "messages": [' + ", ".join([good[0], *bad, *good[1:]]) + "]}"
    data = text.encode("latin-1")
    for block in (4 << 20, 100):
        monkeypatch.setattr(json_stream, "BLOCK", block)
        rows, drops = rows_of(Telegram(max_doc_bytes=600), data)
        assert [r["text"] for r in rows] == ["x"] * 2_000
        reasons = ["not_an_object", "not_json", "not_json", "too_long", "invalid_utf8"]
        assert [d["reason"] for d in drops] == reasons
        assert [d["id"] for d in drops] == [data.index(b.encode("latin-1"), 150) for b in bad]


WHOLE = export(said(1, "one"), said(2, "two"))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (WHOLE[:-40], r"in\.json, byte \d{3}: the export ends in the middle of its messages"),
        (WHOLE[:-1], r"byte \d{3}: the file ends early"),
        (WHOLE[:30], r"byte 30: the file ends early"),
        (export(), "byte 0: the chat has no messages"),
        ('{"a": 1, "b": 2}', "the file has no Telegram chat; its fields are a, b"),
        (json.dumps({f"field{i}": 1 for i in range(50)}), r"its fields are field0, field1, .* field[0-9]+, \.\.\.; "),
        ('{"guild": {}, "channel": {}, "messages": [{}]}', "no Telegram chat"),
        ('{"a": 1}\n{"a": 2}\n', "is not one JSON document"),
        ("[1]", "a JSON list"),
        ("hello", "is not one JSON document but begins b'hello'"),
        ('{"name": "Tea", "messages": [1, 2]}', "all 2 records are bad; this is the first: not_an_object b'1'"),
        ("<html><body></body></html>", "the page has no messages of Telegram Desktop"),
    ],
)
def test_bad_files(rows_of, data, says) -> None:
    """A cut, empty or foreign file is one sentence with its place."""
    with pytest.raises(ReadError, match=says):
        rows_of(Telegram(), data)


@given(
    st.lists(st.lists(st.none() | st.integers(0, 30), max_size=9), max_size=9),
    st.lists(st.none() | st.integers(-1, 31)),
)
def test_known_messages(batches, answered) -> None:
    """Numbers in any order are found, the last of equal ones, as in a dict."""
    known, plain_twin, position = Known(), {}, 0
    for numbers in batches:
        known.add(numbers, np.arange(position, position + len(numbers)))
        plain_twin |= {one: position + k for k, one in enumerate(numbers) if one is not None}
        position += len(numbers)
    found = known.find(answered, 1)
    want = [plain_twin.get(one) for one in answered]
    assert (found.to_pylist() if found else [None] * len(want)) == [None if w is None else (1 << 40) + w for w in want]


def test_compressed_exports(tmp_path) -> None:
    """A compressed export is the same."""
    (tmp_path / "result.json").write_text(WHOLE)
    (tmp_path / "result.json.gz").write_bytes(gzip.compress(WHOLE.encode()))
    one, two = (
        dp.read(str(tmp_path / name)).table().drop_columns("source") for name in ("result.json", "result.json.gz")
    )
    assert one.equals(two)


def test_real_exports(shared) -> None:
    """Every message of the real exports is there, with the kinds that plain JSON tells."""
    for path in sorted((shared / "chats" / "telegram").glob("*.json")):
        messages = json.loads(path.read_text())["messages"]
        rows = dp.read(str(path)).table().to_pylist()
        assert len(rows) == len(messages)
        for row, m in zip(rows, messages, strict=True):
            assert row["kind"] == ("image" if "photo" in m else "text" if m["type"] == "message" else row["kind"])
            assert row["text"].endswith(plain(m["text"]))
            assert row["author"] == (m.get("from") or (m["actor"] if row["kind"] == "call" else None))
            assert "date" not in m or row["time"] == datetime.fromisoformat(m["date"][:19])


PAGE = """<!DOCTYPE html>
<html>
 <head><meta charset="utf-8"/><title>Exported Data</title></head>
 <body onload="CheckLocation();">
  <div class="page_wrap">
   <div class="page_header"><div class="content"><div class="text bold">
Tea &amp; co
   </div></div></div>
   <div class="page_body chat_page"><div class="history">
     <div class="message service" id="message-1">
      <div class="body details">
1 May 2024
      </div>
     </div>
     <div class="message service" id="message3">
      <div class="body details">
Ada invited Bo
      </div>
     </div>
     <div class="message default clearfix" id="message4">
      <div class="pull_left userpic_wrap"><div class="userpic userpic1"><div class="initials">A</div></div></div>
      <div class="body">
       <div class="pull_right date details" title="01.05.2024 10:00:04 UTC+01:00">
10:00
       </div>
       <div class="from_name">
Ada
       </div>
       <div class="text">
see <a href="https://e.org">https://e.org</a><br>&lt;div class=&quot;message&quot;&gt; <strong>now</strong>
       </div>
       <span class="reactions"><span class="reaction"><span class="emoji">
👍
       </span><span class="count">
2
       </span></span></span>
      </div>
     </div>
     <div class="message default clearfix joined" id="message5">
      <div class="body">
       <div class="pull_right date details" title="01.05.2024 10:00:05 UTC+01:00">10:00</div>
       <div class="media_wrap clearfix"><a class="photo_wrap clearfix pull_left" href="photos/1.jpg"><img/></a></div>
       <div class="text">
a caption
       </div>
      </div>
     </div>
     <div class="message default clearfix" id="message6">
      <div class="body">
       <div class="pull_right date details" title="01.05.2024 10:00:06">10:00</div>
       <div class="from_name">
Bo
       </div>
       <div class="reply_to details">
In reply to <a href="#go_to_message4" onclick="return GoToMessage(4)">this message</a>
       </div>
       <div class="pull_left forwarded userpic_wrap"></div>
       <div class="forwarded body">
        <div class="from_name">
Cy <span class="date details" title="30.04.2024 09:00:00"> 30.04.2024 09:00:00</span>
        </div>
        <div class="text">
far
        </div>
       </div>
      </div>
     </div>
     <div class="message default clearfix joined" id="message7">
      <div class="body">
       <div class="pull_right date details" title="01.05.2024 10:00:07">10:00</div>
       <div class="media_wrap clearfix"><div class="media clearfix pull_left media_call">
         <div class="fill pull_left"></div>
         <div class="body"><div class="title bold">
Cy
         </div><div class="status details">
Outgoing (56 seconds)
         </div></div></div></div>
      </div>
     </div>
     <div class="message default clearfix joined" id="message8">
      <div class="body">
       <div class="pull_right date details" title="01.05.2024 10:00:08">10:00</div>
       <div class="media_wrap clearfix"><a class="media clearfix pull_left block_link media_file" href="files/a.pdf">
         <div class="body"><div class="title bold">
a.pdf
         </div></div></a></div>
      </div>
     </div>
     <div class="message default clearfix joined" id="message9">
      <div class="body">
       <div class="pull_right date details" title="01.05.2024 10:00:09">10:00</div>
       <div class="media_wrap clearfix"><div class="media_poll"><div class="question bold">
Tea?
       </div><div class="details">Anonymous poll</div><div class="answer">
- yes
       </div></div></div>
      </div>
     </div>
     <div class="message default clearfix joined" id="message10">
      <div class="body">
       <div class="pull_right date details" title="01.05.2024 10:00:10">10:00</div>
       <div class="media_wrap clearfix"><div class="media clearfix pull_left media_photo"><div class="body">
         <div class="title bold">Photo</div><div class="description">Not included, change data exporting settings</div>
       </div></div></div>
       <div class="text">left out, with a caption</div>
      </div>
     </div>
   </div></div>
  </div>
 </body>
</html>
"""


def test_pages(rows_of) -> None:
    """A page gives the columns of JSON: joined messages have their author, the platform's lines a time."""
    rows, drops = rows_of(Telegram(), PAGE, "messages.html")
    assert [(r["author"], r["kind"], r["text"], r["time"].second, json.loads(r["meta"])) for r in rows] == [
        (None, "system", "Ada invited Bo", 0, {}),
        ("Ada", "text", 'see https://e.org\n<div class="message"> now', 4, {"reactions": {"👍": 2}}),
        ("Ada", "image", "a caption", 5, {"file": "photos/1.jpg"}),
        ("Bo", "text", "far", 6, {"forwarded": "Cy"}),
        ("Bo", "call", "Cy\nOutgoing (56 seconds)", 7, {}),
        ("Bo", "file", "", 8, {"file": "files/a.pdf"}),
        ("Bo", "poll", "Tea?\nyes", 9, {}),
        ("Bo", "image", "left out, with a caption", 10, {"file": None}),
    ]
    starts = [PAGE.encode().index(f'<div class="message {c}" id="message{n}"'.encode()) for n, c in
              ((3, "service"), (4, "default clearfix"))]  # fmt: skip
    assert [r["id"] for r in rows[:2]] == starts
    assert [r["reply_to"] for r in rows] == [None, None, None, starts[1], None, None, None, None]
    assert {r["chat"] for r in rows} == {"Tea & co"}
    assert not drops
    with pytest.raises(ReadError, match="the page ends early"):
        rows_of(Telegram(), PAGE[:-300], "messages.html")


TODO = {
    "title": "Trip",
    "others_can_append": True,
    "answers": [{"id": 1, "text": "tent"}, {"id": 2, "text": ["a ", "map"]}],
}
RICH = {
    "blocks": [
        {"type": "heading", "text": [{"type": "bold", "text": "Plan"}]},
        {"type": "list", "items": ["one", "two"]},
    ]
}


@pytest.mark.parametrize(
    ("fields", "text", "kind"),
    [({"todo_list": TODO}, "Trip\ntent\na map", "text"), ({"rich_message": RICH}, "Plan\none\ntwo", "text"),
     ({"todo_list": "odd"}, "odd", "text"), ({"todo_list": None}, "", "text"),
     ({"gift_id": 7, "gift_text": {"text": "for you"}}, "for you", "text"), ({"gift_id": 7, "novelty": 1}, "", "event"),
     ({"novelty": {"caption": "new thing", "size": 3}}, "new thing", "text"),
     ({"game_title": "Snake", "game_description": "Eat"}, "Snake\nEat", "text"),
     ({"invoice_information": {"title": "Чай", "description": "100 g", "amount": 5}}, "Чай\n100 g", "text")],
)  # fmt: skip
def test_messages_that_are_new(tmp_path, fields, text, kind):
    """Checklists, rich messages, gifts and fields that nobody knows yet do not become empty texts."""
    row = Telegram().row(said(1, "", **fields))
    assert (row.text, row.kind) == (text, kind)


@pytest.mark.parametrize(
    ("fields", "text"),
    [({"action": "todo_append_tasks", "items": [{"text": ["a ", "map"], "id": 3}]}, "Ada: todo_append_tasks a map"),
     ({"information_text": "سجّل الدخول"}, "Ada: سجّل الدخول"),
     ({"action": "process_suggested_post", "comment": "later", "rejected": True}, "Ada: process_suggested_post later"),
     ({"action": "change_creator", "new_creator": "Bo"}, "Ada: change_creator Bo")],
)  # fmt: skip
def test_what_an_action_is_about(fields, text):
    """A service message has the texts that Telegram Desktop writes beside its action."""
    message = {"id": 1, "type": "service", "date": "2024-05-01T10:00:00", "actor": "Ada", "text": "", **fields}
    row = Telegram().row(message)
    assert (row.text, row.kind, row.author) == (text, "system", None)


def test_unknown_fields_are_counted(tmp_path):
    """A field that is not known and has text is named in the statistics; one with numbers alone is not."""
    messages = [said(1, novelty={"caption": "thing"}, size=4), said(2, novelty="again"), said(3, photo="(left out)")]
    (tmp_path / "result.json").write_text(export(*messages), "utf-8")
    ledger = Ledger("read", source="s")
    rows = [row for batch in Telegram()(Slice(str(tmp_path / "result.json"), 0), ledger) for row in batch.to_pylist()]
    assert [row["text"] for row in rows] == ["x", "x", "x"]
    found = {name: n for name, n in ledger.record.counts.items() if name.startswith("unknown_field")}
    assert found == {"unknown_field.novelty": 2}


def test_an_escape_that_is_not_json(tmp_path):
    r"""The escape \x08, which Telegram Desktop writes, is a control character; behind a backslash it is text."""
    data = export(said(1, "aQb"), said(2, "cRd"), said(3, "e")).replace("Q", "\\x08").replace("R", "\\\\x41")
    (tmp_path / "result.json").write_text(data, "utf-8")
    rows = dp.read(str(tmp_path / "result.json"), format="telegram").table()["text"].to_pylist()
    assert rows == ["a\x08b", "c\\x41d", "e"]
