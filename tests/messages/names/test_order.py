"""Pseudonyms and Consent are refused where earlier stages have hidden authors or messages from them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import dataprep as dp
import laws
from dataprep.errors import Leak, PlanError
from dataprep.messages.conversations.turns import Turns

KEY = b"a key of enough bytes"
ROWS = [("Orsolya Quist", "hello Tibor"), ("Tibor Halvane", "Orsolya Quist, no"), ("Wendeline Ruk", "")]
FIRST = {
    "conversations": (dp.chats.Conversations(), "put Pseudonyms before Conversations"),
    "turns": (Turns(person="Tibor Halvane"), "put Pseudonyms before Turns"),
    "cleaned": (dp.chats.CleanMessages(), "put Pseudonyms before CleanMessages"),
    "consent": (dp.chats.Consent(allowed=["Tibor Halvane"]), r"pass it as Pseudonyms\(consent=Consent\(...\)\)"),
}


def chat(folder):
    rows = [{"text": text, "chat": "a", "author": author, "kind": "text"} for author, text in ROWS]
    docs = laws.dataset_of(folder, rows, strings=("chat", "author", "kind"))
    path = folder / "chat.txt"
    path.write_text("".join(f"03/05/2024, 09:1{i} - {a}: {t}\n" for i, (a, t) in enumerate(ROWS)), encoding="utf-8")
    return docs, dp.read(str(path))


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("how", ["one pipeline", "pending", "a folder", "two folders"])
def test_pseudonyms_must_see_every_author(tmp_path, first, how):
    """Refused in the same pipeline, after a pending stage, and on the folder of another pipeline."""
    _, docs = chat(tmp_path)
    stage, said = FIRST[first]
    stages = [dp.chats.Pseudonyms(key=KEY, pii=True)]
    if how == "one pipeline":
        stages = [stage, *stages]
    elif how == "pending" and not hasattr(stage, "fit"):
        docs = docs.then(stage)
    else:
        docs = dp.Pipeline(stage).run(docs, out=str(tmp_path / "one"))
        if how == "two folders":
            docs = dp.Pipeline(dp.Exact()).run(docs, out=str(tmp_path / "two"))
    with pytest.raises(PlanError, match=f"would not see all authors; {said}"):
        dp.Pipeline(*stages).run(docs, out=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_joined_messages_of_another_origin(tmp_path):
    """A folder whose manifest does not state what was lost has only the columns of conversations."""
    _, docs = chat(tmp_path)
    talks = dp.Pipeline(dp.chats.Conversations()).run(docs, out=str(tmp_path / "one"))
    talks = replace(talks, manifest=replace(talks.sealed, lost={}))
    with pytest.raises(PlanError, match="needs single messages.*'n_messages'"):
        dp.Pipeline(dp.chats.Pseudonyms(key=KEY)).run(talks, out=str(tmp_path / "out"))


def test_consent_must_see_single_messages(tmp_path):
    """In a conversation, what a refused person wrote would stay under another author."""
    _, docs = chat(tmp_path)
    with pytest.raises(PlanError, match="Consent after Conversations would not see all messages; put Consent before"):
        dp.Pipeline(dp.chats.Conversations(), dp.chats.Consent(refused=["Tibor Halvane"])).run(
            docs, out=str(tmp_path / "out")
        )


def test_the_right_order(tmp_path):
    """Pseudonyms before all of them; two lists of consent, one after the other."""
    docs, _ = chat(tmp_path)
    consent = dp.chats.Consent(allowed=["Tibor Halvane"])
    stages = dp.chats.Pseudonyms(key=KEY, consent=consent), dp.chats.CleanMessages()
    safe = dp.Pipeline(*stages).run(docs, out=str(tmp_path / "safe"))
    assert safe.manifest.lost["authors"][0] == "CleanMessages"
    assert "Orsolya" not in str(safe.table().to_pylist())
    both = dp.Pipeline(dp.chats.Consent(refused=["Wendeline Ruk"]), consent).run(docs, out=str(tmp_path / "both"))
    assert both.table()["author"].to_pylist() == ["Tibor Halvane"]


@pytest.mark.parametrize("refused", ["Wendeline", "wendeline ruk"])
def test_a_refused_name_that_is_a_part_of_another_author(tmp_path, refused):
    """The other author's name is no leak; without that author, the name in a text still is."""
    rows = [(refused, "hello"), ("Wendeline Ruk Halvane", "who?"), ("Tibor", f"ask {refused}")]
    rows = [{"text": text, "chat": "a", "author": author, "kind": "text"} for author, text in rows]
    consent = dp.Pipeline(dp.chats.Consent(refused=[refused]))
    docs = laws.dataset_of(tmp_path, rows, strings=("chat", "author", "kind"))
    left = consent.run(docs, out=str(tmp_path / "out")).table()
    assert left["author"].to_pylist() == ["Wendeline Ruk Halvane", "Tibor"]
    (tmp_path / "other").mkdir()
    docs = laws.dataset_of(tmp_path / "other", [rows[0], rows[2]], strings=("chat", "author", "kind"))
    with pytest.raises(Leak):
        consent.run(docs, out=str(tmp_path / "leak"))
