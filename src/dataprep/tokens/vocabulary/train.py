"""Train a byte-level BPE on a sample of the training split, with the same share of every source and language.

The sample depends on hash(seed, id) only: workers, batches and order do not matter. Only the distinct words of the
sample are kept, so memory grows with their number and not with the size of the sample.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from dataprep.core.run.plan import check_apart
from dataprep.errors import PlanError, require
from dataprep.store import files, lease, receipts, together
from dataprep.store.key import key
from dataprep.tokens.sample import Sample
from dataprep.tokens.shard_format import token_dtype
from dataprep.tokens.split import HOLD_OUT, SEED, Split

from .engines import check_pattern
from .merges import learn_from_sample
from .patterns import regex_of
from .place import CONFIG, RECEIPT, TOKENIZER, check_place, replace_folder
from .special import special_names
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    from dataprep.core.model.dataset import Dataset
    from dataprep.core.run.runner import Runner

__all__ = ["Tokenizer", "train_bpe"]

VERSION = 2  # increased if the same input has another vocabulary
MIN_BYTES = 8 << 20  # a small corpus is sampled more densely, up to all of it: 32,000 merges need some text
MAX_BYTES = 512 << 20  # more text of the same kind changes few merges


def train_bpe(
    docs: Dataset,
    vocab_size: int = 32_000,
    sample: float = 0.05,
    seed: int = SEED,
    runner: Runner | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    weights: Mapping[str, float] | None = None,
    val: float = HOLD_OUT,
    split_seed: int = SEED,
    split: Split | None = None,
    special: str | Sequence[str] = (),
    reserve: int = 0,
    pattern: str = "words",
    split_digits: str | None = None,
    min_count: int = 2,
    min_bytes: int = MIN_BYTES,
    max_bytes: int = MAX_BYTES,
    dtype: str = "uint16",
) -> Tokenizer:
    """Train a vocabulary on a sample of the training documents. The corpus is read twice, first to count its bytes.

    Args:
        docs: the corpus; documents that `dp.encode` would hold out are not used.
        vocab_size: the number of ids, including 256 bytes, `<|endoftext|>`, `special` and reserved tokens.
        sample: the share of the bytes of every source and language (the `language` column, if there is one), chosen by
            hash(seed, id). The share is increased until the sample has `min_bytes`.
        seed: the seed of the sample.
        runner: a Runner; the default is `dp.tools.Serial()`.
        out: a folder for `tokenizer.json`; if an equal call wrote it before, it is opened instead of trained again. A
            different vocabulary there is replaced when the new one is complete.
        weights: such as {"chat": 3, "web": 1}: the bytes per source in the sample have these proportions, regardless of
            the corpus. No text is repeated; PlanError is raised if a source is too small.
        val: the share of the documents to hold out; `encode` may hold out this share or a smaller one.
        split_seed: the seed that chooses these documents; as in `encode`.
        split: a `dp.Split` instead of `val` and `split_seed`, the same as for `encode`.
        special: special tokens in addition to `<|endoftext|>`, with the last ids in this order: their names, or the
            sets "course", "chatml" and "code".
        reserve: the number of unused special tokens for later; `Tokenizer.renamed` gives them names.
        pattern: the rule that divides text into words: "words", "gpt2", "gpt4", "llama3", "o200k", or a regular
            expression.
        split_digits: "groups" of three, "single" or "runs"; None: as in the pattern.
        min_count: a pair of tokens that occurs fewer times is not merged.
        min_bytes: the minimum size of the sample, in UTF-8 bytes.
        max_bytes: the approximate maximum size of the sample, in UTF-8 bytes.
        dtype: "uint32" allows a vocabulary of more than 65,536 ids.

    If the sample has too few pairs of tokens to merge for `vocab_size` ids, the vocabulary is smaller, and a warning is
    logged.

    Raises:
        PlanError: the vocabulary does not fit, the weights cannot be met, or there is no text.

    >>> tok = dp.train_bpe(clean, vocab_size=32_000, sample=0.05, special="chatml")
    >>> tok.save("work/tokenizer.json")
    """
    names = special_names(special, reserve)
    n_merges = vocab_size - 256 - len(names)
    token_dtype(vocab_size, dtype)
    if n_merges < 0:
        msg = f"vocab_size={vocab_size} must be at least {256 + len(names)}: 256 bytes and {len(names)} special tokens"
        raise PlanError(msg)
    split = split or Split(val=val, seed=split_seed)
    plan = Sample(
        share=sample, seed=seed, split=split, min_bytes=min_bytes, max_bytes=max_bytes,
        weights=None if weights is None else tuple(sorted(weights.items())),
    )  # fmt: skip
    regex = regex_of(pattern, split_digits)
    check_pattern(regex)

    def train() -> Tokenizer:
        drawn = plan.draw(docs, runner)
        require(not docs.stats.emptied, f"there is no text to learn a vocabulary from; {docs.stats.emptied}")
        merges = learn_from_sample(drawn, n_merges, regex, min_count)
        return Tokenizer.from_merges(merges, names, regex)

    if out is None:
        tok = train()
    else:
        recipe = key([VERSION, docs.key, vocab_size, plan, names, regex, min_count])
        folder = os.fspath(out)
        check_apart(docs, folder)
        with lease.held(folder):
            together.recover(folder, [CONFIG, TOKENIZER, RECEIPT])
            if receipts.valid(files.join(folder, RECEIPT), recipe) is None:
                check_place(folder, {CONFIG: None, TOKENIZER: None})
                replace_folder(folder, train().written, recipe)
            files.sweep(folder)
        tok = Tokenizer.load(folder)
    tok.trained_on = asdict(split)
    return tok
