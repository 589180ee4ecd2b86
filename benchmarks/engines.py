"""What benchmarks of several engines share: each engine runs in a process of its own, with an interpreter that has it.

Standard library only, since the interpreters of peers import it too.
"""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

PEERS = Path(__file__).resolve().parents[1] / "out" / "peers"  # environments made by `bench_peers.py --install`


def machine() -> str:
    """The machine in words."""
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else []
    model = next((line for line in lines if line.startswith("model name")), "")
    name = model.partition(":")[2].strip() or platform.processor()
    return f"{os.cpu_count()} cores of {name}, Python {platform.python_version()}, {platform.system()}"


def peak_kb() -> int:
    """The most memory this process ever held; `ru_maxrss` would count what its parent held before."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s*(\d+)", status.read_text())[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def interpreters(given: Iterable[str] = ()) -> list[str]:
    """This interpreter, those given, and those of the peers that `bench_peers.py --install` installed."""
    return [*dict.fromkeys([sys.executable, *given, *map(str, sorted(PEERS.glob("*/bin/python")))])]


def having(module: str, given: Iterable[str] = ()) -> list[str]:
    """The interpreters that find a module; it is not imported."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    found = [subprocess.run([one, "-c", code], capture_output=True, check=False) for one in interpreters(given)]
    return [done.args[0] for done in found if done.returncode == 0]


def child(script: str, pythons: list[str], engine: str, *args: str) -> dict | str:
    """What `script --engine ENGINE ARGS` says with the first interpreter that can; else why it failed.

    Engines whose names end in "ours" need this interpreter. If the process states at which `time.time()` its work began
    and ended, the result has the seconds before and after it, `start` and `exit`.
    """
    said = ""
    for python in [sys.executable] if engine.endswith("ours") else pythons:
        command, began = [python, script, "--engine", engine, *args], time.time()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            got, ended = json.loads(done.stdout.splitlines()[-1]), time.time()
            return got | ({"start": got["began"] - began, "exit": ended - got["ended"]} if "began" in got else {})
        if not said or "ModuleNotFoundError" in said:  # what an interpreter that has the engine says counts
            said = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
    return said


def write_texts(url: str, texts: Iterable[str], n_bytes: int) -> tuple[str, int]:
    """Write JSONL of about `n_bytes` of text; where, and how many bytes of text."""
    size = 0
    with Path(url).open("w", encoding="utf-8") as f:
        for text in texts:
            f.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
            size += len(text.encode())
            if size >= n_bytes:
                break
    return url, size
