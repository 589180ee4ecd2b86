"""Mistakes in a pipeline file: one sentence with file, line and the nearest right name, never a traceback."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

import dataprep as dp
from dataprep import extend, pipeline_file
from dataprep.core.run.runner import Serial
from dataprep.errors import PlanError, ReadError

AT_IMPORT = {
    "def ingest(out, runner:\n    return 1": "pipe.py:1: ",
    "import dataprep as dp\nstage = dp.C5()": "pipe.py:2: module 'dataprep' has no attribute 'C5'; did you mean C4?",
    "import dataprep as dp\n\nstage = dp.C4(min_wrods=5)": (
        "pipe.py:3: C4.__init__() got an unexpected keyword argument 'min_wrods'; did you mean min_words?"
    ),
    "stages = []\n\ndef ingest(out): ...\n\nstagse": "pipe.py:5: name 'stagse' is not defined; did you mean stages?",
    "import dataprep as dp\ndp.Map(5)": "pipe.py:2: Map ",
    "import dataprop": "pipe.py:1: No module named 'dataprop'; did you mean dataprep?",
    "import nltkk_none": "pipe.py:1: No module named 'nltkk_none'",
    "def ingest(out): ...\n1 / 0": "pipe.py:2: ZeroDivisionError: division by zero",
    "def ingest(out, run): ...": "pipe.py:1: step ingest takes run, which is not defined before it",
}
IN_A_STEP = {
    "dp.Pipeline(dp.C4(min_wrods=5))": "C4.__init__() got an unexpected keyword argument 'min_wrods'; did you mean",
    "dp.open_dataset(ulr=out)": "open_dataset() got an unexpected keyword argument 'ulr'; did you mean url?",
    "dp.Pipeline().run([], output=out)": "Pipeline.run() got an unexpected keyword argument 'output'; did you mean ",
    "dp.tools.Serial(zzz=1)": "Serial.__init__() got an unexpected keyword argument 'zzz'; it takes ",
    "dp.C5()": "module 'dataprep' has no attribute 'C5'; did you mean C4?",
    "dp.read('x').cuont": None,
    "[ready for wanted in [runner]]": "name 'ready' is not defined",
    "(lambda stages: stagse)(5)": "name 'stagse' is not defined; did you mean stages?",
}


def load(tmp_path, text):
    """The steps of a pipeline file of this text."""
    (tmp_path / "pipe.py").write_text(text + "\n")
    return pipeline_file.load(str(tmp_path / "pipe.py"))


@pytest.mark.parametrize(
    ("used", "says"),
    [
        ("dp.Estimater", "module 'dataprep' has no attribute 'Estimater'; did you mean extend.Estimator?"),
        ("dp.Conversation()", "has no attribute 'Conversation'; did you mean chats.Conversations?"),
        ("dp." + "Turns", "has no attribute 'Turns'; did you mean chats.Turns?"),
        ("dp.chats.Turn()", "module 'dataprep.chats' has no attribute 'Turn'; did you mean Turns?"),
        (
            "dp.chats.Turns(preson='x')",
            "Turns.__init__() got an unexpected keyword argument 'preson'; did you mean person?",
        ),
    ],
)
def test_the_nearest_public_name_is_named(tmp_path, used, says):
    """Also one of `dp.chats` and of `dataprep.extend`, with its module."""
    with pytest.raises(PlanError) as e:
        load(tmp_path, f"import dataprep as dp\nstage = {used}")
    assert str(e.value).startswith(f"{tmp_path}/pipe.py:2: ")
    assert str(e.value).endswith(says)


@pytest.mark.parametrize("text", AT_IMPORT)
def test_an_error_at_import_is_one_sentence(tmp_path, text):
    """Whatever an import raises is a PlanError that begins with file and line."""
    with pytest.raises(PlanError) as e:
        load(tmp_path, text)
    assert str(e.value).startswith(f"{tmp_path}/{AT_IMPORT[text]}")
    assert "\n" not in str(e.value)


@pytest.mark.parametrize("call", IN_A_STEP)
def test_a_wrong_name_in_a_step_is_one_sentence(tmp_path, call):
    """A line with a name or an argument that does not exist is named, with the nearest right one."""
    steps = load(tmp_path, f"import dataprep as dp\n\ndef ingest(out, runner):\n    return {call}")
    said = IN_A_STEP[call]
    with pytest.raises(ReadError if said is None else PlanError) as e:
        list(pipeline_file.execute(steps, str(tmp_path / "out"), Serial()))
    assert said is None or str(e.value).startswith(f"{tmp_path}/pipe.py:4: {said}")
    assert ("it takes" in str(e.value)) is ("zzz=" in call)  # all names are those of arguments alone


def test_an_error_of_another_file_passes(tmp_path):
    """What a library raises inside a step is not the pipeline file's mistake, and keeps its type."""
    steps = load(tmp_path, "import json\n\ndef ingest(out):\n    return json.dumps(object())")
    with pytest.raises(TypeError, match="not JSON serializable"):
        list(pipeline_file.execute(steps, str(tmp_path / "out"), Serial()))


def test_the_command_prints_one_sentence(dataprep, tmp_path, monkeypatch):
    """`dataprep run` exits with 1 and the sentence on stderr, for a relative path too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipe.py").write_text("import dataprep as dp\nstage = dp.C4(min_wrods=5)\n")
    code, _, said = dataprep("run", "pipe.py")
    assert code == 1
    assert said.startswith(f"dataprep: {tmp_path}/pipe.py:2: C4.__init__() got an unexpected keyword argument")
    assert said.count("\n") == 1


def test_a_wrong_option_of_read_has_file_and_line(tmp_path):
    """Errors of a call in a step name the line, and the nearest option."""
    place = tmp_path / "p.py"
    data = tmp_path / "a.jsonl"
    data.write_text('{"text": "a"}\n')
    place.write_text(f"import dataprep as dp\ndef a(out, runner):\n    return dp.read({str(data)!r}, colums=['url'])\n")
    with pytest.raises(PlanError, match=r"p\.py:3: there is no option 'colums' .*; did you mean columns\?"):
        list(pipeline_file.execute(pipeline_file.load(str(place)), str(tmp_path / "out"), None))


def test_what_is_no_dataset_or_runner_is_one_sentence(tmp_path):
    """A path in place of a Dataset, a number in place of a Runner, and a name in place of columns say what to write."""
    docs = dp.read([{"text": "a text"}], out=str(tmp_path / "rows"))
    calls = [
        (lambda: dp.Pipeline().run("texts.jsonl", out=str(tmp_path / "a")), "docs='texts.jsonl' must be a Dataset"),
        (lambda: dp.train_bpe("texts.jsonl", vocab_size=300), "docs='texts.jsonl' must be a Dataset"),
        (
            lambda: dp.Pipeline().run(docs, out=str(tmp_path / "b"), runner=2),
            "runner=2 must be a Runner such as dp.tools.Serial",
        ),
        (lambda: dp.read("x.jsonl", columns="url"), r"write columns=\['url'\]"),
    ]
    for call, says in calls:
        with pytest.raises(PlanError, match=says):
            call()
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()


@dataclass(frozen=True)
class Drops(extend.Estimator):
    """Drops what it is told."""


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ({"id": [2, 1, 1], "reason": ["x"] * 3}, "document 0:1 is in two rows; return one row per document"),
        ({"id": [1, 3, 2, 3], "reason": ["x"] * 4}, "document 0:3 is in two rows; return one row per document"),
        ({"id": [0], "reason": ["x"], "duplicate_of": [0]}, "document 0:0 is its own duplicate_of; state"),
        ({"id": [0]}, "must have a value in the column 'reason'"),
        ({"id": [0, None], "reason": ["x", "x"]}, "must have a value in the column 'id'"),
    ],
    ids=["twice", "twice, apart", "itself", "no reason", "null id"],
)
def test_rows_that_contradict_themselves_are_refused(tmp_path, rows, says):
    """An Estimator's table is checked before a document is dropped; rows in any order are fine."""
    docs = dp.read([{"text": f"text {n}"} for n in range(4)], out=str(tmp_path / "rows"))
    types = {"id": pa.uint64(), "reason": pa.string(), "duplicate_of": pa.uint64()}
    table = pa.table({name: pa.array(values, types[name]) for name, values in rows.items()})
    with pytest.raises(PlanError, match=says):
        Drops().drop(docs, str(tmp_path / "out"), table)
    good = {"id": pa.array([3, 1], pa.uint64()), "reason": ["x", "y"], "duplicate_of": pa.array([0, None], pa.uint64())}
    left = docs.then(Drops().drop(docs, str(tmp_path / "good"), pa.table(good)))
    assert [row["text"] for row in left] == ["text 0", "text 2"]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: dp.FineWeb(max_short_lines=67), "max_short_lines=67 must be at most 1"),
        (lambda: dp.Gopher(min_words=100, max_words=5), "min_words=100 must be at most max_words=5"),
        (lambda: dp.read("x.jsonl", on_bad_file="skip", max_bad_files="x"), "max_bad_files='x' must be a number"),
        (lambda: dp.chats.Pseudonyms(key="env:NOT_THERE"), "the environment variable NOT_THERE"),
    ],
    ids=["share", "range", "count", "key"],
)
def test_values_that_would_drop_everything_are_one_sentence(make, says):
    """Thresholds out of their range, and settings that name nothing, are found before any work."""
    with pytest.raises(PlanError, match=says):
        make()


def test_parameters_of_functions_of_the_file_are_named(tmp_path):
    """A function of the file itself comes before one of dataprep with the same name."""
    for name in ("mine", "encode"):
        text = f"def {name}(alpha, beta=1):\n    return alpha\n\ndef ingest(out):\n    return {name}(zzz=1)"
        steps = load(tmp_path, text)
        with pytest.raises(PlanError, match=rf"{name}\(\) got an unexpected .* 'zzz'; it takes alpha, beta$"):
            list(pipeline_file.execute(steps, str(tmp_path / "out"), Serial()))
