"""Hostile files and folders in every command: one sentence, the exit code 1, and nothing of the user's is changed."""

from __future__ import annotations

import os

import pytest

PLACES = {
    "a file": "file", "below a file": "file/x", "a dangling link": "dangling", "below it": "dangling/x",
    "a loop": "loop", "bytes": "bytes", "escapes": "a\x1b[31m*b[?::\nx", "not utf-8": "b\udcffad",
    "nothing": "none\x1b[31m[?", "long": "x" * 300,
}  # fmt: skip
COMMANDS = """init @|run @|plan @|inspect @|report @|why @ 1|clusters @|diff @ @|search @ x|train-tokenizer @ --out new
extend-tokenizer @ --out new --special <x>|tokenizer-stats @ @|show @|export @ --to llm.c --out new|import @ --out new
train @ --out new|evaluate @|chat @ --say x|generate @|export-model @ --out new|train-ngram @ --out new
perplexity @ --model @|train-langid @ --out new|train-quality --positive @ --negative @ --out new|people @|verify @
forget @ --ids 1|prune @|threshold @ 0.8""".replace("\n", "|").split("|")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda line: line.partition(" ")[0])
def test_a_hostile_place_is_one_sentence(dataprep, tmp_path, monkeypatch, command):
    """Each command meets three of the places; together they meet all."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "bytes").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / PLACES["not utf-8"]).write_bytes(b"\0\xff")
    (tmp_path / PLACES["escapes"] / "data").mkdir(parents=True)
    before = sorted(os.listdir(tmp_path))
    k = COMMANDS.index(command)
    for name in [list(PLACES)[(k + step) % len(PLACES)] for step in (0, 3, 6)]:
        if command == "prune @" and name == "escapes":
            continue  # it has nothing to remove
        code, out, err = dataprep(*(PLACES[name] if word == "@" else word for word in command.split()))
        assert (code, len(err.strip().splitlines())) == (1, 1), (name, out, err)
        assert "\x1b[31m" not in out + err
        assert "Traceback" not in err
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "file").read_text() == "mine"
