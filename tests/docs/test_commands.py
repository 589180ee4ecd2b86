"""The list of commands on docs/commands.md is complete and runs; all links lead somewhere; the README is short."""

from __future__ import annotations

import importlib.util
import re
import shlex

import numpy as np
import pytest
import typer

import dataprep as dp
from dataprep import cli, pipeline_file
from dataprep.cli.listed import COMMANDS, loaded
from fixtures.demo import short_demo


@pytest.fixture(scope="module")
def page(root):
    """The text of the page."""
    return (root / "docs" / "commands.md").read_text(encoding="utf-8")


def blocks(text, language):
    """The fenced blocks of a language."""
    fenced = (part.partition("\n") for part in text.split("```")[1::2])
    return [code for name, _, code in fenced if name == language]


def test_make_targets_exist(page, root):
    """Every `make X` and every target in the table is in the Makefile, and the other way round."""
    makefile = (root / "Makefile").read_text()
    lists = dict(re.findall(r"^([A-Z]+) +:= ([a-z][a-z -]*)$", makefile, re.MULTILINE))
    (listed,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    phony = set(re.sub(r"\$\((\w+)\)", lambda name: lists[name[1]], listed).split())
    table = page.split("| make | does |")[1].split("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])}
    assert named <= phony
    assert phony - named <= {"help", "clean"}
    for target in re.findall(r"\bmake ([a-z-]+)", page):
        assert target in phony, target


def test_commands_and_options_exist(page):
    """Every `dataprep X` of the page is a command, and every option in that block exists."""
    assert set(re.findall(r"^dataprep ([\w-]+)", page, re.MULTILINE)) == set(COMMANDS)
    made = {name: loaded(one) for name, one in typer.main.get_command(cli.app).commands.items()}
    (block,) = [b for b in blocks(page, "") if "dataprep run" in b]
    for name, rest in re.findall(r"^dataprep ([\w-]+)([^#\n]*)", block, re.MULTILINE):
        options = {option for parameter in made[name].params for option in parameter.opts}
        assert set(re.findall(r"(?<= )--?[\w-]+", rest)) <= options, name


SHOWN = {  # some of what a command prints
    "inspect": "lorem_ipsum", "why": "lorem_ipsum", "clusters": "MIT", "diff": "too_few_sentences", "search": "MIT",
    "persona": "answers in", "verify": "good out/demo/encode", "show": "dataprep why out/demo", "import": " documents,",
    "train-ngram": "5-grams", "perplexity": "is kept", "train-langid": "held-out", "clean": "removed",
}  # fmt: skip


def test_commands_run_in_order(page, dataprep, demo, monkeypatch):
    """Every command of the list succeeds beside the samples and pipelines, after a shorter demo."""
    pytest.importorskip("fasttext")
    pytest.importorskip("kenlm")  # which Python 3.13 does not have
    monkeypatch.setattr(pipeline_file, "load", short_demo)
    (block,) = [b for b in blocks(page, "") if "dataprep run" in b]
    for line in block.strip().splitlines():
        words = shlex.split(line, comments=True)
        if words[0] == "echo":
            (demo / words[3]).write_text(words[1] + "\n")
            continue
        if words[1] in ("explore", "work"):
            continue  # they serve until Ctrl-C
        if words[1] == "export-model" and importlib.util.find_spec("safetensors") is None:
            continue
        if words[1] == "demo":
            words += ["--to", "ingest"]  # the next run has the other steps
        if words[1] == "persona":
            words += ["--set", "steps=8"]  # of each training; its own number takes a minute
        code, out, err = dataprep(*words[1:])
        assert code == 0, f"{line}: {err}"
        assert SHOWN.get(words[1], "") in out, f"{line}: {out}"
    exported = sum(len(np.fromfile(demo / f"out/nano/{name}.bin", "<u2")) for name in ("train", "val"))
    shards = dp.Shards.open(demo / "out/shards")
    assert (shards.n_tokens, len(shards) > 100) == (exported, True), "as many documents as were exported"


def test_links_lead_somewhere(root):
    """Every relative link of the README, the other pages beside it and the docs is a file."""
    for page in (*root.glob("*.md"), *sorted((root / "docs").glob("*.md"))):
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert link.startswith("https://") or (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_readme_is_two_screens(root):
    """The first page stays short: what moves people on is a link."""
    text = (root / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert len(re.findall(r"^\|", text, re.MULTILINE)) > 20, "the comparison with other toolkits"
    assert "## Limits" in text
