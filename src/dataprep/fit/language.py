"""Fit all filters to a language, from a clean reference and a crawl sample, and seal the result as a preset folder."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import xxhash

from dataprep.core.model.dataset import Dataset, check_dataset
from dataprep.core.output import kinds, owned
from dataprep.core.output.layout import numbered
from dataprep.core.run.plan import check_apart
from dataprep.errors import PlanError, require
from dataprep.filters.classifiers.language import Language
from dataprep.filters.fineweb import RULES as FINEWEB_RULES
from dataprep.filters.fineweb import FineWeb
from dataprep.filters.gopher.stage import PRESETS as GOPHER
from dataprep.filters.gopher.stage import RULES as GOPHER_RULES
from dataprep.filters.gopher.stage import Gopher
from dataprep.filters.perplexity import Perplexity
from dataprep.filters.preset_folder import FORMAT, RECORD, seal_of
from dataprep.store import files, receipts
from dataprep.store.key import key
from dataprep.store.lease import writes
from dataprep.unicode.spaced import CHOICES

from .folder import KINDS, RECEIPTS, LanguagePreset, finished, generation, models, sweep
from .limits import FINEWEB_PUBLISHED, fineweb_limits, gopher_limits
from .models import OTHER, train_language, train_ngrams, train_pieces
from .preview import Bools, CutShares, cuts_of, floats, measured, share_of
from .scripts import script_of
from .stop_words import stop_words

VERSION = 2
LEAST = 50  # different documents of each sample
HELD_OUT = 0.1  # of the different documents of the reference
ONE_SCRIPT = 0.8  # of the documents are in one script
UNLIKE = 99.0  # percentile of the held-out perplexity above which a document of the crawl is in another language
HEAD, MIDDLE = 30.0, 60.0  # CCNet's percentiles
FEW = 10  # scores that give no percentiles


@dataclass(frozen=True)
class _Sample:
    """The texts of a sample in order, a hash of each, uint64, and which of the texts are held out of training."""

    docs: Dataset
    texts: list[str]
    held: Bools

    def learnt(self) -> list[str]:
        return [text for text, held in zip(self.texts, self.held.tolist(), strict=True) if not held]


@writes
def fit_language(
    code: str,
    reference: Dataset,
    crawl: Dataset,
    *,
    out: str,
    other: Dataset | None = None,
    word_split: str = "unicode",
    quantile: float = 0.01,
    vocab_size: int = 32_000,
    order: int = 5,
    mixed_scripts: bool = False,
    replace: bool = False,
) -> LanguagePreset:
    """Fit the filters to a language, and write the result to the folder `out`, which the filters take as `preset=`.

    Args:
        code: the name of the language, such as "ary_Arab".
        reference: at least 50 clean documents in the language; their texts are held in memory.
        crawl: a sample of the documents that you want to filter.
        out: the folder of the preset.
        other: documents in other languages, for the classifier. None: the documents of the crawl with a perplexity
            above that of 99 % of the held-out reference.
        word_split: the kind of words that Gopher and FineWeb count, as in `Gopher`.
        quantile: the maximum fraction of the reference that one threshold may drop.
        vocab_size: the number of pieces of the SentencePiece model.
        order: the order of the n-gram model.
        mixed_scripts: whether to accept a reference in more than one script.
        replace: whether to replace a preset that was made from other samples or settings. The old preset is kept until
            the new one is complete; its models are deleted by the next call.

    A second call resumes an interrupted one. Returns the LanguagePreset. Raises PlanError if a sample has too few
    documents or a parameter is invalid, and StaleOutput if `out` has another preset or unknown files.
    """
    for docs in (reference, crawl, *([] if other is None else [other])):
        check_dataset(docs)
    _check(code, word_split, quantile, vocab_size, order, out)
    for docs in (reference, crawl, *([] if other is None else [other])):
        check_apart(docs, out)
    recipe = (VERSION, code, reference.key, crawl.key, other and other.key, word_split, quantile, vocab_size, order)
    own = key(recipe)
    found = finished(out, own, replace=replace)
    if found is not None:
        sweep(out, own)
        return found
    kinds.refuse(out, kinds.PRESET)
    owned.refuse(out, owned.foreign(out, [RECORD, RECEIPTS, *models(out)]))
    sample, wild = _sample(reference, "reference"), _sample(crawl, "crawl sample")
    if not mixed_scripts:
        _check_script(sample)
    owned.begin(out)
    sweep(out, own)
    made = _Fit(code, out, own, sample, wild)
    made.train(vocab_size, order, None if other is None else _texts(other))
    settings = made.thresholds(word_split, quantile)
    record = {
        "format": FORMAT, "key": own, "language": made.language, "perplexity": made.perplexity, **settings,
        "models": made.facts, "reference": made.about(sample), "crawl": made.about(wild), "quantile": quantile,
        "cuts": [asdict(cut) for cut in made.cuts],
        "files": {
            kind: {"name": files.name_of(url), "bytes": files.size(url), "hash": files.content_hash(url)}
            for kind, url in made.urls.items()
        },
    }  # fmt: skip
    files.write_json(files.join(out, RECORD), record | {"seal": seal_of(record)})
    return finished(out, own, replace=False) or LanguagePreset(out, record, tuple(made.cuts))


class _Fit:
    """One fit of a language: the models and measurements so far."""

    def __init__(self, code: str, out: str, own: str, sample: _Sample, wild: _Sample) -> None:
        self.code, self.out, self.own, self.sample, self.wild = code, out, own, sample, wild
        self.cuts: list[CutShares] = []
        self.facts: dict[str, Any] = {}
        self.generation = generation(out, own)
        self.urls = {kind: files.join(out, numbered(kind, self.generation)) for kind in KINDS}
        self.pieces, self.ngram, self.model = self.urls.values()

    def train(self, vocab_size: int, order: int, others: list[str] | None) -> None:
        """Train the three models, each once; determine CCNet's cuts and the minimum score of the language."""
        learnt, held = self.sample.learnt(), self.sample.held
        self._once("pieces", lambda: train_pieces(learnt, self.pieces, vocab_size))
        self._once("ngram", lambda: train_ngrams(learnt, self.pieces, self.ngram, order))
        scored = Perplexity(model=self.ngram, tokenizer=self.pieces)
        known = floats(measured(self.sample.docs, [scored])["perplexity"])[held]
        wild = floats(measured(self.wild.docs, [scored])["perplexity"])
        bound = float(np.nanpercentile(known, UNLIKE)) if np.isfinite(known).any() else np.inf
        if others is None:
            others = sorted({text for text, x in zip(self.wild.texts, wild.tolist(), strict=True) if x > bound})
            if len(others) < FEW:
                msg = (
                    f"the crawl sample must have at least {FEW} documents in other languages for the classifier, but "
                    f"judging by perplexity, it has {len(others)}; pass texts in other languages as other="
                )
                raise PlanError(msg)
        self._once("language", lambda: train_language(self.code, learnt, others, self.model))
        self._cut_by_language(known, wild)

    def _cut_by_language(self, known: Any, wild: Any) -> None:
        """Find the minimum score of the language, and CCNet's cuts for the documents of the crawl in this language."""
        named = Language(model=self.model)
        labels, found = [], []
        for docs in (self.sample.docs, self.wild.docs):
            columns = measured(docs, [named])
            labels.append(np.array(columns["language"].to_pylist(), object))
            found.append(floats(columns["language_score"]))
        held = self.sample.held
        mine = labels[1] == self.code
        scores = found[1][mine] if mine.sum() >= FEW else found[0][held & (labels[0] == self.code)]
        least = round(float(np.clip(np.median(scores) - np.std(scores), 0.3, 0.9)), 4) if len(scores) else 0.5
        kept = mine & (found[1] >= least)
        learnt = set(self.sample.learnt())
        new = np.array([text not in learnt for text in self.wild.texts], bool)  # copies would have a low perplexity
        head, middle = self._ccnet(wild[kept & new], known)
        self.language = {"code": self.code, "min_score": least}
        self.perplexity = {"head": head, "middle": middle}
        keep = Language(self.code, model=self.model, min_score=least)
        lost = [~keep_of(keep, labels[k], found[k]) for k in (0, 1)]
        self.lost_language = lost[1]
        self.cuts.append(CutShares("Language", "all", least, 0.5, share_of(lost[0][held]), share_of(lost[1])))
        for name, at in (("above head", head), ("above middle", middle)):
            self.cuts.append(CutShares("Perplexity", name, at, None, share_of(known >= at), share_of(wild >= at)))

    def _ccnet(self, wild: Any, known: Any) -> tuple[float, float]:
        """Return CCNet's two perplexity bounds, from the crawl in the language or from the held-out reference."""
        values = wild[np.isfinite(wild)]
        self.facts["cuts_of"] = "crawl" if len(values) >= FEW else "reference"
        values = values if len(values) >= FEW else known[np.isfinite(known)]
        head, middle = (round(float(np.percentile(values, p)), 4) for p in (HEAD, MIDDLE))
        return head, max(middle, head)

    def thresholds(self, word_split: str, quantile: float) -> dict[str, Any]:
        """Return the settings of Gopher and FineWeb, and add the shares that they drop to `cuts`."""
        mine = stop_words(self.sample.docs.batches())
        first: dict[str, Any] = {"word_split": word_split, "languages": [], "stop_words": list(mine)}
        probe = (Gopher(**first), FineWeb(word_split=word_split))
        known, wild = measured(self.sample.docs, probe), measured(self.wild.docs, probe)
        scores = {name: floats(column) for name, column in known.items()}
        gopher = first | gopher_limits(scores, quantile)
        fineweb = {"word_split": word_split} | fineweb_limits(scores, quantile)
        usual = {**GOPHER["paper"]}, {**FINEWEB_PUBLISHED, "max_dup_line_chars": 0.1}
        lost = self.lost_language
        for stage, rules, published in zip(
            (Gopher(**gopher), FineWeb(**fineweb)), (GOPHER_RULES, FINEWEB_RULES), usual, strict=True
        ):
            cuts, _, dropped = cuts_of(stage, rules, published, known, wild)
            self.cuts += cuts
            lost = lost | dropped
        self.facts["lost_of_crawl"] = share_of(lost)
        return {"gopher": gopher, "fineweb": fineweb}

    def about(self, sample: _Sample) -> dict[str, int]:
        """Return the numbers of documents of a sample."""
        return {"documents": len(sample.texts), "different": len(set(sample.texts))}

    def _once(self, name: str, make: Any) -> None:
        """Train a model, unless its receipt shows that it exists; store the facts about it."""
        made = receipts.once(files.join(self.out, RECEIPTS, numbered(f"{name}.json", self.generation)), self.own, make)
        self.facts |= {fact: value for fact, value in made.items() if fact not in ("files", "key")}


def keep_of(stage: Language, labels: Any, scores: Any) -> Bools:
    """Return which documents a Language filter keeps, from their labels and scores."""
    import pyarrow as pa

    columns = {"language": pa.array(labels.tolist(), pa.string()), "language_score": pa.array(scores)}
    return np.asarray(stage.decide(columns).is_null())


def _check(code: str, word_split: str, quantile: Any, vocab_size: Any, order: Any, out: str) -> None:
    good = isinstance(code, str) and code.split() == [code] and code != OTHER
    require(good, f"code={code!r} must be a word such as 'ary_Arab', other than {OTHER!r}")
    require(isinstance(order, int) and 2 <= order <= 6, f"order={order!r} must be from 2 to 6")
    sized = isinstance(vocab_size, int) and not isinstance(vocab_size, bool) and vocab_size >= 10
    require(sized, f"vocab_size={vocab_size!r} must be a number of pieces, such as 32000")
    require(word_split in CHOICES, f"word_split={word_split!r} must be {' or '.join(map(repr, CHOICES))}")
    number = isinstance(quantile, (int, float)) and not isinstance(quantile, bool) and 0 < quantile <= 0.5
    require(number, f"quantile={quantile!r} must be a share of the reference: more than 0, at most 0.5")
    require(files.is_local(os.fspath(out)), f"{out} must be a local folder; copy it afterwards")


def _texts(docs: Dataset) -> list[str]:
    return [text for batch in docs.batches(["text"]) for text in batch.column("text").to_pylist()]


def _sample(docs: Dataset, name: str) -> _Sample:
    """Return a sample with its texts. Raises PlanError if it has too few distinct texts."""
    texts = _texts(docs)
    hashes = np.array([xxhash.xxh3_64_intdigest(text.encode()) for text in texts], np.uint64)
    different = np.unique(hashes)
    if len(different) < LEAST:
        msg = f"the {name} must have at least {LEAST} different documents, but has {len(different)}; provide more text"
        raise PlanError(msg)
    return _Sample(docs, texts, hashes < different[int(len(different) * HELD_OUT)])


def _check_script(sample: _Sample) -> None:
    """Raise PlanError if the documents of a reference are not mostly in one script."""
    scripts = [script for script in map(script_of, sample.texts) if script is not None]
    counted = sorted(((scripts.count(one), one) for one in set(scripts)), reverse=True)
    if counted and counted[0][0] < ONE_SCRIPT * len(scripts):
        shown = ", ".join(f"{n / len(scripts):.0%} {one.title()}" for n, one in counted[:3])
        msg = (
            f"the reference must be in one script, but its documents are {shown}; fit one folder per script, or allow "
            "it with mixed_scripts=True"
        )
        raise PlanError(msg)
