"""Files of a vocabulary: `tokenizer.json` and its config, and `tiktoken`'s list of bytes and ranks."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from dataprep.errors import PlanError, ReadError
from dataprep.store import files

from .alphabet import to_bytes
from .patterns import PATTERNS
from .special import EOT, UNKNOWN

Pair = tuple[bytes, bytes]
# Settings that transformers needs in addition to tokenizer.json; it must not clean up decoded text.
CONFIG = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
ROLES = {"bos_token": "<|startoftext|>", "eos_token": EOT, "unk_token": UNKNOWN, "pad_token": "<|padding|>"}
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class Parts(NamedTuple):
    """Arguments of `Tokenizer`, as read from a file."""

    vocab: dict[bytes, int]
    merges: list[Pair]
    special: dict[str, int]
    pattern: str


def transformers_config(special: Mapping[str, int]) -> bytes:
    """Return `tokenizer_config.json`, which `transformers.AutoTokenizer` needs to open a folder."""
    config: dict[str, Any] = CONFIG | {role: name for role, name in ROLES.items() if name in special}
    if {"<|im_start|>", "<|im_end|>"} <= special.keys():
        config["chat_template"] = CHATML
    return json.dumps(config, indent=2).encode() + b"\n"


def parts_of_json(value: dict[str, Any], url: str) -> Parts:
    """Return the parts of a `tokenizer.json`. Raises PlanError if it is not a plain byte-level BPE."""
    model = value["model"]
    unlike = [f"model {model['type']}"] if model["type"] != "BPE" else []
    unlike += [f"a {part}" for part in ("normalizer", "truncation", "padding") if value.get(part)]
    unlike += [name for name in ("dropout", "unk_token", "byte_fallback") if model.get(name)]
    unlike += [n for n in ("continuing_subword_prefix", "end_of_word_suffix") if model.get(n)]
    unlike += [f"added token {t['content']}" for t in value["added_tokens"] if not t["special"]]
    pattern = _pattern(value["pre_tokenizer"])
    if unlike or pattern is None:
        what = ", ".join(unlike) or "another pre-tokenizer"
        msg = f"{url} has {what}; only a byte-level BPE without these can be encoded with the same ids by tiktoken"
        raise PlanError(msg)
    special = {t["content"]: t["id"] for t in value["added_tokens"]}
    pairs = [m.split(" ") if isinstance(m, str) else m for m in model["merges"]]
    vocab = {to_bytes(t): i for t, i in model["vocab"].items() if t not in special}
    return Parts(vocab, [(to_bytes(a), to_bytes(b)) for a, b in pairs], special, pattern)


def _pattern(pre: dict[str, Any] | None) -> str | None:
    """Return the regex of a byte-level pre-tokenizer; None for another kind."""
    steps = (pre or {}).get("pretokenizers", [pre])
    kinds = [(step or {}).get("type") for step in steps]
    last = steps[-1]
    if kinds == ["Split", "ByteLevel"] and not last["add_prefix_space"] and not last["use_regex"]:
        split = steps[0]
        plain = split["behavior"] == "Isolated" and not split["invert"]
        return split["pattern"].get("Regex") if plain else None
    if kinds == ["ByteLevel"] and not last["add_prefix_space"] and last.get("use_regex", True):
        return PATTERNS["gpt2"]
    return None


def write_tiktoken(url: str, vocab: Mapping[bytes, int], special: Mapping[str, int], pattern: str) -> None:
    """Write a line `base64 rank` per ordinary token, and the special tokens and pattern to URL.json."""
    lines = [b"%b %d\n" % (base64.b64encode(t), i) for t, i in sorted(vocab.items(), key=lambda item: item[1])]
    files.write_bytes(url, b"".join(lines))
    files.write_json(f"{url}.json", {"pat_str": pattern, "special_tokens": dict(special)})


def read_tiktoken(url: str) -> dict[bytes, int]:
    """Return the bytes and ranks of a `.tiktoken` file."""
    with files.open_read(url) as f:
        lines = f.read().splitlines()
    ranks: dict[bytes, int] = {}
    try:
        for token, rank in (line.split() for line in lines):
            ranks[base64.b64decode(token, validate=True)] = int(rank)
    except (ValueError, binascii.Error) as e:
        msg = f"line {len(ranks) + 1:,} is not `base64 rank`, so this is not a .tiktoken vocabulary"
        raise ReadError(msg, url) from e
    return ranks


def merges_of(ranks: Mapping[bytes, int], url: str = "the vocabulary") -> list[Pair]:
    """Return the merges (left, right) that ranks imply: the two tokens before the last merge of each token."""
    found = []
    for token in sorted((t for t in ranks if len(t) > 1), key=ranks.__getitem__):
        pieces = _before_last(token, ranks)
        if len(pieces) != 2:
            msg = f"{url}: token {token!r} cannot be reached by merging two others, so this is not a byte-level BPE"
            raise PlanError(msg)
        found.append((pieces[0], pieces[1]))
    return found


def _before_last(token: bytes, ranks: Mapping[bytes, int]) -> list[bytes]:
    pieces = [token[i : i + 1] for i in range(len(token))]
    while len(pieces) > 2:
        pairs = [(ranks.get(a + b, ranks[token]), i) for i, (a, b) in enumerate(pairwise(pieces))]
        rank, i = min(pairs)
        if rank >= ranks[token]:
            break
        pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
    return pieces
