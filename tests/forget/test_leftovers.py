"""Work files that may hold forgotten texts are removed, and what is left for the user to remove is named."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dataprep as dp
import laws
import stated
from dataprep.core.model.batch import POSITION_BITS
from dataprep.core.output.layout import Folder
from dataprep.core.output.state import DATASET, TOKENS
from dataprep.errors import CorruptShard, Replaced
from dataprep.forget.family import Family, Member
from dataprep.forget.filters import _input_of, refill_filters
from dataprep.forget.forget import forget
from dataprep.forget.leftovers import remaining_files, remove_work_files
from dataprep.report import write as write_report
from dataprep.store import atomic, files

REPORT = '<html><title>run: report of a run</title><meta name="dataprep-keys" content="k0">'


def put(place, *names, text="x"):
    """Write files of one text."""
    for name in names:
        files.write_bytes(str(place / name), text.encode())


def named(sentences):
    """What stands before the reason of each sentence."""
    return [sentence.partition(" (")[0] for sentence in sentences]


@pytest.fixture
def home(tmp_path):
    """A Dataset in a run, with a step of an Estimator, in a folder that lists what was made in it."""
    home = tmp_path / "run" / "clean"
    home.mkdir(parents=True)
    atomic.begin_journal(str(tmp_path / "run"))
    put(home, "steps/01-MinHash-0123abcd/verdicts.parquet", "steps/01-MinHash-0123abcd/index.json",
        "steps/01-MinHash-0123abcd/spans.json", "steps/01-MinHash-0123abcd/bands/b-0.spill",
        "steps/01-MinHash-0123abcd/input/manifest.json", "steps/notes/deep/x", "index/suffixes.sa",
        "drops/part-00000.parquet")  # fmt: skip
    stated.written(home, key="k0")
    return home


def removed(home):
    """What `forget` removes beside a Dataset; the part of each sentence before the reason."""
    family = Family(str(home))
    return named(remove_work_files(family, family.members))


def test_work_files_go_and_verdicts_stay(home, tmp_path) -> None:
    """Folders of a step and its index, but not its input and its tables; the suffix index; others are kept."""
    step = home / "steps" / "01-MinHash-0123abcd"
    assert removed(home) == [f"{step}/bands", f"{step}/index.json", f"{home}/index"]
    assert sorted(p.relative_to(home).as_posix() for p in home.rglob("*") if p.is_file()) == [
        "drops/part-00000.parquet", "manifest.json", "steps/01-MinHash-0123abcd/input/manifest.json",
        "steps/01-MinHash-0123abcd/spans.json", "steps/01-MinHash-0123abcd/verdicts.parquet", "steps/notes/deep/x",
    ]  # fmt: skip
    assert removed(home) == []


def test_reports_go_if_they_are_ours(home, tmp_path) -> None:
    """Of the Dataset, of the run, and of a step `report`; a page of somebody else stays."""
    removed(home)
    run = tmp_path / "run"
    ours = [run / "clean" / "report.html", run / "report.html", run / "report" / "report.html"]
    for place in ours:
        put(place.parent, place.name, text=REPORT)
    assert removed(home) == list(map(str, ours))
    assert not any(place.exists() for place in ours)
    put(run, "report.html", text="<html><title>my report</title>")
    put(run / "clean", "report.html", text="y" * (1 << 14) + REPORT)
    assert removed(home) == []
    assert (run / "report.html").exists()


@pytest.mark.parametrize(
    ("name", "keys", "goes"),
    [("clean", "k1 k2", True), ("run", "k9", True), ("clean", "k9", False), ("run", None, False)],
)
def test_reports_of_other_runs_stay(home, tmp_path, name, keys, goes) -> None:
    """A report goes if it names a key of the Dataset, or the folder of the run; without keys it is no report."""
    place = tmp_path / "run" / "report.html"
    page = f"<title>{name}: report of a run</title>"
    put(place.parent, place.name, text=page + ("" if keys is None else f'<meta name="dataprep-keys" content="{keys}">'))
    stated.written(home, key="k1")
    removed(home)
    assert place.exists() is not goes


def test_a_report_names_its_run(tmp_path) -> None:
    """By the keys of its Datasets, so that forgetting in another run, beside which it lies, leaves it."""
    for name in ("one", "two"):
        put(tmp_path, f"{name}.jsonl", text=f'{{"text": "a text of {name}"}}\n{{"text": "b"}}\n{{"text": "c"}}\n')
        dp.Pipeline().run(dp.read(str(tmp_path / f"{name}.jsonl")), str(tmp_path / name / "clean"))
    for name, goes in (("two", False), ("one", True)):
        place = write_report(str(tmp_path / name / "clean"), str(tmp_path / "one" / "report.html"))
        url = str(tmp_path / "one" / "clean")
        dp.tools.forget(url, [next(iter(dp.open_dataset(url)))["id"]])
        assert files.exists(place) is not goes


def test_what_is_left_is_named(tmp_path) -> None:
    """Input files that had a forgotten document, other runs, and files that steps and exports made of the texts."""
    run = tmp_path / "run"
    put(run, "train/step-1.pt", "made/a.jsonl", "made/b.jsonl.gz", "made/c.jsonl.zst", "made/lm.arpa", "index.sa",
        "index.text", "mine/notes.txt", "x_document.bin", "y.ds", "e/train.bin", "e/val_000001.bin",
        "e/train-00000.bin", "in.jsonl", "e/mytrain.bin", "e/test_1.bin")  # fmt: skip
    ids = np.array([1 << POSITION_BITS | 3, 4 << POSITION_BITS], np.uint64)
    family = Family(stated.written(run / "clean").removesuffix("/clean"))
    (read,) = family.members
    read.inputs += [(0, "a"), (1, "b"), (4, str(run / "in.jsonl"))]
    far = Member(Folder(str(run / "both")), DATASET, outside=[(Folder("/far/web"), 2)], inputs=[(1, "never")])
    family.members.append(far)
    found = remaining_files(family, {read: ids})
    assert named(found) == [
        "b", str(run / "in.jsonl"), "/far/web",
        *(f"{run}/{name}" for name in (
            "e/train.bin", "e/val_000001.bin", "index.sa", "index.text", "made/a.jsonl", "made/b.jsonl.gz",
            "made/c.jsonl.zst", "made/lm.arpa", "train/step-1.pt", "x_document.bin", "y.ds",
        )),
    ]  # fmt: skip
    reasons = {sentence.partition(" (")[0]: sentence.partition(" (")[2] for sentence in found}
    assert reasons["b"] == "the input itself)"
    assert reasons[f"{run}/train/step-1.pt"].startswith("a checkpoint trained on the text")
    assert reasons[f"{run}/made/lm.arpa"].startswith("made from the texts by a step")
    assert reasons[f"{run}/y.ds"].startswith("exported tokens")
    assert "run `dataprep forget` there too" in reasons["/far/web"]
    family.home, family.members = Folder(str(tmp_path / "none")), [read]
    assert remaining_files(family, {}) == []
    family.members.append(stated.member(run / "tokens", TOKENS, tokenizer={"hash": "x"}))
    assert named(remaining_files(family, {})) == ["the tokenizer"]
    for plain in (stated.member("t", TOKENS), stated.member("d", tokenizer={"hash": "x"})):
        family.members = [plain]
        assert remaining_files(family, {}) == []


def test_a_filter_that_cannot_be_filled_again_is_removed(tmp_path) -> None:
    """If the recipe is of another stage, or has fewer stages; the sentence says why. Other steps have no filter."""
    home = tmp_path / "clean"
    stated.written(home, stages=[{"class": "Mine"}, {"class": "Exact"}])
    put(home, *(f"steps/{name}-0123abcd/filter.bloom" for name in ("01-Mine", "03-Bloom")), "steps/02-Exact-0123abcd/x")
    one, three = refill_filters(Member(Folder(str(home)), DATASET))
    assert "01-Mine-0123abcd/filter.bloom was removed, since it cannot be rebuilt (it was made by Mine, " in one
    assert "03-Bloom-0123abcd/filter.bloom was removed, since it cannot be rebuilt (it was made by None" in three
    assert list(home.rglob("filter.bloom")) == []


def louder(text):
    """Change every text."""
    return f"{text}!"


TEXTS = ["one two\nsame line", "one two\nsame line", "same line\nthree", "four", "five"]


@pytest.mark.parametrize("kind", ["saved", "sealed", "joined", "files"])
def test_a_filter_is_filled_with_what_its_step_read(tmp_path, kind) -> None:
    """The saved input, or the sealed one, less what verdicts in between removed; of files, what is left of them."""
    put(tmp_path, "a.jsonl", text="".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    docs = dp.read(str(tmp_path / "a.jsonl"))
    if kind != "files":
        urls = [dp.Pipeline().run(docs, str(tmp_path / "run" / name)).url for name in "ab"[: 1 + (kind == "joined")]]
        docs = dp.read(urls) if kind == "joined" else dp.open_dataset(urls[0])
    first = (dp.Map(louder),) if kind == "saved" else ()
    stages = (*first, dp.Exact(), dp.Exact(unit="line", min_remaining_chars=5), dp.Bloom())
    done = dp.Pipeline(*stages).run(docs, str(tmp_path / "run" / "clean"))
    member = next(one for one in Family(str(tmp_path / "run")).members if one.folder.url == done.url)
    steps = sorted(member.folder.steps, key=lambda step: step.number)
    read = [[(row["id"], row["text"]) for row in _input_of(member, steps, step)] for step in steps]
    if kind == "files":
        assert read == [[(row["id"], row["text"]) for row in done]] * 3
    else:
        before = list(docs.then(*first))
        kept = dp.Pipeline(*first, dp.Exact()).run(docs, str(tmp_path / "x"))
        cut = dp.Pipeline(*first, dp.Exact(), dp.Exact(unit="line", min_remaining_chars=5)).run(
            docs, str(tmp_path / "y")
        )
        assert read == [[(row["id"], row["text"]) for row in rows] for rows in (before, kept, cut)]
        assert len(read[0]) > len(read[1]) >= len(read[2]) > 2
    (sentence,) = refill_filters(member)
    assert sentence == f"{steps[2].url}/filter.bloom was rebuilt from the {len(read[2])} documents that are left"
    assert not files.exists(steps[2].path("anew"))


def test_what_a_killed_attempt_left_goes_and_other_damage_is_told(tmp_path) -> None:
    """A file under a temporary name may hold the text; a shard that is missing may have held it, too."""
    out = dp.Pipeline().run(laws.dataset_of(tmp_path, list("abcdef"), parts=3), str(tmp_path / "out")).url
    *_, last = (row["id"] for row in dp.open_dataset(out))
    put(tmp_path / "out", *(f"{home}/.part-00000.parquet.0123456789ab.tmp" for home in ("data", "drops", "index")))
    forget(out, [last])
    assert sorted(files.listdir(f"{out}/data")) == [
        "part-00000-000.parquet", "part-00001-000.parquet", "part-00002-000.g2.parquet",
    ]  # fmt: skip
    assert not list((tmp_path / "out").rglob("*.tmp"))
    files.remove(f"{out}/data/part-00001-000.parquet")
    with pytest.raises(CorruptShard, match="part-00001-000.parquet is missing"):
        forget(out, [last - 1])


def test_an_index_in_a_folder_of_its_own_is_removed(tmp_path) -> None:
    """That of the Dataset, also if the run was moved; that of another Dataset, and files of the user, are kept."""
    pytest.importorskip("pydivsufsort")
    run = tmp_path / "run"
    some = {name: [f"{name} {word}" for word in ("secret", "public", "other")] for name in ("one", "two")}
    docs = {}
    for name, texts in some.items():
        (tmp_path / name).mkdir()
        docs[name] = dp.Pipeline().run(laws.dataset_of(tmp_path / name, texts), str(run / name))
        dp.tools.SuffixIndex.build(docs[name], str(run / "of" / name))
    run.rename(tmp_path / "moved")
    run = tmp_path / "moved"
    put(run / "of", "notes.txt")
    done = forget(str(run), [0], of="one")
    assert [name for name in named(done.cleared) if "/of/" in name] == [f"{run}/of/one"]
    assert [path.name for path in (run / "of/one").iterdir() if not path.name.startswith(".")] == []
    assert (run / "of/notes.txt").exists()
    one = dp.open_dataset(str(run / "one"))
    assert dp.tools.SuffixIndex.build(one, str(run / "of" / "one")).count("secret") == 0
    assert dp.tools.SuffixIndex.open(str(run / "of" / "two")).count("secret") == 1
    assert not [name for name in named(forget(str(run)).cleared) if name.endswith("/of/two")]


def test_a_dataset_that_was_open_before_says_to_open_it_again(tmp_path) -> None:
    """Its shards have other names; nothing is damaged."""
    docs = dp.Pipeline().run(laws.dataset_of(tmp_path, ["one", "two"]), str(tmp_path / "out"))
    forget(docs.url, [0])
    with pytest.raises(Replaced, match="was replaced since it was opened; open it again"):
        docs.to_arrow()
    assert dp.open_dataset(docs.url).to_arrow()["text"].to_pylist() == ["two"]
