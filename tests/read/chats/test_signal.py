"""Signal's chats as signal-export, sigtop and signalbackup-tools write them."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import ReadError
from dataprep.read.chats.signal import Signal


def read_text(path, text: str | bytes, **fields):
    """Rows of a file, and its drops."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    ledger = Ledger("read", source="s")
    rows = [r for b in Signal(**fields)(Slice(str(path), 0), ledger) for r in b.to_pylist()]
    return rows, ledger.drop_table().to_pylist()


def shown(rows):
    """What the tests compare."""
    return [(r["author"], r["kind"], r["text"], json.loads(r["meta"])) for r in rows]


MARKDOWN = """\
[2024-05-03 09:12:05] Ilse: tea?  

[2024-05-03 09:13:05] Me: 

> tea?
> or not

yes: at five
and milk  
(- Ilse: 👍, Bee: 👍, Bob: ❤️ -)

[2024-05-03 09:14:05] Ilse: look  ![cup.jpg](./media/cup.jpg)  

[2024-05-03 09:15:05] Ilse:   [plan.pdf](./media/plan.pdf)  [b.ogg](./media/b.ogg)  

[2024-05-03 09:16:05] Bee:   
(( 🍵 ))

[2024-05-03 09:17:05] Bee: (This message was deleted)

[2024-05-03 09:18:05] Me: Outgoing voice call (accepted, 1m 2s)  

[2024-05-03 09:19:05] No-Sender:   

[2024-05-03 09:20:05] Bee: > not a quote of Signal's  

"""  # noqa: W291 - as the tool writes it


def test_markdown_of_signal_export(tmp_path) -> None:
    """Quotes, reactions, files, stickers, calls and deleted messages."""
    rows, drops = read_text(tmp_path / "Tea club" / "chat.md", MARKDOWN)
    reactions = {"👍": 2, "❤️": 1}
    assert shown(rows) == [
        ("Ilse", "text", "tea?", {}),
        ("Me", "text", "yes: at five\nand milk", {"quote": "tea?\nor not", "reactions": reactions}),
        ("Ilse", "image", "look  ![cup.jpg](./media/cup.jpg)", {"file": "cup.jpg"}),
        ("Ilse", "file", "[plan.pdf](./media/plan.pdf)  [b.ogg](./media/b.ogg)", {"files": ["plan.pdf", "b.ogg"]}),
        ("Bee", "sticker", "(( 🍵 ))", {}),
        ("Bee", "deleted", "(This message was deleted)", {}),
        ("Me", "call", "Outgoing voice call (accepted, 1m 2s)", {}),
        (None, "system", "", {}),
        ("Bee", "text", "> not a quote of Signal's", {}),
    ]
    assert [r["time"] for r in rows] == [datetime(2024, 5, 3, 9, m, 5) for m in range(12, 21)]
    assert {r["chat"] for r in rows} == {"Tea club"}
    assert rows[1]["id"] == MARKDOWN.index("[2024-05-03 09:13")
    assert not drops


def test_older_markdown(tmp_path) -> None:
    """With a comma, without seconds, without blank lines between."""
    rows, _ = read_text(
        tmp_path / "bee.md", "[2019-05-29, 15:04] Me: How are you?\n[2019-05-29 15:10] Bee: Fine!\nYou?\n"
    )
    assert shown(rows) == [("Me", "text", "How are you?", {}), ("Bee", "text", "Fine!\nYou?", {})]
    assert rows[0]["time"] == datetime(2019, 5, 29, 15, 4)


def test_json_lines_of_signal_export(tmp_path) -> None:
    """The same chat as data.json."""
    told = [
        {
            "date": "2024-05-03T09:12:05",
            "sender": "Ilse",
            "body": "tea?  ",
            "quote": "",
            "sticker": "",
            "reactions": [],
        },
        {
            "date": "2024-05-03T09:13:05.120000",
            "sender": "Me",
            "body": "yes:\nat five  ",
            "quote": "\n\n> tea?\n\n",
            "reactions": [["Ilse", "👍"], {"name": "Bee", "emoji": "👍"}],
        },
        {
            "date": "2024-05-03T09:14:05+02:00",
            "sender": "Ilse",
            "body": "  ",
            "attachments": [{"name": "cup.jpg", "path": "x"}],
        },
        {"date": "2024-05-03T09:15:05", "sender": "Ilse", "body": "", "sticker": {"emoji": "🍵"}},
        {"date": "2024-05-03T09:16:05", "sender": "Ilse", "body": "", "deleted": True},
        {"date": "2024-05-03T09:17:05", "sender": "Ilse", "body": "Missed voice call  "},
        {"date": "2024-05-03T09:18:05", "sender": "No-Sender", "body": "  "},
    ]
    rows, _ = read_text(tmp_path / "Tea" / "data.json", "".join(json.dumps(t) + "\n" for t in told))
    assert shown(rows) == [
        ("Ilse", "text", "tea?", {}),
        ("Me", "text", "yes:\nat five", {"quote": "tea?", "reactions": {"👍": 2}}),
        ("Ilse", "image", "", {"file": "cup.jpg"}),
        ("Ilse", "sticker", "", {}),
        ("Ilse", "deleted", "", {}),
        ("Ilse", "call", "Missed voice call", {}),
        (None, "system", "", {}),
    ]
    assert [r["time"] for r in rows] == [datetime(2024, 5, 3, 9, m, 5) for m in range(12, 19)]


def test_short_text_of_sigtop(tmp_path) -> None:
    """What stands in square brackets in front is the tool's; only the number of files stays."""
    text = (
        "2024-05-03 09:12 You: tea?\nat five\n"
        "2024-05-03 09:13 Ilse: [reply to You on 2024-05-03 09:12, edited] yes\n"
        "2024-05-03 09:14 Ilse: [2 attachments] look\n"
        "2024-05-03 09:15 Ilse: [keychange message]\n2024-05-03 09:16 Ilse: [call-history message]\n"
        "2024-05-03 09:17 Ilse: [edited by me] no\n2024-05-03 09:18 You:\n"
    )
    rows, _ = read_text(tmp_path / "a.txt", text)
    assert shown(rows) == [
        ("You", "text", "tea?\nat five", {}),
        ("Ilse", "text", "yes", {"edited": True}),
        ("Ilse", "file", "[2 attachments] look", {}),
        (None, "system", "[keychange message]", {}),
        (None, "call", "[call-history message]", {}),
        ("Ilse", "text", "[edited by me] no", {}),
        ("You", "text", "", {}),
    ]


def test_text_of_signalbackup_tools(tmp_path) -> None:
    """Files and events stand behind three stars; a poll has its options below."""
    text = (
        "[May 03, 2024 09:12:05] *** You created the group.\n[May 03, 2024 09:13:05] <Ilse> tea?\nat five\n"
        '[May 03, 2024 09:14:05] *** <Ilse> sent file "cup.jpg"\n'
        "[May 03, 2024 09:15:05] *** <Ilse> sent file of type audio/aac\n[May 03, 2024 09:16:05] *** Missed call\n"
        "[May 03, 2024 09:17:05] <Ilse> Poll: When?\n                 [2] at five\n                 [0] never\n"
    )
    rows, _ = read_text(tmp_path / "a.txt", text)
    assert shown(rows) == [
        (None, "system", "You created the group.", {}),
        ("Ilse", "text", "tea?\nat five", {}),
        ("Ilse", "image", '<Ilse> sent file "cup.jpg"', {"file": "cup.jpg"}),
        ("Ilse", "audio", "<Ilse> sent file of type audio/aac", {}),
        (None, "call", "Missed call", {}),
        ("Ilse", "poll", "Poll: When?\n                 [2] at five\n                 [0] never", {}),
    ]


def test_one_form_a_file(tmp_path) -> None:
    """A line in another tool's form is what somebody said."""
    rows, _ = read_text(tmp_path / "a.md", "[2024-05-03 09:12] Me: I read\n2024-05-03 09:12 Bee: hello\n")
    assert [r["text"] for r in rows] == ["I read\n2024-05-03 09:12 Bee: hello"]


def test_bad_input(tmp_path) -> None:
    """Not a chat, no such day, cut code points; format="signal" in dp.read."""
    path = tmp_path / "a.md"
    for text in ("# Tea\n", "[2024-02-30 09:12] Me: x\n", '{"text": "x"}\n', "[Foo 03, 2024 09:12:05] <A> b\n"):
        with pytest.raises(
            ReadError, match=r"no message begins with b'.*the expected form is a chat\.md or data\.json of signal"
        ):
            read_text(path, text)
    head = b"[2024-05-03 09:12] Me: "
    named = "[2024-05-03 09:12] Mé: ".encode()
    rows, drops = read_text(path, named + b"caf\x81\n" + named + b"x\r\ny\r\n" + named + b"caf\xc3")
    assert [r["text"] for r in rows] == ["x\ny", "caf"]
    assert [(d["id"], d["reason"]) for d in drops] == [(0, "invalid_utf8")]
    path.write_bytes(head + b"x\n")
    assert dp.read(str(path), format="signal").table()["author"].to_pylist() == ["Me"]


WORDS = st.text("abc é電:,.!?-\n", max_size=20).map(lambda t: t.strip())
MESSAGES = st.lists(
    st.tuples(
        st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)).map(lambda t: t.replace(second=0, microsecond=0)),
        st.text("abcé 電-", min_size=1, max_size=9).map(str.strip).filter(bool),
        WORDS,
        WORDS.map(lambda t: t.replace("\n", " ")),
    ),
    min_size=1,
    max_size=8,
)  # fmt: skip


@settings(max_examples=50)
@given(MESSAGES)
def test_what_is_rendered_comes_back(tmp_path_factory, messages) -> None:
    """Any list of messages, quotes among them, in each tool's form."""
    path = tmp_path_factory.getbasetemp() / "any.txt"
    forms = {
        "markdown": "".join(
            "[{:%Y-%m-%d %H:%M:%S}] {}: {}{}  \n\n".format(t, a, f"\n\n> {q}\n\n" if q else "", s)
            for t, a, s, q in messages
        ),
        "short": "".join(f"{t:%Y-%m-%d %H:%M} {a}: {s}\n" for t, a, s, _ in messages),
        "tools": "".join(f"[{t:%b %d, %Y %H:%M:%S}] <{a}> {s}\n" for t, a, s, _ in messages),
    }
    for form, text in forms.items():
        rows, drops = read_text(path, text)
        assert [(r["time"], r["author"], r["text"]) for r in rows] == [m[:3] for m in messages], form
        if form == "markdown":
            assert [json.loads(r["meta"]).get("quote", "") for r in rows] == [q for *_, q in messages]
        assert not drops
