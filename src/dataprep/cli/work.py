"""The command `work`: processes that take the tasks of runs from a folder, on any number of machines."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Annotated

import typer

from dataprep.errors import counted

from .options import Memory, Workers, say


def work(
    queue: Annotated[str, typer.Argument(metavar="DIR", help="The queue's folder or URL; all machines must see it.")],
    workers: Workers = 1,
    memory: Memory = None,
    idle: Annotated[
        float | None, typer.Option(min=0, help="Seconds without a task after which to end; default: never.")
    ] = None,
) -> None:
    """Take tasks of `dataprep run --queue DIR` from a folder and do them, until stopped; start it on any machines."""
    from dataprep.core.run.queue_worker import serve
    from dataprep.core.run.runner import Local, at_once, machine_memory, parse_bytes

    if workers == 1:
        n = serve(queue, memory=memory, idle=idle)
        say(f"{counted(n, 'task')} done; there were no more for {idle or 0:g} s")
        return
    share = (machine_memory() * 9 // 10 if memory is None else parse_bytes(memory)) // workers
    at_once(Local(1, memory=share))
    command = [sys.executable, "-m", "dataprep", "work", queue, "--memory", str(share)]
    command += [] if idle is None else ["--idle", str(idle)]
    started = [subprocess.Popen(command) for _ in range(workers)]  # noqa: S603 - this program
    try:
        codes = [one.wait() for one in started]
    except BaseException:  # Ctrl-C, SIGTERM
        for one in started:
            one.send_signal(signal.SIGTERM)
        for one in started:
            one.wait()
        raise
    raise typer.Exit(next((code for code in codes if code), 0))
