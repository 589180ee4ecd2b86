"""persona: make a fine-tuning set that teaches a model to answer like one person, from exports of chats.

    OUT/messages         all messages, cleaned; names are pseudonyms, personal data is masked
    OUT/conversations    complete conversations; the vocabulary is learned from them if none is given
    OUT/windows          training examples of at most `block` tokens; trainers read the column `messages`
    OUT/shards           token shards with a loss mask over the person's answers
    OUT/transcripts, OUT/transcript-shards   all conversations as plain text, for a base model; if asked for
    OUT/*.jsonl          the windows as JSONL of `messages`, one file per split
    OUT/learned.json     number of the person's words by platform, language, and whether they are learned
    OUT.audit.json       names that the rules leave in texts; not in OUT, since OUT may be given to others

At the end every file in OUT is searched for every known name, phone number and address (`core/audit.py`).

Steps whose input and parameters did not change are not run again.
"""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.audit import CELL, Strings, audit
from dataprep.core.estimator import Estimator
from dataprep.core.stage import Map, Stage

from .core.batch import Batch
from .core.dataset import Dataset
from .core.folder import Folder
from .core.pipeline import Pipeline
from .core.runner import Runner, runner_of
from .core.trial import current
from .dedup.minhash import MinHash
from .errors import PlanError
from .messages.clean import CleanMessages
from .messages.conversations.cap import CapRepeats
from .messages.conversations.cuts import cuts_of
from .messages.conversations.stage import Conversations
from .messages.conversations.turns import ANSWERS, MAX_BYTES, Turns
from .messages.learned import LearnedWords, learned_words
from .messages.names.consent import names_in
from .messages.names.known import parts
from .messages.names.stage import Consent, Pseudonyms, known_people
from .messages.names.weighing import listed_words
from .messages.overlaps import Overlaps
from .messages.people.identities import Identities
from .messages.people.people_file import people_of
from .read import read
from .store import files, lease, receipts
from .store.key import key
from .tokens.dialogue import TokenSize
from .tokens.shard_format import DTYPES
from .tokens.shards.encode import encode
from .tokens.shards.shard import Shards
from .tokens.split import SIDES, Split, split_of
from .tokens.templates import ANY, BUILT_IN, SURE, Template, specials_of, template_of
from .tokens.vocabulary.tokenizer import Tokenizer
from .tokens.vocabulary.train import train_bpe
from .unicode.text import I64

log = logging.getLogger("dataprep")

COPIED = 397  # runs of 4 characters: a message of 400 characters that is sent twice is a forward or an article
MODELS = ("base", "model")  # folders in OUT that training writes
VAL = 0.05  # of the person's letters: chats are small


@dataclass(frozen=True)
class Persona:
    """The result of `persona`.

    windows: the Dataset of windows (training examples, made of turns). shards: their token shards. jsonl: the JSONL
    file of each split that has windows. answers: number of the person's turns to be learned. held_out: number of
    windows in val and test. repeated: number of held-out windows with the same text as a training window.
    transcripts: shards of all conversations, if asked for. words: how many of the person's words are learned, and for
    which reasons the others are not.
    """

    windows: Dataset
    shards: Shards
    jsonl: dict[str, str]
    """JSONL file of each split that has windows."""
    answers: int
    """Number of the person's turns to be learned."""
    held_out: int = 0
    """Number of windows in val and test."""
    repeated: int = 0
    """Number of these whose words are also those of a training window: their loss is lower than for new words."""
    transcripts: Shards | None = None
    """Token shards of all conversations as plain text, if they were asked for."""
    words: LearnedWords | None = None
    """Number of the person's words by platform and language, and whether they are learned; None in a dry run."""

    def __str__(self) -> str:
        sides = ", ".join(f"{name} {len(self.shards.split(name)):,}" for name in SIDES if len(self.shards.split(name)))
        text = f"{self.answers:,} answers in {self.windows.count:,} windows ({sides}), {self.shards.n_tokens:,} tokens"
        if self.repeated:
            text += f"; {self.repeated:,} of {self.held_out:,} held-out windows have the words of a training window"
        return f"{text}\n{self.words}" if self.words else text


@lease.writes
def persona(
    chats: Any,
    person: str | Sequence[str],
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
    names: str | Sequence[str] | None = None,
    pii: bool = True,
    common: str | Sequence[str] | None = None,
    cap_repeats: bool = False,
    people: Any = None,
    transcripts: bool = False,
    run: Runner | None = None,
    replace: bool = True,
    **options: Any,
) -> Persona:
    """Make a fine-tuning set from exports of chats, to teach a model to answer like `person`.

    Writes training examples (windows of turns) as a Dataset, as token shards and as JSONL files.

    chats: a file, a folder or a list of exports, of any platform.
    person: the author to imitate, as the exports write the name; or several names of this one person.
    out: the folder of all steps.
    template: "course", "chatml", or a Jinja chat template (its text or a file).
    block: the largest number of tokens of a window.
    tokenizer: a tokenizer or its path; special tokens of the template that it lacks are added at its end. None: one of
    `vocab_size` ids is trained on the training conversations.
    gap: the silence that ends a conversation.
    context: number of turns that a window repeats from the window before; they are not learned again.
    val, test: shares (0 to 1) of the person's text that are held out, as whole conversations; if these differ too much
    in size, the longest is cut between two exchanges.
    clean: the stage that cleans messages.
    key_file, names, refused: see `Pseudonyms` and `Consent`.
    pii: mask personal data.
    common: words of names to leave in texts, or a file with one per line; see `Pseudonyms`.
    cap_repeats: learn an exchange that occurs n times sqrt(n) times, rounded up; see `CapRepeats`.
    people: a people file (`dataprep people`), which states the people who have several names; a name in `person` then
    stands for all names of that person.
    transcripts: also write shards of all conversations as plain text, to train a base model on.
    options: parameters of `dp.read`, such as date_order="dmy".

    Raises PlanError if no author has that name, if the person did not agree, if the template does not fit the
    tokenizer, or if no text of the person is left; InUse if another process writes into `out`.
    """
    folder, runner, written = os.fspath(out).rstrip("/"), runner_of(run), template_of(template)
    docs = read(chats, **options)
    names_of_person = (person,) if isinstance(person, str) else tuple(person)
    known = people_of(people).joined(names_of_person)
    own = _own_names(docs, names_of_person, known)

    def answers(author: str | None) -> dict[str, bool]:
        return {ANSWERS: author in own}

    consent = None if refused is None else Consent(refused=refused, people=known)
    if consent is not None and consent.reasons(pa.array(own)).null_count < len(own):
        msg = f"{own[0]!r} is on the list of people who did not agree ({refused}); choose another person"
        raise PlanError(msg)
    usual = names_in("persona", common) if common else ()
    hidden = Pseudonyms(key=key_file, consent=consent, names=names or (), common=usual, pii=pii, weigh=True,
                        people=known)  # fmt: skip
    safe: list[Stage | Estimator] = [
        Overlaps(people=known),  # first: after a stage that changes texts, a saved step would have raw texts
        Map(answers, adds={ANSWERS: pa.bool_()}),
        hidden,  # before cleaning, whose statistics show examples of dropped messages
        clean or (CleanMessages() if pii else CleanMessages(emails=None, phones=None)),
        MinHash(preset="dialect", min_shingles=COPIED),
    ]
    messages = Pipeline(*safe).run(docs, out=f"{folder}/messages", run=runner, replace=replace)
    turns = Turns(gap=gap, context=context, openings="empty")
    conversations = Pipeline(turns).run(messages, out=f"{folder}/conversations", run=runner, replace=replace)
    if not conversations.count:
        msg = f"{own[0]!r} wrote no text that is left after cleaning, so there is nothing to learn; give more chats"
        raise PlanError(msg)
    split, near = split_of(conversations, wanted := Split(val=val, test=test, group="conversation"), _letters)
    if not near and not current() and (cuts := cuts_of(messages, turns, (val, test))):
        turns = replace_(turns, cuts=cuts)
        conversations = Pipeline(turns).run(messages, out=f"{folder}/conversations", run=runner, replace=replace)
        split, _ = split_of(conversations, wanted, _letters)
    home = f"{folder}/tokenizer"
    if tokenizer is None:
        special = specials_of(written, known=(), pattern=ANY)
        tok = train_bpe(conversations, vocab_size, sample=1.0, run=runner, out=home, special=special, split=split)
    else:
        tok = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer.load(tokenizer)
        if missing := specials_of(written, list(tok.special)):
            tok = tok.extended(written.source if written.source in BUILT_IN else missing)
            log.warning("the tokenizer gets %s at its end, which the template uses", ", ".join(missing))
        tok.save(home)
    size = TokenSize(tokenizer=files.join(home, "tokenizer.json"), hash=tok.hash, template=written, block=block)
    windows = Pipeline(replace_(turns, size=size), split, *([CapRepeats()] if cap_repeats else [])).run(
        messages, out=f"{folder}/windows", run=runner, replace=replace
    )
    lines = write_jsonl(windows, folder, specials_of(written, known=(), pattern=ANY))
    dtype = "uint16" if tok.vocab_size <= 1 << 16 else "uint32"
    if dtype == "uint32":
        log.warning("the vocabulary has %d ids, so tokens are stored as uint32", tok.vocab_size)
    to_shards: dict[str, Any] = {"run": runner, "split": split, "dtype": dtype, "replace": replace}
    shards = encode(windows, tok, f"{folder}/shards", template=written, **to_shards)
    made = Persona(windows, shards, *lines, *_repeated(windows))
    if transcripts:
        written_down = Pipeline(
            Conversations(gap=gap, max_bytes=MAX_BYTES, cuts=turns.cuts),
            Map(own_conversation, adds={"conversation": pa.uint64()}),
        ).run(messages, out=f"{folder}/transcripts", run=runner, replace=replace)
        all_shards = encode(written_down, tok, f"{folder}/transcript-shards", **to_shards)
        made = replace_(made, transcripts=all_shards)
    if current():
        return made

    def count() -> dict[str, Any]:
        return {"files": [], "words": learned_words(docs, own, messages, windows, runner).rows()}

    words = receipts.once(f"{folder}/learned.json", key([2, docs.key, windows.key]), count)["words"]
    more = [given for given in (names, refused, known.all_strings()) if given]
    mine = tuple(dict.fromkeys((*own, *(one for name in names_of_person for one in known.strings_of(name)))))
    of_all = made.transcripts.manifest["recipe"] if made.transcripts else None
    work = key([3, usual, docs.key, windows.key, shards.manifest["recipe"], of_all, more, mine])
    receipts.once(f"{folder}.audit.json", work, lambda: _audit(docs, folder, runner, more, mine, written, usual))
    return replace_(made, words=LearnedWords.of_rows(words))


def _letters(batch: Batch) -> I64:
    """Return the number of letters of the person's answers in each conversation, int64[n]."""
    turns = batch.column("messages")
    said, weights = (pc.struct_field(turns.flatten(), name) for name in ("content", "weight"))
    letters = pc.multiply(pc.utf8_length(said), weights.cast(pa.int32())).to_numpy()
    return np.bincount(pc.list_parent_indices(turns).to_numpy(), letters, len(turns)).astype(np.int64)


def own_conversation(id: int) -> dict[str, int]:  # noqa: A002 - the column's name
    """Return {"conversation": id}, the column that windows have too; id: that of the conversation's first message."""
    return {"conversation": id}


def _audit(
    docs: Dataset, folder: str, run: Runner, lists: Sequence[str | Sequence[str]], own: Sequence[str],
    template: Template, usual: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """Search every file in `folder` for every known name and number; return those that may stay, with counts.

    Models that were trained on the files are not searched: by chance, their numbers may look like a name.

    Raises Leak if one is left that may not.
    """
    names = [name for given in lists for name in names_in("persona", given)]
    people = known_people(docs, run, names, own, words_of(template) | listed_words() | frozenset(usual))
    left = audit(folder, people, run, skip=MODELS, scans={".bin": decoded})
    return {"files": [], "left": dict(left.most_common())}


def words_of(template: Template) -> frozenset[str]:
    """Return the words that a template itself writes, such as "user", which may also be somebody's name."""
    pieces = template.pieces((("user", False), ("assistant", False)))
    return frozenset(parts(" ".join(one for one in pieces if isinstance(one, str)).replace("|", " ")))


def decoded(url: str) -> Iterator[Strings]:
    """Yield the text of a file of tokens, to be searched for names, a million tokens at a time."""
    home = url.rpartition("/")[0]
    tok, dtype = Tokenizer.load(home), DTYPES[Folder(home).manifest["dtype"]]
    with files.open_raw(url) as f:
        tokens = np.frombuffer(f.read(), dtype)
    for first in range(0, len(tokens), 1 << 20):
        yield Strings(f"tokens from {first:,}", CELL, [tok.decode(tokens[max(0, first - 256) : first + (1 << 20)])])


def _repeated(windows: Dataset) -> tuple[int, int]:
    """Return the number of held-out windows, and of those whose messages are also those of a training window."""
    words: dict[bool, list[tuple[str, ...]]] = {True: [], False: []}  # by whether it is held out
    for part in windows.parts:
        for batch in part.batches(["messages", "side"]):
            turns = batch["messages"].to_pylist()
            for messages, side in zip(turns, batch["side"].to_pylist(), strict=True):
                words[SIDES[side] != SIDES[0]].append(tuple(m["content"] for m in messages))
    known = set(words[False])
    return len(words[True]), sum(one in known for one in words[True])


def write_jsonl(windows: Dataset, out: str, specials: Sequence[str] = ()) -> tuple[dict[str, str], int]:
    """Write the column `messages` of each split to OUT/SPLIT.jsonl; return (file of each split, number of answers).

    A line is {"messages": [{"role", "content"}, ...]}, one window. An answer that is only context has weight 0; a
    trainer that ignores weights learns it again. Splits without windows have no file. The returned number counts the
    answers to be learned. specials: special tokens; if somebody typed one of them, or what looks like one, a space is
    added after its first character, since other trainers would make it a token.
    """
    urls = {side: files.join(out, f"{side}.jsonl") for side in SIDES}
    receipt = files.join(out, "jsonl.json")
    typed = re.compile("|".join([*map(re.escape, specials), SURE.pattern]))
    made = receipts.once(receipt, key([3, windows.key, typed.pattern]), lambda: _write_sides(windows, urls, typed))
    if made["typed"]:
        log.warning("%d special tokens that people typed have a space in the JSONL files", made["typed"])
    found = {files.name_of(f["name"]).removesuffix(".jsonl"): files.join(out, f["name"]) for f in made["files"]}
    return found, made["answers"]


def _write_sides(windows: Dataset, urls: dict[str, str], typed: re.Pattern[str]) -> dict[str, Any]:
    """Write the file of each split, and delete files of splits without windows; return the receipt."""
    lines: dict[str, list[bytes]] = {side: [] for side in SIDES}
    answers = n_typed = 0
    for batch in windows.batches():
        answers += pc.sum(pc.struct_field(batch["messages"].flatten(), "weight")).as_py() or 0
        for messages, side in zip(batch["messages"].to_pylist(), batch["side"].to_pylist(), strict=True):
            for message in messages:
                message["content"], n = typed.subn(lambda m: f"{m[0][0]} {m[0][1:]}", message["content"])
                n_typed += n
            lines[SIDES[side]].append(orjson.dumps({"messages": list(map(_plain, messages))}))
    written = {side: found for side, found in lines.items() if found}
    for side, url in urls.items():
        if side in written:
            files.write_bytes(url, b"\n".join(written[side]) + b"\n")
        else:
            files.remove(url)  # of an earlier run with another split
    return {"files": [urls[side] for side in written], "answers": answers, "typed": n_typed}


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    plain = {"role": message["role"], "content": message["content"]}
    return {**plain, "weight": 0} if message["role"] == "assistant" and message["weight"] == 0 else plain


def _own_names(docs: Dataset, given: Sequence[str], known: Identities) -> tuple[str, ...]:
    """Return the names of the person under which messages were written, in the order of their numbers of messages.

    given: the names that the user gave. Raises PlanError, listing the authors, if nobody wrote under one of these, or
    under another name of its person.
    """
    if not given or "" in given:
        msg = f"person={given!r} must be the name of an author, or several names of one"
        raise PlanError(msg)
    if "author" not in docs.columns:
        msg = "these files have no authors; give exports of chats from WhatsApp, Telegram, Discord ..."
        raise PlanError(msg)
    wrote: Counter[str] = Counter()
    for part in docs.parts:
        for batch in part.batches(["author"]):
            counted = batch["author"].value_counts()
            names, numbers = (counted.field(i).to_pylist() for i in (0, 1))
            wrote.update({name: n for name, n in zip(names, numbers, strict=True) if name})
            if not known and len(given) == 1 and given[0] in wrote:
                return tuple(given)
    people = {name: known.find(name) for name in wrote}
    for name in given:
        person = known.find(name)
        if name not in wrote and (person is None or person not in people.values()):
            most = ", ".join(f"{name} ({n:,})" for name, n in wrote.most_common(10))
            msg = f"person={name!r} must be the name of an author; "
            msg += f"the authors are {most}" if most else "the files name no author, so give other exports"
            raise PlanError(msg)
    mine = {known.find(name) for name in given} - {None}
    return tuple(name for name, _ in wrote.most_common() if name in given or people[name] in mine)
