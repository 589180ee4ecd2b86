"""Start several processes that train together, as torchrun does, each running one piece of code."""

import os
import socket
import subprocess
import sys


def free_port():
    """A port of this machine that nobody uses."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def together(code, words, ranks=2):
    """Run the code with these arguments in each process; return (exit status, stderr) of each."""
    given = {**os.environ, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    command = [sys.executable, "-c", code, *words]
    every = [
        subprocess.Popen(
            command, env={**given, "RANK": str(rank), "LOCAL_RANK": str(rank)}, stderr=subprocess.PIPE, text=True
        )
        for rank in range(ranks)
    ]
    try:
        said = [process.communicate(timeout=300)[1] for process in every]
    finally:
        for process in every:
            process.kill()
    return [(process.returncode, text) for process, text in zip(every, said, strict=True)]
