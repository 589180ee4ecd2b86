"""Preset folders: settings and models of one language, which `dataprep fit-language` writes and filters read.

A folder contains preset.json, which is written last. It states the settings of each filter, the name, size and hash of
the other files, and the seal, which is a hash of all of this. The other files are a SentencePiece model, an n-gram
model and a language classifier. The files of the second preset in a folder have ".g2" in their names, so that the files
of the first preset remain unchanged until preset.json is replaced.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from typing import Any

from dataprep.errors import CorruptShard, PlanError
from dataprep.store import files
from dataprep.store.key import key

from .classifiers.models import file_hash
from .thresholds import PRESET, take_preset

RECORD, PIECES, NGRAM, CLASSIFIER = "preset.json", "pieces.model", "ngram.arpa", "language.bin"
FORMAT = 1
MARK = re.compile(r"\.g\d+(?=\.(model|arpa|bin)$)")  # of a generation, in the name of a model
REMEDY = "make it with `dataprep fit-language`"


def is_folder(preset: object) -> bool:
    """Return whether the parameter `preset` of a filter is a path rather than a name, or names a folder."""
    return isinstance(preset, os.PathLike) or (isinstance(preset, str) and ("/" in preset or files.is_dir(preset)))


def seal_of(record: Mapping[str, Any]) -> str:
    """Return the seal of a folder: a hash of its record, except for the seal itself."""
    return key({name: value for name, value in record.items() if name != "seal"})


def file_of(folder: object, record: Mapping[str, Any], kind: str) -> str:
    """Return the URL of a model of a preset folder.

    - kind: PIECES, NGRAM or CLASSIFIER, the file's name in the first preset.
    """
    return files.join(str(folder), record["files"].get(kind, {}).get("name", kind))


def check_sealed(stage: str, path: str) -> None:
    """Raise PlanError if a model in a preset folder has changed since the folder was sealed.

    Models next to another program's preset.json are not checked.

    - stage: the name of the filter, for messages.
    """
    folder, _, name = path.rpartition("/")
    at = f"{folder}/{RECORD}" if folder else RECORD
    kind = MARK.sub("", name)
    if kind in (PIECES, NGRAM) and files.exists(at):
        with contextlib.suppress(CorruptShard, OSError):
            record = files.read_json(at)
            if isinstance(record, dict) and "seal" in record and files.name_of(file_of(folder, record, kind)) == name:
                open_preset(stage, folder or ".", kind)


def open_preset(stage: str, folder: object, *needed: str) -> dict[str, Any]:
    """Return the record of a preset folder, after checking its seal and the hashes of the files `needed`.

    Args:
        stage: the name of the filter, for messages.
        folder: the folder's path.
        needed: PIECES, NGRAM or CLASSIFIER.

    Raises PlanError if it is not a preset folder, or if it was changed after it was sealed.
    """
    url = str(folder)
    at = files.join(url, RECORD)
    if not files.exists(at):
        msg = f"{stage}: preset={url!r} must be a folder that contains {RECORD}; {REMEDY}"
        raise PlanError(msg)
    try:
        record = files.read_json(at)
    except (CorruptShard, OSError):
        record = None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        msg = f"{stage}: {at} must describe a preset folder of format {FORMAT}; {REMEDY}"
        raise PlanError(msg)
    changed = [] if record.get("seal") == seal_of(record) else [RECORD]
    for kind in needed:
        path = file_of(url, record, kind)
        if not files.exists(path) or file_hash(files.path_of(path)) != record["files"].get(kind, {}).get("hash"):
            changed.append(files.name_of(path))
    about = f"{file_of(url, record, CLASSIFIER)}.json"
    if CLASSIFIER in needed and files.exists(about):
        try:
            files.read_json(about)
        except CorruptShard:
            changed.append(files.name_of(about))
    if changed:
        msg = (
            f"{stage}: {files.join(url, changed[0])} was sealed by `dataprep fit-language` and must not be changed or "
            "removed; recreate it with --replace, and pass other thresholds as parameters of the filter"
        )
        raise PlanError(msg)
    return record


def take_preset_or_folder(stage: Any, presets: Mapping[str, Mapping[str, Any]], section: str) -> None:
    """Set each parameter of a stage that has the value PRESET from a named preset or a preset folder.

    - presets: the presets by name; values that a folder does not set are taken from "paper".
    - section: the name of the stage's settings in a folder.

    Raises PlanError if there is no such preset.
    """
    if stage.preset in presets or not is_folder(stage.preset):
        try:
            take_preset(stage, presets)
        except PlanError as e:
            msg = f"{e}, or a folder that `dataprep fit-language` made"
            raise PlanError(msg) from None
        return
    object.__setattr__(stage, "preset", str(stage.preset))
    for name, value in {**presets["paper"], **open_preset(stage.name, stage.preset)[section]}.items():
        if getattr(stage, name) == PRESET:
            object.__setattr__(stage, name, value)


def counted_as(stage: Any, presets: Mapping[str, Any]) -> str:
    """Return the preset whose counting rules a stage uses: its own, or "paper" if its preset is a folder."""
    return stage.preset if stage.preset in presets else "paper"


def take_models(stage: Any) -> None:
    """Set `model`, `tokenizer` and named bounds in `score_range` of a Perplexity filter whose `preset` is a folder.

    Raises PlanError if the folder was changed after it was sealed, or if another model was given too.
    """
    object.__setattr__(stage, "preset", str(stage.preset))
    record = open_preset(stage.name, stage.preset, NGRAM, PIECES)
    mine = {"model": file_of(stage.preset, record, NGRAM), "tokenizer": file_of(stage.preset, record, PIECES)}
    for name, path in mine.items():
        if getattr(stage, name) not in ("", None, path):
            msg = f"{stage.name}: preset={stage.preset!r} sets {name}; leave {name}={getattr(stage, name)!r} out"
            raise PlanError(msg)
        object.__setattr__(stage, name, path)
    cuts = record["perplexity"]
    parts = {"head": (None, cuts["head"]), "middle": (cuts["head"], cuts["middle"]), "tail": (cuts["middle"], None)}
    parts |= {"head and middle": (None, cuts["middle"])}
    if isinstance(stage.score_range, str):
        if stage.score_range not in parts:
            msg = (
                f"{stage.name}: score_range={stage.score_range!r} must be {', '.join(map(repr, parts))}, or two numbers"
            )
            raise PlanError(msg)
        object.__setattr__(stage, "score_range", parts[stage.score_range])
