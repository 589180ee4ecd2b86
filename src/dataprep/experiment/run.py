"""`experiment`: train the same model on several versions of a corpus, and report which version is better."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
from .mixture import NATURAL, PROPOSED, choosing, mixed, sources_of, sweep
from .mixture_result import MixtureExperiment, facts
from .questions import read_all
from .result import Experiment
from .runs import Trainings, check_checkpoints

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
    mix: int | None = None,
    parallel: int = 1,
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
            averaged; at most 20.
        cooldown: the folder of a run with the schedule "wsd". Each run starts with its weights before their decay, and
            lowers the learning rate while it reads a version.
        baseline: the name of the version with which the others are compared.
        mix: the number of mixtures to try. The versions are then sources, or one Dataset whose sources the first column
            of `by` names; weights for them are proposed, and compared with the natural ones. A random half of the
            held-out documents or groups chooses the weights, and the other half measures them.
        parallel: the number of processes that train at once, each on one GPU, or with one thread of the CPU. The result
            is that of trainings one after another, on the CPU with one thread.
        runner: the Runner that makes versions and shards; None: `dp.tools.Serial()`.
        quiet: whether to print nothing.

    Returns the `Experiment`; `out` has it as experiment.json, experiment.md, differences.svg, sizes.svg and curves.svg.
    With `mix`, returns a `MixtureExperiment`, and mixtures.svg replaces sizes.svg.

    Raises PlanError before any training if the versions, the held-out set or a parameter cannot be used, or if a
    version has too little text for `tokens`; ReadError for a bad line of a file of questions; StaleOutput if `out` has
    an experiment with another held-out set or tokenizer; InUse if another process writes into `out`.

    >>> dp.experiment({"raw": "work/raw", "clean": "work/clean"}, out="work/experiment", seeds=5).verdicts()
    """
    folder = os.fspath(out).rstrip("/")
    config = (preset(train) if isinstance(train, str) else train).override(*settings)
    _check_numbers(seeds=(seeds, 2), tokens=(tokens, 1), checkpoints=(checkpoints, 1), ngram=(ngram, 1),
                   parallel=(parallel, 1))  # fmt: skip
    if mix is not None and docs is not None:
        msg = "with mix=, docs= must be left out: the versions are the sources, or one Dataset with several sources"
        raise PlanError(msg)
    corpus = open_dataset(docs) if isinstance(docs, str) else docs
    if mix is None:
        given = opened(versions, corpus)
        base = next(iter(given)) if baseline is None else baseline
    else:
        given, corpus = sources_of(versions, by, mix)
        base = NATURAL
    if base not in given if mix is None else baseline is not None:
        names = "left out with mix=" if mix is not None else f"one of the versions: {', '.join(given)}"
        msg = f"baseline={baseline!r} must be {names}"
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
    check_checkpoints(checkpoints, steps)
    runs = Trainings(
        design=made, config=replace(config, steps=steps), seeds=seeds, checkpoints=checkpoints, start=start,
        questions=asked, out=folder, parallel=parallel, say=(lambda _: None) if quiet else print,
    )  # fmt: skip
    settled = _Settled(base, by, group, ngram)
    result = _compared(runs, settled) if mix is None else _mixed(runs, settled, mix)
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


class _Settled(NamedTuple):
    """Parameters of `experiment` that results state."""

    base: str
    by: Sequence[str]
    group: str | None
    ngram: int


def _mixed(runs: Trainings, given: _Settled, mix: int) -> MixtureExperiment:
    """Try mixtures of the sources, and return the result, with a comparison if weights are proposed."""
    done = sweep(runs, given.by, mix)
    config, sources = runs.config, runs.design.versions
    read = (config.steps or 0) * config.batch * config.model.context
    chosen = {NATURAL: done.points[NATURAL]}
    if done.weights is None:
        one = replace(runs, design=replace(runs.design, versions=chosen), seeds=1)  # type: ignore[arg-type]
        return MixtureExperiment(runs.out, NATURAL, {}, [], _about(one, given), facts(done, read))
    chosen[PROPOSED] = mixed(PROPOSED, sources, done.weights)
    after = replace(config, seed=config.seed + 1)  # the sweep used the first
    others = replace(runs, design=replace(runs.design, versions=chosen), config=after)  # type: ignore[arg-type]
    found = _compared(others, given, ~choosing(runs.design.units))  # nor its documents
    of = (found.folder, found.baseline, found.versions, found.measures, found.about)
    return MixtureExperiment(*of, facts(done, read))


def _compared(runs: Trainings, given: _Settled, measuring: npt.NDArray[np.bool_] | None = None) -> Experiment:
    """Do the trainings, and return the comparison of their versions with the baseline.

    - measuring: bool[documents], the held-out documents on which they are compared; None for all.
    """
    losses = runs.losses()
    made, config, records = runs.design, runs.config, runs.records()
    sizes = np.array(next(iter(records.values()))[0]["bytes"])
    if measuring is not None:
        sizes = np.where(measuring, sizes, 0.0)
    measures = of_documents(losses[""], sizes, made.units, made.held, given.by)
    for asked in runs.questions:
        n = len(asked.answers)
        measures.append(Measure(asked.name, dict(losses[asked.name]), asked.sizes, np.arange(n)))
    versions = {
        name: {
            **v.facts(), "epochs": records[name][0]["epochs"],
            "seconds": float(np.mean([row["seconds"] for row in records[name]])),
            "runs": [runs.name_of(v, config.seed + i) for i in range(runs.seeds)],
        }
        for name, v in made.versions.items()
    }  # fmt: skip
    rows = [to_dict(one, given.base) for one in measures]
    return Experiment(runs.out, given.base, versions, rows, _about(runs, given))


def _about(runs: Trainings, given: _Settled) -> dict[str, Any]:
    """Return facts about an experiment whose runs are finished."""
    from dataprep.train.size import flops_of  # with torch

    made, config = runs.design, runs.config
    sizes = next(iter(runs.records().values()))[0]["bytes"]
    tokens = (config.steps or 0) * config.batch * config.model.context
    return {
        "held_out_documents": made.held.count, "held_out_groups": int(made.units.max()) + 1,
        "held_out_bytes": float(sum(sizes)), "held_from": _held_from(made), "group": given.group, "ngram": given.ngram,
        "contaminated": made.contaminated, "tokenizer": _tokenizer_said(made), "tokens": tokens, "seeds": runs.seeds,
        "start": runs.start, "flops": float(flops_of(config.model, made.tokenizer.vocab_size) * tokens),
        "checkpoints": runs.checkpoints, "config": json.loads(json.dumps(config.to_dict())),
    }  # fmt: skip


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
