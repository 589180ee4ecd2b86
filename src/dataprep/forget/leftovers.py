"""Remove other files with content of forgotten documents, fill them again, or only list them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Ids
from dataprep.core.model.dataset import Dataset, open_dataset
from dataprep.core.model.verdict import CutSpans, DropIds
from dataprep.core.output import owned
from dataprep.core.output.layout import INDEX, INPUT, REPORT, SPANS, VERDICTS, Folder, home_of
from dataprep.core.output.state import INDEX as INDEX_KIND
from dataprep.core.run.runner import Runner, runner_of
from dataprep.dedup.bloom import Bloom
from dataprep.errors import DataprepError, PlanError
from dataprep.search.index import remove_index
from dataprep.shown.notebook import text
from dataprep.store import files, receipts

from .family import Relative, stating_folders

FILTER = "filter.bloom"


def remove_work_files(node: Relative) -> Iterator[str]:
    """Remove work files of a Dataset that may hold its text or hashes of it; yield a sentence for each removed file.

    These are files of its Estimators, the report, and the suffix index. Tables of dropped documents are kept, since
    they hold only ids; so duplicates of a forgotten document remain dropped. Removed signatures of MinHash are computed
    again when they are needed.
    """
    for step in node.folder.steps:
        for name in files.listdir(step.url):
            url = step.path(name)
            if name != INPUT and (files.is_dir(url) or name == "index.json"):
                owned.remove(step.url, [name])
                yield f"{url} (signatures and other work files of a deduplication)"
    run = node.folder.parent
    key = None if node.manifest is None else node.manifest.key
    for home, place in ((node.folder, REPORT), (run, REPORT), (run, f"report/{REPORT}")):
        report = home.path(place)
        if files.exists(report) and _quotes_texts(report, home.name, key):
            files.remove(report)
            yield f"{report} (it quotes texts; `dataprep report` writes it again)"
    index = node.folder.path(INDEX)
    if owned.remove(node.url, [INDEX]):
        yield f"{index} (an index of the texts)"


def remove_indexes(url: str, changed: Collection[str]) -> Iterator[str]:
    """Remove the search indexes of Datasets from which documents were removed; yield a sentence for each index.

    url: the folder in which indexes are searched, at any depth. changed: the URLs of the Datasets.
    """
    places, names = {files.real(at) for at in changed}, {files.name_of(at) for at in changed}
    for at in stating_folders(url):
        folder = Folder(at)
        if folder.recipe is None or folder.recipe.kind != INDEX_KIND:
            continue
        origin = folder.origin
        homes = [home_of(row.url) for row in (() if origin is None else origin.files)]
        urls = [home.url for home in homes if home is not None]
        moved = {files.name_of(home) for home in urls if not files.exists(home)}  # with the run
        if (places & {files.real(home) for home in urls} or names & moved) and remove_index(at):
            yield f"{at} (an index of the texts)"


def _quotes_texts(report: str, name: str, key: str | None) -> bool:
    """Return whether an HTML file is dataprep's report of a run, and not a page of somebody else or of another run.

    A report names its run's folder and the keys of its Datasets. name: the folder of the run. key: that of the Dataset.
    """
    with files.open_raw(report) as f:
        found = _REPORT.search(f.read(1 << 14).decode("utf-8", "replace"))
    return found is not None and (key in found["keys"].split() or found["name"] == text(name))


def refill_filters(node: Relative, run: Runner | None = None) -> Iterator[str]:
    """Fill the Bloom filters of a Dataset again without the forgotten documents; yield a sentence for each filter.

    A filter is filled with the documents that its step read. They are read from the step's saved input, or from the
    sealed input of the Dataset without the documents and text that earlier stages removed. If neither exists, the
    documents of the Dataset are entered. A filter that cannot be filled again is removed. run: the Runner that fills
    the filters; None for this process.
    """
    steps = sorted(node.folder.steps, key=lambda step: step.number)
    for step in steps:
        url = step.path(FILTER)
        if not files.exists(url):
            continue
        try:
            docs, stage = _input_of(node, steps, step), _bloom(node, step)
        except (DataprepError, ValueError) as e:
            files.remove(url)
            _restate(step, url)
            yield f"{url} was removed, since it cannot be filled again ({' '.join(str(e).split())})"
            continue
        work = step.path("anew")
        files.remove(work)
        stage.fit(docs, runner_of(run), work)
        with files.open_raw(files.join(work, FILTER)) as f, files.atomic(url) as out:
            while block := f.read(64 << 20):
                out.write(block)
        files.remove(work)
        _restate(step, url)
        yield f"{url} was filled again from the {docs.count:,} documents that are left"


def _restate(step: Folder, url: str) -> None:
    """Make the receipt (work record) of a step state the bytes that its filter has now."""
    for table in (VERDICTS, SPANS):
        receipts.restate(step.path(table).removesuffix("parquet") + "json", url)


def _bloom(node: Relative, step: Folder) -> Bloom:
    stage = _stage(node, step)
    if stage.get("class") != "Bloom":
        msg = f"it was made by {stage.get('class')}, which is not dataprep's Bloom"
        raise PlanError(msg)
    return Bloom(**stage["fields"])


def _stage(node: Relative, step: Folder) -> dict[str, Any]:
    """Return the stage of a step, as the recipe states it; empty if the step is of an earlier recipe."""
    stages = node.folder.recipe.stages if node.folder.recipe is not None else []
    return dict(stages[step.number - 1]) if step.number <= len(stages) else {}


def _input_of(node: Relative, steps: list[Folder], step: Folder) -> Dataset:
    """Return the documents that an Estimator read: the last saved input, less what verdicts in between remove.

    If there is none, the sealed Datasets that the Dataset was made of, with its file numbers, take its place; else the
    Dataset itself, from which all has been removed.
    """
    last = steps.index(step)
    saved = [i for i in range(last + 1) if steps[i].input.is_sealed]
    if not saved and (node.input_files or node.outside or not node.parents):
        return open_dataset(node.url)
    first = saved[-1] if saved else 0
    docs = open_dataset(steps[first].input.url) if saved else _sealed_input(node)
    for before in steps[first:last]:
        if files.exists(before.path(VERDICTS)):
            docs = docs.then(DropIds(verdicts=before.path(VERDICTS), key="", estimator=before.name))
        elif files.exists(before.path(SPANS)):
            min_left = _stage(node, before).get("fields", {}).get("min_left", 1)
            docs = docs.then(CutSpans(spans=before.path(SPANS), key="", estimator=before.name, min_left=min_left))
    return docs


def _sealed_input(node: Relative) -> Dataset:
    """Return the sealed Datasets that a Dataset was made of, with its file numbers."""
    parents = sorted(node.parents, key=lambda one: one[1])
    return Dataset(tuple(part.shifted(at) for parent, at in parents for part in open_dataset(parent.url).parts))


def remaining_files(nodes: list[Relative], ids: dict[Relative, Ids], url: str) -> Iterator[str]:
    """Yield a sentence for each file that may still hold the text of forgotten documents, with the reason.

    `forget` never changes these files. nodes: the folders in `url`. ids: the ids of the forgotten documents, by folder.
    """
    for node in nodes:
        numbers = {int(i) for i in (ids[node] >> B.POSITION_BITS)} if node in ids else set()
        yield from (f"{file} (the input itself)" for number, file in node.input_files if number in numbers)
        yield from (f"{home} (a Dataset outside {url}: run `dataprep forget` there too)" for home, _ in node.outside)
    inputs = {files.real(file) for node in nodes for _, file in node.input_files}
    for f in files.expand(url):
        reason = next((why for suffixes, why in _KINDS.items() if f.endswith(suffixes)), None)
        if reason is None and _EXPORTED.search(f):
            reason = "exported tokens; export them again"
        if reason is not None and files.real(f) not in inputs:
            yield f"{f} ({reason})"
    if any(node.tokens is not None and node.tokens.tokenizer for node in nodes):
        yield "the tokenizer (its merges were learned from all texts; train it again to change that)"


_REPORT = re.compile(
    r'<title>(?P<name>.*): report of a run</title><meta name="dataprep-keys" content="(?P<keys>[^"]*)">'
)
_KINDS = {
    (".pt",): "a checkpoint trained on the text; it cannot resume on the new shards",
    (".jsonl", ".jsonl.gz", ".jsonl.zst", ".arpa", ".sa", ".text"): "made of the texts by a step; make it again",
}
_EXPORTED = re.compile(r"(\.ds|_document\.bin|/(train|val|test)(_\d{6})?\.bin)$")  # datatrove, Megatron, nanoGPT, llm.c
