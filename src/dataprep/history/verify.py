"""Check that finished Datasets, token shards, indexes, tokenizers and presets are unchanged since they were written."""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dataprep.core.model.view import VIEW
from dataprep.core.output import forget_list, owned
from dataprep.core.output.layout import (
    CUTS,
    DATA,
    DROPS,
    INPUT,
    LOCK,
    MANIFEST,
    ORIGIN,
    PRUNED,
    RECEIPTS,
    RECIPE,
    RUN,
    STEPS,
    UNFINISHED,
    Folder,
    inside,
)  # fmt: skip
from dataprep.core.output.layout import INDEX as OWN
from dataprep.core.output.one_result import one_result
from dataprep.core.output.run_folder import refuse_newer, token_folders, walk
from dataprep.core.output.state import DATASET, TOKENS, File, Manifest, Recipe, Shard
from dataprep.core.run import quarantine
from dataprep.core.run.materialize import damaged_input
from dataprep.core.run.runner import Runner, runner_of
from dataprep.errors import CorruptShard, DataprepError, PlanError, counted, raise_if_short
from dataprep.search.index import index_manifest, is_index
from dataprep.search.shard import KINDS, SHARDS
from dataprep.store import files, hashes, receipts
from dataprep.store.atomic import JOURNAL, is_cut, is_journal, journaled, n_damaged
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.shards.verify import STOPPED, Problem, verify_shards

from . import review
from .verify_models import damaged_model, kind_of
from .verify_runs import DATA_AGAIN, RUNS, damaged_runs, is_experiment

AGAIN = (
    "`dataprep verify DIR --repair PIPELINE` restores it; if another program wrote it, remove manifest.json and "
    "run that program again"
)
ORIGIN_AGAIN = "remove it and manifest.json, and run the same pipeline, which recreates both"
JSON_STATE = (RUN, LOCK, hashes.NAME, quarantine.NAME)  # files that no receipt states, and that have a checksum
A_FOLDER, REMOVE_IT = "is a folder, but the result needs a file there", "remove it, then repair the result"
EARLIER = "is not of this result: it states other documents than the manifest"
QUOTES = "quotes a document that was forgotten, so it is a copy from before that"
NOT_LISTED = "does not belong to the result: the manifest does not list it"
NOT_HIDDEN = "belongs to another recipe, and may contain data that the result hides"
REMOVE = "remove it, since other programs would read it as a part of the table"
INDEX_AGAIN = "`dataprep search`, or SuffixIndex.build with the same documents, recreates it"


def verify(url: str, runner: Runner | None = None) -> dict[str, list[Problem]]:
    """Read all files of a finished folder, or of all such folders of a run; return a list of problems per folder.

    Args:
        url: the folder of a Dataset, of token shards, of an index, of a tokenizer, of a preset or of a whole run.
        runner: the Runner that reads the files; None: `dp.tools.Serial()`.

    If the list of a folder is empty, its files are unchanged. For a Dataset, the hashes of shards and tables, the
    numbers of documents and the order of ids are checked; for an index, a tokenizer or a preset of `fit-language`, the
    hashes of its files; for token shards, see `verify_shards`; for an experiment and a sweep over sizes, see
    `damaged_runs`. Documents that `dataprep prune` removed are not reported as problems.

    Raises PlanError if `url` contains no finished result, NewerFormat if a newer dataprep wrote one of its records, and
    Replaced if a result was replaced while it was read.
    """
    url = url.rstrip("/")
    refuse_newer(url)
    with one_result(url) as check_one:
        found = _verified(url, runner_of(runner))
        if bad := _damaged_review(url):
            found[url] = [*found.get(url, []), bad]
        if any(found.values()):
            check_one()
    return found


def _verified(url: str, runner: Runner) -> dict[str, list[Problem]]:
    sets = _sets(url)
    found = {folder.url: folder for at in sets for folder in _sealed(at)}
    if not found and not is_experiment(url):
        msg = f"{url} has no finished Dataset, token shards or index; pass a folder of a run or of dp.encode"
        raise PlanError(msg)
    of_sets = {at: bad for at in sets if at not in found and (bad := [*_damaged_state(at), *_damaged_receipts(at)])}
    of_data = {folder.url: _verify(folder, runner) for folder in found.values()}
    if not is_experiment(url):
        return of_sets | of_data
    of_runs = {files.join(url, RUNS): bad} if (bad := damaged_runs(url)) or not found else {}
    again = {at: [p._replace(do=DATA_AGAIN) if p.do != STOPPED else p for p in of] for at, of in of_data.items()}
    return of_sets | of_runs | again


def _damaged_review(url: str) -> Problem | None:
    """Return the damage of the file of judgements beside a run; None if it is whole, or if there is none."""
    try:
        review.load(url)
    except DataprepError as e:
        return Problem(files.name_of(review.place_of(url)), " ".join(str(e).split()), "restore it from a copy")
    return None


def _sets(url: str) -> list[str]:
    """Return the folder of a run, and the step folders that contain several results, such as that of a persona.

    In an experiment, such folders are `versions` and `shards`, which have no journal.
    """
    places = inside(url) if files.is_local(url) else []
    several = [at for at in places if Folder(at).kind is None and not kind_of(at) and not is_index(at)]
    return [url, *(at for at in several if _has_journal(at) or any(Folder(one).kind for one in inside(at)))]


def _has_journal(url: str) -> bool:
    return is_journal(files.join(files.path_of(url), JOURNAL))


def _damaged_receipts(url: str) -> list[Problem]:
    """Return the problems of the JSON files that dataprep wrote directly into the folder of several results.

    Receipts are among them (records of work), and are compared with the files that they state.
    """
    local = files.path_of(url)
    names = sorted(files.listdir(url)) if files.is_local(url) and is_journal(files.join(local, JOURNAL)) else []
    ours = journaled(files.join(local, JOURNAL)) if names else set()
    own = [n for n in names if n.endswith(".json") and n not in JSON_STATE and os.path.abspath(f"{local}/{n}") in ours]
    problems = _damaged_json(url, own)
    whole = [files.join(url, name) for name in own if name not in {problem.file for problem in problems}]
    changed = [name for at in whole if receipts.found(at) for name in receipts.changed(at)]
    what = "is missing, or its content has changed since it was written"
    return problems + [Problem(name, what, AGAIN) for name in changed]


def _sealed(url: str) -> list[Folder]:
    """Return the Datasets of a run with their saved steps, then its token shards, indexes, tokenizers and presets."""
    try:
        datasets = [folder for folder in walk(url) if folder.kind != TOKENS]
    except DataprepError:  # a manifest or run.json that cannot be read, which is reported as a problem of its folder
        some = [folder for folder in map(Folder, (*inside(url), url)) if folder.kind == DATASET]
        places = (one for home in some for one in (*(step.input for step in home.steps), home))
        datasets = [one for one in places if one.is_dataset or one.is_pruned]
    homes = [url, *inside(url), *(one.path(OWN) for one in datasets)]
    models = [Folder(at) for at in dict.fromkeys(homes) if kind_of(at)]
    datasets += [kept for one in datasets if one.readable is not None and (kept := one.kept).is_dataset]
    return [*datasets, *token_folders(url), *(Folder(at) for at in dict.fromkeys(homes) if is_index(at)), *models]


def _damaged_state(url: str) -> list[Problem]:
    """Return the damage of state files in a folder, such as the journal, which no receipt states."""
    problems = _damaged_json(url, JSON_STATE)
    journal = files.join(files.path_of(url), JOURNAL) if files.is_local(url) else ""
    if is_journal(journal) and (n := n_damaged(journal)):
        do = STOPPED if is_cut(journal) else AGAIN
        problems.append(Problem(JOURNAL, f"{counted(n, 'line')} of it have changed since they were written", do))
    return problems


def _damaged_json(url: str, names: Iterable[str]) -> list[Problem]:
    """Return the problems of the JSON files `names` in a folder; a missing file is not a problem."""
    problems = []
    for name in names:
        try:
            if files.exists(files.join(url, name)):
                files.read_json(files.join(url, name))
        except DataprepError as e:  # noqa: PERF203 - all damage is listed
            problems.append(Problem(name, " ".join(str(e).split()), AGAIN))
    return problems


def _verify(folder: Folder, runner: Runner) -> list[Problem]:
    return [*_damaged_state(folder.url), *_damaged_results(folder, runner)]


def _damaged_results(folder: Folder, runner: Runner) -> list[Problem]:
    try:
        is_model = bool(kind_of(folder.url))
        of_model = damaged_model(folder.url) if is_model else []
        if is_index(folder.url):
            return [*of_model, *_index(folder, runner)]
        if folder.kind == TOKENS:  # into which a tokenizer may have been saved since
            return [*of_model, *verify_shards(folder.url, runner), *_records(folder)[1]]
        return of_model if is_model and folder.kind is None else [*of_model, *_dataset(folder, runner)]
    except DataprepError as e:
        return [Problem(PRUNED if folder.is_pruned else MANIFEST, " ".join(str(e).split()), AGAIN)]


def _index(folder: Folder, runner: Runner) -> list[Problem]:
    """Compare the files of a search index with what its receipts (records of the work) state."""
    try:
        manifest = index_manifest(folder.url)
        wanted = {shard.name + kind for shard in manifest.shards for kind in KINDS}
        home = SHARDS if manifest.generation == 1 else f"{SHARDS}.g{manifest.generation}"
        stated = [name for name in files.listdir(folder.path(home)) if name.endswith(".json")]
        written = [f for name in stated for f in receipts.read(folder.path(home, name))["files"]]
    except DataprepError as e:
        return [Problem(MANIFEST, " ".join(str(e).split()), INDEX_AGAIN)]
    problems = _damaged_json(folder.url, (RECIPE, ORIGIN))
    items = [_StoredFile(folder.url, files.join(home, f["name"]), f["size"], f["hash"]) for f in written]
    problems += [problem for found in runner.map(_check, items, "verify") for problem in found]
    problems += [Problem(name, "is in no receipt", "") for name in sorted(wanted - {item.name for item in items})]
    return [Problem(problem.file, problem.found, INDEX_AGAIN) for problem in problems]


@dataclass(frozen=True)
class _StoredFile:
    """One file of a Dataset as a receipt or the manifest states it.

    Attributes:
        docs: the documents of a shard.
    """

    folder: str
    name: str
    size: int
    hash: str
    docs: int | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes as stored, for the progress bar."""
        return self.size

    def __str__(self) -> str:
        return files.join(self.folder, self.name)


def _dataset(folder: Folder, runner: Runner) -> list[Problem]:
    manifest = folder.record
    if manifest is None:
        return [Problem(MANIFEST, "another process removed it while it was checked", AGAIN)]
    records, problems = _records(folder)
    items = [_StoredFile(folder.url, s.name, s.size, s.hash, s.docs) for s in manifest.shards if not folder.is_pruned]
    stated = [one for url, made in records for one in _tables(folder, manifest, url, made)]
    stated += [manifest.unread] if manifest.unread is not None else []
    items += [_StoredFile(folder.url, one.name, one.size, one.hash) for one in stated]
    problems += [problem for found in runner.map(_check, items, "verify") for problem in found]
    tables = sorted({*manifest.tables(DROPS), *manifest.tables(CUTS)} - {item.name for item in items})
    problems += [Problem(name, "is missing", AGAIN) for name in tables if not files.exists(folder.path(name))]
    missing = _missing_receipts(folder, manifest)
    problems += [Problem(name, NOT_LISTED, REMOVE) for name in _foreign(folder, {item.name for item in items})]
    if not any(problem.file.startswith(f"{RECEIPTS}/") for problem in (*problems, *missing)):
        others = dict.fromkeys(_receipt_of(folder, one) for one in folder.unstated(folder.receipts()))
        problems += [Problem(name, EARLIER, _again(folder)) for name in others]
        quoting = [] if others else forget_list.quoting(folder)
        problems += [Problem(url.removeprefix(f"{folder.url}/"), QUOTES, AGAIN) for url in quoting]
        problems += [Problem(name, "is in no receipt", _again(folder)) for name in tables if not (problems or missing)]
    n = sum(shard.docs for shard in manifest.shards)
    if manifest.docs != n:
        found = f"it states {counted(manifest.docs, 'document')}, but its shards have {n:,}"
        problems.append(Problem(MANIFEST, found, AGAIN))
    if manifest.codec == VIEW and not problems:
        problems += [Problem(name, what, AGAIN) for name, what in damaged_input(folder, runner)]
    return [*problems, *missing, *_unnamed(folder, manifest)]


def _foreign(folder: Folder, stated: set[str]) -> Iterator[str]:
    """Yield the files in the folders of large verdict tables that no receipt states; DuckDB would read them."""
    for table in sorted({name.rpartition("/")[0] for name in stated if name.rpartition("/")[0].endswith(".parquet")}):
        there = (files.join(table, name) for name in files.listdir(folder.path(table)))
        yield from (name for name in there if name not in stated)


def _receipt_of(folder: Folder, shard: Shard) -> str:
    """Return the path in a folder of the file that contains the receipt of the part with a shard."""
    packed = files.join(RECEIPTS, receipts.PACKED)
    if files.exists(folder.path(packed)):
        return packed
    return files.join(RECEIPTS, f"{files.name_of(shard.drops).partition('.')[0]}.json")


def _missing_receipts(folder: Folder, manifest: Manifest) -> list[Problem]:
    """Return a problem for each missing receipt of a part, without which changes of its tables would not be noticed."""
    found = folder.receipts()
    missing = folder.missing_receipts(found)
    packed, lacks = folder.path(RECEIPTS, receipts.PACKED), "is missing"
    if (manifest.parts or 0) > receipts.MOST_FILES and missing:
        if files.exists(packed):
            lacks = f"has no receipt of {counted(len(missing), 'part')}"
        missing = [packed] if packed not in found else []  # whose damage is another problem
    return [Problem(url.removeprefix(f"{folder.url}/"), lacks, _again(folder)) for url in missing]


def _again(folder: Folder) -> str:
    """Return what restores the receipts of a result: they may still be among the files of its run."""
    return AGAIN if folder.is_settled else STOPPED


def _unnamed(folder: Folder, manifest: Manifest) -> list[Problem]:
    """Return a problem for each file that dataprep wrote and that the manifest of the result does not name."""
    there = {f"{kind}/{name}" for kind in (DATA, DROPS, CUTS) for name in files.listdir(folder.path(kind))}
    others = owned.ours(folder.url, sorted(there - set(manifest.names())))
    names = sorted(owned.relative(url, folder.url) for url in others)
    problems = [Problem(name, NOT_LISTED, STOPPED) for name in names]
    return [*problems, *(Problem(name, NOT_HIDDEN, STOPPED) for name in _not_hidden(folder, manifest))]


def _not_hidden(folder: Folder, manifest: Manifest) -> Iterator[str]:
    """Yield the remaining files of a recipe that names its input, next to a result that hides its input."""
    if manifest.origin is None:
        if folder.unfinished.origin is not None:
            yield UNFINISHED
        made = Recipe.found(folder.path(RECIPE))
        if made is not None and made.keeps is not None:
            yield from (f"{STEPS}/{step.name}" for step in folder.steps if step.name not in made.keeps)


def origin_url(folder: Folder) -> str:
    """Return the URL of the file that lists the input files of a result; it need not exist."""
    found = None
    with contextlib.suppress(DataprepError):
        found = folder.manifest or folder.token_manifest
    return folder.path((found and found.origin) or ORIGIN)


def _records(folder: Folder) -> tuple[list[tuple[str, list[File]]], list[Problem]]:
    """Return the files that each receipt of a Dataset and of its steps states, and the damage of all its JSON files."""
    own = [url for url in (folder.path(RECIPE), origin_url(folder)) if files.exists(url)]
    of_steps = [url for step in folder.steps for url in _inside(step.url)]
    found, problems = [], []
    every = {**dict.fromkeys(own), **folder.receipts(), **dict.fromkeys(of_steps)}
    for url, receipt in every.items():
        try:
            if files.name_of(url) == receipts.PACKED:
                msg = "lines of it have changed since they were written"
                raise CorruptShard(msg)
            record = receipt or files.read_json(url)
            if url not in own and (f"/{RECEIPTS}/" in url or (isinstance(record, dict) and "files" in record)):
                made = receipts.read(url) if receipt is None else receipts.stated(receipt, url)
                found.append((url, [File.of(one, url) for one in made["files"]]))
        except DataprepError as e:  # noqa: PERF203 - all damage is listed
            again = ORIGIN_AGAIN if url == origin_url(folder) else AGAIN
            problems.append(Problem(url.removeprefix(f"{folder.url}/"), " ".join(str(e).split()), again))
    return found, problems


def _inside(url: str) -> Iterator[str]:
    """Yield the JSON files of a step, but not of its saved input, which is a Dataset of its own."""
    for name in files.listdir(url):
        at = files.join(url, name)
        if name.endswith(".json"):
            yield at
        elif name != INPUT and files.is_dir(at):
            yield from _inside(at)


def _tables(folder: Folder, manifest: Manifest, url: str, made: Sequence[File]) -> Iterator[File]:
    """Yield the files that only the receipt at `url` states, by their paths in the folder."""
    home, named = url.rpartition("/")[0].removeprefix(f"{folder.url}/"), manifest.names()
    for one in made:
        name = posixpath.normpath(files.join(home, one.name))
        if name.startswith(f"{STEPS}/") or (name.startswith((f"{DROPS}/", f"{CUTS}/")) and name in named):
            yield replace(one, name=name)


def _check(item: _StoredFile) -> list[Problem]:
    url = str(item)
    if not files.exists(url):
        return [Problem(item.name, "is missing", AGAIN)]
    if files.is_local(url) and files.is_dir(url):
        return [Problem(item.name, A_FOLDER, REMOVE_IT)]
    if files.size(url) != item.size:
        return [Problem(item.name, f"has {counted(files.size(url), 'byte')}, but {item.size:,} were written", AGAIN)]
    if files.content_hash(url) != item.hash:
        return [Problem(item.name, "its content has changed since it was written", AGAIN)]
    return [] if item.docs is None else [Problem(item.name, what, AGAIN) for what in _rows(url, item.docs)]


def _rows(url: str, docs: int) -> Iterator[str]:
    """Yield the problems with the ids of a shard."""
    with files.open_arrow(url) as f:
        try:
            ids = pq.read_table(f, columns=["id"])["id"].to_numpy()
        except pa.ArrowException as e:
            raise_if_short(e)
            yield f"cannot be read ({str(e).splitlines()[0][:120]})"
            return
    if len(ids) != docs:
        yield f"has {counted(len(ids), 'document')}, but the manifest states {docs:,}"
    if len(ids) and bool((np.asarray(ids[1:]) <= ids[:-1]).any()):
        yield "its ids are not in ascending order"


def stated_totals(url: str) -> dict[str, Any]:
    """Return the totals that a finished folder's manifest states: {"kind", "documents", "bytes", "tokens", "root"}.

    "bytes" is the size of the text. "root" is the hash of all token shards. "tokens" and "root" are None for other
    folders. For a tokenizer, a preset or the trainings of a sweep, all values except "kind" are None. For a pruned
    step, which has no documents, the numbers are 0.
    """
    kind = RUNS if files.name_of(url) == RUNS and is_experiment(Folder(url).parent.url) else kind_of(url)
    if kind:
        return {"kind": kind, **dict.fromkeys(("documents", "bytes", "tokens", "root"))}
    if is_index(url):
        found = index_manifest(url)
        return {"kind": found.kind, "documents": found.docs, "bytes": found.bytes, "tokens": None, "root": None}
    tokens = Folder(url).token_manifest
    if tokens is not None:
        totals = {"kind": TOKENS, "documents": tokens.documents, "bytes": tokens.bytes}
        return {**totals, "tokens": tokens.tokens, "root": Shards.open(url).root}
    made = None if Folder(url).is_pruned else Folder(url).sealed
    documents, n_bytes = (0, 0) if made is None else (made.docs, made.bytes)
    return {"kind": DATASET, "documents": documents, "bytes": n_bytes, "tokens": None, "root": None}
