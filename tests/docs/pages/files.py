"""The folders that docs/files.md shows are those that are written."""

import re
from fnmatch import fnmatch

import dataprep as dp
from docs.pages import write

SOMETIMES = "hashes", "quarantine", "lease", "failure"
FOLDERS = "_unfinished/", "_replaced/"
RARE = {  # as the page says
    "receipts/packed.ndjson", "unread.parquet", "forget.parquet",
    *FOLDERS, *(f".dataprep-{name}" for name in SOMETIMES),
}  # fmt: skip


def prepare(here, root, tok):
    """A run with drops and cuts, token shards of what it kept, and the lists of files of the page."""
    line = "A line that both pages have, and that is cut from the second one."
    docs = dp.read(write("a.jsonl", ["One page.", "One page.", f"First.\n{line}", f"Second.\n{line}"]))
    clean = dp.Pipeline(dp.Exact(), dp.Exact(unit="line")).run(docs, out="work/clean")
    dp.encode(clean, tok, out="work/shards", split=dp.Split(val=0.5, seed=2))
    blocks = re.findall(r"```\nDIR/\n(.*?)```", (root / "docs/files.md").read_text("utf-8"), re.DOTALL)
    return {"listed": [re.findall(r"^  (\S+)", block, re.MULTILINE) for block in blocks]}


def check(here, names):
    """Every file is listed, and every listed one is written, but those of rare cases."""
    for folder, listed in zip(("work/clean", "work/shards"), names["listed"], strict=True):
        files = [path.relative_to(here / folder).as_posix() for path in (here / folder).rglob("*") if path.is_file()]
        patterns = [name.replace("NN-NAME-KEY8/", "*") for name in listed]
        assert [file for file in files if not any(fnmatch(file, pattern) for pattern in patterns)] == []
        assert {pattern for pattern in patterns if not any(fnmatch(file, pattern) for file in files)} <= RARE
