"""What all commands share: panels, completion, --quiet, exit codes, and errors in the words of the command line."""

from __future__ import annotations

import contextlib
import errno
import importlib
import inspect
import pkgutil
from typing import get_type_hints

import pytest
import typer.main

import dataprep as dp
from dataprep import cli
from dataprep.cli.listed import COMMANDS, PANELS, loaded
from dataprep.cli.wording import in_options, sentence_of


def test_every_command_is_in_a_panel(dataprep):
    """`--help` groups the commands; none is left over."""
    said = dataprep("--help")[1]
    assert all(f"─ {panel} ─" in said for panel in PANELS)
    assert "─ Commands ─" not in said


def test_a_command_that_cannot_run_says_what_it_needs(dataprep, monkeypatch):
    """Where torch is not installed, the list marks the commands that train and use models, and no others."""
    monkeypatch.setattr("dataprep.cli.listed.find_spec", lambda name: None if name == "torch" else name)
    said = " ".join(dataprep("--help")[1].replace("│", " ").split())
    assert said.count("(needs the extra train)") == 8
    assert "fine-tune one on messages. (needs the extra train)" in said
    assert "(needs the extra langid)" not in said
    monkeypatch.setattr("dataprep.cli.listed.find_spec", lambda name: name)
    assert "needs the extra" not in " ".join(dataprep("--help")[1].split())


@pytest.fixture
def commands():
    """Every command with its options, by name."""
    return {name: loaded(command) for name, command in typer.main.get_group(cli.app).commands.items()}


def test_the_list_says_what_the_commands_say(dataprep, commands):
    """The help of a command begins with the sentence of the list, and the help of all is the one of loaded commands."""
    assert list(commands) == list(COMMANDS)
    for name, command in commands.items():
        panel = next(panel for panel, listed in PANELS.items() if COMMANDS[name] in listed)
        assert (command.name, command.rich_help_panel) == (name, panel)
        assert command.help.split("\n\n")[0] == COMMANDS[name].help, name
        assert COMMANDS[name].help in " ".join(dataprep(name, "--help")[1].split()), name


def test_every_function_that_is_a_command_is_in_the_list():
    """A public function of a module of `cli` with an option or argument of typer is a command of the list."""
    listed = {(one.module, one.function) for one in COMMANDS.values()}
    found = set()
    for info in pkgutil.iter_modules(cli.__path__):
        module = importlib.import_module(f"dataprep.cli.{info.name}")
        for name, fn in vars(module).items():
            if inspect.isfunction(fn) and fn.__module__ == module.__name__ and not name.startswith("_"):
                with contextlib.suppress(NameError):  # a type that is imported for type checkers alone
                    hints = get_type_hints(fn, include_extras=True).values()
                    options = [one for hint in hints for one in getattr(hint, "__metadata__", ())]
                    if any(type(one).__module__ == "typer.models" for one in options):
                        found.add((info.name, name))
    assert found == listed


def test_quiet_is_an_option_of_every_command_that_does_something(commands):
    """Commands whose only result is what they print have no --quiet."""
    quiet = {name for name, command in commands.items() if any("--quiet" in p.opts for p in command.params)}
    assert quiet == {name for name, listed in COMMANDS.items() if not listed.prints}
    assert {"run", "persona", "verify"} <= quiet


def test_an_unknown_command_is_told(dataprep):
    """A command that is nearly right is named, although no command was loaded."""
    code, _, said = dataprep("inspct", "x")
    assert code == 2
    assert "inspect" in said


def test_completion_knows_commands_and_options(dataprep, monkeypatch):
    """The scripts of --install-completion ask for words; commands and options are completed."""
    monkeypatch.setenv("_DATAPREP_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "dataprep ins")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert dataprep()[1].split() == ["inspect"]
    monkeypatch.setenv("COMP_WORDS", "dataprep run --wor")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert dataprep()[1].split() == ["--workers"]


def test_quiet_prints_errors_alone(dataprep, tmp_path):
    """Nothing is on stdout, and the sentence about a mistake is still on stderr."""
    docs = dp.Pipeline().run(dp.read([{"text": "a text"}], out=str(tmp_path / "rows")), out=str(tmp_path / "run"))
    assert dataprep("prune", docs.url)[1] != ""
    assert dataprep("prune", docs.url, "--quiet") == (0, "", "")
    code, out, said = dataprep("prune", tmp_path / "nowhere", "-q")
    assert (code, out) == (1, "")
    assert "is not a folder" in said


@pytest.mark.parametrize(
    ("command", "said", "printed"),
    [
        ("train-tokenizer", "vocab_size=3 must be at least 257", "--vocab-size 3 must be at least 257"),
        ("import", "x is of others; use replace=True", "x is of others; use --replace"),
        ("import", "out='' is used; choose another folder as out", "--out '' is used; choose another folder as --out"),
        ("run", "memory='7XB' must be like '8GB'", "--memory '7XB' must be like '8GB'"),
        ("report", "a.txt is a folder; pass a file as out", "a.txt is a folder; pass a file"),
        ("tokenizer-stats", "a.txt is an input; choose another file as out", "a.txt is an input; choose another file"),
        ("run", "a.py:3: out has others; choose another folder as out, or replace=True", None),
        ("train-tokenizer", "a larger sample=, or less vocab_size=", "a larger --sample, or less --vocab-size"),
        ("inspect", "folder='' must be a path", "DIR '' must be a path"),
        ("persona", "put it in init_from (--init-from)", "put it in --init-from"),
        ("persona", "put it in init_from= (--init-from DIR); go on", "put it in --init-from DIR; go on"),
        ("train", "start over (--start-over, or resume=False)", "start over (--start-over)"),
        ("train", "name one with init_from= (--init-from)", "name one with --init-from"),
        ("train", "train it again with another name (--init-from)", None),
        ("inspect", "s3://b/f?vocab_size=3 and a.b=3 must be read", None),
        ("inspect", "vocab_size=3 is not an option of this command", None),
    ],
)  # fmt: skip
def test_errors_name_options(command, said, printed):
    """Parameters are printed as options of the command, except in sentences about a line of a pipeline file."""
    assert in_options(said, cli.app, ["dataprep", command]) == (printed or said)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["inspect", ""], 1, "DIR '' must be the path of a file or folder"),
        (["verify", " "], 1, "FOLDER ' ' must be the path"),
        (["report", "RUN", "--to", " "], 1, "--to ' ' must be the path"),
        (["report", "RUN", "--to", "NOTES"], 1, "exists and is not an HTML page; choose another file"),
        (["inspect", "NOTES"], 1, "contains no sealed Dataset (it is a file); "),
        (["inspect", "RUN/none"], 1, "contains no sealed Dataset (it does not exist); "),
        (["inspect", "SHARDS"], 1, "contains no sealed Dataset (it holds token shards); "),
        (["inspect", "FAKE"], 1, "manifest.json is not what dataprep wrote: it lacks key, docs, "),
        (["inspect", "LIST"], 1, "run.json does not list the steps of a run: "),
        (["inspect", "http://127.0.0.1:9/x"], 75, "127.0.0.1"),
        (["inspect", "foo://x"], 1, "foo"),
        (["why", "RUN", "-1"], 2, "No such option"),
        (["show", "SHARDS", "--id", "-1"], 1, "'-1' is not a document id"),
        (["run", "NUL.py"], 1, "NUL.py: source code string cannot contain null bytes"),
        (["run", "RAISES.py"], 1, "RAISES.py:2: ZeroDivisionError: division by zero"),
        (["run", "RAISES.py", "--workers", "x"], 2, "--workers"),
        (["inspect", "RUN", "--examples", "-1"], 2, "--examples"),
        (["plan", "NOTES", "--memory", "7XB"], 1, "7XB"),
        (["plan", "NOTES", "--memory", "inf"], 1, "'inf' is not an amount of memory"),
        (["plan", "NOTES", "--cores", "4", "--input-bytes=-5TB"], 1, "'-5TB' is not an amount of memory"),
        (["plan", "steps.py", "NOTES"], 1, "plan needs either one pipeline file or input files"),
        (["train-tokenizer", "N.txt", "--out", "t", "--pattern", "["], 1, "--pattern '[' must be a name or a valid"),
        (["train-tokenizer", "N.txt", "--out", "t", "--reserve", "9" * 30], 1, "be a number of special tokens: 0 to"),
    ],
    ids=str,
)
def test_strangers_get_one_sentence(dataprep, places, words, code, says):
    """Empty, foreign and missing paths, and odd values, of every command: a sentence with the value, no traceback."""
    if code == 75:
        pytest.importorskip("aiohttp")
    found, out, said = dataprep(*(places(word) for word in words))
    assert (found, out if words[0] != "run" else "") == (code, "")
    assert says in " ".join(said.split())
    assert "Traceback" not in said
    assert "error in dataprep" not in said
    assert not set(said) & set("\x1b\0")
    if code != 2:
        assert said.startswith("dataprep: ")


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Put the tests' files in place of words in capitals."""
    monkeypatch.chdir(tmp_path)
    docs = dp.Pipeline().run(dp.read([{"text": "a text"}], out=str(tmp_path / "rows")), out=str(tmp_path / "RUN"))
    dp.encode(docs, dp.tools.train_characters(docs), out=str(tmp_path / "SHARDS"), val=0)
    contents = {
        "NOTES": b"notes", "N.txt": b"notes", "NUL.py": b"a\0", "RAISES.py": b"def a(out):\n    1 / 0\n",
        "FAKE/manifest.json": b'{"kind": "dataset"}', "LIST/run.json": b'{"steps": 3}',
    }  # fmt: skip
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return str


def test_no_more_threads():
    """Python says so with a RuntimeError, which is not ours."""
    assert sentence_of(RuntimeError("can't start new thread")).startswith("there is not enough memory, or the system")


def test_too_many_open_files():
    """The path is not at fault."""
    assert sentence_of(OSError(errno.EMFILE, "Too many open files")).endswith("files; raise the limit (ulimit -n)")


def test_errors_that_nobody_raised_on_purpose():
    """The system's errors name the file; an error of the pipeline file names its line, and one of dataprep says so."""
    assert sentence_of(PermissionError(errno.EACCES, "Permission denied", "/x")).startswith("/x: Permission denied; ")
    with pytest.raises(ZeroDivisionError) as mine:
        1 / 0  # noqa: B018 - raises
    assert "test_options.py:" in sentence_of(mine.value)
    with pytest.raises(TypeError) as ours:
        in_options(None, cli.app, ["dataprep", "run"])
    assert "this is an error in dataprep; " in sentence_of(ours.value)
