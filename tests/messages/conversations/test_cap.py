"""CapRepeats: how often repeated exchanges are learned, and which occurrences."""

from __future__ import annotations

import collections
import datetime as dt
import random

import pytest

import dataprep as dp
import laws
from dataprep.messages.conversations.cap import CapRepeats


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    """A chat of 300 exchanges; the k-th of nine habits is in it k^2 / 2 times or so, between others."""
    rng, now, lines = random.Random(2), dt.datetime(2024, 3, 1, 9), []
    for number in range(300):
        now += dt.timedelta(minutes=rng.choice((1, 90)))
        habit = rng.choices(range(12), range(12))[0]
        pair = (f"tea {habit}?", f"always, {habit % 3}") if habit < 9 else (f"news {number}", f"no, {number}")
        lines += [f"{now:%d/%m/%Y, %H:%M} - {who}: {text}" for who, text in zip(("Ilse", "Tom"), pair, strict=True)]
    path = tmp_path_factory.mktemp("chats") / "WhatsApp Chat with Ilse.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return dp.read(str(path))


def exchanges(windows):
    """(question, answer, weight) of every answer, in order."""
    table = windows.table(["id", "messages"]).sort_by("id")
    for row in table["messages"].to_pylist():
        for k, m in enumerate(row):
            if m["role"] == "assistant":
                yield row[k - 1]["content"] if k else "", m["content"], m["weight"]


def test_the_root_of_the_count_is_learned(docs, tmp_path):
    """Occurrences 1, 2, 5, 10, 17 ... keep their weight, the others lose it; windows without any are dropped."""
    turns = dp.chats.Turns(person="Tom", context=2)
    plain = dp.Pipeline(turns).run(docs, out=str(tmp_path / "plain"))
    capped = dp.Pipeline(turns, CapRepeats()).run(docs, out=str(tmp_path / "capped"))
    n, expected = collections.Counter(), []
    for question, answer, weight in exchanges(plain):
        if weight:
            if n[question, answer] in (0, 1, 4, 9, 16, 25, 36, 49, 64):
                expected.append((question, answer))
            n[question, answer] += 1
    assert [(q, a) for q, a, weight in exchanges(capped) if weight] == expected
    assert max(n.values()) > 25
    stats = capped.stats["CapRepeats"]
    assert stats.counts == {"answers.capped": sum(n.values()) - len(expected)}
    assert stats.reasons == {"capped": plain.count - capped.count}
    assert 0 < capped.count < plain.count
    listed = capped.table(["capped", "messages"]).to_pylist()
    assert all(row["messages"][k]["weight"] == 0 for row in listed for k in row["capped"])
    again = dp.Pipeline(turns, CapRepeats()).run(docs, out=str(tmp_path / "local"), runner=laws.TWO)
    assert again.key == capped.key != plain.key
    laws.same_bytes(tmp_path / "capped", tmp_path / "local")


def test_held_out_windows_are_neither_counted_nor_changed(docs, tmp_path):
    """With the column `side`, only windows of the training side are capped, and only they count."""
    stages = dp.chats.Turns(person="Tom"), dp.Split(val=0.4, group="conversation")
    plain = dp.Pipeline(*stages).run(docs, out=str(tmp_path / "plain"))
    capped = dp.Pipeline(*stages, CapRepeats()).run(docs, out=str(tmp_path / "capped"))
    wanted, n = [], collections.Counter()
    for row in plain.table(["id", "messages", "side"]).sort_by("id").to_pylist():
        for question, answer in zip(row["messages"][::2], row["messages"][1::2], strict=True):
            pair = question["content"], answer["content"]
            learned = row["side"] or (answer["weight"] and n[pair] in (0, 1, 4, 9, 16, 25, 36))
            wanted += [(row["id"], pair)] if learned and answer["weight"] else []
            n[pair] += answer["weight"] if not row["side"] else 0
    found = [
        (row["id"], (question["content"], answer["content"]))
        for row in capped.table(["id", "messages"]).sort_by("id").to_pylist()
        for question, answer in zip(row["messages"][::2], row["messages"][1::2], strict=True)
        if answer["weight"]
    ]
    assert found == wanted


def test_key_and_pickle():
    """The Estimator travels, and its key is stable."""
    laws.key_and_pickle_are_stable(CapRepeats())
