"""WhatsApp's own words: what stands in place of a message, in every language we know."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins.whatsapp_kinds
from dataprep.read.chats.messages import KINDS
from dataprep.read.chats.whatsapp import events as E
from dataprep.read.chats.whatsapp import kinds as W
from dataprep.read.chats.whatsapp import placeholders as P
from dataprep.read.chats.whatsapp import placeholders_ios

LRM = "\u200e"


def told(*said: str, speaks=True, marked=True):
    """(kind, text, meta) of messages; a plain message and, if marked, one with a mark stand beside them."""
    beside = ["hello", *([LRM + "image omitted"] if marked else [])]
    messages = [*beside, *said]
    has = np.array([True] * len(beside) + [speaks] * len(said))
    kinds, texts, metas = W.recognise(pa.array(messages, pa.large_string()), has)
    rows = zip(kinds.to_pylist(), texts.to_pylist(), metas or ["{}"] * len(messages), strict=True)
    return [(k, t, json.loads(m)) for k, t, m in rows][len(beside) :]


def phrases(table: str) -> list[str]:
    """The phrases of a table as they are written in it."""
    return [p.strip() for line in table.strip().split("\n") for p in line.partition(":")[2].split(" | ")]


def test_every_phrase_of_the_tables() -> None:
    """A phrase is recognised where phones write it, with a full stop and a capital letter too, and in no sentence."""
    anywhere = {"file": P.MEDIA, "deleted": E.DELETED, "call": E.MISSED, "location": E.LIVE, "system": E.WAITING}
    pairs = [(kind, p) for table in (anywhere, P.VIEW_ONCE) for kind, text in table.items() for p in phrases(text)]
    assert len(pairs) > 250
    assert [k for k, _, _ in told(*(p for _, p in pairs))] == [k for k, _ in pairs]
    long = [(k, p) for k, p in pairs if not p.startswith("<") and p != "null"]
    assert [k for k, _, _ in told(*(p[0].upper() + p[1:] + "." for _, p in long))] == [k for k, _ in long]
    assert {k for k, _, _ in told(*(f"so: {p}" for _, p in pairs), *(f"{p} x" for _, p in pairs))} == {"text"}
    ios = [(kind, p) for kind, text in placeholders_ios.PHRASES.items() for p in phrases(text)]
    for form in (LRM + "{}", "\u200f{}", "<" + LRM + "{}>", "plan.pdf \u2022 " + LRM + "2 \u2022 " + LRM + "{}"):
        assert [k for k, _, _ in told(*(form.format(p) for _, p in ios))] == [k for k, _ in ios]
    assert {k for k, _, _ in told(*(p for _, p in ios if p not in W.ANYWHERE))} == {"text"}
    assert [k for k, _, _ in told(*(p for _, p in ios), marked=False)] == [k for k, _ in ios]
    assert {k for k, _, _ in told(*(LRM + p for p in phrases(E.CALLS)))} == {"call"}
    assert {k for k, _, _ in told(*phrases(E.CALLS))} == {"text"}
    assert {W.KINDS[0]} | {k for k, _ in pairs + ios} <= set(KINDS)


def test_attached_files() -> None:
    """The kind is told by the name, which goes into meta."""
    names = {
        "IMG-20240513-WA0001.jpg": "image",
        "00000035-PHOTO-2022-03-27-21-41-55.jpg": "image",
        "VID-20240513-WA0001.mp4": "video",
        "00000051-GIF-2024-03-18.mp4": "gif",
        "PTT-20240513-WA0001.opus": "audio",
        "00000043-STICKER-2022.webp": "sticker",
        "STK-20240513-WA0001.webp": "sticker",
        "Bee (new).vcf": "contact",
        "00000047-the plan.pdf": "file",
    }
    for phrase in phrases(P.ATTACHED):
        rows = told(*(f"{mark}{n} ({phrase})\nlook" for n in names for mark in ("", LRM)))
        assert [k for k, _, _ in rows] == [k for k in names.values() for _ in "ab"]
        assert [m["file"] for _, _, m in rows] == [n for n in names for _ in "ab"]
    any_language = told("PTT-20240513-WA0001.opus (what is this language)", "IMG-20240513-WA0001.jpg", "ABC-1 (x)")
    assert [k for k, _, _ in any_language] == ["audio", "text", "text"]
    for word in ("attached", "angehängt", "添付ファイル", "مرفق"):
        rows = told(*(f"{LRM}<{word}: {LRM}{n}>" for n in names), f"plan.pdf \u2022 {LRM}2 {LRM}<{word}: 1-plan.pdf>")
        assert [k for k, _, _ in rows] == [*names.values(), "file"]
        assert [m["file"] for _, _, m in rows] == [*names, "1-plan.pdf"]
    for word in (f"{LRM}attached", "attached", f"{LRM}angehängt"):  # an old iOS
        rows = told(*(f"{n} <{word}>" for n in names), f"plan.pdf {LRM}<{word}>")
        assert [(k, m["file"]) for k, _, m in rows] == [*((k, n) for n, k in names.items()), ("file", "plan.pdf")]
    assert told("2016-06-01-PHOTO-5.jpg <adjunto>", "see a.jpg <b>", "a/b.jpg <attached>", "x <attached>") == [
        ("image", "2016-06-01-PHOTO-5.jpg <adjunto>", {"file": "2016-06-01-PHOTO-5.jpg"}),
        ("text", "see a.jpg <b>", {}), ("text", "a/b.jpg <attached>", {}), ("text", "x <attached>", {}),
    ]  # fmt: skip
    assert told("<adjunto: 00000035-PHOTO-1.jpg>", "<a: b.c>", "IMG-1.jpg (nice)", "(file attached)", marked=False) == [
        ("image", "<adjunto: 00000035-PHOTO-1.jpg>", {"file": "00000035-PHOTO-1.jpg"}),
        ("text", "<a: b.c>", {}),
        ("text", "IMG-1.jpg (nice)", {}),
        ("text", "(file attached)", {}),
    ]


def test_edit_marks() -> None:
    """The mark is taken off the text and told in meta, of one line or more, and of a file."""
    for phrase in phrases(E.EDITED):
        for form in (" <{}>", f" {LRM}<{{}}>", " <{}.>", "<{}>" + LRM):
            assert told("a < b > c\nd" + form.format(phrase)) == [("text", "a < b > c\nd", {"edited": True})]
    assert told(f"{LRM}<attached: 1-a.pdf> <This message was edited>") == [
        ("file", "<attached: 1-a.pdf>", {"file": "1-a.pdf", "edited": True})
    ]
    kept = ["<This message was edited> x", "I wrote <this>", "x <<This message was edited>>"]
    assert told(*kept) == [("text", k, {}) for k in kept]


def test_polls_places_events_and_calls() -> None:
    """Blocks are told by their first word or, in any language, by their options; a place has an address."""
    options = "\n{m}OPTION: tea ({m}2 votes)\n{m}OPTION: milk: cold ({m}1 vote)"
    for mark in ("", LRM):
        assert told(f"{mark}POLL:\nWhat?" + options.format(m=mark))[0][0] == "poll"
        assert told(f"{mark}UMFRAGE:\nWas?" + options.format(m=mark).replace("votes", "Stimmen"))[0][0] == "poll"
        wide = f"{mark}アンケート\uff1a\n何\n{mark}選択肢\uff1aお茶\uff082票\uff09\n{mark}選択肢\uff1a水\uff080票\uff09"
        assert told(wide)[0][0] == "poll"
        assert told(f"{mark}Location: https://maps.google.com/?q=1,2")[0][0] == "location"
    assert told(f"{LRM}EVENT:\nTea at five", "live location shared")[0][0] == "event"
    for event in ("EVENT:\nTea", "EVENT: Tea\nfive o'clock", f"{LRM}EVENT: Tea", f"{LRM}TAPAHTUMA:\nTee"):
        assert told(event)[0][0] == "event", event
    for text in ("event: who comes?\nall", "EVENT: Tea", "TAPAHTUMA:\nTee", "Event:"):
        assert told(text)[0][0] == "text", text
    calls = ["Missed voice call at 10:30", "Missed video call", f"{LRM}Voice call, {LRM}5 min"]
    assert [k for k, _, _ in told(*calls)] == ["call"] * 3
    texts = ["To buy:\ntea (2 packs)", "location: home", "video call", "Null", "poll: who comes?", "No answer"]
    assert [k for k, _, _ in told(*texts)] == ["text"] * len(texts)
    assert told("Missed voice call", speaks=False)[0][0] == "call"
    by = ["This message was deleted by an admin.", f"{LRM}This message was deleted by admin Ilse."]
    assert [k for k, _, _ in told(*by, "this message was deleted, why?")] == ["deleted", "deleted", "text"]


def test_named_places() -> None:
    """A place with a name is told by WhatsApp's link behind it, in the form of both phones; a pasted link is not."""
    link = "https://foursquare.com/v/" + "0a1b2c3d" * 3
    places = [f"The Mill (Mill Lane, Ely): {link}", f"The Old Mill\nMill Lane, Ely\n{link}", f"The Old Mill\n{link}"]
    assert [k for k, _, _ in told(*places)] == ["location"] * 3
    assert told(f"{LRM}{places[0]}\r")[0][0] == "location"
    texts = [link, f"look at {link}", f"{places[0]} nice", places[0].replace("/v/", "/x/"), places[0][:-1], "é" * 60]
    assert [k for k, _, _ in told(*texts)] == ["text"] * len(texts)


def test_deleted_by_admins() -> None:
    """What an admin deleted is told in other languages, and a sentence about a deleted message is none."""
    lines = ["Ce message a été supprimé par l’admin Ilse.", f"{LRM}Questo messaggio è stato eliminato da un admin."]
    assert [k for k, _, _ in told(*lines)] == ["deleted"] * 2
    assert told("Ce message a été supprimé par erreur")[0][0] == "text"


LINES = {  # what WhatsApp writes before the colon in a group's name, and without one
    "en": ['Ilse created group "a', 'Ilse changed the subject from "a', "Ilse added Bee", "You're now an admin"],
    "de": ['Ilse hat die Gruppe "a', "Ilse hat Bee hinzugefügt", "Nachrichten und Anrufe sind"],
    "fr": ["Ilse a créé le groupe «\u00a0a", "Ilse a ajouté Bee", "Les messages et les appels sont chiffrés"],
    "es": ['Ilse creó el grupo "a', "Ilse añadió a Bee", "Ilse cambió el asunto", "Los mensajes y las llamadas están"],
    "pt": ['Ilse criou o grupo "a', "Ilse adicionou Bee", "Ilse mudou a descrição", "As mensagens e as chamadas são"],
    "it": ['Ilse ha creato il gruppo "a', "Ilse ha aggiunto Bee", "I messaggi e le chiamate sono crittografati"],
    "nl": ['Ilse heeft groep "a', "Ilse heeft Bee toegevoegd", "Berichten en gesprekken worden end-to-end versleuteld"],
    "ru": ["Ilse создал(-а) группу «a", "Ilse добавил(-а) Bee", "Сообщения и звонки защищены"],
    "uk": ["Ilse створив групу «a", "Ilse додав Bee", "Повідомлення й дзвінки захищено"],
    "tr": ['Ilse "a', "Ilse Bee kişisini ekledi", "Mesajlar ve aramalar uçtan uca"],
    "ar": ["Ilse أنشأ المجموعة", "Ilse أضاف Bee", "الرسائل والمكالمات مشفرة"],
    "id": ["Ilse membuat grup", "Ilse menambahkan Bee", "Pesan dan panggilan terenkripsi"],
    "ja": ["Ilseがグループ「a", "IlseがBeeを追加しました", "メッセージと通話は"],
    "zh": ["Ilse创建了群组“a", "Ilse添加了Bee", "消息和通话都进行端到端加密"],
}  # fmt: skip


def test_lines_that_nobody_says() -> None:
    """Before a colon stands a name, or the beginning of a line of WhatsApp's own; people's sentences stay text."""
    for lines in LINES.values():
        assert [line for line in lines if not W.is_system(line)] == []
    names = ["Ilse", "+1 234", "Tomas Orr", 'Bob "the hat" Ray', "\u202a+66\u00a093\u202c", "Ann: B", "Anda Popescu",
             "Leftwing Larry", "Adder", "~\u202fUma", "علي", "李雷", "Payam پیام"]  # fmt: skip
    assert [n for n in names if W.is_system(n)] == []
    sentences = [
        "who added you to the group?",
        "Ilse added Bee",
        "you changed the subject",
        "I left",
        "joined via link",
    ]
    assert {k for k, _, _ in told(*sentences)} == {"text"}
    assert {k for k, _, _ in told(*(LRM + s for s in ("Ilse added Bee", "You created this group")))} == {"system"}
    assert told("anything", speaks=False)[0][0] == "system"
    assert told(f"{LRM}You received a view once photo. For added privacy, open it on your phone.")[0][0] == "file"


PIECES = [
    LRM, "\u200f", "<", ">", "(", ")", "\uff08", "\uff09", ":", "\uff1a", "\n", "\r", " ", "\u00a0", "\u202f",
    ".", "\u3002", ",", " at 1", "5 min", "x", "é", "image omitted", "Media omitted", "null", "file attached", "a.jpg",
    " by me", "IMG-20240513-WA0001.jpg", "attached: a.vcf",
    "missed voice call", "This message was deleted", "This message was edited", "POLL", "OPTION: a (1 vote)",
    "location: https://x", "https://foursquare.com/v/" + "0a1b2c3d" * 3, "फ़ोटो हटाई गई", "Ilse added Bee", "\ufeff",
    "電", "Zmeškaný hovor", "attached", "00012-b.png",
]  # fmt: skip
SAID = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)


@given(st.lists(st.tuples(SAID, st.booleans()), max_size=6))
def test_the_quick_look_loses_nothing(messages) -> None:
    """What the kernel lets pass as plain text is what a reading of every message, without patterns, says."""
    said = [s for s, _ in messages]
    array = pa.array(["", *said], pa.large_string())[1:]
    kinds, texts, metas = W.recognise(array, np.array([a for _, a in messages], np.bool_))
    got = list(zip(kinds.to_pylist(), texts.to_pylist(), metas or ["{}"] * len(said), strict=True))
    assert got == twins.whatsapp_kinds.whatsapp(messages)


def test_placeholders_by_language(shared) -> None:
    """Every placeholder of sixteen languages gets its kind, behind its mark."""
    kinds = {"image": "image", "video": "video", "audio": "audio", "contact": "contact", "sticker": "sticker",
             "some": "file", "template.docx": "file", "gif": "gif", "you": "deleted", "this": "deleted",
             "location:": "location", "messages": "system"}  # fmt: skip
    table = json.loads((shared / "chats" / "whatsapp" / "placeholders_by_language.json").read_text())
    assert len(table) == 13
    for english, said in table.items():
        rows = told(*said.values())
        assert {k for k, _, _ in rows} == {kinds.get(english.lower().split(" ")[0], "file")}, english


def test_no_placeholder_is_taken_for_text(shared) -> None:
    """One chat in every language of the exports: the same messages are text in all of them."""
    seen = {"ios": set(), "android": set()}
    for path in sorted((shared / "chats" / "whatsapp" / "languages").glob("*.txt")):
        lines = path.read_text().split("\n")
        said = [line.partition(": ")[2] for line in lines if " Dmitry S: " in line or " Elon" in line]
        phone = "android" if "android" in path.name else "ios"
        seen[phone].add(tuple(t for k, t, _ in told(*said, marked=phone == "ios") if k == "text"))
    assert [len(texts) for texts in seen.values()] == [1, 1]
    assert all("Hello World" in next(iter(texts)) for texts in seen.values())


@pytest.mark.parametrize("n", [0, 1])
def test_few_messages(n) -> None:
    """No message at all, and one."""
    kinds, texts, metas = W.recognise(pa.array(["x"] * n, pa.large_string()), np.ones(n, np.bool_))
    assert (kinds.to_pylist(), texts.to_pylist(), metas) == (["text"] * n, ["x"] * n, None)
    assert kinds.type == pa.string()
