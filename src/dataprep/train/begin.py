"""Begin a training run: build the model, settle the output folder, and resume from the newest checkpoint."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from dataprep.core.output import kinds
from dataprep.errors import PlanError
from dataprep.store import atomic, beside, hashes
from dataprep.store.atomic import JOURNAL, begin_journal, is_attempt, journal_of, journaled, whole
from dataprep.tokens.shard_format import content_hash
from dataprep.tokens.shards.shard import Shards

from . import checkpoint, lora
from .compiled import is_wanted, stream_of
from .config import TrainConfig
from .data.intact import check_intact
from .data.pairs import pairs_of
from .data.sets import Sets, open_sets, training_rows, validation_rows
from .device import pick_device, pick_dtype
from .distributed import World
from .micro_batch import find_micro_batch
from .model.gpt import GPT
from .model.rules import Rule
from .optim import optimizer_of
from .preference import Preference, has_own_reference
from .run import METRICS, TOKENIZER, Run
from .scaling import Scaler
from .spikes import Spikes
from .start import Loaded, take_weights

OWN = (checkpoint.NAMES, METRICS, TOKENIZER, JOURNAL, hashes.NAME)
"""The files that training writes into a run's folder."""


def begin(
    shards: Shards | str | Path | Sets, out: str | Path, config: TrainConfig, *, resume: bool = True,
    init_from: str | Path | Loaded | None = None, world: World | None = None,
) -> Run:  # fmt: skip
    """Return a Run that is ready to train: build the model, its optimiser and the loaders.

    With `resume`, the newest checkpoint in `out` or in OUT/_unfinished is loaded if there is one. Otherwise the run is
    new; if `out` has checkpoints, the new run is written to OUT/_unfinished and replaces them at its end. A new run
    begins with the weights of the checkpoint `init_from`, or with random weights. `world` holds the processes that
    train together; None: this process trains alone.
    """
    world = world or World(pick_device(config.device))
    begun = has_checkpoints(out)
    if config.lora and init_from is None and not (resume and begun):
        msg = f"lora={config.lora} needs a trained model: name it with init_from= (--init-from), or leave lora out"
        raise PlanError(msg)
    if config.dpo and init_from is None and not (resume and begun and has_own_reference(config)):
        msg = f"dpo={config.dpo} needs a reference model: name the model with init_from= (--init-from)"
        raise PlanError(msg)
    sets = open_sets(shards)
    same = next((s.path for s in sets.values() if os.path.realpath(s.path) == os.path.realpath(out)), None)
    if same is not None:
        msg = f"out={str(out)!r} must be another folder than that of the shards, {same}"
        raise PlanError(msg)
    world.from_first(partial(kinds.refuse, str(out), kinds.TRAINED))
    world.from_first(partial(check_intact, sets, Path(out)))
    world.check_same({"the hash of the training data": checkpoint.data_key(sets)})
    loader = training_rows(sets, config)
    if config.steps is None:
        config = replace(config, steps=-(-len(loader.rows_of) // config.batch))
    torch.manual_seed(config.seed)
    # made on the CPU: equal everywhere
    model = GPT(config.model, next(iter(sets.values())).vocab_size, config.n_labels)
    start, before = ("", "") if init_from is None else take_weights(model, init_from, sets, config)
    model.compute_dtype, model.recompute = pick_dtype(config.dtype, world.device), config.recompute
    if config.lora:
        lora.add(model, config)
        lora.hold_frozen(model, model.compute_dtype)
    model = model.to(world.device)
    model.rule = Rule.of(config, next(iter(sets.values())).eot)
    if config.micro_batch == "auto":
        share = replace(config, batch=config.batch // world.ranks)
        config = replace(config, micro_batch=-world.most(-find_micro_batch(model, loader, share, world)))
    pairs = None
    if config.dpo:
        pairs = Preference.begin(model, config, pairs_of(sets, "val", config.model.context))
    if is_wanted(config, world.device):
        by_block = world.ranks > 1 or config.has_masks or config.model.has_experts
        for each in (model, pairs.reference if pairs else None):
            if each is not None:
                each.stream = stream_of(each, by_block=by_block)  # type: ignore[method-assign]
    optimizer, val = optimizer_of(model, config, world), {} if config.dpo else validation_rows(sets, config)
    spikes = Spikes.begin(math.log(2 if config.dpo else model.n_scores), world.device)
    run = Run(
        config, sets, Path(out), model, optimizer, loader, val, start=start, before=before, world=world, spikes=spikes,
        pairs=pairs, scaler=Scaler.begin(world.device) if model.compute_dtype == torch.float16 else None,
    )  # fmt: skip
    optimizer.register_step_pre_hook(run.writer.protect)
    run.restore_newest(partial(_settle, run, resume=resume))
    if run.step and world.is_first:  # a run that was killed after it wrote a checkpoint has one too many
        newest, besides = (checkpoint.path_of(run.out, step) for step in (run.step, run.flat_until))
        checkpoint.drop_older(newest, config.keep_checkpoints, besides)
    world.copy_first([*model.parameters()])
    return run


def has_checkpoints(out: str | Path) -> bool:
    """Return whether a folder or its OUT/_unfinished has checkpoints."""
    return any(checkpoint.found(Path(home)) for home in (out, beside.home(out)))


def _settle(run: Run, *, resume: bool) -> list[Path]:
    """Return the checkpoints to resume from; if there are none, begin a new run, and write its tokenizer.

    Checkpoints are tried from the end of the list, so those in OUT/_unfinished, which come last, are preferred.
    """
    out, new = run.out, Path(beside.home(run.out))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        msg = f"out={str(out)!r} must be a folder that can be written to ({e.strerror})"
        raise PlanError(msg) from e
    beside.recover(out)
    for path in (path for folder in (out, new) for name in OWN for path in folder.glob(f".{name}.*.tmp")):
        if is_attempt(path.name):  # written by a process when it was killed
            path.unlink()
    done, begun = checkpoint.found(out), checkpoint.found(new)
    if not (resume and begun):
        beside.discard(out)
    if resume and (done or begun):
        _journal(out)
        return [*done, *begun]
    run.out, run.replaces = (new, out) if done else (out, None)
    data, entry = run.shards.tokenizer_data or b"", run.shards.manifest.tokenizer
    if data and entry is not None and entry.file_hash not in (None, content_hash(data)):
        msg = (
            f"{run.shards.tokenizer_file} is not the tokenizer that encoded these shards; restore that one (`dataprep "
            "verify` checks all files)"
        )
        raise PlanError(msg)
    copy, log = out / TOKENIZER, out / METRICS
    is_other = data and copy.is_file() and copy.read_bytes() != data
    _check_own(out, [*done, *([log] if log.exists() else []), *([copy] if is_other else [])])
    if not done:
        log.unlink(missing_ok=True)
    if data:
        with whole(run.out / copy.name) as f:
            f.write(data)
    with atomic.full_disk_said(run.out):
        run.out.mkdir(exist_ok=True)
        atomic.note(str(run.out / log.name))
    return []


def _journal(out: Path) -> str:
    """Return the path of the journal (list of created files) of the folder `out`; begin it if there is none."""
    journal = journal_of(str(out))
    if journal is None:
        begin_journal(str(out))
        journal = str(out / JOURNAL)
    return journal


def _check_own(out: Path, paths: list[Path]) -> None:
    """Raise PlanError if one of the files of an earlier run is a foreign file, by the journal of its folder `out`."""
    created = journaled(_journal(out))
    foreign = next((path for path in paths if os.path.abspath(path) not in created), None)
    if foreign is not None:
        msg = f"{foreign} was not written by this run, so it is not removed; move it, or choose another output folder"
        raise PlanError(msg)
