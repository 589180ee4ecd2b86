"""persona: make a fine-tuning set that teaches a model to answer like one person, from chat exports.

    OUT/messages         all messages, cleaned; names are pseudonyms, personal data is masked
    OUT/conversations    complete conversations; the vocabulary is learned from them if none is given
    OUT/windows          training examples of at most `max_length` tokens; trainers read the `messages` column
    OUT/shards           token shards with a loss mask over the person's answers
    OUT/transcripts, OUT/transcript-shards   all conversations as plain text, for a base model; if asked for
    OUT/*.jsonl          the windows as JSONL of `messages`, one file per split
    OUT/cuts.json        the first held-out message of the longest conversation, if it had to be cut
    OUT/learned.json     number of the person's words by platform and language, and whether they are learned
    OUT.audit.json       names that the rules leave in texts; stored next to OUT, since OUT may be given to others

At the end every file in OUT is searched for every known name, phone number and address (`core/output/audit.py`).

Steps whose input and parameters did not change are not run again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dataprep.core.model.estimator import Estimator
from dataprep.core.model.function import Map
from dataprep.core.model.stage import Stage
from dataprep.core.output.audit import audit
from dataprep.shown.notebook import block

from .core.model.batch import Batch, parse_id, show_id
from .core.model.dataset import Dataset
from .core.output import kinds, owned
from .core.pipeline import Pipeline
from .core.run.context import context_of
from .core.run.plan import check_apart
from .core.run.runner import Runner
from .dedup.minhash import MinHash
from .errors import PlanError, counted
from .inference.jsonl import check_jsonl, repeated_windows, write_jsonl
from .messages.clean import CleanMessages
from .messages.conversations.cap import CapRepeats
from .messages.conversations.cuts import cuts_of
from .messages.conversations.stage import Conversations
from .messages.conversations.turns import MAX_BYTES, Turns
from .messages.conversations.windows import ANSWERS
from .messages.learned import LearnedWords, learned_words
from .messages.names.consent import names_in
from .messages.names.known import parts
from .messages.names.stage import Consent, Pseudonyms, known_people
from .messages.names.weighing import listed_words
from .messages.overlaps import Overlaps
from .messages.people.authors import names_of_author, not_written
from .messages.people.people_file import people_of
from .read import read
from .store import files, lease, receipts
from .store.atomic import sweep_attempts
from .store.key import key
from .tokens.dialogue import ChatTokenCounter
from .tokens.shards.audited import SCANS
from .tokens.shards.encode import encode
from .tokens.shards.shard import Shards
from .tokens.split import SIDES, Split, split_of
from .tokens.templates import ANY, BUILT_IN, Template, specials_of, template_of
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

    Attributes:
        windows: the Dataset of windows (training examples, made of turns).
        shards: the token shards of the windows.
        jsonl: the JSONL file of each split that has windows.
        answers: the number of the person's turns that the model learns from.
        held_out: the number of windows in val and test.
        repeated: the number of held-out windows with the same text as a training window.
        transcripts: the shards of all conversations; None if they were not asked for.
        words: the number of the person's words that are learned, and the number of words that are not learned, by
            reason.
    """

    windows: Dataset
    shards: Shards
    jsonl: dict[str, str]
    """JSONL file of each split that has windows."""
    answers: int
    """Number of the person's turns that are training targets."""
    held_out: int = 0
    """Number of windows in val and test."""
    repeated: int = 0
    """Number of held-out windows with the words of a training window; the loss on them is lower than on new words."""
    transcripts: Shards | None = None
    """Token shards of all conversations as plain text, if they were asked for."""
    words: LearnedWords | None = None
    """Number of the person's words by platform and language, and whether they are learned; None in a dry run."""

    _repr_html_ = block

    def __str__(self) -> str:
        sides = ", ".join(f"{name} {len(self.shards.split(name)):,}" for name in SIDES if len(self.shards.split(name)))
        text = f"{counted(self.answers, 'answer')} in {counted(self.windows.count, 'window')} ({sides}), "
        text += counted(self.shards.n_tokens, "token")
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
    max_length: int = 1024,
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
    common_words: str | Sequence[str] | None = None,
    cap_repeats: bool = False,
    people: Any = None,
    transcripts: bool = False,
    runner: Runner | None = None,
    replace: bool = True,
    **options: Any,
) -> Persona:
    """Make a fine-tuning set of the answers of `person` from chat exports.

    Writes training examples (windows of turns) as a Dataset, as token shards and as JSONL files.

    Args:
        chats: a file, a folder or a list of exports, of any platform.
        person: the author to imitate, by the name in the exports; or a list of several names of this one person.
        out: the folder of all steps.
        template: the chat template: "course", "chatml", or a Jinja chat template (its text or a file).
        max_length: the maximum number of tokens of a window.
        tokenizer: a tokenizer or its path; missing special tokens of the template are appended to its vocabulary. None:
            a tokenizer of `vocab_size` ids is trained on the training conversations.
        vocab_size: the number of ids of the tokenizer that is trained if `tokenizer` is None.
        gap: the length of the pause that ends a conversation, such as "1h".
        context: the number of turns that a window repeats from the previous window; they are not learned again.
        val: the fraction (0 to 1) of the person's text that is held out for validation, as complete conversations. If
            validation and test sets would differ too much from their fractions, the longest conversation is cut between
            two exchanges.
        test: the fraction (0 to 1) of the person's text that is held out for testing, as complete conversations.
        clean: the stage that cleans messages; None: `CleanMessages()`, without the rules for e-mail addresses and phone
            numbers if `pii` is False.
        key_file: the file of the secret key; see `key` of `Pseudonyms`.
        refused: the file of people who did not agree; see `Consent`.
        names: more names to hide, or a file with one name per line; see `Pseudonyms`.
        pii: whether to mask personal data.
        common_words: words that are not treated as names, or a file with one word per line; see `Pseudonyms`.
        cap_repeats: whether an exchange that occurs n times is learned only sqrt(n) times, rounded up; see
            `CapRepeats`.
        people: a people file (`dataprep people`), which lists people who have several names. Each name in `person` then
            represents all names of that person.
        transcripts: whether to also write shards of all conversations as plain text, for training a base model.
        runner: the Runner of all steps; None: `dp.tools.Serial()`.
        replace: whether to replace a result in `out` that was made from other input or with other parameters.
        options: parameters of `dp.read`, such as date_order="dmy".

    Raises PlanError if no author has the name `person`, if the person refused consent, if the template does not fit the
    tokenizer, or if no text of the person is left; StaleOutput if `out` holds another result; InUse if another process
    writes into it.
    """
    folder, run_context, written = os.fspath(out).rstrip("/"), context_of(runner), template_of(template)
    docs = read(chats, **options)
    check_apart(docs, folder)
    kinds.refuse(folder, kinds.PERSONA)
    files.sweep(folder)
    if files.is_local(folder):
        sweep_attempts(files.path_of(f"{folder}.audit.json"))
    check_jsonl(folder)
    names_of_person = (person,) if isinstance(person, str) else tuple(person)
    known = people_of(people).joined(names_of_person) if names_of_person else people_of(people)
    own = names_of_author(docs, names_of_person, known)
    if odd := not_written(names_of_person, own, people_of(people)):
        log.warning("no message was written by %s; check the spelling of person=%r", ", ".join(map(repr, odd)), odd[0])

    def answers(author: str | None) -> dict[str, bool]:
        return {ANSWERS: author in own}

    consent = None if refused is None else Consent(refused=refused, people=known)
    if consent is not None and consent.reasons(pa.array(own)).null_count < len(own):
        msg = f"{own[0]!r} is on the list of people who refused consent ({refused}); choose another person"
        raise PlanError(msg)
    usual = names_in("persona", common_words) if common_words else ()
    hidden = Pseudonyms(key=key_file, consent=consent, names=() if names is None else names, common_words=usual,
                        pii=pii, detect_common_words=True, people=known, exports=docs)  # fmt: skip
    safe: list[Stage | Estimator] = [
        Overlaps(people=known),  # first: after a stage that changes texts, a saved step would have raw texts
        Map(answers, adds={ANSWERS: pa.bool_()}),
        hidden,  # before cleaning, whose statistics show examples of dropped messages
        clean or (CleanMessages() if pii else CleanMessages(emails=None, phones=None)),
        MinHash(preset="dialect", min_shingles=COPIED),
    ]
    messages = Pipeline(*safe).run(docs, out=f"{folder}/messages", runner=run_context, replace=replace)
    if not run_context.trial:
        owned.begin(folder)
    turns, wanted = Turns(gap=gap, context=context, openings="empty"), Split(val=val, test=test, group="conversation")

    def joined(turns: Turns) -> Dataset:
        made = Pipeline(turns).run(messages, out=f"{folder}/conversations", runner=run_context, replace=replace)
        if not made.count:
            msg = f"{own[0]!r} has no text left after cleaning, so there is nothing to learn; provide more chats"
            raise PlanError(msg)
        return made

    def cuts() -> dict[str, Any]:
        near = split_of(joined(turns), wanted, _letters)[1]
        return {"files": [], "cuts": [] if near else [*map(show_id, cuts_of(messages, turns, (val, test)))]}

    if not run_context.trial:  # the cuts are kept, so that a rerun finds the conversations as they were
        work = key([1, messages.key, messages.count, turns, wanted])
        found = receipts.once(f"{folder}/cuts.json", work, cuts)["cuts"]
        turns = replace_(turns, cuts=tuple(map(parse_id, found)))
    conversations = joined(turns)
    split, _ = split_of(conversations, wanted, _letters)
    home = f"{folder}/tokenizer"
    if tokenizer is None:
        special = specials_of(written, known=(), pattern=ANY)
        tok = train_bpe(
            conversations, vocab_size, sample=1.0, runner=run_context, out=home, special=special, split=split
        )
    else:
        tok = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer.load(tokenizer)
        if missing := specials_of(written, list(tok.special)):
            tok = tok.extended(written.source if written.source in BUILT_IN else missing)
            said = "the tokenizer lacks special tokens of the template, which are added after its last id: %s"
            log.warning(said, ", ".join(missing))
        tok.save(home)
    size = ChatTokenCounter(
        tokenizer=files.join(home, "tokenizer.json"), hash=tok.hash, template=written, max_length=max_length
    )
    windows = Pipeline(replace_(turns, token_counter=size), split, *([CapRepeats()] if cap_repeats else [])).run(
        messages, out=f"{folder}/windows", runner=run_context, replace=replace
    )
    lines = write_jsonl(windows, folder, specials_of(written, known=(), pattern=ANY))
    dtype = "uint16" if tok.vocab_size <= 1 << 16 else "uint32"
    if dtype == "uint32":
        log.warning("the vocabulary has %d ids, so tokens are stored as uint32", tok.vocab_size)
    to_shards: dict[str, Any] = {"runner": run_context, "split": split, "dtype": dtype, "replace": replace}
    shards = encode(windows, tok, f"{folder}/shards", template=written, **to_shards)
    made = Persona(windows, shards, *lines, *repeated_windows(windows))
    if transcripts:
        written_down = Pipeline(
            Conversations(gap=gap, max_bytes=MAX_BYTES, cuts=turns.cuts),
            Map(own_conversation, adds={"conversation": pa.uint64()}),
        ).run(messages, out=f"{folder}/transcripts", runner=run_context, replace=replace)
        all_shards = encode(written_down, tok, f"{folder}/transcript-shards", **to_shards)
        made = replace_(made, transcripts=all_shards)
    if run_context.trial:
        return made

    def count() -> dict[str, Any]:
        return {"files": [], "words": learned_words(docs, own, messages, windows, run_context).rows()}

    words = receipts.once(f"{folder}/learned.json", key([3, docs.key, windows.key]), count)["words"]
    more = [given for given in (names, refused, known.all_strings()) if given]
    mine = tuple(dict.fromkeys((*own, *(one for name in names_of_person for one in known.strings_of(name)))))
    of_all = made.transcripts.manifest.recipe if made.transcripts else None
    work = key([5, usual, docs.key, windows.key, shards.manifest.recipe, of_all, more, mine])
    receipts.once(f"{folder}.audit.json", work, lambda: _audit(docs, folder, run_context, more, mine, written, usual))
    return replace_(made, words=LearnedWords.of_rows(words))


def _letters(batch: Batch) -> I64:
    """Return the number of letters of the person's answers in each conversation, int64[n]."""
    turns = batch.column("messages")
    said, weights = (pc.struct_field(turns.flatten(), name) for name in ("content", "weight"))
    letters = pc.multiply(pc.utf8_length(said), weights.cast(pa.int32())).to_numpy()
    return np.bincount(pc.list_parent_indices(turns).to_numpy(), letters, len(turns)).astype(np.int64)


def own_conversation(id: int) -> dict[str, int]:  # noqa: A002 - the column's name
    """Return {"conversation": id}, the same column as in windows.

    Args:
        id: the id of the conversation's first message.
    """
    return {"conversation": id}


def _audit(
    docs: Dataset, folder: str, runner: Runner, lists: Sequence[str | Sequence[str]], own: Sequence[str],
    template: Template, usual: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """Search every file in `folder` for every known name and number; return the permitted occurrences, with counts.

    Models trained on the files are not searched, because their bytes may look like a name by chance.

    Raises Leak if a name or number is left that is not permitted.
    """
    names = [name for given in lists for name in names_in("persona", given)]
    people = known_people(docs, runner, names, own, words_of(template) | listed_words() | frozenset(usual))
    left = audit(folder, people, runner, skip=MODELS, scans=SCANS)
    return {"files": [], "left": dict(left.most_common())}


def words_of(template: Template) -> frozenset[str]:
    """Return the words that a template itself writes, such as "user", which may also be somebody's name."""
    pieces = template.pieces((("user", False), ("assistant", False)))
    return frozenset(parts(" ".join(one for one in pieces if isinstance(one, str)).replace("|", " ")))
