"""Dialogues to tokens: ids, and a mask that covers what the person said and the mark that ends it.

Between two special tokens all text is encoded as one, so that the ids are those of `transformers` on the rendered
template; a token is learned if its last byte was said by the person. Special tokens come from the template alone.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.errors import PlanError

from .templates import BUILT_IN, Template, specials_of
from .tokenizer import Tokenizer, load_once

COLUMN = "messages"  # list of {role, name, content, weight}
Spans = list[tuple[int, int]]


class Encoded(NamedTuple):
    """Documents as ids: their ends, exclusive, and which ids are to be learned."""

    tokens: npt.NDArray[Any]
    ends: npt.NDArray[np.uint64]
    mask: npt.NDArray[np.uint8]


@dataclass
class _Text:
    """Text between two special tokens, and the bytes of it that are to be learned."""

    text: str = ""
    n_bytes: int = 0
    learned: Spans = field(default_factory=list)

    def add(self, text: str, *, learned: bool) -> None:
        start = self.n_bytes
        self.text += text
        self.n_bytes += len(text.encode())
        if learned and self.n_bytes > start:
            self.learned.append((start, self.n_bytes))


Part = _Text | tuple[int, bool]


def check_template(tok: Tokenizer, template: Template) -> None:
    """A template's special tokens are in the vocabulary; else they would be spelled out letter by letter."""
    missing = specials_of(template, list(tok.special))
    if missing:
        wanted = template.source if template.source in BUILT_IN else missing
        msg = f"the tokenizer has no {', '.join(missing)}, which the template writes; train it with special={wanted!r}"
        raise PlanError(msg)


def encode_dialogues(tok: Tokenizer, template: Template, dialogues: pa.Array, dtype: npt.DTypeLike) -> Encoded:
    """The ids of dialogues (list of {role, name, content, weight}, or that as JSON), each ended by `<|endoftext|>`.

    A weight of null or 1 makes an assistant's turn learned; all else is context. A template that ends with the
    separator needs no second one.
    """
    rows = [_parts(tok, template, _checked(row)) for row in dialogues.to_pylist()]
    texts = pa.array([part.text for row in rows for part in row if isinstance(part, _Text)], pa.large_string())
    ids, stops = tok.encode_column(texts, dtype)
    starts = np.concatenate([np.zeros(1, np.int64), stops.astype(np.int64)])
    tokens: list[npt.NDArray[Any]] = []
    masks: list[npt.NDArray[np.uint8]] = []
    ends: list[int] = []
    run = done = 0
    for row in rows:
        for part in row:
            if isinstance(part, _Text):
                mine = ids[starts[run] : starts[run + 1] - 1]
                masks.append(_learned(np.cumsum(tok.token_bytes[mine]), part.learned))
                run += 1
            else:
                mine = np.array([part[0]], dtype)
                masks.append(np.array([part[1]], np.uint8))
            tokens.append(mine)
            done += len(mine)
        ends.append(done)
    return Encoded(
        np.concatenate([np.zeros(0, dtype), *tokens]),
        np.array(ends, np.uint64),
        np.concatenate([np.zeros(0, np.uint8), *masks]),
    )


def contents(dialogues: pa.Array) -> pa.Array:
    """What is said in dialogues, large_string; those in JSON as they are."""
    if not _is_text(dialogues):
        dialogues = pc.struct_field(pc.list_flatten(dialogues), "content")
    return dialogues.cast(pa.large_string())


def _is_text(column: pa.Array) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _checked(dialogue: Any) -> list[Mapping[str, Any]]:
    """The messages, each with a role and a content; readers give JSON where a file is JSONL."""
    try:
        messages = json.loads(dialogue) if isinstance(dialogue, str) else dialogue
        good = all(isinstance(m[name], str) for m in messages for name in ("role", "content"))
    except (ValueError, TypeError, LookupError):
        good = False
    if not good:
        msg = (
            f"template= encodes lists of messages with a role and a content, both texts; found {str(dialogue)[:80]!r}; "
            "drop such documents, or write their content"
        )
        raise PlanError(msg)
    return list(messages)


def _learned(stops: npt.NDArray[np.int64], spans: Spans) -> npt.NDArray[np.uint8]:
    """Whether the last byte of each token lies in one of the spans."""
    mask = np.zeros(len(stops), np.uint8)
    for start, stop in spans:
        mask[np.searchsorted(stops, start, side="right") : np.searchsorted(stops, stop, side="right")] = 1
    return mask


def _parts(tok: Tokenizer, template: Template, messages: Sequence[Mapping[str, Any]]) -> list[Part]:
    """Special tokens, and the texts between them."""
    parts: list[Part] = []
    text = _Text()
    ended = True  # whether the mark that ends the last answer was written
    for piece in template.pieces(tuple((m["role"], bool(m.get("name"))) for m in messages)):
        if isinstance(piece, int) and piece < 0:
            text.add(messages[~piece]["name"], learned=False)
            continue
        if isinstance(piece, int):
            message = messages[piece]
            learned = message["role"] == "assistant" and message.get("weight") != 0
            text.add(message["content"], learned=learned)
            ended = not learned
            continue
        pieces = _splitter(tuple(tok.special)).split(piece)
        for i, part in enumerate(pieces):
            if i % 2 == 0:
                text.add(part, learned=not ended and len(pieces) > i + 1)
                continue
            parts += [text] if text.text else []
            parts.append((tok.special[part], not ended))
            text, ended = _Text(), True
        ended = True  # without a mark nothing after the answer is learned
    parts += [text] if text.text else []
    if not parts or isinstance(parts[-1], _Text) or parts[-1][0] != tok.eot:
        parts.append((tok.eot, False))
    return parts


@functools.cache
def _splitter(names: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first))})")


@dataclass(frozen=True, kw_only=True)
class TokenSize:
    """How many tokens turns have, for `dp.Turns(size=)`.

    tokenizer: where `tokenizer.json` lies. hash: of the vocabulary. block: tokens of the longest window, the
    separator included.
    """

    tokenizer: str = field(repr=False)  # a place; the hash says what it is
    hash: str
    template: Template
    block: int

    def recipe(self) -> Any:
        """What is in it, not where it lies."""
        return (self.hash, self.template, self.block)

    @property
    def _tok(self) -> Tokenizer:
        return load_once(self.tokenizer, self.hash)

    def count(self, texts: pa.LargeStringArray) -> npt.NDArray[np.int64]:
        """Tokens of each text."""
        ends = self._tok.encode_column(texts)[1].astype(np.int64)
        return np.diff(ends, prepend=0) - 1

    def overhead(self, role: str, name: str | None) -> int:
        """Tokens that the template adds to a turn: one more than it does, as texts that meet may be cut otherwise."""
        return _overhead(self, role, name)

    @property
    def fixed(self) -> int:
        """Tokens of a window beside its turns: the template's beginning, and the separator."""
        return max(1, _length(self, [("user", None)]) - _overhead(self, "user", None) + 1)

    def cut(self, text: str, tokens: int, *, keep_end: bool) -> str:
        """The beginning or the end of a text, of at most so many tokens, cut at a character."""
        ids = self._tok.encode(text)
        if len(ids) <= tokens:
            return text
        kept = ids[len(ids) - tokens :] if keep_end else ids[:tokens]
        n_bytes = int(self._tok.token_bytes[kept].sum())
        data = text.encode()
        part = data[len(data) - n_bytes :] if keep_end else data[:n_bytes]
        return part.decode("utf-8", "ignore").strip()


@functools.lru_cache(maxsize=4096)
def _overhead(size: TokenSize, role: str, name: str | None) -> int:
    before: list[tuple[str, str | None]] = [("user", None), ("assistant", None), ("user", None)]
    before = before[: 1 if role == "assistant" else 2]
    return _length(size, [*before, (role, name)]) - _length(size, before) + 1


@functools.lru_cache(maxsize=4096)
def _length_of(size: TokenSize, speakers: tuple[tuple[str, str | None], ...]) -> int:
    messages = [{"role": role, "name": name, "content": ""} for role, name in speakers]
    parts = _parts(size._tok, size.template, messages)  # noqa: SLF001 - of the same file
    return sum(len(size._tok.encode(p.text)) if isinstance(p, _Text) else 1 for p in parts)  # noqa: SLF001


def _length(size: TokenSize, speakers: Sequence[tuple[str, str | None]]) -> int:
    return _length_of(size, tuple(speakers))
