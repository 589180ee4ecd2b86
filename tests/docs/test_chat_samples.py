"""The sample chats of every platform: as read, as joined, and from exports to a model by pipelines/chat.py."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

import dataprep as dp
from dataprep import pipeline_file
from dataprep.core.run.runner import Serial
from dataprep.messages.overlaps import Overlaps
from dataprep.read.formats import PLATFORMS, sniffed

LINE = "[{time:%d.%m.%Y %H:%M}] <{author}> {text}"
NO_SAMPLE = ("line", "kakaotalk", "sms", "imessage", "slack")  # their samples are in tests/read/chats
PRIVATE = (
    "Nadia", "Karim", "Samira", "Youness", "Ilse", "Tomas", "Noor", "Greta", "Marek", "Oriel", "نادية", "يونس",
    "@example.org", "0639981234", "06 39 98", "sample_data",
)  # fmt: skip


@pytest.fixture(scope="module")
def expected(samples):
    """What the scripts say, counted without reading an export."""
    return json.loads((samples / "EXPECTED.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def messages(samples):
    """All samples of all platforms, as rows; two exports of one chat are one."""
    log = dp.chats.read(str(samples / "chat_log.txt"), platform="chat", line=LINE)
    return [*dp.chats.read(str(samples / "chats")).to_pylist(), *log.to_pylist()]


def test_every_platform_is_there(samples) -> None:
    """The first bytes of each sample tell its platform; one needs its form, and others have samples in their tests."""
    found = {getattr(sniffed(str(p)), "name", None) for p in (samples / "chats").rglob("*") if p.is_file()}
    assert found | {"chat", *NO_SAMPLE} == set(PLATFORMS)
    assert sniffed(str(samples / "chat_log.txt")) is None


def test_chats_are_read_as_they_were_written(messages, expected) -> None:
    """Of every chat, all messages by kind and author, and the answers that its platform tells."""
    assert {row["chat"] for row in messages} == set(expected["chats"])
    for chat, told in expected["chats"].items():
        rows = [row for row in messages if row["chat"] == chat]
        by_people = [row["author"] for row in rows if row["author"] and row["kind"] != "system"]
        assert len(rows) == told["messages"], chat
        assert Counter(row["kind"] for row in rows) == told["kinds"], chat
        assert Counter(by_people) == told["authors"], chat
        assert sum(row["reply_to"] is not None for row in rows) == told["replies"], chat


def test_conversations_and_overlaps(samples, expected, tmp_path) -> None:
    """Overlaps are dropped, and an hour of silence ends a conversation; the plain definitions agree."""
    docs = dp.read(str(samples / "chats"))
    clean = dp.Pipeline(Overlaps(), dp.chats.Conversations(gap="1h", replies=False)).run(
        docs, out=str(tmp_path / "out")
    )
    assert clean.stats["Overlaps"].reasons == {"in_two_exports": expected["in_two_exports"]}
    found = Counter(clean.table(["chat"])["chat"].to_pylist())
    assert found == {chat: told["conversations"] for chat, told in expected["chats"].items() if chat != "chat_log"}


def test_from_exports_to_a_model(root, expected, tmp_path, monkeypatch) -> None:
    """Every step runs; forwards go once, nobody's name or number is in any file, and the report shows the chats."""
    pytest.importorskip("torch")
    steps = pipeline_file.load(str(root / "pipelines" / "chat.py"))
    chat = sys.modules[steps[0].fn.__module__]
    monkeypatch.setattr(chat, "SETTINGS", ["steps=2"])
    out = tmp_path / "chat"
    done = {d.name: d.result for d in pipeline_file.execute(steps, str(out), Serial())}
    assert list(done) == [
        "ingest", "filter", "dedup_minhash", "conversations", "tokenizer", "encode", "train", "report",
    ]  # fmt: skip
    texts = done["dedup_minhash"].table(["text"])["text"].to_pylist()
    for group in expected["forwards"]:
        assert sum(text[20:60] in one for one in texts for text in group[:1]) == 1, group[0]
    assert done["dedup_minhash"].stats["MinHash"].reasons == {"near_duplicate": 5}
    assert len(done["encode"]) == done["conversations"].count
    counts = done["filter"].stats["MessageStats"].counts
    assert counts["kind.text"] > 400
    assert all(counts[f"language.{label}"] > 10 for label in ("ary", "ary_Latn", "ar", "fr", "en"))
    page = Path(done["report"]).read_text(encoding="utf-8")
    assert "Messages by author" in page
    _check_private(out)


def test_the_course(root, tmp_path, monkeypatch, dataprep) -> None:
    """From the sample chats to two models, shortened: both are trained once, nobody is named, and the model answers."""
    pytest.importorskip("torch")
    from dataprep.inference.tune import Tuning

    steps = pipeline_file.load(str(root / "pipelines" / "course.py"))
    course = sys.modules[steps[0].fn.__module__]
    monkeypatch.setattr(course, "HOW", Tuning(settings=("steps=3", "model.n_layers=1")))
    out = tmp_path / "course"
    done = {d.name: d.result for d in pipeline_file.execute(steps, str(out), Serial())}
    assert list(done) == ["persona", "finetune"]
    assert done["persona"].answers > 50
    assert "loss on held-out answers" in str(done["finetune"])
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*.pt")}
    assert len(before) == 2
    list(pipeline_file.execute(steps, str(out), Serial()))
    assert before == {p: p.stat().st_mtime_ns for p in before}
    code, said, _ = dataprep("chat", out / "finetune" / "model", "--say", "are you there?", "--max-tokens", 5)
    assert (code, said != "") == (0, True)
    _check_private(out)


def _check_private(out: Path) -> None:
    """No name, number or place of the input is in any file that the steps left, however it is packed."""
    import pyarrow.parquet as pq

    for place in (p for p in out.rglob("*") if p.is_file() and p.suffix not in {".bin", ".pt"}):
        said = place.read_bytes().decode("utf-8", "replace")
        if place.suffix == ".parquet":
            said = str(pq.read_table(place).to_pylist()) + str(pq.read_schema(place).metadata)
        assert not [name for name in PRIVATE if name in said], place


def test_own_chats_and_refusals(root, samples, tmp_path, monkeypatch) -> None:
    """CHATS names other exports, CHATS_REFUSED a list of those whose messages are dropped, CHATS_KEY a key."""
    (tmp_path / "refused.txt").write_text("tomas orr\n")
    (tmp_path / "people.key").write_text("0123456789abcdef" * 2)
    for name, value in (
        ("CHATS", samples / "chats" / "telegram"), ("CHATS_REFUSED", tmp_path / "refused.txt"),
        ("CHATS_KEY", tmp_path / "people.key"),
    ):  # fmt: skip
        monkeypatch.setenv(name, str(value))
    steps = pipeline_file.load(str(root / "pipelines" / "chat.py"))
    first, again = (
        next(iter(pipeline_file.execute(steps, str(tmp_path / name), Serial(), to="ingest"))).result for name in "ab"
    )
    assert first.table().equals(again.table())
    assert first.stats["Pseudonyms"].reasons["no_consent"] > 15
    assert len(set(first.table(["author"])["author"].to_pylist()) - {None}) == 5


def test_a_dry_run_draws_and_writes_nothing(root, dataprep, tmp_path, monkeypatch) -> None:
    """`--dry-run` says what every step would drop and change, and draws the chats; no file is left."""
    monkeypatch.chdir(tmp_path)
    code, said, _ = dataprep("run", root / "pipelines" / "chat.py", "--dry-run", "--to", "conversations")
    assert code == 0
    for words in ("in_two_exports", "pii.email", "Messages by author", "near_duplicate", "joined"):
        assert words in said, words
    assert "clock." not in said
    assert not list(tmp_path.iterdir())
