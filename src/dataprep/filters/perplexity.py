"""Perplexity: keep texts by their perplexity under an n-gram model; it is low for text like the training text."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.score import ScoredFilter
from dataprep.core.model.stage import drop_rows
from dataprep.errors import PlanError, need, require
from dataprep.filters.classifiers.models import file_hash
from dataprep.store import files
from dataprep.unicode.blanks import words

from .ccnet_text import ccnet_normal
from .preset_folder import check_sealed, is_folder, take_models
from .thresholds import outside, range_elsewhere, range_of

Bound = float | None
MAGIC = (b"\\data\\", b"mmap lm http://kheafield.com/code")  # of an ARPA file, and of KenLM's own
UNITS = ("document", "paragraph")
DECIMALS = 4  # of a stored perplexity
ANY = "{language}"
KEPT = (None, "perplexity_no_words")  # reasons of lines that are not cut


@dataclass(frozen=True, kw_only=True)
class Perplexity(ScoredFilter):
    """Keep documents or paragraphs whose perplexity under an n-gram model is in a range, as computed by KenLM.

    Args:
        model: the path of an ARPA file or a KenLM binary, such as `dataprep train-ngram` writes. If the path contains
            "{language}", each document is scored by the model for the language in its column `language`; documents in a
            language without a model are kept.
        score_range: (low, high): documents with low <= perplexity < high are kept; None sets no bound.
            `Percentiles(Perplexity(...), cut="head")` determines the range from your corpus instead. With a preset
            folder, score_range may also be "head", "middle", "tail" or "head and middle", CCNet's buckets, whose bounds
            were determined on the crawl sample.
        cut: leave this parameter unset; it belongs to `Percentiles`.
        unit: "document"; or "paragraph", which removes lines out of range from the text (counted as
            "lines.perplexity_high" ...), keeps lines without words, and drops documents without any remaining line.
        normalize: "ccnet", which normalises each line by `ccnet_normal`, or None. Use the value with which the model
            was trained.
        tokenizer: the path of a SentencePiece model, which may also contain "{language}"; None: words are separated by
            spaces, as in training.
        preset: "ccnet2020", as in `cc_net`: the whole document is normalised, which removes line feeds and thus joins
            lines, and is scored as one sentence. Or a folder written by `dataprep fit-language`, which sets the model
            and the tokenizer.

    The drop reasons are "perplexity_low" (nearly a copy of the training text), "perplexity_high" (noise) and
    "perplexity_no_words" (no words to score). The perplexity of a document is 10 ** -(sum of the log10 probabilities of
    its lines / number of its words and lines), as in CCNet (Wenzek et al. 2020): the end of a line counts as a word,
    and lines without words do not count. The perplexity is rounded to 1e-4. Needs the extra `perplexity`. Raises
    PlanError if a parameter is invalid or KenLM cannot read the model.
    """

    model: str = ""
    score_range: tuple[Bound, Bound] | str = (None, None)
    cut: InitVar[Any] = None  # raises: a parameter of `Percentiles`
    unit: str = "document"
    normalize: str | None = "ccnet"
    tokenizer: str | None = None
    preset: str | None = None

    VERSION: ClassVar[int] = 2

    @property
    def only_drops(self) -> bool:  # type: ignore[override]
        """True if whole documents are dropped; False with unit="paragraph", which cuts out lines."""
        return self.unit == "document"

    def __post_init__(self, cut: Any) -> None:
        if cut is not None:
            raise range_elsewhere(self, "cut", cut)
        if self._is_folder:
            take_models(self)
        self._range  # noqa: B018 - raises
        require(self.unit in UNITS, f"unit={self.unit!r} must be 'document' or 'paragraph'")
        require(self.normalize in ("ccnet", None), f"normalize={self.normalize!r} must be 'ccnet' or None")
        known = self.preset in ("ccnet2020", None) or self._is_folder
        require(known, f"preset={self.preset!r} must be 'ccnet2020', a preset folder, or None")
        require(self.model, "Perplexity needs model=, the path of an n-gram model, or preset=, a preset folder")
        free = self.preset != "ccnet2020" or (self.unit, self.normalize) == ("document", "ccnet")
        require(free, "preset='ccnet2020' sets unit and normalize; leave these out")
        _kenlm()
        lacking = f"there is no model at {self.model}; pass the path of one, or make one with `dataprep train-ngram`"
        require(_paths(self.model), lacking)
        lacking = f"there is no SentencePiece model at tokenizer={self.tokenizer!r}; pass the path of the one that the "
        lacking += "n-gram model was trained with, or let `dataprep fit-language` train both"
        require(self.tokenizer is None or _paths(self.tokenizer), lacking)
        for path in [] if self._is_folder else [*_paths(self.model), *_paths(self.tokenizer or "")]:
            check_sealed("Perplexity", path)
        for path in _paths(self.model):
            with files.open_raw(path) as f:
                start = f.read(64).lstrip()
            if not start.startswith(MAGIC):
                msg = (
                    f"{path} must be an ARPA file, which begins with \\data\\, or a KenLM binary, but begins with "
                    f"{start[:20]!r}; pass a language model, uncompressed"
                )
                raise PlanError(msg)

    @property
    def _is_folder(self) -> bool:
        return self.preset not in ("ccnet2020", None) and is_folder(self.preset)

    @property
    def _range(self) -> tuple[float, float]:
        return range_of(self.score_range, -np.inf, np.inf, "a range (low, high), such as (50, 1000) or (None, 1000)")

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The extra columns that are read: ("language",) if the model depends on a document's language, else ()."""
        return ("language",) if any(ANY in (path or "") for path in (self.model, self.tokenizer)) else ()

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """Name and type of the column that the filter adds.

        `perplexity` contains a number per document: null if the document has no words, NaN if there is no model for its
        language. With unit="paragraph", `perplexity_paragraphs` contains a list of such numbers, one per line.
        """
        if self.unit == "document":
            return {"perplexity": pa.float64()}
        return {"perplexity_paragraphs": pa.list_(pa.float64())}

    @property
    def measure(self) -> Any:
        """The values that determine the scores: the models' content, `unit`, `normalize` and `preset`."""
        held = [sorted((_language(p, path), file_hash(p)) for p in _paths(path)) for path in self._models]
        return held, self.unit, self.normalize, self.preset if self.preset == "ccnet2020" else None

    @property
    def _models(self) -> tuple[str, ...]:
        return (self.model,) if self.tokenizer is None else (self.model, self.tokenizer)

    def recipe(self) -> Any:
        """Return the values that identify this stage: the content of the models (not their paths), the parameters."""
        return self.measure, self.score_range

    def warm(self) -> None:
        """Load the models, so that an unreadable model raises an error before workers start."""
        for path in _paths(self.model):
            _model(path, file_hash(path))
        for path in _paths(self.tokenizer or ""):
            _pieces(path, file_hash(path))

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Return the score column by name: the perplexity of every document, or a list of its lines' perplexities."""
        texts = batch.column("text").to_pylist()
        languages = batch.column("language").to_pylist() if self.needs else itertools.repeat("")
        rows = [self._measured(text, language) for text, language in zip(texts, languages, strict=False)]
        name, kind = next(iter(self.scores.items()))
        if self.unit == "paragraph":
            found: list[Any] = [[_perplexity([line]) for line in lines] for lines in rows]
        else:
            found = [_perplexity(lines) for lines in rows]
        return {name: pa.array(found, kind)}

    def _measured(self, text: str, language: str | None) -> list[tuple[float, int]]:
        """Return (log10 probability, number of words and line ends) per line; (0, 0) without words, NaN if no model."""
        model, pieces = self._of(language or "")
        if model is None:
            return [(float("nan"), 1)] * (text.count("\n") + 1)
        measured = []
        for line in [text] if self.preset == "ccnet2020" else text.split("\n"):
            normal = ccnet_normal(line) if self.normalize else line
            found = words(normal)
            if pieces is not None and found:
                found = words(" ".join(pieces.encode(normal, out_type=str)))
            measured.append((_log10(model, found), len(found) + 1) if found else (0.0, 0))
        return measured

    def _of(self, language: str) -> tuple[Any, Any]:
        """Return the model and the tokenizer of a language; None if there is none."""
        paths = [path.replace(ANY, language) for path in self._models]
        if self.needs and not all(map(os.path.isfile, paths)):
            return None, None
        model, *pieces = paths
        return _model(model, file_hash(model)), _pieces(*pieces, file_hash(*pieces)) if pieces else None

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Return the reason for dropping each document; null if it is kept.

        With unit="paragraph", a document is dropped if none of its lines with words is in range.

        Args:
            scores: the column of `score`.
        """
        if self.unit == "document":
            return self.reasons(scores["perplexity"])
        column = scores["perplexity_paragraphs"]
        flat, row = self.reasons(column.flatten()).to_pylist(), column.value_lengths().to_numpy()
        ends = np.cumsum(row).tolist()
        every = [flat[end - n : end] for n, end in zip(row.tolist(), ends, strict=True)]
        return pa.array([_of_all(reasons) for reasons in every], pa.string())

    def reasons(self, perplexity: pa.Array) -> pa.StringArray:
        """Return the drop reason for each perplexity that is out of range or null; null for a perplexity in range."""
        why = outside(perplexity, self._range, "perplexity")
        why[np.asarray(perplexity.is_null())] = "perplexity_no_words"
        return pa.array(why, pa.string())

    def __call__(self, batches: Iterator[Batch], stats: Ledger) -> Iterator[Batch]:
        """Yield the documents that are kept; with unit="paragraph", without their lines that are out of range."""
        if self.unit == "document":
            yield from super().__call__(batches, stats)
            return
        for batch in batches:
            scores = self.scores_of(batch)
            reasons = self.decide(scores)
            kept = drop_rows(batch, reasons, stats, **self.compared(scores, reasons))
            yield self._cut(kept, scores["perplexity_paragraphs"].filter(reasons.is_null()), stats)

    def _cut(self, batch: Batch, column: pa.Array, stats: Ledger) -> Batch:
        reasons = self.reasons(column.flatten()).to_pylist()
        for reason, n in Counter(r for r in reasons if r not in KEPT).items():
            stats.count(f"lines.{reason}", n)
        if all(r in KEPT for r in reasons):
            return batch
        of_line, texts = iter(reasons), []
        for text, n in zip(batch.column("text").to_pylist(), column.value_lengths().to_pylist(), strict=True):
            lines = zip(text.split("\n"), itertools.islice(of_line, n), strict=True)
            texts.append("\n".join(line for line, reason in lines if reason in KEPT))
        return B.with_column(batch, "text", pa.array(texts, pa.large_string()))


def _log10(model: Any, sentence: list[str]) -> float:
    """Return the log10 probability of a sentence."""
    text = " ".join(sentence)
    if "\v" not in text and "\f" not in text:
        return float(model.score(text))
    kenlm, total = _kenlm(), 0.0  # `score` would split words at these two, which are a part of words in training
    state, after = kenlm.State(), kenlm.State()
    model.BeginSentenceWrite(state)
    for word in (*sentence, "</s>"):
        total += model.BaseScore(state, word, after)
        state, after = after, state
    return total


def _of_all(reasons: list[str | None]) -> str | None:
    """Return the reason to drop a document, given the reasons to cut its paragraphs."""
    measured = [r for r in reasons if r != "perplexity_no_words"]
    if not measured:
        return "perplexity_no_words"
    return None if None in measured else max(r for r in measured if r)


def _perplexity(lines: list[tuple[float, int]]) -> float | None:
    """Return the joint perplexity of lines; None if they have no words."""
    total = sum(n for _, n in lines)
    return round(10.0 ** (-sum(x for x, _ in lines) / total), DECIMALS) if total else None


def _paths(path: str) -> list[str]:
    """Return the local files that match a path, which may contain "{language}"."""
    if ANY not in path:
        return [path] if os.path.isfile(path) else []
    return files.expand(path.replace(ANY, "*"))


def _language(path: str, pattern: str) -> str:
    before, mark, after = pattern.partition(ANY)
    return path[len(before) : len(path) - len(after)] if mark else ""


def _kenlm() -> Any:
    """Import and return `kenlm`, which the extra leaves out from Python 3.13 on: it does not compile there."""
    return need("kenlm", extra="perplexity", before=(3, 13))


@cache
def _model(path: str, content: str) -> Any:  # noqa: ARG001 - a file that changed is read anew
    """Return a model, read once per process."""
    kenlm = _kenlm()
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    try:
        return kenlm.Model(path, config)
    except (OSError, RuntimeError, UnicodeDecodeError) as e:  # the last by its message, which quotes a damaged file
        why = re.sub(r"^.*(Exception( because `[^']*')?\.?|' \()\s*", "", " ".join(str(e).split())).rstrip(" )")
        msg = f"{path} is not a language model that KenLM can read ({why}); train it again, or choose another"
        raise PlanError(msg) from e


@cache
def _pieces(path: str, content: str) -> Any:  # noqa: ARG001 - a file that changed is read anew
    """Return a SentencePiece model, read once per process."""
    sentencepiece = need("sentencepiece", extra="perplexity")
    try:
        return sentencepiece.SentencePieceProcessor(model_file=path)
    except (OSError, RuntimeError) as e:
        msg = f"{path} must be a SentencePiece model ({' '.join(str(e).split())[:200]}); pass the file NAME.model"
        raise PlanError(msg) from e
