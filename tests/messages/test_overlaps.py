"""Two exports of one chat become one: no message twice, none that was sent twice lost."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
import twins.overlaps
from dataprep.core.model import batch as B
from dataprep.messages import match_exports
from dataprep.messages.overlaps import Overlaps
from dataprep.messages.repeated import find_repeated

SCHEMA = pa.schema(
    [("chat", pa.string()), ("author", pa.string()), ("time", pa.timestamp("s")), ("kind", pa.string()),
     ("text", pa.large_string())]
)  # fmt: skip


def pairs(files, rows):
    repeated, kept = find_repeated(np.array(files, np.int64), pa.Table.from_pylist(rows, SCHEMA))
    return list(zip(repeated.tolist(), kept.tolist(), strict=True))


@st.composite
def exports(draw):
    """Rows of up to four files, each in its order, of two chats within two minutes."""
    one = st.fixed_dictionaries(
        {
            "chat": st.sampled_from(["a", "b", None]),
            "author": st.sampled_from(["x", None]),
            "time": st.sampled_from([None, 0, 60, 61, 119, 120]),
            "kind": st.sampled_from(["text", "image", "file"]),
            "text": st.sampled_from(["", "ok", "<Media omitted>\nok", "I.jpg (file attached)\nok"]),
        }
    )
    rows = draw(st.lists(st.tuples(st.integers(0, 3), one), max_size=25))
    rows.sort(key=lambda r: r[0])
    return [f for f, _ in rows], [r for _, r in rows]


@given(exports())
def test_the_rule(made) -> None:
    """The fast pairing is that of the slow twin; each row is dropped once, for a row that is kept."""
    found = pairs(*made)
    assert set(found) == twins.overlaps.doubles(*made)
    assert len({d for d, _ in found}) == len(found)
    assert not {d for d, _ in found} & {s for _, s in found}


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["ok", "no"]), st.sampled_from([0, 61])), max_size=20))
def test_the_merged_count_is_the_maximum(said) -> None:
    """A message that is n times in one export and m times in another is kept max(n, m) times."""
    said = sorted(said, key=lambda s: s[0])
    said = [(f, "mark", 31) for f in range(3)] + said  # every file has seconds
    said.sort(key=lambda s: s[0])
    rows = [{"chat": "a", "author": "x", "time": t, "kind": "text", "text": text} for _, text, t in said]
    dropped = {d for d, _ in pairs([f for f, _, _ in said], rows)}
    left = Counter((text, t) for k, (_, text, t) in enumerate(said) if k not in dropped)
    want: Counter = Counter()
    for file in range(3):
        want |= Counter((text, t) for f, text, t in said if f == file)
    assert left == want


LATE = (
    "13/05/2024, 09:14 - Ada: ok\n13/05/2024, 09:14 - Ada: ok\n13/05/2024, 09:15 - Bo: IMG-1.jpg (file attached)\nhi\n"
)
PHONE = """\
13/05/2024, 09:12 - Ada: first
13/05/2024, 09:14 - Ada: ok
13/05/2024, 09:15 - Bo: <Media omitted>
hi
"""
IOS = """\
[13/05/2024, 09:14:01] Ada: ok
[13/05/2024, 09:14:31] Ada: ok
[13/05/2024, 09:16:02] Bo: last
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in (("1", PHONE), ("2", LATE), ("3", IOS)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "WhatsApp Chat with Tea.txt").write_text(text)
    return tmp_path


def test_read_messages_merges(folder, caplog) -> None:
    """Exports with and without seconds and media are one table, and the log says how many were in two."""
    rows = dp.chats.read(str(folder)).to_pylist()
    said = [(r["time"].strftime("%H:%M:%S"), r["author"], r["text"]) for r in rows]
    assert said == [
        ("09:12:00", "Ada", "first"),
        ("09:14:01", "Ada", "ok"),
        ("09:14:31", "Ada", "ok"),
        ("09:15:00", "Bo", "<Media omitted>\nhi"),
        ("09:16:02", "Bo", "last"),
    ]
    assert "4 messages are in two exports" in caplog.text
    assert len(dp.chats.read(str(folder), merge=False)) == 9


def test_the_estimator(folder, tmp_path) -> None:
    """Overlaps drops the same messages, names the one that is kept, and leaves other chats alone."""
    (folder / "4").mkdir()
    (folder / "4" / "WhatsApp Chat with Bee.txt").write_text(PHONE.replace("ok", "no").replace("first", "else"))
    docs = dp.read(str(folder))
    sealed = dp.Pipeline(Overlaps()).run(docs, out=f"{tmp_path}-out")
    rows = {r["id"]: r for r in docs.table().to_pylist()}
    drops = sealed.drops().to_pylist()
    assert {d["reason"] for d in drops} == {"in_two_exports"}
    assert [(rows[d["id"]]["text"], rows[d["duplicate_of"]]["text"]) for d in drops] == [
        ("ok", "ok"),
        ("ok", "ok"),
        ("ok", "ok"),
        ("IMG-1.jpg (file attached)\nhi", "<Media omitted>\nhi"),
    ]
    assert sealed.manifest.fits[0] == {"stage": "Overlaps", "documents": 12, "shared": 7, "dropped": 4}
    one = dp.Pipeline(Overlaps()).run(dp.read(str(folder / "4")), out=str(tmp_path / "one"))
    assert one.count == 3


def said(*texts, first=0):
    """An export in which Ada says something every minute."""
    return "".join(f"13/05/2024, 09:{first + k:02} - Ada: {text}\n" for k, text in enumerate(texts))


def test_exports_of_other_names(tmp_path, caplog) -> None:
    """Two files that share most of what was said in one time are one chat; a few words that are sent around are not."""
    week = [f"message {k}" for k in range(12)]
    (tmp_path / "Tea.txt").write_text(said(*week[:8]))
    (tmp_path / "Tea (1).txt").write_text(said(*week[5:], first=5))
    (tmp_path / "Zed.txt").write_text(said(*week[:2], *(f"other {k}" for k in range(20))))
    table = dp.chats.read(str(tmp_path))
    chats = table.to_pylist()
    assert [r["text"] for r in chats if r["chat"] == "Tea (1)"] == week
    assert sum(r["chat"] == "Zed" for r in chats) == 22
    assert "Tea is now Tea (1)" in caplog.text
    sealed = dp.Pipeline(Overlaps()).run(dp.read(str(tmp_path)), out=f"{tmp_path}-out")
    assert sealed.count == 34
    assert sealed.manifest.fits[0]["shared"] == 6


@pytest.mark.parametrize("overlap", [True, False])
def test_long_exports_are_sampled(monkeypatch, overlap) -> None:
    """Sketches of a sample of messages tell one chat from two."""
    monkeypatch.setattr(match_exports, "SKETCH", 200)
    n = 2_000

    def export(file, first):
        ids = np.arange(n, dtype=np.uint64) + np.uint64(file << 40)
        times = pa.array((np.arange(n) + first) * 60, pa.timestamp("s"))
        texts = [f"message {k if file == 0 or overlap else -k}" for k in range(first, first + n)]
        columns = {"chat": pa.array([f"c{file}"] * n), "author": pa.array(["x", "y"] * (n // 2)), "time": times}
        return B.make(ids, texts, "s", columns=columns)

    spans = match_exports.spans_of([export(0, 0), export(1, n // 2)])
    assert max(span.sketch.shape[1] for span in spans.values()) == 200
    assert len(set(match_exports.chat_names(spans).values())) == (1 if overlap else 2)


def chat_of(root, contact, told, answers, step=60):
    """Write a chat with `contact` in which Mae says `told`, and the contact answers a minute later."""
    lines = []
    for k, (one, other) in enumerate(zip(told, answers, strict=True)):
        minute = k * step
        for who, text, at in (("Mae Holt", one, minute), (contact, other, minute + 1)):
            lines.append(f"{13 + at // 1440}/05/2024, {at // 60 % 24:02}:{at % 60:02} - {who}: {text}\n")
    root.mkdir(exist_ok=True)
    (root / f"WhatsApp Chat with {contact}.txt").write_text("".join(lines))


def counted(root):
    rows = dp.chats.read(str(root)).to_pylist()
    return {chat: sum(r["chat"] == chat for r in rows) for chat in sorted({r["chat"] for r in rows})}


def test_what_one_sends_to_two_people_is_kept(tmp_path) -> None:
    """Equal messages of one author, or short answers that happen to be equal, do not make two chats one."""
    told = ["Happy new year", "We moved", "New number", "a", "b"]
    for contact in ("Ann Lee", "Bob Ray"):
        chat_of(tmp_path / "news", contact, [*told[:3], *(f"{contact} {x}" for x in "ab")], [contact] * 5)
        chat_of(tmp_path / "ok", contact, ["ok"] * 20, [f"answer of {contact} {k}" for k in range(20)])
        chat_of(tmp_path / "all ok", contact, ["ok"] * 20, ["ok"] * 20)
    assert counted(tmp_path / "news") == {"Ann Lee": 10, "Bob Ray": 10}
    assert counted(tmp_path / "ok") == counted(tmp_path / "all ok") == {"Ann Lee": 40, "Bob Ray": 40}


def test_a_chat_exported_under_two_names_is_found(tmp_path) -> None:
    """The chat of a contact who was renamed is one chat: Mae's messages are kept once."""
    for contact in ("Ann Lee", "Annie"):
        chat_of(tmp_path, contact, [f"question {k}" for k in range(20)], [f"answer {k}" for k in range(20)])
    assert list(counted(tmp_path).values()) == [60]  # Mae's 20, and the contact's 20 under each name
