"""Read and write the files of a vocabulary: `tokenizer.json` and its config, and `tiktoken`'s list of bytes and ranks.

`tokenizer.json` and `merges.txt` spell each byte of a token as one printable character, as in GPT-2.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from tokenizers import Regex, pre_tokenizers

from dataprep.errors import PlanError, ReadError
from dataprep.store import files, lease, together

from .patterns import PATTERNS, regex_of
from .special import EOT, UNKNOWN

Pair = tuple[bytes, bytes]
PAIRS_OF_FILES = (("encoder.json", "vocab.bpe"), ("vocab.json", "merges.txt"))  # as GPT-2 was published, and since
# Settings that transformers needs in addition to tokenizer.json; it must not clean up decoded text.
CONFIG = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
ROLES = {"bos_token": "<|startoftext|>", "eos_token": EOT, "unk_token": UNKNOWN, "pad_token": "<|padding|>"}
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _byte_chars() -> dict[int, str]:
    """Return the character of each byte: itself if it is printable, else the next one from U+0100."""
    prints = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in prints]
    return {b: chr(b) for b in prints} | {b: chr(0x100 + i) for i, b in enumerate(others)}


CHAR_OF = _byte_chars()
BYTE_OF = {c: b for b, c in CHAR_OF.items()}


def to_chars(token: bytes) -> str:
    """Return a token as it is spelled in `tokenizer.json` and `merges.txt`: one printable character per byte."""
    return token.decode("latin-1").translate(CHAR_OF)


def to_bytes(token: str) -> bytes:
    """Return the bytes of a token that is spelled as in `tokenizer.json`."""
    return bytes(map(BYTE_OF.__getitem__, token))


def is_spelled(token: str) -> bool:
    """Return whether a string spells bytes as in `tokenizer.json`, so that `to_bytes` accepts it."""
    return BYTE_OF.keys() >= set(token)


def transformers_config(special: Mapping[str, int], more: Mapping[str, Any] | None = None) -> bytes:
    """Return the content of `tokenizer_config.json`, which `transformers.AutoTokenizer` needs to open a folder.

    Args:
        special: {special token: id}.
        more: further settings.
    """
    config: dict[str, Any] = CONFIG | {role: name for role, name in ROLES.items() if name in special} | dict(more or {})
    if {"<|im_start|>", "<|im_end|>"} <= special.keys():
        config["chat_template"] = CHATML
    return json.dumps(config, indent=2).encode() + b"\n"


def parts_of_json(value: dict[str, Any], url: str) -> tuple[dict[bytes, int], list[Pair], dict[str, int], str]:
    """Return ({token: id}, merges, {special token: id}, pattern) of a `tokenizer.json`: the arguments of `Tokenizer`.

    Args:
        value: the parsed file.
        url: the file's URL, for messages.

    Raises PlanError if it is not a plain byte-level BPE.
    """
    model = value["model"]
    unlike = [f"model {model['type']}"] if model["type"] != "BPE" else []
    unlike += [f"a {part}" for part in ("normalizer", "truncation", "padding") if value.get(part)]
    unlike += [name for name in ("dropout", "unk_token", "byte_fallback") if model.get(name)]
    unlike += [n for n in ("continuing_subword_prefix", "end_of_word_suffix") if model.get(n)]
    unlike += [f"added token {t['content']}" for t in value["added_tokens"] if not t["special"]]
    pattern = _pattern(value["pre_tokenizer"])
    if unlike or pattern is None:
        what = ", ".join(unlike) or "another pre-tokenizer"
        msg = f"{url} has {what}; it must be a byte-level BPE without them, or `tiktoken` would give other ids"
        raise PlanError(msg)
    special = {t["content"]: t["id"] for t in value["added_tokens"]}
    pairs = [m.split(" ") if isinstance(m, str) else m for m in model["merges"]]
    vocab = {to_bytes(t): i for t, i in model["vocab"].items() if t not in special}
    return vocab, [(to_bytes(a), to_bytes(b)) for a, b in pairs], special, pattern


def pair_in(folder: str) -> tuple[str, str] | None:
    """Return the URLs of the two files of a vocabulary in GPT-2's format in a folder; None if it has no such pair."""
    pairs = ((files.join(folder, vocab), files.join(folder, merges)) for vocab, merges in PAIRS_OF_FILES)
    return next((pair for pair in pairs if all(map(files.exists, pair))), None)


def parts_of_pair(vocab: str, merges: str) -> tuple[dict[bytes, int], list[Pair], dict[str, int]]:
    """Return ({token: id}, merges, {special token: id}) of two files in GPT-2's format: the arguments of `Tokenizer`.

    Args:
        vocab: the URL of the file of ids.
        merges: the URL of the file of merges.
    """
    ids: dict[str, int] = files.read_json(vocab)
    with files.open_read(merges) as f:
        lines = f.read().decode("utf-8").splitlines()
    pairs = [line.split(" ") for line in lines if line and not line.startswith("#version")]
    special = {t: i for t, i in ids.items() if t == EOT or not is_spelled(t)}
    tokens = {to_bytes(t): i for t, i in ids.items() if t not in special}
    return tokens, [(to_bytes(a), to_bytes(b)) for a, b in pairs], special


def pre_tokenizer(pattern: str) -> pre_tokenizers.PreTokenizer:
    """Return the pre-tokenizer, for the library `tokenizers`, that divides text into words by `pattern`.

    The pre-tokenizer also spells the bytes of words as printable characters.
    """
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    try:
        regex = Regex(pattern)
    except Exception as e:
        msg = f"pattern={pattern!r:.100} must be a name or a valid regular expression for Oniguruma: {e}"
        raise PlanError(msg) from e
    return pre_tokenizers.Sequence([pre_tokenizers.Split(regex, "isolated"), byte_level])


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
    """Write a vocabulary in `tiktoken`'s format: the file `url` has a line `BASE64 RANK` per ordinary token.

    Special tokens and pattern are written to `url`.json, together with it.

    - vocab: {bytes of a token: rank}.
    - special: {special token: id}.
    """
    lines = [b"%b %d\n" % (base64.b64encode(t), i) for t, i in sorted(vocab.items(), key=lambda item: item[1])]
    names = [files.name_of(url), f"{files.name_of(url)}.json"]

    def write(new: str) -> list[str]:
        files.write_bytes(files.join(new, names[0]), b"".join(lines))
        files.write_json(files.join(new, names[1]), {"pat_str": pattern, "special_tokens": dict(special)})
        return names

    folder = url.rpartition("/")[0] or "."
    with lease.held(folder, anywhere=True):
        together.replace(folder, names, write)


def read_tiktoken(url: str) -> dict[bytes, int]:
    """Return the tokens of a `.tiktoken` file as {bytes: rank}. Raises ReadError if it is not such a file."""
    with files.open_read(url) as f:
        lines = f.read().splitlines()
    ranks: dict[bytes, int] = {}
    try:
        for token, rank in (line.split() for line in lines):
            ranks[base64.b64decode(token, validate=True)] = int(rank)
    except (ValueError, binascii.Error) as e:
        msg = f"line {len(ranks) + 1:,} is not `base64 rank`, so this is not a .tiktoken vocabulary; check the path"
        raise ReadError(msg, url) from e
    return ranks


def parts_of_tiktoken(
    url: str, special: Mapping[str, int] | None, pattern: str | None
) -> tuple[dict[bytes, int], list[Pair], Mapping[str, int], str]:
    """Return ({token: id}, merges, {special token: id}, pattern) of a `.tiktoken` file: the arguments of `Tokenizer`.

    - special, pattern: if None, they are read from the file URL.json, which `write_tiktoken` writes.

    Raises PlanError if there is none.
    """

    def read(at: Callable[[str], str]) -> tuple[dict[bytes, int], dict[str, Any]]:
        if special is not None and pattern is not None:
            return read_tiktoken(at(url)), {}
        if not files.exists(at(f"{url}.json")):
            msg = (
                f"{url} contains only ranks, without a {files.name_of(url)}.json next to it; pass its special tokens "
                'and pattern: Tokenizer.from_tiktoken(path, {"<|endoftext|>": 100257}, "gpt4")'
            )
            raise PlanError(msg)
        return read_tiktoken(at(url)), files.read_json(at(f"{url}.json"))

    ranks, config = together.read(url.rpartition("/")[0] or ".", read)
    regex = regex_of(str(config["pat_str"]) if pattern is None else pattern)
    return ranks, merges_of(ranks, url), config["special_tokens"] if special is None else special, regex


def merges_of(ranks: Mapping[bytes, int], url: str = "the vocabulary") -> list[Pair]:
    """Return the merges, in order of rank, of a vocabulary of which only the tokens' ranks are known.

    A merge is (left, right): the two tokens that the last merge of a longer token joins.

    Args:
        ranks: {bytes of a token: rank}.
        url: the file's URL, for messages.

    Raises PlanError if a token does not consist of two other tokens.
    """
    found = []
    for token in sorted((t for t in ranks if len(t) > 1), key=ranks.__getitem__):
        pieces = _before_last(token, ranks)
        if len(pieces) != 2:
            msg = (
                f"{url}: token {token!r} cannot be reached by merging two others; it must be a byte-level BPE, "
                "such as dp.train_bpe makes"
            )
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
