"""A function of the user that ends the program is an error like any other: it is named, and nothing ends in silence."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
from dataclasses import dataclass

import pytest

import dataprep as dp
import laws
from dataprep import extend, pipeline_file
from dataprep.core.model import batch as B
from dataprep.core.model.blame import each
from dataprep.core.run.runner import Serial
from dataprep.errors import FunctionFailed, PlanError, WorkerDied
from dataprep.store import failure
from dataprep.store.stopping import Stopped, is_stop
from laws import dataset_of

TEXTS = [f"document {i} of several words" for i in range(10)]
TEXTS[7] = "bad text"


class Bail(BaseException):
    """What some programs end with."""


ENDS = {"exit": SystemExit(0), "none": SystemExit(), "closed": GeneratorExit(), "own": Bail("enough")}


def ends(text, error):
    """End the program at one document."""
    if text.startswith("bad"):
        raise error
    return text


@dataclass(frozen=True)
class EndingStage(extend.Stage):
    """A stage that ends the program."""

    error: BaseException

    def __call__(self, batches, stats):
        """The same batches."""
        for batch in batches:
            for text in batch.column("text").to_pylist():
                ends(text, self.error)
            yield batch

    def recipe(self):
        """The name alone."""
        return "ending"


@dataclass(frozen=True)
class EndingFit(extend.Estimator):
    """An Estimator that ends the program while its tasks read."""

    error: BaseException

    def fit(self, docs, runner, out):
        """Read all parts."""
        list(runner.map(EndingTask(self.error), docs.tasks))

    def recipe(self):
        """The name alone."""
        return "ending"


@dataclass(frozen=True)
class EndingTask:
    """A task of an Estimator."""

    error: BaseException

    def __call__(self, part):
        """Read the part."""
        for batch in part.batches():
            for text in batch.column("text").to_pylist():
                ends(text, self.error)


@dataclass(frozen=True)
class EndingReader(extend.Reader):
    """Reads a file with a text per line."""

    error: BaseException

    def __call__(self, piece, stats):
        """A document per line."""
        with open(piece.url, encoding="utf-8") as f:
            for n, text in enumerate(f):
                yield B.make([B.doc_id(piece.file, n)], [ends(text, self.error)], piece.source)

    def recipe(self):
        """The name alone."""
        return "ending"


def stages(error):
    """A stage of each kind that takes a function, and the beginning of what its failure says."""
    return {
        "filter": (dp.Filter(lambda text: bool(ends(text, error)), version="1"), "Filter(lambda) raised"),
        "map": (dp.Map(lambda text: ends(text, error), version="1"), "Map(lambda) raised"),
        "stage": (EndingStage(error), "EndingStage raised"),
        "score": (dp.Score(EndingStage(error)), "EndingStage raised"),
        "embed": (
            dp.SemDeDup(embed=lambda texts: [[len(ends(t, error)), 1.0] for t in texts], version="1", clusters=1),
            "embed=stages.<locals>.<lambda> raised",
        ),
        "estimator": (EndingFit(error), "EndingFit.fit raised"),
    }


@pytest.mark.parametrize(("name", "how"), list(itertools.product(stages(None), ENDS)))
def test_whoever_ends_the_program_is_named(tmp_path, name, how):
    """The function, its line and the document; the error is the cause, and the failure is noted."""
    stage, says = stages(ENDS[how])[name]
    docs = dataset_of(tmp_path, TEXTS)
    with pytest.raises(FunctionFailed) as e:
        dp.Pipeline(dp.Map(lambda text: text, version="0"), stage).run(docs, str(tmp_path / "out"))
    assert str(e.value).startswith(f"{says} {type(ENDS[how]).__name__}")
    assert f"test_ends.py, line {ends.__code__.co_firstlineno + 3})" in str(e.value)
    assert "1:7 of" in str(e.value) or name == "estimator"
    assert e.value.__cause__ is ENDS[how]
    assert failure.found(str(tmp_path / "out"))["error"].startswith(says)


@pytest.mark.parametrize("name", ["filter", "estimator"])
def test_a_worker_is_not_restarted(tmp_path, name, monkeypatch):
    """It is the same sentence at the first try; the worker lives."""
    docs = dataset_of(tmp_path, TEXTS, parts=3)
    monkeypatch.setattr("dataprep.core.run.workers.Workers.remove_broken", lambda _: pytest.fail("a worker ended"))
    with pytest.raises(FunctionFailed, match=" raised SystemExit: 3"):
        dp.Pipeline(stages(SystemExit(3))[name][0]).run(docs, str(tmp_path / "out"), laws.TWO)


FORKED = {"returns": (None, 0), "exits": (SystemExit(5), 5), "says": (SystemExit("no"), 1), "fails": (KeyError(), 1)}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # since Python 3.12, beside threads
@pytest.mark.parametrize(("error", "code"), FORKED.values(), ids=FORKED)
def test_a_process_that_a_function_forks_ends_with_it(tmp_path, error, code):
    """It does not do the work of its parent, whether the function returns in it or raises; the parent goes on."""

    def forks(text):
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code
        return True if error is None else ends("bad", error)

    docs, stage = dataset_of(tmp_path, TEXTS[:4], parts=2), dp.Filter(forks, version="1")
    for name, runner in (("serial", None), ("local", laws.TWO)):
        assert dp.Pipeline(stage).run(docs, str(tmp_path / name), runner).stats[-1].docs_out == 4


def test_a_process_that_a_function_ends_is_said_so():
    """By its exit code; no signal and no memory is blamed."""
    with pytest.raises(WorkerDied) as e:
        list(dp.tools.Local(1).map(os._exit, [3, 0]))
    assert str(e.value).startswith("a worker ended with exit code 3 3 times during the task 3; ")
    assert "memory" not in str(e.value)


def test_a_reader_names_the_file(tmp_path):
    """Of whatever it raises, also ordinary errors; a reader that is not read to its end raises nothing."""
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    for error in (*ENDS.values(), ValueError("odd")):
        docs = dp.read(str(tmp_path / "a.txt"), format=EndingReader(error))
        says = rf"^EndingReader raised {type(error).__name__}.* while it read .*a\.txt;"
        with pytest.raises(FunctionFailed, match=says):
            dp.Pipeline().run(docs, str(tmp_path / "out"))
        batches = docs.batches()
        assert next(batches).num_rows
        batches.close()


@pytest.mark.parametrize("command", [("run", "--out", "out"), ("plan",), ("run", "--dry-run")], ids=" ".join)
@pytest.mark.parametrize("kind", ["step", "filter"])
def test_commands_fail(dataprep, tmp_path, monkeypatch, command, kind):
    """With exit code 1 and one sentence; a run notes it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"text": "bad text"}\n')
    line = "    sys.exit(0)\n" if kind == "step" else ""
    (tmp_path / "pipe.py").write_text(
        "import sys\nimport dataprep as dp\ndef quits(text):\n    sys.exit()\ndef ingest(out, runner):\n"
        f"    stages = [dp.Filter(quits)] if {kind == 'filter'} else []\n"
        f"    docs = dp.Pipeline(*stages).run(dp.read('a.jsonl'), out, runner)\n{line}    return docs\n"
    )
    code, _, said = dataprep(command[0], "pipe.py", *command[1:])
    what = "step ingest raised SystemExit: 0" if kind == "step" else "Filter(quits) raised SystemExit"
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith(f"dataprep: {what} ({tmp_path}/pipe.py, line {8 if kind == 'step' else 4})")
    if "--out" in command:
        assert json.loads((tmp_path / "out" / failure.NAME).read_bytes())["error"].startswith(what)


@pytest.mark.parametrize("last", ["sys.exit()", "sys.exit(main())", "raise GeneratorExit"])
def test_a_pipeline_file_that_ends_the_program_is_one_sentence(dataprep, tmp_path, last):
    """Whatever the code with which it would end; the way out is named."""
    (tmp_path / "pipe.py").write_text(f"import sys\ndef main(): ...\ndef ingest(out): ...\n{last}\n")
    with pytest.raises(PlanError, match=r"pipe\.py:4: (SystemExit|GeneratorExit)"):
        pipeline_file.load(str(tmp_path / "pipe.py"))
    code, _, said = dataprep("run", str(tmp_path / "pipe.py"))
    assert (code, said.count("\n")) == (1, 1)
    assert ("`if __name__ == '__main__':`" in said) is ("sys.exit" in last)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Stopped(143)], ids=["ctrl-c", "sigterm"])
def test_signals_pass(tmp_path, error):
    """Through stages, readers, Estimators, steps and imports; nothing is noted."""
    docs = dataset_of(tmp_path, TEXTS)
    for name, (stage, _) in stages(error).items():
        with pytest.raises(type(error)):
            dp.Pipeline(stage).run(docs, str(tmp_path / name))
        assert failure.found(str(tmp_path / name)) is None
    (tmp_path / "pipe.py").write_text("def ingest(out):\n    raise out.error\n")
    step = pipeline_file.Step("ingest", lambda out: ends("bad", error), ("out",))
    with pytest.raises(type(error)):
        list(pipeline_file.execute([step], str(tmp_path / "run"), Serial()))
    (tmp_path / "pipe.py").write_text(f"from dataprep.store.stopping import Stopped\nraise {error!r}\n")
    with pytest.raises(type(error)):
        pipeline_file.load(str(tmp_path / "pipe.py"))


def test_a_handler_of_the_program_ends_it(tmp_path):
    """What a handler of a signal raises is no error of the function that the signal interrupts."""

    def handler(number, frame):
        sys.exit(5)

    def signalled(text):
        signal.raise_signal(signal.SIGTERM)
        return text

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with pytest.raises(SystemExit) as e:
            dp.Pipeline(dp.Map(signalled, version="1")).run(dataset_of(tmp_path, TEXTS), str(tmp_path / "out"))
        assert e.value.code == 5
        assert is_stop(e.value)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not is_stop(SystemExit(5))


def test_what_a_consumer_raises_is_no_error_of_the_iterator():
    """Only errors of the iterator are explained: those of making it, and of its items."""
    said = []
    flow = each(lambda: iter([1, 2]), said.append)
    assert next(flow) == 1
    flow.close()
    assert list(each(lambda: iter([1, None]), said.append)) == [1, None]
    assert said == []

    def stops():
        raise StopIteration

    for make in (stops, lambda: (1 // n for n in [0])):
        with pytest.raises((RuntimeError, ZeroDivisionError)):  # a generator may not raise StopIteration
            list(each(make, said.append))
    assert [type(error) for error in said] == [StopIteration, ZeroDivisionError]
