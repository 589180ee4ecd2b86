"""Decontaminate: find the documents that share runs of words with evaluation sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import orjson
import pyarrow as pa

from dataprep.core.model.batch import Batch
from dataprep.core.model.dataset import Dataset
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.score import ScoredFilter
from dataprep.core.model.stage import drop_rows
from dataprep.errors import PlanError
from dataprep.filters.thresholds import Threshold, compared, read_list
from dataprep.store.key import key
from dataprep.unicode.text import I64
from dataprep.unicode.words import SPLITS

from . import kernel as K

Texts: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
QUESTIONS = pa.list_(pa.int64())


@dataclass(frozen=True, kw_only=True, repr=False)
class Decontaminate(ScoredFilter):
    r"""Drop or count documents that share 13 consecutive words with an evaluation set (Brown et al. 2020, appendix C).

    >>> Decontaminate(sets={"gsm8k": "eval/gsm8k.jsonl", "mine": ["What is the capital of Morocco called in Darija?"]})

    Args:
        sets: {name: questions}, where questions are the URL of a file, a Dataset, or a list of texts. Files named
            .jsonl or .ndjson are JSON Lines with one question per record; other files are UTF-8 text with one question
            per line. Files may be compressed (.gz, .zst, .xz, .bz2). Questions are numbered by row, from 1, including
            empty rows.
        ngram: the number of consecutive words (a run) that must be shared. Case, and punctuation between words, are
            ignored.
        word_split: the definition of a word. "unicode" (docs/words.md): composed and decomposed characters are equal,
            variant forms of letters (Arabic presentation forms, ligatures, full-width letters) equal the plain letters,
            and `ı` equals `i`. "regex": runs of `\w`, as published.
        min_words: the minimum number of words of a question that is searched for. A question of at least `min_words`
            and fewer than `ngram` words is searched for as a single run. Shorter questions are not searched for, since
            they occur by chance (8 and 13 are the published bounds). The `repr` of the stage states how many questions
            are searched for.
        min_ngrams: the minimum number of occurrences of a set's runs at which a document is dropped
            (`contaminated_NAME`).
        action: "drop", or "report", which counts documents in the same way but keeps all of them.
        fields: the field names of JSON Lines; the first of them that a record has is the question.

    The statistics count three numbers per set, over documents with at least `min_ngrams` occurrences: "NAME.documents",
    "NAME.ngrams", and, for question 17, "NAME.question.17", the number of documents with a run of this question (see
    `questions`). A run that occurs in several questions of a set is counted for the first of them. The scores are
    decontaminate_NAME (occurrences) and decontaminate_NAME_questions. Runs are found by hash and compared byte by byte.
    The key of the stage depends on the questions, not on paths.

    Raises PlanError if a file is missing or malformed, or if a set contains no run.
    """

    compiled: ClassVar[bool] = True
    VERSION: ClassVar[int] = 4

    sets: Any
    ngram: int = 13
    min_words: int = 8
    min_ngrams: int = 1
    action: str = "drop"
    fields: tuple[str, ...] = ("text", "question", "prompt")
    word_split: str = "unicode"
    _key_bits: int = 64
    looked_for: tuple[int, ...] = field(init=False, compare=False)  # questions of each set
    digest: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        self._check()
        known = self.sets.items() if isinstance(self.sets, Mapping) else self.sets
        made = tuple((name, _texts(name, given, tuple(self.fields))) for name, given in known)
        object.__setattr__(self, "sets", made)
        object.__setattr__(self, "fields", tuple(self.fields))
        object.__setattr__(self, "digest", key(made))
        object.__setattr__(self, "looked_for", tuple(self._long_enough(*one) for one in made))

    def _check(self) -> None:
        for name in ("ngram", "min_words", "min_ngrams"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                msg = f"Decontaminate: {name}={value!r} must be an integer of at least 1"
                raise PlanError(msg)
        if self.action not in ("drop", "report"):
            msg = f"Decontaminate: action={self.action!r} must be 'drop' or 'report'"
            raise PlanError(msg)
        if self.word_split not in SPLITS:
            msg = f"Decontaminate: word_split={self.word_split!r} must be 'unicode' or 'regex'"
            raise PlanError(msg)
        names = [str(n) for n in dict(self.sets)] if isinstance(self.sets, (Mapping, tuple)) else []
        if not names:
            msg = 'Decontaminate: sets must have questions by name, such as sets={"gsm8k": "eval/gsm8k.jsonl"}'
            raise PlanError(msg)
        bad = [n for n in names if not re.fullmatch("[a-z0-9_]+", n)]
        if bad:
            msg = f"Decontaminate: the set name {bad[0]!r} must contain only a-z, 0-9 and _; it names a column"
            raise PlanError(msg)

    def _long_enough(self, name: str, texts: tuple[str, ...]) -> int:
        n_words = np.diff(K.words_of(pa.array(texts, pa.large_string()), self.word_split).ends)
        found = int(np.sum(n_words >= min(self.min_words, self.ngram)))
        if not found:
            most = int(n_words.max(initial=0))
            msg = f"Decontaminate: none of the {len(texts):,} questions of {name!r} has {self.min_words} words (the "
            msg += f"longest has {most}); choose another file or field, or lower min_words"
            raise PlanError(msg)
        return found

    def __repr__(self) -> str:
        sets = (f"{n}: {k:,} of {len(t):,} questions" for (n, t), k in zip(self.sets, self.looked_for, strict=True))
        return f"Decontaminate({', '.join(sets)}; ngram={self.ngram}, action={self.action!r})"

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """Names and types of the columns that the filter adds, two for each evaluation set NAME.

        decontaminate_NAME is the number of occurrences of the set's runs of words; decontaminate_NAME_questions
        contains the numbers of the questions with these runs.
        """
        kinds = (("", pa.int64()), ("_questions", QUESTIONS))
        return {f"decontaminate_{name}{end}": kind for name, _ in self.sets for end, kind in kinds}

    @property
    def measure(self) -> Any:
        """The values that determine the scores: a hash of the questions, `ngram`, `min_words` and `word_split`."""
        return self.VERSION, self.digest, self.ngram, self.min_words, self.word_split, self._key_bits

    def recipe(self) -> Any:
        """Return the values that identify this stage: a hash of the questions (not their paths), and the parameters."""
        return self.measure, self.min_ngrams, self.action

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Return two columns for every set, by name: how often its runs occur, and the questions with these runs."""
        index = _index(self.sets, (self.ngram, self.min_words), self.word_split, self._key_bits)
        rows, runs = K.find(batch.column("text"), index.runs, self.word_split).T
        begin, n = index.first[runs], np.diff(index.first)[runs]
        rows, owners = np.repeat(rows, n), np.arange(n.sum()) + np.repeat(begin - np.cumsum(n) + n, n)
        out: dict[str, pa.Array] = {}
        for number, (name, _) in enumerate(self.sets):
            mine = index.set_of[owners] == number
            at, which = rows[mine], index.question_of[owners[mine]]
            out[f"decontaminate_{name}"] = pa.array(np.bincount(at, minlength=batch.num_rows).astype(np.int64))
            at, which = _once(at, which)[:2]
            ends = np.searchsorted(at, np.arange(batch.num_rows + 1)).astype(np.int32)
            out[f"decontaminate_{name}_questions"] = pa.ListArray.from_arrays(pa.array(ends), pa.array(which))
        return out

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Return `contaminated_NAME` for each document that shares enough runs of words with a set, otherwise null.

        NAME is the first set with at least `min_ngrams` occurrences. With action="report", all values are null.

        Args:
            scores: the columns of `score`.
        """
        first = np.full(len(next(iter(scores.values()))), len(self.sets))
        for number, (name, _) in reversed(list(enumerate(self.sets))):
            if self.action == "drop":
                first[scores[f"decontaminate_{name}"].to_numpy() >= self.min_ngrams] = number
        return pa.array([*(f"contaminated_{name}" for name, _ in self.sets), None], pa.string()).take(pa.array(first))

    def compared(self, scores: Mapping[str, pa.Array], reasons: pa.StringArray) -> Mapping[str, pa.Array]:
        """Return the number of runs shared with the set that each reason names, as the column `value`."""
        names = [name for name, _ in self.sets]
        return compared(
            [Threshold("min_ngrams", f"decontaminate_{n}", ">=", f"contaminated_{n}") for n in names], scores, reasons
        )

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the documents without contamination (all with "report"); count documents, n-grams and questions."""
        for batch in batches:
            scores = self.scores_of(batch)
            self._count(scores, stats)
            reasons = self.decide(scores)
            yield drop_rows(batch, reasons, stats, **self.compared(scores, reasons))

    def _count(self, scores: Mapping[str, pa.Array], stats: Ledger) -> None:
        for name, _ in self.sets:
            occurrences = scores[f"decontaminate_{name}"].to_numpy()
            hit = occurrences >= self.min_ngrams
            stats.count(f"{name}.documents", int(hit.sum()))
            stats.count(f"{name}.ngrams", int(occurrences[hit].sum()))
            found = scores[f"decontaminate_{name}_questions"].filter(pa.array(hit)).flatten().to_numpy()
            for question, n in zip(*(a.tolist() for a in np.unique(found, return_counts=True)), strict=True):
                stats.count(f"{name}.question.{question}", n)

    def questions(self, docs: Dataset) -> pa.Table:
        """Return the questions that this stage found when `docs` was made, in descending order of document count.

        Args:
            docs: a sealed (finished) Dataset, whose statistics are read.

        The columns of the table are set, question (its number in the set), documents (the number of documents that
        contain it) and text.
        """
        counts = [stage.counts for stage in docs.stats.stages if stage.name == self.name]
        rows = [
            {"set": name, "question": number, "documents": n, "text": text}
            for name, texts in self.sets
            for number, text in enumerate(texts, 1)
            if (n := sum(of_stage[f"{name}.question.{number}"] for of_stage in counts))
        ]
        kinds = (("set", pa.string()), ("question", pa.int64()), ("documents", pa.int64()), ("text", pa.large_string()))
        return pa.Table.from_pylist(sorted(rows, key=lambda row: -row["documents"]), pa.schema(kinds))


class _Index(NamedTuple):
    """The table of runs, and the owners of each run: (set, first question with the run)."""

    runs: K.Runs
    first: I64  # [runs + 1] into the two below
    set_of: I64
    question_of: I64


@lru_cache(maxsize=4)
def _index(sets: Texts, sizes: tuple[int, int], word_split: str, key_bits: int) -> _Index:
    ngram, min_words = sizes
    texts = K.words_of(pa.array([t for _, some in sets for t in some], pa.large_string()), word_split)
    runs, number, owner = K.table_of(texts, ngram, min(min_words, ngram), key_bits)
    set_of = np.repeat(np.arange(len(sets)), [len(some) for _, some in sets])
    question_of = np.concatenate([np.arange(1, len(some) + 1) for _, some in sets])
    run_of, in_set, at = _once(number, set_of[owner])
    return _Index(runs, np.searchsorted(run_of, np.arange(number.max() + 2)), in_set, question_of[owner[at]])


def _once(a: I64, b: I64) -> tuple[I64, I64, I64]:
    """Return every pair once, in order, and the index of its first occurrence."""
    width = int(b.max(initial=0)) + 1
    pairs, at = np.unique(a * width + b, return_index=True)
    return pairs // width, pairs % width, at


def _texts(name: str, given: Any, fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the questions of one set from a URL, a Dataset or texts."""
    if isinstance(given, str):
        lines = read_list("Decontaminate", given).split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        if not re.search(r"\.(jsonl|ndjson)(\.\w+)?$", given):
            return tuple(lines)
        return tuple(_field(given, n, line, fields) if line.strip() else "" for n, line in enumerate(lines, 1))
    if isinstance(given, Dataset):
        return tuple(given.table(["text"]).column("text").to_pylist())
    if isinstance(given, Sequence) and all(isinstance(t, str) for t in given):
        return tuple(given)
    msg = f"Decontaminate: the set {name!r} must be a Dataset, a list of texts or the URL of a file, not {given!r:.60}"
    raise PlanError(msg)


def _field(url: str, n: int, line: str, fields: tuple[str, ...]) -> str:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as e:
        msg = f"{url}, line {n}, is not valid JSON ({e}); write one JSON object per line, or use the "
        msg += "suffix .txt for a plain-text file"
        raise PlanError(msg) from e
    found = [row[f] for f in fields if isinstance(row.get(f), str)] if isinstance(row, dict) else []
    if found:
        return str(found[0])
    kind = f"has {', '.join(row) or 'no fields'}" if isinstance(row, dict) else f"is a {type(row).__name__}"
    msg = f"{url}, line {n}, has no text in {', '.join(fields)}; it {kind}; name the field with fields=(NAME,)"
    raise PlanError(msg)
