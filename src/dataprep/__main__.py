"""The command `dataprep`, and `python -m dataprep`."""

from __future__ import annotations

import atexit
import os
import sys

STOPPED = (130, 143)  # exit codes of Ctrl-C and SIGTERM


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported is one sentence, too."""
    try:
        from .cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("dataprep: stopped; nothing was saved\n")
        sys.exit(130)
    try:
        run()
    except SystemExit as e:
        if e.code in STOPPED:
            _end(int(e.code or 0))
        raise


def _end(code: int) -> None:
    """End the process: run what is registered for its end, but do not free memory, which takes seconds under load."""
    atexit._run_exitfuncs()  # noqa: SLF001 - temporary folders; nothing else runs them before the end
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
