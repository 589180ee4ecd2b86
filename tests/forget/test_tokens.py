"""Token shards whose forget list is their own: mixtures and imports, made again, killed, and made of another run."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

import dataprep as dp
import laws
from dataprep.core.output.forget_list import digest, listed, write_list
from dataprep.core.output.layout import Folder
from dataprep.errors import StaleOutput
from dataprep.forget.forget import forget
from dataprep.history.verify import verify
from dataprep.tokens.mix.mix import Mix
from dataprep.tokens.shards.import_tokens import import_tokens
from dataprep.tokens.shards.shard import Shards
from dataprep.tokens.vocabulary.tokenizer import Tokenizer

TEXTS = {"web": [f"page {n} of the web" for n in range(9)], "chats": [f"talk {n}" for n in range(7)]}


def encoded(tmp_path, home):
    """The token shards of each source, {name: folder}."""
    for name, rows in TEXTS.items():
        (tmp_path / "in" / name).mkdir(parents=True)
        docs = laws.dataset_of(tmp_path / "in" / name, rows, parts=1)
        dp.encode(docs, Tokenizer.of_bytes(), home / name, val=0.3)
    return {name: str(home / name) for name in TEXTS}


def mixed(sources, out, seed=0, **options):
    """A mixture of all sources, each about twice."""
    mix = Mix({"web": 0.6, "chats": 0.4}, max_epochs=3, seed=seed)
    return mix.write(sources, out, tokens=400, shard_tokens=90, **options)


def texts(shards):
    """The texts of all documents, sorted."""
    tok = Tokenizer.of_bytes()
    return sorted(tok.decode(shards.document(k)) for k in range(len(shards)))


def test_a_mixture_that_is_made_again_leaves_out_its_own_list(tmp_path) -> None:
    """With the same seed it has the documents that `forget` left, with another one the forgotten are not back."""
    sources, out = encoded(tmp_path, tmp_path), str(tmp_path / "mixed")
    before = texts(mixed(sources, out))
    gone = [TEXTS["web"][3], TEXTS["chats"][3]]
    done = forget(out, [3])
    assert done.removed == {out: sum(text in gone for text in before)} != {out: 0}
    left = [text for text in before if text not in gone]
    assert texts(Shards.open(out)) == left
    assert texts(mixed(sources, out)) == left  # the same call finds the result
    other = mixed(sources, out, seed=1, replace=True)
    assert not set(texts(other)) & set(gone)
    assert len(set(texts(other))) == len(set(before)) - 2
    assert other.manifest.forgotten == digest(listed(out))
    assert texts(mixed(sources, out, seed=1)) == texts(other)
    assert verify(out) == {out: []}
    write_list(str(tmp_path / "other"), np.array([3], np.uint64))
    assert texts(mixed(sources, tmp_path / "other")) == left


def test_an_import_that_is_made_again_leaves_out_its_own_list(tmp_path) -> None:
    """Whatever the size of its shards; a shard of which nothing is left is not written."""
    sources, out = encoded(tmp_path, tmp_path), str(tmp_path / "imported")
    dp.tools.export(sources["web"], "llmc", tmp_path / "files")
    tok = Tokenizer.of_bytes()
    first = import_tokens(tmp_path / "files", tok, out, shard_tokens=1)
    ids = first.column("id").to_pylist()
    assert forget(out, [ids[0], ids[-1]]).removed == {out: 2}
    left = texts(Shards.open(out))
    assert len(left) == len(ids) - 2
    assert texts(import_tokens(tmp_path / "files", tok, out, shard_tokens=1)) == left
    for shard_tokens in (1, 70, 10_000):
        fresh = str(tmp_path / str(shard_tokens))
        write_list(fresh, listed(out))
        for place, options in ((out, {"replace": True}), (fresh, {})):
            again = import_tokens(tmp_path / "files", tok, place, shard_tokens=shard_tokens, **options)
            assert texts(again) == left
            assert again.column("id").to_pylist() == ids[1:-1]
            assert again.manifest.forgotten == digest(listed(out))
        assert all(shard.documents for shard in again.shards)
        assert texts(import_tokens(tmp_path / "files", tok, out, shard_tokens=shard_tokens)) == left
        assert verify(out) == {out: []}


def test_a_mixture_in_a_run_has_a_list_of_its_own(tmp_path) -> None:
    """Ids that are given for the mixture leave all of its sources, which keep them; ids of a source leave only it."""
    run = tmp_path / "run"
    sources = encoded(tmp_path, run)
    before = texts(mixed(sources, run / "mixed"))
    forget(str(run), [3], of="mixed")
    gone = {TEXTS["web"][3], TEXTS["chats"][3]}
    assert texts(Shards.open(run / "mixed")) == [text for text in before if text not in gone]
    assert TEXTS["web"][3] in texts(Shards.open(run / "web"))
    forget(str(run), [5], of="chats")
    gone |= {TEXTS["chats"][5]}
    assert texts(Shards.open(run / "mixed")) == [text for text in before if text not in gone]
    assert TEXTS["web"][5] in texts(Shards.open(run / "mixed"))


def test_a_mixture_of_another_run_is_stale_until_forget(tmp_path) -> None:
    """As a Dataset made elsewhere; `forget` on its folder, without ids, removes what its sources forgot."""
    sources, out = encoded(tmp_path, tmp_path / "run"), str(tmp_path / "mixed")
    before = texts(mixed(sources, out))
    forget(str(tmp_path / "run"), [2], of="web")
    with pytest.raises(StaleOutput):
        mixed(sources, out)
    assert forget(out).removed == {out: before.count(TEXTS["web"][2])}
    assert texts(Shards.open(out)) == [text for text in before if text != TEXTS["web"][2]]
    assert Folder(out).forgotten == digest(np.array([], np.uint64), {"web": Folder(sources["web"]).forgotten})
    assert forget(out).removed == {out: 0}


def test_a_killed_removal_from_a_mixture_is_repeated(tmp_path, monkeypatch) -> None:
    """Stopped before each file has its name: the folder opens as before or after, and the same call ends the same."""
    run, real = tmp_path / "run", os.replace
    mixed(encoded(tmp_path, run), run / "mixed")
    run.rename(tmp_path / "made")
    ends = []
    for n in (10**9, *range(1, 99)):
        shutil.copytree(tmp_path / "made", run)
        left = [n]

        def replace(*args, left=left):
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt
            return real(*args)

        monkeypatch.setattr(os, "replace", replace)
        try:
            forget(str(run), [2], of="web")
            killed = False
        except KeyboardInterrupt:
            killed = True
        monkeypatch.setattr(os, "replace", real)
        ends.append(texts(Shards.open(run / "mixed")))
        if killed:
            forget(str(run), [2], of="web")
            laws.same_bytes(tmp_path / "whole", run)
        elif n > 99:
            shutil.copytree(run, tmp_path / "whole")
        else:
            break
        shutil.rmtree(run)
    assert n > 15
    assert len({tuple(end) for end in ends}) == 2
