"""Cooldown: start each run of an experiment from one earlier run, before its learning rate was lowered.

A run with the schedule "wsd" keeps its checkpoint before the decay. Each run of the experiment starts there, and lowers
the learning rate while it reads one version. This costs a tenth of training from random weights, and it is the phase in
which data matters most (Hu et al. 2024).
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from dataprep.errors import PlanError, StaleOutput
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.train.config import TrainConfig

WARMUP = 10  # steps, in which the optimizer's moments, which start at 0, become right


def started(
    folder: str | os.PathLike[str], config: TrainConfig, tokenizer: Any
) -> tuple[str, TrainConfig, Tokenizer]:  # fmt: skip
    """Return the checkpoint before the decay of the run in `folder`, the config of the runs from it, and its tokenizer.

    The model, its maximum learning rate and the rows are taken from the run; steps and seed from `config`.

    Raises PlanError if the run has no such checkpoint, or if another tokenizer is given.
    """
    from dataprep.inference.open_model import tokenizer_of
    from dataprep.train.checkpoint import found, load_newest, path_of
    from dataprep.train.schedule import flat_until

    home = Path(folder)
    saved = load_newest(home)
    earlier = TrainConfig.from_dict(saved["config"])
    if earlier.schedule != "wsd":
        msg = (
            f"cooldown={os.fspath(folder)!r} has the schedule {earlier.schedule!r}, not wsd, whose learning rate is "
            "constant before its decay; train a run with schedule=wsd"
        )
        raise PlanError(msg)
    steps = earlier.steps or 0
    path = path_of(home, min(saved["step"], flat_until(replace(earlier, steps=steps))))
    if path not in found(home):
        msg = f"cooldown={os.fspath(folder)!r} has no {path.name}, its checkpoint before the decay; train it again"
        raise PlanError(msg)
    tok = tokenizer_of(home, saved["tokenizer"])
    other = Tokenizer.load(tokenizer) if isinstance(tokenizer, (str, os.PathLike)) else tokenizer
    if other is not None and other.hash != tok.hash:
        msg = f"tokenizer= is another than that of {os.fspath(folder)}, the run to start from; leave tokenizer= out"
        raise StaleOutput(msg)
    like = replace(config, model=earlier.model, lr=earlier.lr, layout=earlier.layout, objective=earlier.objective,
                   schedule="wsd", decay=1.0, warmup=min(WARMUP, config.warmup))  # fmt: skip
    return str(path), like, tok
