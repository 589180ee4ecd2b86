"""Measure a vocabulary on held-out text: bytes per token by source and language, and rare tokens."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.errors import PlanError
from dataprep.store import files
from dataprep.tokens.sample import Drawn, Sample, Stratum
from dataprep.tokens.split import HOLD_OUT, SEED, Split

from . import formats
from .merges import learn_from_sample
from .patterns import ALSO, DIGITS, PATTERNS, regex_of
from .report import LISTED, Row, SampleCost, TokenizerReport
from .special import UNKNOWN

if TYPE_CHECKING:
    from dataprep.core.model.dataset import Dataset
    from dataprep.core.run.runner import Runner

MAX_BYTES = 64 << 20  # of text that is encoded: two million tokens for each of ten strata are enough
Ids = npt.NDArray[Any]
Vocabulary = Any  # a Tokenizer; its module imports this one


def measure(
    tok: Vocabulary,
    docs: Dataset,
    *,
    compare: tuple[str, Vocabulary] | None = None,
    shares: Sequence[float] = (),
    weights: Mapping[str, float] | None = None,
    rare: int = 10,
    val: float | None = None,
    split_seed: int = SEED,
    split: Split | None = None,
    max_bytes: int = MAX_BYTES,
    runner: Runner | None = None,
) -> TokenizerReport:
    """Measure a vocabulary on held-out text, and return the report that `Tokenizer.report` describes.

    The parameters are those of `Tokenizer.report`, except `compare`: (name, vocabulary) of another vocabulary.
    """
    if split is None and val is None and tok.trained_on:
        split = Split(**tok.trained_on)
    split = split or Split(val=HOLD_OUT if val is None else val, seed=split_seed)
    plan = Sample(split=split, max_bytes=max_bytes, held_out=True)
    other = None if compare is None else compare[1]
    drawn, measured_on = _drawn(plan, docs, runner)
    counts = np.zeros(tok.vocab_size, np.int64)
    rows = _rows(drawn, tok, other, counts)
    names = {i: visible(token) for token, i in tok.vocab.items() if len(token) > 1 or not tok.merges}
    by_size = sorted(tok.vocab, key=lambda token: (-len(token), tok.vocab[token]))
    return TokenizerReport(
        vocab_size=tok.vocab_size, special=len(tok.special), pattern=_pattern_name(tok.pattern), hash=tok.hash,
        measured_on=measured_on, rows=rows, rare=rare, counts=counts, kinds=kinds(tok),
        longest=[visible(token) for token in by_size[:LISTED]],
        longest_space=visible(next((token for token in by_size if token.isspace()), b"")),
        samples=_samples(tok, docs, plan, drawn, shares, weights, runner),
        compared=compare and compare[0], _names=names,
    )  # fmt: skip


def _drawn(plan: Sample, docs: Dataset, runner: Runner | None) -> tuple[Drawn, str]:
    """Return the held-out texts, or all texts if none are held out, and a description of them."""
    drawn, shares = plan.draw(docs, runner), f"val={plan.split.val}, test={plan.split.test}"
    n_bytes = sum(drawn.taken.values())
    if n_bytes:
        return drawn, f"{n_bytes:,} bytes that training holds out ({shares})"
    drawn = replace(plan, split=Split(val=0.0), held_out=False).draw(docs, runner)
    n_bytes = sum(drawn.taken.values())
    if not n_bytes:
        msg = "there is no text to measure a vocabulary on; check the input"
        raise PlanError(msg)
    return drawn, f"{n_bytes:,} bytes of all documents, since {shares} holds none out: it has learned from them"


def _rows(drawn: Drawn, tok: Vocabulary, other: Vocabulary | None, counts: npt.NDArray[np.int64]) -> list[Row]:
    """Add the number of times each id occurs to `counts`; return figures by source and language."""
    lone = np.zeros(tok.vocab_size, bool)
    lone[[i for token, i in tok.vocab.items() if len(token) == 1 and token[0] >= 0x80]] = True
    unknown = np.arange(tok.vocab_size) == tok.special.get(UNKNOWN, -1)
    sums: dict[Stratum, Counter[str]] = {}
    for batch in drawn.batches():
        texts = batch.column("text")
        offsets, data = B.buffers(texts)
        ids, ends = tok.encode_column(texts)
        counts += np.bincount(ids, minlength=len(counts))
        starts = np.append(np.uint64(0), ends[:-1])
        found = {
            "documents": np.ones(len(texts), np.int64),
            "n_bytes": np.diff(offsets),
            "characters": _between(((data & 0xC0) != 0x80), offsets[:-1], offsets[1:]),
            "tokens": (ends - starts).astype(np.int64) - 1,  # without the separator
            "fallback": _between(lone[ids], starts, ends),
            "unknown": _between(unknown[ids], starts, ends),
        }
        if other is not None:
            found["compared"] = np.diff(other.encode_column(texts)[1].astype(np.int64), prepend=0) - 1
        _tally(sums, batch, found)
    counts[tok.eot] = 0
    rows = [Row(source=s, language=x, **of) for (s, x), of in sums.items()]
    return sorted(rows, key=lambda row: (-row.n_bytes, row.source, row.language))


def _between(flags: npt.NDArray[np.bool_], starts: Any, stops: Any) -> npt.NDArray[np.int64]:
    """Return the number of flags that are set in each span."""
    total = np.append(0, np.cumsum(flags))
    return np.asarray(total[stops] - total[starts], np.int64)


def _tally(sums: dict[Stratum, Counter[str]], batch: pa.RecordBatch, found: dict[str, npt.NDArray[np.int64]]) -> None:
    table = pa.table({"source": batch.column("source"), "language": batch.column("language"), **found})
    for row in table.group_by(["source", "language"]).aggregate([(name, "sum") for name in found]).to_pylist():
        of = sums.setdefault((row["source"], row["language"]), Counter())
        of.update({name: row[f"{name}_sum"] for name in found})


def _samples(
    tok: Vocabulary, docs: Dataset, plan: Sample, drawn: Drawn, shares: Sequence[float],
    weights: Mapping[str, float] | None, runner: Runner | None,
) -> list[SampleCost]:  # fmt: skip
    """Return the bytes per token, on the same text, of equally large vocabularies trained on other samples."""
    if shares and not tok.merges:
        msg = "shares= compares BPE vocabularies, but this tokenizer is not a BPE; leave shares= out"
        raise PlanError(msg)
    weighed, costs = None if weights is None else tuple(sorted(weights.items())), []
    for share in sorted(shares):
        sample = replace(plan, share=share, held_out=False, max_bytes=1 << 62, weights=weighed).draw(docs, runner)
        merges = learn_from_sample(sample, len(tok.merges), tok.pattern, 2)
        made = tok.from_merges(merges, list(tok.special), tok.pattern)
        n_bytes = n_tokens = 0
        for batch in drawn.batches():
            ids, _ = made.encode_column(batch.column("text"))
            n_tokens += len(ids) - batch.num_rows
            n_bytes += B.text_bytes(batch)
        taken = sum(sample.taken.values())
        costs.append(SampleCost(share=share, n_bytes=taken, bytes_per_token=n_bytes / max(1, n_tokens)))
    return costs


def kinds(tok: Vocabulary) -> dict[str, int]:
    """Return {kind: number of ordinary tokens of this kind} of a vocabulary.

    Kinds: the name of a script (such as "Latin"), "digits", "white space", "signs" (all other characters), and "parts
    of characters".
    """
    return dict(Counter(_kind(token) for token in tok.vocab).most_common())


def _kind(token: bytes) -> str:
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return "parts of characters"
    letter = next((c for c in text if c.isalpha()), None)
    if letter is not None:
        return unicodedata.name(letter, "other").split()[0].split("-")[0].capitalize()
    digit = any(c.isnumeric() for c in text)
    return "digits" if digit else "white space" if text.isspace() else "signs"


def visible(token: bytes) -> str:
    """Return a token as readable text: escape line ends and the like, and shorten runs of one character."""
    text = token.decode("utf-8", "backslashreplace")
    if len(text) > 8 and len(set(text)) == 1:
        return f"{visible(text[0].encode())} × {len(text)}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _pattern_name(regex: str) -> str:
    """Return a pattern as arguments of `train_bpe`: its name, and `digits` if they differ from the name's default."""
    for name in PATTERNS | ALSO:
        for digits in (None, *DIGITS):
            if regex_of(name, digits) == regex:
                return name if digits is None else f"{name}, digits={digits}"
    return regex


def named(given: Any, kind: Any) -> tuple[str, Vocabulary]:
    """Return a vocabulary, or the one at a path, and its name in a report; GPT-2's is known by its size and pattern.

    - kind: the class Tokenizer.
    """
    if isinstance(given, kind):
        name, tok = given.hash[:8], given
    else:
        url = os.fspath(given)
        pair = formats.pair_in(url)
        name = files.name_of(url.rstrip("/"))
        tok = kind.load(url) if pair is None else kind.from_files(*pair)
    return "GPT-2" if tok.vocab_size == 50_257 and tok.pattern == PATTERNS["gpt2"] else name, tok
