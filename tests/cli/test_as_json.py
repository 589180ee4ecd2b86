"""--json of inspect, plan, status and verify: one object, with the fields of docs/commands.md, and nothing else."""

from __future__ import annotations

import json
import re

import pytest

import dataprep as dp
from dataprep.cli.as_json import of_dataset, print_json

NOISY = """
import dataprep as dp

def read(out, runner):
    print("a line of the pipeline file")
    return dp.Pipeline().run(dp.read({texts!r}), out=out, runner=runner)
"""


def short(text):
    """Drops short texts."""
    return "short" if len(text) < 9 else None


@pytest.fixture
def run(tmp_path):
    """A run of two documents, one of which is dropped."""
    (tmp_path / "texts.jsonl").write_text('{"text": "a text\\u001b"}\n{"text": "a longer text"}\n')
    dp.Pipeline(dp.Filter(short)).run(dp.read(str(tmp_path / "texts.jsonl")), out=str(tmp_path / "run" / "clean"))
    return tmp_path / "run"


def fields(found, at=""):
    """The names of all fields, as paths; names of sources, reasons and counts are *."""
    if isinstance(found, list):
        return {name for one in found for name in fields(one, f"{at}[]")}
    if not isinstance(found, dict):
        return {at}
    free = at.rpartition(".")[2] in ("sources", "dropped", "counts", "cuts", "examples") or at.endswith("dropped.*")
    return {name for key, one in found.items() for name in fields(one, f"{at}.{'*' if free else key}")}


def documented(root, command):
    """The fields that docs/commands.md lists for a command."""
    text = (root / "docs" / "commands.md").read_text(encoding="utf-8")
    table = text.split(f"### `{command} --json`")[1].split("\n\n", 1)[1].split("\n\n")[0]
    return {name for row in table.splitlines()[2:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


@pytest.mark.parametrize("command", ["inspect", "verify", "plan", "status"])
def test_the_fields_are_the_documented_ones(dataprep, root, run, command):
    """One line of JSON; every field in it is documented, and every documented field without a condition is in it."""
    what = run.parent / "texts.jsonl" if command == "plan" else run
    code, said, _ = dataprep(command, what, "--json")
    assert code == 0
    assert said.count("\n") == 1
    found = {name.removeprefix(".") for name in fields(json.loads(said))}
    listed = documented(root, command)
    assert not {name for name in found if name not in listed and not name.startswith("datasets[].estimators")}
    conditional = (
        "unread[]", "alarms[]", "estimators[]", "counts.*", "cuts.*", "shards.", "training.", "problems[]", "holder.",
        "failure.", "left[]", "progress.", "sources[]", "trainings[]", "forecast.",
    )  # fmt: skip
    assert not {name for name in listed - found if not any(part in name for part in conditional)}


def test_figures_are_those_of_the_run(dataprep, run):
    """Documents, reasons and examples; --source and --examples choose what is in it."""
    (clean,) = json.loads(dataprep("inspect", run, "--json")[1])["datasets"]
    (stage,) = [one for one in clean["stages"] if one["stage"] == "short"]
    assert stage["dropped"] == {"short": {"texts": {"documents": 1, "bytes": 7}}}
    assert stage["sources"]["texts"]["out"] == {"documents": 1, "bytes": 13}
    (example,) = stage["examples"]["short"]
    assert (example["id"], example["text"], example["duplicate_of"]) == ("0:0", "a text\x1b", None)
    (clean,) = json.loads(dataprep("inspect", run, "--json", "--examples", "0", "--source", "texts")[1])["datasets"]
    for more in ((), ("--json",)):
        code, _, said = dataprep("inspect", run, "--source", "nobody", *more)
        assert (code, "has no such source; it has" in said) == (1, True)
    assert all([*one["sources"]] == ["texts"] and one["examples"] == {} for one in clean["stages"])
    others = of_dataset(dp.open_dataset(f"{run}/clean"), 1, "x")["stages"]
    assert all(one["sources"] == one["examples"] == one["dropped"] == {} for one in others)


def test_problems_are_listed(dataprep, run):
    """A damaged file is a problem with its fix, and the exit code is 1."""
    (shard,) = (run / "clean" / "data").iterdir()
    shard.write_bytes(shard.read_bytes()[:-1] + b"x")
    code, said, _ = dataprep("verify", run, "--json")
    found = json.loads(said)
    assert (code, found["good"]) == (1, False)
    (problem,) = found["folders"][0]["problems"]
    assert problem["file"] == f"data/{shard.name}"
    assert "content" in problem["problem"]
    assert problem["fix"]


def test_nothing_else_is_on_stdout(dataprep, run):
    """What a pipeline file prints is on stderr; errors are sentences on stderr."""
    noisy = run.parent / "noisy.py"
    noisy.write_text(NOISY.format(texts=str(run.parent / "texts.jsonl")))
    code, said, other = dataprep("plan", noisy, "--json", "--sample-mb", "1")
    assert code == 0
    assert json.loads(said)["steps"][0]["step"] == "read"
    assert "a line of the pipeline file" in other
    code, said, other = dataprep("inspect", run / "nowhere", "--json")
    assert (code, said) == (1, "")
    assert other.startswith("dataprep: ")


def test_json_has_no_nan(capsys):
    """Programs reject NaN, which Python would print; it is null."""
    print_json({"loss": [float("nan"), 1.5], "by": {"x": float("inf")}})
    assert capsys.readouterr().out == '{"loss": [null, 1.5], "by": {"x": null}}\n'
