"""Encode JSON Lines of preferences, a chosen and a rejected answer to one prompt, for preference tuning (DPO).

    OUT/chosen      the Dataset and the token shards of the conversations with the chosen answers
    OUT/rejected    the same with the rejected answers: documents of one number have one prompt

A line is {"prompt", "chosen", "rejected"}. The prompt is a text or a list of messages, an answer the same; without a
prompt, the answers are two conversations that begin alike.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage, drop_rows
from dataprep.errors import PlanError, StaleOutput
from dataprep.messages.conversations.windows import MESSAGES
from dataprep.store import files
from dataprep.tokens.dialogue import COLUMN
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.templates import Template
from dataprep.train.data.pairs import CHOSEN, REJECTED
from dataprep.train.start import Loaded

from .messages import VAL, are_messages, check_alone, encode_lines, is_message, name_and_path

FORM = '{"prompt": "...", "chosen": "...", "rejected": "..."}, texts or lists of {"role", "content"}'
Message = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class PreferenceLines(Stage):
    """Adds the column `messages`, a prompt with one of its two answers, to lines of JSON; drops lines without a pair.

    side: "chosen" or "rejected". template: the format in which the conversations will be encoded. A line is dropped for
    the first of these reasons that applies, whatever the side: `not_json`; `no_pair`: not a prompt with two answers;
    `no_answer`: an answer has no message of the role assistant with a text; `no_difference`: the answers are equal;
    `template_rejects`: the template does not allow the order of roles of one.
    """

    only_drops: ClassVar[bool] = True
    template: Template
    side: str

    @property
    def adds(self) -> Mapping[str, pa.DataType]:  # type: ignore[override]
        """The column that this stage adds, as {"messages": its type}."""
        return {COLUMN: MESSAGES}

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the lines with a pair, with the conversation of this side in the column `messages`."""
        for batch in batches:
            found = [self._read(text) for text in batch.column("text").to_pylist()]
            reasons = pa.array([one if isinstance(one, str) else None for one in found], pa.string())
            kept = pa.array([one[self.side == REJECTED] for one in found if not isinstance(one, str)], MESSAGES)
            yield B.with_column(drop_rows(batch, reasons, stats), COLUMN, kept)

    def _read(self, line: str) -> tuple[list[Message], list[Message]] | str:
        """Return the conversations with the chosen and with the rejected answer, or the reason to drop the line."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return "not_json"
        pair = _pair(row) if isinstance(row, dict) else None
        if pair is None:
            return "no_pair"
        prompt, *answers = pair
        if not all(any(m["role"] == "assistant" and m["content"].strip() for m in answer) for answer in answers):
            return "no_answer"
        if answers[0] == answers[1]:
            return "no_difference"
        try:
            for answer in answers:
                self.template.pieces(tuple((m["role"], bool(m.get("name"))) for m in [*prompt, *answer]))
        except PlanError:
            return "template_rejects"
        chosen, rejected = ([*(m | {"weight": 0} for m in prompt), *answer] for answer in answers)
        return _columns(chosen), _columns(rejected)


def _pair(row: dict[str, Any]) -> tuple[list[Message], list[Message], list[Message]] | None:
    """Return (prompt, chosen answer, rejected answer) of a line, as lists of messages; None if it has another form."""
    prompt = _messages(row.get("prompt"), "user")
    chosen, rejected = (_messages(row.get(side), "assistant") for side in (CHOSEN, REJECTED))
    if prompt is None or not chosen or not rejected:
        return None
    shared = next((i for i, (a, b) in enumerate(zip(chosen, rejected, strict=False)) if a != b), None)
    if shared is None:
        shared = min(len(chosen), len(rejected)) - 1
    shared = min(shared, len(chosen) - 1, len(rejected) - 1)
    prompt, chosen, rejected = [*prompt, *chosen[:shared]], chosen[shared:], rejected[shared:]
    return (prompt, chosen, rejected) if prompt and chosen[0]["role"] == rejected[0]["role"] == "assistant" else None


def _messages(given: Any, role: str) -> list[Message] | None:
    """Return messages as they are given, a text as one message of the role, nothing as no message; else None."""
    if given is None:
        return []
    made = [{"role": role, "content": given}] if isinstance(given, str) else given
    return made if isinstance(made, list) and all(map(is_message, made)) else None


def _columns(messages: list[Message]) -> list[Message]:
    return [{name: m.get(name) for name in ("role", "name", "content", "weight")} for m in messages]


def encode_preferences(
    lines: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], model: Loaded | str | os.PathLike[str],
    out: str | os.PathLike[str], *, template: str | os.PathLike[str] | None = None, val: float = VAL,
    replace: bool = False,
) -> dict[str, Shards]:  # fmt: skip
    """Write the pairs of answers in JSON Lines as token shards for preference tuning; return {"chosen": ..., ...}.

    Only the answers are learned, not the prompt, which has the same tokens in both sets. The parameters and errors are
    those of `encode_messages`. The number of lines that are dropped is logged, with reasons; OUT/chosen/messages has
    the table.

    >>> train(encode_preferences("pairs.jsonl", "out/tuned", "out/data"), init_from="out/tuned", dpo=0.1, out="out/dpo")
    """
    return {
        side: encode_lines(
            partial(PreferenceLines, side=side), lines, model, files.join(os.fspath(out), side), form=FORM,
            template=template, val=val, replace=replace, quiet=side == REJECTED,
        )
        for side in (CHOSEN, REJECTED)
    }  # fmt: skip


def encoded_pairs(
    given: Sequence[str], model: Loaded, out: str, *, template: str | None = None, val: float = VAL,
    replace: bool = False,
) -> dict[str, str]:  # fmt: skip
    """Return the token shards of pairs to train on, after the files of preferences in `given` are encoded to OUT/data.

    The parameters and errors are those of `encoded_sets`; all of `given` are files.
    """
    check_alone(
        "inference.preferences.encode_preferences(FILE, MODEL, DIR), and train on chosen=DIR/chosen/shards "
        "rejected=DIR/rejected/shards"
    )
    paths = [name_and_path(one)[1] for one in given]
    folder = next((path for path in paths if not are_messages(path)), None)
    if folder is not None:
        msg = f"{folder} must be a file of preferences like the others; give files, or chosen=FOLDER rejected=FOLDER"
        raise PlanError(msg)
    try:
        sets = encode_preferences(paths, model, files.join(out, "data"), template=template, val=val, replace=replace)
    except StaleOutput as e:
        msg = f"{out} has shards of other pairs or settings; choose another folder, or start over (--start-over)"
        raise StaleOutput(msg) from e
    return {name: str(shards.path) for name, shards in sets.items()}
