"""Encode JSON Lines of messages, the format of chat data for fine-tuning, for a model: with its tokenizer and template.

    OUT/messages    a Dataset of the conversations, with a drop table of the lines that are left out
    OUT/shards      their token shards, with a loss mask over the answers

A line is {"messages": [{"role", "content"}, ...]}. A message may have a `name`, and a `weight` of 0 or 1.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_
from typing import Any, ClassVar

import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.stage import Stage, drop_rows
from dataprep.core.output import owned
from dataprep.core.pipeline import Pipeline
from dataprep.errors import PlanError, StaleOutput
from dataprep.messages.conversations.windows import MESSAGES
from dataprep.read import read
from dataprep.store import files
from dataprep.store.atomic import remove_empty
from dataprep.tokens.dialogue import COLUMN
from dataprep.tokens.shards.encode import encode
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.split import Split
from dataprep.tokens.templates import BUILT_IN, Template, specials_of, template_of
from dataprep.train import TrainConfig
from dataprep.train.data.sets import named
from dataprep.train.ranks import launched
from dataprep.train.start import Loaded

from .open_model import open_model, tokenizer_of

log = logging.getLogger("dataprep")

VAL = 0.05  # of the conversations
SUFFIX = re.compile(r"\.(jsonl|ndjson|json)(\.(gz|zst|xz|bz2))?$")


@dataclass(frozen=True, kw_only=True)
class ConversationLines(Stage):
    """Base class of stages that add the column `messages` to documents that are lines of JSON, and drop other lines.

    Attributes:
        template: the format in which the conversations will be encoded.

    A line that is not JSON is dropped with the reason `not_json`.
    """

    only_drops: ClassVar[bool] = True
    template: Template

    @property
    def adds(self) -> Mapping[str, pa.DataType]:  # type: ignore[override]
        """The column that this stage adds, as {"messages": its type}."""
        return {COLUMN: MESSAGES}

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the lines with a conversation, with the column `messages`."""
        for batch in batches:
            found = [self._read(text) for text in batch.column("text").to_pylist()]
            reasons = pa.array([one if isinstance(one, str) else None for one in found], pa.string())
            kept = pa.array([one for one in found if not isinstance(one, str)], MESSAGES)
            yield B.with_column(drop_rows(batch, reasons, stats), COLUMN, kept)

    def _read(self, line: str) -> list[dict[str, Any]] | str:
        """Return the messages of a line, or the reason to drop it."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return "not_json"
        return self.conversation(row)

    def conversation(self, row: Any) -> list[dict[str, Any]] | str:
        """Return the messages of a line, as `all_columns` makes them, or the reason to drop it.

        Args:
            row: the JSON value of the line.
        """
        raise NotImplementedError

    def is_accepted(self, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether the template allows the order of roles of messages."""
        try:
            self.template.pieces(tuple((m["role"], bool(m.get("name"))) for m in messages))
        except PlanError:
            return False
        return True


@dataclass(frozen=True, kw_only=True)
class MessageLines(ConversationLines):
    """Adds the column `messages` to JSON lines, and drops lines without a conversation to train on.

    A line is dropped for the first of these reasons that applies:

    - `not_json`: it is not JSON.
    - `no_messages`: it is not {"messages": [{"role", "content"}, ...]} with texts in UTF-8 and weights of 0 or 1.
    - `no_answer`: no message of the role assistant has a text and a weight of 1.
    - `template_rejects`: the template does not allow this order of roles.
    """

    def conversation(self, row: Any) -> list[dict[str, Any]] | str:
        """Return the messages of a line, or the reason to drop it."""
        messages = row.get(COLUMN) if isinstance(row, dict) else None
        if not isinstance(messages, list) or not messages or not all(map(is_message, messages)):
            return "no_messages"
        if not any(m["role"] == "assistant" and m["content"].strip() and m.get("weight") != 0 for m in messages):
            return "no_answer"
        return all_columns(messages) if self.is_accepted(messages) else "template_rejects"


def all_columns(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return messages with all fields of the `messages` column; missing fields are None."""
    return [{name: m.get(name) for name in ("role", "name", "content", "weight")} for m in messages]


def is_message(given: Any) -> bool:
    """Return whether a value is a message: a dict with a role and a content, both UTF-8, and perhaps a weight."""
    if not isinstance(given, dict) or given.get("weight") not in (None, 0, 1):
        return False
    texts = [given.get("role"), given.get("content"), given.get("name") or ""]
    try:
        return all(isinstance(text, str) and text.encode() is not None for text in texts)
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def encode_messages(
    lines: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], model: Loaded | str | os.PathLike[str],
    out: str | os.PathLike[str], *, template: str | os.PathLike[str] | None = None, val: float = VAL,
    replace: bool = False,
) -> Shards:  # fmt: skip
    """Write the conversations in JSON Lines as token shards for fine-tuning, into OUT/shards; return the shards.

    Only answers are learned: the messages of the role assistant without "weight": 0. Special tokens of the template
    that occur in a message are encoded as text. The number of dropped lines is logged, with reasons; OUT/messages has
    the table.

    Args:
        lines: one or more files of lines {"messages": [{"role", "content"}, ...]}, optionally compressed.
        model: the folder of a run, a checkpoint, a Hugging Face folder, or the result of `open_model`.
        out: the folder for `messages` and `shards`; finished work in it is not repeated.
        template: "course", "chatml" or a Jinja chat template; None: the template of the model. Special tokens of the
            template that the tokenizer lacks are appended to its vocabulary.
        val: the fraction of the conversations to hold out.
        replace: whether to overwrite the shards of other lines in `out`.

    Raises:
        PlanError: no line has a conversation to learn from (then nothing remains in `out`), or the model has no
            template and none is given.
        StaleOutput: `out` has shards of other lines or settings, and `replace` is False.

    >>> train(encode_messages("chats.jsonl", "out/base", "out/data"), init_from=open_model("out/base"), out="out/tuned")
    """
    form = '{"messages": [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]}'
    return encode_lines(
        MessageLines, lines, model, os.fspath(out), form=form, template=template, val=val, replace=replace
    )  # fmt: skip


def encode_lines(
    stage_of: Callable[..., Stage], lines: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    model: Loaded | str | os.PathLike[str], folder: str, *, form: str, template: str | os.PathLike[str] | None,
    val: float, replace: bool, quiet: bool = False,
) -> Shards:  # fmt: skip
    """Write the conversations that a stage finds in JSON Lines as token shards into FOLDER/shards; return the shards.

    Args:
        stage_of: a function that makes the stage from a `template`.
        lines: as in `encode_messages`.
        model: as in `encode_messages`.
        folder: the folder for `messages` and `shards`.
        form: the format of a line, for messages.
        template: as in `encode_messages`.
        val: as in `encode_messages`.
        replace: as in `encode_messages`.
        quiet: True to log no dropped lines.
    """
    split = Split(val=val)
    saved = (model if isinstance(model, tuple) else open_model(model))[1]
    tok = tokenizer_of(saved["path"], saved["tokenizer"])
    written = _template(saved, template)
    if missing := specials_of(written, list(tok.special)):
        tok = tok.extended(written.source if written.source in BUILT_IN else missing)
        said = "the tokenizer lacks special tokens of the template, which are added after its last id: %s"
        log.warning(said, ", ".join(missing))
    given = [os.fspath(one) for one in ([lines] if isinstance(lines, (str, os.PathLike)) else lines)]
    docs = read(given, format="lines")
    messages = Pipeline(stage_of(template=written)).run(docs, out=files.join(folder, "messages"), replace=replace)
    if not messages.count:
        owned.remove_all(files.join(folder, "messages"))  # so that the same folder takes the right file
        if files.is_local(folder):
            remove_empty(files.path_of(folder), above=os.path.dirname(os.path.abspath(files.path_of(folder))))
    _report(messages, given, form, quiet=quiet)
    shards = encode(
        messages, tok, files.join(folder, "shards"), template=written, split=split, replace=replace,
        dtype="uint16" if tok.vocab_size <= 1 << 16 else "uint32",
    )  # fmt: skip
    if typed := sum(shards.manifest.special_in_text.values()):
        log.warning("%d special tokens that are written in messages are encoded as text", typed)
    return shards


def _template(saved: Mapping[str, Any], given: str | os.PathLike[str] | None) -> Template:
    """Return the template that is given, or else that of the model, from the content of its checkpoint."""
    chat = saved.get("chat")
    if given is not None:
        return template_of(given)
    if not chat:
        msg = (
            f"the model in {saved['path']} was trained without a chat template: name the one to encode messages with "
            "(--template chatml)"
        )
        raise PlanError(msg)
    return Template(chat["template"], *(chat["template_ends"] or ()))


def _report(messages: Dataset, lines: Sequence[str], form: str, *, quiet: bool) -> None:
    """Log how many lines were dropped, with reasons. Raises PlanError if no line is left."""
    reasons: Counter[str] = Counter()
    for stage in messages.stats:
        reasons.update({reason: stage.total(sources).docs for reason, sources in stage.dropped.items()})
    said = ", ".join(f"{reason} {n:,}" for reason, n in reasons.most_common())
    names, n = ", ".join(lines), sum(reasons.values())
    if not messages.count:
        msg = (
            f"{names} has no conversation to learn from ({said or 'it is empty'}); a line must be {form}"
        )
        raise PlanError(msg)
    if n and not quiet:
        total = n + messages.count
        log.warning("%s: %d of %d lines are left out (%s); %s/drops lists them", names, n, total, said, messages.url)


def are_messages(path: str) -> bool:
    """Return whether a path is of messages (a file, or a name of JSON Lines), and not a folder of token shards."""
    return bool(SUFFIX.search(path) or os.path.isfile(path)) and not os.path.isdir(path)


def encoded_sets(
    given: Sequence[str], model: Loaded, out: str, *, template: str | os.PathLike[str] | None = None,
    val: float = VAL, replace: bool = False,
) -> str | dict[str, str]:  # fmt: skip
    """Encode the files of messages in `given`; return the token shards to train on, as `named` does.

    Args:
        given: the folders of token shards and files of messages, as FOLDER, FILE, NAME=FOLDER or NAME=FILE. Files with
            the same name, and files without one, are one set.
        model: as in `encode_messages`.
        out: the folder of the run; a set of messages is encoded into its folder `data` or `data-NAME`.
        template: as in `encode_messages`.
        val: as in `encode_messages`.
        replace: as in `encode_messages`.

    Raises PlanError if torchrun started several processes, since only one may write shards, and StaleOutput as
    `encode_messages` does.
    """
    check_alone("inference.messages.encode_messages(FILE, MODEL, DIR), and train on DIR/shards")
    folders, lines = [], dict[str, list[str]]()
    for one in given:
        name, path = name_and_path(one)
        if are_messages(path):
            lines.setdefault(name, []).append(path)
        else:
            folders.append(one)
    homes = {name: files.join(out, f"data-{name}" if name else "data") for name in lines}
    sets = named([*folders, *(f"{name}={home}/shards".removeprefix("=") for name, home in homes.items())])
    try:
        for name, home in homes.items():
            encode_messages(lines[name], model, home, template=template, val=val, replace=replace)
    except StaleOutput as e:
        msg = f"{out} has shards of other messages or settings; choose another folder, or start over (--start-over)"
        raise StaleOutput(msg) from e
    return sets


def check_alone(how: str) -> None:
    """Raise PlanError, with instructions to write token shards, if torchrun started several processes."""
    if launched().ranks > 1:
        msg = f"torchrun needs token shards, not messages; write them first with {how}"
        raise PlanError(msg)


def config_for(config: TrainConfig) -> TrainConfig:
    """Return the config with as many complete conversations per row as fit, without attention between them."""
    objective = "next" if config.objective == "span" else config.objective
    return replace_(config, layout="bestfit", mask_documents=None, objective=objective)


def has_messages(given: Sequence[str]) -> bool:
    """Return whether one of the arguments of `dataprep train` is a file of messages."""
    return any(are_messages(name_and_path(one)[1]) for one in given)


def name_and_path(argument: str) -> tuple[str, str]:
    """Return the name, "" if there is none, and the path of an argument NAME=PATH or PATH."""
    name, equals, path = argument.partition("=")
    return (name, path) if equals and not os.path.exists(argument) else ("", argument)
