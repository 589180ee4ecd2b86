"""Damaged files of every format are documents, dropped records, or one sentence; never another error.

DATAPREP_FUZZ=100000 reads that many cases in a process of their own, whose kernels check every index; compiling these
takes minutes the first time.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures import fuzz

FOUND = [  # by runs of many cases: (seed, what is replaced, with what)
    ("whatsapp.zip", rb"^.{40}", b""), ("package.zip", rb"^.{40}", b""), ("slack.zip", rb"^.{40}", b""),
    ("sms.xml", rb"UTF-8", b"TF-8"), ("messages.html", rb"message1", b"message" + b"9" * 30),
    ("messages.html", rb"(?=<br>)", b'<span class="emoji">x</span><span class="count">99999999999999999999</span>'),
    ("data.json", rb"tea", rb"\\ud800"), ("data.json", rb'""', b"[" * 2_000),
    ("discord.csv", rb"\(1\)", b"(%s)" % (b"9" * 30)),
    ("result.json", rb'(?<="id": )1', b'"%s"' % (b"9" * 5_000)), ("chat.db", rb"CREATE TABLE h", b"CREATE\nTABLE h"),
    ("chat.db", rb"CREATE TABLE h", b"CREATE TABL\xc5 h"), ("a.parquet", rb"body", b"bod\xed"),
    ("a.wet", rb"(?<=Content-Length: )\d+", b"9" * 5_000), ("a.wet", rb"Content-Type: ", b"no name\r\n "),
    ("2023-11-14.json", rb'(?<="message", )', b'"subtype": [1], '),
    ("Posts.xml", rb"utf-8", b"upf-8"), ("wiki.xml", rb"<ns>0", b"<ns>chunked0"),
    ("one.eml", rb"10:00", b"10:" + b"9" * 20),
    ("a.wet", rb".*", b"WARC/1.0\r\nWARC-Type: " + b"x" * 3_000 + b"\r\nContent-Length: 0\r\n\r\n\r\n\r\n"),
]  # fmt: skip
NAMED = ("inner.json", "one.py")  # of which the format must be named
CASES = 6  # of each seed
AT_ONCE = 5_000
N = int(os.environ.get("DATAPREP_FUZZ", "0"))


def test_seeds_are_valid(tmp_path) -> None:
    """Undamaged, every seed is documents, so that its mutants go beyond the first check."""
    for seed in fuzz.seeds():
        path = tmp_path / seed.name
        path.write_bytes(seed.pack(seed.data))
        for given in {seed.format, seed.format if seed.name in NAMED else None}:
            assert fuzz.judge(path, seed, given) == "documents", seed.name


@pytest.mark.parametrize(("name", "old", "new"), FOUND, ids=[f"{k} {name}" for k, (name, *_) in enumerate(FOUND)])
def test_what_was_found(tmp_path, name, old, new) -> None:
    """Errors that were not one sentence stay mended."""
    seed = next(one for one in fuzz.seeds() if one.name == name)
    data = seed.pack(seed.data)
    changed = re.sub(old, new, data, count=1, flags=re.DOTALL)
    assert changed != data
    (tmp_path / name).write_bytes(changed)
    fuzz.judge(tmp_path / name, seed, seed.format)


def test_fixed_corpus(tmp_path) -> None:
    """The first cases of each seed; the same every time."""
    counts, wrong = fuzz.run(tmp_path, range(CASES * len(fuzz.seeds())))
    assert not wrong
    assert counts["documents"] > 50
    assert counts["ReadError"] > 50


@pytest.mark.skipif(not N, reason="DATAPREP_FUZZ= is the number of cases")
def test_many_cases_with_checked_indexes(tmp_path) -> None:
    """No kernel reads or writes outside an array, and no case ends the process."""
    kernels = Path.home() / ".cache" / "dataprep-fuzz"
    kernels.mkdir(exist_ok=True, parents=True, mode=0o700)
    settings = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(kernels)}
    for first in range(0, N, AT_ONCE):
        words = [sys.executable, fuzz.__file__, str(tmp_path), str(first), str(min(N, first + AT_ONCE))]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=settings)
        assert done.returncode == 0, f"case {(tmp_path / 'case').read_text()}: {done.stderr[-500:]}"
        assert not json.loads(done.stdout)["wrong"]
