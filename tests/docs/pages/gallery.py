"""What the code of docs/gallery.md needs; it also compares, or writes, the pictures of the page."""

import importlib.util
import sys
from pathlib import Path

import pytest

from dataprep import open_dataset

ROOT = Path(__file__).parents[3]
NAMES = ("fineweb", "course", "atlaset", "library", "instructions")
WORDS = {f"pipelines/{name}.py": str(ROOT / "pipelines" / f"{name}.py") for name in NAMES}
HEAD = {"dataprep run": 40}
VARIES = {r"[\d,]+ tokens": "... tokens", r"hash \w+": "hash ..."}  # pseudonyms without a key are random
LAST = {"fineweb": "private", "persona": "windows", "darija": "dedup_minhash", "library": "dedup",
        "instructions": "decontaminate"}  # fmt: skip
BESIDE = ("transcripts", "conversations")  # of a persona: made of the same messages as its windows
IS_WRITING = "--write-results" in sys.argv


def prepare(here):
    """The packages of the extras, and the variables of the recipes unset."""
    for package in ("py3langid", "fastwarc", "resiliparse", "pypdfium2", "torch"):
        pytest.importorskip(package)


def patch(monkeypatch):
    """Leave the variables that name other input out."""
    for name in ("FINEWEB_INPUT", "CHATS", "CHATS_PERSON", "ATLASET", "LIBRARY", "INSTRUCTIONS"):
        monkeypatch.delenv(name, raising=False)


def check(here, names):
    """Every recipe kept some documents and dropped others, and the pictures show how many."""
    spec = importlib.util.spec_from_file_location("make_pictures", ROOT / "scripts" / "make_pictures.py")
    spec.loader.exec_module(pictures := importlib.util.module_from_spec(spec))
    for name, last in LAST.items():
        url = here / "out" / name / ("persona" if name == "persona" else "")
        assert open_dataset(str(url / last)).count > 0
        drawn = pictures.funnel(str(url), last, f"The recipe {name}, stage by stage", BESIDE)
        place = ROOT / "docs" / "pictures" / f"gallery-{name}.svg"
        if IS_WRITING:
            place.write_text(drawn, encoding="utf-8")
        assert place.read_text("utf-8") == drawn, f"{place.name} is old; make test-docs ARGS=--write-results draws it"
