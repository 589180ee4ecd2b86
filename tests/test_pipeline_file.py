"""The named recipes end to end on the sample files, each with its real rules; and on real pages where they are."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dataprep import pipeline_file
from dataprep.core.run.context import Context, trial_of
from dataprep.core.run.runner import Serial
from dataprep.core.run.trial import Trial
from dataprep.errors import PlanError, StaleOutput
from dataprep.history.trials import UNTRIED
from dataprep.store import files
from dataprep.store.failure import found

PIPELINES = Path(__file__).parents[1] / "pipelines"


def results(name, out):
    """What each step of a recipe returned."""
    steps = pipeline_file.load(str(PIPELINES / f"{name}.py"))
    return {done.name: done.result for done in pipeline_file.execute(steps, str(out), Serial())}


def check_books(done, first, last):
    """Every book balances, nothing is lost between steps, and some of it is kept and some dropped."""
    sealed = [step for step in done.values() if hasattr(step, "stats")]
    for book in (book for docs in sealed for book in docs.stats):
        assert book.docs_in == book.docs_out + book.docs_dropped, book.name
    gone = {id_ for docs in sealed if docs is not done[first] for id_ in docs.drops().column("id").to_pylist()}
    came, left = (set(ids(done[step])) for step in (first, last))
    assert left == came - gone
    assert 0 < len(left) < len(came)


def ids(docs):
    """The ids of all documents."""
    return docs.table(["id"]).column("id").to_pylist()


def reasons(docs):
    """Why documents went."""
    return {reason for book in docs.stats for reason in book.reasons}


def test_c4(samples, tmp_path, monkeypatch):
    """C4's rules drop the written bad pages, a list drops a page, and three sentences of a copied article are cut."""
    pytest.importorskip("py3langid")
    (tmp_path / "words.txt").write_text("hedgehog\n")
    monkeypatch.setenv("C4_BAD_WORDS", str(tmp_path / "words.txt"))
    done = results("c4", tmp_path / "out")
    check_books(done, "ingest", "dedup")
    assert {"lorem_ipsum", "curly_bracket", "too_few_sentences"} <= reasons(done["clean"])
    assert reasons(done["bad_words"]) == {"bad_words"}
    assert not any("hedgehog" in text for text in done["dedup"].table(["text"]).column("text").to_pylist())
    assert done["dedup"].stats["Exact"].cut > 0


def test_ccnet(tmp_path, monkeypatch):
    """The model is trained once, on normalised text, and the third of the pages that it foretells best stays."""
    pytest.importorskip("py3langid")
    pytest.importorskip("kenlm")
    done = results("ccnet", tmp_path / "out")
    check_books({name: step for name, step in done.items() if name != "reference"}, "ingest", "perplexity")
    assert done["perplexity"].count == pytest.approx(0.3 * done["language"].count, abs=1)
    assert done["dedup"].stats["Exact"].counts["spans_cut"] > 0
    arpa = Path(done["model"])
    assert "ngram 5=" in arpa.read_text(encoding="utf-8")[:200]
    head, before = set(ids(done["perplexity"])), arpa.stat().st_mtime_ns
    monkeypatch.setenv("CCNET_CUT", "tail")
    again = results("ccnet", tmp_path / "out")
    assert arpa.stat().st_mtime_ns == before
    assert ids(again["perplexity"])
    assert not head & set(ids(again["perplexity"]))


def test_dclm(tmp_path):
    """Pages of a WARC file and their copies pass the rules, the copies go, and the best tenth stays."""
    for package in ("py3langid", "fastwarc", "resiliparse", "fasttext"):
        pytest.importorskip(package)
    done = results("dclm", tmp_path / "out")
    check_books(done, "ingest", "quality")
    assert {"too_few_words", "removed_words"} <= reasons(done["heuristics"])
    dropped = set(done["dedup"].drops().column("id").to_pylist())
    sources = {row["id"]: row["source"] for row in done["heuristics"].table(["id", "source"]).to_pylist()}
    assert sum(sources[id_] == "crawl" for id_ in dropped) >= 3  # the three pages, read from WARC and again from WET
    assert done["quality"].count == pytest.approx(0.1 * done["dedup"].count, abs=1)


def test_atlaset(samples, tmp_path, monkeypatch):
    """Darija in both scripts stays, English goes as another language, and a mirrored text goes once."""
    datasets = pytest.importorskip("datasets")
    pytest.importorskip("py3langid")
    rows = [json.loads(line) for line in (samples / "darija.jsonl").read_text(encoding="utf-8").splitlines()]
    english = "The ferry to the island leaves at seven in the morning, and nobody knows when it comes back."
    datasets.Dataset.from_list([*rows, {"text": english, "dataset_source": "web"}]).save_to_disk(str(tmp_path / "set"))
    monkeypatch.setenv("ATLASET", str(tmp_path / "set"))
    monkeypatch.setenv("ATLASET_VOCABULARY", "400")
    steps = pipeline_file.load(str(PIPELINES / "atlaset.py"))
    done = {d.name: d.result for d in pipeline_file.execute(steps, str(tmp_path / "out"), Serial(), to="dedup-minhash")}
    check_books(done, "ingest", "dedup_minhash")
    assert reasons(done["language"]) == {"other_language"}
    assert done["dedup_minhash"].count == len({row["text"] for row in rows})


def test_fineweb(tmp_path):
    """Each kind of bad page of the sample crawl is dropped by its rule, copies once, and no address is left."""
    for package in ("py3langid", "fastwarc", "resiliparse", "w3lib"):
        pytest.importorskip(package)
    done = results("fineweb", tmp_path / "out")
    check_books(done, "ingest", "private")
    assert reasons(done["language"]) == {"other_language"}
    assert {"top_2gram", "duplicate_lines", "few_punctuated_lines"} == reasons(done["quality"])
    table = done["private"].table(["url", "text"]).to_pylist()
    assert all(row["url"].startswith("https://village-") for row in table)
    assert not any("@" in row["text"] for row in table)
    assert any("<email>" in row["text"] for row in table)


def test_library(tmp_path):
    """Pages of PDF and HTML files about bees are kept once, with whole words and lines."""
    for package in ("pypdfium2", "resiliparse"):
        pytest.importorskip(package)
    done = results("library", tmp_path / "out")
    check_books(done, "ingest", "dedup")
    assert done["dedup"].stats[0].docs_in == 8
    sources = done["dedup"].table(["source"]).column("source").to_pylist()
    assert sources == ["library"] * 6
    text = " ".join(done["dedup"].table(["text"]).column("text").to_pylist())
    assert "walls, a roof" in text
    assert "-\n" not in text
    assert len(done["encode"]) == 6


def test_instructions(samples, tmp_path):
    """Conversations without an answer, copies and questions of the evaluation are dropped."""
    done = results("instructions", tmp_path / "out")
    check_books(done, "ingest", "decontaminate")
    assert reasons(done["decontaminate"]) == {"contaminated_evaluation"}
    asked = (samples / "gallery" / "instructions" / "evaluation.jsonl").read_text(encoding="utf-8").splitlines()
    text = "\n".join(done["decontaminate"].table(["text"]).column("text").to_pylist())
    assert not [row for row in asked if json.loads(row)["question"] in text]
    assert text.count("bring home?") == 40  # of 43 problems, 3 are those of the evaluation
    assert [round(share, 2) for share in done["mix"].weights.values()] == [0.4, 0.3, 0.3]


def test_c4_on_real_pages(shared, tmp_path, monkeypatch):
    """Common Crawl's own pages run through C4, by the WARC reader."""
    for package in ("py3langid", "fastwarc", "resiliparse"):
        pytest.importorskip(package)
    monkeypatch.setenv("C4_INPUT", str(shared / "warc" / "dolma" / "*.warc.gz"))
    done = results("c4", tmp_path / "out")
    check_books(done, "ingest", "dedup")
    assert reasons(done["language"]) == {"language_score"}  # English, but not by 0.99


def test_ccnet_on_real_pages(shared, tmp_path, monkeypatch):
    """French manuals, with a model of French lines that were not among them, by CCNet's recipe."""
    pytest.importorskip("py3langid")
    pytest.importorskip("kenlm")
    monkeypatch.setenv("CCNET_LANGUAGE", "fr")
    folder = shared / "text" / "multilingual"
    monkeypatch.setenv("CCNET_INPUT", str(folder / "debian_installguide_3arch_8lang.jsonl.gz"))
    monkeypatch.setenv("CCNET_REFERENCE", str(folder / "debian_handbook_8lang.jsonl.gz"))
    done = results("ccnet", tmp_path / "out")
    check_books({name: step for name, step in done.items() if name != "reference"}, "ingest", "perplexity")
    assert set(done["perplexity"].table(["language"]).column("language").to_pylist()) <= {"fr", "und"}


def test_to_runs_the_step_and_what_it_needs(tmp_path):
    """Steps between them that nothing needs are not called; steps that are needed through another are."""
    (tmp_path / "some.py").write_text(
        "def read(out): return 'r'\n"
        "def other(read, out): raise RuntimeError\n"
        "def model(read, out): return read + 'm'\n"
        "def after_all(model, out, runner): return model + 'a'\n"
        "def last(after_all, out): return 'l'\n"
    )
    steps = pipeline_file.load(str(tmp_path / "some.py"))
    done = {d.name: d.result for d in pipeline_file.execute(steps, str(tmp_path / "out"), Serial(), to="after-all")}
    assert done == {"read": "r", "model": "rm", "after_all": "rma"}


REASONS = {
    "language": {"other_language"}, "perplexity": {"perplexity_high"}, "quality": {"quality_low"},
    "dedup_url": {"older_capture", "content_type", "revisit", "status"}, "dedup_paragraph": {"too_short_after_cuts"},
    "dedup_bloom": {"too_short_after_cuts"}, "dedup_semantic": {"semantic_duplicate"},
}  # fmt: skip


def test_stages(tmp_path):
    """Each stage alone drops sample documents for its own reason, and chats become conversations."""
    for package in ("py3langid", "fastwarc", "resiliparse", "kenlm", "fasttext", "w3lib"):
        pytest.importorskip(package)
    done = results("stages", tmp_path / "out")
    assert {name: reasons(done[name]) for name in REASONS} == REASONS
    assert reasons(done["chats"]) >= {"in_two_exports", "image", "joined"}
    assert done["chats"].count < 200


def test_a_file_may_have_the_name_of_a_module(tmp_path):
    """The module that is loaded stays, and the file is itself found by its name."""
    for name in ("json", "some_steps_of_mine"):
        (tmp_path / f"{name}.py").write_text("def one(out): return __name__\n")
        (step,) = pipeline_file.load(str(tmp_path / f"{name}.py"))
        own = f"pipeline_{name}" if name == "json" else name
        assert step.fn("") == own
        assert sys.modules.pop(own).one is step.fn
    assert sys.modules["json"] is json


def written(place, text):
    """The path of a pipeline file of this text."""
    place.write_text(text)
    return str(place)


def sentence(call):
    """The message of the PlanError that a call raises."""
    with pytest.raises(PlanError) as e:
        call()
    return str(e.value)


def test_what_is_no_pipeline_file(tmp_path):
    """A file that is missing or no Python, one without steps or with a NUL; a step that is not there; a wrong input."""
    steps = written(tmp_path / "a.py", "def one(out): ...\ndef two_steps(one, out): ...\n")
    text = written(tmp_path / "a.txt", "def one(out): ...\n")
    for path in (text, str(tmp_path / "none.py")):
        says = f"{path} is not a pipeline file; it must be an existing .py file whose functions are the steps"
        assert sentence(lambda path=path: pipeline_file.load(path)) == says
    without = written(tmp_path / "b.py", "from os.path import join\ndef _hidden(out): ...\ndef other(runner): ...\n")
    assert sentence(lambda: pipeline_file.load(without)).startswith(f"{without} has no steps; a step must be a ")
    found = pipeline_file.load(steps)
    assert [(step.name, step.takes) for step in found] == [("one", ("out",)), ("two_steps", ("one", "out"))]
    says = "there is no step three; the steps are one, two_steps"
    assert sentence(lambda: list(pipeline_file.execute(found, str(tmp_path / "out"), Serial(), "three"))) == says
    assert not (tmp_path / "out").exists()
    early = written(tmp_path / "c.py", "def one(two, out): ...\ndef two(out, runner, more): ...\n")
    says = f"{early}:1: step one takes two, which is not defined before it; parameters must be out, runner"
    assert sentence(lambda: pipeline_file.load(early)) == says
    assert sentence(lambda: pipeline_file.load(written(tmp_path / "d.py", "a = 1\0"))).startswith(f"{tmp_path}/d.py")


@pytest.mark.parametrize(
    ("first", "second", "is_refused"),
    [
        ("x = 1", "return one", True),
        ("return", "print(one)", True),
        ("return 1", "return one", False),
        ("x = 1", "return 2", False),
        ("yield 1", "return [*one]", False),
    ],
    ids=["no-return", "bare-return", "result", "order-only", "generator"],
)
def test_a_step_whose_result_is_used_returns_one(tmp_path, first, second, is_refused):
    """One sentence before any work; a step that others only wait for needs no result."""
    path = written(tmp_path / "a.py", f"import os\n\ndef one(out):\n    {first}\n\ndef two(one, out):\n    {second}\n")
    if is_refused:
        says = f"{path}:3: step one returns nothing, but step two takes its result; end it with `return` and the result"
        assert sentence(lambda: pipeline_file.load(path)) == says
    else:
        assert len(pipeline_file.load(path)) == 2


def test_steps_say_whether_they_wrote(tmp_path):
    """A step is done before if no file of its folder is new or other; hidden files do not count."""
    text = "import os\nfrom pathlib import Path\nN = [0]\n"
    text += "def a(out):\n    os.makedirs(out + '/.b', exist_ok=True)\n    N[0] += 1\n"
    text += "    Path(out, f'.c{N[0]}').touch()\n    Path(out, '.b', f'{N[0]}').touch()\n"
    text += "    if N[0] != 2: Path(out, 'x').write_text('x' * N[0])\n    return N[0]\n"
    (step,) = pipeline_file.load(written(tmp_path / "a.py", text))
    began, out = [], str(tmp_path / "out")
    found = [one for _ in range(3) for one in pipeline_file.execute([step], out, None, starting=began.append)]
    assert [(one.name, one.out, one.result, one.before) for one in found] == [
        ("a", f"{out}/a", 1, False), ("a", f"{out}/a", 2, True), ("a", f"{out}/a", 3, False),
    ]  # fmt: skip
    assert began == ["a"] * 3
    assert all(one.seconds >= 0 for one in found)
    assert files.read_json(str(tmp_path / "out" / "run.json")) == {"format": 1, "steps": ["a"]}


@pytest.mark.parametrize("has_journal", [True, False])
def test_the_record_keeps_what_a_later_version_added(tmp_path, has_journal):
    """Fields of any name, also in a folder that was copied without hidden files; somebody else's file is refused."""
    text = "def a(out):\n    return 1\ndef b(out):\n    return 2\n"
    steps, out = pipeline_file.load(written(tmp_path / "a.py", text)), tmp_path / "out"
    list(pipeline_file.execute(steps, str(out), None))
    grown = {"a": {"deep": [{"er": 1}]}, "format": 1, "g": None, "steps": ["x"], "zz": [{"steps": 2}]}
    files.write_state(str(out / "run.json"), grown)
    if not has_journal:
        (out / ".dataprep-journal").unlink()
    list(pipeline_file.execute(steps, str(out), None))
    assert files.read_json(str(out / "run.json")) == grown | {"steps": ["a", "b"]}
    files.write_json(str(out / "run.json"), {"a": 1, "steps": ["x"]})
    if not has_journal:
        (out / ".dataprep-journal").unlink()
        with pytest.raises(StaleOutput, match=r"run.json exists and is not the record of a run; choose another file$"):
            list(pipeline_file.execute(steps, str(out), None))
        assert files.read_json(str(out / "run.json")) == {"a": 1, "steps": ["x"]}


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("kind", ["PlanError", "ValueError"])
def test_a_refused_first_step_leaves_no_record(tmp_path, at, kind):
    """Of a new run only, and only if it was refused; any other error is noted for `dataprep status`."""
    text = "from dataprep.errors import PlanError\nAT = 0\n"
    for n in (1, 2):
        text += f"def s{n}(out):\n    if AT == {n}: raise {kind}('no')\n"
    steps, out = pipeline_file.load(written(tmp_path / "mine.py", text)), tmp_path / "out"
    steps[0].fn.__globals__["AT"] = at
    out.mkdir()
    (out / "mine.txt").touch()  # as of an input, in which failures would be noted
    with pytest.raises(PlanError if kind == "PlanError" else ValueError, match="no") as e:
        list(pipeline_file.execute(steps, str(out), None))
    if kind == "PlanError":
        assert str(e.value) == f"{tmp_path}/mine.py:{2 * at + 2}: no"
    if kind == "PlanError" and at == 1:
        assert [path.name for path in out.iterdir()] == ["mine.txt"]
    assert (out / "run.json").exists() is (at == 2 or kind == "ValueError")
    assert found(str(out))["step"] == f"s{at}" if (out / "run.json").exists() else True
    steps[0].fn.__globals__["AT"] = 0
    assert len(list(pipeline_file.execute(steps, str(out), None))) == 2
    steps[0].fn.__globals__["AT"] = at
    with pytest.raises((PlanError, ValueError)):
        list(pipeline_file.execute(steps, str(out), None))
    assert (out / "run.json").exists()


def test_a_trial_is_handed_to_every_step(tmp_path) -> None:
    """As `run`; a step that takes only results is called, since these are of a sample."""
    text = "SEEN = []\ndef read(out, runner):\n    SEEN.append(runner)\n    return 1\n"
    steps = pipeline_file.load(written(tmp_path / "a.py", text + "def join(read, out): return read + 1\n"))
    run = Context(Serial(), Trial(str(tmp_path / "out"), 1))
    assert [done.result for done in pipeline_file.execute(steps, str(tmp_path / "out"), run)] == [1, 2]
    (given,) = steps[0].fn.__globals__["SEEN"]
    assert trial_of(given) is run.trial


@pytest.mark.parametrize(
    ("step", "why"),
    [("def two(out): return out", "takes no `runner`, so .* on a sample; add the parameter and pass it on"),
     ("def two(one, out): return out", "takes no `runner`, so .* on a sample; add the parameter and pass it on"),
     ("def two(out, runner): return out", "uses no `runner`, so .* on a sample; pass it on")],
)  # fmt: skip
def test_a_step_that_cannot_know_of_the_trial_is_named(tmp_path, step, why) -> None:
    """Before any step is called; outside of trials it is called."""
    steps = pipeline_file.load(written(tmp_path / "a.py", f"def one(out, runner): return runner\n\n{step}\n"))
    run = Context(Serial(), Trial(str(tmp_path / "out"), 1))
    with pytest.raises(PlanError, match=rf"a\.py:3: step two {why}$"):
        next(pipeline_file.execute(steps, str(tmp_path / "out"), run))
    assert not (tmp_path / "out").exists()
    assert len(list(pipeline_file.execute(steps, str(tmp_path / "out"), run, "one"))) == 1
    assert len(list(pipeline_file.execute(steps, str(tmp_path / "out"), Serial()))) == 2


@pytest.mark.parametrize("path", sorted(PIPELINES.glob("*.py")), ids=lambda path: path.stem)
def test_every_recipe_can_be_tried(path) -> None:
    """Each step passes the trial on, or works on results."""
    if path.stem == "course":
        pytest.importorskip("torch")
    pipeline_file._check_told([step for step in pipeline_file.load(str(path)) if step.name not in UNTRIED])
