"""`dataprep chat` and `dataprep generate`: in a pipe, and in a terminal with Ctrl-C and Ctrl-D."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import select
import subprocess
import sys
import time

import pytest

pytest.importorskip("torch")

from dataprep import cli
from dataprep.cli.chat import _why_fragments
from dataprep.inference import terminal
from dataprep.inference.chat_model import ChatModel
from dataprep.inference.conversation import Conversation
from dataprep.train import Sampling, generation


def test_lines_from_a_pipe(trained, dataprep, monkeypatch):
    """Answers go to stdout, one a line; card, notes and wrong commands to stderr; bytes may be no text."""
    said = (
        "are you there?\n\n/regen\n/system be brief\n/reset\n/dance\nis it cold?\n/help\n"
        "\x80\x81\n/quit\ngood night\n"
    )  # fmt: skip
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said.encode("latin-1"))))
    code, out, err = dataprep("chat", trained["chatml"], "--temperature", 0, "--max-tokens", 12)
    assert code == 0
    lines = out.splitlines()
    assert lines[:2] == ["always", "always"]
    assert lines[2].startswith("put on the other coat")
    assert len(lines) == 4
    assert "150 steps" in err
    assert "/dance is not a command; it must be one of /reset, /system, /regen, /help, /quit" in err
    assert "another answer to your last message" in err
    assert "sleep well" not in out


def test_what_is_said_on_the_command_line(trained, dataprep):
    """--say prints answers to several turns and leaves; --system precedes them; the same seed is the same text."""
    given = ("chat", trained["course"], "--say", "good night", "--say", "are you there?", "--temperature", 0)
    code, out, err = dataprep(*given)
    assert (code, out, err) == (0, "sleep well\nalways\n", "")
    warm = [*given[:-1], 2.5, "--seed", 7, "--top-p", 0.9, "--min-p", 0.01]
    assert dataprep(*warm) == dataprep(*warm)
    code, _, err = dataprep("chat", trained[None])
    assert code == 1
    assert "use `dataprep generate`" in err
    code, _, err = dataprep("chat", trained["chatml"].parent / "nothing")
    assert code == 1
    assert "does not exist" in err


@pytest.mark.parametrize(
    "words", [("chat", "--say", "is it cold?"), ("generate", "--prompt", "نعم")], ids=["chat", "sample"]
)
def test_a_stdout_that_is_not_unicode(trained, words, monkeypatch):
    """Characters that its encoding lacks are question marks."""
    place = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(place, encoding="ascii"))
    command, *rest = words
    monkeypatch.setattr(sys, "argv", ["dataprep", command, str(trained["chatml"]), *rest, "--temperature", "0"])
    with contextlib.suppress(SystemExit):
        cli.main()
    sys.stdout.flush()
    assert b"?" in place.getvalue()
    if command == "chat":
        assert place.getvalue() == b"put on the other coat ?\n"


def test_sample(trained, dataprep):
    """Each prompt is printed and continued; without one a text begins; wrong settings are one sentence."""
    prompts = ("--prompt", "good night", "--prompt", "salam \x1b[2J")
    code, out, err = dataprep("generate", trained["chatml"], *prompts, "--seed", 3)
    assert code == 0
    n = sum(found["tokens"] for found in ChatModel.load(trained["chatml"]).saved["trained_on"].values())
    assert f"this model was trained on only {n:,} tokens, so it writes fragments" in err
    large = {"trained_on": {"": {"tokens": 30_000_000}}}
    few = {"trained_on": {"": {"tokens": 30_000}}, "start": "the hash of another model"}
    assert [_why_fragments(saved) for saved in (large, few, {})] == [""] * 3
    first, second = out.split("\n\n", maxsplit=1)
    assert first.startswith("good night")
    assert second.startswith("salam \ufffd[2J")
    assert dataprep("generate", trained[None], "--max-tokens", 5, "--top-k", 3, "--repetition-penalty", 1.3)[0] == 0
    code, _, err = dataprep("generate", trained["chatml"], "--top-p", 2)
    assert code == 1
    assert "--top-p 2.0 must be above 0 and at most 1" in err


def test_memory_that_runs_out(trained, monkeypatch, capsys):
    """The answer is one sentence on stderr, and the next one is made."""
    voice, target, made = ChatModel.load(trained["chatml"]), io.StringIO(), generation.next_logits
    fails = iter([True])

    def next_logits(*given):
        if next(fails, False):
            msg = "[enforce fail at alloc_cpu.cpp:75] DefaultCPUAllocator: can't allocate memory"
            raise RuntimeError(msg)
        return made(*given)

    monkeypatch.setattr(generation, "next_logits", next_logits)
    terminal.chat(Conversation(voice, Sampling(temperature=0)), io.StringIO("good night\ngood night\n"), target)
    assert target.getvalue() == "sleep well\n"
    said = capsys.readouterr().err
    assert said.endswith("out of memory on device='cpu': shorten the prompt, or end other programs\n")


class Broken(io.StringIO):
    """A pipe whose reader left."""

    def write(self, text):
        raise BrokenPipeError

    def fileno(self):
        return os.dup(1)


def test_nobody_reads(trained):
    """A reader that leaves, as `| head -1` does, ends the conversation without an error."""
    saved = os.dup(1)
    try:
        terminal.chat(Conversation(ChatModel.load(trained["chatml"])), io.StringIO("good night\n"), Broken())
    finally:
        os.dup2(saved, 1)


def _until(place, wanted, seconds=60, again=b""):
    """Read from a terminal until the text occurs; every two seconds write `again`, as a person would press a key."""
    said, end, next_time = "", time.monotonic() + seconds, time.monotonic() + 2
    while wanted not in said:
        assert time.monotonic() < end, said
        if again and time.monotonic() > next_time:
            os.write(place, again)
            next_time += 2
        if select.select([place], [], [], 0.2)[0]:
            said += os.read(place, 4096).decode("utf-8", "replace")
    return said


SLOWLY = """
import fcntl, signal, sys, termios, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started without it
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C reaches this process
from dataprep import cli
from dataprep.inference.chat_model import ChatModel
stream = ChatModel.stream
def slowly(self, *args, **kwargs):
    for piece in stream(self, *args, **kwargs):
        yield piece
        time.sleep(0.4)
ChatModel.stream = slowly
cli.main()
"""


def test_a_terminal(trained):
    """Prompt and speaker are shown; Ctrl-C stops an answer and not the program; Ctrl-D leaves."""
    here, there = pty.openpty()
    words = [sys.executable, "-c", SLOWLY, "chat", str(trained["chatml"]), "--temperature", "0"]
    talk = subprocess.Popen(words, stdin=there, stdout=there, stderr=there, start_new_session=True)
    try:
        assert "parameters" in _until(here, "you: ")
        os.write(here, b"is it cold?\n")
        _until(here, "put")
        os.write(here, b"\x03")
        assert "..." in _until(here, "you: ")
        os.write(here, b"\x03")
        # Python does not notice a Ctrl-C between the prompt and its wait for a key.
        assert "Ctrl-D or /quit leaves" in _until(here, "you: ", again=b"\x03")
        os.write(here, b"good night\n")
        assert "sleep well" in _until(here, "you: ")
        os.write(here, b"\x04")
        assert talk.wait(30) == 0
    finally:
        talk.kill()
        talk.wait()
        os.close(here)
        os.close(there)
