"""Start processes that train: several together, as torchrun does, or one that a test kills."""

import json
import os
import socket
import subprocess
import sys

# One process imports torch, which takes seconds, before it starts a thread; each rank is a copy of it.
RANKS = """
import os, sys, traceback
from dataprep.train import train
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


# As RANKS, for one after another: a request per line, each answered by a line.
COPIES = """
import json, os, sys
from dataprep.train import train
for line in sys.stdin:
    code, pid = json.loads(line)
    if not pid:
        pid = os.fork()
        if not pid:
            os.close(0)
            os.dup2(2, 1)
            exec(code, {"__name__": "__main__"})
            sys.exit()
        print(pid, flush=True)
    else:
        pid, status = os.waitpid(pid, 0 if code else os.WNOHANG)
        print(json.dumps(os.waitstatus_to_exitcode(status) if pid else None), flush=True)
"""


class Copies:
    """A process that has imported the trainer, and runs code in copies of itself, which tests kill."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", COPIES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def _answer(self, code, pid):
        self.process.stdin.write(json.dumps([code, pid]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def start(self, code):
        """Run the code in a new process; return its id."""
        return self._answer(code, 0)

    def poll(self, pid):
        """Return the exit status of a process that has ended, else None."""
        return self._answer("", pid)

    def wait(self, pid):
        """Wait for a process; return its exit status."""
        return self._answer("wait", pid)

    def close(self):
        """End the process."""
        self.process.communicate()
