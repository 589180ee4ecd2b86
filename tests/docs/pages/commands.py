"""What the code of docs/commands.md needs; test_commands.py runs the list of all commands."""

import dataprep as dp


def prepare(here):
    """The result of the README's example, which the page names."""
    docs = dp.read("sample_data/*.jsonl*")
    dp.Pipeline(dp.C4(), dp.Exact(), dp.MinHash(threshold=0.8)).run(docs, out="out/clean")
