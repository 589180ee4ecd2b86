"""Tools in addition to the steps of a recipe: runners, functions for finished results, and special kinds of training.

>>> import dataprep as dp
>>> docs = dp.read("crawl/*.jsonl.zst")                                                                # doctest: +SKIP
>>> clean = dp.Pipeline(dp.C4()).run(docs, out="work/clean", runner=dp.tools.Local(workers=4))         # doctest: +SKIP
>>> dp.tools.verify("work/clean")                                                                      # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import lazy

if TYPE_CHECKING:
    from .core.run.materialize import materialize as materialize
    from .core.run.queue_runner import Queue as Queue
    from .core.run.ray_runner import Ray as Ray
    from .core.run.runner import Local as Local
    from .core.run.runner import Serial as Serial
    from .core.run.slurm_runner import Slurm as Slurm
    from .experiment.sweep import scaling as scaling
    from .fit.language import fit_language as fit_language
    from .forget.forget import forget as forget
    from .history.judged import reviewed as reviewed
    from .history.verify import verify as verify
    from .history.what_if import what_if as what_if
    from .inference.classify import classify as classify
    from .search.index import SuffixIndex as SuffixIndex
    from .tokens.shards.export import export as export
    from .tokens.shards.import_tokens import import_tokens as import_tokens
    from .tokens.vocabulary.characters import train_characters as train_characters

# Every public name, by the module it is defined in.
_NAMES = {
    "core.run.queue_runner": "Queue",
    "core.run.ray_runner": "Ray",
    "core.run.runner": "Local Serial",
    "core.run.slurm_runner": "Slurm",
    "core.run.materialize": "materialize",
    "experiment.sweep": "scaling",
    "fit.language": "fit_language",
    "forget.forget": "forget",
    "history.judged": "reviewed",
    "history.verify": "verify",
    "history.what_if": "what_if",
    "inference.classify": "classify",
    "search.index": "SuffixIndex",
    "tokens.shards.export": "export",
    "tokens.shards.import_tokens": "import_tokens",
    "tokens.vocabulary.characters": "train_characters",
}
_HOMES = lazy.by_name(_NAMES)
__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list all the same
__getattr__ = lazy.loader(__name__, _HOMES, __all__)


def __dir__() -> list[str]:
    return __all__
