"""A search index of a text that must not stay is removed whole, also by the call after a killed one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pytest

import dataprep as dp
from dataprep.errors import InUse
from dataprep.extend import Stage
from dataprep.store.lease import held
from killed import kills
from laws import dataset_of

TEXTS = [f"document {n} of a corpus with words {n * 7}" for n in range(12)]


@dataclass(frozen=True)
class Hides(Stage):
    """Keeps all documents; everything before it is private."""

    hides: ClassVar[bool] = True

    def __call__(self, batches, stats):
        """Yield the batches."""
        yield from batches


@pytest.fixture
def home(tmp_path):
    """A run with an index in the folder of its Dataset, and one beside it, which replaced another one."""
    home = tmp_path / "run"
    dp.tools.SuffixIndex.build(dataset_of(tmp_path, ["another text"]), str(home / "index"))
    clean = dp.Pipeline().run(dataset_of(tmp_path, TEXTS), str(home / "clean"))
    dp.tools.SuffixIndex.build(clean, str(home / "index"), replace=True)
    dp.tools.SuffixIndex.build(clean, str(home / "clean" / "index"))
    return home


def left_of_indexes(home) -> Iterator[str]:
    """Yield the files of an index that have texts, or places of texts."""
    yield from (str(path) for path in home.rglob("*index/**/*") if path.suffix in (".text", ".sa", ".docs"))


def test_forget(home, monkeypatch) -> None:
    """Killed at each deletion."""
    before = home.rename(home.parent / "before")
    assert len(list(left_of_indexes(before))) == 15  # those of the replaced one too
    for n in kills(monkeypatch, before, home, lambda: dp.tools.forget(str(home), [0], of="clean")):
        dp.tools.forget(str(home), [0], of="clean")
        assert list(left_of_indexes(home)) == [], n
        if n == 40:  # the documents themselves are removed now
            break
    assert n == 40


@pytest.mark.parametrize("name", ["index", "clean/index"])
def test_forget_beside_a_build(home, name) -> None:
    """Refused, since the build would end with an error or have the documents; later, the lease keeps no folder."""
    before = sorted(home.rglob("*"))
    with held(str(home / name)), pytest.raises(InUse, match=f"run/{name} is in use by pid "):
        dp.tools.forget(str(home), [0], of="clean")
    assert sorted(home.rglob("*")) == before
    dp.tools.forget(str(home), [0], of="clean")
    assert not (home / "clean" / "index").exists()
    assert list(left_of_indexes(home)) == []


def test_a_recipe_that_hides(home, tmp_path, monkeypatch) -> None:
    """The index in the folder of the Dataset, which is removed after the result was replaced."""
    before, docs = home.rename(home.parent / "before"), dataset_of(tmp_path, TEXTS)

    def hide():
        return dp.Pipeline(Hides()).run(docs, str(home / "clean"), replace=True)

    for n in kills(monkeypatch, before, home, hide):
        hide()
        assert list(left_of_indexes(home / "clean")) == [], n
    assert n > 20
