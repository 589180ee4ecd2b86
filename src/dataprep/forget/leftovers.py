"""Other files with content of forgotten documents: those that are removed, and those that may still hold the text.

Each kind of file has its own reader, in one of two lists, which yields a sentence for each file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from dataprep.core.model.batch import NO_IDS, POSITION_BITS, Ids
from dataprep.core.output import owned
from dataprep.core.output.layout import INDEX, INPUT, REPORT, Folder
from dataprep.search.index import remove_index
from dataprep.shown.notebook import text
from dataprep.store import files

from .family import Family, Member


def remove_work_files(family: Family, changed: Iterable[Member]) -> Iterator[str]:
    """Remove work files that may hold texts of Datasets or hashes of them; yield a sentence for each removed file.

    Tables of dropped documents are kept, because they contain only ids; duplicates of a forgotten document therefore
    remain dropped. Removed MinHash signatures are recomputed when they are needed.

    - changed: the Datasets from which documents are removed.
    """
    for member in changed:
        for remove in (_signatures, _reports):
            yield from remove(member.folder)
    yield from _indexes(family, [member.folder for member in changed])


def _signatures(folder: Folder) -> Iterator[str]:
    for step in folder.steps:
        for name in files.listdir(step.url):
            url = step.path(name)
            is_work = files.is_dir(url) and not url.endswith(".parquet")  # which is a table of many files
            if name != INPUT and (is_work or name == "index.json"):
                owned.remove(step.url, [name])
                yield f"{url} (signatures and other work files of a deduplication)"


def _reports(folder: Folder) -> Iterator[str]:
    run = folder.parent
    key = None if folder.manifest is None else folder.manifest.key
    for home, place in ((folder, REPORT), (run, REPORT), (run, f"report/{REPORT}")):
        report = home.path(place)
        if files.exists(report) and _quotes_texts(report, home.name, key):
            files.remove(report)
            yield f"{report} (it quotes texts; `dataprep report` writes it again)"


def _indexes(family: Family, changed: list[Folder]) -> Iterator[str]:
    """Remove the search indexes of the Datasets `changed` in the whole run, and remains of removed indexes."""
    yield from (f"{one.path(INDEX)} (an index of the texts)" for one in changed if owned.remove(one.url, [INDEX]))
    places = {files.real(one.url) for one in changed}
    for index in family.indexes:
        read = [home if at is None else at.folder for home, _, at in family.read_by(index)]
        is_left = not read and not index.is_sealed
        if (is_left or places & {files.real(home.url) for home in read}) and remove_index(index.url):
            yield f"{index.url} (an index of the texts)"


def _quotes_texts(report: str, name: str, key: str | None) -> bool:
    """Return whether an HTML file is dataprep's report of this run, and not a foreign page or that of another run.

    A report names its run's folder and the keys of its Datasets.

    - name: the folder of the run.
    - key: the key of the Dataset.
    """
    with files.open_raw(report) as f:
        found = _REPORT.search(f.read(1 << 14).decode("utf-8", "replace"))
    return found is not None and (key in found["keys"].split() or found["name"] == text(name))


def remaining_files(family: Family, lists: Mapping[Member, Ids]) -> list[str]:
    """Return a sentence for each file that may still hold the text of forgotten documents, with the reason.

    `forget` never changes these files.

    - lists: the ids of the forgotten documents, by folder.
    """
    readers = (_inputs, _other_runs, _unknown, _made_of_texts, _tokenizers)
    return [*dict.fromkeys(said for read in readers for said in read(family, lists))]


def _inputs(family: Family, lists: Mapping[Member, Ids]) -> Iterator[str]:
    for member in family.members:
        numbers = {int(number) for number in lists.get(member, NO_IDS) >> POSITION_BITS}
        yield from (f"{file} (the input itself)" for number, file in member.inputs if number in numbers)


def _other_runs(family: Family, _: Mapping[Member, Ids]) -> Iterator[str]:
    for member in family.members:
        for home in (*(home for home, _ in member.outside), *member.originals):
            yield f"{home.url} (a Dataset outside {family.home.url}: run `dataprep forget` there too)"


def _unknown(family: Family, lists: Mapping[Member, Ids]) -> Iterator[str]:
    for member in family.members if any(map(len, lists.values())) else ():
        is_apart = member.is_alone and not len(lists.get(member, NO_IDS))
        if why := member.unknown or ("it does not state what it was made from" if is_apart else ""):
            yield f"{member.folder.url} ({why}: it is not known whether it has the documents)"


def _made_of_texts(family: Family, _: Mapping[Member, Ids]) -> Iterator[str]:
    inputs = {files.real(file) for member in family.members for _, file in member.inputs}
    for url in files.expand(family.home.url):
        reason = next((why for suffixes, why in _KINDS.items() if url.endswith(suffixes)), None)
        if reason is None and _EXPORTED.search(url):
            reason = "exported tokens; export them again"
        if reason is not None and files.real(url) not in inputs:
            yield f"{url} ({reason})"


def _tokenizers(family: Family, _: Mapping[Member, Ids]) -> Iterator[str]:
    if any(found.tokenizer for member in family.members if (found := member.folder.token_manifest) is not None):
        yield "the tokenizer (its merges were learned from all texts; train it again to change that)"


_REPORT = re.compile(
    r'<title>(?P<name>.*): report of a run</title><meta name="dataprep-keys" content="(?P<keys>[^"]*)">'
)
_KINDS = {
    (".pt",): "a checkpoint trained on the text; it cannot resume on the new shards",
    (".jsonl", ".jsonl.gz", ".jsonl.zst", ".arpa", ".sa", ".text"): "made from the texts by a step; recreate it",
}
_EXPORTED = re.compile(r"(\.ds|_document\.bin|/(train|val|test)(_\d{6})?\.bin)$")  # datatrove, Megatron, nanoGPT, llm.c
