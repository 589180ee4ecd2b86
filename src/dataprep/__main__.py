"""The command `dataprep`, and `python -m dataprep`."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys

LEAST, LEAST_PER_THREAD = 1 << 30, 100 << 20  # bytes of address space to load all libraries: measured with 2 threads
BLAS_THREADS = 64  # most threads of OpenBLAS
BLAS_WAIT = "20"  # its idle threads sleep after 2^20 cycles; else they run as long as `import numpy` takes
STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)  # exit codes


def main() -> None:
    """Run the command line; Ctrl-C or SIGTERM while it is still being imported is one sentence, too."""
    _open_streams()
    from .store.stopping import clean_end, importing, leave_memory

    atexit.register(leave_memory)  # is called last
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", BLAS_WAIT)  # also for the processes that workers are
    _check_address_space()
    with importing():
        from .cli import main as run
    try:
        with clean_end():
            run()
    except SystemExit as e:
        if e.code in STOPPED:
            _end(int(e.code or 0))
        raise


def _open_streams() -> None:
    """Open the null device in place of closed standard streams, whose numbers files of results would get.

    Otherwise the messages of a library on file descriptor 2 would be written into these files.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
        if getattr(sys, name) is None:
            stream = os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False)
            setattr(sys, name, stream)


def _check_address_space() -> None:
    """End the process with a sentence if its address space is limited so that libraries would never end loading.

    OpenBLAS, of which numpy and scipy each bring one, tries for ever to reserve 32 MB and a stack for each thread.
    """
    with contextlib.suppress(ImportError, ValueError):  # there is no such limit on Windows
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        threads = int(os.environ.get("OPENBLAS_NUM_THREADS") or min(os.cpu_count() or 1, BLAS_THREADS))
        least = LEAST + threads * LEAST_PER_THREAD
        if limit not in (resource.RLIM_INFINITY, -1) and limit < least:
            has = f"the limit of address space is {limit / 1e9:.2f} GB and must be at least {least / 1e9:.2f} GB"
            sys.stderr.write(f"dataprep: {has} here; raise it with ulimit -v, or set OPENBLAS_NUM_THREADS=1\n")
            sys.exit(1)


def _end(code: int) -> None:
    """End the process: run the exit handlers, but do not free memory, which takes seconds under load."""
    atexit._run_exitfuncs()  # noqa: SLF001 - temporary folders; nothing else runs them before the end
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
