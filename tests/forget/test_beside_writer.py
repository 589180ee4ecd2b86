"""A document that is forgotten while a writer reads its Dataset is in no result of that writer."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.parquet as pq
import pytest

import dataprep as dp
from dataprep.errors import StaleOutput
from laws import dataset_of

ZEBRA = "a zebra that must not stay"
TEXTS = [*(f"document {n} of a corpus with words {n * 7}" for n in range(9)), ZEBRA]


@dataclass(frozen=True)
class Forgets(dp.tools.Serial):
    """Serial, but after each round of tasks the document is forgotten, as another process would do it."""

    folder: str = ""

    def map(self, task, items, label=""):
        """Yield the results; then forget the document."""
        yield from super().map(task, items, label)
        found = [row["id"] for row in dp.open_dataset(self.folder).table().to_pylist() if row["text"] == ZEBRA]
        dp.tools.forget(self.folder, found)


def encoded(docs, out, runner):
    """The texts of token shards."""
    tok = dp.Tokenizer.of_bytes()
    shards = dp.encode(docs, tok, out, runner=runner)
    return "".join(tok.decode(tokens) for tokens in shards.memmaps())


def indexed(docs, out, runner):
    """The times that the index has the text."""
    return ZEBRA * dp.tools.SuffixIndex.build(docs, out, runner=runner).count(ZEBRA)


def run(docs, out, runner):
    """The texts of a Dataset."""
    made = dp.Pipeline(dp.Filter(lambda text: len(text) > 0), dp.Exact()).run(docs, out, runner)
    return " ".join(row["text"] for row in made.table().to_pylist())


def texts_in(folder):
    """All bytes of the files in a folder, those of columns of texts included."""
    for path in folder.rglob("*.parquet"):
        yield from pq.read_table(path).to_pydict().get("text", [])
    yield from (path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("write", [run, encoded, indexed])
def test_what_is_forgotten_meanwhile_is_in_no_result(tmp_path, write) -> None:
    """The writer is refused at its commit, and the next call leaves the document out."""
    docs = dp.Pipeline().run(dataset_of(tmp_path, TEXTS), str(tmp_path / "docs"))
    out = str(tmp_path / "out")
    with pytest.raises(StaleOutput, match="documents of the input were forgotten while .*out was being written"):
        write(docs, out, Forgets(folder=docs.url))
    assert any(ZEBRA in text for text in texts_in(tmp_path / "out")) is (write is not encoded)  # has its tokens
    assert ZEBRA not in write(dp.open_dataset(docs.url), out, None)
    assert not any(ZEBRA in text for text in texts_in(tmp_path / "out"))
