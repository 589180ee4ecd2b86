"""The two engines of a vocabulary, `tokenizers` and `tiktoken`, and a check that they give every text the same ids.

`tokenizers` merges by the rank of a *rule* (left, right), `tiktoken` by the rank of the merged *bytes*. They agree on
every text exactly if (1) no two rules make the same bytes, (2) ids ascend in the order of the rules, and (3) each
token's bytes, encoded alone, become that token. This suffices for two reasons: a span of bytes that no merge crosses is
merged as if it were alone, and the last merge of a span joins a unique pair. Therefore tiktoken never finds a pair that
it would merge without a rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import tiktoken
import tokenizers
from tokenizers import decoders, models

from dataprep.errors import PlanError

from .apply_merges import n_tokens, rules_of
from .formats import Pair, is_spelled, pre_tokenizer, to_bytes, to_chars
from .special import EOT

# Letters, marks, numbers, signs, blanks, controls, private and unassigned characters, each alone and before a letter.
OTHERS = "\u00e9\u00a0\u2028\u0663\u0627\u064b\u0915\u093f\u65e5\u3042\u00b2\u20ac\u200d\U0001f600\ue000\u0378"
KINDS_OF_CHARACTERS = [*map(chr, range(128)), *OTHERS]
PROBES = [text for c in KINDS_OF_CHARACTERS for text in (c, f"{c}a", f"a{c}{c}a")]


def check_agreement(
    vocab: Mapping[bytes, int], merges: Sequence[Pair], special: Mapping[str, int], pattern: str
) -> None:
    """Raise PlanError if `tokenizers` and `tiktoken` could give a text different ids.

    Args:
        vocab: {bytes of a token: id}.
        merges: pairs (left, right) of tokens, as bytes, in order.
        special: {special token: id}.
        pattern: regular expression of words, see `check_pattern`.
    """
    check_pattern(pattern)
    missing = [b for b in range(256) if bytes([b]) not in vocab]
    if missing:
        msg = (
            f"the vocabulary is not byte-level: it lacks {len(missing)} of the 256 bytes, first {missing[0]:#04x}; "
            "pass a byte-level BPE, or train one with dp.train_bpe"
        )
        raise PlanError(msg)
    if EOT not in special:
        msg = f"the vocabulary has no {EOT}, which separates documents; add it as a special token"
        raise PlanError(msg)
    words = {name for name in special if name.encode() in vocab or (is_spelled(name) and to_bytes(name) in vocab)}
    if words:
        msg = f"the special token {min(words)!r} is also an ordinary token; give it another name, like <|name|>"
        raise PlanError(msg)
    made = [left + right for left, right in merges]
    ids = [vocab.get(token, -1) for token in made]
    if len(set(made)) < len(made) or len(vocab) != 256 + len(made) or ids != sorted(ids) or -1 in ids[:1]:
        msg = (
            "the merges must produce each token once, in the order of the ids, as tiktoken requires; "
            "sort them by the ids of their tokens, or train a vocabulary with dp.train_bpe"
        )
        raise PlanError(msg)
    alone = _unreachable(vocab, merges)
    if alone:
        msg = (
            f"{len(alone)} of the merges cannot be reached by merging in order (first: {alone[0]!r}), "
            "so the libraries `tokenizers` and `tiktoken` would encode differently; remove these merges, or "
            "train a vocabulary with dp.train_bpe"
        )
        raise PlanError(msg)


@cache
def check_pattern(pattern: str) -> None:
    """Raise PlanError if a regular expression does not match all characters: `tiktoken` loses those between matches."""
    if not pattern:
        msg = "pattern='' must be a regular expression that divides text into words"
        raise PlanError(msg)
    pre_tokenizer(pattern)  # raises if it cannot be read
    try:
        ranks = {bytes([b]): b for b in range(256)}
        engine = tiktoken.Encoding("", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    except ValueError as e:
        msg = f"pattern={pattern!r:.100} must be a regular expression that tiktoken accepts: {' '.join(str(e).split())}"
        raise PlanError(msg) from e
    lost = [text for text in PROBES if engine.decode(engine.encode_ordinary(text)) != text]
    if lost:
        msg = (
            f"pattern={pattern!r:.100} does not match all of {lost[0]!r}, so tiktoken would lose text; let it match "
            r"everything, such as by adding |[\s\S] at its end"
        )
        raise PlanError(msg)


def _unreachable(vocab: Mapping[bytes, int], merges: Sequence[Pair]) -> list[bytes]:
    """Return the tokens, as bytes, whose bytes become several tokens if they are encoded alone.

    With such tokens, `tiktoken` and `tokenizers` would encode some texts differently from each other. The rules are
    applied by the kernel that encodes texts, or by `tokenizers` if the ids are too large for it.
    """
    made = [a + b for a, b in merges]
    lacking = [a + b for a, b in merges if a not in vocab or b not in vocab]
    if lacking:
        return lacking
    rules = rules_of(vocab, merges)
    if rules is None:
        chars = {to_chars(t): i for t, i in vocab.items()}
        model = models.BPE(chars, [(to_chars(a), to_chars(b)) for a, b in merges])
        return [token for token in made if len(model.tokenize(to_chars(token))) != 1]
    ends = np.cumsum([len(token) for token in made], dtype=np.int64)
    counts = n_tokens(np.frombuffer(b"".join(made), np.uint8), ends, rules)
    return [made[i] for i in np.flatnonzero(counts != 1)]


def engine_of(
    vocab: Mapping[bytes, int], merges: Sequence[Pair], special: Mapping[str, int], pattern: str
) -> tokenizers.Tokenizer:
    """Return a vocabulary as a `tokenizers.Tokenizer`; the parameters are those of `Tokenizer`."""
    chars = {t: to_chars(t) for t in vocab}
    ids = {chars[t]: i for t, i in vocab.items()} | dict(special)  # else they would get new ids
    tok = tokenizers.Tokenizer(models.BPE(ids, [(chars[a], chars[b]) for a, b in merges]))
    tok.pre_tokenizer = pre_tokenizer(pattern)
    tok.decoder = decoders.ByteLevel()
    tok.add_special_tokens([name for name, _ in sorted(special.items(), key=lambda item: item[1])])
    return tok


def encode_by_tiktoken(
    engine: tiktoken.Encoding, texts: Sequence[str], eot: int, dtype: npt.DTypeLike
) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint64]]:
    """Encode all texts in one call, joined by the separator, or one by one if a text contains it.

    - eot: the id of the separator.

    Returns (ids of all texts, each followed by the separator; index after each text's last id, uint64[n]).
    """
    joined = EOT.join([*texts, ""])
    if joined.count(EOT) > len(texts):
        found = [[*engine.encode_ordinary(text), eot] for text in texts]
        tokens = np.concatenate([np.array(ids, dtype) for ids in found])
        return tokens, np.cumsum([len(ids) for ids in found], dtype=np.uint64)
    tokens = engine.encode_to_numpy(joined, allowed_special={EOT}, disallowed_special=())
    return tokens.astype(dtype), np.flatnonzero(tokens == eot).astype(np.uint64) + np.uint64(1)
