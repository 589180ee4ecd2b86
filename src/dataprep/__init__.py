"""dataprep: raw text to a trained language model.

>>> import dataprep as dp
>>> docs = dp.read("crawl/*.jsonl.zst")
>>> clean = dp.Pipeline(dp.C4(), dp.Exact(), dp.MinHash(threshold=0.8)).run(docs, out="work/clean")
>>> tokenizer = dp.train_bpe(clean, vocab_size=32_000)
>>> shards = dp.encode(clean, tokenizer, out="work/shards", val=0.005)
>>> dp.train(shards, out="work/model", config="42m")

The top level has the steps from raw text to a trained model. `dp.chats` has the stages for messages, `dp.tools` the
runners and the functions for finished results, and `dataprep.extend` the base classes for your own stages and readers.
Names load on first use, so that `import dataprep` is fast. `__init__.pyi` is for type checkers.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from . import lazy

TYPE_CHECKING = False  # as in `lazy`
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

# Every public name of the top level, by the module it is defined in.
_NAMES = {
    "core.model.dataset": "Dataset open_dataset",
    "core.model.function": "Filter Map",
    "core.pipeline": "Pipeline",
    "core.model.score": "Score",
    "dedup.bloom": "Bloom",
    "dedup.exact": "Exact",
    "dedup.minhash": "MinHash",
    "dedup.semantic": "SemDeDup",
    "dedup.suffix_array": "SuffixArray",
    "dedup.url": "URLDedup",
    "errors": "DataprepError",
    "experiment.run": "experiment",
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
    "inference.evaluate": "evaluate",
    "inference.generate": "generate",
    "inference.train": "train",
    "pii.stage": "PII",
    "read": "read",
    "tokens.mix.mix": "Mix",
    "tokens.shards.encode": "encode",
    "tokens.shards.shard": "Shards",
    "tokens.split": "Split",
    "tokens.vocabulary.train": "Tokenizer train_bpe",
}
_HOMES = lazy.by_name(_NAMES)
_MODULES = ("chats", "extend", "tools")  # the public modules
__all__ = sorted([*_HOMES, *_MODULES])  # noqa: PLE0605 - a list all the same
_load = lazy.loader(__name__, _HOMES, __all__)


_PACKAGES = ("experiment", "read", "train")  # functions with the name of a package


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    for module in () if name in _HOMES or name.startswith("_") else reversed(_MODULES):
        if name in importlib.import_module(f".{module}", __name__).__all__:
            msg = f"module {__name__!r} has no attribute {name!r}; use dp.{module}.{name}"
            raise AttributeError(msg)
    found = _load(name)
    if name in _PACKAGES:
        # The function has the attributes of the package, so that `import dataprep.read.json.reader as x` finds it.
        found.__dict__ = importlib.import_module(f".{name}", __name__).__dict__
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class _Package(ModuleType):
    """Keeps `dp.experiment`, `dp.read` and `dp.train` bound to functions, although packages have the same names.

    Importing a subpackage assigns it to an attribute of its parent. This class ignores the assignment if it would hide
    a public name.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
