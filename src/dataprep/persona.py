"""`persona`: exports of chats to a fine-tuning set that teaches a model to answer like one of the people in them.

    OUT/messages    every message, cleaned, safe: names are pseudonyms, personal data is masked
    OUT/talks       who said what, whole talks; the vocabulary is learned from them if none is given
    OUT/windows     talks cut to the block, without copies; the column `messages` is what trainers read
    OUT/shards      token shards with a loss mask over what the person said
    OUT/*.jsonl     the windows as JSONL of `messages`, a file a side

Each step is a folder with receipts: what did not change is not made again.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.estimator import Estimator
from dataprep.core.stage import Map, Stage

from .core.dataset import Dataset
from .core.pipeline import Pipeline
from .core.runner import Runner, Serial
from .dedup.exact import Exact
from .dedup.minhash import MinHash
from .errors import PlanError
from .messages.clean import CleanMessages
from .messages.conversations.turns import ANSWERS, Turns
from .messages.names.stage import Consent, Pseudonyms
from .messages.overlaps import Overlaps
from .pii.stage import PII
from .read import read
from .store import files, receipts
from .store.key import key
from .tokens.dialogue import TokenSize
from .tokens.shards.encode import encode
from .tokens.shards.shard import Shards
from .tokens.split import SIDES, Split
from .tokens.templates import ANY, specials_of, template_of
from .tokens.vocabulary.tokenizer import Tokenizer
from .tokens.vocabulary.train import train_bpe

log = logging.getLogger("dataprep")

SHORT_WINDOW = 57  # runs of 4 characters: "ok?", "yes" are said often, and names alone make short windows alike
VAL = 0.05  # of the talks: chats are small, and their talks many


@dataclass(frozen=True)
class Persona:
    """What came out."""

    windows: Dataset
    shards: Shards
    jsonl: dict[str, str]
    """The JSONL file of each side that has windows."""
    answers: int
    """Turns of the person that are learned."""

    def __str__(self) -> str:
        sides = ", ".join(f"{name} {len(self.shards.split(name)):,}" for name in SIDES if len(self.shards.split(name)))
        return f"{self.answers:,} answers in {self.windows.count:,} windows ({sides}), {self.shards.n_tokens:,} tokens"


def persona(
    chats: Any,
    person: str,
    out: str | os.PathLike[str],
    *,
    template: str | os.PathLike[str] = "chatml",
    block: int = 1024,
    tokenizer: Tokenizer | str | os.PathLike[str] | None = None,
    vocab_size: int = 8_000,
    gap: str = "1h",
    context: int = 2,
    val: float = VAL,
    test: float = 0.0,
    clean: CleanMessages | None = None,
    key_file: str | None = None,
    refused: str | None = None,
    names: str | None = None,
    pii: bool = True,
    run: Runner | None = None,
    replace: bool = True,
    **options: Any,
) -> Persona:
    """Teach a model to answer like `person`: the whole way from exports to windows, shards and JSONL.

    chats: a file, a folder or a list of exports, of any platform. person: the author to imitate, as the exports write
    the name. out: the folder of all steps.
    template: "course", "chatml", or a Jinja chat template (its text or a file). block: tokens of the longest window.
    tokenizer: whose ids; None: one of `vocab_size` ids is trained on the training talks.
    gap: the silence that ends a talk. context: turns that a window repeats of the one before, not to be learned.
    val, test: shares of the talks that are held out; a window that also stands there is taken out of training.
    clean: the rules of cleaning. key_file, names, refused: see `Pseudonyms` and `Consent`. pii: mask personal data.
    options: of `dp.read`, such as date_order="dmy".

    Raises:
        PlanError: nobody has that name, the template does not fit the tokenizer, or no talk has an answer.
    """
    folder, runner, written = os.fspath(out).rstrip("/"), run or Serial(), template_of(template)
    docs = read(chats, **options)
    _check_person(docs, person)

    def answers(author: str | None) -> dict[str, bool]:
        return {ANSWERS: author == person}

    consent = None if refused is None else Consent(refused=refused)
    if consent is not None and consent.reasons(pa.array([person]))[0].is_valid:
        msg = f"{person!r} is on the list of those who did not agree ({refused}), so there is nothing to learn"
        raise PlanError(msg)
    hidden = Pseudonyms(key=key_file, consent=consent, names=names or (), common=())  # a name that is a word goes, too
    safe: list[Stage | Estimator] = [
        Overlaps(),  # first: where it stands behind a stage that changes texts, a step would keep them
        Map(answers, adds={ANSWERS: pa.bool_()}),
        hidden,
        *([PII()] if pii else []),  # before cleaning, whose books show what was dropped
        clean or (CleanMessages() if pii else CleanMessages(emails=None, phones=None)),
    ]
    messages = Pipeline(*safe).run(docs, out=f"{folder}/messages", run=runner, replace=replace)
    split = Split(val=val, test=test, group="conversation")
    turns = Turns(gap=gap, context=context)
    talks = Pipeline(turns).run(messages, out=f"{folder}/talks", run=runner, replace=replace)
    if not talks.count:
        msg = f"{person!r} answers nobody within gap={gap!r}, so there is nothing to learn; give a longer gap="
        raise PlanError(msg)
    place = f"{folder}/tokenizer"
    if tokenizer is None:
        special = specials_of(written, known=(), marks=ANY)
        tok = train_bpe(talks, vocab_size, sample=1.0, run=runner, out=place, special=special, split=split)
    else:
        tok = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer.load(tokenizer)
        tok.save(place)
    size = TokenSize(tokenizer=files.join(place, "tokenizer.json"), hash=tok.hash, template=written, block=block)
    alike = MinHash(preset="dialect", min_shingles=SHORT_WINDOW, keep="best:side")
    windows = Pipeline(Turns(gap=gap, context=context, size=size), split, Exact(keep="best:side"), alike).run(
        messages, out=f"{folder}/windows", run=runner, replace=replace
    )
    shards = encode(windows, tok, f"{folder}/shards", run=runner, split=split, template=written, replace=replace)
    return Persona(windows, shards, *write_jsonl(windows, folder))


def write_jsonl(windows: Dataset, out: str) -> tuple[dict[str, str], int]:
    """The column `messages` as JSONL, a file a side: {"messages": [{"role", "content"}, ...]} a line.

    An answer that is only context has weight 0, as some trainers read it; those that do not know weights learn it
    again. Returns the file of each side, and how many answers are to be learned.
    """
    places = {side: files.join(out, f"{side}.jsonl") for side in SIDES}
    receipt = files.join(out, "jsonl.json")
    made = receipts.once(receipt, key([2, windows.key]), lambda: _written(windows, places))
    found = {files.name_of(f["name"]).removesuffix(".jsonl"): files.join(out, f["name"]) for f in made["files"]}
    return found, made["answers"]


def _written(windows: Dataset, places: dict[str, str]) -> dict[str, Any]:
    lines: dict[str, list[bytes]] = {side: [] for side in SIDES}
    answers = 0
    for batch in windows.batches():
        answers += pc.sum(pc.struct_field(batch["messages"].flatten(), "weight")).as_py() or 0
        for messages, side in zip(batch["messages"].to_pylist(), batch["side"].to_pylist(), strict=True):
            lines[SIDES[side]].append(orjson.dumps({"messages": list(map(_plain, messages))}))
    written = {side: found for side, found in lines.items() if found}
    for side, place in places.items():
        if side in written:
            files.write_bytes(place, b"\n".join(written[side]) + b"\n")
        else:
            files.remove(place)  # of an earlier run with another split
    return {"files": [places[side] for side in written], "answers": answers}


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    told = {"role": message["role"], "content": message["content"]}
    return {**told, "weight": 0} if message["role"] == "assistant" and message["weight"] == 0 else told


def _check_person(docs: Dataset, person: str) -> None:
    """Somebody of that name wrote; else the sentence lists who did."""
    wrote: Counter[str] = Counter()
    if "author" not in docs.columns:
        msg = "these files are no chats: there is no author; dp.read knows exports of WhatsApp, Telegram, Discord ..."
        raise PlanError(msg)
    for part in docs.parts:
        for batch in part.batches(["author"]):
            counted = batch["author"].value_counts()
            names, numbers = (counted.field(i).to_pylist() for i in (0, 1))
            wrote.update({name: n for name, n in zip(names, numbers, strict=True) if name})
            if person in wrote:
                return
    most = ", ".join(f"{name} ({n:,})" for name, n in wrote.most_common(10))
    msg = f"nobody is called {person!r}; those who wrote are {most or 'none'}"
    raise PlanError(msg)
