"""Describe a run before it trains: a summary line, and warnings about its settings."""

from __future__ import annotations

import torch

from .data.layouts import PackedLayout
from .run import Run
from .schedule import lr_at

EPOCHS = 4
"""Passes over the same tokens up to which each is worth about as much as new text."""
_ATTENTION = {"cudnn": "cuDNN", "flash": "flash", "efficient": "efficient", "math": "math", "flex": "Flex"}


def describe(run: Run) -> str:
    """Return a line that describes a run on the terminal: its size, device and number type, data and steps."""
    device = run.model.device
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    where += f" in each of {run.world.ranks} processes" if run.world.ranks > 1 else ""
    n_trained = sum(p.numel() for p in run.model.parameters() if p.requires_grad)
    trained = f" ({n_trained:,} trained)" if n_trained < run.model.n_params else ""
    epochs = run.loader.rows_of.epochs(run.steps * run.config.batch)
    each = ", ".join(f"{n:.2g} epochs" + (f" of {name}" if name else "") for name, n in epochs.items())
    return (
        f"{run.model.n_params / 1e6:.1f}M parameters{trained} on {where}, {str(run.model.compute_dtype)[6:]}, "
        + (f"{_ATTENTION[run.attention]} attention, " if run.attention else "")
        + f"{run.loader.rows_of.n_tokens:,} training tokens, {run.steps:,} steps = {each}"
        + (f", {run.config.rows:,} rows at once" if run.config.rows < run.config.batch else "")
        + (f", from step {run.step:,}" if run.step else "")
    )


def doubts(run: Run) -> list[str]:
    """Return warnings, as texts, about settings that prevent learning, and about truncated documents."""
    config, n_rows, found = run.config, len(run.loader.rows_of), []
    if config.warmup >= run.steps:
        found.append(
            f"warning: warmup={config.warmup:,} is not below steps={run.steps:,}, so the learning rate rises during "
            f"the whole run, to {lr_at(run.steps - 1, config):.3g} of lr={config.lr:g}; lower warmup"
        )
    if config.batch > n_rows:
        found.append(
            f"warning: batch={config.batch:,} is above the {n_rows:,} rows of the training data, so a step reads some "
            f"of them more than once; set batch={n_rows:,} or less"
        )
    for name, epochs in run.loader.rows_of.epochs(run.steps * config.batch).items():
        if epochs > EPOCHS:
            found.append(
                f"warning: the run reads the same tokens{f' of {name!r}' if name else ''} {epochs:.3g} times; after "
                f"{EPOCHS} epochs, reading them again teaches little (Muennighoff et al. 2023): add text, or set "
                f"steps={max(1, int(run.steps * EPOCHS / epochs)):,} or less"
            )
    return found + cut_windows(run)


def cut_windows(run: Run) -> list[str]:
    """Return a warning, as text, for each set of shards with loss masks that has documents longer than the context."""
    rows_of, found = run.loader.rows_of, []
    for name, layout in zip(rows_of.names, rows_of.layouts, strict=True):
        if not isinstance(layout, PackedLayout) or layout.masks is None:
            continue
        long, longest = layout.longer_than_context()
        if long:
            found.append(
                f"warning: {long:,} of {len(layout.shards):,} documents{f' of {name!r}' if name else ''} are longer "
                f"than model.context={layout.context} and are cut; set model.context={longest} to keep them complete"
            )
    return found
