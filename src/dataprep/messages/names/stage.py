"""Pseudonyms: replace the names of people by pseudonyms, as authors and inside texts.

    dp.Pipeline(Pseudonyms(key="people.key", consent=Consent(refused="refused.txt")), dp.PII()).run(docs, out="safe")

The folder of a Dataset made with `Pseudonyms` contains no known name, neither in the columns nor in the statistics or
the names of input files (`Stage.hides`). The saved steps before this stage, which contain names, are removed when the
Dataset is complete.
"""

from __future__ import annotations

import os
import re
import secrets
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataprep.core.model.batch import Batch
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.estimator import Estimator
from dataprep.core.model.part import Part
from dataprep.core.model.stage import Stage
from dataprep.core.run.context import given_to, sees_all, trial_of
from dataprep.core.run.passes import Pass
from dataprep.core.run.runner import Runner
from dataprep.errors import PlanError
from dataprep.messages.people.identities import Identities
from dataprep.messages.people.people_file import people_of
from dataprep.store import files, receipts
from dataprep.store.place import check_here

from .consent import Consent, names_in
from .handles import stated_in, with_accounts
from .known import KnownPeople
from .matching import COMMON, common_words, identity, words
from .parameters import check_types, searchable, secret_of
from .pseudonyms import People, digest
from .replace import NEEDS, Pseudonymised, read_people, warm
from .terms import AUTHOR, CHAT, HANDLE, MENTION, NAMING, STATED, is_group_name, one_word
from .weighing import common_in

PREFIXES = "وفبلكולבכמשה"
MENTIONED = re.compile("@\u2068([^\u2069\n]{1,200})\u2069")
NUMBERED = re.compile(r"(?<![\w@.])@\+?([1-9]\d{9,14})(?![\w@]|\.\w)", re.ASCII)  # "@212612345678", as WhatsApp writes
__all__ = ["Consent", "Pseudonyms"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Pseudonyms(Estimator):
    """Replace the names of people, as authors and inside texts, by pseudonyms; an Estimator, which learns names first.

    >>> Pseudonyms(key="people.key", mapping="people.parquet")      # the same pseudonyms in every run
    >>> Pseudonyms()                                                # random pseudonyms that nobody can reverse

    Put this stage first, so that it sees every author and no saved step has a raw text. The following names are
    replaced: those of authors, of people mentioned in WhatsApp's form (@Name, the name between U+2068 and U+2069, or @
    and a number), of direct chats (at most two authors), of accounts in the export (ids and account names), and those
    in `names=`.

    The pseudonym of a person is `Person-` and letters that encode the keyed hash (BLAKE2b) of the name: four letters,
    or as many as make all pseudonyms different. If the name of a person is a phone number, the number is replaced by
    the person's pseudonym in every written form: national or international, with any signs between the digits.

    In texts, full names and each word of a name are replaced, without regard to case, accents, Arabic vowel signs and
    hamza seats, even if stretched ("Ilseee"), possessive ("Ilse's"), mentioned (@Ilse) or after one of `prefixes`. A
    part of a word is replaced only next to digits and inside hashtags, handles, links and addresses. A word that is
    part of several people's names represents the person who is in that chat; if none or several of them are in the
    chat, the word gets its own pseudonym. `chat` and `source` become `Chat-...`; `meta` keeps only the keys in
    `keep_meta`.

    Args:
        key: the secret key: the path of a file with at least 16 bytes, "env:NAME" for an environment variable, or
            bytes. Only its fingerprint is stored. None: a random key that is not stored. An interrupted run resumes
            with the same pseudonyms; a different output folder gets different pseudonyms.
        mapping: the path of a table of all names and pseudonyms that is written (Parquet: kind, chat, name, pseudonym),
            outside of `out`; None: no table is written.
        consent: a `Consent`. All names are learned, and then the messages of people who did not agree are dropped.
        names: further names to hide, or a file with one name per line, such as nicknames and people who never wrote.
        min_chars: the minimum number of characters of a word of a name; a shorter word is replaced only after an @.
        common_words: the words that are replaced only after an @, since they usually are not names (will, work, نور);
            None: `matching.COMMON`. Words that are not replaced because of `min_chars` or `common_words` are counted as
            names.common_left.
        detect_common_words: whether to also leave words that are in dataprep's lists of frequent words, and that the
            texts use more often in their ordinary meaning than as names. With common_words=(), only these words and
            short words are left.
        prefixes: the letters that Arabic joins to the following word; up to two of them may precede a name, and they
            are kept.
        redact_kinds: the kinds of messages whose text becomes `<kind>`, since they may name people and places that this
            stage does not know.
        keep_meta: the keys of `meta` to keep.
        min_suffix_letters: the minimum number of letters after `Person-`, 4 bits each. With more letters, existing
            pseudonyms become longer less often when new people are added.
        pseudonym_format: the pseudonym of a person, in which {} is replaced by the letters.
        pii: whether to replace personal data, too, by the rules of `PII()`, in the same pass over the raw text.
        people: a people file (`dataprep people`). All names and numbers of a person get one pseudonym, that of the name
            listed first, and so do the chats of two people that are named after the person. `consent` uses this file,
            too.
        exports: the exports as `dp.read` returns them, from which ids and names of accounts are read. None: they are
            read from the files that the documents came from, even if earlier stages or pipelines saved the documents;
            if such a file no longer exists, a warning is logged.

    Raises PlanError for a key that is missing or short, a mapping inside `out`, values that are not valid, and a people
    file that is not valid or that lists a person who is not in the documents.
    """

    key: str | bytes | None = None
    mapping: str | None = None
    consent: Consent | None = None
    names: str | Sequence[str] = ()
    min_chars: int = 3
    common_words: tuple[str, ...] | None = None
    prefixes: str = PREFIXES
    redact_kinds: tuple[str, ...] = ("contact", "location", "system")
    keep_meta: tuple[str, ...] = ("edited",)
    min_suffix_letters: int = 4
    pseudonym_format: str = "Person-{}"
    pii: bool = False
    detect_common_words: bool = False
    people: Any = None
    exports: Dataset | None = None
    secret: bytes | None = field(init=False, compare=False)
    more: tuple[str, ...] = field(init=False, compare=False)

    VERSION: ClassVar[int] = 17
    needs: ClassVar[tuple[str, ...]] = NEEDS
    sees: ClassVar[tuple[str, ...]] = ("authors",)
    hides: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_types(self)
        object.__setattr__(self, "secret", secret_of(self.key))
        object.__setattr__(self, "more", searchable(self.names) if self.names or isinstance(self.names, str) else ())
        object.__setattr__(self, "people", people_of(self.people))
        if self.people and self.consent is not None and not self.consent.people:
            object.__setattr__(self, "consent", replace(self.consent, people=self.people))
        for name in ("common_words", "redact_kinds", "keep_meta"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else tuple(value))
        word = self.pseudonym_format.replace("{}", "")
        if word == self.pseudonym_format or not words(word) or any(c.isdigit() for c in word):
            msg = (
                f"pseudonym_format={self.pseudonym_format!r} must contain a word without digits, and {{}} for "
                f"letters, as 'Person-{{}}'"
            )
            raise PlanError(msg)
        if not 2 <= self.min_suffix_letters <= 32 or self.min_chars < 1:
            msg = (
                f"min_suffix_letters={self.min_suffix_letters} must be 2 to 32, and min_chars={self.min_chars} must "
                "be 1 or more"
            )
            raise PlanError(msg)

    @property
    def fingerprint(self) -> str:
        """A hash of the secret key, to compare keys without revealing them; "random" without a key."""
        return "random" if self.secret is None else digest(self.secret, "fingerprint", "")[:16]

    def __repr__(self) -> str:
        kept = ", mapping kept" if self.mapping else ""
        return f"Pseudonyms(key {self.fingerprint}{kept}{f', {self.consent}' if self.consent else ''})"

    def recipe(self) -> Any:
        """Return the values that identify this stage: all parameters but the secret key and paths of files."""
        known = self.fingerprint, self.consent, self.more, self.people.persons
        exports = None if self.exports is None else self.exports.key
        return (*known, *self._settings, self.min_suffix_letters, self.pseudonym_format, exports)

    @property
    def _settings(self) -> tuple[Any, ...]:
        return (
            self.min_chars,
            self.common_words,
            self.prefixes,
            self.redact_kinds,
            self.keep_meta,
            self.pii,
            self.detect_common_words,
        )

    def warm(self) -> None:
        """Compile the kernels, before workers start."""
        warm()

    def fit(self, docs: Dataset, runner: Runner, out: str) -> Stage:
        """Learn all names in `docs`, write the table of pseudonyms into `out`, and return the stage that applies it."""
        if joined := {"n_messages", "messages"} & set(docs.columns):
            msg = f"Pseudonyms needs single messages, not joined ones (column {min(joined)!r}); apply it before joining"
            raise PlanError(msg)
        work_key, url = self.key_for(docs), files.join(out, "people.parquet")
        collect = _CollectNames(out, work_key)
        n_parts = len(list(runner.map(collect, docs.tasks, "Pseudonyms: names")))
        parts = [_CollectNames.url(out, number) for number in range(n_parts)]
        found = receipts.once(url + ".json", work_key, lambda: self._write(url, parts, docs, runner))
        if self.mapping is not None and not trial_of(runner):
            self._keep(url, out)
        return Pseudonymised(
            people=url,
            key=work_key,
            facts={n: found[n] for n in ("people", "chats")},
            consent=self._consent(url),
            min_chars=self.min_chars,
            common=tuple(found["common"]),
            prefixes=self.prefixes,
            redact_kinds=self.redact_kinds,
            keep_meta=self.keep_meta,
            pii=self.pii,
            counts_words=trial_of(runner) is not None,
        )

    def _consent(self, url: str) -> Consent | None:
        """Return the Consent in which a listed name also represents all names of its account."""
        if self.consent is None:
            return None
        persons: dict[str, dict[str, str]] = defaultdict(dict)
        for row in read_people(url).to_pylist():
            if row["kind"] in NAMING:
                persons[row["pseudonym"]].setdefault(identity(row["name"]), row["name"])
        several = (tuple(names.values()) for names in persons.values() if len(names) > 1)
        return replace(self.consent, people=Identities(tuple(several)))

    def _write(self, url: str, parts: list[str], docs: Dataset, runner: Runner) -> dict[str, Any]:
        """Write the table of pseudonyms to `url`; return its receipt. A random key is not stored."""
        seen = {(r["kind"], r["chat"], r["name"]) for part in parts for r in read_people(part).to_pylist()}
        if sees_all(runner):
            seen |= stated_in(self.exports or given_to(runner, docs), runner, "Pseudonyms: accounts")
        known = with_accounts(self.people, seen)
        found = People(seen).found()
        named = sorted({name for _, _, name in found})
        if self.consent is not None:
            wrote = {name for kind, _, name in found if kind not in (HANDLE, STATED)}
            replace(self.consent, people=known).check(wrote, whole=sees_all(runner))
        if sees_all(runner):
            self.people.check(named)
        secret = self.secret or secrets.token_bytes(32)
        common = sorted(common_words(self.common_words))
        if self.detect_common_words:
            common += common_in(docs, runner, (*named, *self.people.all_strings()))
        people = People(seen, (*self.more, *self.people.all_strings()), known)
        table = people.table(secret, self.pseudonym_format, self.min_suffix_letters, frozenset(common))
        with files.atomic(url) as f:
            pq.write_table(table, f)
        wrote = {known.key_of(name) for kind, _, name in seen if kind == AUTHOR}
        chats = {chat for kind, chat, _ in seen if kind == CHAT}
        return {"files": [url], "common": common, "people": len(wrote), "chats": len(chats)}

    def check_here(self) -> None:
        """Raise PlanError if a relative path, such as `mapping`, was given in a different working folder."""
        super().check_here()
        if self.mapping is not None:
            check_here(self.given_in, [str(self.mapping)])

    def _keep(self, url: str, out: str) -> None:
        """Copy the table at `url` to `mapping`. Raises PlanError if that is inside the run's folder."""
        path = str(self.mapping)
        home = os.path.dirname(os.path.dirname(os.path.abspath(files.path_of(out)))) if files.is_local(out) else out
        if (os.path.abspath(path) if files.is_local(path) else path).startswith(home.rstrip("/") + "/"):
            msg = f"mapping={path!r} must be outside the run's folder, which others may get; choose another path"
            raise PlanError(msg)
        with files.atomic(path) as f:
            pq.write_table(read_people(url), f)


@dataclass(frozen=True)
class _CollectNames(Pass[Part]):
    """Write the names of authors, mentioned people and chats in a part."""

    folder: ClassVar[str] = "names"

    def write(self, url: str, item: Part) -> dict[str, Any]:
        seen: set[tuple[str, str, str]] = set()
        for batch in item.batches(["chat", "author", "text"]):
            seen |= seen_in(batch)
        columns = zip(*sorted(seen), strict=True) if seen else [()] * 3
        with files.atomic(url) as f:
            pq.write_table(pa.table([pa.array(c, pa.string()) for c in columns], ["kind", "chat", "name"]), f)
        return {}


def known_people(
    docs: Dataset, runner: Runner, names: Sequence[str], own: Sequence[str], stay: frozenset[str] = frozenset()
) -> KnownPeople:
    """Return a KnownPeople that finds all people whose names `Pseudonyms` would learn from `docs`.

    - names: more people to search for, as in `Pseudonyms`.
    - own: the names that are not an error, such as the user's own.
    - stay: words that are not an error.
    """
    seen = set().union(*runner.map(_names_in, docs.tasks, "names"), stated_in(docs, runner, "accounts"))
    people = People(seen).found()
    found = {name for _, _, name in people} | set(names_in("Pseudonyms", names) if names else ())
    groups = frozenset(n for k, _, n in seen if k == CHAT and is_group_name(n)) - found
    return KnownPeople(tuple(sorted(found | groups)), COMMON | stay | one_word(people), tuple(own), PREFIXES, groups)


def _names_in(part: Part) -> set[tuple[str, str, str]]:
    return set[tuple[str, str, str]]().union(*map(seen_in, part.batches(["chat", "author", "text"])))


def seen_in(batch: Batch) -> set[tuple[str, str, str]]:
    """Return (kind, chat, name) of every name in a batch: of authors, chats and mentioned people."""
    pairs = pa.table({n: batch.column(n).cast(pa.string()) for n in ("chat", "author")})
    rows = pairs.group_by(["chat", "author"], use_threads=False).aggregate([]).to_pylist()
    found = {(AUTHOR, r["chat"] or "", r["author"]) for r in rows if r["author"] is not None}
    found |= {(CHAT, r["chat"], r["chat"]) for r in rows if r["chat"] is not None}
    hit = batch.filter(pc.match_substring_regex(batch.column("text"), "@(\u2068|\\+?[0-9]{10})"))
    for chat, text in zip(*(hit.column(n).to_pylist() for n in ("chat", "text")), strict=True):
        found |= {(MENTION, chat or "", name) for name in MENTIONED.findall(text)}
        found |= {(MENTION, chat or "", f"+{number}") for number in NUMBERED.findall(text)}
    return found
