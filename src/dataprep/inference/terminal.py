"""A conversation in the terminal, or with lines from a pipe: prompts, commands, and streamed answers."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Generator, Iterator
from typing import IO

from dataprep.errors import DataprepError, shown

from .conversation import Conversation

HELP = """\
/reset        clear the conversation
/system TEXT  clear the conversation, and set the system prompt (without TEXT: none)
/regen        generate another answer to your last message
/help         show this list
/quit         quit, as Ctrl-D does
Ctrl-C stops an answer; the text generated so far is kept."""


def chat(talk: Conversation, source: IO[str] | None = None, target: IO[str] | None = None) -> None:
    """Read lines of the user and print the model's answers, until the lines end or a line is /quit.

    Args:
        talk: the conversation.
        source: the stream from which lines are read, by default stdin.
        target: the stream to which answers are printed, by default stdout. If both are terminals, lines about the
            model, a prompt and the name of the speaker are shown. Otherwise only the answers are printed, one per line,
            and the lines about the model are written to stderr.
    """
    _Terminal(talk, source or sys.stdin, target or sys.stdout).run()


def replace_errors(*streams: IO[str]) -> None:
    """Make text streams write "?" for a character that their encoding lacks, and read U+FFFD for an invalid byte.

    Args:
        streams: the streams to set; streams without an encoding are not changed.
    """
    for stream in streams:
        if isinstance(getattr(stream, "errors", None), str) and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


class _Terminal:
    def __init__(self, talk: Conversation, source: IO[str], target: IO[str]) -> None:
        self.talk, self.source, self.target = talk, source, target
        self.live = source.isatty() and target.isatty()
        replace_errors(source, target)
        self.commands: dict[str, Callable[[str], None]] = {
            "reset": self._reset, "system": self._system, "regen": self._regen, "help": self._help,
        }  # fmt: skip

    def run(self) -> None:
        """Talk until the end of the input."""
        card = "\n".join([*self.talk.model.card, "/help lists the commands; Ctrl-D leaves"])
        with contextlib.suppress(BrokenPipeError):
            print(shown(card), file=self.target if self.live else sys.stderr, flush=True)
            for line in self._lines():
                words = line.strip()
                if words in ("/quit", "/exit"):
                    return
                if words:
                    self._take(words)
            if self.live:
                print(file=self.target)
            return
        with contextlib.suppress(OSError, ValueError):  # nobody reads: Python would complain when it exits
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.target.fileno())

    def _lines(self) -> Iterator[str]:
        """Yield the lines of the user; Ctrl-C at the prompt of a terminal only clears the line."""
        if not self.live:
            yield from self.source
            return
        with contextlib.suppress(ImportError):
            importlib.import_module("readline")  # arrow keys and history in `input`
        while (line := self._ask()) is not None:
            yield line

    def _ask(self) -> str | None:
        """Return a line that was typed; None at the end."""
        try:
            return input("\nyou: ")
        except EOFError:
            return None
        except KeyboardInterrupt:
            self._note("(Ctrl-D or /quit leaves)")
            return ""

    def _take(self, words: str) -> None:
        try:
            if not words.startswith("/"):
                self._print(self.talk.say(words))
                return
            name, _, rest = words[1:].partition(" ")
            command = self.commands.get(name)
            if command is None:
                self._note(f"/{name} is not a command; it must be one of /{', /'.join([*self.commands, 'quit'])}")
            else:
                command(rest.strip())
        except DataprepError as e:
            self._note(shown(str(e)))

    def _print(self, answer: Generator[str, None, None]) -> None:
        """Print an answer as it is generated; Ctrl-C ends the answer, and in a pipe also the program."""
        if self.live:
            print("\nmodel: ", end="", file=self.target, flush=True)
        try:
            for piece in answer:
                print(piece, end="", file=self.target, flush=True)
        except KeyboardInterrupt:
            if not self.live:
                raise
            print(" ...", end="", file=self.target)
        finally:
            answer.close()
        print(file=self.target, flush=True)

    def _note(self, text: str) -> None:
        print(text, file=self.target if self.live else sys.stderr, flush=True)

    def _reset(self, _: str) -> None:
        self.talk.reset()
        self._note("the conversation is forgotten")

    def _system(self, text: str) -> None:
        self.talk.reset(text)
        self._note("the conversation is cleared, and the system prompt is set" if text else "no system prompt is set")

    def _regen(self, _: str) -> None:
        self._print(self.talk.again())

    def _help(self, _: str) -> None:
        self._note(HELP)
