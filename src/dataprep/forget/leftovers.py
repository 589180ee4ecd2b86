"""What else of a forgotten document lies in a run's folder: what is removed or made again, and what is only named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dataprep.core import batch as B
from dataprep.core.batch import Ids
from dataprep.core.dataset import Dataset, open_dataset
from dataprep.core.folder import RECIPE, Folder
from dataprep.core.runner import Runner, Serial
from dataprep.core.verdict import CutSpans, DropIds
from dataprep.dedup.bloom import Bloom
from dataprep.errors import DataprepError
from dataprep.store import files

from .family import TOKENS, Node

FILTER = "filter.bloom"
VERDICTS, SPANS = "verdicts.parquet", "spans.parquet"


def clear(node: Node) -> Iterator[str]:
    """Remove what Estimators and reports keep beside a Dataset that may hold text, or hashes of it; what was removed.

    Verdicts stay, which are ids: what was a duplicate of a forgotten document stays dropped. Signatures are made again
    when they are asked for.
    """
    for name in _steps(node):
        place = files.join(node.url, "steps", name)
        for inside in files.listdir(place):
            url = files.join(place, inside)
            if inside != "input" and (files.is_dir(url) or inside == "index.json"):
                files.remove(url)
                yield f"{url} (signatures and other work of a deduplication)"
    for place in (node.url, node.url.rpartition("/")[0], files.join(node.url.rpartition("/")[0], "report")):
        report = files.join(place, "report.html")
        if files.exists(report):
            files.remove(report)
            yield f"{report} (it quotes texts; `dataprep report` writes it again)"
    index = files.join(node.url, "index")
    if files.exists(index):
        files.remove(index)
        yield f"{index} (an index of the texts)"


def rebuild_filters(node: Node, run: Runner | None = None) -> Iterator[str]:
    """Fill the Bloom filters of a Dataset again, from the documents that are left; what was done, or could not be.

    A step's filter is made of the keys of what the step read: the saved input before it, or the Dataset's own input if
    that was sealed, through the verdicts in between. Where neither is there, the documents that were kept are entered.
    """
    steps = _steps(node)
    for name in steps:
        place = files.join(node.url, "steps", name)
        if not files.exists(files.join(place, FILTER)):
            continue
        try:
            docs, stage = _input_of(node, steps, name), Bloom(**_settings(node, name))
        except (DataprepError, ValueError) as e:
            files.remove(files.join(place, FILTER))
            yield f"{place}/{FILTER} was removed, since it cannot be filled again ({' '.join(str(e).split())})"
            continue
        anew = files.join(place, "anew")
        files.remove(anew)
        stage.fit(docs, run or Serial(), anew)
        _replace(files.join(anew, FILTER), files.join(place, FILTER))
        files.remove(anew)
        yield f"{place}/{FILTER} was filled again from the {docs.count:,} documents that are left"


def _replace(new: str, old: str) -> None:
    with files.open_raw(new) as f, files.atomic(old) as out:
        while block := f.read(64 << 20):
            out.write(block)


def _steps(node: Node) -> list[str]:
    """The steps of an earlier recipe too."""
    return [n for n in files.listdir(files.join(node.url, "steps")) if n[:2].isdigit()]


def _input_of(node: Node, steps: list[str], name: str) -> Dataset:
    """What an Estimator read: the nearest saved input, less what verdicts between took."""
    mine = steps.index(name)
    saved = [i for i in range(mine + 1) if files.exists(files.join(node.url, "steps", steps[i], "input", RECIPE))]
    first = saved[-1] if saved else 0
    docs = open_dataset(files.join(node.url, "steps", steps[first], "input")) if saved else _given(node)
    for step in steps[first:mine]:
        place = files.join(node.url, "steps", step)
        if files.exists(files.join(place, VERDICTS)):
            docs = docs.then(DropIds(verdicts=files.join(place, VERDICTS), key="", estimator=step))
        elif files.exists(files.join(place, SPANS)):
            left = _settings(node, step).get("min_left", 1)
            docs = docs.then(CutSpans(spans=files.join(place, SPANS), key="", estimator=step, min_left=left))
    return docs


def _given(node: Node) -> Dataset:
    """The sealed Datasets it was read from, with what was added to their file numbers; else itself."""
    if node.raw or node.outside or not node.parents:
        return open_dataset(node.url)
    return Dataset(
        tuple(
            replace(part, slices=tuple(replace(s, file=s.file + offset) for s in part.slices))
            for parent, offset in sorted(node.parents, key=lambda one: one[1])
            for part in open_dataset(parent.url).parts
        )
    )


def _settings(node: Node, step: str) -> dict[str, Any]:
    """Return the parameters of a step's stage, as the recipe states them."""
    return dict(Folder(node.url).recipe["stages"][int(step[:2]) - 1]["fields"])


def elsewhere(nodes: list[Node], found: dict[Node, Ids], url: str) -> Iterator[str]:
    """The places that may still hold the text, which are not dataprep's to change."""
    for node in nodes:
        numbers = {int(i) for i in (found[node] >> B.POSITION_BITS)} if node in found else set()
        yield from (f"{raw} (the input itself)" for file, raw in node.raw if file in numbers)
        yield from (f"{place} (a Dataset outside {url}: run `dataprep forget` there too)" for place, _ in node.outside)
    inputs = {files.real(raw) for node in nodes for _, raw in node.raw}
    for f in files.expand(url):
        said = next((what for suffixes, what in _KINDS.items() if f.endswith(suffixes)), None)
        if said is None and _EXPORTED.search(f):
            said = "tokens that were exported; export them again"
        if said is not None and files.real(f) not in inputs:
            yield f"{f} ({said})"
    if any(node.kind == TOKENS and node.manifest.get("tokenizer") for node in nodes):
        yield "the tokenizer (its merges were learned from all texts; train it again to be rid of that)"


_KINDS = {
    (".pt",): "a checkpoint trained on it; it refuses to go on with the new shards",
    (".jsonl", ".jsonl.gz", ".jsonl.zst", ".arpa", ".sa", ".text"): "made of the texts by a step; make it again",
}
_EXPORTED = re.compile(r"(\.ds|_document\.bin|/(train|val|test)(_\d{6})?\.bin)$")  # datatrove, Megatron, nanoGPT, llm.c
