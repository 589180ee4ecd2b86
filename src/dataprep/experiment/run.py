"""`experiment`: train the same model on several versions of a corpus, and report which version is better."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dataprep.core.model.dataset import Dataset, open_dataset
from dataprep.core.output import owned
from dataprep.core.run.runner import Runner
from dataprep.errors import PlanError, counted
from dataprep.store import lease
from dataprep.tokens.vocabulary.tokenizer import Tokenizer
from dataprep.train.config import TrainConfig
from dataprep.train.presets import preset

from .cost import steps_of
from .design import Design, DesignSettings, Given, check_settings, design, opened
from .measures import Measure, check_columns, of_documents, to_dict
from .questions import read_all
from .result import Experiment
from .runs import Trainings

Files = Mapping[str, "str | os.PathLike[str]"]


@lease.writes
def experiment(
    versions: Mapping[str, Given],
    *,
    out: str | os.PathLike[str],
    docs: Dataset | str | None = None,
    train: str | TrainConfig = "probe",
    settings: Sequence[str] = (),
    seeds: int = 3,
    tokens: int | None = None,
    held_out: Dataset | str | float = 0.1,
    group: str | None = None,
    ngram: int = 13,
    tokenizer: Tokenizer | str | os.PathLike[str] | None = None,
    vocab_size: int = 512,
    by: Sequence[str] = ("source",),
    choices: Files | None = None,
    last_words: Files | None = None,
    shots: int = 0,
    checkpoints: int = 1,
    cooldown: str | os.PathLike[str] | None = None,
    baseline: str | None = None,
    runner: Runner | None = None,
    quiet: bool = False,
) -> Experiment:
    """Train the same model on several versions of a corpus, and compare their losses on held-out documents.

    Held-out documents are chosen first. From every version, held-out documents are removed, and documents that share 13
    words in succession with a held-out document (`Decontaminate`), but no other duplicates. All versions are encoded
    with one tokenizer, and each run reads the same number of tokens. The runs of a seed begin with the same weights. A
    finished run is never repeated: a killed call continues, and versions, seeds and questions can be added.

    Args:
        versions: {name: Dataset or its folder}; or with `docs`, {name: list of stages}, which are applied to the
            documents of `docs` that are not held out. The first is the baseline, unless `baseline` names another.
        out: the folder of all steps and results.
        docs: the corpus from which the versions are made here.
        train: the preset or the TrainConfig of the runs; with `cooldown`, its model is that of the earlier run.
        settings: changes of the config, as texts such as "lr=3e-3".
        seeds: the number of runs per version, 2 or more.
        tokens: the number of tokens that each run reads, rounded up to whole steps; None: as in the preset, or one pass
            over the smallest version.
        held_out: the share of the documents to hold out, 4 MiB at most; or a Dataset or its folder.
        group: a column of the documents, such as the host or the conversation. Documents of a group are held out
            together, and count as one in the interval.
        ngram: the number of words in succession that a document may not share with a held-out one.
        tokenizer: the tokenizer, or its path; None: one of `vocab_size` ids is trained on all versions together, and
            with `cooldown`, that of the earlier run is used.
        vocab_size: the number of ids of the tokenizer that is trained.
        by: the columns by whose values losses are also reported; () for none.
        choices: {name: JSONL file of prompt, choices and answer}; the loss of the right answer is measured.
        last_words: {name: JSONL file of texts}; the loss of the last word of each text is measured.
        shots: the number of questions, the first of each file, that precede the others with their answers.
        checkpoints: the number of checkpoints, the last ones of each run, 5 % of the steps apart, whose losses are
            averaged.
        cooldown: the folder of a run with the schedule "wsd". Each run starts with its weights before their decay, and
            lowers the learning rate while it reads a version.
        baseline: the name of the version with which the others are compared.
        runner: the Runner that makes versions and shards; None: `dp.tools.Serial()`.
        quiet: whether to print nothing.

    Returns the `Experiment`; `out` has it as experiment.json, experiment.md, differences.svg, sizes.svg and curves.svg.

    Raises PlanError before any training if the versions, the held-out set or a parameter cannot be used, or if a
    version has too little text for `tokens`; ReadError for a bad line of a file of questions; StaleOutput if `out` has
    an experiment with another held-out set or tokenizer; InUse if another process writes into `out`.

    >>> dp.experiment({"raw": "work/raw", "clean": "work/clean"}, out="work/experiment", seeds=5).verdicts()
    """
    folder = os.fspath(out).rstrip("/")
    config = (preset(train) if isinstance(train, str) else train).override(*settings)
    _check_numbers(seeds=(seeds, 2), tokens=(tokens, 1), checkpoints=(checkpoints, 1), ngram=(ngram, 1))
    corpus = open_dataset(docs) if isinstance(docs, str) else docs
    given = opened(versions, corpus)
    base = next(iter(given)) if baseline is None else baseline
    if base not in given:
        msg = f"baseline={base!r} must be one of the versions: {', '.join(given)}"
        raise PlanError(msg)
    held = open_dataset(os.fspath(held_out)) if isinstance(held_out, (str, os.PathLike)) else held_out
    check_settings(held, group)
    pool = held if isinstance(held, Dataset) else corpus or next(d for d in given.values() if isinstance(d, Dataset))
    check_columns(by, pool.columns)
    asked = read_all(choices, last_words, shots)
    start = None
    if cooldown is not None:
        from .cooldown import started

        start, config, tokenizer = started(cooldown, config, tokenizer)
    tok = Tokenizer.load(tokenizer) if isinstance(tokenizer, (str, os.PathLike)) else tokenizer
    owned.begin(folder)
    made = design(
        given, corpus, folder,
        DesignSettings(held_out=held, group=group, ngram=ngram, tokenizer=tok, vocab_size=vocab_size), runner,
    )  # fmt: skip
    steps = steps_of(config, tokens, min(v.shards.n_tokens for v in made.versions.values()))
    runs = Trainings(
        design=made, config=replace(config, steps=steps), seeds=seeds, checkpoints=checkpoints, start=start,
        questions=asked, out=folder, say=(lambda _: None) if quiet else print,
    )  # fmt: skip
    losses = runs.losses()
    result = _result(runs, losses, base, by, group, ngram)
    result.save()
    return result


def _check_numbers(**given: tuple[Any, int]) -> None:
    """Raise PlanError if a number is not whole, or below its smallest value; None is allowed for `tokens`."""
    for name, (value, least) in given.items():
        if value is None and name == "tokens":
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            why = ", since a single run cannot tell a difference from chance" if name == "seeds" else ""
            msg = f"{name}={value!r} must be a whole number from {least}{why}"
            raise PlanError(msg)


def _result(
    runs: Trainings, losses: Mapping[str, Mapping[str, Any]], base: str, by: Sequence[str], group: str | None,
    ngram: int,
) -> Experiment:
    """Return the result of finished runs."""
    made, config, records = runs.design, runs.config, runs.records()
    sizes = np.array(next(iter(records.values()))[0]["bytes"])
    measures = of_documents(losses[""], sizes, made.units, made.held, by)
    for asked in runs.questions:
        n = len(asked.answers)
        measures.append(Measure(asked.name, dict(losses[asked.name]), asked.sizes, np.arange(n)))
    versions = {
        name: {
            "documents": v.docs.count, "tokens": v.shards.n_tokens, "given_documents": v.given,
            "contaminated": v.contaminated, "epochs": records[name][0]["epochs"],
            "seconds": float(np.mean([row["seconds"] for row in records[name]])),
            "runs": [runs.name_of(v, config.seed + i) for i in range(runs.seeds)],
        }
        for name, v in made.versions.items()
    }  # fmt: skip
    from dataprep.train.size import flops_of  # with torch

    tokens = (config.steps or 0) * config.batch * config.model.context
    about = {
        "held_out_documents": made.held.count, "held_out_groups": int(made.units.max()) + 1,
        "held_out_bytes": float(sizes.sum()), "held_from": _held_from(made), "group": group, "ngram": ngram,
        "contaminated": made.contaminated,
        "tokenizer": _tokenizer_said(made), "tokens": tokens, "seeds": runs.seeds, "start": runs.start,
        "flops": float(flops_of(config.model, made.tokenizer.vocab_size) * tokens),
        "checkpoints": runs.checkpoints, "config": json.loads(json.dumps(config.to_dict())),
    }  # fmt: skip
    return Experiment(runs.out, base, versions, [to_dict(one, base) for one in measures], about)


def _held_from(made: Design) -> str:
    if made.held_is_given:
        return "as given"
    if made.contaminated is not None:
        return "taken from the corpus before any version was made"
    return f"taken out of {', '.join(made.made_from)}, which had been made with them"


def _tokenizer_said(made: Design) -> str:
    n = counted(made.tokenizer.vocab_size, "id")
    if made.tokenizer_is_given:
        return f"as given, {n}"
    return f"{n}, trained on {', '.join(made.made_from)} together"
