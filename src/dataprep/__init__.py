"""dataprep: raw text to a trained language model.

>>> import dataprep as dp
>>> docs = dp.read("crawl/*.jsonl.zst")
>>> clean = dp.Pipeline(dp.C4(), dp.Exact(), dp.MinHash(threshold=0.8)).run(docs, out="work/clean")
>>> tokenizer = dp.train_bpe(clean, vocab_size=32_000)
>>> shards = dp.encode(clean, tokenizer, out="work/shards", val=0.005)

Names load on first use, so that `import dataprep` is fast. `__init__.pyi` is for type checkers.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

# Every public name, by the module it is defined in.
_NAMES = {
    "core.model.batch": "Batch",
    "core.model.dataset": "Dataset open_dataset",
    "core.model.estimator": "Estimator",
    "core.model.function": "Filter Map",
    "core.pipeline": "Pipeline",
    "core.model.reader": "Reader",
    "core.run.ray_runner": "Ray",
    "core.run.runner": "Local Runner Serial",
    "core.model.score": "Score",
    "core.model.stage": "Stage",
    "core.model.stats": "Stats",
    "dedup.bloom": "Bloom bloom_hashes",
    "dedup.exact": "Exact",
    "dedup.minhash": "MinHash",
    "dedup.semantic": "SemDeDup",
    "dedup.suffix_array": "SuffixArray",
    "dedup.url": "URLDedup",
    "errors": "DataprepError",
    "filters.badwords": "BadWords",
    "filters.c4.stage": "C4",
    "filters.classifiers.language": "Language",
    "filters.classifiers.quality": "Quality",
    "filters.decontaminate.stage": "Decontaminate",
    "filters.fineweb": "FineWeb",
    "filters.fineweb2": "FineWeb2",
    "filters.gopher.stage": "Gopher",
    "filters.hosts": "Hosts",
    "filters.mc4": "MC4",
    "filters.percentiles": "Percentiles",
    "filters.perplexity": "Perplexity",
    "filters.refinedweb.stage": "RefinedWeb",
    "filters.repair": "RepairText",
    "filters.robots": "Robots",
    "fit.language": "fit_language",
    "forget.forget": "forget",
    "history.verify": "verify",
    "messages.arabic": "NormalizeArabic",
    "messages.arabizi": "NormalizeArabizi",
    "messages.clean": "CleanMessages",
    "messages.conversations.stage": "Conversations",
    "messages.conversations.turns": "Turns",
    "messages.language.stage": "MessageLanguage",
    "messages.names.consent": "Consent",
    "messages.names.stage": "Pseudonyms",
    "messages.overlaps": "Overlaps",
    "messages.people.propose": "propose_people",
    "messages.read": "read_messages",
    "messages.statistics": "MessageStats",
    "persona": "persona",
    "pii.kinds": "PIIKind",
    "pii.stage": "PII",
    "read": "read",
    "read.formats": "register",
    "resource": "Resource",
    "search.index": "SuffixIndex",
    "tokens.mix.mix": "Mix",
    "tokens.shards.encode": "encode",
    "tokens.shards.export": "export",
    "tokens.shards.import_tokens": "import_tokens",
    "tokens.shards.shard": "Shards",
    "tokens.split": "Split",
    "tokens.vocabulary.characters": "train_characters",
    "tokens.vocabulary.train": "Tokenizer train_bpe",
    "unicode.shingles": "shingle_hash",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list all the same


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module 'dataprep' has no attribute {name!r}; it has {', '.join(__all__)}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class _Package(ModuleType):
    """Keeps `dp.read`, `dp.forget` and `dp.persona` the functions, although submodules have these names too.

    Importing a submodule assigns it to its parent; here the assignment is ignored if it would hide a public name.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
