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
    from .chat.arabic import NormalizeArabic, NormalizeArabizi
    from .chat.clean import CleanMessages
    from .chat.consent import Consent
    from .chat.conversations import Conversations
    from .chat.language import MessageLanguage
    from .chat.overlaps import Overlaps
    from .chat.people import Pseudonyms
    from .chat.statistics import MessageStats
    from .chat.turns import Turns
    from .dataset import Dataset, open_dataset
    from .dedup.bloom import Bloom, bloom_hashes
    from .dedup.exact import Exact
    from .dedup.minhash import MinHash
    from .dedup.semantic import SemDeDup
    from .dedup.suffix import SuffixArray
    from .dedup.suffix_index import SuffixIndex
    from .dedup.url import URL
    from .errors import DataprepError
    from .filters.badwords import BadWords
    from .filters.c4 import C4
    from .filters.decontaminate import Decontaminate
    from .filters.fineweb import FineWeb
    from .filters.gopher import Gopher
    from .filters.hosts import Hosts
    from .filters.language import Language
    from .filters.percentiles import Percentiles
    from .filters.perplexity import Perplexity
    from .filters.pii import PII
    from .filters.quality import Quality
    from .filters.refinedweb import RefinedWeb
    from .filters.repair import RepairText
    from .filters.robots import Robots
    from .finetune import persona
    from .messages import read_messages
    from .pipeline import Pipeline
    from .read import read
    from .removal import forget
    from .run import Local, Ray, Serial
    from .score import Score
    from .stage import Filter, Map
    from .text import shingle_hash
    from .tokens.characters import train_characters
    from .tokens.encode import encode
    from .tokens.export import export
    from .tokens.foreign import import_tokens
    from .tokens.mix import Mix
    from .tokens.shard import Shards
    from .tokens.split import Split
    from .tokens.train import Tokenizer, train_bpe
    from .verification import verify

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
    "C4": "filters.c4",
    "CleanMessages": "chat.clean",
    "Consent": "chat.consent",
    "Conversations": "chat.conversations",
    "DataprepError": "errors",
    "Dataset": "dataset",
    "Decontaminate": "filters.decontaminate",
    "Exact": "dedup.exact",
    "Filter": "stage",
    "FineWeb": "filters.fineweb",
    "Gopher": "filters.gopher",
    "Hosts": "filters.hosts",
    "Language": "filters.language",
    "Local": "run",
    "Map": "stage",
    "MessageLanguage": "chat.language",
    "MessageStats": "chat.statistics",
    "MinHash": "dedup.minhash",
    "Mix": "tokens.mix",
    "NormalizeArabic": "chat.arabic",
    "NormalizeArabizi": "chat.arabic",
    "Overlaps": "chat.overlaps",
    "PII": "filters.pii",
    "Percentiles": "filters.percentiles",
    "Perplexity": "filters.perplexity",
    "Pipeline": "pipeline",
    "Pseudonyms": "chat.people",
    "Quality": "filters.quality",
    "Ray": "run",
    "RefinedWeb": "filters.refinedweb",
    "RepairText": "filters.repair",
    "Robots": "filters.robots",
    "Score": "score",
    "SemDeDup": "dedup.semantic",
    "Serial": "run",
    "Shards": "tokens.shard",
    "Split": "tokens.split",
    "SuffixArray": "dedup.suffix",
    "SuffixIndex": "dedup.suffix_index",
    "Tokenizer": "tokens.train",
    "Turns": "chat.turns",
    "URL": "dedup.url",
    "bloom_hashes": "dedup.bloom",
    "encode": "tokens.encode",
    "export": "tokens.export",
    "forget": "removal",
    "import_tokens": "tokens.foreign",
    "open_dataset": "dataset",
    "persona": "finetune",
    "read": "read",
    "read_messages": "messages",
    "shingle_hash": "text",
    "train_bpe": "tokens.train",
    "train_characters": "tokens.characters",
    "verify": "verification",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module 'dataprep' has no attribute {name!r}; it has {', '.join(__all__)}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class _Package(ModuleType):
    """Keeps `dp.read` the function, although `dataprep.read` is also the folder that holds the readers.

    Importing a submodule assigns it to its parent; a property on the module's class outlives that assignment.
    """

    @property
    def read(self) -> Any:
        return __getattr__("read")

    @read.setter
    def read(self, module: ModuleType) -> None:
        """The import system's assignment of the folder; it stays in `sys.modules`."""


sys.modules[__name__].__class__ = _Package
