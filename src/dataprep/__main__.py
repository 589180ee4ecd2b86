"""The command `dataprep`, and `python -m dataprep`."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from types import FrameType

STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)  # exit codes


def main() -> None:
    """Run the command line; Ctrl-C or SIGTERM while it is still being imported is one sentence, too."""
    usual = ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL))
    is_main = threading.current_thread() is threading.main_thread()
    ours = [(number, before) for number, before in usual if is_main and signal.getsignal(number) == before]
    for number, _ in ours:
        signal.signal(number, _not_begun)
    from .cli import main as run
    from .store.stopping import clean_end

    for number, before in ours:
        signal.signal(number, before)
    try:
        with clean_end():
            run()
    except SystemExit as e:
        if e.code in STOPPED:
            _end(int(e.code or 0))
        raise


def _not_begun(number: int, _: FrameType | None) -> None:
    """End the process at once; a handler of signals. What is raised in an import may be ignored, or be a traceback."""
    try:
        if os.environ.get("LOCAL_RANK", "0") == "0":  # of the processes that torchrun started, one says it
            os.write(2, b"dataprep: stopped; nothing was saved\n")
    finally:
        os._exit(128 + number)


def _end(code: int) -> None:
    """End the process: run what is registered for its end, but do not free memory, which takes seconds under load."""
    atexit._run_exitfuncs()  # noqa: SLF001 - temporary folders; nothing else runs them before the end
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
