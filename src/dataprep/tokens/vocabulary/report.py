"""What to look at before a vocabulary is settled on: how well it compresses which text, and which tokens are wasted."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dataprep.core import batch as B
from dataprep.errors import PlanError
from dataprep.store import files
from dataprep.tokens.sample import Drawn, Sample, Stratum
from dataprep.tokens.split import HOLD_OUT, SEED, Split

from .patterns import ALSO, DIGITS, PATTERNS, regex_of
from .special import UNKNOWN
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dataprep.core.dataset import Dataset
    from dataprep.core.runner import Runner

MAX_BYTES = 64 << 20  # of text that is encoded: two million tokens of each of ten strata say enough
LISTED = 100  # tokens of each list
PAIRS_OF_FILES = (("encoder.json", "vocab.bpe"), ("vocab.json", "merges.txt"))  # as GPT-2 was published, and since


@dataclass(frozen=True, kw_only=True)
class Row:
    """One source and language: what was encoded, and what came of it."""

    source: str = ""
    language: str = ""
    documents: int = 0
    n_bytes: int = 0
    characters: int = 0
    tokens: int = 0
    fallback: int = 0  # tokens that are one byte of a longer character
    unknown: int = 0  # characters that a character tokenizer does not have
    beside: int | None = None  # tokens of the other vocabulary

    @property
    def bytes_per_token(self) -> float:
        """UTF-8 bytes of text a token stands for."""
        return self.n_bytes / max(1, self.tokens)

    @property
    def beside_bytes_per_token(self) -> float | None:
        """The same with the other vocabulary."""
        return None if self.beside is None else self.n_bytes / max(1, self.beside)

    def json(self) -> dict[str, Any]:
        """As plain values, ratios included."""
        more = {"bytes_per_token": self.bytes_per_token, "characters_per_token": self.characters / max(1, self.tokens)}
        return asdict(self) | more | {"beside_bytes_per_token": self.beside_bytes_per_token}


@dataclass(frozen=True, kw_only=True)
class SampleCost:
    """A vocabulary of the same size learned from another sample, measured on the same text."""

    share: float
    n_bytes: int  # the sample's
    bytes_per_token: float


@dataclass(frozen=True, kw_only=True)
class TokenizerReport:
    """Figures of one vocabulary; printed as tables, or `json()`."""

    vocab_size: int
    special: int
    pattern: str  # its name, where it has one
    hash: str
    measured_on: str
    rows: list[Row]
    rare: int
    counts: npt.NDArray[np.int64] = field(repr=False)  # how often each id was seen
    kinds: dict[str, int]  # ordinary tokens by what they are
    longest: list[str]
    longest_space: str
    samples: list[SampleCost] = field(default_factory=list)
    beside: str | None = None
    _names: Mapping[int, str] = field(repr=False, default_factory=dict)

    @property
    def total(self) -> Row:
        """All rows together."""
        of = {name: sum(getattr(row, name) for row in self.rows) for name in SUMS}
        beside = None if self.beside is None else sum(row.beside or 0 for row in self.rows)
        return Row(source="all", beside=beside, **of)

    def rare_tokens(self, least: int | None = None) -> list[tuple[str, int]]:
        """Tokens seen fewer than `least` (by default `rare`) times, and how often: the rarest first.

        Special tokens and a BPE's single bytes, which are there for whatever may come, are not among them.
        """
        least = self.rare if least is None else least
        found = [i for i in np.argsort(self.counts, kind="stable").tolist() if self.counts[i] < least]
        return [(self._names[i], int(self.counts[i])) for i in found if i in self._names]

    def json(self) -> dict[str, Any]:
        """As plain values; of the rare tokens a hundred."""
        rare = self.rare_tokens()
        told = (
            "vocab_size",
            "special",
            "pattern",
            "hash",
            "measured_on",
            "kinds",
            "longest",
            "longest_space",
            "beside",
        )
        return {name: getattr(self, name) for name in told} | {
            "total": self.total.json(),
            "rows": [row.json() for row in self.rows],
            "rare": {"below": self.rare, "tokens": len(rare), "never": len(self.rare_tokens(1)), "list": rare[:LISTED]},
            "samples": [asdict(sample) for sample in self.samples],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `json()` to a file."""
        files.write_json(os.fspath(path), self.json())

    def __rich__(self) -> RenderableType:
        from .tables import tables

        return tables(self)

    def __str__(self) -> str:
        from .tables import plain

        return plain(self)


SUMS = ("documents", "n_bytes", "characters", "tokens", "fallback", "unknown")


def report(
    tok: Tokenizer,
    docs: Dataset,
    *,
    beside: Tokenizer | str | os.PathLike[str] | None = None,
    shares: Sequence[float] = (),
    weights: Mapping[str, float] | None = None,
    rare: int = 10,
    val: float | None = None,
    split_seed: int = SEED,
    split: Split | None = None,
    max_bytes: int = MAX_BYTES,
    run: Runner | None = None,
) -> TokenizerReport:
    """Measure a vocabulary on documents that it has not learned from.

    Args:
        tok: any Tokenizer.
        docs: the corpus; the documents that `train_bpe` holds out are encoded, all documents where there are none.
        beside: another vocabulary for comparison, such as GPT-2's: a Tokenizer, its tokenizer.json, or the folder of
            its encoder.json and vocab.bpe. Nothing is downloaded.
        shares: samples to learn a vocabulary of the same size from, for what the sample's size costs: (0.01, 0.05, 1).
        weights: of these samples, as in `train_bpe`.
        rare: a token seen fewer times is listed.
        val: as in `train_bpe`; by default what `tok` was trained with, else 0.05.
        split_seed: as in `train_bpe`.
        split: as in `train_bpe`.
        max_bytes: UTF-8 bytes that are encoded, about: of every source and language its share.
        run: who reads; `dp.Serial()` by default.

    Raises:
        PlanError: no text, `beside` is no vocabulary, or `shares` of a tokenizer that is no BPE.

    >>> print(tok.report(docs, beside="gpt2", shares=(0.01, 0.05, 1)))
    """
    if split is None and val is None and tok.trained_on:
        split = Split(**tok.trained_on)
    split = split or Split(val=HOLD_OUT if val is None else val, seed=split_seed)
    plan = Sample(split=split, max_bytes=max_bytes, held_out=True)
    other = None if beside is None else _vocabulary(beside)
    drawn, measured_on = _drawn(plan, docs, run)
    counts = np.zeros(tok.vocab_size, np.int64)
    rows = _rows(drawn, tok, other, counts)
    names = {i: visible(token) for token, i in tok.vocab.items() if len(token) > 1 or not tok.merges}
    by_size = sorted(tok.vocab, key=lambda token: (-len(token), tok.vocab[token]))
    return TokenizerReport(
        vocab_size=tok.vocab_size, special=len(tok.special), pattern=_pattern_name(tok.pattern), hash=tok.hash,
        measured_on=measured_on, rows=rows, rare=rare, counts=counts, kinds=kinds(tok),
        longest=[visible(token) for token in by_size[:LISTED]],
        longest_space=visible(next((token for token in by_size if token.isspace()), b"")),
        samples=_samples(tok, docs, plan, drawn, shares, weights, run),
        beside=None if other is None else _name(beside, other), _names=names,
    )  # fmt: skip


def _drawn(plan: Sample, docs: Dataset, run: Runner | None) -> tuple[Drawn, str]:
    """The held-out texts; all texts where none are held out."""
    drawn, told = plan.draw(docs, run), f"val={plan.split.val}, test={plan.split.test}"
    n_bytes = sum(drawn.taken.values())
    if n_bytes:
        return drawn, f"{n_bytes:,} bytes that training holds out ({told})"
    drawn = replace(plan, split=Split(val=0.0), held_out=False).draw(docs, run)
    n_bytes = sum(drawn.taken.values())
    if not n_bytes:
        msg = "there is no text to measure a vocabulary on; check the input"
        raise PlanError(msg)
    return drawn, f"{n_bytes:,} bytes of all documents, since {told} holds none out: it has learned from them"


def _rows(drawn: Drawn, tok: Tokenizer, other: Tokenizer | None, counts: npt.NDArray[np.int64]) -> list[Row]:
    """Figures by source and language; `counts` gets how often each id was seen."""
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
            found["beside"] = np.diff(other.encode_column(texts)[1].astype(np.int64), prepend=0) - 1
        _tally(sums, batch, found)
    counts[tok.eot] = 0
    rows = [Row(source=s, language=x, **of) for (s, x), of in sums.items()]
    return sorted(rows, key=lambda row: (-row.n_bytes, row.source, row.language))


def _between(flags: npt.NDArray[np.bool_], starts: Any, stops: Any) -> npt.NDArray[np.int64]:
    """How many flags are set in each span."""
    total = np.append(0, np.cumsum(flags))
    return np.asarray(total[stops] - total[starts], np.int64)


def _tally(sums: dict[Stratum, Counter[str]], batch: pa.RecordBatch, found: dict[str, npt.NDArray[np.int64]]) -> None:
    table = pa.table({"source": batch.column("source"), "language": batch.column("language"), **found})
    for row in table.group_by(["source", "language"]).aggregate([(name, "sum") for name in found]).to_pylist():
        of = sums.setdefault((row["source"], row["language"]), Counter())
        of.update({name: row[f"{name}_sum"] for name in found})


def _samples(
    tok: Tokenizer, docs: Dataset, plan: Sample, drawn: Drawn, shares: Sequence[float],
    weights: Mapping[str, float] | None, run: Runner | None,
) -> list[SampleCost]:  # fmt: skip
    """Vocabularies of the same size from samples of other sizes, on the same text."""
    from .train import train_on

    if shares and not tok.merges:
        msg = "shares= learns BPE vocabularies to compare with, and this tokenizer is none; leave shares= out"
        raise PlanError(msg)
    weighed, costs = None if weights is None else tuple(sorted(weights.items())), []
    for share in sorted(shares):
        sample = replace(plan, share=share, held_out=False, max_bytes=1 << 62, weights=weighed).draw(docs, run)
        made = train_on(sample, len(tok.merges), tok.pattern, 2, list(tok.special))
        n_bytes = n_tokens = 0
        for batch in drawn.batches():
            ids, _ = made.encode_column(batch.column("text"))
            n_tokens += len(ids) - batch.num_rows
            n_bytes += B.text_bytes(batch)
        taken = sum(sample.taken.values())
        costs.append(SampleCost(share=share, n_bytes=taken, bytes_per_token=n_bytes / max(1, n_tokens)))
    return costs


def kinds(tok: Tokenizer) -> dict[str, int]:
    """Ordinary tokens by what they are: letters by script, digits, white space, signs, parts of a character."""
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
    """A token as people can read it: line ends and the like escaped, a space as it is, runs of one character short."""
    text = token.decode("utf-8", "backslashreplace")
    if len(text) > 8 and len(set(text)) == 1:
        return f"{visible(text[0].encode())} × {len(text)}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _vocabulary(given: Tokenizer | str | os.PathLike[str]) -> Tokenizer:
    if isinstance(given, Tokenizer):
        return given
    url = os.fspath(given)
    for vocab, merges in PAIRS_OF_FILES:
        if files.exists(files.join(url, vocab)) and files.exists(files.join(url, merges)):
            return Tokenizer.from_files(files.join(url, vocab), files.join(url, merges))
    return Tokenizer.load(url)


def _name(given: Any, tok: Tokenizer) -> str:
    """How the other vocabulary is called: GPT-2's is known by its size and last token."""
    if tok.vocab_size == 50_257 and tok.pattern == PATTERNS["gpt2"]:
        return "GPT-2"
    return tok.hash[:8] if isinstance(given, Tokenizer) else files.name_of(os.fspath(given).rstrip("/"))


def _pattern_name(regex: str) -> str:
    """How `train_bpe` would be told of it: its name, and the policy for digits where that is another."""
    for name in PATTERNS | ALSO:
        for digits in (None, *DIGITS):
            if regex_of(name, digits) == regex:
                return name if digits is None else f"{name}, digits={digits}"
    return regex
