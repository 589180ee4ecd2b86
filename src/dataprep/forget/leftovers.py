"""Other files with content of forgotten documents: removed, filled again, or only named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dataprep.core import batch as B
from dataprep.core.batch import Ids
from dataprep.core.dataset import Dataset, open_dataset
from dataprep.core.folder import INDEX, INPUT, REPORT, SPANS, TOKENS, VERDICTS, Folder
from dataprep.core.runner import Runner, Serial
from dataprep.core.verdict import CutSpans, DropIds
from dataprep.dedup.bloom import Bloom
from dataprep.errors import DataprepError, PlanError
from dataprep.store import files

from .family import Relative

FILTER = "filter.bloom"


def remove_work_files(node: Relative) -> Iterator[str]:
    """Remove files next to a Dataset that may hold text or hashes of it, and yield a sentence for each.

    Verdict tables are kept; they hold ids only, and duplicates of a forgotten document stay dropped. Signatures are
    computed again when they are needed.
    """
    for step in node.folder.steps:
        for name in files.listdir(step.url):
            url = step.path(name)
            if name != INPUT and (files.is_dir(url) or name == "index.json"):
                files.remove(url)
                yield f"{url} (signatures and other work files of a deduplication)"
    run = node.folder.parent
    for report in (node.folder.path(REPORT), run.path(REPORT), run.path("report", REPORT)):
        if files.exists(report):
            files.remove(report)
            yield f"{report} (it quotes texts; `dataprep report` writes it again)"
    index = node.folder.path(INDEX)
    if files.exists(index):
        files.remove(index)
        yield f"{index} (an index of the texts)"


def refill_filters(node: Relative, run: Runner | None = None) -> Iterator[str]:
    """Fill the Bloom filters of a Dataset again without the forgotten documents, and yield a sentence for each.

    A filter is made of the documents that its step read: the saved input before it, or the Dataset's sealed input, less
    what the verdicts in between drop and cut. If neither exists, the kept documents are entered. A filter that cannot
    be filled again is removed.
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
            yield f"{url} was removed, since it cannot be filled again ({' '.join(str(e).split())})"
            continue
        work = step.path("anew")
        files.remove(work)
        stage.fit(docs, run or Serial(), work)
        _replace(files.join(work, FILTER), url)
        files.remove(work)
        yield f"{url} was filled again from the {docs.count:,} documents that are left"


def _replace(new: str, old: str) -> None:
    with files.open_raw(new) as f, files.atomic(old) as out:
        while block := f.read(64 << 20):
            out.write(block)


def _bloom(node: Relative, step: Folder) -> Bloom:
    stage = _stage(node, step)
    if stage.get("class") != "Bloom":
        msg = f"it was made by {stage.get('class')}, which is not dataprep's Bloom"
        raise PlanError(msg)
    return Bloom(**stage["fields"])


def _stage(node: Relative, step: Folder) -> dict[str, Any]:
    """Return the stage of a step, as the recipe states it; empty if the step is of an earlier recipe."""
    stages = node.folder.recipe.get("stages", [])
    return dict(stages[step.number - 1]) if step.number <= len(stages) else {}


def _input_of(node: Relative, steps: list[Folder], step: Folder) -> Dataset:
    """Return the documents that an Estimator read: the last saved input, less what verdicts in between remove."""
    last = steps.index(step)
    saved = [i for i in range(last + 1) if steps[i].input.is_sealed]
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
    """Return the sealed Datasets that a Dataset was made of, with its file numbers; else the Dataset itself."""
    if node.input_files or node.outside or not node.parents:
        return open_dataset(node.url)
    return Dataset(
        tuple(
            replace(part, slices=tuple(replace(s, file=s.file + offset) for s in part.slices))
            for parent, offset in sorted(node.parents, key=lambda one: one[1])
            for part in open_dataset(parent.url).parts
        )
    )


def remaining_files(nodes: list[Relative], ids: dict[Relative, Ids], url: str) -> Iterator[str]:
    """Yield the files that may still hold the text and that `forget` does not change, with the reason."""
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
    if any(node.kind == TOKENS and node.manifest.get("tokenizer") for node in nodes):
        yield "the tokenizer (its merges were learned from all texts; train it again to change that)"


_KINDS = {
    (".pt",): "a checkpoint trained on the text; it cannot resume on the new shards",
    (".jsonl", ".jsonl.gz", ".jsonl.zst", ".arpa", ".sa", ".text"): "made of the texts by a step; make it again",
}
_EXPORTED = re.compile(r"(\.ds|_document\.bin|/(train|val|test)(_\d{6})?\.bin)$")  # datatrove, Megatron, nanoGPT, llm.c
