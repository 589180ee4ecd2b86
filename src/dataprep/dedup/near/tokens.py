"""Tokens as the units of shingles, from any tokenizer: tiktoken, a `tokenizer.json`, or a `dp.Tokenizer`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from dataprep.errors import PlanError, ReadError
from dataprep.store import files
from dataprep.unicode.text import I64, U64


@dataclass(frozen=True, repr=False)
class Tokens:
    """A tokenizer that divides texts into the units that make up shingles.

    Attributes:
        name: the name in messages and manifests.
        digest: a hash of everything that determines the ids.
        engine: the tokenizer; it has at least one of the methods `encode_column` (dp.Tokenizer),
            `encode_ordinary_batch` (tiktoken) and `encode_batch` (tokenizers).
    """

    name: str = field(compare=False)
    digest: str
    engine: Any = field(compare=False)

    def __repr__(self) -> str:
        return self.name

    @property
    def unit(self) -> str:
        """The text that represents this tokenizer in keys: "tokens" and a hash of the tokenizer's content."""
        return f"tokens {self.digest}"

    @classmethod
    def of(cls, given: Any) -> Tokens:
        """Return a tokenizer specified by name, path or object.

        Args:
            given: a name of tiktoken ("o200k_base"); the path of a `tokenizer.json`, or of its folder; a
                `dp.Tokenizer`; or a tokenizer of the libraries tiktoken, tokenizers or transformers.

        Raises PlanError for anything else.
        """
        if isinstance(given, Tokens):
            return given
        if isinstance(given, (str, os.PathLike)):
            return cls._named(os.fspath(given))
        engine = getattr(given, "backend_tokenizer", given)  # of transformers
        if hasattr(engine, "encode_column"):
            return cls(f"{type(engine).__name__} {engine.hash[:8]}", str(engine.hash), engine)
        if hasattr(engine, "encode_ordinary_batch"):
            return cls._tiktoken(engine)
        if hasattr(engine, "encode_batch") and hasattr(engine, "to_str"):
            return cls._of_json(engine.to_str(), "tokenizer")
        msg = (
            f"shingle={given!r} must be 'word', 'char', a tiktoken encoding such as 'o200k_base', the path of a "
            "tokenizer.json, or a tokenizer object"
        )
        raise PlanError(msg)

    @classmethod
    def _named(cls, given: str) -> Tokens:
        import tiktoken

        if given in tiktoken.list_encoding_names():
            try:
                return cls._tiktoken(tiktoken.get_encoding(given))
            except Exception as e:  # whatever its download raises
                msg = f"shingle={given!r} cannot be loaded by tiktoken ({e}); pass the path of a tokenizer.json"
                raise PlanError(msg) from e
        url = files.join(given, "tokenizer.json") if given and files.is_dir(given) else given
        if not url.endswith(".json"):
            names = ", ".join(map(repr, tiktoken.list_encoding_names()))
            kinds = "'word', 'char', the path of a tokenizer.json or its folder"
            msg = f"shingle={given!r} must be {kinds}, or one of {names}"
            raise PlanError(msg)
        try:
            with files.open_read(url) as f:
                return cls._of_json(f.read().decode(), files.name_of(given))
        except (OSError, ReadError, UnicodeDecodeError) as e:
            msg = f"shingle={given!r} must be the path of a tokenizer.json: {e}"
            raise PlanError(msg) from e

    @classmethod
    def _tiktoken(cls, engine: Any) -> Tokens:
        digest = xxhash.xxh3_128()
        pattern: str = engine._pat_str  # noqa: SLF001 - no public name
        for part in (pattern.encode(), *engine.token_byte_values()):
            digest.update(b"%d " % len(part) + part)
        return cls(engine.name, digest.hexdigest(), engine)

    @classmethod
    def _of_json(cls, text: str, name: str) -> Tokens:
        import tokenizers

        try:
            engine = tokenizers.Tokenizer.from_str(text)
        except Exception as e:  # the library raises no narrower class
            msg = f"shingle={name!r} must be a tokenizer.json that the library tokenizers reads: {e}"
            raise PlanError(msg) from e
        engine.no_truncation()  # many files set a truncation
        engine.no_padding()
        digest = xxhash.xxh3_128_hexdigest(engine.to_str().encode())
        return cls(f"{name} {digest[:8]}", digest, engine)

    def ids(self, texts: pa.LargeStringArray) -> tuple[I64, U64]:
        """Return the ids of each text, as (offsets int64[n + 1], ids uint64); special tokens count as plain text."""
        if hasattr(self.engine, "encode_column"):
            found, stops = self.engine.encode_column(texts)
            stops = stops.astype(np.int64)
            is_id = np.ones(len(found), bool)
            is_id[stops - 1] = False  # the end of the text
            return np.append(0, stops - np.arange(1, len(stops) + 1)), found[is_id].astype(np.uint64)
        rows = self._lists()(texts.to_pylist())
        ends = np.append(0, np.cumsum([len(row) for row in rows], dtype=np.int64))
        return ends, np.concatenate([np.zeros(0, np.uint64), *(np.array(row, np.uint64) for row in rows)])

    def _lists(self) -> Callable[[list[str]], Sequence[Sequence[int]]]:
        engine = self.engine
        if hasattr(engine, "encode_ordinary_batch"):
            return lambda texts: engine.encode_ordinary_batch(texts, num_threads=1)
        encode = getattr(engine, "encode_batch_fast", engine.encode_batch)
        return lambda texts: [found.ids for found in encode(texts, add_special_tokens=False)]
