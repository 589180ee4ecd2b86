"""Encode JSON Lines of preferences, a chosen and a rejected answer to one prompt, for preference tuning (DPO).

    OUT/chosen      the Dataset and the token shards of the conversations with the chosen answers
    OUT/rejected    the same with the rejected answers; documents with the same number have the same prompt

A line is {"prompt", "chosen", "rejected"}. A prompt or an answer is a text or a list of messages. Without a prompt, the
answers are two conversations with the same beginning.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dataprep.errors import PlanError, StaleOutput
from dataprep.store import files
from dataprep.tokens.shards.shard import Shards
from dataprep.train.data.pairs import CHOSEN, REJECTED
from dataprep.train.start import Loaded

from .messages import (
    VAL,
    ConversationLines,
    all_columns,
    are_messages,
    check_alone,
    encode_lines,
    is_message,
    name_and_path,
)

FORM = '{"prompt": "...", "chosen": "...", "rejected": "..."}, texts or lists of {"role", "content"}'
Message = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class PreferenceLines(ConversationLines):
    """Adds the `messages` column, a prompt with one of its two answers, to JSON lines; drops lines without a pair.

    Attributes:
        side: "chosen" or "rejected".

    A line is dropped for the first of these reasons that applies to either side: `not_json`; `no_pair`, if the line is
    not a prompt with two answers; `no_answer`, if an answer has no message of the role assistant with a text;
    `no_difference`, if the answers are equal; `template_rejects`, if the template does not allow the order of the
    roles.
    """

    side: str

    def conversation(self, row: Any) -> list[Message] | str:
        """Return the conversation of this side of a line, or the reason to drop it."""
        pair = _pair(row) if isinstance(row, dict) else None
        if pair is None:
            return "no_pair"
        prompt, *answers = pair
        if not all(any(m["role"] == "assistant" and m["content"].strip() for m in answer) for answer in answers):
            return "no_answer"
        if answers[0] == answers[1]:
            return "no_difference"
        if not all(self.is_accepted([*prompt, *answer]) for answer in answers):
            return "template_rejects"
        return all_columns([*(m | {"weight": 0} for m in prompt), *answers[self.side == REJECTED]])


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
    """Return a list of messages unchanged, a text as one message of the role, and [] for no value; otherwise None."""
    if given is None:
        return []
    made = [{"role": role, "content": given}] if isinstance(given, str) else given
    return made if isinstance(made, list) and all(map(is_message, made)) else None


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
    """Encode the files of preferences in `given` to OUT/data; return the token shards of pairs to train on.

    The parameters and errors are those of `encoded_sets`; all of `given` are files.
    """
    check_alone(
        "inference.preferences.encode_preferences(FILE, MODEL, DIR), and train on chosen=DIR/chosen/shards "
        "rejected=DIR/rejected/shards"
    )
    paths = [name_and_path(one)[1] for one in given]
    folder = next((path for path in paths if not are_messages(path)), None)
    if folder is not None:
        msg = f"{folder} must be a file of preferences like the others; pass files, or chosen=FOLDER rejected=FOLDER"
        raise PlanError(msg)
    try:
        sets = encode_preferences(paths, model, files.join(out, "data"), template=template, val=val, replace=replace)
    except StaleOutput as e:
        msg = f"{out} has shards of other pairs or settings; choose another folder, or start over (--start-over)"
        raise StaleOutput(msg) from e
    return {name: str(shards.path) for name, shards in sets.items()}
