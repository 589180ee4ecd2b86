"""A result that is replaced while it is read, at the worst moments: a reader gets the old one, the new one or Replaced.

A commit that is ready comes between two looks of the reader at the folder, and the next run after it, which removes the
files of the old result. A few looks of each reader are tried; DATAPREP_LOOKS=100 takes a hundred.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import dataprep as dp
from dataprep.core.output import commit, layout, owned
from dataprep.errors import Replaced
from dataprep.store import beside, files, lease, ranges
from dataprep.tokens.shards import shard

LOOKS = int(os.environ.get("DATAPREP_LOOKS", "4"))
WORDS = ["river", "bridge", "town", "north", "stone", "نهر", "مدينة", "قديمة", "boat", "mill", "winter", "road"]
LINES = [[f"{WORDS[(n * 5 + i * (n % 3 + 1)) % 12]}{n}" for i in range(14)] for n in range(12)]
TEXTS = [" ".join(["The river", *words]) for words in LINES]
TEXTS += [*TEXTS[:4], *(f"{text} and a word" for text in TEXTS[4:7])]
COMMANDS = {
    "inspect": "inspect RUN", "inspect --json": "inspect RUN --json", "status": "status RUN", "why": "why RUN ID",
    "report": "report RUN --to PAGE", "clusters": "clusters RUN --largest 3 --least-similar 3", "verify": "verify RUN",
    "verify --json": "verify RUN --json", "diff": "diff RUN/clean RUN/other", "show": "show RUN/shards --doc 1",
    "search": "search RUN/clean river", "search --removed": "search RUN/clean river --removed",
    "search of an index": "search RUN/index river",
}  # fmt: skip


def shout(text: str) -> str:
    """In capitals, but for one word."""
    return text.upper().replace("RIVER", "river")


class Ready(BaseException):
    """Raised where a commit would begin to move files."""


def readied(out: str, write: Callable[[str], object]) -> None:
    """Let a writer into a folder do all of its work but the last step."""
    swap_in = commit._swap_in

    def stop(folder: str) -> None:
        if folder == out:
            raise Ready
        swap_in(folder)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Ready):
        patch.setattr(commit, "_swap_in", stop)
        write(out)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A run of a Dataset, token shards, an index and a tokenizer, and the next result of each ready to be moved."""
    place = tmp_path_factory.mktemp("beside")
    run = str(place / "run")
    for n in range(2):
        rows = (json.dumps({"text": text}) for text in TEXTS[n::2])
        (place / f"{n}.jsonl").write_text("\n".join(rows))
    docs = dp.read(str(place / "*.jsonl"))
    old = dp.Pipeline(dp.Exact(), dp.MinHash(threshold=0.6, min_shingles=1)).run(docs, f"{run}/clean")
    other = dp.Pipeline(dp.Exact()).run(docs, f"{run}/other")
    (place / "id").write_text(str(other.drops()["id"][0]))
    (place / "run" / "run.json").write_text('{"format":1,"steps":["other","clean","tok","shards","index"]}')
    tok, new_tok = dp.train_bpe(old, 270, out=f"{run}/tok", min_bytes=1), dp.train_bpe(old, 300, min_bytes=1)
    dp.encode(old, tok, f"{run}/shards", val=0.2)
    dp.tools.SuffixIndex.build(old, f"{run}/index")
    dp.tools.SuffixIndex.build(old, f"{run}/clean/index")
    readied(f"{run}/shards", lambda out: dp.encode(docs, new_tok, out, val=0.3, replace=True))
    readied(f"{run}/index", lambda out: dp.tools.SuffixIndex.build(docs, out, replace=True))
    stages = (dp.Map(shout), dp.Exact(), dp.MinHash(threshold=0.7, min_shingles=1))
    readied(f"{run}/clean", lambda out: dp.Pipeline(*stages).run(docs, out, replace=True))
    new_tok.save(f"{run}/tok/_unfinished")
    for path in Path(run, "tok", "_unfinished").glob(".*"):
        path.unlink()
    shutil.copytree(run, place / "kept", copy_function=shutil.copy2)
    return place


@dataclass
class Writer:
    """Replaces all results of a run: the manifests at look number `at` of a reader, the rest `later` looks after it."""

    run: str
    at: int = 0
    later: int = 0
    looks: int = 0
    works: bool = False
    held: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def look(self) -> None:
        """Count a look of the reader."""
        if not self.works:
            self.looks += 1
            self.works = True
            if self.looks == self.at:
                self.swap()
            if self.at and self.looks == self.at + self.later:
                self.end()
            self.works = False

    def swap(self) -> None:
        """Change the results."""
        for name in ("clean", "shards", "index"):
            self.held.enter_context(lease.held(f"{self.run}/{name}"))
            commit._swap_in(f"{self.run}/{name}")
        names = os.listdir(f"{self.run}/tok/_unfinished")
        beside.commit(f"{self.run}/tok", names)

    def end(self) -> None:
        """Set the files of the old results aside, and remove them, as the next run does."""
        for name in ("clean", "shards", "index"):
            commit._settle(f"{self.run}/{name}")
            owned.remove(f"{self.run}/{name}", [layout.REPLACED])
        self.held.close()

    @contextlib.contextmanager
    def watching(self):
        """Count the looks inside the `with` block."""

        def watched(function):
            def call(*args, **options):
                self.look()
                return function(*args, **options)

            return call

        with pytest.MonkeyPatch.context() as patch:
            for name in ("_opened", "exists", "listdir", "size", "version"):
                patch.setattr(files, name, watched(getattr(files, name)))
            patch.setattr(ranges, "read", watched(ranges.read))
            patch.setattr(shard.Shards, "file", watched(shard.Shards.file))
            patch.setattr(beside, "at", watched(beside.at))
            try:
                yield
            finally:
                self.held.close()


def check(place: Path, read: Callable[[str], object]) -> None:
    """Call a reader beside writers; it returns what it read, and raises Replaced or nothing."""

    def beside_writer(at: int, later: int) -> tuple[Writer, object]:
        run = str(place / "run")
        shutil.rmtree(run)
        shutil.copytree(place / "kept", run)
        writer = Writer(run, at, later)
        with writer.watching():
            try:
                return writer, read(run)
            except Replaced:
                return writer, Replaced

    writer, old = beside_writer(0, 0)
    looks = writer.looks
    writer.swap()
    writer.end()
    new = read(writer.run)
    assert old != new, "the reader would not notice"
    assert Replaced not in (old, new)
    for number in range(min(LOOKS, looks)):
        at, later = 1 + looks * number // min(LOOKS, looks), (number % 2) * (looks // 4)
        _, found = beside_writer(at, later)
        assert found in (old, new, Replaced), f"replaced at look {at} of {looks}, and removed {later} later"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_one_result(prepared, dataprep, name) -> None:
    """Or states that the result was replaced, with the exit code for trying again."""

    def read(run: str) -> object:
        page = prepared / "page.html"
        page.write_bytes(b"")
        given = {"RUN": run, "PAGE": str(page), "ID": (prepared / "id").read_text()}
        words = [re.sub("RUN|PAGE|ID", lambda found: given[found[0]], word) for word in COMMANDS[name].split()]
        code, out, err = dataprep(*words)
        if code == 75:
            assert err.count("dataprep:") == 1
            assert "was replaced since it was opened; open it again, or repeat the command" in err or "is in use" in err
            raise Replaced
        return code, out, page.read_bytes() if page.exists() else None

    check(prepared, read)


def index_of(url: str) -> object:
    """What an index finds."""
    index = dp.tools.SuffixIndex.open(url)
    return index.count("river"), index.find("bridge", 3), index.longest(TEXTS[7]).n_bytes


def tokens_of(url: str) -> object:
    """Documents of token shards, and their tokenizer."""
    shards = dp.Shards.open(url)
    documents = [(shards.document(k).tolist(), shards.provenance(k)) for k in range(len(shards))]
    return documents, shards.split("val").n_tokens, shards.token_bytes.tolist()


READERS = {
    "documents": lambda run: list(dp.open_dataset(f"{run}/clean")),
    "drops": lambda run: dp.open_dataset(f"{run}/clean").drops().to_pylist(),
    "dropped": lambda run: list(dp.open_dataset(f"{run}/clean").dropped()),
    "statistics": lambda run: dp.open_dataset(f"{run}/clean").stats.to_json(),
    "one document": lambda run: dp.open_dataset(f"{run}/clean").text_of("0:0"),
    "tokens": lambda run: tokens_of(f"{run}/shards"),
    "index": lambda run: index_of(f"{run}/index"),
    "tokenizer": lambda run: dp.Tokenizer.load(f"{run}/tok").hash,
}


@pytest.mark.parametrize("name", READERS)
def test_a_function_reads_one_result(prepared, name) -> None:
    """Or raises Replaced."""
    check(prepared, READERS[name])
