"""Fields of any type: a reader makes a message of it or drops it, and never stumbles."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.chats.discord import Discord
from dataprep.read.chats.messages import KINDS
from dataprep.read.chats.messenger import Messenger
from dataprep.read.chats.telegram.json import Telegram

FIELDS = {
    Telegram: "id type date date_unixtime from from_id text reply_to_message_id photo file file_name mime_type "
    "media_type sticker_emoji poll contact_information location_information forwarded_from edited reactions actor "
    "action members",
    Discord: "id type timestamp timestampEdited content author attachments embeds stickers reactions reference poll",
    Messenger: "sender_name timestamp_ms content photos gifs files sticker share reactions is_unsent type "
    "call_duration senderName timestamp text media",
}
INNER = (
    "text question answers first_name latitude name nickname id isBot fileName url title uri link reaction emoji count"
)
ODD = st.sampled_from(
    [None, True, 0, -1, 1e300, 10**25, "", "x", "2024-05-01T10:00:00", "99", "service", "message", "Call", "phone_call"]
)
VALUES = st.recursive(
    ODD,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(INNER.split()), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("reader", [Telegram, Discord, Messenger])
@settings(max_examples=150)
@given(data=st.data())
def test_any_fields(reader, tmp_path_factory, data) -> None:
    """Every object is a message with text, a kind and JSON as meta, whatever stands in its fields."""
    fields = st.dictionaries(st.sampled_from(FIELDS[reader].split()), VALUES, max_size=6)
    messages = data.draw(st.lists(fields, min_size=1, max_size=3))
    document = {"id": 1, "name": "Tea", "messages": messages}
    document |= {"guild": {}, "channel": {"name": 5}} if reader is Discord else {}
    document |= {"title": 5} if reader is Messenger else {}
    path = tmp_path_factory.mktemp("odd") / "in.json"
    path.write_text(json.dumps(document))
    rows = [row for b in reader()(Slice(str(path), 0), Ledger("read", source="s")) for row in b.to_pylist()]
    assert len(rows) == len(messages)
    assert {r["kind"] for r in rows} <= set(KINDS)
    assert all(isinstance(json.loads(r["meta"]), dict) for r in rows)


def numbered(reader, n):
    """An export with n messages."""
    time = "2024-05-01T10:00:00"
    if reader is Discord:
        said = [{"id": str(i), "type": "Default", "timestamp": time, "content": f"m{i}", "author": {"name": "A"}}
                for i in range(n)]  # fmt: skip
        return {"guild": {"id": "0"}, "channel": {"id": "1", "name": "tea"}, "messages": said, "messageCount": n}
    said = [{"id": i, "type": "message", "date": time, "from": "A", "text": f"m{i}"} for i in range(n)]
    return {"name": "tea", "type": "personal_chat", "id": 1, "messages": said, "more": {"x": ["y]"]}}


@pytest.mark.parametrize("reader", [Telegram, Discord])
def test_messages_before_the_end_of_a_cut_file_are_read(tmp_path, reader) -> None:
    """Wherever an export is cut, the messages before the cut come under the chat's name, then the error."""
    data = json.dumps(numbered(reader, 12))
    ends = [m.start() for m in re.finditer(r',(?= {"id")|](?=, "m)', data)]
    path = tmp_path / "in.json"
    for cut in [*range(data.index("m0"), len(data), 29), ends[-1], ends[-1] + 1, len(data) - 1]:
        path.write_text(data[:cut])
        with pytest.raises(ReadError, match="ends early|in the middle"):
            list(reader()(Slice(str(path), 0), Ledger("read", source="s")))
        docs = dp.read(str(path), format=reader.__name__.lower(), on_bad_file="skip")
        whole = sum(end < cut for end in ends)
        if not whole:
            continue
        found = docs.table().to_pylist()
        assert [r["text"] for r in found] == [f"m{i}" for i in range(whole)], data[:cut]
        assert {r["chat"] for r in found} == {"tea"}
