"""After `dataprep prune`, every drop and cut of a run still has its row; only texts and work files are gone."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import dataprep as dp
from dataprep import extend
from dataprep.core.output import owned, pruning
from dataprep.core.output.layout import DROPS, PRUNED, Folder
from dataprep.core.run.runner import Serial
from dataprep.errors import CorruptShard, PlanError, ReadError
from dataprep.forget.forget import forget
from dataprep.history.clusters import find_clusters
from dataprep.history.drop_reasons import DropReasons
from dataprep.history.removed_hits import find_removed
from dataprep.history.repair import repair
from dataprep.history.verify import verify
from dataprep.store import files
from killed import bytes_of, kills
from laws import same_bytes

SHARED = "A paragraph of many words about the hills, which two of the texts contain, and which is cut from one of them."
LONG = ("Die Flüsse und die Seen. ", "Реки и озёра за холмами. ", "हिन्दी में एक वाक्य। ", "the rivers of the north ")
TEXTS = [
    "tiny", f"{LONG[0] * 9}\n{SHARED}\nan end", f"{LONG[1] * 9}\n{SHARED}\nother", LONG[2] * 9, LONG[3] * 20, "мало",
    f"{LONG[3] * 20} and more, which is cut off", LONG[2] * 9, "the last of the texts, which is long enough to be kept",
]  # fmt: skip


def long_enough(text):
    """Whether a text is kept by the filter before the first saved input."""
    return len(text) > 20


def shorter(text):
    """The text of a stage after which the input is saved again."""
    return text[:300]


def few(text):
    """Whether a text is kept by the last stage."""
    return not text.startswith("the last")


FIRST = (dp.Filter(long_enough), dp.Exact(unit="paragraph"), dp.Map(shorter), dp.Exact())
LAST = (*FIRST, dp.Filter(few))


@dataclass(frozen=True)
class Hide(extend.Stage):
    """A stage that hides what came before it."""

    hides = True

    def __call__(self, batches, stats):
        """Yield all documents."""
        return batches


def run(place, stages=LAST, name="out", **more):
    """Run the stages on the texts."""
    (place / "in").mkdir(exist_ok=True)
    if not (place / "in" / "a.jsonl").exists():
        rows = [json.dumps({"text": text}) + "\n" for text in TEXTS]
        (place / "in" / "a.jsonl").write_text("".join(rows[:5]))
        (place / "in" / "b.jsonl").write_text("".join(rows[5:]))
    return dp.Pipeline(*stages).run(dp.read(str(place / "in")), out=str(place / name), **more)


def tables_of(url):
    """Every drop and cut of a result, as a new reader finds them."""
    made = dp.open_dataset(url)
    return made.drops().to_pylist(), made.cuts().to_pylist()


@pytest.fixture
def pruned(tmp_path, dataprep):
    """A result, of which the saved steps were pruned; its tables before that; and a copy of it as it was."""
    made = run(tmp_path)
    before = tables_of(made.url)
    assert {row["stage"] for row in before[0]} == {"long_enough", "Exact(paragraph)", "Exact(document)", "few"}
    assert len(before[1]) >= 2
    shutil.copytree(made.url, tmp_path / "whole")
    assert dataprep("prune", made.url)[0] == 0
    return made, before, tmp_path / "whole"


def test_every_drop_and_cut_keeps_its_row(pruned):
    """Documents, stages, reasons and numbers; the open Dataset reads them, too, and the removed texts of the input."""
    made, before, whole = pruned
    assert tables_of(made.url) == before == (made.drops().to_pylist(), made.cuts().to_pylist())
    assert sum(n.docs for stage in made.stats for of in stage.dropped.values() for n in of.values()) == len(before[0])
    assert made.dropped().table() == dp.open_dataset(str(whole)).dropped().table()
    steps = bytes_of(whole.parent / "out" / "steps")
    assert {name.split("/")[2] for name in steps} == {PRUNED, "recipe.json", "receipts", "drops", "cuts"}
    with pytest.raises(ReadError, match="prune. removed the documents of this step"):
        made.cut_texts("Exact(paragraph)").table()
    with pytest.raises(PlanError, match=r"one of the stages that cut texts: 'Exact\(paragraph\)'"):
        made.cut_texts("few")
    reasons = {row["id"]: (row["stage"], row["reason"]) for row in before[0]}
    ids = np.array(sorted(reasons), np.uint64)
    assert DropReasons(made.url).of(ids) == [reasons[id_] for id_ in ids.tolist()]


def test_the_texts_and_work_files_are_gone_and_all_removes_the_rest(pruned, dataprep, tmp_path):
    """A second call changes nothing; `--all` leaves nothing."""
    made, before, _ = pruned
    held = bytes_of(tmp_path / "out")
    code, said, _ = dataprep("prune", made.url)
    assert (code, "1 folder, 0 bytes" in said) == (0, True)
    assert bytes_of(tmp_path / "out") == held
    assert tables_of(made.url) == before
    assert dataprep("prune", "--all", made.url)[0] == 0
    assert not (tmp_path / "out").exists()


def test_a_folder_without_a_journal_and_memory(tmp_path, dataprep):
    """A copy without hidden files, and an object store."""
    made = run(tmp_path)
    before = tables_of(made.url)
    shutil.copytree(made.url, tmp_path / "copy", ignore=shutil.ignore_patterns(".*"))
    url = "memory://test-pruned/out"
    dp.Pipeline(*LAST).run(dp.read(str(tmp_path / "in")), out=url)
    for place in (str(tmp_path / "copy"), url):
        assert dataprep("prune", place)[0] == 0
        assert tables_of(place) == before
        assert all(step.input.is_pruned and not files.listdir(step.input.path("data")) for step in Folder(place).steps)
        assert not any(problems for problems in verify(place).values())
        dp.tools.forget(place, [int(dp.open_dataset(place).table(["id"])["id"][0])])
        dp.encode(dp.open_dataset(place), dp.Tokenizer.of_bytes(), f"{place}-shards", val=0.3)
        dp.tools.SuffixIndex.build(dp.open_dataset(place), f"{place}-index")
        for home in (place, f"{place}-shards", f"{place}-index"):
            assert any(files.name_of(at) == "forget.parquet" for at in files.expand(home)), "the list of what is gone"
            for journal in Path(home).glob(".dataprep-journal"):
                journal.unlink()
            code, said, _ = dataprep("prune", "--all", home)
            assert (code, "which dataprep did not write" in said) == (0, False)
            assert not files.exists(home) or files.expand(home) == []


def test_damage_of_kept_files_is_found_and_repaired(pruned, tmp_path):
    """Removed texts are no damage; a changed byte, a missing table and a damaged record are. All is made again."""
    made, before, whole = pruned
    assert [len(problems) for problems in verify(made.url).values()] == [0, 0, 0]
    place = Folder(made.url).saved[0]
    for name in ("drops/part-00000.parquet", PRUNED, "receipts/part-00000.json"):
        path = tmp_path / "out" / "steps" / place.parent.name / "input" / name
        data = path.read_bytes()
        for damaged in (data[:40] + b"~" + data[41:], data[:-9], *([None] if name.startswith(DROPS) else [])):
            path.unlink() if damaged is None else path.write_bytes(damaged)
            found = verify(made.url)
            assert name in [problem.file for problem in found[place.url]]
        if name.startswith(DROPS):
            with pytest.raises(CorruptShard):
                tables_of(made.url)
        path.write_bytes(damaged or data[:-9])
        repair(made.url, None, lambda: run(tmp_path))
        assert not any(verify(made.url).values())
        assert tables_of(made.url) == before
        pruning.prune(Folder(made.url))
    run(tmp_path, FIRST, replace=True)
    same_bytes(tmp_path / "out" / "steps", whole / "steps")


def test_the_same_pipeline_opens_the_result_and_another_saves_again(pruned, tmp_path, monkeypatch):
    """With the same bytes; then the record of the pruned step is gone."""
    made, before, whole = pruned
    held = bytes_of(tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr("dataprep.core.run.execute.seal", lambda *_, **__: pytest.fail("it works"))
        assert run(tmp_path).count == made.count
    assert bytes_of(tmp_path / "out") == held
    again = run(tmp_path, FIRST, replace=True)
    same_bytes(tmp_path / "out" / "steps", whole / "steps")
    assert tables_of(again.url) == tuple([row for row in rows if row["stage"] != "few"] for rows in before)


def test_a_result_that_hides_removes_the_pruned_steps(pruned, tmp_path):
    """As it removes others."""
    names = {step.name for step in Folder(pruned[0].url).steps}
    assert len(names) == 2
    hidden = run(tmp_path, (*FIRST, Hide()), replace=True)
    assert not any(files.exists(step.input.path(PRUNED)) for step in Folder(hidden.url).steps)
    assert not any(problems for problems in verify(hidden.url).values())


def test_a_killed_prune_is_ended_by_the_next(tmp_path, monkeypatch):
    """At each rename and deletion: the tables are the same at once, and the next call leaves the same files."""
    made = run(tmp_path, keep_dropped=True)
    assert len(Folder(made.url).steps) == 3  # one has the dropped documents
    before = tables_of(made.url)
    shutil.copytree(made.url, tmp_path / "whole")
    pruning.prune(Folder(made.url))
    assert len(Folder(made.url).steps) == 2
    out, wanted, tried = tmp_path / "out", bytes_of(tmp_path / "out"), 0
    for _ in kills(monkeypatch, tmp_path / "whole", out, lambda: pruning.prune(Folder(made.url)), step=2):
        tried += 1
        assert tables_of(made.url) == before
        assert not any(problem.file.startswith(DROPS) for found in verify(made.url).values() for problem in found)
        pruning.prune(Folder(made.url))
        assert bytes_of(out) == wanted
    assert tried > 5


def test_forgotten_documents_are_in_no_file(pruned, tmp_path):
    """Neither their texts nor quotes of them; a rerun without them is like a first run."""
    made, before, _ = pruned
    short = next(row["id"] for row in before[0] if row["stage"] == "long_enough")
    kept = made.table()["id"].to_pylist()[0]
    assert b"tiny" in b"".join(bytes_of(tmp_path / "out").values())
    forget(made.url, [short, kept])
    assert b"tiny" not in b"".join(bytes_of(tmp_path / "out").values())
    assert kept not in dp.open_dataset(made.url).table()["id"].to_pylist()
    assert [row for row in tables_of(made.url)[0] if row["stage"] != "forget"] == before[0]
    assert not any(problems for problems in verify(made.url).values())
    again = run(tmp_path, FIRST, replace=True)
    (tmp_path / "first").mkdir()
    shutil.copy(tmp_path / "out" / "forget.parquet", tmp_path / "first")
    first = run(tmp_path, FIRST, "first")
    assert tables_of(again.url) == tables_of(first.url)
    assert again.table().to_pylist() == first.table().to_pylist()


def test_forget_removes_the_texts_that_a_killed_prune_left(tmp_path, monkeypatch):
    """Which no command reads any more."""
    made = run(tmp_path)
    copy = next(row["id"] for row in made.drops().to_pylist() if row["stage"] == "Exact(document)")
    with monkeypatch.context() as patch, pytest.raises(KeyError):
        patch.setattr(owned, "remove", lambda *_, **__: {}["killed"])
        pruning.prune(Folder(made.url))
    assert [len(files.listdir(step.input.path("data"))) for step in Folder(made.url).steps] == [1, 1]
    forget(made.url, [copy])
    assert [len(files.listdir(step.input.path("data"))) for step in Folder(made.url).steps] == [0, 0]


def test_commands_show_the_rows_and_say_what_is_gone(pruned, dataprep):
    """`why`, `clusters`, `inspect`, the report and `search --removed`."""
    made, before, _ = pruned
    for row in before[0]:
        code, said, _ = dataprep("why", made.url, row["id"])
        assert (code, f"was dropped by {row['stage']}" in " ".join(said.split())) == (0, True)
        assert ("(no text: " in said) is (row["stage"] != "long_enough"), said
    cut = next(row["id"] for row in before[1] if row["duplicate_of"] is not None)
    assert "Exact(paragraph) cut " in dataprep("why", made.url, cut)[1]
    assert len(find_clusters(made.url).ids) == sum(row["reason"] == "duplicate" for row in before[0])
    for command in ("clusters", "inspect", "report", "status"):
        assert dataprep(command, made.url)[0] == 0
    code, said, _ = dataprep("clusters", made.url)
    assert "(no text: " in said
    (dropped,) = find_removed(made.url, "мало", Serial()).hits
    assert [(cause.stage, cause.rule) for cause in dropped.causes] == [("long_enough", "long_enough")]
    assert [hit.causes for hit in find_removed(made.url, SHARED[:40], Serial()).hits] == [()]  # its step was pruned
