"""Start several processes that train together, as torchrun does, each running one piece of code."""

import os
import socket
import subprocess
import sys

# One process imports torch, which takes seconds, before it starts a thread; each rank is a copy of it.
RANKS = """
import os, sys, traceback
import dataprep.train
code, ranks, home = sys.argv[1], int(sys.argv[2]), sys.argv[3]
pids = []
for rank in range(ranks):
    pid = os.fork()
    if not pid:
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        for stream in (1, 2):
            os.dup2(os.open(f"{home}/{rank}.{stream}", os.O_WRONLY | os.O_CREAT), stream)
        sys.argv = ["-c", *sys.argv[4:]]
        exec(code, {"__name__": "__main__"})
        sys.exit()
    pids.append(pid)
ended = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
print(*ended)
"""


def free_port():
    """A port of this machine that nobody uses."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def together(code, words, home, ranks=2):
    """Run the code with these arguments in each process; return (exit status, stdout, stderr) of each.

    - home: a folder for what the processes print.
    """
    home.mkdir(exist_ok=True)
    given = {**os.environ, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    command = [sys.executable, "-c", RANKS, code, str(ranks), str(home), *map(str, words)]
    done = subprocess.run(command, env=given, stdout=subprocess.PIPE, text=True, timeout=300, check=True)
    said = [[(home / f"{rank}.{stream}").read_text() for stream in (1, 2)] for rank in range(ranks)]
    return [(int(status), *texts) for status, texts in zip(done.stdout.split(), said, strict=True)]
