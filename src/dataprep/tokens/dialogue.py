"""Encode dialogues as ids, with a loss mask that selects the assistant's turns and the special token after each.

All text between two special tokens is encoded at once, so that the ids equal those of `transformers` on the rendered
template. A token counts in the loss if its last byte is in an assistant's turn. Only the template adds special tokens;
special tokens written in a message are text.
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
from dataprep.tokens.vocabulary.loaded import load_once
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

from .templates import BUILT_IN, Template, specials_of

COLUMN = "messages"  # list of {role, name, content, weight}
TEXT = -1
I64 = npt.NDArray[np.int64]
Ids = npt.NDArray[Any]


class Encoded(NamedTuple):
    """Encoded documents as three arrays.

    Attributes:
        tokens: the ids of all documents, one after another.
        ends: uint64[documents], the index in `tokens` after each document's last token.
        mask: uint8[tokens], 1 for a token that counts in the loss.
    """

    tokens: npt.NDArray[Any]
    ends: npt.NDArray[np.uint64]
    mask: npt.NDArray[np.uint8]


Speaker = tuple[str, bool, bool]  # of a turn: the role, whether it has a name, whether it counts in the loss
Fragment = tuple[str | int, bool]  # the template's text, the number of a turn, ~ that of its name; whether it counts
TurnPlan = list[list[Fragment] | tuple[int, bool]]  # texts between special tokens, and these


def check_template(tok: Tokenizer, template: Template) -> None:
    """Raise PlanError if a special token of the template is not in the vocabulary."""
    missing = specials_of(template, list(tok.special))
    if missing:
        wanted = template.source if template.source in BUILT_IN else missing
        named = f"the tokenizer has no {', '.join(missing)}, which the template uses"
        msg = f"{named}; train it with special={wanted!r}, or add them with `dataprep extend-tokenizer`"
        raise PlanError(msg)


def encode_dialogues(tok: Tokenizer, template: Template, dialogues: pa.Array, dtype: npt.DTypeLike) -> Encoded:
    """Return the token ids of dialogues, each followed by `<|endoftext|>`, with a loss mask.

    - dialogues: lists of {role, name, content, weight}, or their JSON.
    - dtype: the type of the ids. An assistant's turn counts in the loss if its weight is null or 1; all other text is
      context. If the template itself ends with `<|endoftext|>`, no second one is added.
    """
    plans: dict[tuple[Speaker, ...], TurnPlan] = {}
    parts = _Parts()
    ends: list[int] = []
    for row in dialogues.to_pylist():
        messages = _checked(row)
        speakers = tuple(
            (m["role"], bool(m.get("name")), m["role"] == "assistant" and m.get("weight") != 0) for m in messages
        )
        plan = plans.get(speakers)
        if plan is None:
            plan = plans[speakers] = _plan(tok, template, speakers)
        parts.add(plan, messages)
        parts.end(tok.eot)
        ends.append(len(parts.codes))
    return _encoded(tok, parts, ends, dtype)


def encode_prompt(
    tok: Tokenizer, template: Template, messages: Sequence[Mapping[str, Any]], name: str | None = None
) -> list[int]:
    """Return the token ids of a dialogue up to the offset at which the assistant's next turn begins.

    - messages: the turns so far, each with `role`, `content` and, optionally, `name`.
    - name: the name of the assistant, for templates that write names. A model that was trained on dialogues in this
      template continues the ids with an answer.

    Raises PlanError if the template rejects the order of the roles.
    """
    turns = [*_checked(messages), {"role": "assistant", "name": name, "content": ""}]
    plan: TurnPlan = []
    for step in _plan(tok, template, tuple((m["role"], bool(m.get("name")), False) for m in turns)):
        if isinstance(step, list):
            numbers = [what for what, _ in step]
            if len(turns) - 1 in numbers:
                plan.append(step[: numbers.index(len(turns) - 1)])
                break
        plan.append(step)
    parts = _Parts()
    parts.add(plan, turns)
    ids: list[int] = _encoded(tok, parts, [len(parts.codes)], np.int64).tokens.tolist()
    return ids


@dataclass
class _Parts:
    """Parts of dialogues, one after another; byte offsets are those of all texts joined."""

    texts: list[str] = field(default_factory=list)  # between two special tokens
    codes: list[int] = field(default_factory=list)  # of each part: a special token, or TEXT
    counted: list[bool] = field(default_factory=list)  # whether that special token counts in the loss
    starts: list[int] = field(default_factory=list)  # byte ranges that count in the loss: [start, stop)
    stops: list[int] = field(default_factory=list)
    n_bytes: int = 0
    begin: int = 0  # of the dialogue that was added last, in `codes`

    def add(self, plan: TurnPlan, messages: Sequence[Mapping[str, Any]]) -> None:
        """Add the turns of one dialogue."""
        self.begin = len(self.codes)
        for step in plan:
            if isinstance(step, tuple):
                self._code(*step)
            elif text := "".join([self._fragment(what, messages, learned=learned) for what, learned in step]):
                self.texts.append(text)
                self._code(TEXT, learned=False)

    def end(self, eot: int) -> None:
        """End the dialogue that was added last with `eot`, unless it ends with it."""
        if len(self.codes) == self.begin or self.codes[-1] != eot:
            self._code(eot, learned=False)

    def _code(self, code: int, learned: bool) -> None:  # noqa: FBT001 - a pair of the plan
        self.codes.append(code)
        self.counted.append(learned)

    def _fragment(self, what: str | int, messages: Sequence[Mapping[str, Any]], *, learned: bool) -> str:
        text: str = (
            what if isinstance(what, str) else messages[what]["content"] if what >= 0 else messages[~what]["name"]
        )
        start, self.n_bytes = self.n_bytes, self.n_bytes + len(text.encode())
        if learned and text:
            self.starts.append(start)
            self.stops.append(self.n_bytes)
        return text


def _encoded(tok: Tokenizer, parts: _Parts, ends: list[int], dtype: npt.DTypeLike) -> Encoded:
    """Return the ids of parts.

    - ends: exclusive ends of the dialogues, in parts.
    """
    ids, stops = tok.encode_column(pa.array(parts.texts, pa.large_string()), dtype)
    return _together(parts, ids, stops.astype(np.int64), np.array(ends, np.int64), tok.token_bytes)


def _together(parts: _Parts, ids: Ids, stops: I64, ends: I64, token_bytes: npt.NDArray[Any]) -> Encoded:
    """Join the ids of texts and the special tokens in their order; the separator after each text is dropped.

    - stops: exclusive ends of the texts in `ids`.
    - ends: exclusive ends of the dialogues, in parts.
    """
    counts = np.ones(len(parts.codes), np.int64)
    codes = np.array(parts.codes, np.int64)
    counts[codes == TEXT] = np.diff(stops, prepend=0) - 1
    after = np.cumsum(counts)
    special = after[codes != TEXT] - 1
    is_text = np.ones(int(counts.sum()), np.bool_)
    is_text[special] = False
    said = np.delete(ids, stops - 1)
    tokens, mask = np.zeros(len(is_text), ids.dtype), np.zeros(len(is_text), np.uint8)
    tokens[special], mask[special] = codes[codes != TEXT], np.array(parts.counted, np.bool_)[codes != TEXT]
    tokens[is_text], mask[is_text] = said, _learned(np.cumsum(token_bytes[said], dtype=np.int64), parts)
    return Encoded(tokens, np.concatenate([[0], after])[ends].astype(np.uint64), mask)


def contents(dialogues: pa.Array) -> pa.Array:
    """Return the contents of all turns of all dialogues as one Arrow array; dialogues given as JSON are not changed."""
    if not (pa.types.is_string(dialogues.type) or pa.types.is_large_string(dialogues.type)):
        dialogues = pc.struct_field(pc.list_flatten(dialogues), "content")
    return dialogues.cast(pa.large_string())


def _checked(dialogue: Any) -> list[Mapping[str, Any]]:
    """Return the messages, from a list or its JSON. Raises PlanError if one lacks a role or a content."""
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


def _learned(stops: I64, parts: _Parts) -> npt.NDArray[np.bool_]:
    """Return whether the last byte of each token counts in the loss."""
    first, last = (np.searchsorted(stops, np.array(x, np.int64), side="right") for x in (parts.starts, parts.stops))
    changes = np.bincount(first, minlength=len(stops) + 1) - np.bincount(last, minlength=len(stops) + 1)
    learned: npt.NDArray[np.bool_] = np.cumsum(changes)[: len(stops)] > 0
    return learned


def _plan(tok: Tokenizer, template: Template, speakers: tuple[Speaker, ...]) -> TurnPlan:
    """Return the special tokens of an order of speakers, and the texts between them."""
    plan: TurnPlan = []
    run: list[Fragment] = []
    ended = True  # whether the special token that ends the last answer was added
    for piece in template.pieces(tuple((role, named) for role, named, _ in speakers)):
        if isinstance(piece, int):
            learned = piece >= 0 and speakers[piece][2]
            run.append((piece, learned))
            ended = ended if piece < 0 else not learned
            continue
        pieces = _splitter(tuple(tok.special)).split(piece)
        for i, part in enumerate(pieces):
            if i % 2 == 0:
                run.append((part, not ended and len(pieces) > i + 1))
                continue
            plan += [run, (tok.special[part], not ended)]
            run, ended = [], True
        ended = True  # without a special token nothing after the answer counts
    return [*plan, run]


@functools.cache
def _splitter(names: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first))})")


@dataclass(frozen=True, kw_only=True)
class ChatTokenCounter:
    """Measures turns in tokens, for `dp.chats.Turns(token_counter=)`.

    Attributes:
        tokenizer: the path of `tokenizer.json`.
        hash: the hash of the vocabulary.
        template: the format of a dialogue.
        max_length: the maximum number of tokens of a window of turns, including the separator after it.
    """

    tokenizer: str = field(repr=False)  # a path, so not in the recipe
    hash: str
    template: Template
    max_length: int

    def recipe(self) -> Any:
        """Return the values that identify this object in hashes: hash, template and max_length, not the path."""
        return (self.hash, self.template, self.max_length)

    @property
    def _tok(self) -> Tokenizer:
        return load_once(self.tokenizer, self.hash)

    def count(self, texts: pa.LargeStringArray) -> npt.NDArray[np.int64]:
        """Return the number of tokens of each text, int64[n]."""
        ends = self._tok.encode_column(texts)[1].astype(np.int64)
        return np.diff(ends, prepend=0) - 1

    def overhead(self, role: str, name: str | None) -> int:
        """Return the number of tokens to count for a turn in addition to its content: the template's tokens plus one.

        One more token is counted because content and template text may have one token more if they are encoded together
        than if they are encoded separately.

        Args:
            role: the role of the turn's speaker.
            name: the speaker's name, or None.
        """
        return _overhead(self, role, name)

    @property
    def fixed(self) -> int:
        """The number of tokens of a window in addition to its turns: the template's start, and the separator."""
        return max(1, _length(self, (("user", None),)) - _overhead(self, "user", None) + 1)

    def cut(self, text: str, tokens: int, *, keep_end: bool) -> str:
        """Return the beginning of a text, or its end if `keep_end`: whole characters, in at most `tokens` tokens."""
        ids = self._tok.encode(text)
        if len(ids) <= tokens:
            return text
        kept = ids[len(ids) - tokens :] if keep_end else ids[:tokens]
        n_bytes = int(self._tok.token_bytes[kept].sum())
        data = text.encode()
        part = data[len(data) - n_bytes :] if keep_end else data[:n_bytes]
        return part.decode("utf-8", "ignore").strip()


@functools.lru_cache(maxsize=4096)
def _overhead(size: ChatTokenCounter, role: str, name: str | None) -> int:
    before = (("user", None),) if role == "assistant" else (("user", None), ("assistant", None))
    return _length(size, (*before, (role, name))) - _length(size, before) + 1


@functools.lru_cache(maxsize=4096)
def _length(size: ChatTokenCounter, speakers: tuple[tuple[str, str | None], ...]) -> int:
    """Return the number of tokens of a dialogue without contents, that is, of the template alone."""
    messages = [{"role": role, "name": name, "content": ""} for role, name in speakers]
    return len(encode_dialogues(size._tok, size.template, pa.array([messages]), np.int64).tokens)  # noqa: SLF001
