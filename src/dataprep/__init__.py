"""dataprep: raw text to a trained language model.

>>> import dataprep as dp
>>> docs = dp.read("crawl/*.jsonl.zst")
>>> clean = dp.Pipeline(dp.C4(), dp.Exact(), dp.MinHash(threshold=0.8)).run(docs, out="work/clean")
>>> tokenizer = dp.train_bpe(clean, vocab_size=32_000)
>>> shards = dp.encode(clean, tokenizer, out="work/shards", val=0.005)

Names load on first use, so that `import dataprep` costs nothing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .core.dataset import Dataset, open_dataset
    from .core.pipeline import Pipeline
    from .core.runner import Local, Ray, Serial
    from .core.score import Score
    from .core.stage import Filter, Map
    from .dedup.bloom import Bloom, bloom_hashes
    from .dedup.exact import Exact
    from .dedup.minhash import MinHash
    from .dedup.semantic import SemDeDup
    from .dedup.suffix_array import SuffixArray
    from .dedup.url import URL
    from .errors import DataprepError
    from .filters.badwords import BadWords
    from .filters.c4.stage import C4
    from .filters.classifiers.language import Language
    from .filters.classifiers.quality import Quality
    from .filters.decontaminate.stage import Decontaminate
    from .filters.fineweb import FineWeb
    from .filters.gopher import Gopher
    from .filters.hosts import Hosts
    from .filters.percentiles import Percentiles
    from .filters.perplexity import Perplexity
    from .filters.refinedweb.stage import RefinedWeb
    from .filters.repair import RepairText
    from .filters.robots.stage import Robots
    from .forget.forget import forget
    from .history.verify import verify
    from .messages.arabic import NormalizeArabic, NormalizeArabizi
    from .messages.clean import CleanMessages
    from .messages.conversations.stage import Conversations
    from .messages.conversations.turns import Turns
    from .messages.language.stage import MessageLanguage
    from .messages.names.consent import Consent
    from .messages.names.stage import Pseudonyms
    from .messages.overlaps import Overlaps
    from .messages.read import read_messages
    from .messages.statistics import MessageStats
    from .persona import persona
    from .pii.stage import PII
    from .read import read
    from .search.index import SuffixIndex
    from .tokens.mix.mix import Mix
    from .tokens.shards.encode import encode
    from .tokens.shards.export import export
    from .tokens.shards.import_tokens import import_tokens
    from .tokens.shards.shard import Shards
    from .tokens.split import Split
    from .tokens.vocabulary.characters import train_characters
    from .tokens.vocabulary.train import Tokenizer, train_bpe
    from .unicode.text import shingle_hash

__version__ = "0.1.0"

__all__ = [
    "C4",
    "PII",
    "URL",
    "BadWords",
    "Bloom",
    "CleanMessages",
    "Consent",
    "Conversations",
    "DataprepError",
    "Dataset",
    "Decontaminate",
    "Exact",
    "Filter",
    "FineWeb",
    "Gopher",
    "Hosts",
    "Language",
    "Local",
    "Map",
    "MessageLanguage",
    "MessageStats",
    "MinHash",
    "Mix",
    "NormalizeArabic",
    "NormalizeArabizi",
    "Overlaps",
    "Percentiles",
    "Perplexity",
    "Pipeline",
    "Pseudonyms",
    "Quality",
    "Ray",
    "RefinedWeb",
    "RepairText",
    "Robots",
    "Score",
    "SemDeDup",
    "Serial",
    "Shards",
    "Split",
    "SuffixArray",
    "SuffixIndex",
    "Tokenizer",
    "Turns",
    "bloom_hashes",
    "encode",
    "export",
    "forget",
    "import_tokens",
    "open_dataset",
    "persona",
    "read",
    "read_messages",
    "shingle_hash",
    "train_bpe",
    "train_characters",
    "verify",
]

_HOMES = {
    "BadWords": "filters.badwords",
    "Bloom": "dedup.bloom",
    "C4": "filters.c4.stage",
    "CleanMessages": "messages.clean",
    "Consent": "messages.names.consent",
    "Conversations": "messages.conversations.stage",
    "DataprepError": "errors",
    "Dataset": "core.dataset",
    "Decontaminate": "filters.decontaminate.stage",
    "Exact": "dedup.exact",
    "Filter": "core.stage",
    "FineWeb": "filters.fineweb",
    "Gopher": "filters.gopher",
    "Hosts": "filters.hosts",
    "Language": "filters.classifiers.language",
    "Local": "core.runner",
    "Map": "core.stage",
    "MessageLanguage": "messages.language.stage",
    "MessageStats": "messages.statistics",
    "MinHash": "dedup.minhash",
    "Mix": "tokens.mix.mix",
    "NormalizeArabic": "messages.arabic",
    "NormalizeArabizi": "messages.arabic",
    "Overlaps": "messages.overlaps",
    "PII": "pii.stage",
    "Percentiles": "filters.percentiles",
    "Perplexity": "filters.perplexity",
    "Pipeline": "core.pipeline",
    "Pseudonyms": "messages.names.stage",
    "Quality": "filters.classifiers.quality",
    "Ray": "core.runner",
    "RefinedWeb": "filters.refinedweb.stage",
    "RepairText": "filters.repair",
    "Robots": "filters.robots.stage",
    "Score": "core.score",
    "SemDeDup": "dedup.semantic",
    "Serial": "core.runner",
    "Shards": "tokens.shards.shard",
    "Split": "tokens.split",
    "SuffixArray": "dedup.suffix_array",
    "SuffixIndex": "search.index",
    "Tokenizer": "tokens.vocabulary.train",
    "Turns": "messages.conversations.turns",
    "URL": "dedup.url",
    "bloom_hashes": "dedup.bloom",
    "encode": "tokens.shards.encode",
    "export": "tokens.shards.export",
    "forget": "forget.forget",
    "import_tokens": "tokens.shards.import_tokens",
    "open_dataset": "core.dataset",
    "persona": "persona",
    "read": "read",
    "read_messages": "messages.read",
    "shingle_hash": "unicode.text",
    "train_bpe": "tokens.vocabulary.train",
    "train_characters": "tokens.vocabulary.characters",
    "verify": "history.verify",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module 'dataprep' has no attribute {name!r}; it has {', '.join(__all__)}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class _Package(ModuleType):
    """Keeps `dp.read`, `dp.forget` and `dp.persona` the functions, although submodules have these names too.

    Importing a submodule assigns it to its parent; here the assignment is ignored where a public name would be hidden.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
