"""`Dataset.push`: the card on a stand-in of the Hugging Face hub, and what the hub's viewer reads of it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from fnmatch import fnmatch

import pyarrow.parquet as pq
import pytest

import dataprep as dp
from dataprep.core.model.hub_card import BEGIN, END, section_of, with_section
from dataprep.core.model.stats import Amount, StageStats
from fixtures.hub import serving

pytest.importorskip("datasets")
yaml = pytest.importorskip("yaml")

PUSH = """
import sys
import dataprep as dp
made, license, *options = sys.argv[1:]
options = dict(one.split("=") for one in options)
print(dp.open_dataset(made).push("me/words", token="x", license=license or None, **options).oid)
"""


@pytest.fixture
def made(tmp_path):
    """Two documents of four; a copy and a long one are dropped."""
    docs = dp.read([{"text": text} for text in ("one two", "one two", "three | four five", "six été")])
    stages = dp.Exact(), dp.Gopher(min_words=1, max_words=2, min_stop_words=0)
    return dp.Pipeline(*stages).run(docs, out=str(tmp_path / "made"))


def push(hub, made, tmp_path, license_="", *options):
    """Push in a process of its own, since the endpoint is read at import; returns the card as (metadata, text)."""
    own = {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-c", PUSH, made.url, license_, *options]
    done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, metadata, text = hub.repositories["me/words"]["README.md"].decode().split("---\n", 2)
    return yaml.safe_load(metadata), text


def test_the_card_states_what_the_viewer_reads(made, tmp_path):
    """Features, splits and files are those of the repository; the text has a row per stage; a licence is asked for."""
    with serving() as hub:
        metadata, text = push(hub, made, tmp_path)
        files = hub.repositories["me/words"]
        [config] = metadata["configs"]
        [data] = config["data_files"]
        [name] = [file for file in files if fnmatch(file, data["path"])]
        table = pq.read_table(io.BytesIO(files[name]))
    assert table["text"].to_pylist() == ["one two", "six été"]
    info = metadata["dataset_info"]
    assert [feature["name"] for feature in info["features"]] == table.column_names
    assert (data["split"], [(s["name"], s["num_examples"]) for s in info["splits"]]) == ("train", [("train", 2)])
    assert info["download_size"] == len(files[name])
    assert "license" not in metadata
    assert text.lstrip().startswith("# words\n")
    for row in (
        "2 documents with 16 bytes of text, in UTF-8.", "| read | 4 | 100.0% |  |",
        "| Exact | 3 | 75.0% | `duplicate` 1 |",
        "| Gopher | 2 | 50.0% | `too_many_words` 1 |", "The licence is not stated.",
    ):  # fmt: skip
        assert row in text


def test_a_second_push_keeps_what_others_wrote(made, tmp_path):
    """Text and metadata of the owner stay, the section is replaced, and another split is added."""
    with serving() as hub:
        push(hub, made, tmp_path)
        files = hub.repositories["me/words"]
        written = files["README.md"].decode().replace("---\n", "---\nlanguage: fr\n", 1)
        files["README.md"] = written.replace("# words", "# Mots\n\nÀ moi.").encode()
        metadata, text = push(hub, made, tmp_path, "cc-by-4.0", "split=test")
    assert (metadata["language"], metadata["license"]) == ("fr", "cc-by-4.0")
    assert {split["name"] for split in metadata["dataset_info"]["splits"]} == {"train", "test"}
    assert text.lstrip().startswith("# Mots\n\nÀ moi.\n")
    assert (text.count(BEGIN), text.count(END), "Licence" in text) == (1, 1, False)


def test_names_cannot_break_the_table():
    """A pipe, a back quote or a line end in a name stays in its cell, and a backslash in a section is kept."""
    odd = StageStats("a|b`c\n", {"s": Amount(2, 9)}, {"s": Amount(1, 5)}, {"x|y": {"s": Amount(1, 4)}})
    assert "| a\\|b'c  | 1 | 50.0% | `x\\|y` 1 |\n" in section_of(1, 5, [odd], has_license=True)
    section = section_of(1, 5, [], has_license=True)
    assert section == f"{BEGIN}\n\n1 document with 5 bytes of text, in UTF-8.\n\n{END}"
    assert with_section(f"a\n{BEGIN}old{END}\nb", r"new \1", "t") == "a\nnew \\1\nb\n"
    assert with_section("", "s", "t") == "# t\n\ns\n"
